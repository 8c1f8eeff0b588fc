"""A picture as data: panels with axes, and a handful of marks. Who draws it is another question.

Colours are meanings, not values: a number is a class of the palette, and "accent", "ink", "quiet", "pale" are what
their names say, on a light page and on a dark one. Sizes are in pixels of the page. Words may come from data: they
are made readable, and not too long, when a mark, an axis, a panel or a scene is made.
"""

from dataclasses import KW_ONLY, dataclass, field, fields, replace

import numpy as np

from ..words import LONGEST_NAME, LONGEST_TEXT, brief, class_names
from .figure import draw, small_png
from .pack import pack

ARRAYS = ("x", "y", "low", "high", "height", "values", "corners", "factors", "depth")


def _shorten(made, *names, longest=LONGEST_TEXT):
    """Make the words under these names readable, and not too long."""
    for name in names:
        object.__setattr__(made, name, brief(getattr(made, name), longest))


@dataclass(frozen=True, eq=False)
class Mark:
    """What all marks have: a key that stays while the numbers change, a place in the legend, a colour."""

    key: str
    _: KW_ONLY
    label: str = ""
    colour: int | str = 0
    opacity: float = 1.0

    spans = (("x",), ("y",))  # the fields that the axes must show, across and up

    def __post_init__(self):
        for name in ARRAYS:
            value = getattr(self, name, None)
            if isinstance(value, list | tuple | np.ndarray):
                object.__setattr__(self, name, np.asarray(value, float))
        _shorten(self, "label")

    def wire(self, stored=False):
        """The mark as a dict of plain values; arrays as `pack` has them."""
        parts = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "_"}
        packed = {name: pack(value, stored) for name, value in parts.items() if value is not None}
        return {"kind": type(self).__name__.lower(), **packed}


@dataclass(frozen=True, eq=False)
class Points(Mark):
    """Points at (x, y): by class where `group` has a whole number for each, by shade where `values` has a number."""

    x: np.ndarray
    y: np.ndarray
    _: KW_ONLY
    group: np.ndarray | None = None
    names: tuple | None = None  # of the classes
    values: np.ndarray | None = None
    size: float = 6.0
    marker: str = "circle"  # circle, plus, cross, dash, bar, and the shapes of the classes
    hollow: bool = False

    def __post_init__(self):
        super().__post_init__()
        if self.group is not None:
            object.__setattr__(self, "group", np.asarray(self.group, int))
        if self.names is not None:
            object.__setattr__(self, "names", class_names(self.names))


@dataclass(frozen=True, eq=False)
class Lines(Mark):
    """A line through (x, y); a NaN is a gap, so that many lines are one mark.

    `order` says which point comes next where the line visits points more than once, as the edges of a graph do; -1 is a
    gap.
    """

    x: np.ndarray
    y: np.ndarray
    _: KW_ONLY
    width: float = 1.8
    dash: bool = False
    order: np.ndarray | None = None

    def path(self):
        """(x, y) as the line goes."""
        if self.order is None:
            return self.x, self.y
        return tuple(np.where(self.order < 0, np.nan, side[self.order]) for side in (self.x, self.y))


@dataclass(frozen=True, eq=False)
class Band(Mark):
    """The area between two curves."""

    x: np.ndarray
    low: np.ndarray
    high: np.ndarray
    _: KW_ONLY
    colour: int | str = "pale"

    spans = (("x",), ("low", "high"))


@dataclass(frozen=True, eq=False)
class Bars(Mark):
    """Bars around x from `base` to `base + height`; `outline` draws their edges only."""

    x: np.ndarray
    height: np.ndarray
    _: KW_ONLY
    base: np.ndarray | float = 0.0
    width: float = 0.8
    outline: bool = False

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "base", np.broadcast_to(np.asarray(self.base, float), self.height.shape))

    @property
    def left(self):
        """Left edges."""
        return self.x - self.width / 2

    @property
    def right(self):
        """Right edges."""
        return self.x + self.width / 2

    @property
    def top(self):
        """Where each bar ends."""
        return self.base + self.height

    spans = (("left", "right"), ("base", "top"))


@dataclass(frozen=True, eq=False)
class Image(Mark):
    """A table of numbers as shades, its first row at the top unless `extent` says otherwise.

    `extent` is (left, right, bottom, top) in data units; with bottom < top the first row is at the bottom where
    `from_below` is true. `ramp`: "ink" (paper to ink), "precision" (dark to light), "diverging", "scale".
    """

    values: np.ndarray
    _: KW_ONLY
    extent: tuple | None = None
    low: float | None = None
    high: float | None = None
    ramp: str = "ink"
    bar: str = ""  # what the shades mean: a colour bar with this label
    smooth: bool = False
    from_below: bool = False

    def __post_init__(self):
        super().__post_init__()
        _shorten(self, "bar")
        values = self.values
        rows, columns = values.shape
        fill = {
            "extent": tuple(map(float, self.extent or (-0.5, columns - 0.5, rows - 0.5, -0.5))),
            "low": float(np.nanmin(values) if self.low is None else self.low),
            "high": float(np.nanmax(values) if self.high is None else self.high),
        }
        for name, value in fill.items():
            object.__setattr__(self, name, value)

    spans = ((), ())

    def wire(self, stored=False):
        """As for every mark; a stored picture has 254 shades."""
        rows, columns = self.values.shape
        values = pack(self.values.ravel(), stored and (self.low, self.high))
        return {**super().wire(stored), "values": values, "rows": rows, "columns": columns}


@dataclass(frozen=True, eq=False)
class Ellipses(Mark):
    """The image of the unit circle under each of `factors` (n, 2, 2), around (x, y)."""

    x: np.ndarray
    y: np.ndarray
    factors: np.ndarray
    _: KW_ONLY
    width: float = 1.0
    filled: bool = False

    def outlines(self, n_points=41):
        """The ellipses as points (n, n_points, 2)."""
        angle = np.linspace(0, 2 * np.pi, n_points)
        circle = np.stack([np.cos(angle), np.sin(angle)])
        centres = np.stack([self.x, self.y], axis=1)
        return (centres[:, :, None] + self.factors @ circle).transpose(0, 2, 1)


@dataclass(frozen=True, eq=False)
class Patches(Mark):
    """Polygons with as many corners each, (n, corners, 2), shaded by `values` (n,).

    The last is drawn on top, or, where `depth` (n,) is given, the one with the largest: an order that may change while
    the polygons keep their places in the list, so that they glide.
    """

    corners: np.ndarray
    values: np.ndarray
    _: KW_ONLY
    depth: np.ndarray | None = None

    spans = (("across",), ("up",))

    @property
    def across(self):
        """Corners, across."""
        return self.corners[..., 0]

    @property
    def up(self):
        """Corners, up."""
        return self.corners[..., 1]

    def wire(self, stored=False):
        """As for every mark, with the number of corners of one polygon."""
        return {**super().wire(stored), "sides": self.corners.shape[1]}


@dataclass(frozen=True, eq=False)
class Rules(Mark):
    """Straight lines through the whole panel at these x and these y."""

    _: KW_ONLY
    x: tuple = ()
    y: tuple = ()
    width: float = 1.2
    dash: bool = False
    colour: int | str = "quiet"

    spans = ((), ())


@dataclass(frozen=True, eq=False)
class Texts(Mark):
    """Words at (x, y)."""

    x: np.ndarray
    y: np.ndarray
    text: list
    _: KW_ONLY
    colour: int | str = "ink"
    size: float = 11.0
    align: str = "center"  # "left" and "right" are the side on which the place lies

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "text", [brief(words, LONGEST_TEXT) for words in self.text])


@dataclass(frozen=True, eq=False)
class Cursor(Mark):
    """The cross that a reader moves."""

    x: float
    y: float
    _: KW_ONLY
    colour: int | str = "accent"


@dataclass(frozen=True)
class Axis:
    """What a panel says along one side; `limits` None means that all marks are shown."""

    label: str = ""
    limits: tuple | None = None
    log: bool = False
    ticks: tuple | None = None  # None: round numbers, as many as there is room for
    tick_labels: tuple | None = None
    hidden: bool = False

    def __post_init__(self):
        _shorten(self, "label", longest=LONGEST_NAME)
        if self.tick_labels is not None:
            object.__setattr__(self, "tick_labels", tuple(brief(words) for words in self.tick_labels))

    def wire(self):
        """The axis as a dict of plain values."""
        parts = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: _plain(value) for name, value in parts.items() if value is not None and value is not False}


HIDDEN = Axis(hidden=True)


@dataclass(frozen=True, eq=False, repr=False)
class Panel:
    """Marks between two axes.

    `listens`: "click", "drag" or "" (the reader's pointer and arrow keys mean nothing here); `hint` invites to it,
    beside the title, where the picture is alive. `equal`: one unit is as long across as up. `span` and `rows` count
    columns and rows of the scene's grid.
    """

    marks: list
    _: KW_ONLY
    title: str = ""
    x: Axis = field(default_factory=Axis)
    y: Axis = field(default_factory=Axis)
    key: str = ""
    equal: bool = False
    listens: str = ""
    hint: str = ""
    legend: bool = True
    span: int = 1
    rows: int = 1

    def __post_init__(self):
        _shorten(self, "title", "hint", "key")
        keys = [mark.key for mark in self.marks]
        if len(set(keys)) < len(keys):
            raise ValueError(f"The marks of a panel need different keys, got {', '.join(keys)}.")
        for side, name in enumerate(("x", "y")):
            axis = getattr(self, name)
            if axis.limits is None:
                axis = replace(axis, limits=_limits(self.marks, side, axis.log))
            low, high = map(float, axis.limits)
            if not (np.isfinite([low, high]).all() and low != high and (not axis.log or min(low, high) > 0)):
                raise ValueError(
                    f"Axis {name} of the panel {self.key or self.title!r} can't go from {low:g} to {high:g}."
                )
            object.__setattr__(self, name, replace(axis, limits=(low, high)))

    def mark(self, key):
        """The mark with this key."""
        return next(mark for mark in self.marks if mark.key == key)

    def wire(self, stored=False):
        """The panel as a dict; with `stored` short text instead of bytes, for a page without a kernel."""
        stored = "exact" if stored and (self.x.log or self.y.log) else stored
        plain = {
            name: getattr(self, name) for name in ("key", "title", "equal", "listens", "hint", "legend", "span", "rows")
        }
        return plain | {"x": self.x.wire(), "y": self.y.wire(), "marks": [mark.wire(stored) for mark in self.marks]}


@dataclass(frozen=True, eq=False, repr=False)
class Scene:
    """A picture: panels in a grid of `columns`, and one sentence that says the state with its number."""

    panels: list
    _: KW_ONLY
    columns: int = 2
    row_height: int = 240
    says: str = ""

    def __post_init__(self):
        _shorten(self, "says")

    def panel(self, key):
        """The panel with this key."""
        found = [panel for panel in self.panels if panel.key == key]
        if not found:
            raise KeyError(f"no panel {key!r}; this scene has {', '.join(panel.key for panel in self.panels)}")
        return found[0]

    def mark(self, panel, key):
        """One mark of one panel."""
        return self.panel(panel).mark(key)

    def frame(self):
        """What a page must know besides the panels."""
        keys = [panel.key for panel in self.panels]
        return {"keys": keys, "columns": self.columns, "row_height": self.row_height, "says": self.says}

    def wire(self, stored=False):
        """The scene as a dict of plain values and arrays."""
        return {**self.frame(), "panels": [panel.wire(stored) for panel in self.panels]}

    def figure(self, width=9.2):
        """The scene as a matplotlib Figure `width` inches wide: for stored pictures, PDF and tests."""
        return draw(self, width)

    def png(self, width=9.2, dpi=85):
        """The scene as PNG bytes in few colours."""
        return small_png(self.figure(width), dpi)

    def __repr__(self):
        return f"Scene({', '.join(panel.key for panel in self.panels)})"

    def _repr_png_(self):
        return self.png()


def _plain(value):
    several = isinstance(value, tuple | list | np.ndarray)
    return [v.item() if isinstance(v, np.generic) else v for v in value] if several else value


def _limits(marks, side, log):
    """Limits that show all marks with some room; a picture fills its own extent."""
    values = [np.ravel(getattr(mark, name)) for mark in marks for name in mark.spans[side]]
    extents = [mark.extent[2 * side : 2 * side + 2] for mark in marks if isinstance(mark, Image)]
    if isinstance(next(iter(marks), None), Image) and not any(len(v) for v in values):
        return extents[0]
    values = np.concatenate([*values, *extents, []]).astype(float)
    values = values[np.isfinite(values) & ((values > 0) | (not log))]
    if not len(values):
        return (0.1, 1.0) if log else (0.0, 1.0)
    low, high = values.min(), values.max()
    if log:
        room = max((high / low) ** 0.05, 1.1)
        return low / room, high * room
    room = 0.05 * (high - low) or 0.5 * max(abs(high), 1.0)
    return low - room, high + room
