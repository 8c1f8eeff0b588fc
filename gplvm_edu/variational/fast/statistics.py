"""The packed Psi statistics of whichever kernel, with what depends on the inducing inputs alone computed once."""

from ...kernels import RBF
from ..kernel_parts import check_kernel
from .kernel_expectations import BiasPsi, LinearPsi, PackedPsi, PointPsi, RBFPsi


def psi_statistics(kernel, latent_mean, latent_variance, inducing_inputs, groups=None) -> PackedPsi:
    """The statistics of `psi.psi_statistics`, packed, and for groups of points: `PackedPsi`.

    groups : ndarray (G, N) of 0 and 1, which points count in which Psi2; None: one group of all; "each": every point by
    itself. The other parameters are those of `psi.psi_statistics`.

    Notes
    -----
    Costs O(N M^2 q), never an array of N x M x M x q.

    Examples
    --------
    >>> import numpy as np
    >>> psi_statistics(RBF(), np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 1))).Psi2.round(4)       # 1 / sqrt 3
    array([[[0.5774]]])
    """
    mu, S, Z = latent_mean, latent_variance, inducing_inputs
    return prepare_psi(kernel, Z, uncertain=S is not None)(mu, S, groups)


def prepare_psi(kernel, inducing_inputs, uncertain=True):
    """The Psi statistics as a function of latent points, ``psi(latent_mean, latent_variance, groups)``.

    What depends on Z alone is computed here, once. `uncertain`: whether the points are Gaussian, or known exactly.

    Examples
    --------
    >>> import numpy as np
    >>> psi = prepare_psi(RBF(), np.zeros((1, 1)))(np.zeros((2, 1)), np.array([[1.0], [0.0]]), "each")
    >>> psi.Psi1.ravel().round(4), psi.pairs.ravel().round(4)                    # 1 / sqrt 2 and 1 / sqrt 3; 1 and 1
    (array([0.7071, 1.    ]), array([0.5774, 1.    ]))
    """
    if not uncertain:
        return PointPsi(kernel, inducing_inputs)
    shape, biases = check_kernel(kernel)
    psi: RBFPsi | LinearPsi | BiasPsi = (RBFPsi if isinstance(shape, RBF) else LinearPsi)(shape, inducing_inputs)
    for bias in biases:
        psi = BiasPsi(psi, bias.variance, len(inducing_inputs))
    return psi
