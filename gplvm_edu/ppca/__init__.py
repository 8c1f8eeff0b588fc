"""PPCA, its dual, and factor analysis (chapter 1).

`closed_form` holds the likelihood and its maximum, `em` the algorithm for missing values and unequal noise,
`estimators` the scikit-learn classes.
"""
from .closed_form import (
                          dual_gradient,
                          dual_transform,
                          latent_posterior,
                          log_likelihood,
                          maximal_log_likelihood,
                          maximum_likelihood,
                          principal_axes,
                          sample_ppca,
)
from .em import LinearGaussian, Posterior, e_step, em_iterates, m_step
from .estimators import PPCA, DualPPCA, FactorAnalysis

__all__ = [
    "PPCA", "DualPPCA", "FactorAnalysis", "LinearGaussian", "Posterior", "dual_gradient", "dual_transform",
    "e_step", "em_iterates", "latent_posterior", "log_likelihood", "m_step", "maximal_log_likelihood",
    "maximum_likelihood", "principal_axes", "sample_ppca",
]
