"""Psi statistics: what the bound needs to know of the kernel when the latent points are uncertain; their gradients.

Plain: the page's formulas, with arrays of N x M x M x q. `fast` has the same numbers without such arrays.
"""

from typing import NamedTuple

import numpy as np

from ..kernels import Linear
from ..kernels.parameters import per_dimension
from .kernel_parts import check_kernel


class PsiStatistics(NamedTuple):
    """psi0 (N,), one number for each point; Psi1 (N, M); Psi2 (M, M), summed over the points."""

    psi0: np.ndarray
    Psi1: np.ndarray
    Psi2: np.ndarray


class PsiGradients(NamedTuple):
    """Gradients pulled back through Psi statistics: in the latent means and variances (N, q), Z and the kernel."""

    latent_mean: np.ndarray
    latent_variance: np.ndarray
    inducing_inputs: np.ndarray
    kernel: np.ndarray


# --- the RBF kernel -----------------------------------------------------------------------------------------------
def rbf_psi1(latent_mean, latent_variance, inducing_inputs, variance, weights) -> np.ndarray:
    r"""Psi1 of the RBF kernel, (N, M).

    .. math:: (\Psi_1)_{nm} = \theta \prod_q \frac{e^{-\frac12 w_q (\mu_{nq} - z_{mq})^2}}{\sqrt{\alpha_q S_{nq} + 1}},
              \qquad w_q = \frac{\alpha_q}{\alpha_q S_{nq} + 1}

    Parameters
    ----------
    latent_mean, latent_variance : ndarray (N, q)
    inducing_inputs : ndarray (M, q)
    variance : float
        theta.
    weights : ndarray (q,)
        alpha, the inverse squared widths of the kernel.

    Notes
    -----
    Costs O(N M q). Chapter 12, equation (12.13); Titsias and Lawrence (2010), equation (16).

    Examples
    --------
    >>> rbf_psi1(np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 1)), 1.0, np.ones(1)).round(4)        # 1 / sqrt 2
    array([[0.7071]])
    """
    mu, S, Z, theta, alpha = latent_mean, latent_variance, inducing_inputs, variance, weights
    rho = alpha * S + 1.0  # (N, q)
    w = alpha / rho  # (N, q)
    square = np.sum(w[:, None] * (mu[:, None] - Z) ** 2, axis=2)  # (N, M)
    return theta * np.exp(-0.5 * square) / np.sqrt(np.prod(rho, axis=1))[:, None]  # (12.13)


def rbf_psi2(latent_mean, latent_variance, inducing_inputs, variance, weights) -> np.ndarray:
    r"""Psi2 of the RBF kernel for each point, (N, M, M): the product of two bells is one bell in the middle.

    .. math:: (\Psi_2^n)_{mm'} = \theta^2 e^{-\frac14 \sum_q \alpha_q (z_{mq} - z_{m'q})^2}
              \prod_q \frac{e^{-\frac12 w_q (\mu_{nq} - \bar z_q)^2}}{\sqrt{2 \alpha_q S_{nq} + 1}}, \qquad
              w_q = \frac{2 \alpha_q}{2 \alpha_q S_{nq} + 1}

    Notes
    -----
    The parameters are those of `rbf_psi1`. Costs O(N M^2 q), in time and memory. Chapter 12, equation (12.14); Titsias
    and Lawrence (2010), equation (17).

    Examples
    --------
    >>> rbf_psi2(np.zeros((1, 1)), np.ones((1, 1)), np.array([[0.0], [1.0]]), 1.0, np.ones(1))[0].round(4)
    array([[0.5774, 0.4137],
           [0.4137, 0.4137]])
    """
    mu, S, Z, theta, alpha = latent_mean, latent_variance, inducing_inputs, variance, weights
    rho = 2.0 * alpha * S + 1.0  # (N, q)
    w = 2.0 * alpha / rho  # (N, q)
    middle, gap = 0.5 * (Z[:, None] + Z), Z[:, None] - Z  # (M, M, q) each
    square = np.sum(w[:, None, None] * (mu[:, None, None] - middle) ** 2, axis=3)  # (N, M, M)
    exponent = -0.25 * gap**2 @ alpha - 0.5 * square  # (N, M, M)
    return theta**2 * np.exp(exponent) / np.sqrt(np.prod(rho, axis=1))[:, None, None]  # (12.14)


def rbf_psi1_gradients(d_Psi1, latent_mean, latent_variance, inducing_inputs, variance, weights) -> tuple:
    """From the gradient in Psi1 (N, M) to those in mu (N, q), S (N, q), Z (M, q), theta and alpha (q,), (12.14b).

    Examples
    --------
    >>> at = np.ones((1, 1)), np.ones((1, 1)), np.zeros((1, 1)), 1.0, np.ones(1)
    >>> d_mu, d_S, d_Z, d_theta, d_alpha = rbf_psi1_gradients(np.ones((1, 1)), *at)
    >>> d_mu.round(4), d_Z.round(4)                                              # further from z: lower
    (array([[-0.2753]]), array([[0.2753]]))
    """
    mu, S, Z, theta, alpha = latent_mean, latent_variance, inducing_inputs, variance, weights
    rho = alpha * S + 1.0  # (N, q)
    w = alpha / rho  # (N, q)
    delta = mu[:, None] - Z  # (N, M, q)
    T = d_Psi1 * rbf_psi1(mu, S, Z, theta, alpha)  # (N, M)
    t0 = np.sum(T, axis=1)[:, None]  # (N, 1)
    t1 = np.einsum("nm,nmq->nq", T, delta)  # (N, q)
    t2 = np.einsum("nm,nmq->nq", T, delta**2)  # (N, q)
    d_mu = -w * t1  # (12.14b)  (N, q)
    d_S = 0.5 * (w**2 * t2 - w * t0)  # (12.14b)  (N, q)
    d_Z = np.einsum("nm,nmq->mq", T, w[:, None] * delta)  # (12.14b)  (M, q)
    d_theta = np.sum(T) / theta  # (12.14b)
    d_alpha = -0.5 * np.sum(S / rho * t0 + t2 / rho**2, axis=0)  # (12.14b)  (q,)
    return d_mu, d_S, d_Z, d_theta, d_alpha


def rbf_psi2_gradients(d_Psi2, latent_mean, latent_variance, inducing_inputs, variance, weights) -> tuple:
    """From the symmetric gradient in Psi2, summed over n (M, M), to those in mu, S, Z, theta and alpha, (12.14c).

    Examples
    --------
    >>> at = np.ones((1, 1)), np.ones((1, 1)), np.zeros((1, 1)), 1.0, np.ones(1)
    >>> d_mu, d_S, d_Z, d_theta, d_alpha = rbf_psi2_gradients(np.ones((1, 1)), *at)
    >>> d_mu.round(4), d_Z.round(4), round(float(d_theta), 4)
    (array([[-0.2758]]), array([[0.2758]]), 0.8274)
    """
    mu, S, Z, theta, alpha = latent_mean, latent_variance, inducing_inputs, variance, weights
    rho = 2.0 * alpha * S + 1.0  # (N, q)
    w = 2.0 * alpha / rho  # (N, q)
    middle, gap = 0.5 * (Z[:, None] + Z), Z[:, None] - Z  # (M, M, q) each
    delta = mu[:, None, None] - middle  # (N, M, M, q)
    T = d_Psi2 * rbf_psi2(mu, S, Z, theta, alpha)  # (N, M, M)
    t0 = np.sum(T, axis=(1, 2))[:, None]  # (N, 1)
    t1 = np.einsum("nml,nmlq->nq", T, delta)  # (N, q)
    t2 = np.einsum("nml,nmlq->nq", T, delta**2)  # (N, q)
    d_mu = -w * t1  # (12.14c)  (N, q)
    d_S = 0.5 * (w**2 * t2 - w * t0)  # (12.14c)  (N, q)
    d_Z = np.einsum("nml,nmlq->mq", T, w[:, None, None] * delta - alpha * gap)  # (12.14c)  (M, q)
    d_theta = 2.0 * np.sum(T) / theta  # (12.14c)
    of_gap = 0.25 * np.einsum("nml,mlq->q", T, gap**2)  # (q,)
    d_alpha = -np.sum(S / rho * t0 + t2 / rho**2, axis=0) - of_gap  # (12.14c)  (q,)
    return d_mu, d_S, d_Z, d_theta, d_alpha


# --- the linear kernel, and a bias added to either ------------------------------------------------------------------
def linear_psi(latent_mean, latent_variance, inducing_inputs, weights) -> PsiStatistics:
    r"""The three statistics of the linear kernel k = x' A z, A = diag a: only second moments of x are needed.

    .. math:: \psi_0^n = \mathrm{tr}[A (\mu_n \mu_n^\top + S_n)], \quad \Psi_1 = \mu A Z^\top, \quad
              \Psi_2 = Z A \Big[\sum_n (\mu_n \mu_n^\top + S_n)\Big] A Z^\top

    Notes
    -----
    Costs O(N q (M + q) + M^2 q). Chapter 12, equation (12.18); Titsias and Lawrence (2010), section 3.2.

    Examples
    --------
    >>> linear_psi(np.array([[2.0]]), np.array([[0.5]]), np.array([[3.0]]), np.ones(1))      # 4.5, 6, 4.5 * 9
    PsiStatistics(psi0=array([4.5]), Psi1=array([[6.]]), Psi2=array([[40.5]]))
    """
    mu, S, a = latent_mean, latent_variance, weights
    ZA = inducing_inputs * a  # (M, q)
    Sigma = mu.T @ mu + np.diag(S.sum(axis=0))  # (12.18)  (q, q)
    return PsiStatistics((mu**2 + S) @ a, mu @ ZA.T, ZA @ Sigma @ ZA.T)  # (12.18)


def linear_psi_gradients(d_psi0, d_Psi1, d_Psi2, latent_mean, latent_variance, inducing_inputs, weights) -> tuple:
    """From gradients in the statistics of the linear kernel (Psi2's symmetric) to those in mu, S, Z and a, (12.18a).

    Examples
    --------
    >>> at = np.array([[2.0]]), np.array([[0.5]]), np.array([[3.0]]), np.ones(1)
    >>> linear_psi_gradients(np.ones(1), np.zeros((1, 1)), np.zeros((1, 1)), *at)            # of a (mu^2 + S)
    (array([[4.]]), array([[1.]]), array([[0.]]), array([4.5]))
    """
    mu, S, Z, a = latent_mean, latent_variance, inducing_inputs, weights
    ZA = Z * a  # (M, q)
    Sigma = mu.T @ mu + np.diag(S.sum(axis=0))  # (12.18)  (q, q)
    d_Sigma = ZA.T @ d_Psi2 @ ZA  # (12.18a)  (q, q)
    d_mu = 2.0 * d_psi0[:, None] * a * mu + d_Psi1 @ ZA + 2.0 * mu @ d_Sigma  # (12.18a)  (N, q)
    d_S = d_psi0[:, None] * a + np.diag(d_Sigma)  # (12.18a)  (N, q)
    d_ZA = d_Psi1.T @ mu + 2.0 * d_Psi2 @ ZA @ Sigma  # (12.18a)  (M, q)
    d_a = d_psi0 @ (mu**2 + S) + np.sum(Z * d_ZA, axis=0)  # (12.18a)  (q,)
    return d_mu, d_S, d_ZA * a, d_a  # (12.18a)


def add_bias(psi, variance) -> PsiStatistics:
    r"""The statistics of k + b from those of k: a constant meets every other term once.

    .. math:: \psi_0^n + b, \qquad \Psi_1 + b, \qquad
              (\Psi_2)_{mm'} + b \sum_n [(\Psi_1)_{nm} + (\Psi_1)_{nm'}] + N b^2

    Notes
    -----
    Costs O(N M + M^2). Chapter 12, equation (12.19).

    Examples
    --------
    >>> add_bias(linear_psi(np.array([[2.0]]), np.array([[0.5]]), np.array([[3.0]]), np.ones(1)), 1.0).Psi2
    array([[53.5]])
    """
    (psi0, Psi1, Psi2), b = psi, variance
    N, sums = len(Psi1), Psi1.sum(axis=0)  # sums (M,)
    Psi2 = Psi2 + b * (sums[:, None] + sums) + N * b**2  # (12.19)
    return PsiStatistics(psi0 + b, Psi1 + b, Psi2)  # (12.19)


def add_bias_gradients(d_psi0, d_Psi1, d_Psi2, Psi1, variance) -> tuple[np.ndarray, float]:
    """From gradients in the statistics of k + b to those in Psi1 of k, and in b; `Psi1` (N, M) is that of k, (12.19a).

    The gradients in psi0 and Psi2 of k are those of k + b.

    Examples
    --------
    >>> psi = linear_psi(np.array([[2.0]]), np.array([[0.5]]), np.array([[3.0]]), np.ones(1))
    >>> add_bias_gradients(np.zeros(1), np.zeros((1, 1)), np.ones((1, 1)), psi.Psi1, 1.0)    # of 2 b Psi1 + b^2
    (array([[2.]]), 14.0)
    """
    N, b, sums, g2 = len(Psi1), variance, Psi1.sum(axis=0), d_Psi2.sum(axis=0)  # sums and g2 (M,)
    d_b = np.sum(d_psi0) + np.sum(d_Psi1) + 2.0 * g2 @ (N * b + sums)  # (12.19a)
    return d_Psi1 + 2.0 * b * g2, float(d_b)  # (12.19a)


# --- whichever kernel -----------------------------------------------------------------------------------------------
def psi_statistics(kernel, latent_mean, latent_variance, inducing_inputs) -> PsiStatistics:
    r"""The three statistics of a kernel under q(x_n) = N(mu_n, diag S_n): `PsiStatistics`.

    .. math:: \psi_0^n = \langle k(x_n, x_n) \rangle, \quad (\Psi_1)_{nm} = \langle k(x_n, z_m) \rangle, \quad
              \Psi_2 = \sum_n \langle k(z, x_n)\, k(x_n, z') \rangle

    Parameters
    ----------
    kernel : Kernel
        RBF or Linear, possibly plus Bias; without `White`. With points (no variance), any kernel.
    latent_mean : ndarray (N, q)
    latent_variance : ndarray (N, q) or None
        None: the points are known exactly, and the averages are the kernel itself.
    inducing_inputs : ndarray (M, q)

    Notes
    -----
    Costs O(N M^2 q). Chapter 12, equation (12.8), of one point chapter 13, equation (13.3); Titsias and Lawrence
    (2010), equations (15) to (17).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> psi = psi_statistics(RBF(), np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 1)))
    >>> psi.psi0, psi.Psi1.round(4), psi.Psi2.round(4)                           # 1, 1 / sqrt 2, 1 / sqrt 3
    (array([1.]), array([[0.7071]]), array([[0.5774]]))
    """
    mu, S, Z = latent_mean, latent_variance, inducing_inputs
    if S is None:
        K = kernel(mu, Z)
        return PsiStatistics(kernel.diag(mu, noise=False), K, K.T @ K)  # (12.8)
    shape, biases = check_kernel(kernel)
    return add_bias(_statistics(shape, mu, S, Z), sum(bias.variance for bias in biases))


def _statistics(shape, mu, S, Z):
    """The statistics of one RBF or one Linear kernel."""
    if isinstance(shape, Linear):
        return linear_psi(mu, S, Z, np.broadcast_to(shape.variance, Z.shape[1]))
    at = mu, S, Z, shape.variance, np.broadcast_to(shape.inverse_width, Z.shape[1])
    return PsiStatistics(np.full(len(mu), float(shape.variance)), rbf_psi1(*at), rbf_psi2(*at).sum(axis=0))


def psi_gradients(kernel, latent_mean, latent_variance, inducing_inputs, d_psi0, d_Psi1, d_Psi2) -> PsiGradients:
    """From gradients in psi0 (N,), Psi1 (N, M) and Psi2 (M, M), symmetric, to those in everything: `PsiGradients`.

    Notes
    -----
    Costs O(N M^2 q). Chapter 12, equations (12.14b), (12.14c), (12.18a) and (12.19a).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> at = RBF(), np.ones((1, 1)), np.ones((1, 1)), np.zeros((1, 1))
    >>> psi_gradients(*at, np.zeros(1), np.ones((1, 1)), np.zeros((1, 1))).latent_mean.round(4)
    array([[-0.2753]])
    """
    mu, S, Z = latent_mean, latent_variance, inducing_inputs
    if S is None:
        d_K = d_Psi1 + 2.0 * kernel(mu, Z) @ d_Psi2  # Psi1 = K, Psi2 = K'K
        d_mu, d_Z, d_kernel = kernel.parameter_gradients(d_K, mu, Z)
        more_mu, more = kernel.diag_parameter_gradients(d_psi0, mu, noise=False)
        return PsiGradients(d_mu + more_mu, np.zeros_like(mu), d_Z, d_kernel + more)
    shape, biases = check_kernel(kernel)
    b = sum(bias.variance for bias in biases)
    if isinstance(shape, Linear):
        a = np.broadcast_to(shape.variance, Z.shape[1])
        d_Psi1, d_b = add_bias_gradients(d_psi0, d_Psi1, d_Psi2, mu @ (Z * a).T, b)
        d_mu, d_S, d_Z, d_a = linear_psi_gradients(d_psi0, d_Psi1, d_Psi2, mu, S, Z, a)
        d_kernel = per_dimension(d_a, shape.variance)
    else:
        at = mu, S, Z, shape.variance, np.broadcast_to(shape.inverse_width, Z.shape[1])
        d_Psi1, d_b = add_bias_gradients(d_psi0, d_Psi1, d_Psi2, rbf_psi1(*at), b)
        both = zip(rbf_psi1_gradients(d_Psi1, *at), rbf_psi2_gradients(d_Psi2, *at), strict=True)
        d_mu, d_S, d_Z, d_theta, d_alpha = (by_Psi1 + by_Psi2 for by_Psi1, by_Psi2 in both)
        d_theta = np.sum(d_psi0) + d_theta  # psi0 is theta itself
        d_kernel = np.append(d_theta, per_dimension(d_alpha, shape.inverse_width))
    return PsiGradients(d_mu, d_S, d_Z, np.append(d_kernel, [d_b] * len(biases)))
