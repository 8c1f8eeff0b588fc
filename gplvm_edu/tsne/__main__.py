"""Recompute the figures of chapter 11: ``python -m gplvm_edu.tsne FILE.json``.

The digits come with scikit-learn and the oil flow is simulated, so no file of the papers' data is needed. Names after
the file add lines of the paper's own tables, through the loaders: ``python -m gplvm_edu.tsne FILE.json mnist olivetti
newsgroups`` (an hour, and the data).
"""
import json
import sys

import numpy as np
from threadpoolctl import threadpool_limits

from .tables import PRINTED, compare, load_table_data, temperatures

GAMMAS = (1e-5, 1e-4, 1e-3)


def results(names=()):
    """Both tables on digits and simulated oil flow, the digits at several temperatures, and the lines asked for."""
    report = {"scale": "divided by one number: mean variance of a column 1", "gamma": 1e-7}
    with threadpool_limits(1):           # one thread: the same sums in the same order every time
        for name in ("digits", "oil"):
            Y, target = load_table_data(name)
            report[name], extended = compare(Y, target)
            if name == "digits":
                report["temperatures"] = temperatures(Y, target, extended.start_, extended.bandwidth_, GAMMAS)
                report["balance"] = float(f"{1 / Y.size:.3g}")
        for name in names:
            line, _ = compare(*load_table_data(name))
            report[name] = line | {"printed": {key: list(np.array(value)) for key, value in PRINTED[name].items()}}
    return report


if __name__ == "__main__":
    text = json.dumps(results(sys.argv[2:]), indent=1)
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w") as file:
            file.write(text + "\n")
    print(text)
