"""GTM through time: a Markov chain over the nodes, and their posterior given the whole sequence."""

import numpy as np
from scipy.special import logsumexp

from ..linalg import squared_distances


def random_walk(X, width) -> np.ndarray:
    r"""Log probabilities of going from node i (row) to node j (column) in steps of about `width`, equation (10.40).

    .. math:: p(j \mid i) \propto e^{-\|x_i - x_j\|^2 / 2 s^2}

    Examples
    --------
    >>> np.exp(random_walk(np.array([[-1.0], [1.0]]), width=1e6)).round(2)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    log_p = -0.5 * squared_distances(X) / width**2
    return log_p - logsumexp(log_p, axis=1, keepdims=True)  # (10.40)


def forward_backward(log_p, log_transition) -> tuple[np.ndarray, float]:
    r"""Responsibilities (K, T) of the nodes given the WHOLE sequence, and its log likelihood: the GTM through time.

    .. math:: R_{it} = p(i_t = i \mid y_1, \dots, y_T), \qquad i_t \text{ a Markov chain over the nodes}

    Parameters
    ----------
    log_p : ndarray (K, T)
        Log densities of each observation at each node.
    log_transition : ndarray (K, K)
        ln p(j | i) in row i, column j. The first node is uniform.

    Notes
    -----
    Costs O(T K^2). The recursions are those of a hidden Markov model, in logarithms because the products of T densities
    underflow. Chapter 10, equation (10.41).

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
