"""Deviations of filled gaps: as large as the errors, measured by a second fit."""

import pickle

import numpy as np
import pytest
from common import people
from models import CLASSES, QUICK
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.base import clone

from gplvm_edu import GPLVM, GTM, PPCA, DiscreteGTM, SparseGPLVM, TSNEPriorGPLVM, calibration, datasets, tables
from gplvm_edu.base import MapModel
from gplvm_edu.calibration import deviation_factor, hidden_entries, measured_factor, second_fit

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SMALL = {"grid": (8, 8), "basis": (3, 3)}


def wine(seed=0, share=0.2, n=178):
    """Standardised wines, and the same with entries taken out."""
    rng = np.random.default_rng(seed)
    truth = datasets.load_table("wine").data[rng.permutation(178)[:n]]
    return truth, np.where(rng.uniform(size=truth.shape) < share, np.nan, truth)


# ---------------------------------------------------------------------- the factor
@pytest.mark.oracle
def test_the_factor_of_normal_errors_is_how_much_too_small_the_deviations_were():
    rng = np.random.default_rng(0)
    std = rng.uniform(0.5, 2.0, 40_000)
    assert_allclose(deviation_factor(1.7 * std * rng.standard_normal(40_000), std), 1.7, rtol=0.02)


@pytest.mark.identity
@pytest.mark.parametrize("M", [20, 39, 99, 100, 500])
def test_a_new_error_falls_inside_as_often_as_was_asked(M):
    """If M + 1 errors come in any order alike, the factor of M holds the other one with probability k / (M + 1)."""
    rng, inside = np.random.default_rng(M), []
    for _ in range(4000):
        errors = rng.standard_t(2, size=M + 1)  # no Gaussian
        inside.append(abs(errors[-1]) <= norm.ppf(0.975) * deviation_factor(errors[:-1], np.ones(M)))
    k = min(int(np.ceil(0.95 * (M + 1))), M)
    assert abs(np.mean(inside) - k / (M + 1)) < 4 * np.sqrt(0.05 * 0.95 / 4000)


def test_of_hidden_entries_none_is_the_last_of_its_row_or_column():
    rng = np.random.RandomState(0)
    for _ in range(50):
        seen = rng.uniform(size=(6, 4)) < 0.6
        hidden = hidden_entries(seen, 0.9, rng)
        left = seen & ~hidden
        assert not (hidden & ~seen).any()
        assert_array_equal(left.any(axis=1), seen.any(axis=1))
        assert_array_equal(left.any(axis=0), seen.any(axis=0))


# ---------------------------------------------------------------------- models
def test_intervals_that_held_too_little_hold_what_they_should():
    """Five masks of the wines: a GTM's own intervals hold 77 to 86 %, calibrated ones about 95."""
    own, measured = [], []
    for seed in range(5):
        truth, Y = wine(seed)
        model, gaps = GTM().fit(Y), np.isnan(Y)
        for held, calibrated in ((own, False), (measured, True)):
            filled, std = model.impute(Y, return_std=True, calibrated=calibrated)
            held.append(np.mean(np.abs(filled - truth)[gaps] < 1.96 * std[gaps]))
    assert np.mean(own) < 0.85 and 0.93 < np.mean(measured) < 0.98 and min(measured) > 0.9


@pytest.mark.parametrize("name", [name for name in CLASSES if issubclass(CLASSES[name], MapModel)])
def test_a_model_says_whether_it_measures_and_the_factor_multiplies_its_own(name):
    truth, Y = wine(n=60)
    model = CLASSES[name](**QUICK.get(name, {}))
    model.fit(Y if model.allows_missing else truth)
    if not hasattr(model, "impute"):
        return
    filled, std = model.impute(Y, return_std=True)
    same, own = model.impute(Y, return_std=True, calibrated=False)
    assert_array_equal(filled, same)
    assert_array_equal(filled, model.impute(Y))
    gaps = np.isnan(Y)
    factor = model.deviation_factor(new_rows=not model.allows_missing) if model.measures_deviations else 1.0
    assert_allclose(std[gaps], factor * own[gaps], rtol=1e-12)
    assert_allclose(own[gaps], model.reconstruct(Y, noise=True).std[gaps], rtol=1e-12)


def test_who_measures():
    told = {name for name, kind in CLASSES.items() if getattr(kind, "measures_deviations", False)}
    assert told >= {"FactorAnalysis", "GTM", "DiscreteGTM", "SemiLinearGTM", "GPLVM", "SparseGPLVM", "BayesianGPLVM"}
    assert not told & {"PPCA", "DualPPCA", "TSNEPriorGPLVM"}


def test_a_factor_is_measured_once_by_the_same_lots_and_anew_after_a_fit(monkeypatch):
    _, Y = wine(n=60)
    calls = []

    def counted(model, new_rows):
        calls.append(model)
        return measured_factor(model, new_rows)

    monkeypatch.setattr("gplvm_edu.base.measured_factor", counted)
    model = GTM(**SMALL).fit(Y)
    assert model.impute(Y).shape == Y.shape and calls == []  # nobody asked for deviations
    first = model.deviation_factor()
    model.impute(Y, return_std=True)
    assert model.deviation_factor() == first and len(calls) == 1
    assert pickle.loads(pickle.dumps(model)).deviation_factor() == first and len(calls) == 1
    assert clone(model).fit(Y).deviation_factor() == first and len(calls) == 2
    assert model.fit(Y[:50]).deviation_factor() != first and len(calls) == 3


def test_new_rows_have_a_factor_of_their_own():
    truth, Y = wine(n=120)
    new = np.where(np.isnan(Y), np.nan, truth + 0.1)
    model = GTM(**SMALL).fit(Y)
    both = np.vstack([Y[:5], new[:5]])
    gaps = np.isnan(both)
    _, std = model.impute(both, return_std=True)
    _, own = model.impute(both, return_std=True, calibrated=False)
    factors = np.repeat([model.deviation_factor(), model.deviation_factor(new_rows=True)], 5)[:, None]
    assert factors[0] != factors[5]
    assert_allclose(std[gaps], (factors * own)[gaps], rtol=1e-12)


@pytest.mark.long
def test_intervals_of_new_rows_hold_what_they_should():
    """Ten splits of the wines: with the factor of training rows they held 98 %, the model's own 85."""
    held, own = [], []
    for seed in range(10):
        truth, Y = wine(seed)
        model, gaps = GTM().fit(truth[:118]), np.isnan(Y[118:])
        for answer, calibrated in ((held, True), (own, False)):
            filled, std = model.impute(Y[118:], return_std=True, calibrated=calibrated)
            answer.append(np.mean(np.abs(filled - truth[118:])[gaps] < 1.96 * std[gaps]))
    assert np.mean(own) < 0.88 and 0.92 < np.mean(held) < 0.98


def test_a_model_that_is_far_too_sure_says_so():
    truth, _ = wine(n=40)
    model = GTM().fit(truth)
    with pytest.warns(UserWarning, match="GTM is too sure of itself: entries that it did not see were .* times"):
        assert model.deviation_factor() > 5


def test_a_second_fit_that_fails_is_told_and_the_model_s_own_deviations_stay():
    truth, _ = wine(n=40)
    model = GTM(grid=(12, 12), basis=(6, 6), alpha=0.0).fit(truth)
    with pytest.warns(UserWarning, match=r"could not be measured, so the deviations are the model's own.*singular"):
        assert model.deviation_factor() == 1.0


def test_without_a_gap_nothing_is_measured(monkeypatch):
    truth, _ = wine(n=60)
    monkeypatch.setattr("gplvm_edu.base.measured_factor", None)
    _, std = GTM(**SMALL).fit(truth).impute(truth, return_std=True)
    assert not std.any()


def test_a_small_table_can_not_tell():
    _, Y = wine(n=6)
    assert GTM(**SMALL).fit(Y).deviation_factor() == 1.0


def test_where_gaps_can_not_be_fitted_rows_are_left_out(monkeypatch):
    truth, _ = wine(n=60)
    seen = []

    def watched(model, rows, kept):
        seen.append((rows, kept))
        return second_fit(model, rows, kept)

    monkeypatch.setattr(calibration, "second_fit", watched)
    start = np.random.default_rng(0).standard_normal((60, 2))
    model = GPLVM(max_iter=5, init=start).fit(truth)
    assert 0.5 < model.deviation_factor() < 3
    ((rows, kept),) = seen
    assert len(rows) == 48 and kept.sum() == 48
    assert_array_equal(rows, truth[kept])
    second = second_fit(model, rows, kept)
    assert_array_equal(second.init, start[kept])
    assert second.n_iter_ == 5 and len(second.embedding_) == 48


def test_a_second_fit_is_no_longer_than_the_first():
    truth, _ = wine(n=60)
    model = GPLVM(max_iter=100)
    for number, _ in enumerate(model.iterates(truth)):
        if number == 3:
            break
    assert second_fit(model, truth, np.ones(60, bool)).n_iter_ == 3


def test_any_model_with_a_map_can_be_asked():
    truth, Y = wine(n=90)
    model = PPCA(2).fit(Y)
    assert 0.8 < model.deviation_factor() < 1.4  # it needs no factor
    _, own = model.impute(Y, return_std=True)
    _, wider = model.impute(Y, return_std=True, calibrated=True)
    assert_allclose(wider, model.deviation_factor() * own)
    assert TSNEPriorGPLVM(max_iter=3).fit(truth[:40]).deviation_factor() > 0


# ---------------------------------------------------------------------- tables
NOISE = {"height": "gaussian", "smoker": "probit", "grade": "ordinal", "colour": "categorical"}


@pytest.mark.parametrize(
    "model",
    [SparseGPLVM(1, noise=NOISE, n_active=30, max_iter=3), DiscreteGTM(grid=(12,), basis=(4,))],
    ids=["sparse", "discrete"],
)
def test_a_table_with_words_is_fitted_again_as_a_table_and_numbers_alone_are_measured(model):
    *_, table = people(N=160, share=0.15)
    model = clone(model).fit(table)
    assert model.as_given(model.rows_).equals(table)
    numbers = tables.encode(table, model.coding_)
    assert_array_equal(tables.encode(tables.decode(numbers, model.coding_), model.coding_), numbers)
    _, std = model.impute(table, return_std=True)
    _, own = model.impute(table, return_std=True, calibrated=False)
    assert model.deviation_factor() != 1.0
    for name in table:
        factor = model.deviation_factor() if name == "height" else 1.0
        assert_allclose(std[name], factor * own[name], rtol=1e-12)


def test_names_are_kept_where_a_noise_is_given_by_name():
    pandas = pytest.importorskip("pandas")
    _, Y = wine(n=60)
    names = [f"c{j}" for j in range(13)]
    kinds = dict.fromkeys(names, "gaussian")
    model = SparseGPLVM(noise=kinds, n_active=30, max_iter=2).fit(pandas.DataFrame(Y, columns=names))
    assert model.number_columns().all() and model.deviation_factor() > 0


@pytest.mark.bad_input
def test_a_wrong_flag_is_named():
    truth, Y = wine(n=40)
    with pytest.raises(ValueError, match="calibrated must be True or False"):
        PPCA(2).fit(truth).impute(Y, return_std=True, calibrated="yes")
