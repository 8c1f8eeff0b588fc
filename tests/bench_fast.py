"""Plain and fast in one table: their lines, and how many times faster the fast one is at two sizes users have.

    python tests/bench_fast.py            all of them
    python tests/bench_fast.py tsne       those whose name contains a word

One BLAS thread, processor time, median of the ratios measured in turn. A fast way earns its place with 1.3 at one of
the sizes at least.
"""

import sys

from pairs import all_pairs, lines_of

from gplvm_edu.timing import time_ratio

EARNED = 1.3


def factor(pair, size):
    """Time of the plain one over time of the fast one."""
    problem = pair.sized_problem(size)
    return time_ratio(lambda: pair.plain(*problem), lambda: pair.fast(*problem), 1.0)


def main(words):
    pairs = [pair for pair in all_pairs() if all(word.lower() in pair.name.lower() for word in words)]
    if not pairs:
        sys.exit("No pair has such a name. There are:\n" + "\n".join(pair.name for pair in all_pairs()))
    width, idle = max(len(pair.name) for pair in pairs), []
    print(f"{'':{width}}  lines plain  fast   times faster")
    for pair in pairs:
        found = [factor(pair, size) for size in pair.sizes]
        told = ",  ".join(f"{f:6.1f} at {pair.size_of} = {s}" for f, s in zip(found, pair.sizes, strict=True))
        print(
            f"{pair.name:{width}}  {lines_of(pair.plain_code):11d}  {lines_of(pair.fast_code):4d}   {told}", flush=True
        )
        idle += [pair.name] * (max(found) < EARNED)
    sys.exit(f"These do not earn their place: {', '.join(idle)}" if idle else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
