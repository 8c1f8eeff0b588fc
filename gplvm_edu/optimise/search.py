"""One interface to both methods, and a check of gradients."""

from collections.abc import Iterator
from contextlib import closing

import numpy as np

from .. import checks
from .iterate import Iterate, Objective, demand_finite, flat
from .lbfgs import lbfgs
from .scg import scaled_conjugate_gradients

NOTHING = 1e-50  # a gradient that counts as 0, in the unit of the objective: its square squared would be 0 in floats
METHODS = {"scg": scaled_conjugate_gradients, "l-bfgs": lbfgs}


def minimise(value_and_gradient, x0, method="scg", max_iter=1000, tolerance=1e-5) -> Iterator[Iterate]:
    r"""Minimise a smooth function, one iterate at a time.

    .. math:: \text{converged when} \quad \max_i |\partial f / \partial x_i| \le \texttt{tolerance}

    Parameters
    ----------
    value_and_gradient : callable
        ``value_and_gradient(x)`` returns f(x), a float, and its gradient, an ndarray (n,).
    x0 : ndarray (n,)
        The start, a flat vector: a matrix goes in as ``X.ravel()`` and comes out as ``x.reshape(N, q)``.
    method : {"scg", "l-bfgs"}
        Scaled conjugate gradients, or BFGS with limited memory.
    max_iter : int
        The most steps to accept; at most ``max_iter + 1`` iterates appear, the start being the first.
    tolerance : float
        See above; 0 asks for all that floats can give, which ends at gradients of 1e-50.

    Yields
    ------
    Iterate
        Values never increase. The last iterate says in ``stopped`` why it is the last: "gradient"
        (converged), "max_iter", or "stalled": no step lowers the value, because the minimum is reached to the
        precision of floats, because all steps lead out of the finite numbers, or because the gradient is wrong (see
        :func:`check_gradient`). A stalled run gives its last point twice, the second time with the evaluations spent in
        vain.

    Notes
    -----
    SCG costs two evaluations a step and one for each rejected trial, L-BFGS a little more than one a step;
    both need O(n) memory. A trial that is not finite, or at which a matrix can't be factorised (LinAlgError) or the
    computation leaves the finite numbers (NotFiniteError), is a step too long; at the start it is an error. Functions
    of any size can be minimised: where the gradient at the start is beyond 1e30 or below 1e-30 both methods work in
    units of it, and `tolerance` still means the gradient as it is.

    Examples
    --------
    >>> def bowl(x):
    ...     return 0.5 * np.sum((x - 3.0) ** 2), x - 3.0
    >>> for iterate in minimise(bowl, np.zeros(2)):
    ...     print(iterate.x.round(3), round(iterate.value, 3), iterate.n_evaluations, iterate.converged)
    [0. 0.] 9.0 1 False
    [3. 3.] 0.0 3 True
    """
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"There is no method {checks.shown(method)}: choose one of {', '.join(map(repr, METHODS))}.")
    checks.whole_number("max_iter", max_iter, at_least=0)
    checks.number("tolerance", tolerance, at_least=0)
    return _run(METHODS[method], Objective(value_and_gradient), flat(x0, "x0"), max_iter, tolerance)


def _run(search, evaluate, x0, max_iter, tolerance):
    """Yield the start and what the search accepts, until one of the three reasons to stop holds."""
    iterate = evaluate(x0)
    demand_finite(iterate, "Start elsewhere, or look for a logarithm or a division that leaves its domain.")
    iterate = evaluate.use_unit(iterate)
    unit = evaluate.unit
    with closing(search(evaluate, iterate)) as steps:
        for n_steps in range(max_iter + 1):
            if np.max(np.abs(iterate.gradient)) <= max(tolerance / unit, NOTHING):
                iterate = iterate._replace(stopped="gradient")
            elif n_steps == max_iter:
                iterate = iterate._replace(stopped="max_iter")
            yield _in_full(iterate, unit)
            if iterate.stopped:
                return
            last, iterate = iterate, next(steps, None)
            if iterate is None:
                yield _in_full(last._replace(n_evaluations=evaluate.n_calls, stopped="stalled"), unit)
                return


def _in_full(iterate, unit):
    """A copy of the iterate, no longer in the unit of the objective."""
    return iterate._replace(x=iterate.x.copy(), value=unit * iterate.value, gradient=unit * iterate.gradient)


def check_gradient(value_and_gradient, x, step=6e-6) -> float:
    r"""Worst relative error of a gradient against central differences.

    .. math:: \frac{\max_i |g_i - c_i|}{\max(\max_i |g_i|,\ \max_i |c_i|)}, \qquad
              c_i = \frac{f(x + h_i e_i) - f(x - h_i e_i)}{2 h_i}

    Parameters
    ----------
    value_and_gradient : callable
        As for :func:`minimise`.
    x : ndarray (n,)
        Where to check: a typical point, not a minimum, where 0 is compared with 0.
    step : float
        h_i is step * max(1, |x_i|). The default, the cube root of the machine precision, balances the
        truncation, of order h^2, with the rounding, of order 1/h.

    Returns
    -------
    float
        1e-11 to 1e-7 for a right gradient of a well-scaled function, 2 at most; 0.0 where both are zero.

    Notes
    -----
    Costs 2 n + 1 evaluations.

    Examples
    --------
    >>> x = np.array([1.0, 2.0])
    >>> check_gradient(lambda x: (np.sum(x**3), 3 * x**2), x) < 1e-8
    True
    >>> round(check_gradient(lambda x: (np.sum(x**3), 6 * x**2), x), 3)      # twice too large
    0.5
    """
    x, evaluate = flat(x, "x"), Objective(value_and_gradient, guarded=False)
    checks.number("step", step, at_least=1e-15, at_most=1.0)
    g, c = evaluate(x).gradient, np.empty(len(x))
    for i, h in enumerate(step * np.maximum(1.0, np.abs(x))):
        up, down = x.copy(), x.copy()
        up[i], down[i] = x[i] + h, x[i] - h
        c[i] = (evaluate(up).value - evaluate(down).value) / (up[i] - down[i])
    if not np.all(np.isfinite([g, c])):
        raise checks.NotFiniteError("The gradient, or a value beside x, is not finite: move x into the domain.")
    largest = np.max(np.abs([g, c]))
    return float(np.max(np.abs(g - c)) / largest) if largest > 0 else 0.0
