"""What a map from latent space to data is: the noun of the course, said once.

Every model but the purely transductive ones fits a map, and shows it as ``map_``. Five kinds of map are written in the
rooms of their topics, beside the functions of the derivation: `ppca.LinearMap`, `gplvm.ProcessMap`, `ivm.ActiveMap`,
`variational.InducingMap` and `gtm.SheetMap`. Each answers the questions of `Map`; what can be asked of a model is built
on these answers once, in `base.MapModel`.
"""

from typing import NamedTuple

import numpy as np

from .optimise import minimise_rows

COARSE, FINE = 1e-3, 1e-9  # gradients at which a start, and the best of all starts, count as arrived
FAR = 1e3  # times the farthest start: where a search turns back
BLOCK = 500_000  # numbers in the largest temporary array of a search


class Map:
    r"""A map x -> f(x) -> y, in the units of the data; with Gaussian noise y = f(x) + noise.

    A kind of map has named fields and writes

    ======================  ========================================================================================
    ``moments(X)``          mean and variance of f, both (M, D), without noise; the variance may be a broadcast view
    ``jacobian(X)``         derivatives of the mean, (M, D, q)
    ``log_density(Y, X)``   ln p(y_m | x_m) of each row (M,) and its gradients in X (M, q); NaN in Y: not observed
    ``noise_variance``      of Gaussian noise, a number or (D,); a map with other noise says why it has none
    ======================  ========================================================================================

    What is told of the data is `expectation`, E[y], and `deviation`. Without noise that is the deviation of E[y | f],
    which is uncertain because f is; with noise it is that of a new observation y. By the law of total variance the
    second is never below the first.

    .. math:: \mathrm{var}\, y = \mathrm{var}_f\, E[y \mid f] + E_f\, \mathrm{var}[y \mid f]

    With Gaussian noise E[y | f] is f itself, and the noise adds its variance. What stands below is right for that and
    for a certain map; a kind overrides what differs.
    """

    latent_prior: str | None = None  # "gaussian": x ~ N(0, I) counts when a row is placed
    positions_are_parameters = False  # optimised, not integrated out: then they say themselves where new points lie
    certain_because = ""  # why the variance of f is zero everywhere, where it is
    row_size = 1  # numbers that one row needs in `log_density`: a search takes rows in blocks

    def metric(self, X) -> np.ndarray:
        r"""Expected metric <J'J> of the map, (M, q, q); here J is certain."""
        J = self.jacobian(X)
        return np.einsum("mdi,mdj->mij", J, J)

    def magnification(self, X, expected=True, dims=None) -> np.ndarray:
        """Area (length, volume) in data space that a unit of latent space becomes at latent points, (M,).

        The derivatives of an uncertain map have a variance, which counts unless `expected` is False, equations (10.34)
        and (10.36a); `dims` names the latent dimensions that span the unit, all without it.
        """
        chosen = list(range(X.shape[1]) if dims is None else dims)
        if not expected or self.certain_because:
            return area_elements(self.jacobian(X)[:, :, chosen])
        metric = self.metric(X)[:, chosen][:, :, chosen]
        return np.sqrt(np.maximum(np.linalg.det(metric), 0.0))  # (10.36a)

    def expectation(self, mean, variance) -> np.ndarray:
        """The expected observation where f has this mean and variance."""
        return mean

    def deviation(self, mean, variance, noise=True) -> np.ndarray:
        """Standard deviation of y where f has this mean and variance; without noise that of E[y | f]."""
        return np.sqrt(variance + self.noise_variance if noise else variance)

    def log_likelihoods(self, Y, X) -> np.ndarray:
        """The values of `log_density` alone, (M,): a kind that has a shorter way than with the gradients takes it."""
        return self.log_density(Y, X)[0]

    def log_likelihood_table(self, Y, X) -> np.ndarray:
        """ln p(y_m | x_p) of every row at every point, (M, P); NaN in Y: not observed."""
        points = zip(*self.moments(X), strict=True)
        columns = [
            gaussian_rows(Y, mean, np.broadcast_to(variance + self.noise_variance, Y.shape)).values
            for mean, variance in points
        ]
        return np.column_stack(columns)

    def draw(self, mean, variance, rng) -> np.ndarray:
        """Observations where f has these means and variances."""
        return mean + np.sqrt(variance + self.noise_variance) * rng.standard_normal(mean.shape)

    def draw_at(self, X, rng) -> np.ndarray:
        """Observations at latent points, (M, D)."""
        mean, variance = self.moments(X)
        return self.draw(mean, variance, rng)


class KernelPrediction(NamedTuple):
    """What a `KernelMap` knows of f at M points, its own `mean` not yet added.

    k (M, n) : kernel values to the centres; halves (G, M, r) : R k for each group of outputs; mean (M, D);
    variance (M, G).
    """

    k: np.ndarray
    halves: np.ndarray
    mean: np.ndarray
    variance: np.ndarray


class KernelMap(Map):
    """A map whose mean is a weighted sum of kernels, k(x, Z) A: what process, active and inducing maps share.

    Fields of a kind: `kernel`, `centres` (n, q), `weights` (n, D), `mean` (D,). Of the variance k(x, x) the data
    explain k'E k, with a matrix E = R'Q for each of G groups of outputs (mostly Q is R). A kind writes

    ==================  ============================================================================================
    ``halves(C)``       R c and Q c for rows C (M, n), both (G, M, r)
    ``wholes(halves)``  E c from the first of them, (G, M, n), perhaps in their memory: they are used up
    ==================  ============================================================================================

    Here, and nowhere else, mean and variance follow from them.
    """

    @property
    def row_size(self) -> int:
        """Numbers in one row of kernel values."""
        return len(self.centres)

    def prior_variance(self, X) -> np.ndarray:
        """k(x, x), the variance of f before any data, (M,)."""
        return self.kernel.diag(X, noise=False)

    def predict(self, X) -> KernelPrediction:
        """Mean and variance of f as `KernelPrediction`, equations (5.7), (5.8), (7.15), (7.16), (10.32) and (13.2)."""
        k = self.kernel(X, self.centres)  # (M, n)
        R_k, Q_k = self.halves(k)  # (G, M, r)
        explained = np.sum(R_k * Q_k, axis=2).T  # k'E k  (M, G)
        variance = np.maximum(self.prior_variance(X)[:, None] - explained, 0.0)  # (5.8), (13.2)
        return KernelPrediction(k, R_k, k @ self.weights, variance)  # (5.7), (13.2)

    def moments(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Mean and noise-free variance of the data, both (M, D)."""
        found = self.predict(X)
        return found.mean + self.mean, np.broadcast_to(self.by_output(found.variance), found.mean.shape)

    def by_output(self, values) -> np.ndarray:
        """Numbers for each group (M, G), as those of each output: (M, D), or (M, 1) where all are alike."""
        return values

    def by_group(self, values, n_groups) -> np.ndarray:
        """Numbers for each output (M, D), summed over the outputs of each of G groups, (M, G); here G is 1 or D."""
        return np.sum(values, axis=1, keepdims=True) if n_groups == 1 else values

    def explained(self, C, B) -> np.ndarray:
        """c'E b for rows C and B (M, n), (M, D) or (M, 1)."""
        return self.by_output(np.sum(self.halves(C)[0] * self.halves(B)[1], axis=2).T)

    def log_density(self, Y, X) -> tuple[np.ndarray, np.ndarray]:
        """Log density of rows under Gaussian noise (M,) and gradients in X (M, q); NaN in Y is a gap."""
        found, kernel = self.predict(X), self.kernel
        variance = self.by_output(found.variance) + self.noise_variance
        terms = gaussian_rows(Y, found.mean + self.mean, np.broadcast_to(variance, found.mean.shape))
        in_variance = self.by_group(terms.in_variance, len(found.halves))  # (M, G)
        in_k = terms.in_mean @ self.weights.T  # (M, n)
        for share, E_k in zip(in_variance.T, self.wholes(found.halves), strict=True):
            in_k -= 2.0 * share[:, None] * E_k
        along = kernel.diag_gradients(terms.in_variance.sum(axis=1), X, noise=False)[0]
        return terms.values, kernel.gradients(in_k, X, self.centres)[0] + along

    def log_likelihoods(self, Y, X) -> np.ndarray:
        """The values of `log_density` alone, (M,): no gradients, and half of the solves."""
        mean, variance = self.moments(X)
        return gaussian_rows(Y, mean, variance + self.noise_variance).values

    def jacobian(self, X) -> np.ndarray:
        r"""Derivatives of the mean, (M, D, q), equation (10.36)."""
        return np.einsum("mnq,nd->mdq", self.kernel.input_derivatives(X, self.centres), self.weights)  # (10.36)

    def relative_deviation(self, X) -> np.ndarray:
        """Deviation of f as a share of the prior's, (M, D): 0 where the map is certain, 1 where it knows nothing."""
        prior = np.maximum(self.prior_variance(X), 1e-300)  # a plane has none at the origin
        return np.sqrt(self.moments(X)[1] / prior[:, None])

    def metric(self, X) -> np.ndarray:
        r"""Expected metric, (M, q, q): that of the mean, and the covariance of the derivative of f for every output.

        Equation (10.36a).

        .. math:: \langle J^\top J \rangle = \bar J^\top \bar J
                  + \sum_d \big( \partial_x \partial_z k - \partial_x k^\top E_d\, \partial_z k \big)
        """
        C, D = self.kernel.input_derivatives(X, self.centres), self.weights.shape[1]  # (M, n, q)
        J = np.einsum("mnq,nd->mdq", C, self.weights)
        metric = np.einsum("mdi,mdj->mij", J, J) + D * self.kernel.mixed_derivative(X)
        for i in range(X.shape[1]):
            for j in range(X.shape[1]):
                told = self.explained(C[:, :, i], C[:, :, j])  # (M, D) or (M, 1)
                metric[:, i, j] -= np.sum(np.broadcast_to(told, (len(X), D)), axis=1)
        return metric


def area_elements(jacobians) -> np.ndarray:
    r"""Area (length, volume) in data space that a unit of latent space becomes.

    .. math:: \sqrt{\det(J^\top J)}

    Notes
    -----
    Costs O(n D q^2). It is the product of the singular values of J. Chapter 10, equation (10.34).

    Examples
    --------
    >>> area_elements(np.array([[[2.0, 0.0], [0.0, 3.0], [0.0, 0.0]]]))
    array([6.])
    """
    return np.prod(np.linalg.svd(jacobians, compute_uv=False), axis=1)  # (10.34)


def distinct_columns(values) -> np.ndarray:
    """One column of a view that repeats the same one for all outputs; any other array as it is.

    Examples
    --------
    >>> distinct_columns(np.broadcast_to(np.ones((2, 1)), (2, 50))).shape, distinct_columns(np.ones((2, 50))).shape
    ((2, 1), (2, 50))
    """
    return values if values.strides[1] else values[:, :1]


# ---------------------------------------------------------------------------------------------- Gaussian rows
class RowTerms(NamedTuple):
    """Log densities of rows (M,), and their gradients in the mean and in the variance of each entry, both (M, D)."""

    values: np.ndarray
    in_mean: np.ndarray
    in_variance: np.ndarray


def gaussian_rows(Y, mean, variance) -> RowTerms:
    r"""Log density of each row under independent Gaussians, over the entries that were observed, as `RowTerms`.

    .. math:: \sum_{d \in O} -\tfrac12 \ln 2\pi s_d - \frac{(y_d - \mu_d)^2}{2 s_d}

    Parameters
    ----------
    Y : ndarray (M, D)
        NaN where not observed.
    mean, variance : ndarray (M, D)
        The variance may be a broadcast view.

    Examples
    --------
    >>> terms = gaussian_rows(np.array([[1.0, np.nan]]), np.zeros((1, 2)), np.ones((1, 2)))
    >>> terms.values.round(4), terms.in_mean, terms.in_variance
    (array([-1.4189]), array([[1., 0.]]), array([[0., 0.]]))
    """
    seen = ~np.isnan(Y)
    R = np.where(seen, Y - mean, 0.0)
    in_mean = R / variance
    values = -0.5 * np.sum(np.where(seen, np.log(2 * np.pi * variance), 0.0) + R * in_mean, axis=1)
    return RowTerms(values, in_mean, 0.5 * (in_mean**2 - seen / variance))


# ---------------------------------------------------------------------------------------------- placing rows
class Places(NamedTuple):
    """Where rows may lie: for each the ends of all starts, the best first, and what was maximised there.

    That is the log density of the row at its place, plus -|x|^2 / 2 where the map has a Gaussian prior.
    """

    X: np.ndarray  # (M, n_starts, q)
    values: np.ndarray  # (M, n_starts)


def maximise_rows(map_, Y, X, max_iter=500, tolerance=FINE, log_density=None) -> tuple[np.ndarray, np.ndarray]:
    """Move every row of X uphill to a maximum of its row of Y's log density (plus prior): new X, and the values there.

    Rows are independent of one another: all move at once, in blocks that fit the processor's cache. Where rows differ
    in more than their data, ``log_density(rows, X)`` stands for the map's own: values and gradients of rows by number.
    A trial a thousand times as far out as all starts is refused: there the map is flat, and one far row would cost the
    distances of all others their digits.
    """
    size, X = max(1, BLOCK // map_.row_size), np.array(X, dtype=float)
    start, reach = X.copy(), FAR * max(1.0, np.max(np.abs(X), initial=0.0))

    def value_and_gradient(positions, rows):
        values, gradients = np.empty(len(rows)), np.empty_like(positions)
        far = np.max(np.abs(positions), axis=1) > reach
        positions = np.where(far[:, None], start[rows], positions)
        for part in (slice(i, i + size) for i in range(0, len(rows), size)):
            some, there = rows[part], positions[part]
            values[part], gradients[part] = (
                log_density(some, there) if log_density is not None else map_.log_density(Y[some], there)
            )
        if map_.latent_prior == "gaussian":
            values, gradients = values - 0.5 * np.sum(positions**2, axis=1), gradients - positions
        values[far] = -np.inf
        return -values, -gradients

    X, values = minimise_rows(value_and_gradient, X, max_iter, tolerance)
    return X, -values


def search_places(map_, Y, starts, max_iter=500, tolerance=FINE) -> Places:
    """All ends of several starts (M, n_starts, q) for each row of Y (M, D), as `Places`: one vectorised problem.

    Several starts may end in the same place. `tolerance` is that of the gradient.
    """
    M, n_starts, q = starts.shape
    X, values = maximise_rows(
        map_, np.repeat(Y, n_starts, axis=0), starts.reshape(M * n_starts, q), max_iter, tolerance
    )
    order = np.argsort(-values.reshape(M, n_starts), axis=1, kind="stable")
    X = np.take_along_axis(X.reshape(M, n_starts, q), order[:, :, None], axis=1)
    return Places(X, np.take_along_axis(values.reshape(M, n_starts), order, axis=1))


def best_place(map_, Y, starts, max_iter=500) -> tuple[np.ndarray, np.ndarray]:
    """The best place (M, q) of each row and the value there: all starts coarsely, the best to the last digit."""
    rough = search_places(map_, Y, starts, max_iter, COARSE)
    return maximise_rows(map_, Y, rough.X[:, 0], max_iter, FINE)


def grid_points(limits, n_grid=60) -> np.ndarray:
    """Points (n_grid^2, 2) of a square grid over (left, right, bottom, top), the rows of a picture from below.

    Reshape what is computed there to (n_grid, n_grid) and show it with ``origin="lower"``.

    Examples
    --------
    >>> grid_points((0, 1, 0, 2), 2)
    array([[0., 0.],
           [1., 0.],
           [0., 2.],
           [1., 2.]])
    """
    left, right, bottom, top = limits
    across, up = np.meshgrid(np.linspace(left, right, n_grid), np.linspace(bottom, top, n_grid))
    return np.column_stack([across.ravel(), up.ravel()])


def plane_of(X) -> tuple[float, ...]:
    """(left, right, bottom, top): a square around points (N, 2), with some room; a long cloud fills it in both ways.

    Examples
    --------
    >>> plane_of(np.array([[0.0, 0.0], [1.0, 1.0]]))
    (-0.06, 1.06, -0.06, 1.06)
    """
    low, high = X.min(axis=0), X.max(axis=0)
    half = 0.56 * np.maximum(high - low, 1e-9 + 1e-6 * np.abs(X).max())
    half = np.maximum(half, half.max()) if half.max() < 4 * half.min() else half
    middle = (low + high) / 2
    return tuple(float(f"{v:.4g}") for m, h in zip(middle, half, strict=True) for v in (m - h, m + h))
