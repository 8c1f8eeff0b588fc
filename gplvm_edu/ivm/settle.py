"""The sites of the active rows once more: sweeps until they settle, and what they teach the noise model."""

import numpy as np
from scipy import linalg

from ..noise import Gaussian, SitePosterior, cavities, common_shift, site_posterior
from ..noise.fast import ep_columns

MAX_SWEEPS, TOLERANCE = 50, 1e-6
N_STEPS = 10  # of the gaps between cut points, in each pass


def settle_sites(selection, Y, X, kernel, noise, max_sweeps=MAX_SWEEPS):
    """The selection with the sites of expectation propagation: the same active rows, sweeps until no site moves.

    Parameters
    ----------
    selection : Selection
        Its sites are those of one pass of assumed density filtering, in the order of choice: the first sweep.
    Y : ndarray (N, D)
    X : ndarray (N, q)
    kernel : Kernel
        Covariance of f.
    noise : Noise
    max_sweeps : int

    Returns
    -------
    Selection
        With `n_sweeps` and `change`, the largest of a site in the last sweep. Gaussian sites are settled at once.

    Notes
    -----
    Costs O(d^3) a sweep and O(d^2 N) at the end, for each column. Chapter 8, equations (8.22) to (8.24).

    Examples
    --------
    >>> from gplvm_edu.ivm import select_active_set
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.noise import Probit
    >>> Y, X = np.array([[1.0], [1.0], [-1.0]]), np.array([[0.0], [0.1], [3.0]])
    >>> chosen = select_active_set(Y, X, RBF(9.0), Probit(0.0), 3)
    >>> settled = settle_sites(chosen, Y, X, RBF(9.0), Probit(0.0))
    >>> chosen.precisions.ravel().round(3), settled.precisions.ravel().round(3), settled.n_sweeps
    (array([0.149, 0.15 , 0.105]), array([0.116, 0.15 , 0.115]), 7)
    """
    if all(isinstance(model, Gaussian) for model, _ in noise.blocks):
        return selection
    I = selection.active
    K = np.array(kernel(X[I]))
    np.fill_diagonal(K, kernel.diag(X[I]))
    found = ep_columns(K, Y[I], noise.rows(I), max_sweeps, TOLERANCE)
    across = kernel(X[I], X)
    across[np.arange(len(I)), I] = np.diag(K)  # a White part belongs to f
    Ms, Ls = [], []
    for columns in selection.groups:
        beta = found.precisions[:, columns[0]]
        rows = np.flatnonzero(beta > 0)
        L = linalg.cholesky(K[np.ix_(rows, rows)] + np.diag(1.0 / beta[rows]), lower=True)
        Ls.append(L)
        Ms.append(linalg.solve_triangular(L, across[rows], lower=True))
    return selection._replace(
        site_means=found.means,
        precisions=found.precisions,
        M=tuple(Ms),
        L=tuple(Ls),
        log_evidence=float(np.sum(found.log_evidence)),
        n_sweeps=found.n_sweeps,
        change=found.change,
    )


def learn_response(noise, Y, sites, X, kernel):
    """The noise model once biases and cut points have learnt from the active rows, their sites held still.

    First the common shift, by Newton's step (8.42): a bias, or all cut points of a column together, go where the sites
    lie. Then what is left, the gaps between cut points, climbs the sum of ln Z at the cavities, (8.27). Gaussian
    columns stay as they are: `learn_noise_variances` is theirs. So does a column that shows one answer only: its bias
    would never stop.

    Parameters
    ----------
    noise : Noise
    Y : ndarray (n, D)
        The active rows.
    sites : Sites
        Of them, variances (n, D).
    X : ndarray (n, q)
    kernel : Kernel
        Covariance of f.

    Notes
    -----
    Costs O(n^3 D). Chapter 8, equations (8.27) and (8.42).

    Examples
    --------
    >>> from gplvm_edu.ivm import Sites
    >>> from gplvm_edu.kernels import RBF
    >>> from gplvm_edu.noise import Probit
    >>> sites = Sites(np.array([[1.0], [2.0]]), np.ones((2, 1)))
    >>> learn_response(Probit(0.0), np.array([[1.0], [-1.0]]), sites, np.array([[0.0], [9.0]]), RBF())
    Probit(bias=1.5)
    """
    if all(isinstance(model, Gaussian) for model, _ in noise.blocks):
        return noise
    K = np.array(kernel(X))
    np.fill_diagonal(K, kernel.diag(X))
    return noise.mapped(lambda model, d: _moved(model, Y[:, d], sites.means[:, d], 1.0 / sites.variances[:, d], K))


def _moved(model, Y, m, beta, K):
    """One model after what its own columns teach."""
    if isinstance(model, Gaussian) or model.n_shifts == 0:
        return model
    slope, curvature = np.array([common_shift(K, *column) for column in zip(m.T, beta.T, strict=True)]).T
    telling = np.nanmax(Y, axis=0, initial=-np.inf) > np.nanmin(Y, axis=0, initial=np.inf)
    slope = np.where(telling, slope, 0.0)
    if model.n_shifts == 1:
        slope, curvature = slope.sum(keepdims=True), curvature.sum(keepdims=True)
    shift = slope / np.maximum(curvature, 1e-12)  # (8.42)
    moved = model.shifted(shift)
    if model.theta.size == model.n_shifts:
        return moved
    shifts = np.broadcast_to(shift, m.shape[1:])
    columns = [_cavities(K, m[:, d] - shifts[d], beta[:, d]) for d in range(m.shape[1])]
    return moved.learn(Y, *(np.column_stack(part) for part in zip(*columns, strict=True)), max_iter=N_STEPS)


def _cavities(K, m, beta):
    """Mean and variance (n,) of f at each row without its own site."""
    return cavities(SitePosterior(*site_posterior(K, m, beta), m, beta, 0.0))
