"""Benchmarks of kernels: what gradients cost beside the evaluation of the kernel itself, in the same run.

    python tests/bench_kernels.py

The target is a ratio of at most 3 with one BLAS thread, for N = 1000 points of a latent space with q = 2.
"""
import sys

import numpy as np
from bench import ratio
from threadpoolctl import threadpool_limits

from gplvm_edu.kernels import MLP, RBF, Bias, Linear, Matern32, Periodic, White

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


def kernels_cases(rng):
    """(name, gradients, evaluation) for N = 1000, q = 2, with a cotangent that is not symmetric."""
    X, G = rng.normal(size=(1000, 2)), rng.normal(size=(1000, 1000))
    for name, k in KERNELS.items():
        yield (f"kernels: gradients / evaluation, {name}, N=1000 q=2",
               lambda k=k: k.gradients(G, X), lambda k=k: k(X))


def main():
    print(f"{'time of the first / time of the second':65}  1 thread  2 threads")
    slow = []
    for name, work, reference in kernels_cases(np.random.default_rng(0)):
        found = []
        for n_threads in (1, 2):
            with threadpool_limits(n_threads):
                found.append(ratio(work, reference))
        print(f"{name:65}  {found[0]:8.2f}  {found[1]:9.2f}", flush=True)
        if found[0] > TARGET and name.split(", N=")[0].split("evaluation, ")[1] in JUDGED:
            slow.append(name)
    sys.exit(f"Above the target of {TARGET:g}: {', '.join(slow)}" if slow else 0)


if __name__ == "__main__":
    main()
