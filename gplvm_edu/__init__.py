"""gplvm_edu: probabilistic non-linear dimensionality reduction, as functions to read and estimators to use."""
from .gplvm import GPLVM
from .gtm import GTM, BatchSOM
from .gtm_variants import (
    BayesianGTM,
    DiscreteGTM,
    GaussianProcessGTM,
    ManifoldAlignedGTM,
    SemiLinearGTM,
    magnification_factors,
)
from .ppca import PPCA, DualPPCA, FactorAnalysis
from .proximity import Isomap, MetricMDS, NonMetricMDS, SammonMapping
from .unify import ClassicalMDS, KernelPCA, MinorComponents
from .wishart import ProbabilisticKernelPCA

__version__ = "0.1.0"
__all__ = [
    "GPLVM", "GTM", "PPCA", "BatchSOM", "BayesianGTM", "ClassicalMDS", "DiscreteGTM", "DualPPCA", "FactorAnalysis",
    "GaussianProcessGTM", "Isomap", "KernelPCA", "ManifoldAlignedGTM", "MetricMDS", "MinorComponents", "NonMetricMDS",
    "ProbabilisticKernelPCA", "SammonMapping", "SemiLinearGTM", "magnification_factors",
]
