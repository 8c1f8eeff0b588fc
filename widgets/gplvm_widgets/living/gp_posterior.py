"""`gp_posterior`: put data down with a finger, and watch posterior, draws and evidence of a Gaussian process.

The page computes with `gp.js`; here the same numbers come from `gplvm_edu.kernels`, for the opening and for the tests.
"""

import numpy as np

from gplvm_edu import checks
from gplvm_edu.kernels import RBF, Linear, Matern32, Periodic

from ..conditioning import (
    ACROSS,
    DEPTH,
    FIVE,
    INVERSE_WIDTH,
    MOST,
    REACH,
    TWO_OPTIMA,
    evidence_panel,
    number,
    places,
    posterior_of,
    surface_of,
    surface_panel,
    terms_of,
)
from ..scene import Axis, Band, Lines, Panel, Points, Scene
from .figure import LivingFigure, living, modules

KERNELS = ("RBF", "Matérn 3/2", "linear", "periodic")
PERIOD = 2.0
BOX = (-3.0, 3.0, -3.0, 3.0)  # of the panel with the functions
WIDTHS, NOISES = (-1.0, 2.0), (-4.0, 0.0)  # of the sliders and of the surface: powers of ten
GRID = np.linspace(-3, 3, 121)
N_DRAWS = 3
JITTER = 1e-8  # on the diagonal of the posterior covariance, before its factor is taken: 1e-4 in a draw
BETWEEN = (1.0, 0.05)  # inverse width and noise variance to which “Two optima” goes: at neither of them
HINT = (
    "Click to add a datum, drag it, click it to take it away, and drag the cross on the surface (keys: arrows move the "
    "ringed datum or the cross, Enter adds one, Delete removes it, Space takes the next). Question: press “Two optima” "
    "and drag the cross to each star: which of the two settings takes the dip near x = \N{MINUS SIGN}1.8 for a wave of "
    "the function, and which for noise? In Python: kernels.gp_posterior and kernels.evidence_terms."
)


def gp_posterior(
    data=FIVE, kernel="RBF", inverse_width=1.0, noise_variance=0.01, title="Put data down", name="gp-posterior"
) -> LivingFigure:
    """Gaussian process regression under the reader's hand: posterior, draws, terms and surface of the evidence.

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
    Chapter 2, equations (2.7), (2.8) and (2.10): `gp_posterior`, `evidence_terms` and `evidence_surface` of
    `gplvm_edu.kernels` give the same numbers. A draw is the mean plus L e, equation (2.4), with the same e for all
    states of the figure, so that it moves no more than the data make it.

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
        "widths": list(WIDTHS),
        "noises": list(NOISES),
        "depth": DEPTH,
        "two_optima": np.array(TWO_OPTIMA).T.ravel(),
        "between": list(BETWEEN),
        "kernels": list(KERNELS),
        "most": MOST,
        "reach": REACH,
        "across": ACROSS,
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
    """Mean and deviation on the grid (M,), draws (n, M), and the three terms of (2.10) with their sum."""
    k = kernel_of(kernel, inverse_width)
    mean, covariance = posterior_of(k, x, y, GRID, noise)
    L = np.linalg.cholesky(covariance + JITTER * np.eye(len(GRID)))
    draws = (mean[:, None] + L @ normals()).T  # (2.4)
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return mean, deviation, draws, terms_of(k, x, y, noise)


def surface_numbers(x, y, kernel):
    """The log evidence for each noise variance (a row) and each inverse width (a column) of the surface, (25, 25)."""
    return surface_of([kernel_of(kernel, gamma) for gamma in places(*WIDTHS)], x, y, places(*NOISES))


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
        rows=2,
    )
    surface = surface_panel(surface_numbers(x, y, kernel), WIDTHS, NOISES, (inverse_width, noise), INVERSE_WIDTH)
    panels = [functions, evidence_panel(terms), surface]
    return Scene(panels, columns=3, row_height=235, says=sentence(len(x), kernel, terms))


def sentence(N, kernel, terms):
    """The evidence and its parts, in words."""
    fit, volume, constant, total = map(number, terms)
    what = f"{N} {'datum' if N == 1 else 'data'}, {kernel} kernel"
    return f"{what}: log evidence {total} = fit {fit}, volume {volume}, constant {constant}"
