"""`living`: a scene in a page that computes new scenes itself, with no kernel and no network.

The page holds the opening scene, a few arrays, the renderer `scene.js`, and a small module whose `make(data, opening)`
says what the reader's hand does. Where no script runs, the picture of the opening stays.
"""

import base64
import re
from importlib.resources import files
from pathlib import Path

import numpy as np

from gplvm_edu.kernels import MLP, RBF, Bias, Linear, Matern32, Periodic, Product, Sum, White

from ..scene.pack import pack
from ..scene.page import plain_script
from ..scene.view import SCRIPT, STYLE
from ..words import as_html, as_json_in_script, readable, without_mathematics

HERE = files(__package__)
INVITATION = "In JupyterLab and in the built book this picture can be moved."
PAGE_STYLE = """\
:root { color-scheme: light dark; --pst-color-background: #fff; --pst-color-text-base: #1d1d1d; }
@media (prefers-color-scheme: dark) { :root { --pst-color-background: #111; --pst-color-text-base: #ececec; } }
body { margin: 12px auto; padding: 0 12px; max-width: 900px; background: var(--pst-color-background); }"""
NO_NETWORK = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"


class LivingFigure:
    """What `living` returns: shows itself when a cell ends with it, and can be saved as a page of its own.

    html : the figure as HTML, with all that it needs; scene : the opening; data : what the page computes with
    """

    def __init__(self, page, scene, data, title):
        self.html, self.scene, self.data, self.title = page, scene, data, title

    def __repr__(self):
        return f"{self.title} (a living figure; {self.scene.says})"

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/html": self.html, "text/plain": repr(self)}

    def save(self, path) -> Path:
        """Write the figure as one HTML file that needs nothing else: no network, no Python, no server."""
        head = f'<meta http-equiv="Content-Security-Policy" content="{NO_NETWORK}">'
        head += '<meta name="viewport" content="width=device-width, initial-scale=1">'
        head += f"<title>{as_html(self.title)}</title><style>{PAGE_STYLE}</style>"
        page = f'<html lang="en"><head><meta charset="utf-8">{head}</head>\n<body>{self.html}</body></html>'
        path = Path(path)
        path.write_text(f"<!doctype html>\n{page}\n", encoding="utf-8", newline="\n")
        return path


def living(scene, module, data, name, title, text="", width=None) -> LivingFigure:
    """Put a scene into a page together with a function of its own.

    Parameters
    ----------
    scene : Scene
        The opening. It is drawn as a picture where no script runs.
    module : str
        JavaScript: ``export default function make(data, opening)``, which returns an object with ``scene(width)``
        (the panels and what they say, laid out as `Panel.wire` does) and, as far as they mean something,
        ``point(panel, x, y, phase)``, ``arrow(panel, right, up)``, ``key(panel, key)`` and ``controls``. It may import
        from ``scene.js``; `modules` puts several files together.
    data : dict
        What the module computes with: plain values, and arrays, which travel with all their 64 bits (as whole numbers
        where they are; see `pack.fixed_point` for shorter ones).
    name : str
        Letters, digits and dashes: the element's id is "gplvm-living-" and this. Two figures on one page need two.
    title, text : str
        Above the figure, and below it.
    width : int, optional
        The figure is at most so many pixels wide.

    Examples
    --------
    >>> from gplvm_widgets.scene import Cursor, Panel, Scene
    >>> module = '''
    ... export default function make(data, opening) {
    ...   const [panel] = opening.panels;
    ...   let [x, y] = data.start;
    ...   return {
    ...     point: (_, u, v) => [x, y] = [u, v],
    ...     scene: () => ({ panels: [{ ...panel, marks: [{ ...panel.marks[0], x, y }] }], says: `${x}, ${y}` }),
    ...   };
    ... }'''
    >>> scene = Scene([Panel([Cursor("cross", 0.0, 0.0)], listens="drag", key="plane")], says="0, 0")
    >>> figure = living(scene, module, {"start": [0, 0]}, "cross", "A cross to drag")
    >>> 'id="gplvm-living-cross"' in figure.html, figure
    (True, A cross to drag (a living figure; 0, 0))
    """
    if not re.fullmatch(r"[A-Za-z0-9-]+", name):
        raise ValueError(f"name becomes an id in the page: use letters, digits and dashes, not {name!r}.")
    title = readable(title)
    stored = {"scene": scene.wire(stored=True), "data": {key: stored_value(value) for key, value in data.items()}}
    quiet = without_mathematics(title, text, stored)
    picture = base64.b64encode(scene.png(dpi=80)).decode("ascii")
    limit = f' style="max-width:{int(width)}px"' if width else ""
    page = (
        f'<div class="gplvm-living{quiet}" id="gplvm-living-{name}"{limit}><style>{plain_style(STYLE)}</style>'
        f"<b>{as_html(title)}</b>"
        f'<div class="gplvm-still"><img alt="{as_html(f"{title}. {scene.says}")}" '
        f'src="data:image/png;base64,{picture}"><br><small>{INVITATION}</small></div>'
        f'<script type="application/json" class="gplvm-data">{as_json_in_script(stored)}</script>'
        f"<script>{script_for(name, module)}</script>"
        f'<div class="gplvm-hint">{as_html(text)}</div></div>'
    )
    return LivingFigure(page, scene, data, title)


def modules(*names) -> str:
    """Modules of this folder as one text, in this order: ``modules("gp.js", "latent_map.js")``."""
    return "\n".join(HERE.joinpath(name).read_text(encoding="utf-8") for name in names)


def script_for(name, module) -> str:
    """Renderer and module as one plain script, which mounts every element of this name that is not alive yet."""
    make = re.search(r"^export default function (\w+)", module, flags=re.MULTILINE)
    if not make:
        raise ValueError("The module of a living figure needs `export default function make(data, opening) { ... }`.")
    offered = re.findall(r"^export (?:const|function|class) (\w+)", SCRIPT, flags=re.MULTILINE)
    renderer = f"(() => {{\n{plain_script(SCRIPT)}\nreturn {{ {', '.join(offered)} }};\n}})()"
    own = f"(() => {{\n{plain_script(module)}\nreturn {make[1]};\n}})()"
    mount = f"document.querySelectorAll('[id=\"gplvm-living-{name}\"]').forEach((root) => mountLiving(root, make));"
    return f"(() => {{\nconst {{ {', '.join(offered)} }} = {renderer};\nconst make = {own};\n{mount}\n}})();"


def plain_style(style) -> str:
    """A style sheet without comments and line breaks."""
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)).strip()


def stored_value(value):
    """An array with all its bits, as text; anything else as `pack` has it."""
    if not isinstance(value, np.ndarray) or value.dtype.kind in "iub":
        return pack(value, stored=True)
    kind = "f4" if value.dtype == np.float32 else "f8"
    return {kind: base64.b64encode(np.ascontiguousarray(value, "<" + kind).tobytes()).decode("ascii")}


def kernel_spec(kernel) -> dict | None:
    """A kernel as `gp.js` takes it; None for one that it does not know.

    Examples
    --------
    >>> kernel_spec(RBF(2.0, [1.0, 3.0]))
    {'kind': 'rbf', 'variance': 2.0, 'inverse_width': [1.0, 3.0]}
    """
    kind = type(kernel)
    if kind in (Sum, Product):
        parts = [kernel_spec(part) for part in kernel.parts]
        return None if None in parts else {"kind": kind.__name__.lower(), "parts": parts}
    if kind not in (MLP, RBF, Bias, Linear, Matern32, Periodic, White):
        return None
    several = {"inverse_width", *(["variance"] if kind is Linear else [])}
    parameters = {
        name: np.ravel(value).tolist() if name in several else float(value)
        for name, value in kernel.get_params().items()
    }
    return {"kind": kind.__name__.lower(), **parameters}
