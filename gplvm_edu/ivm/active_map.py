"""The map that an active set defines, and what it says about every other row: prediction and log density.

Y is centred in the functions of the derivation; the methods of `ActiveMap` take and give data in their own units.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..kernels import Kernel
from ..maps import KernelMap
from ..noise import Gaussian, Noise


@dataclass(frozen=True)
class ActiveMap(KernelMap):
    """The map of d active rows: f has the mean A'k(x), and a variance for each of G groups of outputs; then noise.

    kernel : covariance of f, without the noise of y; noise : noise model; centres (d, q) : positions of the active
    rows; roots (G, d, d) : R = L^-1, rows of missing entries empty, G = 1 where all outputs share a covariance and D
    otherwise; weights (d, D) : A = (K_II + B^-1)^-1 m; mean (D,) : added to f.

    With noise that is not Gaussian, `moments`, `jacobian` and `metric` are those of f; `expectation`, `deviation` and
    `draw` go on to y.
    """

    kernel: Kernel
    noise: Noise
    centres: np.ndarray
    roots: np.ndarray
    weights: np.ndarray
    mean: np.ndarray | float = 0.0
    latent_prior: str | None = None
    positions_are_parameters = True

    @property
    def noise_variance(self):
        """Of Gaussian noise, (D,); another has none, and `deviation` tells."""
        noise, variance = self.noise_of_new_rows(), np.empty(self.weights.shape[1])
        for model, columns in noise.blocks:
            if not isinstance(model, Gaussian):
                raise AttributeError(
                    f"A map with {type(model).__name__} noise has no noise_variance: how far y scatters depends on f. "
                    "Ask deviation(mean, variance), or the model's inverse_transform(X, return_std=True, noise=True)."
                )
            variance[columns] = model.variance
        return variance

    @property
    def root(self) -> np.ndarray:
        """R = L^-1, (d, d), where all outputs share it; refused where they do not."""
        if len(self.roots) > 1:
            raise ValueError(
                f"The map has a covariance for each of {len(self.roots)} outputs, not one for all. Ask its "
                "log_density, or inactive_log_likelihood_by_column (chapter 8)."
            )
        return self.roots[0]

    @property
    def row_size(self) -> int:
        """Numbers in L^-1 k of one row, for all groups of outputs."""
        return self.roots.shape[0] * self.roots.shape[1]

    def prior_variance(self, X) -> np.ndarray:
        """k(x, x), (n,); a `White` part that is left in the kernel belongs to f."""
        return self.kernel.diag(X)

    def halves(self, C) -> tuple[np.ndarray, np.ndarray]:
        """R c = L^-1 c for each row, (G, n, d), as both halves."""
        V = C @ self.roots.transpose(0, 2, 1)
        return V, V

    def wholes(self, halves) -> np.ndarray:
        """R'R c for each row, (G, n, d)."""
        return halves @ self.roots

    def log_density(self, Y, X, rows=slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """Log density of rows (n,) and gradients in X (n, q), equations (7.17) to (7.19); NaN is a gap.

        `rows` says which rows of the training data these are, for noise that differs from row to row.
        """
        log_likelihood = inactive_log_likelihood if len(self.roots) == 1 else inactive_log_likelihood_by_column
        return log_likelihood(self, Y - self.mean, X, rows)

    def log_likelihoods(self, Y, X) -> np.ndarray:
        """The values of `log_density` alone, (n,), equation (7.17)."""
        found = self.predict(X)
        values = self.noise_of_new_rows().log_partition(Y - self.mean, found.mean, self.by_output(found.variance))
        return np.sum(values, axis=1)  # (7.17)

    def log_likelihood_table(self, Y, X) -> np.ndarray:
        """ln p(y_n | x_p) of every row at every point, (n, P), equation (7.17)."""
        found, noise, Y = self.predict(X), self.noise_of_new_rows(), Y - self.mean
        points = zip(found.mean, self.by_output(found.variance), strict=True)
        return np.column_stack([np.sum(noise.log_partition(Y, mean, v), axis=1) for mean, v in points])  # (7.17)

    def expectation(self, mean, variance) -> np.ndarray:
        """The expected observation, in the terms of the noise model: a probability for `Probit`."""
        return self.noise.predict(mean, variance)

    def noise_of_new_rows(self) -> Noise:
        """The noise model, refused where it has a variance for each row of the training data."""
        if any(np.ndim(getattr(model, "variance", 0)) == 2 for model, _ in self.noise.blocks):
            raise ValueError(
                "The noise has a variance for each row of the training data, so that of a new row is not "
                "known. Fit with one variance, or with one for each column (chapter 8)."
            )
        return self.noise

    def deviation(self, mean, variance, noise=True) -> np.ndarray:
        """Standard deviation of a new observation y; without noise that of E[y | f], a probability for `Probit`."""
        if not noise:
            return self.noise.signal_deviation(mean, variance)
        return self.noise_of_new_rows().deviation(mean, variance)

    def draw(self, mean, variance, rng) -> np.ndarray:
        """New observations: f first, then y given f."""
        return self.noise_of_new_rows().sample(mean + np.sqrt(variance) * rng.standard_normal(mean.shape), rng)


def selection_map(selection, X, kernel, noise, latent_prior=None) -> ActiveMap:
    """The map that a selection defines: nothing is factorised again, L is there already.

    Notes
    -----
    Costs O(d^3) for each distinct covariance. Chapter 7, equation (7.15).

    Examples
    --------
    >>> from gplvm_edu.ivm import select_active_set
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.noise import Gaussian
    >>> Y, X = np.array([[2.0], [0.0]]), np.array([[0.0], [9.0]])
    >>> chosen = select_active_set(Y, X, RBF(), Gaussian(1.0), 1)
    >>> selection_map(chosen, X, RBF(), Gaussian(1.0)).weights                      # 2 / (1 + 1)
    array([[1.]])
    """
    if selection.groups is None:
        R, A = _root_and_weights(selection.L, selection.site_means)
        R = R[None]
    else:
        R, A = _by_column(selection)
    return ActiveMap(kernel, noise, X[selection.active], R, A, latent_prior=latent_prior)


def _root_and_weights(L, m):
    """R = L^-1, (d, d), and A = (K_II + B^-1)^-1 m, (d, D)."""
    R = linalg.solve_triangular(L, np.eye(len(L)), lower=True)
    return R, R.T @ (R @ m)


def _by_column(selection):
    """Roots (D, d, d) and weights (d, D) of a covariance for each group of columns; 0 in the rows that it has not."""
    d, D = selection.site_means.shape
    R, A = np.zeros((D, d, d)), np.zeros((d, D))
    for columns, L in zip(selection.groups, selection.L, strict=True):
        rows = np.flatnonzero(selection.precisions[:, columns[0]] > 0)
        some = np.ix_(rows, columns)
        R[np.ix_(columns, rows, rows)], A[some] = _root_and_weights(L, selection.site_means[some])
    return R, A


def latent_moments(active, X_new) -> tuple[np.ndarray, np.ndarray]:
    r"""Mean and variance of f at new latent points.

    .. math:: \bar f_d(x) = k_I(x)^\top K_{II}^{-1} m_d, \qquad K_{II} = K_{f,II} + B_d^{-1}, \qquad
              \varsigma_d(x) = k(x, x) - \| L_d^{-1} k_I(x) \|^2

    Parameters
    ----------
    active : ActiveMap
    X_new : ndarray (n, q)

    Returns
    -------
    mean : ndarray (n, D)
    variance : ndarray (n, G)
        One column where all outputs share it.

    Notes
    -----
    Costs O(d^2 n) for each distinct covariance. Chapter 7, equations (7.15) and (7.16); Lawrence (2005), (20), (21).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> one = ActiveMap(RBF(), None, np.zeros((1, 1)), np.full((1, 1, 1), 0.5**0.5), np.ones((1, 1)))
    >>> mean, variance = latent_moments(one, np.array([[0.0], [50.0]]))
    >>> mean.ravel(), variance.ravel().round(3)
    (array([1., 0.]), array([0.5, 1. ]))
    """
    found = active.predict(X_new)
    return found.mean, found.variance


def inactive_log_likelihood(active, Y_new, X_new, rows=slice(None)) -> tuple[np.ndarray, np.ndarray]:
    r"""Log density of each row of Y_new at its row of X_new given the active set, with the gradient in X_new.

    .. math:: \ell_j(x) = \sum_{d} \ln Z\big(y_{jd};\ \bar f_{d}(x), \varsigma(x)\big)

    Parameters
    ----------
    active : ActiveMap
        With one covariance for all outputs; `inactive_log_likelihood_by_column` for others.
    Y_new : ndarray (n, D)
        NaN contributes nothing.
    X_new : ndarray (n, q)
    rows : index
        Which rows of the training data these are, for noise that differs from row to row.

    Returns
    -------
    values : ndarray (n,)
    gradients : ndarray (n, q)

    Notes
    -----
    Costs O(n d (d + D)); rows are independent of one another. Chapter 7, equations (7.15) to (7.19); Lawrence (2005),
    equations (12) and (19).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.noise import Gaussian
    >>> one = ActiveMap(RBF(), Gaussian(1.0), np.zeros((1, 1)), np.full((1, 1, 1), 0.5**0.5), np.ones((1, 1)))
    >>> value, gradient = inactive_log_likelihood(one, np.array([[1.0]]), np.array([[0.0]]))
    >>> value.round(4), abs(gradient)                            # ln N(1 | 1, 1.5), the best that can be
    (array([-1.1217]), array([[0.]]))
    """
    kernel, A, R = active.kernel, active.weights, active.root  # A = K_II^-1 Y_I, and one R = L^-1 for all outputs
    k = kernel(X_new, active.centres)  # (n, d)
    V = k @ R.T  # L^-1 k for each row
    mean = k @ A  # (7.15)  (n, D)
    variance = np.maximum(kernel.diag(X_new) - np.sum(V**2, axis=1), 0.0)  # (7.16)  (n,)
    terms = active.noise.rows(rows).evaluate(Y_new, mean, variance[:, None])  # ln Z, g, nu: each (n, D)
    values = np.sum(terms.log_partition, axis=1)  # (7.17)
    in_variance = np.sum(0.5 * (terms.g**2 - terms.nu), axis=1)  # (7.18)  (n,)
    in_k = terms.g @ A.T - 2.0 * in_variance[:, None] * (V @ R)  # (7.19)  (n, d)
    gradients = kernel.gradients(in_k, X_new, active.centres)[0] + kernel.diag_gradients(in_variance, X_new)[0]
    return values, gradients


def inactive_log_likelihood_by_column(active, Y_new, X_new, rows=slice(None)) -> tuple[np.ndarray, np.ndarray]:
    """`inactive_log_likelihood` with a covariance for each output: the same lines with one axis more.

    Parameters
    ----------
    active, Y_new, X_new, rows : as in `inactive_log_likelihood`

    Notes
    -----
    Costs O(n d^2 D). All outputs share the kernel values k, so that this is not a loop over columns. Chapter 7,
    equations (7.15) to (7.19); chapter 8, equation (8.29).
    """
    kernel, A, found = active.kernel, active.weights, active.predict(X_new)
    terms = active.noise.rows(rows).evaluate(Y_new, found.mean, found.variance)
    values = np.sum(terms.log_partition, axis=1)  # (7.17)
    in_variance = 0.5 * (terms.g**2 - terms.nu)  # (7.18)  (n, D)
    told = active.wholes(found.halves)  # K_II^-1 k  (D, n, d)
    in_k = terms.g @ A.T - 2.0 * np.sum(in_variance.T[:, :, None] * told, axis=0)  # (7.19)  (n, d)
    along = kernel.diag_gradients(in_variance.sum(axis=1), X_new)[0]
    return values, kernel.gradients(in_k, X_new, active.centres)[0] + along


def log_likelihoods_at_active(active, Y_new, rows=slice(None)) -> np.ndarray:
    """Log likelihood (n, d) of each row of Y_new at the position of each active row, equation (7.17).

    Notes
    -----
    Costs O(n d D); the d predictions are made once. Chapter 7, equation (7.17).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.noise import Gaussian
    >>> one = ActiveMap(RBF(), Gaussian(1.0), np.zeros((1, 1)), np.full((1, 1, 1), 0.5**0.5), np.ones((1, 1)))
    >>> log_likelihoods_at_active(one, np.array([[1.0], [2.0]])).round(4)
    array([[-1.1217],
           [-1.455 ]])
    """
    mean, variance = latent_moments(active, active.centres)  # (d, D), (d, G)
    noise = active.noise.rows(rows)
    columns = [np.sum(noise.log_partition(Y_new, f, v), axis=1) for f, v in zip(mean, variance, strict=True)]  # (7.17)
    return np.column_stack(columns)
