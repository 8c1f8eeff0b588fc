"""Chapter 12: the Bayesian GP-LVM. Psi statistics, bound, gradients, the optimal phi(u), the estimator."""

import pickle
from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest
from common import awkward, common_mistakes, refused, right_answers, warnings_are_errors
from gplvm_widgets import explore_variational
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal, norm

from gplvm_edu.datasets import simulate_oil_flow
from gplvm_edu.kernels import MLP, RBF, Bias, Linear, Matern32, White
from gplvm_edu.linalg import centre
from gplvm_edu.metrics import nearest_neighbour_errors, subspace_angle
from gplvm_edu.optimise import check_gradient
from gplvm_edu.ppca import principal_axes
from gplvm_edu.starts import initial_positions
from gplvm_edu.variational import (
    BayesianGPLVM,
    Packing,
    Parameters,
    PsiStatistics,
    bound_and_gradients,
    evaluate_bound,
    factorise,
    fast,
    gaps,
    inducing_factor,
    inducing_posterior,
    initial_inducing_inputs,
    kl_divergence,
    make_map,
    output_terms,
    psi_statistics,
    variational_iterates,
)
from gplvm_edu.variational.fast import rbf_expectations
from gplvm_edu.variational.kernel_parts import ard_weights

quick = settings()  # those of the profile, tests/conftest.py
KERNELS = [
    RBF(1.3, [0.5, 2.0]),
    RBF(0.7, 0.8),
    RBF(1.3, [0.5, 2.0]) + Bias(0.4),
    Linear([0.5, 2.0]),
    Linear(0.6),
    Linear([0.5, 2.0]) + Bias(0.3),
    RBF(1.0, 1.0) + Bias(0.2) + Bias(0.1),
]
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def problem(seed=0, N=7, D=4, q=2, M=3, gaps=False, points=False):
    """Outputs and parameters of a small random problem, kernel and noise fixed."""
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((N, D)) @ np.triu(np.ones((D, D)))
    if gaps:
        Y[rng.random((N, D)) < 0.3] = np.nan
        Y[0] = rng.standard_normal(D)
    mu, Z = rng.standard_normal((N, q)), rng.standard_normal((M, q))
    S = None if points else rng.uniform(0.05, 1.5, (N, q))
    return Y, Parameters(mu, S, Z, RBF(1.3, np.linspace(0.5, 2.0, q)), 0.3)


def with_kernel(parameters, kernel):
    """The same parameters with another kernel, and as many inducing points as it has use for."""
    n_planes = 2 + isinstance(kernel, type(KERNELS[5])) if "Linear" in repr(kernel) else 3
    return parameters._replace(kernel=kernel, inducing_inputs=parameters.inducing_inputs[:n_planes])


def grid_over(mu, S):
    """Gauss-Hermite points and weights of a two-dimensional Gaussian: (3600, 2), (3600,)."""
    a, b = np.meshgrid(NODES, NODES)
    return mu + np.sqrt(S) * np.column_stack([a.ravel(), b.ravel()]), np.outer(WEIGHTS, WEIGHTS).ravel()


# --- Psi statistics ------------------------------------------------------------------------------------------


@pytest.mark.identity
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_psi_statistics_are_the_integrals_that_quadrature_finds(kernel, seed):
    _, (mu, S, Z, _, _) = problem(seed, N=4)
    psi = psi_statistics(kernel, mu, S, Z)
    Psi2 = np.zeros((3, 3))
    for n in range(4):
        X, w = grid_over(mu[n], S[n])
        K = kernel(X, Z)
        assert_allclose(psi.psi0[n], w @ kernel.diag(X), rtol=1e-9)
        assert_allclose(psi.Psi1[n], w @ K, rtol=1e-8, atol=1e-12)
        Psi2 += (w * K.T) @ K
    assert_allclose(psi.Psi2, Psi2, rtol=1e-8, atol=1e-12)


@pytest.mark.identity
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 6), st.integers(1, 4))
@quick
def test_psi2_is_the_textbook_product_over_dimensions(seed, N, M, q):
    _, (mu, S, Z, kernel, _) = problem(seed, N, q=q, M=M)
    theta, alpha = kernel.variance, kernel.inverse_width
    middle, gap = 0.5 * (Z[:, None] + Z[None]), Z[:, None] - Z[None]
    c = 2 * alpha * S[:, None, None] + 1
    terms = np.exp(-alpha * gap**2 / 4 - alpha * (mu[:, None, None] - middle) ** 2 / c) / np.sqrt(c)
    expected = theta**2 * terms.prod(axis=-1)  # (N, M, M)
    assert_allclose(psi_statistics(kernel, mu, S, Z).Psi2, expected.sum(axis=0), rtol=1e-9)
    groups = np.random.default_rng(seed).integers(0, 2, (3, N)).astype(float)
    assert_allclose(
        fast.psi_statistics(kernel, mu, S, Z, groups).Psi2, np.tensordot(groups, expected, 1), rtol=1e-9, atol=1e-14
    )


@pytest.mark.identity
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_without_variance_the_statistics_are_the_kernel_itself(kernel):
    _, (mu, _, Z, _, _) = problem(1)
    sharp, point = psi_statistics(kernel, mu, np.full(mu.shape, 1e-13), Z), psi_statistics(kernel, mu, None, Z)
    K = kernel(mu, Z)
    for psi in (sharp, point):
        assert_allclose(psi.psi0, kernel.diag(mu), rtol=1e-9)
        assert_allclose(psi.Psi1, K, rtol=1e-9)
        assert_allclose(psi.Psi2, K.T @ K, rtol=1e-9)


@pytest.mark.identity
@given(st.integers(0, 10**6), st.sampled_from([RBF(1.3, [0.5, 2.0]), RBF(1.0, 1.0) + Bias(0.3)]))
@quick
def test_psi2_minus_the_outer_product_of_psi1_is_a_covariance(seed, kernel):
    _, (mu, S, Z, _, _) = problem(seed, N=1)
    psi = psi_statistics(kernel, mu, S, Z)
    smallest = np.linalg.eigvalsh(psi.Psi2 - np.outer(psi.Psi1[0], psi.Psi1[0])).min()
    assert smallest > -1e-12


@pytest.mark.identity
def test_statistics_of_points_far_from_the_origin_lose_nothing():
    _, (mu, S, Z, kernel, _) = problem(2)
    here, there = psi_statistics(kernel, mu, S, Z), psi_statistics(kernel, mu + 1e6, S, Z + 1e6)
    assert_allclose(there.Psi2, here.Psi2, rtol=1e-7)
    assert_allclose(there.Psi1, here.Psi1, rtol=1e-7)


@pytest.mark.identity
@pytest.mark.parametrize("with_gaps", [False, True])
def test_blocks_and_their_memory_do_not_change_value_or_gradient(monkeypatch, with_gaps):
    Y, parameters = problem(3, N=50, gaps=with_gaps)
    outputs = fast.group_outputs(Y)
    terms, gradients = fast.bound_and_gradients(outputs, parameters)
    monkeypatch.setattr(rbf_expectations, "BLOCK_ROWS", 7)
    monkeypatch.setattr(rbf_expectations, "BACK_ROWS", 5)
    monkeypatch.setattr(rbf_expectations, "KEPT_NUMBERS", 0)
    again, same = fast.bound_and_gradients(outputs, parameters)
    assert_allclose(again, terms, rtol=1e-10)
    for a, b in zip(gradients, same, strict=True):
        assert_allclose(a, b, rtol=1e-8, atol=1e-10)


# --- the bound -----------------------------------------------------------------------------------------------


def brute_force(y, kernel, noise, n_nodes=200):
    """ln of the integral of N(y | 0, K(X) + noise) over X ~ N(0, I), q = 1, by quadrature over all N points."""
    x, w = np.polynomial.hermite_e.hermegauss(n_nodes if len(y) == 2 else 60)
    w = w / w.sum()
    total = 0.0
    for place in product(range(len(x)), repeat=len(y) - 1):
        X = np.column_stack([np.full(len(x), x[i]) for i in place] + [x])  # (n, N)
        K = kernel.variance * np.exp(-0.5 * kernel.inverse_width * (X[:, :, None] - X[:, None]) ** 2)
        K = K + noise * np.eye(len(y))
        misfit = np.sum(y * np.linalg.solve(K, np.broadcast_to(y[:, None], (len(x), len(y), 1)))[:, :, 0], axis=1)
        density = np.exp(-0.5 * (np.linalg.slogdet(2 * np.pi * K)[1] + misfit))
        total += np.prod(w[list(place)]) * (w @ density)
    return np.log(total)


@pytest.mark.identity
@pytest.mark.parametrize("y", [[0.6, -0.9], [1.0, 0.7, -0.8]], ids=["N=2", "N=3"])
def test_the_bound_is_below_the_exact_marginal_likelihood(y):
    y = np.array(y)
    exact = brute_force(y, RBF(1.0, 1.0), 0.3)
    rng, N = np.random.default_rng(0), len(y)
    values = []
    for _ in range(200):
        mu, S = rng.standard_normal((N, 1)), rng.uniform(0.05, 1.5, (N, 1))
        parameters = Parameters(mu, S, rng.standard_normal((N, 1)), RBF(1.0, 1.0), 0.3)
        values.append(evaluate_bound(y[:, None], parameters, 1e-10).terms.elbo)
    assert max(values) < exact
    start = Parameters(y[:, None], np.full((N, 1), 0.5), y[:, None], RBF(1.0, 1.0), 0.3)

    def only_q(x):
        parameters = start._replace(
            latent_mean=x[:N, None], latent_variance=np.exp(x[N : 2 * N, None]), inducing_inputs=x[2 * N :, None]
        )
        terms, g = bound_and_gradients(y[:, None], parameters, 1e-8)
        in_logs = parameters.latent_variance * g.latent_variance
        return -terms.elbo, -np.concatenate([g.latent_mean, in_logs, g.inducing_inputs]).ravel()

    from gplvm_edu.optimise import minimise

    *_, best = minimise(only_q, np.concatenate([y, np.full(N, np.log(0.5)), y]), "l-bfgs", 300)
    assert max(values) - 1e-6 < -best.value < exact  # the best q is still below


@pytest.mark.identity
@pytest.mark.parametrize("kernel", KERNELS[:2], ids=repr)
def test_with_known_points_as_inducing_points_the_bound_is_the_exact_likelihood(kernel):
    Y, (mu, _, _, _, noise) = problem(4)
    parameters = Parameters(mu, None, mu, kernel, noise)
    exact = multivariate_normal(cov=kernel(mu) + noise * np.eye(7)).logpdf(Y.T).sum()
    terms = evaluate_bound(Y, parameters, 1e-10).terms
    assert_allclose(terms.elbo, exact, rtol=1e-6)
    assert abs(terms.trace) < 1e-5 and terms.kl == 0.0
    fewer = evaluate_bound(Y, parameters._replace(inducing_inputs=mu[:3])).terms
    assert fewer.elbo < exact and fewer.trace > 0


@pytest.mark.identity
def test_more_inducing_points_never_lower_the_bound():
    Y, parameters = problem(5, N=12)
    Z = np.random.default_rng(6).standard_normal((10, 2))
    values = [evaluate_bound(Y, parameters._replace(inducing_inputs=Z[:m]), 1e-10).terms.elbo for m in range(1, 11)]
    assert all(b > a - 1e-7 for a, b in pairwise(values))


@pytest.mark.identity
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_stable_form_is_the_printed_equation_summed_over_outputs(kernel):
    Y, parameters = problem(7)
    mu, S, Z, _, noise = with_kernel(parameters, kernel)
    psi = psi_statistics(kernel, mu, S, Z)
    (N, D), beta, Psi1, Psi2, K = Y.shape, 1 / noise, psi.Psi1, psi.Psi2, kernel(Z)
    P = K + beta * Psi2
    W = beta * np.eye(N) - beta**2 * Psi1 @ np.linalg.solve(P, Psi1.T)
    printed = 0.0
    for y in Y.T:  # equation (14) of the paper
        printed += 0.5 * (
            N * np.log(beta / (2 * np.pi))
            + np.linalg.slogdet(K)[1]
            - np.linalg.slogdet(P)[1]
            - y @ W @ y
            - beta * psi.psi0.sum()
            + beta * np.trace(np.linalg.solve(K, Psi2))
        )
    terms = evaluate_bound(Y, Parameters(mu, S, Z, kernel, noise), 1e-14).terms
    assert_allclose(terms.elbo, printed - kl_divergence(mu, S), rtol=1e-8)
    once = terms.fit - terms.trace / D - terms.kl  # the trap: looks like a better bound
    assert once > terms.elbo


@pytest.mark.identity
def test_kl_is_the_expected_log_ratio():
    rng = np.random.default_rng(8)
    mu, S = rng.standard_normal((3, 2)), rng.uniform(0.1, 2.0, (3, 2))
    x = mu[..., None] + np.sqrt(S)[..., None] * NODES
    ratio = norm(mu[..., None], np.sqrt(S)[..., None]).logpdf(x) - norm.logpdf(x)
    assert_allclose(kl_divergence(mu, S), np.sum(ratio @ WEIGHTS), rtol=1e-10)
    assert kl_divergence(np.zeros((4, 2)), np.ones((4, 2))) == 0.0


@pytest.mark.identity
def test_phi_is_exp_of_the_expected_log_and_the_bound_is_its_integral():
    Y, (mu, S, Z, kernel, noise) = problem(9, N=5, D=1, M=2)
    y, beta = Y[:, 0], 1 / noise
    psi = psi_statistics(kernel, mu, S, Z)
    L, _ = inducing_factor(kernel(Z), 1e-12)
    factors = factorise(L, psi, Y, beta)
    mean, covariance = inducing_posterior(factors)
    side = np.linspace(-8, 8, 801)
    u = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    a = np.linalg.solve(kernel(Z), u.T)  # alpha = K_NM K^-1 u
    quadratic = y @ y - 2 * (y @ psi.Psi1) @ a + np.sum(a * (psi.Psi2 @ a), axis=0)
    expected_log = 2.5 * np.log(beta / (2 * np.pi)) - 0.5 * beta * quadratic
    unnormalised = np.exp(expected_log) * multivariate_normal(cov=kernel(Z)).pdf(u)
    cell = (side[1] - side[0]) ** 2
    Z_norm = unnormalised.sum() * cell
    fit, _ = output_terms(Y, psi, factors)
    trace = np.trace(np.linalg.solve(kernel(Z), psi.Psi2))
    assert_allclose(np.log(Z_norm), fit, rtol=1e-6)  # fit is ln of the integral
    phi = unnormalised / Z_norm
    assert_allclose(mean[:, 0], cell * phi @ u, rtol=1e-5)
    assert_allclose(covariance, cell * (phi * (u - mean[:, 0]).T) @ (u - mean[:, 0]), rtol=1e-4)
    assert expected_log[np.argmax(phi)] < 0  # so <log N> p, as printed, is negative
    assert_allclose(output_terms(Y, psi, factors)[1], 0.5 * beta * (psi.psi0.sum() - trace), rtol=1e-8)


@pytest.mark.identity
@given(st.integers(0, 10**6), st.floats(-6, 6))
@quick
def test_another_unit_moves_the_bound_by_a_constant(seed, exponent):
    Y, (mu, S, Z, kernel, noise) = problem(seed)
    c = 10.0**exponent
    here = evaluate_bound(Y, Parameters(mu, S, Z, kernel, noise)).terms.elbo
    there = evaluate_bound(c * Y, Parameters(mu, S, Z, c**2 * kernel, c**2 * noise)).terms.elbo
    assert_allclose(there, here - Y.size * np.log(c), rtol=1e-8, atol=1e-6)


@pytest.mark.identity
def test_more_columns_than_rows_are_seen_through_their_products_alone():
    Y, parameters = problem(10, N=6, D=30)
    outputs = fast.group_outputs(Y)
    assert outputs.groups[0].Y.shape == (6, 6) and outputs.groups[0].n_outputs == 30
    terms = fast.evaluate_bound(outputs, parameters).terms
    by_column = sum(evaluate_bound(Y[:, [d]], parameters).terms.fit for d in range(30))
    assert_allclose(terms.fit, by_column, rtol=1e-9)


@pytest.mark.identity
@given(st.integers(0, 10**6))
@quick
def test_with_gaps_every_column_has_the_bound_of_its_own_rows(seed):
    Y, parameters = problem(seed, gaps=True)
    mu, S, Z, kernel, noise = parameters
    total, d_Z, d_mu = -kl_divergence(mu, S), np.zeros_like(Z), -mu
    for y in Y.T:
        rows = ~np.isnan(y)
        alone = Parameters(mu[rows], S[rows], Z, kernel, noise)
        terms, d = bound_and_gradients(y[rows, None], alone)
        total += terms.fit - terms.trace
        d_Z, d_mu[rows] = d_Z + d.inducing_inputs, d_mu[rows] + d.latent_mean + mu[rows]
    quickly = fast.bound_and_gradients(fast.group_outputs(Y), parameters)
    for terms, d in (gaps.bound_and_gradients(Y, parameters), quickly):
        assert_allclose(terms.elbo, total, rtol=1e-9)
        assert_allclose(d.inducing_inputs, d_Z, rtol=1e-7, atol=1e-8)
        assert_allclose(d.latent_mean, d_mu, rtol=1e-7, atol=1e-8)


@pytest.mark.identity
@given(st.integers(0, 10**6), st.sampled_from(range(len(KERNELS))), st.booleans())
@quick
def test_the_wrapper_for_gaps_is_the_fast_bound_and_on_complete_data_the_plain_one(seed, which, points):
    for with_gaps, other in ((True, None), (False, bound_and_gradients)):
        Y, parameters = problem(seed, gaps=with_gaps, points=points)
        parameters = with_kernel(parameters, KERNELS[which])
        found = gaps.bound_and_gradients(Y, parameters, 1e-4)
        ours = (other or (lambda Y, *rest: fast.bound_and_gradients(fast.group_outputs(Y), *rest)))(Y, parameters, 1e-4)
        assert_allclose(found[0], ours[0], rtol=1e-9)
        for one, two in zip(found[1], ours[1], strict=True):
            assert_allclose(one, two, rtol=1e-7, atol=1e-8 * (1 + np.max(np.abs(two))))


# --- gradients -----------------------------------------------------------------------------------------------


@pytest.mark.gradient
@given(st.integers(0, 10**6), st.sampled_from(range(len(KERNELS))), st.booleans(), st.booleans())
@quick
def test_gradients_in_everything(seed, which, with_gaps, points):
    Y, parameters = problem(seed, gaps=with_gaps, points=points)
    parameters = with_kernel(parameters, KERNELS[which])
    outputs, packing = fast.group_outputs(Y), Packing(parameters, 1e-8)

    def objective(x):
        here = packing.unpack(x)
        terms, gradients = fast.bound_and_gradients(outputs, here, 1e-4)
        return terms.elbo, packing.pull_back(here, gradients)

    assert check_gradient(objective, packing.pack(parameters)) < 1e-6


@pytest.mark.gradient
@pytest.mark.parametrize("kernel", [MLP(1.0, 2.0, 3.0), Matern32(1.0, 0.5) * RBF(1.0, 0.2)], ids=repr)
def test_points_take_any_kernel(kernel):
    Y, parameters = problem(11, points=True)
    parameters = parameters._replace(kernel=kernel)
    outputs, packing = fast.group_outputs(Y), Packing(parameters, 1e-8)

    def objective(x):
        here = packing.unpack(x)
        terms, gradients = fast.bound_and_gradients(outputs, here)
        return terms.elbo, packing.pull_back(here, gradients)

    assert check_gradient(objective, packing.pack(parameters)) < 1e-6


def test_a_point_model_with_an_mlp_kernel_weighs_all_dimensions_alike():
    model = BayesianGPLVM(2, 8, kernel=MLP(), latent="point", max_iter=5, random_state=0).fit(GOOD)
    assert_allclose(model.relevance_, 1.0)
    assert len(model.active_dims_) == 2


@pytest.mark.gradient
@pytest.mark.parametrize("large", [1e3, 1e4])
def test_the_gradient_of_the_variance_survives_a_large_variance(large):
    Y = centre(simulate_oil_flow(200, random_state=0).data)[0]
    X = initial_positions(Y, 3, "pca", np.random.RandomState(0))
    v, alpha = large * Y.var(), np.full(3, 0.05)
    start = Parameters(X, np.full(X.shape, 0.1), X[:30], RBF(v, alpha), 1e-4 * Y.var())

    def bound(c):
        return evaluate_bound(Y, start._replace(kernel=RBF(c * v, alpha))).terms.elbo

    # The bound is linear in so large a variance, and its own rounding spoils a difference: single slopes were off by
    # 0.015, once 0.11, with the kernels of OpenBLAS for three processors, their median by 0.006.
    slopes = [(bound(1 + h) - bound(1 - h)) / (2 * h) for h in (0.1, 0.3, 0.5, 0.7, 0.9)]
    gradient = bound_and_gradients(Y, start)[1].kernel[0]
    assert_allclose(gradient * v, np.median(slopes), rtol=1e-2)


@pytest.mark.identity
def test_a_step_far_too_long_still_has_a_kernel():
    start = Parameters(np.zeros((3, 2)), np.ones((3, 2)), np.zeros((2, 2)), RBF(1.0, np.ones(2)), 0.1)
    packing = Packing(start, 1e-8)
    x = packing.pack(start)
    for far in (
        -1e4,
        -160.0,
        1e4,
        1e300,
    ):  # lengths down to 1e-70 have inverse widths of 1e140, beyond what kernels take
        x[-4:] = far
        assert np.all(np.isfinite(packing.unpack(x).kernel.parameters))


@pytest.mark.identity
def test_packing_goes_there_and_back():
    for points in (False, True):
        _, parameters = problem(12, points=points)
        packing = Packing(parameters, 1e-8)
        back = packing.unpack(packing.pack(parameters))
        for a, b in zip(parameters, back, strict=True):
            if isinstance(a, RBF):
                a, b = a.parameters, b.parameters
            if a is not None:
                assert_allclose(a, b, rtol=1e-12)


# --- the linear kernel is Bayesian PCA -----------------------------------------------------------------------


def bayesian_pca_bound(Y, mu, S, a, noise, max_iter=200):
    """Mean-field bound of y = W x + noise, W_dq ~ N(0, a_q), with q(X) given and q(W) = N(M, C) at its best."""
    (N, D), beta = Y.shape, 1 / noise
    second = mu.T @ mu + np.diag(S.sum(axis=0))
    C = np.linalg.inv(np.diag(1 / a) + beta * second)  # the same for every row of W
    M = beta * Y.T @ mu @ C
    expected_log = 0.5 * N * D * np.log(beta / (2 * np.pi)) - 0.5 * beta * (
        np.sum(Y**2) - 2 * np.sum((Y.T @ mu) * M) + np.trace((M.T @ M + D * C) @ second)
    )
    kl_W = 0.5 * (np.sum(M**2 / a) + D * (np.sum(np.diag(C) / a + np.log(a) - 1) - np.linalg.slogdet(C)[1]))
    return expected_log - kl_W - kl_divergence(mu, S)


@pytest.mark.identity
@given(st.integers(0, 10**6), st.integers(2, 9), st.integers(1, 5))
@quick
def test_with_a_linear_kernel_the_bound_is_that_of_variational_bayesian_pca(seed, N, D):
    Y, parameters = problem(seed, N, D, M=2)
    a = np.array([0.5, 2.0])
    here = parameters._replace(kernel=Linear(a), inducing_inputs=np.eye(2))
    terms = evaluate_bound(Y, here, 1e-12).terms
    assert_allclose(terms.elbo, bayesian_pca_bound(Y, here.latent_mean, here.latent_variance, a, 0.3), rtol=1e-8)
    assert abs(terms.trace) < 1e-6 * (1 + abs(terms.fit))  # two points fix a plane
    elsewhere = here._replace(inducing_inputs=np.array([[1.0, 1.0], [-0.5, 2.0]]))
    assert_allclose(evaluate_bound(Y, elsewhere, 1e-12).terms.elbo, terms.elbo, rtol=1e-7)


@pytest.mark.identity
def test_bayesian_pca_finds_the_number_of_dimensions_and_the_principal_subspace():
    rng = np.random.default_rng(0)
    W = rng.standard_normal((8, 2)) * [3.0, 2.0]
    Y = rng.standard_normal((150, 2)) @ W.T + 0.3 * rng.standard_normal((150, 8))
    model = BayesianGPLVM(6, kernel=Linear(), max_iter=500).fit(Y)
    assert len(model.active_dims_) == 2 and model.n_inducing_ == 6
    scores = centre(Y)[0] @ principal_axes(centre(Y)[0])[1][:, :2]
    assert subspace_angle(scores, model.latent_mean_[:, model.active_dims_]) < 0.02
    assert abs(model.noise_variance_ - 0.09) < 0.02


@pytest.mark.identity
def test_more_inducing_points_than_planes_have_leave_a_singular_matrix():
    Z = np.random.default_rng(0).standard_normal((5, 2))
    assert np.linalg.matrix_rank(Linear([0.5, 2.0])(Z)) == 2
    assert BayesianGPLVM(2, 40, kernel=Linear() + Bias(), max_iter=3).fit(GOOD).n_inducing_ == 3


# --- the estimator -------------------------------------------------------------------------------------------

GOOD = np.random.default_rng(0).standard_normal((20, 5))


@pytest.mark.parametrize(
    "model",
    [
        BayesianGPLVM(3, 10, max_iter=30, random_state=0),
        BayesianGPLVM(2, 8, latent="point", max_iter=30, random_state=0),
        BayesianGPLVM(3, 10, kernel=RBF() + Bias(0.1) + White(0.1), optimiser="scg", max_iter=30, random_state=0),
    ],
    ids=repr,
)
def test_the_history_climbs_and_the_attributes_belong_to_its_end(model):
    Y = simulate_oil_flow(50, random_state=0).data
    model.fit(Y)
    assert np.all(np.diff(model.history_) >= -1e-9)
    assert_allclose(model.history_[-1], model.bound_, rtol=1e-12)
    assert_allclose(model.bound_terms_.elbo, model.bound_, rtol=1e-12)
    m = model.map_
    again = Parameters(model.latent_mean_, m.latent_variance, model.inducing_inputs_, m.kernel, m.noise_variance)
    assert_allclose(evaluate_bound(Y - model.mean_, again).terms.elbo, model.bound_, rtol=1e-8)
    assert_allclose(model.kernel_["white"].variance, model.noise_variance_)
    assert model.relevance_.shape == (model.n_components,) and np.all(model.latent_variance_ >= 0)
    assert model.jitter_ == 1e-6 and model.embedding_ is model.latent_mean_


def test_the_map_holds_what_prediction_needs_and_can_be_pickled():
    Y = simulate_oil_flow(40, random_state=0).data
    Y[3, 2] = Y[7, 2] = Y[9, 5] = np.nan
    model = pickle.loads(pickle.dumps(BayesianGPLVM(3, 10, max_iter=20, random_state=0).fit(Y)))
    m = model.map_
    assert m.group.shape == (12,) and sorted(set(m.group)) == [0, 1, 2] and len(m.factors) == 3
    for g, f in enumerate(m.factors):
        columns = np.flatnonzero(m.group == g)
        rows = ~np.isnan(Y[:, columns[0]])
        psi = psi_statistics(m.kernel, model.latent_mean_[rows], model.latent_variance_[rows], m.centres)
        assert_allclose(f.L @ f.A @ f.L.T / m.beta, psi.Psi2, rtol=1e-8)
        Psi1_Y = psi.Psi1.T @ (Y - model.mean_)[rows][:, columns]
        assert_allclose(np.linalg.solve(f.R, f.C) / m.beta, Psi1_Y, rtol=1e-7, atol=1e-9)
        assert_allclose(np.linalg.solve(f.R.T @ f.R, m.weights[:, columns]), m.beta * Psi1_Y, rtol=1e-6, atol=1e-6)
    wide = np.random.default_rng(0).standard_normal((6, 20))
    assert make_map(wide, problem(0, N=6)[1]).weights.shape == (3, 20)


@pytest.mark.identity
@pytest.mark.parametrize("latent", ["gaussian", "point"])
def test_fitted_values_are_the_expected_data_under_the_posterior(latent):
    Y = simulate_oil_flow(40, random_state=0).data
    Y[3, 2] = Y[7, 2] = Y[9, 5] = np.nan
    model = BayesianGPLVM(3, 10, latent=latent, max_iter=20, random_state=0).fit(Y)
    m = model.map_
    Psi1 = psi_statistics(m.kernel, m.latent_mean, m.latent_variance, m.centres).Psi1
    # an expected value near 0 is a sum of terms of the size of the data, and has their rounding
    assert_allclose(model.fitted_values(), Psi1 @ m.weights + model.mean_, rtol=1e-10, atol=1e-13)
    if latent == "point":
        assert_allclose(model.inverse_transform(model.embedding_), model.fitted_values(), rtol=1e-9)


def test_the_kernel_passed_in_is_not_changed():
    kernel = RBF(1.0, 1.0) + White(0.1)
    model = BayesianGPLVM(3, 10, kernel=kernel, max_iter=5).fit(GOOD)
    assert kernel == RBF(1.0, 1.0) + White(0.1) and np.ndim(kernel["rbf"].inverse_width) == 0
    assert np.shape(model.kernel_["rbf"].inverse_width) == (3,)


@pytest.mark.identity
@pytest.mark.parametrize("factor", [1e-5, 1e5])
def test_the_fit_does_not_depend_on_the_unit(factor):
    Y = simulate_oil_flow(40, random_state=0).data
    one = BayesianGPLVM(3, 10, max_iter=10, random_state=0).fit(Y)
    other = BayesianGPLVM(3, 10, max_iter=10, random_state=0).fit(factor * Y)
    assert_allclose(other.bound_, one.bound_ - Y.size * np.log(factor), rtol=1e-5)
    assert_allclose(other.latent_mean_, one.latent_mean_, atol=1e-3)
    assert_allclose(other.noise_variance_, factor**2 * one.noise_variance_, rtol=1e-2)


# --- the order of the latent dimensions ------------------------------------------------------------------------
SHAPES = {
    "RBF": lambda w: (RBF(1.3, w), "gaussian"),
    "Linear + Bias": lambda w: (Linear(w) + Bias(0.4), "gaussian"),
    "points": lambda w: (RBF(1.3, w), "point"),
    "points, a product": lambda w: (RBF(1.3, w) * Matern32(1.0, w[::-1]), "point"),
}


def columns_in_order(model, order):
    """Everything with a column for each latent dimension, as Parameters in another order, written out by hand."""
    now = model.map_
    variance = None if now.latent_variance is None else now.latent_variance[:, order]
    kernel = now.kernel.copy()
    for part in getattr(kernel, "parts", [kernel]):
        for name in ("inverse_width", "variance"):
            if np.ndim(getattr(part, name, 0.0)) == 1:
                setattr(part, name, getattr(part, name)[order])
    return Parameters(now.latent_mean[:, order], variance, now.centres[:, order], kernel, now.noise_variance)


@pytest.mark.identity
@pytest.mark.parametrize("shape", SHAPES)
@given(seed=st.integers(0, 10**6), with_gaps=st.booleans())
@settings(max_examples=5, deadline=None)
def test_latent_dimensions_in_another_order_are_the_same_model(shape, seed, with_gaps):
    """Bound, predictions and densities of permuted parameters; no function but the map's own knows of an order."""
    rng, q = np.random.default_rng(seed), 3
    Y = rng.standard_normal((14, 4)) + np.arange(4)
    if with_gaps:
        Y[rng.integers(14, size=3), rng.integers(4, size=3)] = np.nan
    kernel, latent = SHAPES[shape](rng.permutation([0.2, 1.0, 3.0]))
    model = BayesianGPLVM(q, 5, kernel=kernel, latent=latent, max_iter=3, random_state=0).fit(Y)
    order = rng.permutation(q)
    other = make_map(model.rows_ - model.mean_, columns_in_order(model, order), model.jitter, model.mean_)
    outputs = fast.group_outputs(model.rows_ - model.mean_)
    bounds = [
        fast.evaluate_bound(outputs, columns_in_order(model, columns), model.jitter).terms.elbo
        for columns in (np.arange(q), order)
    ]
    assert_allclose(bounds[1], bounds[0], rtol=1e-9)
    X, new = model.embedding_ + 0.1, np.nan_to_num(Y[:4])
    for one, two in zip(model.map_.moments(X), other.moments(X[:, order]), strict=True):
        assert_allclose(two, one, rtol=1e-6, atol=1e-8)
    assert_allclose(other.jacobian(X[:, order]), model.jacobian(X)[:, :, order], rtol=1e-6, atol=1e-8)
    sorted_again = pickle.loads(pickle.dumps(model)).set_parameters(columns_in_order(model, order))
    assert_allclose(sorted_again.relevance_, model.relevance_)
    assert_allclose(sorted_again.latent_mean_, model.latent_mean_)
    assert_allclose(sorted_again.inducing_inputs_, model.inducing_inputs_)
    assert_allclose(sorted_again.kernel_.theta, model.kernel_.theta)
    assert_allclose(sorted_again.score_samples(new), model.score_samples(new), rtol=1e-6, atol=1e-6)


@pytest.mark.identity
@pytest.mark.parametrize("shape", SHAPES)
def test_the_first_columns_of_a_fitted_model_are_those_that_count(shape):
    rng = np.random.default_rng(0)
    t = rng.uniform(-1, 1, (60, 1))
    Y = np.hstack([np.cos(2 * t), np.sin(2 * t), t]) + 0.03 * rng.standard_normal((60, 3))
    kernel, latent = SHAPES[shape](np.array([0.01, 0.1, 1.0]))
    start = initial_positions(centre(Y)[0], 3, "pca", None)[:, ::-1]  # in the wrong order
    model = BayesianGPLVM(3, 10, kernel=kernel, latent=latent, init=start, max_iter=30, random_state=0)
    *_, last = model.iterates(Y)
    weights = ard_weights(last.parameters.kernel, 3)
    order = np.argsort(-weights)
    assert order[0] != 0 and np.all(np.diff(model.relevance_) <= 0)
    assert_allclose(model.relevance_, weights[order], rtol=1e-12)
    assert_allclose(model.embedding_, last.X[:, order], rtol=1e-12)
    assert_allclose(model.inducing_inputs_, last.parameters.inducing_inputs[:, order], rtol=1e-12)
    if latent == "gaussian":
        assert_allclose(model.latent_variance_, last.parameters.latent_variance[:, order], rtol=1e-12)
    assert model.active_dims_.tolist() == list(range(len(model.active_dims_)))
    assert len(model.active_dims_) == np.sum(weights > 0.01 * weights.max())
    assert_allclose(model.bound_, model.history_[-1], rtol=1e-12)


def test_weights_that_are_equal_stay_in_the_order_of_the_start_and_states_always_do():
    oil = simulate_oil_flow(40, random_state=0)
    start = np.random.default_rng(0).standard_normal((40, 4))
    model = BayesianGPLVM(4, 10, init=start, max_iter=0).fit(oil.data)
    assert_allclose(model.embedding_, start, rtol=1e-12)
    first, *_ = BayesianGPLVM(4, 10, init=start, kernel=RBF(1.0, [1.0, 2.0, 3.0, 4.0]), max_iter=3).iterates(oil.data)
    assert_allclose(first.X, start, rtol=1e-12)
    unequal = BayesianGPLVM(4, 10, init=start, kernel=RBF(1.0, [1.0, 2.0, 3.0, 4.0]), max_iter=0).fit(oil.data)
    assert_allclose(unequal.embedding_, start[:, ::-1], rtol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_dimensions_that_the_data_do_not_need_are_switched_off(seed):
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1, 1, (120, 1))
    curve = np.hstack([np.cos(2 * t), np.sin(2 * t), t, t**2]) + 0.03 * rng.standard_normal((120, 4))
    model = BayesianGPLVM(4, 20, max_iter=2000, random_state=0).fit(curve)
    best = model.active_dims_[0]
    assert len(model.active_dims_) <= 2
    assert abs(np.corrcoef(model.latent_mean_[:, best], t[:, 0])[0, 1]) > 0.95
    off = np.setdiff1d(np.arange(4), model.active_dims_)
    assert_allclose(model.latent_variance_[:, off].mean(axis=0), 1.0, atol=0.05)  # back at the prior
    assert np.abs(model.latent_mean_[:, off]).max() < 0.2


def test_iterates_can_be_stopped():
    Y, parameters = problem(13, N=20)
    states = variational_iterates(partial(bound_and_gradients, Y), parameters, max_iter=50)
    values = [next(states).value for _ in range(4)]
    states.close()
    assert np.all(np.diff(values) > 0)


def test_fit_transform_gives_the_latent_means():
    model = BayesianGPLVM(2, 5, max_iter=3, random_state=0)
    assert_allclose(model.fit_transform(GOOD), model.latent_mean_)


@pytest.mark.parametrize(
    "seed",
    [None, 3, np.random.RandomState(3), np.random.default_rng(3), np.int64(3)],
    ids=lambda seed: type(seed).__name__,
)
def test_inducing_inputs_start_at_latent_means_whatever_draws_them(seed):
    X = np.arange(12.0).reshape(6, 2)
    Z = initial_inducing_inputs(X, 4, RBF(), seed)
    assert Z.shape == (4, 2) and len(np.unique(Z[:, 0])) == 4 and np.isin(Z[:, 0], X[:, 0]).all()
    with pytest.raises(ValueError, match="random_state must be"):
        initial_inducing_inputs(X, 4, RBF(), "dice")


@pytest.mark.filterwarnings("ignore:BayesianGPLVM found no signal")  # some of these tables are noise to this kernel
@warnings_are_errors
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.long
def test_random_fits_end_finite_and_no_worse_than_they_began(seed):
    rng = np.random.default_rng(seed)
    N, D = rng.integers(2, 41), rng.integers(1, 50)
    Y = awkward(rng, N, D)
    if rng.random() < 0.4:
        Y[1:][rng.random((N - 1, D)) < 0.4] = np.nan  # gaps
    kernel = [None, Linear() + Bias(), RBF() + Bias(0.1)][seed % 3]
    model = BayesianGPLVM(
        rng.integers(1, 6),
        8,
        kernel=kernel,
        latent=["gaussian", "point"][seed % 2],
        max_iter=15,
        optimiser=["l-bfgs", "scg"][seed // 2 % 2],
        random_state=seed,
    ).fit(Y)
    assert np.isfinite(model.latent_mean_).all() and np.isfinite(model.kernel_.parameters).all()
    assert np.isfinite(model.history_).all() and model.history_[-1] >= model.history_[0]


# --- bad input -----------------------------------------------------------------------------------------------

test_bad_parameters_get_a_clear_error = refused(
    [
        (BayesianGPLVM(kernel="rbf"), "must be a kernel of gplvm_edu.kernels"),
        (BayesianGPLVM(init="magic"), "no init"),
        (BayesianGPLVM(latent="none"), "latent must be"),
        (BayesianGPLVM(optimiser="adam"), "optimiser must be one of"),
        (BayesianGPLVM(0), "whole number"),
        (BayesianGPLVM(2.5), "whole number"),
        (BayesianGPLVM(n_inducing=0), "n_inducing"),
        (BayesianGPLVM(jitter=np.nan), "jitter"),
        (BayesianGPLVM(initial_variance=0.0), "initial_variance"),
        (BayesianGPLVM(kernel=MLP()), 'latent="point"'),
        (BayesianGPLVM(kernel=RBF() + Linear()), "one RBF or one Linear"),
        (BayesianGPLVM(kernel=Bias() + White()), "does not look at the latent points"),
        (BayesianGPLVM(2, kernel=RBF(1.0, [1.0, 1.0, 1.0])), "3 entries"),
        (BayesianGPLVM(max_iter=-1), "max_iter"),
    ],
    GOOD,
)


@pytest.mark.bad_input
def test_bad_data_gets_a_clear_error():
    empty = np.where(np.arange(5) == 3, np.nan, GOOD)
    for Y, says in [
        (GOOD[0], "Expected 2D"),
        (empty, "Column 3 of Y has no observed value"),
        (GOOD[:1], "1 sample"),
        (np.where(GOOD > 2, np.inf, GOOD), "inf"),
        ([["a", "b"]] * 5, "could not convert"),
    ]:
        with pytest.raises(ValueError, match=says):
            BayesianGPLVM().fit(Y)


@pytest.mark.bad_input
def test_a_row_that_was_never_observed_goes_back_to_the_prior():
    Y = simulate_oil_flow(40, random_state=0).data
    Y[5] = np.nan
    model = BayesianGPLVM(2, 10, max_iter=30, random_state=0).fit(Y)
    assert_allclose(model.latent_mean_[5], 0.0, atol=1e-9)
    assert_allclose(model.latent_variance_[5], 1.0, atol=1e-9)
    m, keep = model.map_, np.arange(40) != 5  # the row adds nothing to the bound
    again = Parameters(model.latent_mean_[keep], model.latent_variance_[keep], m.centres, m.kernel, m.noise_variance)
    assert_allclose(evaluate_bound((Y - model.mean_)[keep], again).terms.elbo, model.bound_, rtol=1e-8)


@pytest.mark.bad_input
def test_columns_without_variance_are_harmless():
    Y = simulate_oil_flow(40, random_state=0).data
    flat = np.column_stack([Y, np.full(40, 3.0)])
    assert np.isfinite(BayesianGPLVM(2, 10, max_iter=20).fit(flat).bound_)
    assert np.isfinite(BayesianGPLVM(2, 10, max_iter=20).fit(np.full((10, 3), 7.0)).bound_)


def test_gaps_are_filled_in_from_the_rest():
    oil = simulate_oil_flow(60, random_state=0)
    gappy = oil.data.copy()
    gappy[np.random.default_rng(0).random(gappy.shape) < 0.2] = np.nan
    whole = BayesianGPLVM(3, 15, max_iter=100, random_state=0).fit(oil.data)
    holes = BayesianGPLVM(3, 15, max_iter=100, random_state=0).fit(gappy)
    assert np.isfinite(holes.bound_) and holes.latent_variance_.mean() > whole.latent_variance_.mean()
    assert nearest_neighbour_errors(holes.latent_mean_ * np.sqrt(holes.relevance_), oil.target) <= 12


# --- the papers' figures -------------------------------------------------------------------------------------


@pytest.mark.real
def test_values_at_the_common_start_are_those_of_other_libraries():
    from gplvm_edu.datasets import load_oil_flow
    from gplvm_edu.papers.variational import values_at_the_common_start

    found = values_at_the_common_start(load_oil_flow().data)
    assert_allclose([found["without"], found["1e-8"], found["1e-6"]], [-47984.102, -47984.486, -48022.073], atol=2e-3)


@pytest.mark.real
def test_oil_1000_reaches_more_than_the_peers_from_each_of_three_seeds(fresh_results):
    rows = fresh_results("variational")["oil, 1000 points"]
    for seed in range(3):
        row = rows[f"seed {seed}"]
        assert row["bound"] >= 8300 and row["n_evaluations"] <= 1000, row
        assert row["errors_weighted"] <= 3 and row["n_active"] <= 4, row
    # Where a stopped climb stands is rounding. Three seeds, four roundings (see test_book.py): 0 to 4 errors, and more
    # than the paper's 3 in 1 of 12 fits; bounds of 8527 to 9133.
    errors = [rows[f"seed {seed}"]["errors_top_two"] for seed in range(3)]
    assert np.median(errors) <= 3 and max(errors) <= 6, errors


@pytest.mark.real
def test_points_err_more_often_in_two_dimensions_and_know_no_price_in_ten(fresh_results):
    rows = fresh_results("variational")["oil, 1000 points"]
    two, ten, fuzzy = rows["points, 2 dimensions"], rows["points, 10 dimensions"], rows["seed 0"]
    assert two["errors_top_two"] > fuzzy["errors_top_two"]
    assert ten["n_active"] >= 6 and ten["noise_variance"] < 0.1 * fuzzy["noise_variance"]
    assert rows["planes (Bayesian PCA)"]["bound"] < fuzzy["bound"] - 5000


# --- the explorer --------------------------------------------------------------------------------------------

EXPLORER = partial(explore_variational, n_points=40, n_inducing=10, n_components=4)


def shown_model(explorer):
    """The model of the scene, as far as its run has come."""
    from gplvm_widgets.variational import view

    chosen = {name: value for name, value in explorer.settings.items() if name not in explorer.light}
    return view(**chosen, state=explorer.state)


@pytest.mark.widget
@pytest.mark.parametrize(
    "chosen, steps",
    [
        ({}, None),
        (dict(data="circle", n_components=3, seed=4), 6),
        (dict(data="Swiss roll", kernel="linear"), 5),
        (dict(data="digits", kernel="RBF + bias", init="random"), 4),
        (dict(latent="points", initial_variance=0.02), 7),
        (dict(n_components=1), 3),
    ],
    ids=str,
)
def test_the_code_shown_computes_what_the_scene_shows(chosen, steps, explorer, capsys):
    explorer.set(**chosen)
    if steps is not None:
        explorer.run_now(max_steps=steps)
    scope = {}
    exec(explorer.shown_code(), scope)
    model = shown_model(explorer)
    assert_allclose(scope["X"], model.latent_mean_, atol=1e-6)
    assert_allclose(scope["S"], model.latent_variance_, atol=1e-6)
    assert_allclose(scope["model"].bound_, model.bound_, rtol=1e-6)
    assert explorer.scene.says in capsys.readouterr().out
    assert explorer.scene.says.startswith(f"step {(steps or 1) - 1}: bound {model.bound_:.1f} = ")


@pytest.mark.widget
def test_the_terms_are_a_staircase_that_adds_up_to_the_bound(explorer):
    for steps in (1, 6):
        explorer.run_now(max_steps=steps)
        panel, terms = explorer.scene.panel("terms"), shown_model(explorer).bound_terms_
        fit, trace, kl, bound = (panel.mark(name) for name in ("fit", "trace", "KL", "bound"))
        assert_allclose([fit.height[0], -trace.height[0], -kl.height[0]], terms)
        assert_allclose(np.concatenate([fit.base, trace.base, kl.base]), np.concatenate([[0.0], fit.top, trace.top]))
        assert_allclose([*bound.base, *bound.top], [0.0, *kl.top])
        left, _, right = panel.title.partition(" = ")
        first, *paid = left.split(" - ")  # as a reader does the sum
        assert abs(float(first) - sum(map(float, paid)) - float(right.split(",")[0])) <= 2.0  # four rounded numbers
        assert panel.mark("values").text == [f"{h:+.0f}" for h in (terms.fit, -terms.trace, -terms.kl, terms.elbo)]


@pytest.mark.widget
def test_a_bar_for_each_dimension_and_the_climb_of_every_step(explorer):
    explorer.set(data="circle")
    explorer.run_now(max_steps=60)
    model, panel = shown_model(explorer), explorer.scene.panel("weights")
    on, off = panel.mark("on"), panel.mark("off")
    assert (on.x - 1).tolist() == sorted(model.active_dims_) and len(on.x) + len(off.x) == 4 and len(off.x) > 0
    for bars in (on, off):
        weights = model.relevance_[bars.x.astype(int) - 1] / model.relevance_.max()
        assert_allclose(bars.top, np.maximum(weights, 1e-5), rtol=1e-9)
    assert panel.title.startswith(f"{len(on.x)} of 4 dimensions are on")
    so_far = explorer.scene.mark("climb", "so far")
    assert_allclose(so_far.y, [state.state.value for state in explorer.kept])
    assert len(so_far.x) == 60 and np.all(np.diff(so_far.y) > -1e-9)


@pytest.mark.widget
def test_the_ellipses_are_one_deviation_wide(explorer):
    explorer.run_now(max_steps=9)
    explorer.set(horizontal=2, vertical=1)
    model, panel = shown_model(explorer), explorer.scene.panel("points")
    target = panel.mark("means").group
    for k in np.unique(target):
        ellipses, rows = panel.mark(f"q(x) {k}"), np.ix_(target == k, [1, 0])
        assert_allclose(np.column_stack([ellipses.x, ellipses.y]), model.latent_mean_[rows])
        assert_allclose(np.diagonal(ellipses.factors, axis1=1, axis2=2), np.sqrt(model.latent_variance_[rows]))
        assert not ellipses.factors[:, 0, 1].any() and not ellipses.factors[:, 1, 0].any()
    assert panel.x.label.startswith("dimension 2") and panel.y.label.startswith("dimension 1")
    explorer.set(latent="points")
    assert [mark.key for mark in explorer.scene.panel("points").marks] == ["inducing", "means"]


@pytest.mark.widget
def test_one_dimension_is_shown_against_the_number_of_the_point(explorer):
    explorer.set(n_components=1)
    means = explorer.scene.mark("points", "means")
    assert_allclose(means.x, shown_model(explorer).latent_mean_[:, 0])
    assert means.y.tolist() == list(range(40)) and explorer.scene.panel("points").y.label == "point"
    explorer.view.hear({"type": "point", "panel": "weights", "x": 1.0, "y": 0.1})
    assert explorer.settings["horizontal"] == 0  # nothing to choose


@pytest.mark.widget
def test_a_click_on_a_bar_shows_its_dimension_and_moves_only_the_points(explorer):
    explorer.run_now(max_steps=5)
    before = explorer.scene
    explorer.view.hear({"type": "point", "panel": "weights", "x": 3.1, "y": 0.1})
    assert explorer.settings["horizontal"] == 3 and explorer.settings["vertical"] not in (0, 3)
    changed = [panel.key for panel, old in zip(explorer.scene.panels, before.panels, strict=True) if panel is not old]
    assert changed == ["points"] and explorer.state.step == 4 and len(explorer.kept) == 5
    assert explorer.scene.panel("points").x.label.startswith("dimension 3, weight ")
    explorer.view.hear({"type": "arrow", "panel": "weights", "right": 1, "up": 0})
    assert (explorer.settings["horizontal"], explorer.settings["vertical"]) == (4, 3)
    explorer.view.hear({"type": "arrow", "panel": "weights", "right": 1, "up": 0})
    assert explorer.settings["horizontal"] == 4  # there is no fifth


@pytest.mark.widget
def test_the_slider_goes_back_through_the_run(explorer):
    explorer.run_now(max_steps=8)
    last = explorer.scene
    explorer.scrubber.value = 2
    assert explorer.state.step == 2 and explorer.scene.says.startswith("step 2: ") and explorer.scene.says != last.says
    values = [t.elbo for t in explorer.state.terms]
    assert np.all(np.diff(values) > -1e-9) and len(values) == 8
    assert len(explorer.scene.mark("climb", "so far").x) == 3 and len(explorer.scene.mark("climb", "all").x) == 8


@pytest.mark.widget
@pytest.mark.parametrize(
    "context, idle",
    [
        ({}, {}),
        (dict(kernel="linear"), dict(seed=5, n_inducing=20)),
        (dict(kernel="linear", init="random"), dict(n_inducing=20)),
        (dict(latent="points"), dict(initial_variance=0.5)),
        (dict(n_components=1), dict(horizontal=1, vertical=1)),
        (dict(n_inducing=40), dict(seed=5)),
    ],
    ids=str,
)
def test_controls_without_effect_are_disabled_and_the_others_are_not(context, idle, explorer):
    explorer.set(**context)
    disabled = {name for name, control in explorer.controls.items() if control.disabled}
    assert disabled == set(idle) == set(explorer.unused(explorer.settings))
    before = explorer.scene.says
    for name, value in idle.items():
        kept = explorer.settings[name]
        explorer.set(**{name: value})
        assert explorer.scene.says == before
        explorer.set(**{name: kept})
    if "seed" not in idle:
        explorer.set(seed=5)
        assert explorer.scene.says != before


@pytest.mark.widget
def test_only_what_the_data_can_have_is_offered(explorer):
    explorer.set(n_points=30, n_inducing=30)
    assert explorer.controls["n_inducing"].max == 30
    explorer.set(n_components=3)
    assert explorer.controls["horizontal"].max == explorer.controls["vertical"].max == 3


@pytest.mark.widget
def test_the_answers_of_the_questions_are_true(explorer):
    def ends(number):
        explorer.ask(number)
        question = explorer.asked
        first = [shown_model(explorer)] if question.run == "both" else []
        explorer.commit(question.right)
        explorer.reveal()
        assert "Right." in explorer.question_box.value
        return question, [*first, shown_model(explorer)], explorer.kept[0].state.terms

    question, (circle,), _ = ends(1)
    assert len(circle.active_dims_) == 2 and question.choices[question.right] == "two"
    question, (fuzzy, points), _ = ends(2)
    assert len(fuzzy.active_dims_) < len(points.active_dims_) == 6 and question.choices[question.right] == "all six"
    assert points.bound_ > fuzzy.bound_ + 500  # "climbs far higher"
    question, (many, few), few_at_first = ends(3)
    explorer.set(n_inducing=25)
    at_first, at_last = (
        np.array([1, -1, -1]) * (np.array(fewer) - np.array(more))  # by how much each contribution has grown
        for fewer, more in ((few_at_first, shown_model(explorer).bound_terms_), (few.bound_terms_, many.bound_terms_))
    )
    assert question.choices[question.right] == "fit and trace, then the fit alone"
    assert np.all(at_first[:2] < -10_000) and at_first[2] == 0.0
    assert at_last[0] < -1000 and np.all(at_last[1:] > 0)
    assert few.bound_terms_.trace < 0.001 * few_at_first.trace and few.noise_variance_ > 3 * many.noise_variance_


# --- the explorer in a real page -----------------------------------------------------------------------------

PAGE = ["explore_variational(n_points=60)"]


@pytest.mark.browser
def test_sizes_redraw_and_come_back_and_run_climbs(page, screenshots):
    start = page.picture_at_rest()
    page.control("n_components").press("ArrowRight", times=2)
    assert page.wait_for_new_picture(start) != start
    page.control("n_components").press("ArrowLeft", times=2)
    page.wait_for_picture(start)
    page.click("Run")
    page.wait_until(lambda: page.picture() not in (None, start), 20, "the first picture of the run")
    page.click("Stop")
    stopped = page.picture_at_rest()
    page.screenshot(screenshots / "lab_12_variational.png")
    assert stopped != start and 0 < page.progress() <= 1
    page.click_picture("weights", 3, 0.1)  # the dimension of this bar comes to the horizontal axis
    page.wait_until(lambda: page.control("horizontal").value() == "3", 10, "the dimension of the bar")
    names = page.run_shown_code()
    assert names["X"].shape == (60, 6) and page.error_box() == ""
    assert page.scene()["says"] in names["printed"]


# --- the exercises -------------------------------------------------------------------------------------------


def answer_phi(K, Psi1, Psi2, y, beta):
    P = K + beta * Psi2
    return beta * K @ np.linalg.solve(P, Psi1.T @ y), K @ np.linalg.solve(P, K)


def answer_bound(Y, psi0, Psi1, Psi2, K, beta, D=None, traces=True, constant=True):
    psi = PsiStatistics(np.array([psi0]), Psi1, Psi2)
    fit, trace = output_terms(Y, psi, factorise(np.linalg.cholesky(K), psi, Y, beta))
    return fit - traces * trace / (D or 1) + (not constant) * Y.size / 2 * np.log(2 * np.pi)


def answer_two(mu, S, z1, z2, alpha, gap=0.25):
    c = 2 * alpha * S + 1
    return np.exp(-gap * alpha * (z1 - z2) ** 2 - alpha * (mu - (z1 + z2) / 2) ** 2 / c) / np.sqrt(c)


def answer_exact(y, nodes, weights, variance, alpha, noise, inside=False):
    k, v = variance * np.exp(-0.5 * alpha * (nodes[:, None] - nodes) ** 2), variance + noise
    determinant = v**2 - k**2
    misfit = (v * (y @ y) - 2 * k * y[0] * y[1]) / determinant
    density = np.exp(-0.5 * misfit) / (2 * np.pi * np.sqrt(determinant))
    return weights @ np.log(density) @ weights if inside else np.log(weights @ density @ weights)


def one_bell(mu, S, z, alpha):
    return np.exp(-0.5 * alpha * (mu - z) ** 2 / (alpha * S + 1)) / np.sqrt(alpha * S + 1)


def psi1_of(mu, S, Z, variance, alpha):
    return psi_statistics(RBF(variance, alpha), mu, S, Z).Psi1


test_right_answers_pass_whoever_computed_them = right_answers(
    [
        ("variational.1", kl_divergence),
        ("variational.2", psi1_of),
        ("variational.3", answer_two),
        ("variational.4", answer_bound),
        ("variational.5", answer_phi),
        ("variational.6", lambda mu, S, Z, a: psi_statistics(Linear(a), mu, S, Z).Psi2),
        ("variational.7", 2),
        ("variational.8", answer_exact),
    ]
)


test_common_mistakes_get_their_own_hint = common_mistakes(
    [
        ("variational.1", lambda mu, S: -kl_divergence(mu, S), "sign"),
        ("variational.1", lambda mu, S: 2 * kl_divergence(mu, S), "1/2"),
        ("variational.1", lambda mu, S: 0.5 * np.sum(mu**2 + S - np.log(S)), "constant"),
        ("variational.1", lambda mu, S: 0.5 * np.sum(1 / S + mu**2 / S + np.log(S) - 1), "other way round"),
        ("variational.2", lambda mu, S, Z, v, a: RBF(v, a)(mu, Z), "at the means"),
        (
            "variational.2",
            lambda mu, S, Z, v, a: psi1_of(mu, S, Z, v, a) * np.prod(np.sqrt(a * S + 1), axis=1)[:, None],
            "height",
        ),
        ("variational.3", lambda mu, S, z1, z2, a: answer_two(mu, S, z1, z2, a, gap=0.0), "gap"),
        ("variational.3", lambda mu, S, z1, z2, a: one_bell(mu, S, z1, a) * one_bell(mu, S, z2, a), "correlated"),
        ("variational.4", lambda *args: answer_bound(*args, D=3), "added once"),
        ("variational.4", lambda *args: answer_bound(*args, traces=False), "missing"),
        ("variational.4", lambda *args: answer_bound(*args, constant=False), "constant"),
        ("variational.5", lambda K, P1, P2, y, b: (np.linalg.solve(K, answer_phi(K, P1, P2, y, b)[0]), K), "K^-1 u"),
        ("variational.5", lambda K, P1, P2, y, b: (answer_phi(K, P1, P2, y, b)[0], np.linalg.inv(K + b * P2)), "sides"),
        ("variational.6", lambda mu, S, Z, a: (mu * a @ Z.T).T @ (mu * a @ Z.T), "S is missing"),
        ("variational.7", 1, "without a tear"),
        ("variational.7", 4, "count"),
        ("variational.8", lambda *args: np.exp(answer_exact(*args)), "logarithm is wanted"),
        ("variational.8", lambda *args: answer_exact(*args, inside=True), "swap"),
    ]
)
