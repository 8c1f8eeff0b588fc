"""The look of all figures, and pictures of a fitted model in one call.

`style` has the palette, the markers, names as a picture can hold them, and functions that draw into axes of yours. The
Displays work as scikit-learn's do: ``LatentDisplay.from_estimator(model, labels=labels)`` draws, and keeps its arrays.

Needs the ``plot`` extra (matplotlib). Models never import this; it imports no model, and asks the one that it is given.
"""

from .classmap import ClassMapDisplay
from .display import Display
from .fit import HistoryDisplay, RelevanceDisplay
from .labels import NOT_KNOWN, classes_of_both, index_into, is_missing, labels_for, range_of, shades_of_both
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
    "NOT_KNOWN",
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
    "is_missing",
    "labels_for",
    "new_figure",
    "plain_text",
    "range_of",
    "readable",
    "scatter_classes",
    "shades_of_both",
    "use_style",
]
