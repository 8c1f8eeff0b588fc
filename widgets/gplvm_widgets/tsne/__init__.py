"""`explore_tsne`: slide from the GP-LVM to t-SNE, and decode any place of the latent space on the way.

`fit` holds the models, `panel` draws one of them, `explore` has the controls and prepares the rest of the slider.
"""

from .explore import TSNEExplorer, explore_tsne
from .fit import PrintedTSNEPriorGPLVM
from .panel import panel_tsne

__all__ = ["PrintedTSNEPriorGPLVM", "TSNEExplorer", "explore_tsne", "panel_tsne"]
