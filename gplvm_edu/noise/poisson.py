"""`Poisson`: counts, whose logarithmic rate is f plus a bias; no formula for ln Z, so a sum over a few points."""

from typing import Self

import numpy as np
from scipy.special import gammaln, roots_hermite, wrightomega

from .. import checks
from .model import Noise
from .terms import LEAST, LOG_2PI, Terms

MOST = 1_000_000  # a larger count is as good as a real number
LOG_RATE = 230.0  # a larger logarithm of a rate counts as this: e^230 = 1e100
WIDE = 0.5  # deviation at the mode above which the right flank, of width 1, is sharper than Hermite's nodes see
REACH, STEP, MOST_NODES = 9.0, 0.3, 4_000  # of the trapezoids: deviations of the prior to each side; of f; at most
BLOCK = 2_048  # entries taken together: with their nodes they stay in the cache
NODES, WEIGHTS = roots_hermite(64)
HERMITE = NODES, NODES**2 + np.log(WEIGHTS)


def log_poisson(y, f):
    r"""ln p(y | f) of a count whose rate is exp(f).

    .. math:: p(y \mid f) = \frac{e^{y f}\, e^{-e^f}}{y!}

    Notes
    -----
    Chapter 8, equation (8.34). A rate of more than 1e100 counts as that.

    Examples
    --------
    >>> round(float(np.exp(log_poisson(2.0, np.log(3.0)))), 4)                    # 9 e^-3 / 2
    0.224
    """
    return y * f - np.exp(np.minimum(f, LOG_RATE)) - gammaln(y + 1.0)  # (8.34)


def poisson_terms(y, mean, variance) -> Terms:
    r"""Terms of a count y whose rate is exp(f), by Gauss and Hermite's rule around the mode of the tilted density.

    .. math:: Z \approx \sqrt2\, s \sum_i w_i\, e^{z_i^2}\, p(y \mid f_i)\, N(f_i \mid \bar f, \varsigma), \qquad
              f_i = \hat f + \sqrt2\, s\, z_i

    .. math:: y - e^{\hat f} = \frac{\hat f - \bar f}{\varsigma}, \qquad
              \frac1{s^2} = \frac1\varsigma + e^{\hat f}

    Parameters
    ----------
    y, mean, variance : float or ndarray
        Count, mean and variance of f before it is seen.

    Notes
    -----
    Chapter 8, equations (8.34) and (8.35). The mode has a closed form: omega = variance exp(mode) solves
    omega + ln omega = mean + variance y + ln variance, which is Wright's function. 64 nodes give 1e-10 while s is below
    1/2. Above, as with a rare event under a wide prior, the right flank of the tilted density falls within one unit of
    f: there trapezoids of a fixed step take over, to the same accuracy up to a prior variance of 4000.

    Examples
    --------
    >>> [round(float(term), 4) for term in poisson_terms(3.0, 0.0, 1.0)]
    [-2.5165, 0.6873, 0.6772]
    >>> [round(float(term), 4) for term in poisson_terms(0.0, 0.0, 100.0)]        # nothing seen: the rate is small
    [-0.7396, -0.0828, 0.0064]
    """
    y, mean, variance = np.broadcast_arrays(y, mean, variance)
    flat = [np.ravel(array).astype(float) for array in (y, mean, variance)]
    out = np.empty((3, flat[0].size))
    for k in range(0, flat[0].size, BLOCK):
        some = slice(k, k + BLOCK)
        out[:, some] = _block(*(array[some] for array in flat))
    return Terms(*(term.reshape(y.shape) for term in out))


def tilted_mode(y, mean, variance):
    """Mode of the tilted density of a count, and omega = variance exp(mode), by Wright's function.

    Examples
    --------
    >>> mode, omega = tilted_mode(3.0, 0.0, 2.0)
    >>> bool(np.isclose(3.0 - np.exp(mode), mode / 2.0)), bool(np.isclose(omega, 2.0 * np.exp(mode)))
    (True, True)
    """
    far, log_variance = mean + variance * y, np.log(np.maximum(variance, 1e-300))
    omega = wrightomega(far + log_variance)
    with np.errstate(divide="ignore"):
        return np.where(far + log_variance < 0, far - omega, np.log(omega) - log_variance), omega


def _block(y, mean, variance):
    """ln Z, g and nu, (3, n), of entries (n,): each by the rule that suits its width."""
    mode, omega = tilted_mode(y, mean, variance)
    wide = np.sqrt(variance / (1.0 + omega)) > WIDE
    out = np.empty((3, len(y)))
    if not wide.all():
        own = ~wide
        s = np.sqrt(2.0 / (1.0 + omega[own]))
        out[:, own] = _summed(y[own], mean[own], variance[own], mode[own], omega[own], s, *HERMITE)
    if wide.any():
        n = int(np.clip(2.0 * REACH * np.sqrt(variance[wide].max()) / STEP, 32, MOST_NODES))
        nodes = np.linspace(-REACH, REACH, n)
        log_weights = np.full(n, np.log(nodes[1] - nodes[0]))
        for one in np.array_split(np.flatnonzero(wide), 1 + wide.sum() * n // 200_000):
            out[:, one] = _summed(y[one], mean[one], variance[one], mode[one], omega[one], 1.0, nodes, log_weights)
    return out


def _summed(y, mean, variance, mode, omega, s, nodes, log_weights):
    """ln Z, g and nu, (3, n), by a rule with given nodes, in u = (f - mean) / deviation: no variance divides.

    Where the count tells much, g and nu come from the moments, (8.5) and (8.6). Where it tells little these cancel, and
    they come from integrating by parts: g = <y - r>, nu = <r> - var(r) under the tilted density, with the rate r.
    """
    root, s = np.sqrt(variance)[:, None], np.broadcast_to(s, y.shape)[:, None]
    peak = np.exp(np.minimum(mode, LOG_RATE))
    u = root * (y - peak)[:, None] + s * nodes  # (n, nodes)
    f = mode[:, None] + root * s * nodes
    log_terms = log_poisson(y[:, None], f) - 0.5 * (u**2 + LOG_2PI) + np.log(s) + log_weights  # (8.35)
    top = log_terms.max(axis=1, keepdims=True)
    p = np.exp(log_terms - top)
    total = p.sum(axis=1, keepdims=True)
    log_Z, p = (top + np.log(total))[:, 0], p / total  # (8.35)
    offset = np.sum(p * (s * nodes), axis=1)  # of <u> from the mode
    spread = np.sum(p * (s * nodes - offset[:, None]) ** 2, axis=1)  # var(f) / variance
    rate = np.exp(np.minimum(f, LOG_RATE))
    r = np.sum(p * rate, axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        var_r = np.where(omega < 1e-14, 0.0, np.sum(p * (rate - r[:, None]) ** 2, axis=1))
    tells, safe = spread < 0.5, np.where(variance > 0, variance, 1.0)
    g = np.where(tells, (y - peak) + offset / np.sqrt(safe), y - r)
    nu = np.where(tells, (1.0 - spread) / safe, r - var_r)
    ceiling = np.where(variance > 0, (1.0 - 1e-16) / safe, np.inf)
    return np.maximum(log_Z, LEAST), g, np.clip(nu, 0.0, ceiling)


class Poisson(Noise):
    """Counts 0, 1, 2, ... with the rate exp(f + bias), equations (8.34) to (8.36).

    Parameters
    ----------
    bias : None, float or ndarray (D,)
        Added to f; None: from the mean count of each column, by `start` (and 0 until then).
    fixed : "bias" or ()
        "bias": `learn` leaves it as it was given, or as `start` set it.

    Notes
    -----
    The variance of a count is its rate. Counts that vary much more than that, once f is known, are not Poisson: this
    noise would take their scatter for signal.

    Examples
    --------
    >>> noise = Poisson().start(np.array([[0.0, 12.0], [1.0, 9.0], [np.nan, 15.0]]))
    >>> noise
    Poisson(bias=[-0.7877, 1.999])
    >>> noise.predict(np.zeros(2), np.ones(2)).round(2)                           # the expected count
    array([ 0.75, 12.17])
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
        """ln Z, g and nu of observed entries, equations (8.34) and (8.35)."""
        return poisson_terms(Y, mean + self.offset, variance)

    def check_values(self, Y) -> np.ndarray:
        """Y, if it holds counts."""
        seen = ~np.isnan(Y)
        wrong = seen & ((Y < 0) | (Y != np.round(Y)))
        if wrong.any():
            what = "a count is never negative" if Y[wrong][0] < 0 else "a count is a whole number"
            raise ValueError(
                f"Poisson noise needs counts 0, 1, 2, ... (NaN where missing), got {Y[wrong][0]:g} at "
                f"{self._place(wrong)}: {what}. Don't divide or centre counts: use them as they are, or Gaussian noise "
                'for real values (chapter 8, "Counts").'
            )
        many = seen & (Y > MOST)
        if many.any():
            raise ValueError(
                f"Y has the count {Y[many][0]:.10g} at {self._place(many)}: Poisson noise is for counts of at most "
                f'{MOST}. Beyond, take the logarithm, and use Gaussian noise (chapter 8, "Counts").'
            )
        return Y

    def start(self, Y, prior_variance=1.0) -> Self:
        """A copy whose bias, if it was left open, gives each column its mean count (half a count added to the sum)."""
        if self.bias is not None:
            return self.copy()
        Y, prior_variance = checks.floats("Y", Y), checks.number("prior_variance", prior_variance, at_least=0)
        seen = ~np.isnan(Y)
        mean_count = (np.sum(np.where(seen, Y, 0.0), axis=0) + 0.5) / np.maximum(np.sum(seen, axis=0), 1)
        return self.copy(bias=self._parameter(np.log(mean_count) - 0.5 * prior_variance, "bias"))  # (8.41)

    def predict(self, mean, variance):
        """The expected count, exp(mean + bias + variance / 2)."""
        return np.exp(self._log_expectation(mean, variance))

    def deviation(self, mean, variance):
        r"""Standard deviation of a count: its own scatter and that of its rate.

        .. math:: \mathrm{var}\, y = \langle y \rangle + \langle y \rangle^2 (e^\varsigma - 1)
        """
        return np.hypot(np.sqrt(self.predict(mean, variance)), self.signal_deviation(mean, variance))  # (8.41)

    def signal_deviation(self, mean, variance):
        """Standard deviation of the rate exp(f + bias), where f is N(mean, variance)."""
        variance = np.asarray(variance, dtype=float)
        with np.errstate(divide="ignore"):
            log_spread = 0.5 * (variance + np.log(-np.expm1(-variance)))  # ln sqrt(e^v - 1)
        return np.exp(np.minimum(self._log_expectation(mean, variance) + log_spread, LOG_RATE))  # (8.41)

    def probabilities(self, counts, mean, variance):
        """The probability of each of some counts: an array with one more axis, of their length.

        Examples
        --------
        >>> Poisson(0.0).probabilities(range(4), 0.0, 0.5).round(3)
        array([0.374, 0.299, 0.166, 0.082])
        """
        counts = self.check_values(checks.floats("counts", list(counts)))
        mean, variance = np.asarray(mean, float) + self.offset, np.asarray(variance, float)
        return np.exp(poisson_terms(counts, mean[..., None], variance[..., None]).log_partition)  # (8.35)

    def _log_expectation(self, mean, variance):
        """mean + bias + variance / 2, kept in the range of numbers."""
        return np.minimum(mean + self.offset + 0.5 * np.asarray(variance, dtype=float), LOG_RATE)  # (8.41)

    def draw(self, f, rng):
        """Counts for given f; a rate beyond 1e15 counts as that."""
        return rng.poisson(np.exp(np.minimum(f + self.offset, np.log(1e15)))).astype(float)

    @property
    def theta(self) -> np.ndarray:
        """The biases as one vector."""
        return np.ravel(self.offset).astype(float)

    def with_theta(self, theta) -> Self:
        """A copy with these biases."""
        return self.copy(bias=np.reshape(theta, np.shape(self.offset)))

    def theta_gradient(self, Y, mean, variance) -> np.ndarray:
        """Gradient of the sum of ln Z in the biases: they move f, so it is g, equation (8.36)."""
        g = self.evaluate(Y, mean, variance).g
        return np.ravel(np.sum(g, axis=0) if np.size(self.offset) > 1 else np.sum(g))  # (8.36)

    def stand_in(self, Y):
        """No event: every Poisson model has it."""
        return 0.0

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
