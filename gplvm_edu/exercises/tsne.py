"""Checkers of chapter 11. Each compares an answer with a second way to the same number."""

import numpy as np

from ..linalg import squared_distances
from ..tsne import cost_and_gradient, joint_affinities, printed_cost_and_gradient, row_entropy, student_affinities
from . import checker
from .answers import close, number, numbers, truth, two_parts


def _problem(seed=0, N=9, D=3, q=2):
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((N, D))
    return Y, rng.standard_normal((N, q)), joint_affinities(Y, 3.0)


@checker("tsne.1")
def the_perplexity_of_a_point(function):
    """function(d2, b): the perplexity of a point whose squared distances to the others are d2 (M,)."""
    for seed, b in ((0, 0.3), (1, 2.0)):
        d2 = np.random.default_rng(seed).exponential(2.0, size=7)
        P, H, _ = row_entropy((d2 - d2.min())[None], np.array([b]))
        value, expected = number(function(d2, b)), float(np.exp(H[0]))
        if close(value, expected):
            continue
        if close(value, H[0]):
            return "That is the entropy, in nats. The perplexity is its exponential: a number of neighbours."
        if close(value, H[0] / np.log(2)):
            return "That is the entropy in bits. The perplexity is 2 to that power, or e to the power of the nats."
        if close(value, 1 / np.sum(P**2)):
            return "The inverse of the sum of squares also counts neighbours, but it is another mean: use the entropy."
        return f"For the test distances and b = {b} it should be {expected:.4f}, yours is {value:.4f}."
    return None


@checker("tsne.2")
def the_gradient(function):
    """function(X, P): the gradient (11.10), written with whole matrices."""
    _, X, P = _problem(2)
    expected, value = cost_and_gradient(X, P)[1], numbers(function(X, P))
    if value.shape != X.shape:
        return f"One entry for each entry of X is wanted, {X.shape}; yours has the shape {value.shape}."
    if close(value, expected):
        return None
    if close(value, -expected):
        return "The sign: where p is larger than q the two points should come closer when we descend."
    if close(value, expected / 2):
        return "Half of it: x_n stands in row n and in column n, and both count."
    Q = student_affinities(X)
    S = P - Q
    if close(value, 4 * (S.sum(axis=1)[:, None] * X - S @ X)):
        return "The factor w is missing: that is the gradient of SNE with a Gaussian q, without the heavy tail."
    return "It differs from finite differences. Differentiate ln w and ln Z apart, then collect p - q."


@checker("tsne.3")
def the_right_q(function):
    """function(X): the affinities (11.6); the cell's own version has an error."""
    _, X, _ = _problem(3)
    value, expected = numbers(function(X)), student_affinities(X)
    if value.shape != expected.shape:
        return f"One affinity for each ordered pair is wanted, {expected.shape}; yours has the shape {value.shape}."
    if close(value, expected):
        return None
    if not np.allclose(np.diag(value), 0):
        return "A point is not a neighbour of itself: the diagonal is zero, before the sum is taken."
    if np.allclose(value.sum(axis=1), 1.0):
        return "Each row sums to 1. That is a q(m | n); the sum in (11.6) goes over all pairs."
    d = np.sqrt(squared_distances(X))
    far, near = np.unravel_index(np.argmax(d), d.shape), np.unravel_index(np.argmin(d + 1e9 * np.eye(len(d))), d.shape)
    if value[far] > value[near]:
        return "The farthest pair has the largest affinity. Which sign should the exponent have?"
    return "Look at the power of the distance, and at what (11.6) has in its denominator."


@checker("tsne.4")
def where_the_terms_balance(function):
    """function(N, D): the temperature at which likelihood and energy have the same weight."""
    for N, D in ((100, 12), (1797, 64)):
        value = number(function(N, D))
        if not close(value, 1.0 / (N * D), 1e-9, 1e-8):
            side = "colder" if value < 1.0 / (N * D) else "hotter"
            return (
                f"For N = {N} and D = {D} yours is {value:.3g}, {side} than it should be. How many terms of order "
                "one does L add up, and how many does C?"
            )
    return None


@checker("tsne.5")
def the_energy_of_lle(function):
    """function(X, W): LLE's energy, the sum of |x_n - sum_m W_nm x_m|^2, and its gradient."""
    _, X, _ = _problem(4)
    W = np.random.default_rng(5).standard_normal((9, 9))
    np.fill_diagonal(W, 0.0)
    W /= W.sum(axis=1, keepdims=True)
    R = np.eye(9) - W
    value, gradient = two_parts(function(X, W))
    value, gradient = number(value), numbers(gradient)
    if not close(value, np.sum((R @ X) ** 2)):
        return f"The energy of the test positions should be {np.sum((R @ X) ** 2):.4f}, yours is {value:.4f}."
    if close(gradient, 2 * R @ X):
        return "x_n is also a neighbour of others: the gradient needs (I - W)' in front as well."
    if not close(gradient, 2 * R.T @ R @ X):
        return "The energy is right; the gradient of |R X|^2 with R = I - W is 2 R'R X."
    return None


@checker("tsne.6")
def the_rank_energy(function):
    """function(X, epsilon): the gradient of sum_i ln(1 + s_i^2 / epsilon), s_i the singular values of X."""
    _, X, _ = _problem(6, q=3)
    for epsilon in (0.1, 2.0):
        expected = 2 * X @ np.linalg.inv(epsilon * np.eye(3) + X.T @ X)
        value = numbers(function(X, epsilon))
        if close(value, expected):
            continue
        if value.shape != X.shape:
            return f"One entry for each entry of X is wanted, {X.shape}; yours has the shape {value.shape}."
        if close(value, expected / 2):
            return "Half of it: d ln|A| = tr(A^-1 dA), and d(X'X) has two terms."
        return "Write the energy as ln |I + X'X / epsilon| first; appendix A differentiates log determinants."
    return None


@checker("tsne.7")
def the_largest_exaggeration(function):
    """function(P): the exaggeration at which no small map grows any more."""
    for seed in (7, 8):
        _, _, P = _problem(seed, N=15)
        N = len(P)
        mu, U = np.linalg.eigh(np.diag(P.sum(axis=1)) - P)
        value, expected = number(function(P)), 1.0 / ((N - 1) * mu[1])
        if close(value, expected):
            x = 1e-6 * U[:, 1:2]
            below, above = (np.vdot(x, cost_and_gradient(x, a * value * P)[1]) for a in (0.9, 1.1))
            assert below < 0 < above  # the slowest mode grows below, and shrinks above
            continue
        if close(value, 1.0 / (N * mu[1]), rtol=1e-3):
            return "Nearly: there are N (N - 1) ordered pairs in Z, not N^2."
        if close(value, 1.0 / ((N - 1) * mu[-1])):
            return "That is where the fastest mode stops growing; the slowest one, of the second eigenvalue, goes on."
        return (
            f"For the test affinities it should be {expected:.3f}, yours is {value:.3f}. Set w = 1 in (11.10): "
            "what is left is linear in X."
        )
    return None


@checker("tsne.8")
def what_the_printed_energy_likes(answer):
    """True or False: under the printed q, pulling a pair of neighbours apart lowers the cost."""
    _, X, _ = _problem(9)
    P = np.zeros((9, 9))
    P[[0, 1], [1, 0]] = 0.5
    apart = X.copy()
    apart[0] += 50.0
    lowers = printed_cost_and_gradient(apart, P)[0] < printed_cost_and_gradient(X, P)[0]
    if truth(answer) is bool(lowers):
        return None
    return "Take all p on one pair and compute the printed cost with the pair near, and far."
