"""Chapter 3: one divergence for PCA, kernel PCA, classical MDS and the GP-LVM, each claim computed a second way."""

import numpy as np
import pytest
from gplvm_widgets import explore_unify
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import linalg
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from sklearn import decomposition, manifold
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF as SklearnRBF

from gplvm_edu import DualPPCA
from gplvm_edu.datasets import city_distances, great_circle_distances
from gplvm_edu.kernels import MLP, RBF, Bias, Linear, White
from gplvm_edu.linalg import centre, double_centre, nearest_semidefinite, squared_distances
from gplvm_edu.metrics import subspace_angle
from gplvm_edu.optimise import check_gradient, minimise
from gplvm_edu.ppca import log_likelihood
from gplvm_edu.unify import (
    ClassicalMDS,
    KernelPCA,
    MinorComponents,
    additive_constant,
    centre_new,
    cross_entropy,
    distances_from_similarity,
    gaussian_kl,
    gp_log_likelihood,
    kl_gradient,
    leading_eigenpairs,
    linear_divergence,
    minimal_cross_entropy,
    minimal_divergence,
    minimiser,
    nearest_diagonal,
    nearest_euclidean,
    output_scales,
    preimage_iterates,
    retained_sets,
    scaled_log_likelihood,
    similarity_from_distances,
    spectrum,
    strain,
    strain_minimiser,
)

quick = settings()  # those of the profile, tests/conftest.py
WAYS = [(reverse, low_rank) for reverse in (False, True) for low_rank in ("covariance", "precision")]
each_way = pytest.mark.parametrize("reverse, low_rank", WAYS, ids=["S|K", "S|K, inverse", "K|S", "K|S, inverse"])


def covariance(rng, N, spread=1.0, scale=1.0):
    """A positive definite matrix with well separated eigenvalues and random eigenvectors."""
    Q, _ = np.linalg.qr(rng.standard_normal((N, N)))
    lam = np.exp(spread * (np.arange(N, 0, -1) / 2 + 0.3 * rng.random(N)))
    return scale * Q * lam @ Q.T


@st.composite
def problems(draw):
    """S, K (N, N) positive definite, and a size q."""
    N = draw(st.integers(3, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = 10.0 ** draw(st.integers(-3, 3))
    return covariance(rng, N, scale=scale), covariance(rng, N, 0.7, scale), draw(st.integers(1, N - 1))


def linear(X, c):
    return X @ X.T + c * np.eye(len(X))


# --- the divergence ------------------------------------------------------------------------------------------


@pytest.mark.identity
@given(problems())
@quick
def test_the_divergence_is_its_textbook_formula(problem):
    S, K, _ = problem
    N = len(S)
    log_det = np.linalg.slogdet(K)[1] - np.linalg.slogdet(S)[1]
    expected = 0.5 * (log_det + np.trace(np.linalg.solve(K, S)) - N)
    assert_allclose(gaussian_kl(S, K), expected, rtol=1e-7, atol=1e-9)
    assert abs(gaussian_kl(S, S)) < 1e-9 and gaussian_kl(S, K) > 0


@pytest.mark.identity
@given(problems())
@quick
def test_the_divergence_is_cross_entropy_minus_entropy(problem):
    S, K, _ = problem
    entropy = multivariate_normal(cov=S, allow_singular=True).entropy()
    assert_allclose(gaussian_kl(S, K), cross_entropy(S, K) - entropy, rtol=1e-6, atol=1e-8)


@pytest.mark.oracle
def test_the_cross_entropy_is_the_mean_surprise_of_draws():
    rng = np.random.default_rng(0)
    S, K = covariance(rng, 4, 0.3), covariance(rng, 4, 0.2)
    draws = rng.multivariate_normal(np.zeros(4), S, size=100_000)
    surprise = -multivariate_normal(cov=K).logpdf(draws)
    error = surprise.std() / np.sqrt(len(draws))
    assert abs(surprise.mean() - cross_entropy(S, K)) < 5 * error


@pytest.mark.identity
@given(problems())
@quick
def test_inverting_both_matrices_reverses_the_divergence(problem):
    S, K, _ = problem
    assert_allclose(gaussian_kl(S, K), gaussian_kl(np.linalg.inv(K), np.linalg.inv(S)), rtol=1e-6, atol=1e-8)


@pytest.mark.identity
@given(problems(), st.integers(0, 2**32 - 1))
@quick
def test_the_divergence_does_not_see_a_change_of_coordinates(problem, seed):
    S, K, _ = problem
    A = np.random.default_rng(seed).standard_normal(S.shape) + 3 * np.eye(len(S))
    both = [0.5 * (M + M.T) for M in (A @ S @ A.T, A @ K @ A.T)]
    assert_allclose(gaussian_kl(*both), gaussian_kl(S, K), rtol=1e-4, atol=1e-6)


@pytest.mark.identity
def test_singular_matrices_are_infinitely_far_apart_unless_they_span_the_same_space():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((5, 2))
    B = A @ rng.standard_normal((2, 2))
    plane, same, other = A @ A.T, B @ B.T, np.outer(*[rng.standard_normal(5)] * 2)
    for S, K in ((plane, np.eye(5)), (np.eye(5), plane), (plane, other), (other, plane)):
        assert gaussian_kl(S, K) == np.inf
    inside = np.linalg.qr(A)[0]
    expected = gaussian_kl(inside.T @ plane @ inside, inside.T @ same @ inside)
    assert_allclose(gaussian_kl(plane, same), expected, rtol=1e-8)
    assert gaussian_kl(np.zeros((3, 3)), np.zeros((3, 3))) == 0.0


@pytest.mark.gradient
@pytest.mark.parametrize("reverse", [False, True])
@given(problem=problems())
@quick
def test_the_gradient_in_K_against_central_differences(problem, reverse):
    S, K, _ = problem
    unit = np.trace(K) / len(K)
    S, K = S / unit, K / unit

    def value_and_gradient(k):
        M = k.reshape(K.shape)
        M = 0.5 * (M + M.T)
        return (gaussian_kl(M, S) if reverse else gaussian_kl(S, M)), kl_gradient(S, M, reverse).ravel()

    assert check_gradient(value_and_gradient, K.ravel()) < 1e-5


@pytest.mark.gradient
@pytest.mark.parametrize("reverse", [False, True])
@given(problem=problems())
@quick
def test_the_gradients_in_X_and_noise_against_central_differences(problem, reverse):
    S, _, q = problem
    S = S / np.trace(S) * len(S)
    rng = np.random.default_rng(q)

    def value_and_gradient(x):
        value, dX, dc = linear_divergence(S, x[:-1].reshape(-1, q), np.exp(x[-1]), reverse)
        return value, np.append(dX.ravel(), dc * np.exp(x[-1]))

    assert check_gradient(value_and_gradient, np.append(rng.standard_normal(len(S) * q), -0.3)) < 1e-6


@pytest.mark.identity
@pytest.mark.parametrize("reverse", [False, True])
@given(problem=problems())
@quick
def test_the_nearest_axis_parallel_gaussian_is_what_a_search_finds(problem, reverse):
    S, _, _ = problem
    S = S / np.trace(S) * len(S)

    def value_and_gradient(t):
        K = np.diag(np.exp(t))
        value = gaussian_kl(K, S) if reverse else gaussian_kl(S, K)
        return value, np.diag(kl_gradient(S, K, reverse)) * np.exp(t)

    found = minimize(value_and_gradient, np.zeros(len(S)), jac=True, method="BFGS", options=dict(gtol=1e-9)).x
    assert_allclose(nearest_diagonal(S, reverse), np.exp(found), rtol=1e-4)  # (3.5)
    assert np.all(nearest_diagonal(S, True) <= nearest_diagonal(S) * (1 + 1e-9))


# --- four methods, one objective -----------------------------------------------------------------------------


@pytest.mark.identity
@pytest.mark.parametrize("kernel", [RBF() + White(0.1), MLP() + White(0.1), Linear() + Bias() + White(0.1)], ids=str)
def test_the_gplvm_objective_is_minus_D_times_the_cross_entropy_for_any_kernel(kernel):
    rng = np.random.default_rng(0)
    Y, X = rng.standard_normal((9, 4)), rng.standard_normal((9, 2))
    K = kernel(X)
    brute_force = multivariate_normal(cov=K).logpdf(Y.T).sum()
    assert_allclose(gp_log_likelihood(Y, K), brute_force, rtol=1e-10)
    assert_allclose(-4 * cross_entropy(Y @ Y.T / 4, K), brute_force, rtol=1e-10)


@pytest.mark.identity
def test_with_a_linear_kernel_it_is_the_likelihood_of_dual_ppca():
    rng = np.random.default_rng(0)
    Y, X = rng.standard_normal((9, 4)), rng.standard_normal((9, 2))
    assert_allclose(gp_log_likelihood(Y, linear(X, 0.3)), log_likelihood(Y.T, X, 0.3), rtol=1e-10)


@pytest.mark.identity
def test_the_minimiser_for_inner_products_is_dual_ppca():
    Y = centre(np.random.default_rng(0).standard_normal((12, 5)) * [4, 3, 2, 1, 0.5])[0]
    model = DualPPCA(2).fit(Y)
    X, c = minimiser(Y @ Y.T / 5, 2)
    assert_allclose(c, model.noise_variance_, rtol=1e-9)
    assert_allclose(X @ X.T, model.embedding_ @ model.embedding_.T, atol=1e-9)
    assert_allclose(-5 * minimal_cross_entropy(spectrum(Y @ Y.T / 5)[0][:2], c, 12), model.log_likelihood_, rtol=1e-9)


@pytest.mark.identity
def test_shrunk_kernel_pca_is_the_minimiser_for_a_kernel_matrix():
    Y = np.random.default_rng(0).standard_normal((15, 3))
    S = double_centre(RBF(inverse_width=0.4)(Y))
    model = KernelPCA(2, RBF(inverse_width=0.4), shrink=True).fit(Y)
    X, c = minimiser(S, 2)
    assert_allclose(model.noise_variance_, c, rtol=1e-9)
    assert_allclose(model.embedding_, X, atol=1e-9)
    assert_allclose(model.cross_entropy_, cross_entropy(S, linear(X, c)), rtol=1e-9)
    assert_allclose(model.transform(Y), model.embedding_, atol=1e-9)


@pytest.mark.identity
def test_classical_mds_of_euclidean_distances_is_pca():
    Y = np.random.default_rng(0).standard_normal((30, 4)) * [4, 3, 2, 1]
    scores = decomposition.PCA(2).fit_transform(Y)
    for model, data in (
        (ClassicalMDS(), Y),
        (ClassicalMDS(metric="distance"), np.sqrt(squared_distances(Y))),
        (ClassicalMDS(metric="similarity"), Y @ Y.T),
    ):
        X = model.fit_transform(data)
        assert_allclose(np.abs(X), np.abs(scores), atol=1e-7)


@pytest.mark.identity
@given(problems(), st.integers(0, 20), st.integers(0, 2**32 - 1))
@quick
def test_any_similarity_is_a_likelihood_of_as_many_features_as_one_likes(problem, more, seed):
    S, K, _ = problem
    N = len(S)
    r = N + more
    lam, U = spectrum(S)
    rows = np.linalg.qr(np.random.default_rng(seed).standard_normal((r, N)))[0].T  # orthonormal
    F = np.sqrt(r) * U * np.sqrt(lam) @ rows
    assert_allclose(F @ F.T / r, S, atol=1e-9 * lam[0])
    brute_force = multivariate_normal(cov=K, allow_singular=True).logpdf(F.T).sum()
    assert_allclose(-r * cross_entropy(S, K), brute_force, rtol=1e-6)  # (3.7)


# --- the closed form -----------------------------------------------------------------------------------------


@pytest.mark.identity
@each_way
@given(problem=problems())
@quick
def test_the_minimiser_attains_the_formula_for_the_minimum(problem, reverse, low_rank):
    S, _, q = problem
    X, c = minimiser(S, q, reverse, low_rank)
    K = np.linalg.inv(linear(X, c)) if low_rank == "precision" else linear(X, c)
    K = 0.5 * (K + K.T)
    value = gaussian_kl(K, S) if reverse else gaussian_kl(S, K)
    assert_allclose(value, minimal_divergence(spectrum(S)[0], q, reverse, low_rank), rtol=1e-5, atol=1e-8)


@pytest.mark.identity
@each_way
@given(problem=problems(), seed=st.integers(0, 2**32 - 1))
@quick
def test_nothing_nearby_is_better_than_the_minimiser(problem, reverse, low_rank, seed):
    S, _, q = problem
    target, turned = (np.linalg.inv(S), not reverse) if low_rank == "precision" else (S, reverse)
    target = 0.5 * (target + target.T)
    X, c = minimiser(S, q, reverse, low_rank)
    best, dX, dc = linear_divergence(target, X, c, turned)
    assert np.abs(dX).max() * np.sqrt(c) < 1e-6 and abs(dc) * c < 1e-6  # stationary, in units of the noise
    rng = np.random.default_rng(seed)
    for size in (1e-3, 1e-1):
        nearby = X + size * np.sqrt(c) * rng.standard_normal(X.shape)
        assert linear_divergence(target, nearby, c * np.exp(size * rng.standard_normal()), turned)[0] > best - 1e-9


@pytest.mark.identity
@each_way
@given(problem=problems())
@quick
def test_enumeration_finds_the_closed_form_as_best_feasible_set(problem, reverse, low_rank):
    S, _, q = problem
    lam, _ = spectrum(S)
    N = len(lam)
    sets = retained_sets(lam, q, reverse, low_rank)
    feasible = np.flatnonzero(sets.margin >= -1e-12)
    best = feasible[np.argmin(sets.divergence[feasible])]
    expected = range(N - q, N) if low_rank == "precision" else range(q)
    if q < N - 1:  # with one discarded eigenvalue all divergences are zero
        assert sets.kept[best].tolist() == list(expected)
    assert_allclose(sets.divergence[best], minimal_divergence(lam, q, reverse, low_rank), atol=1e-9)


@pytest.mark.identity
def test_the_smallest_divergence_of_all_sets_need_not_be_feasible():
    lam = np.array([6.0, 4.0, 2.5, 2.2, 2.0, 1.9, 0.3, 0.02])
    sets = retained_sets(lam, 2)
    unconstrained = np.argmin(sets.divergence)
    assert sets.kept[unconstrained].tolist() == [6, 7] and sets.margin[unconstrained] < 0
    feasible = np.flatnonzero(sets.margin >= 0)
    assert len(feasible) > 1  # feasibility alone does not single the largest out
    assert sets.kept[feasible[np.argmin(sets.divergence[feasible])]].tolist() == [0, 1]


@pytest.mark.identity
@given(problem=problems(), angle=st.floats(0.01, 1.5))
@quick
def test_a_kept_axis_that_turns_to_a_larger_eigenvalue_lowers_the_divergence_by_the_formula(problem, angle):
    S, _, q = problem
    lam, U = spectrum(S)
    sets = retained_sets(lam, q)
    for row in np.flatnonzero(sets.margin > 1e-6)[1:]:  # the first keeps the largest
        kept = sets.kept[row]
        X, c = minimiser(S, q, kept=kept)
        value, dX, dc = linear_divergence(S, X, c)
        assert np.abs(dX).max() * np.sqrt(c) < 1e-6 and abs(dc) * c < 1e-6
        larger = [(k, i, j) for k, i in enumerate(kept) for j in range(i) if j not in kept]
        assert larger  # so it is a saddle: what follows is negative
        for k, i, j in larger:
            turned = X.copy()
            turned[:, k] = np.linalg.norm(X[:, k]) * (np.cos(angle) * U[:, i] + np.sin(angle) * U[:, j])
            expected = -0.5 * np.sin(angle) ** 2 * (lam[j] - lam[i]) * (1 / c - 1 / lam[i])  # (3.16)
            assert expected < 0
            assert_allclose(linear_divergence(S, turned, c)[0] - value, expected, rtol=1e-5, atol=1e-8)


@pytest.mark.identity
def test_the_hessian_has_one_negative_eigenvalue_for_each_larger_eigenvalue_left_out():
    lam = np.array([6.0, 5.0, 3.0, 1.0, 0.5])
    for kept in ([0, 1], [0, 2], [1, 2]):
        X, c = minimiser(np.diag(lam), 2, kept=kept)

        def gradient(x):
            _, dX, dc = linear_divergence(np.diag(lam), x[:-1].reshape(5, 2), x[-1])
            return np.append(dX.ravel(), dc)

        x = np.append(X.ravel(), c)
        hessian = np.array([(gradient(x + e) - gradient(x - e)) / 2e-5 for e in 1e-5 * np.eye(11)])
        found = np.linalg.eigvalsh(hessian + hessian.T) / 2
        rule = sorted(-(lam[j] - lam[i]) / (c * lam[i]) for i in kept for j in range(i) if j not in kept)
        assert_allclose(found[found < -1e-6], rule, rtol=1e-6)


@pytest.mark.identity
@given(problems())
@quick
def test_the_profile_over_the_noise_has_its_minimum_below_the_last_kept_eigenvalue(problem):
    S, _, q = problem
    lam, _ = spectrum(S)

    def profile(c):  # at most q are kept, and only those above c
        ratio = lam[min(q, int(np.sum(lam > c))) :] / c
        return 0.5 * np.sum(ratio - 1 - np.log(ratio))

    above = lam[q - 1] * np.geomspace(1, 100, 40)
    assert np.all(np.diff([profile(c) for c in above]) > 0)
    best = np.mean(lam[q:])
    assert best <= lam[q - 1]
    below = np.geomspace(lam[-1] / 10, lam[q - 1], 40)
    assert min(profile(c) for c in [*below, *above]) >= profile(best) - 1e-12


@pytest.mark.identity
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("low_rank", ["covariance", "precision"])
def test_optimisation_from_eight_starts_keeps_what_the_closed_form_keeps(reverse, low_rank):
    rng = np.random.default_rng(0)
    S = covariance(rng, 8, 0.8)
    lam, U = spectrum(S)
    target, turned = (np.linalg.inv(S), not reverse) if low_rank == "precision" else (S, reverse)
    target = 0.5 * (target + target.T)
    wanted = U[:, 6:] if low_rank == "precision" else U[:, :2]

    def value_and_gradient(x):
        value, dX, dc = linear_divergence(target, x[:-1].reshape(8, 2), np.exp(x[-1]), turned)
        return value, np.append(dX.ravel(), dc * np.exp(x[-1]))

    best = minimal_divergence(lam, 2, reverse, low_rank)
    size = np.sqrt(np.trace(target) / 8)
    for _ in range(8):
        start = np.append(size * rng.standard_normal(16), np.log(np.trace(target) / 8))
        *_, last = minimise(value_and_gradient, start, method="l-bfgs", max_iter=2000, tolerance=1e-7)
        assert_allclose(last.value, best, atol=1e-6)
        assert subspace_angle(last.x[:-1].reshape(8, 2), wanted) < 1e-3


@pytest.mark.identity
def test_searches_from_random_starts_end_at_the_minimum_and_from_saddles_they_stay():
    for seed in range(15):
        rng = np.random.default_rng(seed)
        N, q = int(rng.integers(6, 14)), int(rng.integers(1, 4))
        S = covariance(rng, N, 0.8)
        lam, _ = spectrum(S)

        def value_and_gradient(x, S=S, N=N, q=q):
            value, dX, dc = linear_divergence(S, x[:-1].reshape(N, q), np.exp(x[-1]))
            return value, np.append(dX.ravel(), dc * np.exp(x[-1]))

        def end(X, f=value_and_gradient):
            *_, last = minimise(f, np.append(X.ravel(), 0.0), method="l-bfgs", max_iter=2000, tolerance=1e-7)
            return last.value

        least = minimal_divergence(lam, q)
        for scale in (0.01, 1.0, 10.0):
            assert end(scale * rng.standard_normal((N, q))) < least + 1e-5
        assert_allclose(end(np.zeros((N, q))), minimal_divergence(lam, 0), atol=1e-6)  # the gradient in X is zero there
        assert minimal_divergence(lam, 0) > least + 0.01


@pytest.mark.identity
def test_minor_components_find_the_plane_of_equally_noisy_laws_but_not_the_laws():
    laws = np.array([[1, -1, -1, 0, 0, 0], [0, 0, 0, 1, -1, -1]]).T
    middle = []
    for second in (0.05, 0.10, 0.15):
        off = []
        for seed in range(20):
            rng = np.random.default_rng(100 + seed)
            b = rng.gamma(4.0, size=(4, 500))
            flows = np.column_stack([b[0] + b[1], b[0], b[1], b[2] + b[3], b[2], b[3]])
            flows += np.repeat([0.05, second], 3) * rng.standard_normal((500, 6))
            axes = MinorComponents(2).fit(flows).components_.T
            assert np.degrees(subspace_angle(axes, laws)) < 1.2
            off.append(np.degrees(min(subspace_angle(axes[:, :1], law[:, None]) for law in laws.T)))
        middle.append(np.median(off))
    assert middle[0] > 10 and 3 > middle[1] > middle[2]


@pytest.mark.identity
def test_the_claim_of_section_2_6_2_is_false_for_the_covariance_and_true_for_its_inverse():
    lam = np.array([9.0, 5.0, 3.0, 1.0, 0.5, 0.2])
    as_printed = retained_sets(lam, 2, reverse=True)
    minor = [4, 5]
    row = as_printed.kept.tolist().index(minor)
    assert as_printed.margin[row] < 0  # the smallest can't even be kept
    X, c = minimiser(np.diag(lam), 2, reverse=True)
    assert_allclose(c, 1 / np.mean(1 / lam[2:]))  # harmonic mean
    assert np.flatnonzero(np.abs(X).max(axis=1) > 1e-9).tolist() == [0, 1]
    X, c = minimiser(np.diag(lam), 2, reverse=True, low_rank="precision")
    assert np.flatnonzero(np.abs(X).max(axis=1) > 1e-9).tolist() == minor
    assert_allclose(1 / c, 1 / np.mean(1 / lam[:4]))


@pytest.mark.identity
def test_the_second_line_of_B_1_lacks_half_N():
    lam, q = np.array([5.0, 3.0, 1.0, 0.5]), 2
    beta = 1 / np.mean(lam[q:])
    K = np.where(np.arange(4) < q, lam, 1 / beta)
    exact = gaussian_kl(np.diag(lam), np.diag(K))
    second = 0.5 * np.log(lam[:q]).sum() - (4 - q) / 2 * np.log(beta) - 0.5 * np.log(lam).sum() + 0.5 * np.sum(lam / K)
    third = -0.5 * np.log(lam[q:]).sum() - (4 - q) / 2 * np.log(beta) - (4 - q) / 2 + beta / 2 * lam[q:].sum()
    assert_allclose(third, exact, rtol=1e-10)
    assert_allclose(second - exact, 4 / 2, rtol=1e-10)


@pytest.mark.identity
@given(problems(), st.floats(1e-6, 1e3))
@quick
def test_a_ridge_on_S_moves_the_noise_and_nothing_else(problem, ridge):
    S, _, q = problem
    ridge = ridge * np.trace(S) / len(S)
    X, c = minimiser(S, q)
    X_raised, c_raised = minimiser(S + ridge * np.eye(len(S)), q)
    assert_allclose(c_raised, c + ridge, rtol=1e-9)
    assert_allclose(X_raised @ X_raised.T, X @ X.T, atol=1e-6 * max(ridge, c))


@pytest.mark.identity
def test_the_limit_of_footnote_10():
    Y = centre(np.random.default_rng(0).standard_normal((8, 4)))[0]
    S, N, r, q = Y @ Y.T / 4, 8, 4, 2
    lam, _ = spectrum(S)
    X, c = minimiser(S, q)
    assert gaussian_kl(S, linear(X, c)) == np.inf and minimal_divergence(lam, q) == np.inf
    assert_allclose(minimal_cross_entropy(lam[:q], c, N), cross_entropy(S, linear(X, c)), rtol=1e-10)
    finite = 0.5 * ((N - q) * np.log(c) - np.log(lam[q:r]).sum())
    for ridge in (1e-6, 1e-7):  # the rest grows as (N - r)/2 ln(1/ridge)
        raised = spectrum(S + ridge * np.eye(N))[0]
        value = minimal_divergence(raised, q)
        assert_allclose(value - (N - r) / 2 * np.log(1 / ridge), finite, atol=1e-3)


@pytest.mark.identity
def test_an_eigenvalue_of_the_size_of_rounding_counts_as_zero_in_the_least_divergence():
    for tiny, infinite in ((0.0, True), (3e-16, True), (1e-12, False)):
        assert np.isinf(minimal_divergence(np.array([3.0, 1.0, 0.5, tiny]), 1)) == infinite


@pytest.mark.identity
def test_a_matrix_of_rank_q_has_no_minimum():
    A = np.random.default_rng(0).standard_normal((6, 2))
    X, c = minimiser(A @ A.T, 2)
    assert c == 0.0
    assert minimal_cross_entropy(spectrum(A @ A.T)[0][:2], c, 6) == -np.inf
    assert_allclose(X @ X.T, A @ A.T, atol=1e-9)
    values = [cross_entropy(A @ A.T, linear(X, noise)) for noise in (1e-2, 1e-4, 1e-6)]
    assert values[0] > values[1] + 5 > values[2] + 10


@pytest.mark.oracle
@given(problems())
@quick
def test_leading_eigenpairs_are_lapacks(problem):
    S, _, q = problem
    lam, U, smallest = leading_eigenpairs(S, q)
    expected = linalg.eigvalsh(S)
    assert_allclose(lam, expected[::-1][:q], rtol=1e-9)
    assert_allclose(smallest, expected[0], rtol=1e-6)
    assert_allclose(S @ U, U * lam, atol=1e-8 * expected[-1])
    assert_allclose(U.T @ U, np.eye(q), atol=1e-9)


# --- the strain ----------------------------------------------------------------------------------------------


@pytest.mark.identity
@pytest.mark.parametrize("noise", [False, True])
@given(problem=problems())
@quick
def test_least_strain_is_the_formula_and_what_a_search_finds(problem, noise):
    S, _, q = problem
    S = S / np.trace(S) * len(S)
    lam, N = spectrum(S)[0], len(S)
    X, c = strain_minimiser(S, q, noise)
    value = strain(S, linear(X, c))
    assert_allclose(value, np.sum((lam[q:] - c) ** 2), atol=1e-10)  # (3.17), (3.18)

    def value_and_gradient(x):
        X, c = x[:-1].reshape(N, q), x[-1] if noise else 0.0
        difference = linear(X, c) - S
        slope = 2 * np.trace(difference) if noise else 0.0
        return np.sum(difference**2), np.append((4 * difference @ X).ravel(), slope)

    rng = np.random.default_rng(q)
    starts = [np.append(rng.standard_normal(N * q), 0.5) for _ in range(2)]
    found = [minimize(value_and_gradient, x, jac=True, method="L-BFGS-B", options=dict(maxiter=3000)) for x in starts]
    assert min(f.fun for f in found) > value - 1e-9
    assert_allclose(min(f.fun for f in found), value, atol=1e-3)


@pytest.mark.identity
@given(problems())
@quick
def test_with_noise_strain_and_divergence_have_one_solution_and_without_each_loses(problem):
    S, _, q = problem
    (X, c), (flat, none) = strain_minimiser(S, q, noise=True), strain_minimiser(S, q)
    expected, noise = minimiser(S, q)
    assert_allclose(c, noise, rtol=1e-9)
    assert_allclose(X @ X.T, expected @ expected.T, atol=1e-8 * c)
    assert none == 0.0 and strain(S, flat @ flat.T) < strain(S, X @ X.T)
    best = gaussian_kl(S, linear(X, c))
    for factor in np.geomspace(0.2, 5, 15):
        assert gaussian_kl(S, linear(flat, factor * c)) > best


@pytest.mark.identity
def test_a_wide_rbf_is_linear_with_an_error_in_proportion_to_its_inverse_width():
    Y = centre(np.random.default_rng(0).standard_normal((20, 3)))[0]
    errors = [np.linalg.norm(double_centre(RBF(inverse_width=g)(Y)) / g - Y @ Y.T) for g in (1e-2, 1e-3, 1e-4)]
    assert_allclose(np.log10(np.array(errors[:-1]) / errors[1:]), 1.0, atol=0.05)  # (3.27)


# --- distances and similarities ------------------------------------------------------------------------------


@pytest.mark.identity
@given(st.integers(2, 12), st.integers(1, 5), st.integers(0, 2**32 - 1))
@quick
def test_distances_and_inner_products_are_two_names_of_one_thing(N, D, seed):
    Y = centre(np.random.default_rng(seed).standard_normal((N, D)))[0]
    distances = np.sqrt(squared_distances(Y))
    S = similarity_from_distances(distances)
    assert_allclose(S, Y @ Y.T, atol=1e-9)
    assert_allclose(distances_from_similarity(S), distances, atol=1e-6)
    assert_allclose(nearest_euclidean(distances), distances, atol=1e-6)


@pytest.mark.identity
def test_both_cures_make_the_distances_of_a_globe_euclidean():
    _, D = city_distances("world")
    assert linalg.eigvalsh(similarity_from_distances(D))[0] < -1e6
    for mended in (nearest_euclidean(D), additive_constant(D)[0]):
        lam = linalg.eigvalsh(similarity_from_distances(mended))
        assert lam[0] > -1e-9 * lam[-1]
        assert np.all(mended >= D - 1e-6)  # no distance shrinks
    _, constant = additive_constant(D)
    barely = D**2 + 0.99 * constant
    np.fill_diagonal(barely, 0.0)
    assert linalg.eigvalsh(similarity_from_distances(np.sqrt(barely)))[0] < -1e3  # no smaller constant will do


@pytest.mark.identity
def test_the_additive_constant_leaves_the_axes_alone_and_lengthens_them():
    _, D = city_distances("world")
    model = ClassicalMDS(2, "distance", "additive").fit(D)
    mended, constant = additive_constant(D)
    assert_allclose(model.additive_constant_, constant, rtol=1e-8)
    again = ClassicalMDS(2, "distance").fit(mended)
    assert_allclose(model.embedding_, again.embedding_, rtol=1e-6)
    clipped = ClassicalMDS(2, "distance", "nearest").fit(D)
    assert subspace_angle(model.embedding_, clipped.embedding_) < 1e-6
    assert_allclose(model.eigenvalues_ - clipped.eigenvalues_, constant / 2, rtol=1e-6)
    assert_allclose(model.transform(mended), model.embedding_, atol=1e-8 * np.abs(model.embedding_).max())


@pytest.mark.oracle
def test_great_circles_agree_with_the_spherical_law_of_cosines():
    rng = np.random.default_rng(0)
    latitude, longitude = rng.uniform(-90, 90, 6), rng.uniform(-180, 180, 6)
    phi, theta = np.radians(latitude), np.radians(longitude)
    cosine = np.outer(np.sin(phi), np.sin(phi)) + np.outer(np.cos(phi), np.cos(phi)) * np.cos(theta[:, None] - theta)
    expected = np.arccos(np.clip(cosine, -1, 1))
    assert_allclose(great_circle_distances(latitude, longitude, radius=1.0), expected, atol=1e-7)


def test_the_map_of_europe_has_the_shape_of_europe():
    _, D = city_distances("Europe")
    X = ClassicalMDS(2, "distance", "nearest").fit_transform(D)
    relative = np.abs(np.sqrt(squared_distances(X)) - D) / np.where(D > 0, D, 1)
    assert relative.max() < 0.03  # a twentieth of the Earth is nearly flat


# --- new points ----------------------------------------------------------------------------------------------


@pytest.mark.identity
@given(st.integers(0, 2**32 - 1))
@quick
def test_projection_is_that_of_centred_features(seed):
    rng = np.random.default_rng(seed)
    F, F_new = rng.standard_normal((12, 3)), rng.standard_normal((4, 3))
    Fc, mean = centre(F)
    axes = np.linalg.svd(Fc, full_matrices=False)[2][:2]
    expected = (F_new - mean) @ axes.T
    kernel = KernelPCA(2, Linear()).fit(F)
    found = [
        kernel.transform(F_new),
        ClassicalMDS(2).fit(F).transform(F_new),
        ClassicalMDS(2, "distance").fit(np.sqrt(squared_distances(F))).transform(np.sqrt(squared_distances(F_new, F))),
        ClassicalMDS(2, "similarity").fit(F @ F.T).transform(F_new @ F.T),
        KernelPCA(2, metric="precomputed").fit(F @ F.T).transform(F_new @ F.T),
    ]
    for X in found:
        assert_allclose(np.abs(X), np.abs(expected), atol=1e-6)


@pytest.mark.identity
def test_centring_new_rows_of_old_points_is_double_centring():
    K = RBF()(np.random.default_rng(0).standard_normal((7, 2)))
    assert_allclose(centre_new(K[:3], K.mean(axis=0)), double_centre(K)[:3], atol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize(
    "kernel, theirs",
    [
        (RBF(inverse_width=0.5), dict(kernel="rbf", gamma=0.25)),
        ((Linear() + Bias()) * (Linear() + Bias()), dict(kernel="poly", degree=2, gamma=1.0, coef0=1.0)),
        (Linear(), dict(kernel="linear")),
        (SklearnRBF(1.3), dict(kernel=SklearnRBF(1.3).__call__)),
    ],
    ids=["rbf", "polynomial", "linear", "a function"],
)
def test_kernel_pca_agrees_with_scikit_learns(kernel, theirs):
    rng = np.random.default_rng(0)
    Y, new = rng.standard_normal((40, 4)), rng.standard_normal((7, 4))
    ours = KernelPCA(3, kernel).fit(Y)
    if callable(theirs["kernel"]):
        reference = decomposition.KernelPCA(3, kernel="precomputed").fit(kernel(Y))
        moved = reference.transform(kernel(new, Y))
    else:
        reference = decomposition.KernelPCA(3, **theirs).fit(Y)
        moved = reference.transform(new)
    assert_allclose(ours.eigenvalues_, reference.eigenvalues_, rtol=1e-8)
    sign = np.sign(
        np.sum(ours.embedding_ * reference.transform(Y if not callable(theirs["kernel"]) else kernel(Y)), axis=0)
    )
    assert_allclose(ours.transform(new) * sign, moved, atol=1e-7)


@pytest.mark.oracle
@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_classical_mds_agrees_with_scikit_learns(metric):
    from sklearn.metrics import pairwise_distances

    Y = np.random.default_rng(0).standard_normal((30, 4)) * [4, 3, 2, 1]
    D = pairwise_distances(Y, metric=metric)
    ours = ClassicalMDS(2, "distance", "nearest").fit(D)
    if hasattr(manifold, "ClassicalMDS"):
        theirs = manifold.ClassicalMDS(2, metric="precomputed").fit_transform(D)
    else:  # scikit-learn before it had one
        theirs = decomposition.KernelPCA(2, kernel="precomputed").fit_transform(-0.5 * D**2)
    assert_allclose(np.abs(ours.embedding_), np.abs(theirs), atol=1e-7)


@pytest.mark.identity
def test_the_feature_weights_rebuild_the_projection():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((10, 3)) + 2.0
    for shrink in (False, True):
        model = KernelPCA(2, Linear(), shrink=shrink).fit(F)
        rebuilt = model.feature_weights(model.embedding_) @ F
        axes = np.linalg.svd(F - F.mean(0), full_matrices=False)[2][:2]
        assert_allclose(rebuilt, F.mean(0) + (F - F.mean(0)) @ axes.T @ axes, atol=1e-8)
    assert_allclose(model.feature_weights(model.embedding_).sum(axis=1), 1.0, atol=1e-8)


@pytest.mark.identity
def test_the_preimage_iteration_climbs_to_a_stationary_point_that_depends_on_the_start():
    rng = np.random.default_rng(0)
    Y = np.vstack([rng.normal(-2, 0.3, (15, 2)), rng.normal(2, 0.3, (15, 2))])
    weights = np.full(30, 1 / 30)
    ends = []
    for start in ([-1.5, -1.0], [1.5, 1.0]):
        path = list(preimage_iterates(Y, weights, 1.0, start, max_iter=500))
        values = [value for _, value in path]
        assert np.all(np.diff(values) > -1e-12)
        y = path[-1][0]
        slope = (weights * np.exp(-0.5 * np.sum((Y - y) ** 2, axis=1))) @ (Y - y)
        assert np.abs(slope).max() < 1e-8
        ends.append(y)
    assert np.linalg.norm(ends[0] - ends[1]) > 3
    assert len(list(preimage_iterates(Y, -weights, 1.0, [0.0, 0.0]))) == 1  # nowhere to go


# --- outputs that are not alike ------------------------------------------------------------------------------


@pytest.mark.identity
def test_the_best_scales_maximise_the_scaled_likelihood_and_forget_the_units():
    rng = np.random.default_rng(0)
    Y, K = rng.standard_normal((8, 3)) * [1, 10, 0.1], covariance(rng, 8, 0.3)
    w = output_scales(Y, K)
    found = minimize(lambda t: -scaled_log_likelihood(Y, K, np.exp(t)), np.zeros(3), method="BFGS").x
    assert_allclose(np.exp(found), w, rtol=1e-3)
    assert_allclose(output_scales(Y * [5, 2, 0.1], K) * [5, 2, 0.1], w, rtol=1e-10)
    brute_force = sum(multivariate_normal(cov=K / w[d] ** 2).logpdf(Y[:, d]) for d in range(3))
    assert_allclose(scaled_log_likelihood(Y, K, w), brute_force, rtol=1e-10)


# --- minor components ----------------------------------------------------------------------------------------


@pytest.mark.oracle
def test_minor_components_are_the_last_axes_of_scikit_learns_pca():
    Y = np.random.default_rng(0).standard_normal((100, 5)) @ np.diag([4, 3, 2, 1, 0.3])
    model, theirs = MinorComponents(2).fit(Y), decomposition.PCA(5).fit(Y)
    assert subspace_angle(model.components_.T, theirs.components_[3:].T) < 1e-6
    assert_allclose(model.variances_, theirs.explained_variance_[:2:-1] * 99 / 100, rtol=1e-8)
    assert np.all(np.diff(model.variances_) > 0)


@pytest.mark.identity
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("q", [1, 3, 4])
def test_minor_components_have_the_density_of_their_covariance(reverse, q):
    Y = np.random.default_rng(0).standard_normal((100, 4)) @ np.diag([4, 2, 1, 0.3]) + 5.0
    model = MinorComponents(q, reverse).fit(Y)
    C = model.get_covariance()
    assert_allclose(model.score_samples(Y), multivariate_normal(Y.mean(0), C).logpdf(Y), rtol=1e-8)
    W = model.weights_
    assert_allclose(np.linalg.inv(C), W @ W.T + np.eye(4) / model.noise_variance_, rtol=1e-7, atol=1e-9)
    draws, X = model.sample(200_000, random_state=0)
    assert_allclose(np.cov(draws.T), C, atol=0.15)
    assert_allclose(X, model.transform(draws), atol=1e-9)
    assert_allclose(model.score(Y), model.score_samples(Y).mean())


@pytest.mark.identity
def test_minor_components_fill_gaps_by_the_conditional_gaussian():
    Y = np.random.default_rng(0).standard_normal((100, 4)) @ np.diag([4, 2, 1, 0.3]) + 5.0
    model = MinorComponents(2).fit(Y)
    C, O = model.get_covariance(), [0, 2, 3]
    holes = np.vstack([Y[0], Y[1], np.full(4, np.nan)])
    holes[0, 1] = np.nan
    filled, deviation = model.impute(holes, return_std=True)
    gain = np.linalg.solve(C[np.ix_(O, O)], C[O, 1])
    assert_allclose(filled[0, 1], model.mean_[1] + gain @ (Y[0, O] - model.mean_[O]))
    assert_allclose(deviation[0], [0, np.sqrt(C[1, 1] - gain @ C[O, 1]), 0, 0])
    assert_allclose(filled[0, O], Y[0, O])
    assert_allclose(filled[1:], [Y[1], model.mean_])
    assert_allclose(deviation[2], np.sqrt(np.diag(C)))


@pytest.mark.identity
def test_minor_components_maximise_the_likelihood_and_reversed_ones_do_not():
    Y = centre(np.random.default_rng(0).standard_normal((60, 4)) @ np.diag([3, 2, 1, 0.3]))[0]

    def loss(theta):
        P = np.outer(theta[:4], theta[:4]) + np.exp(theta[4]) * np.eye(4)
        return -0.5 * (np.linalg.slogdet(P)[1] - np.trace(P @ Y.T @ Y) / 60 - 4 * np.log(2 * np.pi))

    found = min(minimize(loss, np.append(s, 0.0), method="BFGS").fun for s in np.eye(4))
    assert_allclose(-MinorComponents(1).fit(Y).score(Y), found, rtol=1e-6)
    assert MinorComponents(1, reverse=True).fit(Y).score(Y) < -found - 0.01


# --- bad input -----------------------------------------------------------------------------------------------

GOOD = np.random.default_rng(0).standard_normal((10, 3))
INDEFINITE = np.diag([3.0, 1.0, -1.0])
LOPSIDED = np.array([[1.0, 0.5, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 1.0]])
NO_TRIANGLE = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 1.0], [3.0, 1.0, 0.0]])


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "function",
    [
        lambda S: cross_entropy(S, np.eye(3)),
        lambda S: gaussian_kl(S, np.eye(3)),
        lambda S: gaussian_kl(np.eye(3), S),
        lambda S: minimiser(S, 1),
        spectrum,
        lambda S: KernelPCA(1, metric="precomputed").fit(S),
        lambda S: ClassicalMDS(1, "similarity").fit(S),
    ],
    ids=["cross_entropy", "kl", "reversed kl", "minimiser", "spectrum", "KernelPCA", "ClassicalMDS"],
)
def test_an_indefinite_or_asymmetric_matrix_is_named_and_the_nearest_offered(function):
    with pytest.raises(ValueError, match=r"1 of its 3 eigenvalues are negative.*nearest"):
        function(INDEFINITE)
    with pytest.raises(ValueError, match=r"not symmetric: entry \(0, 1\) is 0.5.*nearest symmetric"):
        function(LOPSIDED)
    function(nearest_semidefinite(INDEFINITE) + 0.1 * np.eye(3))  # the advice can be followed
    function((LOPSIDED + LOPSIDED.T) / 2)


@pytest.mark.bad_input
def test_distances_of_no_euclidean_space_are_refused_and_both_ways_out_offered():
    with pytest.raises(ValueError, match=r'no points of a Euclidean space.*"nearest".*"additive"'):
        ClassicalMDS(1, "distance").fit(NO_TRIANGLE)
    for correction in ("nearest", "additive"):
        assert np.isfinite(ClassicalMDS(1, "distance", correction).fit(NO_TRIANGLE).embedding_).all()
    assert np.isfinite(ClassicalMDS(1, "distance").fit(nearest_euclidean(NO_TRIANGLE)).embedding_).all()


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "model, Y, says",
    [
        (ClassicalMDS(metric="distance"), GOOD, "must be square"),
        (ClassicalMDS(metric="distance"), -np.ones((4, 4)), "negative entry -1"),
        (ClassicalMDS(metric="distance"), np.eye(4), "on its diagonal"),
        (ClassicalMDS(metric="cosine"), GOOD, "metric must be"),
        (ClassicalMDS(correction="hope"), GOOD, "correction must be"),
        (ClassicalMDS(10), GOOD, "at most 9"),
        (KernelPCA(10), GOOD, "at most 9"),
        (MinorComponents(4), GOOD, "at most 3"),
        (KernelPCA(0), GOOD, "whole number"),
        (KernelPCA(metric="distance"), GOOD, "metric must be"),
        (KernelPCA(kernel="rbf"), GOOD, "kernel must be a kernel"),
        (KernelPCA(kernel=lambda Y, Z=None: -Y @ (Y if Z is None else Z).T), GOOD, "not positive semi-definite"),
        (KernelPCA(metric="precomputed"), GOOD, "must be square"),
        (MinorComponents(1), np.column_stack([GOOD, GOOD[:, 0]]), "never varies"),
        (MinorComponents(1), GOOD[:3], "never varies"),
        (KernelPCA(), np.where(GOOD > 1, np.nan, GOOD), "contains NaN"),
        (ClassicalMDS(), np.where(GOOD > 1, np.inf, GOOD), "infinity"),
        (KernelPCA(), GOOD[0], "Expected 2D"),
        (KernelPCA(), GOOD[:1], "minimum of 2"),
        (ClassicalMDS(), [["a", "b"], ["c", "d"]], "could not convert string"),
        (KernelPCA(), GOOD + 1j, "Complex data"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_bad_input_gets_a_clear_error(model, Y, says):
    with pytest.raises(ValueError, match=says):
        model.fit(Y)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: cross_entropy(np.eye(3), np.diag([1.0, 1.0, 0.0])), "K is singular"),
        (lambda: kl_gradient(np.diag([1.0, 0.0]), np.eye(2), reverse=True), "S is singular"),
        (lambda: gp_log_likelihood(GOOD[:3], INDEFINITE), "K is not positive semi-definite"),
        (lambda: cross_entropy(np.ones(3), np.eye(3)), "must be a matrix"),
        (lambda: cross_entropy(GOOD, np.eye(3)), "must be square"),
        (lambda: cross_entropy(np.full((2, 2), np.nan), np.eye(2)), "NaN or infinity at row 0"),
        (lambda: gaussian_kl(np.eye(3), np.eye(4)), "same points"),
        (lambda: kl_gradient(np.eye(3), np.eye(4)), "same points"),
        (lambda: cross_entropy(np.eye(3), np.eye(4)), "same points"),
        (lambda: minimiser(np.eye(3), 3), "n_components=3 is out of range"),
        (lambda: strain_minimiser(np.eye(3), 3), "n_components=3 is out of range"),
        (lambda: strain_minimiser(np.eye(3), 1, noise=0.1), "noise must be"),
        (lambda: strain(np.eye(3), np.eye(4)), "same points"),
        (lambda: nearest_diagonal(np.diag([1.0, 0.0]), reverse=True), "S is singular"),
        (lambda: minimiser(np.diag([1.0, 1.0, 0.0]), 1, reverse=True), "S is singular"),
        (lambda: minimiser(np.diag([3.0, 2.0, 1.0]), 1, kept=[2]), "not feasible"),
        (lambda: minimiser(np.diag([3.0, 2.0, 1.0]), 1, kept=[7]), "kept"),
        (lambda: minimiser(np.eye(3), 1, low_rank=True), "low_rank must be one of 'covariance', 'precision', got True"),
        (lambda: minimal_divergence(np.ones(3), 1, low_rank="K"), "low_rank must be one of"),
        (lambda: retained_sets(np.ones(3), 1, low_rank="K"), "low_rank must be one of"),
        (lambda: city_distances("Mars"), "Europe"),
        (lambda: KernelPCA(2).fit(GOOD).transform(GOOD[:, :2]), "2 features"),
        (lambda: ClassicalMDS(2, "distance").fit(np.sqrt(squared_distances(GOOD))).transform(GOOD), "3 features"),
        (lambda: KernelPCA(2).fit(GOOD).feature_weights(np.zeros((1, 3))), "2 latent dimensions"),
    ],
)
def test_functions_explain_what_they_can_not_take(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_points_that_are_all_alike_go_to_the_origin():
    for model in (KernelPCA(2), ClassicalMDS(2)):
        fitted = model.fit(np.ones((6, 3)))
        assert_allclose(fitted.embedding_, 0.0, atol=1e-9)
        assert_allclose(fitted.transform(np.zeros((1, 3))), 0.0, atol=1e-9)


def test_more_dimensions_than_the_data_have_stay_empty():
    Y = np.outer(np.arange(6.0), [1.0, 2.0, 0.5])
    X = ClassicalMDS(3).fit(Y)
    assert_allclose(X.embedding_[:, 1:], 0.0, atol=1e-6)
    assert_allclose(X.transform(Y), X.embedding_, atol=1e-6)
    assert X.cross_entropy_ == -np.inf and X.noise_variance_ == 0.0


# --- units, copies, and what can't be told apart ----------------------------------------------------------------


@pytest.mark.identity
@each_way
@pytest.mark.parametrize("scale", [1e-50, 1e-8, 1e8, 1e50])
def test_the_minimiser_does_not_care_for_units(reverse, low_rank, scale):
    S = covariance(np.random.default_rng(0), 6)
    (X, c), (X2, c2) = minimiser(S, 2, reverse, low_rank), minimiser(scale * S, 2, reverse, low_rank)
    unit = 1 / scale if low_rank == "precision" else scale
    assert_allclose(c2 / unit, c, rtol=1e-9)
    assert_allclose(X2 / np.sqrt(unit), X, atol=1e-9 * np.abs(X).max())


@pytest.mark.identity
@pytest.mark.parametrize("scale", [1e-49, 1e-8, 2000.0, 1e8, 1e49])
@pytest.mark.parametrize("reverse", [False, True])
def test_minor_components_do_not_care_for_units(reverse, scale):
    Y = np.random.default_rng(0).standard_normal((30, 4))
    one, other = (MinorComponents(2, reverse).fit(unit * Y) for unit in (1.0, scale))
    assert_allclose(other.embedding_ / scale, one.embedding_, atol=1e-9)
    assert_allclose(other.score(scale * Y) + 4 * np.log(scale), one.score(Y), atol=1e-9)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_eigenpairs_of_huge_and_tiny_matrices(scale):
    S = covariance(np.random.default_rng(0), 6)
    one, other = leading_eigenpairs(S, 2), leading_eigenpairs(scale * S, 2)
    assert_allclose(other[0] / scale, one[0], rtol=1e-12)
    assert_allclose(other[1], one[1], atol=1e-12)
    assert_allclose(other[2] / scale, one[2], rtol=1e-9)


@pytest.mark.bad_input
def test_a_linear_kernel_far_from_the_origin_is_refused_before_it_misleads():
    for offset in (2.0**20, 2.0**30):
        with pytest.raises(ValueError, match="what tells the points apart is lost in rounding"):
            KernelPCA(kernel=Linear()).fit(GOOD + offset)
    assert_allclose(KernelPCA(2).fit(GOOD + 2.0**10).embedding_, KernelPCA(2).fit(GOOD).embedding_, atol=1e-9)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "model, Y",
    [
        (KernelPCA(), GOOD),
        (KernelPCA(metric="precomputed"), GOOD @ GOOD.T),
        (ClassicalMDS(), GOOD),
        (ClassicalMDS(metric="distance"), np.sqrt(squared_distances(GOOD))),
        (MinorComponents(1), GOOD),
    ],
    ids=str,
)
def test_a_model_keeps_its_own_data(model, Y):
    given_data = Y.copy()
    before = model.fit(given_data).transform(Y[:2])
    given_data[:] = 0.0
    assert_allclose(model.transform(Y[:2]), before, rtol=0)


@pytest.mark.bad_input
def test_methods_say_what_they_want():
    for ask in (lambda m: m.get_covariance(), lambda m: m.sample(), lambda m: m.impute(GOOD)):
        with pytest.raises(NotFittedError):
            ask(MinorComponents())
    with pytest.raises(NotFittedError):
        KernelPCA().feature_weights(GOOD[:, :2])
    model = MinorComponents(1).fit(GOOD)
    with pytest.raises(ValueError, match="n_samples=1000000000 would fill"):
        model.sample(10**9)
    with pytest.raises(ValueError, match="return_std must be True or False, got 'yes'"):
        model.impute(GOOD, return_std="yes")
    with pytest.raises(ValueError, match=r"kernel gave an array of shape \(2, 2\) where \(10, 10\)"):
        KernelPCA(kernel=lambda Y, Z=None: np.eye(2)).fit(GOOD)
    with pytest.raises(ValueError, match="kernel must be a kernel"):
        KernelPCA(kernel=RBF).fit(GOOD)
    with pytest.raises(ValueError, match="shrink must be True or False, got 1"):
        KernelPCA(shrink=1).fit(GOOD)


def test_rows_that_are_alike_but_for_the_rounding_of_their_mean_go_to_the_origin():
    for model in (KernelPCA(2), ClassicalMDS(2)):
        fitted = model.fit(np.full((30, 3), 0.1))
        assert not fitted.embedding_.any() and not fitted.transform(np.ones((1, 3))).any()


# --- the explorer --------------------------------------------------------------------------------------------

EXPLORER = explore_unify
DIGITS = ("digits", "linear", 1.0, 0.01)  # what S is made of in the opening

SCENES = [
    dict(),
    dict(data="oil flow", similarity="RBF", width=3.0, q=3),
    dict(data="cities", similarity="distance matrix", q=2),
    dict(data="cities", similarity="polynomial", preset="smallest"),
    dict(similarity="RBF", direction="KL(K || S)"),
    dict(part="inverse of K", preset="smallest", ridge=0.001),
    dict(data="oil flow", kept=(1, 3)),
    dict(similarity="distance matrix", q=1, direction="KL(K || S)", part="inverse of K", preset="smallest"),
]


def view_of(explorer):
    """The numbers behind the picture."""
    from gplvm_widgets.unify import view

    now = explorer.arguments(explorer.settings)
    return view(**{name: now[name] for name in now if name != "rule"}, state=explorer.state)


def code_of(explorer, capsys):
    """Names that the code shown defines; what it prints is what the picture says."""
    scope = {}
    exec(explorer.shown_code(), scope)
    assert explorer.scene.says == capsys.readouterr().out.strip()
    return scope


@pytest.mark.widget
@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_the_code_shown_computes_what_the_panel_shows(scene, explorer, capsys):
    explorer.set(**scene)
    now, scope = view_of(explorer), code_of(explorer, capsys)
    assert scope["kept"] == now.kept == [k - 1 for k in explorer.settings["kept"]]
    assert_allclose(scope["eigenvalues"], now.eigenvalues, rtol=1e-9)
    assert_allclose(scope["divergence"], now.divergence, rtol=1e-9)
    assert_allclose(scope["noise_variance"], now.noise_variance, rtol=1e-9)
    assert bool(scope["feasible"]) == now.feasible == (now.latent is not None)
    if now.feasible:
        assert_allclose(scope["X"], now.latent, rtol=1e-9)


@pytest.mark.widget
@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_the_code_shown_repeats_the_run_up_to_the_step_shown(scene, explorer, capsys):
    explorer.set(**scene)
    for step in (11, 4):  # the newest, and back again
        if step == 11:
            explorer.run_now(12)
        else:
            explorer.scrubber.value = step
        scope = code_of(explorer, capsys)
        assert explorer.state.number == step and explorer.scene.says.startswith(f"step {step}: ")
        assert_allclose(scope["X"], explorer.state.latent, rtol=1e-6, atol=1e-9)
        assert_allclose(scope["noise_variance"], view_of(explorer).noise_variance, rtol=1e-6)


@pytest.mark.widget
@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_the_marks_are_the_numbers(scene, explorer):
    explorer.set(**scene)
    now, bars = view_of(explorer), explorer.scene.panel("eigenvalues")
    shown = {mark.key: mark for mark in bars.marks}
    kept = np.concatenate([shown[key].x for key in ("kept", "wrong") if key in shown])
    assert sorted(kept) == list(explorer.settings["kept"])
    assert ("wrong" in shown) == (not now.feasible)
    for key in {"kept", "wrong", "discarded"} & shown.keys():
        assert_allclose(shown[key].top, now.eigenvalues[shown[key].x.astype(int) - 1], rtol=1e-8)
    assert_allclose(shown["noise"].y, now.noise_variance)
    assert_allclose(shown["geometric"].y, now.geometric_mean)
    mean = "their harmonic mean" if explorer.settings["direction"] == "KL(K || S)" else "their mean"
    assert mean in shown["noise"].label
    yours = explorer.scene.mark("sets", "yours")
    assert_allclose(yours.y, now.divergence)
    assert (yours.x[0] > -1e-9) == now.feasible
    matrices, N = explorer.scene.mark("matrices", "matrices").values, len(now.eigenvalues)
    assert_allclose(np.linalg.eigvalsh(matrices[:, :N])[::-1], now.eigenvalues, rtol=1e-6)
    if now.feasible:
        points = explorer.scene.mark("embedding", "points")
        assert_allclose(points.x, now.latent[:, 0])
        assert_allclose(matrices[:, N + 1 :], now.covariance)
    else:
        assert "imaginary" in " ".join(explorer.scene.mark("embedding", "why").text)


@pytest.mark.widget
@pytest.mark.parametrize("direction", ["KL(S || K)", "KL(K || S)"])
@pytest.mark.parametrize("part", ["K", "inverse of K"])
def test_the_gap_between_the_lines_is_the_divergence_of_the_two_matrices(direction, part):
    from gplvm_widgets.unify import panel_unify, similarity_matrix, view

    kept = (1, 2) if part == "K" else (14, 15)
    now = view(*DIGITS, kept, direction, part)
    S = similarity_matrix(*DIGITS)
    K = 0.5 * (now.covariance + now.covariance.T)
    expected = gaussian_kl(S, K) if direction == "KL(S || K)" else gaussian_kl(K, S)
    band = panel_unify(kept=kept, direction=direction, part=part).mark("eigenvalues", "gap")
    gap = 0.5 * (len(S) - 2) * np.log(band.high[0] / band.low[0])
    assert_allclose([now.divergence, gap], expected, rtol=1e-6)


@pytest.mark.widget
def test_a_click_on_a_bar_keeps_it_and_another_discards_it(explorer):
    for bar, kept in [(4, (1, 2, 4)), (1, (2, 4)), (4, (2,)), (2, (2,))]:  # the last one stays
        explorer.view.hear({"type": "point", "panel": "eigenvalues", "x": bar + 0.3, "y": 0.5})
        assert explorer.settings["kept"] == kept and explorer.settings["preset"] == "by hand"
        assert explorer.settings["q"] == len(kept)
    for right, kept in [(1, (3,)), (12, (15,)), (1, (15,)), (-5, (10,))]:  # arrow keys: as far as there are bars
        explorer.view.hear({"type": "arrow", "panel": "eigenvalues", "right": right, "up": 0})
        assert explorer.settings["kept"] == kept
    assert [panel.key for panel in explorer.scene.panels if panel.listens] == ["eigenvalues"]


@pytest.mark.widget
def test_list_preset_and_q_say_one_thing(explorer):
    explorer.controls["kept"].value = (2, 7, 9)  # chosen in the list
    assert explorer.settings["preset"] == "by hand" and explorer.settings["q"] == 3
    explorer.controls["q"].value = 4  # q asks for the largest again
    assert explorer.settings["preset"] == "largest" and explorer.settings["kept"] == (1, 2, 3, 4)
    explorer.controls["q"].value = 3
    explorer.controls["preset"].value = "smallest"
    assert explorer.settings["kept"] == (13, 14, 15)
    explorer.set(data="cities")  # one point fewer
    assert explorer.settings["kept"] == (12, 13, 14) and explorer.controls["kept"].options == tuple(range(1, 15))
    explorer.set(data="digits", kept=(1, 3, 15))
    explorer.set(data="cities")  # by hand: what these data do not have is left out
    assert explorer.settings["kept"] == (1, 3) and explorer.settings["preset"] == "by hand"
    explorer.set(data="digits", q=14)
    explorer.set(data="cities")
    assert explorer.settings["q"] == 13 and len(explorer.settings["kept"]) == 13


@pytest.mark.widget
def test_the_width_is_in_use_for_the_rbf_only(explorer):
    for similarity in ("linear", "RBF", "polynomial", "distance matrix"):
        explorer.set(similarity=similarity)
        unused = {name for name, control in explorer.controls.items() if control.disabled}
        assert unused == (set() if similarity == "RBF" else {"width"})


@pytest.mark.widget
def test_the_threshold_as_printed_misjudges(explorer):
    from gplvm_widgets.unify import RULES, all_sets, margins, similarity_matrix

    sets = all_sets(*DIGITS, 2, "KL(S || K)", "K")
    lam, _ = spectrum(similarity_matrix(*DIGITS))
    right, printed = (margins(sets, lam, "K", rule) >= 0 for rule in RULES)
    assert_allclose(right, [lam[k].min() >= c for k, c in zip(sets.kept, sets.noise_variance, strict=True)])
    assert_allclose(printed, [lam[k].min() >= 1 / c for k, c in zip(sets.kept, sets.noise_variance, strict=True)])
    assert np.any(right != printed)
    counts = []
    for rule in RULES:
        explorer.set(rule=rule)
        counts.append(len(explorer.scene.mark("sets", "possible").x))
    assert counts == [right.sum(), printed.sum()] and counts[0] != counts[1]
    assert_allclose(explorer.scene.mark("eigenvalues", "printed").y, 1 / view_of(explorer).noise_variance)


@pytest.mark.widget
@pytest.mark.parametrize("direction", ["KL(S || K)", "KL(K || S)"])
@pytest.mark.parametrize("part", ["K", "inverse of K"])
def test_run_ends_at_the_best_feasible_set(explorer, direction, part):
    from gplvm_widgets.unify import all_sets

    explorer.set(direction=direction, part=part, ridge=0.1)
    explorer.run_now()
    values = np.array([state.divergence for state in explorer.kept])
    sets = all_sets("digits", "linear", 1.0, 0.1, 2, direction, part)
    best = sets.divergence[sets.margin > -1e-9].min()
    assert np.all(np.diff(values) < 1e-9) and best - 1e-6 < values[-1] < best + 0.01
    assert [state.number for state in explorer.kept] == list(range(len(values))) and len(values) >= 20


@pytest.mark.widget
@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_the_bar_of_a_run_climbs_to_its_end(scene, explorer):
    shares = [share for share, _ in explorer.iterates({**explorer.settings, **scene})]
    assert shares[0] == 0.0 and np.all(np.diff(shares) >= 0) and 0.9 < shares[-1] <= 1.0


@pytest.mark.widget
def test_a_run_that_meets_a_singular_matrix_steps_back_and_goes_on(explorer, monkeypatch):
    from gplvm_widgets.unify import all_sets

    singular = []

    def counted(*arguments):
        try:
            return linear_divergence(*arguments)
        except ValueError as error:
            singular.append(str(error))
            raise

    monkeypatch.setattr("gplvm_widgets.unify.linear_divergence", counted)
    explorer.set(part="inverse of K", direction="KL(K || S)", ridge=1e-4, q=5)
    explorer.run_now()
    assert singular and all("singular" in words for words in singular) and explorer.problem == ""
    sets = all_sets("digits", "linear", 1.0, 1e-4, 5, "KL(K || S)", "inverse of K")
    assert_allclose(explorer.state.divergence, sets.divergence[sets.margin > -1e-9].min(), rtol=1e-4)


@pytest.mark.widget
@pytest.mark.parametrize("part", ["K", "inverse of K"])
@pytest.mark.parametrize("data", ["digits", "oil flow", "cities"])
def test_no_embedding_leaves_its_axes_or_shows_rounding_as_structure(data, part, explorer):
    for q in (1, 2, 5):
        explorer.set(data=data, part=part, q=q, preset="largest" if part == "K" else "smallest")
        panel = explorer.scene.panel("embedding")
        points = panel.mark("points")
        assert np.abs(points.x).max() < panel.x.limits[1] == -panel.x.limits[0]
        for axis, values in ((panel.x, points.x), (panel.y, points.y))[: min(q, 2)]:
            assert axis.label.endswith("all alike") == (np.ptp(values) < 1e-9 * np.abs(values).max())
    assert panel.equal


@pytest.mark.widget
def test_keeping_nothing_or_everything_is_explained(explorer):
    explorer.raise_errors = False
    for kept in ((), tuple(range(1, 16))):
        explorer.set(kept=kept)
        assert "Keep at least one" in explorer.problem
    explorer.set(preset="largest", q=2)
    assert explorer.problem == "" and explorer.settings["kept"] == (1, 2)


@pytest.mark.widget
def test_the_answers_of_the_questions_are_true(explorer):
    from gplvm_widgets.unify import all_sets

    best, noise, words = [], [], []
    for number, question in enumerate(explorer.questions, start=1):
        explorer.ask(number)
        before = view_of(explorer)
        explorer.commit(question.right)
        words.append(explorer.choices.value)
        explorer.reveal()
        assert "Right." in explorer.question_box.value
        now, after = explorer.settings, view_of(explorer)
        noise.append((before.noise_variance, after.noise_variance))
        for direction in (now["direction"], "KL(K || S)" if now["direction"] == "KL(S || K)" else "KL(S || K)"):
            sets = all_sets(*DIGITS, 2, direction, now["part"])
            feasible = np.flatnonzero(sets.margin > -1e-9)
            best.append(sets.kept[feasible[np.argmin(sets.divergence[feasible])]].tolist())
        if number == 1:  # a smaller gap that can't be had, and the cheapest of all
            sets = all_sets(*DIGITS, 2, now["direction"], now["part"])
            assert not after.feasible and np.argmin(sets.divergence) == len(sets.kept) - 1
            assert after.divergence < before.divergence and after.latent is None
        found = retained_sets(after.eigenvalues, 2, now["direction"] == "KL(K || S)")
        row = found.kept.tolist().index([13, 14] if number == 3 else [0, 1])
        assert_allclose(explorer.scene.mark("sets", "best").y, found.divergence[row])  # where the star stands
    assert best == [[0, 1]] * 4 + [[13, 14]] * 2  # 1 and 2 in both directions, 3 in both directions
    lam = before.eigenvalues
    assert_allclose(noise[1], [lam[2:].mean(), 1 / np.mean(1 / lam[2:])], rtol=1e-9)  # arithmetic, harmonic
    assert words == [
        "the two smallest, but we can't",
        "it stays with the two largest",
        "the two smallest, whatever the direction",
    ]
    assert "all alike" in explorer.scene.panel("embedding").y.label  # a latent dimension that says nothing


# --- in a real page ------------------------------------------------------------------------------------------

CHAPTER = "03_unify.ipynb"


@pytest.mark.browser
def test_chapter_three_runs_in_jupyterlab_without_an_error(chapter, screenshots):
    chapter.picture_at_rest()
    chapter.screenshot_around(".gplvm-explorer", screenshots / "lab_03_unify.png")
    assert chapter.errors() == [] and chapter.error_box() == ""


@pytest.mark.browser
def test_a_click_into_the_picture_keeps_and_discards_a_bar(chapter):
    start = chapter.picture_at_rest()
    chapter.click_picture("eigenvalues", 4, 0.1)
    kept = chapter.wait_for_new_picture(start)
    chapter.wait_until(lambda: "by hand" in chapter.text(".gplvm-control-preset .mod-active"), 10, "the choice by hand")
    assert "ways to keep 3" in chapter.scene()["panels"][1]["title"]
    chapter.drag_picture("eigenvalues", (4, 0.1), (4.2, 0.11), (3.8, 0.1))  # a hand that trembles clicks once
    two = chapter.wait_for_new_picture(kept)
    assert "ways to keep 2" in chapter.scene()["panels"][1]["title"] and two == start
    chapter.control("preset").choose("largest")
    chapter.wait_for_picture(start)
    assert chapter.error_box() == ""


@pytest.mark.browser
def test_size_handle_and_direction_redraw_and_come_back(chapter):
    start = chapter.picture_at_rest()
    chapter.slider("q").press("ArrowRight")
    chapter.wait_for_new_picture(start)
    chapter.slider("q").press("ArrowLeft")
    chapter.wait_for_picture(start)
    chapter.control("direction").choose("KL(K || S)")
    chapter.wait_for_new_picture(start)
    chapter.control("direction").choose("KL(S || K)")
    chapter.wait_for_picture(start)


@pytest.mark.browser
def test_show_the_code_shows_code_that_runs(chapter):
    names = chapter.run_shown_code()
    assert names["X"].shape == (15, 2) and names["printed"].strip() == chapter.scene()["says"]
    chapter.click("Show the code")
    chapter.wait_until(lambda: not chapter.text(".gplvm-code"), 10, "the code to go")
