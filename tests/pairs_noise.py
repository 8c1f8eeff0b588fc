"""Chapter 8: the gradient in the cut points of ordinal noise, column by column and all columns at once."""

import numpy as np
from pairs import Pair

from gplvm_edu.noise import Ordinal, cut_gradients, fast


def by_column(Y, cuts, mean, variance, scale):
    """The plain gradient of each column by itself, over the entries that it has."""
    gradients = []
    for y, t, f, v in zip(Y.T, cuts, mean.T, variance.T, strict=True):
        seen = ~np.isnan(y)
        gradients.append(cut_gradients(y[seen].astype(int), t, f[seen], v[seen], scale))
    return np.stack(gradients)


def at_once(Y, cuts, mean, variance, scale):
    """The fast gradient of all columns, over the entries that the table has."""
    seen = ~np.isnan(Y)
    return fast.cut_gradients(Y[seen].astype(int), np.nonzero(seen)[1], cuts, mean[seen], variance[seen], scale)


def problem(rng):
    """Levels, some of which may not occur; narrow and wide steps, certain and uncertain f, surprises of every size."""
    N, D, C = rng.integers(0, 12), rng.integers(1, 5), rng.integers(2, 6)
    width = 10.0 ** rng.integers(-2, 2)
    cuts = np.cumsum(width * rng.uniform(0.1, 1.0, (D, C - 1)), axis=1) - width
    Y = np.where(rng.random((N, D)) < rng.choice([0.0, 0.5]), np.nan, rng.integers(C, size=(N, D)))
    mean = 10.0 ** rng.integers(-2, 2) * rng.standard_normal((N, D))
    variance = 10.0 ** rng.integers(-4, 3) * rng.uniform(0.5, 2.0, (N, D))
    return Y, cuts, mean, variance, 10.0 ** rng.integers(-1, 2)


def sized(size):
    N, D, C = size
    rng, cuts = np.random.default_rng(0), np.tile(np.linspace(-1.0, 1.0, C - 1), (D, 1))
    Y = rng.integers(C, size=(N, D)).astype(float)
    return Y, cuts, rng.standard_normal((N, D)), rng.uniform(0.1, 1.0, (N, D)), 1.0


def at(Y, cuts, mean, variance, scale):
    """The sum of ln Z and its plain gradient, as functions of all cut points in units of the narrowest step."""
    unit = np.min(np.diff(cuts), initial=1.0)  # a finite difference must be small beside each step

    def value_and_gradient(x):
        trial = unit * x.reshape(cuts.shape)
        value = np.sum(Ordinal(cuts=trial, scale=scale).log_partition(Y, mean, variance))
        return value, unit * by_column(Y, trial, mean, variance, scale).ravel()

    return value_and_gradient, cuts.ravel() / unit


PAIRS = (
    Pair(
        "noise: gradient in the cut points",
        by_column,
        at_once,
        problem,
        sized,
        ((20, 64, 3), (100, 64, 3), (300, 12, 3), (1000, 12, 3), (1000, 64, 3)),
        "(N, D, C)",
        (cut_gradients,),
        (fast.cut_gradients,),
        at,
    ),
)
