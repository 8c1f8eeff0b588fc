"""The geometry of a pipe that carries two liquids and gas: how far a beam runs through each liquid.

The pipe has unit radius. One function for each configuration, for all points at once; Appendix B derives
every line.
"""

import numpy as np

PHASES = ("water", "oil")  # first fraction, second fraction; the rest of the pipe is gas
CONFIGURATIONS = ("homogeneous", "annular", "stratified")
VERTICAL_BEAMS = (5 / 6, 3 / 6, 1 / 6)  # distances from the axis: middles of three equal strips
HORIZONTAL_BEAMS = (-1 / 2, 0.0, 1 / 2)  # heights above the axis
BEAM_NAMES = tuple(
    f"{beam}, {phase}"
    for beam in ("vertical 5/6", "vertical 3/6", "vertical 1/6", "horizontal -1/2", "horizontal 0", "horizontal 1/2")
    for phase in PHASES
)


def chord_length(offset, squared_radius=1.0):
    r"""Length of the chord that passes a circle's centre at the given distance; 0 when it misses the circle.

    .. math:: c_r(a) = 2 \sqrt{\max(r^2 - a^2,\ 0)}

    Notes
    -----
    Appendix B, equation (B.1). The radius enters squared because that is what a volume fraction gives.

    Examples
    --------
    >>> chord_length(np.array([0.0, 0.6, 2.0]))
    array([2. , 1.6, 0. ])
    """
    return 2.0 * np.sqrt(np.maximum(squared_radius - np.square(offset), 0.0))  # (B.1)


def segment_fraction(height):
    r"""Share of the unit circle's area that lies below a given height, equation (B.5).

    .. math:: F(h) = (\varphi - \sin\varphi \cos\varphi) / \pi, \qquad h = -\cos\varphi

    Examples
    --------
    >>> segment_fraction(np.array([-1.0, 0.0, 1.0]))
    array([0. , 0.5, 1. ])
    """
    phi = np.arccos(-np.asarray(height, dtype=float))
    return (phi - np.sin(phi) * np.cos(phi)) / np.pi  # (B.5)


def segment_height(fraction):
    r"""Height, from -1 to 1, of the liquid that fills a given share of the pipe: the inverse of `segment_fraction`.

    Parameters
    ----------
    fraction : array_like
        Between 0 and 1, any shape.

    Notes
    -----
    Five Newton steps for all points at once, O(n). They start below the root of a convex function, so the
    first step passes it and the others come down to it: Appendix B, equations (B.6) and (B.7). Where the
    segment is so thin that the slope vanishes (angle below 1e-4) the start is exact to rounding, and stays.

    Examples
    --------
    >>> segment_height([0.0, 0.25, 0.75, 1.0]).round(4)
    array([-1.   , -0.404,  0.404,  1.   ])
    """
    f = np.asarray(fraction, dtype=float)
    area = np.pi * np.minimum(f, 1.0 - f)
    phi = np.cbrt(1.5 * area)  # (B.6)
    for _ in range(5):
        slope = np.maximum(2.0 * np.sin(phi) ** 2, 1e-8)
        phi = phi - (phi - np.sin(phi) * np.cos(phi) - area) / slope  # (B.7)
    return np.where(f <= 0.5, -np.cos(phi), np.cos(phi))


def homogeneous_paths(fractions, vertical=VERTICAL_BEAMS, horizontal=HORIZONTAL_BEAMS) -> np.ndarray:
    r"""Paths through both liquids when everything is mixed: each has its share of every chord, equation (B.2).

    .. math:: \ell_k = f_k\, c_1(a)

    Parameters
    ----------
    fractions : ndarray (n, 2)
        Volume fractions of the first and second liquid.
    vertical, horizontal : sequences of float
        Distances of the vertical beams from the axis; heights of the horizontal ones.

    Returns
    -------
    ndarray (n, number of beams, 2)
        Vertical beams first; last axis: the two liquids.

    Examples
    --------
    >>> homogeneous_paths(np.array([[0.5, 0.25]]), vertical=[0.0], horizontal=[])
    array([[[1. , 0.5]]])
    """
    c = chord_length(np.concatenate([vertical, horizontal]))  # (B,)
    return c[:, None] * np.asarray(fractions)[:, None, :]  # (B.2)  (n, B, 2)


def annular_paths(fractions, vertical=VERTICAL_BEAMS, horizontal=HORIZONTAL_BEAMS) -> np.ndarray:
    r"""Paths when the first liquid is a ring at the wall, the second one inside it, gas the core; equation (B.4).

    .. math:: \ell_1 = c_1(a) - c_{r_1}(a), \qquad \ell_2 = c_{r_1}(a) - c_{r_2}(a)

    Parameters and result as in `homogeneous_paths`.

    Examples
    --------
    >>> annular_paths(np.array([[0.36, 0.48]]), vertical=[0.0], horizontal=[0.6]).round(3)
    array([[[0.4  , 0.8  ],
            [0.542, 1.058]]])
    """
    f = np.asarray(fractions)
    a = np.concatenate([vertical, horizontal])
    r1_squared = 1.0 - f[:, :1]  # (B.3)  (n, 1)
    r2_squared = 1.0 - f.sum(axis=1, keepdims=True)  # (B.3)
    wall, outer, inner = chord_length(a), chord_length(a, r1_squared), chord_length(a, r2_squared)
    return np.stack([wall - outer, outer - inner], axis=-1)  # (B.4)  (n, B, 2)


def stratified_paths(fractions, vertical=VERTICAL_BEAMS, horizontal=HORIZONTAL_BEAMS) -> np.ndarray:
    r"""Paths when the first liquid lies at the bottom, the second above it, and gas on top.

    A vertical beam is cut by the two levels; a horizontal one runs through a single phase.

    Parameters and result as in `homogeneous_paths`.

    Notes
    -----
    Appendix B, equations (B.8) and (B.9). Costs O(n) with `segment_height` for the levels.

    Examples
    --------
    >>> stratified_paths(np.array([[0.5, 0.25]]), vertical=[0.0], horizontal=[0.2]).round(3)
    array([[[1.   , 0.404],
            [0.   , 1.96 ]]])
    """
    f = np.asarray(fractions)
    h1 = segment_height(f[:, :1])  # (n, 1)
    h2 = segment_height(f.sum(axis=1, keepdims=True))  # (n, 1)
    b, y = chord_length(vertical) / 2.0, np.asarray(horizontal, dtype=float)
    first, second = np.clip(h1, -b, b), np.clip(h2, -b, b)
    down = np.stack([first + b, second - first], axis=-1)  # (B.8)  (n, V, 2)
    chords = chord_length(y)[:, None]
    across = np.stack([y < h1, (h1 <= y) & (y < h2)], axis=-1) * chords  # (B.9)  (n, H, 2)
    return np.concatenate([down, across], axis=1)


GEOMETRIES = (homogeneous_paths, annular_paths, stratified_paths)  # in the order of CONFIGURATIONS


def oil_flow_paths(fractions, target) -> np.ndarray:
    """The twelve measurements without noise, for given fractions and configurations.

    Parameters
    ----------
    fractions : array_like (n, 2)
        Volume fractions of the two liquids: not negative, sum at most 1.
    target : array_like (n,)
        0 homogeneous, 1 annular, 2 stratified.

    Returns
    -------
    ndarray (n, 12)
        For each beam the path through the first liquid, then through the second. Beams: vertical at 5/6, 3/6
        and 1/6 of the radius, horizontal at heights -1/2, 0 and 1/2.

    Notes
    -----
    Costs O(n). Appendix B, equations (B.1) to (B.9).

    Examples
    --------
    >>> oil_flow_paths([[1.0, 0.0]], [1]).round(3)            # a pipe full of the first liquid
    array([[1.106, 0.   , 1.732, 0.   , 1.972, 0.   , 1.732, 0.   , 2.   , 0.   , 1.732, 0.   ]])
    """
    f, target = check_mixture(fractions, target)
    paths = np.empty((len(f), len(VERTICAL_BEAMS) + len(HORIZONTAL_BEAMS), 2))
    for k, geometry in enumerate(GEOMETRIES):
        paths[target == k] = geometry(f[target == k])
    return paths.reshape(len(f), -1)


def check_mixture(fractions, target) -> tuple[np.ndarray, np.ndarray]:
    """Fractions as floats (n, 2) that make a mixture, target (n,) with 0, 1 and 2, or a clear error."""
    f, target = np.asarray(fractions, dtype=float), np.asarray(target)
    if f.ndim != 2 or f.shape[1] != 2 or target.shape != f.shape[:1]:
        raise ValueError(f"fractions must have shape (n, 2) and target shape (n,), got {f.shape} and {target.shape}.")
    bad = ~((f >= 0.0).all(axis=1) & (f.sum(axis=1) <= 1.0 + 1e-12))
    if bad.any():
        row = np.flatnonzero(bad)[0]
        raise ValueError(
            f"fractions[{row}] = {f[row].tolist()} is no mixture: both must be at least 0 and "
            'their sum at most 1 (the rest is gas); Appendix B, "The geometry".'
        )
    if not np.isin(target, range(len(CONFIGURATIONS))).all():
        wrong = target[~np.isin(target, range(len(CONFIGURATIONS)))][0]
        raise ValueError(f"target must hold 0 (homogeneous), 1 (annular) or 2 (stratified), got {wrong!r}.")
    return f, target
