"""`gp_posterior`: put data down with a finger, and watch posterior, draws and evidence of a Gaussian process.

The page computes with `gp.js`; here the same numbers come from `gplvm_edu.kernels`, for the opening and for the tests.
"""

import numpy as np

from gplvm_edu import checks, kernels
from gplvm_edu.kernels import RBF, Linear, Matern32, Periodic, White, gp_log_marginal_likelihood
from gplvm_edu.linalg import log_determinant

from ..scene import Axis, Band, Bars, Lines, Panel, Points, Rules, Scene, Texts
from .figure import LivingFigure, living, modules

KERNELS = ("RBF", "Matérn 3/2", "linear", "periodic")
PERIOD = 2.0
BOX = (-3.0, 3.0, -3.0, 3.0)  # of the panel with the functions
GRID = np.linspace(-3, 3, 121)
N_DRAWS = 3
JITTER = 1e-8  # on the diagonal of the posterior covariance, before its factor is taken: 1e-4 in a draw
MOST = 40  # data
REACH = 0.035  # a click nearer than this share of the panel's height means the datum
MINUS = "\N{MINUS SIGN}"
TERMS = (("fit", f"{MINUS}½ y'K⁻¹y"), ("volume", f"{MINUS}½ ln |K|"), ("constant", f"{MINUS}½ n ln 2π"), ("sum", ""))
OPENING = ((-2.2, -0.9), (-1.3, 0.3), (-0.4, 0.9), (0.3, 0.2), (1.9, -0.6))
HINT = (
    "Click to add a datum; drag it, or click it to take it away. Keys: arrows move the ringed datum, Enter adds one, "
    "Delete removes it, Space takes the next."
)


def gp_posterior(
    data=OPENING, kernel="RBF", inverse_width=1.0, noise_variance=0.01, title="Put data down", name="gp-posterior"
) -> LivingFigure:
    """Gaussian process regression under the reader's hand: mean, band of two deviations, draws, and the evidence.

    Parameters
    ----------
    data : sequence of (x, y)
        To begin with: between -3 and 3, at most 40.
    kernel : "RBF", "Matérn 3/2", "linear" or "periodic"
        Of variance 1; the period is 2.
    inverse_width : float
        gamma, from 0.1 to 100. The linear kernel has none.
    noise_variance : float
        sigma^2, from 0.0001 to 1.
    title : str
    name : str
        Letters, digits and dashes: the element's id is "gplvm-living-" and this.

    Returns
    -------
    LivingFigure

    Notes
    -----
    Chapter 2, equations (2.25) to (2.27). A draw is the mean plus L e, equation (2.4), with the same e for all states
    of the figure, so that it moves no more than the data make it.

    Examples
    --------
    >>> figure = gp_posterior([(0.0, 1.0)])
    >>> figure.scene.says.split(":")[0], figure.scene.mark("evidence", "term 2").height.round(2)
    ('1 datum, RBF kernel', array([-0.92]))
    """
    x, y = check_data(data)
    if kernel not in KERNELS:
        raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, not {kernel!r}.")
    gamma = between("inverse_width", inverse_width, 0.1, 100)
    noise = between("noise_variance", noise_variance, 1e-4, 1)
    stored = {
        "opening": {"kernel": kernel, "inverse_width": gamma, "noise": noise},
        "x": x,
        "y": y,
        "grid": GRID,
        "normals": normals(),
        "jitter": JITTER,
        "box": list(BOX),
        "kernels": list(KERNELS),
        "most": MOST,
        "reach": REACH,
    }
    scene = posterior_scene(x, y, kernel, gamma, noise)
    return living(scene, modules("gp.js", "gp_posterior.js"), stored, name, title, HINT)


def check_data(data):
    """x and y of the data, inside the panel."""
    data = np.asarray(data, float).reshape(-1, 2) if len(data) == 0 else np.asarray(data, float)
    if data.ndim != 2 or data.shape[1] != 2:
        raise ValueError(f"data must be pairs (x, y), got an array of shape {data.shape}.")
    if len(data) > MOST:
        raise ValueError(f"at most {MOST} data, got {len(data)}.")
    left, right, bottom, top = BOX
    if not np.all((data >= (left, bottom)) & (data <= (right, top))):
        raise ValueError(f"data must lie between {left:g} and {right:g} across and {bottom:g} and {top:g} up.")
    return data[:, 0], data[:, 1]


def between(name, value, low, high):
    """A number that a slider of the figure can reach."""
    value = checks.number(name, value, at_least=low)
    if value > high:
        raise ValueError(f"{name} must be between {low:g} and {high:g}, got {value:g}.")
    return value


def normals():
    """The standard normals of all draws, (M, n), to four digits; the same every time."""
    return np.round(np.random.default_rng(3).standard_normal((len(GRID), N_DRAWS)), 4)


def kernel_of(name, inverse_width):
    """The kernel of a name of the menu."""
    if name == "linear":
        return Linear()
    if name == "periodic":
        return Periodic(inverse_width=inverse_width, period=PERIOD)
    return (RBF if name == "RBF" else Matern32)(inverse_width=inverse_width)


def posterior_numbers(x, y, kernel, inverse_width, noise):
    """Mean and deviation on the grid (M,), draws (n, M), and the three terms of (2.27) with their sum."""
    k, X = kernel_of(kernel, inverse_width), x[:, None]
    if len(x):
        mean, covariance = kernels.gp_posterior(k, X, y, GRID[:, None], noise, full_covariance=True)
    else:
        mean, covariance = np.zeros(len(GRID)), k(GRID[:, None], GRID[:, None])
    L = np.linalg.cholesky(covariance + JITTER * np.eye(len(GRID)))
    draws = (mean[:, None] + L @ normals()).T  # (2.4)
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return mean, deviation, draws, evidence_terms(k, X, y, noise)


def evidence_terms(kernel, X, y, noise):
    """Fit, volume and constant of equation (2.27), and their sum, (4,)."""
    N = len(y)
    if N == 0:
        return np.zeros(4)
    K = (kernel + White(noise))(X)
    fit = -0.5 * y @ np.linalg.solve(K, y)
    volume = -0.5 * log_determinant(np.linalg.cholesky(K))
    return np.array([fit, volume, -0.5 * N * np.log(2 * np.pi), gp_log_marginal_likelihood(kernel, X, y, noise)])


def posterior_scene(x, y, kernel, inverse_width, noise) -> Scene:
    """The picture of one state."""
    mean, deviation, draws, terms = posterior_numbers(x, y, kernel, inverse_width, noise)
    lines = np.ravel([[*GRID, np.nan]] * len(draws)), np.ravel([[*f, np.nan] for f in draws])
    functions = Panel(
        [
            Band("band", GRID, mean - 2 * deviation, mean + 2 * deviation, label="two deviations"),
            Lines("draws", *lines, colour=2, width=1.1, opacity=0.8, label="draws"),
            Lines("mean", GRID, mean, colour=0, width=2.4, label="mean"),
            Points("data", x, y, colour="ink", size=8, label="data"),
            Points("ring", x[-1:], y[-1:], colour="accent", hollow=True, size=16),
        ],
        title="posterior of the function",
        x=Axis("x", BOX[:2]),
        y=Axis("f(x)", BOX[2:]),
        key="functions",
        listens="drag",
        span=2,
    )
    return Scene([functions, evidence_panel(terms)], columns=3, row_height=330, says=sentence(len(x), kernel, terms))


def evidence_panel(terms):
    """The terms as bars from zero, with their numbers."""
    low, high = round_limits(terms)
    room, place = 0.035 * (high - low), np.arange(len(terms))
    marks = [Rules("zero", y=[0.0])]
    for k, ((name, formula), value) in enumerate(zip(TERMS, terms, strict=True)):
        colour = (0, 4, "quiet", "ink")[k]
        marks.append(Bars(f"term {k}", [k], [value], colour=colour, width=0.7, label=f"{name} {formula}".strip()))
    ends = terms + np.where(terms < 0, -room, room)
    marks.append(Texts("numbers", place, ends, [number(v) for v in terms]))
    across = Axis("", (-0.6, 3.6), ticks=tuple(range(4)), tick_labels=tuple(name for name, _ in TERMS))
    return Panel(marks, title="log evidence, term by term", x=across, y=Axis("", (low, high)), key="evidence")


def round_limits(terms):
    """Limits that change seldom: from a round number to a round number."""

    def up(value):
        steps = (5, 10, 20, 50, 100, 200, 500)
        return 0 if value <= 0 else next((r for r in steps if r >= value), 1000 * np.ceil(value / 1000))

    return -float(max(up(-1.15 * min(terms)), 5)), float(max(up(1.15 * max(terms)), 5))


def sentence(N, kernel, terms):
    """The evidence and its parts, in words."""
    fit, volume, constant, total = map(number, terms)
    what = f"{N} {'datum' if N == 1 else 'data'}, {kernel} kernel"
    return f"{what}: log evidence {total} = fit {fit}, volume {volume}, constant {constant}"


def number(value):
    """Two digits after the point, with a proper minus."""
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", MINUS)
