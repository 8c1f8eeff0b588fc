"""What several explorers show: the shades of a map, latent points, and a decoded point beside the nearest data."""

import numpy as np

from gplvm_edu.maps import grid_points

from .scene import HIDDEN, Axis, Band, Image, Lines, Panel, Points
from .words import class_names


def picture_limit(X):
    """Half the side of the latent picture: a round number, so that the axes stay the same while the points move."""
    reach = 1.12 * np.abs(X).max()
    unit = 10.0 ** np.floor(np.log10(reach))
    return float(unit * np.ceil(2 * reach / unit) / 2)


def nearest_name(target, names, row):
    """', annular' for a row with a class, '' for one without."""
    return "" if target is None or names is None else f", {class_names(names)[int(target[row])]}"


def how_sure(share):
    """The deviation as a share of the prior's, in words."""
    if share < 0.25:
        return "sure: data all around"
    return "a guess between the data" if share < 0.7 else "no data here: back to the mean"


def precision_image(model, limit, n_grid, bar="log precision (light: sure)"):
    """Log precision of a model's map over the square from -limit to limit, as an image."""
    square = (-limit, limit, -limit, limit)
    values = model.log_precision(grid_points(square, n_grid)).reshape(n_grid, n_grid)
    return Image("precision", values, extent=square, ramp="precision", bar=bar, smooth=True, from_below=True)


def latent_points(X, target=None, names=None, key="points", **look):
    """Latent points (N, 2): by class where there are names, by shade where the target is a scale, else one colour."""
    kind = dict(values=target) if names is None else dict(group=target, names=names)
    return Points(key, X[:, 0], X[:, 1], **kind, **look)


def ring(key, x, y, **look):
    """A ring around one point."""
    return Points(key, [x], [y], **{"colour": "ink", "hollow": True, "size": 14, **look})


def segments(x, low, high):
    """(x, y) of one upright line for each x, with gaps between them."""
    gap = np.full(len(x), np.nan)
    return np.ravel([x, x, gap], "F"), np.ravel([low, high, gap], "F")


def side_by_side(*images):
    """Images of one height in a row, a gap between them."""
    gap = np.full((len(images[0]), 1), np.nan)
    parts = [part for image in images for part in (image, gap)]
    return np.hstack(parts[:-1])


def image_panel(images, names, high, title="", key="", **panel):
    """Images side by side, each with its name below."""
    width = images[0].shape[1]
    ticks = tuple((width - 1) / 2 + k * (width + 1) for k in range(len(images)))
    below = Axis(ticks=ticks, tick_labels=tuple(names))
    mark = Image("images", side_by_side(*images), low=0, high=high)
    return Panel([mark], title=title, x=below, y=HIDDEN, equal=True, key=key, **panel)


def decoded_panel(Y, target, image_shape, mean, deviation, nearest, title="decoded at the cross", **panel):
    """A decoded point (D,), its deviation (D,) and the data of the nearest point (D,), in one of three forms.

    Images where `image_shape` says so; three columns are seen from the end, the first against the third; else all
    columns with two deviations either way.
    """
    if image_shape is not None:
        images = [mean.reshape(image_shape), nearest.reshape(image_shape)]
        return image_panel(images, ("decoded", "nearest data"), Y.max(), title, **panel)
    if Y.shape[1] == 3:
        return _seen_from_the_end(Y, target, mean, deviation, nearest, **panel)
    place = np.arange(1.0, Y.shape[1] + 1)
    few, spread = len(place) <= 30, 0.25 * np.ptp(Y)
    marks = [Band("range", place, Y.min(axis=0), Y.max(axis=0), label="data's range")]
    bars = segments(place, mean - 2 * deviation, mean + 2 * deviation)
    marks.append(Lines("deviations", *bars, colour="accent", width=2.2 if few else 1.0))
    if few:
        marks.append(Points("nearest", place, nearest, colour="ink", hollow=True, size=7, label="nearest data"))
        marks.append(Points("decoded", place, mean, colour="accent", marker="dash", size=12, label="decoded ± 2 dev."))
    else:
        marks.append(Lines("nearest", place, nearest, colour="ink", width=1, label="nearest data"))
        marks.append(Lines("decoded", place, mean, colour="accent", label="decoded ± 2 dev."))
    across = Axis("column", (0.3, len(place) + 0.7))
    return Panel(marks, title=title, x=across, y=Axis("", (Y.min() - spread, Y.max() + spread)), **panel)


def _seen_from_the_end(Y, target, mean, deviation, nearest, **panel):
    x, y, r, s = mean[0], mean[2], 2 * deviation[0], 2 * deviation[2]
    marks = [
        latent_points(Y[:, [0, 2]], target, key="data", size=4),
        Lines("deviations", [x - r, x + r, np.nan, x, x], [y, y, np.nan, y - s, y + s], colour="accent", width=1.4),
        Points("decoded", [x], [y], colour="accent", marker="plus", size=14, label="decoded"),
        ring("nearest", nearest[0], nearest[2], label="nearest data", size=10),
    ]
    (low, high), across = _room(Y[:, 2]), Axis("column 1", _room(Y[:, 0]))
    return Panel(marks, title="decoded, seen from the end", x=across, y=Axis("column 3", (low, high)), **panel)


def _room(values):
    return values.min() - 0.15 * np.ptp(values), values.max() + 0.15 * np.ptp(values)


def trails(edges, n_points):
    """A walk over every edge once, as numbers of points; -1 is a jump to where another trail begins."""
    left = [[] for _ in range(n_points)]
    for i, j in edges.tolist():
        left[i].append(j)
        left[j].append(i)
    walk = []
    for start in range(n_points):
        while left[start]:
            here = start
            walk.append(here)
            while left[here]:
                there = left[here].pop()
                left[there].remove(here)
                walk.append(here := there)
            walk.append(-1)
    return np.array(walk)
