"""Checkers of chapter 5. Each compares an answer with a second way to the same number, on problems of several sizes."""

import numpy as np
from scipy.stats import multivariate_normal

from ..gplvm.likelihood import kernel_matrix_gradient, value_and_gradients
from ..kernels import RBF, White
from ..linalg import eigenpairs
from . import checker
from .answers import close, number, numbers, two_parts

SIZES = ((0, 8, 3, 2), (1, 6, 1, 1), (2, 5, 7, 3))  # seed, N, D, q


def _problem(seed=0, N=8, D=3, q=2):
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((N, D)) @ np.triu(np.ones((D, D)))
    return Y - Y.mean(axis=0), rng.standard_normal((N, q)), RBF(1.2, 0.8) + White(0.2)


def _wrong_shape(value, shape, what):
    """The hint for an answer of another shape."""
    return None if value.shape == shape else f"{what} has the shape {shape}; yours has the shape {value.shape}."


@checker("gplvm.1")
def the_objective(function):
    """function(Y, K): the log likelihood (5.2)."""
    for size in SIZES:
        Y, X, kernel = _problem(*size)
        (N, D), K = Y.shape, kernel(X)
        expected, ln_det = multivariate_normal(cov=K).logpdf(Y.T).sum(), np.linalg.slogdet(K)[1]
        fit = np.sum(Y * np.linalg.solve(K, Y))
        value = number(function(Y, K))
        if close(value, expected):
            continue
        at = f"At N = {N}, D = {D} "
        if D > 1 and close(value, expected + (D - 1) / 2 * ln_det):
            return at + "ln |K| is counted once; there are D outputs, and each pays (the paper's (11) slips here too)."
        if close(value, expected + D * N / 2 * np.log(2 * np.pi)):
            return at + "the constant -(DN/2) ln 2 pi is missing."
        if close(value, expected - fit / 2):
            return at + "the trace has lost its factor 1/2."
        if close(value, expected + D * ln_det):
            return at + "the determinant has the wrong sign: it charges for volume."
        return at + f"it should be {expected:.4f}, yours is {value:.4f}."
    return None


@checker("gplvm.2")
def gradient_in_K(function):
    """function(Y, K): dL/dK, (5.4)."""
    for size in SIZES:
        Y, X, kernel = _problem(*size)
        (N, D), K = Y.shape, kernel(X)
        expected, K_inv = kernel_matrix_gradient(Y, K), np.linalg.inv(K)
        value = numbers(function(Y, K))
        if hint := _wrong_shape(value, (N, N), "One entry for each entry of K: the gradient"):
            return hint
        if close(value, expected):
            continue
        at = f"At N = {N}, D = {D}: "
        if close(value, 2 * expected):
            return at + "twice the right answer. You copied equation (10) of the paper, which lacks the 1/2."
        if close(value, -expected):
            return at + "the sign. That is the gradient of -L; both terms are turned round."
        if D > 1 and close(value, expected + (D - 1) / 2 * K_inv):
            return at + "K^-1 comes from ln |K|, and each of the D outputs brings one."
        if close(value, expected + D / 2 * K_inv):
            return at + "that is the part of the trace; ln |K| depends on K too."
        return at + "it differs from finite differences. Differentiate the log determinant and the trace apart."
    return None


@checker("gplvm.3")
def same_likelihood_at_another_scale(function):
    """function(X, inverse_width, c): positions times c, and the inverse width that leaves the likelihood alone."""
    for size, c in zip(SIZES, (0.1, 3.0, 3.0), strict=True):
        Y, X, _ = _problem(*size)
        before = value_and_gradients(Y, X, RBF(1.2, 0.8) + White(0.2))[0]
        X_new, width = (numbers(part) for part in two_parts(function(X, 0.8, c)))
        width = number(width)
        if not close(X_new, c * X, 1e-5, 1e-8):
            return "The positions should be c times the old ones."
        if width > 0:
            after = value_and_gradients(Y, X_new, RBF(1.2, width) + White(0.2))[0]
            if close(width, 0.8 / c**2) and close(after, before, 1e-8, 1e-8):
                continue
        if close(width, 0.8 * c**2):
            return "The wrong way round: positions farther apart want a SMALLER inverse width."
        if close(width, 0.8 / c):
            return "The kernel looks at the SQUARE of a distance, and c comes out of it squared."
        if close(width, 0.8):
            return "With the width as it was, all correlations change: what multiplies |x - x'|^2?"
        return f"At c = {c} the log likelihood does not stay where it was: what multiplies |x - x'|^2?"
    return None


@checker("gplvm.4")
def prediction_with_its_noise(function):
    """function(kernel, X, Y, x): mean and variance of a new OBSERVATION at x, its own noise included."""
    for size, noise in zip(SIZES, (0.2, 0.05, 0.6), strict=True):
        Y, X, _ = _problem(*size)
        kernel = RBF(1.2, 0.8) + White(noise)
        x = np.random.default_rng(9).standard_normal((1, X.shape[1]))
        joint = kernel(np.vstack([X, x]))
        gain = np.linalg.solve(joint[:-1, :-1], joint[:-1, -1])
        mean, variance = (numbers(part).ravel() for part in two_parts(function(kernel, X, Y, x)))
        at = f"At N = {Y.shape[0]}, D = {Y.shape[1]}: "
        if not close(mean, gain @ Y):
            return at + "the mean is not that of the conditional Gaussian, equation (5.7)."
        expected = joint[-1, -1] - gain @ joint[:-1, -1]
        if close(variance, [expected]):
            continue
        if close(variance, [expected - noise]):
            return at + "that is the variance of the noise-free map. An observation has its own noise, once."
        if close(variance, [expected + noise]):
            return at + "the noise is counted twice; kernel.diag(x) has it already."
        if close(variance, [joint[-1, -1]]):
            return at + "that is the variance before any data: what they taught, k' K^-1 k, is to be taken away."
        if variance.size == Y.shape[1] and close(variance, np.full(Y.shape[1], expected)):
            continue  # once for each output: they share it
        if variance.size != 1:
            return at + f"one variance is wanted, the outputs share it; yours has {variance.size} numbers."
        return at + f"the variance should be {expected:.4f}, yours is {variance[0]:.4f}."
    return None


@checker("gplvm.5")
def gradient_in_positions(function):
    """function(G, X, variance, inverse_width): dL/dX of an RBF kernel from the symmetric G = dL/dK, (5.5)."""
    for (seed, N, _, q), inverse_width in zip(SIZES, (0.7, 2.0, 0.3), strict=True):
        rng = np.random.default_rng(seed)
        X, A = rng.standard_normal((N, q)), rng.standard_normal((N, N))
        G, kernel = A + A.T, RBF(1.7, inverse_width)
        expected = kernel.gradients(G, X)[0]
        value = numbers(function(G, X, 1.7, inverse_width))
        if hint := _wrong_shape(value, (N, q), "The gradient"):
            return hint
        if close(value, expected):
            continue
        if close(value, expected / 2):
            return "Half of it: x_n stands in row n AND in column n of K, and G is symmetric."
        if close(value, -expected):
            return "The sign: moving x_n away from x_j makes the kernel smaller."
        if close(value, expected / inverse_width):
            return "The inverse width is missing: the derivative of -g |x - x'|^2 / 2 brings it down."
        if close(value, 2 * expected):
            return "Twice too long: the square brings a 2 down, and the exponent has a 1/2."
        if close(value, expected / 1.7):
            return "The variance multiplies the exponential, also in its derivative."
        return "It differs from finite differences of sum(G * K). Differentiate one entry k(x_n, x_j) in x_n first."
    return None


@checker("gplvm.6")
def noise_of_the_wide_kernel(function):
    """function(Y, q): the noise variance in which the RBF GP-LVM ends when its width goes to infinity."""
    for seed, N, D, q in ((3, 9, 4, 2), (4, 7, 9, 1)):
        Y = _problem(seed, N, D)[0]
        lam = eigenpairs(Y @ Y.T / D)[0]
        rest = lam[q:].sum()
        value = number(function(Y, q))
        if close(value, rest / (N - 1 - q)):
            continue
        if close(value, rest / (N - q)):
            return "That is dual PPCA's. An endless bias makes one direction free, and it is lost to the noise."
        if close(value, rest * D / N / (D - q)):
            return "That is PPCA's, with D - q; here the N points are the dimensions."
        if close(value, rest / (N - 1)) or close(value, rest / N):
            return "The q directions that X explains leave no noise to average over."
        if close(value, rest * D / (N - 1 - q)):
            return "A factor D: the eigenvalues are those of Y Y' / D."
        return f"At N = {N}, D = {D}, q = {q} it should be {rest / (N - 1 - q):.4f}, yours is {value:.4f}."
    return None


@checker("gplvm.7")
def gradient_through_a_network(function):
    """function(Y, W1, W2, dX): gradients in W1 and W2 when X = tanh(Y W1) W2 and dL/dX is given."""
    for seed, N, D, H, q in ((5, 7, 4, 3, 2), (6, 5, 3, 6, 1)):
        rng = np.random.default_rng(seed)
        Y, W1, W2, dX = (rng.standard_normal(shape) for shape in ((N, D), (D, H), (H, q), (N, q)))
        T = np.tanh(Y @ W1)
        right_1, right_2 = Y.T @ ((dX @ W2.T) * (1 - T**2)), T.T @ dX
        d1, d2 = (numbers(part) for part in two_parts(function(Y, W1, W2, dX), "Return two things: dW1, dW2."))
        if hint := _wrong_shape(d1, (D, H), "dL/dW1") or _wrong_shape(d2, (H, q), "dL/dW2"):
            return hint
        if not close(d2, right_2):
            if close(d2, (Y @ W1).T @ dX):
                return "W2 meets the hidden units after their tanh, not before it."
            return "dL/dW2 differs from finite differences: X is linear in W2: transpose what multiplies it."
        if close(d1, right_1):
            continue
        if close(d1, Y.T @ (dX @ W2.T)):
            return "dL/dW2 is right. On the way to W1 the slope of the tanh is missing: 1 - tanh^2."
        if close(d1, Y.T @ ((dX @ W2.T) * T)):
            return "dL/dW2 is right. You multiplied by the tanh itself; its slope is wanted."
        if close(d1, Y.T @ ((dX @ W2.T) * (1 - T))):
            return "dL/dW2 is right. The slope of the tanh is 1 minus its SQUARE."
        return "dL/dW2 is right. For dL/dW1 go back one layer: dL/dX W2' is the gradient in the hidden units."
    return None
