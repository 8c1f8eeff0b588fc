"""`Ordinal`: ordered levels, such as the stars of a review, cut out of one latent line."""

from typing import Any, Self

import numpy as np
from scipy.special import ndtr, ndtri

from .. import checks
from . import fast
from .model import LOG_EXTREME, Noise
from .terms import Terms, edge_ratios, ordinal_terms

MOST_LEVELS = 1000  # beyond, each level would have hardly an observation, and a prediction C^2 terms
NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)  # 1e-10 while f varies less than 1000 times the blur

TOO_MANY = (
    f"Ordinal noise is for at most {MOST_LEVELS} levels: for measurements and counts use Gaussian noise, and write a "
    'missing entry as NaN (chapter 8, "Three kinds of noise").'
)


def cut_gradients(levels, cuts, mean, variance, scale=1.0) -> np.ndarray:
    r"""Gradient (C - 1,) of the sum of ln Z in the cut points of one column.

    .. math:: \frac{\partial \ln Z}{\partial t_{c+1}} = \frac{\phi(h)}{\sqrt v Z}, \qquad
              \frac{\partial \ln Z}{\partial t_c} = -\frac{\phi(l)}{\sqrt v Z}

    Parameters
    ----------
    levels : ndarray (n,) of int
        The level c of each observation; nothing is missing.
    cuts : ndarray (C - 1,)
    mean, variance : ndarray (n,)
        Of f before each observation.
    scale : float
        s, the deviation of the blur.

    Notes
    -----
    Costs O(n + C). Chapter 8, equations (8.15) and (8.27).

    Examples
    --------
    >>> cut_gradients(np.array([0, 1, 1]), np.array([0.0]), np.zeros(3), np.ones(3)).round(4)     # it wants to go down
    array([-0.5642])
    """
    edges, C = np.concatenate([[-np.inf], cuts, [np.inf]]), len(cuts) + 1
    root = np.sqrt(scale**2 + variance)  # sqrt(v)
    h, l = (edges[levels + 1] - mean) / root, (edges[levels] - mean) / root  # (8.15)
    above, below = edge_ratios(h, l)  # phi(h) / Z and phi(l) / Z
    in_upper, in_lower = above / root, -below / root  # (8.27)
    return np.bincount(levels, in_upper, C)[:-1] + np.bincount(levels, in_lower, C)[1:]  # summed by level


class Ordinal(Noise):
    """Levels 0, 1, ..., C - 1: f, blurred by noise, falls between two cut points, equations (8.15) to (8.17).

    Parameters
    ----------
    n_levels : int or None
        C, from 2 to 1000. None: one more than the largest level in Y, by `start`.
    cuts : None, ndarray (C - 1,) or ndarray (D, C - 1)
        Increasing; for all columns or for each. None: from how often each level occurs in each column, by `start`.
    scale : float
        Deviation of the blur. The kernel's variance already sets the scale of f, so 1 serves. Never learnt.
    fixed : "cuts" or ()
        "cuts": `learn` leaves them as they were given, or as `start` set them.

    Examples
    --------
    >>> noise = Ordinal().start(np.array([0.0, 0.0, 1.0, 1.0, 2.0, np.nan]))
    >>> noise
    Ordinal(n_levels=3, cuts=[-0.4149, 1.041], scale=1)
    >>> noise.probabilities(0.0, 1.0).round(3)
    array([0.385, 0.385, 0.231])
    """

    learnt = ("cuts",)

    def __init__(self, n_levels=None, cuts=None, scale=1.0, *, fixed=()):
        self.fixed = self._names_to_fix(fixed)
        self.cuts = self._parameter(cuts, "cuts", most_axes=2)
        self.scale = self._parameter(scale, "scale", positive=True, most_axes=0, may_be_open=False)
        if self.cuts is not None:
            if self.cuts.ndim not in (1, 2) or not (np.diff(self.cuts) > 0).all():
                raise ValueError(
                    f"cuts must increase from level to level, got {checks.shown(cuts)}: level c lies "
                    'between cut c and cut c + 1 (chapter 8, "Three kinds of noise").'
                )
            if n_levels is not None and checks.whole_number("n_levels", n_levels) != self.cuts.shape[-1] + 1:
                raise ValueError(
                    f"{self.cuts.shape[-1]} cuts make {self.cuts.shape[-1] + 1} levels, but n_levels is {n_levels}."
                )
            n_levels = self.cuts.shape[-1] + 1
        if n_levels is not None:
            n_levels = checks.whole_number("n_levels", n_levels, 2, MOST_LEVELS, TOO_MANY)
        self.n_levels: Any = n_levels

    def _edges(self):
        """The cut points with -inf below and inf above: (C + 1,) or (D, C + 1)."""
        if self.cuts is None:
            raise ValueError(
                "The cut points of this Ordinal are still open: call start(Y), which sets them from the "
                'data, or state them with cuts=... (chapter 8, "Three kinds of noise").'
            )
        ends = np.full((*self.cuts.shape[:-1], 1), np.inf)
        return np.concatenate([-ends, self.cuts, ends], axis=-1)

    def _bounds(self, Y) -> tuple[np.ndarray, np.ndarray]:
        """The cut points below and above each entry of Y."""
        edges, level = self._edges(), np.asarray(Y).astype(int)
        d = () if edges.ndim == 1 else (np.arange(len(edges)),)
        try:
            if level.size and level.min() < 0:
                raise IndexError
            return edges[(*d, level)], edges[(*d, level + 1)]
        except IndexError:
            self.check_values(np.asarray(Y, float))  # says which one is no level, and where
            raise

    def observed_terms(self, Y, mean, variance) -> Terms:
        """ln Z, g and nu of observed entries, equations (8.15) to (8.17)."""
        return ordinal_terms(*self._bounds(Y), mean, variance, self.scale)

    def check_values(self, Y) -> np.ndarray:
        """Y, if it holds levels."""
        seen = ~np.isnan(Y)
        wrong = seen & ((Y < 0) | (Y != np.round(Y)))
        if self.n_levels is not None:
            wrong |= seen & (Y >= self.n_levels)
        if wrong.any():
            last = "..." if self.n_levels is None else str(self.n_levels - 1)
            raise ValueError(
                f"Ordinal noise needs the levels 0, 1, {last} (NaN where missing), got {Y[wrong][0]:g} at "
                f'{self._place(wrong)}. Number the levels from 0, or state n_levels (chapter 8, "Three '
                'kinds of noise").'
            )
        if self.n_levels is None:
            self._demand_few(Y)
        if self.n_levels is None and seen.any() and Y[seen].max() < 1:
            raise ValueError(
                "Every level in Y is 0: a single level says nothing of f. State n_levels if there are "
                'more that did not occur (chapter 8, "Three kinds of noise").'
            )
        return Y

    def _demand_few(self, Y):
        """An error that names the column, if the largest level asks for more cut points than anyone could mean."""
        many = Y >= MOST_LEVELS
        if many.any():
            raise ValueError(
                f"Y has the level {Y[many][0]:.10g} at {self._place(many)}, which would ask for as many cut points in "
                f"every column. {TOO_MANY}"
            )

    def start(self, Y, prior_variance=1.0) -> Self:
        """A copy whose cut points, if they were left open, give each level its share (half an entry added to each)."""
        if self.cuts is not None:
            return self.copy()
        Y, prior_variance = checks.floats("Y", Y), checks.number("prior_variance", prior_variance, at_least=0)
        self._demand_few(Y)
        C = self.n_levels or max(int(np.max(Y, initial=1.0, where=~np.isnan(Y))) + 1, 2)
        counts = np.stack([np.sum(Y == c, axis=0) for c in range(C)], axis=-1) + 0.5  # (D, C)
        share = np.cumsum(counts, axis=-1)[..., :-1] / counts.sum(axis=-1, keepdims=True)
        cuts = np.sqrt(self.scale**2 + prior_variance) * ndtri(share)  # (8.18)
        return self.copy(n_levels=C, cuts=self._parameter(cuts, "cuts", most_axes=2))

    def probabilities(self, mean, variance):
        """The probability of every level: an array with one more axis, of length C."""
        root = np.sqrt(self.scale**2 + np.asarray(variance, float))[..., None]
        below = ndtr((self._edges() - np.asarray(mean, float)[..., None]) / root)
        return np.diff(below, axis=-1)  # (8.26)

    def predict(self, mean, variance):
        """The expected level."""
        return self.probabilities(mean, variance) @ np.arange(self.n_levels)

    def deviation(self, mean, variance):
        r"""Standard deviation of the level: as many steps as cuts that f, blurred, lies above.

        .. math:: \mathrm{var}\, y = \sum_{ij} \Phi(\min(h_i, h_j))\, \Phi(-\max(h_i, h_j)), \qquad
                  h_i = \frac{\bar f - t_i}{\sqrt{s^2 + \varsigma}}
        """
        h, k, _ = self._pairs(mean, variance)
        return np.sqrt(np.sum(ndtr(np.minimum(h, k)) * ndtr(-np.maximum(h, k)), axis=(-2, -1)))

    def signal_deviation(self, mean, variance):
        r"""Standard deviation of the expected level given f, sum_i Phi((f - t_i) / s), where f is N(mean, variance).

        Each pair of steps has the covariance of two normals of correlation rho, both below their h.

        .. math:: \Phi_2(h_i, h_j; \rho) - \Phi(h_i) \Phi(h_j), \qquad \rho = \frac{\varsigma}{s^2 + \varsigma}
        """
        return np.sqrt(np.sum(_step_covariance(*self._pairs(mean, variance)), axis=(-2, -1)))

    def _pairs(self, mean, variance):
        """h_i and h_j of all pairs of cuts, (..., C - 1, 1) and (..., 1, C - 1), and 1 - rho, (..., 1, 1)."""
        mean, variance = np.broadcast_arrays(np.asarray(mean, float), np.asarray(variance, float))
        total = self.scale**2 + variance
        h = (mean[..., None] - self._edges()[..., 1:-1]) / np.sqrt(total)[..., None]
        h = np.clip(h, -1e70, 1e70)  # all 0 or 1 there, and its square is a number
        return h[..., :, None], h[..., None, :], (self.scale**2 / total)[..., None, None]

    def draw(self, f, rng):
        """Levels for given f."""
        blurred = f + self.scale * rng.standard_normal(f.shape)
        return np.sum(blurred[..., None] > self._edges()[..., 1:-1], axis=-1).astype(float)

    # --- the first cut is free, the gaps after it are exponentials: cuts can't cross -------------------------
    @property
    def theta(self) -> np.ndarray:
        """The first cut, then the logarithms of the gaps after it, as one vector."""
        cuts = self._edges()[..., 1:-1]
        return np.ravel(np.concatenate([cuts[..., :1], np.log(np.diff(cuts))], axis=-1))

    def with_theta(self, theta) -> Self:
        """A copy with these cut points; a gap that rounding would close is kept open."""
        free = np.reshape(theta, self.cuts.shape)
        first, gaps = free[..., :1], np.exp(np.minimum(free[..., 1:], LOG_EXTREME))
        cuts = np.cumsum(np.concatenate([first, gaps], axis=-1), axis=-1)
        if not (np.diff(cuts) > 0).all():
            gaps = np.maximum(gaps, 1e-12 * np.max(np.abs(cuts)))
            cuts = np.cumsum(np.concatenate([first, gaps], axis=-1), axis=-1)
        return self.copy(cuts=cuts)

    def theta_gradient(self, Y, mean, variance) -> np.ndarray:
        """Gradient of the sum of ln Z in `theta`: that in the cut points, then the chain rule; NaN is left out."""
        with np.errstate(over="ignore", invalid="ignore"):  # an optimiser looks whether it is finite
            onwards = np.cumsum(self._in_cuts(Y, mean, variance)[..., ::-1], axis=-1)[..., ::-1]
            gaps = np.diff(self.cuts)  # a gap moves every cut above it
            return np.ravel(np.concatenate([onwards[..., :1], onwards[..., 1:] * gaps], axis=-1))

    def _in_cuts(self, Y, mean, variance):
        """Gradient of the sum of ln Z in the cut points, over the entries observed; of the shape of `cuts`."""
        Y, mean, variance = np.broadcast_arrays(Y, mean, variance)
        seen = ~np.isnan(Y)
        levels, mean, variance = Y[seen].astype(int), mean[seen], variance[seen]
        if self.cuts.ndim == 1:
            return cut_gradients(levels, self.cuts, mean, variance, self.scale)
        return fast.cut_gradients(levels, np.nonzero(seen)[-1], self.cuts, mean, variance, self.scale)

    def stand_in(self, Y):
        """The lowest level, which every ordinal model has."""
        return 0.0

    @property
    def n_shifts(self) -> int:
        """How many sets of cut points are free."""
        return 0 if self.fixed else self.cuts.size // self.cuts.shape[-1]

    def shifted(self, amount) -> Self:
        """A copy whose cut points are all lower by an amount, or by one for each column; unless they are fixed."""
        if self.fixed:
            return self.copy()
        moved = self.cuts - np.reshape(amount, (*self.cuts.shape[:-1], 1))
        return self.copy(cuts=moved) if (np.diff(moved) > 0).all() else self.copy()

    def parameters(self) -> dict:
        """Levels, cut points and scale by name."""
        return {"n_levels": self.n_levels, "cuts": self.cuts, "scale": self.scale}


def _step_covariance(h, k, blur):
    r"""Phi_2(h, k; rho) - Phi(h) Phi(k), the covariance of two steps, by Gauss and Legendre; nothing cancels.

    .. math:: \frac{1}{2\pi} \int_0^{\arcsin \rho} \exp\Big(
              -\frac{(h - k)^2}{2 \cos^2 \theta} - \frac{h k}{1 + \sin \theta} \Big)\, d\theta

    Notes
    -----
    Plackett (1954): the derivative of Phi_2 in rho is the density of the two normals; rho = sin(theta). Where f is
    wide, rho is near 1 and all that happens does so close to theta = pi / 2: the nodes lie evenly in ln(phi), where
    phi = pi / 2 - theta, and `blur` is 1 - rho = 2 sin^2(phi / 2), which rho itself could not tell from 0.

    Examples
    --------
    >>> round(float(_step_covariance(0.0, 0.0, 0.5)), 12) == round(1 / 12, 12)      # 1/3 - 1/4
    True
    """
    narrowest = np.maximum(2.0 * np.arcsin(np.sqrt(0.5 * blur)), 1e-8)  # what lies below adds less than 1e-8
    half, total = np.maximum(0.5 * np.log(0.5 * np.pi / narrowest), 0.0), 0.0
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        phi = 0.5 * np.pi * np.exp(-half * (1.0 + node))
        total = total + weight * phi * np.exp(-0.5 * ((h - k) / np.sin(phi)) ** 2 - h * k / (1.0 + np.cos(phi)))
    return half * total / (2.0 * np.pi)
