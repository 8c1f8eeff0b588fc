"""How fast the explorers answer in a real page, and whether they survive a storm.

    python tests/bench_explorers.py latency [names]    slider and click to painted picture, beside their two limits
    python tests/bench_explorers.py storm [names]      500 random events each: page = kernel = panel(settings), memory

Times are medians of ten, from the event in the page to the frame after the new picture. The limits are measured in the
same page: a slider that sets a label (the bare round trip), and the panels' own computing for the same events.
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path

import gplvm_widgets
import nbformat
from lab import Browser, Lab, find_browser

NAMES = [name for name in gplvm_widgets.__all__ if name.startswith("explore_")]
SLIDERS = {  # the slider that a reader moves first
    "explore_gplvm": "noise",
    "explore_gtm": "width",
    "explore_gtm_variants": "log_width",
    "explore_ivm": "noise",
    "explore_kernels": "inverse_width",
    "explore_noise": "mean",
    "explore_ppca": "noise",
    "explore_prediction": "image",
    "explore_proximity": "n_neighbors",
    "explore_tsne": "perplexity",
    "explore_unify": "ridge",
    "explore_variational": "n_inducing",
    "explore_wishart": "width",
}
BARE = """
import ipywidgets as W
bare, label = W.IntSlider(50, 0, 100).add_class("bare-slider"), W.Label("50").add_class("bare-label")
bare.observe(lambda change: setattr(label, "value", str(change["new"])), "value")
W.VBox([bare, label])"""
OPEN = """
e, took = {name}(), []
refresh = e.refresh
def timed(*args, **kwargs):
    refresh(*args, **kwargs)
    took.append(1000 * e.computing_seconds)
e.refresh = timed
e"""
MOVE = """async ([handle, probe, times]) => {
  const found = document.querySelector(handle), frame = () => new Promise(resolve => requestAnimationFrame(resolve));
  const times_ = [], seen = new Function('return ' + probe);
  found.focus();
  for (let k = 0; k < times; k++) {
    const before = seen(), began = performance.now(), key = 'ArrowRight'; // a value not seen before
    found.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
    while (seen() === before) {
      await frame();
      if (performance.now() - began > 4000) return times_; }
    await frame();
    times_.push(performance.now() - began);
    await new Promise(resolve => setTimeout(resolve, 250)); }
  return times_; }"""
CLICK = """async (times) => {
  const root = document.querySelector('.gplvm-scene');
  const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
  const view = [...root.scene.views.values()].find(view => view.panel.listens);
  if (!view) return [];
  const times_ = [];
  for (let k = 0; k < times; k++) {
    const area = view.canvas.getBoundingClientRect(), {box} = view, share = 0.3 + 0.4 * ((k * 0.37) % 1);
    const clientX = area.left + box.left + share * (box.right - box.left);
    const clientY = area.top + box.top + (1 - share) * (box.bottom - box.top);
    const before = root.shown, began = performance.now(), place = {clientX, clientY, button: 0, bubbles: true};
    for (const [name, buttons] of [['pointerdown', 1], ['pointerup', 0]])
      view.canvas.dispatchEvent(new PointerEvent(name, {...place, buttons, pointerId: 1}));
    let late = false;
    while (root.shown === before && !late) {
      await frame();
      late = performance.now() - began > 1500; }
    await frame();
    if (!late) times_.push(performance.now() - began);
    await new Promise(resolve => setTimeout(resolve, 250)); }
  return times_; }"""
STORM = """async ([n, seed]) => {
  let state = seed;
  const random = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
  const any = list => list[Math.floor(random() * list.length)];
  const inside = selector => [...document.querySelectorAll('.gplvm-explorer ' + selector)];
  const all = selector => inside(selector).filter(e => e.offsetParent && !e.disabled);
  const keys = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End', 'PageUp', 'PageDown'];
  const press = (e, key) => e?.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
  const events = [
    () => press(any(all('.noUi-handle')), any(keys)),
    () => press(any(all('.noUi-handle')), any(keys)),
    () => { const e = any(all('select')); if (!e) return;
      e.selectedIndex = Math.floor(random() * e.options.length);
      e.dispatchEvent(new Event('change', {bubbles: true})); },
    () => any(all('.widget-toggle-button'))?.click(),
    () => any(all('input[type=checkbox], input[type=radio]'))?.click(),
    () => any(all('button'))?.click(),
    () => { const e = any(all('input[type=number], input[type=text]')); if (!e) return;
      e.value = any(['3', '-1', '1e9', 'abc', '', '1,2', '64']);
      for (const name of ['input', 'change']) e.dispatchEvent(new Event(name, {bubbles: true})); },
    () => { const e = any(all('canvas.gplvm-canvas')), box = e?.getBoundingClientRect();
      if (!e) return; // a sentence stands in the place of the picture
      const place = {clientX: box.left + random() * box.width, clientY: box.top + random() * box.height, bubbles: true};
      for (const [name, buttons] of [['pointerdown', 1], ['pointermove', 1], ['pointerup', 0]])
        e.dispatchEvent(new PointerEvent(name, {...place, buttons, button: 0, pointerId: 1})); },
    () => press(any(all('canvas.gplvm-canvas')), any(keys)) ];
  for (let k = 0; k < n; k++) {
    try { any(events)(); } catch (error) { if (!/setPointerCapture|No active pointer/.test(error)) throw error; }
    await new Promise(resolve => setTimeout(resolve, 20 + 60 * random())); } }"""
AFTER = """
import json
if e.task is not None:
    e.stop()
fresh = None
if not e.problem:
    fresh = e.panels(**e.arguments(e.settings), state=e.state)
    same = repr(e.scene.wire(stored=True)) == repr(fresh.wire(stored=True))
print(json.dumps(dict(problem=e.problem, same=fresh is None or same, says=e.view.scene.says,
                      titles=[panel.title for panel in e.view.scene.panels],
                      sums=[float(np.nansum(np.float32(mark.path()[0] if hasattr(mark, "path") else mark.x)))
                            for panel in e.view.scene.panels for mark in panel.marks
                            if getattr(mark, "x", None) is not None])))
"""
PAGE = """() => {
  const scene = document.querySelector('.gplvm-scene').scene, views = [...scene.views.values()];
  const total = x => typeof x === 'number' ? x : [...x].reduce((sum, v) => sum + (Number.isNaN(v) ? 0 : v), 0);
  return {says: scene.says.textContent, titles: views.map(view => view.panel.title),
    sums: views.flatMap(view => view.panel.marks.filter(mark => mark.x !== undefined).map(mark => total(mark.x)))}; }"""
MEMORY = "print(int(open('/proc/self/statm').read().split()[1]) * 4096 // 10**6)"


def notebook(lab, *cells):
    """A notebook of these cells, opened and run."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
    nbformat.write(made, lab.root / "bench.ipynb")
    page = lab.open("bench.ipynb", folder="", width=1280, height=1500)
    page.run_all()
    page.show(".gplvm-explorer")
    page.picture_at_rest()
    return page


def evaluate(page, script, argument):
    return page.browser.do(page.page.evaluate, script, argument)


def median(values):
    return statistics.median(values) if values else float("nan")


def latency(lab, names):
    """A line for each explorer: slider and click, the bare round trip, the computing, and the ratio to their sum."""
    heads = f"{'computing':>9} {'ratio':>6}"
    print(f"{'ms, medians of ten':>22} {'bare':>6} | {'slider':>6} {heads} | {'click':>6} {heads}")
    for name in names:
        imports = f"from gplvm_widgets import {name}\nimport numpy as np"
        with notebook(lab, imports, BARE, OPEN.format(name=name)) as page:
            bare_probe = "document.querySelector('.bare-label').innerText"
            bare = median(evaluate(page, MOVE, [".bare-slider .noUi-handle", bare_probe, 11])[1:])
            row = [f"{name:>22} {bare:6.0f}"]
            handle = f".gplvm-control-{SLIDERS[name]} .noUi-handle"
            shown = "document.querySelector('.gplvm-scene').shown"
            for script, argument in ((MOVE, [handle, shown, 11]), (CLICK, 11)):
                page.ask_kernel("took.clear()")
                times = evaluate(page, script, argument)[1:]
                took = median(json.loads(page.ask_kernel("print(took)"))[1:])
                row.append(f"{median(times):6.0f} {took:9.1f} {median(times) / (bare + took):6.2f}")
            print(" | ".join(row), flush=True)


def storm(lab, names, n_events=500):
    """A line for each explorer: whether page, kernel and panel agree in the end, and the kernel's memory."""
    for name in names:
        imports = f"from gplvm_widgets import {name}\nimport numpy as np"
        with notebook(lab, imports, OPEN.format(name=name)) as page:
            before = int(page.ask_kernel(MEMORY))
            evaluate(page, STORM, [n_events, 1])
            page.picture_at_rest(seconds=120, quiet=4)  # some compute a panel only when the reader rests
            kernel = json.loads(page.ask_kernel(AFTER))
            page.picture_at_rest(seconds=120, quiet=4)
            after, shown = int(page.ask_kernel(MEMORY)), evaluate(page, PAGE, None)
            close = all(abs(a - b) <= 1e-3 * (1 + abs(a)) for a, b in zip(kernel["sums"], shown["sums"], strict=True))
            agree = close and shown["says"] == kernel["says"] and shown["titles"] == kernel["titles"]
            errors = page.errors() + [text for text in page.complaints if "Traceback" in text]
            line = f"{name:>22}: page = kernel {agree}, kernel = panel(settings) {kernel['same']}, "
            line += f"tracebacks {len(errors)}, {before} -> {after} MB"
            print(line + (f"; problem: {kernel['problem']}" if kernel["problem"] else ""), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", default="latency", choices=["latency", "storm"])
    parser.add_argument("names", nargs="*", help="such as explore_ppca (without any: all)")
    chosen = parser.parse_args()
    browser = Browser(find_browser())
    with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as home:
        lab = Lab(Path(root), Path(home), browser)
        try:
            {"latency": latency, "storm": storm}[chosen.what](lab, chosen.names or NAMES)
        finally:
            lab.close()
            browser.close()


if __name__ == "__main__":
    main()
