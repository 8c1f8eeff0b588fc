"""`explore_prediction`: draw pixels away, and watch the place, the picture and the class become uncertain."""

from functools import lru_cache
from typing import NamedTuple

import ipywidgets as W
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from gplvm_edu.base import Reconstruction
from gplvm_edu.datasets import load_digits
from gplvm_edu.kernels import RBF, Linear
from gplvm_edu.plotting import ACCENT, PALETTE, QUIET, in_style, new_figure
from gplvm_edu.prediction import GenerativeClassifier

from .explorer import Explorer, Question

DIGITS = (3, 5, 8)
N_TRAIN, N_TEST, SIDE, INK = 80, 30, 8, 16.0
SIZES = (5, 10, 20)
MODELS = ("most probable", "3", "5", "8")
MARGINS = dict(left=0.055, right=0.98, bottom=0.1, top=0.92, wspace=0.25, hspace=0.42)


class Answer(NamedTuple):
    """What the models say about one image."""

    truth: np.ndarray  # (64,)
    label: int
    seen: np.ndarray  # (64,) of bool
    probabilities: np.ndarray  # (3,)
    log_densities: np.ndarray  # (3,)
    shown: int  # whose picture is drawn
    filled: Reconstruction


@lru_cache(maxsize=1)
def load():
    """Training images and labels of the three digits, and thirty other images of them, taken in turn."""
    data = load_digits()
    rows = [np.flatnonzero(data.target == k) for k in DIGITS]
    train = np.concatenate([r[:N_TRAIN] for r in rows])
    test = np.column_stack([r[N_TRAIN : N_TRAIN + N_TEST // 3] for r in rows]).ravel()
    return data.data[train], data.target[train], data.data[test], data.target[test]


@lru_cache(maxsize=16)
def fitted(kernel, n_inducing, noise):
    """A model for each digit; calibrated with own or shared noise."""
    Y, target, _, _ = load()
    start = RBF(20.0, 1.0) if kernel == "RBF" else Linear(5.0)
    model = GenerativeClassifier(5, n_inducing, start, max_iter=60, tol=1e-3, random_state=0)
    return model.set_params(noise=noise).fit(Y, target)


def visible(image, share, erased):
    """Which pixels of an image are left: a share is missing at random, others were drawn away; (64,)."""
    order = np.random.default_rng(image).permutation(SIDE**2)
    seen = np.ones(SIDE**2, dtype=bool)
    seen[order[: round(share * SIDE**2)]] = False
    seen[[int(pixel) for pixel in erased.split()]] = False
    return seen


@lru_cache(maxsize=64)
def answer(image, share, erased, kernel, n_starts, n_inducing, noise, model):
    """Everything the picture shows, computed by the package."""
    _, _, images, labels = load()
    truth, seen = images[image], visible(image, share, erased)
    classifier = fitted(kernel, n_inducing, noise).set_params(n_starts=n_starts)
    row = np.where(seen, truth, np.nan)[None]
    logs = classifier.log_densities(row)[0]
    odds = logs + classifier.log_priors_
    probabilities = np.exp(odds - odds.max()) / np.exp(odds - odds.max()).sum()
    shown = int(np.argmax(odds)) if model == "most probable" else DIGITS.index(int(model))
    filled = classifier.models_[shown].reconstruct(row, n_starts, noise=True)
    return Answer(truth, int(labels[image]), seen, probabilities, logs, shown, filled)


@in_style
def panel_prediction(
    image=0,
    share=0.3,
    erased="",
    brush="erase",
    kernel="RBF",
    n_starts=3,
    n_inducing=20,
    noise="shared",
    model="most probable",
) -> Figure:
    """Six views of one image: what is seen, expected, and how surely; its place; its class; missing pixels one by one.

    Parameters
    ----------
    image : int
        0 to 29.
    share : float
        Of the pixels missing at random.
    erased : str
        Numbers of pixels drawn away by hand, with spaces between.
    brush : "erase" or "restore"
        What a click does; nothing in the picture depends on it.
    kernel : "RBF" or "linear"
    n_starts : int
        Near training images from which the place is sought.
    n_inducing : int
    noise : "shared" or "own"
    model : "most probable", "3", "5" or "8"
        Whose expectation is drawn.

    Returns
    -------
    matplotlib Figure
        With the `Answer` as its attribute `answer`.
    """
    now = answer(image, share, erased, kernel, n_starts, n_inducing, noise, model)
    figure, axes = new_figure(2, 3, size=(9.2, 5.9), margins=MARGINS)
    hidden = 100 * np.mean(~now.seen)
    seen = np.where(now.seen, now.truth, np.nan)
    draw_image(axes[0, 0], seen, f"seen: a {now.label}, {hidden:.0f} % missing", "gray_r", INK)
    axes[0, 0].set_gid("image")
    draw_image(axes[0, 1], now.filled.mean[0], f"expected by the model of {DIGITS[now.shown]}", "gray_r", INK)
    title = f"deviation, {now.filled.std.min():.1f} to {now.filled.std.max():.1f}"
    draw_image(axes[0, 2], now.filled.std[0], title, "viridis", 4.5, 1.5)
    draw_place(axes[1, 0], fitted(kernel, n_inducing, noise).models_[now.shown], now.filled)
    draw_classes(axes[1, 1], now)
    draw_pixels(axes[1, 2], now)
    figure.answer = now
    return figure


def draw_image(axes, values, title, cmap, top, bottom=0.0):
    """An image of 8 x 8 pixels; missing ones are crossed out."""
    picture = values.reshape(SIDE, SIDE)
    axes.imshow(picture, vmin=bottom, vmax=top, cmap=cmap, interpolation="nearest")
    rows, columns = np.nonzero(np.isnan(picture))
    axes.plot(columns, rows, "x", color=ACCENT, markersize=8, markeredgewidth=1.4)
    axes.set(title=title, xticks=[], yticks=[])


def draw_place(axes, model, filled):
    """q(x*) over the training images in the two dimensions that count most."""
    one, other = (*model.active_dims_, *np.setdiff1d(range(2), model.active_dims_))[:2]
    places = model.latent_mean_[:, [one, other]]
    axes.plot(*places.T, ".", color=QUIET, markersize=4, label="training images")
    mean, deviation = filled.latent_mean[0, [one, other]], np.sqrt(filled.latent_variance[0, [one, other]])
    for k in (1, 2):
        axes.add_patch(
            Ellipse(
                mean, 2 * k * deviation[0], 2 * k * deviation[1], facecolor=ACCENT, alpha=0.25 / k, edgecolor=ACCENT
            )
        )
    axes.plot(*mean, "+", color=ACCENT, markersize=11, markeredgewidth=2, label="q(x*), 1 and 2 deviations")
    axes.set(
        xlim=(-3.2, 3.2),
        ylim=(-3.2, 3.2),
        title="its place",
        xlabel="the two most relevant latent dimensions",
        xticks=[-3, 0, 3],
        yticks=[-3, 0, 3],
    )
    axes.legend(fontsize=7.5, loc="lower left", handletextpad=0.3, borderpad=0.1)


def draw_classes(axes, now):
    """Probabilities of the classes, with the log densities they come from."""
    colours = [PALETTE[0] if k == now.label else QUIET for k in DIGITS]
    axes.bar([str(k) for k in DIGITS], now.probabilities, color=colours)
    for place, value in enumerate(now.log_densities):
        axes.text(place, now.probabilities[place] + 0.03, f"{value:.1f}", ha="center", fontsize=9)
    axes.set(
        ylim=(0, 1.18),
        yticks=[0, 0.5, 1],
        title="probability, log density",
        xlabel=f"digit (blue: the truth, {now.label})",
    )


def draw_pixels(axes, now):
    """True values of the missing pixels against the expected ones, two deviations either way."""
    hidden = ~now.seen
    mean, std, truth = now.filled.mean[0][hidden], now.filled.std[0][hidden], now.truth[hidden]
    axes.plot([0, INK], [0, INK], color=QUIET, linewidth=1)
    if hidden.any():
        axes.vlines(mean, truth - 2 * std, truth + 2 * std, color=PALETTE[5], linewidth=1.5, alpha=0.7)
        axes.plot(mean, truth, "o", color=PALETTE[0], markersize=4)
        inside = np.mean(np.abs(mean - truth) < 2 * std)
        title = f"missing: error {np.abs(mean - truth).mean():.1f}, {100 * inside:.0f} % in"
    else:
        title = "nothing is missing yet"
    axes.set(
        xlim=(-3, INK + 3),
        ylim=(-8, INK + 8),
        xlabel="expected ink, ± 2 deviations",
        ylabel="true ink",
        title=title,
        xticks=[0, 8, 16],
        yticks=[0, 8, 16],
    )
    axes.title.set_fontsize(10)


CODE = """\
import numpy as np
from gplvm_edu.datasets import load_digits
from gplvm_edu.kernels import RBF, Linear
from gplvm_edu.prediction import GenerativeClassifier

data = load_digits()
rows = [np.flatnonzero(data.target == k) for k in (3, 5, 8)]
train = np.concatenate([r[:80] for r in rows])
truth = data.data[rows[{image} % 3][80 + {image} // 3]]
seen = np.ones(64, dtype=bool)
seen[np.random.default_rng({image}).permutation(64)[:round({share:g} * 64)]] = False
seen[[int(pixel) for pixel in "{erased}".split()]] = False
row = np.where(seen, truth, np.nan)[None]

classifier = GenerativeClassifier(5, {n_inducing}, {start}, noise="{noise}", n_starts={n_starts},
                                  max_iter=60, tol=1e-3, random_state=0)
classifier.fit(data.data[train], data.target[train])
log_densities = classifier.log_densities(row)[0]
shown = {shown}
filled = classifier.models_[shown].reconstruct(row, n_starts={n_starts}, noise=True)
print(dict(zip(classifier.classes_.tolist(), log_densities.round(2).tolist())))
print("error of the missing pixels:", np.abs(filled.mean[0] - truth)[~seen].mean().round(3) if (~seen).any() else None)
"""


class PredictionExplorer(Explorer):
    """Controls for `panel_prediction`; a click or a drag on the image draws pixels away."""

    title = "Half of a digit: where, what, how sure"
    questions = (
        Question(
            "An eight with a third of its pixels missing at random. Take away 90 % of them. The place becomes "
            "uncertain, of course. What will the expected picture turn into?",
            dict(image=2, share=0.3, erased="", kernel="RBF", noise="shared", model="8", n_inducing=20),
            dict(share=0.9),
            "Into something like the average digit of its class, blurred where eights differ; and the deviation "
            "says so. With nothing seen q(x*) would be the prior, and the picture the mean under it.",
        ),
        Question(
            "Ask the model of the threes to explain an image of a five, all pixels visible. It has to put the "
            "image somewhere. Will it draw a five?",
            dict(image=1, share=0.0, erased="", kernel="RBF", noise="shared", model="5", n_inducing=20),
            dict(model="3"),
            "No: it draws the three that looks most like this five. It has never seen anything else. That the "
            "explanation is poor shows in the log density, which is the sum over what it could not explain.",
        ),
        Question(
            "Each model was fitted with its own noise variance. Judge with these instead of the shared one: which "
            "class gains?",
            dict(image=4, share=0.6, erased="", kernel="RBF", noise="shared", model="3", n_inducing=20),
            dict(noise="own"),
            "The eights, and the image is a five. Their own noise is the largest of the three, so they forgive "
            "most; whatever an image has that nobody explains counts least against them. With the shared noise "
            "all three are equally strict.",
        ),
    )

    def make_controls(self):
        wide = dict(style={"description_width": "initial"})
        slider = dict(layout=W.Layout(width="250px"), **wide)
        return {
            "data": {
                "image": W.IntSlider(0, 0, N_TEST - 1, description="image", **slider),
                "share": W.FloatSlider(
                    0.3,
                    min=0.0,
                    max=0.9,
                    step=0.1,
                    description="missing at random",
                    readout_format=".1f",
                    layout=W.Layout(width="280px"),
                    **wide,
                ),
                "brush": W.ToggleButtons(
                    options=("erase", "restore"),
                    description="click",
                    style={"button_width": "70px", "description_width": "35px"},
                ),
            },
            "kernel": {"kernel": W.ToggleButtons(options=("RBF", "linear"), style={"button_width": "80px"})},
            "start": {"n_starts": W.IntSlider(3, 1, 5, description="near images tried", **slider)},
            "size": {"n_inducing": W.SelectionSlider(options=SIZES, value=20, description="inducing points", **slider)},
            "more": {
                "noise": W.ToggleButtons(
                    options=("shared", "own"),
                    description="noise",
                    style={"button_width": "70px", "description_width": "40px"},
                ),
                "model": W.Dropdown(
                    options=MODELS, description="draw the model of", layout=W.Layout(width="270px"), **wide
                ),
                "erased": W.Text("", description="erased pixels", layout=W.Layout(width="240px"), **wide),
            },
        }

    light = ("brush",)

    def panel(self, settings, state):
        return panel_prediction(**settings)

    def click(self, axes, x, y):
        """Draw the pixel under the pointer away, or bring it back."""
        if axes.get_gid() != "image":
            return {}
        pixel = SIDE * int(np.clip(round(y), 0, SIDE - 1)) + int(np.clip(round(x), 0, SIDE - 1))
        pixels = {int(p) for p in self.settings["erased"].split()}
        pixels = pixels | {pixel} if self.settings["brush"] == "erase" else pixels - {pixel}
        wanted = " ".join(map(str, sorted(pixels)))
        return {} if wanted == self.settings["erased"] else {"erased": wanted}

    def nudge(self, right, up):
        """Arrow keys: the next image, or a larger share missing."""
        image = int(np.clip(self.settings["image"] + right, 0, N_TEST - 1))
        return {"image": image, "share": round(float(np.clip(self.settings["share"] + 0.1 * up, 0.0, 0.9)), 1)}

    def code(self, settings):
        start = {"RBF": "RBF(20.0, 1.0)", "linear": "Linear(5.0)"}[settings["kernel"]]
        chosen = settings["model"]
        shown = (
            "int(np.argmax(log_densities + classifier.log_priors_))"
            if chosen == "most probable"
            else str(DIGITS.index(int(chosen)))
        )
        return CODE.format(start=start, shown=shown, **settings)


def explore_prediction(**settings) -> PredictionExplorer:
    """The live explorer of chapter 13; any control can be set: ``explore_prediction(image=4, share=0.5)``."""
    return PredictionExplorer(**settings)
