"""How many threads BLAS gets: one for small matrices, whatever the environment says; nothing is left changed.

BLAS starts as many threads as the machine has cores. For small matrices that is slow: the threads wait for one another
longer than they compute, and where another program holds a core they wait for that program too.
"""

import functools
import inspect
from collections.abc import Callable
from threading import Lock
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

Function = TypeVar("Function", bound=Callable)

# Measured with two threads beside one, on two cores that other programs used as well (median of 15 ratios of the time
# of a GP-LVM's evaluation at N = 200, 300, 400, 500, 700, 1000: 3.6, 1.8, 1.1, 1.2, 1.5, 0.8; single ones up to 22).
# Below this many rows of the matrix that is factorised, one thread.
SMALL = 500
DONE = object()  # behind the last item of a generator


class one_thread:
    """Context in which BLAS uses one thread; the last to leave puts back what the first one found.

    Contexts may be nested, and entered by several Python threads at a time: as long as one is inside, there is one
    BLAS thread for all. To enter took about ten microseconds where it was measured, inside another one about one.

    Examples
    --------
    >>> with one_thread():
    ...     n_threads()
    1
    """

    lock = Lock()
    inside: set = set()  # contexts: to leave one that was never entered, or twice, does no harm
    found: list = []  # (library, number of threads) before the first one entered

    def __enter__(self):
        with self.lock:
            if not one_thread.inside:
                one_thread.found = [(library, library.get_num_threads()) for library in blas_libraries()]
                for library, number in one_thread.found:
                    if number != 1:
                        set_threads(library, 1)
            one_thread.inside.add(self)
        return self

    def __exit__(self, *_):
        with self.lock:
            one_thread.inside.discard(self)
            if not one_thread.inside:
                for library, number in one_thread.found:
                    if number != 1:
                        set_threads(library, number)


class as_many_as_before:
    """Context that changes nothing."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def threads_for(size) -> one_thread | as_many_as_before:
    """Context with the number of BLAS threads that a matrix of `size` rows deserves.

    One below `SMALL` rows; from there on as many as the environment has.

    Examples
    --------
    >>> with threads_for(100):
    ...     n_threads()
    1
    """
    return one_thread() if size < SMALL else as_many_as_before()


def n_threads() -> int:
    """The largest number of threads that a BLAS library of this process would use now."""
    return max((library.get_num_threads() for library in blas_libraries()), default=1)


@functools.cache
def blas_libraries() -> list:
    """The BLAS libraries that numpy and scipy have loaded: both are there once this package is imported."""
    return [library for library in ThreadpoolController().lib_controllers if library.user_api == "blas"]


def set_threads(library, number) -> None:
    """Set the number of threads of one BLAS library, and let any Python thread set it again.

    Newer versions of threadpoolctl (3.8 is one) let only one Python thread change it until that one says that it is
    done. Where another thread is at it and not done, nothing changes, now or later.
    """
    library.set_num_threads(number)
    getattr(library, "clear_controlling_thread", lambda: None)()


def suited(size) -> Callable[[Function], Function]:
    """Decorator: a function, or every step of a generator, runs with the threads that ``size(*arguments)`` deserves.

    Examples
    --------
    >>> @suited(len)
    ... def threads_inside(Y):
    ...     return n_threads()
    >>> threads_inside(np.zeros((10, 3)))
    1
    """

    def decorate(function):
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def steps(*arguments, **named):
                return _each_step(function(*arguments, **named), size(*arguments, **named))

            return steps

        @functools.wraps(function)
        def work(*arguments, **named):
            context = threads_for(size(*arguments, **named))
            try:  # an interrupt while a context is entered must find its way out too: `with` begins a moment later
                context.__enter__()
                return function(*arguments, **named)
            finally:
                context.__exit__()

        return work

    return decorate


def _each_step(steps, size):
    """The items of a generator; between two of them the environment is as it was."""
    try:
        while True:
            context = threads_for(size)
            try:
                context.__enter__()
                item = next(steps, DONE)
            finally:
                context.__exit__()
            if item is DONE:
                return
            yield item
    finally:
        steps.close()


def n_rows(*arguments, **named) -> int:
    """Rows of the first argument: the size that decides where nothing smaller is factorised.

    Examples
    --------
    >>> n_rows(np.zeros((10, 3))), n_rows(Y=[[1.0], [2.0]])
    (10, 2)
    """
    shape = np.shape(next(iter((*arguments, *named.values())), ()))
    return shape[0] if shape else 0
