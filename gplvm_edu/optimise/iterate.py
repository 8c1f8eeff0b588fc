"""What a minimisation is made of: an evaluation of the objective, checked, counted, and handed on."""

from math import inf, isfinite, nan
from typing import NamedTuple

import numpy as np


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
        return isfinite(self.value) and bool(np.isfinite(self.gradient).all())


class Objective:
    """value_and_gradient with its calls counted, its answers checked and copied, and one guard.

    A trial point at which a matrix can't be factorised (LinAlgError) is a step too long: its value is inf and its
    gradient NaN, and both methods step back. At the first point, the start, there is nothing to step back to, and the
    error is raised; so it is at every point when `guarded` is False.
    """

    def __init__(self, value_and_gradient, guarded=True):
        self.value_and_gradient, self.n_calls, self.guarded = value_and_gradient, 0, guarded

    def __call__(self, x) -> Iterate:
        """The `Iterate` at x: one more evaluation."""
        self.n_calls += 1
        try:
            answer = self.value_and_gradient(x.copy())
        except np.linalg.LinAlgError:
            if self.n_calls == 1 or not self.guarded:
                raise
            return Iterate(x, inf, self.n_calls, np.full_like(x, nan))
        if not isinstance(answer, tuple) or len(answer) != 2 or np.size(answer[0]) != 1:
            raise ValueError(f"value_and_gradient must return (number, gradient) and returned {answer!r}.")
        value, gradient = float(np.squeeze(answer[0])), np.array(answer[1], dtype=float)
        if gradient.shape != x.shape:
            raise ValueError(
                f"The gradient has shape {gradient.shape}, but x has {x.shape}: return a flat "
                "vector of the same length, by gradient.ravel() if it is a matrix."
            )
        return Iterate(x, value, self.n_calls, gradient)


def flat(x, name) -> np.ndarray:
    """A copy of x as a vector of finite floats, or an error that says what x was."""
    x = np.array(x, dtype=float)
    if x.ndim != 1 or x.size == 0:
        raise ValueError(
            f"{name} must be a flat vector, not empty, and has shape {x.shape}: pass "
            f"{name}.ravel(), and reshape inside value_and_gradient."
        )
    if not np.all(np.isfinite(x)):
        i = np.flatnonzero(~np.isfinite(x))[0]
        raise ValueError(f"{name} must be finite, but {name}[{i}] is {x[i]}: replace it before you start.")
    return x


def demand_finite(iterate, advice) -> None:
    """An error that says what is not finite, and what to do, unless all is."""
    if not iterate.is_finite:
        n_bad, n = np.count_nonzero(~np.isfinite(iterate.gradient)), len(iterate.x)
        raise FloatingPointError(
            f"At evaluation {iterate.n_evaluations} the value is {iterate.value}, and "
            f"{n_bad} of the gradient's {n} elements are not finite. {advice}"
        )
