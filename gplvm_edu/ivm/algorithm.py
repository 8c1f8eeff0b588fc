"""Algorithm 1: select, optimise the active set, select again, place every other row; and begin anew."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..kernels import Kernel, split_white
from ..linalg import own_units, unit_gaussian_log_density
from ..noise import Gaussian, Noise
from ..threads import suited
from .active import Sites, observed_sites, optimise_active_set, selection_sites
from .active_map import ActiveMap, selection_map
from .inactive import likeliest_starts, place_inactive
from .noise_variance import learn_noise_variances
from .rules import choose_active_set
from .selection import Selection
from .settle import learn_response, settle_sites


class SparseModel(NamedTuple):
    """What is fitted: a kernel whose parameters are learnt, and what it says of f and of y given f. See `sparse_model`.

    The noise is a model of its own beside the kernel, or the kernel's `White` part; here, once, one becomes the other.
    """

    kernel: Kernel  # learnt; with the White part where that is the noise
    f_kernel: Kernel  # covariance of f
    noise: Noise  # of y given f
    noise_in_kernel: bool
    jitter: float  # part of the noise variance where the noise is the kernel's

    def with_kernel(self, kernel) -> "SparseModel":
        """The model once its kernel has learnt."""
        return sparse_model(kernel, None if self.noise_in_kernel else self.noise, self.jitter)

    def learn_noise(self, sites, X, latent_prior=None) -> "SparseModel":
        """The model once free variances of Gaussian noise have learnt from the active rows, (8.29b)."""
        if self.noise_in_kernel or not self.noise.learns_variance:
            return self
        by_column = Sites(sites.means, np.broadcast_to(sites.variances.T, sites.means.T.shape).T)
        precision = 1.0 if latent_prior == "gaussian" else 0.0
        return self._replace(noise=learn_noise_variances(self.noise, by_column, X, self.f_kernel, precision))

    def learn_response(self, Y, sites, X) -> "SparseModel":
        """The model once free biases and cut points have learnt from the active rows, (8.27) and (8.42)."""
        noise = self.noise if self.noise_in_kernel else learn_response(self.noise, Y, sites, X, self.f_kernel)
        return self._replace(noise=noise)

    def active_sites(self, Y, selection) -> Sites:
        """Gaussian observations of the active rows, with the noise that `kernel` itself does not hold, (7.12)."""
        return observed_sites(Y[selection.active], self.jitter) if self.noise_in_kernel else selection_sites(selection)


def sparse_model(kernel, noise=None, jitter=0.0) -> SparseModel:
    """Covariance of f and noise of y: the noise given, or the kernel's `White` part as Gaussian noise, (7.3).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF, White
    >>> model = sparse_model(RBF() + White(0.1))
    >>> model.f_kernel, model.noise
    (RBF(variance=1, inverse_width=1), Gaussian(variance=0.1, mean=None))
    """
    if noise is not None:
        return SparseModel(kernel, kernel, noise, False, jitter)
    f_kernel, white = split_white(kernel)
    if f_kernel is None or not white:
        raise ValueError(
            f"The kernel {kernel!r} has {'nothing but' if white else 'no'} white noise: without a noise model of its "
            "own (noise=None) the sparse GP-LVM takes the noise of the data from a White term beside a covariance, as "
            'in RBF() + White(0.1). Add one, or pass noise=Gaussian(0.1) (chapter 7, "Which point tells most").'
        )
    return SparseModel(kernel, f_kernel, Gaussian(white + jitter), True, jitter)  # (7.3)


class SparseOptions(NamedTuple):
    """How Algorithm 1 is run; the names are those of `SparseGPLVM`."""

    n_active: int = 100  # d
    n_steps: int = 5  # of the optimiser on the active set
    n_inactive_steps: int = 50  # of each inactive row
    optimise_active: bool = True  # move the active rows too, or the kernel's parameters only
    relocate: bool = True  # a search may begin at an active row's position; False: as printed
    latent_prior: str | None = None  # or "gaussian"
    optimiser: str = "scg"  # or "l-bfgs"
    selection: str = "ivm"  # or "random", "kmeans", "pivoted_cholesky"
    ep: bool = False  # sweep over the sites of the active rows until they settle
    learn_noise: bool = True  # biases and cut points learn too; False: they stay where they started


class SparseState(NamedTuple):
    """One outer iteration: positions, model, active set and its map, the objective, evaluations so far."""

    X: np.ndarray  # (N, q)
    model: SparseModel
    selection: Selection
    map_: ActiveMap  # of the centred data
    value: float
    n_evaluations: int  # of the active set's likelihood
    stopped: str = ""


def chosen_sites(Y, X, model, options, rng=None) -> Selection:
    """The active set with its sites: those of the one pass that chose it or, with `ep`, settled ones.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF, White
    >>> model = sparse_model(RBF() + White(0.1))
    >>> chosen_sites(np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]]), model, SparseOptions(n_active=1)).active
    array([0])
    """
    selection = choose_active_set(Y, X, model.f_kernel, model.noise, options.n_active, options.selection, rng)
    return settle_sites(selection, Y, X, model.f_kernel, model.noise) if options.ep else selection


@suited(lambda Y, X, model, options, rng=None: options.n_active)
def outer_step(Y, X, model, options, rng=None) -> SparseState:
    """One pass of Algorithm 1 over all points, as a new `SparseState`.

    Parameters
    ----------
    Y : ndarray (N, D)
        Centred unless the noise model takes care of it; NaN where missing.
    X : ndarray (N, q)
    model : SparseModel
    options : SparseOptions
    rng : numpy.random.Generator, or None
        What the rules "random" and "kmeans" draw from.

    Notes
    -----
    Costs O(d^2 N) for each distinct covariance. Chapter 7, equation (7.21); Lawrence (2005), algorithm 1.

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF, White
    >>> Y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> state = outer_step(Y, 0.1 * Y, sparse_model(RBF() + White(0.1)), SparseOptions(n_active=2, n_steps=3))
    >>> state.X.shape, len(state.selection.active)
    ((3, 2), 2)
    """
    X = X.copy()
    first = chosen_sites(Y, X, model, options, rng)  # step 1
    I, sites = first.active, model.active_sites(Y, first)
    X[I], kernel, n_evaluations = optimise_active_set(
        sites,
        X[I],
        model.kernel,
        options.latent_prior,
        options.optimise_active,
        options.optimiser,
        options.n_steps,
        own_units(Y / model.noise.scale).unit if isinstance(model.noise, Gaussian) else 1.0,  # labels have no unit
    )
    model = model.with_kernel(kernel)
    if options.n_steps:
        model = model.learn_noise(sites, X[I], options.latent_prior)
        model = model.learn_response(Y[I], sites, X[I]) if options.learn_noise else model
    selection = chosen_sites(Y, X, model, options, rng)  # step 3: all have moved
    active = selection_map(selection, X, model.f_kernel, model.noise, options.latent_prior)
    rest = np.setdiff1d(np.arange(len(Y)), selection.active)
    if len(rest):
        start = likeliest_starts(active, Y[rest], X[rest], rest) if options.relocate else X[rest]
        X[rest], _ = place_inactive(active, Y[rest], start, options.n_inactive_steps, rest)
    return SparseState(X, model, selection, active, total_log_likelihood(Y, X, selection, active), n_evaluations)


def total_log_likelihood(Y, X, selection, active) -> float:
    r"""The objective for all rows: the active ones together, every other row given them.

    .. math:: \ln p(Y_I) + \sum_{j \notin I} \ln p(y_j \mid Y_I)

    Parameters
    ----------
    Y, X : ndarray (N, D), (N, q)
    selection : Selection
    active : ActiveMap
        Of that selection; if it has a latent prior, the prior of the positions is included.

    Notes
    -----
    Costs O(d^2 N). Chapter 7, equation (7.21).
    """
    rest = np.setdiff1d(np.arange(len(Y)), selection.active)
    value = selection.log_evidence
    if len(rest):
        value += active.log_density(Y[rest], X[rest], rest)[0].sum()  # (7.21)
    if active.latent_prior == "gaussian":
        value += unit_gaussian_log_density(X)
    return float(value)


@suited(lambda Y, X, model, options, max_iter=None, rng=None: options.n_active)
def sparse_iterates(Y, X, model, options, max_iter=15, rng=None) -> Iterator[SparseState]:
    """Generator of `SparseState`: the start, then one state for each outer iteration of Algorithm 1.

    Parameters
    ----------
    Y, X, model, options, rng : as for `outer_step`
        The kernel is not changed.
    max_iter : int
        T, a schedule: the last state is stopped by it.

    Notes
    -----
    The objective need not rise from one state to the next: another active set is another approximation.
    Chapter 7, equation (7.21).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF, White
    >>> Y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> model = sparse_model(RBF() + White(0.1))
    >>> states = list(sparse_iterates(Y, 0.1 * Y, model, SparseOptions(n_active=2, n_steps=3), max_iter=2))
    >>> len(states), states[-1].value > states[0].value, states[-1].stopped
    (3, True, 'schedule')
    """
    model = model.with_kernel(model.kernel.copy())
    selection = chosen_sites(Y, X, model, options, rng)
    active = selection_map(selection, X, model.f_kernel, model.noise, options.latent_prior)
    state = SparseState(X, model, selection, active, total_log_likelihood(Y, X, selection, active), 0)
    for _ in range(max_iter):
        yield state
        before = state.n_evaluations
        state = outer_step(Y, state.X, state.model, options, rng)
        state = state._replace(n_evaluations=before + state.n_evaluations)
    yield state._replace(stopped="schedule")
