"""`GPLVM`: the Gaussian process latent variable model as a scikit-learn estimator."""
import numpy as np
from sklearn.utils import check_random_state

from ..base import DensityModel, IterativeFit, check_components
from ..kernels import RBF, Bias, Kernel, White
from ..linalg import centre
from ..ppca import principal_axes
from .likelihood import factorise, gplvm_iterates
from .mapping import Mapping, log_precision_grid, predict, project, sampled_log_likelihood

INITS = ("pca", "isomap", "kernel_pca", "random")
JITTER = 1e-8               # of the variance of Y: bounds the noise from below


def default_kernel(variance):
    """The course's common start: RBF of the data's variance and unit width, a bias, a tenth of noise, (5.14).

    Examples
    --------
    >>> default_kernel(2.0)
    RBF(variance=2, inverse_width=1) + Bias(variance=0.1353) + White(variance=0.2)
    """
    return RBF(variance, 1.0) + Bias(min(np.exp(-2.0), variance)) + White(0.1 * variance)      # (5.14)


def _unit_columns(X, random_state):
    """Columns of X centred and scaled to unit variance; one without variance becomes a small random one."""
    X = X - X.mean(axis=0)
    deviation = X.std(axis=0)
    empty = deviation <= 1e-10 * max(deviation.max(), 1e-300)
    if empty.any():
        X[:, empty] = random_state.standard_normal((len(X), empty.sum()))
        deviation = X.std(axis=0)
        deviation[empty] *= 10.0
    return X / deviation


def initial_positions(Y, n_components, init, random_state):
    """Latent positions (N, q) to start from, of unit variance, (5.13); `init` is a name or the array."""
    N, q = len(Y), n_components
    if not isinstance(init, str):
        X = np.array(init, dtype=float)
        if X.shape != (N, q) or not np.isfinite(X).all():
            raise ValueError(f"init must be one of {', '.join(INITS)} or a finite array of shape ({N}, {q}), got an "
                             f"array of shape {X.shape}.")
        return X
    if init == "random":
        return random_state.standard_normal((N, q))
    if init == "isomap":
        from ..proximity import Isomap, as_start
        return as_start(Isomap(n_components=q).fit_transform(Y))      # a sheet keeps its proportions (chapter 6)
    elif init == "kernel_pca":
        from ..unify import KernelPCA
        X = KernelPCA(n_components=q).fit_transform(Y)
    elif init == "pca":
        axes = principal_axes(Y)[1][:, :q]
        X = np.zeros((N, q))
        X[:, :axes.shape[1]] = Y @ axes
    else:
        raise ValueError(f"There is no init {init!r}: choose one of {', '.join(INITS)}, or pass an array of latent "
                         "positions (chapter 6 compares them).")
    return _unit_columns(X, random_state)                                        # (5.13)


class GPLVM(IterativeFit, DensityModel):
    """Gaussian process latent variable model: latent positions optimised, the map to data integrated out.

    Parameters
    ----------
    n_components : int, default 2
    kernel : Kernel or None
        None: RBF + Bias + White, scaled to the data (`default_kernel`). The kernel passed in is not changed.
    init : "pca", "isomap", "kernel_pca", "random", or ndarray (N, q)
    latent_prior : "gaussian" or None
        MAP with a unit Gaussian prior on the positions, or maximum likelihood.
    optimizer : "l-bfgs" or "scg"
    max_iter : int
    tol : float
        Stop when no entry of the gradient exceeds it.
    random_state : int, RandomState or None

    Attributes
    ----------
    embedding_ : ndarray (N, q)
    kernel_ : Kernel
    log_likelihood_ : float
        Of the data alone, without the prior.
    history_ : ndarray
        The objective of each iterate, the start included.
    n_iter_, n_evaluations_ : int
    jitter_ : float
        What was added to the diagonal of K, in the units of Y squared.

    Examples
    --------
    >>> from gplvm_edu import datasets
    >>> oil = datasets.simulate_oil_flow(60, random_state=0)
    >>> model = GPLVM(max_iter=50).fit(oil.data)
    >>> model.embedding_.shape, bool(model.history_[-1] > model.history_[0])
    ((60, 2), True)
    """

    def __init__(self, n_components=2, kernel=None, init="pca", latent_prior="gaussian", optimizer="l-bfgs",
                 max_iter=1000, tol=1e-4, random_state=None):
        self.n_components = n_components
        self.kernel = kernel
        self.init = init
        self.latent_prior = latent_prior
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @property
    def failing_checks(self):
        """What scikit-learn asks of a transformer and a GP-LVM can't give."""
        reason = ("a training row's position maximises the likelihood of all rows together, a new row's its own given "
                  "the others: fit_transform and transform are different problems (chapter 5)")
        return {"check_transformer_general": reason, "check_transformer_data_not_an_array": reason}

    def iterates(self, Y):
        """Prepare the fit and yield its states one by one; `fit` exhausts this, a widget pauses it."""
        Y = self.check_data(Y)
        self._check_parameters(Y)
        self._Y, self.mean_ = centre(Y)
        variance = self._Y.var()
        variance = variance if variance > 1e-300 else 1.0
        kernel = default_kernel(variance) if self.kernel is None else self.kernel
        self.jitter_ = JITTER * variance
        X = initial_positions(self._Y, self.n_components, self.init, check_random_state(self.random_state))
        self._kernel_start = kernel.copy()
        yield from gplvm_iterates(self._Y, X, kernel, self.latent_prior, self.optimizer, self.max_iter,
                                  self.jitter_, self.tol)

    def set_state(self, state, history=()):
        """Make the estimator that of one iterate: positions, kernel, and the map that follows from them."""
        self.embedding_ = state.X
        self.kernel_ = self._kernel_start.copy()
        self.kernel_.theta = state.theta
        K = self.kernel_(state.X)
        K.flat[::len(K) + 1] += self.jitter_
        L, A, more = factorise(self._Y, K)
        self._mapping = Mapping(self.kernel_, state.X, L, A, self.jitter_ + more)
        prior = 0.5 * np.sum(state.X**2) + 0.5 * state.X.size * np.log(2 * np.pi)
        self.log_likelihood_ = float(state.value + (prior if self.latent_prior == "gaussian" else 0.0))
        self.history_, self.n_iter_ = np.array(history), max(len(history) - 1, 1)
        self.n_evaluations_ = state.n_evaluations
        return self

    def transform(self, Y, n_starts=5):
        """Latent positions of new rows: the best of several climbs, each from a near neighbour's place."""
        return self.project(Y, n_starts).X[:, 0]

    def project(self, Y, n_starts=5):
        """All modes found for each new row, best first, with their log likelihoods (see `Modes`)."""
        Yc = self.check_data(Y, reset=False) - self.mean_
        return project(self._mapping, Yc, self._Y, n_starts, self.latent_prior)

    def inverse_transform(self, X, return_std=False):
        """Mean of the data at latent points (M, D); optionally the deviation of the noise-free map (M,)."""
        mean, variance = predict(self._mapping, self.check_latent(X))
        return (mean + self.mean_, np.sqrt(variance)) if return_std else mean + self.mean_

    def score_samples(self, Y, n_samples=None):
        """Log density of new rows at their best latent position; with `n_samples`, averaged over the prior instead."""
        Yc = self.check_data(Y, reset=False) - self.mean_
        if n_samples is not None:
            return sampled_log_likelihood(self._mapping, Yc, n_samples, self.random_state)[0]
        modes = project(self._mapping, Yc, self._Y, latent_prior=self.latent_prior)
        prior = 0.5 * np.sum(modes.X[:, 0] ** 2, axis=1) if self.latent_prior == "gaussian" else 0.0
        return modes.log_likelihoods[:, 0] + prior

    def log_precision(self, limits, n_grid=60):
        """The grey picture: log precision of the map on a grid over (left, right, bottom, top), for q = 2."""
        return log_precision_grid(self._mapping, limits, n_grid)

    def sample(self, n_samples=1, random_state=None):
        """New rows (and their latent points): x from the prior, or near training points when there is none."""
        rng = check_random_state(self.random_state if random_state is None else random_state)
        if self.latent_prior == "gaussian":
            X = rng.standard_normal((n_samples, self.embedding_.shape[1]))
        else:
            X = self.embedding_[rng.randint(len(self.embedding_), size=n_samples)]
        mean, variance = predict(self._mapping, X, noise=True)
        return mean + self.mean_ + np.sqrt(variance)[:, None] * rng.standard_normal(mean.shape), X

    def _check_parameters(self, Y):
        N, D = Y.shape
        check_components(self.n_components, N, D, max(N - 1, 1), f"{N} points span {N - 1} dimensions at most")
        if self.kernel is not None and not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel must be a kernel of gplvm_edu.kernels (such as RBF() + White(0.1)) or None, got "
                             f"{self.kernel!r}.")
        if self.latent_prior not in ("gaussian", None):
            raise ValueError(f"latent_prior must be \"gaussian\" or None, got {self.latent_prior!r}.")
