"""The energy of a map: how badly its affinities, under a Student t distribution, say what the data's affinities say."""

import numpy as np
from scipy.spatial.distance import cdist

from ..linalg import squared_distances
from ..threads import n_rows, suited


def student_affinities(X) -> np.ndarray:
    r"""Affinities of latent positions: a Student t distribution with one degree of freedom over all pairs.

    .. math:: q_{nm} = \frac{(1 + \|x_n - x_m\|^2)^{-1}}{\sum_{n' \ne m'} (1 + \|x_{n'} - x_{m'}\|^2)^{-1}},
              \qquad q_{nn} = 0

    Notes
    -----
    Costs O(N^2 q). Chapter 11, equation (11.6).

    Examples
    --------
    >>> student_affinities(np.array([[0.0], [1.0], [3.0]])).round(2)
    array([[0.  , 0.31, 0.06],
           [0.31, 0.  , 0.12],
           [0.06, 0.12, 0.  ]])
    """
    W = 1.0 / (1.0 + cdist(X, X, "sqeuclidean"))
    np.fill_diagonal(W, 0.0)
    return W / W.sum()  # (11.6)


def divergence(P, Q) -> float:
    r"""Kullback-Leibler divergence from Q to P over the ordered pairs n != m.

    .. math:: C = \sum_{n \ne m} p_{nm} \ln \frac{p_{nm}}{q_{nm}}

    Notes
    -----
    Costs O(N^2). Pairs with p = 0 add nothing, whatever their q. Chapter 11, equation (11.7).

    Examples
    --------
    >>> P = np.array([[0.0, 0.3], [0.7, 0.0]])
    >>> round(divergence(P, P), 6), round(divergence(P, P.T), 4)
    (0.0, 0.3389)
    """
    counted = P > 0
    return float(np.sum(P[counted] * np.log(P[counted] / Q[counted])))  # (11.7)


@suited(n_rows)
def cost_and_gradient(X, P, with_cost=True) -> tuple[float, np.ndarray]:
    r"""The cost of t-SNE and its gradient.

    .. math:: C = \sum_{n \ne m} p_{nm} \ln \frac{p_{nm}}{q_{nm}}, \qquad
              \frac{\partial C}{\partial x_n} = 4 \sum_m (p_{nm} - q_{nm})\, w_{nm}\, (x_n - x_m), \qquad
              w_{nm} = \frac{1}{1 + \|x_n - x_m\|^2}

    Parameters
    ----------
    X : ndarray (N, q)
    P : ndarray (N, N)
        Joint affinities: symmetric, their sum 1. With `a * P` in its place the gradient is that of exaggerated
        affinities, and the cost has no meaning.
    with_cost : bool
        False: the gradient alone; NaN stands for the cost.

    Returns
    -------
    cost : float
    gradient : ndarray (N, q)

    Notes
    -----
    Costs O(N^2 q) and half a dozen N x N arrays. With s_nm = (p_nm - q_nm) w_nm the gradient is the graph Laplacian
    of S applied to X. `fast.cost_and_gradient` gives the same from strips of rows. Chapter 11, equations (11.6) to
    (11.10).

    Examples
    --------
    >>> P = np.array([[0.0, 0.5, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> cost, gradient = cost_and_gradient(np.array([[0.0], [1.0], [2.0]]), P)
    >>> round(cost, 4), gradient.ravel().round(4)            # descent: the first two meet, the third leaves
    (0.8755, array([-0.45,  1.  , -0.55]))
    """
    W = 1.0 / (1.0 + cdist(X, X, "sqeuclidean"))
    np.fill_diagonal(W, 0.0)
    Q = W / W.sum()  # (11.6)
    S = (P - Q) * W
    gradient = 4.0 * (S.sum(axis=1)[:, None] * X - S @ X)  # (11.10)
    return divergence(P, Q) if with_cost else np.nan, gradient


def printed_cost_and_gradient(X, P) -> tuple[float, np.ndarray]:
    r"""The cost with q as section 4 of the paper prints it, and the gradient of that.

    .. math:: q_{nm} = \frac{(1 + \|x_n - x_m\|)^2}{\sum_{n' \ne m'} (1 + \|x_{n'} - x_{m'}\|)^2}

    Notes
    -----
    Costs O(N^2 q). This q grows with the distance, so its cost is low where neighbours are far apart: kept to be
    looked at, not to be used. Chapter 11, equation (11.21).

    Examples
    --------
    >>> P = np.array([[0.0, 0.5, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> near, far = np.array([[0.0], [1.0], [2.0]]), np.array([[0.0], [2.0], [1.0]])
    >>> printed_cost_and_gradient(near, P)[0] > printed_cost_and_gradient(far, P)[0]
    True
    """
    d = np.sqrt(squared_distances(X))
    Q = (1.0 + d) ** 2
    np.fill_diagonal(Q, 0.0)
    Q /= Q.sum()  # (11.21)
    np.fill_diagonal(d, 1.0)
    S = -(P - Q) / (np.maximum(d, 1e-12) * (1.0 + d))
    return divergence(P, Q), 4.0 * (S.sum(axis=1)[:, None] * X - S @ X)  # (11.21)


def class_energy(X, target) -> tuple[float, np.ndarray]:
    r"""An energy that knows labels: minus the expected share of right answers of a random nearest neighbour.

    .. math:: E = -\frac1N \sum_n \sum_{m: t_m = t_n} r_{nm}, \qquad
              r_{nm} = \frac{e^{-\|x_n - x_m\|^2}}{\sum_{k \ne n} e^{-\|x_n - x_k\|^2}}

    Parameters
    ----------
    X : ndarray (N, q)
    target : sequence (N,)
        Labels; None or -1 for a point without one, which counts in the denominators alone.

    Returns
    -------
    energy : float
        Between -1 and 0.
    gradient : ndarray (N, q)

    Notes
    -----
    Costs O(N^2 q). Neighbourhood components analysis (Goldberger et al. 2005) of the latent positions, which van der
    Maaten (2009) proposes to add to the energy. Chapter 11, equation (11.19).

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> round(class_energy(X, [0, 0, 1, 1])[0], 3), round(class_energy(X, [0, 1, 0, 1])[0], 3)
    (-1.0, -0.0)
    """
    N, t = len(X), np.array([-1 if label is None else label for label in target])
    D2 = squared_distances(X)
    np.fill_diagonal(D2, np.inf)
    R = np.exp(D2.min(axis=1, keepdims=True) - D2)
    R /= R.sum(axis=1, keepdims=True)
    same = (t[:, None] == t) & (t != -1)
    right = np.sum(R * same, axis=1, keepdims=True)  # (11.19)
    S = R * (same - right) * (t != -1)[:, None] / N
    S = S + S.T
    return float(-right.sum() / N), 2.0 * (S.sum(axis=1)[:, None] * X - S @ X)  # (11.19)
