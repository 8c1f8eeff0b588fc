"""`ppca_floor`: drag the axes and the noise floor of a Gaussian, and watch likelihood, shrinkage and a reconstruction.

The page computes from eigenvalues; here the same numbers come from the rows, with the functions of `gplvm_edu.ppca`.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gplvm_edu import checks, datasets, ppca
from gplvm_edu.linalg import centre

from ..drawing import ring
from ..scene import Axis, Bars, Lines, Panel, Points, Rules, Scene, Texts
from .ellipse import directions, fixed, lines_between, outline
from .figure import LivingFigure, living, modules

N_AXES = 2  # columns of W: the plane that is drawn
MOST_COLUMNS, MOST_SHOWN = 40, 400
LOWEST, HIGHEST = 0.002, 1.12  # of the floor, as a share of the largest eigenvalue
N_FLOORS = 121  # of the curve
TIMES = 2.0  # ellipses and axes are drawn at so many deviations
NAMES = ("1", "2")
HINT = (
    "Drag the ends of the two axes of W, or the floor in the two panels beside; click a row to ring it. "
    "Keys: arrows move, Space takes the other axis, Enter goes to the best axes for this floor. "
    "Question: from which floor on is the second axis gone, and how far below its maximum is the likelihood then? "
    "In Python: ppca.log_likelihood and ppca.latent_posterior."
)


class Table(NamedTuple):
    """Centred rows (N, D), eigenvalues of Y'Y/N (D,), the two leading axes (D, 2), and which rows are drawn."""

    Y: np.ndarray
    eigenvalues: np.ndarray
    axes: np.ndarray
    shown: np.ndarray


class State(NamedTuple):
    """What the reader has set: angle and lengths of the columns of W in the plane, the floor, the ringed row."""

    angle: float
    lengths: tuple
    floor: float
    row: int


class Numbers(NamedTuple):
    """What is drawn, as numbers."""

    log_likelihood: float  # per row
    gap: float  # to the greatest one, per row
    shrinkage: np.ndarray  # (2,) of the axes of W
    rows: np.ndarray  # (n, 2) of the rows drawn, in the plane
    reconstructions: np.ndarray  # (n, 2)
    projection: np.ndarray  # (2,) of the ringed row, on the axes in use
    variances: np.ndarray  # (D,) of the model, along the principal axes


def ppca_floor(
    data=None, floor=None, row=None, n_shown=70, title="Drag the floor and the axes", name="ppca-floor"
) -> LivingFigure:
    r"""A Gaussian with two axes and a noise floor under the reader's hand: C = W W' + sigma^2 I.

    .. math:: \tfrac1N L = -\tfrac12 \left[ D \ln 2\pi + \ln |C| + \mathrm{tr}(C^{-1} S) \right]

    As long as nobody drags an axis, W is the best one for the floor: an axis whose eigenvalue lies below is off.

    Parameters
    ----------
    data : array (N, D), optional
        3 to 40 columns; it is centred. Without it, the thousand simulated rows of oil flow of chapter 1.
    floor : float, optional
        sigma^2 to begin with, from 0.002 to 1.12 times the largest eigenvalue; without it, the best one.
    row : int, optional
        The ringed row to begin with, counted from 0 among those that are drawn; without it, one that lies far out along
        both axes.
    n_shown : int
        So many rows are drawn, evenly from first to last; all of them count in the likelihood.
    title : str
    name : str
        Letters, digits and dashes: the element's id is "gplvm-living-" and this. Two figures on one page need two.

    Returns
    -------
    LivingFigure

    Notes
    -----
    Chapter 1, equations (1.6), (1.10), (1.13) to (1.15). What the page computes agrees to 1e-6 with its Python twin,
    `floor_numbers`: `ppca.log_likelihood`, `ppca.latent_posterior` and `ppca.maximum_likelihood` of the rows.

    Examples
    --------
    >>> figure = ppca_floor(floor=0.8)  # above the second eigenvalue
    >>> figure.scene.says.split("; ")[1]
    '1 axis in use'
    """
    table = check_table(data, checks.whole_number("n_shown", n_shown, at_most=MOST_SHOWN))
    lam, n = table.eigenvalues, len(table.shown)
    low, high = LOWEST * lam[0], HIGHEST * lam[0]
    best = float(np.mean(lam[N_AXES:]))  # (1.14)
    floor = best if floor is None else checks.number("floor", floor, at_least=low, at_most=high)
    shown = table.Y[table.shown] @ table.axes
    if row is None:
        row = np.argmax(np.min(np.abs(shown) / np.sqrt(lam[:N_AXES]), axis=1))
    row = checks.whole_number("row", int(row) if isinstance(row, np.integer) else row, 0, n - 1)
    stored = {
        "eigenvalues": lam,
        "shown": shown,
        "opening": {"floor": floor, "row": row},
        "floors": floors_of(table),
        "limits": [low, high],
        "times": TIMES,
    }
    scene = floor_scene(table, best_state(table, floor, row))
    return living(scene, modules("marks.js", "ellipse.js", "ppca_floor.js"), stored, name, title, HINT)


# ---------------------------------------------------------------------------------------------- data
@lru_cache(maxsize=1)
def oil_flow():
    """The rows of chapter 1."""
    return datasets.simulate_oil_flow(1000, random_state=0).data


def check_table(data, n_shown) -> Table:
    """The rows, centred, with what the figure needs of them."""
    Y = checks.points(oil_flow() if data is None else data, "data", at_least=3, advice="Leave it out.")
    N, D = Y.shape
    if not N_AXES < D <= MOST_COLUMNS:
        raise ValueError(f"data must have {N_AXES + 1} to {MOST_COLUMNS} columns, got {D}.")
    Y = centre(checks.within_range(Y, "data"))[0]
    lam, V = ppca.principal_axes(Y)
    lam = np.pad(lam, (0, D - len(lam)))
    if lam[N_AXES] <= 1e-12 * lam[0]:
        raise ValueError(
            f"The rows of data lie in a plane of {N_AXES} dimensions or fewer: nothing is left for the floor, and the "
            'likelihood has no maximum; chapter 1, "When there is too little data".'
        )
    return Table(Y, lam, V[:, :N_AXES], np.linspace(0, N - 1, min(N, n_shown)).round().astype(int))


def floors_of(table):
    """The floors of the curve, closer to one another where it is steep."""
    return np.geomspace(LOWEST, HIGHEST, N_FLOORS) * table.eigenvalues[0]


# ---------------------------------------------------------------------------------------------- mathematics
def best_state(table, floor, row=0) -> State:
    """The best axes for a floor, equation (1.13); one whose eigenvalue lies below it has no length."""
    W, _ = ppca.maximum_likelihood(table.Y, N_AXES, floor)
    lengths = np.linalg.norm(W, axis=0)
    return State(0.0, tuple(lengths.tolist()), floor, row)


def floor_numbers(table, state) -> Numbers:
    """All that the figure shows of a state: the Python twin of the page."""
    Y, V, s2 = table.Y, table.axes, state.floor
    N, D = Y.shape
    W, some = V @ (directions(state.angle) * state.lengths), Y[table.shown]
    value = ppca.log_likelihood(Y, W, s2) / N
    best = ppca.maximal_log_likelihood(table.eigenvalues, N_AXES, N, D) / N
    means, _ = ppca.latent_posterior(some, W, s2)
    squares = np.square(state.lengths)
    used = directions(state.angle)[:, squares > 0]
    variances = np.append(np.sum((V.T @ W) ** 2, axis=1) + s2, np.full(D - N_AXES, s2))
    return Numbers(
        log_likelihood=value,
        gap=best - value,
        shrinkage=squares / (squares + s2),
        rows=some @ V,
        reconstructions=means @ W.T @ V,
        projection=used @ used.T @ (some[state.row] @ V),
        variances=variances,
    )


def profile(table):
    """Log likelihood per row for each floor of the curve, the axes best for it."""
    Y = table.Y
    values = [ppca.log_likelihood(Y, ppca.maximum_likelihood(Y, N_AXES, s2)[0], s2) for s2 in floors_of(table)]
    return np.array(values) / len(Y)


# ---------------------------------------------------------------------------------------------- picture
def floor_scene(table, state) -> Scene:
    """The picture of one state."""
    now = floor_numbers(table, state)
    panels = [plane_panel(table, state, now), bars_panel(table, state, now), likelihood_panel(table, state, now)]
    return Scene(panels, columns=12, row_height=350, says=sentence(state, now))


def plane_panel(table, state, now):
    """The cloud in the plane of the two leading axes, the model's ellipse, and where it puts the rows."""
    ends = TIMES * (directions(state.angle) * state.lengths).T
    radii = TIMES * np.sqrt(np.square(state.lengths) + state.floor)
    own, back = now.rows[state.row], now.reconstructions[state.row]
    reach = 1.08 * max(np.abs(now.rows).max(), TIMES * np.sqrt((1 + HIGHEST / 2) * table.eigenvalues[0]))
    limits = (-reach, reach)
    marks = [
        Lines("pull", *lines_between(now.rows, now.reconstructions), colour=0, width=1.2, opacity=0.7),
        Points("rows", *now.rows.T, colour="quiet", size=4.5),
        Lines(
            "floor", *outline(0.0, [TIMES * np.sqrt(state.floor)] * 2), colour="quiet", dash=True, label="floor alone"
        ),
        Lines("model", *outline(state.angle, radii), colour="accent", width=2.2, label="model, W W' + σ² I"),
        Lines("axes", *lines_between(np.zeros((2, 2)), ends), colour="ink", width=2.0, label="axes of W"),
        Lines("own pull", *lines_between(own[None], back[None]), colour=2, width=2.2),
        ring("ring", *own, colour=2, size=13, label="ringed row"),
        Points(
            "projection", *now.projection[:, None], colour=2, marker="square", hollow=True, size=8, label="projected"
        ),
        Points("back", *back[:, None], colour=2, marker="diamond", size=9, label="reconstructed, W x̂"),
        Points("ends", *ends.T, colour="ink", size=11),
        ring("chosen", *ends[0], colour="accent", size=17),
        Texts("names", *(ends + 0.15 * reach * directions(state.angle).T).T, list(NAMES)),
    ]
    return Panel(
        marks,
        title="rows, and the model at two deviations",
        x=Axis("first principal axis", limits),
        y=Axis("second principal axis", limits),
        key="plane",
        equal=True,
        listens="drag",
        span=5,
    )


def bars_panel(table, state, now):
    """Eigenvalues as bars, the floor across them, and what is left above it."""
    lam, s2 = table.eigenvalues, state.floor
    place, on = np.arange(1, len(lam) + 1), np.append(np.array(state.lengths) > 0, np.zeros(len(lam) - N_AXES, bool))
    shares = [fixed(v) for v in now.shrinkage] if state.angle == 0 else ["", ""]  # of the bars where axes lie on them
    marks = [
        Bars("kept", place[on], lam[on], colour=0, label="kept"),
        Bars("discarded", place[~on], lam[~on], colour="quiet", opacity=0.6, label="discarded"),
        Bars("below", place[on], np.minimum(lam[on], s2), colour="pale", opacity=0.6),
        Rules("mean", y=[np.mean(lam[N_AXES:])], dash=True, colour="ink", label=f"mean of bars 3 to {len(lam)}"),
        Rules("sigma2", y=[s2], colour="accent", width=2.6, label="floor σ²"),
        Points(
            "variances",
            place[:2],
            now.variances[:2],
            colour="ink",
            marker="dash",
            size=12,
            label="the model's variance",
        ),
        Texts("shares", place[:2], lam[:2] + 0.045 * lam[0], shares),
    ]
    return Panel(
        marks,
        title="variance along each axis",
        x=Axis("principal axis", (-0.4, len(lam) + 0.7), ticks=tuple(place.tolist())),
        y=Axis("variance", (0.0, HIGHEST * lam[0])),
        key="bars",
        listens="drag",
        span=4,
    )


def likelihood_panel(table, state, now):
    """The likelihood beside the bars, with the floor on the same axis."""
    values = profile(table)
    low, high = likelihood_limits(now.log_likelihood + now.gap, values[-1])
    marks = [
        Rules("mean", y=[np.mean(table.eigenvalues[N_AXES:])], dash=True, colour="ink"),
        Rules("sigma2", y=[state.floor], colour="accent", width=1.4),
        Lines("curve", values, floors_of(table), colour=0, width=2.2, label="best axes"),
        Points("now", [max(now.log_likelihood, low)], [state.floor], colour="accent", size=11, label="now"),
    ]
    return Panel(
        marks,
        title="log likelihood per row",
        x=Axis("nats", (low, high)),
        y=Axis("floor σ²", (0.0, HIGHEST * table.eigenvalues[0])),
        key="likelihood",
        listens="drag",
        span=3,
    )


def likelihood_limits(best, last):
    """From a little below the likelihood of the highest floor to a little above the greatest."""
    return last - 0.12 * (best - last), best + 0.12 * (best - last)


def sentence(state, now):
    """The state in words."""
    used = sum(length > 0 for length in state.lengths)
    first, second = (fixed(v) for v in now.shrinkage)
    return (
        f"Floor {fixed(state.floor, 3)}: log likelihood {fixed(now.log_likelihood)} per row, {fixed(now.gap)} below "
        f"the best; {used} {'axis' if used == 1 else 'axes'} in use; shrinkage factors {first} and {second}"
    )
