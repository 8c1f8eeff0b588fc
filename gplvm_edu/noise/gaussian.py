"""`Gaussian`: the noise of every chapter so far, now also with a variance for each dimension or each entry."""

from typing import Self

import numpy as np

from .. import checks
from ..linalg import fill_with_means
from .model import LOG_EXTREME, Noise
from .terms import Terms, gaussian_terms


class Gaussian(Noise):
    """y = scale f + mean + noise of some variance, equations (8.9) and (8.10).

    Parameters
    ----------
    variance : float, ndarray (D,) or ndarray (N, D)
        One for all, one for each dimension, or one for each entry; (N, 1) is one for each point. In the units of y
        squared. A sparse GP-LVM learns it, unless it is `fixed` or stands for each entry or point.
    mean : None, float or ndarray (D,)
        Added to f; None: the column means of Y, by `start` (and 0 until then).
    scale : float or ndarray (D,)
        Units of y that one unit of f makes: beside answers and grades, whose f has the size of 1, the deviation of the
        column. It is stated, never learnt: the kernel's variance learns the size of f.
    fixed : "variance", "mean" or a tuple of them
        What stays as it is when the noise learns.

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

    learnt = ("mean", "variance")

    def __init__(self, variance=0.1, mean=None, scale=1.0, *, fixed=()):
        self.variance = self._parameter(variance, "variance", positive=True, most_axes=2, may_be_open=False)
        self.mean = self._parameter(mean, "mean")
        self.scale = self._parameter(scale, "scale", positive=True, may_be_open=False)
        self.fixed = self._names_to_fix(fixed)

    @property
    def shared(self) -> bool:
        """True where one covariance serves all columns: they share the variance, and f has the scale of y."""
        by_row = self.variance.ndim == 0 or (self.variance.ndim == 2 and self.variance.shape[1] == 1)
        return by_row and bool(np.all(self.scale == 1.0))

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
        s = self.scale
        log_Z, g, nu = gaussian_terms(Y, s * mean + self.offset, s**2 * variance, self.variance)  # of s f + mean
        return Terms(log_Z, s * g, s**2 * nu)

    def check_values(self, Y) -> np.ndarray:
        """Y, if the variances, means and scales have its shape."""
        if self.scale.size not in (1, Y.shape[-1] if Y.ndim else 1):
            raise ValueError(f"scale has {self.scale.size} entries, one for each dimension, but Y has shape {Y.shape}.")
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
        return self.scale * mean + self.offset + 0.0 * np.asarray(variance)

    def deviation(self, mean, variance):
        """Standard deviation of y: that of f and that of the noise together."""
        return np.sqrt(self.scale**2 * variance + self.variance + 0.0 * np.asarray(mean))

    def signal_deviation(self, mean, variance):
        """Standard deviation of scale f: the noise has mean 0."""
        return self.scale * np.sqrt(variance + 0.0 * np.asarray(mean))

    def draw(self, f, rng):
        """y for given f."""
        return self.scale * f + self.offset + np.sqrt(self.variance) * rng.standard_normal(f.shape)

    def rows(self, index) -> Self:
        """The model of some rows; of new rows nothing is known if each row has its own variance."""
        return self if self.variance.ndim < 2 else self.copy(variance=self.variance[index])

    # --- the variance, learnt by EM ---------------------------------------------------------------------------
    @property
    def learns_variance(self) -> bool:
        """Whether the variance is free: not fixed, and not stated for each row, as a measured one is."""
        return "variance" not in self.fixed and self.variance.ndim < 2

    def learn_variance(self, squares) -> Self:
        """A copy whose variance is the mean of the expected squared noise (n, D), in the units of f; NaN is a gap.

        One variance is that of all columns together, one for each column that of its own; equation (8.29b).
        """
        if not self.learns_variance or np.isnan(squares).all():
            return self.copy()
        axis, scaled = (None if self.variance.ndim == 0 else 0), squares * self.scale**2
        seen = ~np.isnan(scaled)
        total, n = np.sum(np.where(seen, scaled, 0.0), axis=axis), np.sum(seen, axis=axis)
        found = np.where(n > 0, total / np.maximum(n, 1), self.variance)  # (8.29b)
        return self.copy(variance=np.clip(found, 1.0 / checks.EXTREME, checks.EXTREME))

    # --- the mean moves y, the variance adds to that of scale f --------------------------------------------
    @property
    def theta(self) -> np.ndarray:
        """The means, then the logarithms of the variances, as one vector."""
        return np.concatenate([np.ravel(self.offset), np.log(np.ravel(self.variance))])

    @property
    def is_free(self) -> np.ndarray:
        """Which entries of `theta` are learnt: none of what is `fixed`."""
        free = [name not in self.fixed for name in self.learnt]
        return np.repeat(free, [np.size(self.offset), self.variance.size])

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
        g, nu = terms.g / self.scale, terms.nu / self.scale**2  # of y's own mean and variance
        with np.errstate(over="ignore"):
            in_variance = 0.5 * (g**2 - nu)  # (8.5)
            in_log = in_variance * self.variance
        in_log = np.where(np.isfinite(in_log), in_log, 0.5 * g * (g * self.variance))  # g^2 is no number
        parts = _sum_to(g, np.shape(self.offset)), _sum_to(in_log, self.variance.shape)
        return np.concatenate([np.ravel(part) for part in parts])

    def parameters(self) -> dict:
        """Variance and mean by name; scale, where it was stated."""
        stated = {"variance": self.variance, "mean": self.mean}
        if np.any(self.scale != 1.0):
            stated["scale"] = self.scale
        return stated


def _sum_to(values, shape):
    """The sum over all axes along which a parameter of this shape was broadcast."""
    while values.ndim > len(shape):
        values = values.sum(axis=0)
    return np.sum(values, axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True).reshape(shape)
