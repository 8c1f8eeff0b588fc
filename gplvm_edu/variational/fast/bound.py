"""The bound and its gradient on packed Psi statistics, for data with gaps too: groups of outputs share exponentials."""

from typing import NamedTuple

import numpy as np

from ...threads import suited
from ..bound import (
    JITTER,
    BoundTerms,
    Factors,
    factorise,
    inducing_factor,
    kl_divergence,
    solve_lower,
    solve_lower_right,
)
from ..gaps import output_groups
from ..objective import Gradients, n_inducing, subtract_kl_gradients
from ..psi import PsiStatistics
from .kernel_expectations import PackedPsi, pairs
from .statistics import psi_statistics


class OutputGroup(NamedTuple):
    """Outputs that were observed at the same points.

    rows, columns : where they stand in the data; Y : their values, with `n_outputs` columns or, where these would be
    more than the rows, as many as rows with the same products Y Y'; squared_norm : the sum of squares of Y.
    """

    rows: slice | np.ndarray
    columns: np.ndarray
    Y: np.ndarray
    n_outputs: int
    squared_norm: float


class Outputs(NamedTuple):
    """Data made ready: one `OutputGroup` for each set of rows; members (G, N) : 1 where observed; None: complete."""

    groups: list[OutputGroup]
    members: np.ndarray | None


def group_outputs(Y, narrow=True) -> Outputs:
    """Sort the outputs by the points at which they were observed, NaN is a gap: `Outputs`.

    With `narrow`, complete data with more columns than rows are replaced by N columns with the same products Y Y',
    which is all that the bound sees of them.

    Notes
    -----
    Costs O(N D), or O(N^2 D) where there are more columns than rows. Chapter 12, equation (12.26).

    Examples
    --------
    >>> group_outputs(np.array([[1.0, 2.0, np.nan], [3.0, 4.0, 5.0]])).members
    array([[0., 1.],
           [1., 1.]])
    """
    N, D = Y.shape
    if not np.isnan(Y).any():
        narrowed = np.linalg.qr(Y.T, mode="r").T if narrow and D > N else Y  # type: ignore[attr-defined]  # R'R = Y Y'
        return Outputs([OutputGroup(slice(None), np.arange(D), narrowed, D, float(np.sum(Y**2)))], None)
    groups, members = [], []
    for rows, columns in output_groups(Y):
        Y_g = Y[np.ix_(rows, columns)]
        groups.append(OutputGroup(rows, columns, Y_g, len(columns), float(np.sum(Y_g**2))))
        members.append(np.isin(np.arange(N), rows).astype(float))
    return Outputs(groups, np.array(members))


class Evaluation(NamedTuple):
    """The bound at one place: its terms, the packed statistics, those and the factors of each group, the jitter."""

    terms: BoundTerms
    psi: PackedPsi
    of_groups: list[PsiStatistics]
    factors: list[Factors]
    jitter: float


@suited(n_inducing)
def evaluate_bound(outputs, parameters, jitter=JITTER) -> Evaluation:
    """The ELBO without its gradient, as `objective.evaluate_bound`, of `Outputs`: an `Evaluation`.

    Notes
    -----
    Costs O(N M^2 q + N M D + G M^3). Chapter 12, equations (12.21), (12.22) and (12.26).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import Parameters
    >>> Y, mu, S = np.array([[1.0], [-1.0]]), np.array([[1.0], [-1.0]]), np.full((2, 1), 0.1)
    >>> round(evaluate_bound(group_outputs(Y), Parameters(mu, S, mu, RBF(), 0.1)).terms.elbo, 3)
    -6.401
    """
    mu, S, Z, kernel, noise = parameters
    psi = psi_statistics(kernel, mu, S, Z, outputs.members)
    L, share = inducing_factor(kernel(Z), jitter)
    of_groups, factors, fit, trace = [], [], 0.0, 0.0
    for group, Psi2 in zip(outputs.groups, psi.Psi2, strict=True):
        own = PsiStatistics(psi.psi0[group.rows], psi.Psi1[group.rows], Psi2)
        f, D = factorise(L, own, group.Y, 1.0 / noise), group.n_outputs
        fit += 0.5 * len(own.psi0) * D * np.log(f.beta / (2.0 * np.pi)) - D * np.sum(np.log(np.diag(f.L_B)))
        fit += 0.5 * np.sum(f.C**2) - 0.5 * f.beta * group.squared_norm  # (12.22)
        trace += 0.5 * D * (f.beta * np.sum(own.psi0) - np.trace(f.A))  # (12.22)
        of_groups.append(own)
        factors.append(f)
    kl = 0.0 if S is None else kl_divergence(mu, S)
    return Evaluation(BoundTerms(float(fit), float(trace), kl), psi, of_groups, factors, share)


@suited(n_inducing)
def bound_and_gradients(outputs, parameters, jitter=JITTER) -> tuple[BoundTerms, Gradients]:
    """The bound and its gradient in every parameter, as `objective.bound_and_gradients`, of `Outputs`.

    Notes
    -----
    Costs O(N M^2 q + N M D + G M^3) for G groups of outputs. Chapter 12, equations (12.21) to (12.26).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import Parameters
    >>> Y, mu, S = np.array([[1.0], [-1.0]]), np.array([[1.0], [-1.0]]), np.full((2, 1), 0.1)
    >>> bound_and_gradients(group_outputs(Y), Parameters(mu, S, mu, RBF(), 0.1))[1].latent_variance.round(3).ravel()
    array([-0.561, -0.561])
    """
    evaluation = evaluate_bound(outputs, parameters, jitter)
    return evaluation.terms, subtract_kl_gradients(data_gradients(outputs, parameters, evaluation), parameters)


def data_gradients(outputs, parameters, evaluation) -> Gradients:
    """Gradient of fit - trace, the bound without its KL, at an `Evaluation`, as `objective.data_gradients`."""
    (mu, _, Z, kernel, noise), psi = parameters, evaluation.psi
    first, second, times, _ = pairs(len(Z))
    d_psi0, d_Psi1, d_pairs = np.zeros(len(mu)), np.zeros_like(psi.Psi1), np.empty_like(psi.pairs)
    d_K, d_beta = np.zeros((len(Z), len(Z))), 0.0
    for g, (group, own, f) in enumerate(zip(outputs.groups, evaluation.of_groups, evaluation.factors, strict=True)):
        D, beta = group.n_outputs, f.beta
        half = solve_lower(f.L_B, f.A)
        V = solve_lower_right(half, f.L)
        beta_B = f.R.T @ f.C  # beta P^-1 Psi1' Y  (M, D)
        outer = beta_B @ beta_B.T
        d_psi0[group.rows] += -0.5 * beta * D  # (12.23)
        d_Psi1[group.rows] += group.Y @ (beta * beta_B.T)  # (12.23)
        d_Psi2 = 0.5 * beta * (D * (f.R.T @ V) - outer)  # (12.24)
        d_pairs[g] = 0.5 * (d_Psi2 + d_Psi2.T)[first, second] * times
        d_K -= 0.5 * (D * (V.T @ V) + outer)  # (12.24)
        d_beta += 0.5 * (len(own.psi0) * D / beta - group.squared_norm - D * np.sum(own.psi0))
        d_beta += 0.5 * D / beta * np.sum(half**2) + np.sum(f.C**2) / beta
        d_beta -= 0.5 * np.sum(beta_B * (own.Psi2 @ beta_B))  # (12.25)
    d_K.flat[:: len(Z) + 1] += evaluation.jitter * np.trace(d_K) / len(Z)  # the jitter is a share of K's mean diagonal
    d_mu, d_S, d_Z, d_kernel = psi.pull_back(d_psi0, d_Psi1, d_pairs)
    d_Z1, d_Z2, d_theta = kernel.parameter_gradients(d_K, Z)  # K = k(Z, Z); theta: parameters of k
    return Gradients(d_mu, d_S, d_Z + d_Z1 + d_Z2, d_kernel + d_theta, -float(d_beta) / noise**2)
