"""What all kernels share: evaluation, gradients from dL/dK, algebra.

A kernel (see `elementary`, `stationary`, `network`) writes six short methods. `_matrix(X, Z)` is its formula
(`Z is None` means X with itself). `_gradients(G, X, Z)` returns, for dL/dK = G, the gradients in the first argument,
in the second, and in the parameters. `_diag(X, noise)` and `_diag_gradients(g, X, noise)` do the same for k(x, x);
`_mixed_derivative(X)` differentiates once in each argument, `_input_derivatives(X, Z)` has every derivative in the
first one. The public methods are here, and check their input once. The checks are cheap, so no model needs to call the
private methods: a call costs at most 1.2 times the formula alone at N = 200 (`tests/bench_kernels.py`).

With points up to 1e50 and parameters from 1e-120 to 1e120 the formulas stay within the floating-point numbers. What a
product of kernels, a very short period or a very large dL/dK takes beyond them is refused, by `finite`.
"""

from math import isfinite
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg.blas import dasum

from .. import checks
from .parameters import LARGEST, SMALLEST, Parameterised, softplus_slope


class Kernel(Parameterised):
    """A covariance function k(x, z) with parameters above zero.

    ==============================  ==========================================================================
    ``k(X)``, ``k(X, Z)``           the matrix of covariances, (N, N) or (N, M)
    ``k.diag(X)``                   its diagonal, without the matrix, (N,)
    ``k.input_derivatives(X, Z)``   dk(x_n, z_m) / dx_n of every pair, (N, M, q)
    ``k.gradients(dL_dK, X, Z)``    from dL/dK to (dL/dX, dL/dtheta)
    ``k.diag_gradients(g, X)``      the same from the gradient in the diagonal
    ``k.mixed_derivative(X)``       the covariance of the slopes of a function, (N, q, q)
    ``k.theta``                     the parameters that are free as one unconstrained vector; can be set
    ``k.parameters``                all of them above zero; can be set; ``k.parameter_names`` beside it
    ``k.fix(name)``, ``k.free(...)``   hold a parameter in every fit, or let it move again; ``k.fixed`` has the names
    ``k1 + k2``, ``k1 * k2``        sum and product, of copies; ``2.0 * k`` scales the variance
    ==============================  ==========================================================================

    Chapter 2, equations (2.3), (2.27), (2.28), (2.30) and (2.32).
    """

    # --- evaluation and derivatives --------------------------------------------------------------------------
    def __call__(self, X, Z=None) -> np.ndarray:
        """The matrix k(x_n, z_m); without Z that of X with itself, where white noise enters the diagonal."""
        X = self._check_points(X)
        return self._matrix(X, _others(Z, X))

    def diag(self, X, noise=True) -> np.ndarray:
        """k(x_n, x_n) for every row, (N,); `noise=False` leaves out what `White` adds."""
        return self._diag(self._check_points(X), noise)

    def gradients(self, dL_dK, X, Z=None) -> tuple[np.ndarray, np.ndarray]:
        r"""From the gradient in the matrix to those in the inputs and in the parameters.

        .. math:: \frac{\partial L}{\partial x_n} = \sum_m G_{nm}\, \partial_1 k(x_n, z_m), \qquad
                  \frac{\partial L}{\partial x_n} = \sum_j (G_{nj} + G_{jn})\, \partial_1 k(x_n, x_j)

        on the left for k(X, Z), on the right for k(X), where x_n is an argument twice.

        Parameters
        ----------
        dL_dK : ndarray (N, M)
            G, with the shape of k(X, Z); it need not be symmetric.
        X : ndarray (N, q)
        Z : ndarray (M, q) or None
            `parameter_gradients` returns the gradient in Z as well.

        Returns
        -------
        dL_dX : ndarray (N, q)
        dL_dtheta : ndarray (n_free,)
            In the unconstrained `theta`, which has no entry for a fixed parameter.

        Notes
        -----
        Costs O(N M q): matrix products only, no array of N x M x q. Chapter 2, equations (2.30) and (2.32).

        Examples
        --------
        >>> from gplvm_edu.kernels import RBF
        >>> X = np.array([[0.0], [1.0]])
        >>> dL_dX, dL_dtheta = RBF().gradients(np.ones((2, 2)), X)       # L = sum of all entries
        >>> dL_dX.round(4)
        array([[ 1.2131],
               [-1.2131]])
        """
        dX, dZ, dp = self.parameter_gradients(dL_dK, X, Z)
        dX = dX + dZ if Z is None else dX  # (2.32)
        return dX, self._moved(dp * softplus_slope(self.parameters))  # (2.41)

    def input_derivatives(self, X, Z) -> np.ndarray:
        r"""The derivative of every entry of k(X, Z) in its first argument, (N, M, q).

        .. math:: \frac{\partial k(x_n, z_m)}{\partial x_n}

        Notes
        -----
        Costs O(N M q), in memory too: where only sums over m are wanted, `gradients` forms no such array. It may be a
        view of fewer numbers: do not write into it. Without Z (None) the second points are X.

        Examples
        --------
        >>> from gplvm_edu.kernels import RBF
        >>> RBF().input_derivatives(np.array([[1.0]]), np.array([[0.0], [1.0]])).round(4)    # 0 at the maximum
        array([[[-0.6065],
                [-0.    ]]])
        """
        X = self._check_points(X)
        return self._input_derivatives(X, X if Z is None else _others(Z, X))

    def diag_gradients(self, dL_ddiag, X, noise=True) -> tuple[np.ndarray, np.ndarray]:
        """From the gradient in the diagonal (N,) to (dL/dX, dL/dtheta); `noise` as in `diag`."""
        dX, dp = self.diag_parameter_gradients(dL_ddiag, X, noise)
        return dX, self._moved(dp * softplus_slope(self.parameters))  # (2.41)

    def parameter_gradients(self, dL_dK, X, Z=None) -> tuple[np.ndarray, ...]:
        """As `gradients`, but in both arguments and in the parameters themselves, equation (2.30).

        (dL/dX, dL/dZ, dL/dparameters), for models with an unconstrained vector of their own (chapter 12), which apply
        (2.41) or another slope later. Without Z both arguments are X: the gradient in X is the sum of the two, (2.32).

        Examples
        --------
        >>> from gplvm_edu.kernels import Linear
        >>> Linear(2.0).parameter_gradients(np.ones((1, 1)), np.array([[3.0]]), np.array([[5.0]]))      # of 2 x z
        (array([[10.]]), array([[6.]]), array([15.]))
        """
        X = self._check_points(X)
        Z = _others(Z, X)
        G = _gradient(dL_dK, (len(X), len(X if Z is None else Z)))
        with quiet():
            return finite("The gradients of the kernel", *self._gradients(G, X, Z))

    def diag_parameter_gradients(self, dL_ddiag, X, noise=True) -> tuple[np.ndarray, np.ndarray]:
        """As `diag_gradients`, but in the parameters themselves: (dL/dX, dL/dparameters).

        Examples
        --------
        >>> from gplvm_edu.kernels import Linear
        >>> Linear(2.0).diag_parameter_gradients(np.ones(1), np.array([[3.0]]))                         # of 2 x^2
        (array([[12.]]), array([9.]))
        """
        X = self._check_points(X)
        return self._diag_gradients(_gradient(dL_ddiag, (len(X),)), X, noise)

    def mixed_derivative(self, X) -> np.ndarray:
        r"""The covariance of the partial derivatives of a function at each point, equation (2.42).

        .. math:: \Big[ \frac{\partial^2 k(x, z)}{\partial x\, \partial z^\top} \Big]_{z = x}
                  = \mathrm{cov}\Big[ \frac{\partial f}{\partial x} \Big]

        Notes
        -----
        (N, q, q), positive semi-definite, at a cost of O(N q^2). With the derivatives of the mean it gives the expected
        metric. Noise has no derivative: `White` adds nothing.

        Examples
        --------
        >>> from gplvm_edu.kernels import RBF
        >>> RBF(2.0, [1.0, 3.0]).mixed_derivative(np.zeros((1, 2)))
        array([[[2., 0.],
                [0., 6.]]])
        """
        return self._mixed_derivative(self._check_points(X))

    def _mixed_derivative(self, X):
        raise TypeError(
            f"{type(self).__name__} has no mixed_derivative: it has not been told the covariance of its slopes, which "
            "the expected metric needs. Write its method _mixed_derivative(X), equation (2.42) of chapter 2."
        )

    # --- algebra ---------------------------------------------------------------------------------------------
    _sum: Any = None
    _product: Any = None  # classes of k1 + k2 and k1 * k2, set by `combinations`, which imports this file

    def __add__(self, other):
        return self._sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other):
        if isinstance(other, Real):
            return self.__rmul__(other)
        return self._product(self, other) if isinstance(other, Kernel) else NotImplemented

    def __rmul__(self, factor):
        if not isinstance(factor, Real):
            return NotImplemented
        if not 0 < factor < 1e300:  # type: ignore[operator]  # any real number has an order
            raise ValueError(f"The factor of a kernel must be finite and above 0, got {checks.shown(factor)}.")
        scaled = self.copy()
        with quiet():  # what leaves the range is refused by the parameter
            for leaf in scaled._leaves_to_scale():
                leaf.variance = factor * leaf.variance
        return scaled

    def _add_to(self, K, X, Z):
        """Add the matrix to K in place: `Bias` and `White` have a shorter way."""
        K += self._matrix(X, Z)

    def rescaled(self, factor):
        """A copy with its covariances multiplied, as ``factor * k``, but never outside the range of a parameter.

        Examples
        --------
        >>> from gplvm_edu.kernels import RBF
        >>> RBF(1e-119).rescaled(0.01)
        RBF(variance=1e-120, inverse_width=1)
        """
        scaled = self.copy()
        for leaf in scaled._leaves_to_scale():
            leaf.variance = np.clip(factor * leaf.variance, SMALLEST, LARGEST)
        return scaled

    def _leaves_to_scale(self):
        """The kernels whose variances a factor multiplies."""
        return [self]

    # --- input -----------------------------------------------------------------------------------------------
    def _check_points(self, X):
        X = _points(X, "X")
        q = X.shape[1]
        for name, owner, attribute in self._sized:
            value = owner.__dict__[attribute]
            if type(value) is not float and len(value) != q:
                raise ValueError(
                    f"{name} of the kernel has {len(value)} entries, one for each latent dimension, "
                    f"but X has {q} columns. Pass one number for all dimensions, or an array "
                    f'of {q} (chapter 2, "The exponential of a distance").'
                )
        return X


def on_diagonals(values, X) -> np.ndarray:
    """For each row of X a diagonal matrix with the value, or the q values, given; (N, q, q). For equation (2.42).

    Examples
    --------
    >>> on_diagonals(np.array([2.0, 3.0]), np.zeros((1, 2)))
    array([[[2., 0.],
            [0., 3.]]])
    """
    return np.tile(values * np.eye(X.shape[1]), (len(X), 1, 1))


def quiet() -> np.errstate:
    """For a `with` around numbers that may leave the floating-point range: `finite` looks at the result."""
    return np.errstate(over="ignore", invalid="ignore")


def finite(what, *arrays):
    """The arrays (one alone as it is), if all their entries are numbers; else an error that names `what` they are.

    Examples
    --------
    >>> finite("The slopes", np.array([1.0, np.inf]))
    Traceback (most recent call last):
    ...
    gplvm_edu.checks.NotFiniteError: The slopes are beyond the floating-point numbers. Factors of a product multiply ...
    """
    for array in arrays:
        if isfinite(dasum(array.ravel())) or np.isfinite(array).all():  # the sum alone may be beyond
            continue
        raise checks.NotFiniteError(
            f"{what} are beyond the floating-point numbers. Factors of a product multiply their sizes, a short period "
            "divides by its square, and a dL/dK with NaN or infinity in it has no gradients: use parameters and units "
            "nearer to 1."
        )
    return arrays[0] if len(arrays) == 1 else arrays


def _others(Z, X):
    """Z as points of the space of X, or None as it is."""
    if Z is None:
        return None
    Z = _points(Z, "Z")
    if Z.shape[1] != X.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} columns and Z has {Z.shape[1]}: both are points of the same "
            "latent space, so the numbers of columns must agree."
        )
    return Z


def _gradient(G, shape):
    """The gradient in the matrix or in its diagonal, checked for its shape."""
    if type(G) is not np.ndarray or G.dtype != float:
        G = checks.floats("The gradient passed in", G)
    if G.shape != shape:
        raise ValueError(
            f"The gradient passed in has shape {G.shape}, but what the kernel returns here has "
            f'{shape}: dL/dK has one entry for each entry of K (chapter 2, "Gradients").'
        )
    return G


def _points(X, name):
    """Rows as a float array (N, q) with no entry beyond 1e50, or an error that says what to change."""
    if type(X) is not np.ndarray or X.dtype != float:
        X = checks.floats(name, X)
    x = X.ravel()
    # One BLAS sum of magnitudes instead of np.isfinite(X).all(), with which k.diag(X) takes 1.2 times as long: that
    # is over the limit above (for k(X) at N = 200 there is no difference). If the sum is NaN or too large, each entry
    # is looked at.
    if X.ndim == 2 and len(x) and dasum(x) <= checks.LARGEST:
        return X
    return checks.within_range(checks.points(X, name), name)
