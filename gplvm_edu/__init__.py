"""gplvm_edu: probabilistic non-linear dimensionality reduction, as functions to read and estimators to use."""
from .ppca import PPCA, DualPPCA, FactorAnalysis

__version__ = "0.1.0"
__all__ = ["PPCA", "DualPPCA", "FactorAnalysis"]
