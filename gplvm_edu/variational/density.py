"""How likely is a new point? Two answers: the bound with phi(u) frozen, and the ratio of bounds."""

import numpy as np

from .bound import kl_divergence
from .frozen import expected_log_likelihood, linear_terms
from .moments import point_statistics


def gain_over_frozen(map_, y, psi) -> float:
    r"""What one complete row y (D,) gains over the frozen bound when phi(u) may move; never negative.

    .. math:: \sum_d \tfrac12 \big[ r_d^\top (I + \Phi)^{-1} r_d + \mathrm{tr} \Phi - \ln |I + \Phi| \big], \quad
              \Phi = \beta R \Psi_2^* R^\top, \quad r_d = \beta R (\psi_1^* y_{*d} - \Psi_2^* \Lambda_d)

    Parameters
    ----------
    map_ : FrozenMap
    y : ndarray (D,)
        Centred.
    psi : psi0, psi1 (M,), Psi2 (M, M)
        From `point_statistics`.

    Notes
    -----
    Costs O(M^2 (M + D)). Chapter 13, equations (13.15) to (13.17).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import FrozenMap
    >>> one = np.ones((1, 1))
    >>> map_ = FrozenMap(RBF(), one, one, one, one, 1.0)
    >>> round(gain_over_frozen(map_, one[0], (1.0, one[0], one)), 4)             # Phi = 1, r = 0: (1 - ln 2) / 2
    0.1534
    """
    Lambda, R, beta, (M, D) = map_.weights, map_.root, map_.beta, map_.weights.shape
    _, psi1, Psi2 = psi
    Phi = beta * R @ Psi2 @ R.T  # (13.15)  (M, M)
    r = beta * R @ (np.outer(psi1, y) - Psi2 @ Lambda)  # (13.16)  (M, D)
    I_Phi = np.eye(M) + Phi
    squares = np.sum(r * np.linalg.solve(I_Phi, r))  # of all outputs
    return float(0.5 * (squares + D * (np.trace(Phi) - np.linalg.slogdet(I_Phi)[1])))  # (13.17)


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
    mu, S = latent_mean, latent_variance
    psi = point_statistics(map_, mu, S)
    frozen = expected_log_likelihood(linear_terms(map_, y), psi)
    if S is not None:
        frozen = frozen - kl_divergence(mu, S)  # (13.8)
    return frozen + gain_over_frozen(map_, y, psi), frozen  # (13.17)
