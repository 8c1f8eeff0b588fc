"""What all models on a latent grid share: the nodes, the scale of the data, and what responsibilities answer."""

from collections.abc import Iterator
from copy import copy
from math import prod
from numbers import Integral
from typing import NamedTuple, Self

import numpy as np

from .. import checks
from ..base import IterativeFit, LatentModel, MapModel, until_settled
from ..linalg import fill_with_means, own_scale
from .em import posterior_means
from .fast import responsibilities
from .gaps import log_densities
from .grid import latent_grid

NOISE_FLOOR = 1e-6  # of the variance of Y: bounds the noise from below
MOST_DIMENSIONS = 10  # of a grid
MOST_NODES = 10**5  # or basis functions
COARSER = "Use a coarser grid, or fewer rows or columns."
EMPTY_ROW = (
    "it says nothing about the sheet. Drop it before fitting; a fitted model places it in the middle of the "
    'grid (chapter 9, "Missing values").'
)


def are_whole_numbers(values, at_least=0) -> bool:
    """Whether something is a list, tuple, range or array of whole numbers, one at least, and none below `at_least`.

    Examples
    --------
    >>> are_whole_numbers((3, 1)), are_whole_numbers([0.5]), are_whole_numbers("31"), are_whole_numbers([])
    (True, False, False, False)
    """
    if not isinstance(values, (tuple, list, range)) and not (isinstance(values, np.ndarray) and values.ndim == 1):
        return False
    return len(values) > 0 and all(
        isinstance(n, Integral) and not isinstance(n, bool) and n >= at_least for n in values
    )


def check_grid(name, shape) -> tuple[int, ...]:
    """A tuple of whole numbers of at least 1, one for each latent dimension of the grid, equation (9.1).

    Examples
    --------
    >>> check_grid("grid", [15, 15])
    (15, 15)
    >>> check_grid("grid", (10**5, 10**5))
    Traceback (most recent call last):
    ...
    ValueError: grid must hold one whole number of at least 1 for each of 1 to 10 latent dimensions, such as ...
    """
    sizes = tuple(map(int, shape)) if are_whole_numbers(shape, at_least=1) else ()
    if not 1 <= len(sizes) <= MOST_DIMENSIONS or prod(sizes) > MOST_NODES:
        raise ValueError(
            f"{name} must hold one whole number of at least 1 for each of 1 to {MOST_DIMENSIONS} latent dimensions, "
            f"such as (15, 15) or (20,), whose product is at most {MOST_NODES}, got {checks.shown(shape)}."
        )
    return sizes


class Centre(NamedTuple):
    """The mean of every column in two parts, both (D,): a value that was observed, and the mean distance from it.

    A mean of 1e9 deviations, as one number, has few digits left for their fractions, and that of a constant column may
    differ from the constant.
    """

    origin: np.ndarray
    shift: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """Both parts together, (D,)."""
        return self.origin + self.shift

    def removed(self, Y) -> np.ndarray:
        """Rows about the mean, (N, D)."""
        return (Y - self.origin) - self.shift


def find_centre(Y, measured=True) -> Centre:
    """The `Centre` of what was observed in each column; 0 for columns that are not `measured`.

    Examples
    --------
    >>> Y = np.array([[np.nan, 2.0], [1e16, 1.0]])
    >>> find_centre(Y).removed(Y)
    array([[ nan,  0.5],
           [ 0. , -0.5]])
    """
    first = Y[np.argmax(~np.isnan(Y), axis=0), np.arange(Y.shape[1])]
    return Centre(np.where(measured, first, 0.0), np.where(measured, fill_with_means(Y - first)[1], 0.0))


LOOP_RULES = {
    "max_iter": checks.rule(checks.whole_number, at_least=0),
    "tol": checks.rule(checks.number, at_least=0),
    "verbose": checks.rule(checks.flag),
}


class GridModel(IterativeFit, LatentModel):
    """What the GTM and the SOM share: nodes, centred data and the scale of the data."""

    if_slow = "Use a coarser grid, or lower max_iter."

    def matrix_size(self, N, D) -> int:
        """As many rows as nodes: responsibilities are products, and what is factorised is smaller."""
        return len(self.nodes_) if "nodes_" in vars(self) else prod(check_grid("grid", self.grid))

    def check_room(self, N, D) -> None:
        """Refuse data and grids whose arrays would not fit into any machine, before memory is asked for."""
        K, nodes = prod(check_grid("grid", self.grid)), f"The nodes of grid={self.grid}"
        checks.room(f"{nodes} and the {N} rows of Y", K, N, advice=COARSER)
        checks.room(f"{nodes} and the {D} columns of Y", K, D, advice=COARSER)
        checks.room(f"The covariance of the {D} columns of Y", D, D, advice="Use fewer columns.")

    def prepare(self, Y, measured=True) -> np.ndarray:
        """Keep Y, fix the nodes, centre `measured` columns; returns the centred data.

        Sets `rows_`, `nodes_`, `centre_`, `mean_` and `scale_`.
        """
        self.nodes_ = latent_grid(check_grid("grid", self.grid))
        self.rows_ = checks.observed_columns(Y)
        checks.fewer_than_columns(f"grid={self.grid}", self.nodes_.shape[1], Y.shape[1])
        measured = np.broadcast_to(measured, Y.shape[1])
        self.centre_ = find_centre(Y, measured)
        self.mean_ = self.centre_.mean
        Yc = self.centre_.removed(Y)
        self.scale_ = own_scale(Yc[:, measured]) ** 2 if measured.any() else 1.0
        return Yc


class SheetModel(GridModel, MapModel):
    """A mixture whose components sit at the images of the nodes; the posterior over nodes answers most questions.

    A subclass writes `check_parameters()`, `steps(Yc, floor)` (states of the fit), `make_map(state)`,
    `node_means(state)`, `evidence(R)`, and `node_log_densities(Y)` where the noise is not isotropic.
    """

    def iterates(self, Y) -> Iterator:
        """Prepare the fit and yield its states one by one; `fit` exhausts this, a widget pauses it."""
        Y = checks.observed_rows(self.check_data(Y), EMPTY_ROW)
        self.check_parameters()
        Yc = self.prepare(Y)
        states = self.steps(Yc, NOISE_FLOOR * self.scale_)
        place = copy(self).positions  # of these rows, whatever is fitted later
        for state in until_settled(states, self.tol * len(Y), lambda state: state.sweeps.is_integer()):
            yield state._replace(place=place)

    def positions(self, state) -> np.ndarray:
        """Latent positions of the training rows at one state of the fit, (N, q); the estimator stays as it is."""
        return copy(self).set_state(state).embedding_

    def set_state(self, state) -> Self:
        """Make the estimator that of one iterate: sheet, noise, and where the training rows lie on it."""
        self.weights_, self.precision_ = state.weights, float(state.precision)
        self.map_ = self.make_map(state)
        self.centred_means_ = self.node_means(state)
        self.means_ = self.centred_means_ + self.mean_
        R, log_density = self.posterior(self.rows_)
        self.embedding_, self.log_likelihood_ = self.latent_means(self.rows_, R), float(np.sum(log_density))
        self.log_evidence_ = self.evidence(R)
        return self

    def check_parameters(self) -> None:
        """What depends on several parameters at once: `rules` has the rest."""

    def node_log_densities(self, Y) -> np.ndarray:
        """ln p(y_n | node i) of rows in the units of the data, (K, N)."""
        return log_densities(self.centre_.removed(Y), self.centred_means_, self.precision_)

    def posterior(self, Y) -> tuple[np.ndarray, np.ndarray]:
        """Responsibilities (K, N) and log densities (N,) of rows in the units of the data."""
        return responsibilities(self.node_log_densities(Y), overwrite=True)

    def latent_means(self, Y, R) -> np.ndarray:
        """Posterior means of rows with responsibilities R, (N, q)."""
        return posterior_means(R, self.nodes_)

    def responsibilities(self, Y) -> np.ndarray:
        """Probability of every node given each row, (K, N)."""
        return self.posterior(self.check_data(Y, reset=False, gaps=True))[0]

    def transform(self, Y, n_starts=5, kind="mean") -> np.ndarray:
        """Where each row lies in latent space, (N, q): the posterior "mean", or the "mode" (at the likeliest node).

        All nodes are asked, so `n_starts` has no effect.
        """
        checks.whole_number("n_starts", n_starts)
        checks.choice("kind", kind, ("mean", "mode"))
        Y = self.check_data(Y, reset=False)
        R = self.posterior(Y)[0]
        return self.latent_means(Y, R if kind == "mean" else self.at_nodes(np.argmax(R, axis=0)))

    def score_samples(self, Y, n_starts=5) -> np.ndarray:
        """Log density of the observed part of each row, the node integrated out; (N,). Needs no search."""
        checks.whole_number("n_starts", n_starts)
        return self.posterior(self.check_data(Y, reset=False, gaps=True))[1]

    def recover(self, Y, n_starts=5) -> tuple[np.ndarray, ...]:
        """What rows with gaps say, from responsibilities: q(x) as mean and variance (M, q), and those of f, (M, D).

        All nodes are asked, so `n_starts` has no effect.
        """
        checks.whole_number("n_starts", n_starts)
        R = self.responsibilities(Y)
        mean, variance = weighted_moments(R, self.centred_means_)
        variance = variance + R.T @ self.map_.moments(self.nodes_)[1]
        return *weighted_moments(R, self.nodes_), mean + self.mean_, variance

    def near_places(self, Y, n_starts) -> np.ndarray:
        """The nodes at which each row is likeliest, best first, (M, n, q): where a search along the sheet begins."""
        n_starts = min(checks.whole_number("n_starts", n_starts), len(self.nodes_))
        best = np.argsort(-self.node_log_densities(Y), axis=0, kind="stable")[:n_starts]
        return np.stack([self.latent_means(Y, self.at_nodes(nodes)) for nodes in best], axis=1)

    def at_nodes(self, nodes) -> np.ndarray:
        """Responsibilities (K, N) of rows that lie at these nodes (N,) for certain, equation (9.16)."""
        R = np.zeros((len(self.nodes_), len(nodes)))
        R[nodes, np.arange(len(nodes))] = 1.0
        return R

    def draw_latent(self, n_samples, rng) -> np.ndarray:
        """Nodes by lot, all equally likely."""
        return self.nodes_[rng.randint(len(self.nodes_), size=n_samples)]


def weighted_moments(R, A) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance over nodes of what they hold, A (K, D), for each column of R: both (N, D), equation (9.15).

    Examples
    --------
    >>> weighted_moments(np.array([[0.5, 0.0], [0.5, 1.0]]), np.array([[-1.0], [1.0]]))
    (array([[0.],
           [1.]]), array([[1.],
           [0.]]))
    """
    mean, origin = posterior_means(R, A), A.mean(axis=0)
    return mean, np.maximum(R.T @ (A - origin) ** 2 - (mean - origin) ** 2, 0.0)
