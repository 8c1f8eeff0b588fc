"""Checkers of chapter 9. Each compares an answer with a second way to the same number."""

from itertools import islice

import numpy as np
from scipy.special import logsumexp, softmax

from ..gtm import (
    basis_functions,
    free_energy,
    latent_grid,
    log_densities,
    make_basis,
    responsibilities,
    solve_weights,
    squared_error,
    weighted_sums,
)
from . import checker
from .answers import close, number, numbers


def _problem(seed=0, N=25, D=3):
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1, 1, N)
    Y = np.column_stack([t, np.sin(3 * t), t**2][:D]) + 0.1 * rng.standard_normal((N, D))
    X = latent_grid((9,))
    Phi = basis_functions(X, make_basis((3,)))
    W, beta = rng.standard_normal((D, Phi.shape[1])), 4.0
    return Y - Y.mean(axis=0), Phi, W, beta


@checker("gtm.1")
def log_space(function):
    """function(log_p): responsibilities (K, N) that survive exponents of any size."""
    for shift in (0.0, -5000.0, 5000.0):
        log_p = 3 * np.random.default_rng(0).standard_normal((5, 4)) + shift
        with np.errstate(all="ignore"):
            R = numbers(function(log_p), finite=False)
        if R.shape != log_p.shape:
            return f"One number for each node and point is wanted, {log_p.shape}; yours has the shape {R.shape}."
        if not np.isfinite(R).all():
            return f"Log densities around {shift:g} give NaN or infinity: take the largest one out first."
        if close(R, softmax(log_p, axis=1)):
            return "Your rows sum to one. It is the nodes (axis 0) that compete for a point."
        if not close(R, softmax(log_p, axis=0)):
            return "The columns should be the posterior over nodes, equation (9.7)."
    return None


@checker("gtm.2")
def weighted_regression(function):
    """function(Y, Phi, R, alpha, beta): the weights (D, M) of equation (9.12)."""
    Y, Phi, W, beta = _problem(1)
    R, _ = responsibilities(log_densities(Y, Phi @ W.T, beta))
    counts, sums = weighted_sums(R, Y)

    def with_ridge(ridge):
        return np.linalg.solve(Phi.T @ (counts * Phi) + ridge * np.eye(Phi.shape[1]), Phi.T @ sums).T

    answer = numbers(function(Y, Phi, R, 0.8, beta))
    if close(answer, solve_weights(Phi, counts, sums, 0.8 / beta)):
        return None
    if close(answer.T, with_ridge(0.8 / beta)):
        return "These are the right numbers, transposed: W has one row for each column of the data, (D, M)."
    if close(answer, with_ridge(0.8)):
        return "The ridge is alpha / beta: the noise decides how much the prior counts."
    if close(answer, with_ridge(0.0), rtol=1e-4):
        return "The regulariser is missing."
    if close(answer, with_ridge(-0.8 / beta)):
        return "The regulariser has the wrong sign: the paper adds it to the log likelihood, but it is subtracted."
    return "It is not the solution of (9.12). G is diagonal, with the row sums of R."


@checker("gtm.3")
def cheap_noise(function):
    """function(Y, Phi, W, R): 1 / beta by (9.13), without a K x N matrix of distances."""
    Y, Phi, W, beta = _problem(2)
    R, _ = responsibilities(log_densities(Y, Phi @ W.T, beta))
    W = W + 0.1  # any weights, not only those of the M-step
    expected = squared_error(np.sum(Y**2), Phi @ W.T, *weighted_sums(R, Y)) / Y.size
    value = number(function(Y, Phi, W, R))
    if close(value, expected):
        return None
    if close(value, expected * Y.shape[1]):
        return "Divide by N D, the number of entries, not by N."
    at_solution = (np.sum(Y**2) - np.sum((Phi @ W.T) * (R @ Y))) / Y.size
    if close(value, at_solution):
        return "That shortcut holds only at the unregularised solution of (9.12); these weights are others."
    return f"For the test data it should be {expected:.5f}, yours is {value:.5f}. Expand the square."


@checker("gtm.4")
def bound(function):
    """function(R, log_p): the free energy (9.17)."""
    Y, Phi, W, beta = _problem(3)
    log_p = log_densities(Y, Phi @ W.T, beta)
    R = softmax(np.random.default_rng(3).standard_normal(log_p.shape), axis=0)
    value, expected = number(function(R, log_p)), free_energy(R, log_p)
    if not close(value, expected):
        if close(value, expected + R.shape[1] * np.log(len(R))):
            return "The prior of a node, 1/K, is missing."
        if close(value, expected + 2 * np.sum(R * np.log(R))):
            return "The entropy has the wrong sign: it is added, and - R ln R is positive."
        return f"For the test data it should be {expected:.4f}, yours is {value:.4f}."
    hard = np.eye(len(log_p))[:, np.argmax(log_p, axis=0)]
    with np.errstate(all="ignore"):
        value = number(function(hard, log_p), finite=False)
    if not np.isfinite(value):
        return "With responsibilities of exactly 0 it gives NaN: 0 ln 0 counts as 0 (scipy.special.xlogy)."
    if not value <= logsumexp(log_p, axis=0).sum():
        return "It exceeds the log likelihood: no bound does that."
    expected = free_energy(hard, log_p)
    if close(value, expected):
        return None
    return f"With responsibilities of exactly 0 or 1 it should be {expected:.4f}, yours is {value:.4f}."


@checker("gtm.5")
def step_of_the_som(function):
    """function(Y, X, prototypes, width): the prototypes after one pass of the batch SOM."""
    rng = np.random.default_rng(4)
    Y, X, m, width = rng.standard_normal((40, 2)), latent_grid((6,)), rng.standard_normal((6, 2)), 0.5
    winner = np.argmin(np.sum((Y[:, None] - m) ** 2, axis=2), axis=1)
    h = np.exp(-0.5 * (X[:, 0][:, None] - X[winner, 0]) ** 2 / width**2)  # (K, N)
    answer = numbers(function(Y, X, m, width))
    if close(answer, h @ Y / h.sum(axis=1, keepdims=True)):
        return None
    if close(answer, h @ Y):
        return "The averages are not normalised: divide by the sum of the weights."
    G = np.bincount(winner, minlength=6)
    z = np.array([Y[winner == i].mean(axis=0) if G[i] else np.zeros(2) for i in range(6)])
    g = np.exp(-0.5 * (X[:, 0][:, None] - X[:, 0]) ** 2 / width**2)
    if close(answer, g @ z / g.sum(axis=1, keepdims=True)):
        return "Every node's mean counts once in your average; it should count once for each point that the node won."
    return "Winners first, then for each node an average of all points, weighted by the winner's distance on the grid."


@checker("gtm.6")
def best_batch(answer):
    """A dictionary {batch size: penalised free energy after two passes}, for at least 200, 50 and 10."""
    pairs = answer.items() if hasattr(answer, "items") else answer
    values = {int(size): number(value) for size, value in islice(pairs, 1000)}
    if not {200, 50, 10} <= set(values):
        return "Give at least the batch sizes 200 (plain EM), 50 and 10."
    if values[10] > values[50] > values[200]:
        return None
    return (
        "Smaller batches should be further up after two passes. Are the states taken after the same number of "
        "passes (sweeps), and not after the same number of steps?"
    )
