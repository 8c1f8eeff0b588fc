"""What a noise model must know of one observation: ln Z, g and nu, safe in the farthest tails.

Z is the probability of an observation whose latent value f is N(mean, variance); g and nu are what is left of the
observation once the Gaussian has been matched again. Everything is elementwise over arrays.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

LOG_2PI = np.log(2 * np.pi)
ROOT_HALF = np.sqrt(0.5)
NARROW = 1e-6  # deviations between two cut points: below it the difference of two probabilities has lost its digits
LEAST = -1e300  # what is less, the logarithm of what no computer has a number for, counts as this


class Terms(NamedTuple):
    """ln Z, g = d ln Z / d mean, and nu = g^2 - 2 d ln Z / d variance, equations (8.4) and (8.5)."""

    log_partition: np.ndarray
    g: np.ndarray
    nu: np.ndarray


def gaussian_terms(y, mean, variance, noise_variance) -> Terms:
    r"""Terms of a Gaussian observation: nothing is approximated, and nu does not depend on y.

    .. math:: Z = N(y \mid \bar f, \varsigma + \sigma^2), \qquad \nu = \frac{1}{\varsigma + \sigma^2}, \qquad
              g = \nu (y - \bar f)

    Parameters
    ----------
    y, mean, variance, noise_variance : float or ndarray
        Observation, mean and variance of f before it is seen, sigma^2.

    Notes
    -----
    Chapter 8, equations (8.9) and (8.10).

    Examples
    --------
    >>> [float(term) for term in gaussian_terms(1.0, 0.0, 1.0, 1.0)]
    [-1.5155121234846454, 0.5, 0.5]
    """
    nu = 1.0 / (variance + noise_variance)  # (8.10)
    g = nu * (y - mean)  # (8.10)
    log_Z = 0.5 * (np.log(nu) - LOG_2PI - g * (y - mean))  # (8.9)
    return Terms(log_Z, g, nu + 0.0 * g)


def probit_terms(y, mean, variance) -> Terms:
    r"""Terms of a label y = +1 or -1 with p(y | f) = Phi(y f).

    .. math:: Z = \Phi(u), \quad u = \frac{y \bar f}{\sqrt{1 + \varsigma}}, \qquad
              g = \frac{y \rho}{\sqrt{1 + \varsigma}}, \quad \nu = \frac{\rho (u + \rho)}{1 + \varsigma}, \qquad
              \rho = \frac{\phi(u)}{\Phi(u)}

    Notes
    -----
    Chapter 8, equations (8.11) to (8.13). `inverse_mills` keeps rho and u + rho exact where Phi(u) underflows.

    Examples
    --------
    >>> [round(float(term), 4) for term in probit_terms(1.0, 0.0, 1.0)]        # a coin: it says which side
    [-0.6931, 0.5642, 0.3183]
    >>> [round(float(term), 4) for term in probit_terms(-1.0, 40.0, 0.0)]      # a great surprise, no overflow
    [-804.6084, -40.025, 0.9994]
    """
    root = np.sqrt(1.0 + variance)
    u = y * mean / root  # (8.11)
    rho, excess = inverse_mills(u)
    g = y * rho / root  # (8.12)
    nu = rho * excess / root**2  # (8.13)
    return Terms(log_ndtr(u), g, nu)


def ordinal_terms(lower, upper, mean, variance, scale=1.0) -> Terms:
    r"""Terms of an ordered category: f, blurred by noise of deviation s, fell between two cut points.

    .. math:: Z = \Phi(h) - \Phi(l), \quad h = \frac{t_{c+1} - \bar f}{\sqrt v}, \quad
              l = \frac{t_c - \bar f}{\sqrt v}, \quad v = s^2 + \varsigma

    .. math:: g = \frac{\phi(l) - \phi(h)}{\sqrt v Z}, \qquad
              \nu = g^2 + \frac{h \phi(h) - l \phi(l)}{v Z}

    Parameters
    ----------
    lower, upper : float or ndarray
        The cut points below and above the observed category; -inf and inf at the ends.
    mean, variance : float or ndarray
    scale : float
        s, the deviation of the blur.

    Notes
    -----
    Chapter 8, equations (8.15) to (8.17). The interval is mirrored into the lower tail, where a density divided
    by a scaled error function neither underflows nor cancels. An interval that is narrow beside the deviation has its
    limit, a density times its width, and one far in the tail that of its nearer edge alone.

    Examples
    --------
    >>> [round(float(term), 4) for term in ordinal_terms(-np.inf, 0.0, 0.0, 1.0)]    # two levels: a probit
    [-0.6931, -0.5642, 0.3183]
    >>> [round(float(term), 3) for term in ordinal_terms(40.0, 41.0, 0.0, 0.0)]
    [-804.608, 40.025, 0.999]
    """
    v = scale**2 + variance
    root = np.sqrt(v)
    h, l, sign = lower_tail((upper - mean) / root, (lower - mean) / root)  # (8.15)
    a, b, log_Z = edge_densities(h, l)  # phi(h) / Z and phi(l) / Z
    alone = np.isinf(l)  # one edge: the probit's exact form
    rho, excess = inverse_mills(h)
    with np.errstate(over="ignore", invalid="ignore"):  # densities too large to be squared are replaced below
        bent = np.where(alone, rho * excess, (a - b) ** 2 + h * a - np.where(alone, 0.0, l) * b)
        rise, width = b - a, (upper - lower) / root
    if ((h < -50.0) | (width < NARROW)).any():
        bent = np.where((h < -50.0) & (b == 0.0), rho * excess, bent)  # the far edge is out of sight
        log_Z, rise, bent = narrow_terms(h, np.maximum(width, 1e-200), log_Z, rise, bent)
    return Terms(log_Z, sign * rise / root, np.clip(bent, 0.0, 1.0) / v)  # (8.16), (8.17)


def narrow_terms(h, width, log_Z, rise, bent):
    """ln Z, (phi(l) - phi(h)) / Z and nu v, with their limits where the interval is narrow; `width` is h - l.

    The width comes from the cut points: far from the mean the difference of h and l has no digits left.

    Examples
    --------
    >>> [round(float(term), 4) for term in narrow_terms(-2.0, 1e-9, np.nan, np.nan, np.nan)]     # ln phi(2) + ln 1e-9
    [-23.6422, -2.0, 1.0]
    """
    narrow = is_narrow(h, width)
    area = narrow_area(np.where(narrow, h, 0.0), np.where(narrow, width, 1.0))[0]
    with np.errstate(over="ignore"):
        limit = np.log(area) - 0.5 * (h**2 + LOG_2PI)
    log_Z = np.maximum(np.where(narrow, limit, log_Z), LEAST)
    return log_Z, np.where(narrow, h - 0.5 * width, rise), np.where(narrow, 1.0, bent)


def inverse_mills(u):
    r"""rho = phi(u) / Phi(u) and u + rho, without underflow or cancellation.

    .. math:: \rho(u) = \sqrt{2/\pi} \,/\, \mathrm{erfcx}(-u/\sqrt2), \qquad
              u + \rho \approx \frac1x - \frac2{x^3} + \frac{10}{x^5} - \frac{74}{x^7} + \frac{706}{x^9},
              \quad x = -u \to \infty

    Notes
    -----
    The scaled error function erfcx(z) = exp(z^2) erfc(z) carries no exponential to underflow; above u = 37 it
    overflows, and rho is 0 to the last digit. Chapter 8, equation (8.14).

    Examples
    --------
    >>> [float(part.round(6)) for part in inverse_mills(np.array(-1e6))]
    [1000000.000001, 1e-06]
    """
    u = np.asarray(u, dtype=float)
    with np.errstate(over="ignore"):
        rho = np.sqrt(2 / np.pi) / erfcx(-ROOT_HALF * u)  # (8.14)
    r = 1.0 / np.where(u < -50.0, -u, 50.0)
    series = r * (1 - r**2 * (2 - r**2 * (10 - r**2 * (74 - r**2 * 706))))  # (8.14)
    return rho, np.where(u < -50.0, series, u + rho)


def lower_tail(h, l):
    """The interval (l, h), mirrored where it lies more above 0 than below, and what undoes it; equation (8.15).

    Examples
    --------
    >>> [float(part) for part in lower_tail(3.0, 1.0)]
    [-1.0, -3.0, -1.0]
    """
    with np.errstate(invalid="ignore"):
        above = h + l > 0
    return np.where(above, -l, h), np.where(above, -h, l), np.where(above, -1.0, 1.0)


def edge_densities(h, l):
    """phi(h) / Z, phi(l) / Z and ln Z for Z = Phi(h) - Phi(l), with l <= -|h|; equations (8.15) and (8.16).

    Examples
    --------
    >>> [round(float(part), 4) for part in edge_densities(0.0, -np.inf)]
    [0.7979, 0.0, -0.6931]
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        drop = np.where(np.isinf(l), 0.0, np.exp(-0.5 * (h - l) * (-h - l)))  # phi(l) / phi(h)
        area = erfcx(-ROOT_HALF * h) - erfcx(-ROOT_HALF * l) * drop  # 2 Z exp(h^2 / 2)
        a = np.sqrt(2 / np.pi) / area
        log_Z = np.where(h < 0, np.log(0.5 * area) - 0.5 * h**2, np.log1p(-ndtr(-h) - ndtr(l)))
    return a, a * drop, log_Z


def is_narrow(h, width):
    """Whether an interval is narrow beside the deviation, or beside its distance from the mean: h - l is lost then.

    Examples
    --------
    >>> is_narrow(np.array([-1.0, -1.0, -1e20]), np.array([1.0, 1e-7, 1.0])).tolist()
    [False, True, True]
    """
    return width < np.maximum(NARROW, -1e-12 * h)


def narrow_area(h, width):
    r"""Z / phi(h) and phi(l) / phi(h) of an interval so narrow that its logarithmic density is a straight line.

    .. math:: \frac{Z}{\phi(h)} = w\, \frac{1 - e^{-d}}{d}, \qquad \frac{\phi(l)}{\phi(h)} = e^{-d}, \qquad
              d = w \Big( \frac w2 - h \Big), \qquad w = h - l

    Examples
    --------
    >>> [float(part) for part in narrow_area(0.0, 1e-9)]
    [1e-09, 1.0]
    """
    decay = width * (0.5 * width - h)
    safe = np.where(decay == 0.0, 1.0, decay)
    return width * np.where(decay == 0.0, 1.0, -np.expm1(-safe) / safe), np.exp(-decay)


def edge_ratios(h, l):
    """phi(h) / Z and phi(l) / Z for Z = Phi(h) - Phi(l), wherever the interval (l, h) lies; equation (8.16).

    An interval counts as no narrower than the rounding of its edges.

    Examples
    --------
    >>> [part.round(4).tolist() for part in edge_ratios(np.array([0.0, 41.0]), np.array([-np.inf, 40.0]))]
    [[0.7979, 0.0], [0.0, 40.025]]
    """
    h, l, sign = lower_tail(h, l)
    a, b, _ = edge_densities(h, l)
    narrow = is_narrow(h, h - l)
    if narrow.any():
        width = np.maximum(h - l, np.maximum(1e-16 * np.abs(h), 1e-200))
        area, drop = narrow_area(np.where(narrow, h, 0.0), np.where(narrow, width, 1.0))
        a, b = np.where(narrow, 1.0 / area, a), np.where(narrow, drop / area, b)
    return np.where(sign > 0, a, b), np.where(sign > 0, b, a)
