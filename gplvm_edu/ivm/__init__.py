"""The sparse GP-LVM by the informative vector machine (chapter 7).

`selection` chooses the active set, `active` holds its likelihood, `mapping` what it says about every other point,
`algorithm` the loop over both, `estimator` the class.
"""
from .active import Sites, active_log_likelihood, climb_active, printed_active_log_likelihood, sites_of
from .algorithm import (
                        SparseState,
                        likelier_places,
                        model_of,
                        observed_sites,
                        outer_step,
                        sparse_iterates,
                        split_noise,
                        total_log_likelihood,
)
from .estimator import SparseGPLVM, start_kernel
from .mapping import (
                      SparseMapping,
                      inactive_log_likelihood,
                      latent_moments,
                      nearest_rows,
                      place_inactive,
                      project_sparse,
                      sparse_mapping,
                      values_at_active_places,
)
from .selection import Choice, Posterior, Selection, entropy_reductions, include, ivm_select, select_steps

__all__ = [
    "Choice", "Posterior", "Selection", "Sites", "SparseGPLVM", "SparseMapping", "SparseState",
    "active_log_likelihood", "climb_active", "entropy_reductions", "inactive_log_likelihood", "include", "ivm_select",
    "latent_moments", "likelier_places", "model_of", "nearest_rows", "observed_sites", "outer_step", "place_inactive",
    "printed_active_log_likelihood", "project_sparse", "select_steps", "sites_of", "sparse_iterates",
    "sparse_mapping", "split_noise", "start_kernel", "total_log_likelihood",
    "values_at_active_places",
]
