"""Chapter 8: noise models, their sites, assumed density filtering and expectation propagation, missing values."""

import json
from pathlib import Path

import numpy as np
import pytest
from gplvm_widgets.noise import TWOS, explore_noise, model_of, panel_noise, site_of
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import log_ndtr, logsumexp
from scipy.stats import multivariate_normal, norm

from gplvm_edu.datasets import binary_images, load_digits, remove_pixels
from gplvm_edu.exercises import check
from gplvm_edu.ivm import SparseGPLVM, select_active_set
from gplvm_edu.kernels import RBF, gp_log_marginal_likelihood, gp_posterior
from gplvm_edu.noise import (
    Gaussian,
    Noise,
    Ordinal,
    PerColumn,
    Probit,
    adf_posterior,
    cut_gradients,
    ep_evidence,
    ep_posterior,
    inverse_mills,
    match_moments,
    probit_terms,
    site_posterior,
    sites,
)
from gplvm_edu.optimise import check_gradient
from gplvm_edu.papers import noise_toys
from gplvm_edu.papers.noise import nearest_images, pixel_scores, probability_above, two_point_probability

quick = settings()  # those of the profile, tests/conftest.py
NAN = np.nan
quietly = pytest.mark.filterwarnings("error")
CUTS = np.array([-1.2, -0.2, 0.1, 2.0])
NOISES = [Gaussian(0.3, mean=0.4), Probit(bias=-0.3), Ordinal(cuts=CUTS), Ordinal(cuts=CUTS, scale=0.3)]
LABELS = [(-2.0, 0.3, 5.0), (-1.0, 1.0), range(5), range(5)]


# --- a second way to the same numbers: trapezoids on a fine grid, in logarithms -------------------------------


def log_difference(a, b):
    """ln(exp(a) - exp(b))."""
    return a + np.log1p(-np.exp(np.minimum(b - a, 0.0)))


def log_likelihood(noise, y, f):
    """ln p(y | f) written out again, from scipy's logarithm of the normal distribution."""
    if isinstance(noise, Gaussian):
        return norm.logpdf(y, f + noise.mean, np.sqrt(noise.variance))
    if isinstance(noise, Probit):
        return log_ndtr(y * (f + noise.bias))
    edges = np.concatenate([[-np.inf], noise.cuts, [np.inf]])
    h, low = ((edges[int(y) + k] - f) / noise.scale for k in (1, 0))
    mirrored = h + low > 0
    return log_difference(log_ndtr(np.where(mirrored, -low, h)), log_ndtr(np.where(mirrored, -h, low)))


def quadrature(noise, y, mean, variance, n_points=4_001):
    """ln Z, g and nu from the integrals themselves; the trapezoid rule is exact to rounding for such integrands."""
    wide = np.linspace(-60, 60, 24_001)
    scale = np.sqrt(variance)
    tilted = log_likelihood(noise, y, mean + scale * wide) - 0.5 * wide**2
    inside = wide[tilted > tilted.max() - 60]
    z = np.linspace(inside[0], inside[-1], n_points)
    step = z[1] - z[0]
    log_terms = log_likelihood(noise, y, mean + scale * z) - 0.5 * z**2 - 0.5 * np.log(2 * np.pi)
    log_Z = logsumexp(log_terms) + np.log(step)
    weights = np.exp(log_terms + np.log(step) - log_Z)
    first = weights @ z
    second = weights @ (z - first) ** 2
    return log_Z, first / scale, (1.0 - second) / variance


@pytest.mark.oracle
@pytest.mark.parametrize("k", range(len(NOISES)), ids=lambda k: repr(NOISES[k]))
@pytest.mark.parametrize("variance", [1e-2, 0.5, 1.0, 30.0])
@pytest.mark.long
def test_partition_function_and_derivatives_are_those_of_quadrature_to_1e_8_also_at_forty_deviations(k, variance):
    noise = NOISES[k]
    spread = np.sqrt(variance + (noise.variance if k == 0 else 1.0 if k == 1 else float(noise.scale) ** 2))
    for z in (-40.0, -12.0, -3.0, -0.4, 0.0, 1.0, 5.0, 20.0, 40.0):
        for y in LABELS[k]:
            mean = z * spread
            terms = noise.evaluate(np.array(float(y)), np.array(mean), np.array(variance))
            expected = quadrature(noise, y, mean, variance)
            assert_allclose(terms.log_partition, expected[0], rtol=1e-8, atol=1e-8)
            assert_allclose(terms.g, expected[1], rtol=1e-8, atol=1e-8)
            assert_allclose(terms.nu, expected[2], rtol=1e-8, atol=1e-8)


@pytest.mark.identity
@pytest.mark.parametrize("variance", [0.0, 1.0, 1e4])
def test_nothing_overflows_at_forty_thousand_deviations_and_the_site_keeps_a_legal_precision(variance):
    with np.errstate(all="raise", under="ignore"):
        for noise, labels in zip(NOISES, LABELS, strict=True):
            for y in labels:
                mean = np.array([-4e4, -400.0, -40.0, 0.0, 40.0, 400.0, 4e4])
                terms = noise.evaluate(np.full(7, float(y)), mean, np.full(7, variance))
                g, nu = terms.g, terms.nu
                assert np.isfinite(terms.log_partition).all() and np.isfinite(g).all() and (nu >= 0).all()
                m, beta = sites(g, nu, mean, np.full(7, variance))
                assert np.isfinite(m).all() and np.isfinite(beta).all() and (beta >= 0).all()
                assert (nu * variance < 1).all()


@pytest.mark.gradient
@given(st.integers(0, 3), st.floats(-3, 3), st.floats(0.05, 5), st.integers(0, 4))
@quick
def test_g_and_nu_are_the_derivatives_of_the_log_partition_function(k, mean, variance, which):
    noise, y = NOISES[k], float(LABELS[k][which % len(LABELS[k])])

    def value_and_gradient(x):
        terms = noise.evaluate(y, x[0], x[1])
        return float(terms.log_partition), np.array([terms.g, 0.5 * (terms.g**2 - terms.nu)])

    assert check_gradient(value_and_gradient, np.array([mean, variance])) < 1e-7


@pytest.mark.identity
@given(st.floats(-49.9, 8.0))
@quick
def test_the_inverse_mills_ratio_is_density_over_distribution(u):
    rho, excess = inverse_mills(u)
    assert_allclose(rho, np.exp(norm.logpdf(u) - norm.logcdf(u)), rtol=1e-10)
    assert_allclose(excess, u + rho, atol=0)


@pytest.mark.identity
def test_the_series_of_the_far_tail_joins_the_formula_without_a_step():
    left, right = inverse_mills(np.array([-50.0 - 1e-9, -50.0 + 1e-9]))[1]
    assert_allclose(left, right, rtol=1e-10)
    assert np.all(np.diff(inverse_mills(-np.logspace(0, 8, 200))[1]) < 0)


@pytest.mark.identity
@given(st.floats(-8, 8), st.floats(0.01, 20), st.sampled_from([-1.0, 1.0]), st.floats(-2, 2))
@quick
def test_an_ordinal_of_two_levels_is_a_probit(mean, variance, y, cut):
    ordinal, probit = Ordinal(cuts=[cut]), Probit(bias=-cut)
    for ours, theirs in zip(
        ordinal.evaluate((y + 1) / 2, mean, variance), probit.evaluate(y, mean, variance), strict=True
    ):
        assert_allclose(ours, theirs, rtol=1e-10, atol=1e-14)


@pytest.mark.identity
@given(st.integers(0, 10**6), st.integers(2, 6))
@quick
def test_the_levels_of_an_ordinal_exhaust_all_possibilities(seed, C):
    rng = np.random.default_rng(seed)
    noise = Ordinal(cuts=np.sort(rng.standard_normal(C - 1)) + 0.1 * np.arange(C - 1))
    mean, variance = rng.standard_normal(5), rng.uniform(0.1, 3, 5)
    each = np.stack([noise.log_partition(np.full(5, float(c)), mean, variance) for c in range(C)], axis=-1)
    assert_allclose(np.exp(each).sum(axis=-1), 1.0, rtol=1e-12)
    assert_allclose(np.exp(each), noise.probabilities(mean, variance), rtol=1e-10)
    assert_allclose(noise.predict(mean, variance), np.exp(each) @ np.arange(C), rtol=1e-10)


# --- sites -----------------------------------------------------------------------------------------------------


@pytest.mark.identity
@given(st.integers(0, 3), st.floats(-4, 4), st.floats(0.05, 5), st.integers(0, 4))
@quick
def test_a_gaussian_observation_of_the_site_gives_the_matched_moments(k, mean, variance, which):
    noise, y = NOISES[k], float(LABELS[k][which % len(LABELS[k])])
    g, nu = noise.derivatives(y, mean, variance)
    m, beta = sites(g, nu, mean, variance)
    after = variance / (1.0 + beta * variance)
    assert_allclose(match_moments(g, nu, mean, variance), (after * (mean / variance + beta * m), after), rtol=1e-8)


@pytest.mark.identity
@given(st.floats(-4, 4), st.floats(-4, 4), st.floats(0.05, 5), st.floats(0.01, 5))
@quick
def test_a_gaussian_observation_is_its_own_site(y, mean, variance, noise_variance):
    m, beta = sites(*Gaussian(noise_variance, 0.7).derivatives(y, mean, variance), mean, variance)
    assert_allclose((m, beta), (y - 0.7, 1 / noise_variance), rtol=1e-8, atol=1e-9)


@pytest.mark.identity
def test_the_matched_moments_are_those_of_the_tilted_density():
    f = np.linspace(-12, 12, 40_001)
    for noise, labels in zip(NOISES, LABELS, strict=True):
        for y in labels:
            density = np.exp(log_likelihood(noise, y, f)) * norm.pdf(f, 0.3, 1.2)
            density /= density.sum()
            expected = density @ f, density @ f**2 - (density @ f) ** 2
            assert_allclose(match_moments(*noise.derivatives(float(y), 0.3, 1.44), 0.3, 1.44), expected, rtol=1e-6)


# --- missing values, columns and rows --------------------------------------------------------------------------


@pytest.mark.identity
@pytest.mark.parametrize("k", range(len(NOISES)))
def test_a_missing_entry_contributes_nothing_and_its_site_is_empty(k):
    noise = NOISES[k]
    Y = np.array([[LABELS[k][0], NAN], [NAN, LABELS[k][1]]], dtype=float)
    mean, variance = np.full((2, 2), 0.3), np.full((2, 2), 0.7)
    terms = noise.evaluate(Y, mean, variance)
    for term in terms:
        assert_allclose(term[np.isnan(Y)], 0.0, atol=0)
        assert (term[~np.isnan(Y)] != 0).all()
    m, beta = sites(terms.g, terms.nu, mean, variance)
    assert_allclose(beta[np.isnan(Y)], 0.0, atol=0)
    assert_allclose(m[np.isnan(Y)], 0.0, atol=0)
    complete = noise.evaluate(np.where(np.isnan(Y), LABELS[k][0], Y), mean, variance)
    for with_gap, without in zip(terms, complete, strict=True):
        assert_allclose(with_gap[~np.isnan(Y)], without[~np.isnan(Y)], atol=0)


@pytest.mark.identity
@given(st.integers(0, 10**6))
@quick
def test_a_model_for_each_column_is_the_models_side_by_side(seed):
    rng = np.random.default_rng(seed)
    probit = Probit([0.1, -0.4])
    mixed = PerColumn([Gaussian(0.2, 0.0), probit, Ordinal(cuts=CUTS), probit])
    f = rng.standard_normal((6, 4))
    Y = mixed.sample(f, 0)
    Y[rng.random(Y.shape) < 0.2] = NAN
    mean, variance = rng.standard_normal((6, 4)), rng.uniform(0.1, 2, (6, 4))
    assert_allclose(mixed.check(Y, allow_empty=True), Y)
    for d, alone in enumerate([Gaussian(0.2, 0.0), Probit(0.1), Ordinal(cuts=CUTS), Probit(-0.4)]):
        for whole, part in zip(
            mixed.evaluate(Y, mean, variance), alone.evaluate(Y[:, d], mean[:, d], variance[:, d]), strict=True
        ):
            assert_allclose(whole[:, d], part, rtol=1e-13)
        for name in ("predict", "deviation", "signal_deviation"):
            whole, part = getattr(mixed, name)(mean, variance), getattr(alone, name)(mean[:, d], variance[:, d])
            assert_allclose(whole[:, d], part)


@pytest.mark.identity
def test_a_gaussian_variance_may_belong_to_all_to_a_dimension_to_a_point_or_to_an_entry():
    rng = np.random.default_rng(0)
    Y, mean, variance = rng.standard_normal((3, 4, 2))
    for v in (0.3, np.array([0.1, 0.5]), rng.uniform(0.1, 1, (4, 1)), rng.uniform(0.1, 1, (4, 2))):
        noise = Gaussian(v, mean=0.0)
        expected = norm.logpdf(Y, mean, np.sqrt(variance**2 + v))
        assert_allclose(noise.log_partition(Y, mean, variance**2), expected)
        assert_allclose(
            noise.rows([2, 0]).log_partition(Y[[2, 0]], mean[[2, 0]], variance[[2, 0]] ** 2), expected[[2, 0]]
        )
        assert noise.shared == (np.ndim(v) == 0 or np.shape(v) == (4, 1))
    assert not Probit().shared and not Ordinal(3).shared and not PerColumn([Gaussian()]).shared


# --- parameters ------------------------------------------------------------------------------------------------


@pytest.mark.identity
def test_started_from_data_the_prior_predicts_the_share_of_each_label():
    rng = np.random.default_rng(0)
    Y = (rng.random((4000, 3)) < [0.1, 0.5, 0.95]).astype(float)
    assert_allclose(Probit().start(Y, 2.0).predict(np.zeros(3), 2.0), Y.mean(axis=0), atol=1e-3)
    levels = rng.choice(4, size=(4000, 2), p=[0.1, 0.2, 0.3, 0.4]).astype(float)
    share = np.stack([(levels == c).mean(axis=0) for c in range(4)], axis=-1)
    assert_allclose(Ordinal().start(levels, 2.0).probabilities(np.zeros(2), np.full(2, 2.0)), share, atol=1e-3)
    assert_allclose(Gaussian().start(np.array([[1.0, NAN], [3.0, 5.0]])).mean, [2.0, 5.0])


@pytest.mark.identity
def test_what_was_stated_stays_and_the_original_is_never_changed():
    Y = np.array([[0.0, 1.0], [1.0, 1.0]])
    for noise in (Gaussian(0.1, 0.0), Probit([0.2, 0.1]), Ordinal(cuts=[0.0])):
        assert noise.start(Y) == noise and noise.start(Y) is not noise
    for noise in (Gaussian(), Probit(), Ordinal(2)):
        before = repr(noise)
        assert noise.start(Y) != noise and repr(noise) == before


@pytest.mark.gradient
@pytest.mark.parametrize(
    "noise",
    [
        Gaussian(0.3, 0.1),
        Gaussian([0.3, 0.6, 0.2], [0.0, 1.0, -1.0]),
        Probit(0.3),
        Probit([0.3, -0.2, 0.1]),
        Ordinal(cuts=CUTS),
        Ordinal(cuts=[0.2]),
        Ordinal(cuts=[CUTS, CUTS + 1, 2 * CUTS]),
    ],
    ids=repr,
)
def test_gradients_in_the_parameters_agree_with_differences(noise):
    rng = np.random.default_rng(1)
    mean, variance = rng.standard_normal((7, 3)), rng.uniform(0.2, 2.0, (7, 3))
    Y = noise.sample(rng.standard_normal((7, 3)), 0)
    Y[2, 1] = NAN

    def value_and_gradient(theta):
        trial = noise.with_theta(theta)
        return np.sum(trial.log_partition(Y, mean, variance)), trial.theta_gradient(Y, mean, variance)

    assert check_gradient(value_and_gradient, noise.theta) < 1e-7
    learnt = noise.learn(Y, mean, variance)
    assert np.sum(learnt.log_partition(Y, mean, variance)) >= np.sum(noise.log_partition(Y, mean, variance))


@pytest.mark.identity
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3]))
def test_the_gradient_in_the_cuts_of_each_column_is_that_of_the_column_alone(seed, missing):
    """Gaps and columns are a wrapper: `cut_gradients` of one complete column is the same."""
    rng = np.random.default_rng(seed)
    cuts = np.cumsum(rng.uniform(0.2, 1.0, (4, 3)), axis=1) - 1.0
    Y = np.where(rng.random((9, 4)) < missing, NAN, rng.integers(4, size=(9, 4)))
    mean, variance = rng.standard_normal((9, 4)), rng.uniform(0.1, 2.0, (9, 4))
    together = Ordinal(cuts=cuts).theta_gradient(Y, mean, variance).reshape(4, 3)
    for d, own in enumerate(cuts):
        seen = ~np.isnan(Y[:, d])
        in_cuts = cut_gradients(Y[seen, d].astype(int), own, mean[seen, d], variance[seen, d])
        chain = np.tril(np.ones((3, 3))) * np.append(1.0, np.diff(own))  # how theta moves the cuts
        assert_allclose(together[d], in_cuts @ chain, rtol=1e-9, atol=1e-12)


@pytest.mark.identity
def test_cut_points_are_learnt_back_from_levels():
    rng = np.random.default_rng(0)
    f = 2.0 * rng.standard_normal(5000)
    true = Ordinal(cuts=[-1.5, 0.5, 2.5])
    learnt = Ordinal(cuts=[-1.0, 0.0, 1.0]).learn(true.sample(f, rng), f, 1e-12)
    assert_allclose(learnt.cuts, true.cuts, atol=0.15)


@pytest.mark.identity
def test_samples_have_the_predicted_mean_and_deviation():
    rng = np.random.default_rng(0)
    f = np.repeat([[0.4], [-1.0]], 60_000, axis=1)
    for noise in NOISES:
        y = noise.sample(f, rng)
        y = (y + 1) / 2 if isinstance(noise, Probit) else y
        assert_allclose(y.mean(axis=1), noise.predict(f[:, 0], np.zeros(2)), atol=0.02)
        assert_allclose(y.std(axis=1), noise.deviation(f[:, 0], np.zeros(2)), atol=0.02)


# --- two deviations: of y, and of E[y | f] --------------------------------------------------------------------
def brute_deviations(noise, mean, variance):
    """Deviations of E[y | f] and of y where f is N(mean, variance): a sum over 40,001 values of f."""
    z = np.linspace(-9.0, 9.0, 40_001)
    w = norm.pdf(z) / norm.pdf(z).sum()
    f = mean + np.sqrt(variance) * z
    expected, scatter = noise.predict(f, 0.0), noise.deviation(f, 0.0)
    between = w @ (expected - w @ expected) ** 2
    return np.sqrt(between), np.sqrt(between + w @ scatter**2)


@pytest.mark.oracle
@pytest.mark.parametrize("variance", [1e-4, 0.3, 2.0, 20.0, 300.0, 1.6e5])
@pytest.mark.parametrize("mean", [-6.0, -0.7, 0.0, 2.5])
@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.long
def test_deviations_of_y_and_of_its_expectation_are_sums_over_f(noise, mean, variance):
    signal, total = brute_deviations(noise, mean, variance)
    assert_allclose(noise.signal_deviation(mean, variance), signal, rtol=1e-6, atol=1e-8)
    assert_allclose(noise.deviation(mean, variance), total, rtol=1e-6, atol=1e-8)


@pytest.mark.identity
@given(mean=st.floats(-50, 50), log_variance=st.floats(-40, 12))
@quick
def test_noise_never_takes_deviation_away(mean, log_variance):
    variance = np.exp(log_variance)
    for noise in NOISES:
        signal, total = noise.signal_deviation(mean, variance), noise.deviation(mean, variance)
        assert 0.0 <= signal <= total * (1 + 1e-7)
    assert_allclose(Probit(0.0).signal_deviation(mean, 0.0), 0.0, atol=2e-8)


@pytest.mark.identity
def test_two_levels_are_a_yes_and_a_no():
    mean, variance = np.meshgrid(np.linspace(-5, 5, 11), [0.0, 1e-3, 0.5, 3.0, 200.0])
    probit, ordinal = Probit(0.4), Ordinal(cuts=[-0.4])
    for name in ("predict", "deviation", "signal_deviation"):
        one, other = (getattr(noise, name)(mean, variance) for noise in (probit, ordinal))
        assert_allclose(one, other, rtol=1e-9, atol=2e-8)


@pytest.mark.identity
def test_gaussian_deviations_are_roots_to_the_last_digit():
    mean, variance = np.random.default_rng(0).uniform(0.1, 2.0, (2, 5, 3))
    noise = Gaussian(np.array([0.1, 0.2, 0.3]))
    assert np.array_equal(noise.signal_deviation(mean, variance), np.sqrt(variance))
    assert np.array_equal(noise.deviation(mean, variance), np.sqrt(variance + noise.variance))


@pytest.mark.parametrize("noise", [*NOISES, PerColumn([NOISES[0], NOISES[1]])], ids=repr)
def test_samples_take_every_kind_of_random_state(noise):
    f = np.zeros((200, 2))
    assert_allclose(noise.sample(f, 3), noise.sample(f, np.random.default_rng(3)), atol=0)
    assert not np.array_equal(noise.sample(f), noise.sample(f))
    for kind in (np.random.default_rng, np.random.RandomState):
        first, other = kind(3), kind(3)
        assert_allclose(noise.sample(f, first), noise.sample(f, other), atol=0)
        assert not np.array_equal(noise.sample(f, first), noise.sample(f, kind(3)))  # it went on
    with pytest.raises(ValueError, match="random_state must be"):
        noise.sample(f, "dice")


@pytest.mark.identity
def test_a_random_state_is_drawn_from_itself():
    f = np.zeros((5, 2))
    assert_allclose(
        Gaussian(1.0, mean=0.0).sample(f, np.random.RandomState(3)),
        np.random.RandomState(3).standard_normal((5, 2)),
        atol=0,
    )


# --- a whole Gaussian process ----------------------------------------------------------------------------------


def process(seed, N=10):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (N, 1))
    return X, RBF(1.5, 1.0)(X) + 1e-8 * np.eye(N), rng


@pytest.mark.identity
@given(st.integers(0, 10**6), st.booleans())
@quick
def test_filtering_with_gaussian_noise_is_the_exact_process_in_any_order(seed, each_its_own):
    _, K, rng = process(seed)
    y = rng.standard_normal(10)
    v = rng.uniform(0.05, 1.0, 10) if each_its_own else np.full(10, 0.2)
    noise = Gaussian(v[:, None] if each_its_own else 0.2, mean=0.0)
    C = K + np.diag(v)
    posterior = adf_posterior(K, y, noise, rng.permutation(10))
    assert_allclose(posterior.mean, K @ np.linalg.solve(C, y), atol=1e-9)
    assert_allclose(posterior.covariance, K - K @ np.linalg.solve(C, K), atol=1e-9)
    assert_allclose(posterior.site_means, y, atol=1e-8)
    assert_allclose(posterior.site_precisions, 1 / v, rtol=1e-7)
    assert_allclose(posterior.log_evidence, multivariate_normal(cov=C).logpdf(y), rtol=1e-9)


@pytest.mark.identity
def test_the_functions_of_chapter_2_agree_with_filtering():
    X, K, rng = process(3)
    y, kernel = rng.standard_normal(10), RBF(1.5, 1.0)
    posterior = adf_posterior(K, y, Gaussian(0.3, mean=0.0))
    mean, covariance = gp_posterior(kernel, X, y, X, noise_variance=0.3, full_covariance=True)
    assert_allclose(posterior.mean, mean, atol=1e-6)
    assert_allclose(posterior.covariance, covariance, atol=1e-6)
    assert_allclose(posterior.log_evidence, gp_log_marginal_likelihood(kernel, X, y, 0.3), atol=1e-6)


@pytest.mark.identity
@given(st.integers(0, 10**6))
@quick
def test_the_sites_of_filtering_give_its_posterior_back(seed):
    _, K, rng = process(seed)
    y = Ordinal(cuts=CUTS).sample(rng.multivariate_normal(np.zeros(10), K), rng)
    y[rng.random(10) < 0.2] = NAN
    posterior = adf_posterior(K, y, Ordinal(cuts=CUTS), rng.permutation(10))
    mean, covariance = site_posterior(K, posterior.site_means, posterior.site_precisions)
    assert_allclose(posterior.mean, mean, atol=1e-7)
    assert_allclose(posterior.covariance, covariance, atol=1e-7)


@pytest.mark.identity
@given(st.integers(0, 10**6))
@quick
def test_filtering_is_the_first_sweep_of_expectation_propagation(seed):
    _, K, rng = process(seed)
    y, order = Probit(0.2).sample(rng.multivariate_normal(np.zeros(10), K), rng), rng.permutation(10)
    first = next(ep_posterior(K, y, Probit(0.2), order))
    adf = adf_posterior(K, y, Probit(0.2), order)
    assert_allclose(first.mean, adf.mean, atol=1e-8)
    assert_allclose(first.covariance, adf.covariance, atol=1e-8)


@pytest.mark.identity
def test_a_sweep_that_was_handed_over_stays_as_it_was():
    _, K, rng = process(2)
    y = Probit(0.2).sample(rng.multivariate_normal(np.zeros(10), K), rng)
    sweeps = ep_posterior(K, y, Probit(0.2))
    first = next(sweeps)
    kept = [np.array(part) for part in first]
    next(sweeps)
    for before, after in zip(kept, first, strict=True):
        assert_allclose(after, before, atol=0)


@pytest.mark.identity
@given(st.integers(0, 10**6), st.integers(0, 1))
@quick
def test_filtering_depends_on_the_order_and_sweeps_of_expectation_propagation_do_not(seed, k):
    noise = (Probit(0.2), Ordinal(cuts=CUTS))[k]
    _, K, rng = process(seed)
    y = noise.sample(rng.multivariate_normal(np.zeros(10), K), rng)
    forward, backward = np.arange(10), np.arange(10)[::-1]
    gap = np.abs(adf_posterior(K, y, noise, forward).mean - adf_posterior(K, y, noise, backward).mean).max()
    *_, one = ep_posterior(K, y, noise, forward)
    *_, other = ep_posterior(K, y, noise, backward)
    assert gap > 1e-5
    assert_allclose(one.mean, other.mean, atol=1e-6)
    assert_allclose(one.log_evidence, other.log_evidence, atol=1e-6)
    assert one.change <= 1e-8


@pytest.mark.identity
def test_a_fixed_point_of_expectation_propagation_matches_the_moments_of_every_tilted_density():
    _, K, rng = process(5)
    noise = Probit(0.2)
    y = noise.sample(rng.multivariate_normal(np.zeros(10), K), rng)
    *_, p = ep_posterior(K, y, noise)
    variance = np.diag(p.covariance)
    cavity = 1 / (1 / variance - p.site_precisions)
    cavity_mean = cavity * (p.mean / variance - p.site_precisions * p.site_means)
    mean, matched = match_moments(*noise.derivatives(y, cavity_mean, cavity), cavity_mean, cavity)
    assert_allclose(mean, p.mean, atol=1e-7)
    assert_allclose(matched, variance, atol=1e-7)


@pytest.mark.oracle
def test_expectation_propagation_is_nearer_to_the_exact_evidence_than_filtering():
    K = np.array([[1.0, 0.8, 0.5], [0.8, 1.0, 0.8], [0.5, 0.8, 1.0]]) * 4.0
    y = np.array([1.0, 1.0, -1.0])
    exact = np.log(multivariate_normal(cov=np.eye(3) + np.outer(y, y) * K).cdf(np.zeros(3)))  # an orthant
    errors = {"adf": [], "ep": []}
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        errors["adf"].append(abs(adf_posterior(K, y, Probit(0.0), order).log_evidence - exact))
        *_, last = ep_posterior(K, y, Probit(0.0), order)
        errors["ep"].append(abs(last.log_evidence - exact))
    assert max(errors["ep"]) < 0.01 and max(errors["ep"]) < min(errors["adf"])


@pytest.mark.identity
@given(st.integers(0, 10**6))
@quick
def test_the_evidence_of_expectation_propagation_is_exact_for_gaussian_noise_and_any_gaps(seed):
    _, K, rng = process(seed)
    y = rng.standard_normal(10)
    y[rng.random(10) < 0.3] = NAN
    seen = ~np.isnan(y)
    *_, p = ep_posterior(K, y, Gaussian(0.3, mean=0.1))
    C = K[np.ix_(seen, seen)] + 0.3 * np.eye(seen.sum())
    expected = multivariate_normal(cov=C).logpdf(y[seen] - 0.1) if seen.any() else 0.0
    assert_allclose(p.log_evidence, expected, rtol=1e-8, atol=1e-10)
    assert_allclose(p.mean, K[:, seen] @ np.linalg.solve(C, y[seen] - 0.1), atol=1e-8)


@pytest.mark.identity
@pytest.mark.parametrize("noise", [Probit(0.2), Ordinal(cuts=CUTS)], ids=repr)
def test_a_missing_observation_is_the_observation_left_out(noise):
    _, K, rng = process(7)
    y = noise.sample(rng.multivariate_normal(np.zeros(10), K), rng)
    y[[2, 6]] = NAN
    kept = np.flatnonzero(~np.isnan(y))
    gaps, without = adf_posterior(K, y, noise), adf_posterior(K[np.ix_(kept, kept)], y[kept], noise)
    assert_allclose(gaps.mean[kept], without.mean, atol=1e-12)
    assert_allclose(gaps.log_evidence, without.log_evidence, atol=1e-12)
    nothing = adf_posterior(K, np.full(10, NAN), noise)
    assert_allclose(nothing.mean, 0.0, atol=0)
    assert_allclose(nothing.covariance, K, atol=0)


@pytest.mark.gradient
def test_at_a_fixed_point_the_evidence_moves_with_the_parameters_as_the_sum_of_log_partition_functions_does():
    _, K, rng = process(11)
    noise = Ordinal(cuts=[-0.8, 0.2, 1.1])
    y = noise.sample(rng.multivariate_normal(np.zeros(10), K), rng)

    def evidence_and_gradient(theta):
        trial = noise.with_theta(theta)
        *_, p = ep_posterior(K, y, trial, tolerance=1e-13, max_sweeps=200)
        variance = np.diag(p.covariance)
        cavity = 1 / (1 / variance - p.site_precisions)
        mean = cavity * (p.mean / variance - p.site_precisions * p.site_means)
        return p.log_evidence, trial.theta_gradient(y[:, None], mean[:, None], cavity[:, None])

    assert check_gradient(evidence_and_gradient, noise.theta, step=1e-4) < 1e-5


@pytest.mark.identity
def test_damped_sweeps_end_where_undamped_ones_do():
    _, K, rng = process(13)
    y = Probit(0.2).sample(rng.multivariate_normal(np.zeros(10), K), rng)
    *_, plain = ep_posterior(K, y, Probit(0.2))
    *_, damped = ep_posterior(K, y, Probit(0.2), damping=0.5, max_sweeps=200)
    assert_allclose(plain.mean, damped.mean, atol=1e-6)
    assert_allclose(ep_evidence(K, y, Probit(0.2), plain.site_means, plain.site_precisions), plain.log_evidence)


# --- bad input -------------------------------------------------------------------------------------------------


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "noise, Y, word",
    [
        (Probit(), [[1.0, 2.0]], "got 2 at row 0, column 1"),
        (Probit(), [[1.0, 0.0], [-1.0, 1.0]], "both 0"),
        (Ordinal(3), [[0.0, 3.0]], "got 3 at row 0, column 1"),
        (Ordinal(), [[0.0, 1.5]], "got 1.5"),
        (Ordinal(), [[0.0, -1.0]], "Number the levels from 0"),
        (Ordinal(), [[0.0, 0.0]], "Every level in Y is 0"),
        (Gaussian(), [[0.0, np.inf]], "infinity at row 0, column 1"),
        (Gaussian([0.1, 0.2, 0.3]), [[0.0, 1.0]], "variance has 3 entries"),
        (Gaussian(np.ones((3, 2))), [[0.0, 1.0]], "one for each entry"),
        (Probit(), [[1.0, NAN], [1.0, NAN]], "Column 1 of Y has no observed value"),
        (Probit(), [[NAN, NAN], [1.0, 0.0]], "Row 0 of Y has no observed value"),
        (PerColumn([Gaussian(), Probit()]), [[1.0, 5.0]], "In columns \\[1\\]"),
        (PerColumn([Gaussian(), Probit()]), [[1.0]], "one model"),
    ],
)
def test_data_outside_the_set_of_a_noise_model_are_named_with_their_place(noise, Y, word):
    with pytest.raises(ValueError, match=word):
        noise.check(np.array(Y))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "make, word",
    [
        (lambda: Gaussian(0.0), "above 0"),
        (lambda: Gaussian(-1.0), "above 0"),
        (lambda: Gaussian(NAN), "finite"),
        (lambda: Probit(np.inf), "finite"),
        (lambda: Ordinal(cuts=[1.0, 0.0]), "increase"),
        (lambda: Ordinal(cuts=[1.0, 1.0]), "increase"),
        (lambda: Ordinal(1), "from 2 to 1000, got 1"),
        (lambda: Ordinal(2.5), "n_levels must be a whole number"),
        (lambda: Ordinal(4, cuts=[0.0]), "make 2 levels"),
        (lambda: PerColumn([]), "one for each column"),
        (lambda: PerColumn([Gaussian(), "probit"]), "one for each column"),
        (lambda: Ordinal(scale=0.0), "above 0"),
        (lambda: Ordinal(3).log_partition(0.0, 0.0, 1.0), "still open"),
        (lambda: Gaussian(np.ones((3, 1))).log_partition(np.zeros((2, 1)), 0.0, 1.0), "rows"),
    ],
)
def test_parameters_that_make_no_noise_are_refused_with_a_reason(make, word):
    with pytest.raises(ValueError, match=word):
        make()


@quietly
@pytest.mark.bad_input
@pytest.mark.parametrize(
    "bad", [1e121, -1e121, 1e300, np.nan, -np.inf, "wide", ["a"], [1.0, [2.0]], 1j, [1 + 0j], [], {}]
)
def test_what_is_no_parameter_of_a_noise_model_is_refused(bad):
    for make, name in (
        (lambda: Gaussian(bad), "variance"),
        (lambda: Gaussian(0.1, mean=bad), "mean"),
        (lambda: Probit(bad), "bias"),
        (lambda: Ordinal(cuts=bad), "cuts"),
        (lambda: Ordinal(scale=bad), "scale"),
    ):
        with pytest.raises(ValueError, match=f"{name} must be|{name} is complex"):
            make()
    with pytest.raises(ValueError, match="PerColumn needs a list of noise models"):
        PerColumn([Gaussian(), bad])


@quietly
@pytest.mark.bad_input
@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: Gaussian(None), "variance must be finite and above 0, got None"),
        (lambda: Ordinal(scale=None), "scale must be finite and above 0, got None"),
        (lambda: Gaussian(1e-300), "variance must be from 1e-120 to 1e"),
        (lambda: Gaussian(np.ones((2, 2, 2))), "a number, a vector or a matrix"),
        (lambda: Gaussian(1.0, np.ones((2, 2))), "mean must be a number or a vector"),
        (lambda: Probit(np.ones((2, 2))), "bias must be a number or a vector"),
        (lambda: Ordinal(scale=[1.0, 2.0]), "scale must be one number"),
        (lambda: Ordinal(cuts=3.0), "cuts must increase"),
        (lambda: Ordinal(10**9), "n_levels must be a whole number from 2 to 1000.*Gaussian noise"),
        (lambda: Ordinal("three"), "n_levels must be a whole number"),
        (lambda: Ordinal("three", cuts=[0.0]), "n_levels must be a whole number"),
        (lambda: PerColumn(None), "PerColumn needs a list"),
        (lambda: Ordinal().check([[0.0, 1e9], [1.0, 2.0]]), "level 1000000000 at row 0, column 1.*at most 1000 levels"),
        (lambda: Ordinal().start([[0.0, 1e9]]), "level 1000000000 at row 0, column 1"),
        (lambda: Ordinal().start([0.0, 1.0], prior_variance=-1.0), "prior_variance must be"),
        (lambda: Probit().start([0.0, 1.0], prior_variance=np.nan), "prior_variance must be"),
        (lambda: Probit().start(["a", "b"]), "Y must be an array of numbers"),
        (lambda: Ordinal(cuts=[0.0, 1.0]).evaluate([[3.0]], 0.0, 1.0), "got 3 at row 0, column 0"),
        (lambda: Ordinal(cuts=[0.0, 1.0]).evaluate([[-1.0]], 0.0, 1.0), "got -1 at row 0, column 0"),
        (lambda: Ordinal(cuts=[0.0, 1.0]).evaluate([[0.0, -2.0]], 0.0, 1.0), "got -2 at row 0, column 1"),
        (lambda: Gaussian().check([[0.0, 1e60]]), "beyond 1e\\+50 at row 0, column 1"),
        (lambda: Gaussian().check([[0.0, 1j]]), "Y is complex"),
        (lambda: Gaussian().check([["a"]]), "Y must be an array of numbers"),
        (lambda: Gaussian(0.1, mean=[0.0, 1.0]).check([[1.0, 2.0, 3.0]]), "mean has 2 entries"),
        (lambda: Gaussian().evaluate(np.zeros(3), np.zeros(2), 1.0), r"shapes \(3,\), \(2,\), \(\), which do not fit"),
        (lambda: Probit(0.0).evaluate("yes", 0.0, 1.0), "must be an array of numbers"),
        (lambda: Probit(0.0).evaluate(1.0, 1j, 1.0), "is complex"),
        (lambda: Probit(0.0).sample([0.0, NAN]), "f contains NaN or infinity at entry 1"),
        (lambda: Probit(0.0).sample([["a"]]), "f must be an array of numbers"),
        (lambda: Gaussian().sample([0.0], "dice"), "random_state must be"),
        (lambda: Ordinal(cuts=[0.0]).sample([0.0], -1), "random_state must be"),
        (lambda: Gaussian().sample([0.0], 0.5), "random_state must be"),
        (lambda: Gaussian().learn([0.0, 1.0], 0.0, 1.0, max_iter=0.5), "max_iter must be a whole number"),
        (lambda: PerColumn([Gaussian(), Probit()]).learn([0.0, 1.0], 0.0, 1.0), "one model"),
        (lambda: PerColumn([Gaussian(), Probit()]).start([0.0, 1.0]), "one model"),
        (lambda: PerColumn([Gaussian(), Probit()]).predict(0.0, 1.0), "one model"),
        (lambda: PerColumn([Gaussian(), Probit()]).sample([[0.0]], 0), "one model"),
    ],
)
def test_misuse_of_a_noise_model_is_explained(make, says):
    with pytest.raises(ValueError, match=says):
        make()


# --- numbers that hold in any units -----------------------------------------------------------------------------

MEANS = (0.0, 1e-100, -1.0, 1e8, -1e30, 1e100, -1e100)
VARIANCES = (1e-100, 1e-30, 1.0, 1e30, 1e100)
EXTREME_NOISES = [
    *[(Gaussian(s, mean=m), (-1e50, 0.0, 1e50)) for s in (1e-100, 1.0, 1e100) for m in (0.0, 1e100)],
    *[(Probit(b), (-1.0, 1.0)) for b in (0.0, 1e-100, 1e100, -1e100)],
    *[
        (Ordinal(cuts=cuts, scale=s), range(len(cuts) + 1))
        for s in (1e-100, 1.0, 1e100)
        for cuts in ([0.0], [0.0, 1e-100], [-1.0, 1.0, 1.0 + 1e-9], [-1e100, 0.0, 1e100])
    ],
]


@quietly
@pytest.mark.parametrize("noise, labels", EXTREME_NOISES, ids=lambda value: repr(value)[:60])
def test_extreme_means_and_variances_give_numbers(noise, labels):
    mean, variance = (part.reshape(-1, 1) for part in np.meshgrid(MEANS, VARIANCES))
    for f in (noise.predict, noise.deviation, noise.signal_deviation):
        assert np.isfinite(f(mean, variance)).all()
    assert np.isfinite(noise.sample(mean, 0)).all()
    for y in labels:
        terms = noise.evaluate(np.full_like(mean, y), mean, variance)
        assert all(np.isfinite(term).all() for term in terms)
        assert np.all(terms.nu >= 0) and np.all(terms.nu * variance <= 1 + 1e-12)
        assert all(np.isfinite(site).all() for site in sites(terms.g, terms.nu, mean, variance))
        assert all(np.isfinite(part).all() for part in match_moments(terms.g, terms.nu, mean, variance))
        assert np.isfinite(noise.theta_gradient(np.full_like(mean, y), mean, variance)).all()


@quietly
@pytest.mark.parametrize("noise, labels", EXTREME_NOISES, ids=lambda value: repr(value)[:60])
@pytest.mark.parametrize("mean, variance", [(0.0, 1e-100), (1e100, 1.0), (-1e30, 1e-30), (1.0, 1e100)])
def test_what_is_learnt_at_the_extremes_is_a_noise_model(noise, labels, mean, variance):
    Y = np.array(labels, float)[:, None]
    learnt = noise.learn(Y, mean, variance, max_iter=5)
    assert np.isfinite(learnt.theta).all()
    before, after = (np.sum(model.log_partition(Y, mean, variance)) for model in (noise, learnt))
    assert after >= before - 1e-9 * abs(before)


@quietly
@pytest.mark.identity
@pytest.mark.parametrize("mean", [0.0, 0.3, -7.0, 40.0, 1e4, -1e9, 1e30, -1e90])
@pytest.mark.parametrize("width", [1e-6, 1e-8, 1e-30, 1e-90])
def test_a_narrow_interval_is_an_observation_of_its_centre(mean, width):
    """Its probability is the density times the width, as long as the density hardly changes within it."""
    cuts = [0.0, width]
    log_Z, g, nu = Ordinal(cuts=cuts).evaluate(1.0, mean, 1.0)
    decay = 0.5 * abs(mean) * width
    rest = np.log(-np.expm1(-decay) / decay) if decay > 0 else 0.0  # from the edge nearer to the mean
    nearer = width if mean > 0 else 0.0
    assert_allclose(log_Z, norm.logpdf(nearer, mean, np.sqrt(2.0)) + np.log(width) + rest, rtol=1e-9)
    assert_allclose(nu, 0.5, rtol=1e-9)
    if decay < 1e-3:
        assert_allclose(g, 0.5 * (0.5 * width - mean), rtol=1e-9, atol=1e-16)


@quietly
@pytest.mark.identity
@pytest.mark.parametrize("mean", [1e6, 1e12, 1e17, 1e50, 1e99])
@pytest.mark.parametrize("variance", [1e-100, 1.0, 1e3])
def test_far_in_the_tail_only_the_nearer_cut_counts(mean, variance):
    """A middle level seen from far away is a probit of its nearer edge, also where h - l is lost to rounding."""
    for ours, probit in zip(
        Ordinal(cuts=[-1.0, 0.0]).evaluate(1.0, mean, variance), Probit(0.0).evaluate(-1.0, mean, variance), strict=True
    ):
        assert_allclose(ours, probit, rtol=1e-6)


@quietly
@pytest.mark.identity
@pytest.mark.parametrize("c", [1e-45, 1e-20, 1e20, 1e45])
def test_gaussian_noise_holds_in_any_units(c):
    rng = np.random.default_rng(0)
    Y, mean, variance = rng.normal(size=(6, 2)), rng.normal(size=(6, 2)), rng.uniform(0.1, 2.0, (6, 2))
    here, there = Gaussian(0.3, mean=0.0), Gaussian(0.3 * c**2, mean=0.0)
    log_Z, g, nu = here.evaluate(Y, mean, variance)
    expected = (log_Z - np.log(c), g / c, nu / c**2)
    for ours, theirs in zip(there.evaluate(c * Y, c * mean, c**2 * variance), expected, strict=True):
        assert_allclose(ours, theirs, rtol=1e-9, atol=1e-300)


@pytest.mark.bad_input
def test_new_rows_may_have_columns_without_any_value():
    Y = np.array([[1.0, NAN], [0.0, NAN]])
    assert_allclose(Probit().check(Y, allow_empty=True), [[1.0, NAN], [-1.0, NAN]])


@pytest.mark.identity
def test_zero_and_minus_one_are_the_same_no():
    Y = np.array([[1.0, 0.0], [0.0, 1.0]])
    for ours, theirs in zip(Probit(0.3).evaluate(Y, 0.4, 0.5), Probit(0.3).evaluate(2 * Y - 1, 0.4, 0.5), strict=True):
        assert_allclose(ours, theirs, atol=0)
    assert_allclose(Probit().check(Y), 2 * Y - 1)
    assert isinstance(Probit(), Noise) and repr(Probit()) == "Probit(bias=None)"
    assert probit_terms(1.0, 0.0, 0.0).log_partition == pytest.approx(np.log(0.5))


# --- twos ------------------------------------------------------------------------------------------------------


@pytest.mark.identity
def test_images_become_ink_by_the_mean_of_each_block():
    grey = np.zeros((1, 16, 16))
    grey[0, 0, 0], grey[0, 3, 2] = 0.21, 0.19  # block means 0.0525 and 0.0475
    ink = binary_images(grey.reshape(1, 256)).reshape(8, 8)
    assert ink[0, 0] == 1 and ink.sum() == 1
    assert_allclose(binary_images(np.array([[0.06, 0.04] * 32])), np.array([[1.0, 0.0] * 32]))


@pytest.mark.identity
def test_a_larger_share_removes_the_same_pixels_and_more():
    Y = np.ones((6, 40))
    removed = [remove_pixels(Y, share, random_state=3)[1] for share in (0.0, 0.2, 0.5, 1.0)]
    assert [r.sum(axis=1).tolist() for r in removed] == [[0] * 6, [8] * 6, [20] * 6, [40] * 6]
    assert np.all(removed[1] <= removed[2]) and len({tuple(row) for row in removed[2]}) == 6
    seen, gone = remove_pixels(Y, 0.5, random_state=3)
    assert_allclose(np.isnan(seen), gone)


@pytest.mark.identity
@given(st.floats(-1, 2), st.floats(0.05, 2))
@quick
def test_the_two_point_probability_is_the_ratio_of_the_densities(mean, variance):
    one, zero = norm.pdf([1.0, 0.0], mean, np.sqrt(variance))
    assert_allclose(two_point_probability(mean, variance), one / (one + zero), rtol=1e-8)


@pytest.mark.identity
def test_scores_count_removed_pixels_only():
    truth, removed = np.array([[1.0, 0.0, 1.0]]), np.array([[True, True, False]])
    error, loss = pixel_scores(np.array([[0.8, 0.6, 0.0]]), truth, removed)
    assert error == 0.5 and loss == pytest.approx(-0.5 * (np.log(0.8) + np.log(0.4)))
    assert pixel_scores(np.array([[0.8, 0.6, 0.0]]), truth, removed, cut=0.7)[0] == 0.0


# --- in the sparse GP-LVM --------------------------------------------------------------------------------------


def few_twos(n=40, threshold=0.05):
    digits = load_digits()
    return binary_images(digits.data[digits.target == 2] / 16, threshold)[:n]


@pytest.mark.identity
@pytest.mark.parametrize("noise", [Probit(0.1), Gaussian(0.2, mean=0.0), Ordinal(cuts=[0.3])], ids=repr)
def test_a_column_of_gaps_changes_nothing(noise):
    Y, X = few_twos()[:, 18:24], np.random.default_rng(0).standard_normal((40, 2))
    more = np.column_stack([Y, np.full(40, NAN)])
    without, with_gaps = (select_active_set(data, X, RBF(), noise, 12) for data in (Y, more))
    assert np.array_equal(without.active, with_gaps.active)
    assert_allclose(with_gaps.site_means[:, :-1], without.site_means, atol=1e-9)
    assert_allclose(with_gaps.precisions[:, -1], 0.0, atol=0)
    assert_allclose(with_gaps.log_evidence, without.log_evidence, rtol=1e-9)


@pytest.mark.identity
def test_a_binary_model_takes_either_way_of_writing_no_and_predicts_probabilities():
    Y = few_twos()
    models = [SparseGPLVM(n_active=15, max_iter=2, noise=Probit()).fit(data) for data in (Y, 2 * Y - 1)]
    assert_allclose(models[0].embedding_, models[1].embedding_, atol=1e-8)
    seen, removed = remove_pixels(Y[:5], 0.3, random_state=0)
    found = models[0].reconstruct(seen)
    p = found.mean
    assert found.latent_mean.shape == (5, 2) and np.all((p >= 0) & (p <= 1)) and np.isfinite(p[removed]).all()


@pytest.mark.identity
def test_two_ordered_levels_fit_as_a_probit_does():
    Y = few_twos()
    probit, ordinal = (SparseGPLVM(n_active=15, max_iter=2, noise=noise).fit(Y) for noise in (Probit(), Ordinal(2)))
    assert_allclose(probit.embedding_, ordinal.embedding_, atol=1e-4)
    assert_allclose(probit.log_likelihood_, ordinal.log_likelihood_, rtol=1e-6)


@pytest.mark.identity
def test_columns_of_several_kinds_and_gaps_are_fitted_together():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    Y = np.column_stack([X[:, 0], X @ [1, 1] > 0, np.digitize(X[:, 1], [-0.5, 0.5])]).astype(float)
    Y[rng.random(Y.shape) < 0.1] = NAN
    Y[np.isnan(Y).all(axis=1), 0] = 0.0
    model = SparseGPLVM(n_active=15, max_iter=3, noise=[Gaussian(0.05), Probit(), Ordinal(3)]).fit(Y)
    expected = model.reconstruct(Y).mean
    seen = ~np.isnan(Y)
    assert np.corrcoef(expected[seen[:, 0], 0], Y[seen[:, 0], 0])[0, 1] > 0.7  # 0.77: an average over p(x | y)
    assert np.mean((expected[seen[:, 1], 1] > 0.5) == Y[seen[:, 1], 1]) > 0.8
    assert np.all((expected[:, 2] >= 0) & (expected[:, 2] <= 2))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "change, word",
    [
        (dict(data=lambda Y: np.where(Y == 1, 7.0, Y), noise=Probit()), "labels 1 and -1"),
        (
            dict(data=lambda Y: np.where(np.arange(64) == 5, NAN, Y), noise=Probit()),
            "Column 5 of Y has no observed value",
        ),
        (
            dict(data=lambda Y: np.where(np.arange(40)[:, None] == 3, NAN, Y), noise=Probit()),
            "Row 3 of Y has no observed",
        ),
        (dict(kernel=RBF()), "no white noise"),
        (dict(noise=0.1), "noise must be a noise model"),
        (dict(noise=[Probit(), Probit()]), "one model"),
    ],
)
def test_the_sparse_model_refuses_what_its_noise_can_not_mean(change, word):
    data = change.pop("data", lambda Y: Y)(few_twos())
    with pytest.raises(ValueError, match=word):
        SparseGPLVM(n_active=10, max_iter=1, **change).fit(data)


@pytest.mark.identity
def test_a_kernel_without_white_noise_serves_when_the_noise_model_brings_its_own():
    model = SparseGPLVM(n_active=10, max_iter=1, kernel=RBF(), noise=Probit()).fit(few_twos())
    assert np.isfinite(model.embedding_).all()


# --- the real twos ---------------------------------------------------------------------------------------------


@pytest.mark.real
def test_both_models_err_on_less_than_half_of_what_not_ink_does_on_the_real_twos(fresh_results):
    report = fresh_results("noise")
    assert (report["train"], report["test"], report["removed"]) == (700, 229, 229 * 13)
    error = {name: row["error"] for name, row in report["table"].items()}
    assert 50 < error["not ink"] < 54  # half of the pixels are ink, as in the paper
    for size in (100, 350):
        for name in ("Bernoulli", "Gaussian, cut at 1/2"):
            assert error[f"{name}, d = {size}"] < 0.5 * error["not ink"]
            assert error[f"{name}, d = {size}"] < error["mean of the pixel"]


@pytest.mark.oracle
def test_rows_of_the_stored_experiments_are_found_again():
    """A draw of the counts, and one of the long chains with fewer draws, beside fewer weighted draws."""
    stored = json.loads((Path(__file__).parents[1] / "book" / "results" / "noise_toys.json").read_text())
    for name, line in noise_toys.counts(1).items():
        for score, value in line.items():
            assert abs(value - stored["counts"][name][score][1]) < 0.02, (name, score)
    fresh = noise_toys.approximations(1.0, 3, n_samples=1000, n_pairs=100_000)
    line = stored["approximations, variance 1"][3]
    for name in ("Laplace", "filter", "EP"):
        for what, near in (("probability", 0.002), ("mean", 0.01), ("deviation", 0.01)):
            assert abs(fresh[name][what] - line[name][what]) < near, (name, what)


@pytest.mark.oracle
def test_weighted_draws_have_the_moments_of_the_posterior_of_two_labels():
    K, y = np.array([[9.0, 6.0], [6.0, 9.0]]), np.array([1.0, 1.0])
    *_, settled = ep_posterior(K, y, Probit(0.0))
    chance, mean, deviation, resolution, effective = noise_toys.weighted_moments(y, settled, norm.cdf, 0, 50_000)
    places = np.stack(np.meshgrid(*[np.linspace(-18, 18, 721)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
    w = multivariate_normal(cov=K).pdf(places) * norm.cdf(places).prod(axis=1)
    w /= w.sum()
    exact = w @ places
    assert_allclose(chance, w @ norm.cdf(places), atol=0.002)
    assert_allclose(mean, exact, atol=0.03)
    assert_allclose(deviation, np.sqrt(w @ (places - exact) ** 2), atol=0.03)
    assert 0 < resolution < 0.002 and 30_000 < effective < 100_000


def test_the_nearest_images_are_those_that_agree_where_something_is_seen():
    train = np.array([[1.0, 1, 0], [0, 0, 1], [0, 1, 1]])
    assert_allclose(nearest_images(train, np.array([[np.nan, 0, 1]]), 1), [[0.25, 0.25, 0.75]])
    assert_allclose(nearest_images(train, np.array([[np.nan, np.nan, 1]]), 2), [[1 / 6, 0.5, 5 / 6]])


@pytest.mark.real
def test_nearest_images_beat_both_models_and_the_probabilities_of_the_bernoulli_those_of_the_gaussian(fresh_results):
    for threshold in ("0.05", "0.25", "0.5"):
        lines = {
            name: {s: np.array(v) for s, v in scores.items()}
            for name, scores in fresh_results("noise")["splits"][threshold].items()
        }
        for rival in ("Bernoulli", "Bernoulli, bias as started", "Gaussian, cut at 1/2"):
            assert np.all(lines["ten nearest images"]["error"] < lines[rival]["error"])
        surer = lines["Bernoulli"]["log_loss"]
        assert np.all(surer < lines["Gaussian, density"]["log_loss"])
        assert np.sum(surer < lines["Gaussian, cut at 1/2"]["log_loss"]) >= 9


@pytest.mark.real
def test_what_decides_on_the_real_twos_is_how_the_gaussian_is_read_how_many_dimensions_and_how_many_passes(
    fresh_results,
):
    report = fresh_results("noise")
    least = {"0.05": (2, 8), "0.25": (1, 6), "0.5": (0, 2)}  # of ten: the Gaussian above 1/2; five dimensions
    for threshold, (read, wide) in least.items():
        lines = {name: {s: np.array(v) for s, v in row.items()} for name, row in report["splits"][threshold].items()}
        above, five, two = (lines[n] for n in ("Gaussian, above 1/2", "Bernoulli, five dimensions", "Bernoulli"))
        assert np.all(above["log_loss"] < lines["Gaussian, density"]["log_loss"])
        assert np.sum(above["log_loss"] < two["log_loss"]) >= read
        assert np.sum(five["error"] < lines["ten nearest of 60"]["error"]) >= wide
        assert np.all(five["error"] < two["error"]) and np.all(two["boast"] < 0)
        assert np.all(lines["ten nearest images"]["error"] < five["error"])
        if threshold == "0.05":
            assert np.sum(above["gap"] < two["gap"]) >= 9
    for threshold, rows in report["passes"].items():
        late = {name: np.array(row["error"]) for name, row in rows.items()}
        assert np.all(late["Gaussian, cut at 1/2"] < late["Bernoulli"])
        before = np.array(report["splits"][threshold]["Bernoulli"]["error"][:3])
        assert np.mean(late["Bernoulli"] - before) > (1.0 if threshold == "0.05" else -0.2)


def test_a_gaussian_prediction_lies_above_the_cut_as_often_as_draws_of_it_do():
    draws = np.random.default_rng(0).normal(0.7, np.sqrt(0.3), 200_000)
    assert_allclose(probability_above(0.7, 0.3), np.mean(draws > 0.5), atol=0.004)
    assert_allclose(probability_above(0.7, 0.3, cut=0.2), np.mean(draws > 0.2), atol=0.004)


@pytest.mark.real
def test_the_gap_between_the_models_is_one_of_cuts_and_of_probabilities(fresh_results):
    report = fresh_results("noise")
    table = report["table"]
    for size in (100, 350):
        bernoulli, half, own = (
            table[f"{name}, d = {size}"]
            for name in ("Bernoulli", "Gaussian, cut at 1/2", "Gaussian, cut at the pixel's mean")
        )
        scatter = report[f"standard error of Bernoulli minus Gaussian, d = {size}"]
        assert abs(bernoulli["error"] - half["error"]) < 3 * scatter and own["error"] > 1.2 * half["error"]
        others = (table[f"Gaussian, density, d = {size}"], table["mean of the pixel"])
        assert bernoulli["log_loss"] < min(row["log_loss"] for row in others)
        assert bernoulli["log_loss"] < half["log_loss"]  # the mean taken for a probability


# --- the explorer ----------------------------------------------------------------------------------------------

EXPLORER = explore_noise


SITES = [
    dict(noise="Probit", mean=-2.0, variance=3.0, label=1),
    dict(noise="Probit", mean=0.5, label=0),
    dict(noise="Gaussian", mean=1.0, y=-1.5, noise_variance=0.2),
    dict(noise="Ordinal", mean=2.0, variance=0.5, level=0),
    dict(noise="Ordinal", mean=-5.0, level=3),
]


@pytest.mark.widget
@pytest.mark.parametrize("chosen", SITES, ids=str)
def test_the_code_of_one_observation_computes_what_the_panel_shows(explorer, chosen, capsys):
    explorer.set(**chosen)
    scope, scene = {}, explorer.scene
    exec(explorer.shown_code(), scope)
    assert scene.says in capsys.readouterr().out
    assert f"mean {scope['new_mean']:.2f}, variance {scope['new_variance']:.2f}" in scene.panel("densities").title
    assert f"mean {scope['m']:.2f}, precision {scope['beta']:.3f}" in scene.panel("effects").title
    dots = [scene.mark("effects", key).y[0] for key in ("left now", "precision now")]
    assert_allclose(dots, [scope["new_variance"] / scope["variance"], scope["beta"]])
    for key, dot in zip(("left", "precision"), dots, strict=True):  # which lie on the curves
        curve = scene.mark("effects", key)
        assert_allclose(np.interp(explorer.settings["mean"], curve.x, curve.y), dot, rtol=1e-9)


@pytest.mark.widget
@pytest.mark.parametrize(
    "pixel_noise, kernel, passes", [("Probit", "RBF", 0), ("Gaussian", "MLP", 1), ("Probit", "linear", 2)]
)
def test_the_code_of_the_twos_computes_what_the_panel_shows(explorer, pixel_noise, kernel, passes, capsys):
    explorer.set(view=TWOS, pixel_noise=pixel_noise, kernel=kernel, n_active=10, restarts=3, share=0.4)
    if passes:
        explorer.run_now(max_steps=passes + 1)
    explorer.set(image=7)  # light: the model stays
    scope, scene = {}, explorer.scene
    exec(explorer.shown_code(), scope)
    assert scene.says in capsys.readouterr().out and scene.says.startswith(f"pass {passes}: ")
    expected, cursor = scene.mark("filled", "images").values[:, :8], scene.mark("space", "place")
    assert_allclose(expected.ravel(), scope["expected"], atol=1e-6)
    assert_allclose([cursor.x, cursor.y], scope["place"][0], atol=1e-6)
    wrong = scene.mark("filled", "crosses")
    assert_allclose(8 * wrong.y + wrong.x - 9, np.flatnonzero(scope["wrong"]))
    assert scene.panel("filled").title == f"what is put there: {scope['wrong'].sum()} wrong (×)"
    whole = scene.mark("filled", "images").values[:, 9:].ravel()  # right wherever there is no cross
    assert_allclose(np.flatnonzero(whole != (scope["test"][7] > 0.5)), np.flatnonzero(scope["wrong"]))


@pytest.mark.widget
def test_the_pictures_of_a_test_image_are_its_ink_and_its_gaps():
    scene = panel_noise(view=TWOS, n_active=10, share=0.4, image=3)
    truth, left = np.hsplit(scene.mark("seen", "images").values, [8])
    _, removed = remove_pixels(few_twos(177, threshold=0.5)[120:], 0.4, random_state=0)
    assert_allclose(truth.ravel(), few_twos(177, threshold=0.5)[123])
    assert_allclose(left[:, 1:].ravel(), np.where(removed[3], NAN, few_twos(177, threshold=0.5)[123]))
    gone = scene.mark("seen", "crosses")
    assert scene.panel("seen").title == f"test image 3: {removed[3].sum()} pixels removed (×)"
    assert_allclose(8 * gone.y + gone.x - 9, np.flatnonzero(removed[3]))


@pytest.mark.widget
def test_a_ring_shows_where_each_search_begins():
    for restarts in (1, 4):
        scene = panel_noise(view=TWOS, n_active=10, image=3, restarts=restarts)
        X, begun = scene.mark("space", "rest"), scene.mark("space", "begun")
        active = scene.mark("space", "active")
        assert len(active.x) == 10 and len(X.x) == 110 and len(begun.x) == restarts
        assert set(begun.x) <= {*X.x, *active.x}  # at places of training images


@pytest.mark.widget
def test_the_shaded_density_of_the_panel_is_the_product_of_its_curves():
    panel = panel_noise(mean=-1.0, variance=4.0).panel("densities")
    exact, prior, likelihood = (panel.mark(key) for key in ("exact", "prior", "likelihood"))
    product = prior.y * likelihood.y
    assert_allclose(exact.high, product / (product.sum() * (prior.x[1] - prior.x[0])), atol=2e-3)
    assert_allclose(exact.low, 0)


@pytest.mark.widget
def test_controls_and_run_of_the_other_view_step_aside(explorer):
    shown = lambda: {name for name, w in explorer.controls.items() if w.layout.display != "none"}  # noqa: E731
    in_use = lambda: {name for name, w in explorer.controls.items() if not w.disabled}  # noqa: E731
    for noise, own in (("Ordinal", {"level"}), ("Probit", {"label"}), ("Gaussian", {"y", "noise_variance"})):
        explorer.set(noise=noise)
        assert in_use() == {"view", "noise", "mean", "variance"} | own == shown() - {"n_active"}
        assert explorer.run_button.disabled and "one observation is answered at once" in explorer.why_box.value
    explorer.run_now()
    assert explorer.state is None and explorer.kept == []
    explorer.set(view=TWOS, n_active=10)
    assert in_use() == shown() == {"view", "pixel_noise", "image", "share", "kernel", "init", "restarts", "n_active"}
    assert not explorer.run_button.disabled and explorer.why_box.value == ""


@pytest.mark.widget
def test_a_drag_in_both_pictures_moves_the_prior_mean_and_arrow_keys_do_too(explorer):
    assert [panel.listens for panel in explorer.scene.panels] == ["drag", "drag"]
    for panel, x, mean in (("densities", 2.51, 2.5), ("effects", -1.0, -1.0), ("densities", 7.7, 6.0)):
        explorer.view.hear({"type": "point", "panel": panel, "x": x, "y": 0.1})
        assert explorer.settings["mean"] == mean
    explorer.view.hear({"type": "arrow", "panel": "densities", "right": -5, "up": 0})
    assert explorer.settings["mean"] == 5.5 and explorer.settings["variance"] == 1.0
    explorer.view.hear({"type": "arrow", "panel": "effects", "right": 0, "up": 1})
    assert explorer.settings["variance"] == pytest.approx(10**0.05, rel=1e-3)
    explorer.set(view=TWOS, n_active=10)
    assert [panel.listens for panel in explorer.scene.panels] == ["", "", ""]


@pytest.mark.widget
def test_run_makes_the_passes_and_the_slider_goes_back(explorer, capsys):
    explorer.set(view=TWOS, pixel_noise="Gaussian", n_active=10)
    explorer.run_now()
    assert len(explorer.kept) == 21 and "after 20 passes" in explorer.scene.panel("space").title
    after = explorer.scene.mark("space", "rest").x
    for shown, words in ((20, "after 20 passes"), (1, "after 1 pass "), (0, "after 0 passes")):
        explorer.scrubber.value = shown
        exec(explorer.shown_code(), {})
        assert explorer.scene.says in capsys.readouterr().out and words in explorer.scene.panel("space").title
    assert not np.array_equal(explorer.scene.mark("space", "rest").x, after)
    explorer.set(view="one observation")
    assert explorer.state is None and explorer.kept == []


@pytest.mark.widget
def test_the_answers_of_the_questions_are_true(explorer):
    scenes = []
    for number, question in enumerate(explorer.questions, start=1):
        explorer.ask(number)
        before = explorer.scene
        explorer.commit(question.right)
        explorer.reveal()
        assert "Right." in explorer.question_box.value
        scenes.append((before, explorer.scene))
    now, expected = (scene.mark("effects", "precision now").y[0] for scene in scenes[0])
    assert explorer.questions[0].right == 0 and 0.4 < now < 0.5 and 0.005 < expected < 0.015
    model, y = model_of("Probit", label=1)
    sharpest = [site_of(model, y, mean, 1.0).precision for mean in (0.0, -4.0, -40.0, -4000.0)]
    assert_allclose(scenes[1][1].mark("effects", "precision now").y[0], sharpest[1])
    assert explorer.questions[1].right == 1 and sharpest == sorted(sharpest) and 0.999 < sharpest[-1] < 1.0
    wrong = [len(scene.mark("filled", "crosses").x) for scene in scenes[2]]
    assert explorer.questions[2].right == 1 and wrong == [2, 7] and "now 7 pixels" in explorer.questions[2].answer


@pytest.mark.widget
def test_what_fills_four_fifths_of_an_image_is_nearly_always_a_two():
    """The answer of question 3, for every test image: which digit is nearest to the image with its gaps filled?"""
    digits = load_digits()
    others = np.delete(np.arange(len(digits.data)), np.flatnonzero(digits.target == 2)[120:])
    ink = binary_images(digits.data[others] / 16, threshold=0.5) > 0.5
    nearest = []
    for image in range(57):
        whole = panel_noise(view=TWOS, share=0.8, image=image).mark("filled", "images").values[:, 9:].ravel() > 0.5
        nearest.append(digits.target[others][np.argmin(np.sum(ink != whole, axis=1))])
    assert nearest[8] == 2 and np.sum(np.array(nearest) == 2) >= 50


@pytest.mark.browser
def test_the_explorer_lives_in_jupyterlab(lab, screenshots):
    with lab.open("08_noise.ipynb") as page:
        page.run_all()
        page.show(".gplvm-explorer")
        start = page.picture_at_rest()
        page.screenshot_around(".gplvm-explorer", screenshots / "lab_08_noise.png")
        page.control("mean").press("ArrowRight")
        moved = page.wait_for_new_picture(start)
        page.drag_picture("densities", (0.0, 0.1), (2.0, 0.1))
        page.wait_for_new_picture(moved)
        assert float(page.control("mean").value()) == 2.0
        page.click("Question 3")
        page.wait_until(lambda: "four fifths" in page.text(".gplvm-question"), 10, "the question")
        asked = page.picture_at_rest()
        page.click("Run")
        page.wait_until(lambda: page.progress() > 0.1, 30, "two passes")
        page.click("Stop")
        stopped = page.picture_at_rest()
        page.control("share").press("ArrowRight", 4)
        page.wait_for_new_picture(stopped)
        page.screenshot_around(".gplvm-explorer", screenshots / "lab_08_noise_twos.png")
        page.run_code_of_the_picture()
        page.click_css(".gplvm-choices label:has-text('another two')")
        page.click("Reveal")
        assert page.wait_for_new_picture(stopped) != asked
        assert "Right." in page.text(".gplvm-question")
        assert page.error_box() == "" and page.errors() == []


# --- the exercises ---------------------------------------------------------------------------------------------


def answer_1(y, mean, variance, sign=1.0, extra=0.0):
    g, nu = Probit(0.0).derivatives(y, mean, variance)
    return sign * g, nu + extra


def naive_derivatives(y, mean, variance):
    root = np.sqrt(1 + variance)
    u = y * mean / root
    with np.errstate(all="ignore"):
        rho = norm.pdf(u) / norm.cdf(u)
    return y * rho / root, rho * (u + rho) / root**2


def answer_3(K, y, noise, late=False):
    f, Sigma = np.zeros(len(K)), K.copy()
    for n in range(len(K)):
        s = Sigma[:, n].copy()
        g, nu = noise.derivatives(y[n], f[n], Sigma[n, n])
        Sigma -= nu * np.outer(s, s)
        if late:
            g, _ = noise.derivatives(y[n], f[n], Sigma[n, n])
        f += g * s
    return f, Sigma


def answer_6(lower, upper, mean, variance, mirror=True):
    h, low = (np.array([upper, lower]) - mean) / np.sqrt(1 + variance)
    if mirror and h + low > 0:
        h, low = -low, -h
    with np.errstate(all="ignore"):
        return log_difference(norm.logcdf(h), norm.logcdf(low))


RIGHT = {
    1: answer_1,
    2: lambda g, nu, mean, variance: (g / nu + mean, nu / (1 - nu * variance)),
    3: answer_3,
    4: 1.0,
    5: lambda share, variance: np.sqrt(1 + variance) * norm.ppf(share),
    6: answer_6,
    7: ([5, 6, 2, 3, 9, 7, 8, 1, 4, 11, 10, 0], np.array([8, 11, 4, 7, 5, 0, 1, 9, 2, 10, 6, 3])),
}
WRONG = [
    (1, lambda *a: answer_1(*a, sign=-1.0), "sign of the label"),
    (1, lambda *a: answer_1(*a, extra=0.1), "g is right"),
    (1, lambda *a: (0.0, 0.0), "adding up"),
    (1, naive_derivatives, "sixty deviations"),
    (2, lambda g, nu, mean, variance: (nu / (1 - nu * variance), g / nu + mean), "other order"),
    (2, lambda g, nu, mean, variance: (g / nu + mean, nu), "Match 1 / variance"),
    (2, lambda g, nu, mean, variance: (g / nu, 2 * nu), "must add up"),
    (3, lambda *a: answer_3(*a, late=True), "in which order"),
    (4, np.inf, "However great"),
    (4, 0.5, "were seen"),
    (5, lambda share, variance: norm.ppf(share), "washes"),
    (5, lambda share, variance: share, "share of ones"),
    (6, lambda *a: answer_6(*a, mirror=False), "one of the tails"),
    (6, lambda *a: 0.0, "is right"),
    (7, (np.arange(12), np.arange(12)), "random orders"),
    (7, (np.arange(11), np.arange(12)), "once"),
]


@pytest.mark.parametrize("number", RIGHT)
def test_a_right_answer_passes_and_an_open_one_is_not_answered_yet(number):
    assert check(f"noise.{number}", RIGHT[number]).passed, check(f"noise.{number}", RIGHT[number])
    assert check(f"noise.{number}", ...).passed is None


@pytest.mark.parametrize("number, answer, hint", WRONG, ids=lambda value: str(value)[:12])
def test_a_wrong_answer_gets_the_hint_it_needs(number, answer, hint):
    verdict = check(f"noise.{number}", answer)
    assert verdict.passed is False and hint in verdict.message, verdict
