"""ProbabilisticKernelPCA as a scikit-learn estimator: a thin layer over the functions beside it."""

from collections.abc import Iterator
from typing import Self

import numpy as np
from scipy import linalg

from .. import checks
from ..base import IterativeFit, KernelModel, LatentModel, check_is_fitted
from ..kernels import RBF, Kernel, relative
from ..linalg import column_signs, squared_distances
from ..unify import centred, new_distances
from .em import STARTS, WishartState, em_iterates, start_positions
from .model import log_likelihood, maximum_likelihood, place_new_points, sample_kernel

INDEFINITE = 1e-8  # of the trace: what distances that were measured, or written with eight digits, may miss
EM_NOISE = 1e-9  # of the trace: below it the likelihood of an EM state is lost in the rounding of the trace
STEADY = 1e-3  # share of its length by which an axis may still change when EM has settled
METRICS = ("kernel", "precomputed", "distance", "squared_distance")
FEATURES = "its map leads to features that only a kernel knows, and not to rows of data"
MAY_BE_PLAIN = (
    "Are these distances squared? Among {N} points no way round is shorter than the direct one. Plain distances always "
    "keep this triangle inequality; squared ones do only if no three points make an obtuse angle. They are taken as "
    'squared, as metric says; plain ones go in with metric="distance" (chapter 4, "From distances").'
)
MATRICES = "its density is one of whole kernel matrices, and gives a single new row none"


class ProbabilisticKernelPCA(IterativeFit, KernelModel, LatentModel):
    """Probabilistic kernel PCA: each feature of a kernel is a Gaussian over the points, and the points are found.

    Use it when you have a kernel or distances, and want kernel PCA with a noise level and a likelihood.

    Columns: numbers of comparable scale, or a kernel matrix, or distances.
    NaN: no.
    Answers: transform.
    Cost: O(N^3); at N = 1000, by default, 0.21 seconds.
    Chapter: 4 (book/04_wishart.ipynb).

    Given distances instead of a kernel it is probabilistic principal coordinate analysis.

    Parameters
    ----------
    n_components : int, default 2
    method : "ml" or "em"
        The closed form, or the EM algorithm, which climbs to the same place.
    kernel : kernel of chapter 2 or None
        None: RBF with inverse width 1, in units of 1 / (mean squared distance between two rows);
        ``set_params(kernel__inverse_width=2)`` sets it in these units. Used with metric="kernel" only.
    metric : "kernel", "precomputed", "distance" or "squared_distance"
        What `fit` receives: rows of data (N, D), a kernel matrix (N, N), distances (N, N), which are squared here, or
        distances that are squared already. Plain distances given as squared ones would be fitted to another map, for
        their roots are Euclidean too: a matrix that keeps the triangle inequality gets a warning that asks.
    noise_variance : float or None
        None: its maximum likelihood value. Given: fixed (method "ml" only).
    init : "random", "pca", "raw pca" or ndarray (N, q)
        Where EM starts: Gaussian noise, linear PCA scores over the root of N, or the scores as they are.
    init_noise_variance : float or None
        None: the trace of S. More than any axis can hold, it lets EM forget the size of its start.
    max_iter, tol : int, float
        EM stops when a step gains less than `tol` nats per feature, and changes no axis by more than a
        thousandth of its length. Chapter 4, "How long is long enough?", says how many steps to expect.
    random_state : None, int, RandomState or Generator
        For the random start and for `sample_kernels`.
    verbose : bool
        Show a bar with the steps made, the objective and the time left at most (by tqdm, on the error output).

    Attributes
    ----------
    embedding_ : ndarray (N, q)
        On principal axes, longest first: the likelihood leaves the rotation open.
    noise_variance_ : float
    log_likelihood_ : float
        For each feature dimension, without the constant in the unknown number of features.
    history_ : ndarray
        Log likelihood of each EM state, start included; one value for the closed form.
    n_iter_ : int
    kernel_ : the kernel used, with metric="kernel"

    Examples
    --------
    >>> from gplvm_edu.datasets import load_iris
    >>> from gplvm_edu.kernels import RBF
    >>> model = ProbabilisticKernelPCA(kernel=RBF(1.0, inverse_width=1.0)).fit(load_iris().data)
    >>> model.embedding_.shape, round(model.noise_variance_, 5)
    ((150, 2), 0.00202)
    """

    rules = {
        "n_components": checks.rule(checks.whole_number),
        "method": checks.rule(checks.choice, ("ml", "em")),
        "kernel": checks.rule(checks.kernel, "RBF(1.0, 0.5)"),
        "metric": checks.rule(checks.choice, METRICS),
        "noise_variance": checks.rule(checks.positive, optional=True),
        "init": checks.rule(checks.start, STARTS),
        "init_noise_variance": checks.rule(checks.positive, optional=True),
        "max_iter": checks.rule(checks.whole_number, at_least=0),
        "tol": checks.rule(checks.number, at_least=0),
        "verbose": checks.rule(checks.flag),
    }
    why_not = {
        "inverse_transform": FEATURES,
        "jacobian": FEATURES,
        "log_precision": FEATURES,
        "reconstruct": FEATURES,
        "score_samples": MATRICES,
        "score": MATRICES,
        "sample": "it draws kernel matrices and no rows of data: `sample_kernels`",
        "place": "stationarity, equation (4.23), gives a new point one place, and `transform` computes it",
        "impute": "the kernel between a row with gaps and the fitted points is not known",
    }

    def __init__(
        self,
        n_components: int = 2,
        method: str = "ml",
        kernel: Kernel | None = None,
        metric: str = "kernel",
        noise_variance: float | None = None,
        init: str | np.ndarray = "random",
        init_noise_variance: float | None = None,
        max_iter: int = 5000,
        tol: float = 1e-10,
        random_state: checks.Seed = None,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.method = method
        self.kernel = kernel
        self.metric = metric
        self.noise_variance = noise_variance
        self.init = init
        self.init_noise_variance = init_noise_variance
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    @property
    def any_units(self) -> str:
        """A kernel that was chosen may know the units of the columns."""
        return "" if self.kernel is None else "the kernel is the reader's own"

    def iterates(self, Y) -> Iterator[WishartState]:
        """Generator of states (positions, noise, log likelihood): those of EM, or one of the closed form."""
        Y = self.check_data(Y)
        self._check_combinations()
        S = self._covariance(Y)
        X, s2 = maximum_likelihood(S, self.n_components, self.noise_variance)
        if s2 == 0.0:
            raise _no_maximum(self.n_components, len(S))
        if self.method == "em" and s2 < EM_NOISE * np.trace(S):
            raise ValueError(
                f"method='em' can't reach the maximum: the noise variance there is {s2:.3g}, of a total of "
                f"{np.trace(S):.3g}, and rounding errors of the total are larger than what EM gains. Use method='ml', "
                "or look for a point that lies far from all others."
            )
        if self.method == "ml":
            yield WishartState(X, s2, log_likelihood(S, X, s2), "closed form")
        else:
            yield from until_steady(em_iterates(S, *self._start(S, Y), self.max_iter), self.tol)

    def default_kernel(self) -> Kernel:
        """What `kernel=None` stands for, its inverse width in units of 1 / (mean squared distance between two rows)."""
        return relative(RBF())

    def set_state(self, state) -> Self:
        """Make the estimator that of one state, its positions on principal axes."""
        X = state.X
        if self.method == "em":
            U, s, _ = linalg.svd(X, full_matrices=False)
            X = U * s * column_signs(U)
        self.embedding_, self.noise_variance_, self.log_likelihood_ = X, state.noise_variance, state.value
        return self

    def transform(self, Y) -> np.ndarray:
        """Places of new points, (M, q), equation (4.23).

        Y holds rows of data, or kernel values or distances (M, N) to the points fitted, as `metric` says.
        """
        Y = self.check_data(Y, reset=False)
        A_new = self.kernel_(Y, self._fit_rows) if self.metric == "kernel" else self._as_kernel(Y)
        return place_new_points(A_new, self._fit_kernel, self.embedding_, self.noise_variance_)

    def sample_kernels(self, n_features, n_samples=1, random_state=None) -> np.ndarray:
        """Draw kernel matrices (n_samples, N, N) of the fitted points from the model, offsets left at zero."""
        check_is_fitted(self)
        N, seed = len(self.embedding_), self.random_state if random_state is None else random_state
        r, n = checks.whole_number("n_features", n_features), checks.whole_number("n_samples", n_samples)
        checks.room(f"n_samples={n} matrices of {N} points with n_features={r}", n, N, max(N, r))
        return sample_kernel(self.embedding_, self.noise_variance_, r, n, seed)

    def _start(self, S, Y) -> tuple[np.ndarray, float]:
        """The positions and the noise that EM starts from."""
        N, q = len(S), self.n_components
        s2 = np.trace(S) if self.init_noise_variance is None else float(self.init_noise_variance)
        if isinstance(self.init, str):
            return start_positions(self.init, S, q, Y, self.random_state), s2
        X = checks.positions(self.init, (N, q))
        if np.linalg.matrix_rank(S @ X) < q:
            raise ValueError(
                f"init must hold positions that span {q} dimensions once centred: EM can never leave the "
                'space it starts in (chapter 4, "How long is long enough?").'
            )
        return X, s2

    def _as_kernel(self, given):
        """A kernel matrix of the proximities that were given, up to what centring removes, equation (4.24)."""
        if self.metric == "precomputed":
            return given
        d = new_distances(given, self.metric.replace("_", " "))
        return -0.5 * (d**2 if self.metric == "distance" else d)

    def _covariance(self, Y):
        """S for the rows of Y, or for the kernel matrix or the distances given as Y; refuses bad ones."""
        N, D = Y.shape
        because = "centring takes one direction of the points, and the noise needs another"
        checks.components(self.n_components, N, D, max(N - 2, 0), because, spare="a kernel's features are many")
        if self.metric == "kernel":
            self.kernel_ = self.start_kernel(inverse_width=_inverse_width(Y))
            A, rows = self.kernel_(Y), Y
        else:
            if self.metric == "precomputed":
                Y = checks.symmetric(Y, "The kernel matrix")
            else:
                kind = self.metric.replace("_", " ")
                Y = np.where((Y < 0) & (Y > -1e-10 * np.abs(Y).max()), 0.0, Y)  # rounding of a - 2b + c
                Y = checks.distances(Y, f"The matrix of {kind}s", kind, 'a kernel matrix, metric="precomputed"')
            A, rows = self._as_kernel(Y), None
        S = centred(A, "The kernel matrix") / len(A)  # (4.17)
        _check_definite(S, self.metric)
        if self.metric == "squared_distance" and checks.is_metric(Y):
            checks.warn(MAY_BE_PLAIN.format(N=len(Y)))
        self._fit_rows, self._fit_kernel = rows, A
        return S

    def _check_combinations(self):
        """Refuse parameters that are right by themselves and do not go together."""
        from_data = isinstance(self.init, str) and self.init != "random"
        if from_data and self.metric != "kernel" and self.method == "em":
            raise ValueError(
                f"init={self.init!r} needs rows of data to do linear PCA on, and metric={self.metric!r} gives none. "
                'Use init="random", or pass an array of positions.'
            )
        if self.noise_variance is not None and self.method == "em":
            raise ValueError(
                f"noise_variance={self.noise_variance!r} can't be fixed with method='em', which estimates it: use "
                "method='ml', or init_noise_variance for the noise to start with."
            )


def until_steady(states, gain) -> Iterator[WishartState]:
    """Pass EM's states on until a step gains less than `gain` and changes no axis by more than a thousandth.

    The likelihood alone would be taken in by a saddle: with all points in one place it has no slope, and a small start
    leaves that place by a constant factor a step, without a gain that can be seen.
    """
    last, last_lengths = -np.inf, np.inf
    for state in states:
        lengths = linalg.svdvals(state.X)
        steady = np.all(np.abs(lengths - last_lengths) <= STEADY * lengths)
        settled = bool(steady and abs(state.value - last) < gain)
        yield state._replace(stopped="gain") if settled else state
        if settled:
            return
        last, last_lengths = state.value, lengths


def _inverse_width(Y):
    """1 / (mean squared distance between two different rows), a width that does not care for units."""
    mean = np.sum(squared_distances(Y)) / (len(Y) * (len(Y) - 1))
    return 1.0 / mean if np.ptp(Y, axis=0).any() else 1.0


def _no_maximum(q, N):
    return ValueError(
        f"ProbabilisticKernelPCA has no maximum here: the centred {N} x {N} matrix has rank {q} or less, so no "
        f"variance is left for the noise and the likelihood grows without bound. Use a smaller n_components than {q}, "
        'or state noise_variance=... with method="ml" (chapter 4, "Break it").'
    )


def _check_definite(S, metric):
    """Refuse a matrix of no points, or of points that are all the same; the eigenvalue is computed for the message."""
    if not S.any():
        raise ValueError(
            f"All {len(S)} points are one and the same: centred, their matrix is zero, and there is "
            "nothing to embed. Look at the data, or at the kernel's width."
        )
    if metric == "kernel" or checks.is_semidefinite(S, INDEFINITE):  # our kernels are so by construction
        return
    lowest = linalg.eigvalsh(S, subset_by_index=[0, 0])[0]
    share = f"its lowest eigenvalue, centred and over N, is {lowest:.4g}"
    nearest = 'nearest_semidefinite(double_centre({})), to be fitted with metric="precomputed"'
    if metric == "squared_distance":
        raise ValueError(
            f"No points have these squared distances: they are not Euclidean ({share}). Were they squared "
            'once too often, or not at all (metric="distance")? If neither, the nearest kernel that has points is A = '
            f'{nearest.format("-D2 / 2")} (chapter 4, "From distances").'
        )
    if metric == "distance":
        raise ValueError(
            f"No points have these distances: they are not Euclidean ({share}). Were squared distances "
            'passed? They go in with metric="squared_distance". If not, the nearest kernel that has '
            f'points is A = {nearest.format("-D**2 / 2")} (chapter 4, "From distances").'
        )
    raise ValueError(
        f"The matrix is not positive semi-definite ({share}), so it is nobody's kernel matrix. The "
        'nearest one that is: nearest_semidefinite(A) from gplvm_edu.linalg (chapter 4, "From '
        'distances").'
    )
