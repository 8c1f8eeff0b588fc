"""`explore_noise`: one observation and the Gaussian that stands in for it; and handwritten twos with pixels missing."""

import copy
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from gplvm_edu.datasets import binary_images, load_digits, remove_pixels
from gplvm_edu.ivm import SparseGPLVM
from gplvm_edu.kernels import MLP, RBF, Bias, Linear, White
from gplvm_edu.noise import Gaussian, Ordinal, Probit, match_moments, sites

from .controls import buttons, log_slider, menu, slider, steps
from .drawing import image_panel, picture_limit, precision_image
from .explorer import Explorer, Question
from .scene import Axis, Band, Cursor, Lines, Panel, Points, SceneOf, remember

SITE, TWOS = "one observation", "twos with gaps"
CUTS = (-1.5, 0.0, 1.5)
MEANS = np.linspace(-6, 6, 121)
N_TRAIN, N_PASSES = 120, 20
KERNELS = {"RBF": RBF(1.0, 1.0), "MLP": MLP(1.0, 10.0, 10.0), "linear": Linear(1.0)}
SEEN_BY = {"Gaussian": ("y", "noise_variance"), "Probit": ("label",), "Ordinal": ("level",)}  # controls of each noise
OPENING = dict(view=SITE, noise="Probit", mean=0.0, variance=1.0, y=1.0, noise_variance=1.0, label=1, level=2)
OPENING |= dict(pixel_noise="Probit", kernel="RBF", init="pca", n_active=30, restarts=10, share=0.2, image=8)


# --- one observation -----------------------------------------------------------------------------------------
class Site(NamedTuple):
    """The numbers of one observation."""

    log_Z: float
    mean: float
    variance: float
    site_mean: float
    precision: float


def model_of(noise, y=1.0, noise_variance=1.0, label=1, level=2):
    """The noise model of the buttons, and the observation that its own control has."""
    if noise == "Gaussian":
        return Gaussian(noise_variance, mean=0.0), float(y)
    return (Probit(bias=0.0), float(label)) if noise == "Probit" else (Ordinal(cuts=CUTS), float(level))


def site_of(model, y, mean, variance):
    """The matched moments and the site of one observation."""
    terms = model.evaluate(y, mean, variance)
    moments, (m, beta) = match_moments(terms.g, terms.nu, mean, variance), sites(terms.g, terms.nu, mean, variance)
    return Site(float(terms.log_partition), *map(float, moments), float(m), float(beta))


def densities(view, noise, mean, variance, y, noise_variance, label, level):
    """Prior, exact density and its match as densities of f; likelihood and site drawn to the height of these."""
    if view != SITE:
        return None
    model, seen = model_of(noise, y, noise_variance, label, level)
    now, f = site_of(model, seen, mean, variance), np.linspace(-8, 8, 401)
    prior = norm.pdf(f, mean, np.sqrt(variance))
    likelihood = np.exp(model.log_partition(np.full(f.size, seen), f, 0.0))
    exact = likelihood * prior / np.exp(now.log_Z)
    top = max(prior.max(), exact.max())
    site = np.exp(-0.5 * now.precision * (f - now.site_mean) ** 2)
    marks = [
        Band("exact", f, 0 * f, exact, colour=5, opacity=0.45, label="exact: prior × likelihood"),
        Lines("prior", f, prior, colour="quiet", label="prior"),
        Lines(
            *("likelihood", f, 0.9 * top * likelihood / likelihood.max()),
            **dict(colour=2, width=6.0, opacity=0.45, label="likelihood (scaled)"),  # a site may lie on it
        ),
        Lines("site", f, 0.9 * top * site, colour="accent", dash=True, label="site (scaled)"),
        Lines("match", f, norm.pdf(f, now.mean, np.sqrt(now.variance)), dash=True, label="Gaussian match"),
    ]
    return Panel(
        marks,
        title=f"after: mean {now.mean:.2f}, variance {now.variance:.2f}",
        hint="drag the prior mean",
        x=Axis("latent value f", (-8, 8)),
        y=Axis("density", (0, 1.1 * top)),
        listens="drag",
    )


def effects(view, noise, mean, variance, y, noise_variance, label, level):
    """What the same observation does at every prior mean: variance left, and the site's precision."""
    if view != SITE:
        return None
    model, seen = model_of(noise, y, noise_variance, label, level)
    now = site_of(model, seen, mean, variance)
    g, nu = model.derivatives(np.full(MEANS.size, seen), MEANS, variance)
    beta = sites(g, nu, MEANS, variance)[1]
    marks = [
        Lines("left", MEANS, 1.0 - nu * variance, label="variance left / prior variance"),
        Lines("precision", MEANS, beta, colour="accent", label="precision of the site"),
        Points("left now", [mean], [now.variance / variance], size=10),
        Points("precision now", [mean], [now.precision], colour="accent", size=10),
    ]
    return Panel(
        marks,
        title=f"site: mean {now.site_mean:.2f}, precision {now.precision:.3f}",
        hint="drag",
        x=Axis("prior mean", (-6, 6)),
        y=Axis("", (0, max(1.1, 1.1 * beta.max()))),
        listens="drag",
    )


# --- twos with gaps ------------------------------------------------------------------------------------------
class Snapshot(NamedTuple):
    """The model after some passes of Algorithm 1."""

    passes: int
    model: SparseGPLVM


class Filled(NamedTuple):
    """One test image: the truth, which pixels were removed, its place, and the expected value of each pixel."""

    truth: np.ndarray
    removed: np.ndarray
    place: np.ndarray
    expected: np.ndarray
    begun: np.ndarray  # where the searches for its place began

    @property
    def wrong(self):
        """Removed pixels that come out wrong when cut at 1/2."""
        return self.removed & ((self.expected > 0.5) != (self.truth > 0.5))


@lru_cache(maxsize=1)
def images():
    """Training and test images, 120 and 57 twos of scikit-learn's digits, as ink and no ink."""
    digits = load_digits()
    Y = binary_images(digits.data[digits.target == 2] / 16, threshold=0.5)
    return Y[:N_TRAIN], Y[N_TRAIN:]


def make_model(pixel_noise, kernel, init, n_active):
    """The estimator of one setting, not fitted. Under Gaussian noise the variances start at those of the pixels."""
    if pixel_noise == "Gaussian":
        k, noise = 0.1 * KERNELS[kernel] + Bias(0.01) + White(0.01), None
    else:
        k, noise = KERNELS[kernel] + Bias(0.1) + White(0.01), Probit()
    look = dict(kernel=k, noise=noise, init=init, latent_prior="gaussian", random_state=0)
    return SparseGPLVM(n_active=n_active, max_iter=N_PASSES, **look)


def snapshots(pixel_noise, kernel, init, n_active):
    """The start, then the model after each pass."""
    model = make_model(pixel_noise, kernel, init, n_active)
    for passes, state in enumerate(model.iterates(images()[0])):
        yield Snapshot(passes, copy.copy(model).set_state(state))


@lru_cache(maxsize=4)
def at_start(pixel_noise, kernel, init, n_active):
    """The model before its first pass."""
    return next(snapshots(pixel_noise, kernel, init, n_active))


@remember(maxsize=4)
def shades(snapshot):
    """The precision of the map behind the points."""
    return precision_image(snapshot.model, picture_limit(snapshot.model.embedding_), 25, bar="")


@remember(maxsize=4)
def fill(snapshot, share, image, restarts):
    """Take pixels away from one test image, place it, and read the map off there."""
    test, model = images()[1], snapshot.model
    seen, removed = remove_pixels(test, share, random_state=0)
    place, begun = model.transform(seen[[image]], restarts), model.near_places(seen[[image]], restarts)
    return Filled(test[image], removed[image], place[0], model.inverse_transform(place)[0], begun[0])


def space(view, pixel_noise, kernel, init, n_active, restarts, share, image, state):
    """All training images as points over the precision of the map, and where the test image belongs."""
    if view != TWOS:
        return None
    snapshot = state or at_start(pixel_noise, kernel, init, n_active)
    now, back = fill(snapshot, share, image, restarts), shades(snapshot)
    X, limit, active = snapshot.model.embedding_, back.extent[1], snapshot.model.active_
    rest = np.setdiff1d(np.arange(len(X)), active)
    marks = [
        back,
        Points("rest", *X[rest].T, hollow=True, size=6, label="training image"),
        Points("active", *X[active].T, size=6, label="active"),
        Points("begun", *now.begun.T, colour="accent", hollow=True, size=11, label="a search begins"),
        Cursor("place", *now.place),
    ]
    sides = (Axis(f"latent dimension {k}", (-limit, limit)) for k in (1, 2))
    title = f"its place after {snapshot.passes} pass{'' if snapshot.passes == 1 else 'es'} (light: sure)"
    return Panel(marks, title=title, x=next(sides), y=next(sides), rows=2)


FRAME = np.array([-0.5, 7.5, 7.5, -0.5, -0.5]), np.array([-0.5, -0.5, 7.5, 7.5, -0.5])  # around 8 x 8 pixels


def two_images(left, right, names, title, crossed):
    """Two images side by side in frames, some pixels of the right one crossed; the title says what that means."""
    panel = image_panel([left.reshape(8, 8), right.reshape(8, 8)], names, 1, title)
    row, column = np.divmod(np.flatnonzero(crossed), 8)
    (x, y), gap = FRAME, [np.nan]
    marks = [
        Lines("frames", np.concatenate([x, gap, x + 9]), np.concatenate([y, gap, y]), colour="quiet", width=1.0),
        Points("crosses", column + 9, row, colour="accent", marker="cross", size=9),
    ]
    low, high = panel.x.limits
    return replace(panel, marks=[*panel.marks, *marks], x=replace(panel.x, limits=(low - 0.2, high + 0.2)))


def seen(view, pixel_noise, kernel, init, n_active, restarts, share, image, state):
    """The test image, and what is left of it."""
    if view != TWOS:
        return None
    now = fill(state or at_start(pixel_noise, kernel, init, n_active), share, image, restarts)
    left, title = (
        np.where(now.removed, np.nan, now.truth),
        f"test image {image}: {now.removed.sum()} pixels removed (×)",
    )
    return two_images(now.truth, left, ("original", "seen"), title, now.removed)


def filled(view, pixel_noise, kernel, init, n_active, restarts, share, image, state):
    """What the model expects in every pixel, and the image with its gaps filled."""
    if view != TWOS:
        return None
    now = fill(state or at_start(pixel_noise, kernel, init, n_active), share, image, restarts)
    whole, title = (
        np.where(now.removed, now.expected > 0.5, now.truth),
        f"what is put there: {now.wrong.sum()} wrong (×)",
    )
    return two_images(now.expected, whole, ("expected", "filled, cut at 1/2"), title, now.wrong)


# --- both ----------------------------------------------------------------------------------------------------
def says(
    view, noise, mean, variance, y, noise_variance, label, level,
    pixel_noise, kernel, init, n_active, restarts, share, image, state,
):  # fmt: skip
    """The numbers that the code shown prints."""
    if view == SITE:
        now = site_of(*model_of(noise, y, noise_variance, label, level), mean, variance)
        site = f"site: mean {now.site_mean:.3f}, precision {now.precision:.4f}"
        return f"{site}; f after it: mean {now.mean:.3f}, variance {now.variance:.3f}"
    snapshot = state or at_start(pixel_noise, kernel, init, n_active)
    now = fill(snapshot, share, image, restarts)
    return f"pass {snapshot.passes}: {now.wrong.sum()} of {now.removed.sum()} removed pixels wrong"


panel_noise = SceneOf(
    densities,
    effects,
    space,
    seen,
    filled,
    defaults=OPENING,
    says=says,
    columns=lambda view: 1 if view == SITE else 2,
    row_height=lambda view: 230 if view == SITE else 222,
)

SITE_CODE = """\
from gplvm_edu.noise import Gaussian, Ordinal, Probit, match_moments, sites

noise, y = {model}, {y:g}
mean, variance = {mean:g}, {variance:g}                  # of f, before y is seen
terms = noise.evaluate(y, mean, variance)                # ln Z, g and nu
new_mean, new_variance = match_moments(terms.g, terms.nu, mean, variance)
m, beta = sites(terms.g, terms.nu, mean, variance)
site = f"site: mean {{m:.3f}}, precision {{beta:.4f}}"
print(f"{{site}}; f after it: mean {{new_mean:.3f}}, variance {{new_variance:.3f}}")
"""
TWOS_CODE = """\
from gplvm_edu.datasets import binary_images, load_digits, remove_pixels
from gplvm_edu.ivm import SparseGPLVM
from gplvm_edu.kernels import MLP, RBF, Bias, Linear, White
from gplvm_edu.noise import Probit

digits = load_digits()
Y = binary_images(digits.data[digits.target == 2] / 16, threshold=0.5)
train, test = Y[:120], Y[120:]
kernel = {kernel}
model = SparseGPLVM(n_active={n_active}, max_iter={passes}, kernel=kernel, noise={noise}, init="{init}",
                    latent_prior="gaussian", random_state=0).fit(train)
seen, removed = remove_pixels(test, {share:g}, random_state=0)
place = model.transform(seen[[{image}]], {restarts})
expected = model.inverse_transform(place)[0]
wrong = removed[{image}] & ((expected > 0.5) != (test[{image}] > 0.5))
print(f"pass {passes}: {{wrong.sum()}} of {{removed[{image}].sum()}} removed pixels wrong")
"""
ONE = dict(view=SITE, noise="Probit", mean=0.0, variance=1.0, label=1)


class NoiseExplorer(Explorer):
    """Controls for `panel_noise`; Run makes the passes of Algorithm 1, in the second view."""

    title = "Noise: one observation and its site; twos with missing pixels"
    panels = panel_noise
    light = ("share", "image", "restarts")
    questions = (
        Question(
            "A label 1 was observed, and the prior knew nothing: N(0, 1). If the prior mean is 4, so that the label is "
            "no surprise at all, how precise will the site be?",
            ONE,
            dict(mean=4.0),
            "Its precision is about 0.01. What was expected anyway teaches nothing: the exact density is the prior "
            "again, and the site fades. A Gaussian observation is different: its precision does not depend on what is "
            "observed.",
            ("hardly: its precision is near 0", "as precise as now", "twice as precise"),
            0,
        ),
        Question(
            "Now a surprise: the same label, prior mean -4. Can a site become as sharp as we like, if only the "
            "surprise is large enough?",
            ONE,
            dict(mean=-4.0),
            "No. The precision climbs towards 1 and never beyond. A label is the sign of f plus noise of variance 1, "
            "so it can never be worth more than a real-valued observation with that noise.",
            ("yes, there is no limit", "no, the precision stays below 1", "no, a surprise makes it fade"),
            1,
        ),
        Question(
            "A fifth of test image 8 is gone, and before Run two of its 13 lost pixels are filled in wrongly. If four "
            "fifths are taken away, what will be put into the gaps?",
            dict(OPENING, view=TWOS),
            dict(share=0.8),
            "Another two. Whatever is left chooses a place in the latent space, and nearly every place near the data "
            "decodes to a two. It need not be the one that was taken away: now 7 pixels of 51 are wrong.",
            ("the same two", "another two", "no two any more"),
            1,
        ),
    )

    def make_controls(self):
        return {
            "data": {
                "view": buttons([SITE, TWOS]),
                "noise": buttons(list(SEEN_BY), "Probit"),
                "y": slider(1.0, -4.0, 4.0, 0.1, "observed y"),
                "noise_variance": log_slider(1.0, -1.5, 1, "noise variance"),
                "label": buttons([("label 1", 1), ("label 0", 0)]),
                "level": slider(2, 0, len(CUTS), 1, "observed level"),
                "pixel_noise": buttons(("Probit", "Gaussian")),
                "image": slider(8, 0, 56, 1, "test image"),
                "share": slider(0.2, 0.0, 0.9, 0.05, "share removed", readout_format=".2f"),
            },
            "kernel": {
                "variance": log_slider(1.0, -1.5, 1.5, "prior variance"),
                "kernel": menu(list(KERNELS), name="kernel"),
            },
            "start": {
                "mean": slider(0.0, -6.0, 6.0, 0.1, "prior mean"),
                "init": menu(("pca", "isomap", "random"), name="positions"),
                "restarts": slider(10, 1, 10, 1, "searches"),
            },
            "size": {"n_active": steps((10, 20, 30, 40), 30, "active images")},
        }

    def unused(self, settings):
        """Controls of the other view and of other noise step aside."""
        here = ("noise", "mean", "variance", *SEEN_BY[settings["noise"]])
        if settings["view"] == TWOS:
            here = ("pixel_noise", "kernel", "init", "restarts", "n_active", "share", "image")
        aside = {name: "" for name in self.controls if name not in ("view", *here)}
        return aside if settings["view"] == TWOS else aside | {"n_active": "there is one observation"}

    def why_no_run(self, settings):
        return "one observation is answered at once" if settings["view"] == SITE else ""

    def iterates(self, settings):
        """The passes of Algorithm 1; a single observation has none."""
        if settings["view"] == TWOS:
            for snapshot in snapshots(*(settings[name] for name in ("pixel_noise", "kernel", "init", "n_active"))):
                yield snapshot.passes / N_PASSES, snapshot

    def point(self, panel, x, y):
        """Both pictures of one observation have the prior mean across."""
        return {"mean": round(float(np.clip(x, -6.0, 6.0)), 1)}

    def nudge(self, panel, right, up):
        """Arrow keys move the prior mean and its variance."""
        mean, variance = self.settings["mean"] + 0.1 * right, self.settings["variance"] * 10 ** (0.05 * up)
        return {
            "mean": round(float(np.clip(mean, -6.0, 6.0)), 1),
            "variance": float(np.clip(variance, 10**-1.5, 10**1.5)),
        }

    def code(self, settings, state):
        if settings["view"] == SITE:
            model, y = {
                "Gaussian": (f"Gaussian({settings['noise_variance']:g}, mean=0.0)", settings["y"]),
                "Probit": ("Probit(bias=0.0)", settings["label"]),
                "Ordinal": (f"Ordinal(cuts={list(CUTS)})", settings["level"]),
            }[settings["noise"]]
            return SITE_CODE.format(model=model, y=y, mean=settings["mean"], variance=settings["variance"])
        smooth = {"RBF": "RBF(1.0, 1.0)", "MLP": "MLP(1.0, 10.0, 10.0)", "linear": "Linear(1.0)"}[settings["kernel"]]
        kernel, noise = f"{smooth} + Bias(0.1) + White(0.01)", "Probit()"
        if settings["pixel_noise"] == "Gaussian":
            kernel, noise = f"0.1 * {smooth} + Bias(0.01) + White(0.01)", "None"
        passes = 0 if state is None else state.passes
        return TWOS_CODE.format(**{**settings, "kernel": kernel, "noise": noise}, passes=passes)


def explore_noise(**settings) -> NoiseExplorer:
    """The live explorer of chapter 8; any control can be set: ``explore_noise(view="twos with gaps")``."""
    return NoiseExplorer(**settings)
