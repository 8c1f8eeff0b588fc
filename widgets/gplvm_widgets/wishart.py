"""`explore_wishart`: probabilistic kernel PCA by its closed form and by EM, side by side, one iteration at a time."""

from functools import lru_cache
from typing import NamedTuple

import ipywidgets as W
import numpy as np
from matplotlib.figure import Figure

from gplvm_edu import datasets
from gplvm_edu.kernels import RBF, Linear
from gplvm_edu.metrics import procrustes_align, procrustes_distance, subspace_angle
from gplvm_edu.plotting import ACCENT, PALETTE, QUIET, in_style, new_figure, scatter_classes
from gplvm_edu.wishart import (
    WishartState,
    em_iterates,
    kernel_covariance,
    log_likelihood,
    maximum_likelihood,
    start_positions,
)

from .explorer import Explorer, Question

LOAD = {"iris": "load_iris().data", "oil flow": "simulate_oil_flow(200, random_state=0).data"}
PAPER = {"iris": 2.0, "oil flow": 0.2}  # the paper's beta in exp(-d^2 / beta)
STARTS = {"raw PCA scores": "raw pca", "scores / root N": "pca", "random": "random"}
COUNTS = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    8,
    10,
    13,
    16,
    20,
    25,
    30,
    40,
    50,
    65,
    80,
    100,
    130,
    160,
    200,
    250,
    300,
    400,
    500,
    650,
    800,
    1000,
)
MARGINS = dict(left=0.09, right=0.98, bottom=0.09, top=0.94, wspace=0.26, hspace=0.42)


class Moment(NamedTuple):
    """One state of EM, and how far it is from the closed form."""

    state: WishartState
    angle: float
    distance: float


class View(NamedTuple):
    """Everything that the picture shows of one setting."""

    closed_form: np.ndarray
    em: np.ndarray
    noise_variances: tuple
    log_likelihood: float
    best: float
    angles: np.ndarray
    distances: np.ndarray
    values: np.ndarray


@lru_cache(maxsize=4)
def load(data):
    """Rows, classes and their names, for one entry of the menu."""
    bunch = datasets.load_iris() if data == "iris" else datasets.simulate_oil_flow(200, random_state=0)
    return bunch.data, bunch.target, bunch.target_names


def kernel_of(data, kernel, width):
    """The kernel asked for; the RBF's width is the paper's beta, exp(-d^2 / beta), as a multiple of its value."""
    return Linear() if kernel == "linear" else RBF(1.0, inverse_width=2.0 / (width * PAPER[data]))


@lru_cache(maxsize=32)
def covariance(data, kernel, width):
    """S for one data set and kernel."""
    return kernel_covariance(kernel_of(data, kernel, width)(load(data)[0]))


@lru_cache(maxsize=64)
def closed_form(data, kernel, width, q):
    """Positions, noise and log likelihood of the maximum."""
    S = covariance(data, kernel, width)
    X, s2 = maximum_likelihood(S, q)
    if s2 == 0.0:
        raise ValueError(
            f"q = {q} leaves no direction for the noise: with the {kernel} kernel the centred matrix of "
            f"the {data} data has no more than {q} dimensions. Choose a smaller q (size)."
        )
    return X, s2, log_likelihood(S, X, s2)


@lru_cache(maxsize=24)
def path(data, kernel, width, start, noise, q):
    """EM's states at COUNTS, and at each its angle and distance to the closed form and its likelihood."""
    X_hat, _, _ = closed_form(data, kernel, width, q)
    S, kept = covariance(data, kernel, width), {}
    X = start_positions(STARTS[start], S, q, load(data)[0], random_state=0)
    for t, state in enumerate(em_iterates(S, X, noise, max_iter=COUNTS[-1])):
        if t in COUNTS:
            kept[t] = Moment(state, subspace_angle(X_hat, state.X), procrustes_distance(X_hat, state.X, scaling=False))
    return kept


def view(data, kernel, width, start, noise, q, iteration):
    """What the panel shows: both embeddings as they are, and the three curves."""
    X_hat, s2_hat, best = closed_form(data, kernel, width, q)
    kept = path(data, kernel, width, start, noise, q)
    now = kept[iteration].state
    values, angles, distances = np.array([(kept[t].state.value, kept[t].angle, kept[t].distance) for t in COUNTS]).T
    return View(X_hat, now.X, (s2_hat, now.noise_variance), now.value, best, angles, distances, values)


@in_style
def panel_wishart(
    data="iris", kernel="RBF", width=1.0, start="raw PCA scores", noise=1.0, q=2, iteration=50, align=False, state=None
) -> Figure:
    """Four views of one setting: closed form, EM after some iterations, its likelihood, its distance to the goal.

    Parameters
    ----------
    data : "iris" or "oil flow"
    kernel : "RBF" or "linear"
    width : float
        The kernel is exp(-d^2 / beta) with beta this multiple of the paper's (2 for iris, 0.2 for oil flow).
    start : "raw PCA scores", "scores / root N" or "random"
    noise : float
        The noise variance that EM starts with.
    q : int
    iteration : int
        One of COUNTS.
    align : bool
        Turn and reflect EM's embedding onto the closed form; its size is left alone.
    state : int or None
        While Run goes: the iteration to show instead.

    Returns
    -------
    matplotlib Figure
    """
    iteration = iteration if state is None else state
    now = view(data, kernel, width, start, noise, q, iteration)
    figure, axes = new_figure(2, 2, size=(9.2, 6.4), margins=MARGINS)
    draw_embeddings(axes[0], data, now, align, iteration)
    draw_likelihood(axes[1, 0], now, iteration)
    draw_distance(axes[1, 1], now, iteration)
    return figure


def draw_embeddings(axes, data, now, align, iteration):
    """The closed form and EM; in grey, the frame of the closed form repeated on EM's axes."""
    _, target, names = load(data)
    X_hat, X = now.closed_form, now.em
    shown = procrustes_align(X_hat, X, scaling=False) if align else X
    limit = 1.15 * np.abs(X_hat[:, :2]).max()
    room = max(limit, 1.15 * np.abs(shown[:, :2]).max())
    for ax, points, title, size in (
        (axes[0], X_hat, "closed form (ML)", limit),
        (axes[1], shown, f"EM, iteration {iteration}{', aligned' if align else ''}", room),
    ):
        scatter_classes(ax, points, target, names, size=12, legend=False)
        if ax is axes[0]:
            place = dict(loc="upper left", bbox_to_anchor=(1.0, 1.0)) if points.shape[1] > 1 else dict(loc="lower left")
            ax.legend(fontsize="small", handletextpad=0.2, borderpad=0.2, **place)
        ax.set(title=title, ylim=(-size, size))
        if points.shape[1] > 1:
            ax.set(xlim=(-size, size), aspect="equal", anchor="W")
    if room > 1.3 * limit and X.shape[1] > 1:
        box = limit * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])
        axes[1].plot(*box.T, color=QUIET, linewidth=1.0)
        axes[1].annotate(
            "size of the\nclosed form",
            (1.0, 0.02),
            xycoords="axes fraction",
            color=QUIET,
            fontsize="small",
            xytext=(6, 0),
            textcoords="offset points",
        )


def draw_likelihood(axes, now, iteration):
    """Log likelihood of each iterate below the maximum, on a broken-log axis; never falls."""
    axes.plot(np.array(COUNTS) + 1, now.values, color=PALETTE[0], label="EM")
    axes.axhline(now.best, color=QUIET, linestyle="--", linewidth=1.2, label="maximum")
    axes.plot(iteration + 1, now.log_likelihood, "o", color=ACCENT, markersize=8)
    spread = max(now.best - now.values[1], 1e-3)
    axes.set(
        xscale="log",
        xlabel="iteration + 1 (click to go there)",
        ylabel="log likelihood / feature",
        title=f"lacks {max(now.best - now.log_likelihood, 0.0):.3g} nats a feature",
        ylim=(now.best - 1.3 * spread, now.best + 0.15 * spread),
    )
    axes.minorticks_off()
    axes.legend(fontsize="small", loc="lower right")
    axes.set_gid("iterations")


def draw_distance(axes, now, iteration):
    """Angle between the subspaces and Procrustes distance against the iteration, both on log axes."""
    steps = np.array(COUNTS) + 1
    here = COUNTS.index(iteration)
    angle = np.degrees(now.angles[here])
    for values, label, colour in (
        (now.distances, "Procrustes distance", PALETTE[1]),
        (now.angles, "angle (radians)", PALETTE[2]),
    ):
        axes.plot(steps, np.maximum(values, 1e-9), color=colour, label=label)
        axes.plot(steps[here], max(values[here], 1e-9), "o", color=colour, markersize=8)
    axes.axhline(0.01, color=QUIET, linewidth=0.8, linestyle=":")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="iteration + 1",
        ylabel="EM to closed form",
        ylim=(1e-8, 100),
        title=f"distance {now.distances[here]:.2g}, angle "
        + (f"{angle:.2g} degrees" if angle > 1e-7 else "0 to rounding"),
    )
    axes.minorticks_off()
    axes.legend(fontsize="small", loc="lower left")
    axes.set_gid("iterations")


CODE = """\
import numpy as np
from gplvm_edu.datasets import load_iris, simulate_oil_flow
from gplvm_edu.kernels import RBF, Linear
from gplvm_edu.metrics import procrustes_align, procrustes_distance, subspace_angle
from gplvm_edu.wishart import em_iterates, kernel_covariance, maximum_likelihood, start_positions

Y = {load}
kernel = {kernel}
S = kernel_covariance(kernel(Y))
X_ml, noise_ml = maximum_likelihood(S, n_components={q})
start = start_positions("{start}", S, {q}, Y, random_state=0)
*_, state = em_iterates(S, start, noise_variance={noise:g}, max_iter={iteration})
X_em, noise_em, value = state.X, state.noise_variance, state.value
angle = subspace_angle(X_ml, X_em)
distance = procrustes_distance(X_ml, X_em, scaling=False)
shown = {shown}
print(f"distance {{distance:.3g}}, angle {{np.degrees(angle):.3g}} degrees, log likelihood {{value:.3f}} a feature")
"""


class WishartExplorer(Explorer):
    """Controls for `panel_wishart`; Run plays EM from its start."""

    title = "Probabilistic kernel PCA: closed form and EM"
    questions = (
        Question(
            "The setting is the paper's: iris, beta = 2, EM from linear PCA, 50 iterations (the noise to start "
            "with is not printed; it is 1 here). Will the two embeddings be the same up to a rotation?",
            dict(data="iris", kernel="RBF", width=1.0, start="raw PCA scores", noise=1.0, q=2, iteration=0, align=True),
            dict(iteration=50),
            "No. The plane is right to many digits, but within it the embedding is several times too large and "
            "stretched. EM finds the subspace at the rate of a power iteration, and the lengths at the much "
            "slower rate (4.30). Scrub on: at 1000 iterations the two agree.",
        ),
        Question(
            "Only the noise that EM starts with goes from 1 to 0.001. Which of the two curves at the lower right "
            "will move?",
            dict(
                data="iris", kernel="RBF", width=1.0, start="scores / root N", noise=1.0, q=2, iteration=10, align=True
            ),
            dict(noise=0.001),
            "Only the Procrustes distance. Each step multiplies X by S from the left and by some small matrix "
            "from the right, so the subspace is that of S^t X(0), whatever the noise (4.29).",
        ),
        Question(
            "The same run with the kernel four times as wide: do the lengths converge faster or more slowly?",
            dict(
                data="iris", kernel="RBF", width=1.0, start="scores / root N", noise=1.0, q=2, iteration=200, align=True
            ),
            dict(width=4.0),
            "More slowly. A wide kernel puts nearly all variance on the first axes and leaves little noise, and "
            "the lengths move by steps of the size of the noise over the signal (4.30).",
        ),
    )

    def make_controls(self):
        wide = dict(style={"description_width": "initial"})
        return {
            "data": {"data": W.ToggleButtons(options=list(LOAD), description="data", style={"button_width": "90px"})},
            "kernel": {
                "kernel": W.ToggleButtons(options=["RBF", "linear"], style={"button_width": "70px"}),
                "width": W.FloatLogSlider(
                    1.0,
                    base=10,
                    min=-1,
                    max=2,
                    step=0.05,
                    description="beta / paper's",
                    readout_format=".2f",
                    layout=W.Layout(width="290px"),
                    **wide,
                ),
            },
            "start": {
                "start": W.Dropdown(
                    options=list(STARTS), description="EM from", layout=W.Layout(width="230px"), **wide
                ),
                "noise": W.FloatLogSlider(
                    1.0,
                    base=10,
                    min=-4,
                    max=1,
                    step=0.1,
                    description="its noise",
                    readout_format=".2g",
                    layout=W.Layout(width="260px"),
                    **wide,
                ),
            },
            "size": {"q": W.IntSlider(2, 1, 4, description="dimensions q", layout=W.Layout(width="230px"), **wide)},
            "more": {
                "iteration": W.SelectionSlider(
                    options=COUNTS, value=50, description="iteration", layout=W.Layout(width="420px"), **wide
                ),
                "align": W.Checkbox(
                    False, description="align EM to the closed form", indent=False, layout=W.Layout(width="230px")
                ),
            },
        }

    def panel(self, settings, state):
        return panel_wishart(**settings, state=state)

    def code(self, settings):
        kernel = repr(kernel_of(settings["data"], settings["kernel"], settings["width"]))
        if settings["kernel"] == "RBF":
            kernel = f"RBF(1.0, inverse_width=2 / {settings['width'] * PAPER[settings['data']]:.6g})"
        shown = "procrustes_align(X_ml, X_em, scaling=False)" if settings["align"] else "X_em"
        return CODE.format(
            load=LOAD[settings["data"]],
            kernel=kernel,
            q=settings["q"],
            shown=shown,
            start=STARTS[settings["start"]],
            noise=settings["noise"],
            iteration=settings["iteration"],
        )

    def click(self, axes, x, y):
        """A click on one of the curves goes to the nearest iteration."""
        if axes.get_gid() != "iterations":
            return {}
        return {"iteration": min(COUNTS, key=lambda t: abs(np.log(t + 1) - np.log(max(x, 1.0))))}

    def iterates(self, settings):
        """The iterations in turn, from the start."""
        for step, count in enumerate(COUNTS):
            yield (step + 1) / len(COUNTS), count


def explore_wishart(**settings) -> WishartExplorer:
    """The live explorer of chapter 4; any control can be set: ``explore_wishart(data="oil flow", q=3)``."""
    return WishartExplorer(**settings)
