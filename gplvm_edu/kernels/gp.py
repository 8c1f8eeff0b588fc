"""Gaussian processes: the posterior given data, the marginal likelihood and its terms (chapter 2)."""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from .. import checks
from ..linalg import cholesky_with_jitter, inverse_from_cholesky, log_determinant, solve_cholesky
from .kernel import finite, quiet


def gp_posterior(
    kernel, X, Y, X_new, noise_variance=0.0, full_covariance=False, include_noise=False
) -> tuple[np.ndarray, np.ndarray]:
    r"""Mean and variance of the function at new points, given data.

    .. math:: \bar f_* = K_{*X} K^{-1} Y, \qquad
              \Sigma_* = K_{**} - K_{*X} K^{-1} K_{X*}, \qquad K = K_{XX} + \sigma^2 I

    Parameters
    ----------
    kernel : Kernel
        A `White` part is noise of the data: it enters K, not the covariances between old and new points.
    X : ndarray (N, q)
    Y : ndarray (N,) or (N, D)
    X_new : ndarray (M, q)
    noise_variance : float
        sigma^2, in addition to a `White` part of the kernel.
    full_covariance : bool
        Return the (M, M) covariance instead of the M variances.
    include_noise : bool
        Add the noise of a new observation: the prediction is then of y, not of f.

    Returns
    -------
    mean : ndarray (M,) or (M, D)
    variance : ndarray (M,), or (M, M)
        The same for every column of Y.

    Notes
    -----
    Costs O(N^3 + N^2 M). Chapter 2, equations (2.7) and (2.8); Lawrence (2005), equations (20) and (21).
    `maps.KernelMap.predict` computes the same from a fitted map; a test checks that both agree.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> mean, variance = gp_posterior(RBF(), np.array([[0.0]]), np.array([1.0]), np.array([[0.0], [9.0]]))
    >>> mean.round(3), variance.round(3)
    (array([1., 0.]), array([0., 1.]))
    """
    full_covariance = checks.flag("full_covariance", full_covariance)
    include_noise = checks.flag("include_noise", include_noise)
    L, Y = factorised(kernel, X, Y, noise_variance)
    K_sX = kernel(X_new, X)
    with quiet():
        mean = finite("Means of the posterior", K_sX @ solve_cholesky(L, Y))  # (2.7)
    V = linalg.solve_triangular(L, K_sX.T, lower=True)  # (N, M)
    extra = include_noise * noise_variance
    if not full_covariance:
        prior = kernel.diag(X_new, noise=include_noise)
        return mean, np.maximum(prior - np.sum(V**2, axis=0), 0.0) + extra  # (2.8)
    prior = kernel(X_new) if include_noise else kernel(X_new, X_new)
    return mean, prior - V.T @ V + extra * np.eye(len(prior))  # (2.8)


def gp_leave_one_out(kernel, X, Y, noise_variance=0.0) -> tuple[np.ndarray, np.ndarray]:
    r"""Each datum predicted from all the others: means and variances of the measurement, from one inverse.

    .. math:: \bar y_{-n} = y_n - \frac{[K^{-1} y]_n}{[K^{-1}]_{nn}}, \qquad
              \varsigma_{-n} = \frac{1}{[K^{-1}]_{nn}}

    Parameters
    ----------
    kernel, X, noise_variance
        As in `gp_posterior`.
    Y : ndarray (N,) or (N, D)

    Returns
    -------
    mean : ndarray, the shape of Y
    variance : ndarray (N,)
        With the noise of the measurement.

    Notes
    -----
    Costs O(N^3), as one fit; N fits would cost O(N^4). Chapter 2, equation (2.13).

    Examples
    --------
    >>> from gplvm_edu.kernels import White
    >>> mean, variance = gp_leave_one_out(White(2.0), np.zeros((3, 1)), np.array([1.0, 2.0, 3.0]))
    >>> mean.round(9) + 0, variance.round(9)                         # noise says nothing about other noise
    (array([0., 0., 0.]), array([2., 2., 2.]))
    """
    L, Y = factorised(kernel, X, Y, noise_variance)
    variance = 1.0 / np.diag(inverse_from_cholesky(L))  # (2.13)  (N,)
    return Y - (variance * solve_cholesky(L, Y).T).T, variance  # (2.13)


def gp_log_marginal_likelihood(kernel, X, Y, noise_variance=0.0) -> float:
    r"""ln p(Y | X), the log density of the data with the function integrated out.

    .. math:: \ln p(Y \mid X) = -\tfrac{ND}{2} \ln 2\pi - \tfrac D2 \ln |K| - \tfrac12 \mathrm{tr}(K^{-1} Y Y^\top)

    Parameters
    ----------
    kernel : Kernel
    X : ndarray (N, q)
    Y : ndarray (N,) or (N, D)
    noise_variance : float
        In addition to a `White` part of the kernel.

    Notes
    -----
    Costs O(N^3 / 3 + N^2 D). Chapter 2, equation (2.10); Lawrence (2005), equation (6).

    Examples
    --------
    >>> from gplvm_edu.kernels import White
    >>> round(gp_log_marginal_likelihood(White(), np.zeros((1, 1)), np.zeros(1)), 4)      # one standard normal
    -0.9189
    """
    L, Y = factorised(kernel, X, Y, noise_variance)
    with quiet():
        value = gaussian_log_density(L, np.reshape(Y, (len(L), -1)))
    return float(finite("Log densities of the data", np.array(value)))


class EvidenceTerms(NamedTuple):
    """The log marginal likelihood term by term, each a float; `total` is their sum."""

    fit: float
    volume: float
    constant: float

    @property
    def total(self) -> float:
        """ln p(Y | X)."""
        return self.fit + self.volume + self.constant


def evidence_terms(kernel, X, Y, noise_variance=0.0) -> EvidenceTerms:
    r"""The log marginal likelihood as a sum of three: how well the data fit, how much room they were given, a constant.

    .. math:: \text{fit} = -\tfrac12 \mathrm{tr}(K^{-1} Y Y^\top), \qquad
              \text{volume} = -\tfrac D2 \ln |K|, \qquad \text{constant} = -\tfrac{ND}{2} \ln 2\pi

    The fit is never positive. The volume punishes a covariance that spreads its density over many different data sets.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray (N, q)
    Y : ndarray (N,) or (N, D)
    noise_variance : float
        In addition to a `White` part of the kernel.

    Returns
    -------
    EvidenceTerms
        With fields fit, volume and constant, and their sum as `total`.

    Notes
    -----
    Costs O(N^3 / 3 + N^2 D). Chapter 2, equation (2.10). `gp_log_marginal_likelihood` is the total; a test checks that
    both agree.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> X, y = np.array([[0.0], [0.5]]), np.array([1.0, -1.0])
    >>> for inverse_width in (0.1, 10.0):           # the two values differ: a wide function does not fit them
    ...     terms = evidence_terms(RBF(1.0, inverse_width), X, y, noise_variance=0.01)
    ...     print([round(value, 2) for value in (*terms, terms.total)])
    [-44.6, 1.55, -1.84, -44.88]
    [-1.38, 0.03, -1.84, -3.19]
    """
    L, Y = factorised(kernel, X, Y, noise_variance)
    Y = np.reshape(Y, (len(L), -1))
    N, D = Y.shape
    with quiet():
        fit = -0.5 * np.sum(linalg.solve_triangular(L, Y, lower=True) ** 2)  # (2.10)  -tr(K^-1 YY') / 2
        volume = -0.5 * D * log_determinant(L)  # (2.10)  -D ln|K| / 2
    constant = -0.5 * N * D * np.log(2 * np.pi)  # (2.10)
    return EvidenceTerms(*finite("Terms of the evidence", np.array([fit, volume, constant])).tolist())


def gp_gradients(kernel, X, Y, noise_variance=0.0) -> tuple[float, np.ndarray, np.ndarray]:
    r"""The log marginal likelihood and its gradients in the inputs and in the kernel's theta.

    .. math:: G = \frac{\partial L}{\partial K} = \tfrac12 (K^{-1} Y Y^\top K^{-1} - D K^{-1})

    Returns
    -------
    value : float
    dL_dX : ndarray (N, q)
    dL_dtheta : ndarray (n_parameters,)

    Notes
    -----
    Costs O(N^3): one Cholesky and its inverse through LAPACK's potri. Chapter 2, equations (2.10) and (2.31);
    Lawrence (2005), equation (10), whose printed form lacks the factor 1/2.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF, White
    >>> X, y = np.array([[0.0], [1.0]]), np.array([1.0, -1.0])
    >>> value, dL_dX, dL_dtheta = gp_gradients(RBF() + White(), X, y)
    >>> dL_dX.round(3).ravel(), bool(np.isclose(value, gp_log_marginal_likelihood(RBF() + White(), X, y)))
    (array([-0.211,  0.211]), True)
    """
    L, Y = factorised(kernel, X, Y, noise_variance)
    Y = np.reshape(Y, (len(L), -1))  # (N, D)
    with quiet():
        A = solve_cholesky(L, Y)  # K^-1 Y  (N, D)
        G = 0.5 * (A @ A.T - Y.shape[1] * inverse_from_cholesky(L))  # (2.31)
        return gaussian_log_density(L, Y), *kernel.gradients(G, X)


def gaussian_log_density(L, Y) -> float:
    """ln N(Y | 0, K), summed over the D columns of Y (N, D), from the Cholesky factor of K; equation (2.10).

    Notes
    -----
    Costs O(N^2 D).

    Examples
    --------
    >>> round(gaussian_log_density(np.eye(1), np.zeros((1, 2))), 4)              # two standard normals
    -1.8379
    """
    N, D = Y.shape
    misfit = np.sum(linalg.solve_triangular(L, Y, lower=True) ** 2)  # tr(K^-1 YY')
    return float(-0.5 * (N * D * np.log(2 * np.pi) + D * log_determinant(L) + misfit))  # (2.10)


def factorised(kernel, X, Y, noise_variance):
    """Cholesky factor of k(X) + noise, and Y as floats, after a check of both."""
    K, Y = given(kernel)(X), checks.floats("Y", Y)
    if Y.ndim not in (1, 2) or len(Y) != len(K) or Y.size == 0:
        raise ValueError(
            f"Y has shape {Y.shape} and X has {len(K)} rows: Y needs one row (or one number) for each row of X."
        )
    if not np.isfinite(Y).all():
        raise ValueError(
            "Y contains NaN or infinity: this function needs complete data. Leave the rows with gaps out of X and Y."
        )
    checks.within_range(np.reshape(Y, (len(Y), -1)), "Y")
    K[np.diag_indices(len(K))] += checks.number("noise_variance", noise_variance, at_least=0)
    return cholesky_with_jitter(K)[0], Y


def given(kernel):
    """The kernel, which here can't be left open."""
    if checks.kernel("kernel", kernel) is None:
        raise ValueError("kernel must be a kernel of gplvm_edu.kernels, such as RBF() + White(0.1), got None.")
    return kernel
