"""How an answer is run: within a time limit, and with the reader's kernel left as it was.

The answer runs in a thread of its own, and the thread that asked waits for it. Of the ways to stop code that has no end
this one works wherever a notebook does: a timer's signal reaches the main thread only, and Windows has none, while a
kernel may run a cell in another thread. When the time is up an exception is raised inside the thread; a call that is
stuck outside Python cannot hear it, but the reader gets a verdict all the same.

It also tells who has interrupted: the reader's Ctrl-C reaches the thread that waits and goes on from there, after the
answer was stopped; a KeyboardInterrupt that the answer itself raises stays in its thread and is a mistake like others.

This is no sandbox. An answer is the reader's own code: what it does to files, to the environment or to other modules
is done.
"""

import ctypes
import inspect
import random
import sys
import threading
import time
import tracemalloc
import warnings
from contextlib import contextmanager
from contextvars import ContextVar, copy_context

import numpy as np

PRINTED = 10_000  # characters that an answer may print, on each of the two streams
CUT = "\n[the rest of what the answer prints is left out]\n"

_one_at_a_time = threading.Lock()  # streams and states belong to all threads
_answering: ContextVar[bool] = ContextVar("answering", default=False)  # is it an answer that runs here?


class TimeUp(BaseException):
    """Raised inside an answer whose time is up; no Exception, so that ``except Exception`` lets it through."""


class Insistent(TimeUp):
    """A `TimeUp` for a loop around a bare ``except``: the answer's next line, outside the try, raises it once more."""

    def __init__(self):
        frame = inspect.currentframe()
        while frame := frame and frame.f_back:
            if not frame.f_globals.get("__name__", "").startswith((__package__, "threading")):
                frame.f_trace = _once_more
        sys.settrace(_once_more)  # of this thread alone


def _once_more(frame, event, argument):
    """A trace function: Python takes it away as soon as it raises."""
    if event == "line":
        raise Insistent


class Shortened:
    """A stream that passes on what others write, and of an answer's text the first `PRINTED` characters.

    Examples
    --------
    >>> import io
    >>> page = Shortened(io.StringIO())
    >>> page.write("not by an answer")
    16
    """

    def __init__(self, stream):
        self.stream, self.left = stream, PRINTED

    def write(self, text):
        """Write text, or as much of it as still has room; returns its length, as every stream does."""
        if not _answering.get() or not isinstance(text, str):
            return self.stream.write(text)
        if self.left >= 0 and text:
            self.stream.write(text[: self.left] + (CUT if len(text) > self.left else ""))
        self.left -= len(text)
        return len(text)

    def writelines(self, lines):
        """Write each of some lines."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name):
        return getattr(self.stream, name)


class Worker(threading.Thread):
    """The thread of one answer. It ends with the program, even where it cannot be stopped."""

    def __init__(self, work):
        super().__init__(name="answer", daemon=True)
        self.work, self.result, self.running = work, None, threading.Lock()
        self.running.acquire()

    def run(self):
        """Keep what `work` returns; a thread whose time is up ends in silence."""
        try:
            self.result = self.work()
        except TimeUp:
            pass
        finally:
            self.running.release()

    def ends_within(self, seconds):
        """Wait for the end; not with `join`, which in Python 3.11 takes a thread for dead when Ctrl-C interrupts it."""
        end = time.monotonic() + seconds
        while not self.running.acquire(timeout=max(0.0, min(0.1, end - time.monotonic()))):
            if time.monotonic() >= end:
                return False  # in slices, because Windows lets nobody interrupt a wait
        self.running.release()
        return True

    def stop(self):
        """Raise `TimeUp` in this thread: once, so that its ``finally`` has time, and then to those who caught it.

        Returns whether it has ended.
        """
        for kind, patience in [(TimeUp, 0.25)] + 5 * [(Insistent, 0.05)]:
            if self.ends_within(0.0):
                break
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident or 0), ctypes.py_object(kind))
            self.ends_within(patience)
        return self.ends_within(0.0)


def peak_memory(function, *arguments):
    """What a function returns, and the most bytes that it held at one time.

    So a checker sees that a D x D matrix is made while D is still harmless, on every machine alike.

    Examples
    --------
    >>> _, peak = peak_memory(np.zeros, 100_000)
    >>> 800_000 <= peak < 900_000
    True
    """
    traced = tracemalloc.is_tracing()  # by the reader: then it goes on
    if not traced:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        value = function(*arguments)
        return value, tracemalloc.get_traced_memory()[1] - before
    finally:
        if not traced:
            tracemalloc.stop()


def lines_run(function, *arguments):
    """What a function returns, and how many lines of Python ran for it: with a loop, more for more data.

    Examples
    --------
    >>> few, many = (lines_run(lambda n: [k**2 for k in range(n)], n)[1] for n in (3, 30))
    >>> many - few >= 27
    True
    """
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        count += event == "line"  # one for each turn of a loop, even of one that fits on a line
        return trace

    with _traced(trace):
        return function(*arguments), count


def shapes_given(names, function, *arguments):
    """What a function returns, and the shapes of the arrays given to functions of these names in numpy and scipy.

    Examples
    --------
    >>> _, shapes = shapes_given({"eigh"}, lambda n: np.linalg.eigh(np.eye(n)), 3)
    >>> shapes
    [(3, 3)]
    """
    shapes = []

    def trace(frame, event, argument):
        code, home = frame.f_code, frame.f_globals.get("__name__", "").split(".")[0]
        if code.co_name in names and home in ("numpy", "scipy") and code.co_argcount:
            shapes.append(getattr(frame.f_locals[code.co_varnames[0]], "shape", ()))

    with _traced(trace):
        return function(*arguments), shapes


@contextmanager
def _traced(trace):
    """Follow the Python functions that are called in this thread, and no other, with a trace function."""
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


@contextmanager
def as_before():
    """Put back what belongs to all: streams, warning filters, random numbers, numpy's errors and printing.

    Examples
    --------
    >>> with as_before():
    ...     np.set_printoptions(precision=2)
    >>> np.get_printoptions()["precision"]
    8
    """
    streams, depth = (sys.stdout, sys.stderr), sys.getrecursionlimit()
    draws, printing = random.getstate(), np.get_printoptions()
    numpy_draws = np.random.get_state(legacy=False)  # noqa: NPY002  (the old global state, which an answer may use)
    with warnings.catch_warnings(), np.errstate():
        sys.stdout, sys.stderr = (stream and Shortened(stream) for stream in streams)
        try:
            yield
        finally:
            sys.setrecursionlimit(depth)
            sys.stdout, sys.stderr = streams
            random.setstate(draws)
            np.random.set_state(numpy_draws)  # noqa: NPY002
            np.set_printoptions(**printing)


def within(seconds, work):
    """Run `work()` for at most some seconds, with the kernel left as it was.

    Parameters
    ----------
    seconds : float
        May be infinite.
    work : function
        Called without arguments; it catches its own errors, but never `TimeUp`.

    Returns
    -------
    result : anything
        What `work` returned; None when its time was up.
    stuck : bool
        Whether it still runs, because it could not be stopped.

    Examples
    --------
    >>> within(20, lambda: 1 + 1)
    (2, False)
    """
    if _answering.get():  # an answer that asks for a check: the limit that it runs under holds for both
        return work(), False
    context = copy_context()  # numpy's error state and where a cell prints go with it
    context.run(_answering.set, True)
    worker = Worker(lambda: context.run(work))
    with _one_at_a_time, as_before():
        try:
            worker.start()
        except RuntimeError:  # a Python without threads, as in a web page: then without a limit
            return context.run(work), False
        try:
            in_time = worker.ends_within(seconds)
        finally:
            ended = worker.stop()
    return (worker.result if in_time else None), not ended
