"""`explore_gplvm`: watch the GP-LVM learn, go back through its steps, and drag a cross through what it has learned.

`source` and `table` say where the points come from, `fit` holds the model at one iterate, `panel` draws it, `explore`
has the controls.
"""

from .explore import GPLVMExplorer, explore_gplvm
from .fit import PrintedGPLVM
from .panel import panel_gplvm
from .table import read_table

__all__ = ["GPLVMExplorer", "PrintedGPLVM", "explore_gplvm", "panel_gplvm", "read_table"]
