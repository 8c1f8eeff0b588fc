"""Positive parameters of a kernel, and the softplus, which makes of them a vector without constraints."""

from html import escape
from typing import Self

import numpy as np
from scipy.linalg.blas import dasum

from .. import checks

SMALLEST, LARGEST = 1.0 / checks.EXTREME, checks.EXTREME  # of a parameter: its square is still a number above 0


def softplus(t):
    r"""From an unconstrained number to one above zero, equation (2.23).

    .. math:: \theta = \ln(1 + e^t)

    Examples
    --------
    >>> softplus(np.array([-1.0, 0.0, 80.0])).round(4)
    array([ 0.3133,  0.6931, 80.    ])
    """
    return np.logaddexp(0.0, t)  # (2.23)


def softplus_inverse(theta):
    r"""From a number above zero to an unconstrained one, equation (2.23) solved for t.

    .. math:: t = \theta + \ln(1 - e^{-\theta})

    Examples
    --------
    >>> softplus_inverse(softplus(np.array([-30.0, 0.0, 800.0]))).round(4)
    array([-30.,   0., 800.])
    """
    return theta + np.log(-np.expm1(-theta))  # (2.23)


def softplus_slope(theta):
    r"""d theta / d t, written with theta itself: 1 - exp(-theta), equation (2.24).

    Examples
    --------
    >>> float(softplus_slope(softplus(0.0)).round(4))
    0.5
    """
    return -np.expm1(-theta)  # (2.24)


class Positive:
    """A parameter of a kernel: one number from 1e-120 to 1e120 or, if `each`, possibly one for every latent dimension.

    A class attribute (a descriptor), so that every assignment is checked. Arrays are stored as read-only copies.
    """

    def __init__(self, each=False):
        self.each = each

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, kernel, owner=None):
        return self if kernel is None else kernel.__dict__[self.name]

    def __set__(self, kernel, value):
        if isinstance(value, float) and SMALLEST <= value <= LARGEST:  # the usual case, without the cost of an array
            kernel.__dict__[self.name] = float(value)
            return
        owner = f"{self.name} of {type(kernel).__name__}"
        array = _numbers(value)
        if array.ndim > (1 if self.each else 0) or array.size == 0:
            wanted = (
                "a number, or a one-dimensional array with one for each latent dimension"
                if self.each
                else "one number (a parameter for each latent dimension exists in the inverse widths of RBF and "
                "Matern32)"
            )
            raise ValueError(f"{owner} must be {wanted}; got {checks.shown(value)}.")
        if not (np.isfinite(array).all() and (array > 0).all()):
            raise ValueError(
                f"{owner} must be finite and above 0, got {checks.shown(value)}. To switch a term off, leave it out "
                'of the sum; to let an optimiser move it freely, use theta (chapter 2, "Staying '
                'positive").'
            )
        if array.min() < SMALLEST or array.max() > LARGEST:
            raise ValueError(
                f"{owner} must be from {SMALLEST:g} to {LARGEST:g}, got {checks.shown(value)}: outside, squares and "
                "products leave the floating-point numbers. Change the units of the data or of the latent space."
            )
        array.setflags(write=False)
        kernel.__dict__[self.name] = array if array.ndim else float(array)


def _numbers(value):
    """A copy of the value as an array of floats; NaN in the place of what is no number, text and complex included."""
    try:
        array = np.array(value)
        return array.astype(float) if array.dtype.kind in "biufO" else np.array(np.nan)
    except (TypeError, ValueError, OverflowError):
        return np.array(np.nan)


def per_dimension(gradients, parameter) -> np.ndarray:
    """One gradient for each latent dimension, or their sum if one parameter is shared by all, equation (2.18).

    Examples
    --------
    >>> per_dimension(np.array([1.0, 2.0]), 0.5), per_dimension(np.array([1.0, 2.0]), np.array([0.5, 0.7]))
    (array([3.]), array([1., 2.]))
    """
    return gradients if np.ndim(parameter) else np.array([gradients.sum()])


class Parameterised:
    """Parameters of a kernel: their names, one vector for an optimiser, copies, a table when printed.

    The names are collected once for each class, and once for each combination of kernels.
    """

    _names: tuple[str, ...] = ()  # of the parameters
    _each: tuple[str, ...] = ()  # of those that may have an entry for each latent dimension

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        found = {
            name: v for owner in reversed(cls.__mro__) for name, v in vars(owner).items() if isinstance(v, Positive)
        }
        cls._names = tuple(found)
        cls._each = tuple(name for name, v in found.items() if v.each)

    @property
    def _slots(self):
        """(name, owner, attribute) of every parameter."""
        return [(name, self, name) for name in self._names]

    @property
    def _sized(self):
        """Those of them that may be arrays with an entry for each latent dimension."""
        return [(name, self, name) for name in self._each]

    def get_params(self, deep=True) -> dict:
        """{name: value} of all parameters, as scikit-learn asks for them."""
        return {name: getattr(owner, attribute) for name, owner, attribute in self._slots}

    def set_params(self, **values) -> Self:
        """Set parameters by name; returns the kernel itself."""
        slots = {name: slot for name, *slot in self._slots}
        for name, value in values.items():
            if name not in slots:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(slots)}.")
            owner, attribute = slots[name]
            setattr(owner, attribute, value)
        return self

    @property
    def parameter_names(self) -> list[str]:
        """A name for every entry of `theta`, such as 'rbf__inverse_width[1]'."""
        return [
            name if np.ndim(v) == 0 else f"{name}[{i}]"
            for name, v in self.get_params().items()
            for i in range(np.size(v))
        ]

    @property
    def parameters(self) -> np.ndarray:
        """All parameters, above zero, as one vector in the order of `parameter_names`."""
        numbers: list[float] = []
        for value in self.get_params().values():
            numbers += [value] if type(value) is float else value.tolist()
        return np.array(numbers, dtype=float)

    @parameters.setter
    def parameters(self, vector):
        vector, start = checks.floats("The vector of parameters", vector), 0
        if vector.shape != self.parameters.shape:
            raise ValueError(
                f"{self} has {self.parameters.size} parameters ({', '.join(self.parameter_names)}), "
                f"got a vector of shape {vector.shape}."
            )
        for _, owner, attribute in self._slots:
            old = getattr(owner, attribute)
            size = 1 if type(old) is float else old.size
            setattr(owner, attribute, vector[start] if type(old) is float else vector[start : start + size])
            start += size

    @property
    def theta(self) -> np.ndarray:
        """All parameters as one unconstrained vector, equation (2.23): what an optimiser moves.

        An optimiser may go anywhere: what it sets is brought into the range of a parameter, 1e-120 to 1e120.
        """
        return softplus_inverse(self.parameters)

    @theta.setter
    def theta(self, vector):
        vector = checks.floats("theta", vector)
        if vector.size and dasum(vector.ravel()) <= LARGEST:  # none is NaN or too large: the usual case
            self.parameters = np.maximum(softplus(vector), SMALLEST)
            return
        if not np.isfinite(vector).all():
            raise ValueError(
                f"theta must be finite, got {checks.shown(vector)}. An optimiser that arrives here has taken too long "
                "a step: look at its gradient first (gplvm_edu.optimise.check_gradient)."
            )
        self.parameters = np.minimum(np.maximum(softplus(vector), SMALLEST), LARGEST)

    def copy(self) -> Self:
        """An independent kernel with the same parameters."""
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__dict__)  # arrays of parameters are read-only, so they may be shared
        return new

    def __deepcopy__(self, memo):
        return self.copy()

    def __sklearn_clone__(self):
        return self.copy()

    def __eq__(self, other):
        mine = self.get_params()
        return (
            type(self) is type(other)
            and mine.keys() == other.get_params().keys()
            and all(np.array_equal(v, other.get_params()[name]) for name, v in mine.items())
        )

    __hash__ = None  # type: ignore[assignment]  # it can be changed, so it has no hash

    # --- printing --------------------------------------------------------------------------------------------
    def __repr__(self):
        inside = ", ".join(f"{name}={_short(value)}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({inside})"

    def _repr_html_(self):
        left = "style='text-align:left;padding:0 1.5em 0 0'"
        cells = "".join(
            f"<tr><td {left}>{escape(name)}</td><td>{value:.4g}</td></tr>"
            for name, value in zip(self.parameter_names, self.parameters, strict=True)
        )
        return (
            f"<code>{escape(self._formula())}</code><table style='margin-left:0'><thead><tr>"
            f"<th {left}>parameter</th><th>value</th></tr></thead><tbody>{cells}</tbody></table>"
        )

    def _formula(self):
        return type(self).__name__


def _short(value):
    return f"{value:.4g}" if np.ndim(value) == 0 else "[" + ", ".join(f"{v:.4g}" for v in value) + "]"
