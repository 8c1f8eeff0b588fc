"""Put the script that draws scenes, and its style, beside the pages: an explorer's strip can then be stepped through.

It is a plain script, not a module: pages that are opened from a folder must work too.
"""

from pathlib import Path

from gplvm_widgets.scene.page import plain_script
from gplvm_widgets.scene.view import SCRIPT, STYLE


def write_files(app, error=None):
    """Write both files into the folder of static files."""
    folder = Path(app.outdir) / "_static"
    folder.mkdir(parents=True, exist_ok=True)
    script = f"(() => {{\n{plain_script(SCRIPT)}\nmountAll();\n}})();\n"  # deferred: the page is there
    (folder / "scene.js").write_text(script, encoding="utf-8")
    (folder / "scene.css").write_text(STYLE, encoding="utf-8")


def setup(app):
    app.connect("builder-inited", write_files)
    app.connect("build-finished", write_files)
    app.add_js_file("scene.js", loading_method="defer")
    app.add_css_file("scene.css")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
