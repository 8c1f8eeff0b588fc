"""Labels of rows, of any kind: classes, or a scale of numbers, or not known; one rule for all pictures."""

from typing import NamedTuple

import numpy as np

from .. import checks
from .style import class_names, classes_of

MOST_NUMBERS = checks.LABELS[0]  # more different numbers are no classes, but a scale
MOST_FRACTIONS = 10  # so are more that are not whole: there are as many colours
NOT_KNOWN = "not known"


def is_missing(label) -> bool:
    """Whether a label says nothing: None, NaN, pandas' NA or NaT.

    Examples
    --------
    >>> [is_missing(label) for label in (None, float("nan"), "nan", "", 0)]
    [True, True, False, False, False]
    """
    if label is None or type(label).__name__ == "NAType":  # which can't be compared
        return True
    try:
        return not isinstance(label, str) and bool(label != label)
    except (TypeError, ValueError, ArithmeticError):
        return False


# ---------------------------------------------------------------------- a scale
def shades_for(labels) -> np.ndarray | None:
    """Labels as numbers (N,), NaN where one is missing, if they are a scale; None if they are classes.

    A scale are numbers of more than twenty different values, or of more than ten that are not all whole. A pandas
    Categorical is classes, whatever its categories are.

    Examples
    --------
    >>> shades_for([0, 1, 2] * 20), shades_for(["a", 1.5]), shades_for(range(21))[:3]
    (None, None, array([0., 1., 2.]))
    """
    if categories_of(labels) is not None:
        return None
    labels = list(labels)
    missing = np.array([is_missing(label) for label in labels], bool)
    if not all(gap or checks.is_number(label) for label, gap in zip(labels, missing, strict=True)):
        return None
    numbers = np.array([np.nan if gap else float(label) for label, gap in zip(labels, missing, strict=True)], float)
    values = np.unique(numbers[~missing])
    most = MOST_NUMBERS if np.array_equal(values, np.round(values)) else MOST_FRACTIONS
    return numbers if len(values) > most else None


def shades_of_both(labels, new_labels, names, n_rows, n_new) -> tuple[np.ndarray, np.ndarray] | None:
    """Numbers of training rows and of new rows on one scale, NaN for rows without; None where labels are classes.

    With `names` they are.
    """
    given = [part for part in (labels, new_labels) if part is not None]
    if names is not None or not given or any(categories_of(part) is not None for part in given):
        return None
    shades = shades_for([label for part in given for label in part])
    if shades is None:
        return None
    n_first = n_rows if labels is not None else 0
    first = shades[:n_first] if labels is not None else np.full(n_rows, np.nan)
    second = shades[n_first:] if new_labels is not None else np.full(n_new, np.nan)
    return first, second


def range_of(*shades) -> tuple[float, float]:
    """The smallest and the largest finite number of some arrays.

    Examples
    --------
    >>> range_of(np.array([2.0, np.nan]), np.array([np.inf, 5.0]))
    (2.0, 5.0)
    """
    values = np.concatenate(shades)
    values = values[np.isfinite(values)]
    return float(values.min()), float(values.max())


def categories_of(labels):
    """The categories of a pandas Categorical, or of a Series of them, in their order; else None."""
    return getattr(getattr(labels, "cat", labels), "categories", None)


# ---------------------------------------------------------------------- classes
class Classes(NamedTuple):
    """Names of classes as a legend shows them, and which of them each row has (N,); -1 where it is not known."""

    names: list[str]
    which: np.ndarray


def classes_for(labels, names=None, categories=None) -> Classes:
    """Labels of any kind as `Classes`, in their order, or in that of `categories`; with `names` an index into them.

    Examples
    --------
    >>> classes_for(["dry", "sweet", "dry"])
    Classes(names=['dry', 'sweet'], which=array([0, 1, 0]))
    >>> classes_for([1, 1], ["dry", "sweet"])
    Classes(names=['sweet'], which=array([0, 0]))
    >>> classes_for(["dry", None, float("nan")])
    Classes(names=['dry'], which=array([ 0, -1, -1]))
    """
    labels = labels if isinstance(labels, np.ndarray) else list(labels)
    known = ~np.array([is_missing(label) for label in labels], bool)
    some = labels[known] if isinstance(labels, np.ndarray) else [labels[n] for n in np.flatnonzero(known)]
    values, which = classes_of(some)
    if categories is not None:
        places = {category: place for place, category in enumerate(categories)}
        order = sorted(range(len(values)), key=lambda k: places.get(values[k], len(places)))
        values, which = [values[k] for k in order], np.argsort(order)[which]
    if names is not None:
        values = [names[index_into(names, value)] for value in values]
    every = np.full(len(labels), -1)
    every[known] = which
    return Classes(class_names(values), every)


def index_into(names, label) -> int:
    """A label as an index into names."""
    if not checks.is_number(label) or not 0 <= label < len(names) or label != int(label):
        raise ValueError(
            f"With names, labels must be whole numbers from 0 to {len(names) - 1}, an index into names, got "
            f"{checks.shown(label)}. Leave names out where the labels are names themselves."
        )
    return int(label)


def classes_of_both(labels, new_labels, names, n_rows, n_new) -> tuple[Classes, Classes]:
    """`Classes` of training rows and of new rows, with one list of names; -1 for rows without a label.

    The categories of a pandas Categorical keep their order.
    """
    given = [part for part in (labels, new_labels) if part is not None]
    order = next((one for one in map(categories_of, given) if one is not None), None)
    both = given[0] if len(given) == 1 else [label for part in given for label in part]
    shown, which = classes_for(both, names, order) if given else Classes([], np.empty(0, int))
    n_first = n_rows if labels is not None else 0
    first = which[:n_first] if labels is not None else np.full(n_rows, -1)
    second = which[n_first:] if new_labels is not None else np.full(n_new, -1)
    return Classes(shown, first), Classes(shown, second)


def rows_not_labels(Y) -> None:
    """Refuse labels in the place of new rows Y: one dimension, or a column of texts.

    Examples
    --------
    >>> rows_not_labels(["dry", "sweet"])
    Traceback (most recent call last):
    ...
    ValueError: The second argument is new rows Y. Labels go by name: from_estimator(model, labels=...). Rows are a ...
    """
    try:
        shape = np.shape(Y)
    except (TypeError, ValueError):
        return  # no table at all: `transform` says what is wrong with it
    texts = len(shape) == 2 and shape[1] == 1 and any(isinstance(label, str) for label in np.ravel(Y))
    if Y is not None and (len(shape) < 2 or texts):
        raise ValueError(
            "The second argument is new rows Y. Labels go by name: from_estimator(model, labels=...). Rows are a table "
            f"of shape (number of rows, columns), got shape {shape}."
        )


def labels_for(labels, n_rows, name="labels", rows="the model has", advice=""):
    """Labels in one dimension, one for each row; a column of them will do, anything else is explained."""
    shape = np.shape(labels)
    if len(shape) == 2 and shape[1] == 1:
        labels = np.ravel(labels)
    elif len(shape) != 1 or isinstance(labels, str):
        raise ValueError(f"{name} must be one label for each row, got {checks.shown(labels)} of shape {shape}.")
    if len(labels) != n_rows:
        raise ValueError(
            f"{name} has {len(labels)} entries, but {rows} {n_rows} rows: pass one label for each.{advice}"
        )
    return labels
