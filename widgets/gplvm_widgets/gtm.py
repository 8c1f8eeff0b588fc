"""`explore_gtm`: play EM, watch the sheet bend, ask one point which nodes take responsibility for it."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gplvm_edu import datasets, gtm
from gplvm_edu.metrics import nearest_neighbour_errors

from .controls import buttons, log_slider, menu, number, slider
from .drawing import image_panel, latent_points, ring
from .explorer import Explorer, Question
from .scene import Axis, Ellipses, Image, Lines, Panel, Points, SceneOf, remember

LOAD = {
    "curve": """\
rng = np.random.default_rng(0)
t = np.sort(rng.uniform(-2, 2, 120))
Y = np.column_stack([t, np.sin(2 * t)]) + 0.12 * rng.standard_normal((120, 2))""",
    "oil flow": "Y = datasets.simulate_oil_flow(120, random_state=0).data",
    "digits": """\
digits = datasets.load_digits()
Y = digits.data[np.flatnonzero(digits.target < 5)[:120]]""",
}
EXACT, PRINTED = "exact (9.14)", "as printed (12)"
POSTERIOR, UNIFORM = "responsibilities of the PCA plane", "equal responsibilities, 1/K"
ALL = "all points"
N_POINTS, MAX_PASSES = 120, 40
OPENING = dict(
    data="curve",
    width=0.75,
    alpha=0.01,
    start=POSTERIOR,
    n_nodes=12,
    n_basis=4,
    batch=ALL,
    update=EXACT,
    passes=20,
    point=60,
)


class Problem(NamedTuple):
    """Data and latent side of one setting, before any iteration."""

    Y: np.ndarray  # (N, D), centred
    mean: np.ndarray  # (D,)
    target: np.ndarray  # class, or position along the curve
    names: tuple | None  # of the classes
    page: np.ndarray  # (D, 2), from data space to the page
    X: np.ndarray  # (K, q)
    basis: gtm.Basis
    Phi: np.ndarray  # (K, M)
    start: tuple  # weights, precision
    alpha: float


class Step(NamedTuple):
    """A state of a run: its number, the sheet, the noise; (passes, F, L) of every step so far, one list for all."""

    number: int
    weights: np.ndarray
    precision: float
    trace: list
    ended: bool  # the next update would make 1 / beta negative


class Moment(NamedTuple):
    """What a step says about the data."""

    R: np.ndarray  # (K, N)
    means: np.ndarray  # (N, q), posterior means
    likelihood: float  # L, penalised


@lru_cache(maxsize=3)
def load(data):
    """Rows (N, D), what is known about them, and the names of the classes."""
    if data == "curve":
        rng = np.random.default_rng(0)
        t = np.sort(rng.uniform(-2, 2, 120))
        return np.column_stack([t, np.sin(2 * t)]) + 0.12 * rng.standard_normal((120, 2)), t, None
    if data == "oil flow":
        oil = datasets.simulate_oil_flow(120, random_state=0)
        return oil.data, oil.target, oil.target_names
    digits = datasets.load_digits()
    rows = np.flatnonzero(digits.target < 5)[:120]
    return digits.data[rows], digits.target[rows], digits.target_names


@lru_cache(maxsize=8)
def problem(data, width, alpha, n_nodes, n_basis):
    """Grid, basis and start for these data."""
    rows, target, names = load(data)
    mean, q = rows.mean(axis=0), 1 if data == "curve" else 2
    Y, nodes = rows - mean, (n_nodes,) * q
    gtm.GTM(grid=nodes, basis=(n_basis,) * q, width=width, alpha=alpha).check_parameters()
    X, basis = gtm.latent_grid(nodes), gtm.make_basis((n_basis,) * q, width)
    Phi = gtm.basis_functions(X, basis)
    start = gtm.principal_sheet(Y, X, Phi, gtm.grid_spacing(nodes))
    page = np.eye(2) if q == 1 else np.linalg.eigh(Y.T @ Y)[1][:, [-1, -2]]
    return Problem(Y, mean, target, names, page, X, basis, Phi, start, alpha / np.mean(Y**2))


@remember(maxsize=3)
def moment(now, weights, precision):
    """Responsibilities, posterior means and penalised likelihood of a sheet."""
    R, log_density = gtm.fast.responsibilities(gtm.fast.log_densities(now.Y, now.Phi @ weights.T, precision))
    return Moment(R, gtm.posterior_means(R, now.X), float(log_density.sum() - 0.5 * now.alpha * np.sum(weights**2)))


def steps(data, width, alpha, start, n_nodes, n_basis, batch, update, passes):
    """Generator of `Step`, one for every M-step: incremental EM, which with one batch of all points is plain EM."""
    now = problem(data, width, alpha, n_nodes, n_basis)
    states = gtm.incremental_iterates(
        now.Y,
        now.Phi,
        *now.start,
        N_POINTS if batch == ALL else int(batch),
        now.alpha,
        passes,
        noise_floor=1e-6 * np.mean(now.Y**2),
        start="uniform" if start == UNIFORM else "posterior",
        printed=update == PRINTED,
    )
    trace, state = [], next(states)
    while state is not None:
        following = next(states, None)
        whole = state.sweeps.is_integer()
        likelihood = moment(now, state.weights, state.precision).likelihood if whole else np.nan
        trace.append((state.sweeps, state.value, likelihood))
        ended = following is None and state.sweeps < passes
        yield Step(len(trace) - 1, state.weights, state.precision, trace, ended)
        state = following


@lru_cache(maxsize=8)
def last_step(data, width, alpha, start, n_nodes, n_basis, batch, update, passes):
    """The end of a run."""
    *_, last = steps(data, width, alpha, start, n_nodes, n_basis, batch, update, passes)
    return last


def shown(data, width, alpha, start, n_nodes, n_basis, batch, update, passes, state):
    """(Problem, Step, Moment) of the state of a run; where none is shown, of its end."""
    now = problem(data, width, alpha, n_nodes, n_basis)
    step = state or last_step(data, width, alpha, start, n_nodes, n_basis, batch, update, passes)
    return now, step, moment(now, step.weights, step.precision)


def sheet(data, width, alpha, start, n_nodes, n_basis, batch, update, passes, point, state):
    """The data and the image of the grid, on the page of the first two principal axes (the curve as it is)."""
    now, step, _ = shown(data, width, alpha, start, n_nodes, n_basis, batch, update, passes, state)
    m, places = now.Phi @ step.weights.T @ now.page, now.Y @ now.page
    marks = [latent_points(places, now.target, now.names, size=5, opacity=0.6)]
    if data == "curve":
        noise = np.broadcast_to(np.eye(2) / np.sqrt(step.precision), (len(m), 2, 2))
        marks += [
            Ellipses("noise", *m.T, noise, colour="accent", opacity=0.55, label="noise of a node"),
            Lines("sheet", *along_the_sheet(now, step)[1].T, colour="ink", width=1.4, label="sheet"),
            Points("nodes", *m.T, colour="accent", size=6),
        ]
    else:
        marks.append(Lines("sheet", *net(m, n_nodes), colour="ink", width=0.9, opacity=0.8))
    marks.append(ring("chosen", *places[point]))
    x, y = ("y1", "y2") if data == "curve" else ("first principal axis", "second principal axis")
    return Panel(
        marks,
        title=f"data space, noise {1 / np.sqrt(step.precision):.3g}",
        hint="click a point",
        x=Axis(x, room(places[:, 0])),
        y=Axis(y, room(places[:, 1])),
        equal=True,
        listens="click",
    )


def room(values):
    """Limits of an axis that do not move with the controls: the data and a tenth more on either side."""
    return values.min() - 0.1 * np.ptp(values), values.max() + 0.1 * np.ptp(values)


def along_the_sheet(now, step):
    """Latent places (200,) along one dimension, and their images (200, D)."""
    fine = np.linspace(-1, 1, 200)
    return fine, gtm.basis_functions(fine[:, None], now.basis) @ step.weights.T


def net(m, n):
    """(x, y) of the lines of an n x n net, with gaps between them."""
    lines = np.concatenate([m.reshape(n, n, 2), m.reshape(n, n, 2).transpose(1, 0, 2)])
    return np.pad(lines, ((0, 0), (0, 1), (0, 0)), constant_values=np.nan).reshape(-1, 2).T


def latent(data, width, alpha, start, n_nodes, n_basis, batch, update, passes, point, state):
    """Posterior means over the grid; with them the responsibilities of the chosen point."""
    now, _, (R, means, _) = shown(data, width, alpha, start, n_nodes, n_basis, batch, update, passes, state)
    if data == "curve":
        places = np.column_stack([means[:, 0], np.full(len(means), -0.06)])
        marks = [
            latent_points(places, now.target, size=5),
            Lines("responsibilities", now.X[:, 0], R[:, point], colour="accent", width=1.2),
            Points("nodes", now.X[:, 0], R[:, point], colour="accent", label="nodes, for the chosen point"),
        ]
        title, x, y = "latent space, shaded along the curve", (-1.08, 1.08), Axis("responsibility", (-0.12, 1.05))
    else:
        places, edge = means, 1 + 1 / (n_nodes - 1)
        extent, grid = (-edge, edge, -edge, edge), R[:, point].reshape(n_nodes, n_nodes).T
        marks = [
            Image("responsibilities", grid, extent=extent, low=0, from_below=True, opacity=0.6, bar="responsibility"),
            latent_points(places, now.target, now.names, size=5),
        ]
        errors = nearest_neighbour_errors(means, now.target)
        title, x, y = f"latent space: {errors} neighbour errors", extent[:2], Axis("", extent[2:])
    marks.append(ring("chosen", *places[point]))
    across = Axis("latent dimension 1" if data == "curve" else "latent dimensions 1 and 2", x)
    return Panel(marks, title=title, x=across, y=y, equal=data != "curve", legend=data == "curve", listens="click")


def chosen(data, width, alpha, start, n_nodes, n_basis, batch, update, passes, point, state):
    """The chosen row beside its image on the sheet: numbers, pictures, or (curve) both functions of x."""
    now, step, (_, means, _) = shown(data, width, alpha, start, n_nodes, n_basis, batch, update, passes, state)
    if data == "curve":
        x, images = along_the_sheet(now, step)
        marks = []
        for d, name in enumerate(("y1(x)", "y2(x)")):
            marks += [
                Points(f"data {d}", means[:, 0], now.Y[:, d], colour=d, size=4, opacity=0.45),
                Lines(name, x, images[:, d], colour=d, label=name),
                ring(f"chosen {d}", means[point, 0], now.Y[point, d], size=11),
            ]
        across, up = Axis("latent dimension 1", (-1.08, 1.08)), Axis("data", room(now.Y))
        return Panel(marks, title="the map: data over posterior means", x=across, y=up)
    image = gtm.basis_functions(means[point : point + 1], now.basis)[0] @ step.weights.T + now.mean
    row = now.Y[point] + now.mean
    if data == "digits":
        return image_panel([row.reshape(8, 8), image.reshape(8, 8)], ("data", "sheet"), 16, f"point {point}")
    column = np.arange(1, len(row) + 1)
    marks = [
        Points("measured", column, row, colour="ink", label="measured"),
        Lines("on the sheet", column, image, colour="accent", label="sheet at its posterior mean"),
    ]
    up = Axis("value", room(now.Y + now.mean))
    return Panel(marks, title=f"point {point} of the pipe", x=Axis("measurement", (0.3, len(row) + 0.7)), y=up)


def objective(data, width, alpha, start, n_nodes, n_basis, batch, update, passes, state):
    """Free energy after every M-step, log likelihood after every pass, both penalised; the state shown as a ring."""
    _, step, _ = shown(data, width, alpha, start, n_nodes, n_basis, batch, update, passes, state)
    done, F, L = np.array(step.trace).T
    fallen = np.max(np.maximum.accumulate(F) - F)
    title = "objective"
    if step.ended:
        title = "1/β would be negative: the run ends"
    elif fallen > 1e-6 * max(abs(F[-1]), 1.0):
        title = f"objective: F fell by {fallen:.2g}"
    marks = [
        Lines("F", done, F, label="free energy F"),
        Points("L", done[~np.isnan(L)], L[~np.isnan(L)], colour="accent", size=5, label="log likelihood L"),
        ring("now", done[step.number], F[step.number]),
    ]
    up = Axis("penalised, nats")
    return Panel(marks, title=title, x=Axis("passes over the data", (-0.05 * passes, 1.05 * passes)), y=up)


def says(data, width, alpha, start, n_nodes, n_basis, batch, update, passes, state):
    """The numbers that the code shown prints."""
    _, step, now = shown(data, width, alpha, start, n_nodes, n_basis, batch, update, passes, state)
    done, F, _ = step.trace[step.number]
    noise = 1 / np.sqrt(step.precision)
    return f"after {done:.3g} passes: F {F:.1f}, L {now.likelihood:.1f} (both penalised), noise {noise:.4g}"


panel_gtm = SceneOf(sheet, latent, chosen, objective, defaults=OPENING, says=says, row_height=250)


CODE = """\
from itertools import islice
import numpy as np
from gplvm_edu import datasets, gtm

{load}
Y = Y - Y.mean(axis=0)
X = gtm.latent_grid({grid})
Phi = gtm.basis_functions(X, gtm.make_basis({basis}, {width:g}))
W, beta = gtm.principal_sheet(Y, X, Phi, gtm.grid_spacing({grid}))
variance = np.mean(Y**2)
alpha = {alpha:g} / variance
states = gtm.incremental_iterates(
    Y, Phi, W, beta, batch_size={batch}, alpha=alpha, max_iter={passes},
    noise_floor=1e-6 * variance, start="{start}", printed={printed})
*_, state = {states}
R, log_density = gtm.responsibilities(gtm.log_densities(Y, Phi @ state.weights.T, state.precision))
L = log_density.sum() - 0.5 * alpha * np.sum(state.weights**2)
noise = 1 / np.sqrt(state.precision)
print(f"after {{state.sweeps:.3g}} passes: F {{state.value:.1f}}, L {{L:.1f}} (both penalised), noise {{noise:.4g}}")
print("point {point} lies at", gtm.posterior_means(R, X)[{point}].round(3))
"""


class GTMExplorer(Explorer):
    """Controls for `panel_gtm`; the picture is the end of a run, Run plays it from the plane of PCA."""

    title = "The GTM: a sheet that learns to bend"
    panels = panel_gtm
    light = ("point",)
    questions = (
        Question(
            "Fifteen passes, and the sheet follows the curve. Now the bells become two and a half times as wide as "
            "they are far apart. What will the noise do?",
            {**OPENING, "alpha": 1.0, "passes": 15},
            dict(width=2.5),
            "It goes up. Wide bells overlap so much that bending takes large weights of opposite signs, and the "
            "regulariser forbids those: the sheet stays stiff, and what it can't follow is called noise.",
            ("it goes up", "it stays", "it goes down"),
            0,
        ),
        Question(
            "Plain EM has made two passes over the oil data. If an M-step comes after every ten points instead, "
            "how far will F get in two passes?",
            {**OPENING, "data": "oil flow", "passes": 2},
            dict(batch="10"),
            "Much further: twelve M-steps a pass instead of one, and each is made with responsibilities that are "
            "nearly fresh. F climbs at every one of them; L (the dots) is above it, and meets it when all the "
            "responsibilities agree with the sheet.",
            ("about as far", "less far: ten points say little", "much further"),
            2,
        ),
        Question(
            "The paper allows equal responsibilities to start with, and prints a cheap update for the noise. "
            "Here is the first of the two, in batches of ten. What will 1/β do when the second is added?",
            {**OPENING, "start": UNIFORM, "batch": "10", "passes": 6},
            dict(update=PRINTED),
            "It turns negative and the run ends. The printed update corrects the residuals of the ten points just "
            "visited, but the new weights have moved the residuals of all the others as well.",
            ("fall as before", "stay too large", "turn negative"),
            2,
        ),
    )

    def make_controls(self):
        return {
            "data": {"data": buttons(list(LOAD))},
            "kernel": {
                "width": slider(0.75, 0.3, 2.5, 0.05, "width of the bells"),
                "alpha": log_slider(0.01, -5, 2, "regulariser", 0.25),
            },
            "start": {"start": menu([POSTERIOR, UNIFORM])},
            "size": {"n_nodes": slider(12, 6, 16, 1, "nodes a side"), "n_basis": slider(4, 2, 6, 1, "bells a side")},
            "more": {
                "passes": slider(OPENING["passes"], 1, MAX_PASSES, 1, "passes of a run"),
                "batch": menu([(ALL, ALL), *((f"{n} points", n) for n in ("50", "20", "10"))], name="M-step after"),
                "update": menu([EXACT, PRINTED], name="noise update"),
                "point": number(60, 0, N_POINTS - 1, "point"),
            },
        }

    def ranges(self, settings):
        """No more bells, constant and coordinates than nodes to see them at."""
        return {"n_basis": {"max": min(6, settings["n_nodes"] - 2)}}

    def point(self, panel, x, y):
        """The row nearest to a click, in data space or in latent space."""
        drawn = self.scene.mark(panel, "points")
        return {"point": int(np.argmin((drawn.x - x) ** 2 + (drawn.y - y) ** 2))}

    def nudge(self, panel, right, up):
        """Arrow keys: the next row (of the curve: along it)."""
        return {"point": int(np.clip(self.settings["point"] + right + up, 0, N_POINTS - 1))}

    def iterates(self, settings):
        """Every M-step of the run, from the plane of PCA."""
        for step in steps(**{name: value for name, value in settings.items() if name != "point"}):
            yield step.trace[step.number][0] / settings["passes"], step

    def code(self, settings, state):
        q = 1 if settings["data"] == "curve" else 2
        return CODE.format(
            load=LOAD[settings["data"]],
            grid=(settings["n_nodes"],) * q,
            basis=(settings["n_basis"],) * q,
            width=settings["width"],
            alpha=settings["alpha"],
            passes=settings["passes"],
            point=settings["point"],
            batch=N_POINTS if settings["batch"] == ALL else settings["batch"],
            printed=settings["update"] == PRINTED,
            start="uniform" if settings["start"] == UNIFORM else "posterior",
            states="states"
            if state is None
            else f"islice(states, {state.number + 1})    # the start and so many M-steps",
        )


def explore_gtm(**settings) -> GTMExplorer:
    """The live explorer of chapter 9; any control can be set: ``explore_gtm(data="oil flow", batch="10")``."""
    return GTMExplorer(**settings)
