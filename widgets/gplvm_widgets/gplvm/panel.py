"""`panel_gplvm`: the latent picture, what the cross decodes to, and the objective so far."""

import numpy as np
from matplotlib.figure import Figure

from gplvm_edu.linalg import squared_distances
from gplvm_edu.plotting import ACCENT, PALETTE, in_style, scatter_classes

from ..drawing import (
    GREYS,
    DecodedColumns,
    DecodedImage,
    DecodedPlace,
    few_ticks,
    how_sure,
    log_precision_picture,
    nearest_name,
    picture_limit,
    shades,
)
from .fit import CORRECTED, model_at, slope_ratio, snapshots
from .source import BUILT_IN, load

COARSE, FINE = 32, 64  # points along a side of the grey picture: while it runs, and at rest


@in_style
def panel_gplvm(
    data="oil flow",
    scale=False,
    kernel="RBF",
    inverse_width=1.0,
    noise=0.1,
    init="pca",
    seed=0,
    n_points=100,
    optimiser="l-bfgs",
    prior=True,
    gradient=CORRECTED,
    x1=0.0,
    x2=0.0,
    state=None,
    steps=0,
    n_grid=FINE,
) -> Figure:
    """The latent space over its grey log precision, what the cross decodes to, and the objective so far.

    Parameters
    ----------
    data : "oil flow", "digits", "Swiss roll" or Source
    scale : bool
        Divide each column by its deviation.
    kernel : "RBF", "RBF + linear", "Matern 3/2", "MLP" or "linear"
    inverse_width : float
        Start value; the MLP takes it for its weight variance.
    noise : float
        Start value, as a share of the variance of the data.
    init, optimiser, seed : as for GPLVM
    n_points : int
    prior : bool
    gradient : str
        With the 1/2 of (5.4), or without, as Lawrence (2005), equation (10), prints it.
    x1, x2 : float
        Where the cross is.
    state : Snapshot or None
        An iterate of a run.
    steps : int
        Without a state: how many steps to take first.
    n_grid : int
        Points along a side of the grey picture.

    Returns
    -------
    matplotlib Figure
    """
    source = BUILT_IN[data] if isinstance(data, str) else data
    settings = dict(
        scale=scale,
        kernel=kernel,
        inverse_width=inverse_width,
        noise=noise,
        init=init,
        seed=seed,
        n_points=n_points,
        optimiser=optimiser,
        prior=prior,
        gradient=gradient,
    )
    if state is None and steps > 0:
        *_, (_, state) = snapshots(source, steps, **settings)
    model = model_at(source, state, **settings)
    figure = Figure(figsize=(9.2, 5.9), layout="none")
    scene = Scene(figure, model, source, *load(source, n_points, scale), n_grid)
    draw_trace(figure.add_axes((0.73, 0.09, 0.255, 0.225)), model, state, slope_ratio(source, **settings))
    scene.point_at(x1, x2)
    figure.scene, figure.moving = scene, scene.moving
    return figure


class Scene:
    """The latent picture and the decoded point; `point_at` moves the cross and all that depends on it."""

    def __init__(self, figure, model, source, Y, target, names, n_grid):
        self.model, self.Y, self.target, self.names = model, Y, target, names
        self.latent = figure.add_axes((0.075, 0.09, 0.525, 0.81))
        draw_latent(self.latent, figure.add_axes((0.611, 0.09, 0.013, 0.81)), model, target, names, n_grid)
        (self.cross,) = self.latent.plot([], [], "+", color=ACCENT, markersize=22, markeredgewidth=3, animated=True)
        (self.ring,) = self.latent.plot(
            [],
            [],
            "o",
            markersize=11,
            markerfacecolor="none",
            markeredgecolor="black",
            markeredgewidth=1.4,
            animated=True,
        )
        decode = figure.add_axes((0.73, 0.585, 0.255, 0.335))
        kind = DecodedImage if source.image_shape else DecodedPlace if Y.shape[1] == 3 else DecodedColumns
        self.decoded = kind(decode, Y, target, source.image_shape)
        self.words = decode.text(
            0.715, 0.525, "", transform=figure.transFigure, va="top", fontsize=9.5, animated=True, linespacing=1.3
        )
        self.moving = [self.ring, self.cross, *self.decoded.moving, self.words]

    def point_at(self, x1, x2):
        """Decode (x1, x2), and say how sure the map is there."""
        x = np.array([[x1, x2]])
        mean, deviation = self.model.inverse_transform(x, return_std=True)
        nearest = int(np.argmin(squared_distances(x, self.model.embedding_)))
        self.cross.set_data([x1], [x2])
        self.ring.set_data(*self.model.embedding_[nearest : nearest + 1].T)
        self.decoded.show(mean[0], deviation[0], self.Y[nearest])
        name = nearest_name(self.target, self.names, nearest)
        share = self.model.map_.relative_deviation(x)[0, 0]
        self.words.set_text(
            f"deviation {deviation[0, 0]:.3g}, {100 * share:.{int(share < 0.1)}f} % of the prior's\n"
            f"{how_sure(share)}\nnearest: point {nearest}{name}"
        )


def draw_latent(axes, bar, model, target, names, n_grid):
    """Points over the log precision of the map, and its colour bar."""
    X = model.embedding_
    limit = picture_limit(X)
    extent = (-limit, limit, -limit, limit)
    grey = log_precision_picture(model, limit, n_grid)
    picture = axes.imshow(grey, extent=extent, origin="lower", cmap=GREYS, interpolation="bilinear", aspect="auto")
    if names is None:
        axes.scatter(*X.T, s=22, linewidths=0, **shades(target))
    else:
        scatter_classes(axes, X, target, names, size=22, alpha=0.9, legend=False)
        axes.legend(
            loc="lower left",
            bbox_to_anchor=(-0.02, 0.99),
            ncols=6,
            fontsize="small",
            handletextpad=0.1,
            columnspacing=0.9,
            borderpad=0.2,
        )
    axes.set(
        xlim=(-limit, limit),
        ylim=(-limit, limit),
        xlabel="latent dimension 1",
        ylabel="latent dimension 2",
        xticks=[-limit, 0, limit],
        yticks=[-limit, 0, limit],
    )  # few ticks: they are half of a redraw
    axes.set_title("drag the cross; the ring is the nearest point", y=1.045)
    axes.set_gid("latent")
    bar.figure.colorbar(picture, cax=bar, ticks=few_ticks(grey.min(), grey.max()))
    bar.set_ylabel("log precision (light: sure)", labelpad=2)


def draw_trace(axes, model, snapshot, ratio):
    """The objective against the number of steps, the iterate that is shown as a dot."""
    values = model.history_ if snapshot is None else np.array(snapshot.values)
    step = 0 if snapshot is None else snapshot.step
    axes.plot(values, color="#c4c4c4", linewidth=1.4)
    axes.plot(values[: step + 1], color=PALETTE[0], linewidth=1.6)
    axes.plot(step, values[step], "o", color=ACCENT, markersize=7)
    name = "log posterior" if model.latent_prior == "gaussian" else "log likelihood"
    axes.set_title(f"{name} {values[step]:.1f}\ngradient / difference quotient {ratio:.2f}", fontsize=9.5)
    low, high = values.min(), values.max()
    room = 0.08 * (high - low) if high > low else 1.0
    axes.set(
        xlim=(-0.5, max(1.03 * len(values), 20)),
        ylim=(low - room, high + room),
        xlabel="step" if len(values) > 1 else "step (press Run)",
        yticks=few_ticks(low, high),
        xticks=few_ticks(0, max(len(values) - 1, 20)),
    )
    axes.tick_params(labelsize=8.5)
