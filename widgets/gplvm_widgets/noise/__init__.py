"""`explore_noise`: one observation and the Gaussian that stands in for it; and handwritten twos with pixels missing.

`site` and `twos` each draw one panel, `explore` has the controls.
"""

from .explore import NoiseExplorer, explore_noise
from .site import panel_site
from .twos import panel_twos

__all__ = ["NoiseExplorer", "explore_noise", "panel_site", "panel_twos"]
