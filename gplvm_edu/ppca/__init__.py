"""PPCA, its dual, and factor analysis (chapter 1).

`closed_form` holds the likelihood and its maximum, `em` the algorithm for missing values and unequal noise,
`linear_map` the map that all three fit, `estimators` the scikit-learn classes.
"""

from .. import starts
from .closed_form import (
    dual_gradient,
    dual_transform,
    dual_transform_observed,
    latent_posterior,
    log_likelihood,
    maximal_log_likelihood,
    maximum_likelihood,
    principal_axes,
    principal_scores,
    sample_ppca,
)
from .em import EStepPosterior, LinearGaussian, LinearGaussianState, e_step, em_iterates, m_step, on_principal_axes
from .estimators import PPCA, DualPPCA, FactorAnalysis
from .linear_map import LinearMap

starts.add("pca", principal_scores, keeps_proportions=False)

__all__ = [
    "PPCA",
    "DualPPCA",
    "EStepPosterior",
    "FactorAnalysis",
    "LinearGaussian",
    "LinearGaussianState",
    "LinearMap",
    "dual_gradient",
    "dual_transform",
    "dual_transform_observed",
    "e_step",
    "em_iterates",
    "latent_posterior",
    "log_likelihood",
    "m_step",
    "maximal_log_likelihood",
    "maximum_likelihood",
    "on_principal_axes",
    "principal_axes",
    "principal_scores",
    "sample_ppca",
]
