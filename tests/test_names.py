"""A name that the package itself does not have: where it lives is said, and nothing else changes."""

import importlib
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import gplvm_edu
from gplvm_edu import names

ELSEWHERE = {"RBF": "kernels", "LatentDisplay": "plotting", "Probit": "noise", "load_table": "datasets"}


@pytest.mark.bad_input
@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_name_of_another_module_is_told_by_import_and_by_attribute(name):
    home = f"gplvm_edu.{ELSEWHERE[name]}"
    sentence = f"It lives in {home}: from {home} import {name}."
    with pytest.raises(ImportError) as caught:
        exec(f"from gplvm_edu import GPLVM, {name}")
    assert str(caught.value) == f"cannot import name '{name}' from 'gplvm_edu'. {sentence}"
    assert caught.value.name == "gplvm_edu"
    with pytest.raises(AttributeError) as missed:
        getattr(gplvm_edu, name)
    assert str(missed.value) == f"module 'gplvm_edu' has no attribute '{name}'. {sentence}"
    assert not hasattr(gplvm_edu, name) and getattr(gplvm_edu, name, 3) == 3
    exec(f"from {home} import {name}")


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "name, says",
    [
        ("TSNEGPLVM", "Did you mean TSNEPriorGPLVM?"),
        ("GPVLM", "Did you mean GPLVM?"),
        ("Gplvm", "Did you mean GPLVM"),
        ("SOM", "Did you mean BatchSOM?"),
        ("MDS", "Did you mean ClassicalMDS, MetricMDS, NonMetricMDS?"),
        ("Matern", "Did you mean Matern32? It lives in gplvm_edu.kernels."),
        ("LatentDisplays", "Did you mean LatentDisplay? It lives in gplvm_edu.plotting."),
    ],
)
def test_the_nearest_name_is_told(name, says):
    with pytest.raises(ImportError, match="cannot import name") as caught:
        exec(f"from gplvm_edu import {name}")
    assert says.removesuffix("?") in str(caught.value).replace(" or ", ", ")


def test_every_public_name_has_a_home_that_has_it():
    homes = names.homes_of_names()
    assert set(gplvm_edu.__all__) <= set(homes)
    for name, home in homes.items():
        assert hasattr(importlib.import_module(home), name), (name, home)


def test_a_name_that_nothing_is_near_is_answered_by_python_itself():
    with pytest.raises(ImportError, match=r"cannot import name 'zzz' from 'gplvm_edu' \("):
        exec("from gplvm_edu import zzz")
    assert not hasattr(gplvm_edu, "zzz") and not hasattr(gplvm_edu, "")
    for asked in ("dummy", "__doc__", "__nothing__", "_private"):
        assert __import__("gplvm_edu", fromlist=[asked]) is gplvm_edu  # as some tools do
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'gplvm_edu\.RBF'"):
        importlib.import_module("gplvm_edu.RBF")


def test_tools_that_look_at_a_module_are_not_disturbed():
    assert inspect.unwrap(gplvm_edu) is gplvm_edu and inspect.getdoc(gplvm_edu)
    assert {name for name, _ in inspect.getmembers(gplvm_edu)} >= set(gplvm_edu.__all__)
    assert pickle.loads(pickle.dumps(gplvm_edu.PPCA(3))).n_components == 3
    with pytest.raises((AttributeError, pickle.UnpicklingError), match="RBF"):
        pickle.loads(b"cgplvm_edu\nRBF\n.")
    star: dict = {}
    exec("from gplvm_edu import *", star)
    assert set(star) - {"__builtins__"} == set(gplvm_edu.__all__)


MODULES = """
import gplvm_edu
try:
    gplvm_edu.plotting
except AttributeError as error:
    assert "It is a module: import gplvm_edu.plotting." in str(error), error
else:
    raise SystemExit("it was imported already")
assert not hasattr(gplvm_edu, "plotting")
import sys
assert not hasattr(gplvm_edu, "LatentDisplay") and "matplotlib" not in sys.modules
from gplvm_edu import exercises, plotting
assert gplvm_edu.plotting is plotting and hasattr(gplvm_edu, "exercises")
"""


def test_a_module_that_is_not_imported_yet_can_be():
    root = Path(gplvm_edu.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", MODULES], capture_output=True, text=True, timeout=120, cwd=root)
    assert done.returncode == 0, done.stderr
