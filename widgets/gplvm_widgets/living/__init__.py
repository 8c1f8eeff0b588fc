"""Living figures: pictures that compute in the page, by hand, finger or key, with no kernel and no network.

`living` puts a scene into a page together with a small function of its own; all the others are figures made with it.
"""

from .em_lengths import em_lengths
from .figure import LivingFigure, living, modules
from .gp_posterior import gp_posterior
from .latent_map import latent_map
from .neighbour_graph import neighbour_graph
from .next_active_point import next_active_point
from .ppca_floor import ppca_floor
from .site_by_hand import site_by_hand
from .two_divergences import two_divergences
from .wishart_ellipses import wishart_ellipses

__all__ = [
    "LivingFigure",
    "em_lengths",
    "gp_posterior",
    "latent_map",
    "living",
    "modules",
    "neighbour_graph",
    "next_active_point",
    "ppca_floor",
    "site_by_hand",
    "two_divergences",
    "wishart_ellipses",
]
