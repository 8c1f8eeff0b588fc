"""The semi-linear GTM, with curved and linear latent dimensions: EM, the map and the estimator."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb
from typing import Self

import numpy as np

from .. import checks
from ..gtm import GTM, GTMState, SheetMap, grid_spacing, posterior_means, principal_sheet, weighted_moments
from ..gtm.estimator import SHEET_RULES
from ..gtm.fast import responsibilities
from ..gtm.gaps import solve_weights, weighted_sums
from ..linalg import eigenpairs, gap_patterns
from .linear_part import check_axes, linear_coordinates, linear_directions, residual_covariance, shared_log_densities

MOST_STARTS = 1000
N_TRIAL_STEPS = 15  # states computed of each start; the best start is then continued


def semilinear_weights(Phi, counts, sums, directions, precision, alpha=0.0) -> np.ndarray:
    r"""The sheet's weights (D, M) when the noise has covariance C: one ridge regression for each axis of C.

    .. math:: (\Phi^\top G \Phi + \alpha c_j I)\, \tilde w_j = \Phi^\top R Y u_j, \qquad
              C = \sum_j c_j u_j u_j^\top, \qquad W = \sum_j u_j \tilde w_j^\top

    Parameters
    ----------
    Phi : ndarray (K, M)
    counts : ndarray (K, 1)
    sums : ndarray (K, D)
    directions : ndarray (D, p)
    precision : float
    alpha : float
        With alpha = 0 the covariance drops out, and this is (9.12).

    Notes
    -----
    Costs O((p + 1)(K M^2 + M^3)). Chapter 10, equation (10.19). The paper says that the best W does not depend on V and
    beta; that is so only without a regulariser.

    Examples
    --------
    >>> semilinear_weights(np.eye(1), np.array([[3.0]]), np.array([[3.0, 3.0]]), np.array([[1.0], [0.0]]), 1.0, 1.0)
    array([[0.6 ],
           [0.75]])
    """
    V, variance, D = directions, 1.0 / precision, len(directions)
    U, s, _ = np.linalg.svd(V, full_matrices=True)  # axes of C  (D, D)
    c = np.concatenate([variance + s**2, np.full(D - len(s), variance)])
    if alpha == 0:
        return solve_weights(Phi, counts, sums)
    W = np.empty((D, Phi.shape[1]))
    for value in np.unique(c):
        axes = U[:, c == value]
        W[c == value] = solve_weights(Phi, counts, sums @ axes, alpha * value)  # (10.19)
    return U @ W


def semilinear_start(Y, X, Phi, spacing, n_linear, curved) -> tuple[np.ndarray, np.ndarray, float]:
    """Weights, directions and precision from PCA: sheet along the axes `curved`, V along others; equation (10.21).

    Parameters
    ----------
    Y : ndarray (N, D)
        Centred.
    X : ndarray (K, q)
    Phi : ndarray (K, M)
    spacing : ndarray (q,)
    n_linear : int
    curved : sequence of q integers
        Which of the first q + n_linear principal axes (0 the longest) the curved dimensions start along.

    Examples
    --------
    >>> Y, X = np.array([[3.0, 1.0], [-3.0, 1.0], [3.0, -1.0], [-3.0, -1.0]]), np.array([[-1.0], [1.0]])
    >>> W, V, _ = semilinear_start(Y, X, X, np.array([2.0]), 1, curved=[1])
    >>> W, V.round(2)                                                            # the sheet along the short axis
    (array([[0.],
           [1.]]), array([[2.83],
           [0.  ]]))
    """
    lam, U = eigenpairs(Y.T @ Y / len(Y))
    lam = np.maximum(lam, 0.0)
    straight = [j for j in range(X.shape[1] + n_linear) if j not in set(curved)][:n_linear]
    axes = U[:, straight]
    W, beta = principal_sheet(Y - Y @ axes @ axes.T, X, Phi, spacing)  # (10.21)
    return W, axes * np.sqrt(np.maximum(lam[straight] - 1.0 / beta, 1e-3 * lam[straight])), beta


def semilinear_iterates(
    Y, Phi, weights, directions, precision, alpha=0.0, max_iter=200, noise_floor=0.0
) -> Iterator[GTMState]:
    """Generator of `GTMState` with directions, the start included; the penalised log likelihood never falls.

    Parameters
    ----------
    Y, Phi, weights, precision, alpha, max_iter, noise_floor : as in `gtm.em_iterates`, Y complete
    directions : ndarray (D, p)

    Notes
    -----
    An iteration costs O(K N D + N D^2 + D^3). Chapter 10, equations (10.16) to (10.19).

    Examples
    --------
    >>> Y, Phi = np.random.default_rng(0).standard_normal((30, 3)), np.array([[1.0, -1.0], [1.0, 1.0]])
    >>> start = np.full((3, 2), 0.1), np.ones((3, 1)), 1.0
    >>> values = [state.value for state in semilinear_iterates(Y, Phi, *start, max_iter=20)]
    >>> bool(np.all(np.diff(values) > -1e-10))
    True
    """
    W, V, beta = weights, directions, precision
    for iteration in range(max_iter + 1):
        R, log_density = responsibilities(shared_log_densities(Y, Phi @ W.T, V, beta))
        value = float(np.sum(log_density))
        penalty = 0.5 * alpha * float(np.sum(W**2))
        yield GTMState(W, beta, value - penalty, value, float(iteration), directions=V)
        if iteration < max_iter:
            W = semilinear_weights(Phi, *weighted_sums(R, Y), V, beta, alpha)
            S = residual_covariance(Y, R, Phi @ W.T)
            V, beta = linear_directions(S, V.shape[1], noise_floor)


@dataclass(frozen=True)
class SemiLinearMap(SheetMap):
    """A sheet moved along straight directions, (D, p): latent points are (M, q + p), the curved coordinates first.

    `log_density` leaves out the unit Gaussian of the straight coordinates, as every map leaves out its prior.
    """

    directions: np.ndarray

    def moments(self, X) -> tuple[np.ndarray, np.ndarray]:
        """The curved sheet, moved along the straight directions, and no variance; both (M, D)."""
        q = self.nodes.shape[1]
        mean, variance = super().moments(X[:, :q])
        return mean + X[:, q:] @ self.directions.T, variance

    def jacobian(self, X) -> np.ndarray:
        """Derivatives in the curved and the straight coordinates, (M, D, q + p)."""
        curved = super().jacobian(X[:, : self.nodes.shape[1]])
        return np.concatenate([curved, np.broadcast_to(self.directions, (len(X), *self.directions.shape))], axis=2)


class SemiLinearGTM(GTM):
    """GTM with curved and straight latent dimensions: a sheet, and one low-rank covariance for all nodes.

    Use it when one or two directions are curved and others straight, so that a grid over all would be too large.

    Columns: numbers of comparable scale.
    NaN: in new rows, not in transform.
    Answers: transform, inverse_transform, impute, score_samples, sample, map_.
    Cost: O(K N D + N D^2 + D^3) a step, K nodes; at N = 1000, by default, 0.18 seconds.
    Chapter: 10 (book/10_gtm_variants.ipynb).

    Parameters
    ----------
    grid, basis : tuple of int
        Nodes and basis functions along each CURVED dimension.
    n_linear : int
        Straight dimensions; reduced where the data have too few columns (`n_linear_`).
    curved : sequence of int or None
        Which principal axes (0 the longest) the curved dimensions start along. None: every choice is tried for a few
        steps and the best is continued; from one start it often ends in a poor local optimum.
    width, alpha, terms, max_iter, tol, random_state, verbose : as in `GTM`

    Attributes
    ----------
    As in `GTM`, and
    directions_ : ndarray (D, p); covariance_ : ndarray (D, D); curved_ : tuple of int
    embedding_ : ndarray (N, q + p)
        Curved coordinates first, then the straight ones.

    Examples
    --------
    >>> from gplvm_edu.datasets import make_furrowed_sheet
    >>> model = SemiLinearGTM().fit(make_furrowed_sheet(random_state=0).data)
    >>> direction = model.directions_[:, 0] / np.linalg.norm(model.directions_)
    >>> bool(abs(direction @ [0.0, np.sqrt(0.5), np.sqrt(0.5)]) > 0.99)
    True
    """

    allows_missing = False
    knows_evidence = False
    rules = SHEET_RULES | {
        "n_linear": checks.rule(checks.whole_number, at_least=0),
        "curved": checks.rule(check_axes, optional=True),
    }

    def __init__(
        self,
        grid: tuple[int, ...] = (10,),
        basis: tuple[int, ...] = (5,),
        n_linear: int = 1,
        curved: tuple[int, ...] | None = None,
        width: float = 0.75,
        alpha: float = 0.01,
        terms: str = "linear",
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: checks.Seed = None,
        verbose: bool = False,
    ):
        super().__init__(grid, basis, width, alpha, None, terms, max_iter, tol, random_state, verbose)
        self.n_linear = n_linear
        self.curved = curved

    def check_parameters(self) -> None:
        """As in `GTM`, and the straight dimensions."""
        super().check_parameters()
        q, p = len(self.grid), self.n_linear
        wanted = set(range(q) if self.curved is None else self.curved)
        if len(wanted) != q or max(wanted) >= q + p:
            raise ValueError(
                f"curved must name {q} different principal axes out of 0 to {q + p - 1}, one for each "
                f"dimension of grid={self.grid}, got {self.curved!r}. Name others, or raise n_linear={p}."
            )

    def steps(self, Yc, floor) -> Iterator:
        """States of the fit, from the most promising of the starts."""
        q, D = self.nodes_.shape[1], Yc.shape[1]
        self.n_linear_ = min(self.n_linear, max(D - q, 0))
        choices, values = _curved_axes(self, q, D), {}
        for curved in choices:
            *_, last = islice(self.steps_from(Yc, floor, curved), 1 if len(choices) == 1 else N_TRIAL_STEPS)
            values[curved] = last.value
        self.curved_ = max(values, key=values.__getitem__)
        return self.steps_from(Yc, floor, self.curved_)

    def steps_from(self, Yc, floor, curved) -> Iterator:
        """States of the fit whose curved dimensions start along these principal axes."""
        W, V, beta = semilinear_start(
            Yc, self.nodes_, self.basis_values_, grid_spacing(self.grid), self.n_linear_, curved
        )
        return semilinear_iterates(
            Yc, self.basis_values_, W, V, min(beta, 1.0 / floor), self.alpha_, self.max_iter, floor
        )

    def make_map(self, state):
        """The sheet of one state and its straight directions."""
        return SemiLinearMap(*self.sheet_fields(state), state.directions)

    def set_state(self, state) -> Self:
        """Make the estimator that of one iterate."""
        self.directions_ = state.directions
        return super().set_state(state)

    def node_log_densities(self, Y) -> np.ndarray:
        """ln p(y_n | node i) of what was observed of rows in the units of the data, (K, N)."""
        log_p, Yc, m = np.empty((len(self.nodes_), len(Y))), self.centre_.removed(Y), self.centred_means_
        for rows, o in gap_patterns(Yc):
            log_p[:, rows] = shared_log_densities(Yc[np.ix_(rows, o)], m[:, o], self.directions_[o], self.precision_)
        return log_p

    def latent_means(self, Y, R) -> np.ndarray:
        """Posterior means of rows with responsibilities R, curved coordinates first; (N, q + p)."""
        straight, Yc, m = np.empty((len(Y), self.directions_.shape[1])), self.centre_.removed(Y), self.centred_means_
        for rows, o in gap_patterns(Yc):
            straight[rows] = linear_coordinates(
                Yc[np.ix_(rows, o)], R[:, rows], m[:, o], self.directions_[o], self.precision_
            )
        return np.hstack([posterior_means(R, self.nodes_), straight])

    def recover(self, Y, n_starts=5) -> tuple[np.ndarray, ...]:
        """As in `GTM`; at every node the straight coordinates are Gaussian, and the nodes are weighted by R."""
        checks.whole_number("n_starts", n_starts)
        Y = self.check_data(Y, reset=False, gaps=True)
        R, V, q, m = self.posterior(Y)[0], self.directions_, self.nodes_.shape[1], self.centred_means_
        X = self.latent_means(Y, R)
        S, variance = np.hstack([weighted_moments(R, self.nodes_)[1], np.empty_like(X[:, q:])]), np.empty(Y.shape)
        for rows, o in gap_patterns(Y):
            inverse = np.linalg.inv(V[o].T @ V[o] + np.eye(V.shape[1]) / self.precision_)
            straight = m[:, o] @ V[o] @ inverse  # how a node shifts the mean of v  (K, p)
            own = inverse / self.precision_  # covariance of v at a node
            S[rows, q:] = weighted_moments(R[:, rows], straight)[1] + np.diag(own)
            variance[rows] = weighted_moments(R[:, rows], m - straight @ V.T)[1] + np.sum(V @ own * V, axis=1)
        return X, S, posterior_means(R, m) + X[:, q:] @ V.T + self.mean_, variance

    def draw_latent(self, n_samples, rng) -> np.ndarray:
        """A node at random, and straight coordinates from the unit Gaussian."""
        return np.hstack([super().draw_latent(n_samples, rng), rng.standard_normal((n_samples, self.n_linear_))])

    @property
    def covariance_(self) -> np.ndarray:
        """C, the same for every node, (D, D)."""
        return np.eye(len(self.mean_)) / self.precision_ + self.directions_ @ self.directions_.T


def _curved_axes(model, q, D):
    """The sets of q principal axes along which the curved dimensions may start, for data of D columns."""
    n_axes, curved = q + model.n_linear_, model.curved
    if curved is not None and max(curved) >= n_axes:
        raise ValueError(
            f"curved={curved} names the principal axis {max(curved)}, but data of {D} columns have {n_axes} for {q} "
            f"curved and {model.n_linear_} straight dimensions, 0 to {n_axes - 1}. Name these."
        )
    if curved is None and comb(n_axes, q) > MOST_STARTS:
        raise ValueError(
            f"n_linear={model.n_linear} leaves {comb(n_axes, q)} ways to choose {q} curved dimensions out of {n_axes} "
            f"principal axes, and at most {MOST_STARTS} are tried: name one as curved, or lower n_linear."
        )
    return list(combinations(range(n_axes), q)) if curved is None else [tuple(curved)]
