"""Chapter 5: the GP-LVM. Objective, gradients, the map and its questions, the estimator and its robustness."""

import json
from pathlib import Path

import numpy as np
import pytest
from common import awkward, refused, warnings_are_errors
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal, norm
from sklearn.decomposition import PCA

from gplvm_edu.datasets import simulate_oil_flow
from gplvm_edu.gplvm import (
    GPLVM,
    ProcessMap,
    factorise,
    gplvm_iterates,
    kernel_matrix_gradient,
    log_likelihood,
    point_log_likelihood,
    predict,
    sampled_log_likelihood,
    value_and_gradients,
)
from gplvm_edu.kernels import MLP, RBF, Bias, Linear, Matern32, Product, White, common_start, gp_posterior
from gplvm_edu.linalg import centre
from gplvm_edu.maps import grid_points, search_places
from gplvm_edu.metrics import nearest_neighbour_errors, subspace_angle
from gplvm_edu.optimise import check_gradient, minimise_rows
from gplvm_edu.papers.gplvm import held_out, islands, least_squares_places, likeliest_places, nearest_decoded, patience
from gplvm_edu.ppca import DualPPCA
from gplvm_edu.ppca import log_likelihood as ppca_log_likelihood
from gplvm_edu.starts import initial_positions

BOOK = Path(__file__).resolve().parent.parent / "book"
quick = settings()  # those of the profile, tests/conftest.py
KERNELS = [
    RBF(1.3, 0.7) + Bias(0.2) + White(0.1),
    MLP(1.0, 2.0, 3.0) + White(0.2),
    Linear(0.8) + White(0.3),
    RBF(1.0, [0.5, 2.0]) + Linear(0.3) + White(0.1),
    Matern32(1.0, 0.5) * RBF(1.0, 0.2) + White(0.2),
]


def problem(seed=0, N=12, D=4, q=2):
    rng = np.random.default_rng(seed)
    return centre(rng.standard_normal((N, D)) @ np.triu(np.ones((D, D))))[0], rng.standard_normal((N, q))


def map_of(Y, X, kernel, mean=0.0, latent_prior=None):
    factor = factorise(Y, kernel(X))
    return ProcessMap(kernel, X, factor.L, factor.A, mean, factor.jitter, latent_prior)


def with_gaps(Y, seed=0, share=0.4):
    """Y with gaps, the first entry of every row kept."""
    hidden = np.random.default_rng(seed).random(Y.shape) < share
    hidden[:, 0] = False
    return np.where(hidden, np.nan, Y)


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
        kernel.theta = x[X.size :]
        value, dX, dtheta = value_and_gradients(Y, x[: X.size].reshape(X.shape), kernel, prior)
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


@given(st.integers(0, 10**6), st.booleans())
@quick
def test_factors_in_the_memory_of_the_matrix_are_those_beside_it(seed, singular):
    Y, X = problem(seed)
    K = Bias(2.0)(X) if singular else KERNELS[0](X)
    kept = K.copy()
    beside = factorise(Y, K)
    assert np.array_equal(K, kept) and (beside.jitter > 0) == singular
    G = kernel_matrix_gradient(beside)
    inside = factorise(Y, K, overwrite=True)
    assert inside.jitter == beside.jitter
    assert_allclose(np.tril(inside.L), np.tril(beside.L), rtol=1e-12)
    assert_allclose(inside.A, beside.A, rtol=1e-12)
    assert_allclose(kernel_matrix_gradient(inside, overwrite=True), G, rtol=1e-12)


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
    mean, variance = predict(map_of(Y, X, kernel), X_new, noise=True)
    assert_allclose(mean, k @ np.linalg.solve(K, Y), rtol=1e-8, atol=1e-10)
    assert_allclose(variance, np.diag(kk - k @ np.linalg.solve(K, k.T)), rtol=1e-8)
    _, without = predict(map_of(Y, X, kernel), X_new)
    assert_allclose(variance - without, kernel["white"].variance, rtol=1e-8)


@pytest.mark.identity
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_posterior_of_chapter_2_is_the_one_predictor_of_all_maps(kernel):
    Y, X = problem(1)
    process, X_new = map_of(Y, X, kernel), np.random.default_rng(2).standard_normal((3, 2))
    for moments, include_noise in ((process.moments(X_new), False), (predict(process, X_new, noise=True), True)):
        mean, variance = gp_posterior(kernel, X, Y, X_new, include_noise=include_noise)
        assert_allclose(moments[0], mean, rtol=1e-10, atol=1e-12)
        assert_allclose(moments[1].reshape(3, -1)[:, 0], variance, rtol=1e-10, atol=1e-12)


@pytest.mark.identity
def test_the_precision_picture_is_the_variance_on_a_grid_row_by_row():
    Y, X = problem(1)
    model = GPLVM(max_iter=3, kernel=KERNELS[0], init=X).fit(Y)
    picture = model.log_precision(grid_points((-2, 2, -1, 3), 5)).reshape(5, 5)
    _, variance = predict(model.map_, np.array([[-1.0, 2.0]]))  # column 1, row 3
    assert_allclose(picture[3, 1], -np.log(variance[0]), rtol=1e-10)
    _, std = model.inverse_transform(np.array([[-1.0, 2.0]]), return_std=True)
    assert_allclose(picture[3, 1], -2 * np.log(std[0]), rtol=1e-10)


@pytest.mark.gradient
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("gaps", [False, True])
def test_gradient_of_a_new_points_log_likelihood(kernel, gaps):
    Y, X = problem(4)
    process = map_of(Y, X, kernel, mean=np.array([1.0, -2.0, 3.0, 0.5]))
    y = np.random.default_rng(5).standard_normal((1, 4)) + process.mean
    y = with_gaps(y, seed=1) if gaps else y
    assert np.isnan(y).any() == gaps

    def objective(x):
        values, gradients = process.log_density(y, x[None])
        return values[0], gradients[0]

    assert check_gradient(objective, np.array([0.3, -0.8])) < 1e-6


@pytest.mark.identity
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_gap_is_a_factor_of_the_density_left_out(kernel):
    Y, X = problem(4)
    process = map_of(Y, X, kernel, mean=np.array([1.0, -2.0, 3.0, 0.5]))
    new, places = with_gaps(problem(5, N=6)[0]), problem(5, N=6)[1]
    mean, variance = process.moments(places)
    deviation = process.deviation(mean, variance)
    terms = norm(mean, deviation).logpdf(new)
    assert_allclose(process.log_density(new, places)[0], np.nansum(terms, axis=1), rtol=1e-9)


@pytest.mark.gradient
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_jacobian_is_the_slope_of_the_mean(kernel):
    Y, X = problem(4)
    process, places, h = map_of(Y, X, kernel, mean=np.ones(4)), problem(6, N=5)[1], 1e-6
    J = process.jacobian(places)
    assert J.shape == (5, 4, 2)
    for j, step in enumerate(h * np.eye(2)):
        slope = (process.moments(places + step)[0] - process.moments(places - step)[0]) / (2 * h)
        assert_allclose(J[:, :, j], slope, rtol=1e-6, atol=1e-7)


@pytest.mark.gradient
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_expected_metric_adds_the_covariance_of_slopes(kernel):
    Y, X = problem(4)
    process, places, h = map_of(Y, X, kernel), problem(6, N=5)[1], 1e-4
    K = kernel(X)
    for x, metric, J in zip(places, process.metric(places), process.jacobian(places), strict=True):
        around = x + h * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
        k = kernel(around, X)
        covariance = kernel(around, around) - k @ np.linalg.solve(K, k.T)
        B = np.array([[1, -1, 0, 0], [0, 0, 1, -1]]) / (2 * h)
        if not isinstance(kernel.parts[0], Product):  # a Matern's slopes have a kink: no differences
            assert_allclose(metric, J.T @ J + 4 * B @ covariance @ B.T, rtol=1e-4, atol=1e-4)
        assert np.linalg.eigvalsh(metric - J.T @ J).min() > -1e-9


@pytest.mark.identity
def test_far_from_all_data_the_map_knows_what_the_prior_knows():
    Y, X = problem(4)
    process = map_of(Y, X, RBF(2.0, 1.0) + White(0.1))
    share = process.relative_deviation(np.vstack([X[:1], [[50.0, 50.0]]]))
    assert share.shape == (2, 4) and np.all(share[0] < 0.3)
    assert_allclose(share[1], 1.0)


@pytest.mark.identity
def test_a_new_points_log_likelihood_is_a_ratio_of_joint_likelihoods():
    Y, X = problem(6)
    kernel = KERNELS[0]
    y, x = np.array([[0.5, -1.0, 0.2, 0.9]]), np.array([[0.4, 0.1]])
    value = point_log_likelihood(map_of(Y, X, kernel), y, x)[0][0]
    together = log_likelihood(np.vstack([Y, y]), kernel(np.vstack([X, x])))
    assert_allclose(value, together - log_likelihood(Y, kernel(X)), rtol=1e-9)


@pytest.mark.identity
def test_a_row_is_placed_where_a_fine_grid_places_it():
    oil = simulate_oil_flow(60, random_state=0)
    model = GPLVM(max_iter=100).fit(oil.data)
    new = simulate_oil_flow(5, random_state=1).data
    low, high = model.embedding_.min(axis=0) - 0.3, model.embedding_.max(axis=0) + 0.3
    grid = grid_points((low[0], high[0], low[1], high[1]), 80)
    for rows in (new, with_gaps(new)):
        places = model.place(rows, n_starts=8)
        assert places.X.shape == (5, 8, 2) and np.all(np.diff(places.values, axis=1) <= 1e-9)
        for n, y in enumerate(rows):
            values = model.map_.log_density(np.tile(y, (len(grid), 1)), grid)[0] - 0.5 * np.sum(grid**2, axis=1)
            assert places.values[n, 0] > values.max() - 1.0


@pytest.mark.identity
def test_training_rows_are_placed_where_they_are_likeliest_given_all_rows():
    oil = simulate_oil_flow(60, random_state=0)
    model = GPLVM(max_iter=100).fit(oil.data)
    places = model.place(oil.data[:10], n_starts=3)
    X = model.embedding_[:10]
    here = model.map_.log_density(oil.data[:10], X)[0] - 0.5 * np.sum(X**2, axis=1)
    assert np.all(places.values[:, 0] >= here - 1e-9)
    assert_allclose(model.transform(oil.data[:10], n_starts=3), places.X[:, 0], atol=1e-5)
    assert_allclose(
        model.best_log_density(oil.data[:10], n_starts=3),
        model.map_.log_density(oil.data[:10], model.transform(oil.data[:10]))[0],
        rtol=1e-9,
    )


def test_gaps_of_new_rows_are_filled_from_what_was_observed():
    shares = []
    for seed in range(5):  # of data; a single draw decides little
        oil = simulate_oil_flow(120, random_state=seed)
        model, rows = GPLVM(max_iter=150).fit(oil.data[:90]), oil.data[90:]
        gappy = with_gaps(rows, share=0.3)
        gaps = np.isnan(gappy)
        filled, std = model.impute(gappy, return_std=True)
        assert np.array_equal(filled[~gaps], rows[~gaps]) and np.all(std[~gaps] == 0) and np.all(std[gaps] > 0)
        by_mean = np.mean((oil.data[:90].mean(axis=0) - rows)[gaps] ** 2)
        shares.append(np.mean((filled - rows)[gaps] ** 2) / by_mean)
    assert np.mean(shares) < 0.5
    told = model.reconstruct(gappy)
    draws = model.latent_draws(gappy)
    decoded = [shares @ model.inverse_transform(X) for X, shares in zip(draws.X, draws.shares(), strict=True)]
    assert_allclose(told.mean, decoded)
    assert (told.latent_variance > 0).all()
    with pytest.raises(ValueError, match="NaN"):
        model.transform(gappy)


@pytest.mark.identity
def test_sampling_estimates_the_integral_over_the_latent_point():
    Y, X = problem(7, N=6, D=1, q=1)
    mapping = map_of(Y, X, RBF(1.0, 1.0) + White(0.3))
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

    X, _ = minimise_rows(bowls, np.zeros((N, q)), max_iter=200)
    assert_allclose(X, centres, atol=1e-4)
    one, _ = minimise_rows(lambda X, rows: bowls(X, rows + N - 1), np.zeros((1, q)), max_iter=200)
    assert_allclose(one[0], X[-1], atol=1e-8)


# --- the estimator -------------------------------------------------------------------------------------------


@pytest.mark.identity
@pytest.mark.parametrize("latent_prior", ["gaussian", None])
@pytest.mark.long
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
    for optimiser in ("l-bfgs", "scg"):
        model = GPLVM(latent_prior=None, optimiser=optimiser, max_iter=40).fit(oil.data)
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
        assert_allclose(np.mean(X.var(axis=0)), 1.0)  # one scale for both: a sheet keeps its proportions
    assert np.isfinite(GPLVM(init=init, max_iter=10, random_state=0).fit(Y).log_likelihood_)
    assert np.isfinite(GPLVM(init=X, max_iter=10).fit(Y).log_likelihood_)


def test_new_points_land_among_their_class_and_decode_to_themselves():
    oil = simulate_oil_flow(150, random_state=0)
    model = GPLVM(max_iter=200).fit(oil.data[:120])
    X = model.transform(oil.data[120:])
    both, labels = np.vstack([model.embedding_, X]), oil.target
    assert nearest_neighbour_errors(both, labels) < 15
    decoded, deviation = model.inverse_transform(model.embedding_, return_std=True)
    residual = oil.data[:120] - decoded
    assert np.sqrt(np.mean(residual**2)) < 0.15 and deviation.shape == (120, 12)


@pytest.mark.long
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


@warnings_are_errors
@pytest.mark.parametrize("seed", range(200))
@pytest.mark.long
def test_random_fits_end_finite_and_no_worse_than_they_began(seed):
    rng = np.random.default_rng(seed)
    N, D = rng.integers(3, 61), rng.integers(1, 81)
    Y = awkward(rng, N, D)
    model = GPLVM(
        max_iter=25,
        latent_prior=["gaussian", None][seed % 2],
        optimiser=["l-bfgs", "scg"][seed // 2 % 2],
        random_state=seed,
    ).fit(Y)
    assert np.isfinite(model.embedding_).all() and np.isfinite(model.kernel_.theta).all()
    assert np.isfinite(model.history_).all() and model.history_[-1] >= model.history_[0]


# --- bad input -----------------------------------------------------------------------------------------------

GOOD = np.random.default_rng(0).standard_normal((20, 5))


test_bad_parameters_get_a_clear_error = refused(
    [
        (GPLVM(kernel="rbf"), "must be a kernel of gplvm_edu.kernels"),
        (GPLVM(init="magic"), "no init 'magic'"),
        (GPLVM(init=np.zeros((3, 2))), r"shape \(20, 2\)"),
        (GPLVM(latent_prior="flat"), "latent_prior must be"),
        (GPLVM(optimiser="adam"), "optimiser must be one of 'scg', 'l-bfgs', got 'adam'"),
        (GPLVM(0), "whole number"),
        (GPLVM(20), "too many"),
        (GPLVM(tol=-1.0), "tol"),
        (GPLVM(random_state="one"), "random_state must be"),
        (GPLVM(max_iter=-1), "max_iter"),
        (GPLVM(kernel=RBF(1.0, [1.0, 1.0, 1.0])), "3 entries"),
    ],
    GOOD,
)


@pytest.mark.bad_input
def test_bad_data_gets_a_clear_error():
    for Y, says in [
        (GOOD[0], "Expected 2D"),
        (np.where(GOOD > 2, np.nan, GOOD), "NaN"),
        (GOOD[:1], "1 sample"),
        (np.where(GOOD > 2, np.inf, GOOD), "inf"),
        ([["a", "b"]] * 5, "could not convert"),
    ]:
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
        v = Y.var()
        kernel = RBF(v, 1.0) + Bias(np.exp(-2.0)) + White(0.1 * v)  # their bias does not know the units of the data
        assert_allclose(log_likelihood(Y, kernel(X)), expected, rtol=1e-6)


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


def test_the_held_out_study_has_a_row_for_each_split_and_the_planes_errors_are_those_of_pca():
    oil = simulate_oil_flow(40, random_state=0)
    report = held_out(oil.data, n_splits=2, dimensions=(1, 2))
    assert list(report) == ["nearest fitted row", "PCA", "flat through near rows", "GP-LVM", "GP-LVM, prior"]
    for method in list(report)[1:]:
        assert [len(rows) for q in "12" for rows in report[method][q].values()] == [2] * 2 * len(report[method]["1"])
    for seed in range(2):
        rows = np.random.default_rng(seed).permutation(40)
        train, test = oil.data[rows[25:]], oil.data[rows[:25]]
        distances = np.linalg.norm(test[:, None] - train, axis=2)
        nearest = np.sqrt(np.mean((train[distances.argmin(axis=1)] - test) ** 2))
        assert_allclose(report["nearest fitted row"][seed], nearest, atol=6e-5)
        pca = PCA(2).fit(train)
        left = np.sqrt(np.mean((pca.inverse_transform(pca.transform(test)) - test) ** 2))
        assert_allclose(report["PCA"]["2"]["test"][seed], left, atol=6e-5)
        flat = []
        for row, order in zip(test, distances.argsort(axis=1), strict=True):
            corner, *others = train[order[:3]]
            across = np.transpose(others) - corner[:, None]
            flat.append(row - corner - across @ np.linalg.lstsq(across, row - corner)[0])
        assert_allclose(
            report["flat through near rows"]["2"]["test"][seed], np.sqrt(np.mean(np.square(flat))), atol=6e-5
        )


def test_the_likeliest_place_is_never_less_likely_than_that_of_transform():
    oil = simulate_oil_flow(60, random_state=0)
    model, new = GPLVM(6, latent_prior=None, max_iter=100).fit(oil.data[:40]), oil.data[40:]
    nearest = least_squares_places(model, new)
    left = np.linalg.norm(model.inverse_transform(nearest.reshape(100, 6)) - np.repeat(new, 5, axis=0), axis=1)
    assert np.all(np.diff(left.reshape(20, 5), axis=1) >= -1e-9)  # the best first
    places, missed = likeliest_places(model, new, nearest)
    higher = model.map_.log_density(new, places)[0] - model.map_.log_density(new, model.transform(new))[0]
    assert np.all(higher > -0.2) and abs(np.sum(higher > 0.1) - missed) <= 2 and missed > 0


def test_the_study_of_patience_says_what_fits_of_different_length_say():
    report = patience(n_pipes=1, steps=(2, 5))
    assert list(report) == ["free", "rbf"] and list(report["rbf"]) == ["2", "5"]
    pipe = simulate_oil_flow(100, random_state=0)
    model = GPLVM(back_constraint="rbf", latent_prior=None, max_iter=5, tol=0.0, random_state=0).fit(pipe.data)
    assert report["rbf"]["5"]["log_likelihood"] == [round(model.log_likelihood_, 1)]
    assert report["rbf"]["5"]["log_likelihood"] > report["rbf"]["2"]["log_likelihood"]


def test_rows_placed_by_least_squares_are_as_near_as_the_nearest_place_of_a_fine_grid():
    oil = simulate_oil_flow(60, random_state=0)
    model, new = GPLVM(latent_prior=None, max_iter=100).fit(oil.data[:40]), oil.data[40:]
    found = np.linalg.norm(nearest_decoded(model, new) - new, axis=1)
    reach = 1.2 * np.abs(model.embedding_).max()
    page = model.inverse_transform(grid_points((-reach, reach, -reach, reach), 150))
    on_grid = np.linalg.norm(new[:, None] - page, axis=2).min(axis=1)
    likeliest = np.linalg.norm(model.inverse_transform(model.transform(new)) - new, axis=1)
    assert np.mean(found <= on_grid) >= 0.8 and np.all(found <= likeliest + 1e-6)


def test_the_control_of_the_islands_begins_where_the_bells_begin():
    oil = simulate_oil_flow(60, random_state=0)
    bells, control, free = (islands(oil, way, max_iter=0) for way in ("rbf", "free, bells' start", "free"))
    assert bells == control != free and len(bells) == 7


@pytest.mark.real
def test_a_sample_of_the_held_out_study_comes_out_again():
    from gplvm_edu.datasets import load_oil_flow

    Y = load_oil_flow(100).data
    stored = json.loads((BOOK / "results" / "gplvm.json").read_text())["held out"]
    fresh = held_out(Y, n_splits=4, dimensions=(2,))
    assert fresh["nearest fitted row"] == stored["nearest fitted row"][:4]
    assert_allclose(fresh["PCA"]["2"]["test"], stored["PCA"]["2"]["test"][:4], atol=1e-4)
    for method in ("GP-LVM", "GP-LVM, prior"):
        ratio = np.array(fresh[method]["2"]["test"]) / stored[method]["2"]["test"][:4]
        assert np.all(np.abs(np.log(ratio)) < np.log(1.15)), (method, ratio)


def test_iterates_can_be_stopped_and_taken_up_again():
    Y = centre(simulate_oil_flow(30, random_state=0).data)[0]
    X = initial_positions(Y, 2, "pca", np.random.RandomState(0))
    states = gplvm_iterates(Y, X, common_start(Y.var()), max_iter=50)
    first = [next(states) for _ in range(4)]
    states.close()
    values = [state.value for state in first]
    assert np.all(np.diff(values) > 0)


@pytest.mark.identity
def test_the_place_of_a_row_does_not_depend_on_its_company():
    Y, X = problem(8)
    process, starts = map_of(Y, X, KERNELS[0]), np.stack([X[:4], X[4:8], X[8:]], axis=1)
    new = np.random.default_rng(9).standard_normal((4, 4))
    together = search_places(process, new, starts)
    for n in range(4):
        alone = search_places(process, new[n : n + 1], starts[n : n + 1])
        assert_allclose(alone.values[0], together.values[n], atol=1e-6)
