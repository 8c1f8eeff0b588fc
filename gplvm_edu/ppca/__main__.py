"""Recompute the figures of chapter 1 on the real oil flow data: ``python -m gplvm_edu.ppca FILE.json``."""
import json
import sys

from ..datasets import load_oil_flow
from ..metrics import nearest_neighbour_errors
from . import PPCA, DualPPCA


def results():
    """Errors, noise and likelihood of PPCA and its dual on both sets of the paper's tables 2 and 3."""
    report = {}
    for name, subset in (("oil, 100 points", 100), ("oil, 1000 points", None)):
        oil = load_oil_flow(subset)
        primal, dual = PPCA(2).fit(oil.data), DualPPCA(2).fit(oil.data)
        report[name] = {
            "n_samples": len(oil.data),
            "errors": nearest_neighbour_errors((oil.data - primal.mean_) @ _axes(primal), oil.target),
            "noise_variance": round(primal.noise_variance_, 6),
            "dual_noise_variance": round(dual.noise_variance_, 6),
            "log_likelihood": round(primal.log_likelihood_, 2),
            "dual_log_likelihood": round(dual.log_likelihood_, 2),
        }
    return report


def _axes(model):
    """Unit principal axes: the paper's PCA errors are counted with scores, not with posterior means."""
    return model.weights_ / (model.weights_**2).sum(axis=0) ** 0.5


if __name__ == "__main__":
    text = json.dumps(results(), indent=1)
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w") as file:
            file.write(text + "\n")
    print(text)
