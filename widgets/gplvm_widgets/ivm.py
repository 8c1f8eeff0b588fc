"""`explore_ivm`: which point is taken next and why, what the chosen few know, and what they save."""

from functools import lru_cache
from textwrap import indent
from time import process_time
from typing import NamedTuple

import numpy as np

from gplvm_edu import datasets
from gplvm_edu.gplvm import GPLVM, factorise, log_likelihood
from gplvm_edu.ivm import (
    Selection,
    SparseGPLVM,
    entropy_reductions,
    latent_moments,
    printed_active_log_likelihood,
    select_active_set,
    selection_map,
    sparse_model,
)
from gplvm_edu.kernels import MLP, RBF, Bias, Kernel, White
from gplvm_edu.linalg import centre
from gplvm_edu.maps import grid_points
from gplvm_edu.metrics import nearest_neighbour_errors
from gplvm_edu.starts import initial_positions

from .controls import buttons, menu, slider, steps
from .drawing import latent_points
from .explorer import Explorer, Question
from .scene import Axis, Image, Lines, Panel, Points, Rules, SceneOf, Texts, remember

CORRECTED, PRINTED = "(11) corrected", "(11) as printed"
N_PASSES, FULL_STEPS, N_GRID = 10, 60, 41
SCALES = np.geomspace(0.05, 5e4, 121)
LOAD = {
    "oil flow": "data = datasets.simulate_oil_flow({n_points}, random_state=0)\n"
    "Y, target = centre(data.data)[0], data.target",
    "digits": "data = datasets.load_digits()\nrows = np.flatnonzero(data.target < 5)[:{n_points}]\n"
    "Y, target = centre(data.data[rows] / 16)[0], data.target[rows]",
}
OPENING = dict(data="oil flow", kernel="RBF", noise=0.1, start="pca", n_active=30, n_points=200)
OPENING |= dict(included=5, formula=CORRECTED)


class Run(NamedTuple):
    """A state of Run: positions and kernel after some passes of Algorithm 1, errors and seconds of all so far.

    `full` has the errors and the seconds of the full model, from its start on, once its turn has come.
    """

    X: np.ndarray
    kernel: Kernel
    errors: tuple
    seconds: tuple
    full: tuple | None = None

    @property
    def passes(self):
        """How many passes of Algorithm 1 were made."""
        return len(self.errors) - 1


class Chosen(NamedTuple):
    """Positions, kernel, the active set that belongs to them, and what every point offered before each inclusion."""

    X: np.ndarray
    kernel: Kernel
    selection: Selection
    offers: np.ndarray  # (n_active, N), NaN where active already


@lru_cache(maxsize=8)
def load(data, n_points):
    """Centred data (N, D), classes and their names."""
    if data == "oil flow":
        oil = datasets.simulate_oil_flow(n_points, random_state=0)
        return centre(oil.data)[0], oil.target, oil.target_names
    digits = datasets.load_digits()
    rows = np.flatnonzero(digits.target < 5)[:n_points]
    return centre(digits.data[rows] / 16)[0], digits.target[rows], digits.target_names


@lru_cache(maxsize=8)
def start_positions(data, start, n_points):
    """Where the points lie to begin with."""
    return initial_positions(load(data, n_points)[0], 2, start, np.random.RandomState(0))


def start_kernel(data, kernel, noise, n_points):
    """The kernel of the buttons, scaled to the data; `noise` is the share of the variance that starts as noise."""
    variance = load(data, n_points)[0].var()
    smooth = RBF(variance, 1.0) if kernel == "RBF" else MLP(variance)
    return smooth + Bias(min(np.exp(-2.0), variance)) + White(noise * variance)


@remember(maxsize=6)
def chosen(data, kernel, noise, start, n_active, n_points, state=None):
    """The active set at the start, or at the positions and with the kernel that a run has reached."""
    Y = load(data, n_points)[0]
    at_start = start_positions(data, start, n_points), start_kernel(data, kernel, noise, n_points)
    X, k = at_start if state is None else (state.X, state.kernel)
    model = sparse_model(k)
    selection = select_active_set(Y, X, model.f_kernel, model.noise, n_active)
    taken_off = np.cumsum(selection.M[:-1] ** 2, axis=0)  # (7.7), of the inclusions before
    variance = model.f_kernel.diag(X) - np.vstack([np.zeros(len(X)), taken_off])
    nu = 1.0 / (variance + model.noise.variance)
    offers = Y.shape[1] * np.array([entropy_reductions(*each) for each in zip(nu, variance, strict=True)])  # (7.5)
    for step in range(len(offers)):
        offers[step, selection.active[:step]] = np.nan
    return Chosen(X, k, selection, offers)


def entropy_map(now, included, D):
    """Nats that a point at each place of a grid would tell once the first points are in, and the grid's limits."""
    edge = 0.5 * np.ceil(2.3 * np.abs(now.X).max())
    extent = (-edge, edge, -edge, edge)
    grid, model, s = grid_points(extent, N_GRID), sparse_model(now.kernel), now.selection
    variance = model.f_kernel.diag(grid)
    if included:
        first = {name: getattr(s, name)[:included] for name in ("active", "site_means", "precisions", "M")}
        few = s._replace(L=s.L[:included, :included], **first)
        variance = latent_moments(selection_map(few, now.X, model.f_kernel, model.noise), grid)[1][:, 0]
    return 0.5 * D * np.log1p(variance / model.noise.variance).reshape(N_GRID, N_GRID), extent


def scale_curve(Y, now, included, formula):
    """The active set's log likelihood (11) when the kernel is multiplied by each of SCALES; the best of all factors."""
    I = now.selection.active[: max(included, 2)]
    K, Y, D = now.kernel(now.X[I]), Y[I], Y.shape[1]
    value, weight = (log_likelihood, D) if formula == CORRECTED else (printed_active_log_likelihood, 1)
    misfit, charge = np.sum(factorise(Y, K).A * Y), weight * len(I)  # tr(K^-1 YY'), and what ln c is multiplied by
    values = value(Y, K) - 0.5 * (charge * np.log(SCALES) + misfit * (1 / SCALES - 1))
    return values, misfit / charge


def how_many(n):
    """A number of points in words."""
    return f"{n or 'no'} point{'' if n == 1 else 's'}"


def entropy(data, kernel, noise, start, n_active, n_points, included, state):
    """What a point at each place would tell; all points by class, those taken so far in rings, the next one a star."""
    Y, target, names = load(data, n_points)
    now = chosen(data, kernel, noise, start, n_active, n_points, state)
    nats, extent = entropy_map(now, included, Y.shape[1])
    taken, edge = now.X[now.selection.active[:included]], extent[1]
    shades = Image(
        "nats",
        nats,
        extent=extent,
        low=0,
        ramp="precision",
        bar="nats a point would tell",
        smooth=True,
        from_below=True,
    )
    few = taken[:9]
    marks = [
        shades,
        latent_points(now.X, target, names, size=5),
        Points("taken", *taken.T, colour="ink", hollow=True, size=11, label="taken"),
        Texts("order", few[:, 0] + 0.06 * edge, few[:, 1] + 0.05 * edge, [str(k + 1) for k in range(len(few))]),
    ]
    if included < n_active:
        marks.append(
            Points(
                "next",
                *now.X[now.selection.active[included], None].T,
                colour="accent",
                marker="star",
                size=17,
                label="next",
            )
        )
    title = f"all {n_active} are in" if included == n_active else f"{how_many(included)} in, the star is next"
    sides = (Axis(f"latent dimension {k}", (-edge, edge)) for k in (1, 2))
    hint = "click: take it" if included < n_active else ""
    return Panel(marks, title=title, hint=hint, x=next(sides), y=next(sides), listens="click")


def gains(data, kernel, noise, start, n_active, n_points, included, state):
    """The gain of each inclusion, the next one marked, and what a point drawn at random would have brought."""
    now = chosen(data, kernel, noise, start, n_active, n_points, state)
    each, place = now.selection.gains, np.arange(1, n_active + 1)
    marks = [
        Lines("average", place, np.nanmean(now.offers, axis=1), colour="quiet", dash=True, label="average point"),
        Lines("taken", place, each, label="point taken"),
        Rules("so far", x=[included], dash=True, colour="accent"),
    ]
    if included < n_active:
        marks.append(Points("next", [included + 1], [each[included]], colour="accent", marker="star", size=13))
    return Panel(
        marks,
        title=f"in all {each[:included].sum():.0f} nats so far",
        hint="drag",
        x=Axis("inclusion", (0, n_active + 1)),
        y=Axis("nats", (0, 1.1 * each.max())),
        listens="drag",
    )


def errors(data, start, n_points, state):
    """Errors against time: Algorithm 1 pass by pass, then the full model from the same start; one pass is the unit."""
    begin = nearest_neighbour_errors(start_positions(data, start, n_points), load(data, n_points)[1])
    marks, last = [Rules("start", y=[begin], label=f"start: {begin}", dash=True)], 0.0
    if state is not None:
        unit = state.seconds[-1] / max(len(state.seconds) - 1, 1) or 1.0
        passes = np.array(state.seconds) / unit
        marks.append(Lines("sparse", passes, state.errors, label=f"sparse: {state.errors[-1]}"))
        marks.append(Points("passes", passes, state.errors, size=5))
        last = passes[-1]
    if state is not None and state.full is not None:
        found, seconds = state.full
        marks.append(Lines("full", np.array(seconds) / unit, found, colour=1, label=f"full: {found[-1]}"))
        last = max(last, seconds[-1] / unit)
    most = max(begin, *(mark.y.max() for mark in marks if isinstance(mark, Lines)), 1)
    return Panel(
        marks,
        title="nearest-neighbour errors of a run",
        x=Axis("time, in passes of Algorithm 1", (0, max(1.05 * last, 5.0))),
        y=Axis("errors", (0, 1.1 * most)),
    )


def scale(data, kernel, noise, start, n_active, n_points, included, formula, state):
    """(11) against a factor on the kernel: printed, it asks for D times too much."""
    now = chosen(data, kernel, noise, start, n_active, n_points, state)
    Y = load(data, n_points)[0]
    values, best = scale_curve(Y, now, included, formula)
    charge = max(included, 2) * (Y.shape[1] if formula == CORRECTED else 1)
    top = values.max()
    return Panel(
        [Lines("curve", SCALES, values, colour=2), Rules("best", x=[best], colour="accent")],
        title=f"{formula}: best factor {best:.3g}",
        x=Axis("kernel multiplied by", (SCALES[0], SCALES[-1]), log=True),
        y=Axis("log likelihood", (top - 1.3 * charge, top + 0.1 * charge)),
    )


def says(data, kernel, noise, start, n_active, n_points, included, formula, state):
    """The numbers that the code shown prints."""
    now = chosen(data, kernel, noise, start, n_active, n_points, state)
    Y, target, _ = load(data, n_points)
    _, best = scale_curve(Y, now, included, formula)
    when, beside = words_of_run(state)
    beside += str(state.full[0][-1]) if beside else ""
    nats, wrong = now.selection.gains[:included].sum(), nearest_neighbour_errors(now.X, target)
    return f"{when}{included} of {n_active} points in, {nats:.1f} nats; best factor {best:.3g}; errors: {wrong}{beside}"


def words_of_run(state):
    """What stands before the numbers of a run, and before the errors of the full model."""
    if state is None or state.full is None:
        return "" if state is None else f"pass {state.passes}: ", ""
    return f"pass {state.passes}: ", f"; of the full model, step {len(state.full[0]) - 1}: "


panel_ivm = SceneOf(entropy, gains, errors, scale, defaults=OPENING, says=says)

HEAD = """\
import numpy as np
from gplvm_edu import datasets
from gplvm_edu.gplvm import GPLVM, factorise, log_likelihood
from gplvm_edu.ivm import SparseGPLVM, printed_active_log_likelihood, select_active_set, sparse_model
from gplvm_edu.kernels import MLP, RBF, Bias, White
from gplvm_edu.linalg import centre
from gplvm_edu.metrics import nearest_neighbour_errors
from gplvm_edu.starts import initial_positions
from gplvm_edu.threads import one_thread

{load}
v = Y.var()
kernel = {kernel} + Bias(min(np.exp(-2.0), v)) + White({noise:g} * v)
"""
START = """\
X = initial_positions(Y, 2, "{start}", np.random.RandomState(0))
"""
FULL = """\
full = GPLVM(kernel=kernel, init=X, max_iter={full_steps})
*_, state = (state for _, state in zip(range({step} + 1), full.iterates(Y)))
full_errors = nearest_neighbour_errors(state.X, target)
"""
PASSES = """\
sparse = SparseGPLVM(n_active={n_active}, max_iter={n_passes}, kernel=kernel, init=X)
*_, state = (state for _, state in zip(range({passes} + 1), sparse.iterates(Y)))
X, kernel = state.X, state.model.kernel
"""
ONE_THREAD = "with one_thread():                    # of BLAS: a run that repeats the explorer's to the last digit\n"
TAIL = """
split = sparse_model(kernel)                               # the White part is the noise of the data
selection = select_active_set(Y, X, split.f_kernel, split.noise, {n_active})
nats = selection.gains[:{included}].sum()
errors = nearest_neighbour_errors(X, target)

I = selection.active[:max({included}, 2)]                   # (11), with the kernel multiplied by c
K = kernel(X[I])
values = [{value}(Y[I], c * K) for c in np.geomspace(0.05, 5e4, 121)]
best = np.sum(factorise(Y[I], K).A * Y[I]) / {charge}       # where the derivative in c is zero
numbers = f"{{nats:.1f}} nats; best factor {{best:.3g}}; errors: {{errors}}"
print(f"{when}{included} of {n_active} points in, {{numbers}}{beside}")
"""


class IVMExplorer(Explorer):
    """Controls for `panel_ivm`; Run goes through Algorithm 1, then lets the full model climb beside it."""

    title = "The informative few: which point next, and what do they know?"
    panels = panel_ivm
    light = ("included", "formula")
    opens_after_run = True
    questions = (
        Question(
            "No point is in yet, and an RBF kernel is as uncertain in one place as in another: the first point may "
            "be any. Where will the second one be?",
            dict(OPENING, included=0),
            dict(included=1),
            "Far from the first. Round a point that is in the map is known, and a second one there would tell "
            "little; the star stands where the map is bright. With Gaussian noise the measurements themselves play "
            "no part: only the places do.",
            ("close to the first", "in the middle of all points", "far from the first"),
            2,
        ),
        Question(
            "A tenth of the variance is noise, and after 16 points no other tells more than 5 nats. If there is a "
            "hundred times less noise, how many will it take until then?",
            dict(OPENING, n_active=40, included=40),
            dict(noise=0.001),
            "More, 37: with little noise every point pins the map down in a smaller neighbourhood, and there is more "
            "left to be known in between. How many active points suffice depends on noise and width, not on the number "
            "of data.",
            ("fewer", "as many", "more"),
            2,
        ),
        Question(
            "The paper's equation (11) charges for one output instead of all D = 12. If the kernel may be multiplied "
            "by a factor, which factor will the printed formula ask for?",
            dict(OPENING, included=30, formula=CORRECTED),
            dict(formula=PRINTED),
            "One that is twelve times too large: it maximises -1/2 ln|cK| - 1/(2c) tr(K^-1 YY'), and the trace "
            "sums over twelve outputs while the determinant is paid once. Noise and all, the model then believes "
            "the data to be twelve times more uncertain than they are.",
            ("the same factor", "one 12 times larger", "one 12 times smaller"),
            1,
        ),
    )

    def make_controls(self):
        return {
            "data": {"data": buttons(list(LOAD))},
            "kernel": {
                "kernel": buttons(("RBF", "MLP")),
                "noise": steps((0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0), 0.1, "noise share"),
            },
            "start": {"start": menu(("pca", "isomap", "kernel_pca", "random"), name="positions")},
            "size": {
                "n_active": slider(30, 3, 80, 1, "active points"),
                "n_points": slider(200, 100, 1000, 50, "all points"),
            },
            "more": {
                "included": slider(5, 0, 30, 1, "points in"),
                "formula": menu((CORRECTED, PRINTED), name="likelihood"),
            },
        }

    def ranges(self, settings):
        """At most all active points are in; no more points than there are, or than a start is quick with."""
        there = {"oil flow": 1000, "digits": 900}[settings["data"]]
        quick = {"isomap": 300, "kernel_pca": 800}.get(settings["start"], there)
        return {"included": {"max": settings["n_active"]}, "n_points": {"max": min(there, quick)}}

    def code(self, settings, state):
        fit = START
        if state is not None:
            fit = ONE_THREAD + indent(START + (FULL if state.full else "") + PASSES, "    ")
        corrected = settings["formula"] == CORRECTED
        when, beside = words_of_run(state)
        beside += "{full_errors}" if beside else ""
        return (HEAD + fit + TAIL).format(
            load=LOAD[settings["data"]].format(**settings),
            kernel="RBF(v, 1.0)" if settings["kernel"] == "RBF" else "MLP(v)",
            full_steps=FULL_STEPS,
            n_passes=N_PASSES,
            passes=state and state.passes,
            step=state and state.full and len(state.full[0]) - 1,
            value="log_likelihood" if corrected else "printed_active_log_likelihood",
            charge="Y[I].size" if corrected else "len(I)",
            when=when,
            beside=beside,
            **{name: settings[name] for name in ("noise", "start", "n_active", "included")},
        )

    def point(self, panel, x, y):
        """In the map: one more point; in the gains: as many as you point at."""
        wanted = self.settings["included"] + 1 if panel == "entropy" else round(x)
        return {"included": int(np.clip(wanted, 0, self.settings["n_active"]))}

    def nudge(self, panel, right, up):
        """Arrow keys: one inclusion on or back."""
        return {"included": int(np.clip(self.settings["included"] + right + up, 0, self.settings["n_active"]))}

    def iterates(self, settings):
        """Algorithm 1, pass by pass; then the full model from the same start."""
        data, n_points = settings["data"], settings["n_points"]
        Y, target, _ = load(data, n_points)
        X = start_positions(data, settings["start"], n_points)
        kernel = start_kernel(data, settings["kernel"], settings["noise"], n_points)
        sparse = SparseGPLVM(n_active=settings["n_active"], max_iter=N_PASSES, kernel=kernel, init=X)
        for step, (state, wrong, seconds) in enumerate(timed(sparse.iterates(Y), target)):
            run = Run(state.X, state.model.kernel, wrong, seconds)
            yield 0.5 * step / N_PASSES, run
        full = GPLVM(kernel=kernel, init=X, max_iter=FULL_STEPS)
        for step, (_, *beside) in enumerate(timed(full.iterates(Y), target)):
            yield 0.5 + 0.5 * step / FULL_STEPS, run._replace(full=tuple(beside))


def timed(states, target):
    """Each state of a fit with errors and seconds of all so far, from the first state on; drawing does not count."""
    wrong, seconds, begin = (), (), None
    for state in states:
        seconds = (*seconds, 0.0 if begin is None else process_time() - begin)
        wrong = (*wrong, nearest_neighbour_errors(state.X, target))
        yield state, wrong, seconds
        begin = process_time() - seconds[-1]


def explore_ivm(**settings) -> IVMExplorer:
    """The live explorer of chapter 7; any control can be set: ``explore_ivm(n_active=50, included=10)``."""
    return IVMExplorer(**settings)
