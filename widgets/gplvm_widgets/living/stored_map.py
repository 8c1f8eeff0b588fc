"""What a page computes a fitted map with: its parameters where JavaScript can evaluate it, a table where it can't.

`mapOf` of latent_map.js is the other half. Every choice is checked against the model itself before it is stored.
"""

import numpy as np

from gplvm_edu.gplvm import ProcessMap
from gplvm_edu.gtm import SheetMap
from gplvm_edu.kernels import RBF
from gplvm_edu.maps import KernelMap, Map, grid_points, plane_of
from gplvm_edu.plane import held_at, plane_points
from gplvm_edu.ppca import LinearMap

from ..scene.pack import fixed_point
from .figure import kernel_spec

LARGEST_FACTOR = 400  # up to so many points the page factorises K itself, and knows the deviation exactly
GRIDS = (25, 41, 65, 97)  # tabulated maps: tried in this order, until the error is below NEAR
NEAR = 1e-3  # of the range of the data


class Slice:
    """A plane of a model with more latent dimensions, which answers as a model with two would.

    The others are held where `held_at` says; the page knows its map from a table.
    """

    def __init__(self, model, dims):
        self.model, self.dims, self.held = model, dims, held_at(model)
        self.embedding_, self.rows_ = model.embedding_[:, list(dims)], model.rows_
        self.map_ = Map()
        self.map_.certain_because = model.map_.certain_because

    def inverse_transform(self, X, return_std=False):
        """Expected data at points of the plane, (M, D), and its deviation."""
        return self.model.inverse_transform(plane_points(X, self.dims, self.held), return_std=return_std)


def sliced(model, dims):
    """The model itself where these are its only latent dimensions, in this order; else a plane of it."""
    return model if model.embedding_.shape[1] == 2 and tuple(dims) == (0, 1) else Slice(model, dims)


def answers(model, X):
    """Expected data (M, D), deviation (M, 1) or (M, D) and share of ignorance (M,) at latent points."""
    mean, deviation = model.inverse_transform(X, return_std=True)
    alike = np.ptp(deviation, axis=1).max() <= 1e-12 * max(deviation.max(), 1e-300)
    return mean, deviation[:, :1] if alike else deviation, ignorance(model, X, deviation)


def ignorance(model, X, deviation):
    """The deviation as a share of the prior's, mean over outputs; of its largest value where there is no prior."""
    if certain_words(model):
        return np.zeros(len(X))
    if isinstance(model.map_, KernelMap):
        return np.sqrt(np.mean(model.map_.relative_deviation(X) ** 2, axis=1))
    return np.sqrt(np.mean(deviation**2, axis=1)) / largest_deviation(model)


def largest_deviation(model):
    """Over a coarse grid of the plane, its corners among them."""
    deviation = model.inverse_transform(grid_points(plane_of(model.embedding_), 9), return_std=True)[1]
    return float(np.sqrt(np.mean(deviation**2, axis=1)).max())


def stored_map(model, box):
    """What `mapOf` of latent_map.js needs: parameters where it can evaluate the map, a table where it can't."""
    map_, exact = model.map_, exact_parameters(model, box)
    whole = "the prior's" if isinstance(map_, KernelMap) else "its largest"
    stored = {"certain": certain_words(model), "error": 0.0, "whole": whole} | (exact or {})
    if exact and stored["certain"]:
        return stored
    if exact and type(map_) is ProcessMap and len(map_.centres) <= LARGEST_FACTOR:
        return stored | {"noise": float(map_.noise_variance)}  # the page factorises K
    if exact and isinstance(map_, LinearMap):
        return stored | {"weight_covariance": map_.weight_covariance, "largest": largest_deviation(model)}
    return stored | table(model, box, with_mean=not exact)


def certain_words(model):
    """Why the map is certain everywhere, as a sentence; None where it is not."""
    because = model.map_.certain_because
    if not because and largest_deviation(model) == 0:
        because = "its variance is zero everywhere"
    return f"The map has no doubt of its own: {because}." if because else None


def exact_parameters(model, box):
    """Constant, plane, kernel, centres and weights of the mean, if they reproduce the model's own; else None."""
    if isinstance(model, Slice):
        return None
    map_, D = model.map_, model.rows_.shape[1]
    mean = np.broadcast_to(getattr(map_, "mean", 0.0), D).astype(float)
    parts = {"constant": mean, "linear": np.zeros((D, 2)), "kernel": None}
    if type(map_).moments is LinearMap.moments:
        parts["linear"] = map_.weights
    elif type(map_).moments is SheetMap.moments:
        (centres, widths, terms), W = map_.basis, map_.weights
        n = len(centres)
        kernel = RBF(1.0, np.broadcast_to(widths, 2).astype(float) ** -2.0)
        parts |= {"kernel": kernel, "centres": centres, "weights": W[:, :n].T}
        if terms != "none":
            parts["constant"] = parts["constant"] + W[:, n]
        if terms == "linear":
            parts["linear"] = W[:, n + 1 :]
    elif isinstance(map_, KernelMap) and kernel_spec(map_.kernel):
        parts |= {"kernel": map_.kernel, "centres": map_.centres, "weights": map_.weights}
    else:
        return None
    return checked(model, parts, box)


def checked(model, parts, box):
    """The parameters as they are stored, weights in 32 bits if these are enough; None if they miss the model's own."""
    places = random_places(box)
    wanted = model.inverse_transform(places)
    scale = np.ptp(wanted) or 1.0

    def error(weights):
        mean = parts["constant"] + places @ parts["linear"].T
        if parts["kernel"] is not None:
            mean = mean + parts["kernel"](places, parts["centres"]) @ weights
        return np.abs(mean - wanted).max() / scale

    weights = parts.get("weights", np.zeros((0, 1)))
    if not error(weights) < 1e-9:
        return None
    short = fixed_point(weights)
    whole = np.round(weights / short["step"]) * short["step"]
    return {
        **parts,
        "kernel": parts["kernel"] and kernel_spec(parts["kernel"]),
        "weights": short if error(whole) < 1e-8 else weights,
    }


def random_places(box, n_places=500):
    """Places all over the plane, the same every time."""
    left, right, bottom, top = box
    return np.random.default_rng(0).uniform((left, bottom), (right, top), (n_places, 2))


def table(model, box, with_mean):
    """Deviation, share and (where the page can't evaluate it) the mean on a grid, in few components.

    The grid has one more point on every side than the plane, for the interpolation. Singular values below a tenth of
    `NEAR` are dropped. The error is one and a half times the largest at random places, in the data and in the share of
    ignorance.
    """
    places = random_places(box)
    wanted, n_deviations, scale = columns(model, places, with_mean)
    best = None
    for G in GRIDS:
        grid_box = wider(box, G)
        values = columns(model, grid_points(grid_box, G), with_mean)[0] / scale
        means = values.mean(axis=0)
        U, s, V = np.linalg.svd(values - means, full_matrices=False)
        R = max(1, int(np.sum(s * np.abs(U).max(axis=0) > 0.1 * NEAR)))
        grid = np.asarray(U[:, :R] * s[:R], np.float32)
        found = interpolate(grid, G, grid_box, places) @ V[:R] + means
        error = 1.5 * float(np.abs(found - wanted / scale).max())  # elsewhere it may be a little larger
        if best is None or error < best["error"]:
            best = {
                "grid": grid,
                "n_grid": G,
                "grid_box": list(grid_box),
                "components": V[:R] * scale,
                "grid_means": means * scale,
                "n_deviations": n_deviations,
                "n_values": len(means),
                "error": error,
            }
        if error < NEAR:
            break
    return best


def columns(model, X, with_mean):
    """The columns of the table at latent points, how many are deviations, and the scale by which each is judged."""
    mean, deviation, share = answers(model, X)
    mean = mean if with_mean else mean[:, :0]
    span = np.nanmax(model.rows_) - np.nanmin(model.rows_) or 1.0
    scale = np.concatenate([np.full(mean.shape[1] + deviation.shape[1], span), [1.0]])
    return np.column_stack([mean, deviation, share]), deviation.shape[1], scale


def wider(box, G):
    """The box with one step of a grid of G points more on every side."""
    left, right, bottom, top = box
    across, up = (right - left) / (G - 3), (top - bottom) / (G - 3)
    return (left - across, right + across, bottom - up, top + up)


def interpolate(grid, G, box, X):
    """Values of a grid (G^2, R) at points (M, 2): the cubic of Catmull and Rom each way, as the page does it."""
    left, right, bottom, top = box
    i, across = _cubic((X[:, 0] - left) / (right - left), G)
    j, up = _cubic((X[:, 1] - bottom) / (top - bottom), G)
    rows = (j[:, None, None] + np.arange(4)[:, None]) * G + i[:, None, None] + np.arange(4)  # (M, 4, 4)
    return np.einsum("mb,ma,mbar->mr", up, across, grid[rows])


def _cubic(share, G):
    place = share * (G - 1)
    k = np.clip(np.floor(place).astype(int), 1, G - 3)
    t = place - k
    weights = [((2 - t) * t - 1) * t, (3 * t - 5) * t * t + 2, ((4 - 3 * t) * t + 1) * t, (t - 1) * t * t]
    return k - 1, np.stack(weights, axis=1) / 2
