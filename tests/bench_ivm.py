"""Benchmarks of the sparse GP-LVM: how the cost of a selection grows, and what it is beside its bare products.

    python tests/bench_ivm.py

Growth is the slope of log time against log size, in processor time of one BLAS thread: with the number of points N it
should be 1, with the size d of the active set 2. The yardstick is the d products of a growing M with a vector, which
the rank-one updates can't do without; both are timed in turn. The full model is one evaluation of its objective.
"""

import sys
from statistics import median
from time import process_time

import numpy as np

from gplvm_edu.datasets import simulate_oil_flow
from gplvm_edu.gplvm import value_and_gradients
from gplvm_edu.ivm import select_active_set, sparse_model
from gplvm_edu.kernels import common_start
from gplvm_edu.linalg import centre
from gplvm_edu.starts import initial_positions
from gplvm_edu.threads import one_thread

POINTS, SIZES = (2000, 4000, 8000, 16000), (300, 600, 1200)
IN_N, IN_D = (0.8, 1.25), (1.6, 2.35)


def problem(N):
    Y = centre(simulate_oil_flow(N, random_state=0).data)[0]
    return Y, initial_positions(Y, 2, "pca", None), common_start(Y.var(), noise=0.01)


def select(Y, X, kernel, n_active):
    """The active set under the noise that the kernel holds."""
    model = sparse_model(kernel)
    return select_active_set(Y, X, model.f_kernel, model.noise, n_active)


def seconds(work, repeats=5):
    """Median processor time of a few calls."""
    times = []
    for _ in range(repeats):
        begin = process_time()
        work()
        times.append(process_time() - begin)
    return median(times)


def bare_products(N, d):
    """The products a' M of all inclusions, and nothing else."""
    M, a = np.ones((d, N)), np.ones(d)
    for i in range(d):
        a[:i] @ M[:i]


def exponent(sizes, times):
    return np.polyfit(np.log(sizes), np.log(times), 1)[0]


def main():
    times_N, times_d = [], []
    for N in POINTS:
        Y, X, kernel = problem(N)
        times_N.append(seconds(lambda Y=Y, X=X, kernel=kernel: select(Y, X, kernel, 200)))
    Y, X, kernel = problem(4000)
    for d in SIZES:
        times_d.append(seconds(lambda d=d: select(Y, X, kernel, d), repeats=3))
        bare = seconds(lambda d=d: bare_products(4000, d), repeats=3)
        print(f"N = 4000, d = {d:>3}: {times_d[-1] / bare:5.2f} times the bare products", flush=True)
    Y, X, kernel = problem(2000)
    full = seconds(lambda: value_and_gradients(Y, X, kernel), repeats=3)
    print(f"N = 2000, d = 200: a selection takes {times_N[0] / full:.3f} of one evaluation of the full model")
    in_N, in_d = exponent(POINTS, times_N), exponent(SIZES, times_d)
    print(f"growth of a selection: N^{in_N:.2f} (d = 200), d^{in_d:.2f} (N = 4000)")
    wrong = not IN_N[0] < in_N < IN_N[1] or not IN_D[0] < in_d < IN_D[1]
    sys.exit(f"The exponents should lie in {IN_N} and {IN_D}." if wrong else 0)


if __name__ == "__main__":
    with one_thread():
        main()
