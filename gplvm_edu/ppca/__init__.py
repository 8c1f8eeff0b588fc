"""PPCA, its dual, and factor analysis (chapter 1).

`closed_form` holds the likelihood and its maximum, `how_many` criteria for the number of components, `em` the algorithm
for missing values and unequal noise, `linear_map` the map that all three fit, `estimators` the scikit-learn classes.
"""

from .. import starts
from .closed_form import (
    dual_gradient,
    dual_mean,
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
from .em import (
    EStepPosterior,
    LinearGaussian,
    LinearGaussianState,
    e_step,
    em_iterates,
    expected_log_likelihood,
    m_step,
    on_principal_axes,
)
from .estimators import PPCA, DualPPCA, FactorAnalysis
from .how_many import bayesian_information, broken_stick, parallel_analysis
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
    "bayesian_information",
    "broken_stick",
    "dual_gradient",
    "dual_mean",
    "dual_transform",
    "dual_transform_observed",
    "e_step",
    "em_iterates",
    "expected_log_likelihood",
    "latent_posterior",
    "log_likelihood",
    "m_step",
    "maximal_log_likelihood",
    "maximum_likelihood",
    "on_principal_axes",
    "parallel_analysis",
    "principal_axes",
    "principal_scores",
    "sample_ppca",
]
