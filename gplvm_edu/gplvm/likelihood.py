"""The GP-LVM's objective and its gradient: one Cholesky factor, one inverse, two lines of algebra."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dgemm

from ..linalg import (
    cholesky_with_jitter,
    inverse_from_cholesky,
    log_determinant,
    solve_cholesky,
    unit_gaussian_log_density,
)
from ..optimise import minimise


class Factorised(NamedTuple):
    """A kernel matrix made ready: its Cholesky factor (N, N), A = K^-1 Y (N, D), the jitter that was needed.

    Only the lower triangle of L counts; what stands above it is rubbish that no solver reads.
    """

    L: np.ndarray
    A: np.ndarray
    jitter: float


def factorise(Y, K) -> Factorised:
    """Cholesky factor of K, and K^-1 Y from it; everything else follows. Chapter 5, equation (5.3)."""
    L, jitter = cholesky_with_jitter(K, clean=False)
    return Factorised(L, solve_cholesky(L, Y), jitter)  # (5.3)


def log_likelihood(Y, K, factor=None) -> float:
    r"""Log likelihood of D independent outputs, each a draw from the Gaussian process with covariance K.

    .. math:: L = -\tfrac{DN}{2} \ln 2\pi - \tfrac D2 \ln |K| - \tfrac12 \mathrm{tr}(K^{-1} Y Y^\top)

    Parameters
    ----------
    Y : ndarray (N, D)
        Centred data.
    K : ndarray (N, N)
        Kernel matrix of the latent positions, noise included.
    factor : Factorised or None
        What `factorise` returned for the same Y and K, if it is there already.

    Notes
    -----
    Costs O(N^3 / 3 + N^2 D). Chapter 5, equation (5.2); Lawrence (2005), equation (6).

    Examples
    --------
    >>> round(log_likelihood(np.zeros((1, 2)), np.eye(1)), 4)                    # -ln 2 pi
    -1.8379
    """
    N, D = Y.shape
    L, A, _ = factorise(Y, K) if factor is None else factor
    return float(-0.5 * (D * N * np.log(2 * np.pi) + D * log_determinant(L) + np.sum(A * Y)))  # (5.2)


def kernel_matrix_gradient(factor) -> np.ndarray:
    r"""Gradient of the log likelihood with respect to the kernel matrix.

    .. math:: \frac{\partial L}{\partial K} = \tfrac12 \left( K^{-1} Y Y^\top K^{-1} - D K^{-1} \right)
              = \tfrac12 (A A^\top - D K^{-1})

    Notes
    -----
    Costs O(2 N^3 / 3 + N^2 D). BLAS adds the product to the scaled inverse in place: no further N x N array is made.
    Chapter 5, equation (5.4); Lawrence (2005), equation (10), where the factor 1/2 is missing.

    Examples
    --------
    >>> kernel_matrix_gradient(factorise(np.array([[2.0]]), np.array([[4.0]])))  # (4/16 - 1/4) / 2
    array([[0.]])
    """
    L, A, _ = factor
    half_D = 0.5 * A.shape[1]
    G = dgemm(0.5, A, A, beta=-half_D, c=inverse_from_cholesky(L), trans_b=True, overwrite_c=True)  # (5.4)
    return G.T  # the same numbers, in the order of memory that numpy likes


def value_and_gradients(Y, X, kernel, latent_prior=None, jitter=0.0) -> tuple[float, np.ndarray, np.ndarray]:
    r"""The objective of the GP-LVM, and its gradients in the latent positions and in the kernel's parameters.

    .. math:: L(X, \theta) \; \big[ - \tfrac12 \|X\|^2 - \tfrac{Nq}{2} \ln 2\pi \big]

    Parameters
    ----------
    Y : ndarray (N, D)
    X : ndarray (N, q)
    kernel : Kernel
    latent_prior : "gaussian" or None
        With the unit Gaussian prior on X (MAP), or without (maximum likelihood).
    jitter : float
        Added to the diagonal of K.

    Returns
    -------
    value : float
    dX : ndarray (N, q)
    dtheta : ndarray (n_parameters,)

    Notes
    -----
    Costs O(N^3). Chapter 5, equations (5.2) to (5.6).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF, White
    >>> Y, X = np.array([[1.0], [-1.0]]), np.array([[0.5], [-0.5]])
    >>> value, dX, dtheta = value_and_gradients(Y, X, RBF() + White(0.1))
    >>> round(value, 4), dX.ravel().round(4)                                     # apart is better: outputs differ
    (-3.7784, array([ 2.0539, -2.0539]))
    """
    K = kernel(X)
    if jitter:
        K.flat[:: len(K) + 1] += jitter
    factor = factorise(Y, K)
    value = log_likelihood(Y, K, factor)  # (5.2)
    del K  # at most four N x N arrays at any time
    dX, dtheta = kernel.gradients(kernel_matrix_gradient(factor), X)  # (5.5)
    if latent_prior == "gaussian":
        value += unit_gaussian_log_density(X)  # (5.6)
        dX = dX - X  # (5.6)
    return float(value), dX, dtheta


class GPLVMState(NamedTuple):
    """One iterate of a fit: latent positions, the kernel's theta, the objective, evaluations so far, why it ended."""

    X: np.ndarray
    theta: np.ndarray
    value: float
    n_evaluations: int
    stopped: str = ""


def gplvm_iterates(
    Y, X, kernel, latent_prior=None, method="l-bfgs", max_iter=1000, jitter=0.0, tolerance=1e-4
) -> Iterator[GPLVMState]:
    """Generator of `GPLVMState`: maximise the objective from X and the kernel's parameters, the start included.

    Notes
    -----
    The kernel passed in is not changed. Chapter 5, equations (5.4) to (5.6).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF, White
    >>> Y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> states = list(gplvm_iterates(Y, 0.1 * Y, RBF() + White(0.1), "gaussian", max_iter=5))
    >>> states[-1].value > states[0].value
    True
    """
    kernel, (N, q) = kernel.copy(), X.shape

    def value_and_gradient(x):
        kernel.theta = x[N * q :]
        value, dX, dtheta = value_and_gradients(Y, x[: N * q].reshape(N, q), kernel, latent_prior, jitter)
        return -value, -np.concatenate([dX.ravel(), dtheta])  # (5.5), (5.6)

    start = np.concatenate([X.ravel(), kernel.theta])
    for it in minimise(value_and_gradient, start, method=method, max_iter=max_iter, tolerance=tolerance):
        yield GPLVMState(it.x[: N * q].reshape(N, q), it.x[N * q :], -it.value, it.n_evaluations, it.stopped)
