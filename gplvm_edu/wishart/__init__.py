"""Wishart processes and probabilistic kernel PCA (chapter 4).

`density` holds the Wishart distribution of a kernel matrix, singular or not; `model` the likelihood of probabilistic
kernel PCA and its maximum; `em` the iterative way to it (`fast` with one product a step); `twin` a kernel on the latent
side; `estimator` the class.
"""

from . import fast
from .density import features_from_kernel, log_frame_volume, sample_features, sample_wishart, wishart_log_density
from .em import WishartState, em_forecast, em_iterates, em_progress, em_rates, em_step, em_steps, start_positions
from .estimator import ProbabilisticKernelPCA
from .model import (
    distance_covariance,
    kernel_covariance,
    log_likelihood,
    maximum_likelihood,
    place_new_points,
    sample_kernel,
)
from .twin import contrast_precision, latent_iterates, latent_log_likelihood

__all__ = [
    "ProbabilisticKernelPCA",
    "WishartState",
    "contrast_precision",
    "distance_covariance",
    "em_forecast",
    "em_iterates",
    "em_progress",
    "em_rates",
    "em_step",
    "em_steps",
    "fast",
    "features_from_kernel",
    "kernel_covariance",
    "latent_iterates",
    "latent_log_likelihood",
    "log_frame_volume",
    "log_likelihood",
    "maximum_likelihood",
    "place_new_points",
    "sample_features",
    "sample_kernel",
    "sample_wishart",
    "start_positions",
    "wishart_log_density",
]
