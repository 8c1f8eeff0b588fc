"""Plain first, fast beside: both give the same numbers, and the plain one has the right gradient."""

import numpy as np
import pytest
from hypothesis import given
from pairs import all_pairs, lines_of, parts_of, seeds

from gplvm_edu.optimise import check_gradient

PAIRS = all_pairs()
named = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)


def assert_agree(plain, fast, tolerance=1e-9):
    """Equal to `tolerance` of the largest number of each array: 1e-9 relative."""
    plain, fast = parts_of(plain), parts_of(fast)
    assert len(plain) == len(fast)
    for number, (one, other) in enumerate(zip(plain, fast, strict=True)):
        if one is None or other is None:
            assert one is other
            continue
        one, other = np.asarray(one, float), np.asarray(other, float)
        assert one.shape == other.shape, f"part {number} has shape {one.shape} and {other.shape}"
        size = np.max(np.abs(one[np.isfinite(one)]), initial=0.0)
        np.testing.assert_allclose(other, one, rtol=tolerance, atol=tolerance * size, err_msg=f"part {number}")


@pytest.mark.identity
@named
@given(rng=seeds)
def test_plain_and_fast_agree(pair, rng):
    problem = pair.random_problem(rng)
    assert_agree(pair.plain(*problem), pair.fast(*problem))


@pytest.mark.gradient
@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair.at], ids=lambda pair: pair.name)
@given(rng=seeds)
def test_the_plain_gradient_is_that_of_finite_differences(pair, rng):
    assert check_gradient(*pair.at(*pair.random_problem(rng))) < 1e-5


@named
def test_lines_are_counted_without_docstrings(pair):
    assert 0 < lines_of(pair.plain_code) < 100 and 0 < lines_of(pair.fast_code) < 400
