"""The living figures of chapter 4: what the page computes against the package, in deno and by mouse and keyboard."""

from unittest import mock

import numpy as np
import pytest
import test_living
from gplvm_widgets.living import em_lengths, wishart_ellipses
from gplvm_widgets.living.em_lengths import (
    counts_of,
    em_numbers,
    ends_of,
    lengths_of,
    lengths_scene,
    predicted_steps,
    sentence,
)
from gplvm_widgets.living.figure import plain_script
from gplvm_widgets.living.wishart_ellipses import (
    COUNTS,
    MOST,
    N_DRAWS,
    axes_of,
    draws,
    ellipses_scene,
    factors_of,
    half_axes,
    normals,
    spread_expected,
    spread_seen,
    stored_normals,
)
from numpy.testing import assert_allclose
from test_living import HERE, StaticPage

from gplvm_edu.wishart import em_iterates, em_rates, maximum_likelihood, sample_wishart

TOLERANCE = dict(atol=1e-6, rtol=0)
MODULES = ("marks.js", "wishart_ellipses.js", "em_lengths.js")
IRIS, NOISE = np.array([0.2801, 0.1362]), 0.00202


def in_deno(program, data=None):
    """What a few lines of JavaScript return; they see wishart_ellipses.js and em_lengths.js by their names."""
    with mock.patch.object(test_living, "MODULES", MODULES):
        return test_living.in_deno(program, data)


# ---------------------------------------------------------------------- Wishart matrices as ellipses
def ellipse_states(n_states=30):
    """Random states of the figure, with both ends of every range."""
    rng = np.random.default_rng(0)
    shapes = np.exp(rng.uniform(np.log(0.2), np.log(2.0), (n_states, 2)))
    states = [
        dict(long=a, short=b, turn=turn, r=int(r), draw=int(draw))
        for (a, b), turn, r, draw in zip(
            shapes,
            rng.uniform(-np.pi, np.pi, n_states),
            rng.integers(1, MOST + 1, n_states),
            rng.integers(N_DRAWS, size=n_states),
            strict=True,
        )
    ]
    return [
        *states,
        dict(long=2.0, short=0.2, turn=0.0, r=1, draw=0),
        dict(long=0.2, short=2.0, turn=3.0, r=2, draw=39),
    ]


@pytest.mark.identity
def test_draws_features_and_distances_of_the_page_are_those_of_numpy():
    states = ellipse_states()
    program = """const known = {normals: unpack(data.normals), most: data.most};
      return data.states.map((s) => wishart_ellipses.picture(s, known));"""
    found = in_deno(program, {"states": states, "normals": stored_normals(), "most": MOST})
    for state, page in zip(states, found, strict=True):
        r, draw = state["r"], state["draw"]
        axes = axes_of(state["long"], state["short"], state["turn"])
        A, L = draws(axes, r), np.reshape(page["factors"], (-1, 2, 2))
        assert_allclose(np.ravel(axes), page["axes"], **TOLERANCE)
        assert_allclose(L @ L.transpose(0, 2, 1), A, **TOLERANCE)
        assert_allclose([page["features"]["x"], page["features"]["y"]], axes @ normals()[draw, :r].T, **TOLERANCE)
        F = np.array([page["features"]["x"], page["features"]["y"]])
        assert_allclose(F @ F.T / r, A[draw], **TOLERANCE)  # the dots make the ellipse
        places = np.unique([1, 2, r, MOST])
        assert_allclose(np.array(page["seen"])[places - 1], [spread_seen(axes, k) for k in places], **TOLERANCE)
        assert_allclose(np.array(page["expected"])[places - 1], [spread_expected(axes, k) for k in places], **TOLERANCE)


@pytest.mark.identity
def test_the_normals_travel_exactly_and_are_standard():
    found = np.reshape(in_deno("return unpack(data.normals);", {"normals": stored_normals()}), normals().shape)
    assert np.array_equal(found, normals())
    assert abs(found.mean()) < 3 / np.sqrt(found.size) and abs(found.var() - 1) < 3 * np.sqrt(2 / found.size)


@pytest.mark.identity
@pytest.mark.parametrize("r", [1, 3, 50])
def test_the_expected_distance_is_that_of_many_draws(r):
    for scale in ([[1.8, 0.8], [0.8, 0.9]], [[1.0, 0.0], [0.0, 1.0]], [[4.0, 0.0], [0.0, 0.04]]):
        Sigma = np.array(scale)
        axes = axes_of(*half_axes(scale))
        assert_allclose(axes @ axes.T, Sigma, atol=1e-12)
        A = sample_wishart(Sigma, r, 40_000, random_state=0) / r
        squares = np.sum((A - Sigma) ** 2, axis=(1, 2)) / np.sum(Sigma**2)
        assert abs(squares.mean() - spread_expected(axes, r) ** 2) < 4 * squares.std() / np.sqrt(len(squares))
        circle = np.trace(Sigma) ** 2 / np.sum(Sigma**2)  # 1 for a needle, 2 for a circle
        assert_allclose(spread_expected(axes, r), np.sqrt((1 + circle) / r), rtol=1e-12)


def test_the_forty_draws_lie_as_far_from_the_scale_as_theory_says():
    axes = axes_of(*half_axes([[1.8, 0.8], [0.8, 0.9]]))
    ratios = np.array([spread_seen(axes, r) / spread_expected(axes, r) for r in range(1, MOST + 1)])
    assert 0.75 < ratios.min() and ratios.max() < 1.15  # forty draws, no more: 20 other seeds go from 0.6 to 1.5


def test_one_feature_makes_lines_and_two_make_ellipses():
    axes = axes_of(1.5, 0.6, 0.5)
    for r in (1, 2, 3):
        area = np.abs(np.linalg.det(factors_of(draws(axes, r), r))).min()
        assert area == 0 if r == 1 else area > 1e-4, (r, area)


# ---------------------------------------------------------------------- EM's two lengths
def em_states(n_states=12):
    """Random states of the figure: eigenvalues, noise, start and accuracy within all its ranges."""
    rng = np.random.default_rng(1)
    states = []
    for _ in range(n_states):
        second = np.exp(rng.uniform(-3, 3))
        first = second * rng.uniform(1, 8)
        noise = np.exp(rng.uniform(np.log(first / 500), np.log(second / 5)))
        states.append(([first, second], noise, 10 ** rng.uniform(-1, 2), float(rng.choice([0.1, 0.01, 0.001]))))
    iris = IRIS.tolist()
    return [*states, (iris, NOISE, 3.0, 0.01), (iris, iris[0] / 500, 100.0, 0.1), (iris, iris[1] / 5, 1.0, 0.01)]


@pytest.mark.identity
def test_lengths_counts_and_rules_of_the_page_are_those_of_em_step():
    states = em_states()
    sent = [dict(eigenvalues=lam, noise=s2, start=a, accuracy=e, floor=1e-12) for lam, s2, a, e in states]
    program = """return data.map((s) => {
      const drawn = em_lengths.picture(s, s);
      return {...drawn, says: em_lengths.saysOf(7, s.accuracy, drawn)}; });"""
    found = in_deno(program, sent)
    for (lam, s2, a, accuracy), page in zip(states, found, strict=True):
        counts, rules, last, ends, lengths, errors, limits = em_numbers(np.array(lam), s2, a, accuracy)
        assert page["counts"] == counts.tolist() and page["last"] == last
        assert_allclose(page["rules"], rules, **TOLERANCE)
        assert_allclose(page["ends"], ends, **TOLERANCE)
        assert_allclose(page["lengths"], lengths, **TOLERANCE)
        assert_allclose(page["errors"], errors, rtol=1e-6, atol=1e-9)
        assert_allclose(page["limits"], limits, rtol=1e-12)
        assert page["says"] == sentence(7, accuracy, counts, rules, lengths[:, 7] / ends)


@pytest.mark.identity
def test_a_step_of_the_page_ends_where_the_closed_form_is_and_shrinks_errors_at_its_rate():
    found = in_deno(
        "return data.map(([l, s]) => [em_lengths.step(em_lengths.endOf(l, s), l, s), em_lengths.endOf(l, s),"
        " em_lengths.step(1.0001 * em_lengths.endOf(l, s), l, s)]);",
        [[4.0, 1.0], [0.28, 0.002], [1, 0.2]],
    )
    for (stays, end, moved), (lam, s2) in zip(found, [(4.0, 1.0), (0.28, 0.002), (1.0, 0.2)], strict=True):
        assert_allclose([stays, end], np.sqrt(lam - s2), rtol=1e-12)
        rate = em_rates(np.array([lam, s2]), 1)[1]  # (4.36), with the noise that one discarded eigenvalue leaves
        assert_allclose((moved / end - 1) / 1e-4, rate, atol=2e-4)


STARTS = (0.1, 0.3, 0.7, 0.95, 1.05, 1.5, 3.0, 10.0, 40.0, 100.0)


@pytest.mark.identity
@pytest.mark.parametrize("accuracy", [0.1, 0.01, 0.001])
def test_the_rule_is_right_from_above_and_from_below(accuracy):
    for lam, s2 in ((IRIS, NOISE), (np.array([0.06027, 0.03015]), 0.00445)):  # iris; oil flow, whose noise is large
        for a in STARTS:
            counts, rules = counts_of(lam, s2, a, accuracy), predicted_steps(lam, s2, a, accuracy)
            assert np.all(np.abs(counts - rules) < 5), (lam, a, counts, rules)  # of up to 1080 steps


def test_the_rule_in_the_length_itself_is_refuted():
    counts = np.array([counts_of(IRIS, NOISE, a, 0.01)[0] for a in (1.05, 100.0)])
    wrong = IRIS[0] / (2 * NOISE) * np.log(np.array([1.05, 100.0]) / 0.01)
    assert wrong[0] > 2.5 * counts[0] and wrong[1] < 0.75 * counts[1]


def test_ten_times_too_long_takes_more_than_twice_the_steps_of_ten_times_too_short():
    long, short = (counts_of(IRIS, NOISE, a, 0.01) for a in (10.0, 0.1))
    assert np.all((2.1 < long / short) & (long / short < 2.3)), (long, short)  # the question of the figure


def test_with_the_noise_set_free_em_takes_as_many_steps():
    lam = np.array([*IRIS, *[NOISE] * 148])
    S = np.diag(lam)
    X, s2 = maximum_likelihood(S, 2)
    ends = np.linalg.norm(X, axis=0)
    states = em_iterates(S, 3 * X, s2, max_iter=500)
    far = np.array([np.abs(np.linalg.norm(state.X, axis=0) / ends - 1) for state in states])
    free, held = np.argmax(far <= 0.01, axis=0), counts_of(IRIS, s2, 3.0, 0.01)
    assert np.all(np.abs(free - held) <= 1), (free, held)


# ---------------------------------------------------------------------- the figures as text
@pytest.mark.widget
def test_a_figure_is_the_same_text_every_time_small_and_asks_nobody():
    for make in (wishart_ellipses, em_lengths):
        figure, again = make(), make()
        assert figure.html == again.html and len(figure.html) < 150_000 and "http" not in figure.html
        assert figure.html.count("Question:") == 1 and figure.scene.says in repr(figure)
    assert len(stored_normals()["codes"]) < 50_000
    for name in MODULES:
        script = plain_script((HERE / name).read_text(encoding="utf-8"))
        assert not [line for line in script.splitlines() if line.startswith(("import", "export", "//", " "))]


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: wishart_ellipses([[1.0, 0.5], [0.2, 1.0]]), r"scale is not symmetric: entry \(0, 1\) is 0\.5"),
        (lambda: wishart_ellipses(np.eye(3)), r"scale must be a 2 x 2 matrix.*\(3, 3\)"),
        (lambda: wishart_ellipses([[1.0, 2.0], [2.0, 1.0]]), r"between 0\.04 and 4.*got -1 and 3"),
        (lambda: wishart_ellipses(9 * np.eye(2)), r"between 0\.04 and 4.*got 9 and 9"),
        (lambda: wishart_ellipses([[np.nan, 0], [0, 1]]), "scale"),
        (lambda: wishart_ellipses("round"), "scale"),
        (lambda: wishart_ellipses(degrees_of_freedom=0), "degrees_of_freedom must be a whole number from 1 to 200"),
        (lambda: wishart_ellipses(degrees_of_freedom=2.5), "degrees_of_freedom must be a whole number"),
        (lambda: wishart_ellipses(name="a b"), "letters, digits and dashes"),
        (lambda: em_lengths((0.1, 0.3)), "the larger first"),
        (lambda: em_lengths((1.0, 0.01)), "at most 20 times the other"),
        (lambda: em_lengths((1.0, -0.5)), "must be positive"),
        (lambda: em_lengths((np.nan, 0.5)), "eigenvalues"),
        (lambda: em_lengths((1.0, 0.5, 0.2)), r"two numbers, lambda_1 and lambda_2, got the shape \(3,\)"),
        (lambda: em_lengths(["large", "small"]), "eigenvalues"),
        (lambda: em_lengths(noise_variance=0.1), r"noise_variance must be.*lambda_2 / 5 = 0\.0272"),
        (lambda: em_lengths(noise_variance=0.0), "noise_variance must be a finite number of at least"),
        (lambda: em_lengths(start=1000.0), r"start must be a finite number of at least 0\.1 and of at most 100"),
        (lambda: em_lengths(accuracy=0.05), r"accuracy must be one of 0\.1, 0\.01, 0\.001, got 0\.05"),
        (lambda: em_lengths(accuracy="1 %"), "accuracy must be one of"),
        (lambda: em_lengths(step=-1), "step must be a whole number from 0 to 500"),
        (lambda: em_lengths(step=1e9), "step must be a whole number"),
    ],
)
def test_wrong_arguments_are_told(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# ---------------------------------------------------------------------- in a browser, from a file
@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("living")
    figures = {"ellipses": wishart_ellipses(name="ellipses"), "lengths": em_lengths(name="lengths")}
    return {name: figure.save(folder / f"{name}.html") for name, figure in figures.items()}


@pytest.fixture
def open_page(browser, saved):
    """``open_page("ellipses", width=390)``; in the end nothing has been complained of or asked for."""
    pages = []

    def opened(name, **options):
        pages.append(StaticPage(browser, saved[name], **options))
        return pages[-1]

    yield opened
    for page in pages:
        page.check_quiet()
        page.close()


def check_ellipses(drawn, r):
    """The page shows what Python draws for its axes and this r; returns the axes."""
    ends = drawn.mark("ellipses", "ends")
    axes = np.array([ends["x"], ends["y"]])
    scene = ellipses_scene(axes, r)
    for key in ("draws", "scale"):
        page, ours = drawn.mark("ellipses", key)["factors"], scene.mark("ellipses", key).factors
        assert_allclose(np.reshape(page, ours.shape), ours, **TOLERANCE)
    for key in ("theory", "seen", "point"):
        page, ours = drawn.mark("spread", key), scene.mark("spread", key)
        assert_allclose([page["x"], page["y"]], [ours.x, ours.y], **TOLERANCE)
    assert drawn.says == scene.says and drawn.panels["ellipses"]["title"] == scene.panel("ellipses").title
    return axes


@pytest.mark.browser
@pytest.mark.parametrize("hand", ["mouse", "finger"])
def test_the_scale_is_dragged_by_its_two_ends(hand, open_page):
    page = open_page("ellipses", touch=hand == "finger", **({"width": 390, "height": 844} if hand == "finger" else {}))
    move = page.drag if hand == "mouse" else page.swipe
    start = check_ellipses(page.scene(), 4)
    assert_allclose(start @ start.T, [[1.8, 0.8], [0.8, 0.9]], **TOLERANCE)
    move("ellipses", "ellipses", tuple(start[:, 0]), (0.0, 0.5), (-0.6, 0.8))  # the long axis turns and shrinks
    turned = check_ellipses(page.scene(), 4)
    assert_allclose(turned[:, 0], (-0.6, 0.8), atol=0.03)
    assert_allclose(np.linalg.norm(turned, axis=0), (1.0, np.linalg.norm(start[:, 1])), atol=0.03)
    assert_allclose(turned[:, 0] @ turned[:, 1], 0, atol=1e-12)
    move("ellipses", "ellipses", tuple(turned[:, 1]), (-0.8, -0.6), (-1.2, -0.9))  # the other grows along its line
    wide = check_ellipses(page.scene(), 4)
    assert_allclose(wide[:, 0], turned[:, 0], **TOLERANCE)
    assert_allclose(np.linalg.norm(wide[:, 1]), 1.5, atol=0.04)
    move("ellipses", "spread", (4.0, 0.7), (100.0, 0.3))
    assert_allclose(check_ellipses(page.scene(), page.scene().mark("spread", "point")["x"][0].astype(int)), wide)
    assert abs(page.scene().mark("spread", "point")["x"][0] - 100) < 4


@pytest.mark.browser
def test_keys_slider_and_button_of_the_ellipses(open_page, screenshots):
    page = open_page("ellipses")
    start = check_ellipses(page.scene(), 4)
    page.press("ellipses", "ellipses", "ArrowRight", times=2)
    moved = check_ellipses(page.scene(), 4)
    assert_allclose(moved[:, 0] - start[:, 0], (0.1, 0.0), atol=1e-9)
    page.press("ellipses", "ellipses", " ")
    page.press("ellipses", "ellipses", "Shift+ArrowUp", times=9)
    assert_allclose(np.linalg.norm(check_ellipses(page.scene(), 4)[:, 1]), 2.0)  # and no longer
    page.press("ellipses", "spread", "ArrowLeft", times=9)
    check_ellipses(page.scene(), 1)
    assert page.scene().says.endswith("Every draw is a line.")
    for place, r in ((1, 2), (COUNTS.index(25), 25), (len(COUNTS) - 1, MOST)):
        page.set("ellipses", "features r", place)
        check_ellipses(page.scene(), r)
    page.do(page.page.get_by_role("button", name="Another draw").click)
    drawn = page.scene()
    assert_allclose(drawn.mark("ellipses", "draw")["factors"], drawn.mark("ellipses", "draws")["factors"][4:8])
    assert_allclose(drawn.mark("ellipses", "features")["x"], (check_ellipses(drawn, MOST) @ normals()[1].T)[0])
    page.do(page.page.screenshot, path=str(screenshots / "living_ellipses_keys.png"))


def check_lengths(drawn, s2, a, accuracy, t):
    """The page shows what Python draws in this state."""
    scene = lengths_scene(IRIS, s2, a, accuracy, t)
    assert drawn.says == scene.says
    for panel in scene.panels:
        page = drawn.panels[panel.key]
        assert page["title"] == panel.title
        assert_allclose([page["x"]["limits"], page["y"]["limits"]], [panel.x.limits, panel.y.limits], rtol=1e-9)
        for mark in panel.marks:
            for side in ("x", "y", "factors"):
                if len(np.ravel(getattr(mark, side, ()))):
                    ours = np.ravel(getattr(mark, side))
                    assert_allclose(drawn.mark(panel.key, mark.key)[side], ours, err_msg=mark.key, **TOLERANCE)


@pytest.mark.browser
@pytest.mark.parametrize("hand", ["mouse", "finger"])
def test_em_runs_along_the_steps(hand, open_page):
    page = open_page("lengths", touch=hand == "finger", **({"width": 390, "height": 844} if hand == "finger" else {}))
    check_lengths(page.scene(), NOISE, 3.0, 0.01, 50)
    move = page.drag if hand == "mouse" else page.swipe
    move("lengths", "steps", (50.0, 1.0), (200.0, 1.0), (300.0, 1.0))
    t = int(page.scene().mark("steps", "now")["x"][0])
    assert abs(t - 300) <= 3
    check_lengths(page.scene(), NOISE, 3.0, 0.01, t)


@pytest.mark.browser
def test_keys_and_controls_of_the_lengths(open_page, screenshots):
    page = open_page("lengths")
    page.press("lengths", "steps", "ArrowRight", times=2)
    page.press("lengths", "steps", "ArrowDown")
    check_lengths(page.scene(), NOISE, 3.0, 0.01, 42)
    page.do(page.page.get_by_role("button", name="One step").click)
    check_lengths(page.scene(), NOISE, 3.0, 0.01, 43)
    page.press("lengths", "steps", "End")
    check_lengths(page.scene(), NOISE, 3.0, 0.01, counts_of(IRIS, NOISE, 3.0, 0.01).max())
    page.do(page.page.get_by_role("button", name="Back to 0").click)
    check_lengths(page.scene(), NOISE, 3.0, 0.01, 0)
    assert page.do(page.page.get_by_role("button", name="Back to 0").is_disabled)
    for a, noise, accuracy in ((10.0, 0.005, 0.001), (0.1, 0.02, 0.1), (1.0, 0.01, 0.01)):
        page.set("lengths", "start / end", np.log10(a))
        page.set("lengths", "noise", np.log10(noise))
        page.set("lengths", "near enough", f"{100 * accuracy:g} %")
        page.scene()
        s2 = 10 ** page.evaluate("() => document.querySelector('.gplvm-living').living.controls[1].get()")
        assert abs(s2 / noise - 1) < 0.03
        check_lengths(page.scene(), s2, a, accuracy, 0)
    page.do(page.page.screenshot, path=str(screenshots / "living_lengths_keys.png"))


@pytest.mark.browser
@pytest.mark.parametrize("which", ["ellipses", "lengths"])
@pytest.mark.parametrize("width, scheme", [(1280, "light"), (390, "dark")])
def test_looks_on_a_screen_and_on_a_telephone(which, width, scheme, open_page, screenshots):
    page = open_page(which, width=width, height=844, scheme=scheme, touch=width == 390)
    page.scene()
    assert page.evaluate("() => document.documentElement.scrollWidth") == width  # nothing to scroll sideways
    boxes = page.evaluate(
        "() => [...document.querySelectorAll('.gplvm-canvas')].map((e) => e.getBoundingClientRect().toJSON())"
    )
    assert all(0 <= box["left"] and box["right"] <= width and box["bottom"] <= 844 for box in boxes)
    labels = page.evaluate("() => [...document.querySelectorAll('.gplvm-canvas')].map((e) => e.ariaLabel)")
    assert all("Across: " in label and "Up: " in label for label in labels)
    page.do(page.page.screenshot, path=str(screenshots / f"living_{which}_{width}_{scheme}.png"))


@pytest.mark.browser
@pytest.mark.parametrize("which, panel", [("ellipses", "ellipses"), ("lengths", "steps")])
def test_a_picture_takes_less_than_a_frame(which, panel, open_page):
    page = open_page(which)
    page.scene()
    program = """() => { const {living} = document.querySelector('.gplvm-living'), took = [];
      for (let k = 0; k < 60; k++) {
        const start = performance.now();
        living.point('PANEL', 1 + k / 99, 1, k ? 'move' : 'down');
        living.scene(850);
        took.push(performance.now() - start); }
      return took.sort((a, b) => a - b)[30]; }"""
    assert page.evaluate(program.replace("PANEL", panel)) < 16


def test_ends_are_those_of_the_closed_form_and_lengths_stay_there():
    assert_allclose(ends_of(IRIS, NOISE), np.sqrt(IRIS - NOISE), rtol=1e-12)
    assert_allclose(lengths_of(IRIS, NOISE, 1.0, 5), np.tile(ends_of(IRIS, NOISE)[:, None], 6), rtol=1e-12)
