"""The toy data of this chapter, after those of the paper, whose own were never published."""
import numpy as np

from ..datasets.dataset import Dataset, check_n_samples


def make_bent_line(n_samples=60, noise=0.1, random_state=None):
    r"""A wave in the plane with noise: one latent dimension, two measurements.

    .. math:: y = (t,\ t + \tfrac54 \sin 2t), \qquad t \text{ evenly from } 0.15 \text{ to } 3

    Returns
    -------
    Dataset
        data (n, 2); target (n,): t.

    Notes
    -----
    Chapter 10, equation (10.1).

    Examples
    --------
    >>> make_bent_line(5, noise=0.0).data[0].round(3)
    array([0.15 , 0.519])
    """
    n, rng = check_n_samples(n_samples), np.random.default_rng(random_state)
    t = np.linspace(0.15, 3.0, n)
    Y = np.column_stack([t, t + 1.25 * np.sin(2 * t)])                           # (10.1)
    return Dataset(Y + noise * rng.standard_normal(Y.shape), t, (), {})


def make_furrowed_sheet(n_side=20, noise=0.1, random_state=None):
    r"""A sheet in three dimensions that is straight one way and curved the other.

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
    side, rng = check_n_samples(n_side), np.random.default_rng(random_state)
    a, b = (c.ravel() for c in np.meshgrid(np.linspace(-2, 2, side), np.linspace(-1, 1, side), indexing="ij"))
    Y = np.column_stack([a, b, b + 0.5 * np.sin(0.5 * np.pi * a)])               # (10.14)
    return Dataset(Y + noise * rng.standard_normal(Y.shape), a, (), {"sheet": np.column_stack([a, b])})


def make_curved_sheet(n_side=20, noise=0.2, random_state=None):
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
    side, rng = check_n_samples(n_side), np.random.default_rng(random_state)
    a, b = (c.ravel() for c in np.meshgrid(*2 * [np.linspace(-2, 2, side)], indexing="ij"))
    height = np.sin(1.2 * a) * np.cos(0.6 * b)                  # (10.23)
    Y = np.column_stack([a, b, height])
    return Dataset(Y + noise * rng.standard_normal(Y.shape), height, (), {"sheet": np.column_stack([a, b])})
