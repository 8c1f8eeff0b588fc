"""From latent space to data and back: prediction, its uncertainty, and where a new data point belongs."""
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import logsumexp

from ..linalg import solve_cholesky, squared_distances
from ..optimise import minimise_rows


class Mapping(NamedTuple):
    """A fitted map from latent space to data: kernel, latent positions X (N, q), factor of K and A = K^-1 Y."""

    kernel: object
    X: np.ndarray
    L: np.ndarray
    A: np.ndarray
    jitter: float = 0.0


def predict(mapping, X_new, noise=False):
    r"""Mean and variance of the data at new latent points.

    .. math:: \mu(x_*) = A^\top k_*, \qquad \sigma^2(x_*) = k(x_*, x_*) - k_*^\top K^{-1} k_*

    Parameters
    ----------
    mapping : Mapping
    X_new : ndarray (M, q)
    noise : bool
        True: variance of a new observation; False: of the noise-free map.

    Returns
    -------
    mean : ndarray (M, D)
    variance : ndarray (M,)
        The same for every output: they share the kernel.

    Notes
    -----
    Costs O(N^2 M + N M D). White noise enters k(x_*, x_*) but never k_*, equations (5.7) and (5.8); Lawrence (2005),
    equations (20) and (21), where Y stands for the rows of the active set.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> one_point = Mapping(RBF(), np.zeros((1, 1)), np.eye(1), np.array([[2.0]]))
    >>> predict(one_point, np.array([[0.0], [50.0]]))                            # certain there, ignorant far away
    (array([[2.],
           [0.]]), array([0., 1.]))
    """
    kernel, X, L, A, jitter = mapping
    k = kernel(X_new, X)                                                         # (M, N)
    mean = k @ A                                                                 # (5.7)  (M, D)
    V = linalg.solve_triangular(L, k.T, lower=True)                              # (N, M)
    variance = kernel.diag(X_new, noise=noise) - np.sum(V**2, axis=0)            # (5.8)  (M,)
    if noise:
        variance = variance + jitter
    return mean, np.maximum(variance, 0.0)


def log_precision_grid(mapping, limits, n_grid=60):
    r"""The grey picture of the field: ln(1 / sigma^2) of the noise-free map on a grid of a 2-D latent space.

    Parameters
    ----------
    mapping : Mapping
        With q = 2.
    limits : (left, right, bottom, top)
    n_grid : int
        Points along each side.

    Returns
    -------
    ndarray (n_grid, n_grid)
        Rows go up the second latent dimension: show it with ``origin="lower"``.

    Notes
    -----
    Costs O(N^2 n_grid^2). Chapter 5, equation (5.9).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> two = Mapping(RBF(), np.array([[-1.0, 0.0], [1.0, 0.0]]), np.eye(2), np.zeros((2, 1)))
    >>> log_precision_grid(two, (-3, 3, -3, 3), 3).round(2)                      # nothing is known in the corners
    array([[0.  , 0.  , 0.  ],
           [0.02, 1.33, 0.02],
           [0.  , 0.  , 0.  ]])
    """
    left, right, bottom, top = limits
    horizontal, vertical = np.meshgrid(np.linspace(left, right, n_grid), np.linspace(bottom, top, n_grid))
    _, variance = predict(mapping, np.column_stack([horizontal.ravel(), vertical.ravel()]))
    floor = 1e-12 * np.max(variance)
    return -np.log(np.maximum(variance, floor)).reshape(n_grid, n_grid)          # (5.9)


def point_log_likelihood(mapping, Y_new, X_new, latent_prior=None):
    r"""Log density of each row of Y_new if it came from its row of X_new, with the gradient in X_new.

    .. math:: \ell(x_*) = -\tfrac D2 \ln 2\pi\sigma^2 - \frac{\|y_* - \mu\|^2}{2 \sigma^2}
              \; \big[ - \tfrac12 \|x_*\|^2 \big]

    with mean and variance (noise included) from (5.7) and (5.8).

    Returns
    -------
    values : ndarray (M,)
    gradients : ndarray (M, q)

    Notes
    -----
    Costs O(N^2 M). Both the misfit and the variance depend on x_*; to drop the second gives wrong positions.
    Chapter 5, equations (5.10) and (5.11); Lawrence (2005), equations (12) and (19).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF, White
    >>> m = Mapping(RBF() + White(0.1), np.zeros((1, 1)), np.sqrt(1.1) * np.eye(1), np.array([[1.0]]))
    >>> values, gradients = point_log_likelihood(m, np.array([[1.0]]), np.array([[0.1]]))
    >>> values.round(3), gradients.round(3)
    (array([-0.114]), array([[-0.453]]))
    """
    kernel, X, L, A, jitter = mapping
    D = A.shape[1]
    k = kernel(X_new, X)                                                         # (M, N)
    B = solve_cholesky(L, k.T).T                                                 # K^-1 k_*  (M, N)
    R = Y_new - k @ A                                                            # (M, D)
    s2 = np.maximum(kernel.diag(X_new) + jitter - np.sum(k * B, axis=1), 1e-12 * kernel.diag(X_new))
    misfit = np.sum(R**2, axis=1)
    values = -0.5 * (D * np.log(2 * np.pi * s2) + misfit / s2)                   # (5.10)  (M,)
    in_variance = 0.5 * (misfit / s2 - D) / s2                                   # (5.11)  (M,)
    in_k = (R / s2[:, None]) @ A.T - 2.0 * in_variance[:, None] * B              # (5.11)  (M, N)
    gradients = kernel.gradients(in_k, X_new, X)[0] + kernel.diag_gradients(in_variance, X_new)[0]
    if latent_prior == "gaussian":
        values, gradients = values - 0.5 * np.sum(X_new**2, axis=1), gradients - X_new
    return values, gradients


class Modes(NamedTuple):
    """Where a new point may lie: for each row the modes found, best first, and their log likelihoods."""

    X: np.ndarray               # (M, n_starts, q)
    log_likelihoods: np.ndarray  # (M, n_starts)


def project(mapping, Y_new, Y, n_starts=5, latent_prior=None, max_iter=100):
    """Latent positions of new data points, climbed from the places of their nearest training rows.

    Parameters
    ----------
    mapping : Mapping
    Y_new : ndarray (M, D)
    Y : ndarray (N, D)
        The training data, to find neighbours in.
    n_starts : int
        How many neighbours to start from; a latent posterior may have several modes.
    latent_prior : "gaussian" or None
    max_iter : int

    Returns
    -------
    Modes
        Sorted; several starts may end in the same mode.

    Notes
    -----
    All rows and all starts are one vectorised problem of O(M n_starts N^2) an iteration. Chapter 5, equation (5.10);
    Lawrence (2005), section 8.1.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF, White
    >>> from gplvm_edu.gplvm.likelihood import factorise
    >>> Y, X, kernel = np.array([[-1.0], [0.0], [1.0]]), np.array([[-1.0], [0.0], [1.0]]), RBF() + White(0.01)
    >>> L, A, _ = factorise(Y, kernel(X))
    >>> project(Mapping(kernel, X, L, A), np.array([[0.4]]), Y, n_starts=2).X[0, 0].round(1)
    array([0.3])
    """
    M, q = len(Y_new), mapping.X.shape[1]
    n_starts = min(n_starts, len(Y))
    nearest = np.argsort(squared_distances(Y_new, Y), axis=1, kind="stable")[:, :n_starts]
    start = mapping.X[nearest].reshape(M * n_starts, q)
    targets = np.repeat(Y_new, n_starts, axis=0)

    def value_and_gradient(X, rows):
        values, gradients = point_log_likelihood(mapping, targets[rows], X, latent_prior)      # (5.10)
        return -values, -gradients

    X, values = minimise_rows(value_and_gradient, start, max_iter)
    order = np.argsort(values.reshape(M, n_starts), axis=1, kind="stable")
    X = np.take_along_axis(X.reshape(M, n_starts, q), order[:, :, None], axis=1)
    return Modes(X, -np.take_along_axis(values.reshape(M, n_starts), order, axis=1))


def sampled_log_likelihood(mapping, Y_new, n_samples=1000, random_state=None):
    r"""ln p(y_*) with the latent point integrated out by sampling from the unit Gaussian prior.

    .. math:: p(y_*) \approx \frac1S \sum_s N(y_* \mid \mu(x_s), \sigma^2(x_s) I), \qquad x_s \sim N(0, I)

    Returns
    -------
    log_densities : ndarray (M,)
    errors : ndarray (M,)
        Standard error of each, by the delta method; large where few samples matter.

    Notes
    -----
    Costs O(N^2 S + M S D). Chapter 5, equation (5.12).

    Examples
    --------
    >>> from gplvm_edu.kernels import Bias
    >>> flat = Mapping(Bias(1.0), np.zeros((1, 1)), np.eye(1), np.zeros((1, 1)), jitter=1.0)
    >>> sampled_log_likelihood(flat, np.array([[0.0]]), 10, random_state=0)[0].round(4)      # ln N(0 | 0, 1)
    array([-0.9189])
    """
    rng = np.random.default_rng(random_state)
    mean, variance = predict(mapping, rng.standard_normal((n_samples, mapping.X.shape[1])), noise=True)
    D = mean.shape[1]
    misfit = squared_distances(Y_new, mean)                                      # (M, S)
    terms = -0.5 * (D * np.log(2 * np.pi * variance) + misfit / variance)
    total = logsumexp(terms, axis=1)
    weights = np.exp(terms - total[:, None])
    errors = np.sqrt(np.maximum(np.sum(weights**2, axis=1) - 1.0 / n_samples, 0.0))
    return total - np.log(n_samples), errors                                     # (5.12)
