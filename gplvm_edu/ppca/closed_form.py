"""Probabilistic PCA and its dual in closed form: one likelihood, one maximum, read along rows or along columns.

Every function takes centred data. Dual PPCA is PPCA of the transposed data: put Y' for Y and the latent positions X for
the weights W, and every formula here holds for the dual.
"""

import numpy as np
from scipy import linalg

from .. import checks
from ..linalg import column_signs, eigenpairs, log_determinant, solve_cholesky


def sample_ppca(weights, noise_variance, n_samples, random_state=None) -> tuple[np.ndarray, np.ndarray]:
    r"""Draw data (N, D) and the latent points (N, q) behind them from the model.

    .. math:: x_n \sim N(0, I), \qquad y_n = W x_n + \epsilon_n, \quad \epsilon_n \sim N(0, \sigma^2 I)

    Parameters
    ----------
    weights : ndarray (D, q)
    noise_variance : float
    n_samples : int
    random_state : None, int, RandomState or Generator

    Notes
    -----
    Costs O(N D q). Chapter 1, equations (1.3) and (1.4).

    Examples
    --------
    >>> Y, X = sample_ppca(np.ones((3, 1)), 0.01, n_samples=5, random_state=0)
    >>> Y.shape, X.shape
    ((5, 3), (5, 1))
    """
    W, N = weights, n_samples
    D, q = W.shape
    rng = checks.generator(random_state)
    X = rng.standard_normal((N, q))  # (1.3)  (N, q)
    noise = np.sqrt(noise_variance) * rng.standard_normal((N, D))
    return X @ W.T + noise, X  # (1.4)  (N, D)


def log_likelihood(Y, weights, noise_variance) -> float:
    r"""Log likelihood of centred data under PPCA, the latent points integrated out.

    .. math:: L = -\tfrac N2 \left[ D \ln 2\pi + \ln |C| + \mathrm{tr}(C^{-1} S) \right],
              \qquad C = W W^\top + \sigma^2 I, \quad S = \tfrac1N Y^\top Y

    The dual likelihood, weights integrated out, is ``log_likelihood(Y.T, X, noise_variance)``.

    Parameters
    ----------
    Y : ndarray (N, D)
        Centred data, one point a row.
    weights : ndarray (D, q)
    noise_variance : float

    Notes
    -----
    Costs O(N D q): only the q x q matrix M is factorised, the D x D matrix C is never formed.
    Chapter 1, equations (1.6) to (1.9); Lawrence (2005), equations (3), (6) and (24).

    Examples
    --------
    >>> round(log_likelihood(np.zeros((1, 2)), np.zeros((2, 1)), 1.0), 4)       # -ln 2 pi
    -1.8379
    """
    W, s2 = weights, noise_variance
    N, D = Y.shape
    q = W.shape[1]
    M = W.T @ W + s2 * np.eye(q)  # (1.7)  (q, q)
    L = linalg.cholesky(M, lower=True)
    ln_det_C = (D - q) * np.log(s2) + log_determinant(L)  # (1.8)
    L_inv_WY = linalg.solve_triangular(L, W.T @ Y.T, lower=True)  # (q, N)
    trace = (np.sum(Y**2) - np.sum(L_inv_WY**2)) / s2  # (1.9)  tr(C^-1 Y'Y)
    return float(-0.5 * (N * D * np.log(2 * np.pi) + N * ln_det_C + trace))  # (1.6)


def latent_posterior(Y, weights, noise_variance) -> tuple[np.ndarray, np.ndarray]:
    r"""Posterior over the latent points: means (N, q), and one covariance (q, q) for all of them.

    .. math:: p(x_n \mid y_n) = N(x_n \mid M^{-1} W^\top y_n,\ \sigma^2 M^{-1}),
              \qquad M = W^\top W + \sigma^2 I

    Called with ``(Y.T, X, noise_variance)`` it is the dual's posterior over the rows of W, equation (1.24).

    Notes
    -----
    Costs O(N D q). Chapter 1, equation (1.10).

    Examples
    --------
    >>> means, covariance = latent_posterior(np.array([[2.0, 2.0]]), np.ones((2, 1)), 2.0)
    >>> means, covariance
    (array([[1.]]), array([[0.5]]))
    """
    W, s2 = weights, noise_variance
    M = W.T @ W + s2 * np.eye(W.shape[1])  # (1.7)
    L = linalg.cholesky(M, lower=True)
    means = solve_cholesky(L, W.T @ Y.T).T  # (1.10)  (N, q)
    covariance = s2 * solve_cholesky(L, np.eye(len(M)))  # (1.10)  (q, q)
    return means, covariance


def principal_axes(Y) -> tuple[np.ndarray, np.ndarray]:
    r"""Eigenvalues of Y'Y/N, largest first, and their eigenvectors, from the smaller of Y'Y and YY'.

    .. math:: Y Y^\top u = s^2 u \;\Rightarrow\; Y^\top Y\, v = s^2 v \quad\text{with}\quad v = Y^\top u / s

    Returns
    -------
    eigenvalues : ndarray (r,), r = min(N, D)
        The other max(N, D) - r eigenvalues are zero.
    axes : ndarray (D, r)
        Each column of unit length with its largest entry positive; zero where the eigenvalue is.

    Notes
    -----
    Costs O(N D r + r^3): where D is larger than N, the D x D matrix is not formed.
    Chapter 1, equation (1.23); Lawrence (2005), appendix C.

    Examples
    --------
    >>> eigenvalues, axes = principal_axes(np.array([[3.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    >>> eigenvalues, np.abs(axes).T
    (array([4.5, 0.5]), array([[1., 0., 0.],
           [0., 1., 0.]]))
    """
    N, D = Y.shape
    if D <= N:
        lam, V = eigenpairs(Y.T @ Y / N)  # (D, D)
        return np.maximum(lam, 0.0), V
    lam, U = eigenpairs(Y @ Y.T / N)  # (N, N)
    lam = np.maximum(lam, 0.0)
    s = np.sqrt(N * lam)
    V = np.divide(Y.T @ U, s, out=np.zeros((D, N)), where=s > 1e-12 * s[0])  # (1.23)  (D, N)
    return lam, V * column_signs(V)


def principal_scores(Y, n_components, random_state=None) -> np.ndarray:
    """Scores of centred data on its first principal axes, (N, q), equation (1.23); zeros where the data have fewer.

    Examples
    --------
    >>> principal_scores(np.array([[3.0, 0.0], [-3.0, 0.0]]), 1)
    array([[ 3.],
           [-3.]])
    """
    axes = principal_axes(Y)[1][:, :n_components]
    X = np.zeros((len(Y), n_components))
    X[:, : axes.shape[1]] = Y @ axes
    return X


def maximum_likelihood(Y, n_components, noise_variance=None) -> tuple[np.ndarray, float]:
    r"""The weights and the noise variance that maximise the likelihood of centred data.

    .. math:: \hat W = V_q (\Lambda_q - \hat\sigma^2 I)^{1/2}, \qquad
              \hat\sigma^2 = \frac{1}{D - q} \sum_{j=q+1}^{D} \lambda_j

    The dual solution is ``X, noise_variance = maximum_likelihood(Y.T, n_components)``.

    Parameters
    ----------
    Y : ndarray (N, D)
        Centred data.
    n_components : int
        At most D.
    noise_variance : float or None
        Given: the best weights for this noise; axes whose eigenvalue lies below it get weight 0.

    Returns
    -------
    weights : ndarray (D, q)
    noise_variance : float
        0.0 when the data lie in a q-dimensional plane: the likelihood then has no maximum.

    Notes
    -----
    Costs O(N D min(N, D)). All D eigenvalues count, zeros included. For q = D the last axis gets weight 0.
    Chapter 1, equations (1.13) and (1.14); Lawrence (2005), equation (26), where section 2.3 misprints the exponent.

    Examples
    --------
    >>> W, noise_variance = maximum_likelihood(np.diag([4.0, 2.0, 2.0]), n_components=1)
    >>> round(noise_variance, 4), W.ravel().round(4)                   # eigenvalues 16/3, 4/3, 4/3
    (1.3333, array([2., 0., 0.]))
    """
    q, s2 = n_components, noise_variance
    D = Y.shape[1]
    lam, V = principal_axes(Y)  # (r,), (D, r)
    kept = min(q, D - 1)
    if s2 is None:
        s2 = np.sum(lam[kept:]) / (D - kept)  # (1.14)
        s2 = 0.0 if s2 <= 1e-13 * lam[0] else s2
    W = np.zeros((D, q))
    r = min(q, len(lam))
    W[:, :r] = V[:, :r] * np.sqrt(np.maximum(lam[:r] - s2, 0.0))  # (1.13)
    return W, float(s2)


def maximal_log_likelihood(eigenvalues, n_components, n_samples, n_features) -> float:
    r"""The likelihood at its maximum, from the eigenvalues of Y'Y/N alone.

    .. math:: \hat L = -\tfrac N2 \Big[ D \ln 2\pi + \sum_{j \le q} \ln \lambda_j
              + (D - q) \ln \hat\sigma^2 + D \Big]

    Notes
    -----
    Costs O(D). Chapter 1, equation (1.15).

    Examples
    --------
    >>> round(maximal_log_likelihood(np.array([16, 4, 4]) / 3, 1, n_samples=3, n_features=3), 4)
    -16.1445
    """
    lam, q, N, D = eigenvalues, n_components, n_samples, n_features
    s2 = np.sum(lam[q:]) / (D - q)  # (1.14)
    return float(-0.5 * N * (D * np.log(2 * np.pi) + np.sum(np.log(lam[:q])) + (D - q) * np.log(s2) + D))  # (1.15)


def dual_gradient(Y, latent, noise_variance) -> np.ndarray:
    r"""Gradient of the dual log likelihood with respect to the latent positions.

    .. math:: \frac{\partial L}{\partial X} = K^{-1} Y Y^\top K^{-1} X - D K^{-1} X,
              \qquad K = X X^\top + \sigma^2 I

    Notes
    -----
    Costs O(N D q + N q^2): products with the N x N inverse go through the q x q matrix M, equation (A.6).
    Chapter 1, equation (1.20); Lawrence (2005), section 2.3, right as printed.

    Examples
    --------
    >>> X, noise_variance = maximum_likelihood(np.diag([3.0, 2.0, 1.0]), 1)      # symmetric: Y.T is Y
    >>> bool(np.abs(dual_gradient(np.diag([3.0, 2.0, 1.0]), X, noise_variance)).max() < 1e-12)
    True
    """
    X, s2 = latent, noise_variance
    D = Y.shape[1]
    M = X.T @ X + s2 * np.eye(X.shape[1])
    L = linalg.cholesky(M, lower=True)
    K_inv_X = solve_cholesky(L, X.T).T  # (A.6) times X  (N, q)
    return (Y @ (Y.T @ K_inv_X) - X @ solve_cholesky(L, X.T @ (Y @ (Y.T @ K_inv_X)))) / s2 - D * K_inv_X  # (1.20)


def dual_mean(Y, latent, noise_variance) -> np.ndarray:
    r"""The mean of each column that the dual likes best, (D,), for latent positions that need not be centred.

    .. math:: \hat\mu_d = \frac{1^\top K^{-1} y_{:,d}}{1^\top K^{-1} 1}, \qquad K = X X^\top + \sigma^2 I

    Parameters
    ----------
    Y : ndarray (N, D)
        Data as they are, not centred.
    latent : ndarray (N, q)
    noise_variance : float

    Notes
    -----
    Costs O(N D + N q^2): the product with the N x N inverse goes through a q x q matrix, equation (A.6).
    It is the plain mean of the column when the columns of X sum to 0.
    Chapter 1, equation (1.21), which chapter 4 derives as (4.14).

    Examples
    --------
    >>> Y = np.array([[0.0], [3.0]])
    >>> dual_mean(Y, np.array([[1.0], [-1.0]]), 1.0), dual_mean(Y, np.array([[1.0], [0.0]]), 1.0)
    (array([1.5]), array([2.]))
    """
    X, s2 = latent, noise_variance
    L = linalg.cholesky(X.T @ X + s2 * np.eye(X.shape[1]), lower=True)
    K_inv_1 = (1.0 - X @ solve_cholesky(L, X.sum(axis=0))) / s2  # (A.6) times the vector of ones  (N,)
    return K_inv_1 @ Y / np.sum(K_inv_1)  # (1.21)  (D,)


def dual_transform(Y_new, weight_means, weight_covariance) -> np.ndarray:
    r"""Where the dual puts a new point: the x that minimises its expected squared error under p(W | Y, X).

    .. math:: x_* = \langle W^\top W \rangle^{-1} \langle W \rangle^\top y_*, \qquad
              \langle W^\top W \rangle = \langle W \rangle^\top \langle W \rangle + D\, \Sigma_W

    Notes
    -----
    Costs O(N D q). At the maximum of the likelihood the training points get their own positions.
    Chapter 1, equation (1.25).

    Examples
    --------
    >>> dual_transform(np.array([[3.0, 0.0]]), np.array([[1.0], [0.0]]), np.array([[0.25]]))
    array([[2.]])
    """
    W, Sigma = weight_means, weight_covariance
    second_moment = W.T @ W + len(W) * Sigma  # (1.25)  (q, q)
    return np.linalg.solve(second_moment, W.T @ Y_new.T).T  # (1.25)  (N, q)


def dual_transform_observed(Y_new, weight_means, weight_covariance) -> np.ndarray:
    r"""As `dual_transform`, for rows with gaps (NaN): the sums of equation (1.25) run over the observed columns O.

    .. math:: x_* = \Big( \sum_{d \in O} \langle w_d w_d^\top \rangle \Big)^{-1}
              \sum_{d \in O} \langle w_d \rangle\, y_{*d}

    Examples
    --------
    >>> dual_transform_observed(np.array([[3.0, np.nan]]), np.array([[1.0], [0.0]]), np.array([[0.25]]))
    array([[2.4]])
    """
    W, Sigma = weight_means, weight_covariance
    O = ~np.isnan(Y_new)
    moments = W[:, :, None] * W[:, None, :] + Sigma  # <w_d w_d'>  (D, q, q)
    sums = np.where(O, Y_new, 0.0) @ W  # (N, q)
    return np.linalg.solve(np.tensordot(O.astype(float), moments, axes=1), sums[:, :, None])[:, :, 0]  # (1.25)
