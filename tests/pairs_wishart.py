"""The pair of probabilistic kernel PCA: an EM step, with the log likelihood where it starts."""

import numpy as np
from pairs import Pair

from gplvm_edu.wishart import em_step, fast, kernel_covariance, log_likelihood


def random_problem(rng):
    """A centred kernel matrix of any rank and size, positions that may be zero or equal, and noise of its size."""
    N, q, r = int(rng.integers(2, 12)), int(rng.integers(1, 4)), int(rng.integers(1, 15))
    F = 10.0 ** rng.uniform(-4, 4) * rng.standard_normal((N, r))
    if rng.random() < 0.3:
        F[rng.integers(N, size=N // 2)] = F[0]
    F[-1] = -2.0 * F[0]  # not all points at one place, where S is 0
    S = kernel_covariance(F @ F.T)
    size = np.trace(S) / N
    X = np.sqrt(size) * rng.standard_normal((N, min(q, N - 1))) * (rng.random() < 0.9)
    return S, X, size * 10.0 ** rng.uniform(-3, 3)


def sized_problem(size):
    rng = np.random.default_rng(0)
    F = rng.standard_normal((size, 20))
    return kernel_covariance(F @ F.T), rng.standard_normal((size, 2)), 1.0


PAIRS = (
    Pair(
        "wishart: EM step with the log likelihood",
        lambda S, X, s2: (*em_step(S, X, s2), log_likelihood(S, X, s2)),
        fast.em_step,
        random_problem,
        sized_problem,
        (300, 1000),
        "N",
        (em_step, log_likelihood),
        (fast.em_step,),
    ),
)
