"""The look of all figures, and pictures of a fitted model in one call.

`style` has the palette, the markers, names as a picture can hold them, and functions that draw into axes of yours. The
Displays work as scikit-learn's do: ``LatentDisplay.from_estimator(model, labels=labels)`` draws, and keeps its arrays.

Needs the ``plot`` extra (matplotlib). Models never import this; it imports no model, and asks the one that it is given.
"""

from .classmap import ClassMapDisplay
from .display import Display, classes_of_both, index_into, labels_for
from .fit import HistoryDisplay, RelevanceDisplay
from .latent import LatentDisplay
from .magnification import MagnificationDisplay
from .style import (
    ACCENT,
    LONGEST_NAME,
    LONGEST_TEXT,
    MARKERS,
    PALETTE,
    QUIET,
    STYLE,
    brief,
    class_look,
    class_names,
    classes_of,
    draw_graph,
    in_style,
    new_figure,
    plain_text,
    readable,
    scatter_classes,
    use_style,
)

__all__ = [
    "ACCENT",
    "LONGEST_NAME",
    "LONGEST_TEXT",
    "MARKERS",
    "PALETTE",
    "QUIET",
    "STYLE",
    "ClassMapDisplay",
    "Display",
    "HistoryDisplay",
    "LatentDisplay",
    "MagnificationDisplay",
    "RelevanceDisplay",
    "brief",
    "class_look",
    "class_names",
    "classes_of",
    "classes_of_both",
    "draw_graph",
    "in_style",
    "index_into",
    "labels_for",
    "new_figure",
    "plain_text",
    "readable",
    "scatter_classes",
    "use_style",
]
