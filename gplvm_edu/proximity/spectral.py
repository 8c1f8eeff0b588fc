"""Two maps from the bottom eigenvectors of a sparse matrix: Laplacian eigenmaps and locally linear embedding (LLE).

Both keep neighbours near and say nothing of how far apart the others are. Unlike Isomap they need no shortest paths.
"""

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist

from .. import checks
from ..linalg import column_signs
from .geodesics import graph_components, nearest, neighbour_graph, smallest_connecting_k

NEIGHBOURS = 5  # of a start, where so many join all points: as many as Isomap's


def bottom_coordinates(A, metric, n_components) -> np.ndarray:
    r"""Eigenvectors (N, q) of the smallest eigenvalues of A u = lambda M u, but for the first, which is constant.

    Parameters
    ----------
    A, metric : ndarray (N, N)
        Symmetric; A with rows that sum to 0, the metric M positive definite.
    n_components : int
        q, below N.

    Notes
    -----
    Costs O(N^3), a small part of it for few eigenvectors. Chapter 6, equations (6.22) and (6.24).

    Examples
    --------
    >>> chain = np.array([[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
    >>> abs(bottom_coordinates(chain, np.eye(3), 1)).ravel().round(4)
    array([0.7071, 0.    , 0.7071])
    """
    N, q = len(A), checks.whole_number("n_components", n_components, at_most=len(A) - 1)
    _, U = linalg.eigh(A, metric, subset_by_index=[0, min(q, N - 1)])  # (6.22), (6.24)
    return U[:, 1:] * column_signs(U[:, 1:])


def laplacian_coordinates(graph, n_components) -> np.ndarray:
    r"""Laplacian eigenmaps: the map in which points that are joined lie as near to each other as they can.

    .. math:: \min_X \sum_{n \sim m} \|x_n - x_m\|^2 = \mathrm{tr}(X^\top V X) \quad\text{such that}\quad
              X^\top \mathrm{diag}(V) X = I, \qquad V u = \lambda\, \mathrm{diag}(V)\, u

    Parameters
    ----------
    graph : scipy.sparse matrix (N, N)
        Symmetric and in one piece; only which points are joined counts, not how long an edge is.
    n_components : int

    Notes
    -----
    Costs O(N^3). V, the graph's Laplacian, is the V of metric scaling with weight 1 for each edge and 0 elsewhere.
    Belkin and Niyogi (2003). Chapter 6, equations (6.21) and (6.22).

    Examples
    --------
    >>> D = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    >>> X = laplacian_coordinates(neighbour_graph(D, 1), 1).ravel()                   # a chain of four, in order
    >>> (X / X[0]).round(3)
    array([ 1. ,  0.5, -0.5, -1. ])
    """
    _in_one_piece(graph)
    joined = graph.copy()
    joined.data = np.ones(len(joined.data))  # an edge of length 0 is an edge
    W = joined.toarray()
    V = np.diag(W.sum(axis=1)) - W  # (6.21)
    return bottom_coordinates(V, np.diag(np.diag(V)), n_components)


def reconstruction_weights(distances, n_neighbors, ridge=1e-3) -> np.ndarray:
    r"""The weights (N, N), each row with sum 1, by which a point is the mean of its neighbours as nearly as can be.

    .. math:: w_n = \frac{C_n^{-1} 1}{1^\top C_n^{-1} 1}, \qquad
              (C_n)_{ij} = (y_n - y_i)^\top (y_n - y_j) = \tfrac12 (\delta_{ni}^2 + \delta_{nj}^2 - \delta_{ij}^2)

    Parameters
    ----------
    distances : ndarray (N, N)
    n_neighbors : int
        k, from 1 to N - 1; i and j are two of the k nearest points to n.
    ridge : float
        C_n is singular where k is above the number of columns: this share of its trace is added to its diagonal.

    Notes
    -----
    Costs O(N^2 + N k^3). Chapter 6, equation (6.23).

    Examples
    --------
    >>> D = np.abs(np.subtract.outer([0.0, 1.0, 3.0], [0.0, 1.0, 3.0]))
    >>> reconstruction_weights(D, 2, ridge=1e-9)[1].round(4)                          # 1 = 2/3 * 0 + 1/3 * 3
    array([0.6667, 0.    , 0.3333])
    """
    N, k = len(distances), n_neighbors
    others = distances.copy()
    np.fill_diagonal(others, np.inf)
    W = np.zeros((N, N))
    for n, near in enumerate(nearest(others, k)):
        to, between = distances[n, near] ** 2, distances[np.ix_(near, near)] ** 2
        C = 0.5 * (to[:, None] + to - between)  # (6.23)  (k, k)
        total = np.trace(C)
        w = linalg.solve(C + ridge * (total if total > 0 else 1.0) * np.eye(k), np.ones(k), assume_a="sym")
        W[n, near] = w / w.sum()  # (6.23)
    return W


def lle_coordinates(weights, n_components) -> np.ndarray:
    r"""Locally linear embedding: the map in which each point is that mean of its neighbours which it is in the data.

    .. math:: \min_X \sum_n \| x_n - \sum_m w_{nm} x_m \|^2 \quad\text{such that}\quad X^\top X = I, \qquad
              (I - W)^\top (I - W)\, u = \lambda u

    Parameters
    ----------
    weights : ndarray (N, N)
        Of `reconstruction_weights`.
    n_components : int

    Notes
    -----
    Costs O(N^3). Roweis and Saul (2000). Chapter 6, equation (6.24).

    Examples
    --------
    >>> places = np.array([0.0, 1.0, 3.0, 4.0])
    >>> W = reconstruction_weights(np.abs(np.subtract.outer(places, places)), 2, ridge=1e-9)
    >>> X = lle_coordinates(W, 1).ravel()
    >>> ((X - X[0]) / (X[3] - X[0])).round(4)[1:]                                     # the line again
    array([0.25, 0.75, 1.  ])
    """
    E = np.eye(len(weights)) - weights  # (6.24)
    _in_one_piece(weights != 0)
    return bottom_coordinates(E.T @ E, np.eye(len(weights)), n_components)


def _in_one_piece(graph):
    n_pieces, _ = graph_components(graph)
    if n_pieces > 1:
        raise ValueError(
            f"The graph is in {n_pieces} pieces, and such a map would put each piece in one place. Take more "
            "neighbours (`smallest_connecting_k` says how many), or map each piece by itself; chapter 6."
        )


def joined_neighbours(distances) -> int:
    """How many neighbours a start takes: five, or the fewest above five that join all points; N - 1 at most.

    Examples
    --------
    >>> joined_neighbours(np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0))))
    3
    """
    return max(min(NEIGHBOURS, len(distances) - 1), smallest_connecting_k(distances))


def laplacian_start(Y, n_components, random_state=None) -> np.ndarray:
    """Laplacian eigenmaps of data, for `init="laplacian"`.

    Examples
    --------
    >>> laplacian_start(np.random.default_rng(0).standard_normal((20, 3)), 2).shape
    (20, 2)
    """
    D = cdist(Y, Y)
    return laplacian_coordinates(neighbour_graph(D, joined_neighbours(D)), n_components)


def lle_start(Y, n_components, random_state=None) -> np.ndarray:
    """Locally linear embedding of data, for `init="lle"`.

    Examples
    --------
    >>> lle_start(np.random.default_rng(0).standard_normal((20, 3)), 2).shape
    (20, 2)
    """
    D = cdist(Y, Y)
    return lle_coordinates(reconstruction_weights(D, joined_neighbours(D)), n_components)
