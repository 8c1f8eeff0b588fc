"""Blocks of a table, that is, which columns are Gaussian, Bernoulli or multinomial: read and checked."""

from typing import NamedTuple

import numpy as np

from .. import checks, tables
from ..gtm.model import are_whole_numbers

KINDS = ("gaussian", "bernoulli", "multinomial")
SECTION = '(chapter 10, "Zeros, ones and categories").'


class Block(NamedTuple):
    """Columns of one kind: "gaussian", "bernoulli" or "multinomial" (one-hot), and where they stand."""

    kind: str
    columns: np.ndarray


def find_blocks(Y, names=None) -> list[Block]:
    """Blocks found from the values: columns that hold only zeros and ones are Bernoulli. Equation (10.12).

    Where the columns have names, those that are one-hot and whose names begin alike (`tables.one_hot_groups`) are one
    multinomial block.

    Examples
    --------
    >>> [(b.kind, b.columns.tolist()) for b in find_blocks(np.array([[0.5, 1.0], [2.0, 0.0], [np.nan, np.nan]]))]
    [('gaussian', [0]), ('bernoulli', [1])]
    >>> [(b.kind, b.columns.tolist()) for b in find_blocks(np.eye(2), ["colour_red", "colour_blue"])]
    [('multinomial', [0, 1])]
    """
    groups = [] if names is None else tables.one_hot_groups(Y, names)
    binary = np.all((Y == 0) | (Y == 1) | np.isnan(Y), axis=0)
    alone = binary & ~np.isin(np.arange(Y.shape[1]), [c for group in groups for c in group])
    parts = [Block("gaussian", np.flatnonzero(~binary)), Block("bernoulli", np.flatnonzero(alone))]
    return [block for block in parts if len(block.columns)] + [Block("multinomial", group) for group in groups]


def check_blocks(name, blocks):
    """The `blocks` parameter of `DiscreteGTM`, if it can be read, whatever the data. Equation (10.12).

    Examples
    --------
    >>> check_blocks("blocks", [("gaussian", [0, 2]), ("bernoulli", 1)])
    [('gaussian', [0, 2]), ('bernoulli', 1)]
    >>> check_blocks("blocks", {"height": "gaussian", (3, 4, 5): "categorical"})
    {'height': 'gaussian', (3, 4, 5): 'categorical'}
    >>> check_blocks("blocks", [("gaussian", [0.5])])
    Traceback (most recent call last):
    ...
    ValueError: blocks must be 'auto', 'gaussian', 'bernoulli', 'multinomial', a list of pairs (kind, columns), ...
    """
    if isinstance(blocks, dict):
        for kind in tables.check_kinds(name, blocks).values():
            block_kind(name, kind)
        return blocks
    named = isinstance(blocks, str) and (blocks == "auto" or blocks in tables.KINDS)
    listed = isinstance(blocks, (list, tuple)) and len(blocks) > 0 and all(map(_is_block, blocks))
    if not (named or listed):
        kinds = ", ".join(map(repr, ("auto", *KINDS)))
        raise ValueError(
            f"{name} must be {kinds}, a list of pairs (kind, columns), such as [('gaussian', [0, 1]), ('bernoulli', "
            "[2])], whose columns are names of a DataFrame or whole numbers of at least 0, or {column: kind}, got "
            f"{checks.shown(blocks)}. See {SECTION}"
        )
    for kind in [blocks] if named else [kind for kind, _ in blocks]:
        if kind != "auto":
            block_kind(name, kind)
    return blocks


def block_kind(name, word) -> str:
    """The kind of block that a word for columns means; ordered levels and counts have none here.

    Examples
    --------
    >>> block_kind("blocks", "categorical"), block_kind("blocks", "probit")
    ('multinomial', 'bernoulli')
    """
    kind = tables.kind_of(name, word)
    if kind == "ordinal":
        raise ValueError(
            f"{name} has the kind 'ordinal', and a DiscreteGTM knows no order of levels: call the column "
            "'categorical', which forgets the order, or use SparseGPLVM(noise={column: 'ordinal'}). See "
            f"{SECTION}"
        )
    if kind == "counts":
        raise ValueError(f"{name} has the kind {word!r}. {tables.COUNTS}")
    return {"gaussian": "gaussian", "binary": "bernoulli", "categorical": "multinomial"}[kind]


def _is_block(pair):
    if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not isinstance(pair[0], str):
        return False
    columns = [pair[1]] if isinstance(pair[1], str) else pair[1]
    if isinstance(columns, (list, tuple)) and len(columns) and all(isinstance(one, str) for one in columns):
        return pair[0] in tables.KINDS
    return pair[0] in tables.KINDS and (are_whole_numbers(pair[1]) or are_whole_numbers([pair[1]]))


def read_blocks(blocks, Y, names=None, coding=None) -> list[Block]:
    """The `blocks` parameter of `DiscreteGTM` as a list of `Block` that holds every column of Y once. Equation (10.12).

    Parameters
    ----------
    blocks : "auto", the name of one kind for all columns, a sequence of (kind, columns), or {column: kind}
        Columns that a dictionary does not name are found as with "auto".
    Y : ndarray (N, D)
    names : sequence of str or None
        Of the columns of the table, where they have some.
    coding : tables.Coding or None
        How the columns of a table with categories became those of Y: a category is one multinomial block.

    Examples
    --------
    >>> [b.columns.tolist() for b in read_blocks([("gaussian", [0]), ("multinomial", [1, 2, 3])], np.zeros((2, 4)))]
    [[0], [1, 2, 3]]
    >>> read_blocks({"height": "gaussian"}, np.eye(2), ["height", "smoker"])
    [Block(kind='gaussian', columns=array([0])), Block(kind='bernoulli', columns=array([1]))]
    """
    stated = stated_blocks(blocks, names, Y.shape[1] if coding is None else len(coding.columns))
    if coding is not None:
        stated = _coded_blocks(stated, coding)
    elif stated:
        _demand_several(stated, Y)
    rest = np.setdiff1d(np.arange(Y.shape[1]), [c for _, columns in stated for c in columns])
    all_names = names if coding is None else coding.names
    found = find_blocks(Y[:, rest], None if all_names is None else [all_names[c] for c in rest]) if len(rest) else []
    parts = [*stated, *(Block(kind, rest[columns]) for kind, columns in found)]
    return [*_joined(parts, "gaussian"), *_joined(parts, "bernoulli"), *(b for b in parts if b.kind == "multinomial")]


def stated_blocks(blocks, names, D) -> list[Block]:
    """What a user has said of the columns of a table of D columns; nothing for "auto". Equation (10.12).

    Examples
    --------
    >>> stated_blocks({"smoker": "binary"}, ["height", "smoker"], 2)
    [Block(kind='bernoulli', columns=array([1]))]
    """
    if isinstance(blocks, str):
        return [] if blocks == "auto" else [Block(block_kind("blocks", blocks), np.arange(D))]
    if isinstance(blocks, dict):
        pairs = [(kind, columns) for columns, kind in tables.read_kinds("blocks", blocks, names, D)]
    else:
        keys = [(kind, columns if np.ndim(columns) else [columns]) for kind, columns in blocks]
        pairs = [(kind, tables.column_numbers("blocks", tuple(columns), names, D)) for kind, columns in keys]
        _demand_each_once([c for _, columns in pairs for c in columns], D)
    return [Block(block_kind("blocks", kind), np.array(columns, dtype=int)) for kind, columns in pairs]


def _coded_blocks(stated, coding) -> list[Block]:
    """Blocks of the coded columns: every category is a block of its own, and can be called nothing else."""
    kinds = {int(c): kind for kind, columns in stated for c in columns}
    found = []
    for number, (column, place) in enumerate(zip(coding.columns, coding.places, strict=True)):
        if column.levels is not None and kinds.get(number) == "gaussian":
            raise ValueError(
                f"blocks call column {column.name!r} 'gaussian', but it holds the categories "
                f"{checks.shown(list(column.levels), 60)}: call it 'categorical', or leave it out, which is the same."
            )
        if column.levels is not None:
            found.append(Block("multinomial", place))
        elif kinds.get(number) == "multinomial":
            raise ValueError(ONE_COLUMN.format(column.name))
        elif number in kinds:
            found.append(Block(kinds[number], place))
    return found


ONE_COLUMN = (
    "Column {!r} is called 'categorical', but it is one column of numbers: declare it as a category, "
    "Y[column].astype('category'), or give the one-hot columns of the category together, {{(3, 4, 5): 'categorical'}}."
)


def _demand_several(stated, Y):
    for kind, columns in stated:
        if kind == "multinomial" and len(columns) == 1 and not np.all((Y[:, columns] == 1) | np.isnan(Y[:, columns])):
            raise ValueError(ONE_COLUMN.format(int(columns[0])))


def _joined(parts, kind) -> list[Block]:
    """All columns of one kind in one block: there is one precision, and Bernoulli columns are independent anyway."""
    columns = [block.columns for block in parts if block.kind == kind]
    return [Block(kind, np.concatenate(columns))] if columns else []


def _demand_each_once(named, D):
    times = np.bincount(named, minlength=D)
    if np.any(times == 0):
        missing = ", ".join(map(str, np.flatnonzero(times == 0)))
        raise ValueError(
            f"blocks leave out column {missing} of {D}: every column needs a kind, "
            '("gaussian", [...]), ("bernoulli", [...]) or ("multinomial", [...]). Add it to a '
            'block, or drop it from Y; {column: kind} may leave columns out (chapter 10, "Zeros, ones and categories").'
        )
    if np.any(times > 1):
        raise ValueError(f"blocks name column {np.argmax(times > 1)} more than once: it can be of one kind only.")


def check_labels(Y, blocks) -> None:
    """Raise a clear error unless discrete columns hold zeros and ones, and one-hot rows sum to one. Equation (10.8).

    Examples
    --------
    >>> check_labels(np.array([[1.0, 0.0], [0.0, 1.0]]), [Block("multinomial", np.arange(2))])
    >>> check_labels(np.array([[2.0]]), [Block("bernoulli", np.arange(1))])
    Traceback (most recent call last):
    ...
    ValueError: Column 0 is declared bernoulli but row 0 holds 2: only 0, 1 and NaN (missing) are allowed...
    """
    for kind, columns in blocks:
        if kind == "gaussian":
            continue
        part = Y[:, columns]
        wrong = ~((part == 0) | (part == 1) | np.isnan(part))
        if wrong.any():
            row, j = np.argwhere(wrong)[0]
            raise ValueError(
                f"Column {columns[j]} is declared {kind} but row {row} holds {part[row, j]:g}: only 0, 1 "
                'and NaN (missing) are allowed. Recode the labels, or declare the column "gaussian" '
                '(chapter 10, "Zeros, ones and categories").'
            )
        if kind == "multinomial":
            _check_one_hot(part, columns)


def _check_one_hot(part, columns):
    gaps, names = np.isnan(part), f"columns {columns[0]} to {columns[-1]}"
    half = gaps.any(axis=1) & ~gaps.all(axis=1)
    if half.any():
        raise ValueError(
            f"Row {np.argmax(half)} has NaN in some of {names} and values in others: a category is known "
            "or it is not. Set all of them to NaN, or complete the one-hot code."
        )
    total = part.sum(axis=1)
    bad = ~gaps.all(axis=1) & (total != 1)
    if bad.any():
        row = np.argmax(bad)
        raise ValueError(
            f"Row {row} has {total[row]:g} ones in {names}, which are declared multinomial: exactly one "
            'category must be marked. If several can hold at once, declare the columns "bernoulli" '
            '(chapter 10, "Zeros, ones and categories").'
        )
