"""EM for probabilistic kernel PCA: the features' weights are the missing data, the kernel matrix all one needs."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import linalg

from .. import checks
from ..linalg import column_signs
from ..metrics import procrustes_distance, subspace_angle
from ..threads import n_rows, suited
from . import fast
from .model import log_likelihood, maximum_likelihood

STARTS = ("random", "pca", "raw pca")


class WishartState(NamedTuple):
    """One iterate: latent positions (N, q), noise variance, log likelihood for each feature."""

    X: np.ndarray
    noise_variance: float
    value: float
    stopped: str = ""  # on the last state of a fit: why it is the last


@suited(n_rows)
def em_step(S, latent, noise_variance) -> tuple[np.ndarray, float]:
    r"""One E-step and one M-step, combined.

    .. math:: X^+ = S X (\sigma^2 I + M^{-1} X^\top S X)^{-1}, \qquad
              \sigma^{2+} = \tfrac1N \mathrm{tr}(S - S X M^{-1} X^{+\top}), \qquad M = X^\top X + \sigma^2 I

    Parameters
    ----------
    S : ndarray (N, N)
        HAH / N. With HAH in its place two factors N appear, as in the paper; to mix the two forms is an error.
    latent : ndarray (N, q)
    noise_variance : float

    Returns
    -------
    latent : ndarray (N, q)
    noise_variance : float

    Notes
    -----
    Costs O(N^2 q). Chapter 4, equations (4.32) and (4.33); Zhang et al. (2004), equations (18) and (19).

    Examples
    --------
    >>> X, noise_variance = em_step(np.diag([4.0, 1.0, 1.0]), np.array([[3.0 ** 0.5], [0.0], [0.0]]), 1.0)
    >>> X.ravel().round(4), round(noise_variance, 4)                             # the maximum stays where it is
    (array([1.7321, 0.    , 0.    ]), 1.0)
    """
    X, s2 = latent, noise_variance
    N, q = X.shape
    SX = S @ X  # (N, q)
    M = X.T @ X + s2 * np.eye(q)
    M_inv_XSX = np.linalg.solve(M, X.T @ SX)  # (q, q)
    X_new = np.linalg.solve((s2 * np.eye(q) + M_inv_XSX).T, SX.T).T  # (4.32)  (N, q)
    explained = np.sum(np.linalg.solve(M, SX.T) * X_new.T)  # tr(S X M^-1 X+')
    return X_new, float((np.trace(S) - explained) / N)  # (4.33)


@suited(n_rows)
def em_iterates(S, latent, noise_variance, max_iter=1000) -> Iterator[WishartState]:
    """Generator of EM's states (`WishartState`), the start included; the likelihood never falls.

    Parameters
    ----------
    S, latent, noise_variance : as in `em_step`, the last two to start with
    max_iter : int

    Notes
    -----
    Costs O(N^2 q) a step: one product S X serves the step and the likelihood. Chapter 4, equations (4.32) and (4.33).

    Examples
    --------
    >>> S = np.diag([4.0, 1.0, 1.0, 0.5])
    >>> values = [state.value for state in em_iterates(S, np.ones((4, 1)), 1.0, max_iter=5)]
    >>> len(values), bool(np.all(np.diff(values) > 0))
    (6, True)
    """
    X, s2 = np.array(latent, float), float(noise_variance)
    for _ in range(max_iter + 1):
        X_new, s2_new, value = fast.em_step(S, X, s2)
        yield WishartState(X, s2, value)
        X, s2 = X_new, s2_new


def em_rates(eigenvalues, n_components) -> tuple[float, float]:
    r"""By which factors EM's two errors, of subspace and of length, shrink in each step near the maximum.

    .. math:: \eta_{\text{subspace}} = \frac{\lambda_{q+1}}{\lambda_q}, \qquad
              \eta_{\text{length}} = \max_{i \le q} \Big[ 1 - \frac{2 \sigma^2 (\lambda_i - \sigma^2)}{\lambda_i^2}
              \Big]

    Parameters
    ----------
    eigenvalues : ndarray (N,)
        All eigenvalues of S, largest first.
    n_components : int

    Notes
    -----
    The first holds wherever EM stands, the second near the maximum and up to terms of order 1 / N. Chapter 4, equations
    (4.35) and (4.36).

    Examples
    --------
    >>> subspace, length = em_rates(np.array([8.0, 2.0, 1.0, 1.0]), n_components=1)
    >>> subspace, round(length, 4)
    (0.25, 0.7222)
    """
    lam, q = eigenvalues, n_components
    s2 = np.sum(lam[q:]) / (len(lam) - q)  # (4.21)
    lengths = 1.0 - 2.0 * s2 * (lam[:q] - s2) / lam[:q] ** 2  # (4.36)  (q,)
    return float(lam[q] / lam[q - 1]), float(np.max(lengths))  # (4.35)


def em_steps(eigenvalues, length_ratios, accuracy=0.01) -> float:
    r"""How many steps EM needs until every axis has its length, once the subspace is found.

    .. math:: t = \max_{i \le q} \frac{\lambda_i}{2 \sigma^2} \ln \frac{|a_i^2 - 1|}{2 \varepsilon}

    Parameters
    ----------
    eigenvalues : ndarray (N,)
        All eigenvalues of S, largest first.
    length_ratios : ndarray (q,)
        a: the length of each axis now, as a multiple of its length at the maximum; not 1 exactly.
    accuracy : float
        epsilon, the relative error that is left.

    Notes
    -----
    The squared length comes nearer by the same share in each step, wherever it starts; the noise must have settled, and
    be small beside lambda. Chapter 4, equation (4.37).

    Examples
    --------
    >>> lam = np.array([1.0, 0.5, *[0.01] * 98])
    >>> [round(em_steps(lam, np.array([a, 1.5]))) for a in (1.5, 10.0, 100.0)]
    [207, 425, 656]
    """
    lam, a, eps = eigenvalues, length_ratios, accuracy
    q = len(a)
    s2 = np.sum(lam[q:]) / (len(lam) - q)  # (4.21)
    steps = lam[:q] / (2.0 * s2) * np.log(np.abs(a**2 - 1.0) / (2.0 * eps))  # (4.37)  (q,)
    return float(max(np.max(steps), 0.0))


def em_forecast(eigenvalues, eigenvectors, latent, accuracy=0.01) -> tuple[float, float]:
    r"""How many steps EM still needs, from where it stands: for its lengths, and for its plane. The larger counts.

    .. math:: t_{\text{lengths}} = \max_{i \le q} \frac{\lambda_i}{2 \sigma^2} \ln \frac{|a_i^2 - 1|}{2 \varepsilon},
              \qquad t_{\text{plane}} = \ln \frac{\hat l_q \tau}{\varepsilon \|\hat X\|} \Big/
              \ln \frac{\lambda_q}{\lambda_{q+1}}

    The Procrustes distance to the maximum is accuracy after the larger of the two; tau is by how much the plane leans
    towards the eigenvector q + 1, the slowest to leave, and the shortest axis leans most. Axes that are not orthogonal
    within the right plane take longer.

    Parameters
    ----------
    eigenvalues : ndarray (N,)
        All eigenvalues of S, largest first.
    eigenvectors : ndarray (N, q + 1 or more)
        In the same order.
    latent : ndarray (N, q)
        EM's positions now, after some steps.
    accuracy : float
        epsilon, the Procrustes distance that is left, relative to the size of the maximum.

    Notes
    -----
    Costs O(N q^2). Chapter 4, equations (4.37) and (4.38).

    Examples
    --------
    >>> lam = np.array([1.0, 0.5, 0.4, *[0.01] * 97])
    >>> X = np.zeros((100, 2))
    >>> X[0, 0], X[1, 1], X[2, 1] = 1.5, 1.0, 0.5  # too long; the second axis leans towards the third
    >>> [round(steps) for steps in em_forecast(lam, np.eye(100), X)]
    [149, 15]
    """
    lam, U, X, eps = eigenvalues, eigenvectors, latent, accuracy
    N, q = X.shape
    s2 = np.sum(lam[q:]) / (N - q)  # (4.21)
    ends = np.sqrt(lam[:q] - s2)
    C = U[:, : q + 1].T @ X  # (q + 1, q)
    lengths = em_steps(lam, np.linalg.norm(C[:q], axis=1) / ends, eps)
    leaning = np.linalg.norm(np.linalg.solve(C[:q].T, C[q])) * ends[-1] / np.linalg.norm(ends)
    plane = np.log(max(leaning / eps, 1.0)) / np.log(lam[q - 1] / lam[q])  # (4.38)
    return lengths, float(plane)


def start_positions(kind, S, n_components, Y=None, random_state=None) -> np.ndarray:
    r"""Where EM starts, (N, q): Gaussian noise of the size of S, linear PCA scores over the root of N, or raw scores.

    .. math:: X(0) = \sqrt{\tfrac1N \mathrm{tr} S}\; Z, \qquad X(0) = U_q \mathrm{diag}(s_i) / \sqrt N,
              \qquad X(0) = U_q \mathrm{diag}(s_i)

    Parameters
    ----------
    kind : "random", "pca" or "raw pca"
    S : ndarray (N, N)
    n_components : int
    Y : ndarray (N, D)
        The data, for the two starts from linear PCA; s are the singular values of the centred data.
    random_state : None, int, RandomState or Generator

    Notes
    -----
    Costs O(N q), or O(N D min(N, D)). None of them has the lengths of the maximum: scores are measured in units of the
    data, and eigenvalues of S in those of the kernel. On iris with the kernel exp(-d^2 / 2) the axes of the raw scores
    are 48 and 16 times too long, and over the root of N still 3.9 and 1.3 times. Chapter 4, equation (4.39).

    Examples
    --------
    >>> Y = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> raw, scaled = (start_positions(kind, np.eye(4), 1, Y) for kind in ("raw pca", "pca"))
    >>> raw[:2].ravel().round(2), scaled[:2].ravel().round(2)
    (array([ 3., -3.]), array([ 1.5, -1.5]))
    """
    N, q = len(S), n_components
    if kind == "random":
        return np.sqrt(np.trace(S) / N) * checks.generator(random_state).standard_normal((N, q))
    U, s, _ = linalg.svd(Y - Y.mean(axis=0), full_matrices=False)
    if q > len(s):
        raise ValueError(
            f"A start from linear PCA has {len(s)} columns at most for data with {Y.shape[1]} columns, "
            f"but n_components is {q}. Use a random start."
        )
    scores = U[:, :q] * s[:q] * column_signs(U[:, :q])
    return scores / np.sqrt(N) if kind == "pca" else scores  # (4.39)


def em_progress(S, latent, noise_variance, iterations) -> np.ndarray:
    r"""How far EM is from the closed form after so many steps: subspace, lengths, likelihood.

    .. math:: \varphi_t = \angle(X(t), \hat X), \qquad
              d_t = \min_{R^\top R = I} \|\hat X - X(t) R^\top\|_F \,/\, \|\hat X\|_F, \qquad \hat\ell - \ell(t)

    Parameters
    ----------
    S : ndarray (N, N)
    latent, noise_variance : ndarray (N, q), float
        The start.
    iterations : sequence of int
        After which steps to measure, in increasing order.

    Returns
    -------
    ndarray (len(iterations), 3)
        The largest angle between the subspaces in radians, the Procrustes distance without scaling, and what the log
        likelihood for each feature still lacks.

    Notes
    -----
    Costs O(N^2 q) a step. Chapter 4, equation (4.34).

    Examples
    --------
    >>> S = np.diag([4.0, 1.0, 1.0, 0.5]) - 0.2
    >>> first, last = em_progress(S, np.array([[1.0], [2.0], [0.0], [1.0]]), 1.0, [0, 40])
    >>> bool(first[1] > 0.5), bool(np.all(np.abs(last) < 1e-6))
    (True, True)
    """
    X_hat, s2_hat = maximum_likelihood(S, latent.shape[1])
    best = log_likelihood(S, X_hat, s2_hat)
    wanted, rows = set(iterations), []
    for t, state in enumerate(em_iterates(S, latent, noise_variance, max(wanted))):
        if t in wanted:
            distance = procrustes_distance(X_hat, state.X, scaling=False)
            rows.append((subspace_angle(X_hat, state.X), distance, best - state.value))  # (4.34)
    return np.array(rows)
