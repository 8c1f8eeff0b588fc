"""Checkers of chapter 13. Each compares an answer with a second way to the same number."""

import numpy as np
from scipy.special import log_softmax

from ..kernels import RBF
from ..variational import Parameters, freeze, point_statistics, predict_moments
from . import checker
from .answers import close, number, numbers, two_parts, words


def _small_map(D=2):
    """A small map from one latent dimension."""
    rng = np.random.default_rng(0)
    X = np.linspace(-2.0, 2.0, 12)[:, None]
    Y = np.column_stack([np.sin(1.5 * X[:, 0]), np.cos(X[:, 0])])[:, :D] + 0.1 * rng.standard_normal((12, D))
    return freeze(Y, Parameters(X, np.full(X.shape, 0.02), X[::3], RBF(1.3, 0.8), 0.02))


@checker("prediction.1")
def mean_under_a_fuzzy_input(function):
    """function(mu, s, Z, Lambda, variance, inverse_width): expected outputs at x* ~ N(mu, s), one latent dimension."""
    map_ = _small_map()
    for mu, s in ((0.3, 0.5), (-1.0, 0.05)):
        expected = predict_moments(map_, np.array([mu]), np.array([s])).mean
        value = numbers(function(mu, s, map_.inducing_inputs[:, 0], map_.weights, 1.3, 0.8))
        if close(value, expected):
            continue
        sharp = RBF(1.3, 0.8)(np.array([[mu]]), map_.inducing_inputs)[0] @ map_.weights
        if close(value, sharp):
            return "That is the map at the mean of x*. The mean of the map is another thing: average the bells first."
        flatter = 1.3 * np.exp(-0.4 * (mu - map_.inducing_inputs[:, 0]) ** 2 / (0.8 * s + 1.0)) @ map_.weights
        if close(value, flatter):
            return "The bells became wider, but not lower: the factor 1 / sqrt(alpha s + 1) is missing."
        return f"At mu = {mu}, s = {s} it should be {expected.round(4)}, yours is {np.round(value, 4)}."
    return None


@checker("prediction.2")
def two_kinds_of_ignorance(function):
    """function(Lambda_d, psi1, Psi2, psi0, K, P): (variance from the place, variance from the map) of one output."""
    map_ = _small_map()
    mu, S = np.array([0.4]), np.array([0.3])
    moments, (psi0, psi1, Psi2) = predict_moments(map_, mu, S), point_statistics(map_, mu, S)
    P = np.linalg.inv(map_.root.T @ map_.root)
    K = np.linalg.inv(np.linalg.inv(P) + map_.explained)
    answer = two_parts(function(map_.weights[:, 0], psi1, Psi2, psi0, K, P))
    place, from_map = (number(value) for value in answer)
    if not close(place, moments.from_place[0], 1e-5):
        if close(place, map_.weights[:, 0] @ Psi2 @ map_.weights[:, 0], 1e-5):
            return "The place: that is the second moment of the mean; subtract the square of its first."
        return "The place: it should be Lambda' (Psi2 - psi1 psi1') Lambda."
    if close(from_map, moments.from_map[0], 1e-4):
        return None
    if close(from_map, psi0 - np.trace(np.linalg.solve(K, Psi2)), 1e-4):
        return "The map: you know u exactly there. phi(u) has a covariance of its own, which gives P^-1 back."
    return f"The map: it should be {moments.from_map[0]:.4f}, yours is {from_map:.4f}."


@checker("prediction.3")
def what_the_new_point_gains(function):
    """function(Phi, r): the gain (13.17) of one output, from Phi (M, M) and r (M,)."""
    rng = np.random.default_rng(1)
    A, r = rng.standard_normal((3, 3)), rng.standard_normal(3)
    Phi = A @ A.T
    B = np.eye(3) + Phi
    expected = 0.5 * (r @ np.linalg.solve(B, r) + np.trace(Phi) - np.linalg.slogdet(B)[1])
    value = number(function(Phi, r))
    if close(value, expected):
        return None
    if close(value, expected - np.trace(Phi) / 2):
        return "That is ln <e^g>; the frozen bound has <g> already, so + tr(Phi) / 2 is missing."
    if close(value, 0.5 * (r @ r + np.trace(Phi) - np.linalg.slogdet(B)[1])):
        return "The square of r is weighted: complete it with I + Phi."
    return f"For the test matrices it should be {expected:.4f}, yours is {value:.4f}."


@checker("prediction.4")
def deviation_of_an_observation(function):
    """function(from_place, from_map, beta): standard deviation of a new OBSERVATION, noise included."""
    a, b, beta = np.array([0.3, 0.0]), np.array([0.1, 0.2]), 4.0
    value, expected = numbers(function(a, b, beta)), np.sqrt(a + b + 1 / beta)
    if close(value, expected):
        return None
    if close(value, np.sqrt(a) + np.sqrt(b) + 0.5):
        return "Variances of independent causes add; deviations do not."
    if close(value, np.sqrt(a + b + beta)):
        return "beta is a precision: its inverse is the variance of the noise."
    if close(value, np.sqrt(a + b)):
        return "That is the deviation of the noise-free map: an observation has its own noise."
    return f"For the test values it should be {expected.round(4)}, yours is {np.round(value, 4)}."


@checker("prediction.5")
def which_of_the_two_is_a_bound(answer):
    """Which estimate can never integrate to more than 1 over all y*: "frozen" or "ratio"?"""
    if words(answer) == "frozen":
        return None
    if words(answer) == "ratio":
        return "It is a difference of two bounds, and a difference of bounds bounds nothing."
    return 'Answer "frozen" or "ratio". Which of the two is Jensen\'s inequality applied to one normalised density?'


@checker("prediction.6")
def bayes_rule_without_underflow(function):
    """function(log_densities, priors): probabilities of the classes, (n, C)."""
    logs = np.array([[-900.0, -902.0, -1000.0], [3.0, 1.0, 2.0], [800.0, 801.0, 790.0]])
    priors = np.array([0.2, 0.5, 0.3])
    with np.errstate(all="ignore"):
        value = numbers(function(logs, priors), finite=False)
    expected = np.exp(log_softmax(logs + np.log(priors), axis=1))
    if value.shape != expected.shape:
        return f"One row for each image and one column for each class are wanted, {expected.shape}."
    if not np.isfinite(value).all():
        return "NaN: exp(-900) is 0 and exp(800) infinite. Subtract the largest of each row first."
    if close(value, expected):
        return None
    if close(value, np.exp(log_softmax(logs, axis=1))):
        return "The shares of the classes are missing: prior times density, as logarithms a sum."
    return "Each row should be softmax(log density + log prior)."


@checker("prediction.7")
def terms_of_what_was_seen(function):
    """function(y, Lambda, beta): gradient of the frozen bound in psi1, (M,), y with NaN where nothing was seen."""
    map_ = _small_map()
    y = np.array([0.7, np.nan])
    expected = map_.beta * map_.weights[:, :1] @ y[:1]
    value = numbers(function(y, map_.weights, map_.beta), finite=False)
    if value.shape != expected.shape:
        return f"One entry for each inducing point is wanted, {expected.shape}; yours has the shape {value.shape}."
    if np.isnan(value).any():
        return "NaN spreads: an output that was not seen adds nothing, so leave it out of the sum."
    if close(value, expected):
        return None
    if close(value, expected / map_.beta):
        return "The precision beta is missing."
    return "It should be beta times the sum of y_d Lambda_d over the outputs that were seen."
