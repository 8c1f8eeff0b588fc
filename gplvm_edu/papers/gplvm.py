"""The figures of chapter 5 on the real oil flow data."""

from dataclasses import replace
from itertools import product

import numpy as np

from ..datasets import load_oil_flow, simulate_oil_flow
from ..gplvm import GPLVM, RBFMap
from ..kernels import MLP, RBF, Bias, White
from ..linalg import centre, nearest_rows
from ..maps import maximise_rows, search_places
from ..metrics import class_islands, nearest_neighbour_errors, trustworthiness
from ..starts import initial_positions
from ..timing import time_ratio
from . import collect

N_SPLITS, DIMENSIONS = 20, range(1, 11)


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


def rms(residual):
    """Root mean square of all entries."""
    return round(float(np.sqrt(np.mean(residual**2))), 4)


def split_rows(Y, seed, n_test=25):
    """The rows that are fitted, and those that are held out."""
    rows = np.random.default_rng(seed).permutation(len(Y))
    return Y[rows[n_test:]], Y[rows[:n_test]]


def nearest_row_error(Y, seed):
    """Root mean square error when a held-out row is replaced by the fitted row nearest to it."""
    train, test = split_rows(Y, seed)
    return rms(train[nearest_rows(test, train, 1)[:, 0]] - test)


def plane_errors(Y, seed, q):
    """Errors of the best plane through the fitted rows: of these and of the others, each projected on it."""
    train, test = split_rows(Y, seed)
    centred, mean = centre(train)
    V = np.linalg.svd(centred, full_matrices=False)[2][:q].T
    return {"train": rms(centred - centred @ V @ V.T), "test": rms((test - mean) - (test - mean) @ V @ V.T)}


def flat_errors(Y, seed, q):
    """Errors of held-out rows projected on the flat through the q + 1 fitted rows that are nearest to each."""
    train, test = split_rows(Y, seed)
    near = train[nearest_rows(test, train, q + 1)]  # (M, q + 1, D)
    across = np.swapaxes(near[:, 1:] - near[:, :1], 1, 2)  # (M, D, q)
    left = test - near[:, 0]
    return {"test": rms(left - (across @ np.linalg.pinv(across) @ left[:, :, None])[:, :, 0])}


def least_squares_places(model, new):
    """Places that decode to a row of `new`, blind to certainty: all ends (M, 5, q) of least squares, best first.

    From the places of five near neighbours, as `transform` begins; that asks for the largest density instead.
    """
    mean, starts = replace(model.map_, latent_prior=None), model.near_places(new, 5)  # (M, 5, q)
    rows = np.repeat(new, 5, axis=0)

    def closeness(which, X):
        R = rows[which] - mean.moments(X)[0]
        return -0.5 * np.sum(R**2, axis=1), np.einsum("md,mdq->mq", R, mean.jacobian(X))

    X, values = maximise_rows(mean, rows, starts.reshape(len(rows), -1), 100, 1e-6, closeness)
    order = np.argsort(-values.reshape(-1, 5), axis=1, kind="stable")
    return np.take_along_axis(X.reshape(starts.shape), order[:, :, None], axis=1)


def nearest_decoded(model, new):
    """Each row of `new` as the nearest row that the map was found to decode to."""
    return model.inverse_transform(least_squares_places(model, new)[:, 0])


def likeliest_places(model, new, nearest):
    """The likeliest place found for each row; for how many rows `transform` finds none so likely.

    `transform` climbs (5.10) from near neighbours. Here it is climbed from the ends `nearest` of least squares too.
    """
    usual, more = (search_places(model.map_, new, starts) for starts in (model.near_places(new, 5), nearest))
    better = more.values[:, 0] > usual.values[:, 0] + 0.1
    return np.where(better[:, None], more.X[:, 0], usual.X[:, 0]), int(np.sum(better))


def sheet_errors(Y, seed, q, **settings):
    """Errors of a GP-LVM: of fitted rows at their positions; of the others decoded from where they are placed.

    They are placed where they are likeliest, and once more where they are reconstructed best, as a plane does it.
    """
    train, test = split_rows(Y, seed)
    model = GPLVM(q, **settings).fit(train)
    nearest = least_squares_places(model, test)
    likeliest, missed = likeliest_places(model, test, nearest)
    return {
        "train": rms(model.inverse_transform(model.embedding_) - train),
        "test": rms(model.inverse_transform(likeliest) - test),
        "test, transform": rms(model.inverse_transform(model.transform(test)) - test),
        "missed by transform": missed,
        "test, least squares": rms(model.inverse_transform(nearest[:, 0]) - test),
        "log_likelihood": round(model.log_likelihood_, 1),
    }


def held_out(Y, n_splits=N_SPLITS, dimensions=DIMENSIONS):
    """Reconstruction of a quarter of the rows from q numbers each, over splits: {method: {q: {measure: one a split}}}.

    The judges are the plane with as many numbers, the flat through as many near rows and one more, and the nearest row.
    """
    seeds = range(n_splits)
    methods = {
        "PCA": lambda seed, q: plane_errors(Y, seed, q),
        "flat through near rows": lambda seed, q: flat_errors(Y, seed, q),
        "GP-LVM": lambda seed, q: sheet_errors(Y, seed, q, latent_prior=None),
        "GP-LVM, prior": lambda seed, q: sheet_errors(Y, seed, q),
    }
    report: dict = {"nearest fitted row": [nearest_row_error(Y, seed) for seed in seeds]}
    for name, errors in methods.items():
        found = {q: [errors(seed, q) for seed in seeds] for q in dimensions}
        report[name] = {
            str(q): {measure: [row[measure] for row in rows] for measure in rows[0]} for q, rows in found.items()
        }
    return report


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


# ---------------------------------------------------------------------------------------------- back constraints
CONSTRAINTS = {"free": None, "free, bells' start": None, "rbf": "rbf", "mlp": "mlp"}
ISLAND_STEPS = 200


def island_starts(Y):
    """Seven starts of unit variance: three of PCA with noise on it, half as large, three by lot, and PCA itself."""
    X = initial_positions(Y - Y.mean(axis=0), 2, "pca", None)
    lots = [np.random.default_rng(seed).standard_normal(X.shape) for seed in range(6)]
    jittered = {f"PCA and noise {seed}": (X + 0.5 * lots[seed]) / np.sqrt(1.25) for seed in range(3)}
    return jittered | {f"by lot {seed}": lots[seed] for seed in range(3, 6)} | {"PCA": X}


def describe_picture(model, oil):
    """How one picture keeps classes and neighbours together."""
    X = model.embedding_
    return {
        "islands": class_islands(X, oil.target),
        "islands, 10 neighbours": class_islands(X, oil.target, 10),
        "errors": nearest_neighbour_errors(X, oil.target),
        "trustworthiness": round(trustworthiness(oil.data, X), 4),
        "continuity": round(trustworthiness(X, oil.data), 4),
        "log_likelihood": round(model.log_likelihood_, 1),
    }


def placing_ratio(oil, constraint):
    """How many times as long a search takes to place 50 rows as the map: a ratio within one run, two digits."""
    model, new = GPLVM(back_constraint=constraint, max_iter=30, tol=0.0, random_state=0).fit(oil.data), oil.data[:50]
    ratio = 100 * time_ratio(lambda: model.place(new), lambda: [model.transform(new) for _ in range(100)])
    return float(f"{ratio:.2g}")


def islands(oil, way, max_iter=ISLAND_STEPS):
    """The same kernel, prior (5.6a) and number of steps from seven starts, free or with a back constraint.

    A constraint by bells smooths its start before the first step; a free search from there is the control.
    """
    found = {}
    for seed, (name, X) in enumerate(island_starts(oil.data).items()):
        if way == "free, bells' start":
            X = RBFMap().begin(centre(oil.data)[0], X).positions()
        settings = dict(back_constraint=CONSTRAINTS[way], max_iter=max_iter, tol=0.0, random_state=seed)
        found[name] = describe_picture(GPLVM(init=X, **settings).fit(oil.data), oil)
    return found


def patience(n_pipes=10, steps=(200, 5000)):
    """Bells on simulated pipes, stopped early and late, beside the free model stopped as late: one number a pipe.

    A bell for each row can reach any positions, so what bells seem to cost may be what is still to climb.
    """
    report: dict = {way: {str(n): [] for n in steps} for way in ("free", "rbf")}
    for seed in range(n_pipes):
        pipe, asked = simulate_oil_flow(100, random_state=seed), simulate_oil_flow(30, random_state=100 + seed).data
        for way, n in product(report, steps):
            settings = dict(back_constraint=CONSTRAINTS[way], max_iter=n, tol=0.0, random_state=0, latent_prior=None)
            model = GPLVM(**settings).fit(pipe.data)
            report[way][str(n)].append(
                {
                    "errors": nearest_neighbour_errors(model.embedding_, pipe.target),
                    "islands": class_islands(model.embedding_, pipe.target),
                    "log_likelihood": round(model.log_likelihood_, 1),
                    "new rows": rms(model.inverse_transform(model.transform(asked)) - asked),
                }
            )
    return {
        way: {n: {key: [row[key] for row in rows] for key in rows[0]} for n, rows in by_steps.items()}
        for way, by_steps in report.items()
    }


def results(progress=iter):
    """Fits of both subsets from the common start, with and without prior; other starts; held-out reconstruction."""
    few, oil = load_oil_flow(100), load_oil_flow()
    return collect(
        {
            "oil, 100 points": lambda: describe(GPLVM(latent_prior=None).fit(few.data), few.target),
            "oil, 100 points, prior": lambda: describe(GPLVM().fit(few.data), few.target),
            "oil, 1000 points": lambda: describe(GPLVM(latent_prior=None, max_iter=300).fit(oil.data), oil.target),
            "starts": lambda: starts(few),
            "held out": lambda: held_out(few.data),
            "islands": lambda: {way: islands(oil, way) for way in CONSTRAINTS},
            "patience": patience,
            "islands in the data": lambda: {f"{k} neighbours": class_islands(oil.data, oil.target, k) for k in (5, 10)},
            "placing": lambda: {name: placing_ratio(oil, name) for name in ("rbf", "mlp")},
        },
        progress,
    )
