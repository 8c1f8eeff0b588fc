"""The scikit-learn contract, kept apart from the mathematics: functions teach, this file validates."""
import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

HANDLE_MISSING = ("PPCA", "FactorAnalysis", "GTM", "DiscreteGTM", "SparseGPLVM", "BayesianGPLVM")


class LatentModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What every estimator of the course shares: checked input, `fit_transform`, output names.

    A subclass writes `fit(self, Y, y=None)` and sets `embedding_` (N, q); it calls `check_data` first. Set the
    class attribute `allows_missing` when NaN means "not observed" to the model, and `failing_checks` (a dictionary
    {check of scikit-learn: mathematical reason}) where one can't hold.
    """

    allows_missing = False

    def fit_transform(self, Y, y=None):
        """Fit the model and return the latent positions of the rows of Y."""
        return self.fit(Y).embedding_

    def check_data(self, Y, reset=True, min_samples=2):
        """Y as a finite float64 array (N, D) with at least `min_samples` rows; NaN only where it has a meaning."""
        if not reset:
            check_is_fitted(self)
        Y = validate_data(
            self, Y, reset=reset, dtype=np.float64, ensure_min_samples=min_samples if reset else 1,
            ensure_all_finite="allow-nan",
        )
        if np.isinf(Y).any():
            row, column = np.argwhere(np.isinf(Y))[0]
            raise ValueError(f"Input Y contains infinity (inf) at row {row}, column {column}. Remove the row, or mark "
                             "the value as missing with NaN if the model can integrate it out (chapter 1, "
                             "\"Missing values\").")
        missing = np.isnan(Y)
        if missing.any() and not self.allows_missing:
            raise ValueError(
                f"Input Y contains NaN in {missing.sum()} of {Y.size} entries, and {type(self).__name__} needs "
                f"complete data. {', '.join(HANDLE_MISSING)} integrate missing values out: use one of them, or "
                "fill the gaps first with PPCA().fit(Y).impute(Y) (chapter 1, \"Missing values\")."
            )
        return Y

    def check_latent(self, X):
        """X as a float64 array (N, q) with the q of the fitted model."""
        check_is_fitted(self)
        X = np.asarray(X, dtype=np.float64)
        q = self.embedding_.shape[1]
        if X.ndim != 2 or X.shape[1] != q:
            raise ValueError(f"X has shape {X.shape}, but the fitted model has {q} latent dimensions: pass an array "
                             f"of shape (number of points, {q}).")
        if not np.isfinite(X).all():
            raise ValueError("X contains NaN or infinity: a latent position has to be a point.")
        return X

    @property
    def _n_features_out(self):
        return self.embedding_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.allows_missing
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


class DensityModel(LatentModel):
    """A latent model that gives new data a density: the subclass writes `score_samples`."""

    def score(self, Y, y=None):
        """Mean log density of the rows of Y under the fitted model (larger is better)."""
        return float(np.mean(self.score_samples(Y)))


class IterativeFit:
    """`fit` as a loop that can be watched and interrupted.

    The subclass writes `iterates(Y)`, a generator of states with a `value` (larger is better), and
    `set_state(state, history)`, which makes the estimator that of one state.
    """

    def fit(self, Y, y=None):
        """Exhaust `iterates`. Interrupted, the estimator keeps the last state it reached."""
        state, history = None, []
        try:
            for state in self.iterates(Y):
                history.append(state.value)
        finally:
            if state is not None:
                self.set_state(state, history)
        return self


def check_components(n_components, n_samples, n_features, largest, because):
    """Raise a clear error unless `n_components` is an integer from 1 to `largest`."""
    is_integer = isinstance(n_components, (int, np.integer)) and not isinstance(n_components, bool)
    if not is_integer or n_components < 1:
        raise ValueError(f"n_components must be a whole number of at least 1, got {n_components!r}.")
    if n_components > largest:
        raise ValueError(
            f"n_components={n_components} is too many for Y with n_samples={n_samples} rows and "
            f"n_features={n_features} columns: {because}, so at most {largest} can be asked for. "
            "Use fewer components, or more data; chapter 1, \"When there is too little data\", shows what happens "
            "at the edge."
        )


def check_positive(name, value):
    """Raise a clear error unless `value` is a finite number above 0."""
    if not (np.isscalar(value) and np.isreal(value) and np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a finite number above 0, got {value!r}.")


def expected_failed_checks(estimator):
    """The checks of scikit-learn that can't hold for this estimator: {check: mathematical reason}.

    Pass it on: ``check_estimator(model, expected_failed_checks=expected_failed_checks(model))``.

    Examples
    --------
    >>> from gplvm_edu import PPCA
    >>> expected_failed_checks(PPCA())
    {}
    """
    return dict(getattr(estimator, "failing_checks", {}))
