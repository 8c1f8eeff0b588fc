"""The developments of the GTM (chapter 10).

`aligned` is noise that lies along the sheet, `discrete` zeros, ones and categories, `semilinear` curved and straight
dimensions together, `evidence` the choice of stiffness, `process` the sheet as a Gaussian process, `magnification` how
much a map stretches, `beyond` four smaller steps; `ellipses`, `stiffness` and `table` hold the classes, which
share `variant`; `columns` reads tables, `toys` makes data.
"""
from .aligned import (
    across_precision,
    aligned_iterates,
    aligned_log_densities,
    rank_one_inverses,
    tangent_deviations,
)
from .beyond import forward_backward, mixed_responsibilities, mixture_iterates, random_walk
from .columns import check_labels, find_blocks, read_blocks
from .discrete import (
    Block,
    block_log_densities,
    block_means,
    bound_step,
    discrete_iterates,
    discrete_start,
    expected_log_likelihood,
    mixed_log_densities,
    newton_step,
)
from .ellipses import ManifoldAlignedGTM, SemiLinearGTM
from .evidence import approximate_hessian, bayesian_iterates, effective_parameters, exact_hessian, re_estimate
from .magnification import (
    area_elements,
    jacobians,
    magnification_factors,
    process_jacobians,
    sheet_jacobians,
    smoother_jacobians,
)
from .process import process_evidence, process_iterates, process_sheet, process_weights
from .semilinear import (
    directions_by_em,
    linear_coordinates,
    linear_directions,
    residual_covariance,
    semilinear_iterates,
    semilinear_start,
    semilinear_weights,
    shared_log_densities,
)
from .stiffness import BayesianGTM, GaussianProcessGTM
from .table import DiscreteGTM
from .toys import make_bent_line, make_curved_sheet, make_furrowed_sheet

__all__ = [
    "BayesianGTM", "Block", "DiscreteGTM", "GaussianProcessGTM", "ManifoldAlignedGTM", "SemiLinearGTM",
    "across_precision", "aligned_iterates", "aligned_log_densities", "approximate_hessian", "area_elements",
    "bayesian_iterates", "block_log_densities", "block_means", "bound_step", "check_labels", "directions_by_em",
    "discrete_iterates", "discrete_start", "effective_parameters", "exact_hessian", "expected_log_likelihood",
    "find_blocks", "forward_backward", "jacobians", "linear_coordinates", "linear_directions", "magnification_factors",
    "make_bent_line", "make_curved_sheet", "make_furrowed_sheet", "mixed_log_densities", "mixed_responsibilities",
    "mixture_iterates", "newton_step", "process_evidence", "process_iterates", "process_jacobians", "process_sheet",
    "process_weights", "random_walk", "rank_one_inverses", "re_estimate", "read_blocks", "residual_covariance",
    "semilinear_iterates", "semilinear_start", "semilinear_weights", "shared_log_densities", "sheet_jacobians",
    "smoother_jacobians", "tangent_deviations",
]
