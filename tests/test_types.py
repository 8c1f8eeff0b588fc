"""What an editor is told: the types that signatures promise, and the parameters that docstrings list."""

import collections.abc
import contextlib
import doctest
import importlib
import inspect
import io
import pkgutil
import re
import sys
import types
import typing
from functools import cache

import gplvm_widgets
import numpy as np
import pytest
from common import QUESTIONS
from test_estimators import CLASSES, data, fit, make, reason_against

import gplvm_edu
from gplvm_edu.base import Reconstruction
from gplvm_edu.noise import Terms

PACKAGES = (gplvm_edu, gplvm_widgets)
MODULES = sorted(
    module.name
    for package in PACKAGES
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    if not module.name.endswith("__main__")
)


def defined_in(module):
    """(name, object) for each public function and class of a module, and for the public methods of its classes."""
    for name, value in list(vars(module).items()):
        if getattr(value, "__module__", None) != module.__name__ or name.startswith("_"):
            continue
        if inspect.isfunction(value) or inspect.isclass(value):
            yield name, value
        if inspect.isclass(value):
            for method, function in vars(value).items():
                function = getattr(function, "__func__", getattr(function, "fget", function))  # or a property's
                if inspect.isfunction(function) and not method.startswith("_"):
                    yield f"{name}.{method}", function


# ---------------------------------------------------------------------- docstrings list the parameters there are
def listed(docstring):
    """Names in the section of parameters of a docstring: ``a, b : float`` has two; None where there is no section."""
    text = inspect.cleandoc(docstring or "")
    section = re.search(r"(?:^|\n)Parameters\n-+\n(.*?)(?=\n\n\w[\w ]*\n---|\Z)", text, re.DOTALL)
    if section is None:
        return None
    heads = [line.split(" : ")[0] for line in section[1].splitlines() if line and not line.startswith(" ")]
    return [name.strip() for head in heads for name in head.split(",")]


def test_the_reader_of_docstrings():
    text = "Sum.\n\nParameters\n----------\na, b : float\n    Two, or\n    more.\n**more : str\n\nReturns\n-------\nint"
    assert listed(text) == ["a", "b", "**more"]
    assert listed("Sum.") is None


@pytest.mark.parametrize("name", MODULES)
def test_a_docstring_that_lists_parameters_lists_those_of_the_signature(name):
    wrong = {}
    for called, value in defined_in(importlib.import_module(name)):
        documented = listed(value.__doc__)
        if documented is None:
            continue
        stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
        signature = [
            stars.get(one.kind, "") + one.name
            for one in inspect.signature(value).parameters.values()
            if one.name not in ("self", "cls")
        ]
        if sorted(documented) != sorted(signature):
            wrong[called] = sorted(set(documented) ^ set(signature)) or documented
    assert not wrong


# ---------------------------------------------------------------------- types that are promised
def agrees(value, hint, owner=object):
    """Whether a value is of the type that a hint promises; `owner` is what Self stands for."""
    kind, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is typing.Any:
        return True
    if hint is typing.Self:
        return isinstance(value, owner)
    if kind in (typing.Union, types.UnionType):
        return any(agrees(value, one, owner) for one in inner)
    if kind is tuple and inner[-1:] != (...,):
        return (
            isinstance(value, tuple)
            and len(value) == len(inner)
            and all(agrees(one, each, owner) for one, each in zip(value, inner, strict=True))
        )
    if kind in (tuple, list):
        return isinstance(value, kind) and all(agrees(one, inner[0], owner) for one in value)
    if hint is None or hint is type(None):
        return value is None
    fields = getattr(hint, "_fields", ())
    if fields and isinstance(value, hint):
        hints = typing.get_type_hints(hint)
        return all(agrees(getattr(value, name), hints.get(name, typing.Any), owner) for name in fields)
    return isinstance(value, kind or hint)


def test_the_judge_of_types():
    A = np.zeros(2)
    assert agrees(1.0, float) and agrees(np.float64(1.0), float) and not agrees(np.float32(1.0), float)
    assert not agrees(A[0:1], float) and not agrees(np.int64(1), int) and agrees(A, np.ndarray)
    assert agrees((A, 1.0), tuple[np.ndarray, float]) and not agrees((A, A), tuple[np.ndarray, float])
    assert agrees((A, A, A), tuple[np.ndarray, ...]) and not agrees((A, 1.0), tuple[np.ndarray, ...])
    assert agrees(None, np.ndarray | None) and not agrees(None, np.ndarray)
    assert agrees(iter([1]), collections.abc.Iterator) and not agrees([1], collections.abc.Iterator[int])
    assert agrees(A, typing.Self, np.ndarray) and not agrees(1, typing.Self, np.ndarray)
    assert agrees(Reconstruction(A, A, A, A), Reconstruction) and not agrees(Reconstruction(A, 1, A, A), Reconstruction)


@cache
def promises():
    """{code: (name, promised type, class)} of every public function that says what it returns."""
    found = {}
    for module in map(importlib.import_module, MODULES):
        for name, value in defined_in(module):
            hint = typing.get_type_hints(value).get("return") if inspect.isfunction(value) else None
            if hint is not None:
                owner = getattr(module, name.split(".")[0])
                found[inspect.unwrap(value).__code__] = (
                    f"{module.__name__}.{name}",
                    hint,
                    owner if inspect.isclass(owner) else object,
                )
    return found


@contextlib.contextmanager
def promises_kept():
    """While this lasts, whatever a function of the packages returns or yields is compared with what it promised."""
    known, broken, before = promises(), {}, sys.getprofile()

    def judge(frame, event, value):
        if event != "return" or frame.f_code not in known or value is None:  # None also comes of an exception
            return
        name, hint, owner = known[frame.f_code]
        hints = [hint]
        if frame.f_code.co_flags & inspect.CO_GENERATOR:  # what it yields, or returns at its end
            hints = [one for one in typing.get_args(hint) if one is not type(None)] or [typing.Any]
        values = [value]
        if name.startswith("gplvm_edu.noise."):  # elementwise: a number for a number
            values += [type(value)(*map(np.asarray, value))] if isinstance(value, Terms) else []
            values += [tuple(map(np.asarray, value))] if type(value) is tuple else []
        if not any(agrees(given, one, owner) for given in values for one in hints):
            broken[name] = f"promised {hint}, gave {type(value).__name__}: {str(value)[:80]}"

    sys.setprofile(judge)
    try:
        yield broken
    finally:
        sys.setprofile(before)
    assert not broken


def test_a_broken_promise_is_seen(monkeypatch):
    module = importlib.import_module("gplvm_edu.linalg")
    monkeypatch.setitem(promises(), module.log_determinant.__code__, ("log_determinant", np.ndarray, object))
    with pytest.raises(AssertionError), promises_kept():
        module.log_determinant(np.eye(2))


@pytest.mark.parametrize("name", MODULES)
def test_every_type_that_is_named_exists(name):
    for _, value in defined_in(importlib.import_module(name)):
        typing.get_type_hints(value)
        typing.get_type_hints(getattr(value, "__init__", value))


@pytest.mark.parametrize("name", CLASSES)
def test_an_estimator_returns_what_it_promises(name):
    Y = data()
    model = make(name, **({"max_iter": 30} if name == "FactorAnalysis" else {}))
    with promises_kept():
        assert fit(model) is model
        for method in QUESTIONS:
            if hasattr(model, method) and reason_against(model, method) is None:
                getattr(model, method)(*arguments(model, method, Y))


@pytest.mark.parametrize("name", CLASSES)
def test_the_defaults_of_an_estimator_are_of_the_types_that_it_takes(name):
    hints = typing.get_type_hints(CLASSES[name].__init__)
    for one in inspect.signature(CLASSES[name]).parameters.values():
        assert agrees(one.default, hints.get(one.name, typing.Any)), (
            f"{one.name}={one.default!r} is no {hints[one.name]}"
        )


def arguments(model, method, Y):
    if method == "sample":
        return (3,)
    if method == "score" and hasattr(model, "classes_"):
        return Y[:5], model.predict(Y[:5])
    return (model.embedding_[:5] if method in ("inverse_transform", "log_precision", "jacobian") else Y[:2],)


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("gplvm_edu.")])
def test_the_examples_of_functions_return_what_they_promise(name):
    """Whether an example prints what it should is the business of doctest; here only types count."""
    module, finder, runner = importlib.import_module(name), doctest.DocTestFinder(), doctest.DocTestRunner()
    with promises_kept():
        for called, value in defined_in(module):
            if not hasattr(value, "fit"):  # estimators, which take longer, have the test above
                for test in finder.find(value, called, module, globs=dict(vars(module))):
                    runner.run(test, out=io.StringIO().write, clear_globs=False)
