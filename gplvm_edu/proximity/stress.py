"""Stress, the misfit of the distances in a map: metric stress by majorisation, Sammon's by gradients.

Every function takes the distances of the data as a square matrix, called dissimilarities here (delta in the chapter),
to keep them apart from the distances d between the points of the map.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist

from ..optimise import minimise

COINCIDE = 1e-10  # in Sammon's stress a dissimilarity below this share of the mean counts as 0


class StressState(NamedTuple):
    """One state of a map: its positions (N, q), the stress that the method lowers, and why it is the last one."""

    X: np.ndarray
    stress: float
    stopped: str = ""  # on the last state "gain", or the optimiser's reason; empty before it

    @property
    def value(self) -> float:
        """Minus the stress: larger is better."""
        return -self.stress


def stress(X, dissimilarities, weights=None) -> float:
    r"""Misfit of the distances in a map, as a share of the dissimilarities.

    .. math:: \sigma(X) = \left[ \frac{\sum_{n<m} w_{nm} (\delta_{nm} - d_{nm}(X))^2}
              {\sum_{n<m} w_{nm} \delta_{nm}^2} \right]^{1/2}, \qquad d_{nm}(X) = \|x_n - x_m\|

    Parameters
    ----------
    X : ndarray (N, q)
    dissimilarities : ndarray (N, N)
    weights : ndarray (N, N) or None
        Symmetric, 0 or more; None: all 1.

    Notes
    -----
    Costs O(N^2 q). Chapter 6, equation (6.2).

    Examples
    --------
    >>> stress(np.array([[0.0], [3.0]]), np.array([[0.0, 4.0], [4.0, 0.0]]))
    0.25
    """
    Delta, W = dissimilarities, 1.0 if weights is None else weights
    return float(np.sqrt(np.sum(W * (Delta - cdist(X, X)) ** 2) / np.sum(W * Delta**2)))  # (6.2)


def guttman_transform(X, dissimilarities, weights=None) -> np.ndarray:
    r"""One step of SMACOF: the minimum of a quadratic that is never below the squared stress and equals it at X.

    .. math:: X^+ = V^{\dagger} B(X)\, X, \qquad b_{nm} = -\frac{w_{nm} \delta_{nm}}{d_{nm}(X)}, \quad
              b_{nn} = -\sum_{m \ne n} b_{nm}

    With equal weights it is B(X) X / N.

    Parameters
    ----------
    X : ndarray (N, q)
    dissimilarities : ndarray (N, N)
    weights : ndarray (N, N) or None
        Symmetric, 0 or more, zeros on the diagonal; None: all 1.

    Notes
    -----
    Costs O(N^2 q), with weights O(N^3). The result is centred, and does not depend on the scale of X. Points that
    coincide in the map have no direction between them, and stay together. Chapter 6, equations (6.5) and
    (6.7).

    Examples
    --------
    >>> guttman_transform(np.array([[-1.0], [1.0]]), np.array([[0.0, 6.0], [6.0, 0.0]]))
    array([[-3.],
           [ 3.]])
    """
    Delta, W, N = dissimilarities, weights, len(X)
    D = cdist(X, X)
    B = -np.divide(Delta, D, out=np.zeros((N, N)), where=D > 0)  # (6.5)
    B = B if W is None else W * B
    np.fill_diagonal(B, 0.0)
    np.fill_diagonal(B, -B.sum(axis=1))  # (6.5)
    if W is None:
        return B @ X / N  # (6.7)
    V = np.diag(W.sum(axis=1)) - W  # singular: add 11'/N
    return linalg.solve(V + 1.0 / N, B @ X, assume_a="pos")  # (6.7)


def majorise(measure, start, weights=None, max_iter=1000, tolerance=1e-7) -> Iterator[StressState]:
    r"""Generator of `StressState`: one Guttman transform after another, until the squared stress changes no more.

    .. math:: X_{t+1} = X_t^+, \qquad \sigma(X_{t+1}) \le \sigma(X_t)

    Parameters
    ----------
    measure : callable
        ``measure(X)`` returns the stress of a map and the distances (N, N) that it should have: those given, or the
        disparities, which depend on the map.
    start : ndarray (N, q)
    weights : ndarray (N, N) or None
    max_iter : int
    tolerance : float
        The share of the squared stress that a step must gain; stresses below 0.001 count as that.

    Notes
    -----
    Costs O(N^2 q) a step, and what `measure` costs. Chapter 6, equations (6.7) and (6.8).

    Examples
    --------
    >>> pair = np.array([[0.0, 2.0], [2.0, 0.0]])
    >>> states = majorise(lambda X: (stress(X, pair), pair), np.array([[0.0], [1.0]]))
    >>> [(state.stress, state.stopped) for state in states]
    [(0.5, ''), (0.0, 'gain')]
    """
    X, last = start, np.inf
    for step in range(max_iter + 1):
        value, Delta = measure(X)
        settled = value == 0.0 or (step > 0 and last**2 - value**2 <= tolerance * max(last, 1e-3) ** 2)
        yield StressState(X, value, "gain" if settled else "")
        if settled:
            return
        X, last = guttman_transform(X, Delta, weights), value


def smacof_iterates(dissimilarities, start, weights=None, max_iter=1000, tolerance=1e-7) -> Iterator[StressState]:
    """Lower the metric stress of dissimilarities (N, N) by majorisation, equations (6.7) and (6.8).

    Other parameters, and what is yielded, as in `majorise`.

    Notes
    -----
    Costs O(N^2 q) a step. De Leeuw (1977).

    Examples
    --------
    >>> triangle = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    >>> *_, last = smacof_iterates(triangle, np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    >>> cdist(last.X, last.X).round(3)
    array([[0., 3., 4.],
           [3., 0., 5.],
           [4., 5., 0.]])
    """

    def measure(X):
        return stress(X, dissimilarities, weights), dissimilarities

    return majorise(measure, start, weights, max_iter, tolerance)


def sammon_stress(X, dissimilarities) -> tuple[float, np.ndarray]:
    r"""Sammon's stress, which counts errors relative to the dissimilarity, and its gradient.

    .. math:: E(X) = \frac1c \sum_{n<m} \frac{(\delta_{nm} - d_{nm})^2}{\delta_{nm}}, \qquad
              \frac{\partial E}{\partial x_n} = -\frac2c \sum_{m \ne n}
              \frac{\delta_{nm} - d_{nm}}{\delta_{nm}\, d_{nm}} (x_n - x_m), \qquad c = \sum_{n<m} \delta_{nm}

    Parameters
    ----------
    X : ndarray (N, q)
    dissimilarities : ndarray (N, N)

    Returns
    -------
    value : float
    gradient : ndarray (N, q)

    Notes
    -----
    Costs O(N^2 q). Pairs with dissimilarity 0 (duplicates) have no relative error and are left out.
    Sammon (1969), whose E this is. Chapter 6, equations (6.9) and (6.10).

    Examples
    --------
    >>> value, gradient = sammon_stress(np.array([[0.0], [3.0]]), np.array([[0.0, 4.0], [4.0, 0.0]]))
    >>> value, gradient.ravel()                                     # (1/4)^2; downhill is away from each other
    (0.0625, array([ 0.125, -0.125]))
    """
    Delta, D = dissimilarities, cdist(X, X)
    counts = Delta > COINCIDE * Delta.mean()
    c = np.sum(Delta, where=counts) / 2
    R = np.divide(Delta - D, Delta, out=np.zeros_like(D), where=counts)  # relative errors
    E = np.sum(R * (Delta - D)) / (2 * c)  # (6.9)
    A = np.divide(R, D, out=np.zeros_like(D), where=D > 0)
    gradient = (-2 / c) * (A.sum(axis=1)[:, None] * X - A @ X)  # (6.10)
    return float(E), gradient


def sammon_iterates(dissimilarities, start, method="l-bfgs", max_iter=1000, tolerance=1e-4) -> Iterator[StressState]:
    """Generator of `StressState`: lower Sammon's stress by gradients, the mean dissimilarity as the unit.

    Parameters
    ----------
    dissimilarities : ndarray (N, N)
    start : ndarray (N, q)
    method : "l-bfgs" or "scg"
    max_iter : int
    tolerance : float
        Converged when no element of the gradient of N (N - 1) E / 2, in those units, is larger.

    Notes
    -----
    Costs O(N^2 q) an evaluation. Chapter 6, equations (6.9) and (6.10).

    Examples
    --------
    >>> triangle = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    >>> *_, last = sammon_iterates(triangle, np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    >>> last.stress < 1e-8, last.stopped
    (True, 'gradient')
    """
    (N, q), n_pairs = start.shape, len(start) * (len(start) - 1) / 2
    unit = dissimilarities.sum() / (2 * n_pairs)  # so that `tolerance` does not depend on the units
    Delta = dissimilarities / unit

    def value_and_gradient(x):
        E, gradient = sammon_stress(x.reshape(N, q), Delta)
        return n_pairs * E, n_pairs * gradient.ravel()

    for iterate in minimise(value_and_gradient, start.ravel() / unit, method, max_iter, tolerance):
        yield StressState(unit * iterate.x.reshape(N, q), iterate.value / n_pairs, iterate.stopped)
