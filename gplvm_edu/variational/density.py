"""How likely is a new point? Two answers: the bound with phi(u) frozen, and the ratio of bounds."""

import numpy as np

from .frozen import frozen_bound
from .moments import point_statistics


def gain_over_frozen(map_, y, latent_mean, latent_variance) -> float:
    r"""What one complete row y (D,) gains over the frozen bound when phi(u) may move; never negative.

    .. math:: \sum_d \tfrac12 \big[ r_d^\top (I + \Phi)^{-1} r_d + \mathrm{tr} \Phi - \ln |I + \Phi| \big], \quad
              \Phi = \beta R \Psi_2^* R^\top, \quad r_d = \beta R (\psi_1^* y_{*d} - \Psi_2^* \Lambda_d)

    Parameters
    ----------
    map_ : FrozenMap
    y : ndarray (D,)
        Centred.
    latent_mean : ndarray (q,)
    latent_variance : ndarray (q,) or None

    Notes
    -----
    Costs O(M^2 (M + D)). Chapter 13, equations (13.15) to (13.17).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import FrozenMap
    >>> one = np.ones((1, 1))
    >>> map_ = FrozenMap(RBF(), one, one, one, one, 1.0)
    >>> round(gain_over_frozen(map_, one[0], one[0], None), 4)                   # Phi = 1, r = 0: (1 - ln 2) / 2
    0.1534
    """
    Lambda, R, beta, (M, D) = map_.weights, map_.root, map_.beta, map_.weights.shape
    _, psi1, Psi2 = point_statistics(map_, latent_mean, latent_variance)
    Phi = beta * R @ Psi2 @ R.T  # (13.15)
    r = beta * R @ (np.outer(psi1, y) - Psi2 @ Lambda)  # (13.16)  (M, D)
    B = np.eye(M) + Phi
    log_determinant = np.linalg.slogdet(B)[1]
    return float(0.5 * (np.sum(r * np.linalg.solve(B, r)) + D * (np.trace(Phi) - log_determinant)))  # (13.17)


def ratio_of_bounds(map_, y, latent_mean, latent_variance) -> tuple[float, float]:
    r"""Difference of the bounds with and without one complete row, which estimates its log density.

    .. math:: \ln \tilde p(y_* \mid Y) = F(q(X), q(x_*)) - F(q(X)) = G + \text{gain}

    Parameters
    ----------
    map_ : FrozenMap
    y : ndarray (D,)
        Centred.
    latent_mean : ndarray (q,)
    latent_variance : ndarray (q,) or None

    Returns
    -------
    ratio, frozen : float
        The ratio of bounds and the frozen bound G, both in nats.

    Notes
    -----
    Costs O(M^2 (M + D)): nothing that grows with N, and no difference of large numbers. Not normalised, and not a
    bound. Chapter 13, equations (13.13) to (13.17); Titsias and Lawrence (2010), equations (19) and (20).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import Parameters, freeze
    >>> X = np.array([[-1.0], [1.0]])
    >>> map_ = freeze(np.array([[-2.0], [2.0]]), Parameters(X, 0.01 + 0 * X, X, RBF(), 0.01))
    >>> ratio, frozen = ratio_of_bounds(map_, np.array([1.0]), np.array([0.44]), np.array([0.005]))
    >>> ratio > frozen
    True
    """
    frozen = frozen_bound(map_, y, latent_mean, latent_variance)[0]
    return frozen + gain_over_frozen(map_, y, latent_mean, latent_variance), frozen  # (13.17)
