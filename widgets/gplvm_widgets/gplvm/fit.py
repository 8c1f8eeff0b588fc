"""The GP-LVM at one iterate of one setting of the controls."""

import copy
from typing import NamedTuple

import numpy as np

from gplvm_edu.gplvm import GPLVM, GPLVMState, value_and_gradients
from gplvm_edu.kernels import MLP, RBF, Bias, Linear, Matern32, White, with_scales_fixed
from gplvm_edu.optimise import minimise

from ..scene import remember
from .source import load

MAX_STEPS = 300
KERNELS = {  # v is the variance of the data, gamma the slider, noise its share of v
    "RBF": "RBF(v, {gamma:g}) + Bias(b) + White({noise:g} * v)",
    "RBF + linear": "RBF(v / 2, {gamma:g}) + Linear(v / 2) + Bias(b) + White({noise:g} * v)",
    "Matern 3/2": "Matern32(v, {gamma:g}) + Bias(b) + White({noise:g} * v)",
    "MLP": "MLP(v, {gamma:g}, 10) + Bias(b) + White({noise:g} * v)",
    "linear": "Linear(v) + Bias(b) + White({noise:g} * v)",
}
CORRECTED, PRINTED = "corrected: with 1/2", "as printed: without 1/2"


class PrintedGPLVM(GPLVM):
    """Climbs by equation (10) of Lawrence (2005) as it is printed: without its 1/2 the data count twice."""

    def iterates(self, Y):
        """The same start and the same objective; only the gradient is wrong."""
        start = next(super().iterates(Y))
        kernel, (N, q) = self.set_state(start).kernel_.copy(), start.X.shape

        def value_and_gradient(x):
            kernel.theta = x[N * q :]
            X = x[: N * q].reshape(N, q)
            value, dX, dtheta = printed_gradients(self.rows_ - self.mean_, X, kernel, self.latent_prior, self.jitter_)
            return -value, -np.concatenate([dX.ravel(), dtheta])

        x0 = np.concatenate([start.X.ravel(), start.theta])
        for iterate in minimise(value_and_gradient, x0, self.optimiser, self.max_iter, self.tol):
            X, theta = iterate.x[: N * q].reshape(N, q), iterate.x[N * q :]
            yield GPLVMState(X, theta, -iterate.value, iterate.n_evaluations, iterate.stopped)


def printed_gradients(Y, X, kernel, latent_prior, jitter):
    """Objective and gradients with the likelihood's share doubled, the prior's as it should be."""
    value, dX, dtheta = value_and_gradients(Y, X, kernel, latent_prior, jitter)
    return value, 2.0 * dX + (X if latent_prior == "gaussian" else 0.0), 2.0 * dtheta


class Snapshot(NamedTuple):
    """One iterate of a run, its number; shared by all of a run, the objective so far and the model that climbs."""

    step: int
    iterate: GPLVMState
    values: list
    model: GPLVM


def make_kernel(Y, kernel, inverse_width, noise):
    """The kernel of the menu, scaled by the variance of the data."""
    v = (Y - Y.mean(axis=0)).var()
    names = dict(v=v, b=v * np.exp(-2), RBF=RBF, MLP=MLP, Bias=Bias, Linear=Linear, Matern32=Matern32, White=White)
    return eval(KERNELS[kernel].format(gamma=inverse_width, noise=noise), names)


@remember(maxsize=4)
def start_model(data, scale, kernel, inverse_width, noise, init, seed, n_points):
    """The model at its start; where it is does not depend on how it will climb."""
    Y = load(data, n_points, scale)[0]
    kernel = make_kernel(Y, kernel, inverse_width, noise)
    model = GPLVM(kernel=kernel, init=init, latent_prior=None, max_iter=0, random_state=seed)
    (state,) = model.iterates(Y)
    return model.keep(state, [state.value])


@remember(maxsize=4)
def model_at(data, scale, kernel, inverse_width, noise, init, seed, n_points, state):
    """The model of one iterate; `state` None is the start."""
    if state is None:
        return start_model(data, scale, kernel, inverse_width, noise, init, seed, n_points)
    return copy.copy(state.model).keep(state.iterate, state.values[: state.step + 1])


@remember(maxsize=4)
def slope_at_start(start, prior, gradient):
    """The objective at the start, and the gradient's slope along itself over the slope by differences: 1 if right."""
    gradients = value_and_gradients if gradient == CORRECTED else printed_gradients
    kernel, latent_prior = start.kernel_.copy(), "gaussian" if prior else None
    if prior:
        kernel = with_scales_fixed(kernel)

    def evaluate(X, theta):
        kernel.theta = theta
        return gradients(start.rows_ - start.mean_, X, kernel, latent_prior, start.jitter_)

    X, theta = start.embedding_, kernel.theta.copy()
    value, dX, dtheta = evaluate(X, theta)
    length = np.sqrt(np.sum(dX**2) + np.sum(dtheta**2))
    h = 1e-5 / length
    up, down = (evaluate(X + s * h * dX, theta + s * h * dtheta)[0] for s in (1, -1))
    return value, length**2 / ((up - down) / (2 * h))


def snapshots(data, scale, kernel, inverse_width, noise, init, seed, n_points, optimiser, prior, gradient, steps):
    """Generator of (share done, Snapshot) of one run of at most so many steps; the last one has the share 1."""
    Y = load(data, n_points, scale)[0]
    model = (GPLVM if gradient == CORRECTED else PrintedGPLVM)(
        kernel=make_kernel(Y, kernel, inverse_width, noise),
        init=init,
        max_iter=steps,
        latent_prior="gaussian" if prior else None,
        optimiser=optimiser,
        random_state=seed,
    )
    values, last = [], None
    for iterate in model.iterates(Y):
        if last is not None:
            yield last.step / steps, last
        values.append(iterate.value)
        last = Snapshot(len(values) - 1, iterate, values, model)
    yield 1.0, last
