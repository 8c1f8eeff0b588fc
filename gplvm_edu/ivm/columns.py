"""The noise of each column of a table, read from what a user says of it: a noise model, a word, or {column: either}."""

import numpy as np

from .. import checks, tables
from ..noise import Gaussian, Noise, Ordinal, PerColumn, Poisson, Probit

SHARE = 0.1  # of a column's variance: where the noise of a Gaussian column starts
ORDERED = "Y[column] = pandas.Categorical(Y[column], categories=[lowest, ..., highest], ordered=True)"


def check_noise(name, value) -> Noise | dict | str | None:
    """A noise model, one for each column of a list, {column: kind}, a kind for all, or None for the kernel's `White`.

    Examples
    --------
    >>> check_noise("noise", [Gaussian(0.1), Gaussian(0.2)])
    PerColumn([Gaussian(variance=0.1, mean=None), Gaussian(variance=0.2, mean=None)])
    >>> check_noise("noise", {"height": Gaussian(0.1), "smoker": "probit"})
    {'height': Gaussian(variance=0.1, mean=None), 'smoker': 'probit'}
    """
    if isinstance(value, dict):
        return tables.check_kinds(name, value, (Noise,))
    if isinstance(value, str):
        tables.kind_of(name, value)
        return value
    several = isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(one, Noise) for one in value)
    noise = PerColumn(value) if several else value
    if noise is not None and not isinstance(noise, Noise):
        raise ValueError(
            f"{name} must be a noise model of gplvm_edu.noise (such as Probit()), a list with one for each column, a "
            "word ('gaussian', 'probit', 'ordinal', 'poisson' or 'categorical'), {column: word or noise model}, or "
            f"None for the kernel's White part, got {checks.shown(value)} (chapter 8)."
        )
    return noise


def stated_kinds(noise, names, n_columns) -> dict:
    """{column number: word or noise model}, for the columns of which something was said.

    Examples
    --------
    >>> stated_kinds({"smoker": "probit"}, ["height", "smoker"], 2), stated_kinds("ordinal", None, 2)
    ({1: 'probit'}, {0: 'ordinal', 1: 'ordinal'})
    """
    if isinstance(noise, str):
        return dict.fromkeys(range(n_columns), noise)
    if not isinstance(noise, dict):
        return {}
    return {j: kind for columns, kind in tables.read_kinds("noise", noise, names, n_columns) for j in columns}


def kind_of_column(column, stated) -> str | Noise:
    """The kind of one column: what was said of it, if that can be, else what the column itself says.

    Numbers are "gaussian", ordered categories "ordinal", two categories "binary", more are "categorical".

    Examples
    --------
    >>> kind_of_column(tables.Column("size", ("S", "M", "L"), True, "category"), None)
    'ordinal'
    """
    levels = column.levels
    if isinstance(stated, Noise):
        return stated
    kind = None if stated is None else tables.kind_of("noise", stated)
    if levels is None:
        return kind or "gaussian"
    shown = f"{column.name!r}, which holds the categories {checks.shown(list(levels), 60)}"
    if kind == "ordinal" and not column.ordered and len(levels) > 2:
        raise ValueError(f"noise calls {shown}, 'ordinal', but nothing says what their order is. Say it: {ORDERED}.")
    if kind in ("gaussian", "counts") or (kind == "binary" and len(levels) > 2):
        raise ValueError(f"noise calls {shown}, {stated!r}. Call it 'categorical', or leave it out.")
    return kind or ("ordinal" if column.ordered else "binary" if len(levels) <= 2 else "categorical")


def is_one_hot(column, stated) -> bool:
    """Whether a column of categories has a column of answers for each: no order, and more than two.

    Examples
    --------
    >>> is_one_hot(tables.Column("colour", ("red", "blue", "green"), False, "category"), None)
    True
    """
    kind = kind_of_column(column, stated)
    return kind == "categorical" or (isinstance(kind, Probit) and len(column.levels) > 2)


def read_noise(noise, Y, names=None, coding=None) -> Noise | None:
    """The noise model that a user means for the columns of Y; None for the kernel's `White` part.

    Parameters
    ----------
    noise : as in `check_noise`
    Y : ndarray (N, D)
    names : sequence of str or None
        Of the columns of the table.
    coding : tables.Coding or None
        How the columns of a table with categories became those of Y.

    Examples
    --------
    >>> Y = np.array([[150.0, 1.0], [170.0, 0.0], [190.0, 1.0]])
    >>> read_noise({"smoker": "probit"}, Y, ["height", "smoker"])
    PerColumn([Gaussian(variance=26.67, mean=None, scale=16.33), Probit(bias=None)])
    """
    given = check_noise("noise", noise)
    if isinstance(given, Noise) or (given is None and coding is None):
        return given
    columns = [tables.Column(j, None, False, None) for j in range(Y.shape[1])] if coding is None else coding.columns
    places = [np.array([j]) for j in range(Y.shape[1])] if coding is None else coding.places
    stated = stated_kinds(given, names, len(columns))
    models: list = [None] * Y.shape[1]
    for number, (column, place) in enumerate(zip(columns, places, strict=True)):
        kind = kind_of_column(column, stated.get(number))
        for d in place:
            models[d] = kind if isinstance(kind, Noise) else model_of(kind, column, Y[:, d])
    return PerColumn(models)


def model_of(kind, column, y) -> Noise:
    """The noise model of one column of numbers.

    Numbers are measured in their own deviation, so that their f has the size of 1, as that of answers and grades has.

    Examples
    --------
    >>> model_of("ordinal", tables.Column("size", ("S", "M", "L"), True, "category"), np.array([0.0, 1.0]))
    Ordinal(n_levels=3, cuts=None, scale=1)
    """
    if kind == "ordinal":
        return Ordinal(None if column.levels is None else max(len(column.levels), 2))
    if kind in ("binary", "categorical"):
        return Probit()
    if kind == "counts":
        return Poisson()
    seen = y[~np.isnan(y)]
    deviation = float(np.std(seen)) if len(seen) else 1.0
    scale = deviation if deviation > 1e-12 * float(np.max(np.abs(seen), initial=0.0)) else 1.0
    return Gaussian(SHARE * scale**2, scale=scale)
