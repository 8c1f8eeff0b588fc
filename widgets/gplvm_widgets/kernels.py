"""`explore_kernels`: choose a covariance, put data down, and see what is left of its functions.

Without data this is the prior: the matrix, functions on a line, sheets in space. With data: the posterior, the terms of
the evidence, and its surface over width and noise, which Run climbs.
"""

from functools import lru_cache
from typing import NamedTuple

import ipywidgets as W
import numpy as np
from scipy.special import erf

from gplvm_edu.kernels import (
    MLP,
    RBF,
    Bias,
    Kernel,
    Linear,
    Matern32,
    Periodic,
    White,
    climb_evidence,
    leaves,
    split_white,
)
from gplvm_edu.linalg import cholesky_with_jitter

from .conditioning import (
    FIVE,
    INVERSE_WIDTH,
    MOST,
    N_SIDE,
    TWO_OPTIMA,
    evidence_panel,
    nearest,
    places,
    posterior_of,
    surface_of,
    surface_panel,
    terms_of,
)
from .controls import buttons, log_slider, menu, slider, text
from .explorer import Explorer, Question
from .scene import Axis, Band, Image, Lines, Panel, Patches, Points, Rules, SceneOf, remember

NETWORK = {"erf units: w/2 and b/2": 0.5, "undoubled: w and b": 1.0}  # prior variances of the network, in w and b
ERF_UNITS = "erf units: w/2 and b/2"
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
    "period": "",  # out of sight
    "weight_variance": "",
    "bias_variance": "",
}
NOISES = (-4.0, 0.0)  # powers of ten
ACROSS = {  # of the surface: the parameter, by the kind of the first kernel; its name and its powers of ten
    Linear: ("variance", "variance of the slope", (-1.0, 1.0)),
    MLP: ("weight_variance", "weights w", (-1.0, 3.0)),
    None: ("inverse_width", INVERSE_WIDTH, (-1.5, 2.0)),
}
HIGHEST = 10.0  # of a datum
CORNERS = ((-REACH, -HIGHEST), (REACH, HIGHEST))
CLIMB = dict(longest=0.07, max_iter=300)  # short steps: a path that the eye can follow


@lru_cache(maxsize=64)
def make_kernel(first="RBF", combine="alone", second="linear", variance=1.0, bias=0.0, **sliders):
    """The kernel of one setting, one object for equal settings; a bias of 0 is left out of the sum."""
    sliders = {**SLIDERS, **sliders}

    def leaf(kind, variance):
        Kind, names = KINDS[kind]
        return Kind(variance, *(sliders[name] for name in names))

    kernel = leaf(first, variance)
    if combine != "alone":
        other = leaf(second, 1.0)
        kernel = kernel + other if combine == "+" else kernel * other
    return kernel + Bias(bias) if bias > 0 else kernel


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


def read_data(text):
    """The data of a text such as "-1 0.5, 2 1": an array (N, 2); what lies outside the picture is brought to its edge.

    Examples
    --------
    >>> read_data("-1 0.5, 7 1")
    array([[-1. ,  0.5],
           [ 3. ,  1. ]])
    """
    words = text.replace(",", " ").replace(";", " ").split()
    try:
        numbers = np.array([float(word) for word in words])
    except ValueError:
        numbers = np.array([np.nan])
    if len(numbers) % 2 or not np.isfinite(numbers).all():
        raise ValueError("Write the data as pairs of numbers, x and y, with commas between: “-1 0.5, 2 1”.")
    if len(numbers) > 2 * MOST:
        raise ValueError(f"There are {len(numbers) // 2} data. At most {MOST} have room here: take some away.")
    return np.clip(numbers.reshape(-1, 2), *CORNERS)


def write_data(data):
    """The text of which `read_data` makes these data, to two digits after the point.

    Examples
    --------
    >>> write_data([(-1, 0.5), (2.001, 1)])
    '-1 0.5, 2 1'
    """
    return ", ".join(f"{round(float(x), 2) + 0.0:g} {round(float(y), 2) + 0.0:g}" for x, y in data)


def no_data(text):
    """True where the text has no datum."""
    return not text.replace(",", " ").replace(";", " ").split()


class Climb(NamedTuple):
    """A state of Run on data: after so many steps uphill, the kernel and the noise variance, and the way there."""

    step: int
    kernel: Kernel
    noise: float
    path: np.ndarray  # (step + 1, 2): what the surface shows across, and the noise variance


def across_of(kernel):
    """What the surface shows across: names of the kernel's parameters, their name in words, their powers of ten."""
    attribute, words, span = ACROSS.get(type(leaves(kernel)[0]), ACROSS[None])
    names = [name for name in kernel.get_params() if name.split("__")[-1] == attribute]
    return names if attribute != "variance" else names[:1], words, span


def width_of(kernel):
    """The present value of what the surface shows across."""
    return kernel.get_params()[across_of(kernel)[0][0]]


def with_width(kernel, value):
    """A copy of the kernel with another width, in all of its parts that share the slider."""
    return kernel.copy().set_params(**dict.fromkeys(across_of(kernel)[0], float(value)))


def climbing(kernel, noise):
    """The start of a climb: noise included, and all fixed but the width and the noise."""
    start = kernel.copy() + White(noise)
    moving = [name for name in start.get_params() if name.endswith(across_of(kernel)[0][0])][:1]
    return start.fix(*[name for name in list(start.get_params())[:-1] if name not in moving])


def climb(kernel, data, noise):
    """The states of Run: short steps up the log evidence, from this width and this noise variance."""
    x, y = read_data(data).T
    path = []
    for step, (reached, _) in enumerate(climb_evidence(climbing(kernel, noise), x[:, None], y, **CLIMB)):
        function, noise = split_white(reached)
        function.fixed = ()
        path.append((width_of(function), noise))
        yield Climb(step, function, noise, np.array(path))


def reached(kernel, noise, state):
    """Kernel and noise variance as they are set, or as Run has reached them."""
    return (state.kernel, state.noise) if isinstance(state, Climb) else (kernel, noise)


@remember(maxsize=4)
def on_line(kernel, data, noise, n_points):
    """Mean, covariance and its Cholesky factor on the line: of the posterior, or without data of the prior."""
    x, y = read_data(data).T
    mean, K = posterior_of(kernel, x, y, line(n_points)[:, 0], noise)
    return mean, K, cholesky_with_jitter(K)[0]


@remember(maxsize=4)
def in_plane(kernel):
    """The Cholesky factor of K in the plane."""
    return cholesky_with_jitter(kernel(plane()))[0]


def sample_functions(kernel, data, noise, n_points, n_samples, seed, state=None):
    """Functions on the line, (n_points, n_samples): of the posterior; of the prior, where Run walks through them."""
    kernel, noise = reached(kernel, noise, state)
    mean, _, L = on_line(kernel, data, noise, n_points)
    return mean[:, None] + draw(L, n_samples, seed).at(None if isinstance(state, Climb) else state)


def zeros_per_unit(functions):
    """How often the functions cross zero in one unit of x, on average."""
    return np.mean(np.sum(np.diff(np.sign(functions), axis=0) != 0, axis=0)) / (2 * REACH)


def network_covariance(anchor, x, variance, weight_variance, bias_variance, share, seed=0):
    """Covariance between x and the anchor in a network of N_UNITS random erf units, times theta pi / 2.

    The units' weights and biases have the prior variances share * w and share * b; equation (2.22), by counting.
    """
    rng = np.random.default_rng(seed)
    u = np.sqrt(share * weight_variance) * rng.standard_normal(N_UNITS)
    c = np.sqrt(share * bias_variance) * rng.standard_normal(N_UNITS)
    units = erf(np.asarray(x)[:, None] * u + c)  # (2.22)  (points, units)
    return variance * np.pi / 2 * units @ erf(anchor * u + c) / N_UNITS


OPENING = dict(
    kernel=make_kernel(), data="", noise=0.01, network=ERF_UNITS, seed=0, n_samples=4, n_points=60, anchor=0.0
)


def functions(kernel, data, noise, n_points, n_samples, seed, state):
    """Draws, mean and two deviations of the functions that the data leave; without data those of the prior."""
    points, x = read_data(data), line(n_points)[:, 0]
    f = sample_functions(kernel, data, noise, n_points, n_samples, seed, state)
    limit = 3.2 * np.sqrt(kernel.diag(line(n_points)).max())
    kernel, noise = reached(kernel, noise, state)
    mean, K, _ = on_line(kernel, data, noise, n_points)
    deviation = np.sqrt(np.maximum(np.diag(K), 0.0))
    known = len(points) > 0
    marks = [
        Band("band", x, mean - 2 * deviation, mean + 2 * deviation, label="two deviations"),
        Rules("zero", y=[0]),
        *(Lines(f"function {k}", x, column, colour=k, width=1.1 if known else 1.5) for k, column in enumerate(f.T)),
    ]
    title = f"prior draws: {zeros_per_unit(f):.2f} zeros per unit"
    if known:
        marks += [
            Lines("mean", x, mean, colour="ink", width=2.6, label="mean"),
            Points("data", *points.T, colour="ink", size=8, label="data"),
            Points("ring", *points[-1:].T, colour="accent", hollow=True, size=16),
        ]
        title = "posterior draws"
        limit = max(limit, 1.15 * np.abs(points[:, 1]).max())
    across, up = Axis("x", (-REACH, REACH)), Axis("f(x)", (-limit, limit))
    hint = "click or drag data" if known else "click to put a datum down"
    return Panel(marks, title=title, hint=hint, x=across, y=up, listens="drag")


def evidence(kernel, data, noise, state):
    """The terms of the log evidence; nothing without data."""
    if not len(read_data(data)):
        return None
    kernel, noise = reached(kernel, noise, state)
    return evidence_panel(terms_of(kernel, *read_data(data).T, noise))


@remember(maxsize=4)
def surface_values(kernel, data):
    """The log evidence of the data for every width and every noise variance of the picture."""
    kernels = [with_width(kernel, value) for value in places(*across_of(kernel)[2])]
    return surface_of(kernels, *read_data(data).T, places(*NOISES))


def surface(kernel, data, noise, state):
    """The log evidence over width and noise, where we are, and how Run came here; nothing without data."""
    if not len(read_data(data)):
        return None
    _, words, span = across_of(kernel)
    place = (width_of(kernel), noise) if state is None else state.path[-1]
    path = None if state is None else state.path
    return surface_panel(surface_values(kernel, data), span, NOISES, place, words, path, hint="drag the cross")


def matrix(kernel, data, n_points, anchor):
    """K of the prior as a picture: one row and one column for each point of the line; nothing where there are data."""
    if len(read_data(data)):
        return None
    K = on_line(kernel, data, 1.0, n_points)[1]
    limit = np.abs(K).max()
    image = Image(
        "K", K, extent=(-REACH, REACH, REACH, -REACH), low=-limit, high=limit, ramp="diverging", bar="covariance"
    )
    marks = [image, Rules("anchor", y=[anchor], colour="ink", dash=True)]
    return Panel(marks, title="K", hint="drag to choose a row", x=Axis("x'"), y=Axis("x"), listens="drag")


@remember(maxsize=4)
def lowest_and_highest(kernel):
    """Limits of the covariances between points of the line."""
    K = kernel(line(61), line(61))
    return K.min(), K.max()


def row(kernel, data, noise, network, anchor, state):
    """The covariance of the value at the anchor with the values elsewhere: before the data, and after them."""
    points, x = read_data(data), line(121)
    low, high = lowest_and_highest(kernel)
    kernel, noise = reached(kernel, noise, state)
    before = kernel(np.array([[anchor]]), x)[0]
    marks = [Rules("zero", y=[0]), Rules("anchor", x=[anchor], colour="ink", dash=True)]
    if len(points):
        after = posterior_of(kernel, *points.T, np.append(anchor, x[:, 0]), noise)[1][0, 1:]
        marks.append(Lines("prior", x[:, 0], before, colour="quiet", dash=True, label="before the data"))
        marks.append(Lines("k", x[:, 0], after, label="after the data"))
        marks.append(Rules("data", x=points[:, 0], colour="pale"))
    else:
        marks.append(Lines("k", x[:, 0], before, label="k(x, anchor)"))
        mlp = mlp_of(kernel)
        if mlp is not None:
            dots = np.linspace(-REACH, REACH, 25)
            values = network_covariance(anchor, dots, **mlp.get_params(), share=NETWORK[network])
            marks.append(Points("network", dots, values, colour="accent", label=f"{N_UNITS} erf units"))
    low = min(1.15 * low, -(0.35 if len(points) else 0.08) * high)  # after the data it may be below zero
    across, up = Axis("x", (-REACH, REACH)), Axis("covariance", (low, 1.15 * high))
    return Panel(marks, title=f"covariance with the value at {anchor:.2g}", x=across, y=up, listens="drag")


def sheet(kernel, data, seed, state):
    """The image of the latent plane under three functions of the prior; the axes have room for the walk of Run."""
    if len(read_data(data)):
        return None
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


def says(kernel, data, noise, n_points, n_samples, seed, anchor, state):
    """The numbers that the code shown prints."""
    points, place = read_data(data), np.array([anchor])
    if not len(points):
        zeros = zeros_per_unit(sample_functions(kernel, data, noise, n_points, n_samples, seed, state))
        variance = kernel.diag(place[:, None])[0]
        return (
            f"the functions cross zero {zeros:.2f} times per unit; their variance at x = {anchor:g} is {variance:.3g}"
        )
    kernel, noise = reached(kernel, noise, state)
    fit, volume, constant, total = terms_of(kernel, *points.T, noise)
    mean, variance = (value.item() for value in posterior_of(kernel, *points.T, place, noise))
    return SENTENCE.format(total, fit, volume, constant, anchor, mean, np.sqrt(max(variance, 0.0)))


SENTENCE = "log evidence {:.2f} = fit {:.2f}, volume {:.2f}, constant {:.2f}; f({:g}) = {:z.2f} ± {:.2f}"
panel_kernels = SceneOf(functions, evidence, surface, matrix, row, sheet, defaults=OPENING, says=says)


PRIOR_IMPORTS = """\
from gplvm_edu.kernels import gp_prior_samples
from gplvm_edu.linalg import cholesky_with_jitter
"""
POSTERIOR_IMPORTS = """\
from gplvm_edu.kernels import climb_evidence, evidence_surface, evidence_terms, gp_posterior, split_white
from gplvm_edu.linalg import cholesky_with_jitter
"""
HEAD = """\
import numpy as np
from gplvm_edu.kernels import MLP, RBF, Bias, Linear, Matern32, Periodic, White
{imports}
kernel = {kernel}
x = np.linspace(-{reach:g}, {reach:g}, {n_points})[:, None]
"""
PRIOR = """\
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
print(f"the functions cross zero {{zeros:.2f}} times per unit; their variance at x = {anchor:g} is {{variance:.3g}}")
"""
NETWORK_CODE = """
from scipy.special import erf

rng = np.random.default_rng(0)                  # {n_units} hidden units; prior variances {network}
u = np.sqrt({share:g} * {weight_variance:g}) * rng.standard_normal({n_units})
c = np.sqrt({share:g} * {bias_variance:g}) * rng.standard_normal({n_units})
dots = np.linspace(-{reach:g}, {reach:g}, 25)
network = {variance:g} * np.pi / 2 * erf(dots[:, None] * u + c) @ erf({anchor:g} * u + c) / {n_units}
"""

DATA = """\
data = np.array({data})
X, y, noise = data[:, :1], data[:, 1], {noise:g}
"""
CLIMBED = """
start = kernel + White(noise)
start.fixed = {fixed}          # only the width and the noise move
steps = climb_evidence(start, X, y, longest={longest:g}, max_iter={max_iter})
kernel, noise = split_white([now for now, _ in zip(steps, range({step} + 1))][-1][0])      # after {step} steps
"""
POSTERIOR = """
mean, covariance = gp_posterior(kernel, X, y, x, noise, full_covariance=True)
L, _ = cholesky_with_jitter(covariance)
functions = mean[:, None] + L @ np.random.default_rng({seed}).standard_normal((len(x), {n_samples}))

terms = evidence_terms(kernel, X, y, noise)
widths, noises = 10 ** np.linspace({left:g}, {right:g}, {n_side}), 10 ** np.linspace({bottom:g}, {top:g}, {n_side})
kernels = [kernel.copy().set_params(**dict.fromkeys({across}, width)) for width in widths]
surface = evidence_surface(kernels, X, y, noises).T                  # rows: noise variances
here, variance = gp_posterior(kernel, X, y, np.array([[{anchor:g}]]), noise)
print(f"log evidence {{terms.total:.2f}} = fit {{terms.fit:.2f}}, volume {{terms.volume:.2f}},",
      f"constant {{terms.constant:.2f}}; f({anchor:g}) = {{here[0]:z.2f}} ± {{variance[0]**0.5:.2f}}")
"""

FEW = write_data(FIVE)
TWO = write_data(TWO_OPTIMA)
DATA_SETS = {"None": "", "Five": FEW, "Two optima": TWO}  # a button for each
# the questions set sliders to whole steps of theirs, 10^(0.05 k), to four digits: a page has no others
MIDDLE = "-1 0.4, -0.5 0.9, 0.2 0.6, 0.8 -0.3"
SMOOTH = "-2.6 -0.9, -1.9 -0.4, -1.2 0.3, -0.5 0.8, 0.2 0.9, 0.9 0.6, 1.6 0.1, 2.3 -0.5"
BASE = dict(first="RBF", combine="alone", second="linear", variance=1.0, bias=0.0, **SLIDERS)
BASE |= dict(data="", noise=0.01, seed=0, n_samples=4, n_points=60, anchor=0.0, network=ERF_UNITS)


class KernelsExplorer(Explorer):
    """Controls for `panel_kernels`; Run climbs the evidence, or, without data, moves the samples through the prior."""

    title = "Covariances, and what data leave of their functions"
    panels = panel_kernels
    light = ("anchor", "network")
    shown_states = N_STEPS + 1  # equal steps: all are shown
    questions = (
        Question(
            "This is the prior of an RBF with inverse width 4: no datum yet. Now four data are put down between "
            "x = -1 and x = 1. How wide will the band be at x = 3?",
            BASE | dict(inverse_width=3.981, anchor=3.0),
            dict(data=MIDDLE),
            "As wide as before, and the mean there is zero again. A value is known through its covariance with the "
            "data, and that of f(3) with f(0.8) is exp(-0.5 · 4 · 2.2²), less than 0.0001. Far from all data "
            "the posterior is the prior: equation (2.8) subtracts nothing. Lower the inverse width, and watch the "
            "data reach further.",
            ("narrower than before", "as wide as before", "wider than before"),
            1,
        ),
        Question(
            "Eight data of a smooth curve, inverse width 0.5. Make it 50: the functions become ten times narrower, "
            "and still pass near the data. Which term of the log evidence pays for it?",
            BASE | dict(data=SMOOTH, inverse_width=0.5012, anchor=3.0, n_points=120),
            dict(inverse_width=50.12),
            "The volume. Both pass near the data, and the fit is -1.55 before and after. But a narrow function might "
            "have gone anywhere between two data: its density is spread over far more data sets, and -½ ln |K| falls "
            "from 7.28 to -0.04. So the evidence prefers smooth functions to busy ones that fit no better, and "
            "nobody had to add a penalty.",
            ("the fit", "the volume", "neither: the sum stays as it is"),
            1,
        ),
        Question(
            "Run climbs the evidence of these ten data from inverse width 0.3 and noise variance 0.5, and ends in a "
            "wide function with much noise. Where does it end if it starts at inverse width 10 and noise variance "
            "0.02?",
            BASE | dict(data=TWO, inverse_width=0.3162, noise=0.5012),
            dict(inverse_width=10.0, noise=0.01995),
            "At another maximum: inverse width 6.5 and noise variance 0.010 with log evidence -9.04, beside 0.35 and "
            "0.12 with -9.24. A wave with little noise, or a trend with much: these data support both, and the "
            "start decides which one a climb finds. The stars mark both.",
            ("at the same place", "at another maximum", "nowhere: the evidence grows without end"),
            1,
            run="both",
        ),
    )

    def make_controls(self):
        small = {"width": "auto"}
        self._holding, self._keep, self._from = False, True, (0.0, 0.0)
        acts = {"Add": self.added, "Remove": self.removed, "Next": self.next_ringed}
        acts |= {name: lambda data=data: data for name, data in DATA_SETS.items()}
        self.data_buttons = {name: W.Button(description=name, layout=small) for name in acts}
        for name, act in acts.items():
            self.data_buttons[name].on_click(lambda _, act=act: self.want(lambda: {"data": act()}))
        return {
            "data": {"data": text(FEW, "data")},
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
                "noise": log_slider(0.01, *NOISES, "noise variance"),
            },
            "start": {"seed": slider(0, 0, 30, 1, "seed")},
            "size": {"n_samples": slider(4, 1, 8, 1, "functions"), "n_points": slider(60, 6, 120, 2, "points")},
            "more": {
                "anchor": slider(0.0, -REACH, REACH, 0.05, "anchor"),
                "network": menu(list(NETWORK), name="network"),
            },
        }

    def extra(self, group):
        made = list(self.data_buttons.values())
        if group == "data":
            return [W.HBox(made[:3]).add_class("gplvm-row"), W.HBox(made[3:]).add_class("gplvm-row")]
        return [W.HTML("of the draws; Run starts at the width and the noise that are set")] if group == "start" else []

    def arguments(self, settings):
        """The panels want the kernel, not what it is made of."""
        own = {name: settings[name] for name in OPENING if name != "kernel"}
        return {"kernel": make_kernel(**{name: settings[name] for name in settings if name not in own}), **own}

    def unused(self, settings):
        used = used_sliders(*(settings[name] for name in ("first", "combine", "second")))
        unused = {name: why for name, why in ONLY.items() if name not in used}
        if settings["combine"] == "alone":
            unused["second"] = "needs + or ×"
        if mlp_of(self.arguments(settings)["kernel"]) is None:
            unused["network"] = ""
        elif not no_data(settings["data"]):
            unused["network"] = "without data only"
        if no_data(settings["data"]):
            unused["noise"] = "there are no data"
        return unused

    def why_no_run(self, settings):
        several = len(across_of(self.arguments(settings)["kernel"])[0]) > 1
        return "the two kernels share a slider, and Run moves one" if several and not no_data(settings["data"]) else ""

    def code(self, settings, state):
        now = self.arguments(settings)
        kernel, points = now["kernel"], read_data(settings["data"])
        names, _, (left, right) = across_of(kernel)
        constants = dict(reach=REACH, length=2 * REACH, sheet_reach=SHEET_REACH, side=SIDE, n_steps=N_STEPS, **CLIMB)
        constants |= dict(left=left, right=right, bottom=NOISES[0], top=NOISES[1], n_side=N_SIDE, across=names)
        if len(points):
            text, imports = HEAD + DATA + ("" if state is None else CLIMBED) + POSTERIOR, POSTERIOR_IMPORTS
            constants |= dict(fixed=climbing(kernel, now["noise"]).fixed, step=getattr(state, "step", 0))
        else:
            text, imports = HEAD + PRIOR + (AT_THE_START if state is None else ON_THE_WALK) + TAIL, PRIOR_IMPORTS
            constants |= dict(step=state)
            mlp = mlp_of(kernel)
            if mlp is not None:
                text += NETWORK_CODE
                constants |= dict(n_units=N_UNITS, share=NETWORK[settings["network"]], **mlp.get_params())
        return text.format(**{**now, "data": points.tolist()}, **constants, imports=imports)

    # --- the reader's hand -----------------------------------------------------------------------------------
    def gesture(self, panel, x, y, phase):
        """In the picture of the functions: a click adds a datum or takes one away, a drag moves it."""
        if panel != "functions":
            return super().gesture(panel, x, y, phase)
        data, axes = read_data(self.settings["data"]).tolist(), self.scene.panel("functions")
        if phase == "down":
            near = nearest(data, x, y, (*axes.x.limits, *axes.y.limits))
            self._holding, self._keep, self._from = near is not None or len(data) < MOST, near is None, (x, y)
            if self._holding:  # the one that is held is the last
                data.append((x, y) if near is None else data.pop(near))
        elif self._holding and phase == "move":
            self._keep = self._keep or np.hypot(x - self._from[0], y - self._from[1]) > 0.02 * REACH
            if self._keep and data:
                data[-1] = (x, y)
        elif phase == "up":
            if self._holding and not self._keep:
                data = data[:-1]
            self._holding = False
        return {"data": write_data(data)}

    def point(self, panel, x, y):
        """On the surface: the width and the noise under the hand; elsewhere the anchor, a row of K, a place."""
        if panel == "surface":
            return self.at_place(10.0**x, 10.0**y)
        return {"anchor": float(np.clip(round(y if panel == "matrix" else x, 2), -REACH, REACH))}

    def at_place(self, width, noise):
        """The settings of a place on the surface, to whole steps of the sliders."""
        attribute = across_of(self.arguments(self.settings)["kernel"])[0][0].split("__")[-1]
        steps = {name: 0.05 * round(np.log10(value) / 0.05) for name, value in ((attribute, width), ("noise", noise))}
        limits = {name: (self.controls[name].min, self.controls[name].max) for name in steps}
        return {name: float(f"{10.0 ** np.clip(step, *limits[name]):.4g}") for name, step in steps.items()}

    def nudge(self, panel, right, up):
        """Arrow keys move the ringed datum, the cross of the surface, the anchor; in the matrix, down is forwards."""
        data = read_data(self.settings["data"]).tolist()
        if panel == "functions":
            x, y = data.pop() if data else (-0.05 * right, -0.05 * up)
            return {"data": write_data(np.clip([*data, (x + 0.05 * right, y + 0.05 * up)], *CORNERS))}
        if panel == "surface":
            width = width_of(self.arguments(self.settings)["kernel"])
            return self.at_place(width * 10 ** (0.05 * right), self.settings["noise"] * 10 ** (0.05 * up))
        step = 0.05 * (right - up if panel == "matrix" else right + up)
        return {"anchor": float(np.clip(round(self.settings["anchor"] + step, 2), -REACH, REACH))}

    def added(self):
        """The data and one more, on the mean in the middle of the widest gap; it has the ring."""
        now = self.arguments(self.settings)
        data = read_data(now["data"])
        if len(data) >= MOST:
            return now["data"]
        ends = np.sort(np.concatenate([[-REACH, REACH], data[:, 0]]))
        gap = np.argmax(np.diff(ends))
        x = round(float(ends[gap : gap + 2].mean()), 2)
        mean, _ = posterior_of(now["kernel"], *data.T, np.array([x]), now["noise"])
        return write_data([*data, (x, mean.item())])

    def removed(self):
        """The data without the ringed one."""
        return write_data(read_data(self.settings["data"])[:-1])

    def next_ringed(self):
        """The same data; the ring goes to the next one to the right."""
        data = read_data(self.settings["data"])
        order = np.argsort(data[:, 0], kind="stable").tolist()
        if not order:
            return ""
        chosen = order[(order.index(len(data) - 1) + 1) % len(data)]
        return write_data([*np.delete(data, chosen, axis=0), data[chosen]])

    def iterates(self, settings):
        """Uphill on the evidence; without data, a closed walk through the prior, whose last draw equals the first."""
        now = self.arguments(settings)
        if no_data(settings["data"]):
            for step in range(1, N_STEPS + 1):
                yield step / N_STEPS, step
            return
        states = list(climb(now["kernel"], now["data"], now["noise"]))  # quick: and now it is known how far it is
        for state in states:
            yield (state.step + 1) / len(states), state


def explore_kernels(**settings) -> KernelsExplorer:
    """The live explorer of chapter 2; any control can be set: ``explore_kernels(data="0 1, 1 -1", seed=3)``."""
    return KernelsExplorer(**settings)
