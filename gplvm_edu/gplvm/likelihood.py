"""The GP-LVM's objective and its gradients, as chapter 5 derives them; `fast` has the same from one Cholesky factor."""

import numpy as np

from ..linalg import cholesky_with_jitter, log_determinant, solve_cholesky, unit_gaussian_log_density
from ..threads import n_rows, suited


@suited(n_rows)
def log_likelihood(Y, K) -> float:
    r"""Log likelihood of D independent outputs, each a draw from the Gaussian process with covariance K.

    .. math:: L = -\tfrac{DN}{2} \ln 2\pi - \tfrac D2 \ln |K| - \tfrac12 \mathrm{tr}(K^{-1} Y Y^\top)

    Parameters
    ----------
    Y : ndarray (N, D)
        Centred data.
    K : ndarray (N, N)
        Kernel matrix of the latent positions, noise included.

    Notes
    -----
    Costs O(N^3 / 3 + N^2 D). Chapter 5, equations (5.2) and (5.3); Lawrence (2005), equation (6).

    Examples
    --------
    >>> round(log_likelihood(np.zeros((1, 2)), np.eye(1)), 4)                    # -ln 2 pi
    -1.8379
    """
    N, D = Y.shape
    L, _ = cholesky_with_jitter(K)
    A = solve_cholesky(L, Y)  # (5.3)
    return float(-0.5 * (D * N * np.log(2 * np.pi) + D * log_determinant(L) + np.sum(A * Y)))  # (5.2)


@suited(n_rows)
def kernel_matrix_gradient(Y, K) -> np.ndarray:
    r"""Gradient of the log likelihood with respect to the kernel matrix.

    .. math:: \frac{\partial L}{\partial K} = \tfrac12 \left( K^{-1} Y Y^\top K^{-1} - D K^{-1} \right)
              = \tfrac12 (A A^\top - D K^{-1})

    Notes
    -----
    Costs O(7 N^3 / 3 + N^2 D). Chapter 5, equation (5.4); Lawrence (2005), equation (10), where the factor 1/2 is
    missing.

    Examples
    --------
    >>> kernel_matrix_gradient(np.array([[2.0]]), np.array([[4.0]]))             # (4/16 - 1/4) / 2
    array([[0.]])
    """
    N, D = Y.shape
    L, _ = cholesky_with_jitter(K)
    K_inv = solve_cholesky(L, np.eye(N))
    A = solve_cholesky(L, Y)  # (5.3)
    return 0.5 * (A @ A.T - D * K_inv)  # (5.4)


@suited(n_rows)
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
    K = kernel(X) + jitter * np.eye(len(X))
    value = log_likelihood(Y, K)
    dX, dtheta = kernel.gradients(kernel_matrix_gradient(Y, K), X)
    if latent_prior == "gaussian":
        value = value + unit_gaussian_log_density(X)  # (5.6)
        dX = dX - X  # (5.6)
    return value, dX, dtheta
