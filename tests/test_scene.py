"""A picture as data: what marks and panels hold, how they travel, what is computed again, and what is drawn of them."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import hypothesis
import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import numpy as np
import pytest
from gplvm_widgets.scene import (
    HIDDEN,
    Axis,
    Band,
    Bars,
    Cursor,
    Ellipses,
    Image,
    Lines,
    Panel,
    Patches,
    Points,
    Rules,
    Scene,
    SceneOf,
    SceneView,
    Texts,
    figure,
    gallery,
    remember,
)
from gplvm_widgets.scene.pack import fixed_point, pack
from gplvm_widgets.scene.page import plain_script, strip_data, strip_html
from gplvm_widgets.scene.view import N_PANELS, SCRIPT
from IPython.core.formatters import DisplayFormatter

from gplvm_edu.plotting import PALETTE

SCENE_JS = Path(figure.__file__).with_name("scene.js")


def every_mark():
    """One panel with one mark of each kind."""
    rng = np.random.default_rng(0)
    return [
        Image("image", rng.random((3, 4)), extent=(0, 4, 0, 3), bar="height", ramp="precision", from_below=True),
        Band("band", [0, 1, 2], [0, 0.5, 0], [1, 1, 2], label="band"),
        Patches("patches", rng.random((2, 4, 2)), [0.0, 1.0]),
        Bars("bars", [1, 2], [1.0, -0.5], base=0.5, label="bars"),
        Lines("lines", [0, 1, np.nan, 2, 3], [0, 1, np.nan, 1, 0], dash=True, label="lines"),
        Ellipses("ellipses", [1.0, 2.0], [1.0, 2.0], [np.eye(2), np.diag([0.5, 0.2])]),
        Rules("rules", x=[1.5], y=[0.5], label="rule"),
        Points("points", [1, 2, 3], [3, 2, 1], group=[0, 2, 1], names=("a", "b", "c")),
        Points("shades", [1, 2], [1, 2], values=[0.0, 5.0]),
        Texts("texts", [1.0], [1.0], ["word"]),
        Cursor("cursor", 1.0, 2.0),
    ]


@pytest.fixture
def panel():
    return Panel(every_mark(), title="all", x=Axis("x"), y=Axis("y"), key="all", listens="drag", hint="drag it")


# ---------------------------------------------------------------------- marks and panels
def test_a_panel_shows_all_its_marks_unless_its_axes_say_otherwise():
    marks = [Lines("line", [0, 10], [-1, 1]), Bars("bars", [5], [3.0], base=1.0, width=2.0)]
    free = Panel(marks)
    assert free.x.limits == (-0.5, 10.5) and free.y.limits == (-1.25, 4.25)  # a twentieth of the range on either side
    assert Panel(marks, y=Axis(limits=(0, 2))).y.limits == (0.0, 2.0)
    low, high = Panel([Lines("line", [0.01, 0, 100], [1, 2, 3])], x=Axis(log=True)).x.limits
    assert 0 < low < 0.01 and 100 < high < 250
    assert Panel([Image("image", np.eye(3))]).y.limits == (2.5, -0.5)  # the first row at the top
    assert Panel([Points("one", [2.0], [0.0])]).x.limits == (1.0, 3.0)
    assert Panel([]).x.limits == (0.0, 1.0)


@pytest.mark.bad_input
def test_two_marks_with_one_key_and_axes_without_length_are_refused():
    with pytest.raises(ValueError, match="different keys, got a, a"):
        Panel([Lines("a", [0], [0]), Points("a", [0], [0])])
    for axis in (Axis(limits=(1, 1)), Axis(limits=(0, np.inf)), Axis(limits=(-1, 1), log=True)):
        with pytest.raises(ValueError, match="can't go from"):
            Panel([], x=axis, title="t")


def test_a_line_can_visit_its_points_in_any_order():
    line = Lines("edges", [0.0, 1.0, 2.0], [0.0, 1.0, 0.0], order=np.array([0, 1, 2, -1, 0, 2]))
    x, y = line.path()
    assert np.array_equal(x, [0, 1, 2, np.nan, 0, 2], equal_nan=True) and y[-1] == 0.0
    drawn = javascript(
        "const { x } = scene.decode(JSON.parse(Deno.args[0])).marks[0];"
        "console.log(JSON.stringify([...x].map((v) => Number.isNaN(v) ? 'gap' : Math.round(v))))",
        json.dumps(Panel([line]).wire(stored=True)),
    )
    assert drawn == [0, 1, 2, "gap", 0, 2]


def test_a_scene_finds_its_panels_and_marks_and_names_them_when_it_does_not(panel):
    scene = Scene([panel], says="a number: 3")
    assert scene.mark("all", "bars").label == "bars" and scene.frame()["says"] == "a number: 3"
    with pytest.raises(KeyError, match="this scene has all"):
        scene.panel("none")
    assert len(repr(scene)) < 80


# ---------------------------------------------------------------------- how arrays travel
def read(packed):
    """What the page makes of a packed array: `unpack` of scene.js, in Python."""
    import base64

    if "f4" in packed:
        data = packed["f4"]
        return np.frombuffer(data if isinstance(data, bytes) else base64.b64decode(data), "<f4")
    codes = np.frombuffer(base64.b64decode(packed["codes"]), "<u2" if packed["bits"] == 16 else "<u1")
    gap = 65535 if packed["bits"] == 16 else 255
    return np.where(codes == gap, np.nan, packed["low"] + packed["step"] * codes)


FINITE = st.floats(-1e6, 1e6, width=32)
ROWS = arrays.arrays(float, st.integers(1, 30), elements=st.one_of(FINITE, st.just(np.nan)))


@hypothesis.given(ROWS)
def test_numbers_arrive_to_single_precision_live_and_to_a_small_part_of_their_range_stored(values):
    live, stored = read(pack(values)), read(pack(values, stored=True))
    assert np.array_equal(live, values.astype(np.float32), equal_nan=True)
    assert np.array_equal(np.isnan(stored), np.isnan(values))
    finite = values[np.isfinite(values)]
    if finite.size:
        assert np.nanmax(np.abs(stored - values)) <= (np.ptp(finite) or 0.0) / 65534 + 1e-9 * np.abs(finite).max()


def test_a_stored_picture_has_254_shades_and_log_axes_keep_every_digit():
    image = Image("image", np.linspace(0, 1, 12).reshape(3, 4), low=0, high=2)
    shades = read(image.wire(stored=True)["values"])
    assert np.abs(shades - np.linspace(0, 1, 12)).max() <= 1 / 254
    small = np.array([1e-9, 1e-3, 1.0])
    wire = Panel([Lines("line", small, small)], x=Axis(log=True)).wire(stored=True)
    assert np.allclose(read(wire["marks"][0]["x"]), small, rtol=1e-6)


def test_what_a_page_computes_with_has_nine_digits():
    import base64

    values = np.random.default_rng(0).standard_normal(50)
    packed = fixed_point(values)
    back = np.frombuffer(base64.b64decode(packed["i4"]), "<i4") * packed["step"]
    assert np.abs(back - values).max() <= 2e-9 * np.abs(values).max()


# ---------------------------------------------------------------------- only what has changed
def counted():
    """A scene of two panels that count how often they were computed."""
    calls = {"slope": 0, "level": 0}

    def slope(a, state):
        calls["slope"] += 1
        return Panel([Lines("line", [0, 1], [0, a + (state or 0)])])

    def level(b):
        calls["level"] += 1
        return Panel([Rules("rule", y=[b])]) if b >= 0 else None

    return SceneOf(slope, level, defaults=dict(a=1, b=0, c=0), says=lambda a, b: f"{a} and {b}"), calls


def test_only_panels_whose_arguments_changed_are_computed_again():
    scenes, calls = counted()
    first = scenes(a=2)
    second = scenes.again(first, a=2, b=3)
    assert calls == {"slope": 1, "level": 2} and second.panels[0] is first.panels[0]
    third = scenes.again(second, a=2, b=3, c=9, state=None)
    assert calls == {"slope": 1, "level": 2} and third.says == "2 and 3"
    scenes.again(third, a=2, b=3, state=1)
    assert calls == {"slope": 2, "level": 2}
    assert [panel.key for panel in scenes(b=-1).panels] == ["slope"]  # a panel with nothing to show


@pytest.mark.bad_input
def test_unknown_settings_are_named_and_every_argument_needs_an_opening_value():
    scenes, _ = counted()
    with pytest.raises(TypeError, match="no setting named colour; there are a, b, c"):
        scenes(colour=3)
    with pytest.raises(ValueError, match="no default for x"):
        SceneOf(lambda x: None, defaults={}, says="")


def test_remember_counts_plain_values_by_value_and_arrays_by_identity():
    calls = []

    @remember(maxsize=2)
    def total(values, power):
        calls.append(power)
        return np.sum(values**power)

    a, b = np.arange(3.0), np.arange(3.0)
    assert total(a, 2) == total(a, 2) == 5 and calls == [2]
    assert total(b, 2) == 5 and calls == [2, 2]
    total(a, 1)
    total(b, 2)
    assert calls == [2, 2, 1]
    total(a, 2)  # was forgotten: two are kept
    assert calls == [2, 2, 1, 2]


def test_a_gallery_has_a_column_for_each_scene_and_a_row_for_each_panel():
    scenes, _ = counted()
    shown = gallery({"flat": scenes(a=0), "steep": scenes(a=9)}, "slope", "level")
    assert shown.columns == 2 and [panel.title for panel in shown.panels] == ["flat", "steep", "", ""]
    assert [panel.legend for panel in shown.panels] == [True, False, True, False]


# ---------------------------------------------------------------------- as a matplotlib Figure
def test_every_mark_is_drawn_by_matplotlib_too(panel):
    drawn = Scene([panel, replace(panel, key="two")], says="two of them").figure()
    first = next(axes for axes in drawn.axes if axes.get_gid() == "all")
    assert len(first.images) == 1 and len(first.patches) == 2 and len(first.texts) == 1
    assert len(first.collections) >= 6  # band, patches, ellipses, three classes, shades
    assert first.get_xlabel() == "x" and first.get_title(loc="left") == "all"
    assert {t.get_text() for t in first.get_legend().get_texts()} >= {"band", "bars", "lines", "rule", "a", "b", "c"}


def test_a_scene_shows_itself_as_a_small_png(panel):
    png = DisplayFormatter().format(Scene([panel]))[0]["image/png"]
    assert png[1:4] == b"PNG" and len(png) < 60_000


def test_panels_fill_the_grid_row_by_row():
    def part(**place):
        return Panel([], key=str(place), **place)

    scene = Scene([part(span=2, rows=2), part(), part(rows=1, span=1, title="x"), part(span=3)], columns=3)
    assert figure.grid_places(scene) == ([(0, 0), (0, 2), (1, 2), (2, 0)], 3)


# ---------------------------------------------------------------------- the live view, without a browser
def test_a_view_sends_only_the_panels_that_are_new(panel):
    view, other = SceneView(), replace(panel, key="other")
    sent = []
    view.observe(lambda change: sent.append(change["name"]))
    view.show(Scene([panel, other]))
    assert {"panel_0", "panel_1", "frame"} <= set(sent)
    sent.clear()
    view.show(Scene([panel, replace(other, title="new")]))
    assert set(sent) == {"panel_1", "frame"} and view.frame["keys"] == ["all", "other"]


def test_a_view_tells_its_owner_what_the_reader_does_and_answers_even_when_that_fails(monkeypatch):
    heard, answers = [], []

    def fail(*place):
        heard.append(place)
        raise ZeroDivisionError

    view = SceneView(on_point=fail, on_arrow=lambda *step: heard.append(step))
    monkeypatch.setattr(view, "send", answers.append)
    view.hear({"type": "arrow", "panel": "p", "right": 1, "up": 0, "n": 1, "view": "v"})
    with pytest.raises(ZeroDivisionError):
        view.hear({"type": "point", "panel": "p", "x": 0.5, "y": 2.0, "n": 2, "view": "v"})
    assert heard == [("p", 1, 0), ("p", 0.5, 2.0)]
    assert answers == [{"answered": 1, "view": "v"}, {"answered": 2, "view": "v"}]


@pytest.mark.bad_input
def test_a_scene_of_too_many_panels_is_refused():
    with pytest.raises(ValueError, match="at most 8 panels, got 9"):
        SceneView().show(Scene([Panel([], key=str(k)) for k in range(9)]))


def test_a_problem_takes_the_place_of_the_picture_until_the_next_scene(panel):
    view = SceneView()
    view.complain("Choose a smaller q.")
    assert view.problem == "Choose a smaller q."
    view.show(Scene([panel]))
    assert view.problem == ""


# ---------------------------------------------------------------------- in a plain page
def test_a_strip_holds_every_panel_once_and_its_words_without_a_script(panel):
    two = replace(panel, key="other", title="other")
    scenes = [Scene([panel, two], says="one"), Scene([panel, two], says="again"), Scene([panel], says="two")]
    question = dict(text="What is <b>?", choices=("a", "b"), right=1, answer="b & c", before=1, after=2)
    data = strip_data(scenes, [question])
    assert len(data["panels"]) == 2 and [scene["panels"] for scene in data["scenes"]] == [[0, 1], [0, 1], [0]]
    assert all(p["listens"] == p["hint"] == "" for p in data["panels"])  # nothing to click without a kernel
    page = strip_html("toy", "Toy", scenes, [question | {"answer": "</script><i>"}], b"PNG")
    assert "What is &lt;b&gt;?" in page and "&lt;/script&gt;&lt;i&gt;" in page
    packed = re.search(r'class="gplvm-packed">(.*?)</script>', page, re.DOTALL)[1]
    script = "console.log(JSON.stringify(await scene.unpackJson(Deno.args[0])))"
    assert javascript(script, packed) == json.loads(
        json.dumps(strip_data(scenes, [question | {"answer": "</script><i>"}]))
    )


# ---------------------------------------------------------------------- the module that draws, without a page
def javascript(source, *arguments):
    """What a script prints that imports from scene.js; arguments arrive as Deno.args."""
    deno = shutil.which("deno") or str(Path(sys.executable).with_name("deno"))
    script = f"import * as scene from {json.dumps(SCENE_JS.as_uri())};\n{source}"
    command = [deno, "eval", "--ext=js", script, *arguments]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_the_page_unpacks_what_python_packs(panel):
    wire = json.dumps(panel.wire(stored=True))
    decoded = javascript(
        "const panel = scene.decode(JSON.parse(Deno.args[0]));"
        "const list = (v) => ArrayBuffer.isView(v) ? [...v].map((x) => Number.isNaN(x) ? 'gap' : x) : v;"
        "const plain = (m) => Object.fromEntries(Object.entries(m).map(([k, v]) => [k, list(v)]));"
        "console.log(JSON.stringify(panel.marks.map(plain)))",
        wire,
    )
    by_key = {mark["key"]: mark for mark in decoded}
    assert by_key["points"]["group"] == [0, 2, 1] and np.allclose(by_key["points"]["x"], [1, 2, 3], atol=1e-4)
    assert by_key["lines"]["x"][2] == "gap" and np.allclose(by_key["bars"]["base"], 0.5)
    assert np.allclose(by_key["ellipses"]["factors"], [1, 0, 0, 1, 0.5, 0, 0, 0.2], atol=1e-4)
    assert (by_key["image"]["rows"], by_key["image"]["columns"]) == (3, 4)
    assert np.allclose(by_key["image"]["values"], panel.mark("image").values.ravel(), atol=1 / 254)


def test_ticks_are_round_and_at_least_two_and_numbers_are_short():
    axes = [
        ({"limits": [0, 1]}, 300),
        ({"limits": [-3.2, 3.3]}, 90),
        ({"limits": [12, 0]}, 200),
        ({"limits": [0.001, 100], "log": True}, 300),
        ({"limits": [1.5, 8], "log": True}, 200),
        ({"limits": [0, 5], "ticks": [1, 9]}, 9),
    ]
    ticks = javascript(
        "const ticks = JSON.parse(Deno.args[0]).map(([axis, room]) => scene.ticksOf(axis, room));"
        "const words = [0.00001234, -36213.34, 0.5, 1234567, 12].map((v) => scene.short(v));"
        "console.log(JSON.stringify([...ticks, words]))",
        json.dumps(axes),
    )
    assert np.allclose(ticks[0], [0, 0.2, 0.4, 0.6, 0.8, 1.0]) and all(len(t) >= 2 for t in ticks[:5])
    assert ticks[3] == [0.001, 0.01, 0.1, 1, 10, 100] and ticks[5] == [1]
    assert ticks[6] == ["1.23e\N{MINUS SIGN}5", "\N{MINUS SIGN}36213", "0.5", "1.23e6", "12"]


def test_a_reader_who_does_not_see_the_panel_is_told_what_it_holds(panel):
    words = javascript(
        "console.log(JSON.stringify(scene.describe(scene.decode(JSON.parse(Deno.args[0])))))",
        json.dumps(panel.wire(True)),
    )
    assert words.startswith("all. Across: x from ") and "3 points" in words and "the cross at 1, 2" in words


def test_light_colours_are_those_of_the_figures():
    light = SCRIPT[SCRIPT.index("light: {") : SCRIPT.index("dark: {")]
    classes = re.search(r'classes: "([^"]*)"', light)[1].split()
    assert tuple(classes) == PALETTE and len(set(PALETTE)) == 10
    for name, colours in figure.RAMPS.items():
        assert re.search(rf"{name}: \[([^\]]*)\]", light)[1].replace('"', "").split(", ") == colours, name


def luminance(colour):
    linear = [((v / 255 + 0.055) / 1.055) ** 2.4 if v > 10 else v / 255 / 12.92 for v in colour]
    return np.dot([0.2126, 0.7152, 0.0722], linear)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_and_lines_stand_out_from_the_paper(theme):
    start = SCRIPT.index(f"{theme}: {{")
    look = SCRIPT[start : SCRIPT.index("ramps", start)]
    value = lambda name: [int(re.search(rf'{name}: "#(\w+)"', look)[1][k : k + 2], 16) for k in (0, 2, 4)]  # noqa: E731

    def contrast(a, b):
        high, low = sorted([luminance(a), luminance(b)], reverse=True)
        return (high + 0.05) / (low + 0.05)

    assert contrast(value("ink"), value("paper")) > 7
    assert contrast(value("quiet"), value("paper")) > 4.5 and contrast(value("accent"), value("paper")) > 4.5


def test_the_module_is_short_loads_nothing_and_becomes_a_plain_script():
    assert len(SCRIPT.splitlines()) < 915 and not re.search(r"\bimport\b|https?:|fetch\(", SCRIPT)
    script = plain_script(SCRIPT)
    assert not re.search(r"^(export|import)\b", script, re.MULTILINE) and len(script) < 0.9 * len(SCRIPT)
    assert f"const PANELS = {N_PANELS};" in script


def test_hidden_axes_have_no_ticks():
    drawn = Scene([Panel([Image("image", np.eye(2))], x=HIDDEN, y=HIDDEN, key="p")]).figure()
    assert len(drawn.axes[0].get_xticks()) == len(drawn.axes[0].get_yticks()) == 0


def test_nothing_but_the_engine_draws():
    folder = SCENE_JS.parents[1]
    draws = re.compile("matplotlib|gplvm_edu.plotting|PIL")
    drawing = sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*.py") if draws.search(path.read_text())
    )
    # two of them say so in words, and `words.py` takes from there what a name is
    assert drawing == ["scene/__init__.py", "scene/figure.py", "scene/marks.py", "words.py"]
