"""`site_by_hand`: drag what is known of f before an answer comes, and watch what the answer makes of it.

The page computes with `site_by_hand.js`; here the same numbers come from the same sums over a grid, which the tests
compare with `gplvm_edu.noise` and with scipy's quadrature.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, log_ndtr, ndtr

from gplvm_edu import checks

from ..conditioning import number
from ..scene import Axis, Band, Cursor, Image, Lines, Panel, Points, Scene
from .figure import LivingFigure, living, modules

CUTS = (-1.0, 1.0)  # of the three grades
TAIL = 0.5  # the scale of the heavy tails
ANSWERS = {
    "Gaussian, y = 1": ("gaussian", 1.0),
    "probit, y = +1": ("probit", 1.0),
    "probit, y = \N{MINUS SIGN}1": ("probit", -1.0),
    "ordinal, lowest of 3": ("ordinal", 0.0),
    "ordinal, middle of 3": ("ordinal", 1.0),
    "ordinal, highest of 3": ("ordinal", 2.0),
    "count, y = 0": ("count", 0.0),
    "count, y = 3": ("count", 3.0),
    "count, y = 10": ("count", 10.0),
    "heavy tails, y = 3": ("heavy", 3.0),
}
MEANS, DEVIATIONS = (-4.0, 4.0), (0.3, 2.5)  # where the hand may take the cavity
SHOWN = (-6.0, 6.0)  # of f
STEP, FARTHEST = 0.05, 25.0  # of the sums over f
CURVE = np.linspace(*SHOWN, 241)
ACROSS, UP = 33, 23  # of the map: places each way
NU, BETA = "\N{GREEK SMALL LETTER NU}", "\N{GREEK SMALL LETTER BETA}"
FLAT = 5e-3  # a site with less precision, which is 0.00 in two digits, is called flat
HINT = (
    "Drag the cross on the map, or the bell: to the side for its mean, upwards for less variance (keys: arrows). "
    "Question: for which answers are there places where the site takes off hardly any variance, and for which one does "
    "the variance grow? In Python: noise.match_moments, noise.sites."
)


class Site(NamedTuple):
    """What an answer does to N(mean, variance): equations (8.4) to (8.8)."""

    log_partition: float
    mean: float  # of the tilted density, and of the Gaussian that is matched to it
    variance: float
    g: float
    nu: float
    precision: float  # beta, of the site
    site_mean: float  # NaN where the precision is 0


def site_by_hand(
    answer="probit, y = +1", mean=-1.0, variance=2.0, title="One answer, one site", name="site-by-hand"
) -> LivingFigure:
    r"""One observation under assumed density filtering: cavity, likelihood, tilted density, matched Gaussian, site.

    .. math:: \hat p(f) = \tfrac1Z\, p(y \mid f)\, N(f \mid \bar f, \varsigma), \qquad
              \beta = \frac{\nu}{1 - \nu\varsigma}

    The site is drawn with the constant that gives it the mass Z under the cavity, so that it stands in for the
    likelihood there. Under heavy tails its precision may be negative: the variance grows. (`noise.sites` then gives 0.)

    Parameters
    ----------
    answer : str
        A name of the menu: "Gaussian, y = 1" (of variance 1), "probit, y = +1", "ordinal, middle of 3" (or "lowest",
        "highest"; cuts at -1 and 1), "count, y = 0" (or 3, 10; Poisson with the mean exp f), "heavy tails, y = 3"
        (Cauchy with the scale 1/2), and the other label.
    mean, variance : float
        Of the cavity: from -4 to 4, and from 0.09 to 6.25.
    title : str
    name : str
        Letters, digits and dashes: the element's id is "gplvm-living-" and this. Two figures on one page need two.

    Returns
    -------
    LivingFigure

    Notes
    -----
    Chapter 8, equations (8.3) to (8.8). What the page computes agrees to 1e-6 with its Python twin, `site_numbers`.

    Examples
    --------
    >>> figure = site_by_hand("Gaussian, y = 1", 0.0, 1.0)                      # an observation that is its own site
    >>> figure.scene.panel("site").title
    'site: mean 1.00, precision β = 1.00'
    """
    checks.choice("answer", answer, tuple(ANSWERS))
    mean = checks.number("mean", mean, at_least=MEANS[0], at_most=MEANS[1])
    least, most = np.round(np.square(DEVIATIONS), 12)
    variance = checks.number("variance", variance, at_least=least, at_most=most)
    stored = {
        "opening": {"answer": answer, "mean": mean, "deviation": float(np.sqrt(variance))},
        "answers": {words: list(what) for words, what in ANSWERS.items()},
        "cuts": list(CUTS),
        "tail": TAIL,
        "means": list(MEANS),
        "deviations": list(DEVIATIONS),
        "curve": CURVE,
        "step": STEP,
        "farthest": FARTHEST,
        "places": [ACROSS, UP],
        "flat": FLAT,
    }
    scene = site_scene(answer, mean, variance)
    return living(scene, modules("marks.js", "ellipse.js", "site_by_hand.js"), stored, name, title, HINT)


# ---------------------------------------------------------------------------------------------- mathematics
def log_likelihood(answer, f):
    """ln p(y | f) of an answer of the menu, elementwise."""
    kind, y = ANSWERS[answer]
    if kind == "gaussian":
        return -0.5 * (f - y) ** 2 - 0.5 * np.log(2 * np.pi)
    if kind == "probit":
        return log_ndtr(y * f)
    if kind == "ordinal":
        edges = (-np.inf, *CUTS, np.inf)
        low, high = edges[int(y)] - f, edges[int(y) + 1] - f
        low, high = np.where(f < np.mean(CUTS), -high, low), np.where(f < np.mean(CUTS), -low, high)  # the lower tail
        return np.log(np.maximum(ndtr(high) - ndtr(low), 1e-300))
    if kind == "count":
        return y * f - np.exp(f) - gammaln(y + 1)
    return -np.log(np.pi * TAIL * (1 + ((f - y) / TAIL) ** 2))


@lru_cache(maxsize=16)
def grid_likelihood(answer):
    """Places of the sums over f, and ln p(y | f) there."""
    n = round(FARTHEST / STEP)
    f = STEP * np.arange(-n, n + 1)
    return f, log_likelihood(answer, f)


def tilted_moments(answer, mean, variance):
    """ln Z, mean and variance of the tilted density, for arrays of cavities (...,): sums over a grid."""
    f, log_p = grid_likelihood(answer)
    mean, variance = np.asarray(mean, float)[..., None], np.asarray(variance, float)[..., None]
    log_w = log_p - 0.5 * (f - mean) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance)
    top = log_w.max(axis=-1, keepdims=True)
    w = np.exp(log_w - top)
    total = w.sum(axis=-1)
    new = (w @ f) / total
    spread = np.sum(w * (f - new[..., None]) ** 2, axis=-1) / total
    return np.log(STEP * total) + top[..., 0], new, spread  # (8.4)


def site_numbers(answer, mean, variance) -> Site:
    """The moments of the tilted density, and g, nu and the site that follow from them."""
    log_Z, new, spread = (float(v) for v in tilted_moments(answer, mean, variance))
    g = (new - mean) / variance  # (8.6)
    nu = (1 - spread / variance) / variance  # (8.6)
    beta = nu / (1 - nu * variance)  # (8.7)
    m = g / nu + mean if abs(beta) >= FLAT else np.nan  # (8.8)
    return Site(log_Z, new, spread, g, nu, beta, m)


@lru_cache(maxsize=16)
def share_map(answer):
    """The share nu * variance that the answer takes off, (UP, ACROSS): rows of one deviation, columns of one mean."""
    means, deviations = np.linspace(*MEANS, ACROSS), np.linspace(*DEVIATIONS, UP)
    variance = np.broadcast_to(deviations[:, None] ** 2, (UP, ACROSS))
    return 1 - tilted_moments(answer, np.broadcast_to(means, (UP, ACROSS)), variance)[2] / variance


def normal(f, mean, variance):
    """The density of a Gaussian."""
    return np.exp(-0.5 * (f - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance)


# ---------------------------------------------------------------------------------------------- picture
def site_scene(answer, mean, variance) -> Scene:
    """The picture of one state."""
    now = site_numbers(answer, mean, variance)
    panels = [
        site_panel(answer, mean, variance, now),
        map_panel(answer, mean, variance),
        bells_panel(answer, mean, variance, now),
    ]
    return Scene(panels, columns=12, row_height=230, says=sentence(mean, variance, now))


def site_panel(answer, mean, variance, now):
    """The likelihood, and the site that stands in for it."""
    likelihood = np.exp(log_likelihood(answer, CURVE))
    top = 1.3 * likelihood.max()
    marks = [
        Lines("likelihood", CURVE, likelihood, colour=3, width=2.4, label="likelihood p(y|f)"),
        Lines(
            "site", CURVE, site_curve(mean, variance, now, top), colour="accent", dash=True, label="site, same mass Z"
        ),
    ]
    return Panel(marks, title=site_title(now), x=Axis("", SHOWN), y=Axis("p(y|f)", (0.0, top)), key="site", span=7)


def site_curve(mean, variance, now, top):
    """Z N(f | new) / N(f | cavity), a gap where it is far above the panel."""
    log_site = (
        now.log_partition
        + 0.5 * np.log(variance / now.variance)
        + 0.5 * (CURVE - mean) ** 2 / variance
        - 0.5 * (CURVE - now.mean) ** 2 / now.variance
    )
    return np.where(log_site < np.log(3 * top), np.exp(np.minimum(log_site, 50.0)), np.nan)


def site_title(now):
    """Mean and precision of the site, in words."""
    if np.isnan(now.site_mean):
        return f"site: flat, precision {BETA} = 0.00"
    what = "no Gaussian" if now.precision < 0 else f"mean {number(now.site_mean)}"
    return f"site: {what}, precision {BETA} = {number(now.precision)}"


def bells_panel(answer, mean, variance, now):
    """What is known of f before the answer and after it: the density, and the Gaussian that is kept."""
    log_tilted = log_likelihood(answer, CURVE) + np.log(normal(CURVE, mean, variance)) - now.log_partition
    tilted, cavity, matched = np.exp(log_tilted), normal(CURVE, mean, variance), normal(CURVE, now.mean, now.variance)
    top = round_top(max(tilted.max(), matched.max(), cavity.max()))
    peak = 1 / np.sqrt(2 * np.pi * variance)
    marks = [
        Band("tilted", CURVE, np.zeros_like(CURVE), tilted, label="tilted"),
        Lines("cavity", CURVE, cavity, colour=0, width=2.0, label="before: cavity"),
        Lines("matched", CURVE, matched, colour=2, width=2.2, dash=True, label="after: matched"),
        Points("peak", [mean], [peak], colour=0, size=10),
    ]
    return Panel(
        marks,
        title=f"mean {number(mean)} → {number(now.mean)}, variance {number(variance)} → {number(now.variance)}",
        x=Axis("f", SHOWN),
        y=Axis("density", (0.0, top)),
        key="bells",
        listens="drag",
        span=7,
    )


def round_top(value):
    """The next round number."""
    return float(next((v for v in (0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0) if v >= 1.08 * value), 10.0))


def map_panel(answer, mean, variance):
    """The share of the variance that the answer takes off, for each cavity, and where we are."""
    steps = np.ptp(MEANS) / (ACROSS - 1), np.ptp(DEVIATIONS) / (UP - 1)
    extent = (
        MEANS[0] - steps[0] / 2,
        MEANS[1] + steps[0] / 2,
        DEVIATIONS[0] - steps[1] / 2,
        DEVIATIONS[1] + steps[1] / 2,
    )
    shares = share_map(answer)
    shades = Image(
        "share",
        shares,
        extent=extent,
        low=0.0,
        high=1.0,
        ramp="scale",
        smooth=True,
        from_below=True,
        bar=f"{NU}ς (yellow: much)",
    )
    rows, columns = np.nonzero(shares[::2, ::2] < 0)
    grows = MEANS[0] + 2 * steps[0] * columns, DEVIATIONS[0] + 2 * steps[1] * rows
    return Panel(
        [
            shades,
            Points("grows", *grows, colour=4, marker="plus", size=7, label="variance grows" if len(rows) else ""),
            Cursor("place", mean, float(np.sqrt(variance))),
        ],
        title=f"share of the variance taken off, {NU}ς",
        x=Axis("mean of the cavity", MEANS),
        y=Axis("its deviation √ς", DEVIATIONS),
        key="map",
        listens="drag",
        span=5,
        rows=2,
    )


def sentence(mean, variance, now):
    """The state in words."""
    rest = f"ln Z {number(now.log_partition)}, g {number(now.g)}, {NU} {number(now.nu)}, {BETA} {number(now.precision)}"
    return f"mean {number(mean)} to {number(now.mean)}, variance {number(variance)} to {number(now.variance)}; {rest}"
