"""How checkers read an answer: as numbers, two parts, a truth or words, each refused with a hint where it is none.

What is read here is compared with `close`. An answer passes because a comparison holds, never because its opposite does
not: with NaN none holds.
"""

import numpy as np

LARGEST = 1_000_000  # no exercise asks for so many numbers


class Unusable(Exception):
    """An answer that no checker can read; its text is the hint."""


def numbers(value, finite=True) -> np.ndarray:
    """The numbers of an answer as a float array of their own; NaN and infinity only if `finite` is False.

    Refused with a hint: text, masked or missing entries, complex numbers, nothing at all, far too many.

    Examples
    --------
    >>> numbers([1, 2]), numbers(np.array([3 + 0j]))
    (array([1., 2.]), array([3.]))
    >>> numbers([1.0, np.nan])
    Traceback (most recent call last):
    gplvm_edu.exercises.answers.Unusable: 1 of 2 numbers is NaN or infinite. ...
    """
    if _size(value) > LARGEST:
        raise Unusable("That holds more numbers than any exercise asks for. What shape should it have?")
    if np.ma.is_masked(value):
        raise Unusable("Some entries are masked. Numbers are wanted in every place.")
    if isinstance(value, (list, tuple)) and not all(type(part) in (int, float) for part in value):
        value = [numbers(part, finite=False) for part in value]
    array = np.asarray(value)
    if array.dtype.kind == "O":
        array = np.array([_entry(one) for one in array.ravel()]).reshape(array.shape)
    if array.dtype.kind in "SU":
        raise Unusable("That is text. Numbers are wanted, without quotation marks.")
    if array.dtype.kind not in "biufc":
        raise Unusable(f"Numbers are wanted, not values of the type {array.dtype}.")
    if array.size == 0:
        raise Unusable(f"There are no numbers in it: its shape is {array.shape}.")
    if array.dtype.kind == "c":
        if not np.all(np.abs(array.imag) <= 1e-9 * np.abs(array).max()):
            raise Unusable("Complex numbers, with an imaginary part. Was a root or a logarithm of something negative?")
        array = array.real
    array = array.astype(float)
    bad = array.size - np.count_nonzero(np.isfinite(array))
    if finite and bad:
        are = "is" if bad == 1 else "are"
        raise Unusable(
            f"{bad} of {array.size} numbers {are} NaN or infinite. Look for a division by 0, the logarithm of 0, the "
            "root of something negative, or the exponential of something large."
        )
    return array


def number(value, finite=True) -> float:
    """The one number of an answer, in whatever shape it comes.

    Examples
    --------
    >>> number(3), number([[3.0]])
    (3.0, 3.0)
    """
    array = numbers(value, finite)
    if array.size != 1:
        raise Unusable(f"One number is wanted, yours has the shape {array.shape}.")
    return float(array.ravel()[0])


def vector(value, length, what="") -> np.ndarray:
    """The numbers of an answer in one row, however they lie, when there are as many as `length`.

    Examples
    --------
    >>> vector([[1.0], [2.0]], 2)
    array([1., 2.])
    """
    array = numbers(value)
    if array.size != length:
        raise Unusable(f"{what or 'A vector'} of {length} numbers is wanted; yours has the shape {array.shape}.")
    return array.ravel()


def whole_numbers(value) -> np.ndarray:
    """The whole numbers of an answer, such as indices, as an array of integers.

    Examples
    --------
    >>> whole_numbers([3.0, 1.0])
    array([3, 1])
    """
    array = numbers(value)
    if not np.array_equal(array, np.rint(array)):
        raise Unusable("Whole numbers are wanted.")
    return array.astype(int)


def two_parts(value, hint="Return two things, separated by a comma.") -> tuple:
    """The two parts of an answer such as ``mean, variance``.

    Examples
    --------
    >>> two_parts([1.0, 2.0])
    (1.0, 2.0)
    """
    try:
        first, second = value
    except (TypeError, ValueError):
        raise Unusable(hint) from None
    return first, second


def truth(value) -> bool | None:
    """The True or False of an answer, None where it is neither.

    Examples
    --------
    >>> truth(np.True_), truth(np.array(False)), truth(1)
    (True, False, None)
    """
    if isinstance(value, np.ndarray) and value.size == 1 and not np.ma.is_masked(value):
        value = value.ravel()[0]
    return bool(value) if isinstance(value, (bool, np.bool_)) else None


def words(value) -> str:
    """The text of an answer, in small letters and without spaces around it; no text is the empty text.

    Examples
    --------
    >>> words(" Frozen"), words(3.0)
    ('frozen', '')
    """
    if isinstance(value, np.ndarray) and value.dtype.kind == "U" and value.size == 1:
        value = value.ravel()[0]
    return str.__str__(value).strip().lower() if isinstance(value, str) else ""


def close(ours, theirs, rtol=1e-6, atol=1e-9) -> bool:
    """Whether two answers are the same numbers in the same shape, up to rounding: how checkers compare.

    Examples
    --------
    >>> close([1.0, 2.0], np.array([1.0, 2.0 + 1e-7])), close([1.0, 1.0], 1.0), close(np.nan, np.nan)
    (True, False, False)
    """
    ours, theirs = numbers(ours, finite=False), np.asarray(theirs, float)
    return ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=rtol, atol=atol)


def _size(value):
    """How many numbers an answer holds, before any room is made for them."""
    size = getattr(value, "size", None)
    if isinstance(size, int):  # an array, also one that is a view of a single number
        return size
    if isinstance(value, (list, tuple)) and len(value) <= LARGEST:
        total = 0
        for part in value:
            total += _size(part)
            if total > LARGEST:
                break
        return total
    return len(value) if hasattr(value, "__len__") and not isinstance(value, (str, bytes)) else 1


def _entry(value):
    """One entry of an array of objects, as a number."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, (str, bytes)):
        raise Unusable("There is text in it. Numbers are wanted, without quotation marks.")
    try:
        return complex(value)
    except TypeError:
        raise Unusable(f"Numbers are wanted, and this holds something of type {kind_of(value)}.") from None


def kind_of(value):
    """The name of the type of a thing, whatever the thing says of itself.

    Examples
    --------
    >>> kind_of(3.0)
    'float'
    """
    return type.__dict__["__name__"].__get__(type(value))
