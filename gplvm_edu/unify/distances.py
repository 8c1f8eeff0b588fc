"""From distances to similarities and back, the nearest Euclidean distances, and pre-images in feature space."""

from collections.abc import Iterator

import numpy as np
from scipy import linalg

from .. import checks
from ..linalg import double_centre, nearest_semidefinite, squared_distances


def similarity_from_distances(distances) -> np.ndarray:
    r"""Inner products (N, N) of centred points from the distances between them, which are not squared.

    .. math:: S = -\tfrac12 H D^{(2)} H, \qquad D^{(2)}_{nm} = d_{nm}^2

    Notes
    -----
    Costs O(N^2). Positive semi-definite if and only if the distances are those of points in a Euclidean space.
    Chapter 3, equation (3.26).

    Examples
    --------
    >>> similarity_from_distances(np.array([[0.0, 2.0], [2.0, 0.0]]))        # two points at -1 and 1
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    return double_centre(-0.5 * checks.distances(distances) ** 2)  # (3.26)


def distances_from_similarity(S) -> np.ndarray:
    r"""The distances of points whose inner products are given.

    .. math:: d_{nm}^2 = S_{nn} + S_{mm} - 2 S_{nm}

    Notes
    -----
    Costs O(N^2). Chapter 3, equation (3.25).

    Examples
    --------
    >>> distances_from_similarity(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    array([[0., 2.],
           [2., 0.]])
    """
    D2 = np.diag(S)[:, None] + np.diag(S) - 2.0 * S  # (3.25)
    np.fill_diagonal(D2, 0.0)
    return np.sqrt(np.maximum(D2, 0.0))


def nearest_euclidean(distances) -> np.ndarray:
    r"""Distances of points in a Euclidean space, near to distances that are not.

    .. math:: S \to \hat S = U \max(\Lambda, 0)\, U^\top \to \hat d_{nm}^2 = \hat S_{nn} + \hat S_{mm} - 2 \hat S_{nm}

    Nearest refers to the similarities, equation (3.26); no distance becomes smaller. Euclidean distances do not change.

    Notes
    -----
    Costs O(N^3). Chapter 3, equation (3.32).

    Examples
    --------
    >>> D = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 1.0], [3.0, 1.0, 0.0]])    # 3 > 1 + 1: no triangle
    >>> nearest_euclidean(D).round(3)
    array([[0. , 1.5, 3. ],
           [1.5, 0. , 1.5],
           [3. , 1.5, 0. ]])
    """
    return distances_from_similarity(nearest_semidefinite(similarity_from_distances(distances)))


def additive_constant(distances) -> tuple[np.ndarray, float]:
    r"""The smallest number that makes distances Euclidean when it is added to every squared one.

    .. math:: \hat d_{nm}^2 = d_{nm}^2 + 2 \delta \;(n \ne m), \qquad \delta = \max(0, -\lambda_N(S))

    Both distances are (N, N). Returns the Euclidean ones and the constant, 2 delta.

    Notes
    -----
    Costs O(N^3). It adds delta to every eigenvalue of S but that of the constant vector, as independent noise does.
    Chapter 3, equation (3.33).

    Examples
    --------
    >>> D = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 1.0], [3.0, 1.0, 0.0]])
    >>> corrected, constant = additive_constant(D)
    >>> round(constant, 3), corrected[0].round(3)
    (1.667, array([0.   , 1.633, 3.266]))
    """
    delta = max(0.0, -linalg.eigvalsh(similarity_from_distances(distances), subset_by_index=(0, 0))[0])
    D2 = np.asarray(distances) ** 2 + 2.0 * delta  # (3.33)
    np.fill_diagonal(D2, 0.0)
    return np.sqrt(D2), float(2.0 * delta)


def centre_new(proximities, training_means) -> np.ndarray:
    r"""Proximities between new and old points, centred as the old ones were.

    .. math:: \tilde a_{*m} = a_{*m} - \tfrac1N \sum_n a_{*n} - \bar a_m + \bar a, \qquad
              \bar a_m = \tfrac1N \sum_n a_{nm}

    Parameters
    ----------
    proximities : ndarray (M, N)
        A kernel k(y_*, y_m), a similarity, or -1/2 of a squared distance.
    training_means : ndarray (N,)
        Column means of the same quantity among the N old points.

    Notes
    -----
    Costs O(M N). Chapter 3, equation (3.24).

    Examples
    --------
    >>> A = np.array([[2.0, 0.0], [0.0, 4.0]])
    >>> centre_new(A, A.mean(axis=0))                    # the old points again: H A H
    array([[ 1.5, -1.5],
           [-1.5,  1.5]])
    """
    A, means = proximities, training_means
    return A - A.mean(axis=1, keepdims=True) - means + means.mean()  # (3.24)


def new_distances(D, kind="distance") -> np.ndarray:
    """Distances between new and old points, if none is below zero by more than rounding.

    Examples
    --------
    >>> new_distances(np.array([[1.0, -2.0]]))
    Traceback (most recent call last):
    ...
    ValueError: Y has the entry -2 at row 0, column 1, and a distance is 0 or more.
    """
    if D.min() < -checks.ROUNDING * np.abs(D).max():
        row, column = np.unravel_index(np.argmin(D), D.shape)
        raise ValueError(
            f"Y has the entry {D[row, column]:.6g} at row {row}, column {column}, and a {kind} is 0 or more."
        )
    return np.maximum(D, 0.0)


def preimage_iterates(Y, weights, inverse_width, start, max_iter=100) -> Iterator[tuple[np.ndarray, float]]:
    r"""Fixed-point iteration for the pre-image: the point whose RBF features are nearest to a combination of features.

    .. math:: y \leftarrow \frac{\sum_n \alpha_n k(y, y_n)\, y_n}{\sum_n \alpha_n k(y, y_n)}

    Parameters
    ----------
    Y : ndarray (N, D)
        The points whose features are combined.
    weights : ndarray (N,)
        alpha; `KernelPCA.feature_weights` gives those of a latent point.
    inverse_width : float
        Of the RBF kernel.
    start : ndarray (D,)
    max_iter : int

    Yields
    ------
    y : ndarray (D,)
    value : float
        sum of alpha_n k(y, y_n), for an RBF of variance 1. At a fixed point it is stationary.

    Notes
    -----
    Costs O(N D) a step. It stops where the sum is not positive, because of negative weights: the step is not defined
    there. Chapter 3, equation (3.29).

    Examples
    --------
    >>> Y = np.array([[0.0], [1.0]])
    >>> *_, (y, value) = preimage_iterates(Y, np.array([0.5, 0.5]), 1.0, np.array([0.1]))
    >>> y.round(3)
    array([0.5])
    """
    y = np.asarray(start, float)
    for _ in range(max_iter + 1):
        w = weights * np.exp(-0.5 * inverse_width * squared_distances(Y, y[None])[:, 0])  # alpha_n k(y, y_n)  (N,)
        yield y, float(w.sum())
        if w.sum() <= 0:
            return
        y = w @ Y / w.sum()  # (3.29)
