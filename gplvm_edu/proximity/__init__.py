"""Maps from proximities: where to start a GP-LVM (chapter 6).

`geodesics` holds the neighbour graph and its shortest paths, `neighbours` the choice of how many neighbours,
`spectral` Laplacian eigenmaps and locally linear embedding, `stress` the metric stresses and how to lower them,
`nonmetric` isotonic regression and Kruskal's stress, `estimators` the scikit-learn classes. Classical MDS, which
Isomap uses, is in chapter 3 (`gplvm_edu.unify`); `gplvm_edu.starts` turns an embedding into a start.
"""

from ..starts import add as add_start
from .estimators import Isomap, MetricMDS, NonMetricMDS, SammonMapping
from .geodesics import (
    bridge_components,
    geodesic_distances,
    geodesics_to_new,
    graph_components,
    neighbour_graph,
    principal_coordinates,
    residual_variance,
    short_circuits,
    smallest_connecting_k,
)
from .neighbours import FALL, NeighbourChoice, choose_neighbours, longest_geodesic
from .nonmetric import disparities, kruskal_stress, nonmetric_iterates, pool_adjacent_violators
from .spectral import laplacian_coordinates, laplacian_start, lle_coordinates, lle_start, reconstruction_weights
from .stress import StressState, guttman_transform, sammon_iterates, sammon_stress, smacof_iterates, stress

add_start("isomap", lambda Y, n_components, random_state: Isomap(n_components).fit_transform(Y), keeps_proportions=True)
add_start("laplacian", laplacian_start, keeps_proportions=False)
add_start("lle", lle_start, keeps_proportions=False)

__all__ = [
    "FALL",
    "Isomap",
    "MetricMDS",
    "NeighbourChoice",
    "NonMetricMDS",
    "SammonMapping",
    "StressState",
    "bridge_components",
    "choose_neighbours",
    "disparities",
    "geodesic_distances",
    "geodesics_to_new",
    "graph_components",
    "guttman_transform",
    "kruskal_stress",
    "laplacian_coordinates",
    "lle_coordinates",
    "longest_geodesic",
    "neighbour_graph",
    "nonmetric_iterates",
    "pool_adjacent_violators",
    "principal_coordinates",
    "reconstruction_weights",
    "residual_variance",
    "sammon_iterates",
    "sammon_stress",
    "short_circuits",
    "smacof_iterates",
    "smallest_connecting_k",
    "stress",
]
