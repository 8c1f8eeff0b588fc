"""The objective and its gradients as in `likelihood`, from one Cholesky factor.

The plain functions factorise K twice, and invert it by solving for N columns. Here K is factorised once; LAPACK's potri
makes the inverse from the factor, in 2/3 N^3 operations instead of 2 N^3; and BLAS adds A A' to the inverse in place.
All of it happens in the memory of K. One evaluation is 1.6 times faster at N = 100 and 2.1 times at N = 1000, where it
takes at most three N x N arrays at any time (`tests/bench_fast.py gplvm`, `tests/bench_gplvm.py`).
"""

from math import isfinite
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dgemm
from scipy.linalg.lapack import dpotrf, dpotrs

from ..linalg import cholesky_with_jitter, inverse_from_cholesky, log_determinant, unit_gaussian_log_density
from ..threads import n_rows, suited


class Factorised(NamedTuple):
    """A kernel matrix made ready: its Cholesky factor (N, N), A = K^-1 Y (N, D), the jitter that was needed.

    Only the lower triangle of L counts; the solvers of LAPACK read nothing above it.
    """

    L: np.ndarray
    A: np.ndarray
    jitter: float


def factorise(Y, K, overwrite=False) -> Factorised:
    """Cholesky factor of K, and K^-1 Y from it, equation (5.3); with `overwrite` the factor takes the memory of K."""
    diagonal, jitter = K.diagonal().copy(), 0.0
    L, failed_minor = dpotrf(K.T, lower=True, clean=False, overwrite_a=overwrite)
    if failed_minor or not isfinite(L.trace()):
        below = np.tril(K, -1)  # LAPACK may have written on the diagonal of K and above it
        L, jitter = cholesky_with_jitter(below + below.T + np.diag(diagonal), clean=False)
    return Factorised(L, dpotrs(L, Y, lower=True)[0], jitter)  # (5.3)


def log_likelihood(Y, K, factor=None) -> float:
    """As `likelihood.log_likelihood`; `factor` is what `factorise` returned for the same Y and K, if it is there.

    Examples
    --------
    >>> round(log_likelihood(np.zeros((1, 2)), np.eye(1)), 4)                    # -ln 2 pi
    -1.8379
    """
    N, D = Y.shape
    L, A, _ = factorise(Y, K) if factor is None else factor
    return float(-0.5 * (D * N * np.log(2 * np.pi) + D * log_determinant(L) + np.sum(A * Y)))  # (5.2)


def kernel_matrix_gradient(factor, overwrite=False) -> np.ndarray:
    """As `likelihood.kernel_matrix_gradient`, from what `factorise` returned, and in its memory with `overwrite`.

    Notes
    -----
    Costs O(2 N^3 / 3 + N^2 D).

    Examples
    --------
    >>> kernel_matrix_gradient(factorise(np.array([[2.0]]), np.array([[4.0]])))  # (4/16 - 1/4) / 2
    array([[0.]])
    """
    L, A, _ = factor
    K_inv = inverse_from_cholesky(L, overwrite)
    G = dgemm(0.5, A, A, beta=-0.5 * A.shape[1], c=K_inv, trans_b=True, overwrite_c=True)  # (5.4)
    return G.T  # the same numbers, in the order of memory that numpy likes


@suited(n_rows)
def value_and_gradients(Y, X, kernel, latent_prior=None, jitter=0.0) -> tuple[float, np.ndarray, np.ndarray]:
    """As `likelihood.value_and_gradients`, with one factorisation and at most three N x N arrays at any time.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF, White
    >>> Y, X = np.array([[1.0], [-1.0]]), np.array([[0.5], [-0.5]])
    >>> value, dX, dtheta = value_and_gradients(Y, X, RBF() + White(0.1))
    >>> round(value, 4), dX.ravel().round(4)
    (-3.7784, array([ 2.0539, -2.0539]))
    """
    K = kernel(X)
    if jitter:
        K.flat[:: len(K) + 1] += jitter
    factor = factorise(Y, K, overwrite=True)
    value = log_likelihood(Y, K, factor)
    dX, dtheta = kernel.gradients(kernel_matrix_gradient(factor, overwrite=True), X)
    if latent_prior == "gaussian":
        value, dX = value + unit_gaussian_log_density(X), dX - X  # (5.6)
    return value, dX, dtheta
