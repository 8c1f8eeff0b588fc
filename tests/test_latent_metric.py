"""Chapter 5: the expected metric of the map, and the gradient of a new row's place with every kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gplvm_edu import GPLVM, magnification_factors
from gplvm_edu.datasets import simulate_oil_flow
from gplvm_edu.gplvm import ProcessMap, expected_metric, factorise, point_log_likelihood
from gplvm_edu.kernels import MLP, RBF, Bias, Kernel, Linear, Matern32, Periodic, White
from gplvm_edu.linalg import centre
from gplvm_edu.optimise import check_gradient

KERNELS = [
    RBF(1.3, 0.7) + Bias(0.2) + White(0.1),
    RBF(1.0, [0.5, 2.0]) + Linear(0.3) + White(0.1),
    MLP(1.0, 2.0, 3.0) + White(0.2),
    Linear(0.8) + White(0.3),
    Periodic(1.0, 0.5, 4.0) + White(0.1),
    RBF(1.0, 0.5) * Linear(0.7) + White(0.1),
    Linear(0.7) * Linear(0.4) + Bias(0.2) + White(0.2),  # a polynomial
    Matern32(1.0, 0.5) + White(0.2),
]


def problem(seed=0, N=12, D=4, q=2):
    rng = np.random.default_rng(seed)
    return centre(rng.standard_normal((N, D)) @ np.triu(np.ones((D, D))))[0], rng.standard_normal((N, q))


def map_of(Y, X, kernel):
    factor = factorise(Y, kernel(X))
    return ProcessMap(kernel, X, factor.L, factor.A)


# ---------------------------------------------------------------------- the metric
@pytest.mark.identity
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_both_parts_together_are_the_metric_of_the_map(kernel):
    Y, X = problem()
    process, places = map_of(Y, X, kernel), problem(1, N=5)[1]
    found = expected_metric(process, places)
    J = process.jacobian(places)
    assert_allclose(found.mean, np.einsum("mdi,mdj->mij", J, J), rtol=1e-9)
    assert_allclose(found.total, process.metric(places), rtol=1e-8, atol=1e-10)
    assert_allclose(found.magnification(), process.magnification(places), rtol=1e-7)
    assert np.linalg.eigvalsh(found.variance).min() > -1e-9


@pytest.mark.gradient
@pytest.mark.parametrize("kernel", KERNELS[:-1], ids=repr)  # the slopes of a Matern have a kink
def test_the_variance_part_is_the_posterior_covariance_differentiated_twice(kernel):
    Y, X = problem()
    process, places, h = map_of(Y, X, kernel), problem(1, N=5)[1], 1e-4
    K, B = kernel(X), np.array([[1, -1, 0, 0], [0, 0, 1, -1]]) / (2 * h)
    found = expected_metric(process, places)
    for x, variance, mean in zip(places, found.variance, found.mean, strict=True):
        around = x + h * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
        k = kernel(around, X)
        covariance = kernel(around, around) - k @ np.linalg.solve(K, k.T)  # of f at the four places, one output
        assert_allclose(variance, 4 * B @ covariance @ B.T, rtol=1e-4, atol=1e-5)
        slopes = B @ (k @ process.weights)
        assert_allclose(mean, slopes @ slopes.T, rtol=1e-4, atol=1e-6)


@pytest.mark.oracle
def test_the_expected_metric_is_the_mean_over_drawn_maps():
    """40000 draws of the slopes of four functions: the mean of J'J comes within 3 % of what is computed."""
    Y, X = problem()
    kernel, places, h = KERNELS[0], problem(1, N=3)[1], 1e-3
    process, rng = map_of(Y, X, kernel), np.random.default_rng(0)
    K, B = kernel(X), np.array([[1, -1, 0, 0], [0, 0, 1, -1]]) / (2 * h)
    total = expected_metric(process, places).total
    for x, expected in zip(places, total, strict=True):
        around = x + h * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
        k = kernel(around, X)
        covariance = B @ (kernel(around, around) - k @ np.linalg.solve(K, k.T)) @ B.T
        slopes = B @ (k @ process.weights)  # (q, D)
        J = slopes.T + rng.multivariate_normal(np.zeros(2), covariance, size=(40000, 4))  # (draws, D, q)
        assert_allclose(np.mean(np.einsum("sdi,sdj->sij", J, J), axis=0), expected, rtol=0.03, atol=0.03)


@pytest.mark.identity
def test_far_from_the_data_only_the_prior_speaks():
    Y, X = problem()
    found = expected_metric(map_of(Y, X, RBF(2.0, 3.0) + White(0.1)), np.array([[40.0, 40.0]]))
    assert_allclose(found.mean, 0.0, atol=1e-12)
    assert_allclose(found.variance[0], 4 * 2.0 * 3.0 * np.eye(2))
    assert_allclose(found.magnification(), 24.0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fitted_model_is_asked_through_its_map():
    model = GPLVM(max_iter=20).fit(simulate_oil_flow(60, random_state=0).data)
    found = expected_metric(model.map_, model.embedding_[:4])
    assert_allclose(found.magnification(), magnification_factors(model, model.embedding_[:4]), rtol=1e-6)


@pytest.mark.bad_input
def test_a_kernel_without_second_derivatives_says_so():
    class Unfinished(Kernel):
        """A kernel of somebody's own, without the covariance of its slopes."""

    with pytest.raises(TypeError, match="Unfinished has no mixed_derivative"):
        Unfinished().mixed_derivative(np.zeros((1, 1)))


# ---------------------------------------------------------------------- (5.11)
@pytest.mark.gradient
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("gaps", [False, True])
def test_a_new_rows_place_has_a_complete_gradient(kernel, gaps):
    """With k(x*, x*) that moves, of a linear kernel or of a network; the next test has its size."""
    Y, X = problem()
    process, (y, x) = map_of(Y, X, kernel), (a[:1] for a in problem(3))
    if gaps:
        y = np.where([True, False, True, True], y, np.nan)

    def value_and_gradient(flat):
        values, gradients = point_log_likelihood(process, y, flat[None])
        return values[0], gradients[0]

    assert check_gradient(value_and_gradient, x[0]) < 1e-6


@pytest.mark.gradient
@pytest.mark.parametrize("kernel", [Linear(0.8) + White(0.3), MLP(1.0, 2.0, 3.0) + White(0.2)], ids=repr)
def test_without_the_term_of_the_diagonal_it_would_be_wrong(kernel):
    Y, X = problem()
    process, (y, x) = map_of(Y, X, kernel), (a[:1] for a in problem(3))
    gradients = point_log_likelihood(process, y, x)[1]
    found, s2 = process.predict(x), process.predict(x).variance[:, 0] + process.noise_variance
    in_variance = 0.5 * (np.sum((y - found.mean) ** 2, axis=1) / s2 - 4) / s2
    term = kernel.diag_gradients(in_variance, x)[0]
    assert np.abs(term).max() > 0.1 * np.abs(gradients).max()
