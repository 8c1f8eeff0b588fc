"""The variances of Gaussian noise beside other noise: learnt from the active rows, whose places are uncertain too.

At the best position of each row the columns are fitted too well: with q coordinates to choose, a row can reproduce q
columns exactly, and their variance would go to 0. So a residual counts together with what it can't show, the variance
of f and that which the uncertain place makes.

Few columns say little about a place: with four Gaussian columns, 40 active rows of 120 and q = 1 the variance of the
least noisy one came out two to four times too large on ten draws, the others near the truth. With six and all rows
active 55 of 60 were within a factor 1.5 (tests/test_columns.py).
"""

import numpy as np
from scipy import linalg

N_STEPS = 10  # of EM in each pass: each costs one factorisation for each column


def place_covariances(slopes, cavity, variances, prior_precision=1.0) -> np.ndarray:
    r"""How uncertain the place of each row is, given all that was seen of it, (n, q, q): Laplace's approximation.

    .. math:: \mathbf S_n^{-1} = \mathbf I + \sum_d \nu_{nd}\, \mathbf J_{nd}^\top \mathbf J_{nd}, \qquad
              \nu_{nd} = \frac{1}{\varsigma_{nd} + \beta_{nd}^{-1}}

    Parameters
    ----------
    slopes : ndarray (n, D, q)
        J, the derivatives of the mean of f.
    cavity : ndarray (n, D)
        Variance of f there, without the row's own observation.
    variances : ndarray (n, D)
        1 / beta of the sites; infinite where nothing was seen.
    prior_precision : float
        1 for the Gaussian prior of the positions, 0 without one.

    Notes
    -----
    nu is minus the second derivative of ln Z in the mean of f. Costs O(n q^2 (D + q)). Chapter 8, equation (8.29a).

    Examples
    --------
    >>> place_covariances(np.ones((1, 2, 1)), np.zeros((1, 2)), np.array([[0.5, np.inf]])).round(4)   # 1 / (1 + 2)
    array([[[0.3333]]])
    """
    nu = 1.0 / (cavity + variances)
    precision = np.einsum("nd,ndi,ndj->nij", nu, slopes, slopes)  # (8.29a)
    q = precision.shape[1]
    ridge = prior_precision + 1e-9 * np.trace(precision, axis1=1, axis2=2)[:, None, None] + 1e-300
    return np.linalg.inv(precision + ridge * np.eye(q))


def expected_squares(sites, X, kernel, prior_precision=1.0) -> np.ndarray:
    r"""Expected squared noise of every observation of the active rows, (n, D), in the units of f; NaN where missing.

    .. math:: E_{nd} = (m_{nd} - \bar f_{nd})^2 + \varsigma_{nd} + \mathbf J_{nd} \mathbf S_n \mathbf J_{nd}^\top

    Parameters
    ----------
    sites : Sites
        Means (n, D) and variances (n, D), infinite where missing.
    X : ndarray (n, q)
    kernel : Kernel
        Covariance of f.
    prior_precision : float
        As in `place_covariances`.

    Notes
    -----
    The mean of a column is the EM update of its variance: with certain places (J = 0) it never lowers the evidence of
    the column, whose derivative is the mean less the variance, times n / 2 sigma^4. Costs O(n^3 D). Chapter 8, equation
    (8.29b).

    Examples
    --------
    >>> from gplvm_edu.ivm import Sites
    >>> from gplvm_edu.kernels import Bias
    >>> one = Sites(np.array([[2.0]]), np.array([[1.0]]))
    >>> expected_squares(one, np.zeros((1, 1)), Bias(1.0))                       # (2 - 1)^2 + 1/2
    array([[1.5]])
    """
    K, m, v = kernel(X), sites.means, sites.variances
    mean, variance, A = np.zeros(m.shape), np.tile(np.diag(K)[:, None], m.shape[1]), np.zeros(m.shape)
    for d in range(m.shape[1]):
        rows = np.flatnonzero(np.isfinite(v[:, d]))
        L = linalg.cholesky(K[np.ix_(rows, rows)] + np.diag(v[rows, d]), lower=True)
        A[rows, d] = linalg.cho_solve((L, True), m[rows, d])
        mean[:, d] = K[:, rows] @ A[rows, d]
        variance[:, d] -= np.sum(linalg.solve_triangular(L, K[rows], lower=True) ** 2, axis=0)
    variance = np.maximum(variance, 0.0)
    cavity = variance / np.maximum(1.0 - variance / v, 1e-9)  # the row's own observation taken out, (8.22)
    J = np.einsum("nmq,md->ndq", kernel.input_derivatives(X, X), A)
    S = place_covariances(J, cavity, v, prior_precision)
    squares = (m - mean) ** 2 + variance + np.einsum("ndi,nij,ndj->nd", J, S, J)  # (8.29b)
    return np.where(np.isfinite(v), squares, np.nan)


def learn_noise_variances(noise, sites, X, kernel, prior_precision=1.0, n_steps=N_STEPS):
    """The noise model after some steps of EM on the variances of its Gaussian columns, equation (8.29b).

    Parameters
    ----------
    noise : noise model
    sites : Sites
        Of the active rows, (n, D) both; those of other columns stay as they are.
    X, kernel, prior_precision : as in `expected_squares`
    n_steps : int

    Notes
    -----
    A step costs O(n^3 D). Chapter 8, equation (8.29b).

    Examples
    --------
    >>> from gplvm_edu.ivm import Sites
    >>> from gplvm_edu.kernels import Bias
    >>> from gplvm_edu.noise import Gaussian
    >>> m = np.array([[2.0], [0.0], [1.0], [1.0]])                               # about 1, with a variance of 1/2
    >>> learn_noise_variances(Gaussian(0.1), Sites(m, np.full((4, 1), 0.1)), np.zeros((4, 1)), Bias(100.0), n_steps=30)
    Gaussian(variance=0.6663, mean=None)
    """
    variances = sites.variances.copy()
    for _ in range(n_steps):
        squares = expected_squares(sites._replace(variances=variances), X, kernel, prior_precision)
        noise = noise.learn_variance(squares)
        for model, columns in noise.blocks:
            if model.learns_variance:
                seen = np.isfinite(variances[:, columns])
                variances[:, columns] = np.where(seen, model.variance / model.scale**2, np.inf)
    return noise
