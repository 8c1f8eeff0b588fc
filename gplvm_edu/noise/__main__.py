"""Recompute the figures of chapter 8 on the real twos of USPS: ``python -m gplvm_edu.noise FILE.json``."""
import json
import sys

import numpy as np

from ..datasets import load_usps
from ..ivm import SparseGPLVM
from . import Probit, binary_images, pixel_scores, remove_pixels, two_point_probability

N_TRAIN, SHARE, RESTARTS = 700, 0.2, 10
LEARN = dict(n_active=100, n_outer=10, latent_prior="gaussian")
SIZES = (100, 350)                  # active sets of the final map: as learnt, and half of all images
BLOCK = 12                          # test images placed at once: their matrices stay in the cache


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
    return SparseGPLVM(n_active=n_active, n_outer=0, kernel=model.kernel_, noise=noise, init=model.embedding_,
                       latent_prior="gaussian").fit(train)


def predictions(model, seen):
    """{name: (value, cut)} of every pixel of every test image, each placed by what is seen of it."""
    X = np.vstack([model.transform(seen[k:k + BLOCK], RESTARTS) for k in range(0, len(seen), BLOCK)])
    mean, deviation = model.inverse_transform(X, return_std=True)
    if model.noise is not None:
        return {"Bernoulli": (mean, 0.5)}
    variance = deviation[:, None] ** 2 + model.noise_.variance
    return {"Gaussian, cut at 1/2": (mean, 0.5), "Gaussian, cut at the pixel's mean": (mean, model.mean_),
            "Gaussian, density": (two_point_probability(mean, variance), 0.5)}


def standard_error(p, q, truth, removed):
    """Standard error, over images, of the difference between the errors of two predictions, in per cent."""
    each = [np.sum(((values > 0.5) != (truth > 0.5)) & removed, axis=1) / removed.sum(axis=1) for values in (p, q)]
    difference = each[0] - each[1]
    return round(float(100 * difference.std(ddof=1) / np.sqrt(len(difference))), 2)


def results():
    """Errors and log losses of both models and of two simple answers, for both sizes of the final map."""
    train, test, seen, removed = split()
    share = (train.sum(axis=0) + 0.5) / (len(train) + 1)
    table = {"not ink": row(np.zeros(64), test, removed), "mean of the pixel": row(share, test, removed)}
    report = {"train": len(train), "test": len(test), "removed": int(removed.sum()), "learn": LEARN, "table": table}
    kept = {}
    for noise in (None, Probit()):
        model = SparseGPLVM(noise=noise, **LEARN).fit(train)
        for size in SIZES:
            for label, (values, cut) in predictions(remap(model, train, size), seen).items():
                table[f"{label}, d = {size}"] = row(values, test, removed, cut)
                kept[label, size] = values
    for size in SIZES:
        report[f"standard error of Bernoulli minus Gaussian, d = {size}"] = standard_error(
            kept["Bernoulli", size], kept["Gaussian, cut at 1/2", size], test, removed)
    return report


def row(values, test, removed, cut=0.5):
    """One line of the table."""
    error, loss = pixel_scores(values, test, removed, cut)
    return {"error": round(100 * error, 2), "log_loss": round(loss, 4)}


if __name__ == "__main__":
    text = json.dumps(results(), indent=1)
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w") as file:
            file.write(text + "\n")
    print(text)
