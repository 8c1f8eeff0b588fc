"""The informative vector machine's choice: one point after another, each the one that tells most.

The posterior is kept for all N points at once. Including a point changes it by a rank-one update, whose only
expensive part is one column of the current posterior covariance; no N x N matrix is ever formed.
"""

from collections.abc import Generator
from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..linalg import log_determinant
from ..noise import Gaussian, sites


class IVMPosterior(NamedTuple):
    """What is known of f after i inclusions, for G groups of columns that share a covariance; changed in place.

    G is 1 when one covariance serves all columns, and D otherwise.
    """

    mean: np.ndarray  # (N, D)
    variance: np.ndarray  # (N, G)
    M: np.ndarray  # (G, d, N), rows i and later still empty
    L: np.ndarray  # (G, d, d)


class Choice(NamedTuple):
    """One inclusion: the row that was taken, and the entropy reductions (N,) that every row offered before it."""

    index: int  # type: ignore[assignment]  # tuple has a method of that name, which nobody needs here
    gains: np.ndarray


class Selection(NamedTuple):
    """The active set in the order in which it was chosen, with its sites and its triangular matrices."""

    active: np.ndarray  # (d,) row numbers
    gains: np.ndarray  # (d,) nats, each at the moment of its inclusion
    site_means: np.ndarray  # (d, D)
    precisions: np.ndarray  # (d, D) beta; 0 where the entry is missing
    M: np.ndarray  # (G, d, N) = L^-1 K_{I,:}
    L: np.ndarray  # (G, d, d), L L' = K_II + B^-1
    log_evidence: float  # ln p(Y_I), as the sum of what each inclusion found: (7.10)


def entropy_reductions(nu, variance) -> np.ndarray:
    r"""Entropy (N,), in nats, that the posterior would lose with each row.

    .. math:: \Delta H_n = -\tfrac12 \sum_d \ln (1 - \nu_{nd} \varsigma_{nd})

    Parameters
    ----------
    nu, variance : ndarray (N, D)
        Of the noise model, and of f before the row is included. A missing entry has nu = 0 and offers nothing.

    Notes
    -----
    Costs O(N D). Chapter 7, equation (7.5); Lawrence, Seeger and Herbrich (2003).

    Examples
    --------
    >>> entropy_reductions(np.array([[0.5], [0.9]]), np.array([[1.0], [1.0]])).round(4)      # nu = 1 / (1 + noise)
    array([0.3466, 1.1513])
    """
    return -0.5 * np.sum(np.log1p(-np.minimum(nu * variance, 1.0 - 1e-15)), axis=1)  # (7.5)


def include(posterior, i, n, column, g, nu) -> None:
    r"""Make row n active number i: update mean, variance, M and L in place.

    .. math:: s = k_n - M^\top M_{:,n}, \qquad \varsigma \leftarrow \varsigma - \nu_n s \circ s, \qquad
              \bar f \leftarrow \bar f + g_n s, \qquad
              M \leftarrow \begin{bmatrix} M \\ \sqrt{\nu_n}\, s^\top \end{bmatrix}, \quad
              L \leftarrow \begin{bmatrix} L & 0 \\ M_{:,n}^\top & \nu_n^{-1/2} \end{bmatrix}

    Parameters
    ----------
    posterior : IVMPosterior
    i, n : int
        How many are active already; the row to include.
    column : ndarray (N,)
        k(X, x_n), white noise included at n.
    g : ndarray (D,)
    nu : ndarray (G,)
        Both of row n, before its inclusion. Where nu is 0 nothing was observed, and nothing changes.

    Notes
    -----
    Costs O(i N) for each of the G covariances. Chapter 7, equations (7.6) to (7.9).

    Examples
    --------
    >>> p = IVMPosterior(np.zeros((2, 1)), np.ones((2, 1)), np.zeros((1, 1, 2)), np.zeros((1, 1, 1)))
    >>> include(p, 0, 0, np.array([1.0, 0.5]), g=np.array([1.0]), nu=np.array([0.5]))       # y = 2, noise 1
    >>> p.mean.ravel(), p.variance.ravel()
    (array([1. , 0.5]), array([0.5  , 0.875]))
    """
    f, variance, M, L = posterior
    a = M[:, :i, n]  # (G, i)
    s = column - (a[:, None, :] @ M[:, :i])[:, 0]  # (7.6)  (G, N)
    seen = nu > 0
    root = np.sqrt(nu)
    variance -= (nu[:, None] * s**2).T  # (7.7)
    np.maximum(variance, 0.0, out=variance)
    f += s.T * g  # (7.8)
    M[:, i] = root[:, None] * s  # (7.9)
    L[:, i, :i] = np.where(seen[:, None], a, 0.0)  # (7.9)
    L[:, i, i] = 1.0 / np.where(seen, root, 1.0)  # (7.9)  a missing entry: a row of I


def select_steps(Y, X, kernel, noise, n_active) -> Generator[Choice, None, Selection]:
    """Generator: yields a `Choice` for each inclusion, and returns the `Selection` at the end.

    Notes
    -----
    Where one covariance serves all columns (spherical Gaussian noise, nothing missing) the order does not depend on
    Y, so that one column of zeros stands for all. Chapter 7, equations (7.5) to (7.9).
    """
    (N, D), d = Y.shape, min(n_active, len(Y))
    one_for_all = noise.shared and not np.isnan(Y).any()
    target, model = (np.zeros((N, 1)), Gaussian(noise.variance)) if one_for_all else (Y, noise)
    G, repeats = target.shape[1], D if one_for_all else 1
    prior = kernel.diag(X)
    posterior = IVMPosterior(np.zeros((N, G)), np.tile(prior[:, None], G), np.zeros((G, d, N)), np.zeros((G, d, d)))
    active, gains = np.zeros(d, dtype=int), np.zeros(d)
    site_means, precisions, log_evidence = np.zeros((d, G)), np.zeros((d, G)), 0.0
    for i in range(d):
        terms = model.evaluate(target, posterior.mean, posterior.variance)
        offered = repeats * entropy_reductions(terms.nu, posterior.variance)  # (7.5)
        offered[active[:i]] = -np.inf
        n = active[i] = np.argmax(offered)
        g, nu = terms.g[n], terms.nu[n]
        gains[i], log_evidence = offered[n], log_evidence + terms.log_partition[n].sum()  # (7.10)
        site_means[i], precisions[i] = sites(g, nu, posterior.mean[n], posterior.variance[n])
        column = kernel(X, X[n : n + 1])[:, 0]
        column[n] = prior[n]  # white noise: the same index
        include(posterior, i, n, column, g, nu)
        yield Choice(int(n), offered)
    if one_for_all:  # a Gaussian site is the observation
        g, nu = noise.rows(active).derivatives(Y[active], 0.0, np.ones((d, 1)))
        site_means, precisions = sites(g, nu, 0.0, 1.0)
        v = linalg.solve_triangular(posterior.L[0], site_means, lower=True)
        log_evidence = -0.5 * (np.sum(v**2) + D * log_determinant(posterior.L[0]) + v.size * np.log(2 * np.pi))
    return Selection(active, gains, site_means, precisions, posterior.M, posterior.L, float(log_evidence))


def ivm_select(Y, X, kernel, noise, n_active) -> Selection:
    r"""The `Selection` of the informative vector machine: at each step the row that reduces entropy most.

    Parameters
    ----------
    Y : ndarray (N, D)
        NaN where missing.
    X : ndarray (N, q)
    kernel : Kernel
        The covariance of f; a `White` part counts as part of f, so leave the noise of the observations out of it.
    noise : noise model
        Of chapter 8, such as ``Gaussian(0.1)``.
    n_active : int
        d; at most N are taken.

    Notes
    -----
    Costs O(d^2 N) for each distinct covariance: one for spherical Gaussian noise and complete data, D otherwise.
    Chapter 7, equations (7.5) to (7.10).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> X = np.array([[0.0], [0.1], [3.0]])
    >>> ivm_select(np.zeros((3, 1)), X, RBF(), Gaussian(0.1), 2).active          # not the twin of the first
    array([0, 2])
    """
    steps = select_steps(Y, X, kernel, noise, n_active)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # (7.10)
