"""`explore_gplvm`: its panels as functions, through traits, with the reader's own data, and in a real browser."""

import asyncio
import json
import time
from datetime import UTC, datetime
from functools import partial

import numpy as np
import pytest
from gplvm_widgets.drawing import how_sure, picture_limit
from gplvm_widgets.explorer import Explorer
from gplvm_widgets.gplvm import PrintedGPLVM, explore_gplvm, panel_gplvm, read_table
from gplvm_widgets.gplvm.explore import TRAINED
from gplvm_widgets.gplvm.fit import (
    CORRECTED,
    KERNELS,
    PRINTED,
    model_at,
    printed_gradients,
    slope_at_start,
    snapshots,
    start_model,
)
from gplvm_widgets.gplvm.panel import COARSE, FINE, OPENING, at_cross
from gplvm_widgets.gplvm.source import BUILT_IN, Source
from numpy.testing import assert_allclose

from gplvm_edu import datasets
from gplvm_edu.gplvm import GPLVM, value_and_gradients
from gplvm_edu.kernels import RBF, White
from gplvm_edu.maps import grid_points
from gplvm_edu.metrics import nearest_neighbour_errors
from gplvm_edu.threads import one_thread

SMALL = dict(n_points=40)
OWN = np.random.default_rng(0).standard_normal((30, 4)) @ np.random.default_rng(1).standard_normal((4, 6))
START = ("data", "scale", "kernel", "inverse_width", "noise", "init", "seed", "n_points")  # what a start depends on


@pytest.fixture(autouse=True, scope="module")
def small_matrices_need_one_thread():
    with one_thread():
        yield


EXPLORER = partial(explore_gplvm, **SMALL)


def after(steps, **settings):
    """The scene after some steps of a run."""
    climb = {name: value for name, value in (OPENING | settings).items() if name not in ("x1", "x2", "n_grid")}
    *_, (_, state) = snapshots(**climb, steps=steps)
    return panel_gplvm(**settings, state=state)


def positions(scene):
    """The latent points that are drawn."""
    points = scene.mark("latent", "points")
    return np.column_stack([points.x, points.y])


def shown_model(explorer):
    """The model whose pictures are shown."""
    settings = explorer.arguments(explorer.settings)
    return model_at(*(settings[name] for name in START), explorer.state)


def wire(scene):
    """All that a page is told."""
    return json.dumps(scene.wire(stored=True), sort_keys=True)


def drag_to(explorer, x, y, panel="latent"):
    explorer.view.hear({"type": "point", "panel": panel, "x": x, "y": y})


# --- the panels as functions -------------------------------------------------------------------------------------
@pytest.mark.widget
@pytest.mark.parametrize("data", list(BUILT_IN))
def test_panel_shows_latent_space_decoded_point_and_objective(data):
    scene = after(5, data=data, **SMALL)
    assert [panel.key for panel in scene.panels] == ["latent", "decoded", "trace"]
    latent, decoded, trace = scene.panels
    assert latent.listens == "drag" and "log precision" in latent.mark("precision").bar and latent.equal
    assert decoded.title in {how_sure(share) for share in (0.1, 0.5, 0.9)} and not decoded.listens
    assert len(trace.mark("run").y) == 6 and trace.x.label == "step of l-bfgs"
    assert trace.title == f"log posterior {trace.mark('run').y[5]:.1f}" and trace.title in scene.says
    assert wire(scene) != wire(panel_gplvm(data=data, **SMALL))


@pytest.mark.widget
def test_panel_after_steps_is_the_fit_of_as_many_iterations():
    scene = after(12, x1=0.3, x2=-0.2, **SMALL)
    fitted = GPLVM(max_iter=12, random_state=0).fit(datasets.simulate_oil_flow(40, random_state=0).data)
    assert_allclose(positions(scene), fitted.embedding_, atol=1e-6)  # the default kernel
    mean, deviation = fitted.inverse_transform([[0.3, -0.2]], return_std=True)
    assert_allclose(scene.mark("decoded", "decoded").y, mean[0], atol=1e-6)
    bars = scene.mark("decoded", "deviations").y.reshape(-1, 3)
    assert_allclose(bars[:, :2], np.column_stack([mean[0] - 2 * deviation[0], mean[0] + 2 * deviation[0]]), atol=1e-6)
    assert_allclose(scene.mark("trace", "so far").y, fitted.history_, rtol=1e-9)
    assert scene.says.startswith(f"step 12, log posterior {fitted.history_[-1]:.1f}; ")


@pytest.mark.widget
def test_a_panel_saved_as_a_file_shows_the_cross_too():
    assert panel_gplvm(x1=0.0, **SMALL).png(dpi=40) != panel_gplvm(x1=1.0, **SMALL).png(dpi=40)


@pytest.mark.widget
@pytest.mark.parametrize("n_grid", [COARSE, FINE])
def test_the_shades_are_the_log_precision_of_the_model(n_grid):
    scene = panel_gplvm(n_grid=n_grid, **SMALL)
    shades, limit = scene.mark("latent", "precision"), scene.panel("latent").x.limits[1]
    model = start_model(*((OPENING | SMALL)[name] for name in START))
    expected = model.log_precision(grid_points((-limit, limit, -limit, limit), n_grid)).reshape(n_grid, n_grid)
    assert_allclose(shades.values, expected)
    assert shades.extent == (-limit, limit, -limit, limit) and shades.from_below
    assert limit == picture_limit(model.embedding_) > np.abs(model.embedding_).max()


@pytest.mark.widget
@pytest.mark.parametrize("columns", [2, 3, 6, 40])
@pytest.mark.parametrize("labels", [None, "classes", "scale"])
def test_panel_draws_data_of_any_width_with_classes_a_scale_or_nothing(columns, labels):
    rng = np.random.default_rng(columns)
    given = {None: None, "classes": np.repeat(["b", "a"], 10), "scale": np.linspace(0, 1, 20)}[labels]
    scene = panel_gplvm(data=Source(rng.standard_normal((20, columns)), given), x1=0.1)
    points, nearest = scene.mark("latent", "points"), scene.mark("latent", "nearest")
    assert scene.png(dpi=40).startswith(b"\x89PNG")
    assert nearest.label.endswith((", a", ", b")) == (labels == "classes")
    assert (points.group is not None) == (labels == "classes") and (points.values is not None) == (labels == "scale")
    assert points.names == (["a", "b"] if labels == "classes" else None)


@pytest.mark.widget
def test_the_ring_and_the_words_go_with_the_cross_from_sure_to_ignorant():
    X = positions(after(20, **SMALL))
    there, far = (after(20, x1=x, x2=y, **SMALL) for x, y in (X[7], (50.0, 50.0)))
    ring = there.mark("latent", "nearest")
    assert_allclose([ring.x[0], ring.y[0]], X[7])
    assert ring.label.startswith("nearest: point 7, ") and there.panel("decoded").title == how_sure(0.0)
    assert far.panel("decoded").title == "no data here: back to the mean"
    cross = far.mark("latent", "cross")
    assert (cross.x, cross.y) == (50.0, 50.0)


@pytest.mark.widget
def test_far_away_the_deviation_is_the_priors():
    model = GPLVM(max_iter=20, random_state=0).fit(datasets.simulate_oil_flow(40, random_state=0).data)
    mean, deviation, share, _ = at_cross(model, 50.0, 50.0)
    expected, exact = model.inverse_transform([[50.0, 50.0]], return_std=True)
    rbf, bias, _ = model.kernel_.parts  # far away only the constant is known a little
    assert np.all((rbf.variance <= deviation**2) & (deviation**2 <= rbf.variance + bias.variance))
    assert_allclose([mean, deviation], [expected[0], exact[0]])
    says = after(20, x1=50.0, x2=50.0, **SMALL).says
    assert says.endswith(f"at the cross: deviation {deviation[0]:.3g}, {share:.1%} of the prior's")
    assert 0.7 < share <= 1 and len({how_sure(share) for share in (0.1, 0.5, 0.9)}) == 3


# --- as printed, or corrected ------------------------------------------------------------------------------------
@pytest.mark.gradient
def test_the_printed_gradient_is_twice_the_slope_without_a_prior_and_neither_one_nor_two_with_it():
    start = start_model(*((OPENING | SMALL)[name] for name in START))

    def ratio(prior, gradient):
        return slope_at_start(start, prior, gradient)[1]

    assert_allclose(ratio(False, CORRECTED), 1.0, atol=1e-5)
    assert_allclose(ratio(True, CORRECTED), 1.0, atol=1e-5)
    assert_allclose(ratio(False, PRINTED), 2.0, atol=1e-5)
    assert 1.5 < ratio(True, PRINTED) < 2.1 and abs(ratio(True, PRINTED) - 2.0) > 1e-4
    shown = panel_gplvm(prior=False, gradient=PRINTED, **SMALL).mark("trace", "now").label
    assert shown == "gradient 2.00 × the slope"


@pytest.mark.widget
def test_the_start_has_the_objective_of_the_first_step():
    for prior in (True, False):
        scene, first = panel_gplvm(prior=prior, **SMALL), after(1, prior=prior, **SMALL)
        assert_allclose(scene.mark("trace", "run").y[0], first.mark("trace", "run").y[0], rtol=1e-10)
        assert ("log posterior" if prior else "log likelihood") in scene.panel("trace").title


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
    assert_allclose(wrong.history_[0], right.history_[0], rtol=1e-12)
    assert wrong.history_[-1] > wrong.history_[0]
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
        exec(explorer.shown_code(), scope)
        model = shown_model(explorer)
        assert_allclose(scope["X"], positions(explorer.scene), atol=1e-6)
        assert_allclose(scope["model"].kernel_.parameters, model.kernel_.parameters, rtol=1e-5)
        assert_allclose(scope["Y"], model.rows_)
        assert_allclose(scope["decoded"], model.inverse_transform([[explorer.settings["x1"], -0.4]]), atol=1e-5)
        assert explorer.scene.says in capsys.readouterr().out


@pytest.mark.widget
def test_a_drag_decodes_at_once_and_computes_nothing_else(explorer):
    explorer.run_now(max_steps=10)
    before, state = explorer.scene, explorer.state
    for x, y in [(0.5, 0.25), (0.6, 0.3), (-1.0, 0.1)]:
        drag_to(explorer, x + 1e-5, y)
        assert (explorer.settings["x1"], explorer.settings["x2"]) == (x, y)
        here = shown_model(explorer).inverse_transform([[x, y]])
        assert_allclose(explorer.scene.mark("decoded", "decoded").y, here[0])
        assert explorer.scene.panel("trace") is before.panel("trace")
        assert explorer.scene.mark("latent", "precision") is before.mark("latent", "precision")
    assert explorer.state is state and len(explorer.kept) == 10
    explorer.view.hear({"type": "arrow", "panel": "latent", "right": 1, "up": -5})
    limit = explorer.scene.panel("latent").x.limits[1]
    assert_allclose([explorer.settings["x1"], explorer.settings["x2"]], [-1 + limit / 50, 0.1 - limit / 10], atol=5e-4)


@pytest.mark.widget
def test_a_drag_shows_the_same_picture_as_a_panel_of_these_settings(explorer):
    explorer.run_now(max_steps=6)
    explorer.set(x1=0.4, x2=-0.3)
    assert wire(explorer.scene) == wire(panel_gplvm(**explorer.settings, state=explorer.state))


@pytest.mark.widget
def test_run_climbs_and_the_slider_goes_back_to_every_iterate(explorer):
    start = wire(explorer.scene)
    explorer.run_now(max_steps=30)
    values = explorer.state.values
    assert np.all(np.diff(values) >= 0) and explorer.scrubber.max == 29
    assert wire(explorer.scene) != start
    explorer.scrubber.value = 7
    assert explorer.state.step == 7
    fitted = GPLVM(max_iter=7, random_state=0).fit(datasets.simulate_oil_flow(40, random_state=0).data)
    assert_allclose(positions(explorer.scene), fitted.embedding_, atol=1e-6)
    trace = explorer.scene.panel("trace")
    assert trace.title == f"log posterior {values[7]:.1f}" and list(trace.mark("now").x) == [7]
    assert len(trace.mark("run").y) == 30 and len(trace.mark("so far").y) == 8
    assert "max_iter=7," in explorer.shown_code()


@pytest.mark.widget
def test_the_cross_can_be_dragged_while_the_model_learns(explorer):
    def n_grid():
        return len(explorer.scene.mark("latent", "precision").values)

    async def go():
        assert n_grid() == FINE
        explorer.run()
        while explorer.state is None or explorer.state.step < 3:
            await asyncio.sleep(0.01)
        step = explorer.state.step
        drag_to(explorer, 0.5, 0.5)
        assert explorer.running and explorer.settings["x1"] == 0.5
        while explorer.state.step < step + 3:
            await asyncio.sleep(0.01)
        assert n_grid() == COARSE  # while it runs
        explorer.pause()
        assert n_grid() == FINE  # at rest
        explorer.pause()
        explorer.stop(button="stop")
        assert n_grid() == FINE

    asyncio.run(asyncio.wait_for(go(), 60))
    assert not explorer.running
    assert wire(explorer.scene) == wire(panel_gplvm(**explorer.settings, state=explorer.state))


@pytest.mark.widget
def test_a_control_without_effect_is_disabled_and_says_why(explorer):
    assert explorer.controls["seed"].disabled and "random" in explorer.why_box.value
    assert not explorer.controls["inverse_width"].disabled
    explorer.set(init="random", kernel="linear")
    assert not explorer.controls["seed"].disabled and explorer.controls["inverse_width"].disabled


def classes_apart(scene):
    return nearest_neighbour_errors(positions(scene), scene.mark("latent", "points").group)


@pytest.mark.widget
def test_each_question_can_be_asked_and_its_answer_holds(explorer):
    def both(number):
        explorer.ask(number)
        explorer.commit(explorer.asked.right)
        before, model = explorer.scene, shown_model(explorer)
        explorer.reveal()
        assert "Right." in explorer.question_box.value
        assert explorer.settings == explorer.asked.before | explorer.asked.after
        return before, model, explorer.scene, shown_model(explorer)

    with_prior, model, without, free = both(1)
    assert [q.choices[q.right] for q in explorer.questions] == [
        "less far",
        "the mean of all digits",
        "no, it ends lower",
    ]
    assert 0.8 < positions(without).std() / positions(with_prior).std() < 1.25  # "about as wide as before"
    assert model.kernel_["rbf"].inverse_width == 1.0
    assert 0.4 < free.kernel_["rbf"].inverse_width ** -0.5 < 0.7  # "about half"

    from_pca, _, from_random, _ = both(3)
    assert wire(from_pca) == wire(with_prior)
    best, lower = from_pca.mark("trace", "now").y[0], from_random.mark("trace", "now").y[0]
    assert 550 < best < 750 and lower < best - 100
    assert classes_apart(from_pca) < 0.1 * TRAINED["n_points"] and classes_apart(from_random) > classes_apart(from_pca)

    among, _, away, model = both(2)
    assert among.panel("decoded").title == how_sure(0.0)
    assert away.panel("decoded").title == "no data here: back to the mean"
    image = away.mark("decoded", "images").values[:, :8].ravel()
    assert np.abs(image - model.mean_).max() < 2.0  # of sixteen grey levels: the bias has learnt a constant
    assert np.abs(image - among.mark("decoded", "images").values[:, :8].ravel()).max() > 4.0
    x, y = explorer.settings["x1"], explorer.settings["x2"]
    assert max(abs(x), abs(y)) < 0.9 * away.panel("latent").x.limits[1]  # the whole cross is in view


# --- the reader's own data ---------------------------------------------------------------------------------------
@pytest.mark.widget
def test_own_array_with_labels_becomes_the_data(monkeypatch):
    monkeypatch.setattr(Explorer, "raise_errors", True)
    explorer = explore_gplvm(OWN, ["left", "right"] * 15, n_points=20)
    assert explorer.settings["data"] == "yours" and shown_model(explorer).rows_.shape == (20, 6)
    assert explorer.scene.mark("latent", "points").names == ["left", "right"]
    assert explorer.controls["n_points"].max == 30
    scope = {"Y": OWN}
    exec(explorer.shown_code(), scope)
    assert_allclose(scope["X"], positions(explorer.scene), atol=1e-6)
    explorer.set(data="oil flow")
    assert shown_model(explorer).rows_.shape == (20, 12) and explorer.controls["n_points"].max == 300


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
    assert explorer.settings["data"] == "yours" and shown_model(explorer).rows_.shape == (12, 3)
    assert explorer.scene.mark("latent", "points").names == ["a", "b"]
    assert explorer.controls["n_points"].disabled and "all 12 rows are used" in explorer.why_box.value
    (tmp_path / "mine.csv").write_text(CSV)
    monkeypatch.chdir(tmp_path)
    explorer.run_now(max_steps=3)
    scope = {}
    exec(explorer.shown_code(), scope)
    assert_allclose(scope["X"], positions(explorer.scene), atol=1e-6)


@pytest.mark.widget
def test_label_column_by_name_may_be_numbers(explorer):
    text = "year,u,v\n" + "".join(f"{1990 + k % 3},{a},{b}\n" for k, (a, b) in enumerate(OWN[:12, :2]))
    upload(explorer, text)
    assert shown_model(explorer).rows_.shape == (12, 3) and explorer.scene.mark("latent", "points").names is None
    explorer.label_column.value = "year"
    assert shown_model(explorer).rows_.shape == (12, 2)
    assert explorer.scene.mark("latent", "points").names == ["1990", "1991", "1992"]


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
    before = explorer.scene
    upload(explorer, "PK\0\0")
    assert "no text file" in explorer.problem and explorer.scene is before
    upload(explorer, CSV)
    assert explorer.problem == "" and wire(explorer.scene) != wire(before)
    explorer.label_column.value = "colour"
    assert "no column 'colour'" in explorer.problem and "length, width" in explorer.problem


@pytest.mark.widget
def test_an_iterate_shown_is_a_copy_and_leaves_the_start_alone():
    start = start_model(*((OPENING | SMALL)[name] for name in START))
    X = start.embedding_.copy()
    assert not np.allclose(positions(after(5, **SMALL)), X)
    assert np.array_equal(start_model(*((OPENING | SMALL)[name] for name in START)).embedding_, X)


@pytest.mark.widget
def test_every_kernel_of_the_menu_runs(monkeypatch):
    monkeypatch.setattr(Explorer, "raise_errors", True)
    explorer = explore_gplvm(OWN, ["<b>", "&"] * 15)
    for kernel in KERNELS:
        explorer.set(kernel=kernel)
        explorer.run_now(max_steps=3)
        assert explorer.state.step == 2 and explorer.state.values[-1] > explorer.state.values[0]


# --- in a real JupyterLab ----------------------------------------------------------------------------------------
PAGE = ["explore_gplvm(n_points=60)"]


def cross(page):
    return float(page.control("x1").value()), float(page.control("x2").value())


@pytest.mark.browser
def test_dragging_the_cross_in_jupyterlab_decodes_other_points(page, screenshots):
    start, where = page.picture_at_rest(), cross(page)
    page.drag_picture("latent", (0.0, 0.0), (-1.0, 1.0))
    moved = page.wait_for_new_picture(start)
    assert_allclose(cross(page), [-1.0, 1.0], atol=0.05)
    assert cross(page)[0] < where[0] and cross(page)[1] > where[1]
    before = cross(page)
    page.press_in_picture("latent", "ArrowDown", times=2)
    page.press_in_picture("latent", "ArrowRight")
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
    page.run_code_of_the_picture()
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
    page.browser.do(choose, good)
    page.wait_until(lambda: page.error_box() == "", 10, "the picture of the good file")
    assert page.wait_for_new_picture(before) != before
    assert page.control("data").value() == "yours"
    page.control("data").choose("oil flow")
    page.picture_at_rest()
