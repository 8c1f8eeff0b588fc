"""One thing at a time, whichever thread of the kernel it comes from.

JupyterLab hands what a reader does to a thread of its own in the kernel (a subshell), while cells and the steps of a
run are at work in the main thread. What reads or changes an explorer takes its turn: `in_turn`. Runs go on in the event
loop of the cell that made the explorer, wherever they were started: only there Interrupt reaches them.
"""

import asyncio
import threading
from functools import wraps

TURN = threading.RLock()  # one for all explorers: what they compute with is set for the whole process


def in_turn(method):
    """Decorator: the method waits until no other thread is at work on an explorer."""

    @wraps(method)
    def wrapper(*args, **kwargs):
        with TURN:
            return method(*args, **kwargs)

    return wrapper


def loop_here():
    """The event loop that runs in this thread; None where there is none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def loop_for(home):
    """Where something can go on in the background: the loop `home` while it runs, else that of this thread, or None."""
    return home if home is not None and home.is_running() else loop_here()


def begin(coroutine, home=None):
    """Start a coroutine in the loop that `loop_for` finds, from whichever thread."""
    loop = loop_for(home)
    if loop is loop_here():
        return loop.create_task(coroutine)
    return asyncio.run_coroutine_threadsafe(coroutine, loop)


def cancel(task):
    """Cancel what `begin` has started, from whichever thread; what has ended stays as it is."""
    if task.done():
        return
    if isinstance(task, asyncio.Task) and task.get_loop() is not loop_here():
        task.get_loop().call_soon_threadsafe(task.cancel)
    else:
        task.cancel()
