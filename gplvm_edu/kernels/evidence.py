"""The log marginal likelihood as a landscape: its surface over kernels and noises, and a climb on it."""

from collections.abc import Iterator

import numpy as np

from .. import checks
from .gp import factorised, given, gp_gradients
from .kernel import Kernel
from .parameters import softplus, softplus_inverse, softplus_slope


def evidence_surface(kernels, X, Y, noise_variances) -> np.ndarray:
    r"""The log marginal likelihood for several kernels and several noise variances, (n_kernels, n_noise_variances).

    With :math:`K_{XX} = U \Lambda U^\top`, one decomposition for each kernel serves every noise variance:

    .. math:: \ln p(Y \mid X) = -\tfrac12 \sum_i \Big( D \ln 2\pi(\lambda_i + \sigma^2)
              + \frac{\|u_i^\top Y\|^2}{\lambda_i + \sigma^2} \Big)

    Parameters
    ----------
    kernels : sequence of Kernel
        Of the function: the noise is added here.
    X : ndarray (N, q)
    Y : ndarray (N,) or (N, D)
    noise_variances : sequence of float
        All above 0.

    Notes
    -----
    Costs O(N^3) for each kernel and O(N) for each noise variance more. Chapter 2, equation (2.10).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> X, y = np.array([[0.0], [0.5]]), np.array([1.0, -1.0])
    >>> evidence_surface([RBF(1.0, 0.1), RBF(1.0, 10.0)], X, y, [0.01, 1.0]).round(2)       # rows: kernels
    array([[-44.88,  -3.38],
           [ -3.19,  -3.1 ]])
    """
    s2 = checks.floats("noise_variances", noise_variances)
    if s2.ndim != 1 or not (np.isfinite(s2).all() and (s2 > 0).all()):
        raise ValueError(f"noise_variances must be a list of finite numbers above 0, got {checks.shown(s2)}.")
    return np.array([_evidence_for_noises(kernel, X, Y, s2) for kernel in kernels])


def _evidence_for_noises(kernel, X, Y, s2):
    """One row of the surface: the log marginal likelihood for every noise variance, (n,)."""
    _, Y = factorised(kernel, X, Y, 1.0)  # a check of both
    lam, U = np.linalg.eigh(kernel(X))
    P = np.reshape(U.T @ Y, (len(lam), -1))  # U'Y  (N, D)
    variances = np.maximum(lam, 0.0)[:, None] + s2  # (N, n)
    misfit = np.sum(np.sum(P**2, axis=1)[:, None] / variances, axis=0)
    return -0.5 * (P.shape[1] * np.sum(np.log(2 * np.pi * variances), axis=0) + misfit)  # (2.10)


def climb_evidence(kernel, X, Y, max_iter=200, longest=0.15, tolerance=0.01) -> Iterator[tuple[Kernel, float]]:
    r"""Gradient ascent of the log marginal likelihood in the logarithms of the kernel's parameters, step by step.

    .. math:: \ln p \leftarrow \ln p + \eta \, \frac{\partial L}{\partial \ln p}, \qquad
              \frac{\partial L}{\partial \ln p} = p \, \frac{\partial L}{\partial p}

    Short steps uphill end at the maximum whose hill the start lies on: where there are several, the start decides.
    `optimise.minimise` is faster, and may leap from one hill to another.

    Parameters
    ----------
    kernel : Kernel
        The start, noise included as a `White` part; a parameter that is fixed stays.
    X : ndarray (N, q)
    Y : ndarray (N,) or (N, D)
    max_iter : int
        The most steps.
    longest : float
        Of a step, in the logarithms: 0.15 changes one parameter by 15 %.
    tolerance : float
        Stop when no slope is larger.

    Yields
    ------
    kernel : Kernel
        A copy for each step, the start being the first.
    value : float
        Its log marginal likelihood; it never falls.

    Notes
    -----
    Costs O(N^3) for each step. Chapter 2, equations (2.10), (2.31) and (2.41).

    Examples
    --------
    >>> from gplvm_edu.kernels import White
    >>> steps = list(climb_evidence(White(1.0), np.zeros((4, 1)), np.array([0.5, -0.5, 0.5, -0.5])))
    >>> round(steps[-1][0].variance, 2)                                 # the mean square of the data
    0.25
    """
    kernel, rate = given(kernel).copy(), longest
    value, _, slope = gp_gradients(kernel, X, Y)
    yield kernel.copy(), value
    for _ in range(checks.whole_number("max_iter", max_iter, at_least=0)):
        p = softplus(kernel.theta)
        g = p * slope / softplus_slope(p)  # (2.41)  dL / d ln p
        if np.max(np.abs(g), initial=0.0) <= tolerance or rate < 1e-12:
            return
        step = min(rate, longest / np.linalg.norm(g)) * g
        trial = kernel.copy()
        trial.theta = softplus_inverse(p * np.exp(step))
        there = gp_gradients(trial, X, Y)
        if there[0] < value + 0.25 * step @ g:  # too far: half of it next time
            rate = 0.5 * min(rate, longest / np.linalg.norm(g))
            continue
        kernel, rate, (value, _, slope) = trial, 1.5 * rate, there
        yield kernel.copy(), value
