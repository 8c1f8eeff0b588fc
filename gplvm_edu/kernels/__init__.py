"""Kernels with their gradients, and Gaussian processes (chapter 2).

`elementary`, `stationary` and `network` hold the kernels, each with its formula and derivatives; `kernel` what they
share; `combinations` sums and products; `parameters` the softplus; `common` the start of a fit and the split into
function and noise; `gp` posterior and marginal likelihood; `evidence` the latter as a surface to climb;
`samples` functions drawn before and after the data; `spectra` the waves of stationary kernels.
"""

from .combinations import Product, Sum
from .common import (
    common_start,
    in_units,
    leaves,
    noise_is_fixed,
    relative,
    scaled_to_data,
    split_white,
    warn_without_noise,
    with_scales_fixed,
)
from .elementary import Bias, Linear, White
from .evidence import climb_evidence, evidence_surface
from .gp import (
    EvidenceTerms,
    evidence_terms,
    gaussian_log_density,
    gp_gradients,
    gp_leave_one_out,
    gp_log_marginal_likelihood,
    gp_posterior,
)
from .kernel import Kernel
from .network import MLP
from .parameters import Positive, softplus, softplus_inverse, softplus_slope
from .samples import gp_posterior_samples, gp_prior_samples
from .spectra import random_waves, spectral_density, spectral_lines
from .stationary import RBF, Matern32, Periodic, Stationary, through_distances

__all__ = [
    "MLP",
    "RBF",
    "Bias",
    "EvidenceTerms",
    "Kernel",
    "Linear",
    "Matern32",
    "Periodic",
    "Positive",
    "Product",
    "Stationary",
    "Sum",
    "White",
    "climb_evidence",
    "common_start",
    "evidence_surface",
    "evidence_terms",
    "gaussian_log_density",
    "gp_gradients",
    "gp_leave_one_out",
    "gp_log_marginal_likelihood",
    "gp_posterior",
    "gp_posterior_samples",
    "gp_prior_samples",
    "in_units",
    "leaves",
    "noise_is_fixed",
    "random_waves",
    "relative",
    "scaled_to_data",
    "softplus",
    "softplus_inverse",
    "softplus_slope",
    "spectral_density",
    "spectral_lines",
    "split_white",
    "through_distances",
    "warn_without_noise",
    "with_scales_fixed",
]
