"""Found at once: what an estimator is for, takes and costs stands where a reader looks first, and is true."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import bench_defaults
import facts
import pytest
from facts import ESTIMATORS, SIZES, UNKNOWN

import gplvm_edu

each = pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: model.__name__)
PROXIMITIES = {"precomputed": "a kernel matrix", "similarity": "similarities", "distance": "distances"}
SQUARED = "squared_distance"  # said with "distances"


def test_every_estimator_is_there():
    names = {model.__name__ for model in ESTIMATORS}
    assert names == {name for name in gplvm_edu.__all__ if inspect.isclass(getattr(gplvm_edu, name))}
    assert len(names) == 24


@each
def test_the_docstring_says_what_the_class_does(model):
    told, known = facts.words(model), facts.truth(model)
    assert told.gaps == known.gaps
    assert told.answers == known.answers
    assert (told.chapter, told.page) == (known.chapter, known.page)
    assert ("comparable scale" in told.columns) == (not known.any_units)
    found = tuple(metric for metric in PROXIMITIES if PROXIMITIES[metric] in told.columns)
    assert set(found) == set(known.metrics) - {SQUARED}
    assert told.cost.startswith("O(")


@each
def test_help_begins_with_it(model):
    lines = inspect.getdoc(model).splitlines()
    assert lines[2].startswith("Use it when ") and lines[8].startswith("Chapter: ") and lines[9] == ""


def test_the_readme_has_the_same_as_one_table():
    assert facts.table_in_readme() == facts.table(facts.seconds_in_readme()), (
        "run `python tests/bench_defaults.py --table --write`"
    )


@each
def test_the_seconds_of_the_docstring_are_those_of_the_readme(model):
    seconds = facts.seconds_in_readme()[model.__name__]
    assert facts.words(model).seconds == seconds[SIZES.index(1000)]
    assert all(re.fullmatch(facts.SECONDS, text) for text in seconds)


@pytest.mark.parametrize("lie", ["NaN: no.", "NaN: in fit and in new rows.", "Answers: transform.", "Chapter: 1 (book"])
def test_a_false_line_is_found(lie):
    key = lie.split(":")[0]
    text = inspect.getdoc(gplvm_edu.GPLVM)
    line = next(line for line in text.splitlines() if line.startswith(key))
    false = text.replace(line, lie if lie.endswith(".") else line.replace("Chapter: 5 (book", lie))
    Lying = type("Lying", (gplvm_edu.GPLVM,), {"__doc__": false, "__module__": gplvm_edu.GPLVM.__module__})
    told, known = facts.words(Lying), facts.truth(Lying)
    assert (told.gaps, told.answers, told.chapter) != (known.gaps, known.answers, known.chapter)


def test_seconds_reach_the_readme_and_the_docstrings(tmp_path, monkeypatch):
    """Into copies of them."""
    source = Path(inspect.getsourcefile(gplvm_edu.PPCA)).read_text(encoding="utf-8")
    copies = {"README.md": facts.README.read_text(encoding="utf-8"), "estimators.py": source}
    for name, text in copies.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    chosen = [model for model in ESTIMATORS if model.__module__ == "gplvm_edu.ppca.estimators"]
    seconds = {model.__name__: ("0.01", f"{n}.5", "~70") for n, model in enumerate(chosen)}
    monkeypatch.setattr(facts, "ESTIMATORS", chosen)
    monkeypatch.setattr(facts, "README", tmp_path / "README.md")
    monkeypatch.setattr(facts.inspect, "getsourcefile", lambda model: str(tmp_path / "estimators.py"))
    facts.write(seconds)
    assert facts.seconds_in_readme() == seconds
    written = (tmp_path / "estimators.py").read_text(encoding="utf-8")
    assert [f"by default, {n}.5 seconds." in written for n in range(3)] == [True] * 3
    assert len(written.splitlines()) == len(source.splitlines()) and UNKNOWN not in seconds["PPCA"]


@pytest.mark.long
def test_one_fit_is_measured_in_a_process_of_its_own():
    assert re.fullmatch(r"\d+\.\d+", bench_defaults.seconds_of("PPCA", 200))
    assert bench_defaults.seconds_of("GPLVM", 2000, limit=1.0)[0] in ">~"


@pytest.mark.bad_input
def test_an_unknown_name_is_answered_with_those_there_are():
    ask = [sys.executable, bench_defaults.__file__, "PCA"]
    told = subprocess.run(ask, capture_output=True, text=True, timeout=120)
    assert told.returncode == 2 and "no estimator PCA; there are PPCA" in told.stderr
