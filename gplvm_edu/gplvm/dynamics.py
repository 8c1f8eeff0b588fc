r"""Dynamics: a Gaussian process over time as the prior of the positions (chapter 5).

Positions that belong to times tau_n, such as the frames of a motion, are no N independent draws. Each latent coordinate
is a function of time with covariance k(tau, tau'), so near in time is near in latent space.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .. import checks
from ..kernels import Kernel
from ..linalg import cholesky_with_jitter, log_determinant, solve_cholesky, unit_gaussian_log_density


def dynamic_log_prior(X, K) -> tuple[float, np.ndarray]:
    r"""Log density of positions whose columns are independent Gaussian processes over time, and its gradient in X.

    .. math:: \ln p(X \mid \tau) = -\tfrac{Nq}{2} \ln 2\pi - \tfrac q2 \ln |K_\tau|
              - \tfrac12 \mathrm{tr}(X^\top K_\tau^{-1} X)

    Parameters
    ----------
    X : ndarray (N, q)
    K : ndarray (N, N)
        Covariance of the times, noise included.

    Notes
    -----
    Costs O(N^3 / 3 + N^2 q); `DynamicPrior` factorises once. Chapter 5, equations (5.35) and (5.36). With K = I it is
    the prior of (5.6).

    Examples
    --------
    >>> value, gradient = dynamic_log_prior(np.array([[1.0], [-1.0]]), np.eye(2))
    >>> round(value, 4), gradient.ravel()
    (-2.8379, array([-1.,  1.]))
    """
    N, q = X.shape
    L, _ = cholesky_with_jitter(K)
    gradient = -solve_cholesky(L, X)  # (5.36)
    value = 0.5 * (np.sum(X * gradient) - N * q * np.log(2 * np.pi) - q * log_determinant(L))  # (5.35)
    return float(value), gradient


@dataclass(frozen=True)
class DynamicPrior:
    """The prior p(X | times) of chapter 5: called with X (N, q), its log density and the gradient in X.

    kernel : over times, its parameters given; times (N, p); positions (N, q) of a fitted model, or None.
    `jitter` is what had to be added to the diagonal of the covariance to factorise it, mostly nothing.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF, White
    >>> prior = DynamicPrior.over([0.0, 1.0, 2.0], RBF() + White(0.01))
    >>> smooth, jumpy = np.array([[0.0], [0.5], [1.0]]), np.array([[0.0], [1.0], [0.0]])
    >>> prior(smooth)[0] > prior(jumpy)[0]
    True
    >>> prior.at(smooth).positions_at([0.5]).round(2)
    array([[0.19]])
    """

    kernel: Kernel
    times: np.ndarray
    positions: np.ndarray | None = None

    @classmethod
    def over(cls, times, kernel) -> "DynamicPrior":
        """The prior over these times (N,) or (N, p), in any order; those that occur twice need noise in the kernel."""
        times = as_times("times", times)
        noise = kernel.diag(times[:1]) - kernel.diag(times[:1], noise=False)
        again = _repeated(times)
        if again and noise[0] <= 0:
            raise ValueError(
                f"times repeat (rows {again[0]} and {again[1]}), and the kernel {kernel!r} has no White part: two rows "
                "at one time would have to lie in one place, and their covariance has no inverse. Add noise, kernel + "
                'White(0.01) (chapter 5, "Motion").'
            )
        return cls(kernel.copy(), times)

    @cached_property
    def _factor(self):
        return cholesky_with_jitter(self.kernel(self.times))

    @property
    def jitter(self) -> float:
        """On the diagonal of the covariance of the times."""
        return self._factor[1]

    def __call__(self, X) -> tuple[float, np.ndarray]:
        """As `dynamic_log_prior`, from a factor that is kept. Costs O(N^2 q)."""
        (N, q), L = X.shape, self._factor[0]
        gradient = -solve_cholesky(L, X)  # (5.36)
        value = 0.5 * (np.sum(X * gradient) - N * q * np.log(2 * np.pi) - q * log_determinant(L))  # (5.35)
        return float(value), gradient

    def at(self, positions) -> "DynamicPrior":
        """The same prior, with the positions that were found at its times."""
        other = replace(self, positions=positions)
        other.__dict__["_factor"] = self._factor
        return other

    def positions_at(self, times) -> np.ndarray:
        """Expected positions at other times (M, q), given those of the fit: equation (5.7), with times for places."""
        times = as_times("times", times)
        if times.shape[1] != self.times.shape[1]:
            raise ValueError(f"times has {times.shape[1]} columns, and those of the fit had {self.times.shape[1]}.")
        if self.positions is None:
            raise ValueError("This prior holds no positions: ask the dynamics_ of a fitted model, or call at(X) first.")
        return self.kernel(times, self.times) @ solve_cholesky(self._factor[0], self.positions)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_factor"}


def log_prior(prior, X) -> float:
    """Log density of positions under a prior: "gaussian", None (0), or a `DynamicPrior`.

    Examples
    --------
    >>> log_prior(None, np.zeros((2, 1)))
    0.0
    """
    if prior is None:
        return 0.0
    return unit_gaussian_log_density(X) if isinstance(prior, str) else prior(X)[0]


def as_times(name, times) -> np.ndarray:
    """Times as a finite array (N, p): one column, or several for positions that depend on more than time.

    Examples
    --------
    >>> as_times("times", [0, 1]).shape
    (2, 1)
    """
    given, times = times, checks.floats(name, times)
    times = times[:, None] if times.ndim == 1 else times
    if times.ndim != 2 or not times.size or not np.isfinite(times).all():
        raise ValueError(
            f"{name} must hold a finite number for each row of the data, in the order of the rows (or a row of numbers "
            f"for each), got {checks.shown(given)} of shape {np.shape(given)}."
        )
    return checks.within_range(times, name).copy()


def check_prior(name, value):
    """What `GPLVM(latent_prior=...)` may be: "gaussian", None, or a kernel over times.

    Examples
    --------
    >>> check_prior("latent_prior", "gaussian")
    'gaussian'
    """
    if value is None or (isinstance(value, str) and value == "gaussian"):
        return value
    if isinstance(value, Kernel):
        return value
    raise ValueError(
        f"{name} must be one of 'gaussian', None, or a kernel over the times of the rows, such as RBF(1.0, 0.01) + "
        f"White(0.01), got {checks.shown(value)}."
    )


def _repeated(times):
    """The numbers of two rows with the same time, or nothing."""
    order = np.lexsort(times.T)
    same = np.flatnonzero(np.all(times[order[1:]] == times[order[:-1]], axis=1))
    return (int(order[same[0]]), int(order[same[0] + 1])) if len(same) else ()
