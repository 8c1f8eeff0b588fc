"""Input that wants to break the estimators: parameters, tables, latent points, interrupts, other people's arrays.

The contract, for every estimator and every method: a finite result, or a ValueError or TypeError whose sentence names
what was wrong; no other error, no warning of numpy's, nothing changed, nothing kept that is the caller's; after an
interrupt a whole model or the one that was there before.

In `make test` every machine tries the same examples. `make slow` tries 2,000 new ones for each estimator; a number of
your own, and how many cases were tried, in how many seconds:

    GPLVM_EDU_FUZZ=500 pytest -m fuzz -s tests/test_hostile.py

Units have a file of their own, test_units.py; hostile files, answers and names have test_hostile_data.py,
test_hostile_answers.py and test_hostile_names.py.
"""

import copy
import inspect
import os
import pickle
import sys
import time
import warnings
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import sklearn.decomposition
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from models import CLASSES
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import gplvm_edu
from gplvm_edu import GPLVM, PPCA, TSNE, BayesianGPLVM, FactorAnalysis, MinorComponents, datasets
from gplvm_edu.base import SuitedThreads

PACKAGE = str(Path(gplvm_edu.__file__).parent)
REFUSED = (ValueError, TypeError)
NAMES = [name for name in CLASSES if name != "QuadraticPCA"]
TINY = {  # settings with which a fit to ten rows takes milliseconds
    "FactorAnalysis": dict(n_components=1, max_iter=20),
    "PPCA": dict(n_components=1, max_iter=20),
    "DualPPCA": dict(n_components=1),
    "GPLVM": dict(n_components=1, max_iter=4),
    "SparseGPLVM": dict(n_components=1, n_active=5, max_iter=1, n_inactive_steps=5),
    "BayesianGPLVM": dict(n_components=1, n_inducing=4, max_iter=4),
    "GTM": dict(grid=(3, 3), basis=(2, 2), max_iter=4, terms="none"),
    "BatchSOM": dict(grid=(3, 3), max_iter=4),
    "ManifoldAlignedGTM": dict(grid=(3, 3), basis=(2, 2), max_iter=4, terms="none"),
    "DiscreteGTM": dict(grid=(3, 3), basis=(2, 2), max_iter=4, terms="none"),
    "SemiLinearGTM": dict(grid=(4,), basis=(2,), max_iter=4),
    "BayesianGTM": dict(grid=(3, 3), basis=(2, 2), max_iter=4, terms="none"),
    "GaussianProcessGTM": dict(grid=(3, 3), max_iter=4),
    "TSNE": dict(max_iter=12),
    "TSNEPriorGPLVM": dict(n_components=1, max_iter=3, init="pca"),
    "ProbabilisticKernelPCA": dict(n_components=1, max_iter=30),
    "KernelPCA": dict(n_components=1),
    "ClassicalMDS": dict(n_components=1),
    "MinorComponents": dict(n_components=1),
    "MetricMDS": dict(n_components=1, max_iter=5),
    "SammonMapping": dict(n_components=1, max_iter=5),
    "NonMetricMDS": dict(n_components=1, max_iter=5),
    "Isomap": dict(n_components=1, n_neighbors=4),
    "GenerativeClassifier": dict(n_components=1, n_inducing=3, max_iter=2),
}
# For ever is a long time: a number of steps, not a size.
STEPS = ("max_iter", "n_steps", "n_inactive_steps", "max_inner_iter")
# Public methods that ask a fitted model nothing: they fit, check, or are part of a fit.
PART_OF_A_FIT = (
    *(
        "fit",
        "fit_transform",
        "fit_predict",
        "iterates",
        "matrix_size",
        "prepare",
        "keep",
        "set_state",
        "steps",
        "start",
    ),
    *("set_params", "get_params", "set_output", "get_metadata_routing"),
    *(
        "start_parameters",
        "set_parameters",
        "start_positions",
        "energy",
        "mean_and_variance",
        "positions",
        "steps_from",
    ),
    *("make_map", "sheet_fields", "node_means", "evidence", "variance_of", "draw_latent", "latent_means", "at_nodes"),
    *("near_places", "posterior", "node_log_densities", "lower_stress", "default_kernel", "start_kernel"),
    *("read_numbers", "codes_one_hot", "first_kernel"),
)
counted = {"cases": 0, "refused": 0, "seconds": 0.0}


@cache
def data(N=12, D=4, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1, 1, (N, 1))
    Y = np.hstack([t, t**2, -t, 0.5 * t]) + 0.2 * rng.standard_normal((N, D))
    Y.setflags(write=False)
    return Y


def make(name, **parameters):
    known = CLASSES[name]().get_params()
    seed = {"random_state": 0} if "random_state" in known else {}
    return CLASSES[name](**{**TINY.get(name, {}), **seed, **parameters})


def labels(Y):
    return np.arange(len(Y)) % 2


def fit(model, Y):
    return model.fit(Y, labels(Y)) if isinstance(model, ClassifierMixin) else model.fit(Y)


@cache
def fitted(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(make(name), data())


@pytest.fixture(autouse=True)
def _nothing_doubtful():
    """Numpy's warnings are errors; ours are not: a short fit is not at its end, and an odd table is told about."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", category=UserWarning)
        yield


class collected:
    """Many small trials in one test: each may fail, and all failures are told at the end."""

    def __init__(self):
        self.found, self.trial = [], ""

    def of(self, trial):
        self.trial = trial
        return _Trial(self)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            assert not self.found, f"{len(self.found)} trials failed\n" + "\n".join(self.found)


class _Trial:
    def __init__(self, collection):
        self.collection = collection

    def __enter__(self):
        counted["cases"] += 1

    def __exit__(self, kind, error, _):
        if kind is None or not issubclass(kind, (Exception, pytest.fail.Exception)):
            return False
        self.collection.found.append(f"  {self.collection.trial}: {kind.__name__}: {str(error)[:200]}")
        return True


def demand(holds, otherwise):
    if not holds:
        raise AssertionError(otherwise)


def demand_told(error, *words):
    """An error must be a sentence in which these words stand."""
    text = str(error)
    demand(len(text) > 20 and all(word in text for word in words), f"{type(error).__name__}: {text}")


def facts(model):
    """All numbers of a fitted model, by name."""
    names = ("embedding_", "history_", "log_likelihood_", "noise_variance_", "mean_", "noise_variances_", "cost_")
    return {name: np.asarray(getattr(model, name)) for name in names if getattr(model, name, None) is not None}


def assert_finite(model):
    for name, value in facts(model).items():
        assert np.isfinite(value).all(), f"{name} of {model} is not finite"


# ---------------------------------------------------------------------- parameters
HOSTILE = [0, -1, 0.5, np.nan, np.inf, -np.inf, "text", None, np.array([1.0, 2.0]), np.array([[1.0, np.nan]]), [], {}]
HOSTILE += [object(), True, 10**9, 1e-300, 1e300, 1j, (), b"bytes", [1, "a"], np.float32(0.5), "", -(10**30), 10**400]


def parameter_cases():
    return [(name, parameter) for name in NAMES for parameter in CLASSES[name]().get_params()]


def shown(value):
    """The beginning of what an error must show of a value."""
    return " ".join(repr(value).split())[:12]


def legal_or_refused(name, parameter, value):
    """A finite model, or an error before any work in which parameter and value stand."""
    started = time.perf_counter()
    try:
        model = make(name, **{parameter: value})
        if parameter in STEPS and isinstance(value, int) and value >= 10**9:  # legal: only the start is looked at
            model = BayesianGPLVM(n_inducing=3, max_iter=value) if isinstance(model, ClassifierMixin) else model
            assert np.isfinite(next(iter(model.iterates(data()))).value)
            return
        fit(model, data())
    except REFUSED as error:
        seen = "shape" if isinstance(value, np.ndarray) and "shape" in str(error) else shown(value)
        demand_told(error, parameter, seen)
        demand(time.perf_counter() - started < 2.0, "refused, but late")
    else:
        assert_finite(model)
        if isinstance(model, ClassifierMixin):
            assert np.isfinite(model.predict_proba(data()[:2])).all()


@pytest.mark.bad_input
@pytest.mark.parametrize("name, parameter", parameter_cases())
def test_a_parameter_is_legal_or_refused_by_name_and_value(name, parameter):
    with collected() as problems:
        for value in HOSTILE:
            with problems.of(f"{parameter}={shown(value)}"):
                legal_or_refused(name, parameter, value)


@pytest.mark.parametrize("name", CLASSES)
def test_every_parameter_has_a_rule_at_the_one_door(name):
    assert set(CLASSES[name].rules) | {"random_state"} >= set(CLASSES[name]().get_params())
    assert set(CLASSES[name].rules) <= set(CLASSES[name]().get_params())


# ---------------------------------------------------------------------- methods
def questions(name):
    """Public methods of an estimator that need a fit, with the names of what they take."""
    found = {}
    for method, function in inspect.getmembers(CLASSES[name], callable):
        internal = method.startswith(("_", "check_")) or method.endswith("_request") or method in PART_OF_A_FIT
        if internal or method in CLASSES[name].why_not:
            continue
        if isinstance(function, type):
            continue
        found[method] = list(inspect.signature(function).parameters)[1:]
    return found


def method_cases():
    return [pytest.param(name, method, id=f"{name}.{method}") for name in NAMES for method in questions(name)]


def asked(model, argument):
    """A legal value for an argument of a method, by its name."""
    Y = data()[:3]
    legal = {"Y": Y, "y": labels(Y), "n_samples": 2, "n_features": 3, "noise": False, "n_points": 3, "kind": "mean"}
    if isinstance(model, ClassifierMixin):
        legal["noise"] = "own"
    if argument == "X":
        return getattr(model, "embedding_", np.zeros((3, 1)))[:3]
    if argument == "input_features":
        return None
    return legal[argument]


def ask(model, method, **chosen):
    """Call a method with legal arguments, some of them chosen; the first one has no name for scikit-learn."""
    every = arguments(model, method, **chosen)
    first = [
        every.pop(name)
        for name in list(inspect.signature(getattr(type(model), method)).parameters)[1:2]
        if name in every
    ]
    return getattr(model, method)(*first, **every)


def arguments(model, method, **chosen):
    needed = inspect.signature(getattr(type(model), method)).parameters
    plain = {
        name: asked(model, name)
        for name, p in list(needed.items())[1:]
        if p.default is inspect.Parameter.empty and p.kind is not inspect.Parameter.VAR_KEYWORD
    }
    return plain | chosen


@pytest.mark.bad_input
@pytest.mark.parametrize("name, method", method_cases())
def test_an_unfitted_model_says_that_it_is_not_fitted(name, method):
    model = make(name)
    with pytest.raises(NotFittedError):
        ask(model, method)


ROWS = {
    "text": [["a"] * 4],
    "one row as a list": [0.0, 1.0, 2.0, 3.0],
    "a number": 3.0,
    "None": None,
    "three axes": np.zeros((2, 4, 1)),
    "no rows": np.zeros((0, 4)),
    "no columns": np.zeros((3, 0)),
    "too wide": np.zeros((2, 40)),
    "complex": np.ones((2, 4)) * (1 + 1j),
    "ragged": [[0.0, 1.0], [2.0]],
    "infinite": np.full((2, 4), np.inf),
    "sparse": sparse.csr_matrix(np.eye(4)),
    "objects": np.array([[object()] * 4], dtype=object),
    "1e60": np.full((2, 4), 1e60),
    "1e160": np.full((2, 4), -1e160),
    "1e300": np.full((2, 4), 1e300),
}
POINTS = {key: value for key, value in ROWS.items() if key != "too wide"} | {
    "too wide": np.zeros((2, 40)),
    "NaN": np.full((2, 4), np.nan),
}
NUMBERS = [0, -1, 0.5, np.nan, np.inf, "text", [], np.array([1, 2]), 1j, object()]
SEEDS = [-1, 0.5, "dice", np.nan, [], object(), 2**40]


def hostile_values(argument):
    """{name: value} to try for an argument of a method."""
    if argument in ("Y", "X"):
        return ROWS if argument == "Y" else POINTS
    if argument in ("return_std", "noise"):
        return {shown(value): value for value in (0, -1, "yes", None, [], np.nan)}
    if argument in ("calibrated", "new_rows"):
        return {shown(value): value for value in (0, -1, "yes", [], np.nan)}
    if argument == "random_state":
        return {shown(value): value for value in SEEDS}
    if argument in ("n_samples", "n_features", "n_points", "n_starts"):
        return {shown(value): value for value in (NUMBERS if argument == "n_starts" else [*NUMBERS, 10**12])}
    return {}


def argument_cases():
    return [
        (name, method, argument)
        for name in NAMES
        for method, names in questions(name).items()
        for argument in names
        if hostile_values(argument)
    ]


@pytest.mark.bad_input
@pytest.mark.parametrize("name, method, argument", argument_cases())
def test_a_bad_argument_gets_a_sentence_and_changes_nothing(name, method, argument):
    model = fitted(name)
    before = pickle.dumps(facts(model))
    with collected() as problems:
        for key, value in hostile_values(argument).items():
            with problems.of(f"{argument}: {key}"):
                try:
                    answer = ask(model, method, **{argument: value})
                except REFUSED as error:
                    demand_told(error)
                else:
                    pytest.fail(f"accepted, and said {shown(answer)}")
    assert pickle.dumps(facts(model)) == before


@pytest.mark.parametrize(
    "name, method", [(n, m) for n in NAMES for m, names in questions(n).items() if "n_starts" in names]
)
def test_absurdly_many_starts_are_as_many_as_there_are(name, method):
    model = fitted(name)
    ask(model, method, n_starts=10**9)


# ---------------------------------------------------------------------- tables
KINDS = (
    "plain",
    "constant columns",
    "one column varies",
    "copies",
    "rank 1",
    "all alike",
    "offset",
    "skewed",
    "integers",
)
FORMS = ("C", "Fortran", "strided", "read-only", "float32", "list", "big-endian")


@st.composite
def tables(draw, largest=60):
    """A table of any structure and scale that a stranger may bring; sometimes with gaps."""
    N, D = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind, form = draw(st.sampled_from(KINDS)), draw(st.sampled_from(FORMS))
    scale = 10.0 ** draw(
        st.sampled_from((0, 0, 0, 3, -3, 9, -9, 30, -30, largest, -largest, 100, -100, 155, -155, 300))
    )
    Y = rng.standard_normal((N, D))
    if kind == "constant columns":
        Y[:, : D // 2 + 1] = 3.0
    elif kind == "one column varies":
        Y[:, 1:] = 0.0
    elif kind == "copies":
        Y[N // 2 :] = Y[0]
    elif kind == "rank 1":
        Y = Y[:, :1] * Y[:1]
    elif kind == "all alike":
        Y[:] = Y[0]
    elif kind == "offset":
        Y += 10.0 ** draw(st.integers(1, 16))
    elif kind == "skewed":
        Y *= 10.0 ** rng.uniform(-8, 8, D)
    elif kind == "integers":
        Y = np.round(3.0 * Y)
    with np.errstate(over="ignore", under="ignore"):
        Y = Y * scale
    if draw(st.integers(0, 5)) == 0:
        Y[rng.random(Y.shape) < 0.15] = np.nan
    return as_form(Y, form)


def as_form(Y, form):
    """The same numbers as another kind of array."""
    with np.errstate(over="ignore", under="ignore"):
        return {
            "C": lambda: Y,
            "Fortran": lambda: np.asfortranarray(Y),
            "strided": lambda: np.repeat(Y, 2, axis=0)[::2],
            "read-only": lambda: read_only(Y),
            "float32": lambda: Y.astype(np.float32),
            "list": lambda: Y.tolist(),
            "big-endian": lambda: Y.astype(">f8"),
        }[form]()


def read_only(Y):
    Y = Y.copy()
    Y.setflags(write=False)
    return Y


BRIEF = ("transform", "inverse_transform", "predict_log_proba", "get_covariance", "score_samples")


def answers(model, Y, brief=False):
    """What a fitted model says of the rows it was fitted to, and of its own positions; in brief, the most telling."""
    found = {}
    for method, names in questions(type(model).__name__).items():
        if not set(names) & {"Y", "X"} or (brief and method not in BRIEF):
            continue
        if "Y" not in names and isinstance(model, ClassifierMixin):
            continue  # scikit-learn's own score
        argument = {"Y": np.asarray(Y, float)[:2]} if "Y" in names else {"X": model.embedding_[:2]}
        try:
            found[method] = ask(model, method, **argument)
        except REFUSED as error:
            demand_told(error)
            demand(not isinstance(error, NotFittedError), "half a model")
    return found


def parts(answer):
    """All arrays of an answer."""
    return [np.asarray(part) for part in ([answer] if isinstance(answer, (np.ndarray, float)) else answer)]


def hold_contract(name, Y):
    """A finite model, or a sentence; the same one again; Y unchanged, and not kept."""
    started, before = time.perf_counter(), copy.deepcopy(Y)
    counted["cases"] += 1
    model = make(name)
    try:
        fit(model, Y)
    except REFUSED as error:
        demand_told(error)
        demand(not facts(model), "a refused fit left something behind")
        counted["refused"] += 1
    else:
        assert_finite(model)
        again = fit(clone(model), Y)
        for key, value in facts(model).items():
            assert_array_equal(value, facts(again)[key], err_msg=key)
        for method, answer in answers(model, Y).items():
            if method not in ("log_evidence", "as_given"):  # the second gives gaps back
                assert all(np.isfinite(part).all() for part in parts(answer) if part.dtype.kind == "f"), method
        keeps_nothing_of_the_caller(model, Y)
    if isinstance(Y, np.ndarray) and Y.flags.writeable:
        pass  # `keeps_nothing_of_the_caller` wrote into a copy of its own
    assert_array_equal(np.asarray(Y), np.asarray(before))
    counted["seconds"] += time.perf_counter() - started


def keeps_nothing_of_the_caller(model, Y):
    """A model fitted to an array does not change with it."""
    mine = np.array(Y, dtype=float)
    other = fit(clone(model), mine)
    new = np.array(Y, dtype=float)[:2]
    before = {method: parts(a) for method, a in answers(other, new, brief=True).items()}
    mine[:] = 7.0
    for method, answer in answers(other, new, brief=True).items():
        for one, two in zip(before[method], parts(answer), strict=True):
            assert_array_equal(one, two, err_msg=f"{method} follows the caller's array")


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(Y=tables())
def test_any_table_gives_a_finite_model_or_a_sentence(name, Y):
    hold_contract(name, Y)


@pytest.mark.bad_input
@pytest.mark.parametrize("exponent", [-300, -155, -100, -75, -50, 50, 72, 75, 78, 100, 154, 160, 300])
@pytest.mark.parametrize("name", NAMES)
def test_extreme_scales_give_a_result_or_a_sentence(name, exponent):
    with np.errstate(over="ignore", under="ignore"):
        Y = data() * 10.0**exponent
    hold_contract(name, Y)


@pytest.mark.bad_input
@pytest.mark.parametrize("metric", ["precomputed", "distance", "similarity", "squared_distance"])
@pytest.mark.parametrize("exponent", [0, -100, 60, 74, 100, 150])
@pytest.mark.parametrize("name", [name for name in NAMES if "metric" in CLASSES[name]().get_params()])
def test_matrices_of_extreme_scales_and_the_callers_matrix(name, exponent, metric):
    points = data()
    squares = np.sum((points[:, None] - points) ** 2, axis=2)
    kinds = {"distance": np.sqrt(squares), "squared_distance": squares}
    A = 10.0**exponent * kinds.get(metric, points @ points.T)
    try:
        model = make(name, metric=metric).fit(A)
    except REFUSED as error:
        demand_told(error)
        return
    assert_finite(model)
    if hasattr(model, "transform"):
        before = model.transform(A[:2].copy())
        new, A[:] = A[:2].copy(), 1.0
        assert_array_equal(model.transform(new), before)
        assert np.isfinite(before).all()


# ---------------------------------------------------------------------- interrupts
class Stop(KeyboardInterrupt):
    """An interrupt of the test's own."""


def interrupted_after(lines, function):
    """Call a function, and interrupt it once it has executed so many lines of this package; False if it had fewer."""
    left = lines

    def trace(frame, event, _):
        nonlocal left
        if not frame.f_code.co_filename.startswith(PACKAGE) or frame.f_code.co_filename.endswith("threads.py"):
            return None  # the tracer would stop between a lock and its release, where no signal can
        if event == "line":
            left -= 1
            if left == 0:
                raise Stop
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    except Stop:
        return True
    finally:
        sys.settrace(before)
    return left <= 0


@cache
def lines_of_a_fit(name):
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if not frame.f_code.co_filename.startswith(PACKAGE) or frame.f_code.co_filename.endswith("threads.py"):
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        fit(make(name), data())
    finally:
        sys.settrace(before)
    return count


def is_whole(model, Y):
    """A model that answers every question, or one that says it is not fitted to any."""
    if not hasattr(model, "embedding_") and not hasattr(model, "models_"):
        return not facts(model)
    assert_finite(model)
    answers(model, Y, brief=True)  # raises what a half model would
    return True


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(share=st.floats(0.0, 1.0), late=st.booleans())
def test_an_interrupt_at_any_line_leaves_a_whole_model_or_the_one_before(name, share, late):
    total = lines_of_a_fit(name)
    line = max(total - int(60 * share), 1) if late else 1 + int(share * (total - 1))
    model, other = make(name), data(seed=1)
    interrupted_after(line, lambda: fit(model, data()))
    assert is_whole(model, data())
    old = fit(make(name), other)
    before = facts(old)
    interrupted_after(line, lambda: fit(old, data()))
    now, new = facts(old), facts(fit(make(name), data()))
    same = all(np.array_equal(now[key], before[key]) for key in before)
    assert same or now["embedding_" if "embedding_" in now else "noise_variances_"].shape, "half a model"
    assert same or not np.array_equal(now.get("mean_", 0), before.get("mean_", 1)), "half a model"
    assert is_whole(old, other if same else data())
    assert now.keys() == new.keys()


# ---------------------------------------------------------------------- defects of the first edition, one by one
def rng():
    return np.random.default_rng(0)


def line(offset=0.0):
    """Fifty noisy points of a line in four columns, centred, and moved."""
    random = rng()
    Y = random.standard_normal((50, 1)) @ random.standard_normal((1, 4)) + 0.3 * random.standard_normal((50, 4))
    return Y - Y.mean(axis=0) + offset


@pytest.mark.long
def test_millimetres_and_metres_give_the_same_gp_lvm():
    Y = datasets.simulate_oil_flow(60, random_state=0).data
    metres, millimetres = (GPLVM(max_iter=100, random_state=0).fit(unit * Y) for unit in (1.0, 1000.0))
    shift = Y.size * np.log(1000.0)
    assert abs(millimetres.log_likelihood_ - metres.log_likelihood_ + shift) < 1e-3 * len(Y)  # was -466 for 100 rows
    noise = [model.kernel_["white"].variance for model in (metres, millimetres)]
    assert abs(noise[1] / noise[0] / 1e6 - 1.0) < 1e-3


def test_minor_components_of_large_deviations():
    Y = rng().standard_normal((30, 4))
    small, large = MinorComponents().fit(Y), MinorComponents().fit(2000.0 * Y)  # was ZeroDivisionError
    assert abs(large.noise_variance_ / small.noise_variance_ / 2000.0**2 - 1.0) < 1e-9


@pytest.mark.oracle
@pytest.mark.parametrize("offset", [0.0, 1e6, 1e7, 1.7e9])
def test_factor_analysis_at_a_unix_time_is_scikit_learns(offset):
    Y = line(offset)
    theirs = sklearn.decomposition.FactorAnalysis(1, tol=1e-10, max_iter=5000).fit(Y).score(Y)
    assert abs(FactorAnalysis(1).fit(Y).log_likelihood_ / 50 - theirs) < 1e-4  # was off by 2.8e7 / 50


def test_ppca_with_one_gap_does_not_mind_columns_with_different_means():
    Y = line() + [101325, 20, 0, 0]
    complete = PPCA(1).fit(Y).noise_variance_
    Y[0, 0] = np.nan
    with_gap, centred = (PPCA(1).fit(table).noise_variance_ for table in (Y, Y - np.nanmean(Y, axis=0)))
    assert abs(with_gap / centred - 1.0) < 1e-6 and abs(with_gap / complete - 1.0) < 0.05  # was refused


@pytest.mark.parametrize("rate", [1e5, 1e6, 1e50])
def test_tsne_says_that_its_steps_are_too_long(rate):
    Y = rng().standard_normal((30, 4))
    try:
        model = TSNE(learning_rate=rate, max_iter=100).fit(Y)
    except ValueError as error:
        demand_told(error, "learning_rate", "smaller")
    else:
        assert np.isfinite(model.embedding_).all()  # was NaN, without a word


def test_priors_that_are_no_probabilities_are_refused_at_once():
    for priors in ([np.nan, 0.5], [np.inf, 0.5], [0.0, 1.0], [0.5, 0.6], [1.0], "half"):
        with pytest.raises(ValueError, match="priors must be"):
            fit(make("GenerativeClassifier", priors=priors), data())


def test_a_fit_that_is_refused_on_its_way_leaves_nothing():
    model = PPCA(1)
    with pytest.raises(ValueError, match="no maximum"):
        model.fit([[0.1, -0.1, 0.6], [0.1, -0.5, np.nan]])
    assert not facts(model)
    with pytest.raises(ValueError, match="no maximum"):
        model.fit([[np.nan], [0.8]])  # one value was observed


def test_a_classifier_refuses_infinities_of_both_signs():
    with pytest.raises(ValueError, match="infinity"):
        fit(make("GenerativeClassifier"), np.where(data() > 0, np.inf, -np.inf))


@pytest.mark.parametrize("name", ["GPLVM", "PPCA", "GTM", "TSNE"])
def test_a_refit_that_is_refused_leaves_the_model_as_it_was(name):
    model = fit(make(name), data())
    before = pickle.dumps(facts(model))
    for bad in (np.full((5, 4), np.inf), 1e200 * data(), [["a"]]):
        with pytest.raises(ValueError, match=r"infinity|1e\+200|e\+\d\d\d|convert|numbers|dtype"):
            model.fit(bad)
        assert pickle.dumps(facts(model)) == before


# ---------------------------------------------------------------------- fresh examples
@pytest.mark.fuzz
@pytest.mark.parametrize("name", NAMES)
def test_two_thousand_new_tables(name, capsys):
    counted.update(cases=0, refused=0, seconds=0.0)
    examples = int(os.environ.get("GPLVM_EDU_FUZZ", "2000"))

    @settings(max_examples=examples, derandomize=False, database=None, suppress_health_check=list(HealthCheck))
    @given(Y=tables(largest=49))
    def look(Y):
        hold_contract(name, Y)

    look()
    with capsys.disabled():
        print(f"\n{name}: {counted['cases']} tables, {counted['refused']} refused, {counted['seconds']:.0f} s", end="")


def test_the_threads_of_every_public_method_are_suited():
    """What is wrapped to run with suited threads keeps its signature, or the cases above would not see arguments."""
    for name in NAMES:
        if issubclass(CLASSES[name], SuitedThreads):
            assert list(inspect.signature(CLASSES[name].fit).parameters)[:2] == ["self", "Y"]
            assert list(islice(inspect.signature(CLASSES[name].fit).parameters, 3))[-1] == "y"
