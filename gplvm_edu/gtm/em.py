"""The GTM's EM algorithm: responsibilities in log space, a weighted regression, one line for the noise.

Matrices over nodes and points are (K, N), one column a point: sums over nodes then run along memory. NaN in Y
means "not observed"; such entries are integrated out.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from ..linalg import has_gaps, solve_cholesky


class GTMState(NamedTuple):
    """One iterate: weights (D, M), noise precision, objective, log likelihood (or bound), passes over the data.

    `stopped` says on the last one why it is the last. `place` is set by an estimator, to find X when it is asked for.
    Some models of chapter 10 fit more: straight directions (D, p), or alpha and gamma, the number of effective weights.
    """

    weights: np.ndarray
    precision: float
    value: float
    log_likelihood: float
    sweeps: float
    stopped: str = ""
    place: Callable | None = None
    directions: np.ndarray | None = None
    alpha: float | None = None
    n_effective: float | None = None

    @property
    def X(self):
        """Posterior means of the training rows, (N, q), as much work as an E-step; None without an estimator."""
        return None if self.place is None else self.place(self)


def log_densities(Y, means, precision) -> np.ndarray:
    r"""ln p(y_n | node i) of the isotropic Gaussian around every node's image, for every point; (K, N).

    .. math:: \ln p(y_n \mid i) = \tfrac{D_n}2 \ln \tfrac\beta{2\pi} - \tfrac\beta2 \sum_{d \in O_n} (y_{nd} - m_{id})^2

    Parameters
    ----------
    Y : ndarray (N, D)
        O_n are the D_n entries of row n that are not NaN.
    means : ndarray (K, D)
        The images m_i of the nodes.
    precision : float

    Notes
    -----
    Costs O(K N D): the square is expanded, so that everything, constants included, is one matrix product.
    Chapter 9, equation (9.5), with gaps (9.18); Bishop, Svensén and Williams (1998), equation (3).

    Examples
    --------
    >>> Y = np.array([[0.0, 0.0], [1.0, np.nan]])
    >>> log_densities(Y, np.array([[0.0, 0.0], [1.0, 5.0]]), 1.0).round(4)      # the second row says nothing of 5
    array([[ -1.8379,  -1.4189],
           [-14.8379,  -0.9189]])
    """
    m, beta = means, precision
    m2, O, D = np.sum(m**2, axis=1, keepdims=True), np.ones((len(Y), 1)), Y.shape[1]
    if has_gaps(Y):
        m2, O = m**2, ~np.isnan(Y)
        Y, D = np.where(O, Y, 0.0), O.sum(axis=1)  # (9.18)
    y2 = np.einsum("nd,nd->n", Y, Y)
    constant = 0.5 * D * np.log(beta / (2 * np.pi)) - 0.5 * beta * y2  # (N,)
    left = np.hstack([beta * m, -0.5 * beta * m2, np.ones((len(m), 1))])
    return left @ np.hstack([Y, O, constant[:, None]]).T  # (9.5)  (K, N)


def responsibilities(log_p, overwrite=False) -> tuple[np.ndarray, np.ndarray]:
    r"""Posterior of the node given each point, and the log density of each point, all nodes equally likely.

    .. math:: R_{in} = \frac{p(y_n \mid i)}{\sum_j p(y_n \mid j)}, \qquad
              \ln p(y_n) = \ln \tfrac1K \sum_i p(y_n \mid i)

    Parameters
    ----------
    log_p : ndarray (K, N)
        Log densities, whatever the noise model; -inf is allowed, but not for all nodes of a point.
    overwrite : bool
        True uses the memory of `log_p` for R.

    Returns
    -------
    R : ndarray (K, N)
        Columns sum to one.
    log_density : ndarray (N,)

    Notes
    -----
    Costs one exp a number. The largest exponent of each column is taken out first, so nothing overflows and the
    winner never vanishes. Chapter 9, equations (9.6) and (9.7).

    Examples
    --------
    >>> R, log_density = responsibilities(np.array([[-1000.0], [-1000.0]]))
    >>> R.ravel(), log_density
    (array([0.5, 0.5]), array([-1000.]))
    """
    largest = log_p.max(axis=0)  # (N,)
    R = np.subtract(log_p, largest, out=log_p if overwrite else None)
    np.maximum(R, -600.0, out=R)  # below: denormal, slow
    np.exp(R, out=R)
    total = R.sum(axis=0)
    R *= 1.0 / total  # (9.7)  (K, N)
    return R, largest + np.log(total) - np.log(len(R))  # (9.6)


def weighted_sums(R, Y) -> tuple[np.ndarray, np.ndarray]:
    r"""What the M-step needs to know of the data: how much of it each node holds, and its sum there.

    .. math:: G_{id} = \sum_{n: d \in O_n} R_{in}, \qquad (RY)_{id} = \sum_{n: d \in O_n} R_{in}\, y_{nd}

    Returns
    -------
    counts : ndarray (K, 1), or (K, D) when Y has gaps
    sums : ndarray (K, D)

    Notes
    -----
    Costs O(K N D), one matrix product. Chapter 9, equations (9.11) and (9.19).

    Examples
    --------
    >>> weighted_sums(np.array([[1.0, 0.5], [0.0, 0.5]]), np.array([[2.0], [4.0]]))
    (array([[1.5],
           [0.5]]), array([[4.],
           [2.]]))
    """
    if has_gaps(Y):
        O = ~np.isnan(Y)
        return R @ O, R @ np.where(O, Y, 0.0)  # (9.19)
    return R.sum(axis=1, keepdims=True), R @ Y  # (9.11)


def solve_weights(Phi, counts, sums, ridge=0.0) -> np.ndarray:
    r"""The weights (D, M) of the sheet: a regression of the data on the basis, each node weighted by what it holds.

    .. math:: (\Phi^\top G \Phi + \tfrac\alpha\beta I)\, W^\top = \Phi^\top R Y

    Parameters
    ----------
    Phi : ndarray (K, M)
    counts : ndarray (K, 1) or (K, D)
        The diagonal of G; one for each column of the data where there are gaps.
    sums : ndarray (K, D)
        R Y.
    ridge : float
        alpha / beta, with the beta of the E-step.

    Notes
    -----
    Costs O(K M^2 + M^3 + M^2 D), with gaps D times the first two. Chapter 9, equations (9.12) and (9.19); Bishop,
    Svensén and Williams (1998), equations (8) and (11).

    Examples
    --------
    >>> solve_weights(np.eye(2), np.array([[2.0], [4.0]]), np.array([[2.0], [8.0]]))
    array([[1., 2.]])
    """
    B, M = Phi.T @ sums, Phi.shape[1]  # (M, D)
    W = np.empty((sums.shape[1], M))
    for d, g in enumerate(counts.T):
        A = Phi.T @ (g[:, None] * Phi)
        A.flat[:: M + 1] += ridge  # (9.12)  (M, M)
        rows = slice(None) if counts.shape[1] == 1 else slice(d, d + 1)  # (9.19)
        W[rows] = solve_cholesky(_factor(A, ridge), B[:, rows]).T
    return W


def _factor(A, ridge):
    """Cholesky factor of the M-step's matrix, or an error that says what to do about a singular one."""
    L, failed = lapack.dpotrf(A, lower=True)
    rcond = lapack.dpocon(L, np.abs(A).sum(axis=0).max(), uplo="L")[0] if failed == 0 else 0.0
    if rcond < 1e-15:
        raise ValueError(
            f"The M-step's {len(A)} x {len(A)} system is singular (reciprocal condition {rcond:.1g}, ridge alpha / "
            f"beta = {ridge:.3g}): the nodes that hold data do not determine {len(A)} weights. Give alpha a value "
            'above 0 (or a larger one), or use fewer basis functions; chapter 9, "Break it".'
        )
    return L


def squared_error(squares, means, counts, sums) -> float:
    r"""Sum over points, nodes and observed entries of R (y - m)^2, from the sums of the E-step alone.

    .. math:: \sum_{in} R_{in} \|y_n - m_i\|^2
              = \sum_n \|y_n\|^2 - 2 \sum_{id} m_{id} (RY)_{id} + \sum_{id} G_{id}\, m_{id}^2

    Parameters
    ----------
    squares : float
        Sum of the squares of all observed entries.
    means, sums : ndarray (K, D)
    counts : ndarray (K, 1) or (K, D)

    Notes
    -----
    Costs O(K D) where the double sum costs O(K N D), and it is exact for any weights. Divided by the number of
    observed entries it is 1 / beta. Chapter 9, equations (9.13) and (9.14); Bishop, Svensén and Williams (1998),
    equation (9).

    Examples
    --------
    >>> R, Y, m = np.array([[1.0, 0.5], [0.0, 0.5]]), np.array([[2.0], [4.0]]), np.array([[1.0], [3.0]])
    >>> squared_error(20.0, m, *weighted_sums(R, Y))        # 1 (2-1)^2 + 0.5 (4-1)^2 + 0.5 (4-3)^2
    6.0
    """
    m = means
    return float(squares - 2.0 * np.sum(m * sums) + np.sum(counts * m**2))  # (9.14)


def observed_squares(Y) -> tuple[float, int]:
    """Sum of the squares of the observed entries, and how many there are: the constants of equation (9.14).

    Examples
    --------
    >>> observed_squares(np.array([[3.0, np.nan], [4.0, 0.0]]))
    (25.0, 3)
    """
    if has_gaps(Y):
        return float(np.nansum(Y**2)), int(np.count_nonzero(~np.isnan(Y)))
    return float(np.vdot(Y, Y)), Y.size  # (9.14)


def m_step(Y, Phi, R, precision, alpha=0.0, noise_floor=0.0) -> tuple[np.ndarray, float]:
    """Weights by (9.12) with the old precision, then the precision by (9.13): returns (weights, precision).

    Notes
    -----
    Costs O(K N D + K M^2). Chapter 9, equations (9.12) and (9.13).

    Examples
    --------
    >>> W, beta = m_step(np.array([[0.0], [2.0]]), np.ones((1, 1)), np.ones((1, 2)), precision=1.0)
    >>> W, beta                                             # one node: the mean and one over the variance
    (array([[1.]]), 1.0)
    """
    counts, sums = weighted_sums(R, Y)
    W = solve_weights(Phi, counts, sums, alpha / precision)  # (9.12)
    squares, n_entries = observed_squares(Y)
    error = squared_error(squares, Phi @ W.T, counts, sums)
    return W, float(1.0 / max(error / n_entries, noise_floor))  # (9.13)


def em_iterates(Y, Phi, weights, precision, alpha=0.0, max_iter=200, noise_floor=0.0) -> Iterator[GTMState]:
    """Generator of `GTMState`, the start included; the penalised log likelihood never falls.

    Parameters
    ----------
    Y : ndarray (N, D)
        Centred; NaN where nothing was observed.
    Phi : ndarray (K, M)
    weights : ndarray (D, M)
        Where to start.
    precision : float
        Where to start.
    alpha : float
        Precision of the Gaussian prior on each weight.
    max_iter : int
    noise_floor : float
        Smallest noise variance allowed: nodes that sit on points could send it to 0 and the likelihood to infinity.

    Notes
    -----
    An iteration costs two matrix products of K N D and K N exponentials. Chapter 9, equations (9.7), (9.8), (9.12)
    and (9.13).

    Examples
    --------
    >>> Y = np.array([[-1.0, 1.0], [0.0, -1.0], [1.0, 0.5], [0.1, -0.5]])
    >>> values = [state.value for state in em_iterates(Y, np.eye(2), np.eye(2), 1.0, alpha=0.1, max_iter=5)]
    >>> len(values), bool(np.all(np.diff(values) > 0))
    (6, True)
    """
    W, beta = weights, precision
    for iteration in range(max_iter + 1):
        log_p = log_densities(Y, Phi @ W.T, beta)  # (9.5)
        R, log_density = responsibilities(log_p, overwrite=True)  # (9.7)
        L, penalty = float(np.sum(log_density)), 0.5 * alpha * float(np.sum(W**2))
        yield GTMState(W, beta, L - penalty, L, float(iteration))  # (9.8)
        if iteration < max_iter:
            W, beta = m_step(Y, Phi, R, beta, alpha, noise_floor)  # (9.12), (9.13)


def posterior_means(R, X) -> np.ndarray:
    """Where each point lies on average over its nodes, (N, q), equation (9.15).

    Examples
    --------
    >>> posterior_means(np.array([[0.5, 0.0], [0.5, 1.0]]), np.array([[-1.0], [1.0]]))
    array([[0.],
           [1.]])
    """
    return R.T @ X  # (9.15)


def posterior_modes(R, X) -> np.ndarray:
    """The node that takes most responsibility for each point, (N, q), equation (9.16).

    Examples
    --------
    >>> posterior_modes(np.array([[0.6, 0.0], [0.4, 1.0]]), np.array([[-1.0], [1.0]]))
    array([[-1.],
           [ 1.]])
    """
    return X[np.argmax(R, axis=0)]  # (9.16)
