"""`TSNE` and `TSNEPriorGPLVM` as scikit-learn estimators: thin layers over the functions."""
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

from ..base import LatentModel, check_components
from ..gplvm import GPLVM, Factorised, initial_positions, log_likelihood
from ..gplvm.estimator import JITTER
from ..linalg import centre
from .affinities import joint_affinities
from .descent import tsne_iterates
from .energy import cost_and_gradient
from .prior import bandwidth_range, best_bandwidth, paper_kernel, prior_iterates, with_bandwidth

FEWEST = 4                  # with three points every point is a neighbour of every other
ROUNDS = 4                  # of choosing the bandwidth and climbing


def check_perplexity(perplexity, n_samples):
    """The perplexity to use: min(30, (N - 1) / 3) for None, an error where equation (11.3) has no solution."""
    N = n_samples
    if N < FEWEST:
        raise ValueError(f"Y has {N} rows (n_samples={N}), and t-SNE needs at least {FEWEST}: among fewer points "
                         "nobody is nearer than somebody else. Chapter 11, \"Break it\", shows the edge.")
    if perplexity is None:
        return min(30.0, (N - 1) / 3.0)
    if not isinstance(perplexity, Real) or isinstance(perplexity, bool) or not 1 <= perplexity < N - 1:
        raise ValueError(f"perplexity={perplexity!r} is not between 1 and N - 1 = {N - 1} (not included): it counts "
                         f"the neighbours of a point, and {N} points have {N - 1} others each. Use about a third of N "
                         "at most, or None (chapter 11, \"How many neighbours?\").")
    return float(perplexity)


def _scaled_data(Y):
    """Y over a power of two near its largest entry: affinities do not notice, and squares can't overflow."""
    return np.ldexp(Y, -np.frexp(max(np.max(np.abs(Y)), 1e-300))[1])


class TSNE(LatentModel):
    """t-SNE: positions whose neighbourhoods, under a Student t distribution, are those of the data.

    Parameters
    ----------
    n_components : int, default 2
    perplexity : float or None
        Effective number of neighbours; None: min(30, (N - 1) / 3).
    early_exaggeration : float
        Factor on the affinities during the first 250 steps.
    learning_rate : float or None
        None: N / early_exaggeration.
    max_iter : int
    tol : float
        Stop when no entry of the gradient of N C exceeds it.
    init : "pca", "random" or ndarray (N, q)
        A name is scaled to a deviation of 1e-4; an array is taken as it is.
    random_state : int, RandomState or None

    Attributes
    ----------
    embedding_ : ndarray (N, q)
    cost_ : float
        Kullback-Leibler divergence in nats.
    affinities_ : ndarray (N, N)
    perplexity_ : float
        What was used.
    history_ : ndarray
        Minus the cost at the start, every tenth step and the end.
    n_iter_ : int

    Notes
    -----
    Exact, O(N^2) a step. There is no `transform`: the positions are all that is learned, and a new point has no place
    in them (`TSNEPriorGPLVM` has a map, and a place). Chapter 11; van der Maaten and Hinton (2008).

    Examples
    --------
    >>> from gplvm_edu.datasets import load_iris
    >>> model = TSNE(max_iter=300).fit(load_iris().data)
    >>> model.embedding_.shape, model.perplexity_, model.cost_ < 1
    ((150, 2), 30.0, True)
    """

    def __init__(self, n_components=2, perplexity=None, early_exaggeration=12.0, learning_rate=None, max_iter=1000,
                 tol=1e-7, init="pca", random_state=None):
        self.n_components = n_components
        self.perplexity = perplexity
        self.early_exaggeration = early_exaggeration
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.random_state = random_state

    def iterates(self, Y):
        """Prepare the descent and yield its states (`Descent`) one by one; `fit` exhausts this."""
        Y = self.check_data(Y)
        N, D = Y.shape
        self.perplexity_ = check_perplexity(self.perplexity, N)
        check_components(self.n_components, N, D, N - 1, f"{N} points span {N - 1} dimensions at most")
        self._check_parameters()
        self.affinities_ = joint_affinities(_scaled_data(Y), self.perplexity_)
        X = initial_positions(centre(_scaled_data(Y))[0], self.n_components, self.init,
                              check_random_state(self.random_state))
        X = 1e-4 * X if isinstance(self.init, str) else X
        yield from tsne_iterates(self.affinities_, X, self.max_iter, self.early_exaggeration,
                                 min(250, self.max_iter // 2), self.learning_rate, tolerance=self.tol)

    def fit(self, Y, y=None):
        """Descend from the start. Interrupted, the estimator keeps the last state."""
        state, history = None, []
        try:
            for state in self.iterates(Y):
                history.append(-state.cost)
        finally:
            if state is not None:
                self.embedding_, self.cost_, self.n_iter_ = state.X, state.cost, max(state.step, 1)
                self.history_ = np.array(history)
        return self

    def _check_parameters(self):
        for name, least in (("early_exaggeration", 1.0), ("learning_rate", 0.0), ("tol", 0.0)):
            value = getattr(self, name)
            if value is None and name == "learning_rate":
                continue
            if not isinstance(value, Real) or not least <= value < np.inf or (name == "learning_rate" and value == 0):
                raise ValueError(f"{name} must be a number of at least {least:g}, got {value!r}.")
        if not isinstance(self.max_iter, Integral) or self.max_iter < 1:
            raise ValueError(f"max_iter must be a whole number of at least 1, got {self.max_iter!r}.")


class TSNEPriorGPLVM(GPLVM):
    """GP-LVM with t-SNE's cost as the energy of a prior: local structure kept, and a map to the data.

    Parameters
    ----------
    n_components : int, default 2
    gamma : float, default 1e-7
        Temperature tau of the prior, the paper's gamma, above 0. The smaller, the nearer to t-SNE; infinity is the
        plain GP-LVM. The two terms balance near 1 / (N D).
    perplexity : float or None
        None: min(30, (N - 1) / 3).
    kernel : Kernel or None
        None: the paper's, scaled by the variance of the data (`paper_kernel`).
    bandwidths : sequence of float or None
        Kernel widths to choose from, by likelihood, as the paper does. None: a range that fits the start when the
        kernel is None; else the kernel keeps its own.
    learn_kernel : bool
        Climb in all parameters of the kernel too (then no bandwidth is chosen after the start).
    init : "tsne", "pca", "isomap", "kernel_pca", "random", or ndarray (N, q)
    optimizer : "l-bfgs" or "scg"
    max_iter : int
        Steps of each climb.
    tol : float
    random_state : int, RandomState or None

    Attributes
    ----------
    embedding_ : ndarray (N, q)
    kernel_ : Kernel
    log_likelihood_, energy_ : float
        The two terms: L, and the cost of t-SNE.
    bandwidth_ : float or None
        What was chosen.
    start_ : ndarray (N, q)
        Where the climb began.
    affinities_, perplexity_, history_, n_iter_, n_evaluations_, jitter_ : as in TSNE and GPLVM

    Notes
    -----
    Van der Maaten (2009); chapter 11, equations (11.13) to (11.18). A new row is placed by the likelihood alone: the
    prior is about the training points.

    Examples
    --------
    >>> from gplvm_edu.datasets import simulate_oil_flow
    >>> oil = simulate_oil_flow(60, random_state=0)
    >>> model = TSNEPriorGPLVM(gamma=1e-4, max_iter=30).fit(oil.data)
    >>> model.inverse_transform(model.embedding_[:2]).shape, bool(model.history_[-1] >= model.history_[0])
    ((2, 12), True)
    """

    latent_prior = None         # the Gaussian one of chapter 5 has no place beside the Boltzmann prior

    def __init__(self, n_components=2, gamma=1e-7, perplexity=None, kernel=None, bandwidths=None, learn_kernel=False,
                 init="tsne", optimizer="l-bfgs", max_iter=200, tol=1e-4, random_state=None):
        self.n_components = n_components
        self.gamma = gamma
        self.perplexity = perplexity
        self.kernel = kernel
        self.bandwidths = bandwidths
        self.learn_kernel = learn_kernel
        self.init = init
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def energy(self, X):
        """The energy of positions X and its gradient: t-SNE's cost. A subclass may write another, (11.13)."""
        return cost_and_gradient(X, self.affinities_)

    def iterates(self, Y):
        """Prepare the fit and yield its states one by one: a bandwidth, a climb, the bandwidth again."""
        Y = self.check_data(Y)
        self._check_parameters(Y)
        self.perplexity_ = check_perplexity(self.perplexity, len(Y))
        self._Y, self.mean_ = centre(Y)
        variance = self._Y.var()
        variance = variance if variance > 1e-300 else 1.0
        self.jitter_ = JITTER * variance
        self.affinities_ = joint_affinities(_scaled_data(self._Y), self.perplexity_)
        X = self.start_ = self._start(self._Y)
        kernel = paper_kernel(variance) if self.kernel is None else self.kernel
        bandwidths = bandwidth_range(X) if self.kernel is None and self.bandwidths is None else self.bandwidths
        self.bandwidth_, n_evaluations = None, 0
        for _ in range(ROUNDS if bandwidths is not None and not self.learn_kernel else 1):
            if bandwidths is not None:
                chosen, _ = best_bandwidth(self._Y, X, kernel, bandwidths, self.jitter_)
                if chosen == self.bandwidth_:
                    return
                self.bandwidth_, kernel = chosen, with_bandwidth(kernel, chosen)
            self._kernel_start = kernel.copy()
            for state in prior_iterates(self._Y, X, kernel, self.energy, self.gamma, self.optimizer, self.max_iter,
                                        self.jitter_, self.tol, self.learn_kernel):
                yield state._replace(n_evaluations=n_evaluations + state.n_evaluations)
            X, n_evaluations = state.X, n_evaluations + state.n_evaluations

    def set_state(self, state, history=()):
        """Make the estimator that of one iterate, and take its two terms apart."""
        super().set_state(state, history)
        _, _, L, A, jitter = self._mapping
        self.log_likelihood_ = log_likelihood(self._Y, None, Factorised(L, A, jitter))
        self.energy_ = self.energy(state.X)[0]
        return self

    def fantasies(self, n_points=64):
        """What a one-dimensional latent space holds: n_points evenly spaced places (n, 1), decoded to data (n, D)."""
        q = self.embedding_.shape[1]
        if q != 1:
            raise ValueError(f"Evenly spaced points need a line, and this latent space has {q} dimensions: fit with "
                             "n_components=1, or pass points of your own to inverse_transform.")
        X = np.linspace(self.embedding_.min(), self.embedding_.max(), n_points)[:, None]
        return self.inverse_transform(X), X

    def _start(self, Y):
        if isinstance(self.init, str) and self.init == "tsne":
            start = TSNE(self.n_components, self.perplexity, random_state=self.random_state)
            return start.fit(Y).embedding_
        return initial_positions(Y, self.n_components, self.init, check_random_state(self.random_state))

    def _check_parameters(self, Y):
        super()._check_parameters(Y)
        if not isinstance(self.gamma, Real) or isinstance(self.gamma, bool) or not self.gamma > 0:
            raise ValueError(f"gamma is the temperature of the prior and must be above 0, got {self.gamma!r}. Towards "
                             "0 the model becomes t-SNE, at np.inf the plain GP-LVM; the terms balance near 1 / (N D) "
                             f"= {1 / Y.size:.2g} (chapter 11, \"How hot?\").")
        if self.bandwidths is not None and not (
                np.ndim(self.bandwidths) == 1 and len(self.bandwidths) and np.all(np.asarray(self.bandwidths) > 0)):
            raise ValueError(f"bandwidths must be a list of numbers above 0 to choose from, got {self.bandwidths!r}.")
