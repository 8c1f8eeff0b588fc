"""One table for the exercises of chapter 6, as `test_checkers` has it for chapters 1 to 4."""

import numpy as np
import pytest
from numpy.linalg import eigh
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist, squareform
from sklearn import isotonic, manifold
from test_checkers import Row, nonsense, of
from test_hostile_answers import VALUES, calls_of, right

from gplvm_edu.exercises import check, exercise_names
from gplvm_edu.proximity import guttman_transform, kruskal_stress, principal_coordinates, sammon_stress

EXERCISES = exercise_names("proximity")
TABLE: dict[str, Row] = {}


def smacof_pair_by_pair(X, Delta):
    N, X = len(X), X - X.mean(axis=0)
    new = np.zeros_like(X)
    for n in range(N):
        for m in range(N):
            if m != n:
                new[n] += Delta[n, m] * (X[n] - X[m]) / np.linalg.norm(X[n] - X[m]) / N
    return new


def smacof_by_the_pseudo_inverse(X, Delta):
    N = len(X)
    B = -Delta / (cdist(X, X) + np.eye(N))
    B -= np.diag(B.sum(axis=1))
    return np.linalg.pinv(N * np.eye(N) - np.ones((N, N))) @ B @ X


def smacof_without_the_diagonal(X, Delta):
    return -Delta / (cdist(X, X) + np.eye(len(X))) @ X / len(X)


def sammon_by_differences(X, Delta, step=1e-5):
    """Central differences of the fourth order."""
    gradient = np.zeros_like(X)
    for place in np.ndindex(X.shape):
        E = []
        for factor in (-2, -1, 1, 2):
            there = X.copy()
            there[place] += factor * step * 100
            E.append(sammon_stress(there, Delta)[0])
        gradient[place] = (E[0] - 8 * E[1] + 8 * E[2] - E[3]) / (12 * step * 100)
    return gradient


def sammon_pair_by_pair(X, Delta):
    gradient, c = np.zeros_like(X), np.sum(np.triu(Delta))
    for n, m in np.ndindex(Delta.shape):
        if n != m:
            d = np.linalg.norm(X[n] - X[m])
            gradient[n] -= 2 / c * (Delta[n, m] - d) / (Delta[n, m] * d) * (X[n] - X[m])
    return gradient


def isotonic_by_averages(y):
    """The formula of minima of maxima of averages."""
    y, n = np.asarray(y, float), len(y)
    return [max(min(np.mean(y[a : b + 1]) for b in range(i, n)) for a in range(i + 1)) for i in range(n)]


def pooled_once(y):
    """Each falling pair is averaged, once, and nobody looks back."""
    z = np.array(y, float)
    for i in range(len(z) - 1):
        if z[i] > z[i + 1]:
            z[i] = z[i + 1] = (z[i] + z[i + 1]) / 2
    return z


def coordinates(G, q, power=2, factor=-0.5, leading=True):
    H = np.eye(len(G)) - 1 / len(G)
    lam, U = eigh(factor * H @ G**power @ H)
    places = slice(-q, None) if leading else slice(0, q)
    return U[:, places] * np.sqrt(np.maximum(lam[places], 0))


def on_a_line(*places):
    return np.abs(np.subtract.outer(places, places))


def last_before_the_fall(ks, lengths):
    """By ratios of neighbours in the list."""
    fallen = np.flatnonzero(np.asarray(lengths)[1:] / np.asarray(lengths)[:-1] <= 0.75)
    return [ks[fallen[0]]] if len(fallen) else [ks[-1]]


def first_after_the_fall(ks, lengths):
    fallen = np.flatnonzero(np.diff(lengths) <= -0.25 * lengths[:-1])
    return ks[fallen[0] + 1] if len(fallen) else ks[-1]


def steepest(ks, lengths):
    return ks[np.argmin(lengths[1:] / lengths[:-1])]


def against_the_first(ks, lengths):
    fallen = np.flatnonzero(lengths[1:] <= 0.75 * lengths[0])
    return ks[fallen[0]] if len(fallen) else ks[-1]


def of_what_is_left(ks, lengths):
    """A loss as a share of the new length."""
    fallen = np.flatnonzero(1.25 * lengths[1:] <= lengths[:-1])
    return ks[fallen[0]] if len(fallen) else ks[-1]


def its_place(ks, lengths):
    return list(ks).index(last_before_the_fall(ks, lengths)[0])


def no_largest(ks, lengths):
    fallen = np.flatnonzero(lengths[1:] <= 0.75 * lengths[:-1])
    return ks[fallen[0]] if len(fallen) else ks[0]


TABLE["proximity.1"] = Row(
    right=[
        lambda d, delta: np.sum(d * delta) / np.sum(d**2),
        lambda d, delta: [np.linalg.lstsq(d[:, None], delta, rcond=None)[0][0]],
        lambda d, delta: minimize_scalar(lambda a: np.sum((delta - a * d) ** 2), tol=1e-12).x,
    ],
    wrong=[
        (lambda d, delta: d @ delta / (delta @ delta), "stretch"),
        (lambda d, delta: delta.sum() / d.sum(), "derivative"),
        (lambda d, delta: np.mean(delta / d), "it should be"),
    ],
)
TABLE["proximity.2"] = Row(
    right=[guttman_transform, smacof_pair_by_pair, smacof_by_the_pseudo_inverse],
    wrong=[
        (of("proximity.2", lambda X: len(X) * X), "N times"),
        (of("proximity.2", lambda X: -X), "sign"),
        (smacof_without_the_diagonal, "rows of your B"),
        (lambda X, Delta: np.nan * X, "NaN"),
    ],
)
TABLE["proximity.3"] = Row(
    right=[lambda X, Delta: sammon_stress(X, Delta)[1], sammon_pair_by_pair],
    wrong=[
        (of("proximity.3", lambda g: -g), "sign"),
        (of("proximity.3", lambda g: 2 * g), "n < m"),
        (lambda X, Delta: Delta.sum() / 2 * sammon_stress(X, Delta)[1], "1/c"),
        (lambda X, Delta: sammon_stress(X, Delta)[1].sum(axis=1), "shape"),
    ],
)
TABLE["proximity.4"] = Row(
    right=[isotonic.isotonic_regression, isotonic_by_averages],
    wrong=[
        (np.maximum.accumulate, "running maximum"),
        (np.sort, "sorted"),
        (pooled_once, "look back once more"),
        (lambda y: y, "falls"),
    ],
)
TABLE["proximity.5"] = Row(
    right=[
        lambda G, q: principal_coordinates(G, q)[0],
        lambda G, q: manifold.Isomap(n_neighbors=len(G) - 1, n_components=q, metric="precomputed").fit_transform(G),
        lambda G, q: -coordinates(G, q)[:, ::-1] + 3.0,  # turned over, and shifted
    ],
    wrong=[
        (lambda G, q: coordinates(G, q, power=1), "roots of the distances"),
        (lambda G, q: coordinates(G, q, factor=-1.0), "not those of the sheet"),
        (lambda G, q: coordinates(G, q)[:, :1].T, "coordinates for each"),
        (lambda G, q: np.nan * coordinates(G, q), "negative number"),
    ],
)
TABLE["proximity.6"] = Row(
    right=[8, 8.0, np.int64(8), [8], np.array(8)],
    wrong=[(9, "first number"), (12, "orange edge already"), (3, "room for more"), (8.5, "whole number")],
)
TABLE["proximity.7"] = Row(
    right=[
        on_a_line(0, 1, 3, 50, 57, 66.5),
        on_a_line(0, 1, 3, 50, 57, 66.5).tolist(),
        1e-3 * on_a_line(0, 1, 3, 7.5, 100, 111, 130),
        on_a_line(0, 1, 3, 7.5, 12.25, 100),  # one point alone in the second place
        on_a_line(*2.0 ** np.arange(8), *(1e4 + 1.7 * 3.0 ** np.arange(1, 8))),  # fifteen points
        1e-14 * on_a_line(0, 1, 3, 50, 57, 66.5),
        squareform(on_a_line(0, 1, 3, 50, 57, 66.5)),  # one number a pair
    ],
    wrong=[
        (1.0 - np.eye(6), "different"),
        (on_a_line(0, 1, 3.3, 7, 12, 20.5), "not zero"),
        (np.arange(1.0, 16.0), "not zero"),
        (on_a_line(*np.arange(20.0) ** 1.37), "not zero"),
        (np.triu(on_a_line(0, 1, 3, 50, 57, 66.5)), "symmetric"),
        (on_a_line(0, 1, 50, 57), "at least six points"),
    ],
)
TABLE["proximity.8"] = Row(
    right=[last_before_the_fall, lambda ks, lengths: float(last_before_the_fall(ks, lengths)[0])],
    wrong=[
        (first_after_the_fall, "stop one earlier"),
        (steepest, "no single step"),
        (against_the_first, "no single step"),
        (of_what_is_left, "before the step, not after"),
        (its_place, "a place in the list"),
        (no_largest, "the largest k is allowed"),
        (lambda ks, lengths: ks[np.flatnonzero(lengths[1:] <= 0.75 * lengths[:-1])[-1]], "take the first"),
    ],
)


def cases(kind):
    return [(name, k) for name in EXERCISES for k in range(len(getattr(TABLE[name], kind)))]


def test_the_table_has_every_exercise_with_enough_of_each_kind():
    assert sorted(TABLE) == sorted(EXERCISES) and len(EXERCISES) == 8
    for name, row in TABLE.items():
        assert len(row.right) >= 2 and len({word for _, word in row.wrong}) >= 3, name


@pytest.mark.parametrize("name", EXERCISES)
def test_the_solution_in_the_chapter_passes(name):
    verdict = check(name, right(name))
    assert verdict.passed is True, verdict


@pytest.mark.parametrize("name", [name for name in EXERCISES if name not in VALUES])
def test_a_function_is_tried_with_more_than_one_problem(name):
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


# ---------------------------------------------------------------------- the answers themselves
@pytest.mark.gradient
def test_the_gradient_of_exercise_3_is_that_of_differences():
    X, Y = np.random.default_rng(0).standard_normal((6, 2)), np.random.default_rng(1).standard_normal((6, 4))
    Delta = cdist(Y, Y)
    assert np.abs(sammon_pair_by_pair(X, Delta) - sammon_by_differences(X, Delta)).max() < 1e-8


@pytest.mark.identity
def test_the_line_of_exercise_7_collapses_into_two_places():
    places = np.repeat([0.0, 1.0], 3)[:, None]
    assert kruskal_stress(places, on_a_line(0, 1, 3, 50, 57, 66.5)) < 1e-12
    assert kruskal_stress(places, on_a_line(0, 1, 3.3, 7, 12, 20.5)) > 0.1
