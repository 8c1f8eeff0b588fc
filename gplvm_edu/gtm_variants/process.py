"""The sheet as a Gaussian process over the nodes: no basis functions, a covariance instead."""
import numpy as np

from ..gtm import State, log_densities, responsibilities, squared_error, weighted_sums
from ..linalg import cholesky_with_jitter, log_determinant, solve_cholesky


def process_weights(B, counts, sums, precision):
    r"""Weights a of the sheet m = B a that maximises the expected penalised log likelihood.

    .. math:: m = (G + \tfrac1\beta B^{-1})^{-1} R Y = B a, \qquad
              a = G^{\frac12} (\tfrac1\beta I + G^{\frac12} B G^{\frac12})^{-1} G^{-\frac12} R Y

    Parameters
    ----------
    B : ndarray (K, K)
        Prior covariance of the sheet between nodes; it may be singular, it is never inverted.
    counts : ndarray (K, 1)
        The diagonal of G; a node without data gets a = 0.
    sums : ndarray (K, D)
        R Y.
    precision : float

    Returns
    -------
    ndarray (K, D)

    Notes
    -----
    Costs O(K^3 / 3 + K^2 D). Chapter 10, equations (10.30) and (10.31); Bishop, Svensén and Williams (1998), (42).

    Examples
    --------
    >>> process_weights(np.eye(2), np.array([[1.0], [3.0]]), np.array([[1.0], [3.0]]), 1.0)      # both means are 1
    array([[0.5 ],
           [0.75]])
    """
    g = np.sqrt(counts)                                                          # (K, 1)
    A = g * B * g.T + np.eye(len(B)) / precision
    L, _ = cholesky_with_jitter(A)
    targets = np.divide(sums, g, where=g > 1e-150, out=np.zeros_like(sums))
    return g * solve_cholesky(L, targets)                                        # (10.31)


def process_evidence(B, counts, weights, precision, log_likelihood):
    r"""Laplace's approximation of ln p(Y | B, beta), the sheet integrated out: (10.24) without basis functions.

    .. math:: \ln p(Y) \approx L - \tfrac12 \mathrm{tr}(a^\top B a)
              - \tfrac D2 \ln |I + \beta\, G^{\frac12} B G^{\frac12}|

    Notes
    -----
    Costs O(K^3 / 3). With B = Phi Phi' / alpha it is the evidence of the basis functions. Chapter 10, equation (10.33).

    Examples
    --------
    >>> process_evidence(np.eye(1), np.array([[3.0]]), np.array([[0.5]]), 1.0, 0.0).__round__(4)
    -0.8181
    """
    g, D = np.sqrt(counts), weights.shape[1]
    L, _ = cholesky_with_jitter(np.eye(len(B)) + precision * g * B * g.T)
    penalty = 0.5 * np.sum(weights * (B @ weights))
    return float(log_likelihood - penalty - 0.5 * D * log_determinant(L))        # (10.33)


def process_sheet(kernel, X, weights, X_new):
    """The sheet anywhere in latent space, y(x) = sum_i k(x, x_i) a_i, equation (10.32); (M, D).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> process_sheet(RBF(), np.zeros((1, 1)), np.array([[2.0]]), np.array([[0.0], [50.0]]))
    array([[2.],
           [0.]])
    """
    return kernel(X_new, X) @ weights                                            # (10.32)


def process_iterates(Y, B, weights, precision, max_iter=200, noise_floor=0.0):
    """Generator of `State` with weights a (K, D), the start included; the penalised log likelihood never falls.

    Parameters
    ----------
    Y : ndarray (N, D)
        Centred, complete.
    B : ndarray (K, K)
    weights : ndarray (K, D); precision : float
    max_iter : int
    noise_floor : float

    Notes
    -----
    An iteration costs O(K N D + K^3 / 3). Chapter 10, equations (10.29) to (10.31), with (9.7) and (9.13).

    Examples
    --------
    >>> Y = np.array([[-1.0, 1.0], [0.0, -1.0], [1.0, 0.5], [0.1, -0.5]])
    >>> values = [s.value for s in process_iterates(Y, np.eye(3) + 0.5, np.eye(3, 2), 1.0, max_iter=9)]
    >>> bool(np.all(np.diff(values) > 0))
    True
    """
    a, beta = weights, precision
    squares, n_entries = np.sum(Y**2), Y.size
    for iteration in range(max_iter + 1):
        m = B @ a                                                                # (10.30)
        R, log_density = responsibilities(log_densities(Y, m, beta), overwrite=True)
        value = float(np.sum(log_density))
        yield State(a, beta, value - 0.5 * float(np.sum(a * m)), value, float(iteration))    # (10.29)
        if iteration < max_iter:
            counts, sums = weighted_sums(R, Y)
            a = process_weights(B, counts, sums, beta)                           # (10.31)
            error = squared_error(squares, B @ a, counts, sums)
            beta = float(1.0 / max(error / n_entries, noise_floor))              # (9.13)
