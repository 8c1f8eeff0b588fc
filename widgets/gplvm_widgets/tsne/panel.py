"""`panel_tsne`: the map over its grey log precision, what the cross decodes to, and both terms along the slider."""

import numpy as np
from matplotlib.figure import Figure

from gplvm_edu.linalg import squared_distances
from gplvm_edu.metrics import nearest_neighbour_errors
from gplvm_edu.plotting import ACCENT, PALETTE, in_style, scatter_classes

from ..drawing import (
    GREYS,
    DecodedColumns,
    DecodedImage,
    few_ticks,
    how_sure,
    log_precision_picture,
    nearest_name,
    picture_limit,
)
from .fit import CORRECTED, IMAGE_SHAPE, NAMES, TEMPERATURES, PrintedTSNEPriorGPLVM, fitted, load

N_GRID = 48


@in_style
def panel_tsne(
    data="digits",
    temperature=1e-12,
    perplexity=20,
    width=3.16,
    start="t-SNE",
    n_points=120,
    energy=CORRECTED,
    x1=0.0,
    x2=0.0,
    known=TEMPERATURES,
) -> Figure:
    """The latent space at one temperature, a decoded place, and the two terms of the objective.

    Parameters
    ----------
    data : "digits" or "oil flow"
    temperature : float
        One of `TEMPERATURES`.
    perplexity : int
    width : float
        Of the kernel, in the units of the map.
    start : "t-SNE" or "PCA"
    n_points : int
    energy : "corrected" or "as printed"
    x1, x2 : float
        Where the cross is, from -1 to 1 across the picture.
    known : sequence of float
        Temperatures whose terms are drawn into the curves (the one shown is always among them).

    Returns
    -------
    matplotlib Figure
    """
    setting = (data, n_points, perplexity, start, width, energy)
    model, (Y, target, names) = fitted(*setting, temperature), load(data, n_points)
    figure = Figure(figsize=(9.2, 5.9), layout="none")
    scene = Scene(figure, model, Y, target, names, data)
    models = {tau: fitted(*setting, tau) for tau in TEMPERATURES if tau in known or tau == temperature}
    draw_terms(figure.add_axes((0.735, 0.125, 0.185, 0.25)), models, temperature)
    scene.point_at(x1, x2)
    figure.scene, figure.moving = scene, scene.moving
    return figure


class Scene:
    """The map and the decoded place; `point_at` moves the cross and all that depends on it."""

    def __init__(self, figure, model, Y, target, names, data):
        self.model, self.Y, self.target, self.names = model, Y, target, names
        self.latent = figure.add_axes((0.075, 0.09, 0.525, 0.775))
        draw_map(self.latent, figure.add_axes((0.611, 0.09, 0.013, 0.775)), model, target, names)
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
        decode = figure.add_axes((0.735, 0.635, 0.25, 0.29))
        kind = DecodedImage if IMAGE_SHAPE[data] else DecodedColumns
        self.decoded = kind(decode, Y, target, IMAGE_SHAPE[data])
        self.words = decode.text(
            0.72, 0.575, "", transform=figure.transFigure, va="top", fontsize=9.5, animated=True, linespacing=1.3
        )
        self.moving = [self.ring, self.cross, *self.decoded.moving, self.words]

    def place(self, x1, x2):
        """The latent point (1, 2) under the cross."""
        return self.latent.get_xlim()[1] * np.array([[x1, x2]])

    def point_at(self, x1, x2):
        """Decode the place, and say how sure the map is there."""
        x = self.place(x1, x2)
        mean, deviation = self.model.inverse_transform(x, return_std=True)
        nearest = int(np.argmin(squared_distances(x, self.model.embedding_)))
        self.cross.set_data([x[0, 0]], [x[0, 1]])
        self.ring.set_data(*self.model.embedding_[nearest : nearest + 1].T)
        self.decoded.show(mean[0], deviation[0], self.Y[nearest])
        share = self.model.map_.relative_deviation(x)[0, 0]
        self.words.set_text(
            f"{how_sure(share)}\ndeviation {share:.0%} of the prior's\n"
            f"nearest: point {nearest}{nearest_name(self.target, self.names, nearest)}"
        )


def title_of(model):
    """What stands at this place of the slider."""
    tau = model.temperature
    if tau == TEMPERATURES[-1] and isinstance(model, PrintedTSNEPriorGPLVM):
        return "the printed energy alone"
    return NAMES[tau] if tau in (TEMPERATURES[0], TEMPERATURES[-1]) else f"temperature {NAMES[tau]}"


def draw_map(axes, bar, model, target, names):
    """Positions over the grey log precision; the title counts neighbours of another class."""
    limit = picture_limit(model.embedding_)
    extent = (-limit, limit, -limit, limit)
    grey = log_precision_picture(model, limit, N_GRID)
    picture = axes.imshow(grey, extent=extent, origin="lower", cmap=GREYS, interpolation="bilinear", aspect="auto")
    scatter_classes(axes, model.embedding_, target, names, size=22, alpha=0.9, legend=False)
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.02, 0.985),
        ncols=10,
        fontsize="small",
        handletextpad=0.0,
        columnspacing=0.7,
        borderpad=0.2,
    )
    errors = nearest_neighbour_errors(model.embedding_, target)
    axes.set(
        xlim=(-limit, limit),
        ylim=(-limit, limit),
        xlabel="latent dimension 1",
        ylabel="latent dimension 2",
        xticks=[-limit, 0, limit],
        yticks=[-limit, 0, limit],
    )
    axes.set_title(f"{title_of(model)}: {errors} of {len(target)} points beside another class", y=1.065)
    axes.set_gid("latent")
    bar.figure.colorbar(picture, cax=bar, ticks=few_ticks(grey.min(), grey.max()))
    bar.set_ylabel("log precision (light: sure)", labelpad=2)


def draw_terms(axes, models, temperature):
    """Both terms against the place of the slider: nats an entry on the left, the energy on the right."""
    last = len(TEMPERATURES) - 1
    shown, model = [TEMPERATURES.index(tau) for tau in models], models[temperature]
    likelihood = np.array([m.log_likelihood_ / m.rows_.size for m in models.values()])
    energy = np.array([m.energy_ for m in models.values()])
    right = axes.twinx()
    for place, values, colour, marker in ((axes, likelihood, PALETTE[0], "o"), (right, energy, ACCENT, "s")):
        place.plot(shown, values, marker=marker, color=colour, markersize=3.5, linewidth=1.2)
        now = values[list(models).index(temperature)]
        place.plot(TEMPERATURES.index(temperature), now, marker=marker, color=colour, markersize=9)
        low, high = (values.min(), values.max()) if np.ptp(values) > 1e-9 else (now - 0.05, now + 0.05)
        place.set_ylim(low - 0.12 * (high - low), high + 0.12 * (high - low))
        place.set_yticks(few_ticks(low, high))
        place.tick_params(axis="y", labelsize=8.5, colors=colour)
    right.spines["right"].set_visible(True)
    balance = np.interp(np.log10(model.rows_.size), -np.log10(TEMPERATURES[1:]), range(1, last + 1))
    axes.axvline(balance, color="#9a9a9a", linewidth=1, linestyle=":")
    axes.set(xlim=(-0.6, last + 0.6), xticks=[0, balance, last])
    axes.set_xticklabels(["GP-LVM", "balance", "t-SNE"], fontsize=8.5)
    axes.text(
        -0.07,
        1.17,
        f"log likelihood {model.log_likelihood_ / model.rows_.size:.3f} nats an entry",
        transform=axes.transAxes,
        color=PALETTE[0],
        fontsize=9,
    )
    axes.text(-0.07, 1.05, f"energy {model.energy_:.3f} nats", transform=axes.transAxes, color=ACCENT, fontsize=9)
