"""Psi statistics: what the bound needs to know of the kernel when the latent points are fuzzy.

Each `*_psi` function returns the statistics and a function that pulls gradients back through them.
"""
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..kernels import RBF, Bias, Linear, Sum, White
from ..kernels.parameters import per_dimension
from .bells import (
    bell_features,
    expected_bells,
    pairs,
    point_features,
    pull_back_bells,
    pull_back_points,
    pull_back_sums,
    sum_bells,
)


class PsiStatistics(NamedTuple):
    """psi0 (N,), Psi1 (N, M), Psi2 (G, M, M) summed over the points of each group, and their pull-back.

    ``pull_back(d_psi0, d_Psi1, d_Psi2)`` takes gradients of the same shapes (d_Psi2 symmetric) and returns those in
    the latent mean (N, q), the latent variance (N, q), Z (M, q) and the kernel's parameters.
    """

    psi0: np.ndarray
    Psi1: np.ndarray
    Psi2: np.ndarray
    pull_back: Callable = None


def psi_statistics(kernel, latent_mean, latent_variance, inducing_inputs, groups=None):
    r"""The three statistics of a kernel under q(x_n) = N(mu_n, diag S_n).

    .. math:: \psi_0^n = \langle k(x_n, x_n) \rangle, \quad (\Psi_1)_{nm} = \langle k(x_n, z_m) \rangle, \quad
              \Psi_2 = \sum_n \langle k(z, x_n)\, k(x_n, z') \rangle

    Parameters
    ----------
    kernel : Kernel
        RBF or Linear, possibly plus Bias; without `White`. With points (no variance), any kernel.
    latent_mean : ndarray (N, q)
    latent_variance : ndarray (N, q) or None
        None: the points are known exactly.
    inducing_inputs : ndarray (M, q)
    groups : ndarray (G, N) or None
        0 or 1: which points count in which Psi2. None: one group of all.

    Returns
    -------
    PsiStatistics

    Notes
    -----
    Costs O(N M^2 q), never an array of N x M x M x q. Chapter 12, equation (12.8); Titsias and Lawrence (2010),
    equations (15) to (17).

    Examples
    --------
    >>> psi = psi_statistics(RBF(), np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 1)))
    >>> psi.psi0, psi.Psi1.round(4), psi.Psi2.round(4)                           # 1, 1 / sqrt 2, 1 / sqrt 3
    (array([1.]), array([[0.7071]]), array([[[0.5774]]]))
    """
    mu, S, Z = latent_mean, latent_variance, inducing_inputs
    G = np.ones((1, len(mu))) if groups is None else groups
    if S is None:
        return point_psi(kernel, mu, Z, G)                                       # (12.8) with S = 0
    shape, biases = check_kernel(kernel)
    psi = (rbf_psi if isinstance(shape, RBF) else linear_psi)(shape, mu, S, Z, groups)
    for bias in biases:
        psi = bias_psi(psi, bias.variance, G)                                    # (12.19)
    return psi


def check_kernel(kernel):
    """The parts of a kernel whose statistics are known, an RBF or Linear and then any Bias; or an error, (12.8).

    Examples
    --------
    >>> check_kernel(RBF() + Bias(0.5))
    (RBF(variance=1, inverse_width=1), [Bias(variance=0.5)])
    """
    shape, *biases = kernel.parts if isinstance(kernel, Sum) else [kernel]       # (12.8)
    if type(shape) not in (RBF, Linear) or any(type(part) is not Bias for part in biases):
        raise ValueError(
            f"The Psi statistics are known here for one RBF or one Linear kernel, plus Bias and White, and got "
            f"{kernel!r}. Use one of the two, or latent=\"point\", which needs no integral and takes any kernel "
            "(chapter 12, \"Psi statistics\").")
    return shape, biases


def split_noise(kernel):
    """The kernel without its White parts, Bias last, and the sum of their variances: the noise, equation (12.20).

    Examples
    --------
    >>> split_noise(White(0.1) + Bias(2.0) + RBF())
    (RBF(variance=1, inverse_width=1) + Bias(variance=2), 0.1)
    """
    parts = kernel.parts if isinstance(kernel, Sum) else [kernel]
    noise = sum(part.variance for part in parts if isinstance(part, White))      # (12.20)
    smooth = sorted((part for part in parts if not isinstance(part, White)), key=lambda part: isinstance(part, Bias))
    if not smooth or isinstance(smooth[0], Bias):
        raise ValueError(f"The kernel {kernel!r} does not look at the latent points at all: add an RBF or a Linear "
                         "kernel to it (chapter 12, \"Psi statistics\").")
    return (Sum(*smooth) if len(smooth) > 1 else smooth[0].copy()), noise


def rbf_psi(kernel, latent_mean, latent_variance, inducing_inputs, groups=None):
    r"""Psi statistics of the RBF kernel: Psi1 is an expected bell, Psi2 one at the middle of two, twice as narrow.

    Notes
    -----
    Costs O(N M^2 q): one matrix product and one exp over N x M(M+1)/2. Chapter 12, equations (12.13) to (12.17).

    Examples
    --------
    >>> mu, S, Z = np.zeros((1, 1)), np.ones((1, 1)), np.array([[0.0], [1.0]])
    >>> rbf_psi(RBF(), mu, S, Z).Psi2[0].round(4)
    array([[0.5774, 0.4137],
           [0.4137, 0.4137]])
    """
    theta, alpha = kernel.variance, np.broadcast_to(kernel.inverse_width, latent_mean.shape[1])
    origin = inducing_inputs.mean(axis=0)                    # only differences count: keep the exponents small
    mu, S, Z = latent_mean - origin, latent_variance, inducing_inputs - origin
    first, second, times, place = pairs(len(Z))
    middle, gap = 0.5 * (Z[first] + Z[second]), Z[first] - Z[second]             # (12.14)  (P, q)
    left1, right1 = point_features(mu, S, alpha, 1.0), bell_features(Z, np.full(len(Z), np.log(theta)))
    left2 = point_features(mu, S, alpha, 2.0)
    right2 = bell_features(middle, 2 * np.log(theta) - 0.25 * gap**2 @ alpha)    # (12.14)
    Psi1, pair_sums = expected_bells(left1, right1), sum_bells(left2, right2, groups)

    def pull_back(d_psi0, d_Psi1, d_Psi2):
        d_sums = d_Psi2[:, first, second] * times
        d_left2, d_right2 = pull_back_sums(d_sums, pair_sums, left2, right2, groups)
        d_exponent1 = d_Psi1 * Psi1
        d_left1, d_right1 = d_exponent1 @ right1.T, left1.T @ d_exponent1        # (12.16)
        in_points = [pull_back_points(d_left1, mu, S, alpha, 1.0), pull_back_points(d_left2, mu, S, alpha, 2.0)]
        d_mu, d_S, d_alpha = map(sum, zip(*in_points, strict=True))
        d_Z, d_height1 = pull_back_bells(d_right1, Z)
        d_middle, d_height2 = pull_back_bells(d_right2, middle)
        d_gap = -0.5 * alpha * gap * d_height2[:, None]
        d_alpha = d_alpha - 0.25 * d_height2 @ gap**2
        d_theta = d_psi0.sum() + (d_height1.sum() + 2.0 * d_height2.sum()) / theta
        d_Z = d_Z + _to_ends(0.5 * d_middle + d_gap, 0.5 * d_middle - d_gap, first, second, len(Z))
        return d_mu, d_S, d_Z, np.concatenate([[d_theta], per_dimension(d_alpha, kernel.inverse_width)])

    return PsiStatistics(np.full(len(mu), theta), Psi1, pair_sums.sums[:, -1][:, place], pull_back)


def _to_ends(d_first, d_second, first, second, M):
    """Gradients of pairs (P, q), handed to the two points of each pair: (M, q)."""
    whole = np.zeros((M, M, d_first.shape[1]))
    whole[first, second] = d_first
    d_Z = whole.sum(axis=1)
    whole[first, second] = d_second
    return d_Z + whole.sum(axis=0)


def linear_psi(kernel, latent_mean, latent_variance, inducing_inputs, groups=None):
    r"""Psi statistics of the linear kernel k = x' A z, A = diag a: only second moments of x are needed.

    .. math:: \psi_0^n = \mathrm{tr}[A (\mu_n \mu_n^\top + S_n)], \quad \Psi_1 = \mu A Z^\top, \quad
              \Psi_2 = Z A \Big[\sum_n (\mu_n \mu_n^\top + S_n)\Big] A Z^\top

    Notes
    -----
    Costs O(N q^2 + N M q). Chapter 12, equation (12.18); Titsias and Lawrence (2010), section 3.2.

    Examples
    --------
    >>> psi = linear_psi(Linear(), np.array([[2.0]]), np.array([[0.5]]), np.array([[3.0]]))
    >>> psi.psi0, psi.Psi1, psi.Psi2                                             # 4.5, 6, 4.5 * 9
    (array([4.5]), array([[6.]]), array([[[40.5]]]))
    """
    mu, S, Z = latent_mean, latent_variance, inducing_inputs
    a = np.broadcast_to(kernel.variance, mu.shape[1])
    G = np.ones((1, len(mu))) if groups is None else groups
    ZA = Z * a
    second = np.array([(g * mu.T) @ mu + np.diag(g @ S) for g in G])             # (12.18)  (G, q, q)

    def pull_back(d_psi0, d_Psi1, d_Psi2):
        d_mu, d_S = 2.0 * d_psi0[:, None] * a * mu + d_Psi1 @ ZA, d_psi0[:, None] * a
        for g, d_second in zip(G, ZA.T @ d_Psi2 @ ZA, strict=True):
            d_mu, d_S = d_mu + 2.0 * g[:, None] * (mu @ d_second), d_S + np.outer(g, np.diag(d_second))
        d_ZA = d_Psi1.T @ mu + 2.0 * np.sum(d_Psi2 @ ZA @ second, axis=0)
        d_a = d_psi0 @ (mu**2 + S) + np.sum(Z * d_ZA, axis=0)
        return d_mu, d_S, a * d_ZA, per_dimension(d_a, kernel.variance)

    return PsiStatistics((mu**2 + S) @ a, mu @ ZA.T, ZA @ second @ ZA.T, pull_back)      # (12.18)


def bias_psi(psi, variance, groups):
    r"""Psi statistics of k + b from those of k: a constant meets every other term once.

    .. math:: \psi_0^n + b, \qquad \Psi_1 + b, \qquad
              (\Psi_2)_{mm'} + b \sum_n [(\Psi_1)_{nm} + (\Psi_1)_{nm'}] + N b^2

    Parameters
    ----------
    psi : PsiStatistics
    variance : float
        b, the variance of the bias.
    groups : ndarray (G, N)

    Notes
    -----
    Costs O(N M). Chapter 12, equation (12.19).

    Examples
    --------
    >>> psi = linear_psi(Linear(), np.array([[2.0]]), np.array([[0.5]]), np.array([[3.0]]))
    >>> bias_psi(psi, 1.0, np.ones((1, 1))).Psi2                                 # 40.5 + 2 * 6 + 1
    array([[[53.5]]])
    """
    b, G = variance, groups
    sums, n = G @ psi.Psi1, G.sum(axis=1)                                        # (G, M), (G,)
    cross = b * (sums[:, :, None] + sums[:, None, :]) + (n * b**2)[:, None, None]

    def pull_back(d_psi0, d_Psi1, d_Psi2):
        rows = 2.0 * d_Psi2.sum(axis=2)                                          # (G, M)
        *inputs, d_parameters = psi.pull_back(d_psi0, d_Psi1 + b * G.T @ rows, d_Psi2)
        d_b = d_psi0.sum() + d_Psi1.sum() + np.sum(rows * (sums + (b * n)[:, None]))
        return *inputs, np.append(d_parameters, d_b)

    return PsiStatistics(psi.psi0 + b, psi.Psi1 + b, psi.Psi2 + cross, pull_back)        # (12.19)


def point_psi(kernel, positions, inducing_inputs, groups):
    """Psi statistics when every q(x_n) is a point: the kernel itself, whichever it is, equation (12.8) with S = 0.

    Examples
    --------
    >>> point_psi(RBF(), np.zeros((1, 1)), np.zeros((1, 1)), np.ones((1, 1))).Psi2
    array([[[1.]]])
    """
    X, Z, G = positions, inducing_inputs, groups
    K = kernel._matrix(X, Z)                                                     # (N, M)
    Psi2 = np.array([(g * K.T) @ K for g in G])

    def pull_back(d_psi0, d_Psi1, d_Psi2):
        d_K = d_Psi1 + 2.0 * sum(g[:, None] * (K @ d) for g, d in zip(G, d_Psi2, strict=True))
        d_X, d_Z, d_parameters = kernel._gradients(d_K, X, Z)
        more_X, more_parameters = kernel._diag_gradients(d_psi0, X, False)
        return d_X + more_X, np.zeros_like(X), d_Z, d_parameters + more_parameters

    return PsiStatistics(kernel._diag(X, False), K, Psi2, pull_back)
