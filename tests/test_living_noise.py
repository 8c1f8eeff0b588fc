"""The living figure of chapter 8: one answer and its site against the noise models, in deno and in a browser."""

from functools import partial

import numpy as np
import pytest
from gplvm_widgets.living import site_by_hand
from gplvm_widgets.living.site_by_hand import (
    ANSWERS,
    CURVE,
    CUTS,
    DEVIATIONS,
    FLAT,
    MEANS,
    log_likelihood,
    share_map,
    site_numbers,
    site_scene,
)
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import log_ndtr
from test_living import FRAMES, ROOT, TOLERANCE, StaticPage, check_looks, check_marks, check_speed, in_deno

from gplvm_edu import noise

DATA = site_by_hand().data
OPENING = DATA["opening"]
PLAIN = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in DATA.items()}
LOG_CONCAVE = [answer for answer in ANSWERS if not answer.startswith("heavy")]
MODELS = {
    "gaussian": noise.Gaussian(1.0, mean=0.0),
    "probit": noise.Probit(bias=0.0),
    "ordinal": noise.Ordinal(cuts=list(CUTS)),
    "count": noise.Poisson(bias=0.0),
}


def random_cavities(n, seed=0):
    """Means and variances over all that the hand can reach, the corners first."""
    rng = np.random.default_rng(seed)
    corners = [(m, s**2) for m in MEANS for s in DEVIATIONS]
    return corners + [(rng.uniform(*MEANS), rng.uniform(*DEVIATIONS) ** 2) for _ in range(n - len(corners))]


@pytest.mark.identity
def test_the_page_computes_the_sites_of_python():
    cavities = random_cavities(20)
    program = """const f = site_by_hand; return Object.keys(data.data.answers).map((answer) => {
        const table = f.tableOf(answer, data.data);
        return { sites: data.cavities.map(([m, v]) => f.site(table, m, v, data.data.flat)),
          likelihood: data.data.curve.map((v) => f.logLikelihood(answer, v, data.data)),
          map: f.shareMap(table, data.data) }; });"""
    for answer, page in zip(ANSWERS, in_deno(program, {"data": PLAIN, "cavities": cavities}), strict=True):
        assert_allclose(page["likelihood"], log_likelihood(answer, CURVE), rtol=1e-10, atol=1e-10)
        assert_allclose(np.reshape(page["map"], share_map(answer).shape), share_map(answer), **TOLERANCE)
        for cavity, found in zip(cavities, page["sites"], strict=True):
            wanted = site_numbers(answer, *cavity)
            for name in ("log_partition", "mean", "variance", "g", "nu"):
                assert_allclose(found[name], getattr(wanted, name), err_msg=f"{answer} {name}", **TOLERANCE)
            assert_allclose(found["precision"], wanted.precision, rtol=1e-6, atol=1e-6)
            assert_allclose(np.array(found["site_mean"], float), wanted.site_mean, rtol=1e-6, atol=1e-6)


@pytest.mark.identity
def test_the_normal_distribution_of_the_page_keeps_its_digits_in_the_tail():
    places = [-30.0, -8.0, -4.0001, -4.0, -3.9999, -2.0, -1e-3, 0.0, 0.5, 3.0, 4.0, 6.0, 9.0, 30.0]
    found = in_deno("return data.map(site_by_hand.logPhi);", places)
    assert_allclose(found, log_ndtr(places), rtol=1e-11, atol=1e-15)


@pytest.mark.oracle
@pytest.mark.parametrize("answer", ANSWERS)
def test_the_sites_are_those_of_the_noise_models_and_of_quadrature(answer):
    kind, y = ANSWERS[answer]
    for mean, variance in random_cavities(12, seed=2):
        found = site_numbers(answer, mean, variance)
        if kind in MODELS:
            terms = MODELS[kind].evaluate(np.array(y), np.array(mean), np.array(variance))
            assert_allclose([found.log_partition, found.g, found.nu], np.ravel(terms), atol=1e-9)
            moments = noise.match_moments(terms.g, terms.nu, mean, variance)
            assert_allclose([found.mean, found.variance], np.ravel(moments), atol=1e-9)
        peak = max(np.linspace(-15, 15, 601), key=lambda f: log_likelihood(answer, f) - (f - mean) ** 2 / 2 / variance)
        height = log_likelihood(answer, peak) - (peak - mean) ** 2 / 2 / variance

        def tilted(f, power, mean=mean, variance=variance, height=height):
            return (f - mean) ** power * np.exp(log_likelihood(answer, f) - (f - mean) ** 2 / 2 / variance - height)

        ends = mean - 12 * np.sqrt(variance), mean + 12 * np.sqrt(variance)
        Z, first, second = (
            quad(tilted, *ends, args=(k,), points=sorted({*np.clip([peak, y, mean], *ends)}), limit=400)[0]
            for k in range(3)
        )
        log_Z = np.log(Z) + height - 0.5 * np.log(2 * np.pi * variance)
        wanted = [log_Z, mean + first / Z, second / Z - (first / Z) ** 2]
        assert_allclose([found.log_partition, found.mean, found.variance], wanted, atol=1e-6)


@pytest.mark.identity
def test_the_site_times_the_cavity_has_the_moments_and_the_mass():
    for answer in ANSWERS:
        for mean, variance in random_cavities(8, seed=3):
            now = site_numbers(answer, mean, variance)
            assert_allclose(1 / now.variance, 1 / variance + now.precision, rtol=1e-9)  # precisions add
            m, beta = noise.sites(now.g, now.nu, mean, variance)
            assert_allclose(beta, max(now.precision, 0.0), rtol=1e-9)  # the package has no sites that add variance
            if now.precision > FLAT:
                assert_allclose(m, now.site_mean, rtol=1e-9)


@pytest.mark.identity
def test_the_answer_to_the_question():
    least = {answer: share_map(answer).min() for answer in ANSWERS}
    assert all(least[answer] > 0 for answer in LOG_CONCAVE)  # certainty never falls where ln p(y|f) is concave
    hardly = {answer for answer in LOG_CONCAVE if least[answer] < 0.01}
    assert hardly == set(LOG_CONCAVE) - {"Gaussian, y = 1", "ordinal, middle of 3"}
    for answer, place in (("probit, y = +1", (0, -1)), ("ordinal, lowest of 3", (0, 0)), ("count, y = 0", (0, 0))):
        assert share_map(answer)[place] == least[answer]  # a small deviation, and an answer that was expected
    heavy = share_map("heavy tails, y = 3")
    assert_allclose([heavy.min(), np.mean(heavy < 0)], [-0.646, 0.453], atol=5e-4)  # far from y the variance grows
    now = site_numbers("heavy tails, y = 3", 0.0, 1.0)
    assert now.variance > 1.3 and now.precision < -0.2


@pytest.mark.widget
def test_the_figure_is_small_and_the_same_every_time():
    figure = site_by_hand()
    assert figure.html == site_by_hand().html and len(figure.html) < 150_000 and "http" not in figure.html
    assert figure.html.count("Question:") == 1 and figure.scene.says in repr(figure)
    for answer in ("count, y = 3", "heavy tails, y = 3"):
        assert site_by_hand(answer, name="other").data["opening"]["answer"] == answer
    flat = site_scene("probit, y = +1", 4.0, 0.09)
    assert flat.panel("site").title == "site: flat, precision β = 0.00"
    assert np.ptp(flat.mark("site", "site").y[120:]) < 0.05  # it is


@pytest.mark.bad_input
def test_site_by_hand_says_what_is_wrong():
    for wrong, message in (
        (dict(answer="probit"), "answer must be one of 'Gaussian, y = 1'"),
        (dict(mean=5.0), "mean must be"),
        (dict(mean=np.nan), "mean must be"),
        (dict(variance=0.0), "variance must be"),
        (dict(variance=7.0), "variance must be"),
        (dict(name="a b"), "letters, digits and dashes"),
    ):
        with pytest.raises(ValueError, match=message):
            site_by_hand(**wrong)


# ---------------------------------------------------------------------- in a browser, from a file
NAME = "site-by-hand"


def check_site(drawn, answer):
    """The page shows what Python computes for its cavity; returns the mean and the deviation."""
    place = drawn.mark("map", "place")
    mean, deviation = float(place["x"]), float(place["y"])
    scene = site_scene(answer, mean, deviation**2)
    check_marks(drawn, scene, besides=["tilted"])
    assert_allclose(drawn.mark("bells", "tilted")["high"], scene.mark("bells", "tilted").high, **TOLERANCE)
    assert_allclose(drawn.mark("map", "share")["values"], share_map(answer).ravel(), **TOLERANCE)
    return mean, deviation


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return site_by_hand().save(tmp_path_factory.mktemp("living") / "site.html")


@pytest.mark.browser
@pytest.mark.parametrize("hand", ["mouse", "finger"])
def test_the_cavity_follows_the_hand(hand, browser, saved, screenshots):
    page = StaticPage(browser, saved, touch=hand == "finger")
    move = partial(page.drag if hand == "mouse" else page.swipe, NAME)
    assert_allclose(check_site(page.scene(), "probit, y = +1"), (-1.0, np.sqrt(2.0)), **TOLERANCE)
    move("map", (0.0, 1.0), (2.0, 2.0), (3.0, 0.5))
    assert_allclose(check_site(page.scene(), "probit, y = +1"), (3.0, 0.5), atol=0.03)
    move("bells", (0.0, 0.2), (-2.5, 0.2))  # to the side, from anywhere
    mean, deviation = check_site(page.scene(), "probit, y = +1")
    assert_allclose((mean, deviation), (0.5, 0.5), atol=0.06)
    move("bells", (0.0, 0.6), (0.0, 0.1))  # downwards: wider
    same, wider = check_site(page.scene(), "probit, y = +1")
    assert_allclose(same, mean, atol=0.03)
    assert wider > 1.2 * deviation
    for k, answer in enumerate(ANSWERS):
        page.set(NAME, "answer", answer)
        check_site(page.scene(), answer)
        if hand == "mouse":
            page.do(page.page.screenshot, path=str(screenshots / f"living_site_{k}.png"))
    assert len(page.scene().mark("map", "grows")["x"]) > 20  # heavy tails
    page.check_quiet()
    page.close()


@pytest.mark.browser
def test_keys_of_the_cavity_and_its_borders(browser, saved):
    page = StaticPage(browser, saved)
    page.press(NAME, "map", "ArrowRight", times=3)
    page.press(NAME, "map", "ArrowDown", times=2)
    assert_allclose(check_site(page.scene(), "probit, y = +1"), (-0.7, np.sqrt(2.0) - 0.1), **TOLERANCE)
    page.press(NAME, "bells", "ArrowUp", times=2)  # narrower
    page.press(NAME, "bells", "ArrowLeft", times=3)
    assert_allclose(check_site(page.scene(), "probit, y = +1"), (-1.0, np.sqrt(2.0) - 0.2), **TOLERANCE)
    page.press(NAME, "map", "Shift+ArrowUp", times=9)
    page.press(NAME, "map", "Shift+ArrowLeft", times=9)
    assert_allclose(check_site(page.scene(), "probit, y = +1"), (-4.0, 2.5), **TOLERANCE)
    page.press(NAME, "bells", "Shift+ArrowUp", times=9)
    assert_allclose(check_site(page.scene(), "probit, y = +1"), (-4.0, 0.3), **TOLERANCE)
    labels = page.evaluate(
        "() => [...document.querySelectorAll('.gplvm-canvas')].map((e) => e.getAttribute('aria-label'))"
    )
    assert "Arrow keys move the cross" in labels[1] and "Right and left arrow move the bell" in labels[2]
    page.check_quiet()
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_looks_of_the_site(width, scheme, browser, saved, screenshots):
    page = StaticPage(browser, saved, width=width, height=844 if width == 390 else 900, scheme=scheme)
    check_looks(page, width, scheme)
    check_speed(page)
    page.do(page.page.screenshot, path=str(screenshots / f"living_site_{width}_{scheme}.png"))
    page.check_quiet()
    page.close()


@pytest.mark.browser
def test_dragging_the_cavity_keeps_up_with_the_screen(browser, saved, record_property):
    page = StaticPage(browser, saved)
    page.do(page.page.mouse.move, *page.pixel(NAME, "map", (0.0, 1.4)))
    page.do(page.page.mouse.down)
    before = page.scene()
    page.evaluate(FRAMES, [ROOT + NAME, "map", 30])  # once, so that the browser has compiled what it will run
    began = page.thread_milliseconds()
    page.evaluate(FRAMES, [ROOT + NAME, "map", 90])
    cost = (page.thread_milliseconds() - began) / 90
    record_property("frames", f"{cost:.1f} ms of the page's thread for a move")
    print(f"{cost:.1f} ms of the page's thread for a move")
    assert page.scene().says != before.says
    assert 0.1 < cost < 8
    page.close()
