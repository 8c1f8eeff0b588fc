"""Regression when the inputs themselves are uncertain: the by-product of the bound."""
import numpy as np

from ..optimise import minimise
from ..variational import (
    Packing,
    Parameters,
    State,
    bound_and_gradients,
    group_outputs,
    initial_inducing_inputs,
    initial_kernel,
    posterior_of,
)
from .output_map import output_map, predict_moments


def uncertain_regression(Y, input_mean, input_variance, n_inducing=20, kernel=None, max_iter=200, random_state=0):
    r"""Generator of `State`: a GP whose inputs were measured as N(mean, diag variance); what they are is inferred too.

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
    random_state : int

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
    Z = initial_inducing_inputs(m, n_inducing, smooth, np.random.RandomState(random_state))
    start = Parameters(m, v, Z, smooth, noise)
    packing, outputs = Packing(start, 1e-8 * np.var(Y)), group_outputs(Y)

    def evaluate(x):
        parameters = packing.unpack(x)
        terms, d = bound_and_gradients(outputs, parameters)
        mu, S = parameters.latent_mean, parameters.latent_variance
        kl = 0.5 * np.sum(((mu - m) ** 2 + S) / v - np.log(S / v) - 1.0)         # (13.20)
        d_mu, d_S = d.latent_mean + mu - (mu - m) / v, d.latent_variance + 0.5 * (1.0 - 1.0 / v)
        return parameters, terms._replace(kl=float(kl)), d._replace(latent_mean=d_mu, latent_variance=d_S)

    def value_and_gradient(x):
        parameters, terms, d = evaluate(x)
        return -terms.total, -packing.pull_back(parameters, d)

    for iterate in minimise(value_and_gradient, packing.pack(start), "l-bfgs", max_iter, 1e-4):
        parameters, terms, _ = evaluate(iterate.x)
        yield State(parameters, terms, iterate.n_evaluations)


def predict_uncertain(Y, parameters, input_mean, input_variance=None):
    """Mean and noise-free variance, both (n, D), at sure (None) or uncertain inputs, from a state's parameters, (13.4).

    Examples
    --------
    >>> x = np.linspace(-2.0, 2.0, 30)[:, None]
    >>> *_, last = uncertain_regression(np.sin(2.0 * x), x, 0.01 + 0.0 * x, n_inducing=8, max_iter=30)
    >>> mean, variance = predict_uncertain(np.sin(2.0 * x), last.parameters, np.array([[0.5]]))
    >>> mean.round(1), bool(variance < 0.1)
    (array([[0.8]]), True)
    """
    learnt = output_map(posterior_of(Y, parameters), uncertain=input_variance is not None)
    moments = predict_moments(learnt, input_mean, input_variance)                # (13.4)
    return moments.mean, moments.variance
