"""How wide, how stiff? Choosing the basis width and the regulariser without looking at a label."""

from typing import NamedTuple

import numpy as np

from .. import checks
from ..base import clone

WIDTHS = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1)
CRITERIA = ("likelihood", "evidence")


class Setting(NamedTuple):
    """One setting of a grid search: width factor, alpha, log likelihood, log evidence, and the fitted model."""

    width: float
    alpha: float
    likelihood: float
    evidence: float
    model: object


def log_evidence(Phi, counts, weights, precision, alpha, log_likelihood) -> float:
    r"""Laplace's approximation of ln p(Y | alpha, beta): the likelihood, minus what the weights cost.

    .. math:: \ln p(Y \mid \alpha, \beta) \approx L(W) - \tfrac\alpha2 \|W\|^2
              - \tfrac D2 \ln |\beta \Phi^\top G \Phi + \alpha I| + \tfrac{DM}2 \ln \alpha

    Parameters
    ----------
    Phi : ndarray (K, M)
    counts : ndarray (K,) or (K, 1)
        Diagonal of G at the fitted weights.
    weights : ndarray (D, M)
    precision, alpha : float
    log_likelihood : float
        L at these weights.

    Notes
    -----
    Costs O(K M^2 + M^3). The Hessian leaves out how the responsibilities move with the weights, so the evidence comes
    out a little low; chapter 10 says by how much. Chapter 9, equation (9.26); Bishop, Svensén and Williams (1998),
    equation (35).

    Examples
    --------
    >>> log_evidence(np.ones((1, 1)), np.array([3.0]), np.array([[0.5]]), 1.0, 1.0, 0.0).__round__(4)
    -0.8181
    """
    W, beta, g = weights, precision, np.reshape(counts, (-1, 1))
    D, M = W.shape
    A = beta * Phi.T @ (g * Phi) + alpha * np.eye(M)  # (M, M)
    log_det = np.linalg.slogdet(A)[1]
    return float(
        log_likelihood - 0.5 * alpha * np.sum(W**2) - 0.5 * D * log_det + 0.5 * D * M * np.log(alpha)
    )  # (9.26)


def grid_search(model, Y, widths=WIDTHS, alphas=ALPHAS) -> list[Setting]:
    """A list of `Setting`: a copy of the model fitted for every pair of width and alpha, without labels, (9.26).

    Examples
    --------
    >>> from gplvm_edu.gtm import GTM
    >>> Y = np.random.default_rng(0).standard_normal((30, 3))
    >>> settings = grid_search(GTM(grid=(5, 5), basis=(2, 2), max_iter=5), Y, widths=(1.0, 2.0), alphas=(0.1,))
    >>> [(one.width, one.alpha) for one in settings]
    [(1.0, 0.1), (2.0, 0.1)]
    """
    settings = []
    for width in widths:
        for alpha in alphas:
            fitted = clone(model).set_params(width=width, alpha=alpha).fit(Y)
            settings.append(Setting(width, alpha, fitted.log_likelihood_, fitted.log_evidence_, fitted))
    return settings


def best_setting(settings, criterion="likelihood") -> Setting:
    """The setting that is best by "likelihood" or by "evidence", equation (9.26); the first among equals.

    Examples
    --------
    >>> settings = [Setting(1.0, 0.1, 5.0, -2.0, None), Setting(1.0, 1.0, 4.0, -1.0, None)]
    >>> best_setting(settings).alpha, best_setting(settings, "evidence").alpha
    (0.1, 1.0)
    """
    checks.choice("criterion", criterion, CRITERIA)
    return max(settings, key=lambda one: getattr(one, criterion))
