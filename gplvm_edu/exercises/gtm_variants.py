"""Checkers of chapter 10. Each compares an answer with a second way to the same number."""

import numpy as np

from ..gtm import responsibilities, weighted_sums
from ..gtm_variants import (
    area_elements,
    block_means,
    bound_step,
    directions_by_em,
    effective_parameters,
    expected_log_likelihood,
    forward_backward,
    random_walk,
    residual_covariance,
)
from . import checker
from .answers import close, number, numbers, two_parts


def _problem(seed=0, N=12, D=3, K=7, M=4):
    rng = np.random.default_rng(seed)
    Phi, W = rng.standard_normal((K, M)), rng.standard_normal((D, M))
    R = responsibilities(rng.standard_normal((K, N)))[0]
    return Phi, W, R, rng.standard_normal((N, D)), (rng.random((N, D)) < 0.4).astype(float)


@checker("gtm_variants.1")
def one_more_tangent(function):
    """function(A_inv, log_det, v): the inverse and the log determinant of A + v v'."""
    rng = np.random.default_rng(0)
    B = rng.standard_normal((4, 4))
    A, v = B @ B.T + np.eye(4), rng.standard_normal(4)
    inverse, log_det = two_parts(function(np.linalg.inv(A), np.linalg.slogdet(A)[1], v))
    inverse, log_det = numbers(inverse), number(log_det)
    grown = A + np.outer(v, v)
    if not close(inverse, np.linalg.inv(grown)):
        if close(inverse, np.linalg.inv(A - np.outer(v, v))):
            return "That is the inverse of A - v v': look at the two signs of (10.3)."
        return "Multiplied by A + v v' it should give the identity, and it does not."
    if close(log_det, np.linalg.slogdet(grown)[1]):
        return None
    if close(log_det, 2 * np.linalg.slogdet(A)[1] - np.linalg.slogdet(grown)[1]):
        return "The inverse is right. The determinant grows when v v' is added; yours shrinks."
    return "The inverse is right; the log determinant should grow by ln(1 + v' A^-1 v)."


@checker("gtm_variants.2")
def slope_of_log_odds(function):
    """function(Phi, W, G, T): dQ/dW (D, M) for Bernoulli columns, with G (K, 1) and T = R Y (K, D)."""
    Phi, W, R, _, bits = _problem(1)
    G, T = weighted_sums(R, bits)
    expected = (Phi.T @ (T - G * block_means(Phi @ W.T, "bernoulli"))).T
    value = numbers(function(Phi, W, G, T))
    if value.shape == expected.T.shape and close(value.T, expected):
        return "Right numbers, as (M, D); W is (D, M), so its gradient should be too."
    if close(value, expected):
        return None
    if close(value, (Phi.T @ (T - block_means(Phi @ W.T, "bernoulli"))).T):
        return "A node expects G times its probability, not one: it stands for G points."
    if close(value, -expected):
        return "The sign is that of a loss. Q is to be climbed."
    return "It differs from finite differences of (10.9). The derivative of ln(1 + e^a) is the probability itself."


@checker("gtm_variants.3")
def a_step_that_never_overshoots(function):
    """function(Phi, W, G, T): new weights (D, M) after one bound step, no regulariser, Bernoulli columns."""
    Phi, W, R, _, bits = _problem(2)
    G, T = weighted_sums(R, bits)
    steps = [(w, numbers(function(Phi, w, G, T))) for w in (W, 20.0 * W)]
    for w, new in steps:
        if new.shape != w.shape:
            return f"Weights have the shape {w.shape}; yours {new.shape}."
        before, after = (expected_log_likelihood(Phi @ at.T, G, T, "bernoulli") for at in (w, new))
        if not after >= before - 1e-9:
            return f"From weights as large as {np.abs(w).max():.0f} Q falls from {before:.1f} to {after:.1f}: no bound."
    if all(close(new, bound_step(Phi, G, T, w, "bernoulli")) for w, new in steps):
        return None
    return "It climbs, but not to the top of the parabola: the curvature is 1/4 at most, so go 4 times as far."


@checker("gtm_variants.4")
def covariance_about_the_sheet(function):
    """function(Y, R, m): S of (10.17)."""
    Phi, W, R, Y, _ = _problem(3)
    m = Phi @ W.T
    expected, value = residual_covariance(Y, R, m), numbers(function(Y, R, m))
    if close(value, expected):
        return None
    if close(value, len(Y) * expected):
        return "N times too large: that is (28) as it is printed. What do its eigenvalues have to be, for (10.18)?"
    return "Weight each product (y - m)(y - m)' by its responsibility, add up over points and nodes, divide once."


@checker("gtm_variants.5")
def straight_latents_as_missing_data(function):
    """function(S, V, variance): V and the noise variance after one EM step, (10.22)."""
    rng = np.random.default_rng(4)
    B = rng.standard_normal((20, 4))
    S, V = B.T @ B / 20, rng.standard_normal((4, 2))
    expected, precision = directions_by_em(S, V, 1 / 0.7)
    new, variance = two_parts(function(S, V, 0.7))
    if not close(numbers(new), expected):
        return "The new V is not that of (10.22). Check M = V'V + variance I, and where M^-1 stands."
    if not close(number(variance), 1 / precision):
        return "V is right. The variance uses the NEW V once and the old one once, and is divided by D."
    return None


@checker("gtm_variants.6")
def weights_that_the_data_determine(function):
    """function(Phi, G, beta, alpha, D): gamma, (10.26)."""
    Phi, _, R, *_ = _problem(5)
    G = R.sum(axis=1, keepdims=True)
    expected = effective_parameters(Phi, G, 2.0, 0.5, 3)
    value = number(function(Phi, G, 2.0, 0.5, 3))
    if close(value, expected):
        return None
    if close(value, expected / 3):
        return "That counts one block of the Hessian. There are D outputs, and each has M weights of its own."
    lam = np.linalg.eigvalsh(2.0 * Phi.T @ (G * Phi))
    if close(value, 3 * np.sum((lam - 0.5) / lam)):
        return "The eigenvalues in (10.26) are those of A, with alpha on its diagonal."
    return f"For the test problem it should be {expected:.4f} of 12 weights, yours is {value:.4f}."


@checker("gtm_variants.7")
def area_of_a_patch(function):
    """function(J): how much area a unit square of latent space covers, for one Jacobian (D, 2)."""
    J = np.random.default_rng(6).standard_normal((5, 2))
    expected, value = area_elements(J[None])[0], number(function(J))
    if close(value, expected):
        return None
    if close(value, expected**2):
        return "det(J'J) is the SQUARED area."
    return f"For two tangents a and b the area is |a| |b| sin(angle); here {expected:.4f}, yours is {value:.4f}."


@checker("gtm_variants.8")
def weights_of_the_nodes(function):
    """function(R): mixing weights (K,) that maximise sum R ln pi, with sum pi = 1."""
    R = _problem(7)[2]
    value = numbers(function(R))
    if value.shape == (len(R),) and close(value, R.mean(axis=1)):
        return None
    if close(value, R.sum(axis=1)):
        return "Those add up to N. Put a Lagrange multiplier on sum pi = 1 and see what it has to be."
    return "Maximise sum_in R_in ln pi_i with a Lagrange multiplier: what is proportional to what?"


@checker("gtm_variants.9")
def one_step_in_time(function):
    """function(log_forward, log_p, log_transition): ln p(y_1..y_t+1, i_t+1) from ln p(y_1..y_t, i_t)."""
    rng = np.random.default_rng(8)
    log_p, walk = rng.standard_normal((4, 2)), random_walk(rng.standard_normal((4, 1)), 1.0)
    forward = log_p[:, 0] - np.log(4)
    value = numbers(function(forward, log_p[:, 1], walk))
    expected = log_p[:, 1] + np.log(np.exp(forward) @ np.exp(walk))
    if close(value, expected):
        total = np.log(np.sum(np.exp(value)))
        return None if close(total, forward_backward(log_p, walk)[1], 1e-5) else "The total is not the likelihood."
    if close(value, log_p[:, 1] + np.log(np.exp(walk) @ np.exp(forward))):
        return "The walk goes from row to column: sum over where it came FROM."
    return "Add over the node before, in probabilities; then add the log density of the new observation."


@checker("gtm_variants.10")
def two_hills(answer):
    """Final log likelihoods of SemiLinearGTM(curved=[0]) and (curved=[1]) on make_furrowed_sheet(random_state=0)."""
    values = numbers(answer)
    if values.shape != (2,):
        return "Give two log likelihoods, that of curved=[0] first."
    if not np.all(values <= 0):
        return "These are no log likelihoods of that data set."
    if values[0] >= values[1] + 10:
        return None
    return "The right start should win by more than ten nats; is the order right, and random_state=0?"
