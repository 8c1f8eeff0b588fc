"""Plain and fast: every function of the lesson that has a faster one beside it, with problems for both.

Each room has its own file, `pairs_NAME.py`, with a tuple PAIRS. `test_fast.py` holds the two equal on random problems,
and the plain one against finite differences; `bench_fast.py` prints how long both are, in lines and in time.
"""

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st


class Pair(NamedTuple):
    """A plain function and its fast twin.

    name : topic and what is computed, such as "tsne: cost and gradient"
    plain, fast : called with the same problem, they return the same: an array, a number, a tuple of such, or None in it
    random_problem : ``random_problem(rng)``, the arguments of both, small: random shapes, scales, degenerate cases
    sized_problem : ``sized_problem(size)``, the arguments at a size that users have
    sizes : two of them, such as (100, 1000); `size_of` says what they are
    plain_code, fast_code : the functions whose lines count
    at : ``at(*problem)`` returns (value_and_gradient, x) of the plain one, for finite differences; None: no gradient
    """

    name: str
    plain: Callable
    fast: Callable
    random_problem: Callable
    sized_problem: Callable
    sizes: tuple
    size_of: str
    plain_code: tuple
    fast_code: tuple
    at: Callable | None = None


def all_pairs() -> list[Pair]:
    """Of every room, in the order of their names."""
    files = sorted(Path(__file__).parent.glob("pairs_*.py"))
    return [pair for path in files for pair in importlib.import_module(path.stem).PAIRS]


seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)  # a problem from each of them


def parts_of(answer) -> list[Any]:
    """The arrays and numbers of an answer, whatever tuples they stand in."""
    if isinstance(answer, (tuple, list)):
        return [part for item in answer for part in parts_of(item)]
    return [answer]


def lines_of(functions) -> int:
    """Lines of code, without docstrings, comments on lines of their own, and blank lines."""
    total = 0
    for function in functions:
        text, _ = inspect.getsourcelines(function)
        doc = inspect.getdoc(function)
        body = "".join(text)
        if doc and '"""' in body:
            start = body.index('"""')
            body = body[:start] + body[body.index('"""', start + 3) + 3 :]
        lines = [line.strip() for line in body.splitlines()]
        total += sum(bool(line.strip('r"')) and not line.startswith("#") for line in lines)
    return total
