"""Chapter 11: t-SNE, and its cost as the prior of a GP-LVM. Affinities, energy, descent, posterior, the estimators."""

import json
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from common import refused, warnings_are_errors
from gplvm_widgets import explore_tsne
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import TSNE as SklearnTSNE
from sklearn.manifold import _t_sne

from gplvm_edu.datasets import Dataset, DataUnavailableError, load_digits, load_iris, make_swiss_roll, simulate_oil_flow
from gplvm_edu.gplvm import gplvm_iterates, log_likelihood, value_and_gradients
from gplvm_edu.kernels import RBF, Linear, White
from gplvm_edu.linalg import centre
from gplvm_edu.metrics import nearest_neighbour_errors
from gplvm_edu.optimise import check_gradient, minimise
from gplvm_edu.papers import tsne as tables
from gplvm_edu.starts import initial_positions
from gplvm_edu.tsne import (
    TSNE,
    TSNEPriorGPLVM,
    bandwidth_range,
    best_bandwidth,
    class_energy,
    conditional_affinities,
    cost_and_gradient,
    divergence,
    fast,
    joint_affinities,
    likelihood_share,
    paper_kernel,
    posterior_and_gradients,
    printed_affinities,
    printed_cost_and_gradient,
    prior_iterates,
    row_entropy,
    search_precision,
    student_affinities,
    tsne_iterates,
    with_bandwidth,
)

BOOK = Path(__file__).resolve().parent.parent / "book"
quick = settings()  # those of the profile, tests/conftest.py


def problem(seed=0, N=14, D=4, q=2):
    rng = np.random.default_rng(seed)
    Y = centre(rng.standard_normal((N, D)) @ np.triu(np.ones((D, D))))[0]
    return Y, 2 * rng.standard_normal((N, q)), joint_affinities(Y, min(5.0, (N - 1) / 3))


def brute_force_cost(X, P):
    """Every pair by itself."""
    N, terms = len(X), 0.0
    w = [[1 / (1 + np.sum((X[n] - X[m]) ** 2)) if n != m else 0.0 for m in range(N)] for n in range(N)]
    Z = np.sum(w)
    for n in range(N):
        for m in range(N):
            if P[n, m] > 0:
                terms += P[n, m] * np.log(P[n, m] / (w[n][m] / Z))
    return terms


def minimum_of_cost(P, X):
    """t-SNE to the bottom: the descent, then L-BFGS."""
    N, q = X.shape

    def value_and_gradient(x):
        cost, gradient = cost_and_gradient(x.reshape(N, q), P)
        return N * cost, N * gradient.ravel()

    *_, last = minimise(value_and_gradient, X.ravel(), "l-bfgs", 3000, 1e-9)
    return last.x.reshape(N, q)


# --- affinities ----------------------------------------------------------------------------------------------


@pytest.mark.identity
@given(st.integers(0, 10**6), st.integers(4, 40), st.floats(0.05, 0.95), st.floats(-6, 6))
@quick
def test_every_point_has_the_perplexity_asked_for_at_any_scale(seed, N, share, exponent):
    Y = 10.0**exponent * np.random.default_rng(seed).standard_normal((N, 3))
    perplexity = 1 + share * (N - 2)
    P, b = conditional_affinities(squareform(pdist(Y, "sqeuclidean")), perplexity)
    entropy = -np.sum(P * np.log(np.where(P > 0, P, 1.0)), axis=1)
    assert_allclose(entropy, np.log(perplexity), atol=1e-8)
    assert_allclose(P.sum(axis=1), 1.0)
    assert np.all(np.diag(P) == 0) and np.all(b > 0)


@pytest.mark.identity
def test_joint_affinities_are_symmetric_sum_to_one_and_overlook_nobody():
    Y, _, P = problem(1, N=30)
    assert_allclose(P, P.T)
    assert np.isclose(P.sum(), 1.0) and np.all(P.sum(axis=1) >= 1 / (2 * 30) - 1e-12)
    assert_allclose(joint_affinities(1e5 * Y + 7.0, 5.0), P, atol=1e-9)  # scale and place do not matter


@pytest.mark.gradient
@given(st.integers(0, 10**6), st.floats(-3, 3))
@quick
def test_slope_of_the_entropy_is_its_derivative(seed, ln_b):
    D = np.random.default_rng(seed).exponential(size=(1, 9))
    D -= D.min()
    h = 1e-5
    up, down = (row_entropy(D, np.exp([ln_b + s]))[1][0] for s in (h, -h))
    assert_allclose(row_entropy(D, np.exp([ln_b]))[2][0], (up - down) / (2 * h), atol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("N, perplexity", [(20, 5.0), (150, 30.0)])
def test_affinities_are_those_of_scikit_learn(N, perplexity):
    Y = np.random.default_rng(N).standard_normal((N, 6))
    theirs = squareform(_t_sne._joint_probabilities(squareform(pdist(Y, "sqeuclidean")), perplexity, 0))
    assert_allclose(joint_affinities(Y, perplexity), theirs, atol=2e-5 / N)  # theirs in single precision


@pytest.mark.bad_input
def test_copies_share_their_affinity_and_too_many_are_reported():
    Y = np.random.default_rng(0).standard_normal((12, 3))
    Y[:4] = Y[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        P, _ = conditional_affinities(squareform(pdist(Y, "sqeuclidean")), 3.5)  # three copies and half a neighbour
    assert_allclose(P[0, 1:4], P[0, 1], rtol=1e-12)
    with pytest.warns(UserWarning, match="4 of 12 points have more exact copies than perplexity=2"):
        P, _ = conditional_affinities(squareform(pdist(Y, "sqeuclidean")), 2.0)
    assert_allclose(P[0, 1:4], 1 / 3, atol=1e-9)
    with pytest.warns(UserWarning, match="12 of 12"):
        assert_allclose(joint_affinities(np.ones((12, 3)), 3.0)[0, 1:], 1 / (12 * 11))


@pytest.mark.bad_input
def test_search_says_where_no_width_can_reach_the_perplexity():
    b, reached = search_precision(np.array([[0.0, 0.0, 0.0, 1.0], [0.0, 1.0, 2.0, 3.0]]), 2.0)
    assert list(reached) == [False, True] and np.isfinite(b).all()


# --- energy --------------------------------------------------------------------------------------------------


@pytest.mark.identity
@given(st.integers(0, 10**6), st.integers(4, 20), st.integers(1, 3))
@quick
def test_the_cost_is_the_sum_over_all_pairs(seed, N, q):
    _, X, P = problem(seed, N=N, q=q)
    cost, _ = cost_and_gradient(X, P)
    assert_allclose(cost, brute_force_cost(X, P), rtol=1e-9)
    assert_allclose(cost, divergence(P, student_affinities(X)), rtol=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("N", [10, 64, 65, 200])
def test_cost_and_gradient_are_those_of_scikit_learn(N):
    Y, X, _ = problem(N, N=N)
    P = joint_affinities(Y, min(10.0, N / 4))
    cost, gradient = _t_sne._kl_divergence(X.ravel(), squareform(P), 1, N, 2)
    for way in (cost_and_gradient, fast.cost_and_gradient):
        ours, alone = way(X, P), way(X, P, with_cost=False)
        assert_allclose(ours[0], cost, rtol=1e-9)
        assert_allclose(ours[1].ravel(), gradient, rtol=1e-7, atol=1e-12)
        assert np.isnan(alone[0]) and np.array_equal(alone[1], ours[1])


@pytest.mark.parametrize("way", [cost_and_gradient, fast.cost_and_gradient])
def test_the_edges_of_cost_and_gradient(way):
    """Two points have one affinity and no cost; points at one place have equal q; far apart, only ratios of w count."""
    pair = np.array([[0.0, 0.5], [0.5, 0.0]])
    cost, gradient = way(np.array([[0.0, 1.0], [3.0, 0.0]]), pair)
    assert abs(cost) < 1e-15 and np.abs(gradient).max() < 1e-15

    _, X, P = problem(4, N=7)
    cost, gradient = way(np.full_like(X, 2.5), P)
    assert_allclose(cost, divergence(P, np.full((7, 7), 1 / 42)), rtol=1e-12)
    assert np.abs(gradient).max() < 1e-15

    for scale in (1e8, 1e12, 1e50):  # Z is 1e-14 to 1e-98: 1 + |x - x'|^2 is |x - x'|^2 for all pairs
        inverse = squareform(1 / pdist(X, "sqeuclidean"))
        Q = inverse / inverse.sum()
        cost, gradient = way(scale * X, P)
        expected = 4 * np.einsum("nm,nmq->nq", (P - Q) * inverse, X[:, None] - X)
        assert_allclose(cost, divergence(P, Q), rtol=1e-9)
        assert_allclose(scale * gradient, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())


@pytest.mark.gradient
@given(st.integers(0, 10**6), st.integers(4, 12), st.integers(1, 3), st.floats(-2, 0.5))
@quick
def test_gradient_of_the_cost_against_differences(seed, N, q, exponent):
    _, X, P = problem(seed, N=N, q=q)

    def value_and_gradient(x):
        cost, gradient = cost_and_gradient(x.reshape(N, q), P)
        return cost, gradient.ravel()

    assert check_gradient(value_and_gradient, 10.0**exponent * X.ravel()) < 1e-5


@pytest.mark.identity
def test_exaggeration_multiplies_the_attraction_alone():
    _, X, P = problem(2)
    w = 1 / (1 + squareform(pdist(X, "sqeuclidean")))
    pull = 4 * np.einsum("nm,nmq->nq", P * w, X[:, None] - X)
    for way in (cost_and_gradient, fast.cost_and_gradient):
        assert_allclose(way(X, 3 * P)[1], way(X, P)[1] + 2 * pull, rtol=1e-9, atol=1e-12)


@pytest.mark.gradient
def test_gradients_of_the_printed_cost_and_of_the_class_energy_against_differences():
    _, X, P = problem(3)
    target = np.arange(len(X)) % 3
    target[:2] = -1
    for energy in (lambda X: printed_cost_and_gradient(X, P), lambda X: class_energy(X, target)):

        def value_and_gradient(x, energy=energy):
            value, gradient = energy(x.reshape(X.shape))
            return value, gradient.ravel()

        assert check_gradient(value_and_gradient, 0.3 * X.ravel()) < 1e-6


@pytest.mark.identity
def test_printed_q_grows_with_the_distance_and_the_right_one_falls():
    _, X, P = problem(4)
    d = pdist(X)
    printed = squareform((1 + squareform(d)) ** 2 - np.eye(len(X)), checks=False)
    right = squareform(student_affinities(X), checks=False)
    assert spearmanr(d, printed)[0] > 0.999 and spearmanr(d, right)[0] < -0.999
    near, far = 0.1 * X, 10 * X
    neighbours = np.zeros_like(P)
    neighbours[[0, 1], [1, 0]] = 0.5  # one pair of neighbours, all others strangers
    apart = X.copy()
    apart[0], apart[1] = X.mean(axis=0) + 30, X.mean(axis=0) - 30
    assert printed_cost_and_gradient(apart, neighbours)[0] < printed_cost_and_gradient(X, neighbours)[0]
    assert cost_and_gradient(apart, neighbours)[0] > cost_and_gradient(X, neighbours)[0]
    assert np.isfinite([printed_cost_and_gradient(Z, P)[0] for Z in (near, far)]).all()


@pytest.mark.identity
def test_printed_p_has_one_width_and_forgets_the_lonely_point():
    Y = np.r_[np.random.default_rng(0).standard_normal((20, 3)), [[30.0, 0, 0]]]
    P, right = printed_affinities(Y, 5.0), joint_affinities(Y, 5.0)
    assert np.isclose(P.sum(), 1.0) and np.allclose(P, P.T)
    entropy = -np.sum(P[P > 0] * np.log(P[P > 0]))
    assert_allclose(entropy, np.log(21 * 5.0), atol=1e-8)
    assert P[-1].sum() < 1e-3 < 1 / 42 - 1e-9 < right[-1].sum()


# --- t-SNE ---------------------------------------------------------------------------------------------------


def test_the_descent_hands_over_its_start_every_tenth_step_and_its_end():
    _, X, P = problem(5, N=30)
    iterates = list(tsne_iterates(P, 1e-4 * X, max_iter=35, n_exaggerated=10))
    assert [iterate.step for iterate in iterates] == [0, 10, 20, 30, 35]
    assert_allclose([iterate.cost for iterate in iterates], [cost_and_gradient(i.X, P)[0] for i in iterates])


def test_the_descent_stops_where_the_gradient_is_small():
    start = TSNE(perplexity=10.0).fit(simulate_oil_flow(40, random_state=0).data)
    P, bottom = start.affinities_, minimum_of_cost(start.affinities_, start.embedding_)
    size = len(P) * np.abs(cost_and_gradient(bottom, P)[1]).max()
    assert size < 1e-6  # where L-BFGS stalls depends on the machine
    iterates = list(tsne_iterates(P, bottom, max_iter=500, n_exaggerated=0, tolerance=2 * size))
    assert len(iterates) == 1 and iterates[0].step == 0 and iterates[0].stopped == "gradient"
    going_on = tsne_iterates(P, bottom, max_iter=500, n_exaggerated=0, tolerance=0.1 * size)
    assert next(going_on).stopped == "" and next(going_on).step > 0


def test_a_descent_that_runs_out_of_steps_warns():
    with pytest.warns(ConvergenceWarning, match="TSNE stopped at max_iter=35"):
        model = TSNE(max_iter=35).fit(simulate_oil_flow(40, random_state=0).data)
    assert not model.converged_ and model.n_iter_ == 35 and len(model.history_) == 5  # 0, 10, 20, 30, 35


@pytest.mark.parametrize(
    "Y",
    [
        load_iris().data[::2],
        load_digits().data[:100],
        make_swiss_roll(100, random_state=0).data,
        *(simulate_oil_flow(N, random_state=N).data for N in (40, 80)),
        *(np.random.default_rng(N).standard_normal((N, 6)) for N in (5, 10, 30, 80)),
    ],
    ids=lambda Y: f"{Y.shape}",
)
@pytest.mark.long
def test_a_descent_by_default_comes_to_rest_and_three_times_the_steps_would_gain_little(Y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TSNE().fit(Y)
    assert model.converged_ and 500 < model.n_iter_ < 2500
    *_, far = TSNE(max_iter=3 * model.n_iter_, tol=0.0).iterates(Y)
    assert model.cost_ - far.cost <= 0.03 * far.cost


def test_a_prior_starts_from_a_map_of_tsne_without_a_word_about_it():
    Y = simulate_oil_flow(40, random_state=0).data
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = TSNEPriorGPLVM(max_iter=2).fit(Y)
    assert not [w for w in caught if "TSNE stopped" in str(w.message)]
    *_, before, last = TSNE(max_iter=1000, tol=0.0).iterates(Y)
    apart = np.max(np.abs(model.start_ - last.X))  # rounding, which a thousand steps enlarge: up to 2e-6 was seen
    assert apart < 0.3 * np.max(np.abs(before.X - last.X))  # 1.7e-5; the end of TSNE's own default is 7e-4 away


@pytest.mark.oracle
@pytest.mark.long
def test_final_cost_is_that_of_scikit_learn_within_three_per_cent_on_average():
    ratios = []
    for Y in (simulate_oil_flow(150, random_state=0).data, load_digits().data[:200]):
        ours = TSNE().fit(Y)
        ratios.append(ours.cost_ / SklearnTSNE(method="exact", init="pca", perplexity=30).fit(Y).kl_divergence_)
        assert ours.history_[-1] == -ours.cost_ and ours.history_[-1] > ours.history_[0]
    assert np.mean(ratios) <= 1.03 and np.max(ratios) <= 1.1


@pytest.mark.identity
@pytest.mark.parametrize("N", [5, 10, 30, 80])
def test_exaggeration_never_lets_a_small_map_collapse(N):
    Y = np.random.default_rng(N).standard_normal((N, 6))
    model = TSNE().fit(Y)
    at_a_point, _ = cost_and_gradient(1e-9 * model.embedding_, model.affinities_)
    assert model.cost_ < 0.6 * at_a_point and model.embedding_.std() > 0.1


# --- the prior -----------------------------------------------------------------------------------------------


@pytest.mark.gradient
@given(st.integers(0, 10**6), st.floats(-4, 2))
@quick
def test_gradient_of_the_posterior_against_differences(seed, exponent):
    Y, X, P = problem(seed, N=8)
    kernel, tau, shape = RBF(1.2, 0.6) + White(0.2), 10.0**exponent, X.shape

    def value_and_gradient(x):
        kernel.theta = x[X.size :]
        now = posterior_and_gradients(Y, x[: X.size].reshape(shape), kernel, lambda Z: cost_and_gradient(Z, P), tau)
        return now.value, np.concatenate([now.dX.ravel(), now.dtheta])

    assert check_gradient(value_and_gradient, np.concatenate([X.ravel(), kernel.theta])) < 1e-5


@pytest.mark.identity
def test_the_posterior_is_the_likelihood_minus_the_energy_over_the_temperature():
    Y, X, P = problem(7)
    kernel = paper_kernel(1.0, 2.0)
    now = posterior_and_gradients(Y, X, kernel, lambda Z: cost_and_gradient(Z, P), 0.3)
    assert_allclose(now.log_likelihood, log_likelihood(Y, kernel(X)))
    assert_allclose(now.energy, brute_force_cost(X, P))
    assert_allclose(now.value, now.log_likelihood - now.energy / 0.3)
    assert posterior_and_gradients(Y, X, kernel, lambda Z: cost_and_gradient(Z, P), np.inf).value == now.log_likelihood


@pytest.mark.identity
@pytest.mark.parametrize("learn_kernel", [False, True])
@pytest.mark.parametrize("tau", [1e-9, 1e-2, np.inf])
def test_iterates_report_the_posterior_that_they_climb(tau, learn_kernel):
    Y, X, P = problem(8, N=20)

    def energy(Z):
        return cost_and_gradient(Z, P)

    states = list(prior_iterates(Y, X, paper_kernel(1.0, 2.0), energy, tau, max_iter=8, learn_kernel=learn_kernel))
    assert np.all(np.diff([state.value for state in states]) > -1e-9 * abs(states[0].value))
    for state in states:
        kernel = paper_kernel()
        kernel.theta = state.theta
        assert_allclose(state.value, posterior_and_gradients(Y, state.X, kernel, energy, tau).value, rtol=1e-8)
    assert (states[-1].theta != states[0].theta).any() == learn_kernel


@pytest.mark.identity
def test_hot_prior_from_the_same_start_is_the_plain_gplvm():
    Y = centre(simulate_oil_flow(40, random_state=0).data)[0]
    X, kernel = initial_positions(Y, 2, "pca", None), RBF(Y.var(), 1.0) + White(0.1 * Y.var())
    P = joint_affinities(Y, 10.0)
    states = [
        prior_iterates(
            Y, X, kernel, lambda Z: cost_and_gradient(Z, P), tau, max_iter=20, tolerance=0.0, learn_kernel=True
        )
        for tau in (1e12, np.inf)
    ]
    plain = gplvm_iterates(Y, X, kernel, max_iter=20, tolerance=0.0)
    for hot, infinite, reference in zip(*states, plain, strict=True):
        assert_allclose(infinite.value, reference.value, rtol=1e-4)
        assert_allclose(hot.value, infinite.value, rtol=1e-6)
    _, gradient, _ = value_and_gradients(Y, X, kernel)
    for tau in (1e6, 1e12):
        dX = posterior_and_gradients(Y, X, kernel, lambda Z: cost_and_gradient(Z, P), tau).dX
        assert_allclose(dX, gradient, atol=10 / tau)


@pytest.mark.identity
def test_cold_prior_stays_at_the_solution_of_tsne():
    Y = centre(simulate_oil_flow(60, random_state=0).data)[0]
    start = TSNE(perplexity=10.0).fit(Y)
    bottom = minimum_of_cost(start.affinities_, start.embedding_)
    moved = []
    for tau in (1e-10, 1e-7, 1e-3):
        model = TSNEPriorGPLVM(temperature=tau, perplexity=10.0, init=bottom, tol=1e-9, max_iter=50).fit(Y)
        moved.append(np.abs(model.embedding_ - bottom).max() / np.ptp(bottom))
    assert moved[0] < 1e-4 and moved[0] < moved[1] < moved[2] and moved[2] > 0.01


@pytest.mark.identity
@given(st.integers(1, 5000), st.integers(1, 5000), st.floats(-12, 6))
@quick
def test_the_two_weights_are_one_half_at_one_over_ND(N, D, exponent):
    tau = 10.0**exponent
    w = likelihood_share(N, D, tau)
    assert 0 <= w <= 1 and np.isclose(likelihood_share(N, D, 1 / (N * D)), 0.5)
    assert np.isclose(w * (N * D + 1 / tau), N * D) and likelihood_share(N, D, np.inf) == 1.0


@pytest.mark.identity
def test_best_bandwidth_is_the_best_of_the_list():
    Y, X, _ = problem(9, N=30)
    kernel, widths = paper_kernel(Y.var()), bandwidth_range(X)
    best, values = best_bandwidth(Y, X, kernel, widths)
    brute = [log_likelihood(Y, RBF(Y.var(), s**-2)(X) + np.exp(-1) * Y.var() * (1 + np.eye(30))) for s in widths]
    assert_allclose(values, brute)
    assert best == widths[np.argmax(brute)]
    assert with_bandwidth(kernel, best)["rbf"].inverse_width == pytest.approx(best**-2)


def test_bandwidth_and_positions_climb_in_turn():
    oil = simulate_oil_flow(60, random_state=0)
    model = TSNEPriorGPLVM(temperature=np.inf, init="pca", max_iter=60).fit(oil.data)
    assert np.all(np.diff(model.history_) > -1e-9)
    Y = model.rows_ - model.mean_
    again, _ = best_bandwidth(Y, model.embedding_, model.kernel_, bandwidth_range(model.start_), model.jitter_)
    assert again == model.bandwidth_ or len(model.history_) > 60
    K = model.kernel_(model.embedding_) + model.jitter_ * np.eye(60)
    assert_allclose(log_likelihood(Y, K), model.log_likelihood_, rtol=1e-8)
    assert_allclose(model.history_[-1], model.log_likelihood_, rtol=1e-8)


@pytest.mark.long
def test_the_extended_model_keeps_neighbours_that_the_plain_one_loses():
    oil = simulate_oil_flow(200, random_state=0)
    plain = TSNEPriorGPLVM(temperature=np.inf, init="pca", max_iter=100).fit(oil.data)
    extended = TSNEPriorGPLVM(temperature=1e-7, max_iter=60).fit(oil.data)
    errors = [nearest_neighbour_errors(model.embedding_, oil.target) for model in (plain, extended)]
    assert errors[1] < errors[0] and extended.energy_ < plain.energy_


def test_new_rows_find_their_class_and_positions_decode_to_their_data():
    oil = simulate_oil_flow(200, random_state=0)
    model = TSNEPriorGPLVM(temperature=1e-6, max_iter=40).fit(oil.data[:150])
    X = model.transform(oil.data[150:])
    both = np.vstack([model.embedding_, X])
    assert nearest_neighbour_errors(both, oil.target) < 20
    decoded, deviation = model.inverse_transform(model.embedding_, return_std=True)
    error = np.mean((decoded - oil.data[:150]) ** 2) / oil.data[:150].var(axis=0).mean()
    assert error < 0.35 and deviation.shape == (150, 12)  # the paper's kernel keeps e^-1 for noise
    samples, places = model.sample(20, random_state=0)
    assert samples.shape == (20, 12) and places.shape == (20, 2) and np.isfinite(model.score(oil.data[150:]))


def test_fantasies_are_the_decoded_points_of_a_line():
    digits = load_digits()
    model = TSNEPriorGPLVM(1, temperature=1e-6, max_iter=20).fit(digits.data[:80])
    images, X = model.fantasies(64)
    assert images.shape == (64, 64) and np.allclose(np.diff(X[:, 0]), np.diff(X[:, 0])[0])
    assert_allclose(images, model.inverse_transform(X))
    assert images.min() > -6 and images.max() < 22  # grey levels from 0 to 16, more or less
    with pytest.raises(ValueError, match="2 dimensions"):
        TSNEPriorGPLVM(2, max_iter=2).fit(digits.data[:20]).fantasies()


def test_a_subclass_may_have_another_energy():
    oil = simulate_oil_flow(80, random_state=0)

    class Supervised(TSNEPriorGPLVM):
        def energy(self, X):
            (C, dC), (E, dE) = super().energy(X), class_energy(X, oil.target)
            return C + 10 * E, dC + 10 * dE

    plain, supervised = (Model(temperature=1e-5, max_iter=60).fit(oil.data) for Model in (TSNEPriorGPLVM, Supervised))
    assert class_energy(supervised.embedding_, oil.target)[0] < class_energy(plain.embedding_, oil.target)[0] - 1e-3


def test_a_fit_leaves_the_kernel_that_it_was_given_alone():
    Y = simulate_oil_flow(30, random_state=0).data
    kernel = RBF(1.0, 1.0) + White(0.1)
    TSNEPriorGPLVM(kernel=kernel, bandwidths=[1.0, 5.0], max_iter=5).fit(Y)
    assert kernel == RBF(1.0, 1.0) + White(0.1)


@pytest.mark.filterwarnings("ignore:.*exact copies")
@warnings_are_errors
@given(
    st.integers(0, 10**6),
    st.integers(4, 40),
    st.integers(1, 40),
    st.floats(-6, 6),
    st.floats(-12, 3),
    st.sampled_from(["plain", "copies", "constant columns"]),
    st.booleans(),
    st.sampled_from(["l-bfgs", "scg"]),
)
@quick
@pytest.mark.long
def test_fits_of_awkward_data_end_finite_and_no_worse_than_they_began(seed, N, D, scale, heat, kind, learn, optimiser):
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((N, D))
    if kind == "copies":
        Y = Y[rng.integers(0, (N + 1) // 2, size=N)]
    elif kind == "constant columns":
        Y *= rng.integers(0, 2, size=D)
    model = TSNEPriorGPLVM(temperature=10.0**heat, max_iter=15, learn_kernel=learn, optimiser=optimiser, random_state=0)
    history = model.fit(10.0**scale * Y).history_
    assert np.isfinite([model.log_likelihood_, model.energy_]).all() and np.isfinite(model.embedding_).all()
    assert np.isfinite(history).all() and history[-1] >= history[0] - 1e-9 * abs(history[0])


# --- bad input -----------------------------------------------------------------------------------------------

GOOD = np.random.default_rng(0).standard_normal((20, 5))


test_bad_parameters_get_a_clear_error = refused(
    [
        (TSNE(perplexity=19.0), r"not between 1 and N - 1 = 19"),
        (TSNE(perplexity=0.5), "perplexity must be a finite number of at least 1, got 0.5"),
        (TSNE(perplexity="many"), "perplexity must be a finite number of at least 1, got 'many'"),
        (TSNE(0), "whole number"),
        (TSNE(20), "too many"),
        (TSNE(init="magic"), "no init 'magic'"),
        (TSNE(early_exaggeration=0.5), "early_exaggeration"),
        (TSNE(learning_rate=0.0), "learning_rate"),
        (TSNE(max_iter=-1), "max_iter"),
        (TSNE(tol=-1.0), "tol"),
        (TSNEPriorGPLVM(temperature=0.0), r"temperature must be above 0 .*got 0.0.*1 / \(N D\)"),
        (TSNEPriorGPLVM(temperature=-1.0), "above 0"),
        (TSNEPriorGPLVM(temperature="hot"), "above 0"),
        (TSNEPriorGPLVM(perplexity=25.0), "perplexity=25"),
        (TSNEPriorGPLVM(kernel="rbf"), "must be a kernel"),
        (TSNEPriorGPLVM(bandwidths=[1.0, -2.0]), "bandwidths"),
        (TSNEPriorGPLVM(bandwidths=3.0), "bandwidths"),
        (TSNEPriorGPLVM(init="magic"), "no init 'magic'"),
        (TSNEPriorGPLVM(kernel=Linear() + White(0.1), bandwidths=[1.0]), "has none"),
        (TSNEPriorGPLVM(optimiser="adam", max_iter=3), "optimiser must be one of"),
    ],
    GOOD,
)


@pytest.mark.bad_input
@pytest.mark.parametrize("Model", [TSNE, TSNEPriorGPLVM])
def test_bad_data_gets_a_clear_error(Model):
    for Y, says in [
        (GOOD[0], "Expected 2D"),
        (np.where(GOOD > 2, np.nan, GOOD), "NaN"),
        (GOOD[:3], "at least 4"),
        (np.where(GOOD > 2, np.inf, GOOD), "inf"),
        ([["a", "b"]] * 5, "could not convert"),
    ]:
        with pytest.raises(ValueError, match=says):
            Model().fit(Y)
    assert Model(max_iter=30).fit(GOOD[:4]).embedding_.shape == (4, 2)


# --- the tables ----------------------------------------------------------------------------------------------


def test_a_line_of_the_tables_has_all_its_columns():
    compare, likeliest, temperatures = tables.compare, tables.likeliest, tables.temperatures
    oil = simulate_oil_flow(60, random_state=0)
    rows, extended = compare(oil.data, oil.target, perplexity=10.0, max_iter=10, plain_iter=10)
    assert rows["n_samples"] == 60 and rows["n_features"] == 12
    plain = likeliest(rows["plain"])
    for row in (*rows["plain"].values(), rows["plain, from t-SNE"], rows["extended"]):
        assert set(row) == {"errors", "nats_per_entry", "energy", "bandwidth", "n_evaluations"}
        assert plain["nats_per_entry"] >= row["nats_per_entry"] or row not in rows["plain"].values()
    assert list(rows["plain"]) == ["0.4", "0.8", "1.6"] and rows["PCA"]["errors"] > rows["t-SNE"]["errors"]
    assert rows["extended"]["energy"] < plain["energy"]
    cold, hot = temperatures(oil.data, oil.target, extended.start_, 3.0, (1e-9, 1.0), 10.0, 10)
    assert cold["energy"] < hot["energy"] and cold["nats_per_entry"] < hot["nats_per_entry"]


@pytest.mark.parametrize("name, shape", [("mnist", (3000, 20)), ("newsgroups", (2600, 8)), ("olivetti", (40, 30))])
def test_lines_of_the_papers_own_data_come_through_the_loaders(monkeypatch, name, shape):
    rng = np.random.default_rng(0)
    target = rng.integers(4, size=shape[0])
    stand_in = Dataset(np.float32(7 * rng.standard_normal(shape) + target[:, None]), target, tuple("abcd"), {})
    monkeypatch.setitem(tables.DATA, name, lambda: stand_in)
    Y, labels = tables.load_table_data(name)
    assert len(Y) == len(labels) == min(shape[0], 2500) and np.isclose(Y.var(axis=0).mean(), 1.0)
    again, _ = tables.load_table_data(name)
    assert np.array_equal(Y, again) and Y.dtype == np.float64
    assert set(tables.PRINTED[name]) == {"log_likelihood", "per cent"}


@pytest.mark.bad_input
def test_absent_data_say_what_to_do(monkeypatch, tmp_path):
    from gplvm_edu.datasets import loaders

    monkeypatch.setenv("GPLVM_EDU_DATA", str(tmp_path))

    def no_network(*args, **options):
        raise OSError("no network")

    monkeypatch.setattr(loaders.sklearn_datasets, "fetch_olivetti_faces", no_network)
    with pytest.raises(DataUnavailableError, match=r"olivettifaces\.mat"):
        tables.load_table_data("olivetti")
    with pytest.raises(ValueError, match="There is no data set 'faces'"):
        tables.load_table_data("faces")


def stored_results():
    return json.loads((BOOK / "results" / "tsne.json").read_text())


def keep_the_bars(results):
    """The extended model makes at most 30 errors, the plain one more than 50, at a small price in likelihood."""
    digits, likeliest = results["digits"], tables.likeliest(results["digits"]["plain"])
    assert digits["n_samples"] == 1797 and digits["extended"]["errors"] <= 30
    assert all(row["errors"] > 50 for row in digits["plain"].values())
    assert likeliest["nats_per_entry"] - digits["extended"]["nats_per_entry"] <= 0.03  # at unit mean variance
    assert digits["PCA"]["errors"] > 700
    cold_to_hot = results["temperatures"]
    assert [row["temperature"] for row in cold_to_hot] == sorted(row["temperature"] for row in cold_to_hot)
    assert cold_to_hot[-1]["nats_per_entry"] > digits["extended"]["nats_per_entry"]


def test_stored_digits_keep_the_bars():
    keep_the_bars(stored_results())


@pytest.mark.slow
def test_all_digits_keep_the_bars_today(fresh_results):
    keep_the_bars(fresh_results("tsne"))


@pytest.mark.slow
def test_all_digits_final_cost_is_that_of_scikit_learn_within_three_per_cent():
    Y = load_digits().data
    theirs = SklearnTSNE(method="exact", init="pca", perplexity=30).fit(Y).kl_divergence_
    assert TSNE(perplexity=30, max_iter=1000, tol=0.0).fit(Y).cost_ <= 1.03 * theirs  # as many steps as theirs


# --- the explorer --------------------------------------------------------------------------------------------

SMALL = dict(n_points=60, perplexity=10)
CURVE = ("data", "n_points", "perplexity", "start", "width", "energy")


EXPLORER = partial(explore_tsne, **SMALL)


def shown_model(explorer):
    """The model whose pictures are shown."""
    from gplvm_widgets.tsne.fit import fitted

    return fitted(*(explorer.settings[name] for name in (*CURVE, "temperature")))


def wire(scene):
    """All that a page is told."""
    return json.dumps(scene.wire(stored=True), sort_keys=True)


@pytest.mark.widget
@pytest.mark.parametrize("data", ["digits", "oil flow"])
def test_panel_shows_map_decoded_place_and_both_terms(data):
    from gplvm_widgets.tsne import panel_tsne
    from gplvm_widgets.tsne.fit import TEMPERATURES, fitted, load

    scene = panel_tsne(data=data, temperature=1e-4, **SMALL)
    assert [panel.key for panel in scene.panels] == ["latent", "decoded", "terms"]
    models = [fitted(data, 60, 10, "t-SNE", 3.162, "corrected", tau) for tau in TEMPERATURES]
    now, (Y, target, _) = TEMPERATURES.index(1e-4), load(data, 60)
    errors, model = nearest_neighbour_errors(models[now].embedding_, target), models[now]
    assert scene.says == (
        f"{errors} of 60 points beside another class; log likelihood {model.log_likelihood_ / Y.size:.3f} nats an "
        f"entry, energy {model.energy_:.3f} nats"
    )
    latent, decoded, terms = scene.panels
    assert (
        latent.title == "temperature 1e-4"
        and latent.hint == "drag the cross"
        and latent.listens == "drag"
        and latent.equal
    )
    assert "log precision" in latent.mark("precision").bar and not decoded.listens and not terms.listens
    likelihood = np.array([m.log_likelihood_ / Y.size for m in models])
    energy = np.array([m.energy_ for m in models])
    assert_allclose(terms.mark("likelihood").y, likelihood.max() - likelihood)
    assert_allclose(terms.mark("energy").y, energy - energy.min())
    for name in ("likelihood", "energy"):
        dot = terms.mark(f"{name} now")
        assert list(dot.x) == [now] and dot.y[0] == terms.mark(name).y[now]
    assert wire(scene) != wire(panel_tsne(data=data, temperature=np.inf, **SMALL))


@pytest.mark.widget
def test_the_dashed_line_is_where_both_terms_weigh_the_same():
    from gplvm_widgets.tsne import panel_tsne
    from gplvm_widgets.tsne.fit import TEMPERATURES

    terms = panel_tsne(**SMALL).panel("terms")
    (place,) = terms.mark("even").x
    left, right = int(place), int(place) + 1
    logs = np.log10([TEMPERATURES[left], TEMPERATURES[right]])
    tau = 10 ** np.interp(place - left, [0, 1], logs)
    assert_allclose(tau, 1 / (60 * 64), rtol=1e-9)
    assert likelihood_share(60, 64, tau) == pytest.approx(0.5)
    likelihood, energy = terms.mark("likelihood").y, terms.mark("energy").y
    assert likelihood[0] < 1e-6 and energy[-1] < 0.005 * energy[0]  # each has its best at its own end


@pytest.mark.widget
def test_the_cross_shows_what_the_model_decodes(explorer):
    explorer.set(x1=0.25, x2=-0.5)
    model, cross = shown_model(explorer), explorer.scene.mark("latent", "cross")
    x = explorer.scene.panel("latent").x.limits[1] * np.array([[0.25, -0.5]])
    assert_allclose([cross.x, cross.y], x[0])
    drawn = explorer.scene.mark("decoded", "images").values[:, :8]
    assert_allclose(drawn, model.inverse_transform(x).reshape(8, 8))
    nearest, ring = np.argmin(np.sum((model.embedding_ - x) ** 2, axis=1)), explorer.scene.mark("latent", "nearest")
    assert ring.label.startswith(f"nearest: point {nearest}, ")
    assert_allclose([ring.x[0], ring.y[0]], model.embedding_[nearest])


@pytest.mark.widget
def test_a_drag_moves_the_cross_and_computes_nothing_else_anew(explorer):
    before, (x, y) = explorer.scene, shown_model(explorer).embedding_[7]
    explorer.view.hear({"type": "point", "panel": "latent", "x": x, "y": y})
    assert explorer.scene.mark("latent", "nearest").label.startswith("nearest: point 7, ")
    assert explorer.scene.panel("terms") is before.panel("terms")
    assert explorer.scene.mark("latent", "precision") is before.mark("latent", "precision")
    limit, where = before.panel("latent").x.limits[1], explorer.settings
    assert_allclose([where["x1"], where["x2"]], [x / limit, y / limit], atol=6e-4)
    explorer.view.hear({"type": "arrow", "panel": "latent", "right": 1, "up": -5})
    moved = explorer.settings
    assert_allclose([moved["x1"] - where["x1"], moved["x2"] - where["x2"]], [0.02, -0.1], atol=6e-4)
    for _ in range(30):
        explorer.view.hear({"type": "arrow", "panel": "latent", "right": 5, "up": 0})
    assert explorer.settings["x1"] == 1.0  # the border


@pytest.mark.widget
def test_the_prepared_slider_fits_nothing_more(explorer):
    from gplvm_widgets.tsne import fit

    assert [mark.key for mark in explorer.scene.panel("terms").marks] == ["waiting"]
    explorer.prepare_now()
    assert len(explorer.scene.mark("terms", "energy").x) == len(fit.TEMPERATURES)
    misses = fit.fitted.cache_info().misses
    pictures = set()
    for tau in fit.TEMPERATURES:
        explorer.set(temperature=tau)
        pictures.add(wire(explorer.scene))
    assert fit.fitted.cache_info().misses == misses and len(pictures) == len(fit.TEMPERATURES)


@pytest.mark.widget
def test_the_slider_is_prepared_in_the_background_and_a_new_setting_starts_again(explorer):
    import asyncio

    from gplvm_widgets.tsne import panel_tsne

    async def wait_for_all():
        explorer.set(perplexity=8)
        first = explorer.filling
        explorer.set(perplexity=9)
        assert [mark.key for mark in explorer.scene.panel("terms").marks] == ["waiting"]
        await asyncio.wait_for(explorer.filling, 60)
        assert first.cancelled()

    asyncio.run(wait_for_all())
    assert explorer.problem == "" and wire(explorer.scene) == wire(panel_tsne(**explorer.settings))
    explorer.set(perplexity=10)
    explorer.set(perplexity=9)  # what is prepared stays so
    assert wire(explorer.scene) == wire(panel_tsne(**explorer.settings))


@pytest.mark.widget
def test_an_explorer_that_ends_prepares_nothing_more(explorer):
    import asyncio

    async def end():
        explorer.set(perplexity=7)
        explorer.end()
        with pytest.raises(asyncio.CancelledError):
            await explorer.filling

    asyncio.run(end())


@pytest.mark.widget
def test_the_strip_of_the_book_has_the_curves_in_every_scene():
    scenes, questions = explore_tsne(prepared=True).strip()
    assert len(scenes) == 7 and [q["right"] for q in questions] == [0, 1, 2]
    assert all(len(scene.mark("terms", "energy").x) == 11 for scene in scenes)


@pytest.mark.widget
@pytest.mark.parametrize(
    "setting",
    [
        {},
        dict(temperature=np.inf, start="PCA"),
        dict(data="oil flow", temperature=1e-4, width=2.0),
        dict(energy="as printed", temperature=1e-3, x1=0.3),
    ],
    ids=str,
)
def test_the_code_shown_computes_the_numbers_of_the_panel(explorer, setting, capsys):
    explorer.set(**setting)
    names, model = {}, shown_model(explorer)
    exec(explorer.shown_code(), names)
    assert_allclose(names["X"], model.embedding_, atol=1e-8)
    assert_allclose(names["model"].log_likelihood_, model.log_likelihood_)
    assert_allclose(names["model"].energy_, model.energy_)
    cross = explorer.scene.mark("latent", "cross")
    assert_allclose(names["decoded"], model.inverse_transform([[cross.x, cross.y]]), atol=1e-4)
    assert explorer.scene.says in capsys.readouterr().out


@pytest.mark.widget
def test_the_answers_of_the_questions_are_true(explorer):
    from gplvm_widgets.tsne.fit import fitted, load

    scenes, models = {}, {}
    for number, question in enumerate(explorer.questions, start=1):
        explorer.ask(number)
        scenes[number, "before"], models[number, "before"] = explorer.scene, shown_model(explorer)
        explorer.commit(question.right)
        explorer.reveal()
        scenes[number, "after"], models[number, "after"] = explorer.scene, shown_model(explorer)
        assert "Right." in explorer.question_box.value
        assert explorer.settings == question.before | question.after
    assert [q.choices[q.right] for q in explorer.questions] == ["the energy", "no, the energy rises", "they are mixed"]
    target = load("digits", 100)[1]
    errors = {key: nearest_neighbour_errors(model.embedding_, target) for key, model in models.items()}
    assert all(scenes[key].says.startswith(f"{n} of 100 points") for key, n in errors.items())
    tsne, hot = models[1, "before"], models[1, "after"]
    gain = (hot.log_likelihood_ - tsne.log_likelihood_) / hot.rows_.size
    assert 1.35 < hot.energy_ / tsne.energy_ < 1.65 and 0.01 < gain < 0.5 * (hot.energy_ - tsne.energy_)
    from_pca = fitted("digits", 100, 20, "PCA", 3.162, "corrected", np.inf)
    assert errors[1, "after"] <= errors[1, "before"] + 1
    assert nearest_neighbour_errors(from_pca.embedding_, target) >= 2 * errors[1, "after"]
    paper, moved = models[2, "before"], models[2, "after"]
    assert f"energy {tsne.energy_:.3f} nats" in scenes[2, "before"].says and moved.energy_ > 1.15 * paper.energy_
    assert errors[3, "after"] > 60 > 10 > errors[3, "before"]


@pytest.mark.widget
def test_every_perplexity_of_the_slider_can_be_shown_with_the_fewest_points(explorer):
    explorer.set(n_points=60, perplexity=35)
    assert explorer.problem == "" and explorer.settings["n_points"] == 60
    with pytest.raises(ValueError, match="no control named gamma"):
        explorer.set(gamma=1.0)


# --- the explorer in a real page -----------------------------------------------------------------------------


@pytest.mark.browser
def test_explorer_in_a_real_page_slides_decodes_and_shows_its_code(open_explorer, screenshots):
    with open_explorer("explore_tsne(prepared=True, n_points=80)") as page:
        start = page.picture_at_rest()
        page.screenshot(screenshots / "lab_11_tsne.png")
        page.slider("temperature").press("ArrowLeft", times=6)
        moved = page.wait_for_new_picture(start)
        page.slider("temperature").press("ArrowRight", times=6)
        page.wait_for_picture(start)
        page.click_picture("latent", -4.0, 3.0)
        assert page.wait_for_new_picture(start) not in (start, moved)
        page.click("Question 3")
        page.wait_until(lambda: page.text(".gplvm-choices"), 20, "the choices")
        page.browser.do(lambda: page.page.get_by_text("they are mixed").first.click())
        page.click("Reveal")
        page.wait_until(lambda: "flee" in page.text(".gplvm-question"), 20, "the answer")
        names = page.run_shown_code()
        page.picture_at_rest()
        assert names["X"].shape == (100, 2) and page.scene()["says"] in names["printed"] and page.error_box() == ""


# --- the exercises -------------------------------------------------------------------------------------------


def test_checkers_know_wrong_answers_and_never_raise():
    from gplvm_edu.exercises import check, exercise_names

    assert exercise_names("tsne") == [f"tsne.{k}" for k in range(1, 9)]
    for name in exercise_names("tsne"):
        assert check(name).passed is None and check(name, lambda *a: None).passed is None
        for wrong in (lambda *a: 0.0, lambda: 0.0, "text", 1e9, np.zeros(3), lambda *a: 1 / 0):
            verdict = check(name, wrong)
            assert verdict.passed is False and verdict.message, (name, wrong)


def entropy_of(d2, b):
    p = np.exp(-b * d2) / np.exp(-b * d2).sum()
    return -np.sum(p * np.log(p)), p


def row_normalised(X):
    Q = student_affinities(X)
    return Q / Q.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    "name, answer, hint",
    [
        ("tsne.1", lambda d2, b: entropy_of(d2, b)[0], "exponential"),
        ("tsne.1", lambda d2, b: entropy_of(d2, b)[0] / np.log(2), "bits"),
        ("tsne.1", lambda d2, b: 1 / np.sum(entropy_of(d2, b)[1] ** 2), "another mean"),
        ("tsne.2", lambda X, P: -cost_and_gradient(X, P)[1], "sign"),
        ("tsne.2", lambda X, P: cost_and_gradient(X, P)[1] / 2, "Half"),
        ("tsne.2", lambda X, P: cost_and_gradient(X, P)[1].T, "shape"),
        ("tsne.3", lambda X: 1 / (1 + squareform(pdist(X)) ** 2), "diagonal"),
        ("tsne.3", row_normalised, "over all pairs"),
        ("tsne.3", lambda X: squareform((1 + pdist(X)) ** 2), "farthest"),
        ("tsne.4", lambda N, D: 1 / N, "hotter"),
        ("tsne.4", lambda N, D: 1e-7, "colder"),
        ("tsne.5", lambda X, W: (np.sum((X - W @ X) ** 2), 2 * (X - W @ X)), "in front"),
        ("tsne.6", lambda X, e: X @ np.linalg.inv(e * np.eye(3) + X.T @ X), "Half"),
        ("tsne.8", False, "near, and far"),
        ("tsne.8", "yes", "near, and far"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_typical_mistakes_get_their_own_hint(name, answer, hint):
    from gplvm_edu.exercises import check

    verdict = check(name, answer)
    assert verdict.passed is False and hint in verdict.message, verdict
