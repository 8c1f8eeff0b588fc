r"""Pages that are light, quiet and within reach, on a phone and by keyboard.

Four things are done here; the rest is in ``_static/course.css`` and ``_static/course.js``.

**Weight.** The theme draws its dozen icons twice, from a font and from a script of 1.5 MB, and sends the whole search
index with every page, though only the search page asks it. MathJax comes as one file, a third of which is its menu.
Here go that script, the index, the menu, the scripts and style sheets of extensions that a page does not use, and the
rules of style sheets for classes that no page has, such as two thousand icons.

**Pictures and tables.** Each picture gets a box of its own that knows how wide it was drawn, and a printed table is
told from printed sentences: so a narrow window can scroll the one and wrap the other.

**Index.** ``main_terms`` in ``_config.yml`` says which subject is introduced on which page. That is the index of the
book, and the search page lists those pages first.

**Landmarks.** The side bar is named, for those who jump from one part of a page to the next by ear.
"""

import re
from pathlib import Path

from docutils import nodes
from PIL import Image
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

# A word in the name or the text of a script or style sheet, and what the page holds if it needs it.
NEEDED_FOR = {"thebe": r"thebe-launch", "design": r'class="[^"]*\bsd-', "toggle": r'class="[^"]*\b(toggle|dropdown)\b'}
ICONS = r"<script defer[^>]*scripts/fontawesome\.js[^>]*></script>\s*"
SEARCH = r'<script src="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*"></script>\s*'
SIDE_BAR = '<div id="pst-primary-sidebar" class='
NO_ALT = r"(?:_images/)?[\w./-]+\.png"  # the name of a file, which is what an output has in place of a description
UNLOADED = {"fontawesome", "mathjax"}  # scripts in which every icon has a name, and which bring their own styles
MADE = "bs-"  # classes that a script puts together from parts: bs-tooltip-auto
GAP = re.compile(r"(^|\S) {2,}\S")


class MainTerms(SphinxTransform):
    """Put the entries of the index that belong to a page at its beginning."""

    default_priority = 400  # before Sphinx collects the entries

    def apply(self):
        """Add one entry for each term."""
        terms = self.config.main_terms.get(self.env.docname, [])
        entries = [("single", term, "", "main", None) for term in terms]
        if entries:
            self.document.insert(0, addnodes.index(entries=entries))


def choose_scripts(app, config):
    config.mathjax_path = "mathjax/startup.js"  # which loads what mathjax3_config names, and no menu
    config.html_search_scorer = str(Path(app.srcdir, "_ext", "scorer.js"))


def mark_boxes(app, doctree, docname):
    """A box round each picture, with its width; a class for each printed text that stands in columns."""
    for image in list(doctree.findall(nodes.image)):
        path = Path(app.srcdir, image["uri"])
        if path.suffix != ".png" or not path.exists():
            continue
        with Image.open(path) as picture:
            width = picture.width
        if re.fullmatch(NO_ALT, image.get("alt", path.name)):
            image["alt"] = "Picture drawn by the code above"
        tags = f'<span class="picture" style="--drawn: {width}px">', "</span>"
        start, end = (nodes.raw("", tag, format="html") for tag in tags)
        image.replace_self([start, image.deepcopy(), end])
    for output in doctree.findall(nodes.literal_block):
        if "output" in output["classes"] and in_columns(output.astext()):
            output["classes"].append("columns")


def in_columns(text):
    """Whether a printed text must keep its lines: it has gaps or indents, or lines that differ in numbers only."""
    lines = text.splitlines()
    shapes = {re.sub(r"[-+\d.]+", "#", line.strip()) for line in lines}
    return len(shapes) < len(lines) or any(map(GAP.search, lines))


def drop_unused(app, pagename, templatename, context, doctree):
    """Of the scripts and style sheets of a page keep those it needs, each once."""
    body = context.get("body", "")
    unused = [word for word, sign in NEEDED_FOR.items() if not re.search(sign, body)]
    for files in (context["script_files"], context["css_files"]):
        kept = {}
        for file in files:
            text = f"{getattr(file, 'filename', file)} {getattr(file, 'attributes', {}).get('body', '')}"
            if not any(word in text for word in unused):
                kept.setdefault(text, file)
        files[:] = kept.values()


def mend_theme(app, exception):
    """Change what is written in the theme's own templates and style sheets."""
    if exception or app.builder.format != "html":
        return
    for path in Path(app.outdir).glob("*.html"):
        rewrite(path, mended_page(path.read_text(encoding="utf-8"), path.stem))
    words = words_of(app.outdir)
    for path in Path(app.outdir, "_static").rglob("*.css"):
        rewrite(path, used_rules(path.read_text(encoding="utf-8"), words))


def mended_page(page, name):
    page = re.sub(ICONS, "", page)
    if name != "search":
        page = re.sub(SEARCH, "", page)
    return page.replace(SIDE_BAR, SIDE_BAR.replace("class", 'role="complementary" aria-label="Book" class'))


def words_of(folder):
    """All words of the pages and of the scripts they load, and so every class that an element can have."""
    pages = list(Path(folder).glob("*.html"))
    scripts = [path for path in Path(folder, "_static").rglob("*.js") if not UNLOADED & {path.stem, *path.parts}]
    return set(re.findall(r"[\w-]+", " ".join(path.read_text(encoding="utf-8") for path in pages + scripts)))


def used_rules(css, words):
    """A style sheet without the rules for classes that no page has; a rule that is not plain stays."""

    def can_match(selector):
        return all(name in words or name.startswith(MADE) for name in re.findall(r"\.(-?[A-Za-z_][\w-]*)", selector))

    def kept(rule):
        plain = not re.search(r"[(\\@]", rule[1])
        return "" if plain and not any(map(can_match, rule[1].split(","))) else rule[0]

    comment = re.compile(r"/\*.*?\*/", re.DOTALL)
    licences = [text for text in comment.findall(css) if text.startswith("/*!")]
    return re.sub(r"([^{};]+)\{[^{}]*\}", kept, comment.sub("", css)) + "".join(licences)


def rewrite(path, text):
    if text != path.read_text(encoding="utf-8"):
        path.write_text(text, encoding="utf-8")


def setup(app):
    app.add_config_value("main_terms", {}, "env")
    app.add_transform(MainTerms)
    app.connect("config-inited", choose_scripts)
    app.connect("doctree-resolved", mark_boxes, priority=900)
    app.connect("html-page-context", drop_unused, priority=900)
    app.connect("build-finished", mend_theme)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
