r"""Set every displayed equation as it stands, so that ``\tag`` works in equations of several lines.

Sphinx puts a display that contains a line break inside ``split``, where MathJax answers a ``\tag`` with an
error in red and no warning. Here each display goes to MathJax as ``\[ ... \]`` instead, unchanged.
"""

from docutils import nodes


def leave_displays_alone(app, doctree):
    """Mark every display of the page as one that Sphinx must not wrap."""
    for node in doctree.findall(nodes.math_block):
        if not node.get("nowrap", False):
            text = "\\[" + node.astext() + "\\]"
            node.children = [nodes.Text(text)]
            node["nowrap"] = True


def setup(app):
    app.connect("doctree-read", leave_displays_alone)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
