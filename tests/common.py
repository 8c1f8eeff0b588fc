"""What the tests of several topics share: awkward data, an impatient reader, the answers to exercises."""

import numpy as np
import pytest

from gplvm_edu.exercises import check

QUESTIONS = (  # what every fitted model can be asked, or says why not
    "transform",
    "inverse_transform",
    "place",
    "reconstruct",
    "impute",
    "score_samples",
    "score",
    "log_precision",
    "jacobian",
    "sample",
)
WITHOUT_FILES = ("own_data", "tsne")  # experiments on data that ship with scikit-learn or are simulated
# In a fit nothing is doubtful to numpy, scipy or us, but that a short one is not at its end, or one needs no step.
warnings_are_errors = pytest.mark.filterwarnings(
    "error",
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore::gplvm_edu.base.AtRestWarning",
    "ignore:.* latent dimensions, and Y has:UserWarning",  # true of the smallest tables
)


def awkward(rng, N, D):
    """Random data of any scale, often with copies of the first row and constant columns."""
    Y = 10.0 ** rng.uniform(-6, 6) * rng.standard_normal((N, D))
    if rng.random() < 0.4:
        Y[rng.integers(N, size=N // 2)] = Y[0]
    if rng.random() < 0.4:
        Y[:, rng.integers(D, size=D // 2 + 1)] = rng.standard_normal()
    return Y


def impatient(Model, steps):
    """The class of a model whose reader loses patience after some states of a fit."""

    class Impatient(Model):
        def iterates(self, Y):
            for step, state in enumerate(super().iterates(Y)):
                if step == steps:
                    raise KeyboardInterrupt
                yield state

    Impatient.__name__ = Model.__name__
    return Impatient


def people(seed=0, N=60, share=0.0):
    """A table of four kinds of columns behind which one number hides, the number, and the table with gaps."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    t = rng.standard_normal(N)
    table = pandas.DataFrame(
        {
            "height": 170 + 8 * t + 2 * rng.standard_normal(N),
            "smoker": np.where(t + 0.5 * rng.standard_normal(N) > 0, "yes", "no"),
            "grade": pandas.Categorical.from_codes(np.digitize(t, [-0.7, 0.7]), ["low", "mid", "high"], ordered=True),
            "colour": pandas.Categorical.from_codes(np.digitize(t, [-0.5, 0.5]), ["red", "green", "blue"]),
        }
    )
    gappy = table.copy()
    for j, name in enumerate(table):
        gappy.loc[(rng.random(N) < share) & (np.arange(N) % 4 != j), name] = np.nan
    return t, table, gappy


def named(value):
    """The name of an exercise, or the beginning of a hint, as the name of a test."""
    return value[:20] if isinstance(value, str) else None


def right_answers(cases):
    """A test that the answers of (exercise, answer) pass, whoever computed them."""

    @pytest.mark.parametrize("name, answer", cases, ids=named)
    def test(name, answer):
        verdict = check(name, answer)
        assert verdict.passed is True, verdict

    return test


def common_mistakes(cases):
    """A test that the mistakes of (exercise, answer, hint) are told, each with its own hint."""

    @pytest.mark.parametrize("name, answer, hint", cases, ids=named)
    def test(name, answer, hint):
        verdict = check(name, answer)
        assert verdict.passed is False and hint in verdict.message, verdict

    return test


def refused(cases, Y):
    """A test that the models of (model, message) refuse to be fitted to Y, and say why."""

    @pytest.mark.bad_input
    @pytest.mark.parametrize("model, says", cases, ids=repr)
    def test(model, says):
        with pytest.raises(ValueError, match=says):
            model.fit(Y)

    return test
