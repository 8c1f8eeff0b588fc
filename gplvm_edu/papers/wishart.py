"""The figures of chapter 4 on the real oil flow data, and its comparison of latent kernels over many draws."""

from typing import NamedTuple

import numpy as np

from ..datasets import load_iris, load_oil_flow, simulate_oil_flow
from ..kernels import RBF, Matern32, White
from ..linalg import double_centre
from ..metrics import nearest_neighbour_errors
from ..wishart import (
    em_progress,
    em_rates,
    kernel_covariance,
    latent_iterates,
    maximum_likelihood,
    sample_wishart,
    start_positions,
)

ITERATIONS = (10, 50, 200, 1000)
N_POINTS = 200
N_DRAWS, N_DRAWN, N_STEPS = 10, 40, 500
FAMILIES = {"RBF": RBF, "Matern": Matern32}
CURVATURES = {"RBF": 1.0, "Matern": 3.0}  # k(d) = variance (1 - curvature d^2 / 2 + ...), inverse width 1


def draw_kernel_matrix(kind, n_features, seed):
    """A ~ W(r, K / r) of 40 points in a plane whose latent covariance K is linear or bent, with noise 0.05."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N_DRAWN, 2))
    K = (X @ X.T if kind == "linear" else FAMILIES[kind](1.0, 1.0)(X)) + 0.05 * np.eye(N_DRAWN)
    return sample_wishart(K / n_features, n_features, random_state=rng)[0]


def data_kernel_matrix(name, seed):
    """A with the paper's kernel, of 60 rows of iris drawn at random or of 60 simulated flows."""
    if name == "iris":
        rows = np.random.default_rng(seed).choice(150, 60, replace=False)
        return RBF(1.0, inverse_width=2 / 2.0)(load_iris().data[rows])
    return RBF(1.0, inverse_width=2 / 0.2)(simulate_oil_flow(60, random_state=seed).data)


def linear_values(A):
    """Greatest log likelihood for each feature with a linear latent kernel, for q = 1, 2, ...: exercise 4's noise."""
    lam = np.maximum(np.linalg.eigvalsh(double_centre(A))[:0:-1], 1e-12)  # N - 1, without the zero of centring
    q = np.arange(1, len(lam) - 1)
    noise = (lam.sum() - np.cumsum(lam)[q - 1]) / (len(lam) - q)
    return -0.5 * (np.cumsum(np.log(lam))[q - 1] + (len(lam) - q) * np.log(noise) + len(lam))  # (4.22)


class Climb(NamedTuple):
    """Where a climb ended: its log likelihood for each feature, positions (N, 2), variance of the kernel, noise."""

    value: float
    X: np.ndarray
    variance: float
    noise: float


def climb(A, family, start, variance, noise, n_steps=N_STEPS) -> Climb:
    """Climb (4.28) with a bent latent kernel of width 1 from one start."""
    kernel = FAMILIES[family](variance, 1.0, fixed="inverse_width") + White(noise)
    *_, end = latent_iterates(A, start, kernel, n_steps)
    return Climb(end.value, end.X, kernel[0].variance, kernel[1].variance)


def best_climb(A, family, n_steps=N_STEPS) -> Climb:
    """The best of eleven climbs of a plane with a bent latent kernel.

    Three starts are sizes of kernel PCA, six are shaken copies of it. Two lie near the limit in which the kernel is
    flat: the linear solution made small, with a variance as large as makes up for it, since
    variance (1 - curvature d^2 / 2) is linear on contrasts.
    """
    X, _ = maximum_likelihood(kernel_covariance(A), 2)
    X, size, rng = X / X.std(axis=0), np.trace(A) / len(A), np.random.default_rng(0)
    starts = [(scale * X, size, 0.05 * size) for scale in (1.0, 0.3, 0.05)]
    starts += [(1.5 * X + 0.5 * rng.standard_normal(X.shape), size, 0.05 * size) for _ in range(6)]
    lam, U = np.linalg.eigh(double_centre(A))
    noise = np.sum(lam[1:-2]) / (len(A) - 3)
    flat = U[:, -2:] * np.sqrt(lam[-2:] - noise)
    starts += [(small * flat, 1 / (CURVATURES[family] * small**2), noise) for small in (0.01, 0.001)]
    return max((climb(A, family, *start, n_steps) for start in starts), key=lambda end: end.value)


def bent_values(A, n_steps=N_STEPS) -> dict[str, float]:
    """The best log likelihood for each feature of a plane with each bent latent kernel.

    After its own climbs each kernel also starts where the other one ended, at three sizes: so neither loses because
    the other found a better valley.
    """
    ends = {family: best_climb(A, family, n_steps) for family in FAMILIES}
    values = {}
    for family, other in (("RBF", "Matern"), ("Matern", "RBF")):
        end = ends[other]
        more = [climb(A, family, scale * end.X, end.variance, end.noise, n_steps) for scale in (1.0, 1.3, 0.77)]
        values[family] = max(ends[family].value, *(m.value for m in more))
    return values


def compare(A):
    """Log likelihood for each feature of three latent planes on one A, above the linear; how many linear axes match."""
    flat = linear_values(A)
    bent = bent_values(A)
    report = {family: round(float(value - flat[1]), 4) for family, value in bent.items()}
    return report | {"linear axes": int(np.searchsorted(flat, bent["RBF"])) + 1}


def twin_maps(progress=iter):
    """Iris with the same RBF kernel on both sides, from five starts: where L-BFGS ends, and its kernel's parameters."""
    Y = load_iris().data
    A = RBF(1.0, inverse_width=1.0)(Y)
    X, _ = maximum_likelihood(kernel_covariance(A), 2)
    starts = {"kernel PCA": X / X.std(axis=0), "linear PCA": start_positions("raw pca", A, 2, Y)}
    starts |= {f"random {seed}": np.random.default_rng(seed).standard_normal(X.shape) for seed in range(3)}
    report = {}
    for name in progress(list(starts)):
        kernel = RBF(1.0, 1.0, fixed="inverse_width") + White(0.05)
        *_, end = latent_iterates(A, starts[name], kernel, max_iter=3000)
        report[name] = {
            "log_likelihood": round(end.value, 2),
            "theta": [round(float(v), 5) for v in kernel.theta],
            "X": [[round(float(v), 5) for v in row] for row in end.X],
        }
    return report


def latent_kernels(progress=iter):
    """`compare` on ten draws each of three known latent kernels with few and many features, of iris, of oil flow."""
    sets = {
        f"{kind}, {r} features": [draw_kernel_matrix(kind, r, seed) for seed in range(N_DRAWS)]
        for kind in ("linear", "RBF", "Matern")
        for r in (10, 200)
    }
    sets |= {name: [data_kernel_matrix(name, seed) for seed in range(N_DRAWS)] for name in ("iris", "oil flow")}
    fresh = range(N_DRAWS, 2 * N_DRAWS)  # drawn after the others had been seen
    sets["oil flow, fresh"] = [data_kernel_matrix("oil flow", seed) for seed in fresh]
    report = {}
    for name in progress(list(sets)):
        rows = [compare(A) for A in sets[name]]
        report[name] = {key: [row[key] for row in rows] for key in rows[0]}
    return report


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
    """The right half of the paper's figure 1 in numbers (200 points, exp(-|y - y'|^2 / 0.2)), and `latent_kernels`."""
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
    for kind in ("raw pca", "pca", "random"):
        report["starts"] |= from_start(kind, S, Y, (1.0, 0.01, s2))
    return report | {"twin": twin_maps(), "latent kernels": latent_kernels(progress)}
