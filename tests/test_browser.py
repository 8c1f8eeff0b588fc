"""The course in a real JupyterLab page in headless Chromium: cells run, handles move, pictures change.

A chapter's own test needs three lines; see the module ``lab`` for what a page can do.
"""

import os
import re
import time
from pathlib import Path

import nbformat
import pytest

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
        assert page.count("#gplvm-latent-front-page") == 1
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
    chapter.click_picture(0.16, 0.62)  # the embedding is the panel at the lower left
    there = chapter.wait_for_new_picture(start)
    assert chapter.control("point").value() != point
    chapter.click_picture(0.30, 0.80)
    assert chapter.wait_for_new_picture(there) not in (start, there)
    chapter.control("point").type(point)
    chapter.wait_for_picture(start)
    assert chapter.error_box() == ""


def test_show_the_code_shows_code_that_runs(chapter):
    assert chapter.text(".gplvm-code") == ""
    names = chapter.run_shown_code()
    assert names["latent"].shape == (400, 2)
    chapter.click("Show the code")
    chapter.wait_until(lambda: not chapter.text(".gplvm-code"), 30, "the code to go")


def test_run_advances_and_stop_stops_between_two_steps(chapter):
    chapter.click("Show the code")  # the code says what the kernel has drawn; moving a control later would end the run
    chapter.control("data").choose("digits")  # with q = 8 this run is long enough to be caught half-way
    chapter.slider("q").press("ArrowRight", times=6)
    chapter.wait_until(lambda: re.search(r"load_digits\(\)[^$]*q = 8", chapter.text(".gplvm-code")), 60, "q = 8")
    chapter.click("Show the code")
    closed_form = chapter.picture_at_rest()
    chapter.run_then_stop()
    stopped, share = chapter.picture_at_rest(), chapter.progress()
    assert stopped != closed_form and 0 < share < 1
    time.sleep(1.0)
    assert chapter.picture() == stopped and chapter.progress() == share
    chapter.click("Run")  # from the start again, and further this time
    chapter.wait_until(lambda: chapter.progress() > share, 60, "the run to get further")
    assert chapter.wait_for_new_picture(stopped, seconds=90) != closed_form
    assert chapter.error_box() == ""
    chapter.end_run()


def test_question_sets_the_scene_and_reveal_answers(chapter):
    chapter.click("Question 1")
    chapter.wait_until(lambda: "Predict first" in chapter.text(".gplvm-question"), 30, "the question")
    asked = chapter.picture_at_rest()
    question = chapter.text(".gplvm-question")
    chapter.click("Reveal")
    chapter.wait_for_new_picture(asked)
    assert len(chapter.text(".gplvm-question")) > len(question)


def test_mistake_is_explained_inside_the_explorer(chapter):
    start = chapter.picture_at_rest()
    chapter.slider("q").press("ArrowRight", times=2)
    chapter.wait_for_new_picture(start)
    chapter.control("data").choose("3-D cloud")
    chapter.wait_until(lambda: "smaller q" in chapter.error_box(), 90, "the explanation")
    chapter.slider("q").press("ArrowLeft", times=2)
    chapter.control("data").choose("oil flow")
    chapter.wait_for_picture(start)
    assert chapter.error_box() == ""


def test_screenshot_of_the_live_chapter_for_the_readme(chapter, screenshots):
    wanted = Path(os.environ.get("GPLVM_EDU_SCREENSHOT") or screenshots / "chapter01.png")
    chapter.show(".gplvm-explorer")
    chapter.picture_at_rest()
    chapter.screenshot_around(".gplvm-explorer", wanted)
    assert wanted.stat().st_size > 20_000


def test_jupyterlab_asked_no_other_host_for_anything(lab):
    outside = [address for address, page in lab.browser.outside if f":{lab.port}/" in page]
    assert outside == []
