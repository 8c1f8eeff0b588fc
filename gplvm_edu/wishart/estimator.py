"""ProbabilisticKernelPCA as a scikit-learn estimator: a thin layer over the functions beside it."""
import warnings

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from ..base import LatentModel, check_components, check_positive
from ..kernels import RBF, Kernel
from ..linalg import squared_distances
from .em import STARTS, em_iterates, start_positions
from .model import kernel_covariance, log_likelihood, maximum_likelihood, place_new_points, sample_kernel

INDEFINITE = 1e-8           # a negative eigenvalue beyond this share of the trace is more than rounding
METRICS = ("kernel", "precomputed", "distance")


class ProbabilisticKernelPCA(LatentModel):
    """Probabilistic kernel PCA: each feature of a kernel is a Gaussian over the points, and the points are found.

    Given squared distances instead of a kernel it is probabilistic principal coordinate analysis.

    Parameters
    ----------
    n_components : int, default 2
    method : "ml" or "em"
        The closed form, or the EM algorithm, which climbs to the same place.
    kernel : kernel of chapter 2 or None
        None: RBF with inverse width 1 / (mean squared distance between two rows). Used with metric="kernel" only.
    metric : "kernel", "precomputed" or "distance"
        What `fit` receives: rows of data (N, D), a kernel matrix (N, N), or squared distances (N, N).
    noise_variance : float or None
        None: its maximum likelihood value. Given: fixed (method "ml" only).
    init : "random", "pca", "raw pca" or ndarray (N, q)
        Where EM starts: Gaussian noise, linear PCA scores over the root of N, or the scores as they are.
    init_noise_variance : float or None
        None: the trace of S. More than any axis can hold, it lets EM forget the size of its start.
    max_iter, tol : int, float
        EM stops when a step gains less than `tol` nats a feature dimension.
    random_state : int, Generator or None
        For the random start and for `sample`.

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

    def __init__(self, n_components=2, method="ml", kernel=None, metric="kernel", noise_variance=None, init="random",
                 init_noise_variance=None, max_iter=5000, tol=1e-10, random_state=None):
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

    def fit(self, Y, y=None):
        """Find latent positions and noise for the rows of Y, or for the kernel or distance matrix given as Y."""
        self._check_parameters()
        Y = self.check_data(Y)
        S = self._covariance(Y)
        if self.method == "em":
            X, s2 = self._climb(S, Y)
        else:
            X, s2 = maximum_likelihood(S, self.n_components, self.noise_variance)
            if s2 == 0.0:
                raise _no_maximum(self.n_components, len(S))
            self.history_, self.n_iter_ = np.array([log_likelihood(S, X, s2)]), 1
        self.embedding_, self.noise_variance_ = X, s2
        self.log_likelihood_ = float(self.history_[-1])
        return self

    def transform(self, Y):
        """Places of new points, equation (4.19): rows of data, or kernel values or squared distances (M, N) to the
        points fitted."""
        Y = self.check_data(Y, reset=False)
        if self.metric == "kernel":
            K_new = self.kernel_(Y, self._fit_rows)
        else:
            K_new = Y if self.metric == "precomputed" else -0.5 * Y
        return place_new_points(K_new, self._fit_kernel, self.embedding_, self.noise_variance_)

    def sample(self, n_features, n_samples=1, random_state=None):
        """Draw kernel matrices (n_samples, N, N) of the fitted points from the model, offsets left at zero."""
        seed = self.random_state if random_state is None else random_state
        return sample_kernel(self.embedding_, self.noise_variance_, n_features, n_samples, seed)

    def iterates(self, Y):
        """Generator of EM's states (positions, noise, log likelihood) for Y, start included, until a step gains
        less than `tol`."""
        self._check_parameters()
        Y = self.check_data(Y)
        return self._states(self._covariance(Y), Y)

    def _states(self, S, Y):
        if maximum_likelihood(S, self.n_components)[1] == 0.0:
            raise _no_maximum(self.n_components, len(S))
        last = -np.inf
        for state in em_iterates(S, *self._start(S, Y), self.max_iter):
            yield state
            if state.log_likelihood - last < self.tol:
                return
            last = state.log_likelihood

    def _climb(self, S, Y):
        """Exhaust EM, keep its history, and turn the last state to principal axes."""
        history, state = [], None
        for state in self._states(S, Y):
            history.append(state.log_likelihood)
        if len(history) < 2 or history[-1] - history[-2] >= self.tol:
            gain = history[-1] - history[-2] if len(history) > 1 else np.nan
            warnings.warn(
                f"EM did not converge in max_iter={self.max_iter} steps: the last one still gained {gain:.3g} nats. "
                "Raise max_iter or tol, or start nearer: chapter 4, \"How long is long enough?\", says how many steps "
                "to expect.", ConvergenceWarning, stacklevel=3)
        self.history_, self.n_iter_ = np.array(history), len(history) - 1
        U, s, _ = linalg.svd(state.latent, full_matrices=False)
        sign = np.where(U[np.argmax(np.abs(U), axis=0), np.arange(len(s))] < 0, -1.0, 1.0)
        return U * s * sign, state.noise_variance

    def _start(self, S, Y):
        """The positions and the noise that EM starts from."""
        N, q = len(S), self.n_components
        s2 = np.trace(S) if self.init_noise_variance is None else float(self.init_noise_variance)
        if isinstance(self.init, str):
            return start_positions(self.init, S, q, Y, self.random_state), s2
        X = np.array(self.init, dtype=float)
        if X.shape != (N, q) or not np.isfinite(X).all() or np.linalg.matrix_rank(S @ X) < q:
            raise ValueError(f"init must hold finite positions of shape {(N, q)} that span {q} dimensions once "
                             f"centred, got an array of shape {X.shape}: EM can never leave the space it starts in "
                             "(chapter 4, \"How long is long enough?\").")
        return X, s2

    def _covariance(self, Y):
        """S for the rows of Y, or for the kernel matrix or the squared distances given as Y; refuses bad ones."""
        if self.metric == "kernel":
            self.kernel_ = RBF(1.0, _inverse_width(Y)) if self.kernel is None else self.kernel.copy()
            K, rows = self.kernel_(Y), Y
        else:
            _check_symmetric(Y, self.metric)
            if self.metric == "distance":
                _check_distances(Y)
            K, rows = (Y if self.metric == "precomputed" else -0.5 * Y), None
        N, q, S = len(K), self.n_components, kernel_covariance(K)
        check_components(q, N, Y.shape[1], max(N - 2, 0),
                         "centring takes one direction of the points, and the noise needs another")
        _check_definite(S, K, self.metric)
        self._fit_rows, self._fit_kernel = rows, K
        return S

    def _check_parameters(self):
        for name, allowed in (("method", ("ml", "em")), ("metric", METRICS)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {getattr(self, name)!r}.")
        if self.kernel is not None and not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel must be a kernel of chapter 2, such as gplvm_edu.kernels.RBF(1.0, 0.5), or None; "
                             f"got {self.kernel!r}.")
        if isinstance(self.init, str) and self.init not in STARTS:
            raise ValueError(f"init must be one of {', '.join(map(repr, STARTS))} or an array, got {self.init!r}.")
        if isinstance(self.init, str) and self.init != "random" and self.metric != "kernel" and self.method == "em":
            raise ValueError(f"init={self.init!r} needs rows of data to do linear PCA on, and metric={self.metric!r} "
                             "gives none. Use init=\"random\", or pass an array of positions.")
        for name in ("noise_variance", "init_noise_variance"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))
        if self.noise_variance is not None and self.method == "em":
            raise ValueError("noise_variance can't be fixed with method=\"em\", which estimates it: use method=\"ml\", "
                             "or init_noise_variance for the noise to start with.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric != "kernel"
        return tags


def _inverse_width(Y):
    """1 / (mean squared distance between two different rows), a width that does not care for units."""
    mean = np.sum(squared_distances(Y)) / (len(Y) * (len(Y) - 1))
    return 1.0 / mean if mean > 0 else 1.0


def _no_maximum(q, N):
    return ValueError(
        f"ProbabilisticKernelPCA has no maximum here: the centred {N} x {N} matrix has rank {q} or less, so no "
        f"variance is left for the noise and the likelihood grows without bound. Use a smaller n_components than {q}, "
        "or state noise_variance=... with method=\"ml\" (chapter 4, \"Break it\").")


def _check_symmetric(A, metric):
    what = "a kernel matrix" if metric == "precomputed" else "a matrix of squared distances"
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"metric={metric!r} needs {what} with as many rows as columns, got the shape {A.shape}. "
                         "For rows of data use metric=\"kernel\".")
    gap = np.abs(A - A.T)
    if gap.max() > 1e-10 * max(np.abs(A).max(), np.finfo(float).tiny):
        i, j = np.unravel_index(np.argmax(gap), A.shape)
        raise ValueError(f"The matrix is not symmetric: entry ({i}, {j}) is {A[i, j]:.6g} and entry ({j}, {i}) is "
                         f"{A[j, i]:.6g}. If the difference is only noise, pass (A + A.T) / 2.")


def _check_distances(A):
    scale = max(np.abs(A).max(), np.finfo(float).tiny)
    if np.abs(np.diag(A)).max() > 1e-10 * scale:
        i = int(np.argmax(np.abs(np.diag(A))))
        raise ValueError(f"Squared distances have zeros on the diagonal, but entry ({i}, {i}) is {A[i, i]:.6g}. A "
                         "kernel matrix goes in with metric=\"precomputed\".")
    if A.min() < -1e-10 * scale:
        i, j = np.unravel_index(np.argmin(A), A.shape)
        raise ValueError(f"A squared distance can't be negative, but entry ({i}, {j}) is {A[i, j]:.6g}.")


def _check_definite(S, K, metric):
    """A Cholesky factorisation of the matrix raised by rounding decides; the eigenvalue is computed for the message."""
    level = np.trace(S)
    if abs(level) <= 1e-14 * max(np.abs(K).max(), np.finfo(float).tiny):
        raise ValueError(f"All {len(K)} points are one and the same: centred, their matrix is zero, and there is "
                         "nothing to embed. Look at the data, or at the kernel's width.")
    if metric == "kernel":
        return                          # positive semi-definite by construction
    raised = S + INDEFINITE * level * np.eye(len(S))
    if level > 0 and linalg.lapack.dpotrf(raised, lower=True)[1] == 0:
        return
    lowest = linalg.eigvalsh(S, subset_by_index=[0, 0])[0]
    share = f"its lowest eigenvalue, centred and over N, is {lowest:.4g}"
    if metric == "distance":
        raise ValueError(f"No points have these squared distances: they are not Euclidean ({share}). Were plain "
                         "distances passed instead of squared ones? If not, the nearest kernel that has points is K = "
                         "nearest_kernel(double_centre(-A / 2)), to be fitted with metric=\"precomputed\" "
                         "(chapter 4, \"From distances\").")
    raise ValueError(f"The matrix is not positive semi-definite ({share}), so it is nobody's kernel matrix. The "
                     "nearest one that is: nearest_kernel(K) from gplvm_edu.wishart (chapter 4, \"From distances\").")
