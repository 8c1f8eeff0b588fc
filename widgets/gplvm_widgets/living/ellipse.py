"""Ellipses of living figures: what `ellipse.js` computes in the page, for the opening and for the tests."""

import numpy as np


def directions(angle) -> np.ndarray:
    """Two unit vectors as columns (2, 2), the second a quarter turn further than the first."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


def covariance_of(angle, variances) -> np.ndarray:
    """The covariance (2, 2) with these variances along `directions`.

    Examples
    --------
    >>> covariance_of(np.pi / 2, (3.0, 1.0)).round(12)
    array([[1., 0.],
           [0., 3.]])
    """
    U = directions(angle)
    return U * np.asarray(variances, float) @ U.T


def outline(angle, radii, n_steps=72) -> tuple[np.ndarray, np.ndarray]:
    """x and y of an ellipse around the origin, each (n_steps + 1,), beginning at the end of its first axis.

    Examples
    --------
    >>> x, y = outline(0.0, (2.0, 1.0), n_steps=4)
    >>> x.round(12) + 0.0, y.round(12) + 0.0
    (array([ 2.,  0., -2.,  0.,  2.]), array([ 0.,  1.,  0., -1.,  0.]))
    """
    turn = np.linspace(0, 2 * np.pi, n_steps + 1)
    x, y = directions(angle) @ (np.asarray(radii, float)[:, None] * np.array([np.cos(turn), np.sin(turn)]))
    return x, y


def lines_between(start, end) -> tuple[np.ndarray, np.ndarray]:
    """x and y of one line from each place (n, 2) to another, with gaps between them, for `Lines`."""
    gap = np.full_like(start, np.nan)
    x, y = np.stack([start, end, gap], axis=1).reshape(-1, 2).T
    return x, y


def fixed(value, digits=2) -> str:
    r"""A number with so many digits after the point, and a proper minus.

    Examples
    --------
    >>> fixed(1.234), fixed(-0.0001, 3), fixed(-2.5) == "\N{MINUS SIGN}2.50"
    ('1.23', '0.000', True)
    """
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")
