"""The symbols of a text's mathematics: which letters, in which dress, stand between its dollar signs."""

import re

MATHEMATICS = re.compile(r"\$\$(.+?)\$\$|\$(.+?)\$", re.DOTALL)
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
WORDS = re.compile(r"\\(?:tag|text|mathrm|textbf|operatorname|begin|end)\*?\s*\{[^{}]*\}")
DRESS = {"mathbf": "bold", "boldsymbol": "bold", "mathcal": "calligraphic"}
GREEK = set(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega varphi varepsilon vartheta varsigma Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega ell".split()
)
TOKEN = re.compile(r"\\([A-Za-z]+)|([A-Za-z])|(\S)")


def mathematics(text):
    """The formulas of a Markdown text, displayed and inline, without the code."""
    return [displayed or inline for displayed, inline in MATHEMATICS.findall(CODE.sub(" ", text))]


def symbols(formula):
    r"""The letters of one formula as {name: every occurrence has an index}; accents, words and numbers are taken off.

    >>> symbols(r"\hat{\mathbf X} = \mathbf U_q (\lambda_i - \sigma^2) \tag{1.10}")
    {'bold X': False, 'bold U': True, 'q': False, 'lambda': True, 'i': False, 'sigma': False}
    """
    tokens = TOKEN.findall(WORDS.sub(" ", formula))
    found, dress = {}, ""
    for k, (command, letter, other) in enumerate(tokens):
        if command in DRESS:
            dress = DRESS[command] + " "
        elif letter or command in GREEK:
            after = [token[2] for token in tokens[k + 1 : k + 3]]
            indexed = after[:1] == ["_"] or after == ["}", "_"]
            name = dress + (command or letter)
            found[name], dress = found.get(name, True) and indexed, ""
        elif command or other.isdigit():
            dress = ""
    return found


def all_symbols(text):
    """Those of all formulas of a text."""
    found = {}
    for formula in mathematics(text):
        for name, indexed in symbols(formula).items():
            found[name] = found.get(name, True) and indexed
    return found


def is_part_of(name, listed):
    """Whether an indexed letter is an entry, a row or a column of a matrix that is listed: y and bold y of bold Y.

    >>> is_part_of("y", {"bold Y"}), is_part_of("bold y", {"bold Y"}), is_part_of("bold Y", {"bold y"})
    (True, True, False)
    """
    letter = name.removeprefix("bold ")
    wider = {"bold " + letter.capitalize()} | ({"bold " + letter} if letter == name else set())
    return not name.startswith("calligraphic ") and bool(wider - {name} & listed)
