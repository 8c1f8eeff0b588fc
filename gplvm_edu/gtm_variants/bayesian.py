"""Bayesian GTM: alpha and beta by the evidence, and the Hessian of its Laplace approximation."""

from collections.abc import Iterator
from typing import Self

import numpy as np

from .. import checks
from ..gtm import GTM, GTMState, log_evidence, squared_error
from ..gtm.estimator import SHEET_RULES
from ..gtm.fast import responsibilities
from ..gtm.gaps import log_densities, solve_weights, weighted_sums

ALPHA_RANGE = (1e-8, 1e8)  # in units of one over the variance of the data


def effective_parameters(Phi, counts, precision, alpha, n_outputs) -> float:
    r"""Effective number of parameters: how many of the D M weights the data determine, from 0 to all.

    .. math:: \gamma = D \sum_{j=1}^M \frac{\lambda_j - \alpha}{\lambda_j}, \qquad
              \lambda_j \text{ eigenvalues of } \beta \Phi^\top G \Phi + \alpha I

    Parameters
    ----------
    Phi : ndarray (K, M)
    counts : ndarray (K, 1)
    precision, alpha : float
    n_outputs : int
        D.

    Notes
    -----
    Costs O(K M^2 + M^3). Chapter 10, equation (10.26); Bishop, Svensén and Williams (1998), equation (38), whose sum
    runs over all D M eigenvalues of A: D times those of one block.

    Examples
    --------
    >>> effective_parameters(np.eye(2), np.array([[3.0], [0.0]]), 1.0, 1.0, n_outputs=2)     # data at one node
    1.5
    """
    beta, M = precision, Phi.shape[1]
    lam = np.linalg.eigvalsh(beta * Phi.T @ (counts * Phi) + alpha * np.eye(M))
    return float(n_outputs * np.sum((lam - alpha) / lam))  # (10.26)


def re_estimate(n_effective, weights, squared_error, n_entries) -> tuple[float, float]:
    r"""alpha and beta where the evidence is stationary, the weights held fixed.

    .. math:: \alpha = \frac{\gamma}{\|W\|^2}, \qquad
              \beta = \frac{ND - \gamma}{\sum_{in} R_{in} \|y_n - m_i\|^2}

    Parameters
    ----------
    n_effective : float
        gamma.
    weights : ndarray (D, M)
    squared_error : float
    n_entries : int
        N D.

    Notes
    -----
    Chapter 10, equation (10.27); Bishop, Svensén and Williams (1998), equations (36) and (37).

    Examples
    --------
    >>> re_estimate(2.0, np.array([[1.0, 1.0]]), 4.0, 10)
    (1.0, 2.0)
    """
    gamma, size = n_effective, max(float(np.sum(weights**2)), 1e-300)
    left = max(n_entries - gamma, 1.0)
    return gamma / size, left / squared_error  # (10.27)


def approximate_hessian(Phi, counts, precision, alpha, n_outputs) -> np.ndarray:
    r"""Curvature of minus the penalised log likelihood, the responsibilities held fixed: one block for each row of W.

    .. math:: A \approx I_D \otimes (\beta \Phi^\top G \Phi + \alpha I)

    Notes
    -----
    Weights in the order of ``W.ravel()``. Chapter 10, equation (10.25); the paper speaks of columns of W.

    Examples
    --------
    >>> approximate_hessian(np.ones((1, 1)), np.array([[3.0]]), 2.0, 1.0, n_outputs=2)
    array([[7., 0.],
           [0., 7.]])
    """
    block = precision * Phi.T @ (counts * Phi) + alpha * np.eye(Phi.shape[1])
    return np.kron(np.eye(n_outputs), block)  # (10.25)


def exact_hessian(Y, Phi, weights, precision, alpha) -> np.ndarray:
    r"""The same curvature (D M, D M), exactly: the responsibilities depend on the weights too.

    .. math:: A = I_D \otimes (\beta \Phi^\top G \Phi + \alpha I)
              - \beta^2 \sum_n \mathrm{Cov}_{i \sim R_n} \big[ (y_n - m_i) \otimes \phi_i \big]

    Parameters
    ----------
    Y : ndarray (N, D)
    Phi : ndarray (K, M)
    weights : ndarray (D, M)
    precision, alpha : float

    Notes
    -----
    Costs O(N K (D M)^2), for small problems only. The covariance is positive semi-definite, so the approximation is
    never smaller. Chapter 10, equation (10.28).

    Examples
    --------
    >>> Y, Phi, W = np.array([[-1.0], [1.0]]), np.eye(2), np.array([[-1.0, 1.0]])
    >>> R, _ = responsibilities(log_densities(Y, Phi @ W.T, 1.0))
    >>> approximate = approximate_hessian(Phi, R.sum(axis=1, keepdims=True), 1.0, 0.1, 1)
    >>> bool(np.linalg.det(exact_hessian(Y, Phi, W, 1.0, 0.1)) < np.linalg.det(approximate))
    True
    """
    m, beta = Phi @ weights.T, precision
    R, _ = responsibilities(log_densities(Y, m, beta))
    A = approximate_hessian(Phi, R.sum(axis=1, keepdims=True), beta, alpha, Y.shape[1])
    for n, y in enumerate(Y):
        g = np.einsum("kd,km->kdm", y - m, Phi).reshape(len(Phi), -1)  # (K, D M)
        mean = R[:, n] @ g
        A -= beta**2 * (g.T @ (R[:, n, None] * g) - np.outer(mean, mean))  # (10.28)
    return A


def bayesian_iterates(Y, Phi, weights, precision, alpha=1.0, max_iter=200, noise_floor=0.0) -> Iterator[GTMState]:
    """Generator of `GTMState`, the start included: EM for the weights, then alpha and beta anew; `value`: log evidence.

    Parameters
    ----------
    Y, Phi, weights, precision, max_iter, noise_floor : as in `gtm.em_iterates`, Y complete
    alpha : float
        Where the regulariser starts.

    Notes
    -----
    The evidence usually rises, but three updates of an approximation do not guarantee it. Chapter 10, equations
    (10.24) to (10.27), with (9.7) and (9.12).

    Examples
    --------
    >>> Y = np.array([[-1.0, 1.0], [0.0, -1.0], [1.0, 0.5], [0.1, -0.5]])
    >>> *_, last = bayesian_iterates(Y, np.eye(2), np.eye(2), 1.0, max_iter=50)
    >>> 0 < last.n_effective < 4, last.alpha > 0
    (True, True)
    """
    W, beta, (N, D) = weights, precision, Y.shape
    squares, (low, high) = np.sum(Y**2), np.array(ALPHA_RANGE) / max(np.mean(Y**2), 1e-300)
    for iteration in range(max_iter + 1):
        R, log_density = responsibilities(log_densities(Y, Phi @ W.T, beta))
        counts, sums = weighted_sums(R, Y)
        value = float(np.sum(log_density))
        gamma = effective_parameters(Phi, counts, beta, alpha, D)
        evidence = log_evidence(Phi, counts, W, beta, alpha, value)
        yield GTMState(W, beta, evidence, value, float(iteration), alpha=alpha, n_effective=gamma)
        if iteration == max_iter:
            return
        W = solve_weights(Phi, counts, sums, alpha / beta)
        error = max(squared_error(squares, Phi @ W.T, counts, sums), N * D * noise_floor, 1e-300)
        alpha, beta = re_estimate(gamma, W, error, N * D)
        alpha = float(np.clip(alpha, low, high))


class BayesianGTM(GTM):
    """GTM that sets its own regulariser and noise by the evidence; compare widths by `log_evidence_`.

    Use it when a GTM should find its own smoothness and noise, without rows set aside.

    Columns: numbers of comparable scale.
    NaN: in new rows, not in transform.
    Answers: transform, inverse_transform, impute, score_samples, sample, map_.
    Cost: O(K N D + K M^2 + M^3) a step, K nodes, M functions; at N = 1000, by default, 0.74 seconds.
    Chapter: 10 (book/10_gtm_variants.ipynb).

    Parameters
    ----------
    grid, basis, width, terms, max_iter, tol, random_state, verbose : as in `GTM`
    alpha : float
        Where the regulariser starts, for data of unit variance, from 1e-8 to 1e8; it stays in this range.

    Attributes
    ----------
    As in `GTM`, and
    alpha_ : float
        The re-estimated regulariser, in the units of the data.
    n_effective_ : float
        gamma, how many of the D M weights the data determine.
    history_ : ndarray
        Log evidence of each iterate.

    Examples
    --------
    >>> from gplvm_edu.datasets import make_bent_line
    >>> model = BayesianGTM(grid=(20,), basis=(8,)).fit(make_bent_line(random_state=0).data)
    >>> 0 < model.n_effective_ < model.weights_.size
    True
    """

    allows_missing = False
    may_fall = "alpha and beta are re-estimated as if the responsibilities did not depend on the weights"
    rules = SHEET_RULES | {"alpha": checks.rule(checks.number, at_least=ALPHA_RANGE[0], at_most=ALPHA_RANGE[1])}

    def __init__(
        self,
        grid: tuple[int, ...] = (15, 15),
        basis: tuple[int, ...] = (5, 5),
        width: float = 2.0,
        alpha: float = 1.0,
        terms: str = "linear",
        max_iter: int = 300,
        tol: float = 1e-5,
        random_state: checks.Seed = None,
        verbose: bool = False,
    ):
        super().__init__(grid, basis, width, alpha, None, terms, max_iter, tol, random_state, verbose)

    def steps(self, Yc, floor) -> Iterator:
        """States of the fit."""
        return bayesian_iterates(Yc, self.basis_values_, *self.start(Yc, floor), self.alpha_, self.max_iter, floor)

    def set_state(self, state) -> Self:
        """Make the estimator that of one iterate."""
        self.alpha_, self.n_effective_ = state.alpha, state.n_effective
        return super().set_state(state)
