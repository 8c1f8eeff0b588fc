"""What every loader and simulator returns, and the checks that they share."""
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np


class Dataset(NamedTuple):
    """Data with what is known about each row: ``data, target, target_names, extra``.

    data : ndarray (N, D)
    target : ndarray (N,) or None
        Class of each row, as an index into `target_names`; a position where the data set has no classes
        (Swiss roll); None where nothing is known (Frey faces).
    target_names : tuple of str
    extra : dict
        What else the data set knows: fractions, image shape, which rows are the training set.

    Examples
    --------
    >>> toy = Dataset(np.zeros((2, 3)), np.array([0, 1]), ("left", "right"), {})
    >>> [toy.target_names[k] for k in toy.target]
    ['left', 'right']
    >>> data, target, *_ = toy
    """

    data: np.ndarray
    target: np.ndarray | None
    target_names: tuple[str, ...]
    extra: dict[str, Any]


def draw_per_class(dataset, n_per_class, classes=None, random_state=None):
    """A random part of a data set with equally many rows of each class, class after class.

    Parameters
    ----------
    dataset : Dataset
    n_per_class : int
    classes : iterable of int or None
        Which classes to keep; None for all.
    random_state : None, int or numpy Generator

    Returns
    -------
    Dataset
        With the rows it was drawn from as ``extra["rows"]``.

    Examples
    --------
    >>> toy = Dataset(np.arange(6.0)[:, None], np.array([0, 1, 2, 0, 1, 2]), ("a", "b", "c"), {})
    >>> draw_per_class(toy, 2, classes=(0, 2), random_state=0).target
    array([0, 0, 2, 2])
    """
    rng, n_per_class = np.random.default_rng(random_state), check_n_samples(n_per_class)
    classes = range(len(dataset.target_names)) if classes is None else classes
    members = {k: np.flatnonzero(dataset.target == k) for k in classes}
    short = {k: len(rows) for k, rows in members.items() if len(rows) < n_per_class}
    if short or not members:
        raise ValueError(f"n_per_class={n_per_class} rows of each class were asked for, but the data have "
                         f"{short or 'no class at all'} (class: rows). Ask for fewer, or leave the class out.")
    rows = np.concatenate([rng.choice(found, n_per_class, replace=False) for found in members.values()])
    return Dataset(dataset.data[rows], dataset.target[rows], dataset.target_names, {**dataset.extra, "rows": rows})


def check_n_samples(n_samples):
    """The number of points as an int of at least 1, or an error that says what was given.

    Examples
    --------
    >>> check_n_samples(10)
    10
    >>> check_n_samples(0)
    Traceback (most recent call last):
    ValueError: n_samples must be a whole number of at least 1, got 0.
    """
    if isinstance(n_samples, (bool, np.bool_)) or not isinstance(n_samples, Integral) or n_samples < 1:
        raise ValueError(f"n_samples must be a whole number of at least 1, got {n_samples!r}.")
    return int(n_samples)


def check_option(name, value, allowed):
    """Raise an error that lists the allowed values unless `value` is one of them.

    Examples
    --------
    >>> check_option("split", "dev", (None, "train", "test"))
    Traceback (most recent call last):
    ValueError: split must be one of None, 'train', 'test', got 'dev'.
    """
    plain = isinstance(value, (str, Integral)) and not isinstance(value, (bool, np.bool_))
    if not any(value is option or (plain and value == option) for option in allowed):
        listed = ", ".join(repr(option) for option in allowed)
        raise ValueError(f"{name} must be one of {listed}, got {value!r}.")
