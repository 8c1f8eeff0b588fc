"""The GP-LVM's fit, one state after another."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..kernels import in_units
from ..linalg import own_scale
from ..optimise import minimise
from ..threads import n_rows, suited
from .fast import value_and_gradients


class GPLVMState(NamedTuple):
    """One iterate of a fit: latent positions, the kernel's theta, the objective, evaluations so far, why it ended."""

    X: np.ndarray
    theta: np.ndarray
    value: float
    n_evaluations: int
    stopped: str = ""


@suited(n_rows)
def gplvm_iterates(
    Y, X, kernel, latent_prior=None, method="l-bfgs", max_iter=1000, jitter=0.0, tolerance=1e-4
) -> Iterator[GPLVMState]:
    """Generator of `GPLVMState`: maximise the objective from X and the kernel's parameters, the start included.

    Notes
    -----
    The kernel passed in is not changed. The climb is made in units of the data's own, in which a step of one in an
    unconstrained parameter is as long for data in metres as in millimetres; states are in the units of Y. Chapter 5,
    equations (5.4) to (5.6).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF, White
    >>> Y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> states = list(gplvm_iterates(Y, 0.1 * Y, RBF() + White(0.1), "gaussian", max_iter=5))
    >>> states[-1].value > states[0].value
    True
    """
    (N, q), unit = X.shape, own_scale(Y)
    kernel, Y, jitter = in_units(kernel, unit), Y / unit, jitter / unit**2
    log_jacobian = Y.size * math.log(unit)

    def value_and_gradient(x):
        kernel.theta = x[N * q :]
        value, dX, dtheta = value_and_gradients(Y, x[: N * q].reshape(N, q), kernel, latent_prior, jitter)
        return -value, -np.concatenate([dX.ravel(), dtheta])

    start = np.concatenate([X.ravel(), kernel.theta])
    for it in minimise(value_and_gradient, start, method=method, max_iter=max_iter, tolerance=tolerance):
        theta = theta_in_units(kernel, it.x[N * q :], 1.0 / unit)
        yield GPLVMState(it.x[: N * q].reshape(N, q), theta, -it.value - log_jacobian, it.n_evaluations, it.stopped)


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
