"""`explore_variational`: offer a Bayesian GP-LVM too many dimensions, and watch it switch them off."""

import asyncio
import copy
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import ipywidgets as W
import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from gplvm_edu import datasets
from gplvm_edu.kernels import RBF, Bias, Linear
from gplvm_edu.plotting import ACCENT, MARKERS, PALETTE, QUIET, in_style, new_figure
from gplvm_edu.variational import BayesianGPLVM

from .explorer import Explorer, Question

MAX_STEPS = 250
MARGINS = dict(left=0.065, right=0.985, bottom=0.085, top=0.93, wspace=0.33, hspace=0.62)
KERNELS = {"RBF": "RBF()", "RBF + bias": "RBF() + Bias(0.1)", "linear": "Linear()"}
LATENTS = {"integrated out": "gaussian", "points": "point"}
LOAD = {
    "oil flow": "Y = simulate_oil_flow({n}, random_state=0).data",
    "circle": "angle = np.random.default_rng(0).uniform(0, 2 * np.pi, {n})\n"
    "rng = np.random.default_rng(1)\n"
    "Y = np.column_stack([np.cos(angle), np.sin(angle)]) @ rng.standard_normal((2, 6))\n"
    "Y = Y + 0.05 * rng.standard_normal(Y.shape)",
    "Swiss roll": "Y = make_swiss_roll({n}, random_state=0).data",
    "digits": "digits = load_digits()\nY = digits.data[digits.target < 4][:{n}]",
}
CODE = """\
import numpy as np
from gplvm_edu.datasets import load_digits, make_swiss_roll, simulate_oil_flow
from gplvm_edu.kernels import RBF, Bias, Linear
from gplvm_edu.variational import BayesianGPLVM

{load}
v = (Y - Y.mean(axis=0)).var()
model = BayesianGPLVM({Q}, n_inducing={M}, kernel=v * ({kernel}), init="{init}", latent="{latent}",
                      initial_variance={S:g}, max_iter={step}, random_state={seed})
model.fit(Y)
print("weights", model.relevance_.round(4), "switched on", model.active_dims_ + 1)
print({say})
X, S = model.latent_mean_, model.latent_variance_
"""
SAY = (
    'f"bound {model.bound_:.1f} = fit {model.bound_terms_.fit:.1f} - trace {model.bound_terms_.trace:.1f} - '
    'KL {model.bound_terms_.kl:.1f}"'
)


SCENE = dict(
    data="oil flow",
    n_points=100,
    kernel="RBF",
    latent="integrated out",
    init="pca",
    initial_variance=0.1,
    seed=0,
    n_components=6,
    n_inducing=25,
    horizontal=0,
    vertical=0,
)


class Snapshot(NamedTuple):
    """One iterate of a run: its number, its state, and the terms of all iterates so far (shared by all snapshots)."""

    step: int
    state: object
    terms: list


@lru_cache(maxsize=16)
def load(data, n_points):
    """Data (N, D), the class of each point (or the fifth of the curve that it lies on), and the names of classes."""
    scope = dict(
        np=np,
        simulate_oil_flow=datasets.simulate_oil_flow,
        make_swiss_roll=datasets.make_swiss_roll,
        load_digits=datasets.load_digits,
    )
    exec(LOAD[data].format(n=n_points), scope)
    if data == "oil flow":
        oil = datasets.simulate_oil_flow(n_points, random_state=0)
        return scope["Y"], oil.target, oil.target_names
    if data == "digits":
        digits = scope["digits"]
        return scope["Y"], digits.target[digits.target < 4][:n_points], digits.target_names
    place = scope["angle"] if data == "circle" else datasets.make_swiss_roll(n_points, random_state=0).target
    return scope["Y"], np.argsort(np.argsort(place)) * 5 // n_points, None  # five arcs in five colours


def make_model(data, n_points, kernel, init, seed, latent, initial_variance, n_components, n_inducing, steps=MAX_STEPS):
    """The estimator of one setting, not fitted."""
    Y = load(data, n_points)[0]
    v = (Y - Y.mean(axis=0)).var()
    shape = eval(KERNELS[kernel], dict(RBF=RBF, Bias=Bias, Linear=Linear))
    return BayesianGPLVM(
        n_components,
        n_inducing,
        kernel=v * shape,
        init=init,
        latent=LATENTS[latent],
        max_iter=steps,
        initial_variance=float(f"{initial_variance:.3g}"),
        random_state=seed,
    )


@lru_cache(maxsize=16)
def start_model(**settings):
    """The model at its start, and its first state."""
    model = make_model(**settings)
    steps = model.iterates(load(settings["data"], settings["n_points"])[0])
    state = next(steps)
    steps.close()
    return model.keep(state, [state.value]), state


def snapshots(**settings):
    """Generator of (share done, Snapshot) of one run."""
    model, terms = make_model(**settings), []
    for step, state in enumerate(model.iterates(load(settings["data"], settings["n_points"])[0])):
        terms.append(state.terms)
        yield min(step / MAX_STEPS, 1.0), Snapshot(step, state, terms)


def shown_pair(weights, horizontal, vertical):
    """The two dimensions to show: those asked for (from 1), or the most relevant of the others."""
    order = [*np.argsort(-weights, kind="stable"), 0]
    first = order[0] if horizontal == 0 else min(horizontal, len(weights)) - 1
    rest = [d for d in order if d != first] or [first]
    return int(first), int(rest[0] if vertical == 0 else min(vertical, len(weights)) - 1)


class Scene:
    """Fuzzy points in two latent dimensions; another pair of dimensions only moves them."""

    circle = np.column_stack([np.cos(np.linspace(0, 2 * np.pi, 25)), np.sin(np.linspace(0, 2 * np.pi, 25))])

    def __init__(self, axes, model, target, names=None):
        self.axes, self.model, self.target = axes, model, target
        self.limit = 1.12 * np.abs(model.latent_mean_).max() + 0.1
        self.ellipses, self.means = [], []
        for k in np.unique(target):
            colour = PALETTE[k % len(PALETTE)]
            self.ellipses.append(
                axes.add_collection(
                    PolyCollection(
                        [self.circle], facecolors=colour, edgecolors=colour, alpha=0.16, linewidths=0.6, animated=True
                    )
                )
            )
            self.means.append(
                axes.scatter(
                    [],
                    [],
                    s=13,
                    color=colour,
                    marker=MARKERS[k % len(MARKERS)],
                    linewidths=0,
                    animated=True,
                    label=None if names is None else str(names[k]),
                )
            )
        if names is not None:
            axes.legend(loc="lower left", fontsize="small", handletextpad=0.1, borderpad=0.1)
        (self.inducing,) = axes.plot([], [], "x", color="black", markersize=5, markeredgewidth=1.1, animated=True)
        place = dict(transform=axes.transAxes, fontsize=10, animated=True)
        self.words = [
            axes.text(0.5, -0.06, "", ha="center", va="top", **place),
            axes.text(-0.075, 0.5, "", ha="center", va="center", rotation=90, **place),
        ]
        ticks = [-int(self.limit), 0, int(self.limit)]
        axes.set(xlim=(-self.limit, self.limit), ylim=(-self.limit, self.limit), xticks=ticks, yticks=ticks)
        axes.set_title("latent points, one deviation each; crosses: inducing points")
        axes.set_gid("latent")
        self.moving = [*self.ellipses, *self.means, self.inducing, *self.words]

    def show(self, horizontal, vertical):
        """Put two dimensions on the axes."""
        pair = shown_pair(self.model.relevance_, horizontal, vertical)
        mu, deviation = self.model.latent_mean_[:, pair], np.sqrt(self.model.latent_variance_[:, pair])
        for k, ellipses, means in zip(np.unique(self.target), self.ellipses, self.means, strict=True):
            rows = self.target == k
            ellipses.set_verts(mu[rows, None] + deviation[rows, None] * self.circle)
            means.set_offsets(mu[rows])
        self.inducing.set_data(*self.model.inducing_inputs_[:, pair].T)
        for text, d in zip(self.words, pair, strict=True):
            text.set_text(f"dimension {d + 1}, weight {self.model.relevance_[d]:.3g}")


def draw_weights(axes, model):
    """A bar for each latent dimension, relative to the largest; dimensions switched off are grey."""
    weights = model.relevance_ / model.relevance_.max()
    place = np.arange(1, len(weights) + 1)
    on = np.isin(place - 1, model.active_dims_)
    axes.bar(place, weights, color=np.where(on, PALETTE[0], QUIET), width=0.72)
    axes.axhline(0.01, color=QUIET, linewidth=0.8, linestyle=":")
    axes.set(
        yscale="log",
        ylim=(1e-5, 2.0),
        yticks=[1e-4, 1e-2, 1.0],
        xlim=(0.3, max(len(weights), 5) + 0.7),
        xticks=place,
        title=f"ARD weights: {len(model.active_dims_)} of {len(weights)} switched on",
    )
    axes.set_gid("weights")
    axes.tick_params(labelsize=8.5)
    axes.minorticks_off()


def draw_terms(axes, terms):
    """The bound as a sum: what is gained, what is paid."""
    names, values = ("fit", "trace", "KL"), (terms.fit, 0.0 - terms.trace, 0.0 - terms.kl)
    axes.barh(names, values, color=(PALETTE[2], PALETTE[4], PALETTE[3]), height=0.62)
    axes.axvline(0.0, color="black", linewidth=0.8)
    span = max(map(abs, values)) or 1.0
    for row, value in enumerate(values):
        axes.text(
            value + np.sign(value or -1.0) * 0.03 * span,
            row,
            f"{value:.0f}",
            va="center",
            fontsize=8.5,
            ha="left" if value > 0 else "right",
        )
    axes.set(xlim=(-1.75 * span, 1.6 * span), xticks=[0], title=f"bound {terms.elbo:.1f} = fit - trace - KL")
    axes.invert_yaxis()
    axes.tick_params(labelsize=8.5, length=0)


def draw_history(axes, terms, step):
    """The bound of every step so far, the one shown as a dot."""
    values = np.array([t.elbo for t in terms])
    axes.plot(values, color="#c4c4c4", linewidth=1.4)
    axes.plot(values[: step + 1], color=PALETTE[0], linewidth=1.6)
    axes.plot(step, values[step], "o", color=ACCENT, markersize=7)
    low, high = np.percentile(values, 10), values.max()
    room = 0.12 * (high - low) if high > low else 1.0
    axes.set(
        xlim=(-0.5, max(1.03 * len(values), 20)),
        ylim=(low - room, high + room),
        title="the bound, step by step",
        xlabel="step" if len(values) > 1 else "step (press Run)",
    )
    if len(values) > 1:
        axes.locator_params(nbins=4)
    else:
        axes.set_yticks(np.round(values))
    axes.tick_params(labelsize=8.5)


@in_style
def panel_variational(
    data="oil flow",
    n_points=100,
    kernel="RBF",
    init="pca",
    seed=0,
    latent="integrated out",
    initial_variance=0.1,
    n_components=6,
    n_inducing=25,
    horizontal=0,
    vertical=0,
    state=None,
    steps=0,
) -> Figure:
    """Latent points as ellipses, ARD weights, the three terms of the bound, and its climb.

    Parameters
    ----------
    data : "oil flow", "circle", "Swiss roll" or "digits"
    n_points, n_components, n_inducing, seed : int
    kernel : "RBF", "RBF + bias" or "linear"
    init : "pca", "isomap" or "random"
    latent : "integrated out" or "points"
    initial_variance : float
    horizontal, vertical : int
        Dimensions to show, from 1; 0 for the most relevant.
    state : Snapshot or None
        None: the start, or after `steps` steps.
    steps : int

    Returns
    -------
    matplotlib Figure
    """
    chosen = dict(
        data=data,
        n_points=n_points,
        kernel=kernel,
        init=init,
        seed=seed,
        latent=latent,
        initial_variance=initial_variance,
        n_components=n_components,
        n_inducing=n_inducing,
    )
    if state is None and steps:
        *_, (_, state) = islice(snapshots(**chosen), steps + 1)
    model, first = start_model(**chosen)
    if state is not None:
        model = copy.copy(model).set_state(state.state)
    figure, grid = new_figure(3, 2, size=(9.0, 5.3), margins=MARGINS, width_ratios=[1.55, 1.0])
    axes = grid[:, 1]
    spec = grid[0, 0].get_gridspec()
    for left in grid[:, 0]:
        left.remove()
    figure.scene = Scene(figure.add_subplot(spec[:, 0]), model, *load(data, n_points)[1:])
    figure.scene.show(horizontal, vertical)
    figure.moving = figure.scene.moving
    draw_weights(axes[0], model)
    draw_terms(axes[1], model.bound_terms_)
    draw_history(axes[2], [first.terms] if state is None else state.terms, 0 if state is None else state.step)
    return figure


class VariationalExplorer(Explorer):
    """Controls for `panel_variational`; Run climbs, the slider goes back, a click on a bar shows its dimension."""

    title = "The Bayesian GP-LVM: which dimensions do the data pay for?"
    keeps_iterates = True
    light = ("horizontal", "vertical")
    questions = (
        Question(
            "The data lie on a circle, and six dimensions are offered. How many bars will stay blue: one (a "
            "circle has one angle), two, or all six?",
            {**SCENE, "data": "circle"},
            {"horizontal": 1, "vertical": 2},
            "Two. A line can't be closed into a circle, so a second dimension is worth its KL; the others buy "
            "nothing and fall back to the prior, where they cost nothing. (Watch the run that has just begun.)",
        ),
        Question(
            "Here the latent points are integrated out. If they become points, with no variance and no KL to pay, "
            "which bars will be switched off?",
            SCENE,
            dict(latent="points"),
            "None. A coordinate that costs nothing is always worth having: the bound climbs far higher, all "
            "dimensions stay on, and the model learns the noise.",
        ),
        Question(
            "We shall take away inducing points, 4 in place of 25, and run. Which of the three bars pays for it "
            "at the first step, and which at the last?",
            SCENE,
            dict(n_inducing=4),
            "First the trace: the variance of the map that the inducing points can't see. Then the fit: the climb "
            "gets rid of the trace by making the map smoother and the noise larger, until four points see all "
            "that is left of it. Go back to the first step with the slider and compare.",
        ),
    )

    def make_controls(self):
        wide = dict(style={"description_width": "initial"})
        dimensions = [("most relevant", 0), *((str(d), d) for d in range(1, 11))]
        return {
            "data": {"data": W.ToggleButtons(options=list(LOAD), style={"button_width": "85px"})},
            "kernel": {
                "kernel": W.Dropdown(options=list(KERNELS), layout=W.Layout(width="140px")),
                "latent": W.Dropdown(
                    options=list(LATENTS), description="latent points", layout=W.Layout(width="215px"), **wide
                ),
            },
            "start": {
                "init": W.Dropdown(
                    options=["pca", "isomap", "random"], description="means", layout=W.Layout(width="170px"), **wide
                ),
                "initial_variance": W.FloatLogSlider(
                    0.1,
                    base=10,
                    min=-3,
                    max=0,
                    step=0.1,
                    description="variance",
                    readout_format=".3f",
                    layout=W.Layout(width="260px"),
                    **wide,
                ),
                "seed": W.BoundedIntText(
                    0, min=0, max=99, description="seed of Z", layout=W.Layout(width="130px"), **wide
                ),
            },
            "size": {
                "n_components": W.IntSlider(
                    6, 1, 10, description="dimensions", layout=W.Layout(width="250px"), continuous_update=False, **wide
                ),
                "n_inducing": W.IntSlider(
                    25,
                    2,
                    50,
                    description="inducing points",
                    layout=W.Layout(width="250px"),
                    continuous_update=False,
                    **wide,
                ),
                "n_points": W.IntSlider(
                    100,
                    20,
                    200,
                    10,
                    description="points",
                    layout=W.Layout(width="250px"),
                    continuous_update=False,
                    **wide,
                ),
            },
            "more": {
                "horizontal": W.Dropdown(
                    options=dimensions, description="horizontal", layout=W.Layout(width="200px"), **wide
                ),
                "vertical": W.Dropdown(
                    options=dimensions, description="vertical", layout=W.Layout(width="190px"), **wide
                ),
            },
        }

    def panel(self, settings, state):
        return panel_variational(**settings, state=state)

    def retouch(self, figure, settings):
        figure.scene.show(settings["horizontal"], settings["vertical"])

    def click(self, axes, x, y):
        d = round(x)
        if axes.get_gid() != "weights" or not 1 <= d <= self.settings["n_components"]:
            return {}
        weights = self.figure.scene.model.relevance_
        across, up = shown_pair(weights, self.settings["horizontal"], self.settings["vertical"])
        return {"horizontal": d, "vertical": (across if d != across + 1 else up) + 1}

    def iterates(self, settings):
        return snapshots(**{name: value for name, value in settings.items() if name not in self.light})

    def reveal(self, button=None):
        """Show the answer, and run the fit that it is about."""
        super().reveal(button)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self.run_now()
        else:
            self.run()

    def code(self, settings):
        return CODE.format(
            load=LOAD[settings["data"]].format(n=settings["n_points"]),
            Q=settings["n_components"],
            M=settings["n_inducing"],
            kernel=KERNELS[settings["kernel"]],
            init=settings["init"],
            latent=LATENTS[settings["latent"]],
            S=float(f"{settings['initial_variance']:.3g}"),
            seed=settings["seed"],
            step=0 if self.state is None else self.state.step,
            say=SAY,
        )


def explore_variational(**settings) -> VariationalExplorer:
    """The live explorer of chapter 12; `settings` are those of any control, such as ``data="circle"``."""
    return VariationalExplorer(**settings)
