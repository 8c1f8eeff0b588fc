"""The generative topographic mapping (chapter 9).

`grid` holds the latent side, `em` the algorithm, `incremental` its version for a few points at a time, `som` the
self-organising map beside it, `selection` the choice of width and regulariser, `estimator` the classes.
"""
from .em import (
    State,
    em_iterates,
    has_gaps,
    log_densities,
    m_step,
    observed_squares,
    posterior_means,
    posterior_modes,
    responsibilities,
    solve_weights,
    squared_error,
    weighted_sums,
)
from .estimator import GTM, BatchSOM
from .grid import (
    Basis,
    basis_derivatives,
    basis_functions,
    grid_spacing,
    latent_grid,
    make_basis,
    principal_sheet,
)
from .incremental import Sums, free_energy, incremental_iterates, partial_e_step, printed_variance, revise
from .selection import Tried, choose, log_evidence, scan
from .som import SOMState, neighbourhood_smoother, process_smoother, som_iterates, winners

__all__ = [
    "GTM", "Basis", "BatchSOM", "SOMState", "State", "Sums", "Tried", "basis_derivatives", "basis_functions", "choose",
    "em_iterates", "free_energy", "grid_spacing", "has_gaps", "incremental_iterates", "latent_grid", "log_densities",
    "log_evidence", "m_step", "make_basis", "neighbourhood_smoother", "observed_squares", "partial_e_step",
    "posterior_means", "posterior_modes", "principal_sheet", "printed_variance", "process_smoother",
    "responsibilities", "revise", "scan", "solve_weights", "som_iterates", "squared_error", "weighted_sums", "winners",
]
