"""The border of the package: what is right passes through, what is wrong is named with its value and a way out."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from gplvm_edu import GPLVM, TSNE, Isomap, checks
from gplvm_edu.kernels import RBF, White

seeds = st.integers(0, 2**32 - 1)


def refused(match, function, *arguments, **options):
    with pytest.raises(ValueError, match=match):
        function(*arguments, **options)


def proximities(seed, N=6):
    """Points, their inner products and their distances."""
    X = np.random.default_rng(seed).standard_normal((N, 3))
    return X, X @ X.T, np.sqrt(np.sum((X[:, None] - X) ** 2, axis=-1))


# ---- numbers and choices


@given(value=st.integers(-5, 10**20), at_least=st.integers(-5, 5))
def test_a_whole_number_passes_as_an_int_when_it_is_large_enough(value, at_least):
    if value < at_least:
        says = f"n must be a whole number of at least {at_least}, got {value}"
        refused(says, checks.whole_number, "n", value, at_least)
    else:
        assert checks.whole_number("n", value, at_least) == value


def test_numpys_integers_are_whole_numbers():
    found = checks.whole_number("n", np.int8(3))
    assert found == 3 and type(found) is int


@pytest.mark.bad_input
@pytest.mark.parametrize("value", [True, np.True_, 2.0, np.float64(2), "2", None, [2], np.nan, 2 + 0j], ids=repr)
def test_what_only_looks_like_a_whole_number_is_refused(value):
    refused("max_iter must be a whole number of at least 0, got", checks.whole_number, "max_iter", value, at_least=0)


@pytest.mark.parametrize("value", [0, 1.5, np.float32(0.5), np.int64(3), 1e100], ids=repr)
def test_a_finite_number_passes_as_a_float(value):
    found = checks.number("tol", value, at_least=0)
    assert found == value and type(found) is float


@pytest.mark.bad_input
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, True, "0.1", None, [0.1], 1j, np.complex128(1j)], ids=repr)
def test_what_is_not_a_finite_number_is_refused(value):
    refused("tol must be a finite number, got", checks.number, "tol", value)


@pytest.mark.bad_input
def test_bounds_are_named_and_only_one_of_them_is_open():
    assert checks.number("tol", 0.0, at_least=0) == 0.0
    refused("tol must be a finite number of at least 0, got -0.5", checks.number, "tol", -0.5, at_least=0)
    refused("scale must be a finite number above 0, got 0.0", checks.positive, "scale", 0.0)
    assert checks.positive("scale", 1e-100) == 1e-100


@pytest.mark.bad_input
def test_a_choice_is_one_of_those_listed():
    assert checks.choice("ties", "primary", ("primary", "secondary")) == "primary"
    assert checks.choice("prior", None, ("gaussian", None)) is None
    refused(
        "ties must be one of 'primary', 'secondary', got 'third'. See chapter 6.",
        checks.choice,
        "ties",
        "third",
        ("primary", "secondary"),
        "See chapter 6.",
    )
    refused("got array", checks.choice, "init", np.zeros(2), ("pca", "random"))
    refused("got 1", checks.choice, "prior", 1, ("gaussian", None, True))


@pytest.mark.bad_input
def test_components_are_a_whole_number_up_to_the_largest_and_the_reason_is_told():
    assert checks.components(np.int32(3), 10, 4, 3, "of this") == 3
    refused("n_components must be a whole number of at least 1", checks.components, 0, 10, 4, 3, "of this")
    refused(
        "n_components=4 is too many for Y with n_samples=10 rows and n_features=4 columns: of this, so at most 3",
        checks.components,
        4,
        10,
        4,
        3,
        "of this",
    )


@pytest.mark.bad_input
def test_a_kernel_is_an_object_that_answers_as_one_or_none():
    kernel = RBF() + White()
    assert checks.kernel("kernel", kernel) is kernel and checks.kernel("kernel", None) is None
    for wrong in ("rbf", RBF, np.eye(2), lambda X, Z: X @ Z.T):
        refused(
            r"must be a kernel of gplvm_edu.kernels \(such as RBF\(\)\) or None",
            checks.kernel,
            "kernel",
            wrong,
            "RBF()",
        )


# ---- random numbers


@given(seed=seeds)
def test_an_int_gives_the_numbers_that_numpy_gives(seed):
    assert_array_equal(checks.random_state(seed).standard_normal(3), np.random.RandomState(seed).standard_normal(3))
    assert_array_equal(checks.generator(seed).standard_normal(3), np.random.default_rng(seed).standard_normal(3))
    assert_array_equal(checks.generator(np.int64(seed)).random(3), np.random.default_rng(seed).random(3))


@pytest.mark.parametrize(
    "check, kind",
    [(checks.random_state, np.random.RandomState), (checks.generator, np.random.Generator)],
    ids=["random_state", "generator"],
)
@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng], ids=["RandomState", "Generator"])
def test_a_source_of_numbers_goes_on_and_the_same_one_gives_the_same(check, kind, make):
    assert isinstance(check(make(5)), kind)
    assert_array_equal(check(make(5)).standard_normal(4), check(make(5)).standard_normal(4))
    source = make(5)
    first, second = (check(source).standard_normal(4) for _ in range(2))
    assert not np.array_equal(first, second)  # it was drawn from
    assert not np.array_equal(source.standard_normal(4), make(5).standard_normal(4))


def test_a_source_of_the_right_kind_is_handed_back():
    state, generator = np.random.RandomState(0), np.random.default_rng(0)
    assert checks.random_state(state) is state and checks.generator(generator) is generator


@pytest.mark.parametrize("check", [checks.random_state, checks.generator])
def test_none_is_another_start_each_time(check):
    assert not np.array_equal(check(None).standard_normal(4), check(None).standard_normal(4))
    assert not np.array_equal(check().standard_normal(4), check().standard_normal(4))


@pytest.mark.bad_input
@pytest.mark.parametrize("check", [checks.random_state, checks.generator])
@pytest.mark.parametrize("seed", [-1, 2**32, 1.0, "0", True, [1, 2], np.random], ids=repr)
def test_what_is_no_seed_is_refused(check, seed):
    refused(r"random_state must be None, a whole number from 0 to 2\*\*32 - 1, a numpy Generator or a", check, seed)


# ---- tables and points


@pytest.mark.parametrize("check", [checks.matrix, checks.points])
def test_a_finite_table_passes_as_floats(check):
    found = check([[1, 2], [3, 4]], "A")
    assert found.dtype == float and found.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    A = np.eye(3)
    assert check(A, "A") is A


@pytest.mark.bad_input
@pytest.mark.parametrize("check", [checks.matrix, checks.points])
def test_a_complex_table_is_refused_and_not_cut_in_half(check):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refused("A is complex, .*Complex data not supported", check, np.eye(2) + 1j, "A")


@pytest.mark.bad_input
def test_a_matrix_has_two_dimensions_and_no_gap():
    refused(r"S must be a matrix, .* got the shape \(3,\)", checks.matrix, np.zeros(3), "S")
    refused("S must be an array of numbers", checks.matrix, [["a", "b"]], "S")
    for bad in (np.nan, np.inf):
        A = np.eye(3)
        A[1, 2] = bad
        refused("S contains NaN or infinity at row 1, column 2", checks.matrix, A, "S")


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "X, says",
    [
        (np.zeros(4), r"got shape \(4,\). Write X\[:, None\] for points on a line"),
        (np.zeros((2, 0)), r"got shape \(2, 0\). Each row is one point"),
        (np.zeros((0, 2)), r"got shape \(0, 2\)"),
        (3.0, r"got shape \(\)"),
        (np.full((2, 2), np.nan), "X contains NaN or infinity in row 0"),
        ([[0.0, 1.0], [np.inf, 1.0]], "in row 1: .*Missing values belong into Y"),
        ([[0.0, 1.0]], "X has 1 rows: at least 2"),
    ],
)
def test_points_are_rows_of_finite_numbers(X, says):
    refused(says, checks.points, X, "X", at_least=2)


def test_the_advice_on_gaps_can_be_given():
    refused("in row 0: .* Ask the author", checks.points, [[np.nan]], "X", advice="Ask the author.")


@pytest.mark.bad_input
def test_positions_are_a_finite_copy_of_the_stated_shape():
    X = np.arange(6.0).reshape(3, 2)
    found = checks.positions(X, (3, 2))
    assert_array_equal(found, X)
    assert found is not X and not np.shares_memory(found, X)
    refused(
        r"init must be a finite array of shape \(3, 3\), .* got an array of shape \(3, 2\)\.",
        checks.positions,
        X,
        (3, 3),
    )
    refused(
        r"start must be .* of shape \(3, 2\) with NaN or infinity in it", checks.positions, X * np.nan, (3, 2), "start"
    )


@pytest.mark.bad_input
@given(N=st.integers(1, 6), D=st.integers(1, 6), share=st.floats(0, 1), seed=seeds)
def test_rows_and_columns_need_one_value_each_and_the_first_without_is_named(N, D, share, seed):
    rng = np.random.default_rng(seed)
    Y = np.where(rng.random((N, D)) < share, np.nan, rng.standard_normal((N, D)))
    for check, name, axis in ((checks.observed_rows, "Row", 1), (checks.observed_columns, "Column", 0)):
        empty = [i for i, part in enumerate(Y if axis else Y.T) if np.isnan(part).all()]
        if empty:
            refused(f"{name} {empty[0]} of Y has no observed value", check, Y)
        else:
            assert check(Y) is Y


def test_the_advice_for_an_empty_row_can_be_given_and_such_rows_are_counted():
    Y = np.array([[np.nan], [1.0], [np.nan]])
    refused(r"Row 0 .*2 such rows\): drop it", checks.observed_rows, Y, "drop it")


# ---- proximities


@given(seed=seeds)
def test_similarities_and_distances_pass_through(seed):
    _, S, D = proximities(seed)
    S, D = (S + S.T) / 2, (D + D.T) / 2
    assert checks.symmetric(S, "S") is S and checks.semidefinite(S) is S and checks.distances(D) is D
    assert checks.is_semidefinite(S) and not checks.is_semidefinite(-S)
    assert checks.same_points(S, D) == (S, D)


@given(seed=seeds, size=st.floats(-1, 1))
def test_semidefinite_means_that_no_eigenvalue_is_below_rounding(seed, size):
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((5, 5)))
    S = Q * np.r_[rng.uniform(0.5, 2.0, 4), size] @ Q.T
    S = (S + S.T) / 2
    if abs(size) > 1e-8:
        assert checks.is_semidefinite(S) == (size > 0)
    if size < -1e-8:
        refused(
            "S is not positive semi-definite: 1 of its 5 eigenvalues are negative.*nearest_semidefinite",
            checks.semidefinite,
            S,
        )


def test_the_zero_matrix_is_semidefinite_and_one_without_trace_is_not():
    assert checks.is_semidefinite(np.zeros((3, 3)))
    assert not checks.is_semidefinite(np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert not checks.is_semidefinite(-np.eye(2))


def test_rounding_of_the_halves_is_allowed_and_a_difference_is_located():
    _, S, _ = proximities(0)
    S = (S + S.T) / 2
    assert_allclose(checks.symmetric(S + 1e-12 * np.triu(np.ones((6, 6))), "S"), S, atol=1e-11)
    S[4, 1] += 0.5
    refused(r"S is not symmetric: entry \((1, 4|4, 1)\) is .*chapter 3", checks.symmetric, S, "S")


@pytest.mark.bad_input
def test_a_table_that_is_not_square_or_empty_is_told_to_become_similarities():
    refused(r"S must be square.*\(2, 3\).*k\(Y\)", checks.symmetric, np.zeros((2, 3)), "S")
    refused("S must be square", checks.symmetric, np.zeros((0, 0)), "S")
    refused(r"S has the shape \(2, 2\) and K has \(3, 3\)", checks.same_points, np.eye(2), np.eye(3))


@pytest.mark.bad_input
def test_distances_are_not_negative_and_zero_on_the_diagonal():
    _, S, D = proximities(1)
    D = (D + D.T) / 2
    wrong = D.copy()
    wrong[2, 5] = wrong[5, 2] = -0.25
    refused(
        r"D has the negative entry -0.25 at \((2, 5|5, 2)\), and a squared distance is 0 or more",
        checks.distances,
        wrong,
        "D",
        "squared distance",
    )
    refused(
        r"distances has 1 on its diagonal, at \(0, 0\), and a point has distance 0 from itself",
        checks.distances,
        D + np.eye(6),
    )
    refused("similarities", checks.distances, np.abs((S + S.T) / 2))


@pytest.mark.parametrize(
    "warns",
    [
        lambda Y: GPLVM(max_iter=1).fit(Y),
        lambda Y: GPLVM(max_iter=1).fit_transform(Y),
        lambda Y: TSNE(perplexity=2.0, max_iter=1).fit(np.repeat(Y[:5], 8, axis=0)),
        lambda Y: Isomap(n_neighbors=2, disconnected="bridge").fit(np.vstack([Y, Y + 1000.0])),
    ],
)
def test_a_warning_points_to_the_line_of_the_caller(warns):
    """Between a method and the check that warns lie decorators and loops of ours, which a reader has not written."""
    with pytest.warns(UserWarning, match="converged|copies|pieces") as caught:
        warns(np.random.default_rng(0).standard_normal((30, 4)))
    package = str(Path(checks.__file__).parent)
    assert [warning.filename for warning in caught if warning.filename.startswith(package)] == []
