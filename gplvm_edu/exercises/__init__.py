"""Exercises that answer back: ``check("ppca.2", my_function)``.

A checker looks at an answer and returns None when it is right, or a hint. `check` never raises: an answer that
breaks is told how it broke, one that does not end is stopped, and one that is still ``...`` is not answered yet.

How checkers read and compare answers is in `answers`, how an answer is run in `guard`.
"""

import copy
import dis
import importlib
import os
import pkgutil
import threading
from types import CodeType
from typing import NamedTuple

import numpy as np

from .answers import Unusable, kind_of
from .guard import TimeUp, within

SECONDS = 20.0  # after which an answer is stopped, unless `check` or GPLVM_EDU_CHECK_SECONDS says otherwise
SHOWN = 1000  # characters of a hint or of an error

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


def topics() -> list[str]:
    """The topics that have exercises: the modules beside this one that hold checkers.

    Examples
    --------
    >>> topics()[:3]
    ['gplvm', 'gtm', 'gtm_variants']
    """
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name not in ("answers", "guard"))


def exercise_names(topic) -> list[str]:
    """The exercises of a topic, in order.

    Examples
    --------
    >>> exercise_names("ppca")[0]
    'ppca.1'
    """
    if topic not in topics():
        raise ValueError(f"There is no topic named {topic!r}; those with exercises are {', '.join(topics())}.")
    importlib.import_module(f"{__name__}.{topic}")
    return sorted((n for n in _CHECKERS if n.startswith(topic + ".")), key=lambda n: int(n.split(".")[1]))


def check(name, answer=..., seconds=None) -> Verdict:
    """Look at the answer to an exercise and say: passed, a hint, or not answered yet.

    Parameters
    ----------
    name : str
        Topic and number, such as "ppca.2".
    answer : anything
        A number, an array or a function, as the exercise asks. A function is given copies: it may change them.
    seconds : float, optional
        When to stop an answer that does not end. None: as many as the environment variable GPLVM_EDU_CHECK_SECONDS
        says, else `SECONDS`; ``float("inf")``: never.

    Returns
    -------
    Verdict

    Notes
    -----
    Nothing that an answer raises gets out, but the reader's own Ctrl-C does. Afterwards the streams, the warning
    filters, the global random numbers and numpy's settings are as they were: see `guard`.

    Examples
    --------
    >>> check("ppca.1", ...)
    ppca.1: not answered yet
    >>> check("ppca.99", 3.0)
    ppca.99: not yet. There is no such exercise; ppca has ppca.1 to ppca.7.
    """
    if not isinstance(name, str):
        return _told(
            "check", False, f'The name of an exercise is text such as "ppca.1"; this is of type {kind_of(name)}.'
        )
    name = str.__str__(name)
    topic = name.split(".")[0]
    if topic not in topics():
        return _told(name, False, f'There is no topic named {topic!r}; write for example "ppca.1".')
    known = exercise_names(topic)
    if name not in known:
        return _told(name, False, f"There is no such exercise; {topic} has {known[0]} to {known[-1]}.")
    limit = _limit(seconds)
    if limit is None:
        return _told(name, False, "The time limit, `seconds` or GPLVM_EDU_CHECK_SECONDS, is a number above 0.")
    verdict, stuck = within(limit, lambda: _verdict(name, answer))
    return _told(name, False, _overtime(name, limit, stuck)) if verdict is None else verdict


def _limit(seconds):
    """Seconds that an answer may take, or None where what was given is no such number."""
    if seconds is None:
        seconds = os.environ.get("GPLVM_EDU_CHECK_SECONDS") or SECONDS
    try:
        seconds = float(seconds)
    except Exception:
        return None
    return seconds if seconds > 0 else None


def _verdict(name, answer):
    """What the checker says of an answer, or how the answer broke."""
    try:
        if answer is ... or answer is None or _is_unwritten(answer):
            return Verdict(name, None, "")
        hint = _CHECKERS[name](_careful(answer) if callable(answer) else answer)
    except TimeUp:
        raise
    except KeyboardInterrupt as error:
        if threading.current_thread() is threading.main_thread():
            raise  # there answers run only where there are no threads, and then it may be the reader's
        hint = _broken(error)
    except BaseException as error:  # SystemExit too: a notebook goes on
        hint = _broken(error)
    return _told(name, hint is None, hint or "")


def _careful(function):
    """The reader's function, which gets copies of what the checker hands to it; so the checker's own stay whole."""

    def called(*arguments):
        with np.errstate():
            value = function(*copy.deepcopy(arguments))
        if value is None:
            raise Unusable("Your function returns nothing. Does it end with `return` and the result?")
        return value

    return called


def _is_unwritten(answer):
    """A function whose body is still `...`, `pass` or a docstring: it does nothing but return None."""
    code = getattr(answer, "__code__", None)
    if not isinstance(code, CodeType):
        return False
    steps = list(dis.get_instructions(code))
    if any("JUMP" in step.opname or "YIELD" in step.opname for step in steps):  # a loop, a generator
        return False
    loaded = [step for step in steps if step.opname.startswith(("LOAD", "RETURN"))]
    return all(step.argval is None for step in loaded) and not code.co_names


# ---------------------------------------------------------------------- what is said
def _told(name, passed, message):
    """A verdict whose texts are no longer than a reader reads."""
    name, message = (text if len(text) <= SHOWN else text[:SHOWN] + " ..." for text in (name, message))
    return Verdict(name, passed, message)


def _broken(error):
    """What an answer raised, in words, even if the error itself has none."""
    try:
        return str(error) if type(error) is Unusable else f"Your answer could not be used: {kind_of(error)}: {error}"
    except TimeUp:
        raise
    except BaseException:
        return "Your answer could not be used: it raised an error that cannot be shown."


def _overtime(name, seconds, stuck):
    """What is said when the time was up."""
    end = "It cannot be stopped and goes on in the background; restart the kernel to be rid of it." if stuck else ""
    return (
        f"Your answer was stopped after {seconds:g} seconds. Is there a loop in it that does not end? If it only needs "
        f'longer, give it more time: check("{name}", ..., seconds={10 * seconds:g}). {end}'
    ).strip()
