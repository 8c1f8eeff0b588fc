"""What the active set says about every other point: prediction, the inactive points' objective, projection."""
from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..linalg import squared_distances
from ..optimise import minimise_rows

BLOCK = 500_000             # floats of the largest temporary array

class SparseMapping(NamedTuple):
    """The map that an active set defines, for G groups of columns that share a covariance."""

    kernel: object
    noise: object
    X: np.ndarray               # (d, q) positions of the active rows
    R: np.ndarray               # (G, d, d) L^-1, rows of missing entries empty
    A: np.ndarray               # (d, D) (K_II + B^-1)^-1 m


def sparse_mapping(selection, X, kernel, noise):
    """The map that a selection defines: nothing is factorised again, L is there already.

    Notes
    -----
    Costs O(d^3) for each distinct covariance. Chapter 7, equation (7.15).

    Examples
    --------
    >>> from gplvm_edu.ivm import ivm_select
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.noise import Gaussian
    >>> Y, X = np.array([[2.0], [0.0]]), np.array([[0.0], [9.0]])
    >>> chosen = ivm_select(Y, X, RBF(), Gaussian(1.0), 1)
    >>> sparse_mapping(chosen, X, RBF(), Gaussian(1.0)).A                        # 2 / (1 + 1)
    array([[1.]])
    """
    G, d, _ = selection.L.shape
    R = np.stack([linalg.solve_triangular(L, np.eye(d), lower=True) for L in selection.L])
    R *= (selection.precisions[:, :G].T > 0)[:, :, None]                         # what was not seen says nothing
    m = selection.site_means.T[:, :, None] if G > 1 else selection.site_means[None]      # (G, d, D / G)
    A = R.transpose(0, 2, 1) @ (R @ m)                                           # (7.15)
    return SparseMapping(kernel, noise, X[selection.active], R, A[:, :, 0].T if G > 1 else A[0])


def latent_moments(mapping, X_new):
    r"""Mean and variance of f at new latent points.

    .. math:: \bar f_d(x) = k_I(x)^\top (K_{II} + B_d^{-1})^{-1} m_d, \qquad
              \varsigma_d(x) = k(x, x) - \| L_d^{-1} k_I(x) \|^2

    Returns
    -------
    mean : ndarray (M, D)
    variance : ndarray (M, G)
        One column where all outputs share it.

    Notes
    -----
    Costs O(d^2 M) for each distinct covariance. Chapter 7, equations (7.15) and (7.16); Lawrence (2005), (20), (21).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> one = SparseMapping(RBF(), None, np.zeros((1, 1)), np.full((1, 1, 1), 0.5**0.5), np.ones((1, 1)))
    >>> mean, variance = latent_moments(one, np.array([[0.0], [50.0]]))
    >>> mean.ravel(), variance.ravel().round(3)
    (array([1., 0.]), array([0.5, 1. ]))
    """
    kernel, _, X, R, A = mapping
    k = kernel(X_new, X)                                                         # (M, d)
    V = k @ R.transpose(0, 2, 1)                                                 # L^-1 k  (G, M, d)
    return k @ A, _variance(kernel.diag(X_new), V)                               # (7.15), (7.16)


def _variance(prior, V):
    variance = prior[:, None] - np.sum(V**2, axis=2).T                           # (7.16)  (M, G)
    return np.maximum(variance, 1e-12 * prior[:, None])


def inactive_log_likelihood(mapping, Y_new, X_new, latent_prior=None, rows=slice(None)):
    r"""Log density of each row of Y_new at its row of X_new given the active set, with the gradient in X_new.

    .. math:: \ell_j(x) = \sum_{d} \ln Z\big(y_{jd};\ \bar f_d(x), \varsigma_d(x)\big)
              \; \big[ - \tfrac12 \|x\|^2 \big]

    Parameters
    ----------
    mapping : SparseMapping
    Y_new : ndarray (M, D)
        NaN contributes nothing.
    X_new : ndarray (M, q)
    latent_prior : "gaussian" or None
    rows : index
        Which rows of the training data these are, for noise that differs from row to row.

    Returns
    -------
    values : ndarray (M,)
    gradients : ndarray (M, q)

    Notes
    -----
    Costs O(M d (d + D)) where outputs share a covariance, O(M d^2 D) otherwise; rows are independent of one another.
    Chapter 7, equations (7.17) to (7.19); Lawrence (2005), equations (12) and (19).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.noise import Gaussian
    >>> one = SparseMapping(RBF(), Gaussian(1.0), np.zeros((1, 1)), np.full((1, 1, 1), 0.5**0.5), np.ones((1, 1)))
    >>> value, gradient = inactive_log_likelihood(one, np.array([[1.0]]), np.array([[0.0]]))
    >>> value.round(4), abs(gradient)                            # ln N(1 | 1, 1.5), the best that can be
    (array([-1.1217]), array([[0.]]))
    """
    kernel, noise, X, R, A = mapping
    k = kernel(X_new, X)                                                         # (M, d)
    V = k @ R.transpose(0, 2, 1)                                                 # L^-1 k  (G, M, d)
    variance = _variance(kernel.diag(X_new), V)
    terms = noise.rows(rows).evaluate(Y_new, k @ A, variance)
    values = np.sum(terms.log_partition, axis=1)                                 # (7.17)
    in_variance = 0.5 * (terms.g**2 - terms.nu)                                  # (7.18)  (M, D)
    if len(R) == 1:
        in_variance = in_variance.sum(axis=1, keepdims=True)                     # all outputs share it  (M, G)
    in_k = terms.g @ A.T - 2.0 * np.sum(in_variance.T[:, :, None] * (V @ R), axis=0)     # (7.19)  (M, d)
    gradients = kernel.gradients(in_k, X_new, X)[0] + kernel.diag_gradients(in_variance.sum(axis=1), X_new)[0]
    if latent_prior == "gaussian":
        values, gradients = values - 0.5 * np.sum(X_new**2, axis=1), gradients - X_new
    return values, gradients


def place_inactive(mapping, Y, X, latent_prior=None, max_iter=20, rows=None, tolerance=1e-3):
    """Move every row of X to a nearby maximum of its own log likelihood, all rows at once: new X, log likelihoods.

    Notes
    -----
    One vectorised problem of O(M d (d + D)) an iteration, no loop over points. Chapter 7, equation (7.17).
    """
    G, d, _ = mapping.R.shape
    size = max(1, BLOCK // (G * d))                                              # rows at a time, to stay in the cache

    def value_and_gradient(positions, which):
        values, gradients = np.empty(len(which)), np.empty_like(positions)
        for part in (slice(i, i + size) for i in range(0, len(which), size)):
            index = slice(None) if rows is None else rows[which[part]]
            values[part], gradients[part] = inactive_log_likelihood(
                mapping, Y[which[part]], positions[part], latent_prior, index)
        return -values, -gradients                                               # (7.17)

    X, values = minimise_rows(value_and_gradient, X, max_iter, tolerance)
    return X, -values


def values_at_active_places(mapping, Y_new, rows=slice(None)):
    """Log likelihood (M, d) of each row of Y_new at the place of each active row, by (7.17).

    Notes
    -----
    Costs O(M d D). The d predictions are made once; with spherical noise the misfits of all pairs are one product.
    Chapter 7, equation (7.17).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.noise import Gaussian
    >>> one = SparseMapping(RBF(), Gaussian(1.0), np.zeros((1, 1)), np.full((1, 1, 1), 0.5**0.5), np.ones((1, 1)))
    >>> values_at_active_places(one, np.array([[1.0], [2.0]])).round(4)
    array([[-1.1217],
           [-1.455 ]])
    """
    mean, variance = latent_moments(mapping, mapping.X)                          # (d, D), (d, G)
    noise, D = mapping.noise.rows(rows), Y_new.shape[1]
    if noise.shared and not np.isnan(Y_new).any():
        total = variance[:, 0] + noise.variance                                  # (d,), or (M, d)
        misfit = squared_distances(Y_new - noise.offset, mean)
        return -0.5 * (D * np.log(2 * np.pi * total) + misfit / total)           # (7.17)
    return np.stack([noise.log_partition(Y_new, f, v).sum(axis=1)
                     for f, v in zip(mean, variance, strict=True)], axis=1)      # (7.17)


def nearest_rows(Y_new, Y, n_neighbours):
    r"""Indices (M, n) of the training rows nearest to each new row, over the entries that both have.

    .. math:: \frac{1}{|O|} \sum_{d \in O} (y_{*d} - y_{nd})^2, \qquad O = \text{observed in both}

    Notes
    -----
    Costs O(M N D), three matrix products. Chapter 7, equation (7.20).

    Examples
    --------
    >>> nearest_rows(np.array([[np.nan, 2.0]]), np.array([[0.0, 0.0], [9.0, 2.0]]), 1)
    array([[1]])
    """
    seen_new, seen = ~np.isnan(Y_new), ~np.isnan(Y)
    a, b = np.where(seen_new, Y_new, 0.0), np.where(seen, Y, 0.0)
    total = a**2 @ seen.T - 2.0 * a @ b.T + seen_new @ (b**2).T
    shared = seen_new.astype(float) @ seen.T
    distances = np.where(shared > 0, total / np.maximum(shared, 1.0), np.inf)    # (7.20)
    return np.argsort(distances, axis=1, kind="stable")[:, :n_neighbours]


def project_sparse(mapping, Y_new, starts, latent_prior=None, max_iter=100):
    """The best latent position of each new row, and its log likelihood, over several starts.

    Parameters
    ----------
    mapping : SparseMapping
    Y_new : ndarray (M, D)
        NaN where missing.
    starts : ndarray (M, n_starts, q)
    latent_prior : "gaussian" or None
    max_iter : int

    Returns
    -------
    X : ndarray (M, q)
    log_likelihoods : ndarray (M,)

    Notes
    -----
    All rows and starts are one vectorised problem. Chapter 7, equation (7.17); Lawrence (2005), section 8.1.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.noise import Gaussian
    >>> one = SparseMapping(RBF(), Gaussian(1.0), np.zeros((1, 1)), np.full((1, 1, 1), 0.5**0.5), np.ones((1, 1)))
    >>> project_sparse(one, np.array([[1.0]]), np.array([[[0.5], [-1.0]]]))[0].round(3) + 0.0
    array([[0.]])
    """
    M, n_starts, q = starts.shape
    targets = np.repeat(Y_new, n_starts, axis=0)
    X, values = place_inactive(mapping, targets, starts.reshape(M * n_starts, q), latent_prior, max_iter)     # (7.17)
    best = np.argmax(values.reshape(M, n_starts), axis=1)
    X = X.reshape(M, n_starts, q)[np.arange(M), best]
    return place_inactive(mapping, Y_new, X, latent_prior, 30, tolerance=1e-8)           # the best, to the last digit
