"""The living figure of chapter 6: graph and shortest path in the page against `gplvm_edu.proximity` and scipy."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from gplvm_widgets.living import neighbour_graph
from gplvm_widgets.living.figure import stored_value
from gplvm_widgets.living.neighbour_graph import MOST, VIEWS, check_roll, curve_of, graph_numbers, graph_scene, sentence
from numpy.testing import assert_allclose
from test_living import FRAMES, ROOT, TOLERANCE, StaticPage, check_looks, check_marks, check_speed, in_deno

from gplvm_edu import datasets, proximity
from gplvm_edu.datasets import Dataset

SHEET = check_roll(None)
CURVE = curve_of(SHEET)
NOISY = check_roll(datasets.make_swiss_roll(90, 0.8, random_state=3))


def grid_on_a_bent_plane():
    """Points on a grid, with many equal distances, bent by a right angle; two of them are the same point."""
    across, up = (side.ravel() for side in np.meshgrid(np.arange(8.0), np.arange(5.0)))
    across[1] = across[0]
    data = np.column_stack([np.minimum(across, 4), up, np.maximum(across - 4, 0)])
    return check_roll(Dataset(data, across, (), {"sheet": np.column_stack([across, up])}))


GRID = grid_on_a_bent_plane()


@pytest.mark.identity
def test_the_page_finds_the_graph_the_path_and_its_jumps_as_the_package_does():
    rng = np.random.default_rng(0)
    for sheet in (SHEET, NOISY, GRID):
        N = len(sheet.Y)
        states = [(k, *map(int, rng.integers(N, size=2))) for k in range(1, MOST + 1) for _ in range(3)] + [(5, 4, 4)]
        sent = {"rows": sheet.Y.tolist(), "sheet": sheet.flat.tolist(), "most": MOST}
        sent["states"] = [dict(k=k, **{"from": a, "to": b}) for k, a, b in states]
        program = """const near = neighbour_graph.nearest(data.rows, data.most);
          return data.states.map((s) => {
            const graph = neighbour_graph.graphOf(data.rows, near, s.k);
            const found = neighbour_graph.numbers(s, data.rows, data.sheet, graph);
            return { ...found, says: neighbour_graph.saysOf(s.k, found) };
          });"""
        for (k, a, b), page in zip(states, in_deno(program, sent), strict=True):
            wanted = graph_numbers(sheet, k, (a, b))
            graph = proximity.neighbour_graph(sheet.distances, k)
            rows, columns = graph.tocoo().coords
            wanted_edges = {(n, m) for n, m in zip(rows.tolist(), columns.tolist(), strict=True) if n < m}
            assert {tuple(edge) for edge in page["edges"]} == wanted_edges == {tuple(e) for e in wanted.edges.tolist()}
            assert len(page["edges"]) == graph.nnz / 2  # an edge of length 0, between duplicates, is an edge
            assert page["pieces"] == wanted.pieces
            assert_allclose(page["along"], wanted.along, **TOLERANCE)
            geodesic = proximity.geodesic_distances(graph)[a, b]
            if np.isinf(geodesic):
                assert page["path"] == [] and not len(wanted.path)
                assert page["says"] == sentence(k, wanted)
                continue
            assert_allclose([page["length"], wanted.length], geodesic, **TOLERANCE)
            steps = list(pairwise(page["path"]))
            assert_allclose(sum(sheet.distances[step] for step in steps), geodesic, **TOLERANCE)
            if sheet is GRID:  # several paths are equally short
                continue
            assert page["path"] == wanted.path.tolist() and page["says"] == sentence(k, wanted)
            assert page["jumps"] == wanted.jumps.tolist()
            jumps = {tuple(sorted(j)) for j in proximity.short_circuits(graph, sheet.flat).tolist()}
            assert {tuple(sorted(step)) for step in page["jumps"]} == {tuple(sorted(s)) for s in steps} & jumps


@pytest.mark.identity
def test_what_the_figure_is_to_show_is_true():
    """The answer to its question: at k = 9, from 94.9 to 58.1; and the rule without the truth, on ten rolls."""
    n_jumps = [
        len(proximity.short_circuits(proximity.neighbour_graph(SHEET.distances, k), SHEET.flat))
        for k in range(1, MOST + 1)
    ]
    assert int(np.argmax(np.array(n_jumps) > 0)) + 1 == CURVE.first_fall() == 9
    assert_allclose(CURVE.longest[[6, 7, 8]], [95.85, 94.86, 58.14], atol=0.01)
    before, after = (graph_numbers(SHEET, k, CURVE.ends[6]) for k in (8, 9))
    assert (len(before.jumps), len(after.jumps)) == (0, 1)
    assert_allclose([before.length / before.along, after.length / after.along], [1.07, 0.39], atol=0.01)
    agree = []
    for seed in range(10):
        sheet = check_roll(datasets.make_swiss_roll(400, random_state=seed))
        graphs = [proximity.neighbour_graph(sheet.distances, k) for k in range(1, MOST + 1)]
        first = 1 + next(k for k, graph in enumerate(graphs) if len(proximity.short_circuits(graph, sheet.flat)))
        fall = curve_of(sheet).first_fall()
        agree.append(fall == first)
        assert fall == first or (first, fall) == (3, 8)  # joined from the first graph in one piece on: told too late
    assert sum(agree) == 9


@pytest.mark.widget
def test_the_figure_is_the_same_text_every_time_and_takes_other_rolls():
    figure = neighbour_graph()
    assert figure.html == neighbour_graph().html and len(figure.html) < 140_000 and "http" not in figure.html
    assert figure.html.count("Question:") == 1 and figure.scene.says in repr(figure)
    roll = datasets.make_swiss_roll(60, 0.3, random_state=1)
    other = neighbour_graph(roll, n_neighbors=1, ends=(0, np.int64(7)), name="other")
    assert "gplvm-living-other" in other.html and "no path from one point to the other" in other.scene.says
    assert other.data["opening"] == {"k": 1, "from": 0, "to": 7}
    assert sum(len(str(stored_value(value))) for value in figure.data.values()) < 40_000


@pytest.mark.bad_input
def test_neighbour_graph_says_what_is_wrong():
    roll = datasets.make_swiss_roll(30, random_state=0)
    for wrong, message in (
        (dict(roll=roll.data), "must be a Dataset that knows its flat sheet"),
        (dict(roll=datasets.load_digits()), "must be a Dataset that knows its flat sheet"),
        (dict(roll=datasets.make_swiss_roll(10, random_state=0)), "roll.data has 10 rows: at least 20 are needed"),
        (dict(roll=datasets.make_swiss_roll(501, random_state=0)), "20 to 500 points"),
        (dict(roll=roll._replace(extra={"sheet": roll.target})), "two coordinates of each on the sheet"),
        (dict(roll=roll, n_neighbors=17), "n_neighbors must be a whole number from 1 to 16"),
        (dict(roll=roll, ends=(0, 30)), "must be a whole number from 0 to 29"),
        (dict(roll=roll, ends=3), "ends must be two numbers of points"),
        (dict(roll=roll, name="a b"), "letters, digits and dashes"),
    ):
        with pytest.raises(ValueError, match=message):
            neighbour_graph(**wrong)


# ---------------------------------------------------------------------- in a browser, from a file
NAME = "neighbour-graph"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return neighbour_graph().save(tmp_path_factory.mktemp("living") / "graph.html")


def number_of(places, x, y):
    """The point of the page at this place."""
    return int(np.argmin(np.sum((places - (x, y)) ** 2, axis=1)))


def check_graph(drawn, view="from the side"):
    """The page shows what Python computes for the k and the ends that it shows; returns these."""
    k = int(drawn.mark("curve", "now")["x"][0])
    ends = [
        number_of(SHEET.flat, *place) for place in zip(*(drawn.mark("sheet", "ends")[s] for s in "xy"), strict=True)
    ]
    scene = graph_scene(SHEET, CURVE, k, ends, view)
    assert drawn.says == scene.says
    for panel in ("roll", "sheet"):
        for key in ("points", "path", "jumps", "ends"):
            found, wanted = drawn.mark(panel, key), scene.mark(panel, key)
            for side in "xy":
                assert_allclose(
                    np.asarray(found[side], float), getattr(wanted, side), err_msg=f"{panel} {key}", **TOLERANCE
                )
        x, y = (np.asarray(drawn.mark(panel, "edges")[side], float).reshape(-1, 3) for side in "xy")
        assert (
            len(x) == len(graph_numbers(SHEET, k, ends).edges) and np.isnan(x[:, 2]).all() and np.isnan(y[:, 2]).all()
        )
    chosen = [float(drawn.mark("sheet", "chosen")[side][0]) for side in "xy"]
    assert number_of(SHEET.flat, *chosen) in ends
    return k, ends


@pytest.mark.browser
@pytest.mark.parametrize("hand", ["mouse", "finger"])
def test_ends_and_k_follow_the_hand(hand, browser, saved, screenshots):
    page = StaticPage(browser, saved, touch=hand == "finger")
    move = partial(page.drag if hand == "mouse" else page.swipe, NAME)
    start = page.scene()
    check_marks(start, graph_scene(SHEET, CURVE, 7, CURVE.ends[6]), besides=("edges", "curve", "whole", "pieces"))
    k, ends = check_graph(start)
    assert (k, set(ends)) == (7, set(CURVE.ends[6].tolist()))
    move("sheet", tuple(SHEET.flat[ends[0]]), (60.0, 10.0), tuple(SHEET.flat[17]))
    assert check_graph(page.scene())[1] == [17, ends[1]]
    places = SHEET.Y @ VIEWS["from the side"]
    target = int(np.argmin(places[:, 0]))  # the outermost on the left: nothing lies over it
    move("roll", tuple(places[ends[1]]), (0.0, 0.0), tuple(places[target]))
    assert check_graph(page.scene())[1] == [17, target]
    page.do(page.page.get_by_role("button", name="Ends of the longest").click)
    assert set(check_graph(page.scene())[1]) == set(ends)
    move("curve", (7, 80.0), (8, 60.0), (9, 40.0))
    k, _ = check_graph(page.scene())
    assert k == 9 and "1 step jumps between layers" in page.scene().says and "ratio 0.39" in page.scene().says
    page.do(page.page.screenshot, path=str(screenshots / f"living_graph_jump_{hand}.png"))
    page.set(NAME, "seen", "along the axis")
    check_graph(page.scene(), "along the axis")
    page.do(page.page.screenshot, path=str(screenshots / f"living_graph_axis_{hand}.png"))
    page.check_quiet()
    page.close()


@pytest.mark.browser
def test_keys_and_the_slider_of_the_graph(browser, saved):
    page = StaticPage(browser, saved)
    _, (first, second) = check_graph(page.scene())
    page.press(NAME, "sheet", " ")  # the ring goes to the other end
    chosen = [float(page.scene().mark("sheet", "chosen")[side][0]) for side in "xy"]
    assert number_of(SHEET.flat, *chosen) == first
    page.press(NAME, "sheet", "ArrowRight" if SHEET.flat[first, 0] < 50 else "ArrowLeft", times=3)
    _, moved = check_graph(page.scene())
    assert moved[1] == second and abs(SHEET.flat[moved[0], 0] - SHEET.flat[first, 0]) > 0
    page.press(NAME, "roll", "Shift+ArrowDown")
    _, again = check_graph(page.scene())
    assert again[1] == second and again[0] != moved[0]
    down = (SHEET.Y @ VIEWS["from the side"])[[again[0], moved[0]], 1]
    assert down[0] < down[1]
    page.press(NAME, "curve", "ArrowRight", times=2)
    assert check_graph(page.scene())[0] == 9
    page.press(NAME, "curve", "Shift+ArrowLeft")
    assert check_graph(page.scene())[0] == 8
    page.set(NAME, "neighbours k", 1)
    assert check_graph(page.scene())[0] == 1 and "no path" in page.scene().says
    page.press(NAME, "curve", "ArrowLeft", times=2)
    page.press(NAME, "roll", "Shift+ArrowUp", times=9)  # at the border nothing moves
    assert check_graph(page.scene())[0] == 1
    label = page.do(page.page.locator(f'{ROOT}{NAME} [data-key="roll"] .gplvm-canvas').get_attribute, "aria-label")
    assert "the roll and its graph" in label and "Space takes the other end" in label
    page.check_quiet()
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("width, scheme", [(1280, "light"), (390, "dark")])
def test_looks_of_the_graph(width, scheme, browser, saved, screenshots):
    page = StaticPage(browser, saved, width=width, height=844 if width == 390 else 900, scheme=scheme)
    check_looks(page, width, scheme)
    page.do(page.page.screenshot, path=str(screenshots / f"living_graph_{width}_{scheme}.png"))
    check_speed(page)
    page.check_quiet()
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("panel", ["roll", "curve"])
def test_dragging_an_end_or_k_keeps_up_with_the_screen(panel, browser, saved):
    page = StaticPage(browser, saved)
    start = tuple((SHEET.Y @ VIEWS["from the side"])[0]) if panel == "roll" else (7, 50.0)
    page.do(page.page.mouse.move, *page.pixel(NAME, panel, start))
    page.do(page.page.mouse.down)
    before = page.scene()
    page.evaluate(FRAMES, [ROOT + NAME, panel, 30])  # once, so that the browser has compiled what it will run
    began = page.thread_milliseconds()
    frames = page.evaluate(FRAMES, [ROOT + NAME, panel, 90])
    cost = (page.thread_milliseconds() - began) / 90
    print(f"{panel}: {cost:.1f} ms of the page's thread for a move, {frames:.0f} moves a second")
    assert page.scene().says != before.says
    assert 0.1 < cost < 13
    page.close()


@pytest.mark.browser
def test_without_scripts_the_graph_is_a_picture(browser, saved):
    page = StaticPage(browser, saved, scripts=False)
    assert page.do(page.page.locator(".gplvm-still img").is_visible)
    page.close()
