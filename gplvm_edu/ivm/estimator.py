"""`SparseGPLVM`: the GP-LVM with an active set, for any noise model and with missing values."""
import numpy as np
from sklearn.utils import check_random_state

from ..base import DensityModel, IterativeFit, check_components
from ..gplvm import initial_positions
from ..kernels import RBF, Bias, Kernel, White
from ..noise import Gaussian, Noise, PerColumn
from .algorithm import sparse_iterates, split_noise
from .mapping import inactive_log_likelihood, latent_moments, nearest_rows, project_sparse

JITTER = 1e-8               # of the variance of Y: bounds the noise from below


class SparseGPLVM(IterativeFit, DensityModel):
    """Sparse Gaussian process latent variable model: an active set chosen by the informative vector machine.

    Parameters
    ----------
    n_components : int, default 2
    n_active : int, default 100
        d, the size of the active set; at most the number of rows is used.
    n_outer : int, default 15
        T, the passes of Algorithm 1.
    kernel : Kernel or None
        None: RBF + Bias + White, scaled to the data. The kernel passed in is not changed.
    noise : None, a noise model of `gplvm_edu.noise`, or a list with one for each column
        None: Gaussian noise of the variance of the kernel's `White` part, which is learnt.
    optimise_active : bool, default True
        Move the active rows too, or the kernel's parameters only.
    n_steps : int, default 5
        Optimiser steps on the active set in each pass. More is not better: chapter 7, "Over-fitting the few".
    n_inactive_steps : int, default 50
        Steps of each inactive row in each pass.
    relocate : bool, default True
        An inactive row begins at its own place or at the best of the active rows' places, whichever is likelier: a
        row caught on the wrong hill can leave it. False is the algorithm as printed.
    init : "pca", "isomap", "kernel_pca", "random", or ndarray (N, q)
    latent_prior : "gaussian" or None
        A unit Gaussian prior keeps a row that nothing holds from drifting away.
    optimizer : "scg" or "l-bfgs"
        For the active set.
    random_state : int, RandomState or None

    Attributes
    ----------
    embedding_ : ndarray (N, q)
    active_ : ndarray (n_active_,)
        Rows of the active set, in the order of their choice.
    kernel_, noise_ : Kernel and noise model after the fit
    log_likelihood_ : float
        Of the active rows together plus that of every other row given them, (7.21).
    history_ : ndarray
        The objective after each pass, the start included; it need not rise.
    n_active_, n_iter_, n_evaluations_ : int

    Examples
    --------
    >>> from gplvm_edu import datasets
    >>> oil = datasets.simulate_oil_flow(120, random_state=0)
    >>> model = SparseGPLVM(n_active=30, n_outer=3).fit(oil.data)
    >>> model.embedding_.shape, len(model.active_), bool(model.history_[-1] > model.history_[0])
    ((120, 2), 30, True)
    """

    allows_missing = True

    def __init__(self, n_components=2, n_active=100, n_outer=15, kernel=None, noise=None, optimise_active=True,
                 n_steps=5, n_inactive_steps=50, relocate=True, init="pca", latent_prior="gaussian",
                 optimizer="scg", random_state=None):
        self.n_components = n_components
        self.n_active = n_active
        self.n_outer = n_outer
        self.kernel = kernel
        self.noise = noise
        self.optimise_active = optimise_active
        self.n_steps = n_steps
        self.n_inactive_steps = n_inactive_steps
        self.relocate = relocate
        self.init = init
        self.latent_prior = latent_prior
        self.optimizer = optimizer
        self.random_state = random_state

    @property
    def failing_checks(self):
        """What scikit-learn asks of a transformer and a GP-LVM can't give."""
        reason = ("the position of an active row maximises the likelihood of all active rows together, a new row's its "
                  "own given them: fit_transform and transform are different problems (chapter 7)")
        return {"check_transformer_general": reason, "check_transformer_data_not_an_array": reason}

    # --- fitting ---------------------------------------------------------------------------------------------
    def iterates(self, Y):
        """Prepare the fit and yield its states, the start first; `fit` exhausts this, a widget pauses it."""
        Y = self.check_data(Y)
        noise = self._check_parameters(Y)
        Y = (Gaussian() if noise is None else noise).check(Y)
        filled, mean = _filled(Y)
        self.mean_ = mean if noise is None else np.zeros(Y.shape[1])
        self._Y = Y - self.mean_
        variance = np.nanvar(Y - mean) if noise is None or isinstance(noise, Gaussian) else 1.0
        variance = variance if variance > 1e-300 else 1.0
        kernel = self.kernel if self.kernel is not None else start_kernel(variance)
        X = initial_positions(filled, self.n_components, self.init, check_random_state(self.random_state))
        self._noise = None if noise is None else noise.start(Y, prior_variance=float(np.mean(kernel.diag(X))))
        self._jitter = JITTER * variance
        yield from sparse_iterates(
            self._Y, X, kernel, self._noise, self.n_active, self.n_outer, self._jitter, method=self.optimizer,
            optimise_active=self.optimise_active, latent_prior=self.latent_prior, n_steps=self.n_steps,
            n_inactive_steps=self.n_inactive_steps, relocate=self.relocate)

    def set_state(self, state, history=()):
        """Make the estimator that of one state: positions, kernel, active set and the map that follows from them."""
        self.embedding_, self.kernel_, self._mapping = state.X, state.kernel, state.mapping
        self.noise_ = state.mapping.noise
        self.active_, self.gains_ = state.selection.active, state.selection.gains
        self.n_active_ = len(self.active_)
        prior = 0.5 * np.sum(state.X**2) + 0.5 * state.X.size * np.log(2 * np.pi)
        self.log_likelihood_ = float(state.value + (prior if self.latent_prior == "gaussian" else 0.0))
        self.history_, self.n_iter_ = np.array(history), max(len(history) - 1, 1)
        self.n_evaluations_ = state.n_evaluations
        return self

    # --- new rows --------------------------------------------------------------------------------------------
    def project(self, Y, n_restarts=5):
        """Best latent position (M, q) of each new row, NaN allowed, and its log likelihood, over several starts."""
        Y = self._check_new(Y)
        starts = self.embedding_[nearest_rows(Y, self._Y, n_restarts)]           # (M, n_restarts, q)
        return project_sparse(self._mapping, Y, starts, self.latent_prior)

    def transform(self, Y, n_restarts=5):
        """Latent positions of new rows, NaN allowed: the best of several climbs, each from a near neighbour's place."""
        return self.project(Y, n_restarts)[0]

    def reconstruct(self, Y, n_restarts=5):
        """Expected value of EVERY entry of new rows, the missing ones too, and the latent positions they come from.

        Returns
        -------
        means : ndarray (M, D)
            Probabilities where the noise is `Probit`.
        X : ndarray (M, q)
        """
        X = self.transform(Y, n_restarts)
        return self.inverse_transform(X), X

    def score_samples(self, Y, n_restarts=5):
        """Log density of the observed entries of new rows at their best latent position."""
        X = self.transform(Y, n_restarts)
        return inactive_log_likelihood(self._mapping, self._check_new(Y), X)[0]

    def inverse_transform(self, X, return_std=False):
        """Expected data at latent points (M, D); optionally the deviation of f, (M,) where all columns share it."""
        mean, variance = latent_moments(self._mapping, self.check_latent(X))
        expected = self._mapping.noise.predict(mean, variance) + self.mean_
        if not return_std:
            return expected
        return expected, np.sqrt(variance[:, 0] if variance.shape[1] == 1 else variance)

    def log_precision(self, limits, n_grid=60):
        """The grey picture: log precision of the map on a grid over (left, right, bottom, top), for q = 2.

        Where columns differ in their variance, the mean over columns of the log precision is shown.
        """
        left, right, bottom, top = limits
        across, up = np.meshgrid(np.linspace(left, right, n_grid), np.linspace(bottom, top, n_grid))
        _, variance = latent_moments(self._mapping, np.column_stack([across.ravel(), up.ravel()]))
        return -np.mean(np.log(variance), axis=1).reshape(n_grid, n_grid)

    def sample(self, n_samples=1, random_state=None):
        """New rows (and their latent points): x from the prior, or at training points when there is none."""
        rng = check_random_state(self.random_state if random_state is None else random_state)
        if self.latent_prior == "gaussian":
            X = rng.standard_normal((n_samples, self.embedding_.shape[1]))
        else:
            X = self.embedding_[rng.randint(len(self.embedding_), size=n_samples)]
        mean, variance = latent_moments(self._mapping, X)
        f = mean + np.sqrt(variance) * rng.standard_normal(mean.shape)
        return self._mapping.noise.sample(f, rng) + self.mean_, X

    # --- checks ----------------------------------------------------------------------------------------------
    def _check_new(self, Y):
        Y = self.check_data(Y, reset=False)
        if np.ndim(getattr(self._mapping.noise, "variance", 0)) == 2:
            raise ValueError("The noise has a variance for each row of the training data, so that of a new row is not "
                             "known. Fit with one variance, or with one for each column (chapter 8).")
        Y = self._mapping.noise.check(Y, allow_empty=True) - self.mean_
        empty = np.flatnonzero(np.isnan(Y).all(axis=1))
        if len(empty):
            raise ValueError(f"Row {empty[0]} of Y has no observed entry (and {len(empty)} rows in all): nothing says "
                             "where it belongs. Leave it out (chapter 8, \"Missing values\").")
        return Y

    def _check_parameters(self, Y):
        """The noise model, None for that of the kernel, after a look at every parameter."""
        N, D = Y.shape
        check_components(self.n_components, N, D, max(N - 1, 1), f"{N} points span {N - 1} dimensions at most")
        for name, smallest in (("n_active", 1), ("n_outer", 0), ("n_steps", 0), ("n_inactive_steps", 0)):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < smallest:
                raise ValueError(f"{name} must be a whole number of at least {smallest}, got {value!r}.")
        if self.kernel is not None and not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel must be a kernel of gplvm_edu.kernels (such as RBF() + White(0.1)) or None, got "
                             f"{self.kernel!r}.")
        if self.latent_prior not in ("gaussian", None):
            raise ValueError(f"latent_prior must be \"gaussian\" or None, got {self.latent_prior!r}.")
        noise = PerColumn(self.noise) if isinstance(self.noise, (list, tuple)) else self.noise
        if noise is not None and not isinstance(noise, Noise):
            raise ValueError(f"noise must be a noise model of gplvm_edu.noise (such as Probit()), a list with one for "
                             f"each column, or None for the kernel's White part, got {noise!r} (chapter 8).")
        if noise is None and self.kernel is not None:
            split_noise(self.kernel)
        return noise


def start_kernel(variance):
    """Where the kernel's parameters start: chapter 5's start with a tenth of its noise, (7.22).

    Examples
    --------
    >>> start_kernel(1.0)
    RBF(variance=1, inverse_width=1) + Bias(variance=0.1353) + White(variance=0.01)
    """
    return RBF(variance, 1.0) + Bias(min(np.exp(-2.0), variance)) + White(0.01 * variance)      # (7.22)


def _filled(Y):
    """Centred data with the mean in every gap, for the start; and the column means."""
    missing = np.isnan(Y)
    counts = np.maximum((~missing).sum(axis=0), 1)
    mean = np.where(missing, 0.0, Y).sum(axis=0) / counts
    return np.where(missing, 0.0, Y - mean), mean
