"""The explorers of the course, one for each chapter: import `explore_NAME` and show it in a notebook.

Each is loaded when it is first asked for: a chapter waits for its own explorer and for no other.
"""

from importlib import import_module

_WHERE = {
    "em_lengths": "living",
    "explore_gplvm": "gplvm",
    "explore_gtm": "gtm",
    "explore_gtm_variants": "gtm_variants",
    "explore_ivm": "ivm",
    "explore_kernels": "kernels",
    "explore_noise": "noise",
    "explore_ppca": "ppca",
    "explore_prediction": "prediction",
    "explore_proximity": "proximity",
    "explore_tsne": "tsne",
    "explore_unify": "unify",
    "explore_variational": "variational",
    "explore_wishart": "wishart",
    "gp_posterior": "living",
    "latent_map": "living",
    "neighbour_graph": "living",
    "next_active_point": "living",
    "ppca_floor": "living",
    "show_source": "source",
    "site_by_hand": "living",
    "two_divergences": "living",
    "wishart_ellipses": "living",
}
__all__ = sorted(_WHERE)


def __getattr__(name):
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_WHERE[name]}", __name__), name)


def __dir__():
    return __all__
