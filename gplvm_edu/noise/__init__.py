"""Noise models beyond the Gaussian, and how a Gaussian process learns through them (chapter 8).

`terms` holds the algebra of one observation, `model` the sites; `gaussian`, `probit`, `ordinal`, `poisson` and
`per_column` the classes; `posterior` assumed density filtering and expectation propagation for a whole Gaussian
process, `laplace` Laplace's approximation and `sampling` a long Markov chain beside them; `learning` what the evidence
teaches kernel and noise; `fast` the gradient in the cut points of many columns, and many columns' sweeps at once.
"""

from . import fast
from .gaussian import Gaussian
from .laplace import laplace_posterior
from .learning import Learnt, common_shift, frozen_site_gradient, learn_kernel_and_noise, learn_noise
from .model import Noise, match_moments, sites
from .ordinal import Ordinal, cut_gradients
from .per_column import PerColumn
from .poisson import Poisson, log_poisson, poisson_terms
from .posterior import SitePosterior, adf_posterior, cavities, ep_evidence, ep_posterior, predict_latent, site_posterior
from .probit import Probit
from .sampling import effective_size, elliptical_slice_samples, split_r_hat
from .terms import Terms, gaussian_terms, inverse_mills, ordinal_terms, probit_terms

__all__ = [
    "Gaussian",
    "Learnt",
    "Noise",
    "Ordinal",
    "PerColumn",
    "Poisson",
    "Probit",
    "SitePosterior",
    "Terms",
    "adf_posterior",
    "cavities",
    "common_shift",
    "cut_gradients",
    "effective_size",
    "elliptical_slice_samples",
    "ep_evidence",
    "ep_posterior",
    "fast",
    "frozen_site_gradient",
    "gaussian_terms",
    "inverse_mills",
    "laplace_posterior",
    "learn_kernel_and_noise",
    "learn_noise",
    "log_poisson",
    "match_moments",
    "ordinal_terms",
    "poisson_terms",
    "predict_latent",
    "probit_terms",
    "site_posterior",
    "sites",
    "split_r_hat",
]
