"""The active set's likelihood: chapter 5's objective on d rows instead of N."""

from typing import NamedTuple

import numpy as np

from ..gplvm import factorise, kernel_matrix_gradient, log_likelihood
from ..kernels import Kernel, in_units
from ..linalg import log_determinant, unit_gaussian_log_density
from ..optimise import minimise


class Sites(NamedTuple):
    """Gaussian observations that stand for the active rows: means (d, D) and variances.

    The variances are (d,) where all columns share them; otherwise (d, D), infinite where the entry is missing.
    """

    means: np.ndarray
    variances: np.ndarray


def selection_sites(selection) -> Sites:
    """The sites of a selection with their variances 1 / beta, equation (7.12)."""
    if selection.groups is None:
        return Sites(selection.site_means, 1.0 / selection.precisions[:, 0])
    with np.errstate(divide="ignore"):
        return Sites(selection.site_means, 1.0 / selection.precisions)


def observed_sites(Y, jitter=0.0) -> Sites:
    """The data as their own sites, for a kernel that holds the noise: variance 0, infinite where missing."""
    missing = np.isnan(Y)
    if not missing.any():
        return Sites(Y, np.full(len(Y), jitter))
    return Sites(np.where(missing, 0.0, Y), np.where(missing, np.inf, jitter))


def active_log_likelihood(sites, X, kernel, latent_prior=None) -> tuple[float, np.ndarray, np.ndarray]:
    r"""Log likelihood of the active rows, with gradients in their positions and in the kernel's parameters.

    .. math:: \sum_{d} \ln N(m_{d} \mid 0,\ K_{f,II} + B^{-1}) \;
              \big[ - \tfrac12 \|X_I\|^2 - \tfrac{|I|q}{2} \ln 2\pi \big]

    Parameters
    ----------
    sites : Sites
        Means m = Y_I, (d, D), and variances (d,), the same for all columns; 0 when the noise is a `White` part of the
        kernel.
    X : ndarray (d, q)
        Positions of the active rows.
    kernel : Kernel
    latent_prior : "gaussian" or None

    Returns
    -------
    value : float
    dX : ndarray (d, q)
    dtheta : ndarray (n_parameters,)

    Notes
    -----
    Costs O(d^3). Chapter 7, equations (7.11) to (7.13); Lawrence (2005), equation (11), whose printed form lacks the
    powers D and d.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF, White
    >>> two = Sites(np.array([[1.0], [-1.0]]), np.zeros(2))
    >>> value, dX, _ = active_log_likelihood(two, np.array([[0.5], [-0.5]]), RBF() + White(0.1))
    >>> round(value, 4), dX.ravel().round(4)                                     # chapter 5's, on these two rows
    (-3.7784, array([ 2.0539, -2.0539]))
    """
    m, K = sites.means, kernel(X) + np.diag(sites.variances)  # (7.12)
    factor = factorise(m, K)
    value = log_likelihood(m, K, factor)
    in_K = kernel_matrix_gradient(factor)
    dX, dtheta = kernel.gradients(in_K, X)
    return _with_prior(value, dX, dtheta, X, latent_prior)


def active_log_likelihood_by_column(sites, X, kernel, latent_prior=None) -> tuple[float, np.ndarray, np.ndarray]:
    """`active_log_likelihood` where columns differ in their variances: the sum over groups of columns that are alike.

    Parameters
    ----------
    sites : Sites
        Variances (d, D), infinite where an entry is missing: the row does not exist for that column.
    X, kernel, latent_prior : as in `active_log_likelihood`

    Notes
    -----
    Costs O(d^3) for each group; the kernel matrix is computed once. Chapter 7, equations (7.11) to (7.13); chapter 8,
    equation (8.28).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF, White
    >>> X, missing = np.array([[0.5], [-0.5]]), np.array([[0.0, 0.0], [0.0, np.inf]])
    >>> one_and_a_half = Sites(np.array([[1.0, 1.0], [-1.0, 0.0]]), missing)
    >>> round(active_log_likelihood_by_column(one_and_a_half, X, RBF() + White(0.1))[0], 4)
    -5.1996
    """
    K_f, value = kernel(X), 0.0
    in_K = np.zeros_like(K_f)
    for columns, rows in _alike(sites.variances):
        block, m = np.ix_(rows, rows), sites.means[np.ix_(rows, columns)]
        K = K_f[block] + np.diag(sites.variances[rows, columns[0]])  # (7.12)
        factor = factorise(m, K)
        value += log_likelihood(m, K, factor)  # (7.11)
        in_K[block] += kernel_matrix_gradient(factor)  # (7.13)
    dX, dtheta = kernel.gradients(in_K, X)
    return _with_prior(value, dX, dtheta, X, latent_prior)


def _alike(variances):
    """Columns with the same variances, and the rows that they have: pairs of index arrays."""
    _, first, group = np.unique(variances, axis=1, return_index=True, return_inverse=True)
    for number in np.argsort(first):
        rows = np.flatnonzero(np.isfinite(variances[:, first[number]]))
        if len(rows):
            yield np.flatnonzero(group.ravel() == number), rows


def _with_prior(value, dX, dtheta, X, latent_prior):
    """Value and gradients, with the Gaussian prior of the positions if there is one."""
    if latent_prior == "gaussian":
        value, dX = value + unit_gaussian_log_density(X), dX - X
    return float(value), dX, dtheta


def printed_active_log_likelihood(Y, K) -> float:
    r"""Equation (11) of the paper as it is printed, without the powers D and d: to see what it does.

    .. math:: -\tfrac{D}{2} \ln 2\pi - \tfrac12 \ln |K| - \tfrac12 \mathrm{tr}(K^{-1} Y Y^\top)

    Notes
    -----
    Chapter 7, equation (7.14).

    Examples
    --------
    >>> round(printed_active_log_likelihood(np.zeros((2, 3)), 4.0 * np.eye(2)), 4)
    -4.1431
    """
    D, factor = Y.shape[1], factorise(Y, K)
    return float(-0.5 * (D * np.log(2 * np.pi) + log_determinant(factor.L) + np.sum(factor.A * Y)))  # (7.14)


def optimise_active_set(
    sites, X, kernel, latent_prior=None, optimise_active=True, method="scg", max_iter=5, unit=1.0
) -> tuple[np.ndarray, Kernel, int]:
    """A few optimiser steps on the active set's likelihood, in its positions and the kernel's parameters.

    Parameters
    ----------
    sites : Sites
    X : ndarray (d, q)
    kernel : Kernel
        Not changed.
    latent_prior : "gaussian" or None
    optimise_active : bool
        False moves the kernel's parameters only.
    method : "scg" or "l-bfgs"
    max_iter : int
        Steps. Few are better than many: the active rows would adapt to one another and forget the rest.
    unit : float
        The data's own unit, in which the steps are made.

    Returns
    -------
    X : ndarray (d, q)
    kernel : Kernel
    n_evaluations : int

    Notes
    -----
    Chapter 7, equations (7.11) to (7.13).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF, White
    >>> two = Sites(np.array([[1.0], [-1.0]]), np.zeros(2))
    >>> X, kernel, _ = optimise_active_set(two, np.array([[0.5], [-0.5]]), RBF() + White(0.1), max_iter=3)
    >>> bool(X[0, 0] > 0.5)                                                      # apart is better
    True
    """
    found, n = kernel.copy(), X.size if optimise_active else 0
    if max_iter == 0 or n + len(kernel.theta) == 0:  # all that could move is fixed
        return X.copy(), found, 0
    kernel = in_units(kernel, unit)
    sites = Sites(sites.means / unit, sites.variances / unit**2)
    step = np.maximum(kernel.parameters[kernel.is_free], 1.0)  # one in theta is small for a parameter of ten
    log_likelihood_of = active_log_likelihood if sites.variances.ndim == 1 else active_log_likelihood_by_column

    def value_and_gradient(x):
        kernel.theta = step * x[n:]
        positions = x[:n].reshape(X.shape) if optimise_active else X
        value, dX, dtheta = log_likelihood_of(sites, positions, kernel, latent_prior)
        return -value, -np.concatenate([dX.ravel()[:n], step * dtheta])

    start = np.concatenate([X.ravel()[:n], kernel.theta / step])
    *_, last = minimise(value_and_gradient, start, method, max_iter)
    kernel.theta = step * last.x[n:]
    X = last.x[:n].reshape(X.shape) if optimise_active else X.copy()
    found.theta = in_units(kernel, 1.0 / unit).theta  # what is fixed is not even rounded
    return X, found, last.n_evaluations
