"""`explore_unify`: a similarity matrix, its eigenvalues as bars to keep or discard, and the divergence that follows."""

import time
from functools import lru_cache
from typing import NamedTuple

import ipywidgets as W
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from gplvm_edu.datasets import cities, great_circle_distances, load_digits, simulate_oil_flow
from gplvm_edu.kernels import RBF, Bias, Linear
from gplvm_edu.linalg import double_centre, nearest_semidefinite, squared_distances
from gplvm_edu.optimise import minimise
from gplvm_edu.plotting import ACCENT, PALETTE, QUIET, in_style, new_figure, scatter_classes
from gplvm_edu.unify import linear_divergence, minimiser, retained_sets, similarity_from_distances, spectrum

from .explorer import Explorer, Question

MARGINS = dict(left=0.085, right=0.97, bottom=0.085, top=0.94, wspace=0.24, hspace=0.4)
N_POINTS = 15
SAME_CLICK = 0.4  # two events on one bar within this many seconds are one click
SIMILARITIES = ("linear", "RBF", "polynomial", "distance matrix")
DIRECTIONS = {"KL(S || K)": False, "KL(K || S)": True}
PARTS = {"K = XX' + cI": "covariance", "inverse of K = XX' + cI": "precision"}
RULES = ("corrected: above 1/beta", "as printed: above beta")
DEFAULT = dict(
    data="digits",
    similarity="linear",
    width=1.0,
    preset="largest",
    kept=(1, 2),
    q=2,
    direction="KL(S || K)",
    part="K = XX' + cI",
    ridge=0.01,
    rule=RULES[0],
)


class Choice(NamedTuple):
    """What follows from one set of kept eigenvalues."""

    eigenvalues: np.ndarray
    kept: list  # indices from 0
    noise_variance: float  # of the directions that are not kept
    geometric_mean: float  # of the discarded eigenvalues
    divergence: float
    feasible: bool
    latent: np.ndarray | None  # None when a length would be imaginary
    covariance: np.ndarray | None  # K
    profile: np.ndarray | None  # variance of K along each eigenvector of S


@lru_cache(maxsize=4)
def load(data):
    """Data (N, D), a matrix of distances, classes and names, for one entry of the menu."""
    if data == "cities":
        phi, theta = np.radians(np.array(list(cities.WORLD.values()))).T
        Y = np.column_stack([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)])
        D = great_circle_distances(np.degrees(phi), np.degrees(theta), radius=1.0)
        return Y, D, np.zeros(len(Y), int), tuple(cities.WORLD)
    if data == "oil flow":
        bunch = simulate_oil_flow(N_POINTS, random_state=0)
    else:
        bunch = load_digits()
    Y, target = bunch.data[:N_POINTS], bunch.target[:N_POINTS]
    return Y, np.abs(Y[:, None] - Y).sum(axis=2), target, bunch.target_names


@lru_cache(maxsize=64)
def similarity_matrix(data, similarity, width, ridge):
    """S, centred, scaled to the mean eigenvalue 1, with a ridge on its diagonal."""
    Y, D, *_ = load(data)
    features = Y.shape[1]
    if similarity == "distance matrix":
        S = nearest_semidefinite(similarity_from_distances(D))
    elif similarity == "RBF":
        S = double_centre(RBF(inverse_width=width / np.mean(squared_distances(Y)))(Y))
    else:
        power = Linear(1 / features) + Bias(1.0)
        S = double_centre((Linear(1 / features) if similarity == "linear" else power * power)(Y))
    return len(S) * S / np.trace(S) + ridge * np.eye(len(S))


def retained(preset, kept, q, n_points):
    """Indices (from 0) of the kept eigenvalues: the q largest, the q smallest, or those chosen by hand."""
    chosen = {"largest": range(q), "smallest": range(n_points - q, n_points)}.get(preset, [k - 1 for k in kept])
    chosen = sorted(chosen)
    if not 0 < len(chosen) < n_points:
        raise ValueError(
            f"{len(chosen)} of {n_points} bars are kept. Keep at least one, and discard at least one: the "
            "noise is what the discarded have on average."
        )
    if chosen[-1] >= n_points:
        raise ValueError(f"Bar {chosen[-1] + 1} does not exist: these data have {n_points} eigenvalues.")
    return chosen


@lru_cache(maxsize=64)
def all_sets(data, similarity, width, ridge, size, direction, part):
    """Every set of that size, for the picture at the upper right."""
    lam, _ = spectrum(similarity_matrix(data, similarity, width, ridge))
    return retained_sets(lam, size, DIRECTIONS[direction], PARTS[part])


def margins(sets, lam, part, rule):
    """Log distance of each set from its threshold: the noise, or (as printed) its inverse."""
    if rule == RULES[0]:
        return sets.margin
    threshold = np.log(1.0 / sets.noise_variance)
    ends = np.log(lam[sets.kept])
    return threshold - ends.max(axis=1) if PARTS[part] == "precision" else ends.min(axis=1) - threshold


def view(data, similarity, width, preset, kept, q, direction, part, ridge, rule, state=None):
    """The numbers behind the picture: for the kept set in closed form, or for an iterate of the optimiser."""
    S = similarity_matrix(data, similarity, width, ridge)
    lam, U = spectrum(S)
    chosen = retained(preset, kept, q, len(lam))
    sets = all_sets(data, similarity, width, ridge, len(chosen), direction, part)
    row = sets.kept.tolist().index(chosen)
    feasible = bool(sets.margin[row] > -1e-9)
    c, X, value = sets.noise_variance[row], None, sets.divergence[row]
    if state is not None:
        X, noise, values = state
        c, value = (1 / noise if PARTS[part] == "precision" else noise), values[-1]
    elif feasible:
        X, noise = minimiser(S, len(chosen), DIRECTIONS[direction], PARTS[part], kept=chosen)
    K = profile = None
    if X is not None:
        K = X @ X.T + noise * np.eye(len(S))
        K = np.linalg.inv(K) if PARTS[part] == "precision" else K
        profile = np.sum(U * (K @ U), axis=0)
    geometric = float(np.exp(np.mean(np.log(np.delete(lam, chosen)))))
    return Choice(lam, chosen, float(c), geometric, float(value), feasible, X, K, profile)


@in_style
def panel_unify(state=None, **settings) -> Figure:
    """Four views of one setting: the spectrum, every set of that size, the embedding, and both matrices.

    Parameters
    ----------
    state : tuple or None
        An iterate of the optimiser: (X, noise, values so far).
    **settings : the controls
        data : "cities", "oil flow" or "digits".
        similarity : "linear", "RBF", "polynomial" or "distance matrix".
        width : inverse width of the RBF, in units of 1 / (mean squared distance).
        preset : "largest", "smallest" or "by hand".
        kept : numbers of the bars kept by hand, 1 for the largest eigenvalue.
        q : how many are kept otherwise.
        direction, part : which divergence, and whether K or its inverse is of low rank plus noise.
        ridge : added to the diagonal of S.
        rule : the threshold of a kept eigenvalue: corrected, or the misprint of Lawrence (2005), appendix B.1.

    Returns
    -------
    matplotlib Figure
    """
    settings = DEFAULT | settings
    now = view(**settings, state=state)
    figure, axes = new_figure(2, 2, size=(9.2, 6.4), margins=MARGINS)
    draw_spectrum(axes[0, 0], now, settings, state)
    draw_sets(axes[0, 1], now, settings, state)
    draw_embedding(axes[1, 0], now, settings)
    draw_matrices(axes[1, 1], now, settings)
    return figure


def draw_spectrum(axes, now, settings, state=None):
    """Eigenvalues as bars on a log axis: the gap between the two lines, times (N - q) / 2, is the divergence."""
    lam, N = now.eigenvalues, len(now.eigenvalues)
    place = np.arange(1, N + 1)
    is_kept = np.isin(place - 1, now.kept)
    wrong = is_kept & (
        (lam > (1 + 1e-9) * now.noise_variance)
        if PARTS[settings["part"]] == "precision"
        else (lam < (1 - 1e-9) * now.noise_variance)
    )
    colours = np.where(wrong, ACCENT, np.where(is_kept, PALETTE[0], "#cfcfcf"))
    bottom = 0.3 * min(lam.min(), now.geometric_mean)
    axes.bar(place, lam - bottom, bottom=bottom, color=colours)
    mean = "harmonic" if DIRECTIONS[settings["direction"]] else "arithmetic"
    label = f"{mean} mean, the noise: {now.noise_variance:.3g}" if state is None else f"noise: {now.noise_variance:.3g}"
    axes.axhline(now.noise_variance, color=ACCENT, linewidth=1.4, label=label)
    if state is None:
        axes.axhspan(*sorted([now.geometric_mean, now.noise_variance]), color=ACCENT, alpha=0.15, linewidth=0)
    axes.axhline(
        now.geometric_mean,
        color="black",
        linewidth=1.2,
        linestyle="--",
        label=f"geometric mean: {now.geometric_mean:.3g}",
    )
    if settings["rule"] == RULES[1]:
        axes.axhline(
            1 / now.noise_variance,
            color=PALETTE[3],
            linewidth=1.4,
            linestyle=":",
            label=f"threshold as printed: {1 / now.noise_variance:.3g}",
        )
    if state is not None:
        axes.plot(place, now.profile, "o", color="black", markersize=4, label="variance of K there")
    axes.set(
        yscale="log",
        ylim=(bottom, 40 * lam.max()),
        xlim=(0.3, N + 0.7),
        xticks=place[::2],
        xlabel="eigenvalues of S (blue kept, grey discarded)",
        ylabel="variance",
        title="spectrum: click bars to keep or discard",
    )
    decades = 10.0 ** np.arange(np.ceil(np.log10(bottom)), np.log10(40 * lam.max()))
    axes.set_yticks(decades, labels=[f"{d:g}" for d in decades])  # plain text is drawn faster than formulas
    axes.yaxis.set_minor_locator(NullLocator())
    axes.legend(fontsize="small", loc="upper right")
    axes.set_gid("spectrum")


def draw_sets(axes, now, settings, state=None):
    """Every set of that size: divergence against its margin; only those to the right of the line are feasible."""
    size = len(now.kept)
    keys = ("data", "similarity", "width", "ridge")
    sets = all_sets(*[settings[k] for k in keys], size, settings["direction"], settings["part"])
    margin = margins(sets, now.eigenvalues, settings["part"], settings["rule"])
    allowed = margin > -1e-9
    axes.axvline(0, color="black", linewidth=1)
    style = dict(linestyle="none", marker="o", markersize=3.5, markeredgewidth=0, alpha=0.6)
    axes.plot(margin[~allowed], sets.divergence[~allowed], color=QUIET, label="not feasible", **style)
    axes.plot(margin[allowed], sets.divergence[allowed], color=PALETTE[0], label="feasible", **style)
    row = sets.kept.tolist().index(now.kept)
    if allowed.any():
        best = np.flatnonzero(allowed)[np.argmin(sets.divergence[allowed])]
        axes.plot(margin[best], sets.divergence[best], "*", color="black", markersize=11, label="best feasible")
    if state is None:
        axes.plot(
            margin[row],
            sets.divergence[row],
            "o",
            markersize=11,
            markerfacecolor="none",
            markeredgecolor=ACCENT,
            markeredgewidth=2,
            label="yours",
        )
    else:
        axes.axhline(now.divergence, color=ACCENT, linewidth=1.2, label="Run is here")
    top = sets.divergence.max()
    axes.set(
        xlabel="log (worst kept eigenvalue / threshold)",
        ylabel="divergence in nats",
        ylim=(-0.05 * top, 1.45 * top),
        title=f"{len(sets.kept)} ways to keep {size}: yours {now.divergence:.2f}",
    )
    axes.legend(fontsize="small", loc="upper right", ncols=2, columnspacing=1, handletextpad=0.3)


def draw_embedding(axes, now, settings):
    """The latent positions, or why there are none."""
    _, _, target, names = load(settings["data"])
    if now.latent is None:
        axes.text(
            0.5,
            0.5,
            "no embedding:\nan orange bar lies on the wrong side\nof the noise, its length is imaginary",
            ha="center",
            va="center",
            transform=axes.transAxes,
            color=ACCENT,
        )
        axes.set(xticks=[], yticks=[], title="embedding")
        return
    X = now.latent if now.latent.shape[1] > 1 else np.column_stack([now.latent, np.zeros(len(now.latent))])
    if settings["data"] == "cities":
        axes.plot(X[:, 0], X[:, 1], "o", color=PALETTE[0])
        for name, (x, y) in zip(names, X[:, :2], strict=True):
            axes.annotate(name, (x, y), xytext=(4, 3), textcoords="offset points", fontsize=8)
        axes.margins(x=0.22)
    else:
        scatter_classes(axes, X, target, names, size=36, legend="outside")
        box = axes.get_position()
        axes.set_position([box.x0, box.y0, 0.8 * box.width, box.height])  # room for the legend
    axes.margins(y=0.15)
    axes.set(
        xlabel="latent dimension 1",
        ylabel="latent dimension 2" if now.latent.shape[1] > 1 else "",
        title=f"embedding: q = {now.latent.shape[1]}, of squared length {np.sum(now.latent**2):.3g}",
    )


def draw_matrices(axes, now, settings):
    """S beside K, which approximates it."""
    S = similarity_matrix(*[settings[k] for k in ("data", "similarity", "width", "ridge")])
    K = np.full_like(S, np.nan) if now.covariance is None else now.covariance
    both = np.hstack([S, np.full((len(S), 2), np.nan), K])
    limit = np.abs(S).max()
    axes.imshow(both, cmap="RdBu_r", vmin=-limit, vmax=limit)
    middle = (len(S) - 1) / 2
    axes.set(
        xticks=[middle, middle + len(S) + 2],
        yticks=[],
        xticklabels=["S, from the data", "K, from the latent space" if now.latent is not None else "no K"],
        title="the two covariances",
    )
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


LOAD = {
    "cities": """\
phi, theta = np.radians(np.array(list(cities.WORLD.values()))).T
Y = np.column_stack([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)])
D = great_circle_distances(np.degrees(phi), np.degrees(theta), radius=1.0)""",
    "oil flow": """\
Y = simulate_oil_flow(15, random_state=0).data
D = np.abs(Y[:, None] - Y).sum(axis=2)                  # city-block distances""",
    "digits": """\
Y = load_digits().data[:15]
D = np.abs(Y[:, None] - Y).sum(axis=2)                  # city-block distances""",
}
FORMULA = {
    "linear": "S = double_centre(Linear(1 / Y.shape[1])(Y))",
    "RBF": "S = double_centre(RBF(inverse_width={width!r} / np.mean(squared_distances(Y)))(Y))",
    "polynomial": "power = Linear(1 / Y.shape[1]) + Bias(1.0)\nS = double_centre((power * power)(Y))",
    "distance matrix": "S = nearest_semidefinite(similarity_from_distances(D))",
}
CODE = """\
import numpy as np
from gplvm_edu.datasets import cities, great_circle_distances, load_digits, simulate_oil_flow
from gplvm_edu.kernels import RBF, Bias, Linear
from gplvm_edu.linalg import double_centre, nearest_semidefinite, squared_distances
from gplvm_edu.unify import minimiser, retained_sets, similarity_from_distances, spectrum

{load}
{formula}
S = len(S) * S / np.trace(S) + {ridge!r} * np.eye(len(S))        # mean eigenvalue 1, and a ridge
eigenvalues, U = spectrum(S)
kept = {kept}                                           # 0 is the largest
sets = retained_sets(eigenvalues, len(kept), reverse={reverse}, low_rank={low_rank!r})
row = sets.kept.tolist().index(kept)
noise_variance, divergence = sets.noise_variance[row], sets.divergence[row]
feasible = sets.margin[row] > -1e-9
print(f"divergence {{divergence:.3f}} nats, noise {{noise_variance:.3g}}, feasible: {{feasible}}")
if feasible:
    X, c = minimiser(S, len(kept), reverse={reverse}, low_rank={low_rank!r}, kept=kept)
"""


class UnifyExplorer(Explorer):
    """Controls for `panel_unify`; Run minimises the divergence from a random start."""

    title = "One divergence: which eigenvalues to keep"
    clicked = (0, 0.0)  # the bar clicked last, and when
    questions = (
        Question(
            "The two largest bars are kept, and the gap between the two lines, times (N - q)/2, is the "
            "divergence. Some other pair has a smaller gap. Which, and can we have it?",
            DEFAULT,
            dict(preset="smallest"),
            "The two smallest: without them the discarded bars are more alike, and the gap shrinks. But the kept "
            "bars now lie below the noise, so their lengths (3.9) are imaginary. At the upper right the cheapest "
            "sets stand left of the line; the best that can be had is the star, the two largest.",
        ),
        Question(
            "The paper says that the reversed divergence keeps the smallest eigenvalues. Reverse it: will the "
            "star move to the smallest two?",
            DEFAULT,
            dict(direction="KL(K || S)"),
            "It does not move. The noise falls from the arithmetic to the harmonic mean, and the largest two are "
            "still the best feasible pair (3.17).",
        ),
        Question(
            "Now let the inverse of K be of low rank plus noise. Which pair will be best, and for which direction "
            "of the divergence?",
            DEFAULT,
            dict(part="inverse of K = XX' + cI", preset="smallest"),
            "The two smallest, for either direction (try both). Where the low-rank part sits decides which end of "
            "the spectrum is kept; the direction decides only which mean the noise is (3.18).",
        ),
    )

    def make_controls(self):
        wide = dict(style={"description_width": "initial"})
        tidy = dict(style={"button_width": "80px"})
        return {
            "data": {"data": W.ToggleButtons(options=["digits", "oil flow", "cities"], description="data", **tidy)},
            "kernel": {
                "similarity": W.Dropdown(
                    options=SIMILARITIES,
                    description="S",
                    layout=W.Layout(width="230px"),
                    style={"description_width": "20px"},
                ),
                "width": W.FloatLogSlider(
                    1.0,
                    base=10,
                    min=-1,
                    max=2,
                    step=0.1,
                    description="RBF inverse width",
                    readout_format=".2f",
                    layout=W.Layout(width="310px"),
                    **wide,
                ),
            },
            "start": {
                "preset": W.ToggleButtons(options=["largest", "smallest", "by hand"], **tidy),
                "kept": W.SelectMultiple(
                    options=range(1, N_POINTS + 1),
                    value=(1, 2),
                    rows=3,
                    description="kept bars",
                    layout=W.Layout(width="170px"),
                ),
            },
            "size": {"q": W.IntSlider(2, 1, 6, description="dimensions q", layout=W.Layout(width="230px"), **wide)},
            "more": {
                "direction": W.ToggleButtons(options=list(DIRECTIONS), style={"button_width": "90px"}),
                "part": W.Dropdown(options=list(PARTS), layout=W.Layout(width="200px")),
                "ridge": W.FloatLogSlider(
                    0.01,
                    base=10,
                    min=-6,
                    max=0,
                    step=0.25,
                    description="ridge on S",
                    readout_format=".1e",
                    layout=W.Layout(width="270px"),
                    **wide,
                ),
                "rule": W.Dropdown(
                    options=RULES, description="kept bars must lie", layout=W.Layout(width="330px"), **wide
                ),
            },
        }

    # --- the list of kept bars, the preset and q must agree ----------------------------------------------------
    def set(self, **settings):
        """Naming kept bars means choosing by hand, unless a preset is named as well."""
        if "kept" in settings and "preset" not in settings:
            settings["preset"] = "by hand"
        super().set(**settings)

    def on_change(self, change):
        if change["owner"] is self.controls["kept"]:
            self.set(preset="by hand")
        elif change["owner"] is self.controls["q"] and self.settings["preset"] == "by hand":
            self.set(preset="largest")
        else:
            super().on_change(change)

    def controls_changed(self, *changed):
        now = self.settings
        if now["preset"] != "by hand":
            n_points = len(load(now["data"])[0])
            with self.quietly():
                self.controls["kept"].value = tuple(k + 1 for k in retained(now["preset"], (), now["q"], n_points))
        super().controls_changed(*changed)

    def panel(self, settings, state):
        return panel_unify(**settings, state=state)

    def code(self, settings):
        kept = retained(settings["preset"], settings["kept"], settings["q"], len(load(settings["data"])[0]))
        return CODE.format(
            load=LOAD[settings["data"]],
            formula=FORMULA[settings["similarity"]].format(**settings),
            ridge=settings["ridge"],
            kept=kept,
            reverse=DIRECTIONS[settings["direction"]],
            low_rank=PARTS[settings["part"]],
        )

    def click(self, axes, x, y):
        """A click on a bar keeps it, or discards it if it was kept."""
        if axes.get_gid() != "spectrum":
            return {}
        n_points = len(load(self.settings["data"])[0])
        bar, before = int(np.clip(round(x), 1, n_points)), self.clicked
        self.clicked = (bar, time.monotonic())
        if before[0] == bar and self.clicked[1] - before[1] < SAME_CLICK:
            return {}  # a second event of the same click
        return {"kept": tuple(sorted(set(self.settings["kept"]) ^ {bar})), "preset": "by hand"}

    def iterates(self, settings):
        """Minimise the divergence over X and the noise from a random start."""
        keys = ("data", "similarity", "width", "ridge")
        S, size = similarity_matrix(*[settings[k] for k in keys]), len(self.settings["kept"])
        reverse = DIRECTIONS[settings["direction"]]
        if PARTS[settings["part"]] == "precision":  # the same divergence of the inverses, exchanged
            S, reverse = np.linalg.inv(S), not reverse
            S = 0.5 * (S + S.T)
        N, unit = len(S), np.trace(S) / len(S)

        def value_and_gradient(x):
            value, dX, dc = linear_divergence(S / unit, x[:-1].reshape(N, size), np.exp(x[-1]), reverse)
            return value, np.append(dX.ravel(), dc * np.exp(x[-1]))

        start = np.append(0.3 * np.random.default_rng(0).standard_normal(N * size), 0.0)
        values = []
        for step, iterate in enumerate(minimise(value_and_gradient, start, method="scg", max_iter=400)):
            values.append(iterate.value)
            X = np.sqrt(unit) * iterate.x[:-1].reshape(N, size)
            yield min(step / 400, 1.0), (X, unit * float(np.exp(iterate.x[-1])), list(values))


def explore_unify(**settings) -> UnifyExplorer:
    """The live explorer of chapter 3; any control can be set: ``explore_unify(data="cities", q=3)``."""
    return UnifyExplorer(**(DEFAULT | settings if "kept" not in settings else settings))
