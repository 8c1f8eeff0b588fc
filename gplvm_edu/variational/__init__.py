"""The Bayesian Gaussian process latent variable model (chapter 12), and what it says about new rows (chapter 13).

The lesson, for complete data and in the page's formulas: `psi` has the Psi statistics and their gradients, `bound` the
evidence lower bound (ELBO) from them, `objective` the whole of it with its gradient and its maximisation; `moments`
what phi(u) says at one latent point, `frozen` the bound on one new row, `density` the ratio of bounds. `gaps` wraps
them for missing outputs, `fast` has the same numbers sooner. `kernel_parts` says which kernels will do. Then
`inducing_map`, the map of a fitted model, `latent_posterior`, which finds q(x*) of new rows, and `estimator`, the
class.
"""

from . import fast, gaps
from .bound import (
    BoundTerms,
    explained,
    factorise,
    inducing_factor,
    inducing_posterior,
    kl_divergence,
    output_gradients,
    output_terms,
)
from .density import gain_over_frozen, ratio_of_bounds
from .estimator import BayesianGPLVM, initial_inducing_inputs, initial_kernel
from .frozen import LinearTerms, expected_log_likelihood, frozen_bound, linear_terms
from .inducing_map import InducingMap, make_map
from .latent_posterior import LatentPosterior, find_latent_posterior, maximise_frozen_bound
from .moments import FrozenMap, Moments, freeze, point_statistics, predict_moments
from .objective import (
    Gradients,
    Packing,
    Parameters,
    VariationalState,
    bound_and_gradients,
    data_gradients,
    evaluate_bound,
    variational_iterates,
)
from .psi import (
    PsiGradients,
    PsiStatistics,
    add_bias,
    add_bias_gradients,
    linear_psi,
    linear_psi_gradients,
    psi_gradients,
    psi_statistics,
    rbf_psi1,
    rbf_psi1_gradients,
    rbf_psi2,
    rbf_psi2_gradients,
)

__all__ = [
    "BayesianGPLVM",
    "BoundTerms",
    "FrozenMap",
    "Gradients",
    "InducingMap",
    "LatentPosterior",
    "LinearTerms",
    "Moments",
    "Packing",
    "Parameters",
    "PsiGradients",
    "PsiStatistics",
    "VariationalState",
    "add_bias",
    "add_bias_gradients",
    "bound_and_gradients",
    "data_gradients",
    "evaluate_bound",
    "expected_log_likelihood",
    "explained",
    "factorise",
    "fast",
    "find_latent_posterior",
    "freeze",
    "frozen_bound",
    "gain_over_frozen",
    "gaps",
    "inducing_factor",
    "inducing_posterior",
    "initial_inducing_inputs",
    "initial_kernel",
    "kl_divergence",
    "linear_psi",
    "linear_psi_gradients",
    "linear_terms",
    "make_map",
    "maximise_frozen_bound",
    "output_gradients",
    "output_terms",
    "point_statistics",
    "predict_moments",
    "psi_gradients",
    "psi_statistics",
    "ratio_of_bounds",
    "rbf_psi1",
    "rbf_psi1_gradients",
    "rbf_psi2",
    "rbf_psi2_gradients",
    "variational_iterates",
]
