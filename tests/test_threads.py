"""Threads: small matrices get one, large ones what the environment has, and the environment stays as it was."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from gplvm_edu import GPLVM, GTM, PPCA, BayesianGPLVM, SparseGPLVM, base, threads
from gplvm_edu.threads import (
    SMALL,
    as_many_as_before,
    blas_libraries,
    n_threads,
    one_thread,
    set_threads,
    suited,
    threads_for,
)


@pytest.fixture(autouse=True)
def two_threads():
    """An environment with two BLAS threads, whatever the machine has."""
    before = [(library, library.get_num_threads()) for library in blas_libraries()]
    for library in blas_libraries():
        set_threads(library, 2)
    yield
    left = n_threads()
    for library, number in before:
        set_threads(library, number)
    assert left == 2, "a test left another number of threads behind"


def test_one_thread_inside_and_as_many_as_before_afterwards():
    with one_thread():
        assert n_threads() == 1
        with one_thread():
            assert n_threads() == 1
        assert n_threads() == 1
    assert n_threads() == 2


def test_an_environment_with_one_thread_keeps_it():
    with threadpool_limits(1, user_api="blas"):
        with one_thread(), threads_for(10 * SMALL):
            assert n_threads() == 1
        assert n_threads() == 1


def test_where_the_program_itself_has_set_the_number_another_python_thread_leaves_it_alone():
    seen = []

    def work():
        with one_thread():
            seen.append(n_threads())
        seen.append(n_threads())

    with threadpool_limits(2, user_api="blas"):
        with one_thread():
            assert n_threads() == 1  # the same Python thread may
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
        assert n_threads() == 2
    assert seen[1] == 2


def test_size_decides():
    for size, number in ((1, 1), (SMALL - 1, 1), (SMALL, 2), (10 * SMALL, 2)):
        with threads_for(size):
            assert n_threads() == number
    assert isinstance(threads_for(SMALL), as_many_as_before)


def test_an_error_inside_leaves_the_environment_as_it_was():
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert n_threads() == 2 and not one_thread.inside


def test_contexts_of_several_python_threads_may_overlap_in_any_order():
    """Whoever leaves first must not hand the number it found to the ones who come after: the last puts back 2."""
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()
    seen = []

    def first():
        with one_thread():
            first_in.set()
            second_in.wait(5)
        seen.append(n_threads())  # the second is still inside
        first_out.set()

    def second():
        first_in.wait(5)
        with one_thread():
            second_in.set()
            first_out.wait(5)
            seen.append(n_threads())

    workers = [threading.Thread(target=work) for work in (first, second)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert seen == [1, 1] and n_threads() == 2


def test_a_generator_is_limited_inside_its_steps_only():
    @suited(lambda n: 1)
    def count(n):
        for _ in range(n):
            yield n_threads()

    inside = []
    for number in count(3):
        inside.append(number)
        assert n_threads() == 2
    assert inside == [1, 1, 1]


def test_a_generator_that_is_closed_closes_the_one_inside():
    ended = []

    @suited(lambda: 1)
    def endless():
        try:
            while True:
                yield
        finally:
            ended.append(n_threads())

    steps = endless()
    next(steps)
    steps.close()
    assert len(ended) == 1 and n_threads() == 2


def test_a_decorated_function_keeps_its_name_and_its_signature():
    assert PPCA.fit.__name__ == "fit" and GPLVM.transform.__wrapped__.__name__ == "transform"
    assert threads.suited(len)(sorted).__doc__ == sorted.__doc__


MODELS = (
    (GPLVM(max_iter=3), 1),
    (PPCA(), 1),
    (GTM(max_iter=3), 1),
    (BayesianGPLVM(2, 10, max_iter=3), 1),
    (SparseGPLVM(n_active=10, max_iter=1), 1),
)


@pytest.mark.parametrize("model, number", MODELS, ids=lambda value: type(value).__name__)
def test_fits_and_questions_about_small_data_use_one_thread(model, number, monkeypatch):
    seen, Y = [], np.random.default_rng(0).standard_normal((40, 5))
    check_data = base.LatentModel.check_data
    monkeypatch.setattr(
        base.LatentModel, "check_data", lambda *args, **named: seen.append(n_threads()) or check_data(*args, **named)
    )
    model.fit(Y)
    model.transform(Y[:2])
    model.score(Y[:2])
    for _ in zip(range(2), model.iterates(Y), strict=False):
        assert n_threads() == 2
    assert len(seen) >= 4 and set(seen) == {number}


def test_large_data_get_what_the_environment_has(monkeypatch):
    seen, Y = [], np.random.default_rng(0).standard_normal((SMALL, 3))
    check_data = base.LatentModel.check_data
    monkeypatch.setattr(
        base.LatentModel, "check_data", lambda *args, **named: seen.append(n_threads()) or check_data(*args, **named)
    )
    GPLVM(max_iter=0).fit(Y)
    PPCA().fit(Y)  # its matrices are 3 x 3
    assert seen == [2, 1]


def test_bad_data_get_the_models_own_error():
    for bad in ("words", 3.0, None, [[1.0, "a"]], np.zeros(5)):
        with pytest.raises((ValueError, TypeError), match=r"array|string|scalar|convert|float|None"):
            PPCA().fit(bad)
    with pytest.raises(ValueError, match="n_active"):
        SparseGPLVM(n_active="many").fit(np.eye(5))


@pytest.mark.parametrize("when", [1, 2])
def test_an_interrupt_while_threads_are_set_leaves_the_environment_as_it_was(monkeypatch, when):
    calls = 0

    def impatient(library, number):
        nonlocal calls
        calls += 1
        set_threads(library, number)
        if calls == when:
            raise KeyboardInterrupt

    monkeypatch.setattr(threads, "set_threads", impatient)
    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(KeyboardInterrupt):
            suited(len)(lambda Y: n_threads())(np.zeros((3, 3)))
        monkeypatch.undo()
        suited(len)(lambda Y: n_threads())(np.zeros((3, 3)))
        assert n_threads() == 2 and not one_thread.inside
