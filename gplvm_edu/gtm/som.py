"""The self-organising map beside the GTM: hard winners, a neighbourhood that shrinks, and no objective."""
from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..linalg import squared_distances


class SOMState(NamedTuple):
    """One iterate: prototypes (K, D), the width used to make them, minus the mean squared quantisation error."""

    prototypes: np.ndarray
    width: float
    value: float


def winners(Y, prototypes):
    r"""One-hot responsibilities: the nearest prototype takes all of a point, the first among equals.

    .. math:: R_{in} = 1 \text{ if } i = \arg\min_j \|y_n - m_j\|^2, \text{ else } 0

    Returns
    -------
    R : ndarray (K, N)
    distances : ndarray (N,)
        Squared distance of each point from its winner.

    Notes
    -----
    Costs O(K N D). It is the limit of the GTM's responsibilities as beta grows. Chapter 9, equation (9.23).

    Examples
    --------
    >>> winners(np.array([[0.1], [2.0]]), np.array([[0.0], [1.0]]))[0]
    array([[1., 0.],
           [0., 1.]])
    """
    distances = squared_distances(prototypes, Y)                                 # (K, N)
    best = np.argmin(distances, axis=0)
    R = np.zeros_like(distances)
    R[best, np.arange(len(Y))] = 1.0                                             # (9.23)
    return R, distances[best, np.arange(len(Y))]


def neighbourhood_smoother(X, counts, width):
    r"""The SOM's matrix H, from the means of the data at the nodes to the new prototypes; its rows sum to one.

    .. math:: H_{ij} = \frac{h_{ij} G_j}{\sum_k h_{ik} G_k}, \qquad h_{ij} = e^{-\|x_i - x_j\|^2 / 2 s^2}

    Parameters
    ----------
    X : ndarray (K, q)
        Nodes.
    counts : ndarray (K,)
        Points that each node has won.
    width : float
        s, in the units of the grid.

    Returns
    -------
    ndarray (K, K)

    Notes
    -----
    Costs O(K^2 q). Chapter 9, equation (9.24); Bishop, Svensén and Williams (1998), equation (43).

    Examples
    --------
    >>> neighbourhood_smoother(np.array([[-1.0], [1.0]]), np.array([3.0, 1.0]), width=1e6)     # everyone hears everyone
    array([[0.75, 0.25],
           [0.75, 0.25]])
    """
    distances = squared_distances(X)
    G = np.asarray(counts, dtype=float)
    held = np.where(G > 0, distances, np.inf).min(axis=1, keepdims=True)         # from the nearest node that won
    h = np.exp(-0.5 * (distances - held) / width**2, where=G > 0, out=np.zeros_like(distances)) * G
    return h / h.sum(axis=1, keepdims=True)                                      # (9.24)


def process_smoother(prior, counts, precision):
    r"""The GTM's matrix in the same place, when the sheet has a Gaussian process prior with covariance B.

    .. math:: S = (G + \tfrac1\beta B^{-1})^{-1} G
                = B G^{\frac12} (\tfrac1\beta I + G^{\frac12} B G^{\frac12})^{-1} G^{\frac12}

    Parameters
    ----------
    prior : ndarray (K, K)
        B; with B = Phi Phi' / alpha it is the regression (9.12) of the basis functions.
    counts : ndarray (K,)
        Diagonal of G; zeros are allowed.
    precision : float

    Returns
    -------
    ndarray (K, K)

    Notes
    -----
    Costs O(K^3); B is never inverted. Chapter 9, equation (9.25); Bishop, Svensén and Williams (1998), (42).

    Examples
    --------
    >>> process_smoother(np.eye(2), np.array([1.0, 3.0]), precision=1.0)         # each shrinks towards 0 on its own
    array([[0.5 , 0.  ],
           [0.  , 0.75]])
    """
    B, g, K = prior, np.sqrt(np.asarray(counts, dtype=float)), len(prior)
    A = g[:, None] * B * g
    A.flat[::K + 1] += 1.0 / precision
    return (B * g) @ linalg.solve(A, np.diag(g), assume_a="pos")                 # (9.25)


def som_iterates(Y, X, prototypes, widths):
    """Generator of `SOMState`: for each width, winners, their means, and the neighbourhood's average of those.

    Notes
    -----
    Costs O(K N D + K^2 D) a step. The value may rise and fall: there is no function that a SOM maximises.
    Chapter 9, equations (9.23) and (9.24).

    Examples
    --------
    >>> Y = np.array([[0.0], [0.2], [3.0], [3.2]])
    >>> *_, last = som_iterates(Y, np.array([[-1.0], [1.0]]), np.array([[1.0], [2.0]]), [1.0, 0.5, 0.1])
    >>> last.prototypes.ravel().round(3)
    array([0.1, 3.1])
    """
    m = prototypes
    R, distances = winners(Y, m)
    yield SOMState(m, np.inf, -float(np.mean(distances)))
    for width in widths:
        G = R.sum(axis=1)
        z = R @ Y / np.maximum(G, 1.0)[:, None]                                  # means at the nodes  (K, D)
        m = neighbourhood_smoother(X, G, width) @ z                              # (9.24)
        R, distances = winners(Y, m)                                             # (9.23)
        yield SOMState(m, float(width), -float(np.mean(distances)))
