"""What can be learnt once there are sites: the gradient of the evidence, a common shift, the noise's own parameters."""

from typing import Any, NamedTuple

import numpy as np

from ..optimise import minimise
from .posterior import SitePosterior, cavities, ep_posterior, site_posterior


def frozen_site_gradient(K, site_means, site_precisions) -> np.ndarray:
    r"""Derivative (N, N) of the log evidence in K, the sites held still.

    .. math:: \frac{\partial}{\partial K} \ln N(m \mid 0, C) = \tfrac12 \big( C^{-1} m m^\top C^{-1} - C^{-1} \big),
              \qquad C = K_f + B^{-1}

    Parameters
    ----------
    K : ndarray (N, N)
    site_means, site_precisions : ndarray (N,)

    Notes
    -----
    For a parameter of the kernel: the sum of this times dK / dtheta, or ``kernel.gradients``. At a fixed point of
    expectation propagation this is the whole derivative of its evidence, since there the evidence does not change with
    the sites. The evidence of one filtering pass has another derivative. Costs O(N^3). Chapter 8, equation (8.40).

    Examples
    --------
    >>> frozen_site_gradient(np.eye(2), np.array([2.0, 9.0]), np.array([1.0, 0.0]))           # a gap says nothing
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    mean, Sigma = site_posterior(K, site_means, site_precisions)
    a = site_precisions * (site_means - mean)  # C^-1 m
    inverse = np.diag(site_precisions) - np.outer(site_precisions, site_precisions) * Sigma  # C^-1 = B - B Sigma B
    return 0.5 * (np.outer(a, a) - inverse)  # (8.40)


def common_shift(K, site_means, site_precisions) -> tuple[float, float]:
    r"""How far the sites lie from 0 as a whole, as numerator and denominator of their weighted mean.

    .. math:: \delta = \frac{1^\top C^{-1} m}{1^\top C^{-1} 1}, \qquad C = K_f + B^{-1}

    Notes
    -----
    The numerator is the slope of the evidence in a bias, the sum of all g of the cavities; the denominator minus its
    curvature, the sites held still: Newton's step. Columns that share a bias add up both. Costs O(N^3). Chapter 8,
    equation (8.42).

    Examples
    --------
    >>> slope, curvature = common_shift(np.eye(2), np.array([2.0, 4.0]), np.ones(2))
    >>> round(slope / curvature, 6)
    3.0
    """
    mean, Sigma = site_posterior(K, site_means, site_precisions)
    slope = np.sum(site_precisions * (site_means - mean))  # (8.42)
    curvature = np.sum(site_precisions) - site_precisions @ Sigma @ site_precisions  # (8.42)
    return float(slope), float(curvature)


class Learnt(NamedTuple):
    """Kernel, noise model and posterior where the evidence of expectation propagation is largest."""

    kernel: Any
    noise: Any
    posterior: SitePosterior


def learn_noise(K, y, noise, max_iter=50, max_sweeps=100):
    """A noise model whose parameters maximise the evidence of expectation propagation for given K, by L-BFGS.

    Parameters
    ----------
    K, y : as in `ep_posterior`
    noise : Noise
        Started; what is `fixed` in it stays.
    max_iter, max_sweeps : int

    Notes
    -----
    At each trial the sites settle anew, and the gradient is that of the sum of ln Z at the cavities, equation (8.27).
    Climbing that sum with the cavities held still (`Noise.learn`) has the same gradient, but believes the evidence far
    more curved along a common shift than it is: the function follows a shift of all cut points, if it is let. Each
    trial costs O(N^3) a sweep.

    Examples
    --------
    >>> from gplvm_edu.noise import Probit
    >>> y = np.array([1.0, 1.0, 1.0, -1.0])
    >>> learn_noise(0.1 * np.eye(4), y, Probit(0.0))              # sqrt(1.1) times the quantile of 3/4
    Probit(bias=0.7074)
    """
    theta, free = noise.theta, noise.is_free
    if not free.any():
        return noise.copy()

    def at(moved):
        whole = theta.copy()
        whole[free] = moved
        return noise.with_theta(whole)

    def value_and_gradient(moved):
        trial = at(moved)
        *_, q = ep_posterior(K, y, trial, max_sweeps=max_sweeps)
        mean, variance = cavities(q)
        gradient = trial.theta_gradient(y[:, None], mean[:, None], variance[:, None])
        return -q.log_evidence, -gradient[free]

    *_, last = minimise(value_and_gradient, theta[free], "l-bfgs", max_iter=max_iter)
    return at(last.x)


def learn_kernel_and_noise(kernel, X, y, noise, max_iter=60, max_sweeps=50) -> Learnt:
    """Kernel and noise model whose parameters maximise the evidence of expectation propagation, by L-BFGS.

    Parameters
    ----------
    kernel : Kernel
        Covariance of f, not changed.
    X : ndarray (N, q)
    y, noise, max_iter, max_sweeps : as in `learn_noise`

    Notes
    -----
    A ridge of 1e-8 of the kernel's variance is added. Costs O(N^3) for each sweep of each trial. Chapter 8, equations
    (8.27) and (8.40).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.noise import Poisson
    >>> found = learn_kernel_and_noise(RBF(), np.arange(4.0)[:, None], np.array([1.0, 2.0, 9.0, 12.0]), Poisson(0.0))
    >>> found.noise.predict(found.posterior.mean, np.diag(found.posterior.covariance)).round(1)
    array([ 1.8,  2.9,  7.8, 11.5])
    """
    found, n, theta, free = kernel.copy(), len(kernel.theta), noise.theta, noise.is_free
    whole = theta.copy()

    def at(moved):
        found.theta, whole[free] = moved[:n], moved[n:]
        trial, K = noise.with_theta(whole) if free.any() else noise, found(X)
        *_, q = ep_posterior(K + 1e-8 * np.mean(np.diag(K)) * np.eye(len(K)), y, trial, max_sweeps=max_sweeps)
        return trial, K, q

    def value_and_gradient(moved):
        trial, K, q = at(moved)
        in_K = frozen_site_gradient(K, q.site_means, q.site_precisions)
        in_noise = trial.theta_gradient(y[:, None], *(part[:, None] for part in cavities(q)))[free]
        return -q.log_evidence, -np.concatenate([found.gradients(in_K, X)[1], in_noise])

    *_, last = minimise(value_and_gradient, np.concatenate([kernel.theta, theta[free]]), "l-bfgs", max_iter=max_iter)
    trial, _, q = at(last.x)
    return Learnt(found, trial, q)
