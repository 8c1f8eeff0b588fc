"""Four small steps further: weights for the nodes, two sheets, sheets in time, and a walk along a sheet."""
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from ..gtm import log_densities, responsibilities, solve_weights, squared_error, weighted_sums
from ..linalg import squared_distances


class MixtureState(NamedTuple):
    """One iterate: weights (D, M) and precision of each sheet, mixing weights of all nodes (S K,), log likelihood."""

    weights: list
    precisions: np.ndarray
    mixing: np.ndarray
    value: float


def mixed_responsibilities(log_p, mixing):
    r"""Posterior of the node when nodes are not equally likely, and the log density of each point.

    .. math:: R_{in} = \frac{\pi_i\, p(y_n \mid i)}{\sum_j \pi_j\, p(y_n \mid j)}

    Notes
    -----
    Chapter 10, equation (10.38).

    Examples
    --------
    >>> mixed_responsibilities(np.zeros((2, 1)), np.array([0.75, 0.25]))[0].ravel()
    array([0.75, 0.25])
    """
    with np.errstate(divide="ignore"):
        return responsibilities(log_p + np.log(mixing * len(mixing))[:, None])   # (10.38)


def mixture_iterates(Y, Phi, weights, precisions, alpha=0.0, max_iter=100, noise_floor=0.0, per_node=False):
    r"""EM for a mixture of S sheets, each with its own weights and noise; the objective never falls.

    .. math:: p(y) = \sum_s \pi_s \frac1K \sum_i p(y \mid i, s), \qquad \pi_s = \frac1N \sum_{in} R_{isn}

    Parameters
    ----------
    Y : ndarray (N, D); Phi : ndarray (K, M)
    weights : sequence of S ndarrays (D, M); precisions : sequence of S floats
        Where each sheet starts. They must differ, or they stay the same for ever.
    alpha, max_iter, noise_floor : as in chapter 9
    per_node : bool
        True: every node has its own mixing weight, pi_i = sum_n R_in / N, with S = 1 the "adaptive mixing weights".

    Notes
    -----
    Costs S times chapter 9. Chapter 10, equations (10.38) and (10.39).

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
        R, log_density = mixed_responsibilities(log_p, pi)                       # (10.38)
        yield MixtureState(list(W), beta.copy(), pi, float(np.sum(log_density)) - 0.5 * alpha * sum(map(_square, W)))
        if iteration == max_iter:
            return
        for s in range(S):
            part = R[s * K:(s + 1) * K]
            counts, sums = weighted_sums(part, Y)
            W[s] = solve_weights(Phi, counts, sums, alpha / beta[s])             # (9.12)
            squares, mass = np.nansum(part.sum(axis=0) * np.nansum(Y**2, axis=1)), np.sum(part.sum(axis=0) * entries)
            error = squared_error(squares, Phi @ W[s].T, counts, sums)
            beta[s] = 1.0 / max(error / max(mass, 1e-300), noise_floor)          # (9.13)
        pi = R.mean(axis=1)                                                      # (10.39)
        pi = pi if per_node else np.repeat(pi.reshape(S, K).sum(axis=1) / K, K)


def _square(W):
    return float(np.sum(W**2))


def random_walk(X, width):
    r"""Log probabilities of going from node i (row) to node j (column): steps of about `width`.

    .. math:: p(j \mid i) \propto e^{-\|x_i - x_j\|^2 / 2 s^2}

    Notes
    -----
    Chapter 10, equation (10.40).

    Examples
    --------
    >>> np.exp(random_walk(np.array([[-1.0], [1.0]]), width=1e6)).round(2)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    log_p = -0.5 * squared_distances(X) / width**2
    return log_p - logsumexp(log_p, axis=1, keepdims=True)                       # (10.40)


def forward_backward(log_p, log_transition):
    r"""Responsibilities of the nodes given the WHOLE sequence, and its log likelihood: the GTM through time.

    .. math:: R_{it} = p(i_t = i \mid y_1, \dots, y_T), \qquad i_t \text{ a Markov chain over the nodes}

    Parameters
    ----------
    log_p : ndarray (K, T)
        Log densities of each observation at each node.
    log_transition : ndarray (K, K)
        ln p(j | i) in row i, column j. The first node is uniform.

    Returns
    -------
    R : ndarray (K, T); log_likelihood : float

    Notes
    -----
    Costs O(T K^2). Chapter 10, equation (10.41).

    Examples
    --------
    >>> stay = np.log(np.array([[0.9, 0.1], [0.1, 0.9]]))
    >>> unsure_in_the_middle = np.log(np.array([[0.9, 0.5, 0.9], [0.1, 0.5, 0.1]]))
    >>> forward_backward(unsure_in_the_middle, stay)[0].round(2)[0]
    array([0.97, 0.95, 0.97])
    """
    K, T = log_p.shape
    P = np.exp(log_transition)
    forward, backward = np.empty((T, K)), np.zeros((T, K))
    forward[0] = log_p[:, 0] - np.log(K)
    for t in range(1, T):
        top = forward[t - 1].max()
        forward[t] = log_p[:, t] + top + _log(np.exp(forward[t - 1] - top) @ P)  # (10.41)
    for t in range(T - 2, -1, -1):
        later = backward[t + 1] + log_p[:, t + 1]
        backward[t] = later.max() + _log(P @ np.exp(later - later.max()))
    value = logsumexp(forward[-1])
    return np.exp(forward + backward - value).T, float(value)


def _log(p):
    with np.errstate(divide="ignore"):
        return np.log(p)
