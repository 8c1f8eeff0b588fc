"""Checkers of chapter 1. Each compares an answer with a second way to the same number."""

import numpy as np
from scipy.stats import multivariate_normal

from ..datasets import simulate_oil_flow
from ..ppca import LinearGaussian, dual_gradient, e_step, log_likelihood, maximum_likelihood
from . import checker
from .answers import close, number, numbers, two_parts


def _problem(seed=0, N=9, D=5, q=2):
    rng = np.random.default_rng(seed)
    W, s2 = rng.standard_normal((D, q)), 0.4
    Y = rng.standard_normal((N, q)) @ W.T + np.sqrt(s2) * rng.standard_normal((N, D))
    return Y - Y.mean(axis=0), W, s2


@checker("ppca.1")
def log_density_of_one_point(function):
    """function(y, W, s2): ln N(y | 0, WW' + s2 I) without a D x D matrix."""
    Y, W, s2 = _problem()
    expected = multivariate_normal(cov=W @ W.T + s2 * np.eye(5)).logpdf(Y[0])
    value = number(function(Y[0], W, s2))
    if close(value, expected):
        D = 200_000  # a D x D matrix would need 320 GB; WW' + I has the eigenvalue 1 + D, and 1 for the rest
        big = number(function(np.zeros(D), np.ones((D, 1)), 1.0), finite=False)
        if close(big, -0.5 * (D * np.log(2 * np.pi) + np.log(1 + D))):
            return None
        return f"Right for small D; for D = 200000, y = 0 and weights of 1 it gives {big:.4f}."
    if close(value - expected, 2.5 * np.log(2 * np.pi)):
        return "The constant -(D/2) ln 2 pi is missing."
    return f"For the first test point it should be {expected:.4f}, yours is {value:.4f}. Look at (1.6) and (1.7)."


@checker("ppca.2")
def noise_of_both_models(function):
    """function(singular_values, N, D, q): the two noise variances, from the singular values of Y."""
    Y, _, _ = _problem(N=7, D=5)
    s = np.linalg.svd(Y, compute_uv=False)
    expected = [maximum_likelihood(Y, 2)[1], maximum_likelihood(Y.T, 2)[1]]
    both = two_parts(function(s, 7, 5, 2), "Return two numbers: PPCA's noise variance, then its dual's.")
    value = np.array([number(part) for part in both])
    if close(value, expected):
        return None
    if close(value[::-1], expected):
        return "Both are right, but they are swapped."
    if close(value, [np.mean(s[2:] ** 2) / 7, np.mean(s[2:] ** 2) / 5]):
        return (
            "You averaged over the singular values that are there. How many eigenvalues has each matrix, "
            "zeros included?"
        )
    return (
        f"For the test data they should be {expected[0]:.4f} and {expected[1]:.4f}, "
        f"yours are {value[0]:.4f} and {value[1]:.4f}."
    )


@checker("ppca.3")
def gradient_in_the_latent_positions(function):
    """function(Y, X, s2): the gradient of the dual log likelihood."""
    Y, _, s2 = _problem(seed=1)
    X = np.random.default_rng(2).standard_normal((9, 2))
    expected, value = dual_gradient(Y, X, s2), numbers(function(Y, X, s2))
    if value.shape != X.shape:
        return f"The gradient has the shape of X, {X.shape}; yours has {value.shape}."
    if close(value, expected):
        return None
    if close(value, 2 * expected):
        return "Twice the right answer: equation (10) of the paper lacks a factor 1/2, see the misprints."
    if close(value, -expected):
        return "The sign: this is the gradient of the log likelihood, which we climb."
    return "It differs from finite differences. Differentiate the two terms of (1.14) apart and test each on its own."


@checker("ppca.4")
def posterior_with_gaps(function):
    """function(y, W, s2): posterior mean of x when some entries of y are NaN."""
    Y, W, s2 = _problem(seed=3)
    y = Y[0].copy()
    y[[1, 3]] = np.nan
    expected = e_step(y[None], LinearGaussian(W, np.zeros(5), np.full(5, s2))).means[0]
    value = numbers(function(y, W, s2), finite=False)
    if close(value, expected):
        return None
    everything = np.linalg.solve(W.T @ W + s2 * np.eye(2), W.T @ np.nan_to_num(y))
    if close(value, everything):
        return "That is the error itself: M holds all rows of W, so a gap is read as an observed zero."
    if np.isnan(value).any():
        return "NaN has spread into your answer: leave the missing entries out of the sums."
    return f"The joint Gaussian says {expected.round(4)}, you say {value.round(4)}."


@checker("ppca.5")
def noise_that_switches_off_the_second_axis(answer):
    """The multiple of the best noise at which the second axis of the oil flow data vanishes (q = 2)."""
    Y = simulate_oil_flow(400, random_state=0).data
    lam = np.linalg.eigvalsh(np.cov(Y.T, bias=True))[::-1]
    exact = lam[1] / np.mean(lam[2:])
    multiple = number(answer)
    if 0.85 * exact < multiple < 1.15 * exact:
        return None
    side = "larger" if multiple < exact else "smaller"
    return f"The second bar has not just disappeared there: try a {side} multiple. The spectrum shows when."


@checker("ppca.6")
def same_likelihood_other_weights(function):
    """function(W): other weights, neither W nor W with flipped signs, of the same likelihood for all data."""
    Y, W, s2 = _problem(seed=4)
    other = numbers(function(W))
    if other.ndim != 2 or len(other) != len(W):
        return f"Weights are a matrix of {len(W)} rows, one for each column of Y; yours have the shape {other.shape}."
    if not close(other @ other.T, W @ W.T, 1e-5, 1e-8):
        gap = log_likelihood(Y, other, s2) - log_likelihood(Y, W, s2)
        return f"W W' has changed, and with it the likelihood, by {gap:.3f}."
    if close(np.abs(other), np.abs(W), 1e-5, 1e-6):
        return "These are the same columns with other signs (or nothing changed at all). Find a continuous family."
    return None


@checker("ppca.7")
def factor_analysis_noise(function):
    """function(S, W, Sigma_xx, Sigma_xy): the noise variances of one M-step, from averaged moments."""
    rng = np.random.default_rng(5)
    A = rng.standard_normal((30, 6))
    moments = A.T @ A / 30
    S, xx, xy = moments[:4, :4], moments[4:, 4:], moments[4:, :4]
    W = np.linalg.solve(xx, xy).T
    expected = np.diag(S) - np.sum(W * xy.T, axis=1)
    value = numbers(function(S, W, xx, xy))
    if value.shape == (4, 4):
        return "A vector with one variance for each column is wanted, not a matrix: take the diagonal."
    if close(value, expected):
        return None
    if close(value, np.full(4, expected.mean())):
        return "That is PPCA's noise, pooled over the columns. Factor analysis keeps one for each, (1.25)."
    return f"It should be {expected.round(4)}, yours is {np.round(value, 4)}."
