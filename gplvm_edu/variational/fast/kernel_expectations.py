"""The expectations of each kernel that has them in closed form: RBF, Linear, a Bias added to either, and any at points.

One class for each. It is made from the kernel and the inducing inputs, and called with latent points: training asks for
sums over points, a test point for its own (groups="each").
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...kernels.parameters import per_dimension
from .rbf_expectations import (
    centre_features,
    expected_rbf,
    point_features,
    pull_back_centres,
    pull_back_points,
    pull_back_sums,
    sum_expectations,
)


@lru_cache(maxsize=8)
def pairs(M) -> tuple[np.ndarray, ...]:
    """The pairs (m, m') with m <= m', how often each stands in a symmetric matrix, and its place there.

    Examples
    --------
    >>> first, second, times, place = pairs(2)
    >>> first, second, times
    (array([0, 0, 1]), array([0, 1, 1]), array([1., 2., 1.]))
    """
    first, second = np.triu_indices(M)
    times = np.where(first == second, 1.0, 2.0)
    place = np.empty((M, M), dtype=int)
    place[first, second] = place[second, first] = np.arange(len(first))
    return first, second, times, place


class PackedPsi(NamedTuple):
    """psi0 (N,), Psi1 (N, M), the entries m <= m' of each symmetric Psi2 as `pairs` (G, P), and their pull-back.

    There is one Psi2 for each group of points, the sum over them, or for each point by itself (G = N).
    ``pull_back(d_psi0, d_Psi1, d_pairs)`` takes gradients of the same shapes and returns those in the latent mean and
    variance, both (N, q); of sums also those in Z (M, q) and in the kernel's parameters.
    """

    psi0: np.ndarray
    Psi1: np.ndarray
    pairs: np.ndarray
    pull_back: Callable

    @property
    def Psi2(self) -> np.ndarray:
        """Whole matrices, (G, M, M)."""
        return self.pairs[:, pairs(self.Psi1.shape[1])[3]]


class RBFPsi:
    """Psi statistics of the RBF kernel: Psi1 is an expected RBF, Psi2 one half-way between two centres, of order 2.

    Notes
    -----
    Costs O(N M^2 q): one matrix product and one exp over N x M(M+1)/2. Chapter 12, equations (12.13) to (12.17).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> RBFPsi(RBF(), np.array([[0.0], [1.0]]))(np.zeros((1, 1)), np.ones((1, 1))).Psi2[0].round(4)
    array([[0.5774, 0.4137],
           [0.4137, 0.4137]])
    """

    def __init__(self, kernel, inducing_inputs):
        self.width, self.theta = kernel.inverse_width, kernel.variance
        self.alpha = np.broadcast_to(self.width, inducing_inputs.shape[1])
        self.origin = inducing_inputs.mean(axis=0)  # only differences count: keep the exponents small
        Z = self.Z = inducing_inputs - self.origin
        first, second, _, _ = pairs(len(Z))
        one, other = Z[first], Z[second]
        self.middle, self.gap = 0.5 * (one + other), one - other  # (P, q)
        self.gap_squared = self.gap**2
        self.right1 = centre_features(Z, np.full(len(Z), np.log(self.theta)))
        height = 2 * np.log(self.theta) - 0.25 * self.gap_squared @ self.alpha  # (12.14)
        self.right2 = centre_features(self.middle, height)

    def __call__(self, latent_mean, latent_variance, groups=None) -> PackedPsi:
        """The statistics of points with these means and variances (N, q), equations (12.13) and (12.14)."""
        mu, S, right1, right2 = latent_mean - self.origin, latent_variance, self.right1, self.right2
        left1, left2 = point_features(mu, S, self.alpha, 1), point_features(mu, S, self.alpha, 2)
        psi0, Psi1 = np.full(len(mu), self.theta), expected_rbf(left1, right1)  # (12.13)
        if isinstance(groups, str):
            E = expected_rbf(left2, right2)
            return PackedPsi(
                psi0,
                Psi1,
                E,
                lambda d_psi0, d_Psi1, d_pairs: self.in_points(
                    mu, S, (d_Psi1 * Psi1) @ right1.T, (d_pairs * E) @ right2.T
                )[:2],
            )
        pair_sums = sum_expectations(left2, right2, groups)

        def pull_back(d_psi0, d_Psi1, d_pairs):
            d_left2, d_right2 = pull_back_sums(d_pairs, pair_sums, left2, right2, groups)
            d_exponent1 = d_Psi1 * Psi1
            d_mu, d_S, d_alpha = self.in_points(mu, S, d_exponent1 @ right1.T, d_left2)
            d_Z, more, d_theta = self.in_centres(left1.T @ d_exponent1, d_right2)
            return d_mu, d_S, d_Z, np.append(d_psi0.sum() + d_theta, per_dimension(d_alpha + more, self.width))

        return PackedPsi(psi0, Psi1, pair_sums.sums[:, -1], pull_back)

    def in_points(self, mu, S, d_left1, d_left2) -> tuple[np.ndarray, ...]:
        """From gradients in the features of points to those in their means, their variances and alpha, (12.17)."""
        d_mu, d_S, d_alpha = pull_back_points(d_left1, mu, S, self.alpha, 1)
        more_mu, more_S, more_alpha = pull_back_points(d_left2, mu, S, self.alpha, 2)
        return d_mu + more_mu, d_S + more_S, d_alpha + more_alpha

    def in_centres(self, d_right1, d_right2):
        """From gradients in the features of centres to those in Z, alpha and theta, (12.17)."""
        d_Z, d_height1 = pull_back_centres(d_right1, self.Z)
        d_middle, d_height2 = pull_back_centres(d_right2, self.middle)
        d_gap = -0.5 * self.alpha * self.gap * d_height2[:, None]
        d_Z = d_Z + _to_ends(0.5 * d_middle + d_gap, 0.5 * d_middle - d_gap, len(self.Z))
        return d_Z, -0.25 * d_height2 @ self.gap_squared, (d_height1.sum() + 2.0 * d_height2.sum()) / self.theta


class LinearPsi:
    r"""Psi statistics of the linear kernel k = x' A z, A = diag a: only second moments of x are needed.

    .. math:: \psi_0^n = \mathrm{tr}[A (\mu_n \mu_n^\top + S_n)], \quad \Psi_1 = \mu A Z^\top, \quad
              \Psi_2 = Z A \Big[\sum_n (\mu_n \mu_n^\top + S_n)\Big] A Z^\top = \Psi_1^\top \Psi_1
              + Z A \Big[\sum_n S_n\Big] A Z^\top

    Notes
    -----
    Costs O(N M (M + q) + M^2 q). Chapter 12, equation (12.18); Titsias and Lawrence (2010), section 3.2.

    Examples
    --------
    >>> from gplvm_edu.kernels import Linear
    >>> psi = LinearPsi(Linear(), np.array([[3.0]]))(np.array([[2.0]]), np.array([[0.5]]))
    >>> psi.psi0, psi.Psi1, psi.Psi2                                             # 4.5, 6, 4.5 * 9
    (array([4.5]), array([[6.]]), array([[[40.5]]]))
    """

    def __init__(self, kernel, inducing_inputs):
        self.variance, self.Z = kernel.variance, inducing_inputs
        self.a = np.broadcast_to(self.variance, self.Z.shape[1])
        self.ZA = self.Z * self.a
        first, second, _, _ = pairs(len(self.Z))
        self.ends = self.ZA[first], self.ZA[second]
        self.products = self.ends[0] * self.ends[1]  # (P, q)

    def __call__(self, latent_mean, latent_variance, groups=None) -> PackedPsi:
        """The statistics of points with these means and variances (N, q), equation (12.18)."""
        mu, S, G, a, ZA = latent_mean, latent_variance, _groups(groups, latent_mean), self.a, self.ZA
        Psi1, V = mu @ ZA.T, _sum_rows(S, G)  # (12.18)
        entries = _products(Psi1, G) + V @ self.products.T  # (12.18)

        def pull_back(d_psi0, d_Psi1, d_pairs):
            d_Psi1 = d_Psi1 + _pull_back_products(d_pairs, Psi1, G)
            d_mu = 2.0 * d_psi0[:, None] * a * mu + d_Psi1 @ ZA
            d_S = d_psi0[:, None] * a + _to_rows(d_pairs @ self.products, G)
            if isinstance(G, str):
                return d_mu, d_S
            d_products = d_pairs.T @ V  # (P, q)
            d_ZA = d_Psi1.T @ mu + _to_ends(d_products * self.ends[1], d_products * self.ends[0], len(ZA))
            d_a = d_psi0 @ (mu**2 + S) + np.sum(self.Z * d_ZA, axis=0)
            return d_mu, d_S, a * d_ZA, per_dimension(d_a, self.variance)

        return PackedPsi((mu**2 + S) @ a, Psi1, entries, pull_back)  # (12.18)


class BiasPsi:
    r"""Psi statistics of k + b from those of k: a constant meets every other term once.

    .. math:: \psi_0^n + b, \qquad \Psi_1 + b, \qquad
              (\Psi_2)_{mm'} + b \sum_n [(\Psi_1)_{nm} + (\Psi_1)_{nm'}] + N b^2

    Notes
    -----
    Made from the statistics of k, b and M; costs O(N M + M^3). Chapter 12, equation (12.19).

    Examples
    --------
    >>> from gplvm_edu.kernels import Linear
    >>> psi = BiasPsi(LinearPsi(Linear(), np.array([[3.0]])), 1.0, 1)
    >>> psi(np.array([[2.0]]), np.array([[0.5]])).Psi2                           # 40.5 + 2 * 6 + 1
    array([[[53.5]]])
    """

    def __init__(self, inner, variance, n_inducing):
        self.inner, self.variance = inner, variance
        self.ends = sum(np.eye(n_inducing)[end] for end in pairs(n_inducing)[:2])  # (P, M)

    def __call__(self, latent_mean, latent_variance, groups=None) -> PackedPsi:
        """The statistics of points with these means and variances (N, q), equation (12.19)."""
        b, G = self.variance, _groups(groups, latent_mean)
        psi = self.inner(latent_mean, latent_variance, groups)
        sums, n = _sum_rows(psi.Psi1, G), _sum_rows(np.ones((len(psi.Psi1), 1)), G)  # (G, M), (G, 1)
        entries = psi.pairs + b * sums @ self.ends.T + n * b**2  # (12.19)

        def pull_back(d_psi0, d_Psi1, d_pairs):
            d_sums = d_pairs @ self.ends  # (G, M)
            inner = psi.pull_back(d_psi0, d_Psi1 + b * _to_rows(d_sums, G), d_pairs)
            if isinstance(G, str):
                return inner
            d_b = d_psi0.sum() + d_Psi1.sum() + np.sum(d_sums * (sums + b * n))
            return *inner[:3], np.append(inner[3], d_b)

        return PackedPsi(psi.psi0 + b, psi.Psi1 + b, entries, pull_back)  # (12.19)


class PointPsi:
    """Psi statistics when every q(x_n) is a point: the kernel itself, whichever it is, equation (12.8) with S = 0.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> PointPsi(RBF(), np.zeros((1, 1)))(np.zeros((1, 1))).Psi2
    array([[[1.]]])
    """

    def __init__(self, kernel, inducing_inputs):
        self.kernel, self.Z = kernel, inducing_inputs

    def __call__(self, latent_mean, latent_variance=None, groups=None) -> PackedPsi:
        """The statistics of points at `latent_mean` (N, q), equation (12.8); a variance is not looked at."""
        kernel, Z, X, G = self.kernel, self.Z, latent_mean, _groups(groups, latent_mean)
        K = kernel(X, Z)  # (N, M)

        def pull_back(d_psi0, d_Psi1, d_pairs):
            d_K = d_Psi1 + _pull_back_products(d_pairs, K, G)
            d_X, d_Z, d_parameters = kernel.parameter_gradients(d_K, X, Z)
            more_X, more_parameters = kernel.diag_parameter_gradients(d_psi0, X, noise=False)
            in_points = d_X + more_X, np.zeros_like(X)
            return in_points if isinstance(G, str) else (*in_points, d_Z, d_parameters + more_parameters)

        return PackedPsi(kernel.diag(X, noise=False), K, _products(K, G), pull_back)


# --- sums over the points of each group, or none, and their pull-backs ----------------------------------------
def _groups(groups, X):
    return np.ones((1, len(X))) if groups is None else groups


def _sum_rows(A, G):
    return A if isinstance(G, str) else G @ A


def _to_rows(d_sums, G):
    return d_sums if isinstance(G, str) else G.T @ d_sums


def _products(K, G):
    """The entries k_m k_m' with m <= m' of each row, summed over each group: (G, P)."""
    first, second, _, _ = pairs(K.shape[1])
    if isinstance(G, str):
        return K[:, first] * K[:, second]
    return np.array([((g * K.T) @ K)[first, second] for g in G])


def _pull_back_products(d_pairs, K, G):
    _, _, times, place = pairs(K.shape[1])
    half = (d_pairs / times)[:, place]  # (G, M, M)
    if isinstance(G, str):
        return 2.0 * np.matmul(half, K[:, :, None])[:, :, 0]
    return 2.0 * sum(g[:, None] * (K @ d) for g, d in zip(G, half, strict=True))


def _to_ends(d_first, d_second, M):
    """Gradients of pairs (P, q), handed to the two points of each pair: (M, q)."""
    first, second, _, _ = pairs(M)
    square = np.zeros((M, M, d_first.shape[1]))
    square[first, second] = d_first
    square[second, first] += d_second
    return square.sum(axis=1)
