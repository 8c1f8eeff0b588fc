"""The mode finder of the latent map: densities and places in the page against the package, in deno and in a browser."""

from functools import partial

import numpy as np
import pytest
from gplvm_widgets.living import latent_map
from gplvm_widgets.living.figure import stored_value
from gplvm_widgets.living.mode_finder import SIDE, log_densities, noise_of
from numpy.testing import assert_allclose
from test_living import EXACT, FRAMES, MEAN_EXACT, OIL, ROOT, TOLERANCE, StaticPage, check_looks, check_speed, in_deno

from gplvm_edu import PPCA, DiscreteGTM, datasets
from gplvm_edu.gplvm import GPLVM
from gplvm_edu.maps import grid_points
from gplvm_edu.threads import one_thread

MINUS = "\N{MINUS SIGN}"
DIGITS = datasets.load_digits()
ROWS = np.flatnonzero(DIGITS.target < 5)[:200]
UNSEEN = np.setdiff1d(np.flatnonzero(DIGITS.target < 5), ROWS)


@pytest.fixture(autouse=True, scope="module")
def small_matrices_need_one_thread():
    with one_thread():
        yield


@pytest.fixture(scope="module")
def digits():
    """The model and the figure of chapter 5."""
    model = GPLVM(latent_prior=None, max_iter=150).fit(DIGITS.data[ROWS])
    return model, latent_map(model, DIGITS.target[ROWS], DIGITS.target_names, (8, 8), name="digits")


PLACE = """const all = Object.fromEntries(Object.entries(data.arrays).map(([k, v]) => [k, unpack(v)]));
  const find = mode_finder.finderOf(all, latent_map.mapOf(all));
  return data.rows.map((row) => {
    const y = Float64Array.from(row, (v) => v ?? NaN), values = find.density(y);
    return { values: data.brief ? [] : values, places: find.places(y, values, data.starts ?? all.finder.starts) };
  });"""


def placed(figure, rows, brief=True, **more):
    """What the page finds for these rows."""
    arrays = {key: stored_value(value) for key, value in figure.data.items()}
    gaps = [[None if np.isnan(v) else v for v in row] for row in np.asarray(rows, float).tolist()]
    return in_deno(PLACE, {"arrays": arrays, "rows": gaps, "brief": brief, **more})


def own_density(model, y, X):
    """The model's own log density at latent points, its prior among it, and the gradients."""
    X = np.atleast_2d(X)
    values, gradients = model.map_.log_density(np.tile(y, (len(X), 1)), X)
    if model.map_.latent_prior == "gaussian":
        return values - 0.5 * np.sum(X**2, axis=1) - np.log(2 * np.pi), gradients - X
    return values, gradients


# ---------------------------------------------------------------------- the page against the package
@pytest.mark.long
@pytest.mark.parametrize("name", [*sorted(set(EXACT) - {"aligned GTM"}), *MEAN_EXACT])
def test_the_page_computes_the_log_density_of_every_model_with_gaussian_noise(name):
    model, Y = {**EXACT, **MEAN_EXACT}[name]
    figure = latent_map(model.fit(Y))
    rows = np.array(figure.data["new"][:3], float)
    rows[1, ::3] = np.nan
    exact = name in EXACT
    for y, page in zip(rows, placed(figure, rows, brief=False), strict=True):
        grid = grid_points(tuple(figure.data["box"]), SIDE)
        wanted = own_density(model, y, grid)[0]
        assert_allclose(log_densities(model, y, grid, noise_of(model)), wanted, rtol=1e-8, atol=1e-7)
        near = dict(rtol=1e-6, atol=1e-5) if exact else dict(rtol=0.02, atol=0.2)  # deviations from a table
        assert_allclose(page["values"], wanted, **near)
        for place in page["places"] if exact else []:
            assert_allclose(place["value"], own_density(model, y, place["x"])[0][0], rtol=1e-8, atol=1e-6)


@pytest.mark.identity
def test_the_places_are_maxima_and_their_weights_are_shares(digits):
    model, figure = digits
    rows = [DIGITS.data[n] for n in UNSEEN[:10]] + list(np.array(figure.data["new"], float))
    half = [np.where(np.arange(64) < 32, row, np.nan) for row in rows]
    left, right, bottom, top = figure.data["box"]
    for y, page in zip(rows + half, placed(figure, rows + half), strict=True):
        places = page["places"]
        X, values = np.array([p["x"] for p in places]), np.array([p["value"] for p in places])
        wanted, gradients = own_density(model, y, X)
        assert_allclose(values, wanted, **TOLERANCE)
        assert np.all(np.diff(values) <= 0)
        shares = np.exp(values - values[0])
        assert_allclose([p["weight"] for p in places], shares / shares.sum(), rtol=1e-10)
        inside = (X[:, 0] > left) & (X[:, 0] < right) & (X[:, 1] > bottom) & (X[:, 1] < top)
        assert inside[1:].all()
        for x, value, gradient in zip(X[inside], values[inside], gradients[inside], strict=True):
            around = x + 1e-3 * np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1)])
            assert np.all(own_density(model, y, around)[0] < value)
            assert np.abs(gradient).max() < 1e-2  # where a step of 0.001 lowers it


@pytest.mark.long
def test_the_best_place_is_found_as_often_as_transform_finds_it(digits):
    """On 50 held-out digits, whole and by halves, beside the five starts of `transform`."""
    model, figure = digits
    whole = DIGITS.data[UNSEEN[:50]]
    for rows, worse, better in ((whole, 1, 3), (np.where(np.arange(64) < 32, whole, np.nan), 2, 3)):
        best = np.array([page["places"][0]["value"] for page in placed(figure, rows)])
        own = model.place(rows).values[:, 0]
        found = np.sum(best < own - 0.01), np.sum(best > own + 0.01)
        print("worse and better than transform, of 50:", *found)
        assert found[0] <= worse + 1 and found[1] >= better - 1


@pytest.mark.long
def test_what_could_warn_of_a_class_that_is_not_in_the_map(digits):
    """The answer to the question: log density and doubt, and less the weight; 150 held-out digits of either kind."""
    model, figure = digits
    rng = np.random.default_rng(0)
    others = np.flatnonzero(DIGITS.target >= 5)
    known, foreign = [], []
    for kind, rows in ((known, UNSEEN), (foreign, others)):
        best = [page["places"][0] for page in placed(figure, DIGITS.data[rng.permutation(rows)[:150]])]
        doubt = model.map_.relative_deviation(np.array([p["x"] for p in best]))[:, 0]
        kind += [np.array([p["value"] for p in best]), 1 - doubt, np.array([p["weight"] for p in best])]
    shares = [np.mean(np.subtract.outer(a, b) > 0) for a, b in zip(known, foreign, strict=True)]
    low, unsure = np.quantile(known[0], 0.25), [int(np.sum(kind[1] < 0.5)) for kind in (known, foreign)]
    print("of all pairs, density, certainty and weight are higher where the class is known:", np.round(shares, 2))
    print("doubt above 50 %, of 150:", unsure, "; below the lower quartile of density:", int(np.sum(foreign[0] < low)))
    assert_allclose(shares, [0.83, 0.87, 0.72], atol=0.03)
    assert_allclose(unsure, [66, 150], atol=5)  # a warning, no proof: so doubtful is many a digit of a known class too


@pytest.mark.identity
def test_ink_goes_on_and_off():
    program = """const draw = (row, wipe) => mode_finder.stroke(row, [8, 8], [0, 16], [2, 1], [2, 6], wipe);
      const line = draw(new Float64Array(64), false), wiped = draw(line, true);
      return { line, wiped, half: mode_finder.hidden(line, [8, 8]),
        words: [1, 0.5, 0.0995, 0.0994, 0.0005, 0.0004].map(mode_finder.percent) };"""
    found = in_deno(program)
    line = np.reshape(found["line"], (8, 8))
    assert (
        np.all(line[1:7, 2] == 16)
        and np.all(line[:, 4:] == 0)
        and 0 < line[3, 1] == line[3, 3] < 16
        and line[7, 7] == 0
    )
    assert np.reshape(found["wiped"], (8, 8))[1:7, 2].max() == 0
    half = np.array(found["half"], float)
    assert_allclose(half[:32], line.ravel()[:32])
    assert np.isnan(half[32:]).all()
    assert found["words"] == ["100 %", "50 %", "10 %", "9.9 %", "0.1 %", "<0.1 %"]


# ---------------------------------------------------------------------- the figure as text
@pytest.mark.widget
def test_which_rows_can_be_placed(digits):
    model, figure = digits
    assert figure.data["new_names"][:2] == ["held-out 0", "another 0"] and len(figure.data["new_names"]) == 15
    assert figure.data["new_names"][-1] == "9, not in the map"
    seen = {row.tobytes() for row in model.rows_}
    assert not any(np.array(row, float).tobytes() in seen for row in figure.data["new"])
    assert figure.html.count("Question:") == 1 and "take a 7" in figure.html
    oil = GPLVM(max_iter=5).fit(OIL.data)
    other = latent_map(oil, OIL.target, OIL.target_names)
    assert (
        other.data["new_names"][0] == f"row 0: {OIL.target_names[OIL.target[0]]}" and len(other.data["new_names"]) == 8
    )
    assert "Take a row of the data" in other.html and "Draw in the grid" not in other.html
    given = latent_map(oil, new_rows=OIL.data[:2], new_names=["one", "two"])
    assert given.data["new_names"] == ["one", "two"]
    assert_allclose(given.data["new"], OIL.data[:2])
    for without in (latent_map(oil, new_rows=[]), latent_map(DiscreteGTM(max_iter=2).fit(OIL.data > 0.4))):
        assert "finder" not in without.data and "Question:" not in without.html
    assert "finder" not in latent_map(PPCA(3).fit(OIL.data)).data  # a plane of three dimensions


@pytest.mark.bad_input
def test_rows_to_place_that_do_not_fit():
    model = GPLVM(max_iter=2).fit(OIL.data)
    with pytest.raises(ValueError, match=r"new_rows must have 12 columns as the data, got shape \(3, 4\)"):
        latent_map(model, new_rows=np.zeros((3, 4)))
    with pytest.raises(ValueError, match="one name for each of the 2 new rows, all different"):
        latent_map(model, new_rows=OIL.data[:2], new_names=["a", "a"])
    with pytest.raises(ValueError, match="new_names need new_rows"):
        latent_map(model, new_names=["a"])


# ---------------------------------------------------------------------- in a browser, from a file
@pytest.fixture(scope="module")
def saved(digits, tmp_path_factory):
    folder = tmp_path_factory.mktemp("living")
    oil = GPLVM(max_iter=60, random_state=0).fit(OIL.data)
    made = {"digits": digits[1], "oil": latent_map(oil, OIL.target, OIL.target_names, name="oil")}
    return {name: figure.save(folder / f"{name}.html") for name, figure in made.items()}


@pytest.fixture
def open_page(browser, saved):
    pages = []

    def opened(name, **options):
        pages.append(StaticPage(browser, saved[name], **options))
        return pages[-1]

    yield opened
    for page in pages:
        page.check_quiet()
        page.close()


def check_placed(drawn, model, y):
    """The shades are the log density of this row, the stars maxima of it, the cross at the best, its image decoded."""
    shades = drawn.mark("plane", "density")
    grid = grid_points(tuple(shades["extent"]), SIDE)
    assert_allclose(shades["values"], own_density(model, y, grid)[0], rtol=1e-8, atol=1e-5)
    stars, cross = drawn.mark("plane", "places"), drawn.mark("plane", "cross")
    X = np.column_stack([stars["x"], stars["y"]]).astype(float)
    values = own_density(model, y, X)[0]
    assert_allclose([cross["x"], cross["y"]], X[0], **TOLERANCE)
    assert np.argmax(values) == 0 and drawn.says.startswith(f"Log density {values[0]:.1f}".replace("-", MINUS))
    assert len(drawn.mark("plane", "weights")["text"]) == len(X)
    assert_allclose(drawn.mark("decoded", "decoded")["values"], model.inverse_transform(X[:1])[0], **TOLERANCE)
    return X


def ink_of(drawn):
    return np.asarray(drawn.mark("drawing", "drawing")["values"], float)


@pytest.mark.browser
@pytest.mark.parametrize("hand", ["mouse", "finger"])
def test_a_drawn_digit_and_a_held_out_one_are_placed(hand, open_page, digits, screenshots):
    model, figure = digits
    page = open_page("digits", touch=hand == "finger")
    move = partial(page.drag if hand == "mouse" else page.swipe, "digits")
    assert ink_of(page.scene()).max() == 0 and page.scene().says == figure.scene.says
    move("drawing", (3.5, 0.5), (3.5, 3.0), (3.5, 6.5))  # a one
    one = ink_of(page.scene())
    assert np.reshape(one, (8, 8))[1:7, 3:5].min() > 8 and np.reshape(one, (8, 8))[:, [0, 7]].max() == 0
    X = check_placed(page.scene(), model, one)
    kinds = DIGITS.target[ROWS]
    assert kinds[np.argmin(np.sum((model.embedding_ - X[0]) ** 2, axis=1))] == 1
    page.do(page.page.screenshot, path=str(screenshots / f"living_modes_drawn_{hand}.png"))
    move("drawing", (3.5, 1.0), (3.5, 3.0))  # from an inked pixel: wiped
    assert ink_of(page.scene()).sum() < one.sum()
    check_placed(page.scene(), model, ink_of(page.scene()))
    page.set("digits", "image", "held-out 3")
    three = np.array(figure.data["new"], float)[figure.data["new_names"].index("held-out 3")]
    assert_allclose(ink_of(page.scene()), three)
    check_placed(page.scene(), model, three)
    page.do(page.page.get_by_role("button", name="lower half").click)
    half = ink_of(page.scene())
    assert_allclose(half[:32], three[:32])
    assert np.isnan(half[32:]).all()
    X = check_placed(page.scene(), model, half)
    page.do(page.page.screenshot, path=str(screenshots / f"living_modes_half_{hand}.png"))
    move("plane", tuple(X[0]), tuple(X[1]))  # the cross to the second star
    second = page.scene()
    less = own_density(model, half, X)[0]
    cross = [second.mark("plane", "cross")[side] for side in "xy"]
    gap = less[0] - own_density(model, half, cross)[0][0]
    assert f"At the cross {gap:.1f} less than at the best." in second.says
    page.do(page.page.get_by_role("button", name="Clear").click)
    assert ink_of(page.scene()).max() == 0 and "Log density" not in page.scene().says


@pytest.mark.browser
def test_a_digit_is_drawn_by_keys(open_page, digits):
    model, _ = digits
    page = open_page("digits")
    page.press("digits", "drawing", "ArrowUp")
    page.press("digits", "drawing", " ")
    page.press("digits", "drawing", "ArrowUp")
    page.press("digits", "drawing", "Enter")
    ink = ink_of(page.scene()).reshape(8, 8)
    assert ink[3, 4] == ink[4, 4] == 16 and ink.sum() == 32
    check_placed(page.scene(), model, ink.ravel())
    page.press("digits", "drawing", " ")
    assert ink_of(page.scene()).sum() == 16
    page.press("digits", "drawing", "Delete")
    assert ink_of(page.scene()).sum() == 0 and "Log density" not in page.scene().says
    label = page.do(page.page.locator(f'{ROOT}digits [data-key="drawing"] .gplvm-canvas').get_attribute, "aria-label")
    assert "Arrow keys go from pixel to pixel" in label


@pytest.mark.browser
def test_a_row_of_other_data_is_placed(open_page):
    page = open_page("oil")
    name = f"row 17: {OIL.target_names[OIL.target[17]]}"
    page.set("oil", "row", name)
    drawn = page.scene()
    assert_allclose(drawn.mark("decoded", "placed")["y"], OIL.data[17], **TOLERANCE)
    assert drawn.says.startswith("Log density") and drawn.mark("plane", "places")["x"].size >= 1
    page.set("oil", "row", "none")
    assert "Log density" not in page.scene().says and drawn.panels["decoded"]["marks"]


@pytest.mark.browser
@pytest.mark.parametrize("width, scheme", [(1280, "dark"), (390, "light")])
def test_looks_of_the_mode_finder(width, scheme, open_page, screenshots):
    page = open_page("digits", width=width, height=844 if width == 390 else 900, scheme=scheme)
    page.set("digits", "image", "7, not in the map")
    check_looks(page, width, scheme)
    page.do(page.page.screenshot, path=str(screenshots / f"living_modes_{width}_{scheme}.png"))
    check_speed(page)


@pytest.mark.browser
def test_drawing_keeps_up_with_the_screen(open_page):
    page = open_page("digits")
    page.do(page.page.mouse.move, *page.pixel("digits", "drawing", (1.0, 1.0)))
    page.do(page.page.mouse.down)
    page.evaluate(FRAMES, [ROOT + "digits", "drawing", 30])  # once, so that the browser has compiled what it will run
    before, began = page.scene(), page.thread_milliseconds()
    frames = page.evaluate(FRAMES, [ROOT + "digits", "drawing", 90])
    cost = (page.thread_milliseconds() - began) / 90
    print(f"drawing: {cost:.1f} ms of the page's thread for a move, {frames:.0f} moves a second")
    assert not np.array_equal(ink_of(before), ink_of(page.scene()))
    assert 0.1 < cost < 13
