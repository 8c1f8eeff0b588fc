"""One table for the exercises of chapter 5, as `test_checkers` has it for chapters 1 to 4."""

import numpy as np
import pytest
from numpy.linalg import inv, slogdet
from scipy import linalg
from scipy.stats import multivariate_normal
from test_checkers import Row, nonsense, of, replaced
from test_hostile_answers import calls_of, right

from gplvm_edu import GPLVM
from gplvm_edu.exercises import check, exercise_names
from gplvm_edu.kernels import RBF, White
from gplvm_edu.optimise import check_gradient

EXERCISES = exercise_names("gplvm")
TABLE: dict[str, Row] = {}


def likelihood(Y, K, dets=None, constant=1.0, half=0.5, sign=1.0):
    N, D = Y.shape
    dets = D if dets is None else dets
    return -0.5 * (constant * D * N * np.log(2 * np.pi) + sign * dets * slogdet(K)[1]) - half * np.trace(
        inv(K) @ Y @ Y.T
    )


def likelihood_by_eigenvalues(Y, K):
    lam, U = linalg.eigh(K)
    return -0.5 * (Y.size * np.log(2 * np.pi) + Y.shape[1] * np.log(lam).sum() + np.sum((U.T @ Y) ** 2 / lam[:, None]))


def gradient(Y, K, dets=None, half=0.5, trace=1.0):
    dets = Y.shape[1] if dets is None else dets
    return half * (trace * inv(K) @ Y @ Y.T @ inv(K) - dets * inv(K))


def observation(kernel, X, Y, x, noise=1.0, learnt=1.0):
    K, k = kernel(X), kernel(x, X)
    free = kernel.diag(x, noise=False)
    variance = free + noise * (kernel.diag(x) - free) - learnt * np.sum(k @ inv(K) * k, axis=1)
    return k @ inv(K) @ Y, variance


def in_positions(G, X, variance, inverse_width, factor=2.0, inside=None):
    out = np.zeros_like(X)
    for n, x in enumerate(X):
        for j, z in enumerate(X):
            k = variance * np.exp(-0.5 * inverse_width * np.sum((x - z) ** 2))
            out[n] -= factor * G[n, j] * (inverse_width if inside is None else inside) * k * (x - z)
    return out


def wide_noise(Y, q, degrees=lambda N, D, q: N - 1 - q, over=None):
    (N, D), squares = Y.shape, np.linalg.svd(Y, compute_uv=False)[q:] ** 2
    return squares.sum() / (D if over is None else over(N, D)) / degrees(N, D, q)


def network(Y, V, W, dX, slope=lambda T: 1 - T**2, hidden=np.tanh):
    T = np.tanh(Y @ V)
    return Y.T @ ((dX @ W.T) * slope(T)), hidden(Y @ V).T @ dX


TABLE["gplvm.1"] = Row(
    right=[likelihood, likelihood_by_eigenvalues, lambda Y, K: [multivariate_normal(cov=K).logpdf(Y.T).sum()]],
    wrong=[
        (lambda Y, K: likelihood(Y, K, dets=1), "counted once"),
        (lambda Y, K: likelihood(Y, K, constant=0.0), "constant"),
        (lambda Y, K: likelihood(Y, K, half=1.0), "factor 1/2"),
        (lambda Y, K: likelihood(Y, K, sign=-1.0), "wrong sign"),
        (lambda Y, K: likelihood(Y[:, :3], K), "At N = 5, D = 7"),  # right as long as D is 3 at most
    ],
)
TABLE["gplvm.2"] = Row(
    right=[gradient, lambda Y, K: gradient(Y, K).tolist()],
    wrong=[
        (lambda Y, K: gradient(Y, K, half=1.0), "equation (10)"),
        (lambda Y, K: -gradient(Y, K), "sign"),
        (lambda Y, K: gradient(Y, K, dets=1), "each of the D outputs"),
        (lambda Y, K: gradient(Y, K, dets=0), "part of the trace"),
        (lambda Y, K: gradient(Y, K, dets=3), "finite differences"),  # the D of the first problem
        (lambda Y, K: inv(K) @ Y, "has the shape"),
    ],
)
TABLE["gplvm.3"] = Row(
    right=[lambda X, g, c: [(c * X).tolist(), np.array([g / c**2])], lambda X, g, c: (X * c, g * c**-2.0)],
    wrong=[
        (lambda X, g, c: (c * X, g * c**2), "SMALLER"),
        (lambda X, g, c: (c * X, g / c), "SQUARE"),
        (lambda X, g, c: (c * X, g), "as it was"),
        (lambda X, g, c: (X, g), "positions should be"),
        (lambda X, g, c: (c * X, -g), "does not stay"),
    ],
)
TABLE["gplvm.4"] = Row(
    right=[observation, lambda *a: list(observation(*a)), lambda *a: (observation(*a)[0][0], observation(*a)[1][0])],
    wrong=[
        (lambda *a: observation(*a, noise=0.0), "noise-free"),
        (lambda *a: observation(*a, noise=2.0), "twice"),
        (lambda *a: observation(*a, learnt=0.0), "before any data"),
        (lambda *a: (observation(*a)[0], observation(*a, noise=0.0)[1] + 0.2), "At N = 6, D = 1: the variance"),
        (lambda k, X, Y, x: (k(x, X) @ inv(k(X) - 0.2 * np.eye(len(X))) @ Y, observation(k, X, Y, x)[1]), "(5.7)"),
        (of("gplvm.4", lambda parts: (parts[0], np.tile(parts[1], 2))), "one variance"),
    ],
)
TABLE["gplvm.5"] = Row(
    right=[in_positions, lambda *a: in_positions(*a).tolist()],
    wrong=[
        (lambda *a: in_positions(*a, factor=1.0), "row n AND in column n"),
        (lambda *a: -in_positions(*a), "sign"),
        (lambda *a: in_positions(*a, inside=1.0), "inverse width"),
        (lambda *a: in_positions(*a, factor=4.0), "exponent has a 1/2"),
        (lambda G, X, v, g: in_positions(G, X, 1.0, g), "variance multiplies"),
        (lambda G, X, v, g: in_positions(G, X, v, g).T, "has the shape"),
    ],
)
TABLE["gplvm.6"] = Row(
    right=[wide_noise, lambda Y, q: np.array([[wide_noise(Y, q)]])],
    wrong=[
        (lambda Y, q: wide_noise(Y, q, lambda N, D, q: N - q), "dual PPCA's"),
        (lambda Y, q: wide_noise(Y, q, lambda N, D, q: D - q, lambda N, D: N), "That is PPCA's"),
        (lambda Y, q: wide_noise(Y, q, lambda N, D, q: N - 1), "average over"),
        (lambda Y, q: wide_noise(Y, q, over=lambda N, D: 1), "A factor D"),
    ],
)
TABLE["gplvm.7"] = Row(
    right=[network, lambda *a: [part.tolist() for part in network(*a)]],
    wrong=[
        (lambda *a: network(*a, slope=np.ones_like), "slope of the tanh is missing"),
        (lambda *a: network(*a, slope=lambda T: T), "tanh itself"),
        (lambda *a: network(*a, slope=lambda T: 1 - T), "SQUARE"),
        (lambda *a: network(*a, hidden=lambda A: A), "after their tanh"),
        (lambda *a: network(*a)[::-1], "has the shape"),
        (replaced("gplvm.7", 0, lambda dV, *a: 2 * dV), "back one layer"),
        (replaced("gplvm.7", 1, lambda dW, *a: 2 * dW), "linear in W"),
    ],
)


def cases(kind):
    return [(name, k) for name in EXERCISES for k in range(len(getattr(TABLE[name], kind)))]


def test_the_table_has_every_exercise_with_enough_of_each_kind():
    assert sorted(TABLE) == sorted(EXERCISES) and len(EXERCISES) == 7
    for name, row in TABLE.items():
        assert len(row.right) >= 1 and len({word for _, word in row.wrong}) >= 3, name


@pytest.mark.parametrize("name", EXERCISES)
def test_the_solution_in_the_chapter_passes_and_is_tried_on_two_problems_at_least(name):
    assert check(name, right(name)).passed is True
    assert len(calls_of(name)) >= 2


@pytest.mark.oracle
@pytest.mark.parametrize("name, k", cases("right"))
def test_another_route_and_another_form_pass(name, k):
    verdict = check(name, TABLE[name].right[k])
    assert verdict.passed is True, verdict


@pytest.mark.bad_input
@pytest.mark.parametrize("name, k", cases("wrong"))
def test_a_mistake_is_told_by_its_own_hint(name, k):
    answer, word = TABLE[name].wrong[k]
    verdict = check(name, answer)
    assert verdict.passed is False and word in verdict.message, verdict
    assert "Error" not in verdict.message, verdict


@pytest.mark.bad_input
@pytest.mark.parametrize("name", EXERCISES)
def test_nonsense_does_not_pass(name):
    for answer in nonsense(name):
        verdict = check(name, answer)
        assert verdict.passed is False and verdict.message, (answer, verdict)


# ---------------------------------------------------------------------- the formulas of the answers
@pytest.mark.gradient
def test_the_gradients_of_exercises_5_and_7_are_those_of_differences():
    rng = np.random.default_rng(0)
    A, X = rng.standard_normal((6, 6)), rng.standard_normal((6, 2))
    G = A + A.T

    def through_kernel(x):
        X = x.reshape(6, 2)
        return np.sum(G * RBF(1.7, 0.5)(X)), in_positions(G, X, 1.7, 0.5).ravel()

    assert check_gradient(through_kernel, X.ravel()) < 1e-7
    Y, dX, V, W = (rng.standard_normal(shape) for shape in ((6, 4), (6, 2), (4, 3), (3, 2)))

    def through_network(x):
        V, W = x[:12].reshape(4, 3), x[12:].reshape(3, 2)
        return np.sum(dX * (np.tanh(Y @ V) @ W)), np.concatenate([part.ravel() for part in network(Y, V, W, dX)])

    assert check_gradient(through_network, np.concatenate([V.ravel(), W.ravel()])) < 1e-7


@pytest.mark.identity
def test_an_ever_wider_kernel_ends_in_the_noise_of_exercise_6():
    """The estimator itself, with widths that are fixed ever farther out; dual PPCA's noise is 17 % lower."""
    rng = np.random.default_rng(3)
    Y = rng.standard_normal((9, 4)) * [3.0, 2.0, 1.0, 1.0]
    Y -= Y.mean(axis=0)
    expected, apart = wide_noise(Y, 2), []
    for inverse_width in (1e-2, 1e-3, 1e-4):
        kernel = RBF(1 / inverse_width, inverse_width, fixed=("variance", "inverse_width")) + White(1.0)
        model = GPLVM(2, kernel=kernel, latent_prior=None, max_iter=3000, tol=1e-7).fit(Y)
        apart.append(abs(model.kernel_["white"].variance / expected - 1))
    assert apart[0] > apart[1] > apart[2] and apart[2] < 0.01
