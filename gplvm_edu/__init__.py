"""gplvm_edu: probabilistic non-linear dimensionality reduction, as functions to read and estimators to use."""

from typing import TYPE_CHECKING

from . import names
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
from .ivm import SparseGPLVM
from .ppca import PPCA, DualPPCA, FactorAnalysis
from .prediction import GenerativeClassifier
from .proximity import Isomap, MetricMDS, NonMetricMDS, SammonMapping
from .tsne import TSNE, TSNEPriorGPLVM
from .unify import ClassicalMDS, KernelPCA, MinorComponents
from .variational import BayesianGPLVM
from .wishart import ProbabilisticKernelPCA

__version__ = "0.2.0"
__all__ = [
    "GPLVM",
    "GTM",
    "PPCA",
    "TSNE",
    "BatchSOM",
    "BayesianGPLVM",
    "BayesianGTM",
    "ClassicalMDS",
    "DiscreteGTM",
    "DualPPCA",
    "FactorAnalysis",
    "GaussianProcessGTM",
    "GenerativeClassifier",
    "Isomap",
    "KernelPCA",
    "ManifoldAlignedGTM",
    "MetricMDS",
    "MinorComponents",
    "NonMetricMDS",
    "ProbabilisticKernelPCA",
    "SammonMapping",
    "SemiLinearGTM",
    "SparseGPLVM",
    "TSNEPriorGPLVM",
    "magnification_factors",
]

if not TYPE_CHECKING:  # a type checker would take it for a promise of every name
    __getattr__ = names.missing
