"""Run the notebooks of the book and store what they print and draw: ``make notebooks [NB=01_ppca]``.

What is stored is stable: no times, no widget state, no random widget identifiers (the strip of scenes that an
explorer leaves is kept), no metadata but the kernel's name, the cells' tags and the words on a fold.
So a difference in version control is a difference in what a reader sees.

**Colours.** A picture is stored as a palette PNG of at most 256 colours: the fewest of 64, 128, 192 and 256 with which
no pixel moves by more than `FAR` levels of 255 and the mean pixel by no more than `NEAR` (256 where none is enough).
Line plots need 64, colour maps 192 or 256. Nothing is dithered: that took as many bytes as more colours, and turned
white paper grey. A plain quantiser was no choice: one that spreads its colours evenly draws false contours into a
smooth map, and one that counts pixels paints a rare marker in the colour of its neighbour; see `palette`.

**Size.** Figures are drawn at 100 dots an inch, 370 to 1211 pixels wide; the widest column of a built page has
`PAGE_WIDTH` = 896 pixels. Only a picture that is wider than 4/3 of what is shown is scaled down to it (one drawn at
double density, for example). To scale one by less blurs its lines, which were drawn on whole pixels, and costs bytes:
the 77 figures wider than the column took 27 % more at 896 pixels than as they were drawn.

**Sameness.** When a fresh run gives the picture that is stored, its bytes stay as they are, and a notebook in which
nothing changed is not written. Where another BLAS only rounded differently, fresh pictures differed from the stored
ones by at most 24 levels at a pixel and 0.02 on average; one small marker that moves changes a dozen pixels by more
than 32. `same_picture` stands between the two.

``store_outputs.py --convert [names]`` converts what is stored, and the pictures in book/images, without a run. To do it
twice changes nothing.
"""

import argparse
import base64
import io
import json
import os
import sys
from pathlib import Path

import nbformat
import numpy as np
from gplvm_widgets.explorer import MAKE_STRIP
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from PIL import Image
from scipy.spatial import KDTree

BOOK = Path(__file__).resolve().parents[1]
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
PAGE_WIDTH = 896  # CSS pixels: the widest output of a page of the built book, in a window of 1440 or more
TOO_WIDE = 4 / 3  # times the width at which it is shown: from here on a picture is scaled down
FAR, NEAR = 24, 0.5  # levels of 255 by which a palette may move one pixel, and the mean pixel
MOVED, N_MOVED, DRIFT = 32, 4, 0.05  # same picture: at most N_MOVED pixels differ by more than MOVED, the mean by DRIFT
EVEN, FREQUENT = Image.Quantize.MAXCOVERAGE, Image.Quantize.MEDIANCUT
PALETTES = ((64, EVEN), (128, EVEN), (128, FREQUENT), (192, FREQUENT), (256, FREQUENT))


# ---------------------------------------------------------------------- pictures
def opened(png):
    return Image.open(io.BytesIO(png))


def is_stored_form(picture, shown=PAGE_WIDTH):
    """Whether a picture has a palette and is no wider than needed; one that moves is left to whoever made it."""
    return getattr(picture, "n_frames", 1) > 1 or (picture.mode == "P" and picture.width <= TOO_WIDE * shown)


def as_drawn(picture, shown=PAGE_WIDTH):
    """RGB on white paper, at the width at which the page shows it where it is much wider than that."""
    picture = picture.convert("RGBA")
    paper = Image.new("RGBA", picture.size, "white")
    picture = Image.alpha_composite(paper, picture).convert("RGB")
    if picture.width <= TOO_WIDE * shown:
        return picture
    return picture.resize((shown, round(picture.height * shown / picture.width)), Image.Resampling.BICUBIC)


def colours_of(picture):
    """The colours (n, 3) of an RGB picture, how many pixels have each, and the number of each pixel's colour."""
    pixels = np.asarray(picture).astype(np.uint32)
    codes = pixels[..., 0] << 16 | pixels[..., 1] << 8 | pixels[..., 2]
    unique, which, counts = np.unique(codes.ravel(), return_inverse=True, return_counts=True)
    colours = np.stack([unique >> 16, unique >> 8 & 255, unique & 255], axis=1).astype(float)
    return colours, counts, which.reshape(codes.shape)


def palette(colours, counts, n, method):
    """At most n colours: the 16 most frequent as they are, then those of a quantiser, then the n/8 worst served.

    The quantiser sees a colour of c pixels c^(3/4) times: so a small dark corner of a colour map gets its steps too.
    """
    if len(colours) <= n:
        return colours
    n_chosen = n - 16 - n // 8
    seen = np.repeat(colours.astype(np.uint8), np.rint(counts**0.75).astype(int), axis=0)[None]
    chosen = Image.fromarray(seen).quantize(n_chosen, method=method, kmeans=1, dither=Image.Dither.NONE).getpalette()
    chosen = np.array(chosen[: 3 * n_chosen], dtype=float).reshape(-1, 3)
    chosen = np.unique(np.vstack([colours[np.argsort(-counts, kind="stable")[:16]], chosen]), axis=0)
    distance = KDTree(chosen).query(colours)[0]
    while len(chosen) < n and distance.max() > 0:
        worst = colours[distance.argmax()]
        chosen = np.vstack([chosen, worst])
        distance = np.minimum(distance, np.linalg.norm(colours - worst, axis=1))
    return chosen


def nearest(chosen, colours):
    """For each colour the number of the nearest one in a palette."""
    return KDTree(chosen).query(colours)[1]


def stored_form(png, shown=PAGE_WIDTH):
    """The bytes of a PNG as they are stored: with a palette, at the page's resolution; a stored one as it is."""
    picture = opened(png)
    if is_stored_form(picture, shown):
        return png
    dpi = picture.info.get("dpi")
    drawn = as_drawn(picture, shown)
    colours, counts, which = colours_of(drawn)
    for n, method in PALETTES:
        chosen = palette(colours, counts, n, method)
        number = nearest(chosen, colours)
        moved = np.abs(chosen[number] - colours).max(axis=1)
        if moved.max() <= FAR and moved @ counts <= NEAR * counts.sum():
            break
    small = Image.fromarray(number[which].astype(np.uint8))
    small.putpalette(chosen.astype(np.uint8).tobytes())
    file = io.BytesIO()
    small.save(file, "PNG", optimize=True, **({"dpi": dpi} if dpi and drawn.width == picture.width else {}))
    return file.getvalue()


def same_picture(fresh, stored, shown=PAGE_WIDTH):
    """Whether a reader would see the same: the fresh PNG in the palette of the stored one against the stored one.

    A pixel has moved as far as it is from the stored one before it takes its place in the palette, or after, whichever
    is less: before, an unchanged pixel can be off by the palette's error; after, rounding can throw one across a step.
    """
    old = opened(stored)
    if not is_stored_form(old, shown):
        return False
    if fresh == stored:
        return True
    old, new = as_drawn(old, shown), as_drawn(opened(fresh), shown)
    if old.size != new.size:
        return False
    chosen = colours_of(old)[0]
    colours, _, which = colours_of(new)
    old = np.asarray(old).astype(float)
    before = np.abs(np.asarray(new) - old).max(axis=2)
    after = np.abs(chosen[nearest(chosen, colours)][which] - old).max(axis=2)
    moved = np.minimum(before, after)
    strange = before > MOVED + FAR  # a colour that the palette does not have
    return moved.mean() <= DRIFT and np.sum(moved > MOVED) <= N_MOVED and np.sum(strange) <= N_MOVED


# ---------------------------------------------------------------------- notebooks
def coalesce(outputs):
    """Neighbouring pieces of one printed stream as one: how a kernel cuts them is chance."""
    whole = []
    for output in outputs:
        if whole and output.output_type == "stream" and whole[-1].get("name") == output.name:
            whole[-1].text += output.text
        else:
            whole.append(output)
    return whole


def shown_size(output):
    """The width and height at which an output asks for its PNG to be shown, as far as it says so."""
    asked = output.get("metadata", {}).get("image/png", {})
    return {key: asked[key] for key in ("height", "width") if key in asked}


def tidy(notebook):
    """Remove in place all that would differ from one run or one machine to the next."""
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        kept = {key: cell.metadata[key] for key in ("tags", "jupyter", "mystnb") if cell.metadata.get(key)}
        cell.metadata = nbformat.from_dict(kept)
        if "outputs" in cell:
            cell.outputs = coalesce(cell.outputs)
        for output in cell.get("outputs", []):
            if {"image/png", "text/html"} & set(output.get("data", {})):
                output.data.pop(WIDGET_VIEW, None)
            if "metadata" in output:
                size = shown_size(output)
                output.metadata = nbformat.from_dict({"image/png": size} if size else {})
    return notebook


def pictures(cell):
    """Outputs of a cell that hold a PNG."""
    return [output for output in cell.get("outputs", []) if "image/png" in output.get("data", {})]


def png_of(output):
    return base64.b64decode("".join(output["data"]["image/png"]))


def merge(fresh, stored):
    """The fresh notebook in place, each picture in its stored form: that of the same cell where it is the same."""
    before = {cell.get("id"): pictures(cell) for cell in stored["cells"]}
    for cell in fresh["cells"]:
        for output in pictures(cell):
            png, shown = png_of(output), min(shown_size(output).get("width", PAGE_WIDTH), PAGE_WIDTH)
            kept = [old for old in before.get(cell.get("id"), []) if same_picture(png, png_of(old), shown)]
            if kept:
                output["data"]["image/png"] = kept[0]["data"]["image/png"]
            elif (small := stored_form(png, shown)) != png:
                output["data"]["image/png"] = base64.b64encode(small).decode()
    return fresh


def write(path, text):
    """Write a file whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8", newline="\n")
    os.replace(part, path)


def store(path, fresh):
    """Write the notebook that a run or a conversion gave, if it differs from the file; say in how many cells."""
    was = path.read_text(encoding="utf-8")
    stored = json.loads(was)
    text = json.dumps(merge(fresh, stored), indent=1, ensure_ascii=False) + "\n"
    if text == was:
        return f"{path.name}: unchanged"
    write(path, text)
    changed = sum(new not in stored["cells"] for new in fresh["cells"])
    return f"{path.name}: {changed} of {len(fresh['cells'])} cells changed, now {len(text.encode()) / 1000:.0f} kB"


def run(path):
    """Execute one notebook in its own folder and store it; after an error nothing is written."""
    notebook = nbformat.read(path, as_version=4)
    os.environ[MAKE_STRIP] = "1"  # the kernel inherits it
    NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    return store(path, json.loads(nbformat.writes(tidy(notebook))))


def convert(path):
    """Put the stored pictures of a notebook, or a PNG file, into their stored form; nothing is run."""
    if path.suffix == ".ipynb":
        return store(path, json.loads(path.read_text(encoding="utf-8")))
    was = path.read_bytes()
    now = stored_form(was)
    if now == was:
        return f"{path.name}: unchanged"
    path.write_bytes(now)
    return f"{path.name}: {len(was) / 1000:.0f} kB, now {len(now) / 1000:.0f} kB"


def main(arguments):
    parser = argparse.ArgumentParser(description="Run notebooks of the book and store their outputs.")
    parser.add_argument("names", nargs="*", help="notebooks, for example 01_ppca (without any: all)")
    parser.add_argument("--convert", action="store_true", help="only convert the stored pictures; run nothing")
    chosen = parser.parse_args(arguments)
    names = [Path(name).name.removesuffix(".ipynb") for name in chosen.names]
    paths = [BOOK / f"{name}.ipynb" for name in names] or sorted(BOOK.glob("*.ipynb"))
    for path in paths:
        if not path.exists():
            known = ", ".join(p.stem for p in sorted(BOOK.glob("*.ipynb")))
            sys.exit(f"There is no notebook {path.name} in the book. Choose NB= from: {known}.")
    if chosen.convert:
        for path in paths + ([] if names else sorted(BOOK.glob("images/*.png"))):
            print(convert(path), flush=True)
        return
    for path in paths:
        print(f"running {path.name}", flush=True)
        try:
            print(run(path), flush=True)
        except CellExecutionError as error:
            sys.exit(f"{path.name} is unchanged, because a cell failed.\n{error}")


if __name__ == "__main__":
    main(sys.argv[1:])
