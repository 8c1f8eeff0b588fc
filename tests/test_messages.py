"""What a new user does wrong in the first half hour, and the sentence that helps."""

import copy
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from models import CLASSES, QUICK
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from gplvm_edu import (
    GPLVM,
    GTM,
    PPCA,
    TSNE,
    BayesianGPLVM,
    ClassicalMDS,
    DiscreteGTM,
    FactorAnalysis,
    GenerativeClassifier,
    Isomap,
    KernelPCA,
    MetricMDS,
    ProbabilisticKernelPCA,
    SparseGPLVM,
    TSNEPriorGPLVM,
    checks,
)
from gplvm_edu.datasets import load_digits, simulate_oil_flow
from gplvm_edu.kernels import RBF
from gplvm_edu.metrics import nearest_neighbour_errors
from gplvm_edu.noise import Gaussian, Probit

pytestmark = [pytest.mark.bad_input, pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")]

LATENT = [name for name in CLASSES if name != "GenerativeClassifier"]
LABELS = np.repeat([0, 1, 2], 20)


def table(N=60, D=3):
    return np.random.default_rng(0).standard_normal((N, D))


def said(work):
    """The warnings of some work that are no ConvergenceWarning, as one text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return " ".join(str(w.message) for w in caught if w.category is UserWarning)


# ---------------------------------------------------------------------------------------------- not fitted yet
@pytest.mark.parametrize("name", CLASSES)
def test_what_only_a_fit_can_tell_is_missed_with_a_sentence(name):
    model = CLASSES[name](**QUICK.get(name, {}))
    for attribute in ("embedding_", "relevance_", "map_", "history_"):
        with pytest.raises(NotFittedError, match=rf"{name} is not fitted yet, so it has no {attribute}: call fit\(Y"):
            getattr(model, attribute)
        assert not hasattr(model, attribute)
        assert getattr(model, attribute, 3) == 3
    with pytest.raises(NotFittedError, match="not fitted yet"):
        check_is_fitted(model)


@pytest.mark.parametrize("name", CLASSES)
def test_copies_of_an_unfitted_model_are_unfitted_and_whole(name):
    model = CLASSES[name](**QUICK.get(name, {}))
    for other in (clone(model), copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.get_params() == model.get_params()
        with pytest.raises(NotFittedError):
            check_is_fitted(other)
    for attribute in ("__sklearn_is_fitted__", "_repr_png_", "__len__", "__array__", "embeding", "colour"):
        with pytest.raises(AttributeError) as told:
            getattr(model, attribute)
        assert not isinstance(told.value, NotFittedError)


def test_the_classifier_asks_for_labels_too():
    with pytest.raises(NotFittedError, match=r"call fit\(Y, y\) first"):
        _ = GenerativeClassifier().classes_


def test_a_property_of_an_unfitted_model_and_a_sample_say_so():
    with pytest.raises(NotFittedError, match=r"no relevance_: call fit\(Y\) first"):
        _ = BayesianGPLVM().relevance_
    with pytest.raises(NotFittedError, match="not fitted yet"):
        GPLVM().sample()


def test_what_a_fitted_model_does_not_have_is_no_matter_of_fitting():
    with pytest.raises(AttributeError, match="no attribute 'relevance_'") as told:
        _ = PPCA().fit(table()).relevance_
    assert not isinstance(told.value, NotFittedError)


# ---------------------------------------------------------------------------------------------- labels
def test_labels_of_text_are_labels():
    iris = load_iris()
    names = iris.target_names[iris.target]
    for labels in (names, names.tolist(), names.astype(object)):
        found = nearest_neighbour_errors(iris.data, labels)
        assert found == nearest_neighbour_errors(iris.data, iris.target)
    model = GenerativeClassifier(**QUICK["GenerativeClassifier"], random_state=0).fit(iris.data[::3], names[::3])
    assert set(model.predict(iris.data)) <= set(iris.target_names)
    assert model.score(iris.data, names) > 0.8


@pytest.mark.parametrize("name", CLASSES)
def test_exchanged_arguments_are_named(name):
    with pytest.raises(ValueError, match=r"first argument has shape \(60,\) and the second \(60, 3\).*data come first"):
        CLASSES[name]().fit(LABELS, table())


def test_labels_alone_are_no_data():
    with pytest.raises(ValueError, match=r"Y has shape \(60,\) and holds 3 different whole numbers, as labels do"):
        PPCA().fit(LABELS)
    with pytest.raises(ValueError, match="Expected 2D array"):
        PPCA().fit(table()[:, 0])


def test_a_column_of_labels_is_doubted():
    assert "one column, and in it 3 different whole numbers in 60 rows: are these the labels? PPCA" in said(
        lambda: PPCA(1).fit(LABELS[:, None])
    )
    assert said(lambda: PPCA(1).fit(table(D=1))) == ""
    assert said(lambda: PPCA(1).fit(np.arange(60.0)[:, None])) == ""
    assert said(lambda: PPCA(1).fit(np.c_[LABELS, table(D=1)])) == ""


def test_a_column_of_labels_is_data_where_a_column_has_a_kind():
    Y = (LABELS[:, None] > 0).astype(float)
    assert said(lambda: DiscreteGTM(grid=(4,), basis=(2,), max_iter=2).fit(Y)) == ""
    assert said(lambda: SparseGPLVM(1, n_active=5, max_iter=1, noise=Probit()).fit(Y)) == ""


# ---------------------------------------------------------------------------------------------- dimensions
REDUCING = [
    GPLVM(4, max_iter=2),
    SparseGPLVM(4, n_active=10, max_iter=1),
    TSNE(4, max_iter=5),
    TSNEPriorGPLVM(4, max_iter=1, init="pca"),
    MetricMDS(4, max_iter=2),
    GTM(grid=(2, 2, 2, 2), basis=(1, 1, 1, 1), max_iter=2),
]
OTHERS = [BayesianGPLVM(4, n_inducing=5, max_iter=2), KernelPCA(4), ClassicalMDS(4), Isomap(4, n_neighbors=20)]
OTHERS += [ProbabilisticKernelPCA(4)]


@pytest.mark.parametrize("model", REDUCING, ids=lambda model: type(model).__name__)
def test_more_latent_dimensions_than_columns_are_doubted(model):
    text = said(lambda: clone(model).fit(table(30)))
    assert "asks for 4 latent dimensions, and Y has 3 columns: " in text
    assert ("grid=(2, 2, 2, 2) asks" in text) == isinstance(model, GTM)
    assert said(lambda: clone(model).fit(table(30, 4))) == ""


@pytest.mark.parametrize("model", OTHERS, ids=lambda model: type(model).__name__)
def test_where_more_dimensions_than_columns_have_a_use_nothing_is_said(model):
    assert said(lambda: clone(model).fit(table(30))) == ""


def test_a_matrix_of_distances_has_no_columns():
    Y = table(30)
    D = np.sqrt(np.sum((Y[:, None] - Y) ** 2, axis=-1))
    assert said(lambda: MetricMDS(4, metric="distance", max_iter=2).fit(1e4 * D)) == ""


# ---------------------------------------------------------------------------------------------- units
@pytest.mark.parametrize("name", LATENT)
def test_columns_of_very_different_units_are_doubted(name):
    wine = load_wine().data[::6]
    text = said(lambda: CLASSES[name](**QUICK.get(name, {})).fit(wine))
    if CLASSES[name] is FactorAnalysis:
        assert text == ""
    else:
        says = f"Half of the columns of Y vary less than column 12 by a factor of 100 or more .*{name} measures all"
        with pytest.warns(UserWarning, match=says):
            CLASSES[name](**QUICK.get(name, {})).fit(wine)
        assert "StandardScaler" in text and "FactorAnalysis" in text
    assert said(lambda: CLASSES[name](**QUICK.get(name, {})).fit(StandardScaler().fit_transform(wine))) == ""


def test_the_warning_points_to_the_line_that_fits():
    with pytest.warns(UserWarning, match="Half of the columns") as caught:
        PPCA().fit(load_wine().data)
    assert [w.filename for w in caught] == [__file__]


def test_noise_models_and_kernels_of_the_reader_s_own_are_not_doubted():
    wine = load_wine().data[::6]
    noises = [Gaussian(1.0)] * wine.shape[1]
    assert said(lambda: SparseGPLVM(n_active=10, max_iter=1, noise=noises).fit(wine)) == ""
    assert said(lambda: KernelPCA(kernel=RBF(inverse_width=1e-5)).fit(wine)) == ""
    assert said(lambda: ProbabilisticKernelPCA(kernel=RBF(inverse_width=1e-5)).fit(wine)) == ""


@pytest.mark.parametrize("Y", [load_digits().data, load_iris().data, simulate_oil_flow(300, random_state=0).data])
def test_the_course_s_own_data_are_not_doubted(Y):
    for rows in (Y, Y[:50]):
        for unit in (1e-8, 1.0, 1e8):
            assert said(lambda rows=rows, unit=unit: checks.comparable_scales(unit * rows, "PPCA")) == ""


def test_constant_columns_and_gaps_decide_nothing():
    Y = np.c_[table(), np.full((60, 5), 7.0), np.full(60, np.nan)]
    Y[3, 0] = np.nan
    assert said(lambda: checks.comparable_scales(Y, "PPCA")) == ""
    Y[:, 1] *= 1e4
    assert "column 1 by" in said(lambda: checks.comparable_scales(Y, "PPCA"))
    assert "column 'b' by" in said(lambda: checks.comparable_scales(Y, "PPCA", list("abcdefghi")))
    assert "deviation is 569" in said(lambda: checks.comparable_scales(load_breast_cancer().data, "PPCA"))


# ---------------------------------------------------------------------------------------------- text
def test_text_in_a_table_is_named_with_its_column():
    with pytest.raises(ValueError, match=r"Column 1 of Y holds 'red', which is no number.*DiscreteGTM"):
        PPCA(1).fit([[1.0, "red"], [2.0, "blue"], [0.0, "red"]])
    model = PPCA(1).fit(table())
    with pytest.raises(ValueError, match="Column 2 of Y holds 'x'"):
        model.transform(np.array([[0.0, "1", "x"]], dtype=object))


def test_text_in_a_data_frame_is_named_with_its_column():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"length": [1.0, 2.0, 3.0], "kind": ["a", "b", "a"]})
    with pytest.raises(ValueError, match="Column 'kind' of Y holds 'a'"):
        PPCA(1).fit(frame)
    with pytest.warns(UserWarning, match="Half of the columns of Y vary less than column 'proline'"):
        PPCA(1).fit(load_wine(as_frame=True).data)


@pytest.mark.parametrize("path", ["wine.csv", Path("data") / "wine.csv", b"wine.csv"], ids=repr)
def test_an_explorer_says_what_to_do_with_a_path(path):
    explore_gplvm = pytest.importorskip("gplvm_widgets").explore_gplvm
    with pytest.raises(ValueError, match=r"an array or a table, got .*wine\.csv.*read_table\(open\(path, 'rb'\)"):
        explore_gplvm(path)


def test_what_the_explorer_says_of_a_path_works(tmp_path):
    widgets = pytest.importorskip("gplvm_widgets.gplvm")
    path = tmp_path / "own.csv"
    path.write_text("a,b,kind\n" + "".join(f"{n},{n * n},{'xy'[n % 2]}\n" for n in range(12)))
    found = widgets.read_table(path.read_bytes())
    explorer = widgets.explore_gplvm(found.data, found.labels)
    assert explorer.own.names == ("x", "y")


def test_an_explorer_says_what_to_do_with_a_column_of_text():
    explore_gplvm = pytest.importorskip("gplvm_widgets").explore_gplvm
    rows = [[float(n), float(n * n), "ab"[n % 2]] for n in range(12)]
    with pytest.raises(ValueError, match=r"column 2 holds 'a'.*explore_gplvm\(Y, labels\)"):
        explore_gplvm(rows)
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="column 'kind' holds 'a'"):
        explore_gplvm(pandas.DataFrame(rows, columns=["length", "width", "kind"]))


def test_an_explorer_takes_labels_of_text():
    explore_gplvm = pytest.importorskip("gplvm_widgets").explore_gplvm
    iris = load_iris()
    explorer = explore_gplvm(iris.data, iris.target_names[iris.target].tolist())
    assert explorer.own.names == tuple(iris.target_names)
    assert np.array_equal(explorer.own.target, iris.target)


# ---------------------------------------------------------------------------------------------- found by a new user
def test_words_and_none_in_the_place_of_data():
    with pytest.raises(ValueError, match=r"Y has shape \(60,\) and holds words, as labels do. Pass the data"):
        PPCA().fit(np.array(["red", "green", "blue"])[LABELS])
    with pytest.raises(ValueError, match="Y is None: pass the data"):
        PPCA().fit(None)


def test_infinity_is_found_where_it_stands():
    Y = table()
    Y[3, 1] = np.inf
    for model in (PPCA(), GTM(), GPLVM()):
        with pytest.raises(ValueError, match=r"Y contains infinity .* at row 3, column 1"):
            model.fit(Y)


def test_a_column_of_dates_is_named():
    pandas = pytest.importorskip("pandas")
    Y = pandas.DataFrame({"a": table()[:, 0], "day": pandas.date_range("2020-01-01", periods=60)})
    with pytest.raises(ValueError, match="Column 'day' of Y holds dates or times"):
        PPCA(1).fit(Y)


def test_a_gap_written_as_text_is_told_from_a_category():
    pandas = pytest.importorskip("pandas")
    Y = pandas.DataFrame({"a": table()[:, 0], "b": ["?", *map(str, table()[1:, 1])]})
    with pytest.raises(ValueError, match=r"Column 'b' of Y holds '\?'.*to_numeric.*DiscreteGTM and SparseGPLVM"):
        PPCA(1).fit(Y)


@pytest.mark.parametrize(
    "make, advice",
    [
        (lambda: GTM(n_components=2), r"as many latent dimensions as its grid"),
        (lambda: GPLVM(latent_dim=2), "Did you mean n_components?"),
        (lambda: BayesianGPLVM(num_inducing=20), "Did you mean n_inducing?"),
        (lambda: GPLVM(n_iter=20), "Did you mean max_iter?"),
    ],
)
def test_names_of_other_libraries_are_known(make, advice):
    with pytest.raises(TypeError, match=advice):
        make()


def test_a_kernel_in_the_place_of_a_number():
    with pytest.raises(ValueError, match=r"n_components must be a whole number.*A kernel goes by its name, kernel="):
        GPLVM(RBF()).fit(table())


def test_numbers_of_very_different_units_are_seen_beside_answers():
    answers = np.random.default_rng(0).integers(0, 2, (60, 4))
    units = table() * [1.0, 1.0, 1e4]
    assert "vary less than column 2" in said(lambda: DiscreteGTM(grid=(4, 4), basis=(2, 2), max_iter=2).fit(units))
    mixed = np.column_stack([answers, units])
    assert "vary less than column 6" in said(lambda: DiscreteGTM(grid=(4, 4), basis=(2, 2), max_iter=2).fit(mixed))
    for quiet in (answers, np.column_stack([answers, 1e4 * table()])):
        assert said(lambda Y=quiet: DiscreteGTM(grid=(4, 4), basis=(2, 2), max_iter=2).fit(Y)) == ""


def test_a_model_that_found_no_signal_says_so():
    Y = StandardScaler().fit_transform(load_wine().data)
    model = BayesianGPLVM(random_state=0).set_params(kernel__rbf__inverse_width=10.0)
    assert "found no signal" in said(lambda: model.fit(Y))
    assert len(model.active_dims_) == 0 and not model.has_signal()
    model = BayesianGPLVM(random_state=0, max_iter=30)
    assert said(lambda: model.fit(Y)) == "" and model.has_signal() and len(model.active_dims_) > 0
