"""The GP-LVM's fit, one state after another."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

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
    The kernel passed in is not changed. Chapter 5, equations (5.4) to (5.6).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF, White
    >>> Y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> states = list(gplvm_iterates(Y, 0.1 * Y, RBF() + White(0.1), "gaussian", max_iter=5))
    >>> states[-1].value > states[0].value
    True
    """
    kernel, (N, q) = kernel.copy(), X.shape

    def value_and_gradient(x):
        kernel.theta = x[N * q :]
        value, dX, dtheta = value_and_gradients(Y, x[: N * q].reshape(N, q), kernel, latent_prior, jitter)
        return -value, -np.concatenate([dX.ravel(), dtheta])

    start = np.concatenate([X.ravel(), kernel.theta])
    for it in minimise(value_and_gradient, start, method=method, max_iter=max_iter, tolerance=tolerance):
        yield GPLVMState(it.x[: N * q].reshape(N, q), it.x[N * q :], -it.value, it.n_evaluations, it.stopped)
