"""Probabilistic kernel PCA: the likelihood of the latent positions given a kernel matrix, and its maximum.

All that the data say enters through S = HAH / N, the centred kernel matrix over the number of points. Squared
distances give the same S, so that probabilistic principal coordinate analysis is the same model.
"""

import numpy as np
from scipy import linalg

from ..linalg import double_centre, eigenpairs, log_determinant, solve_cholesky
from .density import sample_wishart

NO_NOISE = 1e-12  # a noise variance below this share of the largest eigenvalue is rounding


def kernel_covariance(A) -> np.ndarray:
    r"""S, all that the model needs to know of a kernel matrix.

    .. math:: S = \tfrac1N H A H, \qquad H = I - \tfrac1N 1 1^\top

    Notes
    -----
    Costs O(N^2). Chapter 4, equation (4.17).

    Examples
    --------
    >>> kernel_covariance(np.array([[2.0, 0.0], [0.0, 2.0]]))
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    return double_centre(A) / len(A)  # (4.17)


def distance_covariance(squared_distances) -> np.ndarray:
    r"""S from squared distances: the constants that distances can't know are killed by centring.

    .. math:: S = -\tfrac{1}{2N} H D^{(2)} H, \qquad d_{nm}^2 = a_{nn} + a_{mm} - 2 a_{nm}

    Notes
    -----
    Costs O(N^2). Chapter 4, equations (4.24) and (4.25); Zhang et al. (2004), equation (20).

    Examples
    --------
    >>> distance_covariance(np.array([[0.0, 4.0], [4.0, 0.0]]))
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    return -0.5 * double_centre(squared_distances) / len(squared_distances)  # (4.25)


def sample_kernel(latent, noise_variance, n_features, n_samples=1, random_state=None) -> np.ndarray:
    r"""Draw kernel matrices (n_samples, N, N) from the model, features integrated out.

    .. math:: A \sim W_N\big(r, \tfrac Nr K\big), \qquad K = X X^\top + \sigma^2 I

    Parameters
    ----------
    latent : ndarray (N, q)
    noise_variance : float
    n_features : int
        r, how many features the kernel has: the fewer, the more A fluctuates about its mean N K.
    n_samples : int
    random_state : None, int, RandomState or Generator

    Notes
    -----
    Costs O(N^3 + n_samples N^2 r). The offsets mu are left at zero. Chapter 4, equation (4.12).

    Examples
    --------
    >>> sample_kernel(np.ones((3, 1)), 0.1, n_features=50, n_samples=2, random_state=0).shape
    (2, 3, 3)
    """
    X, r = latent, n_features
    N = len(X)
    K = X @ X.T + noise_variance * np.eye(N)  # (4.12)  (N, N)
    return sample_wishart(N / r * K, r, n_samples, random_state)


def log_likelihood(S, latent, noise_variance) -> float:
    r"""Log likelihood of the latent positions for each feature dimension; the constant in r is left out.

    .. math:: \ell = L / r = -\tfrac12 \left[ \ln |K| + \mathrm{tr}(K^{-1} S) \right], \qquad
              K = X X^\top + \sigma^2 I

    The number of features r is usually unknown. It multiplies the whole and adds -(N/2) ln(2 pi N / r) to each
    feature, and neither moves the maximum.

    Parameters
    ----------
    S : ndarray (N, N)
        From `kernel_covariance` or `distance_covariance`.
    latent : ndarray (N, q)
        X.
    noise_variance : float

    Notes
    -----
    Costs O(N^2 q): only a q x q matrix is factorised. Chapter 4, equations (4.17) and (4.18); Zhang et al. (2004),
    equation (9).

    Examples
    --------
    >>> S = kernel_covariance(np.diag([3.0, 3.0, 3.0]))
    >>> round(log_likelihood(S, np.zeros((3, 1)), 1.0), 4)                       # -tr S / 2
    -1.0
    """
    X, s2 = latent, noise_variance
    N, q = X.shape
    L = linalg.cholesky(X.T @ X + s2 * np.eye(q), lower=True)  # M = X'X + s2 I  (q, q)
    ln_det_K = (N - q) * np.log(s2) + log_determinant(L)  # (4.18)
    misfit = (np.trace(S) - np.trace(solve_cholesky(L, X.T @ S @ X))) / s2  # (4.18)  tr(K^-1 S)
    return float(-0.5 * (ln_det_K + misfit))  # (4.17)


def maximum_likelihood(S, n_components, noise_variance=None) -> tuple[np.ndarray, float]:
    r"""The latent positions and the noise variance that maximise the likelihood.

    .. math:: \hat X = U_q (\Lambda_q - \hat\sigma^2 I_q)^{1/2}, \qquad
              \hat\sigma^2 = \frac{1}{N - q} \Big( \mathrm{tr} S - \sum_{j \le q} \lambda_j \Big)

    Parameters
    ----------
    S : ndarray (N, N)
    n_components : int
        q, below N.
    noise_variance : float or None
        Given: the best positions for this noise; axes whose eigenvalue lies below it are switched off.

    Returns
    -------
    latent : ndarray (N, q)
        The entry of largest size in each column is positive.
    noise_variance : float
        0.0 when S has rank q or less: the likelihood then has no maximum.

    Notes
    -----
    Costs one partial eigendecomposition, O(N^3) with a small constant: the discarded eigenvalues are never
    computed, their sum is what the trace leaves. All N count in the average, the zero of centring included.
    Chapter 4, equations (4.20) and (4.21); Zhang et al. (2004), section 3, where I_n stands for I_q.

    Examples
    --------
    >>> X, noise_variance = maximum_likelihood(np.diag([4.0, 1.0, 1.0]), 1)
    >>> X.ravel().round(4), noise_variance
    (array([1.7321, 0.    , 0.    ]), 1.0)
    """
    N, q, s2 = len(S), n_components, noise_variance
    lam, U = eigenpairs(S, q)  # (q,), (N, q)
    if s2 is None:
        s2 = (np.trace(S) - np.sum(lam)) / (N - q)  # (4.21)
        s2 = 0.0 if s2 <= NO_NOISE * lam[0] else float(s2)
    return U * np.sqrt(np.maximum(lam - s2, 0.0)), s2  # (4.20)


def place_new_points(A_new, A, latent, noise_variance) -> np.ndarray:
    r"""Where points that were not in the kernel matrix belong, (M, q), from their kernel values with those that were.

    .. math:: x_* = \tfrac1N X^\top K^{-1} \tilde a_*, \qquad
              \tilde a_* = H \big( a_* - \tfrac1N A 1 \big)

    It is stationarity, equation (4.19), read row by row: at the maximum it sends the training points to themselves.
    Squared distances serve as well: pass them, new and old, times -1/2.

    Parameters
    ----------
    A_new : ndarray (M, N)
        Kernel between each new point and each old one.
    A : ndarray (N, N)
    latent : ndarray (N, q)
    noise_variance : float

    Notes
    -----
    Costs O(N^2 + M N q). Chapter 4, equation (4.23).

    Examples
    --------
    >>> A = np.array([[3.0, 0.0, 0.0], [0.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    >>> X, noise_variance = maximum_likelihood(kernel_covariance(A), 1)
    >>> bool(np.allclose(place_new_points(A, A, X, noise_variance), X))
    True
    """
    X, s2 = latent, noise_variance
    N, q = X.shape
    a = A_new - A.mean(axis=0)  # (M, N)
    a = a - a.mean(axis=1, keepdims=True)  # (4.23)  the rows of a~
    L = linalg.cholesky(X.T @ X + s2 * np.eye(q), lower=True)
    return solve_cholesky(L, X.T @ a.T).T / N  # (4.23)  X'K^-1 = M^-1 X'
