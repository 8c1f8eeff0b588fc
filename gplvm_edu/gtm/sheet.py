"""The map of the GTM: a sheet y(x) = W phi(x), smooth everywhere and not only at the nodes."""

from dataclasses import dataclass

import numpy as np

from ..maps import Map, gaussian_rows
from .grid import Basis, basis_derivatives, basis_functions


@dataclass(frozen=True)
class SheetMap(Map):
    """A sheet with Gaussian noise: basis, weights (D, M), mean (D,) of the data, precision of the noise, nodes (K, q).

    Latent points are uniform over the nodes; a row may be placed anywhere on the sheet, also between and beyond them.

    Examples
    --------
    >>> from gplvm_edu.gtm import latent_grid, make_basis
    >>> line = SheetMap(make_basis((2,)), np.array([[0.0, 0.0, 0.0, 3.0]]), np.ones(1), 4.0, latent_grid((5,)))
    >>> line.moments(np.array([[0.5]]))                                          # y = 1 + 3 x
    (array([[2.5]]), array([[0.]]))
    >>> line.log_density(np.array([[2.5]]), np.array([[0.5]]))
    (array([-0.22579135]), array([[0.]]))
    """

    basis: Basis
    weights: np.ndarray
    mean: np.ndarray
    precision: float
    nodes: np.ndarray

    certain_because = "the weights of the sheet are a point estimate, so nothing is uncertain but the noise"

    @property
    def noise_variance(self):
        """1 / beta."""
        return 1.0 / self.precision

    @property
    def row_size(self) -> int:
        """Numbers in the basis functions of one row and in their derivatives."""
        return self.basis.size * (1 + self.nodes.shape[1])

    def moments(self, X) -> tuple[np.ndarray, np.ndarray]:
        """The sheet at latent points, and no variance; both (M, D)."""
        mean = basis_functions(X, self.basis) @ self.weights.T + self.mean
        return mean, np.zeros_like(mean)

    def jacobian(self, X) -> np.ndarray:
        """Derivatives of the sheet, (M, D, q), equation (10.35)."""
        return (basis_derivatives(X, self.basis) @ self.weights.T).transpose(1, 2, 0)  # (10.35)

    def log_density(self, Y, X) -> tuple[np.ndarray, np.ndarray]:
        """Log density of each row at its latent point (M,), equation (9.5), and gradients (M, q); NaN is a gap."""
        mean, _ = self.moments(X)
        terms = gaussian_rows(Y, mean, np.broadcast_to(self.noise_variance, mean.shape))
        return terms.values, np.einsum("md,mdq->mq", terms.in_mean, self.jacobian(X))
