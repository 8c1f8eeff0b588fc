"""Linear, constant and white-noise kernels (chapter 2). In the formulas theta is the variance."""

import numpy as np

from .kernel import Kernel, on_diagonals
from .parameters import Positive, per_dimension


class Linear(Kernel):
    r"""The linear kernel, whose functions are planes through the origin, equation (2.2).

    .. math:: k(x, z) = \theta\, x^\top z \qquad \text{or} \qquad \sum_q \theta_q x_q z_q

    Parameters
    ----------
    variance : float or ndarray (q,)
        Of a slope; one for all latent dimensions, or one for each.
    fixed : str or tuple of str
        Parameters that every fit leaves as they are.

    Examples
    --------
    >>> Linear(variance=2.0)(np.array([[1.0, 2.0], [0.0, 3.0]]))
    array([[10., 12.],
           [12., 18.]])
    """

    variance = Positive(each=True)
    input_scales = ("variance",)

    def __init__(self, variance=1.0, *, fixed=()):
        self.variance = variance
        self.fixed = fixed

    def _matrix(self, X, Z):
        A = X * np.sqrt(self.variance)
        B = A if Z is None else Z * np.sqrt(self.variance)
        return A @ B.T  # (2.2)

    def _gradients(self, G, X, Z):
        GZ = G @ (X if Z is None else Z)
        in_theta = per_dimension(np.sum(X * GZ, axis=0), self.variance)
        return self.variance * GZ, self.variance * (G.T @ X), in_theta  # (2.33)

    def _input_derivatives(self, X, Z):
        return np.broadcast_to(self.variance * Z, (len(X), *Z.shape))  # (2.33)

    def _diag(self, X, noise):
        return X**2 @ np.broadcast_to(self.variance, X.shape[1])

    def _diag_gradients(self, g, X, noise):
        return 2.0 * self.variance * g[:, None] * X, per_dimension(g @ X**2, self.variance)

    def _mixed_derivative(self, X):
        return on_diagonals(self.variance, X)


class Flat(Kernel):
    """A kernel with a variance (and `fixed`, as in `Linear`) and no slope: what `Bias` and `White` share."""

    variance = Positive()

    def __init__(self, variance=1.0, *, fixed=()):
        self.variance = variance
        self.fixed = fixed

    def _input_derivatives(self, X, Z):
        return np.zeros((len(X), *Z.shape))

    def _mixed_derivative(self, X):
        return on_diagonals(0.0, X)


class Bias(Flat):
    r"""An unknown constant, k(x, z) = theta, equation (2.25).

    Examples
    --------
    >>> Bias(variance=0.5)(np.zeros((2, 1)))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    def _matrix(self, X, Z):
        return np.full((len(X), len(X if Z is None else Z)), self.variance)  # (2.25)

    def _add_to(self, K, X, Z):
        K += self.variance

    def _gradients(self, G, X, Z):
        return 0.0 * X, 0.0 * (X if Z is None else Z), np.array([G.sum()])

    def _diag(self, X, noise):
        return np.full(len(X), self.variance)

    def _diag_gradients(self, g, X, noise):
        return np.zeros_like(X), np.array([g.sum()])


class White(Flat):
    r"""Independent noise, theta for a point with itself and 0 otherwise, equation (2.26).

    "With itself" means the same index, not the same place: k(X) has theta on its diagonal, a covariance k(X, Z)
    between two sets has no noise in it, even where a row of Z repeats a row of X.

    Examples
    --------
    >>> X = np.array([[0.0], [0.0]])
    >>> White(variance=0.1)(X)
    array([[0.1, 0. ],
           [0. , 0.1]])
    >>> White(variance=0.1)(X, X)
    array([[0., 0.],
           [0., 0.]])
    """

    def _matrix(self, X, Z):
        return self.variance * np.eye(len(X)) if Z is None else np.zeros((len(X), len(Z)))  # (2.26)

    def _add_to(self, K, X, Z):
        if Z is None:
            np.einsum("nn->n", K)[:] += self.variance

    def _gradients(self, G, X, Z):
        return 0.0 * X, 0.0 * (X if Z is None else Z), np.array([np.trace(G) if Z is None else 0.0])

    def _diag(self, X, noise):
        return np.full(len(X), self.variance if noise else 0.0)

    def _diag_gradients(self, g, X, noise):
        return np.zeros_like(X), np.array([g.sum() if noise else 0.0])
