"""Positive parameters of a kernel, and the softplus, which makes of them a vector without constraints."""

from collections.abc import Callable
from html import escape
from typing import Self

import numpy as np
from scipy.linalg.blas import dasum

from .. import checks

GAMMA = "With scikit-learn's exp(-gamma |x - z|^2), inverse_width = 2 gamma; chapter 2 writes gamma for inverse_width."
SMALLEST, LARGEST = 1.0 / checks.EXTREME, checks.EXTREME  # of a parameter: its square is still a number above 0


def softplus(t):
    r"""From an unconstrained number to one above zero, equation (2.40).

    .. math:: \theta = \ln(1 + e^t)

    Examples
    --------
    >>> softplus(np.array([-1.0, 0.0, 80.0])).round(4)
    array([ 0.3133,  0.6931, 80.    ])
    """
    return np.logaddexp(0.0, t)  # (2.40)


def softplus_inverse(theta):
    r"""From a number above zero to an unconstrained one, equation (2.40) solved for t.

    .. math:: t = \theta + \ln(1 - e^{-\theta})

    Examples
    --------
    >>> softplus_inverse(softplus(np.array([-30.0, 0.0, 800.0]))).round(4)
    array([-30.,   0., 800.])
    """
    return theta + np.log(-np.expm1(-theta))  # (2.40)


def softplus_slope(theta):
    r"""d theta / d t, written with theta itself: 1 - exp(-theta), equation (2.41).

    Examples
    --------
    >>> float(softplus_slope(softplus(0.0)).round(4))
    0.5
    """
    return -np.expm1(-theta)  # (2.41)


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
    """One gradient for each latent dimension, or their sum if one parameter is shared by all, equation (2.35).

    Examples
    --------
    >>> per_dimension(np.array([1.0, 2.0]), 0.5), per_dimension(np.array([1.0, 2.0]), np.array([0.5, 0.7]))
    (array([3.]), array([1., 2.]))
    """
    return gradients if np.ndim(parameter) else np.array([gradients.sum()])


def unknown_parameter(owner, name, names) -> str:
    """The sentence for a parameter that no kernel of this kind has; other words for a width are converted, (2.5).

    Examples
    --------
    >>> unknown_parameter("Periodic", "length_scale", ["variance", "inverse_width", "period"])
    "Periodic has no parameter 'length_scale'; ... inverse_width, period. An inverse width is 1 / length_scale^2."
    """
    *nest, last = str(name).split("__")
    is_length = last.replace("_", "") == "lengthscale"
    missing = f"{owner} has no parameter {name!r}; it has {', '.join(names)}."
    if "__".join([*nest, "inverse_width"]) in names:
        if is_length and "length_scale" not in names:
            return f"{missing} An inverse width is 1 / length_scale^2."
        if last == "gamma" and (nest or [owner])[-1].lower().rstrip("0123456789") == "rbf":
            return f"{missing} {GAMMA}"
    return checks.unknown_name(owner, name, names)


class Parameterised:
    """Parameters of a kernel: their names, one vector for an optimiser, copies, a table when printed.

    The names are collected once for each class, and once for each combination of kernels. A parameter that is `fixed`
    has no entry in `theta`: every fit leaves it as it is.
    """

    input_scales: tuple[str, ...] = ()  # parameters that can undo a change of scale of the inputs
    other_names: dict[str, tuple[str, Callable]] = {}  # another name: the parameter that it states, and how
    _names: tuple[str, ...] = ()  # of the parameters
    _each: tuple[str, ...] = ()  # of those that may have an entry for each latent dimension
    _held: tuple[str, ...] = ()  # of those that are fixed
    relative = False  # True: variances are shares of the data's own, see `common.relative`

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        found = {
            name: v for owner in reversed(cls.__mro__) for name, v in vars(owner).items() if isinstance(v, Positive)
        }
        cls._names = tuple(found)
        cls._each = tuple(name for name, v in found.items() if v.each)
        if "__init__" in vars(cls):
            setattr(cls, "__init__", checks.known_names(vars(cls)["__init__"], unknown_parameter))  # noqa: B010

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
        """Set parameters by name, fixed or not, or ``fixed``, the names of those that stay; returns the kernel.

        What the constructor takes by another name is taken here too, in a part of a sum or product as well.

        Examples
        --------
        >>> from gplvm_edu.kernels import RBF, White
        >>> (RBF() + White(0.1)).set_params(rbf__length_scale=2.0)
        RBF(variance=1, inverse_width=0.25) + White(variance=0.1)
        """
        slots = {name: (owner, attribute) for name, owner, attribute in self._slots}
        slots["fixed"] = self, "fixed"
        for name, value in self._in_own_names(values).items():
            if name not in slots:
                raise ValueError(unknown_parameter(type(self).__name__, name, list(self.get_params())))
            owner, attribute = slots[name]
            setattr(owner, attribute, value)
        return self

    def _in_own_names(self, values):
        """Values by the names of parameters, where some are stated by `other_names`; None states nothing."""
        own = dict(values)
        for slot, owner, attribute in self._slots:
            for other, (stated, convert) in owner.other_names.items():
                value = own.pop(slot.removesuffix(attribute) + other, None) if attribute == stated else None
                if value is not None:
                    also = [own[slot]] if slot in own else []  # stated twice: `convert` says so
                    own[slot] = convert(type(owner).__name__, value, *also)
        return own

    @property
    def fixed(self) -> tuple[str, ...]:
        """Names of the parameters that no fit moves; can be set: a name, or several, or () to free them all.

        Examples
        --------
        >>> from gplvm_edu.kernels import RBF, White
        >>> kernel = RBF() + White(0.1)
        >>> kernel.fix("rbf__inverse_width")
        RBF(variance=1, inverse_width=1, fixed='inverse_width') + White(variance=0.1)
        >>> kernel.fixed, len(kernel.parameters), len(kernel.theta)
        (('rbf__inverse_width',), 3, 2)
        """
        return tuple(name for name, owner, attribute in self._slots if attribute in owner._held)

    @fixed.setter
    def fixed(self, names):
        names = self._known((names,) if isinstance(names, str) else names)
        for name, owner, attribute in self._slots:
            others = tuple(one for one in owner._held if one != attribute)
            owner._held = (*others, attribute) if name in names else others

    def fix(self, *names) -> Self:
        """Hold parameters, by name, at the values that they have; returns the kernel itself."""
        self.fixed = (*self.fixed, *names)
        return self

    def free(self, *names) -> Self:
        """Let fits move parameters again, by name; returns the kernel itself."""
        names = self._known(names)
        self.fixed = tuple(name for name in self.fixed if name not in names)
        return self

    def _known(self, names):
        """Some names of parameters as a tuple, or an error that shows the right ones."""
        if not isinstance(names, (tuple, list, set, frozenset)):
            raise ValueError(f"fixed must be the name of a parameter or a tuple of names, got {checks.shown(names)}.")
        known = [name for name, *_ in self._slots]
        for name in names:
            if name not in known:
                raise ValueError(unknown_parameter(type(self).__name__, name, known))
        return tuple(names)

    @property
    def is_free(self) -> np.ndarray:
        """Which entries of `parameters` an optimiser moves, (n_parameters,) of bool: all but those of `fixed`."""
        sizes = [np.size(getattr(owner, attribute)) for _, owner, attribute in self._slots]
        return np.repeat([attribute not in owner._held for _, owner, attribute in self._slots], sizes)

    def _moved(self, vector):
        """The entries of one vector for all parameters that belong to those an optimiser moves."""
        if not any(owner._held for _, owner, _ in self._slots):
            return vector
        return vector[self.is_free]

    @property
    def parameter_names(self) -> list[str]:
        """A name for every entry of `parameters`, such as 'rbf__inverse_width[1]'."""
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
        """All parameters but the fixed ones as one unconstrained vector, equation (2.40): what an optimiser moves.

        An optimiser may go anywhere: what it sets is brought into the range of a parameter, 1e-120 to 1e120.
        """
        return softplus_inverse(self._moved(self.parameters))

    @theta.setter
    def theta(self, vector):
        vector = checks.floats("theta", vector)
        if vector.size and dasum(vector.ravel()) <= LARGEST:  # none is NaN or too large: the usual case
            self._move(np.maximum(softplus(vector), SMALLEST))
            return
        if not np.isfinite(vector).all():
            raise ValueError(
                f"theta must be finite, got {checks.shown(vector)}. An optimiser that arrives here has taken too long "
                "a step: look at its gradient first (gplvm_edu.optimise.check_gradient)."
            )
        self._move(np.minimum(np.maximum(softplus(vector), SMALLEST), LARGEST))

    def _move(self, values):
        """Set the parameters that are not fixed, from one vector above zero."""
        if self.fixed:
            whole, free = self.parameters, self.is_free
            if values.shape != (free.sum(),):
                names = [name for name, one in zip(self.parameter_names, free, strict=True) if one]
                raise ValueError(
                    f"{self} has {len(names)} parameters that are not fixed ({', '.join(names)}), "
                    f"got a vector of shape {values.shape}."
                )
            whole[free] = values
            values = whole
        self.parameters = values

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
            and (self.relative, self.fixed) == (other.relative, other.fixed)
            and mine.keys() == other.get_params().keys()
            and all(np.array_equal(v, other.get_params()[name]) for name, v in mine.items())
        )

    __hash__ = None  # type: ignore[assignment]  # it can be changed, so it has no hash

    # --- printing --------------------------------------------------------------------------------------------
    def __repr__(self):
        return f"relative({self._text()})" if self.relative else self._text()

    def _text(self):
        inside = [f"{name}={_short(value)}" for name, value in self.get_params().items()]
        if self.fixed:
            inside.append(f"fixed={(self.fixed[0] if len(self.fixed) == 1 else self.fixed)!r}")
        return f"{type(self).__name__}({', '.join(inside)})"

    def _repr_html_(self):
        left = "style='text-align:left;padding:0 1.5em 0 0'"
        cells = "".join(
            f"<tr><td {left}>{escape(name)}</td><td>{value:.4g}{'' if free else ' (fixed)'}</td></tr>"
            for name, value, free in zip(self.parameter_names, self.parameters, self.is_free, strict=True)
        )
        return (
            f"<code>{escape(self._formula())}</code><table style='margin-left:0'><thead><tr>"
            f"<th {left}>parameter</th><th>value</th></tr></thead><tbody>{cells}</tbody></table>"
        )

    def _formula(self):
        return type(self).__name__


def _short(value):
    return f"{value:.4g}" if np.ndim(value) == 0 else "[" + ", ".join(f"{v:.4g}" for v in value) + "]"
