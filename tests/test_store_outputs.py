"""What the book's notebooks weigh in the repository, and the tool that stores their outputs."""

import base64
import importlib.util
import io
import json
from pathlib import Path

import nbformat
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from nbclient.exceptions import CellExecutionError
from PIL import Image

pytestmark = pytest.mark.book
ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
NOTEBOOKS = sorted(BOOK.glob("*.ipynb"))
KILOBYTES, ALL_KILOBYTES = 600, 6700  # living figures take 80 to 170 each, renderer and opening picture included

spec = importlib.util.spec_from_file_location("store_outputs", BOOK / "_ext" / "store_outputs.py")
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)


# ---------------------------------------------------------------------- the files
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_small_enough_to_be_cloned(path):
    size = path.stat().st_size / 1000
    assert size <= KILOBYTES, f"{size:.0f} kB: run `make notebooks NB={path.stem}`, or draw fewer or simpler figures"


def test_all_notebooks_together_are_small_enough_to_be_cloned():
    assert sum(path.stat().st_size for path in NOTEBOOKS) / 1000 < ALL_KILOBYTES


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_pictures_have_a_palette_and_the_resolution_of_the_page(path):
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for output in tool.pictures(cell):
            picture = tool.opened(tool.png_of(output))
            assert picture.mode == "P" and len(picture.getcolors()) <= 256, f"{cell['id']}: run `make notebooks`"
            assert picture.width <= tool.TOO_WIDE * tool.PAGE_WIDTH, f"{cell['id']}: run `make notebooks`"


@pytest.mark.parametrize("path", sorted(BOOK.glob("images/*.png")), ids=lambda path: path.stem)
def test_pictures_beside_the_notebooks_are_in_stored_form(path):
    with Image.open(path) as picture:
        assert tool.is_stored_form(picture), "run `python book/_ext/store_outputs.py --convert`"


def test_every_clone_has_the_line_ends_that_the_comparison_needs():
    attributes = (ROOT / ".gitattributes").read_text()
    assert "* text=auto eol=lf" in attributes and "*.png binary" in attributes
    assert [path.name for path in NOTEBOOKS if b"\r" in path.read_bytes()] == []


# ---------------------------------------------------------------------- pictures
def drawn(moved=0.0, colour="C0", width=6.0, scale=1.0, smooth=False, seed=0):
    """PNG of 200 small points, one of which is moved by so many pixels; on request over a smooth colour map."""
    figure = Figure(figsize=(width, 3), dpi=100)
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    points = np.random.default_rng(seed).normal(size=(200, 2))
    axes.set(xlim=(-4, 4), ylim=(-4, 4), title="points")
    points[0] = 2.5, 2.5
    points[0, 0] += moved * 8 / axes.get_window_extent().width
    if smooth:
        grid = np.linspace(-1, 1, 80)
        heights = scale * np.exp(-2 * (grid[:, None] ** 2 + grid**2))
        axes.imshow(heights, extent=(-4, 4, -4, 4), cmap="RdBu", vmin=-1, vmax=1, interpolation="bilinear")
    axes.scatter(*points.T, s=6, c=colour, alpha=0.6, linewidths=0)
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def pixels(png):
    return np.asarray(tool.opened(png).convert("RGB")).astype(float)


@pytest.mark.parametrize("smooth", [False, True])
def test_stored_form_has_a_palette_and_looks_the_same(smooth):
    png = drawn(smooth=smooth)
    small = tool.stored_form(png)
    assert tool.opened(small).mode == "P" and len(small) < 0.6 * len(png)
    moved = np.abs(pixels(small) - pixels(png)).max(axis=2)
    assert moved.max() <= tool.FAR and moved.mean() <= tool.NEAR
    assert pixels(small)[0, 0].tolist() == [255, 255, 255]
    assert tool.opened(small).info["dpi"] == tool.opened(png).info["dpi"]


def test_picture_of_few_colours_loses_nothing():
    png = io.BytesIO()
    Image.fromarray(np.arange(0, 256, 4, dtype=np.uint8).reshape(8, 8)).convert("RGB").save(png, "PNG")
    assert np.array_equal(pixels(tool.stored_form(png.getvalue())), pixels(png.getvalue()))


def test_one_pixel_of_a_rare_colour_keeps_it():
    """A quantiser that counts pixels would paint it in the colour of its neighbours."""
    noise = np.random.default_rng(0).integers(0, 120, size=(60, 60, 3), dtype=np.uint8)
    noise[30, 30] = 255, 0, 0
    png = io.BytesIO()
    Image.fromarray(noise).save(png, "PNG")
    assert np.abs(pixels(tool.stored_form(png.getvalue()))[30, 30] - [255, 0, 0]).max() <= tool.FAR


def test_transparent_paper_is_white():
    png = io.BytesIO()
    Image.new("RGBA", (4, 4), (0, 0, 0, 0)).save(png, "PNG")
    assert pixels(tool.stored_form(png.getvalue())).min() == 255


def test_conversion_is_idempotent():
    once = tool.stored_form(drawn(smooth=True))
    assert tool.stored_form(once) == once


@pytest.mark.parametrize("width, stored", [(11.0, 1100), (14.0, 896)])
def test_only_a_picture_much_wider_than_the_page_is_scaled(width, stored):
    png = drawn(width=width)
    small = tool.stored_form(png)
    assert tool.opened(small).width == stored
    assert tool.stored_form(small) == small and tool.same_picture(png, small)


def test_picture_of_double_density_is_stored_as_wide_as_it_is_shown():
    assert tool.opened(tool.stored_form(drawn(width=8.0), shown=400)).width == 400


def test_moving_picture_is_left_alone():
    file = io.BytesIO()
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    frames[0].save(file, "PNG", save_all=True, append_images=frames[1:])
    assert tool.stored_form(file.getvalue()) == file.getvalue()


@pytest.mark.parametrize("smooth", [False, True])
def test_same_picture_is_recognised_and_one_moved_point_is_seen(smooth):
    stored = tool.stored_form(drawn(smooth=smooth))
    assert tool.same_picture(drawn(smooth=smooth), stored)
    assert tool.same_picture(drawn(smooth=smooth, moved=1e-3), stored)
    assert not tool.same_picture(drawn(smooth=smooth, moved=4), stored)


def test_rounding_of_another_machine_is_no_change_and_a_drift_of_the_colours_is_one():
    stored = tool.stored_form(drawn(smooth=True))
    assert tool.same_picture(drawn(smooth=True, scale=1 + 1e-6), stored)
    assert not tool.same_picture(drawn(smooth=True, scale=0.97), stored)


def test_another_colour_another_size_and_an_unconverted_picture_are_changes():
    stored = tool.stored_form(drawn())
    assert not tool.same_picture(drawn(colour="C1"), stored)
    assert not tool.same_picture(drawn(width=6.1), stored)
    assert not tool.same_picture(drawn(), drawn())


# ---------------------------------------------------------------------- notebooks
DRAW = """
from IPython.display import Image, display
import base64
display(Image(base64.b64decode(PNG)))
"""


def notebook_of(*sources):
    cells = [nbformat.v4.new_markdown_cell("# Title with an umlaut: ü", id="title")]
    cells += [nbformat.v4.new_code_cell(source, id=f"cell-{k}") for k, source in enumerate(sources)]
    return nbformat.v4.new_notebook(cells=cells)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A notebook of three cells that has been run and stored: text, a picture, text that is a value."""
    path = tmp_path_factory.mktemp("notebooks") / "small.ipynb"
    picture = f"PNG = '{base64.b64encode(drawn()).decode()}'" + DRAW
    nbformat.write(notebook_of("print('one')\nprint('two')", picture, "6 * 7"), path)
    tool.run(path)
    return path


@pytest.fixture
def stored(ran, tmp_path):
    path = tmp_path / ran.name
    path.write_bytes(ran.read_bytes())
    return path


def test_run_stores_text_and_pictures_in_their_stored_form(stored):
    cells = nbformat.read(stored, as_version=4).cells
    assert cells[1].outputs[0].text == "one\ntwo\n" and cells[3].outputs[0].data["text/plain"] == "42"
    [output] = tool.pictures(cells[2])
    assert tool.png_of(output) == tool.stored_form(drawn())


def test_change_of_one_cell_changes_one_output(stored):
    was = json.loads(stored.read_text(encoding="utf-8"))
    changed = nbformat.read(stored, as_version=4)
    changed.cells[3].source = "6 * 8"
    nbformat.write(changed, stored)
    assert "1 of 4 cells changed" in tool.run(stored)
    now = json.loads(stored.read_text(encoding="utf-8"))
    assert now["cells"][:3] == was["cells"][:3] and now["metadata"] == was["metadata"]
    assert now["cells"][3]["outputs"][0]["data"]["text/plain"] == ["48"]
    assert now["cells"][3]["id"] == was["cells"][3]["id"]
    assert [line.strip() for line in lines(was) if line not in lines(now)] == ['"42"', '"6 * 7"']


def lines(notebook):
    return json.dumps(notebook, indent=1, ensure_ascii=False).splitlines()


def drawn_again(was, **changes):
    """The JSON of a stored notebook after a fresh run that draws its picture with changes."""
    fresh = json.loads(json.dumps(was))
    fresh["cells"][2]["outputs"][0]["data"]["image/png"] = base64.b64encode(drawn(**changes)).decode()
    return fresh


def test_notebook_of_the_same_pictures_is_not_written(stored):
    before, was = stored.stat().st_mtime_ns, json.loads(stored.read_text(encoding="utf-8"))
    assert "unchanged" in tool.store(stored, drawn_again(was))
    assert "unchanged" in tool.store(stored, drawn_again(was, moved=1e-3))
    assert stored.stat().st_mtime_ns == before


def test_stored_bytes_give_way_to_another_picture_and_only_they(stored):
    was = json.loads(stored.read_text(encoding="utf-8"))
    assert "1 of 4 cells changed" in tool.store(stored, drawn_again(was, moved=4))
    now = json.loads(stored.read_text(encoding="utf-8"))
    assert tool.png_of(now["cells"][2]["outputs"][0]) == tool.stored_form(drawn(moved=4))
    now["cells"][2]["outputs"] = was["cells"][2]["outputs"]
    assert now == was


def test_conversion_changes_nothing_but_pictures_and_only_once(stored):
    notebook = json.loads(stored.read_text(encoding="utf-8"))
    raw = base64.b64encode(drawn()).decode()
    notebook["cells"][2]["outputs"][0]["data"]["image/png"] = raw
    text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    stored.write_text(text, encoding="utf-8", newline="\n")
    assert "1 of 4 cells changed" in tool.convert(stored)
    once = stored.read_bytes()
    small = base64.b64encode(tool.stored_form(drawn())).decode()
    assert once.decode() == text.replace(json.dumps(raw) + ",", json.dumps(small) + ",", 1)
    before = stored.stat().st_mtime_ns
    assert "unchanged" in tool.convert(stored)
    assert stored.read_bytes() == once and stored.stat().st_mtime_ns == before


def test_after_an_error_nothing_is_written(stored):
    changed = nbformat.read(stored, as_version=4)
    changed.cells[1].source = "print('other')"
    changed.cells[3].source = "1 / 0"
    nbformat.write(changed, stored)
    before = stored.read_bytes()
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        tool.run(stored)
    assert stored.read_bytes() == before
    assert [path.name for path in stored.parent.iterdir()] == [stored.name]


def test_shown_size_of_a_picture_is_kept_and_other_metadata_is_not():
    notebook = notebook_of("x")
    data = {"image/png": base64.b64encode(drawn()).decode()}
    metadata = {"image/png": {"width": 300, "height": 150}, "needs_background": "light"}
    notebook.cells[1].outputs = [nbformat.v4.new_output("display_data", data, metadata=metadata)]
    output = tool.tidy(notebook).cells[1].outputs[0]
    assert output.metadata == {"image/png": {"width": 300, "height": 150}}
    fresh = tool.merge(json.loads(nbformat.writes(notebook)), {"cells": []})
    assert tool.opened(tool.png_of(fresh["cells"][1]["outputs"][0])).width == 300


def test_unknown_notebook_is_named_with_the_known_ones():
    with pytest.raises(SystemExit, match=r"There is no notebook 99_nothing\.ipynb.*01_ppca"):
        tool.main(["99_nothing"])
