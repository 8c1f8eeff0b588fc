"""`two_divergences`: drag one ellipse over another, and watch both divergences between two Gaussians, and both minima.

The page computes with `two_divergences.js`; here the same numbers come from `gplvm_edu.unify`.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from gplvm_edu import checks, unify

from ..drawing import ring
from ..scene import Axis, Bars, Lines, Panel, Points, Rules, Scene, Texts
from .ellipse import covariance_of, directions, fixed, lines_between, outline
from .figure import LivingFigure, living, modules

FAMILIES = ("any ellipse", "axes upright", "a circle")
SHORTEST, LONGEST = 0.2, 2.8  # deviations along an axis
REACH = 3.4  # of the panel: the name of the longest axis fits in
ENDS = ("K", "K", "S", "S")
FORWARD, REVERSED = "KL(S‖K)", "KL(K‖S)"
N_CURVE = 161
MINUS = "\N{MINUS SIGN}"
HINT = (
    "Drag the ends of the axes of K, or of S; let K be any ellipse, one with upright axes, or a circle. "
    "Keys: arrows move the ringed end, Space takes the next. "
    "Question: make S longer, then thinner. Which of the two best circles follows its long axis, which its short one? "
    "In Python: unify.gaussian_kl."
)


class Ellipse(NamedTuple):
    """A covariance as the reader holds it: the angle of its first axis, and a deviation along each."""

    angle: float
    deviations: tuple

    @property
    def matrix(self):
        """The covariance (2, 2)."""
        return covariance_of(self.angle, np.square(self.deviations))


class Numbers(NamedTuple):
    """What is drawn, as numbers."""

    ratios: np.ndarray  # (2,) rho_i, eigenvalues of K^-1 S, the smaller first
    forward: float  # KL(S||K)
    reversed: float  # KL(K||S)
    best: tuple  # of the family: the Ellipse with the least KL(S||K), and that with the least KL(K||S)
    least: tuple  # these two divergences


def two_divergences(
    similarity=((3.3, 2.0), (2.0, 1.6)), family="a circle", title="Drag one ellipse over the other", name="two-kl"
) -> LivingFigure:
    r"""Two Gaussians in the plane as ellipses, S and K, under the reader's hand, and the divergence both ways.

    .. math:: \mathrm{KL}(S \| K) = \tfrac12 \sum_i h(\rho_i), \qquad
              \mathrm{KL}(K \| S) = \tfrac12 \sum_i h(1 / \rho_i), \qquad h(t) = t - 1 - \ln t

    Dashed: the best K of the family for either divergence. For circles c I these are the arithmetic and the harmonic
    mean of the eigenvalues of S; for upright axes the diagonal of S, and the inverse of the diagonal of its inverse.

    Parameters
    ----------
    similarity : array (2, 2)
        S to begin with: its deviations along its axes between 0.2 and 2.8.
    family : "any ellipse", "axes upright" or "a circle"
        What K may be to begin with.
    title : str
    name : str
        Letters, digits and dashes: the element's id is "gplvm-living-" and this. Two figures on one page need two.

    Returns
    -------
    LivingFigure

    Notes
    -----
    Chapter 3, equations (3.3), (3.4), (3.13) and (3.21). What the page computes agrees to 1e-6 with its Python twin,
    `divergence_numbers`, which calls `unify.gaussian_kl`.

    Examples
    --------
    >>> figure = two_divergences([[4.0, 0.0], [0.0, 1.0]])
    >>> [figure.scene.mark("plane", key).label for key in ("best 0", "best 1")]
    ['best for KL(S‖K): c = 2.50', 'best for KL(K‖S): c = 1.60']
    """
    S = check_covariance(similarity)
    checks.choice("family", family, FAMILIES)
    K = within(Ellipse(np.pi / 2 - S.angle, (1.6, 0.8)), family)
    stored = {
        "opening": {"family": family, "S": plain(S), "K": plain(K)},
        "families": list(FAMILIES),
        "limits": [SHORTEST, LONGEST],
        "curve": N_CURVE,
    }
    return living(
        divergence_scene(S, K, family),
        modules("marks.js", "ellipse.js", "two_divergences.js"),
        stored,
        name,
        title,
        HINT,
    )


def check_covariance(S) -> Ellipse:
    """A symmetric 2 x 2 matrix as an Ellipse that the hand could have made."""
    S = checks.symmetric(S, "similarity")
    if S.shape != (2, 2):
        raise ValueError(f"similarity must be a 2 x 2 matrix, to be drawn as an ellipse: got the shape {S.shape}.")
    lam, U = np.linalg.eigh((S + S.T) / 2)
    if not (SHORTEST**2 - 1e-12 <= lam[0] and lam[1] <= LONGEST**2 + 1e-12):
        raise ValueError(
            f"The eigenvalues of similarity must lie between {SHORTEST**2:g} and {LONGEST**2:g}, for the ellipse to "
            f"fit into the panel: got {lam[0]:.4g} and {lam[1]:.4g}."
        )
    x, y = U[:, 1] * (1 if U[0, 1] >= 0 else -1)
    return Ellipse(float(np.arctan2(y, x)), tuple(np.sqrt(lam[::-1]).tolist()))


def plain(ellipse):
    """An Ellipse as the page takes it."""
    return {"angle": float(ellipse.angle), "deviations": [float(v) for v in ellipse.deviations]}


# ---------------------------------------------------------------------------------------------- mathematics
def within(K, family) -> Ellipse:
    """K as a member of the family: the circle of the same area, or upright with the same diagonal."""
    if family == "a circle":
        return Ellipse(0.0, (float(np.sqrt(np.prod(K.deviations))),) * 2)
    if family == "axes upright":
        return Ellipse(0.0, tuple(np.sqrt(np.diag(K.matrix)).tolist()))
    return K


def best_of(S, family, reverse) -> Ellipse:
    """The member of the family with the least divergence from S: KL(S||K), or reversed KL(K||S)."""
    if family == "any ellipse":
        return S
    if family == "axes upright":
        variances = 1 / np.diag(np.linalg.inv(S.matrix)) if reverse else np.diag(S.matrix)
        return Ellipse(0.0, tuple(np.sqrt(variances).tolist()))
    lam = np.square(S.deviations)
    c = 1 / np.mean(1 / lam) if reverse else np.mean(lam)  # (3.13), (3.21)
    return Ellipse(0.0, (float(np.sqrt(c)),) * 2)


def divergence_numbers(S, K, family) -> Numbers:
    """All that the figure shows of a state: the Python twin of the page."""
    best = best_of(S, family, False), best_of(S, family, True)
    return Numbers(
        ratios=linalg.eigh(S.matrix, K.matrix, eigvals_only=True),
        forward=unify.gaussian_kl(S.matrix, K.matrix),
        reversed=unify.gaussian_kl(K.matrix, S.matrix),
        best=best,
        least=(unify.gaussian_kl(S.matrix, best[0].matrix), unify.gaussian_kl(best[1].matrix, S.matrix)),
    )


def h(t):
    """What a ratio of variances costs, twice."""
    return t - 1 - np.log(t)  # (3.4)


# ---------------------------------------------------------------------------------------------- picture
def divergence_scene(S, K, family) -> Scene:
    """The picture of one state."""
    now = divergence_numbers(S, K, family)
    panels = [plane_panel(S, K, now, family), curve_panel(now), bars_panel(now)]
    return Scene(panels, columns=12, row_height=350, says=sentence(now))


def ends_of(ellipse):
    """The ends of the two axes (2, 2), one a row."""
    return (directions(ellipse.angle) * ellipse.deviations).T


def variances(ellipse):
    """The two eigenvalues, in words."""
    return ", ".join(fixed(v**2) for v in ellipse.deviations)


def best_label(k, best, family):
    """What a dashed ellipse is; a circle says its c."""
    size = f": c = {fixed(best.deviations[0] ** 2)}" if family == "a circle" else ""
    return f"best for {(FORWARD, REVERSED)[k]}{size}"


def plane_panel(S, K, now, family):
    """Both ellipses with their axes, and the best ones of the family."""
    ends = np.vstack([ends_of(K), ends_of(S)])
    names = ends * (1 + 0.3 / np.linalg.norm(ends, axis=1, keepdims=True))
    labels = [best_label(k, e, family) for k, e in enumerate(now.best)]
    title = f"eigenvalues of S: {variances(S)}; of K: {variances(K)}"
    marks = [
        Lines("S", *outline(*S), colour=0, width=2.6, label="S"),
        Lines("K", *outline(*K), colour="accent", width=2.6, label="K"),
        Lines("best 0", *outline(*now.best[0]), colour=2, dash=True, label=labels[0]),
        Lines("best 1", *outline(*now.best[1]), colour=3, dash=True, label=labels[1]),
        Lines("axes S", *lines_between(np.zeros((2, 2)), ends[2:]), colour=0, width=1.2),
        Lines("axes K", *lines_between(np.zeros((2, 2)), ends[:2]), colour="accent", width=1.2),
        Points("ends S", *ends[2:].T, colour=0, size=9, marker="square"),
        Points("ends K", *ends[:2].T, colour="accent", size=11),
        ring("chosen", *ends[0], size=17),
        Texts("names", *names.T, list(ENDS)),
    ]
    limits = (-REACH, REACH)
    return Panel(
        marks,
        title=title,
        x=Axis("z₁ (ellipses of one deviation)", limits),
        y=Axis("z₂", limits),
        key="plane",
        equal=True,
        listens="drag",
        span=5,
    )


def curve_panel(now):
    """The curve h with the ratios of both divergences on it."""
    rho = now.ratios
    widest, tallest = curve_limits(rho)
    t = np.geomspace(1 / widest, widest, N_CURVE)
    marks = [
        Rules("one", x=[1.0]),
        Lines("h", t, h(t), colour="ink", width=1.6),
        Points("forward", rho, h(rho), colour=2, size=10, label=f"ρ₁, ρ₂: {FORWARD}"),
        Points("reversed", 1 / rho, h(1 / rho), colour=3, size=10, marker="diamond", label=f"1/ρ₁, 1/ρ₂: {REVERSED}"),
    ]
    return Panel(
        marks,
        title=f"h(t) = t {MINUS} 1 {MINUS} ln t",
        x=Axis("t, ratio of variances", (1 / widest, widest), log=True),
        y=Axis("h(t), nats", (-0.04 * tallest, tallest)),
        key="curve",
        span=4,
    )


def curve_limits(rho):
    """Limits that change seldom: of t, from its inverse, and of h."""
    farthest = max(np.max(rho), 1 / np.min(rho))
    widest = next((w for w in (10, 30, 100, 300) if w > 1.05 * farthest), 1000)
    return float(widest), round_top(h(farthest))


def round_top(value):
    """The next round number."""
    return float(next((v for v in (1, 2, 5, 10, 20, 50, 100, 200) if v >= 1.12 * value), 500))


def bars_panel(now):
    """Both divergences, each a sum over two directions, and the least of the family."""
    values, halves = (now.forward, now.reversed), (h(now.ratios) / 2, h(1 / now.ratios) / 2)
    top = round_top(max(values))
    marks = []
    for k, half in enumerate(halves):
        colour = 2 + k
        marks.append(Bars(f"first {k}", [k], [half[0]], colour=colour, width=0.6))
        marks.append(Bars(f"second {k}", [k], [half[1]], base=[half[0]], colour=colour, width=0.6, opacity=0.55))
    marks += [
        Points("least", [0, 1], now.least, colour="ink", marker="dash", size=34, label="least of the family"),
        Texts("numbers", [0, 1], np.array(values) + 0.045 * top, [fixed(v) for v in values]),
    ]
    across = Axis("two parts each", (-0.6, 1.6), ticks=(0, 1), tick_labels=(FORWARD, REVERSED))
    return Panel(marks, title="both divergences", x=across, y=Axis("nats", (0.0, top)), key="bars", span=3)


def sentence(now):
    """The state in words."""
    sums = (" + ".join(f"h({fixed(t)})" for t in ratios) for ratios in (now.ratios, 1 / now.ratios))
    both = zip((FORWARD, REVERSED), (now.forward, now.reversed), sums, strict=True)
    words = ", ".join(f"{name} = {fixed(value)} = ½ [{parts}]" for name, value, parts in both)
    return f"{words}; least: {fixed(now.least[0])} and {fixed(now.least[1])}"
