"""The linear algebra that every topic shares: factorise once, solve often, never invert by habit.

The identities behind these few lines are derived in the appendix on matrix calculus.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import linalg

JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)
LOWER = np.tri(64, dtype=bool)  # True on and below the diagonal


def cholesky_with_jitter(K, jitters=JITTERS, clean=True) -> tuple[np.ndarray, float]:
    r"""Lower Cholesky factor of K, with the smallest jitter of a stated list that succeeds.

    .. math:: L L^\top = K + j \bar k I, \qquad \bar k = \tfrac1N \mathrm{tr} K

    Parameters
    ----------
    K : ndarray (N, N)
        Symmetric, positive definite up to rounding.
    jitters : sequence of float
        Tried in order, each relative to the mean of the diagonal.
    clean : bool
        False leaves entries of K above the diagonal of L, which the solvers of LAPACK never read, and saves time.

    Returns
    -------
    L : ndarray (N, N)
    jitter : float
        What was added to the diagonal, in the units of K; 0.0 when nothing was needed.

    Notes
    -----
    Costs O(N^3 / 3) for each try. Appendix A, equation (A.8).

    Examples
    --------
    >>> L, jitter = cholesky_with_jitter(np.array([[4.0, 2.0], [2.0, 5.0]]))
    >>> L
    array([[2., 0.],
           [1., 2.]])
    >>> cholesky_with_jitter(np.ones((3, 3)))[1]         # singular: the diagonal was raised a little
    1e-10
    """
    scale = np.mean(np.diag(K))
    for j in jitters:
        raised = K if j == 0.0 else K + j * scale * np.eye(len(K))
        L, failed_minor = linalg.lapack.dpotrf(raised.T, lower=True, clean=clean)  # (A.8)
        if failed_minor == 0 and np.all(np.isfinite(np.diag(L))):  # LAPACK may let NaN and inf pass
            return L, float(j * scale)
    raise np.linalg.LinAlgError(
        f"The {len(K)} x {len(K)} matrix is not positive definite, even with {jitters[-1]:g} of its mean "
        f"diagonal ({scale:.3g}) added. Look for a kernel parameter that became 0, infinite or NaN, or for "
        "duplicated inputs without a noise term; the appendix on matrix calculus says what jitter can mend."
    )


def log_determinant(L) -> float:
    r"""ln |K| from the Cholesky factor of K, equation (A.9).

    .. math:: \ln |L L^\top| = 2 \sum_i \ln L_{ii}

    Examples
    --------
    >>> K = np.array([[4.0, 2.0], [2.0, 5.0]])
    >>> bool(np.isclose(log_determinant(np.linalg.cholesky(K)), np.log(np.linalg.det(K))))
    True
    """
    return 2.0 * np.sum(np.log(np.diag(L)))  # (A.9)


def solve_cholesky(L, B) -> np.ndarray:
    r"""K^{-1} B from the Cholesky factor of K, by two triangular solves.

    Examples
    --------
    >>> solve_cholesky(np.array([[2.0, 0.0], [1.0, 2.0]]), np.array([8.0, 14.0]))
    array([0.75, 2.5 ])
    """
    return linalg.cho_solve((L, True), B)


def squared_distances(X, Z=None) -> np.ndarray:
    r"""All squared Euclidean distances between the rows of X and those of Z, equation (A.10).

    .. math:: \|x - z\|^2 = x^\top x - 2 x^\top z + z^\top z

    Notes
    -----
    Costs O(N M q), one matrix product; no N x M x q array is formed. Both sets are shifted by the mean of X
    first, which leaves the distances alone and keeps the cancellation small for data far from the origin.
    Without Z the result is exactly symmetric, with zeros on its diagonal.

    Examples
    --------
    >>> squared_distances(np.array([[0.0, 0.0], [3.0, 4.0]]))
    array([[ 0., 25.],
           [25.,  0.]])
    """
    origin = X.mean(axis=0)
    A = X - origin
    B = A if Z is None else Z - origin
    a = np.sum(A**2, axis=1)
    b = a if Z is None else np.sum(B**2, axis=1)
    D2 = A @ B.T
    D2 *= -2.0
    D2 += a[:, None] + b  # (A.10)  (N, M)
    np.maximum(D2, 0.0, out=D2)
    if Z is None:
        np.fill_diagonal(D2, 0.0)
    return D2


def inverse_from_cholesky(L, overwrite=False) -> np.ndarray:
    """K^{-1}, whole and symmetric, from the Cholesky factor of K: LAPACK's potri on what is already there.

    Notes
    -----
    Costs O(2 N^3 / 3). Only for gradients, which need every entry of the inverse; to apply it, use `solve_cholesky`.
    LAPACK fills the lower triangle; it is mirrored in strips, which stay in the processor's cache. With `overwrite`
    all this happens in the memory of L, if its columns are contiguous there, as those of LAPACK's factors are.

    Examples
    --------
    >>> inverse_from_cholesky(np.array([[1.0, 0.0], [1.0, 1.0]]))                # of K = [[1, 1], [1, 2]]
    array([[ 2., -1.],
           [-1.,  1.]])
    """
    inverse, _ = linalg.lapack.dpotri(L, lower=True, overwrite_c=overwrite)
    for i in range(0, len(inverse), 64):
        inverse[:i, i : i + 64] = inverse[i : i + 64, :i].T
        corner = inverse[i : i + 64, i : i + 64]
        corner[:] = np.where(LOWER[: len(corner), : len(corner)], corner, corner.T)
    return inverse


def centre(Y) -> tuple[np.ndarray, np.ndarray]:
    """Subtract the mean of every column; returns the centred data and the means.

    Twice: far from the origin the first mean has lost digits, and what is left has one of its own.

    Examples
    --------
    >>> centre(np.array([[1.0, 2.0], [3.0, 6.0]]))
    (array([[-1., -2.],
           [ 1.,  2.]]), array([2., 4.]))
    """
    mean = Y.mean(axis=0)
    Yc = Y - mean
    rest = Yc.mean(axis=0)
    return Yc - rest, mean + rest


def double_centre(K) -> np.ndarray:
    r"""H K H with the centring matrix H = I - 11'/N, equation (A.11).

    Notes
    -----
    Costs O(N^2): rows and columns are shifted, H is never formed.

    Examples
    --------
    >>> double_centre(np.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[ 1.5, -1.5],
           [-1.5,  1.5]])
    """
    row_means = K.mean(axis=1, keepdims=True)
    return K - row_means - K.mean(axis=0, keepdims=True) + K.mean()  # (A.11)


def column_signs(V) -> np.ndarray:
    """1 or -1 for each column, so that its largest entry becomes positive: LAPACK leaves the sign open.

    Examples
    --------
    >>> V = np.array([[0.6, -0.8], [0.8, 0.6]])
    >>> V * column_signs(V)
    array([[ 0.6,  0.8],
           [ 0.8, -0.6]])
    """
    return np.where(V[np.argmax(np.abs(V), axis=0), np.arange(V.shape[1])] < 0, -1.0, 1.0)


def eigenpairs(S, n_components=None) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of a symmetric matrix, largest first, and its eigenvectors, the largest entry of each positive.

    Parameters
    ----------
    S : ndarray (N, N)
        The lower triangle counts.
    n_components : int or None
        How many of the largest are wanted; None: all.

    Returns
    -------
    eigenvalues : ndarray (q,)
    eigenvectors : ndarray (N, q)

    Notes
    -----
    Costs O(N^3); fewer components, a smaller constant.

    Examples
    --------
    >>> lam, U = eigenpairs(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> lam, U.round(4)
    (array([3., 1.]), array([[ 0.7071,  0.7071],
           [ 0.7071, -0.7071]]))
    """
    N = len(S)
    lam, U = linalg.eigh(S, subset_by_index=None if n_components is None else [N - n_components, N - 1])
    U = U[:, ::-1]
    return lam[::-1], U * column_signs(U)


def nearest_semidefinite(S) -> np.ndarray:
    r"""The positive semi-definite matrix nearest to a symmetric one: its negative eigenvalues become zero.

    .. math:: \hat S = \arg\min_{A \succeq 0} \|A - S\|_F = U \max(\Lambda, 0)\, U^\top

    Notes
    -----
    Costs O(N^3). The halves of an S that is not symmetric are averaged first. Chapter 3, equation (3.32); chapter 4,
    equation (4.26).

    Examples
    --------
    >>> nearest_semidefinite(np.array([[0.0, 1.0], [1.0, 0.0]]))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    lam, U = linalg.eigh(0.5 * (S + S.T))
    positive = lam > 0
    return (U[:, positive] * lam[positive]) @ U[:, positive].T  # (3.32)


def gappy_squared_distances(Y_new, Y) -> np.ndarray:
    r"""Mean squared difference of rows over the entries that both have, (M, N); infinite where they share none.

    .. math:: \frac{1}{|O|} \sum_{d \in O} (y_{*d} - y_{nd})^2, \qquad O = \text{observed in both}

    Notes
    -----
    Costs O(M N D), three matrix products; both sets are shifted by the column means of Y first. Chapter 7, equation
    (7.20).

    Examples
    --------
    >>> gappy_squared_distances(np.array([[np.nan, 2.0]]), np.array([[0.0, 0.0], [9.0, 2.0]]))
    array([[4., 0.]])
    """
    seen_new, seen = ~np.isnan(Y_new), ~np.isnan(Y)
    origin = np.where(seen, Y, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    a, b = np.where(seen_new, Y_new - origin, 0.0), np.where(seen, Y - origin, 0.0)
    total = a**2 @ seen.T - 2.0 * a @ b.T + seen_new @ (b**2).T
    shared = seen_new.astype(float) @ seen.T
    return np.where(shared > 0, np.maximum(total, 0.0) / np.maximum(shared, 1.0), np.inf)  # (7.20)


def nearest_rows(Y_new, Y, n_neighbours) -> np.ndarray:
    """Indices (M, n) of the rows of Y nearest to each row of Y_new, over the entries that both have, (7.20).

    Examples
    --------
    >>> nearest_rows(np.array([[np.nan, 2.0]]), np.array([[0.0, 0.0], [9.0, 2.0]]), 1)
    array([[1]])
    """
    return np.argsort(gappy_squared_distances(Y_new, Y), axis=1, kind="stable")[:, :n_neighbours]


def fill_with_means(Y) -> tuple[np.ndarray, np.ndarray]:
    """Centred data with a zero in every gap, and the column means of what was observed.

    Examples
    --------
    >>> fill_with_means(np.array([[1.0, np.nan], [3.0, 4.0]]))
    (array([[-1.,  0.],
           [ 1.,  0.]]), array([2., 4.]))
    """
    missing = np.isnan(Y)
    counts = np.maximum((~missing).sum(axis=0), 1)
    mean = np.where(missing, 0.0, Y).sum(axis=0) / counts
    filled = np.where(missing, 0.0, Y - mean)
    rest = filled.sum(axis=0) / counts  # as in `centre`
    return np.where(missing, 0.0, filled - rest), mean + rest


class OwnUnits(NamedTuple):
    """Data in units of their own: centred, gaps (NaN) kept, one scale; and the way back, ``unit * Y + mean``."""

    Y: np.ndarray  # (N, D)
    mean: np.ndarray  # (D,) of what was observed in each column
    unit: float  # the standard deviation of all entries together; 1 for data that do not vary
    log_jacobian: float  # what the log density of the data has less in theirs than in these: n ln(unit)


def own_units(Y) -> OwnUnits:
    r"""Data as a fit should see them, whatever their units: centred, and divided by one deviation.

    .. math:: \tilde y_{nd} = \frac{y_{nd} - \mu_d}{s}, \qquad \ln p(Y) = \ln \tilde p(\tilde Y) - n \ln s

    Examples
    --------
    >>> own_units(np.array([[10.0, 3.0], [14.0, np.nan]])).Y
    array([[-1.22474487,  0.        ],
           [ 1.22474487,         nan]])
    """
    (filled, mean), seen = fill_with_means(Y), ~np.isnan(Y)
    unit = own_scale(np.where(seen, filled, np.nan))
    return OwnUnits(np.where(seen, filled / unit, np.nan), mean, unit, float(seen.sum() * np.log(unit)))


def own_scale(Y) -> float:
    """The root of the mean square of what was observed of centred data: their own unit; 1 where all of it is zero.

    Examples
    --------
    >>> own_scale(np.array([[3.0, np.nan], [-3.0, 0.0]])), own_scale(np.zeros((2, 2)))
    (2.449489742783178, 1.0)
    """
    largest = np.fmax.reduce(np.abs(Y), axis=None)
    return float(largest * np.sqrt(np.nanmean((Y / largest) ** 2))) if largest > 0 else 1.0


def has_gaps(Y) -> bool:
    """Whether Y has NaN: one pass without a temporary array, since a sum of squares with NaN is NaN.

    Examples
    --------
    >>> has_gaps(np.eye(2)), has_gaps(np.array([[1.0, np.nan]]))
    (False, True)
    """
    return bool(np.isnan(np.vdot(Y, Y)))


def gap_patterns(Y) -> Iterator[tuple]:
    """Rows that have the same gaps, together: generator of (rows (N,) of bool, observed columns (D,) of bool).

    Examples
    --------
    >>> for rows, observed in gap_patterns(np.array([[1.0, 2.0], [np.nan, 3.0], [4.0, 5.0]])):
    ...     print(rows, observed)
    [ True False  True] [ True  True]
    [False  True False] [False  True]
    """
    if not has_gaps(Y):
        yield np.ones(len(Y), bool), np.ones(Y.shape[1], bool)
        return
    patterns, group = np.unique(np.isnan(Y), axis=0, return_inverse=True)
    for number, gaps in enumerate(patterns):
        yield group.ravel() == number, ~gaps


def unit_gaussian_log_density(X) -> float:
    r"""ln N(x | 0, I), summed over all rows: the latent prior of chapters 5 and 7, equation (5.6).

    .. math:: -\tfrac12 \|X\|^2 - \tfrac{Nq}{2} \ln 2\pi

    Examples
    --------
    >>> round(unit_gaussian_log_density(np.zeros((1, 2))), 4)                    # -ln 2 pi
    -1.8379
    """
    return float(-0.5 * np.sum(X**2) - 0.5 * X.size * np.log(2 * np.pi))  # (5.6)
