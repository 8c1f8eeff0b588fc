"""One divergence for PCA, kernel PCA, classical MDS and the GP-LVM (chapter 3).

`divergence` holds the objective and its gradient, `closed_form` its minimum over linear covariances, `strain` the
criterion of classical MDS beside it, `distances` the steps from distances to similarities and back, `outputs` a scale
for each column; `estimators` and `minor` hold the scikit-learn classes.
"""

from .. import starts
from .closed_form import (
    Retained,
    centred,
    leading_eigenpairs,
    minimal_cross_entropy,
    minimal_divergence,
    minimiser,
    retained_sets,
    spectrum,
)
from .distances import (
    additive_constant,
    centre_new,
    distances_from_similarity,
    nearest_euclidean,
    new_distances,
    preimage_iterates,
    similarity_from_distances,
)
from .divergence import cross_entropy, gaussian_kl, gp_log_likelihood, kl_gradient, linear_divergence, nearest_diagonal
from .estimators import ClassicalMDS, KernelPCA
from .minor import MinorComponents
from .outputs import output_scales, scaled_log_likelihood
from .strain import strain, strain_minimiser

starts.add(
    "kernel_pca",
    lambda Y, n_components, random_state: KernelPCA(n_components).fit_transform(Y),
    keeps_proportions=False,
)

__all__ = [
    "ClassicalMDS",
    "KernelPCA",
    "MinorComponents",
    "Retained",
    "additive_constant",
    "centre_new",
    "centred",
    "cross_entropy",
    "distances_from_similarity",
    "gaussian_kl",
    "gp_log_likelihood",
    "kl_gradient",
    "leading_eigenpairs",
    "linear_divergence",
    "minimal_cross_entropy",
    "minimal_divergence",
    "minimiser",
    "nearest_diagonal",
    "nearest_euclidean",
    "new_distances",
    "output_scales",
    "preimage_iterates",
    "retained_sets",
    "scaled_log_likelihood",
    "similarity_from_distances",
    "spectrum",
    "strain",
    "strain_minimiser",
]
