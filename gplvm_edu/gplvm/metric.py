"""The expected metric of the map: how far apart in the data two near places of the latent space lie (chapter 5)."""

from typing import NamedTuple

import numpy as np
from scipy import linalg


class ExpectedMetric(NamedTuple):
    """The two parts of the expected metric at M places, both (M, q, q)."""

    mean: np.ndarray
    variance: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """Their sum, <J'J>."""
        return self.mean + self.variance  # (5.37)

    def magnification(self) -> np.ndarray:
        """Length (area, volume) in data space that a unit of latent space becomes, (M,): the root of det <J'J>."""
        return np.sqrt(np.maximum(np.linalg.det(self.total), 0.0))


def expected_metric(process, X_new) -> ExpectedMetric:
    r"""Expected metric of a Gaussian process map, as the part of its mean and the part of its uncertainty.

    .. math:: \langle J^\top J \rangle = \bar J^\top \bar J
              + D \Big( \partial_x \partial_{x'} k - (\partial_x k_*)^\top K^{-1} \partial_x k_* \Big), \qquad
              \bar J = A^\top \partial_x k_*

    Parameters
    ----------
    process : ProcessMap
    X_new : ndarray (M, q)

    Notes
    -----
    Costs O(N^2 M q + N M q D). The derivative of a Gaussian process is one too: (5.7) and (5.8), differentiated. Noise
    has no derivative. This is the page's formula; `ProcessMap.metric` gives the sum for every map of kernels, and a
    test holds both together. Chapter 5, equation (5.37).

    Examples
    --------
    >>> from gplvm_edu.gplvm import ProcessMap
    >>> from gplvm_edu.kernels import RBF
    >>> one_point = ProcessMap(RBF(), np.zeros((1, 1)), np.eye(1), np.array([[2.0]]))
    >>> metric = expected_metric(one_point, np.array([[0.0], [1.0]]))
    >>> metric.mean.ravel().round(3), metric.variance.ravel().round(3)           # flat on top of the bell, but unsure
    (array([0.   , 1.472]), array([1.   , 0.632]))
    """
    kernel, X, L, A = process.kernel, process.centres, process.factor, process.weights
    slopes = kernel.input_derivatives(X_new, X)  # (M, N, q)
    (M, N, q), D = slopes.shape, A.shape[1]
    J = np.einsum("mni,nd->mdi", slopes, A)  # (M, D, q)
    V = linalg.solve_triangular(L, slopes.transpose(1, 0, 2).reshape(N, M * q), lower=True).reshape(N, M, q)
    told = np.einsum("nmi,nmj->mij", V, V)
    covariance = kernel.mixed_derivative(X_new) - told  # (5.37)  (M, q, q)
    return ExpectedMetric(np.einsum("mdi,mdj->mij", J, J), D * covariance)  # (5.37)
