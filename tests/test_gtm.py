"""Chapter 9: the GTM. Densities, EM, incremental EM, gaps, the SOM beside it, the estimators and their bad input."""

import json
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from common import common_mistakes, refused, right_answers, warnings_are_errors
from gplvm_widgets.gtm import explore_gtm, panel_gtm
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import logsumexp, softmax
from scipy.stats import multivariate_normal
from sklearn.exceptions import NotFittedError

from gplvm_edu import gtm
from gplvm_edu.datasets import simulate_oil_flow
from gplvm_edu.gtm import GTM, BatchSOM
from gplvm_edu.metrics import nearest_neighbour_errors, subspace_angle
from gplvm_edu.ppca import PPCA

BOOK = Path(__file__).resolve().parent.parent / "book"
quick = settings()  # those of the profile, tests/conftest.py
SHAPES = [((12,), (4,)), ((5, 6), (3, 2)), ((4, 3, 3), (2, 2, 2))]


def problem(seed=0, which=1, N=30, D=3, gaps=0.0, terms="linear", width=1.0):
    """Bent data, a grid, its basis, and weights and precision that fit nothing in particular."""
    rng = np.random.default_rng(seed)
    grid, basis = SHAPES[which]
    t = rng.uniform(-1, 1, (N, 2))
    Y = np.column_stack([t, np.sin(3 * t[:, :1])]) @ rng.standard_normal((3, D)) + 0.1 * rng.standard_normal((N, D))
    if gaps:
        hidden = rng.random((N, D)) < gaps
        hidden[np.arange(N), rng.integers(D, size=N)] = False  # a row keeps something
        hidden[0] = False
        Y = np.where(hidden, np.nan, Y)
    Y = Y - np.nanmean(Y, axis=0)
    X = gtm.latent_grid(grid)
    Phi = gtm.basis_functions(X, gtm.make_basis(basis, width, terms))
    return Y, X, Phi, rng.standard_normal((D, Phi.shape[1])), rng.uniform(0.5, 5.0)


def posterior(Y, Phi, W, beta):
    return gtm.gaps.e_step(Y, Phi @ W.T, beta)


def steps(gaps):
    """The plain steps for complete data, those that know gaps for the others."""
    return dict(e_step=gtm.gaps.e_step, m_step=gtm.gaps.m_step) if gaps else {}


def penalised(Y, Phi, W, beta, alpha, sign=-1):
    return np.sum(posterior(Y, Phi, W, beta)[1]) + sign * 0.5 * alpha * np.sum(W**2)


def numerical_gradient(function, W, h=1e-6):
    G = np.empty(W.shape)
    for place in np.ndindex(W.shape):
        step = np.zeros(W.shape)
        step[place] = h
        G[place] = (function(W + step) - function(W - step)) / (2 * h)
    return G


# --- grid and basis ------------------------------------------------------------------------------------------


def test_the_grid_is_regular_and_its_last_dimension_runs_fastest():
    X = gtm.latent_grid((3, 2))
    assert X.tolist() == [[-1, -1], [-1, 1], [0, -1], [0, 1], [1, -1], [1, 1]]
    assert gtm.latent_grid((1, 2)).tolist() == [[0, -1], [0, 1]]
    assert_allclose(gtm.grid_spacing((3, 2, 1)), [1, 2, 2])


@pytest.mark.gradient
@pytest.mark.parametrize("terms", ["linear", "bias", "none"])
@pytest.mark.parametrize("shape", [(4,), (3, 2), (2, 2, 3)])
def test_derivatives_of_the_basis(shape, terms):
    basis = gtm.make_basis(shape, 0.8, terms)
    X = np.random.default_rng(0).uniform(-1, 1, (7, len(shape)))
    slopes, h = gtm.basis_derivatives(X, basis), 1e-6
    assert slopes.shape == (len(shape), 7, basis.size)
    for l in range(len(shape)):
        step = h * np.eye(len(shape))[l]
        measured = (gtm.basis_functions(X + step, basis) - gtm.basis_functions(X - step, basis)) / (2 * h)
        assert_allclose(slopes[l], measured, atol=1e-8)


@pytest.mark.identity
@pytest.mark.parametrize("which", [0, 1, 2])
def test_the_start_is_the_plane_of_pca_and_its_noise_the_larger_of_two(which):
    Y, X, Phi, _, _ = problem(3, which, N=200, D=5)
    q, (grid, _) = X.shape[1], SHAPES[which]
    W, beta = gtm.principal_sheet(Y, X, Phi, gtm.grid_spacing(grid))
    m = Phi @ W.T
    lam = np.sort(np.linalg.eigvalsh(Y.T @ Y / len(Y)))[::-1]
    assert subspace_angle(m.T, PPCA(q).fit(Y).weights_) < 1e-7
    assert_allclose(np.sort(np.linalg.eigvalsh(m.T @ m / len(m)))[::-1][:q], lam[:q], rtol=1e-8)
    neighbours = max(
        np.linalg.norm(m[i] - m[j])
        for i in range(len(X))
        for j in range(i)
        if np.isclose(np.sum(np.abs(X[i] - X[j]) / gtm.grid_spacing(grid)), 1.0)
    )
    assert_allclose(1 / beta, max(lam[q], (0.5 * neighbours) ** 2), rtol=1e-8)


# --- E-step --------------------------------------------------------------------------------------------------


@pytest.mark.identity
@given(st.integers(0, 10**6), st.sampled_from([0, 1, 2]), st.sampled_from([0.0, 0.3]))
@quick
def test_densities_are_gaussians_of_the_observed_entries(seed, which, gaps):
    Y, _, Phi, W, beta = problem(seed, which, N=3, gaps=gaps)
    m = Phi @ W.T
    for log_densities in [gtm.gaps.log_densities] if gaps else [gtm.log_densities, gtm.fast.log_densities]:
        log_p = log_densities(Y, m, beta)
        for n, y in enumerate(Y):
            O = ~np.isnan(y)
            expected = [multivariate_normal(row[O], np.eye(O.sum()) / beta).logpdf(y[O]) for row in m]
            assert_allclose(log_p[:, n], expected, rtol=1e-8, atol=1e-8)


@pytest.mark.identity
@given(st.integers(0, 10**6), st.floats(-3, 8))
@quick
def test_responsibilities_are_a_softmax_at_any_scale(seed, power):
    log_p = 10.0**power * np.random.default_rng(seed).standard_normal((6, 4))
    untouched = log_p.copy()
    for responsibilities in (gtm.responsibilities, gtm.fast.responsibilities):
        R, log_density = responsibilities(log_p)
        assert_allclose(R, softmax(log_p, axis=0), atol=1e-15)
        assert_allclose(R.sum(axis=0), 1.0, rtol=1e-14)
        assert_allclose(log_density, logsumexp(log_p, axis=0, b=1 / 6), rtol=1e-12)
        assert np.array_equal(log_p, untouched)
    assert gtm.fast.responsibilities(log_p, overwrite=True)[0] is log_p


@pytest.mark.identity
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 9), st.floats(-3, 8), st.sampled_from([0.0, -1e4]))
@quick
def test_fast_responsibilities_are_the_plain_ones(seed, K, N, power, offset):
    rng = np.random.default_rng(seed)
    log_p = 10.0**power * rng.standard_normal((K, N)) + offset
    log_p[1:][rng.random((K - 1, N)) < 0.2] = -np.inf
    for plain, fast in zip(gtm.responsibilities(log_p), gtm.fast.responsibilities(log_p), strict=True):
        assert_allclose(fast, plain, rtol=1e-9, atol=1e-250)


@pytest.mark.parametrize("module", [gtm, gtm.fast])
def test_a_point_far_from_every_node_still_has_its_nearest_one(module):
    log_p = module.log_densities(np.array([[1e4]]), np.array([[0.0], [1.0]]), 1e3)
    assert np.exp(log_p).max() == 0.0
    R, log_density = module.responsibilities(log_p)
    assert_allclose(R.ravel(), [0.0, 1.0], atol=1e-250)
    assert np.isfinite(log_density).all()


@pytest.mark.parametrize("responsibilities", [gtm.responsibilities, gtm.fast.responsibilities])
def test_an_impossible_node_takes_nothing_and_a_single_node_takes_all(responsibilities):
    R, log_density = responsibilities(np.array([[-np.inf, -3.0], [-2.0, -np.inf]]))
    assert_allclose(R, [[0.0, 1.0], [1.0, 0.0]], atol=1e-250)
    assert_allclose(log_density, np.array([-2.0, -3.0]) - np.log(2))
    R, log_density = responsibilities(np.array([[-5e3, 7.0]]))
    assert np.array_equal(R, [[1.0, 1.0]]) and np.array_equal(log_density, [-5e3, 7.0])


# --- M-step --------------------------------------------------------------------------------------------------


@pytest.mark.oracle
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_one_em_step_is_the_brute_force_one(which, gaps):
    Y, _, Phi, W, beta = problem(5, which, N=15, gaps=gaps)
    alpha, (N, D), K = 0.3, Y.shape, len(Phi)
    m = Phi @ W.T
    R = np.zeros((K, N))
    for n in range(N):
        for i in range(K):
            R[i, n] = np.exp(-0.5 * beta * np.nansum((Y[n] - m[i]) ** 2))
        R[:, n] /= R[:, n].sum()
    W_new = np.empty_like(W)
    for d in range(D):  # a ridge regression with one row for each pair of point and node
        rows = [
            (np.sqrt(R[i, n]) * Phi[i], np.sqrt(R[i, n]) * Y[n, d])
            for n in range(N)
            for i in range(K)
            if not np.isnan(Y[n, d])
        ]
        A, b = np.array([row for row, _ in rows]), np.array([target for _, target in rows])
        W_new[d] = np.linalg.solve(A.T @ A + alpha / beta * np.eye(Phi.shape[1]), A.T @ b)
    m_new = Phi @ W_new.T
    total = sum(R[i, n] * np.nansum((Y[n] - m_new[i]) ** 2) for n in range(N) for i in range(K))
    states = list(gtm.em_iterates(Y, Phi, W, beta, alpha, max_iter=1, **steps(gaps)))
    assert_allclose(states[1].weights, W_new, rtol=1e-7, atol=1e-9)
    assert_allclose(1 / states[1].precision, total / np.count_nonzero(~np.isnan(Y)), rtol=1e-9)


@pytest.mark.identity
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.25]))
@quick
def test_the_cheap_squared_error_is_the_double_sum_for_any_weights(seed, gaps):
    Y, _, Phi, W, beta = problem(seed, gaps=gaps)
    R, _ = posterior(Y, Phi, W, beta)
    m = Phi @ np.random.default_rng(seed).standard_normal(W.shape).T
    direct = sum(R[i] @ np.nansum((Y - m[i]) ** 2, axis=1) for i in range(len(m)))
    squares, n_entries = gtm.observed_squares(Y)
    assert_allclose(gtm.squared_error(squares, m, *gtm.gaps.weighted_sums(R, Y)), direct, rtol=1e-9)
    assert n_entries == np.count_nonzero(~np.isnan(Y))


@pytest.mark.identity
@given(st.integers(0, 10**6), st.sampled_from([0, 1, 2]), st.sampled_from([0.0, 0.2]), st.floats(1e-4, 10))
@quick
def test_em_never_lowers_the_penalised_likelihood(seed, which, gaps, alpha):
    Y, _, Phi, W, beta = problem(seed, which, gaps=gaps)
    states = list(gtm.em_iterates(Y, Phi, W, beta, alpha, max_iter=40, noise_floor=1e-6, **steps(gaps)))
    values = np.array([state.value for state in states])
    assert np.diff(values).min() > -1e-9 * np.abs(values).max()
    last = states[-1]
    assert_allclose(last.value, penalised(Y, Phi, last.weights, last.precision, alpha), rtol=1e-10)


@pytest.mark.gradient
@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.long
def test_at_the_fixed_point_the_regulariser_is_subtracted_and_not_added(gaps):
    Y, _, Phi, W, beta = problem(2, 0, gaps=gaps)
    *_, last = gtm.em_iterates(Y, Phi, W, beta, alpha=0.5, max_iter=3000, **steps(gaps))
    W, beta = last.weights, last.precision
    minus = numerical_gradient(lambda V: penalised(Y, Phi, V, beta, 0.5), W)
    plus = numerical_gradient(lambda V: penalised(Y, Phi, V, beta, 0.5, sign=+1), W)
    assert np.abs(minus).max() < 1e-4 and np.abs(plus).max() > 0.1
    h = 1e-5 * beta
    slope = (penalised(Y, Phi, W, beta + h, 0.5) - penalised(Y, Phi, W, beta - h, 0.5)) / (2 * h)
    assert abs(slope * beta) < 1e-3


@pytest.mark.gradient
def test_the_weights_are_stationary_for_the_old_beta_only():
    Y, _, Phi, W, beta = problem(4)
    R, _ = posterior(Y, Phi, W, beta)
    W_new, beta_new = gtm.m_step(Y, Phi, R, beta, alpha=2.0)

    def expected(V, precision):  # expected complete log likelihood, penalised, up to constants
        return np.sum(R * gtm.log_densities(Y, Phi @ V.T, precision)) - 1.0 * np.sum(V**2)

    assert np.abs(numerical_gradient(lambda V: expected(V, beta), W_new)).max() < 1e-5
    assert np.abs(numerical_gradient(lambda V: expected(V, beta_new), W_new)).max() > 1e-2
    h = 1e-6
    assert abs(expected(W_new, beta_new + h) - expected(W_new, beta_new - h)) / (2 * h) < 1e-5


# --- gaps ----------------------------------------------------------------------------------------------------


@pytest.mark.identity
@given(st.integers(0, 10**6), st.sampled_from([0, 1, 2]), st.floats(-3, 4), st.sampled_from([0.0, 0.2, 0.5]))
@quick
def test_with_gaps_each_row_and_each_column_is_the_complete_case(seed, which, power, share):
    """Densities row by row with the columns observed there, sums and weights column by column with its rows."""
    Y, _, Phi, W, beta = problem(seed, which, gaps=share)
    scale, seen = 10.0**power, ~np.isnan(Y)
    Y, m, beta = scale * Y, scale * Phi @ W.T, beta / scale**2
    log_p = gtm.gaps.log_densities(Y, m, beta)
    for n, O in enumerate(seen):
        alone = gtm.log_densities(Y[n : n + 1, O], m[:, O], beta)[:, 0]
        assert_allclose(log_p[:, n], alone, rtol=1e-9, atol=1e-9 * np.abs(log_p).max())
    R, _ = gtm.gaps.e_step(Y, m, beta)
    counts, sums = gtm.gaps.weighted_sums(R, Y)
    weights = gtm.gaps.solve_weights(Phi, counts, sums, 0.3)
    for d, O in enumerate(seen.T):
        own_counts, own_sums = gtm.weighted_sums(R[:, O], Y[O, d : d + 1])
        assert_allclose(counts[:, min(d, counts.shape[1] - 1)], own_counts[:, 0], rtol=1e-12, atol=1e-12)
        assert_allclose(sums[:, d], own_sums[:, 0], rtol=1e-9, atol=1e-12 * scale)
        own = gtm.solve_weights(Phi, own_counts, own_sums, 0.3)[0]
        assert_allclose(weights[d], own, rtol=1e-9, atol=1e-9 * np.abs(own).max())
    n_entries = gtm.observed_squares(Y)[1]
    new, precision = gtm.gaps.m_step(Y, Phi, R, beta, alpha=0.3 * beta)
    assert_allclose(new, weights, rtol=1e-9, atol=1e-9 * np.abs(weights).max())
    residuals = [np.nansum((Y - row) ** 2, axis=1) for row in Phi @ new.T]
    assert_allclose(1 / precision, np.sum(R * residuals) / n_entries, rtol=1e-9)


@pytest.mark.identity
def test_a_gap_is_integrated_out():
    Y, _, Phi, W, beta = problem(6, 0, N=4, D=2)
    y = Y[:1].copy()
    y[0, 1] = np.nan
    u = np.linspace(-12, 12, 4001)
    rows = np.column_stack([np.full(len(u), y[0, 0]), u])
    density = np.exp(posterior(rows, Phi, W, beta)[1])
    assert_allclose(posterior(y, Phi, W, beta)[1][0], np.log(np.sum(density) * (u[1] - u[0])), rtol=1e-6)


def test_gaps_are_filled_better_than_by_the_mean():
    oil = simulate_oil_flow(200, random_state=0)
    hidden = np.random.default_rng(0).random(oil.data.shape) < 0.2
    holes = np.where(hidden, np.nan, oil.data)
    model = GTM(grid=(10, 10)).fit(holes)
    filled = model.impute(holes)
    ours = np.sqrt(np.mean((filled - oil.data)[hidden] ** 2))
    mean = np.sqrt(np.mean((np.nanmean(holes, axis=0) - oil.data)[hidden] ** 2))
    assert ours < 0.6 * mean and np.array_equal(filled[~hidden], oil.data[~hidden])


# --- free energy and incremental EM --------------------------------------------------------------------------


@pytest.mark.identity
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.2]))
@quick
def test_the_free_energy_is_the_likelihood_minus_a_divergence(seed, gaps):
    Y, _, Phi, W, beta = problem(seed, gaps=gaps)
    log_p = gtm.gaps.log_densities(Y, Phi @ W.T, beta)
    exact, log_density = gtm.responsibilities(log_p)
    R = softmax(3 * np.random.default_rng(seed).standard_normal(log_p.shape), axis=0)
    divergence = np.sum(R * (np.log(R) - np.log(np.maximum(exact, 1e-300))))
    assert_allclose(gtm.free_energy(exact, log_p), log_density.sum(), rtol=1e-9)
    assert_allclose(gtm.free_energy(R, log_p), log_density.sum() - divergence, rtol=1e-9)
    assert divergence > 0


@pytest.mark.identity
@given(
    st.integers(0, 10**6),
    st.integers(1, 30),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([0.0, 1e-3]),
    st.sampled_from(["posterior", "uniform"]),
)
@quick
def test_incremental_em_never_lowers_the_free_energy(seed, batch_size, gaps, freeze, start):
    Y, _, Phi, W, beta = problem(seed, gaps=gaps)
    states = gtm.incremental_iterates(
        Y, Phi, W, beta, batch_size, alpha=0.05, max_iter=4, noise_floor=1e-6, freeze=freeze, start=start
    )
    values = np.array([state.value for state in states])
    assert len(values) == 1 + 4 * -(-30 // batch_size)
    assert np.diff(values).min() > -1e-9 * np.abs(values).max()


@pytest.mark.identity
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_one_batch_of_all_points_is_plain_em(gaps):
    Y, _, Phi, W, beta = problem(1, gaps=gaps)
    plain = list(gtm.em_iterates(Y, Phi, W, beta, 0.1, max_iter=6, **steps(gaps)))
    whole = list(gtm.incremental_iterates(Y, Phi, W, beta, len(Y), 0.1, max_iter=6))
    assert_allclose(whole[-1].weights, plain[-1].weights, rtol=1e-8, atol=1e-10)
    assert_allclose(whole[-1].precision, plain[-1].precision, rtol=1e-10)
    assert_allclose(whole[0].value, plain[0].value, rtol=1e-10)
    assert [state.sweeps for state in whole] == [state.sweeps for state in plain]


@pytest.mark.identity
def test_updated_sums_are_those_of_a_full_pass_and_the_state_knows_its_free_energy():
    Y, _, Phi, W, beta = problem(8)
    R, _ = posterior(Y, Phi, W, beta)
    now = gtm.Sums(*gtm.weighted_sums(R, Y), -np.sum(R * np.log(R), axis=0))
    new = R.copy()
    new[:, 4:9] = softmax(np.random.default_rng(0).standard_normal((len(Phi), 5)), axis=0)
    updated = gtm.update_sums(now, R[:, 4:9], new[:, 4:9], Y[4:9], slice(4, 9))
    counts, sums = gtm.weighted_sums(new, Y)
    assert_allclose(updated.counts, counts)
    assert_allclose(updated.sums, sums)
    assert_allclose(updated.entropies.sum(), -np.sum(new * np.log(new)))
    first = next(gtm.incremental_iterates(Y, Phi, W, beta, 5, alpha=0.2))
    assert_allclose(first.log_likelihood, gtm.free_energy(R, gtm.log_densities(Y, Phi @ W.T, beta)), rtol=1e-10)


@pytest.mark.identity
@pytest.mark.long
def test_both_end_at_a_maximum_of_the_likelihood():
    Y, X, Phi, *_ = problem(1, 0, N=60, D=2)
    start = gtm.principal_sheet(Y, X, Phi, gtm.grid_spacing((12,)))
    for batch_size in (6, 60):
        *_, last = gtm.incremental_iterates(Y, Phi, *start, batch_size, alpha=0.1, max_iter=600)
        gradient = numerical_gradient(lambda V, last=last: penalised(Y, Phi, V, last.precision, 0.1), last.weights)
        assert np.abs(gradient).max() < 1e-3
        assert_allclose(last.value, penalised(Y, Phi, last.weights, last.precision, 0.1), rtol=1e-6)


def test_the_printed_noise_update_drifts_and_from_equal_shares_turns_negative():
    Y, X, Phi, *_ = problem(4, 0, N=40, D=2)
    start = gtm.principal_sheet(Y, X, Phi, gtm.grid_spacing((12,)))

    def right_variance(state, R):
        m = Phi @ state.weights.T
        return sum(R[i] @ np.sum((Y - m[i]) ** 2, axis=1) for i in range(len(m))) / Y.size

    R = posterior(Y, Phi, *start)[0]
    exact = list(gtm.incremental_iterates(Y, Phi, *start, 1, max_iter=1))
    printed = list(gtm.incremental_iterates(Y, Phi, *start, 1, max_iter=1, printed=True))
    R[:, :1] = posterior(Y[:1], Phi, *start)[0]  # after one step all is known
    assert_allclose(1 / exact[1].precision, right_variance(exact[1], R), rtol=1e-9)
    assert abs(1 / printed[1].precision - right_variance(printed[1], R)) > 1e-3 * right_variance(printed[1], R)
    uniform = list(gtm.incremental_iterates(Y, Phi, *start, 1, max_iter=6, start="uniform", printed=True))
    assert len(uniform) < 1 + 6 * 40  # it had to stop
    legal = list(gtm.incremental_iterates(Y, Phi, *start, 1, max_iter=6, start="uniform"))
    assert len(legal) == 1 + 6 * 40 and np.diff([state.value for state in legal]).min() > -1e-9


@pytest.mark.identity
def test_frozen_nodes_keep_their_shares_and_the_others_take_the_best_of_the_rest():
    rng = np.random.default_rng(0)
    R, log_p = softmax(rng.standard_normal((6, 3)), axis=0), rng.standard_normal((6, 3))
    active = np.array([True, False, True, True, False, True])
    new = gtm.partial_e_step(log_p[active], R, active)
    assert np.array_equal(new[~active], R[~active])
    assert_allclose(new.sum(axis=0), 1.0, rtol=1e-12)
    best = gtm.free_energy(new, log_p)
    for _ in range(50):  # no other way to share the active mass has a larger free energy
        other = new.copy()
        moved = np.log(new[active]) + 0.1 * rng.standard_normal((4, 3))
        other[active] = new[active].sum(axis=0) * softmax(moved, axis=0)
        assert gtm.free_energy(other, log_p) < best
    assert_allclose(gtm.partial_e_step(log_p, R, np.ones(6, bool)), gtm.responsibilities(log_p)[0], rtol=1e-12)


# --- the SOM and the two limits ------------------------------------------------------------------------------


@pytest.mark.identity
def test_for_large_beta_responsibilities_are_winners_and_em_is_constrained_k_means():
    Y, _, Phi, W, _ = problem(9)
    hard, distances = gtm.winners(Y, Phi @ W.T)
    assert_allclose(posterior(Y, Phi, W, 1e9)[0], hard, atol=1e-12)
    assert_allclose(distances, np.min([np.sum((Y - m) ** 2, axis=1) for m in Phi @ W.T], axis=0), rtol=1e-9)
    soft = gtm.m_step(Y, Phi, posterior(Y, Phi, W, 1e9)[0], 1e9, alpha=1e7)[0]
    winner = np.argmax(hard, axis=0)
    P = Phi[winner]  # each point is put on the sheet at its winner
    by_hand = np.linalg.solve(P.T @ P + 0.01 * np.eye(Phi.shape[1]), P.T @ Y).T
    assert_allclose(soft, by_hand, rtol=1e-6, atol=1e-9)


@pytest.mark.identity
@given(st.integers(0, 10**6), st.floats(0.05, 5.0))
@quick
def test_the_soms_smoother_averages_and_the_gtms_does_not(seed, width):
    rng = np.random.default_rng(seed)
    X = gtm.latent_grid((4, 4))
    counts = rng.integers(0, 5, 16).astype(float)
    counts[rng.integers(16)] = 3
    H = gtm.neighbourhood_smoother(X, counts, width)
    assert_allclose(H.sum(axis=1), 1.0, rtol=1e-12)
    assert np.all(H >= 0) and np.all(H[:, counts == 0] == 0)
    h = np.exp(-0.5 * np.sum((X[:, None] - X) ** 2, axis=2) / width**2) * counts
    usual = h.sum(axis=1) > 1e-200
    assert_allclose(H[usual], h[usual] / h[usual].sum(axis=1, keepdims=True), rtol=1e-6, atol=1e-12)
    B = np.exp(-2 * np.sum((X[:, None] - X) ** 2, axis=2))
    S = gtm.process_smoother(B, counts, precision=2.0)
    middle = np.linalg.inv(np.diag(counts) @ B + np.eye(16) / 2.0)  # (G + inv(B) / beta)^-1 = B (G B + 1 / beta)^-1
    assert_allclose(S, B @ middle @ np.diag(counts), atol=1e-8)


@pytest.mark.identity
def test_the_basis_is_a_gaussian_process_with_few_functions():
    Y, _, Phi, W, beta = problem(7)
    R, alpha = posterior(Y, Phi, W, beta)[0], 0.4
    counts, sums = gtm.weighted_sums(R, Y)
    smoothed = gtm.process_smoother(Phi @ Phi.T / alpha, counts.ravel(), beta) @ (sums / counts)
    assert_allclose(smoothed, Phi @ gtm.solve_weights(Phi, counts, sums, alpha / beta).T, rtol=1e-6, atol=1e-8)


def test_the_batch_som_is_winners_means_and_averages():
    Y, X, Phi, *_ = problem(3, 1, N=80)
    m = Phi @ gtm.principal_sheet(Y, X, Phi, gtm.grid_spacing((5, 6)))[0].T
    states = list(gtm.som_iterates(Y, X, m, [0.8, 0.4]))
    for before, after in pairwise(states):
        winner = np.argmin(np.sum((Y[:, None] - before.prototypes) ** 2, axis=2), axis=1)
        for i in range(len(X)):
            weight = np.exp(-0.5 * np.sum((X[i] - X[winner]) ** 2, axis=1) / after.width**2)
            assert_allclose(after.prototypes[i], weight @ Y / weight.sum(), rtol=1e-8, atol=1e-10)
    assert states[-1].value > states[0].value


# --- choosing width and alpha --------------------------------------------------------------------------------


@pytest.mark.identity
def test_the_evidence_is_laplaces_with_a_block_for_each_column():
    Y, _, Phi, W, beta = problem(3)
    M, D, alpha = Phi.shape[1], Y.shape[1], 0.7
    R, log_density = posterior(Y, Phi, W, beta)
    A = np.kron(np.eye(D), beta * Phi.T @ np.diag(R.sum(axis=1)) @ Phi + alpha * np.eye(M))
    prior = multivariate_normal(np.zeros(D * M), np.eye(D * M) / alpha).logpdf(W.ravel())
    laplace = log_density.sum() + prior + 0.5 * D * M * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(A)[1]
    ours = gtm.log_evidence(Phi, R.sum(axis=1), W, beta, alpha, log_density.sum())
    assert_allclose(ours, laplace, rtol=1e-10)


def test_a_grid_search_fits_every_pair_and_chooses_without_labels():
    Y = simulate_oil_flow(60, random_state=0).data
    tried = gtm.grid_search(GTM(grid=(6, 6), basis=(3, 3), max_iter=20), Y, widths=(0.5, 1.0, 2.0), alphas=(0.01, 1.0))
    assert [(one.width, one.alpha) for one in tried] == [(w, a) for w in (0.5, 1.0, 2.0) for a in (0.01, 1.0)]
    best = gtm.best_setting(tried, "evidence")
    assert best.evidence == max(one.evidence for one in tried) and best.model.log_evidence_ == best.evidence
    assert gtm.best_setting(tried).likelihood == max(one.model.log_likelihood_ for one in tried)
    with pytest.raises(ValueError, match="criterion must be"):
        gtm.best_setting(tried, "errors")


# --- the estimators ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def oil():
    return simulate_oil_flow(150, random_state=0)


@pytest.fixture(scope="module")
def model(oil):
    return GTM(grid=(10, 10)).fit(oil.data)


def test_the_history_climbs_and_ends_at_the_penalised_likelihood(oil, model):
    assert np.all(np.diff(model.history_) > -1e-9 * np.abs(model.history_).max())
    value = model.log_likelihood_ - 0.5 * model.alpha_ * np.sum(model.weights_**2)
    assert_allclose(model.history_[-1], value, rtol=1e-9)
    assert_allclose(model.score(oil.data) * 150, model.log_likelihood_, rtol=1e-9)
    assert model.converged_ and model.n_iter_ == len(model.history_) - 1


def test_latent_positions_means_and_modes(oil, model):
    R = model.responsibilities(oil.data)
    assert_allclose(model.transform(oil.data), model.embedding_, atol=1e-12)
    assert_allclose(R.T @ model.nodes_, model.embedding_, atol=1e-12)
    modes = model.transform(oil.data, kind="mode")
    assert {tuple(x) for x in modes} <= {tuple(x) for x in model.nodes_}
    assert_allclose(modes, model.nodes_[R.argmax(axis=0)])
    assert_allclose(model.inverse_transform(model.nodes_), model.means_, atol=1e-9)
    flat = nearest_neighbour_errors(PPCA(2).fit_transform(oil.data), oil.target)
    assert nearest_neighbour_errors(model.embedding_, oil.target) < flat
    assert model.get_feature_names_out().tolist() == ["gtm0", "gtm1"]


@pytest.mark.identity
@pytest.mark.parametrize("scale", [1e-6, 1e5])
def test_units_and_origin_of_the_data_do_not_matter(oil, model, scale):
    other = GTM(grid=(10, 10)).fit(scale * oil.data + 3 * scale)
    assert_allclose(other.embedding_, model.embedding_, atol=1e-4)
    assert_allclose(other.log_likelihood_, model.log_likelihood_ - oil.data.size * np.log(scale), rtol=1e-5)


@pytest.mark.parametrize("batch_size", [10, 40])
def test_batches_reach_a_likelihood_as_high_in_fewer_passes(oil, model, batch_size):
    passes = 8
    batched = GTM(grid=(10, 10), batch_size=batch_size, max_iter=passes, random_state=0).fit(oil.data)
    plain = GTM(grid=(10, 10), max_iter=passes).fit(oil.data)
    assert batched.log_likelihood_ > plain.log_likelihood_
    assert np.all(np.diff(batched.history_) > -1e-9 * np.abs(batched.history_).max())
    assert batched.n_iter_ == passes * -(-150 // batch_size)


def test_samples_come_from_the_mixture(model):
    Y, X = model.sample(4000, random_state=0)
    assert Y.shape == (4000, 12) and {tuple(x) for x in X} <= {tuple(x) for x in model.nodes_}
    assert np.abs(Y.mean(axis=0) - model.means_.mean(axis=0)).max() < 0.06
    assert_allclose(np.mean((Y - model.inverse_transform(X)) ** 2), 1 / model.precision_, rtol=0.05)


def test_score_samples_is_a_density(oil):
    line = GTM(grid=(8,), basis=(3,)).fit(oil.data[:, :1])
    u = np.linspace(-4, 6, 4001)[:, None]
    assert_allclose(np.sum(np.exp(line.score_samples(u))) * (u[1, 0] - u[0, 0]), 1.0, rtol=1e-3)


def test_linear_terms_hold_a_plane_and_bells_alone_do_not(oil):
    first = {terms: next(GTM(terms=terms).iterates(oil.data)) for terms in ("linear", "bias", "none")}
    images = {}
    for terms, state in first.items():
        Phi = gtm.basis_functions(gtm.latent_grid((15, 15)), gtm.make_basis((4, 4), 0.75, terms))
        images[terms] = np.linalg.svd(Phi @ state.weights.T - (Phi @ state.weights.T).mean(axis=0))[1]
    assert images["linear"][2] < 1e-10 * images["linear"][0]
    X = gtm.latent_grid((15, 15))
    for terms in ("bias", "none"):
        Phi = gtm.basis_functions(X, gtm.make_basis((4, 4), 0.75, terms))
        assert np.linalg.norm(X - Phi @ np.linalg.lstsq(Phi, X, rcond=None)[0]) > 0.1


def test_the_som_places_points_on_nodes_and_has_no_sheet_between_them(oil):
    som = BatchSOM(grid=(8, 8)).fit(oil.data)
    assert {tuple(x) for x in som.embedding_} <= {tuple(x) for x in som.nodes_}
    assert_allclose(som.transform(oil.data), som.embedding_)
    assert_allclose(som.inverse_transform(som.nodes_ + 0.01), som.prototypes_)
    assert len(som.history_) == 51 and som.history_[-1] > som.history_[0] and som.converged_
    *_, last = som.iterates(oil.data)
    assert last.stopped == "schedule" and np.array_equal(last.X, som.embedding_)
    for method in ("place", "reconstruct", "impute", "score_samples", "score", "log_precision", "jacobian", "sample"):
        assert not hasattr(som, method)
        with pytest.raises(AttributeError, match=f"BatchSOM has no {method}: a SOM"):
            getattr(som, method)


@warnings_are_errors
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.long
def test_random_fits_end_finite_and_never_fall(seed):
    rng = np.random.default_rng(seed)
    N, D = rng.integers(2, 50), rng.integers(1, 30)
    Y = 10.0 ** rng.uniform(-6, 6) * (rng.standard_normal((N, D)) + 10 * rng.standard_normal(D))
    if rng.random() < 0.4:
        Y[rng.integers(N, size=N // 2)] = Y[0]  # duplicated rows
    if rng.random() < 0.3:
        Y[:, rng.integers(D)] = rng.standard_normal()  # a constant column
    if rng.random() < 0.4 and D > 1:
        Y[rng.integers(N, size=N // 3), 0] = np.nan
        Y[0] = np.nan_to_num(Y[0])
    q = seed % 2 + 1
    batch_size = [None, 5][seed // 2 % 2]
    one = GTM(grid=(7,) * q, basis=(3,) * q, max_iter=25, batch_size=batch_size, random_state=0).fit(Y)
    assert np.isfinite(one.embedding_).all() and np.isfinite(one.weights_).all() and one.precision_ > 0
    assert np.isfinite(one.history_).all()
    assert np.diff(one.history_).min() > -1e-7 * max(np.abs(one.history_).max(), N * D)


@pytest.mark.identity
@pytest.mark.parametrize("model", [GTM(max_iter=25), GTM(max_iter=9, batch_size=7, random_state=0), BatchSOM()])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_offset_of_a_billion_deviations_changes_no_digit(oil, model):
    Y = np.round(oil.data * 2**20) / 2**20  # so that the shifted data are exact
    embedding = model.fit(Y).embedding_
    assert np.array_equal(model.fit(Y + 2.0**30).embedding_, embedding)
    assert np.array_equal(model.transform(Y + 2.0**30), embedding)


@warnings_are_errors
def test_data_that_do_not_vary_leave_nothing_to_explain():
    model = GTM(grid=(5,), basis=(2,)).fit(np.full((7, 3), 1e49 / 3))  # whose mean, rounded, is another number
    assert model.scale_ == 1.0 and not model.weights_.any() and np.array_equal(model.means_, np.full((5, 3), 1e49 / 3))


def test_a_latent_point_does_not_feel_the_others(model):
    near = np.array([[0.3, -0.2]])
    far = np.vstack([near, [[1e12, -1e12]]])
    assert_allclose(model.inverse_transform(far)[0], model.inverse_transform(near)[0], rtol=1e-12)


# --- bad input -----------------------------------------------------------------------------------------------

GOOD = np.random.default_rng(0).standard_normal((20, 3))


test_bad_parameters_get_a_clear_error = refused(
    [
        (GTM(grid=(3, 3), basis=(4, 4)), "19 functions, but .* only 9 nodes"),
        (GTM(grid=15), "one whole number"),
        (GTM(grid=(15,)), "1 latent dimensions and basis"),
        (GTM(grid=(5, 0)), "at least 1"),
        (GTM(grid=()), "at least 1"),
        (GTM(width=0.0), "width must be"),
        (GTM(alpha=-1.0), "alpha must be"),
        (GTM(alpha="small"), "alpha must be"),
        (GTM(batch_size=0), "batch_size must be"),
        (GTM(batch_size=2.5), "batch_size must be"),
        (GTM(terms="cubic"), "terms must be"),
        (GTM(max_iter=-1), "max_iter must be"),
        (GTM(tol="small"), "tol must be .* got 'small'"),
        (GTM(tol=np.nan), "tol must be"),
        (GTM(width=1e-90), "width must be .* 0.001 .* got 1e-90.* The default of GTM is width=0.75"),
        (GTM(grid=(10**9, 10**9)), "grid must .* product is at most 100000"),
        (GTM(grid=(10**5,), basis=(10**5,)), r"functions of basis=.* array of 100002 x 100002"),
        (GTM(grid="15"), "grid must hold"),
        (GTM(grid=np.array([5.0, 5.0])), "grid must hold"),
        (GTM(basis=(2,) * 11), "basis must .* of 1 to 10 latent dimensions"),
        (BatchSOM(grid=(10**5,)), "neighbourhoods .* array of 100000 x 100000"),
        (BatchSOM(max_iter=10**9), "from 0 to 1000000"),
        (BatchSOM(grid=(2.5, 3)), "whole number of at least 1"),
        (BatchSOM(start_width=-1), "start_width"),
        (BatchSOM(end_width=0.0), "end_width"),
        (BatchSOM(max_iter=-1), "max_iter must be"),
    ],
    GOOD,
)


@pytest.mark.bad_input
def test_no_regulariser_and_a_singular_system_get_a_clear_error():
    two = np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0)
    with pytest.raises(ValueError, match="Give alpha a value above 0"):
        GTM(alpha=0.0, grid=(20,), basis=(8,), width=0.2).fit(two)
    singular = np.ones((4, 2))
    with pytest.raises(ValueError, match="singular"):
        gtm.solve_weights(singular, np.ones((4, 1)), np.ones((4, 3)))
    assert np.isfinite(GTM(alpha=0.0).fit(simulate_oil_flow(200, random_state=0).data).embedding_).all()


@pytest.mark.bad_input
@pytest.mark.parametrize("method", ["transform", "posterior", "node_log_densities", "near_places"])
def test_whatever_needs_a_fit_asks_for_one(method):
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(GTM(), method)(GOOD, *([3] if method == "near_places" else []))
    with pytest.raises(AttributeError, match="no attribute 'embeding_'"):
        _ = GTM(grid=(5,), basis=(2,)).fit(GOOD).embeding_


@pytest.mark.bad_input
def test_rows_and_columns_of_gaps_get_a_clear_error():
    Y = GOOD.copy()
    Y[4] = np.nan
    with pytest.raises(ValueError, match="Row 4 of Y has no observed value"):
        GTM().fit(Y)
    fitted = GTM(grid=(5, 5), basis=(2, 2)).fit(GOOD)
    assert_allclose(fitted.transform(Y[4:5]), 0.0, atol=1e-12)  # nothing known: the middle of the grid
    assert_allclose(fitted.score_samples(Y[4:5]), 0.0, atol=1e-12)
    Y = GOOD.copy()
    Y[:, 1] = np.nan
    with pytest.raises(ValueError, match="Column 1 of Y has no observed value"):
        GTM().fit(Y)
    with pytest.raises(ValueError, match="NaN"):
        BatchSOM().fit(np.where(GOOD > 1, np.nan, GOOD))
    with pytest.raises(ValueError, match="kind must be"):
        fitted.transform(GOOD, kind="median")
    with pytest.raises(ValueError, match="2 latent dimensions"):
        fitted.inverse_transform(np.zeros((2, 3)))


# --- another library -----------------------------------------------------------------------------------------


@pytest.mark.oracle
def test_our_likelihood_at_the_parameters_of_ugtm_is_the_brute_force_one_and_what_it_monitors_is_not():
    ugtm_gtm = pytest.importorskip("ugtm.ugtm_gtm", reason="ugtm is not installed (the peers extra)")
    from ugtm import ugtm_core

    Y = simulate_oil_flow(80, random_state=0).data
    start = ugtm_gtm.initialize(Y, 6, 3, 1.0)
    fitted = ugtm_gtm.optimize(Y, start, 0.1, 20, verbose=False)
    means, variance = fitted.matY.T, float(fitted.betaInv)
    each = [multivariate_normal(m, variance * np.eye(12)).logpdf(Y) for m in means]
    expected = np.sum(logsumexp(each, axis=0) - np.log(len(means)))
    R, log_density = gtm.responsibilities(gtm.log_densities(Y, means, 1 / variance))
    assert_allclose(log_density.sum(), expected, rtol=1e-9)
    assert_allclose(R, np.asarray(fitted.matR).T, atol=1e-7)
    distances = ugtm_core.createDistanceMatrix(fitted.matY, Y)
    P = ugtm_core.createPMatrix(distances, variance, 12)
    monitored = -80 * float(ugtm_core.computelogLikelihood(P, variance, 12))
    forgotten = -0.5 * np.sum(distances.min(axis=0)) / variance  # the largest exponent of each point
    assert_allclose(monitored + forgotten, expected, rtol=1e-8)
    assert forgotten < -10


# --- the papers' figures -------------------------------------------------------------------------------------


@pytest.mark.real
def test_oil_1000_chosen_without_labels_makes_at_most_15_errors():
    from gplvm_edu.datasets import load_oil_flow

    oil = load_oil_flow()
    tried = gtm.grid_search(GTM(), oil.data, widths=(0.75, 1.0), alphas=(1e-3, 1e-1))
    for criterion in ("likelihood", "evidence"):
        chosen = gtm.best_setting(tried, criterion).model
        assert nearest_neighbour_errors(chosen.embedding_, oil.target) <= 15
    stored = json.loads((BOOK / "results" / "gtm.json").read_text())["oil, 1000 points"]
    assert stored["by likelihood"]["errors"] <= 15 and stored["by evidence"]["errors"] <= 15


@pytest.mark.real
def test_oil_100_chosen_by_likelihood_makes_at_most_9_errors():
    from gplvm_edu.datasets import load_oil_flow
    from gplvm_edu.papers.gtm import surface

    oil = load_oil_flow(100)
    assert surface(oil.data, oil.target)["by likelihood"]["errors"] <= 9


@pytest.mark.real
def test_usps_has_at_most_024_of_the_errors_of_pca():
    from gplvm_edu.papers.gtm import usps

    stored = json.loads((BOOK / "results" / "gtm.json").read_text())["USPS, 3000 digits"]
    assert len(stored) == 3
    for draws in (usps(seeds=(0,)), stored):
        pca = sum(draw["PCA"] for draw in draws.values())
        assert sum(draw["15 x 15"]["errors"] for draw in draws.values()) <= 0.24 * pca
        for draw in draws.values():  # more nodes and bells: likelihood and evidence prefer them
            assert draw["25 x 25"]["errors"] <= 0.24 * draw["PCA"]
            assert draw["25 x 25"]["log_likelihood"] > draw["15 x 15"]["log_likelihood"]
            assert draw["25 x 25"]["log_evidence"] > draw["15 x 15"]["log_evidence"]


def test_the_stored_figures_are_what_the_chapter_says():
    real = json.loads((BOOK / "results" / "gtm.json").read_text())
    oil, others = real["oil, 1000 points"], real["oil, 1000 points, other bases"]
    assert oil["PCA"] == 162 and real["oil, 100 points"]["PCA"] == 20
    assert real["oil, 100 points"]["by likelihood"]["errors"] <= 9
    best = max(oil["scan"], key=lambda row: row["log_likelihood"])
    assert best == oil["by likelihood"]
    assert best["errors"] < min(others[terms]["by likelihood"]["errors"] for terms in ("bias", "none"))
    assert real["passes by batch size"]["100"] < 0.5 * real["passes by batch size"]["1000"]
    whole, frozen = real["frozen"]["0"], real["frozen"]["1e-08"]
    assert frozen["share computed"] < 0.5 and abs(frozen["free energy"] - whole["free energy"]) < 1.0


# --- the exercises -------------------------------------------------------------------------------------------


def entropy_free(R, log_p):
    return np.sum(R * log_p) - R.shape[1] * np.log(len(R))


test_right_answers_pass_whoever_computed_them = right_answers(
    [
        ("gtm.1", lambda log_p: softmax(log_p, axis=0)),
        ("gtm.2", lambda Y, Phi, R, alpha, beta: gtm.m_step(Y, Phi, R, beta, alpha)[0]),
        ("gtm.3", lambda Y, Phi, W, R: np.mean(R.T @ ((Phi @ W.T) ** 2) - 2 * Y * (R.T @ Phi @ W.T) + Y**2)),
        ("gtm.4", gtm.free_energy),
        ("gtm.5", lambda Y, X, m, width: list(gtm.som_iterates(Y, X, m, [width]))[1].prototypes),
        ("gtm.6", {200: -500.0, 50: -100.0, 10: 40.0}),
    ]
)


test_common_mistakes_get_their_own_hint = common_mistakes(
    [
        ("gtm.1", lambda log_p: np.exp(log_p) / np.exp(log_p).sum(axis=0), "take the largest one out"),
        ("gtm.1", lambda log_p: softmax(log_p, axis=1), "rows sum to one"),
        ("gtm.1", lambda log_p: log_p[0], "shape"),
        ("gtm.1", lambda log_p: log_p, "posterior over nodes"),
        ("gtm.2", lambda Y, Phi, R, alpha, beta: gtm.m_step(Y, Phi, R, beta, alpha)[0].T, "transposed"),
        ("gtm.2", lambda Y, Phi, R, alpha, beta: gtm.m_step(Y, Phi, R, 1.0, alpha)[0], "alpha / beta"),
        ("gtm.2", lambda Y, Phi, R, alpha, beta: gtm.m_step(Y, Phi, R, beta, 0.0)[0], "missing"),
        (
            "gtm.2",
            lambda Y, Phi, R, alpha, beta: (
                np.linalg.solve(
                    Phi.T @ (R.sum(axis=1)[:, None] * Phi) - alpha / beta * np.eye(Phi.shape[1]), Phi.T @ R @ Y
                ).T
            ),
            "wrong sign",
        ),
        ("gtm.3", lambda Y, Phi, W, R: (np.sum(Y**2) - np.sum((Phi @ W.T) * (R @ Y))) / Y.size, "shortcut"),
        (
            "gtm.3",
            lambda Y, Phi, W, R: gtm.squared_error(np.sum(Y**2), Phi @ W.T, *gtm.weighted_sums(R, Y)) / len(Y),
            "N D",
        ),
        ("gtm.4", lambda R, log_p: gtm.free_energy(R, log_p) + R.shape[1] * np.log(len(R)), "1/K"),
        ("gtm.4", lambda R, log_p: entropy_free(R, log_p) + np.sum(R * np.log(R)), "wrong sign"),
        ("gtm.4", lambda R, log_p: entropy_free(R, log_p) - np.sum(R * np.log(R)), "0 ln 0"),
        (
            "gtm.5",
            lambda Y, X, m, width: (
                np.exp(-0.5 * (X - X[np.argmax(gtm.winners(Y, m)[0], axis=0), 0]) ** 2 / width**2) @ Y
            ),
            "normalised",
        ),
        ("gtm.5", lambda Y, X, m, width: m, "Winners first"),
        ("gtm.6", {200: -100.0, 50: -100.0, 10: -200.0}, "same number of"),
        ("gtm.6", {200: 1.0}, "at least"),
    ]
)


# --- the explorer --------------------------------------------------------------------------------------------

EXPLORER = partial(explore_gtm, passes=5)
SETTINGS = [
    {},
    dict(data="oil flow", batch="20", width=1.2, alpha=0.1, point=17),
    dict(data="digits", n_nodes=8, n_basis=3),
    dict(start="equal responsibilities, 1/K", batch="10"),
    dict(update="as printed (12)", batch="50"),
]


def drawn(explorer):
    """All that the explorer shows, to be compared."""
    return repr(explorer.scene.wire("exact"))


def run_code(explorer, capsys):
    """Names that the code shown has set; it prints the sentence under the picture."""
    names = {}
    exec(explorer.shown_code(), names)
    assert explorer.scene.says in capsys.readouterr().out
    return names


@pytest.mark.widget
@pytest.mark.parametrize("chosen", SETTINGS, ids=str)
def test_the_code_shown_computes_what_the_panels_show(chosen, explorer, capsys):
    explorer.set(**chosen)
    for look_at in (
        lambda: None,
        lambda: explorer.run_now(max_steps=4),
        lambda: explorer.scrubber.set_trait("value", 1),
    ):
        look_at()
        names = run_code(explorer, capsys)
        X, R, state, scene = names["X"], names["R"], names["state"], explorer.scene
        means, q, n = gtm.posterior_means(R, X), X.shape[1], explorer.settings["point"]
        points, ring = scene.mark("latent", "points"), scene.mark("latent", "chosen")
        assert_allclose(points.x, means[:, 0], atol=1e-9)
        assert ring.x[0] == points.x[n] and ring.y[0] == points.y[n]
        now = scene.mark("objective", "now")
        assert_allclose([now.x[0], now.y[0]], [state.sweeps, state.value], rtol=1e-9)
        if q == 1:
            assert_allclose(scene.mark("latent", "nodes").y, R[:, n], atol=1e-9)
            ellipses = scene.mark("sheet", "noise")
            images = names["Phi"] @ state.weights.T
            assert_allclose(np.stack([ellipses.x, ellipses.y], axis=1), images, atol=1e-9)
            assert_allclose(ellipses.factors, np.broadcast_to(np.eye(2) / np.sqrt(state.precision), (len(X), 2, 2)))
        else:
            side = explorer.settings["n_nodes"]
            image = scene.mark("latent", "responsibilities")
            assert_allclose(image.values, R[:, n].reshape(side, side).T, atol=1e-9)  # across: the first dimension
            assert image.from_below and image.low == 0 and not scene.panel("latent").legend
            assert_allclose(points.y, means[:, 1], atol=1e-9)
            net = scene.mark("sheet", "sheet")
            assert np.isnan(net.x).sum() == 2 * side and len(net.x) == 2 * side * (side + 1)
    assert explorer.state.number == 1 and len(explorer.kept) == 4


@pytest.mark.widget
def test_the_chosen_row_stands_beside_its_image_on_the_sheet(explorer, capsys):
    explorer.set(data="oil flow", point=17)
    names, scene = run_code(explorer, capsys), explorer.scene
    place = gtm.posterior_means(names["R"], names["X"])[17:18]
    basis, mean = gtm.make_basis((4, 4), 0.75), simulate_oil_flow(120, random_state=0).data.mean(axis=0)
    image = (gtm.basis_functions(place, basis) @ names["state"].weights.T)[0] + mean
    assert_allclose(scene.mark("chosen", "measured").y, names["Y"][17] + mean)
    assert_allclose(scene.mark("chosen", "on the sheet").y, image, atol=1e-9)
    explorer.set(data="digits")
    both = explorer.scene.mark("chosen", "images").values
    assert both.shape == (8, 17) and np.isfinite(np.delete(both, 8, axis=1)).all() and np.isnan(both[:, 8]).all()
    assert np.corrcoef(both[:, :8].ravel(), both[:, 9:].ravel())[0, 1] > 0.9  # after five passes
    explorer.set(data="curve")
    marks = explorer.scene.panel("chosen")
    assert marks.mark("chosen 1").y[0] == marks.mark("data 1").y[17] and marks.mark("y1(x)").label == "y1(x)"


@pytest.mark.widget
@pytest.mark.parametrize("data", ["curve", "oil flow", "digits"])
def test_a_click_chooses_the_nearest_point_and_the_objective_stays(explorer, data):
    explorer.set(data=data, point=0)
    explorer.run_now(max_steps=3)
    state, objective = explorer.state, explorer.scene.panel("objective")
    for panel in ("sheet", "latent"):
        points = explorer.scene.mark(panel, "points")
        x, y = points.x[23], points.y[23]
        explorer.view.hear({"type": "point", "panel": panel, "x": x, "y": y if panel == "sheet" else y + 1e-3})
        chosen = explorer.settings["point"]
        assert np.hypot(points.x[chosen] - x, points.y[chosen] - y) < 1e-9 and chosen > 0  # 23, or one at its place
        assert explorer.scene.panel("objective") is objective and explorer.state is state
        explorer.set(point=0)
    for right, wanted in ((1, 1), (-1, 0), (-1, 0)):
        explorer.view.hear({"type": "arrow", "panel": "latent", "right": right, "up": 0})
        assert explorer.settings["point"] == wanted
    assert [panel.key for panel in explorer.scene.panels if panel.listens] == ["sheet", "latent"]


@pytest.mark.widget
def test_the_still_picture_is_the_end_of_the_run_and_the_slider_goes_back(explorer):
    explorer.set(data="oil flow", batch="50")
    still = drawn(explorer)
    explorer.run_now()
    assert drawn(explorer) == still and explorer.progress.value == 1.0
    F = explorer.scene.mark("objective", "F").y
    assert np.all(np.diff(F) > 0) and len(F) == 1 + 3 * 5 == len(explorer.kept)
    explorer.scrubber.value = 2
    assert explorer.state.number == 2 and explorer.scene.mark("objective", "now").y[0] == F[2]
    assert explorer.scene.says.startswith("after 0.833 passes")
    explorer.set(passes=40)
    assert explorer.state is None and explorer.scene.says.startswith("after 40 passes")


@pytest.mark.widget
def test_a_run_of_the_opening_has_something_to_watch_and_its_states_are_small():
    explorer = explore_gtm()
    explorer.run_now()
    assert len(explorer.kept) == 21
    explorer.set(data="digits", batch="10")
    explorer.run_now(max_steps=30)
    arrays = {id(part): part for step in explorer.kept for part in step if isinstance(part, np.ndarray)}
    assert len(arrays) == 30 and all(part.shape == (64, 19) for part in arrays.values())  # the weights and no more
    assert len({id(step.trace) for step in explorer.kept}) == 1


@pytest.mark.widget
def test_more_bells_than_nodes_are_not_offered_and_told_to_who_asks_in_python(explorer):
    explorer.set(n_basis=6)
    explorer.set(n_nodes=6)
    assert explorer.settings["n_basis"] == 4 and explorer.problem == ""  # 4 bells, a constant and x: 6 functions
    with pytest.raises(ValueError, match=r"10 functions, but .* only 5 nodes"):
        panel_gtm(n_nodes=5, n_basis=8)
    for data in ("curve", "oil flow", "digits"):
        explorer.set(data=data, point=0)
        explorer.view.hear({"type": "arrow", "panel": "latent", "right": 1000, "up": 0})
        assert explorer.settings["point"] == len(explorer.scene.mark("sheet", "points").x) - 1


@pytest.mark.widget
def test_the_answers_of_the_questions_are_true(explorer):
    values = []
    for number in (1, 2, 3):
        explorer.ask(number)
        before, scene_before = drawn(explorer), explorer.scene
        explorer.commit(explorer.asked.right)
        explorer.reveal()
        assert "Right." in explorer.question_box.value and drawn(explorer) != before
        values.append([scene_before, explorer.scene])
    (narrow, wide), (plain, batches), (legal, printed) = values
    noise = [scene.mark("sheet", "noise").factors[0, 0, 0] for scene in (narrow, wide)]
    assert noise[1] > 4 * noise[0]
    assert [q.choices[q.right] for q in explorer.questions] == ["it goes up", "much further", "turn negative"]
    F, few = batches.mark("objective", "F"), plain.mark("objective", "F")
    assert F.y[-1] > few.y[-1] + 500 and np.all(np.diff(F.y) > 0) and F.x[-1] == few.x[-1] == 2
    assert len(F.y) - 1 == 12 * (len(few.y) - 1)
    L = batches.mark("objective", "L")
    assert np.all(L.y > np.interp(L.x, F.x, F.y) - 1e-9)
    F, legal_F = printed.mark("objective", "F"), legal.mark("objective", "F")
    assert F.x[-1] < 6 == legal_F.x[-1] and np.all(np.diff(legal_F.y) > -1e-9) and np.any(np.diff(F.y) < 0)
    assert "negative" in printed.panel("objective").title and "negative" not in legal.panel("objective").title


# --- the explorer in a real page -----------------------------------------------------------------------------

PAGE = ["explore_gtm()"]


@pytest.mark.browser
def test_the_explorer_in_jupyterlab(page, screenshots):
    start = page.picture_at_rest()
    page.screenshot(screenshots / "lab_09_gtm.png")
    page.slider("width").press("ArrowRight", times=3)
    assert page.wait_for_new_picture(start) != start
    page.slider("width").press("ArrowLeft", times=3)
    page.wait_for_picture(start)
    point = page.control("point").value()
    page.click_picture("sheet", -1.0, -1.0)
    there = page.wait_for_new_picture(start)
    assert page.control("point").value() != point
    page.run_then_stop()  # inside the page: a short run may end before a second click
    page.wait_until(lambda: page.picture() not in (None, there), 20, "the first picture of the run")
    assert page.picture_at_rest() not in (start, there) and 0 < page.progress() <= 1
    names = page.run_shown_code()
    assert names["R"].shape == (12, 120) and page.scene()["says"] in names["printed"]
    assert page.error_box() == ""
