"""The generative topographic mapping (chapter 9).

`grid` holds the latent side, `em` the algorithm (`fast` its E-step in less time, `gaps` the same with missing values),
`incremental` its version for a few points at a time, `sheet` the map, `selection` the choice of width and regulariser,
`model` what all models on a grid share, `estimator` the class, `som` the self-organising map beside it.
"""

from . import fast, gaps
from .em import (
    GTMState,
    e_step,
    em_iterates,
    log_densities,
    m_step,
    posterior_means,
    posterior_modes,
    responsibilities,
    solve_weights,
    squared_error,
    weighted_sums,
)
from .estimator import GTM
from .gaps import observed_squares
from .grid import Basis, basis_derivatives, basis_functions, grid_spacing, latent_grid, make_basis, principal_sheet
from .incremental import Sums, free_energy, incremental_iterates, partial_e_step, update_sums
from .model import SheetModel, weighted_moments
from .selection import Setting, best_setting, grid_search, log_evidence
from .sheet import SheetMap
from .som import BatchSOM, neighbourhood_smoother, process_smoother, som_iterates, winners

__all__ = [
    "GTM",
    "Basis",
    "BatchSOM",
    "GTMState",
    "Setting",
    "SheetMap",
    "SheetModel",
    "Sums",
    "basis_derivatives",
    "basis_functions",
    "best_setting",
    "e_step",
    "em_iterates",
    "fast",
    "free_energy",
    "gaps",
    "grid_search",
    "grid_spacing",
    "incremental_iterates",
    "latent_grid",
    "log_densities",
    "log_evidence",
    "m_step",
    "make_basis",
    "neighbourhood_smoother",
    "observed_squares",
    "partial_e_step",
    "posterior_means",
    "posterior_modes",
    "principal_sheet",
    "process_smoother",
    "responsibilities",
    "solve_weights",
    "som_iterates",
    "squared_error",
    "update_sums",
    "weighted_moments",
    "weighted_sums",
    "winners",
]
