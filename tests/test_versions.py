"""The oldest versions that pyproject.toml allows: tools/oldest.py finds one for each dependency."""

import doctest
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TOOL = ROOT / "tools" / "oldest.py"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BOUNDED = [extra for extra in PROJECT["optional-dependencies"] if extra != "peers"]


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


oldest = load(TOOL)


def test_its_examples_run():
    result = doctest.testmod(oldest, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0


def test_each_dependency_has_one_constraint():
    answer = subprocess.run([sys.executable, str(TOOL)], capture_output=True, text=True, check=True)
    lines = [line for line in answer.stdout.splitlines() if not line.startswith("#")]
    texts = [*PROJECT["dependencies"], *(text for extra in BOUNDED for text in PROJECT["optional-dependencies"][extra])]
    names = {re.match(r"[\w.-]+", text)[0] for text in texts} - {PROJECT["name"]}
    assert all(re.fullmatch(r"[\w.-]+==[\d.]+", line) for line in lines), lines
    assert sorted(line.split("==")[0] for line in lines) == sorted(names)


def test_an_extra_that_is_named_brings_only_its_own():
    assert oldest.requirements(PROJECT, ["plot"]) == [
        *PROJECT["dependencies"],
        *PROJECT["optional-dependencies"]["plot"],
    ]


@pytest.mark.bad_input
def test_a_dependency_without_a_lower_bound_is_named():
    project = {"name": "ours", "dependencies": ["numpy>=1.26", "scipy<2"]}
    with pytest.raises(ValueError, match=r"'scipy<2' in pyproject\.toml has no lower bound.*Write scipy>="):
        [oldest.constraint(text) for text in oldest.requirements(project)]


@pytest.mark.bad_input
def test_an_unknown_extra_is_answered_with_those_there_are():
    answer = subprocess.run([sys.executable, str(TOOL), "plots"], capture_output=True, text=True)
    assert answer.returncode == 1
    assert "no extra 'plots'" in answer.stderr
    assert "plot" in answer.stderr.split("It has:")[1]
    assert "Traceback" not in answer.stderr
