"""The map of a fitted Bayesian GP-LVM, with the questions that every map answers; its data may have gaps."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..kernels import Kernel
from ..maps import KernelMap
from .bound import JITTER, explained
from .fast import PackedPsi, PointPsi, evaluate_bound, group_outputs, prepare_psi
from .moments import FrozenMap


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

    @property
    def positions_are_parameters(self) -> bool:
        """Whether the latent points were optimised, not integrated out."""
        return self.latent_variance is None

    @cached_property
    def psi(self):
        """The Psi statistics of uncertain points, prepared once: a function of their means and variances."""
        return prepare_psi(self.kernel, self.centres, uncertain=True)

    def statistics(self, latent_mean, latent_variance) -> PackedPsi:
        """Psi statistics of each point by itself, equation (13.3); the variance None for points known exactly."""
        psi = PointPsi(self.kernel, self.centres) if latent_variance is None else self.psi
        return psi(latent_mean, latent_variance, "each")

    def complete_maps(self) -> list[tuple[np.ndarray, FrozenMap]]:
        """Columns and `FrozenMap` of each group of outputs: what the functions for complete data take."""
        maps = []
        for columns, E, f in zip(self.columns(), self.differences, self.factors, strict=True):
            map_ = FrozenMap(self.kernel, self.centres, self.weights[:, columns], E, f.R, self.beta)
            maps.append((columns, map_))
        return maps

    def columns(self) -> list[np.ndarray]:
        """Columns of each group of outputs."""
        return [np.flatnonzero(self.group == g) for g in range(len(self.differences))]

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
    outputs, Z = group_outputs(Y, narrow=False), parameters.inducing_inputs  # every column is wanted itself
    bound = evaluate_bound(outputs, parameters, jitter)
    weights, group = np.zeros((len(Z), Y.shape[1])), np.zeros(Y.shape[1], dtype=int)
    for g, (part, f) in enumerate(zip(outputs.groups, bound.factors, strict=True)):
        weights[:, part.columns], group[part.columns] = f.R.T @ f.C, g  # (13.2)  beta P^-1 Psi1' Y
    return InducingMap(
        kernel=parameters.kernel,
        centres=Z,
        weights=weights,
        differences=np.array([explained(f) for f in bound.factors]),
        group=group,
        factors=tuple(bound.factors),
        beta=1.0 / parameters.noise_variance,
        mean=mean,
        latent_mean=parameters.latent_mean,
        latent_variance=parameters.latent_variance,
        jitter=bound.jitter,
    )
