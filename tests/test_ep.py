"""Chapter 8: sweeps until the sites settle, what the evidence teaches then, and biases learnt in the sparse model."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gplvm_edu.ivm import Sites, SparseGPLVM, learn_response, select_active_set, selection_sites, settle_sites
from gplvm_edu.kernels import RBF, White
from gplvm_edu.noise import (
    Gaussian,
    Ordinal,
    PerColumn,
    Poisson,
    Probit,
    adf_posterior,
    cavities,
    common_shift,
    ep_evidence,
    ep_posterior,
    fast,
    frozen_site_gradient,
    laplace_posterior,
    learn_kernel_and_noise,
    learn_noise,
    predict_latent,
    site_posterior,
)
from gplvm_edu.optimise import check_gradient
from gplvm_edu.papers import noise_toys

PLACE = np.linspace(-2, 2, 12)[:, None]
LABELS = np.where(np.sin(2.2 * PLACE[:, 0]) > 0, 1.0, -1.0)
NOISES = [Probit(0.2), Poisson(0.3), Ordinal(cuts=[-1.0, 0.5]), Gaussian(0.2, mean=0.0)]


def last(states):
    *_, state = states
    return state


def covariance(theta):
    """Of the twelve labels, as a function of ln(variance) and ln(inverse width)."""
    return RBF(*np.exp(theta))(PLACE) + 1e-8 * np.eye(12)


def evidence_and_gradients(posterior_of, theta, step=1e-4):
    """ln evidence, its total derivative by differences, and (8.40) with the sites held still."""

    def value(at):
        return posterior_of(covariance(at)).log_evidence

    q, each = posterior_of(covariance(theta)), step * np.eye(2)
    total = [(value(theta + e) - value(theta - e)) / (2 * step) for e in each]
    G = frozen_site_gradient(covariance(theta), q.site_means, q.site_precisions)
    slopes = [(covariance(theta + e) - covariance(theta - e)) / (2 * step) for e in each]
    return q.log_evidence, np.array(total), np.array([np.sum(G * slope) for slope in slopes])


# --- the theorem of the frozen sites, and its failure ----------------------------------------------------------
@pytest.mark.identity
def test_at_a_fixed_point_frozen_sites_give_the_whole_derivative_and_after_one_pass_they_do_not():
    theta, noise = np.log([9.0, 2.0]), Probit(0.0)

    def settled(K):
        return last(ep_posterior(K, LABELS, noise, max_sweeps=200, tolerance=1e-12))

    _, total, frozen = evidence_and_gradients(settled, theta)
    assert_allclose(frozen, total, atol=1e-6)
    assert_allclose(frozen, [0.2276, 0.7696], atol=5e-5)
    _, total, frozen = evidence_and_gradients(lambda K: adf_posterior(K, LABELS, noise), theta)
    assert_allclose(total, [0.211, 0.806], atol=5e-4)
    assert_allclose(frozen, [0.466, 0.971], atol=5e-4)


@pytest.mark.gradient
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_kernel_and_noise_climb_the_evidence_together(noise):
    rng = np.random.default_rng(3)
    y = noise.sample(np.linalg.cholesky(covariance(np.zeros(2))) @ rng.standard_normal(12), rng)

    def value_and_gradient(x):
        trial, kernel = noise.with_theta(x[2:]), RBF()
        kernel.theta = x[:2]
        K = kernel(PLACE) + 1e-8 * np.eye(12)
        q = last(ep_posterior(K, y, trial, max_sweeps=300, tolerance=1e-11))
        G = frozen_site_gradient(K, q.site_means, q.site_precisions)
        in_noise = trial.theta_gradient(y[:, None], *(part[:, None] for part in cavities(q)))
        return q.log_evidence, np.concatenate([kernel.gradients(G, PLACE)[1], in_noise])

    assert check_gradient(value_and_gradient, np.concatenate([[0.3, 0.1], noise.theta]), step=1e-4) < 1e-5


@pytest.mark.identity
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_the_gradient_in_the_covariance_is_that_of_a_gaussian_density_of_the_sites(noise):
    rng = np.random.default_rng(1)
    K = covariance(np.zeros(2))
    m, beta = rng.standard_normal(12), rng.uniform(0.1, 3.0, 12)
    C = np.linalg.inv(K + np.diag(1 / beta))
    assert_allclose(frozen_site_gradient(K, m, beta), 0.5 * (np.outer(C @ m, C @ m) - C), atol=1e-10)
    slope, curvature = common_shift(K, m, beta)
    assert_allclose([slope, curvature], [np.sum(C @ m), np.sum(C)], rtol=1e-8)
    mean, variance = predict_latent(K, K[:, :3], np.diag(K)[:3], m, beta)
    assert_allclose(mean, K[:3] @ C @ m, atol=1e-9)
    assert_allclose(variance, np.diag(K[:3, :3] - K[:3] @ C @ K[:, :3]), atol=1e-8)


@pytest.mark.identity
def test_the_slope_of_a_common_shift_is_the_sum_of_the_slopes_at_the_cavities():
    noise = Probit(0.4)
    q = last(ep_posterior(covariance(np.zeros(2)), LABELS, noise, tolerance=1e-12))
    slope, _ = common_shift(covariance(np.zeros(2)), q.site_means, q.site_precisions)
    g, _ = noise.derivatives(LABELS, *cavities(q))
    assert_allclose(slope, g.sum(), atol=1e-9)


# --- many columns ----------------------------------------------------------------------------------------------
@pytest.mark.identity
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_all_columns_at_once_are_each_column_by_itself_with_gaps(noise):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((15, 2))
    K = RBF(2.0, 1.0)(X) + 1e-8 * np.eye(15)
    Y = noise.sample(np.linalg.cholesky(K) @ rng.standard_normal((15, 3)), rng)
    Y[3, 1] = Y[5, 2] = Y[6, 2] = np.nan
    once, settled = fast.ep_columns(K, Y, noise, max_sweeps=1), fast.ep_columns(K, Y, noise, tolerance=1e-11)
    assert once.n_sweeps == 1
    for d in range(3):
        first, q = (f(K, Y[:, d], noise) for f in (adf_posterior, lambda *a: last(ep_posterior(*a, tolerance=1e-12))))
        assert_allclose(once.means[:, d], first.site_means, rtol=1e-9, atol=1e-12)
        assert_allclose(once.precisions[:, d], first.site_precisions, rtol=1e-9)
        assert_allclose(settled.means[:, d], q.site_means, rtol=1e-7, atol=1e-9)
        assert_allclose(settled.precisions[:, d], q.site_precisions, rtol=1e-7)
        assert_allclose(settled.log_evidence[d], q.log_evidence, rtol=1e-9)
    if isinstance(noise, Gaussian):
        assert_allclose(once.precisions, settled.precisions, rtol=1e-9)  # the filter is exact
        assert settled.n_sweeps == 2


@pytest.mark.identity
def test_settled_sites_make_the_matrices_of_a_selection_and_their_evidence():
    rng = np.random.default_rng(2)
    X, kernel, noise = rng.standard_normal((20, 2)), RBF(4.0, 1.0) + White(0.01), Probit([0.1, -0.2])
    Y = np.where(rng.random((20, 2)) < 0.5, 1.0, -1.0)
    Y[4, 0] = np.nan
    chosen = select_active_set(Y, X, kernel, noise, 12)
    settled = settle_sites(chosen, Y, X, kernel, noise)
    I = settled.active
    assert np.array_equal(I, chosen.active) and settled.change <= 1e-6 < settled.n_sweeps
    K = kernel(X[I])
    total = 0.0
    for d, (M, L) in enumerate(zip(settled.M, settled.L, strict=True)):
        rows = np.flatnonzero(settled.precisions[:, d] > 0)
        assert_allclose(
            L @ L.T,
            (K + np.diag(1 / np.where(settled.precisions > 0, settled.precisions, 1)[:, d]))[np.ix_(rows, rows)],
            atol=1e-9,
        )
        assert_allclose((L @ M)[:, I], K[rows], atol=1e-9)
        column = Probit(noise.bias[d])
        total += ep_evidence(K, Y[I, d], column, settled.site_means[:, d], settled.precisions[:, d])
    assert_allclose(settled.log_evidence, total, rtol=1e-9)
    same = settle_sites(select_active_set(Y, X, kernel, Gaussian(0.1), 5), Y, X, kernel, Gaussian(0.1))
    assert same.n_sweeps == 1


@pytest.mark.long
def test_the_sparse_model_settles_its_sites_when_asked_and_is_unchanged_for_gaussian_noise():
    rng = np.random.default_rng(0)
    Y = 1.0 * (rng.standard_normal((40, 2)) @ rng.standard_normal((2, 6)) > 0)
    once, settled = (SparseGPLVM(n_active=20, max_iter=2, noise=Probit(), ep=ep).fit(Y) for ep in (False, True))
    assert once.n_sweeps_ == 1 < settled.n_sweeps_ < 50
    assert np.abs(once.history_[0] - settled.history_[0]) > 0.01  # the same start, another evidence
    numbers = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 5))
    fits = [SparseGPLVM(n_active=15, max_iter=2, ep=ep).fit(numbers) for ep in (False, True)]
    assert np.array_equal(fits[0].embedding_, fits[1].embedding_)


# --- Laplace ---------------------------------------------------------------------------------------------------
@pytest.mark.identity
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_laplace_ends_where_the_gradient_of_the_log_posterior_is_zero_with_its_curvature(noise):
    rng = np.random.default_rng(0)
    K = covariance(np.zeros(2))
    y = noise.sample(np.linalg.cholesky(K) @ rng.standard_normal(12), rng)
    q = last(laplace_posterior(K, y, noise))

    def log_likelihood(f):
        return float(np.sum(noise.log_partition(y, f, np.zeros(12))))

    g = noise.derivatives(y, q.mean, np.zeros(12))[0]
    assert_allclose(K @ g, q.mean, atol=1e-6)
    H = np.array(
        [
            (noise.derivatives(y, q.mean + e, np.zeros(12))[0] - noise.derivatives(y, q.mean - e, np.zeros(12))[0])
            / 2e-5
            for e in 1e-5 * np.eye(12)
        ]
    )
    assert_allclose(np.diag(H), -q.site_precisions, rtol=1e-6)
    assert_allclose(q.covariance, np.linalg.inv(np.linalg.inv(K) - H), atol=1e-5)
    direct = log_likelihood(q.mean) - 0.5 * q.mean @ g - 0.5 * np.linalg.slogdet(np.eye(12) - K @ H)[1]  # (8.38)
    assert_allclose(q.log_evidence, direct, rtol=1e-7)


@pytest.mark.oracle
def test_laplace_agrees_with_scikit_learns_classifier_for_the_logistic_link():
    gpc = pytest.importorskip("sklearn.gaussian_process")

    class Logistic(Probit):
        """The link of scikit-learn; only what a variance of 0 needs."""

        def observed_terms(self, Y, mean, variance):
            p = 1.0 / (1.0 + np.exp(-Y * mean))
            return type(super().observed_terms(Y, mean, variance))(np.log(p), Y * (1 - p), p * (1 - p))

    kernel = gpc.kernels.ConstantKernel(9.0, "fixed") * gpc.kernels.RBF(np.sqrt(0.5), "fixed")
    peer = gpc.GaussianProcessClassifier(kernel, optimizer=None, max_iter_predict=200).fit(PLACE, LABELS)
    ours = last(laplace_posterior(RBF(9.0, 2.0)(PLACE), LABELS, Logistic(0.0)))
    assert_allclose(ours.log_evidence, peer.log_marginal_likelihood_value_, rtol=1e-6)


@pytest.mark.identity
def test_a_newton_step_that_overshoots_is_halved_and_gaussian_noise_needs_one_step():
    K = np.array([[4.0]])
    q = last(laplace_posterior(K, np.array([10_000.0]), Poisson(0.0)))
    assert_allclose(q.mean, np.log(10_000.0), atol=1e-3)
    steps = list(laplace_posterior(covariance(np.zeros(2)), LABELS, Gaussian(0.2, mean=0.0)))
    mean, _ = site_posterior(covariance(np.zeros(2)), LABELS, np.full(12, 5.0))
    assert_allclose(steps[0].mean, mean, atol=1e-9)
    assert len(steps) <= 2
    assert all(step.change >= -1e-9 for step in steps)


# --- learning the noise -----------------------------------------------------------------------------------------
def grades(seed, cuts=(-1.5, 0.3, 1.0), N=40):
    rng, place = np.random.default_rng(seed), np.linspace(-4, 4, N)[:, None]
    K = RBF(4.0, 1.0)(place) + 1e-8 * np.eye(N)
    return K, Ordinal(cuts=cuts).sample(np.linalg.cholesky(K) @ rng.standard_normal(N), rng)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_learnt_cut_points_are_a_maximum_of_the_evidence_whatever_the_start(seed):
    K, y = grades(seed)
    found = [learn_noise(K, y, Ordinal(cuts=cuts)) for cuts in ([-1.0, 0.0, 3.0], [-0.2, 0.1, 0.4])]
    assert_allclose(found[0].cuts, found[1].cuts, atol=0.02)
    truth, learnt = (last(ep_posterior(K, y, m)).log_evidence for m in (Ordinal(cuts=[-1.5, 0.3, 1.0]), found[0]))
    assert learnt >= truth
    held = Ordinal(cuts=[-1.0, 0.0, 3.0], fixed="cuts")
    assert learn_noise(K, y, held) == held


@pytest.mark.identity
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("noise", [Probit(0.0), Poisson(0.0), Ordinal(cuts=[-1.0, 0.0, 3.0])], ids=repr)
def test_a_step_of_learning_with_settled_sites_never_lowers_the_evidence(noise, seed):
    rng = np.random.default_rng(seed)
    K = RBF(1.0, 1.0)(PLACE) + 1e-8 * np.eye(12)
    truth = Ordinal(cuts=[-0.5, 0.3, 1.0]) if isinstance(noise, Ordinal) else noise.shifted(0.8)
    y = truth.sample(np.linalg.cholesky(K) @ rng.standard_normal(12), rng)
    if len(np.unique(y)) == 1:
        return
    q = last(ep_posterior(K, y, noise))
    with np.errstate(divide="ignore"):
        sites = Sites(q.site_means[:, None], 1.0 / q.site_precisions[:, None])
    learnt = learn_response(noise, y[:, None], sites, PLACE, RBF(1.0, 1.0) + White(1e-8))
    assert last(ep_posterior(K, y, learnt)).log_evidence > q.log_evidence - 1e-6


@pytest.mark.identity
def test_learning_leaves_what_is_fixed_what_is_gaussian_and_columns_of_one_answer():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((12, 1)), np.where(rng.random((12, 4)) < 0.7, 1.0, -1.0)
    Y[:, 1] = 1.0
    noise = PerColumn([Probit(0.0), Probit(0.3), Probit(0.0, fixed="bias"), Gaussian(0.1, mean=0.2)])
    chosen = select_active_set(Y, X, RBF(), noise, 12)
    learnt = learn_response(noise, Y[chosen.active], selection_sites(chosen), X[chosen.active], RBF())
    assert learnt.models[0] != noise.models[0] and learnt.models[1:] == noise.models[1:]


def test_kernel_and_noise_together_reach_a_higher_evidence_than_noise_alone():
    rng = np.random.default_rng(0)
    y = rng.poisson(np.exp(1.0 + np.sin(2 * PLACE[:, 0]))).astype(float)
    both = learn_kernel_and_noise(RBF(), PLACE, y, Poisson(1.0))
    alone = learn_noise(covariance(np.zeros(2)), y, Poisson(1.0))
    assert both.posterior.log_evidence > last(ep_posterior(covariance(np.zeros(2)), y, alone)).log_evidence


# --- the stored studies ------------------------------------------------------------------------------------------
STORED = json.loads((Path(__file__).parents[1] / "book" / "results" / "noise_toys.json").read_text(encoding="utf-8"))


def entries(study, *names):
    rows = STORED[study]
    for name in names:
        rows = [row[name] for row in rows]
    return np.array(rows)


@pytest.mark.long
def test_rows_of_the_stored_studies_come_again():
    for name, value in noise_toys.biases(2).items():
        values, old = (list(v.values()) if isinstance(v, dict) else [v] for v in (value, STORED["biases"][2][name]))
        assert_allclose(values, old, atol=0.003)
    fresh, old = noise_toys.cut_points(37), STORED["cut points"][37]
    assert list(fresh) == list(old)
    for name in ("cuts", "standard error", "standard error of gaps"):
        assert_allclose(fresh[name], old[name], atol=0.003)


def test_the_stored_studies_say_what_the_chapter_says():
    for of in ("cuts", "gaps"):
        suffix = "" if of == "cuts" else " of gaps"
        z = entries("cut points", "error" + suffix) / entries("cut points", "standard error" + suffix)
        assert len(z) == 50 and 44 <= np.sum((np.abs(z) < 2).all(axis=1)) <= 49  # draws; its cuts move together
        assert np.sum(np.abs(z) < 1) >= 0.65 * z.size and 0.8 < np.sqrt(np.mean(z**2)) < 1.1
    gain = entries("cut points", "log evidence", "learnt") - entries("cut points", "log evidence", "truth")
    assert gain.min() > 0 and np.median(gain) > 0.5  # a maximum is above the truth
    z = [entries("biases", name, "error") / entries("biases", name, "standard error") for name in ("Probit", "Poisson")]
    assert np.sum(np.abs(z) < 2) >= 18
    for variance, most in ((1, 0.002), (9, 0.015)):
        study = f"approximations, variance {variance}"
        p = {name: entries(study, name, "probability") for name in ("Laplace", "filter", "EP", "chain")}
        assert np.all(p["EP"] < 0.7 * np.minimum(p["Laplace"], p["filter"])) and max(p["EP"]) < most
        assert np.sum(p["EP"] < p["chain"]) >= 8  # a long chain scatters more than EP errs
        assert np.all(entries(study, "resolution") < 0.4 * p["chain"])
        assert np.all(entries(study, "filter, random orders", "least") > p["EP"])
        assert max(entries(study, "R hat")) < 1.02 and min(entries(study, "weighted draws")) > 100_000
        assert 1000 < np.median(entries(study, "draws of the chain")) < 4000  # what 40,000 are worth
    counts = {name: {s: np.array(v) for s, v in line.items()} for name, line in STORED["counts"].items()}
    for rival, least in (("Gaussian, counts", 45), ("Gaussian, square roots", 28)):
        assert np.sum(counts["Poisson"]["log_loss"] < counts[rival]["log_loss"]) >= least
        assert 20 <= np.sum(counts["Poisson"]["rate"] < counts[rival]["rate"]) <= 33  # no claim
