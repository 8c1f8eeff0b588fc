"""The plane that is drawn: which two latent dimensions of a model, where the others are held, what is known over it."""

from typing import NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from . import checks
from .maps import grid_points, plane_of

BEHIND = " in the background"
FLAT = 1e-9  # a log magnification that varies by less is the same everywhere


def final_step(model):
    """The fitted estimator itself, or the last step of a pipeline; what is not fitted is told.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from gplvm_edu import PPCA
    >>> final_step(make_pipeline(PPCA()).fit(np.eye(4)))
    PPCA()
    """
    check_is_fitted(model)
    final = model[-1] if isinstance(model, Pipeline) else model
    check_is_fitted(final)
    return final


def embedding_of(model, who) -> np.ndarray:
    """Latent positions (N, q) of the training rows of a fitted model, for the Display named `who`."""
    if not hasattr(model, "embedding_"):
        raise TypeError(
            f"{type(model).__name__} keeps no latent positions of its training rows (embedding_), so {who} has nothing "
            "to draw. Where you have positions, pass them on: LatentDisplay(X, labels).plot()."
        )
    return np.asarray(model.embedding_, float)


def chosen_dims(model, dims=None, who="a picture") -> tuple[int, int]:
    """Two latent dimensions of a fitted model, counted from 0: as asked for, else the two most relevant ones.

    Where a model has no `relevance_`, these are the first two.

    Examples
    --------
    >>> from gplvm_edu import PPCA
    >>> chosen_dims(PPCA(3).fit(np.eye(5)))
    (0, 1)
    """
    q = embedding_of(model, who).shape[1]
    if q < 2:
        raise ValueError(
            f"{who} needs two latent dimensions, and this {type(model).__name__} has one. Fit it with two "
            "(n_components=2, or a grid such as (15, 15)), or draw positions against row numbers with "
            "plotting.scatter_classes(axes, model.embedding_, labels)."
        )
    if dims is None:
        relevance = getattr(model, "relevance_", None)
        order = range(q) if relevance is None or q == 2 else np.argsort(-np.asarray(relevance), kind="stable")
        return int(order[0]), int(order[1])
    if np.ndim(dims) != 1 or len(dims) != 2:
        raise ValueError(f"dims must be two latent dimensions, such as (0, 1), got {checks.shown(dims)}.")
    first, second = (checks.whole_number("dims", d, at_least=0) for d in dims)
    if first == second or max(first, second) >= q:
        raise ValueError(f"dims must be two different numbers from 0 to {q - 1}, got {checks.shown(tuple(dims))}.")
    return first, second


def held_at(model) -> np.ndarray:
    """Where latent dimensions that are not drawn are held, (q,): at 0, the middle of prior or grid, else at the means.

    Examples
    --------
    >>> from gplvm_edu import PPCA
    >>> held_at(PPCA(3).fit(np.eye(5)))
    array([0., 0., 0.])
    """
    X = np.asarray(model.embedding_, float)
    centred = hasattr(model, "nodes_") or getattr(getattr(model, "map_", None), "latent_prior", None) == "gaussian"
    return np.zeros(X.shape[1]) if centred else X.mean(axis=0)


def plane_points(points, dims, held) -> np.ndarray:
    """Points of a plane (M, 2) as latent points (M, q): `dims` from them, all other dimensions as `held` (q,).

    Examples
    --------
    >>> plane_points(np.array([[1.0, 2.0]]), (2, 0), np.full(4, 9.0))
    array([[2., 9., 1., 9.]])
    """
    X = np.tile(np.asarray(held, float), (len(points), 1))
    X[:, list(dims)] = points
    return X


def limits_of(model, positions, dims) -> tuple[float, ...]:
    """(left, right, bottom, top) of the plane: that of the nodes where there is a grid, else around the positions."""
    nodes, limits = getattr(model, "nodes_", None), list(plane_of(positions))
    for k, d in enumerate(dims):
        if nodes is not None and d < nodes.shape[1] and np.ptp(nodes[:, d]) > 0:
            limits[2 * k : 2 * k + 2] = float(nodes[:, d].min()), float(nodes[:, d].max())
    return tuple(limits)


class Background(NamedTuple):
    """What is drawn behind the points: values (n_grid, n_grid) from below, or None; its name; a remark."""

    values: np.ndarray | None
    name: str
    remark: str


def background_of(model, dims, limits, n_grid=60) -> Background:
    """The log precision of a model's map over a plane; where it is certain everywhere, its log magnification factors.

    Both are natural logarithms. A map that magnifies alike everywhere, as a plane does, leaves nothing to draw.
    """
    if not hasattr(model, "map_"):
        return Background(None, "", "")
    X, others = plane_points(grid_points(limits, n_grid), dims, held_at(model)), others_remark(model, dims, BEHIND)
    because = model.map_.certain_because
    if not because:
        with np.errstate(divide="ignore"):
            values = model.log_precision(X)
        if np.isfinite(values).all():
            return Background(values.reshape(n_grid, n_grid), "log precision (light: sure)", others)
        because = "the variance of its map is zero"
    values = log_magnification(model, X, dims)
    if np.ptp(values) < FLAT:
        return Background(None, "", f"No background: {because}, and it stretches latent space alike everywhere.")
    return Background(values.reshape(n_grid, n_grid), "log magnification (dark: stretched)", others)


def log_magnification(model, X, dims, expected=True) -> np.ndarray:
    """Natural logarithm of the area in data space that a unit of the plane becomes at latent points, (M,).

    A place that is mapped to a point or a line has no area: it gets the least that there is.
    """
    with np.errstate(divide="ignore"):
        values = np.log(model.map_.magnification(model.check_latent(X), expected, dims))
    finite = np.isfinite(values)
    return np.where(finite, values, values[finite].min() if finite.any() else 0.0)


def others_remark(model, dims, where="") -> str:
    """A sentence on the latent dimensions that are not drawn; empty where there are none.

    Examples
    --------
    >>> from gplvm_edu import PPCA
    >>> others_remark(PPCA(3).fit(np.eye(5)), (0, 2))
    'Dimension 2 is held at 0.'
    """
    held = held_at(model)
    others = [k + 1 for k in range(len(held)) if k not in dims]
    if not others:
        return ""
    place = "0" if not held.any() else "its mean" if len(others) == 1 else "their means"
    named = f"Dimension {others[0]} is" if len(others) == 1 else f"The other {len(others)} dimensions are"
    return f"{named} held at {place}{where}."
