"""The living figure of chapter 1: axes and floor in the page against `gplvm_edu.ppca`, in deno and in a browser."""

from functools import partial

import numpy as np
import pytest
from gplvm_widgets.living import ppca_floor
from gplvm_widgets.living.figure import stored_value
from gplvm_widgets.living.ppca_floor import (
    State,
    best_state,
    check_table,
    floor_numbers,
    floor_scene,
    floors_of,
    profile,
)
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from test_living import TOLERANCE, StaticPage, check_looks, check_marks, check_speed, in_deno

from gplvm_edu import datasets, ppca

TABLE = check_table(None, 70)
LAM = TABLE.eigenvalues
SOME = check_table(np.random.default_rng(2).standard_normal((9, 4)) * (2.0, 1.0, 0.5, 0.1), 70)


def random_states(table, n, seed=0):
    """States that a hand could make: any angle, any lengths (now and then none), any floor."""
    rng = np.random.default_rng(seed)
    for k in range(n):
        lengths = rng.uniform(0, 1.5 * np.sqrt(table.eigenvalues[0]), 2) * (rng.random(2) > 0.15)
        floor = table.eigenvalues[0] * 10 ** rng.uniform(np.log10(0.002), 0.05)
        yield State(rng.uniform(-4, 4), tuple(lengths), floor, k % len(table.shown))


@pytest.mark.identity
def test_the_page_computes_from_eigenvalues_what_python_computes_from_rows():
    for table in (TABLE, SOME):
        states = [*random_states(table, 200), *(best_state(table, s2 * table.eigenvalues[0]) for s2 in (0.002, 0.5, 1))]
        shown = (table.Y[table.shown] @ table.axes).ravel().tolist()
        data = {"eigenvalues": table.eigenvalues.tolist(), "shown": shown, "floors": floors_of(table).tolist()}
        data["states"] = [state._asdict() for state in states]
        program = """return { curve: ppca_floor.profile(data.eigenvalues, data.floors), states: data.states.map((s) =>
          ({ ...ppca_floor.numbers(s, data), best: ppca_floor.bestLengths(data.eigenvalues, s.floor) })) };"""
        found = in_deno(program, data)
        assert_allclose(found["curve"], profile(table), **TOLERANCE)
        for state, page in zip(states, found["states"], strict=True):
            assert_allclose(page.pop("best"), best_state(table, state.floor).lengths, **TOLERANCE)
            for name, wanted in floor_numbers(table, state)._asdict().items():
                assert_allclose(page[name], wanted, err_msg=name, **TOLERANCE)


@pytest.mark.identity
def test_what_the_figure_is_to_show_is_true():
    best = ppca.maximal_log_likelihood(LAM, 2, *TABLE.Y.shape) / len(TABLE.Y)
    gap = lambda s2: floor_numbers(TABLE, best_state(TABLE, s2)).gap  # noqa: E731
    found = minimize_scalar(gap, bounds=(0.01, 1.0), method="bounded", options=dict(xatol=1e-9))
    assert_allclose(found.x, LAM[2:].mean(), rtol=1e-4)  # the mean of the discarded eigenvalues, and there the maximum
    assert_allclose(gap(LAM[2:].mean()), 0, atol=1e-12)
    assert profile(TABLE).max() <= best
    for state in random_states(TABLE, 50, seed=1):
        assert floor_numbers(TABLE, state).gap > 0
        assert floor_numbers(TABLE, state).gap >= gap(state.floor)  # no axes are better than the best
    above, below = best_state(TABLE, LAM[1] * 1.001), best_state(TABLE, LAM[1] * 0.999)
    assert above.lengths[1] == 0 < below.lengths[1] < 0.04  # the second axis goes out at its eigenvalue
    assert_allclose(gap(LAM[1]), 5.90, atol=0.005)  # the answer to the question
    low = floor_numbers(TABLE, best_state(TABLE, 0.002 * LAM[0]))
    assert np.all(low.shrinkage > 0.996) and np.abs(low.reconstructions - low.rows).max() < 0.01  # no shrinkage left
    middle = floor_numbers(TABLE, best_state(TABLE, 0.3, row=4))
    assert_allclose(middle.shrinkage, (LAM[:2] - 0.3) / LAM[:2])
    assert_allclose(middle.projection, middle.rows[4])


@pytest.mark.widget
def test_the_figure_is_small_the_same_every_time_and_takes_other_data():
    figure = ppca_floor()
    assert figure.html == ppca_floor().html and len(figure.html) < 150_000 and "http" not in figure.html
    assert sum(len(str(stored_value(value))) for value in figure.data.values()) < 10_000
    assert figure.html.count("Question:") == 1 and figure.scene.says in repr(figure)
    digits = ppca_floor(datasets.load_digits().data[:100, 18:40], floor=50.0, row=3, n_shown=30, name="digits")
    assert len(digits.data["shown"]) == 30 and "gplvm-living-digits" in digits.html
    assert digits.data["opening"] == {"floor": 50.0, "row": 3}


@pytest.mark.bad_input
def test_ppca_floor_says_what_is_wrong():
    rows = np.random.default_rng(0).standard_normal((20, 5))
    for wrong, message in (
        (dict(data=rows[:, :2]), "data must have 3 to 40 columns, got 2"),
        (dict(data=np.zeros((50, 41))), "3 to 40 columns, got 41"),
        (dict(data=rows[0]), r"got shape \(5,\)"),
        (dict(data=rows[:2]), "data has 2 rows: at least 3 are needed"),
        (dict(data=np.where(rows > 2, np.nan, rows)), "NaN or infinity in row"),
        (dict(data=rows[:, :1] * np.ones(5)), "lie in a plane of 2 dimensions or fewer"),
        (dict(data=np.ones((9, 4))), "lie in a plane of 2 dimensions or fewer"),
        (dict(floor=0.0), "floor must be a finite number of at least 0.00211391 and of at most"),
        (dict(floor=9.0), "floor must be"),
        (dict(row=70), "row must be a whole number from 0 to 69, got 70"),
        (dict(row=1.5), "row must be a whole number"),
        (dict(n_shown=0), "n_shown must be a whole number"),
        (dict(name="a b"), "letters, digits and dashes"),
    ):
        with pytest.raises(ValueError, match=message):
            ppca_floor(**wrong)


# ---------------------------------------------------------------------- in a browser, from a file
NAME = "ppca-floor"


def check_floor(drawn):
    """The page shows what Python computes for the axes, the floor and the row that it shows."""
    ends = np.column_stack([drawn.mark("plane", "ends")[side] for side in "xy"])
    lengths = np.linalg.norm(ends, axis=1) / 2
    angle = np.arctan2(ends[0, 1], ends[0, 0]) if lengths[0] > 0 else 0.0
    ring = [drawn.mark("plane", "ring")[side][0] for side in "xy"]
    rows = TABLE.Y[TABLE.shown] @ TABLE.axes
    row = int(np.argmin(np.sum((rows - ring) ** 2, axis=1)))
    state = State(angle, tuple(lengths), drawn.mark("bars", "sigma2")["y"][0], row)
    scene = floor_scene(TABLE, state)
    check_marks(drawn, scene, besides=("chosen", *(["names"] if 0 in lengths else [])))
    return state


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return ppca_floor().save(tmp_path_factory.mktemp("living") / "floor.html")


@pytest.mark.browser
@pytest.mark.parametrize("hand", ["mouse", "finger"])
def test_axes_floor_and_row_follow_the_hand(hand, browser, saved, screenshots):
    page = StaticPage(browser, saved, touch=hand == "finger")
    move = partial(page.drag if hand == "mouse" else page.swipe, NAME)
    start = check_floor(page.scene())
    assert_allclose([*start.lengths, start.floor], [*np.sqrt(LAM[:2] - LAM[2:].mean()), LAM[2:].mean()], **TOLERANCE)
    move("bars", (3, 0.3), (3, 0.8))  # the floor rises above the second eigenvalue, and its axis goes out
    high = check_floor(page.scene())
    assert_allclose(high.floor, 0.8, atol=0.01)
    assert high.lengths[1] == 0 < high.lengths[0] and "1 axis in use" in page.scene().says
    page.do(page.page.screenshot, path=str(screenshots / f"living_floor_high_{hand}.png"))
    move("likelihood", (-10, 0.5), (-6, 0.2))
    assert_allclose(check_floor(page.scene()).floor, 0.2, atol=0.01)
    move("plane", (2 * np.sqrt(LAM[0] - 0.2), 0.0), (1.5, 0.6), (1.2, 1.6))  # an axis turns and grows
    own = check_floor(page.scene())
    assert_allclose([own.angle, own.lengths[0]], [np.arctan2(1.6, 1.2), 1.0], atol=0.02)
    move("bars", (3, 0.2), (3, 0.1))
    lower = check_floor(page.scene())
    assert_allclose(lower.lengths, own.lengths, atol=1e-12)  # a hand's own axes stay where they are
    page.do(page.page.screenshot, path=str(screenshots / f"living_floor_own_{hand}.png"))
    place = floor_numbers(TABLE, lower).rows[20]
    move("plane", tuple(place))
    assert check_floor(page.scene()).row == 20
    page.do(page.page.get_by_role("button", name="Best axes and floor").click)
    best = check_floor(page.scene())
    assert_allclose([best.angle, *best.lengths, best.floor], [0, *start.lengths, start.floor], **TOLERANCE)
    page.check_quiet()
    page.close()


@pytest.mark.browser
def test_keys_and_sliders_of_the_floor(browser, saved):
    page = StaticPage(browser, saved)
    start = check_floor(page.scene())
    page.press(NAME, "likelihood", "Shift+ArrowUp", times=2)
    up = check_floor(page.scene())
    assert_allclose(up.floor - start.floor, 0.1 * 1.12 * LAM[0], **TOLERANCE)
    page.press(NAME, "plane", " ")
    page.press(NAME, "plane", "Shift+ArrowDown", times=3)
    own = check_floor(page.scene())
    assert own.lengths[1] < up.lengths[1] and own.lengths[0] == up.lengths[0]
    page.press(NAME, "plane", "Enter")
    assert_allclose(check_floor(page.scene()).lengths, up.lengths, **TOLERANCE)
    page.set(NAME, "floor", np.log10(0.003))
    assert_allclose(check_floor(page.scene()).floor, 0.003, rtol=0.02)
    page.set(NAME, "ringed row", 11)
    assert check_floor(page.scene()).row == 11
    page.check_quiet()
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("width, scheme", [(1280, "light"), (390, "dark")])
def test_looks_of_the_floor(width, scheme, browser, saved, screenshots):
    page = StaticPage(browser, saved, width=width, height=844 if width == 390 else 900, scheme=scheme)
    check_looks(page, width, scheme)
    page.do(page.page.screenshot, path=str(screenshots / f"living_floor_{width}_{scheme}.png"))
    check_speed(page)
    page.check_quiet()
    page.close()
