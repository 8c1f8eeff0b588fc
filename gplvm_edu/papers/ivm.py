"""The figures of chapter 7 on the real data.

A fit that selects is chaotic: another rounding, another active set. So several starts are made, and medians count.
"""

from time import process_time

import numpy as np

from ..datasets import draw_per_class, load_oil_flow, load_usps
from ..gplvm import GPLVM, log_likelihood
from ..ivm import SparseGPLVM
from ..kernels import MLP, Bias, White, common_start
from ..linalg import centre
from ..metrics import nearest_neighbour_errors
from ..starts import initial_positions
from . import collect
from .ppca import pca_errors


def kernels(Y):
    """Both kernels of the paper at the course's start."""
    v = centre(Y)[0].var()
    return {"RBF": common_start(v, noise=0.01), "MLP": MLP(v) + Bias(min(np.exp(-2.0), v)) + White(0.01 * v)}


def jittered_starts(Y, n_starts):
    """The scores of PCA, moved by 0.01: the same start in all that matters."""
    X = initial_positions(centre(Y)[0], 2, "pca", None)
    return [X + 0.01 * np.random.default_rng(seed).standard_normal(X.shape) for seed in range(n_starts)]


def oil_errors(oil, kernel, n_starts=6, **options):
    """Errors of every start, and their median."""
    errors = []
    for X in jittered_starts(oil.data, n_starts):
        model = SparseGPLVM(kernel=kernel, init=X, **options).fit(oil.data)
        errors.append(nearest_neighbour_errors(model.embedding_, oil.target))
    return {"errors": errors, "median": float(np.median(errors))}


def usps_shares(draws=3):
    """Errors on 3000 digits as a share of PCA's on the same draw: median of the last five passes, for each draw."""
    report, usps = {"PCA": [], "RBF": [], "MLP": []}, load_usps()
    for seed in range(draws):
        digits = draw_per_class(usps, 600, classes=range(5), random_state=seed)
        flat = pca_errors(digits.data, digits.target)
        report["PCA"].append(flat)
        for name, kernel in kernels(digits.data).items():
            model = SparseGPLVM(kernel=kernel, n_steps=10)
            errors = [nearest_neighbour_errors(state.X, digits.target) for state in model.iterates(digits.data)]
            report[name].append(round(float(np.median(errors[-5:])) / flat, 3))
    return report | {"median RBF": float(np.median(report["RBF"])), "median MLP": float(np.median(report["MLP"]))}


def cost_of_sparsity(oil, sizes=(25, 50, 100, 200), full_steps=100, n_test=250, n_starts=6):
    """The full model with a stated budget beside active sets of several sizes, on the same 750 of the 1000 points.

    `log_likelihood` is the full model's, (5.2), at the positions and the kernel that each fit found; `held_out` the
    mean log density of the other rows at their best places; `time` compares processor times of one fit, roughly.
    The full model starts once, at PCA; each active set from as many moved starts as `jittered_starts` gives.
    """
    rows = np.random.default_rng(0).permutation(len(oil.data))
    train, test, target = oil.data[rows[n_test:]], oil.data[rows[:n_test]], oil.target[rows[n_test:]]
    Y = centre(train)[0]
    kernel, starts, report, reference = kernels(train)["RBF"], jittered_starts(train, n_starts), {}, None
    fits = {f"full model, {full_steps} steps": [GPLVM(kernel=kernel, latent_prior=None, max_iter=full_steps)]}
    fits |= {f"d = {d}": [SparseGPLVM(n_active=d, kernel=kernel, init=X) for X in starts] for d in sizes}
    for name, models in fits.items():
        begin = process_time()
        for model in models:
            model.fit(train)
        seconds = (process_time() - begin) / len(models)
        reference = reference or seconds
        numbers = {
            "errors": [nearest_neighbour_errors(model.embedding_, target) for model in models],
            "log_likelihood": [round(log_likelihood(Y, model.kernel_(model.embedding_)), 1) for model in models],
            "held_out": [round(float(np.mean(model.best_log_density(test))), 2) for model in models],
        }
        medians = {quantity: round(float(np.median(values)), 2) for quantity, values in numbers.items()}
        report[name] = numbers | {"median": medians, "time": in_words(seconds / reference)}
    return report


def in_words(ratio):
    """A ratio of times as precisely as a shared machine allows."""
    return "ten times faster" if ratio < 0.1 else "ten times slower" if ratio > 10 else "same order of magnitude"


def results(progress=iter):
    """Table 3 and table 4 of the paper; how many optimiser steps; what sparsity costs."""
    oil = load_oil_flow()
    both = kernels(oil.data)
    return collect(
        {
            "oil": lambda: {name: oil_errors(oil, kernel) for name, kernel in both.items()},
            "oil, as printed": lambda: {name: oil_errors(oil, kernel, relocate=False) for name, kernel in both.items()},
            "steps, as printed": lambda: {
                str(n): oil_errors(oil, both["RBF"], 3, relocate=False, n_steps=n) for n in (10, 50, 200)
            },
            "usps": usps_shares,
            "cost of sparsity": lambda: cost_of_sparsity(oil),
        },
        progress,
    )
