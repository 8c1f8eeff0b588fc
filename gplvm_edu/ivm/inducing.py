"""Two relatives of the active set: all rows speak, but only through the function's values at the active places.

FITC gives every row its own variance given those values, DTC none but the noise. The active set's posterior is neither:
it has heard the active rows only. Chapter 7, "Which approximation is it?".
"""

import numpy as np
from scipy import linalg

from ..linalg import cholesky_with_jitter, log_determinant


def inducing_parts(kernel, X_active, X, noise_variance, exact_diagonal):
    """V = L^-1 K_IN with K_II = L L', and the variance (N,) of each row given the values at the active places.

    Notes
    -----
    Costs O(|I|^2 N). With `exact_diagonal` it is FITC, without DTC.
    """
    L, _ = cholesky_with_jitter(kernel(X_active))
    V = linalg.solve_triangular(L, kernel(X_active, X), lower=True)
    unexplained = np.maximum(kernel.diag(X) - np.sum(V**2, axis=0), 0.0) if exact_diagonal else 0.0
    return L, V, unexplained + np.full(len(X), noise_variance)


def inducing_posterior(kernel, X_active, X, Y, X_new, noise_variance, exact_diagonal=True):
    r"""Mean and variance of f at new places, when all rows speak through the values at the active places.

    .. math:: p(y_n \mid f_I) = N(y_n \mid k_n^\top K_{II}^{-1} f_I,\
              k_{nn} - k_n^\top K_{II}^{-1} k_n + \sigma^2)

    Parameters
    ----------
    kernel : Kernel
        Covariance of f.
    X_active : ndarray (|I|, q)
    X, Y : ndarray (N, q), (N, D)
        All rows; the active ones among them.
    X_new : ndarray (n, q)
    noise_variance : float
    exact_diagonal : bool
        True is FITC; False is DTC, whose rows have the variance of the noise only.

    Returns
    -------
    mean : ndarray (n, D)
    variance : ndarray (n,)

    Notes
    -----
    Costs O(|I|^2 N). Chapter 7, equation (7.20a); Snelson and Ghahramani (2006), and Quinonero-Candela and Rasmussen
    (2005).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> place = np.zeros((1, 1))
    >>> inducing_posterior(RBF(), place, place, np.array([[1.0]]), place, 1.0)
    (array([[0.5]]), array([0.5]))
    """
    L, V, v = inducing_parts(kernel, X_active, X, noise_variance, exact_diagonal)
    A = np.eye(len(L)) + (V / v) @ V.T
    root = linalg.cholesky(A, lower=True)
    V_new = linalg.solve_triangular(L, kernel(X_active, X_new), lower=True)
    W = linalg.solve_triangular(root, V_new, lower=True)
    mean = W.T @ linalg.solve_triangular(root, (V / v) @ Y, lower=True)
    variance = kernel.diag(X_new) - np.sum(V_new**2, axis=0) + np.sum(W**2, axis=0)
    return mean, np.maximum(variance, 0.0)


def inducing_log_likelihood(kernel, X_active, X, Y, noise_variance, exact_diagonal=True) -> float:
    r"""Log likelihood of all rows, given the places of the active ones: one integral over f_I for all rows together.

    .. math:: \sum_{d} \ln N(y_{:,d} \mid 0,\ K_{NI} K_{II}^{-1} K_{IN} + \mathrm{diag}(v))

    Parameters
    ----------
    kernel, X_active, X, Y, noise_variance, exact_diagonal : as in `inducing_posterior`

    Notes
    -----
    Costs O(|I|^2 N). Chapter 7, equation (7.20a).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> place = np.zeros((1, 1))
    >>> round(inducing_log_likelihood(RBF(), place, place, np.array([[0.0]]), 1.0), 4)         # ln N(0 | 0, 2)
    -1.2655
    """
    _, V, v = inducing_parts(kernel, X_active, X, noise_variance, exact_diagonal)
    root = linalg.cholesky(np.eye(len(V)) + (V / v) @ V.T, lower=True)
    told = linalg.solve_triangular(root, (V / v) @ Y, lower=True)
    misfit = np.sum(Y**2 / v[:, None]) - np.sum(told**2)
    log_det = np.sum(np.log(2 * np.pi * v)) + log_determinant(root)
    return float(-0.5 * (Y.shape[1] * log_det + misfit))  # (7.20a)
