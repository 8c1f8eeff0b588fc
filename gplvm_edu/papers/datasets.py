"""How near the simulator comes to the real oil flow data, in figures: what Appendix B reports."""

import numpy as np
from scipy.stats import ks_2samp

from ..datasets import load_oil_flow, oil_flow_paths, simulate_oil_flow
from ..datasets.oil_flow import ATTENUATION, PHOTONS, measurement_covariance, sample_fractions
from ..datasets.pipe import GEOMETRIES, VERTICAL_BEAMS
from . import collect
from .ppca import pca_errors


def noise_log_likelihood(data, paths, attenuation=ATTENUATION, photons=PHOTONS):
    r"""Log density of measured paths around exact ones under the photon noise, summed over points and beams.

    .. math:: \sum_{n,b} \Big[ \ln |M| - \ln 2\pi
              + \tfrac12 \sum_e \big( \ln \lambda_e - \lambda_e\, \epsilon_e^2 \big) \Big],
              \qquad \epsilon = M (y - \ell)

    Parameters
    ----------
    data, paths : ndarray (n, 2 B)
        Measured and exact paths, the two liquids of a beam side by side.
    attenuation : ndarray (2, 2)
    photons : float

    Returns
    -------
    float

    Notes
    -----
    Appendix B, equation (B.16). The constants in `oil_flow` maximise it on the real data, but for rounding.

    Examples
    --------
    >>> sharp = noise_log_likelihood(np.zeros((5, 2)), np.zeros((5, 2)))
    >>> bool(sharp > noise_log_likelihood(np.full((5, 2), 0.1), np.zeros((5, 2))))
    True
    """
    M, y, l = np.asarray(attenuation), np.reshape(data, (-1, 2)), np.reshape(paths, (-1, 2))
    rate = photons * np.exp(-l @ M.T)  # (B.11)
    error = (y - l) @ M.T
    constant = np.log(abs(np.linalg.det(M))) - np.log(2.0 * np.pi)
    return float(len(y) * constant + 0.5 * np.sum(np.log(rate) - rate * error**2))  # (B.16)


def column_correlations(A, B):
    """Correlation of each column of A with the same column of B; NaN where one of them is constant.

    Examples
    --------
    >>> column_correlations(np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([[3.0, 0.0], [4.0, 1.0]]))
    array([ 1., nan])
    """
    a, b = A - A.mean(axis=0), B - B.mean(axis=0)
    scale = np.sqrt(np.sum(a**2, axis=0) * np.sum(b**2, axis=0))
    return np.divide(np.sum(a * b, axis=0), scale, out=np.full(A.shape[1], np.nan), where=scale > 1e-12)


def point_by_point(real):
    """Exact paths for the real fractions beside the real measurements: correlations, means, spreads, shared noise."""
    exact = oil_flow_paths(real.extra["fractions"], real.target)
    residual = real.data - exact
    covariance = measurement_covariance(exact.reshape(1000, 6, 2))  # (1000, 6, 2, 2)
    expected = np.sqrt(np.diagonal(covariance, axis1=2, axis2=3).mean(axis=0)).ravel()
    within = [column_correlations(exact[real.target == k], real.data[real.target == k]) for k in range(3)]
    beams = residual.reshape(1000, 6, 2)
    return {
        "correlation": rounded(column_correlations(exact, real.data)),
        "correlation_within_class": [rounded(row) for row in within],
        "residual_mean": rounded(residual.mean(axis=0)),
        "residual_spread": rounded(residual.std(axis=0)),
        "expected_spread": rounded(expected),
        "residual_correlation_of_phases": rounded([np.corrcoef(beams[:, b].T)[0, 1] for b in range(6)]),
        "whitened_spread": rounded(whitened_spread(real.data, exact)),
    }


def whitened_spread(data, paths):
    """Spread of the counting errors at the low and at the high energy, each in units of what is expected."""
    y, l = data.reshape(-1, 2), paths.reshape(-1, 2)
    error = (y - l) @ ATTENUATION.T
    return np.std(error * np.sqrt(PHOTONS * np.exp(-l @ ATTENUATION.T)), axis=0)  # (B.11)


def fitted_vertical_beams(oil):
    """Distance of each vertical beam from the axis that makes its two columns of data most likely, (B.16)."""
    members = [(oil.target == k, oil.extra["fractions"][oil.target == k]) for k in range(3)]

    def loss(offset, columns):
        paths = np.empty((len(oil.data), 2))
        for geometry, (chosen, f) in zip(GEOMETRIES, members, strict=True):
            paths[chosen] = geometry(f, [offset], [])[:, 0]
        return -noise_log_likelihood(oil.data[:, columns], paths)

    fits = []
    for beam, nominal in enumerate(VERTICAL_BEAMS):
        grid = nominal + np.linspace(-0.02, 0.02, 401)  # kinks at ring edges: a grid, no descent
        fits.append(grid[np.argmin([loss(offset, slice(2 * beam, 2 * beam + 2)) for offset in grid])])
    return fits


def fraction_tests(fractions, n_reference=100_000):
    """p-values of Kolmogorov and Smirnov's test: do water, oil and gas follow (B.14)?"""
    reference = sample_fractions(n_reference, random_state=0)
    both = [np.column_stack([f, 1.0 - f.sum(axis=1)]) for f in (fractions, reference)]
    return rounded([ks_2samp(both[0][:, k], both[1][:, k]).pvalue for k in range(3)])


def rounded(values, digits=4):
    """Plain floats for a JSON file, None for NaN.

    Examples
    --------
    >>> rounded([1 / 3, float("nan")])
    [0.3333, None]
    """
    return [None if np.isnan(value) else round(float(value), digits) for value in values]


def simulated_errors(n_simulations=20):
    """Errors of PCA on simulated sets of 1000 points with seeds 0, 1, 2, ..."""
    return [pca_errors(*simulate_oil_flow(1000, random_state=seed)[:2]) for seed in range(n_simulations)]


def results(progress=iter):
    """Compare the simulator with the real data, point by point and as a whole; derived figures only, no data.

    Returns
    -------
    dict
        Correlations (12 over all points; 3 x 12 within classes, None where the exact value is constant),
        residual spreads (real and expected), fitted positions of the vertical beams, tests of the fractions,
        nearest-neighbour errors. Needs the real data.
    """
    real, few = load_oil_flow(), load_oil_flow(subset=100)
    return point_by_point(real) | collect(
        {
            "vertical_beams": lambda: rounded(fitted_vertical_beams(real)),
            "class_sizes": lambda: np.bincount(real.target).tolist(),
            "fraction_tests": lambda: fraction_tests(real.extra["fractions"]),
            "pca_errors_real": lambda: pca_errors(real.data, real.target),
            "pca_errors_real_100": lambda: pca_errors(few.data, few.target),
            "pca_errors_simulated": simulated_errors,
        },
        progress,
    )
