"""`SparseGPLVM`: the GP-LVM with an active set, for any noise model and with missing values."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Self

import numpy as np

from .. import checks, starts
from ..base import CodedColumns, IterativeFit, KernelModel
from ..gplvm import JITTER
from ..kernels import Kernel, common_start, split_white
from ..linalg import fill_with_means, nearest_rows, own_scale, unit_gaussian_log_density
from ..noise import Gaussian, Noise
from ..optimise import METHODS
from .algorithm import SparseOptions, SparseState, sparse_iterates, sparse_model
from .columns import check_noise, is_one_hot, read_noise, stated_kinds
from .rules import SELECTIONS
from .settle import TOLERANCE


class SparseGPLVM(IterativeFit, KernelModel, CodedColumns):
    """Sparse Gaussian process latent variable model: an active set chosen by the informative vector machine.

    Use it when GPLVM is too slow (a thousand rows and more), rows have gaps, or columns are labels or ordered levels.

    Columns: numbers of comparable scale; with `noise`, labels and levels too.
    NaN: in fit and in new rows.
    Answers: transform, inverse_transform, impute, score_samples, sample, map_.
    Cost: O(d^2 N) a pass, d active rows; at N = 1000, by default, 12 seconds.
    Chapter: 7 (book/07_ivm.ipynb).

    Parameters
    ----------
    n_components : int, default 2
    n_active : int, default 100
        d, the size of the active set; at most the number of rows is used.
    max_iter : int, default 15
        T, the passes of Algorithm 1: a schedule, there is no other end.
    kernel : as in `GPLVM`
    noise : None, a noise model of `gplvm_edu.noise`, a list with one for each column, a word, or {column: either}
        None: Gaussian noise of the variance of the kernel's `White` part, which is learnt. Words are "gaussian",
        "probit" (or "binary"), "ordinal", "poisson" (or "counts") and "categorical" (a `Probit` for each level); a
        column is a name of a DataFrame, a number, or a tuple of them:
        ``{"height": "gaussian", "smoker": "probit", "grade": "ordinal"}``.
        Columns that are left out are "gaussian". Categorical columns of a DataFrame, and columns of words, are read by
        themselves: ordered ones as "ordinal", two levels as "probit", more as "categorical". The levels of a category
        are answers of their own here, whose probabilities need not sum to 1; `DiscreteGTM` ties them. The variance of a
        Gaussian is learnt, unless it is held: ``Gaussian(0.1, fixed="variance")``.
    optimise_active : bool, default True
        Move the active rows too, or the kernel's parameters only.
    n_steps : int, default 5
        Optimiser steps on the active set in each pass. More is not better: chapter 7, "Over-fitting the few".
    n_inactive_steps : int, default 50
        Steps of each inactive row in each pass.
    relocate : bool, default True
        The search of an inactive row begins at its own position or at the best of the active rows', whichever is
        likelier: a row caught at the wrong maximum can leave it. False is the algorithm as printed.
    selection : "ivm", "random", "kmeans" or "pivoted_cholesky", default "ivm"
        The rule that chooses the active set: the row that tells most next; rows at random; those nearest to the centres
        of k-means in latent space; the pivots of the covariance of f. Chapter 7, "Does the choice matter?".
    ep : bool, default False
        Sweep over the sites of the active rows until they settle (expectation propagation), where one pass takes what
        it finds (assumed density filtering): for noise that is not Gaussian, where each sweep costs about as much as a
        choice of the active set. Chapter 8, "Again and again".
    learn_noise : bool, default True
        In each pass biases and cut points learn from the active rows. False: they stay where the data started them.
    latent_prior : "gaussian" or None
        As in `GPLVM`, but the kernel's width is learnt with the prior too: fifteen passes do not drift far (chapter 5,
        "A scale that nothing fixes"). ``fixed="inverse_width"`` in the kernel holds it.
    init, optimiser, random_state, verbose : as in `GPLVM`
        The prior keeps a row that nothing holds from drifting away; the optimiser moves the active set; the rules that
        draw do so from random_state.

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
    n_active_, n_iter_, n_evaluations_ : int; converged_ : bool
    n_sweeps_ : int
        Over the sites of the last active set: 1 without `ep`.
    coding_ : tables.Coding or None
        How a table with categories became numbers: `coding_.names` are the columns of `sample` and `inverse_transform`.
    map_ : ActiveMap
    jitter_ : float
        What was added to the variance of the kernel's `White` part, in the units of Y squared.

    Examples
    --------
    >>> from gplvm_edu import datasets
    >>> oil = datasets.simulate_oil_flow(120, random_state=0)
    >>> model = SparseGPLVM(n_active=30, max_iter=3).fit(oil.data)
    >>> model.embedding_.shape, len(model.active_), bool(model.history_[-1] > model.history_[0])
    ((120, 2), 30, True)
    """

    allows_missing = True
    measures_deviations = True
    if_slow = "Lower n_active, max_iter or n_inactive_steps."
    may_fall = "after each pass another active set stands for the rows, and another approximation is maximised (7.21)"
    rules = {
        "n_components": checks.rule(checks.whole_number),
        "n_active": checks.rule(checks.whole_number),
        "max_iter": checks.rule(checks.whole_number, at_least=0),
        "kernel": checks.rule(checks.kernel),
        "noise": checks.rule(check_noise),
        "optimise_active": checks.rule(checks.flag),
        "n_steps": checks.rule(checks.whole_number, at_least=0),
        "n_inactive_steps": checks.rule(checks.whole_number, at_least=0),
        "relocate": checks.rule(checks.flag),
        "selection": checks.rule(checks.choice, SELECTIONS),
        "ep": checks.rule(checks.flag),
        "learn_noise": checks.rule(checks.flag),
        "init": checks.rule(checks.start, starts.names),
        "latent_prior": checks.rule(checks.choice, ("gaussian", None)),
        "optimiser": checks.rule(checks.choice, METHODS),
        "verbose": checks.rule(checks.flag),
    }
    failing_checks = {
        name: "the position of an active row maximises the likelihood of all active rows together, a new "
        "row's its own given them: fit_transform and transform are different problems (chapter 7)"
        for name in ("check_transformer_general", "check_transformer_data_not_an_array")
    }

    def __init__(
        self,
        n_components: int = 2,
        n_active: int = 100,
        max_iter: int = 15,
        kernel: Kernel | None = None,
        noise=None,
        optimise_active: bool = True,
        n_steps: int = 5,
        n_inactive_steps: int = 50,
        relocate: bool = True,
        selection: str = "ivm",
        ep: bool = False,
        learn_noise: bool = True,
        init: str | np.ndarray = "pca",
        latent_prior: str | None = "gaussian",
        optimiser: str = "scg",
        random_state: checks.Seed = None,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.n_active = n_active
        self.max_iter = max_iter
        self.kernel = kernel
        self.noise = noise
        self.optimise_active = optimise_active
        self.n_steps = n_steps
        self.n_inactive_steps = n_inactive_steps
        self.relocate = relocate
        self.selection = selection
        self.ep = ep
        self.learn_noise = learn_noise
        self.init = init
        self.latent_prior = latent_prior
        self.optimiser = optimiser
        self.random_state = random_state
        self.verbose = verbose

    @property
    def any_units(self) -> str:
        """Noise models that were chosen may differ from column to column."""
        return "" if self.noise is None or isinstance(self.noise, Gaussian) else "each column has its own noise model"

    def matrix_size(self, N, D) -> int:
        """The kernel matrix of the active set."""
        return min(N, self.n_active)

    # --- fitting ---------------------------------------------------------------------------------------------
    def default_kernel(self) -> Kernel:
        """What `kernel=None` stands for, in units of the data's own variance (of 1 where they are labels)."""
        return common_start(noise=0.01)

    def iterates(self, Y) -> Iterator[SparseState]:
        """Prepare the fit and yield its states, the start first; `fit` exhausts this, a widget pauses it."""
        noise, variance = self.prepare(Y)
        kernel = self.first_kernel(noise, variance)
        filled, _ = fill_with_means(self.rows_ / self.units_)
        random_state = checks.random_state(self.random_state)
        X = starts.initial_positions(filled, self.n_components, self.init, random_state)
        if noise is not None:
            noise = noise.start(self.rows_, prior_variance=float(np.mean(kernel.diag(X))))
        options = SparseOptions(*(getattr(self, name) for name in SparseOptions._fields))  # our names are theirs
        model = sparse_model(kernel, noise, self.jitter_)
        yield from sparse_iterates(
            self.rows_ - self.mean_, X, model, options, self.max_iter, checks.generator(random_state)
        )

    def first_kernel(self, noise, variance) -> Kernel:
        """The kernel to start from: without a `White` part where the noise learns its own variance."""
        kernel = self.start_kernel(variance=variance)
        smooth, _ = split_white(kernel)
        own = self.kernel is None and noise is not None and noise.learns_variance
        return smooth if own and smooth is not None else kernel

    def codes_one_hot(self, number, column, names) -> bool:
        """A column of answers for each level where they have no order, and are more than two."""
        return is_one_hot(column, stated_kinds(check_noise("noise", self.noise), names, len(names)).get(number))

    def prepare(self, Y):
        """Check everything; the noise model (None: the kernel's) and the variance.

        Sets `rows_`, `mean_`, `units_` (of each column, 1 but for Gaussian noise of another scale) and `jitter_`.
        """
        Y = self.check_data(Y)
        noise = self.check_parameters(Y)
        checks.observed_columns(checks.observed_rows(Y))
        self.rows_ = Y if noise is None else noise.check(Y)
        _, mean = fill_with_means(self.rows_)
        self.mean_ = mean if noise is None else np.zeros(Y.shape[1])
        self.units_ = np.ones(Y.shape[1])
        for model, columns in [] if noise is None else noise.blocks:
            self.units_[columns] = model.scale if isinstance(model, Gaussian) else 1.0
        numbers = noise is None or isinstance(noise, Gaussian)
        variance = own_scale((self.rows_ - mean) / self.units_) ** 2 if numbers else 1.0
        self.jitter_ = JITTER * variance
        return noise, variance

    def set_state(self, state) -> Self:
        """Make the estimator that of one state: positions, kernel, active set and the map that follows from them."""
        self.embedding_, self.kernel_, self.noise_ = state.X, state.model.kernel, state.model.noise
        self.map_ = replace(state.map_, mean=self.mean_)
        self.active_, self.gains_ = state.selection.active, state.selection.gains
        self.n_active_, self.n_sweeps_ = len(self.active_), state.selection.n_sweeps
        prior = unit_gaussian_log_density(state.X) if self.latent_prior == "gaussian" else 0.0
        self.log_likelihood_, self.n_evaluations_ = float(state.value - prior), state.n_evaluations
        return self

    def check_end(self, state) -> None:
        """As for every fit, and a warning where the sites of the last active set had not settled."""
        super().check_end(state)
        if state.selection.change > TOLERANCE:
            checks.warn(
                f"The sites of SparseGPLVM had not settled after {self.n_sweeps_} sweeps: in the last one a site still "
                f"moved by {state.selection.change:.1g} of its size. Its evidence is not quite that of expectation "
                "propagation; a smaller variance of the kernel makes sweeps calmer."
            )

    def near_places(self, Y, n_starts) -> np.ndarray:
        """Latent positions of the nearest training rows, (M, n_starts, q), each column measured in its own unit."""
        n_starts = checks.whole_number("n_starts", n_starts)
        return self.embedding_[nearest_rows(Y / self.units_, self.rows_ / self.units_, n_starts)]

    def number_columns(self) -> np.ndarray:
        """Which columns of the data have Gaussian noise, (D,)."""
        numbers = np.zeros(self.rows_.shape[1], dtype=bool)
        for model, columns in self.map_.noise_of_new_rows().blocks:
            numbers[columns] = isinstance(model, Gaussian)
        return numbers

    # --- checks ----------------------------------------------------------------------------------------------
    def check_rows(self, Y, gaps=True) -> np.ndarray:
        """New rows as the noise model reads them, with at least one value in each."""
        Y = super().check_rows(Y, gaps)
        return self.map_.noise_of_new_rows().check(Y, allow_empty=True)

    def check_parameters(self, Y) -> Noise | None:
        """What depends on the data, and on two arguments; the noise model, None for that of the kernel."""
        N, D = Y.shape
        checks.components(self.n_components, N, D, max(N - 1, 1), f"{N} points span {N - 1} dimensions at most")
        noise = read_noise(self.noise, Y, getattr(self, "feature_names_in_", None), self.coding_)
        if self.kernel is not None:
            sparse_model(self.kernel, noise)  # a kernel without noise is refused here
        return noise
