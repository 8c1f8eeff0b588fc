"""Geodesic distances: a graph of neighbours, and the shortest paths through it."""

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.spatial.distance import pdist, squareform

from ..unify import leading_eigenpairs, similarity_from_distances

TIE = 1e-10  # distances that differ by less than this share are equal: units, or a turn, would change their order


def nearest(distances, n_neighbors) -> np.ndarray:
    """The k columns with the smallest distances in each row, (M, k); of equal ones the first, whatever rounding says.

    Notes
    -----
    Costs O(M N). Points on a grid have many neighbours at one distance. Computed in centimetres or in inches these
    differ in their last digit, and without a rule for ties each unit would have its own graph.

    Examples
    --------
    >>> nearest(np.array([[0.1 + 0.2, 0.3, 0.3, 0.1]]), 2)
    array([[3, 0]])
    """
    k = n_neighbors
    if k == distances.shape[1]:
        return np.tile(np.arange(k), (len(distances), 1))
    near = np.argpartition(distances, (k - 1, k), axis=1)[:, : k + 1]
    last, next_one = np.take_along_axis(distances, near[:, k - 1 :], axis=1).T
    near = near[:, :k]
    for n in np.flatnonzero(next_one <= (1 + TIE) * last):  # a tie for the last place
        nearer, tied = distances[n] < (1 - TIE) * last[n], np.abs(distances[n] - last[n]) <= TIE * last[n]
        near[n] = np.r_[np.flatnonzero(nearer), np.flatnonzero(tied)][:k]
    return near


def neighbour_graph(distances, n_neighbors) -> sparse.csr_matrix:
    r"""Join each point to its nearest ones; an edge is as long as the distance it spans.

    .. math:: n \sim m \iff m \in N_k(n) \ \text{or}\ n \in N_k(m)

    Parameters
    ----------
    distances : ndarray (N, N)
        Symmetric, zeros on the diagonal.
    n_neighbors : int
        k, from 1 to N - 1.

    Notes
    -----
    Costs O(N^2). A symmetric csr_matrix, in which edges of length 0, between duplicates, are stored like any other.
    Chapter 6, equation (6.15).

    Examples
    --------
    >>> D = np.abs(np.subtract.outer([0.0, 1.0, 3.0], [0.0, 1.0, 3.0]))
    >>> neighbour_graph(D, 1).toarray()
    array([[0., 1., 0.],
           [1., 0., 2.],
           [0., 2., 0.]])
    """
    N, k = len(distances), n_neighbors
    others = distances.copy()
    np.fill_diagonal(others, np.inf)  # no point is its own neighbour
    near = nearest(others, k)  # N_k(n)  (N, k)
    n, m = np.repeat(np.arange(N), k), near.ravel()
    edges = np.unique(np.minimum(n, m) * N + np.maximum(n, m))  # (6.15)  each edge once
    n, m = np.divmod(edges, N)
    return _symmetric(n, m, distances[n, m], N)


def _symmetric(n, m, lengths, N):
    """The graph with edges n - m, each stored in both directions."""
    both = (np.r_[lengths, lengths], (np.r_[n, m], np.r_[m, n]))
    return sparse.csr_matrix(both, shape=(N, N))


def graph_components(graph) -> tuple[int, np.ndarray]:
    """The number of pieces that a graph falls into, and for each point the piece that it belongs to.

    Notes
    -----
    Costs O(N k). Two points in different pieces have no geodesic: equation (6.16) would be infinite.

    Examples
    --------
    >>> D = np.abs(np.subtract.outer([0.0, 1.0, 9.0, 10.0], [0.0, 1.0, 9.0, 10.0]))
    >>> n_pieces, piece = graph_components(neighbour_graph(D, 1))
    >>> n_pieces, piece.tolist()
    (2, [0, 0, 1, 1])
    """
    n_pieces, piece = csgraph.connected_components(graph, directed=False)
    return int(n_pieces), piece


def smallest_connecting_k(distances) -> int:
    """The fewest neighbours that make the neighbour graph one piece, found by bisection.

    Notes
    -----
    Costs O(N^2 log N): more neighbours mean more edges, so a graph that is connected stays connected. Equation (6.15).

    Examples
    --------
    >>> D = np.abs(np.subtract.outer([0.0, 1.0, 9.0, 10.0], [0.0, 1.0, 9.0, 10.0]))
    >>> smallest_connecting_k(D)
    2
    """
    low, high = 1, len(distances) - 1  # with N - 1 neighbours every two points are joined
    while low < high:
        k = (low + high) // 2
        if graph_components(neighbour_graph(distances, k))[0] == 1:
            high = k
        else:
            low = k + 1
    return low


def bridge_components(graph, distances) -> sparse.csr_matrix:
    r"""Join every two pieces of a graph by the shortest link between them.

    .. math:: (n, m) = \arg\min_{n \in A,\, m \in B} d_{nm} \qquad \text{for all pieces } A \ne B

    Notes
    -----
    Costs O(N^2). It is the rule of scikit-learn's Isomap. A bridge is a guess: nothing in the data shows that
    the sheet continues there. Chapter 6, equation (6.15), and "Break it".

    Examples
    --------
    >>> D = np.abs(np.subtract.outer([0.0, 1.0, 9.0, 10.0], [0.0, 1.0, 9.0, 10.0]))
    >>> bridge_components(neighbour_graph(D, 1), D).toarray()[1]
    array([1., 0., 8., 0.])
    """
    n_pieces, piece = graph_components(graph)
    members = [np.flatnonzero(piece == p) for p in range(n_pieces)]
    links = []
    for a in range(n_pieces):
        for b in range(a):
            between = distances[np.ix_(members[a], members[b])]
            i, j = np.argwhere(between <= (1 + TIE) * between.min())[0]
            links.append((members[a][i], members[b][j]))
    old = sparse.triu(graph).tocoo()
    n, m = (np.r_[ends, new] for ends, new in zip((old.row, old.col), np.array(links).reshape(-1, 2).T, strict=True))
    return _symmetric(n, m, distances[n, m], len(distances))


def geodesic_distances(graph) -> np.ndarray:
    r"""Lengths (N, N) of the shortest paths through a graph, infinite between points in different pieces of it.

    .. math:: g_{nm} = \min_{n = i_0 \sim i_1 \sim \dots \sim i_r = m} \ \sum_{s=1}^{r} d_{i_{s-1} i_s}

    Notes
    -----
    Dijkstra's algorithm from every point, in scipy.sparse.csgraph: O(N^2 (k + log N)). Chapter 6, equation (6.16).

    Examples
    --------
    >>> corner = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    >>> D = np.linalg.norm(corner[:, None] - corner, axis=2)
    >>> geodesic_distances(neighbour_graph(D, 1))[0]         # round the corner: 1 + 1, not the square root of 2
    array([0., 1., 2.])
    """
    G = csgraph.shortest_path(graph, method="D")  # (6.16)
    return np.minimum(G, G.T)  # equal but for rounding


def principal_coordinates(distances, n_components) -> tuple[np.ndarray, np.ndarray]:
    r"""Classical MDS (chapter 3) of distances that need not be Euclidean: negative eigenvalues count as zero.

    .. math:: S = -\tfrac12 H G^{(2)} H = U \Lambda U^\top, \qquad X = U_q \Lambda_q^{1/2}

    Parameters
    ----------
    distances : ndarray (N, N)
        Geodesic, or any other.
    n_components : int

    Returns
    -------
    X : ndarray (N, q)
    eigenvalues : ndarray (q,)
        The largest of S; zero where they were negative.

    Notes
    -----
    Costs O(N^3). Chapter 6, equation (6.17), with (3.26) of chapter 3.

    Examples
    --------
    >>> X, eigenvalues = principal_coordinates(np.array([[0.0, 2.0], [2.0, 0.0]]), 1)
    >>> np.abs(X).ravel(), eigenvalues
    (array([1., 1.]), array([2.]))
    """
    S = similarity_from_distances(distances)
    lam, U, _ = leading_eigenpairs(S, n_components)
    lam = np.where(lam > 1e-12 * lam[0], lam, 0.0)  # rounding, or negative
    return U * np.sqrt(lam), lam  # (6.17)


def geodesics_to_new(distances, n_neighbors, geodesics) -> np.ndarray:
    r"""Geodesic distances (M, N) from new points to old ones: first to a neighbour, then through the graph.

    .. math:: g_{*m} = \min_{n \in N_k(*)} \left( d_{*n} + g_{nm} \right)

    Parameters
    ----------
    distances : ndarray (M, N)
        From new points to old ones.
    n_neighbors : int
    geodesics : ndarray (N, N)

    Notes
    -----
    Costs O(M N k). The old points' own geodesics do not change. Chapter 6, equation (6.18).

    Examples
    --------
    >>> G = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    >>> geodesics_to_new(np.array([[0.5, 0.5, 1.2]]), 1, G)
    array([[0.5, 1.5, 2.5]])
    """
    k = n_neighbors
    near = nearest(distances, k)  # (M, k)
    G = np.full(distances.shape, np.inf)
    for n, d in zip(near.T, np.take_along_axis(distances, near, axis=1).T, strict=True):  # in place: no (M, k, N) array
        np.minimum(G, d[:, None] + geodesics[n], out=G)  # (6.18)  (M, N)
    return G


def residual_variance(distances, X) -> float:
    r"""The share of the variance of given distances that those of a map do not explain.

    .. math:: 1 - R^2(g, d), \qquad R = \text{the correlation of the pairs } (g_{nm}, \|x_n - x_m\|)

    Parameters
    ----------
    distances : ndarray (N, N)
        Geodesic, or any other.
    X : ndarray (N, q)

    Notes
    -----
    Costs O(N^2 q). Plotted against q it has an elbow at the dimension of the sheet. Tenenbaum et al. (2000).
    Chapter 6, equation (6.19).

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> round(residual_variance(np.abs(X - X.T), 5 * X), 6)
    0.0
    """
    g, d = squareform(distances, checks=False), pdist(X)
    equal_g, equal_d = (np.ptp(lengths) <= TIE * lengths.max() for lengths in (g, d))
    if equal_g or equal_d:
        return 0.0 if equal_g else 1.0  # equal distances have no variance, and correlate with nothing
    return float(1.0 - np.corrcoef(g, d)[0, 1] ** 2)  # (6.19)


def short_circuits(graph, sheet, factor=3.0) -> np.ndarray:
    r"""Edges (n_jumps, 2) between layers of a folded sheet, found from the known positions on the flat sheet.

    .. math:: n \sim m \quad\text{with}\quad \|s_n - s_m\| > \text{factor} \cdot \max(d_{nm}, \bar d)

    where d-bar, the mean length of an edge, allows for noise between points that are very close.

    Parameters
    ----------
    graph : scipy.sparse matrix (N, N)
    sheet : ndarray (N, p)
        The true positions s on the flat sheet.
    factor : float

    Notes
    -----
    Costs O(N k). Chapter 6, equation (6.15), and "Break it".

    Examples
    --------
    >>> bend = np.array([[0.0, 0.0], [5.0, 0.0], [5.0, 1.0], [0.0, 1.0]])        # a strip folded back on itself
    >>> D = np.linalg.norm(bend[:, None] - bend, axis=2)
    >>> short_circuits(neighbour_graph(D, 1), np.array([[0.0], [5.0], [6.0], [11.0]]))
    array([[0, 3]])
    """
    edges = sparse.triu(graph).tocoo()
    n, m = edges.row, edges.col
    jumps = np.linalg.norm(sheet[n] - sheet[m], axis=1) > factor * np.maximum(edges.data, edges.data.mean())
    return np.c_[n, m][jumps].astype(int)
