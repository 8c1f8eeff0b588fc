"""The three-phase oil flow of Bishop and James (1993), simulated: random pipes, measured by counting photons.

A pipe carries water, oil and gas. Six narrow gamma beams cross it, and each reports how far it went through
the first liquid and through the second: twelve numbers. `pipe` has the geometry; Appendix B derives it all.
"""

import numpy as np

from .. import checks
from .dataset import Dataset
from .pipe import BEAM_NAMES, CONFIGURATIONS, PHASES, oil_flow_paths

ATTENUATION = np.array(
    [
        [1.200, 0.995],  # per pipe radius; rows: low and high energy, columns: phases
        [0.346, 0.315],
    ]
)
PHOTONS = 580_000  # counted by each detector at each energy when the pipe is empty


def count_photons(paths, random_state=None) -> np.ndarray:
    r"""Photons that arrive at each energy after a beam has crossed the liquids, by the law of Beer and Lambert, (B.11).

    .. math:: n_e \sim \mathrm{Poisson}(\lambda_e), \qquad
              \lambda_e = N_0 \exp(-\textstyle\sum_k \mu_{ek} \ell_k)

    Parameters
    ----------
    paths : ndarray (..., 2)
        Path through each liquid.
    random_state : None, int or numpy Generator

    Returns
    -------
    ndarray of int (..., 2)
        Counts at the low and at the high energy.

    Examples
    --------
    >>> count_photons(np.zeros((1, 2)), random_state=0).shape
    (1, 2)
    """
    expected = PHOTONS * np.exp(-np.asarray(paths) @ ATTENUATION.T)  # (B.11)
    return checks.generator(random_state).poisson(expected)


def paths_from_counts(counts) -> np.ndarray:
    r"""Solve the two attenuation equations of a beam, with coefficients M (2, 2), for its two paths; equation (B.12).

    .. math:: y = M^{-1} \ln (N_0 / n)

    Examples
    --------
    >>> expected = PHOTONS * np.exp(-ATTENUATION @ [0.3, 0.7])
    >>> paths_from_counts(expected).round(12)
    array([0.3, 0.7])
    """
    return np.log(PHOTONS / np.asarray(counts)) @ np.linalg.inv(ATTENUATION).T  # (B.12)


def measurement_covariance(paths) -> np.ndarray:
    r"""Covariance (..., 2, 2) of a beam's two measured paths, to first order in the counting error; equation (B.13).

    .. math:: \mathrm{cov}(y) = M^{-1}\, \mathrm{diag}(1 / \lambda_1,\ 1 / \lambda_2)\, M^{-\top}

    Parameters
    ----------
    paths : ndarray (..., 2)

    Examples
    --------
    >>> C = measurement_covariance(np.array([0.5, 0.5]))
    >>> bool(C[0, 1] / np.sqrt(C[0, 0] * C[1, 1]) < -0.999)     # what one liquid gains, the other loses
    True
    """
    expected = PHOTONS * np.exp(-np.asarray(paths) @ ATTENUATION.T)  # (B.11)
    inverse = np.linalg.inv(ATTENUATION)
    return (inverse / expected[..., None, :]) @ inverse.T  # (B.13)


def sample_fractions(n_samples, random_state=None) -> np.ndarray:
    r"""Volume fractions of the two liquids (the rest is gas): three uniform numbers over their sum, equation (B.14).

    .. math:: f_k = u_k / (u_1 + u_2 + u_3)

    Examples
    --------
    >>> f = sample_fractions(1000, random_state=0)
    >>> f.shape, bool(f.min() > 0), bool(f.sum(axis=1).max() < 1)
    ((1000, 2), True, True)
    """
    u = checks.generator(random_state).uniform(size=(checks.whole_number("n_samples", n_samples), 3))
    return u[:, :2] / u.sum(axis=1, keepdims=True)  # (B.14)


def simulate_oil_flow(n_samples=1000, random_state=None, noise=True) -> Dataset:
    """Simulated three-phase oil flow: twelve measurements of a pipe in one of three configurations.

    Parameters
    ----------
    n_samples : int
    random_state : None, int or numpy Generator
    noise : bool
        Photon-counting noise. Without it the same seed gives the same pipes, measured exactly.

    Returns
    -------
    Dataset
        data (n, 12); target (n,): 0 homogeneous, 1 annular, 2 stratified, equally likely; extra with
        "fractions" (n, 2), "phases" (their names) and "beams" (the beam and the phase of every column).

    Notes
    -----
    Costs O(n). Appendix B; beams, absorption and fractions are those that Bishop and James's own data show.

    Examples
    --------
    >>> oil = simulate_oil_flow(500, random_state=0)
    >>> oil.data.shape, oil.target_names
    ((500, 12), ('homogeneous', 'annular', 'stratified'))
    >>> exact = simulate_oil_flow(500, random_state=0, noise=False)
    >>> np.array_equal(exact.data, oil_flow_paths(oil.extra["fractions"], oil.target))
    True
    """
    n, rng = checks.whole_number("n_samples", n_samples), checks.generator(random_state)
    checks.choice("noise", noise, (True, False))
    target = rng.integers(len(CONFIGURATIONS), size=n)
    fractions = sample_fractions(n, rng)
    data = oil_flow_paths(fractions, target)
    if noise:
        data = paths_from_counts(count_photons(data.reshape(n, -1, 2), rng)).reshape(n, -1)
    extra = {"fractions": fractions, "phases": PHASES, "beams": BEAM_NAMES}
    return Dataset(data, target, CONFIGURATIONS, extra)
