"""`BayesianGTM` and `GaussianProcessGTM`: how stiff a sheet is, decided by the evidence or by a covariance."""
import numpy as np

from ..base import check_positive
from ..gtm import grid_spacing, posterior_means, principal_sheet
from ..kernels import RBF, Kernel
from .evidence import bayesian_iterates
from .magnification import process_jacobians
from .process import process_evidence, process_iterates, process_sheet, process_weights
from .variant import NOISE_FLOOR, Variant


class BayesianGTM(Variant):
    """GTM that sets its own regulariser and noise by the evidence; compare widths by `log_evidence_`.

    Parameters
    ----------
    grid, basis, width, terms, max_iter, tol, random_state : as in `GTM`
    alpha : float
        Where the regulariser starts, for data of unit variance.

    Attributes
    ----------
    As in `GTM`, and
    alpha_ : float
        The re-estimated regulariser, in the units of the data.
    n_effective_ : float
        gamma, how many of the D M weights the data determine.
    history_ : ndarray
        Log evidence of each iterate.

    Examples
    --------
    >>> from gplvm_edu.gtm_variants import make_bent_line
    >>> model = BayesianGTM(grid=(20,), basis=(8,)).fit(make_bent_line(random_state=0).data)
    >>> 0 < model.n_effective_ < model.weights_.size
    True
    """

    allows_missing = False

    def __init__(self, grid=(15, 15), basis=(5, 5), width=2.0, alpha=1.0, terms="linear", max_iter=300, tol=1e-5,
                 random_state=None):
        self.grid = grid
        self.basis = basis
        self.width = width
        self.alpha = alpha
        self.terms = terms
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def steps(self, Yc, floor):
        """States of the fit."""
        return bayesian_iterates(Yc, self._Phi, *self._start(Yc, floor), self.alpha_, self.max_iter, floor)

    def set_state(self, state, history=()):
        """Make the estimator that of one iterate."""
        self.alpha_, self.n_effective_ = state.alpha, state.n_effective
        return super().set_state(state, history)

    def _check_parameters(self):
        super()._check_parameters()
        check_positive("alpha", self.alpha)


class GaussianProcessGTM(Variant):
    """GTM without basis functions: the sheet has a Gaussian process prior over the nodes.

    Parameters
    ----------
    grid : tuple of int
    length_scale : float
        Over which distance in latent space (the square from -1 to 1) the sheet forgets itself: its stiffness.
    variance : float
        Prior variance of the sheet, in units of the mean variance of a column of the data.
    kernel : Kernel or None
        Any covariance of chapter 2 in place of the RBF of the two numbers above, in the units of the data.
    max_iter, tol, random_state : as in `GTM`

    Attributes
    ----------
    weights_ : ndarray (K, D)
        a, with means_ = B a.
    kernel_ : Kernel
    log_evidence_ : float
        By which length scales can be compared.
    nodes_, means_, precision_, embedding_, log_likelihood_, history_ : as in `GTM`

    Examples
    --------
    >>> from gplvm_edu.gtm_variants import make_bent_line
    >>> Y = make_bent_line(random_state=0).data
    >>> stiff, free = (GaussianProcessGTM(grid=(20,), length_scale=s).fit(Y) for s in (4.0, 0.4))
    >>> free.log_likelihood_ > stiff.log_likelihood_
    True
    """

    allows_missing = False

    def __init__(self, grid=(15, 15), length_scale=0.5, variance=1.0, kernel=None, max_iter=300, tol=1e-5,
                 random_state=None):
        self.grid = grid
        self.length_scale = length_scale
        self.variance = variance
        self.kernel = kernel
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def iterates(self, Y):
        """Prepare the fit and yield its states one by one; `fit` exhausts this, a widget pauses it."""
        Y = self.check_data(Y)
        self._check_parameters()
        Yc, floor = self._prepare(Y), NOISE_FLOOR * self.scale_
        default = RBF(self.variance * self.scale_, 1.0 / self.length_scale**2)
        self.kernel_ = default if self.kernel is None else self.kernel.copy()
        self._B = self.kernel_(self.nodes_)
        plane, ones = np.hstack([np.ones((len(self.nodes_), 1)), self.nodes_]), np.ones((len(self.nodes_), 1))
        W, beta = principal_sheet(Yc, self.nodes_, plane, grid_spacing(self.grid))
        start = process_weights(self._B, ones, plane @ W.T, 1e3 / np.mean(np.diag(self._B)))     # as flat as B allows
        yield from self._settle(process_iterates(Yc, self._B, start, min(beta, 1.0 / floor), self.max_iter, floor))

    def set_state(self, state, history=()):
        """Make the estimator that of one iterate."""
        self.weights_, self.precision_ = state.weights, float(state.precision)
        self.means_ = self._B @ self.weights_ + self.mean_
        self.history_, self.n_iter_ = np.array(history), max(len(history) - 1, 1)
        R, log_density = self._posterior(self._Y)
        self.embedding_, self.log_likelihood_ = posterior_means(R, self.nodes_), float(np.sum(log_density))
        self.log_evidence_ = process_evidence(self._B, R.sum(axis=1, keepdims=True), self.weights_, self.precision_,
                                              self.log_likelihood_)
        return self

    def inverse_transform(self, X):
        """The sheet at any latent points X (M, q), between the nodes and beyond them; (M, D)."""
        return process_sheet(self.kernel_, self.nodes_, self.weights_, self.check_latent(X)) + self.mean_

    def jacobians(self, X):
        """Derivatives of the sheet at latent points; (n, D, q)."""
        return process_jacobians(self.kernel_, self.nodes_, self.weights_, X)

    def _check_parameters(self):
        check_positive("length_scale", self.length_scale)
        check_positive("variance", self.variance)
        if self.kernel is not None and not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel must be a kernel of gplvm_edu.kernels (such as RBF(1.0, 4.0)) or None, got "
                             f"{self.kernel!r}.")
        if not isinstance(self.max_iter, (int, np.integer)) or self.max_iter < 0:
            raise ValueError(f"max_iter must be a whole number of at least 0, got {self.max_iter!r}.")
