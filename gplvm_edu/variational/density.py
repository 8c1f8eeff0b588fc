"""How likely is a new point? Two answers: the bound with phi(u) frozen, and the ratio of bounds."""

import numpy as np

from .latent_posterior import frozen_bound, linear_terms

BLOCK_ROWS = 64


def ratio_of_bounds(map_, Y_new, latent_mean, latent_variance) -> tuple[np.ndarray, ...]:
    r"""Difference of the bounds with and without each new row, which estimates its log density.

    .. math:: \ln \tilde p(y_* \mid Y) = F(q(X), q(x_*)) - F(q(X))
              = G + \sum_{d \in O} \tfrac12 \big[ r_d^\top (I + \Phi)^{-1} r_d + \mathrm{tr} \Phi - \ln |I + \Phi| \big]

    with :math:`\Phi = \beta R \Psi_2^* R^\top` and :math:`r_d = \beta R (\psi_1^* y_{*d} - \Psi_2^* \Lambda_d)`: what
    the new row gains by moving phi(u), never negative.

    Parameters
    ----------
    map_ : InducingMap
    Y_new : ndarray (n, D)
        Centred; NaN where not observed.
    latent_mean : ndarray (n, q)
    latent_variance : ndarray (n, q) or None

    Returns
    -------
    ratio, frozen : ndarray (n,)
        The ratio of bounds and the frozen bound G, both in nats.

    Notes
    -----
    Costs O(n M^2 (M + D)): one factorisation of M x M for each row, nothing that grows with N, and no difference of
    large numbers. Not normalised, and not a bound. Chapter 13, equations (13.13) to (13.17); Titsias and Lawrence
    (2010), equations (19) and (20).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import Parameters, make_map
    >>> X = np.array([[-1.0], [1.0]])
    >>> map_ = make_map(np.array([[-2.0], [2.0]]), Parameters(X, 0.01 + 0 * X, X, RBF(), 0.01))
    >>> ratio, frozen = ratio_of_bounds(map_, np.array([[1.0]]), np.array([[0.44]]), np.array([[0.005]]))
    >>> bool(ratio[0] > frozen[0])
    True
    """
    parts = []
    for i in range(0, len(Y_new), BLOCK_ROWS):
        rows = slice(i, i + BLOCK_ROWS)
        mu, S = latent_mean[rows], None if latent_variance is None else latent_variance[rows]
        frozen = frozen_bound(map_, linear_terms(map_, Y_new[rows]), mu, S)[0]  # (13.14)
        parts.append([frozen + gain_over_frozen(map_, Y_new[rows], map_.statistics(mu, S)), frozen])  # (13.17)
    return tuple(map(np.concatenate, zip(*parts, strict=True)))


def gain_over_frozen(map_, Y_new, psi) -> np.ndarray:
    """What each row gains over the frozen bound by moving phi(u) of the outputs that it shows, (n,), (13.17).

    `psi` are its own statistics, ``map_.statistics(latent_mean, latent_variance)``.
    """
    beta, Lambda, M = map_.beta, map_.weights, len(map_.weights)
    seen = ~np.isnan(Y_new)
    Y = np.where(seen, Y_new, 0.0)
    Psi2 = psi.Psi2  # (n, M, M)
    gain = np.zeros(len(Y))
    for g, factors in enumerate(map_.factors):
        columns, R = map_.group == g, factors.R
        y, Lambda_g, shown = Y[:, columns], Lambda[:, columns], seen[:, columns].astype(float)
        n_shown = shown.sum(axis=1)
        if shown.all() and y.shape[1] > M + 1:
            y, Lambda_g, shown = *_rotate(y, Lambda_g), np.ones((1, M + 1))
        half = R @ Psi2
        Phi = beta * half @ R.T  # (13.15)
        r = beta * ((psi.Psi1 @ R.T)[:, :, None] * y[:, None] - half @ Lambda_g) * shown[:, None]  # (13.16)
        B = np.eye(M) + Phi
        logs = 2.0 * np.sum(np.log(np.diagonal(np.linalg.cholesky(B), axis1=1, axis2=2)), axis=1)
        squares = np.sum(np.linalg.solve(B, r) * r, axis=(1, 2))
        gain += 0.5 * (squares + n_shown * (np.trace(Phi, axis1=1, axis2=2) - logs))  # (13.17)
    return gain


def _rotate(Y, Lambda) -> tuple[np.ndarray, np.ndarray]:
    """M + 1 outputs instead of D: turned so that the map fills the first M, and the last holds what it can't reach."""
    Q, C = np.linalg.qr(Lambda.T)  # (D, M), (M, M)
    inside = Y @ Q
    beyond = np.linalg.norm(Y - inside @ Q.T, axis=1)
    return np.column_stack([inside, beyond]), np.column_stack([C.T, np.zeros(len(C))])
