"""A scene as a matplotlib Figure: for stored pictures, for PDF, and for tests that look without a browser."""

import io

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from PIL import Image as Pixels

from gplvm_edu.plotting import ACCENT, MARKERS, PALETTE, QUIET, in_style, plain_text

NAMED = {"accent": ACCENT, "quiet": QUIET, "ink": "black", "pale": "#e4e4e4", "paper": "white"}
RAMPS = {
    "ink": ["#ffffff", "#000000"],
    "precision": ["#5a5a5a", "#ffffff"],
    "diverging": ["#2166ac", "#f7f7f7", "#b2182b"],
    "scale": ["#3b1f6b", "#0072B2", "#009E73", "#d9c74a"],
}
SHAPES = {"circle": "o", "plus": "+", "cross": "x", "dash": "_", "bar": "|", "square": "s", "up": "^", "diamond": "D"}
SHAPES |= {"down": "v", "left": "<", "right": ">", "star": "*"}
POINT = 0.72  # matplotlib's points in a pixel of the page, at 100 dots an inch


def colour_of(colour):
    """The value of a colour that a mark names."""
    return PALETTE[colour % len(PALETTE)] if isinstance(colour, int | np.integer) else NAMED.get(colour, colour)


def ramp(name):
    """The matplotlib colour map of a ramp."""
    return LinearSegmentedColormap.from_list(name, RAMPS[name])


@in_style
def draw(scene, width=9.2):
    """A Figure of the scene, `width` inches wide; its axes carry the keys of the panels as gid."""
    places, n_rows = grid_places(scene)
    figure = Figure(figsize=(width, 0.3 + n_rows * scene.row_height / 78), layout="constrained")
    grid = figure.add_gridspec(n_rows, scene.columns)
    for panel, (row, column) in zip(scene.panels, places, strict=True):
        span = min(panel.span, scene.columns)
        axes = figure.add_subplot(grid[row : row + panel.rows, column : column + span])
        axes.set_gid(panel.key)
        draw_panel(axes, panel)
    if scene.says:
        figure.supxlabel(plain_text(scene.says), x=0.01, ha="left", fontsize=10)
    return figure


def grid_places(scene):
    """(row, column) of each panel, filled row by row as the page does, and the number of rows."""
    taken, places = set(), []
    for panel in scene.panels:
        span = min(panel.span, scene.columns)
        row = column = 0
        while any((row + i, column + j) in taken for i in range(panel.rows) for j in range(span)):
            column += 1
            if column + span > scene.columns:
                row, column = row + 1, 0
        taken |= {(row + i, column + j) for i in range(panel.rows) for j in range(span)}
        places.append((row, column))
    return places, 1 + max((row for row, _ in taken), default=0)


def draw_panel(axes, panel):
    """Axes, marks, legend and colour bar of one panel."""
    for mark in panel.marks:
        DRAW[type(mark).__name__](axes, mark)
    axes.set(xlabel=plain_text(panel.x.label), ylabel=plain_text(panel.y.label), title=plain_text(panel.title))
    for side, axis in (("x", panel.x), ("y", panel.y)):
        if axis.log:
            axes.set(**{f"{side}scale": "log"})
        if axis.ticks is not None:
            axes.set(**{f"{side}ticks": axis.ticks})
        if axis.tick_labels is not None:
            axes.set(**{f"{side}ticklabels": [plain_text(words) for words in axis.tick_labels]})
        if axis.hidden:
            axes.set(**{f"{side}ticks": [], f"{side}label": ""})
            axes.spines[["top", "bottom"] if side == "x" else ["left", "right"]].set_visible(False)
    axes.set(xlim=panel.x.limits, ylim=panel.y.limits)
    axes.set_aspect("equal" if panel.equal else "auto", adjustable="box", anchor="W")
    if panel.legend and axes.get_legend_handles_labels()[1]:
        over_image = any(type(mark).__name__ == "Image" for mark in panel.marks)  # letters need a ground of their own
        ground = dict(frameon=over_image, framealpha=0.85, facecolor="white", edgecolor="none")
        axes.legend(fontsize="small", loc="best", handletextpad=0.3, borderpad=0.2, **ground)


def _label(mark):
    """The place of a mark in the legend; None where it has none."""
    return plain_text(mark.label) if mark.label else None


def _points(axes, mark):
    options = dict(s=(POINT * mark.size) ** 2, alpha=mark.opacity)

    def scatter(chosen, colour, marker, label):
        paint = dict(facecolors="none", edgecolors=colour) if mark.hollow else dict(color=colour)
        width = 1.4 if mark.hollow or marker in "+x_|" else 0
        axes.scatter(mark.x[chosen], mark.y[chosen], marker=marker, label=label, linewidths=width, **paint, **options)

    if mark.values is not None:
        axes.scatter(mark.x, mark.y, c=mark.values, cmap=ramp("scale"), linewidths=0, **options)
    elif mark.group is None:
        scatter(slice(None), colour_of(mark.colour), SHAPES[mark.marker], _label(mark))
    else:
        for k in np.unique(mark.group):
            name = plain_text(mark.names[k]) if mark.names is not None else None
            scatter(mark.group == k, PALETTE[k % len(PALETTE)], MARKERS[k % len(MARKERS)], name)


def _lines(axes, mark):
    style = dict(color=colour_of(mark.colour), linewidth=POINT * mark.width, linestyle="--" if mark.dash else "-")
    axes.plot(*mark.path(), alpha=mark.opacity, label=_label(mark), **style)


def _band(axes, mark):
    style = dict(color=colour_of(mark.colour), alpha=mark.opacity, linewidth=0, label=_label(mark))
    axes.fill_between(mark.x, mark.low, mark.high, **style)


def _bars(axes, mark):
    colour = colour_of(mark.colour)
    style = dict(color="none", edgecolor=colour, linestyle=":") if mark.outline else dict(color=colour)
    style |= dict(width=mark.width, bottom=mark.base, alpha=mark.opacity, label=_label(mark))
    axes.bar(mark.x, mark.height, **style)


def _image(axes, mark):
    shown = axes.imshow(
        mark.values,
        extent=mark.extent,
        origin="lower" if mark.from_below else "upper",
        vmin=mark.low,
        vmax=mark.high,
        cmap=ramp(mark.ramp),
        interpolation="bilinear" if mark.smooth else "nearest",
        aspect="auto",
        alpha=mark.opacity,
    )
    if mark.bar:
        axes.figure.colorbar(shown, ax=axes, label=plain_text(mark.bar), fraction=0.06, pad=0.02)


def _polygons(axes, corners, **style):
    axes.add_collection(PolyCollection(corners, **style))


def _ellipses(axes, mark):
    colour = colour_of(mark.colour)
    style = dict(facecolors=colour if mark.filled else "none", edgecolors="none" if mark.filled else colour)
    style |= dict(linewidths=POINT * mark.width, alpha=mark.opacity, label=_label(mark))
    _polygons(axes, mark.outlines(), **style)


def _patches(axes, mark):
    share = (mark.values - mark.values.min()) / (np.ptp(mark.values) or 1.0)
    order = slice(None) if mark.depth is None else np.argsort(mark.depth)
    _polygons(axes, mark.corners[order], facecolors=ramp("scale")(share[order]), edgecolors="white", linewidths=0.4)


def _rules(axes, mark):
    style = dict(color=colour_of(mark.colour), linewidth=POINT * mark.width, linestyle="--" if mark.dash else "-")
    lines = [axes.axvline(value, **style) for value in mark.x] + [axes.axhline(value, **style) for value in mark.y]
    if lines and mark.label:
        lines[0].set_label(_label(mark))


def _texts(axes, mark):
    for x, y, words in zip(mark.x, mark.y, mark.text, strict=True):
        axes.text(
            x,
            y,
            plain_text(words),
            ha=mark.align,
            va="center",
            fontsize=POINT * mark.size,
            color=colour_of(mark.colour),
        )


def _cursor(axes, mark):
    axes.plot([mark.x], [mark.y], "+", color=colour_of(mark.colour), markersize=15, markeredgewidth=2.4)


DRAW = {
    "Points": _points,
    "Lines": _lines,
    "Band": _band,
    "Bars": _bars,
    "Image": _image,
    "Ellipses": _ellipses,
    "Patches": _patches,
    "Rules": _rules,
    "Texts": _texts,
    "Cursor": _cursor,
}


def small_png(figure, dpi=100):
    """A figure as a PNG of at most 192 colours, spread evenly: a third of the bytes, and thin lines keep theirs."""
    figure.set_dpi(dpi)
    canvas = FigureCanvasAgg(figure)
    with matplotlib.rc_context({"path.simplify_threshold": 0.5}):
        canvas.draw()
    picture = Pixels.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    buffer = io.BytesIO()
    few = picture.quantize(192, Pixels.Quantize.MAXCOVERAGE, dither=Pixels.Dither.NONE)
    few.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
