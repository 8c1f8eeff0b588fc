"""The linear algebra that every topic shares: factorise once, solve often, never invert by habit.

The identities behind these few lines are derived in the appendix on matrix calculus.
"""
import numpy as np
from scipy import linalg

JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)
LOWER = np.tri(128, dtype=bool)             # True on and below the diagonal


def cholesky_with_jitter(K, jitters=JITTERS, clean=True):
    r"""Lower Cholesky factor of K, with the smallest jitter of a stated list that succeeds.

    .. math:: L L^\top = K + j \bar k I, \qquad \bar k = \tfrac1N \mathrm{tr} K

    Parameters
    ----------
    K : ndarray (N, N)
        Symmetric, positive definite up to rounding.
    jitters : sequence of float
        Tried in order, each relative to the mean of the diagonal.
    clean : bool
        False leaves rubbish above the diagonal of L, which the solvers of LAPACK never read, and saves time.

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
        L, failed_minor = linalg.lapack.dpotrf(raised.T, lower=True, clean=clean)   # (A.8)
        if failed_minor == 0 and np.all(np.isfinite(np.diag(L))):       # LAPACK may let NaN and inf pass
            return L, float(j * scale)
    raise np.linalg.LinAlgError(
        f"The {len(K)} x {len(K)} matrix is not positive definite, even with {jitters[-1]:g} of its mean "
        f"diagonal ({scale:.3g}) added. Look for a kernel parameter that became 0, infinite or NaN, or for "
        "duplicated inputs without a noise term; the appendix on matrix calculus says what jitter can mend."
    )


def log_determinant(L):
    r"""ln |K| from the Cholesky factor of K, equation (A.9).

    .. math:: \ln |L L^\top| = 2 \sum_i \ln L_{ii}

    Examples
    --------
    >>> K = np.array([[4.0, 2.0], [2.0, 5.0]])
    >>> np.isclose(log_determinant(np.linalg.cholesky(K)), np.log(np.linalg.det(K)))
    np.True_
    """
    return 2.0 * np.sum(np.log(np.diag(L)))                                      # (A.9)


def solve_cholesky(L, B):
    r"""K^{-1} B from the Cholesky factor of K, by two triangular solves.

    Examples
    --------
    >>> solve_cholesky(np.array([[2.0, 0.0], [1.0, 2.0]]), np.array([8.0, 14.0]))
    array([0.75, 2.5 ])
    """
    return linalg.cho_solve((L, True), B)


def squared_distances(X, Z=None):
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
    D2 = A @ B.T
    D2 *= -2.0
    D2 += np.add.outer(np.sum(A**2, axis=1), np.sum(B**2, axis=1))               # (A.10)  (N, M)
    np.maximum(D2, 0.0, out=D2)
    if Z is None:
        np.fill_diagonal(D2, 0.0)
    return D2


def inverse_from_cholesky(L):
    """K^{-1}, whole and symmetric, from the Cholesky factor of K: LAPACK's potri on what is already there.

    Notes
    -----
    Costs O(2 N^3 / 3). Only for gradients, which need every entry of the inverse; to apply it, use `solve_cholesky`.
    LAPACK fills the lower triangle; it is mirrored in strips, which stay in the processor's cache.

    Examples
    --------
    >>> inverse_from_cholesky(np.array([[1.0, 0.0], [1.0, 1.0]]))                # of K = [[1, 1], [1, 2]]
    array([[ 2., -1.],
           [-1.,  1.]])
    """
    inverse, _ = linalg.lapack.dpotri(L, lower=True)
    for i in range(0, len(inverse), 128):
        inverse[:i, i:i + 128] = inverse[i:i + 128, :i].T
        corner = inverse[i:i + 128, i:i + 128]
        corner[:] = np.where(LOWER[:len(corner), :len(corner)], corner, corner.T)
    return inverse


def centre(Y):
    """Subtract the mean of every column; returns the centred data and the means.

    Examples
    --------
    >>> centre(np.array([[1.0, 2.0], [3.0, 6.0]]))
    (array([[-1., -2.],
           [ 1.,  2.]]), array([2., 4.]))
    """
    mean = Y.mean(axis=0)
    return Y - mean, mean


def double_centre(K):
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
    return K - row_means - K.mean(axis=0, keepdims=True) + K.mean()              # (A.11)
