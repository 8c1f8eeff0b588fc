"""Exercises that answer back: ``check("ppca.2", my_function)``.

A checker looks at an answer and returns None when it is right, or a hint. `check` never raises: an answer that
breaks is told how it broke, and one that is still ``...`` is not answered yet.
"""

import dis
import importlib
from typing import NamedTuple

import numpy as np

_CHECKERS: dict = {}


class Verdict(NamedTuple):
    """What `check` found: `passed` is True, False, or None for "not answered yet"."""

    name: str
    passed: bool | None
    message: str

    def __repr__(self):
        mark = {True: "passed", False: "not yet", None: "not answered yet"}[self.passed]
        return f"{self.name}: {mark}" + (f". {self.message}" if self.message else "")

    def __bool__(self):
        return self.passed is True


def checker(name):
    """Decorator: register a function(answer) -> hint or None as the checker of exercise `name`."""

    def register(function):
        _CHECKERS[name] = function
        return function

    return register


def close(ours, theirs, rtol=1e-6, atol=1e-9) -> bool:
    """Whether two answers are the same numbers in the same shape, up to rounding: how checkers compare.

    Examples
    --------
    >>> close([1.0, 2.0], np.array([1.0, 2.0 + 1e-7])), close([1.0, 1.0], 1.0)
    (True, False)
    """
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    return ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=rtol, atol=atol)


def exercise_names(topic) -> list[str]:
    """The exercises of a topic, in order.

    Examples
    --------
    >>> exercise_names("ppca")[0]
    'ppca.1'
    """
    importlib.import_module(f"{__name__}.{topic}")
    return sorted((n for n in _CHECKERS if n.startswith(topic + ".")), key=lambda n: int(n.split(".")[1]))


def check(name, answer=...) -> Verdict:
    """Look at the answer to an exercise and say: passed, a hint, or not answered yet.

    Parameters
    ----------
    name : str
        Topic and number, such as "ppca.2".
    answer : anything
        A number, an array or a function, as the exercise asks.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> check("ppca.1", ...)
    ppca.1: not answered yet
    >>> check("ppca.99", 3.0)
    ppca.99: not yet. There is no such exercise; ppca has ppca.1 to ppca.7.
    """
    topic = str(name).split(".")[0]
    try:
        known = exercise_names(topic)
    except ModuleNotFoundError:
        return Verdict(str(name), False, f'There is no topic named {topic!r}; write for example "ppca.1".')
    if name not in known:
        return Verdict(str(name), False, f"There is no such exercise; {topic} has {known[0]} to {known[-1]}.")
    if answer is ... or answer is None or _is_unwritten(answer):
        return Verdict(name, None, "")
    try:
        hint = _CHECKERS[name](answer)
    except Exception as error:
        return Verdict(name, False, f"Your answer could not be used: {type(error).__name__}: {error}")
    if hint is None:
        return Verdict(name, True, "")
    return Verdict(name, False, hint)


def _is_unwritten(answer):
    """A function whose body is still `...`, `pass` or a docstring: it does nothing but return None."""
    code = getattr(answer, "__code__", None)
    if code is None:
        return False
    loaded = [step for step in dis.get_instructions(code) if step.opname.startswith(("LOAD", "RETURN"))]
    return all(step.argval is None for step in loaded) and not code.co_names
