"""PPCA, DualPPCA and FactorAnalysis as scikit-learn estimators: thin layers over the functions beside them."""

from collections.abc import Iterator
from typing import Self

import numpy as np

from .. import checks
from ..base import IterativeFit, MapModel, check_is_fitted, until_settled
from ..linalg import centre, column_signs, fill_with_means, own_units
from ..maps import Places
from .closed_form import dual_transform, dual_transform_observed, latent_posterior, log_likelihood, maximum_likelihood
from .em import LinearGaussian, LinearGaussianState, e_step, em_iterates, in_data_units, on_principal_axes
from .linear_map import LinearMap


def _no_maximum(model, Y):
    """The error for data that lie in a plane: no noise is left, and the likelihood has no maximum."""
    N, D = Y.shape
    q = model.n_components
    return ValueError(
        f"{type(model).__name__} has no maximum here: the rows of Y (n_samples={N}, n_features={D}) lie in a plane of "
        f"{q} dimensions or fewer, so no variance is left for the noise and the likelihood grows without bound. Use "
        f'a smaller n_components than {q}, or state a noise level with noise_variance=...; chapter 1, "When there is '
        'too little data".'
    )


class _LinearGaussianModel(IterativeFit, MapModel):
    """What PPCA and factor analysis share: x is integrated out, so the E-step gives its posterior without a search."""

    allows_missing = True
    same_noise = True  # in all columns
    rules = {
        "n_components": checks.rule(checks.whole_number),
        "max_iter": checks.rule(checks.whole_number, at_least=0),
        "tol": checks.rule(checks.number, at_least=0),
        "verbose": checks.rule(checks.flag),
    }

    def matrix_size(self, N, D) -> int:
        """The scatter matrix of rows or of columns, whichever is smaller."""
        return min(N, D)

    def set_state(self, state) -> Self:
        """Make the estimator that of one state of EM, or of the closed form."""
        found = state.parameters
        self.weights_, self.mean_, noise = found.weights, found.mean, found.noise
        self.noise_variance_ = float(noise[0]) if self.same_noise else noise
        self.embedding_, self.log_likelihood_ = state.X, state.value
        self.map_ = LinearMap(self.weights_, self.mean_, self.noise_variance_)
        return self

    def check_rows(self, Y, gaps=True) -> np.ndarray:
        """New rows; one with no value at all is allowed: its posterior is the prior."""
        return self.check_data(Y, reset=False, gaps=gaps)

    def _posterior(self, Y):
        noise = np.broadcast_to(self.noise_variance_, self.mean_.shape)
        return e_step(Y, LinearGaussian(self.weights_, self.mean_, noise))

    def transform(self, Y, n_starts=5) -> np.ndarray:
        """Posterior mean of the latent point of each row, given what was observed of it; (N, q). Needs no search."""
        checks.whole_number("n_starts", n_starts)
        return self._posterior(self.check_rows(Y)).means

    def score_samples(self, Y, n_starts=5) -> np.ndarray:
        """Log density of the observed part of each row, the latent point integrated out; (N,). Needs no search."""
        checks.whole_number("n_starts", n_starts)
        return self._posterior(self.check_rows(Y)).log_densities

    def recover(self, Y, n_starts=5) -> tuple[np.ndarray, ...]:
        """Of rows with missing values: mean and variance of p(x | y), (M, q), and mean and variance of f, (M, D)."""
        checks.whole_number("n_starts", n_starts)
        posterior = self._posterior(self.check_rows(Y))
        W = self.weights_
        variance = np.einsum("di,nij,dj->nd", W, posterior.covariances, W)  # (1.34), without the noise
        latent_variance = np.diagonal(posterior.covariances, axis1=1, axis2=2)
        return posterior.means, latent_variance, self.map_.moments(posterior.means)[0], variance

    def get_covariance(self) -> np.ndarray:
        """The model's covariance of one row, W W' + noise; (D, D)."""
        check_is_fitted(self)
        return self.weights_ @ self.weights_.T + self.noise_variance_ * np.eye(len(self.mean_))

    def _check(self, Y):
        """The parameters, and Y as the training rows."""
        Y = self.check_data(Y)
        N, D = Y.shape
        checks.components(self.n_components, N, D, D, f"a row has only {D} entries to explain")
        self.rows_ = checks.observed_columns(Y)
        return self.rows_

    def _start(self, Y):
        """Fill the gaps with column means and take the closed form: a start for EM on Y with NaN."""
        filled, mean = fill_with_means(Y)
        W, s2 = maximum_likelihood(filled, self.n_components)
        return LinearGaussian(W, mean, np.full(Y.shape[1], max(s2, 1e-3 * np.mean(filled**2))))


class PPCA(_LinearGaussianModel):
    """Probabilistic PCA: a Gaussian latent point, a linear map, the same noise in every direction.

    Use it when you want the first map of any table: linear, at once, with a density, samples and gaps filled.

    Columns: numbers of comparable scale.
    NaN: in fit and in new rows.
    Answers: transform, inverse_transform, impute, score_samples, sample, map_.
    Cost: O(N D min(N, D)), with gaps O(N D q^2) a step; at N = 1000, by default, 0.05 seconds.
    Chapter: 1 (book/01_ppca.ipynb).

    Parameters
    ----------
    n_components : int, default 2
        Latent dimensions q, at most the number of columns.
    noise_variance : float or None
        None: its maximum likelihood value. Given: fixed, and axes with less variance get weight 0.
    max_iter, tol : int, float
        For the EM algorithm, which runs only when Y has missing values (NaN).
    random_state : None, int, RandomState or Generator
        For `sample`.
    verbose : bool
        Show a bar with the steps made, the objective and the time left at most (by tqdm, on the error output).

    Attributes
    ----------
    weights_ : ndarray (D, q); mean_ : ndarray (D,); noise_variance_ : float
    map_ : LinearMap
    embedding_ : ndarray (N, q)
        Posterior means of the training points.
    log_likelihood_ : float
    history_ : ndarray
        Log likelihood of each EM iterate; one value when the closed form applies.

    Examples
    --------
    >>> from gplvm_edu.ppca import sample_ppca
    >>> Y, X = sample_ppca(np.array([[3.0], [0.0], [1.0]]), 0.1, 500, random_state=0)
    >>> model = PPCA(n_components=1).fit(Y)
    >>> model.embedding_.shape, bool(abs(model.noise_variance_ - 0.1) < 0.01)
    ((500, 1), True)
    """

    rules = _LinearGaussianModel.rules | {"noise_variance": checks.rule(checks.positive, optional=True)}

    def __init__(
        self,
        n_components: int = 2,
        noise_variance: float | None = None,
        max_iter: int = 1000,
        tol: float = 1e-7,
        random_state: checks.Seed = None,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.noise_variance = noise_variance
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def iterates(self, Y) -> Iterator[LinearGaussianState]:
        """Generator of states: those of EM when Y has NaN, on principal axes; else one, the closed form."""
        Y = self._check(Y)
        if not np.isnan(Y).any():
            yield self._closed_form(Y)
            return
        if self.noise_variance is not None:
            raise ValueError(
                "noise_variance can't be fixed when Y has missing values: EM estimates it from what was "
                "observed. Leave it at None, or fill the gaps first with impute."
            )
        unit, floor = own_units(Y), 1e-10
        if not np.nan_to_num(unit.Y).any():
            raise _no_maximum(self, Y)  # nothing varies
        steps = em_iterates(unit.Y, self._start(unit.Y), self.same_noise, self.max_iter, floor)
        for state in until_settled(steps, self.tol * len(Y)):
            if state.parameters.noise[0] <= floor:
                raise _no_maximum(self, Y)
            yield on_principal_axes(in_data_units(state, unit.unit, unit.mean, unit.log_jacobian))

    def _closed_form(self, Y):
        Yc, mean = centre(Y)
        W, s2 = maximum_likelihood(Yc, self.n_components, self.noise_variance)
        if s2 == 0.0:
            raise _no_maximum(self, Y)
        parameters = LinearGaussian(W, mean, np.full(len(mean), s2))
        return LinearGaussianState(parameters, log_likelihood(Yc, W, s2), latent_posterior(Yc, W, s2)[0], "closed form")


class FactorAnalysis(_LinearGaussianModel):
    """Factor analysis by EM: PPCA with a noise variance for each column.

    Use it when columns have units or noise levels of their own, and a linear map will do.

    Columns: numbers in any units.
    NaN: in fit and in new rows.
    Answers: transform, inverse_transform, impute, score_samples, sample, map_.
    Cost: O(N D q^2) a step; at N = 1000, by default, 2.9 seconds.
    Chapter: 1 (book/01_ppca.ipynb).

    Parameters
    ----------
    n_components, random_state, verbose : as in `PPCA`
    max_iter, tol : int, float
        EM stops when a step gains less than `tol` nats a data point. It has one start and may end in a local
        maximum: `em_iterates` takes another.

    Attributes
    ----------
    weights_, mean_, map_, embedding_, log_likelihood_, history_ : as in PPCA
    noise_variance_ : ndarray (D,)

    Examples
    --------
    >>> from gplvm_edu.ppca import sample_ppca
    >>> Y, X = sample_ppca(np.array([[3.0], [1.0], [1.0], [2.0]]), np.array([0.1, 1.0, 0.1, 1.0]), 800, random_state=0)
    >>> FactorAnalysis(n_components=1).fit(Y).noise_variance_.round(1)
    array([0.1, 0.9, 0.1, 1. ])
    """

    same_noise = False
    measures_deviations = True
    any_units = "each column has a noise variance of its own"

    def __init__(
        self,
        n_components: int = 2,
        max_iter: int = 5000,
        tol: float = 1e-7,
        random_state: checks.Seed = None,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def iterates(self, Y) -> Iterator[LinearGaussianState]:
        """Generator of EM's states, from PPCA's solution for standardised columns."""
        Y = self._check(Y)
        (filled, mean), seen = fill_with_means(Y), ~np.isnan(Y)
        scale = np.sqrt(np.sum(filled**2, axis=0) / seen.sum(axis=0))  # columns may have units of their own
        constant = scale <= 1e-10 * np.nanmax(np.abs(Y), axis=0)
        if constant.any():
            column = int(np.argmax(constant))
            raise ValueError(
                f"Column {column} of Y is constant: its own noise variance would be 0 and the likelihood "
                "infinite. Drop the column, or use PPCA, which shares one noise level (chapter 1, "
                '"A noise level for every column").'
            )
        unit, log_jacobian = np.where(seen, filled / scale, np.nan), float(seen.sum(axis=0) @ np.log(scale))
        steps = em_iterates(unit, self._start(unit), self.same_noise, self.max_iter, 1e-6)
        for state in until_settled(steps, self.tol * len(Y)):
            yield in_data_units(state, scale, mean, log_jacobian)


class DualPPCA(MapModel):
    """Dual PPCA: the weights are integrated out and the latent positions optimised.

    Use it when you want PCA as a GP-LVM with a linear kernel: the positions are parameters, with a doubt about the map.

    Columns: numbers of comparable scale.
    NaN: in new rows, not in transform.
    Answers: transform, inverse_transform, impute, score_samples, sample, map_.
    Cost: O(N D min(N, D)); at N = 1000, by default, 0.05 seconds.
    Chapter: 1 (book/01_ppca.ipynb).

    It shares the principal subspace with PPCA, but neither the noise variance nor the likelihood. It is the GP-LVM
    with a linear kernel. Positions are parameters without a prior: a new row goes to the x that minimises its expected
    squared error, equation (1.25); for the training rows this is `embedding_`.

    Parameters
    ----------
    n_components, random_state : as in `PPCA`
    noise_variance : float or None
        None: its maximum likelihood value, from all N eigenvalues. Given: fixed.

    Attributes
    ----------
    embedding_ : ndarray (N, q)
        The optimised latent positions X.
    noise_variance_, log_likelihood_, mean_, map_ : as in `PPCA`
    weight_means_ : ndarray (D, q); weight_covariance_ : ndarray (q, q)
        Posterior over the weights; each row of W has the same covariance.

    Examples
    --------
    >>> from gplvm_edu.ppca import sample_ppca
    >>> Y, X = sample_ppca(np.array([[3.0], [0.0], [1.0]]), 0.1, 500, random_state=0)
    >>> model = DualPPCA(n_components=1).fit(Y)
    >>> bool(np.allclose(model.transform(Y), model.embedding_))
    True
    """

    rules = {name: PPCA.rules[name] for name in ("n_components", "noise_variance")}

    def __init__(self, n_components: int = 2, noise_variance: float | None = None, random_state: checks.Seed = None):
        self.n_components = n_components
        self.noise_variance = noise_variance
        self.random_state = random_state

    def matrix_size(self, N, D) -> int:
        """The scatter matrix of rows or of columns, whichever is smaller."""
        return min(N, D)

    @property
    def failing_checks(self) -> dict:
        """Checks of scikit-learn that fit data with two columns: no noise is left for q = 2."""
        if not checks.is_number(self.n_components) or self.n_components < 2 or self.noise_variance is not None:
            return {}
        reason = "two columns centred have rank 2, so at q = 2 the dual likelihood is unbounded (chapter 1)"
        return {
            name: reason
            for name in (
                "check_estimators_overwrite_params",
                "check_estimators_fit_returns_self",
                "check_readonly_memmap_input",
                "check_fit_idempotent",
                "check_fit_check_is_fitted",
                "check_n_features_in",
            )
        }

    def fit(self, Y, y=None) -> Self:
        """Maximise the dual likelihood in closed form."""
        Y = self.check_data(Y)
        N, D = Y.shape
        rank = min(N - 1, D)
        largest = rank if self.noise_variance is not None else rank - 1
        because = f"the centred data span {rank} dimensions at most, and the noise needs one of them"
        checks.components(self.n_components, N, D, max(largest, 0), because)
        Yc, mean = centre(Y)
        X, s2 = maximum_likelihood(Yc.T, self.n_components, self.noise_variance)
        if s2 == 0.0:
            raise _no_maximum(self, Y)
        W, Sigma = latent_posterior(Yc.T, X, s2)
        sign = column_signs(W)
        self.rows_, self.mean_ = Y, mean
        self.embedding_, self.noise_variance_ = X * sign, s2
        self.weight_means_, self.weight_covariance_ = W * sign, Sigma * np.outer(sign, sign)
        self.map_ = LinearMap(self.weight_means_, mean, s2, self.weight_covariance_, latent_prior=None)
        self.log_likelihood_ = log_likelihood(Yc.T, X, s2)
        return self

    def transform(self, Y, n_starts=5) -> np.ndarray:
        """Latent positions of new rows, equation (1.25); for the training rows this is `embedding_`."""
        checks.whole_number("n_starts", n_starts)
        Y = self.check_rows(Y, gaps=False)
        return dual_transform(Y - self.mean_, self.weight_means_, self.weight_covariance_)

    def place(self, Y, n_starts=5) -> Places:
        """Where rows with gaps lie, equation (1.25), and <ln p(y | x, W)> over p(W), the value that is largest there.

        It is quadratic in x and has one maximum, so a search from any start would end there.
        """
        Y = self.check_rows(Y)
        X = dual_transform_observed(Y - self.mean_, self.weight_means_, self.weight_covariance_)
        mean, variance = self.map_.moments(X)
        seen, s2 = ~np.isnan(Y), self.noise_variance_
        errors = np.where(seen, (Y - mean) ** 2 + variance, 0.0)
        values = -0.5 * np.sum(errors / s2 + seen * np.log(2 * np.pi * s2), axis=1)
        n = min(checks.whole_number("n_starts", n_starts), len(self.rows_))
        return Places(np.repeat(X[:, None], n, axis=1), np.repeat(values[:, None], n, axis=1))

    def recover(self, Y, n_starts=5) -> tuple[np.ndarray, ...]:
        """Of rows with missing values: position and variance 0, (M, q), and mean and variance of f there, (M, D)."""
        X = self.place(Y, n_starts).X[:, 0]
        return X, np.zeros_like(X), *self.map_.moments(X)
