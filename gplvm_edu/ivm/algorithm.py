"""Algorithm 1: select, climb on the active set, select again, place everybody else; and begin anew."""
from typing import NamedTuple

import numpy as np

from ..kernels import Sum, White
from ..noise import Gaussian
from .active import Sites, climb_active, sites_of
from .mapping import (
    SparseMapping,
    inactive_log_likelihood,
    place_inactive,
    sparse_mapping,
    values_at_active_places,
)
from .selection import Selection, ivm_select


class SparseState(NamedTuple):
    """One outer iteration: positions, kernel, active set and map, the objective, evaluations so far."""

    X: np.ndarray               # (N, q)
    kernel: object              # with its White part
    selection: Selection
    mapping: SparseMapping
    value: float                # (7.21)
    n_evaluations: int          # of the active set's likelihood


def split_noise(kernel):
    """The kernel without its `White` part, and the variance of that part: covariance of f, noise of y; (7.3).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> split_noise(RBF() + White(0.1))
    (RBF(variance=1, inverse_width=1), 0.1)
    """
    parts = kernel.parts if isinstance(kernel, Sum) else [kernel]
    white = [part for part in parts if isinstance(part, White)]
    smooth = [part for part in parts if not isinstance(part, White)]
    if not white or not smooth:
        raise ValueError(
            f"The kernel {kernel!r} has {'nothing but' if white else 'no'} white noise: without a noise model of its "
            "own (noise=None) the sparse GP-LVM takes the noise of the data from a White term beside a covariance, as "
            "in RBF() + White(0.1). Add one, or pass noise=Gaussian(0.1) (chapter 7, \"Which point tells most\").")
    smooth = Sum(*smooth) if len(smooth) > 1 else smooth[0].copy()
    return smooth, float(sum(part.variance for part in white))                   # (7.3)


def model_of(kernel, noise=None, jitter=0.0):
    """Covariance of f and noise of y: the noise given, or the kernel's `White` part as Gaussian noise, (7.3)."""
    if noise is not None:
        return kernel, noise
    smooth, white = split_noise(kernel)
    return smooth, Gaussian(white + jitter)                                      # (7.3)


def outer_step(Y, X, kernel, noise=None, n_active=100, optimise_active=True, latent_prior=None, method="scg",
               n_steps=5, n_inactive_steps=50, relocate=True, jitter=0.0):
    """One pass of Algorithm 1 over all points, as a new `SparseState`.

    Parameters
    ----------
    Y : ndarray (N, D)
        Centred unless the noise model takes care of it; NaN where missing.
    X : ndarray (N, q)
    kernel : Kernel
    noise : noise model or None
        None: the `White` part of the kernel.
    n_active, n_steps, n_inactive_steps : int
        Size of the active set; optimiser steps on it; steps of each inactive row.
    relocate : bool
        An inactive row may begin at an active row's place, see `likelier_places`; False is the algorithm as printed.
    optimise_active : bool
    latent_prior : "gaussian" or None
    method : "scg" or "l-bfgs"
    jitter : float
        Added to the noise variance when noise is None.

    Notes
    -----
    Costs O(d^2 N) for each distinct covariance. Chapter 7, equation (7.21); Lawrence (2005), algorithm 1.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> Y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> state = outer_step(Y, 0.1 * Y, RBF() + White(0.1), n_active=2, n_steps=3)
    >>> state.X.shape, len(state.selection.active)
    ((3, 2), 2)
    """
    X = X.copy()
    first = ivm_select(Y, X, *model_of(kernel, noise, jitter), n_active)         # line 3 of the algorithm
    I = first.active
    sites = sites_of(first) if noise is not None else observed_sites(Y[I], jitter)
    X[I], kernel, n_evaluations = climb_active(sites, X[I], kernel, latent_prior, optimise_active, method, n_steps)
    f_kernel, y_noise = model_of(kernel, noise, jitter)
    selection = ivm_select(Y, X, f_kernel, y_noise, n_active)                    # select again: all have moved
    mapping = sparse_mapping(selection, X, f_kernel, y_noise)
    rest = np.setdiff1d(np.arange(len(Y)), selection.active)
    if len(rest):
        begin = likelier_places(mapping, Y[rest], X[rest], latent_prior, rest) if relocate else X[rest]
        X[rest], _ = place_inactive(mapping, Y[rest], begin, latent_prior, n_inactive_steps, rest)
    value = total_log_likelihood(Y, X, selection, mapping, latent_prior)
    return SparseState(X, kernel, selection, mapping, value, n_evaluations)


def likelier_places(mapping, Y, X, latent_prior=None, rows=slice(None)):
    r"""Where each row should begin its climb: its own place, or that of an active row where it is likelier.

    .. math:: x_j \leftarrow \arg\max_{x \in \{x_j\} \cup X_I} \ell_j(x)

    Parameters
    ----------
    mapping : SparseMapping
    Y, X : ndarray (M, D), (M, q)
        Inactive rows and where they are.
    latent_prior : "gaussian" or None
    rows : index
        Which rows of the training data these are.

    Returns
    -------
    ndarray (M, q)

    Notes
    -----
    Costs O(M d D). Chapter 7, equations (7.17) and (7.23).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> Y, X = np.array([[-1.0], [1.0], [0.9]]), np.array([[-2.0], [2.0], [-2.1]])       # the third is with strangers
    >>> chosen = ivm_select(Y[:2], X[:2], RBF(), Gaussian(0.1), 2)
    >>> likelier_places(sparse_mapping(chosen, X[:2], RBF(), Gaussian(0.1)), Y[2:], X[2:])
    array([[2.]])
    """
    own, _ = inactive_log_likelihood(mapping, Y, X, latent_prior, rows)                          # (7.17)
    there = values_at_active_places(mapping, Y, rows)                                            # (M, d)
    if latent_prior == "gaussian":
        there = there - 0.5 * np.sum(mapping.X**2, axis=1)
    best = np.argmax(there, axis=1)
    better = there[np.arange(len(Y)), best] > own
    return np.where(better[:, None], mapping.X[best], X)                                         # (7.23)


def observed_sites(Y, jitter=0.0):
    """The data as their own sites, for a kernel that holds the noise: variance 0, infinite where missing; (7.12)."""
    missing = np.isnan(Y)
    if not missing.any():
        return Sites(Y, np.full((len(Y), 1), jitter))
    return Sites(np.where(missing, 0.0, Y), np.where(missing, np.inf, jitter))   # (7.12)


def total_log_likelihood(Y, X, selection, mapping, latent_prior=None):
    r"""The objective of the whole: active rows together, every other row given them.

    .. math:: \ln p(Y_I) + \sum_{j \notin I} \ln p(y_j \mid Y_I)

    Notes
    -----
    Costs O(d^2 N). The prior of the positions is included if there is one. Chapter 7, equation (7.21).
    """
    rest = np.setdiff1d(np.arange(len(Y)), selection.active)
    value = selection.log_evidence
    if len(rest):
        value += inactive_log_likelihood(mapping, Y[rest], X[rest], rows=rest)[0].sum()         # (7.21)
    if latent_prior == "gaussian":
        value -= 0.5 * np.sum(X**2) + 0.5 * X.size * np.log(2 * np.pi)
    return float(value)


def sparse_iterates(Y, X, kernel, noise=None, n_active=100, n_outer=15, jitter=0.0, **options):
    """Generator of `SparseState`: the start, then one state for each outer iteration of Algorithm 1.

    Parameters
    ----------
    Y, X, kernel, noise, n_active, jitter, options
        As for `outer_step`. The kernel passed in is not changed.
    n_outer : int
        T.

    Notes
    -----
    The objective need not rise from one state to the next: another active set is another approximation.
    Chapter 7, equation (7.21).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> Y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> states = list(sparse_iterates(Y, 0.1 * Y, RBF() + White(0.1), n_active=2, n_outer=2, n_steps=3))
    >>> len(states), states[-1].value > states[0].value
    (3, True)
    """
    f_kernel, y_noise = model_of(kernel, noise, jitter)
    selection = ivm_select(Y, X, f_kernel, y_noise, n_active)
    mapping = sparse_mapping(selection, X, f_kernel, y_noise)
    value = total_log_likelihood(Y, X, selection, mapping, options.get("latent_prior"))      # (7.21)
    state = SparseState(X, kernel.copy(), selection, mapping, value, 0)
    yield state
    for _ in range(n_outer):
        before = state.n_evaluations
        state = outer_step(Y, state.X, state.kernel, noise, n_active, jitter=jitter, **options)
        state = state._replace(n_evaluations=before + state.n_evaluations)
        yield state
