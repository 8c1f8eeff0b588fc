"""What the models of the course share: the kernel that a fit starts from, and how its noise part is separated."""

import numpy as np

from .. import checks
from .combinations import Combination, Product, Sum
from .elementary import Bias, Linear, White
from .kernel import Kernel
from .stationary import RBF, Stationary


def relative(kernel) -> Kernel:
    """A copy whose variances are shares of the data's own variance: a fit scales it to the data that it sees.

    Default kernels of estimators are of this kind; any other kernel is in the units of the data. A sum or a product
    with a part of this kind is of this kind as a whole.

    Examples
    --------
    >>> relative(RBF() + White(0.1))
    relative(RBF(variance=1, inverse_width=1) + White(variance=0.1))
    """
    kernel = kernel.copy()
    kernel.relative = True
    return kernel


def scaled_to_data(kernel, variance=1.0, inverse_width=1.0) -> Kernel:
    """The kernel that a fit starts with, a copy: scaled to the data if it is `relative`, else as it is.

    Parameters
    ----------
    kernel : Kernel
    variance : float
        Of the data.
    inverse_width : float
        By which inverse widths of RBF and Matern32 are multiplied, where the inputs are data too.

    Examples
    --------
    >>> scaled_to_data(relative(RBF() + White(0.1)), 4.0), scaled_to_data(RBF(), 4.0)
    (RBF(variance=4, inverse_width=1) + White(variance=0.4), RBF(variance=1, inverse_width=1))
    """
    if not kernel.relative:
        return kernel.copy()
    kernel = kernel.rescaled(variance)
    kernel.relative = False
    for leaf in leaves(kernel):
        if isinstance(leaf, Stationary):
            leaf.inverse_width = leaf.inverse_width * inverse_width
    return kernel


def leaves(kernel) -> list[Kernel]:
    """The elementary kernels that a kernel is made of, in their order.

    Examples
    --------
    >>> leaves((RBF() + Bias()) * White())
    [RBF(variance=1, inverse_width=1), Bias(variance=1), White(variance=1)]
    """
    return [leaf for part in kernel.parts for leaf in leaves(part)] if isinstance(kernel, Combination) else [kernel]


def with_scales_fixed(kernel) -> Kernel:
    """A copy whose inverse widths stay (and what else can undo a change of scale of the inputs), equation (5.6a).

    Multiply all inputs by c and such a parameter by the right power of c, and no covariance changes. Beside a prior on
    the inputs that leaves the scale to the prior alone, and there is no maximum. In a product with a linear kernel
    every variance is one of them.

    Examples
    --------
    >>> with_scales_fixed(RBF() + White(0.1))
    RBF(variance=1, inverse_width=1, fixed='inverse_width') + White(variance=0.1)
    """
    kernel = kernel.copy()
    for leaf in leaves(kernel):
        leaf.fix(*leaf.input_scales)
    for product in _products(kernel):
        factors = leaves(product)
        if any(isinstance(leaf, Linear) for leaf in factors):
            for leaf in factors:
                leaf.fix("variance")
    return kernel


def _products(kernel) -> list[Product]:
    """The products that a kernel is made of, or is."""
    if isinstance(kernel, Product):
        return [kernel]
    return [one for part in kernel.parts for one in _products(part)] if isinstance(kernel, Combination) else []


def warn_without_noise(kernel, variance) -> None:
    """A warning, if a kernel has no `White` part though it is to explain data of some variance."""
    if not any(isinstance(leaf, White) for leaf in leaves(kernel)):
        checks.warn(
            f"The kernel {kernel!r} has no White part: the noise is then only the jitter, and the data are fitted "
            "exactly, their noise too. Add one, kernel + White(0.1 * variance of the data), here kernel + "
            f"White({0.1 * variance:.3g})."
        )


def common_start(variance=None, noise=0.1) -> Kernel:
    r"""The kernel that a fit starts from: all of the data's variance, unit width, a bias, a share of noise.

    .. math:: k(x, x') = v\, \big( e^{-\frac12 \|x - x'\|^2} + e^{-2} + c\, \delta \big)

    Parameters
    ----------
    variance : float or None
        v, that of all entries of the centred data. None: the kernel is `relative`, and a fit scales it.
    noise : float
        c, the share of noise: a tenth, equation (5.14), or for a sparse model a hundredth, equation (7.22).

    Examples
    --------
    >>> common_start(2.0)
    RBF(variance=2, inverse_width=1) + Bias(variance=0.2707) + White(variance=0.2)
    >>> common_start()
    relative(RBF(variance=1, inverse_width=1) + Bias(variance=0.1353) + White(variance=0.1))
    """
    if variance is None:
        return relative(common_start(1.0, noise))
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
    """The covariance of a function and the variance of its noise, which a sum holds together, equation (2.27).

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
    noise = sum(part.variance for part in parts if isinstance(part, White))  # (2.27)
    if len(smooth) < 2:
        return (smooth[0].copy() if smooth else None), float(noise)
    return Sum(*smooth), float(noise)


def noise_is_fixed(kernel) -> bool:
    """Whether the `White` parts of which `split_white` gives the sum are fixed; all of them or none. None has none.

    Examples
    --------
    >>> noise_is_fixed(RBF() + White(0.1)), noise_is_fixed(RBF() + White(0.1, fixed="variance"))
    (False, True)
    """
    if kernel is None:
        return False
    parts = kernel.parts if isinstance(kernel, Sum) else [kernel]
    held = [bool(part.fixed) for part in parts if isinstance(part, White)]
    if any(held) and not all(held):
        raise ValueError(
            f"The White parts of {kernel!r} are one noise here, their sum, and some of them are fixed: fix all or none."
        )
    return any(held)
