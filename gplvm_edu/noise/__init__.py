"""Noise models beyond the Gaussian, and how a Gaussian process learns through them (chapter 8).

`terms` holds the algebra of one observation, `model` the sites; `gaussian`, `probit`, `ordinal`, `poisson` and
`per_column` the classes; `posterior` assumed density filtering and expectation propagation for a whole Gaussian
process; `fast` the gradient in the cut points of many columns.
"""

from . import fast
from .gaussian import Gaussian
from .model import Noise, match_moments, sites
from .ordinal import Ordinal, cut_gradients
from .per_column import PerColumn
from .poisson import Poisson, log_poisson, poisson_terms
from .posterior import SitePosterior, adf_posterior, ep_evidence, ep_posterior, site_posterior
from .probit import Probit
from .terms import Terms, gaussian_terms, inverse_mills, ordinal_terms, probit_terms

__all__ = [
    "Gaussian",
    "Noise",
    "Ordinal",
    "PerColumn",
    "Poisson",
    "Probit",
    "SitePosterior",
    "Terms",
    "adf_posterior",
    "cut_gradients",
    "ep_evidence",
    "ep_posterior",
    "fast",
    "gaussian_terms",
    "inverse_mills",
    "log_poisson",
    "match_moments",
    "ordinal_terms",
    "poisson_terms",
    "probit_terms",
    "site_posterior",
    "sites",
]
