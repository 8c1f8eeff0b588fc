"""A reader's own data: a CSV file, or arrays, made ready for an explorer, with errors that say what to change."""

import csv
import io
from typing import NamedTuple

import numpy as np

MIN_ROWS, MIN_COLUMNS = 5, 2


class Table(NamedTuple):
    """Rows of numbers (N, D), a label for each row (a list of text) or None, and the names of the columns."""

    data: np.ndarray
    labels: list | None
    columns: tuple


def read_table(content, label_column=""):
    r"""Numbers and labels of a CSV file.

    A first line without any number in it is taken for the header. The separator is the comma, semicolon or tab that
    the first line has most of. Labels come from the column called `label_column`; if that is empty, from the one
    column that holds no numbers, where there is one.

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
    try:
        Y = np.asarray(data, dtype=float)
    except (TypeError, ValueError) as error:
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
    return Y


def _as_text(content):
    if isinstance(content, str):
        return content
    content = bytes(content)
    if b"\0" in content:
        raise ValueError("This is no text file (it contains zero bytes). Save the table as CSV first.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _split(text):
    """Header, rows of cells, and the line of the file that each row stands on."""
    lines = text.splitlines()
    first = next((line for line in lines if line.strip()), "")
    separator = max(",;\t", key=first.count)
    rows = [
        (number, [_tidy(cell, separator) for cell in row])
        for number, row in enumerate(csv.reader(io.StringIO("\n".join(lines)), delimiter=separator), start=1)
        if any(row)
    ]
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
    header = rows[0][1] if has_header else [f"column {j + 1}" for j in range(width)]
    body = rows[1:] if has_header else rows
    if not body:
        raise ValueError("The file has a header but no data: it needs one line for each point.")
    return header, [row for _, row in body], [number for number, _ in body]


def _tidy(cell, separator):
    """A cell without spaces around it; between semicolons the decimal comma of many countries becomes a point."""
    cell = cell.strip()
    with_point = cell.replace(",", ".")
    return with_point if separator == ";" and _is_number(with_point) else cell


def _find_label(header, columns, wanted):
    """Index of the label column or None."""
    if wanted:
        if wanted not in header:
            raise ValueError(f"There is no column {wanted!r}; the file has {', '.join(header)}.")
        return header.index(wanted)
    share = [np.mean([_is_number(cell) or not cell for cell in column]) for column in columns]
    text = [j for j, s in enumerate(share) if s < 0.5]
    if len(text) > 1:
        names = ", ".join(repr(header[j]) for j in text)
        raise ValueError(
            f"The columns {names} are not numbers, and only one of them can be the label. Remove the "
            "others, or turn them into numbers."
        )
    return text[0] if text else None


def _numbers(column, name, lines):
    values = []
    for line, cell in zip(lines, column, strict=True):
        if not cell:
            raise ValueError(
                f"Line {line}, {name!r} is empty: the GP-LVM of chapter 5 needs every value. Remove the "
                "line or fill the gap; chapter 8 deals with missing values."
            )
        if not _is_number(cell):
            raise ValueError(
                f"Line {line}, {name!r} holds {cell!r}, which is not a number. Correct it, or name the "
                "column as the label."
            )
        if not np.isfinite(float(cell)):
            raise ValueError(
                f"Line {line}, {name!r} is {cell}: the GP-LVM of chapter 5 needs every value. Remove the "
                "line or fill the gap; chapter 8 deals with missing values."
            )
        values.append(float(cell))
    return values


def _is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True
