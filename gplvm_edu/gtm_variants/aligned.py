"""Manifold-aligned noise: M-step of its precision, EM iterates (not monotone), the map and the estimator."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from .. import checks
from ..base import Reconstruction
from ..gtm import GTM, GTMState, SheetMap, basis_functions, grid_spacing, weighted_moments
from ..gtm.estimator import SHEET_RULES
from ..gtm.fast import responsibilities
from ..gtm.gaps import m_step, solve_weights, weighted_sums
from ..linalg import gap_patterns, squared_distances
from .tangents import aligned_log_densities, aligned_moments, rank_one_inverses, tangent_deviations

NOISE_UPDATES = ("exact", "paper")
PATIENCE = 20  # a fit ends after so many steps without a better state


def _spreads(Y, R, means, V):
    """For each node and pattern of gaps: mass, entries, variances along the tangents, squares along and in all."""
    parts = []
    for rows, o in gap_patterns(Y):
        _, s, E = np.linalg.svd(V[:, :, o], full_matrices=False)  # (K, r), (K, r, d)
        y, m, mass = Y[np.ix_(rows, o)], means[:, o], R[:, rows]
        along = np.matmul(E, y.T) - np.einsum("krd,kd->kr", E, m)[:, :, None]
        p = np.einsum("kn,krn->kr", mass, along**2)
        total = np.sum(mass * squared_distances(m, y), axis=1)
        pad = V.shape[1] - s.shape[1]  # fewer entries than tangents
        wide = [np.pad(a, ((0, 0), (0, pad)), constant_values=np.nan) for a in (s**2, p)]
        parts.append([mass.sum(axis=1), np.full(len(m), o.sum()), *wide, total])
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def across_precision(Y, R, means, V, precision) -> float:
    r"""The precision that maximises the expected log likelihood, the sheet, its tangents and R held fixed.

    .. math:: \hat\beta = \arg\max_\beta \sum_{in} R_{in} \ln p(y_n \mid i; \beta)

    It uses only the residuals across the sheet; the closed form, equation (9.13), counts the spread along it as noise
    too.

    Parameters
    ----------
    Y : ndarray (N, D)
    R : ndarray (K, N)
    means : ndarray (K, D)
    V : ndarray (K, q, D)
    precision : float
        The search goes from this value up to a factor of 20 either way. The result is never worse than this value.

    Notes
    -----
    One pass of O(K N D q), then a search in one dimension that needs only sums. Chapter 10, equation (10.6).

    Examples
    --------
    >>> Y, V = np.array([[-1.0, 0.1], [1.0, -0.1]]), np.array([[[1.0, 0.0]]])    # the spread of 1 lies along the sheet
    >>> round(1 / across_precision(Y, np.ones((1, 2)), np.zeros((1, 2)), V, precision=20.0), 3)
    0.01
    """
    g, d, s2, p, total = _spreads(Y, R, means, V)
    r = np.sum(~np.isnan(s2), axis=1)
    left = np.sum(np.maximum(total - np.nansum(p, axis=1), 0.0))  # across the sheet
    s2, p, left = precision * s2, precision * p, precision * left  # in units of the variance now

    def loss(log_variance):
        v = np.exp(log_variance)
        along = np.nansum(g[:, None] * np.log(v + s2) + p / (v + s2))
        return 0.5 * (along + np.sum(g * (d - r)) * log_variance + left / v)  # (10.6)

    found = minimize_scalar(loss, bounds=(-3.0, 3.0), method="bounded", options={"xatol": 1e-6})
    return float(precision * np.exp(-found.x)) if found.fun < loss(0.0) else precision


def aligned_iterates(
    Y, X, basis, weights, precision, spacing, spread=0.5, alpha=0.0, max_iter=200, noise_floor=0.0, noise_update="exact"
) -> Iterator[GTMState]:
    """Generator of `GTMState`, the start included. The objective may fall: the M-step is an approximation.

    The weights are those of isotropic noise, equation (9.12), although the tangents depend on the weights as well.
    Chapter 10, equations (10.2) to (10.6), with equations (9.7) and (9.12).

    Parameters
    ----------
    Y, weights, precision, alpha, max_iter, noise_floor : as in `gtm.em_iterates`
    X, basis, spacing, spread : as in `tangent_deviations`
    noise_update : "exact" or "paper"
        (10.6), or (9.13) as the paper has it.

    Examples
    --------
    >>> from gplvm_edu.gtm import latent_grid, make_basis
    >>> t = np.linspace(-1, 1, 30)
    >>> Y, W = np.column_stack([t, 0.3 * np.cos(3 * t)]), np.zeros((2, 5))
    >>> W[0, -1] = 1.0
    >>> values = [s.value for s in aligned_iterates(Y, latent_grid((6,)), make_basis((3,)), W, 10.0, [0.4], max_iter=5)]
    >>> values[-1] > values[0]
    True
    """
    W, beta, Phi = weights, precision, basis_functions(X, basis)
    for iteration in range(max_iter + 1):
        V = tangent_deviations(X, basis, W, spacing, spread)
        R, log_density = responsibilities(aligned_log_densities(Y, Phi @ W.T, V, beta))
        value = float(np.sum(log_density))
        yield GTMState(W, beta, value - 0.5 * alpha * float(np.sum(W**2)), value, float(iteration))
        if iteration == max_iter:
            return
        if noise_update == "paper":
            W, beta = m_step(Y, Phi, R, beta, alpha, noise_floor)
            continue
        W = solve_weights(Phi, *weighted_sums(R, Y), alpha / beta)
        V = tangent_deviations(X, basis, W, spacing, spread)
        beta = 1.0 / max(1.0 / across_precision(Y, R, Phi @ W.T, V, beta), noise_floor)


@dataclass(frozen=True)
class AlignedMap(SheetMap):
    """A sheet whose noise follows it: C(x) = I / beta + sum_l v_l(x) v_l(x)', with tangents (10.2) at any point."""

    spacing: np.ndarray
    spread: float

    def tangents(self, X) -> np.ndarray:
        """v_l at latent points, (M, q, D)."""
        return tangent_deviations(X, self.basis, self.weights, self.spacing, self.spread)

    def observation_variance(self, X) -> np.ndarray:
        """The diagonal of C at latent points, (M, D)."""
        return self.noise_variance + np.sum(self.tangents(X) ** 2, axis=1)

    def deviation(self, mean, variance, noise=True) -> np.ndarray:
        """Without noise only: with noise it does not follow from the moments of f, see `observation_variance`."""
        if not noise:
            return np.sqrt(variance)
        raise TypeError(
            "The noise of a sheet with tangents depends on the place, so the moments of f do not tell how "
            "far an observation deviates. Call observation_variance(X) of the map, or "
            "inverse_transform(X, return_std=True, noise=True) of the model (chapter 10)."
        )

    def draw(self, mean, variance, rng):
        """An error: the noise does not follow from the moments of f. `draw_at` draws at latent points."""
        raise TypeError(
            "The noise of a sheet with tangents depends on the place, so no observation can be drawn from "
            "the moments of f. Call draw_at(X, rng) of the map, or sample of the model (chapter 10)."
        )

    def draw_at(self, X, rng) -> np.ndarray:
        """Observations at latent points, (M, D): noise along the sheet, then across."""
        V, mean = self.tangents(X), self.moments(X)[0]
        along = np.einsum("nl,nld->nd", rng.standard_normal(V.shape[:2]), V)
        return mean + along + np.sqrt(self.noise_variance) * rng.standard_normal(mean.shape)

    def log_density(self, Y, X) -> tuple[np.ndarray, np.ndarray]:
        """Log density of each row at its latent point (M,), (10.5), and gradients (M, q); NaN is a gap.

        The covariance depends on x as well as the mean. Entries not observed add nothing to misfit or tangents.
        """
        beta, seen, delta = self.precision, ~np.isnan(Y), self.spread * np.asarray(self.spacing)
        V, J = self.tangents(X) * seen[:, None], self.jacobian(X) * seen[:, :, None]
        r = np.where(seen, Y - self.moments(X)[0], 0.0)
        U, log_det = rank_one_inverses(V, beta)

        def solve(B):  # C^-1 B for B (M, n, D)
            return beta * B - np.einsum("mnl,mld->mnd", np.einsum("mnd,mld->mnl", B, U), U)

        a = solve(r[:, None])[:, 0]  # C^-1 r  (M, D)
        constant = 0.5 * np.sum(~seen, axis=1) * np.log(beta / (2 * np.pi))  # of the columns that are not observed
        values = -0.5 * (Y.shape[1] * np.log(2 * np.pi) + log_det + np.sum(a * r, axis=1)) - constant
        H = np.einsum("l,lkmi,di->mkld", delta, _curvatures(X, self.basis), self.weights) * seen[:, None, None]
        from_covariance = np.einsum("md,mkld,ml->mk", a, H, np.einsum("md,mld->ml", a, V)) - np.einsum(
            "mld,mkld->mk", solve(V), H
        )
        return values, np.einsum("md,mdk->mk", a, J) + from_covariance


def _curvatures(X, basis):
    """Second derivatives of every basis function, (q, q, M, number of functions)."""
    C, sigma, _ = basis
    Phi, q, n = basis_functions(X, basis), X.shape[1], len(C)
    second, z = np.zeros((q, q, *Phi.shape)), (X[:, None] - C) / sigma**2  # (M, n, q)
    for l in range(q):
        for k in range(q):
            second[l, k, :, :n] = (z[:, :, l] * z[:, :, k] - (l == k) / sigma[l] ** 2) * Phi[:, :n]
    return second


class ManifoldAlignedGTM(GTM):
    """GTM with manifold-aligned noise: large along the sheet where the nodes are far apart, small across it.

    Use it when rows lie between the nodes of a GTM, along its sheet, and round noise would blur the sheet.

    Columns: numbers of comparable scale.
    NaN: in fit and in new rows.
    Answers: transform, inverse_transform, impute, score_samples, sample, map_.
    Cost: O(K N D q) a step, K nodes; at N = 1000, by default, 2.0 seconds.
    Chapter: 10 (book/10_gtm_variants.ipynb).

    Parameters
    ----------
    grid, basis, width, alpha, terms, max_iter, tol, random_state, verbose : as in `GTM`
    spread : float
        Standard deviation along the sheet, in steps of the grid, from 0.001 to 1000.
    noise_update : "exact" or "paper"
        How the noise across the sheet is re-estimated: by a search in one dimension, or by the paper's formula.

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
    >>> from gplvm_edu.datasets import make_bent_line
    >>> Y = make_bent_line(random_state=0).data
    >>> plain = GTM(grid=(10,), basis=(5,)).fit(Y)
    >>> ManifoldAlignedGTM(grid=(10,), basis=(5,)).fit(Y).log_likelihood_ > plain.log_likelihood_
    True
    """

    may_fall = "the weights are those of noise alike in all directions, but the noise along the sheet moves with them"
    rules = SHEET_RULES | {
        "spread": checks.rule(checks.number, at_least=1e-3, at_most=1e3),
        "noise_update": checks.rule(checks.choice, NOISE_UPDATES),
    }

    def __init__(
        self,
        grid: tuple[int, ...] = (15, 15),
        basis: tuple[int, ...] = (4, 4),
        width: float = 0.75,
        alpha: float = 0.01,
        spread: float = 0.5,
        noise_update: str = "exact",
        terms: str = "linear",
        max_iter: int = 300,
        tol: float = 1e-5,
        random_state: checks.Seed = None,
        verbose: bool = False,
    ):
        super().__init__(grid, basis, width, alpha, None, terms, max_iter, tol, random_state, verbose)
        self.spread = spread
        self.noise_update = noise_update

    def steps(self, Yc, floor) -> Iterator:
        """States of the fit."""
        start, spacing = self.start(Yc, floor), grid_spacing(self.grid)
        options = self.spread, self.alpha_, self.max_iter, floor, self.noise_update
        return aligned_iterates(Yc, self.nodes_, self.basis_, *start, spacing, *options)

    def iterates(self, Y) -> Iterator[GTMState]:
        """As in `GTM`; stops also after twenty steps without a better state, and ends with the best state."""
        best: Any = None
        stopped = ""
        for state in super().iterates(Y):
            yield state
            best = state if best is None or state.value > best.value else best
            stopped = state.stopped or ("gain" if state.sweeps >= best.sweeps + PATIENCE else "")
            if stopped:
                break
        if state is not best:
            yield best._replace(stopped=stopped)

    def make_map(self, state):
        """The sheet of one state, with its noise."""
        return AlignedMap(*self.sheet_fields(state), grid_spacing(self.grid), self.spread)

    def node_log_densities(self, Y) -> np.ndarray:
        """ln p(y_n | node i) of rows in the units of the data, (K, N)."""
        V = self.map_.tangents(self.nodes_)
        return aligned_log_densities(self.centre_.removed(Y), self.centred_means_, V, self.precision_)

    @property
    def covariances_(self) -> np.ndarray:
        """C_i of every node, (K, D, D)."""
        V, D = self.map_.tangents(self.nodes_), len(self.mean_)
        checks.room("covariances_", len(V), D, D, advice="map_.tangents(nodes_) says the same in less.")
        return np.eye(D) / self.precision_ + np.einsum("kld,kle->kde", V, V)

    def inverse_transform(self, X, return_std=False, noise=False):
        """As in every model; a new observation deviates along the sheet as well as across."""
        return_std, noise = checks.flag("return_std", return_std), checks.flag("noise", noise)
        if return_std and noise:
            return super().inverse_transform(X), np.sqrt(self.map_.observation_variance(self.check_latent(X)))
        return super().inverse_transform(X, return_std)

    def recover(self, Y, n_starts=5) -> tuple[np.ndarray, ...]:
        """As in `GTM`; f is the sheet plus the spread along it, and the observed entries of a row inform both."""
        checks.whole_number("n_starts", n_starts)
        Y = self.check_data(Y, reset=False, gaps=True)
        R, V = self.posterior(Y)[0], self.map_.tangents(self.nodes_)
        mean, variance = aligned_moments(self.centre_.removed(Y), R, self.centred_means_, V, self.precision_)
        return *weighted_moments(R, self.nodes_), mean + self.mean_, variance

    def reconstruct(self, Y, n_starts=5, noise=False) -> Reconstruction:
        """As in every model; without the noise across the sheet, whose variance 1 / beta `noise` adds."""
        checks.flag("noise", noise)
        X, S, mean, variance = self.recover(Y, n_starts)
        return Reconstruction(mean, np.sqrt(variance + self.map_.noise_variance if noise else variance), X, S)
