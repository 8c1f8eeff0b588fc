"""The mode finder of `latent_map`: a row that the reader draws or takes, and the places in the map where it may lie.

The page evaluates the log density (5.10) itself (mode_finder.js); here is what it needs for that.
"""

from typing import NamedTuple

import numpy as np

from gplvm_edu import checks, datasets

from ..scene import Axis, Band, Image, Lines, Panel, Points, Texts
from ..words import LONGEST_NAME, brief
from .stored_map import Slice, answers, random_places

SIDE, STARTS, SHOWN = 33, 6, 4  # places of the grid each way; maxima of it that are climbed from; places that are shown
N_ROWS = 8  # of the data, where there are no others
DEPTH = 20.0  # of the shades, in nats below the best place
LARGEST_TABLE = 2_000_000  # numbers: the map at all places of the grid
NONE = np.empty(0)
NOT_THERE = ", not in the map"
ASK = (
    "A star stands at each place with its weight, its share of the density of all places found; light: the row may lie "
    "there. {question} In Python: model.transform and model.map_.log_density."
)
DRAW = (
    "Draw in the grid, or take an image (keys: arrows go from pixel to pixel, Space inks one or wipes it, Delete "
    "clears). "
)
TAKE = "Take a row of the data, and see where else it might lie. "
QUESTIONS = {
    "digits": (
        "Question: a class that is not in the map lands all the same; take {foreign}: which two numbers could warn "
        "you, and does no held-out digit of a class of the map ever show them?"
    ),
    "images": "Question: take an image and hide its lower half: does its place stay, and how heavy is the second one?",
    "rows": "Question: which row has a second place that is nearly as heavy as the first?",
}


class NewRows(NamedTuple):
    """Rows to place (M, D), their names, and what they are: digits, images or rows."""

    rows: np.ndarray
    names: list
    kind: str


def noise_of(model):
    """Variance of Gaussian noise as a list of one number or D; None where the map has no such noise, or none at all."""
    if isinstance(model, Slice):
        return None
    try:
        noise = np.atleast_1d(np.asarray(model.map_.noise_variance, float))
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        return None
    return noise.tolist() if np.isfinite(noise).all() and (noise > 0).all() else None


def finder_data(model, box, new, image_shape) -> dict:
    """What the page needs to place rows; nothing where it can't say the density of a row."""
    noise, D = noise_of(model), model.rows_.shape[1]
    if noise is None or not len(new.rows) or D * SIDE**2 > LARGEST_TABLE or not says_its_density(model, box, noise):
        return {}
    low, high = float(np.nanmin(model.rows_)), float(np.nanmax(model.rows_))
    prior = model.map_.latent_prior == "gaussian"
    return {
        "finder": {"side": SIDE, "noise": noise, "prior": prior, "starts": STARTS, "shown": SHOWN, "depth": DEPTH},
        "new": short(new.rows),
        "new_names": list(new.names),
        "shape": None if image_shape is None else [int(n) for n in image_shape],
        "ink": [min(low, 0.0), high],
    }


def log_densities(model, y, X, noise) -> np.ndarray:
    """ln p(y, x) as the page computes it, (M,), at latent points: (5.10), and the prior where the map has one."""
    mean, deviation, _ = answers(model, X)
    s = np.broadcast_to(deviation**2 + noise, mean.shape)
    seen = ~np.isnan(y)
    terms = -0.5 * (np.log(2 * np.pi * s) + (y - mean) ** 2 / s)[:, seen]  # (5.10)
    prior = -0.5 * np.sum(X**2, axis=1) - np.log(2 * np.pi) if model.map_.latent_prior == "gaussian" else 0.0
    return terms.sum(axis=1) + prior


def says_its_density(model, box, noise):
    """Whether the model's own log density is that of mean, deviation and noise."""
    places, y = random_places(box, 20), model.rows_[0]
    own = model.map_.log_density(np.tile(y, (len(places), 1)), places)[0]
    prior = -0.5 * np.sum(places**2, axis=1) - np.log(2 * np.pi) if model.map_.latent_prior == "gaussian" else 0.0
    return np.allclose(log_densities(model, y, places, noise), own + prior, rtol=1e-8, atol=1e-8)


def short(rows):
    """Whole numbers from 0 to 255 in one byte each; others as they are."""
    whole = np.array_equal(rows, np.round(rows)) and rows.min() >= 0 and rows.max() <= 255
    return rows.astype(np.uint8) if whole else rows


# ---------------------------------------------------------------------------------------------- which rows
def rows_to_place(model, image_shape, new_rows, new_names, names_of_rows) -> NewRows:
    """The rows that are given; else digits of the course that the model has not seen; else some of its own rows."""
    Y = model.rows_
    images = "rows" if image_shape is None else "images"
    if new_rows is not None:
        rows = np.asarray(new_rows, float)
        if len(rows) and (rows.ndim != 2 or rows.shape[1] != Y.shape[1]):
            raise ValueError(f"new_rows must have {Y.shape[1]} columns as the data, got shape {rows.shape}.")
        names = [f"new {k + 1}" for k in range(len(rows))] if new_names is None else list(new_names)
        if len(names) != len(rows) or len(set(map(str, names))) < len(names):
            raise ValueError(
                f"new_names must be one name for each of the {len(rows)} new rows, all different, "
                f"got {checks.shown(new_names)}."
            )
        return NewRows(rows, [brief(name, LONGEST_NAME) for name in names], images)
    if new_names is not None:
        raise ValueError("new_names need new_rows.")
    unseen = held_out_digits(Y) if image_shape is not None and tuple(image_shape) == (8, 8) else None
    if unseen is not None:
        return unseen
    chosen = np.unique(np.linspace(0, len(Y) - 1, N_ROWS).round().astype(int))
    names = [f"row {n}{names_of_rows(n)}" for n in chosen]
    return NewRows(Y[chosen], names, images)


def held_out_digits(Y) -> NewRows | None:
    """Two digits of each class of the rows, and one of each other class, none of them a row; None for other data."""
    digits = datasets.load_digits()
    images, kinds = np.asarray(digits.data, float), np.asarray(digits.target)
    where = {row.tobytes(): n for n, row in enumerate(images)}
    seen = np.array([where.get(row.tobytes(), -1) for row in Y])
    if (seen < 0).any():
        return None
    unseen = np.setdiff1d(np.arange(len(images)), seen)
    classes, rows, names = set(kinds[seen].tolist()), [], []
    for digit in [*sorted(classes), *sorted(set(range(10)) - classes)]:
        of = unseen[kinds[unseen] == digit][: 2 if digit in classes else 1]
        rows.extend(of)
        called = [f"held-out {digit}", f"another {digit}"] if digit in classes else [f"{digit}{NOT_THERE}"]
        names += called[: len(of)]
    return NewRows(images[rows], names, "digits") if rows else None


def finder_words(new):
    """What a reader is told, and asked."""
    foreign = [name for name in new.names if name.endswith(NOT_THERE)]
    kind = "images" if new.kind == "digits" and not foreign else new.kind
    question = QUESTIONS[kind].format(foreign="a " + foreign[len(foreign) // 2].split(",")[0] if foreign else "")
    return (TAKE if kind == "rows" else DRAW) + ASK.format(question=question)


# ---------------------------------------------------------------------------------------------- panels
def drawing_panel(image_shape, ink):
    """An empty sheet of the size of an image; the page puts ink on it."""
    image = Image("drawing", np.full(image_shape, ink[0]), low=ink[0], high=ink[1])
    left, right, bottom, top = image.extent
    around = np.array([[left, right, right, left, left], [top, top, bottom, bottom, top]])
    marks = [
        image,
        Band("cover", NONE, NONE, NONE, colour="quiet", opacity=0.5),
        Lines("frame", *around, colour="quiet", width=1),
        Lines("pixel", NONE, NONE, colour="accent", width=2),
    ]
    across, up = Axis("", (left, right), hidden=True), Axis("", (bottom, top), hidden=True)
    return Panel(marks, title="draw here", x=across, y=up, key="drawing", listens="drag", span=2, rows=5)


def place_marks():
    """Stars for the places of a row, with their weights; none yet."""
    return [
        Points("places", NONE, NONE, colour="accent", marker="star", size=15),
        Texts("weights", NONE, NONE, [], size=12),
    ]
