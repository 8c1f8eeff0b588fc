"""Living figures: pictures that compute in the page, by hand, finger or key, with no kernel and no network.

`living` puts a scene into a page together with a small function of its own; `latent_map` and `gp_posterior` are two.
"""

from .figure import LivingFigure, living, modules
from .gp_posterior import gp_posterior
from .latent_map import latent_map

__all__ = ["LivingFigure", "gp_posterior", "latent_map", "living", "modules"]
