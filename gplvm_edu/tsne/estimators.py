"""`TSNE` and `TSNEPriorGPLVM` as scikit-learn estimators: thin layers over the functions."""

from collections.abc import Iterator
from typing import Self

import numpy as np

from .. import checks, starts
from ..base import IterativeFit, LatentModel, check_is_fitted, until_settled
from ..gplvm import GPLVM, Factorised, GPLVMState, log_likelihood
from ..kernels import Kernel, relative
from ..linalg import centre
from ..metrics import unit_range
from ..progress import preparing
from . import fast
from .affinities import joint_affinities
from .descent import TSNEState, tsne_iterates
from .prior import bandwidth_range, best_bandwidth, likelihood_share, paper_kernel, prior_iterates, with_bandwidth

FEWEST = 4  # with three points every point is a neighbour of every other
EXAGGERATED = 250  # steps at most
JUDGED = 250  # steps from one look at the cost to the next
START_STEPS = 1000  # of t-SNE, where it is a start and need not come to its end
ROUNDS = 4  # of choosing the bandwidth and climbing
NO_MAP = "t-SNE has no map from latent space to data; TSNEPriorGPLVM has one (chapter 11)"
NO_PLACE = "t-SNE learns positions of the training rows alone; TSNEPriorGPLVM places new ones (chapter 11)"
NO_DENSITY = "t-SNE minimises a divergence between neighbourhoods and gives data no density (chapter 11)"


def check_perplexity(perplexity, n_samples) -> float:
    """The perplexity to use: min(30, (N - 1) / 3) for None, an error where equation (11.3) has no solution."""
    N = n_samples
    if N < FEWEST:
        raise ValueError(
            f"Y has {N} rows (n_samples={N}), and t-SNE needs at least {FEWEST}: among fewer points "
            'nobody is nearer than somebody else. Chapter 11, "Break it", shows the edge.'
        )
    if perplexity is None:
        return min(30.0, (N - 1) / 3.0)
    if not checks.is_number(perplexity) or not 1 <= perplexity < N - 1:
        raise ValueError(
            f"perplexity={checks.shown(perplexity)} is not between 1 and N - 1 = {N - 1} (not included): it counts "
            f"the neighbours of a point, and {N} points have {N - 1} others each. Use about a third of N "
            'at most, or None (chapter 11, "How many neighbours?").'
        )
    return float(perplexity)


class TSNE(IterativeFit, LatentModel):
    """t-SNE: positions whose neighbourhoods, under a Student t distribution, are those of the data.

    Use it when you want a picture of clusters among the rows at hand, and nothing else.

    Columns: numbers of comparable scale.
    NaN: no.
    Answers: fit_transform.
    Cost: O(N^2 q) a step; at N = 1000, by default, 37 seconds.
    Chapter: 11 (book/11_tsne.ipynb).

    Parameters
    ----------
    n_components : int, default 2
    perplexity : float or None
        Effective number of neighbours; None: min(30, (N - 1) / 3).
    early_exaggeration : float
        Factor on the affinities during the first 250 steps (the first half, where that is less).
    learning_rate : float or None
        None: N / early_exaggeration.
    max_iter : int
        Steps at most. A thousand are often enough, not always.
    tol : float
        Stop when the last 250 steps, none of them exaggerated, have changed the cost by less than this, in nats.
    init : "pca", "random" or ndarray (N, q)
        A name is scaled to a deviation of 1e-4; an array is taken as it is.
    random_state : None, int, RandomState or Generator
    verbose : bool
        Show a bar with the steps made, the objective and the time left at most (by tqdm, on the error output).

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
        Steps.
    converged_ : bool
        Whether it came to rest within `max_iter` steps.

    Notes
    -----
    Exact, O(N^2) a step. There is no `transform`: the positions are all that is learned, and a new point has no place
    in them (`TSNEPriorGPLVM` has a map, and a place). Chapter 11; van der Maaten and Hinton (2008).

    Examples
    --------
    >>> from gplvm_edu.datasets import load_iris
    >>> model = TSNE().fit(load_iris().data)
    >>> model.embedding_.shape, model.perplexity_, model.cost_ < 0.13, model.converged_
    ((150, 2), 30.0, True, True)
    """

    if_slow = "Every step looks at all pairs of rows: fit fewer of them, or lower max_iter."
    may_fall = "momentum carries a descent over hills, and the cost shown is that of affinities not exaggerated (11.11)"
    rules = {
        "n_components": checks.rule(checks.whole_number),
        "perplexity": checks.rule(checks.number, at_least=1, optional=True),
        "early_exaggeration": checks.rule(checks.number, at_least=1, at_most=1e6),
        "learning_rate": checks.rule(checks.positive, optional=True),
        "max_iter": checks.rule(checks.whole_number, at_least=0),
        "tol": checks.rule(checks.number, at_least=0),
        "init": checks.rule(checks.start, starts.names),
        "verbose": checks.rule(checks.flag),
    }
    why_not = (
        dict.fromkeys(("transform", "place", "reconstruct", "impute"), NO_PLACE)
        | dict.fromkeys(("inverse_transform", "jacobian", "log_precision"), NO_MAP)
        | dict.fromkeys(("score_samples", "score", "sample"), NO_DENSITY)
    )

    def __init__(
        self,
        n_components: int = 2,
        perplexity: float | None = None,
        early_exaggeration: float = 12.0,
        learning_rate: float | None = None,
        max_iter: int = 3000,
        tol: float = 1e-3,
        init: str | np.ndarray = "pca",
        random_state: checks.Seed = None,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.perplexity = perplexity
        self.early_exaggeration = early_exaggeration
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.random_state = random_state
        self.verbose = verbose

    def matrix_size(self, N, D) -> int:
        """Nothing is factorised, and products are made of blocks of rows."""
        return 1

    def iterates(self, Y) -> Iterator[TSNEState]:
        """Prepare the descent and yield its states (`TSNEState`) one by one; `fit` exhausts this."""
        Y = self.check_data(Y)
        N, D = Y.shape
        self.perplexity_ = check_perplexity(self.perplexity, N)
        checks.components(self.n_components, N, D, N - 1, f"{N} points span {N - 1} dimensions at most")
        Yc = unit_range(centre(Y)[0])
        self.affinities_ = joint_affinities(Yc, self.perplexity_)
        X = starts.initial_positions(Yc, self.n_components, self.init, self.random_state)
        X = 1e-4 * X if isinstance(self.init, str) else X
        first = min(EXAGGERATED, self.max_iter // 2)
        states = tsne_iterates(self.affinities_, X, self.max_iter, self.early_exaggeration, first, self.learning_rate)
        yield from until_settled(states, self.tol, lambda state: state.step > first and state.step % JUDGED == 0)

    def set_state(self, state) -> Self:
        """Make the estimator that of one state of the descent."""
        self.embedding_, self.cost_ = state.X, state.cost
        return self

    def check_room(self, N, D) -> None:
        """Affinities of all pairs."""
        checks.room(f"TSNE of {N} rows", N, N, advice="Fit some of the rows.")


def check_temperature(name, value) -> float | None:
    """A number above 0, infinity included: there the prior is switched off; None for 1 / (N D)."""
    if value is None:
        return None
    if not checks.is_number(value) or not 1.0 / checks.EXTREME <= value:
        raise ValueError(
            f"{name} must be above 0 (from {1 / checks.EXTREME:g} on), got {checks.shown(value)}. Towards 0 the model "
            "becomes t-SNE, at np.inf the plain GP-LVM; the terms balance near 1 / (N D), one over the number of "
            'entries of Y, which None means (chapter 11, "How hot?").'
        )
    return float(value)


def check_bandwidths(name, value):
    """A list of numbers above 0, or None."""
    if value is None:
        return None
    if np.ndim(checks.floats(name, value)) != 1 or not np.size(value):
        raise ValueError(f"{name} must be a list of numbers above 0 to choose from, got {checks.shown(value)}.")
    for one in value:
        checks.number(f"each number of {name}={checks.shown(value)}", one, at_least=1e-40, at_most=1e40)
    return value


class TSNEPriorGPLVM(GPLVM):
    """GP-LVM with t-SNE's cost as the energy of a prior: local structure kept, and a map to the data.

    Use it when you want t-SNE's picture of neighbourhoods, and a map to the data and back.

    Columns: numbers of comparable scale.
    NaN: in new rows, not in transform.
    Answers: transform, inverse_transform, impute, score_samples, sample, map_.
    Cost: O(N^3) a step; at N = 1000, by default, 50 seconds.
    Chapter: 11 (book/11_tsne.ipynb).

    Parameters
    ----------
    n_components, optimiser, tol, random_state, verbose : as in `GPLVM`
    temperature : float or None
        tau of the prior, the paper's gamma, above 0. The smaller, the nearer to t-SNE; infinity is the plain GP-LVM.
        None: 1 / (N D), where both terms weigh the same, however large the data (11.16). The paper's is 1e-7, at which
        a few hundred rows do not leave the map of t-SNE.
    perplexity : as in `TSNE`
    kernel : Kernel or None
        As in `GPLVM`; None: the paper's (`paper_kernel`), in units of the data's own variance.
    bandwidths : sequence of float or None
        Kernel widths to choose from, by likelihood, as the paper does, in the place of those that are not fixed. None:
        a range that fits the start when the kernel is None; else the kernel keeps its own.
    learn_kernel : bool
        Climb in all parameters of the kernel too (then no bandwidth is chosen after the start).
    init : "tsne", "pca", "isomap", "kernel_pca", "laplacian", "lle", "random", or ndarray (N, q)
    max_iter : int
        Steps of each climb.

    Attributes
    ----------
    embedding_ : ndarray (N, q)
    kernel_ : Kernel
    log_likelihood_, energy_ : float
        The two terms: L, and the cost of t-SNE.
    temperature_ : float
        What was used.
    bandwidth_ : float or None
        What was chosen.
    start_ : ndarray (N, q)
        Where the climb began.
    map_, affinities_, perplexity_, history_, n_iter_, converged_, n_evaluations_, jitter_ : as in GPLVM and TSNE

    Notes
    -----
    Van der Maaten (2009); chapter 11, equations (11.13) to (11.18). A new row is placed by the likelihood alone: the
    prior is about the training points.

    Examples
    --------
    >>> from gplvm_edu.datasets import simulate_oil_flow
    >>> oil = simulate_oil_flow(60, random_state=0)
    >>> model = TSNEPriorGPLVM(temperature=1e-4, max_iter=30).fit(oil.data)
    >>> model.inverse_transform(model.embedding_[:2]).shape, bool(model.history_[-1] >= model.history_[0])
    ((2, 12), True)
    """

    measures_deviations = False  # its intervals were seen to hold 92 to 97 %
    may_fall = "each round of the bandwidth's choice climbs another objective (11.18)"
    rules = {
        **{name: GPLVM.rules[name] for name in ("n_components", "kernel", "optimiser", "max_iter", "tol", "verbose")},
        "temperature": checks.rule(check_temperature),
        "perplexity": TSNE.rules["perplexity"],
        "bandwidths": checks.rule(check_bandwidths),
        "learn_kernel": checks.rule(checks.flag),
        "init": checks.rule(checks.start, lambda: ("tsne", *starts.names())),
    }
    if_slow = "Fit fewer rows, or lower max_iter, which holds for each of its climbs."
    latent_prior = None  # the Gaussian one of chapter 5 has no place beside the Boltzmann prior
    back_constraint = times = None  # nor have its back constraints and its dynamics

    def __init__(
        self,
        n_components: int = 2,
        temperature: float | None = None,
        perplexity: float | None = None,
        kernel: Kernel | None = None,
        bandwidths=None,
        learn_kernel: bool = False,
        init: str | np.ndarray = "tsne",
        optimiser: str = "l-bfgs",
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: checks.Seed = None,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.temperature = temperature
        self.perplexity = perplexity
        self.kernel = kernel
        self.bandwidths = bandwidths
        self.learn_kernel = learn_kernel
        self.init = init
        self.optimiser = optimiser
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def default_kernel(self) -> Kernel:
        """What `kernel=None` stands for, in units of the data's own variance; its width is then chosen."""
        return relative(paper_kernel())

    def energy(self, X) -> tuple[float, np.ndarray]:
        """The energy of positions X and its gradient: t-SNE's cost. A subclass may write another, (11.13)."""
        return fast.cost_and_gradient(X, self.affinities_)

    def iterates(self, Y) -> Iterator[GPLVMState]:
        """Prepare the fit and yield its states one by one: a bandwidth, a climb, the bandwidth again."""
        Y, variance = self.prepare(Y)
        self.temperature_ = 1.0 / Y.size if self.temperature is None else float(self.temperature)
        self.affinities_ = joint_affinities(unit_range(Y), self.perplexity_)
        X, interrupt = self.start_positions(Y)
        self.start_ = X
        kernel = self.start_kernel(variance=variance)
        bandwidths = bandwidth_range(X) if self.kernel is None and self.bandwidths is None else self.bandwidths
        options = self.optimiser, self.max_iter, self.jitter_, self.tol, self.learn_kernel
        self.bandwidth_, n_evaluations = None, 0
        for _ in range(self.climbs):
            if bandwidths is not None:
                chosen, _ = best_bandwidth(Y, X, kernel, bandwidths, self.jitter_)
                if chosen == self.bandwidth_:
                    return
                self.bandwidth_, kernel = chosen, with_bandwidth(kernel, chosen)
            self.kernel_start_ = kernel.copy()
            for state in prior_iterates(Y, X, kernel, self.energy, self.temperature_, *options):
                yield state._replace(n_evaluations=n_evaluations + state.n_evaluations)
                if interrupt is not None:
                    raise interrupt  # the start as far as it had come has been handed over, and is kept
            X, n_evaluations = state.X, n_evaluations + state.n_evaluations

    def set_state(self, state) -> Self:
        """Make the estimator that of one iterate, and take its two terms apart."""
        super().set_state(state)
        factor = Factorised(self.map_.factor, self.map_.weights, self.map_.jitter)
        self.log_likelihood_ = log_likelihood(self.rows_ - self.mean_, None, factor)
        self.energy_ = self.energy(state.X)[0]
        return self

    def fantasies(self, n_points=64) -> tuple[np.ndarray, np.ndarray]:
        """What a one-dimensional latent space holds: n_points evenly spaced places (n, 1), decoded to data (n, D)."""
        check_is_fitted(self)
        checks.room("fantasies", checks.whole_number("n_points", n_points), len(self.mean_))
        q = self.embedding_.shape[1]
        if q != 1:
            raise ValueError(
                f"Evenly spaced points need a line, and this latent space has {q} dimensions: fit with "
                "n_components=1, or pass points of your own to inverse_transform."
            )
        X = np.linspace(self.embedding_.min(), self.embedding_.max(), n_points)[:, None]
        return self.inverse_transform(X), X

    def start_positions(self, Y) -> tuple[np.ndarray, KeyboardInterrupt | None]:
        """Where the climb begins: the map of t-SNE, as far as it came before an interrupt, or a start of the floor."""
        if not isinstance(self.init, str) or self.init != "tsne":
            return starts.initial_positions(Y, self.n_components, self.init, self.random_state), None
        tsne = TSNE(self.n_components, self.perplexity, max_iter=START_STEPS, tol=0.0, random_state=self.random_state)
        states = tsne.iterates(Y)  # no `fit`, which would warn of a descent that is not over: this is a start
        state, interrupt = next(states), None
        try:
            preparing("its start by t-SNE", state.step, START_STEPS)
            for state in states:
                preparing("its start by t-SNE", state.step, START_STEPS)
        except KeyboardInterrupt as pressed:
            interrupt = pressed
        return state.X, interrupt

    @property
    def climbs(self) -> int:
        """How often `max_iter` steps may be made: once more after each new bandwidth."""
        chosen = (self.kernel is None or self.bandwidths is not None) and not np.any(self.learn_kernel)
        return ROUNDS if chosen else 1

    @property
    def at_rest(self) -> str:
        """Why the start is at rest: how little the likelihood weighs, and where it would weigh as much as the prior."""
        (N, D), tau = self.rows_.shape, self.temperature_
        share = likelihood_share(N, D, tau)
        return (
            f"At temperature={tau:.3g} the likelihood has a share of {share:.2g} in the objective, and a "
            f"start at rest under the prior stays where it is; both weigh the same at {1 / (N * D):.2g} "
            '(temperature=None, chapter 11, "How hot?"). Raise the temperature, or lower tol.'
        )

    def check_parameters(self, Y) -> None:
        """What depends on the data."""
        super().check_parameters(Y)
        self.perplexity_ = check_perplexity(self.perplexity, len(Y))
