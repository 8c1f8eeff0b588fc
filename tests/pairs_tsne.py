"""Pairs of t-SNE: the cost and its gradient, and the gradient alone."""

import numpy as np
from pairs import Pair

from gplvm_edu.datasets import load_digits
from gplvm_edu.tsne import cost_and_gradient, fast, joint_affinities


def random_problem(rng):
    """Positions at scales from 1e-4 to 1e6, some of them twice, and random affinities, some of them 0.

    Three points at least: two have one affinity, their cost is 0 whatever the map, and 1e-9 of 0 is nothing (that and
    points at one place are in `test_tsne.py`). Copies are within 100 of the middle, as t-SNE's maps are: the Laplacian
    form of (11.10), plain and fast, subtracts sums of the size of X where copies leave forces of the size of 1 / X, and
    so loses X^2 times the rounding.
    """
    N, q = int(rng.choice([3, 4, 9, 63, 64, 65, 130])), int(rng.integers(1, 4))  # a strip has 64 rows
    X = rng.standard_normal((N, q)) + rng.choice([0.0, 3.0])
    copies, constant = rng.random(2) < (0.3, 0.2)
    if copies:
        X[rng.integers(N, size=N // 3)] = X[0]
    if constant and q > 1:
        X[:, 0] = X[0, 0]
    X *= 10.0 ** rng.uniform(-4, 1 if copies else 6)
    P = rng.exponential(size=(N, N)) ** 2 * (rng.random((N, N)) < rng.uniform(0.3, 1.0))
    P[0, 1] += 1.0
    np.fill_diagonal(P, 0.0)
    return X, (P + P.T) / (2 * P.sum())


def sized_problem(size):
    Y = load_digits().data[:size]
    return 20.0 * np.random.default_rng(0).standard_normal((len(Y), 2)), joint_affinities(Y, 30.0)


def at(X, P):
    """The positions brought to a size of 1 at most: further out the cost is flat, and its differences are rounding."""
    shape = X.shape

    def value_and_gradient(x):
        cost, gradient = cost_and_gradient(x.reshape(shape), P)
        return cost, gradient.ravel()

    return value_and_gradient, (X / max(1.0, np.abs(X).max())).ravel()


STRIPS = (fast.cost_and_gradient, fast.sum_both_ways, fast.add_both_ways)
PAIRS = (
    Pair(
        "tsne: cost and gradient",
        cost_and_gradient,
        fast.cost_and_gradient,
        random_problem,
        sized_problem,
        (1000, 1797),
        "N",
        (cost_and_gradient,),
        STRIPS,
        at,
    ),
    Pair(
        "tsne: gradient alone",
        lambda X, P: cost_and_gradient(X, P, with_cost=False)[1],
        lambda X, P: fast.cost_and_gradient(X, P, with_cost=False)[1],
        random_problem,
        sized_problem,
        (1000, 1797),
        "N",
        (cost_and_gradient,),
        STRIPS,
    ),
)
