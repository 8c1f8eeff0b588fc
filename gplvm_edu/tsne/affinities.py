"""Who is whose neighbour: affinities of data points, each with as many effective neighbours as the perplexity says."""

import numpy as np
from scipy.spatial.distance import cdist

from .. import checks

BLOCK = 128  # rows at a time: what they need stays in the processor's cache
WIDEST = 30.0  # ln b is sought between -30 and 30, in units of a row's mean squared distance


def row_entropy(D2, precision) -> tuple[np.ndarray, ...]:
    r"""Entropy of softmax(-b D2) for each row, and its slope in ln b.

    .. math:: H = \ln \sum_m e^{-b d_m} + b \langle d \rangle, \qquad
              \frac{dH}{d \ln b} = -b^2 \left( \langle d^2 \rangle - \langle d \rangle^2 \right)

    Parameters
    ----------
    D2 : ndarray (R, M)
        Squared distances from R points to M others; the smallest of a row should be near 0, or all terms vanish.
    precision : ndarray (R,)
        b = 1 / (2 s^2) of each point.

    Returns
    -------
    probabilities : ndarray (R, M)
    entropy, slope : ndarray (R,)

    Notes
    -----
    Costs O(R M). Chapter 11, equations (11.3) and (11.4).

    Examples
    --------
    >>> P, H, slope = row_entropy(np.array([[0.0, 0.0, 50.0]]), np.array([1.0]))
    >>> P.round(3), np.exp(H).round(3)                      # two neighbours at hand, one out of reach
    (array([[0.5, 0.5, 0. ]]), array([2.]))
    """
    b = precision
    W = np.exp(-b[:, None] * D2)
    Z = W.sum(axis=1)
    P = W / Z[:, None]  # (11.1)
    mean = np.einsum("rm,rm->r", P, D2)
    square = np.einsum("rm,rm,rm->r", P, D2, D2)
    H = np.log(Z) + b * mean  # (11.3)
    return P, H, -(b**2) * (square - mean**2)  # (11.4)


def search_precision(D2, perplexity, tolerance=1e-10, max_iter=200) -> tuple[np.ndarray, np.ndarray]:
    r"""The b of each row at which its affinities have the entropy ln(perplexity), all rows at once.

    .. math:: \ln b \leftarrow \ln b - \frac{H(b) - \ln \mathrm{Perp}}{dH / d\ln b}

    Parameters
    ----------
    D2 : ndarray (R, M)
        Squared distances of R points to M others, a point itself not among them.
    perplexity : float
        Between 1 and M.
    tolerance : float
        Of the entropy.
    max_iter : int

    Returns
    -------
    precision : ndarray (R,)
    reached : ndarray (R,) of bool
        False where so many others are equally near that no b makes the entropy small enough.

    Notes
    -----
    Newton's steps, and a halved bracket where one would leave it: about six passes of O(R M), over fewer and fewer
    rows. Chapter 11, equation (11.5).

    Examples
    --------
    >>> D2 = np.array([[1.0, 4.0, 9.0, 16.0]])
    >>> b, reached = search_precision(D2, 2.0)
    >>> np.exp(row_entropy(D2, b)[1]).round(6), reached
    (array([2.]), array([ True]))
    """
    D = D2 - D2.min(axis=1, keepdims=True)  # a factor that cancels in p
    scale = D.mean(axis=1)
    scale = np.where(scale > 0, scale, 1.0)
    D /= scale[:, None]
    u, low, high = np.zeros(len(D)), np.full(len(D), -WIDEST), np.full(len(D), WIDEST)
    rows = np.arange(len(D))
    for _ in range(max_iter):
        _, H, slope = row_entropy(D[rows], np.exp(u[rows]))
        excess = H - np.log(perplexity)
        far = np.abs(excess) > tolerance
        rows, excess, slope = rows[far], excess[far], slope[far]
        low[rows] = np.where(excess > 0, u[rows], low[rows])
        high[rows] = np.where(excess < 0, u[rows], high[rows])
        open_rows = high[rows] - low[rows] > 1e-12
        rows, excess, slope = rows[open_rows], excess[open_rows], slope[open_rows]
        if len(rows) == 0:
            break
        newton = u[rows] - excess / np.minimum(slope, -1e-30)  # (11.5)
        inside = (newton > low[rows]) & (newton < high[rows])
        u[rows] = np.where(inside, newton, 0.5 * (low[rows] + high[rows]))
    return np.exp(u) / scale, u < WIDEST - 1.0


def conditional_affinities(D2, perplexity) -> tuple[np.ndarray, np.ndarray]:
    r"""Affinities p(m | n) of each point n to the others, with a width of its own.

    .. math:: p_{m|n} = \frac{e^{-\|y_n - y_m\|^2 / 2 s_n^2}}{\sum_{k \ne n} e^{-\|y_n - y_k\|^2 / 2 s_n^2}},
              \qquad p_{n|n} = 0

    Parameters
    ----------
    D2 : ndarray (N, N)
        Squared distances between the data.
    perplexity : float
        Effective number of neighbours, from 1 to below N - 1.

    Returns
    -------
    P : ndarray (N, N)
        Row n holds p(m | n) and sums to 1.
    precision : ndarray (N,)
        b_n = 1 / (2 s_n^2).

    Notes
    -----
    Costs O(N^2) a pass, about six passes. Chapter 11, equations (11.1) to (11.5).

    Examples
    --------
    >>> P, b = conditional_affinities(np.subtract.outer([0.0, 1, 3, 9], [0.0, 1, 3, 9]) ** 2, 1.5)
    >>> P.sum(axis=1).round(6), bool(b[3] < b[1])           # the lonely point looks further
    (array([1., 1., 1., 1.]), True)
    """
    N = len(D2)
    others = ~np.eye(N, dtype=bool)
    D = D2[others].reshape(N, N - 1)
    found = [search_precision(D[i : i + BLOCK], perplexity) for i in range(0, N, BLOCK)]
    b, reached = (np.concatenate(part) for part in zip(*found, strict=True))
    copied = ~reached & (D.min(axis=1) == 0)
    if copied.any():
        checks.warn(
            f"{np.count_nonzero(copied)} of {N} points have more exact copies than perplexity={perplexity:g}: these "
            "count the same, all others nothing, and no width changes that. Remove duplicated rows, or raise the "
            'perplexity (chapter 11, "Break it").'
        )
    P = np.zeros((N, N))
    P[others] = row_entropy(D - D.min(axis=1, keepdims=True), b)[0].ravel()
    return P, b


def joint_affinities(Y, perplexity) -> np.ndarray:
    r"""Symmetric affinities of the data: a probability for every ordered pair, all of them adding up to 1.

    .. math:: p_{nm} = \frac{p_{m|n} + p_{n|m}}{2N}

    Notes
    -----
    Costs O(N^2 D). No point can be overlooked: every row sums to 1/(2N) at least. Chapter 11, equation (11.2).

    Examples
    --------
    >>> P = joint_affinities(np.array([[0.0], [1.0], [2.0], [9.0]]), 1.5)
    >>> float(P.sum().round(6)), bool((P.sum(axis=1) >= 1 / 8).all())
    (1.0, True)
    """
    P, _ = conditional_affinities(cdist(Y, Y, "sqeuclidean"), perplexity)  # by differences: copies are at 0
    return (P + P.T) / (2 * len(P))  # (11.2)


def printed_affinities(Y, perplexity) -> np.ndarray:
    r"""Affinities as section 4 of the paper prints them: distances not squared, and one width for all pairs.

    .. math:: p_{nm} = \frac{e^{-\|y_n - y_m\| / 2 s^2}}{\sum_{n' \ne m'} e^{-\|y_{n'} - y_{m'}\| / 2 s^2}}

    The one width is chosen so that the pairs have the entropy ln(N perplexity), as those of (11.2) nearly have.

    Notes
    -----
    Costs O(N^2 D). Chapter 11, equation (11.20).

    Examples
    --------
    >>> P = printed_affinities(np.array([[0.0], [1.0], [2.0], [99.0]]), 1.2)
    >>> float(P.sum().round(6)), bool(P[3].sum() < 1e-6)           # the lonely point does not count
    (1.0, True)
    """
    N = len(Y)
    others = ~np.eye(N, dtype=bool)
    D = cdist(Y, Y)[others][None]  # (1, N (N - 1))
    b, _ = search_precision(D, N * perplexity)
    P = np.zeros((N, N))
    P[others] = row_entropy(D - D.min(), b)[0][0]
    return P
