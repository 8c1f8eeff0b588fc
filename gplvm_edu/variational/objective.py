"""The whole objective, the evidence lower bound (ELBO): data with gaps, all parameters, its gradient, its maximum."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..kernels import Kernel
from ..kernels.parameters import softplus, softplus_inverse, softplus_slope
from ..optimise import minimise
from .bound import JITTER, BoundTerms, factorise, inducing_factor, kl_divergence, output_gradients, output_terms
from .kernel_expectations import PsiStatistics, pairs
from .psi import psi_statistics

SMALLEST_VARIANCE = 1e-10  # of q(x): bounds it away from the point, where the KL is infinite
MEAN_UNIT = 0.4  # by so much a latent mean moves when its entry in the vector moves by 1


class Outputs(NamedTuple):
    """Data made ready: gaps are zeros, and outputs observed at the same points stand in one group.

    Y (N, D); columns: the columns of each group; groups (G, N): 1 where a group was observed, or None for complete
    data; n_outputs and squared_norm: D and the sum of squares of each group.
    """

    Y: np.ndarray
    columns: list
    groups: np.ndarray | None
    n_outputs: list
    squared_norm: list

    @property
    def n_observed(self) -> list[int]:
        """Points at which each group was observed, (G,)."""
        return [len(self.Y)] if self.groups is None else self.groups.sum(axis=1).tolist()


def group_outputs(Y) -> Outputs:
    """Sort the outputs by the points at which they were observed; NaN is a gap, equation (12.26).

    Complete data with more columns than rows are replaced by N columns with the same products Y Y', which is all that
    the bound sees of them.

    Notes
    -----
    Costs O(N D), or O(N^2 D) where there are more columns than rows.

    Examples
    --------
    >>> group_outputs(np.array([[1.0, 2.0, np.nan], [3.0, 4.0, 5.0]])).groups
    array([[0., 1.],
           [1., 1.]])
    """
    observed = ~np.isnan(Y)
    N, D = Y.shape
    if observed.all():
        if D > N:
            Y = np.linalg.qr(Y.T, mode="r").T  # type: ignore[attr-defined]  # R'R = Y Y', and R is all that comes back
        return Outputs(Y, [np.arange(Y.shape[1])], None, [D], [float(np.sum(Y**2))])
    patterns, label = np.unique(observed.T, axis=0, return_inverse=True)  # (12.26)
    columns = [np.flatnonzero(np.ravel(label) == g) for g in range(len(patterns))]
    filled = np.where(observed, Y, 0.0)
    norms = [float(np.sum(filled[:, c] ** 2)) for c in columns]
    return Outputs(filled, columns, patterns.astype(float), [len(c) for c in columns], norms)


class Parameters(NamedTuple):
    """Everything that the bound is maximised over; `latent_variance` is None for points; the kernel has no White."""

    latent_mean: np.ndarray
    latent_variance: np.ndarray | None
    inducing_inputs: np.ndarray
    kernel: Kernel
    noise_variance: float


class Evaluation(NamedTuple):
    """The bound at one place: its terms, the Psi statistics, the factors of each group, the share of jitter."""

    terms: BoundTerms
    psi: PsiStatistics
    factors: list
    jitter: float


def evaluate_bound(outputs, parameters, jitter=JITTER) -> Evaluation:
    """The ELBO without its gradient: an `Evaluation` (see `bound_and_gradients`), (12.22).

    Notes
    -----
    Costs O(N M^2 q + N M D + G M^3). Chapter 12, equations (12.21), (12.22) and (12.26).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> Y, mu, S = np.array([[1.0], [-1.0]]), np.array([[1.0], [-1.0]]), np.full((2, 1), 0.1)
    >>> terms = evaluate_bound(group_outputs(Y), Parameters(mu, S, mu, RBF(), 0.1)).terms
    >>> [round(term, 3) for term in terms], round(terms.elbo, 3)
    ([-3.227, 0.772, 2.403], -6.401)
    """
    mu, S, Z, kernel, noise = parameters
    psi = psi_statistics(kernel, mu, S, Z, outputs.groups)
    L, share = inducing_factor(kernel(Z), jitter)  # (12.21)
    Psi2, factors, fit, trace = psi.Psi2, [], 0.0, 0.0
    for g, columns in enumerate(outputs.columns):
        factors.append(factorise(L, Psi2[g], psi.Psi1.T @ outputs.Y[:, columns], 1.0 / noise))
        fit_g, trace_g = output_terms(factors[g], *_counts(outputs, psi, g))  # (12.22)
        fit, trace = fit + fit_g, trace + trace_g  # (12.26)
    kl = 0.0 if S is None else kl_divergence(mu, S)
    return Evaluation(BoundTerms(float(fit), float(trace), kl), psi, factors, share)


def _counts(outputs, psi, g):
    """N, D, the sum of squares and psi0 of one group."""
    psi0 = psi.psi0.sum() if outputs.groups is None else outputs.groups[g] @ psi.psi0
    return outputs.n_observed[g], outputs.n_outputs[g], outputs.squared_norm[g], psi0


class Gradients(NamedTuple):
    """Gradients of the bound in each of `Parameters`; that of the kernel in its parameters, in their order."""

    latent_mean: np.ndarray
    latent_variance: np.ndarray
    inducing_inputs: np.ndarray
    kernel: np.ndarray
    noise_variance: float


def bound_and_gradients(outputs, parameters, jitter=JITTER) -> tuple[BoundTerms, Gradients]:
    r"""The bound (the evidence lower bound, ELBO), and its gradient in every parameter.

    .. math:: F = \sum_g F_g - \mathrm{KL}(q(X) \,\|\, p(X))

    Parameters
    ----------
    outputs : Outputs
        What `group_outputs` made of the centred data.
    parameters : Parameters
    jitter : float
        Share of the mean diagonal of K_MM that is added to it.

    Returns
    -------
    terms : BoundTerms
    gradients : Gradients

    Notes
    -----
    Costs O(N M^2 q + N M D + G M^3) for G groups of outputs; nothing of N x N. Chapter 12, equations (12.21) to
    (12.26); Titsias and Lawrence (2010), equations (8), (9) and (14).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> Y, mu, S = np.array([[1.0], [-1.0]]), np.array([[1.0], [-1.0]]), np.full((2, 1), 0.1)
    >>> terms, gradients = bound_and_gradients(group_outputs(Y), Parameters(mu, S, mu, RBF(), 0.1))
    >>> round(terms.elbo, 3), gradients.latent_variance.round(3).ravel()
    (-6.401, array([-0.561, -0.561]))
    """
    mu, S, Z, kernel, noise = parameters
    terms, psi, factors, share = evaluate_bound(outputs, parameters, jitter)
    d_psi0, d_Psi1 = np.zeros(len(mu)), np.zeros_like(psi.Psi1)
    d_pairs, d_K, d_beta = np.empty_like(psi.pairs), np.zeros((len(Z), len(Z))), 0.0
    first, second, times, _ = pairs(len(Z))
    for g, columns in enumerate(outputs.columns):
        d = output_gradients(factors[g], *_counts(outputs, psi, g))  # (12.23), (12.24)
        d_psi0 += d.psi0 if outputs.groups is None else d.psi0 * outputs.groups[g]
        d_Psi1 += outputs.Y[:, columns] @ d.Psi1_Y.T
        d_pairs[g], d_K, d_beta = d.Psi2[first, second] * times, d_K + d.K, d_beta + d.beta
    d_K.flat[:: len(Z) + 1] += share * np.trace(d_K) / len(Z)  # the jitter moves with K
    d_mu, d_S, d_Z, d_kernel = psi.pull_back(d_psi0, d_Psi1, d_pairs)
    one, other, more = kernel.parameter_gradients(d_K, Z)
    if S is not None:
        d_mu, d_S = d_mu - mu, d_S - 0.5 * (1.0 - 1.0 / S)  # (12.4)
    return terms, Gradients(d_mu, d_S, d_Z + one + other, d_kernel + more, -d_beta / noise**2)


class Packing:
    """Between `Parameters` and the flat vector of an optimiser, equation (12.27).

    Latent means are divided by a unit; variances of the latent points go through the logarithm, those of the kernel
    and of the noise through the softplus; an inverse width through the softplus of its length scale. Which is chosen
    decides which maximum is found.
    """

    def __init__(self, start, noise_floor):
        self.start, self.noise_floor = start, noise_floor
        self.shapes = start.latent_mean.shape, start.inducing_inputs.shape
        self.is_width = np.array(["inverse_width" in name for name in start.kernel.parameter_names])

    def pack(self, parameters) -> np.ndarray:
        """The vector of some parameters."""
        mu, S, Z, kernel, noise = parameters
        scales = np.where(self.is_width, kernel.parameters**-0.5, kernel.parameters)
        positive = np.append(scales, max(noise - self.noise_floor, 1e-3 * self.noise_floor))
        logs = [] if S is None else np.log(S).ravel()
        return np.concatenate([mu.ravel() / MEAN_UNIT, logs, Z.ravel(), softplus_inverse(positive)])  # (12.27)

    def unpack(self, x) -> Parameters:
        """The parameters of a vector."""
        (N, q), (M, _) = self.shapes
        mu, x = MEAN_UNIT * x[: N * q].reshape(N, q), x[N * q :]
        S = None
        if self.start.latent_variance is not None:
            S, x = np.maximum(np.exp(x[: N * q]), SMALLEST_VARIANCE).reshape(N, q), x[N * q :]
        Z, positive = x[: M * q].reshape(M, q), np.clip(softplus(x[M * q :]), 1e-100, 1e100)
        kernel = self.start.kernel.copy()
        kernel.parameters = np.where(self.is_width, positive[:-1] ** -2.0, positive[:-1])  # (12.27)
        return Parameters(mu, S, Z, kernel, float(positive[-1] + self.noise_floor))

    def pull_back(self, parameters, gradients) -> np.ndarray:
        """Gradients in the parameters as one in the vector."""
        _, S, _, kernel, noise = parameters
        scales = np.where(self.is_width, kernel.parameters**-0.5, kernel.parameters)
        d_scales = gradients.kernel * np.where(self.is_width, -2.0 * scales**-3.0, 1.0)
        positive = np.append(scales, noise - self.noise_floor)
        d_positive = np.append(d_scales, gradients.noise_variance) * softplus_slope(positive)
        d_logs = [] if S is None else (S * gradients.latent_variance).ravel()
        d_mean = MEAN_UNIT * gradients.latent_mean.ravel()
        return np.concatenate([d_mean, d_logs, gradients.inducing_inputs.ravel(), d_positive])


class VariationalState(NamedTuple):
    """One iterate of a fit: all parameters, the terms of the bound, evaluations so far, why it ended."""

    parameters: Parameters
    terms: BoundTerms
    n_evaluations: int
    stopped: str = ""

    @property
    def value(self) -> float:
        """The bound."""
        return self.terms.elbo

    @property
    def X(self) -> np.ndarray:
        """Means of the latent points, (N, q)."""
        return self.parameters.latent_mean


def variational_iterates(
    bound, start, method="l-bfgs", max_iter=1000, tolerance=1e-3, noise_floor=1e-8
) -> Iterator[VariationalState]:
    """Generator of `VariationalState`: maximise a bound (ELBO) from the start, which is the first iterate, (12.27).

    ``bound(parameters)`` gives its terms and gradients, as `bound_and_gradients` does for one set of outputs. The
    kernel passed in is not changed.

    Examples
    --------
    >>> from functools import partial
    >>> from gplvm_edu.kernels import RBF
    >>> Y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> start = Parameters(Y, np.full(Y.shape, 0.1), Y, RBF(1.0, np.ones(2)), 0.1)
    >>> states = list(variational_iterates(partial(bound_and_gradients, group_outputs(Y)), start, max_iter=5))
    >>> states[-1].value > states[0].value
    True
    """
    packing, seen = Packing(start, noise_floor), {}  # seen: the terms at every point tried since the last iterate

    def value_and_gradient(x):
        parameters = packing.unpack(x)
        terms, gradients = bound(parameters)
        seen[x.tobytes()] = terms
        return -terms.elbo, -packing.pull_back(parameters, gradients)  # (12.27)

    for iterate in minimise(value_and_gradient, packing.pack(start), method, max_iter, tolerance):
        terms = seen[iterate.x.tobytes()]
        seen.clear()
        seen[iterate.x.tobytes()] = terms  # a stalled run gives its last point twice
        yield VariationalState(packing.unpack(iterate.x), terms, iterate.n_evaluations, iterate.stopped)
