"""`latent_map`: a fitted map with two latent dimensions that decodes where the reader points.

Where a few lines of JavaScript can evaluate the map (kernels, basis functions, a plane), the page holds its parameters
and agrees with Python to rounding. Any other map is tabulated on a grid, and the figure says how near that comes.
"""

from dataclasses import replace

import numpy as np

from gplvm_edu import checks
from gplvm_edu.plane import background_of, chosen_dims, embedding_of, final_step, others_remark

from ..drawing import latent_points, ring, segments
from ..scene import Axis, Band, Cursor, Image, Lines, Panel, Points, Scene
from ..words import (
    NOT_KNOWN,
    brief,
    class_names,
    classes_of_both,
    index_into,
    is_missing,
    labels_for,
    range_of,
    shades_of_both,
)
from .figure import LivingFigure, living, modules
from .mode_finder import drawing_panel, finder_data, finder_words, place_marks, rows_to_place
from .stored_map import answers, plane_of, sliced, stored_map

N_SHADES = 64  # the shades of the plane: so many by so many
WORDS = (
    (0.25, "Sure: data all around."),
    (0.7, "A guess between the data."),
    (np.inf, "No data here: back to the mean."),
)
LIGHT = "light: the map is sure; dark: it does not know"
STRETCHED = "light: rows lie close; dark: the map is stretched"
MOST_NAMES, LONGEST_NAME = 24, 18  # columns that are named one below the other, and letters of each name
HINT = "Drag the cross, or use the arrow keys."


def latent_map(
    model,
    target=None,
    names=None,
    image_shape=None,
    start=None,
    title="Drag the cross",
    name="latent",
    heading="decoded at the cross",
    feature_names=None,
    dims=None,
    *,
    labels=None,
    new_rows=None,
    new_names=None,
) -> LivingFigure:
    """A fitted model with a map from two latent dimensions, decoded in the page wherever the reader points.

    Where the model has Gaussian noise the reader also goes the other way: draws an image, or takes a row, and sees its
    log density over the map, the places where it may lie, and how the best of them is decoded.

    Parameters
    ----------
    model : fitted model with a `map_`, or a pipeline that ends with one
        GPLVM, SparseGPLVM, BayesianGPLVM, GTM and its variants, PPCA, FactorAnalysis, ...
    target : sequence (N,), optional
        Class of each row: texts, a few whole numbers, a pandas Categorical, or an index into `names`. Numbers on a
        scale, as `LatentDisplay` tells them from classes, shade the points. Missing ones (None, NaN, NA) are grey.
    names : sequence of str, optional
    image_shape : (int, int), optional
        Rows of the data are images of this shape; without it all columns are drawn with two deviations either way.
    start : (float, float), optional
        Where the cross is first; without it, at the training point nearest to the middle.
    title, heading : str
        Of the figure, and of the decoded point.
    name : str
        Letters, digits and dashes: the element's id is "gplvm-living-" and this. Two figures on one page need two.
    feature_names : sequence of str, optional
        Of the columns, named where there are at most 24; without it those of the DataFrame that the model was fitted
        to.
    dims : (int, int), optional
        Latent dimensions of the plane, counted from 0: without it the first two, or the two most relevant ones where
        the model knows. All others are held at 0, or at their means where the model has neither a prior nor a grid.
    labels : sequence (N,), optional
        Another name of `target`, as in `LatentDisplay`.
    new_rows : array (M, D), optional
        What the reader may place besides drawings, none if it is empty; without it, for digits of the course some that
        the model has not seen, for other data eight of its own rows.
    new_names : sequence of str (M,), optional
        Of these rows.

    Returns
    -------
    LivingFigure
        Shows itself when a cell ends with it; ``.save("map.html")`` writes one file that needs nothing else.

    Notes
    -----
    The mean is evaluated exactly for every kernel of chapter 2 (process, active and inducing maps), for sheets of basis
    functions and for planes; so is the deviation of a `GPLVM` with at most 400 points. What is left (other maps, other
    noise, other deviations) is interpolated between stored values, and the error, measured at 500 places, stands
    below the figure and in ``figure.data["error"]``, as a share of the range of the data.

    A row's log density is equation (5.10), with ln N(x | 0, I) added where the model has this prior. It is evaluated at
    33 by 33 places, and Newton's steps climb from the six highest of its maxima there: what is found depends on the
    grid, and a place narrower than its step can be missed. An empty `new_rows` leaves the mode finder out.

    Examples
    --------
    >>> from gplvm_edu.gplvm import GPLVM
    >>> from gplvm_edu.datasets import simulate_oil_flow
    >>> oil = simulate_oil_flow(30, random_state=0)
    >>> figure = latent_map(GPLVM(max_iter=5).fit(oil.data), oil.target, oil.target_names, name="oil")
    >>> 'id="gplvm-living-oil"' in figure.html, figure.data["error"]
    (True, 0.0)
    """
    model = final_step(model)
    dims = check_model(model, dims)
    feature_names = check_features(model, feature_names)
    background = background_of(model, dims, plane_of(model.embedding_[:, list(dims)]), N_SHADES)
    others, model = others_remark(model, dims), sliced(model, dims)
    X, Y = model.embedding_, model.rows_
    target, names = check_classes(one_target(target, labels), names, len(X))
    if image_shape is not None and np.prod(image_shape) != Y.shape[1]:
        raise ValueError(f"image_shape {tuple(image_shape)} does not fit the {Y.shape[1]} columns of the data.")
    box = plane_of(X)
    start = check_start(X[np.argmin(np.sum((X - X.mean(axis=0)) ** 2, axis=1))] if start is None else start, box)
    stored = stored_map(model, box)
    data = {
        **stored,
        "points": X,
        "box": list(box),
        "start": start.tolist(),
        "image": None if image_shape is None else image_shape[0] / image_shape[1],
        "names": names,
        "target": None if names is None else target % len(names),
    }
    named = names is not None and target is not None
    new = rows_to_place(model, image_shape, new_rows, new_names, lambda n: f": {names[target[n]]}" if named else "")
    finder = finder_data(model, box, new, image_shape)
    data |= finder
    features = feature_names if image_shape is None and Y.shape[1] <= MOST_NAMES else None
    if features is not None:
        data["sideways"] = True
    scene = opening_scene(
        model, start, box, target, names, image_shape, heading, stored, features, background, dims, finder
    )
    ask = finder_words(new) if finder else ""
    words = " ".join(filter(None, [HINT, ask, shade_words(target, names), near_words(stored), others]))
    scripts = modules("marks.js", "gp.js", "mode_finder.js", "latent_map.js")
    return living(scene, scripts, data, name, title, words, width=860 if finder and image_shape else 704)


def shade_words(target, names):
    """What the shades of the points mean; nothing where they show classes."""
    if target is None or names is not None:
        return ""
    return "Points are shaded from {:.4g} (violet) to {:.4g} (yellow).".format(*range_of(target))


def near_words(stored):
    """What is interpolated, and how near that comes; nothing where the page evaluates the map itself."""
    if "grid" not in stored:
        return ""
    what = "Deviations are" if "constant" in stored else "What you see is"
    return f"{what} interpolated: at 500 places at most {100 * stored['error']:.2g} % of the range of the data off."


# ---------------------------------------------------------------------------------------------- what is asked for
def check_model(model, dims):
    """The latent dimensions to draw of a fitted model with a map; a model without one is explained."""
    embedding_of(model, "latent_map")
    if not hasattr(model, "map_"):
        raise TypeError(
            f"{type(model).__name__} has no map from latent space to data, so there is nothing to decode. "
            "LatentDisplay.from_estimator(model, labels=target) draws its positions (in the package's plotting)."
        )
    return chosen_dims(model, dims, "latent_map")


def check_features(model, feature_names):
    """Names of the columns, or None: as passed, else those of the DataFrame that the model was fitted to."""
    given = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    if given is None:
        return None
    D = model.rows_.shape[1]
    if isinstance(given, str) or len(given) != D:
        raise ValueError(f"feature_names must be one name for each of the {D} columns, got {checks.shown(given)}.")
    return [brief(name, LONGEST_NAME) for name in given]


def one_target(target, labels):
    """The target, by either of its names."""
    if target is not None and labels is not None:
        raise ValueError("latent_map takes target or labels, two names of the same: pass one of them.")
    return target if labels is None else labels


def check_classes(target, names, N):
    """The class of each row as an index into names, and these; numbers that shade the points, and None; or nothing.

    What is missing is -1, and then the last of the names says so; on a scale it is NaN.
    """
    if target is None:
        if names is not None:
            raise ValueError("names need a target: the class of each row, as an index into names.")
        return None, None
    target = labels_for(target, N, "target")
    if names is not None:
        shown = class_names(names)
        which = np.array([-1 if is_missing(label) else index_into(names, label) for label in target])
    else:
        scale = shades_of_both(target, None, None, N, 0)
        if scale is not None:
            return scale[0], None
        shown, which = classes_of_both(target, None, None, N, 0)[0]
    return which, shown if (which >= 0).all() else class_names([*shown, NOT_KNOWN])


def check_start(start, box):
    """The first place of the cross, inside the plane."""
    start = np.asarray(start, float)
    left, right, bottom, top = box
    if start.shape != (2,) or not (left <= start[0] <= right and bottom <= start[1] <= top):
        raise ValueError(
            f"start must be two numbers inside the plane, {left:g} to {right:g} across and {bottom:g} to {top:g} up; "
            f"got {start.tolist()}."
        )
    return np.array([float(f"{c:.6g}") for c in start])


# ---------------------------------------------------------------------------------------------- the opening
def opening_scene(
    model, start, box, target, names, image_shape, heading, stored, features, background, dims, finder
) -> Scene:
    """The scene that the page begins with; afterwards it moves what stands under the keys used here."""
    X, Y = model.embedding_, model.rows_
    (mean,), (deviation,), (share,) = answers(model, start[None])
    near = int(np.argmin(np.sum(((X - start) / np.ptp(np.reshape(box, (2, 2)), axis=1)) ** 2, axis=1)))
    left, right, bottom, top = box
    marks = [
        *marked(X, target, names),
        ring("ring", *X[near], size=13),
        *(place_marks() if finder else []),
        Cursor("cross", float(start[0]), float(start[1]), colour="ink"),
    ]
    if background.values is not None:
        marks.insert(0, shades(background, box))
    plane = Panel(
        marks,
        title=plane_title(background),
        x=Axis(f"latent dimension {dims[0] + 1}", (left, right), ticks=()),
        y=Axis(f"latent dimension {dims[1] + 1}", (bottom, top), ticks=()),
        key="plane",
        listens="drag",
        span=6,
        rows=6 if image_shape is not None else 1,
    )
    if features is not None:
        panels = [plane, named_panel(Y, mean, deviation, features, heading)]
    else:
        panels = [plane, decoded_panel(Y, mean, deviation, image_shape, heading, share)]
    if finder and image_shape is not None:
        panels = [plane, drawing_panel(image_shape, finder["ink"]), replace(panels[1], span=2)]
    if image_shape is not None and not stored["certain"]:
        panels.append(doubt_panel(share, stored["whole"]))
    says = sentence(deviation, share, stored, None if names is None else names[target[near]])
    return Scene(panels, columns=10, row_height=50 if image_shape is not None else 340, says=says)


def marked(X, target, names):
    """The training points by class or shade, and below them in grey those of which that is not known."""
    if target is None:
        return [latent_points(X, size=6.5)]
    known = ~np.isnan(target) if names is None else target >= 0
    shades = np.clip(target, *range_of(target)) if names is None else target
    points = [latent_points(X[known], shades[known], names, size=6.5)] if known.any() else []
    grey = Points("unknown", *X[~known].T, colour="quiet", size=6.5, label=NOT_KNOWN)
    return points if known.all() else [grey, *points]


def is_stretch(background):
    """Whether a background shows magnification, and not precision."""
    return "stretched" in background.name


def plane_title(background):
    """What the shades of the plane mean."""
    return "" if background.values is None else STRETCHED if is_stretch(background) else LIGHT


def shades(background, box):
    """Log precision of the map over the plane, or minus the log magnification of one that is certain, as an image."""
    values = -background.values if is_stretch(background) else background.values
    return Image("precision", values, extent=box, ramp="precision", smooth=True, from_below=True)


def decoded_panel(Y, mean, deviation, image_shape, heading, share):
    """The decoded point: an image that fades where the map knows less, or all columns with two deviations."""
    low, high = np.nanmin(Y), np.nanmax(Y)
    if image_shape is not None:
        image = Image("decoded", mean.reshape(image_shape), low=min(low, 0.0), high=high, opacity=1 - 0.7 * share)
        left, right, bottom, top = image.extent
        frame = Lines(
            "frame", [left, right, right, left, left], [top, top, bottom, bottom, top], colour="quiet", width=1
        )
        across, up = Axis("", (left, right), hidden=True), Axis("", (bottom, top), hidden=True)
        return Panel([image, frame], title=heading, x=across, y=up, key="decoded", span=4, rows=5)
    place, spread = np.arange(1.0, len(mean) + 1), 0.25 * (high - low)
    bars = segments(place, mean - 2 * deviation, mean + 2 * deviation)
    few = len(place) <= 30
    marks = [
        Band("range", place, np.nanmin(Y, axis=0), np.nanmax(Y, axis=0), label="range of the data"),
        Lines("deviations", *bars, colour="accent", width=2.2 if few else 1.0, label="two deviations"),
        Points("decoded", place, mean, colour=0, size=7 if few else 3, label="decoded"),
        Points("placed", [], [], colour="ink", hollow=True, size=9 if few else 5),
    ]
    across, up = Axis("column", (0.3, len(place) + 0.7)), Axis("", (low - spread, high + spread))
    return Panel(marks, title=heading, x=across, y=up, key="decoded", span=4)


def named_panel(Y, mean, deviation, features, heading):
    """The decoded point with the columns one below the other, each with its name and two deviations either way."""
    low, high, D = np.nanmin(Y), np.nanmax(Y), len(mean)
    place, spread = np.arange(1.0, D + 1), 0.25 * (high - low)
    data_at, data_range = segments(place, np.nanmin(Y, axis=0), np.nanmax(Y, axis=0))
    bars_at, bars = segments(place, mean - 2 * deviation, mean + 2 * deviation)
    marks = [
        Lines("range", data_range, data_at, colour="quiet", width=5, opacity=0.35, label="range of the data"),
        Lines("deviations", bars, bars_at, colour="accent", width=2.2, label="two deviations"),
        Points("decoded", mean, place, colour=0, size=7, label="decoded"),
        Points("placed", [], [], colour="ink", hollow=True, size=9),
    ]
    down = Axis("", (D + 0.7, 0.3), ticks=tuple(place.tolist()), tick_labels=tuple(features))
    return Panel(marks, title=heading, x=Axis("", (low - spread, high + spread)), y=down, key="decoded", span=4)


def doubt_panel(share, whole):
    """The share of ignorance as a bar from 0 to 1."""
    full = Band("whole", [0, 1], [0, 0], [1, 1])
    part = Band("doubt", [0, share], [0, 0], [1, 1], colour="accent")
    title = f"doubt: {round(100 * share)} % of {whole}"
    across, up = Axis("", (0, 1), hidden=True), Axis("", (0, 1), hidden=True)
    return Panel([full, part], title=title, x=across, y=up, key="doubt", span=4)


def sentence(deviation, share, stored, near):
    """How sure the map is at the cross, in words."""
    spread = np.sqrt(np.mean(deviation**2))
    sure = next(words for limit, words in WORDS if share < limit)
    words = stored["certain"] or f"{sure} Deviation {spread:.2g}, {round(100 * share)} % of {stored['whole']}."
    return words + ("" if near is None else f" Nearest point: {near}.")
