"""The measures of an embedding against brute force, against scikit-learn and SciPy, and against bad input."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from scipy.spatial import procrustes as scipy_procrustes
from scipy.stats import ortho_group, special_ortho_group
from sklearn.manifold import trustworthiness as sklearn_trustworthiness
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from gplvm_edu import metrics
from gplvm_edu.metrics import (
    nearest_neighbour_errors,
    procrustes_align,
    procrustes_distance,
    subspace_angle,
    trustworthiness,
)

seeds = st.integers(0, 10_000)


def cloud(N, q, seed, scale=1.0):
    return scale * np.random.default_rng(seed).normal(size=(N, q))


def brute_force_neighbours(X):
    """By two loops, with a strict comparison: the first of equals stays."""
    nearest = []
    for n, x in enumerate(X):
        best, at = np.inf, None
        for m, z in enumerate(X):
            d = np.sum((x - z) ** 2)
            if m != n and d < best:
                best, at = d, m
        nearest.append(at)
    return np.array(nearest)


# ---- nearest-neighbour errors


@pytest.mark.oracle
@given(N=st.integers(2, 40), q=st.integers(1, 5), n_classes=st.integers(1, 4), seed=seeds)
def test_errors_are_those_of_scikit_learns_classifier_left_one_out(N, q, n_classes, seed):
    X, target = cloud(N, q, seed), np.random.default_rng(seed).integers(n_classes, size=N)
    right = cross_val_score(KNeighborsClassifier(1), X, target, cv=LeaveOneOut())
    assert nearest_neighbour_errors(X, target) == np.sum(right == 0)


@given(N=st.integers(2, 30), q=st.integers(1, 3), side=st.integers(1, 4), seed=seeds)
def test_among_equally_near_points_the_first_counts(N, q, side, seed):
    X = np.random.default_rng(seed).integers(side, size=(N, q)).astype(float)  # a grid: ties, duplicates
    assert_array_equal(metrics.nearest_neighbours(X), brute_force_neighbours(X))


@given(n_copies=st.integers(2, 4), q=st.integers(1, 40), seed=seeds)
def test_the_neighbour_of_a_duplicate_is_its_first_twin_whatever_the_rounding(n_copies, q, seed):
    X = np.tile(cloud(17, q, seed) + 100.0, (n_copies, 1))
    expected = np.where(np.arange(len(X)) < 17, np.arange(len(X)) + 17, np.arange(len(X)) % 17)
    assert_array_equal(metrics.nearest_neighbours(X), expected)


def test_two_thousand_equal_points_have_the_first_for_neighbour():
    nearest = metrics.nearest_neighbours(np.full((2000, 3), 0.1))
    assert nearest[0] == 1 and np.all(nearest[1:] == 0)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.0, 1e160, 1e300])
@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_neighbours_do_not_depend_on_the_unit(scale, offset):
    X = cloud(40, 2, seed=0) + offset
    assert_array_equal(metrics.nearest_neighbours(scale * X), brute_force_neighbours(X))


def test_a_cloud_far_from_the_origin_keeps_its_neighbours():
    X = np.round(cloud(60, 2, seed=1) * 2**10) / 2**10  # so that the sum with 2**30 is exact
    assert_array_equal(metrics.nearest_neighbours(X + 2.0**30), brute_force_neighbours(X))


def test_a_far_outlier_does_not_blur_the_others():
    X = cloud(50, 2, seed=2)
    X[7] = 1e12
    assert_array_equal(metrics.nearest_neighbours(X), brute_force_neighbours(X))


@pytest.mark.oracle
def test_blocks_of_rows_give_the_same_as_scikit_learns_tree_for_ten_thousand_points():
    X = cloud(10_000, 2, seed=3)
    assert len(metrics.row_blocks(len(X))) > 50
    expected = NearestNeighbors(n_neighbors=1, algorithm="kd_tree").fit(X).kneighbors(return_distance=False)
    assert_array_equal(metrics.nearest_neighbours(X), expected[:, 0])


@given(N=st.integers(1, 3000))
def test_blocks_cover_every_row_once_and_bound_the_memory(N):
    blocks = metrics.row_blocks(N)
    assert_array_equal(np.concatenate(blocks), np.arange(N))
    assert max(map(len, blocks)) * N <= metrics.BLOCK + N


def test_labels_may_be_words_or_truth_values():
    X = [[0.0], [0.1], [5.0], [5.1]]
    assert nearest_neighbour_errors(X, ["oil", "oil", "gas", "oil"]) == 2
    assert nearest_neighbour_errors(X, [True, True, False, False]) == 0
    assert isinstance(nearest_neighbour_errors(X, [0, 1, 2, 3]), int)


@given(seed=seeds)
def test_errors_do_not_depend_on_rotation_or_the_names_of_classes(seed):
    X, target = cloud(30, 3, seed), np.random.default_rng(seed).integers(3, size=30)
    R = ortho_group(3, seed=seed).rvs()
    assert nearest_neighbour_errors(X @ R + 1, 7 - target) == nearest_neighbour_errors(X, target)


# ---- trustworthiness


@pytest.mark.oracle
@given(N=st.integers(5, 40), D=st.integers(1, 6), q=st.integers(1, 3), seed=seeds, data=st.data())
def test_trustworthiness_is_scikit_learns(N, D, q, seed, data):
    k = data.draw(st.integers(1, (N - 1) // 2))
    Y, X = cloud(N, D, seed), cloud(N, q, seed + 1)
    assert_allclose(trustworthiness(Y, X, k), sklearn_trustworthiness(Y, X, n_neighbors=k), atol=1e-12)
    assert_allclose(trustworthiness(X, Y, k), sklearn_trustworthiness(X, Y, n_neighbors=k), atol=1e-12)


@pytest.mark.oracle
@given(N=st.integers(1, 12), side=st.integers(1, 5), seed=seeds, data=st.data())
def test_the_k_smallest_of_a_row_are_those_of_a_stable_sort(N, side, seed, data):
    D = np.random.default_rng(seed).integers(side, size=(4, N)).astype(float)
    k = data.draw(st.integers(1, N))
    expected = np.sort(np.argsort(D, axis=1, kind="stable")[:, :k], axis=1)
    assert_array_equal(metrics.nearest_columns(D, k), expected)


@pytest.mark.identity
@given(N=st.integers(5, 20), seed=seeds)
def test_trustworthiness_with_ties_is_its_formula_by_loops(N, seed):
    rng, k = np.random.default_rng(seed), 2
    Y, X = rng.integers(3, size=(N, 2)).astype(float), rng.integers(3, size=(N, 2)).astype(float)
    excess = 0
    for n in range(N):
        others = [m for m in range(N) if m != n]
        near = sorted(others, key=lambda m, n=n: (np.sum((X[n] - X[m]) ** 2), m))[:k]
        for m in near:
            nearer = [i for i in others if np.sum((Y[n] - Y[i]) ** 2) < np.sum((Y[n] - Y[m]) ** 2)]
            excess += max(len(nearer) + 1 - k, 0)
    assert_allclose(trustworthiness(Y, X, k), 1 - 2 * excess / (N * k * (2 * N - 3 * k - 1)), rtol=1e-14)


@pytest.mark.oracle
def test_trustworthiness_over_several_blocks_is_scikit_learns(monkeypatch):
    monkeypatch.setattr(metrics, "BLOCK", 2**10)
    Y, X = cloud(150, 5, seed=0), cloud(150, 2, seed=1)
    assert len(metrics.row_blocks(150)) > 5
    assert_allclose(trustworthiness(Y, X), sklearn_trustworthiness(Y, X), atol=1e-12)


@pytest.mark.identity
def test_the_mean_trustworthiness_of_random_embeddings_is_that_of_uniform_ranks():
    N, k = 60, 4
    Y = cloud(N, 3, seed=0)
    values = [trustworthiness(Y, cloud(N, 2, seed=s), k) for s in range(1, 101)]
    excess = np.mean(np.maximum(np.arange(1, N) - k, 0))  # of a rank drawn from 1 to N - 1
    expected = 1 - 2 * excess / (2 * N - 3 * k - 1)
    assert abs(np.mean(values) - expected) < 4 * np.std(values) / np.sqrt(len(values))


@pytest.mark.identity
@given(seed=seeds)
def test_a_similarity_keeps_every_neighbourhood(seed):
    Y = cloud(20, 3, seed)
    X = 0.3 * Y @ ortho_group(3, seed=seed).rvs() - 2.0
    assert trustworthiness(Y, X, 4) == trustworthiness(X, Y, 4) == 1.0


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_trustworthiness_does_not_depend_on_units(scale):
    Y, X = cloud(20, 3, seed=0), cloud(20, 2, seed=1)
    assert trustworthiness(scale * Y, X, 4) == trustworthiness(Y, scale * X, 4) == trustworthiness(Y, X, 4)


@given(seed=seeds)
def test_trustworthiness_stays_between_zero_and_one(seed):
    N = np.random.default_rng(seed).integers(3, 12)
    values = [trustworthiness(cloud(N, 1, seed), cloud(N, 1, seed + 1), k) for k in range(1, (N + 1) // 2)]
    assert len(values) > 0 and min(values) >= 0 and max(values) <= 1


# ---- Procrustes


@pytest.mark.oracle
@given(N=st.integers(3, 30), q=st.integers(1, 5), scale=st.sampled_from([1e-3, 1.0, 1e3]), seed=seeds)
def test_the_squared_procrustes_distance_is_scipys_disparity(N, q, scale, seed):
    A, B = cloud(N, q, seed), cloud(N, q, seed + 1, scale) + 5.0
    assert_allclose(procrustes_distance(A, B) ** 2, scipy_procrustes(A, B)[2], rtol=1e-9, atol=1e-14)


@pytest.mark.identity
@given(q=st.integers(1, 4), seed=seeds)
def test_alignment_undoes_any_similarity(q, seed):
    rng = np.random.default_rng(seed)
    A, R = cloud(12, q, seed), ortho_group(q, seed=seed).rvs() if q > 1 else np.array([[-1.0]])
    B = rng.uniform(0.1, 10) * A @ R + rng.normal(size=q)
    assert_allclose(procrustes_align(A, B), A, atol=1e-12)
    assert procrustes_distance(A, B) < 1e-13
    assert_allclose(procrustes_align(A, A @ R - 3.0, scaling=False), A, atol=1e-12)


@pytest.mark.identity
@given(q=st.integers(2, 4), scaling=st.booleans(), reflection=st.booleans(), seed=seeds)
def test_no_other_similarity_comes_closer(q, scaling, reflection, seed):
    rng = np.random.default_rng(seed)
    A, B = cloud(10, q, seed), cloud(10, q, seed + 1)
    best = np.linalg.norm(A - procrustes_align(A, B, scaling, reflection))
    for _ in range(30):
        R = (ortho_group if reflection else special_ortho_group)(q, seed=rng).rvs()
        B0 = (B - B.mean(axis=0)) @ R
        A0 = A - A.mean(axis=0)
        s = max(np.sum(A0 * B0) / np.sum(B0**2), 0.0) if scaling else 1.0
        assert best <= np.linalg.norm(A0 - s * B0) + 1e-12


@pytest.mark.identity
@given(seed=seeds)
def test_with_scaling_the_distance_is_symmetric_and_at_most_one(seed):
    A, B = cloud(8, 2, seed), cloud(8, 2, seed + 1, scale=50.0)
    assert_allclose(procrustes_distance(A, B), procrustes_distance(B, A), rtol=1e-10)
    assert procrustes_distance(A, B) <= 1


def test_a_mirror_image_differs_only_where_reflection_is_forbidden():
    A = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [-2.0, 1.0]])
    mirrored = A * [-1, 1]
    assert procrustes_distance(A, mirrored) < 1e-15
    assert procrustes_distance(A, mirrored, reflection=False) > 0.1


def test_a_tiny_displacement_is_measured_to_many_digits():
    A = cloud(50, 2, seed=0)
    E = cloud(50, 2, seed=1)
    small, smaller = procrustes_distance(A, A + 1e-8 * E), procrustes_distance(A, A + 1e-10 * E)
    assert_allclose(small / smaller, 100.0, rtol=1e-4)  # 1 - (sum of S)^2 would have lost both


def test_aligning_changes_neither_input():
    A, B = cloud(5, 2, seed=0), cloud(5, 2, seed=1)
    before = A.copy(), B.copy()
    procrustes_align(A, B, reflection=False)
    assert_array_equal(A, before[0])
    assert_array_equal(B, before[1])


# ---- subspace angle


@pytest.mark.oracle
@given(D=st.integers(2, 12), seed=seeds, data=st.data())
def test_the_angle_is_the_largest_of_scipys(D, seed, data):
    q, p = data.draw(st.integers(1, D)), data.draw(st.integers(1, D))
    A, B = cloud(D, q, seed), cloud(D, p, seed + 1)
    assert_allclose(subspace_angle(A, B), linalg.subspace_angles(A, B).max(), atol=1e-12)
    assert_allclose(subspace_angle(B, A), subspace_angle(A, B), atol=1e-13)


@pytest.mark.identity
@given(exponent=st.floats(-15, 0), seed=seeds)
def test_a_known_angle_is_found_down_to_the_rounding(exponent, seed):
    theta = 10.0**exponent
    Q = ortho_group(6, seed=seed).rvs()
    A = Q[:, :2]
    B = np.c_[Q[:, 0], np.cos(theta) * Q[:, 1] + np.sin(theta) * Q[:, 2]] @ cloud(2, 2, seed)
    condition = np.linalg.cond(B)
    assert abs(subspace_angle(A, B) - theta) <= 20 * np.finfo(float).eps * condition


@pytest.mark.identity
@given(seed=seeds)
def test_the_angle_knows_spaces_not_bases(seed):
    A, B = cloud(7, 3, seed), cloud(7, 3, seed + 1)
    M = ortho_group(3, seed=seed).rvs() * [1.0, 5.0, 0.2]
    assert_allclose(subspace_angle(1e200 * A @ M, 1e-200 * B), subspace_angle(A, B), atol=1e-12)
    assert_allclose(subspace_angle(np.c_[A, A @ M], B), subspace_angle(A, B), atol=1e-12)  # dependent columns
    assert subspace_angle(A, np.c_[B, A]) < 1e-13  # contained


def test_orthogonal_spaces_are_a_right_angle_apart():
    assert_allclose(subspace_angle(np.eye(4)[:, :2], np.eye(4)[:, 2:]), np.pi / 2, rtol=1e-15)


# ---- units


EXPONENTS = [*range(-8, 9), -100, 100, -200, 200]


@pytest.mark.identity
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_no_score_knows_a_unit(exponent):
    Y, X, c = cloud(30, 3, seed=0), cloud(30, 3, seed=1), 10.0**exponent
    target = np.arange(30) % 3
    assert nearest_neighbour_errors(c * X, target) == nearest_neighbour_errors(X, target)
    assert trustworthiness(c * Y, X / c, 4) == trustworthiness(Y, X, 4)
    for scaling, reflection in itertools.product([True, False], repeat=2):
        options = dict(scaling=scaling, reflection=reflection)
        aligned, distance = procrustes_align(Y, X, **options), procrustes_distance(Y, X, **options)
        assert_allclose(procrustes_align(c * Y, c * X, **options), c * aligned, rtol=1e-9)
        assert_allclose(procrustes_distance(c * Y, c * X, **options), distance, rtol=1e-12)
    assert_allclose(procrustes_align(c * Y, X / c), c * procrustes_align(Y, X), rtol=1e-9)
    assert_allclose(procrustes_distance(Y, c * X), procrustes_distance(Y, X), rtol=1e-12)
    assert_allclose(subspace_angle(c * Y, X[:, :2] / c), subspace_angle(Y, X[:, :2]), rtol=1e-9)


@pytest.mark.filterwarnings("error")
@given(seed=seeds, N=st.integers(2, 6), q=st.integers(1, 3), exponent=st.integers(-200, 200))
def test_duplicates_and_constant_columns_have_finite_scores(seed, N, q, exponent):
    rng = np.random.default_rng(seed)
    A, B = 10.0**exponent * rng.integers(-1, 2, (N, q)), rng.integers(-1, 2, (N, q)).astype(float)
    A[0, 0], B[0, 0] = 5 * 10.0**exponent, 5.0  # two points at least, whatever is drawn
    assert 0 <= nearest_neighbour_errors(A, np.arange(N) % 2) <= N
    assert 0 <= procrustes_distance(A, B) <= 1 + 1e-12
    assert np.isfinite(procrustes_align(A, B, scaling=False)).all()
    assert 0 <= subspace_angle(A, B) <= np.pi / 2
    if N > 2:
        assert 0 <= trustworthiness(A, B, 1) <= 1


@pytest.mark.filterwarnings("error")
def test_two_points_are_enough_for_a_shape():
    A, B = np.array([[0.0, 0.0], [0.0, 2.0]]), np.array([[5.0, 5.0], [8.0, 9.0]])
    assert procrustes_distance(A, B) < 1e-15
    assert_allclose(procrustes_distance(A, B, scaling=False), 1.5)
    assert nearest_neighbour_errors(A, [0, 1]) == 2


@pytest.mark.bad_input
@pytest.mark.filterwarnings("error")
def test_a_distance_beyond_the_numbers_is_refused():
    A, B = cloud(5, 2, seed=0), cloud(5, 2, seed=1)
    with pytest.raises(ValueError, match="no floating-point number"):
        procrustes_distance(1e-200 * A, 1e200 * B, scaling=False)
    assert_allclose(procrustes_align(1e-200 * A, 1e200 * B, scaling=False).mean(axis=0), 0.0, atol=1e185)


# ---- bad input

good = np.arange(12.0).reshape(6, 2) ** 2
two_arguments = pytest.mark.parametrize(
    "measure",
    [lambda A, B: trustworthiness(A, B, 1), procrustes_align, procrustes_distance, subspace_angle],
    ids=["trustworthiness", "align", "distance", "angle"],
)


def spoilt(value):
    X = good.copy()
    X[3, 1] = value
    return X


WRONG = [
    (np.arange(6.0), r"must be an array of shape .* got shape \(6,\). Write .\[:, None\]"),
    (5.0, r"got shape \(\)"),
    (np.zeros((2, 3, 2)), r"got shape \(2, 3, 2\)"),
    (np.zeros((6, 0)), r"got shape \(6, 0\)"),
    (spoilt(np.nan), "contains NaN or infinity in row 3: .* Leave such rows out"),
    (spoilt(-np.inf), "contains NaN or infinity in row 3"),
    ([["a", "b"]] * 6, "must be an array of numbers, got .*'a'"),
    ([[1.0], [1.0, 2.0]], "must be an array of numbers"),
    (good + 1j, "is complex"),
    (None, r"got shape \(\)|must be an array of numbers"),
    (np.zeros((0, 2)), r"got shape \(0, 2\)"),
]


@pytest.mark.bad_input
@pytest.mark.filterwarnings("error")
@two_arguments
@pytest.mark.parametrize("wrong, message", WRONG)
def test_what_is_not_a_finite_matrix_is_refused_on_either_side(measure, wrong, message):
    with pytest.raises(ValueError, match=message):
        measure(wrong, good)
    with pytest.raises(ValueError, match=message):
        measure(good, wrong)


@pytest.mark.bad_input
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("wrong, message", WRONG)
def test_errors_of_neighbours_need_a_finite_matrix(wrong, message):
    with pytest.raises(ValueError, match=message):
        nearest_neighbour_errors(wrong, np.zeros(6))


@pytest.mark.bad_input
@two_arguments
def test_lengths_that_disagree_are_named(measure):
    with pytest.raises(ValueError, match=r"has 6 rows and . has 5|has 5 rows and . has 6"):
        measure(good, good[:5])


@pytest.mark.bad_input
@pytest.mark.parametrize("target", [np.zeros(5), np.zeros((6, 1)), 3])
def test_a_label_is_needed_for_each_point(target):
    with pytest.raises(ValueError, match="a label for each of 6 rows"):
        nearest_neighbour_errors(good, target)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "target",
    [
        [0, 1, np.nan, 1, 0, 1],
        np.array(["a", "b", np.nan, "a", "b", None], dtype=object),
        np.array(["2020-01-01", "NaT"] * 3, dtype="datetime64[D]"),
        np.array([0, np.nan, 1, 1, 0, 1]) + 1j,
    ],
    ids=["floats", "objects", "dates", "complex"],
)
def test_labels_that_are_nan_are_refused(target):
    with pytest.raises(ValueError, match="target contains NaN"):
        nearest_neighbour_errors(good, target)


@pytest.mark.bad_input
def test_labels_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="target must hold one label for each of 6 rows"):
        nearest_neighbour_errors(good, [[0], [1, 2], 0, 0, 0, 0])


@pytest.mark.bad_input
def test_one_point_has_no_neighbour_and_no_shape():
    with pytest.raises(ValueError, match="X has 1 rows: at least 2"):
        nearest_neighbour_errors([[1.0, 2.0]], [0])
    with pytest.raises(ValueError, match="A has 1 rows: at least 2"):
        procrustes_distance([[1.0, 2.0]], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="Y has 2 rows: at least 3"):
        trustworthiness(good[:2], good[:2], 1)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "k, message",
    [
        (0, "a whole number of at least 1, got 0"),
        (-1, "got -1"),
        (2.0, "got 2.0"),
        (0.5, "got 0.5"),
        (np.nan, "got nan"),
        ("two", "got 'two'"),
        (True, "got True"),
        (None, "got None"),
        (10**30, "is too many"),
        (3, r"n_neighbors=3 is too many: it must be below N / 2 = 3.0"),
    ],
)
def test_the_number_of_neighbours_must_suit_the_number_of_points(k, message):
    with pytest.raises(ValueError, match=message):
        trustworthiness(good, good, k)


@pytest.mark.bad_input
def test_shapes_that_cannot_be_compared_are_refused():
    with pytest.raises(ValueError, match="A has 2 columns and B 1: pad"):
        procrustes_align(good, good[:, :1])
    with pytest.raises(ValueError, match="All 6 points of B coincide"):
        procrustes_distance(good, np.ones((6, 2)))
    with pytest.raises(ValueError, match="All 6 points of A coincide"):
        procrustes_distance(np.ones((6, 2)), good)
    with pytest.raises(ValueError, match="B contains zeros alone"):
        subspace_angle(good, np.zeros((6, 1)))
    with pytest.raises(ValueError, match="A contains zeros alone"):
        subspace_angle(np.zeros((6, 1)), good)


@pytest.mark.bad_input
@pytest.mark.parametrize("measure", [procrustes_align, procrustes_distance])
@pytest.mark.parametrize("name", ["scaling", "reflection"])
@pytest.mark.parametrize("wrong", ["no", None, 1, np.nan])
def test_a_choice_is_true_or_false(measure, name, wrong):
    with pytest.raises(ValueError, match=f"{name} must be True or False"):
        measure(good, good, **{name: wrong})


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "ask, message",
    [
        (lambda: metrics.nearest_neighbours(good[0]), "got shape"),
        (lambda: metrics.nearest_neighbours(good[:1]), "at least 2"),
        (lambda: metrics.nearest_columns(good, 3), r"k=3 columns can't be chosen from an array of shape \(6, 2\)"),
        (lambda: metrics.nearest_columns(good, 0), "k must be a whole number of at least 1"),
        (lambda: metrics.nearest_columns(good[0], 1), r"shape \(2,\)"),
        (lambda: metrics.row_blocks(0), "N must be a whole number of at least 1"),
    ],
)
def test_the_parts_of_a_score_refuse_what_they_can_not_mean(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()
