"""`Probit`: yes or no, the Bernoulli noise of binary data."""

from typing import Self

import numpy as np
from scipy.special import ndtr, ndtri, owens_t

from .. import checks
from .model import Noise
from .terms import Terms, probit_terms


class Probit(Noise):
    """p(y = 1) = Phi(f + bias), for labels 1 and -1 (or 1 and 0), equations (8.11) to (8.13).

    Parameters
    ----------
    bias : None, float or ndarray (D,)
        Added to f; None: from how often each column of Y is 1, by `start` (and 0 until then).
    fixed : "bias" or ()
        "bias": `learn` leaves it as it was given, or as `start` set it.

    Notes
    -----
    1 means yes in both ways of writing; no is -1 or 0. Which of the two never matters, but both in one array
    are an error: then one of them probably means something else.

    Examples
    --------
    >>> noise = Probit().start(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, np.nan]]))
    >>> noise
    Probit(bias=[0.4506, 0])
    >>> noise.predict(np.array([0.0, 3.0]), np.array([1.0, 1.0])).round(3)        # the probability of a 1
    array([0.625, 0.983])
    """

    learnt = ("bias",)

    def __init__(self, bias=None, *, fixed=()):
        self.bias = self._parameter(bias, "bias")
        self.fixed = self._names_to_fix(fixed)

    @property
    def offset(self):
        """What is added to f: the bias, or 0 while it is open."""
        return 0.0 if self.bias is None else self.bias

    def observed_terms(self, Y, mean, variance) -> Terms:
        """ln Z, g and nu of observed entries, equations (8.11) to (8.13)."""
        return probit_terms(np.where(Y > 0, 1.0, -1.0), mean + self.offset, variance)

    def check_values(self, Y) -> np.ndarray:
        """Y, if it holds labels; every 0 becomes -1."""
        wrong = ~(np.isnan(Y) | np.isin(Y, (-1.0, 0.0, 1.0)))
        if wrong.any():
            raise ValueError(
                f"Probit noise needs labels 1 and -1 (or 1 and 0; NaN where missing), got {Y[wrong][0]:g} "
                f"at {self._place(wrong)}. Cut the values first, Y > threshold, or use Gaussian noise for "
                'real values and Ordinal for ordered levels (chapter 8, "Three kinds of noise").'
            )
        if (Y == 0).any() and (Y == -1).any():
            raise ValueError(
                f"Y holds both 0 (at {self._place(Y == 0)}) and -1 (at {self._place(Y == -1)}), and "
                "each may mean 'no': write no with one of them, and a missing entry as NaN (chapter 8, "
                '"Missing values").'
            )
        return np.where(Y == 0, -1.0, Y)

    def start(self, Y, prior_variance=1.0) -> Self:
        """A copy whose bias, if it was left open, gives each column its share of ones (half a label added to each)."""
        if self.bias is not None:
            return self.copy()
        Y, prior_variance = checks.floats("Y", Y), checks.number("prior_variance", prior_variance, at_least=0)
        share = (np.sum(Y > 0, axis=0) + 0.5) / (np.sum(~np.isnan(Y), axis=0) + 1.0)
        return self.copy(bias=self._parameter(np.sqrt(1.0 + prior_variance) * ndtri(share), "bias"))  # (8.18)

    def predict(self, mean, variance):
        """The probability of y = 1, which is also the expectation of a label 1 or 0."""
        return ndtr(self._margin(mean, variance))  # (8.26)

    def deviation(self, mean, variance):
        """Standard deviation of a label 1 or 0: sqrt(p (1 - p))."""
        u = self._margin(mean, variance)
        return np.sqrt(ndtr(u) * ndtr(-u))

    def signal_deviation(self, mean, variance):
        r"""Standard deviation of the probability Phi(f + bias) of a 1, where f is N(mean, variance).

        .. math:: \mathrm{var}\, \Phi(f + b) = \Phi(u) \Phi(-u) - 2\, T\Big(u, \frac{1}{\sqrt{1 + 2 \varsigma}}\Big),
                  \qquad u = \frac{\bar f + b}{\sqrt{1 + \varsigma}}

        Phi(f + b)^2 is the probability that two standard normals both stay below f + b. With f integrated out they are
        two normals of correlation rho = s / (1 + s), both below u, and that is Phi(u) - 2 T(u, a) with Owen's T and
        a^2 = (1 - rho) / (1 + rho) = 1 / (1 + 2 s). The two terms cancel as s goes to 0: the result is exact to 1e-8.
        """
        u = self._margin(mean, variance)
        joint = 2.0 * owens_t(u, 1.0 / np.sqrt(1.0 + 2.0 * np.asarray(variance)))
        return np.sqrt(np.maximum(ndtr(u) * ndtr(-u) - joint, 0.0))

    def _margin(self, mean, variance):
        """u = (mean + bias) / sqrt(1 + variance)."""
        return (mean + self.offset) / np.sqrt(1.0 + np.asarray(variance))

    def draw(self, f, rng):
        """Labels 1 and -1 for given f."""
        return np.where(rng.standard_normal(f.shape) < f + self.offset, 1.0, -1.0)

    @property
    def theta(self) -> np.ndarray:
        """The biases as one vector."""
        return np.ravel(self.offset).astype(float)

    def with_theta(self, theta) -> Self:
        """A copy with these biases."""
        return self.copy(bias=np.reshape(theta, np.shape(self.offset)))

    def theta_gradient(self, Y, mean, variance) -> np.ndarray:
        """Gradient of the sum of ln Z in the biases: they move f, so it is g."""
        g = self.evaluate(Y, mean, variance).g
        return np.ravel(g.sum(axis=0) if np.size(self.offset) > 1 else g.sum())

    @property
    def n_shifts(self) -> int:
        """How many biases are free."""
        return 0 if self.fixed else np.size(self.offset)

    def shifted(self, amount) -> Self:
        """A copy whose bias is larger by an amount, or by one for each column; unless it is fixed."""
        return self.copy() if self.fixed else self.copy(bias=self.offset + np.reshape(amount, np.shape(self.offset)))

    def parameters(self) -> dict:
        """The bias by name."""
        return {"bias": self.bias}
