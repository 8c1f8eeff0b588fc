"""Where does a new point belong? Its latent posterior q(x*), for all new points at once."""

from typing import NamedTuple

import numpy as np

from ..linalg import nearest_rows
from ..optimise import minimise_rows
from .kernel_expectations import pairs

BLOCK_ROWS = 256  # test points (times starts) that are placed together
NEAR = 1e-4  # a search that asks for less than this is not followed to its last digit


class LinearTerms(NamedTuple):
    """The expected log likelihood of test points as a linear function of their Psi statistics.

    constant (n,); the coefficients of psi0, of_psi0 (n,), of Psi1, of_Psi1 (n, M), and of the P = M(M+1)/2 entries
    m <= m' of Psi2 (each off the diagonal counted twice), of_pairs (U, P), which depend only on which outputs were
    observed: there are U such patterns, and pattern (n,) says which of them a row has.
    """

    constant: np.ndarray
    of_psi0: np.ndarray
    of_Psi1: np.ndarray
    of_pairs: np.ndarray
    pattern: np.ndarray


def linear_terms(map_, Y_new) -> LinearTerms:
    r"""Coefficients (`LinearTerms`) of each row's expected log likelihood, entries O observed, in its Psi statistics.

    .. math:: \sum_{d \in O} \Big\{ \tfrac12 \ln \tfrac{\beta}{2\pi} - \tfrac\beta2 \big[ y_{*d}^2
              - 2 y_{*d} \Lambda_d^\top \psi_1^* + \psi_0^* + \mathrm{tr}\,
              (\Lambda_d \Lambda_d^\top - K_{MM}^{-1} + P^{-1}) \Psi_2^* \big] \Big\}

    Parameters
    ----------
    map_ : InducingMap
    Y_new : ndarray (n, D)
        Centred; NaN where not observed.

    Notes
    -----
    Costs O(n M D + U M^2 D) for U different patterns of missing entries. Chapter 13, equations (13.9) and (13.10).

    Examples
    --------
    >>> from gplvm_edu.variational import InducingMap
    >>> told, none = np.array([[[0.5]]]), np.array([0])
    >>> map_ = InducingMap(None, None, np.array([[3.0]]), told, none, (), 2.0)
    >>> terms = linear_terms(map_, np.array([[4.0]]))
    >>> terms.of_psi0, terms.of_Psi1, terms.of_pairs                             # -1, 2 * 4 * 3, -(9 - 0.5)
    (array([-1.]), array([[24.]]), array([[-8.5]]))
    """
    beta, Lambda = map_.beta, map_.weights
    first, second, times, _ = pairs(len(Lambda))
    seen = ~np.isnan(Y_new)
    Y = np.where(seen, Y_new, 0.0)
    patterns, pattern = np.unique(seen, axis=0, return_inverse=True)
    size = seen.sum(axis=1)
    in_groups = patterns @ np.eye(len(map_.differences))[map_.group]  # (U, G) outputs of each group
    in_pairs = patterns @ (Lambda[first] * Lambda[second]).T - in_groups @ map_.differences[:, first, second]
    constant = 0.5 * size * np.log(beta / (2 * np.pi)) - 0.5 * beta * np.sum(Y**2, axis=1)
    return LinearTerms(
        constant,
        -0.5 * beta * size,
        beta * Y @ Lambda.T,  # (13.10)
        -0.5 * beta * times * in_pairs,
        np.ravel(pattern),
    )


def frozen_bound(map_, terms, latent_mean, latent_variance, rows=slice(None)) -> tuple[np.ndarray, ...]:
    r"""The bound on the log density of each test point with phi(u) frozen, and its gradient in q(x*).

    .. math:: G(q) = \langle \ln p(y_*^O \mid f_*) \rangle_{q(x_*)\, \phi(u)} - \mathrm{KL}(q(x_*) \,\|\, p(x_*))

    Parameters
    ----------
    map_ : InducingMap
    terms : LinearTerms
    latent_mean : ndarray (n, q)
    latent_variance : ndarray (n, q) or None
        None for points: there is no KL then.
    rows : index
        Which rows of `terms` these are.

    Returns
    -------
    values : ndarray (n,)
    d_mean, d_variance : ndarray (n, q)

    Notes
    -----
    Costs O(n M^2 q). Rows know nothing of one another. Chapter 13, equations (13.8) to (13.11).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import Parameters, make_map
    >>> X = np.array([[-1.0], [1.0]])
    >>> map_ = make_map(np.array([[-2.0], [2.0]]), Parameters(X, 0.01 + 0 * X, X, RBF(), 0.01))
    >>> terms = linear_terms(map_, np.array([[2.0], [2.0]]))
    >>> value, d_mean, _ = frozen_bound(map_, terms, np.array([[1.0], [0.5]]), np.full((2, 1), 0.01))
    >>> bool(value[0] > value[1]), bool(d_mean[1] > 0)                           # the second should move right
    (True, True)
    """
    mu, S = latent_mean, latent_variance
    psi = map_.statistics(mu, S)
    of_psi0, of_Psi1 = terms.of_psi0[rows], terms.of_Psi1[rows]
    of_pairs = terms.of_pairs if len(terms.of_pairs) == 1 else terms.of_pairs[terms.pattern[rows]]
    values = terms.constant[rows] + of_psi0 * psi.psi0 + np.sum(of_Psi1 * psi.Psi1, axis=1)
    values = values + np.einsum("np,np->n", np.broadcast_to(of_pairs, psi.pairs.shape), psi.pairs)  # (13.9)
    d_mu, d_S = psi.pull_back(of_psi0, of_Psi1, of_pairs)  # (13.11)
    if S is None:
        return values, d_mu, d_S
    kl = 0.5 * np.sum(mu**2 + S - np.log(S) - 1.0, axis=1)
    return values - kl, d_mu - mu, d_S - 0.5 * (1.0 - 1.0 / S)  # (13.8)


class LatentPosterior(NamedTuple):
    """q(x*) of each test point: mean and variance (n, q), and the frozen bound reached (n,)."""

    mean: np.ndarray
    variance: np.ndarray
    bound: np.ndarray


def maximise_frozen_bound(map_, Y_new, start_mean, start_variance, max_iter=200, tolerance=1e-9) -> LatentPosterior:
    """Maximise `frozen_bound` from one start for each row of Y_new (n, D), all rows at once: a `LatentPosterior`.

    Notes
    -----
    Rows that have arrived are left alone, so an iteration costs O(M^2 q) for each row still on its way. The variables
    are the logarithms of the variances, and the means in units of the deviations at the start, in which the bound is
    about as steep in every direction. Without a variance to start from, the latent points are points. Chapter 13,
    equations (13.11) and (13.12).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.variational import Parameters, make_map
    >>> X = np.array([[-1.0], [1.0]])
    >>> map_ = make_map(np.array([[-2.0], [2.0]]), Parameters(X, 0.01 + 0 * X, X, RBF(), 0.01))
    >>> found = maximise_frozen_bound(map_, np.array([[1.0]]), np.zeros((1, 1)), np.ones((1, 1)))
    >>> found.mean.round(2), found.variance.round(3)
    (array([[0.43]]), array([[0.002]]))
    """
    n, q = start_mean.shape
    uncertain, terms = start_variance is not None, linear_terms(map_, Y_new)
    unit = np.sqrt(start_variance) if uncertain else np.ones((n, q))

    def unpack(x, rows):
        mu = start_mean[rows] + unit[rows] * x[:, :q]  # (13.12)
        return mu, np.exp(x[:, q:]) if uncertain else None

    def value_and_gradient(x, rows):
        mu, S = unpack(x, rows)
        value, d_mu, d_S = frozen_bound(map_, terms, mu, S, rows)
        return -value, -np.hstack([unit[rows] * d_mu, d_S * S] if uncertain else [d_mu])  # (13.11)

    start = np.hstack([0.0 * start_mean, np.log(start_variance)] if uncertain else [0.0 * start_mean])
    with np.errstate(all="ignore"):  # a trial far too long is refused
        x, value = minimise_rows(value_and_gradient, start, max_iter, tolerance)
    mu, S = unpack(x, np.arange(n))
    return LatentPosterior(mu, np.zeros((n, q)) if S is None else S, -value)


def find_latent_posterior(map_, Y_new, Y, n_starts=5, max_iter=200, tolerance=1e-9) -> LatentPosterior:
    r"""The best `LatentPosterior` of each new row over several starts, each at that of a near training row.

    Parameters
    ----------
    map_ : InducingMap
    Y_new : ndarray (n, D)
        Centred; NaN where not observed.
    Y : ndarray (N, D)
        The centred training data: neighbours are near in what was observed.
    n_starts, max_iter : int
        Near training rows whose places are tried (the best end counts), and steps of each search.
    tolerance : float
        Of the gradient, for all starts. The best of each row is then followed to its last digit, so that it does not
        show in whose company a row was searched; above 1e-4 this is left out: near is enough.

    Notes
    -----
    All rows and starts are one vectorised problem, in blocks that fit the cache. Among starts that end equally well
    the nearest neighbour's counts. Chapter 13, equation (13.12).
    """
    mu, S, neighbours = map_.latent_mean, map_.latent_variance, nearest_rows(Y_new, Y, n_starts)  # (n, n_starts)
    n, s = neighbours.shape
    step, found = max(1, BLOCK_ROWS // s), []
    for i in range(0, n, step):
        Y_i, rows = Y_new[i : i + step], neighbours[i : i + step].ravel()
        ends = maximise_frozen_bound(
            map_, np.repeat(Y_i, s, axis=0), mu[rows], None if S is None else S[rows], max_iter, tolerance
        )
        bounds = ends.bound.reshape(-1, s)
        close = bounds >= bounds.max(axis=1, keepdims=True) - 1e-9 * (1.0 + np.abs(bounds.max(axis=1, keepdims=True)))
        best = np.arange(len(bounds)) * s + np.argmax(close, axis=1)  # (13.12)
        ends = LatentPosterior(*(part[best] for part in ends))
        if tolerance <= NEAR:
            variance = None if S is None else ends.variance
            ends = maximise_frozen_bound(map_, Y_i, ends.mean, variance, max_iter, 1e-12)
        found.append(ends)
    return LatentPosterior(*map(np.concatenate, zip(*found, strict=True)))
