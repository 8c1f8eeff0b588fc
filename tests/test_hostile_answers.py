"""Answers that no checker may let pass, and answers that would break a checker or the reader's kernel.

The right answers are those of the chapters (cells with the tag "solution"); here each is spoilt in many ways.
"""

import ast
import itertools
import os
import random
import signal
import sys
import threading
import time
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

import nbformat
import numpy as np
import pytest
from jupyter_client.manager import start_new_kernel

from gplvm_edu.exercises import SHOWN, check, exercise_names, guard, topics
from gplvm_edu.exercises.answers import Unusable, number, numbers, whole_numbers

BOOK = Path(__file__).resolve().parents[1] / "book"
EXERCISES = [name for topic in topics() for name in exercise_names(topic)]
WITHOUT_NUMBERS = ("kernels.7", "prediction.5", "tsne.8")  # text, True or False
VALUES = (  # a number, an array or a table is asked for; elsewhere a function
    *("gtm.6", "gtm_variants.10", "kernels.5", "noise.4", "noise.7", "ppca.5"),
    *("proximity.6", "proximity.7", "unify.5", "variational.7", "wishart.5"),
)
NUMERIC = [name for name in EXERCISES if name not in WITHOUT_NUMBERS]
SHORT = 0.3  # seconds: for answers that do not end
FROM_THE_CHAPTER = {  # solutions made from what the chapter fitted before: such values as they find
    "wishart.5": 746,
    "noise.7": ([5, 6, 2, 3, 9, 7, 8, 1, 4, 11, 10, 0], [8, 11, 4, 7, 5, 0, 1, 9, 2, 10, 6, 3]),
    "gtm.6": {200: -500.0, 50: -100.0, 10: 40.0},
}
TURNED, DIFFERENCES, READ_OFF = "a map may be turned over", "only differences are asked for", "read off a curve"
AS_RIGHT = {  # changes that leave an answer right: of an exercise, or of one part of its answer
    "negated": {
        "ppca.6": "W and -W have the same W W'",
        "proximity.5": TURNED,
        "unify.2": TURNED,
        ("wishart.2", 0): TURNED,
        ("wishart.6", 0): TURNED,
        ("gtm.6", 2): DIFFERENCES,
    },
    "one larger": {
        "proximity.5": "a map may be shifted",
        "unify.2": "a map may be shifted",
        "gtm.6": DIFFERENCES,
        "gtm_variants.10": DIFFERENCES,
        "wishart.5": READ_OFF,
        "kernels.5": READ_OFF,
        "ppca.5": READ_OFF,
    },
}
pytestmark = pytest.mark.bad_input


# ---------------------------------------------------------------------- the right answers
@cache
def solutions(topic):
    """{exercise: right answer} of a chapter, from its imports and its solution cells alone."""
    (path,) = BOOK.glob(f"[0-9][0-9]_{topic}.ipynb")
    cells = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    imports = (ast.Import, ast.ImportFrom)
    steps = [step for cell in cells for step in ast.parse(cell.source).body if isinstance(step, imports)]
    for cell in cells:
        if "solution" in cell.metadata.get("tags", ()):
            steps += ast.parse(cell.source).body
    found, names = {}, {}
    for step in steps:
        if not isinstance(step, imports):
            names["check"] = lambda name, answer: found.setdefault(name, answer) is answer
        with suppress(NameError):  # a step that needs more of the chapter: see FROM_THE_CHAPTER
            exec(compile(ast.Module([step], []), str(path), "exec"), names)
    return found


def right(name):
    """The right answer to an exercise."""
    if name in FROM_THE_CHAPTER:
        return FROM_THE_CHAPTER[name]
    return solutions(name.split(".")[0])[name]


@cache
def calls_of(name):
    """What a right answer returns in each call of its checker; the answer itself, where it is no function."""
    answer, values = right(name), []
    if not callable(answer):
        return [answer]

    def noting(*arguments):
        values.append(answer(*arguments))
        return values[-1]

    assert check(name, noting)
    return values


def replayed(name):
    """The right answer to an exercise, which returns at once what it returned before."""
    answer, values, calls = right(name), calls_of(name), itertools.count()
    if not callable(answer):
        return answer

    def replaying(*arguments):
        call = next(calls)
        return values[call] if call < len(values) else answer(*arguments)

    return replaying


def changed(answer, change, part=0, call=None):
    """An answer with a change made to one part of it, or of what it returns, in each call or in one only."""
    if not callable(answer):
        if isinstance(answer, dict):
            key = list(answer)[part]
            return answer | {key: change(np.asarray(answer[key]))}
        if isinstance(answer, tuple):
            return tuple(change(np.asarray(p)) if k == part else p for k, p in enumerate(answer))
        return change(np.asarray(answer))
    calls = itertools.count()

    def function(*arguments):
        value = answer(*arguments)
        return changed(value, change, part) if call in (None, next(calls)) else value

    return function


def parts_of(value):
    """In how many places of an answer a change can be made."""
    return len(value) if isinstance(value, (tuple, dict)) else 1


def in_place(array, value, place):
    array = np.array(array, dtype=np.result_type(array, type(value)))
    array.flat[place] = value
    return array


def masked(array):
    return np.ma.array(array, mask=in_place(np.zeros(array.shape, bool), True, -1))


SPOILT = {
    "all NaN": lambda a: np.full(a.shape, np.nan),
    "first NaN": lambda a: in_place(a, np.nan, 0),
    "last NaN": lambda a: in_place(a, np.nan, -1),
    "all infinite": lambda a: np.full(a.shape, np.inf),
    "last infinite": lambda a: in_place(a, np.inf, -1),
    "last minus infinity": lambda a: in_place(a, -np.inf, -1),
    "NaN among objects": lambda a: in_place(a, np.nan, -1).astype(object),
    "None among objects": lambda a: in_place(a.astype(object), None, -1),
    "complex": lambda a: a + 0.1j,
    "last complex": lambda a: in_place(a + 0j, 0.1j + a.flat[-1], -1),
    "imaginary NaN": lambda a: a + complex(0.0, np.nan),
    "last masked": masked,
    "text": lambda a: a.astype(str),
    "text among objects": lambda a: a.astype(str).astype(object),
    "bytes": lambda a: a.astype("S"),
    "empty": lambda a: np.empty(0),
    "empty rows": lambda a: np.empty((0, *a.shape)),
    "twice": lambda a: np.stack([a, a]),
    "twice at the end": lambda a: np.stack([a, a], axis=-1),
    "a list of nothing": lambda a: [],
    "None": lambda a: None,
    "negated": lambda a: -a,
    "one larger": lambda a: a + 1,
}
HOSTILE = {
    "nan": np.nan,
    "inf": np.inf,
    "-inf": -np.inf,
    "complex nan": complex(np.nan, np.nan),
    "object nan": np.array([np.nan], object),
    "text nan": "nan",
    "text number": "3.0",
    "bytes": b"1",
    "masked": np.ma.masked,
    "all masked": np.ma.masked_all((3, 3)),
    "none in a list": [None, None],
    "empty": np.empty(0),
    "empty text": "",
    "empty dictionary": {},
    "nan pair": (np.nan, np.nan),
    "nan dictionary": {200: np.nan, 50: np.nan, 10: np.nan},
    "nan matrix": np.full((9, 9), np.nan),
    "moment": np.datetime64("2020-01-01"),
    "record": np.zeros(2, "f8,i4"),
    "set": {1.0, 2.0},
    "ragged": [[1.0, 2.0], [3.0]],
}


# ---------------------------------------------------------------------- what never passes, and what does
@pytest.mark.parametrize("name", EXERCISES)
def test_the_solution_of_the_chapter_passes(name):
    verdict = check(name, right(name))
    assert verdict.passed is True, verdict


@pytest.mark.parametrize("name", NUMERIC)
def test_a_right_answer_that_was_spoilt_in_any_place_does_not_pass(name):
    values = calls_of(name)
    let_pass = []
    for kind, part in itertools.product(SPOILT, range(parts_of(values[0]))):
        if kind in AS_RIGHT and {name, (name, part)} & AS_RIGHT[kind].keys():
            continue
        verdict = check(name, changed(replayed(name), SPOILT[kind], part))
        let_pass += [(kind, part)] if verdict else []
        assert verdict.message or verdict.passed is None or verdict, kind
    for call, value in enumerate(values):
        for part in range(parts_of(value)):
            if check(name, changed(replayed(name), SPOILT["last NaN"], part, call)):
                let_pass.append(("NaN in one call", call, part))
    assert let_pass == []


@pytest.mark.parametrize("name", EXERCISES)
def test_what_is_no_answer_does_not_pass_as_a_value_or_as_a_result(name):
    for kind, thing in HOSTILE.items():
        for answer in (thing, lambda *_, thing=thing: thing):
            verdict = check(name, answer)
            assert verdict.passed is False and verdict.message, kind


class ArrayLike:
    """What a column of a table is to numpy."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype=dtype)


FORMS = {
    "list": lambda a: a.tolist(),
    "array": lambda a: a,
    "objects": lambda a: a.astype(object),
    "long double": lambda a: a.astype(np.longdouble),
    "no entry masked": lambda a: np.ma.array(a, mask=np.zeros(a.shape, bool)),
    "no imaginary part": lambda a: a + 0j,
    "rounding in the imaginary part": lambda a: a + 1e-14j * np.abs(a).max(),
    "array-like": ArrayLike,
    "read only": lambda a: np.broadcast_to(a, a.shape),
    "one number in an array": lambda a: a[None] if a.ndim == 0 else a,
    "one number in a list of lists": lambda a: [[a.item()]] if a.ndim == 0 else a,
}


@pytest.mark.parametrize("name", NUMERIC)
def test_a_right_answer_passes_in_any_reasonable_form(name):
    values = calls_of(name)
    for kind, change in FORMS.items():
        for part in range(parts_of(values[0])):
            verdict = check(name, changed(replayed(name), change, part))
            assert verdict.passed is True, (kind, part, verdict)


@pytest.mark.parametrize(
    "name, answer",
    [
        ("tsne.8", np.array([True])),
        ("prediction.5", " Frozen "),
        ("prediction.5", np.array("frozen")),
        ("kernels.7", ["a", "C", "d", "h"]),
        ("kernels.7", {"a", "c", "d", "h"}),
        ("variational.7", np.array([2.0])),
        ("gtm.6", [(200, -3.0), (50, -2.0), (10, -1.0)]),
        ("ppca.2", lambda *a: list(right("ppca.2")(*a))),
        ("ivm.2", lambda *a: list(right("ivm.2")(*a))),
        ("wishart.2", lambda *a: (part for part in right("wishart.2")(*a))),
    ],
)
def test_right_answers_of_other_kinds_pass(name, answer):
    verdict = check(name, answer)
    assert verdict.passed is True, verdict


@pytest.mark.parametrize(
    "name, answer",
    [
        ("tsne.8", np.ma.masked_all((), bool)),
        ("unify.3", lambda lam, q: np.array(right("unify.3")(lam, q)) + 0.4),
        ("ivm.3", lambda K, s2, d: np.array(right("ivm.3")(K, s2, d)) - len(K)),
        ("kernels.1", lambda X, Z, t, g: right("kernels.1")(X, Z, t, g) if len(X) < 10 else np.zeros((len(X), len(Z)))),
        ("ppca.1", lambda y, W, s2: right("ppca.1")(y, W, s2) if len(y) < 10 else 0.0),
        ("gtm.4", lambda R, log_p: right("gtm.4")(R, log_p) if np.all(R > 0) else -1e9),
    ],
)
def test_answers_that_were_right_by_chance_or_in_part_do_not_pass(name, answer):
    verdict = check(name, answer)
    assert verdict.passed is False and verdict.message


def test_of_equal_offers_any_may_be_taken_first():
    # a stationary kernel has the same variance everywhere, so each point may begin
    def begins_with(first):
        def select(K, noise_variance, n_active):
            K, order = K.copy(), []
            for step in range(n_active):
                offers = np.diag(K).copy()
                offers[order] = -1.0
                order.append(first if step == 0 else int(np.argmax(offers)))
                s = K[:, order[-1]]
                K -= np.outer(s, s) / (s[order[-1]] + noise_variance)
            return order

        return select

    assert all(check("ivm.3", begins_with(first)) for first in range(10))


# ---------------------------------------------------------------------- names
class Unspeakable:
    def __str__(self):
        raise RuntimeError("no")

    __repr__ = __str__


@pytest.mark.parametrize(
    "name, says",
    [
        ("__init__.1", "no topic"),
        ("guard.1", "no topic"),
        ("answers.1", "no topic"),
        ("ppca", "no such exercise; ppca has ppca.1 to"),
        ("ppca.", "no such exercise"),
        ("ppca.0", "no such exercise"),
        ("ppca.99", "no such exercise"),
        ("ppca.1.2", "no such exercise"),
        ("ppca.x", "no such exercise"),
        ("ppca.\N{ARABIC-INDIC DIGIT ONE}", "no such exercise"),
        ("../x.1", "no topic"),
        ("ppca/../gtm.1", "no topic"),
        (".1", "no topic"),
        ("", "no topic"),
        ("\0.1", "no topic"),
        (1_000_000 * "x", "no topic"),
        (3, "of type int"),
        (3.0, "of type float"),
        (None, "of type NoneType"),
        (..., "of type ellipsis"),
        (["ppca.1"], "of type list"),
        (b"ppca.1", "of type bytes"),
        (np.array(["ppca.1"]), "of type ndarray"),
        (Unspeakable(), "of type Unspeakable"),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else type(value).__name__,
)
def test_an_unknown_name_is_a_sentence_whatever_it_is(name, says):
    for answer in (..., 3, lambda: 3):
        verdict = check(name, answer)
        assert verdict.passed is False and says in verdict.message
        assert len(repr(verdict)) < 3 * SHOWN


def test_a_name_may_be_a_string_of_numpy():
    assert check(np.str_("noise.4"), 1.0)


# ---------------------------------------------------------------------- answers that break
class Mute(Exception):
    """An error without words."""

    def __str__(self):
        raise SystemExit("not even these")

    __repr__ = __str__


class TwoFaced(Exception):
    @property
    def __class__(self):
        raise RuntimeError("nobody knows what this is")


class Trap:
    """An object of which every question is answered by an error."""

    def _refuse(self, *_):
        raise SystemExit("caught")

    __array__ = __eq__ = __bool__ = __float__ = __len__ = __iter__ = __hash__ = __index__ = __repr__ = __str__ = _refuse
    __complex__ = __getattr__ = __lt__ = __gt__ = __sub__ = __rsub__ = _refuse


class NoCode:
    __code__ = "no code"

    def __call__(self, *_):
        return 0.0


class Everything:
    """Equal to all, larger than all, smaller than all."""

    def __eq__(self, other):
        return True

    __lt__ = __gt__ = __le__ = __ge__ = __eq__
    __hash__ = object.__hash__


def throws(error):
    def answer(*_):
        raise error

    return answer


def without_end(*arguments):
    return without_end(*arguments)


def contained_in_itself():
    value = []
    value.append(value)
    return value


def exits(*_):
    sys.exit()


BREAKING = {
    "SystemExit": throws(SystemExit(3)),
    "sys.exit": exits,
    "GeneratorExit": throws(GeneratorExit()),
    "KeyboardInterrupt": throws(KeyboardInterrupt()),
    "StopIteration": throws(StopIteration()),
    "BaseException": throws(BaseException("base")),
    "MemoryError": throws(MemoryError()),
    "a group": throws(BaseExceptionGroup("several", [SystemExit(), ValueError()])),
    "mute": throws(Mute()),
    "two-faced": throws(TwoFaced()),
    "long words": throws(ValueError(10_000_000 * "x")),
    "not raised but returned": lambda *_: Mute(),
    "no class": lambda *_: np.linalg.solve,
    "recursion": without_end,
    "trap": Trap(),
    "trap returned": lambda *_: Trap(),
    "traps returned": lambda *_: (Trap(), Trap()),
    "traps in an array": lambda *_: np.array([[Trap()]], dtype=object),
    "no code": NoCode(),
    "everything": Everything(),
    "everything returned": lambda *_: Everything(),
    "everything twice": lambda *_: (Everything(), Everything()),
    "in itself": contained_in_itself(),
    "in itself, returned": lambda *_: contained_in_itself(),
    "a class": Everything,
    "a module": np,
    "a check": lambda *_: check("noise.4", 1.0),
    "a coroutine's relative": lambda *_: (yield),
}
BROKEN = [name for topic in topics() for name in exercise_names(topic)[:2]] + ["kernels.7", "gtm.6", "prediction.5"]


@pytest.mark.parametrize("kind", BREAKING)
def test_an_answer_that_breaks_is_told_and_nothing_is_raised(kind):
    for name in BROKEN:
        verdict = check(name, BREAKING[kind])
        assert verdict.passed is False and 0 < len(verdict.message) < 2 * SHOWN, (name, verdict)


def test_what_an_answer_raised_is_named():
    assert "SystemExit: 3" in check("ppca.1", throws(SystemExit(3))).message
    assert "KeyboardInterrupt" in check("ppca.1", throws(KeyboardInterrupt())).message
    assert "cannot be shown" in check("ppca.1", throws(Mute())).message
    assert "ZeroDivisionError" in check("ppca.1", lambda *_: 1 / 0).message


def test_a_check_that_asks_for_itself_ends():
    def asks(*_):
        return check("ppca.1", asks)

    verdict = check("ppca.1", asks)
    assert verdict.passed is False and not answering()


GIGANTIC = {
    "range": lambda *_: range(10**12),
    "range of ranges": lambda *_: [range(10**12)] * 3,
    "too long to count": lambda *_: range(10**30),
    "view of one number": lambda *_: np.broadcast_to(0.0, (10**9, 10**6)),
    "pair of views": lambda *_: (np.broadcast_to(0.0, (10**9, 10**6)),) * 2,
    "generator": lambda *_: (0.0 for _ in itertools.count()),
    "counter": lambda *_: itertools.count(),
    "text": lambda *_: "x" * 10**7,
    "many dimensions": lambda *_: np.zeros(32 * (1,)),
    "whole number": lambda *_: 10**5000,
    "zeros": lambda *_: [0.0] * 2_000_000,
}


@pytest.mark.parametrize("kind", GIGANTIC)
@pytest.mark.parametrize("as_result", [True, False], ids=["returned", "given"])
def test_gigantic_and_lazy_answers_are_refused_before_room_is_made_for_them(kind, as_result):
    for name in BROKEN:
        begun = time.monotonic()
        verdict = check(name, GIGANTIC[kind] if as_result else GIGANTIC[kind]())
        assert verdict.passed is False and len(verdict.message) < 2 * SHOWN
        assert time.monotonic() - begun < 5


# ---------------------------------------------------------------------- what an answer changes
@pytest.mark.parametrize("name", [name for name in NUMERIC if name not in VALUES])
def test_an_answer_that_overwrites_its_arguments_harms_only_itself(name):
    answer = right(name)

    def wiping(*arguments):
        value = answer(*arguments)
        for argument in arguments:
            for array in argument if isinstance(argument, list) else [argument]:
                if isinstance(array, np.ndarray):
                    array.setflags(write=True)
                    array[...] = 0
            with suppress(AttributeError):
                argument.theta = argument.theta + 5.0
        return value

    assert check(name, wiping), check(name, wiping)
    assert check(name, answer)


def test_a_result_that_changes_later_is_not_believed():
    buffers = {}

    def same_array(G, X, theta, gamma):
        buffer = buffers.setdefault(X.shape, np.zeros(X.shape))
        buffer[...] = right("kernels.2")(G, X, theta, gamma)
        return buffer

    assert check("kernels.2", same_array)
    buffer = buffers[7, 2]
    kept = numbers(buffer)
    buffer[...] = np.nan
    assert np.isfinite(kept).all()


@pytest.mark.filterwarnings("default")
def test_a_kernel_is_left_as_it_was(capsys):
    streams, filters, limit = (sys.stdout, sys.stderr), list(warnings.filters), sys.getrecursionlimit()
    np.random.seed(3)  # noqa: NPY002
    random.seed(3)
    drawn = np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    errors, printing = np.geterr(), np.get_printoptions()

    def untidy(*_):
        np.random.seed(0)  # noqa: NPY002
        np.random.rand(10)  # noqa: NPY002
        random.seed(0)
        np.seterr(all="raise")
        np.set_printoptions(precision=2, legacy="1.13")
        warnings.simplefilter("error")
        warnings.showwarning = None
        sys.setrecursionlimit(5000)
        sys.stdout = sys.stderr = None
        raise SystemExit

    for answer in (untidy, throws(ValueError())):
        assert check("ppca.1", answer).passed is False
        assert (sys.stdout, sys.stderr) == streams and warnings.filters == filters and callable(warnings.showwarning)
        assert sys.getrecursionlimit() == limit and np.geterr() == errors and np.get_printoptions() == printing
        assert np.array_equal(np.random.get_state()[1], drawn[0]) and random.getstate() == drawn[1]  # noqa: NPY002


def test_an_answer_that_makes_numpy_strict_does_not_make_the_checker_strict():
    def strict(log_p):
        np.seterr(all="raise")
        with np.errstate(all="ignore"):
            return right("gtm.1")(log_p)

    assert check("gtm.1", strict)


def test_what_an_answer_prints_is_shown_up_to_a_limit(capsys):
    def talks(y, W, s2):
        print("a word")
        print("an error", file=sys.stderr)
        return right("ppca.1")(y, W, s2)

    assert check("ppca.1", talks)
    out, err = capsys.readouterr()
    assert out == 2 * "a word\n" and err == 2 * "an error\n"

    def shouts(*_):
        for _ in range(200):
            print("x" * 10_000)
        sys.stdout.writelines(["y" * 10_000] * 10)
        sys.stdout.flush()
        return 0.0

    assert check("ppca.1", shouts).passed is False
    out = capsys.readouterr().out
    assert out == "x" * guard.PRINTED + guard.CUT
    print("as before")
    assert capsys.readouterr().out == "as before\n"


def test_without_a_stream_nothing_is_lost_but_the_print(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)  # as in a program without a window
    assert check("noise.4", 1.0)


# ---------------------------------------------------------------------- answers without an end
def answering():
    """Threads of answers that still run, once those that are leaving have left."""
    end = time.monotonic() + 5
    while (found := [t for t in threading.enumerate() if t.name == "answer"]) and time.monotonic() < end:
        time.sleep(0.01)
    return found


def for_ever(*_):
    while True:
        pass


def in_calls(*_):
    while True:
        try:
            counts_for_ever(*_)
        except:  # noqa: E722
            pass


def catching(kind):
    def answer(*_):
        while True:
            try:
                time.sleep(0.001)
            except kind:
                pass

    return answer


def prints_for_ever(*_):
    while True:
        print("and on")


def counts_for_ever(*_):
    return sum(1 for _ in itertools.count())


class SlowWords(Exception):
    def __str__(self):
        while True:
            pass


class SlowArray:
    def __array__(self, dtype=None, copy=None):
        while True:
            pass


class SlowCode:
    @property
    def __code__(self):
        while True:
            pass

    def __call__(self, *_):
        return 0.0


ENDLESS = {
    "a loop": for_ever,
    "that catches Exception": catching(Exception),
    "that catches BaseException": catching(BaseException),
    "that catches all, in calls": in_calls,
    "that prints": prints_for_ever,
    "an error's words": throws(SlowWords()),
    "an array's making": lambda *_: SlowArray(),
    "a function's code": SlowCode(),
    "a check of it": lambda *_: check("ppca.1", for_ever, seconds=100),
    "of a generator": counts_for_ever,
}


def stopped(verdict):
    return verdict.passed is False and f"stopped after {SHORT:g} seconds" in verdict.message


@pytest.mark.parametrize("kind", ENDLESS)
@pytest.mark.parametrize("where", ["main thread", "another thread"])
def test_an_answer_without_an_end_is_stopped_and_gone(kind, where, capsys):
    verdicts, begun = [], time.monotonic()

    def ask():
        verdicts.append(check("ppca.1", ENDLESS[kind], seconds=SHORT))

    if where == "main thread":
        ask()
    else:
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert stopped(verdicts[0]) and "background" not in verdicts[0].message
    assert SHORT <= time.monotonic() - begun < SHORT + 5 and not answering()
    assert check("ppca.1", right("ppca.1"))


def test_an_answer_stuck_outside_python_gets_its_verdict_all_the_same():
    held = threading.Lock()
    held.acquire()

    def stuck(*_):
        held.acquire()

    begun = time.monotonic()
    verdict = check("ppca.1", stuck, seconds=SHORT)
    assert stopped(verdict) and "goes on in the background" in verdict.message
    assert time.monotonic() - begun < SHORT + 5
    assert check("ppca.1", right("ppca.1")).passed is True  # although the other one is still there
    held.release()  # as soon as it is back in Python it is gone
    assert not answering()


@pytest.fixture
def hears_ctrl_c():
    """A process that a shell started in the background is deaf to Ctrl-C: here it listens."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("hears_ctrl_c")
def test_the_readers_own_interrupt_gets_through_and_the_answer_is_gone():
    for answer in (for_ever, catching(KeyboardInterrupt)):
        timer = threading.Timer(SHORT, signal.raise_signal, [signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            check("ppca.1", answer, seconds=60)
        timer.join()
        assert not answering() and not isinstance(sys.stdout, guard.Shortened)
    assert check("ppca.1", right("ppca.1"))


def test_an_answer_of_a_second_is_not_hurt_and_its_numbers_are_the_same():
    def slow(y, W, s2):
        time.sleep(0.6)
        return right("ppca.1")(y, W, s2)

    assert check("ppca.1", slow)
    A = np.random.default_rng(0).standard_normal((300, 300))
    inside, _ = guard.within(20, lambda: np.linalg.inv(A @ A.T))
    assert np.array_equal(inside, np.linalg.inv(A @ A.T))


def test_the_limit_can_be_set(monkeypatch):
    monkeypatch.setenv("GPLVM_EDU_CHECK_SECONDS", str(SHORT))
    assert stopped(check("ppca.1", for_ever))
    assert check("ppca.1", right("ppca.1"), seconds=float("inf"))
    for wrong in (0, -1, np.nan, "soon", [1]):
        verdict = check("ppca.1", for_ever, seconds=wrong)
        assert verdict.passed is False and "number above 0" in verdict.message
    monkeypatch.setenv("GPLVM_EDU_CHECK_SECONDS", "soon")
    assert "GPLVM_EDU_CHECK_SECONDS" in check("ppca.1", right("ppca.1")).message
    monkeypatch.setenv("GPLVM_EDU_CHECK_SECONDS", "")
    assert check("ppca.1", right("ppca.1"))


def test_where_there_are_no_threads_answers_are_checked_without_a_limit(monkeypatch, capsys):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(guard.Worker, "start", refuse)
    assert check("ppca.1", right("ppca.1"))
    assert check("ppca.1", throws(SystemExit())).passed is False
    assert check("ppca.1", lambda *_: print("x" * 2 * guard.PRINTED) or 0.0).passed is False
    assert len(capsys.readouterr().out) == guard.PRINTED + len(guard.CUT)
    with pytest.raises(KeyboardInterrupt):  # it might be the reader's
        check("ppca.1", throws(KeyboardInterrupt()))
    assert not isinstance(sys.stdout, guard.Shortened)


# ---------------------------------------------------------------------- in a kernel
IN_A_KERNEL = """
import threading, time
from gplvm_edu.exercises import check

def for_ever(*_):
    print("it began")
    while True:
        pass

verdict = check("ppca.1", for_ever, seconds=0.3)
print(verdict.message[:31], threading.current_thread() is threading.main_thread())
time.sleep(0.1)
print([t.name for t in threading.enumerate() if t.name == "answer"])
"""


def run_in_kernel(client, source, on_print=lambda text: None, **header):
    """What a cell prints, when it is asked to run in the main shell or in a subshell of a kernel."""
    content = dict(code=source, silent=False, store_history=True, user_expressions={}, allow_stdin=False)
    message = client.session.msg("execute_request", content)
    message["header"].update(header)
    client.shell_channel.send(message)
    printed = ""
    while True:
        reply = client.get_iopub_msg(timeout=60)
        if reply["parent_header"].get("msg_id") != message["header"]["msg_id"]:
            continue
        if reply["msg_type"] == "stream":
            printed += reply["content"]["text"]
            on_print(reply["content"]["text"])
        assert reply["msg_type"] != "error", reply["content"]
        if reply["msg_type"] == "status" and reply["content"]["execution_state"] == "idle":
            return printed


def test_in_a_kernel_and_in_its_subshell_an_endless_answer_is_stopped():
    manager, client = start_new_kernel(kernel_name="python3", env=dict(os.environ))
    try:
        said = "it began\nYour answer was stopped after 0"
        assert run_in_kernel(client, IN_A_KERNEL) == f"{said} True\n[]\n"
        message = client.session.msg("create_subshell_request", {})
        client.control_channel.send(message)
        subshell = client.get_control_msg(timeout=60)["content"].get("subshell_id")
        if subshell is None:
            pytest.skip("this kernel has no subshells")
        assert run_in_kernel(client, IN_A_KERNEL, subshell_id=subshell) == f"{said} False\n[]\n"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_an_interrupted_kernel_leaves_the_check_and_goes_on():
    manager, client = start_new_kernel(kernel_name="python3", env=dict(os.environ))
    try:
        source = IN_A_KERNEL.replace("verdict = ", "try:\n    ").split("print(verdict")[0].replace("0.3", "60")
        begun = time.monotonic()
        source += "except KeyboardInterrupt:\n    print('by the reader')"
        printed = run_in_kernel(client, source, lambda text: "began" in text and manager.interrupt_kernel())
        assert printed == "it began\nby the reader\n" and time.monotonic() - begun < 30
        assert run_in_kernel(client, IN_A_KERNEL).endswith("True\n[]\n")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


# ---------------------------------------------------------------------- the readers of answers
def test_a_number_is_one_number_and_whole_numbers_are_whole():
    assert number(np.array([[3]])) == 3.0 and whole_numbers([2.0]).dtype.kind == "i"
    for value in ([1.0, 2.0], [], "3", np.nan, 1j):
        with pytest.raises(Unusable, match=r"\."):
            number(value)
    with pytest.raises(Unusable, match="Whole"):
        whole_numbers([1.5])
