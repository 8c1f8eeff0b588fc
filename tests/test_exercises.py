"""What holds for the exercises of every topic: wrong answers are told, and nothing raises."""

import numpy as np
import pytest

from gplvm_edu.exercises import check, exercise_names, topics

TOPICS = topics()
EXERCISES = [name for topic in TOPICS for name in exercise_names(topic)]
WRONG = (lambda *a: 0.0, lambda: 0.0, "text", 1e9, np.zeros(3), lambda *a: (np.zeros((9, 2)), 1.0), lambda *a: 1 / 0)


@pytest.mark.parametrize("topic", TOPICS)
def test_exercises_are_numbered_without_gaps_and_five_at_least(topic):
    names = exercise_names(topic)
    assert len(names) >= 5 and names == [f"{topic}.{k}" for k in range(1, len(names) + 1)]


@pytest.mark.parametrize("name", EXERCISES)
def test_an_unwritten_answer_is_no_mistake(name):
    assert check(name).passed is None and check(name, lambda *a: None).passed is None


@pytest.mark.bad_input
@pytest.mark.parametrize("name", EXERCISES)
def test_wrong_answers_are_told_and_never_raise(name):
    for wrong in WRONG:
        verdict = check(name, wrong)
        assert verdict.passed is False and verdict.message, wrong


@pytest.mark.bad_input
def test_an_unknown_topic_is_told():
    assert "no topic" in check("cooking.1", 2).message
