"""A kernel on the latent side too: the likelihood of positions under any latent kernel, given the data's kernel matrix.

What the data say enters through A alone, and through its contrasts at that: an offset of each feature costs nothing and
explains nothing. So different latent kernels can be compared on one and the same A.
"""

from collections.abc import Iterator

import numpy as np

from ..kernels import split_white
from ..linalg import cholesky_with_jitter, inverse_from_cholesky, log_determinant
from ..optimise import minimise
from .em import WishartState


def contrast_precision(K) -> tuple[np.ndarray, float]:
    r"""Precision of the contrasts, written for all N points, and the log determinant of their covariance.

    .. math:: P = K^{-1} - \frac{K^{-1} 1 1^\top K^{-1}}{1^\top K^{-1} 1} = B (B^\top K B)^{-1} B^\top, \qquad
              \ln |B^\top K B| = \ln |K| + \ln \frac{1^\top K^{-1} 1}{N}

    Parameters
    ----------
    K : ndarray (N, N)
        Positive definite: the covariance of a feature over the points, noise included.

    Returns
    -------
    P : ndarray (N, N)
    log_determinant : float

    Notes
    -----
    Costs O(N^3). B has orthonormal columns orthogonal to 1, and need not be made. Chapter 4, equations (4.16) and
    (4.15).

    Examples
    --------
    >>> P, ln_det = contrast_precision(np.diag([1.0, 1.0]))
    >>> P, ln_det
    (array([[ 0.5, -0.5],
           [-0.5,  0.5]]), 0.0)
    """
    L, _ = cholesky_with_jitter(K)
    K_inv = inverse_from_cholesky(L)
    v = K_inv.sum(axis=1)  # K^-1 1
    P = K_inv - np.outer(v, v) / v.sum()  # (4.15)  (N, N)
    return P, float(log_determinant(L) + np.log(v.sum() / len(K)))  # (4.16)


def latent_log_likelihood(A, K) -> tuple[float, np.ndarray]:
    r"""Log likelihood for each feature of a latent covariance K, offsets removed, and its gradient in K.

    .. math:: \ell = -\tfrac12 \left[ \ln |B^\top K B| + \mathrm{tr}(P A) \right], \qquad
              \frac{\partial \ell}{\partial K} = \tfrac12 (P A P - P)

    The model is A ~ W(r, K / r), up to the offsets; what has no K in it is left out, so that only differences on one
    and the same A mean something. They do not depend on r.

    Parameters
    ----------
    A : ndarray (N, N)
        The data's kernel matrix, positive semi-definite.
    K : ndarray (N, N)
        Positive definite, on the scale of A.

    Returns
    -------
    value : float
    gradient : ndarray (N, N)

    Notes
    -----
    Costs O(N^3). Chapter 4, equation (4.28) with P in the place of the inverse.

    Examples
    --------
    >>> value, gradient = latent_log_likelihood(np.eye(3), np.eye(3))
    >>> value, bool(np.allclose(gradient, 0))                                 # K = A: nothing to gain
    (-1.0, True)
    """
    P, ln_det = contrast_precision(K)
    PA = P @ A
    return -0.5 * (ln_det + float(np.trace(PA))), 0.5 * (PA @ P - P)  # (4.28)


def latent_iterates(A, latent, kernel, max_iter=500) -> Iterator[WishartState]:
    """Climb (4.28) in the positions and in the free parameters of the latent kernel; a generator of `WishartState`.

    Parameters
    ----------
    A : ndarray (N, N)
        The data's kernel matrix.
    latent : ndarray (N, q)
        The start.
    kernel : kernel of chapter 2
        Its `White` part is the noise. It is changed: after each state it is that state's kernel.
    max_iter : int
        Steps of L-BFGS at most; it stops earlier where no entry of the gradient exceeds 0.001.

    Notes
    -----
    Costs O(N^3) a step. Many maxima: try several starts. Chapter 4, equation (4.28).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF, White
    >>> X = np.array([[-1.0], [-0.4], [0.3], [1.1]])
    >>> states = list(latent_iterates(RBF(1.0, 2.0)(X), 0.1 * X, RBF() + White(0.1), max_iter=20))
    >>> states[0].X.shape, bool(states[-1].value > states[0].value)
    ((4, 1), True)
    """
    shape, size = latent.shape, latent.size

    def value_and_gradient(x):
        X, kernel.theta = x[:size].reshape(shape), x[size:]
        value, dl_dK = latent_log_likelihood(A, kernel(X))
        dX, dtheta = kernel.gradients(dl_dK, X)
        return -value, -np.concatenate([dX.ravel(), dtheta])

    start = np.concatenate([latent.ravel(), kernel.theta])
    for now in minimise(value_and_gradient, start, "l-bfgs", max_iter, tolerance=1e-3):
        kernel.theta = now.x[size:]
        yield WishartState(now.x[:size].reshape(shape), split_white(kernel)[1], -now.value, now.stopped)
