"""What a minimisation is made of: an evaluation of the objective, checked, counted, and handed on."""

from math import inf, isfinite, nan
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dasum

from .. import checks

FARTHEST = 1e50  # a trial beyond, in the sum of its magnitudes, is a step too long, unless the start is far out itself
STEEPEST = 1e50  # so is a trial whose gradient, in the unit of the objective, is beyond this


class Iterate(NamedTuple):
    """One accepted point of a minimisation; its arrays belong to whoever receives it."""

    x: np.ndarray  # (n,)
    value: float
    n_evaluations: int  # calls of value_and_gradient so far, rejected trials and probes included
    gradient: np.ndarray  # (n,)
    stopped: str = ""  # on the last iterate "gradient", "stalled" or "max_iter"; empty before it

    @property
    def converged(self) -> bool:
        """True on a last iterate whose gradient is small enough."""
        return self.stopped == "gradient"

    @property
    def is_finite(self) -> bool:
        """True when the value and every element of the gradient are finite."""
        return isfinite(self.value) and isfinite(dasum(self.gradient))


class Objective:
    """value_and_gradient with its calls counted, its answers checked and copied, and one guard.

    A trial point is a step too long if a matrix can't be factorised there (LinAlgError), if the computation says that
    it left the finite numbers (NotFiniteError), or if the point or the gradient is so large that its squares would
    leave them: its value is inf and its gradient NaN, and both methods step back. At the first point, the start, there
    is nothing to step back to, and errors are raised; so they are at every point when `guarded` is False.

    The values and gradients of trials are divided by `unit`, a power of two: 1 unless `use_unit` is called.
    """

    def __init__(self, value_and_gradient, guarded=True):
        self.value_and_gradient, self.n_calls, self.guarded = function(value_and_gradient), 0, guarded
        self.unit, self.farthest = 1.0, inf

    def __call__(self, x) -> Iterate:
        """The `Iterate` at x: one more evaluation."""
        if not dasum(x) <= self.farthest:
            return self._too_long(x)
        self.n_calls += 1
        try:
            value, gradient = _numbers(self.value_and_gradient(x.copy()), x.shape)
        except (np.linalg.LinAlgError, checks.NotFiniteError):
            if self.n_calls == 1 or not self.guarded:
                raise
            return self._too_long(x)
        if self.unit != 1.0:
            value, gradient = value / self.unit, gradient / self.unit
        if self.n_calls > 1 and self.guarded and not dasum(gradient) <= STEEPEST:
            return self._too_long(x)
        return Iterate(x, value, self.n_calls, gradient)

    def _too_long(self, x):
        return Iterate(x, inf, self.n_calls, np.full_like(x, nan))

    def use_unit(self, start) -> Iterate:
        """The start in the unit of the objective, which is used from now on.

        It is 1 for gradients from 1e-30 to 1e30. Outside, where squares of squares would leave the floating-point
        numbers, it is a power of two near the largest element of the gradient, so that nothing is rounded.
        """
        self.farthest = max(FARTHEST, 1e10 * dasum(start.x))
        largest = np.max(np.abs(start.gradient))
        if largest == 0.0 or 1e-30 <= largest <= 1e30:
            return start
        self.unit = float(np.ldexp(1.0, np.frexp(largest)[1] - 1))
        return start._replace(value=start.value / self.unit, gradient=start.gradient / self.unit)


def function(value_and_gradient):
    """value_and_gradient, if it can be called."""
    if not callable(value_and_gradient):
        raise ValueError(f"value_and_gradient must be a function, got {checks.shown(value_and_gradient)}.")
    return value_and_gradient


def pair(answer) -> tuple:
    """The two parts of what value_and_gradient returned."""
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise ValueError(f"value_and_gradient must return (number, gradient) and returned {checks.shown(answer)}.")
    return answer


def _numbers(answer, shape):
    """Value and gradient as floats, or an error that says what value_and_gradient returned in their place."""
    value, gradient = pair(answer)
    if np.size(value) != 1 or isinstance(value, str):
        raise ValueError(f"value_and_gradient must return (number, gradient) and returned {checks.shown(answer)}.")
    if not isinstance(value, float):
        value = np.squeeze(checks.floats("The value that value_and_gradient returns", value))
    gradient = floats("The gradient that value_and_gradient returns", gradient)
    if gradient.shape != shape:
        raise ValueError(
            f"The gradient has shape {gradient.shape}, but x has {shape}: return a flat "
            "vector of the same length, by gradient.ravel() if it is a matrix."
        )
    return float(value), gradient.copy()


def floats(name, array) -> np.ndarray:
    """As `checks.floats`; an array that is one already costs nothing."""
    return array if type(array) is np.ndarray and array.dtype == float else checks.floats(name, array)


def flat(x, name) -> np.ndarray:
    """A copy of x as a vector of finite floats, or an error that says what x was."""
    x = checks.floats(name, x).copy()
    if x.ndim != 1 or x.size == 0:
        raise ValueError(
            f"{name} must be a flat vector, not empty, and has shape {x.shape}: pass "
            f"{name}.ravel(), and reshape inside value_and_gradient."
        )
    if not np.all(np.isfinite(x)):
        i = np.flatnonzero(~np.isfinite(x))[0]
        raise ValueError(f"{name} must be finite, but {name}[{i}] is {x[i]}: replace it before you start.")
    if np.max(np.abs(x)) > checks.EXTREME:
        i = np.argmax(np.abs(x))
        raise ValueError(
            f"{name}[{i}] is {x[i]:.3g}: beyond {checks.EXTREME:g} squares leave the floating-point numbers. Use "
            "larger units, so that the numbers become smaller."
        )
    return x


def demand_finite(iterate, advice) -> None:
    """An error that says what is not finite, and what to do, unless all is."""
    if not iterate.is_finite:
        n_bad, n = np.count_nonzero(~np.isfinite(iterate.gradient)), len(iterate.x)
        raise checks.NotFiniteError(
            f"At evaluation {iterate.n_evaluations} the value is {iterate.value}, and "
            f"{n_bad} of the gradient's {n} elements are not finite. {advice}"
        )
