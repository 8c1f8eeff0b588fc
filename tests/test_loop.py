"""The loop of every iterative fit, watched: its bar, its word before a long wait, a loop left early, starts at rest."""

import pickle
import sys
import warnings
from functools import cache

import numpy as np
import pytest
from common import impatient
from models import CLASSES, QUICK
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from gplvm_edu import GPLVM, GTM, PPCA, TSNE, GenerativeClassifier, TSNEPriorGPLVM, progress, threads
from gplvm_edu.base import AtRestWarning, IterativeFit
from gplvm_edu.gplvm import value_and_gradients
from gplvm_edu.linalg import centre
from gplvm_edu.progress import LongFitWarning, Watch
from gplvm_edu.tsne import estimators as tsne_estimators

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
ITERATIVE = [name for name in CLASSES if issubclass(CLASSES[name], IterativeFit)]
QuadraticPCA = CLASSES["QuadraticPCA"]


@cache
def data(name="", N=40):
    """A bent sheet in five dimensions; with gaps for PPCA, which has a closed form without."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.5, 1.5, (N, 2))
    Y = X @ rng.standard_normal((2, 5)) + 0.4 * X**2 @ rng.standard_normal((2, 5)) + 0.1 * rng.standard_normal((N, 5))
    if name == "PPCA":
        Y[np.arange(0, N, 3), np.arange(0, N, 3) % 5] = np.nan
    Y.setflags(write=False)
    return Y


@cache
def wine():
    return StandardScaler().fit_transform(load_wine().data)


def make(name, **parameters):
    known = CLASSES[name]().get_params()
    seed = {"random_state": 0} if "random_state" in known else {}
    tol = {"tol": 0.0} if "tol" in known else {}  # to max_iter
    few = {"max_iter": 20} if name == "PPCA" else {}
    return CLASSES[name](**QUICK.get(name, {}) | few | seed | tol | parameters)


class Bar:
    """In place of tqdm's: what it was told, and whether it was closed."""

    def __init__(self, name, most):
        self.n, self.total, self.closed, self.told = 0, most, False, [(name, most)]
        Bar.last = self

    def set_description(self, text, refresh):
        self.name = text

    def reset(self, total):
        self.n, self.total = 0, total
        self.told.append((self.name, total))

    def set_postfix_str(self, text, refresh):
        self.text = text

    def update(self, steps):
        self.n += steps
        assert 0 <= self.n <= self.total

    def close(self):
        self.closed = True


@pytest.fixture
def bar(monkeypatch):
    monkeypatch.setattr(progress, "make_bar", Bar)
    Bar.last = None
    return Bar


@pytest.fixture
def slow(monkeypatch):
    """A clock on which two seconds pass from one look to the next; it counts them."""
    looks = []
    monkeypatch.setattr(progress, "clock", lambda: looks.append(0) or 2.0 * len(looks))
    return looks


# ---------------------------------------------------------------------- the bar
@pytest.mark.parametrize("name", ITERATIVE)
def test_a_bar_has_steps_and_objective_goes_to_the_error_output_and_changes_nothing(name, capsys):
    quiet, loud = (make(name, verbose=verbose).fit(data(name)) for verbose in (False, True))
    assert_array_equal(quiet.embedding_, loud.embedding_)
    assert_array_equal(quiet.history_, loud.history_)
    said = capsys.readouterr()
    total = loud.climbs * loud.max_iter
    assert said.out == "" and f"{name}:" in said.err and f"/{total}" in said.err and "it/s" in said.err
    assert f"objective {loud.history_[-1]:.7g}" in said.err


@pytest.mark.parametrize("name", ITERATIVE)
def test_without_verbose_nothing_is_shown_and_no_bar_is_made(name, bar, capsys):
    make(name).fit(data(name))
    assert bar.last is None and capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", ITERATIVE)
def test_a_bar_ends_at_the_steps_that_the_fit_reports(name, bar):
    model = make(name, verbose=True).fit(data(name))
    assert bar.last.closed and bar.last.total == model.climbs * model.max_iter
    assert bar.last.n == model.n_iter_


def test_batches_are_counted_in_passes(bar):
    model = GTM(grid=(5, 5), basis=(2, 2), batch_size=10, max_iter=7, tol=0.0, verbose=True).fit(data())
    assert model.n_iter_ == 28 and (bar.last.n, bar.last.total) == (7, 7)


def test_a_bar_is_there_before_the_first_state_and_closed_after_an_interrupt_and_an_error(bar):
    class Late(QuadraticPCA):
        def iterates(self, Y):
            assert Bar.last.told == [("Late", 100)] and not Bar.last.closed
            yield from super().iterates(Y)

    before = progress.WATCH.get()  # None, unless a test that interrupts at any line hit the one that ends a watch
    Late(verbose=True).fit(data())
    with pytest.raises(KeyboardInterrupt):
        impatient(QuadraticPCA, 2)(verbose=True).fit(data())
    assert bar.last.closed and bar.last.n == 1
    bar.last = None
    with pytest.raises(ValueError, match="NaN"):
        QuadraticPCA(verbose=True).fit(data("PPCA"))
    assert bar.last.closed and progress.WATCH.get() is before


def test_each_class_of_a_classifier_has_its_bar(monkeypatch):
    made = []
    monkeypatch.setattr(progress, "make_bar", lambda name, most: made.append(Bar(name, most)) or made[-1])
    GenerativeClassifier(2, 5, max_iter=3, verbose=True).fit(data(), np.arange(40) % 2)
    assert [(one.name, one.n, one.closed) for one in made] == 2 * [("BayesianGPLVM", 3, True)]


def test_without_tqdm_a_sentence_stands_for_the_bar(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.warns(
        UserWarning, match=r"verbose=True .* QuadraticPCA .* tqdm, which is not installed: pip install tqdm"
    ):
        model = QuadraticPCA(verbose=True).fit(data())
    assert model.converged_


@pytest.mark.bad_input
@pytest.mark.parametrize("wrong", ["yes", 2, None, np.ones(2)], ids=repr)
@pytest.mark.parametrize("name", ITERATIVE)
def test_a_wrong_verbose_is_named_and_shows_nothing(name, wrong, bar):
    with pytest.raises(ValueError, match="verbose must be True or False"):
        make(name, verbose=wrong).fit(data(name))
    assert bar.last is None


# ---------------------------------------------------------------------- a long wait
def test_a_fit_that_will_take_long_says_so_once_with_the_time_and_the_advice(slow):
    with pytest.warns(LongFitWarning) as caught:
        GPLVM(max_iter=100).fit(data())
    (told,) = [str(one.message) for one in caught if one.category is LongFitWarning]
    assert told.startswith("GPLVM made 1 of 100 steps in 4 s: the others will take at most about 7 minutes")
    assert "SparseGPLVM" in told and "BayesianGPLVM" in told and "max_iter" in told and "Ctrl-C" in told
    assert caught[0].filename == __file__


def test_a_fit_that_ends_sooner_than_that_says_nothing(slow):
    with warnings.catch_warnings():
        warnings.simplefilter("error", LongFitWarning)
        GPLVM(max_iter=30).fit(data())  # 4 s a step: 116 s
        PPCA().fit(data())


def test_the_clock_is_read_until_the_fit_is_judged_and_never_again(slow):
    with pytest.warns(LongFitWarning):
        model = GPLVM(max_iter=100).fit(data())
    assert model.n_iter_ == 100 and len(slow) == 3  # at the start twice, and after the first step


def watched(watch, n_steps, clock=None):
    """Steps of a fit, and the numbers of the states that the watch wanted to see."""
    seen = []
    with watch:
        for step in range(n_steps):
            if step >= watch.due:
                seen.append(step)
                watch.step(step, step, 0.0)
            if clock is not None:
                clock[0] += 0.1
    return seen


def test_steps_that_are_quick_are_looked_at_now_and_then_for_three_seconds(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress, "clock", lambda: now[0])
    with pytest.warns(LongFitWarning, match=r"made 32 of 10000 steps in 3.2 s: .* 17 minutes"):
        seen = watched(Watch("Model", 10**4, "Do less."), 1000, now)
    assert seen == [0, 1, 2, 4, 8, 16, 32]


@pytest.mark.parametrize("name", ITERATIVE)
def test_every_model_has_its_advice(name, slow):
    with pytest.warns(LongFitWarning) as caught:
        watched(Watch(name, 10**6, CLASSES[name].if_slow), 2)
    told = str(caught[0].message)
    assert CLASSES[name].if_slow in told and CLASSES[name].if_slow.endswith(".") and "hours" in told
    advised = [word for word in make(name).get_params() if word in told]
    assert advised or "fewer rows" in told


# ---------------------------------------------------------------------- a loop left early
def left_after(model, n_states, Y):
    """A loop of one's own that ends by `break`: its last state."""
    last = None
    for number, state in enumerate(model.iterates(Y), 1):
        last = state
        if number == n_states:
            break
    return last


@pytest.mark.parametrize("name", ITERATIVE)
def test_a_loop_left_early_leaves_the_model_of_its_last_state(name):
    Y, model = data(name), make(name)
    state, stopped = left_after(model, 2, Y), impatient(CLASSES[name], 2)(**model.get_params())
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(Y)
    assert not model.converged_ and model.history_[-1] == state.value
    assert_array_equal(model.history_, stopped.history_)
    assert_array_equal(model.embedding_, stopped.embedding_)
    assert model.n_iter_ == stopped.n_iter_ and vars(model).keys() == vars(stopped).keys()
    assert_array_equal(pickle.loads(pickle.dumps(model)).embedding_, model.embedding_)


@pytest.mark.parametrize("name", ITERATIVE)
def test_a_loop_to_the_end_is_a_fit(name):
    looped, fitted = make(name), make(name).fit(data(name))
    states = list(looped.iterates(data(name)))
    assert_array_equal(looped.embedding_, fitted.embedding_)
    assert_array_equal(looped.history_, [state.value for state in states])
    assert (looped.n_iter_, looped.converged_) == (fitted.n_iter_, fitted.converged_)


def test_the_lines_of_the_readme_do_what_they_say():
    model = GPLVM()
    for state in model.iterates(data()):
        if state.value > -100:
            break
    assert model.embedding_ is state.X and model.n_iter_ == len(model.history_) - 1 > 0 and not model.converged_


def test_an_error_in_the_body_of_the_loop_leaves_the_last_state_too():
    def body(model):
        for number, _ in enumerate(model.iterates(data())):
            1 / (3 - number)

    model = GTM()
    with pytest.raises(ZeroDivisionError):
        body(model)
    assert model.n_iter_ == 3


def test_a_generator_that_is_held_ends_with_close():
    model = GPLVM()
    states = model.iterates(data())
    next(states), next(states)
    assert not hasattr(model, "embedding_")
    states.close()
    assert model.n_iter_ == 1


def test_a_run_left_waiting_changes_nothing_once_another_one_began():
    model, other = GPLVM(max_iter=5), data(N=30)
    waiting = model.iterates(data())
    next(waiting)
    model.fit(other)
    waiting.close()
    assert len(model.embedding_) == 30 and model.n_iter_ == 5
    waiting, later = model.iterates(data()), model.iterates(other)
    next(waiting), next(later)
    waiting.close()
    assert model.n_iter_ == 5  # still that of the fit
    later.close()
    assert model.n_iter_ == 0 and len(model.embedding_) == 30


def test_a_generator_that_never_began_and_data_that_are_refused_change_nothing():
    model = GPLVM(max_iter=2).fit(data())
    before = model.embedding_
    model.iterates(data(N=30)).close()
    with pytest.raises(ValueError, match="complete data"):
        next(model.iterates(data("PPCA")))
    assert model.embedding_ is before


def test_what_a_subclass_asks_its_base_for_is_kept_once_and_by_the_subclass():
    class Twice(QuadraticPCA):
        kept = 0

        def iterates(self, Y):
            next(super().iterates(Y))
            assert not hasattr(self, "embedding_")
            yield from super().iterates(Y)

        def set_state(self, state):
            self.kept += 1
            return super().set_state(state)

    model = Twice(max_iter=3, tol=0.0).fit(data())
    assert model.kept == 1 and model.n_iter_ == 3


def test_between_two_states_of_a_watched_fit_the_threads_are_those_of_the_environment(bar):
    found, before = [], threads.n_threads()

    class Looking(QuadraticPCA):
        def set_state(self, state):
            found.append(threads.n_threads())
            return super().set_state(state)

    states = Looking().iterates(data())
    next(states)
    assert threads.n_threads() == before
    states.close()
    assert found == [1] and threads.n_threads() == before


# ---------------------------------------------------------------------- a start that takes long, or is at rest
def test_the_start_by_tsne_is_a_phase_of_the_bar(bar):
    model = TSNEPriorGPLVM(max_iter=5, verbose=True).fit(data())
    assert bar.last.told == [
        ("TSNEPriorGPLVM", 20),
        ("TSNEPriorGPLVM, its start by t-SNE", 1000),
        ("TSNEPriorGPLVM", 20),
    ]
    assert bar.last.n == model.n_iter_


def test_a_start_that_will_take_long_says_so_itself_and_only_once(slow):
    with pytest.warns(LongFitWarning) as caught:
        TSNEPriorGPLVM(max_iter=1000).fit(data())
    (told,) = [str(one.message) for one in caught if one.category is LongFitWarning]
    assert told.startswith("TSNEPriorGPLVM, its start by t-SNE, made 10 of 1000 steps in 4 s") and "fewer rows" in told


def interrupted_start(monkeypatch, at):
    """From now on somebody presses Ctrl-C when t-SNE, as a start, has made so many steps."""

    def press(phase, done, most):
        if done == at:
            raise KeyboardInterrupt

    monkeypatch.setattr(tsne_estimators, "preparing", press)


@pytest.mark.parametrize("at", [0, 200, 300])
def test_an_interrupt_during_the_start_keeps_a_model_of_the_positions_so_far(monkeypatch, at):
    expected = left_after(TSNE(max_iter=1000, tol=0.0), 1 + at // 10, centre(data())[0])
    assert expected.step == at
    interrupted_start(monkeypatch, at)
    model = TSNEPriorGPLVM()
    with pytest.raises(KeyboardInterrupt):
        model.fit(data())
    assert_array_equal(model.embedding_, expected.X)
    assert (model.n_iter_, model.converged_, len(model.history_)) == (0, False, 1)
    assert np.isfinite(model.inverse_transform(model.embedding_)).all() and model.transform(data()[:3]).shape == (3, 2)


def test_an_interrupt_before_the_start_has_positions_leaves_the_model_as_it_was(monkeypatch):
    model = TSNEPriorGPLVM(max_iter=3).fit(data())
    before = dict(vars(model))

    def press(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(tsne_estimators, "tsne_iterates", press)
    for one in (model, unfitted := TSNEPriorGPLVM()):
        with pytest.raises(KeyboardInterrupt):
            one.fit(data(N=30))
    assert vars(model) == before and not [name for name in vars(unfitted) if name.endswith("_")]


def test_a_start_at_rest_is_converged_without_a_step_and_the_reason_is_told():
    with pytest.warns(AtRestWarning, match=r"made no step: .*tol=0.0001.* share of 0.00023 .* the same at 0.00043"):
        model = TSNEPriorGPLVM(temperature=1e-7).fit(wine())
    assert (model.n_iter_, model.converged_) == (0, True)
    assert_array_equal(model.embedding_, model.start_)
    _, dL, _ = value_and_gradients(wine() - model.mean_, model.start_, model.kernel_, jitter=model.jitter_)
    N, D = wine().shape
    share = N * D * 1e-7 / (1 + N * D * 1e-7)
    steepest = np.abs((1 - share) * N * model.energy(model.start_)[1] - share * dL / D).max()
    assert 0.5e-4 < steepest < 1e-4 < np.abs(dL / D).max()  # the likelihood pulls; nobody hears it


@pytest.mark.long
def test_at_the_temperature_of_the_paper_the_end_is_at_the_start_however_small_the_tolerance():
    model = TSNEPriorGPLVM(temperature=1e-7, tol=1e-7).fit(wine())
    moved = np.abs(model.embedding_ - model.start_).max()
    assert model.converged_ and 0 < moved < 2e-3 * model.start_.std()


@pytest.mark.long
def test_the_default_temperature_weighs_both_terms_alike_moves_and_comes_to_its_end():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = TSNEPriorGPLVM().fit(wine())
    assert_allclose(model.temperature_, 1 / wine().size, rtol=1e-15)
    cold = TSNEPriorGPLVM(temperature=1e-7, init=model.start_, bandwidths=[model.bandwidth_], max_iter=0).fit(wine())
    gained, paid = model.log_likelihood_ - cold.log_likelihood_, model.energy_ - cold.energy_
    assert model.converged_ and model.n_iter_ > 20 and 50 < gained < 120 and 0 < paid * wine().size < gained


def test_no_word_of_rest_where_no_step_was_allowed():
    with warnings.catch_warnings():
        warnings.simplefilter("error", AtRestWarning)
        model = TSNEPriorGPLVM(temperature=1e-7, max_iter=0).fit(wine())
    assert model.n_iter_ == 0
