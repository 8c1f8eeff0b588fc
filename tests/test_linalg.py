"""The shared linear algebra against dense formulas, against SciPy, and where factorisations fail."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from gplvm_edu.linalg import (
    JITTERS,
    centre,
    cholesky_with_jitter,
    double_centre,
    inverse_from_cholesky,
    log_determinant,
    solve_cholesky,
    squared_distances,
)

seeds = st.integers(0, 10_000)
scales = st.sampled_from([1e-6, 1.0, 1e6])


def positive_definite(N, seed, scale=1.0):
    """Eigenvalues from 0.1 to 10, times the scale."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(N, N)))
    K = scale * Q * rng.uniform(0.1, 10.0, N) @ Q.T
    return (K + K.T) / 2


def rbf(N, width, seed=0):
    X = np.random.default_rng(seed).uniform(size=(N, 1))
    return np.exp(-0.5 * squared_distances(X) / width**2)


# ---- Cholesky factors and what follows from them


@pytest.mark.identity
@given(N=st.integers(1, 20), seed=seeds, scale=scales)
def test_the_factor_is_lower_triangular_and_its_square_is_the_matrix(N, seed, scale):
    K = positive_definite(N, seed, scale)
    L, jitter = cholesky_with_jitter(K)
    assert jitter == 0.0
    assert_array_equal(L, np.tril(L))
    assert np.all(np.diag(L) > 0)
    assert_allclose(L @ L.T, K, atol=1e-13 * scale * 10)


@pytest.mark.oracle
@given(N=st.integers(1, 20), seed=seeds, scale=scales)
def test_log_determinant_and_solve_agree_with_numpy(N, seed, scale):
    K, B = positive_definite(N, seed, scale), np.random.default_rng(seed).normal(size=(N, 3))
    L, _ = cholesky_with_jitter(K)
    assert_allclose(log_determinant(L), np.linalg.slogdet(K).logabsdet, rtol=1e-10, atol=1e-10)
    assert_allclose(solve_cholesky(L, B), np.linalg.solve(K, B), rtol=1e-9, atol=1e-11 / scale)
    assert_allclose(solve_cholesky(L, B[:, 0]), np.linalg.solve(K, B[:, 0]), rtol=1e-9, atol=1e-11 / scale)


@pytest.mark.oracle
@given(N=st.integers(1, 20), seed=seeds, scale=scales)
def test_the_inverse_from_the_factor_is_numpys_and_symmetric_and_leaves_the_factor_alone(N, seed, scale):
    K = positive_definite(N, seed, scale)
    L, _ = cholesky_with_jitter(K)
    before = L.copy()
    inverse = inverse_from_cholesky(L)
    assert_allclose(inverse, np.linalg.inv(K), rtol=1e-9, atol=1e-11 / scale)
    assert_array_equal(inverse, inverse.T)
    assert_array_equal(L, before)


def test_log_determinant_survives_where_the_determinant_overflows_or_vanishes():
    for scale in (1e-3, 1e3):
        L = np.sqrt(scale) * np.eye(400)
        assert_allclose(log_determinant(L), 400 * np.log(scale))


@pytest.mark.identity
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_jitter_is_relative_to_the_matrix_and_is_what_was_added(scale):
    K = scale * rbf(40, width=2.0)                  # numerically singular
    L, jitter = cholesky_with_jitter(K)
    assert jitter > 0
    assert np.min(np.abs(np.array(JITTERS) - jitter / scale)) < 1e-12 * jitter / scale
    assert_allclose(L @ L.T, K + jitter * np.eye(40), atol=1e-13 * scale)


@pytest.mark.parametrize("lowest", [-3e-11, -3e-9, -3e-7, -3e-5])
def test_jitter_is_the_smallest_of_its_list_that_succeeds(lowest):
    K = np.diag([1.0, 1.0, 1.0, lowest])
    mean = (3.0 + lowest) / 4
    sufficient = [j * mean for j in JITTERS if j * mean + lowest > 0]
    assert_allclose(cholesky_with_jitter(K)[1], sufficient[0], rtol=1e-14)


def test_a_list_of_jitters_can_be_given():
    assert cholesky_with_jitter(np.ones((2, 2)), jitters=(0.0, 0.5))[1] == 0.5
    with pytest.raises(np.linalg.LinAlgError, match="even with 0 of its mean"):
        cholesky_with_jitter(np.ones((2, 2)), jitters=(0.0,))


def test_factorising_leaves_the_matrix_alone():
    for K in (positive_definite(5, seed=0), np.ones((3, 3)), np.asfortranarray(positive_definite(5, seed=1))):
        before = K.copy()
        cholesky_with_jitter(K)
        assert_array_equal(K, before)


@pytest.mark.bad_input
@pytest.mark.parametrize("K", [-np.eye(3), np.zeros((3, 3)), np.array([[1.0, 2.0], [2.0, 1.0]])])
def test_a_matrix_that_is_not_positive_definite_is_an_error_that_says_so(K):
    with pytest.raises(np.linalg.LinAlgError, match=f"The {len(K)} x {len(K)} matrix is not positive def"):
        cholesky_with_jitter(K)


@pytest.mark.bad_input
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("N", [3, 200])
@pytest.mark.parametrize("where", ["first", "middle", "last", "beside the diagonal", "corner"])
def test_nan_and_infinity_never_pass_as_a_factor(bad, N, where):
    K = positive_definite(N, seed=0)
    i, j = {"first": (0, 0), "middle": (N // 2, N // 2), "last": (-1, -1), "beside the diagonal": (1, 0),
            "corner": (-1, 0)}[where]
    K[i, j] = K[j, i] = bad
    with np.errstate(invalid="ignore"), pytest.raises(np.linalg.LinAlgError, match="infinite or NaN"):
        cholesky_with_jitter(K)


# ---- distances


@pytest.mark.oracle
@given(N=st.integers(1, 20), M=st.integers(1, 20), q=st.integers(1, 6), seed=seeds, scale=scales)
def test_squared_distances_are_scipys(N, M, q, seed, scale):
    rng = np.random.default_rng(seed)
    X, Z = scale * rng.normal(size=(N, q)), scale * rng.normal(size=(M, q))
    assert_allclose(squared_distances(X, Z), cdist(X, Z, "sqeuclidean"), rtol=1e-12, atol=1e-13 * scale**2)
    assert_allclose(squared_distances(X), cdist(X, X, "sqeuclidean"), rtol=1e-12, atol=1e-13 * scale**2)


@pytest.mark.identity
@given(N=st.integers(1, 70), q=st.integers(1, 9), seed=seeds)
def test_distances_within_one_set_are_symmetric_to_the_last_bit_with_zeros_on_the_diagonal(N, q, seed):
    X = np.random.default_rng(seed).normal(size=(N, q)) + 10.0
    D2 = squared_distances(X)
    assert_array_equal(D2, D2.T)
    assert_array_equal(np.diag(D2), 0.0)


def test_distances_far_from_the_origin_keep_their_digits():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(30, 3)), rng.normal(size=(20, 3))
    far = 2.0**30
    X, Z = (X + far) - far, (Z + far) - far         # rounded, so that the shift below is exact
    assert_allclose(squared_distances(X + far, Z + far), cdist(X, Z, "sqeuclidean"), rtol=1e-12, atol=1e-13)


def test_distances_of_duplicates_are_never_negative():
    X = np.repeat(np.random.default_rng(0).normal(size=(40, 7)), 3, axis=0)
    assert np.min(squared_distances(X, X[::-1])) >= 0
    assert np.all(np.isfinite(np.sqrt(squared_distances(X))))


def test_distances_leave_their_inputs_alone_and_accept_integers():
    X = np.array([[0, 0], [3, 4], [6, 8]])
    before = X.copy()
    assert_allclose(squared_distances(X, X[:1]), [[0.0], [25.0], [100.0]], atol=1e-13)
    assert_array_equal(X, before)


# ---- centring


@pytest.mark.identity
@given(N=st.integers(1, 20), D=st.integers(1, 6), seed=seeds, scale=scales)
def test_centring_removes_the_mean_and_returns_it(N, D, seed, scale):
    Y = scale * (np.random.default_rng(seed).normal(size=(N, D)) + 3.0)
    centred, mean = centre(Y)
    assert_allclose(mean, np.sum(Y, axis=0) / N)
    assert_allclose(centred + mean, Y)
    assert_allclose(centred.mean(axis=0), 0.0, atol=1e-14 * scale)


@pytest.mark.identity
@given(N=st.integers(1, 20), seed=seeds)
def test_double_centring_is_the_product_with_the_centring_matrix_on_both_sides(N, seed):
    K = np.random.default_rng(seed).normal(size=(N, N))         # not symmetric: sides must not be confused
    H = np.eye(N) - np.ones((N, N)) / N
    assert_allclose(double_centre(K), H @ K @ H, atol=1e-13)


@pytest.mark.identity
@given(N=st.integers(2, 15), q=st.integers(1, 4), seed=seeds)
def test_double_centred_distances_are_inner_products_of_centred_points(N, q, seed):
    X = np.random.default_rng(seed).normal(size=(N, q)) + 4.0
    A, _ = centre(X)
    assert_allclose(-0.5 * double_centre(squared_distances(X)), A @ A.T, atol=1e-12)
