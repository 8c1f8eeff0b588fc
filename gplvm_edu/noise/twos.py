"""Binary handwritten twos with pixels taken away: the experiment of Lawrence (2005), section 7.3.1, in small pieces."""
import numpy as np
from scipy.special import expit

INK = 0.05                  # a pixel counts as ink where its mean grey level exceeds this share of black


def binary_images(images, threshold=INK):
    r"""Grey images as 8 x 8 pixels of ink (1) and no ink (0), one image a row.

    .. math:: y_{nd} = 1 \ \text{where the mean grey level of the pixel exceeds the threshold}

    Parameters
    ----------
    images : ndarray (N, 64) or (N, 256)
        Grey levels from 0 (paper) to 1 (ink); those of 16 x 16 pixels are averaged over blocks of 2 x 2.
    threshold : float

    Returns
    -------
    ndarray (N, 64)

    Notes
    -----
    Chapter 8, equation (8.30).

    Examples
    --------
    >>> binary_images(np.full((1, 256), 0.2)).sum()
    np.float64(64.0)
    """
    side = int(np.sqrt(images.shape[1]))
    block = side // 8
    small = images.reshape(-1, 8, block, 8, block).mean(axis=(2, 4)).reshape(-1, 64)
    return np.where(small > threshold, 1.0, 0.0)                                 # (8.30)


def remove_pixels(Y, share=0.2, random_state=None):
    """Y with the same number of entries missing in every row, and where they were; equation (8.19).

    Parameters
    ----------
    Y : ndarray (N, D)
    share : float
        Of each row, rounded to whole entries.
    random_state : int, Generator or None

    Returns
    -------
    seen : ndarray (N, D)
        NaN where something was removed.
    removed : ndarray (N, D) of bool

    Examples
    --------
    >>> seen, removed = remove_pixels(np.ones((3, 10)), 0.2, random_state=0)
    >>> removed.sum(axis=1)
    array([2, 2, 2])
    """
    rng = np.random.default_rng(random_state)
    rank = rng.permuted(np.tile(np.arange(Y.shape[1]), (len(Y), 1)), axis=1)
    removed = rank < round(share * Y.shape[1])                                   # a larger share removes these and more
    return np.where(removed, np.nan, Y), removed                                 # (8.19)


def two_point_probability(mean, variance):
    r"""The probability of a 1 that a Gaussian prediction gives if nothing but 0 and 1 can occur.

    .. math:: \frac{N(1 \mid \mu, v)}{N(0 \mid \mu, v) + N(1 \mid \mu, v)} = \frac{1}{1 + e^{-(2\mu - 1) / 2v}}

    Notes
    -----
    Chapter 8, equation (8.32).

    Examples
    --------
    >>> two_point_probability(np.array([0.5, 0.9]), 0.1).round(3)
    array([0.5  , 0.982])
    """
    return expit((2.0 * mean - 1.0) / (2.0 * variance))                          # (8.32)


def pixel_scores(probability, Y, removed, cut=0.5):
    r"""Share of the removed pixels that come out wrong, and their mean log loss in nats.

    .. math:: \frac1{|R|} \sum_{(n,d) \in R} [\, (p_{nd} > c) \ne y_{nd} \,], \qquad
              -\frac1{|R|} \sum_{(n,d) \in R} \ln p_{nd}^{y_{nd}} (1 - p_{nd})^{1 - y_{nd}}

    Parameters
    ----------
    probability : ndarray (N, D)
        Of ink.
    Y : ndarray (N, D)
        The truth, 1 or 0.
    removed : ndarray (N, D) of bool
    cut : float or ndarray (D,)
        Above it a pixel is called ink.

    Returns
    -------
    error, log_loss : float

    Notes
    -----
    Probabilities are kept a thousandth away from 0 and 1: one pixel called impossible would decide the mean.
    Chapter 8, equation (8.31).

    Examples
    --------
    >>> error, loss = pixel_scores(np.array([[0.9, 0.2]]), np.array([[1.0, 1.0]]), np.array([[True, True]]))
    >>> error, round(loss, 4)
    (0.5, 0.8574)
    """
    cut = np.broadcast_to(cut, Y.shape)[removed]
    p, y = np.broadcast_to(probability, Y.shape)[removed], Y[removed]
    error = np.mean((p > cut) != (y > 0.5))                                      # (8.31)
    q = np.clip(p, 1e-3, 1.0 - 1e-3)
    return float(error), float(-np.mean(np.log(np.where(y > 0.5, q, 1.0 - q))))  # (8.31)
