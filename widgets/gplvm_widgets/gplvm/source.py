"""Where the points of `explore_gplvm` come from: the course's data, an array, a file."""

from functools import lru_cache

import numpy as np

from gplvm_edu import datasets

from ..words import brief, class_names, classes_of
from .table import check_data

LOAD = {
    "oil flow": "data = simulate_oil_flow({n}, random_state=0)\nY = data.data",
    "digits": "data = load_digits()\nY = data.data[data.target < 5][:{n}]",
    "Swiss roll": "data = make_swiss_roll({n}, random_state=0)\nY = data.data",
}


class Source:
    """Where points come from: `take(n)` gives (Y, target, names), `code(n)` the lines that load the same."""

    image_shape = None

    def __init__(self, Y, labels=None, load="Y = np.asarray(Y, dtype=float)      # your own array"):
        self.Y, self.load = check_data(Y), load
        self.target, self.names = _as_target(labels, len(self.Y))

    def _rows(self, n):
        return np.linspace(0, len(self.Y) - 1, min(n, len(self.Y))).round().astype(int)

    def take(self, n):
        """n rows evenly spread over the data, as (Y, target, names)."""
        rows = self._rows(n)
        return self.Y[rows], None if self.target is None else self.target[rows], self.names

    def code(self, n):
        """The lines that take the same rows."""
        if n >= len(self.Y):
            return self.load
        return f"{self.load}\nY = Y[np.linspace(0, len(Y) - 1, {n}).round().astype(int)]"


class BuiltIn(Source):
    """One entry of the menu."""

    def __init__(self, name):
        self.name, self.image_shape = name, (8, 8) if name == "digits" else None

    def take(self, n):
        """n points of the data set, as (Y, target, names)."""
        if self.name == "oil flow":
            bunch = datasets.simulate_oil_flow(n, random_state=0)
            return bunch.data, bunch.target, bunch.target_names
        if self.name == "digits":
            bunch = datasets.load_digits()
            chosen = np.flatnonzero(bunch.target < 5)[:n]
            return bunch.data[chosen], bunch.target[chosen], bunch.target_names
        bunch = datasets.make_swiss_roll(n, random_state=0)
        return bunch.data, bunch.target, None

    def code(self, n):
        """The lines that load the same."""
        return LOAD[self.name].format(n=n)


BUILT_IN = {name: BuiltIn(name) for name in LOAD}


def _as_target(labels, N):
    """Classes as whole numbers with their names; many different numbers are a scale without names; or None."""
    if labels is None:
        return None, None
    labels = labels if isinstance(labels, str | bytes | np.ndarray) else list(labels)
    single = labels.ndim == 1 if isinstance(labels, np.ndarray) else isinstance(labels, list)
    if not single or len(labels) != N or any(isinstance(label, list | np.ndarray) for label in labels):
        got = f"an array of shape {labels.shape}" if isinstance(labels, np.ndarray) else brief(repr(labels))
        raise ValueError(f"labels must be one for each of the {N} rows of Y, got {got}.")
    values, target = classes_of(labels)
    if len(values) <= 10:
        return target, tuple(class_names(values))
    try:
        return np.array([float(label) for label in labels]), None
    except (TypeError, ValueError):
        return None, None  # more than ten kinds of text: no palette tells them apart


def source_of(data):
    """The `Source` of an entry of the menu, or the one given."""
    return BUILT_IN[data] if isinstance(data, str) else data


@lru_cache(maxsize=8)
def load(data, n_points, scale) -> tuple[np.ndarray, np.ndarray | None, tuple | None]:
    """Data, target and names for one setting; `data` is an entry of the menu or a `Source`."""
    Y, target, names = source_of(data).take(n_points)
    if scale:
        deviation = Y.std(axis=0)
        Y = Y / np.where(deviation > 0, deviation, 1.0)
    return Y, target, names
