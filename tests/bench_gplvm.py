"""Benchmarks of the GP-LVM: one objective with its gradient beside LAPACK's own factorisation and inverse.

    python tests/bench_gplvm.py            ours: at most 4 times potrf + potri at N = 100, 1.6 times at N = 1000
    python tests/bench_gplvm.py GPy        GPy too (or gpflow), on the same data and start: `make bench-peers`

Every evaluation is made at a place moved by 1e-9, so that no cache can answer. Just before each repeat LAPACK is
timed in the same process; what counts is the median of the ratios, in processor time with one BLAS thread; beside it,
in time on the wall, with what the environment has (ours then chooses for itself). Each is shown at its better one.
"""

import sys
from statistics import median
from time import perf_counter, process_time

from bench import in_turn
from scipy.linalg import lapack

from gplvm_edu.datasets import simulate_oil_flow
from gplvm_edu.gplvm import value_and_gradients
from gplvm_edu.kernels import common_start
from gplvm_edu.linalg import centre
from gplvm_edu.starts import initial_positions
from gplvm_edu.threads import as_many_as_before, one_thread

TARGETS = {100: 4.0, 1000: 1.6}


def problem(N):
    """Data, start and kernel of the course for N simulated points."""
    Y = centre(simulate_oil_flow(N, random_state=0).data)[0]
    return Y, initial_positions(Y, 2, "pca", None), common_start(Y.var())


def ours(N):
    Y, X, kernel = problem(N)
    return lambda move: value_and_gradients(Y, X + move, kernel)


def gpy(N):
    import GPy

    Y, X, k = problem(N)
    kernel = GPy.kern.RBF(2, variance=k["rbf"].variance, lengthscale=1.0) + GPy.kern.Bias(2, k["bias"].variance)
    model = GPy.models.GPLVM(Y, 2, X=X.copy(), kernel=kernel)
    model.likelihood.variance = k["white"].variance
    x = model.optimizer_array.copy()
    return lambda move: model._objective_grads(x + move)


def gpflow(N):
    import gpflow as library
    import tensorflow as tf

    Y, X, k = problem(N)
    rbf, bias = library.kernels.SquaredExponential(k["rbf"].variance), library.kernels.Constant(k["bias"].variance)
    model = library.models.GPLVM(Y, latent_dim=2, X_data_mean=tf.constant(X), kernel=rbf + bias)
    model.likelihood.variance.assign(k["white"].variance)
    start, variables = model.X_data_mean if hasattr(model, "X_data_mean") else model.data[0], model.trainable_variables

    @tf.function
    def evaluate():
        with tf.GradientTape() as tape:
            loss = model.training_loss()
        return loss, tape.gradient(loss, variables)

    def run(move):
        start.assign(X + move)
        return evaluate()

    return run


def ratio_to_lapack(work, N, clock, seconds=4.0):
    """Median over repeats of (time of one evaluation) / (time of potrf + potri just before), and milliseconds."""
    _, X, kernel = problem(N)
    K = kernel(X)
    ratios, times, move = [], [], 0.0
    work(move)
    begin = perf_counter()
    while len(ratios) < 5 or (perf_counter() - begin < seconds and len(ratios) < 200):
        move += 1e-9
        t0 = clock()
        lapack.dpotri(lapack.dpotrf(K.T, lower=True)[0], lower=True)
        t1 = clock()
        work(move)
        t2 = clock()
        ratios.append((t2 - t1) / (t1 - t0))
        times.append(1e3 * (t2 - t1))
    return median(ratios), median(times)


def memory_in_matrices(N=1000):
    """Largest memory during one evaluation, in units of one N x N matrix of floats."""
    import tracemalloc

    work = ours(N)
    work(0.0)
    tracemalloc.start()
    work(1e-9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (8 * N * N)


def main(peers):
    libraries = {"gplvm_edu": ours} | {name: {"GPy": gpy, "gpflow": gpflow}[name] for name in peers}
    found = {}
    for name, prepare in libraries.items():
        for N in (100, 1000):
            work = prepare(N)
            for n_threads in (1, 2):
                with one_thread() if n_threads == 1 else as_many_as_before():
                    found[name, N, n_threads] = ratio_to_lapack(
                        work, N, process_time if n_threads == 1 else perf_counter
                    )
            _, milliseconds = min((found[name, N, n] for n in (1, 2)), key=lambda pair: pair[1])
            print(
                f"{name:>10}, N = {N:>4}: {found[name, N, 1][0]:6.2f} times potrf + potri with 1 thread, "
                f"{found[name, N, 2][0]:6.2f} in the environment; at best {milliseconds:.2f} ms",
                flush=True,
            )
    for name in peers:
        small, large = (in_turn(libraries[name](N), ours(N)) for N in TARGETS)
        print(f"{name}: {small:.1f} times as long as ours at N = 100, {large:.1f} times at N = 1000, both in turn")
    if peers:
        return  # LAPACK is another one in the environment of a peer: ours is judged in its own
    print(f"memory of one evaluation at N = 1000: {memory_in_matrices():.1f} matrices of N x N")
    slow = {N: found["gplvm_edu", N, 1][0] for N in TARGETS}
    above = [f"{slow[N]:.2f} > {TARGETS[N]:g} at N = {N}" for N in TARGETS if slow[N] > TARGETS[N]]
    sys.exit(f"Above the target, times potrf + potri: {', '.join(above)}" if above else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
