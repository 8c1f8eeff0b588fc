"""What all kernels share: evaluation, gradients from dL/dK, parameters, printing.

A kernel (see `elementary`, `stationary`, `network`) writes four short methods. `_matrix(X, Z)` is its formula
(`Z is None` means X with itself). `_gradients(G, X, Z)` returns, for dL/dK = G, the gradients in the first argument,
in the second, and in the parameters. `_diag(X, noise)` and `_diag_gradients(g, X, noise)` do the same for k(x, x).
Everything that a user calls is here, and checks its input once.
"""
import copy
from html import escape
from numbers import Real

import numpy as np

from .parameters import SMALLEST, Positive, softplus, softplus_inverse, softplus_slope


class Kernel:
    """A covariance function k(x, z) with parameters above zero.

    ==============================  ==========================================================================
    ``k(X)``, ``k(X, Z)``           the matrix of covariances, (N, N) or (N, M)
    ``k.diag(X)``                   its diagonal, without the matrix, (N,)
    ``k.gradients(dL_dK, X, Z)``    from dL/dK to (dL/dX, dL/dtheta)
    ``k.diag_gradients(g, X)``      the same from the gradient in the diagonal
    ``k.theta``                     all parameters as one unconstrained vector; can be set
    ``k.parameters``                the same vector above zero; can be set; ``k.parameter_names`` beside it
    ``k1 + k2``, ``k1 * k2``        sum and product, of copies; ``2.0 * k`` scales the variance
    ==============================  ==========================================================================

    Chapter 2, equations (2.3), (2.12) to (2.15).
    """

    # --- the four things one does with a kernel --------------------------------------------------------------
    def __call__(self, X, Z=None):
        """The matrix k(x_n, z_m); without Z that of X with itself, where white noise enters the diagonal."""
        X, Z = self._check_points(X, Z)
        return self._matrix(X, Z)

    def diag(self, X, noise=True):
        """k(x_n, x_n) for every row, (N,); `noise=False` leaves out what `White` adds."""
        X, _ = self._check_points(X, None)
        return self._diag(X, noise)

    def gradients(self, dL_dK, X, Z=None):
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
            `cross_gradients` returns the gradient in Z as well.

        Returns
        -------
        dL_dX : ndarray (N, q)
        dL_dtheta : ndarray (n_parameters,)
            In the unconstrained `theta`.

        Notes
        -----
        Costs O(N M q): matrix products only, no array of N x M x q. Chapter 2, equations (2.14) and (2.15).

        Examples
        --------
        >>> from gplvm_edu.kernels import RBF
        >>> X = np.array([[0.0], [1.0]])
        >>> dL_dX, dL_dtheta = RBF().gradients(np.ones((2, 2)), X)       # L = sum of all entries
        >>> dL_dX.round(4)
        array([[ 1.2131],
               [-1.2131]])
        """
        X, Z = self._check_points(X, Z)
        G = self._check_cotangent(dL_dK, (len(X), len(X if Z is None else Z)))
        dX, dZ, dp = self._gradients(G, X, Z)                                    # (2.14)
        dX = dX + dZ if Z is None else dX                                        # (2.15)
        return dX, dp * softplus_slope(self.parameters)                          # (2.24)

    def cross_gradients(self, dL_dK, X, Z):
        """(dL/dX, dL/dZ, dL/dtheta) from the gradient in k(X, Z), for models that move both sets, (2.14)."""
        X, Z = self._check_points(X, Z)
        dX, dZ, dp = self._gradients(self._check_cotangent(dL_dK, (len(X), len(Z))), X, Z)
        return dX, dZ, dp * softplus_slope(self.parameters)

    def diag_gradients(self, dL_ddiag, X, noise=True):
        """From the gradient in the diagonal (N,) to (dL/dX, dL/dtheta); `noise` as in `diag`."""
        X, _ = self._check_points(X, None)
        g = self._check_cotangent(dL_ddiag, (len(X),))
        dX, dp = self._diag_gradients(g, X, noise)
        return dX, dp * softplus_slope(self.parameters)                          # (2.24)

    # --- parameters ------------------------------------------------------------------------------------------
    @classmethod
    def _names(cls):
        return [name for owner in reversed(cls.__mro__) for name, v in vars(owner).items() if isinstance(v, Positive)]

    def get_params(self, deep=True):
        """{name: value} of all parameters, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **values):
        """Set parameters by name; returns the kernel itself."""
        known = self.get_params()
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}.")
            owner, attribute = self._owner(name)
            setattr(owner, attribute, value)
        return self

    def _owner(self, name):
        return self, name

    @property
    def parameter_names(self):
        """A name for every entry of `theta`, such as 'rbf__inverse_width[1]'."""
        return [name if np.ndim(v) == 0 else f"{name}[{i}]" for name, v in self.get_params().items()
                for i in range(np.size(v))]

    @property
    def parameters(self):
        """All parameters, above zero, as one vector in the order of `parameter_names`."""
        return np.concatenate([np.ravel(v) for v in self.get_params().values()])

    @parameters.setter
    def parameters(self, vector):
        vector, start = np.array(vector, dtype=float), 0
        if vector.shape != self.parameters.shape:
            raise ValueError(f"{self} has {self.parameters.size} parameters ({', '.join(self.parameter_names)}), "
                             f"got a vector of shape {vector.shape}.")
        for name, old in self.get_params().items():
            new = vector[start:start + np.size(old)]
            self.set_params(**{name: new if np.ndim(old) else new[0]})
            start += np.size(old)

    @property
    def theta(self):
        """All parameters as one unconstrained vector, equation (2.23): what an optimiser moves."""
        return softplus_inverse(self.parameters)

    @theta.setter
    def theta(self, vector):
        vector = np.array(vector, dtype=float)
        if not np.isfinite(vector).all():
            raise ValueError(f"theta must be finite, got {vector}. An optimiser that arrives here has taken too long "
                             "a step: look at its gradient first (gplvm_edu.optimise.check_gradient).")
        self.parameters = np.maximum(softplus(vector), SMALLEST)     # exp(-750) is 0.0 in floats: stay above it

    def copy(self):
        """An independent kernel with the same parameters."""
        return copy.copy(self)                       # arrays of parameters are read-only, so they may be shared

    def __deepcopy__(self, memo):
        return self.copy()

    def __sklearn_clone__(self):
        return self.copy()

    def __eq__(self, other):
        mine = self.get_params()
        return type(self) is type(other) and mine.keys() == other.get_params().keys() and all(
            np.array_equal(v, other.get_params()[name]) for name, v in mine.items())

    __hash__ = None

    # --- algebra ---------------------------------------------------------------------------------------------
    def __add__(self, other):
        from .combinations import Sum
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other):
        if isinstance(other, Real):
            return self.__rmul__(other)
        from .combinations import Product
        return Product(self, other) if isinstance(other, Kernel) else NotImplemented

    def __rmul__(self, factor):
        if not isinstance(factor, Real):
            return NotImplemented
        scaled = self.copy()
        scaled._scale(factor)
        return scaled

    def _scale(self, factor):
        self.variance = factor * self.variance

    # --- printing --------------------------------------------------------------------------------------------
    def __repr__(self):
        inside = ", ".join(f"{name}={_short(value)}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({inside})"

    def _repr_html_(self):
        left = "style='text-align:left;padding:0 1.5em 0 0'"
        cells = "".join(f"<tr><td {left}>{escape(name)}</td><td>{value:.4g}</td></tr>"
                        for name, value in zip(self.parameter_names, self.parameters, strict=True))
        return (f"<code>{escape(self._formula())}</code><table style='margin-left:0'><thead><tr>"
                f"<th {left}>parameter</th><th>value</th></tr></thead><tbody>{cells}</tbody></table>")

    def _formula(self):
        return type(self).__name__

    # --- input -----------------------------------------------------------------------------------------------
    def _check_points(self, X, Z):
        X = _points(X, "X")
        if Z is not None:
            Z = _points(Z, "Z")
            if Z.shape[1] != X.shape[1]:
                raise ValueError(f"X has {X.shape[1]} columns and Z has {Z.shape[1]}: both are points of the same "
                                 "latent space, so the numbers of columns must agree.")
        for name, value in self.get_params().items():
            if np.ndim(value) and np.size(value) != X.shape[1]:
                raise ValueError(f"{name} of the kernel has {np.size(value)} entries, one for each latent dimension, "
                                 f"but X has {X.shape[1]} columns. Pass one number for all dimensions, or an array "
                                 f"of {X.shape[1]} (chapter 2, \"The exponential of a distance\").")
        return X, Z

    def _check_cotangent(self, G, shape):
        G = np.asarray(G, dtype=float)
        if G.shape != shape:
            raise ValueError(f"The gradient passed in has shape {G.shape}, but what the kernel returns here has "
                             f"{shape}: dL/dK has one entry for each entry of K (chapter 2, \"Gradients\").")
        return G


def _points(X, name):
    """Rows as a finite float array (N, q), or an error that says how to get there."""
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or 0 in X.shape:
        hint = f"Write {name}[:, None] for points on a line." if X.ndim == 1 else "Each row is one point."
        raise ValueError(f"{name} must be an array of shape (number of points, latent dimensions) with at least one "
                         f"of each, got shape {X.shape}. {hint}")
    if not np.isfinite(X).all():
        row = np.argwhere(~np.isfinite(X))[0][0]
        raise ValueError(f"{name} contains NaN or infinity in row {row}: an input of a kernel has to be a point. "
                         "Missing values belong into Y, not into X.")
    return X


def _short(value):
    return f"{value:.4g}" if np.ndim(value) == 0 else "[" + ", ".join(f"{v:.4g}" for v in value) + "]"
