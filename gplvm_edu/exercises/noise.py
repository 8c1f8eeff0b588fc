"""Checkers of chapter 8. Each compares an answer with a second way to the same number."""

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import multivariate_normal, norm

from ..kernels import RBF
from ..noise import Gaussian, Ordinal, Probit, adf_posterior, ep_posterior, sites
from . import checker
from .answers import Unusable, close, number, numbers, truth, two_parts, whole_numbers

CASES = [(1.0, 0.3, 0.7), (-1.0, 1.5, 2.0), (1.0, -2.5, 0.2)]  # label, mean and variance of f


def _tilted(likelihood, mean, variance):
    """ln Z, g and nu by adding up the tilted density on a fine grid."""
    z = np.linspace(-12, 12, 20_001)
    weights = likelihood(mean + np.sqrt(variance) * z) * norm.pdf(z)
    Z = weights.sum() * (z[1] - z[0])
    first = weights @ z / weights.sum()
    second = weights @ (z - first) ** 2 / weights.sum()
    return np.log(Z), first / np.sqrt(variance), (1 - second) / variance


@checker("noise.1")
def probit_derivatives(function):
    """function(y, mean, variance): g and nu of a probit observation, (8.12) and (8.13)."""
    for y, mean, variance in CASES:
        _, g, nu = _tilted(lambda f, y=y: ndtr(y * f), mean, variance)
        mine = [number(part) for part in two_parts(function(y, mean, variance))]
        if close(mine, (g, nu), 1e-6, 1e-8):
            continue
        if close(mine[0], g, 1e-6, 1e-8):
            return (
                f"g is right. nu should be {nu:.5f} at y = {y:g}, mean {mean}, variance {variance}; yours is "
                f"{mine[1]:.5f}."
            )
        if close(mine[::-1], (g, nu), 1e-6, 1e-8):
            return "Both are right, but in the other order: first g, then nu."
        if close(abs(mine[0]), abs(g), 1e-6, 1e-8):
            return "g has the sign of the label: a 1 pulls f up, a -1 pulls it down."
        return (
            f"At y = {y:g}, mean {mean}, variance {variance}, adding up the tilted density gives g = {g:.5f} and "
            f"nu = {nu:.5f}; yours are {mine[0]:.5f} and {mine[1]:.5f}."
        )
    far = [number(part, finite=False) for part in two_parts(function(-1.0, 60.0, 0.0))]
    if not close(far, (-60.016657, 0.999723), 1e-5, 1e-8):
        return (
            f"Right in the middle, but sixty deviations out it returns {far}: divide densities in logarithms, or "
            "use scipy.special.erfcx."
        )
    return None


@checker("noise.2")
def site_of_an_observation(function):
    """function(g, nu, mean, variance): the site's mean and precision, (8.7) and (8.8)."""
    for y, mean, variance in CASES:
        g, nu = Probit(0.0).derivatives(y, mean, variance)
        m, beta = sites(g, nu, mean, variance)
        mine = [number(part) for part in two_parts(function(float(g), float(nu), mean, variance))]
        if close(mine, (m, beta), 1e-5, 1e-8):
            continue
        if close(mine[::-1], (m, beta), 1e-5, 1e-8):
            return "Both are right, but in the other order: first the mean m, then the precision beta."
        if close(mine[1], beta, 1e-5, 1e-8):
            return (
                f"The precision is right, the mean isn't: it is {m:.4f}, not {mine[0]:.4f}. Precision times mean "
                "adds up too."
            )
        if close(mine[1], nu, 1e-5, 1e-8):
            return (
                "nu is the precision that the observation adds to a prior of its own variance; the site's own is "
                "larger. Match 1 / variance + beta to the new precision."
            )
        whole = 1 / (variance - nu * variance**2)
        return f"Precisions of prior and site must add up to {whole:.4f}; yours make {1 / variance + mine[1]:.4f}."
    return None


@checker("noise.3")
def with_the_cavity(function):
    """function(K, y, noise): mean and covariance by filtering, with the moments BEFORE each inclusion."""
    for N in (6, 4):
        hint = _filter_of(function, N)
        if hint is not None:
            return hint
    return None


def _filter_of(function, N):
    """The hint to a filter of N labels, or None."""
    rng = np.random.default_rng(N)
    K = RBF(2.0, 1.0)(rng.uniform(-2, 2, (N, 1))) + 1e-9 * np.eye(N)
    y = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])[:N]
    right = adf_posterior(K, y, Probit(0.0))
    mean, covariance = (numbers(part) for part in two_parts(function(K.copy(), y, Probit(0.0))))
    if close(mean, right.mean, 1e-5, 1e-8) and close(covariance, right.covariance, 1e-5, 1e-8):
        return None
    turned = adf_posterior(K, y, Probit(0.0), order=range(N)[::-1])
    if close(mean, turned.mean, 1e-5, 1e-8):
        return "These are the moments when the last observation is included first: take them as they come."
    exact = K @ np.linalg.solve(K + 0.5 * np.eye(N), y)
    if close(two_parts(function(K.copy(), y, Gaussian(0.5, mean=0.0)))[0], exact, 1e-5, 1e-8):
        return "Gaussian noise comes out exactly, and yet the labels do not: is g taken before anything has moved?"
    return (
        "With Gaussian noise it should be the exact posterior, and it isn't: in which order do mean and "
        "covariance change, and what do g and nu look at?"
    )


@checker("noise.4")
def the_sharpest_label(answer):
    """The bound that the precision of a probit observation's site comes near and never reaches."""
    if truth(answer) is not None:
        return "A number is wanted: how large can the precision be?"
    value = number(answer, finite=False)
    if close(value, 1.0, 1e-5, 1e-8):
        return None
    if np.isinf(value):
        return "However great the surprise, nu stays below 1 / (1 + variance). Put that into (8.7)."
    if close(value, 2.0 / np.pi, 1e-3, 1e-8):
        return "That is the site of a label that might as well have been the other one. Which label tells more?"
    return "A label is the sign of f plus noise of variance 1. How much could be learnt if the sum itself were seen?"


@checker("noise.5")
def bias_of_a_share(function):
    """function(share, variance): the bias that gives p(y = 1) = share when f is N(0, variance)."""
    for share, variance in ((0.1, 1.0), (0.5, 2.0), (0.93, 0.3)):
        b = number(function(share, variance))
        found = ndtr(b / np.sqrt(1 + variance))
        if close(found, share, 1e-5, 1e-6):
            continue
        if close(b, ndtri(share), 1e-5, 1e-8):
            return "That is right for f = 0 exactly; f varies, and washes the probability out. See (8.11)."
        if close(found, 1.0 - share, 1e-5, 1e-6) and share != 0.5:
            return f"With your bias the share of zeros is {share}: the sign is the other one."
        return f"With your bias the share of ones is {found:.3f} instead of {share}."
    return None


@checker("noise.6")
def middle_level(function):
    """function(lower, upper, mean, variance): ln Z of an ordinal observation between two cuts, safe in the tails."""
    for lower, upper, mean, variance in ((-1.0, 0.5, 0.2, 1.0), (0.0, 2.0, -1.0, 0.5), (-2.0, -1.0, 3.0, 0.1)):
        value = number(function(lower, upper, mean, variance))
        expected = float(Ordinal(cuts=[lower, upper]).log_partition(1.0, mean, variance))
        if close(value, np.exp(expected), 1e-7, 1e-8):
            return "That is Z itself. Its logarithm is wanted: far from the cuts Z is 0 to a computer."
        alone = Ordinal(cuts=[lower, upper], scale=1e-3).log_partition(1.0, mean, variance)
        if close(value, float(alone), 1e-4, 1e-5):
            return (
                "f is blurred by noise of deviation s = 1 before it is cut: which variance does the blurred value have?"
            )
        if not close(value, expected, 1e-7, 1e-8):
            return (
                f"Between {lower} and {upper}, mean {mean}, variance {variance}: {expected:.5f} is right, yours "
                f"is {value:.5f}."
            )
    for mean in (-50.0, 50.0):
        value = number(function(0.0, 1.0, mean, 0.0), finite=False)
        expected = float(Ordinal(cuts=[0.0, 1.0]).log_partition(1.0, mean, 0.0))
        if not close(value, expected, 1e-7, 1e-8):
            return (
                f"At mean {mean:g} it returns {value}: one of the tails cancels. Mirror the interval, so that "
                "both ends lie below 0, and subtract in logarithms."
            )
    return None


@checker("noise.7")
def two_orders(answer):
    """Two orders of the chapter's labels whose filtered log evidences differ by more than 0.25: 1 random pair in 20."""
    first, second = (whole_numbers(order).ravel() for order in two_parts(answer))
    X = np.linspace(-2, 2, 12)[:, None]
    K = RBF(9.0, 2.0)(X) + 1e-8 * np.eye(12)
    y = np.where(np.sin(2.2 * X[:, 0]) > 0, 1.0, -1.0)
    if sorted(first) == sorted(second) == list(range(1, 13)):
        return "Python counts from 0: the labels have the numbers 0 to 11."
    if sorted(first) != list(range(12)) or sorted(second) != list(range(12)):
        return "Each order must contain the numbers 0 to 11 once."
    values = [adf_posterior(K, y, Probit(0.0), order).log_evidence for order in (first, second)]
    *_, last = ep_posterior(K, y, Probit(0.0))
    if abs(values[0] - values[1]) > 0.25:
        return None
    return (
        f"They give {values[0]:.3f} and {values[1]:.3f} (expectation propagation: {last.log_evidence:.3f}). Try a few "
        "dozen random orders, and keep the least evidence and the largest."
    )


@checker("noise.8")
def moments_of_a_count(function):
    """function(mean, variance, bias): mean and variance of a count whose logarithmic rate is f + bias, (8.41)."""
    z = np.linspace(-12, 12, 20_001)
    weights = norm.pdf(z) / norm.pdf(z).sum()
    for mean, variance, bias in ((0.3, 0.7, 0.0), (-1.0, 0.2, 1.5), (0.5, 1.4, -0.4)):
        rates = np.exp(mean + bias + np.sqrt(variance) * z)
        expected = weights @ rates
        of_rate = weights @ (rates - expected) ** 2
        mine = [number(part) for part in two_parts(function(mean, variance, bias))]
        if close(mine, (expected, expected + of_rate), 1e-5, 1e-8):
            continue
        if close(mine[::-1], (expected, expected + of_rate), 1e-5, 1e-8):
            return "Both are right, but in the other order: first the mean, then the variance."
        if close(mine[0], np.exp(mean + bias), 1e-5, 1e-8):
            return "exp(mean + bias) is the rate at the mean of f. The mean of the rate is larger: exp bends upwards."
        if close(mine[0], expected, 1e-5, 1e-8) and close(mine[1], expected, 1e-5, 1e-8):
            return "The mean is right. Its variance would be the same number if the rate were known; it varies too."
        if close(mine[0], expected, 1e-5, 1e-8) and close(mine[1], of_rate, 1e-5, 1e-8):
            return (
                "The mean is right. Your variance is that of the rate: a count scatters even where the rate is known."
            )
        return (
            f"At mean {mean}, variance {variance}, bias {bias}, adding up over f gives {expected:.5f} and "
            f"{expected + of_rate:.5f}; yours are {mine[0]:.5f} and {mine[1]:.5f}."
        )
    return None


@checker("noise.9")
def gradient_with_frozen_sites(function):
    """function(K, m, beta): the gradient (N, N) of ln N(m | 0, K + B^-1) in K, a precision of 0 included, (8.40)."""
    for seed, N in ((0, 4), (1, 6)):
        rng = np.random.default_rng(seed)
        K = RBF(2.0, 1.0)(rng.uniform(-2, 2, (N, 1))) + 1e-2 * np.eye(N)
        m, beta, h = rng.standard_normal(N), rng.uniform(0.2, 1.5, N), 1e-5
        C = K + np.diag(1.0 / beta)

        def slope(D, C=C, m=m, h=h):
            up, down = (multivariate_normal(cov=C + sign * h * D).logpdf(m) for sign in (1, -1))
            return (up - down) / (2 * h)

        directions = [np.outer(e, e) for e in np.eye(N)] + [A @ A.T for A in rng.standard_normal((N, N, 2))]
        slopes = np.array([slope(D) for D in directions])
        G = _square(function(K.copy(), m.copy(), beta.copy()), N)
        mine = np.array([np.sum(G * D) for D in directions])
        if close(mine, slopes, 1e-5, 1e-6) and close(G, G.T, 1e-6, 1e-8):
            continue
        return _what_is_wrong(G, mine, slopes, K, m, C)
    beta[1] = 0.0
    seen = np.delete(np.arange(N), 1)
    expected = np.zeros((N, N))
    P = np.linalg.inv(K[np.ix_(seen, seen)] + np.diag(1.0 / beta[seen]))
    expected[np.ix_(seen, seen)] = 0.5 * (np.outer(P @ m[seen], P @ m[seen]) - P)
    try:
        with np.errstate(all="ignore"):  # who divides by 0 on purpose may
            G = _square(function(K.copy(), m.copy(), beta.copy()), N, finite=False)
    except (ArithmeticError, np.linalg.LinAlgError):
        G = None
    if G is not None and close(G, expected, 1e-6, 1e-9):
        return None
    return (
        "Right, until a value is missing: then its precision is 0, and its variance infinite. The inverse of K + B^-1 "
        "is B^(1/2) A^-1 B^(1/2) with the A of (8.24)."
    )


def _square(value, N, finite=True):
    """An answer as an (N, N) array."""
    G = numbers(value, finite=finite)
    if G.shape != (N, N):
        raise Unusable(f"The gradient in K has the shape of K, {(N, N)}; yours has {G.shape}.")
    return G


def _what_is_wrong(G, mine, slopes, K, m, C):
    """The hint to a gradient that is not right."""
    P, prior = np.linalg.inv(C), np.linalg.inv(K)
    right = 0.5 * (np.outer(P @ m, P @ m) - P)
    if close(mine, slopes, 1e-5, 1e-6):
        return "Right along every symmetric change of K, but K_ij and K_ji have the same derivative: make it symmetric."
    if close(G, 2.0 * right - np.diag(np.diag(right)), 1e-5, 1e-6):
        return "Right on the diagonal and twice too large beside it: in (8.40) each entry of K counts by itself."
    if close(mine, 2.0 * slopes, 1e-5, 1e-6):
        return "Twice too large: a logarithm of a Gaussian density has the factor 1/2 before both of its terms."
    if close(mine, -slopes, 1e-5, 1e-6):
        return "The sign is the other one: this is the gradient of minus the log density."
    if close(G, 0.5 * np.outer(P @ m, P @ m), 1e-5, 1e-6):
        return "That is the square alone. The determinant of K + B^-1 has a derivative too."
    if close(G, 0.5 * (np.outer(prior @ m, prior @ m) - prior), 1e-5, 1e-6):
        return "That is for observations without noise: a pretended observation has the variance 1 / beta."
    off, N = np.abs(mine - slopes), len(K)
    on_diagonal = not close(mine[:N], slopes[:N], 1e-5, 1e-6)
    k = int(np.argmax(off[:N])) if on_diagonal else N + int(np.argmax(off[N:]))
    where = f"diagonal entry {k} of K (counted from 0)" if on_diagonal else "some change of all entries of K"
    return f"Along {where} the log density rises by {slopes[k]:.5f} a unit, not {mine[k]:.5f}."
