"""What each estimator is for and what it takes: read from its docstring, known from its class, shown in the README."""

import inspect
import re
from pathlib import Path
from typing import NamedTuple

import gplvm_edu
from gplvm_edu.base import PAIRWISE, MapModel

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
QUESTIONS = ("transform", "inverse_transform", "impute", "score_samples", "sample", "predict")
EVERYWHERE, IN_NEW_ROWS, FILLED, NOWHERE = "in fit and in new rows", "in new rows, not in transform", "in impute", "no"
SIZES = (200, 1000, 3000)
UNKNOWN = "?"  # seconds that nobody has measured yet
SECONDS = r"(?:[~>]?\d+(?:\.\d+)?|\?)"
BEGIN, END = "<!-- which estimator: written by tests/bench_defaults.py -->\n", "<!-- which estimator: end -->\n"
MEASURED = tuple(f"N = {N}" for N in SIZES)
HEAD = ("estimator", "use it when", "columns", "NaN", "new rows", "density", "cost", *MEASURED, "chapter")

# In the order of the chapters, and as `gplvm_edu/__init__.py` imports them within one.
ESTIMATORS = sorted(
    (model for model in vars(gplvm_edu).values() if inspect.isclass(model) and hasattr(model, "fit")),
    key=lambda model: next(path.name for path in ROOT.glob(f"book/[0-9]*_{model.__module__.split('.')[1]}.ipynb")),
)


class Words(NamedTuple):
    """The block that a docstring begins with, after its first sentence."""

    use: str
    columns: str
    gaps: str
    answers: tuple
    cost: str
    seconds: str
    chapter: int
    page: str


class Truth(NamedTuple):
    """The same, as far as the class knows it."""

    gaps: str
    answers: tuple
    chapter: int
    page: str
    any_units: bool
    metrics: tuple


BLOCK = re.compile(
    r"\A\S[^\n]*\n\nUse it when (?P<use>[^\n]+)\.\n\n"
    r"Columns: (?P<columns>[^\n]+)\.\n"
    r"NaN: (?P<gaps>[^\n]+)\.\n"
    r"Answers: (?P<answers>[^\n]+)\.\n"
    rf"Cost: (?P<cost>[^\n]+); at N = 1000, by default, (?P<seconds>{SECONDS}) seconds\.\n"
    r"Chapter: (?P<chapter>\d+) \((?P<page>\S+)\)\.\n"
)


def words(model) -> Words:
    """What the docstring of an estimator says in its first lines.

    >>> words(gplvm_edu.PPCA).chapter, words(gplvm_edu.TSNE).answers
    (1, ('fit_transform',))
    """
    found = BLOCK.match(inspect.getdoc(model))
    if not found:
        raise ValueError(f"The docstring of {model.__name__} does not begin with the block that {__name__} reads.")
    told = found.groupdict()
    return Words(**{**told, "answers": tuple(told["answers"].split(", ")), "chapter": int(told["chapter"])})


def truth(model) -> Truth:
    """What the class itself knows.

    >>> truth(gplvm_edu.GTM).gaps, truth(gplvm_edu.GPLVM).gaps, truth(gplvm_edu.Isomap).gaps
    ('in fit and in new rows', 'in new rows, not in transform', 'no')
    """
    plain, why_not = model(), model.why_not
    can = [method for method in QUESTIONS if hasattr(model, method) and method not in why_not]
    if plain.__sklearn_tags__().input_tags.allow_nan:
        gaps = EVERYWHERE
    else:
        placed = IN_NEW_ROWS if issubclass(model, MapModel) else FILLED
        gaps = placed if "impute" in can else NOWHERE
    answers = (*can, "map_") if issubclass(model, MapModel) else tuple(can)
    page = next(ROOT.glob(f"book/[0-9]*_{model.__module__.split('.')[1]}.ipynb"))
    return Truth(
        gaps,
        answers or ("fit_transform",),
        int(page.name[:2]),
        page.relative_to(ROOT).as_posix(),
        bool(getattr(plain, "any_units", "")),
        tuple(metric for metric in PAIRWISE if takes_metric(plain, metric)),
    )


def takes_metric(model, metric) -> bool:
    """Whether Y may be a square matrix of this kind."""
    if "metric" not in model.get_params():
        return False
    try:
        model.rules["metric"]("metric", metric)
    except ValueError:
        return False
    return True


# ---------------------------------------------------------------------------------------------- the README's table
def row(model, seconds) -> str:
    """One line of the table, from the class, its docstring, and the seconds for each of `SIZES`."""
    told, known = words(model), truth(model)
    new = "yes" if {"transform", "predict"} & set(known.answers) else "no"
    density = "yes" if "score_samples" in known.answers else "no"
    cells = (f"`{model.__name__}`", told.use, told.columns, told.gaps, new, density, told.cost, *seconds)
    return f"| {' | '.join(cells)} | [{known.chapter}]({known.page}) |\n"


def table(seconds) -> str:
    """The whole table in Markdown; `seconds` is {name: one text for each of `SIZES`}."""
    lines = [f"| {' | '.join(HEAD)} |\n", f"|{'---|' * len(HEAD)}\n"]
    return "".join(lines + [row(model, seconds[model.__name__]) for model in ESTIMATORS])


def table_in_readme() -> str:
    """The table as it stands in the README."""
    text = README.read_text(encoding="utf-8")
    return text[text.index(BEGIN) + len(BEGIN) : text.index(END)]


def seconds_in_readme() -> dict[str, tuple]:
    """{name: seconds for each of `SIZES`}, as the README has them; what it does not have is unknown."""
    found = {model.__name__: (UNKNOWN,) * len(SIZES) for model in ESTIMATORS}
    for line in table_in_readme().splitlines()[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        found[cells[0].strip("`")] = tuple(cells[7 : 7 + len(SIZES)])
    return found


def write(seconds) -> None:
    """Put the table into the README, and the seconds at N = 1000 into the docstrings."""
    text = README.read_text(encoding="utf-8")
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    README.write_text(text[:begin] + table(seconds) + text[end:], encoding="utf-8", newline="\n")
    for model in ESTIMATORS:
        path = Path(inspect.getsourcefile(model))
        source = path.read_text(encoding="utf-8")
        at = source.index(f"\nclass {model.__name__}(")
        line = rf"(at N = 1000, by default, ){SECONDS}( seconds\.)"
        new = re.sub(line, rf"\g<1>{seconds[model.__name__][SIZES.index(1000)]}\g<2>", source[at:], count=1)
        path.write_text(source[:at] + new, encoding="utf-8", newline="\n")
