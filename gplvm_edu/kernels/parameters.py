"""Parameters above zero: how a kernel keeps them, and the softplus through which an optimiser sees them."""
import numpy as np

SMALLEST = np.finfo(float).tiny


def softplus(t):
    r"""From an unconstrained number to one above zero, equation (2.23).

    .. math:: \theta = \ln(1 + e^t)

    Examples
    --------
    >>> softplus(np.array([-1.0, 0.0, 80.0])).round(4)
    array([ 0.3133,  0.6931, 80.    ])
    """
    return np.logaddexp(0.0, t)                                                  # (2.23)


def softplus_inverse(theta):
    r"""From a number above zero to an unconstrained one, equation (2.23) solved for t.

    .. math:: t = \theta + \ln(1 - e^{-\theta})

    Examples
    --------
    >>> softplus_inverse(softplus(np.array([-30.0, 0.0, 800.0]))).round(4)
    array([-30.,   0., 800.])
    """
    return theta + np.log(-np.expm1(-theta))                                     # (2.23)


def softplus_slope(theta):
    r"""d theta / d t, written with theta itself: 1 - exp(-theta), equation (2.24).

    Examples
    --------
    >>> softplus_slope(softplus(0.0)).round(4)
    np.float64(0.5)
    """
    return -np.expm1(-theta)                                                     # (2.24)


class Positive:
    """A parameter of a kernel: one finite number above zero or, if `each`, possibly one for every latent dimension.

    A class attribute (a descriptor), so that every assignment is checked, by whatever way it comes. Arrays are
    stored as copies that can't be written to.
    """

    def __init__(self, each=False):
        self.each = each

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, kernel, owner=None):
        return self if kernel is None else kernel.__dict__[self.name]

    def __set__(self, kernel, value):
        owner = f"{self.name} of {type(kernel).__name__}"
        try:
            array = np.array(value, dtype=float)
        except (TypeError, ValueError):
            array = np.array(np.nan)
        if array.ndim > (1 if self.each else 0) or array.size == 0:
            wanted = "a number, or a one-dimensional array with one for each latent dimension" if self.each else \
                "one number (a parameter for each latent dimension exists in the inverse widths of RBF and Matern32)"
            raise ValueError(f"{owner} must be {wanted}; got {value!r}.")
        if not (np.isfinite(array).all() and (array > 0).all()):
            raise ValueError(f"{owner} must be finite and above 0, got {value!r}. To switch a term off, leave it out "
                             "of the sum; to let an optimiser move it freely, use theta (chapter 2, \"Staying "
                             "positive\").")
        array.setflags(write=False)
        kernel.__dict__[self.name] = array if array.ndim else float(array)


def per_dimension(gradients, parameter):
    """One gradient for each latent dimension, or their sum where one parameter serves all, equation (2.18).

    Examples
    --------
    >>> per_dimension(np.array([1.0, 2.0]), 0.5), per_dimension(np.array([1.0, 2.0]), np.array([0.5, 0.7]))
    (array([3.]), array([1., 2.]))
    """
    return gradients if np.ndim(parameter) else np.array([gradients.sum()])
