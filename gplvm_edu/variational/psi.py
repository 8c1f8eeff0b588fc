"""Psi statistics: what the bound needs to know of the kernel when the latent points are uncertain."""

from ..kernels import RBF, Bias, Kernel, Linear, Sum, split_white
from .kernel_expectations import BiasPsi, LinearPsi, PointPsi, PsiStatistics, RBFPsi


def psi_statistics(kernel, latent_mean, latent_variance, inducing_inputs, groups=None) -> PsiStatistics:
    r"""The three statistics of a kernel under q(x_n) = N(mu_n, diag S_n): `PsiStatistics`.

    .. math:: \psi_0^n = \langle k(x_n, x_n) \rangle, \quad (\Psi_1)_{nm} = \langle k(x_n, z_m) \rangle, \quad
              \Psi_2 = \sum_n \langle k(z, x_n)\, k(x_n, z') \rangle

    Parameters
    ----------
    kernel : Kernel
        RBF or Linear, possibly plus Bias; without `White`. With points (no variance), any kernel.
    latent_mean : ndarray (N, q)
    latent_variance : ndarray (N, q) or None
        None: the points are known exactly.
    inducing_inputs : ndarray (M, q)
    groups : ndarray (G, N), "each" or None
        0 or 1: which points count in which Psi2. None: one group of all; "each": every point by itself.

    Notes
    -----
    Costs O(N M^2 q), never an array of N x M x M x q. Chapter 12, equation (12.8), of one point chapter 13, equation
    (13.3); Titsias and Lawrence (2010), equations (15) to (17).

    Examples
    --------
    >>> import numpy as np
    >>> psi = psi_statistics(RBF(), np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 1)))
    >>> psi.psi0, psi.Psi1.round(4), psi.Psi2.round(4)                           # 1, 1 / sqrt 2, 1 / sqrt 3
    (array([1.]), array([[0.7071]]), array([[[0.5774]]]))
    """
    mu, S, Z = latent_mean, latent_variance, inducing_inputs
    return prepare_psi(kernel, Z, uncertain=S is not None)(mu, S, groups)  # (12.8)


def prepare_psi(kernel, inducing_inputs, uncertain=True):
    """The Psi statistics as a function of latent points, ``psi(latent_mean, latent_variance, groups)``, (12.8).

    What depends on Z alone is computed here, once. `uncertain`: whether the points are Gaussian, or known exactly.

    Examples
    --------
    >>> import numpy as np
    >>> psi = prepare_psi(RBF(), np.zeros((1, 1)))(np.zeros((2, 1)), np.array([[1.0], [0.0]]), "each")
    >>> psi.Psi1.ravel().round(4), psi.pairs.ravel().round(4)                    # 1 / sqrt 2 and 1 / sqrt 3; 1 and 1
    (array([0.7071, 1.    ]), array([0.5774, 1.    ]))
    """
    if not uncertain:
        return PointPsi(kernel, inducing_inputs)  # (12.8) with S = 0
    shape, biases = check_kernel(kernel)
    psi: RBFPsi | LinearPsi | BiasPsi = (RBFPsi if isinstance(shape, RBF) else LinearPsi)(shape, inducing_inputs)
    for bias in biases:
        psi = BiasPsi(psi, bias.variance, len(inducing_inputs))  # (12.19)
    return psi


def check_kernel(kernel):
    """The parts of a kernel whose statistics are known, an RBF or Linear and then any Bias; or an error, (12.8).

    Examples
    --------
    >>> check_kernel(RBF() + Bias(0.5))
    (RBF(variance=1, inverse_width=1), [Bias(variance=0.5)])
    """
    shape, *biases = kernel.parts if isinstance(kernel, Sum) else [kernel]  # (12.8)
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
    smooth, noise = split_white(kernel)  # (12.20)
    parts = sorted(smooth.parts if isinstance(smooth, Sum) else [smooth], key=lambda part: isinstance(part, Bias))
    if smooth is None or isinstance(parts[0], Bias):
        raise ValueError(
            f"The kernel {kernel!r} does not look at the latent points at all: add an RBF or a Linear "
            'kernel to it (chapter 12, "Psi statistics").'
        )
    return (Sum(*parts) if isinstance(smooth, Sum) else smooth), noise
