"""The two tables of van der Maaten (2009) for any data set: errors of neighbours and log likelihoods side by side.

The digits come with scikit-learn and the oil flow is simulated, so no file of the papers' data is needed.
``results(names=("mnist", "olivetti", "newsgroups"))`` adds lines of the paper's own tables, through the loaders (an
hour, and the data).
"""

import numpy as np
from sklearn.base import clone

from ..datasets import load_digits, load_mnist, load_newsgroups, load_olivetti, simulate_oil_flow, unit_variance
from ..metrics import nearest_neighbour_errors
from ..tsne import TSNEPriorGPLVM
from .ppca import pca_errors

# What the paper prints: log likelihoods of Table 1, errors in per cent of Table 2, each plain and extended.
PRINTED = {
    "mnist": {"log_likelihood": (-1.8582e6, -1.8499e6), "per cent": (62.40, 5.92)},
    "newsgroups": {"log_likelihood": (-2.3174e5, -2.3088e5), "per cent": (39.40, 36.12)},
    "olivetti": {"log_likelihood": (-3.6496e6, -3.6598e6), "per cent": (61.00, 1.50)},
}
DATA = {
    "digits": load_digits,
    "oil": lambda: simulate_oil_flow(1000, random_state=0),  # need no file
    "mnist": load_mnist,
    "newsgroups": load_newsgroups,
    "olivetti": load_olivetti,  # through the loaders
}
BANDWIDTHS = (0.4, 0.8, 1.6)  # of the plain model, whose start has unit variance
N_SUBSET = 2500  # as many rows as the paper drew
TEMPERATURES = (1e-5, 1e-4, 1e-3)


def load_table_data(name, random_state=0):
    """Data at unit mean variance and labels of one line of the tables; at most 2500 rows, drawn as the paper did.

    Raises the loader's own error, which says what to do, where the files are not to be had. The scale is that of
    equation (11.17).
    """
    if name not in DATA:
        raise ValueError(f"There is no data set {name!r} in the tables; there are {', '.join(DATA)}.")
    data, target = DATA[name]()[:2]
    rows = np.arange(len(data))
    if len(data) > N_SUBSET:
        rows = np.sort(np.random.default_rng(random_state).permutation(len(data))[:N_SUBSET])
    return unit_variance(data[rows]), np.asarray(target)[rows]


def describe(model, Y, target):
    """What the tables say of one fit to Y: the terms of equation (11.14), the errors, the width."""
    return {
        "errors": nearest_neighbour_errors(model.embedding_, target),
        "nats_per_entry": round(model.log_likelihood_ / Y.size, 4),
        "energy": round(model.energy_, 4),
        "bandwidth": round(model.bandwidth_, 4),
        "n_evaluations": model.n_evaluations_,
    }


def plain_fits(Y, target, init="pca", bandwidths=BANDWIDTHS, max_iter=70):
    """The model without prior, fitted from the start once for every bandwidth: {bandwidth: row}, equation (11.18)."""
    model = TSNEPriorGPLVM(temperature=np.inf, init=init, max_iter=max_iter)
    return {
        f"{width:g}": describe(clone(model).set_params(bandwidths=[width]).fit(Y), Y, target) for width in bandwidths
    }


def likeliest(rows):
    """The row of `plain_fits` with the largest likelihood, which is how the paper chose, equation (11.18)."""
    return max(rows.values(), key=lambda row: row["nats_per_entry"])  # (11.18)


def compare(Y, target, temperature=1e-7, perplexity=None, max_iter=20, plain_iter=70):
    """One line of both tables, and what stands between its columns.

    Parameters
    ----------
    Y : ndarray (N, D)
        At the scale that is meant to count; `unit_variance` is the course's.
    target : ndarray (N,)
    temperature, perplexity : float
    max_iter, plain_iter : int
        Steps of the extended model, which starts near its end, and of the plain one, which does not.

    Returns
    -------
    rows : dict
        {"PCA" | "t-SNE" | "extended" | "plain, from t-SNE": {"errors": ..., "nats_per_entry": ...}}, and "plain": such
        a row for every bandwidth.
    extended : TSNEPriorGPLVM

    Notes
    -----
    Costs as many O(N^3) evaluations as there are steps. Chapter 11, equations (11.14) and (11.18).
    """
    extended = TSNEPriorGPLVM(temperature=temperature, perplexity=perplexity, max_iter=max_iter).fit(Y)
    warm = TSNEPriorGPLVM(
        temperature=np.inf,
        init=extended.start_,
        max_iter=max_iter,
        bandwidths=[extended.bandwidth_],
        perplexity=perplexity,
    ).fit(Y)
    rows = {
        "PCA": {"errors": pca_errors(Y, target)},
        "t-SNE": {"errors": nearest_neighbour_errors(extended.start_, target)},
        "plain": plain_fits(Y, target, max_iter=plain_iter),
        "plain, from t-SNE": describe(warm, Y, target),
        "extended": describe(extended, Y, target),
    }
    return {"n_samples": len(Y), "n_features": Y.shape[1]} | rows, extended


def temperatures(Y, target, start, bandwidth, values, perplexity=None, max_iter=20):
    """The extended model from one start at several temperatures: where do the terms of equation (11.14) balance?"""
    report = []
    for temperature in values:
        model = TSNEPriorGPLVM(
            temperature=temperature, init=start, bandwidths=[bandwidth], perplexity=perplexity, max_iter=max_iter
        ).fit(Y)
        moved = np.sqrt(np.mean((model.embedding_ - start) ** 2) / np.mean(np.var(start, axis=0)))
        report.append({"temperature": temperature, "moved": round(float(moved), 4)} | describe(model, Y, target))
    return report


def paper_line(name):
    """One line of the tables for data of the paper, with what the paper prints."""
    line, _ = compare(*load_table_data(name))
    return line | {"printed": {key: list(np.array(value)) for key, value in PRINTED[name].items()}}


def digits_in_detail():
    """The line of the digits, the digits at several temperatures, and the temperature 1 / ND."""
    Y, target = load_table_data("digits")
    line, extended = compare(Y, target)
    return {
        "digits": line,
        "temperatures": temperatures(Y, target, extended.start_, extended.bandwidth_, TEMPERATURES),
        "balance": float(f"{1 / Y.size:.3g}"),
    }


def results(progress=iter, names=()):
    """Both tables on digits and simulated oil flow, the digits at several temperatures, and the lines asked for."""
    report = {"scale": "divided by one number: mean variance of a column 1", "temperature": 1e-7}
    for name in progress(["digits", "oil", *names]):
        if name == "digits":
            report |= digits_in_detail()
        else:
            report[name] = paper_line(name) if name in PRINTED else compare(*load_table_data(name))[0]
    return report
