"""The style of all figures: one style, a colour-blind-safe palette, one marker per class.

Needs the ``plot`` extra (matplotlib). Every function draws into axes that the caller owns and returns them;
none of them calls pyplot, so notebooks, scripts and widgets can all use them.

Names of classes come from data, and data come from anywhere: `readable` makes any value a line of text that a file, a
page and a picture can hold, `class_names` makes a legend of them, and `plain_text` writes it for matplotlib.
"""

import re

import matplotlib
import matplotlib.mathtext
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


LONGEST_NAME, LONGEST_TEXT = 60, 300  # characters that a picture shows of a name, and of any other text
NO_NAME = "(no name)"
BREAKS = re.compile("\r\n|[\t-\r\x85\u2028\u2029]")  # tab, and all that ends a line
# Controls, what turns the direction of the text around it, halves of pairs, and what is no character at all.
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


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


# ---------------------------------------------------------------------- words from outside
def readable(value) -> str:
    r"""Any value as one line of text that every file, page and picture can hold.

    What ends a line becomes a space. What can't be stored or seen, or would act on the text around it, becomes the
    replacement character.

    Examples
    --------
    >>> readable("two\nlines"), readable(b"oil"), readable(None), readable("half \ud800")
    ('two lines', 'oil', 'None', 'half �')
    """
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return UNSEEN.sub("\N{REPLACEMENT CHARACTER}", BREAKS.sub(" ", text))


def brief(value, longest=LONGEST_NAME) -> str:
    """A readable text of at most so many characters; an ellipsis stands for the rest.

    Examples
    --------
    >>> brief("annular", 5)
    'annu…'
    """
    text = readable(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def class_names(names) -> list[str]:
    """Names of classes as a legend shows them: none too long, none empty, no two the same.

    Examples
    --------
    >>> class_names(["a", "", 3.5, "a"])
    ['a', '(no name)', '3.5', 'a (2)']
    """
    shown: dict[str, None] = {}
    for name in names:
        text = brief(name) if readable(name).strip() else NO_NAME
        first, number = text, 1
        while text in shown:
            number += 1
            text = f"{brief(first, LONGEST_NAME - len(f' ({number})'))} ({number})"
        shown[text] = None
    return list(shown)


def classes_of(labels):
    """The different labels in order, and for each row which of them it has; labels may be of any kind, or of several.

    Examples
    --------
    >>> values, which = classes_of(["b", None, "b", 2])
    >>> values, which.tolist()
    ([2, None, 'b'], [2, 1, 2, 0])
    """
    if isinstance(labels, np.ndarray) and labels.dtype != object:
        values, which = np.unique(labels, return_inverse=True)
        return list(values), which.ravel()
    labels = list(labels)
    keys = [_order(label) for label in labels]
    first = dict(zip(reversed(keys), reversed(labels), strict=True))
    places = {key: k for k, key in enumerate(sorted(first))}
    return [first[key] for key in places], np.array([places[key] for key in keys], int)


def _order(label):
    """Numbers come first, in their order; then all else, by kind and text: 1 and "1" are two labels."""
    if isinstance(label, int | float | np.number | np.bool_) and label == label and np.isreal(label):
        return 0, label, "", ""
    kind = "str" if isinstance(label, str) else type(label).__name__
    return 1, 0.0, kind, label if kind == "str" else readable(label)


def plain_text(value, longest=LONGEST_TEXT) -> str:
    r"""A text that matplotlib shows as it is: no mathematics, and in a legend although it begins with a `_`.

    Examples
    --------
    >>> plain_text(r"$\frac$")
    '\\$\\frac\\$'
    """
    text = brief(value, longest).replace("$", r"\$")
    return "\N{ZERO WIDTH SPACE}" + text if text.startswith("_") else text


# ---------------------------------------------------------------------- drawing
def class_look(k) -> dict:
    """Colour and marker of class number k: as it stands in palette and markers, and other pairs beyond the tenth.

    Examples
    --------
    >>> class_look(0), class_look(10)
    ({'color': '#0072B2', 'marker': 'o'}, {'color': '#0072B2', 'marker': '^'})
    """
    return {"color": PALETTE[k % len(PALETTE)], "marker": MARKERS[(k + k // len(PALETTE)) % len(MARKERS)]}


def scatter_classes(axes, X, target=None, names=None, size=14, alpha=0.8, legend=True):
    """Scatter the first two latent dimensions (or one against its index), one marker per class.

    `target` is a label for each row, of any kind; with `names` it is an index into them. Names are shown as they are.
    `legend` is True (inside, where it fits best), False, or "outside" (to the right of the axes).

    Examples
    --------
    >>> fig, axes = new_figure()
    >>> len(scatter_classes(axes, np.eye(4, 2), [0, 0, 1, 1]).collections)
    2
    """
    X = np.asarray(X)
    values, which = classes_of(np.zeros(len(X), int) if target is None else target)
    shown = class_names(values if names is None else [names[int(value)] for value in values])
    horizontal, vertical = (X[:, 0], X[:, 1]) if X.shape[1] > 1 else (np.arange(len(X)), X[:, 0])
    for k, name in enumerate(shown):
        chosen = which == k
        axes.scatter(
            horizontal[chosen],
            vertical[chosen],
            s=size,
            alpha=alpha,
            linewidths=0,
            label=plain_text(name),
            **class_look(k),
        )
    names_of_axes = ("latent dimension 1", "latent dimension 2") if X.shape[1] > 1 else ("point", "latent dimension 1")
    axes.set(xlabel=names_of_axes[0], ylabel=names_of_axes[1])
    if legend and len(values) > 1:
        place = dict(loc="upper left", bbox_to_anchor=(1.0, 1.0)) if legend == "outside" else dict(loc="best")
        axes.legend(fontsize="small", handletextpad=0.2, borderpad=0.2, **place)
    return axes


def draw_graph(axes, nodes, edges, title=""):
    """Draw a graphical model: black nodes are optimised, white ones integrated out, grey ones observed.

    Parameters
    ----------
    axes : matplotlib Axes
    nodes : dict
        {name: (x, y, "optimised" | "integrated" | "observed")}; a name is set as mathematics where it can be.
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
        axes.text(x, y - 0.01, _symbol(name), color=text, ha="center", va="center", fontsize=13, zorder=3)
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


def _symbol(name):
    """A name as mathematics; as it stands where that can't be set."""
    symbol = f"${brief(name)}$"
    try:
        matplotlib.mathtext.MathTextParser("path").parse(symbol)
    except ValueError:
        return plain_text(name, LONGEST_NAME)
    return symbol
