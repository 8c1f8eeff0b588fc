"""Plain and fast of the GP-LVM: the objective with its gradients, and the gradient in the kernel matrix alone."""

import numpy as np
from pairs import Pair

from gplvm_edu.datasets import simulate_oil_flow
from gplvm_edu.gplvm import fast, likelihood
from gplvm_edu.kernels import RBF, Bias, White, common_start
from gplvm_edu.linalg import centre
from gplvm_edu.starts import initial_positions


def random_problem(rng):
    """Y, X, kernel, prior, jitter: N, D, q from 1 on, data over six powers of ten, rows that are the same.

    The noise is a thousandth of the variance at least: what two ways to invert K may differ by is its condition number
    times the rounding of floats.
    """
    N, D, q = rng.integers(1, 12), rng.integers(1, 6), rng.integers(1, 4)
    scale, width = 10.0 ** rng.uniform(-3, 3), 10.0 ** rng.uniform(-1, 1)
    Y, X = scale * rng.normal(size=(N, D)), width * rng.normal(size=(N, q))
    if rng.random() < 0.3:
        X[rng.integers(N)], Y[:, 0] = X[0], scale  # a place taken twice, a constant column
    inverse_width = rng.uniform(0.3, 3, q if rng.random() < 0.5 else None) / width**2
    noise = 10.0 ** rng.uniform(-3, 0)
    kernel = RBF(scale**2 * rng.uniform(0.3, 3), inverse_width) + Bias(scale**2 * 0.1) + White(scale**2 * noise)
    return Y, X, kernel, rng.choice(["gaussian", None]), rng.choice([0.0, 1e-8 * scale**2])


def oil(N):
    """The default fit at its start."""
    Y = centre(simulate_oil_flow(N, random_state=0).data)[0]
    return Y, initial_positions(Y, 2, "pca", None), common_start(Y.var()), "gaussian", 1e-8 * Y.var()


def at(Y, X, kernel, latent_prior, jitter):
    """The plain objective as a function of positions and theta in one vector."""

    def value_and_gradient(x):
        moved = kernel.copy()
        moved.theta = x[X.size :]
        value, dX, dtheta = likelihood.value_and_gradients(Y, x[: X.size].reshape(X.shape), moved, latent_prior, jitter)
        return value, np.concatenate([dX.ravel(), dtheta])

    return value_and_gradient, np.concatenate([X.ravel(), kernel.theta])


def random_matrix(rng):
    Y, X, kernel, _, _ = random_problem(rng)
    return Y, kernel(X)


def oil_matrix(N):
    Y, X, kernel, _, _ = oil(N)
    return Y, kernel(X)


def fast_gradient(Y, K):
    return fast.kernel_matrix_gradient(fast.factorise(Y, K))


PAIRS = (
    Pair(
        name="gplvm: objective and gradients",
        plain=likelihood.value_and_gradients,
        fast=fast.value_and_gradients,
        random_problem=random_problem,
        sized_problem=oil,
        sizes=(100, 1000),
        size_of="N",
        plain_code=(likelihood.log_likelihood, likelihood.kernel_matrix_gradient, likelihood.value_and_gradients),
        fast_code=(fast.factorise, fast.log_likelihood, fast.kernel_matrix_gradient, fast.value_and_gradients),
        at=at,
    ),
    Pair(
        name="gplvm: gradient in the kernel matrix",
        plain=likelihood.kernel_matrix_gradient,
        fast=fast_gradient,
        random_problem=random_matrix,
        sized_problem=oil_matrix,
        sizes=(100, 1000),
        size_of="N",
        plain_code=(likelihood.kernel_matrix_gradient,),
        fast_code=(fast.factorise, fast.kernel_matrix_gradient),
    ),
)
