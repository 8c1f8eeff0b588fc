"""A reader's own data: a CSV file, or arrays, made ready for an explorer, with errors that say what to change."""

import csv
import io
import re
from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from gplvm_edu.checks import text_column

from ..words import brief

MIN_ROWS, MIN_COLUMNS = 5, 2
LARGEST = 5_000_000  # bytes: read in some seconds, and far more than an explorer shows
NAMED = 12  # columns that a sentence lists
NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")


class Table(NamedTuple):
    """Rows of numbers (N, D), a label for each row (a list of text) or None, and the names of the columns."""

    data: np.ndarray
    labels: list | None
    columns: tuple


def read_table(content, label_column=""):
    r"""Numbers and labels of a CSV file; one that can't be used raises a ValueError that says what to change.

    A first line without any number in it is taken for the header. The separator is the comma, semicolon or tab that
    the first line has most of. Labels come from the column called `label_column`; if that is empty, from the one
    column that holds no numbers, where there is one. Whatever a cell looks like, it is a number or a text: no formula
    is ever computed.

    Parameters
    ----------
    content : bytes or str
    label_column : str

    Returns
    -------
    Table

    Examples
    --------
    >>> table = read_table("length,width,kind\n1,2,a\n2,1,b\n3,5,a\n4,4,b\n5,3,a\n")
    >>> table.data.shape, table.labels, table.columns
    ((5, 2), ['a', 'b', 'a', 'b', 'a'], ('length', 'width'))
    """
    header, rows, lines = _split(_as_text(content))
    columns = [[row[j] for row in rows] for j in range(len(header))]
    label = _find_label(header, columns, label_column)
    numeric = [j for j in range(len(header)) if j != label]
    data = np.array([_numbers(columns[j], header[j], lines) for j in numeric]).T.reshape(len(rows), len(numeric))
    check_data(data)
    return Table(data, None if label is None else columns[label], tuple(header[j] for j in numeric))


def check_data(data):
    """Data as a finite float array (N, D) of a size that a picture makes sense for, or a clear error."""
    if isinstance(data, str | bytes | PurePath):
        raise ValueError(
            f"The data must be an array or a table, got {brief(repr(data))}. If that is a file, read it first: "
            "table = read_table(open(path, 'rb').read()), of gplvm_widgets.gplvm, and then explore_gplvm(table.data, "
            "table.labels)."
        )
    try:
        Y = np.asarray(data, dtype=float)
    except (TypeError, ValueError) as error:
        if found := text_column(data):
            raise ValueError(
                f"The data must be numbers, and column {_quoted(found[0])} holds {_quoted(found[1])}. Leave that "
                "column out; if it says which class a row belongs to, pass it as labels: explore_gplvm(Y, labels)."
            ) from None
        raise ValueError(f"The data must be numbers, one row for each point: {error}.") from None
    if Y.ndim != 2:
        raise ValueError(f"The data must be a table with one row for each point, got an array of shape {Y.shape}.")
    if len(Y) < MIN_ROWS:
        raise ValueError(
            f"The data have {len(Y)} rows: a picture needs at least {MIN_ROWS}, and is worth looking at from about 30."
        )
    if Y.shape[1] < MIN_COLUMNS:
        raise ValueError(
            f"The data have {Y.shape[1]} column of numbers: there is nothing to reduce below {MIN_COLUMNS}."
        )
    if not np.isfinite(Y).all():
        row, column = np.argwhere(~np.isfinite(Y))[0]
        raise ValueError(
            f"Row {row}, column {column} is {Y[row, column]}: the GP-LVM of chapter 5 needs every value. "
            "Remove the row or fill the gap; chapter 8 deals with missing values."
        )
    if np.all(Y == Y[0]):
        raise ValueError("All rows are the same: a map of one point shows nothing. Give rows that differ.")
    with np.errstate(over="ignore", invalid="ignore"):
        variance = Y.var(axis=0).sum()
    if not 0 < variance < np.inf:
        raise ValueError(
            f"The largest number is {np.abs(Y).max():.3g}: a computer can't hold the variance of such numbers. Choose "
            "other units."
        )
    return Y


def _as_text(content):
    """The text of a file: UTF-8, or else what Windows writes in western Europe."""
    size = len(content) if isinstance(content, str) else memoryview(content).nbytes
    if size > LARGEST:
        raise ValueError(
            f"The file has {size / 1e6:.0f} MB, and at most {LARGEST / 1e6:.0f} are read: an explorer shows a few "
            "hundred points. Keep every tenth line, say."
        )
    if isinstance(content, str):
        return content.removeprefix("\ufeff")
    content = bytes(content)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError("The file is written in UTF-16. Save the table as CSV in UTF-8.")
    if found := NO_TEXT.search(content):
        raise ValueError(
            f"This is no text file (byte {found.start()} is {content[found.start()]}). Save the table as CSV first."
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def _split(text):
    """Header, rows of cells, and the line of the file that each row stands on."""
    first = next((line for line in io.StringIO(text) if line.strip()), "")
    separator = max(",;\t", key=re.sub('"[^"]*"', "", first).count)
    rows = _filled(_cells(text, separator))
    if not rows:
        raise ValueError("The file is empty: it needs one line for each point, with numbers between commas.")
    width = len(rows[0][1])
    for number, row in rows:
        if len(row) != width:
            raise ValueError(
                f"Line {number} has {len(row)} cells and the first line {width}: every line needs as "
                "many. Is a comma missing, or is one used inside a number?"
            )
    has_header = not any(_is_number(cell) for cell in rows[0][1])
    names = rows[0][1] if has_header else width * [""]
    header = [name or f"column {j}" for j, name in enumerate(names, start=1)]
    body = rows[1:] if has_header else rows
    if not body:
        raise ValueError("The file has a header but no data: it needs one line for each point.")
    return header, [row for _, row in body], [number for number, _ in body]


def _cells(text, separator):
    """(line, cells) of every row, blank lines left out."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows = []
    try:
        for row in reader:
            cells = [_tidy(cell, separator) for cell in row]
            if len(cells) > 1 or any(cells):
                rows.append((reader.line_num, cells))
    except csv.Error as error:
        began = rows[-1][0] + 1 if rows else 1
        raise ValueError(
            f"The row that begins in line {began} can't be read ({error}). Is a quotation mark never closed, or is "
            "something written behind a closed one?"
        ) from None
    return rows


def _filled(rows):
    """The rows from the first to the last that have anything in them."""
    filled = [k for k, (_, row) in enumerate(rows) if any(row)]
    return rows[filled[0] : filled[-1] + 1] if filled else []


def _tidy(cell, separator):
    """A cell without spaces around it; between semicolons the decimal comma of many countries becomes a point."""
    cell = cell.strip()
    with_point = cell.replace(",", ".")
    return with_point if separator == ";" and _is_number(with_point) else cell


def _find_label(header, columns, wanted):
    """Index of the label column or None."""
    if wanted:
        if wanted not in header:
            raise ValueError(f"There is no column {_quoted(wanted)}; the file has {_list(map(brief, header))}.")
        if header.count(wanted) > 1:
            raise ValueError(f"{header.count(wanted)} columns are called {_quoted(wanted)}: rename the others.")
        return header.index(wanted)
    share = [np.mean([_is_number(cell) or not cell for cell in column]) for column in columns]
    text = [j for j, s in enumerate(share) if s < 0.5]
    if len(text) > 1:
        names = _list(_quoted(header[j]) for j in text)
        raise ValueError(
            f"The columns {names} are not numbers, and only one of them can be the label. Remove the "
            "others, or turn them into numbers."
        )
    return text[0] if text else None


def _numbers(column, name, lines):
    values, name = [], _quoted(name)
    for line, cell in zip(lines, column, strict=True):
        if not cell:
            raise ValueError(
                f"Line {line}, {name} is empty: the GP-LVM of chapter 5 needs every value. Remove the "
                "line or fill the gap; chapter 8 deals with missing values."
            )
        if not _is_number(cell):
            raise ValueError(
                f"Line {line}, {name} holds {_quoted(cell)}, which is not a number. Correct it, or name the "
                "column as the label."
            )
        if not np.isfinite(float(cell)) and any(map(str.isdigit, cell)):
            raise ValueError(f"Line {line}, {name} is {brief(cell)}: no computer number is so large. Is it a slip?")
        if not np.isfinite(float(cell)):
            raise ValueError(
                f"Line {line}, {name} is {brief(cell)}: the GP-LVM of chapter 5 needs every value. Remove the "
                "line or fill the gap; chapter 8 deals with missing values."
            )
        values.append(float(cell))
    return values


def _is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # which Python allows between digits, and nobody else


def _quoted(name):
    """A name as a sentence quotes it: every character that can't be seen is spelt out."""
    return brief(repr(name))


def _list(names):
    names = list(names)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
