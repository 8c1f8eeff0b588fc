"""Pairs of the GTM: log densities, the E-step (densities and responsibilities, as they are used), an EM step."""

import numpy as np
from pairs import Pair

from gplvm_edu import gtm
from gplvm_edu.datasets import simulate_oil_flow


def random_step(rng):
    """Y, Phi, weights, precision: noise from 30 times to a thousandth of the sheet, any units, single points and nodes.

    Some columns are constant, some rows equal. The mean of Y is no larger than its spread, as `m_step` asks, and not 0
    for a single point, whose weights would be 0, and 1e-9 of 0 is nothing.
    """
    N, D, K, M = (int(rng.integers(1, most)) for most in (13, 5, 11, 5))
    units = 10.0 ** rng.uniform(-5, 5)
    Y = rng.standard_normal((N, D))
    if rng.random() < 0.3:
        Y[rng.integers(N, size=N // 2)] = Y[0]
    if rng.random() < 0.3:
        Y[:, 0] = 2.0
    Phi, W = rng.standard_normal((K, M)), units * rng.standard_normal((D, M))
    return units * Y, Phi, W, 10.0 ** rng.uniform(-3, 6) / units**2


def random_densities(rng):
    """As above, and the data and the sheet anywhere, up to a thousand times their size away from the origin."""
    Y, Phi, W, beta = random_step(rng)
    offset = rng.choice([0.0, 10.0, 1000.0]) * np.abs(W).max()
    return Y + offset, Phi @ W.T + offset, beta


def sized_step(size):
    """Simulated oil flow after 30 iterations, 15 x 15 nodes, 4 x 4 basis functions."""
    Y = simulate_oil_flow(size, random_state=0).data
    Y, X = Y - Y.mean(axis=0), gtm.latent_grid((15, 15))
    Phi = gtm.basis_functions(X, gtm.make_basis((4, 4)))
    start = gtm.principal_sheet(Y, X, Phi, gtm.grid_spacing((15, 15)))
    *_, state = gtm.em_iterates(Y, Phi, *start, alpha=0.1, max_iter=30)
    return Y, Phi, state.weights, state.precision


def sized_densities(size):
    Y, Phi, W, beta = sized_step(size)
    return Y, Phi @ W.T, beta


def em_step(Y, Phi, weights, precision, e_step):
    """Log density of each point, then the new weights and precision; a ridge and a noise floor keep all defined."""
    R, log_density = e_step(Y, Phi @ weights.T, precision)
    size = np.max(np.abs(weights))
    return log_density, *gtm.m_step(Y, Phi, R, precision, alpha=precision, noise_floor=1e-4 * size**2)


PAIRS = (
    Pair(
        "gtm: log densities",
        gtm.log_densities,
        gtm.fast.log_densities,
        random_densities,
        sized_densities,
        (1000, 3000),
        "N",
        (gtm.log_densities,),
        (gtm.fast.log_densities,),
    ),
    Pair(
        "gtm: E-step",
        gtm.e_step,
        gtm.gaps.e_step,
        random_densities,
        sized_densities,
        (1000, 3000),
        "N",
        (gtm.e_step, gtm.log_densities, gtm.responsibilities),
        (gtm.fast.log_densities, gtm.fast.responsibilities),
    ),
    Pair(
        "gtm: EM step",
        lambda *problem: em_step(*problem, gtm.e_step),
        lambda *problem: em_step(*problem, gtm.gaps.e_step),
        random_step,
        sized_step,
        (1000, 3000),
        "N",
        (gtm.e_step, gtm.log_densities, gtm.responsibilities, gtm.m_step, gtm.weighted_sums, gtm.solve_weights),
        (gtm.fast.log_densities, gtm.fast.responsibilities, gtm.m_step, gtm.weighted_sums, gtm.solve_weights),
    ),
)
