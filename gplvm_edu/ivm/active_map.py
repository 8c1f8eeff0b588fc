"""The map that an active set defines, and what it says about every other row: prediction, log density, positions.

Y is centred in the functions of the derivation; the methods of `ActiveMap` take and give data in their own units.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..kernels import Kernel
from ..linalg import squared_distances
from ..maps import COARSE, KernelMap, maximise_rows
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
    def row_size(self) -> int:
        """Numbers in L^-1 k of one row, for all groups of outputs."""
        return self.roots.shape[0] * self.roots.shape[1]

    def prior_variance(self, X) -> np.ndarray:
        """k(x, x), (M,); a `White` part that is left in the kernel belongs to f."""
        return self.kernel.diag(X)

    def halves(self, C) -> tuple[np.ndarray, np.ndarray]:
        """R c = L^-1 c for each row, (G, M, d), as both halves."""
        V = C @ self.roots.transpose(0, 2, 1)
        return V, V

    def wholes(self, halves) -> np.ndarray:
        """R'R c for each row, (G, M, d)."""
        return halves @ self.roots

    def log_density(self, Y, X) -> tuple[np.ndarray, np.ndarray]:
        """Log density of rows (M,) and gradients in X (M, q), equations (7.17) to (7.19); NaN is a gap."""
        return inactive_log_likelihood(self, Y - self.mean, X)

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
    >>> from gplvm_edu.ivm import ivm_select
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.noise import Gaussian
    >>> Y, X = np.array([[2.0], [0.0]]), np.array([[0.0], [9.0]])
    >>> chosen = ivm_select(Y, X, RBF(), Gaussian(1.0), 1)
    >>> selection_map(chosen, X, RBF(), Gaussian(1.0)).weights                      # 2 / (1 + 1)
    array([[1.]])
    """
    G, d, _ = selection.L.shape
    R = np.stack([linalg.solve_triangular(L, np.eye(d), lower=True) for L in selection.L])
    R *= (selection.precisions[:, :G].T > 0)[:, :, None]  # what was not seen says nothing
    m = selection.site_means.T[:, :, None] if G > 1 else selection.site_means[None]  # (G, d, D / G)
    A = R.transpose(0, 2, 1) @ (R @ m)  # (7.15)
    A = A[:, :, 0].T if G > 1 else A[0]  # (d, D)
    return ActiveMap(kernel, noise, X[selection.active], R, A, latent_prior=latent_prior)


def latent_moments(active, X_new) -> tuple[np.ndarray, np.ndarray]:
    r"""Mean and variance of f at new latent points.

    .. math:: \bar f_d(x) = k_I(x)^\top (K_{II} + B_d^{-1})^{-1} m_d, \qquad
              \varsigma_d(x) = k(x, x) - \| L_d^{-1} k_I(x) \|^2

    Parameters
    ----------
    active : ActiveMap
    X_new : ndarray (M, q)

    Returns
    -------
    mean : ndarray (M, D)
    variance : ndarray (M, G)
        One column where all outputs share it.

    Notes
    -----
    Costs O(d^2 M) for each distinct covariance. Chapter 7, equations (7.15) and (7.16); Lawrence (2005), (20), (21).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> one = ActiveMap(RBF(), None, np.zeros((1, 1)), np.full((1, 1, 1), 0.5**0.5), np.ones((1, 1)))
    >>> mean, variance = latent_moments(one, np.array([[0.0], [50.0]]))
    >>> mean.ravel(), variance.ravel().round(3)
    (array([1., 0.]), array([0.5, 1. ]))
    """
    found = active.predict(X_new)
    return found.mean, found.variance  # (7.15), (7.16)


def inactive_log_likelihood(active, Y_new, X_new, rows=slice(None)) -> tuple[np.ndarray, np.ndarray]:
    r"""Log density of each row of Y_new at its row of X_new given the active set, with the gradient in X_new.

    .. math:: \ell_j(x) = \sum_{d} \ln Z\big(y_{jd};\ \bar f_d(x), \varsigma_d(x)\big)

    Parameters
    ----------
    active : ActiveMap
    Y_new : ndarray (M, D)
        NaN contributes nothing.
    X_new : ndarray (M, q)
    rows : index
        Which rows of the training data these are, for noise that differs from row to row.

    Returns
    -------
    values : ndarray (M,)
    gradients : ndarray (M, q)

    Notes
    -----
    Costs O(M d (d + D)) where outputs share a covariance, O(M d^2 D) otherwise; rows are independent of one another.
    Chapter 7, equations (7.17) to (7.19); Lawrence (2005), equations (12) and (19).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.noise import Gaussian
    >>> one = ActiveMap(RBF(), Gaussian(1.0), np.zeros((1, 1)), np.full((1, 1, 1), 0.5**0.5), np.ones((1, 1)))
    >>> value, gradient = inactive_log_likelihood(one, np.array([[1.0]]), np.array([[0.0]]))
    >>> value.round(4), abs(gradient)                            # ln N(1 | 1, 1.5), the best that can be
    (array([-1.1217]), array([[0.]]))
    """
    kernel, A, found = active.kernel, active.weights, active.predict(X_new)  # (7.15), (7.16)
    terms = active.noise.rows(rows).evaluate(Y_new, found.mean, found.variance)
    values = np.sum(terms.log_partition, axis=1)  # (7.17)
    in_variance = active.by_group(0.5 * (terms.g**2 - terms.nu), len(found.halves))  # (7.18)  (M, G)
    told = active.wholes(found.halves)  # (K_II + B^-1)^-1 k  (G, M, d)
    in_k = terms.g @ A.T - 2.0 * np.sum(in_variance.T[:, :, None] * told, axis=0)  # (7.19)  (M, d)
    return values, kernel.gradients(in_k, X_new, active.centres)[0] + kernel.diag_gradients(
        in_variance.sum(axis=1), X_new
    )[0]


def log_likelihoods_at_active(active, Y_new, rows=slice(None)) -> np.ndarray:
    """Log likelihood (M, d) of each row of Y_new at the position of each active row, by (7.17).

    Notes
    -----
    Costs O(M d D). The d predictions are made once; with spherical noise the misfits of all pairs are one product.
    Chapter 7, equation (7.17).

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
    noise, D = active.noise.rows(rows), Y_new.shape[1]
    if noise.shared and not np.isnan(Y_new).any():
        total = variance[:, 0] + noise.variance  # (d,), or (M, d)
        misfit = squared_distances(Y_new - noise.offset, mean)
        return -0.5 * (D * np.log(2 * np.pi * total) + misfit / total)  # (7.17)
    return np.stack(
        [noise.log_partition(Y_new, f, v).sum(axis=1) for f, v in zip(mean, variance, strict=True)], axis=1
    )  # (7.17)


def likeliest_starts(active, Y, X, rows=slice(None)) -> np.ndarray:
    r"""Where the search of each row begins, (M, q): its own position, or that of an active row where it is likelier.

    .. math:: x_j \leftarrow \arg\max_{x \in \{x_j\} \cup X_I} \ell_j(x)

    Parameters
    ----------
    active : ActiveMap
        Its latent prior counts.
    Y, X : ndarray (M, D), (M, q)
        Inactive rows and where they are.
    rows : index
        Which rows of the training data these are.

    Notes
    -----
    Costs O(M d D). Chapter 7, equations (7.17) and (7.23).

    Examples
    --------
    >>> from gplvm_edu.ivm import ivm_select
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.noise import Gaussian
    >>> Y, X = np.array([[-1.0], [1.0], [0.9]]), np.array([[-2.0], [2.0], [-2.1]])       # the third is far from home
    >>> chosen = ivm_select(Y[:2], X[:2], RBF(), Gaussian(0.1), 2)
    >>> likeliest_starts(selection_map(chosen, X[:2], RBF(), Gaussian(0.1)), Y[2:], X[2:])
    array([[2.]])
    """
    own, _ = inactive_log_likelihood(active, Y, X, rows)  # (7.17)
    there = log_likelihoods_at_active(active, Y, rows)  # (M, d)
    if active.latent_prior == "gaussian":
        own, there = own - 0.5 * np.sum(X**2, axis=1), there - 0.5 * np.sum(active.centres**2, axis=1)
    best = np.argmax(there, axis=1)
    better = there[np.arange(len(Y)), best] > own
    return np.where(better[:, None], active.centres[best], X)  # (7.23)


def place_inactive(active, Y, X, max_iter=20, rows=None, tolerance=COARSE) -> tuple[np.ndarray, np.ndarray]:
    """Move every row of X to a nearby maximum of its own log likelihood (plus prior): new X, and the values there.

    Notes
    -----
    One vectorised problem of O(M d (d + D)) an iteration, no loop over points: `maps.maximise_rows`, told which rows of
    the training data these are. Chapter 7, equation (7.17).
    """
    rows = np.arange(len(Y)) if rows is None else rows

    def log_density(some, positions):
        return inactive_log_likelihood(active, Y[some], positions, rows[some])  # (7.17)

    return maximise_rows(active, Y, X, max_iter, tolerance, log_density)
