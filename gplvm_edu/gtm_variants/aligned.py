"""Noise that lies along the sheet: covariances built from tangents, their inverses by rank-one updates."""
import numpy as np
from scipy.optimize import minimize_scalar

from ..gtm import (
    State,
    basis_derivatives,
    basis_functions,
    log_densities,
    m_step,
    responsibilities,
    solve_weights,
    weighted_sums,
)
from ..linalg import squared_distances

NOISE_UPDATES = ("exact", "paper")


def tangent_deviations(X, basis, weights, spacing, spread=0.5):
    r"""The tangents of the sheet at every node, each as long as `spread` steps of the grid are in data space.

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

    Returns
    -------
    ndarray (K, q, D)

    Notes
    -----
    Costs O(K M D q). Chapter 10, equation (10.2); Bishop, Svensén and Williams (1998), equation (15), with eta the
    SQUARE of the spacing (their text says the spacing, and then the units of x would matter).

    Examples
    --------
    >>> from gplvm_edu.gtm import make_basis
    >>> line = make_basis((2,), terms="linear")                                  # two bells, 1 and x
    >>> W = np.array([[0.0, 0.0, 0.0, 3.0], [0.0, 0.0, 0.0, 4.0]])               # y = (3 x, 4 x)
    >>> tangent_deviations(np.zeros((1, 1)), line, W, np.array([0.5]))
    array([[[0.75, 1.  ]]])
    """
    slopes = basis_derivatives(X, basis) @ weights.T                             # (q, K, D)
    return spread * (np.asarray(spacing)[:, None, None] * slopes).transpose(1, 0, 2)         # (10.2)


def rank_one_inverses(V, precision):
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
    Costs O(K q^2 D). Chapter 10, equations (10.3) and (10.4); Bishop, Svensén and Williams (1998), equation (17).

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
        v = V[:, l]                                                              # (K, D)
        so_far = np.einsum("kjd,kd->kj", U[:, :l], v)
        Av = beta * v - np.einsum("kj,kjd->kd", so_far, U[:, :l])
        growth = 1.0 + np.sum(v * Av, axis=1)                                    # (K,)
        U[:, l] = Av / np.sqrt(growth)[:, None]                                  # (10.3)
        log_det += np.log(growth)                                                # (10.4)
    return U, log_det


def aligned_log_densities(Y, means, V, precision):
    r"""ln p(y_n | node i) of Gaussians whose covariances follow the sheet; missing entries are integrated out.

    .. math:: \ln p(y \mid i) = -\tfrac D2 \ln 2\pi - \tfrac12 \ln |C_i| - \tfrac\beta2 \|y - m_i\|^2
              + \tfrac12 \sum_l \big(u_{il}^\top (y - m_i)\big)^2

    Parameters
    ----------
    Y : ndarray (N, D)
        NaN where nothing was observed.
    means : ndarray (K, D)
    V : ndarray (K, q, D)
    precision : float

    Returns
    -------
    ndarray (K, N)

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
    patterns, group = np.unique(np.isnan(Y), axis=0, return_inverse=True)
    log_p = np.empty((len(means), len(Y)))
    for g, gaps in enumerate(patterns):
        rows, o = group.ravel() == g, ~gaps
        U, log_det = rank_one_inverses(V[:, :, o], precision)
        y, m = Y[np.ix_(rows, o)], means[:, o]
        Um = np.einsum("kld,kd->kl", U, m)[:, :, None]
        along = np.sum((U @ y.T - Um) ** 2, axis=1)                              # squares of u'(y - m)  (K, n)
        growth = log_det + o.sum() * np.log(precision)                           # ln |beta C|
        ball = log_densities(y, m, precision)
        log_p[:, rows] = ball + 0.5 * (along - growth[:, None])                  # (10.5)
    return log_p


def _spreads(Y, R, means, V):
    """For each node and pattern of gaps: mass, entries, variances along the tangents, squares along and in all."""
    patterns, group = np.unique(np.isnan(Y), axis=0, return_inverse=True)
    parts = []
    for g, gaps in enumerate(patterns):
        rows, o = group.ravel() == g, ~gaps
        _, s, E = np.linalg.svd(V[:, :, o], full_matrices=False)                 # (K, r), (K, r, d)
        y, m, mass = Y[np.ix_(rows, o)], means[:, o], R[:, rows]
        along = np.matmul(E, y.T) - np.einsum("krd,kd->kr", E, m)[:, :, None]
        p = np.einsum("kn,krn->kr", mass, along**2)
        total = np.sum(mass * squared_distances(m, y), axis=1)
        pad = V.shape[1] - s.shape[1]                                            # fewer entries than tangents
        wide = [np.pad(a, ((0, 0), (0, pad)), constant_values=np.nan) for a in (s**2, p)]
        parts.append([mass.sum(axis=1), np.full(len(m), o.sum()), *wide, total])
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def across_precision(Y, R, means, V, precision):
    r"""The precision that maximises the expected log likelihood, the sheet, its tangents and R held fixed.

    .. math:: \hat\beta = \arg\max_\beta \sum_{in} R_{in} \ln p(y_n \mid i; \beta)

    It asks only for what is left across the sheet; the closed form (9.13) counts the spread along it as noise too.

    Parameters
    ----------
    Y : ndarray (N, D); R : ndarray (K, N); means : ndarray (K, D); V : ndarray (K, q, D)
    precision : float
        Where to search from, up to a factor of 20 either way. The answer is never worse than this.

    Notes
    -----
    One pass of O(K N D q), then a search for a single number over sums. Chapter 10, equation (10.6).

    Examples
    --------
    >>> Y, V = np.array([[-1.0, 0.1], [1.0, -0.1]]), np.array([[[1.0, 0.0]]])    # the spread of 1 lies along the sheet
    >>> round(1 / across_precision(Y, np.ones((1, 2)), np.zeros((1, 2)), V, precision=20.0), 3)
    0.01
    """
    g, d, s2, p, total = _spreads(Y, R, means, V)
    r = np.sum(~np.isnan(s2), axis=1)
    left = np.sum(np.maximum(total - np.nansum(p, axis=1), 0.0))                 # across the sheet

    def loss(log_variance):
        v = np.exp(log_variance)
        along = np.nansum(g[:, None] * np.log(v + s2) + p / (v + s2))
        return 0.5 * (along + np.sum(g * (d - r)) * log_variance + left / v)     # (10.6)

    now = -np.log(precision)
    found = minimize_scalar(loss, bounds=(now - 3.0, now + 3.0), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(-found.x)) if found.fun < loss(now) else precision


def aligned_iterates(Y, X, basis, weights, precision, spacing, spread=0.5, alpha=0.0, max_iter=200, noise_floor=0.0,
                     noise_update="exact"):
    """Generator of `State`, the start included. The objective may fall: the M-step is an approximation.

    The weights are those of isotropic noise, (9.12), although the tangents depend on the weights as well.

    Parameters
    ----------
    Y : ndarray (N, D)
        Centred; NaN where nothing was observed.
    X : ndarray (K, q); basis : Basis
    weights : ndarray (D, M); precision : float
        Where to start.
    spacing, spread : as in `tangent_deviations`
    alpha : float
    max_iter : int
    noise_floor : float
        Smallest variance across the sheet.
    noise_update : "exact" or "paper"
        (10.6), or (9.13) as the paper has it.

    Notes
    -----
    Chapter 10, equations (10.2) to (10.6), with (9.7) and (9.12).

    Examples
    --------
    >>> from gplvm_edu.gtm import latent_grid, make_basis
    >>> t = np.linspace(-1, 1, 30)
    >>> Y, W = np.column_stack([t, 0.3 * np.cos(3 * t)]), np.zeros((2, 5))
    >>> W[0, -1] = 1.0
    >>> values = [s.value for s in aligned_iterates(Y, latent_grid((6,)), make_basis((3,)), W, 10.0, [0.4], max_iter=5)]
    >>> values[-1] > values[0]
    True
    """
    W, beta, Phi = weights, precision, basis_functions(X, basis)
    for iteration in range(max_iter + 1):
        V = tangent_deviations(X, basis, W, spacing, spread)                     # (10.2)
        R, log_density = responsibilities(aligned_log_densities(Y, Phi @ W.T, V, beta))      # (10.5), (9.7)
        value = float(np.sum(log_density))
        yield State(W, beta, value - 0.5 * alpha * float(np.sum(W**2)), value, float(iteration))
        if iteration == max_iter:
            return
        if noise_update == "paper":
            W, beta = m_step(Y, Phi, R, beta, alpha, noise_floor)                # (9.12), (9.13)
            continue
        W = solve_weights(Phi, *weighted_sums(R, Y), alpha / beta)               # (9.12)
        V = tangent_deviations(X, basis, W, spacing, spread)                     # (10.2)
        beta = 1.0 / max(1.0 / across_precision(Y, R, Phi @ W.T, V, beta), noise_floor)      # (10.6)
