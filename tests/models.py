"""All estimators of the course, and the one that the README writes in forty lines, with settings for quick fits."""

import re
import sys
import types
from pathlib import Path

from sklearn.base import BaseEstimator

import gplvm_edu

README = Path(__file__).resolve().parents[1] / "README.md"


def readme_model():
    """The class that the README writes for a newcomer, executed as it stands there."""
    block = next(
        text
        for text in re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
        if "class QuadraticPCA" in text
    )
    module = sys.modules.setdefault("readme_model", types.ModuleType("readme_model"))  # where pickle will look
    exec(compile(block, str(README), "exec"), vars(module))
    return module.QuadraticPCA


QUICK = {  # settings with which each is fitted in a blink
    "FactorAnalysis": dict(max_iter=100),
    "GPLVM": dict(max_iter=15),
    "SparseGPLVM": dict(n_active=15, max_iter=2),
    "BayesianGPLVM": dict(n_components=2, n_inducing=10, max_iter=15),
    "GTM": dict(grid=(6, 6), basis=(3, 3), max_iter=10),
    "BatchSOM": dict(grid=(5, 5), max_iter=8),
    "ManifoldAlignedGTM": dict(grid=(5, 5), basis=(2, 2), max_iter=8),
    "DiscreteGTM": dict(grid=(5, 5), basis=(2, 2), max_iter=8),
    "SemiLinearGTM": dict(grid=(6,), basis=(3,), max_iter=8),
    "BayesianGTM": dict(grid=(5, 5), basis=(2, 2), max_iter=8),
    "GaussianProcessGTM": dict(grid=(4, 4), max_iter=8),
    "TSNE": dict(max_iter=40),
    "TSNEPriorGPLVM": dict(max_iter=5, init="pca"),
    "ProbabilisticKernelPCA": dict(method="em", max_iter=60),
    "MetricMDS": dict(max_iter=20),
    "SammonMapping": dict(max_iter=20),
    "NonMetricMDS": dict(max_iter=20),
    "GenerativeClassifier": dict(n_components=2, n_inducing=5, max_iter=5),
    "QuadraticPCA": dict(max_iter=20),
}
CLASSES = {
    name: getattr(gplvm_edu, name)
    for name in gplvm_edu.__all__
    if isinstance(getattr(gplvm_edu, name), type) and issubclass(getattr(gplvm_edu, name), BaseEstimator)
}
CLASSES["QuadraticPCA"] = readme_model()
