"""`GTM` and `BatchSOM` as scikit-learn estimators: thin layers over the functions beside them."""
import numpy as np
from sklearn.utils import check_random_state

from ..base import DensityModel, LatentModel, check_positive
from .em import em_iterates, log_densities, posterior_means, posterior_modes, responsibilities
from .grid import TERMS, basis_functions, grid_spacing, latent_grid, make_basis, principal_sheet
from .incremental import incremental_iterates
from .selection import log_evidence
from .som import som_iterates, winners

NOISE_FLOOR = 1e-6              # of the variance of Y: bounds the noise from below


def _check_shape(name, shape):
    """A tuple of whole numbers of at least 1, one for each latent dimension."""
    try:
        sizes = tuple(shape)
    except TypeError:
        sizes = ()
    whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 1 for n in sizes)
    if not sizes or not whole:
        raise ValueError(f"{name} must hold one whole number of at least 1 for each latent dimension, such as (15, 15) "
                         f"or (20,), got {shape!r}.")
    return sizes


class _GridModel(LatentModel):
    """What the GTM and the SOM share: nodes, centred data, the scale of the data, and the sheet of PCA."""

    def _prepare(self, Y):
        """Keep Y, centre it, fix the nodes; returns the centred data. Sets `nodes_`, `mean_`, `scale_`."""
        empty = np.isnan(Y).all(axis=0)
        if empty.any():
            raise ValueError(f"Column {np.flatnonzero(empty)[0]} of Y has no observed value (all NaN): nothing can be "
                             "learnt about it. Drop the column.")
        self.nodes_ = latent_grid(_check_shape("grid", self.grid))
        self._Y, self.mean_ = Y, np.nanmean(Y, axis=0)
        Yc = Y - self.mean_
        variance = float(np.nanmean(Yc**2))
        self.scale_ = variance if variance > 1e-300 else 1.0
        return Yc


class GTM(_GridModel, DensityModel):
    """Generative topographic mapping: a sheet of Gaussians bent through the data, fitted by EM.

    Parameters
    ----------
    grid : tuple of int, default (15, 15)
        Nodes along each latent dimension; its length is the number of latent dimensions.
    basis : tuple of int, default (4, 4)
        Gaussian basis functions along each latent dimension.
    width : float
        Width of the basis functions, in units of the distance of their centres.
    alpha : float
        Precision of the prior on the weights, for data of unit variance: what enters the equations is `alpha_`, alpha
        over the mean variance of a column, so that the units of the data do not matter.
    batch_size : int or None
        None: plain EM. Otherwise so many points are renewed before each M-step (incremental EM).
    terms : "linear", "bias" or "none"
        What stands beside the basis functions: a constant and the coordinates, the constant, nothing.
    max_iter : int
        Passes over the data.
    tol : float
        Stop when a pass gains less than this, in nats a data point.
    random_state : int, RandomState or None
        For the order of the batches and for `sample`.

    Attributes
    ----------
    weights_ : ndarray (D, M); precision_ : float; alpha_ : float
    nodes_ : ndarray (K, q); means_ : ndarray (K, D)
        The grid, and its image in data space.
    basis_ : Basis; mean_ : ndarray (D,)
    embedding_ : ndarray (N, q)
        Posterior means of the training points.
    log_likelihood_, log_evidence_ : float
        log_evidence_ is NaN when alpha = 0 or when Y has gaps.
    history_ : ndarray
        The objective of each iterate, the start included: the penalised log likelihood, with batches its lower bound.
    n_iter_ : int; converged_ : bool

    Examples
    --------
    >>> t = np.linspace(-2, 2, 60)
    >>> Y = np.column_stack([t, np.sin(2 * t)])
    >>> model = GTM(grid=(20,), basis=(6,)).fit(Y)
    >>> bool(np.abs(np.diff(model.embedding_[:, 0]) > 0).all())                  # the order along the curve
    True
    >>> model.transform([[0.5, np.nan]]).shape
    (1, 1)
    """

    allows_missing = True

    def __init__(self, grid=(15, 15), basis=(4, 4), width=0.75, alpha=0.01, batch_size=None, terms="linear",
                 max_iter=300, tol=1e-5, random_state=None):
        self.grid = grid
        self.basis = basis
        self.width = width
        self.alpha = alpha
        self.batch_size = batch_size
        self.terms = terms
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def iterates(self, Y):
        """Prepare the fit and yield its states one by one; `fit` exhausts this, a widget pauses it."""
        Y = self._check_rows(self.check_data(Y))
        self._check_parameters()
        Yc = self._prepare(Y)
        self.basis_ = make_basis(self.basis, self.width, self.terms)
        Phi = self._Phi = basis_functions(self.nodes_, self.basis_)
        self.alpha_, floor = self.alpha / self.scale_, NOISE_FLOOR * self.scale_
        W, beta = principal_sheet(Yc, self.nodes_, Phi, grid_spacing(self.grid))
        start = W, min(beta, 1.0 / floor)
        if self.batch_size is None:
            yield from em_iterates(Yc, Phi, *start, self.alpha_, self.max_iter, floor)
        else:
            order = check_random_state(self.random_state).permutation(len(Yc))
            yield from incremental_iterates(Yc[order], Phi, *start, min(self.batch_size, len(Yc)), self.alpha_,
                                            self.max_iter, floor)

    def fit(self, Y, y=None):
        """Climb from the plane of PCA. Interrupted, the estimator keeps the best state so far."""
        state, history, last_pass, self.converged_ = None, [], -np.inf, False
        try:
            for state in self.iterates(Y):
                history.append(state.value)
                if state.sweeps == int(state.sweeps):                            # a whole pass over the data
                    gained, last_pass = state.value - last_pass, state.value
                    self.converged_ = bool(gained < self.tol * len(self._Y))
                if self.converged_:
                    break
        finally:
            if state is not None:
                self.set_state(state, history)
        return self

    def set_state(self, state, history=()):
        """Make the estimator that of one iterate: sheet, noise, and where the training rows lie on it."""
        self.weights_, self.precision_ = state.weights, float(state.precision)
        self.means_ = self._Phi @ state.weights.T + self.mean_
        self.history_, self.n_iter_ = np.array(history), max(len(history) - 1, 1)
        R, log_density = self._posterior(self._Y)
        self.embedding_, self.log_likelihood_ = posterior_means(R, self.nodes_), float(np.sum(log_density))
        self.log_evidence_ = np.nan
        if self.alpha_ > 0 and not np.isnan(self._Y).any():
            self.log_evidence_ = log_evidence(self._Phi, R.sum(axis=1), self.weights_, self.precision_, self.alpha_,
                                              self.log_likelihood_)
        return self

    def _posterior(self, Y):
        """Responsibilities (K, N) and log densities (N,) of rows in the units of the data."""
        log_p = log_densities(Y - self.mean_, self.means_ - self.mean_, self.precision_)
        return responsibilities(log_p, overwrite=True)

    def responsibilities(self, Y):
        """Probability of every node given each row, (K, N)."""
        return self._posterior(self.check_data(Y, reset=False))[0]

    def transform(self, Y, kind="mean"):
        """Where each row lies in latent space, (N, q): the posterior "mean", or the "mode" (a node of the grid)."""
        if kind not in ("mean", "mode"):
            raise ValueError(f"kind must be \"mean\" or \"mode\", got {kind!r}.")
        project = posterior_means if kind == "mean" else posterior_modes
        return project(self.responsibilities(Y), self.nodes_)

    def inverse_transform(self, X):
        """The sheet at latent points X (M, q): any points, not only nodes; (M, D)."""
        return basis_functions(self.check_latent(X), self.basis_) @ self.weights_.T + self.mean_

    def score_samples(self, Y):
        """Log density of the observed part of each row; (N,)."""
        return self._posterior(self.check_data(Y, reset=False))[1]

    def impute(self, Y):
        """Y with each missing entry replaced by its mean given the rest of its row."""
        Y = self.check_data(Y, reset=False)
        return np.where(np.isnan(Y), self._posterior(Y)[0].T @ self.means_, Y)

    def sample(self, n_samples=1, random_state=None):
        """Draw new rows: a node by lot, then noise around its image; returns (Y, X)."""
        rng = check_random_state(self.random_state if random_state is None else random_state)
        chosen = rng.randint(len(self.nodes_), size=n_samples)
        noise = rng.standard_normal((n_samples, len(self.mean_))) / np.sqrt(self.precision_)
        return self.means_[chosen] + noise, self.nodes_[chosen]

    def _check_rows(self, Y):
        empty = np.isnan(Y).all(axis=1)
        if empty.any():
            raise ValueError(f"Row {np.flatnonzero(empty)[0]} of Y has no observed value (all NaN; {empty.sum()} such "
                             "rows): it says nothing about the sheet. Drop it before fitting; a fitted model places it "
                             "in the middle of the grid (chapter 9, \"Missing values\").")
        return Y

    def _check_parameters(self):
        grid, basis = _check_shape("grid", self.grid), _check_shape("basis", self.basis)
        if len(grid) != len(basis):
            raise ValueError(f"grid={grid} has {len(grid)} latent dimensions and basis={basis} has {len(basis)}: give "
                             "one number of basis functions for each dimension of the grid.")
        check_positive("width", self.width)
        if self.terms not in TERMS:
            raise ValueError(f"terms must be one of {', '.join(TERMS)}, got {self.terms!r}.")
        if not (np.isscalar(self.alpha) and np.isreal(self.alpha) and np.isfinite(self.alpha) and self.alpha >= 0):
            raise ValueError(f"alpha must be a finite number of at least 0, got {self.alpha!r}.")
        M, K = make_basis(basis, 1.0, self.terms).size, int(np.prod(grid))
        if M > K:
            raise ValueError(f"basis={basis} with terms={self.terms!r} makes {M} functions, but grid={grid} has only "
                             f"{K} nodes to see them at: {M - K} of the weights could be anything. Use a finer grid or "
                             "fewer basis functions (chapter 9, \"Break it\").")
        whole = isinstance(self.batch_size, (int, np.integer)) and not isinstance(self.batch_size, bool)
        if self.batch_size is not None and not (whole and self.batch_size >= 1):
            raise ValueError(f"batch_size must be None or a whole number of at least 1, got {self.batch_size!r}.")
        if not isinstance(self.max_iter, (int, np.integer)) or self.max_iter < 0:
            raise ValueError(f"max_iter must be a whole number of at least 0, got {self.max_iter!r}.")


class BatchSOM(_GridModel):
    """Self-organising map, batch version: winners, their means, and averages over a shrinking neighbourhood.

    Parameters
    ----------
    grid : tuple of int, default (15, 15)
    start_width, end_width : float
        Width of the neighbourhood in the first and the last pass (geometric in between); the grid runs from -1 to 1.
        `end_width` None: the distance of neighbouring nodes.
    max_iter : int
        Passes over the data.

    Attributes
    ----------
    prototypes_ : ndarray (K, D); nodes_ : ndarray (K, q)
    embedding_ : ndarray (N, q)
        The winner's node, for each training point.
    history_ : ndarray
        Minus the mean squared distance to the winner. It may fall: a SOM has no objective (chapter 9).

    Examples
    --------
    >>> t = np.linspace(-2, 2, 60)
    >>> model = BatchSOM(grid=(20,)).fit(np.column_stack([t, np.sin(2 * t)]))
    >>> bool((np.diff(model.embedding_[:, 0]) >= 0).all())                       # the order along the curve
    True
    """

    def __init__(self, grid=(15, 15), start_width=1.0, end_width=None, max_iter=50):
        self.grid = grid
        self.start_width = start_width
        self.end_width = end_width
        self.max_iter = max_iter

    def iterates(self, Y):
        """Prepare the fit and yield its states one by one."""
        Y = self.check_data(Y)
        grid = _check_shape("grid", self.grid)
        end = float(np.max(grid_spacing(grid))) if self.end_width is None else self.end_width
        check_positive("start_width", self.start_width)
        check_positive("end_width", end)
        if not isinstance(self.max_iter, (int, np.integer)) or self.max_iter < 1:
            raise ValueError(f"max_iter must be a whole number of at least 1, got {self.max_iter!r}.")
        Yc = self._prepare(Y)
        plane = basis_functions(self.nodes_, make_basis(grid, terms="linear"))[:, -1 - self.nodes_.shape[1]:]
        W, _ = principal_sheet(Yc, self.nodes_, plane, grid_spacing(grid))
        widths = np.geomspace(max(self.start_width, end), end, self.max_iter)
        yield from som_iterates(Yc, self.nodes_, plane @ W.T, widths)

    def fit(self, Y, y=None):
        """Unfold from the plane of PCA while the neighbourhood shrinks."""
        states = list(self.iterates(Y))
        self.prototypes_ = states[-1].prototypes + self.mean_
        self.history_, self.n_iter_ = np.array([state.value for state in states]), len(states) - 1
        self.embedding_ = self.nodes_[self._winners(self._Y)]
        return self

    def _winners(self, Y):
        return np.argmax(winners(Y - self.mean_, self.prototypes_ - self.mean_)[0], axis=0)

    def transform(self, Y):
        """The node whose prototype is nearest to each row; (N, q)."""
        return self.nodes_[self._winners(self.check_data(Y, reset=False))]

    def inverse_transform(self, X):
        """The prototype of the node nearest to each latent point: a SOM has no sheet between its nodes; (M, D)."""
        return self.prototypes_[np.argmax(winners(self.check_latent(X), self.nodes_)[0], axis=0)]
