"""Show the source of package functions, without their docstrings, inside a chapter."""

import ast
import inspect
import io
import re
import textwrap
import tokenize
from typing import Any

from IPython.display import Markdown

from .words import as_html

LABEL_COLUMN = 60


def source_without_docstring(function) -> str:
    """Source text of a function as it stands in the package, comments and labels kept.

    Left out are the docstring, and the line above the function that says how many threads it gets.

    Examples
    --------
    >>> from gplvm_edu.linalg import log_determinant
    >>> print(source_without_docstring(log_determinant))
    def log_determinant(L) -> float:
        return 2.0 * np.sum(np.log(np.diag(L)))   # (A.9)
    """
    text = textwrap.dedent(inspect.getsource(function))
    definition: Any = ast.parse(text).body[0]
    lines = _narrow_comments(text)
    if ast.get_docstring(definition) is not None:
        del lines[definition.body[0].lineno - 1 : definition.body[0].end_lineno]
    first = definition.lineno - 1 if getattr(definition, "decorator_list", None) and _only_threads(definition) else 0
    return "\n".join(lines[first:])


def _only_threads(definition):
    return all(ast.unparse(decorator).startswith("suited(") for decorator in definition.decorator_list)


def _narrow_comments(text):
    """The lines of a source text, comments at line ends moved left so that a page need not be scrolled."""
    lines = text.rstrip().splitlines()
    comments = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        row, column = token.start
        if token.type == tokenize.COMMENT and lines[row - 1][:column].strip():
            comments[row - 1] = lines[row - 1][:column].rstrip(), token.string
    column = min(max((len(code) for code, _ in comments.values()), default=0), LABEL_COLUMN) + 3
    for row, (code, comment) in comments.items():
        lines[row] = code.ljust(column - 1) + " " + comment if len(code) < column else f"{code}  {comment}"
    return lines


def show_source(*functions, folded="") -> Markdown:
    """The functions as highlighted Python, as the last value of a cell; `folded`: summary of a fold around them."""
    text = "\n\n\n".join(map(source_without_docstring, functions))
    fence = max(["``", *re.findall("`+", text)], key=len) + "`"  # longer than any in the source
    text = f"{fence}python\n{text}\n{fence}"
    return Markdown(f"<details><summary>{as_html(folded)}</summary>\n\n{text}\n\n</details>" if folded else text)
