"""Other rules for the active set: what the informative vector machine's choice is to be compared with.

A rule names the rows. They are then included as always, in the order in which they tell most of one another, so that a
`Selection` comes out whichever rule was followed.
"""

import warnings

import numpy as np
from scipy import linalg
from scipy.cluster.vq import kmeans2

from .fast import select_active_set
from .selection import Selection, kernel_column


def random_rows(X, kernel, n_active, rng) -> np.ndarray:
    """Row numbers drawn at random, without any that come twice.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> len(set(random_rows(np.zeros((9, 2)), RBF(), 5, np.random.default_rng(0))))
    5
    """
    return rng.choice(len(X), min(n_active, len(X)), replace=False)


def spread_places(X, n_places, rng) -> np.ndarray:
    """Different rows of X as k-means++ draws them: each with a probability that grows as its squared distance.

    Notes
    -----
    Costs O(N q) for each place; fewer are returned where fewer differ. Arthur and Vassilvitskii (2007).

    Examples
    --------
    >>> sorted(spread_places(np.array([[0.0], [0.0], [7.0]]), 3, np.random.default_rng(0)).ravel().tolist())
    [0.0, 7.0]
    """
    places = [X[rng.integers(len(X))]]
    nearest = np.sum((X - places[0]) ** 2, axis=1)
    while len(places) < n_places and nearest.any():
        places.append(X[rng.choice(len(X), p=nearest / nearest.sum())])
        nearest = np.minimum(nearest, np.sum((X - places[-1]) ** 2, axis=1))
    return np.array(places)


def kmeans_rows(X, kernel, n_active, rng) -> np.ndarray:
    """The row nearest to the centre of each cluster of the latent positions, by k-means.

    Where a cluster is left empty, or fewer than `n_active` places differ, rows drawn at random fill up.

    Notes
    -----
    Costs O(N |I| q) for each of the 25 iterations of k-means.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> sorted(kmeans_rows(X, RBF(), 2, np.random.default_rng(0)).tolist())
    [1, 4]
    """
    begin = spread_places(X, n_active, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an empty cluster is no accident here: others fill up
        centres, cluster = kmeans2(X, begin, iter=25, minit="matrix")
    distances = np.linalg.norm(X - centres[cluster], axis=1)
    members = [np.flatnonzero(cluster == c) for c in np.unique(cluster)]
    rows = np.array([mine[np.argmin(distances[mine])] for mine in members])
    others = np.setdiff1d(np.arange(len(X)), rows)
    missing = min(n_active, len(X)) - len(rows)
    return np.concatenate([rows, rng.choice(others, missing, replace=False)])


def pivoted_cholesky_rows(X, kernel, n_active, rng=None) -> np.ndarray:
    r"""The first pivots of the Cholesky factorisation of K, in their order: each the largest diagonal entry left.

    .. math:: n = \arg\max_n c_n, \qquad c_n = K_{nn} - \sum_i L_{ni}^2

    Parameters
    ----------
    X : ndarray (N, q)
    kernel : Kernel
        With its `White` part, if it has one.
    n_active : int
    rng : ignored
        The rule has nothing to draw.

    Notes
    -----
    Costs O(d^2 N); LAPACK's `dpstrf` does the same with the whole matrix. Of equal entries the first is taken. Chapter
    7, equation (7.9a).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> pivoted_cholesky_rows(np.array([[0.0], [0.1], [3.0], [1.5]]), RBF(), 3)
    array([0, 2, 3])
    """
    N, n_active, left = len(X), min(n_active, len(X)), kernel.diag(X).copy()
    prior, L = left.copy(), np.zeros((N, n_active))
    pivots: list[int] = []
    for i in range(n_active):
        left[pivots] = -np.inf
        n = int(np.argmax(left))
        column = kernel_column(kernel, X, n, prior) - L[:, :i] @ L[n, :i]
        L[:, i] = column / np.sqrt(max(column[n], np.finfo(float).tiny))
        left = left - L[:, i] ** 2  # (7.9a)
        pivots.append(n)
    return np.array(pivots)


RULES = {"random": random_rows, "kmeans": kmeans_rows, "pivoted_cholesky": pivoted_cholesky_rows}
SELECTIONS = ("ivm", *RULES)


def select_among(Y, X, kernel, noise, rows) -> Selection:
    """The selection of given rows and no others, in the order in which they tell most.

    Parameters
    ----------
    Y, X, kernel, noise : as in `select_active_set`
    rows : ndarray of int
        Row numbers, none twice.

    Notes
    -----
    Costs O(d^2 N) for each distinct covariance. `offers` is -inf for rows that were not asked. Chapter 7, equations
    (7.5) to (7.10).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.noise import Gaussian
    >>> X = np.array([[0.0], [0.1], [3.0]])
    >>> select_among(np.zeros((3, 1)), X, RBF(), Gaussian(0.1), [1, 2]).active   # the first stays out
    array([1, 2])
    """
    rows = np.asarray(rows)
    found = select_active_set(Y[rows], X[rows], kernel, noise.rows(rows), len(rows))
    active, offers = rows[found.active], np.full(len(Y), -np.inf)
    offers[rows] = found.offers
    k = kernel(X[active], X)
    k[np.arange(len(active)), active] = kernel.diag(X[active])
    if found.groups is None:
        M = linalg.solve_triangular(found.L, k, lower=True)
    else:
        seen = [found.precisions[:, columns[0]] > 0 for columns in found.groups]
        M = tuple(linalg.solve_triangular(L, k[mine], lower=True) for L, mine in zip(found.L, seen, strict=True))
    return found._replace(active=active, offers=offers, M=M)


def choose_active_set(Y, X, kernel, noise, n_active, selection="ivm", rng=None) -> Selection:
    """The active set by one of the rules: "ivm", "random", "kmeans" or "pivoted_cholesky".

    Parameters
    ----------
    Y, X, kernel, noise, n_active : as in `select_active_set`
    selection : str
        "ivm" is `select_active_set`; "random" and "kmeans" draw from `rng`; "pivoted_cholesky" takes the pivots of the
        covariance of f, without the noise.
    rng : numpy.random.Generator, or None

    Notes
    -----
    Costs O(d^2 N), as `select_active_set`. Chapter 7, "Does the choice matter?".

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.noise import Gaussian
    >>> X = np.array([[0.0], [0.1], [3.0]])
    >>> sorted(choose_active_set(np.zeros((3, 1)), X, RBF(), Gaussian(0.1), 2, "pivoted_cholesky").active.tolist())
    [0, 2]
    """
    if selection == "ivm":
        return select_active_set(Y, X, kernel, noise, n_active)
    rng = np.random.default_rng() if rng is None else rng
    return select_among(Y, X, kernel, noise, RULES[selection](X, kernel, n_active, rng))
