"""Handwritten twos of ink and no ink: where an image with gaps belongs, and what is put into the gaps."""

import copy
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from gplvm_edu.datasets import binary_images, load_digits, remove_pixels
from gplvm_edu.ivm import SparseGPLVM
from gplvm_edu.kernels import MLP, RBF, Bias, Linear, White
from gplvm_edu.maps import grid_points
from gplvm_edu.noise import Ordinal, Probit
from gplvm_edu.plotting import ACCENT, PALETTE, in_style, new_figure

N_TRAIN, N_PASSES = 120, 5
KERNELS = {"RBF": RBF(1.0, 1.0), "MLP": MLP(1.0, 10.0, 10.0), "linear": Linear(1.0)}
NOISES = {"Gaussian": "None", "Probit": "Probit()", "Ordinal": "Ordinal(2)"}
MARGINS = dict(left=0.065, right=0.99, bottom=0.17, top=0.86, wspace=0.14)
ORANGE = np.array([213, 94, 0]) / 255


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

    @property
    def n_wrong(self):
        """Removed pixels that come out wrong when cut at 1/2."""
        return int(np.sum(((self.expected > 0.5) != (self.truth > 0.5)) & self.removed))


@lru_cache(maxsize=1)
def images():
    """Training and test images, 120 and 57 twos of scikit-learn's digits, as ink and no ink."""
    digits = load_digits()
    Y = binary_images(digits.data[digits.target == 2] / 16)
    return Y[:N_TRAIN], Y[N_TRAIN:]


def make_model(noise, kernel, init, n_active, max_iter=N_PASSES):
    """The estimator of one setting, not fitted. Under Gaussian noise the variances start at those of the pixels."""
    scale = 0.1 if noise == "Gaussian" else 1.0
    k = scale * KERNELS[kernel] + Bias(0.1 * scale) + White(scale * (0.1 if noise == "Gaussian" else 0.01))
    model = {"Gaussian": None, "Probit": Probit(), "Ordinal": Ordinal(2)}[noise]
    return SparseGPLVM(
        n_active=n_active, max_iter=max_iter, kernel=k, noise=model, init=init, latent_prior="gaussian", random_state=0
    )


def snapshots(noise, kernel, init, n_active):
    """The start, then the model after each pass."""
    model = make_model(noise, kernel, init, n_active)
    for passes, state in enumerate(model.iterates(images()[0])):
        yield Snapshot(passes, copy.copy(model).set_state(state))


@lru_cache(maxsize=16)
def at_start(noise, kernel, init, n_active):
    """The model before its first pass."""
    return next(snapshots(noise, kernel, init, n_active))


def fill(snapshot, share, image, restarts):
    """Take pixels away from one test image, place it, and read the map off there."""
    test = images()[1]
    seen, removed = remove_pixels(test, share, random_state=0)
    place = snapshot.model.transform(seen[[image]], restarts)
    return Filled(test[image], removed[image], place[0], snapshot.model.inverse_transform(place)[0])


@in_style
def panel_twos(
    noise="Probit", kernel="RBF", init="pca", n_active=40, restarts=10, share=0.2, image=0, state=None
) -> Figure:
    """The latent space with the place of one test image; the image, what was seen of it, and two reconstructions.

    Parameters
    ----------
    noise : "Gaussian", "Probit" or "Ordinal" (of two levels)
    kernel : "RBF", "MLP" or "linear"
    init : "pca", "isomap" or "random"
    n_active : int
    restarts : int
        Places from which the image's own place is searched.
    share : float
        Of its pixels that are removed.
    image : int
        From 0 to 56.
    state : Snapshot or None
        None is the model before its first pass.

    Returns
    -------
    matplotlib Figure
    """
    snapshot = at_start(noise, kernel, init, n_active) if state is None else state
    figure, axes = new_figure(1, 5, size=(10.2, 3.3), margins=MARGINS, width_ratios=[1.75, 1, 1, 1, 1])
    draw_space(axes[0], snapshot)
    figure.snapshot, figure.parts = snapshot, empty_parts(axes)
    figure.moving = list(figure.parts.values())
    move(figure, share, image, restarts)
    return figure


def draw_space(axes, snapshot):
    """All training images as points over the precision of the map; the active ones filled."""
    X, active = snapshot.model.embedding_, snapshot.model.active_
    edge = 1.15 * np.abs(X).max()
    grey = snapshot.model.log_precision(grid_points((-edge, edge, -edge, edge), 30)).reshape(30, 30)
    axes.imshow(grey, extent=(-edge, edge, -edge, edge), origin="lower", cmap="gray", alpha=0.6, aspect="auto")
    axes.scatter(*X.T, s=9, facecolors="none", edgecolors=PALETTE[0], linewidths=0.8)
    axes.scatter(*X[active].T, s=9, color=PALETTE[0], linewidths=0)
    axes.set(
        xlabel="latent dimension 1",
        ylabel="latent dimension 2",
        xlim=(-edge, edge),
        ylim=(-edge, edge),
        title=f"after {snapshot.passes} pass{'' if snapshot.passes == 1 else 'es'}",
    )


def empty_parts(axes):
    """What moves with a slider: a cross in the latent space, four pictures, two lines of text."""
    parts = {"cross": axes[0].plot([0], [0], "+", color=ACCENT, markersize=16, markeredgewidth=3, animated=True)[0]}
    titles = ("original", "seen", "expected", "cut at 1/2")
    for ax, title in zip(axes[1:], titles, strict=True):
        parts[title] = ax.imshow(np.zeros((8, 8, 3)), vmin=0, vmax=1, animated=True)
        ax.set(xticks=[], yticks=[], title=title)
        ax.spines[:].set_visible(True)
    for place, name in ((2, "gaps"), (4, "wrong")):
        parts[name] = axes[place].text(
            0.5,
            -0.06,
            "",
            transform=axes[place].transAxes,
            ha="center",
            va="top",
            fontsize=9.5,
            color=ACCENT,
            animated=True,
        )
    return parts


def move(figure, share, image, restarts):
    """Set everything that moves for one test image."""
    now, parts = fill(figure.snapshot, share, image, restarts), figure.parts
    figure.filled = now
    cut = np.where(now.removed, now.expected > 0.5, now.truth)
    wrong = now.removed & ((now.expected > 0.5) != (now.truth > 0.5))
    parts["cross"].set_data([now.place[0]], [now.place[1]])
    parts["original"].set_data(_ink(now.truth))
    parts["seen"].set_data(_ink(now.truth, now.removed))
    parts["expected"].set_data(_ink(np.clip(now.expected, 0, 1)))
    parts["cut at 1/2"].set_data(_ink(cut, wrong))
    parts["gaps"].set_text(f"{now.removed.sum()} removed")
    parts["wrong"].set_text(f"{now.n_wrong} of them wrong")


def _ink(values, marked=None):
    """Grey picture of an image, with some pixels in orange."""
    picture = np.repeat(1.0 - values[:, None], 3, axis=1)
    if marked is not None:
        picture[marked] = ORANGE
    return picture.reshape(8, 8, 3)
