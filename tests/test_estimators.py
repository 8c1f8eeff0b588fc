"""What holds for every estimator, once: the contract, the loop, the map and its questions, gaps, seeds, bad input.

Each estimator goes through one table of properties. So does the model that the README writes in forty lines: what
comes for free to a new model is what is tested here.
"""

import inspect
import os
import pickle
import re
import subprocess
import sys
import warnings
from functools import cache

import numpy as np
import pytest
from common import QUESTIONS
from models import CLASSES, QUICK
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import check_estimator

import gplvm_edu
from gplvm_edu import (
    GPLVM,
    GTM,
    PPCA,
    TSNE,
    BatchSOM,
    BayesianGPLVM,
    ClassicalMDS,
    DualPPCA,
    FactorAnalysis,
    GenerativeClassifier,
    Isomap,
    KernelPCA,
    MetricMDS,
    MinorComponents,
    NonMetricMDS,
    ProbabilisticKernelPCA,
    SammonMapping,
    SemiLinearGTM,
    SparseGPLVM,
    TSNEPriorGPLVM,
    checks,
)
from gplvm_edu.base import CONVERGED, IterativeFit, MapModel, ObjectiveFellWarning, expected_failed_checks
from gplvm_edu.kernels import Linear
from gplvm_edu.maps import KernelMap
from gplvm_edu.noise import Gaussian, Ordinal, Poisson, Probit

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:With n_neighbors"),
]


LATENT = [name for name in CLASSES if name != "GenerativeClassifier"]
ITERATIVE = [name for name in LATENT if issubclass(CLASSES[name], IterativeFit)]
MAPPED = [name for name in LATENT if issubclass(CLASSES[name], MapModel)]
NOISY = {  # other noise than Gaussian, of the sparse model; columns: numbers n, 1 and 0 b (binary), levels l, counts c
    "Probit noise": (Probit(), "bbbbb"),
    "Ordinal noise": (Ordinal(), "lllll"),
    "Poisson noise": (Poisson(), "ccccc"),
    "PerColumn noise": ([Gaussian(0.1), Gaussian(0.1), Probit(), Probit(), Ordinal()], "nnbbl"),
}


@cache
def data(seed=0, N=40, D=5):
    """A bent sheet in five dimensions, with a little noise; never changed (tests check that)."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.5, 1.5, (N, 2))
    W, V = rng.standard_normal((2, D)), 0.4 * rng.standard_normal((2, D))
    Y = 2.0 + X @ W + X**2 @ V + 0.1 * rng.standard_normal((N, D))
    Y.setflags(write=False)
    return Y


@cache
def rows(name):
    """The data that a model of the table is fitted to."""
    if name not in NOISY:
        return data()
    kinds = {"n": data(), "b": 1.0 * (data() > np.median(data(), axis=0)), "l": np.digitize(data(), (1.0, 3.0))}
    kinds["c"] = np.round(np.maximum(data(), 0.0))
    Y = np.column_stack([kinds[kind][:, d] for d, kind in enumerate(NOISY[name][1])])
    Y.setflags(write=False)
    return Y


def make(name, **parameters):
    if name in NOISY:
        return make("SparseGPLVM", noise=NOISY[name][0], **parameters)
    known = CLASSES[name]().get_params()
    seed = {"random_state": 0} if "random_state" in known else {}
    return CLASSES[name](**{**QUICK.get(name, {}), **seed, **parameters})


def labels(Y):
    return np.arange(len(Y)) % 2


def fit(model, Y=None):
    Y = data() if Y is None else Y
    return model.fit(Y, labels(Y)) if isinstance(model, ClassifierMixin) else model.fit(Y)


@cache
def fitted(name):
    """One fitted model of each kind; nobody may change it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(make(name), rows(name))


def gappy(Y, seed=1, share=0.1):
    holes = np.random.default_rng(seed).random(Y.shape) < share
    holes[np.arange(len(Y)), np.arange(len(Y)) % Y.shape[1]] = False  # a value in every row
    return np.where(holes, np.nan, Y)


def reason_against(model, method):
    """The mathematical reason why a model does not answer a question, or None."""
    reason = type(model).why_not.get(method)
    if reason is None and method == "log_precision" and hasattr(model, "map_"):
        reason = model.map_.certain_because or None
    return reason


# ---------------------------------------------------------------------- the table
def answer(model, method):
    """What one method says about three rows or three latent points."""
    ask, Y = getattr(model, method), data()[:3]
    if isinstance(model, ClassifierMixin):
        return ask(Y, labels(Y)) if method == "score" else ask(Y)
    X = model.embedding_[:3]
    asked = {"inverse_transform": X, "jacobian": X, "log_precision": X, "sample": 3}
    return ask(asked.get(method, Y))


def shapes(model, method, result):
    """The rule of shapes for one answer: M = 3 rows, D columns, q latent dimensions."""
    q, D = 0 if isinstance(model, ClassifierMixin) else model.embedding_.shape[1], data().shape[1]
    return {
        "transform": lambda r: r.shape == (3, q),
        "inverse_transform": lambda r: r.shape == (3, D),
        "place": lambda r: r.X.shape[::2] == (3, q) and r.values.shape == r.X.shape[:2],
        "reconstruct": lambda r: [part.shape for part in r] == [(3, D), (3, D), (3, q), (3, q)],
        "impute": lambda r: r.shape == (3, D),
        "score_samples": lambda r: r.shape == (3,),
        "score": lambda r: isinstance(r, float),
        "log_precision": lambda r: r.shape == (3,),
        "jacobian": lambda r: r.shape == (3, D, q),
        "sample": lambda r: [part.shape for part in r] == [(3, D), (3, q)],
    }[method](result)


@pytest.mark.parametrize("method", QUESTIONS)
@pytest.mark.parametrize("name", CLASSES)
def test_every_question_is_answered_in_one_shape_or_refused_with_its_reason(name, method):
    model = fitted(name)
    reason = reason_against(model, method)
    if reason is None:
        assert shapes(model, method, answer(model, method)), (name, method)
    else:
        with pytest.raises((AttributeError, TypeError), match=re.escape(reason)):
            answer(model, method)


def test_the_table_of_estimators_and_questions(record_property):
    """24 estimators against ten questions: yes, or the number of the reason below; shown when all tests have run."""
    reasons, lines = {}, [" " * 24 + "".join(f"{method[:11]:>13}" for method in QUESTIONS)]
    for name in CLASSES:
        if name == "QuadraticPCA":
            continue
        cells = []
        for method in QUESTIONS:
            reason = reason_against(fitted(name), method)
            yes = "accuracy" if method == "score" and issubclass(CLASSES[name], ClassifierMixin) else "yes"
            cells.append(yes if reason is None else f"({reasons.setdefault(reason, len(reasons) + 1)})")
        lines.append(f"{name:24}" + "".join(f"{cell:>13}" for cell in cells))
    assert len(lines) == 25
    assert all(len(reason) > 20 and not reason.endswith(".") for reason in reasons)
    lines += [f"({number}) {reason}" for reason, number in reasons.items()]
    record_property("table", "which estimator answers which question\n" + "\n".join(lines))


def test_the_score_of_a_classifier_is_its_accuracy_and_no_density():
    model, Y = fitted("GenerativeClassifier"), data()
    assert model.score(Y, labels(Y)) == np.mean(model.predict(Y) == labels(Y))


def test_deviations_are_asked_for_in_one_way_and_a_som_says_why_it_has_none():
    for name in (name for name in LATENT if "inverse_transform" not in CLASSES[name].why_not):
        assert list(inspect.signature(CLASSES[name].inverse_transform).parameters)[1:] == ["X", "return_std", "noise"]
    for asked in (dict(return_std=True), dict(noise=True)):
        with pytest.raises(TypeError, match="BatchSOM has no deviations: a SOM has no noise model"):
            fitted("BatchSOM").inverse_transform(fitted("BatchSOM").embedding_, **asked)


def test_no_estimator_is_forgotten():
    assert len(CLASSES) == 25 and len(ITERATIVE) == 19 and set(QUICK) <= set(CLASSES)
    assert {name for name in CLASSES if "max_iter" in CLASSES[name]().get_params()} - {"GenerativeClassifier"} == set(
        ITERATIVE
    )


# ---------------------------------------------------------------------- scikit-learn's contract
CONTRACT = [
    PPCA(),
    PPCA(1),
    FactorAnalysis(max_iter=100),
    FactorAnalysis(1, max_iter=100),
    DualPPCA(),
    DualPPCA(1),
    KernelPCA(),
    KernelPCA(1),
    KernelPCA(shrink=True),
    ClassicalMDS(),
    ClassicalMDS(1),
    MinorComponents(),
    MinorComponents(1),
    MinorComponents(1, reverse=True),
    ProbabilisticKernelPCA(),
    ProbabilisticKernelPCA(1),
    ProbabilisticKernelPCA(method="em", max_iter=1500, random_state=0),
    GPLVM(max_iter=5),
    GPLVM(1, max_iter=5, optimiser="scg", latent_prior=None),
    Isomap(),
    Isomap(1),
    MetricMDS(max_iter=30),
    MetricMDS(1, init="random", random_state=0, max_iter=30),
    SammonMapping(max_iter=30),
    SammonMapping(1, init="random", optimiser="scg", random_state=0, max_iter=30),
    NonMetricMDS(max_iter=30),
    NonMetricMDS(1, ties="secondary", max_iter=30),
    SparseGPLVM(n_active=10, max_iter=1),
    SparseGPLVM(1, 5, max_iter=1, noise=Gaussian(0.1)),
    GTM(),
    GTM(grid=(20,), basis=(5,), alpha=0.1),
    GTM(grid=(6, 6), batch_size=7),
    BatchSOM(grid=(6, 6)),
    *(
        make(name)
        for name in ("ManifoldAlignedGTM", "DiscreteGTM", "SemiLinearGTM", "BayesianGTM", "GaussianProcessGTM")
    ),
    SemiLinearGTM(grid=(6,), basis=(2,), max_iter=8),
    TSNE(max_iter=50),
    TSNEPriorGPLVM(max_iter=5, init="pca"),
    BayesianGPLVM(max_iter=5),
    BayesianGPLVM(1, n_inducing=5, latent="point", max_iter=5),
    BayesianGPLVM(2, kernel=Linear(), max_iter=5, optimiser="scg"),
    GenerativeClassifier(1, n_inducing=3, max_iter=3, random_state=0),
    make("QuadraticPCA"),
]


@pytest.mark.contract
@pytest.mark.oracle
@pytest.mark.parametrize("model", CONTRACT, ids=repr)
@pytest.mark.filterwarnings("ignore:Skipping check check_array_api", "ignore:.*exact copies")
def test_the_scikit_learn_contract(model):
    check_estimator(model, expected_failed_checks=expected_failed_checks(model), on_skip=None)


DEFAULTS = """
import sys, warnings
warnings.simplefilter("ignore")
import gplvm_edu
from gplvm_edu.base import expected_failed_checks
from sklearn.utils.estimator_checks import check_estimator
model = getattr(gplvm_edu, sys.argv[1])()
results = check_estimator(model, expected_failed_checks=expected_failed_checks(model), on_fail=None, on_skip=None)
failed = [(one["check_name"], str(one["exception"])[:200]) for one in results if one["status"] == "failed"]
print(len(results), failed)
sys.exit(bool(failed))
"""


@pytest.mark.fuzz
@pytest.mark.contract
@pytest.mark.parametrize("n_threads", ["1", "2"])
@pytest.mark.parametrize("name", [name for name in CLASSES if name != "QuadraticPCA"])
def test_the_scikit_learn_contract_at_default_settings_on_one_and_on_two_threads(name, n_threads):
    threads = {key: n_threads for key in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    run = [sys.executable, "-c", DEFAULTS, name]
    done = subprocess.run(run, env=os.environ | threads, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-500:]


class Falling(CLASSES["QuadraticPCA"]):
    """A model that loses a nat in its second step, or its senses."""

    value = None

    def iterates(self, Y):
        for step, state in enumerate(super().iterates(Y)):
            yield state if step != 2 else state._replace(value=state.value - 1e3 if self.value is None else self.value)


def test_an_objective_that_falls_although_it_can_not_is_told():
    with pytest.warns(ObjectiveFellWarning, match=r"The objective of Falling fell from .* in step 2, and it can't"):
        Falling(max_iter=3, tol=0.0).fit(data())
    Falling.may_fall = "it is told so"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ObjectiveFellWarning)
            Falling(max_iter=3, tol=0.0).fit(data())
    finally:
        Falling.may_fall = ""


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_fit_that_leaves_the_finite_numbers_says_so_and_keeps_the_last_good_state(value):
    model = Falling(max_iter=3, tol=0.0)
    model.value = value
    with pytest.raises(checks.NotFiniteError, match="After step 2 the objective of Falling is"):
        model.fit(data())
    assert len(model.history_) == 2 and np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("name", CLASSES)
def test_a_clone_has_the_same_parameters_and_fits_the_same_model(name):
    model = make(name)
    again = clone(model)
    assert again is not model and repr(again) == repr(model)
    assert again.get_params().keys() == model.get_params().keys()
    if name in LATENT:
        assert_array_equal(fit(again).embedding_, fitted(name).embedding_)


@pytest.mark.parametrize("name", CLASSES)
def test_a_fitted_model_survives_pickling(name):
    model = fitted(name)
    again = pickle.loads(pickle.dumps(model))
    if name == "GenerativeClassifier":
        assert_array_equal(again.predict_proba(data()[:3]), model.predict_proba(data()[:3]))
        return
    assert_array_equal(again.embedding_, model.embedding_)
    for method in ("transform", "score_samples"):
        if reason_against(model, method) is None:
            assert_allclose(answer(again, method), answer(model, method), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", LATENT)
def test_fitting_again_forgets_the_first_fit_and_never_touches_the_data(name):
    Y = data(3).copy()
    model = fit(make(name), data(1)[:30])
    fit(model, Y)
    assert_array_equal(Y, data(3))
    assert_array_equal(model.embedding_, fit(make(name), data(3)).embedding_)
    if name in MAPPED:
        Y[:] = 0.0
        assert model.rows_.any()  # a copy, not the caller's array


# ---------------------------------------------------------------------- random states
SEEDED = [name for name in LATENT if "random_state" in CLASSES[name]().get_params()]
KINDS = {
    "int": lambda: 3,
    "numpy int": lambda: np.int64(3),
    "RandomState": lambda: np.random.RandomState(3),
    "Generator": lambda: np.random.default_rng(3),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SEEDED)
@pytest.mark.long
def test_a_random_state_of_any_kind_decides_everything(name, kind):
    random_start = {"init": "random"} if make(name).get_params().get("init") in ("pca", "classical") else {}
    one, other = (fit(make(name, random_state=KINDS[kind](), **random_start)) for _ in range(2))
    assert_array_equal(one.embedding_, other.embedding_)
    if reason_against(one, "sample") is None:
        assert_array_equal(one.sample(4, KINDS[kind]())[0], other.sample(4, KINDS[kind]())[0])


@pytest.mark.parametrize("name", SEEDED)
def test_no_random_state_at_all_works(name):
    assert np.isfinite(fit(make(name, random_state=None)).embedding_).all()


@pytest.mark.bad_input
@pytest.mark.parametrize("wrong", ["dice", -1, 1.5, True, 2**32, [1, 2]], ids=repr)
@pytest.mark.parametrize("name", [*SEEDED, "GenerativeClassifier"])
def test_a_wrong_random_state_is_named_before_any_work(name, wrong):
    model = make(name, random_state=wrong)
    with pytest.raises(ValueError, match="random_state must be"):
        fit(model)
    assert not [attribute for attribute in vars(model) if attribute.endswith("_")]


@pytest.mark.parametrize("kind", ["RandomState", "Generator"])
@pytest.mark.parametrize("name", SEEDED)
def test_looking_at_a_random_state_draws_nothing_from_it(name, kind):
    one, other = KINDS[kind](), KINDS[kind]()
    make(name, random_state=one).check_data(data())
    assert_array_equal(one.standard_normal(3), other.standard_normal(3))


@pytest.mark.bad_input
@pytest.mark.parametrize("name", [n for n in SEEDED if reason_against(fitted(n), "sample") is None])
def test_a_wrong_random_state_of_a_draw_is_named(name):
    with pytest.raises(ValueError, match="random_state must be"):
        fitted(name).sample(2, random_state="dice")


# ---------------------------------------------------------------------- the loop
@pytest.mark.parametrize("name", ITERATIVE)
def test_states_have_a_value_positions_and_a_reason_to_stop(name):
    model = make(name)
    states = list(model.iterates(data()))
    assert all(isinstance(float(state.value), float) and np.isfinite(state.value) for state in states)
    assert {state.X.shape for state in states} == {fitted(name).embedding_.shape}
    assert all(np.isfinite(state.X).all() for state in (states[0], states[-1]))
    assert all(state.stopped == "" for state in states[:-1]) or name == "TSNEPriorGPLVM"  # it climbs several times
    assert states[-1].stopped in ("", "max_iter", *CONVERGED)
    assert states[-1].stopped != "schedule" or "tol" not in model.get_params()  # no schedule where there is another end
    assert_allclose(fitted(name).history_, [state.value for state in states], rtol=1e-12)


@pytest.mark.parametrize("name", ITERATIVE)
def test_a_state_can_be_taken_up_by_the_estimator(name):
    model = make(name)
    *_, last = model.iterates(data())
    assert model.set_state(last) is model
    assert_allclose(model.embedding_, fitted(name).embedding_, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ITERATIVE)
def test_fit_reports_its_steps_and_warns_when_they_were_too_few(name):
    model = fitted(name)
    assert model.history_.ndim == 1 and model.n_iter_ >= 1 and isinstance(model.converged_, bool)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        again = fit(make(name))
    told = [w for w in caught if issubclass(w.category, ConvergenceWarning) and name in str(w.message)]
    assert bool(told) == (not again.converged_)
    if told:
        assert f"max_iter={again.max_iter}" in str(told[-1].message)


@pytest.mark.parametrize("name", ITERATIVE)
def test_no_steps_are_none_and_leave_the_start(name):
    Y = gappy(data()) if name == "PPCA" else data()  # complete data have a closed form
    model = fit(make(name, max_iter=0), Y)
    start = next(make(name, max_iter=3).iterates(Y))
    assert model.n_iter_ == 0 and len(model.history_) == 1
    assert_allclose(model.history_[0], start.value, rtol=1e-12)
    assert model.converged_ == (name in ("SparseGPLVM", "BatchSOM"))  # schedules: nothing else ends them


@pytest.mark.parametrize("name", [name for name in ITERATIVE if "tol" in CLASSES[name]().get_params()])
def test_two_steps_are_no_convergence(name):
    """Where there is a tolerance, a fit that runs out of steps says so."""
    Y = gappy(data()) if name == "PPCA" else data()
    with pytest.warns(ConvergenceWarning, match=f"{name} stopped at max_iter=2"):
        model = fit(make(name, max_iter=2, tol=0.0), Y)
    assert not model.converged_


def test_a_closed_form_is_one_step_whatever_the_number_allowed():
    for model in (PPCA(max_iter=0), ProbabilisticKernelPCA(max_iter=0)):
        assert model.fit(data()).n_iter_ == 1 and model.converged_


@pytest.mark.parametrize("name", ITERATIVE)
def test_an_interrupted_fit_keeps_its_last_state(name):
    class Impatient(CLASSES[name]):
        def iterates(self, Y):
            for step, state in enumerate(super().iterates(Y)):
                if step == 2:
                    raise KeyboardInterrupt
                yield state

    parameters = {key: value for key, value in make(name).get_params().items()}
    if "tol" in parameters:
        parameters["tol"] = 0.0
    model = Impatient(**parameters)
    if name == "PPCA":
        Y = gappy(data())  # complete data have a closed form: one state
    else:
        Y = data()
    with pytest.raises(KeyboardInterrupt):
        model.fit(Y)
    assert len(model.history_) == 2 and np.isfinite(model.embedding_).all() and not model.converged_


@pytest.mark.bad_input
@pytest.mark.parametrize("value", [-1, 2.5, "ten", None, np.nan])
@pytest.mark.parametrize("name", ITERATIVE)
def test_a_wrong_max_iter_is_named_before_any_work(name, value):
    model = make(name).set_params(max_iter=value)
    with pytest.raises(ValueError, match="max_iter"):
        model.fit(gappy(data()) if name == "PPCA" else data())


# ---------------------------------------------------------------------- gaps
@pytest.mark.parametrize("name", LATENT)
def test_gaps_are_integrated_out_or_refused_by_name(name):
    model, Y = make(name), gappy(data())
    if model.allows_missing:
        fit(model, Y)
        assert np.isfinite(model.embedding_).all() and np.isfinite(model.history_).all()
    else:
        with pytest.raises(ValueError, match=f"{name} needs complete data.*PPCA.*integrate missing values out"):
            fit(model, Y)


def test_the_list_of_models_for_gaps_is_asked_of_the_models():
    told = gplvm_edu.base.models_for_gaps()
    assert set(told) >= {name for name in LATENT if CLASSES[name].allows_missing} - {"QuadraticPCA"}


@pytest.mark.parametrize("name", [*MAPPED, *NOISY])
def test_impute_keeps_what_was_observed_and_fills_the_rest(name):
    model, Y = fitted(name), gappy(rows(name)[:6], seed=4, share=0.3)
    if reason_against(model, "impute"):
        return
    filled, std = model.impute(Y, return_std=True)
    gaps = np.isnan(Y)
    assert_array_equal(filled[~gaps], Y[~gaps])
    assert np.isfinite(filled).all() and (std[gaps] > 0).all() and (std[~gaps] == 0).all()
    own = model.impute(Y, return_std=True, calibrated=False)[1]
    assert (own[gaps] >= model.reconstruct(Y).std[gaps]).all()


@pytest.mark.parametrize("name", [*MAPPED, *NOISY])
def test_a_reconstruction_is_near_the_rows_it_came_from(name):
    found, Y = fitted(name).reconstruct(rows(name)), rows(name)
    errors = np.mean((found.mean - Y) ** 2)
    assert errors < Y.var() and (found.std >= 0).all() and (found.latent_variance >= 0).all()
    assert (fitted(name).reconstruct(Y, noise=True).std >= found.std - 1e-12).all()


# ---------------------------------------------------------------------- the map
@pytest.mark.parametrize("name", MAPPED)
def test_no_place_is_better_for_a_training_row_than_the_one_found(name):
    model = fitted(name)
    found = model.place(data())
    assert (np.diff(found.values, axis=1) <= 1e-9).all()  # best first
    if name == "DualPPCA":  # it maximises the expected log density over its weights, in closed form
        assert_allclose(found.X[:, 0], model.embedding_, rtol=1e-8, atol=1e-10)
        return

    def value(X):
        prior = 0.5 * np.sum(X**2, axis=1) if model.map_.latent_prior == "gaussian" else 0.0
        return model.map_.log_density(data(), X)[0] - prior

    assert_allclose(found.values[:, 0], value(found.X[:, 0]), rtol=1e-8, atol=1e-8)
    assert (found.values[:, 0] >= value(model.embedding_) - 1e-6).mean() >= 0.95


@pytest.mark.parametrize("name", MAPPED)
@pytest.mark.long
def test_a_row_is_placed_alike_alone_and_in_company(name):
    """Many starts, rows drawn from the model and one that is nowhere near: nobody's search may disturb another's."""
    model = fitted(name)
    Y = np.vstack([model.sample(8, random_state=5)[0], 50.0 * data()[:1]])
    together = model.place(Y, n_starts=12)
    if name != "DualPPCA":
        prior = 0.5 * np.sum(together.X[:, 0] ** 2, axis=1) if model.map_.latent_prior == "gaussian" else 0.0
        places = zip(Y, together.X[:, 0], strict=True)
        values = np.array([model.map_.log_density(y[None], x[None])[0][0] for y, x in places]) - prior
        assert_allclose(together.values[:, 0], values, rtol=1e-6, atol=1e-6)
    alone = np.array([model.place(y[None], n_starts=12).values[0, 0] for y in Y[:3]])
    assert_allclose(together.values[:3, 0], alone, rtol=1e-6, atol=1e-5)


@pytest.mark.long
def test_searches_that_lose_their_way_do_not_blur_the_others():
    """Far from its nodes a process without a prior is flat: a trial out there must not cost other rows their digits."""
    model = CLASSES["GaussianProcessGTM"](grid=(6, 6), max_iter=40).fit(data())
    Y = model.sample(40, random_state=5)[0]
    found = model.place(Y, n_starts=36)
    alone = [model.map_.log_density(y[None], x[None])[0][0] for y, x in zip(Y, found.X[:, 0], strict=True)]
    assert_allclose(found.values[:, 0], alone, rtol=1e-8, atol=1e-8)


@pytest.mark.gradient
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("name", MAPPED)
def test_the_density_of_a_row_has_the_gradient_that_it_says(name, gaps):
    map_, X = fitted(name).map_, fitted(name).embedding_[:4] + 0.05
    Y = gappy(data()[:4], seed=7, share=0.3) if gaps else data()[:4]
    if gaps and reason_against(fitted(name), "impute"):
        return
    _, gradients = map_.log_density(Y, X)
    for i in range(X.shape[1]):
        step = 1e-6 * np.eye(X.shape[1])[i]
        slope = (map_.log_density(Y, X + step)[0] - map_.log_density(Y, X - step)[0]) / 2e-6
        assert_allclose(gradients[:, i], slope, rtol=2e-4, atol=2e-4 * max(1.0, np.abs(gradients).max()))


@pytest.mark.gradient
@pytest.mark.parametrize("name", [*MAPPED, *NOISY])
def test_the_jacobian_is_the_derivative_of_the_map(name):
    """Of the expected data where the noise is Gaussian, of the mean of f with any noise."""
    model, X = fitted(name), fitted(name).embedding_[:4] + 0.05
    mean = (lambda x: model.map_.moments(x)[0]) if name in NOISY else model.inverse_transform
    J = model.jacobian(X)
    for i in range(X.shape[1]):
        step = 1e-6 * np.eye(X.shape[1])[i]
        slope = (mean(X + step) - mean(X - step)) / 2e-6
        assert_allclose(J[:, :, i], slope, rtol=1e-4, atol=1e-5 * max(1.0, np.abs(J).max()))


@pytest.mark.identity
@pytest.mark.parametrize("name", MAPPED)
def test_the_expected_metric_is_that_of_the_mean_and_something_more(name):
    model, X = fitted(name), fitted(name).embedding_[:4] + 0.05
    J, G = model.jacobian(X), model.map_.metric(X)
    more = G - np.einsum("mdi,mdj->mij", J, J)
    scale = np.abs(G).max()
    assert_allclose(G, np.swapaxes(G, 1, 2), atol=1e-9 * scale)
    assert np.linalg.eigvalsh(more).min() > -1e-8 * scale
    if model.map_.certain_because:
        assert_allclose(more, 0.0, atol=1e-9 * scale)
    assert np.isfinite(gplvm_edu.magnification_factors(model, X)).all()


@pytest.mark.identity
@pytest.mark.parametrize("name", MAPPED)
def test_deviations_are_of_one_shape_and_noise_adds_its_variance(name):
    model, X = fitted(name), fitted(name).embedding_[:4]
    mean, quiet = model.inverse_transform(X, return_std=True)
    _, loud = model.inverse_transform(X, return_std=True, noise=True)
    assert mean.shape == quiet.shape == loud.shape == (4, data().shape[1])
    least = np.broadcast_to(quiet**2 + model.map_.noise_variance, loud.shape)
    if name == "ManifoldAlignedGTM":  # noise along the sheet comes on top, another at each place
        assert (loud**2 >= least * (1 - 1e-12)).all() and loud.max() > 1.01 * np.sqrt(least.max())
    else:
        assert_allclose(loud**2, least, rtol=1e-9, atol=1e-12)
    assert_array_equal(mean, model.inverse_transform(X))


@pytest.mark.oracle
@pytest.mark.parametrize("name", NOISY)
def test_deviations_with_other_noise_are_those_of_many_draws(name):
    """f is drawn, then y: the spread of E[y | f] is the deviation without noise, that of y the one with noise."""
    model, X, rng = fitted(name), fitted(name).embedding_[:4] + 0.3, np.random.default_rng(0)
    mean, quiet = model.inverse_transform(X, return_std=True)
    _, loud = model.inverse_transform(X, return_std=True, noise=True)
    f, variance = model.map_.moments(X)
    draws = f + np.sqrt(variance) * rng.standard_normal((20_000, *f.shape))
    expected, y = model.noise_.predict(draws, 0.0), model.noise_.sample(draws, rng)
    labels = [d for d, kind in enumerate(NOISY[name][1]) if kind == "b"]
    y[..., labels] = y[..., labels] > 0  # drawn as 1 and -1, told as 1 and 0
    assert_allclose(expected.mean(axis=0), mean, atol=0.03)
    assert_allclose(expected.std(axis=0), quiet, rtol=0.04)
    assert_allclose(y.std(axis=0), loud, rtol=0.04, atol=0.01)
    assert (loud >= quiet).all() and (quiet > 0).all()


@pytest.mark.bad_input
@pytest.mark.parametrize("name", NOISY)
def test_noise_that_depends_on_f_has_no_variance_and_the_map_says_why(name):
    with pytest.raises(AttributeError, match="has no noise_variance: how far y scatters depends on f"):
        _ = fitted(name).map_.noise_variance


@pytest.mark.identity
def test_gaussian_noise_of_each_column_has_a_variance_for_each():
    noise = [Gaussian(variance, fixed="variance") for variance in (0.1, 0.2, 0.3, 0.4, 0.5)]
    model = make("SparseGPLVM", noise=noise).fit(data())
    assert_array_equal(model.map_.noise_variance, [0.1, 0.2, 0.3, 0.4, 0.5])
    X = model.embedding_[:4]
    quiet, loud = (model.inverse_transform(X, return_std=True, noise=noisy)[1] for noisy in (False, True))
    assert_allclose(loud**2, quiet**2 + model.map_.noise_variance, rtol=1e-12)


@pytest.mark.parametrize("name", MAPPED)
def test_samples_have_the_seed_they_were_given(name):
    model = fitted(name)
    assert_array_equal(model.sample(5, random_state=2)[0], model.sample(5, random_state=2)[0])
    Y, X = model.sample(200, random_state=2)
    assert Y.shape == (200, data().shape[1]) and X.shape == (200, model.embedding_.shape[1]) and np.isfinite(Y).all()


def test_mean_and_variance_of_a_process_are_computed_in_one_place():
    kinds = KernelMap.__subclasses__()
    assert {kind.__name__ for kind in kinds} >= {"ProcessMap", "ActiveMap", "InducingMap", "ProcessSheetMap"}
    for kind in kinds:
        assert not {"predict", "moments", "explained", "relative_deviation", "metric", "jacobian"} & set(vars(kind))


# ---------------------------------------------------------------------- bad input
@pytest.mark.bad_input
@pytest.mark.parametrize("method", ["inverse_transform", "jacobian", "log_precision"])
@pytest.mark.parametrize("name", MAPPED)
def test_latent_points_of_another_shape_are_refused(name, method):
    model = fitted(name)
    with pytest.raises(ValueError, match="latent dimensions"):
        getattr(model, method)(np.zeros((2, model.embedding_.shape[1] + 1)))
    with pytest.raises(ValueError, match="NaN or infinity"):
        getattr(model, method)(np.full((1, model.embedding_.shape[1]), np.nan))


@pytest.mark.bad_input
@pytest.mark.parametrize("wrong", [0, -1, "x", 2.5, None, True], ids=repr)
@pytest.mark.parametrize("name", MAPPED)
def test_a_wrong_number_of_starts_is_named_by_whatever_takes_one(name, wrong):
    model, Y = fitted(name), data()[:3]
    for method in ("place", "transform", "reconstruct", "impute", "score_samples", "recover"):
        if reason_against(model, method) is None:
            with pytest.raises(ValueError, match="n_starts must be a whole number of at least 1"):
                getattr(model, method)(Y, n_starts=wrong)


@pytest.mark.bad_input
@pytest.mark.parametrize("name", MAPPED)
def test_an_unfitted_model_says_so(name):
    for method in QUESTIONS:
        if method in CLASSES[name].why_not:
            continue
        with pytest.raises(NotFittedError):
            getattr(make(name), method)(3 if method == "sample" else np.zeros((3, 2)))


@pytest.mark.bad_input
@pytest.mark.parametrize("name", MAPPED)
def test_a_row_without_a_value_can_not_be_placed(name):
    row = np.full((1, data().shape[1]), np.nan)
    if name in ("PPCA", "FactorAnalysis"):  # x is integrated out: nothing observed, so the prior is left
        assert_allclose(fitted(name).place(row).X, 0.0, atol=1e-8)
        return
    with pytest.raises(ValueError, match="no observed value"):
        fitted(name).place(row)
