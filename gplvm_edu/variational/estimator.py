"""`BayesianGPLVM`: the Gaussian process latent variable model with its latent points integrated out."""

from collections.abc import Iterator
from functools import partial
from typing import Self

import numpy as np

from .. import checks, starts
from ..base import IterativeFit, KernelModel, MapModel, check_is_fitted
from ..kernels import RBF, Kernel, Linear, White, in_units, noise_is_fixed, relative, scaled_to_data
from ..linalg import fill_with_means, own_scale
from ..optimise import METHODS
from .bound import JITTER
from .fast import bound_and_gradients, group_outputs, predict_moments, ratio_of_bounds
from .inducing_map import make_map
from .kernel_parts import ard_weights, check_kernel, reordered, split_noise
from .latent_posterior import LatentPosterior, find_latent_posterior
from .objective import Parameters, VariationalState, variational_iterates

NOISE_FLOOR = 1e-8  # of the variance of Y
MODEST = 10  # latent dimensions that are always allowed: the default
ACTIVE = 0.01  # a dimension counts when its weight is above this share of the largest
NO_SIGNAL = 1e-6  # of the noise: a smooth part with less variance explains nothing
LATENTS = ("gaussian", "point")
DENSITIES = ("ratio", "frozen")
DEFAULT = relative(RBF() + White(0.01))  # the kernel that None stands for, (12.28)


def initial_kernel(kernel, variance, n_components) -> tuple[Kernel, float]:
    """The kernel that a fit starts with, a weight for each dimension, and the noise variance, (12.28).

    None means an RBF of the data's variance with all length scales at 1, and a hundredth of noise; a kernel that is
    `kernels.relative` is scaled by the variance. A single inverse width, or a single variance of a Linear kernel,
    becomes one for each of the latent dimensions.

    Examples
    --------
    >>> initial_kernel(None, 2.0, 2)
    (RBF(variance=2, inverse_width=[1, 1]), 0.02)
    """
    q = n_components
    smooth, noise = split_noise(scaled_to_data(DEFAULT if kernel is None else kernel, variance))
    for part in getattr(smooth, "parts", [smooth]):
        if isinstance(part, RBF) and np.ndim(part.inverse_width) == 0:
            part.inverse_width = np.full(q, part.inverse_width)  # (12.28)
        if isinstance(part, Linear) and np.ndim(part.variance) == 0:
            part.variance = np.full(q, part.variance)
    return smooth, noise if noise > 0 else 0.01 * variance  # (12.28)


def initial_inducing_inputs(latent_mean, n_inducing, kernel, random_state=None) -> np.ndarray:
    """Where the inducing points start: at random latent means; for a Linear kernel at the axes, (12.28).

    The lot is drawn among the means in the order of their distance from the middle, so that the same ones are drawn
    whatever the order of the rows. Planes through the origin are fixed by q values of theirs, so a Linear kernel takes
    q inducing points (and one more at the origin for a Bias), whatever was asked for.

    Examples
    --------
    >>> from gplvm_edu.kernels import Bias
    >>> initial_inducing_inputs(np.zeros((9, 2)), 5, Linear() + Bias(), random_state=0)
    array([[1., 0.],
           [0., 1.],
           [0., 0.]])
    """
    N, q = latent_mean.shape
    parts = getattr(kernel, "parts", [kernel])
    if isinstance(parts[0], Linear):
        return np.vstack([np.eye(q), np.zeros((int(len(parts) > 1), q))])  # (12.28)
    outwards = np.argsort(np.sum((latent_mean - latent_mean.mean(axis=0)) ** 2, axis=1), kind="stable")
    return latent_mean[outwards[checks.random_state(random_state).permutation(N)[:n_inducing]]]  # (12.28)


def _rescale(parameters, unit):
    """The same model for data in another unit."""
    return parameters._replace(
        kernel=in_units(parameters.kernel, 1.0 / unit), noise_variance=unit**2 * parameters.noise_variance
    )


def by_relevance(parameters) -> Parameters:
    """The same model with its latent dimensions in the order of their ARD weights, the largest first, (12.29).

    Equal weights stay in the order that they have. Nothing but names changes: no bound, no prediction, no density.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> by_relevance(Parameters(X, None, X[:1], RBF(1.0, [0.1, 5.0]), 0.01))[2:4]
    (array([[2., 1.]]), RBF(variance=1, inverse_width=[5, 0.1]))
    """
    mu, S, Z, kernel, noise = parameters
    order = np.argsort(-ard_weights(kernel, mu.shape[1]), kind="stable")
    if (order[:-1] < order[1:]).all():
        return parameters
    return Parameters(mu[:, order], None if S is None else S[:, order], Z[:, order], reordered(kernel, order), noise)


class BayesianGPLVM(IterativeFit, KernelModel, MapModel):
    """Bayesian GP-LVM: both the map and the latent points are integrated out, the latter by a variational bound.

    Use it when you don't know how many latent dimensions there are, or want to know how sure each row's place is.

    Columns: numbers of comparable scale.
    NaN: in fit and in new rows.
    Answers: transform, inverse_transform, impute, score_samples, sample, map_.
    Cost: O(N M^2 q + N M D + M^3) a step, M inducing points; at N = 1000, by default, 34 seconds.
    Chapter: 12 (book/12_variational.ipynb).

    The objective is the evidence lower bound (ELBO) of Titsias and Lawrence (2010).

    Parameters
    ----------
    n_components : int, default 10
        Latent dimensions offered; those that the data do not need are switched off. In a fitted model they stand in the
        order of their relevance: columns 0 and 1 are the two to draw, and ``len(active_dims_)`` is how many count.
    n_inducing : int, default 50
        Inducing points, at most N.
    kernel : Kernel or None
        RBF or Linear, with Bias and White as you like, in the units of the data. A single width or variance becomes
        one for each latent dimension. White is the noise. The kernel passed in is not changed, and what is ``fixed`` in
        it stays. None: RBF + White in units of the data's own variance, scaled to the data by `fit`;
        ``set_params(kernel__rbf__inverse_width=2)`` sets a parameter of it.
    init : "pca", "isomap", "kernel_pca", "laplacian", "lle", "random", or ndarray (N, q)
        Means of the latent points at the start.
    latent : "gaussian" or "point"
        "point": latent points are optimised, not integrated out; any kernel will do.
    initial_variance : float
        Of each latent point at the start.
    optimiser : "l-bfgs" or "scg"
    max_iter : int
    tol : float
        Stop when no entry of the gradient exceeds it.
    jitter : float
        Share of the mean diagonal of K_MM that is added to it.
    random_state : None, int, RandomState or Generator
    verbose : bool
        Show a bar with the steps made, the objective and the time left at most (by tqdm, on the error output).

    Attributes
    ----------
    latent_mean_, latent_variance_ : ndarray (N, q)
        q(X). `embedding_` is the mean.
    bound_ : float; bound_terms_ : BoundTerms
        The evidence lower bound, and its parts: fit - trace - kl.
    kernel_ : Kernel
        With White, the noise.
    inducing_inputs_ : ndarray (M, q); n_inducing_ : int
    noise_variance_ : float
    relevance_ : ndarray (q,)
        ARD weights, the largest first.
    active_dims_ : ndarray
        The dimensions with more than a hundredth of the largest weight: 0 to k - 1, where k is the number of dimensions
        that the data ask for.
    mean_ : ndarray (D,)
    map_ : InducingMap
        The map to the data, with q(X) (chapter 13).
    history_ : ndarray
        The bound of each iterate, the start included.
    n_iter_, n_evaluations_ : int; converged_ : bool
    jitter_ : float
        The share that was needed.

    Notes
    -----
    States of `iterates` keep the dimensions in the order of the start, so that each can be followed; the estimator that
    `fit` or `set_state` makes of one has them in the order of relevance. Equal weights stay in the order of the start:
    with the default kernel and ``max_iter=0`` all of them do.

    Examples
    --------
    >>> from gplvm_edu import datasets
    >>> oil = datasets.simulate_oil_flow(60, random_state=0)
    >>> model = BayesianGPLVM(4, n_inducing=15, max_iter=50, random_state=0).fit(oil.data)
    >>> model.latent_mean_.shape, bool(model.history_[-1] > model.history_[0])
    ((60, 4), True)
    """

    allows_missing = True
    measures_deviations = True
    if_slow = "Lower n_inducing or n_components, whose squares and products it costs, or max_iter."
    active_above = ACTIVE  # share of the largest weight
    rules = {
        "n_components": checks.rule(checks.whole_number),
        "n_inducing": checks.rule(checks.whole_number),
        "kernel": checks.rule(checks.kernel, "RBF() or Linear()"),
        "init": checks.rule(checks.start, starts.names),
        "latent": checks.rule(checks.choice, LATENTS, "Latent points are integrated out, or optimised."),
        "initial_variance": checks.rule(checks.number, at_least=1e-6, at_most=1e6),
        "optimiser": checks.rule(checks.choice, METHODS),
        "max_iter": checks.rule(checks.whole_number, at_least=0),
        "tol": checks.rule(checks.number, at_least=0),
        "jitter": checks.rule(checks.number, at_least=1e-15, at_most=1.0),
        "verbose": checks.rule(checks.flag),
    }
    failing_checks = {
        name: "a training row's q(x) was found together with all others and the kernel, a new row's "
        "alone: fit_transform and transform are different problems (chapter 13)"
        for name in ("check_transformer_general", "check_transformer_data_not_an_array")
    }

    def __init__(
        self,
        n_components: int = 10,
        n_inducing: int = 50,
        kernel: Kernel | None = None,
        init: str | np.ndarray = "pca",
        latent: str = "gaussian",
        initial_variance: float = 0.1,
        optimiser: str = "l-bfgs",
        max_iter: int = 1000,
        tol: float = 1e-3,
        jitter: float = JITTER,
        random_state: checks.Seed = None,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.kernel = kernel
        self.init = init
        self.latent = latent
        self.initial_variance = initial_variance
        self.optimiser = optimiser
        self.max_iter = max_iter
        self.tol = tol
        self.jitter = jitter
        self.random_state = random_state
        self.verbose = verbose

    def matrix_size(self, N, D) -> int:
        """The kernel matrix of the inducing points; rows are met in blocks, and N adds no larger matrix."""
        return min(N, self.n_inducing)

    def default_kernel(self) -> Kernel:
        """What `kernel=None` stands for, in units of the data's own variance."""
        return DEFAULT.copy()

    def iterates(self, Y) -> Iterator[VariationalState]:
        """Prepare the fit and yield its states, in the units of Y; `fit` exhausts this, a widget pauses it."""
        Y = self.check_data(Y)
        self.check_parameters(Y)
        filled, self.mean_ = fill_with_means(Y)
        self.rows_, centred = Y, np.where(np.isnan(Y), np.nan, filled)
        start, unit = self.start_parameters(filled, centred), own_scale(centred)
        outputs, shift = group_outputs(centred / unit), float(np.sum(~np.isnan(Y)) * np.log(unit))
        bound = partial(bound_and_gradients, outputs, jitter=self.jitter)
        for state in variational_iterates(
            bound,
            _rescale(start, 1.0 / unit),
            self.optimiser,
            self.max_iter,
            self.tol,
            NOISE_FLOOR,
            noise_is_fixed(self.kernel),
        ):
            terms = state.terms._replace(fit=state.terms.fit - shift)
            yield state._replace(parameters=_rescale(state.parameters, unit), terms=terms)

    def start_parameters(self, filled, centred) -> Parameters:
        """The parameters that a fit starts from; the data with zeros in the gaps and with NaN, both centred."""
        rng, q = checks.random_state(self.random_state), self.n_components
        X = starts.initial_positions(filled, q, self.init, rng)
        kernel, noise = initial_kernel(self.kernel, own_scale(centred) ** 2, q)
        kernel.diag(X[:1])  # as many weights as dimensions, or a clear error
        if self.latent == "gaussian":
            check_kernel(kernel)
        Z = initial_inducing_inputs(X, min(self.n_inducing, len(X)), kernel, rng)
        S = np.full(X.shape, float(self.initial_variance)) if self.latent == "gaussian" else None
        unseen = np.isnan(centred).all(axis=1)
        if S is not None and unseen.any():
            X[unseen], S[unseen] = 0.0, 1.0  # nothing observed: q(x) is the prior, and stays there
        return Parameters(X, S, Z, kernel, noise)

    def set_state(self, state) -> Self:
        """Make the estimator that of one iterate."""
        self.bound_terms_, self.bound_ = state.terms, float(state.value)
        self.n_evaluations_ = state.n_evaluations
        return self.set_parameters(state.parameters)

    def set_parameters(self, parameters) -> Self:
        """Make the estimator that of some parameters, for the data that it was fitted to; phi(u) follows, (12.10).

        The latent dimensions are put into the order of their relevance (`by_relevance`).
        """
        parameters = by_relevance(parameters)
        mu, S, noise = parameters.latent_mean, parameters.latent_variance, parameters.noise_variance
        self.embedding_ = self.latent_mean_ = mu
        self.latent_variance_ = np.zeros_like(mu) if S is None else S
        self.inducing_inputs_, self.n_inducing_ = parameters.inducing_inputs, len(parameters.inducing_inputs)
        white = White(noise, fixed="variance" if noise_is_fixed(self.kernel) else ())
        self.kernel_, self.noise_variance_ = parameters.kernel + white, noise
        self.map_ = make_map(self.rows_ - self.mean_, parameters, self.jitter, self.mean_)
        self.jitter_ = self.map_.jitter
        return self

    @property
    def relevance_(self) -> np.ndarray:
        """ARD weights (q,), the largest first: inverse widths, variances of a Linear kernel, or 1 each, (12.29)."""
        return ard_weights(self.map_.kernel, self.embedding_.shape[1])

    @property
    def active_dims_(self) -> np.ndarray:
        """Latent dimensions with more than a hundredth of the largest weight, the largest first: 0 to k - 1.

        None where the fit found no signal at all, and calls everything noise.
        """
        if not self.has_signal():
            return np.zeros(0, dtype=int)
        return np.flatnonzero(self.relevance_ > ACTIVE * self.relevance_[0])

    def has_signal(self) -> bool:
        """Whether the smooth part of the kernel explains anything of the data beside the noise."""
        smooth = float(np.mean(self.map_.kernel.diag(self.embedding_)))
        return smooth > NO_SIGNAL * self.noise_variance_

    def check_end(self, state) -> None:
        """As for every fit, and a warning where all of the data ended as noise."""
        super().check_end(state)
        if not self.has_signal():
            checks.warn(
                f"{type(self).__name__} found no signal: the variance of its kernel went to 0, so that every row is "
                "noise about the mean. Start with wider kernels (a smaller inverse_width), less noise, or from another "
                "init (chapter 12)."
            )

    def fitted_values(self) -> np.ndarray:
        """Expected data at the training points under q(X), (N, D), equation (13.4)."""
        check_is_fitted(self)
        found = predict_moments(self.map_, self.map_.latent_mean, self.map_.latent_variance)
        return found.mean + self.mean_

    # --- new rows (chapter 13) ----------------------------------------------------------------------------------
    def latent_posterior(self, Y, n_starts=5, max_iter=200, tol=1e-5) -> LatentPosterior:
        """`LatentPosterior` of new rows (n, D) in the units of the data, NaN where not observed, equation (13.12).

        The other arguments are those of `find_latent_posterior`; `tol` is its tolerance.
        """
        Y, n_starts = self.check_rows(Y) - self.mean_, checks.whole_number("n_starts", n_starts)
        return find_latent_posterior(self.map_, Y, self.rows_ - self.mean_, n_starts, max_iter, tol)

    def transform(self, Y, n_starts=5) -> np.ndarray:
        """Means of the latent posteriors of new rows, (n, q)."""
        return self.latent_posterior(Y, n_starts, tol=1e-9).mean

    def recover(self, Y, n_starts=5) -> tuple[np.ndarray, ...]:
        """What rows with gaps say: q(x*) as mean and variance (n, q), and mean and variance of f, (n, D), (13.4)."""
        found = self.latent_posterior(Y, n_starts)
        moments = predict_moments(self.map_, found.mean, self.variance_of(found))
        return found.mean, found.variance, moments.mean + self.mean_, moments.variance

    def variance_of(self, found) -> np.ndarray | None:
        """The variance of a latent posterior, or None where the model has points."""
        return found.variance if self.map_.latent_variance is not None else None

    def log_density(self, Y, method="ratio", n_starts=5, max_iter=200, tol=1e-5) -> np.ndarray:
        """Log density of the observed entries of new rows, (n,), as far as the bounds can tell.

        Parameters
        ----------
        Y : array (n, D)
        method : "ratio", "frozen" or "sampled"
            The ratio of bounds (13.13), or the bound with phi(u) frozen (13.8). The second is smaller, and a true lower
            bound of a normalised density. "sampled": what that bound is a bound of, by importance sampling (D.1).
        n_starts, max_iter, tol : as for `latent_posterior`

        Notes
        -----
        q(x*) is found with phi(u) frozen; the ratio is then evaluated exactly, once. Chapter 13, equation (13.17).
        """
        checks.choice("method", method, (*DENSITIES, "sampled"), 'Chapter 13, "How likely is it?", compares them.')
        if method == "sampled":
            return super().score_samples(Y, n_starts)
        found = self.latent_posterior(Y, n_starts, max_iter, tol)
        if method == "frozen":
            return found.bound
        Y = self.check_rows(Y) - self.mean_
        return ratio_of_bounds(self.map_, Y, found.mean, self.variance_of(found))[0]

    def score_samples(self, Y, n_starts=5) -> np.ndarray:
        """A lower bound of ln p(y) of new rows, (n,), that with phi(u) frozen (13.8); `score` is their mean.

        `log_density` has the value itself by sampling, and the ratio of bounds. Where latent points were optimised,
        there is no bound over them, and this is the sampled value.
        """
        return self.log_density(Y, "frozen" if self.map_.latent_prior else "sampled", n_starts)

    def check_parameters(self, Y) -> None:
        """What depends on the data: `rules` has the rest."""
        N, D = Y.shape
        most = max(N, D, MODEST)
        because = "more dimensions than rows or columns have nothing to explain"
        checks.components(self.n_components, N, D, most, because, spare="relevance switches them off")
        checks.observed_columns(Y)
