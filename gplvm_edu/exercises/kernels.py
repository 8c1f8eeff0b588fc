"""Checkers of chapter 2. Each compares an answer with a second way to the same number."""

import tracemalloc
from itertools import islice

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import erf

from ..kernels import MLP, RBF, White, gp_posterior
from . import checker
from .answers import close, number, numbers, two_parts

# The candidates of exercise 7, on the whole line; the letters are those of the page.
CANDIDATES = {
    "a": lambda x, z: np.exp(-np.abs(x - z)),
    "b": lambda x, z: np.abs(x - z),
    "c": lambda x, z: (x * z + 1) ** 2,
    "d": lambda x, z: np.cos(x - z),
    "e": lambda x, z: np.sin(x - z),
    "f": lambda x, z: np.exp(-(np.abs(x - z) ** 3)),
    "g": lambda x, z: np.exp(-((x - z) ** 2)) - np.exp(-2 * (x - z) ** 2),
    "h": lambda x, z: np.exp(x * z),
}


def lowest_eigenvalue(function, n_points=41):
    """Smallest eigenvalue of the matrix of a candidate over a grid, as a share of the largest; (2.5) by computation.

    An asymmetric matrix has no place among covariances: it counts as minus infinity. Equation (2.5).

    Examples
    --------
    >>> bool(lowest_eigenvalue(CANDIDATES["b"]) < -0.1)
    True
    """
    lowest = np.inf
    for width in (0.5, 2.0, 6.0):
        x = np.linspace(-width, width, n_points)
        K = function(x[:, None], x[None, :])
        if not np.allclose(K, K.T):
            return -np.inf
        eigenvalues = np.linalg.eigvalsh(K)
        lowest = min(lowest, eigenvalues[0] / np.abs(eigenvalues).max())  # (2.5)
    return lowest


@checker("kernels.1")
def rbf_matrix(function):
    """function(X, Z, theta, gamma): the RBF matrix by one matrix product."""
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((6, 3)), rng.standard_normal((4, 3))
    expected, value = RBF(1.5, 0.4)(X, Z), numbers(function(X, Z, 1.5, 0.4))
    if value.shape != (6, 4):
        return f"For 6 rows in X and 4 in Z the matrix has the shape (6, 4); yours has {value.shape}."
    if close(value, expected**2 / 1.5):
        return "The exponent is twice too large: (2.6) has gamma / 2."
    if not close(value, expected):
        return f"The first entry should be {expected[0, 0]:.4f}, yours is {value[0, 0]:.4f}. Look at (2.6)."
    X, Z = rng.standard_normal((300, 200)), rng.standard_normal((300, 200))
    tracemalloc.start()
    try:
        value = function(X, Z, 1.0, 0.01)
        peak = tracemalloc.get_traced_memory()[1] / (300 * 300 * 8)
    finally:
        tracemalloc.stop()
    if not close(numbers(value), RBF(1.0, 0.01)(X, Z)):
        return "Right for 6 points in 3 dimensions, but not for 300 points in 200 dimensions."
    if peak <= 20:
        return None
    return (
        f"Right, but for 300 points in 200 dimensions it needs room for {peak:.0f} matrices at once. Multiply "
        "the square out: |x|^2 - 2 x'z + |z|^2."
    )


@checker("kernels.2")
def rbf_gradient(function):
    """function(G, X, theta, gamma): dL/dX for dL/dK = G, not symmetric."""
    rng = np.random.default_rng(1)
    X, G = rng.standard_normal((7, 2)), rng.standard_normal((7, 7))
    k = RBF(1.3, 0.8)
    expected, value = k.gradients(G, X)[0], numbers(function(G, X, 1.3, 0.8))
    if value.shape != X.shape:
        return f"The gradient has the shape of X, {X.shape}; yours has {value.shape}."
    if close(value, expected):
        return None
    if close(value, -expected):
        return "The sign: where G is positive, L grows when the two points come closer."
    if close(value, k.gradients(G, X, X.copy())[0]):
        return "You moved x_n in the first argument only. It stands in row n and in column n of K: see (2.15)."
    if close(value, 2 * k.gradients(G, X, X.copy())[0]):
        return "Doubling the first argument's part is right for a symmetric G; this one is not. Use G + G', (2.15)."
    if close(0.8 * value, expected):
        return "The factor gamma is missing."
    return "It differs from finite differences. Start from (2.17) and try it on two points by hand."


@checker("kernels.3")
def network_covariance(function):
    """function(x, z, weight_variance, bias_variance): E[h(x) h(z)] of one erf unit, variances of its PRIOR."""
    points, weights = hermegauss(60)
    weights = weights / weights.sum()
    x, z, s_w, s_b = np.array([0.3, -1.0]), np.array([0.8, 0.4]), 0.7, 0.2
    C = np.array([[s_w * a @ b + s_b for b in (x, z)] for a in (x, z)])
    L = np.linalg.cholesky(C)
    first, second = L[0, 0] * points[:, None], L[1, 0] * points[:, None] + L[1, 1] * points
    expected = np.sum(weights[:, None] * weights * erf(first) * erf(second))
    value = number(function(x, z, s_w, s_b))
    printed, doubled = (MLP(1.0, c * s_w, c * s_b)(x[None], z[None])[0, 0] for c in (1.0, 2.0))
    if close(value, expected):
        return None
    if close(value, printed):
        return "Two mistakes are still there: the variances, and a constant in front."
    if close(value, 2 / np.pi * printed):
        return "The constant in front is right. Now the variances: compare (2.8) with (2.9)."
    if close(value, doubled):
        return "The variances are right. Now the constant: erf lies between -1 and 1, so no covariance exceeds 1."
    return f"Quadrature says {expected:.4f} for the test points, you say {value:.4f}."


@checker("kernels.4")
def far_away(function):
    """function(angle): MLP kernel with variance 1 between two points far from the origin, at an angle."""
    k = MLP(1.0, 3.0, 2.0)
    for angle in (0.2, np.pi / 2, 2.5):
        far = 1e5 * np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
        expected, value = k(far)[0, 1], number(function(angle))
        if close(value, expected, 0.0, 1e-3):
            continue
        if close(value, np.cos(angle), 0.0, 1e-3):
            return "That is a itself. One function is still to be applied."
        return f"At an angle of {angle:.2f} the kernel tends to {expected:.3f}, yours to {value:.3f}."
    return None


@checker("kernels.5")
def one_crossing_each_unit(answer):
    """The inverse width at which a sample of the RBF crosses zero once in each unit of length, on average."""
    answer = number(answer)
    if 0.75 * np.pi**2 < answer < 1.25 * np.pi**2:
        return None
    if abs(answer - np.pi) < 0.3:
        return "You are near the square root of the right answer: crossings grow as the root of the inverse width."
    return f"At that inverse width a sample crosses zero {np.sqrt(max(answer, 0.0)) / np.pi:.2f} times in each unit."


@checker("kernels.6")
def posterior(function):
    """function(kernel, X, y, X_new): posterior mean and variance of f, noise given by the kernel's White part."""
    rng = np.random.default_rng(2)
    X, X_new = rng.standard_normal((8, 1)), np.linspace(-2, 2, 5)[:, None]
    y, k = np.sin(2 * X[:, 0]), RBF(1.2, 2.0) + White(0.3)
    mean, variance = (numbers(part) for part in two_parts(function(k, X, y, X_new)))
    expected_mean, expected_variance = gp_posterior(k, X, y, X_new)
    if mean.shape != (5,) or variance.shape != (5,):
        return f"Five new points ask for two vectors of five; yours have the shapes {mean.shape} and {variance.shape}."
    signal = k["rbf"]
    if close(mean, gp_posterior(signal, X, y, X_new, noise_variance=1e-10)[0], 1e-3):
        return "The mean passes through every observation: the noise is missing on the diagonal of K."
    if not close(mean, expected_mean):
        return f"The mean at the first new point should be {expected_mean[0]:.4f}, yours is {mean[0]:.4f}: see (2.25)."
    if close(variance, expected_variance):
        return None
    if close(variance, expected_variance + 0.3):
        return "That is the variance of a new observation. For the function itself leave the White part out."
    return f"The first variance should be {expected_variance[0]:.4f}, yours is {variance[0]:.4f}: see (2.26)."


@checker("kernels.7")
def which_are_kernels(answer):
    """The letters of those candidates that are covariance functions on the line."""
    letters = {str(letter).strip().lower() for letter in islice(answer, 100)}
    if not letters <= set(CANDIDATES):
        return f'Give letters from {min(CANDIDATES)} to {max(CANDIDATES)}, such as "abc".'
    right = {letter for letter, function in CANDIDATES.items() if lowest_eigenvalue(function) > -1e-9}
    if letters == right:
        return None
    extra, missing = sorted(letters - right), sorted(right - letters)
    if extra:
        low = lowest_eigenvalue(CANDIDATES[extra[0]])
        why = "it is not symmetric" if np.isinf(low) else f"on a grid it has an eigenvalue of {low:.2g} of the largest"
        return f"({extra[0]}) is none: {why}."
    return f"{len(missing)} of those that you left out " + ("is a kernel." if len(missing) == 1 else "are kernels.")
