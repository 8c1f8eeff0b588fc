"""The living figure of chapter 3: two ellipses in the page against `gplvm_edu.unify`, in deno and in a browser."""

from functools import partial

import numpy as np
import pytest
from gplvm_widgets.living import two_divergences
from gplvm_widgets.living.two_divergences import (
    FAMILIES,
    LONGEST,
    REACH,
    Ellipse,
    best_of,
    check_covariance,
    divergence_numbers,
    divergence_scene,
    plain,
    within,
)
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from test_living import TOLERANCE, StaticPage, check_looks, check_marks, check_speed, in_deno

from gplvm_edu import unify

OPENING = two_divergences().data["opening"]


def random_ellipse(rng):
    """One that a hand could make."""
    return Ellipse(rng.uniform(-4, 4), tuple(np.exp(rng.uniform(np.log(0.2), np.log(2.8), 2)).tolist()))


def random_states(n, seed=0):
    rng = np.random.default_rng(seed)
    for k in range(n):
        family = FAMILIES[k % 3]
        yield random_ellipse(rng), within(random_ellipse(rng), family), family


@pytest.mark.identity
def test_the_page_computes_the_divergences_of_the_package():
    states = list(random_states(300))
    data = [{"S": plain(S), "K": plain(K), "family": family} for S, K, family in states]
    program = """return data.map((s) => ({ ...two_divergences.numbers(s),
      within: ["any ellipse", "axes upright", "a circle"].map((f) => two_divergences.within(s.K, f)) }));"""
    for (S, K, family), page in zip(states, in_deno(program, data), strict=True):
        wanted = divergence_numbers(S, K, family)
        assert_allclose(page["ratios"], wanted.ratios, rtol=1e-9)
        for name in ("forward", "reversed", "least"):
            assert_allclose(page[name], getattr(wanted, name), err_msg=name, **TOLERANCE)
        for found, best in zip(page["best"], wanted.best, strict=True):
            assert_allclose([found["angle"], *found["deviations"]], [best.angle, *best.deviations], **TOLERANCE)
        for found, other in zip(page["within"], FAMILIES, strict=True):
            assert_allclose(found["deviations"], within(K, other).deviations, **TOLERANCE)


def test_the_name_of_the_longest_axis_fits_into_the_panel():
    K = Ellipse(0.0, (LONGEST, LONGEST))
    panel = divergence_scene(check_covariance(np.eye(2)), K, "a circle").panel("plane")
    (names,) = [mark for mark in panel.marks if mark.key == "names"]
    assert np.max(np.abs([names.x, names.y])) < panel.x.limits[1] - 0.2 and panel.x.limits[1] == REACH


@pytest.mark.identity
def test_the_dashed_ellipses_are_the_minima_of_their_family():
    rng = np.random.default_rng(4)
    for family, n_free in (("axes upright", 2), ("a circle", 1)):
        for _ in range(5):
            S = random_ellipse(rng)
            for reverse in (False, True):

                def value(x, S=S, reverse=reverse):
                    K = np.diag(np.exp(np.broadcast_to(x, 2)))
                    return unify.gaussian_kl(K, S.matrix) if reverse else unify.gaussian_kl(S.matrix, K)

                found = minimize(value, np.zeros(n_free), method="Nelder-Mead", options=dict(xatol=1e-8, fatol=1e-12))
                best = best_of(S, family, reverse)
                assert_allclose(np.exp(np.broadcast_to(found.x, 2)), np.square(best.deviations), rtol=1e-5)
                least = divergence_numbers(S, best, family).least[reverse]
                assert_allclose(least, found.fun, atol=1e-9)
                if family == "a circle":  # (3.14) and (3.21) with nothing kept
                    lam = np.sort(np.square(S.deviations))[::-1]
                    assert_allclose(least, unify.minimal_divergence(lam, 0, reverse), atol=1e-12)


@pytest.mark.identity
def test_the_answer_to_the_question():
    S = Ellipse(**{**OPENING["S"], "deviations": tuple(OPENING["S"]["deviations"])})
    longer, thinner = (S._replace(deviations=d) for d in ((2.8, S.deviations[1]), (S.deviations[0], 0.2)))
    area = lambda e, reverse: best_of(e, "a circle", reverse).deviations[0] ** 2  # noqa: E731
    forward = [area(e, False) / area(S, False) for e in (longer, thinner)]
    backward = [area(e, True) / area(S, True) for e in (longer, thinner)]
    assert forward[0] > 1.6 and 0.9 < forward[1] < 1  # it follows the long axis
    assert 1 < backward[0] < 1.05 and backward[1] < 0.2  # and this one the short axis


@pytest.mark.widget
def test_the_figure_is_small_and_the_same_every_time():
    figure = two_divergences()
    assert figure.html == two_divergences().html and len(figure.html) < 150_000 and "http" not in figure.html
    assert figure.html.count("Question:") == 1 and figure.scene.says in repr(figure)
    S = np.array([[1.0, 0.6], [0.6, 2.0]])
    assert_allclose(check_covariance(S).matrix, S, atol=1e-12)
    for family in FAMILIES:
        assert two_divergences(S, family, name="other").data["opening"]["family"] == family


@pytest.mark.bad_input
def test_two_divergences_says_what_is_wrong():
    for wrong, message in (
        (dict(similarity=np.eye(3)), r"2 x 2 matrix.*\(3, 3\)"),
        (dict(similarity=[[1.0, 0.5], [0.0, 1.0]]), "similarity is not symmetric"),
        (dict(similarity=[[1.0, 2.0], [2.0, 1.0]]), "between 0.04 and 7.84.*got -1 and 3"),
        (dict(similarity=100 * np.eye(2)), "to fit|fit into the panel"),
        (dict(similarity=[[np.nan, 0.0], [0.0, 1.0]]), "NaN or infinity"),
        (dict(similarity="S"), "similarity must be"),
        (dict(family="circle"), "family must be"),
        (dict(name="a b"), "letters, digits and dashes"),
    ):
        with pytest.raises(ValueError, match=message):
            two_divergences(**wrong)


# ---------------------------------------------------------------------- in a browser, from a file
NAME = "two-kl"


def ellipse_of(drawn, name):
    """The Ellipse whose ends the page shows."""
    x, y = (drawn.mark("plane", f"ends {name}")[side] for side in "xy")
    return Ellipse(float(np.arctan2(y[0], x[0])), tuple(np.hypot(x, y).tolist()))


def check_divergences(drawn, family):
    """The page shows what Python computes for its two ellipses."""
    S, K = ellipse_of(drawn, "S"), ellipse_of(drawn, "K")
    scene = divergence_scene(S, K, family)
    check_marks(drawn, scene, besides=["chosen"])
    return S, K


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return two_divergences().save(tmp_path_factory.mktemp("living") / "two.html")


@pytest.mark.browser
@pytest.mark.parametrize("hand", ["mouse", "finger"])
def test_both_ellipses_follow_the_hand_as_far_as_the_family_lets_them(hand, browser, saved, screenshots):
    page = StaticPage(browser, saved, touch=hand == "finger")
    move = partial(page.drag if hand == "mouse" else page.swipe, NAME, "plane")
    S, K = check_divergences(page.scene(), "a circle")
    assert_allclose(S.deviations, OPENING["S"]["deviations"], **TOLERANCE)
    move((K.deviations[0], 0.0), (1.5, 1.0), (1.2, 1.6))
    same, K = check_divergences(page.scene(), "a circle")
    assert_allclose(K.deviations, [2.0, 2.0], atol=0.03)
    assert_allclose(same.matrix, S.matrix)
    page.set(NAME, "K is", "axes upright")
    move((0.0, 2.0), (0.3, 0.8))
    _, K = check_divergences(page.scene(), "axes upright")
    assert_allclose([K.angle, *K.deviations], [0, 2.0, 0.8], atol=0.03)
    page.set(NAME, "K is", "any ellipse")
    move((2.0, 0.0), (1.6, 0.8), (1.2, 1.6))
    _, K = check_divergences(page.scene(), "any ellipse")
    assert_allclose([K.angle, *K.deviations], [np.arctan2(1.6, 1.2), 2.0, 0.8], atol=0.03)
    page.do(page.page.screenshot, path=str(screenshots / f"living_two_any_{hand}.png"))
    end = np.array([np.cos(S.angle), np.sin(S.angle)]) * S.deviations[0]
    move(tuple(end), (2.2, -0.8), (2.0, -1.5))
    turned, same = check_divergences(page.scene(), "any ellipse")
    assert_allclose([turned.angle, *turned.deviations], [np.arctan2(-1.5, 2.0), 2.5, S.deviations[1]], atol=0.03)
    assert_allclose(same.matrix, K.matrix)
    page.set(NAME, "K is", "axes upright")
    for k, name in enumerate(("KL(S‖K)", "KL(K‖S)")):
        page.do(page.page.get_by_role("button", name=f"Least {name}").click)
        S, K = check_divergences(page.scene(), "axes upright")
        numbers = divergence_numbers(S, K, "axes upright")
        assert_allclose((numbers.forward, numbers.reversed)[k], numbers.least[k], **TOLERANCE)
        page.do(page.page.screenshot, path=str(screenshots / f"living_two_least_{k}_{hand}.png"))
    page.check_quiet()
    page.close()


@pytest.mark.browser
def test_keys_of_the_two_ellipses(browser, saved):
    page = StaticPage(browser, saved)
    S, K = check_divergences(page.scene(), "a circle")
    page.press(NAME, "plane", "Shift+ArrowRight", times=2)
    _, larger = check_divergences(page.scene(), "a circle")
    assert_allclose(np.subtract(larger.deviations, K.deviations), 10 * REACH / 60, **TOLERANCE)
    page.press(NAME, "plane", " ", times=3)  # the short axis of S
    page.press(NAME, "plane", "ArrowDown", times=3)
    other, same = check_divergences(page.scene(), "a circle")
    assert_allclose(same.matrix, larger.matrix)
    assert other.deviations[1] < S.deviations[1] and other.deviations[0] == pytest.approx(S.deviations[0])
    page.press(NAME, "plane", " ")
    page.press(NAME, "plane", "Shift+ArrowDown", times=20)  # a circle does not vanish
    assert_allclose(check_divergences(page.scene(), "a circle")[1].deviations, 0.2, **TOLERANCE)
    page.check_quiet()
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("width, scheme", [(1280, "light"), (390, "dark")])
def test_looks_of_the_two_ellipses(width, scheme, browser, saved, screenshots):
    page = StaticPage(browser, saved, width=width, height=844 if width == 390 else 900, scheme=scheme)
    check_looks(page, width, scheme)
    check_speed(page)
    page.do(page.page.screenshot, path=str(screenshots / f"living_two_{width}_{scheme}.png"))
    page.check_quiet()
    page.close()
