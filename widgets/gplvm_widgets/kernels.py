"""`explore_kernels`: choose a covariance and see its matrix, its functions on a line, and its sheets in space."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import erf

from gplvm_edu.kernels import MLP, RBF, Bias, Linear, Matern32, Periodic, White, split_white
from gplvm_edu.linalg import cholesky_with_jitter

from .controls import buttons, log_slider, menu, slider
from .explorer import Explorer, Question
from .scene import Axis, Band, Image, Lines, Panel, Patches, Points, Rules, SceneOf, remember

NETWORK = {"corrected: w/2 and b/2": 0.5, "as printed: w and b": 1.0}  # prior variances of the network, in w and b
CORRECTED = "corrected: w/2 and b/2"
REACH, SHEET_REACH, SIDE = 3.0, 2.0, 15  # the line goes from -3 to 3, the plane from -2 to 2 with 15 x 15 knots
N_UNITS = 4000
N_STEPS = 72  # of Run, once around the circle of draws
KINDS = {  # what a kernel of the menu is made of: its class, and the sliders it uses besides its variance
    "linear": (Linear, ()),
    "RBF": (RBF, ("inverse_width",)),
    "MLP": (MLP, ("weight_variance", "bias_variance")),
    "Matern 3/2": (Matern32, ("inverse_width",)),
    "periodic": (Periodic, ("inverse_width", "period")),
}
SLIDERS = dict(inverse_width=1.0, weight_variance=10.0, bias_variance=10.0, period=2.0)
ONLY = {  # why a slider has no effect
    "inverse_width": "neither linear nor MLP has one",
    "period": "periodic only",
    "weight_variance": "MLP only",
    "bias_variance": "MLP only",
}


@lru_cache(maxsize=64)
def make_kernel(first="RBF", combine="alone", second="linear", variance=1.0, bias=0.0, white=0.0, **sliders):
    """The kernel of one setting, one object for equal settings; a bias or white noise of 0 is left out of the sum."""
    sliders = {**SLIDERS, **sliders}

    def leaf(kind, variance):
        Kind, names = KINDS[kind]
        return Kind(variance, *(sliders[name] for name in names))

    kernel = leaf(first, variance)
    if combine != "alone":
        other = leaf(second, 1.0)
        kernel = kernel + other if combine == "+" else kernel * other
    for Term, level in ((Bias, bias), (White, white)):
        kernel = kernel + Term(level) if level > 0 else kernel
    return kernel


def used_sliders(first, combine, second):
    """Names of the sliders that the kernels chosen have."""
    kinds = [first] if combine == "alone" else [first, second]
    return {name for kind in kinds for name in KINDS[kind][1]}


def mlp_of(kernel):
    """The MLP kernel, if the kernel is nothing else but for white noise: then a network has this covariance."""
    smooth = split_white(kernel)[0]
    return smooth if isinstance(smooth, MLP) else None


class Draws(NamedTuple):
    """Two independent draws at each place; (cos t) here + (sin t) there is a draw for every angle t."""

    here: np.ndarray
    there: np.ndarray

    def at(self, step):
        """The draw after so many steps of Run; None is the beginning, the draw of `gp_prior_samples`."""
        turn = 2 * np.pi * (step or 0) / N_STEPS
        return np.cos(turn) * self.here + np.sin(turn) * self.there


def draw(L, n_samples, seed):
    """The two ends of a walk through the prior whose covariance is LL', (2.4)."""
    here, there = np.random.default_rng(seed).standard_normal((2, len(L), n_samples))
    return Draws(L @ here, L @ there)


def line(n_points):
    """Points of the line, (n_points, 1)."""
    return np.linspace(-REACH, REACH, n_points)[:, None]


def plane():
    """The knots of the latent plane, row by row; (SIDE * SIDE, 2)."""
    side = np.linspace(-SHEET_REACH, SHEET_REACH, SIDE)
    return np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)


@remember(maxsize=4)
def on_line(kernel, n_points):
    """K on the line, and its Cholesky factor."""
    K = kernel(line(n_points))
    return K, cholesky_with_jitter(K)[0]


@remember(maxsize=4)
def in_plane(kernel):
    """The Cholesky factor of K in the plane."""
    return cholesky_with_jitter(kernel(plane()))[0]


def sample_functions(kernel, n_points, n_samples, seed, state=None):
    """Functions on the line, (n_points, n_samples), at the start or at a step of Run."""
    return draw(on_line(kernel, n_points)[1], n_samples, seed).at(state)


def zeros_a_unit(functions):
    """How often the functions cross zero in one unit of x, on average."""
    return np.mean(np.sum(np.diff(np.sign(functions), axis=0) != 0, axis=0)) / (2 * REACH)


def network_covariance(anchor, x, variance, weight_variance, bias_variance, share, seed=0):
    """Covariance between x and the anchor in a network of N_UNITS random erf units, times theta pi / 2.

    The units' weights and biases have the prior variances share * w and share * b; equation (2.7), by counting.
    """
    rng = np.random.default_rng(seed)
    u = np.sqrt(share * weight_variance) * rng.standard_normal(N_UNITS)
    c = np.sqrt(share * bias_variance) * rng.standard_normal(N_UNITS)
    units = erf(np.asarray(x)[:, None] * u + c)  # (2.7)  (points, units)
    return variance * np.pi / 2 * units @ erf(anchor * u + c) / N_UNITS


OPENING = dict(kernel=make_kernel(), network=CORRECTED, seed=0, n_samples=4, n_points=60, anchor=0.0)


def matrix(kernel, n_points, anchor):
    """K as a picture: one row and one column for each point of the line."""
    K = on_line(kernel, n_points)[0]
    limit = np.abs(K).max()
    image = Image(
        "K", K, extent=(-REACH, REACH, REACH, -REACH), low=-limit, high=limit, ramp="diverging", bar="covariance"
    )
    marks = [image, Rules("anchor", y=[anchor], colour="ink", dash=True)]
    return Panel(marks, title="K", hint="drag to choose a row", x=Axis("x'"), y=Axis("x"), listens="drag")


def functions(kernel, n_points, n_samples, seed, state):
    """Sample functions, two deviations of the prior, and how often they cross zero."""
    x, deviation = line(n_points)[:, 0], np.sqrt(np.diag(on_line(kernel, n_points)[0]))
    f = sample_functions(kernel, n_points, n_samples, seed, state)
    marks = [
        Band("band", x, -2 * deviation, 2 * deviation, label="two deviations"),
        Rules("zero", y=[0]),
        *(Lines(f"function {k}", x, column, colour=k, width=1.5) for k, column in enumerate(f.T)),
    ]
    limit = 3.2 * deviation.max()
    title = f"sample functions: {zeros_a_unit(f):.2f} zeros a unit"
    return Panel(marks, title=title, x=Axis("x", (-REACH, REACH)), y=Axis("f(x)", (-limit, limit)))


@remember(maxsize=4)
def lowest_and_highest(kernel):
    """Limits of the covariances between points of the line."""
    K = kernel(line(61), line(61))
    return K.min(), K.max()


def row(kernel, network, anchor):
    """One row of K: the covariance of the value at the anchor with the values elsewhere."""
    x = line(121)
    marks = [
        Rules("zero", y=[0]),
        Lines("k", x[:, 0], kernel(np.array([[anchor]]), x)[0], label="k(x, anchor)"),
        Rules("anchor", x=[anchor], colour="ink", dash=True),
    ]
    mlp = mlp_of(kernel)
    if mlp is not None:
        dots = np.linspace(-REACH, REACH, 25)
        values = network_covariance(anchor, dots, **mlp.get_params(), share=NETWORK[network])
        marks.append(Points("network", dots, values, colour="accent", label=f"{N_UNITS} erf units"))
    low, high = lowest_and_highest(kernel)
    across, up = Axis("x", (-REACH, REACH)), Axis("k", (min(1.15 * low, -0.08 * high), 1.15 * high))
    return Panel(marks, title=f"covariance with the value at {anchor:.2g}", x=across, y=up, listens="drag")


def sheet(kernel, seed, state):
    """The image of the latent plane under three functions; the axes have room for the whole walk of Run."""
    walk = draw(in_plane(kernel), 3, seed)
    ends = [seen(points)[0] for points in walk]
    reach = np.sqrt(np.max(ends[0] ** 2 + ends[1] ** 2, axis=0))
    return sheet_panel(walk.at(state), "a plane carried into space (colour: x1)", reach)


def seen(points, azimuth=-50.0, elevation=25.0):
    """Points in space (N, 3) seen from an angle: where they are on the page (N, 2), and how near (N,)."""
    a, e = np.radians(azimuth), np.radians(elevation)
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    up = np.array([-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)])
    centred = points - points.mean(axis=0)
    return centred @ np.column_stack([right, up]), centred @ np.cross(right, up)


def sheet_panel(points, title, reach=None):
    """A sheet in space, its knots (side * side, 3) row by row, coloured along its rows."""
    side = round(np.sqrt(len(points)))
    flat, near = seen(points)
    knots, near = flat.reshape(side, side, 2), near.reshape(side, side)
    corners = np.stack([knots[:-1, :-1], knots[:-1, 1:], knots[1:, 1:], knots[1:, :-1]], axis=2).reshape(-1, 4, 2)
    column = np.tile(np.linspace(0, 1, side - 1), side - 1)
    patches = Patches("sheet", corners, column, depth=(near[:-1, :-1] + near[1:, 1:]).ravel())
    across, up = 1.03 * (np.abs(flat).max(axis=0) if reach is None else reach)
    x, y = Axis(limits=(-across, across), hidden=True), Axis(limits=(-up, up), hidden=True)
    return Panel([patches], title=title, x=x, y=y, equal=True)


def says(kernel, n_points, n_samples, seed, anchor, state):
    """The two numbers that the code shown prints."""
    zeros = zeros_a_unit(sample_functions(kernel, n_points, n_samples, seed, state))
    variance = kernel.diag(np.array([[anchor]]))[0]
    return f"the functions cross zero {zeros:.2f} times a unit; their variance at x = {anchor:g} is {variance:.3g}"


panel_kernels = SceneOf(matrix, functions, row, sheet, defaults=OPENING, says=says)


HEAD = """\
import numpy as np
from gplvm_edu.kernels import MLP, RBF, Bias, Linear, Matern32, Periodic, White, gp_prior_samples

kernel = {kernel}
x = np.linspace(-{reach:g}, {reach:g}, {n_points})[:, None]
K = kernel(x)
row = kernel(np.array([[{anchor:g}]]), x)[0]
side = np.linspace(-{sheet_reach:g}, {sheet_reach:g}, {side})
plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
"""
AT_THE_START = """
functions = gp_prior_samples(kernel, x, n_samples={n_samples}, random_state={seed})
sheet = gp_prior_samples(kernel, plane, n_samples=3, random_state={seed})     # three outputs: a sheet in space
"""
ON_THE_WALK = """
from gplvm_edu.linalg import cholesky_with_jitter


def wander(points, n_samples, turn):
    L, _ = cholesky_with_jitter(kernel(points))
    here, there = np.random.default_rng({seed}).standard_normal((2, len(L), n_samples))
    return L @ (np.cos(turn) * here + np.sin(turn) * there)        # a draw from the prior, whatever the turn


turn = 2 * np.pi * {step} / {n_steps}                                  # step {step} of {n_steps} around the circle
functions = wander(x, {n_samples}, turn)
sheet = wander(plane, 3, turn)                                     # three outputs: a sheet in space
"""
TAIL = """
zeros = np.mean(np.sum(np.diff(np.sign(functions), axis=0) != 0, axis=0)) / {length:g}
variance = kernel.diag(np.array([[{anchor:g}]]))[0]
print(f"the functions cross zero {{zeros:.2f}} times a unit; their variance at x = {anchor:g} is {{variance:.3g}}")
"""
NETWORK_CODE = """
from scipy.special import erf

rng = np.random.default_rng(0)                  # {n_units} hidden units; prior variances {network}
u = np.sqrt({share:g} * {weight_variance:g}) * rng.standard_normal({n_units})
c = np.sqrt({share:g} * {bias_variance:g}) * rng.standard_normal({n_units})
dots = np.linspace(-{reach:g}, {reach:g}, 25)
network = {variance:g} * np.pi / 2 * erf(dots[:, None] * u + c) @ erf({anchor:g} * u + c) / {n_units}
"""

BASE = dict(first="RBF", combine="alone", second="linear", variance=1.0, bias=0.0, white=0.0, **SLIDERS)
BASE |= dict(seed=0, n_samples=8, n_points=60, anchor=0.0, network=CORRECTED)


class KernelsExplorer(Explorer):
    """Controls for `panel_kernels`; Run moves the samples through the prior."""

    title = "Covariances and what they sample"
    panels = panel_kernels
    light = ("anchor", "network")
    shown_states = N_STEPS + 1  # equal steps: all are shown
    questions = (
        Question(
            "The linear covariance carries the plane to a flat sheet in space, whatever the seed. What will the sheet "
            "look like with the RBF in its place?",
            BASE | dict(first="linear", seed=1, anchor=1.0),
            dict(first="RBF", inverse_width=0.3),
            "It bends. Three functions of the same two coordinates carry the plane into space, and they need not "
            "be planes any more: equation (2.3) asks only for covariances. The Swiss roll has become possible.",
            ("flat still, but turned", "smooth and bent", "torn into single patches"),
            1,
        ),
        Question(
            "The RBF has inverse width 1. How do the samples change if it is made four times larger?",
            BASE,
            dict(inverse_width=4.0),
            "Busier, not higher: the band stays, and on average the samples cross zero twice as often, because the "
            "length scale is one over the root of the inverse width. The coloured band along the diagonal of K halves.",
            ("twice as high", "four times as many zeros", "twice as many zeros"),
            2,
        ),
        Question(
            "Far from the anchor, the covariance of the RBF falls to zero. And that of the MLP?",
            BASE | dict(inverse_width=2.0, anchor=1.0),
            dict(first="MLP"),
            "It levels off, above zero on the anchor's side and below zero on the other. Far out every erf "
            "unit is saturated, so the function there is a sum of constants which near points share (2.29). The "
            "dots are a network of 4000 random units. Now lower w and b to 1, choose the prior variances as "
            "printed, and watch the dots leave the curve.",
            ("it levels off, not at zero", "it falls to zero, more slowly", "it grows without end"),
            0,
        ),
    )

    def make_controls(self):
        return {
            "kernel": {
                "first": menu(list(KINDS), "RBF", "kernel"),
                "combine": buttons(["alone", "+", "×"]),
                "second": menu(list(KINDS), "linear", "second"),
                "variance": log_slider(1.0, -1, 1, "variance"),
                "inverse_width": log_slider(1.0, -1.5, 2, "inverse width"),
                "period": log_slider(2.0, -0.5, 1, "period"),
                "weight_variance": log_slider(10.0, -1, 3, "weights w"),
                "bias_variance": log_slider(10.0, -1, 3, "biases b"),
                "bias": slider(0.0, 0, 1, 0.02, "bias"),
                "white": slider(0.0, 0, 1, 0.02, "white noise"),
            },
            "start": {"seed": slider(0, 0, 30, 1, "seed")},
            "size": {"n_samples": slider(4, 1, 8, 1, "functions"), "n_points": slider(60, 6, 120, 2, "points")},
            "more": {
                "anchor": slider(0.0, -REACH, REACH, 0.05, "anchor"),
                "network": menu(list(NETWORK), name="network"),
            },
        }

    def arguments(self, settings):
        """The panels want the kernel, not what it is made of."""
        own = {name: settings[name] for name in ("network", "seed", "n_samples", "n_points", "anchor")}
        return {"kernel": make_kernel(**{name: settings[name] for name in settings if name not in own}), **own}

    def unused(self, settings):
        used = used_sliders(*(settings[name] for name in ("first", "combine", "second")))
        unused = {name: why for name, why in ONLY.items() if name not in used}
        if settings["combine"] == "alone":
            unused["second"] = "needs + or ×"
        if mlp_of(self.arguments(settings)["kernel"]) is None:
            unused["network"] = "MLP alone only"
        return unused

    def code(self, settings, state):
        now = self.arguments(settings)
        text = HEAD + (AT_THE_START if state is None else ON_THE_WALK) + TAIL
        mlp = mlp_of(now["kernel"])
        params = {}
        if mlp is not None:
            text += NETWORK_CODE
            params = dict(n_units=N_UNITS, share=NETWORK[settings["network"]], **mlp.get_params())
        constants = dict(reach=REACH, length=2 * REACH, sheet_reach=SHEET_REACH, side=SIDE, n_steps=N_STEPS)
        return text.format(**now, **constants, step=state, **params)

    def point(self, panel, x, y):
        """The anchor is where the hand is: a row of the matrix, or a place on the line."""
        return {"anchor": float(np.clip(round(y if panel == "matrix" else x, 2), -REACH, REACH))}

    def nudge(self, panel, right, up):
        """Arrow keys move the anchor; in the matrix, downwards is forwards."""
        step = 0.05 * (right - up if panel == "matrix" else right + up)
        return {"anchor": float(np.clip(round(self.settings["anchor"] + step, 2), -REACH, REACH))}

    def iterates(self, settings):
        """A closed walk through the prior: every state, a step's number, is a sample, and the last equals the first."""
        for step in range(1, N_STEPS + 1):
            yield step / N_STEPS, step


def explore_kernels(**settings) -> KernelsExplorer:
    """The live explorer of chapter 2; any control can be set: ``explore_kernels(first="MLP", seed=3)``."""
    return KernelsExplorer(**settings)
