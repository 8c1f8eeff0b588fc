"""The cost of t-SNE and its gradient from strips of the pair matrix: what the estimators use.

Three things differ from `energy.cost_and_gradient`. The pairs are visited in strips of 64 rows, so that what a strip
needs stays in the cache next to a core and no N x N array is made. A strip begins at its own diagonal: W and P are
symmetric, and each pair is computed once. And Z, which is known only after the last strip, divides the sum of the
repulsions instead of each of them.

Time of the plain one over time of this one, on one thread, like against like:

    N                           60     150     300        500        1000       1797
    cost and gradient           0.8    0.9     1.3, 5     1.7, 6     2.5, 4     4
    gradient alone              0.5    0.6     0.8, 3     1.0, 4     1.5, 3     2.3, 3

Of two numbers the first holds where the system gives the plain one's N x N arrays out of memory that the program has
used before, the second where it fetches new pages for every call; which of the two happens depends on what the program
has done until then. For few points the calls of numpy cost more than the arithmetic, and the plain gradient is faster.
The descent uses this one all the same: the most it could save is 0.07 s of a fit of 150 points (0.2 s, 1000 steps), and
a fit of 300 points with new pages would take four times as long. Two ways, chosen by size, would also round
differently, and a descent can end in another minimum for that.
"""

import numpy as np
from scipy.spatial.distance import cdist

STRIP = 64  # rows: with 32 or 96 the time is the same within a tenth
TINY = 1e-300  # makes 0 ln 0 = 0; no affinity that counts is so small


def cost_and_gradient(X, P, with_cost=True) -> tuple[float, np.ndarray]:
    r"""As `energy.cost_and_gradient`; without the cost (NaN then) it saves the logarithms.

    .. math:: C = \sum_{n \ne m} p_{nm} \ln \left( p_{nm} (1 + \|x_n - x_m\|^2) \right) + \ln Z, \qquad
              \frac{\partial C}{\partial x_n} = 4 \left( a_n - \frac{r_n}{Z} \right)
    .. math:: a_n = \sum_m p_{nm} w_{nm} (x_n - x_m), \qquad r_n = \sum_m w_{nm}^2 (x_n - x_m)

    Notes
    -----
    Costs O(N^2 q), half of it saved by symmetry, and O(64 N) numbers. The diagonal of W is set to 0 rather than taken
    off Z afterwards: for a map so wide that Z is small, 1 + ... + 1 - N would be all rounding. Chapter 11, equations
    (11.8) to (11.10).

    Examples
    --------
    >>> P = np.array([[0.0, 0.5, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> cost, gradient = cost_and_gradient(np.array([[0.0], [1.0], [2.0]]), P)
    >>> round(cost, 4), gradient.ravel().round(4)
    (0.8755, array([-0.45,  1.  , -0.55]))
    """
    N, q = X.shape
    X = X - X.mean(axis=0)
    X1 = np.c_[X, np.ones(N)]  # with the last column a product gives sums of rows too
    attraction, repulsion, Z, logarithms = np.zeros((N, q + 1)), np.zeros((N, q + 1)), 0.0, 0.0
    for i in range(0, N, STRIP):
        n, p = slice(i, i + STRIP), P[i : i + STRIP, i:]
        w = cdist(X[n], X[i:], "sqeuclidean")  # (B, N - i)
        w += 1.0
        if with_cost:
            logarithms += sum_both_ways(p * np.log((p + TINY) * w))  # (11.8)
        np.reciprocal(w, out=w)
        np.fill_diagonal(w, 0.0)
        Z += sum_both_ways(w)
        add_both_ways(attraction, p * w, X1, i)  # (11.9)
        w *= w
        add_both_ways(repulsion, w, X1, i)
    F = attraction - repulsion / Z
    gradient = 4.0 * (F[:, q:] * X - F[:, :q])  # (11.10)
    return (float(logarithms + np.log(Z)) if with_cost else np.nan), gradient


def sum_both_ways(strip):
    """Sum over the strip of a symmetric matrix and its mirror image; the square at its beginning counts once."""
    return 2.0 * strip.sum() - strip[:, : len(strip)].sum()


def add_both_ways(total, strip, X1, i):
    """Add what rows i, i + 1, ... of a symmetric matrix, known from the diagonal on, and their mirror image give."""
    B = len(strip)
    total[i:] += strip.T @ X1[i : i + B]
    total[i : i + B] += strip[:, B:] @ X1[i + B :]
