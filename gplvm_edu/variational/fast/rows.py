"""Chapter 13 for many rows at once, with gaps or without: moments, the frozen bound, the ratio of bounds.

The rows share the features of the kernels' centres, and every row has the same M(M+1)/2 pairs instead of a matrix.
"""

from typing import NamedTuple

import numpy as np

from ..moments import Moments
from .kernel_expectations import pairs

BLOCK_ROWS = 64


def predict_moments(map_, latent_mean, latent_variance) -> Moments:
    """Mean and variance of every output at many uncertain latent points, as `moments.predict_moments` at each.

    Parameters
    ----------
    map_ : InducingMap
    latent_mean : ndarray (n, q)
    latent_variance : ndarray (n, q) or None
        None for points known exactly.

    Returns
    -------
    Moments
        Of the centred data, (n, D) each.

    Notes
    -----
    Costs O(n M^2 (q + D)). Chapter 13, equations (13.4) to (13.6); Titsias and Lawrence (2010), section 4.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import Parameters, make_map
    >>> X = np.array([[-1.0], [1.0]])
    >>> map_ = make_map(np.array([[-2.0], [2.0]]), Parameters(X, 0.01 + 0 * X, X, RBF(), 0.01))
    >>> sharp, wide = (predict_moments(map_, np.ones((1, 1)), np.full((1, 1), s)) for s in (0.01, 1.0))
    >>> bool(wide.from_place > sharp.from_place), bool(wide.from_map > sharp.from_map)
    (True, True)
    """
    Lambda = map_.weights
    first, second, times, _ = pairs(len(Lambda))
    psi = map_.statistics(latent_mean, latent_variance)
    mean = psi.Psi1 @ Lambda  # (13.4)
    known = np.array([psi.pairs @ (times * E[first, second]) for E in map_.differences])  # (G, n)
    from_map = np.maximum(psi.psi0 - known, 0.0)[map_.group].T  # (13.6), but for rounding
    if latent_variance is None:
        return Moments(mean, np.zeros_like(mean), from_map)
    spread = psi.pairs - psi.Psi1[:, first] * psi.Psi1[:, second]  # Psi2 - psi1 psi1'
    from_place = spread @ (times[:, None] * Lambda[first] * Lambda[second])  # (13.5)
    return Moments(mean, np.maximum(from_place, 0.0), from_map)


class LinearTerms(NamedTuple):
    """The expected log likelihood of test points as a linear function of their Psi statistics.

    constant (n,); the coefficients of psi0, of_psi0 (n,), of Psi1, of_Psi1 (n, M), and of the P = M(M+1)/2 entries
    m <= m' of Psi2 (each off the diagonal counted twice), of_pairs (U, P), which depend only on which outputs were
    observed: there are U such patterns, and pattern (n,) says which of them a row has.
    """

    constant: np.ndarray
    of_psi0: np.ndarray
    of_Psi1: np.ndarray
    of_pairs: np.ndarray
    pattern: np.ndarray


def linear_terms(map_, Y_new) -> LinearTerms:
    r"""Coefficients (`LinearTerms`) of each row's expected log likelihood, entries O observed, in its Psi statistics.

    .. math:: \sum_{d \in O} \Big\{ \tfrac12 \ln \tfrac{\beta}{2\pi} - \tfrac\beta2 \big[ y_{*d}^2
              - 2 y_{*d} \Lambda_d^\top \psi_1^* + \psi_0^* + \mathrm{tr}\,
              (\Lambda_d \Lambda_d^\top - K_{MM}^{-1} + P^{-1}) \Psi_2^* \big] \Big\}

    Parameters
    ----------
    map_ : InducingMap
    Y_new : ndarray (n, D)
        Centred; NaN where not observed.

    Notes
    -----
    Costs O(n M D + U M^2 D) for U different patterns of missing entries. Chapter 13, equations (13.9) and (13.10).

    Examples
    --------
    >>> from gplvm_edu.variational import InducingMap
    >>> told, none = np.array([[[0.5]]]), np.array([0])
    >>> map_ = InducingMap(None, None, np.array([[3.0]]), told, none, (), 2.0)
    >>> terms = linear_terms(map_, np.array([[4.0]]))
    >>> terms.of_psi0, terms.of_Psi1, terms.of_pairs                             # -1, 2 * 4 * 3, -(9 - 0.5)
    (array([-1.]), array([[24.]]), array([[-8.5]]))
    """
    beta, Lambda = map_.beta, map_.weights
    first, second, times, _ = pairs(len(Lambda))
    seen = ~np.isnan(Y_new)
    Y = np.where(seen, Y_new, 0.0)
    patterns, pattern = np.unique(seen, axis=0, return_inverse=True)
    size = seen.sum(axis=1)
    in_groups = patterns @ np.eye(len(map_.differences))[map_.group]  # (U, G) outputs of each group
    in_pairs = patterns @ (Lambda[first] * Lambda[second]).T - in_groups @ map_.differences[:, first, second]
    constant = 0.5 * size * np.log(beta / (2 * np.pi)) - 0.5 * beta * np.sum(Y**2, axis=1)
    return LinearTerms(
        constant,
        -0.5 * beta * size,
        beta * Y @ Lambda.T,  # (13.10)
        -0.5 * beta * times * in_pairs,
        np.ravel(pattern),
    )


def frozen_bound(map_, terms, latent_mean, latent_variance, rows=slice(None)) -> tuple[np.ndarray, ...]:
    r"""The bound on the log density of each test point with phi(u) frozen, and its gradient in q(x*).

    .. math:: G(q) = \langle \ln p(y_*^O \mid f_*) \rangle_{q(x_*)\, \phi(u)} - \mathrm{KL}(q(x_*) \,\|\, p(x_*))

    Parameters
    ----------
    map_ : InducingMap
    terms : LinearTerms
    latent_mean : ndarray (n, q)
    latent_variance : ndarray (n, q) or None
        None for points: there is no KL then.
    rows : index
        Which rows of `terms` these are.

    Returns
    -------
    values : ndarray (n,)
    d_mean, d_variance : ndarray (n, q)

    Notes
    -----
    Costs O(n M^2 q). Rows know nothing of one another. Chapter 13, equations (13.8) to (13.11).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import Parameters, make_map
    >>> X = np.array([[-1.0], [1.0]])
    >>> map_ = make_map(np.array([[-2.0], [2.0]]), Parameters(X, 0.01 + 0 * X, X, RBF(), 0.01))
    >>> terms = linear_terms(map_, np.array([[2.0], [2.0]]))
    >>> value, d_mean, _ = frozen_bound(map_, terms, np.array([[1.0], [0.5]]), np.full((2, 1), 0.01))
    >>> bool(value[0] > value[1]), bool(d_mean[1] > 0)                           # the second should move right
    (True, True)
    """
    mu, S = latent_mean, latent_variance
    psi = map_.statistics(mu, S)
    of_psi0, of_Psi1 = terms.of_psi0[rows], terms.of_Psi1[rows]
    of_pairs = terms.of_pairs if len(terms.of_pairs) == 1 else terms.of_pairs[terms.pattern[rows]]
    values = terms.constant[rows] + of_psi0 * psi.psi0 + np.sum(of_Psi1 * psi.Psi1, axis=1)
    values = values + np.einsum("np,np->n", np.broadcast_to(of_pairs, psi.pairs.shape), psi.pairs)  # (13.9)
    d_mu, d_S = psi.pull_back(of_psi0, of_Psi1, of_pairs)
    if S is None:
        return values, d_mu, d_S
    kl = 0.5 * np.sum(mu**2 + S - np.log(S) - 1.0, axis=1)
    return values - kl, d_mu - mu, d_S - 0.5 * (1.0 - 1.0 / S)  # (13.8)


def ratio_of_bounds(map_, Y_new, latent_mean, latent_variance) -> tuple[np.ndarray, ...]:
    """The ratio of bounds and the frozen bound of many rows, with gaps or without, as `density.ratio_of_bounds`.

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
        frozen = frozen_bound(map_, linear_terms(map_, Y_new[rows]), mu, S)[0]
        parts.append([frozen + gain_over_frozen(map_, Y_new[rows], map_.statistics(mu, S)), frozen])
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
        I_Phi = np.eye(M) + Phi
        logs = 2.0 * np.sum(np.log(np.diagonal(np.linalg.cholesky(I_Phi), axis1=1, axis2=2)), axis=1)
        squares = np.sum(np.linalg.solve(I_Phi, r) * r, axis=(1, 2))
        gain += 0.5 * (squares + n_shown * (np.trace(Phi, axis1=1, axis2=2) - logs))  # (13.17)
    return gain


def _rotate(Y, Lambda) -> tuple[np.ndarray, np.ndarray]:
    """M + 1 outputs instead of D: turned so that the map fills the first M, and the last holds what it can't reach."""
    Q, C = np.linalg.qr(Lambda.T)  # (D, M), (M, M)
    inside = Y @ Q
    beyond = np.linalg.norm(Y - inside @ Q.T, axis=1)
    return np.column_stack([inside, beyond]), np.column_stack([C.T, np.zeros(len(C))])
