"""`next_active_point`: choose the next active point by hand, against the greedy choice, the best set and chance.

The page computes with `next_active_point.js`; here the same numbers come from `gplvm_edu.ivm`, and the best of all sets
and their mean from one determinant for each set.
"""

from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from gplvm_edu import checks, ivm
from gplvm_edu.ivm.selection import best_offer
from gplvm_edu.kernels import RBF
from gplvm_edu.noise import Gaussian

from ..conditioning import number, posterior_of
from ..scene import Axis, Band, Bars, Lines, Panel, Points, Rules, Scene, Texts
from .figure import LivingFigure, living, modules

SIXTEEN = (
    (-2.8, -0.3),
    (-2.5, 0.2),
    (-2.3, -0.2),
    (-1.9, -0.8),
    (-1.4, -1.4),
    (-1.2, -1.3),
    (-0.9, -1.6),
    (-0.3, -0.6),
    (0.1, -0.1),
    (0.4, 0.7),
    (0.7, 0.8),
    (1.3, 1.6),
    (1.6, 1.3),
    (2.1, 1.4),
    (2.4, 0.7),
    (2.7, 0.8),
)
TWO = (6, 12)  # of them: good ones, but not the best
BOX = (-3.0, 3.0, -3.0, 3.0)  # of the panel with the function
WIDTHS, NOISES = (0.05, 5.0), (0.001, 1.0)  # of the sliders
GRID = np.linspace(-3, 3, 121)
FEWEST, MOST, LARGEST = 2, 20, 6  # points, and how many of them may be taken: every set is tried
RIVALS = ("you", "greedy", "best", "random")
COLOURS = ("accent", 0, 2, "quiet")
HINT = (
    "Click a point to make it active; press and slide to read first what it would take off. Keys: arrows move the "
    "ring, Enter takes the ringed point, Delete undoes, Home clears. Question: clear, and take two points. Which two "
    "tell more than greedy's two, and why does greedy not find them? In Python: ivm.entropy_reductions, ivm.ivm_select."
)


class Totals(NamedTuple):
    """Nats that 0, 1, ... points take off: greedy's points, the best set of each size, and the mean of all sets."""

    greedy: np.ndarray  # (n + 1,)
    best: np.ndarray  # (n + 1,)
    random: np.ndarray  # (n + 1,)
    best_sets: tuple  # row numbers, one tuple for each size
    order: np.ndarray  # (n,) greedy's rows


class Numbers(NamedTuple):
    """What is drawn of a state, as numbers."""

    mean: np.ndarray  # on GRID
    deviation: np.ndarray
    curve: np.ndarray  # nats that a point at each place of GRID would take off
    offers: np.ndarray  # (N,) nats; NaN where active
    star: int  # the row that offers most, -1 where all have been taken
    you: np.ndarray  # (k + 1,) nats that the first 0, 1, ... k points took off


def next_active_point(
    data=SIXTEEN,
    taken=None,
    inverse_width=0.15,
    noise_variance=0.1,
    n_active=None,
    title="Which point next?",
    name="next-point",
) -> LivingFigure:
    r"""A Gaussian process over few points: the reader takes one after another, and sees what it tells.

    .. math:: \Delta H_n = \tfrac12 \ln\Big(1 + \frac{\varsigma_n}{\sigma^2}\Big), \qquad
              H(I) = \tfrac12 \ln \big| \mathbf I + \mathbf K_{II} / \sigma^2 \big|

    Beside the reader's own total stand greedy's, that of the best set of the same size, and the mean of all sets of
    this size, which is what points drawn at random take off on average. Both come from trying every set.

    Parameters
    ----------
    data : sequence of (x, y)
        Between -3 and 3, from 2 to 20.
    taken : sequence of int, optional
        Rows that are active to begin with, in their order: two of the points that come with the figure, none of others.
    inverse_width : float
        gamma of the RBF kernel of variance 1, from 0.05 to 5.
    noise_variance : float
        sigma^2, from 0.001 to 1.
    n_active : int, optional
        How many may be taken: at most 6, which is the default where there are as many.
    title : str
    name : str
        Letters, digits and dashes: the element's id is "gplvm-living-" and this. Two figures on one page need two.

    Returns
    -------
    LivingFigure

    Notes
    -----
    Chapter 7, equations (7.5) to (7.9), for one output; D outputs lose D times as much. What the page computes agrees
    to 1e-6 with its Python twins, `choice_numbers` and `totals_of`.

    Examples
    --------
    >>> next_active_point(taken=()).scene.says.split(";")[0]
    '0 taken, 6 left: you 0.00, greedy 0.00, best 0.00, random 0.00 nats'
    """
    x, y = check_points(data)
    most = min(LARGEST, len(x))
    n_active = most if n_active is None else checks.whole_number("n_active", n_active, at_least=1, at_most=most)
    if taken is None:
        taken = TWO[:n_active] if data is SIXTEEN else ()
    taken = check_taken(taken, len(x), n_active)
    gamma = checks.number("inverse_width", inverse_width, at_least=WIDTHS[0], at_most=WIDTHS[1])
    noise = checks.number("noise_variance", noise_variance, at_least=NOISES[0], at_most=NOISES[1])
    stored = {
        "opening": {"inverse_width": gamma, "noise": noise, "taken": list(taken)},
        "x": x,
        "y": y,
        "grid": GRID,
        "most": n_active,
        "widths": list(WIDTHS),
        "noises": list(NOISES),
    }
    scene = choice_scene(x, y, gamma, noise, taken, n_active)
    return living(scene, modules("gp.js", "marks.js", "ellipse.js", "next_active_point.js"), stored, name, title, HINT)


def check_points(data):
    """x and y of the points, from the left to the right."""
    data = checks.floats("data", data)
    if data.ndim != 2 or data.shape[1] != 2 or not FEWEST <= len(data) <= MOST:
        raise ValueError(f"data must be {FEWEST} to {MOST} pairs (x, y), got an array of shape {data.shape}.")
    left, right, bottom, top = BOX
    if not np.all((data >= (left, bottom)) & (data <= (right, top))):
        raise ValueError(f"data must lie between {left:g} and {right:g} across and {bottom:g} and {top:g} up.")
    return data[:, 0], data[:, 1]


def check_taken(taken, N, n_active):
    """Row numbers of the points that are active to begin with."""
    if not hasattr(taken, "__iter__"):
        raise ValueError(f"taken must be a sequence of rows, got {checks.shown(taken)}.")
    rows = tuple(taken)
    for n in rows:
        checks.whole_number("a row in taken", n, at_least=0, at_most=N - 1)
    if len(set(rows)) < len(rows) or len(rows) > n_active:
        raise ValueError(f"taken must be at most {n_active} different rows, got {checks.shown(taken)}.")
    return tuple(map(int, rows))


# ---------------------------------------------------------------------------------------------- mathematics
def choice_numbers(x, y, inverse_width, noise, taken) -> Numbers:
    """Posterior and offers once these rows were taken."""
    kernel, rows = RBF(1.0, inverse_width), list(taken)
    variances = [posterior_of(kernel, x[rows[:k]], y[rows[:k]], x, noise)[1].diagonal() for k in range(len(rows) + 1)]
    each = [ivm.entropy_reductions(1 / (v + noise), v) for v in variances]
    offers = each[-1].copy()
    offers[rows] = np.nan
    open_ = np.where(np.isnan(offers), -np.inf, offers)
    star = -1 if len(rows) == len(x) else best_offer(open_, x[:, None])
    mean, covariance = posterior_of(kernel, x[rows], y[rows], GRID, noise)
    variance = np.maximum(covariance.diagonal(), 0.0)
    you = np.cumsum([0.0, *(gains[n] for gains, n in zip(each, rows, strict=False))])
    curve = ivm.entropy_reductions(1 / (variance + noise), variance)
    return Numbers(mean, np.sqrt(variance), curve, offers, star, you)


def totals_of(x, inverse_width, noise, n_active) -> Totals:
    """What greedy takes off, and all sets of each size."""
    return _totals(tuple(map(float, x)), float(inverse_width), float(noise), n_active)


@lru_cache(maxsize=64)
def _totals(x, inverse_width, noise, n_active):
    X, kernel = np.array(x)[:, None], RBF(1.0, inverse_width)
    *_, greedy = ivm.ivm_select(np.zeros_like(X), X, kernel, Gaussian(noise, mean=0.0), n_active)
    K, best, random, sets = kernel(X) / noise, [0.0], [0.0], [()]
    for k in range(1, n_active + 1):
        I = np.array(list(combinations(range(len(X)), k)))  # every set of k rows
        H = 0.5 * np.linalg.slogdet(np.eye(k) + K[I[:, :, None], I[:, None, :]])[1]
        best.append(H.max())
        random.append(H.mean())
        sets.append(tuple(I[H.argmax()].tolist()))
    total = np.cumsum([0.0, *greedy.gains])
    return Totals(total, np.array(best), np.array(random), tuple(sets), greedy.active)


# ---------------------------------------------------------------------------------------------- picture
def choice_scene(x, y, inverse_width, noise, taken, n_active, ringed=None) -> Scene:
    """The picture of one state; the ring is at the star unless a row is given."""
    now, totals = choice_numbers(x, y, inverse_width, noise, taken), totals_of(x, inverse_width, noise, n_active)
    over = len(taken) == n_active
    ringed = -1 if over else now.star if ringed is None else ringed
    now = now._replace(star=-1 if over else now.star)
    panels = [
        function_panel(x, y, now, taken, ringed),
        bars_panel(now, totals, ringed),
        offers_panel(x, now, noise, ringed),
    ]
    return Scene(panels, columns=3, row_height=225, says=sentence(x, now, totals, n_active, ringed))


def function_panel(x, y, now, taken, ringed):
    """The posterior of the function, given the active points only."""
    rows = list(taken)
    free = np.setdiff1d(np.arange(len(x)), rows)
    marks = [
        Band("band", GRID, now.mean - 2 * now.deviation, now.mean + 2 * now.deviation, label="two deviations"),
        Lines("mean", GRID, now.mean, colour=0, width=2.2, label="mean"),
        Points("inactive", x[free], y[free], colour="ink", hollow=True, size=7, label="not active"),
        Points("active", x[rows], y[rows], colour="accent", size=10, label="active, in order"),
        Texts("order", x[rows], y[rows] + 0.6, [str(k + 1) for k in range(len(rows))], size=12),
        ring_at("ring", ringed, x, y),
    ]
    return Panel(
        marks,
        title="what the active points know of the function",
        x=Axis("x", BOX[:2]),
        y=Axis("f(x)", BOX[2:]),
        key="function",
        listens="drag",
        span=2,
    )


def ring_at(key, row, x, y):
    """A ring around a row; none where it is -1."""
    rows = [] if row < 0 else [row]
    return Points(key, x[rows], y[rows], colour="accent", hollow=True, size=16)


def offers_panel(x, now, noise, ringed):
    """What a point at each place would take off, the star at the most, and the mean over all that are not active."""
    free = np.flatnonzero(~np.isnan(now.offers))
    stars = [] if now.star < 0 else [now.star]
    marks = [
        Lines("curve", GRID, now.curve, colour=0, width=1.6, label="at each place"),
        Rules("mean", y=means_of(now), dash=True, width=1.6, label="mean of the inactive"),
        Points("offers", x[free], now.offers[free], colour="ink", hollow=True, size=7),
        Points("star", x[stars], now.offers[stars], colour=0, marker="star", size=15, label="offers most"),
        ring_at("ring", ringed, x, now.offers),
    ]
    top = round_top(0.5 * np.log1p(1 / noise))
    title = "entropy a point would take off: ½ ln(1 + variance/noise)"
    return Panel(
        marks, title=title, x=Axis("x", BOX[:2]), y=Axis("nats", (0.0, top)), key="offers", listens="drag", span=2
    )


def means_of(now):
    """The mean over all inactive points, as the places of a rule: none where nothing is left."""
    return () if np.isnan(now.offers).all() else (float(np.nanmean(now.offers)),)


def round_top(value):
    """The next round number."""
    return float(next((v for v in (0.5, 1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30) if v >= 1.12 * value), 50))


def bars_panel(now, totals, ringed):
    """Four totals of as many points, one step on another, and what the ringed one would add."""
    k = len(now.you) - 1
    rows = (now.you, totals.greedy, totals.best, totals.random)
    top, place = round_top(totals.best[-1]), np.arange(4.0)
    marks = []
    for column, (name, total) in enumerate(zip(RIVALS, rows, strict=True)):
        at, steps, base = np.full(k, float(column)), np.diff(total[: k + 1]), total[:k]
        marks.append(Bars(name, at, steps, base=base, colour=COLOURS[column], width=0.7, opacity=0.75))
        marks.append(Bars(f"{name} steps", at, steps, base=base, colour="ink", width=0.7, outline=True))
    offer = [] if ringed < 0 else [now.offers[ringed]]
    marks += [
        Bars(
            "offer",
            np.zeros(len(offer)),
            offer,
            base=[now.you[-1]] * len(offer),
            colour="accent",
            width=0.7,
            opacity=0.3,
        ),
        Texts("numbers", place, heights(rows, offer, k) + 0.045 * top, figures(rows, offer, k)),
    ]
    across = Axis("", (-0.8, 3.6), ticks=tuple(range(4)), tick_labels=RIVALS)
    return Panel(marks, title=title_of(k), x=across, y=Axis("nats", (0.0, top)), key="totals", rows=2)


def heights(rows, offer, k):
    """Where the numbers stand: above the bars, and above what the ringed point would add."""
    tops = np.array([total[k] for total in rows])
    tops[0] += sum(offer)
    return tops


def figures(rows, offer, k):
    """The totals; the reader's with what the ringed point would add."""
    return [" + ".join(map(number, [rows[0][k], *offer])), *(number(total[k]) for total in rows[1:])]


def title_of(k):
    """Of the bars."""
    return "no point is active yet" if k == 0 else f"taken off by {k} point{'' if k == 1 else 's'}"


def sentence(x, now, totals, n_active, ringed):
    """The state in words."""
    k = len(now.you) - 1
    rows = zip(RIVALS, (now.you[k], totals.greedy[k], totals.best[k], totals.random[k]), strict=True)
    words = f"{k} taken, {n_active - k} left: {', '.join(f'{n} {number(v)}' for n, v in rows)} nats"
    if ringed < 0:
        return words
    offers = f"x = {number(x[ringed])} offers {number(now.offers[ringed])}"
    return f"{words}; {offers}, the star {number(np.nanmax(now.offers))}, mean {number(np.nanmean(now.offers))}"
