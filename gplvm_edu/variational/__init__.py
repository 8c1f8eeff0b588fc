"""The Bayesian Gaussian process latent variable model (chapter 12).

`bells` has the Gaussian integral, `psi` the statistics made of it, `bound` the bound of a group of outputs, `objective`
the whole of it with its gradient, `estimator` the class.
"""
from .bells import (
    bell_features,
    expected_bells,
    pairs,
    point_features,
    pull_back_bells,
    pull_back_points,
    pull_back_sums,
    sum_bells,
)
from .bound import (
    BoundTerms,
    Factors,
    factorise,
    inducing_factor,
    inducing_posterior,
    kl_divergence,
    output_gradients,
    output_terms,
)
from .estimator import (
    BayesianGPLVM,
    OutputGroup,
    Posterior,
    initial_inducing_inputs,
    initial_kernel,
    posterior_of,
    relevance_weights,
)
from .objective import (
    Evaluation,
    Gradients,
    Outputs,
    Packing,
    Parameters,
    State,
    bound_and_gradients,
    evaluate_bound,
    group_outputs,
    variational_iterates,
)
from .psi import PsiStatistics, bias_psi, check_kernel, linear_psi, point_psi, psi_statistics, rbf_psi, split_noise

__all__ = [
    "BayesianGPLVM", "BoundTerms", "Evaluation", "Factors", "Gradients", "OutputGroup", "Outputs", "Packing",
    "Parameters", "Posterior", "PsiStatistics", "State", "bell_features", "bias_psi", "bound_and_gradients",
    "check_kernel", "evaluate_bound", "expected_bells", "factorise", "group_outputs", "inducing_factor",
    "inducing_posterior", "initial_inducing_inputs", "initial_kernel", "kl_divergence", "linear_psi",
    "output_gradients", "output_terms", "pairs", "point_features", "point_psi", "posterior_of", "psi_statistics",
    "pull_back_bells", "pull_back_points", "pull_back_sums", "rbf_psi", "relevance_weights", "split_noise",
    "sum_bells", "variational_iterates",
]
