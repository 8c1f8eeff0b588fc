"""How much longer one piece of work takes than another: both measured in turn, in one run, on one machine."""

from statistics import median
from time import perf_counter, process_time

from .threads import as_many_as_before, one_thread

CLOCKS = {"wall": perf_counter, "process": process_time}


def time_ratio(work, reference, seconds=0.5, clock="process", single=True) -> float:
    """Median over rounds of time(work) / time(reference): 3 means that `work` takes three times as long.

    Parameters
    ----------
    work, reference : callable
        Without arguments. Each is called once before anything is timed.
    seconds : float
        How long to go on; at least five rounds are made.
    clock : "process" or "wall"
        The processor's work for this process alone, which other programs hardly disturb; or the clock on the wall.
    single : bool
        With one BLAS thread: two threads that wait for a core in use elsewhere would be measured as work. False: with
        what the environment has; then the clock on the wall is the right one.

    Notes
    -----
    A ratio within one run is worth more than seconds from two: whatever slows the machine down meets both. Where a call
    is shorter than five milliseconds several are timed together.

    Examples
    --------
    >>> time_ratio(lambda: sum(range(20000)), lambda: sum(range(1000)), seconds=0.01) > 2
    True
    """
    ratios: list[float] = []
    with one_thread() if single else as_many_as_before():
        work(), reference()
        n_calls = max(1, int(0.005 / max(time_of(reference), 1e-9)))
        end = perf_counter() + seconds
        while len(ratios) < 5 or perf_counter() < end:
            ratios.append(time_of(work, n_calls, CLOCKS[clock]) / time_of(reference, n_calls, CLOCKS[clock]))
    return median(ratios)


def time_of(work, n_calls=1, clock=perf_counter) -> float:
    """Seconds that so many calls of `work` take by a clock."""
    start = clock()
    for _ in range(n_calls):
        work()
    return clock() - start
