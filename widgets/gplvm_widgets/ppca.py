"""`explore_ppca`: one noise level, one rotation, one q, read along rows (PPCA) or along columns (its dual)."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gplvm_edu import datasets
from gplvm_edu.linalg import centre
from gplvm_edu.optimise import minimise
from gplvm_edu.ppca import (
    LinearGaussian,
    dual_gradient,
    em_iterates,
    latent_posterior,
    log_likelihood,
    maximum_likelihood,
    principal_axes,
)

from .controls import buttons, log_slider, menu, number, slider
from .drawing import image_panel, ring, segments
from .explorer import Explorer, Question
from .scene import Axis, Bars, Lines, Panel, Points, Rules, SceneOf, remember

N_POINTS = 400
LOAD = {
    "oil flow": "simulate_oil_flow(400, random_state=0).data",
    "digits": "load_digits().data[:400]",
    "3-D cloud": "np.random.default_rng(0).standard_normal((400, 3)) @ np.diag([2.0, 1.0, 0.4])",
}
MATRIX = {"primal": "Y'Y / N", "dual": "YY' / D"}
EXPONENTS = {"corrected: +1/2": 0.5, "as printed: -1/2": -0.5}


class Step(NamedTuple):
    """A state of a run: the factor and the noise it has reached, its number, (noise, likelihood) of all so far."""

    factor: np.ndarray
    noise_variance: float
    number: int
    path: list


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
    """The noise variance of greatest likelihood: the mean of the eigenvalues that are not kept, (1.14)."""
    lam, _ = spectrum(data, model)
    return lam[q:].mean()


def rotation(q, degrees):
    """A rotation in the plane of the first two latent dimensions; for q = 1 the identity."""
    R = np.eye(q)
    if q > 1:
        c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        R[:2, :2] = [[c, -s], [s, c]]
    return R


@remember(maxsize=6)
def view(data, model, noise, rotate, q, exponent, state):
    """Fit at the noise level asked for; the state of a run replaces the closed form."""
    Y = load(data)[0]
    rows = Y if model == "primal" else Y.T
    if state is not None:
        factor, s2 = state.factor, state.noise_variance
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


OPENING = dict(data="oil flow", model="primal", noise=1.0, rotate=0, q=2, exponent="corrected: +1/2", point=0)


def likelihood(data, model, noise, q, exponent, state):
    """Both likelihoods against the noise variance, the current one in full colour, the current setting as a dot."""
    now, size = view(data, model, noise, 0, q, exponent, state), load(data)[0].size
    marks = []
    for name, label, colour in (("primal", "PPCA", 0), ("dual", "dual PPCA", 2)):
        levels, values = profile(data, name, q)
        look = dict(colour=colour, opacity=1.0 if name == model else 0.35)
        marks.append(Lines(name, levels, values, label=label, **look))
        marks.append(Points(f"best {name}", [levels[30]], [values[30]], marker="bar", size=14, **look))
    if state is not None:
        path = np.array(state.path)
        marks.append(Lines("path", path[:, 0], path[:, 1] / size, colour="accent", width=1.2, label="the run"))
    marks.append(Points("now", [now.noise_variance], [now.log_likelihood / size], colour="accent", size=10))
    low = min(profile(data, model, q)[1].min(), now.log_likelihood / size)
    high = max(profile(data, name, q)[1].max() for name in ("primal", "dual"))
    return Panel(
        marks,
        title="log likelihood against the noise",
        x=Axis("noise variance", log=True),
        y=Axis("log likelihood / entry", (max(low, high - 6) - 0.1, high + 0.1)),
    )


def spectrum_and_floor(data, model, noise, q, state):
    """Each eigenvalue as a bar: the noise's share in grey, the rest of the kept ones in colour."""
    s2 = noise * best_noise(data, model, q) if state is None else state.noise_variance
    lam, _ = spectrum(data, model)
    shown = min(len(lam), 12)
    place, kept = np.arange(1, shown + 1), np.arange(1, shown + 1) <= q
    above = np.maximum(lam[:shown] - s2, 0)
    name = f"eigenvalues, {shown} of {len(lam)}" if shown < len(lam) else f"eigenvalues of {MATRIX[model]}"
    return Panel(
        [
            Bars("noise", place, np.minimum(lam[:shown], s2), colour="pale", label="noise"),
            Bars("kept", place[kept], above[kept], base=s2, colour=0, label="kept axes"),
            Bars("lost", place[~kept], above[~kept], base=s2, colour="quiet", outline=True, label="not explained"),
            Rules("floor", y=[s2], colour="accent", label=f"noise floor {s2:.3g}"),
        ],
        title="spectrum and noise floor",
        x=Axis(name, (0.3, shown + 0.7)),
        y=Axis("variance", (0, 1.1 * max(lam[0], 1.15 * min(s2, 3 * lam[0])))),
    )


def embedding(data, model, noise, rotate, q, exponent, point, state):
    """The latent points on axes that do not move with the controls, the chosen one ringed."""
    _, _, target, names = load(data)
    latent = places(view(data, model, noise, rotate, q, exponent, state).latent)
    best = view(data, model, 1.0, 0.0, q, "corrected: +1/2", None).latent[:, :2]
    limit = 1.1 * np.sqrt(np.max(np.sum(best**2, axis=1)))
    marks = [
        Points("points", *latent.T, group=target, names=names, size=5, opacity=0.85),
        ring("chosen", *latent[point]),
    ]
    across = Axis("latent dimension 1", (-limit, limit)) if q > 1 else Axis("point")
    up = Axis(f"latent dimension {min(q, 2)}", (-limit, limit))
    return Panel(marks, title="embedding", hint="click a point", x=across, y=up, equal=q > 1, listens="click")


def places(latent):
    """Where points are drawn: their first two latent dimensions, or their number and their only one."""
    return latent[:, :2] if latent.shape[1] > 1 else np.column_stack([np.arange(len(latent)), latent[:, 0]])


def reconstruction(data, model, noise, q, exponent, point, state):
    """The chosen row beside its reconstruction."""
    Y, mean, *_ = load(data)
    truth = Y[point] + mean
    guess = view(data, model, noise, 0, q, exponent, state).reconstruction[point] + mean
    title = f"point {point}: root mean square error {np.sqrt(np.mean((truth - guess) ** 2)):.3g}"
    if data == "digits":
        return image_panel([truth.reshape(8, 8), guess.reshape(8, 8)], ("data", "reconstruction"), 16, title)
    column = np.arange(1, len(truth) + 1)
    marks = [
        Lines("gap", *segments(column, truth, guess), colour="accent", width=1),
        Points("data", column, truth, colour="ink", label="data"),
        Points("guess", column, guess, colour="accent", marker="dash", size=16, label="reconstruction"),
    ]
    return Panel(marks, title=title, x=Axis("column"), y=Axis("value"))


def says(data, model, noise, q, exponent, state):
    """The two numbers that the code shown prints."""
    now = view(data, model, noise, 0, q, exponent, state)
    return f"noise variance {now.noise_variance:.4g}, log likelihood {now.log_likelihood:.1f}"


panel_ppca = SceneOf(likelihood, spectrum_and_floor, embedding, reconstruction, defaults=OPENING, says=says)


HEAD = """\
import numpy as np
from gplvm_edu.datasets import load_digits, simulate_oil_flow
from gplvm_edu.linalg import centre
from gplvm_edu.optimise import minimise
from gplvm_edu.ppca import (
    LinearGaussian, dual_gradient, em_iterates, latent_posterior, log_likelihood, principal_axes)

Y, mean = centre({load})
rows = {rows}
q = {q}
"""
CLOSED_FORM = """\
eigenvalues, axes = principal_axes(rows)
best_noise = eigenvalues[q:].sum() / (rows.shape[1] - q)
noise_variance = {noise:g} * best_noise
R = np.eye(q)
if q > 1:                                # one dimension can't be turned
    c, s = np.cos(np.radians({rotate:g})), np.sin(np.radians({rotate:g}))
    R[:2, :2] = [[c, -s], [s, c]]
excess = np.maximum(eigenvalues[:q] - noise_variance, 0.0)
lengths = np.power(excess, {exponent:g}, out=np.zeros(q), where=excess > 0)
factor = axes[:, :q] * lengths @ R
"""
BY_EM = """\
scale, D = np.sqrt(np.mean(Y**2)), Y.shape[1]
W = scale * np.random.default_rng(0).standard_normal((D, q))
start = LinearGaussian(W, np.zeros(D), np.full(D, scale**2))
*_, state = (state for _, state in zip(range({step} + 1), em_iterates(Y, start, max_iter=200)))
factor, noise_variance = state.parameters.weights, state.parameters.noise[0]
"""
BY_GRADIENTS = """\
eigenvalues, axes = principal_axes(rows)
noise_variance = {noise:g} * eigenvalues[q:].sum() / (rows.shape[1] - q)


def value_and_gradient(x):
    X = x.reshape(-1, q)
    return -log_likelihood(Y.T, X, noise_variance), -dual_gradient(Y, X, noise_variance).ravel()


start = 0.1 * np.sqrt(np.mean(Y**2) / q) * np.random.default_rng(0).standard_normal(len(Y) * q)
*_, state = (state for _, state in zip(range({step} + 1), minimise(value_and_gradient, start, "scg", max_iter=200)))
factor = state.x.reshape(-1, q)
"""
TAIL = """\
means, covariance = latent_posterior(rows, factor, noise_variance)
latent, weights = {pair}
reconstruction = latent @ weights.T + mean
value = log_likelihood(rows, factor, noise_variance)
print(f"noise variance {{noise_variance:.4g}}, log likelihood {{value:.1f}}")
"""


class PPCAExplorer(Explorer):
    """Controls for `panel_ppca`; Run maximises the likelihood from a random start."""

    title = "PPCA and its dual"
    panels = panel_ppca
    questions = (
        Question(
            "The dot sits at the top of its curve. If the noise variance is made ten times larger, what happens "
            "to the embedding: does it spread, shrink, or stay?",
            dict(data="oil flow", model="primal", noise=1.0, rotate=0, q=2, exponent="corrected: +1/2"),
            dict(noise=10.0),
            "It shrinks towards the origin: the more noise the model expects, the less it believes each point, "
            "and the posterior means (1.10) fall back to the prior. An axis whose eigenvalue sinks below the floor "
            "is switched off altogether.",
            ("it spreads", "it shrinks", "it stays"),
            1,
        ),
        Question(
            "Turn the latent space by 60 degrees. Which of the four pictures will change?",
            dict(data="digits", model="primal", noise=1.0, rotate=0, q=2, exponent="corrected: +1/2"),
            dict(rotate=60),
            "Only the embedding. The likelihood, the spectrum and the reconstruction depend on W W' alone, and a "
            "rotation cancels in it (1.13): the axes of a PPCA plot have no meaning of their own.",
            ("all four", "the embedding and the reconstruction", "the embedding alone"),
            2,
        ),
        Question(
            "Now from PPCA to its dual, on the same data with the same q. Same embedding, same noise, same likelihood?",
            dict(data="oil flow", model="primal", noise=1.0, rotate=0, q=2, exponent="corrected: +1/2"),
            dict(model="dual"),
            "The picture of the points is the same up to a stretch of each axis, so the subspace is shared. "
            "Nothing else is: the noise is an average over N - q instead of D - q eigenvalues, and the likelihood "
            "is that of another model (1.22).",
            ("all the same", "the same directions, other noise and likelihood", "nothing is the same"),
            1,
        ),
    )

    def make_controls(self):
        return {
            "data": {"data": buttons(list(LOAD))},
            "kernel": {
                "model": buttons([("PPCA", "primal"), ("dual PPCA", "dual")]),
                "noise": log_slider(1.0, -2, 2, "noise / best"),
            },
            "start": {"rotate": slider(0, -180, 180, 5, "rotation")},
            "size": {"q": slider(2, 1, 8, 1, "dimensions q")},
            "more": {
                "exponent": menu(list(EXPONENTS), name="exponent in (1.13)"),
                "point": number(0, 0, N_POINTS - 1, "point"),
            },
        }

    def ranges(self, settings):
        """One direction at least is left for the noise."""
        return {"q": {"max": min(8, load(settings["data"])[0].shape[1] - 1)}}

    def unused(self, settings):
        return {"rotate": "one dimension can't be turned"} if settings["q"] == 1 else {}

    def code(self, settings, state):
        primal = settings["model"] == "primal"
        fit = CLOSED_FORM if state is None else BY_EM if primal else BY_GRADIENTS
        return (HEAD + fit + TAIL).format(
            load=LOAD[settings["data"]],
            rows="Y" if primal else "Y.T    # dual PPCA is PPCA of the transposed data",
            q=settings["q"],
            noise=settings["noise"],
            rotate=settings["rotate"],
            exponent=EXPONENTS[settings["exponent"]],
            step=None if state is None else state.number,
            pair="means, factor" if primal else "factor, means",
        )

    def point(self, panel, x, y):
        """The point nearest to a click."""
        drawn = self.scene.mark("embedding", "points")
        up = (drawn.y - y) ** 2 if self.settings["q"] > 1 else 0.0  # one dimension: across is the point's number
        return {"point": int(np.argmin((drawn.x - x) ** 2 + up))}

    def nudge(self, panel, right, up):
        """Arrow keys: the next point."""
        return {"point": int(np.clip(self.settings["point"] + right + up, 0, N_POINTS - 1))}

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
                yield step / 200, Step(now.weights, now.noise[0], step, list(path))
            return
        s2 = settings["noise"] * best_noise(settings["data"], "dual", q)
        size = np.sqrt(np.mean(Y**2) / q)

        def value_and_gradient(x):
            X = x.reshape(-1, q)
            return -log_likelihood(Y.T, X, s2), -dual_gradient(Y, X, s2).ravel()

        start = 0.1 * size * rng.standard_normal(len(Y) * q)
        for step, iterate in enumerate(minimise(value_and_gradient, start, method="scg", max_iter=200)):
            path.append((s2, -iterate.value))
            yield min(step / 200, 1.0), Step(iterate.x.reshape(-1, q), s2, step, list(path))


def explore_ppca(**settings) -> PPCAExplorer:
    """The live explorer of chapter 1; any control can be set: ``explore_ppca(data="digits", q=3)``."""
    return PPCAExplorer(**settings)
