"""The arcsine kernel of an infinite network (chapter 2). In the formulas w and b are the weight and bias variances."""

import numpy as np

from .kernel import Kernel
from .parameters import Positive


class MLP(Kernel):
    r"""An infinite network of sigmoid units, the arcsine kernel, equation (2.24).

    .. math:: k(x, z) = \theta \sin^{-1} a, \qquad a = \frac{w\, x^\top z + b}{\sqrt{d_x d_z}}, \qquad
              d_x = w\, x^\top x + b + 1

    Parameters
    ----------
    variance : float
        theta; the prior variance of an output weight, times 2/pi.
    weight_variance, bias_variance : float
        w and b: the prior variances of the input weights and the bias of a hidden unit 2 Phi(u) - 1, Phi the
        cumulative Gaussian; TWICE those of a unit erf(u) (chapter 2, "An infinite network").
    fixed : str or tuple of str
        Parameters that every fit leaves as they are.

    Examples
    --------
    >>> MLP()(np.array([[0.0], [1.0]])).round(4)
    array([[1.1411, 0.7181],
           [0.7181, 1.261 ]])
    """

    variance = Positive()
    weight_variance = Positive()
    bias_variance = Positive()
    input_scales = ("weight_variance",)

    def __init__(self, variance=1.0, weight_variance=10.0, bias_variance=10.0, *, fixed=()):
        self.variance = variance
        self.weight_variance = weight_variance
        self.bias_variance = bias_variance
        self.fixed = fixed

    def _lift(self, X):
        """x_ = (sqrt(w) x, sqrt(b)) and u = x_ / sqrt(d_x) with d_x = x_'x_ + 1, for every row; (N, q + 1) both."""
        w, b = self.weight_variance, self.bias_variance
        X_ = np.column_stack([np.sqrt(w) * X, np.full(len(X), np.sqrt(b))])
        d = np.sum(X_**2, axis=1) + 1.0
        return X_, d, X_ / np.sqrt(d)[:, None]  # (2.24)

    def _matrix(self, X, Z):
        U = self._lift(X)[2]
        V = U if Z is None else self._lift(Z)[2]
        K = U @ V.T  # (2.24)  a; from here in place, which at N = 400 to 600 is twice as fast
        np.arcsin(np.clip(K, -1.0, 1.0, out=K), out=K)
        K *= self.variance
        return K

    def _gradients(self, G, X, Z):
        theta, w, b = self.variance, self.weight_variance, self.bias_variance
        X_, dx, U = self._lift(X)
        Z_, dz, V = (X_, dx, U) if Z is None else self._lift(Z)
        a = U @ V.T  # (2.24)  (N, M)
        # P = G / sqrt(1 - a^2), in place: 1.2 times as fast, so that gradients cost no more than 3 evaluations
        P = a * a
        np.subtract(1.0, P, out=P)
        np.maximum(P, _least(dx, dz), out=P)
        np.divide(G, np.sqrt(P, out=P), out=P)  # (2.36)  (N, M)
        PV, PU = P @ V, P.T @ U  # (N, q + 1), (M, q + 1)
        in_X = theta * (PV - np.sum(U * PV, axis=1)[:, None] * U) / np.sqrt(dx)[:, None]  # (2.36)
        in_Z = theta * (PU - np.sum(V * PU, axis=1)[:, None] * V) / np.sqrt(dz)[:, None]
        both = np.sum(in_X * X_, axis=0) + np.sum(in_Z * Z_, axis=0)
        d_w, d_b = both[:-1].sum() / (2 * w), both[-1] / (2 * b)  # (2.37)
        d_theta = np.vdot(G, np.arcsin(np.clip(a, -1.0, 1.0, out=a), out=a))
        return np.sqrt(w) * in_X[:, :-1], np.sqrt(w) * in_Z[:, :-1], np.array([d_theta, d_w, d_b])

    def _input_derivatives(self, X, Z):
        (_, dx, U), (_, dz, V) = self._lift(X), self._lift(Z)
        a = U @ V.T  # (2.24)  (N, M)
        slope = self.variance / np.sqrt(np.maximum(1.0 - a**2, _least(dx, dz)))
        factor = np.sqrt(self.weight_variance / dx)[:, None] * slope  # (N, M)
        return factor[:, :, None] * (V[:, :-1] - a[:, :, None] * U[:, None, :-1])  # (2.36)

    def _own_angles(self, X):
        """arcsin a of every row with itself, a = 1 - 1 / d, and d."""
        _, d, U = self._lift(X)
        if self.bias_variance > 1e-8:
            return np.arcsin(1.0 - 1.0 / d), d
        return np.arcsin(np.minimum(np.sum(U**2, axis=1), 1.0)), d  # d may be near 1, where the other form cancels

    def _diag(self, X, noise):
        return self.variance * self._own_angles(X)[0]

    def _diag_gradients(self, g, X, noise):
        angles, d = self._own_angles(X)
        d_theta = g @ angles
        slope = g * self.variance / np.sqrt((2.0 - 1.0 / d) / d) / np.minimum(d, 1e150) ** 2  # (2.38)  dL / dd
        d_w, d_b = slope @ np.sum(X**2, axis=1), slope.sum()
        return 2.0 * self.weight_variance * slope[:, None] * X, np.array([d_theta, d_w, d_b])

    def _mixed_derivative(self, X):
        w, c = self.weight_variance, 2.0 * self._lift(X)[1] - 1.0  # c = 2 d - 1  (N,)
        squares = X[:, :, None] * X[:, None, :] / c[:, None, None]  # x x' / c  (N, q, q)
        return (self.variance * w / np.sqrt(c))[:, None, None] * (np.eye(X.shape[1]) - 2.0 * w * squares)  # (2.44)


def _least(dx, dz):
    """What 1 - a^2 can't be below but by rounding, equation (2.36): 1 / d, with the largest d of all.

    Where d is so large that 1 - a^2 is nothing but rounding, the bound of each pair, with the smaller of its two d.
    """
    largest = max(dx.max(), dz.max())
    return 1.0 / (largest if largest < 1e12 else np.minimum.outer(dx, dz))
