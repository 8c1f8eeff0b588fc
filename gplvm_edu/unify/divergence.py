"""The Kullback-Leibler divergence between two Gaussians over the N points, and its gradients.

S is the covariance that comes from the data, K the one that comes from the latent positions; both are N x N.
"""

import numpy as np
from scipy import linalg

from ..checks import NEAREST, ROUNDING, is_semidefinite, not_semidefinite, same_points, semidefinite, symmetric
from ..kernels import gaussian_log_density
from ..linalg import log_determinant, solve_cholesky


def _factor(K, name="K"):
    """Cholesky factor of a covariance that has to be invertible."""
    L, failed_minor = linalg.lapack.dpotrf(K, lower=True, clean=True)
    if failed_minor:
        if not is_semidefinite(K):
            raise not_semidefinite(K, name, NEAREST)
        raise ValueError(
            f"{name} is singular, and this formula needs its inverse. Add noise to its diagonal, "
            f'{name} + c I; chapter 3, "When S is singular", says what the limit c -> 0 does.'
        )
    return L


def cross_entropy(S, K) -> float:
    r"""Cross entropy of N(0, S) and N(0, K): minus the mean of ln N(z | 0, K) for draws z of N(0, S), in nats.

    .. math:: \mathrm{CE}(S, K) = -\int N(z \mid 0, S) \ln N(z \mid 0, K)\, dz
              = \tfrac N2 \ln 2\pi + \tfrac12 \ln |K| + \tfrac12 \mathrm{tr}(K^{-1} S)

    Parameters
    ----------
    S : ndarray (N, N)
        Positive semi-definite; it may be singular, the value is finite.
    K : ndarray (N, N)
        Positive definite.

    Notes
    -----
    Costs O(N^3). Chapter 3, equation (3.2); Lawrence (2005), equations (9) and (25).

    Examples
    --------
    >>> round(cross_entropy(np.eye(2), np.eye(2)), 4)                   # ln 2 pi + 1
    2.8379
    """
    S, K = same_points(semidefinite(S), symmetric(K, "K"))
    L = _factor(K)
    fit = np.trace(solve_cholesky(L, S))
    return float(0.5 * (len(K) * np.log(2 * np.pi) + log_determinant(L) + fit))  # (3.2)


def gaussian_kl(S, K) -> float:
    r"""Kullback-Leibler divergence from N(0, K) to N(0, S), in nats: zero if and only if S = K.

    .. math:: \mathrm{KL}(S \| K) = \tfrac12 \ln |K| - \tfrac12 \ln |S| + \tfrac12 \mathrm{tr}(K^{-1} S) - \tfrac N2
              = \tfrac12 \sum_i h(\rho_i), \qquad h(t) = t - 1 - \ln t

    with the eigenvalues rho of K^{-1} S, ratios of two variances. The reversed divergence is ``gaussian_kl(K, S)``.

    Parameters
    ----------
    S, K : ndarray (N, N)
        Positive semi-definite.

    Notes
    -----
    Costs O(N^3). Infinite unless S and K span the same space: neither may have variance where the other has none. For
    singular matrices of the same range the sum runs over that range. Chapter 3, equations (3.3) and (3.4); Lawrence
    (2005), section 2.6.1 and footnote 10.

    Examples
    --------
    >>> round(gaussian_kl(np.diag([2.0, 1.0]), np.eye(2)), 4)           # (1 - ln 2) / 2
    0.1534
    >>> gaussian_kl(np.diag([1.0, 0.0]), np.eye(2)), gaussian_kl(np.eye(2), np.diag([1.0, 0.0]))
    (inf, inf)
    >>> gaussian_kl(np.diag([1.0, 0.0]), np.diag([1.0, 0.0]))
    0.0
    """
    S, K = same_points(semidefinite(S), semidefinite(K, "K"))
    k, U = linalg.eigh(K)
    inside = k > len(K) * np.finfo(float).eps * k[-1]
    missed = np.sum(U[:, ~inside] * (S @ U[:, ~inside]))  # variance of S where K has none
    if missed > ROUNDING * np.trace(S):
        return np.inf
    if not inside.any():
        return 0.0  # both are zero
    white = U[:, inside] / np.sqrt(k[inside])  # times its transpose: the inverse of K on its range
    rho = linalg.eigvalsh(white.T @ S @ white)
    if rho[0] <= len(K) * np.finfo(float).eps * rho[-1]:
        return np.inf
    return float(0.5 * np.sum(rho - 1.0 - np.log(rho)))  # (3.4)


def nearest_diagonal(S, reverse=False) -> np.ndarray:
    r"""The variances (N,) of the Gaussian with independent coordinates that is nearest to N(0, S).

    .. math:: \hat K_{ii} = S_{ii} \;\text{ for } \mathrm{KL}(S \| K), \qquad
              \hat K_{ii} = 1 / (S^{-1})_{ii} \;\text{ for } \mathrm{KL}(K \| S)

    Parameters
    ----------
    S : ndarray (N, N)
        Positive definite.
    reverse : bool
        False: each coordinate's own variance. True: its variance when all others are known, which is never larger.

    Notes
    -----
    Costs O(N^3) reversed, O(N) else. Chapter 3, equation (3.5).

    Examples
    --------
    >>> S = np.array([[2.0, 1.0], [1.0, 1.0]])
    >>> nearest_diagonal(S), nearest_diagonal(S, reverse=True)
    (array([2., 1.]), array([1. , 0.5]))
    """
    S = symmetric(S, "S")
    if reverse:
        return 1.0 / np.diag(solve_cholesky(_factor(S, "S"), np.eye(len(S))))  # (3.5)
    return np.diag(S).copy()


def gp_log_likelihood(Y, K) -> float:
    r"""Log likelihood of D independent Gaussian processes, one for each column of Y: the GP-LVM's objective.

    .. math:: L = \sum_d \ln N(y_{:,d} \mid 0, K) = -D\, \mathrm{CE}(\tfrac1D Y Y^\top, K)

    Parameters
    ----------
    Y : ndarray (N, D)
        Centred data.
    K : ndarray (N, N)
        Any positive definite kernel matrix of the latent positions.

    Notes
    -----
    Costs O(N^3 + N^2 D), and Y Y' is never formed. Chapter 3, equation (3.6); Lawrence (2005), equation (6).

    Examples
    --------
    >>> Y, K = np.array([[1.0, 0.0], [2.0, 1.0]]), np.array([[2.0, 0.5], [0.5, 1.0]])
    >>> bool(np.isclose(gp_log_likelihood(Y, K), -2 * cross_entropy(Y @ Y.T / 2, K)))
    True
    """
    return gaussian_log_density(_factor(symmetric(K, "K")), Y)


def kl_gradient(S, K, reverse=False) -> np.ndarray:
    r"""Gradient (N, N) of the divergence in K; `Kernel.gradients` takes it to inputs and parameters.

    .. math:: \frac{\partial\, \mathrm{KL}(S \| K)}{\partial K} = \tfrac12 (K^{-1} - K^{-1} S K^{-1}), \qquad
              \frac{\partial\, \mathrm{KL}(K \| S)}{\partial K} = \tfrac12 (S^{-1} - K^{-1})

    Parameters
    ----------
    S, K : ndarray (N, N)
        K positive definite; S too when the divergence is reversed.
    reverse : bool
        False for KL(S || K), True for KL(K || S).

    Notes
    -----
    Costs O(N^3). The cross entropy has the same gradient, singular S included. Chapter 3, equations (3.8) and (3.22).

    Examples
    --------
    >>> kl_gradient(np.diag([2.0, 1.0]), np.eye(2))
    array([[-0.5,  0. ],
           [ 0. ,  0. ]])
    """
    S, K = same_points(symmetric(S, "S"), symmetric(K, "K"))
    K_inv = solve_cholesky(_factor(K), np.eye(len(K)))
    if reverse:
        return 0.5 * (solve_cholesky(_factor(S, "S"), np.eye(len(S))) - K_inv)  # (3.22)
    return 0.5 * (K_inv - K_inv @ S @ K_inv)  # (3.8)


def linear_divergence(S, latent, noise_variance, reverse=False) -> tuple[float, np.ndarray, float]:
    r"""The divergence for the linear covariance K = X X' + c I, its gradient in X (N, q), and that in c.

    .. math:: \frac{\partial\, \mathrm{KL}}{\partial X} = 2\, \frac{\partial\, \mathrm{KL}}{\partial K}\, X, \qquad
              \frac{\partial\, \mathrm{KL}}{\partial c} = \mathrm{tr}\, \frac{\partial\, \mathrm{KL}}{\partial K}

    Parameters
    ----------
    S : ndarray (N, N)
        Positive definite. For a low-rank part in the *precision*, K^{-1} = X X' + c I, call it with the inverse of S
        and the other `reverse`: a divergence does not change when both matrices are inverted and exchanged.
    latent : ndarray (N, q)
    noise_variance : float
    reverse : bool

    Notes
    -----
    Costs O(N^3). Chapter 3, equation (3.9); Lawrence (2005), appendix B.

    Examples
    --------
    >>> value, dX, dc = linear_divergence(np.diag([3.0, 1.0]), np.sqrt([[2.0], [0.0]]), 1.0)
    >>> bool(abs(value) < 1e-12), bool(np.allclose(dX, 0)), bool(abs(dc) < 1e-12)        # K equals S
    (True, True, True)
    """
    X, c = latent, noise_variance
    K = X @ X.T + c * np.eye(len(X))
    slope = kl_gradient(S, K, reverse)
    L_S, L_K = _factor(S, "S"), _factor(K)
    log_ratio = log_determinant(L_K) - log_determinant(L_S)
    if reverse:
        value = 0.5 * (np.trace(solve_cholesky(L_S, K)) - len(K) - log_ratio)  # (3.3), K and S exchanged
    else:
        value = 0.5 * (np.trace(solve_cholesky(L_K, S)) - len(K) + log_ratio)  # (3.3)
    return float(value), 2.0 * slope @ X, float(np.trace(slope))  # (3.9)
