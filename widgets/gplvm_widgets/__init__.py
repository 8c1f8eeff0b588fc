"""The explorers of the course, one for each chapter: import `explore_NAME` and show it in a notebook."""
from .gplvm import explore_gplvm
from .gtm import explore_gtm
from .gtm_variants import explore_gtm_variants
from .kernels import explore_kernels
from .latent_picture import latent_picture
from .ppca import explore_ppca
from .proximity import explore_proximity
from .source import show_source
from .unify import explore_unify
from .wishart import explore_wishart

__all__ = [
    "explore_gplvm", "explore_gtm", "explore_gtm_variants", "explore_kernels", "explore_ppca", "explore_proximity",
    "explore_unify", "explore_wishart", "latent_picture", "show_source",
]
