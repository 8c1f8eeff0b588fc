"""Chapter 8: counts. The moments are those of scipy's integrals, the sparse model takes counts, rates come home."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm, poisson

from gplvm_edu.ivm import SparseGPLVM
from gplvm_edu.kernels import RBF
from gplvm_edu.noise import Gaussian, PerColumn, Poisson, adf_posterior, ep_posterior, poisson_terms, sites
from gplvm_edu.noise.poisson import log_poisson, tilted_mode
from gplvm_edu.optimise import check_gradient

quick = settings()
CASES = [(y, mean, v) for y in (0.0, 1.0, 7.0, 100.0) for mean in (-3.0, 0.0, 2.0) for v in (0.01, 0.3, 1.0, 4.0)]
HARD = [(0.0, 0.0, 100.0), (0.0, 5.0, 100.0), (1.0, -8.0, 100.0), (3.0, 40.0, 1000.0), (1e4, 0.0, 1.0)]
HARD += [(1e4, 9.0, 1e-6), (1e4, 5.0, 100.0), (1e6, 0.0, 9.0), (0.0, -30.0, 1.0), (2.0, 1.0, 1e-10)]


def by_quad(y, mean, variance):
    """ln Z, g and nu by scipy's adaptive rule, in pieces around the mode; g and nu by the form that does not cancel."""
    mode, omega = tilted_mode(y, mean, variance)
    deviation, root = np.sqrt(variance / (1.0 + omega)), np.sqrt(variance)

    def log_tilted(f):
        return log_poisson(y, f) - 0.5 * ((f - mean) / root) ** 2 - 0.5 * np.log(2 * np.pi * variance)

    top = log_tilted(mode)
    reach = np.linspace(-9.0 * min(root, 40.0 * deviation), 9.0 * min(root, 40.0 * deviation), 25)

    def integral(of):
        return sum(
            quad(lambda t: of(mode + t) * np.exp(log_tilted(mode + t) - top), a, b, epsabs=0.0, epsrel=1e-12)[0]
            for a, b in pairwise(reach)
        )

    mass = integral(lambda f: 1.0)
    shift = integral(lambda f: f - mode) / mass
    spread = integral(lambda f: (f - mode - shift) ** 2) / mass
    if spread < 0.5 * variance:
        return top + np.log(mass), (mode - mean + shift) / variance, (1.0 - spread / variance) / variance
    rate = integral(np.exp) / mass
    return top + np.log(mass), y - rate, rate - integral(lambda f: (np.exp(f) - rate) ** 2) / mass


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@pytest.mark.parametrize("y, mean, variance", CASES + HARD)
def test_the_terms_of_a_count_are_those_of_adaptive_integrals(y, mean, variance):
    log_Z, g, nu = by_quad(y, mean, variance)
    terms = poisson_terms(y, mean, variance)
    assert_allclose(terms.log_partition, log_Z, rtol=1e-8, atol=1e-8)
    assert_allclose(terms.g, g, rtol=1e-8, atol=1e-9)
    assert_allclose(terms.nu, nu, rtol=1e-7 if variance < 1e-3 else 1e-8, atol=1e-12)


@pytest.mark.gradient
@given(st.integers(0, 40), st.floats(-4, 4), st.floats(0.05, 20))
@quick
def test_g_and_nu_are_the_derivatives_of_the_log_partition_function(y, mean, variance):
    def of_moments(x):
        terms = Poisson(0.3).evaluate(float(y), x[0], x[1])
        return float(terms.log_partition), np.array([terms.g, 0.5 * (terms.g**2 - terms.nu)])

    def slope(x):
        terms = Poisson(0.3).evaluate(float(y), x[0], variance)
        return float(terms.g), -np.array([terms.nu])  # (8.33)

    assert check_gradient(of_moments, np.array([mean, variance])) < 1e-6
    assert check_gradient(slope, np.array([mean])) < 1e-6


@pytest.mark.gradient
@pytest.mark.parametrize("bias", [0.4, [0.4, -1.0, 2.0]])
def test_the_gradient_in_the_bias_agrees_with_differences(bias):
    rng = np.random.default_rng(0)
    Y, mean, v = rng.poisson(2.0, (8, 3)).astype(float), rng.standard_normal((8, 3)), rng.uniform(0.1, 2.0, (8, 3))
    Y[0, 1] = Y[3, 2] = np.nan
    noise = Poisson(bias)

    def of_the_bias(theta):
        trial = noise.with_theta(theta)
        return np.sum(trial.log_partition(Y, mean, v)), trial.theta_gradient(Y, mean, v)

    assert check_gradient(of_the_bias, noise.theta) < 1e-6
    learnt = noise.learn(Y, mean, v)
    assert np.max(np.abs(learnt.theta_gradient(Y, mean, v))) < 1e-3
    assert Poisson(bias, fixed="bias").learn(Y, mean, v) == Poisson(bias, fixed="bias")


@pytest.mark.identity
def test_probabilities_of_all_counts_sum_to_1_and_have_the_mean_and_deviation_that_are_told():
    noise, mean, v, counts = Poisson(0.5), np.array([-1.0, 0.7]), np.array([0.4, 0.2]), np.arange(400)
    p = noise.probabilities(counts, mean, v)
    assert p.shape == (2, 400)
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-9)
    assert_allclose(p @ counts, noise.predict(mean, v), rtol=1e-8)
    assert_allclose(np.sqrt(p @ counts**2 - (p @ counts) ** 2), noise.deviation(mean, v), rtol=1e-7)
    assert_allclose(noise.probabilities(counts, 0.2, 0.0), poisson.pmf(counts, np.exp(0.7)), rtol=1e-9, atol=1e-300)


@pytest.mark.identity
def test_many_events_are_a_gaussian_observation_of_the_logarithm():
    """At a count of 10^6 the likelihood of f is N(ln y, 1 / y) to the third digit, and the site says so."""
    g, nu = Poisson(0.0).derivatives(1e6, 12.0, 4.0)
    m, beta = sites(g, nu, 12.0, 4.0)
    assert_allclose(m, np.log(1e6), atol=1e-5)
    assert_allclose(beta, 1e6, rtol=1e-3)


@pytest.mark.identity
def test_the_limit_of_a_certain_rate_is_the_density_itself_and_its_derivatives():
    y, f = np.array([0.0, 2.0, 30.0]), np.array([-2.0, 1.0, 3.0])
    terms = Poisson(0.0).evaluate(y, f, 0.0)
    assert_allclose(terms.log_partition, poisson.logpmf(y, np.exp(f)), rtol=1e-12)
    assert_allclose(terms.g, y - np.exp(f), rtol=1e-12)
    assert_allclose(terms.nu, np.exp(f), rtol=1e-12)


@pytest.mark.bad_input
@pytest.mark.filterwarnings("error")
def test_nothing_overflows_at_the_extremes():
    mean = np.array([-1e50, -4e4, -40.0, 0.0, 40.0, 4e4, 1e50])
    for variance in (0.0, 1e-10, 1.0, 1e4, 1e50):
        for y in (0.0, 3.0, 1e6):
            g, nu = Poisson(0.0).derivatives(np.full(7, y), mean, variance)
            m, beta = sites(g, nu, mean, np.full(7, variance))
            assert np.isfinite([g, nu, m, beta]).all() and (nu >= 0).all() and (nu * variance < 1).all()
    assert np.isfinite(Poisson(0.0).deviation(1e50, 1e50)) and np.isfinite(Poisson(0.0).predict(1e50, 1e50))


@pytest.mark.parametrize("seed", range(3))
def test_samples_have_the_expected_mean_and_deviation(seed):
    noise, rng = Poisson([0.3, 2.0]), np.random.default_rng(seed)
    f = 0.2 + 0.5 * rng.standard_normal((60_000, 2))
    y = noise.sample(f, rng)
    assert_allclose(y.mean(axis=0), noise.predict(0.2, 0.25), rtol=0.02)
    assert_allclose(y.std(axis=0), noise.deviation(0.2, 0.25), rtol=0.03)
    assert_allclose(np.exp(f + noise.bias).std(axis=0), noise.signal_deviation(0.2, 0.25), rtol=0.03)


@pytest.mark.identity
def test_the_started_bias_gives_each_column_its_mean_count_and_gaps_do_not_count():
    Y = np.array([[0.0, 12.0], [1.0, 9.0], [np.nan, 15.0]])
    noise = Poisson().start(Y, prior_variance=2.0)
    assert_allclose(noise.predict(0.0, 2.0), [(1.0 + 0.5) / 2, (36.0 + 0.5) / 3])
    terms = noise.evaluate(Y, 0.0, 1.0)
    assert terms.log_partition[2, 0] == terms.g[2, 0] == terms.nu[2, 0] == 0.0
    assert Poisson(1.0).start(Y) == Poisson(1.0)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "Y, says",
    [
        ([[1.0, 2.0], [-1.0, 0.0]], "got -1 at row 1, column 0: a count is never negative"),
        ([[1.0, 2.5], [1.0, 0.0]], "got 2.5 at row 0, column 1: a count is a whole number"),
        ([[1.0, 2.0], [1e7, 0.0]], "count 10000000 at row 1, column 0: .* Take|logarithm"),
    ],
)
def test_what_is_no_count_is_named_with_its_place(Y, says):
    with pytest.raises(ValueError, match=says):
        Poisson().check(np.array(Y))
    with pytest.raises(ValueError, match=says):
        SparseGPLVM(1, noise=Poisson()).fit(np.array(Y))


@pytest.mark.identity
def test_sweeps_over_counts_forget_the_order_and_match_every_tilted_density():
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(-2, 2, (12, 1)), axis=0)
    K, y = RBF(1.0, 2.0)(X) + 1e-8 * np.eye(12), rng.poisson(np.exp(np.sin(2 * X[:, 0])))
    *_, forward = ep_posterior(K, y, Poisson(0.0))
    *_, backward = ep_posterior(K, y, Poisson(0.0), order=np.arange(12)[::-1])
    assert forward.change <= 1e-8
    assert_allclose(forward.mean, backward.mean, atol=1e-7)
    assert np.abs(adf_posterior(K, y, Poisson(0.0)).mean - forward.mean).max() > 1e-3


@pytest.mark.oracle
def test_the_evidence_of_one_count_in_two_is_the_double_integral():
    K, y = np.array([[1.0, 0.7], [0.7, 1.0]]), np.array([2.0, 0.0])
    *_, found = ep_posterior(K, y, Poisson(0.2))
    t, w = np.polynomial.hermite_e.hermegauss(80)
    f = np.linalg.cholesky(K) @ np.stack([a.ravel() for a in np.meshgrid(t, t, indexing="ij")]) + 0.2
    weights = np.outer(w, w).ravel() / (2 * np.pi)
    exact = np.log(np.sum(weights * np.prod(poisson.pmf(y[:, None], np.exp(f)), axis=0)))
    assert_allclose(found.log_evidence, exact, atol=2e-3)


# --- the sparse model ----------------------------------------------------------------------------------------


def simulated(seed, N=80, D=6):
    """Counts along a curve, and their rates."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-1.5, 1.5, N))[:, None]
    log_rates = 1.0 + np.sin(x @ rng.normal(1.5, 0.5, (1, D)) + rng.uniform(0, 2 * np.pi, D))
    return rng.poisson(np.exp(log_rates)).astype(float), np.exp(log_rates)


@pytest.mark.long
def test_the_sparse_model_takes_counts_with_gaps_and_beside_other_columns():
    Y, rates = simulated(0)
    gaps = np.random.default_rng(1).random(Y.shape) < 0.1
    model = SparseGPLVM(1, n_active=30, max_iter=3, noise="poisson").fit(np.where(gaps, np.nan, Y))
    assert isinstance(model.noise_, PerColumn) and all(type(m) is Poisson for m in model.noise_.models)
    found = model.reconstruct(Y).mean
    assert (found > 0).all() and np.mean((found - rates) ** 2) < 0.5 * np.mean((Y.mean(axis=0) - rates) ** 2)
    assert np.isfinite(model.score(Y)) and (model.sample(5, random_state=0)[0] >= 0).all()
    assert np.array_equal(model.impute(np.where(gaps, np.nan, Y))[~gaps], Y[~gaps])
    mixed = SparseGPLVM(1, n_active=30, max_iter=2, noise=[Poisson()] * 5 + [Gaussian(0.5)]).fit(Y)
    assert np.isfinite(mixed.score_samples(Y)).all()


def test_the_density_of_a_surprise_is_that_of_quadrature():
    terms = Poisson(0.0).log_partition(np.array([50.0]), np.array([0.0]), np.array([0.2]))
    f = np.linspace(-4, 8, 20_001)
    direct = np.sum(poisson.pmf(50, np.exp(f)) * norm.pdf(f, 0.0, np.sqrt(0.2))) * (f[1] - f[0])
    assert_allclose(terms[0], np.log(direct), rtol=1e-9)
