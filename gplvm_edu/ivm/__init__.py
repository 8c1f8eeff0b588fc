"""The sparse GP-LVM by the informative vector machine (chapter 7).

`selection` chooses the active set, `rules` holds other ways to choose it, `active` its likelihood, `active_map` what it
says about every other row, `inactive` where those rows go, `noise_variance` how Gaussian noise learns, `columns` which
noise a column has, `settle` its sites once more and what they teach, `algorithm` the loop over all of it, `estimator`
the class; `information` what a set of rows tells, `inducing` two relatives of the active set; `fast` the faster
selection.
"""

from . import fast
from .active import (
    Sites,
    active_log_likelihood,
    active_log_likelihood_by_column,
    observed_sites,
    optimise_active_set,
    printed_active_log_likelihood,
    selection_sites,
)
from .active_map import (
    ActiveMap,
    inactive_log_likelihood,
    inactive_log_likelihood_by_column,
    latent_moments,
    log_likelihoods_at_active,
    selection_map,
)
from .algorithm import SparseOptions, SparseState, outer_step, sparse_iterates, sparse_model, total_log_likelihood
from .columns import read_noise
from .estimator import SparseGPLVM
from .fast import select_active_set
from .inactive import likeliest_starts, place_inactive
from .inducing import inducing_log_likelihood, inducing_posterior
from .information import GUARANTEE, best_rows, greedy_rows, information
from .noise_variance import expected_squares, learn_noise_variances, place_covariances
from .rules import SELECTIONS, choose_active_set, kmeans_rows, pivoted_cholesky_rows, random_rows, select_among
from .selection import (
    IVMPosterior,
    Selection,
    column_groups,
    entropy_reductions,
    include,
    ivm_select,
    one_covariance,
    select_by_column,
)
from .settle import learn_response, settle_sites

__all__ = [
    "GUARANTEE",
    "SELECTIONS",
    "ActiveMap",
    "IVMPosterior",
    "Selection",
    "Sites",
    "SparseGPLVM",
    "SparseOptions",
    "SparseState",
    "active_log_likelihood",
    "active_log_likelihood_by_column",
    "best_rows",
    "choose_active_set",
    "column_groups",
    "entropy_reductions",
    "expected_squares",
    "fast",
    "greedy_rows",
    "inactive_log_likelihood",
    "inactive_log_likelihood_by_column",
    "include",
    "inducing_log_likelihood",
    "inducing_posterior",
    "information",
    "ivm_select",
    "kmeans_rows",
    "latent_moments",
    "learn_noise_variances",
    "learn_response",
    "likeliest_starts",
    "log_likelihoods_at_active",
    "observed_sites",
    "one_covariance",
    "optimise_active_set",
    "outer_step",
    "pivoted_cholesky_rows",
    "place_covariances",
    "place_inactive",
    "printed_active_log_likelihood",
    "random_rows",
    "read_noise",
    "select_active_set",
    "select_among",
    "select_by_column",
    "selection_map",
    "selection_sites",
    "settle_sites",
    "sparse_iterates",
    "sparse_model",
    "total_log_likelihood",
]
