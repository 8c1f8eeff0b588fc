"""The informative vector machine's choice: one row after another, each the one that tells most.

The posterior is kept for all N rows at once. Including a row changes it by a rank-one update, whose only expensive part
is one column of the current posterior covariance; no N x N matrix is ever formed.

`ivm_select` is the case of chapter 7: one covariance serves all columns. `select_by_column` runs the same `include`
where columns differ in their covariance. Both yield a `Selection` after each inclusion; `fast.select_active_set`
returns the last one without the others.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..linalg import gap_patterns, has_gaps
from ..noise import sites
from ..threads import suited


class IVMPosterior(NamedTuple):
    """What is known of f after i inclusions, for columns that share a covariance: Sigma = K_f - M'M."""

    mean: np.ndarray  # (N, D)
    variance: np.ndarray  # (N,), the diagonal of Sigma
    M: np.ndarray  # (i, N) = L^-1 K_{f,I:}, the page's V
    L: np.ndarray  # (i, i), L L' = K_II, which is K_{f,II} + B^-1


class Selection(NamedTuple):
    """The active set after i inclusions, in the order of choice, with its sites and its triangular matrices.

    Where columns differ in their covariance, M and L are tuples with one matrix for each of the `groups`, without the
    rows that were not observed there: (j, N) and (j, j) with j <= i.
    """

    active: np.ndarray  # (i,) row numbers
    gains: np.ndarray  # (i,) nats, each at the moment of its inclusion
    offers: np.ndarray  # (N,) what every row offered before the last inclusion; -inf where active already
    site_means: np.ndarray  # (i, D)
    precisions: np.ndarray  # (i, D) beta; 0 where the entry is missing
    M: Any  # (i, N), or a tuple
    L: Any  # (i, i), or a tuple
    log_evidence: float  # ln p(Y_I)
    groups: tuple | None = None  # None: one covariance for all columns; else the column numbers of each group
    n_sweeps: int = 1  # over the sites; the choice itself is one
    change: float = 0.0  # largest of a site in the last of several sweeps


def entropy_reductions(nu, variance) -> np.ndarray:
    r"""Entropy (N,), in nats, that the posterior would lose with each row.

    .. math:: \Delta H_n = -\tfrac12 \sum_{d} \ln (1 - \nu_{nd}\, \varsigma_{nd})

    Parameters
    ----------
    nu, variance : ndarray (N,) or (N, D)
        Of the noise model, and of f before the row is included. A missing entry has nu = 0 and offers nothing.

    Notes
    -----
    Costs O(N D). Chapter 7, equation (7.5); Lawrence, Seeger and Herbrich (2003).

    Examples
    --------
    >>> entropy_reductions(np.array([0.5, 0.9]), np.array([1.0, 1.0])).round(4)              # nu = 1 / (1 + noise)
    array([0.3466, 1.1513])
    """
    each = -0.5 * np.log1p(-np.minimum(nu * variance, 1.0 - 1e-15))  # (7.5)
    return each if each.ndim == 1 else each.sum(axis=1)


def best_offer(offers, X) -> int:
    """The row that offers most; among equals the one nearest to the middle of X.

    Before anything is known, all rows of a stationary kernel offer the same: the order of the rows must not decide.

    Examples
    --------
    >>> best_offer(np.array([1.0, 2.0, 2.0]), np.array([[0.0], [5.0], [1.0]]))
    2
    """
    most = offers.max()
    equal = np.flatnonzero(offers >= most - 1e-9 * abs(most))
    if len(equal) == 1:
        return int(equal[0])
    return int(equal[np.argmin(np.sum((X[equal] - X.mean(axis=0)) ** 2, axis=1))])


def include(posterior, n, k, g, nu) -> IVMPosterior:
    r"""The posterior once row n was observed.

    .. math:: s = k_n - V^\top V_{:,n}, \qquad \varsigma \leftarrow \varsigma - \nu_n s \circ s, \qquad
              \bar f \leftarrow \bar f + g_n s, \qquad
              V \leftarrow \begin{bmatrix} V \\ \sqrt{\nu_n}\, s^\top \end{bmatrix}, \quad
              L \leftarrow \begin{bmatrix} L & 0 \\ V_{:,n}^\top & \nu_n^{-1/2} \end{bmatrix}

    Parameters
    ----------
    posterior : IVMPosterior
        Not changed.
    n : int
        The row to include.
    k : ndarray (N,)
        k(X, x_n).
    g : ndarray (D,)
    nu : float
        Both of row n, before its inclusion.

    Notes
    -----
    Costs O(i N). Chapter 7, equations (7.6) to (7.9).

    Examples
    --------
    >>> nothing = IVMPosterior(np.zeros((2, 1)), np.ones(2), np.zeros((0, 2)), np.zeros((0, 0)))
    >>> p = include(nothing, 0, np.array([1.0, 0.5]), g=np.array([1.0]), nu=0.5)                   # y = 2, noise 1
    >>> p.mean.ravel(), p.variance
    (array([1. , 0.5]), array([0.5  , 0.875]))
    """
    f, variance, M, L = posterior
    a = M[:, n]  # (i,)
    s = k - M.T @ a  # (7.6)  (N,)
    variance = np.maximum(variance - nu * s**2, 0.0)  # (7.7)
    f = f + np.outer(s, g)  # (7.8)
    M = np.vstack([M, np.sqrt(nu) * s])  # (7.9)
    L = np.block([[L, np.zeros((len(L), 1))], [a, 1.0 / np.sqrt(nu)]])  # (7.9)
    return IVMPosterior(f, variance, M, L)


def active_size(Y, X, kernel, noise, n_active) -> int:
    """Rows of K_II, the largest matrix that a selection factorises: what `threads.suited` asks for."""
    return min(n_active, len(Y))


@suited(active_size)
def ivm_select(Y, X, kernel, noise, n_active) -> Iterator[Selection]:
    """Generator of growing active sets: at each step the row that reduces entropy most is included.

    Parameters
    ----------
    Y : ndarray (N, D)
        Complete.
    X : ndarray (N, q)
    kernel : Kernel
        The covariance of f; a `White` part counts as part of f, so leave the noise of the observations out of it.
    noise : Gaussian
        With one variance for all columns, so that they share a covariance. For other noise, and for gaps in Y, see
        `select_by_column`.
    n_active : int
        d; at most N are taken.

    Yields
    ------
    Selection
        After each inclusion; the last one is the answer. `select_active_set` returns it directly.

    Notes
    -----
    Costs O(d^2 N + d N D). Chapter 7, equations (7.5) to (7.10).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.noise import Gaussian
    >>> X = np.array([[0.0], [0.1], [3.0]])
    >>> for chosen in ivm_select(np.zeros((3, 1)), X, RBF(), Gaussian(0.1), 2):   # not the twin of the first
    ...     print(chosen.active)
    [1]
    [1 2]
    """
    demand_one_covariance(Y, noise)
    (N, D), prior = Y.shape, kernel.diag(X)
    posterior = IVMPosterior(np.zeros((N, D)), prior, np.zeros((0, N)), np.zeros((0, 0)))
    active, gains, log_evidence = np.zeros(0, dtype=int), np.zeros(0), 0.0
    for _ in range(min(n_active, N)):
        terms = noise.evaluate(Y, posterior.mean, posterior.variance[:, None])  # ln Z, g, nu: each (N, D)
        nu = terms.nu[:, 0]  # the same in every column
        offers = D * entropy_reductions(nu, posterior.variance)  # (7.5)
        offers[active] = -np.inf
        n = best_offer(offers, X)
        posterior = include(posterior, n, kernel_column(kernel, X, n, prior), terms.g[n], nu[n])
        log_evidence += np.sum(terms.log_partition[n])  # (7.10)
        active, gains = np.append(active, n), np.append(gains, offers[n])
        m, beta = gaussian_sites(Y, noise, active)
        yield Selection(active, gains, offers, m, beta, posterior.M, posterior.L, log_evidence)


@suited(active_size)
def select_by_column(Y, X, kernel, noise, n_active) -> Iterator[Selection]:
    """As `ivm_select`, for columns that differ in their covariance: noise of their own, noise not Gaussian, or gaps.

    Each group of columns that share a covariance has its own posterior. A row is offered with what it tells all columns
    together, and is included in those in which it was observed.

    Parameters
    ----------
    Y : ndarray (N, D)
        NaN where missing.
    noise : noise model
        Of chapter 8, such as ``Probit()``.
    X, kernel, n_active : as in `ivm_select`

    Yields
    ------
    Selection
        With `groups`.

    Notes
    -----
    Costs O(d^2 N) for each group. Chapter 7, equations (7.5) to (7.10); chapter 8, equation (8.19).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.noise import Gaussian
    >>> Y, X = np.array([[1.0, np.nan], [1.0, 2.0], [0.0, 0.0]]), np.array([[0.0], [0.1], [3.0]])
    >>> *_, chosen = select_by_column(Y, X, RBF(), Gaussian(0.1), 3)              # the row with a gap tells less
    >>> chosen.active, [L.shape for L in chosen.L]
    (array([1, 2, 0]), [(3, 3), (2, 2)])
    """
    (N, D), prior, groups = Y.shape, kernel.diag(X), column_groups(Y, noise)
    posteriors = [IVMPosterior(np.zeros((N, len(c))), prior, np.zeros((0, N)), np.zeros((0, 0))) for c in groups]
    f, variance = np.zeros((N, D)), np.tile(prior[:, None], D)
    active, gains, log_evidence = np.zeros(0, dtype=int), np.zeros(0), 0.0
    site_means, precisions = np.zeros((0, D)), np.zeros((0, D))
    for _ in range(min(n_active, N)):
        terms = noise.evaluate(Y, f, variance)  # all three are 0 where Y is missing
        offers = entropy_reductions(terms.nu, variance)
        offers[active] = -np.inf
        n = best_offer(offers, X)
        m, beta = sites(terms.g[n], terms.nu[n], f[n], variance[n])
        site_means, precisions = np.vstack([site_means, m]), np.vstack([precisions, beta])
        k = kernel_column(kernel, X, n, prior)
        for number, c in enumerate(groups):
            if terms.nu[n, c[0]] > 0:  # observed in these columns
                posteriors[number] = include(posteriors[number], n, k, terms.g[n, c], terms.nu[n, c[0]])
                f[:, c], variance[:, c] = posteriors[number].mean, posteriors[number].variance[:, None]
        log_evidence += np.sum(terms.log_partition[n])  # (7.10)
        active, gains = np.append(active, n), np.append(gains, offers[n])
        M, L = tuple(p.M for p in posteriors), tuple(p.L for p in posteriors)
        yield Selection(active, gains, offers, site_means, precisions, M, L, log_evidence, tuple(groups))


def column_groups(Y, noise) -> list[np.ndarray]:
    """Column numbers of each group that shares a covariance: those with the same gaps, if one noise serves all columns.

    Groups stand in the order of their first columns.

    Examples
    --------
    >>> from gplvm_edu.noise import Gaussian, Probit
    >>> Y = np.array([[1.0, np.nan, 1.0], [1.0, 1.0, 1.0]])
    >>> column_groups(Y, Gaussian(0.1)), len(column_groups(Y, Probit()))
    ([array([0, 2]), array([1])], 3)
    """
    if noise.shared:
        return sorted((np.flatnonzero(columns) for columns, _ in gap_patterns(Y.T)), key=lambda columns: columns[0])
    return [np.array([d]) for d in range(Y.shape[1])]


def one_covariance(Y, noise) -> bool:
    """True if one covariance serves all columns: spherical Gaussian noise, and nothing is missing."""
    return noise.shared and not has_gaps(Y)


def demand_one_covariance(Y, noise) -> None:
    """Refuse data and noise for which columns differ in their covariance."""
    if not one_covariance(Y, noise):
        what = "Y has gaps" if has_gaps(Y) else f"the noise {noise!r} is not the same for all columns"
        raise ValueError(
            f"ivm_select keeps one covariance for all columns, but {what}. Use select_by_column, which keeps one "
            'for each, or select_active_set, which chooses (chapter 7, "Which point tells most").'
        )


def gaussian_sites(Y, noise, active) -> tuple[np.ndarray, np.ndarray]:
    """Site means and precisions of active rows under Gaussian noise, both (i, D): the observations themselves."""
    noise = noise.rows(active)
    m = Y[active] - noise.offset
    return m, np.broadcast_to(1.0 / noise.variance, m.shape)


def kernel_column(kernel, X, n, prior) -> np.ndarray:
    """k(X, x_n), (N,); at n it is the prior variance of f, to which a `White` part of the kernel belongs."""
    k = kernel(X, X[n : n + 1])[:, 0]
    k[n] = prior[n]
    return k
