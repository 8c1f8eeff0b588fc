"""Seconds that each estimator takes by default at N = 200, 1000 and 3000, as the README's table "Which estimator?".

    python tests/bench_defaults.py                     measures all (up to half an hour) and prints the table
    python tests/bench_defaults.py GTM PPCA            these alone; of the others the README's figures are printed
    python tests/bench_defaults.py --write             also into the README, and N = 1000 into the docstrings
    python tests/bench_defaults.py --table --write     measures nothing: the words anew, the figures as they are

One table for all N, `simulate_oil_flow(N, random_state=0)`: 12 columns. Each fit has a process of its own, the
environment's threads, and 60 seconds; what takes longer is extrapolated from the steps made to `max_iter`, and marked
with ~ (so it is what the fit may take at most), or with > where no step was made.
"""

import argparse
import os
import subprocess
import sys
from signal import SIGTERM
from threading import Timer
from time import perf_counter

import facts

from gplvm_edu.base import IterativeFit
from gplvm_edu.datasets import simulate_oil_flow

LIMIT = 60.0  # seconds for each fit


def watched(Model):
    """The class of a model that prints the seconds of each state of its fit."""

    class Watched(Model):
        def iterates(self, Y):
            start = perf_counter()
            for step, state in enumerate(super().iterates(Y)):
                print("state", getattr(state, "step", step), perf_counter() - start, flush=True)
                yield state

    return Watched


def fit_here(name, N, limit) -> None:
    """What the process of one fit does: fit by default, print how it goes, and end when the time is up."""
    oil, Model = simulate_oil_flow(N, random_state=0), getattr(facts.gplvm_edu, name)
    seed = {"random_state": 0} if "random_state" in Model().get_params() else {}
    model = (watched(Model) if issubclass(Model, IterativeFit) else Model)(**seed)
    clock = Timer(limit, os.kill, [os.getpid(), SIGTERM])  # in the middle of a step too; all that was printed is out
    clock.daemon = True
    clock.start()
    start = perf_counter()
    model.fit(oil.data, oil.target)
    print("done", 0, perf_counter() - start, flush=True)


def seconds_of(name, N, limit=LIMIT) -> str:
    """Seconds of one fit as the table shows them."""
    command = [sys.executable, "-W", "ignore", __file__, "--fit", name, str(N), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True)
    if "Traceback" in done.stderr:  # a fit whose time was up ends quietly
        raise RuntimeError(f"{name} at N = {N} failed:\n{done.stderr[-2000:]}")
    maximum = getattr(facts.gplvm_edu, name)().get_params().get("max_iter", 0)
    lines = [line.split() for line in done.stdout.splitlines()]
    return as_text([line for line in lines if len(line) == 3], maximum, limit)  # the last may be cut off


def as_text(lines, max_iter, limit) -> str:
    """The seconds of a fit from what it printed: (what, step, seconds), the last line last.

    >>> as_text([["state", "0", "0.5"], ["done", "0", "2.345"]], 100, 60)
    '2.3'
    >>> as_text([["state", "0", "10"], ["state", "5", "60"]], 100, 60), as_text([["state", "0", "10"]], 100, 60)
    ('~1010', '>60')
    """
    if lines and lines[-1][0] == "done":
        return rounded(float(lines[-1][2]))
    if len(lines) < 2 or lines[-1][1] == lines[0][1]:
        return f">{limit:.0f}"
    (first, start), (last, now) = ((int(float(line[1])), float(line[2])) for line in (lines[0], lines[-1]))
    return f"~{rounded(start + (now - start) * (max_iter - first) / (last - first))}"


def rounded(seconds) -> str:
    """Two digits, and no more than hundredths.

    >>> rounded(0.0031), rounded(0.123), rounded(4.56), rounded(45.6), rounded(1234)
    ('0.00', '0.12', '4.6', '46', '1234')
    """
    return f"{seconds:.2f}" if seconds < 1 else f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"


def main():
    """What the shell calls."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="estimators; all without a name")
    parser.add_argument("--write", action="store_true", help="into the README and the docstrings too")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    parser.add_argument("--fit", nargs=3, metavar=("NAME", "N", "SECONDS"), help="one fit, in this process")
    asked = parser.parse_args()
    if asked.fit:
        name, N, limit = asked.fit
        return fit_here(name, int(N), float(limit))
    seconds = facts.seconds_in_readme()
    unknown = set(asked.names) - set(seconds)
    if unknown:
        parser.error(f"There is no estimator {', '.join(sorted(unknown))}; there are {', '.join(seconds)}.")
    for name in [] if asked.table else asked.names or seconds:
        seconds[name] = tuple(seconds_of(name, N) for N in facts.SIZES)
        print(f"{name}: {', '.join(seconds[name])} s", file=sys.stderr, flush=True)
    print(facts.table(seconds))
    if asked.write:
        facts.write(seconds)


if __name__ == "__main__":
    main()
