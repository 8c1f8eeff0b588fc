"""One table for the exercises of chapter 7, as `test_checkers` has it for chapters 1 to 4."""

from itertools import combinations

import numpy as np
import pytest
from numpy.linalg import slogdet
from scipy import linalg
from scipy.stats import multivariate_normal
from test_checkers import Row, nonsense, of, replaced
from test_hostile_answers import calls_of, right

from gplvm_edu.exercises import check, exercise_names
from gplvm_edu.ivm import GUARANTEE, place_inactive

EXERCISES = exercise_names("ivm")
TABLE: dict[str, Row] = {}


def inclusion(mean, covariance, n, y, s2, factor=1.0, residual=True):
    gain = covariance[n] / (covariance[n, n] + s2)
    new = mean + gain * (y - mean[n] if residual else y)
    return new, covariance - factor * np.outer(gain, covariance[n])


def pivots(K, s2, d):
    """The order of LAPACK's pivoted Cholesky factorisation."""
    return linalg.lapack.dpstrf(K + s2 * np.eye(len(K)), lower=1)[1][:d] - 1


def evidence(Y, X, kernel, s2, order, shift=0, counts=None):
    S = kernel(X[order]) + s2 * np.eye(len(order))
    return multivariate_normal(cov=S).logpdf(Y[order][:, :counts].T).sum() + shift


def evidence_afterwards(Y, X, kernel, s2, order):
    mean, covariance, total = np.zeros_like(Y), kernel(X), 0.0
    for n in order:
        s, v = covariance[:, n].copy(), covariance[n, n] + s2
        mean, covariance = mean + np.outer(s, Y[n] - mean[n]) / v, covariance - np.outer(s, s) / v
        v = covariance[n, n] + s2
        total += np.sum(-0.5 * np.log(2 * np.pi * v) - 0.5 * (Y[n] - mean[n]) ** 2 / v)
    return total


def variance(kernel, X, x, noise=True, between=0.0):
    k = kernel(X, x) + between
    return kernel.diag(x, noise=noise) - np.sum(k * np.linalg.solve(kernel(X), k), axis=0)


def home(active, Y, X):
    """The likeliest of a fine grid, then a climb."""
    places = np.linspace(-3, 3, 400)[:, None]
    table = active.log_likelihood_table(Y, places)
    best = places[np.argmax(table, axis=1)]
    found, values = place_inactive(active, Y, best)
    before = active.log_likelihoods(Y, X)
    return np.where((values > before)[:, None], found, X)


def told(K, s2, rows):
    rows = list(rows)
    return slogdet(np.eye(len(rows)) + K[np.ix_(rows, rows)] / s2)[1]


def share(K, s2, d, greedy=pivots, turned=False):
    most = max(told(K, s2, rows) for rows in combinations(range(len(K)), d))
    value = told(K, s2, greedy(K, s2, d)) / most
    return 1 / value if turned else value


def at_once(K, s2, d):
    return np.argsort(-np.diag(K))[:d]


TABLE["ivm.1"] = Row(
    right=[lambda v, s2: -0.5 * np.log(s2 / (v + s2)), lambda v, s2: [np.log(np.sqrt(1 + v / s2))]],
    wrong=[
        (lambda v, s2: 0.5 * np.log2(1 + v / s2), "bits"),
        (lambda v, s2: np.log(1 + v / s2), "HALF"),
        (lambda v, s2: -0.5 * np.log(1 + v / s2), "sign"),
        (lambda v, s2: v, "should be"),
    ],
)
TABLE["ivm.2"] = Row(
    right=[inclusion, lambda *a: [part.tolist() for part in inclusion(*a)]],
    wrong=[
        (lambda *a: inclusion(*a, residual=False), "residual"),
        (lambda *a: inclusion(*a, factor=2.0), "outer product"),
        (lambda *a: inclusion(*a)[0], "two things"),
        (replaced("ivm.2", 1, lambda part, *_: np.diag(np.diag(part))), "outer product"),
    ],
)
TABLE["ivm.3"] = Row(
    right=[pivots, lambda *a: pivots(*a).tolist(), lambda *a: tuple(float(n) for n in pivots(*a))],
    wrong=[
        (lambda K, s2, d: np.full(d, np.argmax(np.diag(K))), "twice"),
        (at_once, "order"),
        (lambda K, s2, d: pivots(K, 0.0, d), "no noise"),
        (lambda K, s2, d: pivots(K, s2**2, d), "begin"),
        (lambda K, s2, d: pivots(K, 0.5 * s2, d), "begin"),
        (lambda K, s2, d: pivots(K, np.sqrt(s2), d), "begin"),
        (lambda K, s2, d: pivots(K, 2 * s2, d), "begin"),
        (lambda K, s2, d: pivots(K, s2, d)[:-1], "indices are wanted"),
        (lambda K, s2, d: pivots(K, s2, d) + len(K), "count from 0"),
    ],
)
TABLE["ivm.4"] = Row(
    right=[variance, lambda kernel, X, x: float(variance(kernel, X, x)[0])],
    wrong=[
        (lambda *a: variance(*a, noise=False), "noise of its own"),
        (lambda *a: variance(*a, between=0.3), "should be"),
        (lambda kernel, X, x: kernel.diag(x), "given the active rows"),
    ],
)
TABLE["ivm.5"] = Row(
    right=[lambda d, D: D * (d - 1) / 2 * np.log(2 * np.pi), lambda d, D: [np.log((2 * np.pi) ** ((d - 1) / 2)) * D]],
    wrong=[
        (lambda d, D: -0.5 * D * (d - 1) * np.log(2 * np.pi), "other way"),
        (lambda d, D: 0.5 * D * d * np.log(2 * np.pi), "keeps one"),
        (lambda d, D: 0.5 * (d - 1) * np.log(2 * np.pi), "D outputs"),
        (lambda d, D: 0.0, "should be"),
    ],
)
TABLE["ivm.6"] = Row(
    right=[evidence, lambda *a: np.array([evidence(*a)])],
    wrong=[
        (evidence_afterwards, "BEFORE"),
        (lambda *a: evidence(*a, counts=1), "columns"),
        (lambda *a: evidence(*a, shift=0.5 * 15 * np.log(2 * np.pi)), "2 pi"),
    ],
)
TABLE["ivm.7"] = Row(
    right=[home, lambda *a: home(*a).tolist()],
    wrong=[
        (lambda m, Y, X: X, "nearest hill"),
        (lambda m, Y, X: np.zeros_like(X), "worse off"),
        (lambda m, Y, X: place_inactive(m, Y, X)[0], "nearest hill"),
        (lambda m, Y, X: X[:10], "One place for each"),
        (lambda m, Y, X: np.sort(X, axis=0), "worse off"),
    ],
)
TABLE["ivm.8"] = Row(
    right=[share, of("ivm.8", lambda value: [value])],
    wrong=[
        (lambda *a: share(*a, turned=True), "can't exceed 1"),
        (lambda *a: share(*a, greedy=at_once), "update them"),
        (lambda *_: GUARANTEE, "guaranteed"),
        (lambda *_: 1.0, "should be"),
    ],
)


def cases(kind):
    return [(name, k) for name in EXERCISES for k in range(len(getattr(TABLE[name], kind)))]


def test_the_table_has_every_exercise_with_enough_of_each_kind():
    assert sorted(TABLE) == sorted(EXERCISES) and len(EXERCISES) == 8
    for name, row in TABLE.items():
        assert len(row.right) >= 1 and len({word for _, word in row.wrong}) >= 3, name


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
    assert "Error" not in verdict.message, verdict


@pytest.mark.bad_input
@pytest.mark.parametrize("name", EXERCISES)
def test_nonsense_does_not_pass(name):
    last = -1 if name == "ivm.7" else None  # a thousandth beside a good home is a good home
    for answer in (*nonsense(name)[:last], *TABLE[name].nonsense):
        verdict = check(name, answer)
        assert verdict.passed is False and verdict.message, (answer, verdict)


@pytest.mark.parametrize("name", EXERCISES)
def test_a_function_is_tried_with_more_than_one_problem(name):
    assert len(calls_of(name)) >= 2
