"""One Bayesian GP-LVM for each class, and Bayes' rule: a classifier that knows what each class looks like."""

import copy
from typing import Self

import numpy as np
from scipy.special import log_softmax, logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import checks
from ..base import KernelModel, KnownNames, SaysWhyNot, WholeFit
from ..kernels import Kernel
from ..variational import BayesianGPLVM, Parameters
from ..variational.estimator import DENSITIES

NOISES = ("shared", "own")


def with_noise(model, noise_variance) -> BayesianGPLVM:
    """A copy of a fitted model that believes in another noise variance; all else stays, and phi(u) follows, (13.19).

    Examples
    --------
    >>> from gplvm_edu import datasets
    >>> model = BayesianGPLVM(2, n_inducing=5, max_iter=5, random_state=0).fit(datasets.load_iris().data)
    >>> with_noise(model, 0.5).noise_variance_
    0.5
    """
    now, noise = model.map_, checks.positive("noise_variance", noise_variance)
    parameters = Parameters(now.latent_mean, now.latent_variance, now.centres, now.kernel, noise)
    return copy.copy(model).set_parameters(parameters)


def check_noise(name, value):
    """How the noise is judged: "shared", "own", or a variance."""
    if checks.is_number(value):
        return checks.positive(name, value)
    return checks.choice(
        name, value, NOISES, 'Or pass a variance. Chapter 13, "A lesson on calibration", compares them.'
    )


def check_priors(name, value) -> np.ndarray | None:
    """Probabilities above 0 that sum to 1, or None; how many is checked when the classes are known."""
    if value is None:
        return None
    priors = checks.floats(name, value)
    if priors.ndim != 1 or not (np.isfinite(priors).all() and (priors > 0).all() and abs(priors.sum() - 1.0) <= 1e-9):
        raise ValueError(
            f"{name} must be numbers above 0 that sum to 1, one for each class in the order of classes_, or None for "
            f"their shares of the data, got {checks.shown(value)}."
        )
    return priors


class GenerativeClassifier(WholeFit, SaysWhyNot, KernelModel, KnownNames, ClassifierMixin, BaseEstimator):
    """A Bayesian GP-LVM for each class; a new row belongs where its density, times the class's share, is largest.

    Use it when you want classes, and how probable a row is under each: rows with gaps, rows that fit none.

    Columns: numbers of comparable scale, and a label for each row.
    NaN: in fit and in new rows.
    Answers: score_samples, predict.
    Cost: O(N M^2 q + N M D + M^3) a step, M inducing points; at N = 1000, by default, 5.6 seconds.
    Chapter: 13 (book/13_prediction.ipynb).

    Parameters
    ----------
    n_components, n_inducing : int, default 10 and 50
        Of every model.
    kernel : Kernel or None
    latent : "gaussian" or "point"
    noise : "shared" or "own"
        "shared": every class is judged with the mean of the fitted noise variances; "own": each with its own, which
        lets a class that was fitted too well claim too much.
    method : "ratio" or "frozen"
        Which estimate of the log density (see `BayesianGPLVM.log_density`).
    priors : array (C,) or None
        Probability of each class beforehand; None: their shares of the training data.
    n_starts : int
        Near training rows from which a new row's place is sought.
    max_iter : int
        Of every fit.
    tol : float
        Of the gradient with which a new row's place is found; 1e-3 is enough for classes and three times as fast.
    random_state : None, int, RandomState or Generator
    verbose : bool
        Show a bar for each fit.

    Attributes
    ----------
    classes_ : ndarray (C,)
    models_ : list of BayesianGPLVM
        As they judge, calibrated.
    noise_variances_ : ndarray (C,)
        As they were fitted.

    Notes
    -----
    NaN is a gap, in training and in new rows. Chapter 13, equations (13.18) and (13.19); Titsias and Lawrence (2010),
    section 5.3.

    Examples
    --------
    >>> from gplvm_edu import datasets
    >>> iris = datasets.load_iris()
    >>> model = GenerativeClassifier(2, n_inducing=10, max_iter=30, random_state=0).fit(iris.data, iris.target)
    >>> bool(model.score(iris.data, iris.target) > 0.95)
    True
    """

    rules = {
        **{name: BayesianGPLVM.rules[name] for name in ("n_components", "n_inducing", "kernel", "latent", "max_iter")},
        "noise": checks.rule(checks.choice, NOISES, 'Chapter 13, "A lesson on calibration", compares them.'),
        "method": checks.rule(checks.choice, DENSITIES),
        "priors": checks.rule(check_priors),
        "n_starts": checks.rule(checks.whole_number),
        "tol": checks.rule(checks.number, at_least=0),
        "verbose": checks.rule(checks.flag),
    }
    why_not = dict.fromkeys(
        ("transform", "inverse_transform", "place", "reconstruct", "impute", "log_precision", "jacobian", "sample"),
        "it holds one map for each class, and each answers for itself: ask the models in models_",
    )

    def __init__(
        self,
        n_components: int = 10,
        n_inducing: int = 50,
        kernel: Kernel | None = None,
        latent: str = "gaussian",
        noise="shared",
        method: str = "ratio",
        priors=None,
        n_starts: int = 2,
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: checks.Seed = None,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.kernel = kernel
        self.latent = latent
        self.noise = noise
        self.method = method
        self.priors = priors
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def default_kernel(self) -> Kernel:
        """What `kernel=None` stands for, in units of the variance of each class."""
        return BayesianGPLVM().default_kernel()

    def fit(self, Y, y) -> Self:
        """One model for the rows of each class; then the noise is calibrated."""
        checks.valid_seed(self.random_state)
        checks.parameters(self)
        with np.errstate(invalid="ignore", over="ignore"):  # it adds up what may be infinite
            Y, y = validate_data(self, Y, y, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        self.classes_, label, counts = np.unique(y, return_inverse=True, return_counts=True)
        self.check_parameters(counts)
        self.log_priors_ = np.log(counts / counts.sum() if self.priors is None else np.asarray(self.priors, float))
        self._fitted = [
            BayesianGPLVM(
                self.n_components,
                self.n_inducing,
                self.kernel,
                latent=self.latent,
                max_iter=self.max_iter,
                random_state=self.random_state,
                verbose=self.verbose,
            ).fit(Y[label == c])
            for c in range(len(self.classes_))
        ]
        self.noise_variances_ = np.array([model.noise_variance_ for model in self._fitted])
        self.n_iter_ = max(model.n_iter_ for model in self._fitted)
        return self.calibrate(self.noise)

    def calibrate(self, noise) -> Self:
        """Judge from now on with "own" noise variances, the "shared" one, or a number; nothing is fitted again."""
        check_is_fitted(self, "noise_variances_")
        check_noise("noise", noise)
        if isinstance(noise, str) and noise == "own":
            self.models_ = self._fitted
        else:
            value = self.noise_variances_.mean() if isinstance(noise, str) else noise  # (13.19)
            self.models_ = [with_noise(model, value) for model in self._fitted]
        return self

    def log_densities(self, Y) -> np.ndarray:
        """Log density of the observed entries of each row under the model of each class, (n, C), (13.18)."""
        check_is_fitted(self)
        with np.errstate(invalid="ignore", over="ignore"):
            Y = validate_data(self, Y, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        return np.column_stack(
            [model.log_density(Y, self.method, self.n_starts, tol=self.tol) for model in self.models_]
        )

    def predict_log_proba(self, Y) -> np.ndarray:
        """Logarithms of the probabilities of the classes, (n, C)."""
        return log_softmax(self.log_densities(Y) + self.log_priors_, axis=1)  # (13.18)

    def predict_proba(self, Y) -> np.ndarray:
        """Probabilities of the classes, (n, C)."""
        return np.exp(self.predict_log_proba(Y))

    def predict(self, Y) -> np.ndarray:
        """The most probable class of each row, (n,)."""
        best = np.argmax(self.predict_log_proba(Y), axis=1)
        return self.classes_[best]

    def score_samples(self, Y) -> np.ndarray:
        """Log density of each row under all classes together: a mixture of the models, (n,)."""
        return logsumexp(self.log_densities(Y) + self.log_priors_, axis=1)

    def check_parameters(self, counts) -> None:
        """The sizes of the classes, and as many priors as there are classes."""
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has only one class, {self.classes_[0]}: a classifier needs at least two. For the "
                "density of one class fit a BayesianGPLVM (chapter 13)."
            )
        alone = np.flatnonzero(counts < 2)
        if len(alone):
            raise ValueError(
                f"Class {self.classes_[alone[0]]} has 1 sample, and a model of its own needs 2 or more. "
                'Add rows, merge the class with another, or leave it out (chapter 13, "A classifier that '
                'can draw").'
            )
        if self.priors is not None and np.shape(self.priors) != counts.shape:
            raise ValueError(
                f"priors must be {len(counts)} numbers above 0 that sum to 1, one for each of the "
                f"classes {self.classes_.tolist()}, got {checks.shown(self.priors)}."
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
