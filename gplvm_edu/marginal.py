"""How likely a row is when its latent point is integrated out: ln p(y) for every map, by importance sampling.

A `LatentDensity` says where latent points come from, `importance_sample` draws some for each row, and
`marginal_log_density` averages. `base.MapModel` asks these for every model that has no exact way.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from . import checks
from .linalg import squared_distances
from .maps import BLOCK, COARSE, search_places

N_SAMPLES = 200  # draws for each row
POOL, LIKELY = 150, 3  # points of a cloud, twice, and how many of them a search for summits starts from
STEP = 1e-4  # of the differences that give the curvature at a place, in units of the latent spread
WIDER = 1.2  # proposals are so many times as wide as the curvature says
FROM_PRIOR = 0.25  # share of the draws that come from p(x) itself: no weight can be larger than its inverse
SAME = 1e-2  # two places nearer than this, in units of the latent spread, are one
JUDGED = 1000  # rows, at most, whose neighbours choose the width of a density
NARROWEST, WIDEST = 1e-3, 2.0  # widths that are tried, in units of the spread of the positions


# ---------------------------------------------------------------------------------------------- where points come from
class UnitGaussian(NamedTuple):
    """x ~ N(0, I) in q dimensions: where the model has integrated its latent points out under this prior."""

    n_components: int

    @property
    def spread(self) -> float:
        """The deviation of a coordinate."""
        return 1.0

    def log_density(self, X) -> np.ndarray:
        """ln p(x) of points (..., q)."""
        return -0.5 * (np.sum(X**2, axis=-1) + self.n_components * np.log(2 * np.pi))

    def sample(self, n_samples, rng) -> np.ndarray:
        """Points by lot, (n, q)."""
        return rng.standard_normal((n_samples, self.n_components))


class PositionDensity(NamedTuple):
    """A small Gaussian of one width at each of N positions, all with the same weight: see `position_density`."""

    centres: np.ndarray  # (N, q)
    width: float
    spread: float  # root of the mean variance of the positions

    @property
    def n_components(self) -> int:
        """q."""
        return self.centres.shape[1]

    def log_density(self, X) -> np.ndarray:
        r"""ln p(x) of points (..., q), equation (5.30).

        .. math:: p(x) = \frac1N \sum_n N(x \mid x_n, h^2 I)
        """
        (N, q), h = self.centres.shape, self.width
        flat, values = X.reshape(-1, q), np.empty(X.size // q)
        size = max(1, BLOCK // N)
        for part in (slice(i, i + size) for i in range(0, len(flat), size)):
            exponents = -0.5 / h**2 * squared_distances(flat[part], self.centres)
            values[part] = logsumexp(exponents, axis=1) - np.log(N) - 0.5 * q * np.log(2 * np.pi * h**2)  # (5.30)
        return values.reshape(X.shape[:-1])

    def sample(self, n_samples, rng) -> np.ndarray:
        """Points by lot, (n, q): one of the positions, moved a little."""
        N, q = self.centres.shape
        return self.centres[rng.randint(N, size=n_samples)] + self.width * rng.standard_normal((n_samples, q))


LatentDensity = UnitGaussian | PositionDensity


def position_density(X) -> PositionDensity:
    r"""The density of latent points as the positions X (N, q) themselves tell it, its width chosen by leaving one out.

    .. math:: \hat h = \arg\max_h \sum_n \ln \frac1{N-1} \sum_{m \ne n} N(x_n \mid x_m, h^2 I)

    Notes
    -----
    Costs O(N^2 q) for each width tried, and no more than O(1000 N q). Chapter 5, equations (5.30) and (5.31).

    Examples
    --------
    >>> X = np.random.default_rng(1).standard_normal((200, 2))
    >>> density = position_density(X)
    >>> 0.3 < density.width < 0.7, density.sample(3, np.random.RandomState(0)).shape
    (True, (3, 2))
    """
    N, q = X.shape
    spread = float(np.sqrt(np.mean(np.var(X, axis=0)))) or 1.0
    if N < 3:
        return PositionDensity(X, spread, spread)
    judged = np.unique(np.linspace(0, N - 1, min(N, JUDGED)).astype(int))
    distances = squared_distances(X[judged] / spread, X / spread)
    distances[np.arange(len(judged)), judged] = np.inf  # nobody is its own neighbour

    def surprise(log_h):
        return q * log_h - np.mean(logsumexp(-0.5 * distances / np.exp(2 * log_h), axis=1))  # (5.31)

    found = minimize_scalar(surprise, bounds=(np.log(NARROWEST), np.log(WIDEST)), method="bounded")
    return PositionDensity(X, spread * float(np.exp(found.x)), spread)


# ---------------------------------------------------------------------------------------------- importance sampling
class LaplaceMixture(NamedTuple):
    """For each of M rows a mixture of K Gaussians at the summits of its density, as wide as the curvature says."""

    places: np.ndarray  # (M, K, q)
    axes: np.ndarray  # (M, K, q, q), orthonormal columns
    deviations: np.ndarray  # (M, K, q), along the axes
    log_shares: np.ndarray  # (M, K)

    def sample(self, n_samples, rng) -> np.ndarray:
        """Points by lot, (M, S, q): the same lots for every row, and of each summit as many as its share asks for."""
        M, K, q = self.places.shape
        Z, u = rng.standard_normal((n_samples, q)), (np.arange(n_samples) + rng.uniform()) / n_samples
        k = np.sum(u[:, None] > np.cumsum(np.exp(self.log_shares), axis=1)[:, None], axis=2)  # (M, S)
        k, row = np.minimum(k, K - 1), np.arange(M)[:, None]
        return self.places[row, k] + np.einsum("msij,msj->msi", self.axes[row, k], self.deviations[row, k] * Z)

    def log_density(self, X) -> np.ndarray:
        """Of points (M, S, q), (M, S)."""
        total = np.full(X.shape[:2], -np.inf)
        for k in range(self.places.shape[1]):
            s = self.deviations[:, k, None]
            z = np.einsum("mij,msi->msj", self.axes[:, k], X - self.places[:, k, None]) / s
            log_normal = -0.5 * np.sum(z**2 + np.log(2 * np.pi * s**2), axis=2)
            total = np.logaddexp(total, self.log_shares[:, k, None] + log_normal)
        return total


def laplace_mixture(map_, Y, places, density) -> LaplaceMixture:
    """`LaplaceMixture` of the summits `places` (M, K, q) of p(y | x): shares by Laplace's method, p(x) included.

    The curvature is that of ln p(y | x), by differences of its gradients, and at least that of a Gaussian as wide as
    p(x). Summits that were found twice count once.
    """
    M, K, q = places.shape
    X, rows, step = places.reshape(-1, q), np.repeat(Y, K, axis=0), STEP * density.spread
    H = np.empty((M * K, q, q))
    for i, move in enumerate(step * np.eye(q)):
        H[:, i] = (_gradients(map_, rows, X - move) - _gradients(map_, rows, X + move)) / (2 * step)
    curvatures, axes = np.linalg.eigh(0.5 * (H + H.transpose(0, 2, 1)))
    deviations = (WIDER / np.sqrt(np.maximum(curvatures, density.spread**-2.0))).reshape(M, K, q)
    log_mass = _log_likelihoods(map_, rows, X).reshape(M, K) + density.log_density(places)
    log_mass += np.sum(np.log(deviations), axis=2)
    distances = np.linalg.norm(places[:, :, None] - places[:, None], axis=3)  # (M, K, K)
    log_mass[np.any(np.tril(distances < SAME * density.spread, -1), axis=2)] = -np.inf
    log_shares = log_mass - logsumexp(log_mass, axis=1, keepdims=True)
    return LaplaceMixture(places, axes.reshape(M, K, q, q), deviations, log_shares)


def likely_places(map_, Y, density, n_places=LIKELY) -> np.ndarray:
    """Where in a wide cloud of points p(y | x) p(x) is largest, for each row, (M, n_places, q): starts of a search.

    Near neighbours of an odd row lie where the map is certain, and often its own place is far from all of them.
    """
    rng = checks.random_state(0)
    wide = density.sample(POOL, rng) + density.spread * rng.standard_normal((POOL, density.n_components))
    X = np.concatenate([density.sample(POOL, rng), wide])
    table = map_.log_likelihood_table(Y, X) + density.log_density(X)
    return X[np.argsort(-table, axis=1, kind="stable")[:, :n_places]]


def find_summits(map_, Y, near, density) -> np.ndarray:
    """Summits of p(y | x) for each row, (M, K, q), from the starts `near` (M, n, q) and from `likely_places`."""
    starts = np.concatenate([near, likely_places(map_, Y, density)], axis=1)
    return search_places(map_, Y, starts, tolerance=COARSE).X


class LatentDraws(NamedTuple):
    """Draws of the latent point of each of M rows, and the logs of their weights p(y | x) p(x) / r(x)."""

    X: np.ndarray  # (M, S, q)
    log_weights: np.ndarray  # (M, S)

    def shares(self) -> np.ndarray:
        """The weights, (M, S), so that those of a row add up to 1."""
        return np.exp(self.log_weights - logsumexp(self.log_weights, axis=1, keepdims=True))

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of p(x | y), both (M, q)."""
        mean = np.einsum("ms,msq->mq", self.shares(), self.X)
        return mean, np.einsum("ms,msq->mq", self.shares(), (self.X - mean[:, None]) ** 2)


def importance_sample(map_, Y, places, density, n_samples=N_SAMPLES, random_state=None) -> LatentDraws:
    r"""Draws of the latent point of each row for an average over p(x), as `LatentDraws`.

    .. math:: r(x) = \epsilon\, p(x) + (1 - \epsilon) \sum_k \pi_k N(x \mid \hat x_k, 1.2^2\, H_k^{-1})

    A quarter of the draws comes from p(x), the others from the `LaplaceMixture` of the summits.

    Parameters
    ----------
    map_ : Map
    Y : ndarray (M, D)
        NaN where not observed.
    places : ndarray (M, K, q)
        Summits of p(y | x), as `find_summits` has them.
    density : LatentDensity
    n_samples : int
        S, for each row; at least 8.
    random_state : None, int, RandomState or Generator
        None is 0: two calls agree. All rows use the same lots: what one row gets does not depend on the others.

    Notes
    -----
    Costs M (S + 2 q K) evaluations of the map. Appendix D, equation (D.1).

    Examples
    --------
    >>> from gplvm_edu import PPCA
    >>> Y = np.random.default_rng(0).standard_normal((50, 3)) * [3.0, 1.0, 1.0]
    >>> model = PPCA(1).fit(Y)
    >>> draws = importance_sample(model.map_, Y[:2], model.place(Y[:2]).X, UnitGaussian(1))
    >>> bool(np.allclose(marginal_log_density(draws)[0], model.score_samples(Y[:2]), atol=0.05))
    True
    """
    rng = checks.random_state(0 if random_state is None else random_state)
    (M, _, q), n_prior = places.shape, round(FROM_PRIOR * n_samples)
    mixture = laplace_mixture(map_, Y, places, density)
    from_prior = np.repeat(density.sample(n_prior, rng)[None], M, axis=0)
    X = np.concatenate([from_prior, mixture.sample(n_samples - n_prior, rng)], axis=1)  # (M, S, q)
    log_p, epsilon = density.log_density(X), n_prior / n_samples
    log_r = np.logaddexp(np.log(epsilon) + log_p, np.log1p(-epsilon) + mixture.log_density(X))  # (D.1)
    log_y = _log_likelihoods(map_, np.repeat(Y, n_samples, axis=0), X.reshape(-1, q))
    return LatentDraws(X, log_y.reshape(M, n_samples) + log_p - log_r)


def marginal_log_density(draws) -> tuple[np.ndarray, np.ndarray]:
    r"""ln p(y) of each row (M,), and its standard error (M,), from `LatentDraws`.

    .. math:: \ln p(y) \approx \ln \frac1S \sum_s w_s, \qquad w_s = \frac{p(y \mid x_s)\, p(x_s)}{r(x_s)}

    The error is that of the mean weight as a share of it (the delta method).

    Notes
    -----
    Appendix D, equation (D.2).

    Examples
    --------
    >>> values, errors = marginal_log_density(LatentDraws(None, np.log([[1.0, 3.0]])))
    >>> values.round(4), errors.round(4)                                    # ln 2; the mean is known to 1 / sqrt(8)
    (array([0.6931]), array([0.3536]))
    """
    S = draws.log_weights.shape[1]
    total = logsumexp(draws.log_weights, axis=1)
    shares = np.exp(draws.log_weights - total[:, None])
    return total - np.log(S), np.sqrt(np.maximum(np.sum(shares**2, axis=1) - 1.0 / S, 0.0))  # (D.2)


def mix(shares, mean, variance) -> tuple[np.ndarray, np.ndarray]:
    r"""Mean and variance of a mixture, entry by entry, by the law of total variance.

    .. math:: \bar\mu = \sum_s \pi_s \mu_s, \qquad \bar v = \sum_s \pi_s \big( v_s + (\mu_s - \bar\mu)^2 \big)

    Parameters
    ----------
    shares : ndarray (S,)
    mean, variance : ndarray (S, D)

    Notes
    -----
    Appendix D, equation (D.3).

    Examples
    --------
    >>> mix(np.array([0.5, 0.5]), np.array([[-1.0], [1.0]]), np.ones((2, 1)))
    (array([0.]), array([2.]))
    """
    together = shares @ mean
    return together, shares @ (variance + (mean - together) ** 2)  # (D.3)


def _blocks(map_, Y):
    """Rows in parts that fit the processor's cache."""
    size = max(1, BLOCK // map_.row_size)
    return (slice(i, i + size) for i in range(0, len(Y), size))


def _log_likelihoods(map_, Y, X) -> np.ndarray:
    """ln p(y | x) of each row at its point, (M,)."""
    return np.concatenate([map_.log_likelihoods(Y[part], X[part]) for part in _blocks(map_, Y)])


def _gradients(map_, Y, X) -> np.ndarray:
    """Gradients of the same in x, (M, q)."""
    return np.concatenate([map_.log_density(Y[part], X[part])[1] for part in _blocks(map_, Y)])
