"""`GTM` as a scikit-learn estimator: a thin layer over the functions beside it."""

from collections.abc import Iterator
from math import prod

import numpy as np

from .. import checks
from ..linalg import has_gaps
from . import gaps
from .em import em_iterates
from .grid import TERMS, Basis, basis_functions, grid_spacing, make_basis, n_beside, principal_sheet
from .incremental import incremental_iterates
from .model import COARSER, LOOP_RULES, SheetModel, check_grid
from .selection import log_evidence
from .sheet import SheetMap

SHEET_RULES = LOOP_RULES | {  # of every model with a grid of basis functions
    "grid": checks.rule(check_grid),
    "basis": checks.rule(check_grid),
    "width": checks.rule(checks.number, at_least=1e-3, at_most=1e3),
    "alpha": checks.rule(checks.number, at_least=0, at_most=1e8),
    "terms": checks.rule(checks.choice, TERMS),
}


class GTM(SheetModel):
    """Generative topographic mapping: a sheet of Gaussians bent through the data, fitted by EM.

    Use it when you want a curved map of thousands of rows, gaps or not, with a density that needs no search.

    Columns: numbers of comparable scale.
    NaN: in fit and in new rows.
    Answers: transform, inverse_transform, impute, score_samples, sample, map_.
    Cost: O(K N D) a step, K nodes; at N = 1000, by default, 0.76 seconds.
    Chapter: 9 (book/09_gtm.ipynb).

    Parameters
    ----------
    grid : tuple of int, default (15, 15)
        Nodes along each latent dimension; its length is the number of latent dimensions.
    basis : tuple of int, default (4, 4)
        Gaussian basis functions along each latent dimension.
    width : float
        Width of the basis functions, in units of the distance of their centres, from 0.001 to 1000: narrower ones are
        0 at all nodes but one, wider ones the same at all.
    alpha : float
        Precision of the prior on the weights, for data of unit variance, from 0 (no prior) to 1e8: what enters the
        equations is `alpha_`, alpha over the mean variance of a column, so that the units of the data do not matter.
    batch_size : int or None
        None: plain EM. Otherwise so many points are renewed before each M-step (incremental EM).
    terms : "linear", "bias" or "none"
        What stands beside the basis functions: a constant and the coordinates, the constant, nothing.
    max_iter : int
        Passes over the data.
    tol : float
        Stop when a pass gains less than this, in nats a data point.
    random_state : None, int, RandomState or Generator
        For the order of the batches and for `sample`.
    verbose : bool
        Show a bar with the steps made, the objective and the time left at most (by tqdm, on the error output).

    Attributes
    ----------
    weights_ : ndarray (D, M); precision_ : float; alpha_ : float
    nodes_ : ndarray (K, q); means_, centred_means_ : ndarray (K, D)
        The grid, and its image in data space; the same about the mean of the data.
    basis_ : Basis; basis_values_ : ndarray (K, M); mean_ : ndarray (D,)
        The basis functions, and Phi, their values at the nodes.
    map_ : SheetMap
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
    measures_deviations = True
    knows_evidence = True  # Laplace's approximation, where there is a prior and the data are complete
    rules = SHEET_RULES | {"batch_size": checks.rule(checks.whole_number, optional=True)}

    def __init__(
        self,
        grid: tuple[int, ...] = (15, 15),
        basis: tuple[int, ...] = (4, 4),
        width: float = 0.75,
        alpha: float = 0.01,
        batch_size: int | None = None,
        terms: str = "linear",
        max_iter: int = 300,
        tol: float = 1e-5,
        random_state: checks.Seed = None,
        verbose: bool = False,
    ):
        self.grid = grid
        self.basis = basis
        self.width = width
        self.alpha = alpha
        self.batch_size = batch_size
        self.terms = terms
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def check_room(self, N, D) -> None:
        """As in every model on a grid, and products, values and derivatives of the basis functions."""
        super().check_room(N, D)
        grid, basis = check_grid("grid", self.grid), check_grid("basis", self.basis)
        q, K, M = len(grid), prod(grid), prod(basis) + n_beside(len(basis), self.terms)
        checks.room(f"The functions of basis={basis}", M, M, advice="Use fewer basis functions.")
        checks.room(f"The functions of basis={basis} and their slopes at {K} nodes", 1 + q, K, M, advice=COARSER)

    def check_parameters(self) -> None:
        """Raise a clear error unless grid, basis and terms go together."""
        grid, basis = check_grid("grid", self.grid), check_grid("basis", self.basis)
        if len(grid) != len(basis):
            raise ValueError(
                f"grid={grid} has {len(grid)} latent dimensions and basis={basis} has {len(basis)}: give "
                "one number of basis functions for each dimension of the grid."
            )
        M, K = prod(basis) + n_beside(len(basis), self.terms), prod(grid)
        if M > K:
            raise ValueError(
                f"basis={basis} with terms={self.terms!r} makes {M} functions, but grid={grid} has only "
                f"{K} nodes to see them at: {M - K} of the weights could be anything. Use a finer grid or "
                'fewer basis functions (chapter 9, "Break it").'
            )

    def prepare(self, Y, measured=True) -> np.ndarray:
        """Keep and centre the data; lay out nodes and basis functions."""
        Yc = super().prepare(Y, measured)
        self.alpha_ = self.alpha / self.scale_
        self.basis_ = make_basis(self.basis, self.width, self.terms)
        self.basis_values_ = basis_functions(self.nodes_, self.basis_)
        return Yc

    def start(self, Yc, floor) -> tuple[np.ndarray, float]:
        """Weights and precision of the plane of PCA, its noise not below the floor."""
        W, beta = principal_sheet(Yc, self.nodes_, self.basis_values_, grid_spacing(self.grid))
        return W, min(beta, 1.0 / floor)

    def steps(self, Yc, floor) -> Iterator:
        """States of the fit, from the plane of PCA."""
        if self.batch_size is None:
            start, options = self.start(Yc, floor), (self.alpha_, self.max_iter, floor, gaps.e_step, gaps.m_step)
            return em_iterates(Yc, self.basis_values_, *start, *options)
        size = min(self.batch_size, len(Yc))
        order = checks.random_state(self.random_state).permutation(len(Yc))
        return incremental_iterates(
            Yc[order], self.basis_values_, *self.start(Yc, floor), size, self.alpha_, self.max_iter, floor
        )

    def sheet_fields(self, state) -> tuple[Basis, np.ndarray, np.ndarray, float, np.ndarray]:
        """What every sheet is made of, in the order of the fields of `SheetMap`."""
        return self.basis_, state.weights, self.mean_, float(state.precision), self.nodes_

    def make_map(self, state):
        """The sheet of one state."""
        return SheetMap(*self.sheet_fields(state))

    def node_means(self, state) -> np.ndarray:
        """Image of every node about the mean of the data, (K, D)."""
        return self.basis_values_ @ state.weights.T

    def evidence(self, R) -> float:
        """Laplace's approximation of the log evidence; NaN without a prior on the weights, or with gaps."""
        if self.alpha_ == 0 or has_gaps(self.rows_) or not self.knows_evidence:
            return np.nan
        return log_evidence(
            self.basis_values_, R.sum(axis=1), self.weights_, self.precision_, self.alpha_, self.log_likelihood_
        )
