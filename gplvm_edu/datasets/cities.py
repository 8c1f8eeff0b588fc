"""Distances between cities on the globe, which are not Euclidean."""

import numpy as np

from .. import checks

EARTH_RADIUS = 6371.0  # kilometres
EUROPE = {  # degrees north, degrees east
    "Lisbon": (38.7, -9.1),
    "Madrid": (40.4, -3.7),
    "Dublin": (53.3, -6.3),
    "London": (51.5, -0.1),
    "Paris": (48.9, 2.4),
    "Oslo": (59.9, 10.8),
    "Rome": (41.9, 12.5),
    "Berlin": (52.5, 13.4),
    "Vienna": (48.2, 16.4),
    "Stockholm": (59.3, 18.1),
    "Warsaw": (52.2, 21.0),
    "Athens": (38.0, 23.7),
    "Helsinki": (60.2, 24.9),
    "Istanbul": (41.0, 29.0),
}
WORLD = {
    "London": (51.5, -0.1),
    "Cairo": (30.0, 31.2),
    "Nairobi": (-1.3, 36.8),
    "Cape Town": (-33.9, 18.4),
    "Delhi": (28.6, 77.2),
    "Beijing": (39.9, 116.4),
    "Tokyo": (35.7, 139.7),
    "Sydney": (-33.9, 151.2),
    "Honolulu": (21.3, -157.9),
    "Los Angeles": (34.1, -118.2),
    "New York": (40.7, -74.0),
    "Mexico City": (19.4, -99.1),
    "Lima": (-12.0, -77.0),
    "Buenos Aires": (-34.6, -58.4),
}


def great_circle_distances(latitude, longitude, radius=EARTH_RADIUS) -> np.ndarray:
    r"""Shortest distances along a sphere between places given in degrees, (N, N); equation (3.34).

    .. math:: d = 2 r \arcsin \tfrac{1}{2} \|p - p'\|, \qquad
              p = (\cos\phi \cos\theta,\ \cos\phi \sin\theta,\ \sin\phi)

    with latitude phi and longitude theta; the norm is the chord through the sphere.

    Parameters
    ----------
    latitude, longitude : sequence of float (N,)
    radius : float

    Examples
    --------
    >>> great_circle_distances([0, 90], [0, 0], radius=1.0).round(4)         # equator to pole: a quarter of 2 pi
    array([[0.    , 1.5708],
           [1.5708, 0.    ]])
    """
    phi, theta = np.radians(latitude), np.radians(longitude)
    P = np.column_stack([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)])
    chord = np.linalg.norm(P[:, None] - P, axis=2)
    return 2.0 * radius * np.arcsin(np.minimum(0.5 * chord, 1.0))  # (3.34)


def city_distances(where="Europe") -> tuple[list[str], np.ndarray]:
    """Names of fourteen cities in Europe or in the world, and the distances between them in kilometres.

    Notes
    -----
    Great-circle distances, from coordinates rounded to a tenth of a degree. Chapter 3, equation (3.34).

    Examples
    --------
    >>> names, D = city_distances("Europe")
    >>> round(float(D[names.index("Paris"), names.index("Berlin")]), -1)
    870.0
    """
    checks.choice("where", where, ("Europe", "world"))
    places = EUROPE if where == "Europe" else WORLD
    return list(places), great_circle_distances(*np.array(list(places.values())).T)
