"""`MagnificationDisplay`: how far a model's map stretches its latent space."""

from typing import Self

import numpy as np

from .. import checks
from ..maps import grid_points
from ..plane import chosen_dims, final_step, held_at, limits_of, log_magnification, others_remark, plane_points
from .display import SCALE, Display, draw_image, frame, remark_below


class MagnificationDisplay(Display):
    """Log magnification factors of a map over its latent space, and the training rows.

    The factor is the area in data space that a unit of latent space becomes: large where the map crosses a gap between
    clusters, small where many rows lie close together (chapter 10, equations (10.34) and (10.36a)).

    Parameters
    ----------
    values : array (n, n)
        Natural logarithms of the factors, from below, over `limits`.
    limits : (left, right, bottom, top)
    positions : array (N, 2)
        Of the training rows.
    dims : (int, int)
    remark : str
        Below the picture.

    Attributes
    ----------
    ax_, figure_, image_, colorbar_, scatter_ : what was drawn last

    Examples
    --------
    >>> from gplvm_edu import GTM
    >>> from gplvm_edu.datasets import simulate_oil_flow
    >>> model = GTM(grid=(5, 5), basis=(2, 2), max_iter=5).fit(simulate_oil_flow(40, random_state=0).data)
    >>> MagnificationDisplay.from_estimator(model).values.shape
    (60, 60)
    """

    def __init__(self, values, limits, positions, *, dims=(0, 1), remark=""):
        self.values, self.limits, self.positions = values, tuple(limits), np.asarray(positions, float)
        self.dims, self.remark = tuple(dims), remark

    @classmethod
    def from_estimator(cls, model, *, expected=True, dims=None, n_grid=60, ax=None) -> Self:
        """Ask a fitted model for its magnification factors, and draw them.

        Parameters
        ----------
        model : fitted estimator with a `map_`, or a pipeline that ends with one
        expected : bool
            Count the variance of the derivatives where the map is uncertain, as `magnification_factors` does.
        dims : (int, int), optional
            Latent dimensions that span the unit of area, as in `LatentDisplay`.
        n_grid : int
        ax : matplotlib Axes, optional
        """
        final = final_step(model)
        if not hasattr(final, "map_"):
            raise TypeError(
                f"{type(final).__name__} has no map from latent space to data, so nothing is magnified. LatentDisplay "
                "draws its positions."
            )
        dims, n = chosen_dims(final, dims, cls.__name__), checks.whole_number("n_grid", n_grid, at_least=2)
        positions = final.embedding_[:, list(dims)]
        limits = limits_of(final, positions, dims)
        X = plane_points(grid_points(limits, n), dims, held_at(final))
        values = log_magnification(final, X, dims, checks.flag("expected", expected))
        return cls(values.reshape(n, n), limits, positions, dims=dims, remark=others_remark(final, dims)).plot(ax)

    def draw(self, ax) -> None:
        """The image with its colour bar, the rows above it as small dots."""
        self.image_, self.colorbar_ = draw_image(ax, self.values, self.limits, SCALE, "log magnification factor")
        look = dict(s=9, c="white", edgecolors="black", linewidths=0.5, zorder=3)
        self.scatter_ = ax.scatter(*self.positions.T, **look)
        frame(ax, self.limits, self.positions)
        ax.set(xlabel=f"latent dimension {self.dims[0] + 1}", ylabel=f"latent dimension {self.dims[1] + 1}")
        remark_below(ax, self.remark)

    def summary(self) -> str:
        """The range of the logarithms."""
        return f"log magnification factors from {np.min(self.values):.3g} to {np.max(self.values):.3g}"
