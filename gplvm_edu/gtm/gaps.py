"""The GTM where entries of the data are missing (NaN), around the complete case; complete data go to `fast` and `em`.

An unobserved entry is integrated out of (9.5), which drops it from the sum. Each column of the data then has its own
counts, and its own regression (9.12).
"""

import numpy as np

from ..linalg import has_gaps
from . import em, fast


def log_densities(Y, means, precision) -> np.ndarray:
    r"""ln p of the observed entries of each row, for every node; (K, N).

    .. math:: \ln p(y_n \mid i) = \tfrac{|O_n|}2 \ln \tfrac\beta{2\pi}
              - \tfrac\beta2 \sum_{d \in O_n} (y_{nd} - m_{id})^2

    Parameters
    ----------
    Y : ndarray (N, D)
        O_n are the entries of row n that are not NaN.
    means : ndarray (K, D)
    precision : float

    Notes
    -----
    Costs O(K N D): one product, as in `fast.log_densities`, with m^2 column by column. Chapter 9, equation (9.18).

    Examples
    --------
    >>> Y = np.array([[0.0, 0.0], [1.0, np.nan]])
    >>> log_densities(Y, np.array([[0.0, 0.0], [1.0, 5.0]]), 1.0).round(4)      # the second row says nothing of 5
    array([[ -1.8379,  -1.4189],
           [-14.8379,  -0.9189]])
    """
    if not has_gaps(Y):
        return fast.log_densities(Y, means, precision)
    origin, O = means.mean(axis=0), ~np.isnan(Y)
    y, m, beta = np.where(O, Y - origin, 0.0), means - origin, precision
    D = O.sum(axis=1, keepdims=True)
    constant = 0.5 * D * np.log(beta / (2 * np.pi)) - 0.5 * beta * np.sum(y**2, axis=1, keepdims=True)
    left = np.hstack([beta * m, -0.5 * beta * m**2, np.ones((len(m), 1))])
    return left @ np.hstack([y, O, constant]).T  # (9.18)  (K, N)


def e_step(Y, means, precision) -> tuple[np.ndarray, np.ndarray]:
    """As `em.e_step`: responsibilities (K, N), and the log density of what was observed of each row (N,).

    Examples
    --------
    >>> R, log_density = e_step(np.array([[0.0, np.nan]]), np.array([[0.0, 1.0], [0.0, 5.0]]), 1.0)
    >>> R.ravel()
    array([0.5, 0.5])
    """
    return fast.responsibilities(log_densities(Y, means, precision), overwrite=True)


def weighted_sums(R, Y) -> tuple[np.ndarray, np.ndarray]:
    r"""As `em.weighted_sums`, over the rows in which a column was observed: counts are (K, D) then.

    .. math:: g_i^{(d)} = \sum_{n: d \in O_n} R_{in}, \qquad (RY)_{id} = \sum_{n: d \in O_n} R_{in}\, y_{nd}

    Notes
    -----
    Costs O(K N D). Chapter 9, equation (9.19).

    Examples
    --------
    >>> counts, sums = weighted_sums(np.array([[1.0, 0.5]]), np.array([[2.0, 1.0], [4.0, np.nan]]))
    >>> counts, sums
    (array([[1.5, 1. ]]), array([[4., 1.]]))
    """
    if not has_gaps(Y):
        return em.weighted_sums(R, Y)
    O = ~np.isnan(Y)
    return R @ O, R @ np.where(O, Y, 0.0)  # (9.19)


def solve_weights(Phi, counts, sums, ridge=0.0) -> np.ndarray:
    """As `em.solve_weights`; with counts (K, D) one system (9.12) for each column of the data; (D, M).

    Examples
    --------
    >>> solve_weights(np.ones((1, 1)), np.array([[2.0, 4.0]]), np.array([[2.0, 8.0]]))
    array([[1.],
           [2.]])
    """
    if counts.shape[1] == 1:
        return em.solve_weights(Phi, counts, sums, ridge)
    columns = zip(counts.T, sums.T, strict=True)
    return np.vstack([em.solve_weights(Phi, g[:, None], s[:, None], ridge) for g, s in columns])


def observed_squares(Y) -> tuple[float, int]:
    """Sum of the squares of the observed entries, and how many there are: the constants of equation (9.14).

    Examples
    --------
    >>> observed_squares(np.array([[3.0, np.nan], [4.0, 0.0]]))
    (25.0, 3)
    """
    return float(np.nansum(Y**2)), int(np.count_nonzero(~np.isnan(Y)))


def m_step(Y, Phi, R, precision, alpha=0.0, noise_floor=0.0) -> tuple[np.ndarray, float]:
    """As `em.m_step`: weights (D, M) and precision, from what was observed.

    Examples
    --------
    >>> Y = np.array([[0.0, 1.0], [2.0, np.nan]])
    >>> m_step(Y, np.ones((1, 1)), np.ones((1, 2)), precision=1.0)[0]            # one node: the means of the columns
    array([[1.],
           [1.]])
    """
    if not has_gaps(Y):
        return em.m_step(Y, Phi, R, precision, alpha, noise_floor)
    counts, sums = weighted_sums(R, Y)
    W = solve_weights(Phi, counts, sums, alpha / precision)
    squares, n_entries = observed_squares(Y)
    error = em.squared_error(squares, Phi @ W.T, counts, sums)
    return W, float(1.0 / max(error / n_entries, noise_floor))
