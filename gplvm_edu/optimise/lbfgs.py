"""L-BFGS: curvature learnt from the last few steps, and a line search that keeps the strong Wolfe conditions.

D. C. Liu and J. Nocedal (1989), On the limited memory BFGS method for large scale optimization, Mathematical
Programming 45, 503-528. The constants are those of SciPy's L-BFGS-B; a test holds the evaluations of both together.
"""

from collections import deque
from collections.abc import Generator
from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from .iterate import Iterate

ROUNDING = np.finfo(float).eps
DECREASE, FLATTENING = 1e-3, 0.9  # c1 and c2 of the strong Wolfe conditions


def lbfgs(evaluate, start, n_pairs=10) -> Generator[Iterate, None, None]:
    r"""The points that L-BFGS accepts after the start, until no step lowers the value.

    .. math:: x_{k+1} = x_k - t\, B_k \nabla f(x_k), \qquad B_k y = s \text{ of the step before}

    Parameters
    ----------
    evaluate : callable
        From a point (n,) to its Iterate.
    start : Iterate
    n_pairs : int
        How many steps s = x_{k+1} - x_k, and changes y of the gradient along them, are remembered.

    Notes
    -----
    Costs O(n_pairs n) a step besides the evaluations. Where the line search finds nothing smaller the pairs are
    forgotten, and where the gradient itself leads to nothing smaller either, the search ends. At equal values, near
    the last digit, a shorter gradient counts as smaller. Chapter 5, equations (5.22) to (5.29).
    """
    here, pairs = start, deque[tuple](maxlen=n_pairs)
    while True:
        g = here.gradient
        p = -inverse_hessian_times(g, pairs)
        there = wolfe_search(evaluate, here, p, 1.0 if pairs else 1.0 / (np.linalg.norm(g) or 1.0))
        if (there.value, np.linalg.norm(there.gradient)) < (here.value, np.linalg.norm(g)):
            s, y = there.x - here.x, there.gradient - g
            if s @ y > ROUNDING * np.linalg.norm(s) * np.linalg.norm(y) > 0:
                pairs.append((s, y, s @ y))
            here = there
            yield here
        elif pairs:
            pairs.clear()
        else:
            return


def inverse_hessian_times(g, pairs) -> np.ndarray:
    """B g (n,) by the two-loop recursion, without B; pairs : (s, y, s'y) of each remembered step, oldest first."""
    r, a = g, []
    for s, y, sy in reversed(pairs):
        a.append(s @ r / sy)  # (5.24)
        r = r - a[-1] * y  # (5.24)
    if pairs:
        _, y, sy = pairs[-1]
        r = sy / (y @ y) * r  # (5.25)
    for s, y, sy in pairs:
        r = r + (a.pop() - y @ r / sy) * s  # (5.26)
    return r


class Step(NamedTuple):
    """A step length, and the value and slope found there."""

    length: float
    value: float
    slope: float


def wolfe_search(evaluate, here, p, t, n_trials=20) -> Iterate:
    """The first trial along p that meets both conditions; else the lowest that met (5.27), or `here`."""
    start = low = Step(0.0, here.value, float(p @ here.gradient))
    high, lowest = Step(inf, inf, inf), here  # a minimum lies between the steps low and high
    for _ in range(n_trials if start.slope < 0 else 0):
        there = evaluate(here.x + t * p)
        new = Step(t, there.value if there.is_finite else inf, float(p @ there.gradient))
        lower = new.value <= start.value + DECREASE * t * start.slope  # (5.27)
        flatter = abs(new.slope) <= FLATTENING * abs(start.slope)  # (5.28)
        if not lower or new.value > low.value:
            high = new
        elif flatter:
            return there
        else:
            high = low if new.slope * (high.length - t) > 0 else high
            low, lowest = new, there
        if high.length == inf:
            t = 4.0 * t
        else:
            share = cubic_minimum(low, high) if high.value < inf else 0.1
            t = low.length + min(max(0.1, share), 0.9) * (high.length - low.length)  # 0.1 also where share is NaN
    return lowest


def cubic_minimum(a, b) -> float:
    """Where between a (0) and b (1) the cubic with their values and slopes is lowest.

    Notes
    -----
    The shorter 1 / (1 + e - d) is equal, but takes the difference of two large numbers where b is steep: at v = 1e12 it
    has four digits left, the form here all of them.

    Examples
    --------
    >>> cubic_minimum(Step(0.0, 1.0, -2.0), Step(2.0, 1.0, 2.0))                 # (t - 1)^2
    0.5
    """
    unit = (a.length - b.length) * a.slope  # of values, in which the slope at a is -1; 0 when it underflows
    if unit == 0.0:
        return 0.0
    v, h = -b.slope / a.slope, (b.value - a.value) / unit
    d = v - 1.0 - 3.0 * h  # (5.29)
    e = sqrt(max(d * d + v, 0.0))  # (5.29)
    return 1.0 - (v + e - d) / (v + 1.0 + 2.0 * e)  # (5.29)
