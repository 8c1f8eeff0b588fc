"""`panel_gplvm`: the latent space, what the cross decodes to, and the objective so far."""

from dataclasses import replace

import numpy as np

from gplvm_edu.linalg import squared_distances

from ..drawing import decoded_panel, how_sure, latent_points, nearest_name, picture_limit, precision_image, ring
from ..scene import Axis, Cursor, Lines, Panel, Points, SceneOf, remember
from .fit import CORRECTED, model_at, slope_at_start, start_model
from .source import load, source_of

COARSE, FINE = 32, 56  # points along a side of the precision: while a run goes on, and at rest
OPENING = dict(
    data="oil flow",
    scale=False,
    kernel="RBF",
    inverse_width=1.0,
    noise=0.1,
    init="pca",
    seed=0,
    optimiser="l-bfgs",
    n_points=100,
    gradient=CORRECTED,
    prior=True,
    x1=0.0,
    x2=0.0,
    n_grid=FINE,
)


@remember(maxsize=2)
def precision(model, n_grid):
    """The shades of the latent space; they stay while the cross moves."""
    return precision_image(model, picture_limit(model.embedding_), n_grid)


def at_cross(model, x1, x2):
    """Mean (D,), deviation (D,), deviation as a share of the prior's, and the nearest training point."""
    x = np.array([[x1, x2]])
    mean, deviation = model.inverse_transform(x, return_std=True)
    nearest = int(np.argmin(squared_distances(x, model.embedding_)))
    return mean[0], deviation[0], model.map_.relative_deviation(x)[0, 0], nearest


def latent(data, scale, kernel, inverse_width, noise, init, seed, n_points, x1, x2, n_grid, state):
    """The points over the log precision of the map; the cross, and a ring around the point nearest to it."""
    model = model_at(data, scale, kernel, inverse_width, noise, init, seed, n_points, state)
    _, target, names = load(data, n_points, scale)
    X, shades = model.embedding_, precision(model, n_grid)
    nearest = at_cross(model, x1, x2)[-1]
    marks = [
        shades,
        latent_points(X, target, names, opacity=0.9),
        ring("nearest", *X[nearest], label=f"nearest: point {nearest}{nearest_name(target, names, nearest)}"),
        Cursor("cross", x1, x2),
    ]
    left, right, bottom, top = shades.extent
    return Panel(
        marks,
        title="latent space",
        hint="drag the cross",
        x=Axis("latent dimension 1", (left, right)),
        y=Axis("latent dimension 2", (bottom, top)),
        equal=True,
        listens="drag",
        span=3,
        rows=5,
    )


def decoded(data, scale, kernel, inverse_width, noise, init, seed, n_points, x1, x2, state):
    """What the map says of the place under the cross, beside the nearest data."""
    model = model_at(data, scale, kernel, inverse_width, noise, init, seed, n_points, state)
    Y, target, _ = load(data, n_points, scale)
    mean, deviation, share, nearest = at_cross(model, x1, x2)
    shape = source_of(data).image_shape
    panel = decoded_panel(Y, target, shape, mean, deviation, Y[nearest], span=2, rows=3)
    return replace(panel, title=how_sure(share))


def trace(data, scale, kernel, inverse_width, noise, init, seed, n_points, optimiser, prior, gradient, state):
    """The objective against the number of steps, the iterate that is shown as a dot."""
    start = start_model(data, scale, kernel, inverse_width, noise, init, seed, n_points)
    value, ratio = slope_at_start(start, prior, gradient)
    values, step = ([value], 0) if state is None else (state.values, state.step)
    values = np.array(values)
    room = 0.08 * np.ptp(values) or 1.0
    return Panel(
        [
            Lines("run", np.arange(len(values)), values, colour="pale"),
            Lines("so far", np.arange(step + 1), values[: step + 1]),
            Points("now", [step], [values[step]], colour="accent", size=9, label=f"gradient {ratio:.2f} × the slope"),
        ],
        title=f"{objective(prior)} {values[step]:.1f}",
        x=Axis(f"step of {optimiser}", (-0.5, max(1.03 * len(values), 20))),
        y=Axis("", (values.min() - room, values.max() + room)),
        span=2,
        rows=2,
    )


def objective(prior):
    """What is climbed."""
    return "log posterior" if prior else "log likelihood"


def says(data, scale, kernel, inverse_width, noise, init, seed, n_points, prior, gradient, x1, x2, state):
    """The step, its objective and the deviation at the cross, as the code shown prints them."""
    model = model_at(data, scale, kernel, inverse_width, noise, init, seed, n_points, state)
    _, deviation, share, _ = at_cross(model, x1, x2)
    if state is None:
        step, value = 0, slope_at_start(model, prior, gradient)[0]
    else:
        step, value = state.step, state.iterate.value
    place = f"at the cross: deviation {deviation[0]:.3g}, {share:.1%} of the prior's"
    return f"step {step}, {objective(prior)} {value:.1f}; {place}"


panel_gplvm = SceneOf(latent, decoded, trace, defaults=OPENING, says=says, columns=5, row_height=70)
