"""Magnification factors: the area in data space that a unit of latent space becomes, for every map of the course."""

import numpy as np

from ..maps import area_elements

__all__ = ["area_elements", "magnification_factors", "smoother_jacobians"]


def smoother_jacobians(X, nodes, counts, node_means, width) -> tuple[np.ndarray, np.ndarray]:
    r"""Surface (n, D) of a SOM between its nodes, a kernel smoother, and its derivatives (n, D, q).

    .. math:: y(x) = \sum_j \pi_j(x)\, z_j, \qquad \pi_j(x) \propto G_j e^{-\|x - x_j\|^2 / 2 s^2}, \qquad
              \frac{\partial y}{\partial x} = \frac1{s^2} \mathrm{Cov}_{j \sim \pi(x)} [z_j, x_j]

    Parameters
    ----------
    X : ndarray (n, q)
    nodes : ndarray (K, q)
    counts : ndarray (K,)
        Number of points whose nearest node it is.
    node_means : ndarray (K, D)
        Their means z.
    width : float
        s of the neighbourhood.

    Notes
    -----
    Costs O(n K D q). Chapter 10, equation (10.37).

    Examples
    --------
    >>> X = np.array([[-1.0], [1.0]])
    >>> y, J = smoother_jacobians(np.zeros((1, 1)), X, np.ones(2), np.array([[0.0], [4.0]]), width=1.0)
    >>> y, J
    (array([[2.]]), array([[[2.]]]))
    """
    with np.errstate(divide="ignore"):
        log_pi = np.log(counts) - 0.5 * np.sum((X[:, None] - nodes) ** 2, axis=2) / width**2
    pi = np.exp(log_pi - log_pi.max(axis=1, keepdims=True))
    pi /= pi.sum(axis=1, keepdims=True)  # (n, K)
    y, x = pi @ node_means, pi @ nodes
    J = np.einsum("nk,kd,kl->ndl", pi, node_means, nodes) - y[:, :, None] * x[:, None, :]
    return y, J / width**2  # (10.37)


def magnification_factors(model, X, expected=True) -> np.ndarray:
    r"""Magnification factors (n,) of a fitted model at X, equations (10.34) and (10.36a).

    .. math:: \frac{dA'}{dA}(x) = \sqrt{\det \langle J(x)^\top J(x) \rangle}

    Parameters
    ----------
    model : any fitted model with a map (`model.map_`)
    X : array (n, q)
    expected : bool
        The derivatives of a Gaussian process have a variance: True counts it, by the expected metric; False uses the
        mean of the map only. For a map without variance both are the same.

    Examples
    --------
    >>> from gplvm_edu.gtm import GTM
    >>> t = np.linspace(-1, 1, 40)
    >>> model = GTM(grid=(10,), basis=(3,)).fit(np.column_stack([3 * t, 4 * t]))
    >>> bool(abs(magnification_factors(model, [[0.0]])[0] - 5) < 0.5)            # about length 10 over [-1, 1]
    True
    """
    model.jacobian  # noqa: B018  (a model without one raises its own error here)
    return model.map_.magnification(model.check_latent(X), expected)
