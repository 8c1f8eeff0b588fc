"""The whole objective, the evidence lower bound (ELBO) of complete data: all parameters, its gradient, its maximum.

Plain: `gaps` has the same for data with missing entries, and `fast` the one that the estimator uses.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..kernels import Kernel
from ..kernels.parameters import softplus, softplus_inverse, softplus_slope
from ..optimise import minimise
from ..threads import suited
from .bound import (
    JITTER,
    BoundTerms,
    Factors,
    factorise,
    inducing_factor,
    kl_divergence,
    output_gradients,
    output_terms,
)
from .psi import PsiStatistics, psi_gradients, psi_statistics

SMALLEST_VARIANCE = 1e-10  # of q(x): bounds it away from the point, where the KL is infinite
MEAN_UNIT = 0.4  # by so much a latent mean moves when its entry in the vector moves by 1


class Parameters(NamedTuple):
    """Everything that the bound is maximised over; `latent_variance` is None for points; the kernel has no White."""

    latent_mean: np.ndarray
    latent_variance: np.ndarray | None
    inducing_inputs: np.ndarray
    kernel: Kernel
    noise_variance: float


def n_inducing(Y, parameters, jitter=None) -> int:
    """Rows of K_MM, the largest matrix that a bound factorises: what `threads.suited` asks for."""
    return len(parameters.inducing_inputs)


class Evaluation(NamedTuple):
    """The bound at one place: its terms, the Psi statistics, the factors, the share of jitter that was needed."""

    terms: BoundTerms
    psi: PsiStatistics
    factors: Factors
    jitter: float


@suited(n_inducing)
def evaluate_bound(Y, parameters, jitter=JITTER) -> Evaluation:
    """The ELBO of complete, centred data Y (N, D) without its gradient: an `Evaluation` (see `bound_and_gradients`).

    Notes
    -----
    Costs O(N M^2 q + N M D + M^3). Chapter 12, equations (12.21) and (12.22).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> Y, mu, S = np.array([[1.0], [-1.0]]), np.array([[1.0], [-1.0]]), np.full((2, 1), 0.1)
    >>> terms = evaluate_bound(Y, Parameters(mu, S, mu, RBF(), 0.1)).terms
    >>> [round(term, 3) for term in terms], round(terms.elbo, 3)
    ([-3.227, 0.772, 2.403], -6.401)
    """
    mu, S, Z, kernel, noise = parameters
    psi = psi_statistics(kernel, mu, S, Z)
    L, share = inducing_factor(kernel(Z), jitter)
    factors = factorise(L, psi, Y, 1.0 / noise)
    fit, trace = output_terms(Y, psi, factors)
    kl = 0.0 if S is None else kl_divergence(mu, S)
    return Evaluation(BoundTerms(float(fit), float(trace), kl), psi, factors, share)


class Gradients(NamedTuple):
    """Gradients of the bound in each of `Parameters`; that of the kernel in its parameters, in their order."""

    latent_mean: np.ndarray
    latent_variance: np.ndarray
    inducing_inputs: np.ndarray
    kernel: np.ndarray
    noise_variance: float


def data_gradients(Y, parameters, evaluation) -> Gradients:
    """Gradient of fit - trace, the bound without its KL, at an `Evaluation`: back through matrices and statistics.

    Notes
    -----
    Costs O(N M^2 q + N M D + M^3). Chapter 12, equations (12.23) to (12.25) and those of `psi_gradients`.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> Y, mu, S = np.array([[1.0], [-1.0]]), np.array([[1.0], [-1.0]]), np.full((2, 1), 0.1)
    >>> parameters = Parameters(mu, S, mu, RBF(), 0.1)
    >>> data_gradients(Y, parameters, evaluate_bound(Y, parameters)).latent_variance.round(3).ravel()
    array([-5.061, -5.061])
    """
    (mu, S, Z, kernel, noise), (_, psi, factors, share) = parameters, evaluation
    d = output_gradients(Y, psi, factors)
    d_psi0 = np.full(len(mu), d.psi0)  # (N,)
    d_mu, d_S, d_Z, d_kernel = psi_gradients(kernel, mu, S, Z, d_psi0, d.Psi1, d.Psi2)
    d_K = d.K + share * np.mean(np.diag(d.K)) * np.eye(len(Z))  # jitter: a share of mean(diag K)
    d_Z1, d_Z2, d_theta = kernel.parameter_gradients(d_K, Z)  # K = k(Z, Z); theta: parameters of k
    return Gradients(d_mu, d_S, d_Z + d_Z1 + d_Z2, d_kernel + d_theta, -d.beta / noise**2)


def subtract_kl_gradients(gradients, parameters) -> Gradients:
    """Gradients of fit - trace, with those of the KL subtracted; without variances there is no KL.

    Notes
    -----
    Costs O(N q). The gradients of chapter 12, equation (12.4): mu, and (1 - 1 / S) / 2.

    Examples
    --------
    >>> none = np.zeros((1, 1))
    >>> at = Parameters(none + 3.0, none + 0.5, none, None, 1.0)
    >>> subtract_kl_gradients(Gradients(none, none, none, none, 0.0), at)[:2]
    (array([[-3.]]), array([[0.5]]))
    """
    mu, S = parameters.latent_mean, parameters.latent_variance
    if S is None:
        return gradients
    d_mu, d_S = gradients.latent_mean - mu, gradients.latent_variance - 0.5 * (1.0 - 1.0 / S)
    return gradients._replace(latent_mean=d_mu, latent_variance=d_S)


@suited(n_inducing)
def bound_and_gradients(Y, parameters, jitter=JITTER) -> tuple[BoundTerms, Gradients]:
    r"""The bound (the evidence lower bound, ELBO) of complete data, and its gradient in every parameter.

    .. math:: F = \text{fit} - \text{trace} - \mathrm{KL}(q(X) \,\|\, p(X))

    Parameters
    ----------
    Y : ndarray (N, D)
        Centred, without gaps.
    parameters : Parameters
    jitter : float
        Share of the mean diagonal of K_MM that is added to it.

    Returns
    -------
    terms : BoundTerms
    gradients : Gradients

    Notes
    -----
    Costs O(N M^2 q + N M D + M^3); nothing of N x N. Chapter 12, equations (12.21) to (12.25); Titsias and Lawrence
    (2010), equations (8), (9) and (14).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> Y, mu, S = np.array([[1.0], [-1.0]]), np.array([[1.0], [-1.0]]), np.full((2, 1), 0.1)
    >>> terms, gradients = bound_and_gradients(Y, Parameters(mu, S, mu, RBF(), 0.1))
    >>> round(terms.elbo, 3), gradients.latent_variance.round(3).ravel()
    (-6.401, array([-0.561, -0.561]))
    """
    evaluation = evaluate_bound(Y, parameters, jitter)
    gradients = data_gradients(Y, parameters, evaluation)
    return evaluation.terms, subtract_kl_gradients(gradients, parameters)


class Packing:
    """Between `Parameters` and the flat vector of an optimiser, equation (12.27).

    Latent means are divided by a unit; variances of the latent points go through the logarithm, those of the kernel
    and of the noise through the softplus; an inverse width through the softplus of its length scale. Which is chosen
    decides which maximum is found. A parameter of the kernel that is fixed, and the noise if it is, has no entry.
    """

    def __init__(self, start, noise_floor, fixed_noise=False):
        self.start, self.noise_floor = start, noise_floor
        self.shapes = start.latent_mean.shape, start.inducing_inputs.shape
        self.is_width = np.array(["inverse_width" in name for name in start.kernel.parameter_names])
        self.free = np.append(start.kernel.is_free, not fixed_noise)  # of the kernel's parameters and the noise

    def pack(self, parameters) -> np.ndarray:
        """The vector of some parameters."""
        mu, S, Z, kernel, noise = parameters
        scales = np.where(self.is_width, kernel.parameters**-0.5, kernel.parameters)
        positive = np.append(scales, max(noise - self.noise_floor, 1e-3 * self.noise_floor))
        logs = [] if S is None else np.log(S).ravel()
        free = softplus_inverse(positive[self.free])
        return np.concatenate([mu.ravel() / MEAN_UNIT, logs, Z.ravel(), free])  # (12.27)

    def unpack(self, x) -> Parameters:
        """The parameters of a vector."""
        (N, q), (M, _) = self.shapes
        mu, x = MEAN_UNIT * x[: N * q].reshape(N, q), x[N * q :]
        S = None
        if self.start.latent_variance is not None:
            S, x = np.maximum(np.exp(x[: N * q]), SMALLEST_VARIANCE).reshape(N, q), x[N * q :]
        Z, kernel, positive = x[: M * q].reshape(M, q), self.start.kernel.copy(), np.ones(len(self.free))
        positive[self.free] = np.clip(softplus(x[M * q :]), 1e-100, 1e100)
        moved = np.clip(np.where(self.is_width, positive[:-1] ** -2.0, positive[:-1]), 1e-100, 1e100)  # (12.27)
        kernel.parameters = np.where(self.free[:-1], moved, kernel.parameters)
        noise = positive[-1] + self.noise_floor if self.free[-1] else self.start.noise_variance
        return Parameters(mu, S, Z, kernel, float(noise))

    def pull_back(self, parameters, gradients) -> np.ndarray:
        """Gradients in the parameters as one in the vector."""
        _, S, _, kernel, noise = parameters
        scales = np.where(self.is_width, kernel.parameters**-0.5, kernel.parameters)
        d_scales = gradients.kernel * np.where(self.is_width, -2.0 * scales**-3.0, 1.0)
        positive = np.append(scales, noise - self.noise_floor)
        d_positive = np.append(d_scales, gradients.noise_variance) * softplus_slope(positive)
        d_logs = [] if S is None else (S * gradients.latent_variance).ravel()
        d_mean = MEAN_UNIT * gradients.latent_mean.ravel()
        return np.concatenate([d_mean, d_logs, gradients.inducing_inputs.ravel(), d_positive[self.free]])


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
    bound, start, method="l-bfgs", max_iter=1000, tolerance=1e-3, noise_floor=1e-8, fixed_noise=False
) -> Iterator[VariationalState]:
    """Generator of `VariationalState`: maximise a bound (ELBO) from the start, which is the first iterate.

    ``bound(parameters)`` gives its terms and gradients, as `bound_and_gradients` does for one set of outputs. The
    kernel passed in is not changed; what is fixed in it, and the noise if it is, stays. Chapter 12, equation (12.27).

    Examples
    --------
    >>> from functools import partial
    >>> from gplvm_edu.kernels import RBF
    >>> Y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> start = Parameters(Y, np.full(Y.shape, 0.1), Y, RBF(1.0, np.ones(2)), 0.1)
    >>> states = list(variational_iterates(partial(bound_and_gradients, Y), start, max_iter=5))
    >>> states[-1].value > states[0].value
    True
    """
    packing = Packing(start, noise_floor, fixed_noise)
    seen: dict = {}  # the terms at every point tried since the last iterate

    def value_and_gradient(x):
        parameters = packing.unpack(x)
        terms, gradients = bound(parameters)
        seen[x.tobytes()] = terms
        return -terms.elbo, -packing.pull_back(parameters, gradients)

    for iterate in minimise(value_and_gradient, packing.pack(start), method, max_iter, tolerance):
        key = iterate.x.tobytes()  # the very point that was evaluated, so none is evaluated twice
        terms = seen[key]
        seen.clear()
        seen[key] = terms  # a stalled run gives its last point twice
        yield VariationalState(packing.unpack(iterate.x), terms, iterate.n_evaluations, iterate.stopped)
