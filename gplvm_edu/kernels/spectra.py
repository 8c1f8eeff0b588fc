"""Stationary kernels as sums of waves: spectra, and functions made of random waves (chapter 2)."""

import numpy as np
from scipy import special

from .. import checks
from .stationary import RBF, Matern32, Periodic


def spectral_density(kernel, frequencies) -> np.ndarray:
    r"""How the variance of a function on the line is spread over the frequencies of its waves.

    .. math:: k(x - z) = \int_{-\infty}^{\infty} \hat k(\omega) \cos \omega (x - z)\, d\omega

    Parameters
    ----------
    kernel : RBF or Matern32
        With one inverse width.
    frequencies : array-like (M,)
        omega, in radians per unit of length; a density is even, so that positive ones suffice.

    Returns
    -------
    ndarray (M,)

    Notes
    -----
    Chapter 2, equations (2.15), (2.18) and (2.19). A periodic kernel has lines in place of a density:
    `spectral_lines`.

    Examples
    --------
    >>> spectral_density(RBF(), [0.0, 1.0]).round(4)                  # a standard normal density
    array([0.3989, 0.242 ])
    """
    omega = np.asarray(frequencies, float)
    theta, gamma = _variance_and_width(kernel, (RBF, Matern32), "spectral_lines has those of Periodic")
    if isinstance(kernel, RBF):
        return theta * np.exp(-0.5 * omega**2 / gamma) / np.sqrt(2 * np.pi * gamma)  # (2.18)
    a = np.sqrt(3 * gamma)
    return 2 * theta * a**3 / (np.pi * (a**2 + omega**2) ** 2)  # (2.19)


def spectral_lines(kernel, n_lines=20) -> tuple[np.ndarray, np.ndarray]:
    r"""Frequencies and variances of the waves that a function with the periodic kernel is made of, on the line.

    .. math:: k(x - z) = \sum_{j \ge 0} a_j \cos j \omega_p (x - z), \qquad
              a_0 = \theta e^{-\gamma} I_0(\gamma), \quad a_j = 2 \theta e^{-\gamma} I_j(\gamma)

    Parameters
    ----------
    kernel : Periodic
    n_lines : int
        From 1: the constant counts.

    Returns
    -------
    frequencies, variances : ndarray (n_lines,)

    Notes
    -----
    I_j is the modified Bessel function: exp(gamma cos t) is its Fourier series. Chapter 2, equation (2.20).

    Examples
    --------
    >>> frequencies, variances = spectral_lines(Periodic(period=2.0), 8)
    >>> frequencies[:3].round(4), round(float(variances.sum()), 4)   # together they are the variance
    (array([0.    , 3.1416, 6.2832]), 1.0)
    """
    theta, gamma = _variance_and_width(kernel, (Periodic,), "spectral_density has those of RBF and Matern32")
    j = np.arange(checks.whole_number("n_lines", n_lines))
    return 2 * np.pi / kernel.period * j, theta * np.where(j == 0, 1, 2) * special.ive(j, gamma)  # (2.20)


def random_waves(kernel, X, n_waves, random_state=None) -> np.ndarray:
    r"""Basis functions F (N, 2 J) with FF' = K on average: cosines and sines of J random frequencies.

    .. math:: \frac\theta J \sum_{j=1}^{J} \cos \omega_j^\top (x - z) \ \to\ k(x, z), \qquad
              \omega_j \sim \hat k / \theta

    Parameters
    ----------
    kernel : RBF or Matern32
    X : ndarray (N, q)
    n_waves : int
        J.
    random_state : None, int, RandomState or Generator

    Notes
    -----
    Costs O(N q J). The frequencies of the RBF are Gaussian with variance gamma; those of Matern32 follow Student's t
    with 3 degrees of freedom. The error of an entry falls as 1 / sqrt(J). Chapter 2, equation (2.21).

    Examples
    --------
    >>> F = random_waves(RBF(), np.array([[0.0], [1.0]]), 10_000, random_state=0)
    >>> (F @ F.T).round(1)                                          # the RBF matrix has 0.6065
    array([[1. , 0.6],
           [0.6, 1. ]])
    """
    theta, gamma = _variance_and_width(kernel, (RBF, Matern32), "a sum of lines needs no random frequencies", one=False)
    X, rng, J = np.asarray(X, float), checks.generator(random_state), checks.whole_number("n_waves", n_waves)
    omega = np.sqrt(gamma) * rng.standard_normal((J, X.shape[1]))
    if isinstance(kernel, Matern32):
        omega /= np.sqrt(rng.chisquare(3, size=(J, 1)) / 3)
    waves = X @ omega.T  # (N, J)
    return np.sqrt(theta / J) * np.hstack([np.cos(waves), np.sin(waves)])  # (2.21)


def _variance_and_width(kernel, kinds, other, one=True):
    """theta and gamma of a kernel whose spectrum is written here."""
    if not isinstance(kernel, kinds):
        names = " and ".join(kind.__name__ for kind in kinds)
        raise ValueError(f"the spectrum of {names} is written here, not that of {kernel!r}; {other}.")
    if one and np.size(kernel.inverse_width) > 1:
        raise ValueError(f"a spectrum on the line has one frequency and needs one inverse width, got {kernel!r}.")
    return kernel.variance, np.squeeze(kernel.inverse_width) if one else kernel.inverse_width
