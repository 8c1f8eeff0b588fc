"""What the developments of the GTM share: each changes one thing of chapter 9's estimator and inherits the rest."""
import numpy as np

from ..base import IterativeFit
from ..gtm import GTM, basis_functions, grid_spacing, make_basis, principal_sheet
from .magnification import sheet_jacobians

NOISE_FLOOR = 1e-6              # of the variance of Y: bounds the noise from below


class Variant(IterativeFit, GTM):
    """What the developments share: chapter 9's model, fitted by other `steps` until they gain nothing more."""

    batch_size = None

    def iterates(self, Y):
        """Prepare the fit and yield its states one by one; `fit` exhausts this, a widget pauses it."""
        Y = self._check_rows(self.check_data(Y))
        self._check_parameters()
        Yc, floor = self._prepare(Y), NOISE_FLOOR * self.scale_
        self.alpha_ = self.alpha / self.scale_
        self.basis_ = make_basis(self.basis, self.width, self.terms)
        self._Phi = basis_functions(self.nodes_, self.basis_)
        yield from self._settle(self.steps(Yc, floor))

    def _settle(self, states):
        """Pass the states on until one gains less than `tol` nats a row over the last."""
        last, self.converged_ = -np.inf, False
        for state in states:
            yield state
            self.converged_ = bool(abs(state.value - last) < self.tol * len(self._Y))
            if self.converged_:
                return
            last = state.value

    def _start(self, Yc, floor):
        """The plane of PCA, its noise not below the floor."""
        W, beta = principal_sheet(Yc, self.nodes_, self._Phi, grid_spacing(self.grid))
        return W, min(beta, 1.0 / floor)

    def jacobians(self, X):
        """Derivatives of the sheet at latent points; (n, D, q)."""
        return sheet_jacobians(X, self.basis_, self.weights_)
