"""Mixtures of GTMs: adaptive mixing weights of the nodes, and several sheets."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..gtm import squared_error
from ..gtm.fast import responsibilities
from ..gtm.gaps import log_densities, solve_weights, weighted_sums


class MixtureState(NamedTuple):
    """One iterate: weights (D, M) and precision of each sheet, mixing weights of all nodes (S K,), log likelihood."""

    weights: list
    precisions: np.ndarray
    mixing: np.ndarray
    value: float


def mixture_iterates(
    Y, Phi, weights, precisions, alpha=0.0, max_iter=100, noise_floor=0.0, per_node=False
) -> Iterator[MixtureState]:
    r"""EM for a mixture of S sheets, each with its own weights and noise; the objective never falls.

    .. math:: p(y) = \sum_s \pi_s \frac1K \sum_i p(y \mid i, s), \qquad
              R_{in} = \frac{\pi_i\, p(y_n \mid i)}{\sum_j \pi_j\, p(y_n \mid j)}, \qquad
              \pi_s = \frac1N \sum_{in} R_{isn}

    Parameters
    ----------
    Y : ndarray (N, D)
    Phi : ndarray (K, M)
    weights : sequence of S ndarrays (D, M)
        Where each sheet starts. They must differ: equal sheets stay equal.
    precisions : sequence of S floats
    alpha, max_iter, noise_floor : as in chapter 9
    per_node : bool
        True: every node has its own mixing weight, pi_i = sum_n R_in / N, with S = 1 the "adaptive mixing weights".

    Notes
    -----
    Costs S times chapter 9. Chapter 10, equations (10.38) and (10.39), with equations (9.12) and (9.13).

    Examples
    --------
    >>> Y = np.array([[-3.0], [-2.0], [2.0], [3.0], [2.5]])
    >>> sheets = [np.array([[-1.0, 0.1]]), np.array([[1.0, 0.1]])]
    >>> *_, last = mixture_iterates(Y, np.array([[1.0, -1.0], [1.0, 1.0]]), sheets, [1.0, 1.0], 1e-3, 30, 0.01)
    >>> last.mixing.reshape(2, 2).sum(axis=1).round(2)
    array([0.4, 0.6])
    """
    W, beta, (S, K) = list(weights), np.array(precisions, float), (len(weights), len(Phi))
    pi, entries = np.full(S * K, 1.0 / (S * K)), np.sum(~np.isnan(Y), axis=1)
    for iteration in range(max_iter + 1):
        log_p = np.vstack([log_densities(Y, Phi @ w.T, b) for w, b in zip(W, beta, strict=True)])
        with np.errstate(divide="ignore"):  # the logarithm of a mixing weight 0
            R, log_density = responsibilities(log_p + np.log(pi * len(pi))[:, None])  # (10.38)
        penalty = 0.5 * alpha * sum(float(np.sum(w**2)) for w in W)
        yield MixtureState(list(W), beta.copy(), pi, float(np.sum(log_density)) - penalty)
        if iteration == max_iter:
            return
        for s in range(S):
            part = R[s * K : (s + 1) * K]
            counts, sums = weighted_sums(part, Y)
            W[s] = solve_weights(Phi, counts, sums, alpha / beta[s])
            squares, mass = np.nansum(part.sum(axis=0) * np.nansum(Y**2, axis=1)), np.sum(part.sum(axis=0) * entries)
            error = squared_error(squares, Phi @ W[s].T, counts, sums)
            beta[s] = 1.0 / max(error / max(mass, 1e-300), noise_floor)  # (9.13)
        pi = R.mean(axis=1)  # (10.39)
        pi = pi if per_node else np.repeat(pi.reshape(S, K).sum(axis=1) / K, K)
