"""Chapter 1: PPCA, its dual and factor analysis, each claim computed a second way."""

from pathlib import Path

import numpy as np
import pytest
from gplvm_widgets import explore_ppca
from gplvm_widgets.ppca import load, panel_ppca
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn import decomposition

from gplvm_edu import PPCA, DualPPCA, FactorAnalysis
from gplvm_edu.linalg import centre
from gplvm_edu.metrics import subspace_angle
from gplvm_edu.optimise import check_gradient
from gplvm_edu.ppca import (
    EStepPosterior,
    LinearGaussian,
    LinearMap,
    bayesian_information,
    broken_stick,
    dual_gradient,
    dual_mean,
    dual_transform,
    dual_transform_observed,
    e_step,
    em_iterates,
    expected_log_likelihood,
    latent_posterior,
    log_likelihood,
    m_step,
    maximal_log_likelihood,
    maximum_likelihood,
    on_principal_axes,
    parallel_analysis,
    principal_axes,
    sample_ppca,
)

BOOK = Path(__file__).resolve().parent.parent / "book"
quick = settings(deadline=None, max_examples=30)


@st.composite
def problems(draw, tall=None):
    """Centred data (N, D), weights (D, q), a noise variance; N > D and N < D both occur."""
    N, D = draw(st.integers(4, 25)), draw(st.integers(3, 12))
    q = draw(st.integers(1, min(N - 2, D - 1, 4)))
    scale = 10.0 ** draw(st.integers(-3, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    W = scale * rng.standard_normal((D, q))
    Y = rng.standard_normal((N, q)) @ W.T + 0.3 * scale * rng.standard_normal((N, D))
    return centre(Y)[0], W, draw(st.floats(0.05, 2.0)) * scale**2


def with_gaps(Y, share, seed=0):
    """Y with a share of its entries missing, no column emptied."""
    rng = np.random.default_rng(seed)
    gaps = rng.random(Y.shape) < share
    gaps[0] = False
    return np.where(gaps, np.nan, Y)


# --- the likelihood and its maximum --------------------------------------------------------------------------


@pytest.mark.identity
@given(problems())
@quick
def test_the_likelihood_is_the_brute_force_gaussian(problem):
    Y, W, s2 = problem
    expected = multivariate_normal(cov=W @ W.T + s2 * np.eye(len(W))).logpdf(Y).sum()
    assert_allclose(log_likelihood(Y, W, s2), expected, rtol=1e-8)


@pytest.mark.identity
@given(problems())
@quick
def test_the_dual_likelihood_is_the_brute_force_gaussian_over_columns(problem):
    Y, W, s2 = problem
    X = latent_posterior(Y, W, s2)[0] + 0.1
    K = X @ X.T + s2 * np.eye(len(Y))
    expected = multivariate_normal(cov=K).logpdf(Y.T).sum()
    assert_allclose(log_likelihood(Y.T, X, s2), expected, rtol=1e-8)


@pytest.mark.identity
@given(problems())
@quick
def test_the_closed_form_attains_the_formula_for_the_maximum(problem):
    Y, W, _ = problem
    N, D, q = *Y.shape, W.shape[1]
    W, s2 = maximum_likelihood(Y, q)
    eigenvalues = np.sort(np.linalg.eigvalsh(Y.T @ Y / N))[::-1]
    assert_allclose(log_likelihood(Y, W, s2), maximal_log_likelihood(eigenvalues, q, N, D), rtol=1e-8)


@pytest.mark.identity
@given(problems(), st.integers(0, 2**32 - 1))
@quick
def test_no_nearby_parameters_do_better_than_the_closed_form(problem, seed):
    Y, W, _ = problem
    rng = np.random.default_rng(seed)
    for data in (Y, Y.T):
        W_hat, s2 = maximum_likelihood(data, W.shape[1])
        best = log_likelihood(data, W_hat, s2)
        for size in (1e-3, 1e-1):
            nearby = W_hat + size * np.sqrt(s2) * rng.standard_normal(W_hat.shape)
            assert log_likelihood(data, nearby, s2 * np.exp(size * rng.standard_normal())) <= best + 1e-9 * abs(best)


@pytest.mark.identity
@given(problems())
@quick
def test_stationarity_S_Cinv_W_equals_W(problem):
    Y, W, _ = problem
    W, s2 = maximum_likelihood(Y, W.shape[1])
    S, C = Y.T @ Y / len(Y), W @ W.T + s2 * np.eye(len(W))
    assert_allclose(S @ np.linalg.solve(C, W), W, atol=1e-8 * np.abs(W).max())


@pytest.mark.identity
@given(problems(), st.floats(-np.pi, np.pi))
@quick
def test_a_rotation_of_the_latent_space_changes_nothing(problem, angle):
    Y, W, s2 = problem
    R = np.eye(W.shape[1])
    if len(R) > 1:
        R[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    else:
        R[0, 0] = -1.0
    assert_allclose(log_likelihood(Y, W @ R, s2), log_likelihood(Y, W, s2), rtol=1e-10)


@pytest.mark.identity
@given(problems())
@quick
def test_both_eigenproblems_give_the_same_axes(problem):
    Y, W, _ = problem
    for data in (Y, Y.T):
        lam, V = principal_axes(data)
        s = np.linalg.svd(data, compute_uv=False)
        assert_allclose(lam, s**2 / len(data), atol=1e-10 * s[0] ** 2)
        q = W.shape[1]
        assert_allclose(data.T @ (data @ V[:, :q]) / len(data), V[:, :q] * lam[:q], atol=1e-8 * lam[0])
        assert_allclose(V[:, :q].T @ V[:, :q], np.eye(q), atol=1e-6)


@pytest.mark.identity
@given(problems())
@quick
def test_ppca_and_its_dual_share_the_subspace_and_nothing_more(problem):
    Y, W, _ = problem
    N, D, q = *Y.shape, W.shape[1]
    primal, dual = PPCA(q).fit(Y), DualPPCA(q).fit(Y)
    assert subspace_angle(primal.weights_, dual.weight_means_) < 1e-6
    assert subspace_angle(primal.embedding_, dual.embedding_) < 1e-6
    discarded = np.sum(np.linalg.svd(Y, compute_uv=False)[q:] ** 2)
    assert_allclose(primal.noise_variance_, discarded / (N * (D - q)), rtol=1e-8)
    assert_allclose(dual.noise_variance_, discarded / (D * (N - q)), rtol=1e-8)


@pytest.mark.identity
def test_the_two_maximal_likelihoods_differ():
    Y, _ = sample_ppca(np.random.default_rng(0).standard_normal((5, 2)), 0.2, 30, random_state=1)
    primal, dual = PPCA(2).fit(Y), DualPPCA(2).fit(Y)
    assert abs(primal.log_likelihood_ - dual.log_likelihood_) > 1.0
    assert abs(np.log(primal.noise_variance_ / dual.noise_variance_)) > 0.1


@pytest.mark.identity
def test_the_misprinted_exponent_of_section_2_3_is_no_stationary_point():
    Y = centre(np.random.default_rng(0).standard_normal((12, 6)))[0]
    X, s2 = maximum_likelihood(Y.T, 2)
    lam, U = principal_axes(Y.T)
    printed = U[:, :2] * (lam[:2] - s2) ** -0.5
    assert np.abs(dual_gradient(Y, X, s2)).max() < 1e-10
    assert np.abs(dual_gradient(Y, printed, s2)).max() > 0.1
    assert log_likelihood(Y.T, printed, s2) < log_likelihood(Y.T, X, s2) - 0.1


@pytest.mark.gradient
@given(problems())
@quick
def test_the_dual_gradient_against_central_differences(problem):
    Y, W, s2 = problem
    unit = np.sqrt(s2)  # measure X in units of the noise, so that steps have a sensible size

    def value_and_gradient(x):
        X = unit * x.reshape(len(Y), -1)
        return log_likelihood(Y.T, X, s2), unit * dual_gradient(Y, X, s2).ravel()

    assert check_gradient(value_and_gradient, latent_posterior(Y, W, s2)[0].ravel() + 0.1) < 1e-6


@pytest.mark.identity
@given(problems())
@quick
def test_the_posterior_is_the_conditional_of_the_joint_gaussian(problem):
    Y, W, s2 = problem
    C = W @ W.T + s2 * np.eye(len(W))
    means, covariance = latent_posterior(Y, W, s2)
    assert_allclose(means, np.linalg.solve(C, Y.T).T @ W, atol=1e-8 * max(1, np.abs(means).max()))
    assert_allclose(covariance, np.eye(W.shape[1]) - W.T @ np.linalg.solve(C, W), atol=1e-8)


@pytest.mark.identity
@given(problems())
@quick
def test_the_dual_returns_its_training_points_to_their_places(problem):
    Y, W, _ = problem
    model = DualPPCA(W.shape[1]).fit(Y)
    assert_allclose(model.transform(Y), model.embedding_, atol=1e-7 * np.abs(model.embedding_).max())


@pytest.mark.identity
def test_dual_transform_minimises_the_expected_squared_error():
    rng = np.random.default_rng(0)
    W, Sigma = rng.standard_normal((6, 2)), np.array([[0.3, 0.1], [0.1, 0.2]])
    y = W @ [1.0, -0.5] + 0.3 * rng.standard_normal(6)
    draws = W + rng.multivariate_normal(np.zeros(2), Sigma, size=(50_000, 6))
    x = dual_transform(y[None], W, Sigma)[0]
    second, cross = np.mean(draws.transpose(0, 2, 1) @ draws, axis=0), np.mean(draws, axis=0).T @ y
    assert_allclose(x, np.linalg.solve(second, cross), rtol=0.02)


@pytest.mark.identity
def test_a_fixed_noise_level_switches_off_axes_below_it():
    Y = centre(np.random.default_rng(0).standard_normal((200, 4)) * [3.0, 2.0, 1.0, 0.5])[0]
    W, s2 = maximum_likelihood(Y, 3, noise_variance=2.0)
    assert s2 == 2.0
    assert_allclose(np.count_nonzero(np.linalg.norm(W, axis=0)), 2)
    rng = np.random.default_rng(1)
    best = log_likelihood(Y, W, s2)
    assert all(log_likelihood(Y, W + 0.05 * rng.standard_normal(W.shape), s2) < best for _ in range(20))


@pytest.mark.identity
@given(problems())
@quick
def test_no_plane_keeps_more_variance_or_loses_less_than_the_leading_axes(problem):
    Y, W, _ = problem
    N, q = len(Y), W.shape[1]
    lam, V = principal_axes(Y)
    S, other = Y.T @ Y / N, np.linalg.qr(W)[0]
    for plane in (V[:, :q], other):  # what is lost is what is not kept, (1.2)
        lost = np.sum((Y - Y @ plane @ plane.T) ** 2) / N
        assert_allclose(lost, np.trace(S) - np.trace(plane.T @ S @ plane), atol=1e-9 * lam[0])
    assert_allclose(np.sum((Y - Y @ V[:, :q] @ V[:, :q].T) ** 2) / N, lam[q:].sum(), atol=1e-9 * lam[0])
    assert np.trace(other.T @ S @ other) <= lam[:q].sum() * (1 + 1e-10)


@pytest.mark.identity
@given(problems())
@quick
def test_without_noise_the_posterior_mean_is_the_projection_and_with_noise_it_is_shrunk(problem):
    Y, W, s2 = problem
    V, lengths, _ = np.linalg.svd(W, full_matrices=False)
    scale = np.abs(Y).max()
    shrunk = latent_posterior(Y, W, s2)[0] @ W.T
    assert_allclose(shrunk, Y @ V * (lengths**2 / (lengths**2 + s2)) @ V.T, atol=1e-9 * scale)  # (1.11)
    assert_allclose(latent_posterior(Y, W, 1e-9 * lengths[-1] ** 2)[0] @ W.T, Y @ V @ V.T, atol=1e-7 * scale)


@pytest.mark.identity
@given(problems())
@quick
def test_above_the_last_kept_eigenvalue_the_likelihood_falls_with_the_noise(problem):
    Y, W, _ = problem
    q = W.shape[1]
    lam = principal_axes(Y)[0]
    levels = np.linspace(lam[q - 1], 2 * lam[0], 12)
    values = [log_likelihood(Y, maximum_likelihood(Y, q, s2)[0], s2) for s2 in levels]
    assert np.all(np.diff(values) < 0)
    assert values[0] <= maximal_log_likelihood(np.pad(lam, (0, Y.shape[1] - len(lam))), q, *Y.shape) + 1e-9 * abs(
        values[0]
    )


@pytest.mark.identity
@given(problems())
@quick
def test_the_duals_mean_is_the_best_for_its_positions_and_centring_them_never_hurts(problem):
    Y, W, s2 = problem
    rng = np.random.default_rng(len(Y))
    Y = Y + 3 * np.sqrt(s2)
    X = np.sqrt(s2) * (rng.standard_normal((len(Y), W.shape[1])) + 1.0)
    K = X @ X.T + s2 * np.eye(len(Y))
    mu, ones = dual_mean(Y, X, s2), np.ones(len(Y))
    weights = np.linalg.solve(K, ones)
    assert_allclose(mu, weights @ Y / (weights @ ones), rtol=1e-8)

    def value(X, mu):
        return log_likelihood((Y - mu).T, X, s2)

    best = value(X, mu)
    for step in (1e-3, 1e-1):
        assert value(X, mu + step * np.sqrt(s2) * rng.standard_normal(len(mu))) <= best + 1e-9 * abs(best)
    H = X - X.mean(axis=0)
    assert_allclose(dual_mean(Y, H, s2), Y.mean(axis=0), rtol=1e-8)
    assert value(H, Y.mean(axis=0)) >= best - 1e-9 * abs(best)


@pytest.mark.identity
@given(problems())
@quick
def test_a_zero_gradient_of_the_dual_is_its_own_m_step(problem):
    Y, W, _ = problem
    D, q = Y.shape[1], W.shape[1]
    X, s2 = maximum_likelihood(Y.T, q)
    means, covariance = latent_posterior(Y.T, X, s2)
    assert_allclose(Y @ means, D * X, atol=1e-8 * D * np.abs(X).max())  # (1.26)
    kept = np.linalg.norm(X, axis=0) > 1e-6 * np.abs(X).max()
    assert_allclose((means.T @ means + D * covariance)[np.ix_(kept, kept)], D * np.eye(kept.sum()), atol=1e-6 * D)


@pytest.mark.identity
def test_the_weights_are_shared_so_the_integral_stands_outside_the_product_over_points():
    rng = np.random.default_rng(0)
    X, y, s2 = rng.standard_normal((3, 2)), rng.standard_normal(3), 0.5
    draws = rng.standard_normal((400_000, 2)) @ X.T
    average = np.mean(np.exp(-np.sum((y - draws) ** 2, axis=1) / (2 * s2))) / (2 * np.pi * s2) ** 1.5
    assert_allclose(np.log(average), log_likelihood(y[None], X, s2), atol=0.02)
    apart = sum(log_likelihood(y[n : n + 1, None], X[n : n + 1], s2) for n in range(3))
    assert abs(apart - np.log(average)) > 0.2


@pytest.mark.identity
def test_criteria_find_a_clear_number_of_components():
    for seed in range(5):
        W = np.linalg.qr(np.random.default_rng(seed).standard_normal((10, 3)))[0] * 4.0
        Y = centre(sample_ppca(W, 0.2, 300, random_state=seed)[0])[0]
        lam = principal_axes(Y)[0]
        criteria = [bayesian_information(lam, q, 300, 10) for q in range(1, 10)]
        assert 1 + np.argmax(criteria) == broken_stick(lam) == parallel_analysis(Y, random_state=seed) == 3


@pytest.mark.identity
def test_bic_charges_for_the_parameters_that_change_the_covariance():
    """The bracket of (1.16) is the rank of the Jacobian of (C, mean) in (W, noise, mean)."""
    D, q = 5, 3
    rng = np.random.default_rng(0)
    W = rng.standard_normal((D, q))

    def covariance(theta):
        weights = theta[:-1].reshape(D, q)
        return (weights @ weights.T + theta[-1] * np.eye(D)).ravel()

    theta = np.append(W.ravel(), 0.4)
    steps = 1e-6 * np.eye(len(theta))
    jacobian = [(covariance(theta + h) - covariance(theta - h)) / 2e-6 for h in steps]
    lam = np.array([5.0, 4.0, 3.0, 0.5, 0.4])
    price = maximal_log_likelihood(lam, q, 100, D) - bayesian_information(lam, q, 100, D)
    assert_allclose(price / (0.5 * np.log(100)), np.linalg.matrix_rank(jacobian, tol=1e-6) + D)


@pytest.mark.identity
def test_the_broken_stick_is_broken_at_random():
    """Shares above the mean lengths of the pieces of 100,000 sticks pass, shares below fail."""
    for D in (3, 6, 12):
        sticks = np.random.default_rng(D).dirichlet(np.ones(D), 100_000)
        pieces = np.sort(sticks, axis=1)[:, ::-1].mean(axis=0)
        for k in range(1, D):
            shares = pieces.copy()
            shares[:k] *= 1.03
            shares[k:] *= (1 - shares[:k].sum()) / shares[k:].sum()
            assert broken_stick(shares) == k


# --- EM: missing values and unequal noise --------------------------------------------------------------------


@pytest.mark.identity
@given(problems(), st.floats(0.0, 0.5), st.booleans())
@quick
def test_e_step_is_the_conditional_gaussian_of_what_was_observed(problem, share, equal_noise):
    Y, W, s2 = problem
    D, q = W.shape
    psi = np.full(D, s2) if equal_noise else s2 * (0.5 + np.arange(D) / D)
    mu = 0.3 * W[:, 0]
    Y = with_gaps(Y, share)
    posterior = e_step(Y, LinearGaussian(W, mu, psi))
    for n, row in enumerate(Y):
        O = ~np.isnan(row)
        C = W[O] @ W[O].T + np.diag(psi[O])
        gain = np.linalg.solve(C, W[O]).T
        assert_allclose(posterior.means[n], gain @ (row - mu)[O], atol=1e-7)
        assert_allclose(posterior.covariances[n], np.eye(q) - gain @ W[O], atol=1e-7)
        if O.any():
            expected = multivariate_normal(mean=mu[O], cov=C).logpdf(row[O])
            assert_allclose(posterior.log_densities[n], expected, rtol=1e-7)


@pytest.mark.identity
@given(problems(), st.floats(0.0, 0.4), st.booleans())
@quick
def test_em_never_decreases_the_likelihood(problem, share, same_noise):
    Y, W, s2 = problem
    start = LinearGaussian(W, np.zeros(len(W)), np.full(len(W), s2))
    values = [s.value for s in em_iterates(with_gaps(Y, share), start, same_noise, 15, noise_floor=1e-6 * s2)]
    assert np.all(np.diff(values) > -1e-9 * np.abs(values[0]))


@pytest.mark.identity
@given(problems(), st.floats(0.0, 0.4), st.booleans())
@quick
def test_em_climbs_because_a_bound_touches_the_likelihood(problem, share, same_noise):
    Y, W, s2 = problem
    q = W.shape[1]
    holes = with_gaps(Y, share)
    old = LinearGaussian(W, np.zeros(len(W)), np.full(len(W), s2))
    posterior = e_step(holes, old)
    entropy = 0.5 * np.sum(np.linalg.slogdet(posterior.covariances)[1] + q * (1 + np.log(2 * np.pi)))
    before, size = posterior.log_densities.sum(), 1e-7 * np.abs(posterior.log_densities).sum()
    assert_allclose(expected_log_likelihood(holes, posterior, old) + entropy, before, atol=size)  # equality in (1.27)
    new = m_step(holes, posterior, same_noise)
    if new.noise.min() < 1e-9 * s2:
        return  # a column without error: the bound is infinite
    after, bound = e_step(holes, new).log_densities.sum(), expected_log_likelihood(holes, posterior, new) + entropy
    assert before <= bound + size and bound <= after + size


@pytest.mark.identity
def test_em_without_gaps_ends_at_the_closed_form():
    Y, _ = sample_ppca(np.random.default_rng(0).standard_normal((6, 2)), 0.3, 100, random_state=1)
    exact = PPCA(2).fit(Y)
    start = LinearGaussian(np.random.default_rng(2).standard_normal((6, 2)), np.zeros(6), np.ones(6))
    *_, state = em_iterates(Y, start, max_iter=2000)
    last = state.parameters
    assert_allclose(state.value, exact.log_likelihood_, rtol=1e-9)
    assert_allclose(last.weights @ last.weights.T, exact.weights_ @ exact.weights_.T, atol=1e-6)
    assert_allclose(last.noise[0], exact.noise_variance_, rtol=1e-6)
    assert_allclose(last.mean, Y.mean(axis=0), atol=1e-6)


@pytest.mark.identity
def test_the_m_step_maximises_the_expected_log_likelihood():
    rng = np.random.default_rng(0)
    Y = with_gaps(rng.standard_normal((30, 4)), 0.2)
    X = rng.standard_normal((30, 2))
    posterior = EStepPosterior(X, np.tile(0.2 * np.eye(2), (30, 1, 1)), None)
    O = ~np.isnan(Y)

    def expected(parameters):
        W, mu, psi = parameters
        R = np.where(O, Y - mu - X @ W.T, 0.0)
        spread = 0.2 * np.sum(W**2, axis=1)
        return -0.5 * np.sum(O * (np.log(psi) + spread / psi)) - 0.5 * np.sum(R**2 / psi)

    for same_noise in (True, False):
        best = m_step(Y, posterior, same_noise)
        for _ in range(30):
            W, mu, psi = (a + 0.02 * rng.standard_normal(a.shape) for a in best)
            psi = np.full(4, psi[0]) if same_noise else psi
            assert expected(LinearGaussian(W, mu, psi)) < expected(best)


@pytest.mark.identity
def test_factor_analysis_may_end_in_a_local_maximum_and_another_start_helps():
    psi = np.where(np.arange(8) == 3, 20.0, 0.3)
    Y = sample_ppca(np.random.default_rng(1021).standard_normal((8, 2)), psi, 600, random_state=1121)[0][:300]
    stuck = FactorAnalysis(2, tol=1e-5).fit(Y)
    start = LinearGaussian(np.random.default_rng(0).standard_normal((8, 2)), Y.mean(axis=0), Y.var(axis=0))
    *_, free = em_iterates(Y, start, same_noise=False, max_iter=200)
    assert stuck.noise_variance_[3] < 6 and free.value > stuck.log_likelihood_ + 90
    assert 15 < free.parameters.noise[3] < 20


@pytest.mark.identity
def test_factor_analysis_does_not_depend_on_units():
    """Weights and noise in new units have the same posterior, and the likelihood changes by the Jacobian alone."""
    rng = np.random.default_rng(0)
    Y = with_gaps(rng.standard_normal((60, 2)) @ rng.standard_normal((2, 5)) + rng.standard_normal((60, 5)), 0.2)
    W, mu, psi = rng.standard_normal((5, 2)), rng.standard_normal(5), rng.uniform(0.5, 2.0, 5)
    scale = 10.0 ** rng.uniform(-1, 1, 5)
    old = e_step(Y, LinearGaussian(W, mu, psi))
    new = e_step(Y * scale, LinearGaussian(scale[:, None] * W, scale * mu, scale**2 * psi))
    assert_allclose(new.means, old.means)
    assert_allclose(new.log_densities, old.log_densities - ~np.isnan(Y) @ np.log(scale))


@pytest.mark.identity
def test_ppca_with_gaps_is_a_stationary_point_of_the_observed_likelihood():
    Y, _ = sample_ppca(np.random.default_rng(3).standard_normal((5, 1)), 0.2, 60, random_state=4)
    Y = with_gaps(Y, 0.2) + 3.0
    model = PPCA(1, tol=1e-13, max_iter=20000).fit(Y)

    def value(theta):
        parameters = LinearGaussian(theta[:5, None], theta[5:10], np.full(5, np.exp(theta[10])))
        return e_step(Y, parameters).log_densities.sum()

    theta = np.concatenate([model.weights_[:, 0], model.mean_, [np.log(model.noise_variance_)]])
    steps = 1e-5 * np.eye(11)
    gradient = [(value(theta + h) - value(theta - h)) / 2e-5 for h in steps]
    assert np.abs(gradient).max() < 1e-3


@pytest.mark.identity
def test_imputation_is_the_conditional_mean_and_deviation():
    Y, _ = sample_ppca(np.random.default_rng(0).standard_normal((4, 2)), 0.1, 200, random_state=1)
    model = PPCA(2).fit(Y)
    row = Y[:1].copy()
    row[0, 1] = np.nan
    C, O = model.get_covariance(), [0, 2, 3]
    gain = np.linalg.solve(C[np.ix_(O, O)], C[O, 1])
    filled, deviation = model.impute(row, return_std=True)
    assert_allclose(filled[0, 1], model.mean_[1] + gain @ (row[0, O] - model.mean_[O]))
    assert_allclose(deviation[0], [0, np.sqrt(C[1, 1] - gain @ C[O, 1]), 0, 0])
    assert_allclose(filled[0, O], row[0, O])


@pytest.mark.identity
def test_a_row_with_nothing_observed_stays_at_the_prior():
    Y, _ = sample_ppca(np.random.default_rng(0).standard_normal((4, 2)), 0.1, 50, random_state=1)
    model = PPCA(2).fit(Y)
    empty = np.full((1, 4), np.nan)
    assert_allclose(model.transform(empty), 0.0, atol=1e-12)
    assert_allclose(model.score_samples(empty), 0.0, atol=1e-12)
    assert_allclose(model.impute(empty)[0], model.mean_)


# --- the map -------------------------------------------------------------------------------------------------


@st.composite
def maps_and_rows(draw):
    """A linear map with certain or uncertain weights, rows with gaps, and a latent point for each."""
    D, q, M = draw(st.integers(2, 6)), draw(st.integers(1, 3)), 5
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    root = 0.5 * rng.standard_normal((q, q))
    noise = rng.uniform(0.2, 2.0, D) if draw(st.booleans()) else rng.uniform(0.2, 2.0)
    covariance = root @ root.T if draw(st.booleans()) else None
    map_ = LinearMap(rng.standard_normal((D, q)), rng.standard_normal(D), noise, covariance)
    return map_, with_gaps(rng.standard_normal((M, D)), draw(st.floats(0.0, 0.6))), rng.standard_normal((M, q))


@pytest.mark.identity
@given(maps_and_rows())
@quick
def test_the_maps_log_density_is_the_gaussian_of_what_was_observed(problem):
    map_, Y, X = problem
    values = map_.log_density(Y, X)[0]
    C = np.zeros((X.shape[1],) * 2) if map_.weight_covariance is None else map_.weight_covariance
    noise = np.broadcast_to(map_.noise_variance, map_.mean.shape)
    for y, x, value in zip(Y, X, values, strict=True):
        O = ~np.isnan(y)
        covariance = np.diag(noise + x @ C @ x)[np.ix_(O, O)]
        expected = multivariate_normal((map_.weights @ x + map_.mean)[O], covariance).logpdf(y[O]) if O.any() else 0.0
        assert_allclose(value, expected, rtol=1e-9)


@pytest.mark.gradient
@given(maps_and_rows())
@quick
def test_the_gradient_of_the_log_density_against_central_differences(problem):
    map_, Y, X = problem

    def value_and_gradient(x):
        values, gradients = map_.log_density(Y, x.reshape(X.shape))
        return values.sum(), gradients.ravel()

    assert check_gradient(value_and_gradient, X.ravel()) < 1e-6


@pytest.mark.identity
def test_the_expected_metric_is_the_mean_over_draws_of_the_weights():
    rng = np.random.default_rng(0)
    W, Sigma, X = rng.standard_normal((6, 2)), np.array([[0.3, 0.1], [0.1, 0.2]]), rng.standard_normal((3, 2))
    map_ = LinearMap(W, np.zeros(6), 0.1, Sigma)
    draws = W + rng.multivariate_normal(np.zeros(2), Sigma, size=(50_000, 6))
    assert_allclose(map_.metric(X)[1], np.mean(draws.transpose(0, 2, 1) @ draws, axis=0), rtol=0.02)
    assert_allclose(map_.moments(X)[1][:, 3], np.var(draws[:, 3] @ X.T, axis=0), rtol=0.03)
    certain = LinearMap(W, np.zeros(6), 0.1)
    assert_allclose(certain.metric(X), np.tile(W.T @ W, (3, 1, 1)))
    assert_allclose(certain.jacobian(X), np.tile(W, (3, 1, 1)))


@pytest.mark.identity
@pytest.mark.parametrize("model", [PPCA(2), FactorAnalysis(2), DualPPCA(2)], ids=repr)
def test_training_rows_are_placed_where_the_model_has_them(model):
    Y, _ = sample_ppca(np.random.default_rng(0).standard_normal((6, 2)), 0.3, 40, random_state=1)
    places = model.fit(Y + 5.0).place(Y + 5.0, n_starts=3)
    assert places.X.shape == (40, 3, 2) and places.values.shape == (40, 3)
    assert_allclose(places.X[:, 0], model.embedding_, atol=1e-8)
    assert_allclose(model.transform(Y + 5.0), model.embedding_, atol=1e-8)


@pytest.mark.identity
@given(problems(), st.floats(0.0, 0.5))
@quick
def test_the_duals_place_minimises_the_expected_squared_error_of_what_was_observed(problem, share):
    Y, W, _ = problem
    model = DualPPCA(W.shape[1]).fit(Y)
    holes = with_gaps(Y, share)
    holes = holes[~np.isnan(holes).all(axis=1)]
    X, values = (part[:, 0] for part in model.place(holes))
    map_, s2 = model.map_, model.noise_variance_
    C, O = map_.weight_covariance, ~np.isnan(holes)

    def expected(X):  # <ln p(y | x, W)> over p(W | Y, X)
        errors = np.where(O, (holes - X @ map_.weights.T - map_.mean) ** 2, 0.0).sum(axis=1)
        spread = O.sum(axis=1) * np.einsum("ni,ij,nj->n", X, C, X)
        return -0.5 * (O.sum(axis=1) * np.log(2 * np.pi * s2) + (errors + spread) / s2)

    assert_allclose(values, expected(X), rtol=1e-8)
    step = 0.05 * np.abs(X).max() * np.random.default_rng(0).standard_normal(X.shape)
    assert np.all(expected(X + step) <= values + 1e-9 * np.abs(values))
    complete = dual_transform(Y - map_.mean, map_.weights, C)
    assert_allclose(dual_transform_observed(Y - map_.mean, map_.weights, C), complete, atol=1e-8 * np.abs(X).max())


@pytest.mark.identity
def test_the_duals_density_has_its_weights_integrated_out():
    Y, _ = sample_ppca(np.random.default_rng(0).standard_normal((4, 2)), 0.3, 30, random_state=1)
    model = DualPPCA(1).fit(Y)
    x = model.transform(Y[:1])[0]
    spread = (x @ model.weight_covariance_ @ x + model.noise_variance_) * np.eye(4)
    expected = multivariate_normal(model.inverse_transform(x[None])[0], spread).logpdf(Y[0])
    assert_allclose(model.best_log_density(Y[:1]), expected)
    filled, deviation = model.impute([[Y[0, 0], np.nan, Y[0, 2], Y[0, 3]]], return_std=True)
    assert filled[0, 0] == Y[0, 0] and deviation[0, 1] > np.sqrt(model.noise_variance_)


@pytest.mark.identity
def test_states_on_principal_axes_say_the_same():
    holes = with_gaps(GOOD, 0.2)
    states = list(PPCA(2, max_iter=5).iterates(holes))
    assert [state.stopped for state in states] == [""] * 6
    *_, plain = em_iterates(holes, LinearGaussian(*(np.array(part) for part in states[0].parameters)), max_iter=3)
    turned = on_principal_axes(plain)
    assert_allclose(turned.X @ turned.parameters.weights.T, plain.X @ plain.parameters.weights.T, atol=1e-10)
    assert_allclose(turned.X, e_step(holes, turned.parameters).means, atol=1e-10)
    gram = turned.parameters.weights.T @ turned.parameters.weights
    assert abs(gram[0, 1]) < 1e-10 and gram[0, 0] > gram[1, 1]


def test_the_closed_form_is_one_state_and_em_says_why_it_stopped():
    (state,) = PPCA(2).iterates(GOOD)
    assert state.stopped == "closed form" and state.X.shape == (20, 2)
    *_, last = PPCA(1).iterates(with_gaps(GOOD, 0.2))
    assert last.stopped == "gain"
    model = FactorAnalysis(1).fit(GOOD)
    assert model.converged_ and len(model.history_) == model.n_iter_ + 1
    assert model.history_[-1] == model.log_likelihood_


def test_four_kinds_of_random_state():
    for kind in (None, 0, np.random.RandomState(0), np.random.default_rng(0)):
        assert sample_ppca(np.ones((3, 1)), 0.1, 4, random_state=kind)[0].shape == (4, 3)


# --- scikit-learn as an oracle -------------------------------------------------------------------------------


@pytest.mark.oracle
@given(problems())
@quick
def test_ppca_agrees_with_scikit_learns_pca(problem):
    Y, W, _ = problem
    N, q = len(Y), W.shape[1]
    ours, theirs = PPCA(q).fit(Y), decomposition.PCA(q).fit(Y)
    assert subspace_angle(ours.weights_, theirs.components_.T) < 1e-6
    if N > Y.shape[1]:  # scikit-learn divides by N - 1, and averages over min(N, D) values
        assert_allclose(ours.noise_variance_ * N / (N - 1), theirs.noise_variance_, rtol=1e-8)


@pytest.mark.oracle
def test_ppcas_density_agrees_with_scikit_learns_up_to_its_unbiased_covariance():
    Y, _ = sample_ppca(np.random.default_rng(0).standard_normal((5, 2)), 0.2, 400, random_state=1)
    theirs = decomposition.PCA(2).fit(np.sqrt(399 / 400) * (Y - Y.mean(0)))
    ours = PPCA(2).fit(Y - Y.mean(0))
    assert_allclose(ours.get_covariance(), theirs.get_covariance(), rtol=1e-8, atol=1e-10)


@pytest.mark.oracle
def test_factor_analysis_reaches_the_likelihood_of_scikit_learns():
    rng = np.random.default_rng(0)
    Y, _ = sample_ppca(rng.standard_normal((8, 2)), rng.uniform(0.5, 1.5, 8), 1000, random_state=1)
    ours = FactorAnalysis(2, tol=1e-11).fit(Y)
    theirs = decomposition.FactorAnalysis(2, tol=1e-8, max_iter=5000, svd_method="lapack").fit(Y)
    assert_allclose(ours.score(Y), theirs.score(Y), rtol=1e-7)
    assert_allclose(ours.noise_variance_, theirs.noise_variance_, rtol=1e-3)
    assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-3)


@pytest.mark.identity
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_factor_analysis_does_not_care_for_units(gaps):
    Y = with_gaps(np.random.default_rng(0).standard_normal((60, 5)) @ np.triu(np.ones((5, 5))), gaps)
    units = np.array([1.0, 100.0, 0.01, 3.0, 1e4])
    one, other = FactorAnalysis(1, max_iter=200).fit(Y), FactorAnalysis(1, max_iter=200).fit(Y * units)
    assert_allclose(other.weights_, one.weights_ * units[:, None], rtol=1e-6)
    assert_allclose(other.noise_variance_, one.noise_variance_ * units**2, rtol=1e-6)
    assert_allclose(other.embedding_, one.embedding_, atol=1e-6)


# --- what users do with it -----------------------------------------------------------------------------------


def test_missing_values_are_filled_better_than_by_column_means():
    Y, _ = sample_ppca(np.random.default_rng(0).standard_normal((8, 2)), 0.05, 150, random_state=1)
    holes = with_gaps(Y, 0.3)
    gaps = np.isnan(holes)
    filled = PPCA(2).fit(holes).impute(holes)
    ours = np.mean((filled - Y)[gaps] ** 2)
    means = np.mean((np.broadcast_to(np.nanmean(holes, axis=0), Y.shape) - Y)[gaps] ** 2)
    assert ours < 0.15 * means


def test_gaps_that_depend_on_the_missing_values_are_filled_with_bias_and_false_confidence():
    """Chapter 1, missing at random: the same share of gaps, at random and above a threshold, ten draws."""
    covered = {"at random": [], "saturated": []}
    for seed in range(10):
        Y, _ = sample_ppca(np.random.default_rng(seed).standard_normal((6, 2)), 0.1, 300, random_state=seed)
        patterns = np.random.default_rng(seed).random(Y.shape) < 0.25, np.quantile(Y, 0.75, axis=0) < Y
        for name, gaps in zip(covered, patterns, strict=True):
            seen = ~gaps.all(axis=1)
            holes = np.where(gaps, np.nan, Y)[seen]
            filled, deviation = PPCA(2).fit(holes).impute(holes, return_std=True)
            covered[name].append(np.mean((np.abs(filled - Y[seen]) < 2 * deviation)[gaps[seen]]))
    assert min(covered["at random"]) > 0.9 and np.mean(covered["saturated"]) < 0.8  # seen: 0.93 to 0.96, mean 0.74
    assert np.all(np.array(covered["saturated"]) < covered["at random"])


def test_samples_have_the_models_covariance():
    Y, _ = sample_ppca(np.random.default_rng(0).standard_normal((4, 2)), 0.2, 300, random_state=1)
    for model in (PPCA(2).fit(Y), FactorAnalysis(1).fit(Y)):
        draws, X = model.sample(200_000, random_state=0)
        assert X.shape == (200_000, model.n_components)
        assert_allclose(np.cov(draws.T), model.get_covariance(), atol=0.05)
        assert_allclose(draws.mean(axis=0), model.mean_, atol=0.05)


def test_constant_columns_and_duplicated_rows_have_a_right_answer():
    rng = np.random.default_rng(0)
    Y = np.column_stack([rng.standard_normal((40, 4)), np.full(40, 7.0)])
    model = PPCA(2).fit(np.vstack([Y, Y]))
    once = PPCA(2).fit(Y)
    assert_allclose(model.weights_, once.weights_, atol=1e-8)
    assert_allclose(model.log_likelihood_, 2 * once.log_likelihood_, rtol=1e-9)
    assert_allclose(model.inverse_transform(model.embedding_)[:, 4], 7.0)


def test_as_many_components_as_columns_reproduce_the_sample_covariance():
    Y = np.random.default_rng(0).standard_normal((50, 3))
    assert_allclose(PPCA(3).fit(Y).get_covariance(), np.cov(Y.T, bias=True), atol=1e-12)


# --- bad input -----------------------------------------------------------------------------------------------

GOOD = np.random.default_rng(0).standard_normal((20, 5))


@pytest.mark.bad_input
@pytest.mark.parametrize("Model", [PPCA, DualPPCA, FactorAnalysis])
@pytest.mark.parametrize(
    "Y, says",
    [
        (np.arange(5.0), "Expected 2D array"),
        (np.empty((0, 3)), "0 sample"),
        (np.empty((3, 0)), "0 feature"),
        ([["a", "b"], ["c", "d"]], "could not convert string"),
        (GOOD[:1], "1 sample|minimum of 2"),
        (np.where(GOOD > 2, np.inf, GOOD), "infinity"),
        (GOOD[:, :1], "n_features=1"),
        (GOOD + 1j, "Complex data not supported"),
    ],
    ids=["1-D", "no rows", "no columns", "strings", "one row", "inf", "one column", "complex"],
)
def test_bad_data_gets_a_clear_error(Model, Y, says):
    with pytest.raises(ValueError, match=says):
        Model().fit(Y)


@pytest.mark.bad_input
def test_missing_values_where_the_model_has_no_use_for_them():
    holes = with_gaps(GOOD, 0.2)
    with pytest.raises(ValueError, match=r"FactorAnalysis, .*PPCA, .* integrate missing values out"):
        DualPPCA().fit(holes)
    with pytest.raises(ValueError, match="Column 2 of Y has no observed value"):
        PPCA().fit(np.where(np.arange(5) == 2, np.nan, GOOD))
    with pytest.raises(ValueError, match="noise_variance can't be fixed"):
        PPCA(noise_variance=1.0).fit(holes)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "model, says",
    [
        (PPCA(0), "whole number of at least 1"),
        (PPCA(2.0), "whole number"),
        (PPCA("2"), "whole number"),
        (PPCA(True), "whole number"),
        (PPCA(6), "at most 5"),
        (DualPPCA(5), "at most 4"),
        (FactorAnalysis(6), "at most 5"),
        (PPCA(noise_variance=-1.0), "finite number above 0"),
        (DualPPCA(noise_variance=0.0), "finite number above 0"),
        (PPCA(noise_variance=np.nan), "finite number above 0"),
        (PPCA(max_iter=-1), "max_iter must be a whole number of at least 0, got -1"),
        (PPCA(max_iter="ten"), "max_iter must be a whole number of at least 0, got 'ten'"),
        (PPCA(tol=-1.0), "tol must be a finite number of at least 0"),
        (FactorAnalysis(tol=None), "tol must be"),
    ],
    ids=repr,
)
def test_bad_parameters_get_a_clear_error(model, says):
    for Y in (GOOD, with_gaps(GOOD, 0.2)) if model.allows_missing else (GOOD,):
        with pytest.raises(ValueError, match=says):
            model.fit(Y)


@pytest.mark.bad_input
def test_data_in_a_plane_have_no_maximum_unless_the_noise_is_given():
    plane = GOOD[:, :2] @ np.random.default_rng(1).standard_normal((2, 5))
    for Model in (PPCA, DualPPCA):
        with pytest.raises(ValueError, match="lie in a plane of 2 dimensions or fewer"):
            Model(2).fit(plane)
        assert np.isfinite(Model(2, noise_variance=0.1).fit(plane).log_likelihood_)
        with pytest.raises(ValueError, match="lie in a plane"):
            Model(1).fit(np.ones((6, 4)))
    with pytest.raises(ValueError, match="n_components=3 is too many"):
        DualPPCA(3).fit(GOOD[:4])


@pytest.mark.bad_input
def test_factor_analysis_names_the_constant_column():
    Y = GOOD.copy()
    Y[:, 3] = 2.0
    with pytest.raises(ValueError, match="Column 3 of Y is constant"):
        FactorAnalysis(1).fit(Y)


@pytest.mark.bad_input
def test_latent_points_of_the_wrong_shape():
    for model in (PPCA(2).fit(GOOD), DualPPCA(2).fit(GOOD)):
        with pytest.raises(ValueError, match="2 latent dimensions"):
            model.inverse_transform(np.zeros((3, 4)))
        with pytest.raises(ValueError, match="NaN or infinity"):
            model.inverse_transform([[np.nan, 0.0]])


@pytest.mark.bad_input
def test_em_that_stops_early_says_so():
    with pytest.warns(UserWarning, match="PPCA stopped at max_iter=2 before it had converged"):
        PPCA(1, max_iter=2, tol=0.0).fit(with_gaps(GOOD, 0.3))


# --- the explorer --------------------------------------------------------------------------------------------

EXPLORER = explore_ppca


SETTINGS = [
    dict(data=data, model=model, noise=noise, rotate=rotate, q=q, exponent=exponent)
    for data, model, noise, rotate, q, exponent in [
        ("oil flow", "primal", 1.0, 0, 2, "corrected: +1/2"),
        ("oil flow", "dual", 3.0, 45, 3, "corrected: +1/2"),
        ("digits", "primal", 0.2, -30, 5, "as printed: -1/2"),
        ("digits", "dual", 50.0, 10, 1, "corrected: +1/2"),
        ("3-D cloud", "primal", 1.0, 90, 1, "corrected: +1/2"),
        ("3-D cloud", "dual", 1.0, 0, 2, "as printed: -1/2"),
    ]
]


@pytest.mark.widget
@pytest.mark.parametrize("settings_", SETTINGS, ids=lambda s: f"{s['data']}-{s['model']}-{s['q']}")
def test_the_code_shown_computes_what_the_panels_show(settings_, explorer, capsys):
    explorer.set(**settings_)
    scope = {}
    exec(explorer.shown_code(), scope)
    assert capsys.readouterr().out.strip() == explorer.scene.says
    drawn = explorer.scene.mark("embedding", "points")
    latent = scope["latent"]
    assert_allclose(drawn.y, latent[:, 1] if settings_["q"] > 1 else latent[:, 0], atol=1e-9 * np.abs(latent).max())
    guess = explorer.scene.panel("reconstruction")
    if settings_["data"] == "digits":
        image = guess.mark("images").values[:, 9:]
        assert_allclose(image, scope["reconstruction"][0].reshape(8, 8), atol=1e-9)
    else:
        assert_allclose(guess.mark("guess").y, scope["reconstruction"][0], atol=1e-9)


@pytest.mark.widget
def test_the_best_noise_is_the_top_of_the_curve_and_the_closed_form():
    for model in ("primal", "dual"):
        scene = panel_ppca(model=model)
        curve, now = scene.mark("likelihood", model), scene.mark("likelihood", "now")
        assert np.argmax(curve.y) == 30
        fitted = (PPCA(2) if model == "primal" else DualPPCA(2)).fit(load("oil flow")[0])
        assert_allclose(now.x, fitted.noise_variance_, rtol=1e-8)
        assert_allclose(now.y * load("oil flow")[0].size, fitted.log_likelihood_, rtol=1e-8)


@pytest.mark.widget
@pytest.mark.parametrize("q", [1, 2])
def test_a_click_into_the_embedding_chooses_the_nearest_point(explorer, q):
    explorer.set(q=q)
    drawn = explorer.scene.mark("embedding", "points")
    place = {"x": drawn.x[123], "y": drawn.y[123]}
    explorer.view.hear({"type": "point", "panel": "embedding", **place})
    chosen = explorer.settings["point"]
    assert_allclose([drawn.x[chosen], drawn.y[chosen]], [*place.values()], atol=1e-9)
    ring = explorer.scene.mark("embedding", "chosen")
    assert_allclose([ring.x[0], ring.y[0]], [*place.values()], atol=1e-9)
    explorer.view.hear({"type": "arrow", "panel": "embedding", "right": 1, "up": 0})
    assert explorer.settings["point"] == chosen + 1


@pytest.mark.widget
@pytest.mark.parametrize("model", ["primal", "dual"])
def test_run_climbs_from_a_random_start_to_the_closed_form(explorer, model):
    explorer.set(model=model, data="oil flow")
    best = float(explorer.scene.says.split()[-1])
    explorer.run_now()
    values = np.array(explorer.state.path)[:, 1]
    assert np.all(np.diff(values) > -1e-6 * np.abs(values[0])) and len(values) == explorer.state.number + 1 >= 20
    assert best - 1.0 < values[-1] <= best + 0.1


@pytest.mark.widget
def test_the_path_of_a_run_ends_at_its_dot(explorer):
    explorer.run_now(max_steps=12)
    path, now = explorer.scene.mark("likelihood", "path"), explorer.scene.mark("likelihood", "now")
    assert len(path.x) == 12
    assert_allclose([path.x[-1], path.y[-1]], [now.x[0], now.y[0]], rtol=1e-9)


@pytest.mark.widget
def test_no_more_dimensions_are_offered_than_leave_a_direction_for_the_noise(explorer):
    explorer.set(q=5)
    explorer.set(data="3-D cloud")
    assert explorer.controls["q"].max == explorer.settings["q"] == 2 and explorer.problem == ""
    explorer.set(data="digits")
    assert explorer.controls["q"].max == 8


@pytest.mark.widget
def test_one_dimension_can_not_be_turned(explorer):
    explorer.set(q=1)
    assert explorer.controls["rotate"].disabled and "can&#x27;t be turned" in explorer.why_box.value


@pytest.mark.widget
def test_the_answers_to_the_questions_are_true(explorer):
    def before_and_after(number):
        explorer.ask(number)
        before, question = explorer.scene, explorer.asked
        explorer.commit(question.right)
        explorer.reveal()
        return before, explorer.scene, question.choices[question.right]

    def spread(scene):
        points = scene.mark("embedding", "points")
        return np.array([points.x.std(), points.y.std()])

    before, after, right = before_and_after(1)
    assert right == "it shrinks"
    assert np.all(spread(after) < 0.35 * spread(before)) and spread(after)[1] < 1e-9  # one axis is switched off
    before, after, right = before_and_after(2)
    assert right == "the embedding alone"
    same = [key for key in ("likelihood", "spectrum_and_floor", "reconstruction") if alike(before, after, key)]
    assert len(same) == 3 and not alike(before, after, "embedding")
    before, after, right = before_and_after(3)
    assert right == "the same directions, other noise and likelihood"
    for axis in "xy":
        a, b = (getattr(scene.mark("embedding", "points"), axis) for scene in (before, after))
        assert abs(np.corrcoef(a, b)[0, 1]) > 1 - 1e-9
    assert before.says.split()[2] != after.says.split()[2] and before.says.split()[-1] != after.says.split()[-1]


def alike(before, after, key):
    """All numbers of a panel are the same up to rounding."""
    pairs = zip(before.panel(key).marks, after.panel(key).marks, strict=True)
    names = ("x", "y", "height", "values")
    return all(
        np.allclose(getattr(a, name), getattr(b, name), atol=1e-6, equal_nan=True)
        for a, b in pairs
        for name in names
        if getattr(a, name, None) is not None
    )


# --- the papers' figures -------------------------------------------------------------------------------------


@pytest.mark.real
def test_pca_makes_the_errors_printed_in_tables_2_and_3(fresh_results):
    fresh = fresh_results("ppca")
    assert fresh["oil, 100 points"]["errors"] == 20 and fresh["oil, 1000 points"]["errors"] == 162
