"""The moving picture of the README: a mouse drags the cross of the book's front page through the latent space.

    python tools/animate.py                   writes book/images/latent_space.gif   (`make animation`)
    python tools/animate.py --site FOLDER     takes a book that is built already, for example book/_build/html
    python tools/animate.py --output FILE     another file

The page is the real one, built by Jupyter Book from the stored notebook and opened in a headless Chromium. The
mouse is real too: one press, then a move for each frame along a closed curve, so that the last frame leads back to
the first. Nothing is drawn into the frames afterwards.
"""

import argparse
import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.interpolate import CubicSpline
from scipy.spatial import cKDTree

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from lab import ADVICE, Browser, Site, find_browser  # noqa: E402  (it lives beside the tests, which are no package)

OUTPUT = ROOT / "book" / "images" / "latent_space.gif"
LARGEST = 1_500_000  # bytes: more than this, and a README is slow to open

# Places to visit, as shares of the latent plane from its upper left corner. One lies in the dark on purpose.
WAYPOINTS = {
    "threes": (0.385, 0.175),
    "no data": (0.760, 0.120),
    "ones": (0.750, 0.380),
    "fours": (0.868, 0.585),
    "more fours": (0.685, 0.835),
    "noughts": (0.370, 0.700),
    "twos": (0.228, 0.418),
}
FRAMES_PER_LEG, FRAMES_PER_SECOND, LINGER = 12, 8.3, 0.75  # LINGER: 0 is an even pace, 1 a stop at each place
PIXELS = 2  # of the picture for one of the page: sharp on a fine screen; the README shows it at the page's size
N_GREYS, N_COLOURS = 195, 60  # of the 256 that a GIF can hold; one must stay free, for "as in the frame before"
FIGURE = ".gplvm-living"
PLANE = "(e) => { const view = e.querySelector('.gplvm-scene').scene.views.get('plane'); return view.box; }"


# ---------------------------------------------------------------------- the page
def build_front_page(folder):
    """Build the front page of the book alone, as Jupyter Book builds all of it, and return the folder of the site."""
    source = ROOT / "book"
    for name in ("_ext", "_static"):
        shutil.copytree(source / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("index.ipynb", "_config.yml"):
        shutil.copy(source / name, folder / name)
    (folder / "_toc.yml").write_text("format: jb-book\nroot: index\n", encoding="utf-8")
    build = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", str(folder), "--all"]
    answer = subprocess.run(build, capture_output=True, text=True, timeout=600)
    if answer.returncode != 0:
        raise RuntimeError(f"The front page does not build; `make book` shows why:\n{answer.stderr[-2000:]}")
    return folder / "_build" / "html"


# ---------------------------------------------------------------------- the way
def closed_path(places, n_per_leg, linger):
    """Points of a smooth closed curve through `places`, slower near each of them; the first is not repeated."""
    corners = np.vstack([places, places[:1]])
    curve = CubicSpline(np.arange(len(corners)), corners, bc_type="periodic")
    even = np.arange(n_per_leg * len(places)) / n_per_leg
    return curve(even - linger * np.sin(2 * np.pi * even) / (2 * np.pi))


def drag(page, path):
    """Press in the latent plane, follow the path and return a picture and the page's words for each step."""
    figure = page.locator(FIGURE).first
    figure.scroll_into_view_if_needed()
    canvas, inside = figure.locator('[data-key="plane"] .gplvm-canvas').bounding_box(), figure.evaluate(PLANE)
    size = inside["right"] - inside["left"], inside["bottom"] - inside["top"]
    steps = path * size + (canvas["x"] + inside["left"], canvas["y"] + inside["top"])
    page.mouse.move(*steps[0])
    page.mouse.down()
    pictures, words = [], []
    for x, y in steps:
        page.mouse.move(x, y)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        pictures.append(Image.open(io.BytesIO(figure.screenshot())).convert("RGB"))
        words.append(figure.locator(".gplvm-says").inner_text())
    page.mouse.up()
    return pictures, words


def check_lesson(words):
    """The tour must meet every digit, firm ground and the dark: what the picture is there to teach."""
    text = " ".join(words)
    wanted = [f"Nearest point: {digit}." for digit in range(5)] + ["Sure:", "A guess", "No data here"]
    missing = [want for want in wanted if want not in text]
    if missing:
        raise RuntimeError(f"The tour never meets {missing}: the map has changed, so choose other WAYPOINTS.")


# ---------------------------------------------------------------------- the file
def shared_palette(pictures):
    """Colours (255, 3) for all frames, so that nothing flickers: even greys, and what the points and the cross need."""
    greys = np.linspace(0, 255, N_GREYS).round()[:, None] * np.ones(3)
    pixels = np.vstack([np.asarray(picture).reshape(-1, 3) for picture in pictures[::5]])
    colourful = pixels[np.ptp(pixels.astype(int), axis=1) > 12]
    strip = Image.fromarray(colourful[None]).quantize(N_COLOURS, method=Image.Quantize.MEDIANCUT)
    return np.vstack([greys, np.reshape(strip.getpalette()[: 3 * N_COLOURS], (-1, 3))]).astype(np.uint8)


def with_palette(picture, palette):
    """The picture with each pixel at the nearest colour of the palette (Pillow's own search turns white into grey)."""
    values = np.asarray(picture).astype(np.int32) @ (65536, 256, 1)
    seen, place = np.unique(values, return_inverse=True)
    colours = np.stack([seen >> 16, seen >> 8 & 255, seen & 255], axis=1)
    nearest = cKDTree(palette).query(colours)[1].astype(np.uint8)
    image = Image.fromarray(nearest[place].reshape(values.shape))
    image.putpalette(palette.ravel().tolist())
    return image


def write_animation(pictures, output):
    """Write an endless GIF; Pillow stores of each frame only what differs from the frame before."""
    palette = shared_palette(pictures)
    frames = [with_palette(picture, palette) for picture in pictures]
    pause = round(100 / FRAMES_PER_SECOND) * 10  # a GIF counts hundredths of a second
    frames[0].save(output, save_all=True, append_images=frames[1:], duration=pause, loop=0, optimize=True)
    size = output.stat().st_size
    if size > LARGEST:
        raise RuntimeError(f"{output} has {size:,} bytes, and a README should not ask for more than {LARGEST:,}.")
    seconds = len(frames) * pause / 1000
    return f"{output}: {len(frames)} frames of {frames[0].width} x {frames[0].height}, {seconds:.1f} s, {size:,} bytes"


def main():
    """What the shell calls."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=Path, help="folder of a built book (else its front page is built)")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    program = find_browser()
    if program is None:
        raise SystemExit(ADVICE)
    path = closed_path(np.array(list(WAYPOINTS.values())), FRAMES_PER_LEG, LINGER)
    with tempfile.TemporaryDirectory() as folder:
        browser, site = Browser(program), Site(options.site or build_front_page(Path(folder)))

        def film():
            view = {"width": 1300, "height": 1100}
            page = browser.chromium.new_context(viewport=view, device_scale_factor=PIXELS).new_page()
            page.goto(f"{site.address}/index.html", wait_until="load")
            page.wait_for_selector(f"{FIGURE}[data-live]")
            return drag(page, path)

        try:
            pictures, words = browser.do(film)
        finally:
            browser.close()
            site.close()
    check_lesson(words)
    print(write_animation(pictures, options.output))


if __name__ == "__main__":
    main()
