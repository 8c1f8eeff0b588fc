"""Derivatives of single kernel values: every entry against the gradients that sum over them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gplvm_edu.kernels import MLP, RBF, Bias, Linear, Matern32, Periodic, White


@st.composite
def problems(draw):
    """(kernel, X, Z, scale): a leaf, a sum, a product, or both; points of any scale, one of Z perhaps a point of X."""
    N, M, q = draw(st.integers(1, 6)), draw(st.integers(1, 5)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = 10.0 ** draw(st.integers(-3, 3))
    X, Z = scale * rng.standard_normal((N, q)), scale * rng.standard_normal((M, q))
    Z[-1] = X[0] if draw(st.booleans()) else Z[-1]
    a, b, c = 10.0 ** rng.uniform(-1, 1, 3)
    widths = 10.0 ** rng.uniform(-1, 1, q) / scale**2
    leaves = [
        Linear(a),
        Linear(widths),
        RBF(a, b / scale**2),
        RBF(a, widths),
        Matern32(a, widths),
        Bias(a),
        White(a),
        MLP(a, b / scale**2, c),
        Periodic(a, 0.3 * b, 3.0 * c * scale),
    ]
    one, two, three = (draw(st.sampled_from(leaves)) for _ in range(3))
    return draw(st.sampled_from([one, one + two, one * two, one * two + three, (one + two) * three])), X, Z, scale


@pytest.mark.gradient
@given(problems())
@settings(deadline=None, max_examples=150)
def test_each_derivative_is_the_gradient_of_one_column_of_the_matrix(problem):
    kernel, X, Z, scale = problem
    found = kernel.input_derivatives(X, Z)
    assert found.shape == (len(X), *Z.shape)
    size = np.abs(kernel(X, Z)).max() / scale
    for m in range(len(Z)):
        G = np.zeros((len(X), len(Z)))
        G[:, m] = 1.0
        expected = kernel.gradients(G, X, Z)[0]
        assert_allclose(found[:, m], expected, rtol=1e-7, atol=1e-9 * size, err_msg=repr(kernel))


@pytest.mark.gradient
@pytest.mark.parametrize(
    "kernel",
    [
        Linear(0.7),
        RBF(1.3, [0.5, 2.0]),
        Matern32(1.0, 0.4),
        MLP(1.0, 2.0, 3.0),
        Periodic(1.0, 0.3, 2.0),
        Bias(0.2),
        White(),
        RBF() * Linear() + MLP() * (Bias(0.5) + Matern32()),
    ],
    ids=repr,
)
def test_each_derivative_is_a_difference_quotient(kernel):
    rng = np.random.default_rng(0)
    X, Z, h = rng.standard_normal((4, 2)), rng.standard_normal((3, 2)), 1e-6
    for j, step in enumerate(h * np.eye(2)):
        slope = (kernel(X + step, Z) - kernel(X - step, Z)) / (2 * h)
        assert_allclose(kernel.input_derivatives(X, Z)[:, :, j], slope, atol=1e-8)


@pytest.mark.bad_input
def test_points_of_another_space_are_refused():
    with pytest.raises(ValueError, match="2 columns and Z has 3"):
        RBF().input_derivatives(np.zeros((4, 2)), np.zeros((3, 3)))
