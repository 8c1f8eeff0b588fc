"""The Gaussian process latent variable model (chapter 5).

`likelihood` holds the objective and its gradients as the page derives them, `fast` the same from one Cholesky factor,
which the fit (`iterates`) and the names below use; `process_map` the way to the data and back, `metric` what it does to
lengths, `back_constraints` positions as a function of the data, `dynamics` a prior over time, `estimator` the class.
"""

from . import fast, likelihood
from .back_constraints import MLPMap, Network, RBFMap, Smoother, neighbour_distance
from .dynamics import DynamicPrior, dynamic_log_prior
from .estimator import GPLVM, JITTER
from .fast import Factorised, factorise, kernel_matrix_gradient, log_likelihood, value_and_gradients
from .iterates import GPLVMState, gplvm_iterates, theta_in_units
from .metric import ExpectedMetric, expected_metric
from .process_map import ProcessMap, point_log_likelihood, predict, sampled_log_likelihood

__all__ = [
    "GPLVM",
    "JITTER",
    "DynamicPrior",
    "ExpectedMetric",
    "Factorised",
    "GPLVMState",
    "MLPMap",
    "Network",
    "ProcessMap",
    "RBFMap",
    "Smoother",
    "dynamic_log_prior",
    "expected_metric",
    "factorise",
    "fast",
    "gplvm_iterates",
    "kernel_matrix_gradient",
    "likelihood",
    "log_likelihood",
    "neighbour_distance",
    "point_log_likelihood",
    "predict",
    "sampled_log_likelihood",
    "theta_in_units",
    "value_and_gradients",
]
