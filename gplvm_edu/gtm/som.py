"""The self-organising map beside the GTM: hard winners, a neighbourhood that shrinks, and no objective."""

from collections.abc import Iterator
from math import prod
from typing import NamedTuple, Self

import numpy as np
from scipy import linalg

from .. import checks
from ..linalg import squared_distances
from .em import posterior_modes
from .grid import grid_spacing, principal_sheet
from .model import COARSER, GridModel, check_grid

ONLY_PROTOTYPES = (
    "a SOM has prototypes at its nodes and nothing between them (smoother_jacobians, chapter 10, is one way to fill in)"
)
NO_DENSITY = 'a SOM has no noise model and hence no density (chapter 9, "The self-organising map beside it")'


class SOMState(NamedTuple):
    """One iterate: prototypes (K, D), the width used to make them, minus the mean squared quantisation error.

    X (N, q) holds the winners' nodes; `stopped` is "schedule" when the last width is done.
    """

    prototypes: np.ndarray
    width: float
    value: float
    X: np.ndarray
    stopped: str = ""


def winners(Y, prototypes) -> tuple[np.ndarray, np.ndarray]:
    r"""One-hot responsibilities: the nearest prototype takes all of a point, the first among equals.

    .. math:: R_{in} = 1 \text{ if } i = \arg\min_j \|y_n - m_j\|^2, \text{ else } 0

    Returns
    -------
    R : ndarray (K, N)
    distances : ndarray (N,)
        Squared distance of each point from its winner.

    Notes
    -----
    Costs O(K N D). It is the limit of the GTM's responsibilities as beta grows. Chapter 9, equation (9.23).

    Examples
    --------
    >>> winners(np.array([[0.1], [2.0]]), np.array([[0.0], [1.0]]))[0]
    array([[1., 0.],
           [0., 1.]])
    """
    distances = squared_distances(prototypes, Y)  # (K, N)
    best = np.argmin(distances, axis=0)  # (9.23)
    R = np.zeros_like(distances)
    R[best, np.arange(len(Y))] = 1.0
    return R, distances[best, np.arange(len(Y))]


def neighbourhood_smoother(X, counts, width) -> np.ndarray:
    r"""The SOM's matrix H (K, K), from means of the data at the nodes to the new prototypes; its rows sum to one.

    .. math:: H_{ij} = \frac{h_{ij} G_j}{\sum_k h_{ik} G_k}, \qquad h_{ij} = e^{-\|x_i - x_j\|^2 / 2 s^2}

    Parameters
    ----------
    X : ndarray (K, q)
        Nodes.
    counts : ndarray (K,)
        Points that each node has won.
    width : float
        s, in the units of the grid.

    Notes
    -----
    Costs O(K^2 q). Chapter 9, equation (9.24); Bishop, Svensén and Williams (1998), equation (43).

    Examples
    --------
    >>> neighbourhood_smoother(np.array([[-1.0], [1.0]]), np.array([3.0, 1.0]), width=1e6)     # everyone hears everyone
    array([[0.75, 0.25],
           [0.75, 0.25]])
    """
    distances = squared_distances(X)
    G = np.asarray(counts, dtype=float)
    held = np.where(G > 0, distances, np.inf).min(axis=1, keepdims=True)  # from the nearest node that won
    h = np.exp(-0.5 * (distances - held) / width**2, where=G > 0, out=np.zeros_like(distances)) * G
    return h / h.sum(axis=1, keepdims=True)  # (9.24)


def process_smoother(prior, counts, precision) -> np.ndarray:
    r"""The GTM's matrix (K, K) in the same place, when the sheet is a Gaussian process with covariance B.

    .. math:: S = (G + \tfrac1\beta B^{-1})^{-1} G
                = B G^{\frac12} (\tfrac1\beta I + G^{\frac12} B G^{\frac12})^{-1} G^{\frac12}

    Parameters
    ----------
    prior : ndarray (K, K)
        B; with B = Phi Phi' / alpha it is the regression (9.12) of the basis functions.
    counts : ndarray (K,)
        Diagonal of G; zeros are allowed.
    precision : float

    Notes
    -----
    Costs O(K^3); B is never inverted. Chapter 9, equation (9.25); Bishop, Svensén and Williams (1998), (42).

    Examples
    --------
    >>> process_smoother(np.eye(2), np.array([1.0, 3.0]), precision=1.0)         # each shrinks towards 0 on its own
    array([[0.5 , 0.  ],
           [0.  , 0.75]])
    """
    B, g, K = prior, np.sqrt(np.asarray(counts, dtype=float)), len(prior)
    A = g[:, None] * B * g
    A.flat[:: K + 1] += 1.0 / precision
    return (B * g) @ linalg.solve(A, np.diag(g), assume_a="pos")  # (9.25)


def som_iterates(Y, X, prototypes, widths) -> Iterator[SOMState]:
    """Generator of `SOMState`: for each width, winners, their means, and the neighbourhood's average of those.

    Notes
    -----
    Costs O(K N D + K^2 D) a step. The value may rise and fall: there is no function that a SOM maximises.
    Chapter 9, equations (9.23) and (9.24).

    Examples
    --------
    >>> Y = np.array([[0.0], [0.2], [3.0], [3.2]])
    >>> *_, last = som_iterates(Y, np.array([[-1.0], [1.0]]), np.array([[1.0], [2.0]]), [1.0, 0.5, 0.1])
    >>> last.prototypes.ravel().round(3)
    array([0.1, 3.1])
    """
    m = prototypes
    R, distances = winners(Y, m)
    for step, width in enumerate([np.inf, *widths]):
        if step > 0:
            G = R.sum(axis=1)
            z = R @ Y / np.maximum(G, 1.0)[:, None]  # means at the nodes  (K, D)
            m = neighbourhood_smoother(X, G, width) @ z  # (9.24)
            R, distances = winners(Y, m)
        stopped = "schedule" if step == len(widths) else ""
        yield SOMState(m, float(width), -float(np.mean(distances)), posterior_modes(R, X), stopped)


class BatchSOM(GridModel):
    """Self-organising map, batch version: winners, their means, and averages over a shrinking neighbourhood.

    Use it when you know self-organising maps and want one to compare with: prototypes on a grid, and no density.

    Columns: numbers of comparable scale.
    NaN: no.
    Answers: transform, inverse_transform.
    Cost: O(K N D + K^2 D) a step, K nodes; at N = 1000, by default, 0.54 seconds.
    Chapter: 9 (book/09_gtm.ipynb).

    Parameters
    ----------
    grid : tuple of int, default (15, 15)
    start_width, end_width : float
        Width of the neighbourhood in the first and the last pass (geometric in between), from 1e-6 to 1000; the grid
        runs from -1 to 1. `end_width` None: the distance of neighbouring nodes.
    max_iter : int
        Passes over the data, at most 1000000: the schedule is its only end.
    verbose : bool
        Show a bar with the steps made, the objective and the time left at most (by tqdm, on the error output).

    Attributes
    ----------
    prototypes_, centred_prototypes_ : ndarray (K, D); nodes_ : ndarray (K, q)
        In the units of the data, and about their mean; where they stand on the map.
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

    may_fall = "a SOM maximises nothing: each step follows a neighbourhood, and not the error that is recorded"
    rules = {
        "grid": checks.rule(check_grid),
        "start_width": checks.rule(checks.number, at_least=1e-6, at_most=1e3),
        "end_width": checks.rule(checks.number, at_least=1e-6, at_most=1e3, optional=True),
        "max_iter": checks.rule(checks.whole_number, at_least=0, at_most=10**6),
        "verbose": checks.rule(checks.flag),
    }
    why_not = dict.fromkeys(("log_precision", "sample", "score_samples", "score"), NO_DENSITY) | {
        "place": ONLY_PROTOTYPES,
        "jacobian": ONLY_PROTOTYPES,
        "reconstruct": "a SOM has winners, found by distances over all columns, and no posterior",
        "impute": "a SOM finds winners by distances over all columns",
    }

    def __init__(
        self,
        grid: tuple[int, ...] = (15, 15),
        start_width: float = 1.0,
        end_width: float | None = None,
        max_iter: int = 50,
        verbose: bool = False,
    ):
        self.grid = grid
        self.start_width = start_width
        self.end_width = end_width
        self.max_iter = max_iter
        self.verbose = verbose

    def check_room(self, N, D) -> None:
        """As in every model on a grid, and what each node hears of each other."""
        super().check_room(N, D)
        K = prod(check_grid("grid", self.grid))
        checks.room(f"The neighbourhoods of the nodes of grid={self.grid}", K, K, advice=COARSER)

    def iterates(self, Y) -> Iterator[SOMState]:
        """Prepare the fit and yield its states one by one: from the plane of PCA, while the neighbourhood shrinks."""
        Yc, spacing = self.prepare(self.check_data(Y)), grid_spacing(self.grid)
        end = float(np.max(spacing) if self.end_width is None else self.end_width)
        plane = np.hstack([np.ones((len(self.nodes_), 1)), self.nodes_])
        W, _ = principal_sheet(Yc, self.nodes_, plane, spacing)
        widths = np.geomspace(max(self.start_width, end), end, self.max_iter)
        yield from som_iterates(Yc, self.nodes_, plane @ W.T, widths)

    def set_state(self, state) -> Self:
        """Make the estimator that of one iterate."""
        self.centred_prototypes_, self.embedding_ = state.prototypes, state.X
        self.prototypes_ = self.centred_prototypes_ + self.mean_
        return self

    def transform(self, Y) -> np.ndarray:
        """The node whose prototype is nearest to each row; (N, q)."""
        Yc = self.centre_.removed(self.check_data(Y, reset=False))
        return posterior_modes(winners(Yc, self.centred_prototypes_)[0], self.nodes_)

    def inverse_transform(self, X, return_std=False, noise=False) -> np.ndarray:
        """The prototype of the node nearest to each latent point: a SOM has no sheet between its nodes; (M, D).

        Where other models know a deviation, it has none, and says so.
        """
        if checks.flag("return_std", return_std) or checks.flag("noise", noise):
            raise TypeError(f"{type(self).__name__} has no deviations: {NO_DENSITY}.")
        return posterior_modes(winners(self.check_latent(X), self.nodes_)[0], self.prototypes_)
