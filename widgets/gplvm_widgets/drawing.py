"""What several explorers draw: few ticks, the grey picture of a map, and a decoded point beside the nearest data."""

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from gplvm_edu.maps import grid_points
from gplvm_edu.plotting import ACCENT, PALETTE

GREYS = LinearSegmentedColormap.from_list("log precision", ["#5a5a5a", "#ffffff"])


def picture_limit(X):
    """Half the side of the latent picture: a round number, so that the axes stay the same while the points move."""
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


def few_ticks(low, high):
    """Two to four round numbers between two numbers."""
    unit = 10.0 ** np.floor(np.log10(max(high - low, 1e-12)))
    step = next(m * unit for m in (0.5, 1.0, 2.0, 5.0) if (high - low) / (m * unit) <= 4)
    return step * np.arange(np.ceil(low / step), np.floor(high / step) + 1)


def shades(target):
    """Colours for points without classes: a scale where the target is one, else one colour."""
    return dict(color=PALETTE[0]) if target is None else dict(c=target, cmap="viridis")


def log_precision_picture(model, limit, n_grid):
    """Log precision of a model's map over the square from -limit to limit, (n_grid, n_grid), rows from below."""
    return model.log_precision(grid_points((-limit, limit, -limit, limit), n_grid)).reshape(n_grid, n_grid)


class DecodedImage:
    """A decoded image beside the data of the nearest point."""

    def __init__(self, axes, Y, target, shape):
        self.shape, self.gap = shape, np.full((shape[0], 1), np.nan)
        self.image = axes.imshow(
            np.zeros((shape[0], 2 * shape[1] + 1)),
            vmin=0,
            vmax=Y.max(),
            cmap="gray_r",
            interpolation="nearest",
            animated=True,
        )
        middle = (shape[1] - 1) / 2
        axes.set(
            xticks=[middle, middle + shape[1] + 1],
            yticks=[],
            xticklabels=["decoded", "nearest data"],
            title="decoded at the cross",
            anchor="W",
        )
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        self.moving = [self.image]

    def show(self, mean, deviation, nearest):
        """Set what moves to a decoded point (D,), its deviation (D,) and the data of the nearest point (D,)."""
        self.image.set_data(np.hstack([mean.reshape(self.shape), self.gap, nearest.reshape(self.shape)]))


class DecodedColumns:
    """The decoded value of every column with two deviations either way, and the data of the nearest point."""

    def __init__(self, axes, Y, target, shape):
        self.place = np.arange(1, Y.shape[1] + 1)
        axes.fill_between(self.place, Y.min(axis=0), Y.max(axis=0), color="#ececec", linewidth=0)
        few = len(self.place) <= 30
        self.bars = axes.vlines(self.place, 0, 0, color=ACCENT, linewidth=2.2 if few else 1.0, animated=True)
        (self.data,) = axes.plot(
            self.place,
            0 * self.place,
            "o" if few else "-",
            color="black",
            linewidth=0.8,
            markersize=4.5,
            markerfacecolor="none",
            animated=True,
        )
        (self.mean,) = axes.plot(
            self.place,
            0 * self.place,
            "_" if few else "-",
            color=ACCENT,
            markersize=11,
            markeredgewidth=2.4,
            animated=True,
        )
        spread = 0.25 * np.ptp(Y)
        axes.set(
            xlim=(0.3, len(self.place) + 0.7),
            ylim=(Y.min() - spread, Y.max() + spread),
            xticks=[1, len(self.place)],
            yticks=few_ticks(Y.min(), Y.max()),
        )
        axes.set_title("decoded columns, ± 2 deviations", fontsize=10)
        axes.tick_params(labelsize=8.5)
        self.moving = [self.bars, self.data, self.mean]

    def show(self, mean, deviation, nearest):
        """Set what moves to a decoded point (D,), its deviation (D,) and the data of the nearest point (D,)."""
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
        (self.bars,) = axes.plot([], [], color=ACCENT, linewidth=1.2, animated=True)
        (self.mean,) = axes.plot([], [], "+", color=ACCENT, markersize=14, markeredgewidth=2.6, animated=True)
        (self.data,) = axes.plot(
            [], [], "o", markersize=9, markerfacecolor="none", markeredgecolor="black", animated=True
        )
        self.moving = [self.bars, self.data, self.mean]

    def show(self, mean, deviation, nearest):
        """Set what moves to a decoded point (D,), its deviation (D,) and the data of the nearest point (D,)."""
        x, y, r, s = mean[0], mean[2], 2 * deviation[0], 2 * deviation[2]
        self.bars.set_data([x - r, x + r, np.nan, x, x], [y, y, np.nan, y - s, y + s])
        self.mean.set_data([x], [y])
        self.data.set_data([nearest[0]], [nearest[2]])
