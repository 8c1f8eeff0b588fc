"""Covariances built from the tangents of the sheet, their inverses by rank-one updates, and their Gaussians."""

import numpy as np

from ..gtm import basis_derivatives
from ..gtm.gaps import log_densities
from ..linalg import gap_patterns


def tangent_deviations(X, basis, weights, spacing, spread=0.5) -> np.ndarray:
    r"""Tangents (K, q, D) of the sheet at every node, each as long as `spread` steps of the grid in data space.

    .. math:: v_{il} = \kappa\, \delta_l\, \frac{\partial y}{\partial x_l}(x_i) = \kappa\, \delta_l\, W \psi_l(x_i)

    Parameters
    ----------
    X : ndarray (K, q)
        Nodes.
    basis : Basis
    weights : ndarray (D, M)
    spacing : ndarray (q,)
        delta, the distance of neighbouring nodes in each latent dimension.
    spread : float
        kappa: how many steps of the grid one standard deviation along the sheet covers.

    Notes
    -----
    Costs O(K M D q). Chapter 10, equation (10.2); Bishop, Svensén and Williams (1998), equation (15), with eta the
    SQUARE of the spacing (their text says the spacing, and then the units of x would matter).

    Examples
    --------
    >>> from gplvm_edu.gtm import make_basis
    >>> line = make_basis((2,), terms="linear")                                  # two Gaussians, 1, x
    >>> W = np.array([[0.0, 0.0, 0.0, 3.0], [0.0, 0.0, 0.0, 4.0]])               # y = (3 x, 4 x)
    >>> tangent_deviations(np.zeros((1, 1)), line, W, np.array([0.5]))
    array([[[0.75, 1.  ]]])
    """
    slopes = basis_derivatives(X, basis) @ weights.T  # (q, K, D)
    return spread * (np.asarray(spacing)[:, None, None] * slopes).transpose(1, 0, 2)  # (10.2)


def rank_one_inverses(V, precision) -> tuple[np.ndarray, np.ndarray]:
    r"""Inverse and log determinant of C_i = I / beta + sum_l v_il v_il', one tangent at a time.

    .. math:: C_i^{-1} = \beta I - \sum_l u_{il} u_{il}^\top, \qquad
              u_{il} = \frac{A_{l-1}^{-1} v_{il}}{\sqrt{1 + v_{il}^\top A_{l-1}^{-1} v_{il}}}

    where A_0 = I / beta and A_l = A_{l-1} + v_l v_l'. No D x D matrix is formed.

    Parameters
    ----------
    V : ndarray (K, q, D)
    precision : float

    Returns
    -------
    U : ndarray (K, q, D)
    log_determinants : ndarray (K,)
        ln |C_i|.

    Notes
    -----
    Costs O(K q^2 D), where K inverses of D x D matrices cost O(K D^3): 10 times faster at K = 100, D = 12, and 1000
    times at D = 256. Chapter 10, equations (10.3) and (10.4); Bishop, Svensén and Williams (1998), equation (17).

    Examples
    --------
    >>> U, log_det = rank_one_inverses(np.array([[[1.0, 0.0]]]), precision=1.0)  # C = diag(2, 1)
    >>> np.eye(2) - U[0].T @ U[0], log_det.round(4)
    (array([[0.5, 0. ],
           [0. , 1. ]]), array([0.6931]))
    """
    beta, (K, q, D) = precision, V.shape
    U, log_det = np.zeros_like(V), np.full(K, -D * np.log(beta))
    for l in range(q):
        v = V[:, l]  # (K, D)
        so_far = np.einsum("kjd,kd->kj", U[:, :l], v)
        Av = beta * v - np.einsum("kj,kjd->kd", so_far, U[:, :l])
        growth = 1.0 + np.sum(v * Av, axis=1)  # (K,)
        U[:, l] = Av / np.sqrt(growth)[:, None]  # (10.3)
        log_det += np.log(growth)  # (10.4)
    return U, log_det


def aligned_log_densities(Y, means, V, precision) -> np.ndarray:
    r"""ln p(y_n | node i) of Gaussians whose covariances follow the sheet, (K, N); missing entries are integrated out.

    .. math:: \ln p(y \mid i) = -\tfrac D2 \ln 2\pi - \tfrac12 \ln |C_i| - \tfrac\beta2 \|y - m_i\|^2
              + \tfrac12 \sum_l \big(u_{il}^\top (y - m_i)\big)^2

    Parameters
    ----------
    Y : ndarray (N, D)
        NaN where nothing was observed.
    means : ndarray (K, D)
    V : ndarray (K, q, D)
    precision : float

    Notes
    -----
    Costs O(K N D q): one matrix product more for each latent dimension. Rows with the same gaps are treated together,
    each group with the rows of V that it sees. Chapter 10, equation (10.5); Bishop, Svensén and Williams (1998), (16).

    Examples
    --------
    >>> V = np.array([[[1.0, 0.0]]])                                             # C = diag(2, 1)
    >>> aligned_log_densities(np.array([[2.0, 0.0], [np.nan, 0.0]]), np.zeros((1, 2)), V, 1.0).round(4)
    array([[-3.1845, -0.9189]])
    """
    log_p = np.empty((len(means), len(Y)))
    for rows, o in gap_patterns(Y):
        U, log_det = rank_one_inverses(V[:, :, o], precision)
        y, m = Y[np.ix_(rows, o)], means[:, o]
        Um = np.einsum("kld,kd->kl", U, m)[:, :, None]
        along = np.sum((U @ y.T - Um) ** 2, axis=1)  # squares of u'(y - m)  (K, n)
        growth = log_det + o.sum() * np.log(precision)  # ln |beta C|
        ball = log_densities(y, m, precision)
        log_p[:, rows] = ball + 0.5 * (along - growth[:, None])  # (10.5)
    return log_p


def aligned_moments(Y, R, means, V, precision) -> tuple[np.ndarray, np.ndarray]:
    r"""Mean and variance of f, the sheet and the spread along it, given what was observed of each row; both (N, D).

    .. math:: f = m_i + V_i^\top t, \qquad t \mid y_o, i \sim N\big(\beta S_i V_{io} (y_o - m_{io}),\ S_i\big), \qquad
              S_i = \big(I + \beta V_{io} V_{io}^\top\big)^{-1}

    where o are the observed columns, and the nodes are weighted by R. Only the noise across, 1 / beta, is left out.

    Parameters
    ----------
    Y, means, V, precision : as in `aligned_log_densities`
    R : ndarray (K, N)
        Responsibilities given the observed entries.

    Notes
    -----
    Costs O(K N D q), a row at a time. These are the Gaussians of equation (10.5), conditioned on what was observed.

    Examples
    --------
    >>> V = np.array([[[1.0, 1.0]]])                                             # both columns move together
    >>> aligned_moments(np.array([[2.0, np.nan]]), np.ones((1, 1)), np.zeros((1, 2)), V, 1.0)
    (array([[1., 1.]]), array([[0.5, 0.5]]))
    """
    mean, variance = np.empty(Y.shape), np.empty(Y.shape)
    for rows, o in gap_patterns(Y):
        seen = V[:, :, o]  # (K, q, d)
        S = np.linalg.inv(np.eye(V.shape[1]) + precision * seen @ seen.transpose(0, 2, 1))
        gain, own = precision * S @ seen, np.einsum("kld,klj,kjd->kd", V, S, V)
        for n in np.flatnonzero(rows):
            t = gain @ (Y[n, o] - means[:, o])[:, :, None]  # (K, q, 1)
            f = means + np.sum(t * V, axis=1)  # (K, D)
            mean[n] = R[:, n] @ f
            variance[n] = R[:, n] @ ((f - mean[n]) ** 2 + own)
    return mean, variance
