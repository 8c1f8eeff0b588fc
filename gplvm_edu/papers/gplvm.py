"""The figures of chapter 5 on the real oil flow data."""

import numpy as np

from ..datasets import load_oil_flow
from ..gplvm import GPLVM
from ..kernels import MLP, RBF, Bias, White
from ..metrics import nearest_neighbour_errors
from . import collect


def describe(model, target):
    """What the chapter prints of one fit."""
    return {
        "errors": nearest_neighbour_errors(model.embedding_, target),
        "log_likelihood": round(model.log_likelihood_, 2),
        "n_evaluations": model.n_evaluations_,
        "deviation_of_X": round(float(model.embedding_.std()), 4),
        "inverse_width": np.round(np.mean(model.kernel_["rbf"].inverse_width), 4).item(),
        "noise_variance": round(float(model.kernel_["white"].variance), 6),
    }


def held_out(oil, dimensions, n_test=25):
    """Root mean square error of rows that were not fitted, each decoded from its own projection, for every q."""
    Y, rows = oil.data, np.random.default_rng(0).permutation(len(oil.data))
    train, test = Y[rows[n_test:]], Y[rows[:n_test]]
    errors = {}
    for q in dimensions:
        model = GPLVM(q, latent_prior=None).fit(train)
        inside = model.inverse_transform(model.embedding_) - train
        outside = model.inverse_transform(model.transform(test)) - test
        errors[str(q)] = {
            "train": round(float(np.sqrt(np.mean(inside**2))), 4),
            "test": round(float(np.sqrt(np.mean(outside**2))), 4),
            "log_likelihood": round(model.log_likelihood_, 1),
        }
    return errors


def starts(oil):
    """The same data and model from other starts: of the kernel's parameters, of the positions, of the patience."""
    v = oil.data.var()
    fits = {
        "the common start": GPLVM(latent_prior=None),
        "stopped after 50 iterations": GPLVM(latent_prior=None, max_iter=50),
        "length scale 3": GPLVM(kernel=RBF(v, 1 / 9) + Bias(np.exp(-2.0)) + White(0.1 * v), latent_prior=None),
        "ten times the noise": GPLVM(kernel=RBF(v, 1.0) + Bias(np.exp(-2.0)) + White(v), latent_prior=None),
        "inverse width 10": GPLVM(kernel=RBF(v, 10.0) + Bias(np.exp(-2.0)) + White(0.1 * v), latent_prior=None),
        "a width each, all at 1": GPLVM(kernel=RBF(1.0, np.ones(2)) + White(1.0), latent_prior=None),
        "MLP kernel": GPLVM(kernel=MLP() + Bias(np.exp(-2.0)) + White(0.1 * v), latent_prior=None),
    }
    for seed in range(3):
        fits[f"random positions {seed}"] = GPLVM(init="random", random_state=seed, latent_prior=None)
    report = {}
    for name, model in fits.items():
        model.fit(oil.data)
        report[name] = {
            "errors": nearest_neighbour_errors(model.embedding_, oil.target),
            "log_likelihood": round(model.log_likelihood_, 1),
        }
    return report


def results(progress=iter):
    """Fits of both subsets from the common start, with and without prior; other starts; held-out reconstruction."""
    few, oil = load_oil_flow(100), load_oil_flow()
    return collect(
        {
            "oil, 100 points": lambda: describe(GPLVM(latent_prior=None).fit(few.data), few.target),
            "oil, 100 points, prior": lambda: describe(GPLVM().fit(few.data), few.target),
            "oil, 1000 points": lambda: describe(GPLVM(latent_prior=None, max_iter=300).fit(oil.data), oil.target),
            "starts": lambda: starts(few),
            "held out": lambda: held_out(few, (1, 2, 3, 4, 6, 8, 10)),
        },
        progress,
    )
