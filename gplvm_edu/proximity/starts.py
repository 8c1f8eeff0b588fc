"""One GP-LVM, many starts: the comparison that this chapter makes on every data set."""
import numpy as np
from scipy.spatial.distance import cdist

from ..metrics import nearest_neighbour_errors
from ..unify import KernelPCA
from .estimators import Isomap, MetricMDS, NonMetricMDS, SammonMapping
from .geodesics import principal_coordinates

# Lawrence (2005), table 2: errors on 100 points of the oil flow data. "Sammon" is called metric MDS there.
PRINTED_ERRORS = {"PCA": 20, "kernel PCA": 13, "non-metric MDS": 13, "Sammon": 6, "GP-LVM": 4, "GTM": 7}


def as_start(X):
    r"""A map in the units that a GP-LVM expects, centred and of unit size, its proportions kept.

    .. math:: X_0 = \frac1s (X - 1 \bar x^\top), \qquad s^2 = \frac{1}{Nq} \sum_{n,j} (x_{nj} - \bar x_j)^2

    Notes
    -----
    Columns scaled one by one would stretch a long sheet into a square. Chapter 6, equation (6.20).

    Examples
    --------
    >>> as_start(np.array([[0.0, 1.0], [4.0, 1.0]]))
    array([[-1.41421356,  0.        ],
           [ 1.41421356,  0.        ]])
    """
    X = X - X.mean(axis=0)
    return X / X.std() if X.any() else X                                                 # (6.20)


def start_maps(Y, n_neighbors=5, random_state=0):
    """Every map of the course so far that can start a GP-LVM: {name: positions (N, 2)}, by (6.17) and its relatives.

    Notes
    -----
    Chapter 6, equations (6.2), (6.9), (6.11) and (6.17).

    Examples
    --------
    >>> list(start_maps(np.random.default_rng(0).standard_normal((12, 3))))
    ['PCA', 'kernel PCA', 'metric MDS', 'Sammon', 'non-metric MDS', 'Isomap', 'random']
    """
    rng = np.random.default_rng(random_state)
    return {
        "PCA": principal_coordinates(cdist(Y, Y), 2)[0],
        "kernel PCA": KernelPCA(2).fit_transform(Y),
        "metric MDS": MetricMDS(2).fit_transform(Y),
        "Sammon": SammonMapping(2).fit_transform(Y),
        "non-metric MDS": NonMetricMDS(2).fit_transform(Y),
        "Isomap": Isomap(2, n_neighbors).fit_transform(Y),
        "random": rng.standard_normal((len(Y), 2)),
    }


def compare_starts(Y, target, starts, max_iter=300):
    """Errors of each map, and errors and log likelihood of the GP-LVM that starts from it.

    Parameters
    ----------
    Y : ndarray (N, D)
    target : sequence (N,)
    starts : dict
        {name: positions (N, q)}.
    max_iter : int
        Of the GP-LVM, without a prior on the positions.

    Returns
    -------
    dict
        {name: {"errors": int, "gplvm_errors": int, "gplvm_log_likelihood": float}}.

    Notes
    -----
    Chapter 6, equation (6.20).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> report = compare_starts(rng.standard_normal((9, 3)), [0, 1, 2] * 3, {"any": rng.standard_normal((9, 2))}, 5)
    >>> sorted(report["any"])
    ['errors', 'gplvm_errors', 'gplvm_log_likelihood']
    """
    from ..gplvm import GPLVM

    report = {}
    for name, X in starts.items():
        model = GPLVM(X.shape[1], init=as_start(X), latent_prior=None, max_iter=max_iter).fit(Y)     # (6.20)
        report[name] = {
            "errors": nearest_neighbour_errors(X, target),
            "gplvm_errors": nearest_neighbour_errors(model.embedding_, target),
            "gplvm_log_likelihood": model.log_likelihood_,
        }
    return report
