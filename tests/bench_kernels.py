"""Benchmarks of kernels: what gradients cost beside the evaluation of the kernel itself, in the same run.

    python tests/bench_kernels.py

Two targets, both with one BLAS thread and q = 2. Gradients cost at most 3 times the evaluation, for N = 1000 points. A
call that checks its input costs at most 1.2 times the formula alone, for N = 200 points: then nobody has a reason to go
around the check.
"""

import sys

import numpy as np

from gplvm_edu.kernels import MLP, RBF, Bias, Linear, Matern32, Periodic, Sum, White
from gplvm_edu.threads import one_thread
from gplvm_edu.timing import time_of, time_ratio

KERNELS = {
    "RBF": RBF(),
    "RBF, a width for each dimension": RBF(inverse_width=[1.0, 2.0]),
    "MLP": MLP(),
    "RBF + Bias + White": RBF() + Bias() + White(),
    "Linear": Linear(),
    "Matern32": Matern32(),
    "Periodic": Periodic(),
    "RBF * MLP": RBF() * MLP(),
}
TARGET = 3.0
JUDGED = ("RBF", "MLP", "RBF + Bias + White")
FRONT_DOOR = 1.2


class Unchecked(Sum):
    """A sum that also offers its formulas without any check of their input."""

    def formula(self, X, Z=None):
        return self._matrix(X, Z)

    def formula_of_diag(self, X):
        return self._diag(X, True)


def kernels_cases(rng):
    """(name, gradients, evaluation) for N = 1000, q = 2, with a cotangent that is not symmetric."""
    X, G = rng.normal(size=(1000, 2)), rng.normal(size=(1000, 1000))
    for name, k in KERNELS.items():
        yield (f"kernels: gradients / evaluation, {name}, N=1000 q=2", lambda k=k: k.gradients(G, X), lambda k=k: k(X))


def front_door_cases(rng):
    """(name, call, formula) for N = 200, q = 2: what the check of the input costs."""
    k, X = Unchecked(RBF(), Bias(), White()), rng.normal(size=(200, 2))
    for M in (1, 50):
        Z = rng.normal(size=(M, 2))
        yield (
            f"kernels: k(X, Z) / its formula, RBF + Bias + White, N=200 M={M}",
            lambda Z=Z: k(X, Z),
            lambda Z=Z: k.formula(X, Z),
        )
    yield "kernels: k.diag(X) / its formula, RBF + Bias + White, N=200", lambda: k.diag(X), lambda: k.formula_of_diag(X)


def quiet_ratio(work, reference, n_rounds=300, n_times=20):
    """Shortest time of one over shortest time of the other, measured in turn: for calls of a few microseconds, which
    a busy machine interrupts more than it lets them run."""
    rounds = [(time_of(work, n_times), time_of(reference, n_times)) for _ in range(n_rounds)]
    return min(first for first, _ in rounds) / min(second for _, second in rounds)


def slow_doors():
    """Names of the calls that cost more than they should; prints all of them."""
    slow = []
    with one_thread():
        for name, call, formula in front_door_cases(np.random.default_rng(0)):
            found = quiet_ratio(call, formula)
            print(f"{name:65}  {found:8.2f}", flush=True)
            slow += [name] if found > FRONT_DOOR else []
    return slow


def main():
    print(f"{'time of the first / time of the second':65}  1 thread  environment")
    slow = []
    for name, work, reference in kernels_cases(np.random.default_rng(0)):
        found = [time_ratio(work, reference, 1.0, clock="wall", single=single) for single in (True, False)]
        print(f"{name:65}  {found[0]:8.2f}  {found[1]:11.2f}", flush=True)
        if found[0] > TARGET and name.split(", N=")[0].split("evaluation, ")[1] in JUDGED:
            slow.append(name)
    slow += slow_doors()
    sys.exit(f"Above the targets of {TARGET:g} and {FRONT_DOOR:g}: {', '.join(slow)}" if slow else 0)


if __name__ == "__main__":
    main()
