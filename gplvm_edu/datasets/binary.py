"""Binary images, and images with missing pixels."""

import numpy as np

from .. import checks

INK = 0.05  # a pixel counts as ink where its mean grey level exceeds this share of black


def binary_images(images, threshold=INK) -> np.ndarray:
    r"""Grey images as 8 x 8 pixels of ink (1) and no ink (0), one image a row, (N, 64); equation (8.30).

    .. math:: y_{nd} = 1 \ \text{where the mean grey level of the pixel exceeds the threshold}

    Parameters
    ----------
    images : ndarray (N, 64) or (N, 256)
        Grey levels from 0 (paper) to 1 (ink); those of 16 x 16 pixels are averaged over blocks of 2 x 2.
    threshold : float

    Examples
    --------
    >>> float(binary_images(np.full((1, 256), 0.2)).sum())
    64.0
    """
    side = int(np.sqrt(images.shape[1]))
    block = side // 8
    small = images.reshape(-1, 8, block, 8, block).mean(axis=(2, 4)).reshape(-1, 64)
    return np.where(small > threshold, 1.0, 0.0)  # (8.30)


def remove_pixels(Y, share=0.2, random_state=None) -> tuple[np.ndarray, np.ndarray]:
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
    rng = checks.generator(random_state)
    rank = rng.permuted(np.tile(np.arange(Y.shape[1]), (len(Y), 1)), axis=1)
    removed = rank < round(share * Y.shape[1])  # a larger share removes these and more
    return np.where(removed, np.nan, Y), removed  # (8.19)
