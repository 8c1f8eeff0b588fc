"""Missing outputs: nothing is filled in. Data with gaps are groups of complete columns, and a bound is their sum.

Outputs that were observed at the same points stand in one group. Given the latent points and u the outputs are
independent, so the bound of each group is that of complete data, at its own points; only the KL is paid once. The same
holds for a new row: outputs that were not seen do not stand in its sums.
"""

import numpy as np

from ..threads import suited
from .bound import JITTER, BoundTerms, kl_divergence
from .density import gain_over_frozen
from .frozen import LinearTerms, expected_log_likelihood, frozen_bound, linear_terms
from .moments import point_statistics
from .objective import Gradients, data_gradients, evaluate_bound, n_inducing, subtract_kl_gradients


def output_groups(Y) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows and columns of each group of outputs that were observed at the same points; NaN is a gap, (12.26).

    Notes
    -----
    Costs O(N D).

    Examples
    --------
    >>> output_groups(np.array([[1.0, 2.0, np.nan], [3.0, 4.0, 5.0]]))
    [(array([1]), array([2])), (array([0, 1]), array([0, 1]))]
    """
    patterns, label = np.unique(~np.isnan(Y).T, axis=0, return_inverse=True)
    return [(np.flatnonzero(rows), np.flatnonzero(np.ravel(label) == g)) for g, rows in enumerate(patterns)]


@suited(n_inducing)
def bound_and_gradients(Y, parameters, jitter=JITTER) -> tuple[BoundTerms, Gradients]:
    """The bound of data with gaps and its gradient: those of complete data, summed over `output_groups`, (12.26).

    Notes
    -----
    Costs O(G N M^2 q + N M D + G M^3) for G groups.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import Parameters
    >>> Y, mu, S = np.array([[1.0, np.nan], [-1.0, 2.0]]), np.array([[1.0], [-1.0]]), np.full((2, 1), 0.1)
    >>> round(bound_and_gradients(Y, Parameters(mu, S, mu, RBF(), 0.1))[0].elbo, 3)
    -9.802
    """
    mu, S, Z, kernel, _ = parameters
    terms = BoundTerms(0.0, 0.0, 0.0)
    d = Gradients(np.zeros_like(mu), np.zeros_like(mu), np.zeros_like(Z), np.zeros(len(kernel.parameters)), 0.0)
    for rows, columns in output_groups(Y):
        Y_g, alone = Y[np.ix_(rows, columns)], _rows_of(parameters, rows)
        found = evaluate_bound(Y_g, alone, jitter)
        d_g = data_gradients(Y_g, alone, found)
        d.latent_mean[rows] += d_g.latent_mean
        d.latent_variance[rows] += d_g.latent_variance
        d = d._replace(
            inducing_inputs=d.inducing_inputs + d_g.inducing_inputs,
            kernel=d.kernel + d_g.kernel,
            noise_variance=d.noise_variance + d_g.noise_variance,
        )
        terms = BoundTerms(terms.fit + found.terms.fit, terms.trace + found.terms.trace, 0.0)  # (12.26)
    kl = 0.0 if S is None else kl_divergence(mu, S)
    return terms._replace(kl=kl), subtract_kl_gradients(d, parameters)


def _rows_of(parameters, rows):
    mu, S = parameters.latent_mean, parameters.latent_variance
    return parameters._replace(latent_mean=mu[rows], latent_variance=None if S is None else S[rows])


def seen_parts(maps, y) -> list:
    """The outputs of a row y (D,) that were seen, (`FrozenMap`, values) for each of `maps`, pairs (columns, map).

    Examples
    --------
    >>> from gplvm_edu.variational import FrozenMap
    >>> map_ = FrozenMap(None, None, np.array([[1.0, 2.0, 3.0]]), None, None, 1.0)
    >>> part, values = seen_parts([(np.arange(3), map_)], np.array([5.0, np.nan, 7.0]))[0]
    >>> part.weights, values
    (array([[1., 3.]]), array([5., 7.]))
    """
    parts = []
    for columns, map_ in maps:
        seen = ~np.isnan(y[columns])
        parts.append((map_._replace(weights=map_.weights[:, seen]), y[columns][seen]))
    return parts


def row_terms(maps, y) -> LinearTerms:
    """`linear_terms` of a row with gaps: those of each group, by what was seen of it, added up, (13.10)."""
    parts = [linear_terms(map_, seen) for map_, seen in seen_parts(maps, y)]
    constant, of_psi0, of_psi1, of_Psi2 = (np.sum(term, axis=0) for term in zip(*parts, strict=True))
    return LinearTerms(constant, of_psi0, of_psi1, of_Psi2)


def frozen_row_bound(maps, y, latent_mean, latent_variance) -> tuple[float, np.ndarray, np.ndarray]:
    """`frozen_bound` of a row with gaps; the groups share kernel, Z and noise, (13.8)."""
    return frozen_bound(maps[0][1], row_terms(maps, y), latent_mean, latent_variance)


def ratio_of_row_bounds(maps, y, latent_mean, latent_variance) -> tuple[float, float]:
    """`ratio_of_bounds` of a row with gaps: the gain of each group of outputs, by what was seen of it, (13.17)."""
    psi = point_statistics(maps[0][1], latent_mean, latent_variance)
    gain = sum(gain_over_frozen(map_, seen, psi) for map_, seen in seen_parts(maps, y))
    kl = 0.0 if latent_variance is None else kl_divergence(latent_mean, latent_variance)
    frozen = expected_log_likelihood(row_terms(maps, y), psi) - kl
    return frozen + gain, frozen
