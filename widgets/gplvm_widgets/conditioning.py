"""What the explorer of chapter 2 and its living figure share: data under the reader's hand, pictures of the evidence.

Numbers come from `gplvm_edu.kernels`; here an empty data set has its place too: no datum leaves the prior.
"""

import numpy as np

from gplvm_edu.kernels import evidence_surface, evidence_terms, gp_posterior

from .scene import Axis, Bars, Cursor, Image, Lines, Panel, Points, Rules, Texts

FIVE = ((-2.2, -0.9), (-1.3, 0.3), (-0.4, 0.9), (0.3, 0.2), (1.9, -0.6))
TWO_OPTIMA = (
    (-2.5, -0.8),
    (-2.3, -0.5),
    (-2.2, -0.8),
    (-1.9, -1.3),
    (-1.7, -1.2),
    (-1.5, -0.6),
    (-1.3, -0.1),
    (-0.9, -0.4),
    (0.2, 1.2),
    (1.9, 2.1),
)  # a trend with much noise, or waves with little: nearly equally probable
MOST = 40  # data
REACH = 0.035  # a click nearer than this share of the panel's height means the datum
ACROSS = 1.6  # the panel is wider than high: so much less counts a share of its width
N_SIDE = 25  # of the surface: places each way
DEPTH = 6.0  # nats below the highest place: what is lower has the darkest shade
DARK = "#111111"  # on the brightest shades of a surface, whether the page is light or dark
MINUS = "\N{MINUS SIGN}"
INVERSE_WIDTH = "inverse width \N{GREEK SMALL LETTER GAMMA}"
TERMS = (("fit", f"{MINUS}½ y'K⁻¹y"), ("volume", f"{MINUS}½ ln |K|"), ("constant", f"{MINUS}½ n ln 2π"), ("sum", ""))


def posterior_of(kernel, x, y, grid, noise):
    """Mean (M,) and covariance (M, M) of the function at the places `grid`, given data at x; the prior without any."""
    if len(x) == 0:
        return np.zeros(len(grid)), kernel(grid[:, None])
    return gp_posterior(kernel, x[:, None], y, grid[:, None], noise, full_covariance=True)


def terms_of(kernel, x, y, noise):
    """Fit, volume and constant of equation (2.10), and their sum, (4,); all are zero without data."""
    if len(x) == 0:
        return np.zeros(4)
    terms = evidence_terms(kernel, x[:, None], y, noise)
    return np.array([*terms, terms.total])


def surface_of(kernels, x, y, noises):
    """The log evidence, one row for each noise variance and one column for each kernel; zeros without data."""
    if len(x) == 0:
        return np.zeros((len(noises), len(kernels)))
    return evidence_surface(kernels, x[:, None], y, noises).T


def places(low, high):
    """Equally spaced powers of ten from 10^low to 10^high: the columns or the rows of a surface."""
    return 10.0 ** np.linspace(low, high, N_SIDE)


def summits(surface):
    """(row, column) of each place above its eight neighbours, none at the border, moved by a parabola each way; (n, 2).

    Examples
    --------
    >>> hill = -((np.arange(9.0)[:, None] - 3.2) ** 2) - (np.arange(9.0) - 5.4) ** 2
    >>> summits(hill).round(6)
    array([[3.2, 5.4]])
    """
    here = surface[1:-1, 1:-1]
    above = np.ones(here.shape, dtype=bool)
    for i, j in np.ndindex(3, 3):
        if (i, j) != (1, 1):
            above &= here > surface[i : i + here.shape[0], j : j + here.shape[1]]
    found = []
    for i, j in np.argwhere(above) + 1:
        up, across = surface[i - 1 : i + 2, j], surface[i, j - 1 : j + 2]
        found.append((i + _summit(*up), j + _summit(*across)))
    return np.array(found).reshape(-1, 2)


def _summit(before, here, after):
    """Where the parabola through three neighbours is highest, from the middle one."""
    return 0.5 * (before - after) / (before - 2 * here + after)


def nearest(data, x, y, box):
    """The number of the datum that a pointer at (x, y) means; None where it means none."""
    left, right, bottom, top = box
    far = [np.hypot(ACROSS * (u - x) / (right - left), (v - y) / (top - bottom)) for u, v in data]
    return int(np.argmin(far)) if far and min(far) < REACH else None


def evidence_panel(terms, **panel):
    """The terms as bars from zero, with their numbers."""
    low, high = round_limits(terms)
    room, place = 0.055 * (high - low), np.arange(len(terms))
    marks = [Rules("zero", y=[0.0])]
    for k, ((name, formula), value) in enumerate(zip(TERMS, terms, strict=True)):
        colour = (0, 4, "quiet", "ink")[k]
        marks.append(Bars(f"term {k}", [k], [value], colour=colour, width=0.7, label=f"{name} {formula}".strip()))
    ends = terms + np.where(terms < 0, -room, room)
    marks.append(Texts("numbers", place, ends, [number(v) for v in terms]))
    across = Axis("", (-0.6, 3.6), ticks=tuple(range(4)), tick_labels=tuple(name for name, _ in TERMS))
    return Panel(marks, title="log evidence, term by term", x=across, y=Axis("", (low, high)), key="evidence", **panel)


def surface_panel(surface, across, up, place, name, path=None, **panel):
    """The log evidence over two settings, its summits, and where we are.

    Parameters
    ----------
    surface : ndarray (N_SIDE, N_SIDE)
        Rows from the lowest noise upwards.
    across, up : (low, high)
        Powers of ten at the first and the last place.
    place : (float, float)
        The present setting and noise variance.
    name : str
        Of the setting across.
    path : ndarray (n, 2), optional
        Settings and noise variances that led here.
    **panel
        Further fields of the panel.
    """
    steps = [(high - low) / (N_SIDE - 1) for low, high in (across, up)]
    extent = [
        end for (low, high), step in zip((across, up), steps, strict=True) for end in (low - step / 2, high + step / 2)
    ]
    top = surface.max()
    found = summits(surface)
    marks = [
        Image(
            "surface",
            surface,
            extent=extent,
            low=top - DEPTH,
            high=top,
            ramp="scale",
            smooth=True,
            from_below=True,
            bar="log evidence",
        ),
        *([] if path is None else [Lines("path", *np.log10(path).T, colour=DARK, width=2)]),
        Points(
            "summits",
            across[0] + steps[0] * found[:, 1],
            up[0] + steps[1] * found[:, 0],
            colour=DARK,
            marker="star",
            size=11,
        ),
        Cursor("place", *np.log10(place), colour="accent"),
    ]
    x, y = (Axis(words, span, **powers(*span)) for words, span in ((name, across), ("noise variance σ²", up)))
    return Panel(marks, title="log evidence, ★ maxima", x=x, y=y, key="surface", listens="drag", **panel)


def powers(low, high):
    """Ticks at whole powers of ten, and their names."""
    ticks = tuple(range(int(np.ceil(low)), int(np.floor(high)) + 1))
    return {"ticks": ticks, "tick_labels": tuple(f"{10.0**k:g}" for k in ticks)}


def round_limits(terms):
    """Limits that change seldom: from a round number to a round number."""

    def up(value):
        steps = (5, 10, 20, 50, 100, 200, 500)
        return 0 if value <= 0 else next((r for r in steps if r >= value), 1000 * np.ceil(value / 1000))

    return -float(max(up(-1.15 * min(terms)), 5)), float(max(up(1.15 * max(terms)), 5))


def number(value):
    """Two digits after the point, with a proper minus."""
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", MINUS)
