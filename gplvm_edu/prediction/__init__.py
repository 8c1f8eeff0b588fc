"""What test points are good for (chapter 13).

The functions that a fitted Bayesian GP-LVM asks about new rows are those of its map and stand beside it, in
`variational`: `predict_moments`, `frozen_bound`, `ratio_of_bounds`, and in `variational.fast` for many rows. Here
`uncertain` has regression with uncertain inputs, `classifier` one model for each class.
"""

from .classifier import GenerativeClassifier, with_noise
from .uncertain import predict_uncertain, uncertain_regression

__all__ = ["GenerativeClassifier", "predict_uncertain", "uncertain_regression", "with_noise"]
