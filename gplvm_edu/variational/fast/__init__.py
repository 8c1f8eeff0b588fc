"""The fast way through chapters 12 and 13: the same numbers as the plain functions, one room further.

What is done differently. (1) The exponent of every expected RBF is a sum of products, of features of the point and of
features of the centre: all exponents are ONE matrix product and one exp, and each half of the gradient is one product
more. No array of N x M x M x q is formed. (2) Psi2 is symmetric, so only its M(M+1)/2 pairs are computed. (3) Groups of
outputs with different gaps share the exponentials. (4) New rows go through together. The bound with its gradient is
20 to 25 times as fast at N = 100 and about 40 times at N = 500 (M = 50, q = 10); a part of it, a quarter of the plain
time, is that the plain gradient computes Psi2 a second time. The ratio of bounds of 200 rows is 4 times as fast, their
frozen bound with its gradient 23 times; one row alone gains nothing. The commands `python tests/bench_fast.py
variational` and `... prediction` measure them, the latter with the making of the map.

`rbf_expectations` has the features and the products, `kernel_expectations` the statistics of each kernel (those of a
Linear kernel are no faster than the plain ones, 0.7 to 1.3 times as fast for M = 10, 0.3 to 0.5 times for M = 50: they
are here because they take groups and rows), `statistics` chooses between them, `bound` is the objective, `rows` what is
asked about new rows. The estimator uses these.
"""

from .bound import OutputGroup, Outputs, bound_and_gradients, data_gradients, evaluate_bound, group_outputs
from .kernel_expectations import PackedPsi, PointPsi, pairs
from .rbf_expectations import (
    centre_features,
    expected_rbf,
    point_features,
    pull_back_centres,
    pull_back_points,
    pull_back_sums,
    sum_expectations,
)
from .rows import LinearTerms, frozen_bound, gain_over_frozen, linear_terms, predict_moments, ratio_of_bounds
from .statistics import prepare_psi, psi_statistics

__all__ = [
    "LinearTerms",
    "OutputGroup",
    "Outputs",
    "PackedPsi",
    "PointPsi",
    "bound_and_gradients",
    "centre_features",
    "data_gradients",
    "evaluate_bound",
    "expected_rbf",
    "frozen_bound",
    "gain_over_frozen",
    "group_outputs",
    "linear_terms",
    "pairs",
    "point_features",
    "predict_moments",
    "prepare_psi",
    "psi_statistics",
    "pull_back_centres",
    "pull_back_points",
    "pull_back_sums",
    "ratio_of_bounds",
    "sum_expectations",
]
