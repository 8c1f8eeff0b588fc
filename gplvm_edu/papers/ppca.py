"""The figures of chapter 1 on the real oil flow data."""

import numpy as np

from ..datasets import load_oil_flow
from ..linalg import centre
from ..metrics import nearest_neighbour_errors
from ..ppca import PPCA, DualPPCA, principal_axes
from . import collect


def pca_errors(data, target):
    """Errors of nearest neighbours in the plane of the first two principal axes.

    The paper counts them with scores, not with posterior means.

    Examples
    --------
    >>> pca_errors([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [3.0, 0.0, 1.0], [3.1, 0.0, 1.0]], [0, 0, 1, 1])
    0
    """
    Y, _ = centre(np.asarray(data))
    return nearest_neighbour_errors(Y @ principal_axes(Y)[1][:, :2], target)


def describe(oil):
    """Errors, noise and likelihood of PPCA and its dual."""
    primal, dual = PPCA(2).fit(oil.data), DualPPCA(2).fit(oil.data)
    return {
        "n_samples": len(oil.data),
        "errors": pca_errors(oil.data, oil.target),
        "noise_variance": round(primal.noise_variance_, 6),
        "dual_noise_variance": round(dual.noise_variance_, 6),
        "log_likelihood": round(primal.log_likelihood_, 2),
        "dual_log_likelihood": round(dual.log_likelihood_, 2),
    }


def results(progress=iter):
    """Both sets of Lawrence (2005), tables 2 and 3."""
    return collect(
        {
            "oil, 100 points": lambda: describe(load_oil_flow(100)),
            "oil, 1000 points": lambda: describe(load_oil_flow()),
        },
        progress,
    )
