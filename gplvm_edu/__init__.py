"""gplvm_edu: probabilistic non-linear dimensionality reduction, as functions to read and estimators to use."""
from .gplvm import GPLVM
from .ppca import PPCA, DualPPCA, FactorAnalysis
from .proximity import Isomap, MetricMDS, NonMetricMDS, SammonMapping
from .unify import ClassicalMDS, KernelPCA, MinorComponents
from .wishart import ProbabilisticKernelPCA

__version__ = "0.1.0"
__all__ = [
    "GPLVM", "PPCA", "ClassicalMDS", "DualPPCA", "FactorAnalysis", "Isomap", "KernelPCA", "MetricMDS",
    "MinorComponents", "NonMetricMDS", "ProbabilisticKernelPCA", "SammonMapping",
]
