"""The GP-LVM's fit, one state after another."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..kernels import in_units
from ..linalg import own_scale
from ..optimise import minimise
from ..threads import n_rows, suited
from .back_constraints import FreePositions, Network, Smoother
from .fast import value_and_gradients


class GPLVMState(NamedTuple):
    """One iterate of a fit: latent positions, the kernel's theta, the objective, evaluations so far, why it ended.

    And `way`, where the positions come from: what `gplvm_iterates` was given as `back`, with its weights now.
    """

    X: np.ndarray
    theta: np.ndarray
    value: float
    n_evaluations: int
    stopped: str = ""
    way: Smoother | Network | None = None


@suited(n_rows)
def gplvm_iterates(
    Y, X, kernel, latent_prior=None, method="l-bfgs", max_iter=1000, jitter=0.0, tolerance=1e-4, back=None
) -> Iterator[GPLVMState]:
    """Generator of `GPLVMState`: maximise the objective from X and the kernel's parameters, the start included.

    Parameters
    ----------
    Y, X, kernel, jitter : as in `likelihood.value_and_gradients`
    latent_prior : "gaussian", None, or a `DynamicPrior`
    method, max_iter, tolerance : as in `optimise.minimise`
    back : Smoother, Network or None
        A back constraint, with the weights of the start: they are climbed in instead of X, equation (5.34).

    Notes
    -----
    The kernel passed in is not changed. The climb is made in units of the data's own, in which a step of one in an
    unconstrained parameter is as long for data in metres as in millimetres; states are in the units of Y. Chapter 5,
    equations (5.4) to (5.6), (5.34) and (5.36).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF, White
    >>> Y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> states = list(gplvm_iterates(Y, 0.1 * Y, RBF() + White(0.1), "gaussian", max_iter=5))
    >>> states[-1].value > states[0].value
    True
    """
    unit, way = own_scale(Y), FreePositions(X) if back is None else back
    kernel, Y, jitter = in_units(kernel, unit), Y / unit, jitter / unit**2
    n, log_jacobian = way.weights.size, Y.size * math.log(unit)

    def value_and_gradient(x):
        kernel.theta, now = x[n:], way.moved(x[:n])
        value, dX, dtheta = with_prior(Y, now.positions(), kernel, latent_prior, jitter)
        return -value, -np.concatenate([now.gradient(dX), dtheta])

    start = np.concatenate([way.weights.ravel(), kernel.theta])
    for it in minimise(value_and_gradient, start, method=method, max_iter=max_iter, tolerance=tolerance):
        theta, now = theta_in_units(kernel, it.x[n:], 1.0 / unit), way.moved(it.x[:n])
        found = None if isinstance(now, FreePositions) else now
        yield GPLVMState(now.positions(), theta, -it.value - log_jacobian, it.n_evaluations, it.stopped, found)


def with_prior(Y, X, kernel, latent_prior=None, jitter=0.0) -> tuple[float, np.ndarray, np.ndarray]:
    """As `value_and_gradients`, where the prior may also be a `DynamicPrior`, equations (5.35) and (5.36)."""
    if latent_prior is None or isinstance(latent_prior, str):
        return value_and_gradients(Y, X, kernel, latent_prior, jitter)
    value, dX, dtheta = value_and_gradients(Y, X, kernel, None, jitter)
    log_prior, slope = latent_prior(X)
    return value + log_prior, dX + slope, dtheta


def theta_in_units(kernel, theta, unit) -> np.ndarray:
    """The unconstrained parameters of a kernel with this theta for data that are divided by `unit`; nothing changes.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> kernel = RBF()
    >>> kernel.theta = theta_in_units(RBF(), RBF(4.0, 3.0).theta, 2.0)
    >>> kernel
    RBF(variance=1, inverse_width=3)
    """
    kernel = kernel.copy()
    kernel.theta = theta
    return in_units(kernel, unit).theta
