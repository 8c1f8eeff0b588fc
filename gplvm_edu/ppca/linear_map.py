"""The linear map: y = W x + mean + noise, its weights certain (PPCA, factor analysis) or Gaussian (the dual)."""

from dataclasses import dataclass

import numpy as np

from ..maps import Map, gaussian_rows


@dataclass(frozen=True, eq=False)
class LinearMap(Map):
    r"""A linear map from latent space to data, equations (1.4) and (1.24).

    .. math:: f(x) = W x + \mu, \qquad \mathrm{var}\, f_d(x) = x^\top \Sigma_W\, x

    Parameters
    ----------
    weights : ndarray (D, q)
        W; in the dual the posterior mean.
    mean : ndarray (D,)
    noise_variance : float or ndarray (D,)
    weight_covariance : ndarray (q, q) or None
        Sigma_W, the posterior covariance that every row of W has in the dual; None: the weights are certain.
    latent_prior : "gaussian" or None
        "gaussian" in PPCA and factor analysis, which integrate x out. None in the dual, where positions are parameters:
        the dual places rows by equation (1.25), because in the density here a training row would count twice.

    Examples
    --------
    >>> certain = LinearMap(np.ones((2, 1)), np.zeros(2), 0.5)
    >>> certain.moments(np.array([[3.0]]))
    (array([[3., 3.]]), array([[0., 0.]]))
    >>> LinearMap(np.ones((2, 1)), np.zeros(2), 0.5, np.array([[0.1]])).moments(np.array([[3.0]]))[1].round(3)
    array([[0.9, 0.9]])
    """

    weights: np.ndarray
    mean: np.ndarray
    noise_variance: object
    weight_covariance: np.ndarray | None = None
    latent_prior: str | None = "gaussian"

    @property
    def certain_because(self) -> str:
        """The reason why the variance of f is zero everywhere; empty in the dual, where it is not."""
        if self.weight_covariance is not None:
            return ""
        return "its weights are estimated as if they were certain, so that without noise nothing is left to vary"

    @property
    def row_size(self) -> int:
        """Numbers that one row needs in `log_density`."""
        return len(self.weights)

    def moments(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Mean and noise-free variance of the data at latent points, both (M, D)."""
        mean = X @ self.weights.T + self.mean  # (1.4)  (M, D)
        if self.weight_covariance is None:
            return mean, np.broadcast_to(0.0, mean.shape)
        variance = np.einsum("nq,qr,nr->n", X, self.weight_covariance, X)  # (1.24)  (M,)
        return mean, np.broadcast_to(variance[:, None], mean.shape)

    def jacobian(self, X) -> np.ndarray:
        """Derivatives of the mean, the weights at every point, (M, D, q)."""
        return np.repeat(self.weights[None], len(X), axis=0)

    def metric(self, X) -> np.ndarray:
        """Expected metric <W'W>, the same at every point, (M, q, q)."""
        W, Sigma = self.weights, self.weight_covariance
        second_moment = W.T @ W + (0.0 if Sigma is None else len(W) * Sigma)  # (1.25)  (q, q)
        return np.repeat(second_moment[None], len(X), axis=0)

    def log_density(self, Y, X) -> tuple[np.ndarray, np.ndarray]:
        """Log density of each row of Y at its row of X (M,), and its gradients in X (M, q); NaN: not observed."""
        mean, variance = self.moments(X)
        terms = gaussian_rows(Y, mean, variance + self.noise_variance)
        gradients = terms.in_mean @ self.weights
        if self.weight_covariance is not None:
            gradients += 2.0 * np.sum(terms.in_variance, axis=1)[:, None] * (X @ self.weight_covariance)
        return terms.values, gradients
