"""Benchmarks: what the course's functions cost, each as a ratio to a yardstick measured in the same run.

A ratio of 1 means as fast as the yardstick (LAPACK, SciPy, scikit-learn or bare NumPy); smaller is faster. Seconds
are never compared between machines. Columns: one BLAS thread, on which to judge, and two threads beside it.

    python tests/bench.py            everything
    python tests/bench.py ppca       the lines whose name contains a word
"""

import sys
from statistics import median
from time import perf_counter

import numpy as np
from scipy import linalg, optimize
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

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
        yield (f"optimise: L-BFGS as a generator / SciPy's own loop, n={n}", lambda run=run: run("l-bfgs"), scipy_alone)


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


def ratio(work, reference, seconds=SECONDS):
    """Median over rounds of time(work) / time(reference), measured in turn so that both meet the same weather."""
    work(), reference()
    start = perf_counter()
    reference()
    inner = max(1, int(0.005 / (perf_counter() - start)))  # several calls where one is too short to time
    ratios, end = [], perf_counter() + seconds
    while len(ratios) < 3 or perf_counter() < end:
        ratios.append(seconds_of(work, inner) / seconds_of(reference, inner))
    return median(ratios)


def seconds_of(work, n_times):
    start = perf_counter()
    for _ in range(n_times):
        work()
    return perf_counter() - start


def main(words):
    cases = [case for group in GROUPS for case in group(np.random.default_rng(0))]
    chosen = [case for case in cases if all(word.lower() in case[0].lower() for word in words)]
    if not chosen:
        sys.exit(f"No benchmark's name contains {' and '.join(words)}. There are:\n" + "\n".join(c[0] for c in cases))
    width = max(len(name) for name, _, _ in chosen)
    print(f"{'time of the first / time of the second':{width}}  1 thread  2 threads")
    for name, work, reference in chosen:
        found = []
        for n_threads in (1, 2):
            with threadpool_limits(n_threads):
                found.append(ratio(work, reference))
        print(f"{name:{width}}  {found[0]:8.2f}  {found[1]:9.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
