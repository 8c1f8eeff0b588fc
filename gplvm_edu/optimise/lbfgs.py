"""SciPy's L-BFGS-B as a generator."""

import queue
import sys
import threading
from collections.abc import Generator

import numpy as np
from scipy import optimize

from .iterate import Iterate, demand_finite


def lbfgs(evaluate, start) -> Generator[Iterate, None, None]:
    """The points that SciPy's L-BFGS-B accepts after the start, until it can't go on.

    SciPy wants to call, and a generator to be called. So SciPy runs in a thread of its own, which only asks:
    for an evaluation, or whether to go on from an accepted point, and sleeps until the answer comes. Every
    evaluation is made on this side, so errors rise as if there were no thread. Once this generator is closed
    the answer is None, and the thread ends.
    """
    questions: queue.SimpleQueue = queue.SimpleQueue()
    answers: queue.SimpleQueue = queue.SimpleQueue()
    worker = threading.Thread(target=_ask, args=(start.x, questions, answers), name="L-BFGS-B", daemon=True)
    worker.start()
    latest = start
    try:
        while True:
            question, content = questions.get()
            if question == "failed":
                raise content
            if question == "finished":
                return
            latest = latest if np.array_equal(content, latest.x) else evaluate(content)
            demand_finite(latest, 'L-BFGS-B can\'t step back from there; method="scg" can. Or start closer.')
            if question == "accepted":
                yield latest
            answers.put((latest.value, latest.gradient.copy()))
    finally:
        answers.put(None)
        if not sys.is_finalizing():  # an interpreter that ends takes the thread with it, and lets nobody wait
            worker.join()


def _ask(x0, questions, answers):
    """The thread's work: SciPy's minimisation, whose every call is a question to the other side."""

    def ask(question, x):
        questions.put((question, x.copy()))
        answer = answers.get()
        if answer is None:
            raise GeneratorExit
        return answer

    endless = {"ftol": 0.0, "gtol": 0.0, "maxiter": 10**9, "maxfun": 10**9}  # the other side decides
    try:
        optimize.minimize(
            lambda x: ask("evaluate", x),
            x0,
            jac=True,
            method="L-BFGS-B",
            options=endless,
            callback=lambda xk: ask("accepted", xk) and None,
        )
        questions.put(("finished", None))
    except GeneratorExit:
        pass
    except BaseException as error:
        questions.put(("failed", error))
