"""KernelPCA and ClassicalMDS as scikit-learn estimators: thin layers over the functions beside them."""

import copy
from typing import Any, Self

import numpy as np

from .. import checks
from ..base import KernelModel, LatentModel
from ..kernels import RBF, Kernel, relative
from ..linalg import centre, double_centre, nearest_semidefinite
from .closed_form import centred, leading_eigenpairs, minimal_cross_entropy
from .distances import centre_new, new_distances

NO_DENSITY = "it is fitted to similarities between points, and gives a new row no density"
NO_MAP = "it has eigenvectors over the points, and no map from latent space to data"


class _SpectralMap(LatentModel):
    """What kernel PCA and classical MDS share: centre proximities, keep the leading eigenvectors, project."""

    rules = {"n_components": checks.rule(checks.whole_number), "shrink": checks.rule(checks.flag)}
    why_not = {
        **dict.fromkeys(("inverse_transform", "jacobian", "log_precision", "sample", "reconstruct"), NO_MAP),
        **dict.fromkeys(("score_samples", "score"), NO_DENSITY),
        "place": "a projection is unique, and `transform` gives it; there is no density with several modes to search",
        "impute": "the proximity of a row with gaps to the other points is not known",
    }

    def _fit_proximity(self, A, name, advice):
        """Centre, refuse or correct a matrix that is no covariance, and keep the leading eigenvectors."""
        self.training_means_ = A.mean(axis=0)
        S = centred(A, name.replace("centred ", ""))
        trace = np.trace(S)
        lam, U, smallest = leading_eigenpairs(S, self.n_components, overwrite=True)
        if smallest < -checks.ROUNDING * max(lam[0], -smallest):
            S = self._correct(double_centre(A), smallest, name, advice)
            trace = np.trace(S)
            lam, U, _ = leading_eigenpairs(S, self.n_components)
        self._keep(np.maximum(lam, 0.0), U, trace)
        return self

    def _keep(self, lam, U, trace):
        """The linear covariance nearest to the centred similarity, and the map of new points."""
        N, q = U.shape
        c = max(trace - lam.sum(), 0.0) / (N - q)  # (3.13)
        c = 0.0 if c <= 1e-13 * lam[0] else float(c)
        used = lam > 1e-12 * lam[0]  # the others are rounding: the data have fewer dimensions
        lengths = np.sqrt(np.where(used, np.maximum(lam - (c if self.shrink else 0.0), 0.0), 0.0))  # (3.11)
        self.eigenvalues_, self.noise_variance_ = lam, c
        self.cross_entropy_ = minimal_cross_entropy(lam, c, N)
        self.embedding_ = U * lengths
        self.coefficients_ = U * np.divide(lengths, lam, out=np.zeros(q), where=used)  # (3.24)  (N, q)

    def _correct(self, S, smallest, name, advice):
        raise checks.not_semidefinite(S, name, advice)

    def transform(self, Y) -> np.ndarray:
        """Latent positions of new points, equation (3.24); for the training points this is `embedding_`.

        With correction="additive" give the mended distances of training points (`additive_constant`): a row of the old
        ones is taken for that of a new point beside its twin.
        """
        Y = self.check_data(Y, reset=False)
        return centre_new(self._proximity(Y), self.training_means_) @ self.coefficients_

    def _check_size(self, Y):
        N, D = Y.shape
        because = f"{N} centred points span {N - 1} dimensions at most"
        checks.components(self.n_components, N, D, N - 1, because, spare="a kernel has more features than columns")


def kernel_or_function(name, value):
    """A kernel, a function k(Y, Z=None), or None.

    Examples
    --------
    >>> kernel_or_function("kernel", 3)
    Traceback (most recent call last):
    ...
    ValueError: kernel must be a kernel of gplvm_edu.kernels (such as RBF(), but any function k(Y, Z=None) will do) ...
    """
    if callable(value) and not isinstance(value, type):
        return value
    return checks.kernel(name, value, "RBF(), but any function k(Y, Z=None) will do")


class KernelPCA(KernelModel, _SpectralMap):
    """Kernel PCA: principal components of features that are given by a kernel only.

    Use it when a kernel says how alike two rows are, and the main directions of its features are enough.

    Columns: numbers of comparable scale, or a kernel matrix.
    NaN: no.
    Answers: transform.
    Cost: O(N^3); at N = 1000, by default, 0.33 seconds.
    Chapter: 3 (book/03_unify.ipynb).

    Parameters
    ----------
    n_components : int, default 2
        Latent dimensions q, below the number of points.
    kernel : kernel of `gplvm_edu.kernels`, or any callable k(Y, Z=None)
        None: an RBF of inverse width 1 in units of 1 / (mean squared distance of the data);
        ``set_params(kernel__inverse_width=2)`` sets it in these units.
    metric : "kernel" or "precomputed"
        "precomputed": `fit` takes the kernel matrix (N, N), `transform` the kernel between new and old points (M, N).
    shrink : bool, default False
        False: coordinates of length sqrt(lambda), as kernel PCA has them. True: sqrt(lambda - c), the positions that
        minimise the divergence.

    Attributes
    ----------
    embedding_ : ndarray (N, q)
    eigenvalues_ : ndarray (q,)
        Of the centred kernel matrix, largest first.
    noise_variance_ : float
        c, the mean of the eigenvalues that are not kept.
    cross_entropy_ : float
        The objective at its minimum, in nats.
    kernel_ : the kernel used

    Notes
    -----
    Costs O(N^3) for one partial eigendecomposition. There is no `inverse_transform`: most points of feature space
    belong to no data point at all (chapter 3, "No way back"); `feature_weights` and `preimage_iterates` look for a
    near one. Chapter 3, equations (3.11) and (3.24).

    Examples
    --------
    >>> from gplvm_edu.kernels import RBF
    >>> Y = np.random.default_rng(0).standard_normal((50, 3))
    >>> model = KernelPCA(n_components=2, kernel=RBF(inverse_width=0.5)).fit(Y)
    >>> bool(np.allclose(model.transform(Y), model.embedding_))
    True
    """

    rules = _SpectralMap.rules | {
        "kernel": checks.rule(kernel_or_function),
        "metric": checks.rule(checks.choice, ("kernel", "precomputed"), "For distances use ClassicalMDS."),
    }
    why_not = _SpectralMap.why_not | {
        "inverse_transform": 'most points of feature space belong to no data point (chapter 3, "No way back"); '
        "`feature_weights` and `preimage_iterates` look for a near one",
        "impute": "the kernel between a row with gaps and the other points is not known",
    }

    def __init__(
        self, n_components: int = 2, kernel: Kernel | None = None, metric: str = "kernel", shrink: bool = False
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.metric = metric
        self.shrink = shrink

    @property
    def any_units(self) -> str:
        """A kernel that was chosen may know the units of the columns."""
        return "" if self.kernel is None else "the kernel is the reader's own"

    def fit(self, Y, y=None) -> Self:
        """Keep the leading eigenvectors of the centred kernel matrix."""
        Y = self.check_data(Y)
        self._check_size(Y)
        advice = 'Choose a kernel that is one, or mend the matrix: nearest_semidefinite(K), metric="precomputed".'
        if self.metric == "precomputed":
            self.kernel_: Any = None
            return self._fit_proximity(checks.symmetric(Y, "The kernel matrix"), "The centred kernel matrix", advice)
        ours = self.kernel is None or isinstance(self.kernel, Kernel)
        self.kernel_ = self.start_kernel(inverse_width=_inverse_width(Y)) if ours else copy.deepcopy(self.kernel)
        self.data_ = Y
        return self._fit_proximity(self._kernel_matrix(Y), "The centred kernel matrix", advice)

    def default_kernel(self) -> Kernel:
        """What `kernel=None` stands for, its inverse width in units of 1 / (mean squared distance of the data)."""
        return relative(RBF())

    def _kernel_matrix(self, Y, Z=None):
        """The kernel of the rows of Y with those of Z, or with one another; what a user's function gives is checked."""
        A = self.kernel_(Y) if Z is None else self.kernel_(Y, Z)
        if isinstance(self.kernel_, Kernel):  # ours are right by construction
            return A
        shape = len(Y), len(Y if Z is None else Z)
        if np.shape(A) != shape:
            raise ValueError(
                f"kernel gave an array of shape {np.shape(A)} where {shape} was expected: k(Y, Z=None) returns one row "
                "for each row of Y, and one column for each row of Z, which is Y where it is None."
            )
        check = checks.symmetric if Z is None else checks.matrix
        return check(A, "The kernel matrix")

    def _proximity(self, Y):
        return Y if self.metric == "precomputed" else self._kernel_matrix(Y, self.data_)

    def feature_weights(self, X) -> np.ndarray:
        r"""Weights alpha (M, N) with which latent points X combine the features of the training points.

        .. math:: \hat f = \sum_n \alpha_n\, f(y_n), \qquad
                  \alpha_n = \tfrac1N + \sum_i x_i\, u_{ni} / \sqrt{\lambda_i}

        Chapter 3, equation (3.28).
        """
        X = self.check_latent(X)
        squares = np.sum(self.embedding_**2, axis=0)
        scaled = np.divide(X, squares, out=np.zeros_like(X), where=squares > 0)
        return 1.0 / len(self.embedding_) + scaled @ self.embedding_.T  # (3.28)


def _inverse_width(Y):
    """1 / (mean squared distance of the rows)."""
    spread = 2.0 * np.sum(centre(Y)[0] ** 2) / (len(Y) - 1)
    return 1.0 / spread if np.ptp(Y, axis=0).any() else 1.0


class ClassicalMDS(_SpectralMap):
    """Classical multidimensional scaling (principal coordinates): a map from distances or from similarities.

    Use it when you have distances or similarities in place of a table, and want a map of them in one step.

    Columns: numbers of comparable scale, or distances, or similarities.
    NaN: no.
    Answers: transform.
    Cost: O(N^3); at N = 1000, by default, 0.18 seconds.
    Chapter: 3 (book/03_unify.ipynb).

    Parameters
    ----------
    n_components, shrink : as in `KernelPCA`
    metric : "euclidean", "distance" or "similarity"
        "euclidean": `fit` takes data (N, D), and the result is PCA. "distance": a matrix of distances (N, N), not
        squared; `transform` takes those between new and old points (M, N). "similarity": the same for similarities.
    correction : None, "nearest" or "additive"
        What to do with distances of no Euclidean space (or an indefinite similarity): None raises an error,
        "nearest" sets the negative eigenvalues to zero, "additive" adds a constant to every squared distance.

    Attributes
    ----------
    embedding_ : ndarray (N, q)
    eigenvalues_ : ndarray (q,); noise_variance_ : float; cross_entropy_ : float
        As in KernelPCA, of the centred similarity.
    additive_constant_ : float
        What was added to each squared distance; 0.0 when nothing was.

    Notes
    -----
    Costs O(N^3) for one partial eigendecomposition. Chapter 3, equations (3.11), (3.24) and (3.26).

    Examples
    --------
    >>> from gplvm_edu.datasets import city_distances
    >>> names, D = city_distances("Europe")
    >>> model = ClassicalMDS(metric="distance", correction="nearest").fit(D)
    >>> model.embedding_.shape
    (14, 2)
    """

    rules = _SpectralMap.rules | {
        "metric": checks.rule(
            checks.choice,
            ("euclidean", "distance", "similarity"),
            'With "euclidean" Y holds data, with the others it is a square matrix.',
        ),
        "correction": checks.rule(checks.choice, (None, "nearest", "additive")),
    }

    def __init__(
        self, n_components: int = 2, metric: str = "euclidean", correction: str | None = None, shrink: bool = False
    ):
        self.n_components = n_components
        self.metric = metric
        self.correction = correction
        self.shrink = shrink

    def fit(self, Y, y=None) -> Self:
        """Turn distances into similarities and keep the leading eigenvectors."""
        Y = self.check_data(Y)
        if self.metric != "euclidean":
            check = checks.symmetric if self.metric == "similarity" else checks.distances
            Y = check(Y, f"The {self.metric} matrix")
        self._check_size(Y)
        self.additive_constant_ = 0.0
        self.data_: Any  # None for a matrix of distances or similarities
        self.mean_: Any
        self.data_, self.mean_ = centre(Y) if self.metric == "euclidean" else (None, None)
        if self.data_ is not None and not np.ptp(Y, axis=0).any():
            self.data_ = np.zeros_like(Y)  # one place, without the rounding of its mean
        kind = "similarity matrix" if self.metric == "similarity" else "similarity matrix of these distances"
        advice = ("They belong to no points of a Euclidean space. " if self.metric == "distance" else "") + (
            'Ask for the nearest that do, correction="nearest", or for a constant added to every squared distance, '
            'correction="additive" (functions nearest_euclidean, additive_constant, nearest_semidefinite).'
        )
        return self._fit_proximity(self._proximity(Y), f"The centred {kind}", advice)

    def _proximity(self, Y):
        if self.metric == "similarity":
            return Y
        if self.metric == "distance":
            return -0.5 * new_distances(Y) ** 2  # (3.26)
        return (Y - self.mean_) @ self.data_.T  # Euclidean distances: (3.26) gives inner products

    def _correct(self, S, smallest, name, advice):
        if self.correction is None:
            return super()._correct(S, smallest, name, advice)
        if self.correction == "nearest":
            return nearest_semidefinite(S)
        self.additive_constant_ = -2.0 * smallest
        return S - smallest * (np.eye(len(S)) - 1.0 / len(S))  # (3.33)
