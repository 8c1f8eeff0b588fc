"""Checkers of chapter 6. Each compares an answer with a second way to the same numbers."""

from functools import lru_cache

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist, is_valid_y, squareform

from ..datasets import make_swiss_roll
from ..proximity import (
    guttman_transform,
    kruskal_stress,
    neighbour_graph,
    pool_adjacent_violators,
    principal_coordinates,
    sammon_stress,
    short_circuits,
)
from . import checker
from .answers import close, number, numbers


def _problem(seed=0, N=8):
    rng = np.random.default_rng(seed)
    Y, X = rng.standard_normal((N, 4)), rng.standard_normal((N, 2))
    return X - X.mean(axis=0), cdist(Y, Y)


@checker("proximity.1")
def best_scale(function):
    """function(d, delta): the number a for which a d is nearest to delta."""
    for X, Delta in (_problem(), _problem(5, N=5)):
        upper = np.triu_indices(len(X), k=1)
        d, delta = cdist(X, X)[upper], Delta[upper]
        expected, value = d @ delta / (d @ d), number(function(d, delta))
        if close(value, expected):
            continue
        if close(value, d @ delta / (delta @ delta)):
            return "That is the scale of delta that comes nearest to d: it is the map that you may stretch."
        if close(value, delta.sum() / d.sum()):
            return "That makes the sums equal, not the squared errors small. Set the derivative in a to zero."
        return f"For the test map it should be {expected:.4f}, yours is {value:.4f}."
    return None


@checker("proximity.2")
def one_step_of_smacof(function):
    """function(X, Delta): the Guttman transform with equal weights."""
    for X, Delta in (_problem(1), _problem(6, N=5)):
        expected, value = guttman_transform(X, Delta), numbers(function(X, Delta), finite=False)
        if value.shape != X.shape:
            return f"The new map has the shape of the old one, {X.shape}; yours has {value.shape}."
        if close(value, expected):
            continue
        if close(value, len(X) * expected):
            return "N times too large: V is N I - 11', so its inverse on centred maps is division by N (6.7)."
        if close(value, -expected):
            return "The sign: off its diagonal B is negative, (6.5)."
        if np.isnan(value).any():
            return (
                "NaN: on the diagonal delta / d is 0 / 0. Fill the diagonal of B afterwards, so that its rows sum to 0."
            )
        return "It is not B(X) X / N. Do the rows of your B sum to zero?"
    return None


@checker("proximity.3")
def gradient_of_sammons_stress(function):
    """function(X, Delta): the gradient of E in X."""
    for X, Delta in (_problem(2), _problem(7, N=5)):
        expected, value = sammon_stress(X, Delta)[1], numbers(function(X, Delta))
        if value.shape != X.shape:
            return f"The gradient has the shape of X, {X.shape}; yours has {value.shape}."
        if close(value, expected):
            continue
        if close(value, -expected):
            return "The sign: where the map has too small a distance, E falls as the points move apart."
        c = Delta.sum() / 2
        if close(value, c * expected):
            return "The factor 1/c is missing."
        for factor in (0.5, 2.0):
            if close(value, factor * expected):
                return (
                    f"{factor:g} times the right answer. Each pair stands once in E: the sum is over n < m, and c too "
                    "sums each pair once."
                )
        return "It differs from finite differences. Compare with (6.10), one pair of points at a time."
    return None


@checker("proximity.4")
def isotonic_regression(function):
    """function(y): the non-decreasing sequence nearest to y, for a list or an array."""
    sequences = (
        [1.0, 3.0, 2.0, 4.0],
        [5.0, 4.0, 3.0, 2.0, 1.0],
        [1.0, 2.0, 3.0],
        [1.0, 9.0, 2.0, 3.0, 0.0, 4.0],
        list(np.random.default_rng(3).standard_normal(40)),
        [2.0],
    )
    for y in sequences:
        y = np.array(y)
        expected, value = pool_adjacent_violators(y), numbers(function(y))
        if close(value, expected):
            continue
        if value.shape != y.shape:
            return f"The answer has as many numbers as y, {len(y)}; yours has the shape {value.shape}."
        if close(value, np.maximum.accumulate(y)):
            return "That is the running maximum: it only pushes up. The nearest sequence meets in the mean."
        if close(value, np.sort(y)):
            return "You sorted the numbers. Each must stay in its place and move as little as it can."
        if np.any(np.diff(value) < -1e-12):
            return f"For {y.round(2)} your answer still falls somewhere: after a block has grown, look back once more."
        return f"For {y.round(2)} the nearest is {expected.round(3)}, yours is {value.round(3)}."
    return None


@checker("proximity.5")
def coordinates_from_geodesics(function):
    """function(G, q): Isomap's coordinates from the geodesic distances."""
    for N, q in ((60, 2), (40, 1)):
        roll = make_swiss_roll(N, random_state=0)
        G = cdist(roll.extra["sheet"], roll.extra["sheet"])
        expected, value = principal_coordinates(G, q)[0], numbers(function(G, q), finite=False)
        if value.shape != expected.shape:
            return f"One row of {q} coordinates for each of {N} points is wanted; yours has the shape {value.shape}."
        if close(cdist(value, value), cdist(expected, expected), rtol=1e-6):
            continue
        unsquared = principal_coordinates(np.sqrt(G), q)[0]
        if close(cdist(value, value), cdist(unsquared, unsquared), rtol=1e-5):
            return "These are the coordinates of the roots of the distances. What does (6.17) do to G first?"
        if np.isnan(value).any():
            return "NaN: a root of a negative number. Which eigenvalues did you keep?"
        return "The distances between your points are not those of the sheet, although this sheet is flat."
    return None


@lru_cache
def _last_without_a_jump():
    """The largest n_neighbors for which the explorer's first Swiss roll has no short circuit."""
    roll = make_swiss_roll(400, random_state=0)
    D = cdist(roll.data, roll.data)
    jumps = [len(short_circuits(neighbour_graph(D, k), roll.extra["sheet"])) for k in range(1, 21)]
    return int(np.flatnonzero(jumps)[0])  # k counts from 1, the index from 0


@checker("proximity.6")
def most_neighbours_without_a_short_circuit(answer):
    """The largest n_neighbors for which the explorer's first Swiss roll has no short circuit."""
    most, exact = number(answer), _last_without_a_jump()
    if most == exact:
        return None
    if most != round(most):
        return "A whole number of neighbours is asked for."
    if most == exact + 1:
        return "That is the first number with a short circuit; the largest without one is asked for."
    if most > exact:
        return "There is an orange edge already. Where does the first one appear?"
    return "No orange edge yet: there is room for more neighbours."


@checker("proximity.7")
def dissimilarities_that_collapse(answer):
    """Dissimilarities of six points or more, all different, that two places map with no stress: a matrix or a list."""
    D = numbers(answer)
    if D.ndim == 1 and is_valid_y(D):
        D = squareform(D)  # one number a pair, as SciPy's pdist gives them
    if D.ndim != 2 or D.shape[0] != D.shape[1] or len(D) < 6:
        return f"A square matrix for at least six points is wanted; yours has the shape {D.shape}."
    upper = D[np.triu_indices(len(D), k=1)]
    if not (close(D, D.T, 1e-5, 1e-8) and np.all(np.diag(D) == 0) and np.all(upper > 0)):
        return "Dissimilarities are symmetric, zero on the diagonal and above zero elsewhere."
    rising = np.sort(upper)
    if np.any(np.diff(rising) <= 1e-12 * rising[1:]):
        return "Make all dissimilarities different: then no tie can be blamed."
    # Every way inside the places is shorter than every way between them, so joining the nearest first finds the places.
    places = fcluster(linkage(upper, "single"), 2, "maxclust")
    if kruskal_stress(places[:, None].astype(float), D) < 1e-9:
        return None
    return "I joined the nearest first, down to two places, the only ones that could do: the stress is not zero."


CURVES = (  # (k, the longest geodesic of each)
    ((6, 7, 8, 9, 10, 11, 12), (110.0, 103.0, 99.0, 97.0, 96.0, 59.0, 58.0)),  # one cliff
    ((4, 5, 6, 7, 8, 9), (109.0, 101.0, 65.0, 62.0, 45.0, 42.0)),  # two: the first counts
    ((4, 5, 6, 7), (105.0, 63.0, 62.0, 59.0)),  # at the first step
    ((4, 6, 8, 10, 12), (130.0, 112.0, 101.0, 97.0, 96.0)),  # none, though a quarter is lost in all; every second k
    ((3, 4, 5, 6, 7), (90.0, 115.0, 108.0, 70.0, 40.0)),  # first it grows, as pieces are joined
    ((5, 6, 7), (80.0, 60.0, 59.0)),  # exactly a quarter
    ((5, 6, 7, 8), (100.0, 78.0, 50.0, 49.0)),  # first 22 %, which is more than a quarter of what is left
)


@checker("proximity.8")
def choice_of_neighbours(function):
    """function(ks, lengths): the last k before the longest geodesic loses a quarter or more in one step."""
    for ks, lengths in CURVES:
        k, length = np.array(ks), np.array(lengths)
        falls = 1 - length[1:] / length[:-1]
        cliffs = np.flatnonzero(length[1:] <= 0.75 * length[:-1])
        last = cliffs[0] if len(cliffs) else len(k) - 1
        of_what_is_left = np.flatnonzero(length[:-1] - length[1:] >= 0.25 * length[1:])
        value = number(function(k.copy(), length.copy()))
        if value == k[last]:
            continue
        curve = f"For the lengths {', '.join(f'{one:g}' for one in lengths)} at k = {', '.join(map(str, ks))} "
        if len(of_what_is_left) and of_what_is_left[0] < last and value == k[of_what_is_left[0]]:
            return curve + "you stopped too early: a loss is a share of the length before the step, not after it."
        if len(cliffs) and value == k[last + 1]:
            return curve + "your k is the first one with the short circuit: stop one earlier."
        if value == last and value not in k:
            return curve + f"you answered {value:g}: that is a place in the list, and k is what stands there."
        if not len(cliffs):
            return curve + f"no single step loses a quarter, so the largest k is allowed, {k[-1]}; yours is {value:g}."
        if value == k[cliffs[-1]] or value == k[np.argmax(falls)]:
            return curve + "there is more than one cliff. The first short circuit spoils the map: take the first."
        return curve + f"it should be {k[last]}, yours is {value:g}. Compare each length with the one just before it."
    return None
