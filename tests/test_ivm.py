"""Chapter 7: the sparse GP-LVM. Selection, the active set's likelihood, inactive points, Algorithm 1, the estimator."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from common import awkward, common_mistakes, refused
from gplvm_widgets.ivm import CORRECTED, N_GRID, PRINTED, SCALES, chosen, explore_ivm, load, panel_ivm
from gplvm_widgets.living.next_active_point import SIXTEEN, totals_of
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import lapack
from scipy.stats import multivariate_normal

from gplvm_edu.datasets import load_oil_flow, simulate_oil_flow
from gplvm_edu.exercises import check
from gplvm_edu.gplvm import ProcessMap, factorise, point_log_likelihood, predict, value_and_gradients
from gplvm_edu.ivm import (
    GUARANTEE,
    SELECTIONS,
    ActiveMap,
    IVMPosterior,
    Sites,
    SparseGPLVM,
    SparseOptions,
    active_log_likelihood,
    active_log_likelihood_by_column,
    best_rows,
    choose_active_set,
    column_groups,
    entropy_reductions,
    fast,
    greedy_rows,
    inactive_log_likelihood,
    inactive_log_likelihood_by_column,
    include,
    inducing_log_likelihood,
    inducing_posterior,
    information,
    ivm_select,
    kmeans_rows,
    latent_moments,
    likeliest_starts,
    log_likelihoods_at_active,
    optimise_active_set,
    outer_step,
    pivoted_cholesky_rows,
    place_inactive,
    printed_active_log_likelihood,
    select_active_set,
    select_among,
    select_by_column,
    selection_map,
    selection_sites,
    sparse_iterates,
    sparse_model,
    total_log_likelihood,
)
from gplvm_edu.kernels import MLP, RBF, Bias, Linear, Matern32, White, gp_posterior, split_white
from gplvm_edu.linalg import centre
from gplvm_edu.maps import grid_points
from gplvm_edu.metrics import nearest_neighbour_errors
from gplvm_edu.noise import Gaussian, Ordinal, PerColumn, Probit, adf_posterior
from gplvm_edu.optimise import check_gradient
from gplvm_edu.papers.ivm import (
    BASE,
    cost_of_a_pass,
    cost_of_sparsity,
    kernels,
    oil_errors,
    same_budget,
    selection_grid,
)

BOOK = Path(__file__).resolve().parents[1] / "book"
quick = settings()  # those of the profile, tests/conftest.py
KERNELS = [
    RBF(1.3, 0.7) + Bias(0.2),
    MLP(1.0, 2.0, 3.0),
    Linear(0.8) + Bias(0.1),
    RBF(1.0, [0.5, 2.0]) + Linear(0.3),
    Matern32(1.0, 0.5) * RBF(1.0, 0.2),
    RBF(1.0, 0.8) + White(0.15),
]
any_kernel = st.sampled_from(range(len(KERNELS)))
any_seed = st.integers(0, 10**6)


def problem(seed=0, N=12, D=3, q=2, missing=0.0):
    rng = np.random.default_rng(seed)
    Y = centre(rng.standard_normal((N, D)) @ np.triu(np.ones((D, D))))[0]
    X = rng.standard_normal((N, q))
    gaps = rng.random((N, D)) < missing
    gaps[np.arange(N), rng.integers(D, size=N)] = False  # something is seen in every row
    return np.where(gaps, np.nan, Y), X


def binary(seed=0, N=12, D=3):
    Y, X = problem(seed, N, D)
    return np.where(Y > 0, 1.0, -1.0), X


def noises(D):
    return {
        "spherical": Gaussian(0.2),
        "each column": Gaussian(np.linspace(0.1, 0.5, D)),
        "probit": Probit(0.1),
        "mixed": PerColumn([Gaussian(0.3, mean=0.0)] * (D - 1) + [Probit(0.0)]),
    }


def data_for(name, seed, N=12, D=3, missing=0.0):
    Y, X = problem(seed, N, D, missing=missing)
    sign = np.where(np.isnan(Y), np.nan, np.where(Y > 0, 1.0, -1.0))
    if name == "probit":
        return sign, X
    return (np.column_stack([Y[:, :-1], sign[:, -1]]), X) if name == "mixed" else (Y, X)


# --- selection -----------------------------------------------------------------------------------------------


def brute_force_entropy(K, chosen, noise_variance):
    """Entropy of the posterior over f at all points, one output, once the chosen rows were seen: by determinants."""
    N = len(K)
    B = np.zeros(N)
    B[chosen] = 1.0 / noise_variance
    return 0.5 * N * np.log(2 * np.pi * np.e) + 0.5 * (
        np.linalg.slogdet(K)[1] - np.linalg.slogdet(np.eye(N) + np.sqrt(B)[:, None] * K * np.sqrt(B))[1]
    )


@pytest.mark.oracle
@given(any_seed, any_kernel, st.integers(1, 4))
@quick
def test_the_order_of_selection_is_that_of_brute_force_entropies(seed, which, D):
    Y, X = problem(seed, N=9, D=D)
    kernel, noise = KERNELS[which], Gaussian(0.2)
    K = kernel(X) + 1e-9 * np.eye(9)
    chosen = []
    for state in ivm_select(Y, X, kernel, noise, 6):
        now = brute_force_entropy(K, chosen, 0.2)
        offers = np.array(
            [-np.inf if n in chosen else D * (now - brute_force_entropy(K, [*chosen, n], 0.2)) for n in range(9)]
        )
        assert_allclose(state.offers, offers, rtol=1e-5, atol=1e-6)
        assert_array_equal(state.active[:-1], chosen)  # the active set grows by one
        chosen.append(state.active[-1])
        assert offers[chosen[-1]] > offers.max() - 1e-6


@pytest.mark.identity
@pytest.mark.parametrize("name", ["spherical", "each column", "probit", "mixed"])
@given(any_seed, any_kernel, st.sampled_from([0.0, 0.3]))
@settings(deadline=None, max_examples=10)
def test_the_triangular_matrices_are_those_of_the_active_set(name, seed, which, missing):
    kernel, noise = KERNELS[which], noises(3)[name]
    Y, X = data_for(name, seed, missing=missing)
    chosen = select_active_set(Y, X, kernel, noise, 7)
    I = chosen.active
    assert len(set(I)) == 7
    K, cross = kernel(X[I]), kernel(X[I], X)
    cross[np.arange(7), I] = np.diag(K)
    groups, Ls, Ms = (chosen.groups, chosen.L, chosen.M) if chosen.groups else ([np.arange(3)], [chosen.L], [chosen.M])
    assert_array_equal(np.sort(np.concatenate(groups)), np.arange(3))
    for columns, L, M in zip(groups, Ls, Ms, strict=True):
        for d in columns:
            seen = chosen.precisions[:, d] > 0
            expected = K[np.ix_(seen, seen)] + np.diag(1.0 / chosen.precisions[seen, d])
            assert_allclose(L @ L.T, expected, rtol=1e-7, atol=1e-9)
            assert_allclose(L @ M, cross[seen], rtol=1e-6, atol=1e-8)
    if missing == 0.0:
        assert np.all(chosen.precisions > 0)
    else:
        assert_array_equal(chosen.precisions == 0, np.isnan(Y[I]))


@pytest.mark.identity
@given(any_seed, st.sampled_from([0.0, 0.3]))
@quick
def test_columns_treated_together_are_each_column_by_itself(seed, missing):
    Y, X = problem(seed, missing=missing)
    nearly = Gaussian(0.2 * (1 + 1e-13 * np.arange(3)))  # the same noise, but not known to be shared
    together, apart = (select_active_set(Y, X, KERNELS[0], noise, 6) for noise in (Gaussian(0.2), nearly))
    assert_array_equal(together.active, apart.active)
    assert_allclose(together.gains, apart.gains, rtol=1e-9)
    assert_allclose(together.log_evidence, apart.log_evidence, rtol=1e-8)
    one, three = (
        selection_map(chosen, X, KERNELS[0], noise) for chosen, noise in ((together, Gaussian(0.2)), (apart, nearly))
    )
    assert_allclose(one.weights, three.weights, rtol=1e-7, atol=1e-9)


@pytest.mark.identity
@given(any_seed, any_kernel, st.sampled_from([0.0, 0.3, 0.7]))
@quick
def test_by_column_includes_in_each_column_the_rows_that_it_has(seed, which, missing):
    """`include`, told the rows and their order, finds for each column alone what was found for its group."""
    Y, X = problem(seed, missing=missing)
    kernel = KERNELS[which]
    *_, chosen = select_by_column(Y, X, kernel, Gaussian(0.2), 7)
    evidence = 0.0
    for columns, L, M in zip(chosen.groups, chosen.L, chosen.M, strict=True):
        for d in columns:
            rows = chosen.active[~np.isnan(Y[chosen.active, d])]
            posterior = IVMPosterior(np.zeros((12, 1)), kernel.diag(X), np.zeros((0, 12)), np.zeros((0, 0)))
            for n in rows:
                g, nu = Gaussian(0.2).derivatives(Y[n, d], posterior.mean[n], posterior.variance[n])
                evidence += Gaussian(0.2).log_partition(Y[n, d], posterior.mean[n], posterior.variance[n])[0]
                k = kernel(X)[:, n]
                posterior = include(posterior, n, k, g, nu[0])
            assert_allclose(L, posterior.L, rtol=1e-9, atol=1e-9)
            assert_allclose(M, posterior.M, rtol=1e-9, atol=1e-9)
    assert_allclose(chosen.log_evidence, evidence, rtol=1e-9)


@pytest.mark.identity
@given(any_seed, any_kernel, st.integers(1, 4))
@quick
def test_by_column_is_the_plain_selection_where_nothing_is_missing(seed, which, D):
    Y, X = problem(seed, D=D)
    *_, plain = ivm_select(Y, X, KERNELS[which], Gaussian(0.2), 7)
    *_, by_column = select_by_column(Y, X, KERNELS[which], Gaussian(0.2), 7)
    assert len(by_column.groups) == 1
    assert_array_equal(plain.active, by_column.active)
    for name in ("gains", "offers", "site_means", "precisions", "log_evidence"):
        assert_allclose(getattr(by_column, name), getattr(plain, name), rtol=1e-9, atol=1e-12, err_msg=name)
    assert_allclose(by_column.M[0], plain.M, rtol=1e-9, atol=1e-12)
    assert_allclose(by_column.L[0], plain.L, rtol=1e-9, atol=1e-12)


def test_the_plain_selection_refuses_columns_that_differ_in_their_covariance():
    Y, X = problem(0, missing=0.3)
    with pytest.raises(ValueError, match=r"Y has gaps\. Use select_by_column"):
        next(ivm_select(Y, X, KERNELS[0], Gaussian(0.2), 3))
    with pytest.raises(ValueError, match=r"Probit\(bias=0\) is not the same for all columns"):
        next(ivm_select(np.sign(np.nan_to_num(Y) + 0.1), X, KERNELS[0], Probit(0.0), 3))


@pytest.mark.identity
def test_columns_with_the_same_gaps_share_a_covariance():
    Y, _ = problem(0, D=5)
    Y[:4, [1, 3]] = np.nan
    Y[:2, 4] = np.nan
    assert [list(group) for group in column_groups(Y, Gaussian(0.2))] == [[0, 2], [1, 3], [4]]
    assert [list(group) for group in column_groups(Y, Gaussian(np.full(5, 0.2)))] == [[0], [1], [2], [3], [4]]


@pytest.mark.identity
def test_with_spherical_noise_the_order_is_largest_variance_first_and_never_looks_at_the_data():
    Y, X = problem(3, N=15)
    first = select_active_set(Y, X, KERNELS[0], Gaussian(0.1), 8).active
    assert_array_equal(first, select_active_set(100 * Y[::-1], X, KERNELS[0], Gaussian(0.1), 8).active)
    for i in range(1, 8):
        _, variance = gp_posterior(KERNELS[0], X[first[:i]], Y[first[:i]], X, noise_variance=0.1)
        variance[first[:i]] = -1.0
        assert variance[first[i]] > variance.max() - 1e-9


@pytest.mark.identity
def test_the_noise_in_the_kernel_or_beside_it_gives_one_order_but_other_gains():
    Y, X = problem(4, N=15)
    smooth, white = split_white(KERNELS[-1])
    beside = select_active_set(Y, X, smooth, Gaussian(white), 8)
    inside = [select_active_set(Y, X, KERNELS[-1], Gaussian(v), 8) for v in (1e-4, 1e-6)]
    for one in inside:
        assert_array_equal(beside.active, one.active)
    rise = inside[1].gains - inside[0].gains  # err L11: -1/2 ln of a vanishing noise, D times
    assert_allclose(rise, 1.5 * np.log(100.0), rtol=1e-2)


@pytest.mark.identity
@given(any_seed, any_kernel)
@quick
def test_selection_of_all_points_is_the_full_gaussian_process(seed, which):
    Y, X = problem(seed, N=14)
    kernel, s2 = KERNELS[which], 0.3
    smooth = split_white(kernel)[0] if which == 5 else kernel
    mapping = selection_map(select_active_set(Y, X, smooth, Gaussian(s2), 14), X, smooth, Gaussian(s2))
    X_new = np.random.default_rng(seed).standard_normal((5, 2))
    mean, variance = latent_moments(mapping, X_new)
    full_mean, full_variance = gp_posterior(smooth, X, Y, X_new, noise_variance=s2)
    assert_allclose(mean, full_mean, rtol=1e-8, atol=1e-8)
    assert_allclose(variance[:, 0], full_variance, rtol=1e-8, atol=1e-8)


@pytest.mark.identity
@pytest.mark.parametrize("name", ["each column", "probit", "mixed"])
def test_selection_of_all_points_is_assumed_density_filtering_in_that_order(name):
    kernel, noise = KERNELS[0], noises(3)[name]
    Y, X = data_for(name, 5, N=8)
    chosen = select_active_set(Y, X, kernel, noise, 8)
    mapping = selection_map(chosen, X, kernel, noise)
    mean, variance = latent_moments(mapping, X)
    alone = {"each column": [Gaussian(v) for v in np.linspace(0.1, 0.5, 3)], "probit": [noise] * 3}.get(name)
    for d, model in enumerate(alone or noise.models):
        reference = adf_posterior(kernel(X), Y[:, d], model, order=chosen.active)
        assert_allclose(mean[:, d], reference.mean, rtol=1e-6, atol=1e-8)
        assert_allclose(variance[:, d], np.diag(reference.covariance), rtol=1e-6, atol=1e-8)


@pytest.mark.identity
def test_the_evidence_collected_on_the_way_is_that_of_the_active_rows():
    Y, X = problem(6)
    chosen = select_active_set(Y, X, KERNELS[0], Gaussian([0.2, 0.1, 0.4]), 5)
    K = KERNELS[0](X[chosen.active])
    expected = sum(
        multivariate_normal(cov=K + s2 * np.eye(5)).logpdf(Y[chosen.active, d]) for d, s2 in enumerate((0.2, 0.1, 0.4))
    )
    assert_allclose(chosen.log_evidence, expected, rtol=1e-9)


@pytest.mark.identity
def test_entropy_reduction_of_gaussian_noise_is_half_the_log_of_one_plus_signal_to_noise():
    variance = np.array([[0.5], [2.0], [0.0]])
    gains = entropy_reductions(1.0 / (variance + 0.1), variance)
    assert_allclose(gains, 0.5 * np.log1p(variance[:, 0] / 0.1), rtol=1e-10)


# --- other rules ---------------------------------------------------------------------------------------------


def middle_first(X):
    """The rows, the one nearest to the middle in front: of equal offers LAPACK takes the first, we that one."""
    order = np.argsort(np.sum((X - X.mean(axis=0)) ** 2, axis=1), kind="stable")
    return X[order]


@pytest.mark.identity
@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kernel", KERNELS[:3], ids=repr)
def test_with_spherical_noise_the_order_is_that_of_lapacks_pivoted_cholesky_with_the_noise(kernel, seed):
    X = middle_first(problem(seed, N=80)[1])
    with_noise = kernel(X) + 0.05 * np.eye(80)
    L, pivots, rank, _ = lapack.dpstrf(with_noise, lower=1)
    chosen = select_active_set(np.zeros((80, 1)), X, kernel, Gaussian(0.05), 30)
    assert rank == 80
    assert_array_equal(chosen.active, pivots[:30] - 1)
    assert_allclose(chosen.L, np.tril(L)[:30, :30], rtol=1e-8, atol=1e-10)
    assert_array_equal(chosen.active, pivoted_cholesky_rows(X, kernel + White(0.05), 30))


@pytest.mark.oracle
def test_the_pivots_of_the_covariance_without_noise_are_lapacks_and_another_order():
    differ = 0
    for seed in range(20):
        X = middle_first(problem(seed, N=80)[1])
        kernel = KERNELS[0]
        _, pivots, _, _ = lapack.dpstrf(kernel(X), lower=1)
        ours = pivoted_cholesky_rows(X, kernel, 30)
        assert_array_equal(ours, pivots[:30] - 1)
        differ += not np.array_equal(ours, select_active_set(np.zeros((80, 1)), X, kernel, Gaussian(0.05), 30).active)
    assert differ == 20


@pytest.mark.parametrize("rule", SELECTIONS)
@given(any_seed, any_kernel, st.integers(1, 14), st.sampled_from([0.0, 0.3]))
@settings(deadline=None, max_examples=10)
def test_every_rule_names_so_many_different_rows_and_the_selection_is_that_of_those_rows(
    rule, seed, which, n_active, missing
):
    Y, X = problem(seed, missing=missing)
    X = np.round(X)  # places that coincide
    kernel, noise = KERNELS[which], Gaussian(0.2)
    found = choose_active_set(Y, X, kernel, noise, n_active, rule, np.random.default_rng(seed))
    assert len(set(found.active.tolist())) == min(n_active, 12)
    again = choose_active_set(Y, X, kernel, noise, n_active, rule, np.random.default_rng(seed))
    assert_array_equal(found.active, again.active)
    with_noise = kernel(X[found.active]) + 0.2 * np.eye(len(found.active))
    for number, columns in enumerate(found.groups or [np.arange(3)]):
        rows = np.flatnonzero(found.precisions[:, columns[0]] > 0)
        L, M = (found.L, found.M) if found.groups is None else (found.L[number], found.M[number])
        assert_allclose(L @ L.T, with_noise[np.ix_(rows, rows)], rtol=1e-8, atol=1e-10)
        k = kernel(X[found.active[rows]], X)
        k[np.arange(len(rows)), found.active[rows]] = kernel.diag(X)[found.active[rows]]
        assert_allclose(L @ M, k, rtol=1e-8, atol=1e-8)


@pytest.mark.identity
@pytest.mark.parametrize("noise", [Gaussian(0.2), Gaussian([0.1, 0.2, 0.3])], ids=repr)
def test_selecting_among_all_rows_is_selecting(noise):
    Y, X = problem(7)
    one, other = (
        select(Y, X, KERNELS[0], noise, last)
        for select, last in ((select_active_set, 12), (select_among, np.arange(12)))
    )
    assert_array_equal(one.active, other.active)
    assert_allclose(one.log_evidence, other.log_evidence, rtol=1e-10)
    assert_allclose(np.array(one.M), np.array(other.M), rtol=1e-8, atol=1e-10)


def test_kmeans_takes_a_row_of_each_cluster():
    centres = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0]])
    X = np.repeat(centres, 5, axis=0) + 0.1 * np.random.default_rng(0).standard_normal((20, 2))
    assert sorted(kmeans_rows(X, RBF(), 4, np.random.default_rng(0)) // 5) == [0, 1, 2, 3]


@pytest.mark.parametrize("rule", SELECTIONS)
def test_a_fit_follows_its_rule_and_its_random_state(rule):
    oil = simulate_oil_flow(60, random_state=0).data
    oil[3, 2] = np.nan
    fits = [SparseGPLVM(n_active=15, max_iter=2, selection=rule, random_state=s).fit(oil) for s in (0, 0, 1)]
    assert_array_equal(fits[0].active_, fits[1].active_)
    assert_allclose(fits[0].embedding_, fits[1].embedding_, rtol=1e-12)
    draws = rule in ("random", "kmeans")
    assert (set(fits[0].active_) != set(fits[2].active_)) == draws
    assert np.isfinite(fits[0].log_likelihood_)


# --- what a set tells ----------------------------------------------------------------------------------------


@pytest.mark.identity
@given(any_seed, any_kernel)
@quick
def test_the_gains_of_a_selection_add_up_to_what_its_rows_tell_in_any_order(seed, which):
    Y, X = problem(seed, N=10)
    chosen = select_active_set(Y, X, KERNELS[which], Gaussian(0.2), 5)
    K_f = KERNELS[which](X)
    K_f[np.diag_indices(10)] = KERNELS[which].diag(X)
    assert_allclose(chosen.gains.sum() / 3, information(K_f, chosen.active, 0.2), rtol=1e-8)
    assert_allclose(information(K_f, chosen.active[::-1], 0.2), information(K_f, chosen.active, 0.2), rtol=1e-10)


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(10))
def test_greedy_choice_by_determinants_is_the_selection_and_no_worse_than_its_guarantee(seed):
    X = middle_first(np.random.default_rng(seed).standard_normal((13, 2)))
    kernel = RBF(1.0, 0.3)
    greedy, best = (rule(kernel(X), 0.1, 4) for rule in (greedy_rows, best_rows))
    assert_array_equal(greedy, select_active_set(np.zeros((13, 1)), X, kernel, Gaussian(0.1), 4).active)
    told, most = (information(kernel(X), rows, 0.1) for rows in (greedy, best))
    assert GUARANTEE * most < 0.9 * most < told <= most + 1e-12


@pytest.mark.identity
@given(any_seed, st.integers(1, 8))
@quick
def test_what_a_row_adds_shrinks_as_others_come_in(seed, size):
    rng = np.random.default_rng(seed)
    K_f, order = RBF(1.0, 0.5)(rng.standard_normal((12, 2))), rng.permutation(12)
    n, rows = order[0], order[1 : size + 1]
    adds = [information(K_f, [*rows[:k], n], 0.1) - information(K_f, rows[:k], 0.1) for k in range(size + 1)]
    assert np.all(np.diff(adds) <= 1e-10) and adds[-1] > 0


def test_the_answer_beside_the_living_figure_is_what_it_shows():
    x = np.array(SIXTEEN)[:, 0]
    totals = totals_of(x, 0.15, 0.1, 3)
    assert_allclose([totals.best[2], totals.greedy[2], totals.random[2]], [2.39, 2.28, 2.03], atol=0.005)
    assert totals.best_sets[2] == (0, 15) and 5 <= totals.order[0] <= 9
    assert_allclose(totals.greedy[1], totals.random[1])  # before anything is known all offer the same


def test_labels_can_raise_what_another_row_offers_and_gaussian_noise_never_does():
    for noise, least, most in ((Gaussian(0.1), 0.0, 0.0), (Probit(), 0.2, 0.7)):
        for seed in range(10):
            Y, X = binary(seed, N=40, D=1)
            offers = np.array([c.offers for c in select_by_column(Y, X, RBF(4.0, 1.0), noise, 15)])
            waiting = np.isfinite(offers[1:])
            rises = offers[1:][waiting] > offers[:-1][waiting] + 1e-9
            assert least <= rises.mean() <= most, noise


# --- which approximation it is -------------------------------------------------------------------------------


@pytest.mark.oracle
@pytest.mark.parametrize("exact", [True, False])
@given(any_seed)
@quick
def test_fitc_and_dtc_are_the_gaussians_with_their_covariances(exact, seed):
    Y, X = problem(seed, N=14)
    kernel, s2, old, new = RBF(1.3, 0.7) + Bias(0.2), 0.2, slice(0, 10), slice(10, 14)
    K, k = kernel(X), kernel(X[:4], X)
    Q = k.T @ np.linalg.solve(kernel(X[:4]), k)
    training = np.array(Q)
    if exact:
        np.fill_diagonal(training, np.diag(K))
    C = training[old, old] + s2 * np.eye(10)
    value = inducing_log_likelihood(kernel, X[:4], X[old], Y[old], s2, exact)
    assert_allclose(value, multivariate_normal(cov=C).logpdf(Y[old].T).sum(), rtol=1e-6)
    mean, variance = inducing_posterior(kernel, X[:4], X[old], Y[old], X[new], s2, exact)
    gain = np.linalg.solve(C, Q[old, new]).T
    assert_allclose(mean, gain @ Y[old], rtol=1e-5, atol=1e-6)
    assert_allclose(variance, np.diag(K)[new] - np.sum(gain.T * Q[old, new], axis=0), rtol=1e-5, atol=1e-6)


@pytest.mark.identity
@pytest.mark.parametrize("exact", [True, False])
def test_with_every_row_active_fitc_and_dtc_are_the_gaussian_process(exact):
    Y, X = problem(3)
    value = inducing_log_likelihood(KERNELS[0], X, X, Y, 0.2, exact)
    full = multivariate_normal(cov=KERNELS[0](X) + 0.2 * np.eye(12)).logpdf(Y.T).sum()
    assert_allclose(value, full, rtol=1e-8)


@pytest.mark.identity
def test_a_row_alone_has_the_density_that_fitc_gives_it_and_seven_two_adds_them_up():
    Y, X = problem(4)
    kernel, noise = KERNELS[0], Gaussian(0.2)
    chosen = select_active_set(Y, X, kernel, noise, 5)
    mapping, I = selection_map(chosen, X, kernel, noise), chosen.active
    alone = multivariate_normal(cov=kernel(X[I]) + 0.2 * np.eye(5)).logpdf(Y[I].T).sum()
    rest = np.setdiff1d(np.arange(12), I)
    with_one = [inducing_log_likelihood(kernel, X[I], X[[*I, j]], Y[[*I, j]], 0.2) for j in rest]
    each = np.array(with_one) - alone
    assert_allclose(each, mapping.log_density(Y[rest], X[rest])[0], rtol=1e-7)
    assert_allclose(alone + np.sum(each), total_log_likelihood(Y, X, chosen, mapping), rtol=1e-8)
    together = inducing_log_likelihood(kernel, X[I], X, Y, 0.2)
    assert abs(together - alone - np.sum(each)) > 0.1  # one integral for all is another number


# --- the active set ------------------------------------------------------------------------------------------


@pytest.mark.identity
@given(any_seed, any_kernel, st.integers(1, 4))
@quick
def test_the_active_likelihood_is_the_brute_force_gaussian_and_chapter_5s(seed, which, D):
    Y, X = problem(seed, N=8, D=D)
    kernel = KERNELS[which] + White(0.1)
    ours = active_log_likelihood(Sites(Y, np.zeros(8)), X, kernel, "gaussian")
    theirs = value_and_gradients(Y, X, kernel, "gaussian")
    for a, b in zip(ours, theirs, strict=True):
        assert_allclose(a, b, rtol=1e-8, atol=1e-9)
    assert_allclose(
        active_log_likelihood(Sites(Y, np.zeros(8)), X, kernel)[0],
        multivariate_normal(cov=kernel(X)).logpdf(Y.T).sum(),
        rtol=1e-8,
    )


@pytest.mark.gradient
@pytest.mark.parametrize("name", ["spherical", "each column", "probit", "mixed"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gradient_of_the_active_likelihood_with_frozen_sites(name, missing, kernel):
    Y, X = data_for(name, 7, missing=missing)
    chosen = select_active_set(Y, X, kernel, noises(3)[name], 6)
    sites, start, moving = selection_sites(chosen), X[chosen.active], kernel.copy()
    log_likelihood = active_log_likelihood if sites.variances.ndim == 1 else active_log_likelihood_by_column

    def objective(x):
        moving.theta = x[start.size :]
        value, dX, dtheta = log_likelihood(sites, x[: start.size].reshape(start.shape), moving, "gaussian")
        return value, np.concatenate([dX.ravel(), dtheta])

    assert check_gradient(objective, np.concatenate([start.ravel(), kernel.theta])) < 1e-6


@pytest.mark.identity
@given(any_seed, st.sampled_from([0.0, 0.3, 0.8]))
@quick
def test_the_active_likelihood_by_column_is_the_plain_one_column_by_column(seed, missing):
    Y, X = problem(seed, N=6, missing=missing)
    rng, kernel = np.random.default_rng(seed), KERNELS[0] + White(0.1)
    variances = np.where(np.isnan(Y), np.inf, rng.choice([0.1, 0.3], (1, 3)))  # columns may be alike
    together = active_log_likelihood_by_column(Sites(np.nan_to_num(Y), variances), X, kernel)
    value, dX, dtheta = 0.0, np.zeros_like(X), 0.0
    for y, v in zip(Y.T, variances.T, strict=True):
        rows = np.flatnonzero(np.isfinite(v))
        if len(rows):
            one = active_log_likelihood(Sites(y[rows, None], v[rows]), X[rows], kernel)
            value, dtheta = value + one[0], dtheta + one[2]
            dX[rows] += one[1]
    for ours, expected in zip(together, (value, dX, dtheta), strict=True):
        assert_allclose(ours, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.identity
def test_a_missing_entry_is_a_row_deleted_from_that_column_and_a_very_large_variance_agrees():
    Y, X = problem(8, N=6)
    kernel = KERNELS[0] + White(0.1)
    variances = np.full((6, 3), 0.2)
    variances[2, 1] = np.inf
    value = active_log_likelihood_by_column(Sites(np.where(np.isinf(variances), 0.0, Y), variances), X, kernel)[0]
    K, keep = kernel(X) + 0.2 * np.eye(6), [0, 1, 3, 4, 5]
    expected = multivariate_normal(cov=K).logpdf(Y[:, [0, 2]].T).sum()
    expected += multivariate_normal(cov=K[np.ix_(keep, keep)]).logpdf(Y[keep, 1])
    assert_allclose(value, expected, rtol=1e-9)


@pytest.mark.identity
def test_equation_11_as_printed_charges_for_one_output_only():
    Y, X = problem(9, N=8)
    K = (KERNELS[0] + White(0.1))(X)
    right = multivariate_normal(cov=K).logpdf(Y.T).sum()
    printed = printed_active_log_likelihood(Y, K)
    by_hand = -1.5 * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(K)[1] - 0.5 * np.trace(np.linalg.solve(K, Y @ Y.T))
    assert_allclose(printed, by_hand, rtol=1e-9)
    assert_allclose(right - printed, -0.5 * 21 * np.log(2 * np.pi) - np.linalg.slogdet(K)[1], rtol=1e-9)


def test_climbing_can_hold_the_positions_and_never_loses():
    Y, X = problem(10)
    kernel, sites = KERNELS[0] + White(0.1), Sites(Y, np.zeros(12))
    before = active_log_likelihood(sites, X, kernel)[0]
    for optimise_active in (True, False):
        X_new, fitted, n_evaluations = optimise_active_set(sites, X, kernel, None, optimise_active, max_iter=8)
        assert active_log_likelihood(sites, X_new, fitted)[0] > before and n_evaluations > 8
        assert np.array_equal(X_new, X) == (not optimise_active)
    assert kernel == KERNELS[0] + White(0.1)


# --- inactive points -----------------------------------------------------------------------------------------


def mapped(name, kernel, missing=0.0, seed=11, prior=None):
    Y, X = data_for(name, seed, missing=missing)
    noise = noises(3)[name]
    return Y, X, selection_map(select_active_set(Y, X, kernel, noise, 6), X, kernel, noise, prior)


@pytest.mark.gradient
@pytest.mark.parametrize("name", ["spherical", "each column", "probit", "mixed"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gradient_of_an_inactive_points_log_likelihood(name, missing, kernel):
    Y, _, mapping = mapped(name, kernel, missing)
    for row in (0, 5):

        def objective(x, y=Y[row : row + 1]):
            values, gradients = mapping.log_density(y, x[None])
            return values[0], gradients[0]

        assert check_gradient(objective, np.array([0.4, -0.7])) < 1e-6


@pytest.mark.identity
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("name", ["spherical", "each column"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_log_likelihood_by_column_is_the_plain_one_column_by_column(name, missing, kernel):
    Y, X, mapping = mapped(name, kernel, missing)
    roots = np.broadcast_to(mapping.roots, (3, 6, 6))
    together = inactive_log_likelihood_by_column(replace(mapping, roots=roots), Y, X + 0.1)
    variances = np.broadcast_to(noises(3)[name].variance, 3)
    alone = [
        inactive_log_likelihood(
            replace(mapping, roots=roots[[d]], weights=mapping.weights[:, [d]], noise=Gaussian(variances[d])),
            Y[:, [d]],
            X + 0.1,
        )
        for d in range(3)
    ]
    for ours, parts in zip(together, zip(*alone, strict=True), strict=True):
        assert_allclose(ours, sum(parts), rtol=1e-9, atol=1e-9)
    if name == "each column" or missing:
        with pytest.raises(ValueError, match="a covariance for each of 3 outputs"):
            inactive_log_likelihood(mapping, Y, X)  # one covariance for all outputs: never the first of several


@pytest.mark.identity
@pytest.mark.parametrize("kernel", KERNELS[:5], ids=repr)
def test_with_gaussian_noise_it_is_chapter_5s_projection_onto_the_active_rows(kernel):
    Y, X, mapping = mapped("spherical", kernel)
    chosen = select_active_set(Y, X, kernel, Gaussian(0.2), 6).active
    noisy = kernel + White(0.2)
    L, A, jitter = factorise(Y[chosen], noisy(X[chosen]))
    full = ProcessMap(noisy, X[chosen], L, A, jitter=jitter)
    ours = inactive_log_likelihood(mapping, Y, X + 0.1)
    theirs = point_log_likelihood(full, Y, X + 0.1)
    assert_allclose(ours[0], theirs[0], rtol=1e-7)
    assert_allclose(ours[1], theirs[1], rtol=1e-6, atol=1e-7)
    assert_allclose(latent_moments(mapping, X)[0], predict(full, X)[0], rtol=1e-7, atol=1e-9)


@pytest.mark.identity
def test_an_inactive_points_log_likelihood_is_a_ratio_of_joint_likelihoods_with_its_own_white_noise():
    Y, X = problem(12)
    kernel = RBF(1.2, 0.8) + White(0.25)
    model = sparse_model(kernel)
    f_kernel, noise = model.f_kernel, model.noise
    chosen = select_active_set(Y, X, f_kernel, noise, 6)
    I, j = chosen.active, np.setdiff1d(np.arange(12), chosen.active)[0]
    value = inactive_log_likelihood(selection_map(chosen, X, f_kernel, noise), Y[[j]], X[[j]])[0][0]
    together, alone = kernel(X[[*I, j]]), kernel(X[I])
    expected = multivariate_normal(cov=together).logpdf(Y[[*I, j]].T).sum()
    expected -= multivariate_normal(cov=alone).logpdf(Y[I].T).sum()
    assert_allclose(value, expected, rtol=1e-8)


@pytest.mark.identity
@pytest.mark.parametrize("name", ["spherical", "probit", "mixed"])
def test_points_are_placed_at_once_as_each_would_be_alone(name):
    Y, X, mapping = mapped(name, KERNELS[0], missing=0.2, prior="gaussian")
    together, values = place_inactive(mapping, Y, X, 200, tolerance=1e-6)
    before = mapping.log_density(Y, X)[0] - 0.5 * np.sum(X**2, axis=1)
    assert np.all(values >= before - 1e-12)
    ends, gradients = mapping.log_density(Y, together)
    assert_allclose(ends - 0.5 * np.sum(together**2, axis=1), values, rtol=1e-10)
    assert_allclose(gradients, together, atol=1e-5)  # the gradient of the prior is -x
    for n in (0, 4, 11):
        alone, value = place_inactive(mapping, Y[[n]], X[[n]], 200, tolerance=1e-6)
        assert_allclose(alone[0], together[n], atol=1e-6)
        assert_allclose(value[0], values[n], rtol=1e-8)


def test_rows_in_small_blocks_are_the_rows_in_one(monkeypatch):
    Y, X, mapping = mapped("mixed", KERNELS[0], prior="gaussian")
    whole = place_inactive(mapping, Y, X, 10)
    monkeypatch.setattr("gplvm_edu.maps.BLOCK", 40)
    blocks = place_inactive(mapping, Y, X, 10)
    assert_allclose(whole[0], blocks[0], atol=1e-7)


@pytest.mark.identity
@pytest.mark.parametrize("name", ["spherical", "each column", "probit", "mixed"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_row_begins_at_the_likeliest_of_its_own_place_and_the_active_ones(name, missing):
    Y, X, mapping = mapped(name, KERNELS[0], missing)
    table = np.column_stack([mapping.log_density(Y, np.tile(place, (12, 1)))[0] for place in mapping.centres])
    assert_allclose(log_likelihoods_at_active(mapping, Y), table, rtol=1e-7, atol=1e-8)
    for prior in ("gaussian", None):
        begin = likeliest_starts(replace(mapping, latent_prior=prior), Y, X)
        own, best = (mapping.log_density(Y, Z)[0] - (0.5 * np.sum(Z**2, axis=1) if prior else 0.0) for Z in (X, begin))
        penalty = 0.5 * np.sum(mapping.centres**2, axis=1) if prior else 0.0
        assert_allclose(best, np.maximum(own, (table - penalty).max(axis=1)), rtol=1e-7, atol=1e-8)


@pytest.mark.identity
def test_complete_rows_at_the_places_of_active_rows_with_gaps_have_a_variance_for_each_column():
    Y, _, mapping = mapped("spherical", KERNELS[0], missing=0.3)
    complete = np.nan_to_num(Y)
    table = np.column_stack([mapping.log_density(complete, np.tile(c, (12, 1)))[0] for c in mapping.centres])
    assert_allclose(fast.log_likelihoods_at_active(mapping, complete), table, rtol=1e-9)
    assert_allclose(log_likelihoods_at_active(mapping, complete), table, rtol=1e-9)


@pytest.mark.identity
def test_a_variance_for_each_row_is_used_where_rows_look_for_a_place():
    Y, X = problem(19)
    noise = Gaussian(np.linspace(0.1, 0.9, 12)[:, None])
    mapping = selection_map(select_active_set(Y, X, KERNELS[0], noise, 6), X, KERNELS[0], noise)
    rows = np.array([7, 2])
    table = log_likelihoods_at_active(mapping, Y[rows], rows)
    expected = np.column_stack(
        [inactive_log_likelihood(mapping, Y[rows], np.tile(place, (2, 1)), rows=rows)[0] for place in mapping.centres]
    )
    assert_allclose(table, expected, rtol=1e-8)


@pytest.mark.identity
@pytest.mark.parametrize("name", ["spherical", "each column", "probit", "mixed"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_map_adds_the_mean_and_explains_what_its_variance_lacks(name, missing):
    Y, X, centred = mapped(name, KERNELS[0], missing)
    mean = np.array([1.0, -2.0, 3.0])
    shifted = replace(centred, mean=mean)
    for one, other in zip(shifted.moments(X), centred.moments(X), strict=True):
        assert one.shape == other.shape == (12, 3)
    assert_allclose(shifted.moments(X)[0], centred.moments(X)[0] + mean, rtol=1e-12)
    if name in ("spherical", "each column"):
        assert_allclose(shifted.log_density(Y + mean, X)[0], centred.log_density(Y, X)[0], rtol=1e-9)
    k = centred.kernel(X, centred.centres)
    left = centred.kernel.diag(X)[:, None] - centred.explained(k, k)
    assert left.shape == (12, 1 if name == "spherical" and missing == 0.0 else 3)
    assert_allclose(np.broadcast_to(left, (12, 3)), centred.moments(X)[1], rtol=1e-9, atol=1e-10)


# --- Algorithm 1 ---------------------------------------------------------------------------------------------


def test_the_algorithm_moves_everybody_and_raises_the_objective():
    oil = simulate_oil_flow(120, random_state=0)
    Y = centre(oil.data)[0]
    start = np.random.default_rng(0).standard_normal((120, 2))
    kernel = RBF(0.1, 1.0) + Bias(0.1) + White(0.01)
    states = list(sparse_iterates(Y, start, sparse_model(kernel), SparseOptions(n_active=30), max_iter=4))
    assert len(states) == 5 and states[-1].value > states[0].value + 100
    moved = np.any(states[-1].X != start, axis=1)
    assert moved[np.setdiff1d(np.arange(120), states[-1].selection.active)].all()  # the others may have been taken late
    assert states[0].model.kernel == kernel != states[-1].model.kernel
    assert states[4].n_evaluations > states[1].n_evaluations > 0
    assert [state.stopped for state in states] == [""] * 4 + ["schedule"]
    last = states[-1]
    again = select_active_set(Y, last.X, last.model.f_kernel, last.model.noise, 30)
    assert len(np.intersect1d(again.active, last.selection.active)) >= 15  # the rest has moved since
    assert_allclose(total_log_likelihood(Y, last.X, last.selection, last.map_), last.value, rtol=1e-10)


@pytest.mark.identity
def test_with_all_points_active_the_objective_is_the_full_likelihood():
    Y, X = problem(14)
    kernel = KERNELS[0] + White(0.2)
    state = outer_step(Y, X, sparse_model(kernel), SparseOptions(n_active=12, n_steps=4))
    expected = value_and_gradients(Y, state.X, state.model.kernel)[0]
    assert_allclose(state.value, expected, rtol=1e-8)


@pytest.mark.identity
def test_active_rows_stay_where_they_are_while_the_rest_is_placed():
    Y, X = problem(15, N=20)
    state = outer_step(Y, X, sparse_model(KERNELS[0] + White(0.2)), SparseOptions(n_active=8, n_steps=0))
    moved = np.any(state.X != X, axis=1)
    assert not moved[state.selection.active].any() and moved.sum() == 12
    assert state.model.kernel == KERNELS[0] + White(0.2)


def test_a_point_is_better_placed_after_its_turn_than_before():
    Y, X = problem(16, N=20)
    state = outer_step(Y, X, sparse_model(KERNELS[0] + White(0.2)), SparseOptions(n_active=8, n_steps=0))
    rest = np.setdiff1d(np.arange(20), state.selection.active)
    before, after = (inactive_log_likelihood(state.map_, Y[rest], Z[rest])[0] for Z in (X, state.X))
    assert np.all(after >= before)


# --- the estimator -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def oil():
    return simulate_oil_flow(150, random_state=0)


@pytest.fixture(scope="module")
def fitted(oil):
    return SparseGPLVM(n_active=40, max_iter=5).fit(oil.data[:120])


def test_it_sorts_the_phases_of_the_pipe_better_than_a_plane(fitted, oil):
    start = SparseGPLVM(n_active=40, max_iter=0).fit(oil.data[:120]).embedding_
    flat, bent = (nearest_neighbour_errors(X, oil.target[:120]) for X in (start, fitted.embedding_))
    assert bent < 0.7 * flat
    assert fitted.n_active_ == len(fitted.active_) == 40 and len(fitted.history_) == 6
    assert_allclose(fitted.noise_.variance, fitted.kernel_["white"].variance, rtol=1e-3)


def test_new_rows_land_where_they_decode_to_themselves(fitted, oil):
    new = oil.data[120:]
    found = fitted.reconstruct(new)
    decoded, X = found.mean, found.latent_mean
    assert X.shape == (30, 2) and np.sqrt(np.mean((decoded - new) ** 2)) < 0.2
    assert_allclose(X, fitted.latent_draws(new).moments()[0])  # the mean of p(x | y); the best place lies nearby
    assert np.median(np.linalg.norm(fitted.transform(new) - X, axis=1)) < 0.1
    assert np.sqrt(np.mean((fitted.inverse_transform(fitted.transform(new)) - new) ** 2)) < 0.2
    mean, deviation = fitted.inverse_transform(X, return_std=True)
    assert mean.shape == (30, 12) and deviation.shape == (30, 12)
    more = fitted.place(new, n_starts=12).values[:, 0]
    assert np.all(more >= fitted.place(new, n_starts=3).values[:, 0] - 1e-6)


def test_removed_values_are_filled_in_better_than_by_the_mean(fitted, oil):
    new, rng = oil.data[120:], np.random.default_rng(0)
    gaps = rng.random(new.shape) < 0.25
    gaps[:, 0] = False
    filled = fitted.reconstruct(np.where(gaps, np.nan, new), n_starts=8).mean
    ours, mean = ((guess - new)[gaps] for guess in (filled, np.tile(oil.data[:120].mean(axis=0), (30, 1))))
    assert np.mean(ours**2) < 0.5 * np.mean(mean**2)


def test_score_samples_tells_familiar_from_strange_and_a_gap_from_a_value(fitted, oil):
    strange = np.random.default_rng(0).permuted(oil.data, axis=0)[120:]
    assert np.median(fitted.score_samples(oil.data[120:])) > np.median(fitted.score_samples(strange)) + 1
    assert fitted.score(oil.data[120:]) == np.mean(fitted.score_samples(oil.data[120:]))
    one_column = np.full((1, 12), np.nan)
    one_column[0, 3] = oil.data[130, 3]
    assert np.isfinite(fitted.score_samples(one_column)).all()


def test_the_grey_picture_is_the_variance_of_the_map(fitted):
    grey = fitted.log_precision(grid_points((-1, 1, -2, 2), 5)).reshape(5, 5)
    _, deviation = fitted.inverse_transform(np.array([[0.5, -1.0]]), return_std=True)
    assert_allclose(grey[1, 3], -2 * np.log(deviation[0, 0]), rtol=1e-9)


def test_the_map_of_a_fit_is_an_active_map_in_the_units_of_the_data(fitted, oil):
    active = fitted.map_
    assert isinstance(active, ActiveMap) and active.latent_prior == "gaussian"
    assert_allclose(active.centres, fitted.embedding_[fitted.active_])
    assert_allclose(active.mean, oil.data[:120].mean(axis=0), rtol=1e-12)
    _, free = fitted.inverse_transform(active.centres, return_std=True)
    _, noisy = fitted.inverse_transform(active.centres, return_std=True, noise=True)
    assert_allclose(noisy**2, free**2 + active.noise_variance, rtol=1e-9)
    assert fitted.converged_ and fitted.n_iter_ == 5  # a schedule: nothing to warn of


def test_samples_look_like_data(fitted, oil):
    Y, X = fitted.sample(300, random_state=0)
    assert Y.shape == (300, 12) and X.shape == (300, 2)
    assert np.abs(Y.mean(axis=0) - oil.data.mean(axis=0)).max() < 0.6


@pytest.mark.parametrize("noise", [None, Gaussian(0.01), Gaussian(np.full(12, 0.01))], ids=repr)
def test_data_with_holes_can_be_fitted_and_filled(oil, noise):
    rng = np.random.default_rng(0)
    gaps = rng.random((60, 12)) < 0.2
    Y = oil.data[:60]
    model = SparseGPLVM(n_active=20, max_iter=3, noise=noise).fit(np.where(gaps, np.nan, Y))
    filled = model.inverse_transform(model.embedding_)
    mean = np.nanmean(np.where(gaps, np.nan, Y), axis=0)
    assert np.mean((filled - Y)[gaps] ** 2) < 0.6 * np.mean((mean - Y)[gaps] ** 2)


@pytest.mark.identity
@pytest.mark.parametrize("name", ["spherical", "each column", "mixed"])
def test_a_column_of_nothing_but_gaps_changes_nothing(name):
    Y, X = data_for(name, 17)
    empty = np.column_stack([np.full(12, np.nan), Y])
    before, kernel = noises(3)[name], KERNELS[0]
    after = before
    if name != "spherical":
        after = (
            PerColumn([Probit(0.0), *before.models]) if name == "mixed" else Gaussian(np.append(0.7, before.variance))
        )
    a, b = select_active_set(Y, X, kernel, before, 6), select_active_set(empty, X, kernel, after, 6)
    assert_array_equal(a.active, b.active)
    assert_allclose(a.log_evidence, b.log_evidence, rtol=1e-9)
    moments = [latent_moments(selection_map(c, X, kernel, n), X + 0.1) for c, n in ((a, before), (b, after))]
    assert_allclose(moments[1][0][:, 1:], moments[0][0], rtol=1e-7, atol=1e-9)
    assert_allclose(moments[1][0][:, 0], 0.0, atol=1e-12)  # of the empty column the prior is left


@pytest.mark.parametrize(
    "noise, D",
    [(Probit(), 8), (Ordinal(3), 8), ([Gaussian(0.1)] * 4 + [Probit()] * 4, 8)],
    ids=["probit", "ordinal", "mixed"],
)
def test_other_noise_models_are_fitted_and_predict_in_their_own_terms(noise, D):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (60, 1))
    F = np.sin(X * rng.uniform(0.5, 1.5, D) + rng.uniform(0, 6, D)) * 2
    if isinstance(noise, list):
        Y = np.column_stack([F[:, :4], np.where(F[:, 4:] > 0, 1.0, -1.0)])
    else:
        Y = np.where(F > 0, 1.0, -1.0) if isinstance(noise, Probit) else np.digitize(F, [-0.7, 0.7]).astype(float)
    model = SparseGPLVM(1, n_active=20, max_iter=3, noise=noise).fit(Y[:50])
    expected = model.reconstruct(Y[50:]).mean
    assert np.isfinite(expected).all() and np.isfinite(model.history_).all() and expected.shape == (10, D)
    binary = expected[:, 4:] if isinstance(noise, list) else expected
    if not isinstance(noise, Ordinal):
        assert np.all((binary >= 0) & (binary <= 1))
        truth = Y[50:, -binary.shape[1] :] > 0
        assert np.mean((binary > 0.5) != truth) < 0.25
    else:
        assert np.mean(np.abs(expected - Y[50:])) < 0.6


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "noise",
    [Gaussian(np.full((15, 1), 0.2)), Gaussian(np.full((15, 3), 0.2)), [Gaussian(np.full((15, 1), 0.2))] * 3],
    ids=["each row", "each entry", "each row, by column"],
)
def test_noise_for_each_row_is_fitted_but_not_asked_about_new_rows(noise):
    Y, _ = problem(18, N=15)
    model = SparseGPLVM(n_active=6, max_iter=2, noise=noise).fit(Y)
    assert np.isfinite(model.log_likelihood_)
    X = model.embedding_[:4]
    assert np.isfinite(model.inverse_transform(X, return_std=True)).all()  # f has no such noise
    for ask in (
        partial(model.transform, Y),
        partial(model.impute, Y),
        partial(model.score_samples, Y[:4]),
        partial(model.sample, 3),
        partial(model.inverse_transform, X, return_std=True, noise=True),
        lambda: model.map_.noise_variance,
    ):
        with pytest.raises(ValueError, match="variance for each row of the training data"):
            ask()


@pytest.mark.filterwarnings("error", "ignore:.* latent dimensions, and Y has:UserWarning")
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.long
def test_random_fits_end_finite(seed):
    rng = np.random.default_rng(seed)
    N, D = rng.integers(3, 61), rng.integers(1, 40)
    Y = awkward(rng, N, D)
    if rng.random() < 0.3:
        Y[1:, 1:][rng.random((N - 1, D - 1)) < 0.2] = np.nan
    model = SparseGPLVM(
        n_active=int(rng.integers(1, 30)),
        max_iter=2,
        latent_prior=["gaussian", None][seed % 2],
        optimiser=["scg", "l-bfgs"][seed // 2 % 2],
        random_state=seed,
    ).fit(Y)
    assert np.isfinite(model.embedding_).all() and np.isfinite(model.kernel_.theta).all()
    assert np.isfinite(model.history_).all() and model.n_active_ == min(model.n_active, N)


# --- bad input -----------------------------------------------------------------------------------------------

GOOD = np.random.default_rng(0).standard_normal((20, 5))


test_bad_parameters_get_a_clear_error = refused(
    [
        (SparseGPLVM(kernel="rbf"), "must be a kernel of gplvm_edu.kernels"),
        (SparseGPLVM(kernel=RBF()), "has no white noise"),
        (SparseGPLVM(kernel=White()), "nothing but white noise"),
        (SparseGPLVM(n_active=0), "n_active must be a whole number of at least 1"),
        (SparseGPLVM(n_active=2.5), "n_active must be"),
        (SparseGPLVM(max_iter=-1), "max_iter must be"),
        (SparseGPLVM(n_steps=True), "n_steps must be"),
        (SparseGPLVM(latent_prior="flat"), "latent_prior must be"),
        (SparseGPLVM(noise="probits"), "noise has the kind 'probits'.*nearest is 'probit'"),
        (SparseGPLVM(noise=0.1), "noise must be a noise model"),
        (SparseGPLVM(noise=Probit()), "Probit noise needs"),
        (SparseGPLVM(noise=[Gaussian(0.1)] * 3), "3 noise models"),
        (SparseGPLVM(init="magic"), "no init 'magic'"),
        (SparseGPLVM(optimiser="adam"), "optimiser must be one of"),
        (SparseGPLVM(0), "whole number"),
        (SparseGPLVM(20), "too many"),
    ],
    GOOD,
)


@pytest.mark.bad_input
def test_bad_data_gets_a_clear_error():
    no_row, no_column = GOOD.copy(), GOOD.copy()
    no_row[3], no_column[:, 2] = np.nan, np.nan
    for Y, says in [
        (GOOD[0], "Expected 2D"),
        (GOOD[:1], "1 sample"),
        (np.where(GOOD > 2, np.inf, GOOD), "inf"),
        ([["a", "b"]] * 5, "could not convert"),
        (no_row, "Row 3"),
        (no_column, "Column 2"),
    ]:
        with pytest.raises(ValueError, match=says):
            SparseGPLVM(max_iter=1).fit(Y)
    model = SparseGPLVM(n_active=5, max_iter=1).fit(GOOD)
    with pytest.raises(ValueError, match="2 latent dimensions"):
        model.inverse_transform(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="no observed value"):
        model.transform(np.full((1, 5), np.nan))


# --- the exercises -------------------------------------------------------------------------------------------


def select_by_hand(K, noise_variance, n_active):
    covariance, order = K.copy(), []
    for _ in range(n_active):
        variance = np.diag(covariance).copy()
        variance[order] = -1.0
        order.append(int(np.argmax(variance)))
        s = covariance[:, order[-1]]
        covariance = covariance - np.outer(s, s) / (s[order[-1]] + noise_variance)
    return order


def include_by_hand(mean, covariance, n, y, noise_variance, factor=1.0):
    s = covariance[:, n]
    nu = 1.0 / (s[n] + noise_variance)
    return mean + nu * (y - mean[n]) * s, covariance - factor * nu * np.outer(s, s)


def evidence_by_determinant(Y, X, kernel, noise_variance, order):
    return multivariate_normal(cov=kernel(X[order]) + noise_variance * np.eye(len(order))).logpdf(Y[order].T).sum()


def search_from_every_active_row(active, Y, X):
    starts = [X, *(np.tile(place, (len(Y), 1)) for place in active.centres)]
    ends = [place_inactive(active, Y, start) for start in starts]
    best = np.argmax([values for _, values in ends], axis=0)
    return np.array([ends[b][0][n] for n, b in enumerate(best)])


RIGHT = {
    "ivm.1": lambda v, s2: -0.5 * np.log(s2 / (v + s2)),
    "ivm.2": include_by_hand,
    "ivm.3": select_by_hand,
    "ivm.4": lambda k, X, x: 1.0 / np.linalg.inv(k(np.vstack([X, x])))[-1, -1],
    "ivm.5": lambda d, D: 0.5 * D * (d - 1) * np.log(2 * np.pi),
    "ivm.6": evidence_by_determinant,
    "ivm.7": search_from_every_active_row,
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass_whoever_computed_them(name):
    verdict = check(name, RIGHT[name])
    assert verdict.passed is True, verdict


test_common_mistakes_get_their_own_hint = common_mistakes(
    [
        ("ivm.1", lambda v, s2: 0.5 * np.log2(1 + v / s2), "bits"),
        ("ivm.1", lambda v, s2: np.log(1 + v / s2), "HALF"),
        ("ivm.1", lambda v, s2: -0.5 * np.log(1 + v / s2), "sign"),
        ("ivm.1", lambda v, s2: v, "should be"),
        ("ivm.2", lambda m, C, n, y, s2: (m, C), "residual"),
        ("ivm.2", lambda *given: include_by_hand(*given, factor=2.0), "outer product"),
        ("ivm.3", lambda K, s2, d: np.zeros(d, int), "twice"),
        ("ivm.3", lambda K, s2, d: np.arange(d), "order"),
        ("ivm.3", lambda K, s2, d: np.arange(2), "indices"),
        ("ivm.4", lambda k, X, x: RIGHT["ivm.4"](k, X, x) - 0.3, "noise of its own"),
        ("ivm.4", lambda *_: 0.0, "should be"),
        ("ivm.5", lambda d, D: -RIGHT["ivm.5"](d, D), "other way"),
        ("ivm.5", lambda d, D: 0.0, "should be"),
        ("ivm.6", lambda *_: 0.0, "BEFORE"),
        ("ivm.7", lambda m, Y, X: X, "nearest hill"),
        ("ivm.7", lambda m, Y, X: np.zeros_like(X), "worse off"),
        ("ivm.7", lambda m, Y, X: place_inactive(m, Y, X)[0], "nearest hill"),
    ]
)


# --- the explorer --------------------------------------------------------------------------------------------

EXPLORER = partial(explore_ivm, n_points=100, n_active=12)


SETTINGS = [
    dict(data="oil flow", kernel="RBF", noise=0.1, start="pca", n_active=12, n_points=100, included=4),
    dict(data="digits", kernel="MLP", noise=0.01, start="kernel_pca", n_active=8, n_points=150, included=8),
    dict(data="oil flow", kernel="MLP", noise=0.3, start="random", n_active=5, n_points=100, included=1),
]


def at_start(settings_):
    """The active set of these settings before any pass."""
    return chosen(*(settings_[name] for name in ("data", "kernel", "noise", "start", "n_active", "n_points")))


@pytest.mark.widget
@pytest.mark.parametrize("formula", [CORRECTED, PRINTED])
@pytest.mark.parametrize("settings_", SETTINGS, ids=lambda s: f"{s['data']}-{s['kernel']}")
def test_the_code_shown_computes_what_the_panel_shows(explorer, settings_, formula, capsys):
    explorer.set(**settings_, formula=formula)
    scope, scene_ = {}, explorer.scene
    exec(explorer.shown_code(), scope)
    assert scene_.says in capsys.readouterr().out
    now, included = at_start(settings_), settings_["included"]
    assert_array_equal(scope["selection"].active, now.selection.active)
    assert_allclose(scope["selection"].gains, now.selection.gains, rtol=1e-9)
    assert_allclose(scene_.mark("gains", "taken").y, now.selection.gains, rtol=1e-9)
    assert_allclose(scene_.mark("scale", "curve").y, scope["values"], rtol=1e-9)
    assert_allclose(scene_.mark("scale", "best").x, scope["best"], rtol=1e-9)
    assert abs(np.log(SCALES[np.argmax(scope["values"])] / scope["best"])) <= np.log(SCALES[1] / SCALES[0])
    assert f"{now.selection.gains[:included].sum():.0f} nats" in scene_.panel("gains").title
    assert f"best factor {scope['best']:.3g}" in scene_.panel("scale").title
    assert f"start: {scope['errors']}" == scene_.mark("errors", "start").label


@pytest.mark.widget
def test_what_every_point_offered_follows_from_the_last_state_of_the_selection():
    for settings_ in SETTINGS:
        now, Y = at_start(settings_), load(settings_["data"], settings_["n_points"])[0]
        model = sparse_model(now.kernel)
        for step, slow in enumerate(ivm_select(Y, now.X, model.f_kernel, model.noise, settings_["n_active"])):
            free = np.isfinite(slow.offers)
            assert_allclose(now.offers[step, free], slow.offers[free], rtol=1e-8)
            assert np.isnan(now.offers[step, ~free]).all()


@pytest.mark.widget
def test_a_click_into_the_map_takes_one_more_and_a_place_in_the_gains_as_many_as_pointed_at(explorer):
    point = lambda panel, x: explorer.view.hear({"type": "point", "panel": panel, "x": x, "y": 0.5})  # noqa: E731
    arrow = lambda **step: explorer.view.hear({"type": "arrow", "panel": "entropy", **step})  # noqa: E731
    point("entropy", 0.0)
    assert explorer.settings["included"] == 6
    arrow(right=-1, up=0)
    assert explorer.settings["included"] == 5
    arrow(right=0, up=50)
    assert explorer.settings["included"] == 12  # there are no more
    point("entropy", 0.0)
    assert explorer.settings["included"] == 12 and explorer.scene.panel("entropy").title == "all 12 are in"
    for x, included in ((3.4, 3), (0.2, 0), (12.9, 12)):
        point("gains", x)
        assert explorer.settings["included"] == included
        assert len(explorer.scene.mark("entropy", "taken").x) == included
    assert {panel.key for panel in explorer.scene.panels if panel.listens} == {"entropy", "gains"}


@pytest.mark.widget
def test_the_map_shows_at_each_place_what_a_point_there_would_tell():
    scene_ = panel_ivm(n_active=12, n_points=100, included=5)
    now, Y = chosen("oil flow", "RBF", 0.1, "pca", 12, 100), load("oil flow", 100)[0]
    nats, model, active = scene_.mark("entropy", "nats"), sparse_model(now.kernel), now.selection.active
    grid = grid_points(nats.extent, N_GRID)
    noise_variance = float(model.noise.variance)
    _, variance = gp_posterior(model.f_kernel, now.X[active[:5]], Y[active[:5]], grid, noise_variance)
    expected = 0.5 * Y.shape[1] * np.log1p(np.ravel(variance) / noise_variance)
    assert_allclose(nats.values.ravel(), expected, rtol=1e-8)
    star = scene_.mark("entropy", "next")
    assert_allclose([star.x[0], star.y[0]], now.X[active[5]])
    points = scene_.mark("entropy", "points")
    assert_array_equal(points.group, load("oil flow", 100)[1])
    assert points.names == ["homogeneous", "annular", "stratified"]


@pytest.mark.widget
@pytest.mark.parametrize("included, words", [(0, "no points in"), (1, "1 point in"), (2, "2 points in")])
def test_the_titles_count_points_as_a_reader_does(included, words):
    assert panel_ivm(n_active=12, n_points=100, included=included).panel("entropy").title.startswith(words + ",")


@pytest.mark.widget
def test_no_more_points_are_offered_than_there_are(explorer):
    explorer.set(included=9)
    explorer.set(n_active=7)
    assert explorer.settings["included"] == 7 == explorer.controls["included"].max
    explorer.set(data="digits", n_points=1000)
    assert explorer.settings["n_points"] == len(explorer.scene.mark("entropy", "points").x) == 900
    explorer.set(start="isomap")
    assert explorer.settings["n_points"] == 300


@pytest.mark.widget
def test_run_goes_through_the_passes_and_then_the_full_model(explorer, capsys):
    explorer.run_now()
    run = explorer.state
    assert len(run.errors) == 11 and len(run.full[0]) > 20 and run.full[0][0] == run.errors[0]
    assert run.seconds[0] == run.full[1][0] == 0 and explorer.progress.value == 1
    assert np.all(np.diff(run.seconds) > 0) and np.all(np.diff(run.full[1]) > 0)
    assert_array_equal(explorer.scene.mark("errors", "sparse").y, run.errors)
    assert_array_equal(explorer.scene.mark("errors", "full").y, run.full[0])
    explorer.set(included=3)  # stepping through leaves the run alone
    assert explorer.state is run
    for shown, words in (
        (len(explorer.kept) - 1, "of the full model, step"),
        (6, "pass 6: 3 of 12"),
        (0, "pass 0: 3 of 12"),
    ):
        explorer.scrubber.value = shown
        exec(explorer.shown_code(), {})
        assert explorer.scene.says in capsys.readouterr().out and words in explorer.scene.says
    assert len(explorer.state.errors) == 1 and explorer.state.full is None
    explorer.set(noise=0.3)
    assert explorer.state is None


@pytest.mark.widget
def test_the_answers_of_the_questions_are_true(explorer):
    before, after = [], []
    for number, question in enumerate(explorer.questions, start=1):
        explorer.ask(number)
        before.append(explorer.scene)
        explorer.commit(question.right)
        explorer.reveal()
        after.append(explorer.scene)
        assert "Right." in explorer.question_box.value
    points, first, second = (after[0].mark("entropy", key) for key in ("points", "taken", "next"))
    away = np.hypot(points.x - first.x[0], points.y - first.y[0])
    far = np.hypot(second.x - first.x, second.y - first.y)[0]
    assert explorer.questions[0].right == 2 and far > np.percentile(away, 80)
    centre_ = np.hypot(points.x - points.x.mean(), points.y - points.y.mean())  # nor is it in the middle
    assert np.hypot(second.x[0] - points.x.mean(), second.y[0] - points.y.mean()) > np.percentile(centre_, 80)
    loud, quiet = (scene_.mark("gains", "taken").y for scene_ in (before[1], after[1]))
    assert explorer.questions[1].right == 2 and np.sum(loud > 5) == 16 and np.sum(quiet > 5) == 37
    assert "More, 37:" in explorer.questions[1].answer
    right, printed = (scene_.mark("scale", "best").x[0] for scene_ in (before[2], after[2]))
    assert explorer.questions[2].right == 1
    assert_allclose(printed / right, 12, rtol=1e-9)


PAGE = ["explore_ivm(n_points=100)"]


@pytest.mark.browser
def test_in_jupyterlab_a_click_includes_a_point_the_slider_moves_and_run_runs(page, screenshots):
    start = page.picture_at_rest()
    page.click_picture("entropy", 0.0, 0.0)
    clicked = page.wait_for_new_picture(start)
    assert page.slider("included").value() == "6"
    page.drag_picture("gains", (3.0, 1.0), (9.1, 1.0))
    dragged = page.wait_for_new_picture(clicked)
    assert page.slider("included").value() == "9"
    page.slider("included").press("ArrowRight", times=3)
    page.wait_for_new_picture(dragged)
    there = page.picture_at_rest()
    page.click("Run")
    page.wait_until(lambda: page.picture() not in (None, there), 30, "the first picture of the run")
    page.wait_until(lambda: page.progress() >= 0.6, 60, "the full model's turn")
    page.click("Stop")
    page.picture_at_rest()
    page.screenshot_around(".gplvm-explorer", screenshots / "explore_ivm.png")
    page.run_code_of_the_picture()
    assert page.error_box() == "" and page.errors() == []


def test_the_cost_of_a_pass_is_told_in_ratios_with_exponents_of_all_sizes():
    report = cost_of_a_pass(Ns=(60, 120), ds=(5, 10))
    assert report["N"] == [60, 120] and len(report["full"]) == 1 and len(report["in d"]["pass"]) == 2
    assert all(len(report[key][part]) == 2 for key in ("in N", "in d") for part in ("pass", "selection"))


# --- the papers' figures -------------------------------------------------------------------------------------


@pytest.mark.real
@pytest.mark.fuzz  # the whole experiment: `make real`
def test_oil_1000_makes_at_most_the_papers_errors_in_the_median_of_six_starts(fresh_results):
    fresh = fresh_results("ivm")
    for name, printed in (("RBF", 24), ("MLP", 14)):
        row = fresh["oil"][name]
        assert len(row["errors"]) == 6 and row["median"] == np.median(row["errors"]) <= printed, name
    assert fresh["oil"]["RBF"]["median"] < fresh["oil, as printed"]["RBF"]["median"] <= 24


def cells_by_setting(grid):
    names = ("selection", "relocate", "n_steps", "n_active", "noise")
    return {tuple(row[name] for name in names): row for row in grid}


@pytest.mark.real
def test_a_sample_of_the_stored_grid_is_found_again():
    stored = cells_by_setting(json.loads((BOOK / "results" / "ivm.json").read_text())["grid"])
    cells = [BASE, BASE | {"selection": "kmeans", "n_active": 50}]
    for row in selection_grid(load_oil_flow(), cells, draws=3):
        before = stored[tuple(row[name] for name in BASE)]
        assert_allclose(row["held_out"], before["held_out"][:3], atol=1.0)  # a fit that selects is chaotic
        assert abs(np.median(row["errors"]) - np.median(before["errors"][:3])) <= 6


@pytest.mark.real
def test_a_sample_of_the_other_stored_studies_is_found_again():
    stored, oil = json.loads((BOOK / "results" / "ivm.json").read_text()), load_oil_flow()
    fresh = cost_of_sparsity(oil, sizes=(100,), draws=1)
    for name, row in fresh.items():
        before = stored["cost of sparsity"][name]
        assert abs(row["errors"][0] - before["errors"][0]) <= 8, name
        if name != "PCA":
            assert_allclose(row["held_out"][0], before["held_out"][0], atol=0.7, err_msg=name)
            assert_allclose(row["log_likelihood"][0], before["log_likelihood"][0], rtol=0.03, err_msg=name)
    ways = ((75, 1), (3, 25))
    for name, row in same_budget(oil, ways, draws=1).items():
        assert_allclose(row["held_out"][0], stored["same budget"][name]["held_out"][0], atol=0.7, err_msg=name)
    errors = oil_errors(oil, kernels(oil.data)["RBF"], n_starts=2)["errors"]
    assert abs(np.median(errors) - stored["oil"]["RBF"]["median"]) <= 6


@pytest.mark.real
@pytest.mark.fuzz  # the whole experiment: `make real`
def test_five_steps_predict_best_and_the_rules_are_as_the_chapter_tells(fresh_results):
    cells = cells_by_setting(fresh_results("ivm")["grid"])
    density = {key: np.array(row["held_out"]) for key, row in cells.items()}
    for rule in SELECTIONS:  # which rule is ahead depends on the steps: all were tried with all
        steps = {n: np.median(density[rule, True, n, 100, 0.01]) for n in (1, 2, 5, 10, 50)}
        assert max(steps, key=steps.get) in (2, 5, 10), rule
        assert rule != "ivm" or steps[5] > max(steps[1], steps[50]) + 0.5
    for relocate, n_active in ((True, 100), (True, 50), (False, 100), (False, 50)):
        better = density["kmeans", relocate, 5, n_active, 0.01] > density["ivm", relocate, 5, n_active, 0.01]
        assert np.sum(better) >= 6
    wins = {n: np.sum(density["random", True, n, 100, 0.01] > density["ivm", True, n, 100, 0.01]) for n in (1, 10)}
    assert wins[1] >= 6 and wins[10] <= 4


@pytest.mark.real
@pytest.mark.fuzz  # the whole experiment: `make real`
def test_noise_held_mends_the_full_likelihood_of_fifty_steps_and_not_the_held_out_rows(fresh_results):
    fresh = fresh_results("ivm")
    cells, held = cells_by_setting(fresh["grid"]), fresh["fifty steps, the noise of five"]
    five, fifty = cells["ivm", True, 5, 100, 0.01], cells["ivm", True, 50, 100, 0.01]
    few, many, mended = (np.median(row["log_likelihood"]) for row in (five, fifty, held))
    assert many < 0.5 * few and mended > 0.75 * few
    few, many, mended = (np.median(row["held_out"]) for row in (five, fifty, held))
    assert max(many, mended) < few - 0.7


@pytest.mark.real
@pytest.mark.fuzz  # the whole experiment: `make real`
def test_usps_digits_make_a_third_of_pcas_errors(fresh_results):
    usps = fresh_results("ivm")["usps"]
    assert len(usps["RBF"]) == len(usps["MLP"]) == 3
    assert np.median(usps["RBF"]) <= 0.36 and np.median(usps["MLP"]) <= 0.33


@pytest.mark.real
@pytest.mark.fuzz  # the whole experiment: `make real`
def test_the_larger_active_set_is_nearer_to_the_full_model_with_the_same_prior(fresh_results):
    cost = fresh_results("ivm")["cost of sparsity"]
    learnt, held, free = (cost[f"full model, 100 steps{which}"] for which in (", width learnt", "", ", no prior"))
    rows = [*(cost[f"d = {d}"] for d in (25, 50, 100, 200)), learnt]
    for quantity in ("held_out", "log_likelihood"):
        medians = [np.median(row[quantity]) for row in rows]
        assert medians == sorted(medians)
    assert np.sum(np.array(learnt["held_out"]) > cost["d = 200"]["held_out"]) >= 8
    gap, width, prior = (
        np.median(np.subtract(learnt["log_likelihood"], row["log_likelihood"])) for row in (rows[-2], held, free)
    )
    assert 250 < gap < 700 and width > 200 and abs(prior) < 100  # a width that is held costs, the prior does not


@pytest.mark.real
@pytest.mark.fuzz  # the whole experiment: `make real`
def test_with_one_budget_of_steps_short_passes_are_as_good_and_long_ones_worse(fresh_results):
    found = {way: np.array(row["held_out"]) for way, row in fresh_results("ivm")["same budget"].items()}
    five, one, many = (found[way] for way in ("15 passes of 5", "75 passes of 1", "3 passes of 25"))
    assert abs(np.median(one - five)) < 0.5 and np.sum(many < five) >= 9
