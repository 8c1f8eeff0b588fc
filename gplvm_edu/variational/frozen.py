"""The bound on the log density of one new point with phi(u) frozen, which its latent posterior maximises."""

from typing import NamedTuple

import numpy as np

from .bound import kl_divergence
from .moments import point_statistics
from .psi import psi_gradients


class LinearTerms(NamedTuple):
    """The expected log likelihood of one row as a linear function of its Psi statistics.

    constant; the coefficients of psi0, a number, of psi1 (M,) and of Psi2 (M, M).
    """

    constant: float
    of_psi0: float
    of_psi1: np.ndarray
    of_Psi2: np.ndarray


def linear_terms(map_, y) -> LinearTerms:
    r"""Coefficients (`LinearTerms`) of the expected log likelihood of one complete, centred row y (D,).

    .. math:: -\tfrac{\beta D}2, \qquad \beta \sum_d y_{*d} \Lambda_d, \qquad
              -\tfrac\beta2 \sum_d (\Lambda_d \Lambda_d^\top - K_{MM}^{-1} + P^{-1})

    Notes
    -----
    Costs O(M^2 D). They do not depend on the place: compute them once for each row. Chapter 13, equation (13.10).

    Examples
    --------
    >>> from gplvm_edu.variational import FrozenMap
    >>> map_ = FrozenMap(None, None, np.array([[3.0]]), np.array([[0.5]]), None, 2.0)
    >>> linear_terms(map_, np.array([4.0]))[1:]                                  # -1, 2 * 4 * 3, -(9 - 0.5)
    (-1.0, array([24.]), array([[-8.5]]))
    """
    Lambda, beta, D = map_.weights, map_.beta, len(y)
    constant = 0.5 * D * np.log(beta / (2.0 * np.pi)) - 0.5 * beta * y @ y
    of_psi0 = -0.5 * beta * D  # (13.10)
    of_psi1 = beta * Lambda @ y  # (13.10)  (M,)
    of_Psi2 = -0.5 * beta * (Lambda @ Lambda.T - D * map_.explained)  # (13.10)  (M, M)
    return LinearTerms(float(constant), of_psi0, of_psi1, of_Psi2)


def expected_log_likelihood(terms, psi) -> float:
    r"""The expected log likelihood of one row, from its `LinearTerms` and the statistics of its place.

    .. math:: \sum_d \Big\{ \tfrac12 \ln \tfrac{\beta}{2\pi} - \tfrac\beta2 \big[ y_{*d}^2
              - 2 y_{*d} \Lambda_d^\top \psi_1^* + \psi_0^* + \mathrm{tr}\,
              (\Lambda_d \Lambda_d^\top - K_{MM}^{-1} + P^{-1}) \Psi_2^* \big] \Big\}

    Parameters
    ----------
    terms : LinearTerms
    psi : psi0, psi1 (M,), Psi2 (M, M)
        From `point_statistics`.

    Notes
    -----
    Costs O(M^2). Chapter 13, equation (13.9).

    Examples
    --------
    >>> expected_log_likelihood(LinearTerms(1.0, 2.0, np.ones(1), np.ones((1, 1))), (1.0, 3 * np.ones(1), np.eye(1)))
    7.0
    """
    (constant, of_psi0, of_psi1, of_Psi2), (psi0, psi1, Psi2) = terms, psi
    return float(constant + of_psi0 * psi0 + of_psi1 @ psi1 + np.sum(of_Psi2 * Psi2))  # (13.9)


def frozen_bound(map_, terms, latent_mean, latent_variance) -> tuple[float, np.ndarray, np.ndarray]:
    r"""The bound on the log density of one row with phi(u) frozen, and its gradient in q(x*).

    .. math:: G(q) = \langle \ln p(y_* \mid f_*) \rangle_{q(x_*)\, \phi(u)} - \mathrm{KL}(q(x_*) \,\|\, p(x_*))

    Parameters
    ----------
    map_ : FrozenMap
    terms : LinearTerms
        Of the row.
    latent_mean : ndarray (q,)
    latent_variance : ndarray (q,) or None
        None for a point: there is no KL then.

    Returns
    -------
    value : float
    d_mean, d_variance : ndarray (q,)

    Notes
    -----
    Costs O(M^2 q), whatever the number of outputs. Chapter 13, equations (13.8) to (13.11).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import Parameters, freeze
    >>> X = np.array([[-1.0], [1.0]])
    >>> map_ = freeze(np.array([[-2.0], [2.0]]), Parameters(X, 0.01 + 0 * X, X, RBF(), 0.01))
    >>> terms = linear_terms(map_, np.array([2.0]))
    >>> frozen_bound(map_, terms, np.array([0.5]), np.array([0.01]))[1] > 0      # it should move right
    array([ True])
    """
    mu, S, Z = latent_mean, latent_variance, map_.inducing_inputs
    value = expected_log_likelihood(terms, point_statistics(map_, mu, S))
    one_row = mu[None], None if S is None else S[None]  # (1, q) each
    coefficients = np.full(1, terms.of_psi0), terms.of_psi1[None], terms.of_Psi2  # of one row
    d = psi_gradients(map_.kernel, *one_row, Z, *coefficients)
    d_mu, d_S = d.latent_mean[0], d.latent_variance[0]  # (q,) each
    if S is None:
        return value, d_mu, d_S
    value = value - kl_divergence(mu, S)  # (13.8)
    return value, d_mu - mu, d_S - 0.5 * (1.0 - 1.0 / S)  # (13.11)
