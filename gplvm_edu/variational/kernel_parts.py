"""Which kernels have Psi statistics, and how White noise is split off."""

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
