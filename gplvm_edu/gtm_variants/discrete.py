"""GTM of binary, categorical and mixed tables: the start, EM, the map and the estimator."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from .. import checks
from ..base import CodedColumns
from ..gtm import GTM, GTMState, SheetMap, basis_functions, grid_spacing, principal_sheet
from ..gtm.estimator import SHEET_RULES
from ..gtm.fast import responsibilities
from ..gtm.gaps import m_step, weighted_sums
from ..maps import gaussian_rows
from .categories import block_means, bound_step, mixed_log_densities
from .columns import check_blocks, check_labels, read_blocks


def discrete_start(Y, blocks, X, Phi, spacing) -> tuple[np.ndarray, float]:
    """Initial weights (D, M) and precision: the plane of PCA of the standardised table, as log odds; equation (10.13).

    Parameters
    ----------
    Y : ndarray (N, D)
        Gaussian columns centred, the others zeros and ones; NaN counts as the column's mean.
    blocks : sequence of Block
    X : ndarray (K, q)
    Phi : ndarray (K, M)
    spacing : ndarray (q,)

    Examples
    --------
    >>> from gplvm_edu.gtm_variants import Block
    >>> Y, X = np.array([[0.0], [1.0], [1.0]]), np.array([[-1.0], [1.0]])
    >>> W, _ = discrete_start(Y, [Block("bernoulli", np.arange(1))], X, np.hstack([np.ones((2, 1)), X]), [2.0])
    >>> block_means(np.array([[1.0, -1.0], [1.0, 1.0]]) @ W.T, "bernoulli").round(2)
    array([[0.2 ],
           [0.95]])
    """
    mean, deviation = np.nanmean(Y, axis=0), np.nanstd(Y, axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    W, beta = principal_sheet((Y - mean) / deviation, X, Phi, np.asarray(spacing))
    A, precision = Phi @ W.T * deviation + mean, 1.0  # (K, D)
    for kind, columns in blocks:
        if kind == "gaussian":
            precision = beta / np.mean(deviation[columns] ** 2)
        else:
            p = np.clip(A[:, columns], 0.05, 0.95)
            A[:, columns] = np.log(p / (1.0 - p) if kind == "bernoulli" else p)  # (10.13)
    return np.linalg.lstsq(Phi, A, rcond=None)[0].T, precision


def discrete_iterates(
    Y, Phi, blocks, weights, precision=1.0, alphas=None, max_iter=200, n_steps=3, noise_floor=0.0, log_mixing=None
) -> Iterator[GTMState]:
    """Generator of `GTMState`, the start included; the penalised log likelihood never falls.

    Parameters
    ----------
    Y, Phi, weights, precision, max_iter, noise_floor : as in `gtm.em_iterates`
        Only Gaussian columns are centred, and the precision is theirs.
    blocks : sequence of Block
        Together they hold every column once.
    alphas : sequence of float or None
        Precision of the prior on the weights of each block; None: no prior.
    n_steps : int
        Bound steps in each M-step.
    log_mixing : ndarray (K,) or None
        Log prior of the nodes; None: all equally likely.

    Notes
    -----
    An iteration costs O(K N D + n_steps K M^2). Chapter 10, equations (10.9) to (10.12), with (9.7).

    Examples
    --------
    >>> from gplvm_edu.gtm_variants import Block
    >>> Y, Phi = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]), np.array([[1.0, -1.0], [1.0, 1.0]])
    >>> start = np.array([[0.0, 0.1], [0.0, -0.1]])
    >>> values = [s.value for s in discrete_iterates(Y, Phi, [Block("bernoulli", np.arange(2))], start, max_iter=9)]
    >>> bool(np.all(np.diff(values) > 0))
    True
    """
    W, beta, alphas = weights, precision, np.zeros(len(blocks)) if alphas is None else alphas
    prior = 0.0 if log_mixing is None else (log_mixing + np.log(len(Phi)))[:, None]
    for iteration in range(max_iter + 1):
        R, log_density = responsibilities(mixed_log_densities(Y, Phi @ W.T, blocks, beta) + prior)
        value = float(np.sum(log_density))
        penalty = sum(0.5 * alpha * np.sum(W[c] ** 2) for alpha, (_, c) in zip(alphas, blocks, strict=True))
        yield GTMState(W, beta, value - float(penalty), value, float(iteration))
        if iteration < max_iter:
            W, beta = _discrete_m_step(Y, Phi, R, blocks, W, beta, alphas, n_steps, noise_floor)


def _discrete_m_step(Y, Phi, R, blocks, W, beta, alphas, n_steps, noise_floor):
    """Weights of every block, and the precision of the Gaussian columns, all from one R. Equations (9.12), (10.10)."""
    W = W.copy()
    for alpha, (kind, c) in zip(alphas, blocks, strict=True):
        if kind == "gaussian":
            W[c], beta = m_step(Y[:, c], Phi, R, beta, alpha, noise_floor)
            continue
        counts, sums = weighted_sums(R, Y[:, c])
        for _ in range(n_steps):
            W[c] = bound_step(Phi, counts, sums, W[c], kind, alpha)
    return W, beta


@dataclass(frozen=True)
class DiscreteMap(SheetMap):
    """A sheet of log odds (and of numbers, in Gaussian columns); its mean is the expected value of the data.

    blocks : tuple of Block, every column once. The precision belongs to the Gaussian columns.
    """

    blocks: tuple

    certain_because = "the weights of the sheet are a point estimate, so a probability has no variance of its own"

    def log_odds(self, X) -> np.ndarray:
        """The sheet at latent points, Gaussian columns about their mean, (M, D)."""
        return basis_functions(X, self.basis) @ self.weights.T

    def moments(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Means of numbers and probabilities of the others, and no variance; both (M, D)."""
        mean = self.log_odds(X)
        for kind, c in self.blocks:
            mean[:, c] = block_means(mean[:, c], kind) + self.mean[c]  # 0 is added to a probability
        return mean, np.zeros_like(mean)

    def jacobian(self, X) -> np.ndarray:
        """Derivatives of means and probabilities, (M, D, q)."""
        J, m = super().jacobian(X), self.moments(X)[0][:, :, None]
        for kind, c in self.blocks:
            if kind == "bernoulli":
                J[:, c] *= m[:, c] * (1.0 - m[:, c])
            elif kind == "multinomial":
                J[:, c] = m[:, c] * (J[:, c] - np.sum(m[:, c] * J[:, c], axis=1, keepdims=True))
        return J

    def log_density(self, Y, X) -> tuple[np.ndarray, np.ndarray]:
        """Log density of each row at its latent point (M,), (10.12), and gradients (M, q); NaN is a gap."""
        log_odds, mean, seen, values = self.log_odds(X), self.moments(X)[0], ~np.isnan(Y), np.zeros(len(Y))
        slope = np.where(seen, Y - mean, 0.0)  # in the log odds
        for kind, c in self.blocks:
            a, y, o = log_odds[:, c], np.nan_to_num(Y[:, c]), seen[:, c]
            if kind == "gaussian":
                values += gaussian_rows(Y[:, c], mean[:, c], np.full(y.shape, self.noise_variance)).values
                slope[:, c] *= self.precision
            elif kind == "bernoulli":
                values += np.sum(np.where(o, y * a - np.logaddexp(0.0, a), 0.0), axis=1)  # (10.7)
            else:
                values += np.sum(y * log_softmax(a, axis=1), axis=1)  # (10.8)
        return values, np.einsum("md,mdq->mq", slope, super().jacobian(X))

    def deviation(self, mean, variance, noise=True) -> np.ndarray:
        """Standard deviation of an observation with this mean; without noise that of a mean or a probability."""
        if not noise:
            return np.sqrt(variance)
        deviation = np.sqrt(variance + self.noise_variance)
        for kind, c in self.blocks:
            if kind != "gaussian":
                deviation[:, c] = np.sqrt(mean[:, c] * (1.0 - mean[:, c]))
        return deviation

    def draw(self, mean, variance, rng) -> np.ndarray:
        """Draw each block from its own distribution."""
        Y, n = mean.copy(), len(mean)
        for kind, c in self.blocks:
            if kind == "gaussian":
                Y[:, c] += np.sqrt(variance[:, c] + self.noise_variance) * rng.standard_normal((n, len(c)))
            elif kind == "bernoulli":
                Y[:, c] = rng.random_sample((n, len(c))) < Y[:, c]
            else:
                category = np.sum(rng.random_sample((n, 1)) > np.cumsum(Y[:, c], axis=1)[:, :-1], axis=1)
                Y[:, c] = np.eye(len(c))[category]
        return Y


class DiscreteGTM(CodedColumns, GTM):
    """GTM for binary data, one-hot categories, and tables that mix them with numbers. NaN means not observed.

    Use it when columns are yes or no, or categories, alone or beside numbers.

    Columns: numbers of comparable scale, 0 or 1, and one-hot categories, in any mixture.
    NaN: in fit and in new rows.
    Answers: transform, inverse_transform, impute, score_samples, sample, map_.
    Cost: O(K N D + K M^2) a step, K nodes, M functions; at N = 1000, by default, 1.4 seconds.
    Chapter: 10 (book/10_gtm_variants.ipynb).

    Parameters
    ----------
    blocks : "auto", a kind, {column: kind}, or a list of (kind, columns)
        Kinds are "gaussian", "bernoulli" (or "binary") and "multinomial" (or "categorical": the one-hot columns of ONE
        category). A column is a name of a DataFrame, a number, or a tuple of them: ``{"height": "gaussian", (3, 4, 5):
        "categorical"}``. Columns that a dictionary leaves out are found as with "auto", which takes columns of zeros
        and ones for Bernoulli, one-hot columns whose names begin alike (``colour_red``, ``colour_blue``) for one
        category, and all others for Gaussian. Categorical columns of a DataFrame, and columns of words, are coded
        one-hot; an order of the categories is forgotten.
    grid, basis, width, alpha, terms, max_iter, tol, random_state, verbose : as in `GTM`
        alpha is not scaled for discrete columns: log odds have no units.
    n_steps : int
        Bound steps in each M-step, from 1 to 1000.

    Attributes
    ----------
    As in `GTM`, and
    blocks_ : list of Block
    coding_ : tables.Coding or None
        How a table with categories became numbers: `coding_.names` are the columns of `means_` and `sample`.
    means_ : ndarray (K, D)
        Means of Gaussian columns, probabilities of the others.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-3, 3, 80)
    >>> Y = np.column_stack([t, rng.random(80) < 1 / (1 + np.exp(-4 * t))])      # a number and a switch
    >>> model = DiscreteGTM(grid=(10,), basis=(4,)).fit(Y)
    >>> [block.kind for block in model.blocks_], model.impute([[2.5, np.nan], [-2.5, np.nan]])[:, 1].round(1)
    (['gaussian', 'bernoulli'], array([1., 0.]))
    """

    knows_evidence = False
    rules = SHEET_RULES | {
        "blocks": checks.rule(check_blocks),
        "n_steps": checks.rule(checks.whole_number, at_most=1000),
    }

    def __init__(
        self,
        blocks: str | list | dict = "auto",
        grid: tuple[int, ...] = (15, 15),
        basis: tuple[int, ...] = (4, 4),
        width: float = 0.75,
        alpha: float = 0.01,
        terms: str = "linear",
        n_steps: int = 3,
        max_iter: int = 300,
        tol: float = 1e-5,
        random_state: checks.Seed = None,
        verbose: bool = False,
    ):
        super().__init__(grid, basis, width, alpha, None, terms, max_iter, tol, random_state, verbose)
        self.blocks = blocks
        self.n_steps = n_steps

    def check_data(self, Y, reset=True, min_samples=2, gaps=False) -> np.ndarray:
        """As in every model, and labels of new rows are checked against the blocks."""
        Y = super().check_data(Y, reset, min_samples, gaps)
        if not reset:
            check_labels(Y, self.blocks_)
        return Y

    def check_sense(self, Y) -> np.ndarray:
        """Y; with a warning where numbers have very different units: one precision is for all of them, (10.12)."""
        answers = np.all((Y == 0) | (Y == 1) | np.isnan(Y), axis=0)
        names = getattr(self, "feature_names_in_", range(Y.shape[1])) if self.coding_ is None else self.coding_.names
        if not answers.all() and not checks.no_labels(Y, type(self).__name__):
            checks.comparable_scales(Y[:, ~answers], type(self).__name__, np.array(names, dtype=object)[~answers])
        return Y

    def codes_one_hot(self, number, column, names) -> bool:
        """Every category has a column for each level: they are one multinomial block."""
        return True

    def prepare(self, Y, measured=True) -> np.ndarray:
        """Find and check the blocks; keep the data and lay out nodes and basis functions.

        Only Gaussian columns are centred and have a scale: log odds have no units.
        """
        self.blocks_ = read_blocks(self.blocks, Y, getattr(self, "feature_names_in_", None), self.coding_)
        check_labels(Y, self.blocks_)
        return super().prepare(Y, self._gaussian_columns(Y.shape[1]))

    def number_columns(self) -> np.ndarray:
        """Which columns of the data are Gaussian, (D,)."""
        return self._gaussian_columns(self.rows_.shape[1])

    def _gaussian_columns(self, D) -> np.ndarray:
        """The same while the model is being fitted to D columns."""
        return np.isin(np.arange(D), [c for kind, columns in self.blocks_ if kind == "gaussian" for c in columns])

    def steps(self, Yc, floor) -> Iterator:
        """States of the fit."""
        W, beta = discrete_start(Yc, self.blocks_, self.nodes_, self.basis_values_, grid_spacing(self.grid))
        alphas = [self.alpha_ if kind == "gaussian" else self.alpha for kind, _ in self.blocks_]
        return discrete_iterates(
            Yc, self.basis_values_, self.blocks_, W, min(beta, 1.0 / floor), alphas, self.max_iter, self.n_steps, floor
        )

    def make_map(self, state):
        """The sheet of one state."""
        return DiscreteMap(*self.sheet_fields(state), tuple(self.blocks_))

    def node_means(self, state) -> np.ndarray:
        """Means of numbers about those of the data, and probabilities of the others, (K, D)."""
        means = super().node_means(state)
        for kind, c in self.blocks_:
            means[:, c] = block_means(means[:, c], kind)
        return means

    def node_log_densities(self, Y) -> np.ndarray:
        """ln p(y_n | node i) of rows in the units of the data, (K, N)."""
        log_odds = self.map_.log_odds(self.nodes_)
        return mixed_log_densities(self.centre_.removed(Y), log_odds, self.blocks_, self.precision_)
