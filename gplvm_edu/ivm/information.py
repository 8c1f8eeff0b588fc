"""How much a set of rows tells, what greedy choice promises of it, and the best set by looking at all."""

from itertools import combinations

import numpy as np

GUARANTEE = 1.0 - np.exp(-1.0)  # of what the best set tells, the least that a greedy one does, (7.9c)


def information(K_f, rows, noise_variance) -> float:
    r"""Nats that the observations of some rows take off the entropy of one output.

    .. math:: \Delta H_I = \tfrac12 \ln |I + \sigma^{-2} K_{f, II}|

    Parameters
    ----------
    K_f : ndarray (N, N)
        Covariance of f, without noise.
    rows : sequence of int
    noise_variance : float

    Notes
    -----
    Costs O(|I|^3). The sum of the gains (7.5) of a selection, whatever the order. Chapter 7, equation (7.9b).

    Examples
    --------
    >>> round(information(np.eye(3), [0, 2], 1.0), 4)                            # twice ln 2 / 2
    0.6931
    """
    rows = list(rows)
    A = np.eye(len(rows)) + K_f[np.ix_(rows, rows)] / noise_variance
    return float(0.5 * np.linalg.slogdet(A)[1])  # (7.9b)


def greedy_rows(K_f, noise_variance, n_active) -> np.ndarray:
    """Rows one after another, each the one that adds most to `information`: selection by brute force.

    Notes
    -----
    Costs O(N |I|^4), for small problems: `select_active_set` makes the same choice in O(|I|^2 N). Of equal rows the
    first is taken. Chapter 7, equations (7.5) and (7.9b).

    Examples
    --------
    >>> greedy_rows(np.array([[1.0, 0.9, 0.0], [0.9, 1.1, 0.0], [0.0, 0.0, 1.0]]), 0.1, 2)
    array([1, 2])
    """
    rows: list[int] = []
    for _ in range(n_active):
        others = [n for n in range(len(K_f)) if n not in rows]
        rows.append(max(others, key=lambda n: information(K_f, [*rows, n], noise_variance)))
    return np.array(rows)


def best_rows(K_f, noise_variance, n_active) -> np.ndarray:
    """The set that tells most, by trying every one.

    Notes
    -----
    Costs O(|I|^3) for each of the N! / (|I|! (N - |I|)!) sets: 1001 for 4 of 14. Chapter 7, equation (7.9b).

    Examples
    --------
    >>> best_rows(np.array([[1.0, 0.9, 0.0], [0.9, 1.1, 0.0], [0.0, 0.0, 1.0]]), 0.1, 2)
    array([1, 2])
    """
    sets = combinations(range(len(K_f)), n_active)
    return np.array(max(sets, key=lambda rows: information(K_f, rows, noise_variance)))
