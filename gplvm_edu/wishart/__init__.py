"""Wishart processes and probabilistic kernel PCA (chapter 4).

`density` holds the Wishart distribution of a kernel matrix, singular or not; `model` the likelihood of probabilistic
kernel PCA and its maximum; `em` the iterative way to it (`fast` with one product a step); `estimator` the class.
"""

from . import fast
from .density import features_from_kernel, sample_features, sample_wishart, wishart_log_density
from .em import WishartState, em_iterates, em_progress, em_rates, em_step, start_positions
from .estimator import ProbabilisticKernelPCA
from .model import (
    distance_covariance,
    kernel_covariance,
    log_likelihood,
    maximum_likelihood,
    place_new_points,
    sample_kernel,
)

__all__ = [
    "ProbabilisticKernelPCA",
    "WishartState",
    "distance_covariance",
    "em_iterates",
    "em_progress",
    "em_rates",
    "em_step",
    "fast",
    "features_from_kernel",
    "kernel_covariance",
    "log_likelihood",
    "maximum_likelihood",
    "place_new_points",
    "sample_features",
    "sample_kernel",
    "sample_wishart",
    "start_positions",
    "wishart_log_density",
]
