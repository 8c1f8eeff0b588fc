"""The two tables of van der Maaten (2009) for any data set: errors of neighbours and log likelihoods side by side."""
import numpy as np
from sklearn.base import clone

from ..datasets import load_digits, load_mnist, load_newsgroups, load_olivetti, simulate_oil_flow
from ..linalg import centre
from ..metrics import nearest_neighbour_errors
from ..ppca import principal_axes
from .estimators import TSNEPriorGPLVM

# What the paper prints: log likelihoods of Table 1, errors in per cent of Table 2, each plain and extended.
PRINTED = {
    "mnist": {"log_likelihood": (-1.8582e6, -1.8499e6), "per cent": (62.40, 5.92)},
    "newsgroups": {"log_likelihood": (-2.3174e5, -2.3088e5), "per cent": (39.40, 36.12)},
    "olivetti": {"log_likelihood": (-3.6496e6, -3.6598e6), "per cent": (61.00, 1.50)},
}
DATA = {
    "digits": load_digits, "oil": lambda: simulate_oil_flow(1000, random_state=0),         # need no file
    "mnist": load_mnist, "newsgroups": load_newsgroups, "olivetti": load_olivetti,         # through the loaders
}
BANDWIDTHS = (0.4, 0.8, 1.6)            # of the plain model, whose start has unit variance
N_SUBSET = 2500                         # as many rows as the paper drew


def unit_variance(Y):
    """Data over one number, so that the mean variance of a column is 1: the scale of equation (11.17).

    Examples
    --------
    >>> unit_variance(np.array([[0.0, 0.0], [4.0, 2.0]])).var(axis=0)
    array([1.6, 0.4])
    """
    Y = np.asarray(Y, dtype=float)
    return Y / np.sqrt(np.mean(Y.var(axis=0)))                                   # (11.17)


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


def describe(model, target):
    """What the tables say of one fit: the terms of equation (11.14), the errors, the width."""
    Y = model._Y
    return {
        "errors": nearest_neighbour_errors(model.embedding_, target),
        "nats_per_entry": round(model.log_likelihood_ / Y.size, 4),
        "energy": round(model.energy_, 4),
        "bandwidth": round(model.bandwidth_, 4),
        "n_evaluations": model.n_evaluations_,
    }


def plain_fits(Y, target, init="pca", bandwidths=BANDWIDTHS, max_iter=70):
    """The model without prior, fitted from the start once for every bandwidth: {bandwidth: row}, equation (11.18)."""
    model = TSNEPriorGPLVM(gamma=np.inf, init=init, max_iter=max_iter)
    return {f"{width:g}": describe(clone(model).set_params(bandwidths=[width]).fit(Y), target) for width in bandwidths}


def likeliest(rows):
    """The row of `plain_fits` with the largest likelihood, which is how the paper chose, equation (11.18)."""
    return max(rows.values(), key=lambda row: row["nats_per_entry"])             # (11.18)


def compare(Y, target, gamma=1e-7, perplexity=None, max_iter=20, plain_iter=70):
    """One line of both tables, and what stands between its columns.

    Parameters
    ----------
    Y : ndarray (N, D)
        At the scale that is meant to count; `unit_variance` is the course's.
    target : ndarray (N,)
    gamma, perplexity : float
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
    extended = TSNEPriorGPLVM(gamma=gamma, perplexity=perplexity, max_iter=max_iter).fit(Y)
    warm = TSNEPriorGPLVM(gamma=np.inf, init=extended.start_, max_iter=max_iter, bandwidths=[extended.bandwidth_],
                          perplexity=perplexity).fit(Y)
    rows = {
        "PCA": {"errors": nearest_neighbour_errors(centre(Y)[0] @ principal_axes(centre(Y)[0])[1][:, :2], target)},
        "t-SNE": {"errors": nearest_neighbour_errors(extended.start_, target)},
        "plain": plain_fits(Y, target, max_iter=plain_iter),
        "plain, from t-SNE": describe(warm, target),
        "extended": describe(extended, target),                                  # (11.14)
    }
    return {"n_samples": len(Y), "n_features": Y.shape[1]} | rows, extended


def temperatures(Y, target, start, bandwidth, gammas, perplexity=None, max_iter=20):
    """The extended model from one start at several temperatures: where do the terms of equation (11.14) balance?"""
    report = []
    for gamma in gammas:
        model = TSNEPriorGPLVM(gamma=gamma, init=start, bandwidths=[bandwidth], perplexity=perplexity,
                               max_iter=max_iter).fit(Y)                         # (11.16)
        moved = np.sqrt(np.mean((model.embedding_ - start) ** 2) / np.mean(np.var(start, axis=0)))
        report.append({"gamma": gamma, "moved": round(float(moved), 4)} | describe(model, target))
    return report
