"""The GTM's EM algorithm: responsibilities in log space, a weighted regression, one line for the noise.

Matrices over nodes and points are (K, N), one column a point. The data are complete here; `gaps` has the same for rows
with missing values, and `fast` the E-step that the estimators use.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from ..linalg import solve_cholesky, squared_distances
from ..threads import suited


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

    .. math:: \ln p(y_n \mid i) = \tfrac D2 \ln \tfrac\beta{2\pi} - \tfrac\beta2 \|y_n - m_i\|^2

    Parameters
    ----------
    Y : ndarray (N, D)
    means : ndarray (K, D)
        The images m_i of the nodes.
    precision : float

    Notes
    -----
    Costs O(K N D). Chapter 9, equation (9.5); Bishop, Svensén and Williams (1998), equation (3).

    Examples
    --------
    >>> log_densities(np.array([[0.0, 0.0], [1.0, 3.0]]), np.array([[0.0, 0.0], [1.0, 5.0]]), 1.0).round(4)
    array([[ -1.8379,  -6.8379],
           [-14.8379,  -3.8379]])
    """
    m, beta, D = means, precision, Y.shape[1]
    return 0.5 * D * np.log(beta / (2 * np.pi)) - 0.5 * beta * squared_distances(m, Y)  # (9.5)  (K, N)


def responsibilities(log_p) -> tuple[np.ndarray, np.ndarray]:
    r"""Posterior of the node given each point, and the log density of each point, all nodes equally likely.

    .. math:: R_{in} = \frac{p(y_n \mid i)}{\sum_j p(y_n \mid j)}, \qquad
              \ln p(y_n) = \ln \tfrac1K \sum_i p(y_n \mid i)

    Parameters
    ----------
    log_p : ndarray (K, N)
        Log densities, whatever the noise model; -inf is allowed, but not for all nodes of a point.

    Returns
    -------
    R : ndarray (K, N)
        Columns sum to one.
    log_density : ndarray (N,)

    Notes
    -----
    Costs one exp a number. The largest exponent of each column is taken out first, so nothing overflows and the
    likeliest node never vanishes. Chapter 9, equations (9.6) and (9.7).

    Examples
    --------
    >>> R, log_density = responsibilities(np.array([[-1000.0], [-1000.0]]))
    >>> R.ravel(), log_density
    (array([0.5, 0.5]), array([-1000.]))
    """
    largest = log_p.max(axis=0)  # (N,)
    p = np.exp(log_p - largest)
    total = p.sum(axis=0)
    return p / total, largest + np.log(total / len(p))  # (9.7), (9.6)


def weighted_sums(R, Y) -> tuple[np.ndarray, np.ndarray]:
    r"""What the M-step needs to know of the data: how much of it each node holds, and its sum there.

    .. math:: g_i = \sum_n R_{in}, \qquad (RY)_{id} = \sum_n R_{in}\, y_{nd}

    Returns
    -------
    counts : ndarray (K, 1)
    sums : ndarray (K, D)

    Notes
    -----
    Costs O(K N D), one matrix product. Chapter 9, equation (9.11).

    Examples
    --------
    >>> weighted_sums(np.array([[1.0, 0.5], [0.0, 0.5]]), np.array([[2.0], [4.0]]))
    (array([[1.5],
           [0.5]]), array([[4.],
           [2.]]))
    """
    return R.sum(axis=1, keepdims=True), R @ Y  # (9.11)


def solve_weights(Phi, counts, sums, ridge=0.0) -> np.ndarray:
    r"""The weights (D, M) of the sheet: a regression of the data on the basis, each node weighted by what it holds.

    .. math:: (\Phi^\top G \Phi + \tfrac\alpha\beta I)\, W^\top = \Phi^\top R Y

    Parameters
    ----------
    Phi : ndarray (K, M)
    counts : ndarray (K, 1)
        The diagonal of G.
    sums : ndarray (K, D)
        R Y.
    ridge : float
        alpha / beta, with the beta of the E-step.

    Notes
    -----
    Costs O(K M^2 + M^3 + M^2 D). Chapter 9, equation (9.12); Bishop, Svensén and Williams (1998), equations (8) and
    (11).

    Examples
    --------
    >>> solve_weights(np.eye(2), np.array([[2.0], [4.0]]), np.array([[2.0], [8.0]]))
    array([[1., 2.]])
    """
    A = Phi.T @ (counts * Phi) + ridge * np.eye(Phi.shape[1])  # (M, M)
    return solve_cholesky(_factor(A, ridge), Phi.T @ sums).T  # (9.12)


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
              = \sum_n \|y_n\|^2 - 2 \sum_{id} m_{id} (RY)_{id} + \sum_i g_i \|m_i\|^2

    Parameters
    ----------
    squares : float
        Sum of the squares of all observed entries.
    means, sums : ndarray (K, D)
    counts : ndarray (K, 1)
        g_i; or (K, D) where there are gaps, for each column its own.

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


def e_step(Y, means, precision) -> tuple[np.ndarray, np.ndarray]:
    """Responsibilities (K, N) by (9.5) and (9.7), and the log density of each point (N,) by (9.6).

    Examples
    --------
    >>> R, log_density = e_step(np.array([[0.0], [2.0]]), np.array([[0.0], [2.0]]), 1.0)
    >>> R.round(3)
    array([[0.881, 0.119],
           [0.119, 0.881]])
    """
    return responsibilities(log_densities(Y, means, precision))


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
    W = solve_weights(Phi, counts, sums, alpha / precision)
    error = squared_error(np.sum(Y**2), Phi @ W.T, counts, sums)
    return W, float(1.0 / max(error / Y.size, noise_floor))  # (9.13)


@suited(lambda Y, Phi, *_, **__: len(Phi))
def em_iterates(
    Y, Phi, weights, precision, alpha=0.0, max_iter=200, noise_floor=0.0, e_step=e_step, m_step=m_step
) -> Iterator[GTMState]:
    """Generator of `GTMState`, the start included; the penalised log likelihood never falls.

    Parameters
    ----------
    Y : ndarray (N, D)
        Centred.
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
    e_step, m_step : callable
        The functions beside this one; or those of `gaps`, which are faster and know missing values.

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
        R, log_density = e_step(Y, Phi @ W.T, beta)
        L, penalty = float(np.sum(log_density)), 0.5 * alpha * float(np.sum(W**2))
        yield GTMState(W, beta, L - penalty, L, float(iteration))  # (9.8)
        if iteration < max_iter:
            W, beta = m_step(Y, Phi, R, beta, alpha, noise_floor)


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
