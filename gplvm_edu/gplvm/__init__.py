"""The Gaussian process latent variable model (chapter 5).

`likelihood` holds the objective and its gradient, `process_map` the way to the data and back, `estimator` the class.
"""

from .estimator import GPLVM, JITTER
from .likelihood import (
    Factorised,
    GPLVMState,
    factorise,
    gplvm_iterates,
    kernel_matrix_gradient,
    log_likelihood,
    value_and_gradients,
)
from .process_map import ProcessMap, point_log_likelihood, predict, sampled_log_likelihood

__all__ = [
    "GPLVM",
    "JITTER",
    "Factorised",
    "GPLVMState",
    "ProcessMap",
    "factorise",
    "gplvm_iterates",
    "kernel_matrix_gradient",
    "log_likelihood",
    "point_log_likelihood",
    "predict",
    "sampled_log_likelihood",
    "value_and_gradients",
]
