"""From a fuzzy latent point to the data: the map that a fitted model has learnt, and its moments."""
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..variational import pairs
from .statistics import row_statistics, whole


class OutputMap(NamedTuple):
    """What phi(u) says about every output: the fitted model as prediction sees it.

    beta : noise precision; weights (M, D): Lambda = K^-1 <u>, the mean of output d at x is k(x, Z) Lambda_d;
    explained (G, M, M): K^-1 - P^-1, what the data have told about f, for each group of outputs; roots (G, M, M):
    R with R'R = P^-1; group (D,): the group of each output; statistics: the function that `row_statistics` prepared;
    uncertain: whether latent points are Gaussian (or points).
    """

    beta: float
    weights: np.ndarray
    explained: np.ndarray
    roots: np.ndarray
    group: np.ndarray
    statistics: Callable
    uncertain: bool


def output_map(posterior, uncertain=None):
    r"""The map of a fitted model, with phi(u) frozen.

    .. math:: \Lambda = \beta P^{-1} \Psi_1^\top Y, \qquad K_{MM}^{-1} - P^{-1}, \qquad P = K_{MM} + \beta \Psi_2

    Parameters
    ----------
    posterior : Posterior
        `model.posterior_` of a `BayesianGPLVM`; its statistics are those of the training points.
    uncertain : bool or None
        Whether the points to be predicted at are Gaussian. None: as the model's own latent points.

    Returns
    -------
    OutputMap

    Notes
    -----
    Costs O(M^3 + M^2 D) for each group of outputs. The difference of inverses is formed as a product, R'V, which keeps
    its digits. Chapter 13, equation (13.2); Titsias and Lawrence (2010), section 4.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import Parameters, posterior_of
    >>> X = np.array([[-1.0], [1.0]])
    >>> learnt = output_map(posterior_of(np.array([[-2.0], [2.0]]), Parameters(X, 0.01 + 0 * X, X, RBF(), 0.01)))
    >>> learnt.weights.ravel().round(1)
    array([-2.3,  2.3])
    """
    groups, M = posterior.groups, len(posterior.Z)
    D = sum(len(group.columns) for group in groups)
    weights, member = np.zeros((M, D)), np.zeros(D, dtype=int)
    explained, roots = np.zeros((len(groups), M, M)), np.zeros((len(groups), M, M))
    for g, (columns, _, _, factors) in enumerate(groups):
        L, A, L_B, R, c, _ = factors
        V = linalg.solve_triangular(L, linalg.solve_triangular(L_B, A, lower=True).T, lower=True, trans=1).T
        explained[g], roots[g] = R.T @ V, R                                      # (13.2)  K^-1 - P^-1
        weights[:, columns], member[columns] = R.T @ c, g                        # (13.2)  beta P^-1 Psi1' Y
    uncertain = posterior.latent_variance is not None if uncertain is None else uncertain
    statistics = row_statistics(posterior.kernel, posterior.Z, uncertain)
    return OutputMap(posterior.beta, weights, explained, roots, member, statistics, uncertain)


class Moments(NamedTuple):
    """Mean of the outputs (n, D), and the two parts of their variance: of the place, and of the map, both (n, D)."""

    mean: np.ndarray
    from_place: np.ndarray
    from_map: np.ndarray

    @property
    def variance(self):
        """Of the noise-free output, (n, D)."""
        return self.from_place + self.from_map


def predict_moments(learnt, latent_mean, latent_variance):
    r"""Mean and variance of every output at fuzzy latent points.

    .. math:: \langle f_* \rangle = \Lambda^\top \psi_1^*, \qquad \mathrm{var} f_{*d} =
              \underbrace{\Lambda_d^\top (\Psi_2^* - \psi_1^* \psi_1^{*\top}) \Lambda_d}_{\text{place}}
              + \underbrace{\psi_0^* - \mathrm{tr}[(K_{MM}^{-1} - P^{-1}) \Psi_2^*]}_{\text{map}}

    Parameters
    ----------
    learnt : OutputMap
    latent_mean : ndarray (n, q)
    latent_variance : ndarray (n, q) or None
        None for points.

    Returns
    -------
    Moments

    Notes
    -----
    Costs O(n M^2 (q + D)). Chapter 13, equations (13.4) to (13.6); Titsias and Lawrence (2010), section 4.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import Parameters, posterior_of
    >>> X = np.array([[-1.0], [1.0]])
    >>> learnt = output_map(posterior_of(np.array([[-2.0], [2.0]]), Parameters(X, 0.01 + 0 * X, X, RBF(), 0.01)))
    >>> sharp, fuzzy = (predict_moments(learnt, np.ones((1, 1)), np.full((1, 1), s)) for s in (0.01, 1.0))
    >>> bool(fuzzy.from_place > sharp.from_place), bool(fuzzy.from_map > sharp.from_map)
    (True, True)
    """
    Lambda, M = learnt.weights, len(learnt.weights)
    first, second, times, _ = pairs(M)
    psi = learnt.statistics(latent_mean, latent_variance)
    mean = psi.Psi1 @ Lambda                                                     # (13.4)
    known = np.array([psi.pairs @ (times * E[first, second]) for E in learnt.explained])        # (G, n)
    from_map = np.maximum(psi.psi0 - known, 0.0)[learnt.group].T                 # (13.6)
    if not learnt.uncertain:
        return Moments(mean, np.zeros_like(mean), from_map)
    spread = psi.pairs - psi.Psi1[:, first] * psi.Psi1[:, second]                # Psi2 - psi1 psi1'
    from_place = spread @ (times[:, None] * Lambda[first] * Lambda[second])      # (13.5)
    return Moments(mean, np.maximum(from_place, 0.0), from_map)


def predict_covariance(learnt, latent_mean, latent_variance):
    r"""Covariance between the outputs at fuzzy latent points, noise-free, (n, D, D).

    .. math:: \mathrm{cov} f_* = \Lambda^\top (\Psi_2^* - \psi_1^* \psi_1^{*\top}) \Lambda
              + \{\psi_0^* - \mathrm{tr}[(K_{MM}^{-1} - P^{-1}) \Psi_2^*]\}\, I

    Notes
    -----
    Costs O(n M D (M + D)). Outputs are tied to one another by the place they share, and by nothing else.
    Chapter 13, equation (13.7); Titsias and Lawrence (2010), after equation (21).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import Parameters, posterior_of
    >>> X = np.array([[-1.0], [1.0]])
    >>> Y = np.array([[-2.0, 2.0], [2.0, -2.0]])
    >>> learnt = output_map(posterior_of(Y, Parameters(X, 0.01 + 0 * X, X, RBF(), 0.01)))
    >>> np.sign(predict_covariance(learnt, np.zeros((1, 1)), np.ones((1, 1))))
    array([[[ 1., -1.],
            [-1.,  1.]]])
    """
    Lambda, M = learnt.weights, len(learnt.weights)
    psi = learnt.statistics(latent_mean, latent_variance)
    spread = whole(psi.pairs, M) - psi.Psi1[:, :, None] * psi.Psi1[:, None, :]
    covariance = Lambda.T @ spread @ Lambda                                      # (13.7)  (n, D, D)
    diagonal = np.arange(Lambda.shape[1])
    covariance[:, diagonal, diagonal] += predict_moments(learnt, latent_mean, latent_variance).from_map
    return covariance
