"""Incremental EM: a few points at a time, small responsibilities frozen, and the free energy that never falls."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from .em import GTMState, squared_error
from .fast import responsibilities
from .gaps import e_step, log_densities, observed_squares, solve_weights, weighted_sums


class Sums(NamedTuple):
    """What is kept up to date between two batches: counts, sums, and the entropy of each point's responsibilities."""

    counts: np.ndarray  # (K, 1) or (K, D)
    sums: np.ndarray  # (K, D)
    entropies: np.ndarray  # (N,)


def free_energy(R, log_p) -> float:
    r"""A lower bound on the log likelihood for any responsibilities; equal to it at the posterior.

    .. math:: F = \sum_{in} R_{in} \ln \tfrac1K p(y_n \mid i) - \sum_{in} R_{in} \ln R_{in}
                = L - \sum_n KL(R_{:n} \,\|\, p(i \mid y_n))

    Parameters
    ----------
    R : ndarray (K, N)
        Columns sum to one; zeros are allowed.
    log_p : ndarray (K, N)
        Log densities ln p(y_n | i).

    Notes
    -----
    Costs O(K N). Chapter 9, equation (9.17); Bishop, Svensén and Williams (1998), equation (13).

    Examples
    --------
    >>> log_p = np.log(np.array([[0.3], [0.1]]))
    >>> R, log_density = responsibilities(log_p)
    >>> bool(np.isclose(free_energy(R, log_p), log_density[0]))
    True
    >>> bool(free_energy(np.array([[0.5], [0.5]]), log_p) < log_density[0])
    True
    """
    return float(np.sum(R * log_p) - np.sum(xlogy(R, R)) - R.shape[1] * np.log(len(R)))  # (9.17)


def update_sums(old, R_old, R_new, Y, batch) -> Sums:
    r"""Counts and sums after the responsibilities of one batch have changed: the other points are not looked at.

    .. math:: G^{new} = G + \sum_{n \in B} (R^{new}_{:n} - R_{:n}), \qquad
              (RY)^{new} = RY + \sum_{n \in B} (R^{new}_{:n} - R_{:n})\, y_n^\top

    Notes
    -----
    Costs O(K B D) for a batch of B points. Chapter 9, equation (9.20).

    Examples
    --------
    >>> Y, R, S = np.array([[1.0], [2.0]]), np.full((2, 2), 0.5), np.array([[0.9], [0.1]])
    >>> old = Sums(*weighted_sums(R, Y), np.zeros(2))
    >>> update_sums(old, R[:, :1], S, Y[:1], slice(0, 1)).sums.ravel()                # 0.9 + 1 and 0.1 + 1
    array([1.9, 1.1])
    """
    more_counts, more_sums = weighted_sums(R_new - R_old, Y)  # (9.20)
    entropies = old.entropies.copy()
    entropies[batch] = -np.sum(xlogy(R_new, R_new), axis=0)
    return Sums(old.counts + more_counts, old.sums + more_sums, entropies)


def partial_e_step(log_p, R_old, active) -> np.ndarray:
    r"""New responsibilities (K, B): the active nodes share the mass that the frozen ones leave.

    .. math:: R_{in}^{new} = \Big(1 - \sum_{j\ \mathrm{frozen}} R_{jn}\Big)
              \frac{p(y_n \mid i)}{\sum_{j\ \mathrm{active}} p(y_n \mid j)}, \qquad i \text{ active}

    Parameters
    ----------
    log_p : ndarray (K_active, B)
        Log densities of the active nodes alone.
    R_old : ndarray (K, B)
    active : ndarray (K,) of bool

    Notes
    -----
    The free energy can't fall: it is maximised over the entries that move. Chapter 9, equation (9.22).

    Examples
    --------
    >>> partial_e_step(np.zeros((2, 1)), np.array([[0.7], [0.1], [0.2]]), np.array([True, True, False])).ravel()
    array([0.4, 0.4, 0.2])
    """
    R = R_old.copy()
    mass = R_old[active].sum(axis=0)
    R[active] = mass * responsibilities(log_p)[0]  # (9.22)
    return R


def printed_variance(variance, Y, R_old, R_new, old_means, new_means, n_entries) -> float:
    r"""The update of 1 / beta as the paper prints it, equation (9.21): wrong, because all residuals have moved.

    .. math:: \frac1{\beta^{new}} = \frac1\beta + \frac1{ND} \sum_{n \in B} \sum_i \big(
              R^{new}_{in} \|m^{new}_i - y_n\|^2 - R_{in} \|m_i - y_n\|^2 \big)

    Examples
    --------
    >>> Y, R = np.array([[1.0]]), np.ones((1, 1))
    >>> printed_variance(0.1, Y, R, R, old_means=np.zeros((1, 1)), new_means=np.ones((1, 1)), n_entries=2)
    -0.4
    """
    new = squared_error(np.nansum(Y**2 * R_new.sum(axis=0)[:, None]), new_means, *weighted_sums(R_new, Y))
    old = squared_error(np.nansum(Y**2 * R_old.sum(axis=0)[:, None]), old_means, *weighted_sums(R_old, Y))
    return float(variance + (new - old) / n_entries)  # (9.21)


def incremental_iterates(
    Y,
    Phi,
    weights,
    precision,
    batch_size,
    alpha=0.0,
    max_iter=50,
    noise_floor=0.0,
    freeze=0.0,
    refresh_every=5,
    start="posterior",
    printed=False,
    work=None,
) -> Iterator[GTMState]:
    """Generator of `GTMState` after every batch; the penalised free energy never falls (unless `printed`).

    Parameters
    ----------
    Y, Phi, weights, precision, alpha, noise_floor : as in `em_iterates`
    batch_size : int
        Points whose responsibilities are renewed before each M-step; N gives plain EM.
    max_iter : int
        Passes over the data.
    freeze : float
        Nodes whose responsibility is below this for all points of a batch are left alone in that batch.
    refresh_every : int
        Every so many passes nothing is frozen.
    start : "posterior" or "uniform"
        Responsibilities to begin with: those of the start, or 1 / K (legal, and a bad idea).
    printed : bool
        Use the paper's update of the noise, (9.21). The run ends when it makes the variance negative.
    work : list or None
        Given, the share of the nodes that were active is appended for every batch.

    Notes
    -----
    A batch of B points costs O(K B D + K M^2 + M^3). Chapter 9, equations (9.17) to (9.22). `log_likelihood` of a
    state is the free energy, a lower bound on it.

    Examples
    --------
    >>> Y = np.array([[-1.0, 1.0], [0.0, -1.0], [1.0, 0.5], [0.1, -0.5]])
    >>> values = [state.value for state in incremental_iterates(Y, np.eye(2), np.eye(2), 1.0, batch_size=1, max_iter=3)]
    >>> len(values), bool(np.all(np.diff(values) > -1e-12))
    (13, True)
    """
    N, K, W, beta = len(Y), len(Phi), weights, precision
    squares, n_entries = observed_squares(Y)
    R = np.full((K, N), 1.0 / K)
    if start == "posterior":
        R = e_step(Y, Phi @ W.T, beta)[0]
    now = Sums(*weighted_sums(R, Y), -np.sum(xlogy(R, R), axis=0))
    yield _state(W, beta, squares, n_entries, Phi @ W.T, now, alpha, 0.0)
    for sweep, batch in _batches(N, batch_size, max_iter):
        means, y, old = Phi @ W.T, Y[batch], R[:, batch].copy()
        active = old.max(axis=1) >= (0.0 if sweep % refresh_every == 0 else freeze)
        if work is not None:
            work.append(np.mean(active))
        R[:, batch] = partial_e_step(log_densities(y, means[active], beta), old, active)
        now = update_sums(now, old, R[:, batch], y, batch)
        W = solve_weights(Phi, now.counts, now.sums, alpha / beta)
        if printed:
            variance = printed_variance(1 / beta, y, old, R[:, batch], means, Phi @ W.T, n_entries)
        else:
            variance = max(squared_error(squares, Phi @ W.T, now.counts, now.sums) / n_entries, noise_floor)
        if variance <= 0:
            return
        beta = 1.0 / variance
        yield _state(W, beta, squares, n_entries, Phi @ W.T, now, alpha, sweep + batch.stop / N)


def _batches(n_points, batch_size, max_iter):
    """Number of the pass, and the rows of each batch in it, one after the other."""
    for sweep in range(max_iter):
        for first in range(0, n_points, batch_size):
            yield sweep, slice(first, min(first + batch_size, n_points))


def _state(W, beta, squares, n_entries, means, now, alpha, sweeps):
    """The state with its free energy, from the sums alone: no pass over the data."""
    error = squared_error(squares, means, now.counts, now.sums)
    expected = 0.5 * n_entries * np.log(beta / (2 * np.pi)) - 0.5 * beta * error
    F = float(expected + np.sum(now.entropies) - len(now.entropies) * np.log(len(means)))  # (9.17)
    return GTMState(W, beta, F - 0.5 * alpha * float(np.sum(W**2)), F, float(sweeps))
