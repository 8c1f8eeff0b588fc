// Draws scenes: in JupyterLab as the page's half of `SceneView` (view.py), in a plain page through the mount functions.
// A scene is data: {columns, row_height, says, panels: [{key, title, x, y, marks, ...}]}; see marks.py.

// ---------------------------------------------------------------- the look
const LOOK = {
  light: {
    paper: "#ffffff",
    ink: "#1d1d1d",
    quiet: "#6f6f6f",
    pale: "#e4e4e4",
    accent: "#c24e00",
    classes: "#0072B2 #D55E00 #009E73 #CC79A7 #E69F00 #56B4E9 #8C6D31 #666666 #000000 #B8A800".split(" "),
    ramps: {
      ink: ["#ffffff", "#000000"],
      precision: ["#5a5a5a", "#ffffff"],
      diverging: ["#2166ac", "#f7f7f7", "#b2182b"],
      scale: ["#3b1f6b", "#0072B2", "#009E73", "#d9c74a"],
    },
  },
  dark: {
    paper: "#111111",
    ink: "#ececec",
    quiet: "#a0a0a0",
    pale: "#3a3a3a",
    accent: "#ff9c4a",
    classes: "#4BA3DB #FF8A3D #2CCFA0 #E8A0C8 #FFC04D #A9DCFA #C9A86A #B0B0B0 #F4F4F4 #E0D050".split(" "),
    ramps: {
      ink: ["#1b1b1b", "#f4f4f4"],
      precision: ["#0c0c0c", "#666666"],
      diverging: ["#5aa9e6", "#222222", "#ef6a6a"],
      scale: ["#8a63c9", "#4BA3DB", "#2CCFA0", "#f0e07a"],
    },
  },
};
const FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif";
const SHAPES = ["circle", "up", "square", "diamond", "down", "plus", "cross", "left", "right", "star"];
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };
const still = () => globalThis.matchMedia?.("(prefers-reduced-motion: reduce)").matches;

function parts(colour) { // "#rrggbb" or "rgb(...)" as three numbers
  if (colour[0] === "#") return [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));
  return (colour.match(/[\d.]+/g) || [0, 0, 0]).slice(0, 3).map(Number);
}
export function lookOf(element) { // the page's own ink says whether the page is light or dark
  const style = getComputedStyle(element), [r, g, b] = parts(style.color);
  const look = LOOK[0.3 * r + 0.6 * g + 0.1 * b > 128 ? "dark" : "light"];
  return { ...look, ink: style.color, paper: style.getPropertyValue("--gplvm-paper").trim() || look.paper };
}
const colourOf = (look, colour) => typeof colour === "number" ? look.classes[colour % 10] : look[colour] ?? colour;
export function shade(ramp, share) { // a place between 0 and 1 on a ramp, as three numbers
  const place = Math.min(Math.max(share, 0), 1) * (ramp.length - 1), k = Math.min(Math.floor(place), ramp.length - 2);
  const a = parts(ramp[k]), b = parts(ramp[k + 1]);
  return a.map((v, i) => v + (place - k) * (b[i] - v));
}
const rgb = (ramp, share) => `rgb(${shade(ramp, share).map(Math.round).join(",")})`;
function shares(values) { // of the way from the smallest to the largest
  const finite = Array.from(values).filter(Number.isFinite), low = Math.min(...finite), high = Math.max(...finite);
  return Array.from(values, (v) => (v - low) / (high - low || 1));
}

// ---------------------------------------------------------------- arrays
const unbase = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
function buffer(value) { // of a text, or of a view into a message (whose place need not be a multiple of four)
  if (typeof value === "string") return unbase(value);
  return value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength);
}
export function unpack(value) { // what `pack` of pack.py made; anything else stays
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  if ("step" in value && "i4" in value) {
    return Float64Array.from(new Int32Array(buffer(value.i4)), (v) => v * value.step);
  }
  if ("f8" in value) return new Float64Array(buffer(value.f8));
  if ("f4" in value) return new Float32Array(buffer(value.f4));
  if ("u1" in value) return new Uint8Array(buffer(value.u1));
  if ("i4" in value) return new Int32Array(buffer(value.i4));
  if (!("codes" in value)) return value;
  const [kind, gap] = value.bits === 16 ? [Uint16Array, 65535] : [Uint8Array, 255];
  return Float32Array.from(new kind(unbase(value.codes)), (c) => c === gap ? NaN : value.low + c * value.step);
}
export function decode(panel) {
  const marks = panel.marks.map((mark) => Object.fromEntries(Object.entries(mark).map(([k, v]) => [k, unpack(v)])));
  const visit = (m, side) => m[side] = Float64Array.from(m.order, (k) => m[side][k] ?? NaN); // a line in this order
  marks.filter((m) => m.order).forEach((m) => (visit(m, "x"), visit(m, "y")));
  return { ...panel, marks };
}
const isArray = (value) => ArrayBuffer.isView(value) || (Array.isArray(value) && typeof value[0] === "number");
function blend(from, to, share) { // between two states of a panel, mark by mark
  const mix = (a, b) => a + share * (b - a);
  const side = (a, b) => a.log || b.log ? b : { ...b, limits: b.limits.map((v, k) => mix(a.limits[k], v)) };
  const marks = to.marks.map((mark) => {
    const old = from.marks.find((other) => other.key === mark.key && other.kind === mark.kind);
    if (!old) return mark;
    const mixed = { ...mark };
    for (const [name, value] of Object.entries(mark)) {
      const before = old[name];
      if (name === "group" || typeof before !== typeof value) continue;
      if (isArray(value) && isArray(before) && value.length === before.length) {
        mixed[name] = Float64Array.from(value, (v, k) => Number.isFinite(before[k]) ? mix(before[k], v) : v);
      } else if (mark.kind === "cursor" && (name === "x" || name === "y")) mixed[name] = mix(before, value);
    }
    return mixed;
  });
  return { ...to, marks, x: side(from.x, to.x), y: side(from.y, to.y) };
}

// ---------------------------------------------------------------- axes
export function ticksOf(axis, room) { // about one tick in so many pixels, at least two
  const [a, b] = axis.limits, low = Math.min(a, b), high = Math.max(a, b);
  if (axis.ticks) return axis.ticks.filter((t) => t >= low - 1e-9 * (high - low) && t <= high + 1e-9 * (high - low));
  if (axis.log) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    const every = Math.max(1, Math.ceil((last - first + 1) / Math.max(room / 45, 2)));
    const powers = [];
    for (let k = first; k <= last; k += every) powers.push(10 ** k);
    if (powers.length > 1) return powers;
    const between = [first - 1, first].flatMap((k) => [1, 2, 5].map((m) => m * 10 ** k));
    return between.filter((t) => t >= low && t <= high);
  }
  const raw = (high - low) / Math.max(Math.min(room / 60, 6), 2), unit = 10 ** Math.floor(Math.log10(raw));
  let step = [1, 2, 5, 10].map((m) => m * unit).find((s) => s >= raw * 0.999) || 10 * unit;
  if (Math.floor(high / step) - Math.ceil(low / step) < 1) step /= 2;
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9); k++) ticks.push(k * step);
  return ticks;
}
export function short(value, digits = 3) { // a number as a reader writes it
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e5 || (size > 0 && size < 1e-3)) {
    const [m, e] = value.toExponential(digits - 1).split("e");
    return `${parseFloat(m)}e${Number(e)}`.replace("-", "−").replace("e-", "e−");
  }
  return String(parseFloat(value.toPrecision(Math.max(digits, Math.ceil(Math.log10(size + 1)))))).replace("-", "−");
}
function tickNames(axis, ticks) {
  if (axis.tick_labels) return ticks.map((t) => axis.tick_labels[axis.ticks.indexOf(t)]);
  if (axis.log) return ticks.map((t) => short(t));
  const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : Math.abs(ticks[0]) || 1;
  const size = Math.max(...ticks.map(Math.abs), 0);
  if (size >= 1e5 || (size > 0 && size < 1e-3)) return ticks.map((t) => short(Math.abs(t) < 1e-9 * step ? 0 : t));
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  const text = (t) => t.toFixed(Math.min(digits, 8)).replace(/^-(?=0(\.0*)?$)/, "").replace("-", "−");
  return ticks.map(text);
}
const along = (axis, from, to) => { // data units to pixels, and back
  const f = axis.log ? Math.log10 : (v) => v, [a, b] = axis.limits.map(f), scale = (to - from) / (b - a);
  const back = (p) => a + (p - from) / scale;
  return [(v) => from + (f(v) - a) * scale, axis.log ? (p) => 10 ** back(p) : back];
};

// ---------------------------------------------------------------- marks
function shapePath(pen, shape, x, y, r) {
  const polygon = (...corners) => {
    corners.forEach(([u, v], k) => k ? pen.lineTo(x + u * r, y + v * r) : pen.moveTo(x + u * r, y + v * r));
    pen.closePath();
  };
  if (shape === "circle") {
    pen.moveTo(x + r, y);
    pen.arc(x, y, r, 0, 2 * Math.PI);
  } else if (shape in OUTLINES) polygon(...OUTLINES[shape]);
  else {
    const two = STROKES[shape];
    for (let k = 0; k < two.length; k += 2) {
      pen.moveTo(x + two[k][0] * r, y + two[k][1] * r);
      pen.lineTo(x + two[k + 1][0] * r, y + two[k + 1][1] * r);
    }
  }
}
const OUTLINES = {
  up: [[0, -1.2], [1.1, 0.8], [-1.1, 0.8]],
  down: [[0, 1.2], [1.1, -0.8], [-1.1, -0.8]],
  left: [[-1.2, 0], [0.8, 1.1], [0.8, -1.1]],
  right: [[1.2, 0], [-0.8, 1.1], [-0.8, -1.1]],
  square: [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  diamond: [[0, -1.25], [1.05, 0], [0, 1.25], [-1.05, 0]],
  star: Array.from({ length: 10 }, (_, k) => {
    const angle = k * Math.PI / 5, size = k % 2 ? 0.5 : 1.3;
    return [size * Math.sin(angle), -size * Math.cos(angle)];
  }),
};
const STROKES = {
  plus: [[-1, 0], [1, 0], [0, -1], [0, 1]],
  cross: [[-0.8, -0.8], [0.8, 0.8], [-0.8, 0.8], [0.8, -0.8]],
  dash: [[-1, 0], [1, 0]],
  bar: [[0, -1], [0, 1]],
};
const stroked = (shape) => shape in STROKES;
function paintShapes(pen, shape, places, r, colour, hollow) {
  pen.beginPath();
  for (const [x, y] of places) shapePath(pen, shape, x, y, r);
  pen.fillStyle = pen.strokeStyle = colour;
  if (hollow || stroked(shape)) {
    pen.lineWidth = hollow ? 1.7 : Math.max(1.6, Math.min(r / 3, 2.6));
    pen.stroke();
  } else pen.fill();
}
function trace(pen, x, y, X, Y) {
  let down = false;
  for (let k = 0; k < x.length; k++) {
    const u = X(x[k]), v = Y(y[k]);
    if (!Number.isFinite(u) || !Number.isFinite(v)) down = false;
    else if (down) pen.lineTo(u, v);
    else {
      pen.moveTo(u, v);
      down = true;
    }
  }
}
const PAINT = {
  points(pen, m, X, Y, look) {
    const r = m.size / 2, at = (k) => [X(m.x[k]), Y(m.y[k])];
    if (m.values) {
      const paint = (share, k) => paintShapes(pen, m.marker, [at(k)], r, rgb(look.ramps.scale, share), m.hollow);
      return shares(m.values).forEach(paint);
    }
    const groups = new Map();
    for (let k = 0; k < m.x.length; k++) {
      const g = m.group ? m.group[k] : -1;
      if (!groups.has(g)) groups.set(g, []);
      groups.get(g).push(at(k));
    }
    for (const [g, places] of groups) {
      const shape = g < 0 ? m.marker : SHAPES[g % 10];
      paintShapes(pen, shape, places, r, colourOf(look, g < 0 ? m.colour : g), m.hollow);
    }
  },
  lines(pen, m, X, Y, look) {
    pen.strokeStyle = colourOf(look, m.colour);
    pen.lineWidth = m.width;
    pen.setLineDash(m.dash ? [4, 3] : []);
    pen.beginPath();
    trace(pen, m.x, m.y, X, Y);
    pen.stroke();
  },
  band(pen, m, X, Y, look) {
    pen.fillStyle = colourOf(look, m.colour);
    pen.beginPath();
    for (let k = 0; k < m.x.length; k++) pen.lineTo(X(m.x[k]), Y(m.low[k]));
    for (let k = m.x.length - 1; k >= 0; k--) pen.lineTo(X(m.x[k]), Y(m.high[k]));
    pen.fill();
  },
  bars(pen, m, X, Y, look) {
    pen.fillStyle = pen.strokeStyle = colourOf(look, m.colour);
    pen.lineWidth = 1;
    pen.setLineDash(m.outline ? [2, 2] : []);
    for (let k = 0; k < m.x.length; k++) {
      const a = X(m.x[k] - m.width / 2), b = X(m.x[k] + m.width / 2), c = Y(m.base[k]), d = Y(m.base[k] + m.height[k]);
      const box = [Math.min(a, b), Math.min(c, d), Math.abs(b - a), Math.abs(d - c)];
      if (m.outline) pen.strokeRect(...box);
      else pen.fillRect(...box);
    }
  },
  image(pen, m, X, Y, look) {
    const raster = rasterOf(m, look), [left, right, bottom, top] = m.extent;
    const a = X(left), b = X(right), c = Y(m.from_below ? bottom : top), d = Y(m.from_below ? top : bottom);
    pen.imageSmoothingEnabled = Boolean(m.smooth);
    pen.translate(a, c); // the first row lies at `top`, unless it comes from below
    pen.scale((b - a) / m.columns, (d - c) / m.rows);
    pen.drawImage(raster, 0, 0);
  },
  ellipses(pen, m, X, Y, look) {
    pen.fillStyle = pen.strokeStyle = colourOf(look, m.colour);
    pen.lineWidth = m.width;
    pen.beginPath();
    for (let n = 0; n < m.x.length; n++) {
      const [a, b, c, d] = m.factors.subarray(4 * n, 4 * n + 4);
      for (let k = 0; k <= 40; k++) {
        const s = Math.cos(k * Math.PI / 20), t = Math.sin(k * Math.PI / 20);
        const u = X(m.x[n] + a * s + b * t), v = Y(m.y[n] + c * s + d * t);
        if (k) pen.lineTo(u, v);
        else pen.moveTo(u, v);
      }
    }
    if (m.filled) pen.fill();
    else pen.stroke();
  },
  patches(pen, m, X, Y, look) {
    pen.strokeStyle = look.paper;
    pen.lineWidth = 0.5;
    const order = Array.from(m.values, (_, n) => n), share = shares(m.values);
    if (m.depth) order.sort((a, b) => m.depth[a] - m.depth[b]);
    for (const n of order) {
      pen.fillStyle = rgb(look.ramps.scale, share[n]);
      pen.beginPath();
      for (let k = 0; k < m.sides; k++) {
        const at = 2 * (n * m.sides + k);
        pen.lineTo(X(m.corners[at]), Y(m.corners[at + 1]));
      }
      pen.closePath();
      pen.fill();
      pen.stroke();
    }
  },
  rules(pen, m, X, Y, look, box) {
    pen.strokeStyle = colourOf(look, m.colour);
    pen.lineWidth = m.width;
    pen.setLineDash(m.dash ? [4, 3] : []);
    pen.beginPath();
    for (const v of m.x) (pen.moveTo(X(v), box.top), pen.lineTo(X(v), box.bottom));
    for (const v of m.y) (pen.moveTo(box.left, Y(v)), pen.lineTo(box.right, Y(v)));
    pen.stroke();
  },
  texts(pen, m, X, Y, look) {
    pen.font = `${m.size}px ${FONT}`;
    pen.textAlign = m.align;
    pen.textBaseline = "middle";
    pen.lineWidth = 3;
    pen.lineJoin = "round";
    pen.strokeStyle = look.paper;
    pen.fillStyle = colourOf(look, m.colour);
    m.text.forEach((words, k) => {
      pen.strokeText(words, X(m.x[k]), Y(m.y[k]));
      pen.fillText(words, X(m.x[k]), Y(m.y[k]));
    });
  },
  cursor(pen, m, X, Y, look) {
    for (const [width, colour] of [[7, look.paper], [3, colourOf(look, m.colour)]]) {
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      pen.beginPath();
      shapePath(pen, "plus", X(m.x), Y(m.y), width > 4 ? 12 : 10.5);
      pen.stroke();
    }
  },
};
const rasters = new WeakMap(); // the pixels of an image are made once for each look
function rasterOf(m, look) {
  const known = rasters.get(m.values);
  if (known && known.look === look.ramps) return known.canvas;
  const canvas = document.createElement("canvas");
  canvas.width = m.columns;
  canvas.height = m.rows;
  const pen = canvas.getContext("2d"), pixels = pen.createImageData(m.columns, m.rows), ramp = look.ramps[m.ramp];
  const shades = Array.from({ length: 256 }, (_, k) => shade(ramp, k / 255));
  m.values.forEach((v, k) => {
    if (!Number.isFinite(v)) return;
    const share = (v - m.low) / (m.high - m.low || 1);
    pixels.data.set([...shades[Math.round(255 * Math.min(Math.max(share, 0), 1))], 255], 4 * k);
  });
  pen.putImageData(pixels, 0, 0);
  rasters.set(m.values, { canvas, look: look.ramps });
  return canvas;
}

// ---------------------------------------------------------------- one panel
const element = (tag, name, parent, text = "") => {
  const made = document.createElement(tag);
  made.className = name;
  if (text) made.textContent = text;
  parent?.append(made);
  return made;
};
function legendOf(panel) {
  if (!panel.legend) return [];
  return panel.marks.flatMap((m) => {
    if (m.kind === "points" && m.group && m.names) {
      const seen = [...new Set(m.group)].sort((a, b) => a - b);
      return seen.length > 1 ? seen.map((g) => ({ ...m, label: m.names[g], colour: g, marker: SHAPES[g % 10] })) : [];
    }
    return m.label ? [m] : [];
  });
}
function swatch(m, look) {
  const canvas = document.createElement("canvas"), pen = canvas.getContext("2d"), d = 2;
  [canvas.width, canvas.height] = [18 * d, 12 * d];
  canvas.style.cssText = "width:18px;height:12px";
  canvas.setAttribute("aria-hidden", "true");
  pen.scale(d, d);
  pen.globalAlpha = m.opacity;
  const colour = colourOf(look, m.colour);
  if (m.kind === "points") paintShapes(pen, m.marker, [[9, 6]], Math.min(m.size / 2 + 0.5, 5), colour, m.hollow);
  else if ((["band", "bars", "patches"].includes(m.kind) && !m.outline) || m.filled) {
    pen.fillStyle = colour;
    pen.fillRect(2, 2, 14, 8);
  } else {
    pen.strokeStyle = colour;
    pen.lineWidth = Math.min(m.width ?? 2, 2.5);
    if (m.outline || m.dash) pen.setLineDash([3, 2]);
    if (m.outline) pen.strokeRect(2.5, 2.5, 13, 7);
    else {
      pen.moveTo(1, 6);
      pen.lineTo(17, 6);
      pen.stroke();
    }
  }
  return canvas;
}
export function describe(panel) { // what a reader who can't see the panel is told
  const words = panel.marks.map((m) => {
    const what = { points: "points", lines: "a line", band: "a band", bars: "bars", image: "a picture" }[m.kind];
    const count = ["points", "bars"].includes(m.kind) ? `${m.x.length} ` : "";
    if (m.kind === "cursor") return `the cross at ${short(m.x)}, ${short(m.y)}`;
    return what && `${count}${what}${m.label ? ` (${m.label})` : ""}`;
  });
  const axis = (a, name) => a.label ? `${name}: ${a.label} from ${short(a.limits[0])} to ${short(a.limits[1])}. ` : "";
  const around = axis(panel.x, "Across") + axis(panel.y, "Up");
  return `${panel.title || panel.key}. ${around}${words.filter(Boolean).join(", ")}`;
}

class PanelView {
  constructor(scene, key) {
    this.scene = scene;
    this.root = element("div", "gplvm-panel", scene.grid);
    this.root.dataset.key = key;
    this.title = element("div", "gplvm-title", this.root);
    this.legend = element("div", "gplvm-legend", this.root);
    this.canvas = element("canvas", "gplvm-canvas", this.root);
    this.tip = element("div", "gplvm-tip", this.root);
    this.tip.hidden = true;
    this.frame = 0;
    this.listen();
  }

  set(panel, glide) { // the words of this panel; `draw` paints it, from the former one if only numbers differ
    this.former = glide && this.panel && !still() ? this.now ?? this.panel : null;
    this.panel = panel;
    this.began = performance.now();
    this.glide = glide;
    this.title.textContent = panel.title;
    if (panel.hint) element("span", "gplvm-hint", this.title, ` ${panel.hint}`);
    this.title.hidden = !this.title.textContent;
    this.root.style.gridColumn = `span ${Math.min(panel.span, this.scene.columns)}`;
    this.root.style.gridRow = `span ${this.scene.columns > 1 ? panel.rows : 1}`;
    this.canvas.dataset.listens = panel.listens;
    if (panel.listens) {
      this.canvas.tabIndex = 0;
      this.canvas.dataset.lmSuppressShortcuts = "true"; // else JupyterLab takes the arrow keys
    } else this.canvas.removeAttribute("tabindex");
    this.canvas.setAttribute("role", panel.listens ? "application" : "img");
    const how = { drag: "Arrow keys move the cross.", click: "Arrow keys choose the next.", "": "" }[panel.listens];
    this.canvas.setAttribute("aria-label", `${describe(panel)}. ${panel.how ?? how}`);
    this.explain(panel);
  }

  explain(panel) { // the legend
    const { look } = this.scene, marks = legendOf(panel);
    const text = JSON.stringify([look.ink, marks.map((m) => [m.label, m.colour, m.kind])]);
    if (this.legendText === text) return;
    this.legendText = text;
    this.legend.hidden = !marks.length;
    this.legend.replaceChildren(...marks.map((m) => {
      const entry = element("span", "gplvm-entry", null);
      entry.append(swatch(m, look), m.label);
      return entry;
    }));
  }

  draw() {
    const share = this.former ? Math.min((performance.now() - this.began) / this.glide, 1) : 1;
    this.now = share < 1 ? blend(this.former, this.panel, share) : this.panel;
    this.paint(this.now);
    cancelAnimationFrame(this.frame);
    if (share < 1) this.frame = requestAnimationFrame(() => this.draw());
    else this.former = null;
  }

  paint(panel) {
    const { canvas, scene } = this, look = scene.look;
    const width = this.root.clientWidth, above = this.title.offsetHeight + this.legend.offsetHeight;
    const height = panel.aspect ? Math.round(panel.aspect * width) : scene.heightOf(panel, above);
    if (!width) return;
    const density = globalThis.devicePixelRatio || 1, pixels = [width, height].map((v) => Math.round(v * density));
    if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) [canvas.width, canvas.height] = pixels;
    canvas.style.height = height + "px";
    const pen = canvas.getContext("2d");
    pen.setTransform(density, 0, 0, density, 0, 0);
    pen.clearRect(0, 0, width, height);
    this.axes(pen, panel, width, height, look);
    const { box, X, Y } = this;
    pen.save();
    pen.beginPath();
    pen.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
    pen.clip();
    for (const mark of panel.marks) {
      pen.save();
      pen.globalAlpha = mark.opacity ?? 1;
      PAINT[mark.kind](pen, mark, X, Y, look, box);
      pen.restore();
    }
    pen.restore();
    const image = panel.marks.find((m) => m.kind === "image" && m.bar);
    if (image) this.bar(pen, image, look);
  }

  axes(pen, panel, width, height, look) { // where the marks go, and what stands around them
    const bar = panel.marks.some((m) => m.kind === "image" && m.bar) ? 52 : 0;
    pen.font = `11px ${FONT}`;
    const size = (text) => pen.measureText(text).width;
    const hidden = { x: panel.x.hidden, y: panel.y.hidden };
    const below = hidden.x ? 4 : (panel.x.ticks?.length === 0 ? 4 : 20) + (panel.x.label ? 14 : 0);
    const box = { left: 4, right: width - 8 - bar, top: 6, bottom: height - below };
    const yTicks = hidden.y ? [] : ticksOf(panel.y, 1.8 * (box.bottom - box.top)), yNames = tickNames(panel.y, yTicks);
    if (!hidden.y) box.left = Math.max(...yNames.map(size), 0) + 9 + (panel.y.label ? 16 : 0);
    let { x, y } = panel;
    if (panel.equal) [x, y] = equalUnits(x, y, box);
    const [X, unX] = along(x, box.left, box.right), [Y, unY] = along(y, box.bottom, box.top);
    Object.assign(this, { box, X, Y, unX, unY });
    pen.strokeStyle = look.quiet;
    pen.fillStyle = look.ink;
    pen.lineWidth = 1;
    pen.beginPath();
    if (!hidden.x) (pen.moveTo(box.left, box.bottom + 0.5), pen.lineTo(box.right, box.bottom + 0.5));
    if (!hidden.y) (pen.moveTo(box.left - 0.5, box.top), pen.lineTo(box.left - 0.5, box.bottom));
    pen.textAlign = "center";
    pen.textBaseline = "top";
    if (!hidden.x) {
      const ticks = ticksOf(x, box.right - box.left), names = tickNames(x, ticks);
      let free = -Infinity;
      ticks.forEach((t, k) => {
        const half = size(names[k]) / 2, at = Math.min(Math.max(X(t), half + 1), width - half - 1);
        if (X(t) - half < free) return;
        free = X(t) + half + 5;
        if (!x.tick_labels) (pen.moveTo(X(t), box.bottom), pen.lineTo(X(t), box.bottom + 4));
        pen.fillText(names[k], at, box.bottom + 6);
      });
      if (x.label) pen.fillText(x.label, (box.left + box.right) / 2, height - 13);
    }
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    const shown = panel.equal && !hidden.y ? ticksOf(y, 1.8 * (box.bottom - box.top)) : yTicks;
    tickNames(y, shown).forEach((name, k) => {
      (pen.moveTo(box.left - 4, Y(shown[k])), pen.lineTo(box.left, Y(shown[k])));
      pen.fillText(name, box.left - 6, Y(shown[k]));
    });
    pen.stroke();
    if (!hidden.y && y.label) {
      pen.save();
      pen.translate(8, (box.top + box.bottom) / 2);
      pen.rotate(-Math.PI / 2);
      pen.textAlign = "center";
      pen.fillText(y.label, 0, 0);
      pen.restore();
    }
  }

  bar(pen, image, look) {
    const { box } = this, left = box.right + 8, ramp = look.ramps[image.ramp], steps = 64, h = box.bottom - box.top;
    for (let k = 0; k < steps; k++) {
      pen.fillStyle = rgb(ramp, (k + 0.5) / steps);
      pen.fillRect(left, box.bottom - (k + 1) * h / steps, 8, h / steps + 1);
    }
    const axis = { limits: [image.low, image.high] }, ticks = ticksOf(axis, h), Y = along(axis, box.bottom, box.top)[0];
    pen.fillStyle = look.ink;
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    tickNames(axis, ticks).forEach((name, k) => pen.fillText(name, left + 11, Y(ticks[k])));
    pen.translate(left + 42, (box.top + box.bottom) / 2);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "center";
    pen.fillText(image.bar, 0, 0);
  }

  // --- the reader's hand ---
  place(event) { // data coordinates under the pointer, and whether they are inside the axes
    const area = this.canvas.getBoundingClientRect(), { box } = this;
    const u = event.clientX - area.left, v = event.clientY - area.top;
    const inside = u >= box.left && u <= box.right && v >= box.top && v <= box.bottom;
    const clamp = (p, a, b) => Math.min(Math.max(p, a), b);
    return { u, v, inside, x: this.unX(clamp(u, box.left, box.right)), y: this.unY(clamp(v, box.top, box.bottom)) };
  }

  listen() {
    const { canvas } = this;
    let held = false;
    const report = (event, phase) => {
      const { x, y } = this.place(event);
      this.scene.onPoint?.(this.panel.key, x, y, phase);
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (!this.panel.listens || event.button > 0 || !this.place(event).inside) return;
      held = this.panel.listens === "drag";
      if (held) canvas.setPointerCapture(event.pointerId);
      this.tip.hidden = true;
      canvas.focus({ preventScroll: true });
      canvas.dataset.by = "hand"; // no ring around it until a key is pressed
      report(event, "down");
    });
    canvas.addEventListener("pointermove", (event) => {
      if (held && event.buttons) report(event, "move");
      else if (event.pointerType === "mouse") this.hover(event);
    });
    canvas.addEventListener("pointercancel", () => held = false);
    canvas.addEventListener("pointerup", (event) => {
      if (held) report(event, "up");
      held = false;
    });
    canvas.addEventListener("pointerleave", () => this.tip.hidden = true);
    canvas.addEventListener("blur", () => delete canvas.dataset.by);
    canvas.addEventListener("keydown", (event) => {
      const step = ARROWS[event.key], size = event.shiftKey ? 5 : 1;
      delete canvas.dataset.by;
      if (!this.panel.listens || event.ctrlKey || event.altKey || event.metaKey) return;
      if (step) this.scene.onArrow?.(this.panel.key, size * step[0], size * step[1]);
      else if (!this.scene.onKey?.(this.panel.key, event.key)) return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  hover(event) { // what lies under the pointer, in words
    const place = this.place(event), text = place.inside ? under(this.panel, place, this.X, this.Y) : "";
    this.tip.hidden = !text;
    if (!text) return;
    this.tip.textContent = text;
    const right = place.u > this.canvas.clientWidth / 2;
    this.tip.style.left = right ? "" : `${place.u + 12}px`;
    this.tip.style.right = right ? `${this.canvas.clientWidth - place.u + 12}px` : "";
    this.tip.style.top = `${this.canvas.offsetTop + Math.max(place.v - 26, 0)}px`;
  }
}
function equalUnits(x, y, box) { // widen one of two axes until a unit is as long across as up
  const spread = (a) => Math.abs(a.limits[1] - a.limits[0]);
  const across = (box.right - box.left) / spread(x), up = (box.bottom - box.top) / spread(y);
  const widen = (a, factor) => {
    const [p, q] = a.limits, middle = (p + q) / 2, half = (q - p) / 2 * factor;
    return { ...a, limits: [middle - half, middle + half] };
  };
  return across > up ? [widen(x, across / up), y] : [x, widen(y, up / across)];
}
export function under(panel, place, X, Y) {
  let best = 14, text = "";
  for (const m of panel.marks) {
    if (m.kind === "points" || m.kind === "lines") {
      for (let k = 0; k < m.x.length; k++) {
        const distance = Math.hypot(X(m.x[k]) - place.u, Y(m.y[k]) - place.v);
        if (!(distance < best)) continue;
        best = distance;
        const name = m.group && m.names ? m.names[m.group[k]] : m.label;
        text = `${name ? name + ": " : ""}${short(m.x[k])}, ${short(m.y[k])}`;
      }
    } else if (m.kind === "bars") {
      const k = m.x.findIndex((x) => Math.abs(x - place.x) <= m.width / 2);
      const [a, b] = k < 0 ? [0, 0] : [m.base[k], m.base[k] + m.height[k]].sort((p, q) => p - q);
      if (k >= 0 && place.y >= a && place.y <= b) text = `${m.label ? m.label + ": " : ""}${short(m.height[k], 4)}`;
    } else if (m.kind === "image" && !text) {
      const [left, right, bottom, top] = m.extent, across = (place.x - left) / (right - left);
      const down = m.from_below ? (place.y - bottom) / (top - bottom) : (place.y - top) / (bottom - top);
      const inside = across >= 0 && across < 1 && down >= 0 && down < 1;
      if (inside) text = short(m.values[Math.floor(down * m.rows) * m.columns + Math.floor(across * m.columns)]);
    }
  }
  return text;
}

// ---------------------------------------------------------------- a whole scene
export class SceneFigure {
  constructor(root) {
    this.root = root;
    root.classList.add("gplvm-scene");
    this.grid = element("div", "gplvm-grid", root);
    this.says = element("div", "gplvm-says", root);
    this.says.setAttribute("role", "status");
    this.views = new Map();
    this.columns = 1;
    this.look = lookOf(root);
    const again = () => this.restyle();
    this.watchers = [new MutationObserver(again), new ResizeObserver(() => this.reflow())];
    for (const host of [document.documentElement, document.body]) this.watchers[0].observe(host, { attributes: true });
    this.watchers[1].observe(root);
    this.scheme = globalThis.matchMedia("(prefers-color-scheme: dark)");
    this.scheme.addEventListener("change", again);
    this.again = again;
  }

  show({ columns, row_height, says, keys, least = 200 }, panels, glide = 0) { // panels: those that are new, decoded
    this.wanted = columns;
    this.least = least; // pixels of a column: with less, there is only one
    this.rowHeight = row_height;
    this.look = lookOf(this.root);
    keys ??= panels.map((panel) => panel.key);
    const known = (key) => panels.find((panel) => panel.key === key) ?? this.views.get(key)?.panel;
    this.spanned = Math.min(columns, ...keys.map((key) => known(key)?.span ?? 1)); // columns of the narrowest panel
    for (const [key, view] of this.views) {
      if (keys.includes(key)) continue;
      view.root.remove();
      this.views.delete(key);
    }
    this.fit();
    for (const panel of panels) {
      if (!this.views.has(panel.key)) this.views.set(panel.key, new PanelView(this, panel.key));
    }
    keys.forEach((key, k) => {
      const view = this.views.get(key);
      if (view && this.grid.children[k] !== view.root) this.grid.insertBefore(view.root, this.grid.children[k] ?? null);
    });
    const fresh = panels.map((panel) => this.views.get(panel.key));
    fresh.forEach((view, k) => view.set(panels[k], glide)); // first all words, then all canvases: one layout
    for (const view of fresh) view.draw();
    if (this.says.textContent !== says) this.says.textContent = says;
  }

  fit() { // as many columns as there is room for
    const width = this.root.clientWidth;
    this.narrow = width < this.least * this.wanted / this.spanned;
    this.columns = this.narrow ? 1 : this.wanted;
    this.grid.style.gridTemplateColumns = `repeat(${this.columns}, minmax(0, 1fr))`;
    this.width = width;
  }

  heightOf(panel, above) { // of the canvas: the row's height without title and legend
    const tall = this.columns > 1 ? panel.rows : 1, rows = tall * this.rowHeight + (tall - 1) * 8;
    const least = this.narrow ? Math.min(0.8 * this.width, 300) : 0;
    return Math.max(rows - (this.narrow ? 0 : above), least, 90);
  }

  reflow() {
    if (this.root.clientWidth === this.width) return;
    this.fit();
    this.look = lookOf(this.root); // an element that was not in the page had no colours
    for (const view of this.views.values()) (view.set(view.panel, 0), view.draw());
  }

  restyle() {
    const look = lookOf(this.root);
    if (look.ink === this.look.ink && look.paper === this.look.paper) return;
    this.look = look;
    for (const view of this.views.values()) (view.explain(view.panel), view.draw());
  }

  close() {
    for (const watcher of this.watchers) watcher.disconnect();
    this.scheme.removeEventListener("change", this.again);
  }
}

// ---------------------------------------------------------------- in JupyterLab: the page's half of SceneView
function render({ model, el }) {
  const name = Math.random().toString(36).slice(2);
  const problem = element("div", "gplvm-problem", el), root = element("div", "", el), scene = new SceneFigure(root);
  problem.setAttribute("role", "alert");
  const code = codeBox(el);
  let busy = null, waiting = [], count = 0, changed = new Set();
  const send = (message) => { // one at a time: the newest place counts, the others are dropped
    clearTimeout(busy);
    busy = setTimeout(answered, 1000);
    model.send({ ...message, view: name, n: ++count });
  };
  function answered() {
    clearTimeout(busy);
    busy = null;
    if (waiting.length) send(waiting.shift());
  }
  function report(message) { // of one gesture, "down" and "up" are never dropped; a new gesture drops the former
    if (!busy) send(message);
    else if (message.type === "arrow" || message.phase === "down") waiting = [message];
    else waiting = [...waiting.filter(({ phase }) => phase !== message.phase), message];
  }
  scene.onPoint = (panel, x, y, phase) => report({ type: "point", panel, x, y, phase });
  scene.onArrow = (panel, right, up) => report({ type: "arrow", panel, right, up });
  function update() {
    const frame = model.get("frame"), names = [...changed];
    changed = new Set();
    problem.textContent = model.get("problem");
    problem.hidden = !problem.textContent;
    root.hidden = !problem.hidden;
    code(model.get("code"));
    if (!frame.keys) return;
    const fresh = frame.keys.map((_, k) => `panel_${k}`).filter((trait) => names.includes(trait));
    root.shown = frame.n;
    scene.show(frame, fresh.map((trait) => decode(model.get(trait))), frame.glide);
    if (frame.running) model.send({ type: "seen", view: name, n: frame.n });
  }
  const hear = (trait) => (changed.size || queueMicrotask(update), changed.add(trait));
  const panels = Array.from({ length: PANELS }, (_, k) => `panel_${k}`);
  for (const trait of ["frame", "problem", "code", ...panels]) model.on(`change:${trait}`, () => hear(trait));
  model.on("msg:custom", (message) => message.view === name && answered());
  root.scene = scene;
  panels.forEach(hear); // what is there already; it is painted when the element has a width
  model.send({ type: "hello", view: name });
  return () => (scene.close(), model.send({ type: "gone", view: name }));
}
const PANELS = 8;
function codeBox(parent) { // the code that gives the same picture, and a button that copies it
  const box = element("div", "gplvm-code-box", parent), button = element("button", "gplvm-copy", box, "Copy");
  const text = element("pre", "gplvm-code", box);
  text.tabIndex = 0;
  button.type = "button";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
    } catch { // no leave to write, as in a page without a certificate: mark it, and let the browser copy
      getSelection().selectAllChildren(text);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => button.textContent = "Copy", 1500);
  });
  return (code) => (box.hidden = !code, text.textContent = code);
}

// ---------------------------------------------------------------- in a plain page
const jsonOf = (root, name) => JSON.parse(root.querySelector(`script.${name}`).textContent);
export async function unpackJson(text) { // what `packed_json` of page.py made
  const stream = new Blob([unbase(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}
export async function mountStrip(root) { // the opening of an explorer and its questions, to step through
  if (root.dataset.mounted) return;
  root.dataset.mounted = "yes";
  const data = await unpackJson(root.querySelector("script.gplvm-packed").textContent);
  const panels = data.panels.map(decode);
  const still = root.querySelector(".gplvm-still"), words = root.querySelector(".gplvm-words");
  const [nav, asked, figure] = ["gplvm-nav", "gplvm-asked", ""].map((name) => element("div", name, null));
  Object.assign(nav, { role: "group", ariaLabel: "Settings of the picture" });
  still.replaceWith(nav, asked, figure);
  if (words) words.hidden = true;
  const scene = new SceneFigure(figure);
  const show = (k, glide) => {
    const { panels: which, ...frame } = data.scenes[k];
    scene.show(frame, which.map((n) => panels[n]), glide);
    root.dataset.scene = k;
  };
  const button = (text, parent, act) => {
    const made = element("button", "gplvm-button", parent, text);
    made.type = "button";
    made.addEventListener("click", () => act(made));
    return made;
  };
  const press = (made) => [...made.parentNode.children].forEach((b) => b.ariaPressed = String(b === made));
  const opening = button("Opening", nav, (made) => {
    press(made);
    asked.replaceChildren();
    show(0, 200);
  });
  data.questions.forEach((question, q) =>
    button(`Question ${q + 1}`, nav, (made) => {
      press(made);
      show(question.before, 200);
      ask(question, q);
    })
  );
  function ask(question, q) {
    asked.replaceChildren();
    element("p", "", asked, question.text);
    const choices = element("fieldset", "gplvm-choices", asked), reveal = element("div", "", asked);
    element("legend", "", choices, "Commit to an answer, then reveal.");
    question.choices.forEach((text, k) => {
      const label = element("label", "", choices), input = element("input", "", label);
      [input.type, input.name, input.value] = ["radio", `${root.id}-${q}`, k];
      label.append(" " + text);
      input.addEventListener("change", () => open.disabled = false);
    });
    const open = button("Reveal", reveal, () => {
      const chosen = Number(choices.querySelector("input:checked").value);
      open.remove();
      choices.disabled = true;
      const verdict = chosen === question.right ? "Right. " : `Not “${question.choices[chosen]}”. `;
      element("p", "gplvm-answer", reveal, verdict + question.answer).setAttribute("role", "status");
      const pair = element("div", "gplvm-nav", reveal);
      ["before", "after"].forEach((when) =>
        button(when, pair, (made) => {
          press(made);
          show(question[when], 400);
        })
      );
      pair.lastChild.click();
    });
    open.disabled = true;
  }
  press(opening);
  show(0, 0);
  root.dataset.live = "yes";
}
export function mountLiving(root, make) { // a figure with a function of its own: see living/figure.py
  if (root.dataset.live) return;
  const stored = jsonOf(root, "gplvm-data");
  const data = Object.fromEntries(Object.entries(stored.data).map(([name, value]) => [name, unpack(value)]));
  const opening = { ...stored.scene, panels: stored.scene.panels.map(decode) };
  const living = make(data, opening); // where this fails, the still picture stays
  root.dataset.live = "yes";
  const [controls, figure] = ["gplvm-controls", ""].map((name) => element("div", name, null));
  root.querySelector(".gplvm-still").replaceWith(controls, figure);
  const scene = new SceneFigure(figure), refresh = (living.controls ?? []).map((c) => addControl(controls, c, change));
  let due = 0;
  function change() { // at most one picture for each frame of the screen
    due ||= requestAnimationFrame(paint);
  }
  function paint() {
    due = 0;
    root.scene = living.scene(figure.clientWidth);
    refresh.forEach((again) => again());
    scene.show({ ...opening, keys: undefined, ...root.scene }, root.scene.panels, 0);
  }
  scene.onPoint = (...event) => (living.point?.(...event), change()); // (panel, x, y, "down" | "move" | "up")
  scene.onArrow = (...event) => (living.arrow?.(...event), change()); // (panel, right, up)
  scene.onKey = (...event) => living.key?.(...event) && (change(), true); // (panel, key): true where it is used
  new ResizeObserver(change).observe(figure);
  Object.assign(root, { living, change });
  figure.scene = scene;
  paint();
}
function addControl(parent, control, change) { // {label, options | min, max, step | neither: a button; get(), set(value)}
  const kind = control.options ? "select" : control.max === undefined ? "button" : "range";
  const holder = kind === "button" ? parent : element("label", "gplvm-control", parent, control.label + " ");
  const input = element(kind === "range" ? "input" : kind, kind === "button" ? "gplvm-button" : "", holder);
  const readout = kind === "range" ? element("output", "", holder) : null;
  for (const option of control.options ?? []) element("option", "", input, option).value = option;
  if (kind === "button") Object.assign(input, { type: "button", textContent: control.label });
  if (readout) Object.assign(input, { type: "range", min: control.min, max: control.max, step: control.step });
  input.addEventListener(kind === "button" ? "click" : "input", () => {
    control.set(readout ? Number(input.value) : input.value);
    change();
  });
  return () => { // what it shows follows the figure
    if (kind !== "button") input.value = control.get();
    if (readout) readout.textContent = control.text?.() ?? short(control.get());
    input.title = control.unused?.() ?? "";
    input.disabled = Boolean(input.title);
  };
}
export function mountAll() {
  document.querySelectorAll(".gplvm-strip:has(script.gplvm-packed)").forEach((root) => mountStrip(root));
}
export default { render };
