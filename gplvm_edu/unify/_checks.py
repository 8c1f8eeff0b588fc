"""The border of chapter 3: which matrices are let in, and what the others are told."""
import numpy as np
from scipy import linalg

ROUNDING = 1e-10        # relative to the largest eigenvalue (or the trace): below it a negative eigenvalue is rounding


def matrix(A, name):
    """A as a finite float64 array of two dimensions, or an error that says what it was."""
    if np.iscomplexobj(A):
        raise ValueError(f"{name} is complex. Complex data not supported: a similarity is a real number.")
    A = np.asarray(A, dtype=np.float64)
    if A.ndim != 2:
        raise ValueError(f"{name} must be a matrix, one row and one column for each point, got the shape {A.shape}.")
    if not np.isfinite(A).all():
        row, column = np.argwhere(~np.isfinite(A))[0]
        raise ValueError(f"{name} contains NaN or infinity at row {row}, column {column}. A similarity that was not "
                         "measured can't be guessed here: leave the point out, or fill the gap first.")
    return A


def symmetric(A, name):
    """A as a symmetric matrix, or an error that names the pair on which its two halves disagree most."""
    A = matrix(A, name)
    if A.shape[0] != A.shape[1] or len(A) == 0:
        raise ValueError(f"{name} must be square, one row and one column for each point, got the shape {A.shape}. For "
                         "raw data (one point a row) compute similarities first, for example with a kernel: k(Y).")
    if np.array_equal(A, A.T):
        return A
    difference = np.abs(A - A.T)
    n, m = np.unravel_index(np.argmax(difference), A.shape)
    if difference[n, m] > 1e-8 * max(np.abs(A).max(), 1e-300):
        raise ValueError(f"{name} is not symmetric: entry ({n}, {m}) is {A[n, m]:.6g}, but entry ({m}, {n}) is "
                         f"{A[m, n]:.6g}. If both are measurements of one quantity, take the mean, ({name} + {name}.T) "
                         "/ 2, which is the nearest symmetric matrix; chapter 3, \"Break it\".")
    return A


def same_points(S, K):
    """Both matrices, or an error when they do not speak of the same number of points."""
    if S.shape != K.shape:
        raise ValueError(f"S has the shape {S.shape} and K has {K.shape}: both must hold the same points.")
    return S, K


def is_semidefinite(S):
    """Whether no eigenvalue of a symmetric matrix is below zero by more than rounding: one Cholesky factorisation."""
    ridge = ROUNDING * np.trace(S)
    if ridge <= 0:
        return not S.any()
    raised = S.copy(order="F")
    raised[np.diag_indices_from(raised)] += ridge
    return linalg.lapack.dpotrf(raised, lower=True, overwrite_a=True)[1] == 0


def not_semidefinite(S, name, advice):
    """The error for a matrix that is no covariance."""
    lam = linalg.eigvalsh(S)
    n_negative = np.count_nonzero(lam < -ROUNDING * max(lam[-1], -lam[0]))
    share = -lam[lam < 0].sum() / np.abs(lam).sum()
    return ValueError(
        f"{name} is not positive semi-definite: {n_negative} of its {len(lam)} eigenvalues are negative, the smallest "
        f"{lam[0]:.4g} (the largest is {lam[-1]:.4g}), together {100 * share:.2g} % of the spectrum. {advice} "
        "Chapter 3, \"Break it\", shows what is lost."
    )


NEAREST = "nearest_semidefinite(S) gives the nearest matrix that is."


def semidefinite(S, name="S"):
    """S as a symmetric positive semi-definite matrix, or an error that offers the nearest one."""
    S = symmetric(S, name)
    if not is_semidefinite(S):
        raise not_semidefinite(S, name, NEAREST)
    return S


def distances(D, name="distances"):
    """D as a matrix of distances: symmetric, nothing below zero, zeros on the diagonal."""
    D = symmetric(D, name)
    if D.min() < 0:
        n, m = np.unravel_index(np.argmin(D), D.shape)
        raise ValueError(f"{name} has the negative entry {D[n, m]:.6g} at ({n}, {m}), and a distance is 0 or more. If "
                         "large means similar, these are similarities: ClassicalMDS(metric=\"similarity\").")
    n = int(np.argmax(np.diag(D)))
    if D[n, n] > 1e-8 * D.max():
        raise ValueError(f"{name} has {D[n, n]:.6g} on its diagonal, at ({n}, {n}), and a point has distance 0 from "
                         "itself. If large means similar, these are similarities: ClassicalMDS(metric=\"similarity\").")
    return D
