"""Benchmarks of chapter 3: kernel PCA and classical MDS against the one eigendecomposition that they need.

The lines are read by tests/bench.py; alone: ``python tests/bench_unify.py``.
"""

import numpy as np
from scipy import linalg

LARGEST_RATIO = 1.3  # what chapter 3 promises, on one BLAS thread


def unify_cases(rng):
    from gplvm_edu.kernels import RBF
    from gplvm_edu.linalg import double_centre, squared_distances
    from gplvm_edu.unify import ClassicalMDS, KernelPCA

    N, q = 2000, 2
    Y = rng.normal(size=(N, 12))
    kernel = RBF(inverse_width=0.1)
    K, D = kernel(Y), np.sqrt(squared_distances(Y))
    S_kernel, S_distance = double_centre(K), double_centre(-0.5 * D**2)

    def yardstick(S):
        return lambda: linalg.eigh(S, subset_by_index=(N - q, N - 1))

    yield (
        f"unify: KernelPCA.fit(Y) / scipy eigh of the leading {q}, N={N}",
        lambda: KernelPCA(q, kernel).fit(Y),
        yardstick(S_kernel),
    )
    yield (
        f"unify: KernelPCA.fit(K), precomputed / scipy eigh of the leading {q}, N={N}",
        lambda: KernelPCA(q, metric="precomputed").fit(K),
        yardstick(S_kernel),
    )
    yield (
        f"unify: ClassicalMDS.fit(Y) / scipy eigh of the leading {q}, N={N}",
        lambda: ClassicalMDS(q).fit(Y),
        yardstick(S_distance),
    )
    yield (
        f"unify: ClassicalMDS.fit(D), distances / scipy eigh of the leading {q}, N={N}",
        lambda: ClassicalMDS(q, metric="distance").fit(D),
        yardstick(S_distance),
    )


GROUPS = (unify_cases,)

if __name__ == "__main__":
    import sys

    import bench

    bench.GROUPS = GROUPS
    bench.main(sys.argv[1:])
