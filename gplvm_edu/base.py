"""The scikit-learn contract, the loop of every iterative fit, and the methods of every model with a map.

Functions teach, this file keeps house. `LatentModel` is what all estimators share, `IterativeFit` the loop, `MapModel`
the questions that any fitted map can be asked.
"""

import copy
import functools
import inspect
import sys
import warnings
from collections.abc import Iterator
from contextlib import closing
from numbers import Integral
from typing import NamedTuple, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,  # noqa: F401
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from . import checks, tables, threads
from .calibration import measured_factor
from .kernels import Kernel, scaled_to_data
from .linalg import nearest_rows
from .maps import Places, best_place, distinct_columns, search_places
from .marginal import (
    N_SAMPLES,
    LatentDensity,
    LatentDraws,
    UnitGaussian,
    find_summits,
    importance_sample,
    marginal_log_density,
    mix,
    position_density,
)
from .progress import Watch

PAIRWISE = ("precomputed", "similarity", "distance", "squared_distance")  # metrics: Y is a square matrix
CONVERGED = ("gradient", "gain", "stalled", "schedule", "closed form")  # reasons to stop that need no warning
ROWS = 200_000  # draws of latent points that are held at a time
TOO_SURE = 5.0  # by how much deviations may be too small before it is told
FALL = 1e-8  # of the value, or of a nat for each entry of the data: a fall by less is rounding


class ObjectiveFellWarning(UserWarning):
    """An objective that can only rise has fallen by more than rounding: something is wrong, and the fit with it."""


class AtRestWarning(UserWarning):
    """A fit made no step because its start is as good as its tolerance asks: the start is the answer."""


class SaysWhyNot:
    """A question without an answer: asked for a method that `why_not` names, a model gives the mathematical reason.

    Asked for what only a fit can tell (a name that ends in _), a model that is not fitted says so.

    why_not : {method: mathematical reason} for what the other models answer and this one can't
    """

    why_not: dict = {}

    def __getattr__(self, name):
        """Called for names that are not there: say why a question has no answer, if that is known."""
        if name in type(self).why_not:
            raise AttributeError(f"{type(self).__name__} has no {name}: {type(self).why_not[name]}.")
        if name.endswith("_") and not name.startswith("_"):
            data = "Y, y" if isinstance(self, ClassifierMixin) else "Y"
            text = f"This %(name)s is not fitted yet, so it has no {name}: call fit({data}) first."
            check_is_fitted(self, msg=text)  # a NotFittedError is an AttributeError too, as `hasattr` wants
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class WholeFit:
    """A fit leaves a whole model or none, wherever it is interrupted: it works on a copy, which is taken over at once.

    An error, or Ctrl-C, before the copy is whole leaves the estimator as it was, fitted before or not. An iterative fit
    makes its copy whole before it lets an interrupt through (`IterativeFit.keep`), so its last state is kept.
    """

    def __init_subclass__(cls, **named):
        super().__init_subclass__(**named)
        if "fit" in vars(cls):
            cls.fit = _on_a_copy(vars(cls)["fit"])


def _on_a_copy(fit):
    """`fit` of a copy without fitted values; all that it sets is taken over in one step of the interpreter."""

    @functools.wraps(fit)
    def whole(self, *data, **named):
        checks.data_first(*data[:2])
        work = copy.copy(self)
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("__")]:
            delattr(work, name)
        done = False
        try:
            fit(work, *data, **named)
            done = True
        finally:
            if done or hasattr(work, "converged_"):
                self.__dict__ = vars(work)
        return self

    return whole


class KnownNames:
    """A parameter that does not exist is answered with the nearest that does: by the constructor, by `set_params`."""

    def __init_subclass__(cls, **named):
        super().__init_subclass__(**named)
        if "__init__" in vars(cls):
            setattr(cls, "__init__", checks.known_names(vars(cls)["__init__"]))  # noqa: B010

    def set_params(self, **params) -> Self:
        """Set parameters by name, those of a part as ``part__name``; returns the estimator itself."""
        names = self.get_params(deep=False)
        for name in params:
            if name.partition("__")[0] not in names:
                raise ValueError(checks.unknown_name(type(self).__name__, name, list(names)))
        return super().set_params(**params)  # type: ignore[misc]  # of scikit-learn's BaseEstimator, beside this


class KernelModel:
    """A model with a parameter `kernel`: one in the units of the data, or None for a default that is scaled to them.

    The subclass writes `default_kernel()`, what None stands for: a kernel that is `kernels.relative` to the data.
    ``set_params(kernel__rbf__inverse_width=0.5)``, and so a grid search, puts it in the place of None first.
    """

    def set_params(self, **params) -> Self:
        """Set parameters by name, those of the kernel as ``kernel__name``; returns the estimator itself."""
        inside = any(name.startswith("kernel__") for name in params)
        if inside and params.get("kernel", self.kernel) is None:
            params["kernel"] = self.default_kernel()
        return super().set_params(**params)  # type: ignore[misc]  # of scikit-learn's BaseEstimator, beside this

    def start_kernel(self, **units) -> Kernel:
        """The kernel that a fit starts with, a copy, scaled to the data if it is relative to them.

        `units` are those of the data, as `kernels.scaled_to_data` takes them.
        """
        return scaled_to_data(self.default_kernel() if self.kernel is None else self.kernel, **units)


class SuitedThreads:
    """Every public method of a model runs with the number of BLAS threads that its matrices deserve.

    One for small ones, as many as the environment has for large ones (see `threads`); between two calls, and between
    two states of a fit, the environment is as it was. A subclass says in `matrix_size` how large its matrices are.
    """

    def __init_subclass__(cls, **named):
        super().__init_subclass__(**named)
        for name, method in list(vars(cls).items()):
            if inspect.isfunction(method) and not name.startswith("_") and name != "matrix_size":
                size = _size_of_data if name in ("fit", "fit_transform", "iterates") else _size_of_model
                setattr(cls, name, threads.suited(size)(method))

    def matrix_size(self, N, D) -> int:
        """Rows of the largest matrix that is factorised for data of shape (N, D)."""
        return N


def _size_of_data(model, *data, **named):
    """The matrix size of a model for the data that it is about to see; 0 where they, or a parameter, make no sense."""
    Y = data[0] if data else named.get("Y", ())
    try:
        return model.matrix_size(*np.shape(Y)[:2])
    except (TypeError, ValueError, AttributeError):
        return 0  # `check_data` and `check_parameters` say what is wrong


def _size_of_model(model, *_, **__):
    """The matrix size of a fitted model; one that is not fitted yet leaves the choice to `fit`, which called it."""
    fitted = getattr(model, "embedding_", None)
    return threads.SMALL if fitted is None else model.matrix_size(len(fitted), getattr(model, "n_features_in_", 1))


class LatentModel(
    WholeFit, SuitedThreads, SaysWhyNot, KnownNames, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """What every estimator of the course shares: checked input, `fit_transform`, output names.

    A subclass writes `fit(self, Y, y=None)` and sets `embedding_` (N, q); it calls `check_data` first. It may set:

    rules : {constructor parameter: `checks.rule`}: what each may be, whatever the data
    allows_missing : True when NaN means "not observed" in the data of `fit`
    failing_checks : {check of scikit-learn: mathematical reason} where one can't hold; pass it on as
        (see `expected_failed_checks`)
    any_units : why columns may be in units of their own; empty where one noise variance or distance is for all
    why_not : as in `SaysWhyNot`
    """

    allows_missing = False
    any_units = ""
    failing_checks: dict = {}
    rules: dict = {}

    def fit_transform(self, Y, y=None) -> np.ndarray:
        """Fit the model and return the latent positions of the rows of Y."""
        return self.fit(Y).embedding_

    def check_data(self, Y, reset=True, min_samples=2, gaps=False) -> np.ndarray:
        """Y as a finite float64 array (N, D); NaN where the model can be fitted with it, or here alone (`gaps`).

        Every fit comes through here before any work, so wrong parameters are refused here too. What a fit gets is a
        copy: nothing that happens to the caller's array later changes the model.
        """
        if reset:
            checks.valid_seed(getattr(self, "random_state", None))
        else:
            check_is_fitted(self)
        with np.errstate(invalid="ignore", over="ignore"), checks.words_for_text(Y):  # infinities: we look afterwards
            Y = self.read_numbers(Y, reset, min_samples if reset else 1)
        if reset:
            checks.parameters(self)
            self.check_room(*Y.shape)
        with np.errstate(over="ignore"):
            squares = np.vdot(Y, Y)  # one pass: NaN with NaN or infinity, and most data have none
        if not squares <= checks.LARGEST**2:
            self.check_entries(Y, reset, gaps)
        return self.check_sense(checks.enough_spread(Y)) if reset else Y

    def check_sense(self, Y) -> np.ndarray:
        """Y; with a warning where a model can be fitted to it, but is probably not what the reader wanted."""
        name = type(self).__name__
        metric = getattr(self, "metric", None)
        if isinstance(metric, str) and metric in PAIRWISE:
            return Y  # proximities: they have no columns
        if not self.any_units and not checks.no_labels(Y, name):
            checks.comparable_scales(Y, name, getattr(self, "feature_names_in_", None))
        return Y

    def read_numbers(self, Y, reset, min_samples) -> np.ndarray:
        """Y as a float64 array with the columns, and their names, of `fit`; NaN and infinity may be in it."""
        return validate_data(
            self, Y, reset=reset, dtype=np.float64, copy=reset, ensure_min_samples=min_samples, ensure_all_finite=False
        )

    def check_entries(self, Y, reset, gaps) -> None:
        """Look for infinity, for gaps where there may be none, and for numbers that can't be squared."""
        if np.isinf(Y).any():
            row, column = np.argwhere(np.isinf(Y))[0]
            raise ValueError(
                f"Input Y contains infinity (inf) at row {row}, column {column}. Remove the row, or mark "
                "the value as missing with NaN if the model can integrate it out (chapter 1, "
                '"Missing values").'
            )
        missing = np.isnan(Y)
        if missing.any() and not (gaps or self.allows_missing):
            fitted = "" if reset or not hasattr(self, "map_") else " Here, place, reconstruct and impute take gaps too."
            raise ValueError(
                f"Input Y contains NaN in {missing.sum()} of {Y.size} entries, and {type(self).__name__} needs "
                f"complete data. {', '.join(models_for_gaps())} integrate missing values out: use one of them, or "
                f'fill the gaps first with PPCA().fit(Y).impute(Y) (chapter 1, "Missing values").{fitted}'
            )
        checks.within_range(Y, "Y")

    def check_room(self, N, D) -> None:
        """Refuse data for which a matrix would not fit into any machine, before memory is asked for."""
        size = self.matrix_size(N, D)
        checks.room(
            f"{type(self).__name__} of {N} rows and {D} columns",
            size,
            max(size, N),
            advice="Fit some of the rows, or a model with fewer nodes, active or inducing points (chapters 7, 9, 12).",
        )

    def check_latent(self, X) -> np.ndarray:
        """X as a float64 array (N, q) with the q of the fitted model."""
        check_is_fitted(self)
        return checks.latent_points(X, self.embedding_.shape[1])

    def check_n_samples(self, n_samples) -> int:
        """How many rows to draw from a fitted model."""
        check_is_fitted(self)
        n = checks.whole_number("n_samples", n_samples)
        checks.room(f"n_samples={n}", n, self.n_features_in_ + self.embedding_.shape[1])
        return n

    @property
    def _n_features_out(self):
        return self.embedding_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.allows_missing
        metric = getattr(self, "metric", None)
        tags.input_tags.pairwise = isinstance(metric, str) and metric in PAIRWISE
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def models_for_gaps(model=LatentModel) -> list[str]:
    """Names of the public estimators that take NaN for "not observed": each is asked, no list is kept."""
    found = [name for kind in model.__subclasses__() for name in models_for_gaps(kind)]
    if model.allows_missing and not model.__name__.startswith("_") and "__init__" in vars(model):
        found.append(model.__name__)
    return sorted(set(found))


class DensityModel(LatentModel):
    """A latent model that gives new data a density: the subclass writes `score_samples`."""

    def score(self, Y, y=None) -> float:
        """Mean log density of the rows of Y under the fitted model (larger is better)."""
        return float(np.mean(self.score_samples(Y)))


# ---------------------------------------------------------------------------------------------- the loop
class IterativeFit(WholeFit, SuitedThreads):
    """`fit` as a loop that can be watched and interrupted.

    The subclass writes `iterates(Y)`, a generator of states, the start first, and `set_state(state)`, which makes the
    estimator that of one state. A state has

    value : the objective, larger is better
    X : ndarray (N, q), the latent positions now
    stopped : on the last state why it is the last: "gradient", "gain" (too small to go on), "stalled" (nothing more to
        gain in floating-point numbers), "schedule" (a run of stated length is over, and that is the only end it has),
        "closed form" (no search was needed); empty otherwise. A last state that gives no reason has run out of
        `max_iter`.

    may_fall : the mathematical reason why the value may fall from one state to the next; empty where it can't, and then
        a fall by more than rounding is reported (`ObjectiveFellWarning`)
    if_slow : what to do instead of waiting, for a fit that will take minutes (`LongFitWarning`)
    at_rest : what to do where the start is at rest already (`AtRestWarning`)
    climbs : how often `max_iter` steps may be made
    verbose : True shows a bar with steps, objective and the time that is left at most

    Fitted: `history_` (the values, the start included), `n_iter_` (the steps made: 0 where the start was kept, 1 for a
    closed form), `converged_`.

    A loop of your own may be left at any state, and the estimator is that of the last state that it got, with the
    history so far: ``for state in model.iterates(Y): ...`` ends like `fit`, or where you `break`. A generator that you
    hold in a variable ends with its `close()`; once the model is fitted anew, it changes nothing any more.
    """

    may_fall = ""
    if_slow = "Lower max_iter, or fit fewer rows."
    at_rest = "Lower tol, or start elsewhere (init)."
    climbs = 1
    verbose = False

    def __init_subclass__(cls, **named):
        super().__init_subclass__(**named)
        if "iterates" in vars(cls):
            cls.iterates = _kept(vars(cls)["iterates"])

    def fit(self, Y, y=None) -> Self:
        """Exhaust `iterates`. Interrupted, the estimator keeps the last state; refused, it stays as it was."""
        most = self.climbs * self.max_iter if isinstance(self.max_iter, Integral) else None
        shown = isinstance(self.verbose, (bool, np.bool_)) and bool(
            self.verbose
        )  # anything else is refused in a moment
        state = None
        with Watch(type(self).__name__, most, self.if_slow, shown) as watch, closing(self.iterates(Y)) as states:
            for number, state in enumerate(states):
                if number >= watch.due:
                    done = getattr(state, "step", getattr(state, "sweeps", number))
                    watch.step(number, done, state.value, state.stopped)
        self.check_rise(self.history_)
        self.check_end(state)
        return self

    def check_end(self, state) -> None:
        """Warn of a fit that ran out of steps, or needed none, and say what to do."""
        name, tol = type(self).__name__, getattr(self, "tol", 0.0)
        if not self.converged_:
            last = (
                f"the last of its {self.n_iter_} steps still gained {self.history_[-1] - self.history_[-2]:.3g}"
                if len(self.history_) > 1
                else "it made no step, and is where it started"
            )
            checks.warn(
                f"{name} stopped at max_iter={self.max_iter} before it had converged: {last}. "
                "Raise max_iter, or tol if this is near enough.",
                ConvergenceWarning,
            )
        elif self.n_iter_ == 0 < self.max_iter and state.stopped == "gradient":
            checks.warn(
                f"{name} made no step: at its start no entry of the gradient exceeds tol={tol:g}, so the start is its "
                f"answer. {self.at_rest}",
                AtRestWarning,
            )

    def check_rise(self, history) -> None:
        """Warn of an objective that fell although it can't."""
        values, n_entries = np.array(history), len(self.embedding_) * self.n_features_in_
        falls = values[:-1] - values[1:] - FALL * np.maximum(np.abs(values[:-1]), n_entries)
        if self.may_fall or not len(falls) or falls.max() <= 0:
            return
        step = int(np.argmax(falls))
        checks.warn(
            f"The objective of {type(self).__name__} fell from {values[step]:.10g} to {values[step + 1]:.10g} in step "
            f"{step + 1}, and it can't, unless rounding has the upper hand. Do not trust this fit. Centre the data, "
            "give them units in which they are neither huge nor tiny, and leave out columns that do not vary.",
            ObjectiveFellWarning,
        )

    def keep(self, state, history) -> Self:
        """Make the estimator that of `state`, reached after the values of `history`; returns the estimator."""
        self.set_state(state)
        self.history_ = np.array(history)
        steps = int(getattr(state, "step", len(history) - 1))
        self.n_iter_ = 1 if state.stopped == "closed form" else steps
        self.converged_ = state.stopped in CONVERGED
        return self

    def _follow(self, states) -> Iterator:
        """Pass states on; whenever that ends, keep the last one, unless the data were refused on the way.

        An estimator follows one run at a time: a run that was left waiting while another one began keeps nothing.
        """
        run = self._run = object()
        history, last = list[float](), None  # a state, and how many values are its history
        try:
            for state in states:
                checks.finite_value(type(self).__name__, len(history), state.value)
                history.append(state.value)
                last = state, len(history)
                yield state
        except Exception as error:
            if not isinstance(error, checks.NotFiniteError):
                last = None
            raise
        finally:
            states.close()
            if vars(self).get("_run") is run and not sys.is_finalizing():
                del self._run
                if last is not None:
                    self.keep(last[0], history[: last[1]])


def _kept(iterates):
    """`iterates` of the class that a model is of, whose last state is kept; called by a subclass, it is as written."""

    @functools.wraps(iterates)
    def kept(self, *data, **named):
        states = iterates(self, *data, **named)
        return self._follow(states) if type(self).iterates is kept else states

    return kept


def until_settled(states, gain, judged=lambda state: True) -> Iterator:
    """Pass states on until one differs in value by less than `gain` from the one before it; that one says so.

    Parameters
    ----------
    states : iterable of states with `value` and `stopped`
    gain : float
        In the units of `value`.
    judged : callable
        ``judged(state)``: whether this state is compared with the last one that was (an incremental method is judged
        after each whole pass only).
    """
    last = -np.inf
    for state in states:
        settled = judged(state) and abs(state.value - last) < gain
        yield state._replace(stopped="gain") if settled else state
        if settled:
            return
        last = state.value if judged(state) else last


# ---------------------------------------------------------------------------------------------- models with a map
class Reconstruction(NamedTuple):
    """Expected value of every entry of some rows and its deviation, both (M, D); q(x) of each, both (M, q)."""

    mean: np.ndarray
    std: np.ndarray
    latent_mean: np.ndarray
    latent_variance: np.ndarray


class MapModel(DensityModel):
    """A model with a map from latent space to data, and every question that can be asked of one.

    Fitting sets `map_` (a `maps.Map`, in the units of the data), `embedding_` (N, q) and `rows_`, a copy of the
    training data. A subclass overrides a method where its mathematics knows better than a search: `transform`,
    `score_samples`, and `recover`, on which `reconstruct` and `impute` stand.

    One rule for every deviation: without noise it is that of E[y | f], which is uncertain because f is; with noise it
    is that of a new observation y, and never smaller. Both are in the units of the expected data: of a probability and
    of a label 1 or 0 where the noise is `Probit`. `jacobian` and `log_precision` are of f itself.

    measures_deviations : whether `impute` multiplies deviations by `deviation_factor` unless told otherwise: where the
        map is one best fit, with no doubt in itself, and intervals were seen to hold too little
    """

    measures_deviations = False

    # --- from latent space to data ----------------------------------------------------------------------------
    def inverse_transform(self, X, return_std=False, noise=False):
        """Expected data at latent points X (M, q), (M, D); optionally its standard deviation, (M, D).

        With `noise` the deviation is that of a new observation y; without, of E[y | f] because f is uncertain.
        """
        X = self.check_latent(X)
        checks.flag("return_std", return_std)
        checks.flag("noise", noise)
        mean, variance = self.map_.moments(X)
        expected = self.map_.expectation(mean, variance)
        if not return_std:
            return expected
        std = self.map_.deviation(mean, variance, noise)
        return expected, np.broadcast_to(std, mean.shape).copy()

    def jacobian(self, X) -> np.ndarray:
        """Derivatives of the mean of f (with Gaussian noise, of the expected data) at latent points, (M, D, q)."""
        X = self.check_latent(X)
        return self.map_.jacobian(X)

    def log_precision(self, X) -> np.ndarray:
        """Log precision of f at latent points, (M,), the mean over outputs: the grey picture.

        On a grid: ``model.log_precision(grid_points(limits, 60)).reshape(60, 60)``.
        """
        X = self.check_latent(X)
        if self.map_.certain_because:
            raise TypeError(f"{type(self).__name__} has no log_precision: {self.map_.certain_because}.")
        variance = distinct_columns(self.map_.moments(X)[1])
        return -np.mean(np.log(np.maximum(variance, 1e-12 * np.max(variance))), axis=1)  # (5.9)

    def sample(self, n_samples=1, random_state=None) -> tuple[np.ndarray, np.ndarray]:
        """New rows (n, D) and the latent points (n, q) that they were drawn at."""
        n = self.check_n_samples(n_samples)
        rng = checks.random_state(self.random_state if random_state is None else random_state)
        X = self.draw_latent(n, rng)
        return self.map_.draw_at(X, rng), X

    def draw_latent(self, n_samples, rng) -> np.ndarray:
        """Latent points by lot, (n, q), from `latent_density`."""
        return self.latent_density().sample(n_samples, rng)

    def latent_density(self) -> LatentDensity:
        """p(x), where `sample` draws latent points and over which `score_samples` averages.

        The prior N(0, I) where the model has integrated its latent points out under it. Where the positions of the
        training rows are parameters, they need not look like draws from any prior: then p(x) is what they themselves
        say, a small Gaussian at each, its width chosen by leaving one out (chapter 5, "Where do points come from?").
        """
        check_is_fitted(self)
        if self.map_.latent_prior == "gaussian" and not self.map_.positions_are_parameters:
            return UnitGaussian(self.embedding_.shape[1])
        known = self.__dict__.get("_density_of_positions")
        if known is None or known.centres is not self.embedding_:
            known = self._density_of_positions = position_density(self.embedding_)
        return known

    # --- from data to latent space ----------------------------------------------------------------------------
    def check_rows(self, Y, gaps=True) -> np.ndarray:
        """New rows as `check_data` leaves them, with at least one value in each."""
        return checks.observed_rows(self.check_data(Y, reset=False, gaps=gaps))

    def near_places(self, Y, n_starts) -> np.ndarray:
        """Latent positions of the training rows nearest to each row of Y, (M, n_starts, q): where a search begins."""
        return self.embedding_[nearest_rows(Y, self.rows_, checks.whole_number("n_starts", n_starts))]

    def place(self, Y, n_starts=5) -> Places:
        """Where new rows may lie, as `Places`: the ends of several searches for each, best first; NaN is a gap."""
        Y = self.check_rows(Y)
        return search_places(self.map_, Y, self.near_places(Y, n_starts))

    def transform(self, Y, n_starts=5) -> np.ndarray:
        """Latent positions of new rows, (M, q): the best end of searches from the places of near neighbours."""
        Y = self.check_rows(Y, gaps=False)
        return best_place(self.map_, Y, self.near_places(Y, n_starts))[0]

    def recover(self, Y, n_starts=5) -> tuple[np.ndarray, ...]:
        """What rows with gaps say: p(x | y) as mean and variance (M, q), and mean and variance of f, (M, D).

        Averages over `latent_draws`: where a row may lie in two places, both count, equation (D.3).
        """
        draws = self.latent_draws(Y, n_starts)
        rows = zip(draws.X, draws.shares(), strict=True)
        mean, variance = zip(*(mix(shares, *self.map_.moments(X)) for X, shares in rows), strict=True)
        return *draws.moments(), np.array(mean), np.array(variance)

    def reconstruct(self, Y, n_starts=5, noise=False) -> Reconstruction:
        """Expected value of EVERY entry of new rows, as `Reconstruction`: gaps (NaN) filled, the rest freed of noise.

        With `noise` the deviations are those of a new observation y; without, of E[y | f].
        """
        checks.flag("noise", noise)
        X, S, mean, variance = self.recover(Y, n_starts)
        std = self.map_.deviation(mean, variance, noise)
        return Reconstruction(self.map_.expectation(mean, variance), np.broadcast_to(std, mean.shape).copy(), X, S)

    def impute(self, Y, return_std=False, n_starts=5, calibrated=None):
        """Y with each gap filled by its expected value; optionally deviations of a new observation, else 0.

        Parameters
        ----------
        Y : array (M, D)
            NaN is a gap.
        return_std : bool
            The deviations as well, (M, D): ``filled +- 1.96 std`` is meant to hold 95 % of what is hidden. A DataFrame
            comes back as one.
        n_starts : int
            Searches for the place of each row.
        calibrated : bool or None
            Multiply the model's own deviations by `deviation_factor`, that of training rows or of new rows, whichever
            each is. None: yes for models whose own are known to be too small (`measures_deviations`). It takes another
            fit, once.
        """
        checks.flag("return_std", return_std)
        both = self._filled_numbers(Y, return_std, n_starts, calibrated)
        filled, std = (tables.like(Y, numbers) for numbers in both)
        return (filled, std) if return_std else filled

    def _filled_numbers(self, Y, return_std, n_starts, calibrated) -> tuple[np.ndarray, np.ndarray]:
        """What `impute` returns, as arrays of numbers: filled rows, and deviations, 0 unless `return_std`."""
        wider = self.measures_deviations if calibrated is None else checks.flag("calibrated", calibrated)
        found = self.reconstruct(Y, n_starts, noise=True)
        Y = self.check_data(Y, reset=False, gaps=True)
        gaps = np.isnan(Y)
        filled = np.where(gaps, found.mean, Y)
        if not return_std:
            return filled, np.zeros_like(filled)
        factors, numbers = np.ones_like(filled), self.number_columns()
        wanted = (gaps & numbers).any(axis=1)
        if wider and wanted.any():
            known = {row.tobytes() for row in self.rows_[:, numbers]}
            new = np.array([row.tobytes() not in known for row in Y[:, numbers]])
            for kind in np.unique(new[wanted]):
                factors[np.ix_(new == kind, numbers)] = self.deviation_factor(bool(kind))
        return filled, np.where(gaps, factors * found.std, 0.0)

    def deviation_factor(self, new_rows=False) -> float:
        """By how much deviations of filled numbers are too small (above 1) or too large, measured by a second fit.

        The model is fitted once more without some entries of its training rows, which are then filled: the factor
        makes intervals of 95 % hold 95 % of them. With `new_rows` whole rows are left out, and some of their entries
        filled. Each is kept until the next fit. Appendix D, equation (D.4).
        """
        check_is_fitted(self)
        new_rows = checks.flag("new_rows", new_rows)
        known = self.__dict__.get("_measured")
        if known is None or known[0] is not self.embedding_:
            known = self._measured = (self.embedding_, dict[bool, float]())
        if new_rows not in known[1]:
            known[1][new_rows] = self._measure(new_rows)
        return known[1][new_rows]

    def _measure(self, new_rows):
        """`calibration.measured_factor`, with a word where it could not be measured or is very large."""
        name = type(self).__name__
        try:
            factor = measured_factor(self, new_rows)
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            checks.warn(
                f"How far {name} is off where it has not seen an entry could not be measured, so the deviations are "
                f"the model's own, and may be too small: a second fit, without some entries, failed ({error})"
            )
            return 1.0
        if factor > TOO_SURE:
            checks.warn(
                f"{name} is too sure of itself: entries that it did not see were {factor:.3g} times as far off as it "
                "said. It has learnt its rows by heart; make it simpler (fewer latent dimensions, basis functions or "
                "active points), or give it more rows."
            )
        return factor

    def number_columns(self) -> np.ndarray:
        """Which columns of the data hold numbers with Gaussian noise, (D,); here all."""
        return np.ones(self.rows_.shape[1], dtype=bool)

    def as_given(self, Y):
        """Rows of numbers (M, D), such as samples, as `fit` took the data: with the names of the columns, if any."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")  # that is why we are asked
            Y = self.check_data(Y, reset=False, gaps=True)
        return self._named(Y)

    def _named(self, Y):
        names = getattr(self, "feature_names_in_", None)
        return Y if names is None else tables.named(Y, names)

    def latent_draws(self, Y, n_starts=5, n_samples=N_SAMPLES, random_state=None) -> LatentDraws:
        """Weighted draws from p(x | y) of new rows, as `LatentDraws`; NaN is a gap. Arguments as in `score_samples`."""
        n_samples = checks.whole_number("n_samples", n_samples, at_least=8)
        Y, density = self.check_rows(Y), self.latent_density()
        n_starts = checks.whole_number("n_starts", n_starts)
        checks.room(f"n_samples={n_samples}", n_samples, max(self.map_.row_size, self.embedding_.shape[1] ** 2))
        parts = []
        for some in np.array_split(Y, max(1, len(Y) * n_samples // ROWS)):
            summits = find_summits(self.map_, some, self.near_places(some, n_starts), density)
            parts.append(importance_sample(self.map_, some, summits, density, n_samples, random_state))
        return LatentDraws(*(np.concatenate(both) for both in zip(*parts, strict=True)))

    def score_samples(self, Y, n_starts=5, n_samples=N_SAMPLES, random_state=None, return_error=False):
        """ln p(y) of the observed entries of new rows, (M,): the latent point is integrated out over p(x).

        Parameters
        ----------
        Y : array (M, D)
            NaN is a gap.
        n_starts : int
            Searches for the summits of each row.
        n_samples : int
            Draws for each row, around its summits and from p(x) (`latent_density`).
        random_state : None, int, RandomState or Generator
            None: the same lots in every call.
        return_error : bool
            The standard error of each value as well, (M,).

        Notes
        -----
        By importance sampling, appendix D, equations (D.1) and (D.2). The value at the best position, which is no
        density of y, is `best_log_density`.
        """
        checks.flag("return_error", return_error)
        values, errors = marginal_log_density(self.latent_draws(Y, n_starts, n_samples, random_state))
        return (values, errors) if return_error else values

    def best_log_density(self, Y, n_starts=5) -> np.ndarray:
        """ln p(y | x) of new rows at the best latent position, (M,): larger than ln p(y), and no density of y.

        With more latent dimensions there are more positions to choose from, so this can't choose between models:
        `score_samples` can.
        """
        Y = self.check_rows(Y)
        return self.map_.log_density(Y, self.place(Y, n_starts).X[:, 0])[0]


class CodedColumns(MapModel):
    """A model with a map that takes tables whose columns hold words.

    A pandas DataFrame with categorical columns, or columns of words, is coded as numbers before the model sees it, in
    `fit` and ever after, and `impute` gives a DataFrame back. `n_features_in_` counts the columns of the table,
    `coding_.names` has those of the numbers; `coding_` is None where the data were numbers. What comes out of
    `inverse_transform`, `reconstruct` and `sample` has the columns of the numbers, and may be passed in again;
    `as_given` puts it into words.

    The subclass writes `codes_one_hot(number, column, names)`: how a `tables.Column` of categories is coded.
    """

    coding_: tables.Coding | None

    def read_numbers(self, Y, reset, min_samples) -> np.ndarray:
        """As in every model, and words are coded."""
        coding = None if reset else self.coding_
        if reset and tables.has_categories(Y):
            checks.parameters(self)
            names = [str(name) for name in Y.columns]
            coding = tables.read_coding(Y, lambda number, column: self.codes_one_hot(number, column, names))
        if reset:
            self.coding_ = coding
        if coding is None:
            return super().read_numbers(Y, reset, min_samples)
        if tables.is_table(Y):
            validate_data(self, Y, reset=reset, skip_check_array=True)
            Y = tables.encode(Y, coding)
        Y = check_array(Y, dtype=np.float64, copy=reset, ensure_min_samples=min_samples, ensure_all_finite=False)
        if Y.shape[1] != len(coding.names):
            raise ValueError(
                f"{type(self).__name__} was fitted to a table with categories: pass a DataFrame with the same columns, "
                f"or an array of numbers with the {len(coding.names)} columns of coding_.names, got {Y.shape[1]}."
            )
        return Y

    def _named(self, Y):
        return super()._named(Y) if self.coding_ is None else tables.decode(Y, self.coding_)

    def impute(self, Y, return_std=False, n_starts=5, calibrated=None):
        """Y with each gap filled by its expected value; optionally deviations of a new observation, else 0.

        Arguments as in every model (`MapModel.impute`); the deviations of numbers alone are calibrated. A table with
        categories comes back as one, with the likeliest category in a gap (of an ordered one the level nearest to the
        expected one), and so do its deviations: of a category that of the answer yes or no to "is it this one?", of an
        ordered one in levels.
        """
        checks.flag("return_std", return_std)
        if self.coding_ is None or not tables.is_table(Y):
            return super().impute(Y, return_std, n_starts, calibrated)
        filled, std = self._filled_numbers(Y, return_std, n_starts, calibrated)
        table, deviations = tables.fill_table(Y, filled, std, self.coding_)
        return (table, deviations) if return_std else table


def expected_failed_checks(estimator) -> dict:
    """The checks of scikit-learn that can't hold for this estimator: {check: mathematical reason}.

    Pass it on: ``check_estimator(model, expected_failed_checks=expected_failed_checks(model))``.

    Examples
    --------
    >>> from gplvm_edu import PPCA
    >>> expected_failed_checks(PPCA())
    {}
    """
    return dict(getattr(estimator, "failing_checks", {}))
