"""The Gaussian process latent variable model (chapter 5).

`likelihood` holds the objective and its gradient, `mapping` the way to the data and back, `estimator` the class.
"""
from .estimator import GPLVM, default_kernel, initial_positions
from .likelihood import (
                         Factorised,
                         State,
                         factorise,
                         gplvm_iterates,
                         kernel_matrix_gradient,
                         log_likelihood,
                         value_and_gradients,
)
from .mapping import Mapping, Modes, log_precision_grid, point_log_likelihood, predict, project, sampled_log_likelihood

__all__ = [
    "GPLVM", "Factorised", "Mapping", "Modes", "State", "default_kernel", "factorise", "gplvm_iterates",
    "initial_positions", "kernel_matrix_gradient", "log_likelihood", "log_precision_grid", "point_log_likelihood",
    "predict", "project", "sampled_log_likelihood", "value_and_gradients",
]
