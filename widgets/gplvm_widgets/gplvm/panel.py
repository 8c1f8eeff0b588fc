"""`panel_gplvm`: the latent picture, what the cross decodes to, and the objective so far."""
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from gplvm_edu.linalg import squared_distances
from gplvm_edu.plotting import ACCENT, PALETTE, in_style, scatter_classes

from .fit import CORRECTED, model_at, slope_ratio, snapshots
from .source import BUILT_IN, load

GREYS = LinearSegmentedColormap.from_list("log precision", ["#5a5a5a", "#ffffff"])
COARSE, FINE = 32, 64                   # points along a side of the grey picture: while it runs, and at rest


def picture_limit(X):
    """Half the side of the latent picture: a round number, so that the axes keep still while the points move."""
    reach = 1.12 * np.abs(X).max()
    unit = 10.0 ** np.floor(np.log10(reach))
    return float(unit * np.ceil(2 * reach / unit) / 2)


def nearest_name(target, names, row):
    """', annular' for a row with a class, '' for one without."""
    return "" if target is None or names is None else f", {names[int(target[row])]}"


def how_sure(share):
    """The deviation as a share of the prior's, in words."""
    if share < 0.25:
        return "sure: data all around"
    return "a guess between the data" if share < 0.7 else "no data here: back to the mean"


@in_style
def panel_gplvm(data="oil flow", scale=False, kernel="RBF", inverse_width=1.0, noise=0.1, init="pca", seed=0,
                n_points=100, optimizer="l-bfgs", prior=True, gradient=CORRECTED, x1=0.0, x2=0.0, state=None,
                steps=0, n_grid=FINE):
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
    init, optimizer, seed : as for GPLVM
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
    settings = dict(scale=scale, kernel=kernel, inverse_width=inverse_width, noise=noise, init=init, seed=seed,
                    n_points=n_points, optimizer=optimizer, prior=prior, gradient=gradient)
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
        self.cross, = self.latent.plot([], [], "+", color=ACCENT, markersize=22, markeredgewidth=3, animated=True)
        self.ring, = self.latent.plot([], [], "o", markersize=11, markerfacecolor="none", markeredgecolor="black",
                                      markeredgewidth=1.4, animated=True)
        decode = figure.add_axes((0.73, 0.585, 0.255, 0.335))
        kind = DecodedImage if source.image_shape else DecodedPlace if Y.shape[1] == 3 else DecodedColumns
        self.decoded = kind(decode, Y, target, source.image_shape)
        self.words = decode.text(0.715, 0.525, "", transform=figure.transFigure, va="top", fontsize=9.5, animated=True,
                                 linespacing=1.3)
        self.moving = [self.ring, self.cross, *self.decoded.moving, self.words]

    def point_at(self, x1, x2):
        """Decode (x1, x2), and say how sure the map is there."""
        x = np.array([[x1, x2]])
        mean, deviation = self.model.inverse_transform(x, return_std=True)
        ignorance = np.sqrt(self.model.kernel_.diag(x, noise=False)[0])
        nearest = int(np.argmin(squared_distances(x, self.model.embedding_)))
        self.cross.set_data([x1], [x2])
        self.ring.set_data(*self.model.embedding_[nearest:nearest + 1].T)
        self.decoded.show(mean[0], deviation[0], self.Y[nearest])
        name = nearest_name(self.target, self.names, nearest)
        share = deviation[0] / ignorance
        self.words.set_text(f"deviation {deviation[0]:.3g}, {100 * share:.{int(share < 0.1)}f} % of the prior's\n"
                            f"{how_sure(share)}\nnearest: point {nearest}{name}")


def few_ticks(low, high):
    """Two to four round numbers between two numbers."""
    unit = 10.0 ** np.floor(np.log10(max(high - low, 1e-12)))
    step = next(m * unit for m in (0.5, 1.0, 2.0, 5.0) if (high - low) / (m * unit) <= 4)
    return step * np.arange(np.ceil(low / step), np.floor(high / step) + 1)


def shades(target):
    """Colours for points without classes: a scale where the target is one, else one colour."""
    return dict(color=PALETTE[0]) if target is None else dict(c=target, cmap="viridis")


def draw_latent(axes, bar, model, target, names, n_grid):
    """Points over the log precision of the map, and its colour bar."""
    X = model.embedding_
    limit = picture_limit(X)
    extent = (-limit, limit, -limit, limit)
    grey = model.log_precision(extent, n_grid)
    picture = axes.imshow(grey, extent=extent, origin="lower", cmap=GREYS, interpolation="bilinear", aspect="auto")
    if names is None:
        axes.scatter(*X.T, s=22, linewidths=0, **shades(target))
    else:
        scatter_classes(axes, X, target, names, size=22, alpha=0.9, legend=False)
        axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 0.99), ncols=6, fontsize="small", handletextpad=0.1,
                    columnspacing=0.9, borderpad=0.2)
    axes.set(xlim=(-limit, limit), ylim=(-limit, limit), xlabel="latent dimension 1", ylabel="latent dimension 2",
             xticks=[-limit, 0, limit], yticks=[-limit, 0, limit])       # few ticks: they are half of a redraw
    axes.set_title("drag the cross; the ring is the nearest point", y=1.045)
    axes.set_gid("latent")
    bar.figure.colorbar(picture, cax=bar, ticks=few_ticks(grey.min(), grey.max()))
    bar.set_ylabel("log precision (light: sure)", labelpad=2)


def draw_trace(axes, model, snapshot, ratio):
    """The objective against the number of steps, the iterate that is shown as a dot."""
    values = model.history_ if snapshot is None else np.array(snapshot.values)
    step = 0 if snapshot is None else snapshot.step
    axes.plot(values, color="#c4c4c4", linewidth=1.4)
    axes.plot(values[:step + 1], color=PALETTE[0], linewidth=1.6)
    axes.plot(step, values[step], "o", color=ACCENT, markersize=7)
    name = "log posterior" if model.latent_prior == "gaussian" else "log likelihood"
    axes.set_title(f"{name} {values[step]:.1f}\ngradient / difference quotient {ratio:.2f}", fontsize=9.5)
    low, high = values.min(), values.max()
    room = 0.08 * (high - low) if high > low else 1.0
    axes.set(xlim=(-0.5, max(1.03 * len(values), 20)), ylim=(low - room, high + room),
             xlabel="step" if len(values) > 1 else "step (press Run)", yticks=few_ticks(low, high),
             xticks=few_ticks(0, max(len(values) - 1, 20)))
    axes.tick_params(labelsize=8.5)


class DecodedImage:
    """A decoded image beside the data of the nearest point."""

    def __init__(self, axes, Y, target, shape):
        self.shape, self.gap = shape, np.full((shape[0], 1), np.nan)
        self.image = axes.imshow(np.zeros((shape[0], 2 * shape[1] + 1)), vmin=0, vmax=Y.max(), cmap="gray_r",
                                 interpolation="nearest", animated=True)
        middle = (shape[1] - 1) / 2
        axes.set(xticks=[middle, middle + shape[1] + 1], yticks=[], xticklabels=["decoded", "nearest data"],
                 title="decoded at the cross", anchor="W")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        self.moving = [self.image]

    def show(self, mean, deviation, nearest):
        self.image.set_data(np.hstack([mean.reshape(self.shape), self.gap, nearest.reshape(self.shape)]))


class DecodedColumns:
    """The decoded value of every column with two deviations either way, and the data of the nearest point."""

    def __init__(self, axes, Y, target, shape):
        self.place = np.arange(1, Y.shape[1] + 1)
        axes.fill_between(self.place, Y.min(axis=0), Y.max(axis=0), color="#ececec", linewidth=0)
        few = len(self.place) <= 30
        self.bars = axes.vlines(self.place, 0, 0, color=ACCENT, linewidth=2.2 if few else 1.0, animated=True)
        self.data, = axes.plot(self.place, 0 * self.place, "o" if few else "-", color="black", linewidth=0.8,
                               markersize=4.5, markerfacecolor="none", animated=True)
        self.mean, = axes.plot(self.place, 0 * self.place, "_" if few else "-", color=ACCENT, markersize=11,
                               markeredgewidth=2.4, animated=True)
        spread = 0.25 * np.ptp(Y)
        axes.set(xlim=(0.3, len(self.place) + 0.7), ylim=(Y.min() - spread, Y.max() + spread),
                 xticks=[1, len(self.place)], yticks=few_ticks(Y.min(), Y.max()))
        axes.set_title("decoded columns, ± 2 deviations", fontsize=10)
        axes.tick_params(labelsize=8.5)
        self.moving = [self.bars, self.data, self.mean]

    def show(self, mean, deviation, nearest):
        low, high = mean - 2 * deviation, mean + 2 * deviation
        self.bars.set_segments(np.stack([np.column_stack([self.place, low]), np.column_stack([self.place, high])], 1))
        self.mean.set_ydata(mean)
        self.data.set_ydata(nearest)


class DecodedPlace:
    """Three columns: the first against the third with all data, as a roll is seen from its end."""

    def __init__(self, axes, Y, target, shape):
        axes.scatter(Y[:, 0], Y[:, 2], s=9, linewidths=0, **shades(target))
        axes.set_title("decoded, seen from the end", fontsize=10)
        axes.tick_params(labelsize=8.5)
        axes.margins(0.15)
        axes.set(xticks=few_ticks(Y[:, 0].min(), Y[:, 0].max()), yticks=few_ticks(Y[:, 2].min(), Y[:, 2].max()))
        self.bars, = axes.plot([], [], color=ACCENT, linewidth=1.2, animated=True)
        self.mean, = axes.plot([], [], "+", color=ACCENT, markersize=14, markeredgewidth=2.6, animated=True)
        self.data, = axes.plot([], [], "o", markersize=9, markerfacecolor="none", markeredgecolor="black",
                               animated=True)
        self.moving = [self.bars, self.data, self.mean]

    def show(self, mean, deviation, nearest):
        x, y, r = mean[0], mean[2], 2 * deviation
        self.bars.set_data([x - r, x + r, np.nan, x, x], [y, y, np.nan, y - r, y + r])
        self.mean.set_data([x], [y])
        self.data.set_data([nearest[0]], [nearest[2]])
