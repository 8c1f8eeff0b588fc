"""Expectations of RBF kernels under Gaussian points: the one integral behind the Psi statistics, and its gradient.

An RBF kernel averaged over an uncertain point is a wider and lower one. Its exponent is bilinear: a few features of the
point times a few features of the kernel's centre. So all exponents are one matrix product, and so is each half of the
gradient.
"""

from typing import NamedTuple

import numpy as np

BLOCK_ROWS = 128  # rows of exponents made at a time, so that they are still in the cache when they are summed
BACK_ROWS = 32  # and in the gradient: OpenBLAS multiplies so few rows without copying them first, 1.6 times as fast
KEPT_NUMBERS = 2**25  # exponentials kept for the gradient: 256 MB; beyond it they are computed again


def point_features(latent_mean, latent_variance, weights, order) -> np.ndarray:
    r"""Features of uncertain points for the exponent of an expected RBF, (N, 2q + 2).

    .. math:: (w,\ w \mu,\ -\tfrac12 \textstyle\sum_q [w_q \mu_q^2 + \ln(\kappa \alpha_q S_q + 1)],\ 1), \qquad
              w_q = \frac{\kappa \alpha_q}{\kappa \alpha_q S_q + 1}

    Parameters
    ----------
    latent_mean, latent_variance : ndarray (N, q)
    weights : ndarray (q,)
        alpha, the inverse squared widths of the kernel.
    order : int
        kappa: 1 for the expectation of one kernel (Psi1), 2 for that of a product of two (Psi2).

    Notes
    -----
    Costs O(N q). Chapter 12, equations (12.13) and (12.15).

    Examples
    --------
    >>> point_features(np.array([[2.0]]), np.array([[0.5]]), np.array([1.0]), 2).round(4)
    array([[ 1.    ,  2.    , -2.3466,  1.    ]])
    """
    mu, S, alpha, kappa = latent_mean, latent_variance, weights, order
    rho = kappa * alpha * S + 1.0  # (N, q)
    w = kappa * alpha / rho  # (12.13)
    third = -0.5 * np.sum(w * mu**2 + np.log(rho), axis=1)
    return np.column_stack([w, w * mu, third, np.ones(len(mu))])  # (12.15)


def centre_features(centres, offsets) -> np.ndarray:
    r"""Features of centres, heights exp(offset), for the exponent of an expected RBF, (2q + 2, C).

    .. math:: (-\tfrac12 c^2,\ c,\ 1,\ \text{offset})

    Notes
    -----
    Costs O(C q). Chapter 12, equation (12.15).

    Examples
    --------
    >>> centre_features(np.array([[3.0]]), np.array([0.0])).ravel()
    array([-4.5,  3. ,  1. ,  0. ])
    """
    c = centres
    features = [-0.5 * c.T**2, c.T, np.ones((1, len(c))), np.reshape(offsets, (1, -1))]
    return np.vstack(features)


def pull_back_points(d_features, latent_mean, latent_variance, weights, order) -> tuple[np.ndarray, ...]:
    """From gradients in `point_features` to those in mean (N, q), variance (N, q) and weights (q,), (12.17).

    Examples
    --------
    >>> d = np.array([[0.0, 1.0, 0.0, 0.0]])                                     # of w mu = 2, with w = 1
    >>> pull_back_points(d, np.array([[2.0]]), np.array([[0.5]]), np.array([1.0]), 2)
    (array([[1.]]), array([[-2.]]), array([1.]))
    """
    mu, S, alpha, kappa = latent_mean, latent_variance, weights, order
    q = mu.shape[1]
    shrunk = 1.0 / (kappa * alpha * S + 1.0)  # 1 / rho
    w = kappa * alpha * shrunk
    d_w, d_wmu, d_3 = d_features[:, :q], d_features[:, q : 2 * q], d_features[:, 2 * q : 2 * q + 1]
    mu_d = mu * d_3
    d_mu = w * (d_wmu - mu_d)  # (12.17)
    d_bar = d_w + mu * (d_wmu - 0.5 * mu_d)  # (12.17)
    d_S = -w * (w * d_bar + 0.5 * d_3)  # (12.17)
    d_alpha = kappa * np.einsum("nq,nq->q", shrunk, shrunk * d_bar - 0.5 * S * d_3)  # (12.17)
    return d_mu, d_S, d_alpha


def pull_back_centres(d_features, centres) -> tuple[np.ndarray, np.ndarray]:
    """From gradients in `centre_features` to those in the centres (C, q) and the offsets (C,), (12.17).

    Examples
    --------
    >>> pull_back_centres(np.array([[1.0], [0.0], [0.0], [5.0]]), np.array([[3.0]]))
    (array([[-3.]]), array([5.]))
    """
    q = centres.shape[1]
    return d_features[q : 2 * q].T - centres * d_features[:q].T, d_features[-1]  # (12.17)


def expected_rbf(left, right, out=None) -> np.ndarray:
    r"""The expectations themselves, (N, C), from the features of points and of centres.

    .. math:: \int N(x \mid \mu_n, S_n)\, e^{-\frac\kappa2 \sum_q \alpha_q (x_q - c_q)^2 + \text{offset}}\, dx
              = e^{\text{left}_n \cdot \text{right}_c}

    Notes
    -----
    Costs O(N C q): one matrix product and one exp, into `out` if given. Chapter 12, equations (12.13) and (12.15).

    Examples
    --------
    >>> left = point_features(np.array([[2.0]]), np.array([[0.5]]), np.array([1.0]), 2)
    >>> expected_rbf(left, centre_features(np.array([[3.0]]), np.array([0.0]))).round(4)       # exp(-1/2) / sqrt(2)
    array([[0.4289]])
    """
    E = np.matmul(left, right, out=out)  # (12.15)
    return np.exp(E, out=E)


class PairSums(NamedTuple):
    """Sums of expectations over points: `sums` (G, 2q + 2, C), weighted by each feature of the points.

    The last feature is 1, so `sums[:, -1]` are the plain sums. `kept` are the exponentials (N, C), or None.
    """

    sums: np.ndarray
    kept: np.ndarray | None


def sum_expectations(left, right, groups=None) -> PairSums:
    """`PairSums`: expectations summed over the points of each group, with what their gradient in the centres needs.

    Parameters
    ----------
    left : ndarray (N, 2q + 2)
    right : ndarray (2q + 2, C)
    groups : ndarray (G, N) or None
        Which point counts in which sum (0 or 1); None: one sum over all.

    Notes
    -----
    Costs O(N C q), in blocks of rows; no more than a stated number of exponentials is kept.
    Chapter 12, equations (12.15) and (12.16).

    Examples
    --------
    >>> left, right = np.zeros((3, 4)), np.zeros((4, 2))
    >>> left[:, -1] = 1.0
    >>> sum_expectations(left, right).sums[0, -1]
    array([3., 3.])
    """
    N, C = len(left), right.shape[1]
    G = np.ones((1, N)) if groups is None else groups
    kept = np.empty((N, C)) if N * C <= KEPT_NUMBERS else None
    sums = np.zeros((len(G), *right.shape))
    for rows in _blocks(N, BLOCK_ROWS):
        E = expected_rbf(left[rows], right, None if kept is None else kept[rows])
        for g, mask in enumerate(G):
            sums[g] += (left[rows] if groups is None else mask[rows, None] * left[rows]).T @ E  # (12.16)
    return PairSums(sums, kept)


def pull_back_sums(d_sums, pair_sums, left, right, groups=None) -> tuple[np.ndarray, np.ndarray]:
    r"""From gradients in the plain sums (G, C) to those in both kinds of features.

    .. math:: \frac{\partial F}{\partial \text{left}} = E\, (g \circ \text{right})^\top, \qquad
              \frac{\partial F}{\partial \text{right}} = g \circ (\text{left}^\top E)

    Notes
    -----
    Costs O(N C q). The gradient g is folded into the features of the centres, so that no second array of N x C is
    formed; the product on the right was made by `sum_expectations`. Chapter 12, equation (12.16).

    Examples
    --------
    >>> left, right = np.array([[0.5, 0.2, -1.0, 1.0]]), np.array([[-0.5], [1.0], [1.0], [0.0]])
    >>> d_left, d_right = pull_back_sums(np.ones((1, 1)), sum_expectations(left, right), left, right)
    >>> d_left.round(3), d_right.ravel().round(3)
    (array([[-0.175,  0.35 ,  0.35 ,  0.   ]]), array([ 0.175,  0.07 , -0.35 ,  0.35 ]))
    """
    d_left, d_right = np.zeros_like(left), np.sum(d_sums[:, None] * pair_sums.sums, axis=0)  # (12.16)
    folded = [(g * right).T.copy() for g in d_sums]  # (C, 2q + 2)
    for rows in _blocks(len(left), BACK_ROWS):
        E = expected_rbf(left[rows], right) if pair_sums.kept is None else pair_sums.kept[rows]
        for g, right_g in enumerate(folded):
            product = E @ right_g  # (12.16)
            d_left[rows] += product if groups is None else groups[g, rows, None] * product
    return d_left, d_right


def _blocks(N, size):
    return [slice(i, min(i + size, N)) for i in range(0, N, size)]
