"""The bound on the log density of one new point with phi(u) frozen, which its latent posterior maximises."""

import numpy as np

from .bound import kl_divergence
from .moments import point_statistics
from .psi import psi_gradients


def expected_log_likelihood(map_, y, latent_mean, latent_variance) -> tuple[float, np.ndarray, np.ndarray]:
    r"""The expected log likelihood of one complete row y (D,), linear in its Psi statistics, and its gradient in q(x*).

    .. math:: \sum_d \Big\{ \tfrac12 \ln \tfrac{\beta}{2\pi} - \tfrac\beta2 \big[ y_{*d}^2
              - 2 y_{*d} \Lambda_d^\top \psi_1^* + \psi_0^* + \mathrm{tr}\,
              (\Lambda_d \Lambda_d^\top - K_{MM}^{-1} + P^{-1}) \Psi_2^* \big] \Big\}

    Parameters
    ----------
    map_ : FrozenMap
    y : ndarray (D,)
        Centred.
    latent_mean : ndarray (q,)
    latent_variance : ndarray (q,) or None
        None for a point.

    Returns
    -------
    value : float
    d_mean, d_variance : ndarray (q,)

    Notes
    -----
    Costs O(M^2 (q + D)). Chapter 13, equations (13.9) and (13.10).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import FrozenMap
    >>> one = np.ones((1, 1))
    >>> map_ = FrozenMap(RBF(), one, 2.0 * one, 0.0 * one, one, 1.0)
    >>> value, d_mean, _ = expected_log_likelihood(map_, 3.0 * one[0], np.zeros(1), None)
    >>> d_mean > 0                                                               # the mean is below y: move towards z
    array([ True])
    """
    mu, S = latent_mean[None], None if latent_variance is None else latent_variance[None]
    Lambda, beta, D = map_.weights, map_.beta, len(y)
    psi0, psi1, Psi2 = point_statistics(map_, latent_mean, latent_variance)
    matrix = Lambda @ Lambda.T - D * map_.explained  # over all outputs (M, M)
    misfit = y @ y - 2.0 * (Lambda @ y) @ psi1 + D * psi0 + np.sum(matrix * Psi2)  # (13.9)
    value = 0.5 * D * np.log(beta / (2.0 * np.pi)) - 0.5 * beta * misfit
    in_psi0, in_psi1, in_Psi2 = np.full(1, -0.5 * beta * D), beta * (Lambda @ y), -0.5 * beta * matrix  # (13.10)
    d = psi_gradients(map_.kernel, mu, S, map_.inducing_inputs, in_psi0, in_psi1[None], in_Psi2)
    return float(value), d.latent_mean[0], d.latent_variance[0]


def frozen_bound(map_, y, latent_mean, latent_variance) -> tuple[float, np.ndarray, np.ndarray]:
    r"""The bound on the log density of one complete row with phi(u) frozen, and its gradient in q(x*).

    .. math:: G(q) = \langle \ln p(y_* \mid f_*) \rangle_{q(x_*)\, \phi(u)} - \mathrm{KL}(q(x_*) \,\|\, p(x_*))

    Parameters and returns are those of `expected_log_likelihood`; a point (no variance) pays no KL.

    Notes
    -----
    Costs O(M^2 (q + D)). Chapter 13, equations (13.8) and (13.11).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import Parameters, freeze
    >>> X = np.array([[-1.0], [1.0]])
    >>> map_ = freeze(np.array([[-2.0], [2.0]]), Parameters(X, 0.01 + 0 * X, X, RBF(), 0.01))
    >>> value, d_mean, _ = frozen_bound(map_, np.array([2.0]), np.array([0.5]), np.array([0.01]))
    >>> d_mean > 0                                                               # it should move right
    array([ True])
    """
    return subtract_kl(expected_log_likelihood(map_, y, latent_mean, latent_variance), latent_mean, latent_variance)


def subtract_kl(expected, latent_mean, latent_variance) -> tuple[float, np.ndarray, np.ndarray]:
    """An expected log likelihood and its gradient, with the KL of q(x*) and its gradient subtracted, (13.8), (13.11).

    Examples
    --------
    >>> subtract_kl((0.0, np.zeros(1), np.zeros(1)), np.ones(1), np.ones(1))
    (-0.5, array([-1.]), array([0.]))
    """
    (value, d_mu, d_S), mu, S = expected, latent_mean, latent_variance
    if S is None:
        return value, d_mu, d_S
    return value - kl_divergence(mu, S), d_mu - mu, d_S - 0.5 * (1.0 - 1.0 / S)  # (13.8)
