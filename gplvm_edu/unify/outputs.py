"""A scale for every column of the data."""

import numpy as np

from ..linalg import cholesky_with_jitter, solve_cholesky
from .divergence import gp_log_likelihood


def output_scales(Y, K) -> np.ndarray:
    r"""The best scale of each column, (D,), when all columns share one covariance.

    .. math:: \hat\eta_d^2 = \frac{N}{y_{:,d}^\top K^{-1} y_{:,d}}

    Parameters
    ----------
    Y : ndarray (N, D)
    K : ndarray (N, N)

    Notes
    -----
    Costs O(N^3 + N^2 D). Chapter 3, equation (3.31); the scaled GP-LVM of Lawrence (2005), note 13.

    Examples
    --------
    >>> output_scales(np.array([[3.0, 0.5], [-3.0, 0.5]]), np.eye(2)).round(3)
    array([0.333, 2.   ])
    """
    L, _ = cholesky_with_jitter(K, jitters=(0.0,))
    return np.sqrt(len(Y) / np.sum(Y * solve_cholesky(L, Y), axis=0))  # (3.31)


def scaled_log_likelihood(Y, K, scales) -> float:
    r"""Log likelihood of the data when column d, multiplied by its scale, has the covariance K.

    .. math:: L = \sum_d \big[ \ln N(\eta_d\, y_{:,d} \mid 0, K) + N \ln \eta_d \big]

    Notes
    -----
    Costs O(N^3 + N^2 D). The second term is the Jacobian of the scaling: without it the best scale would be 0.
    Chapter 3, equation (3.30).

    Examples
    --------
    >>> Y, K = np.array([[3.0, 0.5], [-3.0, 0.5]]), np.eye(2)
    >>> bool(scaled_log_likelihood(Y, K, output_scales(Y, K)) > scaled_log_likelihood(Y, K, np.ones(2)))
    True
    """
    eta = np.asarray(scales, float)
    return gp_log_likelihood(Y * eta, K) + len(Y) * float(np.sum(np.log(eta)))  # (3.30)
