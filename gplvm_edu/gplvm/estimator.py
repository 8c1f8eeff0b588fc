"""`GPLVM`: the Gaussian process latent variable model as a scikit-learn estimator."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from .. import checks, starts
from ..base import IterativeFit, KernelModel, MapModel
from ..kernels import Kernel, common_start, warn_without_noise, with_scales_fixed
from ..linalg import centre, own_scale
from ..optimise import METHODS
from .back_constraints import MLPMap, RBFMap, check_back_constraint, settings
from .dynamics import DynamicPrior, as_times, check_prior, log_prior
from .fast import factorise
from .iterates import GPLVMState, gplvm_iterates
from .process_map import ProcessMap

JITTER = 1e-8  # of the variance of Y: bounds the noise from below


class GPLVM(IterativeFit, KernelModel, MapModel):
    """Gaussian process latent variable model: latent positions optimised, the map to data integrated out.

    Use it when you want a curved map of some hundred rows that also says where it does not know.

    Columns: numbers of comparable scale.
    NaN: in new rows, not in transform.
    Answers: transform, inverse_transform, impute, score_samples, sample, map_.
    Cost: O(N^3) a step; at N = 1000, by default, ~220 seconds.
    Chapter: 5 (book/05_gplvm.ipynb).

    Parameters
    ----------
    n_components : int, default 2
    kernel : Kernel or None
        In the units of the data; the kernel passed in is not changed. None: RBF + Bias + White in units of the data's
        own variance (`kernels.common_start`), scaled to the data by `fit`; ``set_params(kernel__rbf__inverse_width=2)``
        sets a parameter of it. What is ``fixed`` in a kernel stays.
    init : "pca", "isomap", "kernel_pca", "laplacian", "lle", "random", or ndarray (N, q)
    latent_prior : "gaussian", Kernel or None
        MAP with a unit Gaussian prior on the positions, with a Gaussian process over `times` (dynamics: a kernel such
        as ``RBF(1.0, 1 / 5**2) + White(0.01)``, which stays as given), or maximum likelihood. With a prior the widths
        of `kernel` stay (and what else could undo a change of scale): a free width and the prior have no maximum
        together. Without, they are learnt, and `max_iter` is the only brake.
    optimiser : "l-bfgs" or "scg"
    max_iter : int
    tol : float
        Stop when no entry of the gradient exceeds it.
    random_state : None, int, RandomState or Generator
    verbose : bool
        Show a bar with the steps made, the objective and the time left at most (by tqdm, on the error output).
    back_constraint : None, "rbf", "mlp", RBFMap or MLPMap
        Positions that are a smooth function of the data, with bells around the rows or a network: rows that are alike
        stay together, and `transform` asks this function, without a search. None: every row has its own place.
    times : array (N,) or (N, p), or None
        Times of the rows, in any order, for a kernel as `latent_prior`. None: 0, 1, 2, ..., the rows in their order.

    Attributes
    ----------
    embedding_ : ndarray (N, q)
    kernel_, kernel_start_ : Kernel
        As fitted, and as the fit began.
    log_likelihood_ : float
        Of the data alone, without the prior.
    history_ : ndarray
        The objective of each iterate, the start included.
    n_iter_, n_evaluations_ : int
    converged_ : bool
    map_ : ProcessMap
    rows_ : ndarray (N, D)
        The training data.
    mean_ : ndarray (D,)
    jitter_ : float
        What was added to the diagonal of K, in the units of Y squared.
    back_ : Smoother, Network or None
        The back constraint: called with rows without their `mean_`, it gives their positions.
    dynamics_ : DynamicPrior or None
        The prior over times; ``dynamics_.positions_at(times)`` are positions at other times.

    Examples
    --------
    >>> from gplvm_edu import datasets
    >>> oil = datasets.simulate_oil_flow(60, random_state=0)
    >>> model = GPLVM(max_iter=50).fit(oil.data)
    >>> model.embedding_.shape, bool(model.history_[-1] > model.history_[0])
    ((60, 2), True)
    """

    measures_deviations = True

    def __init__(
        self,
        n_components: int = 2,
        kernel: Kernel | None = None,
        init: str | np.ndarray = "pca",
        latent_prior: str | Kernel | None = "gaussian",
        optimiser: str = "l-bfgs",
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: checks.Seed = None,
        verbose: bool = False,
        back_constraint: str | RBFMap | MLPMap | None = None,
        times=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.init = init
        self.latent_prior = latent_prior
        self.optimiser = optimiser
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.back_constraint = back_constraint
        self.times = times

    if_slow = (
        "SparseGPLVM (chapter 7) and BayesianGPLVM (chapter 12) take as many rows in a small part of that time; or "
        "lower max_iter."
    )
    rules = {
        "n_components": checks.rule(checks.whole_number),
        "kernel": checks.rule(checks.kernel),
        "init": checks.rule(checks.start, starts.names),
        "latent_prior": checks.rule(check_prior),
        "optimiser": checks.rule(checks.choice, METHODS),
        "max_iter": checks.rule(checks.whole_number, at_least=0),
        "tol": checks.rule(checks.number, at_least=0),
        "verbose": checks.rule(checks.flag),
        "back_constraint": checks.rule(check_back_constraint),
        "times": checks.rule(as_times, optional=True),
    }

    @property
    def failing_checks(self) -> dict:
        """A new row's place is searched for, unless it is a function of the row."""
        if self.back_constraint is not None:
            return {}
        reason = (
            "a training row's position maximises the likelihood of all rows together, a new row's its "
            "own given the others: fit_transform and transform are different problems (chapter 5)"
        )
        return dict.fromkeys(("check_transformer_general", "check_transformer_data_not_an_array"), reason)

    def default_kernel(self) -> Kernel:
        """What `kernel=None` stands for, in units of the data's own variance."""
        return common_start()

    def start_kernel(self, **units) -> Kernel:
        """The kernel that a fit starts with; one without noise is taken, with a warning.

        With the prior its widths stay: a free width and a unit prior have no maximum together (chapter 5).
        """
        kernel = super().start_kernel(**units)
        warn_without_noise(kernel, **units)
        return kernel if self.latent_prior is None else with_scales_fixed(kernel)

    def iterates(self, Y) -> Iterator[GPLVMState]:
        """Prepare the fit and yield its states one by one; `fit` exhausts this, a widget pauses it."""
        Y, variance = self.prepare(Y)
        kernel = self.start_kernel(variance=variance)
        rng = checks.random_state(self.random_state)
        X = starts.initial_positions(Y, self.n_components, self.init, rng)
        self.kernel_start_, constraint = kernel.copy(), settings(self.back_constraint)
        back = None if constraint is None else constraint.begin(Y, X, rng)
        prior = self._prior(len(Y))
        yield from gplvm_iterates(Y, X, kernel, prior, self.optimiser, self.max_iter, self.jitter_, self.tol, back)

    def _prior(self, N) -> str | DynamicPrior | None:
        """What `latent_prior` stands for with N rows."""
        if not isinstance(self.latent_prior, Kernel):
            return self.latent_prior
        return DynamicPrior.over(np.arange(N) if self.times is None else self.times, self.latent_prior)

    def prepare(self, Y) -> tuple[np.ndarray, float]:
        """Check everything; the centred data and their variance. Sets `rows_`, `mean_` and `jitter_`."""
        Y = self.check_data(Y)
        self.check_parameters(Y)
        Yc, self.mean_ = centre(Y)
        variance = own_scale(Yc) ** 2
        self.rows_, self.jitter_ = Y, JITTER * variance
        return Yc, variance

    def set_state(self, state) -> Self:
        """Make the estimator that of one iterate: positions, kernel, and the map that follows from them."""
        self.embedding_ = state.X
        self.kernel_ = self.kernel_start_.copy()
        self.kernel_.theta = state.theta
        K = self.kernel_(state.X)
        K.flat[:: len(K) + 1] += self.jitter_
        factor = factorise(self.rows_ - self.mean_, K)
        at_new_rows = "gaussian" if self.latent_prior == "gaussian" else None  # that over time says nothing of them
        jitter = self.jitter_ + factor.jitter
        self.map_ = ProcessMap(self.kernel_, state.X, factor.L, factor.A, self.mean_, jitter, at_new_rows)
        prior, self.back_, self.dynamics_ = self._prior(len(state.X)), getattr(state, "way", None), None
        if isinstance(prior, DynamicPrior):
            self.dynamics_ = prior.at(state.X)
        self.log_likelihood_, self.n_evaluations_ = float(state.value - log_prior(prior, state.X)), state.n_evaluations
        return self

    def check_parameters(self, Y) -> None:
        """What depends on the data: `rules` has the rest."""
        N, D = Y.shape
        checks.components(self.n_components, N, D, max(N - 1, 1), f"{N} points span {N - 1} dimensions at most")
        if self.times is not None and not isinstance(self.latent_prior, Kernel):
            raise ValueError(
                f"latent_prior={self.latent_prior!r} does not ask when rows were measured, got times="
                f"{checks.shown(self.times)}: pass a kernel over time, such as RBF(1.0, 0.01) + White(0.01), "
                "or leave times out."
            )
        if self.times is not None and len(as_times("times", self.times)) != N:
            raise ValueError(
                f"times has {len(self.times)} entries and Y has {N} rows: there must be one time for each row, in the "
                "order of the rows."
            )

    def transform(self, Y, n_starts=5) -> np.ndarray:
        """Latent positions of new rows, (M, q): by the back constraint at once; without one the best end of searches.

        The searches, from the places of `n_starts` near neighbours each, are those of `place`, which is always free.
        """
        if self.back_constraint is None:
            return super().transform(Y, n_starts)
        checks.whole_number("n_starts", n_starts)
        back: Any = self.back_
        return back(self.check_rows(Y, gaps=False) - self.mean_)
