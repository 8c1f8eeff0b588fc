"""ln p(y) by importance sampling, where latent points come from, and what a GP-LVM's prior does to them."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from gplvm_edu import GPLVM, PPCA, BayesianGPLVM, DualPPCA, FactorAnalysis, SparseGPLVM, TSNEPriorGPLVM
from gplvm_edu.base import MapModel
from gplvm_edu.datasets import load_table, simulate_oil_flow
from gplvm_edu.gplvm import gplvm_iterates, value_and_gradients
from gplvm_edu.kernels import MLP, RBF, Bias, Linear, Matern32, Periodic, White, common_start, with_scales_fixed
from gplvm_edu.marginal import (
    LatentDraws,
    PositionDensity,
    UnitGaussian,
    find_summits,
    importance_sample,
    marginal_log_density,
    mix,
    position_density,
)
from gplvm_edu.papers import own_data
from gplvm_edu.starts import initial_positions

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def wine():
    return own_data.split("wine", 0)


def by_quadrature(model, Y, density, edge=6.0, n=240):
    """ln p(y) on a square grid of latent points: exact, where nothing is narrower than a cell."""
    side = np.linspace(-edge, edge, n)
    X = np.array([a.ravel() for a in np.meshgrid(side, side)]).T
    mean, variance = model.map_.moments(X)
    s = variance + model.map_.noise_variance
    log_p = density.log_density(X) + 2 * np.log(side[1] - side[0])
    terms = [log_p - 0.5 * np.sum((y - mean) ** 2 / s + np.log(2 * np.pi * s), axis=1) for y in Y]
    return np.array([np.logaddexp.reduce(term) for term in terms])


# ---------------------------------------------------------------------- where points come from
@pytest.mark.identity
def test_a_density_of_positions_is_the_mixture_that_it_says_and_adds_up_to_one():
    X = np.random.default_rng(0).standard_normal((30, 2))
    density = position_density(X)
    points = np.random.default_rng(1).standard_normal((5, 2))
    parts = [np.mean([multivariate_normal(x, density.width**2).pdf(p) for x in X]) for p in points]
    assert_allclose(density.log_density(points), np.log(parts), rtol=1e-10)
    side = np.linspace(-6, 6, 200)
    grid = np.array([a.ravel() for a in np.meshgrid(side, side)]).T
    assert_allclose(np.sum(np.exp(density.log_density(grid))) * (side[1] - side[0]) ** 2, 1.0, rtol=1e-6)
    draws = density.sample(40_000, np.random.RandomState(0))
    assert_allclose(draws.var(axis=0), X.var(axis=0) + density.width**2, rtol=0.03)


@pytest.mark.identity
def test_its_width_is_the_one_that_leaving_one_out_likes_best():
    X = np.random.default_rng(3).standard_normal((60, 2))

    def left_out(h):
        return sum(PositionDensity(np.delete(X, n, axis=0), h, 1.0).log_density(X[n : n + 1])[0] for n in range(len(X)))

    h = position_density(X).width
    assert left_out(h) > max(left_out(0.9 * h), left_out(1.1 * h))


def test_the_width_follows_the_scale_and_survives_positions_that_coincide():
    X = np.random.default_rng(0).standard_normal((50, 2))
    assert_allclose(position_density(1e-6 * X).width, 1e-6 * position_density(X).width, rtol=1e-6)
    for few in (np.zeros((5, 2)), np.repeat(X[:5], 4, axis=0), X[:1], X[:2]):
        density = position_density(few)
        assert density.width > 0 and np.isfinite(density.log_density(few)).all()


# ---------------------------------------------------------------------- the estimate
@pytest.mark.oracle
@pytest.mark.parametrize("model", [PPCA(2), FactorAnalysis(3), PPCA(1)], ids=repr)
def test_sampling_agrees_with_what_linear_models_know_exactly(model, wine):
    fitted, held_out = wine
    exact = model.fit(fitted).score_samples(held_out)
    values, errors = MapModel.score_samples(model, held_out, n_samples=1000, return_error=True)
    assert errors.max() < 0.05 and np.abs(values - exact).max() < 5 * errors.max()
    assert abs(np.mean(values - exact)) < 2 * np.median(errors)  # all rows have the same lots


@pytest.mark.identity
@pytest.mark.parametrize("prior", ["gaussian", None])
def test_sampling_agrees_with_quadrature_over_the_latent_plane(prior, wine):
    fitted, held_out = wine
    model = GPLVM(latent_prior=prior, max_iter=100).fit(fitted)
    for density in (model.latent_density(), UnitGaussian(2)):
        summits = find_summits(model.map_, held_out, model.near_places(held_out, 5), density)
        draws = importance_sample(model.map_, held_out, summits, density, n_samples=2000)
        values, _ = marginal_log_density(draws)
        exact = by_quadrature(model, held_out, density)
        assert abs(np.mean(values - exact)) < 0.1 and np.quantile(np.abs(values - exact), 0.9) < 0.3


@pytest.mark.identity
def test_the_error_that_is_told_is_the_one_that_is_made(wine):
    fitted, held_out = wine
    model = GPLVM(max_iter=200).fit(fitted)
    exact = model.score_samples(held_out, n_samples=5000)
    tried = [model.score_samples(held_out, random_state=seed, return_error=True) for seed in range(10)]
    made = np.sqrt(np.mean([(values - exact) ** 2 for values, _ in tried], axis=0))
    told = np.sqrt(np.mean([errors**2 for _, errors in tried], axis=0))
    assert 0.5 < np.median(made / told) < 1.5


def test_two_calls_agree_and_a_row_does_not_notice_the_others(wine):
    fitted, held_out = wine
    model = SparseGPLVM(n_active=40, max_iter=2).fit(fitted)
    whole = model.score_samples(held_out)
    assert np.array_equal(whole, model.score_samples(held_out))
    assert_allclose(model.score_samples(held_out[7:9]), whole[7:9], rtol=1e-6)
    assert not np.array_equal(whole, model.score_samples(held_out, random_state=1))
    gappy = held_out[:5].copy()
    gappy[:, ::2] = np.nan
    assert np.isfinite(model.score_samples(gappy)).all()


@pytest.mark.identity
def test_the_best_place_says_more_than_the_row_deserves(wine):
    fitted, held_out = wine
    for model in (GPLVM(max_iter=60), PPCA(2), DualPPCA(2), SparseGPLVM(max_iter=2), TSNEPriorGPLVM(max_iter=20)):
        model.fit(fitted)
        assert (model.best_log_density(held_out) > model.score_samples(held_out)).mean() > 0.95, type(model).__name__


@pytest.mark.identity
def test_a_mixture_has_the_variance_of_its_parts_and_that_between_them():
    rng = np.random.default_rng(0)
    shares, mean, variance = np.array([0.2, 0.5, 0.3]), rng.standard_normal((3, 2)), rng.uniform(0.5, 1, (3, 2))
    drawn = rng.choice(3, size=400_000, p=shares)
    y = mean[drawn] + np.sqrt(variance[drawn]) * rng.standard_normal((400_000, 2))
    together, spread = mix(shares, mean, variance)
    assert_allclose(together, y.mean(axis=0), atol=0.01)
    assert_allclose(spread, y.var(axis=0), rtol=0.02)
    draws = LatentDraws(mean[None], np.log(shares)[None])
    assert_allclose(draws.moments()[0][0], together)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "asked, says",
    [(dict(n_samples=3), "n_samples"), (dict(return_error="yes"), "return_error"), (dict(random_state="a"), "random")],
)
def test_what_makes_no_sense_is_refused(asked, says, wine):
    model = DualPPCA(2).fit(wine[0])
    with pytest.raises(ValueError, match=says):
        model.score_samples(wine[1], **asked)


# ---------------------------------------------------------------------- scores of all models
@pytest.mark.long
def test_scores_of_all_models_on_wine_can_be_compared(wine):
    """One meaning, ln p(y): close together on the same rows; only the value at the best place wants ever more q."""
    fitted, held_out = wine
    scores, best = {}, []
    for q in (1, 2, 3):
        models = PPCA(q), FactorAnalysis(q), GPLVM(q, max_iter=200), BayesianGPLVM(q, random_state=0, max_iter=200)
        for model in models:
            scores.setdefault(type(model).__name__, []).append(model.fit(fitted).score(held_out))
        best.append(np.mean(models[2].best_log_density(held_out)))
    table = np.array(list(scores.values()))  # (model, q)
    assert np.ptp(table) < 3.0  # nats a row: 2.0 seen; the value at the best place of q = 3 is 7 away
    assert np.all(np.diff(best) > 1.5) and best[-1] > scores["GPLVM"][-1] + 4.0
    assert scores["GPLVM"][2] - scores["GPLVM"][1] < 1.0  # where the best place gains 2.6
    memorised = GPLVM(4, max_iter=200).fit(fitted)
    assert memorised.kernel_["white"].variance < 0.01 and memorised.score(held_out) < scores["GPLVM"][2] - 2.0


# ---------------------------------------------------------------------- the prior and the width
@pytest.mark.identity
@pytest.mark.parametrize(
    "kernel, power",
    [
        (RBF(1.3, 0.7), -2),
        (Matern32(1.3, 0.7), -2),
        (Linear(0.4), -2),
        (MLP(1.0, 2.0, 3.0), -2),
        (Periodic(1.0, 0.5, 2.0), 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_fixed_with_the_prior_is_what_could_undo_a_change_of_scale(kernel, power):
    X, c = np.random.default_rng(0).standard_normal((6, 2)), 3.0
    name, *also = kernel.input_scales
    other = kernel.copy().set_params(**{name: getattr(kernel, name) * c**power})
    assert_allclose(other(c * X), kernel(X), rtol=1e-9, atol=1e-12)
    held = with_scales_fixed(kernel + White(0.1)).fixed
    assert set(held) == {f"{type(kernel).__name__.lower()}__{one}" for one in (name, *also)}
    assert Bias().input_scales == White().input_scales == ()


def test_a_periodic_kernel_of_small_inputs_is_an_rbf_whose_width_is_held_too():
    X = 1e-3 * np.random.default_rng(0).standard_normal((6, 2))
    kernel = Periodic(1.0, 0.5, 2.0)
    assert_allclose(kernel(X), RBF(1.0, 0.5 * np.pi**2)(X), atol=1e-10)  # (2 pi / period)^2 = pi^2
    assert with_scales_fixed(kernel).fixed == ("inverse_width", "period")


@pytest.mark.long
def test_on_flat_data_the_variance_takes_the_place_of_the_width_and_positions_shrink():
    """Of small positions an RBF kernel sees variance * inverse_width alone: chapter 5 says so."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        Y = rng.standard_normal((100, 2)) @ rng.standard_normal((2, 10)) + 0.3 * rng.standard_normal((100, 10))
        model = GPLVM(max_iter=600).fit(Y)
        assert model.embedding_.std() < 0.5 and model.kernel_["rbf"].variance > 3 * Y.var()
        assert model.kernel_["rbf"].inverse_width == 1.0


@pytest.mark.long
@pytest.mark.parametrize("kernel", [Periodic() + White(0.1), Bias() * Linear() + White(0.1)], ids=repr)
def test_with_the_prior_these_kernels_keep_their_spread_too(kernel):
    Y = simulate_oil_flow(60, random_state=0).data
    short, long = (GPLVM(kernel=kernel, max_iter=n).fit(Y).embedding_.std() for n in (200, 1000))
    assert short > 0.1 and abs(long / short - 1) < 0.05  # with those free the second: 0.005 and 0.001


@pytest.mark.identity
def test_a_free_width_beside_the_prior_has_no_maximum_and_a_tied_one_has():
    Y = simulate_oil_flow(40, random_state=0).data
    Y = Y - Y.mean(axis=0)
    X, kernel = initial_positions(Y, 2, "pca", None), common_start(Y.var())
    values = []
    for c in (1.0, 0.1, 0.01, 0.001):
        kernel["rbf"].inverse_width = 1.0 / c**2
        values.append(value_and_gradients(Y, c * X, kernel, "gaussian")[0])
    assert np.all(np.diff(values) > 0)  # ever smaller is ever better
    assert_allclose(values[-1] - values[0], 0.5 * np.sum(X**2), rtol=1e-5)  # by what the prior charged


@pytest.mark.long
def test_the_default_comes_to_rest_and_keeps_its_spread(wine):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        short, long = (GPLVM(max_iter=n).fit(wine[0]) for n in (1000, 3000))
    assert short.converged_ and short.kernel_["rbf"].inverse_width == 1.0
    assert_allclose(short.embedding_.std(), long.embedding_.std(), rtol=0.05)
    centred = wine[0] - wine[0].mean(axis=0)
    start = initial_positions(centred, 2, "pca", None)
    spreads = [s.X.std() for s in gplvm_iterates(centred, start, common_start(centred.var()), "gaussian", max_iter=600)]
    assert spreads[600] < 0.75 * spreads[200] < 0.6 * spreads[50]  # the paper's objective: down a valley without floor


@pytest.mark.long
@pytest.mark.parametrize("name", ["wine", "breast_cancer", "digits"])
def test_samples_of_the_default_correlate_as_the_data_do(name):
    """Correlations of as many samples as there are rows: few rows of many columns correlate by chance."""
    Y = own_data.split(name, 0)[0]
    samples = GPLVM().fit(Y).sample(20 * len(Y), random_state=0)[0]
    correlations = [own_data.mean_correlation(part) for part in np.split(samples, 20)]
    assert 0.8 < np.mean(correlations) / own_data.mean_correlation(Y) < 1.2
    assert 0.9 < samples.std() / Y.std() < 1.2


# ---------------------------------------------------------------------- the experiment's stored rows
@pytest.mark.long
@pytest.mark.parametrize("cure", ["width tied at 1", "no prior, scale fixed"])
def test_a_row_of_the_stored_experiment_can_be_computed_again(cure, stored_own_data):
    fitted, held_out = own_data.split("wine", 3)
    (stored, *_) = stored_own_data["cures, wine"][cure][3]
    found = own_data.one_cure(own_data.CURES[cure], fitted, held_out)[0]
    assert found["step"] == stored["step"] == 50
    assert abs(found["spread"] - stored["spread"]) < 0.01 and abs(found["positions"] - stored["positions"]) < 0.2


@pytest.fixture(scope="module")
def stored_own_data():
    import json
    from pathlib import Path

    return json.loads((Path(__file__).resolve().parents[1] / "book" / "results" / "own_data.json").read_text())


def test_tables_that_people_bring_are_standardised_unless_told_otherwise():
    for name, shape in (("wine", (178, 13)), ("breast_cancer", (569, 30)), ("diabetes", (442, 10))):
        table = load_table(name)
        assert table.data.shape == shape and len(table.extra["feature_names"]) == shape[1]
        assert_allclose(table.data.std(axis=0), 1.0)
        assert np.ptp(load_table(name, standardise=False).data.std(axis=0)) > 0
    with pytest.raises(ValueError, match="name must be"):
        load_table("mtcars")
