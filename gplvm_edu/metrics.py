"""Scores of an embedding: nearest-neighbour errors, trustworthiness, islands, Procrustes distance, angles."""

from math import ldexp

import numpy as np
from scipy import linalg
from scipy.linalg.blas import dasum
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from . import checks

GAPS = "Leave such rows out, or fill them in first."
BLOCK = 2**20  # distances held in memory at a time: 8 MB, so that N = 10000 needs no N x N array


def nearest_neighbour_errors(X, target) -> int:
    r"""Leave-one-out 1-nearest-neighbour errors: points whose nearest other point has another label.

    .. math:: \sum_n [\, t_n \ne t_{m(n)} \,], \qquad m(n) = \arg\min_{m \ne n} \|x_n - x_m\|^2

    Parameters
    ----------
    X : ndarray (N, q)
        The embedding, two points or more. Among equally near points, duplicates included, the first counts.
    target : sequence (N,)
        Labels of any kind.

    Notes
    -----
    Costs O(N^2 q), as matrix products over blocks of rows: at q = 64 a quarter of the time that differences take, at
    q = 2 as long or longer. Rounding in a product can reverse ties, so the points whose neighbours it can't tell
    apart are measured once more, by differences.

    Examples
    --------
    >>> nearest_neighbour_errors([[0.0], [1.0], [1.1], [5.0]], ["a", "a", "b", "b"])
    2
    """
    X = checks.points(X, "X", 2, GAPS)
    target = _labels(target, len(X))
    return int(np.count_nonzero(target != target[nearest_neighbours(X)]))


def nearest_neighbours(X) -> np.ndarray:
    """Index of the nearest other row for every row of X, the lowest among equals.

    Examples
    --------
    >>> nearest_neighbours(np.array([[0.0], [1.0], [1.1]]))
    array([1, 2, 1])
    """
    X = unit_range(checks.points(X, "X", 2, GAPS))
    N, q = X.shape
    A = X - X.mean(axis=0)
    a2, nearest = np.sum(A**2, axis=1), np.empty(N, int)
    left, right = np.c_[-2 * A, np.ones(N)], np.c_[A, a2].T
    for n in row_blocks(N):
        D = left[n] @ right  # |a - b|^2 - |a|^2     (B, N)
        D[np.arange(len(n)), n] = np.inf
        nearest[n] = D.argmin(axis=1)
        rounding = 4 * (q + 4) * np.finfo(float).eps * (a2[n] + a2.max())
        close = D <= (D.min(axis=1) + rounding)[:, None]
        tied = n[np.count_nonzero(close, axis=1) > 1]
        nearest[tied] = _distances(X, tied).argmin(axis=1)
    return nearest


def trustworthiness(Y, X, n_neighbors=5) -> float:
    r"""Are neighbours in the embedding neighbours in the data? 1 if all are, about 1/2 by chance, never below 0.

    .. math:: T(k) = 1 - \frac{2}{N k (2N - 3k - 1)} \sum_n \sum_{m \in U_k(n)} (r(n, m) - k)

    r(n, m) is the rank of m by distance from n in the data, 1 for the nearest; U_k(n) are the points among
    the k nearest to n in the embedding but not in the data.

    Parameters
    ----------
    Y : ndarray (N, D)
        The data.
    X : ndarray (N, q)
        Its embedding.
    n_neighbors : int
        k, from 1 to below N / 2.

    Notes
    -----
    Costs O(N^2 (D + q + log N)), in blocks of rows. Points equally far in the data share the better rank; of
    those equally far in the embedding the first count as nearer.
    Venna and Kaski (2001), Neighborhood preservation in nonlinear projection methods. With X and Y exchanged it is
    their continuity: are neighbours in the data neighbours in the embedding?

    Examples
    --------
    >>> Y = np.array([[0.0], [1.0], [3.0], [7.0], [15.0], [31.0]])
    >>> trustworthiness(Y, -2 * Y, n_neighbors=1)
    1.0
    >>> trustworthiness(Y, np.where(Y == 0, 40, Y), n_neighbors=1)      # one end moved next to the other
    0.625
    """
    Y, X = unit_range(checks.points(Y, "Y", 3, GAPS)), unit_range(checks.points(X, "X", 3, GAPS))
    _demand_same_length(Y, X, "Y", "X")
    N, k = len(Y), checks.whole_number("n_neighbors", n_neighbors)
    if k >= N / 2:
        raise ValueError(
            f"n_neighbors={k} is too many: it must be below N / 2 = {N / 2}, or the formula is not defined."
        )
    excess = 0
    for n in row_blocks(N):
        near, D = nearest_columns(_distances(X, n), k), _distances(Y, n)  # (B, k), (B, N)
        sought = zip(np.sort(D, axis=1), np.take_along_axis(D, near, axis=1), strict=True)
        rank = 1 + np.array([np.searchsorted(sorted_row, d) for sorted_row, d in sought])  # r(n, m)  (B, k)
        excess += int(np.sum(np.maximum(rank - k, 0)))
    return 1.0 - 2.0 * excess / (N * k * (2 * N - 3 * k - 1))


def class_islands(X, target, n_neighbors=5) -> int:
    """Into how many islands the classes of an embedding fall: one for each class where nothing is torn.

    Every point is joined to its nearest neighbours, if they are of its own class; what hangs together is an island.
    A point alone among those of another class is one too.

    Parameters
    ----------
    X : ndarray (N, q)
        The embedding.
    target : sequence (N,)
        Labels of any kind.
    n_neighbors : int
        How many neighbours, of all classes, each point looks at, below N. With more of them there are fewer islands.

    Notes
    -----
    Costs O(N^2 q), in blocks of rows. Among equally near points the first count.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [9.0], [10.0], [11.0]]
    >>> class_islands(X, list("aaaaaa"), 2), class_islands(X, list("aaaabb"), 2), class_islands(X, list("aaabbb"), 2)
    (2, 3, 2)
    """
    X = unit_range(checks.points(X, "X", 2, GAPS))
    target, N, k = _labels(target, len(X)), len(X), checks.whole_number("n_neighbors", n_neighbors, at_most=len(X) - 1)
    near = np.concatenate([nearest_columns(_distances(X, n), k) for n in row_blocks(N)])  # (N, k)
    own = target[near] == target[:, None]
    joined = coo_array((np.ones(own.sum()), (np.nonzero(own)[0], near[own])), shape=(N, N))
    return int(connected_components(joined, directed=False, return_labels=False))


def procrustes_align(A, B, scaling=True, reflection=True) -> np.ndarray:
    r"""B moved onto A by the best translation, rotation, reflection and scale.

    .. math:: \min_{s, R, t} \| A - (s B R + 1 t^\top) \|_F, \qquad R^\top R = I

    Parameters
    ----------
    A, B : ndarray (N, q)
        Corresponding points.
    scaling, reflection : bool
        Whether s may differ from 1, and R have the determinant -1.

    Notes
    -----
    Costs O(N q^2): with A and B centred and B'A = U S V', R = U V' and s = tr S / ||B||^2. Points beyond 1e100 or below
    1e-100 are brought into the range of 1 first, by powers of two, so that no square leaves the floating-point numbers.

    Examples
    --------
    >>> A = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> np.allclose(procrustes_align(A, 3 * A[:, ::-1] + 5), A)           # reflected, larger, elsewhere
    True
    """
    A, B = _corresponding(A, B)
    return _aligned(A, B, checks.flag("scaling", scaling), checks.flag("reflection", reflection))


def _aligned(A, B, scaling, reflection):
    """As `procrustes_align`, of points that have been checked."""
    (A, unit_A), (B, unit_B) = _in_units(A), _in_units(B)
    A0, B0 = A - A.mean(axis=0), B - B.mean(axis=0)
    U, S, Vt = linalg.svd(B0.T @ A0)
    if not reflection and linalg.det(U @ Vt) < 0:
        U[:, -1], S[-1] = -U[:, -1], -S[-1]
    if scaling:
        s = np.sum(S) / np.sum(B0**2)
        return np.ldexp(s * B0 @ (U @ Vt) + A.mean(axis=0), unit_A)
    return np.ldexp(B0 @ (U @ Vt), unit_B) + np.ldexp(A.mean(axis=0), unit_A)


def procrustes_distance(A, B, scaling=True, reflection=True) -> float:
    r"""What is left between A and B after :func:`procrustes_align`, relative to the spread of A.

    .. math:: \min_{s, R, t} \| A - (s B R + 1 t^\top) \|_F \,/\, \| A - 1 \bar a^\top \|_F

    It is 0 for equal shapes; with scaling it is symmetric in A and B, and 1 at most.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> round(procrustes_distance(square, 7 * square + 2), 3)
    0.0
    >>> round(procrustes_distance(square, square * [1, 0]), 3)             # flattened
    0.707
    """
    A, B = _corresponding(A, B)
    aligned = _aligned(A, B, checks.flag("scaling", scaling), checks.flag("reflection", reflection))
    (left, unit_left), (A, unit_A) = _in_units(A - aligned), _in_units(A)
    ratio = linalg.norm(left) / linalg.norm(A - A.mean(axis=0))
    if unit_left - unit_A > 1000:
        raise checks.NotFiniteError("B is so much larger than A that their distance is no floating-point number.")
    return ldexp(ratio, unit_left - unit_A)


def subspace_angle(A, B) -> float:
    r"""The largest principal angle between the column spaces of A and B, in radians, from 0 to pi / 2.

    .. math:: \sin\theta = \| (I - Q_A Q_A^\top) Q_B \|_2, \qquad \cos\theta = \sigma_{\min}(Q_A^\top Q_B)

    with orthonormal bases Q_A and Q_B, of which Q_B has no more columns than Q_A; 0 where one space contains the other.

    Parameters
    ----------
    A, B : ndarray (D, q) and ndarray (D, p)
        Their columns need not be independent.

    Notes
    -----
    Costs O(D (q + p)^2). The arccos of the cosine is 0 for angles below 1e-8, by rounding; the arctan2 of sine
    and cosine is accurate for all angles.

    Examples
    --------
    >>> round(subspace_angle([[1.0], [0.0]], [[1.0], [1.0]]) * 180 / np.pi, 6)
    45.0
    >>> round(subspace_angle([[1.0], [0.0]], [[1.0], [1e-12]]) * 1e12, 3)
    1.0
    """
    A, B = unit_range(checks.points(A, "A", 1, GAPS)), unit_range(checks.points(B, "B", 1, GAPS))
    _demand_same_length(A, B, "A", "B")
    if not (A.any() and B.any()):
        raise ValueError(f"{'B' if A.any() else 'A'} contains zeros alone: it spans no space.")
    Q_B, Q_A = sorted((linalg.orth(A), linalg.orth(B)), key=lambda Q: Q.shape[1])
    C = Q_A.T @ Q_B
    return float(np.arctan2(linalg.svdvals(Q_B - Q_A @ C).max(), linalg.svdvals(C).min()))


def _distances(X, n):
    """Squared distances of the rows n of X from all rows, by differences; infinite from themselves."""
    D = cdist(X[n], X, "sqeuclidean")
    D[np.arange(len(n)), n] = np.inf
    return D


def nearest_columns(D, k) -> np.ndarray:
    """Columns of the k smallest elements in each row of D, the first among equals: (B, k).

    Examples
    --------
    >>> nearest_columns(np.array([[3.0, 1.0, 2.0, 1.0]]), 2)
    array([[1, 3]])
    """
    D = np.asarray(D)
    if D.ndim != 2 or D.shape[1] < checks.whole_number("k", k):
        raise ValueError(f"k={k} columns can't be chosen from an array of shape {D.shape}.")
    edge = np.partition(D, k - 1, axis=1)[:, k - 1 : k]
    inside, at_edge = D < edge, D == edge
    room = k - np.count_nonzero(inside, axis=1, keepdims=True)
    return np.nonzero(inside | (at_edge & (np.cumsum(at_edge, axis=1) <= room)))[1].reshape(-1, k)


def row_blocks(N) -> list[np.ndarray]:
    """The indices 0 to N - 1 in pieces of about BLOCK / N.

    Examples
    --------
    >>> [len(block) for block in row_blocks(2000)]
    [500, 500, 500, 500]
    """
    N = checks.whole_number("N", N)
    return np.array_split(np.arange(N), -(-N * N // BLOCK))


def unit_range(X) -> np.ndarray:
    """X divided by a power of two near its largest element: without rounding, and its squares can't overflow.

    Examples
    --------
    >>> unit_range(np.array([3.0, -6.0]))
    array([ 0.375, -0.75 ])
    """
    return np.ldexp(X, -np.frexp(np.max(np.abs(X)))[1])


def _in_units(X):
    """X and 0 or, where squares of X would leave the floating-point numbers, `unit_range` of X and the power of two."""
    if 1e-100 < dasum(X.ravel()) < 1e100:  # a sum of magnitudes is the cheapest look at all of them
        return X, 0
    return unit_range(X), int(np.frexp(np.max(np.abs(X)))[1])


def _labels(target, N):
    """One label for each of N points, none of them NaN."""
    try:
        target = np.asarray(target)
    except ValueError:
        raise ValueError(f"target must hold one label for each of {N} rows, got {checks.shown(target)}.") from None
    if target.shape != (N,):
        raise ValueError(f"target has shape {target.shape}: it must hold a label for each of {N} rows.")
    if np.any(target != target):
        raise ValueError("target contains NaN, which differs from every label: leave unlabelled points out.")
    return target


def _corresponding(A, B):
    """Both sets of points, if they correspond and neither is one point alone."""
    A, B = checks.points(A, "A", 2, GAPS), checks.points(B, "B", 2, GAPS)
    _demand_same_length(A, B, "A", "B")
    if A.shape != B.shape:
        raise ValueError(f"A has {A.shape[1]} columns and B {B.shape[1]}: pad the narrower one with zeros.")
    if np.all(A == A[0]) or np.all(B == B[0]):
        name = "A" if np.all(A == A[0]) else "B"
        raise ValueError(f"All {len(A)} points of {name} coincide: one point has no shape to compare.")
    return A, B


def _demand_same_length(A, B, name_A, name_B):
    if len(A) != len(B):
        raise ValueError(f"{name_A} has {len(A)} rows and {name_B} has {len(B)}: they must correspond.")
