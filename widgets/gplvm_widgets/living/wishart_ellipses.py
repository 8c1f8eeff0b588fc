"""`wishart_ellipses`: draws of a Wishart matrix as ellipses, with the degrees of freedom under the reader's hand.

The page computes with `wishart_ellipses.js`; here the same numbers come from numpy, for the opening and for the tests.
"""

import base64

import numpy as np

from gplvm_edu import checks

from ..scene import Axis, Ellipses, Lines, Panel, Points, Rules, Scene
from .figure import LivingFigure, living, modules

MOST = 200  # features
N_DRAWS = 40
COUNTS = (*range(1, 11), 12, 14, 16, 18, 20, 25, 30, 35, 40, 50, 60, 70, 80, 100, 120, 140, 160, 180, MOST)
STEP = 2.0**-12  # of the stored normals, which are 16-bit whole numbers of it
LEAST, LARGEST = 0.2, 2.0  # half axes of the ellipse of Sigma
SIDE = 3.0  # half the side of the panel with the ellipses
ARROW = 0.05  # how far an arrow key moves the end of an axis
OPENING = ((1.8, 0.8), (0.8, 0.9))
TEXT = (
    "Drag the two dots to change Σ, and the slider or a place on the curve to change the number of features r. "
    "Question: how many times as many features does it take to halve the distance between the draws and Σ? "
    "In Python: wishart.sample_wishart."
)


def wishart_ellipses(
    scale=OPENING, degrees_of_freedom=4, title="A kernel matrix of r features", name="wishart-ellipses"
) -> LivingFigure:
    """Forty draws of a 2 x 2 Wishart matrix over its degrees of freedom, as ellipses around that of the scale matrix.

    Parameters
    ----------
    scale : array (2, 2)
        Sigma to begin with, positive definite; the half axes of its ellipse, the roots of its eigenvalues, from 0.2
        to 2.
    degrees_of_freedom : int
        r to begin with, from 1 to 200.
    title : str
    name : str
        Letters, digits and dashes: the element's id is "gplvm-living-" and this.

    Returns
    -------
    LivingFigure

    Notes
    -----
    Chapter 4, equation (4.3): A is the sum of g_j g_j' over the first r of 200 stored columns, so that a draw moves no
    more than a new column makes it. Its ellipse is the image of the unit circle under a root of A / r. The entry a_nm
    has the mean r Sigma_nm and the variance r (Sigma_nn Sigma_mm + Sigma_nm^2); added up over all entries, the mean
    square of the distance |A / r - Sigma| / |Sigma| is (1 + (tr Sigma)^2 / |Sigma|^2) / r.

    Examples
    --------
    >>> figure = wishart_ellipses(degrees_of_freedom=1)
    >>> figure.scene.says
    'r = 1: the draws are 1.52 |Σ| away from Σ, in theory 1.54 |Σ|. Every draw is a line.'
    """
    long, short, turn = half_axes(scale)
    r = checks.whole_number("degrees_of_freedom", degrees_of_freedom, at_most=MOST)
    stored = {
        "opening": {"long": long, "short": short, "turn": turn, "r": r, "draw": 0},
        "normals": stored_normals(),
        "counts": list(COUNTS),
        "most": MOST,
        "least": LEAST,
        "largest": LARGEST,
        "step": ARROW,
    }
    scene = ellipses_scene(axes_of(long, short, turn), r)
    return living(scene, modules("marks.js", "wishart_ellipses.js"), stored, name, title, TEXT)


def half_axes(scale):
    """Lengths of the two half axes of the ellipse of Sigma, and the angle of the longer one."""
    Sigma = checks.symmetric(scale, "scale")
    if Sigma.shape != (2, 2):
        raise ValueError(f"scale must be a 2 x 2 matrix, one row for each of two points, got the shape {Sigma.shape}.")
    (a, b), (_, c) = Sigma
    middle, apart = (a + c) / 2, np.hypot((a - c) / 2, b)
    if not LEAST**2 <= middle - apart <= middle + apart <= LARGEST**2 + 1e-12:
        raise ValueError(
            f"the eigenvalues of scale must lie between {LEAST**2:g} and {LARGEST**2:g}, so that its ellipse can be "
            f"seen; got {middle - apart:.3g} and {middle + apart:.3g}."
        )
    return float(np.sqrt(middle + apart)), float(np.sqrt(middle - apart)), float(np.arctan2(2 * b, a - c) / 2)


def axes_of(long, short, turn):
    """The half axes as columns, (2, 2): a root of Sigma."""
    c, s = np.cos(turn), np.sin(turn)
    return np.array([[long * c, -short * s], [long * s, short * c]])


def normals():
    """The standard normals of all draws, (n, 200, 2), as multiples of 1 / 4096; the same every time."""
    return STEP * np.round(np.random.default_rng(4).standard_normal((N_DRAWS, MOST, 2)) / STEP)


def stored_normals():
    """The normals as `unpack` of scene.js takes them, 16 bits each, exactly."""
    codes = np.round((normals() + 8) / STEP).astype("<u2")
    return {"codes": base64.b64encode(codes.tobytes()).decode("ascii"), "bits": 16, "low": -8.0, "step": STEP}


def draws(axes, r):
    """A / r for every draw, (n, 2, 2)."""
    F = axes @ normals()[:, :r].transpose(0, 2, 1)  # (4.2)  (n, 2, r)
    return F @ F.transpose(0, 2, 1) / r  # (4.3)


def spread_seen(axes, r):
    """Root of the mean square of |A / r - Sigma| / |Sigma| over the draws."""
    Sigma = axes @ axes.T
    return float(np.sqrt(np.mean(np.sum((draws(axes, r) - Sigma) ** 2, axis=(1, 2))) / np.sum(Sigma**2)))


def spread_expected(axes, r):
    """The same, expected: from the variances r (Sigma_nn Sigma_mm + Sigma_nm^2) of the entries of A."""
    Sigma = axes @ axes.T
    variances = (np.outer(np.diag(Sigma), np.diag(Sigma)) + Sigma**2) / r
    return float(np.sqrt(np.sum(variances) / np.sum(Sigma**2)))


def factors_of(A, r):
    """Lower triangular roots of (n, 2, 2) matrices; with one feature a root has one column only."""
    first = np.sqrt(A[:, 0, 0])
    second = A[:, 0, 1] / first
    third = np.sqrt(np.maximum(A[:, 1, 1] - second**2, 0.0)) if r > 1 else 0 * first
    return np.stack([first, 0 * first, second, third], axis=1).reshape(-1, 2, 2)


def ellipses_scene(axes, r):
    """The picture of one state; the first draw is the one with its features."""
    factors, features = factors_of(draws(axes, r), r), axes @ normals()[0, :r].T
    zeros, side = np.zeros(len(factors)), (-SIDE, SIDE)
    plane = Panel(
        [
            Ellipses("draws", zeros, zeros, factors, opacity=0.55, label=f"{N_DRAWS} draws of A/r"),
            Points("features", *features, colour=1, size=5, opacity=0.7, label="the r features of one"),
            Ellipses("draw", [0.0], [0.0], factors[:1], colour=1, width=2.6),
            Ellipses("scale", [0.0], [0.0], axes[None], colour="ink", width=2.6, label="Σ"),
            Points("ends", *axes, colour="ink", size=10),
            Points("ring", *axes[:, :1], colour="accent", hollow=True, size=18),
        ],
        title=f"draws of A/r, r = {r}",
        x=Axis("feature at point 1", side),
        y=Axis("feature at point 2", side),
        equal=True,
        key="ellipses",
        listens="drag",
    )
    counts = np.arange(1, MOST + 1)
    seen, expected = (np.array([spread(axes, k) for k in counts]) for spread in (spread_seen, spread_expected))
    curve = Panel(
        [
            Lines("theory", counts, expected, colour="ink", dash=True, label="theory"),
            Lines("seen", counts, seen, width=2.2, label=f"{N_DRAWS} draws"),
            Rules("now", x=(float(r),), colour="accent"),
            Points("point", [r], [seen[r - 1]], colour="accent", size=10),
        ],
        title="distance of the draws to Σ",
        x=Axis("features r", (0.9, 1.1 * MOST), log=True, ticks=(1, 2, 5, 10, 20, 50, 100, 200)),
        y=Axis("|A/r \N{MINUS SIGN} Σ| / |Σ|", (0.05, 3.0), log=True, ticks=(0.05, 0.1, 0.2, 0.5, 1, 2)),
        key="spread",
        listens="drag",
    )
    return Scene([plane, curve], row_height=380, says=sentence(r, seen[r - 1], expected[r - 1]))


def sentence(r, seen, expected):
    """The two distances, in words."""
    line = " Every draw is a line." if r == 1 else ""
    return f"r = {r}: the draws are {seen:.2f} |Σ| away from Σ, in theory {expected:.2f} |Σ|.{line}"
