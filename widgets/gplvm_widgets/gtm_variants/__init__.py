"""`explore_gtm_variants`: six sheets through the same toy data, their noise, their evidence and how far they stretch.

`fit` makes the models, `panel` draws them, `explore` has the controls.
"""

from .explore import GTMVariantsExplorer, explore_gtm_variants
from .panel import panel_gtm_variants

__all__ = ["GTMVariantsExplorer", "explore_gtm_variants", "panel_gtm_variants"]
