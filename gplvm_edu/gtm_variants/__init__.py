"""The developments of the GTM (chapter 10), one file a model.

`aligned` is noise along the manifold (its covariances: `tangents`), `discrete` zeros, ones and categories
(`columns` reads tables, `categories` has densities and steps), `semilinear` curved and straight dimensions together
(the straight ones: `linear_part`), `bayesian` the regulariser chosen by the evidence, `process` the sheet as a
Gaussian process. `magnification` is how much a map stretches, `mixtures` and `sequences` are smaller steps.
"""

from .aligned import AlignedMap, ManifoldAlignedGTM, across_precision, aligned_iterates
from .bayesian import (
    BayesianGTM,
    approximate_hessian,
    bayesian_iterates,
    effective_parameters,
    exact_hessian,
    re_estimate,
)
from .categories import (
    block_log_densities,
    block_means,
    bound_step,
    expected_log_likelihood,
    mixed_log_densities,
    newton_step,
)
from .columns import Block, find_blocks
from .discrete import DiscreteGTM, DiscreteMap, discrete_iterates
from .linear_part import (
    directions_by_em,
    linear_coordinates,
    linear_directions,
    residual_covariance,
    shared_log_densities,
)
from .magnification import area_elements, magnification_factors, smoother_jacobians
from .mixtures import MixtureState, mixture_iterates
from .process import GaussianProcessGTM, ProcessSheetMap, process_evidence, process_iterates, process_weights
from .semilinear import SemiLinearGTM, SemiLinearMap, semilinear_iterates, semilinear_start, semilinear_weights
from .sequences import forward_backward, random_walk
from .tangents import aligned_log_densities, rank_one_inverses, tangent_deviations

__all__ = [
    "AlignedMap",
    "BayesianGTM",
    "Block",
    "DiscreteGTM",
    "DiscreteMap",
    "GaussianProcessGTM",
    "ManifoldAlignedGTM",
    "MixtureState",
    "ProcessSheetMap",
    "SemiLinearGTM",
    "SemiLinearMap",
    "across_precision",
    "aligned_iterates",
    "aligned_log_densities",
    "approximate_hessian",
    "area_elements",
    "bayesian_iterates",
    "block_log_densities",
    "block_means",
    "bound_step",
    "directions_by_em",
    "discrete_iterates",
    "effective_parameters",
    "exact_hessian",
    "expected_log_likelihood",
    "find_blocks",
    "forward_backward",
    "linear_coordinates",
    "linear_directions",
    "magnification_factors",
    "mixed_log_densities",
    "mixture_iterates",
    "newton_step",
    "process_evidence",
    "process_iterates",
    "process_weights",
    "random_walk",
    "rank_one_inverses",
    "re_estimate",
    "residual_covariance",
    "semilinear_iterates",
    "semilinear_start",
    "semilinear_weights",
    "shared_log_densities",
    "smoother_jacobians",
    "tangent_deviations",
]
