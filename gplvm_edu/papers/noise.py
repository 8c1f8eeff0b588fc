"""Binary handwritten twos with pixels taken away: Lawrence (2005), section 7.3.1, in small pieces (chapter 8).

The table has one split, as in the paper, and two sizes of the final map. Beside it stand ten splits for each of three
thresholds of ink, with the nearest images as a rival that needs no model. Two experiments need no data: three
approximations of a posterior against a long Markov chain, and three ways to learn from counts.
"""

import numpy as np
from scipy.special import expit, ndtr
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor, kernels

from ..datasets import binary_images, load_digits, load_usps, remove_pixels
from ..datasets.binary import INK
from ..ivm import SparseGPLVM
from ..kernels import RBF
from ..noise import (
    Poisson,
    Probit,
    adf_posterior,
    effective_size,
    elliptical_slice_samples,
    ep_posterior,
    laplace_posterior,
    learn_kernel_and_noise,
    predict_latent,
    split_r_hat,
)

N_TRAIN, SHARE, N_STARTS = 700, 0.2, 10
LEARN = dict(n_active=100, max_iter=10, latent_prior="gaussian")
FEWER = dict(n_active=60, max_iter=5, latent_prior="gaussian")  # for ten splits
SIZES = (100, 350)  # active sets of the final map: as learnt, and half of all images
BLOCK = 12  # test images placed at once: their matrices stay in the cache
THRESHOLDS, N_SPLITS, N_NEAREST = (INK, 0.25, 0.5), 10, 10
VARIANCES, N_LABELS, N_KEPT = (1.0, 9.0), 40, 5000  # of f; labels of a draw; draws kept of each of 8 chains
COUNTS_BIAS = np.log(2.0)


def two_point_probability(mean, variance):
    r"""The probability of a 1 that a Gaussian prediction gives if nothing but 0 and 1 can occur.

    .. math:: \frac{N(1 \mid \mu, v)}{N(0 \mid \mu, v) + N(1 \mid \mu, v)} = \frac{1}{1 + e^{-(2\mu - 1) / 2v}}

    Notes
    -----
    Chapter 8, equation (8.32).

    Examples
    --------
    >>> two_point_probability(np.array([0.5, 0.9]), 0.1).round(3)
    array([0.5  , 0.982])
    """
    return expit((2.0 * mean - 1.0) / (2.0 * variance))  # (8.32)


def pixel_scores(probability, Y, removed, cut=0.5):
    r"""Share of the removed pixels that come out wrong, and their mean log loss in nats.

    .. math:: \frac1{|R|} \sum_{(n,d) \in R} [\, (p_{nd} > c) \ne y_{nd} \,], \qquad
              -\frac1{|R|} \sum_{(n,d) \in R} \ln p_{nd}^{y_{nd}} (1 - p_{nd})^{1 - y_{nd}}

    Parameters
    ----------
    probability : ndarray (N, D)
        Of ink.
    Y : ndarray (N, D)
        The truth, 1 or 0.
    removed : ndarray (N, D) of bool
    cut : float or ndarray (D,)
        Above it a pixel is called ink.

    Returns
    -------
    error, log_loss : float

    Notes
    -----
    Probabilities are kept a thousandth away from 0 and 1: one pixel called impossible would decide the mean.
    Chapter 8, equation (8.31).

    Examples
    --------
    >>> error, loss = pixel_scores(np.array([[0.9, 0.2]]), np.array([[1.0, 1.0]]), np.array([[True, True]]))
    >>> error, round(loss, 4)
    (0.5, 0.8574)
    """
    cut = np.broadcast_to(cut, Y.shape)[removed]
    p, y = np.broadcast_to(probability, Y.shape)[removed], Y[removed]
    error = np.mean((p > cut) != (y > 0.5))  # (8.31)
    q = np.clip(p, 1e-3, 1.0 - 1e-3)
    return float(error), float(-np.mean(np.log(np.where(y > 0.5, q, 1.0 - q))))  # (8.31)


def real_twos(threshold=INK):
    """The 929 twos of USPS as ink and no ink."""
    usps = load_usps()
    return binary_images(usps.data[usps.target == 2], threshold)


def small_twos(threshold=0.5):
    """The 177 twos that come with scikit-learn as ink and no ink."""
    digits = load_digits()
    return binary_images(digits.data[digits.target == 2] / 16, threshold)


def split(twos, n_train=N_TRAIN, seed=0):
    """Training and test images, what is seen of the test images, and what was removed."""
    rows = np.random.default_rng(seed).permutation(len(twos))
    train, test = twos[rows[:n_train]], twos[rows[n_train:]]
    return train, test, *remove_pixels(test, SHARE, random_state=seed + 1)


def nearest_images(train, seen, n_nearest=N_NEAREST):
    """For each pixel the share of ink among the training images that agree best with what is seen, (N, D).

    Half an image is added to either answer, so that no pixel is called impossible.

    Examples
    --------
    >>> train = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    >>> nearest_images(train, np.array([[1.0, np.nan, 1.0]]), n_nearest=1)
    array([[0.75, 0.75, 0.75]])
    """
    differs = np.array([np.nansum(np.abs(train - row), axis=1) for row in seen])  # (N, n)
    nearest = np.argsort(differs, axis=1, kind="stable")[:, :n_nearest]
    return (train[nearest].sum(axis=1) + 0.5) / (n_nearest + 1.0)


def of_each_pixel(train):
    """The share of ink of each pixel, half an image added to either answer."""
    return (train.sum(axis=0) + 0.5) / (len(train) + 1)


def remap(model, train, n_active):
    """The same positions, kernel and noise with another active set: one selection, no more learning."""
    if n_active == model.n_active_:
        return model
    noise = None if model.noise is None else model.noise_
    return SparseGPLVM(
        n_active=n_active, max_iter=0, kernel=model.kernel_, noise=noise, init=model.embedding_, latent_prior="gaussian"
    ).fit(train)


def predictions(model, seen):
    """{name: (value, cut)} of every pixel of every test image, each placed by what is seen of it."""
    X = np.vstack([model.transform(seen[k : k + BLOCK], N_STARTS) for k in range(0, len(seen), BLOCK)])
    mean, deviation = model.inverse_transform(X, return_std=True)
    if model.noise is not None:
        return {"Bernoulli": (mean, 0.5)}
    variance = deviation**2 + model.noise_.variance
    return {
        "Gaussian, cut at 1/2": (mean, 0.5),
        "Gaussian, cut at the pixel's mean": (mean, model.mean_),
        "Gaussian, density": (two_point_probability(mean, variance), 0.5),
    }


def standard_error(p, q, truth, removed):
    """Standard error, over images, of the difference between the errors of two predictions, in per cent."""
    each = [np.sum(((values > 0.5) != (truth > 0.5)) & removed, axis=1) / removed.sum(axis=1) for values in (p, q)]
    difference = each[0] - each[1]
    return round(float(100 * difference.std(ddof=1) / np.sqrt(len(difference))), 2)


def row(values, test, removed, cut=0.5):
    """One line of the table."""
    error, loss = pixel_scores(values, test, removed, cut)
    return {"error": round(100 * error, 2), "log_loss": round(loss, 4)}


def answers(noise, train, seen):
    """{(name, size): (value, cut)} of one model, fitted once, for both sizes of the final map."""
    model = SparseGPLVM(noise=noise, learn_noise=False, **LEARN).fit(train)  # biases as the data start them
    return {
        (label, size): answer
        for size in SIZES
        for label, answer in predictions(remap(model, train, size), seen).items()
    }


def one_split(twos, n_train=N_TRAIN, seed=0, options=FEWER):
    """{name: line of the table} for one split, with maps of the size with which they were learnt."""
    train, test, seen, removed = split(twos, n_train, seed)
    found = {
        "not ink": (np.zeros(test.shape[1]), 0.5),
        "mean of the pixel": (of_each_pixel(train), 0.5),
        "ten nearest images": (nearest_images(train, seen), 0.5),
    }
    found |= predictions(SparseGPLVM(noise=None, **options).fit(train), seen)
    held = predictions(SparseGPLVM(noise=Probit(fixed="bias"), **options).fit(train), seen)
    found |= {"Bernoulli, bias as started": held["Bernoulli"]}
    found |= predictions(SparseGPLVM(noise=Probit(), **options).fit(train), seen)
    return {name: row(values, test, removed, cut) for name, (values, cut) in found.items()}


def gathered(tables):
    """{name: {score: its values over the splits}} of the tables of several splits."""
    return {name: {score: [table[name][score] for table in tables] for score in tables[0][name]} for name in tables[0]}


def study(progress=iter, seeds=range(N_SPLITS)):
    """{data: scores over the splits}: the real twos cut at three thresholds, the small ones at one half."""
    report = {}
    for name in progress([*(f"{threshold:g}" for threshold in THRESHOLDS), "digits"]):
        small = name == "digits"
        twos = small_twos() if small else real_twos(float(name))
        settings = dict(n_train=120) if small else {}
        report[name] = gathered([one_split(twos, seed=seed, **settings) for seed in seeds])
    return report


# ---------------------------------------------------------------------- against a long Markov chain
def chance_of_one(K, K_new, prior_variance, posterior):
    """The probability (n,) of a 1 at new places, equations (8.25) and (8.26)."""
    mean, variance = predict_latent(K, K_new, prior_variance, posterior.site_means, posterior.site_precisions)
    return ndtr(mean / np.sqrt(1.0 + variance))  # (8.26)


def against_a_chain(variance, seed, n_samples=N_KEPT):
    """How far Laplace, the filter and EP are from a long Markov chain, in probabilities, means and deviations."""
    rng, noise, kernel = np.random.default_rng(seed), Probit(0.0), RBF(variance, 2.0)
    X, X_new = np.sort(rng.uniform(-2, 2, (N_LABELS, 1)), axis=0), np.linspace(-3, 3, 61)[:, None]
    K, K_new, prior = kernel(X) + 1e-8 * np.eye(N_LABELS), kernel(X, X_new), kernel.diag(X_new)
    y = noise.sample(np.linalg.cholesky(K) @ rng.standard_normal(N_LABELS), rng)
    draws = elliptical_slice_samples(K, y, noise, n_samples, random_state=seed)
    f = draws.reshape(-1, N_LABELS)
    weights = np.linalg.solve(K, K_new)
    spread = np.maximum(prior - np.sum(K_new * weights, axis=0), 0.0)
    chance = np.mean(ndtr(f @ weights / np.sqrt(1.0 + spread)), axis=0)
    *_, laplace = laplace_posterior(K, y, noise)
    *_, settled = ep_posterior(K, y, noise, max_sweeps=200)
    line = {"R hat": float(split_r_hat(draws).max()), "effective draws": float(effective_size(draws).min())}
    for name, q in (("Laplace", laplace), ("filter", adf_posterior(K, y, noise)), ("EP", settled)):
        line[name] = {
            "probability": float(np.abs(chance_of_one(K, K_new, prior, q) - chance).max()),
            "mean": float(np.median(np.abs(q.mean - f.mean(axis=0)) / f.std(axis=0))),
            "deviation": float(np.median(np.sqrt(np.diag(q.covariance)) / f.std(axis=0))),
        }
    return rounded(line)


def rounded(line):
    """Numbers of a nested dictionary with four digits."""
    return {k: rounded(v) if isinstance(v, dict) else float(f"{v:.4g}") for k, v in line.items()}


# ---------------------------------------------------------------------- counts
def simulated_counts(seed):
    """100 counts along a line, rate 2 exp(f): every other one to learn from, the rest to predict."""
    rng, X = np.random.default_rng(seed), np.linspace(-4, 4, 100)[:, None]
    f = np.linalg.cholesky(RBF(1.0, 1.0)(X) + 1e-8 * np.eye(100)) @ rng.standard_normal(100)
    return X, np.exp(f + COUNTS_BIAS), Poisson(COUNTS_BIAS).sample(f, rng)


def poisson_answer(X, y, X_new, y_new):
    """Log loss of each new count, and the expected rates."""
    kernel, noise, q = learn_kernel_and_noise(RBF(), X, y, Poisson(np.log(y.mean() + 0.1)))
    K = kernel(X) + 1e-8 * np.eye(len(X))
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


def counts_line(seed):
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


# ---------------------------------------------------------------------- all of it
def results(progress=iter):
    """Errors and log losses of both models and of simple answers: one split for two sizes, ten for three thresholds."""
    train, test, seen, removed = split(real_twos())
    table = {
        "not ink": row(np.zeros(test.shape[1]), test, removed),
        "mean of the pixel": row(of_each_pixel(train), test, removed),
        "ten nearest images": row(nearest_images(train, seen), test, removed),
    }
    report = {"train": len(train), "test": len(test), "removed": int(removed.sum()), "learn": LEARN, "table": table}
    noises, found = {"Gaussian": None, "Bernoulli": Probit()}, {}
    for name in progress(list(noises)):
        found |= answers(noises[name], train, seen)
    for (label, size), (values, cut) in found.items():
        table[f"{label}, d = {size}"] = row(values, test, removed, cut)
    for size in SIZES:
        report[f"standard error of Bernoulli minus Gaussian, d = {size}"] = standard_error(
            found["Bernoulli", size][0], found["Gaussian, cut at 1/2", size][0], test, removed
        )
    report["splits"] = study(progress)
    report["chain"] = {
        f"{variance:g}": [against_a_chain(variance, seed) for seed in range(N_SPLITS)]
        for variance in progress(VARIANCES)
    }
    report["counts"] = gathered([counts_line(seed) for seed in progress(range(N_SPLITS))])
    return report
