"""The built pages as a reader meets them: on a phone, by keyboard, in the dark, and over a slow line."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import nbformat
import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe

BOOK = Path(__file__).resolve().parents[1] / "book"
NOTEBOOKS = sorted(path.stem for path in BOOK.glob("*.ipynb"))
PAGES = [*NOTEBOOKS, "genindex", "search"]
WIDE, PHONE = 1280, 390
MAIN_TERMS = yaml.safe_load((BOOK / "_config.yml").read_text())["sphinx"]["config"]["main_terms"]

pytestmark = [pytest.mark.browser, pytest.mark.book]
each_page = pytest.mark.parametrize("name", PAGES)
each_notebook = pytest.mark.parametrize("name", NOTEBOOKS)

READY = """async () => {
  await window.MathJax?.startup?.promise;
  for (let k = 0; k < 3; k++) await new Promise(requestAnimationFrame); }"""
FINISHED = "() => /finished|match/.test(document.querySelector('.search-summary')?.innerText)"
MEASURE = r"""() => {
  const main = document.querySelector('main'), edge = document.documentElement.clientWidth;
  const box = element => element.getBoundingClientRect();
  const all = (selector, root = main) => [...root.querySelectorAll(selector)];
  const ink = (math, side) => {  // the outermost edge of a glyph, relative to the box that shows it
    const glyphs = all('mjx-c', math).map(box).filter(glyph => glyph.width > 0);
    return side == 'left' ? Math.min(...glyphs.map(g => g.left)) - box(math).left
                          : box(math).left + math.clientWidth - Math.max(...glyphs.map(g => g.right)); };
  const scrolls = element => ['auto', 'scroll'].includes(getComputedStyle(element).overflowX);
  const boxed = element => element && (scrolls(element) || boxed(element.parentElement));
  const visible = element => element.checkVisibility() && box(element).width > 0;
  const equations = all('div.math').map(math => {
    math.scrollLeft = 0;
    const left = ink(math, 'left'), wide = math.scrollWidth > math.clientWidth;
    math.scrollLeft = 1e5;
    const right = ink(math, 'right');
    math.scrollLeft = 0;
    return { text: math.innerText.slice(0, 60), left, right, wide, stop: math.tabIndex == 0 }; });
  const printed = all('.output.stream pre, .output.text_plain pre').filter(visible).map(pre => {
    const style = getComputedStyle(pre), text = pre.textContent.replace(/\n+$/, '');
    const height = pre.scrollHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
    return { text, lines: text.split('\n').length, rows: Math.floor(height / parseFloat(style.lineHeight)) }; });
  const sent = performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'));
  return {
    equations, printed,
    page: [document.documentElement.scrollWidth, edge],
    outside: all('*').filter(e => !e.closest('.bd-sidebar-secondary, mjx-assistive-mml'))
      .filter(e => visible(e) && box(e).right > edge + 1 && !boxed(e.parentElement)).map(e => e.outerHTML.slice(0, 99)),
    pictures: all('img[src*="_images"]').map(img => {
      const frame = img.closest('span.picture'), wide = frame && frame.scrollWidth > frame.clientWidth;
      const reached = !!frame && scrolls(frame) && (!wide || frame.tabIndex == 0);
      return [img.clientWidth / img.naturalWidth, img.alt, reached]; }),
    folds: all('details.hide').length,
    sent: sent.map(file => [file.name, file.decodedBodySize]) }; }"""


@pytest.fixture(scope="module")
def seen(browser, site):
    """``seen("01_ppca", 390)``: what was measured on that page in a window of that width, visited once."""

    def visit(name, width):
        page, said = browser.new_page(width, 900), []
        page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"{site.address}/{name}.html", wait_until="load")
        page.evaluate(READY)
        found = page.evaluate(MEASURE) | {"said": [*said]}  # before axe-core says what it thinks
        if name == "search":
            page.goto(f"{site.address}/search.html?q=PCA", wait_until="load")
            page.wait_for_function(FINISHED)
        if width == WIDE:
            found["findings"] = findings(page)
        page.context.close()
        return found

    return cache(lambda name, width: browser.do(visit, name, width))


# ---------------------------------------------------------------------- a narrow window
@each_notebook
def test_every_equation_can_be_read_whole_on_a_phone(name, seen):
    equations = seen(name, PHONE)["equations"]
    cells = nbformat.read(BOOK / f"{name}.ipynb", as_version=4).cells
    text = "\n".join(re.sub(r"`[^`]*`", "", cell.source) for cell in cells if cell.cell_type == "markdown")
    assert len(equations) >= len(re.findall(r"\$\$.*?\$\$", text, flags=re.DOTALL))
    assert [e for e in equations if e["left"] < -1] == [], "the left end can't be reached"
    assert [e for e in equations if e["right"] < -1] == [], "the right end can't be reached"
    assert [e for e in equations if e["wide"] and not e["stop"]] == [], "can't be scrolled by keyboard"


@pytest.mark.parametrize("width", [WIDE, PHONE])
@each_page
def test_no_page_scrolls_sideways(name, width, seen):
    scrolled, window = seen(name, width)["page"]
    assert scrolled <= window
    assert seen(name, width)["outside"] == [], "cut at the edge of the window, with no box to scroll it in"


@each_notebook
def test_printed_tables_keep_their_columns_on_a_phone(name, seen):
    tables = [text for text in seen(name, PHONE)["printed"] if re.search(r"\S {3,}\S", text["text"])]
    assert [table for table in tables if table["rows"] > table["lines"]] == []


@each_notebook
def test_pictures_stay_readable_on_a_phone_and_can_be_described(name, seen):
    for scale, described, in_its_box in seen(name, PHONE)["pictures"]:
        assert scale > 0.65 and in_its_box
        assert " " in described, "the name of a file is no description"


def test_nothing_is_folded_between_the_first_words_and_the_map(seen):
    assert seen("index", WIDE)["folds"] == 0


# ---------------------------------------------------------------------- light and quiet
@each_page
def test_page_is_light(name, seen):
    """Below 2 MB of what a plain server sends, fonts apart; and nothing twice."""
    sent = [(address, size) for address, size in seen(name, WIDE)["sent"] if "woff" not in address]
    weights = sorted(((size, address) for address, size in sent), reverse=True)
    assert sum(size for size, _ in weights) < 2e6, weights[:8]
    assert [address for address, times in Counter(address for address, _ in sent).items() if times > 1] == []


@pytest.mark.parametrize("width", [WIDE, PHONE])
@each_page
def test_console_is_quiet(name, width, seen):
    assert seen(name, width)["said"] == []


# ---------------------------------------------------------------------- search and index
@pytest.fixture(scope="module")
def search(browser, site):
    """``search("PCA")``: the pages that the search page lists, in its order."""

    def ask(words):
        page = browser.new_page()
        page.goto(f"{site.address}/search.html?q={words}", wait_until="load")
        page.wait_for_function(FINISHED)
        found = page.eval_on_selector_all("ul.search > li > a", "links => links.map(a => a.getAttribute('href'))")
        page.context.close()
        return [re.split(r"\.html", address)[0] for address in found]

    return lambda words: browser.do(ask, words)


FIRST = {
    "PCA": "01_ppca",
    "kernel": "02_kernels",
    "GP-LVM": "05_gplvm",
    "Isomap": "06_proximity",
    "GTM": "09_gtm",
    "t-SNE": "11_tsne",
}


@pytest.mark.parametrize("words", FIRST)
def test_search_begins_where_the_subject_is_introduced(words, search):
    for spelled in (words, words.lower()):
        assert search(spelled)[0] == FIRST[words]


def test_search_puts_headings_before_text_and_chapters_in_their_order(search):
    """Cholesky stands in headings of chapters 7 and 12; Bernoulli is in no heading and in no index."""
    found = search("Cholesky")
    assert found[:3] == ["matrix_calculus", "07_ivm", "12_variational"]  # the index, then headings, then the rest
    assert found[3:] == sorted(found[3:])
    found = search("Bernoulli")
    assert len(found) > 2 and found == sorted(found)


@pytest.mark.parametrize("name", MAIN_TERMS)
def test_every_term_of_the_index_is_on_its_page(name):
    notebook = nbformat.read(BOOK / f"{name}.ipynb", as_version=4)
    text = " ".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    words = re.sub(r"[\W_]+", " ", text).lower()
    missing = [term for term in MAIN_TERMS[name] if re.sub(r"[\W_]+", " ", term).lower() not in words]
    assert missing == []


def test_no_two_pages_claim_a_term():
    claimed = Counter(term.lower() for terms in MAIN_TERMS.values() for term in terms)
    assert [term for term, times in claimed.items() if times > 1] == []
    assert set(MAIN_TERMS) == {*NOTEBOOKS} - {"index"}


# ---------------------------------------------------------------------- accessibility
# One element of each look (colours, size, weight) is kept in code and formulas: the thousands of others look the same,
# have no role, and would keep axe-core busy for minutes. Formulas and code that scroll stay as they are.
THIN = r"""() => {
  document.querySelectorAll('details').forEach(details => details.open = true);
  const behind = element => {
    for (; element; element = element.parentElement) {
      const colour = getComputedStyle(element).backgroundColor;
      if (!/, 0\)$/.test(colour)) return colour; }
    return 'none'; };
  const looks = new Set(), kept = new Set(), tokens = [...document.querySelectorAll('pre span, mjx-container')];
  for (const theme of ['dark', 'light']) {
    document.documentElement.dataset.theme = theme;
    for (const token of tokens) {
      const style = getComputedStyle(token);
      const look = [theme, style.color, behind(token), style.fontSize, style.fontWeight, token.textContent.length > 1];
      if (looks.has(look.join())) continue;
      looks.add(look.join());
      for (let e = token; e; e = e.parentElement) kept.add(e); } }
  for (const token of tokens)
    if (!kept.has(token) && !token.closest('.math[tabindex]'))
      token.matches('pre span') ? token.replaceWith(...token.childNodes) : token.remove();
  document.querySelectorAll('pre').forEach(pre => pre.normalize()); }"""


def findings(page):
    """What axe-core calls serious or critical on a page, in the light and, where colours matter, in the dark."""
    page.add_style_tag(content="* { transition: none !important; animation: none !important }")
    page.evaluate(THIN)
    found, colours = [], {"runOnly": ["color-contrast", "link-in-text-block"]}
    for theme, rules in (("light", {}), ("dark", colours)):
        page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        page.evaluate(READY)
        for rule in Axe().run(page, options={"resultTypes": ["violations"], **rules}).response["violations"]:
            if rule["impact"] in ("serious", "critical"):
                found += [f"{theme}: {rule['id']}: {node['html'][:160]}" for node in rule["nodes"]]
    return found


@each_page
def test_axe_finds_nothing_serious_in_the_light_or_in_the_dark(name, seen):
    assert seen(name, WIDE)["findings"] == []
