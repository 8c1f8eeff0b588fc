"""Kernels with their gradients, and Gaussian processes (chapter 2).

`elementary`, `stationary` and `network` hold the kernels, each with its formula and derivatives; `kernel` what they
share; `combinations` sums and products; `parameters` the softplus; `common` the start of a fit and the split into
function and noise; `gp` prior, posterior and marginal likelihood.
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
from .gp import gaussian_log_density, gp_gradients, gp_log_marginal_likelihood, gp_posterior, gp_prior_samples
from .kernel import Kernel
from .network import MLP
from .parameters import Positive, softplus, softplus_inverse, softplus_slope
from .stationary import RBF, Matern32, Periodic, Stationary, through_distances

__all__ = [
    "MLP",
    "RBF",
    "Bias",
    "Kernel",
    "Linear",
    "Matern32",
    "Periodic",
    "Positive",
    "Product",
    "Stationary",
    "Sum",
    "White",
    "common_start",
    "gaussian_log_density",
    "gp_gradients",
    "gp_log_marginal_likelihood",
    "gp_posterior",
    "gp_prior_samples",
    "in_units",
    "leaves",
    "noise_is_fixed",
    "relative",
    "scaled_to_data",
    "softplus",
    "softplus_inverse",
    "softplus_slope",
    "split_white",
    "through_distances",
    "warn_without_noise",
    "with_scales_fixed",
]
