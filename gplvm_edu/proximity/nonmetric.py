"""Non-metric MDS, which uses only the order of the dissimilarities: isotonic regression, and Kruskal's stress."""

from collections.abc import Iterator

import numpy as np
from scipy.spatial.distance import pdist, squareform

from .geodesics import TIE
from .stress import StressState, majorise


def order_levels(dissimilarities) -> np.ndarray:
    """The place of each dissimilarity (n,) in their order, 0 for the smallest; equal ones, but for rounding, share it.

    Notes
    -----
    Costs O(n log n). In other units equal distances may differ in their last digit, and that is no order. Chapter 6,
    equation (6.12).

    Examples
    --------
    >>> order_levels(np.array([0.3, 5.0, 0.1 + 0.2, 0.1]))
    array([1, 2, 1, 0])
    """
    order = np.argsort(dissimilarities, kind="stable")
    steps = np.diff(dissimilarities[order]) > TIE * dissimilarities[order][1:]
    level = np.empty(len(order), int)
    level[order] = np.cumsum(np.r_[0, steps])
    return level


def pool_adjacent_violators(y, weights=None) -> np.ndarray:
    r"""The non-decreasing sequence nearest to a given one, by least squares.

    .. math:: \hat y = \arg\min_{z_1 \le z_2 \le \dots \le z_n} \ \sum_i w_i (y_i - z_i)^2

    Parameters
    ----------
    y : ndarray (n,)
    weights : ndarray (n,) or None
        Above 0; None: all 1.

    Returns
    -------
    ndarray (n,)
        Constant on blocks; in each block the weighted mean of y.

    Notes
    -----
    All decreasing runs of blocks are pooled in one pass, with array operations, until none is left: usually a few
    passes over at most n numbers, although sequences exist that need of the order of sqrt(n) passes. The textbook
    algorithm looks at one block after another, in a Python loop over n numbers: 7 times slower for the pairs of 100
    points, 10 times for those of 300. Chapter 6, equations (6.12) and (6.13).

    Examples
    --------
    >>> pool_adjacent_violators(np.array([1.0, 3.0, 2.0, 4.0, 3.5, 3.0]))
    array([1. , 2.5, 2.5, 3.5, 3.5, 3.5])
    """
    w = np.ones(len(y)) if weights is None else np.asarray(weights, float)
    total, size, mean = w * y, w, np.asarray(y, float)
    first = np.arange(len(y))  # of each block
    while len(mean) > 1:
        begins = np.r_[True, mean[1:] >= mean[:-1]]  # a block below the one before it is pooled with that one
        if begins.all():
            break
        start = np.flatnonzero(begins)
        total, size = np.add.reduceat(total, start), np.add.reduceat(size, start)
        first, mean = first[start], total / size  # (6.13)
    return np.repeat(mean, np.diff(np.r_[first, len(y)]))


def disparities(distances, dissimilarities, ties="primary") -> np.ndarray:
    r"""The numbers nearest to the distances of a map that are ordered as the dissimilarities are.

    .. math:: \hat d = \arg\min_z \sum_{n<m} (d_{nm} - z_{nm})^2 \quad \text{such that} \quad
              \delta_{nm} < \delta_{ij} \Rightarrow z_{nm} \le z_{ij}

    Parameters
    ----------
    distances, dissimilarities : ndarray (N (N - 1) / 2,)
        One number for each pair, in the order of scipy's pdist.
    ties : "primary" or "secondary"
        Pairs of equal dissimilarity: their disparities may differ, or must be equal.

    Notes
    -----
    Costs O(N^2 log N), for sorting. Kruskal (1964). Chapter 6, equation (6.12).

    Examples
    --------
    >>> disparities(np.array([2.0, 1.0, 5.0]), np.array([10.0, 20.0, 30.0]))
    array([1.5, 1.5, 5. ])
    """
    d, delta = distances, dissimilarities
    if ties == "primary":
        order = np.argsort(delta)
        if not np.all(np.diff(delta[order])):
            order = np.lexsort((d, delta))  # pairs of equal dissimilarity: in the order of the map
        hat = np.empty(len(d))
        hat[order] = pool_adjacent_violators(d[order])
        return hat
    _, level, n_pairs = np.unique(delta, return_inverse=True, return_counts=True)
    means = np.bincount(level, d) / n_pairs
    return pool_adjacent_violators(means, n_pairs)[level]


def kruskal_stress(X, dissimilarities, ties="primary") -> float:
    r"""Kruskal's stress: how far the distances of a map are from the right order.

    .. math:: S(X) = \left[ \frac{\sum_{n<m} (d_{nm} - \hat d_{nm})^2}{\sum_{n<m} d_{nm}^2} \right]^{1/2}

    Parameters
    ----------
    X : ndarray (N, q)
    dissimilarities : ndarray (N, N)
        Only their order counts.
    ties : "primary" or "secondary"

    Returns
    -------
    float
        From 0, for a map in the right order, to 1; the sine of an angle. A map of coinciding points has 0.

    Notes
    -----
    Costs O(N^2 (q + log N)). Chapter 6, equations (6.11) and (6.14).

    Examples
    --------
    >>> D = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 2.0], [9.0, 2.0, 0.0]])
    >>> kruskal_stress(np.array([[0.0], [1.0], [3.0]]), D)          # 1 < 2 < 3 as 1 < 2 < 9
    0.0
    """
    d = pdist(X)
    hat = disparities(d, order_levels(squareform(dissimilarities, checks=False)), ties)
    length = np.sum(d**2)
    return float(np.sqrt(np.sum((d - hat) ** 2) / length)) if length > 0 else 0.0  # (6.11)


def nonmetric_iterates(dissimilarities, start, ties="primary", max_iter=1000, tolerance=1e-7) -> Iterator[StressState]:
    r"""Generator of `StressState`: disparities for the map and a Guttman transform for the disparities, in turn.

    .. math:: \hat d_t \propto \text{the disparities of } d(X_t), \quad \sum_{n<m} \hat d_t^2 = \sum_{n<m} \delta^2,
              \qquad X_{t+1} = \tfrac1N B_{\hat d_t}(X_t)\, X_t

    Parameters
    ----------
    dissimilarities : ndarray (N, N)
    ties : "primary" or "secondary"
    start, max_iter, tolerance : as in `majorise`

    Notes
    -----
    Costs O(N^2 (q + log N)) a step. Chapter 6, equations (6.11), (6.12) and (6.14).

    Examples
    --------
    >>> D = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 2.0], [9.0, 2.0, 0.0]])
    >>> [round(step.stress, 3) for step in nonmetric_iterates(D, np.array([[0.0], [3.0], [1.0]]), max_iter=2)]
    [0.378, 0.333, 0.333]
    """
    delta = squareform(dissimilarities, checks=False)
    length, level = np.sqrt(np.sum(delta**2)), order_levels(delta)

    def measure(X):
        d = pdist(X)
        hat = disparities(d, level, ties)
        value = float(np.sqrt(np.sum((d - hat) ** 2) / np.sum(d**2)))  # (6.11)
        return value, squareform(hat * (length / np.sqrt(np.sum(hat**2))))  # (6.14)

    return majorise(measure, start, None, max_iter, tolerance)
