"""The course in a real JupyterLab page in headless Chromium: cells run, handles move, pictures change.

A chapter's own test needs three lines; see the module ``lab`` for what a page can do.
"""

import os
import time
from pathlib import Path

import gplvm_widgets
import nbformat
import numpy as np
import pytest
from gplvm_widgets.ppca import panel_ppca

pytestmark = pytest.mark.browser
BOOK = Path(__file__).resolve().parents[1] / "book"
APPENDICES = sorted(path.name for path in BOOK.glob("[a-z]*.ipynb") if path.name != "index.ipynb")


# ---------------------------------------------------------------------- the driver itself
SLIDER_AND_PICTURE = """
import io
import ipywidgets as W
import numpy as np
from PIL import Image

def picture(level):
    file = io.BytesIO()
    Image.fromarray(np.full((40, 60), level, np.uint8)).save(file, "PNG")
    return file.getvalue()

slider = W.IntSlider(value=100, min=0, max=255, description="level")
image = W.Image(value=picture(100), width=60, height=40)
image.add_class("tiny-picture")
slider.observe(lambda change: setattr(image, "value", picture(change.new)), "value")
W.VBox([slider, image])
"""


@pytest.fixture(scope="module")
def tiny(lab):
    """Two small notebooks made here, beside the copy of the book."""
    for name, cells in {"tiny": [SLIDER_AND_PICTURE], "broken": ["1 + 1", "1 / 0", "2 + 2"]}.items():
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
        nbformat.write(notebook, lab.root / f"{name}.ipynb")
    return lab


@pytest.mark.slow
def test_driver_moves_a_slider_and_sees_the_picture_change_and_come_back(tiny):
    with tiny.open("tiny.ipynb", folder="") as page:
        page.run_all()
        start = page.picture_at_rest(selector="img.tiny-picture")
        page.slider("level").press("ArrowRight", times=3)
        moved = page.wait_for_new_picture(start, selector="img.tiny-picture")
        assert page.slider("level").value() == "103" and moved != start
        page.slider("level").press("ArrowLeft", times=3)
        page.wait_for_picture(start, selector="img.tiny-picture")


def test_driver_reports_a_cell_that_fails(tiny):
    with tiny.open("broken.ipynb", folder="") as page:
        with pytest.raises(AssertionError, match="ZeroDivisionError"):
            page.run_all(seconds=30)


def test_driver_blocks_and_writes_down_requests_to_other_hosts(browser):
    def visit():
        page = browser.new_page()
        page.set_content('<img src="http://elsewhere.invalid/picture.png">', wait_until="load")
        page.context.close()

    browser.do(visit)
    assert [address for address, _ in browser.outside if "elsewhere.invalid" in address]


# ---------------------------------------------------------------------- front page, appendices
def test_front_page_runs_in_jupyterlab_and_leads_to_chapter_one(lab, screenshots):
    with lab.open("index.ipynb") as page:
        page.run_all()
        page.screenshot(screenshots / "lab_index.png")
        assert page.count("#gplvm-living-front-page") == 1
        page.follow_link("Probabilistic PCA")
        page.wait_until(
            lambda: "01_ppca.ipynb" in page.text(".lm-DockPanel-tabBar .lm-mod-current"), 30, "chapter 1 to open"
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", APPENDICES)
def test_appendix_runs_in_jupyterlab_without_an_error(lab, name, screenshots):
    with lab.open(name) as page:
        page.run_all()
        page.screenshot(screenshots / f"lab_{Path(name).stem}.png")
        assert page.errors() == []
        assert page.count(".jp-RenderedMarkdown h1") == 1


# ---------------------------------------------------------------------- chapter 1
@pytest.fixture(scope="module")
def first_chapter(lab):
    """Chapter 1 with all its cells run."""
    with lab.open("01_ppca.ipynb") as page:
        page.run_all()
        page.show(".gplvm-explorer")
        page.first_picture = page.picture_at_rest()
        yield page


@pytest.fixture
def chapter(first_chapter):
    """Chapter 1 with its explorer as the reader finds it, whatever the test before did to it."""
    if first_chapter.picture() != first_chapter.first_picture or first_chapter.error_box():
        first_chapter.rerun("explore_ppca(")
        first_chapter.wait_for_picture(first_chapter.first_picture)
    return first_chapter


def test_chapter_one_runs_in_jupyterlab_without_an_error(chapter, screenshots):
    chapter.screenshot(screenshots / "lab_01_ppca.png")
    assert chapter.errors() == [] and chapter.error_box() == ""
    assert chapter.count(".gplvm-explorer") >= 1


def test_noise_handle_changes_the_picture_and_back_again_restores_it(chapter):
    start = chapter.picture_at_rest()
    chapter.slider("noise").press("ArrowRight", times=5)
    assert chapter.wait_for_new_picture(start) != start
    chapter.slider("noise").press("ArrowLeft", times=5)
    chapter.wait_for_picture(start)
    assert chapter.error_box() == ""


def test_rotation_size_and_model_each_redraw(chapter):
    start = chapter.picture_at_rest()
    for slider in ("rotate", "q"):
        chapter.slider(slider).press("ArrowRight")
        chapter.wait_for_new_picture(start)
        chapter.slider(slider).press("ArrowLeft")
        chapter.wait_for_picture(start)
    chapter.control("model").choose("dual PPCA")
    chapter.wait_for_new_picture(start)
    chapter.control("model").choose("PPCA")
    chapter.wait_for_picture(start)
    assert chapter.error_box() == ""


def test_click_into_the_picture_chooses_another_point(chapter):
    start, point = chapter.picture_at_rest(), chapter.control("point").value()
    chapter.click_picture("embedding", -1.0, -0.6)
    there = chapter.wait_for_new_picture(start)
    chosen = int(chapter.control("point").value())
    drawn = next(panel for panel in chapter.scene()["panels"] if panel["key"] == "embedding")["marks"][0]
    distance = np.hypot(np.array(drawn["x"]) + 1.0, np.array(drawn["y"]) + 0.6)
    assert distance[chosen] < distance.min() + 0.02 and chosen != int(point)  # a pixel is 0.02 wide
    chapter.press_in_picture("embedding", "ArrowRight")
    assert chapter.wait_for_new_picture(there) not in (start, there)
    assert int(chapter.control("point").value()) == chosen + 1
    chapter.control("point").type(point)
    chapter.wait_for_picture(start)
    assert chapter.error_box() == ""


def test_the_page_draws_what_the_kernel_computes(chapter):
    kernel = panel_ppca()
    page = chapter.scene()
    assert page["says"] == kernel.says and [p["key"] for p in page["panels"]] == [p.key for p in kernel.panels]
    for shown, panel in zip(page["panels"], kernel.panels, strict=True):
        for mark, there in zip(panel.marks, shown["marks"], strict=True):
            for name in ("x", "y", "height"):
                if getattr(mark, name, None) is not None:
                    here = [np.nan if v == "gap" else v for v in there[name]]
                    assert np.allclose(here, getattr(mark, name).astype(np.float32), equal_nan=True), (
                        panel.key,
                        mark.key,
                    )


def test_show_the_code_shows_code_that_prints_the_sentence_and_copies(chapter):
    assert chapter.text(".gplvm-code") == ""
    names = chapter.run_shown_code()
    assert names["latent"].shape == (400, 2) and chapter.text(".gplvm-explorer .gplvm-says") in names["printed"]
    chapter.click_css(".gplvm-copy")
    chapter.wait_until(lambda: chapter.text(".gplvm-copy") == "Copied", 5, "the copy")
    chapter.click("Show the code")
    chapter.wait_until(lambda: not chapter.text(".gplvm-code"), 30, "the code to go")


def test_run_paints_at_least_twenty_states_and_the_slider_goes_back(chapter):
    closed_form, first = chapter.picture_at_rest(), chapter.shown()
    chapter.click("Run")
    chapter.wait_until(lambda: chapter.progress() == 1.0, 60, "the end of the run")
    end = chapter.picture_at_rest()
    assert chapter.shown() - first >= 20 and end != closed_form
    chapter.control("iterate").press("Home")
    chapter.wait_for_new_picture(end)
    code = chapter.run_shown_code()
    assert chapter.text(".gplvm-explorer .gplvm-says") in code["printed"]
    chapter.click("Show the code")
    chapter.control("q").press("ArrowRight")
    chapter.wait_until(lambda: chapter.progress() == 0.0, 20, "the bar to be reset")
    assert chapter.error_box() == ""


def test_question_waits_for_a_choice_and_reveal_answers_once(chapter):
    chapter.click("Question 1")
    chapter.wait_until(lambda: "ten times larger" in chapter.text(".gplvm-question"), 30, "the question")
    asked = chapter.picture_at_rest()
    assert chapter.is_disabled("Reveal")
    chapter.click_css(".gplvm-choices label:has-text('it shrinks')")
    chapter.wait_until(lambda: not chapter.is_disabled("Reveal"), 20, "the choice to count")
    chapter.click("Reveal")
    after = chapter.wait_for_new_picture(asked)
    assert chapter.text(".gplvm-question").count("Right.") == 1
    chapter.click("before")
    chapter.wait_for_picture(asked)
    chapter.click("after")
    chapter.wait_for_picture(after)


@pytest.mark.parametrize("width, height, dark", [(1280, 900, False), (1280, 900, True), (820, 1180, False)])
def test_question_picture_and_controls_fit_the_window(lab, open_explorer, screenshots, width, height, dark):
    with open_explorer("explore_ppca()", width=width, height=height) as page:
        if dark:
            page.command_with("apputils:change-theme", {"theme": "JupyterLab Dark"})
        page.click("Question 1")
        page.wait_until(lambda: "ten times" in page.text(".gplvm-question"), 30, "the question")
        page.picture_at_rest()
        box, panels = page.box(".gplvm-explorer"), page.boxes(".gplvm-panel")
        page.screenshot(screenshots / f"explorer_{width}{'_dark' if dark else ''}.png")
        assert min(panel["width"] for panel in panels) > 230
        if width == 1280:
            assert box["height"] <= 778 and len({round(panel["x"]) for panel in panels}) == 2
        else:
            assert len({round(panel["x"]) for panel in panels}) == 1  # one column


ASKED = """number => [...document.querySelectorAll('.gplvm-question')]
  .filter(element => element.innerText.startsWith(number + '.')).length"""


@pytest.mark.parametrize("number", [1, 2, 3])
def test_every_explorer_fits_the_window_with_each_of_its_questions(all_explorers, number):
    """1280 x 900 with the side bar open leaves 778 pixels; the choices to commit to are part of it."""
    page, names = all_explorers
    page.ask_kernel(f"for e in made: e.ask({number})")
    page.wait_until(
        lambda: page.browser.do(page.page.evaluate, ASKED, number) == len(names), 60, f"question {number} of all"
    )
    tall = {name: box["height"] for name, box in zip(names, page.boxes(".gplvm-explorer"), strict=True)}
    page.ask_kernel("for e in made: e.stop()")
    assert {name: height for name, height in tall.items() if not 400 < height <= 778} == {}


@pytest.fixture(scope="module")
def all_explorers(open_explorer):
    names = [name for name in gplvm_widgets.__all__ if name.startswith("explore_")]
    with open_explorer(
        "made = []", *(f"made.append({name}())\nmade[-1]" for name in names), width=1280, height=900
    ) as page:
        yield page, names


# ---------------------------------------------------------------------- the life of a run
SLOW = "import gplvm_widgets.explorer as base; base.FRAME_SECONDS, base.SHOWN_STATES = 0.2, 1000"  # a run of 40 s
STEPS = "print(len(e.kept), e.task is None)"


def running(page, name="e"):
    """How many states the explorer has reached, and whether its run has ended."""
    for _ in range(5):
        words = page.ask_kernel(STEPS.replace("e.", f"{name}.")).split()
        if len(words) >= 2:  # a new connection may hear the answer twice, or miss it
            return int(words[-2]), words[-1] == "True"
    raise AssertionError(f"the kernel gave no answer five times; {page.state()}")


def start(page):
    page.click("Run")
    page.wait_until(lambda: running(page)[0] > 3, 30, "the run to begin")


def ended(page, name="e", seconds=8):
    page.wait_until(lambda: running(page, name)[1], seconds, "the run to end")
    return running(page, name)[0] < 201


@pytest.fixture(scope="module")
def alive(open_explorer):
    with open_explorer(SLOW, "e = explore_ppca()\ne", "e", "1 + 1") as page:
        yield page


def test_a_second_view_shows_the_same_and_hears_every_click(alive):
    for k, x in enumerate([-2.0, -1.0, 0.5, 1.5]):
        point = alive.ask_kernel("print(e.settings['point'])")
        alive.click_picture("embedding", x, 0.3 * k - 0.5, nth=1)
        alive.wait_until(lambda before=point: alive.ask_kernel("print(e.settings['point'])") != before, 10, "the click")
    alive.wait_until(lambda: alive.scene(0) == alive.scene(1), 10, "both views to agree")


def test_interrupt_interrupts_and_says_so(alive):
    start(alive)
    alive.command("notebook:interrupt-kernel")
    assert ended(alive)
    alive.wait_until(lambda: "Interrupted" in alive.text(".gplvm-explorer"), 10, "the note")


def test_a_page_loaded_again_finds_its_explorer_and_every_click_counts(alive):
    alive.ask_kernel("e.set(rotate=0)")  # the closed form, not a state of the run before
    shown = alive.scene()
    alive.reload()
    alive.wait_until(lambda: (alive.scene() or {}).get("says") == shown["says"], 30, "the picture")
    for x in (-2.0, -1.0, 0.5):
        point = alive.ask_kernel("print(e.settings['point'])")
        alive.click_picture("embedding", x, -0.5)
        alive.wait_until(lambda before=point: alive.ask_kernel("print(e.settings['point'])") != before, 10, "the click")


def test_a_run_ends_when_its_page_is_loaded_again_and_looks_elsewhere(alive):
    start(alive)
    alive.go("about:blank")
    time.sleep(12.5)
    alive.open_again()
    assert ended(alive)


def test_a_run_ends_when_its_cell_is_run_again(alive):
    start(alive)
    alive.ask_kernel("former = e")
    alive.rerun("e = explore_ppca()")
    assert ended(alive, "former", seconds=3)
    alive.wait_until(lambda: alive.ask_kernel("print(former.comm is None)") == "True", 5, "its models to be closed")


def test_a_run_ends_when_the_outputs_are_cleared(alive):
    start(alive)
    alive.command("notebook:clear-all-cell-outputs")
    assert ended(alive)


def test_screenshot_of_the_live_chapter_for_the_readme(chapter, screenshots):
    wanted = Path(os.environ.get("GPLVM_EDU_SCREENSHOT") or screenshots / "chapter01.png")
    chapter.show(".gplvm-explorer")
    chapter.picture_at_rest()
    chapter.screenshot_around(".gplvm-explorer", wanted)
    assert wanted.stat().st_size > 20_000


def test_jupyterlab_asked_no_other_host_for_anything(lab):
    outside = [address for address, page in lab.browser.outside if f":{lab.port}/" in page]
    assert outside == []
