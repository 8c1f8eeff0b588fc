"""What the models of the course share: the kernel that a fit starts from, and how its noise part is separated."""

import numpy as np

from .combinations import Sum
from .elementary import Bias, White
from .kernel import Kernel
from .stationary import RBF


def common_start(variance, noise=0.1) -> Kernel:
    r"""The kernel that a fit starts from: all of the data's variance, unit width, a bias, a share of noise.

    .. math:: k(x, x') = v\, \big( e^{-\frac12 \|x - x'\|^2} + e^{-2} + c\, \delta \big)

    Parameters
    ----------
    variance : float
        v, that of all entries of the centred data.
    noise : float
        c, the share of noise: a tenth, equation (5.14), or for a sparse model a hundredth, equation (7.22).

    Examples
    --------
    >>> common_start(2.0)
    RBF(variance=2, inverse_width=1) + Bias(variance=0.2707) + White(variance=0.2)
    """
    v = variance
    return RBF(v, 1.0) + Bias(v * np.exp(-2.0)) + White(noise * v)  # (5.14)


def in_units(kernel, unit) -> Kernel:
    """The kernel for data that are divided by `unit`: covariances have the units of data squared.

    Examples
    --------
    >>> in_units(RBF(8.0) + White(4.0), 2.0)
    RBF(variance=2, inverse_width=1) + White(variance=1)
    """
    return kernel.rescaled((1.0 / unit) ** 2)


def split_white(kernel) -> tuple[Kernel | None, float]:
    """The covariance of a function and the variance of its noise, which a sum holds together, equation (2.12).

    Parameters
    ----------
    kernel : Kernel
        `White` parts are looked for in the kernel itself and in the terms of a sum, not inside products.

    Returns
    -------
    smooth : Kernel or None
        A copy of the kernel without its `White` parts; None if nothing is left.
    noise_variance : float
        The sum of their variances; 0.0 if there are none.

    Examples
    --------
    >>> split_white(White(0.1) + Bias(2.0) + RBF())
    (Bias(variance=2) + RBF(variance=1, inverse_width=1), 0.1)
    >>> split_white(RBF()), split_white(White(0.2))
    ((RBF(variance=1, inverse_width=1), 0.0), (None, 0.2))
    """
    parts = kernel.parts if isinstance(kernel, Sum) else [kernel]
    smooth = [part for part in parts if not isinstance(part, White)]
    noise = sum(part.variance for part in parts if isinstance(part, White))  # (2.12)
    if len(smooth) < 2:
        return (smooth[0].copy() if smooth else None), float(noise)
    return Sum(*smooth), float(noise)
