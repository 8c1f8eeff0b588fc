"""Benchmarks: what the course's functions cost, each as a ratio to a yardstick measured in the same run.

A ratio of 1 means as fast as the yardstick (LAPACK, SciPy, scikit-learn or bare NumPy); smaller is faster. Seconds
are never compared between machines. Columns: one BLAS thread, on which to judge, and beside it what the environment
has, from which the course's functions choose for themselves.

    python tests/bench.py            everything
    python tests/bench.py ppca       the lines whose name contains a word
    python tests/bench.py optimise   and the evaluations that our L-BFGS and SciPy's L-BFGS-B need
"""

import sys
from itertools import count

import numpy as np
from scipy import linalg, optimize
from scipy.spatial.distance import cdist

from gplvm_edu.timing import time_ratio

SECONDS = 1.0  # for each line and number of threads


def linalg_cases(rng):
    from gplvm_edu.linalg import cholesky_with_jitter, double_centre, solve_cholesky, squared_distances

    X, Y = rng.normal(size=(1500, 2)), rng.normal(size=(1500, 50))
    K = np.exp(-0.5 * squared_distances(X)) + 0.1 * np.eye(1500)
    L = np.linalg.cholesky(K)
    yield (
        "linalg: squared_distances / scipy cdist, N=1500 q=2",
        lambda: squared_distances(X),
        lambda: cdist(X, X, "sqeuclidean"),
    )
    yield (
        "linalg: squared_distances / scipy cdist, N=1500 q=50",
        lambda: squared_distances(Y),
        lambda: cdist(Y, Y, "sqeuclidean"),
    )
    yield (
        "linalg: cholesky_with_jitter / LAPACK potrf, N=1500",
        lambda: cholesky_with_jitter(K),
        lambda: linalg.lapack.dpotrf(K, lower=True),
    )
    yield (
        "linalg: solve_cholesky, 50 columns / LAPACK potrs, N=1500",
        lambda: solve_cholesky(L, Y),
        lambda: linalg.lapack.dpotrs(L, Y, lower=True),
    )
    yield ("linalg: double_centre / one copy of the matrix, N=1500", lambda: double_centre(K), lambda: K.copy())


def metrics_cases(rng):
    from sklearn import manifold, neighbors

    from gplvm_edu.metrics import nearest_neighbour_errors, procrustes_align, subspace_angle, trustworthiness

    X, Y, target = rng.normal(size=(2000, 2)), rng.normal(size=(2000, 100)), rng.integers(3, size=2000)
    A, B = rng.normal(size=(500, 20)), rng.normal(size=(500, 20))
    for Z in (X, Y):
        N, q = Z.shape
        yield (
            f"metrics: nearest_neighbour_errors / one product Z Z', N={N} q={q}",
            lambda Z=Z: nearest_neighbour_errors(Z, target),
            lambda Z=Z: Z @ Z.T,
        )
        yield (
            f"metrics: nearest_neighbour_errors / scikit-learn by brute force, N={N} q={q}",
            lambda Z=Z: nearest_neighbour_errors(Z, target),
            lambda Z=Z: neighbors.NearestNeighbors(n_neighbors=1, algorithm="brute").fit(Z).kneighbors(),
        )
    yield (
        "metrics: trustworthiness / scikit-learn, N=2000 D=100 q=2",
        lambda: trustworthiness(Y, X),
        lambda: manifold.trustworthiness(Y, X),
    )
    yield (
        "metrics: procrustes_align / LAPACK SVD of one set, N=500 q=20",
        lambda: procrustes_align(A, B),
        lambda: linalg.svd(A, full_matrices=False),
    )
    yield (
        "metrics: subspace_angle / scipy subspace_angles, D=500 q=20",
        lambda: subspace_angle(A, B),
        lambda: linalg.subspace_angles(A, B),
    )


def optimise_cases(rng):
    from gplvm_edu.optimise import minimise

    for n in (100, 1000):
        Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
        H, b, x0 = Q * np.geomspace(1.0, 1e4, n) @ Q.T, rng.normal(size=n), np.zeros(n)

        def f(x, H=H, b=b):
            Hx = H @ x
            return 0.5 * x @ Hx - b @ x, Hx - b

        def run(method, f=f, x0=x0):
            *_, last = minimise(f, x0, method=method, max_iter=30, tolerance=0)
            return last.n_evaluations

        def bare(n_evaluations, f=f, x0=x0):
            for _ in range(n_evaluations):
                f(x0)

        def scipy_alone(f=f, x0=x0):
            optimize.minimize(f, x0, jac=True, method="L-BFGS-B", options={"maxiter": 30, "ftol": 0, "gtol": 0})

        n_scg = run("scg")
        yield (
            f"optimise: SCG / its evaluations alone, n={n}",
            lambda run=run: run("scg"),
            lambda bare=bare, n_scg=n_scg: bare(n_scg),
        )
        yield (f"optimise: our L-BFGS / SciPy's L-BFGS-B, 30 steps, n={n}", lambda run=run: run("l-bfgs"), scipy_alone)


def lbfgs_problems():
    """Families of problems for L-BFGS, several starts each: name, [(value_and_gradient, start)], tolerance."""
    from sklearn.datasets import load_digits

    from gplvm_edu.datasets import simulate_oil_flow
    from gplvm_edu.gplvm import value_and_gradients
    from gplvm_edu.kernels import RBF, common_start
    from gplvm_edu.linalg import centre
    from gplvm_edu.starts import initial_positions
    from gplvm_edu.variational.objective import Packing, Parameters, bound_and_gradients, group_outputs

    def rosenbrock(n, seed):
        return lambda x: (optimize.rosen(x), optimize.rosen_der(x)), np.random.default_rng(seed).normal(size=n)

    def quadratic(n, condition, seed):
        rng = np.random.default_rng(seed)
        Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
        H, b = Q * np.geomspace(1.0, condition, n) @ Q.T, rng.normal(size=n)
        return lambda x: (0.5 * x @ H @ x - b @ x, 0.5 * (H @ x + H.T @ x) - b), 3 * rng.normal(size=n)

    def log_cosh(n, seed):
        rng = np.random.default_rng(seed)
        A, b, ridge = rng.normal(size=(3 * n, n)), 3 * rng.normal(size=3 * n), rng.uniform(0.1, 1.0)

        def f(x):
            t = A @ x - b
            return np.sum(np.logaddexp(t, -t)) + 0.5 * ridge * x @ x, A.T @ np.tanh(t) + ridge * x

        return f, 3 * rng.normal(size=n)

    def oil(N, seed):
        return centre(simulate_oil_flow(N, random_state=seed).data)[0]

    def digits(N, seed):
        images, labels = load_digits(return_X_y=True)
        return centre(images[np.random.default_rng(seed).permutation(np.flatnonzero(labels < 4))[:N]] / 16)[0]

    def gplvm(Y, init, seed):
        kernel, X = common_start(Y.var()), initial_positions(Y, 2, init, np.random.default_rng(seed))
        x0 = np.concatenate([X.ravel(), kernel.theta])

        def f(x):
            kernel.theta = x[X.size :]
            value, dX, dtheta = value_and_gradients(Y, x[: X.size].reshape(X.shape), kernel, "gaussian", 1e-8 * Y.var())
            return -value, -np.concatenate([dX.ravel(), dtheta])

        return f, x0

    def bayesian(Y, seed, M=15, q=3):
        X, rng = initial_positions(Y, q, "pca", None), np.random.default_rng(seed)
        start = Parameters(X, np.full(X.shape, 0.5), rng.permutation(X)[:M], RBF(Y.var(), np.ones(q)), 0.1 * Y.var())
        packing, outputs = Packing(start, 1e-8 * Y.var()), group_outputs(Y)

        def f(x):
            terms, gradients = bound_and_gradients(outputs, packing.unpack(x))
            return -terms.elbo, -packing.pull_back(packing.unpack(x), gradients)

        return f, packing.pack(start)

    five = range(5)
    for n in (2, 10, 100):
        yield f"Rosenbrock, n = {n}", [rosenbrock(n, seed) for seed in five], 1e-6
    for n, c in ((20, 1e2), (100, 1e3), (50, 1e4)):
        yield f"quadratic, n = {n}, condition {c:g}", [quadratic(n, c, seed) for seed in five], 1e-6
    for n in (8, 50):
        yield f"log cosh, n = {n}", [log_cosh(n, seed) for seed in five], 1e-6
    for N in (60, 100, 200):
        yield f"GP-LVM, oil, N = {N}", [gplvm(oil(N, seed), "pca", seed) for seed in five], 1e-2
    yield "GP-LVM, oil, N = 60, random starts", [gplvm(oil(60, 0), "random", seed) for seed in five], 1e-2
    yield "GP-LVM, digits, N = 80", [gplvm(digits(80, seed), "pca", seed) for seed in five], 1e-2
    yield "Bayesian GP-LVM, oil, N = 60", [bayesian(oil(60, seed), seed) for seed in five], 1e-2
    yield "Bayesian GP-LVM, digits, N = 60", [bayesian(digits(60, seed), seed) for seed in five], 1e-2


def lbfgs_evaluations(value_and_gradient, x0, tolerance, max_iter=600):
    """Evaluations of ours and of SciPy's, the values at their ends, and whether both met the tolerance at one value.

    Where they did not (a step limit, or two different minima) the evaluations count up to the same value: a thousandth
    of the descent above the worse of the two ends.
    """
    from gplvm_edu.optimise import minimise

    values = [], []

    def traced(which):
        def f(x):
            value, gradient = value_and_gradient(x)
            values[which].append(value)
            return value, gradient

        return f

    *_, ours = minimise(traced(0), x0, "l-bfgs", max_iter, tolerance)
    options = {"maxiter": max_iter, "maxfun": 10**6, "ftol": 0, "gtol": tolerance}
    theirs = optimize.minimize(traced(1), x0, jac=True, method="L-BFGS-B", options=options)
    ends = [ours.value, float(theirs.fun)]
    unit = 1e-3 * (values[0][0] - max(ends))
    met = ours.converged and np.max(np.abs(theirs.jac)) <= tolerance and abs(ends[0] - ends[1]) <= unit
    counts = [len(v) if met else 1 + int(np.argmax(np.array(v) <= max(ends) + unit)) for v in values]
    return counts, ends, met


def print_lbfgs_table():
    """Evaluations and mean final values of our L-BFGS and of SciPy's L-BFGS-B, family by family."""
    print("\nevaluations over all starts, and the mean of the final values")
    print(f"{'':36} starts  same minimum  ours   SciPy  ratio   ours: end  SciPy: end")
    total = np.zeros(2)
    for name, problems, tolerance in lbfgs_problems():
        found = [lbfgs_evaluations(f, x0, tolerance) for f, x0 in problems]
        ours, theirs = np.sum([counts for counts, _, _ in found], axis=0)
        ends, n_met = np.mean([ends for _, ends, _ in found], axis=0), sum(met for _, _, met in found)
        total += ours, theirs
        print(
            f"{name:36} {len(problems):6} {n_met:13} {ours:5} {theirs:7} {ours / theirs:6.2f}  "
            f"{ends[0]:10.4f}  {ends[1]:10.4f}",
            flush=True,
        )
    print(f"{'in total':36} {'':6} {'':13} {total[0]:5.0f} {total[1]:7.0f} {total[0] / total[1]:6.2f}")


def ppca_cases(rng):
    from sklearn.decomposition import PCA

    from gplvm_edu.ppca import PPCA, DualPPCA, maximum_likelihood

    for N, D in ((5000, 100), (100, 5000), (600, 600)):
        Y = rng.normal(size=(N, 5)) @ rng.normal(size=(5, D)) + 0.1 * rng.normal(size=(N, D))
        Y -= Y.mean(axis=0)
        Z = Y if D <= N else Y.T
        yield (
            f"ppca: maximum_likelihood / the smaller scatter matrix and its eigh, N={N} D={D}",
            lambda Y=Y: maximum_likelihood(Y, 2),
            lambda Z=Z: np.linalg.eigh(Z.T @ Z),
        )
        yield (
            f"ppca: PPCA.fit / scikit-learn's PCA.fit (full), N={N} D={D}",
            lambda Y=Y: PPCA(2).fit(Y),
            lambda Y=Y: PCA(2, svd_solver="full").fit(Y),
        )
        yield (
            f"ppca: DualPPCA.fit / scikit-learn's PCA.fit (full), N={N} D={D}",
            lambda Y=Y: DualPPCA(2).fit(Y),
            lambda Y=Y: PCA(2, svd_solver="full").fit(Y),
        )


GROUPS = (linalg_cases, metrics_cases, optimise_cases, ppca_cases)


def in_turn(theirs, ours):
    """Median of time(theirs) / time(ours), one after the other, at places that move."""
    moves = count()
    return time_ratio(lambda: theirs(1e-9 * next(moves)), lambda: ours(1e-9 * next(moves)), 8.0)


def main(words):
    cases = [case for group in GROUPS for case in group(np.random.default_rng(0))]
    chosen = [case for case in cases if all(word.lower() in case[0].lower() for word in words)]
    if not chosen:
        sys.exit(f"No benchmark's name contains {' and '.join(words)}. There are:\n" + "\n".join(c[0] for c in cases))
    width = max(len(name) for name, _, _ in chosen)
    print(f"{'time of the first / time of the second':{width}}  1 thread  environment")
    for name, work, reference in chosen:
        found = [time_ratio(work, reference, SECONDS, clock="wall", single=single) for single in (True, False)]
        print(f"{name:{width}}  {found[0]:8.2f}  {found[1]:11.2f}", flush=True)
    if any(name.startswith("optimise: our L-BFGS") for name, _, _ in chosen):
        print_lbfgs_table()


if __name__ == "__main__":
    main(sys.argv[1:])
