"""How many components? Three answers that need the eigenvalues of Y'Y/N and no held-out data."""

import numpy as np

from .. import checks
from .closed_form import maximal_log_likelihood, principal_axes


def bayesian_information(eigenvalues, n_components, n_samples, n_features) -> float:
    r"""Schwarz's criterion (BIC) of PPCA, larger is better: the greatest log likelihood less a price per parameter.

    .. math:: \mathrm{BIC}(q) = \hat L - \tfrac12 \Big[ Dq - \tfrac{q(q-1)}{2} + 1 + D \Big] \ln N

    The bracket counts weights less the rotations that change nothing, the noise variance, and the means.

    Notes
    -----
    Costs O(D). Chapter 1, equation (1.16).

    Examples
    --------
    >>> round(bayesian_information(np.array([16, 4, 4]) / 3, 1, n_samples=3, n_features=3), 4)
    -19.9896
    """
    q, N, D = n_components, n_samples, n_features
    n_parameters = D * q - q * (q - 1) / 2 + 1 + D
    return float(maximal_log_likelihood(eigenvalues, q, N, D) - 0.5 * n_parameters * np.log(N))  # (1.16)


def broken_stick(eigenvalues) -> int:
    r"""How many leading eigenvalues exceed their share of a stick that is broken at random into D pieces.

    .. math:: \frac{\lambda_i}{\sum_j \lambda_j} > \frac1D \sum_{j=i}^{D} \frac1j

    Notes
    -----
    Costs O(D). The right-hand side is the expected length of the i-th longest piece.

    Examples
    --------
    >>> broken_stick(np.array([6.0, 3.0, 0.5, 0.5]))
    2
    """
    lam = np.asarray(eigenvalues)
    D = len(lam)
    pieces = np.cumsum(1 / np.arange(D, 0, -1))[::-1] / D
    return leading(lam / np.sum(lam) > pieces)


def parallel_analysis(Y, n_shuffles=20, random_state=None) -> int:
    """How many leading eigenvalues of centred data exceed the mean of those of data with each column shuffled alone.

    Notes
    -----
    Costs O(n_shuffles N D min(N, D)).

    Examples
    --------
    >>> from gplvm_edu.ppca import sample_ppca
    >>> Y, _ = sample_ppca(np.array([[3.0, 0.0], [3.0, 0.0], [0.0, 3.0], [0.0, 3.0]]), 0.1, 200, random_state=0)
    >>> parallel_analysis(Y, random_state=0)
    2
    """
    rng = checks.generator(random_state)
    shuffled = [principal_axes(rng.permuted(Y, axis=0))[0] for _ in range(n_shuffles)]
    return leading(principal_axes(Y)[0] > np.mean(shuffled, axis=0))


def leading(passes) -> int:
    """The number of True before the first False.

    Examples
    --------
    >>> leading([True, True, False, True])
    2
    """
    return int(np.argmin(np.append(passes, False)))
