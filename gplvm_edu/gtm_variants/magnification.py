"""How much a map stretches: Jacobians of every sheet in the course, and the area that a unit of latent space covers."""
import numpy as np

from ..gtm import basis_derivatives


def sheet_jacobians(X, basis, weights):
    r"""Derivatives of the sheet y = W phi(x) in each latent direction.

    .. math:: J_{dl}(x) = \frac{\partial y_d}{\partial x_l} = w_d^\top \psi_l(x)

    Returns
    -------
    ndarray (n, D, q)

    Notes
    -----
    Costs O(n M D q). Chapter 10, equation (10.35).

    Examples
    --------
    >>> from gplvm_edu.gtm import make_basis
    >>> W = np.array([[0.0, 0.0, 0.0, 3.0]])                                     # two bells, 1 and x: y = 3 x
    >>> sheet_jacobians(np.array([[0.2]]), make_basis((2,)), W)
    array([[[3.]]])
    """
    return (basis_derivatives(X, basis) @ weights.T).transpose(1, 2, 0)          # (10.35)


def process_jacobians(kernel, X, weights, X_new):
    r"""Derivatives of y(x) = sum_n k(x, x_n) a_n: the mean of a GP-LVM, or the sheet of a Gaussian process GTM.

    .. math:: J_{dl}(x) = \sum_n a_{nd} \frac{\partial k(x, x_n)}{\partial x_l}

    Parameters
    ----------
    kernel : Kernel
        Any of chapter 2: its own gradient does the work.
    X : ndarray (N, q)
        Where the weights sit: latent points of a GP-LVM, nodes of a GTM.
    weights : ndarray (N, D)
    X_new : ndarray (n, q)

    Returns
    -------
    ndarray (n, D, q)

    Notes
    -----
    Costs O(n N q D). Chapter 10, equation (10.36).

    Examples
    --------
    >>> from gplvm_edu.kernels import Linear
    >>> process_jacobians(Linear(2.0), np.array([[3.0]]), np.array([[1.0]]), np.array([[0.0], [5.0]])).ravel()
    array([6., 6.])
    """
    columns = [kernel.gradients(np.tile(a, (len(X_new), 1)), X_new, X)[0] for a in weights.T]
    return np.stack(columns, axis=1)                                             # (10.36)


def smoother_jacobians(X, nodes, counts, node_means, width):
    r"""Surface of a SOM between its nodes, a kernel smoother, and its derivatives.

    .. math:: y(x) = \sum_j \pi_j(x)\, z_j, \qquad \pi_j(x) \propto G_j e^{-\|x - x_j\|^2 / 2 s^2}, \qquad
              \frac{\partial y}{\partial x} = \frac1{s^2} \mathrm{Cov}_{j \sim \pi(x)} [z_j, x_j]

    Parameters
    ----------
    X : ndarray (n, q)
    nodes : ndarray (K, q)
    counts : ndarray (K,)
        Points that each node has won.
    node_means : ndarray (K, D)
        Their means z.
    width : float
        s of the neighbourhood.

    Returns
    -------
    surface : ndarray (n, D); jacobians : ndarray (n, D, q)

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
    pi /= pi.sum(axis=1, keepdims=True)                                          # (n, K)
    y, x = pi @ node_means, pi @ nodes
    J = np.einsum("nk,kd,kl->ndl", pi, node_means, nodes) - y[:, :, None] * x[:, None, :]
    return y, J / width**2                                                       # (10.37)


def area_elements(jacobians):
    r"""Area (length, volume) in data space that a unit of latent space becomes.

    .. math:: \sqrt{\det(J^\top J)}

    Notes
    -----
    Costs O(n D q^2). It is the product of the singular values of J. Chapter 10, equation (10.34).

    Examples
    --------
    >>> area_elements(np.array([[[2.0, 0.0], [0.0, 3.0], [0.0, 0.0]]]))
    array([6.])
    """
    return np.prod(np.linalg.svd(jacobians, compute_uv=False), axis=1)           # (10.34)


def jacobians(model, X):
    """Derivatives of a fitted model's map at latent points X; (n, D, q).

    Works for `GTM` (10.35), for everything in this chapter, and for `GPLVM` and other models whose map is a
    `Mapping` of chapter 5, equation (10.36).

    Examples
    --------
    >>> from gplvm_edu.gplvm import GPLVM
    >>> Y = np.random.default_rng(0).standard_normal((20, 3))
    >>> jacobians(GPLVM(max_iter=5).fit(Y), np.zeros((1, 2))).shape
    (1, 3, 2)
    """
    X = model.check_latent(X)
    if hasattr(model, "jacobians"):
        return model.jacobians(X)
    if hasattr(model, "_mapping"):
        kernel, places, _, weights, _ = model._mapping
        return process_jacobians(kernel, places, weights, X)                     # (10.36)
    if hasattr(model, "basis_"):
        return sheet_jacobians(X, model.basis_, model.weights_)                  # (10.35)
    raise TypeError(f"{type(model).__name__} has no smooth map from latent space to data, so nothing to differentiate. "
                    "Pass a fitted GTM, one of its variants, or a GPLVM; for a SOM see smoother_jacobians (chapter 10, "
                    "\"How much is the sheet stretched?\").")


def magnification_factors(model, X):
    r"""How much a fitted model stretches latent space at X: the area of data space for a unit of it, (n,).

    .. math:: \frac{dA'}{dA}(x) = \sqrt{\det(J(x)^\top J(x))}

    Parameters
    ----------
    model : fitted GTM, variant of it, or GPLVM
    X : array (n, q)

    Returns
    -------
    ndarray (n,)

    Notes
    -----
    Chapter 10, equation (10.34).

    Examples
    --------
    >>> from gplvm_edu.gtm import GTM
    >>> t = np.linspace(-1, 1, 40)
    >>> model = GTM(grid=(10,), basis=(3,)).fit(np.column_stack([3 * t, 4 * t]))
    >>> bool(abs(magnification_factors(model, [[0.0]])[0] - 5) < 0.5)            # about length 10 over [-1, 1]
    True
    """
    return area_elements(jacobians(model, X))                                    # (10.34)
