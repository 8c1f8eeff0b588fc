"""Columns of several kinds, by name: what a user says of them, categories coded and read back, variances learnt."""

import pickle

import numpy as np
import pytest
from common import people
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from gplvm_edu import GTM, PPCA, DiscreteGTM, MinorComponents, SparseGPLVM, tables
from gplvm_edu.gtm_variants import find_blocks
from gplvm_edu.gtm_variants.columns import read_blocks
from gplvm_edu.ivm import Sites, expected_squares, learn_noise_variances, place_covariances, read_noise
from gplvm_edu.kernels import RBF, Linear, gp_log_marginal_likelihood
from gplvm_edu.noise import Gaussian, Ordinal, PerColumn, Probit

NAMES = ["height", "smoker", "grade"]


def models():
    return [SparseGPLVM(1, n_active=30, max_iter=4), DiscreteGTM(grid=(12,), basis=(4,))]


# --- what a user says -------------------------------------------------------------------------------------------


def test_a_column_is_a_name_a_number_a_tuple_or_the_beginning_of_one_hot_names():
    names = ["height", "colour_red", "colour_blue", "colours"]
    for key, columns in [("height", [0]), (3, [3]), (("colours", 0), [3, 0]), ("colour", [1, 2])]:
        assert tables.column_numbers("noise", key, names, 4) == columns


def test_words_and_noise_models_become_a_model_for_each_column():
    Y = np.array([[150.0, 1.0, 0.0], [170.0, 0.0, 2.0], [190.0, 1.0, np.nan]])
    noise = read_noise({"smoker": "probit", "grade": "ordinal"}, Y, NAMES)
    deviation = np.std(Y[:, 0])
    assert noise == PerColumn([Gaussian(0.1 * deviation**2, scale=deviation), Probit(), Ordinal()])
    own = Gaussian(0.3)
    assert read_noise({0: own, 1: "binary", 2: Ordinal(4)}, Y) == PerColumn([own, Probit(), Ordinal(4)])
    assert read_noise("probit", Y) == PerColumn([Probit()] * 3)
    assert read_noise(None, Y) is None and read_noise([own, Probit(), Ordinal()], Y).models[0] is own


def test_blocks_are_read_by_name_and_what_is_left_out_is_found():
    Y = np.array([[0.5, 1.0, 0.0, 1.0], [1.5, 0.0, 1.0, 0.0], [2.0, 0.0, 1.0, 1.0]])
    names = ["height", "a", "b", "smoker"]
    by_name = read_blocks([("gaussian", ["height"]), ("multinomial", ["a", "b"]), ("bernoulli", "smoker")], Y, names)
    for other in ({("a", "b"): "categorical"}, {(1, 2): "multinomial", "smoker": "probit"}):
        for mine, yours in zip(by_name, _sorted(read_blocks(other, Y, names)), strict=True):
            assert mine.kind == yours.kind
            assert_array_equal(mine.columns, yours.columns)


def _sorted(blocks):
    return sorted(blocks, key=lambda block: ("gaussian", "bernoulli", "multinomial").index(block.kind))


def test_one_hot_columns_are_one_category_where_their_names_say_so():
    kinds = {block.kind: block.columns.tolist() for block in find_blocks(np.eye(3), ["eye_a", "eye_b", "eye_c"])}
    assert kinds == {"multinomial": [0, 1, 2]}
    assert [block.kind for block in find_blocks(np.eye(3))] == ["bernoulli"]  # no names: only where told
    both = np.array([[1.0, 0, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1]])
    names = ["eye_colour_red", "eye_colour_blue", "eye_shape_round", "eye_shape_oval"]
    assert [group.tolist() for group in tables.one_hot_groups(both, names)] == [[0, 1], [2, 3]]
    assert tables.one_hot_groups(np.ones((2, 2)), ["a_b", "a_c"]) == []  # both at once: no category
    half = np.array([[1.0, np.nan], [0.0, 1.0]])
    assert tables.one_hot_groups(half, ["a_b", "a_c"]) == []
    unseen = np.array([[np.nan, np.nan], [0.0, 1.0]])
    assert [group.tolist() for group in tables.one_hot_groups(unseen, ["a_b", "a_c"])] == [[0, 1]]


def test_one_category_tells_more_than_independent_answers():
    rng = np.random.default_rng(0)
    t = rng.uniform(-2, 2, 100)
    Y = np.column_stack([t + 0.3 * rng.standard_normal(100), np.eye(3)[np.digitize(t, [-0.7, 0.7])]])
    told, alone = (
        DiscreteGTM(blocks, grid=(10,), basis=(4,)).fit(Y) for blocks in ({(1, 2, 3): "categorical"}, "auto")
    )
    new = np.array([[0.0, np.nan, np.nan, np.nan]])
    assert_allclose(told.impute(new)[0, 1:].sum(), 1.0)
    assert [block.kind for block in told.blocks_] == ["gaussian", "multinomial"]
    assert [block.kind for block in alone.blocks_] == ["gaussian", "bernoulli"]
    assert told.score(Y) > alone.score(Y)  # the answers of a category are not independent


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "model, says",
    [
        (SparseGPLVM(noise={"hieght": "gaussian"}), "column 'hieght', which Y has not. The nearest is 'height'"),
        (SparseGPLVM(noise={"height": "gausian"}), "'gausian', which is none .* nearest is 'gaussian'"),
        (SparseGPLVM(noise={"colour": "ordinal"}), "nothing says what their order is"),
        (SparseGPLVM(noise={"colour": "probit"}), "'red', 'green', 'blue'.* Call it 'categorical'"),
        (SparseGPLVM(noise={"smoker": Gaussian(0.1), 1: "probit"}), "column 1 .'smoker'. more than once"),
        (SparseGPLVM(noise={9: "probit"}), "names column 9, but Y has 4 columns"),
        (SparseGPLVM(noise={}), "noise must say .* for one column at least"),
        (SparseGPLVM(noise={0.5: "gaussian"}), "names the column 0.5"),
        (SparseGPLVM(noise={"height": "poisson"}), "Poisson noise needs counts"),
        (SparseGPLVM(noise={"colour": "poisson"}), "'red', 'green', 'blue'.* Call it 'categorical'"),
        (DiscreteGTM([("gaussian", ["height"])]), "blocks leave out column 1, 2, 3 of 4"),
        (DiscreteGTM({"hieght": "gaussian"}), "The nearest is 'height'"),
        (DiscreteGTM({"height": "categorical"}), "'height' is called 'categorical', but it is one column of numbers"),
        (DiscreteGTM({"grade": "ordinal"}), "knows no order .* use SparseGPLVM"),
        (DiscreteGTM({"colour": "gaussian"}), "call it 'categorical'"),
        (DiscreteGTM({"height": "counts"}), "no Poisson model .* square root"),
    ],
    ids=repr,
)
def test_what_can_not_be_meant_gets_a_sentence(model, says):
    with pytest.raises(ValueError, match=says):
        model.fit(people()[1])


@pytest.mark.bad_input
@pytest.mark.parametrize("model", [SparseGPLVM(noise={"a": "gaussian"}), DiscreteGTM({"a": "gaussian"})], ids=repr)
def test_a_name_needs_a_table_with_names(model):
    with pytest.raises(ValueError, match="the columns of Y have no names: pass a pandas DataFrame, or number"):
        model.fit(np.random.default_rng(0).standard_normal((9, 2)))


# --- tables with categories -------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
def test_a_table_with_categories_goes_in_and_comes_back(model):
    t, table, gappy = people(share=0.15)
    model = clone(model).fit(gappy)
    assert model.n_features_in_ == 4 and model.feature_names_in_.tolist() == list(table)
    assert abs(np.corrcoef(t, model.embedding_[:, 0])[0, 1]) > 0.85
    filled, deviations = model.impute(gappy, return_std=True)
    seen = ~gappy.isna()
    assert filled.dtypes.equals(gappy.dtypes) and filled.index.equals(gappy.index) and not filled.isna().any().any()
    assert filled.where(seen).equals(gappy)  # what was observed is as it was
    assert_array_equal(deviations.to_numpy() > 0, ~seen.to_numpy())
    for name in ("smoker", "grade", "colour"):
        missing = gappy[name].isna()
        commonest = table[name].mode()[0]
        right = np.mean(filled[name][missing].to_numpy() == table[name][missing].to_numpy())
        assert right >= np.mean(table[name][missing].to_numpy() == commonest), name
    rows, _ = model.sample(5, random_state=0)
    assert rows.shape == (5, len(model.coding_.names)) and model.transform(rows).shape == (5, 1)
    assert_allclose(pickle.loads(pickle.dumps(model)).score_samples(gappy), model.score_samples(gappy))
    assert model.impute(gappy.iloc[:3]).equals(filled.iloc[:3])


def test_categories_are_coded_by_what_they_are():
    _, table, _ = people()
    sparse, discrete = (model.fit(table) for model in models())
    assert sparse.coding_.names == ["height", "smoker", "grade", "colour_red", "colour_green", "colour_blue"]
    assert [type(model) for model in sparse.noise_.models] == [Gaussian, Probit, Ordinal, Probit, Probit, Probit]
    assert sparse.noise_.models[2].n_levels == 3
    assert [block.columns.tolist() for block in discrete.blocks_] == [[0], [1, 2], [3, 4, 5], [6, 7, 8]]
    pandas = pytest.importorskip("pandas")
    dummies = pandas.get_dummies(table)  # the same, coded by the user
    assert list(dummies) == discrete.coding_.names
    again = DiscreteGTM(grid=(12,), basis=(4,)).fit(dummies)
    assert_allclose(again.embedding_, discrete.embedding_, atol=1e-9)
    asked = SparseGPLVM(1, n_active=10, max_iter=1, noise={"grade": "categorical"}).fit(table)
    assert asked.coding_.names[2:5] == ["grade_low", "grade_mid", "grade_high"]


@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
@pytest.mark.bad_input
def test_new_tables_must_be_like_the_one_that_was_fitted(model):
    _, table, _ = people()
    model = clone(model).fit(table)
    for new, says in [
        (table.assign(colour="rde"), "category 'rde' in row 0, .* The nearest is 'red'"),
        (table[["colour", "height", "smoker", "grade"]], "same order"),
        (np.zeros((3, 4)), "fitted to a table with categories"),
        (table.assign(height="tall"), "Column 'height' of Y must be an array of numbers"),
    ]:
        with pytest.raises(ValueError, match=says):
            model.transform(new)
    with pytest.raises(ValueError, match="60 different words in 60 rows"):
        clone(model).fit(table.assign(name=[f"person {n}" for n in range(60)]))


def test_columns_of_numbers_stay_numbers_whatever_their_type():
    pandas = pytest.importorskip("pandas")
    Y = np.random.default_rng(0).standard_normal((20, 3))
    plain, objects = pandas.DataFrame(Y, columns=list("abc")), pandas.DataFrame(Y, columns=list("abc")).astype(object)
    assert not tables.has_categories(plain) and not tables.has_categories(objects) and not tables.has_categories(Y)
    fits = [SparseGPLVM(1, n_active=10, max_iter=1).fit(data).embedding_ for data in (Y, plain, objects)]
    assert_allclose(fits[1], fits[0], atol=1e-6)
    assert_allclose(fits[2], fits[0], atol=1e-6)


@pytest.mark.identity
def test_units_of_a_column_decide_nothing():
    rng = np.random.default_rng(0)
    t = rng.standard_normal(40)
    Y = np.column_stack([t, np.sin(t)]) + 0.2 * rng.standard_normal((40, 2))
    Y = np.column_stack([Y, t + rng.standard_normal(40) > 0])
    options = dict(n_components=1, n_active=20, max_iter=3, noise={2: "probit"})
    one, other = SparseGPLVM(**options).fit(Y), SparseGPLVM(**options).fit(Y * [1e3, 1e-2, 1] + [170, 0, 0])
    assert_allclose(one.embedding_, other.embedding_, atol=1e-5)
    assert_allclose(other.noise_.models[0].variance, 1e6 * one.noise_.models[0].variance, rtol=1e-4)
    assert_allclose(other.score_samples(Y * [1e3, 1e-2, 1] + [170, 0, 0]), one.score_samples(Y) - np.log(10), atol=1e-3)


# --- variances of Gaussian columns ------------------------------------------------------------------------------


@pytest.mark.gradient
def test_the_step_in_the_variance_is_along_the_gradient_of_the_evidence():
    """Where places are certain, the mean of the expected squares less the variance is 2 s^2 / n times the slope."""
    rng = np.random.default_rng(0)
    X, s, h = rng.standard_normal((12, 1)), 0.3, 1e-5
    y = rng.standard_normal((12, 1))
    kernel = RBF(1.3, 2.0)

    def evidence(variance):
        return gp_log_marginal_likelihood(kernel, X, y[:, 0], noise_variance=variance)

    slope = (evidence(s + h) - evidence(s - h)) / (2 * h)
    certain = expected_squares(Sites(y, np.full((12, 1), s)), X, kernel, prior_precision=1e12)
    assert_allclose(certain.mean() - s, 2 * s**2 / 12 * slope, rtol=1e-6)
    uncertain = expected_squares(Sites(y, np.full((12, 1), s)), X, kernel)
    assert (uncertain >= certain - 1e-12).all() and uncertain.mean() > 1.05 * certain.mean()


@pytest.mark.oracle
def test_uncertain_places_are_those_of_factor_analysis():
    """A linear map, known nearly exactly: the posterior covariance of x and the EM update of factor analysis."""
    rng = np.random.default_rng(1)
    w, s = np.array([1.0, -2.0, 0.5]), np.array([0.1, 0.3, 0.2])
    X = rng.standard_normal((400, 1))
    Y = X * w + np.sqrt(s) * rng.standard_normal((400, 3))
    exact = 1.0 / (1.0 + np.sum(w**2 / s))
    S = place_covariances(np.tile(w[None, :, None], (400, 1, 1)), np.zeros((400, 3)), np.tile(s, (400, 1)))
    assert_allclose(S, exact, rtol=1e-7)
    posterior = (Y / s) @ w[:, None] * exact
    update = np.mean((Y - posterior * w) ** 2, axis=0) + w**2 * exact
    squares = expected_squares(Sites(Y, np.tile(s, (400, 1))), posterior, Linear(1.0)).mean(axis=0)
    assert_allclose(
        squares, update, rtol=0.06
    )  # the weights are learnt from 400 rows, and f has a little variance left


def test_a_missing_entry_and_other_noise_are_left_alone():
    rng = np.random.default_rng(2)
    X, m = rng.standard_normal((10, 1)), rng.standard_normal((10, 3))
    v = np.full((10, 3), 0.5)
    v[3, 0] = np.inf
    noise = PerColumn([Gaussian(0.5), Probit(), Gaussian(0.5, fixed="variance")])
    learnt = learn_noise_variances(noise, Sites(np.where(np.isfinite(v), m, 0.0), v), X, RBF())
    assert learnt.models[0].variance != 0.5 and learnt.models[1] == Probit() and learnt.models[2].variance == 0.5
    assert np.isnan(expected_squares(Sites(np.where(np.isfinite(v), m, 0.0), v), X, RBF())[3, 0])


def hidden_table(seed, N=80):
    """Six numbers, an answer and a grade made from one hidden variable, a tenth of the entries lost."""
    rng = np.random.default_rng(seed)
    t, truth = rng.uniform(-1.5, 1.5, N), np.array([0.03, 0.05, 0.08, 0.12, 0.2, 0.3])
    F = np.column_stack([t, np.sin(t), np.exp(0.5 * t), np.tanh(2 * t), np.cos(1.5 * t), -t])
    numbers = F + np.sqrt(truth) * rng.standard_normal(F.shape)
    answer, grade = (2 * t + rng.standard_normal(N) for _ in range(2))
    Y = np.column_stack([numbers, answer > 0, np.digitize(grade, [-1.5, 0, 1.5])]).astype(float)
    Y[:, 1:][rng.random((N, 7)) < 0.1] = np.nan
    return t, Y, truth


@pytest.fixture(scope="module")
def ten_fits():
    """Ten draws of the mixed table, fitted: the hidden variables, the models, the true variances."""
    fits = []
    for seed in range(10):
        t, Y, truth = hidden_table(seed)
        noise = [*(Gaussian(0.5) for _ in truth), Probit(), Ordinal()]
        fits.append((t, SparseGPLVM(1, n_active=80, max_iter=6, noise=noise).fit(Y), truth))
    return fits


@pytest.mark.long
def test_variances_are_learnt_on_ten_draws(ten_fits):
    learnt = np.array(
        [[float(model.variance) for model in fit.noise_.models[:6]] / truth for _, fit, truth in ten_fits]
    )
    near = np.abs(np.log(learnt)) < np.log(1.5)
    old = np.abs(np.log(0.5 / ten_fits[0][2])) < np.log(1.5)
    print(f"variances within a factor 1.5 of the truth: {near.sum()} of 60; those that stayed: {old.sum()} of 6")
    assert near.sum() >= 48 and old.sum() == 0
    assert np.abs(np.log(learnt)).max() < np.log(2.5)  # and none collapses


@pytest.mark.long
def test_the_hidden_variable_is_found_on_ten_draws(ten_fits):
    found = np.array([abs(np.corrcoef(t, fit.embedding_[:, 0])[0, 1]) for t, fit, _ in ten_fits])
    print(f"correlation with the hidden variable: {found.min():.3f} to {found.max():.3f} on ten draws")
    assert np.sum(found > 0.95) >= 8 and found.min() > 0.85


def test_a_variance_that_is_held_stays():
    _, Y, _ = hidden_table(0)
    noise = [Gaussian(0.5, fixed="variance"), *(Gaussian(0.5) for _ in range(5)), Probit(), Ordinal()]
    model = SparseGPLVM(1, n_active=20, max_iter=1, noise=noise).fit(Y)
    learnt = [float(one.variance) for one in model.noise_.models[:6]]
    assert learnt[0] == 0.5 and all(one != 0.5 for one in learnt[1:])
    assert repr(noise[0]) == "Gaussian(variance=0.5, mean=None, fixed='variance')"
    with pytest.raises(ValueError, match="Gaussian learns mean, variance and can hold that"):
        Gaussian(0.1, fixed="width")


@pytest.mark.identity
def test_a_scale_is_a_change_of_units():
    rng = np.random.default_rng(3)
    Y, mean, variance = rng.standard_normal((5, 2)), rng.standard_normal((5, 2)), rng.uniform(0.1, 1, (5, 2))
    s = np.array([2.0, 30.0])
    plain, scaled = Gaussian(0.3, mean=0.5), Gaussian(0.3 * s**2, mean=0.5 * s, scale=s)
    a, b = plain.evaluate(Y, mean, variance), scaled.evaluate(Y * s, mean, variance)
    assert_allclose(b.log_partition, a.log_partition - np.log(s))
    assert_allclose(b.g, a.g)
    assert_allclose(b.nu, a.nu)
    for ask in ("predict", "deviation", "signal_deviation"):
        assert_allclose(getattr(scaled, ask)(mean, variance), s * getattr(plain, ask)(mean, variance))
    assert_allclose(scaled.sample(mean, 0), s * plain.sample(mean, 0))


@pytest.mark.gradient
@pytest.mark.parametrize("fixed", [(), "variance", "mean", ["mean", "variance"]], ids=repr)
def test_theta_has_its_gradient_and_what_is_fixed_is_not_learnt(fixed):
    rng = np.random.default_rng(4)
    Y, mean, variance = rng.standard_normal((6, 2)), rng.standard_normal((6, 2)), rng.uniform(0.1, 1, (6, 2))
    noise = Gaussian([0.3, 0.5], mean=[0.1, -0.2], scale=[2.0, 0.5], fixed=fixed)
    theta, h = noise.theta, 1e-6
    assert theta.size == 4 and noise.is_free.sum() == 4 - 2 * len(noise.fixed)
    value = [np.sum(noise.with_theta(theta + e).log_partition(Y, mean, variance)) for e in h * np.eye(theta.size)]
    less = [np.sum(noise.with_theta(theta - e).log_partition(Y, mean, variance)) for e in h * np.eye(theta.size)]
    assert_allclose(noise.theta_gradient(Y, mean, variance), (np.array(value) - less) / (2 * h), rtol=1e-5, atol=1e-6)
    learnt = noise.learn(Y, mean, variance)
    assert learnt.fixed == noise.fixed
    for name in ("mean", "variance"):
        assert np.array_equal(getattr(learnt, name), getattr(noise, name)) == (name in noise.fixed)


@pytest.mark.parametrize("kind", ["object", "boolean"])
@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
def test_true_and_false_come_back_as_they_were(model, kind):
    pandas = pytest.importorskip("pandas")
    _, table, _ = people()
    table["smoker"] = (table["smoker"] == table["smoker"].iloc[0]).astype(kind)
    gappy = table.copy()
    gappy.loc[gappy.index[::5], "smoker"] = pandas.NA if kind == "boolean" else np.nan
    filled = clone(model).fit(gappy).impute(gappy)
    assert filled["smoker"].dtype == gappy["smoker"].dtype and set(filled["smoker"]) == {True, False}
    assert np.mean(filled["smoker"].to_numpy(bool) == table["smoker"].to_numpy(bool)) > 0.9


def test_a_table_of_numbers_comes_back_as_a_table():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    Y = pandas.DataFrame(rng.standard_normal((40, 3)), columns=list("abc"), index=np.arange(40) + 7)
    Y = Y.mask(rng.uniform(size=Y.shape) < 0.1)
    for model in (PPCA(1), GTM(grid=(5, 5), basis=(2, 2)), DiscreteGTM(grid=(5, 5), basis=(2, 2))):
        filled, std = model.fit(Y).impute(Y, return_std=True)
        for one in (filled, std, model.impute(Y)):
            assert isinstance(one, pandas.DataFrame) and one.index.equals(Y.index) and list(one) == list("abc")
        assert filled.where(Y.notna()).equals(Y) and not filled.isna().any(axis=None)
        model.fit(Y.to_numpy())
        assert isinstance(model.impute(Y.to_numpy()), np.ndarray)
    laws = MinorComponents(1).fit(Y.fillna(0.0))
    assert isinstance(laws.impute(Y), pandas.DataFrame)
