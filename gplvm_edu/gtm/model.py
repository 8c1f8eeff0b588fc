"""What all models on a latent grid share: the nodes, the scale of the data, and what responsibilities answer."""

from collections.abc import Iterator
from copy import copy
from typing import Self

import numpy as np

from .. import checks
from ..base import IterativeFit, LatentModel, MapModel, until_settled
from .em import posterior_means
from .fast import responsibilities
from .gaps import log_densities
from .grid import latent_grid

NOISE_FLOOR = 1e-6  # of the variance of Y: bounds the noise from below
EMPTY_ROW = (
    "it says nothing about the sheet. Drop it before fitting; a fitted model places it in the middle of the "
    'grid (chapter 9, "Missing values").'
)


def check_grid(name, shape) -> tuple[int, ...]:
    """A tuple of whole numbers of at least 1, one for each latent dimension of the grid, equation (9.1)."""
    sizes = tuple(shape) if np.iterable(shape) else ()
    if not sizes:
        raise ValueError(
            f"{name} must hold one whole number of at least 1 for each latent dimension, such as (15, 15) "
            f"or (20,), got {shape!r}."
        )
    return tuple(checks.whole_number(f"each number in {name}", n) for n in sizes)


class GridModel(IterativeFit, LatentModel):
    """What the GTM and the SOM share: nodes, centred data and the scale of the data."""

    def matrix_size(self, N, D) -> int:
        """As many rows as nodes: responsibilities are products, and what is factorised is smaller."""
        return int(np.prod(self.grid))

    def prepare(self, Y) -> np.ndarray:
        """Keep Y, fix the nodes, centre; returns the centred data. Sets `rows_`, `nodes_`, `mean_`, `scale_`."""
        self.nodes_ = latent_grid(check_grid("grid", self.grid))
        self.rows_ = checks.observed_columns(Y).copy()
        self.mean_, variance = self.mean_and_variance(Y)
        self.scale_ = variance if variance > 1e-300 else 1.0
        return Y - self.mean_

    def mean_and_variance(self, Y) -> tuple[np.ndarray, float]:
        """Column means (D,), and the mean variance of a column."""
        mean = np.nanmean(Y, axis=0)
        return mean, float(np.nanmean((Y - mean) ** 2))


class SheetModel(GridModel, MapModel):
    """A mixture whose components sit at the images of the nodes; the posterior over nodes answers most questions.

    A subclass writes `check_parameters()`, `steps(Yc, floor)` (states of the fit), `make_map(state)`, `evidence(R)`,
    and `node_log_densities(Y)` where the noise is not isotropic.
    """

    def iterates(self, Y) -> Iterator:
        """Prepare the fit and yield its states one by one; `fit` exhausts this, a widget pauses it."""
        Y = checks.observed_rows(self.check_data(Y), EMPTY_ROW)
        checks.whole_number("max_iter", self.max_iter, at_least=0)
        checks.number("tol", self.tol, at_least=0)
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
        self.means_ = self.node_means(state)
        R, log_density = self.posterior(self.rows_)
        self.embedding_, self.log_likelihood_ = self.latent_means(self.rows_, R), float(np.sum(log_density))
        self.log_evidence_ = self.evidence(R)
        return self

    def node_means(self, state) -> np.ndarray:
        """Image of every node, (K, D)."""
        return self.map_.moments(self.nodes_)[0]

    def node_log_densities(self, Y) -> np.ndarray:
        """ln p(y_n | node i) of rows in the units of the data, (K, N)."""
        return log_densities(Y - self.mean_, self.means_ - self.mean_, self.precision_)

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
        mean, variance = weighted_moments(R, self.means_)
        return *weighted_moments(R, self.nodes_), mean, variance + R.T @ self.map_.moments(self.nodes_)[1]

    def near_places(self, Y, n_starts) -> np.ndarray:
        """The nodes at which each row is likeliest, best first, (M, n, q): where a search along the sheet begins."""
        n_starts = min(checks.whole_number("n_starts", n_starts), len(self.nodes_))
        best = np.argsort(-self.node_log_densities(Y), axis=0, kind="stable")[:n_starts]
        return np.stack([self.latent_means(Y, self.at_nodes(nodes)) for nodes in best], axis=1)

    def at_nodes(self, nodes) -> np.ndarray:
        """Responsibilities (K, N) of rows that lie at these nodes (N,) for certain, equation (9.16)."""
        return np.eye(len(self.nodes_))[:, nodes]

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
