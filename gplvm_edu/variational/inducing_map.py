"""The map of the Bayesian GP-LVM: what phi(u) says about the data at latent points, sure or uncertain."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..kernels import Kernel
from ..maps import KernelMap
from .bound import JITTER, inverse_difference
from .kernel_expectations import PointPsi, PsiStatistics, pairs
from .objective import Outputs, evaluate_bound, group_outputs
from .psi import prepare_psi


@dataclass(frozen=True)
class InducingMap(KernelMap):
    """The map that a variational posterior phi(u) makes of the data, with phi(u) frozen.

    kernel : without White; centres (M, q) : Z; weights (M, D) : Lambda = K^-1 <u>, the mean at x is k(x, Z) Lambda;
    differences (G, M, M) : K^-1 - P^-1, what the data have told about f, for each group of outputs observed at the same
    points; group (D,) : the group of each output; factors : `Factors` of each group, with R'R = P^-1;
    beta : noise precision; mean (D,) : added to the outputs; latent_mean, latent_variance (N, q) : q(X) of the training
    points, the variance None for points; jitter : the share added to the diagonal of K.
    """

    kernel: Kernel
    centres: np.ndarray
    weights: np.ndarray
    differences: np.ndarray
    group: np.ndarray
    factors: tuple
    beta: float
    mean: np.ndarray | float = 0.0
    latent_mean: np.ndarray | None = None
    latent_variance: np.ndarray | None = None
    jitter: float = 0.0

    @property
    def noise_variance(self):
        """One over beta."""
        return 1.0 / self.beta

    @property
    def latent_prior(self) -> str | None:
        """The unit Gaussian, unless the latent points were optimised without one."""
        return None if self.latent_variance is None else "gaussian"

    @cached_property
    def psi(self):
        """The Psi statistics of uncertain points, prepared once: a function of their means and variances."""
        return prepare_psi(self.kernel, self.centres, uncertain=True)

    def statistics(self, latent_mean, latent_variance) -> PsiStatistics:
        """Psi statistics of each point by itself, equation (13.3); the variance None for points known exactly."""
        psi = PointPsi(self.kernel, self.centres) if latent_variance is None else self.psi
        return psi(latent_mean, latent_variance, "each")  # (13.3)

    def halves(self, C) -> tuple[np.ndarray, np.ndarray]:
        """(K^-1 - P^-1) c and c for each row, (G, M, n) and (1, M, n): of this difference no root is at hand."""
        return C @ self.differences, C[None]

    def wholes(self, halves) -> np.ndarray:
        """(K^-1 - P^-1) c for each row: the first half is all of it."""
        return halves

    def by_output(self, values) -> np.ndarray:
        """Numbers for each group (M, G), as those of each output: (M, D), or (M, 1) where all are alike."""
        return values if values.shape[1] == 1 else values[:, self.group]

    def by_group(self, values, n_groups) -> np.ndarray:
        """Numbers for each output (M, D), summed over the outputs of each group, (M, G)."""
        return np.stack([values[:, self.group == g].sum(axis=1) for g in range(n_groups)], axis=1)


def make_map(Y, parameters, jitter=JITTER, mean=0.0):
    r"""The `InducingMap` that follows from centred data Y (NaN is a gap) and the parameters of the bound.

    .. math:: \Lambda = \beta P^{-1} \Psi_1^\top Y, \qquad K_{MM}^{-1} - P^{-1}, \qquad P = K_{MM} + \beta \Psi_2

    Parameters
    ----------
    Y : ndarray (N, D)
    parameters : Parameters
    jitter : float
        Share of the mean diagonal of K_MM that is added to it.
    mean : ndarray (D,) or float
        Added to the outputs.

    Notes
    -----
    Costs O(N M^2 q + N M D) and O(M^3 + M^2 D) for each group of outputs. Chapter 13, equation (13.2); Titsias and
    Lawrence (2010), section 4.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import Parameters
    >>> X = np.array([[-1.0], [1.0]])
    >>> map_ = make_map(np.array([[-2.0], [2.0]]), Parameters(X, 0.01 + 0 * X, X, RBF(), 0.01))
    >>> map_.weights.ravel().round(1)
    array([-2.3,  2.3])
    """
    observed, D = group_outputs(Y), Y.shape[1]
    if D != observed.Y.shape[1]:  # here every column is wanted itself
        observed = Outputs(Y, [np.arange(D)], None, [D], observed.squared_norm)
    bound, Z = evaluate_bound(observed, parameters, jitter), parameters.inducing_inputs
    weights, group = np.zeros((len(Z), D)), np.zeros(D, dtype=int)
    for g, (columns, f) in enumerate(zip(observed.columns, bound.factors, strict=True)):
        weights[:, columns], group[columns] = f.R.T @ f.c, g  # (13.2)  beta P^-1 Psi1' Y
    return InducingMap(
        kernel=parameters.kernel,
        centres=Z,
        weights=weights,
        differences=np.array([inverse_difference(f) for f in bound.factors]),  # (13.2)
        group=group,
        factors=tuple(bound.factors),
        beta=1.0 / parameters.noise_variance,
        mean=mean,
        latent_mean=parameters.latent_mean,
        latent_variance=parameters.latent_variance,
        jitter=bound.jitter,
    )


class Moments(NamedTuple):
    """Mean of the outputs (n, D), and the two parts of their variance: of the place, and of the map, both (n, D)."""

    mean: np.ndarray
    from_place: np.ndarray
    from_map: np.ndarray

    @property
    def variance(self) -> np.ndarray:
        """Of the noise-free output, (n, D)."""
        return self.from_place + self.from_map


def predict_moments(map_, latent_mean, latent_variance) -> Moments:
    r"""Mean and variance of every output at uncertain latent points.

    .. math:: \langle f_* \rangle = \Lambda^\top \psi_1^*, \qquad \mathrm{var} f_{*d} =
              \underbrace{\Lambda_d^\top (\Psi_2^* - \psi_1^* \psi_1^{*\top}) \Lambda_d}_{\text{place}}
              + \underbrace{\psi_0^* - \mathrm{tr}[(K_{MM}^{-1} - P^{-1}) \Psi_2^*]}_{\text{map}}

    Parameters
    ----------
    map_ : InducingMap
    latent_mean : ndarray (n, q)
    latent_variance : ndarray (n, q) or None
        None for points known exactly.

    Returns
    -------
    Moments
        Of the centred data.

    Notes
    -----
    Costs O(n M^2 (q + D)). Chapter 13, equations (13.4) to (13.6); Titsias and Lawrence (2010), section 4.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import Parameters
    >>> X = np.array([[-1.0], [1.0]])
    >>> map_ = make_map(np.array([[-2.0], [2.0]]), Parameters(X, 0.01 + 0 * X, X, RBF(), 0.01))
    >>> sharp, wide = (predict_moments(map_, np.ones((1, 1)), np.full((1, 1), s)) for s in (0.01, 1.0))
    >>> bool(wide.from_place > sharp.from_place), bool(wide.from_map > sharp.from_map)
    (True, True)
    """
    Lambda = map_.weights
    first, second, times, _ = pairs(len(Lambda))
    psi = map_.statistics(latent_mean, latent_variance)  # (13.3)
    mean = psi.Psi1 @ Lambda  # (13.4)
    known = np.array([psi.pairs @ (times * E[first, second]) for E in map_.differences])  # (G, n)
    from_map = np.maximum(psi.psi0 - known, 0.0)[map_.group].T  # (13.6)
    if latent_variance is None:
        return Moments(mean, np.zeros_like(mean), from_map)
    spread = psi.pairs - psi.Psi1[:, first] * psi.Psi1[:, second]  # Psi2 - psi1 psi1'
    from_place = spread @ (times[:, None] * Lambda[first] * Lambda[second])  # (13.5)
    return Moments(mean, np.maximum(from_place, 0.0), from_map)
