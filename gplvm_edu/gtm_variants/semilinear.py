"""A few curved latent dimensions and some straight ones: every node carries the same flat ellipsoid."""
from typing import NamedTuple

import numpy as np

from ..gtm import log_densities, posterior_means, principal_sheet, responsibilities, solve_weights, weighted_sums


class SemiLinearState(NamedTuple):
    """One iterate: weights (D, M), directions V (D, p), precision, objective, log likelihood, passes over the data."""

    weights: np.ndarray
    directions: np.ndarray
    precision: float
    value: float
    log_likelihood: float
    sweeps: float


def shared_log_densities(Y, means, directions, precision):
    r"""ln p(y_n | node i) of Gaussians with one covariance, I / beta + V V'.

    .. math:: \ln N(y \mid m_i, C) = \ln N(L^{-1} y \mid L^{-1} m_i, I) - \ln |L|, \qquad L L^\top = C

    Parameters
    ----------
    Y : ndarray (N, D)
    means : ndarray (K, D)
    directions : ndarray (D, p)
        V.
    precision : float

    Returns
    -------
    ndarray (K, N)

    Notes
    -----
    Costs O(D^3 + K N D): data and nodes are whitened once, then it is chapter 9's density. Chapter 10, equations
    (10.15) and (10.16); Bishop, Svensén and Williams (1998), equations (21) and (25).

    Examples
    --------
    >>> shared_log_densities(np.array([[2.0, 0.0]]), np.zeros((1, 2)), np.array([[1.0], [0.0]]), 1.0).round(4)
    array([[-3.1845]])
    """
    V, beta = directions, precision
    L = np.linalg.cholesky(np.eye(len(V)) / beta + V @ V.T)                      # (10.15)
    white, nodes = np.linalg.solve(L, Y.T).T, np.linalg.solve(L, means.T).T
    return log_densities(white, nodes, 1.0) - np.sum(np.log(np.diag(L)))         # (10.16)


def residual_covariance(Y, R, means):
    r"""The covariance of the data about the sheet, every pair weighted by its responsibility.

    .. math:: S = \frac1N \sum_{in} R_{in} (y_n - m_i)(y_n - m_i)^\top

    Notes
    -----
    Costs O(K N D + N D^2): the square is expanded. Chapter 10, equation (10.17); Bishop, Svensén and Williams (1998),
    equation (28), which lacks the 1/N that its (23) and (24) need.

    Examples
    --------
    >>> residual_covariance(np.array([[0.0], [2.0]]), np.ones((1, 2)), np.array([[1.0]]))
    array([[1.]])
    """
    counts, sums = weighted_sums(R, Y)
    cross, squares = means.T @ sums, means.T @ (counts * means)
    return (Y.T @ Y - cross - cross.T + squares) / len(Y)                        # (10.17)


def linear_directions(S, n_linear, noise_floor=0.0):
    r"""The straight directions and the noise that explain a covariance best: PPCA, once the sheet is subtracted.

    .. math:: V = U_p (\Lambda_p - \tfrac1\beta I)^{\frac12}, \qquad
              \frac1\beta = \frac1{D - p} \sum_{j > p} \lambda_j

    Parameters
    ----------
    S : ndarray (D, D)
    n_linear : int
        p, the number of straight latent dimensions, below D.
    noise_floor : float

    Returns
    -------
    directions : ndarray (D, p); precision : float

    Notes
    -----
    Costs O(D^3). Chapter 10, equation (10.18), the same as chapter 1's (1.10) and (1.11); Bishop, Svensén and Williams
    (1998), equations (23) and (24).

    Examples
    --------
    >>> V, beta = linear_directions(np.diag([5.0, 1.0, 1.0]), 1)
    >>> np.abs(V).round(3), beta
    (array([[2.],
           [0.],
           [0.]]), 1.0)
    """
    lam, U = np.linalg.eigh(S)
    lam, U = lam[::-1], U[:, ::-1]
    p, largest = n_linear, U[np.argmax(np.abs(U), axis=0), np.arange(len(U))]
    U = U * np.where(largest < 0, -1.0, 1.0)                                     # any sign will do, but always the same
    variance = max(float(np.mean(lam[p:])), noise_floor)
    V = U[:, :p] * np.sqrt(np.maximum(lam[:p] - variance, 0.0))                  # (10.18)
    return V, 1.0 / variance


def directions_by_em(S, directions, precision):
    r"""One EM step for the straight directions, the linear latent variables treated as missing as well.

    .. math:: V_{new} = S V (\tfrac1\beta I + M^{-1} V^\top S V)^{-1}, \qquad
              \frac1{\beta_{new}} = \frac1D \mathrm{tr}(S - S V M^{-1} V_{new}^\top), \qquad
              M = V^\top V + \tfrac1\beta I

    Returns
    -------
    directions : ndarray (D, p); precision : float

    Notes
    -----
    S enters only through S V, which residuals give in O(N D p) without S: for large D cheaper than the
    eigendecomposition. Chapter 10, equation (10.22); Tipping and Bishop (1999).

    Examples
    --------
    >>> V, beta = np.array([[1.0], [0.5], [0.0]]), 1.0
    >>> for _ in range(60):
    ...     V, beta = directions_by_em(np.diag([5.0, 1.0, 1.0]), V, beta)
    >>> V.round(3) + 0.0, round(beta, 3)
    (array([[2.],
           [0.],
           [0.]]), 1.0)
    """
    V, v, p = directions, 1.0 / precision, directions.shape[1]
    SV, M = S @ V, V.T @ V + v * np.eye(p)
    V_new = SV @ np.linalg.inv(v * np.eye(p) + np.linalg.solve(M, V.T @ SV))     # (10.22)
    variance = (np.trace(S) - np.sum(SV @ np.linalg.inv(M) * V_new)) / len(S)
    return V_new, float(1.0 / variance)


def semilinear_weights(Phi, counts, sums, directions, precision, alpha=0.0):
    r"""The sheet's weights when the noise has covariance C: one ridge for each axis of C.

    .. math:: (\Phi^\top G \Phi + \alpha c_j I)\, \tilde w_j = \Phi^\top R Y u_j, \qquad
              C = \sum_j c_j u_j u_j^\top, \qquad W = \sum_j u_j \tilde w_j^\top

    Parameters
    ----------
    Phi : ndarray (K, M); counts : ndarray (K, 1); sums : ndarray (K, D)
    directions : ndarray (D, p); precision : float
    alpha : float
        With alpha = 0 the covariance drops out, and this is (9.12).

    Returns
    -------
    ndarray (D, M)

    Notes
    -----
    Costs O((p + 1)(K M^2 + M^3)). Chapter 10, equation (10.19). The paper says that the best W does not depend on V and
    beta; that is so only without a regulariser.

    Examples
    --------
    >>> semilinear_weights(np.eye(1), np.array([[3.0]]), np.array([[3.0, 3.0]]), np.array([[1.0], [0.0]]), 1.0, 1.0)
    array([[0.6 ],
           [0.75]])
    """
    V, variance, D = directions, 1.0 / precision, len(directions)
    U, s, _ = np.linalg.svd(V, full_matrices=True)                               # axes of C  (D, D)
    c = np.concatenate([variance + s**2, np.full(D - len(s), variance)])
    if alpha == 0:
        return solve_weights(Phi, counts, sums)
    W = np.empty((D, Phi.shape[1]))
    for value in np.unique(c):
        axes = U[:, c == value]
        W[c == value] = solve_weights(Phi, counts, sums @ axes, alpha * value)   # (10.19)
    return U @ W


def linear_coordinates(Y, R, means, directions, precision):
    r"""Posterior means of the straight latent variables, averaged over the nodes; (N, p).

    .. math:: E[v \mid y_n] = \sum_i R_{in} (V^\top V + \tfrac1\beta I)^{-1} V^\top (y_n - m_i)

    Notes
    -----
    Costs O(K N p + N D p). Chapter 10, equation (10.20).

    Examples
    --------
    >>> linear_coordinates(np.array([[3.0, 1.0]]), np.ones((1, 1)), np.zeros((1, 2)), np.array([[2.0], [0.0]]), 1.0)
    array([[1.2]])
    """
    V, p = directions, directions.shape[1]
    gain = np.linalg.solve(V.T @ V + np.eye(p) / precision, V.T)                 # (p, D)
    return (Y - posterior_means(R, means)) @ gain.T                              # (10.20)


def semilinear_start(Y, X, Phi, spacing, n_linear, curved):
    """Weights, directions and precision from PCA: the sheet along the principal axes `curved`, V along others, (10.21).

    Parameters
    ----------
    Y : ndarray (N, D)
        Centred.
    X : ndarray (K, q); Phi : ndarray (K, M); spacing : ndarray (q,)
    n_linear : int
    curved : sequence of q integers
        Which of the first q + n_linear principal axes (0 the longest) the curved dimensions start along.

    Examples
    --------
    >>> Y, X = np.array([[3.0, 1.0], [-3.0, 1.0], [3.0, -1.0], [-3.0, -1.0]]), np.array([[-1.0], [1.0]])
    >>> W, V, _ = semilinear_start(Y, X, X, np.array([2.0]), 1, curved=[1])
    >>> W, V.round(2)                                                            # the sheet along the short axis
    (array([[0.],
           [1.]]), array([[2.83],
           [0.  ]]))
    """
    lam, U = np.linalg.eigh(Y.T @ Y / len(Y))
    lam, U = np.maximum(lam[::-1], 0.0), U[:, ::-1]
    straight = [j for j in range(X.shape[1] + n_linear) if j not in set(curved)][:n_linear]
    axes = U[:, straight]
    W, beta = principal_sheet(Y - Y @ axes @ axes.T, X, Phi, spacing)            # (10.21)
    return W, axes * np.sqrt(np.maximum(lam[straight] - 1.0 / beta, 1e-3 * lam[straight])), beta


def semilinear_iterates(Y, Phi, weights, directions, precision, alpha=0.0, max_iter=200, noise_floor=0.0):
    """Generator of `SemiLinearState`, the start included; the penalised log likelihood never falls.

    Parameters
    ----------
    Y : ndarray (N, D)
        Centred, complete.
    Phi : ndarray (K, M)
    weights : ndarray (D, M); directions : ndarray (D, p); precision : float
    alpha, max_iter, noise_floor : as in chapter 9

    Notes
    -----
    An iteration costs O(K N D + N D^2 + D^3). Chapter 10, equations (10.16) to (10.19).

    Examples
    --------
    >>> Y, Phi = np.random.default_rng(0).standard_normal((30, 3)), np.array([[1.0, -1.0], [1.0, 1.0]])
    >>> start = np.full((3, 2), 0.1), np.ones((3, 1)), 1.0
    >>> values = [state.value for state in semilinear_iterates(Y, Phi, *start, max_iter=20)]
    >>> bool(np.all(np.diff(values) > -1e-10))
    True
    """
    W, V, beta = weights, directions, precision
    for iteration in range(max_iter + 1):
        R, log_density = responsibilities(shared_log_densities(Y, Phi @ W.T, V, beta))       # (10.16)
        value = float(np.sum(log_density))
        yield SemiLinearState(W, V, beta, value - 0.5 * alpha * float(np.sum(W**2)), value, float(iteration))
        if iteration < max_iter:
            W = semilinear_weights(Phi, *weighted_sums(R, Y), V, beta, alpha)    # (10.19)
            S = residual_covariance(Y, R, Phi @ W.T)                             # (10.17)
            V, beta = linear_directions(S, V.shape[1], noise_floor)              # (10.18)
