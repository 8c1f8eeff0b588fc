"""`panel_tsne`: the map over its log precision, what the cross decodes to, and what each of two terms gives up."""

from dataclasses import replace

import numpy as np

from gplvm_edu.linalg import squared_distances
from gplvm_edu.metrics import nearest_neighbour_errors

from ..drawing import decoded_panel, how_sure, latent_points, nearest_name, picture_limit, precision_image, ring
from ..scene import Axis, Cursor, Lines, Panel, Points, Rules, SceneOf, Texts, remember
from .fit import CORRECTED, IMAGE_SHAPE, NAMES, PRINTED, TEMPERATURES, fitted, load

N_GRID = 40
OPENING = dict(
    data="digits",
    energy=CORRECTED,
    width=3.162,
    start="t-SNE",
    perplexity=20,
    n_points=100,
    temperature=1e-12,
    x1=0.0,
    x2=0.0,
    complete=True,
)


@remember(maxsize=2)
def precision(model):
    """The shades of the map; they stay while the cross moves."""
    return precision_image(model, picture_limit(model.embedding_), N_GRID)


def at_cross(model, x1, x2):
    """The place (1, 2) under the cross, which goes from -1 to 1 across the picture, and the point nearest to it."""
    x = picture_limit(model.embedding_) * np.array([[x1, x2]])
    return x, int(np.argmin(squared_distances(x, model.embedding_)))


def title_of(temperature, energy):
    """What stands at this place of the slider."""
    if temperature == TEMPERATURES[-1] and energy == PRINTED:
        return "the printed energy alone"
    name = NAMES[temperature]
    return name if temperature in (TEMPERATURES[0], TEMPERATURES[-1]) else f"temperature {name}"


def latent(data, n_points, perplexity, start, width, energy, temperature, x1, x2):
    """The positions over the log precision of the map; the cross, and a ring around the point nearest to it."""
    model, (_, target, names) = (
        fitted(data, n_points, perplexity, start, width, energy, temperature),
        load(data, n_points),
    )
    X, shades, (x, nearest) = model.embedding_, precision(model), at_cross(model, x1, x2)
    marks = [
        shades,
        latent_points(X, target, names, opacity=0.9),
        ring("nearest", *X[nearest], label=f"nearest: point {nearest}{nearest_name(target, names, nearest)}"),
        Cursor("cross", float(x[0, 0]), float(x[0, 1])),
    ]
    left, right, bottom, top = shades.extent
    return Panel(
        marks,
        title=title_of(temperature, energy),
        hint="drag the cross",
        x=Axis("latent dimension 1", (left, right)),
        y=Axis("latent dimension 2", (bottom, top)),
        equal=True,
        listens="drag",
        span=3,
        rows=6,
    )


def decoded(data, n_points, perplexity, start, width, energy, temperature, x1, x2):
    """What the map says of the place under the cross, beside the nearest data."""
    model, (Y, target, _) = (
        fitted(data, n_points, perplexity, start, width, energy, temperature),
        load(data, n_points),
    )
    x, nearest = at_cross(model, x1, x2)
    mean, deviation = model.inverse_transform(x, return_std=True)
    panel = decoded_panel(Y, target, IMAGE_SHAPE[data], mean[0], deviation[0], Y[nearest], span=2, rows=3)
    return replace(panel, title=how_sure(model.map_.relative_deviation(x)[0, 0]))


def terms(data, n_points, perplexity, start, width, energy, temperature, complete):
    """How far each of the two terms is from its best along the slider: what the other one costs it."""
    last = len(TEMPERATURES) - 1
    across = dict(ticks=(0, last), tick_labels=("GP-LVM", "t-SNE"), limits=(-0.4, last + 0.4))
    title = dict(title="what each term gives up", span=2, rows=3)
    if not complete:
        words = ["ten more temperatures", "are being fitted"]  # two lines: the panel is narrow
        waiting = Texts("waiting", [last / 2] * 2, [0.57, 0.43], words)
        return Panel([waiting], x=Axis("temperature", **across), y=Axis("nats", (0, 1), ticks=()), **title)
    models = [fitted(data, n_points, perplexity, start, width, energy, tau) for tau in TEMPERATURES]
    likelihood = np.array([model.log_likelihood_ / model.rows_.size for model in models])
    cost = np.array([model.energy_ for model in models])
    lost, now = (
        {"likelihood": likelihood.max() - likelihood, "energy": cost - cost.min()},
        TEMPERATURES.index(temperature),
    )
    labels = {"likelihood": "log likelihood, an entry", "energy": "energy"}
    marks = [Rules("even", x=[even_place(models[0].rows_.size)], dash=True, label="1/(ND): both weigh the same")]
    for (name, values), colour in zip(lost.items(), (0, "accent"), strict=True):
        marks.append(Lines(name, np.arange(last + 1), values, colour=colour, label=labels[name]))
        marks.append(Points(f"{name} now", [now], [values[now]], colour=colour, size=9))
    top = max(values.max() for values in lost.values())
    return Panel(
        marks, x=Axis("temperature", **across), y=Axis("nats from its best", (-0.06 * top, 1.08 * top)), **title
    )


def even_place(n_entries):
    """Where on the slider the temperature is 1 / (N D)."""
    return np.interp(np.log10(n_entries), -np.log10(TEMPERATURES[1:]), range(1, len(TEMPERATURES)))


def says(data, n_points, perplexity, start, width, energy, temperature):
    """The two terms, and how many points lie beside another class, as the code shown prints them."""
    model = fitted(data, n_points, perplexity, start, width, energy, temperature)
    errors = nearest_neighbour_errors(model.embedding_, load(data, n_points)[1])
    return (
        f"{errors} of {n_points} points beside another class; log likelihood "
        f"{model.log_likelihood_ / model.rows_.size:.3f} nats an entry, energy {model.energy_:.3f} nats"
    )


panel_tsne = SceneOf(latent, decoded, terms, defaults=OPENING, says=says, columns=5, row_height=60)
