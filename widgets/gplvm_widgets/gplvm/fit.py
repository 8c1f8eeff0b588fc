"""The GP-LVM at one iterate of one setting of the controls."""

import copy
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gplvm_edu.gplvm import GPLVM, GPLVMState, value_and_gradients
from gplvm_edu.kernels import MLP, RBF, Bias, Linear, Matern32, White
from gplvm_edu.optimise import minimise

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
    """One iterate of a run, its number, and the objective of all iterates so far (shared by all snapshots)."""

    step: int
    state: GPLVMState
    values: list


def three_digits(value):
    """What the shown code prints is what is computed."""
    return float(f"{value:.3g}")


def make_kernel(Y, kernel, inverse_width, noise):
    """The kernel of the menu, scaled by the variance of the data."""
    v = (Y - Y.mean(axis=0)).var()
    names = dict(v=v, b=min(np.exp(-2), v), RBF=RBF, MLP=MLP, Bias=Bias, Linear=Linear, Matern32=Matern32, White=White)
    return eval(KERNELS[kernel].format(gamma=three_digits(inverse_width), noise=three_digits(noise)), names)


def make_model(
    source, scale, kernel, inverse_width, noise, init, seed, n_points, optimiser, prior, gradient, max_iter=MAX_STEPS
):
    """The estimator of one setting, not fitted."""
    Y = load(source, n_points, scale)[0]
    Model = GPLVM if gradient == CORRECTED else PrintedGPLVM
    return Model(
        kernel=make_kernel(Y, kernel, inverse_width, noise),
        init=init,
        max_iter=max_iter,
        latent_prior="gaussian" if prior else None,
        optimiser=optimiser,
        random_state=seed,
    )


@lru_cache(maxsize=16)
def start_model(source, **settings):
    """The model at its start, and its first state."""
    model = make_model(source, **settings)
    steps = model.iterates(load(source, settings["n_points"], settings["scale"])[0])
    state = next(steps)
    steps.close()
    return model.keep(state, [state.value]), state


@lru_cache(maxsize=16)
def slope_ratio(source, **settings):
    """The gradient's slope along itself, over the slope of the objective by differences: 1, if it is right."""
    model, state = start_model(source, **settings)
    gradients = value_and_gradients if settings["gradient"] == CORRECTED else printed_gradients
    kernel = model.kernel_.copy()

    def evaluate(X, theta):
        kernel.theta = theta
        return gradients(model.rows_ - model.mean_, X, kernel, model.latent_prior, model.jitter_)

    _, dX, dtheta = evaluate(state.X, state.theta)
    length = np.sqrt(np.sum(dX**2) + np.sum(dtheta**2))
    h = 1e-5 / length
    up, down = (evaluate(state.X + s * h * dX, state.theta + s * h * dtheta)[0] for s in (1, -1))
    return length**2 / ((up - down) / (2 * h))


def model_at(source, snapshot, **settings):
    """The fitted estimator of one iterate; `snapshot` None is the start."""
    model, _ = start_model(source, **settings)
    return model if snapshot is None else copy.copy(model).keep(snapshot.state, snapshot.values)


def snapshots(source, max_steps=MAX_STEPS, **settings):
    """Generator of (share done, Snapshot) of one run; the last one has the share 1."""
    model = make_model(source, max_iter=max_steps, **settings)
    values, last = [], None
    for state in model.iterates(load(source, settings["n_points"], settings["scale"])[0]):
        if last is not None:
            yield last.step / max_steps, last
        values.append(state.value)
        last = Snapshot(len(values) - 1, state, values)
    yield 1.0, last
