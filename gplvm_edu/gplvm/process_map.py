"""The map of a Gaussian process: prediction, its uncertainty, and how likely a data point is at a latent point."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg
from scipy.special import logsumexp

from .. import checks
from ..kernels import Kernel
from ..linalg import squared_distances
from ..maps import KernelMap


@dataclass(frozen=True)
class ProcessMap(KernelMap):
    """The map that a Gaussian process has learnt from points X and data Y: mean A'k(x) and a variance for all outputs.

    kernel : with its White part, the noise; centres (N, q) : X; factor (N, N) : lower Cholesky factor of K;
    weights (N, D) : A = K^-1 Y; mean (D,) : added to the outputs; jitter : on the diagonal of K, part of the noise.
    """

    kernel: Kernel
    centres: np.ndarray
    factor: np.ndarray
    weights: np.ndarray
    mean: np.ndarray | float = 0.0
    jitter: float = 0.0
    latent_prior: str | None = None
    positions_are_parameters = True

    @cached_property
    def noise_variance(self):
        """Of the White part and the jitter."""
        x = self.centres[:1]
        return float((self.kernel.diag(x) - self.kernel.diag(x, noise=False))[0]) + self.jitter

    def halves(self, C) -> tuple[np.ndarray, np.ndarray]:
        """L^-1 c for each row, (1, M, N), as both halves: K^-1 = L^-T L^-1."""
        V = linalg.solve_triangular(self.factor, C.T, lower=True, check_finite=False).T[None]
        return V, V

    def wholes(self, halves) -> np.ndarray:
        """K^-1 c for each row, (1, M, N), in the memory of the halves."""
        V = halves[0].T
        return linalg.solve_triangular(self.factor, V, "T", lower=True, overwrite_b=True, check_finite=False).T[None]

    def log_density(self, Y, X) -> tuple[np.ndarray, np.ndarray]:
        """Log density of rows (M,) and gradients in X (M, q), equations (5.10) and (5.11); NaN is a gap."""
        return point_log_likelihood(self, Y - self.mean, X)


def predict(process, X_new, noise=False) -> tuple[np.ndarray, np.ndarray]:
    r"""Mean and variance of the data at new latent points.

    .. math:: \mu(x_*) = A^\top k_*, \qquad \sigma^2(x_*) = k(x_*, x_*) - k_*^\top K^{-1} k_*

    Parameters
    ----------
    process : ProcessMap
    X_new : ndarray (M, q)
    noise : bool
        True: variance of a new observation; False: of the noise-free map.

    Returns
    -------
    mean : ndarray (M, D)
        Of the centred data.
    variance : ndarray (M,)
        The same for every output: they share the kernel.

    Notes
    -----
    Costs O(N^2 M + N M D). This is the page's formula; a fitted model asks `maps.KernelMap.predict`, which serves every
    map of kernels, and a test holds both together. White noise enters k(x_*, x_*) but never k_*, equations (5.7) and
    (5.8); Lawrence (2005), equations (20) and (21), where Y stands for the rows of the active set.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> one_point = ProcessMap(RBF(), np.zeros((1, 1)), np.eye(1), np.array([[2.0]]))
    >>> predict(one_point, np.array([[0.0], [50.0]]))                            # certain there, ignorant far away
    (array([[2.],
           [0.]]), array([0., 1.]))
    """
    kernel, X, L, A = process.kernel, process.centres, process.factor, process.weights
    k = kernel(X_new, X)  # (M, N)
    mean = k @ A  # (5.7)  (M, D)
    V = linalg.solve_triangular(L, k.T, lower=True)  # (N, M)
    variance = kernel.diag(X_new, noise=noise) - np.sum(V**2, axis=0)  # (5.8)  (M,)
    if noise:
        variance = variance + process.jitter
    return mean, np.maximum(variance, 0.0)


def point_log_likelihood(process, Y_new, X_new) -> tuple[np.ndarray, np.ndarray]:
    r"""Log density of each row of Y_new if it came from its row of X_new, with the gradient in X_new.

    .. math:: \ell(x_*) = -\tfrac D2 \ln 2\pi\sigma^2 - \frac{\|y_* - \mu\|^2}{2 \sigma^2}

    with mean and variance (noise included) from (5.7) and (5.8); an entry that is NaN does not count.

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
    >>> m = ProcessMap(RBF() + White(0.1), np.zeros((1, 1)), np.sqrt(1.1) * np.eye(1), np.array([[1.0]]))
    >>> values, gradients = point_log_likelihood(m, np.array([[1.0]]), np.array([[0.1]]))
    >>> values.round(3), gradients.round(3)
    (array([-0.114]), array([[-0.453]]))
    """
    kernel, A, found, seen = process.kernel, process.weights, process.predict(X_new), ~np.isnan(Y_new)
    R, D = np.where(seen, Y_new - found.mean, 0.0), seen.sum(axis=1)  # (M, D)
    s2 = np.maximum(found.variance[:, 0] + process.noise_variance, 1e-12 * kernel.diag(X_new))
    misfit = np.sum(R**2, axis=1)
    values = -0.5 * (D * np.log(2 * np.pi * s2) + misfit / s2)  # (5.10)  (M,)
    in_variance = 0.5 * (misfit / s2 - D) / s2  # (5.11)  (M,)
    in_k = (R / s2[:, None]) @ A.T  # (5.11)  (M, N)
    in_k -= 2.0 * in_variance[:, None] * process.wholes(found.halves)[0]  # K^-1 k_*
    return values, kernel.gradients(in_k, X_new, process.centres)[0] + kernel.diag_gradients(in_variance, X_new)[0]


def sampled_log_likelihood(process, Y_new, n_samples=1000, random_state=None) -> tuple[np.ndarray, np.ndarray]:
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
    >>> flat = ProcessMap(Bias(1.0), np.zeros((1, 1)), np.eye(1), np.zeros((1, 1)), jitter=1.0)
    >>> sampled_log_likelihood(flat, np.array([[0.0]]), 10, random_state=0)[0].round(4)      # ln N(0 | 0, 1)
    array([-0.9189])
    """
    rng = checks.generator(random_state)
    mean, variance = predict(process, rng.standard_normal((n_samples, process.centres.shape[1])), noise=True)
    D = mean.shape[1]
    misfit = squared_distances(Y_new, mean)  # (M, S)
    terms = -0.5 * (D * np.log(2 * np.pi * variance) + misfit / variance)
    total = logsumexp(terms, axis=1)
    weights = np.exp(terms - total[:, None])
    errors = np.sqrt(np.maximum(np.sum(weights**2, axis=1) - 1.0 / n_samples, 0.0))
    return total - np.log(n_samples), errors  # (5.12)
