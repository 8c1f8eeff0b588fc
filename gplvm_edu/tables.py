"""A user's table: columns by name and by kind, categories as numbers and back.

One description of columns serves every model that takes several kinds: {column: kind}, where a column is a name (of a
pandas DataFrame), a number, or a tuple of them that belong together, and a kind is a word. pandas itself is never
imported: a table is whatever answers like one.
"""

import difflib
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from . import checks

KINDS = {  # what a user may write: what it means
    "gaussian": "gaussian",
    "normal": "gaussian",
    "binary": "binary",
    "probit": "binary",
    "bernoulli": "binary",
    "categorical": "categorical",
    "category": "categorical",
    "multinomial": "categorical",
    "ordinal": "ordinal",
    "counts": "counts",
    "poisson": "counts",
}
COUNTS = (
    "There is no Poisson model here: use SparseGPLVM(noise={column: 'poisson'}); or take the square root of the "
    "counts, whose noise has nearly the same variance everywhere, and call the column 'gaussian'."
)
SEPARATORS = "_="  # between the name of a category and its level: pandas.get_dummies, DictVectorizer
TEXT = ("category", "object", "str", "boolean")  # how the names of types begin whose columns may hold words
MANY_LEVELS = 10  # as many different words are a category in any table; more have to come back now and then


# ---------------------------------------------------------------------------------------------- names and kinds
def nearest(word, words) -> str:
    """A sentence that offers the right word nearest to a wrong one, or those that there are.

    Examples
    --------
    >>> nearest("hieght", ["height", "weight"]), nearest("x", ["height", "weight"])
    ("The nearest is 'height'.", "There are 'height', 'weight'.")
    """
    words = [str(one) for one in words]
    close = difflib.get_close_matches(str(word), words, n=1)
    if close:
        return f"The nearest is {close[0]!r}."
    return f"There are {', '.join(map(repr, words[:8]))}{', ...' if len(words) > 8 else ''}."


def kind_of(name, word) -> str:
    """What a word for a kind of column means: one of "gaussian", "binary", "categorical", "ordinal", "counts".

    Examples
    --------
    >>> kind_of("noise", "probit"), kind_of("blocks", "bernoulli")
    ('binary', 'binary')
    >>> kind_of("noise", "gausian")
    Traceback (most recent call last):
    ...
    ValueError: noise has the kind 'gausian', which is none of the words for columns. The nearest is 'gaussian'.
    """
    if not isinstance(word, str) or word not in KINDS:
        hint = nearest(word if isinstance(word, str) else "", KINDS)
        raise ValueError(f"{name} has the kind {checks.shown(word)}, which is none of the words for columns. {hint}")
    return KINDS[word]


def check_kinds(name, kinds, allowed=()) -> dict:
    """A dictionary {column: kind}, if it can be read, whatever the data; `allowed` classes are kinds beside the words.

    Examples
    --------
    >>> check_kinds("noise", {"height": "gaussian", ("a", "b"): "probit"})
    {'height': 'gaussian', ('a', 'b'): 'probit'}
    >>> check_kinds("noise", {0.5: "gaussian"})
    Traceback (most recent call last):
    ...
    ValueError: noise names the column 0.5: a column is a name, a whole number of at least 0, or a tuple of them.
    """
    if not kinds:
        raise ValueError(
            f"{name} must say {{column: kind}} for one column at least, such as {{'age': 'gaussian'}}, got {{}}."
        )
    for key, kind in kinds.items():
        parts = key if isinstance(key, tuple) else (key,)
        if not parts or not all(map(_is_column, parts)):
            raise ValueError(
                f"{name} names the column {checks.shown(key)}: a column is a name, a whole number of at least 0, or a "
                "tuple of them."
            )
        if not isinstance(kind, tuple(allowed)):
            kind_of(name, kind)
    return kinds


def _is_column(key) -> bool:
    whole = isinstance(key, Integral) and not isinstance(key, (bool, np.bool_))
    return isinstance(key, str) or (whole and int(key) >= 0)


def column_numbers(name, key, names, n_columns) -> list[int]:
    """The columns that a key means: a name, a number, the common beginning of one-hot columns, or several in a tuple.

    Parameters
    ----------
    name : str
        Of the parameter, for an error.
    key : str, int or tuple of them
    names : sequence of str or None
        Of the columns, where they have names.
    n_columns : int

    Examples
    --------
    >>> names = ["height", "colour_red", "colour_blue"]
    >>> column_numbers("blocks", "height", names, 3), column_numbers("blocks", "colour", names, 3)
    ([0], [1, 2])
    >>> column_numbers("blocks", "hieght", names, 3)
    Traceback (most recent call last):
    ...
    ValueError: blocks names the column 'hieght', which Y has not. The nearest is 'height'.
    """
    if isinstance(key, tuple):
        return [number for one in key for number in column_numbers(name, one, names, n_columns)]
    if not isinstance(key, str):
        if not key < n_columns:
            raise ValueError(f"{name} names column {key}, but Y has {n_columns} columns, 0 to {n_columns - 1}.")
        return [int(key)]
    if names is None:
        raise ValueError(
            f"{name} names the column {key!r}, but the columns of Y have no names: pass a pandas DataFrame, or number "
            f"the columns, 0 to {n_columns - 1}."
        )
    found = [j for j, one in enumerate(names) if one == key]
    found = found or [j for j, one in enumerate(names) if str(one).startswith(tuple(key + mark for mark in SEPARATORS))]
    if not found:
        raise ValueError(f"{name} names the column {key!r}, which Y has not. {nearest(key, names)}")
    return found


def read_kinds(name, kinds, names, n_columns) -> list[tuple[list[int], Any]]:
    """Pairs (columns, kind) from a dictionary {column: kind}, or an error where a column has two kinds.

    Examples
    --------
    >>> read_kinds("noise", {"age": "gaussian", (0, 2): "probit"}, ["a", "age", "b"], 3)
    [([1], 'gaussian'), ([0, 2], 'probit')]
    """
    found = [(column_numbers(name, key, names, n_columns), kind) for key, kind in kinds.items()]
    times = np.bincount([j for columns, _ in found for j in columns], minlength=n_columns)
    if np.any(times > 1):
        j = int(np.argmax(times > 1))
        what = j if names is None else f"{j} ({names[j]!r})"
        raise ValueError(f"{name} names column {what} more than once: it can be of one kind only.")
    return found


def one_hot_groups(Y, names) -> list[np.ndarray]:
    """Columns that are one category: zeros and ones whose rows sum to 1, and names with the same beginning.

    Rows of nothing but NaN are a category that was not seen. The shortest common beginning that will do is taken, up to
    one of the `SEPARATORS`.

    Examples
    --------
    >>> Y = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    >>> [group.tolist() for group in one_hot_groups(Y, ["colour_red", "colour_blue", "smoker"])]
    [[0, 1]]
    """
    free = set(np.flatnonzero(np.all((Y == 0) | (Y == 1) | np.isnan(Y), axis=0)).tolist())
    starts: dict[str, list[int]] = {}
    for j in sorted(free):
        for i, letter in enumerate(str(names[j])):
            if letter in SEPARATORS and i:
                starts.setdefault(str(names[j])[: i + 1], []).append(j)
    groups = []
    for start in sorted(starts, key=len):
        columns = starts[start]
        if len(columns) > 1 and free.issuperset(columns) and _sums_to_one(Y[:, columns]):
            groups.append(np.array(columns))
            free -= set(columns)
    return sorted(groups, key=lambda group: group[0])


def _sums_to_one(part) -> bool:
    gaps = np.isnan(part)
    unseen = gaps.all(axis=1)
    return not (gaps.any(axis=1) & ~unseen).any() and not unseen.all() and bool(np.all(part[~unseen].sum(axis=1) == 1))


# ---------------------------------------------------------------------------------------------- tables with categories
class Column(NamedTuple):
    """A column of a table: its name, its categories in their order (None: it holds numbers), and how it is coded."""

    name: Any
    levels: tuple | None
    ordered: bool
    dtype: Any  # the table's own
    one_hot: bool = False  # a column of zeros and ones for each level; otherwise the level's number

    @property
    def coded_names(self) -> list[str]:
        """Names of the columns of numbers that stand for it."""
        return [f"{self.name}_{level}" for level in self.levels or ()] if self.one_hot else [str(self.name)]


class Coding(NamedTuple):
    """How a table with categories becomes numbers, as it was when a model was fitted."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        """Names of the columns of numbers, one-hot columns as `pandas.get_dummies` names them."""
        return [name for column in self.columns for name in column.coded_names]

    @property
    def places(self) -> list[np.ndarray]:
        """For each column of the table the numbers of its columns of numbers."""
        ends = np.cumsum([len(column.coded_names) for column in self.columns])
        return [np.arange(end - len(column.coded_names), end) for column, end in zip(self.columns, ends, strict=True)]


def is_table(Y) -> bool:
    """Whether Y answers like a pandas DataFrame."""
    return all(hasattr(Y, name) for name in ("iloc", "dtypes", "columns", "isetitem"))


def has_categories(Y) -> bool:
    """Whether a table has a column that holds categories or words."""
    return is_table(Y) and any(_holds_words(Y.iloc[:, j]) for j in range(Y.shape[1]))


def _holds_words(column) -> bool:
    kind = str(column.dtype).lower()
    if not kind.startswith(TEXT):
        return False
    seen = column[~column.isna()].tolist()
    answers = len(seen) > 0 and all(isinstance(one, (bool, np.bool_)) for one in seen)  # True or False, and gaps
    return kind == "category" or answers or any(isinstance(one, str) for one in seen)


def _levels(column) -> tuple[tuple, bool]:
    """Categories in their order, and whether the order means something: as declared, or the words there are, sorted."""
    if str(column.dtype) == "category":
        return tuple(column.cat.categories.tolist()), bool(column.cat.ordered)
    words = sorted(set(column[~column.isna()].tolist()), key=str)
    if len(words) > max(MANY_LEVELS, len(column) // 2):
        raise ValueError(
            f"Column {column.name!r} has {len(words)} different words in {len(column)} rows, such as {words[0]!r}: "
            "that is a name or a number written as text, not a category. Drop the column, convert it with "
            "pandas.to_numeric, or, if it is a category, with astype('category')."
        )
    return tuple(words), False


def read_coding(Y, one_hot) -> Coding:
    """The `Coding` of a table: which columns hold categories; ``one_hot(number, column)`` says how each is coded."""
    columns = []
    for j in range(Y.shape[1]):
        values = Y.iloc[:, j]
        if not _holds_words(values):
            columns.append(Column(Y.columns[j], None, False, values.dtype))
            continue
        column = Column(Y.columns[j], *_levels(values), values.dtype)
        columns.append(column._replace(one_hot=bool(one_hot(j, column))))
    return Coding(tuple(columns))


def encode(Y, coding) -> np.ndarray:
    """A table as numbers (N, D), coded as `coding` says; NaN where an entry is missing."""
    parts = [_encoded(Y.iloc[:, j], column) for j, column in enumerate(coding.columns)]
    return np.column_stack(parts) if len(Y) else np.zeros((0, len(coding.names)))


def _encoded(values, column) -> np.ndarray:
    gaps, entries = np.asarray(values.isna(), dtype=bool), values.tolist()
    if column.levels is None:
        return checks.floats(
            f"Column {column.name!r} of Y", [np.nan if g else v for g, v in zip(gaps, entries, strict=True)]
        )
    number = {level: code for code, level in enumerate(column.levels)}
    for row, (gap, entry) in enumerate(zip(gaps, entries, strict=True)):
        if not gap and entry not in number:
            raise ValueError(
                f"Column {column.name!r} of Y has the category {entry!r} in row {row}, which it had not when the model "
                f"was fitted. {nearest(entry, column.levels)} Write NaN where the category is not known."
            )
    codes = np.array([np.nan if gap else number[entry] for gap, entry in zip(gaps, entries, strict=True)], dtype=float)
    if not column.one_hot:
        return codes
    return np.where(gaps[:, None], np.nan, codes[:, None] == np.arange(len(column.levels)))


def like(Y, numbers):
    """Numbers (N, D) as a table like Y, where Y is one; elsewhere as they are."""
    return type(Y)(numbers, index=Y.index, columns=Y.columns) if is_table(Y) else numbers


def named(numbers, names):
    """Numbers (N, D) as a table with names; as they are where pandas is not installed."""
    try:
        from pandas import DataFrame  # whoever passed names has it, or another library for tables
    except ImportError:
        return numbers
    return DataFrame(numbers, columns=list(names))


def decode(numbers, coding):
    """The table that `encode` would code as these numbers (N, D); yes and no may be 1 and -1."""
    from pandas import DataFrame, Series, concat  # a table was coded, so it is there

    parts = []
    for column, place in zip(coding.columns, coding.places, strict=True):
        part, levels = numbers[:, place], column.levels
        if levels is None:
            parts.append(Series(part[:, 0]))
            continue
        codes = np.argmax(part, axis=1) if column.one_hot else np.maximum(np.nan_to_num(part[:, 0]), 0.0)
        gaps = np.isnan(part[:, 0])
        entries = [None if gap else levels[int(code)] for gap, code in zip(gaps, codes, strict=True)]
        parts.append(Series(entries, dtype=column.dtype))
    table = concat(parts, axis=1) if parts else DataFrame()
    table.columns = [column.name for column in coding.columns]
    return table


def fill_table(Y, filled, std, coding) -> tuple:
    """A copy of the table Y with its gaps filled, and one of deviations.

    Parameters
    ----------
    Y : table with gaps
    filled, std : ndarray (N, D)
        Expected values of its numbers, coded, and their deviations.
    coding : Coding

    Returns
    -------
    table : as Y
        Numbers filled by their expected values; the likeliest category; the level nearest to the expected one.
    deviations : table of the same rows and columns
        0 where observed; of a category that of the answer yes or no to "is it this one?"; of a level in levels.
    """
    table, deviations = Y.copy(), np.zeros(Y.shape)
    rows = np.arange(len(Y))
    for j, (column, place) in enumerate(zip(coding.columns, coding.places, strict=True)):
        values = Y.iloc[:, j]
        gaps, codes = np.asarray(values.isna(), dtype=bool), np.zeros(len(Y), dtype=int)
        if column.one_hot:
            codes = np.argmax(filled[:, place], axis=1)
        deviations[:, j] = np.where(gaps, std[rows, place[codes]], 0.0)
        if column.levels is None:
            new, dtype = filled[:, place[0]].tolist(), float if gaps.any() else values.dtype
        else:
            likely = codes if column.one_hot else np.clip(np.rint(filled[:, place[0]]), 0, len(column.levels) - 1)
            new, dtype = [column.levels[int(code)] for code in likely], column.dtype
        entries = [n if gap else v for gap, n, v in zip(gaps, new, values.tolist(), strict=True)]
        table.isetitem(j, type(values)(entries, index=Y.index, dtype=dtype))
    return table, type(Y)(deviations, index=Y.index, columns=Y.columns)
