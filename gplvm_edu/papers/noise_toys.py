"""Noise models over ten draws where the truth is known: approximations, cut points, counts, biases (chapter 8)."""

import numpy as np

from ..kernels import RBF, gp_prior_samples
from ..noise import (
    Gaussian,
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

SEEDS = range(10)
RIDGE = 1e-8
CUTS = np.array([-1.5, 0.3, 1.0])


def last(states):
    """The last of some states."""
    *_, state = states
    return state


# --- three approximations beside a long chain ------------------------------------------------------------------
def labels_on_a_line(seed, N=30):
    """Covariance of f at N places, labels drawn from the model, covariance with a grid, and its variance."""
    rng, kernel = np.random.default_rng(seed), RBF(9.0, 2.0)
    x, grid = np.sort(rng.uniform(-2, 2, (N, 1)), axis=0), np.linspace(-2.5, 2.5, 101)[:, None]
    K = kernel(x) + RIDGE * np.eye(N)
    y = Probit(0.0).sample(np.linalg.cholesky(K) @ rng.standard_normal(N), rng)
    return K, y, kernel(x, grid), kernel.diag(grid)


def approximations(seed, n_samples=8000):
    """Errors of filtering, expectation propagation and Laplace against a long chain."""
    K, y, K_new, prior = labels_on_a_line(seed)
    noise = Probit(0.0)
    draws = elliptical_slice_samples(K, y, noise, n_samples, n_chains=16, n_burn=500, random_state=seed)
    some = draws[:, ::20].reshape(-1, len(K))
    no_site = np.full(len(K), 1.0 / RIDGE)  # f itself is known: sites of that precision stand at it
    _, variance = predict_latent(K, K_new, prior, np.zeros(len(K)), no_site)
    weights = np.linalg.solve(K, K_new)
    truth = draws.mean(axis=(0, 1)), draws.std(axis=(0, 1)), noise.predict(some @ weights, variance).mean(axis=0)
    found = {
        "filtering": adf_posterior(K, y, noise),
        "expectation propagation": last(ep_posterior(K, y, noise)),
        "Laplace": last(laplace_posterior(K, y, noise)),
    }
    report = {
        "ones": int(np.sum(y > 0)),
        "largest R hat": round(float(split_r_hat(draws).max()), 4),
        "least effective size": int(effective_size(draws).min()),
    }
    for name, q in found.items():
        p = noise.predict(*predict_latent(K, K_new, prior, q.site_means, q.site_precisions))
        approximate = q.mean, np.sqrt(np.diag(q.covariance)), p
        errors = [round(float(np.max(np.abs(a - b))), 4) for a, b in zip(approximate, truth, strict=True)]
        report[name] = {
            **dict(zip(("mean", "deviation", "probability"), errors, strict=True)),
            "log_evidence": round(q.log_evidence, 4),
        }
    return report


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


def climb_with_cavities_held(K, y, model, rounds):
    """Sweeps and `learn` in turn: what the first edition of the chapter did."""
    for _ in range(rounds):
        q = last(ep_posterior(K, y, model, max_sweeps=4))
        model = model.learn(y, *cavities(q))
    return model


def cut_points(seed):
    """Cut points learnt from grades: by the evidence, and by cavities held still; errors beside standard errors."""
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
    held = {rounds: climb_with_cavities_held(K, y, begun, rounds) for rounds in (5, 40)}
    return {
        "cuts": learnt.cuts.round(3).tolist(),
        "error": (learnt.cuts - CUTS).round(3).tolist(),
        "standard error": np.sqrt(np.diag(covariance)).round(3).tolist(),
        "error of gaps": np.diff(learnt.cuts - CUTS).round(3).tolist(),
        "standard error of gaps": np.sqrt(np.diag(contrasts @ covariance @ contrasts.T)).round(3).tolist(),
        "error of shares": (np.ravel(shares.cuts) - CUTS).round(3).tolist(),
        "gradient left": round(float(np.abs(_gradient_at(K, y, learnt)).max()), 5),
        **{f"short of the maximum after {n} rounds": (m.cuts - learnt.cuts).round(3).tolist() for n, m in held.items()},
        "log evidence": evidence,
    }


def _gradient_at(K, y, model):
    q = last(ep_posterior(K, y, model, max_sweeps=100))
    return model.theta_gradient(y[:, None], *(part[:, None] for part in cavities(q)))


# --- counts ---------------------------------------------------------------------------------------------------
def counts_on_a_line(seed, typical, N=60):
    """N places, their counts, a grid, and the true rates there; `typical` is the rate where f is 0."""
    rng, grid = np.random.default_rng(seed), np.linspace(-2, 2, 201)[:, None]
    rates = typical * np.exp(gp_prior_samples(RBF(1.0, 2.0), grid, 1, random_state=seed)[:, 0])
    at = np.sort(rng.choice(201, N, replace=False))
    return grid[at], rng.poisson(rates[at]).astype(float), grid, rates


def rate_error(rates, truth):
    """Root mean square of the differences of the roots of rates: a count scatters by 1/2 in this unit."""
    return round(float(np.sqrt(np.mean((np.sqrt(np.maximum(rates, 0.0)) - np.sqrt(truth)) ** 2))), 4)


def counts(seed, typical):
    """How far three Gaussian processes end from the true rates: counts, raw numbers, roots; all parameters learnt."""
    x, y, grid, truth = counts_on_a_line(seed, typical)
    root = np.sqrt(y)
    cases = {
        "Poisson": (y, 1.0, Poisson(float(np.log(y.mean() + 0.1)))),
        "Gaussian": (y, y.var() + 0.1, Gaussian(y.mean() + 0.1, mean=y.mean())),
        "Gaussian, roots": (root, root.var() + 0.1, Gaussian(0.25, mean=root.mean())),
    }
    report = {"constant": rate_error(np.full(len(truth), y.mean()), truth)}
    for name, (values, variance, noise) in cases.items():
        found = learn_kernel_and_noise(RBF(variance, 1.0), x, values, noise)
        q, kernel = found.posterior, found.kernel
        K = kernel(x)
        K += RIDGE * np.mean(np.diag(K)) * np.eye(len(x))
        mean, v = predict_latent(K, kernel(x, grid), kernel.diag(grid), q.site_means, q.site_precisions)
        expected = found.noise.predict(mean, v)
        if name == "Gaussian, roots":
            expected = expected**2 + v + found.noise.variance  # the mean of the square
        report[name] = rate_error(expected, truth)
    return report


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
        "approximations": lambda: [approximations(seed) for seed in SEEDS],
        "biases": lambda: [biases(seed) for seed in SEEDS],
        "cut points": lambda: [cut_points(seed) for seed in SEEDS],
        "counts, rate 1": lambda: [counts(seed, 1.0) for seed in SEEDS],
        "counts, rate 10": lambda: [counts(seed, 10.0) for seed in SEEDS],
    }
    return {"seeds": list(SEEDS), **collect(parts, progress)}
