"""`GPLVM`: the Gaussian process latent variable model as a scikit-learn estimator."""

from collections.abc import Iterator
from typing import Self

import numpy as np

from .. import checks, starts
from ..base import IterativeFit, KernelModel, MapModel
from ..kernels import Kernel, common_start, warn_without_noise, with_scales_fixed
from ..linalg import centre, own_scale, unit_gaussian_log_density
from ..optimise import METHODS
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
    init : "pca", "isomap", "kernel_pca", "random", or ndarray (N, q)
    latent_prior : "gaussian" or None
        MAP with a unit Gaussian prior on the positions, or maximum likelihood. With the prior the kernel's widths stay
        (and what else could undo a change of scale): a free width and the prior have no maximum together. Without, they
        are learnt, and `max_iter` is the only brake.
    optimiser : "l-bfgs" or "scg"
    max_iter : int
    tol : float
        Stop when no entry of the gradient exceeds it.
    random_state : None, int, RandomState or Generator
    verbose : bool
        Show a bar with the steps made, the objective and the time left at most (by tqdm, on the error output).

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
        latent_prior: str | None = "gaussian",
        optimiser: str = "l-bfgs",
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: checks.Seed = None,
        verbose: bool = False,
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

    if_slow = (
        "SparseGPLVM (chapter 7) and BayesianGPLVM (chapter 12) take as many rows in a small part of that time; or "
        "lower max_iter."
    )
    rules = {
        "n_components": checks.rule(checks.whole_number),
        "kernel": checks.rule(checks.kernel),
        "init": checks.rule(checks.start, starts.names),
        "latent_prior": checks.rule(checks.choice, ("gaussian", None)),
        "optimiser": checks.rule(checks.choice, METHODS),
        "max_iter": checks.rule(checks.whole_number, at_least=0),
        "tol": checks.rule(checks.number, at_least=0),
        "verbose": checks.rule(checks.flag),
    }
    failing_checks = {
        name: "a training row's position maximises the likelihood of all rows together, a new row's its "
        "own given the others: fit_transform and transform are different problems (chapter 5)"
        for name in ("check_transformer_general", "check_transformer_data_not_an_array")
    }

    def default_kernel(self) -> Kernel:
        """What `kernel=None` stands for, in units of the data's own variance."""
        return common_start()

    def start_kernel(self, **units) -> Kernel:
        """The kernel that a fit starts with; one without noise is taken, with a warning.

        With the prior its widths stay: a free width and a unit prior have no maximum together (chapter 5).
        """
        kernel = super().start_kernel(**units)
        warn_without_noise(kernel, **units)
        return with_scales_fixed(kernel) if self.latent_prior == "gaussian" else kernel

    def iterates(self, Y) -> Iterator[GPLVMState]:
        """Prepare the fit and yield its states one by one; `fit` exhausts this, a widget pauses it."""
        Y, variance = self.prepare(Y)
        kernel = self.start_kernel(variance=variance)
        X = starts.initial_positions(Y, self.n_components, self.init, checks.random_state(self.random_state))
        self.kernel_start_ = kernel.copy()
        yield from gplvm_iterates(
            Y, X, kernel, self.latent_prior, self.optimiser, self.max_iter, self.jitter_, self.tol
        )

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
        self.map_ = ProcessMap(
            self.kernel_, state.X, factor.L, factor.A, self.mean_, self.jitter_ + factor.jitter, self.latent_prior
        )
        prior = unit_gaussian_log_density(state.X) if self.latent_prior == "gaussian" else 0.0
        self.log_likelihood_, self.n_evaluations_ = float(state.value - prior), state.n_evaluations
        return self

    def check_parameters(self, Y) -> None:
        """What depends on the data: `rules` has the rest."""
        N, D = Y.shape
        checks.components(self.n_components, N, D, max(N - 1, 1), f"{N} points span {N - 1} dimensions at most")
