"""t-SNE, and t-SNE as the prior of a GP-LVM (chapter 11).

`affinities` says who is whose neighbour in the data, `energy` how badly a map says the same (`fast` in less time),
`descent` is t-SNE, `prior` adds the energy to a GP-LVM, `estimators` has the classes.
"""

from . import fast
from .affinities import conditional_affinities, joint_affinities, printed_affinities, row_entropy, search_precision
from .descent import TSNEState, tsne_iterates
from .energy import class_energy, cost_and_gradient, divergence, printed_cost_and_gradient, student_affinities
from .estimators import TSNE, TSNEPriorGPLVM
from .prior import (
    TSNEPosterior,
    bandwidth_range,
    best_bandwidth,
    likelihood_share,
    paper_kernel,
    posterior_and_gradients,
    prior_iterates,
    with_bandwidth,
)

__all__ = [
    "TSNE",
    "TSNEPosterior",
    "TSNEPriorGPLVM",
    "TSNEState",
    "bandwidth_range",
    "best_bandwidth",
    "class_energy",
    "conditional_affinities",
    "cost_and_gradient",
    "divergence",
    "fast",
    "joint_affinities",
    "likelihood_share",
    "paper_kernel",
    "posterior_and_gradients",
    "printed_affinities",
    "printed_cost_and_gradient",
    "prior_iterates",
    "row_entropy",
    "search_precision",
    "student_affinities",
    "tsne_iterates",
    "with_bandwidth",
]
