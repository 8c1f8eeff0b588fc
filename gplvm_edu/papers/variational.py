"""The figures of chapter 12 on the real oil flow data."""

from functools import partial

import numpy as np

from ..datasets import load_oil_flow
from ..kernels import RBF, Linear, White
from ..linalg import centre
from ..metrics import nearest_neighbour_errors
from ..ppca import principal_axes
from ..variational import BayesianGPLVM, Parameters, fast
from . import collect

EVALUATIONS = 1000


def fit_within(model, Y, n_evaluations=EVALUATIONS):
    """The model fitted with so many evaluations of the bound and its gradient, and no more."""
    history = []
    for state in model.iterates(Y):
        if history and state.n_evaluations > n_evaluations:
            break
        history.append(state.value)
        last = state
    return model.keep(last, history)


def describe(model, target):
    """What the chapter prints of one fit."""
    return {
        "bound": round(model.bound_, 1),
        "kl": round(model.bound_terms_.kl, 1),
        "errors_top_two": nearest_neighbour_errors(model.latent_mean_[:, :2], target),
        "errors_weighted": nearest_neighbour_errors(model.latent_mean_ * np.sqrt(model.relevance_), target),
        "n_active": len(model.active_dims_),
        "n_evaluations": model.n_evaluations_,
        "noise_variance": round(model.noise_variance_, 6),
    }


def common_start(Y, n_components=10, n_inducing=50):
    """The start on which libraries are compared: PCA means of unit variance, length scales by the PCA variances."""
    Yc = centre(Y)[0]
    scores = Yc @ principal_axes(Yc)[1][:, :n_components]
    X, spread, v = scores / scores.std(axis=0), scores.var(axis=0), Yc.var()
    Z = X[np.random.default_rng(0).permutation(len(X))[:n_inducing]]
    return Parameters(X, np.full(X.shape, 0.1), Z, RBF(v, (spread / spread[0]) ** 2), v / 100)


def common_kernel(Y):
    """The kernel of `common_start`, with its noise."""
    start = common_start(Y)
    return start.kernel + White(start.noise_variance)


def values_at_the_common_start(Y):
    """The bound there without jitter and with the jitters that two libraries add, in the units of Y squared."""
    start, outputs = common_start(Y), fast.group_outputs(centre(Y)[0])
    jitters = {"without": 1e-14, "1e-8": 1e-8 / start.kernel.variance, "1e-6": 1e-6 / start.kernel.variance}
    return {name: round(fast.evaluate_bound(outputs, start, j).terms.elbo, 3) for name, j in jitters.items()}


def hidden_entries(Y, dimensions=(1, 2, 4, 7, 10), share=0.1):
    """Errors of seen and of hidden entries for latent points that are optimised, and integrated out."""
    hidden = np.random.default_rng(0).random(Y.shape) < share
    gappy, report = np.where(hidden, np.nan, Y), {}
    for latent in ("point", "gaussian"):
        report[latent] = {}
        for q in dimensions:
            model = fit_within(BayesianGPLVM(q, 50, latent=latent, random_state=0), gappy, 500)
            wrong = (model.fitted_values() - Y) ** 2
            report[latent][str(q)] = {
                "seen": round(float(np.sqrt(wrong[~hidden].mean())), 4),
                "hidden": round(float(np.sqrt(wrong[hidden].mean())), 4),
                "bound": round(model.bound_, 1),
            }
    return report


def relative_relevance(model):
    """Relevances over the largest, in falling order; below a thousandth they count as a thousandth."""
    return [round(max(float(weight / model.relevance_[0]), 1e-3), 3) for weight in model.relevance_]


def results(progress=iter):
    """Ten dimensions from three seeds of Z; another start; planes; points; hidden entries of the 100 points."""
    oil, few = load_oil_flow(), load_oil_flow(100)
    models = {f"seed {seed}": BayesianGPLVM(random_state=seed) for seed in range(3)}
    models |= {
        "length scales from PCA": BayesianGPLVM(kernel=common_kernel(oil.data), random_state=0),
        "planes (Bayesian PCA)": BayesianGPLVM(kernel=Linear(), random_state=0),
        "points, 2 dimensions": BayesianGPLVM(2, latent="point", random_state=0),
        "points, 10 dimensions": BayesianGPLVM(10, latent="point", random_state=0),
    }
    parts = {name: partial(fit_within, model, oil.data) for name, model in models.items()}
    done = collect(parts | {"hidden entries": lambda: hidden_entries(few.data)}, progress)
    return {
        "values at the common start": values_at_the_common_start(oil.data),
        "oil, 1000 points": {name: describe(done[name], oil.target) for name in models},
        "relevance of seed 0": relative_relevance(done["seed 0"]),
        "hidden entries, 100 points": done["hidden entries"],
    }
