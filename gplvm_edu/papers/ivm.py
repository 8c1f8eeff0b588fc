"""The figures of chapter 7 on the real data.

A fit that selects is chaotic: another rounding, another active set. So several starts are made, and medians count.
"""

from itertools import product
from time import process_time

import numpy as np

from ..datasets import draw_per_class, load_oil_flow, load_usps, simulate_oil_flow
from ..gplvm import GPLVM, log_likelihood, value_and_gradients
from ..ivm import SELECTIONS, SparseGPLVM, SparseOptions, outer_step, select_active_set, sparse_iterates, sparse_model
from ..kernels import MLP, Bias, White, common_start, split_white
from ..linalg import centre
from ..metrics import nearest_neighbour_errors
from ..starts import initial_positions
from . import collect
from .own_data import FreeWidth
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


def full_models(kernel, X, steps):
    """The full model three times: with the prior, its width learnt as the active sets learn theirs; held; no prior."""
    held = f"full model, {steps} steps"
    return {
        f"{held}, width learnt": FreeWidth(kernel=kernel, init=X, max_iter=steps),
        held: GPLVM(kernel=kernel, init=X, max_iter=steps),
        f"{held}, no prior": GPLVM(kernel=kernel, init=X, latent_prior=None, max_iter=steps),
    }


def cost_of_sparsity(oil, sizes=(25, 50, 100, 200), long=(200, 45), full_steps=100, draws=10):
    """The full model with a stated budget, with the prior and without, beside active sets: the draws of the grid.

    The active sets of `sizes`, and of `long`, a size and a number of passes other than fifteen, have the prior and
    learn the kernel's width; so does the first full model, while the second is `GPLVM` by default, which holds it.
    `time` is the processor time of a fit over that of the first full model on the same draw, the median of the draws.
    """
    report, plane, (d_long, passes) = {}, [], long
    for seed in range(draws):
        train, target, test, X = split(oil, seed)
        Y = centre(train)[0]
        kernel = common_start(Y.var(), noise=0.01)
        models = full_models(kernel, X, full_steps)
        models |= {f"d = {d}": SparseGPLVM(n_active=d, kernel=kernel, init=X) for d in sizes}
        models[f"d = {d_long}, {passes} passes"] = SparseGPLVM(n_active=d_long, kernel=kernel, init=X, max_iter=passes)
        seconds = [seconds_of_a_fit(model, train) for model in models.values()]
        for (name, model), used in zip(models.items(), seconds, strict=True):
            report.setdefault(name, []).append(scores(model, Y, target, test) | {"time": used / seconds[0]})
        plane.append(nearest_neighbour_errors(initial_positions(Y, 2, "pca", None), target))
    by_row = {name: by_name(rows) for name, rows in report.items()}
    return {name: row | {"time": round(float(np.median(row["time"])), 2)} for name, row in by_row.items()} | {
        "PCA": {"errors": plane}
    }


def seconds_of_a_fit(model, Y):
    """Fit it; the processor seconds that this took."""
    begin = process_time()
    model.fit(Y)
    return process_time() - begin


def same_budget(oil, ways=((15, 5), (75, 1), (3, 25)), draws=10):
    """Seventy-five steps in all, in passes of different length: {"15 passes of 5": scores of each draw}."""
    report = {}
    for passes, steps in ways:
        found = []
        for seed in range(draws):
            train, target, test, X = split(oil, seed)
            Y = centre(train)[0]
            start = common_start(Y.var(), noise=0.01)
            model = SparseGPLVM(kernel=start, init=X, n_steps=steps, max_iter=passes).fit(train)
            found.append(scores(model, Y, target, test))
        report[f"{passes} passes of {steps}"] = by_name(found)
    return report


STEPS = (1, 2, 5, 10, 50)
BASE = {"selection": "ivm", "relocate": True, "n_steps": 5, "n_active": 100, "noise": 0.01}


def grid_cells():
    """The settings of the grid: all rules, both sizes and both starts at five steps; all rules and steps; the noise.

    Examples
    --------
    >>> len(grid_cells()), grid_cells()[0] == BASE
    (33, True)
    """
    cells = [
        BASE | {"n_active": d, "relocate": r, "selection": s}
        for d, r, s in product((100, 50), (True, False), SELECTIONS)
    ]
    cells += [BASE | {"n_steps": n, "selection": s} for n, s in product(STEPS, SELECTIONS)]
    cells += [BASE | {"noise": 0.1}]
    return [cell for number, cell in enumerate(cells) if cell not in cells[:number]]


def fit_and_score(train, target, test, X, selection, relocate, n_steps, n_active, noise, seed):
    """One cell of the grid on one draw: its `scores`."""
    Y, kernel = centre(train)[0], common_start(centre(train)[0].var(), noise=noise)
    options = {"selection": selection, "relocate": relocate, "n_steps": n_steps, "n_active": n_active}
    model = SparseGPLVM(kernel=kernel, init=X, random_state=seed, **options).fit(train)
    return scores(model, Y, target, test)


def scores(model, Y, target, test):
    """Errors, held-out density, the full model's log likelihood and the noise learnt, of a fit."""
    return {
        "errors": nearest_neighbour_errors(model.embedding_, target),
        "held_out": round(float(np.mean(model.best_log_density(test))), 2),
        "log_likelihood": round(log_likelihood(Y, model.kernel_(model.embedding_)), 1),
        "noise_variance": float(f"{split_white(model.kernel_)[1]:.3g}"),
    }


def split(oil, seed, n_test=250):
    """Draw number `seed`: its 750 rows, their classes, the 250 rows that are held out, and its moved start."""
    rows = np.random.default_rng(seed).permutation(len(oil.data))
    train, test, target = oil.data[rows[n_test:]], oil.data[rows[:n_test]], oil.target[rows[n_test:]]
    X = initial_positions(centre(train)[0], 2, "pca", None)
    return train, target, test, X + 0.01 * np.random.default_rng(seed).standard_normal(X.shape)


def by_name(rows):
    """A list of dictionaries as a dictionary of lists."""
    return {name: [row[name] for row in rows] for name in rows[0]}


def selection_grid(oil, cells=None, draws=10):
    """Every cell of the grid on the same draws: a list of the settings with the scores of each draw.

    A draw is a split into 750 rows and 250 that are held out, with a start of its own.
    """
    problems = [split(oil, seed) for seed in range(draws)]
    return [
        cell | by_name([fit_and_score(*problem, **cell, seed=seed) for seed, problem in enumerate(problems)])
        for cell in cells or grid_cells()
    ]


def noise_held(oil, n_steps=50, learnt_in=5, draws=10):
    """Many steps a pass, with the noise held where each draw learnt it in a few: is the noise to blame?"""
    found = []
    for seed in range(draws):
        train, target, test, X = split(oil, seed)
        Y, start = centre(train)[0], common_start(centre(train)[0].var(), noise=0.01)
        few = SparseGPLVM(kernel=start, init=X, n_steps=learnt_in).fit(train)
        held = split_white(start)[0] + White(split_white(few.kernel_)[1], fixed="variance")
        found.append(scores(SparseGPLVM(kernel=held, init=X, n_steps=n_steps).fit(train), Y, target, test))
    return by_name(found)


def growth(sizes, times):
    """The exponent a of a law c n^a, by least squares in logarithms.

    Examples
    --------
    >>> growth([1, 2, 4], [3, 12, 48])
    2.0
    """
    return round(float(np.polyfit(np.log(sizes), np.log(times), 1)[0]), 2)


def cost_of_a_pass(Ns=(500, 1000, 2000, 4000), ds=(25, 50, 100, 200, 400)):
    """Processor time of whole passes of Algorithm 1, in units of one evaluation of the full model at N = 1000.

    Simulated oil flow. A pass is `outer_step` by default, selections, climbing and placing, from where two passes led.
    `unplaced` is a pass that leaves the inactive rows where they are. `in N` has 100 active rows, `in d` N = 2000;
    `full` is one evaluation of chapter 5's objective with its gradients.
    The exponents are fitted over all sizes.
    """
    Y = centre(simulate_oil_flow(max(Ns), random_state=0).data)[0]
    X, kernel = initial_positions(Y, 2, "pca", None), common_start(Y.var(), noise=0.01)
    unit = fastest(lambda: value_and_gradients(Y[:1000], X[:1000], kernel), 5)
    full = [fastest(lambda N=N: value_and_gradients(Y[:N], X[:N], kernel)) / unit for N in Ns[:-1]]
    in_N = [{name: t / unit for name, t in times_of_a_pass(Y[:N], X[:N], kernel, 100).items()} for N in Ns]
    in_d = [{name: t / unit for name, t in times_of_a_pass(Y[:2000], X[:2000], kernel, d).items()} for d in ds]
    report = {"N": list(Ns), "d": list(ds), "full": full, "in N": by_name(in_N), "in d": by_name(in_d)}
    report["growth"] = {"full, N": growth(Ns[:-1], full)}
    report["growth"] |= {f"{name}, N": growth(Ns, times) for name, times in report["in N"].items()}
    report["growth"] |= {f"{name}, d": growth(ds, times) for name, times in report["in d"].items()}
    return rounded(report)


def times_of_a_pass(Y, X, kernel, n_active):
    """Seconds of one whole pass from where two passes led, of the same without the placing, and of one selection."""
    options = SparseOptions(n_active=n_active, latent_prior="gaussian")
    *_, state = sparse_iterates(Y, X, sparse_model(kernel), options, max_iter=2)
    model = state.model
    select = fastest(lambda: select_active_set(Y, state.X, model.f_kernel, model.noise, n_active))
    stay = options._replace(relocate=False, n_inactive_steps=0)
    steps = {name: lambda o=o: outer_step(Y, state.X, model, o) for name, o in (("pass", options), ("unplaced", stay))}
    return {name: fastest(step) for name, step in steps.items()} | {"selection": select}


def fastest(work, calls=3):
    """Processor seconds of the fastest of some calls."""
    times = []
    for _ in range(calls):
        begin = process_time()
        work()
        times.append(process_time() - begin)
    return min(times)


def rounded(report):
    """The same with three digits in every float."""
    if isinstance(report, dict):
        return {name: rounded(value) for name, value in report.items()}
    if isinstance(report, list):
        return [rounded(value) for value in report]
    return float(f"{report:.3g}") if isinstance(report, float) else report


def results(progress=iter):
    """Table 3 and table 4 of the paper; how many optimiser steps; what sparsity costs; does the choice matter?"""
    oil = load_oil_flow()
    both = kernels(oil.data)
    return collect(
        {
            "oil": lambda: {name: oil_errors(oil, kernel) for name, kernel in both.items()},
            "oil, as printed": lambda: {name: oil_errors(oil, kernel, relocate=False) for name, kernel in both.items()},
            "usps": usps_shares,
            "cost of sparsity": lambda: cost_of_sparsity(oil),
            "grid": lambda: selection_grid(oil),
            "fifty steps, the noise of five": lambda: noise_held(oil),
            "same budget": lambda: same_budget(oil),
            "cost of a pass": cost_of_a_pass,
        },
        progress,
    )
