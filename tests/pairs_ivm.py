"""Chapter 7: selection of an active set, with one covariance and by column; all rows at all active places."""

import numpy as np
from pairs import Pair

from gplvm_edu.ivm import (
    fast,
    ivm_select,
    log_likelihoods_at_active,
    select_active_set,
    select_by_column,
    selection_map,
)
from gplvm_edu.ivm.selection import include
from gplvm_edu.kernels import MLP, RBF, Bias, Linear, White
from gplvm_edu.noise import Gaussian, Ordinal, PerColumn, Probit


def answer(selection):
    """What is compared: the active set, gains, offers, sites, matrices, evidence."""
    s = selection
    return s.active, s.gains, s.offers, s.site_means, s.precisions, s.M, s.L, s.log_evidence


def exhausted(select):
    """The last state of a generator of selections."""

    def last(*problem):
        *_, selection = select(*problem)
        return answer(selection)

    return last


def ended(select):
    """The same parts of a selection that was returned at once."""
    return lambda *problem: answer(select(*problem))


# ---------------------------------------------------------------------------------------------- problems
def positions(rng, N, q):
    """Random places; sometimes rows twice, sometimes a constant column, sometimes all in one small region."""
    X = rng.standard_normal((N, q)) * 10.0 ** rng.integers(-1, 2)
    if rng.random() < 0.3:
        X[rng.integers(N, size=N // 2)] = X[0]
    if rng.random() < 0.2:
        X[:, -1] = 1.0
    return X


def kernels(variance):
    return (
        RBF(variance, 0.7),
        RBF(variance, 0.7) + Bias(0.2 * variance),
        MLP(variance),
        Linear(variance) + Bias(variance),
    )


def complete_problem(rng):
    """One covariance: spherical noise, or a variance for each row, over six powers of ten in scale and noise."""
    N, D, q = rng.integers(1, 14), rng.integers(1, 6), rng.integers(1, 4)
    variance = 10.0 ** rng.integers(-3, 4)
    X, kernel = positions(rng, N, q), kernels(variance)[rng.integers(4)]
    if rng.random() < 0.3:
        kernel = kernel + White(0.1 * variance)  # part of f
    Y = np.sqrt(variance) * rng.standard_normal((N, D)) * 10.0 ** rng.integers(-2, 3)
    if rng.random() < 0.2:
        Y[:, 0] = 0.0
    share = 10.0 ** rng.integers(-6, 3)
    noise = Gaussian(share * variance, mean=rng.choice([0.0, 3.0]))
    if rng.random() < 0.3:
        noise = Gaussian(share * variance * rng.uniform(0.5, 2.0, (N, 1)))
    return Y, X, kernel, noise, int(rng.integers(1, N + 3))


def gappy_problem(rng):
    """A covariance for each column: gaps, noise for each column, labels, levels, or all of them mixed.

    Two rows at one place with the same gaps offer exactly the same, and rounding decides which is taken. Without gaps
    both ways round alike; with gaps the batched one adds zeros, so twins are then moved apart.
    """
    N, D, q = rng.integers(1, 14), rng.integers(1, 6), rng.integers(1, 4)
    variance = 10.0 ** rng.integers(-1, 2)
    X, kernel = positions(rng, N, q), kernels(variance)[rng.integers(4)]
    Y = np.sqrt(variance) * rng.standard_normal((N, D))
    levels, labels = np.digitize(Y, [-1.0, 1.0]).astype(float), np.sign(Y)
    real = Gaussian(0.1 * variance * rng.uniform(0.5, 2.0, D))
    mixed = [(Gaussian(0.1 * variance, mean=0.0), Y), (Probit(0.2), labels), (Ordinal(cuts=[-1.0, 1.0]), levels)]
    own = [mixed[number] for number in rng.integers(3, size=D)]
    chosen = (
        (Gaussian(0.1 * variance), Y),
        (real, Y),
        *mixed[1:],
        (PerColumn([noise for noise, _ in own]), np.column_stack([data[:, d] for d, (_, data) in enumerate(own)])),
    )
    noise, Y = chosen[rng.integers(len(chosen))]
    gaps = rng.random((N, D)) < rng.choice([0.0, 0.3, 0.8])
    if rng.random() < 0.3:
        gaps = np.repeat(gaps[:, :1], D, axis=1)  # the same gaps everywhere: one group
    if gaps.any():
        X = X + 1e-3 * rng.standard_normal(X.shape)
    return np.where(gaps, np.nan, Y), X, kernel, noise, int(rng.integers(1, N + 3))


def smooth(N, D, seed=0):
    """N rows of D smooth columns of two latent places, with a tenth of noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 2))
    return np.sin(X @ rng.standard_normal((2, D)) + rng.uniform(0, 6, D)) + 0.3 * rng.standard_normal((N, D)), X


def sized(size):
    N, d, D = size
    Y, X = smooth(N, D)
    return Y, X, RBF(0.5, 1.0) + Bias(0.1), Gaussian(0.1), d


def sized_labels(size):
    N, d, D = size
    Y, X = smooth(N, D)
    return np.where(Y > 0, 1.0, -1.0), X, RBF(1.0, 1.0), Probit(0.0), d


def active_and_rows(rng):
    """A map of an active set, and rows to be placed; the noise is spherical, but rows may differ."""
    Y, X, kernel, noise, d = complete_problem(rng)
    return selection_map(select_active_set(Y, X, kernel, noise, d), X, kernel, noise), Y, np.arange(len(Y))


def sized_rows(size):
    Y, X, kernel, noise, d = sized(size)
    return selection_map(select_active_set(Y, X, kernel, noise, d), X, kernel, noise), Y


PAIRS = (
    Pair(
        "ivm: selection, one covariance",
        exhausted(ivm_select),
        ended(fast.ivm_select),
        complete_problem,
        sized,
        ((1000, 100, 1), (300, 50, 12), (1000, 100, 12), (1000, 100, 256)),
        "(N, d, D)",
        (ivm_select, include),
        (fast.ivm_select,),
    ),
    Pair(
        "ivm: selection by column",
        exhausted(select_by_column),
        ended(fast.select_by_column),
        gappy_problem,
        sized_labels,
        ((300, 50, 12), (300, 50, 256), (1000, 100, 12)),
        "(N, d, D)",
        (select_by_column, include),
        (fast.select_by_column,),
    ),
    Pair(
        "ivm: all rows at all active places",
        log_likelihoods_at_active,
        fast.log_likelihoods_at_active,
        active_and_rows,
        sized_rows,
        ((300, 50, 12), (1000, 100, 12), (1000, 100, 256)),
        "(N, d, D)",
        (log_likelihoods_at_active,),
        (fast.log_likelihoods_at_active,),
    ),
)
