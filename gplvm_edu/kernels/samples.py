"""Functions drawn from a Gaussian process, before and after the data (chapter 2)."""

import numpy as np

from .. import checks
from ..linalg import cholesky_with_jitter
from .gp import gp_posterior


def gp_prior_samples(kernel, X, n_samples=1, random_state=None) -> np.ndarray:
    r"""Draw functions from a Gaussian process, at the points X: (N, n_samples), one function in each column.

    .. math:: f = L \varepsilon, \qquad L L^\top = K, \qquad \varepsilon \sim N(0, I)

    Parameters
    ----------
    kernel : Kernel
    X : ndarray (N, q)
    n_samples : int
        From 1.
    random_state : None, int, RandomState or Generator

    Notes
    -----
    Costs O(N^3). A matrix that is singular to rounding gets the jitter of `cholesky_with_jitter`, 1e-10 of the
    mean variance or more. Chapter 2, equation (2.4).

    Examples
    --------
    >>> from gplvm_edu.kernels import Linear
    >>> f = gp_prior_samples(Linear(), np.array([[1.0], [2.0], [3.0]]), 1, random_state=0)
    >>> bool(np.allclose(f[1], 2 * f[0], atol=1e-3))       # a line through the origin
    True
    """
    L, _ = cholesky_with_jitter(kernel(X))  # (2.4)
    return L @ _standard_normal(len(L), n_samples, random_state)


def gp_posterior_samples(kernel, X, Y, X_new, n_samples=1, noise_variance=0.0, random_state=None) -> np.ndarray:
    r"""Draw functions from the posterior of one column of data, at new points: (M, n_samples).

    .. math:: f_* = \bar f_* + L \varepsilon, \qquad L L^\top = \Sigma_*, \qquad \varepsilon \sim N(0, I)

    Parameters
    ----------
    kernel, X, X_new, noise_variance
        As in `gp_posterior`.
    Y : ndarray (N,)
    n_samples : int
        From 1.
    random_state : None, int, RandomState or Generator

    Notes
    -----
    Costs O(N^3 + N^2 M + M^3). Where the data fix the function, its covariance is singular to rounding and gets the
    jitter of `cholesky_with_jitter`. Chapter 2, equation (2.9).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> f = gp_posterior_samples(RBF(), np.array([[0.0]]), np.array([1.0]), np.array([[0.0], [9.0]]), 2000, 0.01, 0)
    >>> f.std(axis=1).round(1)                                       # known at the datum, free far away
    array([0.1, 1. ])
    """
    mean, covariance = gp_posterior(kernel, X, np.ravel(Y), X_new, noise_variance, full_covariance=True)
    L, _ = cholesky_with_jitter(covariance)
    return mean[:, None] + L @ _standard_normal(len(L), n_samples, random_state)  # (2.9)


def _standard_normal(N, n_samples, random_state):
    """Random numbers (N, n_samples), if there is room for them."""
    checks.room(f"n_samples={n_samples} functions", N, checks.whole_number("n_samples", n_samples))
    return checks.generator(random_state).standard_normal((N, n_samples))
