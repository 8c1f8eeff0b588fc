"""GTM with a Gaussian process over the nodes in place of basis functions."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
from scipy import linalg

from .. import checks
from ..base import KernelModel
from ..gtm import GTMState, SheetModel, grid_spacing, principal_sheet, squared_error
from ..gtm.fast import responsibilities
from ..gtm.gaps import log_densities, weighted_sums
from ..gtm.model import COARSER, LOOP_RULES, check_grid
from ..kernels import RBF, Kernel, relative
from ..linalg import cholesky_with_jitter, log_determinant, solve_cholesky
from ..maps import KernelMap


def process_weights(B, counts, sums, precision) -> np.ndarray:
    r"""Weights a (K, D) of the sheet m = B a that maximises the expected penalised log likelihood.

    .. math:: m = (G + \tfrac1\beta B^{-1})^{-1} R Y = B a, \qquad
              a = G^{\frac12} (\tfrac1\beta I + G^{\frac12} B G^{\frac12})^{-1} G^{-\frac12} R Y

    Parameters
    ----------
    B : ndarray (K, K)
        Prior covariance of the sheet between nodes; it may be singular, it is never inverted.
    counts : ndarray (K, 1)
        The diagonal of G; a node without data gets a = 0.
    sums : ndarray (K, D)
        R Y.
    precision : float

    Notes
    -----
    Costs O(K^3 / 3 + K^2 D). Chapter 10, equations (10.30) and (10.31); Bishop, Svensén and Williams (1998), (42).

    Examples
    --------
    >>> process_weights(np.eye(2), np.array([[1.0], [3.0]]), np.array([[1.0], [3.0]]), 1.0)      # both means are 1
    array([[0.5 ],
           [0.75]])
    """
    g = np.sqrt(counts)  # (K, 1)
    A = g * B * g.T + np.eye(len(B)) / precision
    L, _ = cholesky_with_jitter(A)
    targets = np.divide(sums, g, where=g > 1e-150, out=np.zeros_like(sums))
    return g * solve_cholesky(L, targets)  # (10.31)


def process_evidence(B, counts, weights, precision, log_likelihood) -> float:
    r"""Laplace's approximation of ln p(Y | B, beta), the sheet integrated out: (10.24) without basis functions.

    .. math:: \ln p(Y) \approx L - \tfrac12 \mathrm{tr}(a^\top B a)
              - \tfrac D2 \ln |I + \beta\, G^{\frac12} B G^{\frac12}|

    Notes
    -----
    Costs O(K^3 / 3). With B = Phi Phi' / alpha it is the evidence of the basis functions. Chapter 10, equation (10.33).

    Examples
    --------
    >>> process_evidence(np.eye(1), np.array([[3.0]]), np.array([[0.5]]), 1.0, 0.0).__round__(4)
    -0.8181
    """
    g, D = np.sqrt(counts), weights.shape[1]
    L, _ = cholesky_with_jitter(np.eye(len(B)) + precision * g * B * g.T)
    penalty = 0.5 * np.sum(weights * (B @ weights))
    return float(log_likelihood - penalty - 0.5 * D * log_determinant(L))  # (10.33)


def process_iterates(Y, B, weights, precision, max_iter=200, noise_floor=0.0) -> Iterator[GTMState]:
    """Generator of `GTMState` with weights a (K, D), the start included; the penalised log likelihood never falls.

    Parameters
    ----------
    Y, precision, max_iter, noise_floor : as in `gtm.em_iterates`, Y complete
    B : ndarray (K, K)
    weights : ndarray (K, D)

    Notes
    -----
    An iteration costs O(K N D + K^3 / 3). Chapter 10, equations (10.29) to (10.31), with (9.7) and (9.13).

    Examples
    --------
    >>> Y = np.array([[-1.0, 1.0], [0.0, -1.0], [1.0, 0.5], [0.1, -0.5]])
    >>> values = [s.value for s in process_iterates(Y, np.eye(3) + 0.5, np.eye(3, 2), 1.0, max_iter=9)]
    >>> bool(np.all(np.diff(values) > 0))
    True
    """
    a, beta = weights, precision
    squares, n_entries = np.sum(Y**2), Y.size
    for iteration in range(max_iter + 1):
        m = B @ a  # (10.30)
        R, log_density = responsibilities(log_densities(Y, m, beta), overwrite=True)
        value = float(np.sum(log_density))
        yield GTMState(a, beta, value - 0.5 * float(np.sum(a * m)), value, float(iteration))  # (10.29)
        if iteration < max_iter:
            counts, sums = weighted_sums(R, Y)
            a = process_weights(B, counts, sums, beta)
            error = squared_error(squares, B @ a, counts, sums)
            beta = float(1.0 / max(error / n_entries, noise_floor))  # (9.13)


@dataclass(frozen=True)
class ProcessSheetMap(KernelMap):
    r"""Posterior of the sheet given the responsibilities: mean, equation (10.32), and one variance for all outputs.

    .. math:: k(x, x) - k^\top S\, (I + S B S)^{-1} S\, k, \qquad S = (\beta G)^{\frac12}

    kernel; centres (K, q) : the nodes; weights (K, D) : a; mean (D,) of the data; precision of the noise;
    factor (K, K) : lower Cholesky factor of I + S B S; scale (K,) : the diagonal of S.

    Examples
    --------
    >>> one = ProcessSheetMap(RBF(), np.zeros((1, 1)), np.array([[2.0]]), np.zeros(1), 4.0, np.eye(1) * 2, np.ones(1))
    >>> one.moments(np.array([[0.0], [50.0]]))                                   # the variance grows away from the node
    (array([[2.],
           [0.]]), array([[0.75],
           [1.  ]]))
    """

    kernel: Kernel
    centres: np.ndarray
    weights: np.ndarray
    mean: np.ndarray
    precision: float
    factor: np.ndarray
    scale: np.ndarray

    @property
    def noise_variance(self):
        """1 / beta."""
        return 1.0 / self.precision

    def halves(self, C) -> tuple[np.ndarray, np.ndarray]:
        """L^-1 S c for each row, (1, M, K), as both halves, with L L' = I + S B S."""
        V = linalg.solve_triangular(self.factor, (C * self.scale).T, lower=True, check_finite=False).T[None]
        return V, V

    def wholes(self, halves) -> np.ndarray:
        """S (I + S B S)^-1 S c for each row, (1, M, K)."""
        return (
            linalg.solve_triangular(self.factor, halves[0].T, lower=True, trans="T", check_finite=False).T[None]
            * self.scale
        )


class GaussianProcessGTM(KernelModel, SheetModel):
    """GTM without basis functions: the sheet has a Gaussian process prior over the nodes.

    Use it when a kernel, and no number of basis functions, should say how smooth a GTM is.

    Columns: numbers of comparable scale.
    NaN: in new rows, not in transform.
    Answers: transform, inverse_transform, impute, score_samples, sample, map_.
    Cost: O(K N D + K^3) a step, K nodes; at N = 1000, by default, 1.4 seconds.
    Chapter: 10 (book/10_gtm_variants.ipynb).

    Parameters
    ----------
    grid : tuple of int
    length_scale : float
        Distance in latent space (the square from -1 to 1) over which the prior correlation falls to exp(-1/2), from
        0.001 to 1000.
    variance : float
        Prior variance of the sheet, in units of the mean variance of a column of the data, from 1e-6 to 1e6.
    kernel : Kernel or None
        Any covariance of chapter 2 in place of the RBF of the two numbers above, in the units of the data. None: that
        RBF, its variance in units of the data's own; ``set_params(kernel__inverse_width=4)`` sets a parameter of it.
    max_iter, tol, random_state, verbose : as in `GTM`

    Attributes
    ----------
    weights_ : ndarray (K, D)
        a, with means_ = B a.
    kernel_ : Kernel; node_covariance_ : ndarray (K, K)
        The prior of the sheet, and B, its covariance between the nodes.
    map_ : ProcessSheetMap
        Has the posterior variance of the sheet: `inverse_transform(X, return_std=True)`, `log_precision(X)`.
    log_evidence_ : float
        By which length scales can be compared.
    nodes_, means_, precision_, embedding_, log_likelihood_, history_ : as in `GTM`

    Examples
    --------
    >>> from gplvm_edu.datasets import make_bent_line
    >>> Y = make_bent_line(random_state=0).data
    >>> stiff, free = (GaussianProcessGTM(grid=(20,), length_scale=s).fit(Y) for s in (4.0, 0.4))
    >>> free.log_likelihood_ > stiff.log_likelihood_
    True
    """

    allows_missing = False
    rules = LOOP_RULES | {
        "grid": checks.rule(check_grid),
        "length_scale": checks.rule(checks.number, at_least=1e-3, at_most=1e3),
        "variance": checks.rule(checks.number, at_least=1e-6, at_most=1e6),
        "kernel": checks.rule(checks.kernel, example="RBF(1.0, 4.0)"),
    }

    def __init__(
        self,
        grid: tuple[int, ...] = (15, 15),
        length_scale: float = 0.5,
        variance: float = 1.0,
        kernel: Kernel | None = None,
        max_iter: int = 300,
        tol: float = 1e-5,
        random_state: checks.Seed = None,
        verbose: bool = False,
    ):
        self.grid = grid
        self.length_scale = length_scale
        self.variance = variance
        self.kernel = kernel
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def check_room(self, N, D) -> None:
        """As in every model on a grid, and the prior covariance of the sheet."""
        super().check_room(N, D)
        K = prod(check_grid("grid", self.grid))
        checks.room(f"The covariance of the nodes of grid={self.grid}", K, K, advice=COARSER)

    def default_kernel(self) -> Kernel:
        """What `kernel=None` stands for, in units of the data's own variance."""
        return relative(RBF(self.variance, length_scale=self.length_scale))

    def prepare(self, Y, measured=True) -> np.ndarray:
        """Keep and centre the data; lay out nodes, kernel and prior covariance."""
        Yc = super().prepare(Y, measured)
        self.kernel_ = self.start_kernel(variance=self.scale_)
        self.node_covariance_ = self.kernel_(self.nodes_)
        variance = np.mean(np.diag(self.node_covariance_)) / self.scale_
        if not 1e-12 <= variance <= 1e12:  # a Linear kernel is 0 at the only node of grid=(1,)
            raise ValueError(
                f"kernel={self.kernel!r} gives the sheet a mean variance at the nodes of {variance:.3g} times that of "
                "the data, and it must be from 1e-12 to 1e12: choose its variance in the units of the data squared "
                f"({self.scale_:.3g}), or leave it at None."
            )
        return Yc

    def steps(self, Yc, floor) -> Iterator:
        """States of the fit, from the plane of PCA, smoothed by the prior covariance."""
        ones = np.ones((len(self.nodes_), 1))
        plane = np.hstack([ones, self.nodes_])
        W, beta = principal_sheet(Yc, self.nodes_, plane, grid_spacing(self.grid))
        start = process_weights(self.node_covariance_, ones, plane @ W.T, 1e3 / np.mean(np.diag(self.node_covariance_)))
        return process_iterates(Yc, self.node_covariance_, start, min(beta, 1.0 / floor), self.max_iter, floor)

    def make_map(self, state):
        """The posterior of the sheet at one state."""
        beta = float(state.precision)
        log_p = log_densities(self.centre_.removed(self.rows_), self.node_covariance_ @ state.weights, beta)
        R, _ = responsibilities(log_p, overwrite=True)
        s = np.sqrt(beta * R.sum(axis=1, keepdims=True))
        L, _ = cholesky_with_jitter(np.eye(len(s)) + s * self.node_covariance_ * s.T)
        return ProcessSheetMap(self.kernel_, self.nodes_, state.weights, self.mean_, beta, L, s[:, 0])

    def node_means(self, state) -> np.ndarray:
        """B a, with the White part of the kernel at the nodes, about the mean of the data, (K, D)."""
        return self.node_covariance_ @ state.weights

    def sample(self, n_samples=1, random_state=None) -> tuple[np.ndarray, np.ndarray]:
        """Draw new rows from the fitted mixture: a node at random, then noise around its mean; returns (Y, X)."""
        n = self.check_n_samples(n_samples)
        rng = checks.random_state(self.random_state if random_state is None else random_state)
        chosen = rng.randint(len(self.nodes_), size=n)
        mean = self.means_[chosen]
        return self.map_.draw(mean, np.zeros_like(mean), rng), self.nodes_[chosen]

    def evidence(self, R) -> float:
        """Laplace's approximation of the log evidence."""
        return process_evidence(
            self.node_covariance_, R.sum(axis=1, keepdims=True), self.weights_, self.precision_, self.log_likelihood_
        )
