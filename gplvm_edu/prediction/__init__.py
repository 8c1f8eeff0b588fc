"""Test points of the Bayesian GP-LVM (chapter 13).

`statistics` has the Psi statistics of each point, `output_map` the moments of the data at fuzzy points, `latent` the
posterior q(x*), `density` the ratio of bounds, `questions` all of it asked of a model, `uncertain` regression with
uncertain inputs, `classifier` one model for each class.
"""
from .classifier import GenerativeClassifier, with_noise
from .density import ratio_of_bounds
from .latent import LatentPosterior, LinearTerms, climb, frozen_bound, infer, linear_terms
from .output_map import Moments, OutputMap, output_map, predict_covariance, predict_moments
from .questions import Reconstruction, check_rows, latent_posterior, log_density, predict, reconstruct
from .statistics import RowStatistics, row_statistics, whole
from .uncertain import predict_uncertain, uncertain_regression

__all__ = [
    "GenerativeClassifier", "LatentPosterior", "LinearTerms", "Moments", "OutputMap", "Reconstruction", "RowStatistics",
    "check_rows", "climb", "frozen_bound", "infer", "latent_posterior", "linear_terms", "log_density", "output_map",
    "predict", "predict_covariance", "predict_moments", "predict_uncertain", "ratio_of_bounds", "reconstruct",
    "row_statistics", "uncertain_regression", "whole", "with_noise",
]
