"""Psi statistics of each test point by itself: chapter 12 needs their sum over points, a test point its own."""
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..kernels import RBF
from ..variational import bell_features, check_kernel, expected_bells, pairs, point_features, pull_back_points


class RowStatistics(NamedTuple):
    """psi0 (n,), Psi1 (n, M), and of each row's symmetric Psi2 the P = M(M+1)/2 entries with m <= m': pairs (n, P).

    ``pull_back(d_psi0, d_Psi1, d_pairs)`` takes gradients of the same shapes and returns those in the latent mean and
    the latent variance, both (n, q).
    """

    psi0: np.ndarray
    Psi1: np.ndarray
    pairs: np.ndarray
    pull_back: Callable


def row_statistics(kernel, inducing_inputs, uncertain=True):
    r"""Prepare the Psi statistics of test points: a function of their means and variances.

    .. math:: \psi_0^* = \langle k(x_*, x_*) \rangle, \quad \psi_1^* = \langle k(Z, x_*) \rangle, \quad
              \Psi_2^* = \langle k(Z, x_*)\, k(x_*, Z) \rangle

    Parameters
    ----------
    kernel : Kernel
        RBF or Linear, possibly plus Bias; any kernel for points.
    inducing_inputs : ndarray (M, q)
    uncertain : bool
        False: the latent points are known exactly, and the function takes None for their variances.

    Returns
    -------
    callable
        ``statistics(latent_mean, latent_variance)`` returns `RowStatistics`.

    Notes
    -----
    Each call costs O(n M^2 q): what depends on Z alone is computed here, once. Chapter 13, equation (13.3).

    Examples
    --------
    >>> statistics = row_statistics(RBF(), np.zeros((1, 1)))
    >>> psi = statistics(np.zeros((2, 1)), np.array([[1.0], [0.0]]))
    >>> psi.Psi1.ravel().round(4), psi.pairs.ravel().round(4)                    # 1 / sqrt 2 and 1 / sqrt 3; 1 and 1
    (array([0.7071, 1.    ]), array([0.5774, 1.    ]))
    """
    if not uncertain:
        return _point_rows(kernel, inducing_inputs)                              # (13.3) with S = 0
    shape, biases = check_kernel(kernel)
    statistics = (_rbf_rows if isinstance(shape, RBF) else _linear_rows)(shape, inducing_inputs)
    for bias in biases:
        statistics = _bias_rows(statistics, bias.variance, len(inducing_inputs))
    return statistics


def whole(pair_entries, M):
    """The symmetric matrices (n, M, M) of entries with m <= m' (n, P), (13.3).

    Examples
    --------
    >>> whole(np.array([[1.0, 2.0, 3.0]]), 2)
    array([[[1., 2.],
            [2., 3.]]])
    """
    return pair_entries[:, pairs(M)[3]]                                          # (13.3)


def _rbf_rows(kernel, Z):
    """Two kinds of expected bells: at each inducing point, and at the middle of each two (chapter 12)."""
    theta, alpha = kernel.variance, np.broadcast_to(kernel.inverse_width, Z.shape[1])
    origin = Z.mean(axis=0)
    Z = Z - origin
    first, second, _, _ = pairs(len(Z))
    right1 = bell_features(Z, np.full(len(Z), np.log(theta)))
    height = 2.0 * np.log(theta) - 0.25 * (Z[first] - Z[second]) ** 2 @ alpha
    right2 = bell_features(0.5 * (Z[first] + Z[second]), height)

    def statistics(latent_mean, latent_variance):
        mu, S = latent_mean - origin, latent_variance
        Psi1 = expected_bells(point_features(mu, S, alpha, 1.0), right1)         # (12.13)
        E = expected_bells(point_features(mu, S, alpha, 2.0), right2)            # (12.14)

        def pull_back(d_psi0, d_Psi1, d_pairs):
            one = pull_back_points((d_Psi1 * Psi1) @ right1.T, mu, S, alpha, 1.0)
            two = pull_back_points((d_pairs * E) @ right2.T, mu, S, alpha, 2.0)  # (12.17)
            return one[0] + two[0], one[1] + two[1]

        return RowStatistics(np.full(len(mu), theta), Psi1, E, pull_back)

    return statistics


def _linear_rows(kernel, Z):
    """Second moments of x, seen through Z A."""
    a = np.broadcast_to(kernel.variance, Z.shape[1])
    ZA = Z * a
    first, second, times, _ = pairs(len(Z))
    products = ZA[first] * ZA[second]                                            # (P, q)

    def statistics(latent_mean, latent_variance):
        mu, S = latent_mean, latent_variance
        Psi1 = mu @ ZA.T

        def pull_back(d_psi0, d_Psi1, d_pairs):
            d_Psi1 = d_Psi1 + _products_pulled_back(d_pairs, Psi1, times)
            return 2.0 * d_psi0[:, None] * a * mu + d_Psi1 @ ZA, d_psi0[:, None] * a + d_pairs @ products

        entries = Psi1[:, first] * Psi1[:, second] + S @ products.T              # (12.18)
        return RowStatistics((mu**2 + S) @ a, Psi1, entries, pull_back)

    return statistics


def _point_rows(kernel, Z):
    """The kernel itself, whichever it is."""
    first, second, times, _ = pairs(len(Z))

    def statistics(latent_mean, latent_variance=None):
        X = latent_mean
        K = kernel._matrix(X, Z)

        def pull_back(d_psi0, d_Psi1, d_pairs):
            d_K = d_Psi1 + _products_pulled_back(d_pairs, K, times)
            d_X = kernel._gradients(d_K, X, Z)[0] + kernel._diag_gradients(d_psi0, X, False)[0]
            return d_X, np.zeros_like(X)

        return RowStatistics(kernel._diag(X, False), K, K[:, first] * K[:, second], pull_back)

    return statistics


def _products_pulled_back(d_pairs, K, times):
    """Gradients in the entries k_m of products k_m k_m'."""
    half = whole(d_pairs / times, K.shape[1])
    return 2.0 * np.matmul(half, K[:, :, None])[:, :, 0]


def _bias_rows(inner, b, M):
    """A constant meets every other term once (chapter 12)."""
    first, second, _, _ = pairs(M)
    ends = np.eye(M)[first] + np.eye(M)[second]                                  # (P, M)

    def statistics(latent_mean, latent_variance):
        psi = inner(latent_mean, latent_variance)

        def pull_back(d_psi0, d_Psi1, d_pairs):
            return psi.pull_back(d_psi0, d_Psi1 + b * d_pairs @ ends, d_pairs)

        entries = psi.pairs + b * psi.Psi1 @ ends.T + b**2                       # (12.19)
        return RowStatistics(psi.psi0 + b, psi.Psi1 + b, entries, pull_back)

    return statistics
