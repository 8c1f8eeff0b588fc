"""`latent_picture`: a fitted GP-LVM that can be dragged in any web page, with no kernel and no network.

The page holds a few small arrays (positions, K^-1 Y, the kernel's parameters) and the script `latent_picture.js`, which
evaluates the posterior mean (5.7) wherever the reader points. Where scripts don't run, the picture stays.
"""

import base64
import html
import io
import json
import re
from importlib.resources import files
from string import Template

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from gplvm_edu.kernels import RBF, Bias, Product, White
from gplvm_edu.maps import grid_points
from gplvm_edu.plotting import ACCENT, PALETTE, in_style, scatter_classes

from .drawing import GREYS, log_precision_picture

SIDE = 420  # of the latent plane, in pixels of the page
N_DEVIATIONS = 64  # deviations are stored on a grid of so many by so many points

SCRIPT = files(__package__).joinpath("latent_picture.js").read_text(encoding="utf-8")
PAGE = Template(files(__package__).joinpath("latent_picture.html").read_text(encoding="utf-8"))


class LatentPicture:
    """What `latent_picture` returns: live HTML for pages that run scripts, a PNG for those that show none."""

    def __init__(self, page, png):
        self.html, self.png = page, png

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {
            "text/html": self.html,
            "image/png": base64.b64encode(self.png).decode("ascii"),
            "text/plain": "Latent picture of a GP-LVM (drag it in JupyterLab or in the built book)",
        }


def latent_picture(
    model,
    target=None,
    names=None,
    image_shape=None,
    start=None,
    title="Drag the cross",
    name="latent",
    heading="decoded at the cross",
):
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
    X, Y = model.embedding_, model.rows_
    if X.shape[1] != 2:
        raise ValueError(f"A picture needs n_components=2; this model has {X.shape[1]}.")
    if image_shape is not None and np.prod(image_shape) != Y.shape[1]:
        raise ValueError(f"image_shape {tuple(image_shape)} does not fit the {Y.shape[1]} columns of the data.")
    limit = float(f"{1.12 * np.abs(X).max():.2g}")
    start = X[np.argmin(np.sum(X**2, axis=1))] if start is None else start
    arrays = stored_arrays(model, rbf, bias, limit)
    spread = 0.0 if image_shape else 0.12 * np.ptp(Y)
    arrays |= dict(
        start=[round(float(c), 4) for c in start],
        low=_short(min(Y.min() - spread, 0.0)),
        high=_short(Y.max() + spread),
        image=None if image_shape is None else [int(n) for n in image_shape],
        target=None if target is None else [int(k) for k in target],
        accent=ACCENT,
        names=None if names is None or target is None else [str(n) for n in names],
        colours=list(PALETTE),
    )
    page = _page(model, arrays, limit, target, names, image_shape, title, name, heading)
    return LatentPicture(page, still_png(model, limit, target, names, image_shape))


def kernel_parts(model):
    """The RBF and the sum of all biases; any other kernel is refused, because the page can't evaluate it."""
    kernel = model.kernel_
    parts = getattr(kernel, "parts", [kernel])
    rbf = [part for part in parts if type(part) is RBF]
    if len(rbf) != 1 or any(type(part) not in (RBF, Bias, White) for part in parts) or isinstance(kernel, Product):
        raise ValueError(
            f"latent_picture evaluates RBF + Bias + White in the page, and this model has {kernel}. Fit "
            "one with GPLVM(kernel=None), or use explore_gplvm, which asks Python."
        )
    return rbf[0], float(sum(part.variance for part in parts if type(part) is Bias))


def stored_arrays(model, rbf, bias, limit):
    """What the page needs for decoding, as 32-bit integers with one scale for each array, to keep the page small."""
    plane = grid_points((-limit, limit, -limit, limit), N_DEVIATIONS)
    ignorance = float(np.sqrt(rbf.variance + bias))
    share = model.map_.relative_deviation(plane)[:, 0]
    deviations = np.round(65535 * np.clip(share, 0.0, 1.0)).astype("<u2")
    return dict(
        X=fixed_point(model.embedding_),
        A=fixed_point(model.map_.weights),
        mean=model.mean_.tolist(),
        variance=rbf.variance,
        gamma=np.broadcast_to(rbf.inverse_width, 2).tolist(),
        bias=bias,
        limit=limit,
        deviations=_base64(deviations.tobytes()),
        n_grid=N_DEVIATIONS,
        ignorance=ignorance,
    )


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
    return PAGE.substitute(
        id=identity,
        title=html.escape(title),
        heading=html.escape(heading),
        side=SIDE,
        width=width,
        height=height,
        canvas_width=2 * width,
        canvas_height=2 * height,
        outer=SIDE + width + 60,
        accent=ACCENT,
        blue=PALETTE[0],
        plane=_base64(plane_png(model, limit, target, names)),
        alt=html.escape(alt, quote=True),
        arrays=text,
        label=html.escape("Latent plane. Arrow keys move the cross, with Shift in longer steps. " + alt, quote=True),
        legend=_legend(arrays),
        script=SCRIPT.replace("GPLVM_ID", identity).strip(),
    )


def _legend(arrays):
    """Names of the classes that occur, with their markers, as text that any page can show."""
    names = [arrays["names"][k] for k in sorted(set(arrays["target"]))] if arrays["names"] else []
    shapes = ("●", "▲", "■", "◆", "▼", "✚", "✖", "◀", "▶", "★")
    return "".join(
        f'<span style="margin-right:12px"><span style="color:{PALETTE[k % len(PALETTE)]}">'
        f"{shapes[k % len(shapes)]}</span> {html.escape(n)}</span>"
        for k, n in enumerate(names)
    )


@in_style
def plane_png(model, limit, target, names):
    """The latent points over the log precision, without axes, at almost twice the page's pixels and in few colours."""
    figure = Figure(figsize=(SIDE / 100, SIDE / 100), dpi=180, layout="none")
    draw_plane(figure.add_axes((0, 0, 1, 1)), model, limit, target, names)
    return _small_png(figure)


def draw_plane(axes, model, limit, target, names, size=24):
    """Grey log precision and the points of each class; no ticks: latent units have no names."""
    extent = (-limit, limit, -limit, limit)
    axes.imshow(
        log_precision_picture(model, limit, 80), extent=extent, origin="lower", cmap=GREYS, interpolation="bilinear"
    )
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
        plane.text(
            *place,
            str(k + 1),
            ha="center",
            va="center",
            fontsize=9,
            fontweight="bold",
            bbox=dict(boxstyle="circle,pad=0.25", facecolor="white", edgecolor=ACCENT, linewidth=1.6),
        )
        axes = figure.add_axes((0.53 + 0.158 * (k % 3), 0.5 - 0.47 * (k // 3), 0.145, 0.40))
        if image_shape is not None:
            axes.imshow(values.reshape(image_shape), vmin=0, vmax=model.rows_.max(), cmap="gray_r")
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
    named = np.array([[int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in (*PALETTE, ACCENT)], float)
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
