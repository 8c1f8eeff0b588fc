"""Blocks of a table, that is, which columns are Gaussian, Bernoulli or multinomial: read and checked."""

from typing import NamedTuple

import numpy as np

from .. import checks
from ..gtm.model import are_whole_numbers

KINDS = ("gaussian", "bernoulli", "multinomial")
SECTION = '(chapter 10, "Zeros, ones and categories").'


class Block(NamedTuple):
    """Columns of one kind: "gaussian", "bernoulli" or "multinomial" (one-hot), and where they stand."""

    kind: str
    columns: np.ndarray


def find_blocks(Y) -> list[Block]:
    """Blocks found from the values: columns that hold only zeros and ones are Bernoulli. Equation (10.12).

    Examples
    --------
    >>> [(b.kind, b.columns.tolist()) for b in find_blocks(np.array([[0.5, 1.0], [2.0, 0.0], [np.nan, np.nan]]))]
    [('gaussian', [0]), ('bernoulli', [1])]
    """
    binary = np.all((Y == 0) | (Y == 1) | np.isnan(Y), axis=0)
    parts = [Block("gaussian", np.flatnonzero(~binary)), Block("bernoulli", np.flatnonzero(binary))]
    return [block for block in parts if len(block.columns)]


def check_blocks(name, blocks):
    """The `blocks` parameter of `DiscreteGTM`, if it can be read, whatever the data. Equation (10.12).

    Examples
    --------
    >>> check_blocks("blocks", [("gaussian", [0, 2]), ("bernoulli", 1)])
    [('gaussian', [0, 2]), ('bernoulli', 1)]
    >>> check_blocks("blocks", [("gaussian", [0.5])])
    Traceback (most recent call last):
    ...
    ValueError: blocks must be 'auto', 'gaussian', 'bernoulli', 'multinomial' or a list of pairs (kind, columns), ...
    """
    named = isinstance(blocks, str) and blocks in ("auto", *KINDS)
    listed = isinstance(blocks, (list, tuple)) and len(blocks) > 0 and all(map(_is_block, blocks))
    if not (named or listed):
        kinds = ", ".join(map(repr, ("auto", *KINDS)))
        raise ValueError(
            f"{name} must be {kinds} or a list of pairs (kind, columns), such as [('gaussian', [0, 1]), ('bernoulli', "
            f"[2])], whose columns are whole numbers of at least 0, got {checks.shown(blocks)}. See {SECTION}"
        )
    return blocks


def _is_block(pair):
    if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not isinstance(pair[0], str) or pair[0] not in KINDS:
        return False
    return are_whole_numbers(pair[1]) or are_whole_numbers([pair[1]])


def read_blocks(blocks, Y) -> list[Block]:
    """The `blocks` parameter of `DiscreteGTM` as a list of `Block` that holds every column of Y once. Equation (10.12).

    Parameters
    ----------
    blocks : "auto", the name of one kind for all columns, or a sequence of (kind, columns)
    Y : ndarray (N, D)

    Examples
    --------
    >>> [b.columns.tolist() for b in read_blocks([("gaussian", [0]), ("multinomial", [1, 2, 3])], np.zeros((2, 4)))]
    [[0], [1, 2, 3]]
    """
    D = Y.shape[1]
    if isinstance(blocks, str):
        if blocks == "auto":
            return find_blocks(Y)
        blocks = [(blocks, range(D))]
    _demand_each_once([int(c) for _, columns in blocks for c in np.ravel(columns)], D)
    parts = [Block(kind, np.atleast_1d(np.asarray(columns, dtype=int))) for kind, columns in blocks]
    joined = [block.columns for block in parts if block.kind == "gaussian"]
    rest = [block for block in parts if block.kind != "gaussian"]  # one precision: one Gaussian block
    return ([Block("gaussian", np.concatenate(joined))] if joined else []) + rest


def _demand_each_once(named, D):
    outside = [c for c in named if not 0 <= c < D]
    if outside:
        raise ValueError(f"blocks name column {outside[0]}, but Y has {D} columns, 0 to {D - 1}.")
    times = np.bincount(named, minlength=D)
    if np.any(times == 0):
        missing = ", ".join(map(str, np.flatnonzero(times == 0)))
        raise ValueError(
            f"blocks leave out column {missing} of {D}: every column needs a kind, "
            '("gaussian", [...]), ("bernoulli", [...]) or ("multinomial", [...]). Add it to a '
            'block, or drop it from Y (chapter 10, "Zeros, ones and categories").'
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
