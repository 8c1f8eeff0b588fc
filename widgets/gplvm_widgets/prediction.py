"""`explore_prediction`: draw pixels away, and watch the place, the picture and the class become uncertain."""

import copy
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from gplvm_edu.base import Reconstruction
from gplvm_edu.datasets import load_digits
from gplvm_edu.kernels import RBF, Linear
from gplvm_edu.linalg import nearest_rows
from gplvm_edu.prediction import GenerativeClassifier

from .controls import buttons, menu, slider, steps, text
from .drawing import segments
from .explorer import Explorer, Question, computing
from .scene import Axis, Bars, Ellipses, Image, Lines, Panel, Points, Rules, SceneOf

DIGITS = (3, 5, 8)
N_TRAIN, N_TEST, SIDE, INK = 80, 30, 8, 16.0
SIZES = (5, 10, 20)
MODELS = ("most probable", "3", "5", "8")
UNSURE = (1.5, 4.0)  # the deviations that the shades tell apart


class Answer(NamedTuple):
    """What the models say about one image."""

    truth: np.ndarray  # (64,)
    label: int
    seen: np.ndarray  # (64,) of bool
    probabilities: np.ndarray  # (3,)
    log_densities: np.ndarray  # (3,)
    shown: int  # whose picture is drawn
    filled: Reconstruction
    tried: np.ndarray  # numbers of the training images from whose places the search began


@lru_cache(maxsize=1)
def load():
    """Training images and labels of the three digits, and thirty other images of them, taken in turn."""
    data = load_digits()
    rows = [np.flatnonzero(data.target == k) for k in DIGITS]
    train = np.concatenate([r[:N_TRAIN] for r in rows])
    test = np.column_stack([r[N_TRAIN : N_TRAIN + N_TEST // 3] for r in rows]).ravel()
    return data.data[train], data.target[train], data.data[test], data.target[test]


@lru_cache(maxsize=len(SIZES) + 1)
def fitted(kernel, n_inducing):
    """A model for each digit; planes have as many inducing points as dimensions, whatever was asked for."""
    Y, target, _, _ = load()
    start = RBF(20.0, 1.0) if kernel == "RBF" else Linear(5.0)
    return GenerativeClassifier(5, n_inducing, start, max_iter=60, tol=1e-3, random_state=0).fit(Y, target)


@lru_cache(maxsize=4)
def judges(kernel, n_inducing, noise):
    """The models with their own noise, or calibrated to share one; nothing is fitted again."""
    return copy.copy(fitted(kernel, n_inducing if kernel == "RBF" else SIZES[-1])).calibrate(noise)


def pixels_of(erased):
    """The pixels that a reader has named, as a sorted list of numbers."""
    words = erased.replace(",", " ").split()
    wrong = [word for word in words if not (word.isascii() and word.isdigit() and int(word) < SIDE**2)]
    if wrong:
        raise ValueError(
            f"The pixels have the numbers 0 (upper left) to {SIDE**2 - 1} (lower right); “{wrong[0]}” is none of them. "
            "Write the numbers of the erased pixels with spaces between, such as “0 1 8”."
        )
    return sorted({int(word) for word in words})


def visible(image, share, erased):
    """Which pixels of an image are left: a share is missing at random, others were drawn away; (64,)."""
    order = np.random.default_rng(image).permutation(SIDE**2)
    seen = np.ones(SIDE**2, dtype=bool)
    seen[order[: round(share * SIDE**2)]] = False
    seen[pixels_of(erased)] = False
    if not seen.any():
        raise ValueError("All 64 pixels are missing, so there is nothing to recognise. Bring at least one back.")
    return seen


@lru_cache(maxsize=16)
def verdict(image, share, erased, kernel, n_starts, n_inducing, noise):
    """Log density of the visible pixels under the model of each digit, and the probabilities of the digits, (3,)."""
    row = np.where(visible(image, share, erased), load()[2][image], np.nan)[None]
    classifier = copy.copy(judges(kernel, n_inducing, noise)).set_params(n_starts=n_starts)
    logs = classifier.log_densities(row)[0]
    return logs, softmax(logs + classifier.log_priors_)


@lru_cache(maxsize=16)
def answer(image, share, erased, kernel, n_starts, n_inducing, noise, model):
    """Everything the picture shows, computed by the package."""
    _, _, images, labels = load()
    truth, seen = images[image], visible(image, share, erased)
    row = np.where(seen, truth, np.nan)[None]
    logs, probabilities = verdict(image, share, erased, kernel, n_starts, n_inducing, noise)
    shown = int(np.argmax(probabilities)) if model == "most probable" else DIGITS.index(int(model))
    judge = judges(kernel, n_inducing, noise).models_[shown]
    filled, tried = judge.reconstruct(row, n_starts, noise=True), nearest_rows(row, judge.rows_, n_starts)[0]
    return Answer(truth, int(labels[image]), seen, probabilities, logs, shown, filled, tried)


def digit_panel(values, title, marks=(), hint="", **look):
    """64 numbers as an image of 8 x 8 pixels in a frame, with further marks on it."""
    low, high = -0.5, SIDE - 0.5
    frame = Lines("frame", [low, high, high, low, low], [low, low, high, high, low], colour="quiet", width=1)
    parts = [Image("image", np.reshape(values, (SIDE, SIDE)), **look), frame, *marks]
    across, down = Axis(limits=(low - 0.1, high + 0.1), hidden=True), Axis(limits=(high + 0.1, low - 0.1), hidden=True)
    return Panel(parts, title=title, x=across, y=down, equal=True, hint=hint, listens="drag" if hint else "")


def seen(image, share, erased, brush):
    """What is seen; pixels missing at random are crossed out, those that the reader erased are framed."""
    there, away = visible(image, share, erased), np.isin(np.arange(SIDE**2), pixels_of(erased))
    looks = {"at random": dict(marker="cross", size=11), "by you": dict(marker="square", size=10, hollow=True)}
    marks = []
    for (key, look), chosen in zip(looks.items(), (~there & ~away, away), strict=True):
        row, column = np.divmod(np.flatnonzero(chosen), SIDE)
        marks.append(Points(key, column, row, colour="accent", **look))  # no legend: the image must not jump
    title = f"a {load()[3][image]}, {np.sum(~there)} of 64 missing"
    values = np.where(there, load()[2][image], np.nan)
    return digit_panel(values, title, marks, f"drag to {brush}", low=0.0, high=INK)


def expected(image, share, erased, kernel, n_starts, n_inducing, noise, model):
    """What the model expects of every pixel."""
    now = answer(image, share, erased, kernel, n_starts, n_inducing, noise, model)
    return digit_panel(now.filled.mean[0], f"what the model of {DIGITS[now.shown]} expects", low=0.0, high=INK)


def deviation(image, share, erased, kernel, n_starts, n_inducing, noise, model):
    """How unsure the model is of every pixel."""
    std = answer(image, share, erased, kernel, n_starts, n_inducing, noise, model).filled.std[0]
    title = f"how unsure of each pixel: {std.min():.1f} to {std.max():.1f}"
    return digit_panel(std, title, low=UNSURE[0], high=UNSURE[1], ramp="scale", bar="deviation of the ink")


def pixels(image, share, erased, kernel, n_starts, n_inducing, noise, model):
    """True against expected ink, pixel by pixel; the missing ones with two deviations either way."""
    now = answer(image, share, erased, kernel, n_starts, n_inducing, noise, model)
    hidden, mean, std = ~now.seen, now.filled.mean[0], now.filled.std[0]
    error = np.abs(mean - now.truth)[hidden]
    named = f"missing, {np.sum(error < 2 * std[hidden])} of {len(error)} within 2 dev." if len(error) else ""
    ends = (now.truth[hidden] - 2 * std[hidden], now.truth[hidden] + 2 * std[hidden])
    marks = [
        Lines("equal", [0, INK], [0, INK], colour="quiet", width=1, dash=True),
        Points("seen", mean[~hidden], now.truth[~hidden], colour="quiet", size=4, label="seen"),
        Lines("deviations", *segments(mean[hidden], *ends), colour=5, width=1.4, opacity=0.7),
        Points("missing", mean[hidden], now.truth[hidden], colour="accent", size=6, label=named),
    ]
    title = f"{len(error)} missing pixels: mean error {error.mean():.1f} of 16" if len(error) else "no pixel is missing"
    across, up = (
        Axis("expected ink", (-3, INK + 3), ticks=(0, 8, 16)),
        Axis("true ink", (-8, INK + 8), ticks=(0, 8, 16)),
    )
    return Panel(marks, title=title, x=across, y=up)


def place(image, share, erased, kernel, n_starts, n_inducing, noise, model):
    """q(x*) over the training images in the two dimensions that count most."""
    now = answer(image, share, erased, kernel, n_starts, n_inducing, noise, model)
    judge = judges(kernel, n_inducing, noise).models_[now.shown]
    known, mean = judge.latent_mean_[:, :2], now.filled.latent_mean[:, :2]
    factor = np.sqrt(now.filled.latent_variance[:, :2])[:, :, None] * np.eye(2)
    marks = [
        Points("known", *known.T, colour="quiet", size=4, label=f"training {DIGITS[now.shown]}s"),
        Points("tried", *known[now.tried].T, colour="ink", hollow=True, size=9, label="tried"),
        *(Ellipses(f"{k} dev.", *mean.T, k * factor, colour="accent", filled=True, opacity=0.3 / k) for k in (1, 2)),
        Points("mean", *mean.T, colour="accent", marker="plus", size=13, label="this image"),
    ]
    across, up = (Axis(f"dimension {d + 1}", (-3.2, 3.2), ticks=(-3, 0, 3)) for d in (0, 1))
    return Panel(marks, title="where it lies: q(x*), 1 and 2 deviations", x=across, y=up)


def classes(image, share, erased, kernel, n_starts, n_inducing, noise):
    """By how much each digit explains the visible pixels better or worse than the three do on average."""
    logs, probabilities = verdict(image, share, erased, kernel, n_starts, n_inducing, noise)
    label, at, lead = load()[3][image], np.arange(3), logs - logs.mean()
    true = np.array(DIGITS) == label
    marks = [
        Bars("truth", at[true], lead[true], colour=0, label=f"{label}, the truth"),
        Bars("others", at[~true], lead[~true], colour="quiet", label="the other digits"),
        Rules("mean", y=[0.0]),
    ]
    names = tuple(f"{k} ({p:.2f})" for k, p in zip(DIGITS, probabilities, strict=True))
    return Panel(
        marks,
        title="how well each digit explains it",
        x=Axis("digit (its probability)", (-0.6, 2.6), ticks=(0, 1, 2), tick_labels=names),
        y=Axis("log density - mean"),
    )


def says(image, share, erased, kernel, n_starts, n_inducing, noise, model):
    """The most probable digit, and how well the missing pixels were filled."""
    now = answer(image, share, erased, kernel, n_starts, n_inducing, noise, model)
    best, error = int(np.argmax(now.probabilities)), np.abs(now.filled.mean[0] - now.truth)[~now.seen]
    filled = "no pixel is missing"
    if len(error):
        filled = f"{len(error)} pixels filled by the model of {DIGITS[now.shown]}, mean error {error.mean():.2f}"
    return f"most probable: {DIGITS[best]} (probability {now.probabilities[best]:.3f}); {filled}"


OPENING = dict(
    image=0,
    share=0.3,
    erased="",
    brush="erase",
    kernel="RBF",
    n_starts=3,
    n_inducing=20,
    noise="shared",
    model="most probable",
)
panel_prediction = SceneOf(
    seen, expected, deviation, pixels, place, classes, defaults=OPENING, says=says, row_height=178
)

CODE = """\
import numpy as np
from scipy.special import softmax
from gplvm_edu.datasets import load_digits
from gplvm_edu.kernels import RBF, Linear
from gplvm_edu.prediction import GenerativeClassifier

data, digits = load_digits(), (3, 5, 8)
rows = [np.flatnonzero(data.target == k) for k in digits]
train = np.concatenate([r[:80] for r in rows])
truth = data.data[rows[{image} % 3][80 + {image} // 3]]
seen = np.ones(64, dtype=bool)
seen[np.random.default_rng({image}).permutation(64)[:round({share:g} * 64)]] = False
seen[{pixels}] = False                        # erased by hand
row = np.where(seen, truth, np.nan)[None]

classifier = GenerativeClassifier(5, {n_inducing}, {start}, noise="{noise}", n_starts={n_starts},
                                  max_iter=60, tol=1e-3, random_state=0)
classifier.fit(data.data[train], data.target[train])
log_densities = classifier.log_densities(row)[0]
probabilities = softmax(log_densities + classifier.log_priors_)
best = np.argmax(probabilities)
shown = {shown}
filled = classifier.models_[shown].reconstruct(row, n_starts={n_starts}, noise=True)
error = np.abs(filled.mean[0] - truth)[~seen]
print("log densities", dict(zip(digits, log_densities.round(2).tolist())))
print(f"most probable: {{digits[best]}} (probability {{probabilities[best]:.3f}});",
      f"{{len(error)}} pixels filled by the model of {{digits[shown]}}, mean error {{error.mean():.2f}}"
      if len(error) else "no pixel is missing")
"""


class PredictionExplorer(Explorer):
    """Controls for `panel_prediction`; a click or a drag on the image draws pixels away."""

    title = "Half of a digit: where, what, how sure"
    panels = panel_prediction
    questions = (
        Question(
            "Almost a third of the pixels of this eight are missing. When 90 % are missing, q(x*) is wide. What "
            "will the model of the eights expect to see?",
            {**OPENING, "image": 14, "model": "8"},
            dict(share=0.9),
            "Something like the average eight, blurred where eights differ; and the deviation says so. With nothing "
            "seen q(x*) would be the prior, and the picture the mean under it.",
            ("nothing: an empty image", "the average eight", "the same eight, fainter"),
            1,
        ),
        Question(
            "All pixels of this five are seen. Now ask the model of the threes to explain it: it has to put the "
            "image somewhere. What will it draw?",
            {**OPENING, "image": 1, "share": 0.0, "model": "5"},
            dict(model="3"),
            "A three: the one that looks most like this five. It has never seen anything else. That the explanation "
            "is poor shows in the log density, which is the sum over what it could not explain.",
            ("the five", "a three", "half a three, half a five"),
            1,
        ),
        Question(
            "Each model was fitted with a noise variance of its own, and judges with the mean of the three. Let each "
            "judge with its own instead: which bar moves up most?",
            {**OPENING, "image": 4, "share": 0.6, "model": "8"},
            dict(noise="own"),
            "That of the eights, though the image is a five. Their own noise is the largest of the three, so they "
            "forgive most: whatever an image has that nobody explains counts least against them. With the shared "
            "noise all three are equally strict.",
            ("that of the threes", "that of the fives", "that of the eights"),
            2,
        ),
    )

    def __init__(self, **settings):
        super().__init__(**settings)
        if self.home is not None:
            for k, choice in enumerate((("RBF", 10), ("RBF", 5), ("linear", SIZES[-1]))):
                self.home.call_later(1.5 + 1.5 * k, self.fit_ahead, *choice)

    def fit_ahead(self, *choice):
        """Fit models that a reader may ask for, so that the sliders need not wait for them."""
        with computing():
            fitted(*choice)

    def make_controls(self):
        return {
            "data": {
                "image": slider(0, 0, N_TEST - 1, name="image"),
                "share": slider(0.3, 0.0, 0.9, 0.1, "missing", readout_format=".0%"),
                "brush": buttons(("erase", "restore"), name="drag in the image to"),
                "erased": text("", "erased pixels"),
            },
            "kernel": {"kernel": buttons(("RBF", "linear"))},
            "start": {"n_starts": slider(3, 1, 5, name="near images tried")},
            "size": {"n_inducing": steps(SIZES, 20, "inducing points")},
            "more": {
                "noise": buttons(("shared", "own"), name="noise of the three models"),
                "model": menu(MODELS, name="model shown"),
            },
        }

    def unused(self, settings):
        linear = settings["kernel"] == "linear"
        return {"n_inducing": "planes are fixed by one for each dimension"} if linear else {}

    def point(self, panel, x, y):
        """Draw the pixel under the pointer away, or bring it back."""
        column, row = (int(np.clip(round(v), 0, SIDE - 1)) for v in (x, y))
        before, touched = set(pixels_of(self.settings["erased"])), {SIDE * row + column}
        after = before | touched if self.settings["brush"] == "erase" else before - touched
        return {} if after == before else {"erased": " ".join(map(str, sorted(after)))}

    def nudge(self, panel, right, up):
        """Arrow keys: the next image, or a larger share missing."""
        image = int(np.clip(self.settings["image"] + right, 0, N_TEST - 1))
        return {"image": image, "share": round(float(np.clip(self.settings["share"] + 0.1 * up, 0.0, 0.9)), 1)}

    def code(self, settings, state):
        chosen = settings["model"]
        shown = "best" if chosen == "most probable" else DIGITS.index(int(chosen))
        start = {"RBF": "RBF(20.0, 1.0)", "linear": "Linear(5.0)"}[settings["kernel"]]
        return CODE.format(start=start, shown=shown, pixels=pixels_of(settings["erased"]), **settings)


def explore_prediction(**settings) -> PredictionExplorer:
    """The live explorer of chapter 13; any control can be set: ``explore_prediction(image=4, share=0.5)``."""
    return PredictionExplorer(**settings)
