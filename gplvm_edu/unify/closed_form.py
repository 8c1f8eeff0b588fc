"""The minimum of the divergence when the covariance (or its inverse) is low rank plus a multiple of the identity."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from .. import checks
from ..checks import NEAREST, ROUNDING, not_semidefinite, symmetric
from ..linalg import column_signs, double_centre, eigenpairs

SQUARED = 1e120  # entry of a matrix of proximities, which have the units of data squared
DIGITS_LEFT = 1e-9  # of the largest entry: with less, centring leaves fewer than seven digits
LOW_RANK = ("covariance", "precision")  # which of K and its inverse is of low rank plus noise


class Retained(NamedTuple):
    """Every choice of q eigenvalues to keep, one row each, in lexicographic order; index 0 is the largest."""

    kept: np.ndarray  # (M, q) indices
    noise_variance: np.ndarray  # (M,)  best variance for the directions that are not kept
    divergence: np.ndarray  # (M,)  at that variance
    margin: np.ndarray  # (M,)  smallest log ratio of a kept eigenvalue and the noise; below 0: not feasible


def spectrum(S) -> tuple[np.ndarray, np.ndarray]:
    r"""Eigenvalues, largest first, and eigenvectors of a similarity matrix, equation (3.10).

    .. math:: S\, u_i = \lambda_i u_i, \qquad \lambda_1 \ge \lambda_2 \ge \dots \ge \lambda_N \ge 0

    Returns
    -------
    eigenvalues : ndarray (N,)
        Those below zero by no more than rounding are set to zero; others are an error.
    eigenvectors : ndarray (N, N)
        One a column, its largest entry positive.

    Examples
    --------
    >>> spectrum(np.array([[2.0, 1.0], [1.0, 2.0]]))[0]
    array([3., 1.])
    """
    S = symmetric(S, "S")
    lam, U = eigenpairs(S)  # (3.10)
    if lam[-1] < -ROUNDING * np.abs(lam).max():
        raise not_semidefinite(S, "S", NEAREST)
    return np.maximum(lam, 0.0), U


def leading_eigenpairs(S, n_components, overwrite=False) -> tuple[np.ndarray, np.ndarray, float]:
    r"""The q largest eigenvalues with their eigenvectors, and the smallest eigenvalue, of a symmetric matrix.

    .. math:: S = Q T Q^\top, \qquad T z_i = \lambda_i z_i \;\Rightarrow\; u_i = Q z_i

    Nearly all the cost is the reduction to a tridiagonal T. It is made once, and used for both ends of the spectrum:
    with scipy's `eigh` for the largest and `eigvalsh` for the smallest it would be made twice, which takes 1.7 times as
    long at N = 200 and twice as long at N = 1000.

    Parameters
    ----------
    S : ndarray (N, N)
        Symmetric, not checked; the sign of the smallest eigenvalue shows whether it is positive semi-definite.
    n_components : int
    overwrite : bool
        True: S is overwritten, which saves a copy.

    Returns
    -------
    eigenvalues : ndarray (q,)
        Largest first.
    eigenvectors : ndarray (N, q)
    smallest : float

    Notes
    -----
    Costs O(N^3), as much as LAPACK's own partial eigendecomposition. Chapter 3, equation (3.10).

    Examples
    --------
    >>> lam, U, smallest = leading_eigenpairs(np.array([[2.0, 1.0], [1.0, 2.0]]), 1)
    >>> lam, U.ravel().round(4), round(smallest, 12)
    (array([3.]), array([0.7071, 0.7071]), 1.0)
    """
    N, q = len(S), n_components
    work = int(lapack.dsytrd_lwork(N, lower=True)[0])
    A, diagonal, off_diagonal, tau, _ = lapack.dsytrd(S.T, lower=True, lwork=work, overwrite_a=overwrite)  # S = Q T Q'
    unit = _power_of_two(max(np.abs(diagonal).max(), np.abs(off_diagonal).max(initial=0.0)))  # LAPACK squares T
    T = diagonal / unit, off_diagonal / unit
    smallest = linalg.eigvalsh_tridiagonal(*T, select="i", select_range=(0, 0))[0]
    lam, Z = linalg.eigh_tridiagonal(*T, select="i", select_range=(N - q, N - 1))
    Z[1:] = lapack.dormqr("L", "N", A[1:, :-1], tau, Z[1:], lwork=64 * q)[0]  # U = Q Z
    U = Z[:, ::-1]
    return unit * lam[::-1], U * column_signs(U), float(unit * smallest)


def _power_of_two(size):
    """The power of two next to a size: a unit that changes no digit. 1 for 0."""
    return float(2.0 ** np.frexp(size)[1]) if size > 0 else 1.0


def centred(A, name) -> np.ndarray:
    """H A H (N, N) of proximities, or an error where centring leaves nothing but rounding.

    Parameters
    ----------
    A : ndarray (N, N)
    name : str
        What it is, for the errors.

    Notes
    -----
    Costs O(N^2). Chapter 3, equation (3.24). A linear kernel of points far from the origin has large entries that are
    nearly equal: all that tells the points apart is in their last digits. A matrix of equal entries gives zeros.

    Examples
    --------
    >>> Y = np.array([[0.0], [1.0], [5.0]])
    >>> centred(Y @ Y.T, "K")[0]
    array([ 4.,  2., -6.])
    >>> Y += 1e9
    >>> centred(Y @ Y.T, "K")
    Traceback (most recent call last):
    ...
    ValueError: K has entries up to 1e+18, and centred ones up to ...: what tells the points apart is lost in ...
    """
    largest = np.abs(A).max()
    if not largest <= SQUARED:
        raise ValueError(
            f"{name} has entries up to {largest:.3g}: beyond {SQUARED:g} their products leave the floating-point "
            "numbers. Use larger units for the data, or smaller variances for the kernel."
        )
    if np.array_equal(A, np.full_like(A, A[0, 0])):
        return np.zeros_like(A)
    S = double_centre(A)
    left = np.abs(S).max()
    if left < DIGITS_LEFT * largest:
        raise ValueError(
            f"{name} has entries up to {largest:.3g}, and centred ones up to {left:.3g}: what tells the points apart "
            "is lost in rounding. Subtract the mean of every column of the data first, or choose a kernel that varies "
            "more from one point to another."
        )
    return S


def minimiser(S, n_components, reverse=False, low_rank="covariance", kept=None) -> tuple[np.ndarray, float]:
    r"""The linear covariance nearest to S: its latent positions and its noise.

    .. math:: \hat X = U_q (\Lambda_q - \hat c I)^{1/2}, \qquad \hat c = \frac{1}{N - q} \sum_{j > q} \lambda_j

    Parameters
    ----------
    S : ndarray (N, N)
        Positive semi-definite (positive definite with `reverse`, or when the precision is of low rank).
    n_components : int
        q, below N.
    reverse : bool
        False: minimise KL(S || K), c is the arithmetic mean of the discarded eigenvalues. True: minimise KL(K || S),
        c is their harmonic mean.
    low_rank : "covariance" or "precision"
        What is of low rank plus noise: K = X X' + c I, the largest eigenvalues are kept; or K^{-1} = X X' + c I, the
        smallest are.
    kept : sequence of int or None
        Indices of the eigenvalues to keep (0 the largest), to see what another choice gives.

    Returns
    -------
    latent : ndarray (N, q)
    noise : float
        c. It is 0.0 when S has rank q or less: the divergence then has no minimum. For a precision it is 1/c of (3.23).

    Notes
    -----
    Costs O(N^3). With `kept` given, eigenvalues on the wrong side of c would have imaginary lengths: that is an error.
    Chapter 3, equations (3.11), (3.13), (3.21) and (3.23); Lawrence (2005), equation (26) and appendix B.1.

    Examples
    --------
    >>> X, c = minimiser(np.diag([5.0, 2.0, 1.0, 0.0]), n_components=1)
    >>> X.ravel(), c
    (array([2., 0., 0., 0.]), 1.0)
    """
    q = n_components
    lam, U = spectrum(S)
    inverted = checks.choice("low_rank", low_rank, LOW_RANK) == "precision"
    kept = _kept(lam, q, reverse, inverted, kept)
    variance = _best_variance(np.delete(lam, kept)[None], reverse)[0]
    variance = 0.0 if variance <= 1e-13 * lam[0] else variance  # rounding: S has rank q
    c, target = (1 / variance, 1 / lam[kept]) if inverted else (variance, lam[kept])  # (3.23)
    _demand_feasible(target, c, kept)
    return U[:, kept] * np.sqrt(np.maximum(target - c, 0.0)), float(c)  # (3.11)


def _kept(lam, q, reverse, inverted, kept):
    """Indices of the eigenvalues to keep: those asked for, or the end of the spectrum where the minimum is."""
    N = len(lam)
    if not 0 < q < N:
        raise ValueError(
            f"n_components={q} is out of range: between 1 and N - 1 = {N - 1} eigenvalues can be kept, "
            "since the noise is what the others have on average."
        )
    if (reverse or inverted) and lam[-1] <= ROUNDING * lam[0]:
        raise ValueError(
            f"S is singular (smallest eigenvalue {lam[-1]:.3g}), and its inverse is needed here. Add "
            'noise to its diagonal, S + c I; chapter 3, "When S is singular".'
        )
    if kept is None:
        kept = range(N - q, N) if inverted else range(q)
    kept = np.unique(np.asarray(kept, int))
    if len(kept) != q or kept[0] < 0 or kept[-1] >= N:
        raise ValueError(f"kept must hold n_components={q} different indices from 0 to {N - 1}, got {kept.tolist()}.")
    return kept


def _demand_feasible(target, c, kept):
    """An error when a squared length target - c would be negative."""
    if (target < (1 - 1e-9) * c).any():
        raise ValueError(
            f"Keeping the eigenvalues {(kept + 1).tolist()} is not feasible: the best noise would be "
            f"{c:.4g}, and {target.min():.4g} is below it, so a length would be imaginary. Keep larger "
            'eigenvalues (smaller ones if the precision is of low rank); chapter 3, "Which to keep?".'
        )


def _best_variance(discarded, reverse):
    """Best variance of the discarded directions, for each row: their arithmetic or harmonic mean."""
    if reverse:
        return 1.0 / np.mean(1.0 / discarded, axis=1)  # (3.21)
    return np.mean(discarded, axis=1)  # (3.13)


def minimal_divergence(eigenvalues, n_components, reverse=False, low_rank="covariance") -> float:
    r"""The divergence at its minimum, which measures how unequal the discarded eigenvalues are.

    .. math:: \min \mathrm{KL}(S \| K) = \tfrac{N - q}{2} \ln \frac{\mathrm{AM}}{\mathrm{GM}}, \qquad
              \min \mathrm{KL}(K \| S) = \tfrac{N - q}{2} \ln \frac{\mathrm{GM}}{\mathrm{HM}}

    Parameters
    ----------
    eigenvalues : ndarray (N,)
        Largest first.
    n_components, reverse, low_rank : as in `minimiser`

    Notes
    -----
    Costs O(N). Infinite when a discarded eigenvalue is zero: use `minimal_cross_entropy` there. Chapter 3, equations
    (3.14) and (3.21); Lawrence (2005), equation (27).

    Examples
    --------
    >>> round(minimal_divergence(np.array([9.0, 4.0, 1.0]), 1), 4)           # ln (2.5 / 2)
    0.2231
    >>> round(minimal_divergence(np.array([9.0, 4.0, 1.0]), 1, reverse=True), 4)       # ln (2 / 1.6)
    0.2231
    """
    lam, q = np.asarray(eigenvalues, float), n_components
    discarded = lam[:-q] if checks.choice("low_rank", low_rank, LOW_RANK) == "precision" else lam[q:]
    if discarded.min() <= len(lam) * np.finfo(float).eps * lam.max():  # zero, but for rounding
        return np.inf
    variance = _best_variance(discarded[None], reverse)[0]
    sign = -1.0 if reverse else 1.0
    return float(0.5 * len(discarded) * sign * (np.log(variance) - np.mean(np.log(discarded))))  # (3.14), (3.21)


def minimal_cross_entropy(leading_eigenvalues, noise_variance, n_points) -> float:
    r"""The cross entropy at the minimum of the divergence: finite for singular S too.

    .. math:: \min \mathrm{CE}(S, K)
              = \tfrac12 \Big[ N \ln 2\pi + \sum_{i \le q} \ln \lambda_i + (N - q) \ln \hat c + N \Big]

    Parameters
    ----------
    leading_eigenvalues : ndarray (q,)
    noise_variance : float
        c-hat, the mean of the other N - q eigenvalues, zeros included.
    n_points : int

    Notes
    -----
    Costs O(q): neither the discarded eigenvalues nor their vectors are needed. Minus infinity when the noise is zero: S
    has rank q or less. Chapter 3, equation (3.15).

    Examples
    --------
    >>> from gplvm_edu.unify import cross_entropy
    >>> X, c = minimiser(np.diag([5.0, 2.0, 1.0, 0.0]), 1)
    >>> K = X @ X.T + c * np.eye(4)
    >>> bool(np.isclose(minimal_cross_entropy([5.0], c, 4), cross_entropy(np.diag([5.0, 2.0, 1.0, 0.0]), K)))
    True
    """
    lam, c, N = np.asarray(leading_eigenvalues, float), noise_variance, n_points
    if c <= 0:
        return -np.inf
    return float(0.5 * (N * np.log(2 * np.pi) + np.sum(np.log(lam)) + (N - len(lam)) * np.log(c) + N))  # (3.15)


def retained_sets(eigenvalues, n_components, reverse=False, low_rank="covariance") -> Retained:
    r"""Every way to keep q of the N eigenvalues: best noise, divergence, and whether it is feasible.

    .. math:: \mathrm{KL}_{\text{kept}} = \tfrac12 \sum_{j \notin \text{kept}} h(\lambda_j / c), \qquad
              \text{feasible when } \lambda_i \ge c \text{ for all kept } i

    Parameters
    ----------
    eigenvalues : ndarray (N,)
        Positive, largest first; N of about 20 at most, for there are N! / (q! (N - q)!) sets.
    n_components, reverse, low_rank : as in `minimiser`

    Returns
    -------
    Retained
        A margin is the logarithm of the smallest kept eigenvalue over c (for a low-rank precision that of
        c over the largest); a set with a negative margin is not feasible: a squared length would be negative.

    Notes
    -----
    Costs O(N) for each set. Chapter 3, equations (3.12), (3.13), (3.21) and (3.23).

    Examples
    --------
    >>> sets = retained_sets(np.array([9.0, 4.0, 1.0]), 1)
    >>> sets.kept.ravel(), sets.divergence.round(3), sets.margin.round(2)
    (array([0, 1, 2]), array([0.223, 0.511, 0.08 ]), array([ 1.28, -0.22, -1.87]))
    """
    lam, q = np.asarray(eigenvalues, float), n_components
    N = len(lam)
    kept = np.array(list(combinations(range(N), q)))  # (M, q)
    is_kept = np.zeros((len(kept), N), bool)
    np.put_along_axis(is_kept, kept, True, axis=1)
    discarded = np.broadcast_to(lam, is_kept.shape)[~is_kept].reshape(-1, N - q)  # (M, N - q)
    c = _best_variance(discarded, reverse)  # (M,)
    ratio = c[:, None] / discarded if reverse else discarded / c[:, None]
    divergence = 0.5 * np.sum(ratio - 1.0 - np.log(ratio), axis=1)  # (3.12)
    margin = np.log(lam[kept] / c[:, None])  # (3.23)
    inverted = checks.choice("low_rank", low_rank, LOW_RANK) == "precision"
    margin = -margin.max(axis=1) if inverted else margin.min(axis=1)
    return Retained(kept, c, divergence, margin)
