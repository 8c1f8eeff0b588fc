"""What all noise models share, and the three lines of assumed density filtering: moments, and the site that gives them.

A noise model writes `observed_terms(Y, mean, variance)`, `check_values(Y)`, `predict`, `deviation`, `signal_deviation`,
`draw`, `start` and `parameters`.
Everything that a user calls is here; NaN in Y is a missing entry, and contributes nothing.
"""

import copy
from typing import Any, Self

import numpy as np

from .. import checks
from ..optimise import minimise
from .terms import Terms

LOG_EXTREME = np.log(checks.EXTREME)  # an optimiser may try more; what it sets is brought into the range


def match_moments(g, nu, mean, variance):
    r"""Mean and variance of f after the observation: the Gaussian nearest to the tilted density.

    .. math:: \bar f \leftarrow \bar f + \varsigma g, \qquad \varsigma \leftarrow \varsigma - \nu \varsigma^2

    Parameters
    ----------
    g, nu, mean, variance : float or ndarray
        From `derivatives` of a noise model, with the mean and variance BEFORE the observation.

    Notes
    -----
    Chapter 8, equation (8.6).

    Examples
    --------
    >>> from gplvm_edu.noise import Probit
    >>> mean, variance = match_moments(*Probit().derivatives(1.0, 0.0, 1.0), 0.0, 1.0)
    >>> round(float(mean), 4), round(float(variance), 4)
    (0.5642, 0.6817)
    """
    return mean + variance * g, variance - nu * variance**2  # (8.6)


def sites(g, nu, mean, variance) -> tuple[np.ndarray, np.ndarray]:
    r"""The Gaussian observation m with precision beta that would have done the same to f.

    .. math:: \beta = \frac{\nu}{1 - \nu \varsigma}, \qquad m = \frac g\nu + \bar f

    Parameters
    ----------
    g, nu, mean, variance : ndarray (N, D)
        As in `match_moments`: mean and variance are those BEFORE the observation, the cavity's.

    Returns
    -------
    m, beta : ndarray (N, D)
        Both are 0 where nu is 0, at a missing entry: a site with no precision says nothing, (8.19). A precision of
        more than 1e16 times that of f can't be told from nu, and is taken for that.

    Notes
    -----
    Chapter 8, equations (8.7) and (8.8); Lawrence (2005), equations (15) and (16).

    Examples
    --------
    >>> from gplvm_edu.noise import Gaussian
    >>> m, beta = sites(*Gaussian(0.1).derivatives(np.array([2.0, np.nan]), np.zeros(2), np.ones(2)), 0.0, 1.0)
    >>> m, beta.round(6)                                        # a Gaussian observation is its own site
    (array([2., 0.]), array([10.,  0.]))
    """
    g, nu, mean, variance = np.broadcast_arrays(g, nu, mean, variance)
    seen = nu > 0  # a missing entry has nu = 0
    beta = nu / np.maximum(1.0 - nu * variance, 1e-16)  # (8.7)
    m = np.where(seen, g, 0.0) / np.where(seen, nu, 1.0) + mean  # (8.8)
    return np.where(seen, m, 0.0), np.where(seen, beta, 0.0)


def together(*arrays) -> tuple[np.ndarray, ...]:
    """Arrays as floats, each brought to the shape of all; or an error that shows their shapes."""
    arrays = tuple(
        array if type(array) is np.ndarray and array.dtype == float else checks.floats("An argument of noise", array)
        for array in arrays
    )
    if len({array.shape for array in arrays}) == 1:
        return arrays
    try:
        return tuple(np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ValueError(f"Y, mean and variance have the shapes {shapes}, which do not fit together.") from None


class Noise:
    """How an observation y arises from a latent value f, elementwise over arrays (N, D).

    =====================================  =====================================================================
    ``check(Y)``                           Y as floats, or an error that says what is wrong with it
    ``start(Y)``                           a copy whose open parameters are set from the data
    ``log_partition(Y, mean, variance)``   ln Z, the log density of y when f is N(mean, variance)
    ``derivatives(Y, mean, variance)``     g and nu, all that assumed density filtering asks
    ``evaluate(Y, mean, variance)``        the three together, for the price of one
    ``predict(mean, variance)``            the expected y
    ``deviation(mean, variance)``          standard deviation of y, noise included
    ``signal_deviation(mean, variance)``   standard deviation of E[y | f], because f is uncertain
    ``sample(f, random_state)``            observations of given latent values
    ``learn(Y, mean, variance)``           a copy whose parameters maximise the sum of ln Z
    ``learn_variance(squares)``            a copy whose Gaussian variances are means of expected squared noise
    ``shifted(amount)``                    a copy that says of f what this one says of f + amount
    ``rows(index)``                        the model of some rows
    ``blocks``                             [(model, its columns)], here one for all
    ``mapped(change)``                     a copy in which each of them was changed
    ``shared``                             True if nu depends neither on Y nor on the column
    =====================================  =====================================================================

    Chapter 8, equations (8.3) to (8.8).
    """

    shared = False
    learnt: tuple[str, ...] = ()  # names of the parameters in `theta`
    fixed: tuple[str, ...] = ()  # of those that `learn` leaves as they are
    learns_variance = False

    # --- one observation -------------------------------------------------------------------------------------
    def evaluate(self, Y, mean, variance) -> Terms:
        """ln Z, g and nu of every entry, as `Terms`; all three are 0 where Y is NaN."""
        Y, mean, variance = together(Y, mean, variance)
        missing = np.isnan(Y)
        if not missing.any():
            return Terms(*self.observed_terms(Y, mean, variance))
        terms = self.observed_terms(np.where(missing, self.stand_in(Y), Y), mean, variance)
        return Terms(*(np.where(missing, 0.0, term) for term in terms))  # (8.19)

    def log_partition(self, Y, mean, variance) -> np.ndarray:
        """ln Z for every entry, 0 where Y is NaN, equation (8.4)."""
        return self.evaluate(Y, mean, variance).log_partition

    def derivatives(self, Y, mean, variance) -> tuple[np.ndarray, np.ndarray]:
        """(g, nu) for every entry, 0 where Y is NaN, equation (8.5)."""
        terms = self.evaluate(Y, mean, variance)
        return terms.g, terms.nu

    @property
    def blocks(self) -> list:
        """[(model, its columns)]: one model for all columns."""
        return [(self, slice(None))]

    # --- data ------------------------------------------------------------------------------------------------
    def check(self, Y, allow_empty=False) -> np.ndarray:
        """Y as a float array the model understands (NaN kept), or an error that teaches.

        Training data need something in every row and column; new rows (`allow_empty=True`) need not.
        """
        Y = checks.floats("Y", Y).copy()
        if np.isinf(Y).any():
            raise ValueError(
                f"Y contains infinity at {self._place(np.isinf(Y))}: an observation is a number, or NaN "
                'if it is missing (chapter 8, "Missing values").'
            )
        if (np.abs(Y) > checks.LARGEST).any():
            raise ValueError(
                f"Y has an entry beyond {checks.LARGEST:g} at {self._place(np.abs(Y) > checks.LARGEST)}: its square "
                "leaves the floating-point numbers. Use larger units, so that its numbers become smaller."
            )
        if not allow_empty and Y.ndim == 2 and Y.size:
            checks.observed_columns(checks.observed_rows(Y))
        return self.check_values(Y)

    def start(self, Y, prior_variance=1.0) -> Self:
        """A copy whose parameters that were left open (None) are set from Y."""
        return self.copy()

    def rows(self, index) -> Self:
        """The noise model of some rows of Y; the same one unless it has a parameter for each row."""
        return self

    def sample(self, f, random_state=None):
        """Observations of latent values f, a float or (N, D); a RandomState or Generator is drawn from, and goes on."""
        own = isinstance(random_state, np.random.RandomState)  # an estimator's: its next numbers, no seed
        f = checks.floats("f", f)
        if not np.isfinite(f).all():
            raise ValueError(
                f"f contains NaN or infinity at {self._place(~np.isfinite(f))}: a latent value is a number."
            )
        return self.draw(f, random_state if own else checks.generator(random_state))

    # --- learning the parameters -----------------------------------------------------------------------------
    def learn(self, Y, mean, variance, max_iter=50) -> Self:
        r"""A copy whose parameters maximise the sum of ln Z, the moments of f held fixed, equation (8.27).

        Given the cavities of expectation propagation this is a step towards the parameters that maximise its
        evidence: at a fixed point of both, the gradient of the evidence is that of the sum of ln Z.
        """
        theta, free = self.theta, self.is_free
        if not free.any():
            return self.copy()

        def at(moved):
            whole = theta.copy()
            whole[free] = moved
            return self.with_theta(whole).copy(**{name: getattr(self, name) for name in self.fixed})  # not even rounded

        def value_and_gradient(moved):
            trial = at(moved)
            value = np.sum(trial.log_partition(Y, mean, variance))
            return -value, -trial.theta_gradient(Y, mean, variance)[free]

        *_, last = minimise(value_and_gradient, theta[free], "l-bfgs", max_iter=max_iter)
        return at(last.x)

    def mapped(self, change) -> Any:
        """The models of `blocks`, each changed once by change(model, its columns): here the one for all."""
        return change(self, slice(None))

    def shifted(self, amount) -> Self:
        """A copy that says of f what this one says of f + amount, (8.42); the same where nothing can move f."""
        return self.copy()

    @property
    def n_shifts(self) -> int:
        """How many biases, or sets of cut points, are free to move f: 0, one for all columns, or one for each."""
        return 0

    def learn_variance(self, squares) -> Self:
        """A copy; where the noise is Gaussian, with the mean of the expected squares (n, D) for its variance."""
        return self.copy()

    @property
    def theta(self) -> np.ndarray:
        """The parameters as one unconstrained vector; a model with some writes `with_theta`, `theta_gradient` too."""
        return np.zeros(0)

    @property
    def is_free(self) -> np.ndarray:
        """Which entries of `theta` are learnt: none of what is `fixed`. Here all of them belong to one parameter."""
        return np.full(self.theta.shape, not self.fixed)

    # --- housekeeping ----------------------------------------------------------------------------------------
    def copy(self, **changes) -> Self:
        """An independent model, with some attributes changed."""
        other = copy.copy(self)
        for name, value in changes.items():
            setattr(other, name, value)
        return other

    def __repr__(self):
        inside = [f"{name}={_short(value)}" for name, value in self.parameters().items()]
        if self.fixed:
            inside.append(f"fixed={(self.fixed[0] if len(self.fixed) == 1 else self.fixed)!r}")
        return f"{type(self).__name__}({', '.join(inside)})"

    def __eq__(self, other):
        if type(self) is not type(other):
            return NotImplemented
        theirs = other.parameters()
        same = all(np.array_equal(value, theirs[name]) for name, value in self.parameters().items())
        return same and self.fixed == other.fixed

    __hash__ = None  # type: ignore[assignment]  # it can be changed: not for sets

    def _names_to_fix(self, names):
        """What was passed as `fixed`, a name or several, as a tuple; or an error that names what is learnt."""
        names = (names,) if isinstance(names, str) else names
        if not isinstance(names, (tuple, list)):
            raise ValueError(f"fixed must be the name of a parameter or a tuple of names, got {checks.shown(names)}.")
        for name in names:
            if name not in self.learnt:
                raise ValueError(
                    f"{type(self).__name__} learns {', '.join(self.learnt)} and can hold that: fixed must name it, got "
                    f"{checks.shown(name)}."
                )
        return tuple(name for name in self.learnt if name in names)

    def stand_in(self, Y):
        """A legal value to put in the place of a missing one, where the result is not looked at."""
        return 1.0

    @staticmethod
    def _parameter(given, name, positive=False, most_axes=1, may_be_open=True):
        """A parameter of a noise model as a read-only float array; None, still open, stays None where it may."""
        if given is None and may_be_open:
            return None
        value = checks.floats(name, given).copy()
        if not np.isfinite(value).all() or (positive and not (value > 0).all()):
            raise ValueError(
                f"{name} must be finite{' and above 0' if positive else ''}, got {checks.shown(given)} "
                '(chapter 8, "Three kinds of noise").'
            )
        if value.ndim > most_axes or value.size == 0:
            wanted = ("one number", "a number or a vector of them", "a number, a vector or a matrix")[most_axes]
            raise ValueError(f"{name} must be {wanted}, not empty, got an array of shape {value.shape}.")
        if np.max(np.abs(value)) > checks.EXTREME or (positive and np.min(value) < 1.0 / checks.EXTREME):
            range_ = f"from {1 / checks.EXTREME:g} to {checks.EXTREME:g}"
            bounds = range_ if positive else f"of at most {checks.EXTREME:g} in size"
            raise ValueError(
                f"{name} must be {bounds}, got {checks.shown(given)}: outside, squares leave the floating-point "
                "numbers."
            )
        value.flags.writeable = False
        return value

    @staticmethod
    def _place(wrong):
        """Where the first True of an array stands, in words."""
        index = np.argwhere(wrong)[0]
        return f"row {index[0]}, column {index[1]}" if len(index) == 2 else f"entry {index[0] if len(index) else 0}"


def _short(value):
    if value is None or isinstance(value, (int, str)):
        return repr(value)
    value = np.asarray(value)
    if value.ndim == 0:
        return f"{float(value):.4g}"
    if value.ndim == 1 and value.size <= 6:
        return "[" + ", ".join(f"{v:.4g}" for v in value) + "]"
    return f"array of shape {value.shape}"
