"""Checks of arguments, each written once for the whole package.

Every function returns its argument, converted, or raises a ValueError that says what was wrong and what to do. There is
one door for the parameters of an estimator, `parameters`, and one for latent points, `latent_points`; data come through
`LatentModel.check_data`.
"""

import difflib
import functools
import inspect
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from numbers import Integral, Real
from pathlib import Path

import numpy as np
from scipy import linalg

ROUNDING = 1e-10  # relative to the largest eigenvalue (or the trace): below it a negative eigenvalue is rounding
LARGEST = 1e50  # entry of data or of a latent point: squares of it, and products of two squares, are still numbers
SMALLEST = 1e-50  # range of the data that are fitted, for the same reason
EXTREME = 1e120  # parameter: a variance has the units of data squared, and a share of it may be small
ROOM = 2**30  # numbers in one array: 8.6 GB
Seed = int | np.random.RandomState | np.random.Generator | None  # what `random_state` may be
LABELS = (20, 30)  # a column with no more kinds of whole numbers, in as many rows or more, looks like labels
UNEQUAL = 100  # how many times more one column varies than half of the others before it is a matter of units
KERNEL_METHODS = ("diag", "gradients", "theta")


PACKAGE = str(Path(__file__).parent)


class NotFiniteError(FloatingPointError, ValueError):
    """A computation has left the finite numbers; the message says where, and what to do."""


def finite_value(name, step, value) -> float:
    """The objective of a fit, if it is a number.

    Examples
    --------
    >>> finite_value("GTM", 3, np.nan)
    Traceback (most recent call last):
    ...
    gplvm_edu.checks.NotFiniteError: After step 3 the objective of GTM is nan: the fit has left the finite numbers. ...
    """
    if not np.isfinite(value):
        raise NotFiniteError(
            f"After step {step} the objective of {name} is {value}: the fit has left the finite numbers. Look for "
            "columns or parameters of very different sizes; standardise the columns, or start elsewhere (init)."
        )
    return value


def warn(message, category=UserWarning) -> None:
    """A warning that points to the line outside this package that called it, however many of our functions lie between.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("so few points")
    >>> str(caught[0].message), caught[0].filename.endswith("checks.py")
    ('so few points', False)
    """
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


# ---------------------------------------------------------------------------------------------- numbers and choices
def shown(value, width=80) -> str:
    """A value as an error shows it: its repr, cut where it is long; a name where it has none.

    Examples
    --------
    >>> shown("ten"), shown(list(range(1000)), 12)
    ("'ten'", '[0, 1, 2, 3,...')
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:  # whatever a stranger's repr may raise
        text = f"an object of {type(value)}"
    return text if len(text) <= width else text[:width] + "..."


def is_number(value) -> bool:
    """Whether a value is one real number, infinity included, and no bool or NaN.

    Examples
    --------
    >>> is_number(np.float32(0.5)), is_number(np.inf), is_number(np.nan), is_number(True), is_number(10**400)
    (True, True, False, False, False)
    """
    if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)):
        return False
    try:
        return not np.isnan(float(value))
    except (OverflowError, TypeError, ValueError):  # a whole number beyond all floating-point numbers, or a stranger
        return False


def whole_number(name, value, at_least=1, at_most=None, advice="") -> int:
    """A whole number of at least `at_least`, and of at most `at_most` where that is given.

    Examples
    --------
    >>> whole_number("max_iter", 10)
    10
    >>> whole_number("max_iter", "ten")
    Traceback (most recent call last):
    ...
    ValueError: max_iter must be a whole number of at least 1, got 'ten'.
    """
    is_whole = isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))
    if not is_whole or value < at_least or (at_most is not None and value > at_most):
        bound = f"of at least {at_least}" if at_most is None else f"from {at_least} to {at_most}"
        raise ValueError(_sentence(f"{name} must be a whole number {bound}, got {shown(value)}.", advice))
    return int(value)


def number(name, value, at_least=-np.inf, above=-np.inf, at_most=np.inf, below=np.inf, advice="") -> float:
    """A finite real number within its bounds; one beyond 1e120 would leave the floating-point numbers when squared.

    Examples
    --------
    >>> number("tol", 0.5, at_least=0)
    0.5
    >>> number("tol", -1.0, at_least=0)
    Traceback (most recent call last):
    ...
    ValueError: tol must be a finite number of at least 0, got -1.0.
    """
    within = is_number(value) and np.isfinite(float(value)) and at_least <= value <= at_most and above < value < below
    if not within:
        bounds = [
            f"{word} {bound:g}"
            for word, bound in (("of at least", at_least), ("above", above), ("of at most", at_most), ("below", below))
            if np.isfinite(bound)
        ]
        what = " ".join(["a finite number", " and ".join(bounds)]).rstrip()
        raise ValueError(_sentence(f"{name} must be {what}, got {shown(value)}.", advice))
    if abs(float(value)) > EXTREME:
        raise ValueError(
            f"{name} must be a number of at most {EXTREME:g} in size, got {shown(value)}: beyond that its square is no "
            "floating-point number."
        )
    return float(value)


def positive(name, value, at_most=np.inf) -> float:
    """A finite number above 0, from 1e-120 to 1e120.

    Examples
    --------
    >>> positive("width", 1e-200)
    Traceback (most recent call last):
    ...
    ValueError: width must be a number from 1e-120 to 1e+120, got 1e-200: below that its square is 0 to a computer.
    """
    value = number(name, value, above=0, at_most=at_most)
    if value < 1.0 / EXTREME:
        raise ValueError(
            f"{name} must be a number from {1 / EXTREME:g} to {EXTREME:g}, got {value!r}: below that its square is 0 "
            "to a computer."
        )
    return value


def flag(name, value) -> bool:
    """True or False.

    Examples
    --------
    >>> flag("shrink", "no")
    Traceback (most recent call last):
    ...
    ValueError: shrink must be True or False, got 'no'.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {shown(value)}.")
    return bool(value)


def choice(name, value, allowed, advice=""):
    """One of the allowed values, usually names; a bool is not taken for a number.

    Examples
    --------
    >>> choice("ties", "tertiary", ("primary", "secondary"))
    Traceback (most recent call last):
    ...
    ValueError: ties must be one of 'primary', 'secondary', got 'tertiary'.
    """

    def plain(one):
        return isinstance(one, (str, Integral)) and not isinstance(one, (bool, np.bool_))

    if not any(value is one or (plain(value) and plain(one) and value == one) for one in allowed):
        listed = ", ".join(map(repr, allowed))
        raise ValueError(_sentence(f"{name} must be one of {listed}, got {shown(value)}.", advice))
    return value


def start(name, value, names):
    """Where a fit begins: one of some names, or an array of positions, whose shape is checked when the data are there.

    `names` may be a function, for names that are added later.

    Examples
    --------
    >>> start("init", "pca", ("pca", "random")), start("init", [[0.0], [1.0]], ("pca", "random"))
    ('pca', [[0.0], [1.0]])
    """
    names = names() if callable(names) else names
    if isinstance(value, str) and value in names:
        return value
    if isinstance(value, str) or value is None or np.ndim(floats(name, value)) != 2:
        raise ValueError(
            f"There is no {name} {shown(value)}: choose one of {', '.join(names)}, or pass an array of latent "
            "positions, one row for each point (chapter 6 compares them)."
        )
    return value


def _sentence(text, advice):
    return f"{text} {advice}" if advice else text


def room(what, *shape, advice="Ask for less.") -> None:
    """Refuse an array that no machine of a reader has room for, before any memory is asked for.

    Examples
    --------
    >>> room("n_samples=1000000000 rows", 10**9, 12)
    Traceback (most recent call last):
    ...
    ValueError: n_samples=1000000000 rows would fill an array of 1000000000 x 12 numbers, 96 GB. Ask for less.
    """
    numbers = 1
    for size in shape:
        numbers *= int(size)
    if numbers > ROOM:
        sizes = " x ".join(str(int(size)) for size in shape)
        raise ValueError(
            f"{what} would fill an array of {sizes} numbers, {8e-9 * min(numbers, 10**99):.3g} GB. {advice}"
        )


# ---------------------------------------------------------------------------------------------- names of parameters
OTHER_NAMES = {  # of parameters, in other libraries: our names for them
    **dict.fromkeys(("n_components", "latent_dim", "n_latent", "latent_dimensions", "q"), ("n_components", "grid")),
    **dict.fromkeys(("n_iter", "n_iterations", "maxiter", "epochs"), ("max_iter",)),
    **dict.fromkeys(("seed", "rng"), ("random_state",)),
    **dict.fromkeys(("num_inducing", "n_inducing_points"), ("n_inducing", "n_active")),
    **dict.fromkeys(("likelihood", "noise_model"), ("noise",)),
}


def unknown_name(owner, name, names) -> str:
    """The sentence for a parameter that does not exist: those that do, and the nearest of them.

    Examples
    --------
    >>> unknown_name("GTM", "alhpa", ["grid", "alpha"])
    "GTM has no parameter 'alhpa'; it has grid, alpha. Did you mean alpha?"
    """
    known = [one for one in OTHER_NAMES.get(str(name), ()) if one in names]
    near = known or difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
    advice = f"Did you mean {near[0]}?" if near else ""
    if known and known[0] == "grid":
        advice += " It has as many latent dimensions as its grid has numbers: grid=(15, 15) is two."
    return _sentence(f"{owner} has no parameter {name!r}; it has {', '.join(names)}.", advice)


def known_names(constructor, sentence=unknown_name):
    """A constructor that answers a name it does not have with a TypeError that names the nearest one it has.

    `inspect.signature` still sees the parameters of the constructor; one that takes any name is left as it is.

    Examples
    --------
    >>> from gplvm_edu import PPCA
    >>> PPCA(n_component=3)
    Traceback (most recent call last):
    ...
    TypeError: PPCA has no parameter 'n_component'; it has n_components, ... Did you mean n_components?
    """
    kinds = {name: one.kind for name, one in inspect.signature(constructor).parameters.items()}
    names = list(kinds)[1:]  # without self
    if {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} & set(kinds.values()):
        return constructor

    @functools.wraps(constructor)
    def checked(self, *values, **named):
        for name in named:
            if name not in names:
                raise TypeError(sentence(type(self).__name__, name, names))
        constructor(self, *values, **named)

    return checked


# ---------------------------------------------------------------------------------------------- the door for parameters
Rule = Callable  # rule(name, value): a ValueError that names both and the range, unless the value will do


def rule(check, *arguments, optional=False, **named) -> Rule:
    """What a parameter may be: one of the checks above with its bounds; None too, where it is `optional`.

    Examples
    --------
    >>> tol = rule(number, at_least=0, optional=True)
    >>> tol("tol", None), tol("tol", 0.5)
    (None, 0.5)
    """

    def checked(name, value):
        return None if optional and value is None else check(name, value, *arguments, **named)

    return checked


def parameters(model) -> None:
    """The one door for the constructor's arguments of an estimator: each against the rule that its class has for it.

    The error of a rule is passed on, with the default value as a way out.

    Examples
    --------
    >>> from gplvm_edu import GPLVM
    >>> parameters(GPLVM(max_iter=-1))
    Traceback (most recent call last):
    ...
    ValueError: max_iter must be a whole number of at least 0, got -1. The default of GPLVM is max_iter=1000.
    """
    defaults = inspect.signature(type(model).__init__).parameters
    for name, check in model.rules.items():
        try:
            check(name, getattr(model, name))
        except (ValueError, TypeError) as error:
            default = shown(defaults[name].default)
            text = f"{error} The default of {type(model).__name__} is {name}={default}."
            if name != "kernel" and "kernel" in model.rules and hasattr(getattr(model, name), "diag"):
                text += " A kernel goes by its name, kernel=..."
            raise type(error)(text) from None


def components(n_components, n_samples, n_features, largest, because, spare="") -> int:
    """A number of latent dimensions from 1 to `largest`, with a warning above the number of columns.

    `spare` is the reason why more of them than columns may be of use, where there is one.
    """
    whole_number("n_components", n_components)
    if n_components > largest:
        raise ValueError(
            f"n_components={n_components} is too many for Y with n_samples={n_samples} rows and "
            f"n_features={n_features} columns: {because}, so at most {largest} can be asked for. "
            'Use fewer components, or more data; chapter 1, "When there is too little data", shows what happens '
            "at the edge."
        )
    if not spare:
        fewer_than_columns(f"n_components={n_components}", n_components, n_features)
    return int(n_components)


def kernel(name, value, example="RBF() + White(0.1)"):
    """A kernel of `gplvm_edu.kernels` (anything with its methods), or None."""
    if value is not None and (isinstance(value, type) or not all(hasattr(value, one) for one in KERNEL_METHODS)):
        raise ValueError(
            f"{name} must be a kernel of gplvm_edu.kernels (such as {example}) or None, got {shown(value)}."
        )
    return value


# ---------------------------------------------------------------------------------------------- random numbers
def valid_seed(random_state=None) -> Seed:
    """`random_state` unchanged, if it is a legal one; no number is drawn from a generator.

    Examples
    --------
    >>> valid_seed(3)
    3
    >>> valid_seed("dice")
    Traceback (most recent call last):
    ...
    ValueError: random_state must be None, a whole number from 0 to 2**32 - 1, ... got 'dice'.
    """
    if random_state is None or isinstance(random_state, (np.random.RandomState, np.random.Generator)):
        return random_state
    is_whole = isinstance(random_state, Integral) and not isinstance(random_state, (bool, np.bool_))
    if not is_whole or not 0 <= random_state < 2**32:
        raise ValueError(
            f"random_state must be None, a whole number from 0 to 2**32 - 1, a numpy Generator or a "
            f"RandomState, got {shown(random_state)}."
        )
    return int(random_state)


def random_state(seed=None) -> np.random.RandomState:
    """A numpy RandomState, for estimators, from None, an int, a RandomState or a Generator (which goes on from there).

    Examples
    --------
    >>> random_state(0).randint(100), random_state(np.random.RandomState(0)).randint(100)
    (44, 44)
    >>> random_state(np.random.default_rng(0)).standard_normal(2).shape
    (2,)
    """
    seed = valid_seed(seed)
    if isinstance(seed, np.random.RandomState):
        return seed
    if isinstance(seed, np.random.Generator):
        return np.random.RandomState(seed.bit_generator)  # the same stream of bits
    return np.random.RandomState(seed)


def generator(seed=None) -> np.random.Generator:
    """A numpy Generator, for functions, from None, an int, a Generator or a RandomState (which is drawn from once).

    Examples
    --------
    >>> bool(generator(0).integers(100) == np.random.default_rng(0).integers(100))
    True
    >>> generator(np.random.RandomState(0)).standard_normal(2).shape
    (2,)
    """
    seed = valid_seed(seed)
    if isinstance(seed, np.random.RandomState):
        return np.random.default_rng(seed.randint(2**31, size=4))
    return seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)


# ---------------------------------------------------------------------------------------------- tables and points
def floats(name, value) -> np.ndarray:
    """A value as an array of float64, or an error in place of numpy's own words; complex numbers keep nothing back.

    Examples
    --------
    >>> floats("init", [[0, 1]])
    array([[0., 1.]])
    >>> floats("init", [["a"]])
    Traceback (most recent call last):
    ...
    ValueError: init must be an array of numbers, got [['a']].
    """
    try:
        if np.iscomplexobj(value):
            raise ValueError(
                f"{name} is complex, {shown(value)}. Complex data not supported: a coordinate is a real number."
            )
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if "Complex data" in str(error):
            raise
        raise ValueError(f"{name} must be an array of numbers, got {shown(value)}.") from None


def within_range(X, name) -> np.ndarray:
    """X, if no entry is so large that its square, or a product of two squares, is no floating-point number.

    Examples
    --------
    >>> within_range(np.array([[1e60]]), "Y")
    Traceback (most recent call last):
    ...
    ValueError: Y has the entry 1e+60 at row 0, column 0: beyond 1e+50 squares and products leave the ...
    """
    large = np.abs(X) > LARGEST
    if large.any():
        row, column = np.argwhere(large)[0]
        raise ValueError(
            f"{name} has the entry {X[row, column]:.3g} at row {row}, column {column}: beyond {LARGEST:g} squares and "
            "products leave the floating-point numbers. Use larger units, so that its numbers become smaller."
        )
    return X


def enough_spread(Y) -> np.ndarray:
    """Y, if the range of its columns is 0 or so large that its square is no rounding error of 0.

    Examples
    --------
    >>> enough_spread(np.array([[1e-60], [0.0]]))
    Traceback (most recent call last):
    ...
    ValueError: The columns of Y range over 1e-60 at most: below 1e-50 squares of that are 0 to a computer. Use ...
    """
    with np.errstate(invalid="ignore"):
        spread = np.fmax.reduce(np.fmax.reduce(Y, axis=0) - np.fmin.reduce(Y, axis=0))
    if 0 < spread < SMALLEST:
        raise ValueError(
            f"The columns of Y range over {spread:.3g} at most: below {SMALLEST:g} squares of that are 0 to a "
            "computer. Use smaller units, so that its numbers become larger."
        )
    return Y


def latent_points(X, n_dimensions) -> np.ndarray:
    """The one door for latent points: X as a finite float64 array (M, q).

    Examples
    --------
    >>> latent_points([[0, 1]], 2)
    array([[0., 1.]])
    >>> latent_points([0, 1], 2)
    Traceback (most recent call last):
    ...
    ValueError: X has shape (2,), but the fitted model has 2 latent dimensions: pass an array of shape (number of ...
    """
    X, q = floats("X", X), n_dimensions
    if X.ndim != 2 or X.shape[1] != q:
        raise ValueError(
            f"X has shape {X.shape}, but the fitted model has {q} latent dimensions: pass an array "
            f"of shape (number of points, {q})."
        )
    if not len(X):
        raise ValueError("X has no rows: pass at least one latent point.")
    if not np.isfinite(X).all():
        raise ValueError("X contains NaN or infinity: a latent position has to be a point.")
    return within_range(X, "X")


def matrix(A, name) -> np.ndarray:
    """A as a finite float64 array of two dimensions."""
    A = floats(name, A)
    if A.ndim != 2:
        raise ValueError(f"{name} must be a matrix, one row and one column for each point, got the shape {A.shape}.")
    if not np.isfinite(A).all():
        row, column = np.argwhere(~np.isfinite(A))[0]
        raise ValueError(
            f"{name} contains NaN or infinity at row {row}, column {column}. A similarity that was not "
            "measured can't be guessed here: leave the point out, or fill the gap first."
        )
    return A


def points(X, name, at_least=1, advice="Missing values belong into Y, not into X.") -> np.ndarray:
    """Rows as a finite float array (N, q) with at least `at_least` rows."""
    X = floats(name, X)
    if X.ndim != 2 or 0 in X.shape:
        hint = f"Write {name}[:, None] for points on a line." if X.ndim == 1 else "Each row is one point."
        raise ValueError(
            f"{name} must be an array of shape (number of points, dimensions) with at least one of each, "
            f"got shape {X.shape}. {hint}"
        )
    if len(X) < at_least:
        raise ValueError(f"{name} has {len(X)} rows: at least {at_least} are needed.")
    if not np.isfinite(X).all():
        row = np.argwhere(~np.isfinite(X))[0][0]
        raise ValueError(f"{name} contains NaN or infinity in row {row}: a point needs all its coordinates. {advice}")
    return X


def positions(X, shape, name="init") -> np.ndarray:
    """Latent positions to start from: a finite array of the given shape, as a copy."""
    X = floats(name, X).copy()
    if X.shape != shape or not np.isfinite(X).all():
        raise ValueError(
            f"{name} must be a finite array of shape {shape}, one row for each point, got an array of "
            f"shape {X.shape}{'' if np.isfinite(X).all() else ' with NaN or infinity in it'}."
        )
    return within_range(X, name)


def observed_columns(Y) -> np.ndarray:
    """Y, if every column has at least one value that is not NaN."""
    empty = np.isnan(Y).all(axis=0)
    if empty.any():
        raise ValueError(
            f"Column {np.flatnonzero(empty)[0]} of Y has no observed value (all NaN): nothing can be "
            "learnt about it. Drop the column."
        )
    return Y


def observed_rows(Y, advice='nothing says where it belongs. Leave it out (chapter 8, "Missing values").') -> np.ndarray:
    """Y, if every row has at least one value that is not NaN."""
    empty = np.isnan(Y).all(axis=1)
    if empty.any():
        raise ValueError(
            f"Row {np.flatnonzero(empty)[0]} of Y has no observed value (all NaN; {empty.sum()} such rows): {advice}"
        )
    return Y


# ---------------------------------------------------------------------------------------------- is this what was meant?
def looks_like_labels(values) -> bool:
    """Whether numbers are so many and so few of them different that they are labels: whole, 20 kinds of 30 or more.

    Examples
    --------
    >>> looks_like_labels(50 * [0, 1, 2]), looks_like_labels(np.linspace(0, 1, 150)), looks_like_labels([0, 1, 1])
    (True, False, False)
    """
    try:
        values = np.asarray(values, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        return False
    many = len(values) >= LABELS[1] and np.isfinite(values).all()
    return bool(many and np.all(values == np.round(values)) and len(np.unique(values)) <= LABELS[0])


def data_first(Y=(), y=None) -> None:
    """Refuse what stands in the place of the data and is labels for sure: exchanged arguments, or labels alone.

    Examples
    --------
    >>> data_first([0, 1], [[0.1, 0.2], [0.3, 0.4]])
    Traceback (most recent call last):
    ...
    ValueError: The first argument has shape (2,) and the second (2, 2): the data come first, fit(Y, labels).
    """
    if Y is None:
        raise ValueError("Y is None: pass the data, an array of shape (number of points, columns).")
    try:
        first, second = np.shape(Y), np.shape(y)
    except (TypeError, ValueError):
        return  # no table at all: `check_data` says what is wrong with it
    if len(first) == 1 and len(second) == 2 and first[0] == second[0]:
        raise ValueError(
            f"The first argument has shape {first} and the second {second}: the data come first, fit(Y, labels)."
        )
    if len(first) == 1 and first[0] and all(isinstance(one, str) for one in np.asarray(Y, dtype=object)):
        raise ValueError(
            f"Y has shape {first} and holds words, as labels do. Pass the data, an array of shape (number of points, "
            "columns); a map is learnt without labels."
        )
    if len(first) == 1 and looks_like_labels(Y):
        raise ValueError(
            f"Y has shape {first} and holds {len(np.unique(Y))} different whole numbers, as labels do. Pass the data, "
            "an array of shape (number of points, columns); a map is learnt without labels."
        )


def no_labels(Y, model) -> bool:
    """Warn of one column that looks like labels; whether it does.

    Examples
    --------
    >>> no_labels(np.linspace(0, 1, 50)[:, None], "GPLVM")
    False
    """
    doubtful = Y.shape[1] == 1 and looks_like_labels(Y)
    if doubtful:
        warn(
            f"Y has one column, and in it {len(np.unique(Y))} different whole numbers in {len(Y)} rows: are these the "
            f"labels? {model} is fitted to the data alone, fit(Y); labels are for pictures and scores."
        )
    return doubtful


def fewer_than_columns(what, n_dimensions, n_features) -> None:
    """Warn of a latent space with more dimensions than the data have columns; `what` asked for it."""
    if n_dimensions > n_features:
        warn(
            f"{what} asks for {n_dimensions} latent dimensions, and Y has {n_features} "
            f"column{'s' if n_features > 1 else ''}: the data can't say where points lie in a space larger than their "
            "own. Use fewer (two can be drawn), or BayesianGPLVM, which switches off those that it does not need "
            "(chapter 12)."
        )


def comparable_scales(Y, model, names=None) -> None:
    """Warn if half of the columns that vary do so a hundred times less than another one: a matter of their units.

    The largest deviation is compared with the lower median of those above 0. The course's own data stay below 3, raw
    wine has 388 and raw breast cancer 8660; the smallest deviation would say less, because images have pixels that are
    nearly always blank. Costs O(ND).

    Examples
    --------
    >>> comparable_scales(np.random.default_rng(0).standard_normal((50, 3)), "PPCA")
    """
    scale = np.fmax.reduce(np.abs(Y), axis=None) or 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a column without any value has no deviation
        deviations = np.nan_to_num(scale * np.nanstd(Y / scale, axis=0))
    varying = np.sort(deviations[deviations > 1e-10 * deviations.max(initial=0.0)])  # the others vary by rounding
    if len(varying) and varying[-1] > UNEQUAL * varying[(len(varying) - 1) // 2]:
        column = int(np.argmax(deviations))
        name = f"column {column if names is None else names[column]!r}"
        warn(
            f"Half of the columns of Y vary less than {name} by a factor of {UNEQUAL} or more (its deviation is "
            f"{varying[-1]:.3g}, their largest {varying[(len(varying) - 1) // 2]:.3g}), and {model} measures all "
            "columns alike, so it will hardly see them. If the columns have different units, fit "
            "StandardScaler().fit_transform(Y) of sklearn.preprocessing; FactorAnalysis takes them as they are "
            "(chapter 1)."
        )


def text_column(Y) -> tuple | None:
    """Name (or number) of the first column of a table that holds text which is no number, and that text; or None.

    Examples
    --------
    >>> text_column([[1.0, "red"], [2.0, "3"]]), text_column([[1.0, "3"]])
    ((1, 'red'), None)
    """
    try:
        table = np.asarray(Y, dtype=object)
    except (TypeError, ValueError):
        return None  # rows of different lengths
    for column in range(table.shape[1] if table.ndim == 2 else 0):
        for value in table[:, column]:
            if isinstance(value, str) and not _is_text_of_a_number(value):
                names = getattr(Y, "columns", None)
                return (column if names is None else str(names[column])), value
    return None


def _is_text_of_a_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


@contextmanager
def words_for_text(Y):
    """Around a conversion to numbers: where text is in the way, the error names the column and what to do.

    Examples
    --------
    >>> with words_for_text([[1.0, "red"]]):
    ...     np.array([[1.0, "red"]], dtype=float)
    Traceback (most recent call last):
    ...
    ValueError: Column 1 of Y holds 'red', which is no number: could not convert string to float. Leave the column ...
    """
    try:
        yield
    except np.exceptions.DTypePromotionError as error:
        columns = list(Y.dtypes.items()) if hasattr(Y, "dtypes") else []
        for name, kind in columns:
            if getattr(kind, "kind", None) in ("M", "m"):
                raise ValueError(
                    f"Column {name!r} of Y holds dates or times, which have no common unit with numbers: turn them "
                    "into numbers, such as days since the first, or leave the column out."
                ) from None
        raise error
    except ValueError as error:
        found = text_column(Y) if "could not convert string" in str(error) else None
        if found is None:
            raise
        raise ValueError(
            f"Column {found[0]!r} of Y holds {shown(found[1])}, which is no number: could not convert string to float. "
            "Leave the column out, or turn it into numbers: pandas.to_numeric(column, errors='coerce') where a number "
            "or a gap is written as text, categories into columns of 0 and 1, one for each. DiscreteGTM and "
            "SparseGPLVM take a DataFrame with words as it is (chapters 10 and 8)."
        ) from None


# ---------------------------------------------------------------------------------------------- proximities
def symmetric(A, name) -> np.ndarray:
    """A as a symmetric matrix, or an error that names the pair of entries that differ most."""
    A = matrix(A, name)
    if A.shape[0] != A.shape[1] or len(A) == 0:
        raise ValueError(
            f"{name} must be square, one row and one column for each point, got the shape {A.shape}. For "
            "raw data (one point a row) compute similarities first, for example with a kernel: k(Y)."
        )
    if np.array_equal(A, A.T):
        return A
    difference = np.abs(A - A.T)
    n, m = np.unravel_index(np.argmax(difference), A.shape)
    if difference[n, m] > 1e-8 * max(np.abs(A).max(), 1e-300):
        raise ValueError(
            f"{name} is not symmetric: entry ({n}, {m}) is {A[n, m]:.6g}, but entry ({m}, {n}) is "
            f"{A[m, n]:.6g}. If both are measurements of one quantity, take the mean, ({name} + {name}.T) "
            '/ 2, which is the nearest symmetric matrix; chapter 3, "Break it".'
        )
    return A


def same_points(S, K) -> tuple[np.ndarray, np.ndarray]:
    """Both matrices, or an error if they have different numbers of points."""
    if S.shape != K.shape:
        raise ValueError(f"S has the shape {S.shape} and K has {K.shape}: both must hold the same points.")
    return S, K


def is_semidefinite(S, tolerance=ROUNDING) -> bool:
    """Whether no eigenvalue of a symmetric matrix is below zero by more than rounding: one Cholesky factorisation.

    `tolerance` is what counts as rounding, a share of the trace.

    Examples
    --------
    >>> S = np.diag([1.0, -1e-9])
    >>> is_semidefinite(S), is_semidefinite(S, tolerance=1e-8)
    (False, True)
    """
    ridge = tolerance * np.trace(S)
    if ridge <= 0:
        return not S.any()
    raised = S.copy(order="F")
    raised[np.diag_indices_from(raised)] += ridge
    return linalg.lapack.dpotrf(raised, lower=True, overwrite_a=True)[1] == 0


def not_semidefinite(S, name, advice) -> ValueError:
    """The error for a matrix that is no covariance."""
    lam = linalg.eigvalsh(S)
    n_negative = np.count_nonzero(lam < -ROUNDING * max(lam[-1], -lam[0]))
    share = -lam[lam < 0].sum() / np.abs(lam).sum()
    return ValueError(
        f"{name} is not positive semi-definite: {n_negative} of its {len(lam)} eigenvalues are negative, the smallest "
        f"{lam[0]:.4g} (the largest is {lam[-1]:.4g}), together {100 * share:.2g} % of the spectrum. {advice} "
        'Chapter 3, "Break it", shows what is lost.'
    )


NEAREST = "nearest_semidefinite(S) gives the nearest matrix that is."


def semidefinite(S, name="S") -> np.ndarray:
    """S as a symmetric positive semi-definite matrix, or an error that offers the nearest one."""
    S = symmetric(S, name)
    if not is_semidefinite(S):
        raise not_semidefinite(S, name, NEAREST)
    return S


def distances(D, name="distances", kind="distance", similarities='ClassicalMDS(metric="similarity")') -> np.ndarray:
    """D as a matrix of distances (or of another `kind`): symmetric, nothing below zero, zeros on the diagonal.

    `similarities` names what to use when it is a matrix of these instead.
    """
    D = symmetric(D, name)
    if D.min() < 0:
        n, m = np.unravel_index(np.argmin(D), D.shape)
        raise ValueError(
            f"{name} has the negative entry {D[n, m]:.6g} at ({n}, {m}), and a {kind} is 0 or more. If "
            f"large means similar, these are similarities: {similarities}."
        )
    n = np.argmax(np.diag(D))
    if D[n, n] > 1e-8 * D.max():
        raise ValueError(
            f"{name} has {D[n, n]:.6g} on its diagonal, at ({n}, {n}), and a point has {kind} 0 from "
            f"itself. If large means similar, these are similarities: {similarities}."
        )
    return D


def is_metric(D) -> bool:
    """Whether distances keep the triangle inequality: no path through a third point is shorter than the direct one.

    Plain distances always do. Squared Euclidean ones break it wherever three points make an obtuse angle; noise in many
    dimensions has none, because there all distances are nearly equal (of 20 draws of 40 points, 0, 5 and 20 keep
    it in 10, 50 and 200 dimensions).
    Costs O(N^3) where it is kept, and O(N^2) where many triples break it.

    Examples
    --------
    >>> D = np.abs(np.subtract.outer([0.0, 1.0, 3.0], [0.0, 1.0, 3.0]))
    >>> is_metric(D), is_metric(D**2)
    (True, False)
    """
    rounding = 1e-10 * D.max()
    return not any(np.any(D > (row[:, None] + row) + rounding) for row in D)
