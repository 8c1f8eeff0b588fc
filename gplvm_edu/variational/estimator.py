"""`BayesianGPLVM`: the Gaussian process latent variable model with its latent points integrated out."""
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ..base import DensityModel, IterativeFit, check_components
from ..gplvm.estimator import initial_positions
from ..kernels import RBF, Kernel, Linear, White
from .bound import JITTER
from .objective import Outputs, Parameters, State, evaluate_bound, group_outputs, variational_iterates
from .psi import PsiStatistics, check_kernel, split_noise

NOISE_FLOOR = 1e-8                  # of the variance of Y
ACTIVE = 0.01                       # a dimension counts when its weight is above this share of the largest
LATENTS = ("gaussian", "point")


def initial_kernel(kernel, variance, n_components):
    """The kernel that a fit starts with, a weight for each dimension, and the noise variance, (12.28).

    None means an RBF of the data's variance with all length scales at 1, and a hundredth of noise. A single inverse
    width, or a single variance of a Linear kernel, becomes one for each of the latent dimensions.

    Examples
    --------
    >>> initial_kernel(None, 2.0, 2)
    (RBF(variance=2, inverse_width=[1, 1]), 0.02)
    """
    q = n_components
    smooth, noise = split_noise(RBF(variance, 1.0) if kernel is None else kernel)
    for part in getattr(smooth, "parts", [smooth]):
        if isinstance(part, RBF) and np.ndim(part.inverse_width) == 0:
            part.inverse_width = np.full(q, part.inverse_width)                  # (12.28)
        if isinstance(part, Linear) and np.ndim(part.variance) == 0:
            part.variance = np.full(q, part.variance)
    return smooth, noise if noise > 0 else 0.01 * variance                       # (12.28)


def initial_inducing_inputs(latent_mean, n_inducing, kernel, random_state):
    """Where the inducing points start: at random latent means; for a Linear kernel at the axes, (12.28).

    Planes through the origin are fixed by q values of theirs, so a Linear kernel takes q inducing points (and one more
    at the origin for a Bias), whatever was asked for.

    Examples
    --------
    >>> from gplvm_edu.kernels import Bias
    >>> initial_inducing_inputs(np.zeros((9, 2)), 5, Linear() + Bias(), np.random.RandomState(0))
    array([[1., 0.],
           [0., 1.],
           [0., 0.]])
    """
    N, q = latent_mean.shape
    parts = getattr(kernel, "parts", [kernel])
    if isinstance(parts[0], Linear):
        return np.vstack([np.eye(q), np.zeros((int(len(parts) > 1), q))])             # (12.28)
    return latent_mean[random_state.permutation(N)[:n_inducing]].copy()          # (12.28)


def relevance_weights(kernel, n_components):
    """The ARD weight of each latent dimension: inverse widths of an RBF, variances of a Linear kernel, (12.29).

    A kernel that treats all dimensions alike gives each the weight 1.

    Examples
    --------
    >>> relevance_weights(RBF(1.0, [4.0, 0.01]), 2)
    array([4.  , 0.01])
    """
    shape = getattr(kernel, "parts", [kernel])[0]
    weights = shape.variance if isinstance(shape, Linear) else getattr(shape, "inverse_width", 1.0)
    return np.broadcast_to(weights, n_components).copy()                         # (12.29)


class OutputGroup(NamedTuple):
    """Outputs observed at the same training points: their columns, Psi1' Y (M, D), Psi2, and the factors."""

    columns: np.ndarray
    Psi1_Y: np.ndarray
    Psi2: np.ndarray
    factors: tuple


class Posterior(NamedTuple):
    """What a fitted model knows, in the units of the centred data: all that prediction needs.

    kernel (without White), beta, Z (M, q), L (factor of K_MM with its jitter), jitter (the share added), q(X) as
    latent_mean and latent_variance (None for points), psi statistics of the training points, groups of outputs.
    """

    kernel: Kernel
    beta: float
    Z: np.ndarray
    L: np.ndarray
    jitter: float
    latent_mean: np.ndarray
    latent_variance: np.ndarray
    psi: PsiStatistics
    groups: list


def posterior_of(Y, parameters, jitter=JITTER):
    """The posterior of given parameters for centred data Y (NaN is a gap), ready for prediction, equation (12.21).

    Examples
    --------
    >>> Y, X = np.array([[1.0], [-1.0]]), np.array([[1.0], [-1.0]])
    >>> posterior_of(Y, Parameters(X, None, X, RBF(), 0.1)).groups[0].Psi1_Y.round(4)
    array([[ 0.8647],
           [-0.8647]])
    """
    observed = group_outputs(Y)
    if Y.shape[1] != observed.Y.shape[1]:                                        # prediction wants every column itself
        observed = Outputs(Y, [np.arange(Y.shape[1])], None, [Y.shape[1]], observed.squared_norm)
    _, psi, factors, share = evaluate_bound(observed, parameters, jitter)        # (12.21)
    groups = [OutputGroup(columns, psi.Psi1.T @ observed.Y[:, columns], psi.Psi2[g], factors[g])
              for g, columns in enumerate(observed.columns)]
    mu, S, Z, kernel, noise = parameters
    return Posterior(kernel, 1.0 / noise, Z, factors[0].L, share, mu, S, psi._replace(pull_back=None), groups)


def _rescale(parameters, unit):
    """The same model for data in another unit."""
    return parameters._replace(kernel=unit**2 * parameters.kernel, noise_variance=unit**2 * parameters.noise_variance)


class BayesianGPLVM(IterativeFit, DensityModel):
    """Bayesian GP-LVM: both the map and the latent points are integrated out, the latter by a variational bound.

    Parameters
    ----------
    n_components : int, default 10
        Latent dimensions offered; those that the data do not need are switched off.
    n_inducing : int, default 50
        Inducing points, at most N.
    kernel : Kernel or None
        RBF or Linear, with Bias and White as you like; None: RBF scaled to the data. A single width or variance becomes
        one for each latent dimension. White is the noise. The kernel passed in is not changed.
    init : "pca", "isomap", "kernel_pca", "random", or ndarray (N, q)
        Means of the latent points at the start.
    latent : "gaussian" or "point"
        "point": latent points are optimised, not integrated out; any kernel will do.
    initial_variance : float
        Of each latent point at the start.
    optimizer : "l-bfgs" or "scg"
    max_iter : int
    tol : float
        Stop when no entry of the gradient exceeds it.
    jitter : float
        Share of the mean diagonal of K_MM that is added to it.
    random_state : int, RandomState or None

    Attributes
    ----------
    latent_mean_, latent_variance_ : ndarray (N, q)
        q(X). `embedding_` is the mean.
    bound_ : float
    bound_terms_ : BoundTerms
        The bound's parts: fit - trace - kl.
    kernel_ : Kernel
        With White, the noise.
    inducing_inputs_ : ndarray (M, q); n_inducing_ : int
    noise_variance_ : float
    relevance_ : ndarray (q,)
        ARD weights.
    active_dims_ : ndarray
        Dimensions with more than a hundredth of the largest weight, the largest first.
    mean_ : ndarray (D,)
    posterior_ : Posterior
        What prediction needs (chapter 13).
    history_ : ndarray
        The bound of each iterate, the start included.
    n_iter_, n_evaluations_ : int
    jitter_ : float
        The share that was needed.

    Examples
    --------
    >>> from gplvm_edu import datasets
    >>> oil = datasets.simulate_oil_flow(60, random_state=0)
    >>> model = BayesianGPLVM(4, n_inducing=15, max_iter=50, random_state=0).fit(oil.data)
    >>> model.latent_mean_.shape, bool(model.history_[-1] > model.history_[0])
    ((60, 4), True)
    """

    allows_missing = True
    failing_checks = {name: "a training row's q(x) was climbed together with all others and the kernel, a new row's "
                            "alone: fit_transform and transform are different problems (chapter 13)"
                      for name in ("check_transformer_general", "check_transformer_data_not_an_array")}

    def __init__(self, n_components=10, n_inducing=50, kernel=None, init="pca", latent="gaussian", initial_variance=0.1,
                 optimizer="l-bfgs", max_iter=1000, tol=1e-3, jitter=JITTER, random_state=None):
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.kernel = kernel
        self.init = init
        self.latent = latent
        self.initial_variance = initial_variance
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.tol = tol
        self.jitter = jitter
        self.random_state = random_state

    def iterates(self, Y):
        """Prepare the fit and yield its states, in the units of Y; `fit` exhausts this, a widget pauses it."""
        Y = self.check_data(Y)
        self._check_parameters(Y)
        self.mean_, self._Y, start = self._start(Y)
        self._unit = 1.0 if not self._Y[~np.isnan(self._Y)].any() else float(np.nanstd(self._Y))
        outputs, shift = group_outputs(self._Y / self._unit), float(np.sum(~np.isnan(Y)) * np.log(self._unit))
        for state in variational_iterates(outputs, _rescale(start, 1.0 / self._unit), self.optimizer, self.max_iter,
                                          self.tol, self.jitter, NOISE_FLOOR):
            terms = state.terms._replace(fit=state.terms.fit - shift)
            yield State(_rescale(state.parameters, self._unit), terms, state.n_evaluations)

    def _start(self, Y):
        """Column means, centred data, and the parameters that a fit starts from."""
        mean = np.nanmean(Y, axis=0)
        Yc = Y - mean
        filled = np.where(np.isnan(Yc), 0.0, Yc)
        variance = np.nanvar(Yc) if filled.any() else 1.0
        rng, q = check_random_state(self.random_state), self.n_components
        X = initial_positions(filled, q, self.init, rng)
        kernel, noise = initial_kernel(self.kernel, variance, q)
        kernel.diag(X[:1])                                   # as many weights as dimensions, or a clear error
        if self.latent == "gaussian":
            check_kernel(kernel)
        Z = initial_inducing_inputs(X, min(self.n_inducing, len(Y)), kernel, rng)
        S = np.full(X.shape, float(self.initial_variance)) if self.latent == "gaussian" else None
        unseen = np.isnan(Y).all(axis=1)
        if S is not None and unseen.any():
            X[unseen], S[unseen] = 0.0, 1.0                  # nothing observed: q(x) is the prior, and stays there
        return mean, Yc, Parameters(X, S, Z, kernel, noise)

    def set_state(self, state, history=()):
        """Make the estimator that of one iterate."""
        mu, S, Z, kernel, noise = state.parameters
        self.embedding_ = self.latent_mean_ = mu
        self.latent_variance_ = np.zeros_like(mu) if S is None else S
        self.inducing_inputs_, self.n_inducing_ = Z, len(Z)
        self.kernel_, self.noise_variance_ = kernel + White(noise), noise
        self.bound_terms_, self.bound_ = state.terms, float(state.value)
        self.posterior_ = posterior_of(self._Y, state.parameters, self.jitter)
        self.jitter_ = self.posterior_.jitter
        self.history_, self.n_iter_ = np.array(history), max(len(history) - 1, 1)
        self.n_evaluations_ = state.n_evaluations
        return self

    @property
    def relevance_(self):
        """ARD weights, one for each latent dimension; (q,)."""
        return relevance_weights(split_noise(self.kernel_)[0], self.latent_mean_.shape[1])

    @property
    def active_dims_(self):
        """Latent dimensions with more than a hundredth of the largest weight, the largest first."""
        weights = self.relevance_
        order = np.argsort(-weights, kind="stable")
        return order[weights[order] > ACTIVE * weights.max()]

    # --- new rows, by the functions of chapter 13 -------------------------------------------------------------
    def latent_posterior(self, Y, n_starts=5):
        """q(x*) of new rows, NaN where not observed: `LatentPosterior` with mean, variance (n, q) and bound (n,)."""
        from ..prediction import latent_posterior
        return latent_posterior(self, Y, n_starts)

    def transform(self, Y):
        """Means of the latent posteriors of new rows, (n, q)."""
        from ..prediction import latent_posterior
        return latent_posterior(self, Y, tolerance=1e-9).mean

    def inverse_transform(self, X, return_std=False):
        """Expected data at latent points, (n, D); optionally the deviation of the noise-free map, (n, D)."""
        from ..prediction import predict
        mean, variance = predict(self, self.check_latent(X))
        return (mean, np.sqrt(variance)) if return_std else mean

    def reconstruct(self, Y, noise=False, n_starts=5):
        """New rows, gaps filled and noise removed: `Reconstruction` with mean, std, latent_mean, latent_variance."""
        from ..prediction import reconstruct
        return reconstruct(self, Y, noise, n_starts)

    def log_density(self, Y, method="ratio", n_starts=5):
        """Log density of the observed entries of new rows, (n,): "ratio" of bounds, or with phi(u) "frozen"."""
        from ..prediction import log_density
        return log_density(self, Y, method, n_starts)

    def score_samples(self, Y):
        """Log density of new rows by the ratio of bounds, (n,); `score` is their mean."""
        return self.log_density(Y)

    def _check_parameters(self, Y):
        N, D = Y.shape
        check_components(self.n_components, N, D, np.inf, "")
        empty = np.isnan(Y).all(axis=0)
        if empty.any():
            raise ValueError(f"Column {np.flatnonzero(empty)[0]} of Y has no observed value (all NaN): nothing can be "
                             "learnt about it. Drop the column.")
        if self.latent not in LATENTS:
            raise ValueError(f"latent must be \"gaussian\" (integrated out) or \"point\" (optimised), got "
                             f"{self.latent!r}.")
        if self.kernel is not None and not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel must be a kernel of gplvm_edu.kernels (such as RBF() or Linear()) or None, got "
                             f"{self.kernel!r}.")
        if not isinstance(self.n_inducing, (int, np.integer)) or self.n_inducing < 1:
            raise ValueError(f"n_inducing must be a whole number of at least 1, got {self.n_inducing!r}.")
        for name in ("initial_variance", "jitter"):
            value = getattr(self, name)
            if not (np.isscalar(value) and np.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be a finite number above 0, got {value!r}.")
