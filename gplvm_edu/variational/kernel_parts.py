"""Which kernels have Psi statistics, and how White noise is split off."""

import numpy as np

from ..kernels import RBF, Bias, Kernel, Linear, Sum, split_white


def check_kernel(kernel):
    """The parts of a kernel whose statistics are known, an RBF or Linear and then any Bias; or an error, (12.8).

    Examples
    --------
    >>> check_kernel(RBF() + Bias(0.5))
    (RBF(variance=1, inverse_width=1), [Bias(variance=0.5)])
    """
    shape, *biases = kernel.parts if isinstance(kernel, Sum) else [kernel]
    if type(shape) not in (RBF, Linear) or any(type(part) is not Bias for part in biases):
        raise ValueError(
            f"The Psi statistics are known here for one RBF or one Linear kernel, plus Bias and White, and got "
            f'{kernel!r}. Use one of the two, or latent="point", which needs no integral and takes any kernel '
            '(chapter 12, "Psi statistics").'
        )
    return shape, biases


def split_noise(kernel) -> tuple[Kernel, float]:
    """The kernel without its White parts, Bias last, and the sum of their variances: the noise, equation (12.20).

    Examples
    --------
    >>> from gplvm_edu.kernels import White
    >>> split_noise(White(0.1) + Bias(2.0) + RBF())
    (RBF(variance=1, inverse_width=1) + Bias(variance=2), 0.1)
    """
    smooth, noise = split_white(kernel)
    parts = sorted(smooth.parts if isinstance(smooth, Sum) else [smooth], key=lambda part: isinstance(part, Bias))
    if smooth is None or isinstance(parts[0], Bias):
        raise ValueError(
            f"The kernel {kernel!r} does not look at the latent points at all: add an RBF or a Linear "
            'kernel to it (chapter 12, "Psi statistics").'
        )
    return (Sum(*parts) if isinstance(smooth, Sum) else smooth), noise


def ard_weights(kernel, n_components) -> np.ndarray:
    """The weight of each latent dimension, (q,): inverse widths, variances of a Linear kernel, or 1 each, (12.29).

    Examples
    --------
    >>> ard_weights(RBF(2.0, [0.5, 3.0]) + Bias(), 2)
    array([0.5, 3. ])
    """
    shape = getattr(kernel, "parts", [kernel])[0]
    weights = shape.variance if isinstance(shape, Linear) else getattr(shape, "inverse_width", 1.0)
    return np.broadcast_to(weights, n_components).astype(float)


def reordered(kernel, order) -> Kernel:
    """A copy of a kernel for latent points whose columns stand in another order.

    Examples
    --------
    >>> reordered(RBF(2.0, [0.5, 3.0]) + Bias(), [1, 0])
    RBF(variance=2, inverse_width=[3, 0.5]) + Bias(variance=1)
    """
    kernel, order = kernel.copy(), np.asarray(order)
    weights = {name: value for name, value in kernel.get_params().items() if np.shape(value) == order.shape}
    return kernel.set_params(**{name: np.asarray(value)[order] for name, value in weights.items()})
