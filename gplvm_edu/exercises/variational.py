"""Checkers of chapter 12. Each compares an answer with a second way to the same number."""

import numpy as np

from ..kernels import RBF, Linear
from ..variational import Parameters, evaluate_bound, kl_divergence, psi_statistics
from . import checker
from .answers import close, number, numbers, two_parts


def _problem(seed=0, N=6, D=3, q=2, M=3):
    rng = np.random.default_rng(seed)
    mu, S, Z = rng.standard_normal((N, q)), rng.uniform(0.1, 1.2, (N, q)), rng.standard_normal((M, q))
    return rng.standard_normal((N, D)), mu, S, Z, RBF(1.4, np.array([0.6, 1.7])[:q]), 0.25


@checker("variational.1")
def the_divergence(function):
    """function(mu, S): KL from the unit Gaussian to q(X), summed over everything."""
    _, mu, S, *_ = _problem()
    value, expected = number(function(mu, S)), kl_divergence(mu, S)
    if close(value, expected):
        return None
    if close(value, -expected):
        return "The sign: a divergence is never negative, and the bound subtracts it."
    if close(value, 2 * expected):
        return "The factor 1/2 is missing."
    if close(value, expected + 0.5 * mu.size):
        return "At q = prior (mean 0, variance 1) it should be 0, and yours is not: a constant is missing."
    if close(value, 0.5 * np.sum(1 / S + mu**2 / S + np.log(S) - 1)):
        return "That is KL(p || q), the other way round. The bound needs the expectation under q."
    return f"For the test values it should be {expected:.4f}, yours is {value:.4f}."


@checker("variational.2")
def an_expected_kernel(function):
    """function(mu, S, Z, variance, alpha): Psi1 of the RBF kernel, (N, M)."""
    _, mu, S, Z, kernel, _ = _problem(1)
    value = numbers(function(mu, S, Z, kernel.variance, kernel.inverse_width))
    expected = psi_statistics(kernel, mu, S, Z).Psi1
    if value.shape != expected.shape:
        return f"One entry for each point and each inducing point is wanted, {expected.shape}; yours has {value.shape}."
    if close(value, expected):
        return None
    if close(value, kernel(mu, Z)):
        return "That is the kernel at the means: S does not appear. A fuzzy point sees a flatter bell."
    root = np.prod(np.sqrt(kernel.inverse_width * S + 1), axis=1)[:, None]
    if close(value, root * expected):
        return "The exponent is right, the height is not: divide by the root of alpha S + 1 in every dimension."
    return "It differs from quadrature. Complete the square in one dimension first, (12.13)."


@checker("variational.3")
def an_expected_product(function):
    """function(mu, S, z1, z2, alpha): the expectation of the product of two bells of height 1, in one dimension."""
    x, w = np.polynomial.hermite_e.hermegauss(80)
    for mu, S, z1, z2, alpha in [(0.3, 0.5, -0.4, 1.1, 0.8), (-1.0, 0.2, 0.5, 0.6, 2.0), (0.0, 1.0, 0.0, 0.0, 1.0)]:
        X = mu + np.sqrt(S) * x
        bells = np.exp(-0.5 * alpha * (X - z1) ** 2), np.exp(-0.5 * alpha * (X - z2) ** 2)
        one, other, both = (w @ b / w.sum() for b in (*bells, bells[0] * bells[1]))
        value = number(function(mu, S, z1, z2, alpha))
        if close(value, both):
            continue
        if close(value, one * other):
            return "That is the product of the two expectations. Both bells look at the same x: they are correlated."
        if close(value, both * np.exp(0.25 * alpha * (z1 - z2) ** 2)):
            return "The price of the gap is missing: two bells far apart have a low product even at the middle."
        return f"At mu={mu}, S={S}, z={z1}, {z2}, alpha={alpha} quadrature finds {both:.5f}, yours is {value:.5f}."
    return None


@checker("variational.4")
def the_bound(function):
    """function(Y, psi0, Psi1, Psi2, K, beta): the bound of all outputs, without the KL; psi0 is the sum."""
    Y, mu, S, Z, kernel, noise = _problem(2)
    psi = psi_statistics(kernel, mu, S, Z)
    terms = evaluate_bound(Y, Parameters(mu, S, Z, kernel, noise), 1e-12).terms
    expected = terms.fit - terms.trace
    value = number(function(Y, psi.psi0.sum(), psi.Psi1, psi.Psi2, kernel(Z), 1 / noise))
    if close(value, expected):
        return None
    if close(value, terms.fit - terms.trace / Y.shape[1]):
        return (
            "The two trace terms are added once. Every output has its own u, so each pays: a factor D. (The slip "
            "looks like a better bound, which is how it survives.)"
        )
    if close(value, terms.fit):
        return "The trace terms are missing: without them this may lie above the likelihood."
    if close(value, expected + Y.size / 2 * np.log(2 * np.pi)):
        return "The constant -(ND/2) ln 2 pi is missing."
    return f"For the test problem it should be {expected:.4f}, yours is {value:.4f}."


@checker("variational.5")
def the_best_phi(function):
    """function(K, Psi1, Psi2, y, beta): mean and covariance of the optimal phi(u) of one output."""
    Y, mu, S, Z, kernel, noise = _problem(3)
    psi, K, beta, y = psi_statistics(kernel, mu, S, Z), kernel(Z), 1 / noise, Y[:, 0]
    P = K + beta * psi.Psi2
    mean, covariance = (numbers(part) for part in two_parts(function(K, psi.Psi1, psi.Psi2, y, beta)))
    expected = beta * K @ np.linalg.solve(P, psi.Psi1.T @ y)
    if not close(mean.ravel(), expected):
        if close(mean.ravel(), np.linalg.solve(K, expected)):
            return "The mean is that of K^-1 u. Multiply by K once more."
        return "The mean is not where exp<log N> p(u) is largest: differentiate its logarithm in u, (12.9)."
    if close(covariance, K @ np.linalg.solve(P, K)):
        return None
    if close(covariance, np.linalg.inv(P)):
        return "That is the covariance of K^-1 u. Multiply by K on both sides."
    return "The covariance is not the inverse of the curvature K^-1 + beta K^-1 Psi2 K^-1."


@checker("variational.6")
def planes_need_second_moments(function):
    """function(mu, S, Z, a): Psi2 of the linear kernel x' A z, A = diag a, (M, M)."""
    _, mu, S, Z, *_ = _problem(4)
    a = np.array([0.5, 2.0])
    expected = psi_statistics(Linear(a), mu, S, Z).Psi2
    value = numbers(function(mu, S, Z, a))
    if value.shape != expected.shape:
        return f"Psi2 has the shape {expected.shape}; yours has {value.shape}. Sum over the points."
    if close(value, expected):
        return None
    if close(value, (mu * a @ Z.T).T @ (mu * a @ Z.T)):
        return "S is missing: <x x'> is mu mu' + S, not mu mu'."
    return "It differs from sampling. Write k(z, x) k(x, z') as z'A [x x'] A z' and take the expectation inside."


@checker("variational.7")
def dimensions_of_a_circle(answer):
    """How many latent dimensions stay switched on for points on a noisy circle: two, for it has no end."""
    dimensions = number(answer)
    if dimensions == 2:
        return None
    if dimensions == 1:
        return (
            "A circle has one angle, but no line can be bent into it without a tear: the two ends would be "
            "neighbours in the data and strangers in the latent space. Fit it and count `active_dims_`."
        )
    return "Fit it with n_components=4 and count `active_dims_`."


@checker("variational.8")
def below_the_truth(function):
    """function(y, nodes, weights, variance, alpha, noise): ln p(y) for N = 2, q = 1, by quadrature over both points."""
    x, w = np.polynomial.hermite_e.hermegauss(40)
    w = w / w.sum()
    y, variance, alpha, noise = np.array([0.7, -0.4]), 1.2, 0.9, 0.3
    k, v = RBF(variance, alpha)(x[:, None]), variance + noise
    misfit = (v * (y @ y) - 2 * k * y[0] * y[1]) / (v**2 - k**2)
    density = np.exp(-0.5 * misfit) / (2 * np.pi * np.sqrt(v**2 - k**2))  # N(y | 0, K) for 2 x 2 matrices K
    expected, value = np.log(w @ density @ w), number(function(y, x, w, variance, alpha, noise))
    if close(value, expected):
        return None
    if close(value, np.exp(expected)):
        return "That is the density itself; its logarithm is wanted."
    if close(value, w @ np.log(density) @ w):
        return "The logarithm stands inside the integral. That is Jensen's bound, not the likelihood: swap them."
    return f"It should be {expected:.5f}, yours is {value:.5f}."
