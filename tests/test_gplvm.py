"""Chapter 5: the GP-LVM. Objective, gradients, prediction, projection, the estimator and its robustness."""
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.utils.estimator_checks import check_estimator

from gplvm_edu.base import expected_failed_checks
from gplvm_edu.datasets import simulate_oil_flow
from gplvm_edu.gplvm import (
    GPLVM,
    Mapping,
    default_kernel,
    factorise,
    gplvm_iterates,
    initial_positions,
    kernel_matrix_gradient,
    log_likelihood,
    log_precision_grid,
    point_log_likelihood,
    predict,
    project,
    sampled_log_likelihood,
    value_and_gradients,
)
from gplvm_edu.kernels import MLP, RBF, Bias, Linear, Matern32, White
from gplvm_edu.linalg import centre
from gplvm_edu.metrics import nearest_neighbour_errors, subspace_angle
from gplvm_edu.optimise import check_gradient, minimise_rows
from gplvm_edu.ppca import DualPPCA
from gplvm_edu.ppca import log_likelihood as ppca_log_likelihood

BOOK = Path(__file__).resolve().parent.parent / "book"
quick = settings(deadline=None, max_examples=25)
KERNELS = [RBF(1.3, 0.7) + Bias(0.2) + White(0.1), MLP(1.0, 2.0, 3.0) + White(0.2), Linear(0.8) + White(0.3),
           RBF(1.0, [0.5, 2.0]) + Linear(0.3) + White(0.1), Matern32(1.0, 0.5) * RBF(1.0, 0.2) + White(0.2)]


def problem(seed=0, N=12, D=4, q=2):
    rng = np.random.default_rng(seed)
    return centre(rng.standard_normal((N, D)) @ np.triu(np.ones((D, D))))[0], rng.standard_normal((N, q))


def mapping_of(Y, X, kernel):
    L, A, jitter = factorise(Y, kernel(X))
    return Mapping(kernel, X, L, A, jitter)


# --- objective and gradients ---------------------------------------------------------------------------------

@pytest.mark.identity
@given(st.integers(0, 10**6), st.integers(2, 15), st.integers(1, 6), st.sampled_from(range(len(KERNELS))))
@quick
def test_the_likelihood_is_the_brute_force_gaussian_over_columns(seed, N, D, which):
    Y, X = problem(seed, N, D)
    K = KERNELS[which](X)
    assert_allclose(log_likelihood(Y, K), multivariate_normal(cov=K).logpdf(Y.T).sum(), rtol=1e-8)


@pytest.mark.gradient
@given(st.integers(0, 10**6), st.sampled_from(range(len(KERNELS))), st.sampled_from(["gaussian", None]))
@quick
def test_gradients_in_positions_and_parameters(seed, which, prior):
    Y, X = problem(seed)
    kernel = KERNELS[which].copy()

    def objective(x):
        kernel.theta = x[X.size:]
        value, dX, dtheta = value_and_gradients(Y, x[:X.size].reshape(X.shape), kernel, prior)
        return value, np.concatenate([dX.ravel(), dtheta])

    assert check_gradient(objective, np.concatenate([X.ravel(), kernel.theta])) < 1e-6


@pytest.mark.gradient
def test_the_printed_gradient_without_its_half_is_twice_too_large():
    Y, X = problem()
    K = KERNELS[0](X)
    direction = np.random.default_rng(1).standard_normal(K.shape)
    direction = direction + direction.T
    h = 1e-6
    measured = (log_likelihood(Y, K + h * direction) - log_likelihood(Y, K - h * direction)) / (2 * h)
    K_inv = np.linalg.inv(K)
    printed = np.sum((K_inv @ Y @ Y.T @ K_inv - 4 * K_inv) * direction)
    assert_allclose(np.sum(kernel_matrix_gradient(factorise(Y, K)) * direction), measured, rtol=1e-6)
    assert_allclose(printed, 2 * measured, rtol=1e-6)


@pytest.mark.identity
def test_with_a_linear_kernel_it_is_dual_ppca():
    Y, _ = problem(3, N=15, D=5)
    dual = DualPPCA(2).fit(Y)
    X, s2 = dual.embedding_, dual.noise_variance_
    kernel = Linear(1.0) + White(s2)
    assert_allclose(log_likelihood(Y, kernel(X)), ppca_log_likelihood(Y.T, X, s2), rtol=1e-10)
    _, dX, _ = value_and_gradients(Y, X, kernel)
    assert np.abs(dX).max() < 1e-8 * np.abs(5 * X / s2).max()
    fitted = GPLVM(kernel=Linear(1.0) + White(1.0), latent_prior=None, init="random", random_state=0, tol=1e-7).fit(Y)
    assert_allclose(fitted.log_likelihood_, dual.log_likelihood_, rtol=1e-5)
    assert subspace_angle(fitted.embedding_, dual.embedding_) < 1e-2


# --- prediction ----------------------------------------------------------------------------------------------

@pytest.mark.identity
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_prediction_is_the_conditional_of_the_joint_gaussian(kernel):
    Y, X = problem(1)
    X_new = np.random.default_rng(2).standard_normal((3, 2))
    joint = kernel(np.vstack([X, X_new]))
    K, k, kk = joint[:12, :12], joint[12:, :12], joint[12:, 12:]
    mean, variance = predict(mapping_of(Y, X, kernel), X_new, noise=True)
    assert_allclose(mean, k @ np.linalg.solve(K, Y), rtol=1e-8, atol=1e-10)
    assert_allclose(variance, np.diag(kk - k @ np.linalg.solve(K, k.T)), rtol=1e-8)
    _, without = predict(mapping_of(Y, X, kernel), X_new)
    assert_allclose(variance - without, kernel["white"].variance, rtol=1e-8)


@pytest.mark.identity
def test_the_precision_picture_is_the_variance_on_a_grid_row_by_row():
    Y, X = problem(1)
    mapping = mapping_of(Y, X, KERNELS[0])
    picture = log_precision_grid(mapping, (-2, 2, -1, 3), n_grid=5)
    _, variance = predict(mapping, np.array([[-1.0, 2.0]]))           # column 1, row 3
    assert_allclose(picture[3, 1], -np.log(variance[0]), rtol=1e-10)


@pytest.mark.gradient
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("prior", ["gaussian", None])
def test_gradient_of_a_new_points_log_likelihood(kernel, prior):
    Y, X = problem(4)
    mapping = mapping_of(Y, X, kernel)
    y = np.random.default_rng(5).standard_normal((1, 4))

    def objective(x):
        values, gradients = point_log_likelihood(mapping, y, x[None], prior)
        return values[0], gradients[0]

    assert check_gradient(objective, np.array([0.3, -0.8])) < 1e-6


@pytest.mark.identity
def test_a_new_points_log_likelihood_is_a_ratio_of_joint_likelihoods():
    Y, X = problem(6)
    kernel = KERNELS[0]
    y, x = np.array([[0.5, -1.0, 0.2, 0.9]]), np.array([[0.4, 0.1]])
    value = point_log_likelihood(mapping_of(Y, X, kernel), y, x)[0][0]
    together = log_likelihood(np.vstack([Y, y]), kernel(np.vstack([X, x])))
    assert_allclose(value, together - log_likelihood(Y, kernel(X)), rtol=1e-9)


@pytest.mark.identity
def test_projection_finds_the_mode_that_a_fine_grid_finds():
    oil = simulate_oil_flow(60, random_state=0)
    model = GPLVM(max_iter=100).fit(oil.data)
    new = simulate_oil_flow(5, random_state=1).data
    modes = model.project(new, n_starts=8)
    assert np.all(np.diff(modes.log_likelihoods, axis=1) <= 1e-9)
    low, high = model.embedding_.min(axis=0) - 0.3, model.embedding_.max(axis=0) + 0.3
    side = [np.linspace(a, b, 80) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*side), axis=-1).reshape(-1, 2)
    for n, y in enumerate(new - model.mean_):
        values, _ = point_log_likelihood(model._mapping, np.tile(y, (len(grid), 1)), grid, "gaussian")
        assert modes.log_likelihoods[n, 0] > values.max() - 1.0


@pytest.mark.identity
def test_sampling_estimates_the_integral_over_the_latent_point():
    Y, X = problem(7, N=6, D=1, q=1)
    mapping = mapping_of(Y, X, RBF(1.0, 1.0) + White(0.3))
    x = np.linspace(-6, 6, 2001)
    mean, variance = predict(mapping, x[:, None], noise=True)
    density = np.exp(-0.5 * (0.4 - mean[:, 0]) ** 2 / variance) / np.sqrt(2 * np.pi * variance)
    exact = np.log(np.sum(density * np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)) * (x[1] - x[0]))
    estimate, error = sampled_log_likelihood(mapping, np.array([[0.4]]), 40_000, random_state=0)
    assert error[0] < 0.01 and abs(estimate[0] - exact) < 5 * error[0]


@pytest.mark.identity
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 4))
@quick
def test_rows_are_minimised_each_to_its_own_bowl_whatever_the_company(seed, N, q):
    rng = np.random.default_rng(seed)
    centres, H = rng.standard_normal((N, q)), np.array([np.diag(rng.uniform(0.1, 10, q)) for _ in range(N)])

    def bowls(X, rows):
        d = X - centres[rows]
        Hd = np.einsum("nij,nj->ni", H[rows], d)
        quartic = np.sum(d**4, axis=1)
        return 0.5 * np.sum(d * Hd, axis=1) + quartic, Hd + 4 * d**3

    X, values = minimise_rows(bowls, np.zeros((N, q)), max_iter=200)
    assert_allclose(X, centres, atol=1e-4)
    one, _ = minimise_rows(lambda X, rows: bowls(X, rows + N - 1), np.zeros((1, q)), max_iter=200)
    assert_allclose(one[0], X[-1], atol=1e-8)


# --- the estimator -------------------------------------------------------------------------------------------

@pytest.mark.identity
@pytest.mark.parametrize("latent_prior", ["gaussian", None])
def test_a_row_is_placed_alike_in_any_order_of_the_rows(latent_prior):
    Y = np.random.default_rng(0).uniform(0, 3, (20, 3))
    model = GPLVM(1, max_iter=5, latent_prior=latent_prior).fit(Y)
    X, densities = model.transform(Y), model.score_samples(Y)
    for seed in range(30):
        order = np.random.default_rng(seed).permutation(20)
        assert_allclose(model.transform(Y[order]), X[order], rtol=1e-7, atol=1e-9)
        assert_allclose(model.score_samples(Y[order]), densities[order], rtol=1e-7, atol=1e-9)


def test_the_history_climbs_from_the_start_and_ends_at_the_likelihood():
    oil = simulate_oil_flow(50, random_state=0)
    for optimizer in ("l-bfgs", "scg"):
        model = GPLVM(latent_prior=None, optimizer=optimizer, max_iter=40).fit(oil.data)
        assert np.all(np.diff(model.history_) >= -1e-9)
        assert_allclose(model.history_[-1], model.log_likelihood_, rtol=1e-8)
        K = model.kernel_(model.embedding_) + model.jitter_ * np.eye(50)
        assert_allclose(log_likelihood(oil.data - model.mean_, K), model.log_likelihood_, rtol=1e-6)


def test_the_kernel_passed_in_is_not_changed():
    kernel = RBF(1.0, 1.0) + White(0.1)
    model = GPLVM(kernel=kernel, max_iter=10).fit(simulate_oil_flow(30, random_state=0).data)
    assert kernel == RBF(1.0, 1.0) + White(0.1) and model.kernel_ != kernel


@pytest.mark.parametrize("init", ["pca", "isomap", "kernel_pca", "random"])
def test_every_start_has_unit_variance_and_can_be_fitted(init):
    Y = simulate_oil_flow(40, random_state=0).data
    X = initial_positions(centre(Y)[0], 2, init, np.random.RandomState(0))
    if init in ("pca", "kernel_pca"):
        assert_allclose(X.std(axis=0), 1.0)
    if init == "isomap":
        assert_allclose(np.mean(X.var(axis=0)), 1.0)             # one scale for both: a sheet keeps its proportions
    assert np.isfinite(GPLVM(init=init, max_iter=10, random_state=0).fit(Y).log_likelihood_)
    assert np.isfinite(GPLVM(init=X, max_iter=10).fit(Y).log_likelihood_)


def test_an_interrupted_fit_leaves_a_usable_estimator():
    class Impatient(GPLVM):
        def iterates(self, Y):
            for step, state in enumerate(super().iterates(Y)):
                if step == 7:
                    raise KeyboardInterrupt
                yield state

    model, Y = Impatient(), simulate_oil_flow(30, random_state=0).data
    with pytest.raises(KeyboardInterrupt):
        model.fit(Y)
    assert len(model.history_) == 7 and np.isfinite(model.transform(Y[:2])).all()


def test_new_points_land_among_their_class_and_decode_to_themselves():
    oil = simulate_oil_flow(150, random_state=0)
    model = GPLVM(max_iter=200).fit(oil.data[:120])
    X = model.transform(oil.data[120:])
    both, labels = np.vstack([model.embedding_, X]), oil.target
    assert nearest_neighbour_errors(both, labels) < 15
    decoded, deviation = model.inverse_transform(model.embedding_, return_std=True)
    residual = oil.data[:120] - decoded
    assert np.sqrt(np.mean(residual**2)) < 0.15 and deviation.shape == (120,)


def test_score_samples_tells_familiar_from_strange():
    oil = simulate_oil_flow(120, random_state=0)
    model = GPLVM(max_iter=150, random_state=0).fit(oil.data[:80])
    strange = np.random.default_rng(0).permuted(oil.data, axis=0)[80:]
    assert np.median(model.score_samples(oil.data[80:])) > np.median(model.score_samples(strange)) + 1
    sampled = model.score_samples(oil.data[80:], n_samples=2000)
    assert sampled.shape == (40,) and np.isfinite(sampled).all()
    assert model.score(oil.data[80:]) == np.mean(model.score_samples(oil.data[80:]))


def test_samples_look_like_data():
    oil = simulate_oil_flow(60, random_state=0)
    for prior in ("gaussian", None):
        Y, X = GPLVM(latent_prior=prior, max_iter=50).fit(oil.data).sample(500, random_state=0)
        assert Y.shape == (500, 12) and X.shape == (500, 2)
        assert np.abs(Y.mean(axis=0) - oil.data.mean(axis=0)).max() < 0.5


@pytest.mark.oracle
@pytest.mark.parametrize("model", [GPLVM(max_iter=5), GPLVM(1, max_iter=5, optimizer="scg", latent_prior=None)],
                         ids=repr)
@pytest.mark.filterwarnings("ignore:Skipping check check_array_api")
def test_the_scikit_learn_contract(model):
    check_estimator(model, expected_failed_checks=expected_failed_checks(model))


@pytest.mark.parametrize("seed", range(200))
def test_random_fits_end_finite_and_no_worse_than_they_began(seed):
    rng = np.random.default_rng(seed)
    N, D = rng.integers(3, 61), rng.integers(1, 81)
    Y = 10.0 ** rng.uniform(-6, 6) * rng.standard_normal((N, D))
    if rng.random() < 0.4:
        Y[rng.integers(N, size=N // 2)] = Y[0]                        # duplicated rows
    if rng.random() < 0.4:
        Y[:, rng.integers(D, size=D // 2 + 1)] = rng.standard_normal()        # constant columns
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GPLVM(max_iter=25, latent_prior=["gaussian", None][seed % 2],
                      optimizer=["l-bfgs", "scg"][seed // 2 % 2], random_state=seed).fit(Y)
    assert np.isfinite(model.embedding_).all() and np.isfinite(model.kernel_.theta).all()
    assert np.isfinite(model.history_).all() and model.history_[-1] >= model.history_[0]


# --- bad input -----------------------------------------------------------------------------------------------

GOOD = np.random.default_rng(0).standard_normal((20, 5))


@pytest.mark.bad_input
@pytest.mark.parametrize("model, says", [
    (GPLVM(kernel="rbf"), "must be a kernel of gplvm_edu.kernels"), (GPLVM(init="magic"), "no init 'magic'"),
    (GPLVM(init=np.zeros((3, 2))), r"shape \(20, 2\)"), (GPLVM(latent_prior="flat"), "latent_prior must be"),
    (GPLVM(optimizer="adam"), "no method 'adam'"), (GPLVM(0), "whole number"), (GPLVM(20), "too many"),
    (GPLVM(max_iter=-1), "max_iter"), (GPLVM(kernel=RBF(1.0, [1.0, 1.0, 1.0])), "3 entries"),
], ids=repr)
def test_bad_parameters_get_a_clear_error(model, says):
    with pytest.raises(ValueError, match=says):
        model.fit(GOOD)


@pytest.mark.bad_input
def test_bad_data_gets_a_clear_error():
    for Y, says in [(GOOD[0], "Expected 2D"), (np.where(GOOD > 2, np.nan, GOOD), "NaN"), (GOOD[:1], "1 sample"),
                    (np.where(GOOD > 2, np.inf, GOOD), "inf"), ([["a", "b"]] * 5, "could not convert")]:
        with pytest.raises(ValueError, match=says):
            GPLVM().fit(Y)
    model = GPLVM(max_iter=5).fit(GOOD)
    with pytest.raises(ValueError, match="2 latent dimensions"):
        model.inverse_transform(np.zeros((2, 3)))


# --- the papers' figures -------------------------------------------------------------------------------------

@pytest.mark.real
def test_values_at_the_common_start_are_those_of_other_libraries():
    from gplvm_edu.datasets import load_oil_flow
    for subset, expected in ((100, -77.12510), (None, 440.2253)):
        Y = centre(load_oil_flow(subset).data)[0]
        X = initial_positions(Y, 2, "pca", np.random.RandomState(0))
        assert_allclose(log_likelihood(Y, default_kernel(Y.var())(X)), expected, rtol=1e-6)


@pytest.mark.real
def test_oil_100_reaches_what_the_peers_reach_with_at_most_4_errors():
    from gplvm_edu.datasets import load_oil_flow
    oil = load_oil_flow(100)
    plain = GPLVM(latent_prior=None).fit(oil.data)
    assert plain.log_likelihood_ >= 998 and nearest_neighbour_errors(plain.embedding_, oil.target) <= 4
    prior = GPLVM().fit(oil.data)
    assert nearest_neighbour_errors(prior.embedding_, oil.target) <= 4
    stored = json.loads((BOOK / "results" / "gplvm.json").read_text())
    assert stored["oil, 100 points"]["errors"] <= 4 and stored["oil, 1000 points"]["errors"] <= 2
    assert abs(stored["oil, 100 points"]["log_likelihood"] - plain.log_likelihood_) < 0.02 * abs(plain.log_likelihood_)


def test_iterates_can_be_stopped_and_taken_up_again():
    Y = centre(simulate_oil_flow(30, random_state=0).data)[0]
    X = initial_positions(Y, 2, "pca", np.random.RandomState(0))
    states = gplvm_iterates(Y, X, default_kernel(Y.var()), max_iter=50)
    first = [next(states) for _ in range(4)]
    states.close()
    values = [state.value for state in first]
    assert np.all(np.diff(values) > 0)


@pytest.mark.identity
def test_projection_of_several_rows_is_that_of_each_alone():
    Y, X = problem(8)
    mapping = mapping_of(Y, X, KERNELS[0])
    new = np.random.default_rng(9).standard_normal((4, 4))
    together = project(mapping, new, Y, n_starts=3)
    for n in range(4):
        alone = project(mapping, new[n:n + 1], Y, n_starts=3)
        assert_allclose(alone.log_likelihoods[0], together.log_likelihoods[n], atol=1e-6)
