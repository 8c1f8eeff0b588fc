"""`DiscreteGTM`: the estimator for zeros and ones, categories, and tables of mixed columns."""
import numpy as np
from sklearn.utils import check_random_state

from ..gtm import basis_functions, grid_spacing, responsibilities
from .columns import check_labels, read_blocks
from .discrete import block_means, discrete_iterates, discrete_start, mixed_log_densities
from .magnification import sheet_jacobians
from .variant import Variant


class DiscreteGTM(Variant):
    """GTM for binary data, one-hot categories, and tables that mix them with numbers. NaN means not observed.

    Parameters
    ----------
    blocks : "auto", a kind, or a list of (kind, columns)
        Kinds are "gaussian", "bernoulli" and "multinomial" (one-hot columns of ONE category). "auto" takes columns of
        zeros and ones for Bernoulli and all others for Gaussian.
    grid, basis, width, alpha, terms, max_iter, tol, random_state : as in `GTM`
        alpha is not scaled for discrete columns: log odds have no units.
    n_steps : int
        Bound steps in each M-step.

    Attributes
    ----------
    As in `GTM`, and
    blocks_ : list of Block
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

    allows_missing = True

    def __init__(self, blocks="auto", grid=(15, 15), basis=(4, 4), width=0.75, alpha=0.01, terms="linear", n_steps=3,
                 max_iter=300, tol=1e-5, random_state=None):
        self.blocks = blocks
        self.grid = grid
        self.basis = basis
        self.width = width
        self.alpha = alpha
        self.terms = terms
        self.n_steps = n_steps
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _prepare(self, Y):
        """Find and check the blocks; centre the Gaussian columns alone."""
        self.blocks_ = read_blocks(self.blocks, Y)
        check_labels(Y, self.blocks_)
        super()._prepare(Y)
        numbers = np.zeros(Y.shape[1], bool)
        for kind, columns in self.blocks_:
            numbers[columns] = kind == "gaussian"
        self.mean_ = np.where(numbers, self.mean_, 0.0)
        variance = float(np.nanmean((Y - self.mean_)[:, numbers] ** 2)) if numbers.any() else 1.0
        self.scale_ = variance if variance > 1e-300 else 1.0
        return Y - self.mean_

    def steps(self, Yc, floor):
        """States of the fit."""
        W, beta = discrete_start(Yc, self.blocks_, self.nodes_, self._Phi, grid_spacing(self.grid))
        alphas = [self.alpha_ if kind == "gaussian" else self.alpha for kind, _ in self.blocks_]
        return discrete_iterates(Yc, self._Phi, self.blocks_, W, min(beta, 1.0 / floor), alphas, self.max_iter,
                                 self.n_steps, floor)

    def set_state(self, state, history=()):
        """Make the estimator that of one iterate."""
        self._log_odds = self._Phi @ state.weights.T
        super().set_state(state, history)
        self.means_, self.log_evidence_ = self._means(self._log_odds), np.nan
        return self

    def _means(self, log_odds):
        means = log_odds + self.mean_
        for kind, c in self.blocks_:
            if kind != "gaussian":
                means[:, c] = block_means(log_odds[:, c], kind)
        return means

    def _posterior(self, Y):
        log_p = mixed_log_densities(Y - self.mean_, self._log_odds, self.blocks_, self.precision_)
        return responsibilities(log_p, overwrite=True)

    def check_data(self, Y, reset=True, min_samples=2):
        """As in every model, and labels of new rows are checked against the blocks."""
        Y = super().check_data(Y, reset, min_samples)
        if not reset:
            check_labels(Y, self.blocks_)
        return Y

    def inverse_transform(self, X):
        """Means and probabilities at latent points X (M, q); (M, D)."""
        return self._means(basis_functions(self.check_latent(X), self.basis_) @ self.weights_.T)

    def jacobians(self, X):
        """Derivatives of means and probabilities at latent points; (n, D, q)."""
        J, m = sheet_jacobians(X, self.basis_, self.weights_), self.inverse_transform(X)[:, :, None]
        for kind, c in self.blocks_:
            if kind == "bernoulli":
                J[:, c] *= m[:, c] * (1.0 - m[:, c])
            elif kind == "multinomial":
                J[:, c] = m[:, c] * (J[:, c] - np.sum(m[:, c] * J[:, c], axis=1, keepdims=True))
        return J

    def sample(self, n_samples=1, random_state=None):
        """Draw new rows: a node by lot, then every block from its own distribution there; returns (Y, X)."""
        rng = check_random_state(self.random_state if random_state is None else random_state)
        chosen = rng.randint(len(self.nodes_), size=n_samples)
        Y = self.means_[chosen]
        for kind, c in self.blocks_:
            if kind == "gaussian":
                Y[:, c] += rng.standard_normal((n_samples, len(c))) / np.sqrt(self.precision_)
            elif kind == "bernoulli":
                Y[:, c] = rng.random_sample((n_samples, len(c))) < Y[:, c]
            else:
                category = np.sum(rng.random_sample((n_samples, 1)) > np.cumsum(Y[:, c], axis=1)[:, :-1], axis=1)
                Y[:, c] = np.eye(len(c))[category]
        return Y, self.nodes_[chosen]

    def _check_parameters(self):
        super()._check_parameters()
        if not isinstance(self.n_steps, (int, np.integer)) or self.n_steps < 1:
            raise ValueError(f"n_steps must be a whole number of at least 1, got {self.n_steps!r}.")
