"""The evidence lower bound (ELBO), from Psi statistics to nats, by Cholesky factors alone; its gradients; phi(u)."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from ..linalg import cholesky_with_jitter

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
    """What one group of outputs needs: everything M x M, or M x D.

    L : factor of K_MM with its jitter; A = beta L^-1 Psi2 L^-T; L_B : factor of I + A; R = L_B^-1 L^-1;
    c = beta R Psi1' Y (M, D); beta : noise precision.
    """

    L: np.ndarray
    A: np.ndarray
    L_B: np.ndarray
    R: np.ndarray
    c: np.ndarray
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


def factorise(L, Psi2, Psi1_Y, beta) -> Factors:
    r"""The `Factors` of the bound for outputs that were observed at the same points.

    .. math:: A = \beta L^{-1} \Psi_2 L^{-\top}, \quad L_B L_B^\top = I + A, \quad R = L_B^{-1} L^{-1}, \quad
              c = \beta R \Psi_1^\top Y

    Parameters
    ----------
    L : ndarray (M, M)
        From `inducing_factor`.
    Psi2 : ndarray (M, M)
    Psi1_Y : ndarray (M, D)
        Psi1' Y.
    beta : float
        Noise precision.

    Notes
    -----
    Costs O(M^3 + M^2 D). Chapter 12, equation (12.21).

    Examples
    --------
    >>> factorise(np.eye(1), np.array([[3.0]]), np.array([[2.0]]), 1.0).c
    array([[1.]])
    """
    M = len(L)
    A = beta * _solve(L, _solve(L, Psi2).T)  # (12.21)
    A = 0.5 * (A + A.T)
    L_B, _ = cholesky_with_jitter(np.eye(M) + A)
    R = _solve(L_B, _solve(L, np.eye(M)))
    return Factors(L, A, L_B, R, beta * R @ Psi1_Y, float(beta))  # (12.21)


def _solve(L, B):
    """L^-1 B for a lower triangular L."""
    return lapack.dtrtrs(L, B, lower=True)[0]


def output_terms(factors, n_observed, n_outputs, squared_norm, psi0) -> tuple[float, float]:
    r"""The part of the ELBO that a group of outputs contributes, split into its fit and its trace.

    .. math:: -\tfrac{ND}2 \ln \tfrac{2\pi}{\beta} - D \textstyle\sum_i \ln (L_B)_{ii} - \tfrac\beta2 \|Y\|^2
              + \tfrac12 \|c\|^2 \qquad \text{and} \qquad \tfrac D2 (\beta \psi_0 - \mathrm{tr} A)

    Parameters
    ----------
    factors : Factors
    n_observed : float
        Points N at which these outputs were observed.
    n_outputs : int
        D of the group.
    squared_norm, psi0 : float
        The sum of squares of Y, and of psi0, over these points.

    Returns
    -------
    fit, trace : float
        The bound has fit - trace; the trace is never negative.

    Notes
    -----
    Costs O(M D). Both parts count every output (the trace is easily added only once). Chapter 12, equation (12.22);
    Titsias and Lawrence (2010), equation (14).

    Examples
    --------
    >>> f = factorise(np.eye(1), np.array([[1.0]]), np.array([[0.0]]), 1.0)
    >>> [round(float(term), 4) for term in output_terms(f, 1, 1, 0.0, 1.0)]      # ln N(0 | 0, 2), and nothing is missed
    [-1.2655, 0.0]
    """
    _, A, L_B, _, c, beta = factors
    N, D = n_observed, n_outputs
    fit = 0.5 * (N * D * np.log(beta / (2 * np.pi)) - beta * squared_norm + np.sum(c**2))
    fit -= D * np.sum(np.log(np.diag(L_B)))  # (12.22)
    return fit, 0.5 * D * (beta * psi0 - np.trace(A))  # (12.22)


class OutputGradients(NamedTuple):
    """Gradients of a group's part of the bound: in psi0 (a number), Psi1' Y, Psi2, K_MM and beta."""

    psi0: float
    Psi1_Y: np.ndarray
    Psi2: np.ndarray
    K: np.ndarray
    beta: float


def output_gradients(factors, n_observed, n_outputs, squared_norm, psi0) -> OutputGradients:
    r"""Gradients of a group's part of the bound in everything that it is made of.

    .. math:: \frac{\partial F}{\partial \Psi_2} = \tfrac{\beta D}2 R^\top V - \tfrac{\beta^3}2 B B^\top, \quad
              \frac{\partial F}{\partial K} = -\tfrac D2 V^\top V - \tfrac{\beta^2}2 B B^\top, \quad
              V = L_B^{-1} A L^{-1}, \quad B = P^{-1} \Psi_1^\top Y

    Notes
    -----
    Costs O(M^3 + M^2 D). R'V is K^-1 - P^-1 and -V'V is what is left of K^-1 - P^-1 - beta K^-1 Psi2 K^-1; formed by
    subtraction they would be mostly rounding. Chapter 12, equations (12.23) to (12.25).

    Examples
    --------
    >>> f = factorise(np.eye(1), np.array([[1.0]]), np.array([[0.0]]), 1.0)
    >>> output_gradients(f, 1, 1, 0.0, 1.0).Psi2                                 # (1 - 1/2) / 2
    array([[0.25]])
    """
    L, A, _, R, c, beta = factors
    N, D = n_observed, n_outputs
    half, V = _halves(factors)  # (12.24)  L_B^-1 A, L_B^-1 A L^-1
    beta_B = R.T @ c  # (12.23)  beta P^-1 Psi1' Y  (M, D)
    d_Psi2 = 0.5 * beta * (D * R.T @ V - beta_B @ beta_B.T)  # (12.24)
    d_K = -0.5 * (D * V.T @ V + beta_B @ beta_B.T)  # (12.24)
    Psi2_B = L @ (A @ (L.T @ beta_B)) / beta  # Psi2 beta B
    d_beta = 0.5 * (N * D / beta - squared_norm - D * psi0 + D * np.sum(half**2) / beta)
    d_beta += np.sum(c**2) / beta - 0.5 * np.sum(beta_B * Psi2_B)  # (12.25)
    return OutputGradients(-0.5 * beta * D, beta * beta_B, 0.5 * (d_Psi2 + d_Psi2.T), d_K, float(d_beta))


def _halves(factors):
    """L_B^-1 A and V = L_B^-1 A L^-1."""
    half = _solve(factors.L_B, factors.A)
    return half, lapack.dtrtrs(factors.L, half.T, lower=True, trans=1)[0].T


def inverse_difference(factors) -> np.ndarray:
    """K^-1 - P^-1, what the data have told about the map, formed as the product R'V, which keeps its digits, (13.2).

    Examples
    --------
    >>> inverse_difference(factorise(np.eye(1), np.array([[1.0]]), np.array([[3.0]]), 1.0))          # 1 - 1/2
    array([[0.5]])
    """
    return factors.R.T @ _halves(factors)[1]  # (13.2)


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
    >>> mean, covariance = inducing_posterior(factorise(np.eye(1), np.array([[1.0]]), np.array([[3.0]]), 1.0))
    >>> mean, covariance
    (array([[1.5]]), array([[0.5]]))
    """
    L, _, L_B, _, c, _ = factors
    half = _solve(L_B, L.T).T  # L L_B^-T
    return half @ c, half @ half.T  # (12.10)
