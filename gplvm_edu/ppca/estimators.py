"""PPCA, DualPPCA and FactorAnalysis as scikit-learn estimators: thin layers over the functions beside them."""
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..base import DensityModel, LatentModel, check_components, check_positive
from ..linalg import centre
from .closed_form import dual_transform, latent_posterior, log_likelihood, maximum_likelihood, sample_ppca
from .em import LinearGaussian, e_step, em_iterates


def _no_maximum(model, Y):
    """The error for data that lie in a plane: no noise is left, and the likelihood has no maximum."""
    N, D = Y.shape
    q = model.n_components
    return ValueError(
        f"{type(model).__name__} has no maximum here: the rows of Y (n_samples={N}, n_features={D}) lie in a plane of "
        f"{q} dimensions or fewer, so no variance is left for the noise and the likelihood grows without bound. Use "
        f"a smaller n_components than {q}, or state a noise level with noise_variance=...; chapter 1, \"When there is "
        "too little data\"."
    )


class _LinearGaussianModel(DensityModel):
    """What PPCA and factor analysis do alike once `weights_`, `mean_` and `noise_variance_` are known."""

    allows_missing = True

    @property
    def _parameters(self):
        noise = np.broadcast_to(self.noise_variance_, self.mean_.shape)
        return LinearGaussian(self.weights_, self.mean_, noise)

    def transform(self, Y):
        """Posterior mean of the latent point of each row, given what was observed of it; (N, q)."""
        return e_step(self.check_data(Y, reset=False), self._parameters).means

    def inverse_transform(self, X):
        """Mean of the data at the latent points X; (N, D)."""
        return self.check_latent(X) @ self.weights_.T + self.mean_

    def score_samples(self, Y):
        """Log density of the observed part of each row; (N,)."""
        return e_step(self.check_data(Y, reset=False), self._parameters).log_densities

    def impute(self, Y, return_std=False):
        """Y with each missing entry replaced by its mean given the rest of its row; optionally its deviation."""
        Y = self.check_data(Y, reset=False)
        posterior = e_step(Y, self._parameters)
        gaps = np.isnan(Y)
        filled = np.where(gaps, self.inverse_transform(posterior.means), Y)
        if not return_std:
            return filled
        W = self.weights_
        variances = np.einsum("di,nij,dj->nd", W, posterior.covariances, W) + self.noise_variance_
        return filled, np.where(gaps, np.sqrt(variances), 0.0)

    def sample(self, n_samples=1, random_state=None):
        """Draw new rows from the model; returns (Y, X)."""
        seed = self.random_state if random_state is None else random_state
        rng = np.random.default_rng(seed)
        Y, X = sample_ppca(self.weights_, self.noise_variance_, n_samples, rng)
        return Y + self.mean_, X

    def get_covariance(self):
        """The model's covariance of one row, W W' + noise; (D, D)."""
        return self.weights_ @ self.weights_.T + np.diag(self._parameters.noise)

    def _start(self, Y):
        """Fill the gaps with column means and take the closed form: a start for EM on Y with NaN."""
        N, D = Y.shape
        empty = np.isnan(Y).all(axis=0)
        if empty.any():
            raise ValueError(f"Column {np.flatnonzero(empty)[0]} of Y has no observed value (all NaN): nothing can be "
                             "learnt about it. Drop the column.")
        mean = np.nanmean(Y, axis=0)
        filled = np.where(np.isnan(Y), 0.0, Y - mean)
        W, s2 = maximum_likelihood(filled, self.n_components)
        return LinearGaussian(W, mean, np.full(D, max(s2, 1e-3 * np.mean(filled**2))))

    def _run_em(self, Y, start, same_noise, noise_floor):
        """Exhaust EM, keep the history, stop when a step gains less than `tol` a data point."""
        history, parameters = [], start
        for parameters, value in em_iterates(Y, start, same_noise, self.max_iter, noise_floor):  # noqa: B007
            history.append(value)
            if len(history) > 1 and history[-1] - history[-2] < self.tol * len(Y):
                break
        else:
            warnings.warn(
                f"EM did not converge in max_iter={self.max_iter} steps: the last one still gained "
                f"{history[-1] - history[-2] if len(history) > 1 else np.nan:.3g} nats. Raise max_iter, or tol.",
                ConvergenceWarning, stacklevel=3,
            )
        self.history_, self.n_iter_ = np.array(history), len(history) - 1
        return parameters


class PPCA(_LinearGaussianModel):
    """Probabilistic PCA: a Gaussian latent point, a linear map, the same noise in every direction.

    Parameters
    ----------
    n_components : int, default 2
        Latent dimensions q, at most the number of columns.
    noise_variance : float or None
        None: its maximum likelihood value. Given: fixed, and axes with less variance are switched off.
    max_iter, tol : int, float
        For the EM algorithm, which runs only when Y has missing values (NaN).
    random_state : int, Generator or None
        For `sample`.

    Attributes
    ----------
    weights_ : ndarray (D, q); mean_ : ndarray (D,); noise_variance_ : float
    embedding_ : ndarray (N, q)
        Posterior means of the training points.
    log_likelihood_ : float
    history_ : ndarray
        Log likelihood of each EM iterate; one value when the closed form applies.

    Examples
    --------
    >>> from gplvm_edu.ppca import PPCA, sample_ppca
    >>> Y, X = sample_ppca(np.array([[3.0], [0.0], [1.0]]), 0.1, 500, random_state=0)
    >>> model = PPCA(n_components=1).fit(Y)
    >>> model.embedding_.shape, bool(abs(model.noise_variance_ - 0.1) < 0.01)
    ((500, 1), True)
    """

    def __init__(self, n_components=2, noise_variance=None, max_iter=1000, tol=1e-7, random_state=None):
        self.n_components = n_components
        self.noise_variance = noise_variance
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, Y, y=None):
        """Maximise the likelihood: in closed form, or by EM when Y has NaN."""
        Y = self.check_data(Y)
        N, D = Y.shape
        check_components(self.n_components, N, D, D, f"a row has only {D} entries to explain")
        if self.noise_variance is not None:
            check_positive("noise_variance", self.noise_variance)
        if np.isnan(Y).any():
            self._fit_em(Y)
        else:
            self._fit_closed_form(Y)
        posterior = e_step(Y, self._parameters)
        self.embedding_ = posterior.means
        self.log_likelihood_ = float(np.sum(posterior.log_densities))
        return self

    def _fit_closed_form(self, Y):
        Yc, self.mean_ = centre(Y)
        W, s2 = maximum_likelihood(Yc, self.n_components, self.noise_variance)
        if s2 == 0.0:
            raise _no_maximum(self, Y)
        self.weights_, self.noise_variance_ = W, s2
        self.history_, self.n_iter_ = np.array([log_likelihood(Yc, W, s2)]), 1

    def _fit_em(self, Y):
        if self.noise_variance is not None:
            raise ValueError("noise_variance can't be fixed when Y has missing values: EM estimates it from what was "
                             "observed. Leave it at None, or fill the gaps first with impute.")
        start = self._start(Y)
        floor = 1e-10 * np.nanvar(Y)
        W, self.mean_, noise = self._run_em(Y, start, same_noise=True, noise_floor=floor)
        if noise[0] <= floor:
            raise _no_maximum(self, Y)
        axes, lengths, _ = np.linalg.svd(W, full_matrices=False)
        sign = np.where(axes[np.argmax(np.abs(axes), axis=0), np.arange(len(lengths))] < 0, -1.0, 1.0)
        self.weights_, self.noise_variance_ = axes * lengths * sign, float(noise[0])


class FactorAnalysis(_LinearGaussianModel):
    """Factor analysis by EM: PPCA with a noise variance for each column.

    Parameters
    ----------
    n_components : int, default 2
    max_iter, tol : int, float
        EM stops when a step gains less than `tol` nats a data point.
    random_state : int, Generator or None
        For `sample`.

    Attributes
    ----------
    weights_, mean_, embedding_, log_likelihood_, history_ : as in PPCA
    noise_variance_ : ndarray (D,)

    Examples
    --------
    >>> Y, X = sample_ppca(np.array([[3.0], [1.0], [1.0], [2.0]]), np.array([0.1, 1.0, 0.1, 1.0]), 800, random_state=0)
    >>> FactorAnalysis(n_components=1).fit(Y).noise_variance_.round(1)
    array([0.1, 0.9, 0.1, 1. ])
    """

    def __init__(self, n_components=2, max_iter=5000, tol=1e-7, random_state=None):
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, Y, y=None):
        """Maximise the likelihood of the observed entries by EM, from PPCA's solution for standardised columns."""
        Y = self.check_data(Y)
        N, D = Y.shape
        check_components(self.n_components, N, D, D, f"a row has only {D} entries to explain")
        variances = np.nanvar(Y, axis=0)
        if (variances <= 1e-20 * max(np.nanmax(np.abs(Y)), 1e-300) ** 2).any():
            column = int(np.argmin(variances))
            raise ValueError(f"Column {column} of Y is constant: its own noise variance would be 0 and the likelihood "
                             "infinite. Drop the column, or use PPCA, which shares one noise level (chapter 1, "
                             "\"A noise level for every column\").")
        scale = np.sqrt(variances)                       # start on standardised columns: units must not decide
        W, mean, noise = self._start(Y / scale)
        start = LinearGaussian(W * scale[:, None], mean * scale, noise * variances)
        self.weights_, self.mean_, self.noise_variance_ = self._run_em(
            Y, start, same_noise=False, noise_floor=1e-6 * variances)
        posterior = e_step(Y, self._parameters)
        self.embedding_ = posterior.means
        self.log_likelihood_ = float(np.sum(posterior.log_densities))
        return self


class DualPPCA(LatentModel):
    """Dual PPCA: the weights are integrated out and the latent positions optimised.

    Shares the principal subspace with PPCA, and nothing more: noise and likelihood are others. It is the GP-LVM
    with a linear kernel.

    Parameters
    ----------
    n_components : int, default 2
    noise_variance : float or None
        None: its maximum likelihood value, from all N eigenvalues. Given: fixed.

    Attributes
    ----------
    embedding_ : ndarray (N, q)
        The optimised latent positions X.
    noise_variance_ : float
    log_likelihood_ : float
    mean_ : ndarray (D,)
    weight_means_ : ndarray (D, q); weight_covariance_ : ndarray (q, q)
        Posterior over the weights; each row of W has the same covariance.

    Examples
    --------
    >>> from gplvm_edu.ppca import DualPPCA, sample_ppca
    >>> Y, X = sample_ppca(np.array([[3.0], [0.0], [1.0]]), 0.1, 500, random_state=0)
    >>> model = DualPPCA(n_components=1).fit(Y)
    >>> bool(np.allclose(model.transform(Y), model.embedding_))
    True
    """

    def __init__(self, n_components=2, noise_variance=None):
        self.n_components = n_components
        self.noise_variance = noise_variance

    @property
    def failing_checks(self):
        """Checks of scikit-learn that fit data with two columns: no noise is left for q = 2."""
        if self.n_components < 2 or self.noise_variance is not None:
            return {}
        reason = "two columns centred have rank 2, so at q = 2 the dual likelihood is unbounded (chapter 1)"
        return {name: reason for name in (
            "check_estimators_overwrite_params", "check_estimators_fit_returns_self", "check_readonly_memmap_input",
            "check_fit_idempotent", "check_fit_check_is_fitted", "check_n_features_in")}

    def fit(self, Y, y=None):
        """Maximise the dual likelihood in closed form."""
        Y = self.check_data(Y)
        N, D = Y.shape
        rank = min(N - 1, D)
        largest = rank if self.noise_variance is not None else rank - 1
        check_components(self.n_components, N, D, max(largest, 0),
                         f"the centred data span {rank} dimensions at most, and the noise needs one of them")
        if self.noise_variance is not None:
            check_positive("noise_variance", self.noise_variance)
        Yc, self.mean_ = centre(Y)
        X, s2 = maximum_likelihood(Yc.T, self.n_components, self.noise_variance)
        if s2 == 0.0:
            raise _no_maximum(self, Y)
        W, Sigma = latent_posterior(Yc.T, X, s2)
        sign = np.where(W[np.argmax(np.abs(W), axis=0), np.arange(X.shape[1])] < 0, -1.0, 1.0)
        self.embedding_, self.noise_variance_ = X * sign, s2
        self.weight_means_, self.weight_covariance_ = W * sign, Sigma * np.outer(sign, sign)
        self.log_likelihood_ = log_likelihood(Yc.T, X, s2)
        return self

    def transform(self, Y):
        """Latent positions of new rows, equation (1.19); the training rows come back to `embedding_`."""
        Yc = self.check_data(Y, reset=False) - self.mean_
        return dual_transform(Yc, self.weight_means_, self.weight_covariance_)

    def inverse_transform(self, X, return_std=False):
        """Mean of the data at the latent points X (N, D); optionally the deviation of a new observation (N,)."""
        X = self.check_latent(X)
        mean = X @ self.weight_means_.T + self.mean_
        if not return_std:
            return mean
        variance = np.einsum("nq,qr,nr->n", X, self.weight_covariance_, X) + self.noise_variance_
        return mean, np.sqrt(variance)
