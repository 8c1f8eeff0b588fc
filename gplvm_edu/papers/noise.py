"""Binary handwritten twos with pixels taken away: Lawrence (2005), section 7.3.1, in small pieces (chapter 8).

The table has one split, as in the paper, and two sizes of the final map. Beside it stand ten splits for each of three
thresholds of ink, with the nearest images as a rival that needs no model (of all training images, and of as many as the
model keeps), and with a model of five dimensions; and a few of these splits with five times as many passes. What needs
no data stands in `noise_toys`.
"""

import numpy as np
from scipy.special import expit, ndtr

from ..datasets import binary_images, load_digits, load_usps, remove_pixels
from ..datasets.binary import INK
from ..ivm import SparseGPLVM
from ..noise import Probit

N_TRAIN, SHARE, N_STARTS = 700, 0.2, 10
LEARN = dict(n_active=100, max_iter=10, latent_prior="gaussian")
FEWER = dict(n_active=60, max_iter=5, latent_prior="gaussian")  # for ten splits
SIZES = (100, 350)  # active sets of the final map: as learnt, and half of all images
BLOCK = 12  # test images placed at once: their matrices stay in the cache
WIDER = FEWER | dict(n_components=5)
LONGER = FEWER | dict(max_iter=25)
THRESHOLDS, N_SPLITS, N_NEAREST = (INK, 0.25, 0.5), 10, 10
LONGER_AT, N_LONGER = (INK, 0.5), 3  # more passes: at these thresholds, on the first so many splits
KEPT, CLOSER = (
    1e-3,
    1e-6,
)  # how near to 0 and 1 a probability may come in a log loss: as a rule, and to see what it does


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


def probability_above(mean, variance, cut=0.5):
    r"""The probability that a Gaussian prediction gives to a value above the cut, :math:`\Phi((\mu - c)/\sqrt v)`.

    Notes
    -----
    Chapter 8, below equation (8.32): the other question that one may ask of N(mu, v).

    Examples
    --------
    >>> probability_above(np.array([0.5, 0.9]), 0.1).round(3)
    array([0.5  , 0.897])
    """
    return ndtr((mean - cut) / np.sqrt(variance))


def pixel_scores(probability, Y, removed, cut=0.5, least=KEPT):
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
    least : float
        Probabilities are kept this far away from 0 and 1: one pixel called impossible would decide the mean.

    Returns
    -------
    error, log_loss : float

    Notes
    -----
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
    q = np.clip(p, least, 1.0 - least)
    return float(error), float(-np.mean(np.log(np.where(y > 0.5, q, 1.0 - q))))  # (8.31)


def calibration(p, y, n_bins=10):
    r"""How far probabilities lie from what is so: on average, and whether they claim too much.

    .. math:: \sum_k \frac{n_k}{n}\, \Big| \frac{1}{n_k} \sum_{i \in k} (p_i - y_i) \Big|, \qquad
              \frac1n \sum_i \max(p_i, 1 - p_i) - [\text{share that is right}]

    Parameters
    ----------
    p, y : ndarray (n,)
        Said probabilities of a 1, and what was there.
    n_bins : int
        Equal steps of p, the k above.

    Returns
    -------
    gap, boast : float
        The expected calibration error; and how much surer one is than right, below 0 where one is too modest.

    Examples
    --------
    >>> gap, boast = calibration(np.array([0.9, 0.9, 0.2, 0.2]), np.array([1.0, 0.0, 0.0, 0.0]))
    >>> round(gap, 4), round(boast, 4)
    (0.3, 0.1)
    """
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    gap = np.abs(np.bincount(bins, p - y, n_bins)).sum() / len(p)
    return float(gap), float(np.mean(np.maximum(p, 1.0 - p)) - np.mean((p > 0.5) == (y > 0.5)))


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
        "Gaussian, above 1/2": (probability_above(mean, variance), 0.5),
    }


def standard_error(p, q, truth, removed):
    """Standard error, over images, of the difference between the errors of two predictions, in per cent."""
    each = [np.sum(((values > 0.5) != (truth > 0.5)) & removed, axis=1) / removed.sum(axis=1) for values in (p, q)]
    difference = each[0] - each[1]
    return round(float(100 * difference.std(ddof=1) / np.sqrt(len(difference))), 2)


def row(values, test, removed, cut=0.5):
    """One line of the table: errors in per cent, log loss by both rules, and what `calibration` says."""
    error, loss = pixel_scores(values, test, removed, cut)
    _, closer = pixel_scores(values, test, removed, cut, CLOSER)
    gap, boast = calibration(np.clip(np.broadcast_to(values, test.shape)[removed], 0.0, 1.0), test[removed])
    scores = {"log_loss": loss, "log_loss, kept by 1e-6": closer, "gap": gap, "boast": boast}
    return {"error": round(100 * error, 2), **{name: round(score, 4) for name, score in scores.items()}}


def answers(noise, train, seen):
    """{(name, size): (value, cut)} of one model, fitted once, for both sizes of the final map."""
    model = SparseGPLVM(noise=noise, learn_noise=False, **LEARN).fit(train)  # biases as the data start them
    return {
        (label, size): answer
        for size in SIZES
        for label, answer in predictions(remap(model, train, size), seen).items()
    }


def without_a_model(train, test, seen, n_kept):
    """{name: (value, cut)} of the answers that need no model; the last looks at as many images as a model keeps."""
    return {
        "not ink": (np.zeros(test.shape[1]), 0.5),
        "mean of the pixel": (of_each_pixel(train), 0.5),
        "ten nearest images": (nearest_images(train, seen), 0.5),
        f"ten nearest of {n_kept}": (nearest_images(train[:n_kept], seen), 0.5),
    }


def one_split(twos, n_train=N_TRAIN, seed=0, options=FEWER, ep=False, wider=WIDER):
    """{name: line of the table} for one split, with maps of the size with which they were learnt.

    Biases are learnt, but for "Bernoulli, bias as started". `ep` adds a model with settled sites, `wider` both
    models with these options: five latent dimensions.
    """
    train, test, seen, removed = split(twos, n_train, seed)
    found = without_a_model(train, test, seen, options["n_active"])
    found |= predictions(SparseGPLVM(noise=None, **options).fit(train), seen)
    held = predictions(SparseGPLVM(noise=Probit(fixed="bias"), **options).fit(train), seen)
    found |= {"Bernoulli, bias as started": held["Bernoulli"]}
    found |= predictions(SparseGPLVM(noise=Probit(), **options).fit(train), seen)
    if ep:
        settled = predictions(SparseGPLVM(noise=Probit(), ep=True, **options).fit(train), seen)
        found |= {"Bernoulli, sites settled by EP": settled["Bernoulli"]}
    if wider:
        for noise in (None, Probit()):
            wide = predictions(SparseGPLVM(noise=noise, **wider).fit(train), seen)
            found |= {f"{name}, five dimensions": line for name, line in wide.items()}
    return {name: row(values, test, removed, cut) for name, (values, cut) in found.items()}


def more_passes(twos, seed=0, options=LONGER):
    """{name: line of the table} of both models for one split of the real twos, after more passes; biases learnt."""
    train, test, seen, removed = split(twos, seed=seed)
    found = {}
    for noise in (None, Probit()):
        found |= predictions(SparseGPLVM(noise=noise, **options).fit(train), seen)
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
        settings = dict(n_train=120, ep=True, wider=None) if small else {}
        report[name] = gathered([one_split(twos, seed=seed, **settings) for seed in seeds])
    return report


# ---------------------------------------------------------------------- all of it
def results(progress=iter):
    """Errors and log losses of both models and of simple answers: one split for two sizes, ten for three thresholds."""
    train, test, seen, removed = split(real_twos())
    simple = without_a_model(train, test, seen, LEARN["n_active"])
    table = {name: row(values, test, removed, cut) for name, (values, cut) in simple.items()}
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
    report["passes"] = {
        f"{threshold:g}": gathered([more_passes(real_twos(threshold), seed) for seed in range(N_LONGER)])
        for threshold in LONGER_AT
    }
    return report
