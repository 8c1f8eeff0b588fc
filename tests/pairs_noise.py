"""Chapter 8: the gradient in the cut points of ordinal noise, column by column and all columns at once."""

import numpy as np
from pairs import Pair

from gplvm_edu.noise import cut_gradients, fast, ordinal_terms


def by_column(levels, columns, cuts, mean, variance, scale):
    """The plain gradient of each column by itself."""
    some = [columns == d for d in range(len(cuts))]
    return np.stack([cut_gradients(levels[s], t, mean[s], variance[s], scale) for s, t in zip(some, cuts, strict=True)])


def problem(rng):
    """Levels, some of which may not occur; narrow and wide steps, certain and uncertain f, surprises of every size."""
    N, D, C = rng.integers(0, 12), rng.integers(1, 5), rng.integers(2, 6)
    width = 10.0 ** rng.integers(-2, 2)
    cuts = np.cumsum(width * rng.uniform(0.1, 1.0, (D, C - 1)), axis=1) - width
    seen = rng.random((N, D)) < rng.choice([0.5, 1.0])  # gaps: the entries that are left
    columns = np.nonzero(seen)[1]
    levels = rng.integers(C, size=len(columns))
    mean = 10.0 ** rng.integers(-2, 2) * rng.standard_normal(len(columns))
    variance = 10.0 ** rng.integers(-4, 3) * rng.uniform(0.5, 2.0, len(columns))
    return levels, columns, cuts, mean, variance, 10.0 ** rng.integers(-1, 2)


def sized(size):
    N, D, C = size
    rng = np.random.default_rng(0)
    cuts = np.tile(np.linspace(-1.0, 1.0, C - 1), (D, 1))
    columns = np.tile(np.arange(D), N)
    return rng.integers(C, size=N * D), columns, cuts, rng.standard_normal(N * D), rng.uniform(0.1, 1.0, N * D), 1.0


def at(levels, columns, cuts, mean, variance, scale):
    """The sum of ln Z and its plain gradient, as functions of all cut points in units of the narrowest step."""
    unit = np.min(np.diff(cuts), initial=1.0)  # a finite difference must be small beside each step

    def value_and_gradient(x):
        trial = unit * x.reshape(cuts.shape)
        edges = np.pad(trial, ((0, 0), (1, 1)), constant_values=((0, 0), (-np.inf, np.inf)))
        lower, upper = edges[columns, levels], edges[columns, levels + 1]
        value = np.sum(ordinal_terms(lower, upper, mean, variance, scale).log_partition)
        return value, unit * by_column(levels, columns, trial, mean, variance, scale).ravel()

    return value_and_gradient, cuts.ravel() / unit


PAIRS = (
    Pair(
        "noise: gradient in the cut points",
        by_column,
        fast.cut_gradients,
        problem,
        sized,
        ((300, 12, 3), (100, 64, 3)),
        "(N, D, C)",
        (cut_gradients,),
        (fast.cut_gradients,),
        at,
    ),
)
