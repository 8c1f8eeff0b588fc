"""Binary handwritten twos with pixels taken away: Lawrence (2005), section 7.3.1, in small pieces (chapter 8)."""

import numpy as np
from scipy.special import expit

from ..datasets import binary_images, load_usps, remove_pixels
from ..ivm import SparseGPLVM
from ..noise import Probit

N_TRAIN, SHARE, N_STARTS = 700, 0.2, 10
LEARN = dict(n_active=100, max_iter=10, latent_prior="gaussian")
SIZES = (100, 350)  # active sets of the final map: as learnt, and half of all images
BLOCK = 12  # test images placed at once: their matrices stay in the cache


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


def split():
    """Training and test images of ink and no ink, what is seen of the test images, and what was removed."""
    usps = load_usps()
    twos = binary_images(usps.data[usps.target == 2])
    rows = np.random.default_rng(0).permutation(len(twos))
    train, test = twos[rows[:N_TRAIN]], twos[rows[N_TRAIN:]]
    return train, test, *remove_pixels(test, SHARE, random_state=1)


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


def results(progress=iter):
    """Errors and log losses of both models and of two simple answers, for both sizes of the final map."""
    train, test, seen, removed = split()
    share = (train.sum(axis=0) + 0.5) / (len(train) + 1)
    table = {"not ink": row(np.zeros(64), test, removed), "mean of the pixel": row(share, test, removed)}
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
    return report
