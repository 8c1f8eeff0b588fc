"""Classical scaling's own criterion, the strain, beside the divergence: least squares between two matrices."""

import numpy as np

from .. import checks
from ..checks import same_points, symmetric
from .closed_form import spectrum


def strain(S, K) -> float:
    r"""Sum of squared differences of two symmetric matrices: the strain, where K holds inner products of a map.

    .. math:: \|S - K\|^2 = \sum_{nm} (S_{nm} - K_{nm})^2

    Parameters
    ----------
    S, K : ndarray (N, N)

    Notes
    -----
    Costs O(N^2). It is finite for singular K too, where the divergence is infinite. Chapter 3, equation (3.17).

    Examples
    --------
    >>> strain(np.diag([3.0, 1.0]), np.diag([3.0, 0.0]))
    1.0
    """
    S, K = same_points(symmetric(S, "S"), symmetric(K, "K"))
    return float(np.sum((S - K) ** 2))  # (3.17)


def strain_minimiser(S, n_components, noise=False) -> tuple[np.ndarray, float]:
    r"""The positions, and the noise, whose covariance has the least strain: classical MDS, or with noise (3.11) again.

    .. math:: \min_X \|S - X X^\top\|^2 = \sum_{j > q} \lambda_j^2, \qquad
              \min_{X, c} \|S - X X^\top - c I\|^2 = \sum_{j > q} (\lambda_j - \hat c)^2

    Parameters
    ----------
    S : ndarray (N, N)
        Positive semi-definite.
    n_components : int
        q, below N.
    noise : bool
        False: K = X X', the lengths are sqrt(lambda). True: K = X X' + c I, they are sqrt(lambda - c).

    Returns
    -------
    latent : ndarray (N, q)
    noise : float
        c, the mean of the discarded eigenvalues, or 0.0.

    Notes
    -----
    Costs O(N^3). With noise it is what `minimiser` finds for the divergence. Chapter 3, equations (3.17) and (3.18).

    Examples
    --------
    >>> S = np.diag([5.0, 2.0, 1.0, 0.0])
    >>> [(X.ravel().round(3), c) for X, c in (strain_minimiser(S, 1), strain_minimiser(S, 1, noise=True))]
    [(array([2.236, 0.   , 0.   , 0.   ]), 0.0), (array([2., 0., 0., 0.]), 1.0)]
    """
    q = n_components
    lam, U = spectrum(S)
    if not 0 < q < len(lam):
        raise ValueError(f"n_components={q} is out of range: between 1 and N - 1 = {len(lam) - 1} axes can be kept.")
    c = float(np.mean(lam[q:])) if checks.flag("noise", noise) else 0.0  # (3.18)
    return U[:, :q] * np.sqrt(lam[:q] - c), c  # (3.17), (3.18)
