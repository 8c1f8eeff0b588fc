"""`Ordinal`: ordered levels, such as the stars of a review, cut out of one latent line."""
import numpy as np
from scipy.special import ndtr, ndtri

from .model import Noise, _parameter, _place, _rng
from .terms import _edge_densities, _lower_tail, ordinal_terms


class Ordinal(Noise):
    """Levels 0, 1, ..., C - 1: f, blurred by noise, falls between two cut points, equations (8.15) to (8.17).

    Parameters
    ----------
    n_levels : int or None
        C. None: one more than the largest level in Y, by `start`.
    cuts : None, ndarray (C - 1,) or ndarray (D, C - 1)
        Increasing; for all columns or for each. None: from how often each level occurs in each column, by `start`.
    scale : float
        Deviation of the blur. The kernel's variance already sets the scale of f, so 1 serves.

    Examples
    --------
    >>> noise = Ordinal().start(np.array([0.0, 0.0, 1.0, 1.0, 2.0, np.nan]))
    >>> noise
    Ordinal(n_levels=3, cuts=[-0.4149, 1.041], scale=1)
    >>> noise.probabilities(0.0, 1.0).round(3)
    array([0.385, 0.385, 0.231])
    """

    def __init__(self, n_levels=None, cuts=None, scale=1.0):
        self.cuts, self.scale = _parameter(cuts, "cuts"), _parameter(scale, "scale", positive=True)
        if self.cuts is not None:
            if self.cuts.ndim not in (1, 2) or self.cuts.shape[-1] == 0 or not (np.diff(self.cuts) > 0).all():
                raise ValueError(f"cuts must increase from level to level, got {self.cuts.tolist()}: level c lies "
                                 "between cut c and cut c + 1 (chapter 8, \"Three kinds of noise\").")
            if n_levels not in (None, self.cuts.shape[-1] + 1):
                raise ValueError(f"{self.cuts.shape[-1]} cuts make {self.cuts.shape[-1] + 1} levels, but n_levels is "
                                 f"{n_levels}.")
            n_levels = self.cuts.shape[-1] + 1
        if n_levels is not None and (not isinstance(n_levels, (int, np.integer)) or n_levels < 2):
            raise ValueError(f"n_levels must be a whole number of at least 2, got {n_levels!r}.")
        self.n_levels = n_levels

    @property
    def needs_start(self):
        return self.cuts is None

    def _edges(self):
        """The cut points with -inf below and inf above: (C + 1,) or (D, C + 1)."""
        if self.cuts is None:
            raise ValueError("The cut points of this Ordinal are still open: call start(Y), which sets them from the "
                             "data, or state them with cuts=... (chapter 8, \"Three kinds of noise\").")
        ends = np.full((*self.cuts.shape[:-1], 1), np.inf)
        return np.concatenate([-ends, self.cuts, ends], axis=-1)

    def _bounds(self, Y):
        """The cut points below and above each entry of Y."""
        edges, level = self._edges(), np.asarray(Y).astype(int)
        if edges.ndim == 1:
            return edges[level], edges[level + 1]
        d = np.arange(len(edges))
        return edges[d, level], edges[d, level + 1]

    def _terms(self, Y, mean, variance):
        return ordinal_terms(*self._bounds(Y), mean, variance, self.scale)

    def _check_values(self, Y):
        seen = ~np.isnan(Y)
        wrong = seen & ((Y < 0) | (Y != np.round(Y)))
        if self.n_levels is not None:
            wrong |= seen & (Y >= self.n_levels)
        if wrong.any():
            last = "..." if self.n_levels is None else str(self.n_levels - 1)
            raise ValueError(f"Ordinal noise needs the levels 0, 1, {last} (NaN where missing), got {Y[wrong][0]:g} at "
                             f"{_place(wrong)}. Number the levels from 0, or state n_levels (chapter 8, \"Three kinds "
                             "of noise\").")
        if self.n_levels is None and seen.any() and Y[seen].max() < 1:
            raise ValueError("Every level in Y is 0: a single level says nothing of f. State n_levels if there are "
                             "more that did not occur (chapter 8, \"Three kinds of noise\").")
        return Y

    def start(self, Y, prior_variance=1.0):
        """A copy whose cut points, if they were left open, give each level its share (half an entry added to each)."""
        if self.cuts is not None:
            return self.copy()
        Y = np.asarray(Y, float)
        C = self.n_levels or max(int(np.nanmax(Y)) + 1, 2)
        counts = np.stack([np.sum(Y == c, axis=0) for c in range(C)], axis=-1) + 0.5             # (D, C)
        share = np.cumsum(counts, axis=-1)[..., :-1] / counts.sum(axis=-1, keepdims=True)
        cuts = np.sqrt(self.scale**2 + prior_variance) * ndtri(share)                            # (8.18)
        return self.copy(n_levels=C, cuts=_parameter(cuts, "cuts"))

    def probabilities(self, mean, variance):
        """The probability of every level: an array with one more axis, of length C."""
        root = np.sqrt(self.scale**2 + np.asarray(variance, float))[..., None]
        below = ndtr((self._edges() - np.asarray(mean, float)[..., None]) / root)
        return np.diff(below, axis=-1)                                                           # (8.26)

    def predict(self, mean, variance):
        """The expected level."""
        return self.probabilities(mean, variance) @ np.arange(self.n_levels)

    def deviation(self, mean, variance):
        """Standard deviation of the level."""
        p, c = self.probabilities(mean, variance), np.arange(self.n_levels)
        return np.sqrt(np.maximum(p @ c**2 - (p @ c) ** 2, 0.0))

    def sample(self, f, random_state=None):
        """Levels for given f."""
        f = np.asarray(f, float)
        blurred = f + self.scale * _rng(random_state).standard_normal(f.shape)
        return np.sum(blurred[..., None] > self._edges()[..., 1:-1], axis=-1).astype(float)

    def column(self, d):
        """The model of column d."""
        return self.copy(cuts=self.cuts[d]) if self.cuts is not None and self.cuts.ndim == 2 else self

    # --- the first cut is free, the gaps after it are exponentials: cuts can't cross -------------------------
    @property
    def theta(self):
        cuts = self._edges()[..., 1:-1]
        return np.ravel(np.concatenate([cuts[..., :1], np.log(np.diff(cuts))], axis=-1))

    def with_theta(self, theta):
        """A copy with these cut points."""
        free = np.reshape(theta, self.cuts.shape)
        return self.copy(cuts=np.cumsum(np.concatenate([free[..., :1], np.exp(free[..., 1:])], axis=-1), axis=-1))

    def theta_gradient(self, Y, mean, variance):
        """Gradient of the sum of ln Z in `theta`: phi / (sqrt(v) Z) at the upper cut, its opposite at the lower one."""
        Y, mean, variance = np.broadcast_arrays(Y, mean, variance)
        seen = ~np.isnan(Y)
        lower, upper = self._bounds(np.where(seen, Y, 0.0))
        root = np.sqrt(self.scale**2 + variance)
        h, l, sign = _lower_tail((upper - mean) / root, (lower - mean) / root)
        a, b, _ = _edge_densities(h, l)
        at_upper, at_lower = np.where(sign > 0, a, b) * seen / root, np.where(sign > 0, b, a) * seen / root
        levels = np.where(seen, Y, -1.0)
        per_cut = np.stack([np.where(levels == c, at_upper, 0.0) - np.where(levels == c + 1, at_lower, 0.0)
                            for c in range(self.n_levels - 1)], axis=-1)                         # (8.27)
        per_cut = per_cut.sum(axis=0) if self.cuts.ndim == 2 else per_cut.reshape(-1, self.n_levels - 1).sum(axis=0)
        onwards = np.cumsum(per_cut[..., ::-1], axis=-1)[..., ::-1]              # a gap moves every cut above it
        return np.ravel(np.concatenate([onwards[..., :1], onwards[..., 1:] * np.diff(self.cuts)], axis=-1))

    def _stand_in(self, Y):
        return 0.0

    def _described(self):
        return {"n_levels": self.n_levels, "cuts": self.cuts, "scale": self.scale}
