"""gplvm_edu: probabilistic non-linear dimensionality reduction, as functions to read and estimators to use."""

__version__ = "0.1.0"
