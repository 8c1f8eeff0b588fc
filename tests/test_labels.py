r"""Equation labels: what a comment ``# (1.7)`` in the code cites must stand in the book as ``\tag{1.7}``.

And the line that carries it must be that equation: see `is_equation` for what can be decided by machine.
"""

import ast
import io
import re
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest

pytestmark = pytest.mark.labels
ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted([*ROOT.glob("gplvm_edu/**/*.py"), *ROOT.glob("widgets/**/*.py")])
NOTEBOOKS = sorted(ROOT.glob("book/*.ipynb"))
APPENDICES = {"matrix_calculus": "A", "datasets": "B", "misprints": "C", "own_data": "D"}

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


# Functions of numpy, scipy and Python whose call computes what a formula writes as a symbol. Those that only arrange
# numbers (stack, reshape, copy, broadcast, unique) are left out; those of gplvm_edu/linalg.py are added below.
COMPUTES = frozenset(
    """
    matmul dot vdot inner outer kron einsum tensordot dgemm reduce sum prod cumsum mean std var trace norm diff
    add subtract multiply divide power square minimum maximum min max argmin argmax nanmin nanmax clip where
    solve solve_triangular cho_solve cholesky dpotrf inv pinv det slogdet dpotrs dtrtrs svd eigh eigvalsh qr lstsq
    exp expm1 log log1p sqrt cbrt sin cos tan arcsin arccos arctan arctan2 arcsinh sinh cosh tanh
    erf erfc erfcx ndtr ndtri log_ndtr expit logaddexp logsumexp softmax log_softmax xlogy gammaln multigammaln
    standard_normal normal poisson permutation uniform full eye meshgrid geomspace linspace cdist pdist corrcoef
    shortest_path reduceat bincount logpdf
    """.split()
)


class Function(NamedTuple):
    """A function of the package: its name, and the labels on its lines."""

    name: str
    labels: frozenset[str]


def functions(source):
    """Each function and method of a module, with the labels on its lines (not those that its docstring cites)."""
    comments = comment_labels(source)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = [label for line, label in comments if node.lineno <= line <= node.end_lineno]
            yield Function(node.name, frozenset(inside))


def innermost(tree, line, kinds):
    """The smallest node of these kinds that covers a line, or None."""
    covering = [node for node in ast.walk(tree) if isinstance(node, kinds) and node.lineno <= line <= node.end_lineno]
    return min(covering, key=lambda node: (node.end_lineno - node.lineno, -node.lineno), default=None)


def operations(node, handed_on, line=None):
    """Operators and names of called functions that make up a value; of a statement of many lines, those on one line.

    Left out are indices (arithmetic there only says where), the test of ``a if test else b``, the conditions of a
    comprehension, a sign, and the arguments of functions in `handed_on`: what they compute is the business of those.
    """
    if line is not None and hasattr(node, "lineno") and not node.lineno <= line <= node.end_lineno:
        return
    match node:
        case ast.Subscript():
            yield from operations(node.value, handed_on, line)
            yield from (found for found in operations(node.slice, handed_on, line) if isinstance(found, str))
            return
        case ast.IfExp():
            yield from operations(node.body, handed_on, line)
            yield from operations(node.orelse, handed_on, line)
            return
        case ast.comprehension():
            yield from operations(node.iter, handed_on, line)
            return
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            if name in handed_on:
                return
            yield name
        case ast.BinOp() | ast.AugAssign():
            yield node.op
        case ast.Compare() if not isinstance(node.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn):
            yield node.ops[0]
    for child in ast.iter_child_nodes(node):
        yield from operations(child, handed_on, line)


def is_equation(tree, line, label, known=(), computes=COMPUTES):
    """Whether the statement on a labelled line computes something of its own.

    It does when it holds an operator (``+``, ``@``, ``<``, ``+=`` ...) or a call of a function in `computes`. A header
    (``for``, ``if``, ``with`` ...), a name that is returned, an attribute that is read and a field of a class do not.
    Nor does a call of one of our own functions (`known`) on whose lines the label stands, whatever its arguments: the
    equation is there. ``f(x) - g(x)`` computes, whatever f and g are.

    This is necessary, not sufficient: a machine can't see whether the operator on the line is that of the equation.
    """
    statement = innermost(tree, line, ast.stmt)
    if not isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.Return | ast.Assert):
        return False
    owner = innermost(tree, line, ast.FunctionDef | ast.AsyncFunctionDef)
    itself = owner.name if owner else ""  # a method that asks its parts by its own name hands nothing on
    handed_on = {function.name for function in known if label in function.labels} - {itself}
    last = statement.end_lineno == line  # the label of a whole statement stands behind its last line
    found = operations(statement, handed_on, None if last else line)
    return any(isinstance(operation, ast.AST) or operation in computes for operation in found)


@cache
def package():
    """(functions of the package with their labels, names that compute): what `is_equation` asks for."""
    known = [function for path in SOURCES for function in functions(path.read_text(encoding="utf-8"))]
    linear_algebra = functions((ROOT / "gplvm_edu" / "linalg.py").read_text(encoding="utf-8"))
    return known, COMPUTES | {function.name for function in linear_algebra}


def labels_on_plumbing(source, known=(), computes=COMPUTES):
    """(line, label) for each label in a comment that stands on a line which is no equation."""
    tree = ast.parse(source)
    return [
        (line, label) for line, label in comment_labels(source) if not is_equation(tree, line, label, known, computes)
    ]


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


@pytest.mark.parametrize(
    "line",
    [
        "M = W.T @ W + s2 * np.eye(q)  # (1.5)",
        "Sigma -= nu * np.outer(s, s)  # (1.5)",
        "seen = nu > 0  # (1.5)",
        "return np.exp(h, out=h)  # (1.5)",
        "return X[np.argmax(R, axis=0)]  # (1.5)",
        "value = float(f(x)) - g(x)  # (1.5)",
        "means = solve(L, W.T @ Y.T).T  # (1.5)",
        "x = sum(part(X) for part in parts)  # (1.5)",
        "p = 0.5 * v if k is None else k  # (1.5)",
        "a = stack(\n    [b, c * d],\n)  # (1.5)",
        "a = Pair(\n    c * d,  # (1.5)\n    b,\n)",
        "def f(x):\n    return double(f(x) * y)  # (1.5)",
    ],
)
def test_a_line_that_computes_is_an_equation(line):
    assert labels_on_plumbing(line) == []


@pytest.mark.parametrize(
    "line",
    [
        "for kind in blocks:  # (1.5)\n    x = 2 * x",
        "while gain > tol:  # (1.5)\n    x = 2 * x",
        "if a > b:  # (1.5)\n    x = 2 * x",
        "with f(a * b):  # (1.5)\n    x = 2 * x",
        "if a:\n    x = 2 * x\nelse:  # (1.5)\n    x = 3 * x",
        "def f(x):  # (1.5)\n    return 2 * x",
        "# (1.5)\nx = 2 * x",
        "return found  # (1.5)",
        "return end.value  # (1.5)",
        "yield state  # (1.5)",
        "return found.mean, found.variance  # (1.5)",
        "value: float  # (1.5)",
        "x = rows[2 * n + 1]  # (1.5)",
        "x = a if n > 2 else b  # (1.5)",
        "x = [f(a) for a in b if a > 2]  # (1.5)",
        "return -value, -concatenate([a, b])  # (1.5)",
        "kernel, noise = split(kernel)  # (1.5)",
        "a = Pair(\n    c * d,\n    b,  # (1.5)\n    e * f,\n)",
    ],
)
def test_a_line_that_computes_nothing_is_plumbing(line):
    assert [label for _, label in labels_on_plumbing(line)] == ["1.5"]


def test_a_call_of_the_function_in_which_the_equation_stands_is_plumbing():
    source = (
        "def step(x):\n    return 2 * x  # (1.5)\n"
        "def loop(x):\n"
        "    y = step(x)  # (1.5)\n"
        "    y = step(x * y)  # (1.5)\n"
        "    y = step(x * y)  # (1.6), (1.5)\n"
        "    return step(y) - step(x)  # (1.5)\n"
    )
    assert labels_on_plumbing(source, list(functions(source))) == [(4, "1.5"), (5, "1.5"), (6, "1.5")]


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


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_label_stands_on_a_line_that_is_an_equation(path):
    found = labels_on_plumbing(path.read_text(encoding="utf-8"), *package())
    assert not found, f"{path.relative_to(ROOT)}: these lines compute nothing of their own: {found}"


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
