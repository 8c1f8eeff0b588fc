"""Scenes in a page without a kernel: the strip of an explorer, as HTML with its data."""

import base64
import json
import re
import zlib

from ..words import as_html, without_mathematics


def plain_script(module) -> str:
    """An ES module as a plain script: without import and export, comments and indentation.

    Lines may lose their white space at the start, so a text over several lines has no place in such a module.

    Examples
    --------
    >>> lines = ['import { a } from "./a.js";', "// twice", "export function f(x) { // so", "  return 2 * x;", "}"]
    >>> plain_script(chr(10).join(lines)).splitlines()
    ['function f(x) {', 'return 2 * x;', '}']
    """
    lines = []
    for line in re.sub(r"^import [^;]*;$", "", module, flags=re.MULTILINE).splitlines():
        line = re.sub(r"\s// [^\"'`]*$", "", line).strip()
        if line.startswith(("//", "export default {")):
            continue
        lines.append(re.sub(r"^export (default )?", "", line))
    return re.sub(r"<(?=/script|!--)", r"<\\", "\n".join(filter(None, lines)), flags=re.IGNORECASE)


def strip_html(name, title, scenes, questions, png=b"", invitation=""):
    """HTML of an explorer's strip: its opening and its questions, each before and after.

    Where no script runs a reader finds every question with its answer folded, and the picture if there is one.

    Parameters
    ----------
    name : str
        Letters, digits and dashes: the element's id is "gplvm-strip-" and this.
    title : str
    scenes : list of Scene
        The opening first. None: no strip was asked for, the page shows picture and questions.
    questions : list of dict
        text, choices, right, answer; before, after: which of the scenes.
    png : bytes
        The picture of the opening.
    invitation : str
        What stands below.
    """
    still = f'<img alt="{as_html(title)}" src="data:image/png;base64,{_text(png)}">' if png else ""
    words = "".join(
        f"<details><summary>{number}. {as_html(q['text'])}</summary><p>{as_html(q['answer'])}</p></details>"
        for number, q in enumerate(questions, start=1)
    )
    stored = strip_data(scenes, questions) if scenes else questions
    data = f'<script type="text/plain" class="gplvm-packed">{packed_json(stored)}</script>' if scenes else ""
    quiet = without_mathematics(title, stored)
    return (
        f'<div class="gplvm-strip{quiet}" id="gplvm-strip-{as_html(name)}"><b>{as_html(title)}</b>'
        f'<div class="gplvm-still">{still}</div><div class="gplvm-words">{words}</div>{data}'
        f"<small>{as_html(invitation)}</small></div>"
    )


def strip_data(scenes, questions):
    """Every different panel once, and each scene as numbers of panels."""
    panels, places = [], {}
    frames = []
    for scene in scenes:
        numbers = []
        for panel in scene.panels:
            text = json.dumps(panel.wire(stored=True), sort_keys=True)
            if text not in places:
                places[text] = len(panels)
                panels.append(panel.wire(stored=True) | {"listens": "", "hint": ""})
            numbers.append(places[text])
        frame = {name: value for name, value in scene.frame().items() if name != "keys"}
        frames.append({**frame, "panels": numbers})
    return {"panels": panels, "scenes": frames, "questions": questions}


def packed_json(data):
    """Plain values as compressed text: less than half as long."""
    return _text(zlib.compress(json.dumps(data, separators=(",", ":")).encode(), 9))


def _text(content):
    return base64.b64encode(content).decode("ascii")
