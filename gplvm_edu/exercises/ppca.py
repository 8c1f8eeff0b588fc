"""Checkers of chapter 1. Each compares an answer with a second way to the same number, on problems of several sizes."""

import numpy as np
from scipy.stats import multivariate_normal

from ..datasets import simulate_oil_flow
from ..ppca import LinearGaussian, dual_gradient, e_step, log_likelihood
from . import checker
from .answers import close, number, numbers, two_parts, vector
from .guard import peak_memory

SLIDER = 10**0.05  # one step of the noise slider: a factor of 1.12


def _problem(seed=0, N=9, D=5, q=2):
    rng = np.random.default_rng(seed)
    W, s2 = rng.standard_normal((D, q)), rng.uniform(0.3, 0.5)
    Y = rng.standard_normal((N, q)) @ W.T + np.sqrt(s2) * rng.standard_normal((N, D))
    return Y - Y.mean(axis=0), W, s2


@checker("ppca.1")
def log_density_of_one_point(function):
    """function(y, W, s2): ln N(y | 0, WW' + s2 I) without a D x D matrix."""
    Y, W, s2 = _problem()
    y, (D, q) = Y[0], W.shape
    C = W @ W.T + s2 * np.eye(D)
    expected, square = multivariate_normal(cov=C).logpdf(y), y @ np.linalg.solve(C, y)
    value = number(function(y, W, s2))
    if close(value, expected):
        return _log_density_in_many_dimensions(function)
    if close(value - expected, 0.5 * D * np.log(2 * np.pi)):
        return "The constant -(D/2) ln 2 pi is missing."
    if close(value - expected, -0.5 * q * np.log(s2)):
        return "The determinant: in (1.8) ln s2 counts D - q times, not D times."
    if close(value - expected, 0.5 * (1 - s2) * square):
        return "The square is not divided by s2: see (1.9)."
    if close(value, 2 * expected):
        return "Twice too large: the factor 1/2 is missing."
    if close(value, np.exp(expected)):
        return "That is the density. Its logarithm is asked for."
    return f"For the first test point it should be {expected:.4f}, yours is {value:.4f}. Look at (1.8) and (1.9)."


def _log_density_in_many_dimensions(function, D=1000, q=3):
    """The second half of ppca.1: D is small enough to be harmless, and large enough to see a D x D matrix."""
    rng = np.random.default_rng(1)
    U, lengths, s2 = np.linalg.qr(rng.standard_normal((D, q)))[0], np.array([3.0, 2.0, 1.0]), 0.3
    R, _ = np.linalg.qr(rng.standard_normal((q, q)))
    y = U @ (rng.standard_normal(q) * lengths) + np.sqrt(s2) * rng.standard_normal(D)
    variances, along = lengths**2 + s2, U.T @ y  # WW' + s2 I has these along U's columns, and s2 elsewhere
    log_det = np.sum(np.log(variances)) + (D - q) * np.log(s2)
    square = np.sum(along**2 / variances) + (y @ y - along @ along) / s2
    value, peak = peak_memory(function, y, U * lengths @ R, s2)
    if peak > 2 * D * D:
        return (
            f"Right for D = 5, but for D = {D} it needs {peak / 1e6:.1f} megabytes at one time: it makes a D x D "
            "matrix. Everything can be done with M, which is q x q."
        )
    value = number(value, finite=False)
    if close(value, -0.5 * (D * np.log(2 * np.pi) + log_det + square)):
        return None
    if not np.isfinite(value):
        return f"For D = {D} it gives {value}: a product of that many numbers is 0 for a computer. Add logarithms."
    return f"Right for D = 5 and q = 2; for a point with D = {D} and q = {q} it gives {value:.4f}."


@checker("ppca.2")
def noise_of_both_models(function):
    """function(singular_values, N, D, q): the two noise variances, from the singular values of Y."""
    for seed, (N, D, q) in enumerate([(7, 5, 2), (4, 6, 1), (10, 8, 3)]):
        Y = np.random.default_rng(seed).standard_normal((N, D))
        s = np.linalg.svd(Y, compute_uv=False)
        expected = [np.mean(np.linalg.eigvalsh(S)[:-q]) for S in (Y.T @ Y / N, Y @ Y.T / D)]
        both = two_parts(function(s, N, D, q), "Return two numbers: PPCA's noise variance, then its dual's.")
        value = np.array([number(part) for part in both])
        if close(value, expected):
            continue
        if close(value[::-1], expected):
            return "Both are right, but they are swapped: PPCA's first, then its dual's."
        rest = s[q:] ** 2
        if close(value, [np.mean(rest) / N, np.mean(rest) / D]):
            return (
                "You averaged over the singular values that are there. How many eigenvalues has each matrix, "
                "zeros included?"
            )
        if close(value, [rest.sum() / (D - q), rest.sum() / (N - q)]):
            return "These are eigenvalues of Y'Y and YY'. The models have Y'Y / N and YY' / D."
        if close(value, [s[q:].sum() / N / (D - q), s[q:].sum() / D / (N - q)]):
            return "An eigenvalue is the square of a singular value."
        return (
            f"For N = {N}, D = {D}, q = {q} they should be {expected[0]:.4f} and {expected[1]:.4f}, "
            f"yours are {value[0]:.4f} and {value[1]:.4f}."
        )
    return None


@checker("ppca.3")
def gradient_in_the_latent_positions(function):
    """function(Y, X, s2): the gradient of the dual log likelihood."""
    for seed, (N, D, q) in ((1, (9, 5, 2)), (2, (6, 8, 3))):
        Y, _, s2 = _problem(seed, N, D)
        X = np.random.default_rng(seed).standard_normal((N, q))
        expected, value = dual_gradient(Y, X, s2), numbers(function(Y, X, s2))
        if value.shape != X.shape:
            return f"The gradient has the shape of X, {X.shape}; yours has {value.shape}."
        if close(value, expected):
            continue
        if close(value, 2 * expected):
            return "Twice the right answer: equation (10) of the paper lacks a factor 1/2 (Appendix C, L3)."
        if close(value, -expected):
            return "The sign: this is the gradient of the log likelihood, which we climb."
        pull = np.linalg.solve(X @ X.T + s2 * np.eye(N), X)
        if close(value, expected + (D - 1) * pull):
            return "The factor D is missing: ln |K| counts once for each column of Y."
        if close(value, expected + D * pull):
            return "That is the gradient of the trace alone. ln |K| depends on X as well."
        return (
            "It differs from finite differences. Differentiate the two terms of (1.19) apart and test each on its own."
        )
    return None


@checker("ppca.4")
def posterior_with_gaps(function):
    """function(y, W, s2): posterior mean of x when some entries of y are NaN."""
    for seed, D, q, gaps in ((3, 5, 2, [1, 3]), (4, 7, 3, [0]), (5, 6, 2, [])):
        Y, W, s2 = _problem(seed, D=D, q=q)
        y = Y[0].copy()
        y[gaps] = np.nan
        seen = ~np.isnan(y)
        expected = e_step(y[None], LinearGaussian(W, np.zeros(D), np.full(D, s2))).means[0]
        value = numbers(function(y, W, s2), finite=False)
        if np.isnan(value).any():
            return "NaN has spread into your answer: leave the missing entries out of the sums."
        value = vector(value, q, "A latent position")
        if close(value, expected):
            continue
        if close(value, np.linalg.solve(W.T @ W + s2 * np.eye(q), W.T @ np.nan_to_num(y))):
            return "Right without gaps, wrong with them: which line does not know of the gaps?"
        if close(value, np.linalg.lstsq(W[seen], y[seen], rcond=None)[0]):
            return "That is least squares: M lacks s2 on its diagonal, and the prior has no say."
        if close(value, np.linalg.solve(W[seen].T @ W[seen] + np.eye(q), W[seen].T @ y[seen])):
            return "M has 1 on its diagonal where it needs s2: see (1.10)."
        return f"With {len(gaps)} gaps the joint Gaussian says {expected.round(4)}, you say {value.round(4)}."
    return None


@checker("ppca.5")
def noise_that_switches_off_the_second_axis(answer):
    """The multiple of the best noise at which the second axis of the oil flow data vanishes (q = 2).

    Accepted is half a step of the slider to either side, a factor of 1.06: the slider has one position in that range,
    the first at which the bar is off. One step earlier the bar is still there.
    """
    Y = simulate_oil_flow(400, random_state=0).data
    lam = np.linalg.eigvalsh(np.cov(Y.T, bias=True))[::-1]
    exact = lam[1] / np.mean(lam[2:])
    multiple = number(answer)
    if exact / np.sqrt(SLIDER) < multiple < exact * np.sqrt(SLIDER):
        return None
    if close(multiple, lam[1], 0.06):
        return "That is the noise variance itself. Divide it by the best noise: the slider shows the multiple."
    if close(multiple, lam[0] / np.mean(lam[2:]), 0.06):
        return "There the first bar disappears, and the second is gone already: try a smaller multiple."
    side = "larger" if multiple < exact else "smaller"
    return f"The second bar does not just disappear there: try a {side} multiple. The spectrum shows when."


@checker("ppca.6")
def same_likelihood_other_weights(function):
    """function(W): weights W R' of the same likelihood for all data, R orthogonal but no change of order or signs."""
    for seed, D, q, orthogonal in ((4, 5, 2, False), (5, 6, 3, False), (6, 5, 2, True)):
        Y, W, s2 = _problem(seed, D=D, q=q)
        if orthogonal:
            W = np.linalg.qr(W)[0] * [2.0, 1.0]
        other = numbers(function(W))
        if other.shape == (D, q + 1) and close(other @ other.T, W @ W.T, 1e-5, 1e-8):
            return "A further column changes the shape of W. Find weights with q columns."
        if other.shape != W.shape:
            return f"Weights of the shape of W are wanted, {W.shape}; yours have {other.shape}."
        if not close(other @ other.T, W @ W.T, 1e-5, 1e-8):
            gap = log_likelihood(Y, other, s2) - log_likelihood(Y, W, s2)
            if close(other.T @ other, W.T @ W, 1e-5, 1e-8):
                return f"You turned the data's side: W W' has changed, and the likelihood by {gap:.3f}. Turn the other."
            return f"W W' has changed, and with it the likelihood, by {gap:.3f}."
        R = np.abs(np.linalg.lstsq(W, other, rcond=None)[0])
        where = "For a W with orthogonal columns these" if orthogonal else "These"
        if close(R, np.eye(q), 0.0, 1e-6):
            return f"{where} are the same columns with other signs, or unchanged. Find a continuous family."
        if close(R, np.rint(R), 0.0, 1e-6):
            return f"{where} are the same columns in another order. Find a continuous family: any orthogonal R will do."
    return None


@checker("ppca.7")
def factor_analysis_noise(function):
    """function(S, W, Sigma_xx, Sigma_xy): the noise variances of one M-step, from averaged moments."""
    for seed, D, q in ((5, 4, 2), (6, 6, 3)):
        A = np.random.default_rng(seed).standard_normal((30, D + q)) @ np.diag(np.linspace(0.5, 2.0, D + q))
        moments = A.T @ A / 30
        S, xx, xy = moments[:D, :D], moments[D:, D:], moments[D:, :D]
        W = np.linalg.solve(xx, xy).T
        expected, once = np.diag(S - W @ xy - xy.T @ W.T + W @ xx @ W.T), np.sum(W * xy.T, axis=1)
        value = numbers(function(S, W, xx, xy))
        if value.shape == (D, D):
            return "A vector with one variance for each column is wanted, not a matrix: take the diagonal."
        if value.size == 1:
            return "One number is PPCA's noise, pooled over the columns. Factor analysis keeps one for each, (1.35)."
        value = vector(value, D, "A vector")
        if close(value, expected):
            continue
        if close(value, np.full(D, expected.mean())):
            return "That is PPCA's noise, pooled over the columns. Factor analysis keeps one for each, (1.35)."
        if close(value, np.diag(S)):
            return "That is the variance of each column. What W explains is to be taken away."
        if close(value, np.diag(S) - 2 * once):
            return "What W explains is taken away twice: <|y - Wx|^2> has a third term, + W Sigma_xx W'."
        if close(value**2, expected):
            return "These are standard deviations; variances are asked for."
        return f"It should be {expected.round(4)}, yours is {np.round(value, 4)}."
    return None
