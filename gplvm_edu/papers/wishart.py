"""The figures of chapter 4 on the real oil flow data."""

import numpy as np

from ..datasets import load_oil_flow
from ..kernels import RBF
from ..metrics import nearest_neighbour_errors
from ..wishart import em_progress, em_rates, kernel_covariance, maximum_likelihood, start_positions

ITERATIONS = (10, 50, 200, 1000)
N_POINTS = 200


def from_start(kind, S, Y, levels):
    """Angle and distance to the optimum after some iterations of EM, for each level of noise at the start."""
    start, report = start_positions(kind, S, 2, Y, random_state=0), {}
    for level in levels:
        angle, distance, _ = em_progress(S, start, level, ITERATIONS).T
        report[f"{kind}, {level:.3g}"] = {
            "degrees": [round(float(v), 5) for v in np.degrees(angle)],
            "distance": [round(float(v), 5) for v in distance],
        }
    return report


def results(progress=iter):
    """The right half of the paper's figure 1 in numbers: 200 points of the oil flow, kernel exp(-|y - y'|^2 / 0.2)."""
    oil = load_oil_flow()
    Y, target = oil.data[:N_POINTS], oil.target[:N_POINTS]
    S = kernel_covariance(RBF(1.0, inverse_width=2 / 0.2)(Y))
    X, s2 = maximum_likelihood(S, 2)
    lam = np.linalg.eigvalsh(S)[::-1]
    subspace, length = em_rates(lam, 2)
    report = {
        "n_samples": len(Y),
        "noise_variance": round(s2, 6),
        "eigenvalues": [round(float(v), 5) for v in lam[:4]],
        "errors of linear PCA": nearest_neighbour_errors(start_positions("raw pca", S, 2, Y), target),
        "errors of kernel PCA": nearest_neighbour_errors(X, target),
        "rate of the subspace": round(subspace, 4),
        "rate of the lengths": round(length, 4),
        "iterations": list(ITERATIONS),
        "starts": {},
    }
    for kind in progress(["raw pca", "pca", "random"]):
        report["starts"] |= from_start(kind, S, Y, (1.0, 0.01, s2))
    return report
