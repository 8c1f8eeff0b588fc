"""Kernels with their gradients, and Gaussian processes (chapter 2).

`elementary`, `stationary` and `network` hold the kernels, each with its formula and derivatives; `kernel` what they
share; `combinations` sums and products; `parameters` the softplus; `gp` prior, posterior and marginal likelihood.
"""
from .combinations import Product, Sum
from .elementary import Bias, Linear, White
from .gp import gp_gradients, gp_log_marginal_likelihood, gp_posterior, gp_prior_samples
from .kernel import Kernel
from .network import MLP
from .parameters import Positive, softplus, softplus_inverse, softplus_slope
from .stationary import RBF, Matern32, Periodic, Stationary, through_distances

__all__ = [
    "MLP", "RBF", "Bias", "Kernel", "Linear", "Matern32", "Periodic", "Positive", "Product", "Stationary", "Sum",
    "White", "gp_gradients", "gp_log_marginal_likelihood", "gp_posterior", "gp_prior_samples", "softplus",
    "softplus_inverse", "softplus_slope", "through_distances",
]
