"""One table for the exercises of chapters 1 to 4: what each checker lets pass, what it does not, and what it then says.

The solution is read from the chapter. Beside it stand right answers by another route or in another form, mistakes that
students make, each with a word that its hint must have, and nonsense: invented numbers of the right shape, NaN, and
answers that are no answer. What holds for the checkers of every topic is in test_hostile_answers.py.
"""

import sys
import tracemalloc
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from scipy import linalg, optimize
from scipy.spatial.distance import cdist
from scipy.special import erf
from scipy.stats import multivariate_normal
from test_hostile_answers import VALUES, WITHOUT_NUMBERS, calls_of, right

from gplvm_edu.exercises import check, exercise_names, guard
from gplvm_edu.unify import ClassicalMDS

TOPICS = ("ppca", "kernels", "unify", "wishart")
EXERCISES = [name for topic in TOPICS for name in exercise_names(topic)]


class Row(NamedTuple):
    """What is tried with one checker, besides the solution and nonsense."""

    right: list  # other routes, other forms
    wrong: list  # (mistake, a word of its hint)
    nonsense: tuple = ()


def eye(A):
    return np.eye(len(A))


def inv(A):
    return np.linalg.inv(A)


def of(name, change):
    """The solution of an exercise with a change made to what it returns."""
    return lambda *arguments: change(right(name)(*arguments))


def replaced(name, part, change):
    """The solution of an exercise that returns two things, with a change made to one of them, given the arguments."""

    def answer(*arguments):
        parts = list(right(name)(*arguments))
        parts[part] = change(parts[part], *arguments)
        return tuple(parts)

    return answer


def turn(q, angle=0.8):
    R = np.eye(q)
    R[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return R


def reflection(v):
    return np.eye(len(v)) - 2 * np.outer(v, v) / (v @ v)


TABLE: dict[str, Row] = {}

# ---------------------------------------------------------------------- chapter 1


def density(y, W, s2, constant=1.0, counts=None, divide=True, half=0.5):
    D, q = W.shape
    M = W.T @ W + s2 * np.eye(q)
    log_det = (D - q if counts is None else counts(D, q)) * np.log(s2) + np.log(linalg.det(M))
    square = (y @ y - y @ W @ inv(M) @ W.T @ y) / (s2 if divide else 1.0)
    return -half * (constant * D * np.log(2 * np.pi) + log_det + square)


def density_by_singular_values(y, W, s2):
    U, s, _ = np.linalg.svd(W, full_matrices=False)
    along, variances = U.T @ y, s**2 + s2
    terms = along**2 / variances + np.log(variances)
    return -0.5 * (
        terms.sum()
        + (y @ y - along @ along) / s2
        + (len(y) - len(s)) * np.log(s2)
        + len(y) * np.log(2 * np.pi)  # one term each
    )


def density_point_by_point(y, W, s2):
    """One coordinate after the other, each given those before: a Kalman filter for a state that stands still."""
    mean, covariance, total = np.zeros(W.shape[1]), np.eye(W.shape[1]), 0.0
    for value, w in zip(y, W, strict=True):
        variance, gain = w @ covariance @ w + s2, covariance @ w
        total -= 0.5 * (np.log(2 * np.pi * variance) + (value - w @ mean) ** 2 / variance)
        mean = mean + gain * (value - w @ mean) / variance
        covariance = covariance - np.outer(gain, gain) / variance
    return total


def density_with_a_product(y, W, s2):
    M = W.T @ W + s2 * np.eye(W.shape[1])
    det = np.prod(np.full(len(y) - len(M), s2)) * np.linalg.det(M)
    with np.errstate(divide="ignore"):
        log_det = np.log(det)
    return -0.5 * (len(y) * np.log(2 * np.pi) + log_det + (y @ y - y @ W @ inv(M) @ W.T @ y) / s2)


def density_of_all(y, W, s2):
    return multivariate_normal(cov=W @ W.T + s2 * np.eye(len(W))).logpdf(y)


def density_without_return(y, W, s2):
    density(y, W, s2)


def noises(s, N, D, q):
    eigenvalues = np.zeros(D), np.zeros(N)
    for lam in eigenvalues:
        lam[: len(s)] = s**2
    return [np.mean(eigenvalues[0][q:] / N), np.mean(eigenvalues[1][q:] / D)]


def dual_gradient(Y, X, s2, times=lambda D: D, trace=1.0, whole=1.0):
    K = X @ X.T + s2 * eye(X)
    G = 0.5 * (trace * inv(K) @ Y @ Y.T @ inv(K) - times(Y.shape[1]) * inv(K))
    return whole * 2 * G @ X


def posterior_mean(y, W, s2):
    seen = np.isfinite(y)
    C = W[seen] @ W[seen].T + s2 * eye(W[seen])
    return W[seen].T @ np.linalg.solve(C, y[seen])  # the joint Gaussian's way


def small_posterior(y, W, diagonal):
    seen = np.isfinite(y)
    return np.linalg.solve(W[seen].T @ W[seen] + diagonal * np.eye(W.shape[1]), W[seen].T @ y[seen])


TABLE["ppca.1"] = Row(
    right=[density, density_by_singular_values, density_point_by_point],
    wrong=[
        (lambda *a: density(*a, constant=0.0), "constant"),
        (lambda *a: density(*a, counts=lambda D, q: D), "D - q times"),
        (lambda *a: density(*a, divide=False), "divided by s2"),
        (lambda *a: density(*a, half=1.0), "1/2"),
        (lambda *a: np.exp(density(*a)), "logarithm"),
        (density_of_all, "D x D"),
        (lambda y, W, s2: np.linalg.svd(W)[1][0] * 0 + density(y, W, s2), "D x D"),  # all of U, not only q columns
        (density_with_a_product, "Add logarithms"),
        (density_without_return, "return"),
    ],
)
TABLE["ppca.2"] = Row(
    right=[noises, lambda *a: np.array(noises(*a)), lambda *a: np.array(noises(*a))[:, None]],
    wrong=[
        (of("ppca.2", lambda both: both[::-1]), "swapped"),
        (lambda s, N, D, q: (np.mean(s[q:] ** 2) / N, np.mean(s[q:] ** 2) / D), "zeros included"),
        (lambda s, N, D, q: (np.sum(s[q:] ** 2) / (D - q), np.sum(s[q:] ** 2) / (N - q)), "Y'Y / N"),
        (lambda s, N, D, q: (np.sum(s[q:]) / N / (D - q), np.sum(s[q:]) / D / (N - q)), "square"),
        (of("ppca.2", lambda both: both[0]), "two numbers"),
    ],
)
TABLE["ppca.3"] = Row(
    right=[dual_gradient, of("ppca.3", lambda G: G.tolist())],
    wrong=[
        (lambda *a: dual_gradient(*a, whole=2.0), "Twice"),
        (lambda *a: dual_gradient(*a, whole=-1.0), "sign"),
        (lambda *a: dual_gradient(*a, times=lambda D: 1), "factor D"),
        (lambda *a: dual_gradient(*a, times=lambda D: 0), "trace alone"),
        (of("ppca.3", np.transpose), "shape of X"),
        (lambda *a: dual_gradient(*a, trace=0.0), "finite differences"),
    ],
)
TABLE["ppca.4"] = Row(
    right=[posterior_mean, lambda *a: posterior_mean(*a)[:, None], lambda *a: tuple(posterior_mean(*a))],
    wrong=[
        (
            lambda y, W, s2: np.linalg.solve(W.T @ W + s2 * np.eye(W.shape[1]), W.T @ np.nan_to_num(y)),
            "does not know of the gaps",
        ),
        (lambda y, W, s2: np.linalg.solve(W.T @ W + s2 * np.eye(W.shape[1]), W.T @ y), "NaN"),
        (lambda y, W, s2: small_posterior(y, W, 0.0), "least squares"),
        (lambda y, W, s2: small_posterior(y, W, 1.0), "needs s2"),
        (lambda y, W, s2: W @ small_posterior(y, W, s2), "latent position"),
        (lambda y, W, s2: small_posterior(y, W, np.sqrt(s2)), "joint Gaussian"),
    ],
)
TABLE["ppca.5"] = Row(
    right=[10**0.95, 8.5, [8.6], np.array(8.9)],
    wrong=[
        (1.0, "larger"),
        (10**0.9, "larger"),
        (10.0, "smaller"),
        (0.775, "noise variance itself"),
        (10.87, "first bar"),
    ],
)
TABLE["ppca.6"] = Row(
    right=[
        lambda W: W @ turn(W.shape[1]),
        lambda W: -W @ turn(W.shape[1], 2.0),
        lambda W: W @ reflection(np.arange(1.0, W.shape[1] + 1)),
        lambda W: (W @ np.linalg.qr(np.arange(W.shape[1] ** 2).reshape(W.shape[1], -1) ** 2 + 1.0)[0]).tolist(),
    ],
    wrong=[
        (lambda W: -W, "other signs"),
        (lambda W: W, "unchanged"),
        (lambda W: W * np.where(np.arange(W.shape[1]), 1, -1), "other signs"),
        (lambda W: W[:, ::-1], "another order"),
        (lambda W: np.column_stack([W, np.zeros(len(W))]), "further column"),
        (lambda W: 2 * W, "W W' has changed"),
        (lambda W: turn(len(W)) @ W, "the data's side"),
        (np.transpose, "shape of W"),
        (lambda W: np.linalg.svd(W, full_matrices=False)[0] * np.linalg.svd(W)[1], "orthogonal columns"),
    ],
)
TABLE["ppca.7"] = Row(
    right=[
        lambda S, W, xx, xy: np.diag(S - W @ xy - xy.T @ W.T + W @ xx @ W.T),
        lambda S, W, xx, xy: np.diag(S - xy.T @ inv(xx) @ xy)[:, None],
    ],
    wrong=[
        (lambda S, W, xx, xy: S - W @ xy, "diagonal"),
        (lambda S, W, xx, xy: np.mean(np.diag(S - W @ xy)), "pooled"),
        (lambda S, W, xx, xy: np.full(len(S), np.mean(np.diag(S - W @ xy))), "pooled"),
        (lambda S, W, xx, xy: np.diag(S), "What W explains"),
        (lambda S, W, xx, xy: np.diag(S - 2 * W @ xy), "third term"),
        (of("ppca.7", np.sqrt), "standard deviations"),
        (lambda S, W, xx, xy: np.diag(S - W @ W.T), "should be"),
    ],
)

# ---------------------------------------------------------------------- chapter 2


def rbf(X, Z, theta, gamma, power=2):
    return theta * np.exp(-0.5 * gamma * cdist(X, Z) ** power)


def rbf_in_loops(X, Z, theta, gamma):
    K = np.empty((len(X), len(Z)))
    for n in range(len(X)):
        for m in range(len(Z)):
            K[n, m] = theta * np.exp(-0.5 * gamma * np.sum((X[n] - Z[m]) ** 2))
    return K


def rbf_by_dimensions(X, Z, theta, gamma):
    s = np.zeros((len(X), len(Z)))
    for x, z in zip(X.T, Z.T, strict=True):
        s += (x[:, None] - z) ** 2
    return theta * np.exp(-0.5 * gamma * s)


def rbf_by_rows(X, Z, theta, gamma):
    return [theta * np.exp(-0.5 * gamma * np.sum((x - Z) ** 2, axis=1)) for x in X]


def rbf_in_one_array(X, Z, theta, gamma):
    return theta * np.exp(-0.5 * gamma * np.sum((X[:, None] - Z[None]) ** 2, axis=2))


def rbf_of_sums(X, Z, theta, gamma):
    """exp(-|x|^2 / 2) exp(x'z) exp(-|z|^2 / 2), by einsum and an outer product."""
    fades = [np.exp(-0.5 * gamma * np.einsum("nd,nd->n", P, P)) for P in (X, Z)]
    return theta * np.outer(*fades) * np.exp(gamma * X @ Z.T)


def rbf_gradient(G, X, theta, gamma, both=True, times=1.0, width=True):
    """Point by point: the derivative of every entry in row n and in column n."""
    K, grad = rbf(X, X, theta, gamma), np.zeros(X.shape)
    for n, m in np.ndindex(K.shape):
        slope = -(gamma if width else 1.0) * K[n, m] * (X[n] - X[m])
        grad[n] += G[n, m] * slope
        if both:
            grad[m] -= G[n, m] * slope
    return times * grad


def unit_covariance(x, z, w, b, twice=2.0, front=2 / np.pi):
    w, b = twice * w, twice * b
    dx, dz = w * x @ x + b + 1, w * z @ z + b + 1
    return front * np.arctan((w * x @ z + b) / np.sqrt(dx * dz - (w * x @ z + b) ** 2))


def unit_by_averaging(x, z, w, b, n=801):
    """The two-dimensional integral over what the unit is given at x and z, on a grid."""
    C = np.array([[w * p @ r + b for r in (x, z)] for p in (x, z)])
    t = np.linspace(-8, 8, n)
    weight = np.exp(-0.5 * t**2)
    weight /= weight.sum()
    L = np.linalg.cholesky(C)
    return weight @ (erf(L[0, 0] * t)[:, None] * erf(L[1, 0] * t[:, None] + L[1, 1] * t)) @ weight


def gp(kernel, X, y, X_new, noisy=True, observed=False):
    """The joint Gaussian of observations and function values, conditioned through a Cholesky factor."""
    K = kernel(X) if noisy else kernel(X, X) + 1e-10 * eye(X)
    L = np.linalg.cholesky(K)
    a = linalg.solve_triangular(L, kernel(X, X_new), lower=True)
    mean = a.T @ linalg.solve_triangular(L, y, lower=True)
    return mean, np.diag(kernel(X_new) if observed else kernel(X_new, X_new)) - np.sum(a**2, axis=0)


TABLE["kernels.1"] = Row(
    right=[rbf, rbf_of_sums, lambda *a: rbf(*a).tolist()],
    wrong=[
        (rbf_in_loops, "loop"),
        (rbf_by_dimensions, "loop"),
        (rbf_by_rows, "loop"),
        (lambda X, Z, t, g: np.array([[rbf(x[None], z[None], t, g)[0, 0] for z in Z] for x in X]), "loop"),
        (rbf_in_one_array, "room for"),
        (lambda X, Z, t, g: rbf(X, Z, t, 2 * g), "twice too large"),
        (lambda X, Z, t, g: rbf(Z, X, t, g), "shape"),
        (lambda X, Z, t, g: rbf(X, Z, 1.0, g), "theta"),
        (lambda X, Z, t, g: rbf(X, Z, t, g, power=1), "square"),
    ],
)
TABLE["kernels.2"] = Row(
    right=[rbf_gradient, of("kernels.2", lambda G: G.tolist())],
    wrong=[
        (lambda *a: rbf_gradient(*a, both=False), "first argument only"),
        (lambda *a: rbf_gradient(*a, both=False, times=2.0), "symmetric"),
        (lambda *a: rbf_gradient(*a, times=-1.0), "sign"),
        (lambda *a: rbf_gradient(*a, width=False), "gamma"),
        (lambda *a: rbf_gradient(*a, times=2.0), "Twice"),
        (of("kernels.2", np.transpose), "shape of X"),
    ],
)
TABLE["kernels.3"] = Row(
    right=[unit_covariance, unit_by_averaging, lambda *a: np.array([[unit_covariance(*a)]])],
    wrong=[
        (lambda *a: unit_covariance(*a, twice=1.0, front=1.0), "Two mistakes"),
        (lambda *a: unit_covariance(*a, twice=1.0), "Now the variances"),
        (lambda *a: unit_covariance(*a, front=1.0), "Now the constant"),
        (lambda *a: unit_covariance(*a, twice=4.0), "twice is enough"),
    ],
)
TABLE["kernels.4"] = Row(
    right=[lambda angle: np.pi / 2 - angle, lambda angle: np.arctan2(np.cos(angle), abs(np.sin(angle)))],
    wrong=[
        (np.cos, "argument of the arcsine"),
        (lambda angle: angle, "arccosine"),
        (lambda angle: 1 - 2 * angle / np.pi, "2 / pi"),
        (np.sin, "tends to"),
        (lambda angle: 90 - np.degrees(angle), "tends to"),
    ],
)
TABLE["kernels.5"] = Row(
    right=[10.0, 10**0.95, 10**1.05, [9.9], np.array(9.87)],
    wrong=[
        (np.pi, "square root"),
        (1.0, "0.32 times"),
        (1 / np.pi, "a width"),
        (10**0.9, "0.90 times"),
        (10**1.1, "1.13 times"),
    ],
)
TABLE["kernels.6"] = Row(
    right=[gp, lambda *a: [part[:, None] for part in gp(*a)], lambda *a: np.array(gp(*a))],
    wrong=[
        (lambda *a: gp(*a, noisy=False), "through every observation"),
        (lambda *a: gp(*a, observed=True), "new observation"),
        (lambda k, X, y, Z: (gp(k, X, y, Z)[0], np.diag(gp(k, X, y, Z)[1])), "diagonal"),
        (replaced("kernels.6", 1, lambda v, *_: np.sqrt(v)), "standard deviations"),
        (replaced("kernels.6", 1, lambda v, k, X, y, Z: np.diag(k(Z, Z))), "before any observation"),
        (of("kernels.6", lambda both: both[0]), "two vectors"),
        (of("kernels.6", lambda both: both[::-1]), "mean at the first"),
    ],
)
TABLE["kernels.7"] = Row(
    right=[
        *(
            "hdca",
            "a, c, d, h",
            "A C D H",
            "(a), (c), (d), (h)",
            "a; c; d; h",
            "a, c, d and h",
            "a,c & d/h",
            "{a,c,d,h}",
        ),
        *("The kernels are a, c, d and h.", ["a", "c", "d", "h"], ("(a)", "(c)", "(d)", "(h)"), set("acdh")),
        *(np.array(list("acdh")), np.array("acdh"), "acdhh", {letter: letter in "acdh" for letter in "abcdefgh"}),
    ],
    wrong=[
        ("acdhb", "(b) is none: on a grid"),
        ("a, c, d, e, h", "not symmetric"),
        ("acd", "1 of those that you left out is a kernel"),
        ({letter: letter in "acdhe" for letter in "abcdefgh"}, "not symmetric"),
        ("a", "3 of those that you left out are kernels"),
        ("xyz", "letters from a to h"),
        ("all but b, e, f, g", "letters from a to h"),
        (lambda: "acdh", "letters from a to h"),
    ],
    nonsense=("abcdefgh", [1, 2, 3]),
)

# ---------------------------------------------------------------------- chapter 3


def kl(S, K):
    rho = linalg.eigvalsh(S, K)
    return 0.5 * np.sum(rho - 1 - np.log(rho))


def apart(m, n, K):
    return 0.5 * (m - n) @ inv(K) @ (m - n)


def kl_with_means(m, S, n, K):
    """(3.3) with the second moments of the first Gaussian about the mean of the second."""
    about = S + np.outer(m - n, m - n)
    logs = np.linalg.slogdet(K)[1] - np.linalg.slogdet(S)[1]
    return 0.5 * (logs + np.trace(inv(K) @ about) - len(m))


def mds(D, q, power=2, half=0.5, root=0.5):
    H = eye(D) - 1 / len(D)
    lam, U = np.linalg.eigh(-half * H @ D**power @ H)
    return U[:, ::-1][:, :q] * np.maximum(lam[::-1][:q], 0.0) ** root


def mds_by_singular_values(D, q):
    """Right for points of a flat space; singular values have lost the sign of a negative eigenvalue."""
    H = eye(D) - 1 / len(D)
    U, s, _ = np.linalg.svd(-0.5 * H @ D**2 @ H)
    return U[:, :q] * np.sqrt(s[:q])


def mds_by_strain(D, q):
    """The least strain by descent: no eigenvectors."""
    H = eye(D) - 1 / len(D)
    S, rng = -0.5 * H @ D**2 @ H, np.random.default_rng(0)

    def strain(x):
        X = x.reshape(-1, q)
        E = X @ X.T - S
        return np.sum(E**2), (4 * E @ X).ravel()

    options = {"maxiter": 20_000, "gtol": 1e-11, "ftol": 1e-16}
    return optimize.minimize(
        strain, rng.standard_normal(len(D) * q), jac=True, method="L-BFGS-B", options=options
    ).x.reshape(-1, q)


def refusing(D, q):
    """The package's own, which refuses distances that belong to no points."""
    return ClassicalMDS(q, metric="distance").fit_transform(D)


def mds_with_noise(D, q):
    """The lengths of (3.11), root of lambda - c, in the place of those of least strain."""
    H = eye(D) - 1 / len(D)
    lam, U = np.linalg.eigh(-0.5 * H @ D**2 @ H)
    return U[:, -q:] * np.sqrt(lam[-q:] - lam[:-q].mean())


def mds_from_the_first_point(D, q):
    """Coordinates from inner products about the first point, then the principal axes of them."""
    about = 0.5 * (D[:, :1] ** 2 + D[:1] ** 2 - D**2)
    lam, U = np.linalg.eigh(about)
    Y = U * np.sqrt(np.maximum(lam, 0.0))
    Y -= Y.mean(axis=0)
    return Y @ np.linalg.svd(Y)[2][:q].T


def largest(lam, q):
    return np.argsort(lam)[::-1][:q]


def minimum(discarded, mean=lambda d: len(d) / np.sum(1 / d), half=0.5):
    c = mean(discarded)
    t = c / discarded
    return c, half * np.sum(t - 1 - np.log(t))  # h(c / lambda), summed


def preimage(Y, weights, width, y, half=0.5, near=True, weighted=True, over=None):
    pulls = [
        (w if weighted else 1.0) * (np.exp(-half * width * np.sum((y - row) ** 2)) if near else 1.0)
        for w, row in zip(weights, Y, strict=True)
    ]
    return sum(p * row for p, row in zip(pulls, Y, strict=True)) / (sum(pulls) if over is None else over(weights))


def unlike(Y, Ks, constant=1.0, sign=1.0):
    N, values = len(Y), []
    for y, K in zip(Y.T, Ks, strict=True):
        L = np.linalg.cholesky(K)
        e = linalg.solve_triangular(L, y, lower=True)
        values.append(-0.5 * (e @ e + constant * N * np.log(2 * np.pi)) - np.sum(np.log(np.diag(L))))
    return sign * np.sum(values)


def above_the_mean_of_all(lam, q, noise=lambda lam, rest: lam.mean()):
    def gap(kept):
        kept = list(kept)
        rest = np.delete(lam, kept)
        return np.inf if lam[kept].min() < noise(lam, rest) else np.log(rest.mean()) - np.log(rest).mean()

    return min((list(kept) for kept in combinations(range(len(lam)), q)), key=gap)


def scales(Y, K):
    e = linalg.solve_triangular(np.linalg.cholesky(K), Y, lower=True)
    return 1 / np.sqrt(np.mean(e**2, axis=0))


TABLE["unify.1"] = Row(
    right=[kl_with_means, lambda m, S, n, K: kl(S, K) + apart(m, n, K)],
    wrong=[
        (lambda m, S, n, K: kl(S, K), "equal means"),
        (lambda m, S, n, K: kl(S, K) + 2 * apart(m, n, K), "twice"),
        (lambda m, S, n, K: kl(S, K) + apart(m, n, S), "surprised"),
        (lambda m, S, n, K: kl(K, S) + apart(m, n, S), "reversed"),
        (lambda m, S, n, K: kl(S, K) - apart(m, n, K), "sign"),
        (lambda m, S, n, K: kl_with_means(m, S, n, K) + len(m) / 2, "N/2"),
        (1.0, "function is wanted"),
    ],
)
TABLE["unify.2"] = Row(
    right=[
        mds,
        mds_by_strain,
        refusing,
        lambda D, q: mds(D, q) @ turn(q) + 3.0 if q > 1 else -mds(D, q),
        lambda D, q: mds(D, q)[:, ::-1].tolist(),
    ],
    wrong=[
        (lambda D, q: mds(D, q, power=1), "SQUARED"),
        (lambda D, q: mds(D, q, half=1.0), "1.414 times too large"),
        (lambda D, q: mds(D, q, half=0.25), "1.414 times too small"),
        (mds_with_noise, "lambda - c"),
        (lambda D, q: np.zeros((len(D), q)), "same place"),
        (lambda D, q: mds(D, 2), "q = 1"),
        (lambda D, q: mds(D, q).T, "shape"),
        (lambda D, q: mds(D, q, root=0.0), "eigenvectors"),
        (lambda D, q: mds(D, q, root=1.0), "roots"),
        (lambda D, q: mds(D, len(D))[:, -q:], "sorts upwards"),
        (lambda D, q: mds(D, q, power=3), "classical MDS"),
        (mds_by_singular_values, "lost its sign"),
        (mds_from_the_first_point, "where an eigenvalue is negative"),
    ],
)
TABLE["unify.3"] = Row(
    right=[
        largest,
        lambda lam, q: np.isin(np.arange(len(lam)), largest(lam, q)),
        lambda lam, q: tuple(sorted(map(float, largest(lam, q)))),
        lambda lam, q: lam >= np.sort(lam)[-q],
        lambda lam, q: set(largest(lam, q).tolist()),
    ],
    wrong=[
        (lambda lam, q: np.argsort(lam)[:q], "length"),
        (lambda lam, q: np.sort(lam)[::-1][:q], "positions"),
        (lambda lam, q: np.argsort(lam)[:-q], "you keep 6"),
        (lambda lam, q: [1] * q, "twice"),
        (lambda lam, q: largest(lam, q) + 1, "best feasible"),
        (lambda lam, q: list(range(q)), "best feasible"),
        (above_the_mean_of_all, "lies below it"),
        (lambda lam, q: above_the_mean_of_all(lam, q, lambda _, d: np.exp(np.mean(np.log(d)))), "lies below it"),
        (lambda lam, q: above_the_mean_of_all(lam, q, lambda _, d: len(d) / np.sum(1 / d)), "lies below it"),
        (lambda lam, q: above_the_mean_of_all(lam, q, lambda _, d: np.median(d)), "lies below it"),
        (lambda lam, q: above_the_mean_of_all(lam, q, lambda lam, d: d.sum() / len(lam)), "lies below it"),
        (lambda lam, q: above_the_mean_of_all(lam, q, lambda lam, d: d.sum() / (len(lam) - 1)), "lies below it"),
        (lambda lam, q: above_the_mean_of_all(lam, q, lambda _, d: d.sum() / (len(d) + 1)), "lies below it"),
        (lambda lam, q: above_the_mean_of_all(lam, q, lambda _, d: d.sum() / (len(d) - 1)), "you keep the smallest"),
        (lambda lam, q: largest(lam, q) - len(lam), "counted from 0"),
    ],
)
TABLE["unify.4"] = Row(
    right=[minimum, lambda d: list(minimum(d)), lambda d: np.array(minimum(d))],
    wrong=[
        (lambda d: minimum(d, np.mean), "arithmetic mean belongs"),
        (lambda d: minimum(d, lambda d: np.exp(np.mean(np.log(d)))), "geometric mean"),
        (lambda d: minimum(d, half=1.0), "1/2 of (3.4)"),
        (lambda d: minimum(d, half=-0.5), "noise is right"),
        (lambda d: minimum(d)[::-1], "swapped"),
        (lambda d: minimum(d)[0], "two numbers"),
        (lambda d: dict(zip(("noise", "divergence"), minimum(d), strict=True)), "two numbers"),
    ],
)
TABLE["unify.5"] = Row(
    right=[0.5 * np.log(10), 1.15, 1.132, [1.149]],
    wrong=[
        (np.log(10), "Twice"),
        (5.5 * np.log(10), "Divide"),
        (-0.5 * np.log(10), "sign"),
        (0.5, "natural logarithms"),
        (0.989, "0.01 or less"),
        (11 / 12 * 0.5 * np.log(10), "count"),
        (0.1, "ten times smaller"),
    ],
)
TABLE["unify.6"] = Row(
    right=[preimage, lambda *a: preimage(*a).tolist(), lambda *a: preimage(*a)[None]],
    wrong=[
        (lambda *a: preimage(*a, near=False), "Near points count more"),
        (lambda *a: preimage(*a, weighted=False), "weights are missing"),
        (lambda *a: preimage(*a, over=lambda w: 1.0), "divide by the sum"),
        (lambda *a: preimage(*a, over=np.sum), "not by the sum of the weights"),
        (lambda *a: preimage(*a, half=1.0), "twice too large"),
        (lambda Y, weights, width, y: y, "should lead to"),
    ],
)
TABLE["unify.7"] = Row(
    right=[
        unlike,
        lambda Y, Ks: multivariate_normal(cov=linalg.block_diag(*Ks)).logpdf(Y.T.ravel()),
        lambda Y, Ks: [unlike(Y, Ks)],
    ],
    wrong=[
        (lambda *a: unlike(*a, constant=0.0), "constant"),
        (lambda *a: unlike(*a, sign=-1.0), "sign"),
        (lambda Y, Ks: unlike(Y, Ks) / Y.shape[1], "mean over the columns"),
        (lambda Y, Ks: unlike(Y, [Ks[0]] * len(Ks)), "first covariance"),
        (lambda Y, Ks: unlike(Y, [np.mean(Ks, axis=0)] * len(Ks)), "mean of the covariances"),
        (lambda Y, Ks: unlike(Y, Ks[::-1]), "should be"),
    ],
)
TABLE["unify.8"] = Row(
    right=[scales, lambda *a: list(scales(*a)), lambda *a: scales(*a)[None]],
    wrong=[
        (lambda *a: scales(*a) ** 2, "squares"),
        (lambda *a: 1 / scales(*a), "inverses"),
        (lambda Y, K: scales(Y, K) / np.sqrt(len(Y)), "N ln eta"),
        (lambda Y, K: scales(Y, eye(K)), "K = I"),
        (lambda Y, K: np.sqrt(Y.size / np.trace(Y.T @ inv(K) @ Y)), "not one for all"),
        (lambda Y, K: scales(Y, inv(K)), "should be"),
    ],
)

# ---------------------------------------------------------------------- chapter 4


def entries(Sigma, r):
    """Entry by entry: cov(a_ij, a_kl) = r (s_ik s_jl + s_il s_jk), for kl = ij."""
    N = len(Sigma)
    variance = [[r * (Sigma[i, i] * Sigma[j, j] + Sigma[i, j] * Sigma[j, i]) for j in range(N)] for i in range(N)]
    return (r * Sigma).tolist(), variance


def crossed(Sigma):
    return np.outer(np.diag(Sigma), np.diag(Sigma))


def coordinates(D2, q, divisor=0, half=0.5, N=None, shorten=True):
    H = eye(D2) - 1 / len(D2)
    U, lam, _ = np.linalg.svd(-half * H @ D2 @ H / (N or len(D2)))
    s2 = lam[q:].sum() / (len(D2) - divisor - q)
    return U[:, :q] * np.sqrt(np.maximum(lam[:q] - (s2 if shorten else 0.0), 0.0)), s2


def coordinates_from_features(D2, q):
    """Any points with these distances, then dual PPCA of them: S is an average over N features."""
    about = 0.5 * (D2[:, :1] + D2[:1] - D2)
    lam, V = np.linalg.eigh(about)
    F = V * np.sqrt(np.maximum(lam, 0.0))
    F -= F.mean(axis=0)
    U, s, _ = np.linalg.svd(F / np.sqrt(len(F)))
    s2 = (np.sum(s**2) - np.sum(s[:q] ** 2)) / (len(F) - q)
    return U[:, :q] @ np.diag(np.sqrt(s[:q] ** 2 - s2)) @ turn(q), s2


def em_step(HAH, X, s2, beside=None, over=None):
    """Through the expected weights, (4.29) and (4.31), with HF instead of HAH."""
    N, q = X.shape
    lam, U = np.linalg.eigh(HAH)
    F = U * np.sqrt(np.maximum(lam, 0.0))
    M = X.T @ X + s2 * np.eye(q)
    W = F.T @ X @ inv(M)
    second = (N if beside is None else beside(N)) * s2 * inv(M) + W.T @ W
    X_new = F @ W @ inv(second)
    return X_new, np.trace(HAH - X_new @ W.T @ F.T) / (N**2 if over is None else over(N))


def contrasts_noise(A, q, divisor=1, over=0, times=1.0, centred=True):
    """(The trace less the largest eigenvalues) over what is left, from HAH."""
    N = len(A)
    H = eye(A) - 1 / N if centred else eye(A)
    lam = np.sort(np.linalg.svd(H @ A @ H / (N - over), compute_uv=False))[::-1]
    return times * lam[q:].sum() / (N - divisor - q)


def contrasts_by_differences(A, q):
    """Differences of neighbours, made orthonormal: other contrasts, the same eigenvalues."""
    N = len(A)
    B, _ = np.linalg.qr(np.diff(np.eye(N), axis=0).T)
    lam = np.linalg.eigvalsh(B.T @ A @ B / N)
    return np.mean(lam[:-q])


def finish(S, X, over=None, shorten=True, explained=1.0):
    """X spans an invariant subspace: SX = XT, and the small matrix T has the eigenvalues."""
    T = np.linalg.lstsq(X, S @ X, rcond=None)[0]
    lam, V = np.linalg.eig(T)
    axes = X @ V / np.linalg.norm(X @ V, axis=0)
    N, q = X.shape
    noise = (np.trace(S) - explained * lam.sum()) / (N - q if over is None else over)
    return axes * np.sqrt(lam - (noise if shorten else 0.0)), noise


def finish_by_whitening(S, X):
    """With the symmetric root of X'X for an orthonormal basis."""
    lam, V = np.linalg.eigh(X.T @ X)
    basis = X @ V / np.sqrt(lam)
    U, s, _ = np.linalg.svd(basis.T @ S @ basis)
    noise = (np.trace(S) - s.sum()) / (len(S) - len(s))
    return basis @ U @ np.diag(np.sqrt(s - noise)) @ turn(2), noise


def finish_without_looking(S, X):
    lam, U = np.linalg.eigh(S)
    noise = lam[:-2].sum() / (len(S) - 2)
    return U[:, -2:] * np.sqrt(lam[-2:] - noise), noise


def finish_by_powers(S, X):
    """Power iteration from anywhere, which needs no eigenproblem, and no X either."""
    Z = np.random.default_rng(0).standard_normal(X.shape)
    for _ in range(200):
        Z = np.linalg.qr(S @ Z)[0]
    return finish(S, Z)


def finish_by_projecting(S, X, eigh=np.linalg.eigh):
    P = X @ np.linalg.pinv(X)
    lam, U = eigh(P @ S @ P)
    noise = (np.trace(S) - lam[-2:].sum()) / (len(S) - 2)
    return U[:, -2:] * np.sqrt(lam[-2:] - noise), noise


def factor_step(S, X, psi, certain=False, old=False, pool=False):
    """Feature by feature: factor analysis with features as rows and points as columns."""
    N, q = X.shape
    lam, U = np.linalg.eigh(S)
    F = U * np.sqrt(np.maximum(N * lam, 0.0))  # N features whose second moments are S
    G = np.eye(q) + X.T @ np.diag(1 / psi) @ X
    W = F.T @ np.diag(1 / psi) @ X @ inv(G)
    xx = (0.0 if certain else inv(G)) + W.T @ W / N
    X_new = F @ W @ inv(xx) / N
    new = np.diag(S - (X if old else X_new) @ (W.T @ F.T / N))
    return X_new, np.full(N, new.mean()) if pool else new


TABLE["wishart.1"] = Row(
    right=[entries, lambda *a: np.array(entries(*a))],
    wrong=[
        (lambda S, r: (S, r * (S**2 + crossed(S))), "sum of r terms"),
        (lambda S, r: (r * S, r * crossed(S)), "as independent"),
        (lambda S, r: (r * S, r**2 * (S**2 + crossed(S))), "not r squared"),
        (lambda S, r: (r * S, r * (2 * S**2 + crossed(S))), "square of its mean"),
        (lambda S, r: (r * S, np.sqrt(r * (S**2 + crossed(S)))), "standard deviations"),
        (lambda S, r: (np.diag(r * S), np.diag(2 * r * S**2)), "shapes"),
    ],
)
TABLE["wishart.2"] = Row(
    right=[
        coordinates,
        coordinates_from_features,
        lambda D2, q: (-coordinates(D2, q)[0][:, ::-1], [coordinates(D2, q)[1]]),
    ],
    wrong=[
        (lambda D2, q: coordinates(D2, q, divisor=1), "zero that centring makes"),
        (lambda D2, q: coordinates(D2, q, N=1), "A factor N"),
        (lambda D2, q: coordinates(D2, q, half=1.0), "factor -1/2"),
        (lambda D2, q: coordinates(D2, q, shorten=False), "shortened"),
        (lambda D2, q: (coordinates(D2, q)[0] + 0.1, coordinates(D2, q)[1]), "shifted"),
        (lambda D2, q: right("wishart.2")(D2**2, q), "squared already"),
        (lambda D2, q: coordinates(D2, 2), "shapes"),
        (lambda D2, q: coordinates(D2, q)[::-1], "shapes"),
    ],
)
TABLE["wishart.3"] = Row(
    right=[em_step, lambda *a: list(em_step(*a))],
    wrong=[
        (lambda *a: em_step(*a, beside=lambda N: 1, over=lambda N: N), "the error itself"),
        (lambda *a: em_step(*a, beside=lambda N: 1), "beside s2"),
        (lambda *a: em_step(*a, over=lambda N: N), "another"),
        (lambda *a: em_step(*a, over=lambda N: 1), "X is right"),
        (lambda *a: em_step(*a, beside=lambda N: N**2), "X differs"),
    ],
)
TABLE["wishart.4"] = Row(
    right=[contrasts_noise, contrasts_by_differences],
    wrong=[
        (lambda *a: contrasts_noise(*a, divisor=0), "zero of centring"),
        (lambda *a: contrasts_noise(*a, over=1), "by N, as before"),
        (lambda A, q: contrasts_noise(A, q, times=len(A)), "A factor N"),
        (lambda *a: contrasts_noise(*a, centred=False), "offsets and all"),
        (lambda *a: contrasts_noise(*a, divisor=2), "should be"),
    ],
)
TABLE["wishart.5"] = Row(
    right=[746, 760, 730, [745], np.array(750.0)],
    wrong=[
        (50, "paper's number"),
        (568, "noise 1"),
        (300, "more iterations"),
        (900, "fewer iterations"),
        (789, "near the forecast"),
        (5000, "fewer iterations"),
    ],
)
TABLE["wishart.6"] = Row(
    right=[finish, finish_by_whitening, lambda *a: (-finish(*a)[0][:, ::-1], finish(*a)[1])],
    wrong=[
        (finish_without_looking, "an eigenproblem of size 9 x 9"),
        (finish_by_powers, "look at X"),
        (finish_by_projecting, "an eigenproblem of size 9 x 9"),
        (lambda S, X: finish_by_projecting(S, X, linalg.eigh), "an eigenproblem of size 9 x 9"),
        (lambda S, X: finish(S, X, over=len(S)), "not over N"),
        (lambda S, X: finish(S, X, explained=0.0), "taken from the trace"),
        (lambda S, X: finish(S, X, shorten=False), "not shortened"),
        (lambda S, X: (X, finish(S, X)[1]), "orthonormal basis"),
        (lambda S, X: (np.linalg.qr(X)[0], finish(S, X)[1]), "orthonormal basis"),
        (lambda S, X: (finish(S, X)[0], np.linalg.eigvalsh(S)[-3]), "over N - q"),
    ],
)
TABLE["wishart.7"] = Row(
    right=[factor_step, lambda *a: (factor_step(*a)[0].tolist(), factor_step(*a)[1][:, None])],
    wrong=[
        (lambda *a: factor_step(*a, pool=True), "averaged over the points"),
        (lambda *a: factor_step(*a, old=True), "old X"),
        (lambda *a: factor_step(*a, certain=True), "M_psi^-1 is missing"),
        (lambda *a: (factor_step(*a)[0], 2 * factor_step(*a)[1]), "X is right"),
        (lambda *a: (factor_step(*a)[0], np.diag(factor_step(*a)[1])), "diagonal"),
        (lambda S, X, psi: (X, psi), "likelihood"),
    ],
)


# ---------------------------------------------------------------------- nonsense
def invented(name, draw):
    """An answer of the right form whose numbers are drawn."""

    def like(value):
        if isinstance(value, tuple):
            return tuple(like(part) for part in value)
        return draw(np.asarray(value, float))

    answer = right(name)
    return (lambda *arguments: like(answer(*arguments))) if callable(answer) else like(answer)


def nonsense(name):
    rng = np.random.default_rng(0)
    plain = ("text", (), [], {}, object(), True, lambda: 1.0, lambda *_: "text", lambda *_: (1, 2, 3))
    if name == "kernels.7":
        return plain
    draws = (
        lambda a: rng.standard_normal(a.shape),
        lambda a: np.full(a.shape, np.nan),
        np.zeros_like,
        np.ones_like,
        lambda a: a + 1e-3 * np.abs(a).max() * rng.standard_normal(a.shape),  # three digits are not enough
    )
    found = [invented(name, draw) for draw in (draws if callable(right(name)) else draws[:4])]
    return (*plain, *found)


# ---------------------------------------------------------------------- the tests
def cases(kind):
    return [(name, k) for name in EXERCISES for k in range(len(getattr(TABLE[name], kind)))]


def test_the_table_has_every_exercise_with_enough_of_each_kind():
    assert sorted(TABLE) == sorted(EXERCISES) and len(EXERCISES) == 29
    for name, row in TABLE.items():
        assert len(row.right) >= 1 and len(row.wrong) >= 3, name
        hints = [word for _, word in row.wrong]
        assert len(set(hints)) >= 3, name  # three different mistakes


@pytest.mark.parametrize("name", EXERCISES)
def test_the_solution_in_the_chapter_passes(name):
    verdict = check(name, right(name))
    assert verdict.passed is True, verdict


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
    assert "Error" not in verdict.message, verdict  # a sentence, not what Python said


@pytest.mark.bad_input
@pytest.mark.parametrize("name", EXERCISES)
def test_nonsense_does_not_pass(name):
    for answer in (*nonsense(name), *TABLE[name].nonsense):
        verdict = check(name, answer)
        assert verdict.passed is False and verdict.message, (answer, verdict)


@pytest.mark.parametrize("name", [name for name in EXERCISES if name not in VALUES + WITHOUT_NUMBERS])
def test_a_function_is_tried_with_more_than_one_problem(name):
    assert len(calls_of(name)) >= 2


# ---------------------------------------------------------------------- what the checkers see of a function
def test_memory_is_measured_beside_a_reader_who_measures_it_too():
    assert check("ppca.1", density_of_all).message.startswith("Right for D = 5, but for D = 1000 it needs")
    assert not tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        held = np.zeros(500_000)  # counts for the reader, not for the answer
        assert check("ppca.1", density) and tracemalloc.is_tracing() and held.size
    finally:
        tracemalloc.stop()


def test_lines_are_counted_in_functions_that_are_called_and_the_count_is_taken_away_afterwards():
    def row(n):
        return sum(k * k for k in range(n))

    counts = [guard.lines_run(lambda n: [row(n) for _ in range(n)], n)[1] for n in (3, 30)]
    assert counts[1] - counts[0] > 800 and sys.gettrace() is None
    with pytest.raises(ZeroDivisionError):
        guard.lines_run(lambda: 1 / 0)
    assert sys.gettrace() is None


def test_shapes_are_seen_in_numpy_and_in_scipy_and_only_of_the_functions_named():
    def answer(A):
        linalg.eigh(A), np.linalg.svd(A[:2], full_matrices=False), np.linalg.qr(A)
        return np.linalg.pinv(A[:, :1])  # by singular values

    _, shapes = guard.shapes_given({"eigh", "svd"}, answer, np.eye(3))
    assert set(shapes) == {(3, 3), (2, 3), (3, 1)} and sys.gettrace() is None
