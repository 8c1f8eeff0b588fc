"""The latent side of the GTM: a grid of nodes, the basis functions over it, and the sheet that PCA starts with."""

from typing import NamedTuple

import numpy as np

from ..linalg import eigenpairs, squared_distances

TERMS = ("linear", "bias", "none")


class Basis(NamedTuple):
    """Gaussian functions of the latent point: centres (n, q), one width a dimension (q,), and what stands beside them.

    `terms` is "linear" (a constant and the q coordinates), "bias" (the constant alone) or "none".
    """

    centres: np.ndarray
    widths: np.ndarray
    terms: str = "linear"

    @property
    def size(self) -> int:
        """M, the number of functions."""
        n, q = self.centres.shape
        return n + n_beside(q, self.terms)


def n_beside(n_dimensions, terms) -> int:
    """How many functions stand beside the Gaussians of equation (9.2).

    Examples
    --------
    >>> [n_beside(2, terms) for terms in TERMS]
    [3, 1, 0]
    """
    return {"linear": 1 + n_dimensions, "bias": 1, "none": 0}[terms]


def latent_grid(shape) -> np.ndarray:
    r"""Nodes of a regular grid over the square (line, cube) from -1 to 1, equation (9.1).

    .. math:: x_i \in \{-1, \dots, 1\}^q, \qquad i = 1, \dots, K

    Parameters
    ----------
    shape : sequence of q integers
        Nodes along each dimension; a dimension with one node has it at 0.

    Returns
    -------
    ndarray (K, q)
        The last dimension runs fastest.

    Examples
    --------
    >>> latent_grid((3,)).ravel()
    array([-1.,  0.,  1.])
    >>> latent_grid((15, 15)).shape
    (225, 2)
    """
    axes = [np.linspace(-1.0, 1.0, n) if n > 1 else np.zeros(1) for n in shape]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))  # (9.1)  (K, q)


def grid_spacing(shape) -> np.ndarray:
    """Distance between neighbours along each dimension of `latent_grid`, (q,), equation (9.1); 2 for a single node.

    Examples
    --------
    >>> grid_spacing((5, 1))
    array([0.5, 2. ])
    """
    return 2.0 / np.maximum(np.asarray(shape) - 1, 1)  # (9.1)


def make_basis(shape, width=1.0, terms="linear") -> Basis:
    """A regular grid of Gaussian functions, `width` times the distance of their centres wide, equation (9.2).

    Examples
    --------
    >>> make_basis((4, 4)).size, make_basis((4, 4), terms="none").size
    (19, 16)
    """
    return Basis(latent_grid(shape), width * grid_spacing(shape), terms)  # (9.2)


def basis_functions(X, basis) -> np.ndarray:
    r"""Every basis function at every latent point, (K, M).

    .. math:: \phi_j(x) = e^{-\frac12 \sum_l (x_l - c_{jl})^2 / \sigma_l^2}, \quad\text{and then } 1,\ x_1, \dots, x_q

    Parameters
    ----------
    X : ndarray (K, q)
    basis : Basis

    Notes
    -----
    Costs O(K M q). Chapter 9, equation (9.2).

    Examples
    --------
    >>> basis_functions(np.array([[0.5]]), make_basis((2,), width=0.5)).round(3)      # two Gaussians, 1, x
    array([[0.325, 0.882, 1.   , 0.5  ]])
    """
    C, sigma, terms = basis
    gaussians = np.exp(-0.5 * squared_distances(C / sigma, X / sigma).T)  # (9.2)  (K, M)
    one = np.ones((len(X), 1))
    beside = {"linear": [one, X], "bias": [one], "none": []}[terms]
    return np.hstack([gaussians, *beside])


def basis_derivatives(X, basis) -> np.ndarray:
    r"""Derivative of every basis function in each latent direction.

    .. math:: \frac{\partial \phi_j}{\partial x_l} = -\frac{x_l - c_{jl}}{\sigma_l^2}\, \phi_j(x);
              \quad\text{0 for the constant, 1 or 0 for the coordinates}

    Parameters
    ----------
    X : ndarray (K, q)
    basis : Basis

    Returns
    -------
    ndarray (q, K, M)
        ``basis_derivatives(X, basis) @ W.T`` holds the tangents of the sheet, (q, K, D).

    Notes
    -----
    Costs O(K M q). Chapter 9, equation (9.3); Bishop, Svensén and Williams (1998), equation (15).

    Examples
    --------
    >>> basis_derivatives(np.array([[0.5]]), make_basis((2,), width=0.5)).round(3)
    array([[[-0.487,  0.441,  0.   ,  1.   ]]])
    """
    C, sigma, _ = basis
    Phi, (K, q), n = basis_functions(X, basis), X.shape, len(C)
    slopes = np.zeros((q, K, Phi.shape[1]))
    for l in range(q):
        slopes[l, :, :n] = -(X[:, l : l + 1] - C[:, l]) / sigma[l] ** 2 * Phi[:, :n]  # (9.3)
        if basis.terms == "linear":
            slopes[l, :, n + 1 + l] = 1.0
    return slopes


def principal_sheet(Y, X, Phi, spacing) -> tuple[np.ndarray, float]:
    r"""Weights and precision to start from: the grid laid out in the plane of the first q principal axes.

    .. math:: m_i = \sum_{l=1}^q \sqrt{\lambda_l}\, \tilde x_{il} v_l, \qquad
              \frac1\beta = \max\{\lambda_{q+1},\ (\tfrac12 \text{ largest distance of neighbouring nodes})^2\}

    Parameters
    ----------
    Y : ndarray (N, D)
        Centred data; NaN counts as the mean.
    X : ndarray (K, q)
        Nodes; each column is standardised first, to spread like the data.
    Phi : ndarray (K, M)
    spacing : ndarray (q,)
        Distance of neighbouring nodes in each latent dimension.

    Returns
    -------
    weights : ndarray (D, M)
        Least squares on the basis; with linear terms the plane is met exactly.
    precision : float
        inf where the data leave nothing for the noise.

    Notes
    -----
    Costs O(N D^2 + D^3 + K M^2). Chapter 9, equations (9.9) and (9.10).

    Examples
    --------
    >>> Y = np.array([[-3.0, 0.1], [0.0, -0.2], [3.0, 0.1]])
    >>> X = latent_grid((3,))
    >>> W, beta = principal_sheet(Y, X, basis_functions(X, make_basis((2,))), grid_spacing((3,)))
    >>> (basis_functions(X, make_basis((2,))) @ W.T).round(6) + 0.0              # the first axis, three nodes
    array([[-3.,  0.],
           [ 0.,  0.],
           [ 3.,  0.]])
    """
    Y = np.nan_to_num(Y)
    (N, D), q = Y.shape, X.shape[1]
    lam, V = eigenpairs(Y.T @ Y / N)
    lam, axes = np.concatenate([np.maximum(lam, 0.0), np.zeros(q + 1)]), np.hstack([V, np.zeros((D, q))])[:, :q]
    deviation = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    m = X / deviation * np.sqrt(lam[:q]) @ axes.T  # (9.9)  (K, D)
    W = np.linalg.lstsq(Phi, m, rcond=None)[0].T  # (D, M)
    apart = np.max(spacing / deviation * np.sqrt(lam[:q]))
    variance = max(lam[q], (0.5 * apart) ** 2)  # (9.10)
    return W, 1.0 / variance if variance > 0 else np.inf
