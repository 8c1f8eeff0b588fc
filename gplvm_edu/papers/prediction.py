"""The figures of chapter 13 on real data."""

import os
from pathlib import Path

import numpy as np

from ..datasets import load_digits, load_frey_faces, load_usps
from ..gplvm import GPLVM
from ..ivm import SparseGPLVM
from ..kernels import RBF, White
from ..prediction import GenerativeClassifier
from ..variational import BayesianGPLVM
from . import collect

DIMENSIONS = (2, 5, 10, 30)  # those that the paper tried for latent points


def judge(classifier, Y, target):
    """Test error in per cent with each class's own noise and with the shared one; which digits lost images to which."""
    report = {}
    for noise in ("own", "shared"):
        guess = classifier.calibrate(noise).predict(Y)
        wrong = guess != target
        report[noise] = {
            "error %": round(100 * float(np.mean(wrong)), 2),
            "errors": int(wrong.sum()),
            "lost by": np.bincount(target[wrong], minlength=10).tolist(),
            "taken by": np.bincount(guess[wrong], minlength=10).tolist(),
        }
    return report


def usps(max_iter=100):
    """Ten models of ten latent dimensions and fifty inducing points: on held-out training images, then on the test."""
    train, test = load_usps("train"), load_usps("test")
    rows = np.random.default_rng(0).permutation(len(train.data))
    fitted, held = rows[:3600], rows[3600:5100]
    settings = dict(max_iter=max_iter, n_starts=1, tol=1e-3, random_state=0)
    report = {}
    few = GenerativeClassifier(**settings).fit(train.data[fitted], train.target[fitted])
    report["held-out training images"] = judge(few, train.data[held], train.target[held])
    model = GenerativeClassifier(**settings).fit(train.data, train.target)
    report["noise deviations"] = np.sqrt(model.noise_variances_).round(4).tolist()
    report["test images"] = judge(model, test.data, test.target)
    return report


def wide_start(Y, n_components):
    """An RBF kernel whose length scale grows with the number of dimensions, as the distances do."""
    return RBF(float(Y.var(axis=0).mean()), 1.0 / n_components)


def halves(Y_train, Y_test, max_iter, gaussian=DIMENSIONS):
    """Mean absolute error of missing pixels, half of each image: Gaussian latents and points, at each dimension."""
    missing = np.random.default_rng(0).random(Y_test.shape) < 0.5
    partly = np.where(missing, np.nan, Y_test)

    def fit(q, latent, kernel=None):
        kernel = wide_start(Y_train, q) if kernel is None else kernel
        return BayesianGPLVM(q, kernel=kernel, latent=latent, max_iter=max_iter, random_state=0).fit(Y_train)

    def error(model):
        return round(float(np.abs(model.reconstruct(partly, n_starts=2).mean - Y_test)[missing].mean()), 4)

    models = {q: fit(q, "gaussian") for q in gaussian}
    relevance = models[gaussian[-1]].relevance_
    unit = RBF(float(Y_train.var(axis=0).mean()), 1.0)
    mean = np.broadcast_to(Y_train.mean(axis=0), Y_test.shape)
    return {
        "gaussian": {str(q): error(model) for q, model in models.items()},
        "point": {str(q): error(fit(q, "point")) for q in DIMENSIONS},
        "points, 30, unit length scales": error(fit(30, "point", unit)),
        "column means": round(float(np.abs(mean - Y_test)[missing].mean()), 4),
        "relevance": (relevance / relevance[0]).round(2).tolist(),
    }


def comparison(Y_train, Y_test, max_iter, q=10):
    """The same questions put to four models with the same latent dimensions and, where they have them, 50 points."""
    rng, smooth = np.random.default_rng(1), wide_start(Y_train, q)
    missing, noisy = rng.random(Y_test.shape) < 0.5, Y_test + 2.0 * rng.standard_normal(Y_test.shape)
    partly, noise = np.where(missing, np.nan, Y_test), White(0.1 * smooth.variance)
    models = {
        "GPLVM": GPLVM(q, kernel=smooth + noise, max_iter=max_iter),
        "SparseGPLVM": SparseGPLVM(q, n_active=50, kernel=smooth + noise, random_state=0),
        "points": BayesianGPLVM(q, kernel=smooth, latent="point", max_iter=max_iter, random_state=0),
        "BayesianGPLVM": BayesianGPLVM(q, kernel=smooth, max_iter=max_iter, random_state=0),
    }
    report = {"noise put in": 2.0}
    for name, model in models.items():
        model.fit(Y_train)
        clean = model.inverse_transform(model.transform(noisy)) - Y_test
        report[name] = {
            "denoised": round(float(np.sqrt(np.mean(clean**2))), 3),
            "log density": round(float(np.mean(model.score_samples(Y_test))), 1),
            "half": round(float(np.abs(model.reconstruct(partly).mean - Y_test)[missing].mean()), 3),
        }
    return report


def usps_threes():
    """Half of each three."""
    train, test = load_usps("train"), load_usps("test")
    return halves(train.data[train.target == 3], test.data[test.target == 3], 200, DIMENSIONS[-1:])


def frey_faces():
    """Half of each face, 1000 faces to learn from."""
    faces = load_frey_faces().data
    rows = np.random.default_rng(0).permutation(len(faces))
    return halves(faces[rows[:1000]], faces[rows[1000:]], 200, DIMENSIONS[-1:])


def results(progress=iter):
    """All of it; the Frey faces only where the file is there."""
    digits = load_digits()
    rows = np.random.default_rng(0).permutation(len(digits.data))
    some, others = digits.data[rows[:500]], digits.data[rows[500:650]]
    parts = {
        "usps": usps,
        "usps threes": usps_threes,
        "digits": lambda: halves(some, others, 150),
        "comparison": lambda: comparison(some, others, 150),
    }
    if (Path(os.environ.get("GPLVM_EDU_DATA", "")) / "frey_faces").is_dir():
        parts["frey faces"] = frey_faces
    return collect(parts, progress)
