// The page's half of `Picture` in explorer.py: it shows a PNG and reports where the reader points.
function render({ model, el }) {
  const picture = document.createElement("img");
  picture.className = "gplvm-picture";
  picture.draggable = false;
  picture.tabIndex = 0;
  picture.style.cssText = "max-width:100%;height:auto;touch-action:none;user-select:none";
  picture.style.width = model.get("width") + "px";
  el.appendChild(picture);
  let shown = null, waiting = null, busy = false, count = 0, presses = 0;

  function paint() { // decode off the page first, so that nothing flickers
    const url = URL.createObjectURL(new Blob([model.get("png")], { type: "image/png" }));
    const next = new Image();
    next.onload = () => {
      picture.src = url;
      if (shown) URL.revokeObjectURL(shown);
      shown = url;
    };
    next.src = url;
    picture.alt = model.get("alt");
  }
  function send(point) {
    busy = true;
    model.set("pointer", [point[0], point[1], ++count]);
    model.save_changes();
  }
  function report(event) {
    const box = picture.getBoundingClientRect();
    const point = [(event.clientX - box.left) / box.width, 1 - (event.clientY - box.top) / box.height];
    if (busy) waiting = point;
    else send(point);
  }
  picture.addEventListener("pointerdown", (event) => {
    picture.setPointerCapture(event.pointerId);
    report(event);
    event.preventDefault();
  });
  picture.addEventListener("pointermove", (event) => {
    if (event.buttons) report(event);
  });
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };
  picture.setAttribute("data-lm-suppress-shortcuts", "true"); // else JupyterLab takes the arrow keys
  picture.addEventListener("keydown", (event) => {
    const step = arrows[event.key], size = event.shiftKey ? 5 : 1;
    if (!step || !model.get("clickable")) return;
    event.preventDefault();
    model.set("arrow", [size * step[0], size * step[1], ++presses]);
    model.save_changes();
  });
  model.on("change:answered", () => { // the kernel has dealt with one position: send the newest, drop the rest
    busy = false;
    if (waiting) {
      const point = waiting;
      waiting = null;
      send(point);
    }
  });
  model.on("change:png", paint);
  model.on("change:clickable", () => {
    picture.style.cursor = model.get("clickable") ? "crosshair" : "default";
  });
  picture.style.cursor = model.get("clickable") ? "crosshair" : "default";
  paint();
}
export default { render };
