"""What phi(u) says about the data at one latent point, sure or uncertain: the lesson of chapter 13, complete data."""

from typing import NamedTuple

import numpy as np

from ..kernels import Kernel
from .bound import JITTER, explained
from .objective import evaluate_bound
from .psi import psi_statistics


class FrozenMap(NamedTuple):
    """The map that phi(u) makes of complete data, with phi(u) frozen: all that chapter 13 needs of the training data.

    kernel : without White; inducing_inputs (M, q) : Z; weights (M, D) : Lambda, the mean at x is k(x, Z) Lambda;
    explained (M, M) : K^-1 - P^-1, what the data have told about f; root (M, M) : R, with R'R = P^-1; beta : noise
    precision.
    """

    kernel: Kernel
    inducing_inputs: np.ndarray
    weights: np.ndarray
    explained: np.ndarray
    root: np.ndarray
    beta: float


def freeze(Y, parameters, jitter=JITTER) -> FrozenMap:
    r"""The `FrozenMap` that follows from complete, centred data Y (N, D) and the parameters of the bound.

    .. math:: \Lambda = \beta P^{-1} \Psi_1^\top Y, \qquad K_{MM}^{-1} - P^{-1}, \qquad P = K_{MM} + \beta \Psi_2

    Notes
    -----
    Costs O(N M^2 q + N M D + M^3). Chapter 13, equation (13.2); Titsias and Lawrence (2010), section 4.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import Parameters
    >>> X = np.array([[-1.0], [1.0]])
    >>> freeze(np.array([[-2.0], [2.0]]), Parameters(X, 0.01 + 0 * X, X, RBF(), 0.01)).weights.ravel().round(1)
    array([-2.3,  2.3])
    """
    Z, kernel = parameters.inducing_inputs, parameters.kernel
    factors = evaluate_bound(Y, parameters, jitter).factors
    R, C = factors.R, factors.C  # of chapter 12: P^-1 = R'R and C = beta R Psi1' Y
    Lambda = R.T @ C  # (13.2)  (M, D)
    return FrozenMap(kernel, Z, Lambda, explained(factors), R, factors.beta)


class Moments(NamedTuple):
    """Mean of the outputs, and the two parts of their variance: of the place, and of the map; (D,) at one point."""

    mean: np.ndarray
    from_place: np.ndarray
    from_map: np.ndarray

    @property
    def variance(self) -> np.ndarray:
        """Of the noise-free output."""
        return self.from_place + self.from_map


def predict_moments(map_, latent_mean, latent_variance) -> Moments:
    r"""Mean and variance of every output at one uncertain latent point.

    .. math:: \langle f_* \rangle = \Lambda^\top \psi_1^*, \qquad \mathrm{var} f_{*d} =
              \underbrace{\Lambda_d^\top (\Psi_2^* - \psi_1^* \psi_1^{*\top}) \Lambda_d}_{\text{place}}
              + \underbrace{\psi_0^* - \mathrm{tr}[(K_{MM}^{-1} - P^{-1}) \Psi_2^*]}_{\text{map}}

    Parameters
    ----------
    map_ : FrozenMap
    latent_mean : ndarray (q,)
    latent_variance : ndarray (q,) or None
        None for a point known exactly.

    Returns
    -------
    Moments
        Of the centred data, (D,) each.

    Notes
    -----
    Costs O(M^2 (q + D)). Chapter 13, equations (13.4) to (13.6); Titsias and Lawrence (2010), section 4.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import Parameters
    >>> X = np.array([[-1.0], [1.0]])
    >>> map_ = freeze(np.array([[-2.0], [2.0]]), Parameters(X, 0.01 + 0 * X, X, RBF(), 0.01))
    >>> sharp, wide = (predict_moments(map_, np.ones(1), np.full(1, s)) for s in (0.01, 1.0))
    >>> bool(wide.from_place > sharp.from_place), bool(wide.from_map > sharp.from_map)
    (True, True)
    """
    Lambda = map_.weights
    psi0, psi1, Psi2 = point_statistics(map_, latent_mean, latent_variance)
    mean = Lambda.T @ psi1  # (13.4)  (D,)
    spread = Psi2 - np.outer(psi1, psi1)  # (M, M)
    from_place = np.sum(Lambda * (spread @ Lambda), axis=0)  # (13.5)  (D,)
    from_map = psi0 - np.sum(map_.explained * Psi2)  # (13.6)  the same for each output
    from_place, from_map = np.maximum(from_place, 0.0), max(from_map, 0.0)  # against rounding
    return Moments(mean, from_place, np.full(len(mean), from_map))


def point_statistics(map_, latent_mean, latent_variance) -> tuple[float, np.ndarray, np.ndarray]:
    """Psi statistics of one point: psi0, psi1 (M,) and Psi2 (M, M), equation (13.3).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> map_ = FrozenMap(RBF(), np.zeros((1, 1)), None, None, None, 1.0)
    >>> point_statistics(map_, np.zeros(1), None)
    (1.0, array([1.]), array([[1.]]))
    """
    mu, S = latent_mean[None], None if latent_variance is None else latent_variance[None]
    psi = psi_statistics(map_.kernel, mu, S, map_.inducing_inputs)
    return float(psi.psi0[0]), psi.Psi1[0], psi.Psi2
