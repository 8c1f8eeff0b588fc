"""One GP-LVM, many starts: the comparison that chapter 6 makes on every data set, and its figures on the real oil."""

import warnings

import numpy as np
from scipy.spatial.distance import cdist

from ..datasets import load_oil_flow
from ..gplvm import GPLVM
from ..kernels import RBF
from ..metrics import nearest_neighbour_errors
from ..proximity import Isomap, MetricMDS, NonMetricMDS, SammonMapping, principal_coordinates
from ..starts import unit_scale
from ..unify import KernelPCA, leading_eigenpairs
from . import collect

# Lawrence (2005), table 2: errors on 100 points of the oil flow data. "Sammon" is called metric MDS there.
PRINTED_ERRORS = {"PCA": 20, "kernel PCA": 13, "non-metric MDS": 13, "Sammon": 6, "GP-LVM": 4, "GTM": 7}
N_RANDOM = 30
WIDTHS = np.geomspace(0.01, 100.0, 161)  # inverse widths; the paper tried widths in this range
NEIGHBOURS = range(3, 16)


def start_maps(Y, n_neighbors=5, random_state=0):
    """Every map of the course so far that can start a GP-LVM: {name: positions (N, 2)}, by (6.17) and its relatives.

    Notes
    -----
    Chapter 6, equations (6.2), (6.9), (6.11) and (6.17).

    Examples
    --------
    >>> list(start_maps(np.random.default_rng(0).standard_normal((12, 3))))
    ['PCA', 'kernel PCA', 'metric MDS', 'Sammon', 'non-metric MDS', 'Isomap', 'random']
    """
    rng = np.random.default_rng(random_state)
    return {
        "PCA": principal_coordinates(cdist(Y, Y), 2)[0],
        "kernel PCA": KernelPCA(2).fit_transform(Y),
        "metric MDS": MetricMDS(2).fit_transform(Y),
        "Sammon": SammonMapping(2).fit_transform(Y),
        "non-metric MDS": NonMetricMDS(2).fit_transform(Y),
        "Isomap": Isomap(2, n_neighbors).fit_transform(Y),
        "random": rng.standard_normal((len(Y), 2)),
    }


def compare_starts(Y, target, starts, max_iter=300):
    """Errors of each map, and errors and log likelihood of the GP-LVM that starts from it.

    Parameters
    ----------
    Y : ndarray (N, D)
    target : sequence (N,)
    starts : dict
        {name: positions (N, q)}.
    max_iter : int
        Of the GP-LVM, without a prior on the positions.

    Returns
    -------
    dict
        {name: {"errors": int, "gplvm_errors": int, "gplvm_log_likelihood": float}}.

    Notes
    -----
    Chapter 6, equation (6.20).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> report = compare_starts(rng.standard_normal((9, 3)), [0, 1, 2] * 3, {"any": rng.standard_normal((9, 2))}, 5)
    >>> sorted(report["any"])
    ['errors', 'gplvm_errors', 'gplvm_log_likelihood']
    """
    report = {}
    for name, X in starts.items():
        model = GPLVM(X.shape[1], init=unit_scale(X, keep_proportions=True), latent_prior=None, max_iter=max_iter).fit(
            Y
        )
        report[name] = {
            "errors": nearest_neighbour_errors(X, target),
            "gplvm_errors": nearest_neighbour_errors(model.embedding_, target),
            "gplvm_log_likelihood": model.log_likelihood_,
        }
    return report


def kernel_pca_errors(Y, target):
    """Errors at every width: as chapter 3 has it, and with the centring of the kernel matrix left out."""
    centred, raw = [], []
    for w in WIDTHS:
        kernel = RBF(1.0, float(w))
        centred.append(nearest_neighbour_errors(KernelPCA(2, kernel=kernel).fit_transform(Y), target))
        lam, U, _ = leading_eigenpairs(kernel(Y), 2)
        raw.append(nearest_neighbour_errors(U * np.sqrt(lam), target))
    return {"inverse_width": [round(float(w), 4) for w in WIDTHS], "errors": centred, "errors without centring": raw}


def random_starts(Y, target, Model):
    """Stress and errors from PCA and from N_RANDOM random starts."""
    fits = [Model(2).fit(Y)] + [Model(2, init="random", random_state=seed).fit(Y) for seed in range(N_RANDOM)]
    return {
        "stress": [round(fit.stress_, 5) for fit in fits],
        "errors": [nearest_neighbour_errors(fit.embedding_, target) for fit in fits],
    }


def isomap_errors(Y, target):
    """Errors and number of pieces for every number of neighbours."""
    fits = [Isomap(2, k).fit(Y) for k in NEIGHBOURS]
    return {
        "n_neighbors": list(NEIGHBOURS),
        "pieces": [fit.n_pieces_ for fit in fits],
        "errors": [nearest_neighbour_errors(fit.embedding_, target) for fit in fits],
    }


def table_of_starts(Y, target):
    """`compare_starts` from all of `start_maps`, rounded."""
    table = compare_starts(Y, target, start_maps(Y))
    return {name: row | {"gplvm_log_likelihood": round(row["gplvm_log_likelihood"], 1)} for name, row in table.items()}


def results(progress=iter):
    """Table 2 of the paper for the methods that exist so far, and everything that was tried on the way."""
    Y, target, *_ = load_oil_flow(100)
    models = {"metric MDS": MetricMDS, "Sammon": SammonMapping, "non-metric MDS": NonMetricMDS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a graph in pieces is counted
        return {"printed": PRINTED_ERRORS} | collect(
            {
                "table": lambda: table_of_starts(Y, target),
                "random starts": lambda: {name: random_starts(Y, target, Model) for name, Model in models.items()},
                "kernel PCA": lambda: kernel_pca_errors(Y, target),
                "Isomap, 100 points": lambda: isomap_errors(Y, target),
                "Isomap, 1000 points": lambda: isomap_errors(*load_oil_flow()[:2]),
            },
            progress,
        )
