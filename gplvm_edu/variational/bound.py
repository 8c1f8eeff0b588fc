"""The evidence lower bound (ELBO) of complete data from its Psi statistics, by Cholesky factors; gradients; phi(u)."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from ..linalg import cholesky_with_jitter
from .psi import PsiStatistics

JITTER = 1e-6  # of the mean diagonal of K_MM


class BoundTerms(NamedTuple):
    """The ELBO split into what explains the data, what the inducing points miss, and what the latent points cost."""

    fit: float
    trace: float
    kl: float

    @property
    def elbo(self) -> float:
        """The evidence lower bound: fit - trace - kl."""
        return self.fit - self.trace - self.kl


class Factors(NamedTuple):
    """What the bound is made of: everything M x M, or M x D.

    L : factor of K_MM with its jitter; A = beta L^-1 Psi2 L^-T; L_B : factor of I + A; R = L_B^-1 L^-1;
    C = beta R Psi1' Y (M, D); beta : noise precision.
    """

    L: np.ndarray
    A: np.ndarray
    L_B: np.ndarray
    R: np.ndarray
    C: np.ndarray
    beta: float


def kl_divergence(latent_mean, latent_variance) -> float:
    r"""KL divergence from the unit Gaussian prior to q(X), summed over all latent points.

    .. math:: \tfrac12 \sum_{nq} (\mu_{nq}^2 + S_{nq} - \ln S_{nq} - 1)

    Notes
    -----
    Costs O(N q). Chapter 12, equation (12.4).

    Examples
    --------
    >>> kl_divergence(np.array([[1.0]]), np.array([[1.0]]))
    0.5
    """
    mu, S = latent_mean, latent_variance
    return float(0.5 * np.sum(mu**2 + S - np.log(S) - 1.0))  # (12.4)


def inducing_factor(K, jitter=JITTER) -> tuple[np.ndarray, float]:
    """Cholesky factor of K_MM, its diagonal raised by `jitter` of its mean (more if need be): L and the share added.

    Notes
    -----
    Costs O(M^3 / 3). Chapter 12, equation (12.21).

    Examples
    --------
    >>> L, share = inducing_factor(np.ones((2, 2)), 1e-4)
    >>> share, bool(np.allclose(L @ L.T, [[1.0001, 1.0], [1.0, 1.0001]]))
    (0.0001, True)
    """
    more = [j for j in (1e-10, 1e-8, 1e-6, 1e-4, 1e-2) if j > 2 * jitter]
    L, added = cholesky_with_jitter(K, (jitter, *more))  # (12.21)
    return L, float(added / np.mean(np.diag(K)))


def solve_lower(L, B) -> np.ndarray:
    """L^-1 B for a lower triangular L.

    Examples
    --------
    >>> solve_lower(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([[2.0], [3.0]]))
    array([[1.],
           [2.]])
    """
    return lapack.dtrtrs(L, B, lower=True)[0]


def solve_lower_right(B, L) -> np.ndarray:
    """B L^-1 for a lower triangular L.

    Examples
    --------
    >>> solve_lower_right(np.array([[4.0, 3.0]]), np.array([[2.0, 0.0], [1.0, 1.0]]))
    array([[0.5, 3. ]])
    """
    return lapack.dtrtrs(L, B.T, lower=True, trans=1)[0].T


def factorise(L, psi: PsiStatistics, Y, beta) -> Factors:
    r"""The `Factors` of the bound, from which its value, its gradients and phi(u) follow.

    .. math:: A = \beta L^{-1} \Psi_2 L^{-\top}, \quad L_B L_B^\top = I + A, \quad R = L_B^{-1} L^{-1}, \quad
              C = \beta R \Psi_1^\top Y

    Parameters
    ----------
    L : ndarray (M, M)
        From `inducing_factor`.
    psi : PsiStatistics
    Y : ndarray (N, D)
    beta : float
        Noise precision.

    Notes
    -----
    Costs O(N M D + M^3 + M^2 D). Chapter 12, equation (12.21).

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> factorise(one, PsiStatistics(one[0], one, 3.0 * one), 2.0 * one, 1.0).C              # 1 / sqrt(1 + 3) * 2
    array([[1.]])
    """
    M = len(L)
    A = beta * solve_lower(L, solve_lower(L, psi.Psi2).T)  # (12.21)  (M, M)
    A = 0.5 * (A + A.T)  # symmetric to the last digit
    L_B, _ = cholesky_with_jitter(np.eye(M) + A)  # (12.21)  eigenvalues >= 1: no jitter
    R = solve_lower(L_B, solve_lower(L, np.eye(M)))  # (12.21)  (M, M)
    C = beta * R @ (psi.Psi1.T @ Y)  # (12.21)  (M, D)
    return Factors(L, A, L_B, R, C, float(beta))


def output_terms(Y, psi: PsiStatistics, factors) -> tuple[float, float]:
    r"""The part of the ELBO that the outputs contribute, split into its fit and its trace.

    .. math:: -\tfrac{ND}2 \ln \tfrac{2\pi}{\beta} - D \textstyle\sum_i \ln (L_B)_{ii} - \tfrac\beta2 \|Y\|^2
              + \tfrac12 \|C\|^2 \qquad \text{and} \qquad \tfrac D2 (\beta \psi_0 - \mathrm{tr} A)

    Parameters
    ----------
    Y : ndarray (N, D)
    psi : PsiStatistics
    factors : Factors

    Returns
    -------
    fit, trace : float
        The bound has fit - trace; the trace is never negative.

    Notes
    -----
    Costs O((N + M) D). Both parts count every output (the trace is easily added only once). Chapter 12, equation
    (12.22); Titsias and Lawrence (2010), equation (14).

    Examples
    --------
    >>> psi, Y = PsiStatistics(np.ones(1), np.ones((1, 1)), np.ones((1, 1))), np.zeros((1, 1))
    >>> [round(float(term), 4) for term in output_terms(Y, psi, factorise(np.eye(1), psi, Y, 1.0))]
    [-1.2655, 0.0]
    """
    (N, D), (_, A, L_B, _, C, beta) = Y.shape, factors
    fit = 0.5 * N * D * np.log(beta / (2.0 * np.pi)) - D * np.sum(np.log(np.diag(L_B)))  # (12.22)
    fit += 0.5 * np.sum(C**2) - 0.5 * beta * np.sum(Y**2)  # (12.22)
    return fit, 0.5 * D * (beta * np.sum(psi.psi0) - np.trace(A))  # (12.22)


class OutputGradients(NamedTuple):
    """Gradients of fit - trace: in psi0 (a number, for every point the same), Psi1 (N, M), Psi2, K_MM and beta."""

    psi0: float
    Psi1: np.ndarray
    Psi2: np.ndarray
    K: np.ndarray
    beta: float


def output_gradients(Y, psi: PsiStatistics, factors) -> OutputGradients:
    r"""Gradients of fit - trace in everything that it is made of.

    .. math:: \frac{\partial F}{\partial \Psi_1} = \beta^2 Y B^\top, \quad
              \frac{\partial F}{\partial \Psi_2} = \tfrac{\beta D}2 R^\top V - \tfrac{\beta^3}2 B B^\top, \quad
              \frac{\partial F}{\partial K} = -\tfrac D2 V^\top V - \tfrac{\beta^2}2 B B^\top

    with :math:`V = L_B^{-1} A L^{-1}` and :math:`B = P^{-1} \Psi_1^\top Y`.

    Notes
    -----
    Costs O(N M D + M^3 + M^2 D). R'V is K^-1 - P^-1, and -V'V is K^-1 - P^-1 - beta K^-1 Psi2 K^-1; formed by
    subtraction they would be mostly rounding. Chapter 12, equations (12.23) to (12.25).

    Examples
    --------
    >>> psi, Y = PsiStatistics(np.ones(1), np.ones((1, 1)), np.ones((1, 1))), np.zeros((1, 1))
    >>> output_gradients(Y, psi, factorise(np.eye(1), psi, Y, 1.0)).Psi2                     # (1 - 1/2) / 2
    array([[0.25]])
    """
    (N, D), (L, A, L_B, R, C, beta) = Y.shape, factors
    half = solve_lower(L_B, A)  # L_B^-1 A  (M, M)
    V = solve_lower_right(half, L)  # L_B^-1 A L^-1  (M, M)
    B = R.T @ C / beta  # P^-1 Psi1' Y  (M, D)
    d_psi0 = -0.5 * beta * D  # (12.23)  the same for each point
    d_Psi1 = beta**2 * Y @ B.T  # (12.23)  (N, M)
    d_Psi2 = 0.5 * beta * D * R.T @ V - 0.5 * beta**3 * B @ B.T  # (12.24)  (M, M)
    d_Psi2 = 0.5 * (d_Psi2 + d_Psi2.T)  # symmetric to the last digit
    d_K = -0.5 * D * V.T @ V - 0.5 * beta**2 * B @ B.T  # (12.24)  (M, M)
    d_beta = 0.5 * (N * D / beta - np.sum(Y**2) - D * np.sum(psi.psi0) + D / beta * np.sum(half**2))
    d_beta += np.sum(C**2) / beta - 0.5 * beta**2 * np.sum(B * (psi.Psi2 @ B))  # (12.25)
    return OutputGradients(d_psi0, d_Psi1, d_Psi2, d_K, float(d_beta))


def explained(factors) -> np.ndarray:
    """K^-1 - P^-1, what the data have told about the map, formed as the product R'V, which keeps its digits, (13.2).

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> explained(factorise(one, PsiStatistics(one[0], one, one), 3.0 * one, 1.0))           # 1 - 1/2
    array([[0.5]])
    """
    L, A, L_B, R, *_ = factors
    V = solve_lower_right(solve_lower(L_B, A), L)  # L_B^-1 A L^-1
    return R.T @ V  # (13.2)


def inducing_posterior(factors) -> tuple[np.ndarray, np.ndarray]:
    r"""The optimal phi(u): the mean for each output and the covariance that they share.

    .. math:: \phi(u_d) = N(\beta K P^{-1} \Psi_1^\top y_d,\ K P^{-1} K), \qquad P = K + \beta \Psi_2

    Returns
    -------
    mean : ndarray (M, D)
    covariance : ndarray (M, M)

    Notes
    -----
    Costs O(M^3 + M^2 D). Chapter 12, equation (12.10).

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> mean, covariance = inducing_posterior(factorise(one, PsiStatistics(one[0], one, one), 3.0 * one, 1.0))
    >>> mean, covariance
    (array([[1.5]]), array([[0.5]]))
    """
    L, _, L_B, _, C, _ = factors
    half = solve_lower(L_B, L.T).T  # L L_B^-T, whose square is K P^-1 K
    return half @ C, half @ half.T  # (12.10)
