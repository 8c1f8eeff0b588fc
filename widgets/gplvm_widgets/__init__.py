"""The explorers of the course, one for each chapter: import `explore_NAME` and show it in a notebook."""

from .gplvm import explore_gplvm
from .gtm import explore_gtm
from .gtm_variants import explore_gtm_variants
from .ivm import explore_ivm
from .kernels import explore_kernels
from .latent_picture import latent_picture
from .noise import explore_noise
from .ppca import explore_ppca
from .prediction import explore_prediction
from .proximity import explore_proximity
from .source import show_source
from .tsne import explore_tsne
from .unify import explore_unify
from .variational import explore_variational
from .wishart import explore_wishart

__all__ = [
    "explore_gplvm",
    "explore_gtm",
    "explore_gtm_variants",
    "explore_ivm",
    "explore_kernels",
    "explore_noise",
    "explore_ppca",
    "explore_prediction",
    "explore_proximity",
    "explore_tsne",
    "explore_unify",
    "explore_variational",
    "explore_wishart",
    "latent_picture",
    "show_source",
]
