"""Chapter 2: kernels, their gradients and Gaussian processes, each claim computed a second way."""

import itertools
import pickle
import tracemalloc

import numpy as np
import pytest
from bench_kernels import front_door_cases, quiet_ratio
from gplvm_widgets import explore_kernels
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial.hermite_e import hermegauss
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import erf
from scipy.stats import multivariate_normal
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as theirs

from gplvm_edu import threads
from gplvm_edu.checks import NotFiniteError
from gplvm_edu.kernels import (
    MLP,
    RBF,
    Bias,
    Kernel,
    Linear,
    Matern32,
    Periodic,
    Product,
    Sum,
    White,
    climb_evidence,
    common_start,
    evidence_surface,
    evidence_terms,
    gaussian_log_density,
    gp_gradients,
    gp_leave_one_out,
    gp_log_marginal_likelihood,
    gp_posterior,
    gp_posterior_samples,
    gp_prior_samples,
    random_waves,
    softplus,
    softplus_inverse,
    softplus_slope,
    spectral_density,
    spectral_lines,
    split_white,
)
from gplvm_edu.optimise import minimise
from gplvm_edu.ppca import dual_gradient, log_likelihood

FRONT_DOOR = list(front_door_cases(np.random.default_rng(0)))
quick = settings()  # those of the profile, tests/conftest.py


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """The matrices here are small: a second thread costs more than it brings."""
    with threads.one_thread():
        yield


LEAVES = (Linear, RBF, MLP, Bias, White, Matern32, Periodic)


@st.composite
def leaves(draw, scale, q, kinds=LEAVES):
    """One kernel with parameters that suit inputs of the given scale, inverse widths in units of 1 / scale^2."""

    def number():
        return 10.0 ** draw(st.floats(-1.0, 1.0))

    def widths():
        return [number() / scale**2 for _ in range(q)] if draw(st.booleans()) else number() / scale**2

    kind = draw(st.sampled_from(kinds))
    if kind is Linear:
        return Linear([number() / scale**2 for _ in range(q)] if draw(st.booleans()) else number() / scale**2)
    if kind in (RBF, Matern32):
        return kind(number(), widths())
    if kind is MLP:
        return MLP(number(), number() / scale**2, number())
    if kind is Periodic:
        return Periodic(number(), 0.3 * number(), 3.0 * scale * number())
    return kind(number())


@st.composite
def kernels(draw, scale, q):
    """A leaf, a sum, a product, or a sum of a product and a sum times a leaf."""
    one, two, three = (draw(leaves(scale, q)) for _ in range(3))
    return draw(st.sampled_from([one, one + two, one * two, one * two + three, (one + two) * three]))


@st.composite
def problems(draw, kernel=kernels):
    """(kernel, X, Z, scale): points of any scale, N and M and q from 1 up, some of them repeated."""
    N, M, q = draw(st.integers(1, 7)), draw(st.integers(1, 5)), draw(st.integers(1, 3))
    scale = 10.0 ** draw(st.integers(-3, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X, Z = scale * rng.standard_normal((N, q)), scale * rng.standard_normal((M, q))
    X[-1] = X[0] if draw(st.booleans()) else X[-1]
    return draw(kernel(scale, q)), X, Z, scale


def worst_error(function, gradient, x, size, step=1e-4):
    """Largest error against central differences of fourth order, relative to the gradient.

    Differences of numbers of the given size have errors of 1e-12 of it. A gradient below 1e-3 of the size (points
    too far apart to feel one another) is therefore compared with 1e-3 of the size.
    """
    slopes = np.empty(len(x))
    for i, h in enumerate(step * np.maximum(1.0, np.abs(x))):
        f = [function(x + shift * h * (np.arange(len(x)) == i)) for shift in (-2, -1, 1, 2)]
        slopes[i] = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h)
    return np.max(np.abs(gradient - slopes)) / max(np.max(np.abs(slopes)), 1e-3 * size)


def relative_errors(kernel, X, scale, value, gradients, size):
    """Worst errors in X (measured in units of its scale) and in theta."""

    def of_theta(theta):
        moved = kernel.copy()
        moved.theta = theta
        return value(moved, X)

    dX, d_theta = gradients(kernel, X)
    assert dX.shape == X.shape and d_theta.shape == kernel.theta.shape
    in_inputs = worst_error(
        lambda x: value(kernel, scale * x.reshape(X.shape)), scale * dX.ravel(), X.ravel() / scale, size
    )
    return in_inputs, worst_error(of_theta, d_theta, kernel.theta, size)


# --- gradients -----------------------------------------------------------------------------------------------


@pytest.mark.gradient
@given(problems(), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_gradients_from_a_cotangent_that_is_not_symmetric(problem, seed):
    kernel, X, _, scale = problem
    G = np.random.default_rng(seed).standard_normal((len(X), len(X)))
    errors = relative_errors(
        kernel,
        X,
        scale,
        lambda k, X: np.sum(G * k(X)),
        lambda k, X: k.gradients(G, X),
        size=np.sum(np.abs(G * kernel(X))),
    )
    assert max(errors) < 1e-6, kernel


@pytest.mark.gradient
@given(problems(), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_gradients_between_two_sets(problem, seed):
    kernel, X, Z, scale = problem
    G = np.random.default_rng(seed).standard_normal((len(X), len(Z)))
    errors = relative_errors(
        kernel,
        X,
        scale,
        lambda k, X: np.sum(G * k(X, Z)),
        lambda k, X: k.gradients(G, X, Z),
        size=max(np.sum(np.abs(G * kernel(X, Z))), 1e-9),
    )
    assert max(errors) < 1e-6, kernel
    dX, dZ, dp = kernel.parameter_gradients(G, X, Z)
    for ours, other in (
        (dX, kernel.gradients(G, X, Z)[0]),
        (dZ, kernel.gradients(G.T, Z, X)[0]),
        (dp * softplus_slope(kernel.parameters), kernel.gradients(G, X, Z)[1]),
    ):
        assert_allclose(ours, other, rtol=1e-9, atol=1e-10 * max(1.0, np.abs(other).max()))


@pytest.mark.gradient
@given(problems(), st.booleans(), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_gradients_of_the_diagonal(problem, noise, seed):
    kernel, X, _, scale = problem
    g = np.random.default_rng(seed).standard_normal(len(X))
    errors = relative_errors(
        kernel,
        X,
        scale,
        lambda k, X: g @ k.diag(X, noise),
        lambda k, X: k.diag_gradients(g, X, noise),
        size=max(np.sum(np.abs(g * kernel.diag(X))), 1e-9),
    )
    assert max(errors) < 1e-6, kernel


@pytest.mark.gradient
@given(problems(), st.booleans(), st.integers(0, 2**32 - 1))
@quick
def test_gradients_in_the_parameters_are_those_in_theta_without_the_softplus(problem, noise, seed):
    kernel, X, Z, _ = problem
    G, H = (np.random.default_rng(seed).standard_normal((len(X), M)) for M in (len(X), len(Z)))
    slope = softplus_slope(kernel.parameters)
    dX, dZ, dp = kernel.parameter_gradients(G, X)
    for ours, other in zip((dX + dZ, dp * slope), kernel.gradients(G, X), strict=True):
        assert_array_equal(ours, other)
    dX, _, dp = kernel.parameter_gradients(H, X, Z)
    for ours, other in zip((dX, dp * slope), kernel.gradients(H, X, Z), strict=True):
        assert_array_equal(ours, other)
    dX, dp = kernel.diag_parameter_gradients(G[0], X, noise)
    for ours, other in zip((dX, dp * slope), kernel.diag_gradients(G[0], X, noise), strict=True):
        assert_array_equal(ours, other)


@pytest.mark.gradient
@given(problems())
@settings(deadline=None, max_examples=60)
def test_the_mixed_derivative_is_the_slope_of_the_gradient(problem):
    kernel, X, _, scale = problem
    x, h = X[:1], 1e-6 * scale  # Matern32 bends at 0: a difference over h errs by about h
    found = kernel.mixed_derivative(X)
    assert found.shape == (len(X), X.shape[1], X.shape[1])
    assert_allclose(found[-1], kernel.mixed_derivative(X[-1:])[0], rtol=1e-9, atol=1e-12 * np.abs(found).max())

    def slope(z):
        return kernel.gradients(np.ones((1, 1)), x, z)[0][0]

    differences = np.transpose([(slope(x + e) - slope(x - e)) / (2 * h) for e in h * np.eye(X.shape[1])])
    size = max(np.abs(found[0]).max(), 1e-3 * kernel.diag(x, noise=False)[0] / scale**2)
    assert np.abs(found[0] - differences).max() <= 1e-4 * size, kernel
    assert np.abs(found - found.transpose(0, 2, 1)).max() <= 1e-12 * np.abs(found).max()
    assert np.linalg.eigvalsh(found).min() >= -1e-9 * np.abs(found).max()


@pytest.mark.identity
def test_the_mixed_derivative_is_the_covariance_of_the_slopes_of_samples():
    kernel, step = RBF(2.0, [0.5, 1.5]) * Linear() + MLP() + White(0.3), 1e-2
    x = np.array([0.4, -0.7])
    corners = np.vstack([x + [step, 0], x - [step, 0], x + [0, step], x - [0, step]])
    K = kernel(corners, corners)  # noise-free
    differences = np.array([[1, -1, 0, 0], [0, 0, 1, -1]]) / (2 * step)
    assert_allclose(differences @ K @ differences.T, kernel.mixed_derivative(x[None])[0], rtol=5e-3)
    assert np.all(White().mixed_derivative(x[None]) == 0) and np.all(Bias().mixed_derivative(x[None]) == 0)


@pytest.mark.gradient
@pytest.mark.parametrize(
    "kernel",
    [
        Linear(1.3),
        Linear([0.5, 2.0]),
        RBF(1.5, 0.7),
        RBF(2.0, [0.5, 2.0]),
        MLP(1.2, 3.0, 2.0),
        Bias(0.3),
        White(0.2),
        Matern32(1.1, [0.8, 0.2]),
        Periodic(1.3, 0.6, 2.3),
        RBF() + Bias() + White(),
        RBF() * Linear(),
        RBF() * White(),
        (RBF() + Linear()) * Periodic(period=1.7) + White(0.1),
        RBF() * MLP() * Matern32(),
    ],
    ids=repr,
)
def test_each_kernel_in_a_likelihood(kernel):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((6, 2)), rng.standard_normal((6, 3))
    errors = relative_errors(
        kernel,
        X,
        1.0,
        lambda k, X: gp_log_marginal_likelihood(k, X, Y, 0.1),
        lambda k, X: gp_gradients(k, X, Y, 0.1)[1:],
        size=1.0,
    )
    assert max(errors) < 1e-6


@pytest.mark.gradient
def test_mlp_gradients_stay_right_far_from_the_origin():
    X = 1e3 * np.random.default_rng(0).standard_normal((5, 2))
    G = np.random.default_rng(1).standard_normal((5, 5))
    errors = relative_errors(MLP(), X, 1e3, lambda k, X: np.sum(G * k(X)), lambda k, X: k.gradients(G, X), size=1.0)
    assert max(errors) < 1e-6


@pytest.mark.parametrize(
    "kernel",
    [RBF(), RBF(inverse_width=np.ones(60)), MLP(), Linear(), Matern32(), Periodic(), RBF() + Bias() + White()],
    ids=lambda k: type(k).__name__,
)
def test_no_array_of_n_by_n_by_q_is_ever_formed(kernel):
    rng = np.random.default_rng(0)
    X, G = rng.standard_normal((300, 60)), rng.standard_normal((300, 300))
    tracemalloc.start()
    kernel.gradients(G, X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * G.nbytes  # an N x N x q array would be 60 of them


# --- what a kernel is ----------------------------------------------------------------------------------------


@pytest.mark.identity
@given(problems())
@quick
def test_matrices_are_symmetric_positive_semi_definite_and_agree_with_their_diagonals(problem):
    kernel, X, Z, _ = problem
    K = kernel(X)
    assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] > -1e-10 * len(X) * np.abs(K).max()
    assert_allclose(np.diag(K), kernel.diag(X), rtol=1e-9)
    assert_allclose(np.diag(kernel(X, X)), kernel.diag(X, noise=False), rtol=1e-9)
    assert_allclose(kernel(X, Z), kernel(Z, X).T, rtol=1e-9, atol=1e-12 * np.abs(K).max())
    assert kernel(X, Z).shape == (len(X), len(Z))


@pytest.mark.identity
@given(problems(), st.integers(0, 2**32 - 1))
@quick
def test_sums_and_products_are_those_of_the_matrices(problem, seed):
    one, X, Z, _ = problem
    two = RBF(0.7, 0.3) + White(0.2)
    for where in ((X,), (X, Z)):
        assert_allclose((one + two)(*where), one(*where) + two(*where), rtol=1e-12)
        assert_allclose((one * two)(*where), one(*where) * two(*where), rtol=1e-12)
        assert_allclose((2.5 * one)(*where), 2.5 * one(*where), rtol=1e-9)
    assert_allclose((one * 2.5)(X), (2.5 * one)(X))


@pytest.mark.identity
def test_white_noise_belongs_to_indices_not_to_places():
    X = np.array([[1.0], [1.0], [2.0]])
    assert_array_equal(White(0.3)(X), 0.3 * np.eye(3))
    assert_array_equal(White(0.3)(X, X), np.zeros((3, 3)))
    assert_array_equal(White(0.3).diag(X), [0.3] * 3)
    assert_array_equal((RBF() * White(0.3))(X), 0.3 * np.eye(3))


@pytest.mark.identity
def test_equal_inverse_widths_are_one_inverse_width():
    X, Z = np.random.default_rng(0).standard_normal((2, 5, 3))
    for Kind in (RBF, Matern32):
        one, each = Kind(1.3, 0.7), Kind(1.3, [0.7] * 3)
        assert_allclose(one(X, Z), each(X, Z))
        G = np.ones((5, 5))
        assert_allclose(one.gradients(G, X, Z)[1][1], each.gradients(G, X, Z)[1][1:].sum())
    assert_allclose(Linear(0.7)(X, Z), Linear([0.7] * 3)(X, Z))


@pytest.mark.identity
def test_the_linear_kernel_with_white_noise_is_dual_ppca():
    rng = np.random.default_rng(0)
    X, Y, s2 = rng.standard_normal((9, 2)), rng.standard_normal((9, 4)), 0.3
    value, dX, _ = gp_gradients(Linear() + White(s2), X, Y)
    assert_allclose(value, log_likelihood(Y.T, X, s2))
    assert_allclose(dX, dual_gradient(Y, X, s2), atol=1e-12)


@pytest.mark.identity
def test_equation_10_as_printed_doubles_every_gradient():
    rng = np.random.default_rng(0)
    X, Y, k = rng.standard_normal((6, 2)), rng.standard_normal((6, 3)), RBF() + White(0.2)
    K_inv = np.linalg.inv(k(X))
    printed = K_inv @ Y @ Y.T @ K_inv - 3 * K_inv
    assert_allclose(k.gradients(printed, X)[0], 2 * gp_gradients(k, X, Y)[1], rtol=1e-8)


# --- the arcsine kernel ----------------------------------------------------------------------------------------


def erf_covariance(x, z, weight_variance, bias_variance):
    """E[erf(u'x + c) erf(u'z + c)] by Gauss-Hermite quadrature over the two Gaussian activations."""
    points, weights = hermegauss(80)
    weights = weights / weights.sum()
    C = np.array([[weight_variance * a @ b + bias_variance for b in (x, z)] for a in (x, z)])
    L = np.linalg.cholesky(C + 1e-15 * np.eye(2))
    first, second = L[0, 0] * points[:, None], L[1, 0] * points[:, None] + L[1, 1] * points
    return np.sum(weights[:, None] * weights * erf(first) * erf(second))


@pytest.mark.identity
@given(st.floats(0.05, 0.6), st.floats(0.05, 0.6), st.integers(0, 2**32 - 1))
@quick
def test_mlp_is_the_covariance_of_an_erf_unit_with_half_the_variances_times_two_over_pi(s_w, s_b, seed):
    x, z = np.random.default_rng(seed).uniform(-1, 1, (2, 2))
    kernel = MLP(2 / np.pi, 2 * s_w, 2 * s_b)
    assert_allclose(kernel(x[None], z[None])[0, 0], erf_covariance(x, z, s_w, s_b), atol=1e-6)
    printed = MLP(2 / np.pi, s_w, s_b)
    assert abs(printed(x[None], x[None])[0, 0] - erf_covariance(x, x, s_w, s_b)) > 0.01


@pytest.mark.identity
def test_a_wide_random_network_has_the_mlp_covariance():
    rng = np.random.default_rng(0)
    X, n_units = np.array([[-1.0], [0.2], [2.0]]), 400_000
    u, c, v = np.sqrt(5.0) * rng.standard_normal(n_units), np.sqrt(2.0) * rng.standard_normal(n_units), 1.0
    H = erf(X * u + c)
    assert_allclose(v * H @ H.T / n_units, MLP(2 / np.pi, 10.0, 4.0)(X), atol=5e-3)


@pytest.mark.identity
def test_far_away_the_mlp_knows_only_the_angle_and_the_rbf_nothing():
    angles = np.linspace(0.1, 3.0, 7)
    near_one_axis = 1e6 * np.array([[1.0, 0.0]])
    others = 1e6 * np.column_stack([np.cos(angles), np.sin(angles)])
    assert_allclose(MLP(1.4, 3.0, 2.0)(near_one_axis, others)[0], 1.4 * (np.pi / 2 - angles), atol=1e-4)
    assert np.all(RBF()(near_one_axis, others) == 0.0)


@pytest.mark.identity
def test_away_from_the_data_the_rbf_falls_back_to_the_prior_and_the_mlp_keeps_its_level():
    X = np.linspace(-1, 1, 9)[:, None]
    y, far = 1.0 + 0.3 * X[:, 0], np.array([[30.0], [3000.0], [-3000.0]])
    mean, variance = gp_posterior(RBF() + White(1e-3), X, y, far)
    assert_allclose(mean, 0.0, atol=1e-12)
    assert_allclose(variance, 1.0)
    kernel = MLP(4.0) + White(1e-3)
    mean, variance = gp_posterior(kernel, X, y, far)
    lift = np.sqrt([[10.0], [10.0]]) * np.vstack([X.T, np.ones(9)])  # (sqrt(w) x, sqrt(b)), w = b = 10
    to_the_right = 4.0 * np.arcsin(lift[0] / np.sqrt(1 + np.sum(lift**2, axis=0)))  # (2.29)
    limit = to_the_right @ np.linalg.solve(kernel(X), y)
    assert_allclose(mean[:2], limit, rtol=0.2)
    assert_allclose(mean[1], limit, rtol=2e-3)
    assert abs(limit) > 0.3 and np.all(variance < 0.8 * kernel.diag(far, noise=False))


@pytest.mark.identity
def test_units_of_the_cumulative_gaussian_have_the_variances_themselves():
    """2 Phi(u) - 1 = erf(u / sqrt 2): halving the variances of an erf unit undoes the doubling of (2.23)."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        x, z = rng.standard_normal((2, 3))
        s_w, s_b = rng.uniform(0.1, 1.0, 2)
        of_phi = erf_covariance(x, z, s_w / 2, s_b / 2)
        assert_allclose(MLP(2 / np.pi, s_w, s_b)(x[None], z[None])[0, 0], of_phi, atol=1e-8)


# --- spectra and volumes on a grid -----------------------------------------------------------------------------


@pytest.mark.identity
@pytest.mark.parametrize("spacing, omega, factor", [(1.0, np.pi, 2.0), (2.0, 1.0, 1.167), (0.1, 1.0, 1.0)])
def test_a_coarse_grid_adds_the_spectrum_at_other_frequencies(spacing, omega, factor):
    x = spacing * np.arange(-400, 401)
    wave = RBF()(x[:, None], [[0.0]])[:, 0] @ np.cos(omega * x)
    aliases = omega + 2 * np.pi / spacing * np.arange(-30, 31)
    alone = 2 * np.pi / spacing * spectral_density(RBF(), [omega])[0]
    assert_allclose(wave, 2 * np.pi / spacing * np.sum(spectral_density(RBF(), aliases)), rtol=1e-10)
    assert_allclose(wave / alone, factor, rtol=1e-3)


def test_the_wish_fails_on_a_fine_grid_and_hides_on_a_coarse_one():
    i = np.arange(1000)
    fine = np.linalg.eigvalsh(1.0 * (np.abs(i[:, None] - i) <= 20))[0]  # spacing 0.05
    assert_allclose(fine, 2 / 0.05 * np.min(np.sinc(np.linspace(0, 12, 5000) / np.pi)), rtol=0.04)
    assert_allclose(np.eye(50), 1.0 * (1.2 * np.abs(i[:50, None] - i[:50]) <= 1))  # spacing 1.2: nobody within 1


def volumes(kernels_, X):
    return np.array([np.linalg.slogdet((k + White(0.01))(X))[1] for k in kernels_])


def test_a_narrower_rbf_never_has_the_smaller_determinant_but_an_mlp_kernel_may():
    """Oppenheim: |K o R| >= |K| for a correlation matrix R; it is a property of the RBF's width."""
    grid, fell = np.geomspace(0.01, 100, 30), 0
    for seed in range(50):
        X = np.random.default_rng(seed).standard_normal((8, 1))
        assert np.all(np.diff(volumes([RBF(1.0, g) for g in grid], X)) > -1e-9)
        fell += np.any(np.diff(volumes([MLP(1.0, g, 1.0) for g in grid], X)) < -1e-9)
    assert fell > 25


@pytest.mark.slow
def test_leave_one_out_asks_for_narrower_kernels_where_no_rbf_is_true():
    """Other seeds than the chapter's: that the two choices differ tells little, the direction tells more."""
    widths, differ, narrower = np.geomspace(0.03, 30_000, 41), {}, {}
    for world in ("RBF", "step"):
        chosen = []
        for seed in range(200, 280):
            rng = np.random.default_rng(seed)
            X = rng.uniform(-3, 3, (20, 1))
            step = np.sign(X[:, 0] - rng.uniform(-1, 1))
            y = gp_prior_samples(RBF(), X, random_state=rng)[:, 0] if world == "RBF" else step
            y = y + 0.1 * rng.standard_normal(20)
            scores = []
            for g in widths:
                mean, variance = gp_leave_one_out(RBF(1.0, g), X, y, 0.01)
                one_out = -0.5 * np.sum((y - mean) ** 2 / variance + np.log(variance))
                scores.append((evidence_terms(RBF(1.0, g), X, y, 0.01).total, one_out))
            chosen.append(np.argmax(scores, axis=0))
        evidence, one_out = np.transpose(chosen)
        differ[world], narrower[world] = (
            np.mean(evidence != one_out),
            np.mean((one_out > evidence)[evidence != one_out]),
        )
    assert abs(differ["RBF"] - differ["step"]) < 0.2
    assert narrower["RBF"] < 0.65 and narrower["step"] > 0.85


# --- Gaussian processes ----------------------------------------------------------------------------------------


@pytest.mark.identity
@given(problems(), st.integers(0, 2**32 - 1))
@quick
def test_the_posterior_is_the_conditional_of_the_joint_gaussian(problem, seed):
    kernel, X, X_new, _ = problem
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((len(X), 2))
    noise = 0.1 * kernel.diag(X).mean()
    everything = np.vstack([X, X_new])
    joint = kernel(everything)
    N = len(X)
    A, B, C = joint[:N, :N] + noise * np.eye(N), joint[N:, :N], joint[N:, N:]
    for include in (False, True):
        mean, covariance = gp_posterior(kernel, X, Y, X_new, noise, full_covariance=True, include_noise=include)
        _, variance = gp_posterior(kernel, X, Y, X_new, noise, include_noise=include)
        white = kernel.diag(X_new) - kernel.diag(X_new, noise=False)
        expected = C - np.diag(white) - B @ np.linalg.solve(A, B.T) + include * np.diag(white + noise)
        size = np.abs(joint).max()
        assert_allclose(mean, B @ np.linalg.solve(A, Y), atol=1e-7 * np.abs(Y).max())
        assert_allclose(covariance, expected, atol=1e-8 * size)
        assert_allclose(variance, np.diag(expected), atol=1e-8 * size)


@pytest.mark.identity
@given(problems(), st.integers(0, 2**32 - 1))
@quick
def test_the_marginal_likelihood_is_the_brute_force_gaussian(problem, seed):
    kernel, X, _, _ = problem
    Y = np.random.default_rng(seed).standard_normal((len(X), 3))
    noise = 0.1 * kernel.diag(X).mean()
    expected = multivariate_normal(cov=kernel(X) + noise * np.eye(len(X))).logpdf(Y.T).sum()
    assert_allclose(gp_log_marginal_likelihood(kernel, X, Y, noise), expected, rtol=1e-8)
    assert_allclose(gp_gradients(kernel, X, Y, noise)[0], expected, rtol=1e-8)


@pytest.mark.identity
@quick
@given(st.integers(1, 9), st.integers(1, 4), st.integers(0, 10**6), st.floats(1e-3, 10.0))
def test_the_terms_of_the_evidence_are_its_trace_its_determinant_and_its_constant(N, D, seed, noise):
    rng = np.random.default_rng(seed)
    X, Y, kernel = rng.standard_normal((N, 2)), rng.standard_normal((N, D)), RBF(1.3, 0.7) + White(0.05)
    terms, K = evidence_terms(kernel, X, Y, noise), kernel(X) + noise * np.eye(N)
    assert_allclose(terms.fit, -0.5 * np.trace(np.linalg.inv(K) @ Y @ Y.T), rtol=1e-8)
    assert_allclose(terms.volume, -0.5 * D * np.linalg.slogdet(K)[1], rtol=1e-8, atol=1e-9)
    assert_allclose(terms.constant, N * D * np.log(1 / np.sqrt(2 * np.pi)), rtol=1e-12)
    assert_allclose(terms.total, gp_log_marginal_likelihood(kernel, X, Y, noise), rtol=1e-10)
    assert terms.fit < 0 and terms.total == sum(terms)
    assert_allclose(evidence_terms(kernel, X, Y[:, 0], noise), evidence_terms(kernel, X, Y[:, :1], noise))


@pytest.mark.identity
@given(st.integers(1, 9), st.integers(1, 3), st.integers(0, 10**6))
@quick
def test_the_surface_of_the_evidence_is_the_evidence_at_every_place(N, D, seed):
    rng = np.random.default_rng(seed)
    X, Y, noises = rng.standard_normal((N, 2)), rng.standard_normal((N, D)), [0.01, 0.3, 2.0]
    kernels = [RBF(1.3, 0.7), RBF(0.5, 40.0) + Linear(2.0), MLP()]
    wanted = [[gp_log_marginal_likelihood(kernel, X, Y, noise) for noise in noises] for kernel in kernels]
    assert_allclose(evidence_surface(kernels, X, Y, noises), wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.bad_input
def test_a_surface_needs_noise():
    for noises in ([0.1, 0.0], [-1.0], [np.nan], 0.1):
        with pytest.raises(ValueError, match="noise_variances must be a list of finite numbers above 0"):
            evidence_surface([RBF()], np.zeros((2, 1)), np.zeros(2), noises)


@pytest.mark.gradient
@pytest.mark.parametrize("seed", range(10))
def test_a_climb_goes_uphill_in_short_steps_to_a_place_without_a_slope(seed):
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(-3, 3, (20, 1)), axis=0)
    y = gp_prior_samples(RBF(1.0, 2.0) + White(0.05), X, 1, rng)[:, 0]
    start = (RBF(1.0, 0.5) + White(0.5)).fix("rbf__variance")
    kernels, values = zip(*climb_evidence(start, X, y), strict=True)
    paths = np.log([kernel.parameters for kernel in kernels])
    assert np.all(np.diff(values) > 0) and np.linalg.norm(np.diff(paths, axis=0), axis=1).max() < 0.15 + 1e-9
    assert start.parameters[1] == 0.5 and np.all(paths[:, 0] == 0)  # a fixed one stays, the start too
    best = list(minimise(lambda t: slopes(start.copy(), t, X, y), kernels[-1].theta, tolerance=1e-8))[-1]
    assert len(values) < 200 and -best.value - values[-1] < 1e-3  # there is nothing more to gain


def slopes(kernel, theta, X, y):
    kernel.theta = theta
    value, _, slope = gp_gradients(kernel, X, y)
    return -value, -slope


@pytest.mark.identity
@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 2**32 - 1))
@quick
def test_the_log_density_of_columns(N, D, seed):
    rng = np.random.default_rng(seed)
    root, Y = rng.standard_normal((N, N)), rng.standard_normal((N, D))
    K = root @ root.T + np.eye(N)
    L = np.linalg.cholesky(K)
    assert_allclose(gaussian_log_density(L, Y), multivariate_normal(cov=K).logpdf(Y.T).sum(), rtol=1e-9)


@pytest.mark.identity
def test_samples_of_the_prior_have_the_kernel_as_their_covariance():
    X = np.random.default_rng(0).standard_normal((4, 2))
    for kernel in (RBF() + Bias(0.5) + White(0.2), MLP(), Linear() * RBF()):
        f = gp_prior_samples(kernel, X, 200_000, random_state=1)
        assert f.shape == (4, 200_000)
        assert_allclose(f @ f.T / 200_000, kernel(X), atol=0.03 * kernel(X).max())
        assert_allclose(f.mean(axis=1), 0.0, atol=0.01 * np.sqrt(kernel(X).max()))
    again = gp_prior_samples(RBF(), X, 3, random_state=5)
    assert_array_equal(again, gp_prior_samples(RBF(), X, 3, random_state=5))


@pytest.mark.identity
def test_samples_of_the_rbf_cross_zero_as_often_as_rice_says():
    x = np.linspace(0, 10, 400)[:, None]
    for gamma in (1.0, np.pi**2):
        f = gp_prior_samples(RBF(1.7, gamma), x, 400, random_state=0)
        crossings = np.mean(np.sum(np.diff(np.sign(f), axis=0) != 0, axis=0)) / 10
        assert_allclose(crossings, np.sqrt(gamma) / np.pi, rtol=0.06)


# --- parameters ------------------------------------------------------------------------------------------------


# --- draws after the data, one datum left out, waves ------------------------------------------------------------


@pytest.mark.identity
def test_samples_of_the_posterior_have_its_mean_and_its_covariance():
    X, X_new = np.array([[-1.0], [0.5]]), np.array([[-1.0], [0.0], [2.0]])
    y, kernel = np.array([0.7, -0.4]), RBF(1.3, 0.8) + White(0.1)
    f = gp_posterior_samples(kernel, X, y, X_new, 40_000, random_state=0)
    mean, covariance = gp_posterior(kernel, X, y, X_new, full_covariance=True)
    assert_allclose(f.mean(axis=1), mean, atol=0.02)
    assert_allclose(np.cov(f), covariance, atol=0.03)


@pytest.mark.identity
@quick
@given(st.integers(2, 8), st.integers(0, 10**6), st.floats(1e-2, 1.0))
def test_leaving_one_out_is_a_fit_without_it(N, seed, noise):
    rng = np.random.default_rng(seed)
    X, Y, kernel = rng.standard_normal((N, 2)), rng.standard_normal((N, 3)), Matern32(1.3, 0.7) + White(0.05)
    mean, variance = gp_leave_one_out(kernel, X, Y, noise)
    for n in range(N):
        rest = np.arange(N) != n
        m, v = gp_posterior(kernel, X[rest], Y[rest], X[n : n + 1], noise, include_noise=True)
        assert_allclose(mean[n], m[0], atol=1e-8)
        assert_allclose(variance[n], v[0], rtol=1e-8)
    assert_allclose(gp_leave_one_out(kernel, X, Y[:, 0], noise)[0], mean[:, 0])


@pytest.mark.identity
@quick
@given(st.integers(1, 12), st.integers(0, 10**6))
def test_the_evidence_is_the_sum_of_predictions_of_each_datum_from_those_before_it_in_any_order(N, seed):
    rng = np.random.default_rng(seed)
    X, y, kernel = rng.standard_normal((N, 1)), rng.standard_normal(N), RBF(1.3, 0.7) + White(0.05)
    order, total = rng.permutation(N), 0.0
    X, y = X[order], y[order]
    for n in range(N):
        m, v = 0.0, kernel.diag(X[:1])[0]
        if n:
            (m,), (v,) = gp_posterior(kernel, X[:n], y[:n], X[n : n + 1], include_noise=True)
        total -= 0.5 * (np.log(2 * np.pi * v) + (y[n] - m) ** 2 / v)
    assert_allclose(total, gp_log_marginal_likelihood(kernel, X, y), rtol=1e-9)


@pytest.mark.identity
@quick
@given(st.sampled_from([RBF, Matern32]), st.floats(0.1, 10.0), st.floats(0.1, 10.0), st.floats(0.0, 3.0))
def test_a_spectrum_gives_its_kernel_back(Kind, theta, gamma, distance):
    kernel, distance = Kind(theta, gamma), distance / np.sqrt(gamma)
    angle = np.pi * ((np.arange(4000) + 0.5) / 4000 - 0.5)  # omega = sqrt(gamma) tan(angle): the whole line
    omega, step = np.sqrt(gamma) * np.tan(angle), np.pi / 4000 * np.sqrt(gamma) / np.cos(angle) ** 2
    back = np.sum(step * spectral_density(kernel, omega) * np.cos(omega * distance))
    assert_allclose(back, kernel(np.zeros((1, 1)), np.array([[distance]]))[0, 0], atol=1e-5 * theta)
    assert_allclose(spectral_density(kernel, [-1.3]), spectral_density(kernel, [1.3]))


@pytest.mark.identity
@quick
@given(st.floats(0.1, 10.0), st.floats(0.05, 10.0), st.floats(0.2, 5.0), st.floats(-3.0, 3.0))
def test_the_lines_of_the_periodic_kernel_give_it_back(theta, gamma, period, distance):
    kernel = Periodic(theta, gamma, period)
    frequencies, variances = spectral_lines(kernel, 60)
    assert_allclose(
        variances @ np.cos(frequencies * distance), kernel(np.zeros((1, 1)), np.array([[distance]]))[0, 0], atol=1e-9
    )
    assert np.all(variances >= 0)


@pytest.mark.identity
@pytest.mark.parametrize("kernel", [RBF(1.5, [1.0, 0.3]), Matern32(1.5, [1.0, 0.3]), Matern32(0.7, 2.0)], ids=repr)
def test_random_waves_have_the_kernel_as_their_covariance_with_an_error_of_one_over_the_root(kernel):
    X = np.random.default_rng(0).standard_normal((12, 2))
    errors = {
        J: np.sqrt(np.mean([(F @ F.T - kernel(X)) ** 2 for F in (random_waves(kernel, X, J, s) for s in range(20))]))
        for J in (100, 1600)
    }
    assert 3.2 < errors[100] / errors[1600] < 5.0
    assert errors[1600] < kernel.variance / np.sqrt(1600)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "act, says",
    [
        (lambda: spectral_density(Linear(), 1.0), "RBF and Matern32 is written here, not that of Linear"),
        (lambda: spectral_density(Periodic(), 1.0), "spectral_lines has those of Periodic"),
        (lambda: spectral_density(RBF(1.0, [1.0, 2.0]), 1.0), "needs one inverse width"),
        (lambda: spectral_lines(RBF()), "spectral_density has those of RBF"),
        (lambda: random_waves(MLP(), np.zeros((2, 1)), 10), "not that of MLP"),
        (lambda: random_waves(RBF(), np.zeros((2, 1)), 0), "n_waves"),
    ],
)
def test_a_spectrum_that_is_not_written_is_refused(act, says):
    with pytest.raises(ValueError, match=says):
        act()


@pytest.mark.identity
@given(st.floats(-300.0, 300.0))
@quick
def test_softplus_and_its_inverse_and_its_slope(t):
    theta = softplus(np.array(t))
    assert theta > 0
    assert_allclose(softplus_inverse(theta), t, rtol=1e-9, atol=1e-9)
    assert_allclose(softplus_slope(theta), 1 / (1 + np.exp(-t)), rtol=1e-9)


@pytest.mark.identity
@given(problems())
@quick
def test_theta_goes_out_and_in_again(problem):
    kernel, _, _, _ = problem
    other = 3.0 * kernel
    other.theta = kernel.theta
    assert_allclose(other.parameters, kernel.parameters, rtol=1e-9)
    assert len(kernel.theta) == len(kernel.parameter_names) == len(set(kernel.parameter_names))
    other.parameters = kernel.parameters
    assert other == kernel and other is not kernel and kernel.copy() == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel


def test_an_optimiser_may_go_anywhere_in_theta():
    kernel = RBF()
    kernel.theta = [-1e5, 1e5]
    assert kernel.variance > 0 and np.isfinite(kernel.inverse_width)
    with pytest.raises(ValueError, match="theta must be finite"):
        kernel.theta = [np.nan, 0.0]


def test_maximum_likelihood_finds_the_parameters_that_made_the_data():
    truth = RBF(2.0, 4.0) + White(0.05)
    x = np.linspace(0, 10, 100)[:, None]
    Y = gp_prior_samples(truth, x, 8, random_state=0)
    kernel = RBF() + White()

    def value_and_gradient(theta):
        kernel.theta = theta
        value, _, d_theta = gp_gradients(kernel, x, Y)
        return -value, -d_theta

    *_, last = minimise(value_and_gradient, kernel.theta, max_iter=60)
    kernel.theta = last.x
    assert_allclose(kernel.parameters, truth.parameters, rtol=0.35)
    assert gp_log_marginal_likelihood(kernel, x, Y) >= gp_log_marginal_likelihood(truth, x, Y)


def test_printing_names_every_parameter_and_value():
    kernel = RBF(inverse_width=[1.0, 0.25]) + White(0.1)
    assert repr(kernel) == "RBF(variance=1, inverse_width=[1, 0.25]) + White(variance=0.1)"
    assert repr((RBF() + Bias()) * Linear()).startswith("(RBF(variance=1, inverse_width=1) + Bias(variance=1)) * ")
    page = kernel._repr_html_()
    for text in ("RBF + White", "rbf__inverse_width[1]", "0.25", "white__variance", "0.1"):
        assert text in page
    assert eval(repr(kernel)) == kernel


def test_parts_are_copies_found_by_name():
    noise = White(0.1)
    kernel = RBF() + noise + RBF(2.0)
    kernel["white"].variance = 0.7
    assert noise.variance == 0.1 and kernel["white"].variance == 0.7
    assert kernel.part_names == ["rbf", "white", "rbf2"] and kernel["rbf2"].variance == 2.0 and kernel[0] == RBF()
    assert isinstance(kernel, Sum) and len(kernel.parts) == 3
    kernel.set_params(rbf2__variance=5.0)
    assert kernel.get_params()["rbf2__variance"] == 5.0
    both = noise + noise
    both.theta = both.theta + [0.0, 1.0]
    assert_allclose(both.parts[0].variance, 0.1)
    assert both.parts[1].variance > 0.15
    nested = (RBF() + Bias()) * Linear()
    assert isinstance(nested, Product)
    nested.set_params(sum__bias__variance=3.0)
    assert nested["sum"]["bias"].variance == 3.0


@pytest.mark.identity
@given(problems())
@quick
def test_a_kernel_is_its_smooth_part_and_its_noise(problem):
    kernel, X, _, _ = problem
    for whole in (kernel, kernel + White(0.3), White(0.1) + kernel + White(0.2)):
        smooth, noise = split_white(whole)
        again = noise * np.eye(len(X)) + (0.0 if smooth is None else smooth(X))
        assert_allclose(again, whole(X), rtol=1e-12)
        assert not any(isinstance(part, White) for part in (smooth.parts if isinstance(smooth, Sum) else [smooth]))


def test_the_split_returns_copies_and_keeps_the_order():
    kernel = Bias(2.0) + White(0.1) + RBF()
    smooth, noise = split_white(kernel)
    assert smooth == Bias(2.0) + RBF() and noise == 0.1
    smooth["rbf"].variance = 9.0
    alone, none = split_white(kernel["rbf"])
    alone.variance = 7.0
    assert kernel["rbf"].variance == 1.0 and none == 0.0
    assert split_white(White(0.4) + White(0.1)) == (None, 0.5)
    assert split_white(RBF() * White())[1] == 0.0  # a product is one covariance


def test_the_common_start_has_the_variance_of_the_data_in_any_units():
    for v in (1e-4, 1.0, 1e4):
        tenth, hundredth = common_start(v), common_start(v, noise=0.01)
        assert tenth["rbf"] == RBF(v, 1.0) and tenth["bias"].variance == v * np.exp(-2.0)
        assert tenth["white"].variance == 0.1 * v and hundredth["white"].variance == 0.01 * v
        assert split_white(tenth)[0] == split_white(hundredth)[0]


def test_names_and_places_of_parameters_survive_copies_and_pickles():
    kernel = (RBF(inverse_width=[1.0, 2.0]) + Bias()) * MLP() + White()
    names = kernel.parameter_names
    for twin in (kernel.copy(), pickle.loads(pickle.dumps(kernel)), clone(kernel)):
        twin.theta = twin.theta + 1.0
        assert twin.parameter_names == names and np.all(twin.parameters > kernel.parameters)
        assert twin["product"]["sum"]["rbf"].variance == twin.parameters[0] != kernel.parameters[0]


def test_scikit_learn_can_clone_and_set_an_estimator_that_holds_a_kernel():
    class Holder(BaseEstimator):
        def __init__(self, kernel=None):
            self.kernel = kernel

    for kernel in (RBF(inverse_width=[1.0, 2.0]), RBF() + Bias() * MLP() + White(0.1)):
        first = Holder(kernel)
        second = clone(first)
        assert second.kernel == kernel and second.kernel is not kernel
        name = next(iter(kernel.get_params()))
        second.set_params(**{f"kernel__{name}": 9.0})
        assert second.kernel.get_params()[name] == 9.0 and kernel.get_params()[name] != 9.0
        assert repr(kernel)[:8] in repr(first)


# --- scikit-learn as an oracle -----------------------------------------------------------------------------------

PAIRS = [
    (RBF(1.7, 4.0), 1.7 * theirs.RBF(0.5)),
    (RBF(1.7, [4.0, 0.25]), 1.7 * theirs.RBF([0.5, 2.0])),
    (Matern32(0.6, 4.0), 0.6 * theirs.Matern(0.5, nu=1.5)),
    (Linear(2.0), 2.0 * theirs.DotProduct(0.0)),
    (Linear() + Bias(0.49), theirs.DotProduct(0.7)),
    (Bias(0.3), theirs.ConstantKernel(0.3)),
    (White(0.3), theirs.WhiteKernel(0.3)),
    (RBF() * Linear() + White(0.1), theirs.RBF() * theirs.DotProduct(0.0) + theirs.WhiteKernel(0.1)),
]


@pytest.mark.oracle
@pytest.mark.parametrize("ours, other", PAIRS, ids=[repr(ours) for ours, _ in PAIRS])
def test_kernels_agree_with_scikit_learns(ours, other):
    X, Z = np.random.default_rng(0).standard_normal((2, 7, 2))
    assert_allclose(ours(X), other(X), rtol=1e-10, atol=1e-12)
    assert_allclose(ours(X, Z), other(X, Z), rtol=1e-10, atol=1e-12)
    assert_allclose(ours.diag(X), other.diag(X), rtol=1e-10)


@pytest.mark.oracle
def test_periodic_agrees_with_scikit_learns_on_a_line():
    x = np.random.default_rng(0).standard_normal((7, 1))
    other = theirs.ExpSineSquared(length_scale=0.8, periodicity=1.7)
    assert_allclose(Periodic(1.0, 0.8**-2, 1.7)(x), other(x), rtol=1e-10)


@pytest.mark.oracle
def test_posterior_and_likelihood_agree_with_scikit_learns_regressor():
    rng = np.random.default_rng(0)
    X, X_new = rng.standard_normal((20, 2)), rng.standard_normal((6, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(20)
    other = GaussianProcessRegressor(1.3 * theirs.RBF(0.9), alpha=0.04, optimizer=None).fit(X, y)
    kernel = RBF(1.3, 0.9**-2)
    mean, covariance = gp_posterior(kernel, X, y, X_new, 0.04, full_covariance=True)
    expected_mean, expected_covariance = other.predict(X_new, return_cov=True)
    assert_allclose(mean, expected_mean, rtol=1e-8)
    assert_allclose(covariance, expected_covariance, atol=1e-10)
    assert_allclose(gp_log_marginal_likelihood(kernel, X, y, 0.04), other.log_marginal_likelihood_value_, rtol=1e-10)


# --- bad input -----------------------------------------------------------------------------------------------

X2 = np.random.default_rng(0).standard_normal((5, 2))


@pytest.mark.bad_input
@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, "wide", None, [], [[1.0]], 1j], ids=repr)
@pytest.mark.parametrize(
    "Kind, name",
    [
        (RBF, "variance"),
        (RBF, "inverse_width"),
        (MLP, "weight_variance"),
        (MLP, "bias_variance"),
        (Linear, "variance"),
        (White, "variance"),
        (Periodic, "period"),
    ],
)
def test_bad_parameters_get_a_clear_error(Kind, name, bad):
    with pytest.raises(ValueError, match=f"{name} of {Kind.__name__} must be"):
        Kind(**{name: bad})
    kernel = Kind()
    with pytest.raises(ValueError, match=f"{name} of {Kind.__name__} must be"):
        kernel.set_params(**{name: bad})
    assert kernel == Kind()  # nothing has changed


@pytest.mark.bad_input
def test_a_parameter_array_cannot_be_changed_behind_the_kernels_back():
    widths = np.array([1.0, 2.0])
    kernel = RBF(inverse_width=widths)
    widths[0] = -1.0
    assert kernel.inverse_width[0] == 1.0
    for k in (kernel, kernel.copy()):
        with pytest.raises(ValueError, match="read-only"):
            k.inverse_width[0] = -1.0


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "act, says",
    [
        (lambda: RBF(1.0, [1.0, -2.0]), "above 0"),
        (lambda: White([1.0, 2.0]), "one number"),
        (
            lambda: RBF(inverse_width=[1.0, 2.0, 3.0])(X2),
            "3 entries, one for each latent dimension, but X has 2 columns",
        ),
        (lambda: RBF()(np.arange(4.0)), r"Write X\[:, None\]"),
        (lambda: RBF()(X2, np.arange(4.0)), r"Write Z\[:, None\]"),
        (lambda: RBF()(np.empty((0, 2))), "at least one"),
        (lambda: RBF()(X2, X2[:, :1]), "X has 2 columns and Z has 1"),
        (lambda: RBF()(np.where(X2 > 1, np.nan, X2) + [np.nan, 0]), "row 0"),
        (lambda: RBF()(np.vstack([X2, [np.inf, -np.inf]])), "row 5"),
        (lambda: RBF().diag([[0.0, 0.0], [0.0, np.inf]]), "row 1"),
        (lambda: RBF()(X2, X2 * [1.0, np.nan]), "Z contains NaN"),
        (lambda: (Bias() + Linear([1.0, 2.0, 3.0])).diag(X2), "linear__variance of the kernel has 3 entries"),
        (lambda: (RBF(inverse_width=[1.0]) * White()).mixed_derivative(X2), "rbf__inverse_width of the kernel has 1"),
        (lambda: RBF().parameter_gradients(np.ones((5, 5)), X2, X2[:2]), r"\(5, 2\)"),
        (lambda: RBF().diag_parameter_gradients(np.ones((5, 1)), X2), r"\(5,\)"),
        (lambda: RBF().gradients(np.ones((4, 5)), X2), r"shape \(4, 5\).*\(5, 5\)"),
        (lambda: RBF().gradients(np.ones((5, 5)), X2, X2[:2]), r"\(5, 2\)"),
        (lambda: RBF().diag_gradients(np.ones(4), X2), r"\(5,\)"),
        (lambda: RBF().set_params(width=2.0), "has no parameter 'width'; it has variance, inverse_width"),
        (lambda: setattr(RBF() + White(), "theta", [0.0]), "has 3 parameters"),
        (lambda: -2.0 * RBF(), "above 0"),
        (lambda: Sum(RBF(), 3.0), "combines kernels, got 3.0"),
        (lambda: Product(), "at least one kernel"),
        (lambda: gp_posterior(RBF(), X2, np.ones(4), X2), r"shape \(4,\) and X has 5 rows"),
        (lambda: gp_posterior(RBF(), X2, np.full(5, np.nan), X2), "Y contains NaN"),
        (lambda: gp_log_marginal_likelihood(RBF(), X2, np.ones(5), noise_variance=-1.0), "at least 0, got -1.0"),
    ],
)
def test_misuse_is_explained(act, says):
    with pytest.raises(ValueError, match=says):
        act()


@pytest.mark.bad_input
@pytest.mark.parametrize("act", [lambda: RBF() + 1.0, lambda: "2" * RBF(), lambda: RBF() * None])
def test_kernels_combine_with_kernels_and_numbers_only(act):
    with pytest.raises(TypeError):
        act()


@pytest.mark.bad_input
def test_repeated_points_without_noise_get_the_stated_jitter_and_a_right_answer():
    X = np.array([[0.0], [0.0], [1.0]])
    mean, variance = gp_posterior(RBF(), X, np.array([1.0, 1.0, 0.0]), np.array([[0.0]]))
    assert_allclose(mean, [1.0], atol=1e-4)
    assert variance[0] < 1e-6
    assert np.isfinite(gp_prior_samples(RBF(), np.zeros((50, 1)), 2, random_state=0)).all()


def test_large_numbers_are_points_too():
    X = np.full((3, 2), 1e50)
    assert_array_equal(RBF().diag(X), np.ones(3))
    assert_array_equal(RBF().diag(-X), np.ones(3))


# --- numbers that hold in any units ------------------------------------------------------------------------------

quietly = pytest.mark.filterwarnings("error")
PARAMETERS = (1e-100, 1e-30, 1e30, 1e100)
SIZES = (1e-50, 1e-20, 1.0, 1e20, 1e50)
CORNERS = np.array([[0.0, 0.0], [1.0, 0.3], [-1.0, 1.0], [1.0, 0.3], [0.5, -1e-20]])
QUESTIONS = {
    "matrix": lambda k, X: k(X),
    "cross": lambda k, X: k(X, X[:3]),
    "diagonal": lambda k, X: k.diag(X),
    "gradients": lambda k, X: k.gradients(np.ones((5, 5)), X),
    "cross gradients": lambda k, X: k.parameter_gradients(-np.ones((5, 3)), X, X[:3]),
    "diagonal gradients": lambda k, X: k.diag_gradients(np.ones(5), X),
    "input derivatives": lambda k, X: k.input_derivatives(X, X[:3]),
    "mixed derivative": lambda k, X: k.mixed_derivative(X),
}


def all_numbers(kernel, X, may_refuse=False):
    """Whether every answer of the kernel is finite, or refused with a sentence where that is allowed."""
    for name, ask in QUESTIONS.items():
        answer = answer_or_refusal(lambda ask=ask: ask(kernel, X)) if may_refuse else ask(kernel, X)
        for array in answer if isinstance(answer, tuple) else [answer]:
            assert np.isfinite(array).all(), (name, kernel, X)
    return True


def answer_or_refusal(ask):
    """The answer, or 0 where it is refused as it should be."""
    try:
        return ask()
    except NotFiniteError as error:
        return 0.0 if "beyond the floating-point numbers" in str(error) else np.nan


@quietly
@pytest.mark.parametrize("Kind", LEAVES)
@pytest.mark.parametrize("size", SIZES)
def test_extreme_parameters_and_points_give_numbers(Kind, size):
    for values in itertools.product(PARAMETERS, repeat=len(Kind().parameters)):
        assert all_numbers(Kind(*values), size * CORNERS, may_refuse=Kind is Periodic)


@quietly
@pytest.mark.parametrize("one, other", itertools.combinations_with_replacement(LEAVES, 2))
def test_sums_of_extreme_kernels_give_numbers_and_products_do_or_say_that_they_can_not(one, other):
    for a, b, size in itertools.product(PARAMETERS, PARAMETERS, SIZES):
        k1, k2 = one(*[a] * len(one().parameters)), other(*[b] * len(other().parameters))
        assert all_numbers(k1 + k2, size * CORNERS, may_refuse=Periodic in (one, other))
        assert all_numbers(k1 * k2, size * CORNERS, may_refuse=True)


@quietly
@given(problems(), st.integers(-48, 48), st.integers(0, 2**32 - 1))
@quick
def test_whatever_is_drawn_stays_finite_in_other_units(problem, exponent, seed):
    kernel, X, *_ = problem
    rng = np.random.default_rng(seed)
    kernel.parameters = 10.0 ** rng.uniform(-99, 99, len(kernel.parameters))
    points = np.clip(10.0**exponent * X, -1e50, 1e50)
    for ask in (lambda: kernel(points), lambda: kernel.diag(points), lambda: kernel.mixed_derivative(points)):
        assert np.isfinite(answer_or_refusal(ask)).all()


@quietly
@pytest.mark.identity
@pytest.mark.parametrize("c", [2.0**-150, 2.0**-20, 2.0**20, 2.0**150])
def test_kernels_know_no_unit_of_length(c):
    X, G = X2, np.random.default_rng(1).standard_normal((5, 5))
    for here, there in [
        (Linear(3.0), Linear(3.0 / c**2)),
        (RBF(3.0, [0.5, 2.0]), RBF(3.0, np.array([0.5, 2.0]) / c**2)),
        (Matern32(3.0, 0.5), Matern32(3.0, 0.5 / c**2)),
        (MLP(3.0, 2.0, 0.5), MLP(3.0, 2.0 / c**2, 0.5)),
        (Periodic(3.0, 0.5, 2.0), Periodic(3.0, 0.5, 2.0 * c)),
    ]:
        assert_allclose(there(c * X), here(X), rtol=1e-12)
        assert_allclose(there.diag(c * X), here.diag(X), rtol=1e-12)
        assert_allclose(c * there.gradients(G, c * X)[0], here.gradients(G, X)[0], rtol=1e-9, atol=1e-12)
        assert_allclose(c**2 * there.mixed_derivative(c * X), here.mixed_derivative(X), rtol=1e-12, atol=1e-14)


@quietly
@pytest.mark.identity
@pytest.mark.parametrize("w, b", [(1e-30, 1e-30), (1e-100, 1e-9), (1e-12, 1e-100), (3.0, 1e-20)])
def test_the_diagonal_of_the_mlp_is_that_of_its_matrix_however_small_its_variances(w, b):
    k = MLP(2.0, w, b)
    assert_allclose(k.diag(X2), np.diag(k(X2)), rtol=1e-13)
    assert_allclose(k.diag_parameter_gradients(np.ones(5), X2)[1][0], np.trace(k(X2)) / 2.0, rtol=1e-13)


@quietly
def test_a_row_far_from_the_others_does_not_spoil_the_slopes_of_the_mlp():
    X = np.array([[1e10, 1e10], [1e10, 1.00001e10], [0.0, 1.0]])
    near = MLP().input_derivatives(X[:2], X[:2])
    far = MLP().input_derivatives(np.vstack([X[:2], [1e50, 0.0]]), X[:2])[:2]
    assert_allclose(far, near, atol=1e-15)


@quietly
@pytest.mark.bad_input
@pytest.mark.parametrize("Kind", LEAVES)
def test_parameters_beyond_the_range_are_refused_and_theta_is_brought_into_it(Kind):
    for name, bad in itertools.product(Kind().get_params(), (1e121, 1e300, 10**400, 1e-121, 5e-324)):
        with pytest.raises(ValueError, match=f"{name} of {Kind.__name__} must be"):
            Kind(**{name: bad})
    kernel = Kind()
    for theta, parameter in [(-1e300, 1e-120), (-300.0, 1e-120), (1e300, 1e120), (1e120, 1e120), (0.0, np.log(2.0))]:
        kernel.theta = np.full(len(kernel.theta), theta)
        assert_array_equal(kernel.parameters, parameter)
        assert np.isfinite(kernel.theta).all()


@quietly
@pytest.mark.bad_input
@pytest.mark.parametrize(
    "bad",
    ["1.5", b"1", ["1", "2"], np.complex128(1.0), np.array([1.0 + 0j]), [1.0, [2.0]], {}, object(), [1e-121, 1.0]],
)
def test_what_is_no_number_is_no_parameter(bad):
    for Kind, name in ((RBF, "variance"), (RBF, "inverse_width"), (Linear, "variance")):
        with pytest.raises(ValueError, match=f"{name} of {Kind.__name__} must be"):
            Kind(**{name: bad})


@quietly
@pytest.mark.bad_input
@pytest.mark.parametrize(
    "bad", ["ab", [1.0, [2.0]], [1.0, 2j], np.zeros(2) + 0j, [1.0, np.inf], [[1.0, 2.0]], [], None]
)
def test_what_is_no_vector_is_no_theta(bad):
    kernel = RBF()
    for name in ("theta", "parameters"):
        with pytest.raises(ValueError, match=r"must be|is complex|has 2 parameters"):
            setattr(kernel, name, bad)


WRONG_POINTS = [
    (X2 + 0j, "is complex"),
    ([[1.0, 1j]], "is complex"),
    ([["a", "b"]], "must be an array of numbers"),
    ([[1.0], [1.0, 2.0]], "must be an array of numbers"),
    (X2 * 1e51, "beyond 1e\\+50"),
    (np.full((2, 2), 1e308), "beyond 1e\\+50"),
    ([[10**400, 0]], "must be an array of numbers"),
    (np.zeros((2, 2, 2)), "got shape"),
    (np.array([[np.nan, 1e300]]), "contains NaN"),
]


@quietly
@pytest.mark.bad_input
@pytest.mark.parametrize("kernel", [RBF(), Linear() * Bias(), MLP() + White(), Periodic()], ids=repr)
@pytest.mark.parametrize("X, says", WRONG_POINTS, ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_no_point_is_refused_by_every_question(kernel, X, says):
    for ask in (
        lambda: kernel(X),
        lambda: kernel(X2, X),
        lambda: kernel.diag(X),
        lambda: kernel.gradients(np.ones((5, 5)), X),
        lambda: kernel.input_derivatives(X2, X),
        lambda: kernel.diag_gradients(np.ones(5), X),
        lambda: kernel.mixed_derivative(X),
        lambda: gp_prior_samples(kernel, X),
        lambda: gp_posterior(kernel, X, np.ones(5), X2),
        lambda: gp_posterior(kernel + White(), X2, np.ones(5), X),
        lambda: gp_gradients(kernel, X, np.ones(5)),
    ):
        with pytest.raises(ValueError, match=says):
            ask()


@quietly
@pytest.mark.bad_input
@pytest.mark.parametrize(
    "ask, says",
    [
        (lambda: RBF().gradients(1j * np.ones((5, 5)), X2), "is complex"),
        (lambda: RBF().gradients([["a"] * 5] * 5, X2), "must be an array of numbers"),
        (lambda: RBF().gradients(np.full((5, 5), np.nan), X2), "dL/dK with NaN"),
        (lambda: RBF(1e100).gradients(np.full((5, 5), 1e300), X2), "beyond the floating-point numbers"),
        (lambda: 1e299 * RBF(), "variance of RBF must be from 1e-120 to 1e"),
        (lambda: np.inf * RBF(), "factor of a kernel must be finite and above 0, got inf"),
        (lambda: 10**400 * RBF(), "factor of a kernel must be finite"),
        (lambda: RBF() * np.nan, "factor of a kernel must be finite and above 0, got nan"),
        (lambda: np.float64(1e299) * Linear([1e100, 1.0]), "variance of Linear must be"),
        (lambda: np.float64(1e99) * Linear([1e50, 1.0]), "variance of Linear must be from 1e-120 to 1e"),
        (lambda: gp_prior_samples(RBF(), X2, 0), "n_samples must be a whole number of at least 1, got 0"),
        (lambda: gp_prior_samples(RBF(), X2, 2.0), "n_samples must be a whole number"),
        (lambda: gp_prior_samples(RBF(), X2, None), "n_samples must be a whole number"),
        (lambda: gp_prior_samples(RBF(), X2, 10**12), "would fill an array of 5 x 1000000000000 numbers"),
        (lambda: gp_prior_samples(RBF(), X2, 1, "dice"), "random_state must be"),
        (lambda: gp_posterior(None, X2, np.ones(5), X2), "kernel must be"),
        (lambda: gp_gradients(RBF, X2, np.ones(5)), "kernel must be"),
        (lambda: gp_posterior("rbf", X2, np.ones(5), X2), "kernel must be"),
        (lambda: gp_posterior(RBF(), X2, 1j * np.ones(5), X2), "Y is complex"),
        (lambda: gp_posterior(RBF(), X2, ["a"] * 5, X2), "Y must be an array of numbers"),
        (lambda: gp_posterior(RBF(), X2, 3.0, X2), r"Y has shape \(\)"),
        (lambda: gp_posterior(RBF(), X2, np.ones((5, 1, 1)), X2), r"Y has shape \(5, 1, 1\)"),
        (lambda: gp_posterior(RBF(), X2, np.ones((5, 0)), X2), r"Y has shape \(5, 0\)"),
        (lambda: gp_posterior(RBF(), X2, np.full(5, 1e60), X2), "Y has the entry 1e"),
        (lambda: gp_posterior(RBF(), X2, np.ones(5), X2, noise_variance="much"), "noise_variance must be"),
        (lambda: gp_posterior(RBF(), X2, np.ones(5), X2, noise_variance=np.nan), "noise_variance must be"),
        (lambda: gp_posterior(RBF(), X2, np.ones(5), X2, noise_variance=1e200), "noise_variance must be"),
        (lambda: gp_posterior(RBF(), X2, np.ones(5), X2, full_covariance="no"), "full_covariance must be True or"),
        (lambda: gp_posterior(RBF(), X2, np.ones(5), X2, include_noise=1), "include_noise must be True or False"),
        (lambda: gp_gradients(White(1e-100) * Bias(1e-50), X2, np.full(5, 1e50)), "beyond the floating-point numbers"),
    ],
)
def test_misuse_at_the_edge_of_the_numbers_is_explained(ask, says):
    with pytest.raises(ValueError, match=says):
        ask()


@quietly
@pytest.mark.identity
@pytest.mark.parametrize("c", [1e-45, 1e-20, 1e20, 1e45])
def test_a_process_holds_in_any_units_of_the_data(c):
    X, y = X2, X2[:, 0] * X2[:, 1]
    here, there = RBF(2.0) + White(0.1), RBF(2.0 * c**2) + White(0.1 * c**2)
    expected = gp_log_marginal_likelihood(here, X, y) - 5 * np.log(c)
    assert_allclose(gp_log_marginal_likelihood(there, X, c * y), expected, rtol=1e-10)
    for scaled, plain, power in zip(gp_posterior(there, X, c * y, X), gp_posterior(here, X, y, X), (1, 2), strict=True):
        assert_allclose(scaled, c**power * plain, rtol=1e-9)
    f, g = gp_prior_samples(there, X, 2, random_state=0), gp_prior_samples(here, X, 2, random_state=0)
    assert_allclose(f, c * g, rtol=1e-9)


# --- the cost of a check ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, door, window", FRONT_DOOR, ids=[name for name, *_ in FRONT_DOOR])
def test_a_call_costs_little_more_than_the_formula(name, door, window):
    """A loose bound; `tests/bench_kernels.py` judges at 1.2."""
    assert any(quiet_ratio(door, window, 100) < 1.5 for _ in range(5))


# --- the explorer --------------------------------------------------------------------------------------------

EXPLORER = explore_kernels


PRIOR = [
    dict(),
    dict(first="linear", seed=3, n_samples=2, n_points=20),
    dict(first="MLP", weight_variance=1.234567, bias_variance=0.5, anchor=1.0),
    dict(first="MLP", network="undoubled: w and b"),
    dict(first="RBF", combine="+", second="linear", inverse_width=4.321, bias=0.3, variance=0.5),
    dict(first="periodic", combine="×", second="RBF", period=1.5, seed=7),
    dict(first="Matern 3/2", combine="+", second="MLP", n_points=100, n_samples=8),
]
GIVEN = [
    dict(),
    dict(data="1 2", noise=0.0001, anchor=1.0),
    dict(first="linear", seed=3, n_samples=2, noise=0.3),
    dict(first="MLP", weight_variance=1.234567, bias_variance=0.5, anchor=1.0, data="0 1, 0 -1, 2 0.5"),
    dict(first="RBF", combine="+", second="linear", inverse_width=4.321, bias=0.3, variance=0.5),
    dict(first="periodic", combine="×", second="linear", period=1.5, seed=7),
    dict(first="Matern 3/2", combine="+", second="MLP", n_points=100, n_samples=8),
]


def code_of(explorer, capsys):
    """Names that the code shown defines; what it prints contains what the picture says."""
    scope = {}
    exec(explorer.shown_code(), scope)
    assert explorer.scene.says in capsys.readouterr().out
    return scope


def shown_functions(explorer):
    """The sample functions of the picture, one in each column."""
    lines = [mark for mark in explorer.scene.panel("functions").marks if mark.key.startswith("function ")]
    return np.column_stack([line.y for line in lines])


def names_of(settings_):
    return "-".join(map(str, settings_.values())) or "start"


@pytest.mark.widget
@pytest.mark.parametrize("steps", [0, 12], ids=["at the start", "on the walk"])
@pytest.mark.parametrize("settings_", PRIOR, ids=names_of)
def test_without_data_the_code_shown_computes_the_prior_of_the_panel(settings_, steps, explorer, capsys):
    from gplvm_widgets.kernels import sheet_panel

    explorer.set(**settings_, data="")
    if steps:
        explorer.run_now(steps)
        explorer.scrubber.value = 6  # and back again
    scope, scene, now = code_of(explorer, capsys), explorer.scene, explorer.settings
    assert [panel.key for panel in scene.panels] == ["functions", "matrix", "row", "sheet"]
    assert_allclose(scope["K"], scene.mark("matrix", "K").values, rtol=1e-12)
    assert_allclose(scope["functions"], shown_functions(explorer), atol=1e-8)
    corners = sheet_panel(scope["sheet"], "").mark("sheet").corners
    assert_allclose(scene.mark("sheet", "sheet").corners, corners, atol=1e-8)
    row = scene.mark("row", "k")
    assert_allclose(row.y, scope["kernel"](np.array([[now["anchor"]]]), row.x[:, None])[0], rtol=1e-12)
    if now["first"] == "MLP":
        assert_allclose(scene.mark("row", "network").y, scope["network"], rtol=1e-12)
        assert_allclose(scene.mark("row", "network").x, scope["dots"])


@pytest.mark.widget
@pytest.mark.parametrize("steps", [0, 12], ids=["at the start", "on the climb"])
@pytest.mark.parametrize("settings_", GIVEN, ids=names_of)
def test_with_data_the_code_shown_computes_the_posterior_of_the_panel(settings_, steps, explorer, capsys):
    explorer.set(**settings_)
    if steps:
        explorer.run_now(steps)
        explorer.scrubber.value = 3  # and back again
    scope, scene, anchor = code_of(explorer, capsys), explorer.scene, explorer.settings["anchor"]
    assert [panel.key for panel in scene.panels] == ["functions", "evidence", "surface", "row"]
    kernel, noise, X, y = (scope[name] for name in ("kernel", "noise", "X", "y"))
    assert_allclose(np.column_stack([X, y]), np.column_stack([scene.mark("functions", "data").x, y]))
    deviation = np.sqrt(np.diag(scope["covariance"]).clip(0))
    assert_allclose(scene.mark("functions", "mean").y, scope["mean"], atol=1e-10)
    assert_allclose(scene.mark("functions", "band").high, scope["mean"] + 2 * deviation, atol=1e-10)
    assert_allclose(scope["functions"], shown_functions(explorer), atol=1e-8)
    bars = [scene.mark("evidence", f"term {k}").height[0] for k in range(4)]
    assert_allclose(bars, [*scope["terms"], gp_log_marginal_likelihood(kernel, X, y, noise)], rtol=1e-9, atol=1e-9)
    assert_allclose(scene.mark("surface", "surface").values, scope["surface"], rtol=1e-9)
    row = scene.mark("row", "k")
    both = np.append(anchor, row.x)[:, None]
    wanted = gp_posterior(kernel, X, y, both, noise, full_covariance=True)[1][0, 1:]
    assert_allclose(row.y, wanted, atol=1e-10)
    place, widths = scene.mark("surface", "place"), scope["widths"]
    assert_allclose(10**place.y, noise, rtol=1e-9)
    assert widths[0] / 1.01 <= 10**place.x <= 1.01 * widths[-1]


@pytest.mark.widget
def test_the_surface_is_the_evidence_of_every_width_and_noise(explorer):
    from gplvm_widgets.kernels import NOISES, across_of, read_data, with_width

    for settings_ in ({}, dict(first="linear"), dict(first="MLP"), dict(first="RBF", combine="+", second="Matern 3/2")):
        explorer.set(**settings_)
        image, now = explorer.scene.mark("surface", "surface"), explorer.arguments(explorer.settings)
        span, (x, y) = across_of(now["kernel"])[2], read_data(now["data"]).T
        for column, row in ((0, 0), (24, 0), (3, 17), (12, 24)):
            width, noise = (10 ** np.linspace(*ends, 25)[k] for ends, k in ((span, column), (NOISES, row)))
            wanted = gp_log_marginal_likelihood(with_width(now["kernel"], width), x[:, None], y, noise)
            assert_allclose(image.values[row, column], wanted, rtol=1e-7)
        assert_allclose(image.extent[0], span[0] - (span[1] - span[0]) / 48)


@pytest.mark.widget
def test_the_simulated_network_follows_the_corrected_reading_only():
    from gplvm_widgets.kernels import NETWORK, network_covariance

    dots = np.linspace(-3, 3, 25)
    kernel = MLP(1.0, 1.0, 1.0)
    row = kernel(np.array([[1.0]]), dots[:, None])[0]
    right, printed = (network_covariance(1.0, dots, 1.0, 1.0, 1.0, share) for share in NETWORK.values())
    assert np.abs(right - row).max() < 0.05 < 0.15 < np.abs(printed - row).max()


@pytest.mark.widget
@pytest.mark.parametrize(
    "settings_, unused",
    [
        (dict(), {"second", "period", "weight_variance", "bias_variance", "network"}),
        (dict(data=""), {"second", "period", "weight_variance", "bias_variance", "network", "noise"}),
        (dict(first="MLP"), {"second", "inverse_width", "period", "network"}),
        (dict(first="MLP", data=""), {"second", "inverse_width", "period", "noise"}),
        (dict(first="MLP", bias=0.1, data=""), {"second", "inverse_width", "period", "network", "noise"}),
        (dict(first="MLP", combine="+", second="periodic"), {"network"}),
        (dict(first="linear"), {"second", "inverse_width", "period", "weight_variance", "bias_variance", "network"}),
    ],
    ids=lambda s: names_of(s) if isinstance(s, dict) else "",
)
def test_controls_that_mean_nothing_are_disabled_and_say_why(settings_, unused, explorer):
    explorer.set(**settings_)
    assert {name for name, control in explorer.controls.items() if control.disabled} == unused
    hidden = {name for name in unused if explorer.controls[name].layout.display == "none"}
    assert hidden <= {"period", "weight_variance", "bias_variance", "network"}
    assert all(explorer.words_of(name) in explorer.why_box.value for name in unused - hidden)


def data_of(explorer):
    from gplvm_widgets.kernels import read_data

    return read_data(explorer.settings["data"])


def hand(explorer, panel, *gesture):
    """Press at the first place, go through the others, let go."""
    for k, (x, y) in enumerate(gesture):
        explorer.view.hear({"type": "point", "panel": panel, "x": x, "y": y, "phase": "move" if k else "down"})
    explorer.view.hear({"type": "point", "panel": panel, "x": x, "y": y, "phase": "up"})


@pytest.mark.widget
def test_a_click_adds_a_datum_a_drag_moves_it_a_click_on_it_takes_it_away(explorer):
    start = data_of(explorer)
    hand(explorer, "functions", (1.0, 2.0))
    assert_allclose(data_of(explorer), [*start, (1.0, 2.0)])
    hand(explorer, "functions", (-1.3, 0.3), (-1.0, 0.0), (-0.8, -1.234))  # the second of five; held, it is the last
    assert_allclose(data_of(explorer), [*np.delete(start, 1, axis=0), (1.0, 2.0), (-0.8, -1.23)])
    ring = explorer.scene.mark("functions", "ring")
    assert (ring.x[0], ring.y[0]) == (-0.8, -1.23)
    hand(explorer, "functions", (1.02, 1.98))
    hand(explorer, "functions", (-0.8, -1.2), (-0.8, -1.2))  # a hand is never quite still
    assert_allclose(data_of(explorer), np.delete(start, 1, axis=0))
    hand(explorer, "functions", (2.5, -2.0), (2.0, -1.0))  # put down and moved in one
    assert_allclose(data_of(explorer)[-1], (2.0, -1.0))
    for x, y in data_of(explorer):
        hand(explorer, "functions", (x, y))
    assert explorer.settings["data"] == "" and explorer.scene.panels[1].key == "matrix"
    for k in range(45):
        hand(explorer, "functions", (-2.9 + 0.13 * k, 2.0 * (-1) ** k))
    assert len(data_of(explorer)) == 40 and explorer.problem == ""


@pytest.mark.widget
def test_buttons_and_arrow_keys_do_what_a_hand_does(explorer):
    start = data_of(explorer)
    explorer.data_buttons["Add"].click()
    added = data_of(explorer)
    assert_allclose(added[-1, 0], 1.1)  # the middle between 0.3 and 1.9
    mean = gp_posterior(RBF(), start[:, :1], start[:, 1], added[-1:, :1], 0.01)[0]
    assert_allclose(added[-1, 1], mean[0], atol=0.005)
    explorer.view.hear({"type": "arrow", "panel": "functions", "right": 1, "up": -5})
    assert_allclose(data_of(explorer)[-1] - added[-1], (0.05, -0.25))
    explorer.data_buttons["Next"].click()
    assert_allclose(data_of(explorer)[-1], start[-1])
    explorer.data_buttons["Remove"].click()
    assert len(data_of(explorer)) == 5 and start[-1] not in data_of(explorer)
    explorer.data_buttons["Two optima"].click()
    assert len(data_of(explorer)) == 10 and len(explorer.scene.mark("surface", "summits").x) == 2
    explorer.data_buttons["None"].click()
    explorer.data_buttons["Next"].click()
    explorer.view.hear({"type": "arrow", "panel": "functions", "right": 0, "up": 1})
    assert_allclose(data_of(explorer), [(0.0, 0.0)])


@pytest.mark.widget
def test_a_hand_on_the_surface_moves_width_and_noise(explorer):
    hand(explorer, "surface", (0.5, -1.0), (1.0, -2.5))
    assert explorer.settings["inverse_width"] == 10.0 and explorer.settings["noise"] == 0.003162
    explorer.view.hear({"type": "arrow", "panel": "surface", "right": 1, "up": 2})
    assert_allclose([explorer.settings[n] for n in ("inverse_width", "noise")], [11.22, 0.003981])
    place = explorer.scene.mark("surface", "place")
    assert_allclose([10**place.x, 10**place.y], [explorer.settings[n] for n in ("inverse_width", "noise")])
    explorer.set(first="linear")
    hand(explorer, "surface", (-0.5, -1.0))
    assert explorer.settings["variance"] == 0.3162
    explorer.view.hear({"type": "arrow", "panel": "surface", "right": -40, "up": 40})
    assert explorer.settings["variance"] == 0.1 and explorer.settings["noise"] == 1.0


@pytest.mark.widget
def test_a_hand_in_the_matrix_or_in_the_curve_moves_the_anchor_and_so_do_arrow_keys(explorer):
    explorer.set(data="")
    for panel, x, y, expected in (("matrix", 0.5, -1.5, -1.5), ("row", 2.0, 0.1, 2.0)):
        explorer.view.hear({"type": "point", "panel": panel, "x": x, "y": y})
        assert explorer.settings["anchor"] == expected
        assert explorer.scene.mark("row", "anchor").x == expected == explorer.scene.mark("matrix", "anchor").y
    for panel, right, up, expected in (("row", 1, 0, 2.05), ("matrix", 0, 1, 2.0), ("matrix", 0, -20, 3.0)):
        explorer.view.hear({"type": "arrow", "panel": panel, "right": right, "up": up})
        assert explorer.settings["anchor"] == expected
    listens = dict(functions="drag", matrix="drag", row="drag", sheet="")
    assert {panel.key: panel.listens for panel in explorer.scene.panels} == listens


@pytest.mark.widget
def test_without_data_run_wanders_through_samples_of_the_same_prior_and_comes_back(explorer):
    from gplvm_widgets.kernels import N_STEPS, sample_functions

    explorer.set(data="")
    start, sheet = shown_functions(explorer), explorer.scene.panel("sheet")
    explorer.run_now(20)
    assert explorer.state == 20 and np.abs(shown_functions(explorer) - start).max() > 0.5
    explorer.set(anchor=1.0)  # a row of K can be chosen on the way
    assert explorer.state == 20 and len(explorer.kept) == 20
    explorer.run_now()
    assert len(explorer.kept) == explorer.state == N_STEPS and explorer.progress.value == 1.0
    assert_allclose(shown_functions(explorer), start, atol=1e-9)
    for kept in range(0, N_STEPS, 8):  # the axes do not move, and the sheet never leaves them
        explorer.scrubber.value = kept
        panel = explorer.scene.panel("sheet")
        assert panel.x == sheet.x and panel.y == sheet.y
        across, up = (np.abs(panel.mark("sheet").corners[..., k]).max() for k in (0, 1))
        assert across < panel.x.limits[1] and up < panel.y.limits[1]
    walk = np.concatenate([sample_functions(RBF(), "", 1.0, 10, 400, seed, N_STEPS // 6).T for seed in range(5)])
    assert_allclose(walk.T @ walk / len(walk), RBF()(np.linspace(-3, 3, 10)[:, None]), atol=0.12)


@pytest.mark.widget
@pytest.mark.parametrize("start", [(0.3, 0.5), (10.0, 0.02), (1.0, 1.0), (30.0, 0.001), (0.1, 0.05)], ids=str)
def test_with_data_run_climbs_to_a_summit_of_the_surface(start, explorer):
    from gplvm_widgets.kernels import TWO

    explorer.set(data=TWO, inverse_width=start[0], noise=start[1])
    explorer.run_now()
    totals = [terms_at(explorer, k) for k in range(len(explorer.kept))]
    assert len(totals) >= 20 and np.all(np.diff(totals) > 0) and explorer.progress.value == 1.0
    assert_allclose(explorer.kept[0].path, [start], rtol=1e-9)
    ends, summits = np.log10(explorer.state.path[-1]), explorer.scene.mark("surface", "summits")
    far = np.hypot(summits.x - ends[0], summits.y - ends[1])
    assert far.min() < 0.06 and far.max() > 1  # of two summits it is at one


def terms_at(explorer, kept):
    explorer.scrubber.value = kept
    return explorer.scene.mark("evidence", "term 3").height[0]


@pytest.mark.widget
def test_two_kernels_with_one_slider_are_not_climbed_and_say_so(explorer):
    explorer.set(combine="+", second="Matern 3/2")
    assert explorer.run_button.disabled and "share a slider" in explorer.why_box.value
    explorer.set(second="linear")
    assert not explorer.run_button.disabled


@pytest.mark.widget
@pytest.mark.bad_input
def test_data_that_cannot_be_read_are_answered_with_a_sentence(explorer, monkeypatch):
    monkeypatch.setattr(type(explorer), "raise_errors", False)
    for typed, words in (("1 2 3", "pairs of numbers"), ("a b", "pairs of numbers"), ("1 2 " * 41, "At most 40")):
        explorer.controls["data"].value = typed
        assert words in explorer.problem
        explorer.data_buttons["Remove"].click()
        assert words in explorer.problem
        explorer.data_buttons["Five"].click()
        assert explorer.problem == "" and len(data_of(explorer)) == 5


@pytest.mark.widget
def test_near_patches_of_the_sheet_are_drawn_over_far_ones():
    from gplvm_widgets.kernels import seen, sheet_panel

    side = np.linspace(-1, 1, 4)
    level = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    sheet = sheet_panel(np.column_stack([level, np.zeros(16)]), "").mark("sheet")
    near = np.array([np.cos(np.radians(-50)), np.sin(np.radians(-50)), 0.0])  # towards the eye, along the ground
    centres = level.reshape(4, 4, 2)[:-1, :-1].reshape(-1, 2) + 1 / 3
    assert_array_equal(np.argsort(sheet.depth), np.argsort(centres @ near[:2]))
    assert seen(np.array([2 * near, -2 * near]))[1][0] > 0  # what is nearer has the larger depth


@pytest.mark.widget
def test_a_flat_sheet_comes_from_the_linear_kernel_only():
    from gplvm_widgets.kernels import draw, in_plane

    for kernel, flat in ((Linear(), True), (RBF(), False), (MLP(), False)):
        sheet = draw(in_plane(kernel), 3, 2).here
        singular_values = np.linalg.svd(sheet - sheet.mean(axis=0), compute_uv=False)
        assert (singular_values[2] < 1e-3 * singular_values[0]) == flat


@pytest.mark.widget
def test_the_answers_of_the_questions_are_true(explorer):
    before, after, states = {}, {}, {}
    for number, question in enumerate(explorer.questions, start=1):
        explorer.ask(number)
        before[number], first = explorer.scene, explorer.state
        explorer.commit(question.right)
        explorer.reveal()
        assert "Right." in explorer.question_box.value
        after[number], states[number] = explorer.scene, (first, explorer.state)
    # 1: at x = 3 the band is that of the prior, at the data it is not
    widths = [scene.mark("functions", "band") for scene in (before[1], after[1])]
    widths = [band.high - band.low for band in widths]
    assert_allclose(widths[0], 4.0)
    assert_allclose(widths[1][-1], 4.0, rtol=1e-6)
    assert widths[1].min() < 0.5 and abs(after[1].mark("functions", "mean").y[-1]) < 0.001
    assert RBF(1.0, 4.0)(np.array([[3.0]]), np.array([[0.8]])).item() < 1e-4
    # 2: the volume pays, the fit does not
    terms = [[scene.mark("evidence", f"term {k}").height[0] for k in range(4)] for scene in (before[2], after[2])]
    assert_allclose(terms[0][0], -1.55, atol=0.005)
    assert_allclose(terms[1][0], -1.55, atol=0.005)
    assert_allclose([terms[0][1], terms[1][1]], [7.28, -0.04], atol=0.005)
    x, y = after[2].mark("functions", "data").x, after[2].mark("functions", "data").y
    for scene in (before[2], after[2]):  # both pass near the data
        f = np.interp(x, scene.mark("functions", "mean").x, scene.mark("functions", "mean").y)
        assert np.abs(f - y).max() < 0.12
    # 3: two maxima
    ends = [state.path[-1] for state in states[3]]
    totals = [scene.mark("evidence", "term 3").height[0] for scene in (before[3], after[3])]
    assert_allclose(ends, [(0.35, 0.12), (6.5, 0.010)], rtol=0.05)
    assert_allclose(totals, [-9.24, -9.04], atol=0.005)
    assert all(state.step >= 19 for state in states[3]) and len(after[3].mark("surface", "summits").x) == 2


# --- a kernel of one's own -----------------------------------------------------------------------------------


def test_a_kernel_of_ones_own_writes_its_formula():
    class Brownian(Kernel):
        def _matrix(self, X, Z):
            Z = X if Z is None else Z
            return np.minimum(X, Z.T)

    assert_array_equal(Brownian()(np.array([[1.0], [2.0]])), [[1.0, 1.0], [1.0, 2.0]])


# --- the chapter in a browser ----------------------------------------------------------------------------------

CHAPTER = "02_kernels.ipynb"


@pytest.mark.browser
def test_chapter_two_runs_in_jupyterlab_without_an_error(chapter, screenshots):
    chapter.picture_at_rest()
    chapter.screenshot_around(".gplvm-explorer", screenshots / "lab_02_kernels.png")
    assert chapter.errors() == [] and chapter.error_box() == ""


@pytest.mark.browser
def test_width_seed_and_kind_each_redraw_and_come_back(chapter):
    start = chapter.picture_at_rest()
    for slider in ("inverse_width", "seed", "n_samples"):
        chapter.slider(slider).press("ArrowRight")
        chapter.wait_for_new_picture(start)
        chapter.slider(slider).press("ArrowLeft")
        chapter.wait_for_picture(start)
    chapter.control("first").choose("MLP")
    chapter.wait_for_new_picture(start)
    chapter.control("first").choose("RBF")
    chapter.wait_for_picture(start)
    assert chapter.error_box() == ""


def drawn_data(chapter):
    """The data that the page draws, (N, 2)."""
    functions = next(panel for panel in chapter.scene()["panels"] if panel["key"] == "functions")
    found = [mark for mark in functions["marks"] if mark["key"] == "data"]
    return np.column_stack([found[0]["x"], found[0]["y"]]) if found else np.zeros((0, 2))


@pytest.mark.browser
def test_a_reader_puts_a_datum_down_moves_it_and_takes_it_away(chapter):
    start = chapter.picture_at_rest()
    before = drawn_data(chapter)
    chapter.click_picture("functions", 1.0, 2.0)
    chapter.wait_until(lambda: len(drawn_data(chapter)) == len(before) + 1, 10, "one datum more")
    chapter.drag_picture("functions", (1.0, 2.0), (0.0, 1.5), (-1.0, -2.0))
    chapter.wait_until(lambda: np.abs(drawn_data(chapter)[-1] - (-1, -2)).max() < 0.04, 10, "the datum at the pointer")
    canvas = chapter.page.locator('.gplvm-explorer [data-key="functions"] canvas.gplvm-canvas')  # not the living one
    chapter.browser.do(canvas.press, "ArrowUp")
    chapter.wait_until(lambda: abs(drawn_data(chapter)[-1, 1] + 1.95) < 0.04, 10, "the datum one step higher")
    chapter.click_picture("functions", *drawn_data(chapter)[-1])
    chapter.wait_for_picture(start)
    assert chapter.error_box() == ""


@pytest.mark.browser
def test_a_drag_on_the_surface_sets_width_and_noise_and_data_come_from_buttons(chapter, screenshots):
    start = chapter.picture_at_rest()
    chapter.click("Two optima")
    chapter.wait_until(lambda: len(drawn_data(chapter)) == 10, 10, "ten data")
    chapter.drag_picture("surface", (0.0, -2.0), (0.5, -2.0), (0.8, -2.0))
    chapter.wait_until(lambda: chapter.control("inverse_width").value() == "6.31", 10, "the width under the pointer")
    assert chapter.control("noise").value() == "0.0100"
    chapter.picture_at_rest()
    chapter.screenshot_around(".gplvm-explorer", screenshots / "lab_02_two_optima.png")
    chapter.click("None")
    chapter.wait_until(lambda: len(drawn_data(chapter)) == 0, 10, "no datum")
    chapter.drag_picture("matrix", (0.0, 0.0), (0.0, -1.0), (0.5, -2.0))
    chapter.wait_until(lambda: chapter.control("anchor").value()[1:] == "2.00", 10, "the row under the pointer")
    chapter.screenshot_around(".gplvm-explorer", screenshots / "lab_02_prior.png")
    chapter.click("Five")
    chapter.wait_for_new_picture(start)
    assert chapter.error_box() == ""


@pytest.mark.browser
def test_run_wanders_and_stop_stops(chapter):
    chapter.click("None")
    chapter.wait_until(lambda: len(drawn_data(chapter)) == 0, 10, "no datum")
    start = chapter.picture_at_rest()
    chapter.run_then_stop()
    stopped = chapter.picture_at_rest()
    assert stopped != start and 0 < chapter.progress() < 1
    names = chapter.run_shown_code()
    assert chapter.scene()["says"] in names["printed"] and names["sheet"].shape == (225, 3)
