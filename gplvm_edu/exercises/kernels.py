"""Checkers of chapter 2. Each compares an answer with a second way to the same number, on problems of several sizes."""

import re
from itertools import islice

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import erf

from ..kernels import MLP, RBF, Linear, White, gp_posterior, split_white
from . import checker
from .answers import Unusable, close, number, numbers, two_parts, vector
from .guard import lines_run, peak_memory

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
BESIDE = {"and", "are", "is", "the", "these", "kernel", "kernels", "only", "letters"}  # words that a sentence may have


def lowest_eigenvalue(function, n_points=41):
    """Smallest eigenvalue of the matrix of a candidate over a grid, as a share of the largest; (2.14) by computation.

    An asymmetric matrix has no place among covariances: it counts as minus infinity. Equation (2.14).

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
        lowest = min(lowest, eigenvalues[0] / np.abs(eigenvalues).max())  # (2.14)
    return lowest


@checker("kernels.1")
def rbf_matrix(function):
    """function(X, Z, theta, gamma): the RBF matrix by one matrix product, without a loop."""
    rng, ran = np.random.default_rng(0), []
    for N, M, q, theta, gamma in ((6, 4, 3, 1.5, 0.4), (40, 30, 20, 0.8, 0.05)):  # a loop turns more often for more
        X, Z = rng.standard_normal((N, q)), rng.standard_normal((M, q))
        expected = RBF(theta, gamma)(X, Z)
        value, lines = lines_run(function, X, Z, theta, gamma)
        value = numbers(value)
        ran.append(lines)
        if value.shape != (N, M):
            return f"For {N} rows in X and {M} in Z the matrix has the shape ({N}, {M}); yours has {value.shape}."
        if close(value, expected):
            continue
        if close(value, expected**2 / theta):
            return "The exponent is twice too large: (2.5) has gamma / 2."
        if close(theta * value, expected):
            return "The variance theta is missing in front."
        if close(value, theta * np.exp(-0.5 * gamma * np.sqrt(-2 / gamma * np.log(expected / theta)))):
            return "That is the exponential of the distance. (2.5) has its square."
        return f"The first entry should be {expected[0, 0]:.4f}, yours is {value[0, 0]:.4f}. Look at (2.5)."
    if ran[1] - ran[0] > 12:
        return (
            f"The numbers are right, but there is a loop: for 6 x 4 pairs {ran[0]} lines ran, for 40 x 30 pairs "
            f"{ran[1]}. Multiply the square out: |x|^2 - 2 x'z + |z|^2, and one product has all pairs."
        )
    X, Z = rng.standard_normal((300, 200)), rng.standard_normal((300, 200))
    value, peak = peak_memory(function, X, Z, 1.0, 0.01)
    peak /= 300 * 300 * 8
    if not close(numbers(value), RBF(1.0, 0.01)(X, Z)):
        return "Right for few points, but not for 300 points in 200 dimensions."
    if peak <= 20:
        return None
    return (
        f"Right, but for 300 points in 200 dimensions it needs room for {peak:.0f} matrices at once. Multiply "
        "the square out: |x|^2 - 2 x'z + |z|^2."
    )


@checker("kernels.2")
def rbf_gradient(function):
    """function(G, X, theta, gamma): dL/dX for dL/dK = G, not symmetric."""
    for seed, (N, q), theta, gamma in ((1, (7, 2), 1.3, 0.8), (2, (5, 3), 0.6, 1.7)):
        rng = np.random.default_rng(seed)
        X, G, k = rng.standard_normal((N, q)), rng.standard_normal((N, N)), RBF(theta, gamma)
        expected, value = k.gradients(G, X)[0], numbers(function(G, X, theta, gamma))
        first = k.gradients(G, X, X.copy())[0]  # x_n moves in row n only
        if value.shape != X.shape:
            return f"The gradient has the shape of X, {X.shape}; yours has {value.shape}."
        if close(value, expected):
            continue
        if close(value, -expected):
            return "The sign: where G is positive, L grows when the two points come closer."
        if close(value, first):
            return "You moved x_n in the first argument only. It stands in row n and in column n of K: see (2.32)."
        if close(value, 2 * first):
            return "Doubling the first argument's part is right for a symmetric G; this one is not. Use G + G', (2.32)."
        if close(gamma * value, expected):
            return "The factor gamma is missing."
        if close(value, 2 * expected):
            return "Twice too large: the derivative of the square brings a 2, which cancels the 1/2 of (2.5)."
        return "It differs from finite differences. Start from (2.34) and try it on two points by hand."
    return None


@checker("kernels.3")
def network_covariance(function):
    """function(x, z, weight_variance, bias_variance): E[h(x) h(z)] of one erf unit, variances of its PRIOR."""
    points, weights = hermegauss(60)
    weights = weights / weights.sum()
    for x, z, s_w, s_b in (([0.3, -1.0], [0.8, 0.4], 0.7, 0.2), ([0.5, 0.1, -0.6], [-0.4, 0.7, 0.2], 0.4, 0.3)):
        x, z = np.array(x), np.array(z)
        covariance = np.array([[s_w * a @ b + s_b for b in (x, z)] for a in (x, z)])
        L = np.linalg.cholesky(covariance)
        first, second = L[0, 0] * points[:, None], L[1, 0] * points[:, None] + L[1, 1] * points
        expected = np.sum(weights[:, None] * weights * erf(first) * erf(second))
        value = number(function(x, z, s_w, s_b))
        printed, doubled = (MLP(1.0, c * s_w, c * s_b)(x[None], z[None])[0, 0] for c in (1.0, 2.0))
        if close(value, expected):
            continue
        if close(value, printed):
            return "Two mistakes are still there: the variances, and a constant in front."
        if close(value, 2 / np.pi * printed):
            return "The constant in front is right. Now the variances: compare (2.23) with (2.24)."
        if close(value, doubled):
            return "The variances are right. Now the constant: erf lies between -1 and 1, so no covariance exceeds 1."
        if close(value, 2 / np.pi * MLP(1.0, 4 * s_w, 4 * s_b)(x[None], z[None])[0, 0]):
            return "The constant is right, but the variances are now four times those of the prior: twice is enough."
        return f"Quadrature says {expected:.4f} for x = {x}, z = {z}, you say {value:.4f}."
    return None


@checker("kernels.4")
def far_away(function):
    """function(angle): MLP kernel with variance 1 between two points far from the origin, at an angle in radians."""
    k = MLP(1.0, 3.0, 2.0)
    for angle in (0.2, np.pi / 2, *np.random.default_rng(3).uniform(0.3, 2.8, 3)):
        far = 1e5 * np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
        expected, value = k(far)[0, 1], number(function(angle))
        if close(value, expected, 0.0, 1e-6):
            continue
        if close(value, np.cos(angle), 0.0, 1e-6):
            return "That is the argument of the arcsine itself. One function is still to be applied."
        if close(value, angle, 0.0, 1e-6):
            return "That is the arccosine's answer: the kernel has an arcsine, so equal directions give the most."
        if close(value, 2 / np.pi * expected, 0.0, 1e-6):
            return "A factor 2 / pi too small: the kernel (2.24) has theta = 1 in front, and nothing else."
        return f"At an angle of {angle:.2f} the kernel tends to {expected:.3f}, yours to {value:.3f}."
    return None


@checker("kernels.5")
def one_crossing_each_unit(answer):
    """The inverse width at which a sample of the RBF crosses zero once in each unit of length, on average.

    Accepted are the three positions of the slider (a step is a factor of 1.12) about the exact one, 14 % to either
    side. With eight functions of 120 points and ten seeds the mean count is closest to one at one of these three in
    98 or 99 of a hundred trials, at the middle one in about 60: less than this can't be read from the picture.
    """
    answer, exact = number(answer), np.pi**2
    if exact / 1.14 < answer < 1.14 * exact:
        return None
    if abs(answer - np.pi) < 0.3:
        return "You are near the square root of the right answer: crossings grow as the root of the inverse width."
    if close(answer, 1 / np.pi, 0.14) or close(answer, 1 / exact, 0.14):
        return "That is a width, or its square. The inverse width is 1 over the square of the width."
    return f"At that inverse width a sample crosses zero {np.sqrt(max(answer, 0.0)) / np.pi:.2f} times in each unit."


@checker("kernels.6")
def posterior(function):
    """function(kernel, X, y, X_new): posterior mean and variance of f, noise given by the kernel's White part."""
    rng = np.random.default_rng(2)
    for k, N, M, q in ((RBF(1.2, 2.0) + White(0.3), 8, 5, 1), (Linear(0.4) + RBF(0.9, 0.5) + White(0.1), 9, 4, 2)):
        X, X_new = rng.standard_normal((N, q)), rng.standard_normal((M, q))
        y, (signal, noise) = np.sin(2 * X[:, 0]), split_white(k)
        mean, variance = two_parts(function(k, X, y, X_new), "Return two vectors: the means, then the variances.")
        if numbers(variance).shape == (M, M) and M > 1:
            return "That is the covariance of all new points. The variances are its diagonal."
        mean, variance = (
            vector(mean, M, "For the new points a mean"),
            vector(variance, M, "For the new points a vector"),
        )
        expected_mean, expected_variance = gp_posterior(k, X, y, X_new)
        if close(mean, gp_posterior(signal, X, y, X_new, noise_variance=1e-10)[0], 1e-3):
            return "The mean passes through every observation: the noise is missing on the diagonal of K."
        if not close(mean, expected_mean):
            first = f"{expected_mean[0]:.4f}, yours is {mean[0]:.4f}"
            return f"The mean at the first new point should be {first}: see (2.7)."
        if close(variance, expected_variance):
            continue
        if close(variance, expected_variance + noise):
            return "That is the variance of a new observation. For the function itself leave the White part out."
        if close(variance**2, expected_variance):
            return "These are standard deviations; variances are asked for."
        if close(variance, signal.diag(X_new)):
            return "That is the variance before any observation. What the data tell is to be taken away, (2.8)."
        return f"The first variance should be {expected_variance[0]:.4f}, yours is {variance[0]:.4f}: see (2.8)."
    return None


@checker("kernels.7")
def which_are_kernels(answer):
    """The letters of those candidates that are covariance functions on the line."""
    letters = _letters(answer)
    right = {letter for letter, function in CANDIDATES.items() if lowest_eigenvalue(function) > -1e-9}
    if letters == right:
        return None
    extra, missing = sorted(letters - right), sorted(right - letters)
    if extra:
        low = lowest_eigenvalue(CANDIDATES[extra[0]])
        why = "it is not symmetric" if np.isinf(low) else f"on a grid it has an eigenvalue of {low:.2g} of the largest"
        return f"({extra[0]}) is none: {why}."
    return f"{len(missing)} of those that you left out " + ("is a kernel." if len(missing) == 1 else "are kernels.")


def _letters(answer):
    """The letters of an answer: "acdh", "a, c, d and h", ["a", "(c)", "d", "h"], or a sentence of few words."""
    if isinstance(answer, np.ndarray):
        answer = answer.ravel().tolist()
    if isinstance(answer, dict) and all(isinstance(yes, (bool, np.bool_)) for yes in answer.values()):
        answer = [letter for letter, yes in answer.items() if yes]  # {"a": True, "b": False, ...}
    try:
        parts = [answer[:1000]] if isinstance(answer, str) else [str(part)[:1000] for part in islice(answer, 100)]
    except TypeError:
        parts = []
    found = [word for word in re.split(r"[\s,;:.(){}\[\]&+/]+", " ".join(parts).lower()) if word not in BESIDE | {""}]
    letters = set("".join(found))
    if not found or not letters <= set(CANDIDATES):
        raise Unusable(f'Give letters from {min(CANDIDATES)} to {max(CANDIDATES)}, such as "abc" or "a, b, c".')
    return letters
