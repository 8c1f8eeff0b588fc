"""Words from outside, written for the language that they enter: HTML, JSON inside a script, a page with mathematics.

Python code takes `repr`, matplotlib takes `plain_text` of `gplvm_edu.plotting`. Every place that shows a name, a title
or a sentence goes through one of these. What a name is before it enters any of them is said in `gplvm_edu.plotting`.
"""

import html
import json
import re

from gplvm_edu.plotting import (
    LONGEST_NAME,
    LONGEST_TEXT,
    NOT_KNOWN,
    brief,
    class_names,
    classes_of,
    classes_of_both,
    index_into,
    is_missing,
    labels_for,
    range_of,
    readable,
    shades_of_both,
)

__all__ = [
    "LONGEST_NAME",
    "LONGEST_TEXT",
    "NOT_KNOWN",
    "as_html",
    "as_json_in_script",
    "brief",
    "class_names",
    "classes_of",
    "classes_of_both",
    "index_into",
    "is_missing",
    "labels_for",
    "range_of",
    "readable",
    "shades_of_both",
    "without_mathematics",
]

IN_SCRIPT = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
MATHEMATICS = re.compile(r"\$|\\\\")  # in JSON: a dollar, or a backslash


def as_html(text) -> str:
    """A text between tags, or between the quotes of an attribute.

    Examples
    --------
    >>> as_html("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    return html.escape(readable(text), quote=True)


def as_json_in_script(value) -> str:
    r"""Plain values as JSON that no text in it can end, and that an HTML parser reads as nothing but text.

    Examples
    --------
    >>> as_json_in_script(["<!--<script>", "a & b"])
    '["\\u003c!--\\u003cscript\\u003e","a \\u0026 b"]'
    """
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return IN_SCRIPT.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def without_mathematics(*values) -> str:
    r"""Further classes for an element with these words: where one might be taken for TeX, MathJax is to leave it alone.

    Examples
    --------
    >>> without_mathematics("oil"), without_mathematics(["oil", r"$\frac$"])
    ('', ' tex2jax_ignore mathjax_ignore')
    """
    found = MATHEMATICS.search(json.dumps(values, ensure_ascii=False, default=str))
    return " tex2jax_ignore mathjax_ignore" if found else ""
