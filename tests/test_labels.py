r"""Equation labels: what a comment ``# (1.7)`` in the code cites must stand in the book as ``\tag{1.7}``."""

import ast
import io
import re
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

import nbformat
import pytest

pytestmark = pytest.mark.labels
ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted([*ROOT.glob("gplvm_edu/**/*.py"), *ROOT.glob("widgets/**/*.py")])
NOTEBOOKS = sorted(ROOT.glob("book/*.ipynb"))
APPENDICES = {"matrix_calculus": "A", "datasets": "B", "misprints": "C"}

LABEL = re.compile(r"\(((?:[1-9]\d?|[A-Z])\.\d+[a-z]?)\)")
CITATION = re.compile(r"\bequations?\s+((?:\(\w+\.\w+\)(?:\s*(?:,|;|and|or|to)\s*)*)+)", re.IGNORECASE)


# ---------------------------------------------------------------------- reading
def comment_labels(source):
    """(line, label) for each label in a comment of Python source."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    return [(token.start[0], label) for token in comments for label in LABEL.findall(token.string)]


def cited_labels(text):
    """Labels that running text cites with the word equation: 'equation (A.9)', 'equations (1.2) to (1.4)'."""
    return [label for run in CITATION.findall(text) for label in LABEL.findall(run)]


def docstring_labels(source):
    """(line, label) for each label that a docstring cites."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, owners) and (text := ast.get_docstring(node)):
            found += [(getattr(node, "lineno", 1), label) for label in cited_labels(text)]
    return found


def unlabelled_functions(source):
    """Names of the public functions of a module whose body and docstring carry no label."""
    comments, names = comment_labels(source), []
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            inside = any(node.lineno <= line <= node.end_lineno for line, _ in comments)
            if not inside and not cited_labels(ast.get_docstring(node) or ""):
                names.append(node.name)
    return names


def without_code(markdown):
    """Markdown without fenced and inline code, where a label is only spoken about."""
    return re.sub(r"`[^`]*`", "", re.sub(r"```.*?```", "", markdown, flags=re.DOTALL))


def tags(markdown):
    r"""What stands in each ``\tag{...}`` of a Markdown text."""
    return re.findall(r"\\tag\*?\{([^}]*)\}", without_code(markdown))


def references(markdown):
    """Labels that the text of a page refers to, outside displayed equations."""
    return LABEL.findall(re.sub(r"\$\$.*?\$\$", "", without_code(markdown), flags=re.DOTALL))


@cache
def cells(path, kind):
    return [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == kind]


def prefix(stem):
    """What the labels of a page begin with: the chapter's number, the appendix's letter, or None."""
    number = re.match(r"(\d\d)_", stem)
    return str(int(number[1])) if number else APPENDICES.get(stem)


def book_tags():
    return {path: [tag for text in cells(path, "markdown") for tag in tags(text)] for path in NOTEBOOKS}


def all_tags():
    return {tag for found in book_tags().values() for tag in found}


# ---------------------------------------------------------------------- the reader, on small strings
def test_a_label_in_a_comment_is_read_and_one_in_a_string_is_not():
    source = 'A = M @ M.T  # (1.7)  (M, M), and (A.3)\nb = "# (1.8)"\nc = 0.5  # half (0.5) of f(1.5, 2)\n'
    assert comment_labels(source) == [(1, "1.7"), (1, "A.3")]


def test_citations_are_read_with_the_word_equation_only():
    text = "Equations (1.2), (1.3) and\n(A.4); equation (B.1b). Lawrence (2005), equation (26); f(1.5)."
    assert cited_labels(text) == ["1.2", "1.3", "A.4", "B.1b"]
    assert docstring_labels(f'def f():\n    """One. {text}"""\n')[0] == (1, "1.2")


def test_a_public_function_without_a_label_is_found():
    source = (
        "def bare(x):\n    return x\n"
        "def _private(x):\n    return x\n"
        "def marked(x):\n    return x  # (1.1)\n"
        'def told(x):\n    """Equation (1.2)."""\n'
    )
    assert unlabelled_functions(source) == ["bare"]


def test_tags_are_read_outside_code_and_references_outside_displays():
    text = "See (1.2) and `\\tag{9.9}`.\n$$ a = b \\tag{1.1} $$\n$$ f(1.3)\\\\ c \\tag{1.2} $$"
    assert tags(text) == ["1.1", "1.2"]
    assert references(text) == ["1.2"]


# ---------------------------------------------------------------------- code against book
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_label_in_the_code_stands_in_the_book(path):
    source = path.read_text(encoding="utf-8")
    known = all_tags()
    missing = [
        f"line {line}: ({label})"
        for line, label in comment_labels(source) + docstring_labels(source)
        if label not in known
    ]
    assert not missing, f"{path.relative_to(ROOT)} cites equations that no page of the book has: {missing}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_label_that_a_notebook_refers_to_stands_in_the_book(path):
    known, written = all_tags(), {prefix(other.stem) for other in NOTEBOOKS}
    cited = [label for text in cells(path, "markdown") for label in references(text)]
    for text in cells(path, "code"):
        cited += [label for _, label in comment_labels(re.sub(r"(?m)^\s*[%!].*$", "", text))]
    missing = [label for label in cited if label not in known and label.split(".")[0] in written]
    assert not missing, f"{path.name} refers to equations that do not exist: {missing}"


def test_tags_are_unique_over_the_whole_book():
    times = Counter(tag for found in book_tags().values() for tag in found)
    assert [tag for tag, n in times.items() if n > 1] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_tags_of_a_page_begin_with_its_number_or_letter(path):
    start = prefix(path.stem)
    right = re.compile(rf"{start}\.\d+[a-z]?")
    wrong = [tag for tag in book_tags()[path] if start is None or not right.fullmatch(tag)]
    assert not wrong, f"tags of {path.name} begin with {start}"


def topics():
    """Files of the modules that have a chapter: gplvm_edu/NAME.py, or the folder of that name."""
    for chapter in ROOT.glob("book/[0-9][0-9]_*.ipynb"):
        name = chapter.stem[3:]
        folder = ROOT / "gplvm_edu" / name
        files = sorted(folder.glob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
        yield from (path for path in files if not path.name.startswith("_"))


@pytest.mark.parametrize("path", sorted(topics()), ids=lambda path: str(path.relative_to(ROOT)))
def test_each_public_function_of_a_topic_carries_a_label(path):
    assert unlabelled_functions(path.read_text(encoding="utf-8")) == []
