"""Checkers of chapter 7. Each compares an answer with a second way to the same number."""

import numpy as np
from scipy.stats import multivariate_normal

from ..ivm import (
    GUARANTEE,
    best_rows,
    greedy_rows,
    inactive_log_likelihood,
    information,
    pivoted_cholesky_rows,
    select_active_set,
    selection_map,
)
from ..kernels import RBF, Bias, White
from ..noise import Gaussian
from . import checker
from .answers import close, number, numbers, two_parts, whole_numbers


def _problem(seed=0, N=10, D=3, q=2):
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((N, D)) @ np.triu(np.ones((D, D)))
    return Y - Y.mean(axis=0), rng.standard_normal((N, q)), RBF(1.2, 0.8) + Bias(0.1)


@checker("ivm.1")
def the_gain_of_a_gaussian_observation(function):
    """function(variance, noise_variance): entropy reduction of one output, in nats."""
    for variance, noise in ((1.0, 0.5), (0.2, 0.01), (3.0, 2.0)):
        expected, value = 0.5 * np.log(1 + variance / noise), number(function(variance, noise))
        if close(value, expected):
            continue
        if close(value, expected / np.log(2)):
            return "Right in bits; the course counts in nats, with the natural logarithm."
        if close(value, 2 * expected):
            return "Twice too much: the entropy of a Gaussian holds HALF the log of its variance."
        if close(value, -expected):
            return "The sign: a reduction is what was there before minus what is left."
        return f"At variance {variance} and noise {noise} it should be {expected:.4f}, yours is {value:.4f}."
    return None


@checker("ivm.2")
def one_inclusion(function):
    """function(mean, covariance, n, y, noise_variance): posterior mean (N,) and covariance (N, N) once y_n was seen."""
    Y, X, kernel = _problem(1)
    K, y = kernel(X), Y[:, 0]
    mean, covariance = np.zeros(10), K
    for seen in ([3], [3, 7]):
        n = seen[-1]
        mean, covariance = (numbers(part) for part in two_parts(function(mean, covariance, n, y[n], 0.2)))
        gain = np.linalg.solve(K[np.ix_(seen, seen)] + 0.2 * np.eye(len(seen)), K[seen]).T
        if not close(mean, gain @ y[seen]):
            return (
                f"After the inclusion of {seen} the mean is not that of the posterior: is it raised by s times nu "
                "times the residual y - mean[n]?"
            )
        if not close(covariance, K - gain @ K[seen]):
            return "The mean is right, the covariance is not: what is taken off is nu times the outer product of s."
    return None


@checker("ivm.3")
def selection_from_scratch(function):
    """function(K, noise_variance, n_active): indices in the order of their choice, from the whole matrix K."""
    noise, d = 0.2, 8
    for seed in (33, 231):  # with a tenth, half, three quarters, twice, the root of the noise the order is another
        _, X, kernel = _problem(seed)
        covariance = kernel(X)
        value = whole_numbers(function(covariance.copy(), noise, d))
        if value.shape != (d,):
            return f"{d} indices are wanted, yours has the shape {value.shape}."
        if not set(value.tolist()) <= set(range(len(X))):
            return f"Indices count from 0 to {len(X) - 1}; yours are {value.tolist()}."
        if len(set(value.tolist())) < d:
            return "A point was taken twice: its variance is small afterwards, but not zero. Take it off the list."
        if value.tolist() == pivoted_cholesky_rows(X, kernel, d).tolist():
            return "Those are the pivots of K itself, as if values had no noise, or too little: where does it enter?"
        for step, n in enumerate(value):
            offers = np.diag(covariance).copy()
            offers[value[:step]] = 0.0
            if not offers[n] >= offers.max() - 1e-9:  # of equal offers any may be taken
                order = [*value[:step].tolist(), int(np.argmax(offers))]
                return f"The order should begin {order}, yours begins {value[: step + 1].tolist()}."
            s = covariance[:, n]
            covariance = covariance - np.outer(s, s) / (s[n] + noise)
    return None


@checker("ivm.4")
def variance_of_an_inactive_point(function):
    """function(kernel, X_active, x): variance of a new y at x given the active rows, for a kernel with a White part."""
    for seed, white in ((4, 0.3), (5, 0.05)):
        _, X, _ = _problem(seed)
        kernel, x = RBF(1.2, 0.8) + White(white), np.array([[0.3, -0.2]])
        joint = kernel(np.vstack([X, x]))
        expected = joint[-1, -1] - joint[-1, :-1] @ np.linalg.solve(joint[:-1, :-1], joint[:-1, -1])
        value = number(function(kernel, X, x))
        if close(value, expected):
            continue
        if close(value, expected - white):
            return "That is the variance of f: y has noise of its own, so k(x, x) counts the White part."
        if close(value, joint[-1, -1]):
            return "That is the variance before anything was seen; given the active rows it is smaller."
        return f"It should be {expected:.5f}, yours is {value:.5f}. Where does the White part enter, and where not?"
    return None


@checker("ivm.5")
def the_printed_likelihood(answer):
    """How much (11) as printed exceeds the right value, for K = the identity, d active rows and D outputs."""
    for d, D in ((100, 12), (7, 3)):
        log_two_pi = np.log(2 * np.pi)
        expected = 0.5 * D * (d - 1) * log_two_pi
        value = number(answer(d, D))
        if close(value, expected):
            continue
        if close(value, -expected):
            return "The other way round: how much is the printed one too LARGE?"
        if close(value, 0.5 * D * d * log_two_pi):
            return "Nearly: the printed constant is not 0, it keeps one of the d powers of 2 pi."
        if close(value, expected / D):
            return "That is one output; there are D outputs, and each has lost as much."
        return f"For d = {d} and D = {D} it should be {expected:.2f}, yours is {value:.2f}; the determinant of I is 1."
    return None


@checker("ivm.6")
def chain_rule_of_the_evidence(function):
    """function(Y, X, kernel, noise_variance, order): ln p(Y_I) as a sum over inclusions, without any determinant."""
    for seed, noise in ((5, 0.2), (8, 0.05)):
        Y, X, kernel = _problem(seed)
        order = select_active_set(Y, X, kernel, Gaussian(noise), 5).active
        each = multivariate_normal(cov=kernel(X[order]) + noise * np.eye(5)).logpdf(Y[order].T)
        expected, value = each.sum(), number(function(Y.copy(), X.copy(), kernel, noise, order.copy()))
        if close(value, expected):
            continue
        if any(close(value, one) for one in each):
            return "That is one column of Y; add those of all columns."
        if close(value, expected + 0.5 * Y[order].size * np.log(2 * np.pi)):
            return "All but the constant: each number has its -1/2 ln 2 pi."
        return (
            f"It should be {expected:.4f}, yours is {value:.4f}. Each inclusion adds ln N(y | mean, variance + noise), "
            "with mean and variance from BEFORE the point was included."
        )
    return None


@checker("ivm.7")
def a_better_home(function):
    """function(active, Y, X): positions (N, q) with a log likelihood (7.17) no lower anywhere, and higher in total."""
    for seed in (6, 7):
        rng = np.random.default_rng(seed)
        X = np.linspace(-2, 2, 40)[:, None]
        Y = np.column_stack([np.sin(2 * X[:, 0]), np.cos(2 * X[:, 0]), X[:, 0]]) + 0.05 * rng.standard_normal((40, 3))
        kernel, noise = RBF(1.0, 2.0), Gaussian(0.01)
        active = selection_map(select_active_set(Y, X, kernel, noise, 15), X, kernel, noise)
        shuffled = rng.permutation(40)  # the data tell who is who, not the order of the rows
        X, Y = X[shuffled], Y[shuffled]
        wrong = rng.permutation(X)
        answer = numbers(function(active, Y.copy(), wrong.copy()))
        if answer.shape != X.shape:
            return f"One place for each of 40 points is wanted, {X.shape}; yours has the shape {answer.shape}."
        before, after, best = (inactive_log_likelihood(active, Y, Z)[0] for Z in (wrong, answer, X))
        worse = 40 - np.sum(after >= before - 1e-9)
        if worse:
            return f"{worse} of 40 points are worse off than where they were: keep the better place."
        if after.sum() < best.sum() - 40:
            return (
                f"Better by {after.sum() - before.sum():.0f} nats, but {best.sum() - after.sum():.0f} short of the "
                "true places: one climb ends on the nearest hill. Where else could a point start?"
            )
    return None


@checker("ivm.8")
def the_share_of_greedy_choice(function):
    """function(K_f, noise_variance, n_active): what the greedy set tells, as a share of what the best set tells."""
    for seed, noise, d in ((45, 0.1, 3), (13, 0.5, 4), (43, 0.02, 2)):  # greedy choice does not find the best set
        rng = np.random.default_rng(seed)
        places, scale = rng.standard_normal((9, 2)), 1.0 + 0.2 * rng.random(9)  # no two rows offer the same
        K_f = RBF(1.0, 0.3)(places) * np.outer(scale, scale)
        told, most = (information(K_f, rule(K_f, noise, d), noise) for rule in (greedy_rows, best_rows))
        value = number(function(K_f.copy(), noise, d))
        if close(value, told / most):
            continue
        if value > 1.0 + 1e-9:
            return (
                f"A share of the best can't exceed 1, yours is {value:.4f}: greedy over best, not the other way round."
            )
        at_once = np.argsort(-np.diag(K_f), kind="stable")[:d]
        if close(value, information(K_f, at_once, noise) / most):
            return "Those are the rows with the largest variances at the beginning: update them after each inclusion."
        if close(value, GUARANTEE):
            return "That is what is guaranteed, (7.9c); the question is what greedy choice reaches on this matrix."
        return (
            f"For {d} of 9 rows and noise {noise} it should be {told / most:.4f}, yours is {value:.4f}. What a set "
            "tells is half the log determinant of I + K_II / noise, (7.9b)."
        )
    return None
