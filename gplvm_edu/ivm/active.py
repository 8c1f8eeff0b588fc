"""The active set's likelihood: chapter 5's objective on d rows instead of N."""

from typing import NamedTuple

import numpy as np

from ..gplvm import factorise, kernel_matrix_gradient, log_likelihood
from ..kernels import Kernel
from ..linalg import unit_gaussian_log_density
from ..optimise import minimise


class Sites(NamedTuple):
    """Gaussian observations that stand for the active rows: means (d, D) and variances (d, G).

    G is 1 when all columns share the variances, and D otherwise; an infinite variance marks a missing entry.
    """

    means: np.ndarray
    variances: np.ndarray


def selection_sites(selection) -> Sites:
    """The sites of a selection with their variances, one column of variances when all columns agree, (7.12)."""
    G = len(selection.L)
    with np.errstate(divide="ignore"):
        return Sites(selection.site_means, 1.0 / selection.precisions[:, :G])  # (7.12)


def observed_sites(Y, jitter=0.0) -> Sites:
    """The data as their own sites, for a kernel that holds the noise: variance 0, infinite where missing; (7.12)."""
    missing = np.isnan(Y)
    if not missing.any():
        return Sites(Y, np.full((len(Y), 1), jitter))
    return Sites(np.where(missing, 0.0, Y), np.where(missing, np.inf, jitter))  # (7.12)


def active_log_likelihood(sites, X, kernel, latent_prior=None) -> tuple[float, np.ndarray, np.ndarray]:
    r"""Log likelihood of the active rows, with gradients in their positions and in the kernel's parameters.

    .. math:: \sum_d \ln N(m_d \mid 0,\ K_{II} + B_d^{-1}) \; \big[ - \tfrac12 \|X_I\|^2 - \tfrac{dq}{2} \ln 2\pi \big]

    Parameters
    ----------
    sites : Sites
        The data themselves and variances of 0 when the noise is a `White` part of the kernel.
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
    Costs O(d^3) for each distinct covariance. Chapter 7, equations (7.11) to (7.13); Lawrence (2005), equation (11),
    whose printed form lacks the powers D and d.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF, White
    >>> two = Sites(np.array([[1.0], [-1.0]]), np.zeros((2, 1)))
    >>> value, dX, _ = active_log_likelihood(two, np.array([[0.5], [-0.5]]), RBF() + White(0.1))
    >>> round(value, 4), dX.ravel().round(4)                                     # chapter 5's, on these two rows
    (-3.7784, array([ 2.0539, -2.0539]))
    """
    K, value = kernel(X), 0.0
    in_K = np.zeros_like(K)
    for m, variances in _columns(sites):
        rows = np.flatnonzero(np.isfinite(variances))  # a missing entry: no row, no column
        if len(rows) == 0:
            continue
        block = np.ix_(rows, rows)
        C = K[block] + np.diag(variances[rows])  # (7.12)
        factor = factorise(m[rows], C)
        value += log_likelihood(m[rows], C, factor)  # (7.11)
        in_K[block] += kernel_matrix_gradient(factor)  # (7.13)
    dX, dtheta = kernel.gradients(in_K, X)
    if latent_prior == "gaussian":
        value += unit_gaussian_log_density(X)
        dX = dX - X
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
    d, D = Y.shape
    factor = factorise(Y, K)
    constants = 0.5 * D * (d - 1) * np.log(2 * np.pi)
    spared = (D - 1) * np.sum(np.log(np.diag(factor.L)))
    return float(log_likelihood(Y, K, factor) + constants + spared)  # (7.14)


def optimise_active_set(
    sites, X, kernel, latent_prior=None, optimise_active=True, method="scg", max_iter=5
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

    Returns
    -------
    X : ndarray (d, q)
    kernel : Kernel
    n_evaluations : int

    Notes
    -----
    Chapter 7, equations (7.11) and (7.13).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF, White
    >>> two = Sites(np.array([[1.0], [-1.0]]), np.zeros((2, 1)))
    >>> X, kernel, _ = optimise_active_set(two, np.array([[0.5], [-0.5]]), RBF() + White(0.1), max_iter=3)
    >>> bool(X[0, 0] > 0.5)                                                      # apart is better
    True
    """
    kernel, n = kernel.copy(), X.size if optimise_active else 0
    unit = np.maximum(kernel.parameters, 1.0)  # a step of one in theta is small for a parameter of ten

    def value_and_gradient(x):
        kernel.theta = unit * x[n:]
        positions = x[:n].reshape(X.shape) if optimise_active else X
        value, dX, dtheta = active_log_likelihood(sites, positions, kernel, latent_prior)
        return -value, -np.concatenate([dX.ravel()[:n], unit * dtheta])  # (7.13)

    start = np.concatenate([X.ravel()[:n], kernel.theta / unit])
    *_, last = minimise(value_and_gradient, start, method, max_iter)
    kernel.theta = unit * last.x[n:]
    return last.x[:n].reshape(X.shape) if optimise_active else X.copy(), kernel, last.n_evaluations


def _columns(sites):
    """Pairs of site means (d, columns) and variances (d,) that share one covariance."""
    m, variances = sites
    if variances.shape[1] == 1:
        return [(m, variances[:, 0])]
    return [(m[:, [c]], variances[:, c]) for c in range(m.shape[1])]
