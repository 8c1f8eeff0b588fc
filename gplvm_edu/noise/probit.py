"""`Probit`: yes or no, the Bernoulli noise of binary data."""
import numpy as np
from scipy.special import ndtr, ndtri

from .model import Noise, _parameter, _place, _rng
from .terms import probit_terms


class Probit(Noise):
    """p(y = 1) = Phi(f + bias), for labels 1 and -1 (or 1 and 0), equations (8.11) to (8.13).

    Parameters
    ----------
    bias : None, float or ndarray (D,)
        Added to f; None: from how often each column of Y is 1, by `start` (and 0 until then).

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

    def __init__(self, bias=None):
        self.bias = _parameter(bias, "bias")

    @property
    def needs_start(self):
        return self.bias is None

    @property
    def offset(self):
        """What is added to f: the bias, or 0 while it is open."""
        return 0.0 if self.bias is None else self.bias

    def _terms(self, Y, mean, variance):
        return probit_terms(np.where(Y > 0, 1.0, -1.0), mean + self.offset, variance)

    def _check_values(self, Y):
        wrong = ~(np.isnan(Y) | np.isin(Y, (-1.0, 0.0, 1.0)))
        if wrong.any():
            raise ValueError(f"Probit noise needs labels 1 and -1 (or 1 and 0; NaN where missing), got {Y[wrong][0]:g} "
                             f"at {_place(wrong)}. Cut the values first, Y > threshold, or use Gaussian noise for "
                             "real values and Ordinal for ordered levels (chapter 8, \"Three kinds of noise\").")
        if (Y == 0).any() and (Y == -1).any():
            raise ValueError(f"Y holds both 0 (at {_place(Y == 0)}) and -1 (at {_place(Y == -1)}), and each may mean "
                             "'no': write no with one of them, and a missing entry as NaN (chapter 8, \"Missing "
                             "values\").")
        return np.where(Y == 0, -1.0, Y)

    def start(self, Y, prior_variance=1.0):
        """A copy whose bias, if it was left open, gives each column its share of ones (half a label added to each)."""
        if self.bias is not None:
            return self.copy()
        share = (np.sum(np.asarray(Y) > 0, axis=0) + 0.5) / (np.sum(~np.isnan(Y), axis=0) + 1.0)
        return self.copy(bias=_parameter(np.sqrt(1.0 + prior_variance) * ndtri(share), "bias"))           # (8.18)

    def predict(self, mean, variance):
        """The probability of y = 1, which is also the expectation of a label 1 or 0."""
        return ndtr((mean + self.offset) / np.sqrt(1.0 + np.asarray(variance)))                          # (8.26)

    def deviation(self, mean, variance):
        """Standard deviation of a label 1 or 0."""
        p = self.predict(mean, variance)
        return np.sqrt(p * (1.0 - p))

    def sample(self, f, random_state=None):
        """Labels 1 and -1 for given f."""
        f = np.asarray(f, float)
        return np.where(_rng(random_state).standard_normal(f.shape) < f + self.offset, 1.0, -1.0)

    def column(self, d):
        """The model of column d."""
        return self.copy(bias=self.bias[d]) if self.bias is not None and self.bias.ndim else self

    @property
    def theta(self):
        return np.ravel(self.offset).astype(float)

    def with_theta(self, theta):
        """A copy with these biases."""
        return self.copy(bias=np.reshape(theta, np.shape(self.offset)))

    def theta_gradient(self, Y, mean, variance):
        """Gradient of the sum of ln Z in the biases: they move f, so it is g."""
        g = self.evaluate(Y, mean, variance).g                                   # (8.27)
        return np.ravel(g.sum(axis=0) if np.size(self.offset) > 1 else g.sum())

    def _described(self):
        return {"bias": self.bias}
