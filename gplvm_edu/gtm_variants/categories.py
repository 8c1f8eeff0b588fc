"""Bernoulli and multinomial columns as functions of log odds: densities, a bound step and a Newton step for them."""

import numpy as np
from scipy.special import log_softmax, softmax

from ..gtm.gaps import log_densities, solve_weights

CURVATURE = {"bernoulli": 0.25, "multinomial": 0.5}  # largest second derivative of minus a log likelihood


def block_means(log_odds, kind) -> np.ndarray:
    r"""Expected value of each column at each node: a mean, a probability, or the probabilities of categories.

    .. math:: m_{id} = a_{id}, \qquad m_{id} = \frac1{1 + e^{-a_{id}}}, \qquad
              m_{id} = \frac{e^{a_{id}}}{\sum_{d'} e^{a_{id'}}}

    Parameters
    ----------
    log_odds : ndarray (K, D)
        a = Phi W'.
    kind : "gaussian", "bernoulli" or "multinomial"

    Notes
    -----
    Chapter 10, equations (10.7) and (10.8); Bishop, Svensén and Williams (1998), equations (18) and (20), where w_d is
    row d of W, not a column.

    Examples
    --------
    >>> block_means(np.zeros((1, 4)), "bernoulli"), block_means(np.zeros((1, 4)), "multinomial")
    (array([[0.5, 0.5, 0.5, 0.5]]), array([[0.25, 0.25, 0.25, 0.25]]))
    """
    if kind == "bernoulli":
        return 0.5 * (1.0 + np.tanh(0.5 * log_odds))  # (10.7)
    return softmax(log_odds, axis=1) if kind == "multinomial" else log_odds  # (10.8)


def block_log_densities(Y, log_odds, kind, precision=1.0) -> np.ndarray:
    r"""ln p(y_n | node i) of one block, (K, N); missing entries are left out.

    .. math:: \sum_d y_d a_d - \ln(1 + e^{a_d}) \quad\text{or}\quad \sum_d y_d \Big(a_d - \ln \sum_{d'} e^{a_{d'}}\Big)

    Parameters
    ----------
    Y : ndarray (N, D)
        Zeros and ones; for "multinomial" exactly one 1 in each row. NaN where nothing was observed.
    log_odds : ndarray (K, D)
    kind : str
    precision : float
        Of a Gaussian block.

    Notes
    -----
    Costs O(K N D). Nothing overflows: probabilities are never formed. Chapter 10, equations (10.7) and (10.8); Bishop,
    Svensén and Williams (1998), equations (18) and (19).

    Examples
    --------
    >>> np.exp(block_log_densities(np.array([[1.0, np.nan], [1.0, 0.0]]), np.zeros((1, 2)), "bernoulli"))
    array([[0.5 , 0.25]])
    """
    if kind == "gaussian":
        return log_densities(Y, log_odds, precision)
    O, Y = ~np.isnan(Y), np.nan_to_num(Y)
    if kind == "multinomial":
        return log_softmax(log_odds, axis=1) @ Y.T  # (10.8)
    return log_odds @ Y.T - np.logaddexp(0.0, log_odds) @ O.T  # (10.7)


def mixed_log_densities(Y, log_odds, blocks, precision=1.0):
    """ln p(y_n | node i) of a table with several blocks: their log densities added, equation (10.12); (K, N).

    Examples
    --------
    >>> from gplvm_edu.gtm_variants import Block
    >>> blocks = [Block("gaussian", np.array([0])), Block("bernoulli", np.array([1]))]
    >>> mixed_log_densities(np.array([[0.0, 1.0]]), np.zeros((1, 2)), blocks).round(4)       # -ln 2 - ln(2 pi) / 2
    array([[-1.6121]])
    """
    return sum(block_log_densities(Y[:, c], log_odds[:, c], kind, precision) for kind, c in blocks)  # (10.12)


def expected_log_likelihood(log_odds, counts, sums, kind) -> float:
    r"""Q of one discrete block as a function of the log odds, from the sums of the E-step alone.

    .. math:: Q = \sum_{id} T_{id}\, a_{id} - G_{id} \ln (1 + e^{a_{id}})

    (with one logarithm of a sum for each node where the block is multinomial).

    Notes
    -----
    Chapter 10, equation (10.9). T = R Y and G are those of `weighted_sums`.

    Examples
    --------
    >>> expected_log_likelihood(np.zeros((1, 1)), np.array([[2.0]]), np.array([[1.0]]), "bernoulli").__round__(4)
    -1.3863
    """
    if kind == "multinomial":
        return float(np.sum(sums * log_softmax(log_odds, axis=1)))
    return float(np.sum(sums * log_odds) - np.sum(counts * np.logaddexp(0.0, log_odds)))  # (10.9)


def bound_step(Phi, counts, sums, weights, kind, alpha=0.0) -> np.ndarray:
    r"""New weights (D, M) that never lower Q: the maximum of a quadratic that touches Q at W and lies below it.

    .. math:: (\Phi^\top G \Phi + \tfrac\alpha c I)\, W_{new}^\top
              = \Phi^\top \big[ G A + \tfrac1c (T - G m) \big], \qquad A = \Phi W^\top

    with c = 1/4 for Bernoulli, 1/2 for multinomial columns: the weighted regression of chapter 9 with other targets.

    Parameters
    ----------
    Phi : ndarray (K, M)
    counts, sums : ndarray (K, 1) or (K, D), and (K, D)
        G and T = R Y.
    weights : ndarray (D, M)
    kind : "bernoulli" or "multinomial"
    alpha : float

    Notes
    -----
    Costs O(K M^2 + M^3). Chapter 10, equation (10.10). A Newton step, `newton_step`, uses the curvature at W, which is
    near 0 where probabilities are near 0 or 1, and may be arbitrarily long.

    Examples
    --------
    >>> W = np.zeros((1, 1))
    >>> for _ in range(20):                                                      # three ones out of four
    ...     W = bound_step(np.ones((1, 1)), np.array([[4.0]]), np.array([[3.0]]), W, "bernoulli")
    >>> block_means(W, "bernoulli").round(4)
    array([[0.75]])
    """
    A, c = Phi @ weights.T, CURVATURE[kind]
    misfit = sums - counts * block_means(A, kind)  # (K, D)
    return solve_weights(Phi, counts, counts * A + misfit / c, alpha / c)  # (10.10)


def newton_step(Phi, counts, sums, weights, alpha=0.0) -> np.ndarray:
    r"""One Newton step (IRLS) for Bernoulli columns: converges fast near the maximum, may diverge far from it.

    .. math:: w_d \leftarrow w_d + [\Phi^\top G\, \mathrm{diag}(m_d (1 - m_d)) \Phi + \alpha I]^{-1}
              [\Phi^\top (t_d - G m_d) - \alpha w_d]

    Notes
    -----
    Costs O(D K M^2 + D M^3). Chapter 10, equation (10.11); see "Break it" there.

    Examples
    --------
    >>> W = newton_step(np.ones((1, 1)), np.array([[4.0]]), np.array([[3.0]]), np.zeros((1, 1)))
    >>> W, newton_step(np.ones((1, 1)), np.array([[4.0]]), np.array([[3.0]]), np.full((1, 1), 4.0)).round(1)
    (array([[1.]]), array([[-9.1]]))
    """
    m = block_means(Phi @ weights.T, "bernoulli")
    slope = Phi.T @ (sums - counts * m) - alpha * weights.T  # (M, D)
    G, W = np.broadcast_to(counts, m.shape), np.empty_like(weights)
    for d in range(len(weights)):
        H = Phi.T @ ((G[:, d] * m[:, d] * (1.0 - m[:, d]))[:, None] * Phi) + alpha * np.eye(Phi.shape[1])
        W[d] = weights[d] + np.linalg.solve(H, slope[:, d])  # (10.11)
    return W
