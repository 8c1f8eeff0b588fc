"""Checkers of chapter 3. Each compares an answer with a second way to the same number."""

import numpy as np
from scipy.stats import multivariate_normal

from ..linalg import double_centre, squared_distances
from ..unify import gaussian_kl, minimal_divergence, output_scales, preimage_iterates, retained_sets
from . import checker
from .answers import close, number, numbers, two_parts, whole_numbers


def _covariance(rng, N):
    A = rng.standard_normal((N, N + 2))
    return A @ A.T / N


@checker("unify.1")
def divergence_with_means(function):
    """function(m, S, n, K): the divergence between N(m, S) and N(n, K)."""
    rng = np.random.default_rng(0)
    S, K, m, n = _covariance(rng, 4), _covariance(rng, 4), rng.standard_normal(4), rng.standard_normal(4)
    shift = 0.5 * (m - n) @ np.linalg.solve(K, m - n)
    expected = gaussian_kl(S, K) + shift
    value = number(function(m, S, n, K))
    if close(value, expected):
        return None
    if close(value, gaussian_kl(S, K)):
        return "That is (3.3), for equal means. How far apart do the means lie, measured with K?"
    if close(value, gaussian_kl(S, K) + 2 * shift):
        return "The term of the means is twice too large: a log density carries a factor 1/2."
    if close(value, gaussian_kl(S, K) + 0.5 * (m - n) @ np.linalg.solve(S, m - n)):
        return "The distance of the means is measured with the covariance of the one who is surprised. Which is it?"
    return f"For the test matrices it should be {expected:.4f}, yours is {value:.4f}."


@checker("unify.2")
def map_from_distances(function):
    """function(D, q): coordinates (N, q) whose distances are D."""
    Y = np.random.default_rng(1).standard_normal((9, 2)) * [3.0, 1.0]
    D = np.sqrt(squared_distances(Y))
    X = numbers(function(D, 2))
    if X.shape != Y.shape:
        return f"Nine points in two dimensions are wanted, an array of shape (9, 2); yours has {X.shape}."
    if close(np.sqrt(squared_distances(X)), D, 1e-5, 1e-6):
        return None
    lam, U = np.linalg.eigh(double_centre(-0.5 * D))
    if close(squared_distances(X), squared_distances(U[:, -2:] * np.sqrt(np.abs(lam[-2:]))), 1e-5, 1e-6):
        return "It is the SQUARED distances that are centred: (3.20) has d^2."
    ratio = np.sqrt(squared_distances(X))[0, 1:] / D[0, 1:]
    if np.allclose(ratio, ratio[0]):
        return f"The shape is right, the size is not: your map is {ratio[0]:.4g} times too large. Look for the 1/2."
    return (
        "Your points do not have these distances. Square, centre rows and columns, halve, change the sign; then "
        "eigenvectors times the roots of their eigenvalues."
    )


@checker("unify.3")
def retained_set(function):
    """function(eigenvalues, q): positions of the eigenvalues to keep, feasible and of least divergence."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        lam = rng.permutation(np.concatenate([np.exp(rng.normal(size=6)), [0.001, 0.004]]))
        found = np.sort(whole_numbers(function(lam, 2)).ravel())
        order = np.argsort(-lam)
        if found.tolist() == np.sort(order[:2]).tolist():
            continue
        sets = retained_sets(lam[order], 2)
        cheapest = np.sort(order[sets.kept[np.argmin(sets.divergence)]])
        if found.tolist() == cheapest.tolist():
            c = np.mean(np.delete(lam, found))
            return (
                f"Of {lam.round(3).tolist()} you keep those at {found.tolist()}. The divergence would be smallest "
                f"there, but the noise is {c:.3f} and {lam[found].min():.3f} lies below it: what is its length "
                "in (3.9)?"
            )
        right = np.sort(order[:2]).tolist()
        return f"Of {lam.round(3).tolist()} the best feasible pair is at {right}, you keep {found.tolist()}."
    return None


@checker("unify.4")
def reversed_noise(function):
    """function(discarded): best noise and least value of the reversed divergence."""
    lam = np.array([9.0, 3.0, 1.5, 0.7, 0.2])
    expected = [1 / np.mean(1 / lam[2:]), minimal_divergence(lam, 2, reverse=True)]
    both = two_parts(function(lam[2:]), "Return two numbers: the noise, then the divergence.")
    value = [number(part) for part in both]
    if close(value, expected):
        return None
    if close(value[0], np.mean(lam[2:])):
        return "The arithmetic mean belongs to KL(S || K). Here the eigenvalues stand below: sum h(c / lambda)."
    if close(value[0], expected[0]):
        return f"The noise is right. The divergence should be {expected[1]:.4f}, yours is {value[1]:.4f}: (3.17)."
    return f"For {lam[2:]} the noise should be {expected[0]:.4f}, yours is {value[0]:.4f}."


@checker("unify.5")
def price_of_an_empty_direction(answer):
    """Nats that each bar on the floor adds to the divergence when the ridge is made ten times smaller."""
    exact = 0.5 * np.log(10.0)  # (3.14): half the logarithm, for every direction without variance
    value = number(answer)
    if abs(value - exact) < 0.05 * exact:
        return None
    if abs(value - 2 * exact) < 0.1:
        return "Twice too large: look at the factor in front of the logarithm in (3.14)."
    if value > 4:
        return "That is the sum over all bars that sit on the floor. Divide by their number."
    return (
        "Note the divergence, make the ridge ten times smaller, note it again, and divide the growth by the number "
        "of bars that sit on the floor."
    )


@checker("unify.6")
def preimage_step(function):
    """function(Y, gamma, inverse_width, y): one step of the fixed-point iteration."""
    rng = np.random.default_rng(3)
    Y, gamma, y = rng.standard_normal((8, 2)), rng.random(8) - 0.1, np.array([0.3, -0.2])
    path = preimage_iterates(Y, gamma, 0.7, y, max_iter=1)
    next(path)
    expected, _ = next(path)
    value = numbers(function(Y, gamma, 0.7, y))
    if value.shape != y.shape:
        return f"A point of shape {y.shape} is wanted, yours has {value.shape}."
    if close(value, expected):
        return None
    if close(value, gamma @ Y / gamma.sum()):
        return "Near points count more: each weight is multiplied by the kernel between y and that point."
    pull = gamma * np.exp(-0.5 * 0.7 * squared_distances(Y, y[None])[:, 0])
    if close(value, pull @ Y):
        return "You forgot to divide by the sum of the pulls."
    return f"From (0.3, -0.2) the step should lead to {expected.round(4)}, yours leads to {value.round(4)}."


@checker("unify.7")
def different_kernels(function):
    """function(Y, kernel_matrices): log likelihood when every column has its own covariance."""
    rng = np.random.default_rng(4)
    Y, Ks = rng.standard_normal((6, 3)), [_covariance(rng, 6) for _ in range(3)]
    expected = sum(multivariate_normal(cov=K).logpdf(y) for K, y in zip(Ks, Y.T, strict=True))
    value = number(function(Y, Ks))
    if close(value, expected):
        return None
    if close(value - expected, 9 * np.log(2 * np.pi)):
        return "The constant -(N/2) ln 2 pi of each column is missing."
    shared = sum(multivariate_normal(cov=Ks[0]).logpdf(y) for y in Y.T)
    if close(value, shared):
        return "You used the first covariance for all columns."
    return f"It should be {expected:.4f}, yours is {value:.4f}."


@checker("unify.8")
def scales_of_columns(function):
    """function(Y, K): the best scale for each column."""
    rng = np.random.default_rng(5)
    Y, K = rng.standard_normal((6, 3)) * [1, 10, 0.1], _covariance(rng, 6)
    expected, value = output_scales(Y, K), numbers(function(Y, K))
    if value.shape != expected.shape:
        return f"One scale for each of the three columns is wanted; yours has the shape {value.shape}."
    if close(value, expected):
        return None
    if close(value, expected**2):
        return "These are the squares of the scales."
    if close(value, 1 / expected):
        return "These are the inverses: w multiplies the column."
    return f"It should be {expected.round(4)}, yours is {value.round(4)}. Set the derivative of (3.24) in ln w to zero."
