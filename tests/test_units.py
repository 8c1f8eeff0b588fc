"""The units of the data decide nothing: every estimator, fitted to the same data in other units, says the same.

Other units are: all numbers times 10^k, columns shifted by up to 10^9 deviations, rows in another order, columns in
another order, columns rotated where the model treats all directions alike, and columns in units of their own for the
model that has a noise for each. What is compared is the embedding, after the best rotation, reflection and scale, and
the objective in nats a row, after the Jacobian.

    python tests/test_units.py            prints the table: units x estimator

Iterative fits are stopped after some twenty steps. A climb that is not at its end multiplies the rounding of its first
steps by the curvature it meets, and what is tested here is the units, not the weather.
"""

import sys
import warnings
from functools import cache

import numpy as np
import pytest
from models import CLASSES, QUICK

from gplvm_edu.base import IterativeFit
from gplvm_edu.metrics import procrustes_distance

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:With n_neighbors"),
    pytest.mark.filterwarnings("error::gplvm_edu.base.ObjectiveFellWarning"),
]
N, D = 40, 5
EXACT, CLIMB = 1e-6, 1e-3  # closed forms and EM; climbs of an optimiser, in nats a row
STEPS = {
    "GPLVM": dict(max_iter=20),
    "BayesianGPLVM": dict(n_components=2, n_inducing=10, max_iter=20),
    "SparseGPLVM": dict(n_active=15, max_iter=2),
    "TSNEPriorGPLVM": dict(max_iter=10, init="pca", learn_kernel=True),
    "ProbabilisticKernelPCA": dict(method="ml"),  # EM starts from random positions, row after row
}
CLIMBS = ("GPLVM", "BayesianGPLVM", "SparseGPLVM", "TSNEPriorGPLVM", "GenerativeClassifier", "TSNE", "QuadraticPCA")
OWN_COLUMNS = ("FactorAnalysis", "DiscreteGTM")  # a noise for each column: rotated data are other data
NO_DENSITY = ("Isomap", "MetricMDS", "SammonMapping", "NonMetricMDS", "ClassicalMDS", "KernelPCA", "BatchSOM")
IN_NATS = ("TSNE", "ProbabilisticKernelPCA")  # an objective that does not know the units of the data
GAPS = [name for name in CLASSES if getattr(CLASSES[name], "allows_missing", name == "GenerativeClassifier")]


@cache
def table(gaps=False):
    """A bent sheet in five columns, in multiples of 2^-20, so that an offset of 2^30 changes no digit."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.5, 1.5, (N, 2))
    W, V = rng.standard_normal((2, D)), 0.4 * rng.standard_normal((2, D))
    Y = X @ W + X**2 @ V + 0.1 * rng.standard_normal((N, D))
    Y = np.round(Y * 2**20) / 2**20
    if gaps:
        Y[rng.random(Y.shape) < 0.06] = np.nan
    return Y


class Change:
    """Other units for a table: the data, the rows they come from, and ln |dY'/dY| of an entry of each column."""

    def __init__(self, Y, rows=None, log_scale=0.0):
        self.Y, self.rows, self.log_scale = Y, np.arange(len(Y)) if rows is None else rows, log_scale

    def jacobian(self, Y):
        """ln |dY'/dY| of all observed entries."""
        return float(np.sum(~np.isnan(Y) * np.broadcast_to(self.log_scale, Y.shape[1])))


def changes(Y):
    """{name: Change} of all units that every model is to bear."""
    rng = np.random.default_rng(5)
    rows, columns = rng.permutation(len(Y)), rng.permutation(Y.shape[1])
    signs = np.array([1.0, -0.5, 0.25, -1.0, 0.125])
    found = {f"times 1e{k:+d}": Change(10.0**k * Y, log_scale=k * np.log(10.0)) for k in range(-8, 9)}
    found |= {f"plus 2^{k}": Change(Y + 2.0**k * signs) for k in (10, 20, 30)}
    return found | {"rows": Change(Y[rows], rows), "columns": Change(Y[:, columns])}


def rotated(Y):
    return Change(Y @ np.linalg.qr(np.random.default_rng(6).standard_normal((D, D)))[0])


def own_columns(Y):
    scales = 10.0 ** np.array([5.0, -3.0, 0.0, 2.0, -6.0])
    return Change(Y * scales + 100.0 * scales, log_scale=np.log(scales))


def labels(rows):
    return np.asarray(rows) % 2


@cache
def small_settings(name):
    known = CLASSES[name]().get_params()
    seed = {"random_state": 0} if "random_state" in known else {}
    return QUICK.get(name, {}) | STEPS.get(name, {}) | seed


def fitted(name, change):
    model = CLASSES[name](**small_settings(name))
    return model.fit(change.Y, labels(change.rows))


def positions(name, model, change):
    """What the model says of every row, in the order of the rows before the change."""
    if name == "GenerativeClassifier":
        told = model.predict_log_proba(change.Y)
    else:
        told = model.embedding_
    return told[np.argsort(change.rows)]


def nats(name, model, change):
    """The objective a row, in the units of the data before the change."""
    if name in NO_DENSITY or name == "GenerativeClassifier":
        return 0.0
    if name == "MinorComponents":
        value = model.score(change.Y) * len(change.Y)
    else:
        value = model.history_[-1] if isinstance(model, IterativeFit) else model.log_likelihood_
    shift = 0.0 if name in IN_NATS else change.jacobian(change.Y)
    return (value + shift) / len(change.Y)


def differences(name, change, Y):
    """(distance of the embeddings, nats a row) between a fit to Y and one to the changed data."""
    before = Change(Y)
    first, second = fitted(name, before), fitted(name, change)
    A, B = positions(name, first, before), positions(name, second, change)
    apart = np.abs(A - B).max() if name == "GenerativeClassifier" else procrustes_distance(A, B)
    return float(apart), abs(nats(name, first, before) - nats(name, second, change))


def cases():
    for name in CLASSES:
        for gaps in (False, True) if name in GAPS else (False,):
            for unit, change in all_changes(name, table(gaps)).items():
                yield pytest.param(name, gaps, unit, id=f"{name}{' with gaps' if gaps else ''}, {unit}"), change


def all_changes(name, Y):
    found = changes(Y)
    if name not in OWN_COLUMNS and not np.isnan(Y).any():
        found["rotated"] = rotated(Y)
    if name == "FactorAnalysis":
        found["own columns"] = own_columns(Y)
    return found


@pytest.mark.identity
@pytest.mark.parametrize("name, gaps, unit", [case for case, _ in cases()])
def test_units_decide_nothing(name, gaps, unit):
    Y = table(gaps)
    apart, off = differences(name, all_changes(name, Y)[unit], Y)
    limit = CLIMB if name in CLIMBS else EXACT
    assert apart < limit and off < limit, f"embedding {apart:.1e}, objective {off:.1e} nats a row"


def report():
    """The table units x estimator: embedding / nats a row, the worst of each group of units."""
    groups = ("times", "plus 2^10", "plus 2^20", "plus 2^30", "rows", "columns", "rotated", "own columns")
    print("| estimator | " + " | ".join(("times 1e-8 to 1e8", *groups[1:])) + " |\n|" + "---|" * (len(groups) + 1))
    for name in CLASSES:
        for gaps in (False, True) if name in GAPS else (False,):
            Y, worst = table(gaps), {}
            for unit, change in all_changes(name, Y).items():
                group = next(g for g in groups if unit.startswith(g))
                try:
                    told = differences(name, change, Y)
                except Exception as error:  # the report of a broken code goes on
                    told = (np.inf, np.inf)
                    print(f"{name}, {unit}: {type(error).__name__}: {error}", file=sys.stderr)
                worst[group] = tuple(map(max, zip(worst.get(group, (0.0, 0.0)), told, strict=True)))
            cells = [f"{worst[g][0]:.0e} / {worst[g][1]:.0e}" if g in worst else "-" for g in groups]
            print(f"| {name}{', gaps' if gaps else ''} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    report()
