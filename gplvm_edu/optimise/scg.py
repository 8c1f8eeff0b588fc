"""Scaled conjugate gradients: the nine steps of Møller are named on the lines that take them.

M. F. Møller (1993), A scaled conjugate gradient algorithm for fast supervised learning, Neural Networks 6, 525-533.
"""

from collections.abc import Generator

import numpy as np

from .iterate import Iterate


def scaled_conjugate_gradients(evaluate, start, distance=1e-5, initial_scale=1e-10) -> Generator[Iterate, None, None]:
    r"""The points that Møller's algorithm accepts after the start, until no step lowers the value.

    Along a direction p the function is taken for a parabola of slope -mu and curvature delta,

    .. math:: f(w + \alpha p) \approx f(w) - \alpha \mu + \tfrac12 \alpha^2 \delta, \qquad
              \mu = p^\top r, \quad \delta = p^\top H p + \lambda \|p\|^2, \quad r = -\nabla f(w)

    whose minimum, alpha = mu / delta, is tried. The scale lambda does what a trust region does: it grows
    where the parabola promised too much and shrinks where its promise was kept, so no line search is needed.
    Chapter 5, equations (5.15) to (5.21).

    Parameters
    ----------
    evaluate : callable
        From a point (n,) to its Iterate.
    start : Iterate
    distance, initial_scale : float
        How far along p the curvature is measured (it suits variables of order one); the first lambda.

    Notes
    -----
    Ours, not Møller's: one rejection shortens the step at most tenfold (a Delta of -8, also where the trial is
    not finite); a direction that promises less than the rounding of f is replaced by r, and we stop when r
    promises no more.
    """
    w, E, r = start.x, start.value, -start.gradient
    p, lam, included, success, n_steps = r, initial_scale, 0.0, True, 0  # step 1
    while True:
        if success:
            delta = curvature(evaluate, w, p, r, distance)  # step 2
        p2, mu = p @ p, p @ r
        delta += (lam - included) * p2  # (5.16), step 3
        if delta <= 0:  # step 4
            delta, lam = lam * p2 - delta, 2 * (lam - delta / p2)  # (5.18)
        alpha = mu / delta  # (5.17), step 5
        if not E - alpha * mu / 2 < E or np.array_equal(w + alpha * p, w):
            if p is r:
                return  # nothing left to gain
            p, lam, included, success = r, initial_scale, 0.0, True  # back to step 1
            continue
        trial = evaluate(w + alpha * p)
        Delta = 2 * delta * (E - trial.value) / mu**2  # (5.19), step 6: found over promised
        Delta = max(Delta, -8.0) if trial.is_finite else -8.0
        success = Delta >= 0
        if success:  # step 7
            w, E, r_old, r, n_steps = trial.x, trial.value, r, -trial.gradient, n_steps + 1
            yield trial  # step 9: the caller looks at r
            beta = r @ (r - r_old) / mu  # (5.21)
            p = r + beta * p
            if n_steps % len(w) == 0 or not p.any():
                p = r  # afresh after n steps, or where both parts cancel
        included = 0.0 if success else lam  # the part of lambda that delta contains already
        if Delta >= 0.75:
            lam = max(lam / 4, 1e-15)  # step 7, its last part
        elif Delta < 0.25:
            lam += delta * (1 - Delta) / p2  # (5.20), step 8


def curvature(evaluate, w, p, r, distance) -> float:
    """p'Hp by one more gradient, so far along p; 0 where that gradient is not finite."""
    epsilon = distance / np.linalg.norm(p)
    Hp = (evaluate(w + epsilon * p).gradient + r) / epsilon  # (5.15)
    return p @ Hp if np.isfinite(p @ Hp) else 0.0
