"""A Gaussian process seen through any noise: assumed density filtering, and expectation propagation after it."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..linalg import log_determinant
from ..threads import n_rows, suited
from .model import sites


class SitePosterior(NamedTuple):
    """A Gaussian posterior over f at the N training inputs, and the sites that make it.

    The posterior is that of a GP with the observations `site_means`, each with its own precision; precision 0 means
    that nothing was observed there.
    """

    mean: np.ndarray  # (N,)
    covariance: np.ndarray  # (N, N)
    site_means: np.ndarray  # (N,)   m
    site_precisions: np.ndarray  # (N,)   beta
    log_evidence: float
    change: float = np.inf  # largest change of a site's natural parameters in the last sweep


@suited(n_rows)
def adf_posterior(K, y, noise, order=None) -> SitePosterior:
    r"""`SitePosterior` of observations included one by one; after each, the nearest Gaussian replaces the posterior.

    .. math:: \bar f \leftarrow \bar f + g_n s, \qquad \Sigma \leftarrow \Sigma - \nu_n s s^\top, \qquad
              s = \Sigma_{:,n}

    Parameters
    ----------
    K : ndarray (N, N)
        Prior covariance of f, without observation noise: that is the noise model's.
    y : ndarray (N,)
        Observations, NaN where missing.
    noise : Noise
    order : sequence of int or None
        In which order to include them; None is 0, 1, 2, ... The result depends on it unless the noise is Gaussian.

    Notes
    -----
    Costs O(N^3): N rank-one updates of O(N^2). Chapter 8, equations (8.20) and (8.21); Lawrence (2005), section 5.

    Examples
    --------
    >>> from gplvm_edu.noise import Probit
    >>> K = np.array([[1.0, 0.8], [0.8, 1.0]])
    >>> adf_posterior(K, np.array([1.0, 1.0]), Probit(0.0)).mean.round(3)
    array([0.807, 0.806])
    >>> adf_posterior(K, np.array([1.0, 1.0]), Probit(0.0), order=[1, 0]).mean.round(3)      # the order shows
    array([0.806, 0.807])
    """
    N = len(K)
    f, Sigma = np.zeros(N), np.array(K, dtype=float)
    m, beta, log_evidence = np.zeros(N), np.zeros(N), 0.0
    for n in range(N) if order is None else order:
        log_Z, g, nu = _one(noise, n, y[n], f[n], Sigma[n, n])
        m[n], beta[n] = sites(g, nu, f[n], Sigma[n, n])
        s = Sigma[:, n].copy()
        f += g * s  # (8.20)
        Sigma -= nu * np.outer(s, s)  # (8.20)
        log_evidence += log_Z  # (8.21)
    return SitePosterior(f, Sigma, m, beta, log_evidence)


@suited(n_rows)
def ep_posterior(K, y, noise, order=None, max_sweeps=50, damping=1.0, tolerance=1e-8) -> Iterator[SitePosterior]:
    r"""Sweep over the observations again and again: take a site out, look afresh, put it back.

    .. math:: \frac{1}{\varsigma_{-n}} = \frac{1}{\Sigma_{nn}} - \beta_n, \qquad
              \frac{\bar f_{-n}}{\varsigma_{-n}} = \frac{\bar f_n}{\Sigma_{nn}} - \beta_n m_n

    Parameters
    ----------
    K, y, noise, order : as in `adf_posterior`
    max_sweeps : int
    damping : float
        Share of the way that a site moves, from above 0 to 1; less than 1 calms sweeps that oscillate.
    tolerance : float
        Stop when no natural parameter of a site moved by more.

    Yields
    ------
    SitePosterior
        After every sweep. The first one, undamped, is that of `adf_posterior`: all sites are still empty then.

    Notes
    -----
    Costs O(N^3) a sweep. Chapter 8, equations (8.22) to (8.24); Minka (2001).

    Examples
    --------
    >>> from gplvm_edu.noise import Probit
    >>> K = np.array([[1.0, 0.8], [0.8, 1.0]])
    >>> for posterior in ep_posterior(K, np.array([1.0, 1.0]), Probit(0.0)):
    ...     pass
    >>> posterior.mean.round(3), bool(posterior.change < 1e-8)                    # no order left
    (array([0.804, 0.804]), True)
    """
    N = len(K)
    f, Sigma = np.zeros(N), np.array(K, dtype=float)
    tau, r = np.zeros(N), np.zeros(N)  # beta, beta m
    for _ in range(max_sweeps):
        change = 0.0
        for n in range(N) if order is None else order:
            left = max(1.0 / Sigma[n, n] - tau[n], 1e-12 / K[n, n])  # (8.22)
            mean, variance = (f[n] / Sigma[n, n] - r[n]) / left, 1.0 / left  # (8.22)
            _, g, nu = _one(noise, n, y[n], mean, variance)
            m, beta = sites(g, nu, mean, variance)
            d_tau, d_r = beta - tau[n], beta * m - r[n]
            d_tau, d_r = damping * d_tau, damping * d_r
            s = Sigma[:, n].copy()
            f += s * (d_r - d_tau * f[n]) / (1.0 + d_tau * s[n])  # (8.23)
            Sigma -= np.outer(s, s) * (d_tau / (1.0 + d_tau * s[n]))  # (8.23)
            tau[n], r[n] = tau[n] + d_tau, r[n] + d_r
            change = max(change, abs(d_tau), abs(d_r))
        m = r / np.where(tau > 0, tau, 1.0)
        f, Sigma = site_posterior(K, m, tau)  # afresh, without rounding
        evidence = ep_evidence(K, y, noise, m, tau)
        yield SitePosterior(f.copy(), Sigma.copy(), m, tau.copy(), evidence, change)
        if change <= tolerance:
            return


def site_posterior(K, site_means, site_precisions) -> tuple[np.ndarray, np.ndarray]:
    r"""Mean and covariance of f given the sites: a GP with its own noise at each observation.

    .. math:: \Sigma = K_f - K_f B^{1/2} A^{-1} B^{1/2} K_f, \qquad A = I + B^{1/2} K_f B^{1/2}, \qquad
              \bar f = \Sigma B m, \qquad B = \mathrm{diag}\,\beta

    Notes
    -----
    Costs O(N^3). A is as well conditioned as it can be, and a precision of 0 drops out by itself. Chapter 8,
    equation (8.2).

    Examples
    --------
    >>> mean, covariance = site_posterior(np.eye(2), np.array([2.0, 9.0]), np.array([1.0, 0.0]))
    >>> mean, covariance
    (array([1., 0.]), array([[0.5, 0. ],
           [0. , 1. ]]))
    """
    L, root = factor_sites(K, site_precisions)
    V = linalg.solve_triangular(L, root[:, None] * K, lower=True)
    Sigma = K - V.T @ V  # (8.2)
    return Sigma @ (site_precisions * site_means), Sigma  # (8.2)


def ep_evidence(K, y, noise, site_means, site_precisions) -> float:
    r"""The log evidence of expectation propagation, for any set of sites.

    .. math:: \ln Z_{EP} = \sum_n \Big[ \ln Z_n + \tfrac12 \ln(1 + \beta_n \varsigma_{-n})
              + \frac{\bar f_{-n}^2}{2 \varsigma_{-n}} - \frac{\bar f_n^2}{2 \Sigma_{nn}} \Big]
              + \tfrac12 \bar f^\top B m - \tfrac12 \ln |A|

    Notes
    -----
    Costs O(N^3). Chapter 8, equation (8.24). With Gaussian noise it is the exact log marginal likelihood.

    Examples
    --------
    >>> from gplvm_edu.noise import Gaussian
    >>> round(ep_evidence(np.eye(1), np.zeros(1), Gaussian(1.0), np.zeros(1), np.ones(1)), 4)      # ln N(0 | 0, 2)
    -1.2655
    """
    f, Sigma = site_posterior(K, site_means, site_precisions)
    variance, r = np.diag(Sigma), site_precisions * site_means
    left = 1.0 / variance - site_precisions  # (8.22)
    mean_c, variance_c = (f / variance - r) / left, 1.0 / left  # (8.22)  each site in turn left out
    log_Z = noise.log_partition(y[:, None], mean_c[:, None], variance_c[:, None])[:, 0]
    each = log_Z + 0.5 * (np.log1p(site_precisions * variance_c) + mean_c**2 / variance_c - f**2 / variance)
    return float(np.sum(each) + 0.5 * f @ r - 0.5 * log_determinant(factor_sites(K, site_precisions)[0]))  # (8.24)


def _one(noise, n, y, mean, variance):
    """ln Z, g and nu of observation n alone, as floats; a noise model sees arrays (rows, columns)."""
    terms = noise.rows([n]).evaluate(np.full((1, 1), y), np.full((1, 1), mean), np.full((1, 1), variance))
    return (float(term[0, 0]) for term in terms)


def cavities(posterior) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance (N,) of f at each observation, its own site taken out, equation (8.39).

    Examples
    --------
    >>> K, m, beta = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([1.0, 2.0]), np.array([1.0, 3.0])
    >>> mean, variance = cavities(SitePosterior(*site_posterior(K, m, beta), m, beta, 0.0))
    >>> mean.round(4), variance.round(4)                          # the second knows 1/4 of the first: 0.5 * 1 / 2
    (array([0.75, 0.25]), array([0.8125, 0.875 ]))
    """
    variance, beta = np.diag(posterior.covariance), posterior.site_precisions
    without = variance / np.maximum(1.0 - beta * variance, 1e-12)  # (8.39)
    return without * (posterior.mean / variance - beta * posterior.site_means), without  # (8.39)


def predict_latent(K, K_new, prior_variance, site_means, site_precisions) -> tuple[np.ndarray, np.ndarray]:
    r"""Mean and variance (n,) of f at new places: the sites are all that is needed of the data.

    .. math:: \bar f_* = k_*^\top (K_f + B^{-1})^{-1} m, \qquad
              \varsigma_* = k_{**} - k_*^\top (K_f + B^{-1})^{-1} k_*

    Parameters
    ----------
    K : ndarray (N, N)
    K_new : ndarray (N, n)
        Covariances of the old places with the new ones.
    prior_variance : ndarray (n,)
    site_means, site_precisions : ndarray (N,)

    Notes
    -----
    Costs O(N^3 + N^2 n). Chapter 8, equation (8.25).

    Examples
    --------
    >>> predict_latent(np.eye(1), np.array([[1.0, 0.0]]), np.ones(2), np.array([2.0]), np.array([1.0]))
    (array([1., 0.]), array([0.5, 1. ]))
    """
    L, root = factor_sites(K, site_precisions)
    V = linalg.solve_triangular(L, root[:, None] * K_new, lower=True)
    v = linalg.solve_triangular(L, root * site_means, lower=True)
    return v @ V, prior_variance - np.sum(V**2, axis=0)  # (8.25)


def factor_sites(K, beta):
    """Cholesky factor of A = I + B^(1/2) K B^(1/2), and the square roots of the precisions.

    Examples
    --------
    >>> L, root = factor_sites(np.eye(1), np.array([3.0]))
    >>> L, root.round(3)
    (array([[2.]]), array([1.732]))
    """
    root = np.sqrt(beta)
    return linalg.cholesky(np.eye(len(K)) + root[:, None] * K * root, lower=True), root
