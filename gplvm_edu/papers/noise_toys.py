"""Noise models over ten draws and more where the truth is known: approximations, cut points, counts, biases (ch. 8)."""

import numpy as np
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor, kernels

from ..kernels import RBF
from ..linalg import cholesky_with_jitter
from ..noise import (
    Ordinal,
    Poisson,
    Probit,
    adf_posterior,
    cavities,
    effective_size,
    elliptical_slice_samples,
    ep_posterior,
    laplace_posterior,
    learn_kernel_and_noise,
    learn_noise,
    predict_latent,
    split_r_hat,
)
from . import collect
from .noise import gathered

SEEDS, MORE_SEEDS = range(10), range(50)
RIDGE = 1e-8
CUTS = np.array([-1.5, 0.3, 1.0])
VARIANCES, N_LABELS, N_KEPT, N_ORDERS = (1.0, 9.0), 40, 5000, 20  # of f; labels; draws kept of each of 8 chains
N_WEIGHTED, BLOCK, DF = 500_000, 25_000, 30  # weighted pairs of draws, so many at once, from Student's t
COUNTS_BIAS = np.log(2.0)


def last(states):
    """The last of some states."""
    *_, state = states
    return state


def rounded(line):
    """Numbers of a nested dictionary with four digits."""
    return {k: rounded(v) if isinstance(v, dict) else float(f"{v:.4g}") for k, v in line.items()}


# --- three approximations and a long chain, beside weighted draws -------------------------------------------------
def chance_of_one(K, K_new, prior_variance, posterior):
    """The probability (n,) of a 1 at new places, equations (8.25) and (8.26)."""
    mean, variance = predict_latent(K, K_new, prior_variance, posterior.site_means, posterior.site_precisions)
    return ndtr(mean / np.sqrt(1.0 + variance))  # (8.26)


def weighted_moments(y, settled, chance_given, seed, n_pairs=N_WEIGHTED):
    r"""Chances of a 1, means and deviations under the true posterior of probit labels: weighted draws.

    .. math:: w_s \propto \prod_n \frac{\Phi(y_n f_{ns})}{\text{site } n \text{ at } f_{ns}} \cdot
              \frac{N(z_s \mid 0, I)}{t(z_s)}, \qquad f_s = \bar f + \Sigma^{1/2} z_s

    Returns
    -------
    chance, mean, deviation : ndarray
    resolution : float
        Half the largest difference of the chances of two halves of the draws.
    effective : float
        How many equally weighted draws the weights are worth.

    Notes
    -----
    z comes in pairs z and -z from Student's t, whose tails keep all weights bounded: those of EP's Gaussian are lighter
    than the posterior's.
    """
    rng, N = np.random.default_rng(seed), len(y)
    root = cholesky_with_jitter(settled.covariance)[0].T
    halves, squares = [], 0.0
    for _ in range(2):
        total, sums = 0.0, 0.0
        for _ in range(n_pairs // 2 // BLOCK):
            z = rng.standard_normal((BLOCK, N)) / np.sqrt(rng.chisquare(DF, BLOCK) / DF)[:, None]
            z = np.vstack([z, -z])
            f, r = settled.mean + z @ root, np.sum(z**2, axis=1)
            log_w = 0.5 * ((DF + N) * np.log1p(r / DF) - r)
            log_w += np.sum(log_ndtr(y * f) + 0.5 * settled.site_precisions * (f - settled.site_means) ** 2, axis=1)
            w = np.exp(log_w)
            total, squares = total + w.sum(), squares + np.sum(w**2)
            sums = sums + np.concatenate([w @ chance_given(f), w @ f, w @ f**2])
        halves.append((total, sums))
    total, sums = (sum(parts) for parts in zip(*halves, strict=True))
    chance, mean, square = np.split(sums / total, [-2 * N, -N])
    first, second = (part[: -2 * N] / mass for mass, part in halves)
    resolution = 0.5 * float(np.abs(first - second).max())
    return chance, mean, np.sqrt(square - mean**2), resolution, float(total**2 / squares)


def approximations(variance, seed, n_samples=N_KEPT, n_pairs=N_WEIGHTED):
    """How far Laplace, the filter, EP and a long chain are from weighted draws: probabilities, means, deviations."""
    rng, noise, kernel = np.random.default_rng(seed), Probit(0.0), RBF(variance, 2.0)
    X, X_new = np.sort(rng.uniform(-2, 2, (N_LABELS, 1)), axis=0), np.linspace(-3, 3, 61)[:, None]
    K, K_new, prior = kernel(X) + RIDGE * np.eye(N_LABELS), kernel(X, X_new), kernel.diag(X_new)
    y = noise.sample(np.linalg.cholesky(K) @ rng.standard_normal(N_LABELS), rng)
    weights = np.linalg.solve(K, K_new)
    scale = np.sqrt(1.0 + np.maximum(prior - np.sum(K_new * weights, axis=0), 0.0))

    def chance_given(f):
        return ndtr(f @ weights / scale)

    settled = last(ep_posterior(K, y, noise, max_sweeps=200))
    chance, mean, deviation, resolution, effective = weighted_moments(y, settled, chance_given, seed, n_pairs)
    draws = elliptical_slice_samples(K, y, noise, n_samples, random_state=seed)
    flat = draws.reshape(-1, N_LABELS)
    line = {
        "resolution": resolution,
        "weighted draws": effective,
        "R hat": float(split_r_hat(draws).max()),
        "draws of the chain": float(effective_size(draws).min()),
    }

    def compared(p, f_mean, f_deviation):
        return {
            "probability": float(np.abs(p - chance).max()),
            "mean": float(np.median(np.abs(f_mean - mean) / deviation)),
            "deviation": float(np.median(f_deviation / deviation)),
        }

    gaussians = {"Laplace": last(laplace_posterior(K, y, noise)), "filter": adf_posterior(K, y, noise), "EP": settled}
    for name, q in gaussians.items():
        line[name] = compared(chance_of_one(K, K_new, prior, q), q.mean, np.sqrt(np.diag(q.covariance)))
    line["chain"] = compared(chance_given(flat).mean(axis=0), flat.mean(axis=0), flat.std(axis=0))
    orders = [adf_posterior(K, y, noise, rng.permutation(N_LABELS)) for _ in range(N_ORDERS)]
    off = [float(np.abs(chance_of_one(K, K_new, prior, q) - chance).max()) for q in orders]
    return rounded(line | {"filter, random orders": {"least": min(off), "most": max(off)}})


# --- cut points -----------------------------------------------------------------------------------------------
def grades_on_a_line(seed, N=80):
    """Covariance of f at N places, and grades drawn with known cut points."""
    rng, place = np.random.default_rng(seed), np.linspace(-4, 4, N)[:, None]
    K = RBF(4.0, 1.0)(place) + RIDGE * np.eye(N)
    f = np.linalg.cholesky(K) @ rng.standard_normal(N)
    return K, Ordinal(cuts=CUTS).sample(f, rng)


def cut_covariance(K, y, model, step=1e-4):
    """Covariance of learnt cut points: the inverse curvature of the evidence, by differences of its gradient."""

    def gradient(theta):
        trial = model.with_theta(theta)
        q = last(ep_posterior(K, y, trial, max_sweeps=100))
        return trial.theta_gradient(y[:, None], *(part[:, None] for part in cavities(q)))

    at, n = model.theta, len(model.theta)
    H = np.array([(gradient(at + step * e) - gradient(at - step * e)) / (2 * step) for e in np.eye(n)])
    into_cuts = np.tril(np.ones((n, n))) * np.concatenate([[1.0], np.diff(model.cuts)])
    return into_cuts @ np.linalg.inv(-0.5 * (H + H.T)) @ into_cuts.T


def cut_points(seed):
    """Cut points learnt from grades by the evidence; errors beside standard errors."""
    K, y = grades_on_a_line(seed)
    begun = Ordinal(cuts=[-1.0, 0.0, 3.0])
    learnt = learn_noise(K, y, begun)
    covariance = cut_covariance(K, y, learnt)
    contrasts = np.diff(np.eye(3), axis=0)
    evidence = {
        name: round(last(ep_posterior(K, y, model, max_sweeps=100)).log_evidence, 3)
        for name, model in (("start", begun), ("learnt", learnt), ("truth", Ordinal(cuts=CUTS)))
    }
    shares = Ordinal(4).start(y[:, None], prior_variance=4.0)
    return {
        "cuts": learnt.cuts.round(3).tolist(),
        "error": (learnt.cuts - CUTS).round(3).tolist(),
        "standard error": np.sqrt(np.diag(covariance)).round(3).tolist(),
        "error of gaps": np.diff(learnt.cuts - CUTS).round(3).tolist(),
        "standard error of gaps": np.sqrt(np.diag(contrasts @ covariance @ contrasts.T)).round(3).tolist(),
        "error of shares": (np.ravel(shares.cuts) - CUTS).round(3).tolist(),
        "gradient left": round(float(np.abs(_gradient_at(K, y, learnt)).max()), 5),
        "log evidence": evidence,
    }


def _gradient_at(K, y, model):
    q = last(ep_posterior(K, y, model, max_sweeps=100))
    return model.theta_gradient(y[:, None], *(part[:, None] for part in cavities(q)))


# --- counts ---------------------------------------------------------------------------------------------------
def simulated_counts(seed):
    """100 counts along a line, rate 2 exp(f): every other one to learn from, the rest to predict."""
    rng, X = np.random.default_rng(seed), np.linspace(-4, 4, 100)[:, None]
    f = np.linalg.cholesky(RBF(1.0, 1.0)(X) + RIDGE * np.eye(100)) @ rng.standard_normal(100)
    return X, np.exp(f + COUNTS_BIAS), Poisson(COUNTS_BIAS).sample(f, rng)


def poisson_answer(X, y, X_new, y_new):
    """Log loss of each new count, and the expected rates."""
    kernel, noise, q = learn_kernel_and_noise(RBF(), X, y, Poisson(np.log(y.mean() + 0.1)))
    K = kernel(X) + RIDGE * np.eye(len(X))
    mean, variance = predict_latent(K, kernel(X, X_new), kernel.diag(X_new), q.site_means, q.site_precisions)
    return -noise.log_partition(y_new, mean, variance), noise.predict(mean, variance)


def gaussian_answer(X, y, X_new, y_new, root):
    """The same from scikit-learn's Gaussian process on the counts, or on their square roots.

    The probability of a count is the mass of the normal distribution half a count to either side (and all below, at 0).
    """
    to, shift = (lambda c: np.sqrt(np.maximum(c + 0.375, 0.0))) if root else (lambda c: c), 0.375 if root else 0.0
    t, centre = to(y), np.mean(to(y))
    form = kernels.ConstantKernel(max(t.var(), 0.1)) * kernels.RBF(1.0) + kernels.WhiteKernel(0.25)
    process = GaussianProcessRegressor(form, n_restarts_optimizer=2, random_state=0).fit(X, t - centre)
    mean, deviation = process.predict(X_new, return_std=True)  # of a new value, noise included
    mean = mean + centre
    below = np.where(y_new == 0, 0.0, norm.cdf(to(y_new - 0.5), mean, deviation))
    mass = norm.cdf(to(y_new + 0.5), mean, deviation) - below
    return -np.log(np.maximum(mass, 1e-12)), mean**2 + deviation**2 - shift if root else mean


def counts(seed):
    """{name: log loss of a held-out count, and mean distance of the rates from the true ones}."""
    X, rate, y = simulated_counts(seed)
    seen, new = slice(0, None, 2), slice(1, None, 2)
    given = X[seen], y[seen], X[new], y[new]
    answers = {
        "Poisson": poisson_answer(*given),
        "Gaussian, counts": gaussian_answer(*given, root=False),
        "Gaussian, square roots": gaussian_answer(*given, root=True),
    }
    return {
        name: rounded({"log_loss": loss.mean(), "rate": np.abs(found - rate[new]).mean()})
        for name, (loss, found) in answers.items()
    }


# --- biases -----------------------------------------------------------------------------------------------------
def biases(seed, N=60):
    """A bias learnt by the evidence where K is known, for labels and for counts: error and standard error."""
    rng, x = np.random.default_rng(seed), np.linspace(-4, 4, N)[:, None]
    K, truth = RBF(1.0, 1.0)(x) + RIDGE * np.eye(N), rng.uniform(-1.0, 1.0)
    f = np.linalg.cholesky(K) @ rng.standard_normal(N)
    report = {"truth": round(float(truth), 3)}
    for name, model in (("Probit", Probit), ("Poisson", Poisson)):
        y = model(truth).sample(f, rng)
        learnt = learn_noise(K, y, model(0.0))
        up, down = (_gradient_at(K, y, learnt.shifted(step))[0] for step in (1e-3, -1e-3))
        errors = {"error": float(learnt.bias - truth), "standard error": float((-(up - down) / 2e-3) ** -0.5)}
        report[name] = {key: round(value, 3) for key, value in errors.items()}
    return report


def results(progress=iter):
    """All studies, draw by draw."""
    parts = {
        f"approximations, variance {variance:g}": lambda variance=variance: [approximations(variance, s) for s in SEEDS]
        for variance in VARIANCES
    }
    parts |= {
        "biases": lambda: [biases(seed) for seed in SEEDS],
        "cut points": lambda: [cut_points(seed) for seed in MORE_SEEDS],
        "counts": lambda: gathered([counts(seed) for seed in MORE_SEEDS]),
    }
    return {"seeds": list(SEEDS), **collect(parts, progress)}
