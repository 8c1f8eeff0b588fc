"""`Gaussian`: the noise of every chapter so far, now also with a variance for each dimension or each entry."""

from typing import Self

import numpy as np

from ..linalg import fill_with_means
from .model import LOG_EXTREME, Noise
from .terms import Terms, gaussian_terms


class Gaussian(Noise):
    """y = f + mean + noise of a stated variance, equations (8.9) and (8.10).

    Parameters
    ----------
    variance : float, ndarray (D,) or ndarray (N, D)
        One for all, one for each dimension, or one for each entry; (N, 1) is one for each point.
    mean : None, float or ndarray (D,)
        Added to f; None: the column means of Y, by `start` (and 0 until then).

    Examples
    --------
    >>> noise = Gaussian(0.5).start(np.array([[1.0, 4.0], [3.0, 8.0]]))
    >>> noise
    Gaussian(variance=0.5, mean=[2, 6])
    >>> noise.predict(np.zeros(2), np.ones(2)), noise.deviation(np.zeros(2), np.ones(2)).round(3)
    (array([2., 6.]), array([1.225, 1.225]))
    >>> noise.shared, Gaussian([0.1, 0.2]).shared
    (True, False)
    """

    def __init__(self, variance=0.1, mean=None):
        self.variance = self._parameter(variance, "variance", positive=True, most_axes=2, may_be_open=False)
        self.mean = self._parameter(mean, "mean")

    @property
    def shared(self) -> bool:
        """True unless dimensions differ in their variance: then one covariance serves all columns."""
        return self.variance.ndim == 0 or (self.variance.ndim == 2 and self.variance.shape[1] == 1)

    @property
    def offset(self):
        """What is added to f: the mean, or 0 while it is open."""
        return 0.0 if self.mean is None else self.mean

    def observed_terms(self, Y, mean, variance) -> Terms:
        """ln Z, g and nu of observed entries, equations (8.9) and (8.10)."""
        if self.variance.ndim == 2 and self.variance.shape[0] not in (1, Y.shape[0]):
            raise ValueError(
                f"This Gaussian has a variance for each of {self.variance.shape[0]} rows, and Y has "
                f"{Y.shape[0]}: take those of the rows you mean, noise.rows(index)."
            )
        return gaussian_terms(Y, mean + self.offset, variance, self.variance)

    def check_values(self, Y) -> np.ndarray:
        """Y, if the variances and means have its shape."""
        if np.size(self.offset) not in (1, Y.shape[-1] if Y.ndim else 1):
            raise ValueError(f"mean has {self.mean.size} entries, one for each dimension, but Y has shape {Y.shape}.")
        if self.variance.ndim == 1 and Y.ndim == 2 and self.variance.size not in (1, Y.shape[1]):
            raise ValueError(
                f"variance has {self.variance.size} entries, one for each dimension, but Y has {Y.shape[1]} columns."
            )
        if (
            self.variance.ndim == 2
            and Y.ndim == 2
            and (self.variance.shape[0] != Y.shape[0] or self.variance.shape[1] not in (1, Y.shape[1]))
        ):
            raise ValueError(f"variance has shape {self.variance.shape}, one for each entry, but Y has {Y.shape}.")
        return Y

    def start(self, Y, prior_variance=1.0) -> Self:
        """A copy whose mean, if it was left open, is that of each column, missing entries left out."""
        if self.mean is not None:
            return self.copy()
        return self.copy(mean=self._parameter(fill_with_means(Y)[1], "mean"))

    def predict(self, mean, variance):
        """The expected y."""
        return mean + self.offset + 0.0 * np.asarray(variance)

    def deviation(self, mean, variance):
        """Standard deviation of y: that of f and that of the noise together."""
        return np.sqrt(variance + self.variance + 0.0 * np.asarray(mean))

    def signal_deviation(self, mean, variance):
        """Standard deviation of f: the noise has mean 0."""
        return np.sqrt(variance + 0.0 * np.asarray(mean))

    def draw(self, f, rng):
        """y for given f."""
        return f + self.offset + np.sqrt(self.variance) * rng.standard_normal(f.shape)

    def rows(self, index) -> Self:
        """The model of some rows; of new rows nothing is known if each row has its own variance."""
        return self if self.variance.ndim < 2 else self.copy(variance=self.variance[index])

    # --- the mean moves f, the variance adds to that of f --------------------------------------------
    @property
    def theta(self) -> np.ndarray:
        """The means, then the logarithms of the variances, as one vector."""
        return np.concatenate([np.ravel(self.offset), np.log(np.ravel(self.variance))])

    def with_theta(self, theta) -> Self:
        """A copy with these means and log variances."""
        n = np.size(self.offset)
        variance = np.exp(np.clip(theta[n:], -LOG_EXTREME, LOG_EXTREME))
        return self.copy(
            mean=np.reshape(theta[:n], np.shape(self.offset)), variance=variance.reshape(self.variance.shape)
        )

    def theta_gradient(self, Y, mean, variance) -> np.ndarray:
        """Gradient of the sum of ln Z in `theta`."""
        terms = self.evaluate(Y, mean, variance)
        with np.errstate(over="ignore"):
            in_variance = 0.5 * (terms.g**2 - terms.nu)  # (8.5)
            in_log = in_variance * self.variance
        in_log = np.where(np.isfinite(in_log), in_log, 0.5 * terms.g * (terms.g * self.variance))  # g^2 is no number
        in_log = _sum_to(in_log, self.variance.shape)
        return np.concatenate([np.ravel(_sum_to(terms.g, np.shape(self.offset))), np.ravel(in_log)])

    def parameters(self) -> dict:
        """Variance and mean by name."""
        return {"variance": self.variance, "mean": self.mean}


def _sum_to(values, shape):
    """The sum over all axes along which a parameter of this shape was broadcast."""
    while values.ndim > len(shape):
        values = values.sum(axis=0)
    return np.sum(values, axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True).reshape(shape)
