"""Names that come from data are words and nothing else: in pages, scripts, pictures, generated code and sentences."""

import ast
import base64
import io
import json
import math
import re
import time
import zlib
from collections import Counter
from contextlib import redirect_stdout
from datetime import UTC, datetime
from functools import cache
from html.parser import HTMLParser
from xml.etree import ElementTree

import ipywidgets as W
import numpy as np
import PIL.Image
import pytest
from gplvm_widgets.explorer import Explorer, Question
from gplvm_widgets.gplvm import explore_gplvm, read_table, table
from gplvm_widgets.gplvm.source import Source
from gplvm_widgets.living import latent_map, living
from gplvm_widgets.scene import Axis, Cursor, Image, Lines, Panel, Points, Scene, SceneOf, SceneView, Texts, gallery
from gplvm_widgets.scene.page import plain_script, strip_html
from gplvm_widgets.scene.view import SCRIPT
from gplvm_widgets.source import show_source
from gplvm_widgets.words import as_html, as_json_in_script, class_names, classes_of, readable, without_mathematics
from matplotlib.cbook import is_math_text

from gplvm_edu import PPCA
from gplvm_edu.plotting import draw_graph, new_figure, plain_text, scatter_classes

try:
    import html5lib  # as the standard says; the browser below does so in any case
except ImportError:
    html5lib = None

pytestmark = [
    pytest.mark.widget,
    pytest.mark.filterwarnings("ignore:Glyph"),  # matplotlib's font has no such letter, and says so
]

LONG = "x" * 10_000
AS_THEY_ARE = [
    "<script>alert(1)</script>",
    "<!--<script>",
    "-->",
    "]]>",
    "</script >",
    "</SCRIPT><img src=x onerror=alert(1)>",
    '"><img src=x onerror=alert(1)>',
    "'onmouseover='x",
    "</title></style></textarea><plaintext>",
    "&lt;b&gt; &amp; &#60;",
    "{{7*7}}",
    "${7*7}",
    "`${alert(1)}`",
    r"$\frac$",
    r"\(\frac\) \[x\] \$",
    "\\",
    "__",
    "_hidden",
    "__proto__",
    "%s %(x)s %",
    "{load} {0.__class__}",
    "' + __import__('os').abort() + '",
    '"""',
    "=cmd|' /C calc'!A0",
    "```",
    "\N{GRINNING FACE}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{PERSONAL COMPUTER}",
    "e\N{COMBINING ACUTE ACCENT}\N{COMBINING DOT BELOW}",
    "שלום",
    " spaces ",
]
HOSTILE = [(name, name) for name in AS_THEY_ARE] + [
    ("NUL \0, bell \a, escape \x1b[31m", "NUL \ufffd, bell \ufffd, escape \ufffd[31m"),
    ("delete \x7f and \x9b", "delete \ufffd and \ufffd"),
    ("half a pair \ud800", "half a pair \ufffd"),
    ("the other half \udfff", "the other half \ufffd"),
    ("\N{RIGHT-TO-LEFT OVERRIDE}fdp.exe", "\ufffdfdp.exe"),
    ("isolated \N{RIGHT-TO-LEFT ISOLATE}", "isolated \ufffd"),
    ("two\nlines\tand\r\na tab", "two lines and a tab"),
    ("line \u2028 and paragraph \u2029", "line   and paragraph  "),
    ("no character \uffff", "no character \ufffd"),
    (LONG, LONG),
    ("", ""),
    (None, "None"),
    (math.nan, "nan"),
    (3.5, "3.5"),
    (np.str_("<b>"), "<b>"),
    (b"<i>", "<i>"),
    (b"\xff", "\ufffd"),
    (("<u>", 1), "('<u>', 1)"),
]
NAMES = [name for name, _ in HOSTILE]
each_name = pytest.mark.parametrize("name, text", HOSTILE, ids=[ascii(n)[:24].replace("\\", "/") for n in NAMES])
OWN = np.random.default_rng(0).standard_normal((12, 4))


def in_legend(text):
    """What a legend makes of a readable text."""
    if not text.strip():
        return "(no name)"
    return text if len(text) <= 60 else text[:59] + "…"


# ---------------------------------------------------------------------- what an HTML parser finds
class Plain(HTMLParser):
    """Every element as [tag, attributes, its own text]."""

    def __init__(self):
        super().__init__()
        self.found, self.open = [], []

    def handle_starttag(self, tag, attributes):
        self.found.append([tag, dict(attributes), ""])
        if tag not in ("img", "br", "meta", "link"):
            self.open.append(self.found[-1])

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        if self.open:
            self.open[-1][2] += data


def elements(page):
    """[tag, attributes, own text] of every element of a page."""
    if html5lib is None:
        parser = Plain()
        parser.feed(page)
        parser.close()
        return parser.found
    tree = html5lib.parse(page, namespaceHTMLElements=False)
    return [
        [e.tag, dict(e.attrib), (e.text or "") + "".join(child.tail or "" for child in e)]
        for e in tree.find("body").iter()
        if isinstance(e.tag, str)
    ][1:] + [[e.tag, dict(e.attrib), e.text or ""] for e in tree.find("head")]


def shape(found):
    """Which elements there are, with which attributes."""
    around = ("html", "head", "body")  # which a parser may add
    return Counter((tag, *sorted(attributes)) for tag, attributes, _ in found if tag not in around)


def text_of(found, tag, **wanted):
    """The own texts of the elements of a tag and of these attributes."""
    return [words for name, has, words in found if name == tag and wanted.items() <= has.items()]


def behind(page):
    """The elements of a page with a paragraph behind; that is still there."""
    page.encode("utf-8")
    found = elements(page + '<p class="behind">behind</p>')
    assert text_of(found, "p", **{"class": "behind"}) == ["behind"]
    return found


def scene_of(name):
    """A name in every place of a scene that has room for one."""
    ten = np.arange(10.0)
    marks = [
        Image("image", np.eye(2), bar=name),
        Points("points", ten, ten, group=np.arange(10) % 3, names=[name, "b", name]),
        Lines("line", ten, ten, label=name or "b"),
        Texts("texts", [1, 2], [1, 2], [name, name]),
        Cursor("cursor", 1.0, 1.0, label=name),
    ]
    x = Axis(name, ticks=(1, 2), tick_labels=(name, name))
    return Scene([Panel(marks, title=name, hint=name, x=x, y=Axis(name), key="panel")], says=name)


def words_in(value):
    """All texts of a wire."""
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [words for part in inside for words in words_in(part)]


def check_wire(wire, name, text):
    """A scene's data hold the name in every place, and nothing that can't be sent."""
    json.dumps(wire, ensure_ascii=False).encode("utf-8")
    (panel,) = wire["panels"]
    image, points, line, texts, _ = panel["marks"]
    rest, brief = (text if len(text) <= 300 else text[:299] + "…"), text if len(text) <= 60 else text[:59] + "…"
    assert points["names"][0] == in_legend(text) and len(set(points["names"])) == 3
    assert panel["title"] == wire["says"] == image["bar"] == rest and line["label"] in (rest, "b")
    assert texts["text"] == [rest, rest] and panel["x"]["label"] == panel["y"]["label"] == brief
    assert panel["x"]["tick_labels"] == [brief, brief]


# ---------------------------------------------------------------------- pages
@pytest.fixture
def no_still(monkeypatch):
    """Nothing is drawn for a page without scripts: that takes long, and is tried elsewhere."""
    file = io.BytesIO()
    PIL.Image.new("P", (1, 1)).save(file, "PNG")
    monkeypatch.setattr(Scene, "png", lambda scene, **size: file.getvalue())


HARMLESS = "harmless"


@cache
def harmless_shape(make):
    """What `make` makes of a harmless name."""
    return shape(behind(make(HARMLESS)))


def strip(name):
    """A strip with this name in every place."""
    asked = name if isinstance(name, str) else readable(name)
    question = dict(text=asked, answer=asked, choices=[readable(name)], right=0, before=0, after=0)
    return strip_html("a", name, [scene_of(name)], [question], b"png", name)


@each_name
def test_a_strip_shows_the_name_and_nothing_more(name, text):
    found = behind(strip(name))
    assert shape(found) == harmless_shape(strip)
    assert text_of(found, "b") == text_of(found, "p")[:1] == text_of(found, "small") == [text]
    assert text_of(found, "summary") == [f"1. {text}"]
    assert [has["alt"] for tag, has, _ in found if tag == "img"] == [text]
    (packed,) = text_of(found, "script")
    stored = json.loads(zlib.decompress(base64.b64decode(packed)))
    stored["panels"][0]["hint"] = ""
    check_wire({**stored["scenes"][0], "panels": stored["panels"]}, name, text)


MODULE = "export default function make(data, opening) { return { scene: () => opening }; }"


def figure_of(name):
    """A living figure with this name in every place."""
    data = {"names": [readable(name)], "raw": name if isinstance(name, str) else "", readable(name): [1.0]}
    return living(scene_of(name), MODULE, data, "a", name, name)


def figure_html(name):
    return figure_of(name).html


@each_name
def test_a_living_figure_shows_the_name_and_nothing_more(name, text, tmp_path, no_still):
    hostile = figure_of(name)
    found = behind(hostile.html)
    assert shape(found) == harmless_shape(figure_html)
    assert text_of(found, "b") == text_of(found, "div", **{"class": "gplvm-hint"}) == [text]
    says = hostile.scene.says
    assert [has["alt"] for tag, has, _ in found if tag == "img"] == [readable(f"{readable(name)}. {says}")]
    (data,) = text_of(found, "script", type="application/json")
    assert not re.search("[<>&\u2028\u2029\ud800-\udfff]", data)
    stored = json.loads(data)
    check_wire(stored["scene"], name, text)
    assert stored["data"]["raw"] == (name if isinstance(name, str) else "") and stored["data"]["names"] == [text]
    json.dumps(hostile._repr_mimebundle_(), ensure_ascii=False).encode("utf-8")
    assert repr(hostile) == f"{text} (a living figure; {says})"
    saved = elements(hostile.save(tmp_path / "a.html").read_text(encoding="utf-8"))
    assert text_of(saved, "title") == [text]
    metas = [("meta", "charset"), ("meta", "content", "http-equiv"), ("meta", "content", "name")]
    assert shape(saved) + Counter([("p", "class")]) == harmless_shape(figure_html) + Counter(
        [("title",), ("style",), *metas]
    )


def all_names_map(names=NAMES, word=None):
    """A living map whose classes have these names."""
    rows = np.random.default_rng(1).standard_normal((3 * len(names), 3))
    title = "a map" if word is None else word
    return latent_map(PPCA(2).fit(rows), np.arange(len(rows)) % len(names), names, name="all", title=title)


def test_a_latent_map_has_every_name_once_in_legend_and_sentence(no_still):
    figure, harmless = all_names_map(), all_names_map([f"class {k}" for k in range(len(NAMES))])
    found = behind(figure.html)
    assert shape(found) == shape(behind(harmless.html))
    stored = json.loads(text_of(found, "script", type="application/json")[0])
    names, points = stored["data"]["names"], stored["scene"]["panels"][0]["marks"]
    assert [mark["names"] for mark in points if mark.get("names")] == [names] and len(set(names)) == len(NAMES)
    for shown, (_, text) in zip(names, HOSTILE, strict=True):
        assert re.sub(r" \(\d+\)$", "", shown) in (in_legend(text), text)
    assert stored["scene"]["says"].split("Nearest point: ")[1][:-1] in names


def test_names_that_become_the_same_text_stay_two_classes():
    names = ["a", "a", b"a", "a\0", "a\1", LONG + "1", LONG + "2", "", " ", "a (2)"]
    shown = class_names(names)
    assert shown[:5] == ["a", "a (2)", "a (3)", "a\ufffd", "a\ufffd (2)"] and len(set(shown)) == len(names)
    assert max(map(len, shown)) == 60 and class_names(shown) == shown
    values, which = classes_of([1, "1", b"1", 1.0, np.int64(1), True, math.nan, math.nan, None, (1,), "1", 10**400])
    assert len(values) == 7 and len(set(which[[0, 3, 4, 5]])) == 1 and which[1] == which[10] and which[6] == which[7]
    mixed = scatter_classes(new_figure()[1], np.eye(4, 2), [1, "1", math.nan, None])
    assert [legend_text(t) for t in mixed.get_legend().get_texts()] == ["1", "None", "nan", "1 (2)"]


def test_titles_of_a_gallery_are_keys_that_stay_apart():
    shown = gallery({"a\0": scene_of("u"), "a\1": scene_of("v"), "<b>": scene_of("w")}, "panel")
    assert [panel.title for panel in shown.panels] == ["a\ufffd", "a\ufffd (2)", "<b>"]
    assert len({panel.key for panel in shown.panels}) == 3


def test_mathematics_of_a_name_is_left_alone_by_the_page(no_still):
    for name in (r"$\frac$", r"\(x\)", r"\begin{x}", "${7*7}"):
        for page in (living(scene_of(name), MODULE, {}, "a", "a").html, strip_html("a", "a", [scene_of(name)], [])):
            assert {"tex2jax_ignore", "mathjax_ignore"} <= set(elements(page)[0][1]["class"].split())
    assert without_mathematics("oil", ["Matérn 3/2", 'a "quoted" word', {"x": 1}]) == ""


def test_a_script_of_a_figure_can_not_be_ended_by_its_own_text(no_still):
    module = 'const a = "</script><!--</SCRIPT\t>";\n' + MODULE
    found = behind(living(scene_of("a"), module, {}, "a", "a").html)
    assert Counter(tag for tag, *_ in found)["script"] == 2
    assert r'const a = "<\/script><\!--<\/SCRIPT' in text_of(found, "script")[1]


@each_name
def test_the_fold_around_source_code_shows_its_words(name, text):
    shown = show_source(as_html, folded=name).data
    if name:
        assert text_of(elements(shown.split("\n")[0]), "summary") == [text]
    assert sum(line.startswith("```") for line in shown.splitlines()) == 2


def test_source_with_a_fence_in_it_stays_inside_its_own(tmp_path, monkeypatch):
    (tmp_path / "fenced.py").write_text("def fenced():\n    return '```'  # ````\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import fenced

    lines = show_source(fenced.fenced).data.splitlines()
    assert lines[0] == "`````python" and lines[-1] == "`````"


# ---------------------------------------------------------------------- pictures of matplotlib
def legend_text(artist):
    """What matplotlib shows of a text."""
    assert not is_math_text(artist.get_text())
    return artist.get_text().replace(r"\$", "$").removeprefix("\N{ZERO WIDTH SPACE}")


@each_name
def test_matplotlib_shows_the_name_in_a_legend_and_around_a_panel(name, text):
    for names, target in (([name, "b"], [0, 0, 1]), (None, [name, name, "b!"])):
        figure, axes = new_figure(margins={})
        scatter_classes(axes, np.eye(3, 2), target, names)
        figure.draw_without_rendering()
        shown = [legend_text(t) for t in axes.get_legend().get_texts()]
        assert in_legend(text) in shown and len(shown) == 2
        assert sum(len(c.get_offsets()) for c in axes.collections) == 3  # no point is lost
    drawn = scene_of(name).figure()
    drawn.set_layout_engine("none")
    drawn.draw_without_rendering()
    axes = next(axes for axes in drawn.axes if axes.get_gid() == "panel")
    assert legend_text(axes.get_legend().get_texts()[0]) == in_legend(text)
    assert len(axes.get_legend().get_texts()) == 4
    assert text.startswith(legend_text(axes.title).removesuffix("…"))


@each_name
def test_a_graph_with_the_name_of_a_node_is_drawn(name, text):
    figure, axes = new_figure(margins={})
    draw_graph(axes, {name: (0, 1, "optimised"), "Y": (0, 0, "observed")}, [(name, "Y")])
    figure.draw_without_rendering()


def test_a_picture_with_all_names_is_drawn_as_a_file():
    figure, axes = new_figure(size=(7, 9))
    scatter_classes(axes, np.eye(len(NAMES), 2), np.arange(len(NAMES)), NAMES, legend="outside")
    for form in ("png", "svg", "pdf"):
        file = io.BytesIO()
        figure.savefig(file, format=form)
        if form == "svg":
            ElementTree.fromstring(file.getvalue().decode("utf-8"))


def test_plain_text_is_itself_where_nothing_is_to_be_done():
    for text in ("annular", "β = 2, 50 %", "a_b", "Matérn 3/2", "", "^"):
        assert plain_text(text) == readable(text) == text


# ---------------------------------------------------------------------- explorers
ALLOWED = {"b", "br"}


def small_explorer(name):
    """An explorer that has a name wherever a subclass may write one."""

    class SmallExplorer(Explorer):
        title = name
        panels = SceneOf(lambda a: scene_of(name).panels[0], defaults=dict(a=1, b=1), says=lambda a: readable(name))
        questions = (Question(name, dict(a=1), dict(a=2), name, (readable(name), "b"), 1),)
        strip_notes = dict.fromkeys(("kernel", "start"), name)

        def make_controls(self):
            return {"size": {"a": W.IntSlider(1), "b": W.IntSlider(1, description=readable(name))}}

        def unused(self, settings):
            return {"b": readable(name)}

        def code(self, settings, state):
            return f"print({readable(name)!r})"

    return SmallExplorer()


def explorer_page(name):
    return small_explorer(name).page_html()


def inside(widget):
    yield widget
    for child in getattr(widget, "children", ()):
        yield from inside(child)


@each_name
def test_an_explorer_shows_the_name_and_nothing_more(name, text, monkeypatch, no_still):
    monkeypatch.setattr(Explorer, "raise_errors", True)
    explorer = small_explorer(name)
    explorer.code_button.value = True
    explorer.ask(1)
    explorer.commit(0)
    explorer.reveal()
    boxes = [widget for widget in inside(explorer) if isinstance(widget, W.HTML)]
    found = [element for box in boxes for element in elements(box.value)]
    assert {tag for tag, *_ in found} <= ALLOWED and not any(has for _, has, _ in found)
    assert text_of(found, "b")[0] == text and f"Not “{text}”." in text_of(found, "b")
    words = html_free(explorer.question_box.value)
    assert words.startswith(f"1. {text}") and words.endswith(text)
    assert sum(html_free(box.value) == text for box in boxes) >= 3  # its title, and two groups without controls
    for widget in inside(explorer):
        state = {k: v for k, v in widget.get_state().items() if isinstance(v, str | list | tuple)}
        json.dumps(state, default=str, ensure_ascii=False).encode("utf-8")
    assert explorer.view.code == f"print({text!r})"
    assert shape(behind(explorer.page_html())) == harmless_shape(explorer_page)
    bundle = explorer._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert data["text/plain"] == f"SmallExplorer: {text}"


def html_free(value):
    """The text of a bit of HTML."""
    parser, parts = HTMLParser(), []
    parser.handle_data = parts.append
    parser.feed(value)
    parser.close()
    return "".join(parts)


@each_name
def test_a_problem_with_the_name_in_it_can_be_sent_to_the_page(name, text):
    view = SceneView()
    view.complain(name)
    assert view.problem == (text if len(text) <= 1000 else text[:999] + "…")
    view.problem.encode("utf-8")


@each_name
def test_a_label_of_the_readers_data_is_a_class_of_its_own(name, text):
    source = Source(OWN, [name, "b!"] * 6)
    assert set(source.names) == {in_legend(text), "b!"} and Counter(source.target) == {0: 6, 1: 6}
    assert [source.names[k] for k in source.target[:2]] == [in_legend(text), "b!"]


def test_labels_of_all_kinds_at_once_are_drawn_and_do_not_touch_the_code(monkeypatch):
    monkeypatch.setattr(Explorer, "raise_errors", True)
    codes = set()
    for first in range(0, len(NAMES), 10):
        some = NAMES[first : first + 10]
        explorer = explore_gplvm(np.vstack([OWN, OWN[:8] + 1]), (some * 20)[:20])
        codes.add(explorer.shown_code())
        points, nearest = (explorer.scene.mark("latent", key) for key in ("points", "nearest"))
        assert len(points.names) == len(some) and nearest.label.split(", ", 1)[1] in points.names
    assert len(codes) == 1


def upload(explorer, content, name="mine.csv"):
    """What the page sends when a reader has chosen a file."""
    content = content.encode() if isinstance(content, str) else content
    about = {"type": "text/csv", "size": len(content), "last_modified": datetime(2026, 1, 1, tzinfo=UTC)}
    explorer.upload.value = [{"name": name, "content": memoryview(content), **about}]


@pytest.fixture(scope="module")
def reader():
    """One explorer for all files; its errors are sentences."""
    assert Explorer.raise_errors is False
    return explore_gplvm(n_points=20)


BODY = "".join(f"{a:.3f},{b:.3f},{c:.3f},{'uv'[k % 2]}\n" for k, (a, b, c, _) in enumerate(OWN))


@each_name
def test_a_name_of_a_file_and_of_a_column_are_constants_of_the_code(name, text, reader):
    name = name if isinstance(name, str) else f"a {name}"
    column = name.replace("\0", "").replace("\r\n", "\n").strip().encode("utf-8", "replace").decode()
    column = column if column and not re.search("[\0-\x08\x0e-\x1f\x7f]", column) else "kind"
    quoted = '"' + column.replace('"', '""') + '"'
    content = f"p,q,r,{quoted}\n{BODY}"
    upload(reader, content, name)
    reader.label_column.value = column
    assert reader.problem == "", reader.problem
    code = reader.shown_code()
    code.encode("utf-8")
    constants = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
    assert name in constants and column in constants
    opened, printed = [], io.StringIO()

    def open_file(path, mode):
        opened.append(path)
        return io.BytesIO(content.encode())

    with redirect_stdout(printed):
        scope = {"open": open_file}
        exec(code, scope)
    reader.label_column.value = ""
    assert opened == [name] and np.allclose(scope["Y"], np.round(OWN[:, :3], 3))
    assert len(printed.getvalue().splitlines()) == 1


@each_name
def test_a_column_of_any_name_is_quoted_in_the_sentence_about_it(name, text, reader):
    name = readable(name).strip() or "column 1"
    name = f"a {name}" if name in ("nan", "3.5") else name  # a number would make it a row
    quoted = '"' + name.replace('"', '""') + '"'
    upload(reader, f"{quoted},b\n" + "1,2\n" * 4 + "oops,2\n")
    shown = repr(name) if len(repr(name)) <= 60 else repr(name)[:59] + "…"
    assert reader.problem.startswith(f"Line 6, {shown} holds 'oops', which is not a number."), reader.problem
    upload(reader, f"{quoted},b\n{ROWS}")
    assert reader.problem == ""
    reader.label_column.value = "<script>"
    assert reader.problem.startswith("There is no column '<script>'; the file has ") and len(reader.problem) < 200
    reader.label_column.value = ""


# ---------------------------------------------------------------------- files that are no tables
ROWS = "".join(f"{a:.3f},{b:.3f}\n" for a, b, *_ in OWN)
FILES = {
    "an empty file": ("", "The file is empty"),
    "blank lines only": ("\n \r\n\n", "The file is empty"),
    "separators only": (",,\n,,\n", "The file is empty"),
    "a header only": ("a,b\n", "a header but no data"),
    "100 MB": (bytes(100_000_000), "The file has 100 MB, and at most 5 are read"),
    "just too large": (b"1,2\n" * 1_250_001, "at most 5 are read"),
    "an archive": (b"PK\3\4\0\0", "no text file (byte 2 is 3)"),
    "a picture": (b"\x89PNG\r\n\x1a\n1,2", "no text file"),
    "compressed": (zlib.compress(ROWS.encode()), "no text file"),
    "UTF-16": (("a,b\n" + ROWS).encode("utf-16"), "written in UTF-16"),
    "UTF-16 without its mark": (("a,b\n" + ROWS).encode("utf-16-le"), "no text file (byte 1 is 0)"),
    "UTF-32": (("a,b\n" + ROWS).encode("utf-32"), "written in UTF-16"),
    "ragged rows": ("a,b\n" + ROWS + "1\n", "Line 14 has 1 cells and the first line 2"),
    "a row that is too long": ("a,b\n" + ROWS + "1,2,3\n", "Line 14 has 3 cells"),
    "one column": ("a\n" + "1\n" * 9, "have 1 column of numbers"),
    "one column of text": ("a\n" + "x\n" * 9, "have 0 column of numbers"),
    "text columns": ("a,b,c\n" + "x,y,1\n" * 9, "The columns 'a', 'b' are not numbers"),
    "a hundred text columns": (",".join("abcdefghij" * 10) + "\n" + (",x" * 100)[1:] + "\n", "and 88 more are not"),
    "a quotation mark never closed": ("a,b\n" + ROWS + '"1,2\n3,4\n', "The row that begins in line 14 can't be read"),
    "something behind a quotation": ("a,b\n" + ROWS + '"1"2,2\n', "The row that begins in line 14 can't be read"),
    "a cell of 200 kB": ("a,b\n" + ROWS + "1," + "9" * 200_000 + "\n", "The row that begins in line 14 can't be read"),
    "a cell of 100 kB": ("a,b\n" + ROWS + "1," + "y" * 100_000 + "\n", "Line 14, 'b' holds 'yyyyyyyyy"),
    "an empty cell": ("a,b\n" + ROWS + "1,\n", "Line 14, 'b' is empty"),
    "an empty line of cells": ("a,b\n" + ROWS + ",\n1,2\n", "Line 14, 'a' is empty"),
    "NaN": ("a,b\n" + ROWS + "1,NaN\n", "Line 14, 'b' is NaN: the GP-LVM"),
    "infinity": ("a,b\n" + ROWS + "1,-inf\n", "Line 14, 'b' is -inf: the GP-LVM"),
    "1e400": ("a,b\n" + ROWS + "1,1e400\n", "Line 14, 'b' is 1e400: no computer number is so large"),
    "digits without end": ("a,b\n" + ROWS + "1," + "9" * 5000 + "\n", "no computer number is so large"),
    "an underscore in a number": ("a,b\n" + ROWS + "1,1_0\n", "Line 14, 'b' holds '1_0', which is not a number"),
    "a formula": ("a,b\n" + ROWS + "1,=cmd|' /C calc'!A0\n", "Line 14, 'b' holds \"=cmd|' /C calc'!A0\""),
    "a sum": ("a,b\n" + ROWS + "1,=1+1\n", "Line 14, 'b' holds '=1+1'"),
    "a page": ("<!doctype html>\n<script>alert(1)</script>\n", "have 1 rows"),
    "one row again and again": ("a,b\n" + "1,2\n" * 9, "All rows are the same"),
    "complex numbers": ("a,b\n" + ROWS + "1,1+2j\n", "Line 14, 'b' holds '1+2j'"),
}


@pytest.mark.bad_input
@pytest.mark.parametrize("which", FILES)
def test_a_file_that_is_no_table_gets_a_sentence(which, reader):
    content, says = FILES[which]
    upload(reader, "a,b\n" + ROWS, "good.csv")
    assert reader.problem == ""
    before, own = reader.scene, reader.own
    began = time.perf_counter()
    upload(reader, content)
    assert says in reader.problem and reader.problem.endswith((".", "?")), reader.problem
    assert len(reader.problem) < 400 and "Traceback" not in reader.problem and "can't be shown" not in reader.problem
    assert reader.scene is before and reader.own is own and time.perf_counter() - began < 5


@pytest.mark.bad_input
def test_a_file_that_is_too_large_is_not_even_looked_at(monkeypatch):
    monkeypatch.setattr(table.csv, "reader", None)
    monkeypatch.setattr(table, "NO_TEXT", None)
    for content in (bytes(100_000_000), memoryview(bytes(100_000_000)), "1" * 6_000_000):
        with pytest.raises(ValueError, match="at most 5 are read"):
            read_table(content)


@pytest.mark.bad_input
def test_columns_of_one_name_are_read_unless_the_label_is_one_of_them():
    text = "a,a,b\n" + "1,2,3\n2,3,1\n" * 5
    assert read_table(text).columns == ("a", "a", "b")
    with pytest.raises(ValueError, match="2 columns are called 'a': rename"):
        read_table(text, "a")
    assert read_table(",b,\n" + "1,2,3\n2,3,1\n" * 5).columns == ("column 1", "b", "column 3")


@pytest.mark.parametrize(
    "content, labels",
    [
        ("kind,a,b\n" + "Größe,1,2\nÖl,2,1\n" * 5, {"Größe", "Öl"}),
        (("kind,a,b\n" + "Größe,1,2\n“Öl”,2,1\n" * 5).encode("cp1252"), {"Größe", "“Öl”"}),
        ('kind,a,b\n"two\nlines",1,2\n"semi;;colons",2,1\n' + "x,1,2\n" * 5, {"two\nlines", "semi;;colons", "x"}),
        ('"a;;;;;",p,q\n' + "x,1,2\n" * 5 + "y,2,1\n", {"x", "y"}),
        ("kind,a,b\r" + "x,1,2\ry,2,1\r" * 5, {"x", "y"}),
        ("kind,a,b\n" + "u\u2028v,1,2\nw,2,1\n" * 5, {"u\u2028v", "w"}),
        ("kind,a,b\n" + "=1+1,1,2\n@SUM,2,1\n" * 5, {"=1+1", "@SUM"}),
        ("kind,a,b\n" + ",1,2\nx,1,2\ny,2,1\n" * 3, {"", "x", "y"}),
    ],
)
def test_labels_of_a_file_are_read_as_they_stand(content, labels):
    read = read_table(content if isinstance(content, bytes) else content.encode())
    assert set(read.labels) == labels and read.data.shape[1] == 2 and Source(read.data, read.labels).names


@pytest.mark.bad_input
@pytest.mark.parametrize("power", ["e160", "e300", "e-200", "e-320"])
def test_numbers_that_no_model_can_bear_are_a_sentence_too(power, reader):
    upload(reader, "a,b\n" + ROWS.replace(",", f"{power},").replace("\n", f"{power}\n"))
    assert re.fullmatch(
        r"The largest number is [\de.+-]+: a computer can't hold .* Choose other units\.", reader.problem
    )


@pytest.mark.bad_input
@pytest.mark.parametrize("labels", ["uv" * 6, b"uv" * 6, np.array("u"), [["u"], ["v"]] * 6, np.zeros((12, 1)), ["u"]])
def test_labels_that_are_not_one_for_each_row_are_explained(labels):
    with pytest.raises(ValueError, match="labels must be one for each of the 12 rows of Y, got "):
        Source(OWN, labels)


# ---------------------------------------------------------------------- in a real browser
PAGE_OF_ALL = "<!doctype html><meta charset='utf-8'><body>{figures}<script>{script}</script><p id='behind'>behind</p>"


def page_of_all(names, folder):
    """A file with all names in a map, in the titles of many figures, and in a strip."""
    question = dict(text="?", answer="!", choices=list(map(readable, names)), right=0, before=0, after=0)
    strip = strip_html("all", readable(" ".join(map(readable, names))), [scene_of(n) for n in names], [question])
    figures = [living(scene_of(n), MODULE, {}, f"n{k}", n, n).html for k, n in enumerate(names)]
    figures = "".join([all_names_map(names).html, strip, *figures])
    script = f"(() => {{\n{plain_script(SCRIPT)}\nmountAll();\n}})();"
    path = folder / f"{len(list(folder.iterdir()))}.html"
    path.write_text(PAGE_OF_ALL.format(figures=figures, script=script), encoding="utf-8")
    return path


def visited(browser, path):
    """What a browser makes of a page: dialogs, complaints, globals, elements, and the words of the legends."""
    from test_living import StaticPage, places_in

    dialogs, page = [], StaticPage(browser, path)
    page.do(page.page.on, "dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.complaints.clear()
    page.do(page.page.reload)
    page.do(page.page.wait_for_selector, "#gplvm-strip-all[data-live]")
    page.drag("all", "plane", *places_in(all_names_map(["a"] * len(NAMES)), (0.3, 0.3), (0.6, 0.6)))
    page.do(page.page.get_by_role("button", name="Question 1").click)
    page.do(page.page.locator("#gplvm-strip-all input[type=radio]").first.click)
    page.do(page.page.get_by_role("button", name="Reveal").click)
    box = page.do(page.page.locator("#gplvm-living-all canvas.gplvm-canvas").first.bounding_box)
    for share in (0.2, 0.4, 0.5, 0.6, 0.8):  # what lies under the pointer is told
        page.do(page.page.mouse.move, box["x"] + share * box["width"], box["y"] + share * box["height"])
    found = page.evaluate(
        """() => ({globals: Object.keys(globalThis).sort(), behind: document.querySelector('#behind')?.innerText,
        tags: [...document.querySelectorAll('body *')].map((e) => e.localName).sort(),
        handlers: document.querySelectorAll('[onerror], [onmouseover]').length,
        legend: [...document.querySelectorAll('#gplvm-living-all .gplvm-entry')].map((e) => e.textContent),
        titles: [...document.querySelectorAll('.gplvm-living > b')].map((e) => e.textContent)})"""
    )
    page.check_quiet()
    page.close()
    return dialogs, found


@pytest.mark.browser
def test_a_page_with_all_names_opens_no_dialog_sets_nothing_and_goes_on(browser, tmp_path, no_still):
    dialogs, hostile = visited(browser, page_of_all(NAMES, tmp_path))
    _, harmless = visited(browser, page_of_all([f"class {k}" for k in range(len(NAMES))], tmp_path))
    assert dialogs == [] and hostile["behind"] == "behind" and hostile["handlers"] == 0
    assert hostile["globals"] == harmless["globals"]
    assert Counter(hostile["tags"])["script"] == Counter(harmless["tags"])["script"]
    for tag in set(hostile["tags"]) - {"span", "canvas", "div"}:  # legends may differ in length
        assert tag in harmless["tags"], tag
    assert hostile["legend"][: len(NAMES)] == class_names(NAMES)
    assert hostile["titles"][1:] == [text for _, text in HOSTILE]


CELL = """\
import numpy as np
rng = np.random.default_rng(0)
names = [eval(text) for text in NAMES]
explore_gplvm(rng.standard_normal((20, 4)), (names[:10] * 2)[:20], n_points=20)"""
FRACTION = """\
from gplvm_edu import PPCA
latent_map(PPCA(2).fit(rng.standard_normal((60, 3))), np.arange(60) % len(names), names, title=r"$\\frac$ and $x$")"""


@pytest.mark.browser
def test_jupyterlab_shows_the_names_and_runs_none_of_them(open_explorer):
    sent = [name for name in NAMES if not (isinstance(name, float) and math.isnan(name))]
    dialogs = []
    with open_explorer(f"NAMES = {[ascii(n) for n in sent]!r}\n{CELL}", FRACTION) as page:
        page.browser.do(page.page.on, "dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        page.show("#gplvm-living-latent")
        legend = page.browser.do(page.page.locator(".gplvm-explorer .gplvm-entry").all_text_contents)
        assert set(class_names(sent[:10])) <= set(legend)
        assert page.text("#gplvm-living-latent b") == r"$\frac$ and $x$"
        assert page.count("#gplvm-living-latent mjx-container") == 0 and page.count(".gplvm-scene") == 2
        assert page.errors() == [] and page.error_box() == "" and dialogs == []
        assert page.count(".jp-OutputArea [onerror]") == 0


def test_json_in_a_script_comes_back_as_it_was():
    values = {"names": [name for name in NAMES if isinstance(name, str)], "numbers": [1, 2.5, None, True]}
    text = as_json_in_script(values)
    assert json.loads(text) == values and not re.search("[<>&\u2028\u2029\ud800-\udfff]", text)
    assert as_json_in_script({"a": ["½", 1]}) == '{"a":["½",1]}'  # harmless values as they ever were
