"""Checkers of chapter 3. Each compares an answer with a second way to the same number, on problems of several sizes."""

import numpy as np
from scipy.stats import multivariate_normal

from ..linalg import double_centre, squared_distances
from ..unify import (
    distances_from_similarity,
    gaussian_kl,
    minimal_divergence,
    output_scales,
    preimage_iterates,
    retained_sets,
)
from . import checker
from .answers import Unusable, close, number, numbers, two_parts, vector, whole_numbers


def _demand_function(answer):
    """Refuse an answer that cannot be called."""
    if not callable(answer):
        raise Unusable("A function is wanted: hand over its name, without brackets.")


def _covariance(rng, N):
    F = rng.standard_normal((N, N + 2))
    return F @ F.T / N


@checker("unify.1")
def divergence_with_means(function):
    """function(m, S, n, K): the divergence between N(m, S) and N(n, K)."""
    _demand_function(function)
    for seed, N in ((0, 4), (1, 3)):
        rng = np.random.default_rng(seed)
        S, K, m, n = _covariance(rng, N), _covariance(rng, N), rng.standard_normal(N), rng.standard_normal(N)
        equal, shift = gaussian_kl(S, K), 0.5 * (m - n) @ np.linalg.solve(K, m - n)
        value = number(function(m, S, n, K))
        if close(value, equal + shift):
            continue
        if close(value, equal):
            return "That is (3.3), for equal means. How far apart do the means lie, measured with K?"
        if close(value, equal + 2 * shift):
            return "The term of the means is twice too large: a log density carries a factor 1/2."
        other = 0.5 * (m - n) @ np.linalg.solve(S, m - n)
        if close(value, equal + other):
            return "The distance of the means is measured with the covariance of the one who is surprised. Which is it?"
        if close(value, gaussian_kl(K, S) + other):
            return "That is the reversed divergence, of the second Gaussian against the first."
        if close(value, equal - shift):
            return "The sign: means that lie apart make the divergence larger."
        if close(value, equal + shift + N / 2):
            return "The term - N/2 is missing: two equal Gaussians have the divergence 0."
        return f"For the test matrices it should be {equal + shift:.4f}, yours is {value:.4f}."
    return None


@checker("unify.2")
def map_from_distances(function):
    """function(D, q): coordinates (N, q) of classical MDS from distances, turned, reflected or shifted at will."""
    _demand_function(function)
    for seed, N, lengths, q in ((1, 9, [3.0, 1.0], 2), (2, 8, [4.0, 2.0, 1.0], 1), (3, 10, [5.0, 3.0, 2.0, 1.0], 3)):
        Y = np.random.default_rng(seed).standard_normal((N, len(lengths))) * lengths
        U, s, _ = np.linalg.svd(Y - Y.mean(axis=0), full_matrices=False)  # a second way: the points themselves
        expected, D = squared_distances(U[:, :q] * s[:q]), np.sqrt(squared_distances(Y))
        X = numbers(function(D, q))
        if X.shape != (N, q):
            return f"For {N} points and q = {q} an array of shape ({N}, {q}) is wanted; yours has {X.shape}."
        found = squared_distances(X)
        if close(found, expected, 1e-5, 1e-6):
            continue
        if close(found, 0 * expected, 0.0, 1e-9):
            return "All your points lie in the same place. (eigh sorts upwards: the largest eigenvalues come last.)"
        lam, V = np.linalg.eigh(double_centre(-0.5 * D))
        if close(found, squared_distances(V[:, -q:] * np.sqrt(np.abs(lam[-q:]))), 1e-5, 1e-6):
            return "It is the SQUARED distances that are centred: (3.26) has d^2."
        if close(found, squared_distances(U[:, :q]), 1e-5, 1e-6):
            return "These are the eigenvectors, all of length 1. Multiply each by the root of its eigenvalue."
        if close(found, squared_distances(U[:, :q] * s[:q] ** 2), 1e-5, 1e-6):
            return "The lengths are the eigenvalues. Take their roots."
        shrunk = np.sqrt(s[:q] ** 2 - np.sum(s[q:] ** 2) / (N - q))
        if close(found, squared_distances(U[:, :q] * shrunk), 1e-5, 1e-6):
            return "These lengths are the roots of lambda - c, (3.11). Classical MDS has no noise: see (3.17)."
        factor = np.sqrt(found.sum() / expected.sum())
        if close(found, factor**2 * expected, 1e-5, 1e-6):
            size = f"{factor:.4g} times too large" if factor > 1 else f"{1 / factor:.4g} times too small"
            return f"The shape is right, the size is not: your map is {size}. Look for the 1/2."
        return (
            "Your points do not have the distances of classical MDS. Square, centre rows and columns, halve, change "
            "the sign; then the leading eigenvectors times the roots of their eigenvalues."
        )
    return _map_of_measured_distances(function)


def _map_of_measured_distances(function):
    """Ten points whose S has a negative eigenvalue, second in size: the q largest are wanted, or a ValueError.

    The negative one belongs to an alternating vector, so that every squared distance is above 2.3 all the same.
    """
    lam = np.array([9.0, 6.0, 4.2, 4.0, 3.8, 3.6, 3.4, 3.2, -7.0])
    start = np.column_stack([np.ones(10), np.tile([1.0, -1.0], 5), np.random.default_rng(0).standard_normal((10, 8))])
    U = np.roll(np.linalg.qr(start)[0][:, 1:], -1, axis=1)
    try:
        answer = function(distances_from_similarity(U * lam @ U.T), 2)
    except ValueError:
        return None  # to refuse such distances is right too: the package's ClassicalMDS does
    X = numbers(answer)
    if X.shape != (10, 2):
        return f"For 10 points and q = 2 an array of shape (10, 2) is wanted; yours has {X.shape}."
    found = squared_distances(X)
    if close(found, squared_distances(U[:, :2] * np.sqrt(lam[:2])), 1e-5, 1e-6):
        return None
    if close(found, squared_distances(U[:, [0, 8]] * np.sqrt([9.0, 7.0])), 1e-5, 1e-6):
        return (
            "Right for points of a flat space. Measured distances may give an eigenvalue that is negative and large, "
            "and you keep it: singular and absolute values have lost its sign. Keep the largest eigenvalues."
        )
    return "Right for points of a flat space, but not where an eigenvalue is negative: keep the q largest as they are."


@checker("unify.3")
def retained_set(function):
    """function(eigenvalues, q): positions of the eigenvalues to keep, feasible and of least divergence."""
    _demand_function(function)
    problems = []
    for seed, q in enumerate((2, 2, 2, 2, 1, 3)):
        rng = np.random.default_rng(seed)
        problems.append((rng.permutation(np.concatenate([np.exp(rng.normal(size=6)), [0.001, 0.004]])), q))
    problems.append((np.array([0.1, 10.0, 1.0, 0.2]), 2))  # here no set passes if the mean of all is the noise
    problems.append((np.array([90.0, 80.0, 0.01, 12.0]), 1))  # the noise is no geometric or harmonic mean
    problems.append((np.array([0.3, 60.0, 0.01, 45.0, 0.9, 1.0, 110.0]), 2))  # nor a median
    problems.append((np.array([0.3, 0.4, 0.5, 0.7, 2.2]), 3))  # nor the sum of the others over N, N - 1 or N - q - 1
    for lam, q in problems:
        found = np.sort(_positions(function(lam, q), lam))
        order = np.argsort(-lam)
        right = np.sort(order[:q]).tolist()
        if found.tolist() == right:
            continue
        given = f"Of {lam.round(3).tolist()}"
        if found.min() < 0:
            return f"{given} you keep those at {found.tolist()}. Positions are counted from 0, upwards."
        if len(found) != q:
            return f"{given} {q} are to be kept, you keep {len(found)}."
        if len(set(found.tolist())) < q:
            return f"{given} you keep {found.tolist()}: one position is there twice."
        sets = retained_sets(lam[order], q)
        if found.tolist() == np.sort(order[sets.kept[np.argmin(sets.divergence)]]).tolist():
            c = np.mean(np.delete(lam, found))
            return (
                f"{given} you keep those at {found.tolist()}. The divergence would be smallest there, but the noise "
                f"is {c:.3f} and {lam[found].min():.3f} lies below it: what is its length in (3.11)?"
            )
        c = np.mean(np.delete(lam, found))
        if found.tolist() == np.sort(order[-q:]).tolist():
            return f"{given} you keep the smallest. Those are the ones that the noise is to stand for."
        if lam[found].min() < c:
            return (
                f"{given} you keep those at {found.tolist()}. The noise is the arithmetic mean of the others, {c:.3f}, "
                f"and {lam[found].min():.3f} lies below it."
            )
        return f"{given} the best feasible set for q = {q} is at {right}, you keep {found.tolist()}."
    return None


def _positions(value, lam):
    """Positions as whole numbers, also when they come as a set or as a row of True and False."""
    value = sorted(value) if isinstance(value, (set, frozenset)) else value
    array = np.asarray(value)
    if array.dtype == bool and array.shape == lam.shape:
        return np.flatnonzero(array)
    if array.dtype.kind == "f" and array.size and np.isin(array, lam).all():
        raise Unusable("Those are eigenvalues. Return their positions, counted from 0.")
    return whole_numbers(value).ravel()


@checker("unify.4")
def reversed_noise(function):
    """function(discarded): best noise and least value of the reversed divergence."""
    _demand_function(function)
    for lam in ([9.0, 3.0, 1.5, 0.7, 0.2], [8.0, 5.0, 2.5, 1.2, 0.9, 0.3]):
        discarded = np.array(lam[2:])
        expected = [1 / np.mean(1 / discarded), minimal_divergence(np.array(lam), 2, reverse=True)]
        hint = "Return two numbers: the noise, then the divergence."
        answer = function(discarded)
        both = two_parts(None if isinstance(answer, dict) else answer, hint)
        value = [number(part) for part in both]
        if close(value, expected):
            continue
        if close(value[::-1], expected):
            return "Both are right, but they are swapped: the noise first, then the divergence."
        if close(value[0], np.mean(discarded)):
            return "The arithmetic mean belongs to KL(S || K). Here the eigenvalues stand below: sum h(c / lambda)."
        if close(value[0], np.exp(np.mean(np.log(discarded)))):
            return "The geometric mean is half way. Here the eigenvalues stand below: sum h(c / lambda)."
        if close(value[0], expected[0]) and close(value[1], 2 * expected[1]):
            return "The noise is right. The divergence is twice too large: the factor 1/2 of (3.4) is missing."
        if close(value[0], expected[0]):
            return f"The noise is right. The divergence should be {expected[1]:.4f}, yours is {value[1]:.4f}: (3.21)."
        return f"For {discarded} the noise should be {expected[0]:.4f}, yours is {value[0]:.4f}."
    return None


@checker("unify.5")
def price_of_an_empty_direction(answer):
    """Nats that each bar on the floor adds to the divergence when the ridge is made ten times smaller.

    Accepted is 2.5 % to either side: from the explorer's opening ridge, 0.01, to 0.001 it is 1.7 % less than in the
    limit of small ridges, (3.20), and one bar too many or too few in the count is 8 % or more.
    """
    exact = 0.5 * np.log(10.0)  # (3.20): half the logarithm, for every direction without variance
    value = number(answer)
    if abs(value - exact) < 0.025 * exact:
        return None
    if close(abs(value), 2 * exact, 0.05):
        return "Twice too large: look at the factor in front of the logarithm in (3.20)."
    if close(value, -exact, 0.05):
        return "The sign: the smaller the ridge, the larger the divergence."
    if close(value, 0.5, 0.05):
        return "Nats are natural logarithms: ln 10 is not 1."
    if value > 4:
        return "That is the sum over all bars that sit on the floor. Divide by their number."
    if 0.75 * exact < value < 1.25 * exact:
        return "Nearly. Start from a ridge of 0.01 or less, and count the bars that sit on the floor again."
    return (
        "Note the divergence, make the ridge ten times smaller, note it again, and divide the growth by the number "
        "of bars that sit on the floor."
    )


@checker("unify.6")
def preimage_step(function):
    """function(Y, weights, inverse_width, y): one step of the fixed-point iteration."""
    _demand_function(function)
    for seed, (N, D), width in ((3, (8, 2), 0.7), (4, (6, 3), 1.4)):
        rng = np.random.default_rng(seed)
        Y, weights, y = rng.standard_normal((N, D)), rng.random(N) - 0.1, 0.3 * rng.standard_normal(D)
        path = preimage_iterates(Y, weights, width, y, max_iter=1)
        next(path)
        expected, _ = next(path)
        value = vector(function(Y, weights, width, y), D, "A point")
        if close(value, expected):
            continue
        square = squared_distances(Y, y[None])[:, 0]
        pull, twice = weights * np.exp(-0.5 * width * square), weights * np.exp(-width * square)
        alike = np.exp(-0.5 * width * square)
        if close(value, weights @ Y / weights.sum()):
            return "Near points count more: each weight is multiplied by the kernel between y and that point."
        if close(value, alike @ Y / alike.sum()):
            return "The weights are missing: each pull is a weight times the kernel between y and that point."
        if close(value, pull @ Y):
            return "You forgot to divide by the sum of the pulls."
        if close(value, pull @ Y / weights.sum()):
            return "Divide by the sum of the pulls, not by the sum of the weights."
        if close(value, twice @ Y / twice.sum()):
            return "The exponent is twice too large: the RBF (2.5) has half the inverse width."
        return f"From {y.round(4)} the step should lead to {expected.round(4)}, yours leads to {value.round(4)}."
    return None


@checker("unify.7")
def different_kernels(function):
    """function(Y, kernel_matrices): log likelihood when every column has its own covariance, a sum of - CE(yy', K)."""
    _demand_function(function)
    for seed, (N, D) in ((4, (6, 3)), (5, (5, 4))):
        rng = np.random.default_rng(seed)
        Y, Ks = rng.standard_normal((N, D)), [_covariance(rng, N) for _ in range(D)]
        each = [multivariate_normal(cov=K).logpdf(y) for K, y in zip(Ks, Y.T, strict=True)]
        expected = sum(each)
        value = number(function(Y, Ks))
        if close(value, expected):
            continue
        if close(value - expected, 0.5 * N * D * np.log(2 * np.pi)):
            return "The constant -(N/2) ln 2 pi of each column is missing."
        if close(value, -expected):
            return "The sign: CE(S, K) is what we pay, the log likelihood is its negative."
        if close(D * value, expected):
            return "That is the mean over the columns. Independent columns add their log likelihoods."
        if close(value, sum(multivariate_normal(cov=Ks[0]).logpdf(y) for y in Y.T)):
            return "You used the first covariance for all columns."
        if close(value, sum(multivariate_normal(cov=sum(Ks) / D).logpdf(y) for y in Y.T)):
            return "You used the mean of the covariances for all columns. Each has its own."
        return f"It should be {expected:.4f}, yours is {value:.4f}."
    return None


@checker("unify.8")
def scales_of_columns(function):
    """function(Y, K): the best scale for each column."""
    _demand_function(function)
    for seed, (N, D) in ((5, (6, 3)), (6, (4, 5))):
        rng = np.random.default_rng(seed)
        Y, K = rng.standard_normal((N, D)) * 10.0 ** rng.uniform(-1, 1, D), _covariance(rng, N)
        expected, value = output_scales(Y, K), numbers(function(Y, K))
        if value.size == 1:
            return f"One scale for each of the {D} columns is wanted, not one for all."
        value = vector(value, D, "One scale for each column, a vector")
        if close(value, expected):
            continue
        if close(value, expected**2):
            return "These are the squares of the scales."
        if close(value, 1 / expected):
            return "These are the inverses: eta multiplies the column."
        if close(value, expected / np.sqrt(N)):
            return "A factor too small: the term N ln eta of (3.30) brings N into (3.31)."
        if close(value, np.sqrt(N / np.sum(Y**2, axis=0))):
            return "That is for K = I. The columns are measured with K, (3.31)."
        wanted = f"It should be {expected.round(4)}, yours is {value.round(4)}."
        return f"{wanted} Set the derivative of (3.30) in ln eta to zero."
    return None
