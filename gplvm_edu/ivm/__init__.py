"""The sparse GP-LVM by the informative vector machine (chapter 7).

`selection` chooses the active set, `active` holds its likelihood, `active_map` what it says about every other point,
`algorithm` the loop over both, `estimator` the class.
"""

from .active import (
    Sites,
    active_log_likelihood,
    observed_sites,
    optimise_active_set,
    printed_active_log_likelihood,
    selection_sites,
)
from .active_map import (
    ActiveMap,
    inactive_log_likelihood,
    latent_moments,
    likeliest_starts,
    log_likelihoods_at_active,
    place_inactive,
    selection_map,
)
from .algorithm import SparseOptions, SparseState, outer_step, sparse_iterates, sparse_model, total_log_likelihood
from .estimator import SparseGPLVM
from .selection import Choice, IVMPosterior, Selection, entropy_reductions, include, ivm_select, select_steps

__all__ = [
    "ActiveMap",
    "Choice",
    "IVMPosterior",
    "Selection",
    "Sites",
    "SparseGPLVM",
    "SparseOptions",
    "SparseState",
    "active_log_likelihood",
    "entropy_reductions",
    "inactive_log_likelihood",
    "include",
    "ivm_select",
    "latent_moments",
    "likeliest_starts",
    "log_likelihoods_at_active",
    "observed_sites",
    "optimise_active_set",
    "outer_step",
    "place_inactive",
    "printed_active_log_likelihood",
    "select_steps",
    "selection_map",
    "selection_sites",
    "sparse_iterates",
    "sparse_model",
    "total_log_likelihood",
]
