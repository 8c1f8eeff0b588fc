"""Where does a new point belong? Its latent posterior q(x*), for all new points at once."""

from typing import NamedTuple

import numpy as np

from ..linalg import nearest_rows
from ..optimise import minimise_rows
from .fast import frozen_bound, linear_terms

BLOCK_ROWS = 256  # test points (times starts) that are placed together
NEAR = 1e-4  # a search that asks for less than this is not followed to its last digit


class LatentPosterior(NamedTuple):
    """q(x*) of each test point: mean and variance (n, q), and the frozen bound reached (n,)."""

    mean: np.ndarray
    variance: np.ndarray
    bound: np.ndarray


def maximise_frozen_bound(map_, Y_new, start_mean, start_variance, max_iter=200, tolerance=1e-9) -> LatentPosterior:
    """Maximise `frozen_bound` from one start for each row of Y_new (n, D), all rows at once: a `LatentPosterior`.

    Notes
    -----
    Rows that have arrived are left alone, so an iteration costs O(M^2 q) for each row still on its way. The variables
    are the logarithms of the variances, and the means in units of the deviations at the start, in which the bound is
    about as steep in every direction. Without a variance to start from, the latent points are points. Chapter 13,
    equations (13.11) and (13.12).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import Parameters, make_map
    >>> X = np.array([[-1.0], [1.0]])
    >>> map_ = make_map(np.array([[-2.0], [2.0]]), Parameters(X, 0.01 + 0 * X, X, RBF(), 0.01))
    >>> found = maximise_frozen_bound(map_, np.array([[1.0]]), np.zeros((1, 1)), np.ones((1, 1)))
    >>> found.mean.round(2), found.variance.round(3)
    (array([[0.43]]), array([[0.002]]))
    """
    n, q = start_mean.shape
    uncertain, terms = start_variance is not None, linear_terms(map_, Y_new)
    unit = np.sqrt(start_variance) if uncertain else np.ones((n, q))

    def unpack(x, rows):
        mu = start_mean[rows] + unit[rows] * x[:, :q]  # (13.12)
        return mu, np.exp(x[:, q:]) if uncertain else None

    def value_and_gradient(x, rows):
        mu, S = unpack(x, rows)
        value, d_mu, d_S = frozen_bound(map_, terms, mu, S, rows)
        return -value, -np.hstack([unit[rows] * d_mu, d_S * S] if uncertain else [d_mu])

    start = np.hstack([0.0 * start_mean, np.log(start_variance)] if uncertain else [0.0 * start_mean])
    with np.errstate(all="ignore"):  # a trial far too long is refused
        x, value = minimise_rows(value_and_gradient, start, max_iter, tolerance)
    mu, S = unpack(x, np.arange(n))
    return LatentPosterior(mu, np.zeros((n, q)) if S is None else S, -value)


def find_latent_posterior(map_, Y_new, Y, n_starts=5, max_iter=200, tolerance=1e-9) -> LatentPosterior:
    r"""The best `LatentPosterior` of each new row over several starts, each at that of a near training row.

    Parameters
    ----------
    map_ : InducingMap
    Y_new : ndarray (n, D)
        Centred; NaN where not observed.
    Y : ndarray (N, D)
        The centred training data: neighbours are near in what was observed.
    n_starts, max_iter : int
        Near training rows whose places are tried (the best end counts), and steps of each search.
    tolerance : float
        Of the gradient, for all starts. The best of each row is then followed to its last digit, so that the
        result does not depend on which rows were searched together; above 1e-4 this is left out.

    Notes
    -----
    All rows and starts are one vectorised problem, in blocks that fit the cache. Among starts that end equally well
    the nearest neighbour's counts. Chapter 13, equation (13.12).
    """
    mu, S, neighbours = map_.latent_mean, map_.latent_variance, nearest_rows(Y_new, Y, n_starts)  # (n, n_starts)
    n, s = neighbours.shape
    step, found = max(1, BLOCK_ROWS // s), []
    for i in range(0, n, step):
        Y_i, rows = Y_new[i : i + step], neighbours[i : i + step].ravel()
        ends = maximise_frozen_bound(
            map_, np.repeat(Y_i, s, axis=0), mu[rows], None if S is None else S[rows], max_iter, tolerance
        )
        bounds = ends.bound.reshape(-1, s)
        close = bounds >= bounds.max(axis=1, keepdims=True) - 1e-9 * (1.0 + np.abs(bounds.max(axis=1, keepdims=True)))
        best = np.arange(len(bounds)) * s + np.argmax(close, axis=1)
        ends = LatentPosterior(*(part[best] for part in ends))
        if tolerance <= NEAR:
            variance = None if S is None else ends.variance
            ends = maximise_frozen_bound(map_, Y_i, ends.mean, variance, max_iter, 1e-12)
        found.append(ends)
    return LatentPosterior(*map(np.concatenate, zip(*found, strict=True)))
