"""Checks of arguments, each written once for the whole package.

Every function returns its argument, converted, or raises a ValueError that says what was wrong and what to do.
"""

import inspect
import warnings
from numbers import Integral, Real
from pathlib import Path

import numpy as np
from scipy import linalg

ROUNDING = 1e-10  # relative to the largest eigenvalue (or the trace): below it a negative eigenvalue is rounding
Seed = int | np.random.RandomState | np.random.Generator | None  # what `random_state` may be
KERNEL_METHODS = ("diag", "gradients", "theta")


PACKAGE = str(Path(__file__).parent)


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
def whole_number(name, value, at_least=1) -> int:
    """A whole number of at least `at_least`.

    Examples
    --------
    >>> whole_number("max_iter", 10)
    10
    >>> whole_number("max_iter", "ten")
    Traceback (most recent call last):
    ...
    ValueError: max_iter must be a whole number of at least 1, got 'ten'.
    """
    if not isinstance(value, Integral) or isinstance(value, (bool, np.bool_)) or value < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}, got {value!r}.")
    return int(value)


def number(name, value, at_least=-np.inf, above=-np.inf) -> float:
    """A finite real number within its bounds.

    Examples
    --------
    >>> number("tol", 0.5, at_least=0)
    0.5
    >>> number("tol", -1.0, at_least=0)
    Traceback (most recent call last):
    ...
    ValueError: tol must be a finite number of at least 0, got -1.0.
    """
    is_real = isinstance(value, (Real, np.number)) and not isinstance(value, (bool, np.bool_))
    is_number = is_real and np.isreal(value)
    if not is_number or not np.isfinite(value) or value < at_least or value <= above:
        bound = f" of at least {at_least:g}" if at_least > -np.inf else f" above {above:g}" if above > -np.inf else ""
        raise ValueError(f"{name} must be a finite number{bound}, got {value!r}.")
    return float(value)


def positive(name, value) -> float:
    """A finite number above 0."""
    return number(name, value, above=0)


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
        raise ValueError(f"{name} must be one of {listed}, got {value!r}." + (f" {advice}" if advice else ""))
    return value


def components(n_components, n_samples, n_features, largest, because) -> int:
    """A number of latent dimensions from 1 to `largest`."""
    whole_number("n_components", n_components)
    if n_components > largest:
        raise ValueError(
            f"n_components={n_components} is too many for Y with n_samples={n_samples} rows and "
            f"n_features={n_features} columns: {because}, so at most {largest} can be asked for. "
            'Use fewer components, or more data; chapter 1, "When there is too little data", shows what happens '
            "at the edge."
        )
    return int(n_components)


def kernel(value, example="RBF() + White(0.1)"):
    """A kernel of `gplvm_edu.kernels` (anything with its methods), or None."""
    if value is not None and (isinstance(value, type) or not all(hasattr(value, name) for name in KERNEL_METHODS)):
        raise ValueError(f"kernel must be a kernel of gplvm_edu.kernels (such as {example}) or None, got {value!r}.")
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
            f"RandomState, got {random_state!r}."
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
def matrix(A, name) -> np.ndarray:
    """A as a finite float64 array of two dimensions."""
    if np.iscomplexobj(A):
        raise ValueError(f"{name} is complex. Complex data not supported: a similarity is a real number.")
    A = np.asarray(A, dtype=np.float64)
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
    if np.iscomplexobj(X):
        raise ValueError(f"{name} is complex. Complex data not supported: a coordinate is a real number.")
    X = np.asarray(X, dtype=float)
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
    X = np.array(X, dtype=float)
    if X.shape != shape or not np.isfinite(X).all():
        raise ValueError(
            f"{name} must be a finite array of shape {shape}, one row for each point, got an array of "
            f"shape {X.shape}{'' if np.isfinite(X).all() else ' with NaN or infinity in it'}."
        )
    return X


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
