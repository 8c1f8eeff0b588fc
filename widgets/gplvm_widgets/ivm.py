"""`explore_ivm`: which point is taken next and why, what the chosen few know, and what they save."""

from functools import lru_cache
from time import process_time
from typing import NamedTuple

import ipywidgets as W
import numpy as np
from matplotlib.figure import Figure

from gplvm_edu import datasets
from gplvm_edu.gplvm import GPLVM, log_likelihood
from gplvm_edu.ivm import (
    Selection,
    SparseGPLVM,
    ivm_select,
    latent_moments,
    printed_active_log_likelihood,
    selection_map,
    sparse_model,
)
from gplvm_edu.kernels import MLP, RBF, Bias, White
from gplvm_edu.linalg import centre
from gplvm_edu.maps import grid_points
from gplvm_edu.metrics import nearest_neighbour_errors
from gplvm_edu.plotting import ACCENT, PALETTE, QUIET, in_style, scatter_classes
from gplvm_edu.starts import initial_positions

from .drawing import few_ticks
from .explorer import Explorer, Question

DATA = ("oil flow", "digits")
KERNELS = ("RBF", "MLP")
STARTS = ("pca", "isomap", "kernel_pca", "random")
CORRECTED, PRINTED = "(11) corrected", "(11) as printed"
N_PASSES, FULL_STEPS, N_GRID = 10, 60, 41
SCALES = np.geomspace(0.05, 50.0, 60)
LOAD = {
    "oil flow": "data = datasets.simulate_oil_flow({n_points}, random_state=0)\nY, target = data.data, data.target",
    "digits": "data = datasets.load_digits()\nrows = np.flatnonzero(data.target < 5)[:{n_points}]\n"
    "Y, target = data.data[rows] / 16, data.target[rows]",
}


class Scene(NamedTuple):
    """Centred data, classes, start, kernel; and the selection that belongs to them."""

    Y: np.ndarray
    target: np.ndarray
    X: np.ndarray
    kernel: object
    selection: Selection
    offers: np.ndarray  # (n_active, N): what every point offered before each inclusion


@lru_cache(maxsize=16)
def load(data, n_points):
    """Data (N, D) and classes."""
    if data == "oil flow":
        oil = datasets.simulate_oil_flow(n_points, random_state=0)
        return oil.data, oil.target
    digits = datasets.load_digits()
    rows = np.flatnonzero(digits.target < 5)[:n_points]
    return digits.data[rows] / 16, digits.target[rows]


def kernel_of(name, variance, noise):
    """The kernel of the menu, scaled to the data; `noise` is the share of the variance that starts as noise."""
    smooth = RBF(variance, 1.0) if name == "RBF" else MLP(variance)
    return smooth + Bias(min(np.exp(-2.0), variance)) + White(noise * variance)


@lru_cache(maxsize=16)
def scene(data, kernel, noise, start, n_active, n_points):
    """Everything at the start, before any optimisation."""
    Y, target = load(data, n_points)
    Y = centre(Y)[0]
    X = initial_positions(Y, 2, start, np.random.RandomState(0))
    return chosen_scene(Y, target, X, kernel_of(kernel, Y.var(), noise), n_active)


def chosen_scene(Y, target, X, kernel, n_active):
    """The selection for these positions and this kernel, with what was offered at each of its steps."""
    model, offers = sparse_model(kernel), []
    for selection in ivm_select(Y, X, model.f_kernel, model.noise, n_active):
        offers.append(selection.offers)
    return Scene(Y, target, X, kernel, selection, np.array(offers))


def full_model(Y, target, kernel, X):
    """The full GP-LVM from the same start: generator of (errors, seconds), each as long as the climb so far."""
    errors, seconds, begin = [], [], process_time()
    for state in GPLVM(kernel=kernel, init=X, max_iter=FULL_STEPS).iterates(Y):
        seconds.append(process_time() - begin)
        errors.append(nearest_neighbour_errors(state.X, target))
        yield np.array(errors), np.array(seconds)
        begin = process_time() - seconds[-1]  # drawing does not count


class Run(NamedTuple):
    """One state of Algorithm 1 as the explorer shows it: a scene, and errors and seconds of all passes so far."""

    scene: Scene
    errors: tuple
    seconds: tuple
    full: tuple | None  # errors and seconds of the full model, once it has run


def limits(X):
    """A square of whole half units around all points."""
    edge = 0.5 * np.ceil(2.3 * np.abs(X).max())
    return (-edge, edge, -edge, edge)


def variance_grid(now, included):
    """Variance of f on a grid once the first points were included, and the grid's limits."""
    model, extent = sparse_model(now.kernel), limits(now.X)
    grid = grid_points(extent, N_GRID)
    if included == 0:
        return model.f_kernel.diag(grid).reshape(N_GRID, N_GRID), extent
    s = now.selection
    first = s._replace(
        active=s.active[:included],
        site_means=s.site_means[:included],
        precisions=s.precisions[:included],
        M=s.M[:included],
        L=s.L[:included, :included],
    )
    _, variance = latent_moments(selection_map(first, now.X, model.f_kernel, model.noise), grid)
    return variance[:, 0].reshape(N_GRID, N_GRID), extent


def scale_curve(now, included, formula):
    """The active set's log likelihood (11) when the kernel is multiplied by each of SCALES; the best scale."""
    I = now.selection.active[: max(included, 2)]
    value = log_likelihood if formula == CORRECTED else printed_active_log_likelihood
    K, Y = now.kernel(now.X[I]), now.Y[I]
    values = np.array([value(Y, c * K) for c in SCALES])
    return values, SCALES[np.argmax(values)]


@in_style
def panel_ivm(
    data="oil flow",
    kernel="RBF",
    noise=0.1,
    start="pca",
    n_active=30,
    n_points=200,
    included=5,
    formula=CORRECTED,
    state=None,
) -> Figure:
    """Entropy map, precision picture, gains, errors beside the full model, and the active set's likelihood.

    Parameters
    ----------
    data : "oil flow" or "digits"
    kernel : "RBF" or "MLP"
    noise : float
        Share of the data's variance that starts as white noise.
    start : "pca", "isomap", "kernel_pca" or "random"
    n_active, n_points : int
    included : int
        How many of the active points are in already.
    formula : "(11) corrected" or "(11) as printed"
    state : Run or None
        What the last pass of Algorithm 1 left.

    Returns
    -------
    matplotlib Figure
    """
    at_start = scene(data, kernel, noise, start, n_active, n_points)
    now = at_start if state is None else state.scene
    included = min(included, len(now.selection.active))
    figure = Figure(figsize=(9.6, 7.2), layout="none")
    top = figure.add_gridspec(1, 2, left=0.065, right=0.985, bottom=0.47, top=0.945, wspace=0.2)
    low = figure.add_gridspec(1, 3, left=0.065, right=0.985, bottom=0.075, top=0.34, wspace=0.34)
    variance, extent = variance_grid(now, included)
    draw_entropy(figure.add_subplot(top[0]), now, included, variance, extent)
    draw_precision(figure.add_subplot(top[1]), now, included, variance, extent)
    draw_gains(figure.add_subplot(low[0]), now, included)
    draw_errors(figure.add_subplot(low[1]), at_start, state)
    draw_scale(figure.add_subplot(low[2]), now, included, formula)
    return figure


def draw_entropy(axes, now, included, variance, extent):
    """What a point at each place would tell, the points taken so far, and the next one."""
    noise = sparse_model(now.kernel).noise
    nats = 0.5 * now.Y.shape[1] * np.log1p(variance / noise.variance)
    picture = axes.imshow(
        nats, extent=extent, origin="lower", cmap="YlGnBu_r", interpolation="bilinear", vmin=0, aspect="auto"
    )
    bar = axes.figure.colorbar(picture, ax=axes, pad=0.02, aspect=30, ticks=few_ticks(0, nats.max()))
    bar.set_label("entropy a point here would take off (nats)")
    active = now.selection.active
    axes.plot(*now.X.T, ".", color="white", markersize=4, markeredgecolor="#333333", markeredgewidth=0.4)
    axes.plot(*now.X[active[:included]].T, "o", color="black", markersize=6)
    for place, n in enumerate(active[: min(included, 9)]):
        axes.annotate(str(place + 1), now.X[n], xytext=(4, 3), textcoords="offset points", fontsize=9, color="black")
    title = f"all {included} are in" if included == len(active) else f"{included} points in, the next is the star"
    if included < len(active):
        axes.plot(*now.X[active[included]], "*", color=ACCENT, markersize=17, markeredgecolor="white")
    axes.set(
        title=title,
        xlabel="latent dimension 1",
        ylabel="latent dimension 2",
        xlim=extent[:2],
        ylim=extent[2:],
        xticks=[extent[0], 0, extent[1]],
        yticks=[extent[0], 0, extent[1]],
    )
    axes.set_gid("entropy")


def draw_precision(axes, now, included, variance, extent):
    """The grey picture of the map that these few points define, with every point by its class."""
    axes.imshow(
        -np.log(variance),
        extent=extent,
        origin="lower",
        cmap="gray",
        interpolation="bilinear",
        alpha=0.8,
        aspect="auto",
    )
    scatter_classes(axes, now.X, now.target, size=13, alpha=0.9, legend=False)
    axes.plot(
        *now.X[now.selection.active[:included]].T, "o", markersize=8, markerfacecolor="none", markeredgecolor="black"
    )
    errors = nearest_neighbour_errors(now.X, now.target)
    axes.set(
        title=f"what {included} points know (light: sure); {errors} errors",
        xlabel="latent dimension 1",
        ylabel="",
        xlim=extent[:2],
        ylim=extent[2:],
        xticks=[extent[0], 0, extent[1]],
        yticks=[],
    )


def draw_gains(axes, now, included):
    """The gain of each inclusion, the next one marked, and what a point drawn at random would have brought."""
    gains = now.selection.gains
    offers = np.where(np.isfinite(now.offers), now.offers, np.nan)
    steps = np.arange(1, len(gains) + 1)
    axes.plot(steps, np.nanmean(offers, axis=1), "--", color=QUIET, label="the average point")
    axes.plot(steps, gains, color=PALETTE[0], label="the point taken")
    if included < len(gains):
        axes.plot(included + 1, gains[included], "*", color=ACCENT, markersize=13)
    axes.set(
        title=f"in all {gains[:included].sum():.0f} nats so far",
        xlabel="inclusion",
        ylabel="nats",
        ylim=(0, 1.4 * gains.max()),
        xticks=few_ticks(0, len(gains)),
        yticks=few_ticks(0, gains.max()),
    )
    axes.legend(fontsize="small", loc="upper right")


def draw_errors(axes, at_start, state):
    """Errors against seconds: Algorithm 1 pass by pass, then the full model from the same start."""
    begin = nearest_neighbour_errors(at_start.X, at_start.target)
    axes.plot(0, begin, "o", color=QUIET)
    if state is None:
        axes.text(
            0.5,
            0.5,
            "press Run: Algorithm 1,\nthen the full model",
            transform=axes.transAxes,
            ha="center",
            va="center",
            color=QUIET,
        )
    else:
        axes.plot(
            state.seconds,
            state.errors,
            "o-",
            color=PALETTE[0],
            markersize=3.5,
            label=f"sparse: {state.errors[-1]} errors",
        )
        if state.full is not None:
            axes.plot(state.full[1], state.full[0], color=PALETTE[1], label=f"full: {state.full[0][-1]} errors")
        axes.legend(fontsize="small", loc="upper right")
    axes.set(
        title="errors against time",
        xlabel="seconds of computing",
        ylabel="",
        ylim=(0, 1.15 * begin + 1),
        yticks=few_ticks(0, begin),
    )
    axes.margins(x=0.08)
    axes.set_xticks(few_ticks(0, max(axes.get_xlim()[1], 0.1)))


def draw_scale(axes, now, included, formula):
    """(11) against a factor on the kernel: printed, it asks for D times too much."""
    values, best = scale_curve(now, included, formula)
    axes.plot(SCALES, values, color=PALETTE[2])
    axes.axvline(best, color=ACCENT, linewidth=1.2)
    top = values.max()
    axes.set(
        xscale="log",
        title=f"{formula}: best scale {best:.2g}",
        xlabel="kernel multiplied by",
        ylabel="log likelihood",
        ylim=(top - 0.35 * abs(top) - 50, top + 0.05 * abs(top) + 10),
        xticks=[0.1, 1, 10],
        xticklabels=["0.1", "1", "10"],
        yticks=few_ticks(top - 0.3 * abs(top) - 50, top),
    )
    axes.minorticks_off()
    axes.tick_params(labelsize=8.5)
    axes.title.set_fontsize(10)


CODE = """\
import numpy as np
from gplvm_edu import datasets
from gplvm_edu.starts import initial_positions
from gplvm_edu.ivm import SparseGPLVM, select_active_set, sparse_model
from gplvm_edu.kernels import MLP, RBF, Bias, White
from gplvm_edu.metrics import nearest_neighbour_errors

{load}
Yc = Y - Y.mean(axis=0)
v = Yc.var()
kernel = {kernel} + Bias(min(np.exp(-2.0), v)) + White({noise:g} * v)
X = initial_positions(Yc, 2, "{start}", np.random.RandomState(0))
split = sparse_model(kernel)                               # the White part is the noise of the data
selection = select_active_set(Yc, X, split.f_kernel, split.noise, {n_active})
errors = nearest_neighbour_errors(X, target)
print("order of choice:", selection.active[:10])
print(f"{{selection.gains[:{included}].sum():.1f}} nats for the first {included}; {{errors}} errors at the start")

I = selection.active[:max({included}, 2)]                   # (11), with the kernel multiplied by c
scales = np.geomspace(0.05, 50.0, 60)
{likelihood}
print(f"best scale: {{scales[np.argmax(values)]:.3g}}")

model = SparseGPLVM(n_active={n_active}, max_iter={max_iter}, kernel=kernel, init=X)      # Run: model.fit(Y)
"""
LIKELIHOOD = {
    CORRECTED: "from gplvm_edu.gplvm import log_likelihood\n"
    "values = [log_likelihood(Yc[I], c * kernel(X[I])) for c in scales]",
    PRINTED: "from gplvm_edu.ivm import printed_active_log_likelihood\n"
    "values = [printed_active_log_likelihood(Yc[I], c * kernel(X[I])) for c in scales]",
}
BEGIN = dict(data="oil flow", kernel="RBF", noise=0.1, start="pca", n_active=30, n_points=200, formula=CORRECTED)


class IVMExplorer(Explorer):
    """Controls for `panel_ivm`; Run goes through Algorithm 1, then lets the full model climb beside it."""

    title = "The informative few: which point next, and what do they know?"
    questions = (
        Question(
            "Nothing is included yet, and an RBF kernel is as uncertain in one place as in another. The first "
            "point is any point. Where will the second one be?",
            dict(BEGIN, included=0),
            dict(included=1),
            "Far from the first. Round a point that was included the map is known and a second one there would "
            "tell little; the star stands where the map is brightest. With Gaussian noise the measurements "
            "themselves play no part: only the places do.",
        ),
        Question(
            "With a tenth of noise the gains fall to a fraction within thirty points. Take a hundred times "
            "less noise. Will fewer points do?",
            dict(BEGIN, included=30, noise=0.1),
            dict(noise=0.001),
            "More are needed, not fewer: with little noise every point pins the map down in a smaller "
            "neighbourhood and there is more left to be known in between. How many active points suffice depends "
            "on noise and width, not on the number of data.",
        ),
        Question(
            "The paper's equation (11) charges for one output instead of D. If the kernel may be multiplied by a "
            "factor, which factor will the printed formula ask for?",
            dict(BEGIN, included=30, formula=CORRECTED),
            dict(formula=PRINTED),
            "One that is D = 12 times too large: it maximises -1/2 ln|cK| - 1/(2c) tr(K^-1 YY'), and the trace "
            "sums over twelve outputs while the determinant is paid once. Noise and all, the model then believes "
            "the data to be twelve times more uncertain than they are.",
        ),
    )
    keeps_iterates = True

    def make_controls(self):
        wide = dict(style={"description_width": "initial"})
        slider = dict(layout=W.Layout(width="270px"), continuous_update=True, **wide)
        return {
            "data": {"data": W.ToggleButtons(options=DATA, description="data", style={"button_width": "110px"})},
            "kernel": {
                "kernel": W.ToggleButtons(options=KERNELS, style={"button_width": "70px"}),
                "noise": W.SelectionSlider(
                    options=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0), value=0.1, description="noise share", **slider
                ),
            },
            "start": {"start": W.Dropdown(options=STARTS, layout=W.Layout(width="150px"))},
            "size": {
                "n_active": W.IntSlider(30, 3, 80, description="active points", **slider),
                "n_points": W.IntSlider(200, 100, 1000, 50, description="all points", **slider),
            },
            "more": {
                "included": W.IntSlider(
                    5, 0, 80, description="included so far", layout=W.Layout(width="400px"), **wide
                ),
                "formula": W.ToggleButtons(options=(CORRECTED, PRINTED), style={"button_width": "120px"}),
            },
        }

    def panel(self, settings, state):
        return panel_ivm(**settings, state=state)

    def controls_changed(self, names=frozenset()):
        """Stepping through the selection, or another formula, leaves a run and its result alone."""
        if names and names <= {"included", "formula"}:
            self.redraw()
        else:
            super().controls_changed(names)

    def code(self, settings):
        return CODE.format(
            load=LOAD[settings["data"]].format(**settings),
            max_iter=N_PASSES,
            noise=settings["noise"],
            kernel="RBF(v, 1.0)" if settings["kernel"] == "RBF" else "MLP(v)",
            start=settings["start"],
            n_active=settings["n_active"],
            included=min(settings["included"], settings["n_active"]),
            likelihood=LIKELIHOOD[settings["formula"]],
        )

    def click(self, axes, x, y):
        """In the entropy map: include one more; in the gains: as many as you point at."""
        most = min(self.settings["n_active"], self.settings["n_points"])
        if axes.get_gid() == "entropy":
            return {"included": min(self.settings["included"], most - 1) + 1}
        return {}

    def nudge(self, right, up):
        """Arrow keys: one inclusion on or back."""
        most = min(self.settings["n_active"], self.settings["n_points"])
        return {"included": int(np.clip(min(self.settings["included"], most) + right + up, 0, most))}

    def iterates(self, settings):
        """Algorithm 1, pass by pass; then the full model from the same start."""
        names = ("data", "kernel", "noise", "start", "n_active", "n_points")
        at_start = scene(*(settings[name] for name in names))
        Y, target = load(settings["data"], settings["n_points"])
        model = SparseGPLVM(n_active=settings["n_active"], max_iter=N_PASSES, kernel=at_start.kernel, init=at_start.X)
        errors, seconds, begin = [], [], process_time()
        for step, state in enumerate(model.iterates(Y)):
            seconds.append(process_time() - begin)
            errors.append(nearest_neighbour_errors(state.X, target))
            shown = chosen_scene(at_start.Y, target, state.X, state.model.kernel, settings["n_active"])
            run = Run(shown, tuple(errors), tuple(seconds), None)
            yield 0.5 * step / N_PASSES, run
            begin = process_time() - seconds[-1]
        for step, full in enumerate(full_model(Y, target, at_start.kernel, at_start.X)):
            yield 0.5 + 0.5 * step / FULL_STEPS, run._replace(full=full)


def explore_ivm(**settings) -> IVMExplorer:
    """The live explorer of chapter 7; any control can be set: ``explore_ivm(n_active=50, included=10)``."""
    return IVMExplorer(**settings)
