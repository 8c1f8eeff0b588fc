"""Recompute the figures of chapter 6 on the real oil flow data: ``python -m gplvm_edu.proximity FILE.json``."""
import json
import sys
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from ..datasets import load_oil_flow
from ..kernels import RBF
from ..metrics import nearest_neighbour_errors
from ..unify import KernelPCA, leading_eigenpairs
from . import Isomap, MetricMDS, NonMetricMDS, SammonMapping
from .starts import PRINTED_ERRORS, compare_starts, start_maps

N_RANDOM = 30
WIDTHS = np.geomspace(0.01, 100.0, 161)         # inverse widths; the paper tried widths in this range
NEIGHBOURS = range(3, 16)


def results():
    """Table 2 of the paper for the methods that exist so far, and everything that was tried on the way."""
    oil = load_oil_flow(100)
    Y, target = oil.data, oil.target
    with threadpool_limits(1), warnings.catch_warnings():     # one thread: the same sums in the same order every time
        warnings.simplefilter("ignore", UserWarning)          # a graph in pieces is counted below
        table = compare_starts(Y, target, start_maps(Y))
        report = {
            "printed": PRINTED_ERRORS,
            "table": {name: row | {"gplvm_log_likelihood": round(row["gplvm_log_likelihood"], 1)}
                      for name, row in table.items()},
            "random starts": {name: random_starts(Y, target, Model) for name, Model in (
                ("metric MDS", MetricMDS), ("Sammon", SammonMapping), ("non-metric MDS", NonMetricMDS))},
            "kernel PCA": kernel_pca_errors(Y, target),
            "Isomap, 100 points": isomap_errors(Y, target),
            "Isomap, 1000 points": isomap_errors(*load_oil_flow()[:2]),
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
    return {"stress": [round(fit.stress_, 5) for fit in fits],
            "errors": [nearest_neighbour_errors(fit.embedding_, target) for fit in fits]}


def isomap_errors(Y, target):
    fits = [Isomap(2, k).fit(Y) for k in NEIGHBOURS]
    return {"n_neighbors": list(NEIGHBOURS), "pieces": [fit.n_pieces_ for fit in fits],
            "errors": [nearest_neighbour_errors(fit.embedding_, target) for fit in fits]}


if __name__ == "__main__":
    text = json.dumps(results(), indent=1)
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w") as file:
            file.write(text + "\n")
    print(text)
