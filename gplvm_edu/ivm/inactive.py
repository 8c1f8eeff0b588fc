"""Where the inactive rows go: each to a maximum of its own log likelihood given the active set."""

import numpy as np

from ..maps import COARSE, maximise_rows
from .fast import log_likelihoods_at_active


def likeliest_starts(active, Y, X, rows=slice(None)) -> np.ndarray:
    r"""Where the search of each row begins, (n, q): its own position, or that of an active row where it is likelier.

    .. math:: x_j \leftarrow \arg\max_{x \in \{x_j\} \cup X_I} \ell_j(x)

    Parameters
    ----------
    active : ActiveMap
        Its latent prior counts.
    Y, X : ndarray (n, D), (n, q)
        Inactive rows and where they are.
    rows : index
        Which rows of the training data these are.

    Notes
    -----
    Costs O(n d D). Chapter 7, equations (7.17) and (7.23).

    Examples
    --------
    >>> from gplvm_edu.ivm import select_active_set, selection_map
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.noise import Gaussian
    >>> Y, X = np.array([[-1.0], [1.0], [0.9]]), np.array([[-2.0], [2.0], [-2.1]])  # the third lies far from the second
    >>> chosen = select_active_set(Y[:2], X[:2], RBF(), Gaussian(0.1), 2)
    >>> likeliest_starts(selection_map(chosen, X[:2], RBF(), Gaussian(0.1)), Y[2:], X[2:])
    array([[2.]])
    """
    own, _ = active.log_density(Y, X, rows)
    there = log_likelihoods_at_active(active, Y, rows)  # (n, d)
    if active.latent_prior == "gaussian":
        own, there = own - 0.5 * np.sum(X**2, axis=1), there - 0.5 * np.sum(active.centres**2, axis=1)
    best = np.argmax(there, axis=1)
    better = there[np.arange(len(Y)), best] > own
    return np.where(better[:, None], active.centres[best], X)  # (7.23)


def place_inactive(active, Y, X, max_iter=20, rows=None, tolerance=COARSE) -> tuple[np.ndarray, np.ndarray]:
    """Move every row of X to a nearby maximum of its own log likelihood (plus prior): new X, and the values there.

    Notes
    -----
    One vectorised problem of O(n d (d + D)) an iteration, no loop over points: `maps.maximise_rows`, told which rows of
    the training data these are. Chapter 7, equation (7.17).
    """
    rows = np.arange(len(Y)) if rows is None else rows

    def log_density(some, positions):
        return active.log_density(Y[some], positions, rows[some])

    return maximise_rows(active, Y, X, max_iter, tolerance, log_density)
