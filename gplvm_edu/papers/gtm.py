"""The figures of chapter 9 on the papers' real data."""

import numpy as np

from ..datasets import draw_per_class, load_oil_flow, load_usps
from ..gtm import (
    GTM,
    BatchSOM,
    basis_functions,
    best_setting,
    grid_search,
    grid_spacing,
    incremental_iterates,
    latent_grid,
    log_densities,
    make_basis,
    posterior_modes,
    principal_sheet,
    responsibilities,
)
from ..linalg import centre
from ..metrics import nearest_neighbour_errors
from . import collect
from .ppca import pca_errors

WIDTHS, ALPHAS = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0), (1e-4, 1e-3, 1e-2, 1e-1, 1.0)


def describe(one, target):
    """What the chapter prints of one setting of a scan."""
    return {
        "width": one.width,
        "alpha": one.alpha,
        "errors": nearest_neighbour_errors(one.model.embedding_, target),
        "log_likelihood": round(one.likelihood, 1),
        "log_evidence": round(one.evidence, 1),
    }


def surface(data, target, **settings):
    """A scan over width and alpha: every setting with its errors, and the two choices that no label was shown to."""
    tried = grid_search(GTM(**settings), data, WIDTHS, ALPHAS)
    return {
        "PCA": pca_errors(data, target),
        "by likelihood": describe(best_setting(tried), target),
        "by evidence": describe(best_setting(tried, "evidence"), target),
        "scan": [describe(one, target) for one in tried],
    }


def usps(seeds=(0, 1, 2)):
    """600 of each digit from 0 to 4: errors beside PCA's; width and alpha chosen by likelihood; and a finer grid."""
    every, report = load_usps(), {}
    for seed in seeds:
        Y, target, *_ = draw_per_class(every, 600, classes=range(5), random_state=seed)
        tried = grid_search(GTM(max_iter=60), Y, (0.75, 1.0), (1e-3, 1e-2, 1e-1))
        finer = grid_search(GTM(grid=(25, 25), basis=(8, 8), max_iter=40), Y, (best_setting(tried).width,), (1e-1,))[0]
        report[f"draw {seed}"] = {
            "PCA": pca_errors(Y, target),
            "15 x 15": describe(best_setting(tried), target),
            "25 x 25": describe(finer, target),
        }
    return report


def start_of(Y, grid=(15, 15), basis=(4, 4), width=0.75):
    """Basis matrix, weights and precision at the plane of PCA."""
    X = latent_grid(grid)
    Phi = basis_functions(X, make_basis(basis, width))
    return X, Phi, *principal_sheet(Y, X, Phi, grid_spacing(grid))


def batches(data, sizes=(10, 30, 100, 300, 1000), n_passes=150):
    """Passes over the oil data that incremental EM needs to come within 5 nats of where plain EM is after 150."""
    Y = centre(data)[0][np.random.default_rng(0).permutation(len(data))]
    _, Phi, W, beta = start_of(Y)
    alpha = 0.01 / Y.var(axis=0).mean()
    *_, plain = incremental_iterates(Y, Phi, W, beta, len(Y), alpha, n_passes)
    report = {}
    for size in sizes:
        states = incremental_iterates(Y, Phi, W, beta, size, alpha, n_passes)
        reached = next((state.sweeps for state in states if state.value > plain.value - 5.0), np.nan)
        report[str(size)] = round(float(reached), 1)
    return report


def frozen(data, thresholds=(0.0, 1e-8, 1e-4), n_passes=30, size=50):
    """What freezing saves: share of log densities computed, and the free energy, for points sorted along the sheet."""
    Y = centre(data)[0]
    X, Phi, W, beta = start_of(Y)
    R, _ = responsibilities(log_densities(Y, Phi @ W.T, beta))
    Y = Y[np.lexsort(posterior_modes(R, X).T)]  # neighbours share a batch
    report = {}
    for threshold in thresholds:
        computed = []
        states = incremental_iterates(Y, Phi, W, beta, size, 0.05, n_passes, freeze=threshold, work=computed)
        *_, last = states
        report[f"{threshold:g}"] = {
            "share computed": round(float(np.mean(computed)), 3),
            "free energy": round(last.value, 1),
        }
    return report


def other_bases(data, target):
    """Both choices of a scan without the linear terms of the basis, and without its constant too."""
    report = {}
    for terms in ("bias", "none"):
        found = surface(data, target, terms=terms)
        report[terms] = {key: found[key] for key in ("by likelihood", "by evidence")}
    return report


def results(progress=iter):
    """Oil flow with 1000 and 100 points, with other bases, the SOM, USPS, batch sizes and frozen responsibilities."""
    few, oil = load_oil_flow(100), load_oil_flow()
    return collect(
        {
            "oil, 1000 points": lambda: surface(oil.data, oil.target),
            "oil, 1000 points, other bases": lambda: other_bases(oil.data, oil.target),
            "oil, 1000 points, SOM": lambda: nearest_neighbour_errors(BatchSOM().fit_transform(oil.data), oil.target),
            "oil, 100 points": lambda: surface(few.data, few.target),
            "USPS, 3000 digits": usps,
            "passes by batch size": lambda: batches(oil.data),
            "frozen": lambda: frozen(oil.data),
        },
        progress,
    )
