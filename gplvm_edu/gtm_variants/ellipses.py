"""`ManifoldAlignedGTM` and `SemiLinearGTM`: nodes that carry ellipsoids in place of balls."""
from itertools import combinations, islice

import numpy as np
from sklearn.utils import check_random_state

from ..base import check_positive
from ..gtm import basis_functions, grid_spacing, posterior_means, responsibilities
from .aligned import NOISE_UPDATES, aligned_iterates, aligned_log_densities, tangent_deviations
from .semilinear import linear_coordinates, semilinear_iterates, semilinear_start, shared_log_densities
from .variant import Variant


class ManifoldAlignedGTM(Variant):
    """GTM whose noise lies along the sheet: wide where the nodes are far apart, thin across.

    Parameters
    ----------
    grid, basis, width, alpha, terms, max_iter, tol, random_state : as in `GTM`
    spread : float
        Standard deviation along the sheet, in steps of the grid.
    noise_update : "exact" or "paper"
        How the noise across the sheet is re-estimated: by a search over the one number, or by the paper's formula.

    Attributes
    ----------
    As in `GTM`, and
    covariances_ : ndarray (K, D, D)
    history_ : ndarray
        It may fall, because the weights are those of isotropic noise. The generator ends by yielding the best state
        once more, and `fit` keeps that.

    Examples
    --------
    >>> from gplvm_edu.gtm import GTM
    >>> from gplvm_edu.gtm_variants import make_bent_line
    >>> Y = make_bent_line(random_state=0).data
    >>> plain = GTM(grid=(10,), basis=(5,)).fit(Y)
    >>> ManifoldAlignedGTM(grid=(10,), basis=(5,)).fit(Y).log_likelihood_ > plain.log_likelihood_
    True
    """

    def __init__(self, grid=(15, 15), basis=(4, 4), width=0.75, alpha=0.01, spread=0.5, noise_update="exact",
                 terms="linear", max_iter=300, tol=1e-5, random_state=None):
        self.grid = grid
        self.basis = basis
        self.width = width
        self.alpha = alpha
        self.spread = spread
        self.noise_update = noise_update
        self.terms = terms
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def steps(self, Yc, floor):
        """States of the fit."""
        return aligned_iterates(Yc, self.nodes_, self.basis_, *self._start(Yc, floor), grid_spacing(self.grid),
                                self.spread, self.alpha_, self.max_iter, floor, self.noise_update)

    def _settle(self, states):
        """Stop also when nothing better has come for twenty steps; end with the best state."""
        best = None
        for state in super()._settle(states):
            yield state
            best = state if best is None or state.value > best.value else best
            if state.sweeps >= best.sweeps + 20:
                break
        if state is not best:
            yield best

    def set_state(self, state, history=()):
        """Make the estimator that of one iterate."""
        self._V = tangent_deviations(self.nodes_, self.basis_, state.weights, grid_spacing(self.grid), self.spread)
        return super().set_state(state, history)

    def _posterior(self, Y):
        log_p = aligned_log_densities(Y - self.mean_, self.means_ - self.mean_, self._V, self.precision_)
        return responsibilities(log_p, overwrite=True)

    @property
    def covariances_(self):
        """C_i of every node, (K, D, D)."""
        return np.eye(len(self.mean_)) / self.precision_ + np.einsum("kld,kle->kde", self._V, self._V)

    def sample(self, n_samples=1, random_state=None):
        """Draw new rows: a node by lot, then noise along and across the sheet; returns (Y, X)."""
        rng = check_random_state(self.random_state if random_state is None else random_state)
        chosen = rng.randint(len(self.nodes_), size=n_samples)
        along = np.einsum("nl,nld->nd", rng.standard_normal((n_samples, self._V.shape[1])), self._V[chosen])
        across = rng.standard_normal((n_samples, len(self.mean_))) / np.sqrt(self.precision_)
        return self.means_[chosen] + along + across, self.nodes_[chosen]

    def _check_parameters(self):
        super()._check_parameters()
        check_positive("spread", self.spread)
        if self.noise_update not in NOISE_UPDATES:
            raise ValueError(f"noise_update must be one of {', '.join(NOISE_UPDATES)}, got {self.noise_update!r}.")


class SemiLinearGTM(Variant):
    """GTM with curved and straight latent dimensions: a sheet, and one flat ellipsoid at every node.

    Parameters
    ----------
    grid, basis : tuple of int
        Nodes and basis functions along each CURVED dimension.
    n_linear : int
        Straight dimensions; reduced where the data have no room for them (`n_linear_`).
    curved : sequence of int or None
        Which principal axes (0 the longest) the curved dimensions start along. None: every choice is tried for a few
        steps and the best goes on; the model is easily caught in a poor optimum otherwise.
    width, alpha, terms, max_iter, tol, random_state : as in `GTM`

    Attributes
    ----------
    As in `GTM`, and
    directions_ : ndarray (D, p); covariance_ : ndarray (D, D); curved_ : tuple of int
    embedding_ : ndarray (N, q + p)
        Curved coordinates first, then the straight ones.

    Examples
    --------
    >>> from gplvm_edu.gtm_variants import make_furrowed_sheet
    >>> model = SemiLinearGTM().fit(make_furrowed_sheet(random_state=0).data)
    >>> direction = model.directions_[:, 0] / np.linalg.norm(model.directions_)
    >>> bool(abs(direction @ [0.0, np.sqrt(0.5), np.sqrt(0.5)]) > 0.99)
    True
    """

    allows_missing = False

    def __init__(self, grid=(10,), basis=(5,), n_linear=1, curved=None, width=0.75, alpha=0.01, terms="linear",
                 max_iter=300, tol=1e-6, random_state=None):
        self.grid = grid
        self.basis = basis
        self.n_linear = n_linear
        self.curved = curved
        self.width = width
        self.alpha = alpha
        self.terms = terms
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def steps(self, Yc, floor):
        """States of the fit, from the most promising of the starts."""
        q, D = self.nodes_.shape[1], Yc.shape[1]
        self.n_linear_ = min(self.n_linear, max(D - q, 0))
        choices = combinations(range(min(q + self.n_linear_, D)), q) if D >= q else [tuple(range(q))]
        choices = list(choices) if self.curved is None else [tuple(self.curved)]
        tries = {}
        for curved in choices:
            tries[curved] = list(islice(self._run(Yc, floor, curved), 1 if len(choices) == 1 else 15))[-1].value
        self.curved_ = max(tries, key=tries.get)
        return self._run(Yc, floor, self.curved_)

    def _run(self, Yc, floor, curved):
        W, V, beta = semilinear_start(Yc, self.nodes_, self._Phi, grid_spacing(self.grid), self.n_linear_, curved)
        return semilinear_iterates(Yc, self._Phi, W, V, min(beta, 1.0 / floor), self.alpha_, self.max_iter, floor)

    def set_state(self, state, history=()):
        """Make the estimator that of one iterate."""
        self.directions_ = state.directions
        super().set_state(state, history)
        self.embedding_, self.log_evidence_ = self._place(self._Y, "mean"), np.nan
        return self

    def _posterior(self, Y):
        log_p = shared_log_densities(Y - self.mean_, self.means_ - self.mean_, self.directions_, self.precision_)
        return responsibilities(log_p, overwrite=True)

    def _place(self, Y, kind):
        R = self._posterior(Y)[0]
        if kind == "mode":
            R = (R == R.max(axis=0)) / np.sum(R == R.max(axis=0), axis=0)
        straight = linear_coordinates(Y, R, self.means_, self.directions_, self.precision_)
        return np.hstack([posterior_means(R, self.nodes_), straight])

    def transform(self, Y, kind="mean"):
        """Curved and straight coordinates of each row, (N, q + p): posterior means, or those of the likeliest node."""
        if kind not in ("mean", "mode"):
            raise ValueError(f"kind must be \"mean\" or \"mode\", got {kind!r}.")
        return self._place(self.check_data(Y, reset=False), kind)

    def inverse_transform(self, X):
        """Data at latent points X (M, q + p): the curved sheet, moved along the straight directions."""
        X, q = self.check_latent(X), self.nodes_.shape[1]
        curved = basis_functions(X[:, :q], self.basis_) @ self.weights_.T
        return curved + X[:, q:] @ self.directions_.T + self.mean_

    def jacobians(self, X):
        """Derivatives of the map in the curved and the straight coordinates; (n, D, q + p)."""
        curved = super().jacobians(X[:, :self.nodes_.shape[1]])
        return np.concatenate([curved, np.broadcast_to(self.directions_, (len(X), *self.directions_.shape))], axis=2)

    @property
    def covariance_(self):
        """C, the same for every node, (D, D)."""
        return np.eye(len(self.mean_)) / self.precision_ + self.directions_ @ self.directions_.T

    def sample(self, n_samples=1, random_state=None):
        """Draw new rows: a node and straight coordinates by lot, then noise; returns (Y, X)."""
        rng = check_random_state(self.random_state if random_state is None else random_state)
        X = np.hstack([self.nodes_[rng.randint(len(self.nodes_), size=n_samples)],
                       rng.standard_normal((n_samples, self.n_linear_))])
        noise = rng.standard_normal((n_samples, len(self.mean_))) / np.sqrt(self.precision_)
        return self.inverse_transform(X) + noise, X

    def _check_parameters(self):
        super()._check_parameters()
        whole = isinstance(self.n_linear, (int, np.integer)) and not isinstance(self.n_linear, bool)
        if not whole or self.n_linear < 0:
            raise ValueError(f"n_linear must be a whole number of at least 0, got {self.n_linear!r}.")
        q = len(tuple(self.grid))
        wanted = set(range(q)) if self.curved is None else set(self.curved)
        if len(wanted) != q or not wanted <= set(range(q + self.n_linear)):
            raise ValueError(f"curved must name {q} different principal axes out of 0 to {q + self.n_linear - 1}, one "
                             f"for each dimension of grid={self.grid}, got {self.curved!r}.")
