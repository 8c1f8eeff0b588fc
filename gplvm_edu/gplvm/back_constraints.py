r"""Back constraints: latent positions that are a smooth function of the data, X = g(Y; W) (chapter 5).

`RBFMap` and `MLPMap` hold settings. ``begin(Y, X, random_state)`` makes of them a way from data to positions that
starts as near to X as it can. A way answers what a climb asks: ``positions()``, ``gradient(dX)`` from dL/dX to dL/dW,
``moved(weights)``, the same way with other weights; and, called with new rows, where they lie.
Lawrence and Quinonero-Candela (2006), Local distance preservation in the GP-LVM through back constraints.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist

from .. import checks
from ..kernels import RBF
from ..linalg import cholesky_with_jitter, solve_cholesky

RIDGE = 1e-2  # of the regularised least squares that fit a network to the start
MOST_ROWS = 500  # whose neighbours the rule for the width looks for


# ---------------------------------------------------------------------------------------------- ways to positions
@dataclass(frozen=True)
class FreePositions:
    """No constraint: every row has its own place, and the weights are the positions. weights (N, q)."""

    weights: np.ndarray

    def positions(self) -> np.ndarray:
        """X (N, q)."""
        return self.weights

    def gradient(self, dX) -> np.ndarray:
        """dL/dW (N q,), which is dL/dX."""
        return dX.ravel()

    def moved(self, weights) -> "FreePositions":
        """The same with other weights, as one vector."""
        return FreePositions(weights.reshape(self.weights.shape))


@dataclass(frozen=True)
class Smoother:
    r"""Positions as a weighted sum of bells around the training rows, equation (5.33).

    .. math:: x = \sum_m w_m\, e^{-\|y - y_m\|^2 / 2 r^2}, \qquad X = K_{back} W, \qquad
              W = (K_{back} + \delta I)^{-1} V

    centres (N, D) : the training rows, centred; width : r; ridge : delta; weights (N, q) : V, what a climb moves.
    V are targets, of which X is the smooth version that regularised least squares gives: in V the climb is better
    conditioned than in W, and slow towards positions that are not smooth. A row far from all centres comes to the
    origin.
    """

    centres: np.ndarray
    width: float
    ridge: float
    weights: np.ndarray

    def bells(self, Y) -> np.ndarray:
        """Height of every bell at rows of Y, (M, N)."""
        return RBF(1.0, self.width**-2.0)(Y, self.centres)

    @cached_property
    def training(self) -> tuple[np.ndarray, np.ndarray]:
        """K_back, the bells at the training rows, and the Cholesky factor of K_back + ridge I, both (N, N)."""
        K = self.bells(self.centres)
        return K, cholesky_with_jitter(K + self.ridge * np.eye(len(K)))[0]

    @cached_property
    def W(self) -> np.ndarray:
        """Weights of the bells, (N, q)."""
        return solve_cholesky(self.training[1], self.weights)

    def __call__(self, Y) -> np.ndarray:
        """Positions of new rows (M, q). Costs O(M N (D + q))."""
        return self.bells(Y) @ self.W  # (5.33)

    def positions(self) -> np.ndarray:
        """X (N, q). Costs O(N^2 q)."""
        return self.training[0] @ self.W  # (5.33)

    def gradient(self, dX) -> np.ndarray:
        """dL/dV as a vector (N q,), from dL/dX by way of dL/dW."""
        in_W = self.training[0].T @ dX  # (5.34)
        return solve_cholesky(self.training[1], in_W).ravel()

    def moved(self, weights) -> "Smoother":
        """The same way with other weights, as one vector; the bells are not computed again."""
        other = replace(self, weights=weights.reshape(self.weights.shape))
        other.__dict__["training"] = self.training
        return other

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "training"}


@dataclass(frozen=True)
class Network:
    r"""Positions by a network with one hidden layer, equation (5.33a).

    .. math:: X = [F, 1]\, W_2, \qquad F = \tanh([Y / s, 1]\, W_1)

    centres (N, D) : the training rows, centred; scale : s, root mean square length of a row;
    first (D + 1, n_hidden), second (n_hidden + 1, q) : the weights, those of the constant inputs in the last rows.
    """

    centres: np.ndarray
    scale: float
    first: np.ndarray
    second: np.ndarray

    @property
    def weights(self) -> np.ndarray:
        """Both layers in one vector."""
        return np.concatenate([self.first.ravel(), self.second.ravel()])

    def features(self, Y) -> np.ndarray:
        """What the hidden units answer to rows of Y, (M, n_hidden)."""
        return np.tanh(with_ones(Y / self.scale) @ self.first)  # (5.33a)

    def __call__(self, Y) -> np.ndarray:
        """Positions of new rows (M, q). Costs O(M n_hidden (D + q))."""
        return with_ones(self.features(Y)) @ self.second  # (5.33a)

    def positions(self) -> np.ndarray:
        """X (N, q)."""
        return self(self.centres)

    def gradient(self, dX) -> np.ndarray:
        """dL/dW as a vector, from dL/dX: backwards through the layers. Costs O(N n_hidden (D + q))."""
        F = self.features(self.centres)
        in_second = with_ones(F).T @ dX  # (5.34a)
        in_units = (dX @ self.second[:-1].T) * (1.0 - F**2)  # (5.34a)  tanh' = 1 - tanh^2
        in_first = with_ones(self.centres / self.scale).T @ in_units  # (5.34a)
        return np.concatenate([in_first.ravel(), in_second.ravel()])

    def moved(self, weights) -> "Network":
        """The same way with other weights, as one vector."""
        first, second = np.split(weights, [self.first.size])
        return replace(self, first=first.reshape(self.first.shape), second=second.reshape(self.second.shape))


def with_ones(Y) -> np.ndarray:
    """Rows with a constant 1 behind them, the input of a bias.

    Examples
    --------
    >>> with_ones(np.zeros((2, 1)))
    array([[0., 1.],
           [0., 1.]])
    """
    return np.column_stack([Y, np.ones(len(Y))])


# ---------------------------------------------------------------------------------------------- settings
@dataclass(frozen=True)
class RBFMap:
    """Settings of a back constraint by bells around the training rows, equation (5.33).

    width : of a bell, in the units of the data; None: `neighbour_distance` of the rows
    ridge : how much is smoothed, in heights of a bell

    The wider the bells and the larger the ridge, the stiffer the way. With a bell for each row it could still reach any
    positions of different rows, at the price of large weights: the ridge makes those slow to reach. On simulated oil
    flow (two pipes, 240 and 480 rows, no label looked at) a ridge of 1 placed held-out rows better than 0.1 and 0.01, 4
    times of 4; a climb in W itself kept neighbours worse (4 of 4), and placed held-out rows up to a quarter better.

    Examples
    --------
    >>> Y = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    >>> RBFMap().begin(Y, Y[:, :1] - 1.0).positions().ravel().round(1) + 0.0
    array([-1.,  0.,  1.])
    """

    width: float | None = None
    ridge: float = 1.0

    def begin(self, Y, X, random_state=None) -> Smoother:
        """A way for centred rows Y (N, D) that starts near positions X (N, q). Costs O(N^3)."""
        if self.width is not None:
            checks.positive("width", self.width)
        ridge = checks.positive("ridge", self.ridge)
        width = neighbour_distance(Y) if self.width is None else float(self.width)
        way = Smoother(Y, width, ridge, np.array(X, dtype=float))
        return way.moved(way.weights * lost_spread(X, way.positions()))


@dataclass(frozen=True)
class MLPMap:
    """Settings of a back constraint by a network with one hidden layer, equation (5.33a).

    n_hidden : units of the hidden layer: the more, the more the way can bend

    The first layer begins by lot, the second by least squares.

    Examples
    --------
    >>> Y = np.random.default_rng(0).standard_normal((50, 3))
    >>> way = MLPMap(n_hidden=5).begin(Y, Y[:, :2], random_state=0)
    >>> way.first.shape, way.second.shape
    ((4, 5), (6, 2))
    """

    n_hidden: int = 20

    def begin(self, Y, X, random_state=None) -> Network:
        """A way for centred rows Y (N, D) that starts near positions X (N, q)."""
        h, (_, D) = checks.whole_number("n_hidden", self.n_hidden), Y.shape
        first = checks.random_state(random_state).standard_normal((D + 1, h))
        way = Network(Y, root_mean_square(Y), first, np.zeros((h + 1, X.shape[1])))
        F = with_ones(way.features(Y))
        second = np.linalg.solve(F.T @ F + RIDGE * np.eye(h + 1), F.T @ X)
        way = replace(way, second=second)
        return replace(way, second=second * lost_spread(X, way.positions()))


NAMES = ("rbf", "mlp")


def neighbour_distance(Y, n_neighbors=30) -> float:
    """How far a row's 30th nearest neighbour is, the median over rows: the width of `RBFMap` by default.

    With fewer than 60 rows it is the neighbour number N / 2; where even that one coincides, the root mean square length
    of a row, or 1. Of more than 500 rows, 500 evenly chosen ones are asked. Costs O(N D) for each. Thirty reconstructed
    held-out rows of simulated oil flow best, within the noise, of 240 rows and of 800; no label was looked at.

    Examples
    --------
    >>> neighbour_distance(np.array([[0.0], [1.0], [3.0], [6.0]]), n_neighbors=1)
    1.5
    """
    k = min(n_neighbors, max(len(Y) // 2, 1), len(Y) - 1)
    asked = Y[np.linspace(0, len(Y) - 1, min(len(Y), MOST_ROWS)).astype(int)]
    found = float(np.median(np.partition(cdist(asked, Y), k, axis=1)[:, k]))  # number 0 is the row itself
    return found or root_mean_square(Y)


def root_mean_square(Y) -> float:
    """Root mean square length of a row, 1 where all are zero.

    Examples
    --------
    >>> root_mean_square(np.array([[3.0, 4.0]]))
    5.0
    """
    return float(np.sqrt(np.mean(np.sum(Y**2, axis=1)))) or 1.0


def lost_spread(X, found) -> np.ndarray:
    """By how much each column has to be stretched to have the deviation of X again, (q,): least squares shrink.

    Examples
    --------
    >>> lost_spread(np.array([[-2.0], [2.0]]), np.array([[-1.0], [1.0]]))
    array([2.])
    """
    wanted, spread = X.std(axis=0), found.std(axis=0)
    return np.where(spread > 1e-3 * wanted, wanted / np.maximum(spread, 1e-300), 1.0)


def check_back_constraint(name, value):
    """None, a name, or settings with a method `begin`: what `GPLVM(back_constraint=...)` may be.

    Examples
    --------
    >>> check_back_constraint("back_constraint", "rbf")
    'rbf'
    """
    known = isinstance(value, str) and value in NAMES
    if value is None or known or (hasattr(value, "begin") and not isinstance(value, type)):
        return value
    raise ValueError(
        f"{name} must be None, 'rbf', 'mlp', or settings such as RBFMap(width=2.0) or MLPMap(n_hidden=10), got "
        f'{checks.shown(value)} (chapter 5, "Positions that are a function of the data").'
    )


def settings(back_constraint) -> RBFMap | MLPMap | None:
    """The settings that a name stands for.

    Examples
    --------
    >>> settings("rbf")
    RBFMap(width=None, ridge=1.0)
    """
    if isinstance(back_constraint, str):
        return RBFMap() if back_constraint == "rbf" else MLPMap()
    return back_constraint
