"""The Bayesian Gaussian process latent variable model (chapter 12), and what it says about new rows (chapter 13).

`rbf_expectations` has the Gaussian integral, `kernel_expectations` the statistics that each kernel makes of it, `psi`
chooses between them; `bound` is the evidence lower bound (ELBO) of a group of outputs, `objective` the whole of it with
its gradient; `inducing_map` is the map of a fitted model and its moments, `latent_posterior` finds q(x*) of a new row,
`density` has the ratio of bounds; `estimator` the class.
"""

from .bound import BoundTerms, factorise, inducing_factor, inducing_posterior, kl_divergence, output_terms
from .density import gain_over_frozen, ratio_of_bounds
from .estimator import BayesianGPLVM, initial_inducing_inputs, initial_kernel
from .inducing_map import InducingMap, Moments, make_map, predict_moments
from .kernel_expectations import pairs
from .latent_posterior import LatentPosterior, find_latent_posterior, frozen_bound, linear_terms, maximise_frozen_bound
from .objective import (
    Gradients,
    Outputs,
    Packing,
    Parameters,
    VariationalState,
    bound_and_gradients,
    evaluate_bound,
    group_outputs,
    variational_iterates,
)
from .psi import psi_statistics
from .rbf_expectations import centre_features, expected_rbf, point_features, pull_back_sums, sum_expectations

__all__ = [
    "BayesianGPLVM",
    "BoundTerms",
    "Gradients",
    "InducingMap",
    "LatentPosterior",
    "Moments",
    "Outputs",
    "Packing",
    "Parameters",
    "VariationalState",
    "bound_and_gradients",
    "centre_features",
    "evaluate_bound",
    "expected_rbf",
    "factorise",
    "find_latent_posterior",
    "frozen_bound",
    "gain_over_frozen",
    "group_outputs",
    "inducing_factor",
    "inducing_posterior",
    "initial_inducing_inputs",
    "initial_kernel",
    "kl_divergence",
    "linear_terms",
    "make_map",
    "maximise_frozen_bound",
    "output_terms",
    "pairs",
    "point_features",
    "predict_moments",
    "psi_statistics",
    "pull_back_sums",
    "ratio_of_bounds",
    "sum_expectations",
    "variational_iterates",
]
