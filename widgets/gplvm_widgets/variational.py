"""`explore_variational`: offer a Bayesian GP-LVM too many dimensions, and watch it switch them off."""

import copy
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gplvm_edu import datasets
from gplvm_edu.kernels import RBF, Bias, Linear
from gplvm_edu.variational import BayesianGPLVM
from gplvm_edu.variational.estimator import ACTIVE

from .controls import buttons, log_slider, menu, number, slider
from .drawing import latent_points, picture_limit
from .explorer import Explorer, Question
from .scene import Axis, Bars, Ellipses, Lines, Panel, Points, Rules, SceneOf, Texts, remember

MAX_STEPS = 250
LEAST = 1e-5  # of the largest weight: the foot of the bars
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
X, S = model.latent_mean_, model.latent_variance_
fit, trace, kl = model.bound_terms_
print("weights", model.relevance_.round(4), "dimensions that are on", model.active_dims_ + 1)
print(f"step {{model.n_iter_}}: bound {{model.bound_:.1f}} = {{fit:.1f}} - {{trace:.1f}} - {{kl:.1f}} "
      f"(fit, trace, KL); {{len(model.active_dims_)}} of {Q} dimensions are on")
"""

OPENING = dict(
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


@lru_cache(maxsize=8)
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
    return scope["Y"], np.argsort(np.argsort(place)) * 5 // n_points, [f"arc {k}" for k in range(1, 6)]


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
        initial_variance=initial_variance,
        random_state=seed,
    )


@lru_cache(maxsize=4)
def start_model(*settings):
    """The model at its start; the settings are the arguments of `make_model`."""
    model = make_model(*settings)
    steps = model.iterates(load(*settings[:2])[0])
    state = next(steps)
    steps.close()
    return model.keep(state, [state.value])


@remember(maxsize=4)
def view(data, n_points, kernel, init, seed, latent, initial_variance, n_components, n_inducing, state):
    """The model that is shown: at its start, or as far as a run has come."""
    model = start_model(data, n_points, kernel, init, seed, latent, initial_variance, n_components, n_inducing)
    return model if state is None else copy.copy(model).set_state(state.state)


def shown_pair(n_components, horizontal, vertical):
    """The two dimensions to show: those asked for (from 1), or the most relevant of the others, which come first."""
    first = max(horizontal - 1, 0)
    rest = [d for d in range(n_components) if d != first] or [first]
    return first, vertical - 1 if vertical - 1 in rest else rest[0]


def points(
    data, n_points, kernel, init, seed, latent, initial_variance, n_components, n_inducing, horizontal, vertical, state
):
    """Means and deviations of q(x) in two dimensions (a single one against the number of the point)."""
    model = view(data, n_points, kernel, init, seed, latent, initial_variance, n_components, n_inducing, state)
    _, target, names = load(data, n_points)
    pair = shown_pair(n_components, horizontal, vertical)
    mean, deviation = model.latent_mean_[:, pair], np.sqrt(model.latent_variance_[:, pair])
    inducing, limit = model.inducing_inputs_[:, pair], picture_limit(model.latent_mean_)
    across, up = (Axis(f"dimension {d + 1}, weight {model.relevance_[d]:.3g}", (-limit, limit)) for d in pair)
    if n_components == 1:
        mean[:, 1], deviation[:, 1], inducing[:, 1], up = np.arange(n_points), 0.0, -0.03 * n_points, Axis("point")
    factors = deviation[:, :, None] * np.eye(2)
    clouds = [
        Ellipses(f"q(x) {k}", *mean[target == k].T, factors[target == k], colour=int(k), filled=True, opacity=0.18)
        for k in np.unique(target)
        if deviation.any()
    ]
    cross = Points("inducing", *inducing.T, marker="cross", size=8, colour="ink", label="inducing points")
    title = "latent points, each with one deviation" if clouds else "latent points, without deviations"
    marks = [*clouds, cross, latent_points(mean, target, names, "means", size=5)]
    return Panel(marks, title=title, x=across, y=up)


def weights(data, n_points, kernel, init, seed, latent, initial_variance, n_components, n_inducing, state):
    """A bar for each latent dimension, the largest first and relative to it; dimensions switched off are grey."""
    model = view(data, n_points, kernel, init, seed, latent, initial_variance, n_components, n_inducing, state)
    place, share = np.arange(1, n_components + 1), model.relevance_ / model.relevance_.max()
    on = np.isin(place - 1, model.active_dims_)
    height = np.maximum(share, LEAST) - LEAST
    marks = [
        Bars("on", place[on], height[on], base=LEAST, width=0.72, colour=0, label="on"),
        Bars("off", place[~on], height[~on], base=LEAST, width=0.72, colour="quiet", label="" if on.all() else "off"),
        Rules("least", y=[ACTIVE], dash=True),
    ]
    return Panel(
        marks,
        title=f"{on.sum()} of {n_components} dimensions are on",
        hint="click one",
        x=Axis("latent dimension", (0.3, max(n_components, 5) + 0.7), ticks=tuple(place.tolist())),
        y=Axis("weight / largest", (LEAST, 2.0), log=True, ticks=(1e-4, 1e-2, 1.0)),
        listens="click",
    )


def terms(data, n_points, kernel, init, seed, latent, initial_variance, n_components, n_inducing, state):
    """The bound as a staircase: each contribution begins where the one before it ended."""
    model = view(data, n_points, kernel, init, seed, latent, initial_variance, n_components, n_inducing, state)
    fit, trace, kl = model.bound_terms_
    heights = np.array([fit, -trace, -kl, model.bound_])
    bases = np.array([0.0, fit, fit - trace, 0.0])
    tops, span = np.maximum(bases, bases + heights), np.ptp([0.0, *bases, *(bases + heights)]) or 1.0
    marks = [
        Bars(name, [k + 1], heights[[k]], base=bases[k], colour=colour, width=0.7)
        for k, (name, colour) in enumerate({"fit": 2, "trace": 4, "KL": 3, "bound": 0}.items())
    ]
    marks.append(Texts("values", np.arange(1, 5), tops + 0.06 * span, [f"{value:+.0f}" for value in heights]))
    return Panel(
        [*marks, Rules("zero", y=[0.0])],
        title=f"{fit:.0f} - {trace:.0f} - {kl:.0f} = {model.bound_:.0f}, the bound",
        x=Axis(ticks=(1, 2, 3, 4), tick_labels=("fit", "- trace", "- KL", "= bound"), limits=(0.4, 4.6)),
        y=Axis(limits=(min(0.0, *bases, *(bases + heights)) - 0.04 * span, tops.max() + 0.14 * span), hidden=True),
    )


def climb(data, n_points, kernel, init, seed, latent, initial_variance, n_components, n_inducing, state):
    """The bound of every step so far, the one shown as a dot."""
    model = view(data, n_points, kernel, init, seed, latent, initial_variance, n_components, n_inducing, state)
    step, past = (0, [model.bound_terms_]) if state is None else (state.step, state.terms)
    values = np.array([term.elbo for term in past])
    low, high = np.percentile(values, 10), values.max()
    room = 0.12 * (high - low) or 0.1 * abs(high) or 1.0
    steps = np.arange(len(values))
    marks = [
        Lines("all", steps, values, colour="pale"),
        Lines("so far", steps[: step + 1], values[: step + 1]),
        Points("now", [step], values[[step]], colour="accent", size=9),
    ]
    limits = min(low, values[step]) - room, high + room
    across = Axis("step", (-0.5, max(1.03 * len(values), 20)))
    return Panel(marks, title=f"step {step}: the bound so far", x=across, y=Axis("bound", limits))


def says(data, n_points, kernel, init, seed, latent, initial_variance, n_components, n_inducing, state):
    """The bound with its three terms, and how many dimensions are on."""
    model = view(data, n_points, kernel, init, seed, latent, initial_variance, n_components, n_inducing, state)
    fit, trace, kl = model.bound_terms_
    return (
        f"step {0 if state is None else state.step}: bound {model.bound_:.1f} = {fit:.1f} - {trace:.1f} - {kl:.1f} "
        f"(fit, trace, KL); {len(model.active_dims_)} of {n_components} dimensions are on"
    )


panel_variational = SceneOf(points, weights, terms, climb, defaults=OPENING, says=says, row_height=245)


class VariationalExplorer(Explorer):
    """Controls for `panel_variational`; Run climbs, the slider goes back, a click on a bar shows its dimension."""

    title = "The Bayesian GP-LVM: which dimensions do the data pay for?"
    panels = panel_variational
    light = ("horizontal", "vertical")
    questions = (
        Question(
            "The data lie on a circle, and six dimensions are offered. A run is about to begin. How many bars will "
            "stay blue?",
            {**OPENING, "data": "circle"},
            {"horizontal": 1, "vertical": 2},
            "Two. A line can't be closed into a circle, so a second dimension is worth its KL; the others buy "
            "nothing and fall back to the prior, where they cost nothing.",
            ("one: a circle has one angle", "two", "all six"),
            1,
            run="after",
        ),
        Question(
            "The latent points are integrated out, and this run switches dimensions off. The next run has latent "
            "points without variance, so there is no KL to pay. How many dimensions will stay on?",
            OPENING,
            dict(latent="points"),
            "All six. A coordinate that costs nothing is always worth having: the bound climbs far higher, no "
            "dimension is switched off, and the model learns the noise.",
            ("fewer than now", "as many as now", "all six"),
            2,
            run="both",
        ),
        Question(
            "This run has 25 inducing points. The next has 4. Which of the three terms pay for that at step 0, and "
            "which at the end?",
            OPENING,
            dict(n_inducing=4),
            "At step 0 both the fit and the trace, the variance of the map that the inducing points can't see. At the "
            "end the fit alone: the climb gets rid of the trace by making the map smoother and the noise larger, until "
            "four points see all that is left of it. Go back to step 0 with the slider and compare.",
            ("the trace both times", "fit and trace, then the fit alone", "the trace, then the KL"),
            1,
            run="both",
        ),
    )

    def make_controls(self):
        return {
            "data": {"data": buttons(list(LOAD))},
            "kernel": {"kernel": menu(list(KERNELS)), "latent": menu(list(LATENTS), name="latent points")},
            "start": {
                "init": menu(["pca", "isomap", "random"], name="means"),
                "initial_variance": log_slider(0.1, -3, 0, "variance", 0.1),
                "seed": number(0, 0, 99, "seed"),
            },
            "size": {
                "n_components": slider(6, 1, 10, name="dimensions"),
                "n_inducing": slider(25, 2, 50, name="inducing points"),
                "n_points": slider(100, 30, 200, 10, "points"),
            },
            "more": {
                "horizontal": slider(0, 0, 6, name="across (0: best)"),
                "vertical": slider(0, 0, 6, name="up (0: best)"),
            },
        }

    def ranges(self, settings):
        """No more inducing points than points, no dimension that was not offered."""
        shown = {"max": settings["n_components"]}
        return {"n_inducing": {"max": min(50, settings["n_points"])}, "horizontal": shown, "vertical": shown}

    def unused(self, settings):
        why = {}
        linear, random = settings["kernel"] == "linear", settings["init"] == "random"
        if linear:
            why["n_inducing"] = "a linear map is fixed by one inducing point for each dimension"
        if not random and (linear or settings["n_inducing"] == settings["n_points"]):
            why["seed"] = "it chooses inducing points, and here there is no choice"
        if settings["latent"] == "points":
            why["initial_variance"] = "points have no variance"
        if settings["n_components"] == 1:
            why["horizontal"] = why["vertical"] = "there is one dimension only"
        return why

    def shown_dimensions(self):
        """The two dimensions that are shown, from 1."""
        chosen = (self.settings[name] for name in ("n_components", "horizontal", "vertical"))
        return [d + 1 for d in shown_pair(*chosen)]

    def point(self, panel, x, y):
        """The dimension of a bar comes to the horizontal axis, and what was there to the vertical one."""
        wanted, (across, up) = round(x), self.shown_dimensions()
        if across == up or not 1 <= wanted <= self.settings["n_components"]:
            return {}
        return {"horizontal": wanted, "vertical": up if wanted == across else across}

    def nudge(self, panel, right, up):
        """Arrow keys: the next dimension."""
        return self.point(panel, self.shown_dimensions()[0] + right + up, 0.0)

    def iterates(self, settings):
        """Every step of the climb."""
        chosen = {name: value for name, value in settings.items() if name not in self.light}
        past = []
        for step, state in enumerate(make_model(**chosen).iterates(load(settings["data"], settings["n_points"])[0])):
            past.append(state.terms)
            yield min(step / MAX_STEPS, 1.0), Snapshot(step, state, past)

    def code(self, settings, state):
        return CODE.format(
            load=LOAD[settings["data"]].format(n=settings["n_points"]),
            Q=settings["n_components"],
            M=settings["n_inducing"],
            kernel=KERNELS[settings["kernel"]],
            init=settings["init"],
            latent=LATENTS[settings["latent"]],
            S=settings["initial_variance"],
            seed=settings["seed"],
            step=0 if state is None else state.step,
        )


def explore_variational(**settings) -> VariationalExplorer:
    """The live explorer of chapter 12; `settings` are those of any control, such as ``data="circle"``."""
    return VariationalExplorer(**settings)
