"""What every loader and simulator returns, and parts of it."""

from typing import Any, NamedTuple

import numpy as np

from .. import checks


class Dataset(NamedTuple):
    """Data with what is known about each row: ``data, target, target_names, extra``.

    data : ndarray (N, D)
    target : ndarray (N,) or None
        Class of each row, as an index into `target_names`; a position where the data set has no classes
        (Swiss roll); None where nothing is known (Frey faces).
    target_names : tuple of str
    extra : dict
        What else is known: fractions, image shape, which rows are the training set.

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


def draw_per_class(dataset, n_per_class, classes=None, random_state=None) -> Dataset:
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
    rng, n_per_class = checks.generator(random_state), checks.whole_number("n_per_class", n_per_class)
    classes = range(len(dataset.target_names)) if classes is None else classes
    members = {k: np.flatnonzero(dataset.target == k) for k in classes}
    short = {k: len(rows) for k, rows in members.items() if len(rows) < n_per_class}
    if short or not members:
        raise ValueError(
            f"n_per_class={n_per_class} rows of each class were asked for, but the data have "
            f"{short or 'no class at all'} (class: rows). Ask for fewer, or leave the class out."
        )
    rows = np.concatenate([rng.choice(found, n_per_class, replace=False) for found in members.values()])
    return Dataset(dataset.data[rows], dataset.target[rows], dataset.target_names, {**dataset.extra, "rows": rows})


def unit_variance(Y) -> np.ndarray:
    """Data over one number, so that the mean variance of a column is 1: the scale of equation (11.17).

    Examples
    --------
    >>> unit_variance(np.array([[0.0, 0.0], [4.0, 2.0]])).var(axis=0)
    array([1.6, 0.4])
    """
    Y = np.asarray(Y, dtype=float)
    return Y / np.sqrt(np.mean(Y.var(axis=0)))  # (11.17)
