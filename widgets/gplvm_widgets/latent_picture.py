"""`latent_picture`: a fitted GP-LVM that can be dragged in any web page, with no kernel and no network.

The page holds a few small arrays (positions, K^-1 Y, the kernel's parameters) and thirty lines of JavaScript that
evaluate the posterior mean (5.7) wherever the reader points. Where scripts don't run, the picture stays.
"""
import base64
import html
import io
import json
import re

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from gplvm_edu.gplvm import predict
from gplvm_edu.kernels import RBF, Bias, Product, White
from gplvm_edu.plotting import ACCENT, PALETTE, in_style, scatter_classes

from .gplvm.panel import GREYS

SIDE = 420                              # of the latent plane, in pixels of the page
N_DEVIATIONS = 64                       # deviations are stored on a grid of so many by so many points

SCRIPT = r"""
(() => {
  const mount = (root) => {
    if (root.dataset.live) return;
    root.dataset.live = "yes";
    const data = JSON.parse(root.querySelector(".gplvm-arrays").textContent);
    const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
    const fixed = ([text, scale]) => Float64Array.from(new Int32Array(bytes(text)), (v) => v * scale);
    const X = fixed(data.X), A = fixed(data.A), mean = data.mean, D = mean.length, N = X.length / 2;
    const grid = new Uint16Array(bytes(data.deviations)), G = data.n_grid, limit = data.limit;
    const plane = root.querySelector(".gplvm-plane"), cross = root.querySelector(".gplvm-cross");
    const canvas = root.querySelector("canvas"), words = root.querySelector(".gplvm-words");
    const pen = canvas.getContext("2d"), ratio = 2, width = canvas.width / ratio, height = canvas.height / ratio;
    pen.scale(ratio, ratio);
    for (const part of root.querySelectorAll(".gplvm-only-live")) part.style.display = "";
    for (const part of root.querySelectorAll(".gplvm-only-still")) part.style.display = "none";
    let x = data.start.slice();

    function decode(x) {                                          // (5.7): mean + k(x, X) A
      const out = Float64Array.from(mean);
      let best = Infinity, nearest = 0;
      for (let n = 0; n < N; n++) {
        const a = x[0] - X[2 * n], b = x[1] - X[2 * n + 1];
        const k = data.variance * Math.exp(-0.5 * (data.gamma[0] * a * a + data.gamma[1] * b * b)) + data.bias;
        for (let d = 0; d < D; d++) out[d] += k * A[n * D + d];
        if (a * a + b * b < best) { best = a * a + b * b; nearest = n; }
      }
      return [out, nearest];
    }
    function deviation(x) {                                       // between the stored points of a grid
      const [u, v] = x.map((c) => Math.min(Math.max((c + limit) / (2 * limit), 0), 1) * (G - 1));
      const i = Math.min(Math.floor(u), G - 2), j = Math.min(Math.floor(v), G - 2), s = u - i, t = v - j;
      const at = (i, j) => grid[j * G + i] / 65535 * data.ignorance;
      return (1 - t) * ((1 - s) * at(i, j) + s * at(i + 1, j)) + t * ((1 - s) * at(i, j + 1) + s * at(i + 1, j + 1));
    }
    function drawImage(values, share) {                           // paler where the map knows less
      const [rows, columns] = data.image, size = Math.min(width / columns, height / rows);
      for (let d = 0; d < D; d++) {
        const ink = Math.min(Math.max(values[d] / data.high, 0), 1) * (1 - 0.7 * share);
        const grey = Math.round(255 * (1 - ink));
        pen.fillStyle = `rgb(${grey},${grey},${grey})`;
        pen.fillRect((d % columns) * size, Math.floor(d / columns) * size, size + 0.5, size + 0.5);
      }
    }
    function drawBars(values, sd) {
      const low = data.low, high = data.high, left = 6, step = (width - left) / D, floor = height - 16;
      const y = (v) => floor - (v - low) / (high - low) * (floor - 6);
      pen.font = "10px sans-serif"; pen.textAlign = "center"; pen.fillStyle = "#999";
      pen.fillRect(0, y(0), width, 1);
      for (let d = 0; d < D; d++) {
        const c = left + (d + 0.5) * step, top = y(values[d]), zero = y(0);
        pen.fillStyle = data.colours[0]; pen.globalAlpha = 0.85;
        pen.fillRect(c - 0.32 * step, Math.min(top, zero), 0.64 * step, Math.max(Math.abs(top - zero), 1));
        pen.globalAlpha = 1; pen.strokeStyle = data.accent; pen.lineWidth = 2;
        pen.beginPath(); pen.moveTo(c, y(values[d] - 2 * sd)); pen.lineTo(c, y(values[d] + 2 * sd)); pen.stroke();
        if (D <= 20) { pen.fillStyle = "#555"; pen.fillText(String(d + 1), c, height - 3); }
      }
    }
    function paint() {
      const [values, nearest] = decode(x), sd = deviation(x), share = sd / data.ignorance;
      cross.style.left = 50 * (1 + x[0] / limit) + "%";
      cross.style.top = 50 * (1 - x[1] / limit) + "%";
      pen.clearRect(0, 0, width, height);
      if (data.image) drawImage(values, share); else drawBars(values, sd);
      const sure = share < 0.25 ? "Sure: data all around." : share < 0.7 ? "A guess between the data."
        : "No data here: back to the mean.";
      const name = data.names ? ` Nearest point: ${data.names[data.target[nearest]]}.` : "";
      words.textContent = `${sure} Deviation ${sd.toPrecision(2)}, ${Math.round(100 * share)} % of the prior's.${name}`;
      root.querySelector(".gplvm-sure").style.width = 100 * (1 - share) + "%";
      root.dataset.x = x.join(" ");
      root.dataset.values = Array.from(values).join(" ");
      root.dataset.deviation = sd;
    }
    function moveTo(place) { x = place.map((c) => Math.min(Math.max(c, -limit), limit)); paint(); }
    function follow(event) {
      const box = plane.getBoundingClientRect();
      moveTo([limit * (2 * (event.clientX - box.left) / box.width - 1),
              limit * (1 - 2 * (event.clientY - box.top) / box.height)]);
    }
    plane.addEventListener("pointerdown", (event) => { plane.setPointerCapture(event.pointerId); follow(event); });
    plane.addEventListener("pointermove", (event) => { if (event.buttons) follow(event); });
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };
    plane.addEventListener("keydown", (event) => {
      const step = arrows[event.key], size = limit / (event.shiftKey ? 10 : 50);
      if (!step) return;
      event.preventDefault(); event.stopPropagation();
      moveTo([x[0] + size * step[0], x[1] + size * step[1]]);
    });
    paint();
  };
  document.querySelectorAll('[id="ID"]').forEach(mount);
})();
"""

PAGE = """\
<div id="{id}" class="gplvm-latent" style="background:#fff;color:#222;border:1px solid #ddd;border-radius:6px;\
padding:10px 12px;max-width:{outer}px;font-family:system-ui,sans-serif;font-size:14px;line-height:1.4;\
color-scheme:light">
<style>#{id} .gplvm-plane:focus-visible {{ outline: 3px solid {accent}; outline-offset: 2px; }}
#{id} img {{ background: none !important; filter: none !important; margin: 0 !important; padding: 0 !important; \
border: 0 !important; border-radius: 0 !important; max-width: none !important; }}</style>
<div style="margin-bottom:6px"><b>{title}</b></div>
<div style="display:flex;flex-wrap:wrap;gap:18px;align-items:flex-start">
<div class="gplvm-plane" tabindex="0" role="application" data-lm-suppress-shortcuts="true" \
aria-label="{label}" style="position:relative;width:{side}px;max-width:100%;aspect-ratio:1;cursor:crosshair;\
touch-action:none;user-select:none">
<img class="dark-light" draggable="false" width="{side}" height="{side}" alt="{alt}" \
src="data:image/png;base64,{plane}" style="width:100%;height:100%;display:block">
<div class="gplvm-cross gplvm-only-live" style="display:none;position:absolute;left:50%;top:50%;width:26px;height:26px;\
margin:-13px 0 0 -13px;pointer-events:none;background:linear-gradient({accent},{accent}) center/26px 4px no-repeat,\
linear-gradient({accent},{accent}) center/4px 26px no-repeat;filter:drop-shadow(0 0 1px #fff)"></div>
</div>
<div class="gplvm-only-live" style="display:none;width:{width}px">
<div style="margin-bottom:4px">{heading}</div>
<canvas width="{canvas_width}" height="{canvas_height}" aria-hidden="true" \
style="width:{width}px;height:{height}px;display:block;border:1px solid #e4e4e4"></canvas>
<div style="margin-top:10px;background:#e4e4e4;height:8px;border-radius:4px" aria-hidden="true">
<div class="gplvm-sure" style="background:{blue};height:8px;border-radius:4px;width:0"></div></div>
<div class="gplvm-words" role="status" aria-live="polite" style="margin-top:6px;min-height:4.2em"></div>
</div>
</div>
<div style="margin-top:8px;font-size:13px">{legend}<span class="gplvm-only-live" style="display:none;color:#555">\
Drag the cross, or use the arrow keys. Light: the map is sure; dark: it does not know.</span>\
<span class="gplvm-only-still" style="color:#555">In the built book and in JupyterLab this picture can be dragged.\
</span></div>
<script type="application/json" class="gplvm-arrays">{arrays}</script>
<script>{script}</script>
</div>
"""


class LatentPicture:
    """What `latent_picture` returns: live HTML for pages that run scripts, a PNG for those that show none."""

    def __init__(self, page, png):
        self.html, self.png = page, png

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/html": self.html, "image/png": base64.b64encode(self.png).decode("ascii"),
                "text/plain": "Latent picture of a GP-LVM (drag it in JupyterLab or in the built book)"}


def latent_picture(model, target=None, names=None, image_shape=None, start=None, title="Drag the cross",
                   name="latent", heading="decoded at the cross"):
    """A picture of a fitted two-dimensional GP-LVM that decodes where the reader points.

    Parameters
    ----------
    model : GPLVM
        Fitted, with n_components=2 and a kernel that is a sum of one RBF, Bias and White.
    target : ndarray (N,), optional
        Class of each row, as an index into `names`.
    names : sequence of str, optional
    image_shape : (int, int), optional
        Rows of the data are images of this shape; without it they are drawn as bars.
    start : (float, float), optional
        Where the cross is first; without it, at the training point nearest to the middle.
    title, heading : str
    name : str
        Letters, digits and dashes: the element's id is "gplvm-latent-" and this. Two pictures on one page need two.

    Returns
    -------
    LatentPicture
        Shows itself when a cell ends with it; `.html` and `.png` hold the two forms.

    Examples
    --------
    >>> from gplvm_edu.gplvm import GPLVM
    >>> from gplvm_edu.datasets import simulate_oil_flow
    >>> oil = simulate_oil_flow(30, random_state=0)
    >>> picture = latent_picture(GPLVM(max_iter=5).fit(oil.data), oil.target, oil.target_names, name="oil")
    >>> 'id="gplvm-latent-oil"' in picture.html, len(picture.html) < 150_000
    (True, True)
    """
    if not re.fullmatch(r"[A-Za-z0-9-]+", name):
        raise ValueError(f"name becomes an id in the page: use letters, digits and dashes, not {name!r}.")
    rbf, bias = kernel_parts(model)
    X, Y = model.embedding_, model._Y + model.mean_
    if X.shape[1] != 2:
        raise ValueError(f"A picture needs n_components=2; this model has {X.shape[1]}.")
    if image_shape is not None and np.prod(image_shape) != Y.shape[1]:
        raise ValueError(f"image_shape {tuple(image_shape)} does not fit the {Y.shape[1]} columns of the data.")
    limit = float(f"{1.12 * np.abs(X).max():.2g}")
    start = X[np.argmin(np.sum(X**2, axis=1))] if start is None else start
    arrays = stored_arrays(model, rbf, bias, limit)
    spread = 0.0 if image_shape else 0.12 * np.ptp(Y)
    arrays |= dict(start=[round(float(c), 4) for c in start], low=_short(min(Y.min() - spread, 0.0)),
                   high=_short(Y.max() + spread), image=None if image_shape is None else [int(n) for n in image_shape],
                   target=None if target is None else [int(k) for k in target], accent=ACCENT,
                   names=None if names is None or target is None else [str(n) for n in names], colours=list(PALETTE))
    page = _page(model, arrays, limit, target, names, image_shape, title, name, heading)
    return LatentPicture(page, still_png(model, limit, target, names, image_shape))


def kernel_parts(model):
    """The RBF and the sum of all biases; any other kernel is refused, because the page can't evaluate it."""
    kernel = model.kernel_
    parts = getattr(kernel, "parts", [kernel])
    rbf = [part for part in parts if type(part) is RBF]
    if len(rbf) != 1 or any(type(part) not in (RBF, Bias, White) for part in parts) or isinstance(kernel, Product):
        raise ValueError(f"latent_picture evaluates RBF + Bias + White in the page, and this model has {kernel}. Fit "
                         "one with GPLVM(kernel=None), or use explore_gplvm, which asks Python.")
    return rbf[0], float(sum(part.variance for part in parts if type(part) is Bias))


def stored_arrays(model, rbf, bias, limit):
    """All that the page needs to decode, small: whole numbers of 32 bits with one scale for each array."""
    side = np.linspace(-limit, limit, N_DEVIATIONS)
    plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    ignorance = float(np.sqrt(rbf.variance + bias))
    share = np.sqrt(predict(model._mapping, plane)[1]) / ignorance
    deviations = np.round(65535 * np.clip(share, 0.0, 1.0)).astype("<u2")
    return dict(X=fixed_point(model.embedding_), A=fixed_point(model._mapping.A), mean=model.mean_.tolist(),
                variance=rbf.variance, gamma=np.broadcast_to(rbf.inverse_width, 2).tolist(), bias=bias, limit=limit,
                deviations=_base64(deviations.tobytes()), n_grid=N_DEVIATIONS, ignorance=ignorance)


def fixed_point(values):
    """[base64 of 32-bit whole numbers, scale]: nine digits of the largest entry in four bytes each."""
    scale = float(np.abs(values).max() / (2**31 - 1)) or 1.0
    return [_base64(np.round(values / scale).astype("<i4").tobytes()), scale]


def _base64(content):
    return base64.b64encode(content).decode("ascii")


def _short(value):
    return float(f"{value:.6g}")


def _page(model, arrays, limit, target, names, image_shape, title, name, heading):
    width, height = (224, 224) if image_shape else (300, 224)
    if image_shape:
        height = round(width * image_shape[0] / image_shape[1])
    identity = f"gplvm-latent-{name}"
    N, D = len(model.embedding_), len(arrays["mean"])
    classes = " of several classes" if arrays["names"] else ""
    alt = f"Latent space of a GP-LVM: {N} points of {D} measurements{classes} in two dimensions, over its log precision"
    text = json.dumps(arrays, separators=(",", ":")).replace("</", "<\\/")
    return PAGE.format(
        id=identity, title=html.escape(title), heading=html.escape(heading), side=SIDE, width=width, height=height,
        canvas_width=2 * width, canvas_height=2 * height, outer=SIDE + width + 60, accent=ACCENT, blue=PALETTE[0],
        plane=_base64(plane_png(model, limit, target, names)), alt=html.escape(alt, quote=True), arrays=text,
        label=html.escape("Latent plane. Arrow keys move the cross, with Shift in longer steps. " + alt, quote=True),
        legend=_legend(arrays), script=SCRIPT.replace("ID", identity).strip())


def _legend(arrays):
    """Names of the classes that occur, with their markers, as text that any page can show."""
    names = [arrays["names"][k] for k in sorted(set(arrays["target"]))] if arrays["names"] else []
    shapes = ("●", "▲", "■", "◆", "▼", "✚", "✖", "◀", "▶", "★")
    return "".join(f'<span style="margin-right:12px"><span style="color:{PALETTE[k % len(PALETTE)]}">'
                   f'{shapes[k % len(shapes)]}</span> {html.escape(n)}</span>' for k, n in enumerate(names))


@in_style
def plane_png(model, limit, target, names):
    """The latent points over the log precision, without axes, at almost twice the page's pixels and in few colours."""
    figure = Figure(figsize=(SIDE / 100, SIDE / 100), dpi=180, layout="none")
    draw_plane(figure.add_axes((0, 0, 1, 1)), model, limit, target, names)
    return _small_png(figure)


def draw_plane(axes, model, limit, target, names, size=24):
    """Grey log precision and the points of each class; no ticks: latent units have no names."""
    extent = (-limit, limit, -limit, limit)
    axes.imshow(model.log_precision(extent, 80), extent=extent, origin="lower", cmap=GREYS, interpolation="bilinear")
    scatter_classes(axes, model.embedding_, target, names, size=size, alpha=1.0, legend=False)
    axes.set(xlim=extent[:2], ylim=extent[2:], xticks=[], yticks=[], xlabel="", ylabel="")
    axes.spines[:].set_visible(False)


@in_style
def still_png(model, limit, target, names, image_shape, n_shown=6):
    """For pages that show only pictures: the plane with a few places marked, and what each decodes to."""
    places = places_to_show(model.embedding_, n_shown)
    figure = Figure(figsize=(8.6, 4.4), layout="none")
    plane = figure.add_axes((0.01, 0.02, 0.49, 0.96))
    draw_plane(plane, model, limit, target, names, size=18)
    decoded = model.inverse_transform(places)
    low, high = decoded.min(), decoded.max()
    for k, (place, values) in enumerate(zip(places, decoded, strict=True)):
        plane.text(*place, str(k + 1), ha="center", va="center", fontsize=9, fontweight="bold",
                   bbox=dict(boxstyle="circle,pad=0.25", facecolor="white", edgecolor=ACCENT, linewidth=1.6))
        axes = figure.add_axes((0.53 + 0.158 * (k % 3), 0.5 - 0.47 * (k // 3), 0.145, 0.40))
        if image_shape is not None:
            axes.imshow(values.reshape(image_shape), vmin=0, vmax=(model._Y + model.mean_).max(), cmap="gray_r")
        else:
            axes.bar(np.arange(len(values)), values, color=PALETTE[0])
            axes.set(ylim=(min(low, 0) - 0.05 * np.ptp(decoded), high + 0.05 * np.ptp(decoded)))
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
        axes.set_title(f"at {k + 1}", fontsize=10)
    return _small_png(figure)


def places_to_show(X, n_shown):
    """Some training points far from one another, the first nearest to the middle."""
    chosen = [int(np.argmin(np.sum(X**2, axis=1)))]
    while len(chosen) < min(n_shown, len(X)):
        distance = np.min([np.sum((X - X[k]) ** 2, axis=1) for k in chosen], axis=0)
        chosen.append(int(np.argmax(distance)))
    return X[chosen]


def few_colours():
    """A palette for PNGs: greys, and every colour of the course in five steps towards light and towards dark grey."""
    greys = np.concatenate([np.linspace(0, 84, 12), np.arange(86, 256)[::-1][::2][:85]])[:, None] * np.ones(3)
    named = np.array([[int(c[k:k + 2], 16) for k in (1, 3, 5)] for c in (*PALETTE, ACCENT)], float)
    steps = np.linspace(1.0, 0.25, 5)[:, None, None]
    mixed = [steps * named + (1 - steps) * ground for ground in (250.0, 130.0)]
    return np.vstack([greys, *(m.reshape(-1, 3) for m in mixed)]).round().astype(int)[:256]


def _small_png(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    palette = Image.new("P", (1, 1))
    palette.putpalette(few_colours().ravel().tolist())
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    picture = picture.quantize(palette=palette, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
