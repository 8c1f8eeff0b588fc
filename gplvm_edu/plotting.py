"""The style of all figures: one style, a colour-blind-safe palette, one marker per class.

Needs the ``plot`` extra (matplotlib). Every function draws into axes that the caller owns and returns them;
none of them calls pyplot, so notebooks, scripts and widgets can all use them.
"""

import matplotlib
import matplotlib.patches
import numpy as np
from matplotlib.figure import Figure

# Okabe and Ito's palette: distinct for the common forms of colour blindness and in grey.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#666666", "#000000", "#B8A800")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "*")
ACCENT, QUIET = "#D55E00", "#8a8a8a"

STYLE = {
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titley": 1.02,  # a fixed position: to search for one takes a third of the time of a redraw
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": matplotlib.cycler(color=PALETTE),
    "axes.grid": False,
    "legend.frameon": False,
    "image.cmap": "gray_r",
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
}


in_style = matplotlib.rc_context(STYLE)  # decorator: what the function draws has the course's style


def use_style() -> None:
    """Make the course's style the default of this session (first code cell of each chapter)."""
    matplotlib.rcParams.update(STYLE)


def new_figure(n_rows=1, n_columns=1, size=(7.0, 3.2), margins=None, **subplots):
    """A figure outside pyplot, in the course's style: ``fig, axes = new_figure(1, 2)``.

    `margins` (left, right, bottom, top, wspace, hspace) fixes the layout: the automatic layout draws the figure
    several times, which is too slow for a widget that redraws on every move.

    Examples
    --------
    >>> fig, axes = new_figure(1, 2)
    >>> len(axes)
    2
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained" if margins is None else "none")
        axes = figure.subplots(n_rows, n_columns, **subplots)
        if margins is not None:
            figure.subplots_adjust(**margins)
    return figure, axes


def scatter_classes(axes, X, target=None, names=None, size=14, alpha=0.8, legend=True):
    """Scatter the first two latent dimensions (or one against its index), one marker per class.

    `legend` is True (inside, where it fits best), False, or "outside" (to the right of the axes).

    Examples
    --------
    >>> fig, axes = new_figure()
    >>> len(scatter_classes(axes, np.eye(4, 2), [0, 0, 1, 1]).collections)
    2
    """
    X = np.asarray(X)
    target = np.zeros(len(X), int) if target is None else np.asarray(target)
    horizontal, vertical = (X[:, 0], X[:, 1]) if X.shape[1] > 1 else (np.arange(len(X)), X[:, 0])
    for k, label in enumerate(np.unique(target)):
        chosen = target == label
        axes.scatter(
            horizontal[chosen],
            vertical[chosen],
            s=size,
            alpha=alpha,
            linewidths=0,
            color=PALETTE[k % len(PALETTE)],
            marker=MARKERS[k % len(MARKERS)],
            label=str(label if names is None else names[int(label)]),
        )
    names_of_axes = ("latent dimension 1", "latent dimension 2") if X.shape[1] > 1 else ("point", "latent dimension 1")
    axes.set(xlabel=names_of_axes[0], ylabel=names_of_axes[1])
    if legend and len(np.unique(target)) > 1:
        place = dict(loc="upper left", bbox_to_anchor=(1.0, 1.0)) if legend == "outside" else dict(loc="best")
        axes.legend(fontsize="small", handletextpad=0.2, borderpad=0.2, **place)
    return axes


def draw_graph(axes, nodes, edges, title=""):
    """Draw a graphical model: black nodes are optimised, white ones integrated out, grey ones observed.

    Parameters
    ----------
    axes : matplotlib Axes
    nodes : dict
        {name: (x, y, "optimised" | "integrated" | "observed")}.
    edges : sequence of (parent, child)
    title : str

    Examples
    --------
    >>> fig, axes = new_figure()
    >>> axes = draw_graph(axes, {"W": (0, 1, "optimised"), "Y": (0, 0, "observed")}, [("W", "Y")])
    >>> len(axes.patches)                                  # two nodes and one arrow
    3
    """
    fills = {"optimised": ("black", "white"), "integrated": ("white", "black"), "observed": ("#c8c8c8", "black")}
    for name, (x, y, treatment) in nodes.items():
        face, text = fills[treatment]
        axes.add_patch(matplotlib.patches.Circle((x, y), 0.3, facecolor=face, edgecolor="black", zorder=2))
        axes.text(x, y - 0.01, f"${name}$", color=text, ha="center", va="center", fontsize=13, zorder=3)
    for parent, child in edges:
        axes.add_patch(
            matplotlib.patches.FancyArrowPatch(
                nodes[parent][:2],
                nodes[child][:2],
                arrowstyle="-|>",
                mutation_scale=14,
                color="black",
                shrinkA=22,
                shrinkB=22,
                linewidth=1.2,
            )
        )
    places = np.array([node[:2] for node in nodes.values()], float)
    axes.set(
        xlim=(places[:, 0].min() - 0.5, places[:, 0].max() + 0.5),
        ylim=(places[:, 1].min() - 0.5, places[:, 1].max() + 0.5),
        aspect="equal",
        title=title,
    )
    axes.set_axis_off()
    return axes
