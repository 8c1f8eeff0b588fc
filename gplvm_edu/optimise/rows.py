"""Many small problems at once: one minimum for each row."""

import numpy as np
from scipy.linalg.blas import dasum

from .. import checks
from .iterate import FARTHEST, STEEPEST, floats, function, pair


def minimise_rows(value_and_gradient, X0, max_iter=100, tolerance=1e-9) -> tuple[np.ndarray, np.ndarray]:
    r"""Minimise one small function for each row, all rows at once: BFGS with its own step length for every row.

    .. math:: x_n \leftarrow x_n - t_n H_n\, \nabla f_n(x_n), \qquad n = 1, \dots, N

    Parameters
    ----------
    value_and_gradient : callable
        ``value_and_gradient(X, rows)`` returns f_n(x_n) (m,) and the gradients (m, q) at X (m, q), the positions
        of the rows numbered `rows`.
    X0 : ndarray (N, q)
        One start a row.
    max_iter : int
        From 0.
    tolerance : float
        A row is finished when no entry of its gradient exceeds it.

    Returns
    -------
    X : ndarray (N, q)
    values : ndarray (N,)
        No larger than at the start, but for rounding.

    Notes
    -----
    The result of a row does not depend on the other rows. A step that finds nothing better is halved, and its row given
    up after thirty trials. Near a minimum the value is flat to rounding long before the place is found (an error of
    1e-8 in x costs 1e-16), so there a step also counts as better when the value stands still and the gradient shrinks.
    Where a step promises less than the value's last digit only the gradient can tell, which a short step does not
    change: six trials are enough there.
    A row that is not finite at its start is an error (NotFiniteError); a trial that is not finite is a step too long. A
    row whose gradient is beyond 1e30 or below 1e-30 at the start is computed in units of it, as in `minimise`. An error
    that value_and_gradient raises is passed on: it serves all rows at once, so no row can step back from it.

    Examples
    --------
    >>> targets = np.array([[1.0, 2.0], [-3.0, 0.5]])
    >>> def bowls(X, rows):
    ...     return 0.5 * np.sum((X - targets[rows]) ** 2, axis=1), X - targets[rows]
    >>> minimise_rows(bowls, np.zeros((2, 2)))[0]
    array([[ 1. ,  2. ],
           [-3. ,  0.5]])
    """
    X = checks.within_range(checks.points(X0, "X0", advice="Start the row elsewhere."), "X0").copy()
    checks.whole_number("max_iter", max_iter, at_least=0)
    tolerance = np.full(len(X), checks.number("tolerance", tolerance, at_least=0))
    (N, q), evaluate = X.shape, Rows(value_and_gradient)
    f, g = evaluate(X.copy(), np.arange(N))
    f, g, tolerance, unit = evaluate.use_units(f, g, tolerance)
    H = np.tile(np.eye(q), (N, 1, 1)) / np.maximum(1.0, np.linalg.norm(g, axis=1))[:, None, None]
    alive = np.flatnonzero(np.max(np.abs(g), axis=1) > tolerance)
    for _ in range(max_iter):
        if len(alive) == 0:
            break
        p = -np.einsum("nij,nj->ni", H[alive], g[alive])
        step, f_new, g_new = _backtrack_rows(evaluate, X, f, g, p, alive)
        moved = step > 0
        rows, s, y = alive[moved], (step[:, None] * p)[moved], g_new[moved] - g[alive[moved]]
        X[rows], f[rows], g[rows] = X[rows] + s, f_new[moved], g_new[moved]
        H[rows] = _bfgs_update(H[rows], s, y)
        alive = rows[np.max(np.abs(g[rows]), axis=1) > tolerance[rows]]
    return X, unit * f


class Rows:
    """value_and_gradient of rows, its answers checked and, where a row asks for it, in a unit of the row's own."""

    def __init__(self, value_and_gradient):
        self.value_and_gradient, self.unit = function(value_and_gradient), None

    def __call__(self, X, rows) -> tuple[np.ndarray, np.ndarray]:
        """Values (m,) and gradients (m, q) at X (m, q), the positions of some rows."""
        value, gradient = pair(self.value_and_gradient(X, rows))
        value = floats("The values that value_and_gradient returns", value)
        gradient = floats("The gradients that value_and_gradient returns", gradient)
        if value.shape != (len(rows),) or gradient.shape != (len(rows), X.shape[1]):
            raise ValueError(
                f"value_and_gradient returned arrays of the shapes {value.shape} and {gradient.shape} for "
                f"{len(rows)} rows: it must return a value and a gradient with {X.shape[1]} elements for each."
            )
        if self.unit is None:
            return value, gradient
        return value / self.unit[rows], gradient / self.unit[rows, None]

    def use_units(self, f, g, tolerance) -> tuple[np.ndarray, ...]:
        """Values, gradients and tolerances at the start in units of the rows, and these units, powers of two."""
        largest = np.max(np.abs(g), axis=1)
        bad = ~(np.isfinite(f) & np.isfinite(largest))
        if bad.any():
            n = np.flatnonzero(bad)[0]
            raise checks.NotFiniteError(
                f"At the start of row {n} the value is {f[n]} and the largest element of its gradient {largest[n]} "
                f"({np.count_nonzero(bad)} such rows). Start elsewhere, or look for a logarithm or a division that "
                "leaves its domain."
            )
        extreme = (largest > 1e30) | ((largest < 1e-30) & (largest > 0))
        if not extreme.any():
            return f.copy(), g.copy(), tolerance, np.ones(len(f))
        self.unit = np.where(extreme, np.ldexp(1.0, np.frexp(largest)[1] - 1), 1.0)
        with np.errstate(over="ignore"):  # a tolerance that is infinite in units of the row is kept at once
            return f / self.unit, g / self.unit[:, None], tolerance / self.unit, self.unit


def _backtrack_rows(evaluate, X, f, g, p, alive):
    """For each row the first of the steps 1, 1/2, 1/4, ... that descends enough; 0 where it is given up."""
    step, f_new, g_new = np.zeros(len(alive)), f[alive].copy(), g[alive].copy()
    waiting, t = np.arange(len(alive)), 1.0
    if not dasum(p.ravel()) < 1e-3 * FARTHEST:  # a row that would go so far is given up
        waiting = waiting[np.max(np.abs(p), axis=1) < 1e-3 * FARTHEST]
    slope = np.sum(p * g[alive], axis=1)
    flat = -slope <= 1e-15 * np.abs(f[alive])  # the value's last digit does not see such a step
    for trial in range(30 if len(waiting) else 0):
        rows = alive[waiting]
        value, gradient = evaluate(X[rows] + t * p[waiting], rows)
        still = value <= f[rows] + 1e-11 * np.abs(f[rows])
        flatter = np.max(np.abs(gradient), axis=1) < 0.5 * np.max(np.abs(g[rows]), axis=1)
        good = (value <= f[rows] + 1e-4 * t * slope[waiting]) | (still & flatter)  # Armijo, or rounding; not NaN
        if not dasum(value) + dasum(gradient.ravel()) < STEEPEST:  # something is very large, or no number
            good &= (np.max(np.abs(gradient), axis=1) < STEEPEST) & (value > -np.inf)
        done = waiting[good]
        step[done], f_new[done], g_new[done] = t, value[good], gradient[good]
        waiting, t = waiting[~good & ((trial < 5) | ~flat[waiting])], 0.5 * t
        if len(waiting) == 0:
            break
    return step, f_new, g_new


def _bfgs_update(H, s, y):
    """The BFGS formula for a stack of inverse Hessians; a row whose curvature is not positive keeps its own."""
    sy = np.sum(s * y, axis=1)
    safe = sy > np.maximum(1e-12 * np.linalg.norm(s, axis=1) * np.linalg.norm(y, axis=1), 1e-200)
    rho = np.where(safe, 1.0 / np.where(safe, sy, 1.0), 0.0)[:, None, None]
    V = np.eye(s.shape[1]) - rho * s[:, :, None] * y[:, None, :]
    return V @ H @ V.transpose(0, 2, 1) + rho * s[:, :, None] * s[:, None, :]
