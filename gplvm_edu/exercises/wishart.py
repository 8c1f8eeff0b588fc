"""Checkers of chapter 4. Each compares an answer with a second way to the same number."""

from functools import lru_cache

import numpy as np

from ..datasets import load_iris
from ..kernels import RBF
from ..linalg import squared_distances
from ..wishart import (
    distance_covariance,
    em_iterates,
    em_progress,
    em_step,
    kernel_covariance,
    maximum_likelihood,
    start_positions,
)
from . import checker
from .answers import close, number, numbers, two_parts


def _kernel(seed=0, N=9, r=7):
    """A kernel matrix of rank r with two strong directions."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((N, 2)) @ rng.standard_normal((2, r)) + 0.5 * rng.standard_normal((N, r)) + 1.0
    return F @ F.T


def _pair(answer, shapes):
    """The two parts of an answer as arrays, or the hint that says what was expected."""
    first, second = (numbers(part) for part in two_parts(answer))
    if shapes[1] == () and second.size == 1:
        second = second.reshape(())
    if (first.shape, second.shape) != shapes:
        return None, None, f"The two parts should have the shapes {shapes}, yours have {(first.shape, second.shape)}."
    return first, second, None


@checker("wishart.1")
def moments(function):
    """function(Sigma, r): mean and variance of every entry of K ~ W(r, Sigma)."""
    A = np.random.default_rng(0).standard_normal((3, 5))
    Sigma, r = A @ A.T, 6
    mean, variance, hint = _pair(function(Sigma, r), ((3, 3), (3, 3)))
    if hint:
        return hint
    d = np.diag(Sigma)
    right = r * (Sigma**2 + np.outer(d, d))
    if not close(mean, r * Sigma):
        return "The mean is not right yet: K is a sum of r terms g g', and each has the mean Sigma."
    if close(variance, right):
        return None
    if close(variance, r * np.outer(d, d)):
        return "You took g_i and g_j as independent: three products of pairs appear in E[g_i g_j g_i g_j]."
    if close(variance, right * r):
        return "r independent terms are added, so variances add: a factor r, not r squared."
    return "The mean is right, the variance is not. Start from E[g_i g_i g_j g_j] = s_ii s_jj + 2 s_ij^2."


@checker("wishart.2")
def positions_from_distances(function):
    """function(A, q): latent positions and noise variance from squared distances."""
    Y = np.random.default_rng(1).standard_normal((10, 4)) * [3.0, 2.0, 1.0, 0.5]
    A = squared_distances(Y)
    X, s2 = maximum_likelihood(distance_covariance(A), 2)
    ours, noise, hint = _pair(function(A, 2), ((10, 2), ()))
    if hint:
        return hint
    G = ours @ ours.T
    if close(noise, s2) and close(G, X @ X.T, 1e-5, 1e-8):
        return None
    if close(noise, s2 * 8 / 7):
        return "You averaged over N - 1 - q eigenvalues: the zero that centring makes counts too, (4.17)."
    if close(noise, 10 * s2):
        return "A factor N: the model wants S = HKH / N."
    if close(noise, 2 * s2) or close(noise, -2 * s2):
        return "A factor -1/2: see (4.21)."
    if close(noise, s2):
        return "The noise is right, the positions are not: their axes are shortened by the noise, (4.16)."
    return f"The noise should be {s2:.4f} for the test data, yours is {float(noise):.4f}."


@checker("wishart.3")
def em_with_the_printed_factors(function):
    """function(T, X, s2): one EM step from T = HKH, with the factors N where they belong."""
    S = kernel_covariance(_kernel(2))
    X, s2 = np.random.default_rng(3).standard_normal((9, 2)), 0.7
    right = em_step(S, X, s2)
    ours, noise, hint = _pair(function(9 * S, X, s2), ((9, 2), ()))
    if hint:
        return hint
    if close(ours, right[0]) and close(noise, right[1]):
        return None
    if close(ours, right[0]):
        return "X is right. In the noise, T brings one factor N and the average over the points another."
    wrong = em_step(9 * S, X, s2)
    if close(ours, wrong[0]):
        return "That is the error itself: T is N times S, so what is added to M^-1 X'TX must be N times larger too."
    return "X differs from (4.26). Put T = N S into it and see which factors N do not cancel."


@checker("wishart.4")
def noise_of_the_contrasts(function):
    """function(K, q): the ML noise variance when the offsets are removed instead of estimated."""
    K = _kernel(4)
    lam = np.linalg.eigvalsh(kernel_covariance(K))[::-1]
    right = lam[2:].sum() / (9 - 1 - 2)
    value = number(function(K, 2))
    if close(value, right):
        return None
    if close(value, lam[2:].sum() / (9 - 2)):
        return "That is (4.17), with the zero of centring among its N - q eigenvalues. How many has Q'KQ / N?"
    if close(value, right * 9 / 8):
        return "Divide Q'KQ by N, as before: the scale of the model has not changed, only the space has."
    return f"For the test kernel it should be {right:.4f}, yours is {value:.4f}."


@lru_cache
def _iterations():
    """How many steps it takes on iris, kernel exp(-d^2 / 2), from raw PCA scores and noise 1."""
    Y = load_iris().data
    S = kernel_covariance(RBF(1.0, 1.0)(Y))
    counts = np.arange(0, 1001, 10)
    distance = em_progress(S, start_positions("raw pca", S, 2, Y), 1.0, counts)[:, 1]
    return counts[np.argmax(distance < 0.01)]


@checker("wishart.5")
def iterations_on_iris(answer):
    """EM iterations on iris from raw PCA scores, noise 1, until the Procrustes distance is below 1 %."""
    answer, exact = number(answer), _iterations()
    if 0.85 * exact <= answer <= 1.15 * exact:
        return None
    side = "more" if answer < exact else "fewer"
    return f"Look at the curve of the Procrustes distance where it crosses 0.01: {side} iterations."


@lru_cache
def _right_subspace():
    """A kernel's S, and a basis of the subspace in which EM has ended, turned and stretched."""
    S = kernel_covariance(_kernel(5))
    *_, state = em_iterates(S, 40.0 * np.random.default_rng(6).standard_normal((9, 2)), 1e-3, max_iter=400)
    return S, 7.0 * state.X @ np.array([[1.0, 3.0], [-2.0, 0.5]])


@checker("wishart.6")
def finish_em_at_once(function):
    """function(S, X): given any basis X of the right subspace, the positions and the noise of the maximum."""
    S, turned = _right_subspace()
    X_hat, s2_hat = maximum_likelihood(S, 2)
    ours, noise, hint = _pair(function(S, turned), ((9, 2), ()))
    if hint:
        return hint
    if not close(noise, s2_hat, rtol=1e-5):
        return (
            f"The noise should be {s2_hat:.4f}, yours is {float(noise):.4f}: the trace of S less what the subspace "
            "explains, over N - q."
        )
    if close(ours @ ours.T, X_hat @ X_hat.T, 1e-5, 1e-5):
        return None
    return "The noise is right. Now diagonalise the small matrix Q'SQ and shorten its axes as in (4.16)."


@checker("wishart.7")
def kernel_factor_analysis(function):
    """function(S, X, psi): one EM step when each point has its own noise variance psi."""
    S = kernel_covariance(_kernel(7, r=20))
    rng = np.random.default_rng(8)
    X, psi = rng.standard_normal((9, 2)), rng.uniform(0.3, 1.5, 9)
    right = factor_em_step(S, X, psi)
    ours, noise, hint = _pair(function(S, X, psi), ((9, 2), (9,)))
    if hint:
        return hint
    if close(ours, right[0]) and close(noise, right[1]):
        return None
    if close(ours, right[0]) and close(noise, np.full(9, right[1].mean())):
        return "The noise is averaged over the points: that is (4.27). Here each point keeps its own."
    if close(ours, right[0]):
        return "X is right. The new noise is the diagonal of S - X+ b S, with b = G^-1 X' Psi^-1."
    before, after = factor_log_likelihood(S, X, psi), factor_log_likelihood(S, ours, np.maximum(noise, 1e-12))
    return (
        f"X is not right yet: a step of EM takes the likelihood from {before:.3f} to "
        f"{factor_log_likelihood(S, *right):.3f}, yours to {after:.3f}."
    )


def factor_em_step(S, X, psi):
    """One EM step of kernel PCA with a noise variance psi (N,) for each point: the solution of exercise 7."""
    G = np.eye(X.shape[1]) + X.T @ (X / psi[:, None])
    b = np.linalg.solve(G, X.T / psi)
    X_new = np.linalg.solve(np.linalg.inv(G) + b @ S @ b.T, b @ S).T
    return X_new, np.diag(S - X_new @ b @ S)


def factor_log_likelihood(S, X, psi):
    """Log likelihood a feature when each point has its own noise variance psi (N,)."""
    C = X @ X.T + np.diag(psi)
    return -0.5 * (np.linalg.slogdet(C)[1] + np.trace(np.linalg.solve(C, S)))
