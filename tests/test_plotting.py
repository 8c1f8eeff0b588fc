"""Pictures in one call: what a Display draws is what the model answers, for every estimator, and its errors help."""

import subprocess
import sys
import warnings
from functools import cache

import matplotlib
import nbclient
import nbformat
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from models import CLASSES, QUICK
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gplvm_edu import GPLVM, GTM, PPCA, BayesianGPLVM, GenerativeClassifier, magnification_factors, plotting
from gplvm_edu.base import IterativeFit
from gplvm_edu.maps import grid_points
from gplvm_edu.plane import held_at, plane_points
from gplvm_edu.plotting import (
    MARKERS,
    PALETTE,
    ClassMapDisplay,
    Display,
    HistoryDisplay,
    LatentDisplay,
    MagnificationDisplay,
    RelevanceDisplay,
    new_figure,
)

LATENT = [name for name in CLASSES if not issubclass(CLASSES[name], ClassifierMixin)]
WORDS = np.array(["red", "rosé", "white"])
pytestmark = pytest.mark.filterwarnings("ignore:With n_neighbors")


@cache
def data(N=45, D=5):
    """A bent sheet in five dimensions, with a little noise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.5, 1.5, (N, 2))
    Y = X @ rng.standard_normal((2, D)) + X**2 @ (0.4 * rng.standard_normal((2, D)))
    return Y + 0.1 * rng.standard_normal((N, D))


LABELS = WORDS[np.arange(45) % 3]


@cache
def fitted(name, **parameters):
    """One fitted model of each kind."""
    seed = {"random_state": 0} if "random_state" in CLASSES[name]().get_params() else {}
    if name == "QuadraticPCA":
        parameters = {"n_components": 2, **parameters}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return CLASSES[name](**{**QUICK.get(name, {}), **seed, **parameters}).fit(data())


def axes():
    return new_figure()[1]


def offsets(scatters):
    return [np.asarray(scatter.get_offsets()) for scatter in scatters]


# ---------------------------------------------------------------------- the latent picture
@pytest.mark.identity
@pytest.mark.parametrize("name", LATENT)
def test_every_estimator_with_an_embedding_has_a_picture_that_is_its_own_answer(name):
    model = fitted(name)
    display = LatentDisplay.from_estimator(model, labels=LABELS, n_grid=9, ax=axes())
    for k, X in enumerate(offsets(display.scatters_)):
        assert_array_equal(X, model.embedding_[LABELS == WORDS[k], :2])
        assert to_hex(display.scatters_[k].get_facecolor()[0]).upper() == PALETTE[k].upper()
    assert [text.get_text() for text in display.legend_.get_texts()] == WORDS.tolist()
    assert [handle.get_marker() for handle in display.legend_.legend_handles] == list(MARKERS[:3])
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("latent dimension 1", "latent dimension 2")
    check_background(model, display)
    display.figure_.canvas.draw()  # nothing in it that can't be drawn


def check_background(model, display):
    """Log precision; log magnification where the map is certain; nothing where that says nothing, or without a map."""
    X = plane_points(grid_points(display.limits, 9), display.dims, held_at(model)) if hasattr(model, "map_") else None
    if X is None or (np.ptp(magnification_factors(model, X)) < 1e-9 and model.map_.certain_because):
        assert display.image_ is None and display.colorbar_ is None
        assert (model.map_.certain_because in display.remark) if X is not None else display.remark == ""
        return
    certain = model.map_.certain_because
    wanted = np.log(magnification_factors(model, X)) if certain else model.log_precision(X)
    assert_allclose(np.asarray(display.image_.get_array()), wanted.reshape(9, 9), rtol=1e-9, atol=1e-12)
    assert display.colorbar_.ax.get_ylabel().startswith("log magnification" if certain else "log precision")
    assert tuple(display.image_.get_extent()) == display.limits


def test_some_of_each_background_was_seen():
    names = {name: LatentDisplay.from_estimator(fitted(name), n_grid=3, ax=axes()).background_name for name in LATENT}
    assert {"GPLVM", "SparseGPLVM", "TSNEPriorGPLVM", "BayesianGPLVM", "DualPPCA", "GaussianProcessGTM"} <= {
        name for name in names if names[name].startswith("log precision")
    }
    assert {"GTM", "ManifoldAlignedGTM", "BayesianGTM", "SemiLinearGTM", "DiscreteGTM"} <= {
        name for name in names if names[name].startswith("log magnification")
    }
    assert {"PPCA", "FactorAnalysis", "TSNE", "Isomap", "BatchSOM"} <= {name for name in names if not names[name]}


def test_the_sheet_of_a_grid_is_shaded_between_its_nodes_and_no_farther():
    assert LatentDisplay.from_estimator(fitted("GTM"), ax=axes()).limits == (-1, 1, -1, 1)
    assert LatentDisplay.from_estimator(fitted("SemiLinearGTM"), ax=axes()).limits[:2] == (-1, 1)


@pytest.mark.parametrize("kind", ["array", "list", "numbers", "column", "names", "Series", "Categorical"])
def test_labels_of_any_kind(kind):
    numbers, order = np.arange(45) % 3, WORDS.tolist()
    labels, names = LABELS, None
    if kind in ("Series", "Categorical"):
        pandas = pytest.importorskip("pandas")
        order = order if kind == "Series" else ["white", "red", "rosé"]
        index = np.arange(45)[::-1]
        labels = pandas.Series(LABELS, index) if kind == "Series" else pandas.Categorical(LABELS, [*order, "orange"])
    elif kind != "array":
        labels = {"list": LABELS.tolist(), "numbers": numbers, "column": LABELS[:, None], "names": numbers}[kind]
        names = order if kind == "names" else None
        order = ["0", "1", "2"] if kind == "numbers" else order
    display = LatentDisplay.from_estimator(fitted("PPCA"), labels=labels, names=names, ax=axes())
    assert [text.get_text() for text in display.legend_.get_texts()] == order
    whose = numbers if kind == "numbers" else LABELS
    for name, X in zip(order, offsets(display.scatters_), strict=True):
        assert_array_equal(X, fitted("PPCA").embedding_[whose.astype(str) == name])


def test_without_labels_there_is_one_colour_and_no_legend():
    display = LatentDisplay.from_estimator(fitted("GPLVM"), n_grid=3, ax=axes())
    assert display.legend_ is None and len(display.scatters_) == 1
    assert repr(display) == "LatentDisplay(45 rows over log precision (light: sure))"


def test_more_classes_than_colours_are_still_told_apart():
    kinds = [f"{k:02}" for k in np.arange(60) % 30]
    display = LatentDisplay(np.random.default_rng(0).standard_normal((60, 2)), kinds).plot(axes())
    looks = {(to_hex(s.get_facecolor()[0]), s.get_paths()[0].vertices.tobytes()) for s in display.scatters_}
    assert len(looks) == 30
    named = [text.get_text() for text in display.legend_.get_texts()]
    assert sorted(named) == sorted(["and 17 more", *sorted(set(kinds))[:13]])


# ---------------------------------------------------------------------- labels on a scale, and labels that are missing
TEMPERATURES = np.linspace(-3.0, 19.0, 45)


@pytest.mark.parametrize("kind", ["fractions", "whole", "list", "Series", "nullable"])
def test_many_numbers_shade_the_points_and_have_a_colour_bar(kind):
    labels = {"whole": np.arange(45), "list": [None, *TEMPERATURES[1:]]}.get(kind, TEMPERATURES)
    if kind in ("Series", "nullable"):
        pandas = pytest.importorskip("pandas")
        labels = pandas.Series(TEMPERATURES, np.arange(45)[::-1], name="degrees")
        labels = labels.where(labels > 0).convert_dtypes() if kind == "nullable" else labels
    display = LatentDisplay.from_estimator(fitted("GPLVM"), labels=labels, n_grid=3, ax=axes())
    known = np.array([not plotting.is_missing(label) for label in labels])
    numbers = np.array([float(label) for label in np.asarray(labels, object)[known]])
    *grey, shaded = display.scatters_
    assert_allclose(np.asarray(shaded.get_array()), numbers)
    assert_array_equal(np.asarray(shaded.get_offsets()), fitted("GPLVM").embedding_[known])
    bar = display.label_bar_
    assert (bar.vmin, bar.vmax) == (numbers.min(), numbers.max()) and bar is not display.colorbar_
    assert bar.ax.get_ylabel() == ("degrees" if kind in ("Series", "nullable") else "label")
    assert f"45 rows shaded from {numbers.min():g} to {numbers.max():g}" in repr(display)
    check_grey(display, grey, 45 - known.sum())
    display.figure_.canvas.draw()


def check_grey(display, grey, n_unknown):
    """Rows whose label is missing, in grey, and a word for them; nothing where there are none."""
    assert sum(len(X) for X in offsets(grey)) == n_unknown
    shown = [] if display.legend_ is None else [text.get_text() for text in display.legend_.get_texts()]
    assert shown.count("not known") == (n_unknown > 0)
    assert (f"({n_unknown} not known)" in repr(display)) == (n_unknown > 0)
    assert {to_hex(scatter.get_facecolor()[0]) for scatter in grey} <= {plotting.QUIET}


@pytest.mark.parametrize(
    "labels, n_classes",
    [
        (np.arange(45) % 20, 20),
        (0.5 * (np.arange(45) % 10), 10),
        (np.arange(45) % 2 == 0, 2),
        (np.arange(45.0) % 3, 3),
        ([str(t) for t in TEMPERATURES], 45),
        ([*TEMPERATURES[1:], "warm"], 45),
    ],
)
def test_a_few_numbers_truth_values_and_texts_are_classes(labels, n_classes):
    display = LatentDisplay.from_estimator(fitted("PPCA"), labels=labels, ax=axes())
    assert len(display.scatters_) == len(display.classes.names) == n_classes and display.label_bar_ is None


def test_names_and_categories_make_classes_of_many_numbers():
    pandas = pytest.importorskip("pandas")
    for labels, names in ((np.arange(45), [f"town {k}" for k in range(45)]), (pandas.Categorical(range(45)), None)):
        display = LatentDisplay.from_estimator(fitted("PPCA"), labels=labels, names=names, ax=axes())
        assert len(display.scatters_) == 45 and display.label_bar_ is None


def test_new_rows_share_the_scale_of_the_training_rows():
    Y, new = data()[:4] + 0.05, [100.0, np.nan, -np.inf, 0.5]
    display = LatentDisplay.from_estimator(fitted("PPCA"), Y, new, train_labels=TEMPERATURES, ax=axes())
    assert {s.get_clim() for s in (display.scatters_[-1], display.new_scatters_[-1])} == {(-3.0, 100.0)}
    assert_allclose(np.asarray(display.new_scatters_[-1].get_array()), [100.0, -3.0, 0.5])
    check_grey(display, display.new_scatters_[:1], 1)
    alone = LatentDisplay.from_estimator(fitted("PPCA"), data() + 0.05, TEMPERATURES, ax=axes())
    assert [text.get_text() for text in alone.legend_.get_texts()] == ["training rows", "new rows"]
    assert alone.label_bar_ is not None and len(alone.scatters_) == 1


@pytest.mark.parametrize("kind", ["NaN", "None", "names", "Categorical", "NA"])
def test_a_missing_label_is_grey_and_no_class(kind):
    labels, names = np.where(np.arange(45) < 7, None, LABELS), None
    if kind in ("Categorical", "NA"):
        pandas = pytest.importorskip("pandas")
        labels = pandas.Categorical(labels) if kind == "Categorical" else pandas.array(list(labels), "string")
    elif kind == "names":
        labels, names = np.where(np.arange(45) < 7, np.nan, np.arange(45) % 3), WORDS
    elif kind == "NaN":
        labels = [np.nan if label is None else label for label in labels]
    display = LatentDisplay.from_estimator(fitted("PPCA"), labels=labels, names=names, ax=axes())
    assert [text.get_text() for text in display.legend_.get_texts()] == [*WORDS, "not known"]
    check_grey(display, display.scatters_[:1], 7)
    for k, X in enumerate(offsets(display.scatters_[1:])):
        assert_array_equal(X, fitted("PPCA").embedding_[7:][LABELS[7:] == WORDS[k]])


def test_labels_that_are_all_missing_leave_all_rows_grey():
    display = LatentDisplay.from_estimator(fitted("PPCA"), labels=[None] * 45, ax=axes())
    check_grey(display, display.scatters_, 45)


@pytest.mark.identity
def test_a_row_without_a_label_claims_no_node():
    model, labels = fitted("GTM"), np.where(np.arange(45) < 7, None, LABELS)
    display = ClassMapDisplay.from_estimator(model, labels=labels, ax=axes())
    alone = ClassMapDisplay.from_estimator(model, data()[7:], LABELS[7:], ax=axes())
    assert_allclose(display.shares, alone.shares, atol=1e-12)
    assert_allclose(display.counts, alone.counts, atol=1e-12)
    assert [text.get_text() for text in display.legend_.get_texts()] == [*WORDS, "not known"]
    assert len(display.scatters_[0].get_offsets()) == 7


def test_new_rows_are_placed_by_transform_and_drawn_larger_with_an_edge():
    model, Y, kinds = fitted("GTM"), data()[:6] + 0.05, ["white", "red", "white", "red", "new", "new"]
    display = LatentDisplay.from_estimator(model, Y, kinds, train_labels=LABELS, n_grid=3, ax=axes())
    X = model.transform(Y)
    assert_allclose(np.vstack(offsets(display.new_scatters_)), X[[4, 5, 1, 3, 0, 2]])
    assert all(new.get_sizes()[0] > 2 * display.scatters_[0].get_sizes()[0] for new in display.new_scatters_)
    assert all(new.get_linewidths()[0] > 0 for new in display.new_scatters_)
    assert [text.get_text() for text in display.legend_.get_texts()] == ["new", "red", "rosé", "white", "new rows"]
    colours = {to_hex(s.get_facecolor()[0]) for s in (display.scatters_[0], display.new_scatters_[1])}
    assert len(colours) == 1  # red is red


def test_new_rows_alone_have_labels():
    display = LatentDisplay.from_estimator(fitted("PPCA"), data()[:4] + 0.05, LABELS[:4], ax=axes())
    assert [text.get_text() for text in display.legend_.get_texts()] == [*WORDS, "training rows", "new rows"]
    assert len(display.scatters_) == 1 and len(display.scatters_[0].get_offsets()) == 45


def test_training_rows_passed_again_are_drawn_where_they_were_fitted():
    display = LatentDisplay.from_estimator(fitted("GPLVM"), data().tolist(), LABELS, n_grid=3, ax=axes())
    assert len(display.new_positions) == 0
    assert_array_equal(offsets(display.scatters_)[0], fitted("GPLVM").embedding_[::3])


def test_a_pipeline_is_asked_for_its_last_step():
    pipe = make_pipeline(StandardScaler(), PPCA(2)).fit(data())
    display = LatentDisplay.from_estimator(pipe, data()[:5], LABELS[:5], ax=axes())
    assert_allclose(np.vstack(offsets(display.new_scatters_)), pipe.transform(data()[:5])[[0, 3, 1, 4, 2]])


@pytest.mark.identity
def test_the_two_most_relevant_dimensions_are_drawn_and_the_others_held_at_the_prior_mean():
    model = fitted("BayesianGPLVM", n_components=4, max_iter=40)
    display = LatentDisplay.from_estimator(model, n_grid=5, ax=axes())
    first, second = np.argsort(-model.relevance_)[:2]
    assert display.dims == (first, second)
    assert display.ax_.get_xlabel() == f"latent dimension {first + 1}"
    X = np.zeros((25, 4))
    X[:, first], X[:, second] = grid_points(display.limits, 5).T
    assert_allclose(display.background.ravel(), model.log_precision(X), rtol=1e-12)
    assert display.remark == "The other 2 dimensions are held at 0 in the background."
    chosen = LatentDisplay.from_estimator(model, n_grid=3, dims=(3, 1), ax=axes())
    assert_array_equal(chosen.positions, model.embedding_[:, [3, 1]])


def test_rows_on_top_of_one_another_are_counted():
    display = LatentDisplay.from_estimator(fitted("BatchSOM"), ax=axes())
    places = len(np.unique(fitted("BatchSOM").embedding_, axis=0))
    assert f"45 rows at {places} places." in [text.get_text() for text in display.ax_.texts]


# ---------------------------------------------------------------------- the other pictures
def test_relevance_has_a_bar_for_each_dimension_and_the_threshold_of_the_model():
    model = fitted("BayesianGPLVM", n_components=4, max_iter=40)
    display = RelevanceDisplay.from_estimator(model, ax=axes())
    heights = [bar.get_height() for bar in display.bars_]
    assert_allclose(heights, model.relevance_ / model.relevance_.max())
    blue = [k for k, bar in enumerate(display.bars_) if to_hex(bar.get_facecolor()).upper() == PALETTE[0]]
    assert blue == sorted(model.active_dims_)
    assert set(display.line_.get_ydata()) == {model.active_above}
    assert all((heights[k] > model.active_above) == (k in model.active_dims_) for k in range(4))
    assert any("threshold: 0.01 of the largest" in text.get_text() for text in display.legend_.get_texts())


@pytest.mark.parametrize("name", [name for name in LATENT if issubclass(CLASSES[name], IterativeFit)])
def test_history_is_that_of_the_model_and_says_how_it_ended(name):
    model = fitted(name)
    display = HistoryDisplay.from_estimator(model, ax=axes())
    assert_array_equal(display.line_.get_ydata(), model.history_)
    ended = "converged" if model.converged_ else "NOT converged"
    assert f"{type(model).__name__}: {ended} after" in display.legend_.get_texts()[0].get_text()
    display.figure_.canvas.draw()


def test_two_histories_share_a_legend():
    ax = axes()
    HistoryDisplay.from_estimator(fitted("GPLVM"), ax=ax)
    display = HistoryDisplay.from_estimator(fitted("GTM"), ax=ax)
    assert [text.get_text().split(":")[0] for text in display.legend_.get_texts()] == ["GPLVM", "GTM"]


@pytest.mark.identity
@pytest.mark.parametrize("name", ["GTM", "GPLVM", "GaussianProcessGTM", "BayesianGPLVM", "DiscreteGTM", "PPCA"])
@pytest.mark.parametrize("expected", [True, False])
def test_magnification_is_the_logarithm_of_the_factors(name, expected):
    model = fitted(name)
    display = MagnificationDisplay.from_estimator(model, n_grid=7, expected=expected, ax=axes())
    wanted = np.log(magnification_factors(model, grid_points(display.limits, 7), expected)).reshape(7, 7)
    assert_allclose(np.asarray(display.image_.get_array()), wanted, rtol=1e-9, atol=1e-9)
    assert_array_equal(np.asarray(display.scatter_.get_offsets()), model.embedding_)


@pytest.mark.identity
def test_a_plane_of_a_longer_unit_is_magnified_as_its_own_columns_say():
    model = fitted("PPCA", n_components=3)
    display = MagnificationDisplay.from_estimator(model, n_grid=3, dims=(2, 0), ax=axes())
    J = model.jacobian(np.zeros((1, 3)))[0][:, [2, 0]]
    assert_allclose(display.values, 0.5 * np.log(np.linalg.det(J.T @ J)), rtol=1e-9)


@pytest.mark.identity
@pytest.mark.parametrize("name", ["GTM", "DiscreteGTM", "GaussianProcessGTM", "ManifoldAlignedGTM", "BayesianGTM"])
def test_a_class_map_is_the_responsibilities_of_each_class(name):
    model = fitted(name)
    display = ClassMapDisplay.from_estimator(model, labels=LABELS, ax=axes())
    R = model.responsibilities(data())
    claims = np.column_stack([R[:, LABELS == word].sum(axis=1) for word in WORDS])
    assert_allclose(display.shares, claims / R.sum(axis=1, keepdims=True), atol=1e-12)
    assert_allclose(np.vstack(offsets(display.scatters_)), R.T[np.argsort(LABELS, kind="stable")] @ model.nodes_)
    pixels, (left, right, bottom, top) = np.asarray(display.image_.get_array()), display.image_.get_extent()
    across = ((model.nodes_[:, 0] - left) / (right - left) * pixels.shape[1]).astype(int)
    up = ((model.nodes_[:, 1] - bottom) / (top - bottom) * pixels.shape[0]).astype(int)
    for node, pixel in enumerate(pixels[up, across]):
        k = np.argmax(claims[node])
        share = 0.0 if R[node].sum() < 0.1 else display.shares[node, k]
        assert_allclose(1 - pixel, 0.6 * share * (1 - np.array(to_rgb(PALETTE[k]))), atol=1e-12)


def test_nodes_that_nobody_claims_are_white():
    nodes = [[-1, -1], [1, -1], [-1, 1], [1, 1]]
    shares, counts = [[1, 0], [0.2, 0.8], [1, 0], [0, 1]], [5, 5, 0.05, 0.2]
    display = ClassMapDisplay(nodes, shares, counts, np.zeros((2, 2)), ["a", "b"]).plot(axes())
    assert display.winners.tolist() == [0, 1, -1, 1]
    assert np.asarray(display.image_.get_array())[1, 0].tolist() == [1, 1, 1]


def test_the_rows_of_a_class_map_may_be_others():
    model = fitted("GTM")
    display = ClassMapDisplay.from_estimator(model, data()[:9], LABELS[:9], ax=axes())
    assert_allclose(display.counts, model.responsibilities(data()[:9]).sum(axis=1))


# ---------------------------------------------------------------------- where it is drawn, and shown
def test_a_display_can_be_drawn_again_and_leaves_the_axes_that_it_was_given():
    display = LatentDisplay.from_estimator(fitted("GPLVM"), labels=LABELS, n_grid=5, ax=axes())
    first, second = display.image_.get_array(), axes()
    assert display.plot(second) is display and display.ax_ is second and display.figure_ is second.get_figure()
    assert_array_equal(display.image_.get_array(), first)
    assert "image/png" not in display._repr_mimebundle_()  # whoever made the figure shows it


SHOWN = """
import sys
import numpy as np
from gplvm_edu.plotting import LatentDisplay
X = np.eye(5, 2)
display = LatentDisplay(X).plot()
assert "matplotlib.pyplot" not in sys.modules
assert display._repr_mimebundle_()["image/png"].startswith("iVBOR")
import matplotlib.pyplot as plt
plt.switch_backend("agg")
display = LatentDisplay(X).plot()
assert plt.gcf() is display.figure_
assert "image/png" in display._repr_mimebundle_()
plt.get_backend = lambda: "inline"
assert set(display._repr_mimebundle_()) == {"text/plain"}
plt.close("all")
assert "image/png" in display._repr_mimebundle_()
"""


def test_a_picture_is_shown_once_with_pyplot_and_without():
    done = subprocess.run([sys.executable, "-c", SHOWN], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
@pytest.mark.parametrize("pyplot", ["", "import matplotlib.pyplot as plt\n"])
def test_a_notebook_shows_a_picture_once(pyplot):
    draw = "LatentDisplay(np.eye(4, 2)).plot()"
    texts = [
        f"{pyplot}import numpy as np\nfrom gplvm_edu.plotting import LatentDisplay",
        draw,
        f"kept = {draw}",
        "kept",
    ]
    texts += ["fig, ax = plt.subplots()\nLatentDisplay(np.eye(4, 2)).plot(ax)"] * bool(pyplot)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in texts])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    pictures = [sum("image/png" in out.get("data", {}) for out in cell.outputs) for cell in notebook.cells]
    assert pictures == ([0, 1, 1, 1, 1] if pyplot else [0, 1, 0, 1])


def test_a_dark_session_stays_dark():
    with matplotlib.rc_context({"figure.facecolor": "black", "text.color": "white"}):
        display = LatentDisplay(np.eye(4, 2), new_positions=np.eye(2)).plot(None)
    assert to_hex(display.figure_.get_facecolor()) == "#000000"
    assert to_hex(display.new_scatters_[0].get_edgecolor()[0]) == "#ffffff"


def test_every_name_that_the_module_had_is_still_there():
    assert set(plotting.__all__) <= set(dir(plotting))
    for name in ("draw_graph", "new_figure", "plain_text", "scatter_classes", "use_style", "in_style", "STYLE"):
        assert name in plotting.__all__


# ---------------------------------------------------------------------- bad input
DISPLAYS = (LatentDisplay, RelevanceDisplay, HistoryDisplay, MagnificationDisplay, ClassMapDisplay)


@pytest.mark.bad_input
@pytest.mark.parametrize("display", DISPLAYS)
def test_a_model_that_is_not_fitted_is_told(display):
    for model in (GPLVM(), BayesianGPLVM(), GTM(), make_pipeline(StandardScaler(), PPCA())):
        with pytest.raises(NotFittedError):
            display.from_estimator(model)


WRONG = {
    "too few labels": (LatentDisplay, "PPCA", dict(labels=["a"]), ValueError, "has 1 entries, but the model has 45"),
    "data as labels": (LatentDisplay, "PPCA", dict(labels=np.eye(45)), ValueError, r"of shape \(45, 45\)"),
    "a text": (LatentDisplay, "PPCA", dict(labels="red"), ValueError, "one label for each row"),
    "training labels": (
        LatentDisplay,
        "PPCA",
        dict(Y=np.ones((2, 5)), labels=LABELS),
        ValueError,
        "has 45 entries, but Y has 2 rows.*train_labels",
    ),
    "texts with names": (LatentDisplay, "PPCA", dict(labels=LABELS, names=WORDS), ValueError, "Leave names out"),
    "too large": (LatentDisplay, "PPCA", dict(labels=[5] * 45, names=WORDS), ValueError, "from 0 to 2.*got 5"),
    "dims": (LatentDisplay, "PPCA", dict(dims=(0, 2)), ValueError, r"from 0 to 1, got \(0, 2\)"),
    "dims twice": (LatentDisplay, "PPCA", dict(dims=(1, 1)), ValueError, "two different numbers"),
    "one dim": (LatentDisplay, "PPCA", dict(dims=(1,)), ValueError, "two latent dimensions"),
    "half a dim": (LatentDisplay, "PPCA", dict(dims=(0, 0.5)), ValueError, "whole number"),
    "n_grid": (LatentDisplay, "PPCA", dict(n_grid=1), ValueError, "n_grid"),
    "new rows": (LatentDisplay, "TSNE", dict(Y=np.ones((2, 5))), TypeError, "TSNE has no transform.*Leave Y out"),
    "no relevance": (RelevanceDisplay, "GPLVM", {}, TypeError, "no relevance_.*BayesianGPLVM"),
    "no history": (HistoryDisplay, "Isomap", {}, TypeError, "Isomap has no history_"),
    "no map": (MagnificationDisplay, "Isomap", {}, TypeError, "Isomap has no map.*LatentDisplay"),
    "no nodes": (ClassMapDisplay, "GPLVM", dict(labels=LABELS), TypeError, "no responsibilities.*LatentDisplay"),
    "no winners": (ClassMapDisplay, "BatchSOM", dict(labels=LABELS), TypeError, "no responsibilities"),
    "labels as rows": (
        LatentDisplay,
        "PPCA",
        dict(Y=LABELS),
        ValueError,
        r"Labels go by name: .*\(model, labels=\.\.\.\)",
    ),
    "numbers as rows": (LatentDisplay, "PPCA", dict(Y=list(range(45))), ValueError, r"got shape \(45,\)"),
    "a column as rows": (LatentDisplay, "PPCA", dict(Y=LABELS[:, None]), ValueError, "second argument is new rows Y"),
    "a text as rows": (LatentDisplay, "TSNE", dict(Y="red"), ValueError, "second argument is new rows Y"),
    "labels as nodes": (ClassMapDisplay, "GTM", dict(Y=LABELS), ValueError, "second argument is new rows Y"),
    "all missing": (ClassMapDisplay, "GTM", dict(labels=[None] * 45), ValueError, "every label is missing"),
    "infinite index": (LatentDisplay, "PPCA", dict(labels=[np.inf] * 45, names=WORDS), ValueError, "from 0 to 2, an"),
    "no labels": (ClassMapDisplay, "GTM", {}, ValueError, "needs labels"),
    "other labels": (ClassMapDisplay, "GTM", dict(labels=["a"]), ValueError, "the model has 45 rows"),
    "one-dimensional nodes": (ClassMapDisplay, "SemiLinearGTM", dict(labels=LABELS), ValueError, "has 1: fit it"),
}


@pytest.mark.bad_input
@pytest.mark.parametrize("case", WRONG)
def test_what_can_not_be_drawn_is_explained(case):
    display, name, named, error, says = WRONG[case]
    with pytest.raises(error, match=says):
        display.from_estimator(fitted(name), ax=axes(), **named)


@pytest.mark.bad_input
@pytest.mark.parametrize("display", [LatentDisplay, MagnificationDisplay, ClassMapDisplay])
def test_one_latent_dimension_gets_advice(display):
    model = fitted("GTM", grid=(6,), basis=(3,))
    with pytest.raises(ValueError, match=r"needs two latent dimensions, and this GTM has one.*scatter_classes"):
        display.from_estimator(model, ax=axes())


@pytest.mark.bad_input
def test_a_model_without_positions_and_a_display_without_a_picture_are_told():
    model = GenerativeClassifier(n_components=2, n_inducing=5, max_iter=2).fit(data(), np.arange(45) % 2)
    with pytest.raises(TypeError, match=r"GenerativeClassifier keeps no latent positions.*LatentDisplay\(X, labels\)"):
        LatentDisplay.from_estimator(model, ax=axes())
    with pytest.raises(NotImplementedError, match="draw"):
        Display().plot(axes())
    with pytest.raises(ValueError, match=r"positions must be an array \(N, 2\), got shape \(4, 3\)"):
        LatentDisplay(np.eye(4, 3))
