"""What all Displays share: axes and a figure, marks and a legend, and how a notebook shows them, once."""

import base64
import io
import sys
import textwrap
from typing import Self

import matplotlib
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .style import QUIET, STYLE, brief, class_look, plain_text

LOOK = {name: value for name, value in STYLE.items() if name != "figure.facecolor"}  # a dark session stays dark
WITHOUT_WINDOW = ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template")  # backends that show nothing by themselves
PRECISION = LinearSegmentedColormap.from_list("precision", ["#5a5a5a", "#ffffff"])  # as in the living figures
STRETCHED = PRECISION.reversed("stretched")
SMALL = 8.5  # points: letters of legends and remarks
UNLABELLED = dict(color="#4d4d4d", marker="o")  # rows without labels beside others that have them
UNKNOWN = dict(color=QUIET, marker="o")  # rows whose label is missing
SCALE = LinearSegmentedColormap.from_list("scale", ["#3b1f6b", "#0072B2", "#009E73", "#d9c74a"])


class Display:
    """A picture of a fitted model that keeps what it drew, so that it can be drawn again elsewhere.

    A kind has the arrays of its picture as attributes, a class method `from_estimator` that asks a model for them, and
    `draw(ax)`. `plot(ax)` draws into axes of yours; without any it makes a figure, which belongs to pyplot where that
    is in use (so ``plt.show()`` and a notebook show it) and otherwise shows itself when a cell ends with the Display.

    Attributes
    ----------
    ax_ : matplotlib Axes; figure_ : matplotlib Figure
        Where it was drawn last.
    """

    size = (6.4, 4.6)  # of a figure of its own, in inches

    def plot(self, ax=None) -> Self:
        """Draw into `ax`, or into a figure of its own; returns the Display."""
        self.own_figure_ = ax is None
        figure = own_figure(self.size) if ax is None else ax.get_figure()
        with matplotlib.rc_context(LOOK):
            self.ax_ = figure.add_subplot() if ax is None else ax
            self.figure_ = figure
            self.draw(self.ax_)
        return self

    def draw(self, ax) -> None:
        """What a kind of Display draws into axes."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it draws: it needs a method draw(ax).")

    def summary(self) -> str:
        """What the picture shows, in a few words."""
        return ""

    def __repr__(self):
        return f"{type(self).__name__}({self.summary()})"

    def _repr_mimebundle_(self, include=None, exclude=None):
        bundle = {"text/plain": repr(self)}
        if getattr(self, "own_figure_", False) and not shown_by_pyplot(self.figure_):
            buffer = io.BytesIO()
            self.figure_.savefig(buffer, format="png", dpi=self.figure_.dpi)
            bundle["image/png"] = base64.b64encode(buffer.getvalue()).decode("ascii")
        return bundle


def own_figure(size):
    """A new figure: pyplot's own where pyplot is in use, else one that nobody else keeps.

    Not inside `rc_context`: pyplot's first figure sets up its backend, which leaves settings behind that must stay.
    """
    pyplot = sys.modules.get("matplotlib.pyplot")
    return (Figure if pyplot is None else pyplot.figure)(figsize=size, layout="constrained")


def shown_by_pyplot(figure) -> bool:
    """Whether a window, or the end of a notebook's cell, shows a figure already."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None or pyplot.get_backend().lower() in WITHOUT_WINDOW:
        return False
    return pyplot.fignum_exists(getattr(figure, "number", None))


# ---------------------------------------------------------------------- marks
def scatter_by_class(ax, X, classes, size, edge=None, line=1.1, unlabelled=UNKNOWN) -> list:
    """One scatter for each class of points (N, 2), first those without a label, in their own look; returns them."""
    drawn = []
    for k in range(-1, len(classes.names)):
        if (classes.which == k).any():
            look = class_look(k) if k >= 0 else dict(unlabelled)
            look["c"] = look.pop("color")
            drawn.append(_scatter(ax, X[classes.which == k], size, edge, line, **look))
    return drawn


def scatter_by_shade(ax, X, shades, size, limits, edge=None, line=1.1, unlabelled=UNKNOWN) -> list:
    """Points (N, 2) with a number each (N,), in shades from one limit to the other; first those without (NaN).

    What is infinite has the shade of its end.
    """
    known = ~np.isnan(shades)
    look = dict(c=unlabelled["color"], marker=unlabelled["marker"])
    drawn = [] if known.all() else [_scatter(ax, X[~known], size, edge, line, **look)]
    if known.any():
        look = dict(c=np.clip(shades[known], *limits), cmap=SCALE, vmin=limits[0], vmax=limits[1], marker="o")
        drawn.append(_scatter(ax, X[known], size, edge, line, **look))
    return drawn


def _scatter(ax, X, size, edge, line, **look):
    border = dict(linewidths=0) if edge is None else dict(linewidths=line, edgecolors=edge)
    return ax.scatter(*X.T, s=size, alpha=0.9, zorder=3, **look, **border)


def point_size(n_points) -> float:
    """Area of a marker, in points squared, that leaves so many points apart."""
    return float(np.clip(26 * np.sqrt(250 / max(n_points, 1)), 6, 26))


def legend_above(ax, entries, most=14, longest=40):
    """A legend in rows above the axes, where it hides no data; beyond `most` entries the rest are counted.

    entries : list of (name, look), the look as `matplotlib.lines.Line2D` takes it
    """
    if not entries:
        return None
    if len(entries) > most:
        entries = [*entries[: most - 1], (f"and {len(entries) - most + 1} more", dict(color="none"))]
    names = [plain_text(brief(name, longest)) for name, _ in entries]
    handles = [Line2D([], [], **{"markersize": 5.5, "linestyle": "none", **look}) for _, look in entries]
    entry = 0.52 * SMALL * max(map(len, names)) + 22
    columns = int(np.clip(1.1 * width_of(ax) // entry, 1, len(names)))
    across = [k for column in range(columns) for k in range(column, len(names), columns)]  # matplotlib fills columns
    return ax.legend(
        [handles[k] for k in across],
        [names[k] for k in across],
        loc="lower left",
        bbox_to_anchor=(-0.01, 1.0),
        ncols=columns,
        fontsize=SMALL,
        handletextpad=0.5 if any("linestyle" in look for _, look in entries) else 0.0,
        handlelength=1.6,
        columnspacing=0.8,
        borderpad=0.1,
        borderaxespad=0.3,
    )


def line_look(line) -> dict:
    """How a line looks, for a legend."""
    return dict(color=line.get_color(), linestyle=line.get_linestyle(), linewidth=line.get_linewidth())


def width_of(ax) -> float:
    """Width of axes in points, as far as it is known before they are laid out."""
    return 72 * ax.get_figure().get_size_inches()[0] * ax.get_position().width


def remark_below(ax, text) -> None:
    """A sentence below the axes, in small letters, wrapped to their width."""
    if text:
        lines = textwrap.wrap(text, max(24, int(width_of(ax) / (0.5 * SMALL))))
        place = dict(xycoords="axes fraction", textcoords="offset points", ha="left", va="top")
        ax.annotate("\n".join(lines), (0, 0), (0, -34), fontsize=SMALL, alpha=0.75, **place)


def draw_image(ax, values, limits, cmap, name):
    """An image over the plane, from below, and its named colour bar; returns both."""
    image = ax.imshow(values, extent=limits, origin="lower", cmap=cmap, interpolation="bilinear", aspect="auto")
    return image, colour_bar(ax, image, name)


def colour_bar(ax, drawn, name):
    """A named colour bar beside the axes, for an image or a scatter in them."""
    bar = ax.get_figure().colorbar(drawn, ax=ax, label=name, fraction=0.06, pad=0.02)
    bar.outline.set_visible(False)
    return bar


def frame(ax, limits, points) -> None:
    """Limits of the axes: the plane, and a little room where points stand at its border."""
    box = np.reshape(limits, (2, 2))
    low, high = np.minimum(box[:, 0], points.min(axis=0)), np.maximum(box[:, 1], points.max(axis=0))
    at_border = np.any((points <= box[:, 0] + 0.01 * (high - low)) | (points >= box[:, 1] - 0.01 * (high - low)))
    room = 0.03 * (high - low) if at_border else 0.0
    (left, bottom), (right, top) = low - room, high + room
    ax.set(xlim=(left, right), ylim=(bottom, top))
