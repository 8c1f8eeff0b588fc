"""`explore_kernels`: choose a covariance and see its matrix, its functions on a line, and its sheets in space."""

import time
from functools import lru_cache
from typing import NamedTuple

import ipywidgets as W
import matplotlib
import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from scipy.special import erf

from gplvm_edu.kernels import MLP, RBF, Bias, Linear, Matern32, Periodic, White
from gplvm_edu.linalg import cholesky_with_jitter
from gplvm_edu.plotting import ACCENT, PALETTE, QUIET, in_style, new_figure

from .explorer import Explorer, Question

KINDS = ("linear", "RBF", "MLP", "Matern 3/2", "periodic")
COMBINE = ("alone", "+", "×")
NETWORK = {"corrected: prior variances w/2, b/2": 0.5, "as printed: prior variances w, b": 1.0}
CORRECTED = "corrected: prior variances w/2, b/2"
REACH, SHEET_REACH, SIDE = 3.0, 2.0, 15  # the line goes from -3 to 3, the plane from -2 to 2 with 15 x 15 knots
N_UNITS = 4000
N_STEPS, PAUSE = 150, 0.04  # of Run: states and seconds between them; a state takes no time to compute
MARGINS = dict(left=0.07, right=0.98, bottom=0.08, top=0.94, wspace=0.2, hspace=0.36)
USES = {  # the sliders that a kind uses, besides its variance
    "linear": (),
    "RBF": ("inverse_width",),
    "MLP": ("weight_variance", "bias_variance"),
    "Matern 3/2": ("inverse_width",),
    "periodic": ("inverse_width", "period"),
}


class View(NamedTuple):
    """Everything that the picture shows for one setting."""

    x: np.ndarray  # (N, 1)
    K: np.ndarray  # (N, N)
    deviation: np.ndarray  # (N,)
    functions: np.ndarray  # (N, n_samples)
    sheet: np.ndarray  # (SIDE * SIDE, 3)


def three_digits(value):
    """A value rounded to three digits, as the shown code prints it: the picture uses the same number."""
    return float(f"{value:.3g}")


def leaf(kind, variance, inverse_width, weight_variance, bias_variance, period):
    """One kernel of the menu with the sliders' values."""
    gamma = three_digits(inverse_width)
    return {
        "linear": lambda: Linear(variance),
        "RBF": lambda: RBF(variance, gamma),
        "MLP": lambda: MLP(variance, three_digits(weight_variance), three_digits(bias_variance)),
        "Matern 3/2": lambda: Matern32(variance, gamma),
        "periodic": lambda: Periodic(variance, gamma, three_digits(period)),
    }[kind]()


def make_kernel(
    first="RBF",
    combine="alone",
    second="linear",
    variance=1.0,
    inverse_width=1.0,
    weight_variance=10.0,
    bias_variance=10.0,
    period=2.0,
    bias=0.0,
    white=0.0,
    **others,
):
    """The kernel of one setting; a bias or white noise of 0 is left out of the sum."""
    sliders = (inverse_width, weight_variance, bias_variance, period)
    kernel = leaf(first, three_digits(variance), *sliders)
    if combine != "alone":
        other = leaf(second, 1.0, *sliders)
        kernel = kernel + other if combine == "+" else kernel * other
    for Term, level in ((Bias, bias), (White, white)):
        kernel = kernel + Term(three_digits(level)) if level > 0 else kernel
    return kernel


def plane():
    """The knots of the latent plane, row by row; (SIDE * SIDE, 2)."""
    side = np.linspace(-SHEET_REACH, SHEET_REACH, SIDE)
    return np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)


def draws(L, n_samples, seed, turn):
    """Samples on a circle of draws: at turn 0 those of gp_prior_samples, and at every turn a draw from the prior."""
    rng = np.random.default_rng(seed)
    here, there = rng.standard_normal((len(L), n_samples)), rng.standard_normal((len(L), n_samples))
    return L @ (np.cos(turn) * here + np.sin(turn) * there)  # (2.4)


@lru_cache(maxsize=16)
def factors(settings, n_points):
    """x, K and the Cholesky factors on the line and in the plane, for the settings that decide the kernel."""
    kernel = make_kernel(**dict(settings))
    x = np.linspace(-REACH, REACH, n_points)[:, None]
    K = kernel(x)
    return x, K, cholesky_with_jitter(K)[0], cholesky_with_jitter(kernel(plane()))[0]


DECIDE = (
    "first",
    "combine",
    "second",
    "variance",
    "inverse_width",
    "weight_variance",
    "bias_variance",
    "period",
    "bias",
    "white",
)


def view(seed=0, n_samples=4, n_points=60, turn=0.0, **settings):
    """Matrix, functions and sheet for one setting of the controls."""
    kernel_settings = tuple((name, settings[name]) for name in DECIDE if name in settings)
    x, K, L_line, L_plane = factors(kernel_settings, n_points)
    functions, sheet = draws(L_line, n_samples, seed, turn), draws(L_plane, 3, seed, turn)
    return View(x, K, np.sqrt(np.diag(K)), functions, sheet)


def network_covariance(anchor, x, variance, weight_variance, bias_variance, share, seed=0):
    """Covariance between x and the anchor in a network of N_UNITS random erf units, times theta pi / 2.

    The units' weights and biases have the prior variances share * w and share * b; equation (2.7), by counting.
    """
    rng = np.random.default_rng(seed)
    u = np.sqrt(share * weight_variance) * rng.standard_normal(N_UNITS)
    c = np.sqrt(share * bias_variance) * rng.standard_normal(N_UNITS)
    units = erf(np.asarray(x)[:, None] * u + c)  # (2.7)  (points, units)
    return variance * np.pi / 2 * units @ erf(anchor * u + c) / N_UNITS


@in_style
def panel_kernels(anchor=0.0, network=CORRECTED, seed=0, n_samples=4, n_points=60, turn=0.0, **settings) -> Figure:
    """Four views of one covariance: its matrix, functions on a line, one row of the matrix, a sheet in space.

    Parameters
    ----------
    anchor : float
        The point whose covariances with all others are drawn.
    network : str
        For the MLP kernel: the prior variances of the random network that is simulated beside it.
    seed, n_samples, n_points : int
    turn : float
        Angle along the wander of the samples; 0 unless Run is going.
    **settings : see `make_kernel`

    Returns
    -------
    matplotlib Figure
    """
    now = view(seed, n_samples, n_points, turn, **settings)
    figure, axes = new_figure(2, 2, size=(9.2, 6.6), margins=MARGINS)
    draw_matrix(axes[0, 0], now, anchor)
    draw_functions(axes[0, 1], now)
    draw_row(axes[1, 0], now, anchor, network, settings)
    draw_sheet(axes[1, 1], now.sheet)
    return figure


def draw_matrix(axes, now, anchor):
    """K as a picture: one row and one column for each point of the line."""
    limit = np.abs(now.K).max()
    shown = axes.imshow(
        now.K, extent=(-REACH, REACH, REACH, -REACH), vmin=-limit, vmax=limit, cmap="RdBu_r", interpolation="nearest"
    )
    axes.axhline(anchor, color="black", linewidth=0.8, linestyle=":")
    axes.figure.colorbar(shown, cax=axes.inset_axes([1.04, 0.0, 0.05, 1.0]))
    axes.set(title="K: click a row", xlabel="x'", ylabel="x", anchor="W")
    axes.set_gid("matrix")


def draw_functions(axes, now):
    """Sample functions, two deviations of the prior, and how often they cross zero."""
    x, f = now.x[:, 0], now.functions
    axes.fill_between(x, -2 * now.deviation, 2 * now.deviation, color="#ececec")
    axes.axhline(0.0, color=QUIET, linewidth=0.8)
    for k, column in enumerate(f.T):
        axes.plot(x, column, color=PALETTE[k % len(PALETTE)], linewidth=1.4)
    crossings = np.mean(np.sum(np.diff(np.sign(f), axis=0) != 0, axis=0)) / (2 * REACH)
    limit = 3.2 * now.deviation.max()
    axes.set(
        title=f"sample functions: {crossings:.2f} zeros a unit",
        xlabel="x",
        ylabel="f(x)",
        xlim=(-REACH, REACH),
        ylim=(-limit, limit),
    )


def draw_row(axes, now, anchor, network, settings):
    """One row of K: the covariance of the value at the anchor with the values elsewhere."""
    kernel = make_kernel(**settings)
    x = np.linspace(-REACH, REACH, 121)
    axes.axhline(0.0, color=QUIET, linewidth=0.8)
    axes.plot(x, kernel(np.array([[anchor]]), x[:, None])[0], color=PALETTE[0], label="k(x, anchor)")
    axes.axvline(anchor, color="black", linewidth=0.8, linestyle=":")
    alone = settings.get("combine", "alone") == "alone" and not settings.get("bias", 0.0)
    if settings.get("first", "RBF") == "MLP" and alone:
        part = kernel if isinstance(kernel, MLP) else kernel["mlp"]
        dots = np.linspace(-REACH, REACH, 25)
        values = network_covariance(
            anchor, dots, part.variance, part.weight_variance, part.bias_variance, NETWORK[network]
        )
        axes.plot(dots, values, "o", color=ACCENT, markersize=4, label=f"{N_UNITS} erf units")
        axes.legend(fontsize="small", loc="lower right")
    limit = 1.15 * np.abs(now.K).max()
    axes.set(
        title=f"covariance with the value at {anchor:.2g}",
        xlabel="x",
        ylabel="k",
        xlim=(-REACH, REACH),
        ylim=(-limit if now.K.min() < -1e-9 * limit else -0.08 * limit, limit),
    )
    axes.set_gid("row")


def draw_sheet(axes, sheet, azimuth=-50.0, elevation=25.0):
    """The image of the latent plane under three functions, seen from an angle, far patches drawn first."""
    a, e = np.radians(azimuth), np.radians(elevation)
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    up = np.array([-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)])
    centred = sheet - sheet.mean(axis=0)
    flat, depth = centred @ np.column_stack([right, up]), centred @ np.cross(right, up)
    knots, depth = flat.reshape(SIDE, SIDE, 2), depth.reshape(SIDE, SIDE)
    patches = np.stack([knots[:-1, :-1], knots[:-1, 1:], knots[1:, 1:], knots[1:, :-1]], axis=2).reshape(-1, 4, 2)
    nearness = (depth[:-1, :-1] + depth[1:, 1:]).ravel()
    column = np.tile(np.linspace(0, 1, SIDE - 1), SIDE - 1)  # colour: latent dimension 1
    order = np.argsort(nearness)
    colours = matplotlib.colormaps["viridis"](column[order])
    axes.add_collection(PolyCollection(patches[order], facecolors=colours, edgecolors="white", linewidths=0.4))
    axes.set_aspect("equal", adjustable="datalim")
    axes.autoscale_view()
    axes.set_title("a 2-D latent space in 3-D (colour: dimension 1)")
    axes.set_axis_off()


CODE = """\
import numpy as np
from gplvm_edu.kernels import MLP, RBF, Bias, Linear, Matern32, Periodic, White, gp_prior_samples

kernel = {kernel}
x = np.linspace(-{reach:g}, {reach:g}, {n_points})[:, None]
K = kernel(x)
functions = gp_prior_samples(kernel, x, n_samples={n_samples}, random_state={seed})
row = kernel(np.array([[{anchor:g}]]), x)[0]

side = np.linspace(-{sheet_reach:g}, {sheet_reach:g}, {side})
plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
sheet = gp_prior_samples(kernel, plane, n_samples=3, random_state={seed})     # three outputs: a sheet in space
"""

NETWORK_CODE = """
from scipy.special import erf

rng = np.random.default_rng(0)                  # {n_units} hidden units, {network}
u = np.sqrt({share:g} * {weight_variance:g}) * rng.standard_normal({n_units})
c = np.sqrt({share:g} * {bias_variance:g}) * rng.standard_normal({n_units})
dots = np.linspace(-{reach:g}, {reach:g}, 25)
network = {variance:g} * np.pi / 2 * erf(dots[:, None] * u + c) @ erf({anchor:g} * u + c) / {n_units}
"""

BASE = dict(
    first="RBF",
    combine="alone",
    second="linear",
    variance=1.0,
    inverse_width=1.0,
    weight_variance=10.0,
    bias_variance=10.0,
    period=2.0,
    bias=0.0,
    white=0.0,
    seed=0,
    n_samples=4,
    anchor=0.0,
    network=CORRECTED,
)


class KernelsExplorer(Explorer):
    """Controls for `panel_kernels`; Run moves the samples through the prior."""

    title = "Covariances and what they sample"
    questions = (
        Question(
            "The linear covariance gives a flat sheet, whatever the seed. What will the sheet look like with the "
            "RBF in its place?",
            BASE | dict(first="linear"),
            dict(first="RBF", inverse_width=0.3),
            "It bends. Three functions of the same two coordinates carry the plane into space, and they need not "
            "be planes any more: equation (2.3) asks only for covariances. The Swiss roll has become possible.",
        ),
        Question(
            "RBF, inverse width 1. If the inverse width is made four times larger, how do the samples change: "
            "higher, or busier? And by how much?",
            BASE,
            dict(inverse_width=4.0),
            "Busier, not higher: the band stays, and the samples cross zero twice as often, because the length "
            "scale is one over the root of the inverse width. The bright band along the diagonal of K halves.",
        ),
        Question(
            "Far from the anchor, the covariance of the RBF falls to zero. Does that of the MLP?",
            BASE | dict(inverse_width=2.0, anchor=1.0),
            dict(first="MLP"),
            "No: it levels off, above zero on the anchor's side and below zero on the other. Far out every erf "
            "unit is saturated, so the function there is a sum of constants which near points share (2.29). The "
            "dots are a network of 4000 random units. Now lower w and b to 1, choose the prior variances as "
            "printed, and watch the dots leave the curve.",
        ),
    )

    def make_controls(self):
        wide = dict(style={"description_width": "initial"})

        def log_slider(value, low, high, name):
            return W.FloatLogSlider(
                value,
                base=10,
                min=low,
                max=high,
                step=0.05,
                description=name,
                readout_format=".3g",
                layout=W.Layout(width="300px"),
                **wide,
            )

        def level(name):
            return W.FloatSlider(
                0.0,
                min=0.0,
                max=1.0,
                step=0.02,
                description=name,
                readout_format=".2f",
                layout=W.Layout(width="300px"),
                **wide,
            )

        def menu(options, value, width="110px"):
            return W.Dropdown(options=options, value=value, layout=W.Layout(width=width))

        return {
            "data": {
                "first": menu(KINDS, "RBF"),
                "combine": menu(COMBINE, "alone", "80px"),
                "second": menu(KINDS, "linear"),
            },
            "kernel": {
                "variance": log_slider(1.0, -1, 1, "variance"),
                "inverse_width": log_slider(1.0, -1.5, 2, "inverse width"),
                "period": log_slider(2.0, -0.5, 1, "period"),
                "weight_variance": log_slider(10.0, -1, 3, "weight variance w"),
                "bias_variance": log_slider(10.0, -1, 3, "bias variance b"),
                "bias": level("bias"),
                "white": level("white noise"),
            },
            "start": {"seed": W.IntSlider(0, 0, 30, description="seed", layout=W.Layout(width="230px"), **wide)},
            "size": {
                "n_samples": W.IntSlider(4, 1, 8, description="functions", layout=W.Layout(width="230px"), **wide),
                "n_points": W.IntSlider(60, 6, 120, 2, description="points", layout=W.Layout(width="230px"), **wide),
            },
            "more": {
                "anchor": W.FloatSlider(
                    0.0, min=-REACH, max=REACH, step=0.05, description="anchor", layout=W.Layout(width="250px"), **wide
                ),
                "network": W.Dropdown(
                    options=list(NETWORK),
                    description="network beside the MLP kernel",
                    layout=W.Layout(width="450px"),
                    **wide,
                ),
            },
        }

    def panel(self, settings, state):
        combined = settings["combine"] != "alone"
        used = {
            name
            for kind in (settings["first"], settings["second"] if combined else None)
            if kind
            for name in USES[kind]
        }
        for name in ("inverse_width", "period", "weight_variance", "bias_variance"):
            self.controls[name].layout.display = "" if name in used else "none"
        self.controls["second"].layout.display = "" if combined else "none"
        self.controls["network"].disabled = settings["first"] != "MLP" or combined
        return panel_kernels(**settings, turn=state or 0.0)

    def code(self, settings):
        kernel = make_kernel(**settings)
        text = CODE.format(
            kernel=kernel,
            reach=REACH,
            sheet_reach=SHEET_REACH,
            side=SIDE,
            **{k: settings[k] for k in ("n_points", "n_samples", "seed", "anchor")},
        )
        if settings["first"] == "MLP" and settings["combine"] == "alone" and not settings["bias"]:
            part = kernel if isinstance(kernel, MLP) else kernel["mlp"]
            text += NETWORK_CODE.format(
                n_units=N_UNITS,
                share=NETWORK[settings["network"]],
                reach=REACH,
                network=settings["network"],
                anchor=settings["anchor"],
                **part.get_params(),
            )
        return text

    def click(self, axes, x, y):
        if axes.get_gid() not in ("matrix", "row"):
            return {}
        place = y if axes.get_gid() == "matrix" else x
        return {"anchor": float(np.clip(round(place, 2), -REACH, REACH))}

    def iterates(self, settings):
        """A closed walk through the prior: every state is a sample of it, and the last equals the first."""
        for step in range(1, N_STEPS + 1):
            time.sleep(PAUSE)
            yield step / N_STEPS, 2 * np.pi * step / N_STEPS


def explore_kernels(**settings) -> KernelsExplorer:
    """The live explorer of chapter 2; any control can be set: ``explore_kernels(first="MLP", seed=3)``."""
    return KernelsExplorer(**settings)
