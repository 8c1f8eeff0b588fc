"""The linear latent dimensions of the semi-linear GTM: one covariance for all nodes, which is PPCA about the sheet."""

import numpy as np

from .. import checks
from ..gtm import posterior_means
from ..gtm.gaps import log_densities, weighted_sums
from ..gtm.model import are_whole_numbers
from ..linalg import eigenpairs


def shared_log_densities(Y, means, directions, precision) -> np.ndarray:
    r"""ln p(y_n | node i) of Gaussians with one covariance, I / beta + V V'; (K, N).

    .. math:: \ln N(y \mid m_i, C) = \ln N(L^{-1} y \mid L^{-1} m_i, I) - \ln |L|, \qquad L L^\top = C

    Parameters
    ----------
    Y : ndarray (N, D)
    means : ndarray (K, D)
    directions : ndarray (D, p)
        V.
    precision : float

    Notes
    -----
    Costs O(D^3 + K N D): data and nodes are whitened once, and the density is that of chapter 9. Chapter 10, equations
    (10.15) and (10.16); Bishop, Svensén and Williams (1998), equations (21) and (25).

    Examples
    --------
    >>> shared_log_densities(np.array([[2.0, 0.0]]), np.zeros((1, 2)), np.array([[1.0], [0.0]]), 1.0).round(4)
    array([[-3.1845]])
    """
    V, beta = directions, precision
    L = np.linalg.cholesky(np.eye(len(V)) / beta + V @ V.T)  # (10.15)
    white, nodes = np.linalg.solve(L, Y.T).T, np.linalg.solve(L, means.T).T
    return log_densities(white, nodes, 1.0) - np.sum(np.log(np.diag(L)))  # (10.16)


def residual_covariance(Y, R, means) -> np.ndarray:
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
    return (Y.T @ Y - cross - cross.T + squares) / len(Y)  # (10.17)


def linear_directions(S, n_linear, noise_floor=0.0) -> tuple[np.ndarray, float]:
    r"""Straight directions (D, p) and precision that explain a covariance best: PPCA, once the sheet is subtracted.

    .. math:: V = U_p (\Lambda_p - \tfrac1\beta I)^{\frac12}, \qquad
              \frac1\beta = \frac1{D - p} \sum_{j > p} \lambda_j

    Parameters
    ----------
    S : ndarray (D, D)
    n_linear : int
        p, the number of straight latent dimensions, below D.
    noise_floor : float

    Notes
    -----
    Costs O(D^3). Chapter 10, equation (10.18), the same as chapter 1's (1.13) and (1.14); Bishop, Svensén and Williams
    (1998), equations (23) and (24).

    Examples
    --------
    >>> V, beta = linear_directions(np.diag([5.0, 1.0, 1.0]), 1)
    >>> np.abs(V).round(3), beta
    (array([[2.],
           [0.],
           [0.]]), 1.0)
    """
    p, (lam, U) = n_linear, eigenpairs(S)
    variance = max(float(np.mean(lam[p:])), noise_floor)
    V = U[:, :p] * np.sqrt(np.maximum(lam[:p] - variance, 0.0))  # (10.18)
    return V, 1.0 / variance


def directions_by_em(S, directions, precision) -> tuple[np.ndarray, float]:
    r"""One EM step for directions (D, p) and precision, the linear latent variables treated as missing as well.

    .. math:: V_{new} = S V (\tfrac1\beta I + M^{-1} V^\top S V)^{-1}, \qquad
              \frac1{\beta_{new}} = \frac1D \mathrm{tr}(S - S V M^{-1} V_{new}^\top), \qquad
              M = V^\top V + \tfrac1\beta I

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
    V_new = SV @ np.linalg.inv(v * np.eye(p) + np.linalg.solve(M, V.T @ SV))  # (10.22)
    variance = (np.trace(S) - np.sum(SV @ np.linalg.inv(M) * V_new)) / len(S)
    return V_new, float(1.0 / variance)


def linear_coordinates(Y, R, means, directions, precision) -> np.ndarray:
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
    gain = np.linalg.solve(V.T @ V + np.eye(p) / precision, V.T)  # (p, D)
    return (Y - posterior_means(R, means)) @ gain.T  # (10.20)


def check_axes(name, axes):
    """Numbers of principal axes, each once, if they are that. Equation (10.21).

    Examples
    --------
    >>> check_axes("curved", (0, 2))
    (0, 2)
    >>> check_axes("curved", (1, 1))
    Traceback (most recent call last):
    ...
    ValueError: curved must be None or a tuple of different whole numbers of at least 0, such as (0,), got (1, 1).
    """
    if not are_whole_numbers(axes) or len(set(axes)) < len(axes):
        raise ValueError(
            f"{name} must be None or a tuple of different whole numbers of at least 0, such as (0,), got "
            f"{checks.shown(axes)}."
        )
    return axes
