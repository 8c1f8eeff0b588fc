"""Minimisation as a sequence one can watch: a generator that hands over one iterate after another.

Scaled conjugate gradients, written out after M. F. Møller (1993), A scaled conjugate gradient algorithm for fast
supervised learning, Neural Networks 6, 525-533, whose nine steps are named on the lines that take them; and
SciPy's L-BFGS-B behind the same interface.
"""
import queue
import threading
from contextlib import closing
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy import optimize


class Iterate(NamedTuple):
    """One accepted point of a minimisation; its arrays belong to whoever receives it."""

    x: np.ndarray               # (n,)
    value: float
    n_evaluations: int          # calls of value_and_gradient so far, rejected trials and probes included
    gradient: np.ndarray        # (n,)
    stopped: str = ""           # on the last iterate "gradient", "stalled" or "max_iter"; empty before it

    @property
    def converged(self):
        """True on a last iterate whose gradient is small enough."""
        return self.stopped == "gradient"

    @property
    def is_finite(self):
        return bool(np.isfinite(self.value) and np.all(np.isfinite(self.gradient)))


def minimise(value_and_gradient, x0, method="scg", max_iter=1000, tolerance=1e-5):
    r"""Minimise a smooth function, one iterate at a time.

    .. math:: \text{converged when} \quad \max_i |\partial f / \partial x_i| \le \texttt{tolerance}

    Parameters
    ----------
    value_and_gradient : callable
        ``value_and_gradient(x)`` returns f(x), a float, and its gradient, an ndarray (n,). It is always
        called in the thread that asks for the next iterate.
    x0 : ndarray (n,)
        The start, a flat vector: a matrix goes in as ``X.ravel()`` and comes out as ``x.reshape(N, q)``.
    method : {"scg", "l-bfgs"}
        Scaled conjugate gradients, or SciPy's L-BFGS-B.
    max_iter : int
        The most steps to accept; at most ``max_iter + 1`` iterates appear, the start being the first.
    tolerance : float
        See above; 0 asks for all that floats can give.

    Yields
    ------
    Iterate
        Values never increase. The last iterate says in ``stopped`` why it is the last: "gradient"
        (converged), "max_iter", or "stalled": no step lowers the value, because the minimum is reached to the
        precision of floats or because the gradient is wrong (see :func:`check_gradient`). A stalled run gives
        its last point twice, the second time with the evaluations spent in vain.

    Notes
    -----
    SCG costs two evaluations a step and one for each rejected trial, L-BFGS a little more than one a step;
    both need O(n) memory. A trial that is not finite is too long a step for SCG, an error for L-BFGS-B.
    Break off whenever you like: nothing is left running.

    Examples
    --------
    >>> def bowl(x):
    ...     return 0.5 * np.sum((x - 3.0) ** 2), x - 3.0
    >>> for iterate in minimise(bowl, np.zeros(2)):
    ...     print(iterate.x.round(3), round(iterate.value, 3), iterate.n_evaluations, iterate.converged)
    [0. 0.] 9.0 1 False
    [3. 3.] 0.0 3 True
    """
    if method not in METHODS:
        raise ValueError(f"There is no method {method!r}: choose one of {', '.join(map(repr, METHODS))}.")
    if not isinstance(max_iter, Integral) or max_iter < 0:
        raise ValueError(f"max_iter counts steps: it must be a whole number, 0 or more, and is {max_iter!r}.")
    if not isinstance(tolerance, Real) or not tolerance >= 0:
        raise ValueError(f"tolerance bounds the gradient: it must be 0 or more, and is {tolerance!r}.")
    return _run(METHODS[method], _Objective(value_and_gradient), _flat(x0, "x0"), max_iter, tolerance)


def _run(search, evaluate, x0, max_iter, tolerance):
    """Yield the start and what the search accepts, until one of the three reasons to stop holds."""
    iterate = evaluate(x0)
    _demand_finite(iterate, "Start elsewhere, or look for a logarithm or a division that leaves its domain.")
    with closing(search(evaluate, iterate)) as steps:
        for n_steps in range(max_iter + 1):
            if np.max(np.abs(iterate.gradient)) <= tolerance:
                iterate = iterate._replace(stopped="gradient")
            elif n_steps == max_iter:
                iterate = iterate._replace(stopped="max_iter")
            yield iterate._replace(x=iterate.x.copy(), gradient=iterate.gradient.copy())
            if iterate.stopped:
                return
            last, iterate = iterate, next(steps, None)
            if iterate is None:
                yield last._replace(n_evaluations=evaluate.n_calls, stopped="stalled")
                return


def scaled_conjugate_gradients(evaluate, start, sigma=1e-5, initial_scale=1e-10):
    r"""The points that Møller's algorithm accepts after the start, until no step lowers the value.

    Along a direction p the function is taken for a parabola of slope -mu and curvature delta,

    .. math:: f(w + \alpha p) \approx f(w) - \alpha \mu + \tfrac12 \alpha^2 \delta, \qquad
              \mu = p^\top r, \quad \delta = p^\top H p + \lambda \|p\|^2, \quad r = -\nabla f(w)

    whose minimum, alpha = mu / delta, is tried. The scale lambda does what a trust region does: it grows
    where the parabola promised too much and shrinks where it kept its word, so no line search is needed.

    Parameters
    ----------
    evaluate : callable
        From a point (n,) to its Iterate.
    start : Iterate
    sigma, initial_scale : float
        The length of the probe that measures curvature (it suits variables of order one); the first lambda.

    Notes
    -----
    Ours, not Møller's: one rejection shortens the step at most tenfold (a Delta of -8, also where the trial is
    not finite); a direction that promises less than the rounding of f is replaced by r, and we stop when r
    promises no more.
    """
    w, E, r = start.x, start.value, -start.gradient
    p, lam, lam_bar, success, n_steps = r, initial_scale, 0.0, True, 0       # step 1
    while True:
        if success:
            delta = _curvature(evaluate, w, p, r, sigma)                     # step 2
        p2, mu = p @ p, p @ r
        delta += (lam - lam_bar) * p2                                        # step 3
        if delta <= 0:                                                       # step 4
            lam_bar = 2 * (lam - delta / p2)
            delta, lam = lam * p2 - delta, lam_bar
        alpha = mu / delta                                                   # step 5
        if not E - alpha * mu / 2 < E or np.array_equal(w + alpha * p, w):
            if p is r:
                return                                                       # nothing left to gain
            p, lam, lam_bar, success = r, initial_scale, 0.0, True           # back to step 1
            continue
        trial = evaluate(w + alpha * p)
        Delta = 2 * delta * (E - trial.value) / mu**2                        # step 6: found over promised
        Delta = max(Delta, -8.0) if trial.is_finite else -8.0
        success = Delta >= 0
        if success:                                                          # step 7
            w, E, r_old, r, n_steps = trial.x, trial.value, r, -trial.gradient, n_steps + 1
            yield trial                                                      # step 9: the caller looks at r
            p = r if n_steps % len(w) == 0 else r + (r @ (r - r_old) / mu) * p
        lam_bar = 0.0 if success else lam
        if Delta >= 0.75:
            lam = max(lam / 4, 1e-15)                                        # step 7, its last part
        elif Delta < 0.25:
            lam += delta * (1 - Delta) / p2                                  # step 8


def _curvature(evaluate, w, p, r, sigma):
    """p'Hp by one more gradient, at the distance sigma along p; 0 where that gradient is not finite."""
    sigma_k = sigma / np.linalg.norm(p)
    s = (evaluate(w + sigma_k * p).gradient + r) / sigma_k
    return p @ s if np.isfinite(p @ s) else 0.0


def lbfgs(evaluate, start):
    """The points that SciPy's L-BFGS-B accepts after the start, until it can't go on.

    SciPy wants to call, and a generator to be called. So SciPy runs in a thread of its own, which only asks:
    for an evaluation, or whether to go on from an accepted point, and sleeps until the answer comes. Every
    evaluation is made on this side, so errors rise as if there were no thread. Once this generator is closed
    the answer is None, and the thread ends.
    """
    questions, answers = queue.SimpleQueue(), queue.SimpleQueue()
    worker = threading.Thread(target=_ask, args=(start.x, questions, answers), name="L-BFGS-B", daemon=True)
    worker.start()
    latest = start
    try:
        while True:
            question, content = questions.get()
            if question == "failed":
                raise content
            if question == "finished":
                return
            latest = latest if np.array_equal(content, latest.x) else evaluate(content)
            _demand_finite(latest, 'L-BFGS-B can\'t step back from there; method="scg" can. Or start closer.')
            if question == "accepted":
                yield latest
            answers.put((latest.value, latest.gradient.copy()))
    finally:
        answers.put(None)
        worker.join()


def _ask(x0, questions, answers):
    """The thread's work: SciPy's minimisation, whose every call is a question to the other side."""
    def ask(question, x):
        questions.put((question, x.copy()))
        answer = answers.get()
        if answer is None:
            raise GeneratorExit
        return answer

    endless = {"ftol": 0.0, "gtol": 0.0, "maxiter": 10**9, "maxfun": 10**9}     # the other side decides
    try:
        optimize.minimize(lambda x: ask("evaluate", x), x0, jac=True, method="L-BFGS-B", options=endless,
                          callback=lambda xk: ask("accepted", xk) and None)
        questions.put(("finished", None))
    except GeneratorExit:
        pass
    except BaseException as error:
        questions.put(("failed", error))


METHODS = {"scg": scaled_conjugate_gradients, "l-bfgs": lbfgs}


def check_gradient(value_and_gradient, x, step=6e-6):
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
    x, evaluate = _flat(x, "x"), _Objective(value_and_gradient)
    g, c = evaluate(x).gradient, np.empty(len(x))
    for i, h in enumerate(step * np.maximum(1.0, np.abs(x))):
        up, down = x.copy(), x.copy()
        up[i], down[i] = x[i] + h, x[i] - h
        c[i] = (evaluate(up).value - evaluate(down).value) / (up[i] - down[i])
    if not np.all(np.isfinite([g, c])):
        raise FloatingPointError("The gradient, or a value beside x, is not finite: move x into the domain.")
    largest = np.max(np.abs([g, c]))
    return float(np.max(np.abs(g - c)) / largest) if largest > 0 else 0.0


class _Objective:
    """value_and_gradient with its calls counted, and its answers checked and copied."""

    def __init__(self, value_and_gradient):
        self.value_and_gradient, self.n_calls = value_and_gradient, 0

    def __call__(self, x):
        self.n_calls += 1
        answer = self.value_and_gradient(x.copy())
        if not isinstance(answer, tuple) or len(answer) != 2 or np.size(answer[0]) != 1:
            raise ValueError(f"value_and_gradient must return (number, gradient) and returned {answer!r}.")
        value, gradient = float(np.squeeze(answer[0])), np.array(answer[1], dtype=float)
        if gradient.shape != x.shape:
            raise ValueError(f"The gradient has shape {gradient.shape}, but x has {x.shape}: return a flat "
                             "vector of the same length, by gradient.ravel() if it is a matrix.")
        return Iterate(x, value, self.n_calls, gradient)


def _flat(x, name):
    """A copy of x as a vector of finite floats, or an error that says what x was."""
    x = np.array(x, dtype=float)
    if x.ndim != 1 or x.size == 0:
        raise ValueError(f"{name} must be a flat vector, not empty, and has shape {x.shape}: pass "
                         f"{name}.ravel(), and reshape inside value_and_gradient.")
    if not np.all(np.isfinite(x)):
        i = np.flatnonzero(~np.isfinite(x))[0]
        raise ValueError(f"{name} must be finite, but {name}[{i}] is {x[i]}: replace it before you start.")
    return x


def _demand_finite(iterate, advice):
    if not iterate.is_finite:
        n_bad, n = np.count_nonzero(~np.isfinite(iterate.gradient)), len(iterate.x)
        raise FloatingPointError(f"At evaluation {iterate.n_evaluations} the value is {iterate.value}, and "
                                 f"{n_bad} of the gradient's {n} elements are not finite. {advice}")


def minimise_rows(value_and_gradient, X0, max_iter=100, tolerance=1e-9):
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
    tolerance : float
        A row is finished when no entry of its gradient exceeds it.

    Returns
    -------
    X : ndarray (N, q)
    values : ndarray (N,)
        No larger than at the start, but for rounding.

    Notes
    -----
    Rows know nothing of one another, so a row ends at the same place in whatever company it is minimised. A step
    that finds nothing better is halved, and its row given up after thirty halvings. Near a minimum the value is flat
    to rounding long before the place is found (an error of 1e-8 in x costs 1e-16), so there a step also counts as
    better when the value stands still and the gradient shrinks.

    Examples
    --------
    >>> targets = np.array([[1.0, 2.0], [-3.0, 0.5]])
    >>> def bowls(X, rows):
    ...     return 0.5 * np.sum((X - targets[rows]) ** 2, axis=1), X - targets[rows]
    >>> minimise_rows(bowls, np.zeros((2, 2)))[0]
    array([[ 1. ,  2. ],
           [-3. ,  0.5]])
    """
    X = np.array(X0, dtype=float)
    N, q = X.shape
    f, g = value_and_gradient(X, np.arange(N))
    H = np.tile(np.eye(q), (N, 1, 1)) / np.maximum(1.0, np.linalg.norm(g, axis=1))[:, None, None]
    alive = np.flatnonzero(np.max(np.abs(g), axis=1) > tolerance)
    for _ in range(max_iter):
        if len(alive) == 0:
            break
        p = -np.einsum("nij,nj->ni", H[alive], g[alive])
        step, f_new, g_new = _backtrack_rows(value_and_gradient, X, f, g, p, alive)
        moved = step > 0
        rows, s, y = alive[moved], (step[:, None] * p)[moved], g_new[moved] - g[alive[moved]]
        X[rows], f[rows], g[rows] = X[rows] + s, f_new[moved], g_new[moved]
        H[rows] = _bfgs_update(H[rows], s, y)
        alive = rows[np.max(np.abs(g[rows]), axis=1) > tolerance]
    return X, f


def _backtrack_rows(value_and_gradient, X, f, g, p, alive):
    """For each row the first of the steps 1, 1/2, 1/4, ... that descends enough; 0 where none of thirty does."""
    step, f_new, g_new = np.zeros(len(alive)), f[alive].copy(), g[alive].copy()
    waiting, t = np.arange(len(alive)), 1.0
    slope = np.sum(p * g[alive], axis=1)
    for _ in range(30):
        rows = alive[waiting]
        value, gradient = value_and_gradient(X[rows] + t * p[waiting], rows)
        still = value <= f[rows] + 1e-14 * np.abs(f[rows])
        flatter = np.max(np.abs(gradient), axis=1) < 0.5 * np.max(np.abs(g[rows]), axis=1)
        good = (value <= f[rows] + 1e-4 * t * slope[waiting]) | (still & flatter)     # Armijo, or rounding; not NaN
        done = waiting[good]
        step[done], f_new[done], g_new[done] = t, value[good], gradient[good]
        waiting, t = waiting[~good], 0.5 * t
        if len(waiting) == 0:
            break
    return step, f_new, g_new


def _bfgs_update(H, s, y):
    """The BFGS formula for a stack of inverse Hessians; a row whose curvature is not positive keeps its own."""
    sy = np.sum(s * y, axis=1)
    safe = sy > 1e-12 * np.linalg.norm(s, axis=1) * np.linalg.norm(y, axis=1)
    rho = np.where(safe, 1.0 / np.where(safe, sy, 1.0), 0.0)[:, None, None]
    V = np.eye(s.shape[1]) - rho * s[:, :, None] * y[:, None, :]
    return V @ H @ V.transpose(0, 2, 1) + rho * s[:, :, None] * s[:, None, :]
