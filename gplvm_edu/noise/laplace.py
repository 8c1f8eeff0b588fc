"""Laplace's approximation: the mode of the posterior, and a Gaussian of the curvature there."""

from collections.abc import Iterator

import numpy as np

from ..linalg import log_determinant
from ..threads import n_rows, suited
from .model import sites
from .posterior import SitePosterior, factor_sites, site_posterior

HALVINGS = 60  # of a step: enough to come back from the rate e^230 of a count


@suited(n_rows)
def laplace_posterior(K, y, noise, max_iter=100, tolerance=1e-10) -> Iterator[SitePosterior]:
    r"""Climb to the mode of the posterior of f by Newton's steps; each is a Gaussian process with sites.

    .. math:: f \leftarrow (K_f^{-1} + B)^{-1} (B f + g), \qquad
              g_n = \frac{\partial \ln p(y_n \mid f_n)}{\partial f_n}, \qquad
              \beta_n = -\frac{\partial^2 \ln p(y_n \mid f_n)}{\partial f_n^2}

    Parameters
    ----------
    K, y, noise : as in `adf_posterior`
        A noise model whose ln p(y | f) is concave in f, as all of ours are: there is one mode.
    max_iter : int
    tolerance : float
        Stop when a step gains no more than this, in nats.

    Yields
    ------
    SitePosterior
        After each step: mean is f, the sites are beta_n and f_n + g_n / beta_n, and `change` is what the step gained.

    Notes
    -----
    g and beta are what the noise model tells of a variance of 0. A step that would lower the log posterior is halved;
    the log posterior is concave, so that some step along it rises. Costs O(N^3) a step. Chapter 8, equations (8.37) and
    (8.38).

    Examples
    --------
    >>> from gplvm_edu.noise import Probit
    >>> K = np.array([[1.0, 0.8], [0.8, 1.0]])
    >>> *_, q = laplace_posterior(K, np.array([1.0, 1.0]), Probit(0.0))
    >>> q.mean.round(3), round(q.log_evidence, 3)                 # the mode; the mean that EP finds is 0.804
    (array([0.723, 0.723]), -1.166)
    """
    N = len(K)
    f, a, none = np.zeros(N), np.zeros(N), np.zeros(N)  # a = K^-1 f
    terms = _likelihood(noise, y, f)
    here = np.sum(terms.log_partition)
    for _ in range(max_iter):
        before = here
        m, beta = sites(terms.g, terms.nu, f, none)
        _, Sigma = site_posterior(K, m, beta)
        aim = Sigma @ (beta * f + terms.g)  # (8.37)
        towards = beta * f + terms.g - beta * aim  # K^-1 of the aim
        for halving in range(HALVINGS):
            t = 0.5**halving
            f_try, a_try = f + t * (aim - f), a + t * (towards - a)
            terms = _likelihood(noise, y, f_try)
            here = np.sum(terms.log_partition) - 0.5 * a_try @ f_try
            if here >= before - 1e-12 * abs(before):
                break
        f, a = f_try, a_try
        m, beta = sites(terms.g, terms.nu, f, none)
        evidence = here - 0.5 * log_determinant(factor_sites(K, beta)[0])  # (8.38)
        yield SitePosterior(f.copy(), site_posterior(K, m, beta)[1], m, beta, float(evidence), float(here - before))
        if here - before <= tolerance:
            return


def _likelihood(noise, y, f):
    """ln p(y_n | f_n) and its first two derivatives: ln Z, g and nu of a variance of 0."""
    terms = noise.evaluate(y[:, None], f[:, None], np.zeros((len(f), 1)))
    return type(terms)(*(term[:, 0] for term in terms))
