"""`explore_gplvm` and `latent_picture`: as functions, through traits, and in a real browser."""

import asyncio
import base64
import html as html_module
import io
import json
import re
import time
from datetime import UTC, datetime
from functools import partial

import numpy as np
import pytest
from gplvm_widgets.drawing import few_ticks, how_sure, picture_limit
from gplvm_widgets.explorer import Drawing, Explorer, render_png
from gplvm_widgets.gplvm import PrintedGPLVM, explore_gplvm, panel_gplvm, read_table
from gplvm_widgets.gplvm.fit import CORRECTED, KERNELS, PRINTED, model_at, printed_gradients, slope_ratio
from gplvm_widgets.gplvm.source import BUILT_IN, Source
from gplvm_widgets.latent_picture import few_colours, kernel_parts, latent_picture
from hypothesis import given
from hypothesis.strategies import floats
from numpy.testing import assert_allclose

from gplvm_edu import datasets
from gplvm_edu.gplvm import GPLVM, value_and_gradients
from gplvm_edu.kernels import MLP, RBF, Bias, White
from gplvm_edu.maps import grid_points
from gplvm_edu.plotting import PALETTE
from gplvm_edu.threads import one_thread

SMALL = dict(n_points=40)
OWN = np.random.default_rng(0).standard_normal((30, 4)) @ np.random.default_rng(1).standard_normal((4, 6))


@pytest.fixture(autouse=True, scope="module")
def small_matrices_need_one_thread():
    with one_thread():
        yield


EXPLORER = partial(explore_gplvm, **SMALL)


def latent_place(explorer, x, y):
    """Fractions of the figure where the latent point (x, y) is drawn."""
    return explorer.figure.scene.latent.transData.transform([x, y]) / explorer.figure.bbox.size


def shown_model(explorer):
    return explorer.figure.scene.model


# --- the panel as a function -----------------------------------------------------------------------------------
@pytest.mark.widget
@pytest.mark.parametrize("data", list(BUILT_IN))
def test_panel_draws_latent_space_decoded_point_and_objective(data):
    figure = panel_gplvm(data=data, steps=5, **SMALL)
    latent, bar, decoded, trace = figure.axes
    assert latent.get_gid() == "latent" and "log precision" in bar.get_ylabel() and trace.get_xlabel() == "step"
    assert "log posterior" in trace.get_title(loc="left") and decoded.get_title(loc="left").startswith("decoded")
    assert len(trace.lines[0].get_ydata()) == 6
    assert render_png(figure) != render_png(panel_gplvm(data=data, steps=0, **SMALL))


@pytest.mark.widget
def test_panel_after_steps_is_the_fit_of_as_many_iterations():
    figure = panel_gplvm(steps=12, x1=0.3, x2=-0.2, **SMALL)
    fitted = GPLVM(max_iter=12, random_state=0).fit(datasets.simulate_oil_flow(40, random_state=0).data)
    assert_allclose(figure.scene.model.embedding_, fitted.embedding_, atol=1e-6)  # the default kernel
    assert_allclose(figure.scene.decoded.mean.get_ydata(), fitted.inverse_transform([[0.3, -0.2]])[0], atol=1e-6)


@pytest.mark.widget
def test_a_panel_saved_as_a_file_shows_the_cross_too():
    def saved(x):
        file = io.BytesIO()
        panel_gplvm(x1=x, **SMALL).savefig(file, format="png")
        return file.getvalue()

    assert saved(0.0) != saved(1.0)


@pytest.mark.widget
def test_the_grey_picture_is_the_log_precision_of_the_model():
    figure = panel_gplvm(steps=5, n_grid=20, **SMALL)
    limit = figure.scene.latent.get_xlim()[1]
    expected = figure.scene.model.log_precision(grid_points((-limit, limit, -limit, limit), 20)).reshape(20, 20)
    assert_allclose(figure.scene.latent.images[0].get_array(), expected)
    assert limit == picture_limit(figure.scene.model.embedding_) > np.abs(figure.scene.model.embedding_).max()


@pytest.mark.widget
@pytest.mark.parametrize("columns", [2, 3, 6, 40])
@pytest.mark.parametrize("labels", [None, "classes", "scale"])
def test_panel_draws_data_of_any_width_with_classes_a_scale_or_nothing(columns, labels):
    rng = np.random.default_rng(columns)
    given = {None: None, "classes": np.repeat(["b", "a"], 10), "scale": np.linspace(0, 1, 20)}[labels]
    figure = panel_gplvm(Source(rng.standard_normal((20, columns)), given), x1=0.1)
    assert render_png(figure).startswith(b"\x89PNG")
    assert (", a" in figure.scene.words.get_text() or ", b" in figure.scene.words.get_text()) == (labels == "classes")


@pytest.mark.widget
def test_uncertainty_in_words_goes_from_sure_to_ignorant():
    scene = panel_gplvm(steps=20, **SMALL).scene
    scene.point_at(*scene.model.embedding_[7])
    assert "sure" in scene.words.get_text() and "point 7" in scene.words.get_text()
    scene.point_at(50.0, 50.0)
    assert "no data here" in scene.words.get_text()
    mean, deviation = scene.model.inverse_transform([[50.0, 50.0]], return_std=True)
    rbf, bias, _ = scene.model.kernel_.parts  # far away only the constant is known a little
    assert np.all((rbf.variance <= deviation[0] ** 2) & (deviation[0] ** 2 <= rbf.variance + bias.variance))
    assert_allclose(scene.decoded.mean.get_ydata(), mean[0])
    assert len({how_sure(share) for share in (0.1, 0.5, 0.9)}) == 3


@pytest.mark.widget
@given(low=floats(-1e6, 1e6), span=floats(1e-3, 1e6))
def test_ticks_are_one_to_five_round_numbers_inside(low, span):
    ticks = few_ticks(low, low + span)
    assert 1 <= len(ticks) <= 5 and np.all(ticks >= low - 1e-9 * span) and np.all(ticks <= low + span + 1e-9 * span)


@pytest.mark.widget
def test_decoding_a_point_costs_less_than_a_fifth_of_the_redraw_that_shows_it():
    figure = panel_gplvm(steps=3, n_points=200)
    drawing = Drawing(figure)

    def seconds(work):
        times = []
        for k in range(8):
            start = time.process_time()
            work(0.1 * k)
            times.append(time.process_time() - start)
        return min(times)

    def redraw(x):
        figure.scene.point_at(x, 0.0)
        drawing.png()

    with one_thread():
        decode = seconds(lambda x: figure.scene.model.inverse_transform(np.array([[x, 0.0]]), return_std=True))
        assert decode < seconds(redraw) / 5


# --- as printed, or corrected ------------------------------------------------------------------------------------
MODEL = dict(
    scale=False, kernel="RBF", inverse_width=1.0, noise=0.1, init="pca", seed=0, n_points=40, optimiser="l-bfgs"
)


@pytest.mark.gradient
def test_the_printed_gradient_is_twice_the_slope_without_a_prior_and_neither_one_nor_two_with_it():
    def ratio(prior, gradient):
        return slope_ratio(BUILT_IN["oil flow"], prior=prior, gradient=gradient, **MODEL)

    assert_allclose(ratio(False, CORRECTED), 1.0, atol=1e-5)
    assert_allclose(ratio(True, CORRECTED), 1.0, atol=1e-5)
    assert_allclose(ratio(False, PRINTED), 2.0, atol=1e-5)
    assert 1.5 < ratio(True, PRINTED) < 2.1 and abs(ratio(True, PRINTED) - 2.0) > 1e-4


@pytest.mark.gradient
def test_the_printed_gradient_doubles_the_likelihood_and_not_the_prior():
    rng = np.random.default_rng(0)
    Y, X, kernel = rng.standard_normal((12, 4)), rng.standard_normal((12, 2)), RBF(1.3, 0.7) + White(0.2)
    _, dX, dtheta = value_and_gradients(Y, X, kernel)
    value, printed_dX, printed_dtheta = printed_gradients(Y, X, kernel, "gaussian", 0.0)
    assert value == value_and_gradients(Y, X, kernel, "gaussian")[0]
    assert_allclose(printed_dX, 2 * dX - X)  # at the greatest posterior dX = X, and this is X, not 0
    assert_allclose(printed_dtheta, 2 * dtheta)


@pytest.mark.widget
def test_climbing_by_the_printed_gradient_starts_alike_and_goes_elsewhere():
    Y = datasets.simulate_oil_flow(20, random_state=0).data
    right, wrong = (Model(max_iter=30, random_state=0).fit(Y) for Model in (GPLVM, PrintedGPLVM))
    assert wrong.history_[0] == right.history_[0] and wrong.history_[-1] > wrong.history_[0]
    assert not np.allclose(wrong.embedding_, right.embedding_, atol=1e-3)


# --- through traits ----------------------------------------------------------------------------------------------
CASES = [
    dict(),
    dict(data="digits", kernel="RBF + linear", x1=0.7),
    dict(data="Swiss roll", kernel="Matern 3/2"),
    dict(kernel="MLP", prior=False),
    dict(kernel="linear", init="random", seed=3),
    dict(optimiser="scg", noise=0.02),
    dict(init="kernel_pca", inverse_width=3.98),
    dict(gradient=PRINTED, scale=True),
    dict(init="isomap"),
]


@pytest.mark.widget
@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join(f"{v}" for v in c.values()) or "default")
def test_the_code_shown_computes_what_the_panel_shows(case, explorer, capsys):
    explorer.set(x2=-0.4, **case)
    for n_steps in (None, 8):
        if n_steps:
            explorer.run_now(max_steps=n_steps)
        scope = {}
        with one_thread():
            exec(explorer.code(explorer.settings), scope)
        model, scene = shown_model(explorer), explorer.figure.scene
        assert_allclose(scope["X"], model.embedding_, atol=1e-6)
        assert_allclose(scope["model"].kernel_.parameters, model.kernel_.parameters, rtol=1e-5)
        assert_allclose(scope["Y"], scene.Y)
        assert_allclose(scope["decoded"], model.inverse_transform([[explorer.settings["x1"], -0.4]]), atol=1e-5)
        assert f"deviation {scope['deviation'][0, 0]:.3g}" in scene.words.get_text()
        assert "objective" in capsys.readouterr().out


@pytest.mark.widget
def test_a_drag_decodes_at_once_and_draws_nothing_else(explorer, monkeypatch):
    explorer.run_now(max_steps=10)
    monkeypatch.setattr(explorer, "panel", lambda *args: pytest.fail("the panel was drawn again"))
    before, state = explorer.picture.png, explorer.state
    for count, (x, y) in enumerate([(0.5, 0.25), (0.6, 0.3), (-1.0, 0.1)], start=1):
        explorer.picture.pointer = [*latent_place(explorer, x, y), count]
        assert explorer.picture.answered == count and explorer.picture.png != before
        assert_allclose([explorer.settings["x1"], explorer.settings["x2"]], [x, y], atol=1e-3)
        here = shown_model(explorer).inverse_transform([[explorer.settings["x1"], explorer.settings["x2"]]])
        assert_allclose(explorer.figure.scene.decoded.mean.get_ydata(), here[0])
        before = explorer.picture.png
    assert explorer.state is state
    explorer.picture.pointer = [0.85, 0.2, 9]  # the objective is no latent space
    assert explorer.picture.answered == 9 and explorer.picture.png == before
    explorer.picture.arrow = [1, -5, 1]
    assert explorer.settings["x1"] > -1.0 and explorer.settings["x2"] < 0.1 and explorer.picture.png != before


@pytest.mark.widget
def test_a_drag_shows_the_same_picture_as_a_redraw(explorer):
    explorer.run_now(max_steps=6)
    explorer.set(x1=0.4, x2=-0.3)
    dragged = explorer.picture.png
    explorer.redraw()
    assert explorer.picture.png == dragged


@pytest.mark.widget
def test_run_climbs_and_the_slider_goes_back_to_every_iterate(explorer):
    start = explorer.picture.png
    explorer.run_now(max_steps=30)
    values = explorer.state.values
    assert np.all(np.diff(values[:30]) >= 0) and explorer.scrubber.max == 29
    assert explorer.picture.png != start
    explorer.scrubber.value = 7
    assert explorer.state.step == 7
    fitted = GPLVM(max_iter=7, random_state=0).fit(datasets.simulate_oil_flow(40, random_state=0).data)
    assert_allclose(shown_model(explorer).embedding_, fitted.embedding_, atol=1e-6)
    assert f"{values[7]:.1f}" in explorer.figure.axes[3].get_title(loc="left")
    assert "max_iter=7," in explorer.code(explorer.settings)


@pytest.mark.widget
def test_the_cross_can_be_dragged_while_the_model_learns(explorer):
    async def go():
        explorer.run()
        for _ in range(6):
            await asyncio.sleep(0)
        step = explorer.state.step
        explorer.picture.pointer = [*latent_place(explorer, 0.5, 0.5), 1]
        assert explorer.running and abs(explorer.settings["x1"] - 0.5) < 1e-2
        for _ in range(6):
            await asyncio.sleep(0)
        assert explorer.state.step > step
        explorer.pause()
        fine = explorer.figure.scene.latent.images[0].get_array().shape[0]
        explorer.pause()
        explorer.redraw()
        coarse = explorer.figure.scene.latent.images[0].get_array().shape[0]
        assert coarse < fine  # a coarse grey picture while it runs, a fine one at rest
        explorer.stop()

    asyncio.run(go())
    assert not explorer.running


@pytest.mark.widget
def test_each_question_can_be_asked_and_its_answer_holds(explorer):
    explorer.ask(1)
    explorer.run_now()
    with_prior = shown_model(explorer)
    explorer.reveal()
    without = shown_model(explorer)
    assert np.abs(without.embedding_).max() > 1.5 * np.abs(with_prior.embedding_).max()
    assert without.kernel_["rbf"].inverse_width < with_prior.kernel_["rbf"].inverse_width

    explorer.ask(3)
    explorer.reveal()
    assert explorer.state.values[-1] < with_prior.history_[-1] - 100 and 750 < with_prior.history_[-1] < 900

    explorer.ask(2)
    assert "sure" in explorer.figure.scene.words.get_text()
    explorer.reveal()
    assert "no data here" in explorer.figure.scene.words.get_text()
    model = shown_model(explorer)
    far, limit = model.inverse_transform([[2.4, -2.4]])[0], explorer.figure.scene.latent.get_xlim()[1]
    assert np.abs(far - model.mean_).max() < 1.0 and limit > 2.4  # of sixteen grey levels


# --- the reader's own data ---------------------------------------------------------------------------------------
@pytest.mark.widget
def test_own_array_with_labels_becomes_the_data(monkeypatch):
    monkeypatch.setattr(Explorer, "raise_errors", True)
    explorer = explore_gplvm(OWN, ["left", "right"] * 15, n_points=20)
    assert explorer.settings["data"] == "yours" and explorer.figure.scene.Y.shape == (20, 6)
    assert {text.get_text() for text in explorer.figure.scene.latent.get_legend().get_texts()} == {"left", "right"}
    scope = {"Y": OWN}
    exec(explorer.code(explorer.settings), scope)
    assert_allclose(scope["X"], shown_model(explorer).embedding_, atol=1e-6)
    explorer.set(data="oil flow")
    assert explorer.figure.scene.Y.shape == (20, 12)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "Y, labels, message",
    [
        (OWN[:3], None, "have 3 rows"),
        (OWN[:, :1], None, "nothing to reduce"),
        (OWN[0], None, "one row for each point"),
        ([["a", "b"]] * 9, None, "must be numbers"),
        (np.where(OWN > 2, np.nan, OWN), None, "is nan.*chapter 8"),
        (OWN, [1, 2], "one for each of the 30 rows"),
    ],
)
def test_own_array_that_can_not_be_drawn_is_explained(Y, labels, message):
    with pytest.raises(ValueError, match=message):
        explore_gplvm(Y, labels)


HEADER = "length,width,height,kind\n"
BODY = [f"{a:.3f},{b:.3f},{c:.3f},{'ab'[k % 2]}" for k, (a, b, c) in enumerate(OWN[:12, :3])]
CSV = HEADER + "\n".join(BODY) + "\n"


def upload(explorer, content, name="mine.csv"):
    explorer.upload.value = [
        {
            "name": name,
            "type": "text/csv",
            "size": len(content),
            "content": content.encode(),
            "last_modified": datetime(2026, 1, 1, tzinfo=UTC),
        }
    ]


@pytest.mark.widget
def test_csv_file_becomes_the_data_and_its_code_loads_it_again(explorer, tmp_path, monkeypatch):
    upload(explorer, CSV)
    assert explorer.settings["data"] == "yours" and explorer.figure.scene.Y.shape == (12, 3)
    assert explorer.figure.scene.names == ("a", "b")
    (tmp_path / "mine.csv").write_text(CSV)
    monkeypatch.chdir(tmp_path)
    explorer.run_now(max_steps=3)
    scope = {}
    exec(explorer.code(explorer.settings), scope)
    assert_allclose(scope["X"], shown_model(explorer).embedding_, atol=1e-6)


@pytest.mark.widget
def test_label_column_by_name_may_be_numbers(explorer):
    text = "year,u,v\n" + "".join(f"{1990 + k % 3},{a},{b}\n" for k, (a, b) in enumerate(OWN[:12, :2]))
    upload(explorer, text)
    assert explorer.figure.scene.Y.shape == (12, 3) and explorer.figure.scene.names is None
    explorer.label_column.value = "year"
    assert explorer.figure.scene.Y.shape == (12, 2) and explorer.figure.scene.names == ("1990", "1991", "1992")


@pytest.mark.widget
@pytest.mark.parametrize(
    "text, shape, labels",
    [
        (CSV, (12, 3), True),
        ("\n".join(BODY), (12, 3), True),
        (CSV.replace(",", "\t"), (12, 3), True),
        (CSV.replace(",", ";").replace(".", ","), (12, 3), True),
        ("\ufeff" + CSV, (12, 3), True),
        ("\n\n" + CSV + "\n\n", (12, 3), True),
        ("\n".join(row.rsplit(",", 1)[0] for row in BODY), (12, 3), False),
    ],
)
def test_csv_of_many_habits_is_read(text, shape, labels):
    table = read_table(text.encode("utf-8"))
    assert table.data.shape == shape and (table.labels is not None) == labels
    assert_allclose(table.data, OWN[:12, :3], atol=1e-3)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "text, message",
    [
        ("", "empty"),
        (HEADER, "header but no data"),
        (HEADER + "\n".join(BODY[:3]), "have 3 rows"),
        (CSV.replace(BODY[4].split(",")[1], "oops"), "Line 6, 'width' holds 'oops'"),
        (CSV.replace(BODY[4].split(",")[1], ""), "Line 6, 'width' is empty.*chapter 8"),
        (CSV.replace(BODY[4].split(",")[1], "NaN"), "Line 6, 'width' is NaN"),
        (CSV + "1,2,3\n", "Line 14 has 3 cells"),
        ("\n".join(f"{row},{'xy'[k % 2]}" for k, row in enumerate(BODY)), "only one of them can be the label"),
        ("a,b\n" + "1,x\n2,y\n" * 5, "nothing to reduce"),
    ],
)
def test_csv_that_can_not_be_used_says_which_line_and_what_to_do(text, message):
    with pytest.raises(ValueError, match=message):
        read_table(text)


@pytest.mark.bad_input
def test_file_that_is_no_text_and_label_that_is_not_there_are_explained_inside_the_explorer(monkeypatch):
    monkeypatch.setattr(Explorer, "raise_errors", False)
    explorer = explore_gplvm(**SMALL)
    before = explorer.picture.png
    upload(explorer, "PK\0\0")
    assert "no text file" in explorer.error_box.value and explorer.picture.png == before
    upload(explorer, CSV)
    assert explorer.error_box.value == "" and explorer.picture.png != before
    explorer.label_column.value = "colour"
    assert "no column &#x27;colour&#x27;" in explorer.error_box.value and "length, width" in explorer.error_box.value


# --- the picture without a kernel --------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def oil():
    data = datasets.simulate_oil_flow(60, random_state=0)
    model = GPLVM(max_iter=60, random_state=0).fit(data.data)
    return model, latent_picture(model, data.target, data.target_names, name="oil")


@pytest.fixture(scope="module")
def digits():
    data = datasets.load_digits()
    rows = np.flatnonzero(data.target < 5)[:100]
    model = GPLVM(latent_prior=None, max_iter=80, random_state=0).fit(data.data[rows])
    return model, latent_picture(model, data.target[rows], data.target_names, (8, 8), name="digits", start=(0.5, -0.25))


def stored(picture):
    """The arrays of the page, as a reader of its source finds them."""
    text = re.search(r'class="gplvm-arrays">(.*?)</script>', picture.html, re.S).group(1)
    arrays = json.loads(text)
    for name in ("X", "A"):
        content, scale = arrays[name]
        arrays[name] = np.frombuffer(base64.b64decode(content), "<i4") * scale
    arrays["X"] = arrays["X"].reshape(-1, 2)
    arrays["A"] = arrays["A"].reshape(len(arrays["X"]), -1)
    return arrays


@pytest.mark.widget
@pytest.mark.parametrize("which", ["oil", "digits"])
def test_stored_arrays_decode_as_the_model_does(which, request):
    model, picture = request.getfixturevalue(which)
    arrays = stored(picture)
    points = np.random.default_rng(0).uniform(-arrays["limit"], arrays["limit"], (200, 2))
    k = (RBF(arrays["variance"], np.array(arrays["gamma"])) + Bias(arrays["bias"]))(points, arrays["X"])
    assert_allclose(k @ arrays["A"] + arrays["mean"], model.inverse_transform(points), atol=1e-6, rtol=0)


@pytest.mark.widget
def test_latent_picture_is_the_same_text_every_time_and_small(oil, digits):
    model, picture = oil
    data = datasets.simulate_oil_flow(60, random_state=0)
    again = latent_picture(model, data.target, data.target_names, name="oil")
    assert again.html == picture.html and again.png == picture.png
    for _, each in (oil, digits):
        assert len(each.html) < 150_000 and len(each.png) < 60_000
        assert "http" not in each.html  # it asks nobody for anything


@pytest.mark.widget
def test_latent_picture_leaves_a_png_and_a_fixed_text_where_there_is_no_html(oil):
    bundle = oil[1]._repr_mimebundle_()
    assert set(bundle) == {"text/html", "image/png", "text/plain"}
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG") and "0x" not in bundle["text/plain"]


@pytest.mark.widget
def test_few_colours_hold_every_class_colour_exactly():
    colours = {"#{:02X}{:02X}{:02X}".format(*c) for c in few_colours()}
    assert len(few_colours()) <= 256 and {c.upper() for c in PALETTE} <= colours


@pytest.mark.widget
def test_kernel_parts_accept_rbf_alone_and_one_width_for_each_dimension(oil):
    Y = OWN
    for kernel in (RBF(), RBF(2.0, [1.0, 3.0]) + White(0.1), White(0.1) + Bias(0.2) + RBF() + Bias(0.3)):
        model = GPLVM(kernel=kernel, max_iter=2, random_state=0).fit(Y)
        rbf, bias = kernel_parts(model)
        point = np.array([[0.3, 0.4]])
        assert_allclose(
            RBF(rbf.variance, rbf.inverse_width)(point, model.embedding_) + bias, model.kernel_(point, model.embedding_)
        )
        assert latent_picture(model).html


@pytest.mark.bad_input
def test_latent_picture_refuses_what_a_page_can_not_evaluate(oil):
    Y = OWN
    with pytest.raises(ValueError, match=r"RBF \+ Bias \+ White in the page.*MLP"):
        latent_picture(GPLVM(kernel=MLP() + White(0.1), max_iter=1).fit(Y))
    with pytest.raises(ValueError, match="this model has"):
        latent_picture(GPLVM(kernel=RBF() * Bias() + White(0.1), max_iter=1).fit(Y))
    with pytest.raises(ValueError, match="needs n_components=2; this model has 3"):
        latent_picture(GPLVM(n_components=3, max_iter=1).fit(Y))
    with pytest.raises(ValueError, match="does not fit the 12 columns"):
        latent_picture(oil[0], image_shape=(8, 8))
    with pytest.raises(ValueError, match="letters, digits and dashes"):
        latent_picture(oil[0], name="a b")


class StaticPage:
    """A page from a file, with no network at all."""

    def __init__(self, browser, path, scripts=True):
        self.browser, self.requests = browser, []
        browser.do(self._open, path, scripts)

    def _open(self, path, scripts):
        context = self.browser.chromium.new_context(
            offline=True, java_script_enabled=scripts, viewport={"width": 900, "height": 1300}
        )
        self.page = context.new_page()
        self.errors = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(path.as_uri())

    def do(self, method, *args, **kwargs):
        return self.browser.do(lambda: method(*args, **kwargs))

    def state(self, name):
        """Where the cross is, what is decoded there, its deviation, and the painted pixels."""
        data = self.do(
            self.page.evaluate,
            f"""() => {{ const e = document.getElementById('gplvm-latent-{name}');
            return [e.dataset.x, e.dataset.values, e.dataset.deviation, e.querySelector('canvas').toDataURL(),
                    e.querySelector('.gplvm-words').textContent]; }}""",
        )
        x, values, deviation, pixels, words = data
        return (
            np.array([[float(v) for v in x.split()]]),
            np.array([float(v) for v in values.split()]),
            float(deviation),
            pixels,
            words,
        )

    def drag(self, name, *places):
        """Press the pointer in the plane and move it through these fractions of its width and height."""

        def move():
            box = self.page.locator(f"#gplvm-latent-{name} .gplvm-plane").bounding_box()
            places_ = [(box["x"] + a * box["width"], box["y"] + b * box["height"]) for a, b in places]
            self.page.mouse.move(*places_[0])
            self.page.mouse.down()
            for place in places_[1:]:
                self.page.mouse.move(*place, steps=4)
            self.page.mouse.up()

        self.browser.do(move)

    def press(self, name, key, times=1):
        self.do(self.page.locator(f"#gplvm-latent-{name} .gplvm-plane").focus)
        for _ in range(times):
            self.do(self.page.keyboard.press, key)

    def close(self):
        self.browser.do(self.page.context.close)


@pytest.fixture(scope="module")
def written_page(oil, digits, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    body = "<p>before</p>" + digits[1].html + oil[1].html
    theme = "<style>body { background: #222 } body div img { padding: 9px; border: 3px solid red; }</style>"
    path.write_text(f'<!doctype html><meta charset="utf-8">{theme}<body>{body}', encoding="utf-8")
    return path


@pytest.fixture
def static_page(browser, written_page):
    page = StaticPage(browser, written_page)
    yield page
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("which", ["oil", "digits"])
def test_dragging_in_a_page_without_kernel_or_network_decodes_as_python_does(which, static_page, request, screenshots):
    model, picture = request.getfixturevalue(which)
    seen, ignorance = [static_page.state(which)], stored(picture)["ignorance"]
    for places in [((0.5, 0.5), (0.3, 0.6)), ((0.3, 0.6), (0.8, 0.2), (0.62, 0.41)), ((0.02, 0.03), (0.01, 0.02))]:
        static_page.drag(which, *places)
        seen.append(static_page.state(which))
    for x, values, deviation, _, words in seen:
        expected, exact = model.inverse_transform(x, return_std=True)
        assert_allclose(values, expected[0], atol=1e-6, rtol=0)
        assert np.all(np.abs(deviation - exact[0]) < 0.03 * ignorance)
        assert words.lower().startswith(how_sure(deviation / ignorance))  # the page says it in the same words
    assert len({pixels for *_, pixels, _ in seen}) == len(seen)
    assert static_page.errors == [] and all(url.startswith(("file:", "data:")) for url in static_page.requests)
    static_page.do(static_page.page.screenshot, path=str(screenshots / f"latent_picture_{which}.png"))


@pytest.mark.browser
def test_arrow_keys_move_the_cross_and_stop_at_the_border(static_page, digits):
    model, picture = digits
    limit = stored(picture)["limit"]
    start = static_page.state("digits")
    assert_allclose(start[0], [[0.5, -0.25]])
    static_page.press("digits", "ArrowRight", times=3)
    static_page.press("digits", "ArrowUp")
    moved = static_page.state("digits")
    assert_allclose(moved[0], [[0.5 + 3 * limit / 50, -0.25 + limit / 50]], atol=1e-9)
    assert_allclose(moved[1], model.inverse_transform(moved[0])[0], atol=1e-6, rtol=0)
    assert moved[3] != start[3]
    static_page.press("digits", "Shift+ArrowDown", times=25)
    assert static_page.state("digits")[0][0, 1] == -limit
    assert static_page.state("oil")[0].tolist() == stored_start(static_page, "oil")


def stored_start(page, name):
    return [
        page.do(
            page.page.evaluate,
            f"""() => JSON.parse(document.querySelector(
        '#gplvm-latent-{name} .gplvm-arrays').textContent).start""",
        )
    ]


@pytest.mark.browser
@pytest.mark.parametrize("width", [900, 380])
def test_the_cross_lies_on_the_point_it_stands_for_whatever_the_theme_and_the_width(static_page, digits, width):
    static_page.do(static_page.page.set_viewport_size, {"width": width, "height": 1300})
    static_page.drag("digits", (0.7, 0.2), (0.25, 0.75))
    x, limit = static_page.state("digits")[0][0], stored(digits[1])["limit"]
    boxes = [
        static_page.do(static_page.page.locator(f"#gplvm-latent-digits {part}").first.bounding_box)
        for part in (".gplvm-plane", "img", ".gplvm-cross")
    ]
    plane, image, cross_box = boxes
    assert plane == image and plane["width"] == plane["height"] <= width
    middle = [cross_box[side] + cross_box[size] / 2 - image[side] for side, size in (("x", "width"), ("y", "height"))]
    assert_allclose(middle, [0.25 * image["width"], 0.75 * image["height"]], atol=1.0)
    assert_allclose(x, limit * np.array([-0.5, -0.5]), atol=0.02 * limit)


@pytest.mark.browser
def test_the_plane_can_be_reached_by_tab_and_has_a_name_and_a_ring(static_page):
    static_page.do(static_page.page.keyboard.press, "Tab")
    found = static_page.do(
        static_page.page.evaluate,
        """() => { const e = document.activeElement;
        return [e.className, e.getAttribute('aria-label'), getComputedStyle(e).outlineStyle]; }""",
    )
    assert found[0] == "gplvm-plane" and "Arrow keys" in found[1] and found[2] == "solid"


@pytest.mark.browser
def test_without_scripts_the_picture_stays_and_says_so(browser, written_page, digits):
    page = StaticPage(browser, written_page, scripts=False)
    root = page.page.locator("#gplvm-latent-digits")
    text = page.do(root.inner_text)
    assert "this picture can be dragged" in text and "Drag the cross, or" not in text
    assert page.do(root.locator("img").is_visible) and not page.do(root.locator("canvas").is_visible)
    page.close()


# --- in a real JupyterLab ----------------------------------------------------------------------------------------
PAGE = [
    "explore_gplvm(n_points=60)",
    """\
from gplvm_edu.datasets import simulate_oil_flow
from gplvm_edu.gplvm import GPLVM
oil = simulate_oil_flow(60, random_state=0)
latent_picture(GPLVM(max_iter=60, random_state=0).fit(oil.data), oil.target, oil.target_names, name="lab")""",
]


def drag_picture(page, *places):
    """Drag through fractions of the explorer's picture, counted from its top left corner."""

    def move():
        box = page.page.locator("img.gplvm-picture").first.bounding_box()
        there = [(box["x"] + a * box["width"], box["y"] + b * box["height"]) for a, b in places]
        page.page.mouse.move(*there[0])
        page.page.mouse.down()
        for place in there[1:]:
            page.page.mouse.move(*place, steps=6)
        page.page.mouse.up()

    page.browser.do(move)


def cross(page):
    return float(page.control("x1").value()), float(page.control("x2").value())


@pytest.mark.browser
def test_dragging_the_cross_in_jupyterlab_decodes_other_points(page, screenshots):
    start, where = page.picture_at_rest(), cross(page)
    drag_picture(page, (0.3, 0.5), (0.2, 0.3))
    moved = page.wait_for_new_picture(start)
    assert cross(page)[0] < where[0] and cross(page)[1] > where[1]
    before = cross(page)
    page.browser.do(lambda: page.page.locator("img.gplvm-picture").first.focus())
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.browser.do(lambda key=key: page.page.keyboard.press(key))
    page.wait_for_new_picture(moved)
    assert cross(page)[0] > before[0] and cross(page)[1] < before[1]
    page.screenshot_around(".gplvm-explorer", screenshots / "explore_gplvm.png")
    assert page.error_box() == "" and page.errors() == []


@pytest.mark.browser
def test_run_pause_scrub_and_stop_in_jupyterlab(page, screenshots):
    start = page.picture_at_rest()
    page.click("Run")
    page.wait_until(lambda: page.picture() not in (None, start), 20, "the first picture of the run")
    page.click("Pause")
    page.wait_until(lambda: "Go on" in page.text(".gplvm-explorer"), 20, "the run to pause")
    held = page.picture_at_rest()
    share = page.progress()
    assert 0 < share < 1
    time.sleep(0.6)
    assert page.picture() == held and page.progress() == share
    step = int(page.control("iterate").value())
    assert step > 0
    page.control("iterate").press("Home")
    assert page.wait_for_new_picture(held) != held and page.control("iterate").value() == "0"
    page.click("Go on")
    page.wait_until(lambda: page.progress() > share, 30, "the run to go on")
    page.click("Stop")
    page.picture_at_rest()
    assert int(page.control("iterate").value()) > step
    page.screenshot_around(".gplvm-explorer", screenshots / "explore_gplvm_run.png")
    assert page.error_box() == ""


@pytest.mark.browser
def test_csv_uploaded_in_jupyterlab_is_drawn_and_a_bad_one_explained(page, tmp_path):
    before = page.picture_at_rest()
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text(CSV)
    bad.write_text(CSV.replace(BODY[4].split(",")[1], "oops"))

    def choose(path):
        with page.page.expect_file_chooser() as chooser:
            page.page.locator("button.gplvm-upload").first.click()
        chooser.value.set_files(str(path))

    page.browser.do(choose, bad)
    page.wait_until(lambda: "oops" in page.error_box(), 10, "the explanation")
    assert page.picture() == before
    page.browser.do(choose, good)
    page.wait_for_new_picture(before)
    assert page.error_box() == ""
    page.control("data").choose("oil flow")
    page.picture_at_rest()


@pytest.mark.browser
def test_latent_picture_is_live_in_jupyterlab(page, screenshots):
    def state():
        return page.browser.do(
            lambda: page.page.evaluate("() => ({...document.getElementById('gplvm-latent-lab').dataset})")
        )

    page.show("#gplvm-latent-lab")
    start = state()
    plane = page.page.locator("#gplvm-latent-lab .gplvm-plane")
    page.browser.do(lambda: plane.click(position={"x": 300, "y": 90}))
    clicked = state()
    page.browser.do(lambda: page.page.keyboard.press("ArrowDown"))
    pressed = state()
    assert start["values"] != clicked["values"] != pressed["values"]
    assert float(pressed["x"].split()[1]) < float(clicked["x"].split()[1])
    page.screenshot(screenshots / "latent_picture_lab.png", "#gplvm-latent-lab")


@pytest.mark.widget
def test_an_iterate_shown_is_a_copy_and_leaves_the_start_alone():
    source, settings = BUILT_IN["oil flow"], dict(MODEL, prior=True, gradient=CORRECTED)
    start = model_at(source, None, **settings)
    X = start.embedding_.copy()
    panel_gplvm(steps=5, **SMALL)
    assert np.array_equal(model_at(source, None, **settings).embedding_, X)


@pytest.mark.widget
def test_every_kernel_of_the_menu_runs_and_names_are_escaped(monkeypatch):
    monkeypatch.setattr(Explorer, "raise_errors", True)
    explorer = explore_gplvm(OWN, ["<b>", "&"] * 15)
    for kernel in KERNELS:
        explorer.set(kernel=kernel)
        explorer.run_now(max_steps=3)
    model = GPLVM(max_iter=2, random_state=0).fit(OWN)
    page = latent_picture(model, np.arange(30) % 2, ["</script><b>", "&"], title="<i>").html
    assert "</script><b>" not in page and html_module.escape("<i>") in page
