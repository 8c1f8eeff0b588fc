"""The energy as a prior: a GP-LVM whose positions are drawn from a Boltzmann distribution."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..gplvm import GPLVMState, log_likelihood, theta_in_units, value_and_gradients
from ..kernels import RBF, Bias, Kernel, White, in_units
from ..linalg import own_scale
from ..optimise import minimise


class TSNEPosterior(NamedTuple):
    """The log posterior up to a constant, its gradients, and the two terms it is made of."""

    value: float
    dX: np.ndarray  # (N, q)
    dtheta: np.ndarray  # (n_parameters,)
    log_likelihood: float
    energy: float


def posterior_and_gradients(Y, X, kernel, energy, temperature, jitter=0.0) -> TSNEPosterior:
    r"""`TSNEPosterior`: log likelihood of the GP-LVM plus the log of a Boltzmann prior on X, with gradients.

    .. math:: \ln p(Y, X) = L(X, \theta) - \frac{1}{\tau} E(X) + \text{const}, \qquad
              \frac{\partial}{\partial X} = \frac{\partial L}{\partial X} - \frac1\tau \frac{\partial E}{\partial X}

    Parameters
    ----------
    Y : ndarray (N, D)
        Centred data.
    X : ndarray (N, q)
    kernel : Kernel
    energy : callable
        ``energy(X)`` returns E (a float) and its gradient (N, q), such as ``lambda X: cost_and_gradient(X, P)``.
    temperature : float
        tau above 0; infinity switches the prior off.
    jitter : float
        Added to the diagonal of K.

    Notes
    -----
    Costs O(N^3), that of the GP-LVM; the prior adds O(N^2). Chapter 11, equations (11.14) and (11.15).

    Examples
    --------
    >>> from gplvm_edu.tsne import cost_and_gradient, joint_affinities
    >>> Y = np.array([[-1.5], [-0.5], [0.5], [1.5]])
    >>> P = joint_affinities(Y, 1.5)
    >>> now = posterior_and_gradients(Y, 2 * Y, RBF() + White(0.1), lambda X: cost_and_gradient(X, P), 0.1)
    >>> bool(np.isclose(now.value, now.log_likelihood - now.energy / 0.1))
    True
    """
    tau = temperature
    L, dL, dtheta = value_and_gradients(Y, X, kernel, jitter=jitter)
    E, dE = energy(X)
    return TSNEPosterior(L - E / tau, dL - dE / tau, dtheta, L, E)  # (11.14), (11.15)


def likelihood_share(n_samples, n_features, temperature) -> float:
    r"""The weight w of the likelihood when both terms are counted in nats a data entry.

    .. math:: \frac{L - E / \tau}{ND + 1/\tau} = w \frac{L}{ND} - (1 - w) E, \qquad w = \frac{ND}{ND + 1/\tau}

    Notes
    -----
    One half at tau = 1 / (N D): there the two terms are of one size. Chapter 11, equation (11.16).

    Examples
    --------
    >>> [round(likelihood_share(100, 10, tau), 3) for tau in (1e-7, 1e-3, np.inf)]
    [0.0, 0.5, 1.0]
    """
    return 1.0 / (1.0 + 1.0 / (n_samples * n_features * temperature))  # (11.16)


def paper_kernel(variance=1.0, bandwidth=1.0) -> Kernel:
    r"""The paper's covariance, in the units of the data: a bell, a bias and noise, of which only the width is chosen.

    .. math:: k(x, x') = v \left( e^{-\|x - x'\|^2 / 2 \sigma^2} + e^{-1} + e^{-1} \delta \right)

    Notes
    -----
    With v = 1 it is the paper's own, which has no variance to adapt: multiply the data by ten and it no longer fits
    them. Chapter 11, equation (11.17).

    Examples
    --------
    >>> paper_kernel(2.0, 5.0)
    RBF(variance=2, inverse_width=0.04) + Bias(variance=0.7358) + White(variance=0.7358)
    """
    v = variance
    return RBF(v, bandwidth**-2) + Bias(v * np.exp(-1.0)) + White(v * np.exp(-1.0))  # (11.17)


def with_bandwidth(kernel, bandwidth) -> Kernel:
    """A copy of the kernel in which every inverse width that is not fixed is 1 / bandwidth^2, equation (11.17).

    Examples
    --------
    >>> with_bandwidth(RBF() + White(0.1), 10.0)
    RBF(variance=1, inverse_width=0.01) + White(variance=0.1)
    """
    kernel = kernel.copy()
    names = set(kernel.get_params()) - set(kernel.fixed)
    widths = [name for name in names if name.split("__")[-1] == "inverse_width"]
    if not widths:
        raise ValueError(
            f"A bandwidth needs a kernel with an inverse width that is not fixed, and {kernel} has none. Use RBF() + "
            'White(), or leave out bandwidths (chapter 11, "The width of the kernel").'
        )
    return kernel.set_params(**dict.fromkeys(widths, float(bandwidth) ** -2))


def bandwidth_range(X, n_bandwidths=12) -> np.ndarray:
    """Bandwidths worth trying for positions X: from 1/50 to twice their spread, equation (11.18).

    Examples
    --------
    >>> bandwidth_range(np.array([[-1.0], [1.0]]), 3).round(2)
    array([0.02, 0.2 , 2.  ])
    """
    spread = np.sqrt(np.mean(np.var(X, axis=0)))
    return (spread if spread > 0 else 1.0) * np.geomspace(0.02, 2.0, n_bandwidths)  # (11.18)


def best_bandwidth(Y, X, kernel, bandwidths, jitter=0.0) -> tuple[float, np.ndarray]:
    r"""The bandwidth of a list that makes the data likeliest at positions X, and all the log likelihoods.

    .. math:: \hat\sigma = \arg\max_{\sigma \in \{\sigma_1, \dots\}} L(X, \sigma)

    Notes
    -----
    Costs O(N^3 / 3) for each bandwidth: one factor and no gradient. Chapter 11, equation (11.18).

    Examples
    --------
    >>> X = np.linspace(0, 6, 20)[:, None]
    >>> best, values = best_bandwidth(np.sin(X), X, RBF() + White(0.01), [0.1, 1.0, 10.0])
    >>> best, len(values)
    (1.0, 3)
    """
    values = []
    for bandwidth in bandwidths:
        K = with_bandwidth(kernel, bandwidth)(X)
        K.flat[:: len(K) + 1] += jitter
        values.append(log_likelihood(Y, K))
    return float(bandwidths[int(np.argmax(values))]), np.array(values)


def prior_iterates(
    Y, X, kernel, energy, temperature, method="l-bfgs", max_iter=200, jitter=0.0, tolerance=1e-5, learn_kernel=False
) -> Iterator[GPLVMState]:
    r"""Generator of `GPLVMState`: maximise L - E / tau from X, the start included.

    .. math:: \text{minimise} \quad (1 - w)\, N E(X) - w\, \frac{L(X)}{D}

    Parameters
    ----------
    Y, X, kernel, energy, temperature, jitter : as in `posterior_and_gradients`
    method : "l-bfgs" or "scg"
    max_iter : int
    tolerance : float
        Of the gradient of the objective above.
    learn_kernel : bool
        Move the kernel's parameters too, but for those that are fixed; else all stay as they are.

    Notes
    -----
    The optimum is that of (11.14), but both ends of the temperature are well scaled. The climb is made in units of the
    data's own, and states are in the units of Y. The kernel passed in is not changed. Chapter 11, equation (11.16).

    Examples
    --------
    >>> from gplvm_edu.tsne import cost_and_gradient, joint_affinities
    >>> Y = np.random.default_rng(0).standard_normal((12, 3))
    >>> P = joint_affinities(Y, 3.0)
    >>> states = list(prior_iterates(Y, Y[:, :2], paper_kernel(), lambda X: cost_and_gradient(X, P), 1e-2, max_iter=9))
    >>> states[-1].value > states[0].value
    True
    """
    (N, q), D, unit = X.shape, Y.shape[1], own_scale(Y)
    kernel, Y, jitter = in_units(kernel, unit), Y / unit, jitter / unit**2
    w = likelihood_share(N, D, temperature)
    theta_before, log_jacobian = kernel.theta, Y.size * math.log(unit)

    def value_and_gradient(x):
        if learn_kernel:
            kernel.theta = x[N * q :]
        X = x[: N * q].reshape(N, q)
        L, dL, dtheta = value_and_gradients(Y, X, kernel, jitter=jitter)
        E, dE = energy(X)
        value = (1 - w) * N * E - w * L / D  # (11.16)
        gradient = [((1 - w) * N * dE - w * dL / D).ravel(), -w * dtheta / D]  # (11.15), (11.16)
        return value, np.concatenate(gradient if learn_kernel else gradient[:1])

    start = np.concatenate([X.ravel(), kernel.theta]) if learn_kernel else X.ravel()
    scale = D + 1.0 / (N * temperature)  # from the objective above to L - E / tau
    for it in minimise(value_and_gradient, start, method=method, max_iter=max_iter, tolerance=tolerance):
        theta = theta_in_units(kernel, it.x[N * q :] if learn_kernel else theta_before, 1.0 / unit)
        value = -scale * it.value - log_jacobian
        yield GPLVMState(it.x[: N * q].reshape(N, q), theta, value, it.n_evaluations, it.stopped)
