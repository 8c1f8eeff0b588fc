"""Checkers of chapter 5. Each compares an answer with a second way to the same number."""

import numpy as np
from scipy.stats import multivariate_normal

from ..gplvm.likelihood import kernel_matrix_gradient, value_and_gradients
from ..kernels import RBF, White
from . import checker
from .answers import close, number, numbers, truth, two_parts


def _problem(seed=0, N=8, D=3, q=2):
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((N, D)) @ np.triu(np.ones((D, D)))
    return Y - Y.mean(axis=0), rng.standard_normal((N, q)), RBF(1.2, 0.8) + White(0.2)


@checker("gplvm.1")
def the_objective(function):
    """function(Y, K): the log likelihood (5.2)."""
    Y, X, kernel = _problem()
    K = kernel(X)
    expected = multivariate_normal(cov=K).logpdf(Y.T).sum()
    value = number(function(Y, K))
    if close(value, expected):
        return None
    one_determinant = expected + (3 - 1) / 2 * np.linalg.slogdet(K)[1]
    if close(value, one_determinant):
        return "ln |K| is counted once; there are D outputs, and each pays for it (the paper's (11) has this slip too)."
    if close(value, expected + 12 * np.log(2 * np.pi)):
        return "The constant -(DN/2) ln 2 pi is missing."
    return f"For the test data it should be {expected:.4f}, yours is {value:.4f}."


@checker("gplvm.2")
def gradient_in_K(function):
    """function(Y, K): dL/dK, (5.4)."""
    Y, X, kernel = _problem(1)
    K = kernel(X)
    expected, value = kernel_matrix_gradient(Y, K), numbers(function(Y, K))
    if value.shape != K.shape:
        return f"One entry for each entry of K is wanted, {K.shape}; yours has the shape {value.shape}."
    if close(value, expected):
        return None
    if close(value, 2 * expected):
        return "Twice the right answer: you copied equation (10) of the paper, which lacks the 1/2."
    return "It differs from finite differences. Differentiate the log determinant and the trace apart."


@checker("gplvm.3")
def same_likelihood_at_another_scale(function):
    """function(X, inverse_width, c): positions times c, and the inverse width that leaves the likelihood alone."""
    Y, X, _ = _problem(2)
    before = value_and_gradients(Y, X, RBF(1.2, 0.8) + White(0.2))[0]
    for c in (0.1, 3.0):
        X_new, width = two_parts(function(X, 0.8, c))
        if not close(X_new, c * X, 1e-5, 1e-8):
            return "The positions should be c times the old ones."
        after = value_and_gradients(Y, numbers(X_new), RBF(1.2, number(width)) + White(0.2))[0]
        if not close(after, before, 1e-8, 1e-8):
            return f"At c = {c} the log likelihood moved from {before:.3f} to {after:.3f}: what multiplies |x - x'|^2?"
    return None


@checker("gplvm.4")
def prediction_with_its_noise(function):
    """function(kernel, X, Y, x): mean and variance of a new OBSERVATION at x, its own noise included."""
    Y, X, kernel = _problem(3)
    x = np.array([[0.2, -0.4]])
    joint = kernel(np.vstack([X, x]))
    gain = np.linalg.solve(joint[:-1, :-1], joint[:-1, -1])
    mean, variance = (numbers(part).ravel() for part in two_parts(function(kernel, X, Y, x)))
    if not close(mean, gain @ Y):
        return "The mean is not that of the conditional Gaussian, equation (5.7)."
    expected = joint[-1, -1] - gain @ joint[:-1, -1]
    if close(variance, [expected]):
        return None
    if close(variance, [expected - 0.2]):
        return "That is the variance of the noise-free map: an observation has its own noise, once."
    return f"The variance should be {expected:.4f}, yours is {variance[0]:.4f}."


@checker("gplvm.5")
def the_wide_kernel(answer):
    """True or False: as the inverse width goes to 0 (variance growing to match), the RBF GP-LVM becomes dual PPCA."""
    if truth(answer):
        return None
    return "Expand the exponential to first order in the inverse width, and look at what is left of centred data."


@checker("gplvm.6")
def number_of_basins(answer):
    """How many different end points (by log likelihood, to 1 nat) four random starts reach: at least two."""
    values = numbers(answer)
    if values.shape != (4,):
        return "Give the four final log likelihoods, one for each of the seeds 0, 1, 2, 3."
    if np.ptp(values) >= 1.0:
        return None
    return 'All four agree to a nat; are the starts really random (init="random"), with four different seeds?'
