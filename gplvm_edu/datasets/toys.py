"""Data that need no file: the Swiss roll, and the digits and irises that come with scikit-learn."""
import numpy as np
from sklearn import datasets as sklearn_datasets

from .dataset import Dataset, check_n_samples


def make_swiss_roll(n_samples=1000, noise=0.0, random_state=None):
    r"""A sheet of paper rolled up in three dimensions.

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

    Notes
    -----
    Appendix B, equations (B.17) and (B.18).

    Examples
    --------
    >>> roll = make_swiss_roll(200, random_state=0)
    >>> roll.data.shape, roll.extra["sheet"].shape
    ((200, 3), (200, 2))
    >>> np.allclose(np.hypot(roll.data[:, 0], roll.data[:, 2]), roll.target)
    True
    """
    n = check_n_samples(n_samples)
    if isinstance(noise, (str, bool)) or not np.isscalar(noise) or not np.isfinite(noise) or noise < 0:
        raise ValueError(f"noise must be a finite number of at least 0, got {noise!r}.")
    rng = np.random.default_rng(random_state)
    t = 1.5 * np.pi * (1.0 + 2.0 * rng.uniform(size=n))
    v = 21.0 * rng.uniform(size=n)
    data = np.column_stack([t * np.cos(t), v, t * np.sin(t)])                               # (B.17)
    data += noise * rng.standard_normal((n, 3))
    return Dataset(data, t, (), {"sheet": np.column_stack([spiral_length(t), v])})


def spiral_length(t):
    r"""Arc length of the spiral r = t from its centre to angle t.

    .. math:: s(t) = \int_0^t \sqrt{1 + \tau^2}\, d\tau
              = \tfrac12 \left(t \sqrt{1 + t^2} + \sinh^{-1} t\right)

    Notes
    -----
    Appendix B, equation (B.18).

    Examples
    --------
    >>> round(float(spiral_length(1.0)), 4)
    1.1478
    """
    return 0.5 * (t * np.sqrt(1.0 + t**2) + np.arcsinh(t))                                  # (B.18)


def load_digits():
    """Handwritten digits of 8 x 8 pixels with grey levels 0 to 16, from scikit-learn (no download).

    Examples
    --------
    >>> digits = load_digits()
    >>> digits.data.shape, digits.extra["image_shape"]
    ((1797, 64), (8, 8))
    """
    bunch = sklearn_datasets.load_digits()
    return Dataset(bunch.data, bunch.target, tuple("0123456789"), {"image_shape": (8, 8)})


def load_iris():
    """Fisher's irises: four lengths in centimetres of 50 flowers of each of three species (no download).

    Examples
    --------
    >>> load_iris().target_names
    ('setosa', 'versicolor', 'virginica')
    """
    bunch = sklearn_datasets.load_iris()
    names = tuple(str(name) for name in bunch.target_names)
    return Dataset(bunch.data, bunch.target, names, {"feature_names": tuple(bunch.feature_names)})
