"""Data that need no file: the Swiss roll, three toy data sets of the GTM papers, tables of scikit-learn's."""

import numpy as np
from sklearn import datasets as sklearn_datasets

from .. import checks
from .dataset import Dataset


def make_swiss_roll(n_samples=1000, noise=0.0, random_state=None) -> Dataset:
    r"""A sheet of paper rolled up in three dimensions, equation (B.17).

    .. math:: y = (t \cos t,\ v,\ t \sin t), \qquad t \in [\tfrac32 \pi, \tfrac92 \pi],\ v \in [0, 21]

    Parameters
    ----------
    n_samples : int
    noise : float
        Standard deviation of the Gaussian noise on each coordinate.
    random_state : None, int or numpy Generator

    Returns
    -------
    Dataset
        data (n, 3); target (n,): the angle t, to colour by; extra["sheet"] (n, 2): the flat sheet, i.e. arc
        length and height, whose straight lines are the geodesics of the roll.

    Examples
    --------
    >>> roll = make_swiss_roll(200, random_state=0)
    >>> roll.data.shape, roll.extra["sheet"].shape
    ((200, 3), (200, 2))
    >>> np.allclose(np.hypot(roll.data[:, 0], roll.data[:, 2]), roll.target)
    True
    """
    n, rng = checks.whole_number("n_samples", n_samples), checks.generator(random_state)
    checks.number("noise", noise, at_least=0)
    t = 1.5 * np.pi * (1.0 + 2.0 * rng.uniform(size=n))
    v = 21.0 * rng.uniform(size=n)
    data = np.column_stack([t * np.cos(t), v, t * np.sin(t)])  # (B.17)
    data += noise * rng.standard_normal((n, 3))
    return Dataset(data, t, (), {"sheet": np.column_stack([spiral_length(t), v])})


def spiral_length(t):
    r"""Arc length of the spiral r = t from its centre to angle t, equation (B.18).

    .. math:: s(t) = \int_0^t \sqrt{1 + \tau^2}\, d\tau
              = \tfrac12 \left(t \sqrt{1 + t^2} + \sinh^{-1} t\right)

    Examples
    --------
    >>> round(float(spiral_length(1.0)), 4)
    1.1478
    """
    return 0.5 * (t * np.sqrt(1.0 + t**2) + np.arcsinh(t))  # (B.18)


def make_bent_line(n_samples=60, noise=0.1, random_state=None) -> Dataset:
    r"""A wave in the plane with noise: one latent dimension, two measurements, equation (10.1).

    .. math:: y = (t,\ t + \tfrac54 \sin 2t), \qquad t \text{ evenly from } 0.15 \text{ to } 3

    Returns
    -------
    Dataset
        data (n, 2); target (n,): t.

    Examples
    --------
    >>> make_bent_line(5, noise=0.0).data[0].round(3)
    array([0.15 , 0.519])
    """
    n, rng = checks.whole_number("n_samples", n_samples), checks.generator(random_state)
    t = np.linspace(0.15, 3.0, n)
    Y = np.column_stack([t, t + 1.25 * np.sin(2 * t)])  # (10.1)
    return Dataset(Y + noise * rng.standard_normal(Y.shape), t, (), {})


def make_furrowed_sheet(n_side=20, noise=0.1, random_state=None) -> Dataset:
    r"""A sheet in three dimensions that is straight in one direction and curved in the other.

    .. math:: y_3 = y_2 + \tfrac12 \sin(\tfrac12 \pi y_1), \quad (y_1, y_2) \text{ on a grid of } [-2, 2] \times [-1, 1]

    Returns
    -------
    Dataset
        data (n_side^2, 3); target (n_side^2,): y_1 before the noise; extra["sheet"] (n_side^2, 2).

    Notes
    -----
    Chapter 10, equation (10.14); Bishop, Svensén and Williams (1998), equation (29).

    Examples
    --------
    >>> Y = make_furrowed_sheet(4, noise=0.0).data
    >>> np.allclose(Y[:, 2], Y[:, 1] + 0.5 * np.sin(0.5 * np.pi * Y[:, 0]))
    True
    """
    side, rng = checks.whole_number("n_side", n_side), checks.generator(random_state)
    a, b = (c.ravel() for c in np.meshgrid(np.linspace(-2, 2, side), np.linspace(-1, 1, side), indexing="ij"))
    Y = np.column_stack([a, b, b + 0.5 * np.sin(0.5 * np.pi * a)])  # (10.14)
    return Dataset(Y + noise * rng.standard_normal(Y.shape), a, (), {"sheet": np.column_stack([a, b])})


def make_curved_sheet(n_side=20, noise=0.2, random_state=None) -> Dataset:
    r"""A two-dimensional sheet in three dimensions, with a hill and a valley.

    .. math:: y_3 = \sin(1.2\, y_1) \cos(0.6\, y_2), \qquad (y_1, y_2) \text{ on a grid over } [-2, 2]^2

    Returns
    -------
    Dataset
        data (n_side^2, 3); target (n_side^2,): height before the noise; extra["sheet"] (n_side^2, 2).

    Notes
    -----
    Chapter 10, equation (10.23); in place of the unnamed manifold of Bishop, Svensén and Williams (1998), figure 6.

    Examples
    --------
    >>> make_curved_sheet(20, random_state=0).data.shape
    (400, 3)
    """
    side, rng = checks.whole_number("n_side", n_side), checks.generator(random_state)
    a, b = (c.ravel() for c in np.meshgrid(*2 * [np.linspace(-2, 2, side)], indexing="ij"))
    height = np.sin(1.2 * a) * np.cos(0.6 * b)  # (10.23)
    Y = np.column_stack([a, b, height])
    return Dataset(Y + noise * rng.standard_normal(Y.shape), height, (), {"sheet": np.column_stack([a, b])})


def load_digits() -> Dataset:
    """Handwritten digits of 8 x 8 pixels with grey levels 0 to 16, from scikit-learn (no download).

    Examples
    --------
    >>> digits = load_digits()
    >>> digits.data.shape, digits.extra["image_shape"]
    ((1797, 64), (8, 8))
    """
    bunch = sklearn_datasets.load_digits()
    return Dataset(bunch.data, bunch.target, tuple("0123456789"), {"image_shape": (8, 8)})


def load_iris() -> Dataset:
    """Fisher's irises: four lengths in centimetres of 50 flowers of each of three species (no download).

    Examples
    --------
    >>> load_iris().target_names
    ('setosa', 'versicolor', 'virginica')
    """
    bunch = sklearn_datasets.load_iris()
    names = tuple(str(name) for name in bunch.target_names)
    return Dataset(bunch.data, bunch.target, names, {"feature_names": tuple(bunch.feature_names)})


TABLES = ("wine", "breast_cancer", "diabetes")


def load_table(name, standardise=True) -> Dataset:
    """A table of scikit-learn's as people bring their own: "wine", "breast_cancer" or "diabetes" (no download).

    Parameters
    ----------
    name : str
    standardise : bool
        Each column to mean 0 and deviation 1, as a user would do with columns in different units.

    Returns
    -------
    Dataset
        extra: "feature_names". The target of diabetes is a number, and has no names.

    Examples
    --------
    >>> load_table("wine").data.shape, load_table("breast_cancer").target_names
    ((178, 13), ('malignant', 'benign'))
    """
    checks.choice("name", name, TABLES)
    bunch = getattr(sklearn_datasets, f"load_{name}")()
    Y = bunch.data - bunch.data.mean(axis=0)
    names = tuple(str(one) for one in bunch.get("target_names", ()))
    extra = {"feature_names": tuple(map(str, bunch.feature_names))}
    return Dataset(Y / Y.std(axis=0) if standardise else bunch.data, bunch.target, names, extra)
