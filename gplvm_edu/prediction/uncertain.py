"""Regression when the inputs themselves are uncertain: the by-product of the bound."""

from collections.abc import Iterator

import numpy as np

from .. import checks
from ..kernels import noise_is_fixed
from ..variational import (
    Parameters,
    VariationalState,
    fast,
    initial_inducing_inputs,
    initial_kernel,
    make_map,
    variational_iterates,
)


def uncertain_regression(
    Y, input_mean, input_variance, n_inducing=20, kernel=None, max_iter=200, random_state=0
) -> Iterator[VariationalState]:
    r"""Generator of `VariationalState`: a GP with inputs measured as N(mean, diag variance), which are inferred too.

    .. math:: \ln p(Y) \ge \tilde F\big(q(X)\big) - \sum_n \mathrm{KL}\big(q(x_n) \,\|\, N(m_n, v_n)\big)

    Parameters
    ----------
    Y : ndarray (N, D)
        Outputs, centred.
    input_mean, input_variance : ndarray (N, q)
        What was measured, and how well: the prior of each input.
    n_inducing : int
    kernel : Kernel or None
    max_iter : int
    random_state : None, int, RandomState or Generator

    Notes
    -----
    Each evaluation costs O(N M^2 q + N M D): the bound of chapter 12 with another prior. The first iterate has the
    measurements themselves as q(X). Chapter 13, equation (13.20); Titsias and Lawrence (2010), section 6.

    Examples
    --------
    >>> x = np.linspace(-2.0, 2.0, 30)[:, None]
    >>> states = list(uncertain_regression(np.sin(2.0 * x), x, 0.01 + 0.0 * x, n_inducing=8, max_iter=30))
    >>> states[-1].value > states[0].value
    True
    """
    m, v = input_mean, input_variance
    smooth, noise = initial_kernel(kernel, np.var(Y), m.shape[1])
    Z = initial_inducing_inputs(m, n_inducing, smooth, checks.random_state(random_state))
    outputs = fast.group_outputs(Y)

    def bound(parameters):
        found = fast.evaluate_bound(outputs, parameters)
        d, mu, S = fast.data_gradients(outputs, parameters, found), parameters.latent_mean, parameters.latent_variance
        kl = 0.5 * np.sum(((mu - m) ** 2 + S) / v - np.log(S / v) - 1.0)  # (13.20)
        d_mu, d_S = d.latent_mean - (mu - m) / v, d.latent_variance - 0.5 * (1.0 / v - 1.0 / S)
        return found.terms._replace(kl=float(kl)), d._replace(latent_mean=d_mu, latent_variance=d_S)

    start = Parameters(m, v, Z, smooth, noise)
    yield from variational_iterates(bound, start, "l-bfgs", max_iter, 1e-4, 1e-8 * np.var(Y), noise_is_fixed(kernel))


def predict_uncertain(Y, parameters, input_mean, input_variance=None) -> tuple[np.ndarray, np.ndarray]:
    """Mean and noise-free variance, both (n, D), at sure (None) or uncertain inputs, from a state's parameters, (13.4).

    Examples
    --------
    >>> x = np.linspace(-2.0, 2.0, 30)[:, None]
    >>> *_, last = uncertain_regression(np.sin(2.0 * x), x, 0.01 + 0.0 * x, n_inducing=8, max_iter=30)
    >>> mean, variance = predict_uncertain(np.sin(2.0 * x), last.parameters, np.array([[0.5]]))
    >>> mean.round(1), bool(variance < 0.1)
    (array([[0.8]]), True)
    """
    moments = fast.predict_moments(make_map(Y, parameters), input_mean, input_variance)
    return moments.mean, moments.variance
