"""Benchmark of t-SNE: one exact gradient at N = 1797 beside scikit-learn's, and the final cost of both.

    python tests/bench_tsne.py            the gradient: at least 4.5 times faster (one BLAS thread)
    python tests/bench_tsne.py fit        also whole fits: final cost within 3 per cent (two minutes)

Each repeat times both in turn, at positions moved by 1e-9, so that both meet the same weather; what counts is the
median of the ratios.
"""

import sys
from statistics import median
from time import perf_counter

import numpy as np
from scipy.spatial.distance import squareform
from sklearn.manifold import TSNE as SklearnTSNE
from sklearn.manifold import _t_sne

from gplvm_edu.datasets import load_digits
from gplvm_edu.threads import one_thread
from gplvm_edu.tsne import TSNE, cost_and_gradient, fast, joint_affinities

TARGET, SAME_COST = 4.5, 0.03


def gradients(n_repeats=21):
    """Median milliseconds of ours, scikit-learn's and the plain one (which has the cost too), and ratios to ours."""
    Y = load_digits().data
    N, P = len(Y), joint_affinities(Y, 30.0)
    condensed, X = squareform(P), 20.0 * np.random.default_rng(0).standard_normal((N, 2))
    work = {
        "ours": lambda X: fast.cost_and_gradient(X, P, with_cost=False)[1],
        "scikit-learn": lambda X: _t_sne._kl_divergence(X.ravel(), condensed, 1, N, 2, compute_error=False)[1],
        "whole matrices": lambda X: cost_and_gradient(X, P, with_cost=False)[1],
    }
    answers = [np.ravel(run(X)) for run in work.values()]
    assert all(np.allclose(answer, answers[0], rtol=1e-6, atol=1e-12) for answer in answers)
    times = {name: [] for name in work}
    for repeat in range(n_repeats):
        for name, run in work.items():
            start = perf_counter()
            run(X + 1e-9 * repeat)
            times[name].append(1e3 * (perf_counter() - start))
    ratios = {name: median(t / o for t, o in zip(times[name], times["ours"], strict=True)) for name in work}
    return {name: median(t) for name, t in times.items()}, ratios


def final_costs():
    Y = load_digits().data
    start = perf_counter()
    ours = TSNE(perplexity=30.0).fit(Y).cost_
    middle = perf_counter()
    theirs = SklearnTSNE(method="exact", init="pca", perplexity=30.0).fit(Y).kl_divergence_
    return ours, theirs, middle - start, perf_counter() - middle


def main(fit):
    with one_thread():
        milliseconds, ratios = gradients()
        for name, ratio in ratios.items():
            print(f"{name:>15}: {milliseconds[name]:7.1f} ms, {ratio:5.2f} times ours")
        faster = ratios["scikit-learn"]
        failed = [f"Only {faster:.2f} times faster than scikit-learn"] * (faster < TARGET)
        if fit:
            ours, theirs, seconds, their_seconds = final_costs()
            print(
                f"final cost {ours:.4f} in {seconds:.0f} s, scikit-learn's {theirs:.4f} in {their_seconds:.0f} s: "
                f"{ours / theirs - 1:+.1%}"
            )
            failed += [f"final cost {ours:.4f} is not within 3 % of {theirs:.4f}"] * (ours > (1 + SAME_COST) * theirs)
    sys.exit("; ".join(failed) or 0)


if __name__ == "__main__":
    main("fit" in sys.argv[1:])
