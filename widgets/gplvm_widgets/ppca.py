"""`explore_ppca`: one noise level, one rotation, one q, read along rows (PPCA) or along columns (its dual)."""

from functools import lru_cache
from typing import NamedTuple

import ipywidgets as W
import numpy as np
from matplotlib.figure import Figure

from gplvm_edu import datasets
from gplvm_edu.linalg import centre
from gplvm_edu.optimise import minimise
from gplvm_edu.plotting import ACCENT, PALETTE, QUIET, in_style, new_figure, scatter_classes
from gplvm_edu.ppca import (
    LinearGaussian,
    dual_gradient,
    em_iterates,
    latent_posterior,
    log_likelihood,
    maximum_likelihood,
    principal_axes,
)

from .explorer import Explorer, Question

N_POINTS = 400
LOAD = {
    "oil flow": "simulate_oil_flow(400, random_state=0).data",
    "digits": "load_digits().data[:400]",
    "3-D cloud": "np.random.default_rng(0).standard_normal((400, 3)) @ np.diag([2.0, 1.0, 0.4])",
}
MARGINS = dict(left=0.08, right=0.98, bottom=0.08, top=0.95, wspace=0.22, hspace=0.38)
EXPONENTS = {"corrected: +1/2": 0.5, "as printed: -1/2": -0.5}


class View(NamedTuple):
    """Everything that the picture shows for one setting."""

    noise_variance: float
    log_likelihood: float
    latent: np.ndarray
    reconstruction: np.ndarray


@lru_cache(maxsize=8)
def load(data):
    """Centred data, its mean, the classes and their names, for one entry of the menu."""
    if data == "oil flow":
        bunch = datasets.simulate_oil_flow(N_POINTS, random_state=0)
        Y, target, names = bunch.data, bunch.target, bunch.target_names
    elif data == "digits":
        bunch = datasets.load_digits()
        Y, target, names = bunch.data[:N_POINTS], bunch.target[:N_POINTS], bunch.target_names
    else:
        Y = np.random.default_rng(0).standard_normal((N_POINTS, 3)) @ np.diag([2.0, 1.0, 0.4])
        target, names = np.zeros(N_POINTS, int), ["cloud"]
    return (*centre(Y), target, names)


@lru_cache(maxsize=8)
def spectrum(data, model):
    """Eigenvalues of Y'Y/N (primal) or YY'/D (dual), largest first, with the exact zeros, and their axes."""
    Y = load(data)[0]
    lam, axes = principal_axes(Y if model == "primal" else Y.T)
    return np.pad(lam, (0, len(axes) - len(lam))), axes


def best_noise(data, model, q):
    """The noise variance of greatest likelihood: the mean of the eigenvalues that are not kept, (1.11)."""
    lam, _ = spectrum(data, model)
    return lam[q:].mean()


def rotation(q, degrees):
    """A rotation in the plane of the first two latent dimensions; for q = 1 the identity."""
    R = np.eye(q)
    if q > 1:
        c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        R[:2, :2] = [[c, -s], [s, c]]
    return R


def view(data, model, noise, rotate, q, exponent, state=None):
    """Fit at the noise level asked for; `state` (factor, noise variance) replaces the closed form during Run."""
    Y = load(data)[0]
    rows = Y if model == "primal" else Y.T
    if state is not None:
        factor, s2 = state[0], state[1]
    else:
        s2 = noise * best_noise(data, model, q)
        lam, axes = spectrum(data, model)
        excess = np.maximum(lam[:q] - s2, 0.0)
        power = np.power(excess, EXPONENTS[exponent], out=np.zeros(q), where=excess > 0)
        factor = axes[:, :q] * power @ rotation(q, rotate)
    means, _ = latent_posterior(rows, factor, s2)
    latent, weights = (means, factor) if model == "primal" else (factor, means)
    return View(s2, log_likelihood(rows, factor, s2), latent, latent @ weights.T)


@lru_cache(maxsize=64)
def profile(data, model, q):
    """Log likelihood per data entry against the noise variance, the best axes chosen for each."""
    Y = load(data)[0]
    rows = Y if model == "primal" else Y.T
    levels = best_noise(data, model, q) * np.logspace(-2, 2, 61)
    values = [log_likelihood(rows, maximum_likelihood(rows, q, s2)[0], s2) / Y.size for s2 in levels]
    return levels, np.array(values)


@in_style
def panel_ppca(
    data="oil flow", model="primal", noise=1.0, rotate=0, q=2, exponent="corrected: +1/2", point=0, state=None
) -> Figure:
    """Four views of one setting: likelihood against noise, spectrum and noise level, embedding, one reconstruction.

    Parameters
    ----------
    data : "oil flow", "digits" or "3-D cloud"
    model : "primal" (PPCA) or "dual"
    noise : float
        Noise variance as a multiple of its maximum likelihood value.
    rotate : float
        Degrees in the plane of the first two latent dimensions.
    q : int
    exponent : str
        "corrected: +1/2", or the misprint of Lawrence (2005), section 2.3.
    point : int
        The row whose reconstruction is drawn.
    state : tuple or None
        An iterate of the optimiser: (factor, noise variance, values so far).

    Returns
    -------
    matplotlib Figure
    """
    if q >= load(data)[0].shape[1]:
        raise ValueError(
            f"q = {q} leaves no direction for the noise: the {data} data have "
            f"{load(data)[0].shape[1]} columns. Choose a smaller q (size)."
        )
    now = view(data, model, noise, rotate, q, exponent, state)
    figure, axes = new_figure(2, 2, size=(9.2, 6.2), margins=MARGINS)
    draw_profile(axes[0, 0], data, model, q, now, state)
    draw_spectrum(axes[0, 1], data, model, q, now.noise_variance)
    draw_embedding(axes[1, 0], data, model, q, now, point)
    draw_reconstruction(axes[1, 1], data, now, point)
    return figure


def draw_profile(axes, data, model, q, now, state):
    """Both likelihoods against the noise variance, the current one in colour, the current setting as a dot."""
    for name, label, colour in (("primal", "PPCA", PALETTE[0]), ("dual", "dual PPCA", PALETTE[2])):
        levels, values = profile(data, name, q)
        axes.plot(levels, values, color=colour, alpha=1.0 if name == model else 0.35, label=label)
        axes.plot(levels[30], values[30], "|", color=colour, markersize=12)
    size = load(data)[0].size
    if state is not None and len(state) > 2:
        path = np.array(state[2])
        axes.plot(path[:, 0], path[:, 1] / size, ".-", color=ACCENT, linewidth=0.8, markersize=4)
    axes.plot(now.noise_variance, now.log_likelihood / size, "o", color=ACCENT, markersize=8)
    floor = profile(data, model, q)[1].min()
    low = min(floor, now.log_likelihood / size)
    high = max(profile(data, name, q)[1].max() for name in ("primal", "dual"))
    axes.set(
        xscale="log",
        xlabel="noise variance",
        ylabel="log likelihood / entry",
        title=f"log likelihood {now.log_likelihood:.1f}",
        ylim=(max(low, high - 6) - 0.1, high + 0.1),
    )
    axes.minorticks_off()
    axes.xaxis.set_major_formatter("{x:g}")  # plain numbers are drawn faster than powers of ten
    axes.legend(fontsize="small", loc="lower center")


def draw_spectrum(axes, data, model, q, s2):
    """Each eigenvalue as a bar: the noise's share in grey, the rest of the kept ones in colour."""
    lam, _ = spectrum(data, model)
    shown = min(len(lam), 12)
    place = np.arange(1, shown + 1)
    axes.bar(place, np.minimum(lam[:shown], s2), color="#cfcfcf", label="noise")
    kept = place <= q
    axes.bar(place[kept], np.maximum(lam[:shown] - s2, 0)[kept], bottom=s2, color=PALETTE[0], label="kept axes")
    axes.bar(
        place[~kept],
        np.maximum(lam[:shown] - s2, 0)[~kept],
        bottom=s2,
        color="none",
        edgecolor=QUIET,
        linestyle=":",
        label="not explained",
    )
    axes.axhline(s2, color=ACCENT, linewidth=1.2, label=f"noise floor {s2:.3g}")
    matrix = "Y'Y / N" if model == "primal" else "YY' / D"
    more = f", first {shown} of {len(lam)}" if shown < len(lam) else ""
    axes.set(
        xlabel=f"eigenvalues of {matrix}{more}",
        ylabel="variance",
        title="spectrum and noise floor",
        xticks=place[:: 1 if shown < 9 else 2],
        ylim=(0, 1.1 * max(lam[0], 1.15 * min(s2, 3 * lam[0]))),
    )
    axes.legend(fontsize="small", loc="upper right")


def draw_embedding(axes, data, model, q, now, point):
    """The latent points on axes that do not move with the controls, the chosen one ringed."""
    _, _, target, names = load(data)
    scatter_classes(axes, now.latent, target, names, size=12, legend="outside")
    best = view(data, model, 1.0, 0.0, q, "corrected: +1/2").latent[:, :2]
    limit = 1.1 * np.sqrt(np.max(np.sum(best**2, axis=1)))
    chosen = now.latent[point, :2] if q > 1 else (point, now.latent[point, 0])
    axes.plot(*chosen, "o", markersize=13, markerfacecolor="none", markeredgecolor="black", markeredgewidth=1.5)
    axes.set(ylim=(-limit, limit), title="embedding: click a point" if q > 1 else "embedding (q = 1)")
    if q > 1:
        axes.set(xlim=(-limit, limit), aspect="equal", anchor="W")
    axes.set_gid("embedding")


def draw_reconstruction(axes, data, now, point):
    """The chosen row beside its reconstruction."""
    Y, mean, *_ = load(data)
    truth, guess = Y[point] + mean, now.reconstruction[point] + mean
    error = np.sqrt(np.mean((truth - guess) ** 2))
    axes.set_title(f"point {point}: root mean square error {error:.3g}")
    if data == "digits":
        both = np.hstack([truth.reshape(8, 8), np.full((8, 1), np.nan), guess.reshape(8, 8)])
        axes.imshow(both, vmin=0, vmax=16)
        axes.set(xticks=[3.5, 12.5], yticks=[], xticklabels=["data", "reconstruction"])
        axes.spines[:].set_visible(False)
        return
    place = np.arange(1, len(truth) + 1)
    axes.plot(place, truth, "o", color="black", label="data")
    axes.plot(place, guess, "_", color=ACCENT, markersize=16, markeredgewidth=2.5, label="reconstruction")
    axes.vlines(place, truth, guess, color=ACCENT, linewidth=1)
    axes.set(xlabel="column", ylabel="value", xticks=place)
    axes.margins(y=0.2)
    axes.legend(fontsize="small", loc="upper right", ncols=2)


CODE = """\
import numpy as np
from gplvm_edu.datasets import load_digits, simulate_oil_flow
from gplvm_edu.linalg import centre
from gplvm_edu.ppca import latent_posterior, log_likelihood, principal_axes

Y, mean = centre({load})
rows = {rows}
eigenvalues, axes = principal_axes(rows)
q = {q}
best_noise = eigenvalues[q:].sum() / (rows.shape[1] - q)
noise_variance = {noise:g} * best_noise
angle = np.radians({rotate:g})
R = np.eye(q)
R[:2, :2] = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])[:q, :q]{one}
excess = np.maximum(eigenvalues[:q] - noise_variance, 0.0)
lengths = np.power(excess, {exponent:g}, out=np.zeros(q), where=excess > 0)
factor = axes[:, :q] * lengths @ R
value = log_likelihood(rows, factor, noise_variance)
means, covariance = latent_posterior(rows, factor, noise_variance)
latent, weights = {pair}
reconstruction = latent @ weights.T + mean
print(f"noise variance {{noise_variance:.4g}}, log likelihood {{value:.1f}}")
"""


class PPCAExplorer(Explorer):
    """Controls for `panel_ppca`; Run maximises the likelihood from a random start."""

    title = "PPCA and its dual"
    questions = (
        Question(
            "The dot sits at the top of its curve. If the noise variance is made ten times larger, what happens "
            "to the embedding: does it spread, shrink, or stay?",
            dict(data="oil flow", model="primal", noise=1.0, rotate=0, q=2, exponent="corrected: +1/2"),
            dict(noise=10.0),
            "It shrinks towards the origin: the more noise the model expects, the less it believes each point, "
            "and the posterior means (1.8) fall back to the prior. An axis whose eigenvalue sinks below the floor "
            "is switched off altogether.",
        ),
        Question(
            "Turn the latent space by 60 degrees. Which of the four pictures will change?",
            dict(data="digits", model="primal", noise=1.0, rotate=0, q=2, exponent="corrected: +1/2"),
            dict(rotate=60),
            "Only the embedding. The likelihood, the spectrum and the reconstruction depend on W W' alone, and a "
            "rotation cancels in it (1.10): the axes of a PPCA plot have no meaning of their own.",
        ),
        Question(
            "Now from PPCA to its dual, on the same data with the same q. Same embedding, same noise, same likelihood?",
            dict(data="oil flow", model="primal", noise=1.0, rotate=0, q=2, exponent="corrected: +1/2"),
            dict(model="dual"),
            "The picture of the points is the same up to a stretch of each axis, so the subspace is shared. "
            "Nothing else is: the noise is an average over N - q instead of D - q eigenvalues, and the likelihood "
            "is that of another model (1.17).",
        ),
    )

    def make_controls(self):
        wide = dict(style={"description_width": "initial"})
        return {
            "data": {"data": W.ToggleButtons(options=list(LOAD), description="data", style={"button_width": "90px"})},
            "kernel": {
                "model": W.ToggleButtons(
                    options=[("PPCA", "primal"), ("dual PPCA", "dual")], style={"button_width": "90px"}
                ),
                "noise": W.FloatLogSlider(
                    1.0,
                    base=10,
                    min=-2,
                    max=2,
                    step=0.05,
                    description="noise / best",
                    readout_format=".2f",
                    layout=W.Layout(width="290px"),
                    **wide,
                ),
            },
            "start": {
                "rotate": W.IntSlider(0, -180, 180, 5, description="rotation", layout=W.Layout(width="270px"), **wide)
            },
            "size": {"q": W.IntSlider(2, 1, 8, description="dimensions q", layout=W.Layout(width="240px"), **wide)},
            "more": {
                "exponent": W.Dropdown(options=list(EXPONENTS), description="exponent in (1.10)", **wide),
                "point": W.BoundedIntText(
                    0,
                    0,
                    N_POINTS - 1,
                    description="point",
                    layout=W.Layout(width="130px"),
                    style={"description_width": "40px"},
                ),
            },
        }

    def panel(self, settings, state):
        return panel_ppca(**settings, state=state)

    def code(self, settings):
        primal = settings["model"] == "primal"
        return CODE.format(
            load=LOAD[settings["data"]],
            rows="Y" if primal else "Y.T    # dual PPCA is PPCA of the transposed data",
            q=settings["q"],
            noise=settings["noise"],
            rotate=settings["rotate"],
            one="\nR = np.eye(q)                       # one dimension can't be turned" if settings["q"] == 1 else "",
            exponent=EXPONENTS[settings["exponent"]],
            pair="means, factor" if primal else "factor, means",
        )

    def click(self, axes, x, y):
        if axes.get_gid() != "embedding":
            return {}
        now = view(**{k: v for k, v in self.settings.items() if k != "point"}, state=self.state).latent
        if now.shape[1] == 1:
            return {"point": int(np.clip(round(x), 0, N_POINTS - 1))}
        return {"point": int(np.argmin(np.sum((now[:, :2] - [x, y]) ** 2, axis=1)))}

    def iterates(self, settings):
        """EM for PPCA; for the dual, scaled conjugate gradients over X at the noise level chosen."""
        Y, q = load(settings["data"])[0], settings["q"]
        rng = np.random.default_rng(0)
        path = []
        if settings["model"] == "primal":
            D = Y.shape[1]
            scale = np.sqrt(np.mean(Y**2))
            start = LinearGaussian(scale * rng.standard_normal((D, q)), np.zeros(D), np.full(D, scale**2))
            for step, state in enumerate(em_iterates(Y, start, max_iter=200)):
                now = state.parameters
                path.append((now.noise[0], state.value))
                yield step / 200, (now.weights, now.noise[0], list(path))
            return
        s2 = settings["noise"] * best_noise(settings["data"], "dual", q)
        size = np.sqrt(np.mean(Y**2) / q)

        def value_and_gradient(x):
            X = x.reshape(-1, q)
            return -log_likelihood(Y.T, X, s2), -dual_gradient(Y, X, s2).ravel()

        start = 0.1 * size * rng.standard_normal(len(Y) * q)
        for step, iterate in enumerate(minimise(value_and_gradient, start, method="scg", max_iter=200)):
            path.append((s2, -iterate.value))
            yield min(step / 200, 1.0), (iterate.x.reshape(-1, q), s2, list(path))


def explore_ppca(**settings) -> PPCAExplorer:
    """The live explorer of chapter 1; any control can be set: ``explore_ppca(data="digits", q=3)``."""
    return PPCAExplorer(**settings)
