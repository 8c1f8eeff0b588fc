"""Chapter 12, plain and fast: Psi statistics of every kernel that has them, the bound, and both their gradients."""

import numpy as np
from pairs import Pair

from gplvm_edu.datasets import simulate_oil_flow
from gplvm_edu.kernels import RBF, Bias, Linear
from gplvm_edu.linalg import centre
from gplvm_edu.papers.variational import common_start
from gplvm_edu.variational import (
    Packing,
    Parameters,
    bound,
    bound_and_gradients,
    data_gradients,
    evaluate_bound,
    fast,
    objective,
    psi,
    psi_gradients,
    psi_statistics,
)
from gplvm_edu.variational.fast import kernel_expectations, rbf_expectations


def random_kernel(rng, q, theta, planes=True):
    """RBF or, with `planes`, Linear; one weight or one for each dimension; up to two biases."""
    weights = 10.0 ** rng.uniform(-1.0, 1.0, q) if rng.random() < 0.7 else 10.0 ** rng.uniform(-1.0, 1.0)
    kernel = RBF(theta, weights) if rng.random() < 0.6 or not planes else Linear(theta * weights)
    for _ in range(rng.integers(0, 3)):
        kernel = kernel + Bias(theta * 10.0 ** rng.uniform(-2.0, 0.0))
    return kernel


def random_points(rng, N, M, q):
    """Means, variances over five powers of ten, inducing inputs; one of these near a mean; now and then duplicates.

    Positions are of the order of the length scales: the fast exponents multiply (mu - z)^2 out, and of a distance of d
    length scales 2 log10(d) digits of the exponent are lost by that, whatever the program. No inducing point is
    exactly at a mean: there its gradient is zero, and only rounding could be compared.
    """
    mu, Z, S = rng.standard_normal((N, q)), rng.standard_normal((M, q)), 10.0 ** rng.uniform(-4.0, 1.0, (N, q))
    if rng.random() < 0.3:
        mu[-1], S[-1] = mu[0], S[0]
    Z[0] = mu[0] + 0.2 * rng.standard_normal(q)
    return mu, S, Z


# --- Psi statistics -------------------------------------------------------------------------------------------
def random_statistics(rng):
    N, M, q = rng.integers(1, 8), rng.integers(1, 6), rng.integers(1, 4)
    kernel, (mu, S, Z) = random_kernel(rng, q, 10.0 ** rng.uniform(-3.0, 3.0)), random_points(rng, N, M, q)
    d_Psi2 = rng.standard_normal((M, M))
    return kernel, mu, S, Z, rng.standard_normal(N), rng.standard_normal((N, M)), d_Psi2 + d_Psi2.T


def sized_statistics(N, M=50, q=10):
    rng = np.random.default_rng(0)
    d_Psi2 = rng.standard_normal((M, M))
    points = rng.standard_normal((N, q)), np.full((N, q), 0.1), rng.standard_normal((M, q))
    return RBF(1.0, np.full(q, 0.2)), *points, np.ones(N), rng.standard_normal((N, M)), d_Psi2 + d_Psi2.T


def plain_statistics(kernel, mu, S, Z, d_psi0, d_Psi1, d_Psi2):
    found = psi_statistics(kernel, mu, S, Z)
    return tuple(found), tuple(psi_gradients(kernel, mu, S, Z, d_psi0, d_Psi1, d_Psi2))


def fast_statistics(kernel, mu, S, Z, d_psi0, d_Psi1, d_Psi2):
    found, (first, second, times, _) = fast.psi_statistics(kernel, mu, S, Z), fast.pairs(len(Z))
    gradients = found.pull_back(d_psi0, d_Psi1, (d_Psi2[first, second] * times)[None])
    return (found.psi0, found.Psi1, found.Psi2[0]), tuple(gradients)


def statistics_at(kernel, mu, S, Z, d_psi0, d_Psi1, d_Psi2):
    """A weighted sum of all statistics, in the packed parameters."""
    packing = Packing(Parameters(mu, S, Z, kernel, 1.0), 1e-8)
    weights = tuple(d / kernel.diag(mu).max() ** power for d, power in ((d_psi0, 1), (d_Psi1, 1), (d_Psi2, 2)))

    def value_and_gradient(x):
        here = packing.unpack(x)
        found = psi_statistics(here.kernel, here.latent_mean, here.latent_variance, here.inducing_inputs)
        value = sum(np.sum(d * part) for d, part in zip(weights, found, strict=True))
        at = here.kernel, here.latent_mean, here.latent_variance, here.inducing_inputs
        return value, packing.pull_back(here, objective.Gradients(*psi_gradients(*at, *weights), 0.0))

    return value_and_gradient, packing.pack(packing.start)


# --- the bound ------------------------------------------------------------------------------------------------
def random_bound(rng):
    """Data in any unit.

    A Linear kernel has q >= 2 and q - 1 inducing points: with more K_MM is singular, and with q of them the bound does
    not depend on Z at all (they fix the planes wherever they are), so that nothing but rounding could be compared. The
    jitter keeps the condition of K_MM below 1e4: its logarithm is the number of digits that any program loses.
    """
    N, D, q, unit = rng.integers(1, 8), rng.integers(1, 6), rng.integers(1, 4), 10.0 ** rng.uniform(-3.0, 3.0)
    kernel = random_kernel(rng, q, unit**2, planes=q > 1)
    M = rng.integers(1, 5) if "RBF" in repr(kernel) else q - 1
    mu, S, Z = random_points(rng, N, M, q)
    Y = unit * rng.standard_normal((N, D))
    if rng.random() < 0.3:
        Y[:, 0] = unit  # a constant column
    return Y, Parameters(mu, S, Z, kernel, unit**2 * 10.0 ** rng.uniform(-2.0, 1.0)), 1e-3


def sized_bound(N):
    Y = centre(simulate_oil_flow(N, random_state=0).data)[0]
    return Y, common_start(Y), 1e-6


def plain_bound(Y, parameters, jitter):
    terms, gradients = bound_and_gradients(Y, parameters, jitter)
    return terms.elbo, tuple(gradients)


def fast_bound(Y, parameters, jitter):
    terms, gradients = fast.bound_and_gradients(fast.group_outputs(Y), parameters, jitter)
    return terms.elbo, tuple(gradients)


def bound_at(Y, parameters, jitter):
    packing = Packing(parameters, 1e-8 * parameters.noise_variance)

    def value_and_gradient(x):
        here = packing.unpack(x)
        terms, gradients = bound_and_gradients(Y, here, jitter)
        return terms.elbo, packing.pull_back(here, gradients)

    return value_and_gradient, packing.pack(parameters)


PLAIN_PSI = (psi.rbf_psi1, psi.rbf_psi2, psi.rbf_psi1_gradients, psi.rbf_psi2_gradients)
FAST_PSI = (
    rbf_expectations.point_features,
    rbf_expectations.centre_features,
    rbf_expectations.pull_back_points,
    rbf_expectations.pull_back_centres,
    rbf_expectations.expected_rbf,
    rbf_expectations.sum_expectations,
    rbf_expectations.pull_back_sums,
    kernel_expectations.pairs,
    kernel_expectations.RBFPsi,
)
PAIRS = (
    Pair(
        "variational: Psi statistics",
        plain_statistics,
        fast_statistics,
        random_statistics,
        sized_statistics,
        (100, 500),
        "N",
        PLAIN_PSI,
        FAST_PSI,
        statistics_at,
    ),
    Pair(
        "variational: bound and gradient",
        plain_bound,
        fast_bound,
        random_bound,
        sized_bound,
        (100, 500),
        "N",
        (*PLAIN_PSI, bound.factorise, bound.output_terms, bound.output_gradients, evaluate_bound, data_gradients),
        (*FAST_PSI, fast.group_outputs, fast.evaluate_bound, fast.data_gradients),
        bound_at,
    ),
)
