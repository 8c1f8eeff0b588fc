"""The shared linear algebra against dense formulas, against SciPy, and where factorisations fail."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal

from gplvm_edu.linalg import (
    JITTERS,
    centre,
    cholesky_with_jitter,
    column_signs,
    double_centre,
    fill_with_means,
    gappy_squared_distances,
    inverse_from_cholesky,
    log_determinant,
    nearest_rows,
    nearest_semidefinite,
    solve_cholesky,
    squared_distances,
    unit_gaussian_log_density,
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
    K = scale * rbf(40, width=2.0)  # numerically singular
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
    i, j = {
        "first": (0, 0),
        "middle": (N // 2, N // 2),
        "last": (-1, -1),
        "beside the diagonal": (1, 0),
        "corner": (-1, 0),
    }[where]
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
    X, Z = (X + far) - far, (Z + far) - far  # rounded, so that the shift below is exact
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
    K = np.random.default_rng(seed).normal(size=(N, N))  # not symmetric: sides must not be confused
    H = np.eye(N) - np.ones((N, N)) / N
    assert_allclose(double_centre(K), H @ K @ H, atol=1e-13)


@pytest.mark.identity
@given(N=st.integers(2, 15), q=st.integers(1, 4), seed=seeds)
def test_double_centred_distances_are_inner_products_of_centred_points(N, q, seed):
    X = np.random.default_rng(seed).normal(size=(N, q)) + 4.0
    A, _ = centre(X)
    assert_allclose(-0.5 * double_centre(squared_distances(X)), A @ A.T, atol=1e-12)


# ---- signs, and the nearest semi-definite matrix


@pytest.mark.identity
@given(N=st.integers(1, 10), q=st.integers(1, 5), seed=seeds)
def test_with_its_sign_the_largest_entry_of_a_column_is_positive_and_a_flip_changes_nothing(N, q, seed):
    rng = np.random.default_rng(seed)
    V, flips = rng.normal(size=(N, q)), rng.choice([-1.0, 1.0], q)
    signs = column_signs(V)
    assert set(signs) <= {-1.0, 1.0}
    for v in (V * signs).T:
        assert v[np.argmax(np.abs(v))] > 0
    assert_array_equal((V * flips) * column_signs(V * flips), V * signs)


def test_a_column_of_zeros_keeps_its_sign():
    assert_array_equal(column_signs(np.zeros((3, 2))), [1.0, 1.0])


def symmetric(N, seed, scale=1.0):
    A = scale * np.random.default_rng(seed).normal(size=(N, N))
    return (A + A.T) / 2


@pytest.mark.identity
@given(N=st.integers(1, 8), seed=seeds, scale=scales)
def test_the_nearest_semidefinite_matrix_is_the_sum_over_positive_eigenvalues_and_its_own_nearest(N, seed, scale):
    S = symmetric(N, seed, scale)
    A = nearest_semidefinite(S)
    expected = np.zeros((N, N))
    for lam, u in zip(np.linalg.eigvalsh(S), np.linalg.eigh(S)[1].T, strict=True):
        expected += max(lam, 0.0) * np.outer(u, u)
    assert_allclose(A, expected, atol=1e-12 * scale)
    assert_allclose(nearest_semidefinite(A), A, atol=1e-12 * scale)
    assert np.linalg.eigvalsh(A).min() >= -1e-12 * scale


@pytest.mark.identity
@given(N=st.integers(2, 6), seed=seeds)
def test_no_other_semidefinite_matrix_is_nearer(N, seed):
    S, rng = symmetric(N, seed), np.random.default_rng(seed)
    A = nearest_semidefinite(S)
    least = np.linalg.norm(A - S)
    for size in (1e-3, 0.1, 1.0):
        M, B = rng.normal(size=(2, N, N))
        assert np.linalg.norm(size * B @ B.T - S) >= least
        assert np.linalg.norm((np.eye(N) + size * M) @ A @ (np.eye(N) + size * M).T - S) >= least - 1e-12


@pytest.mark.identity
def test_a_semidefinite_matrix_is_left_alone_and_halves_are_averaged():
    K = positive_definite(5, seed=0)
    assert_allclose(nearest_semidefinite(K), K, atol=1e-12)
    upper = np.triu(K) + np.triu(K, 1)  # the mean of its halves is K
    assert_allclose(nearest_semidefinite(upper), K, atol=1e-12)


# ---- data with gaps


def with_gaps(N, D, share, seed):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((N, D)) < share, np.nan, 100.0 + rng.normal(size=(N, D)))


@pytest.mark.oracle
@given(M=st.integers(1, 6), N=st.integers(1, 6), D=st.integers(1, 6), share=st.floats(0, 1), seed=seeds)
def test_distances_with_gaps_are_those_of_a_double_loop(M, N, D, share, seed):
    Y_new, Y = with_gaps(M, D, share, seed), with_gaps(N, D, share, seed + 1)
    found = gappy_squared_distances(Y_new, Y)
    for m in range(M):
        for n in range(N):
            both = ~np.isnan(Y_new[m]) & ~np.isnan(Y[n])
            expected = np.mean((Y_new[m, both] - Y[n, both]) ** 2) if both.any() else np.inf
            assert_allclose(found[m, n], expected, rtol=1e-9, atol=1e-11)


@pytest.mark.identity
def test_without_gaps_they_are_squared_distances_over_the_number_of_columns():
    rng = np.random.default_rng(0)
    Y_new, Y = rng.normal(size=(5, 7)), rng.normal(size=(9, 7))
    assert_allclose(gappy_squared_distances(Y_new, Y), squared_distances(Y_new, Y) / 7, rtol=1e-12)


@pytest.mark.oracle
@given(M=st.integers(1, 5), N=st.integers(1, 8), share=st.floats(0, 0.9), n=st.integers(1, 10), seed=seeds)
def test_the_nearest_rows_are_the_first_of_a_stable_sort_and_no_more_than_there_are(M, N, share, n, seed):
    Y_new, Y = with_gaps(M, 3, share, seed), with_gaps(N, 3, share, seed + 1)
    found, D2 = nearest_rows(Y_new, Y, n), gappy_squared_distances(Y_new, Y)
    assert found.shape == (M, min(n, N))
    for m in range(M):
        assert found[m].tolist() == sorted(range(N), key=lambda i, m=m: (D2[m, i], i))[:n]


@pytest.mark.oracle
@given(N=st.integers(1, 8), D=st.integers(1, 5), share=st.floats(0, 1), seed=seeds)
def test_gaps_are_filled_with_the_mean_of_what_was_observed(N, D, share, seed):
    Y = with_gaps(N, D, share, seed)
    before = Y.copy()
    centred, mean = fill_with_means(Y)
    seen = ~np.isnan(Y)
    for d in range(D):
        assert_allclose(mean[d], Y[seen[:, d], d].mean() if seen[:, d].any() else 0.0)
    assert_allclose((centred + mean)[seen], Y[seen])
    assert_array_equal(centred[~seen], 0.0)
    assert_array_equal(Y, before)


@pytest.mark.identity
def test_without_gaps_filling_is_centring():
    Y = np.random.default_rng(0).normal(size=(6, 3)) + 5.0
    for ours, expected in zip(fill_with_means(Y), centre(Y), strict=True):
        assert_allclose(ours, expected, atol=1e-14)


# ---- the latent prior


@pytest.mark.oracle
@given(N=st.integers(1, 10), q=st.integers(1, 4), seed=seeds)
def test_the_unit_gaussian_is_scipys(N, q, seed):
    X = 3.0 * np.random.default_rng(seed).normal(size=(N, q))
    expected = np.sum(multivariate_normal(np.zeros(q)).logpdf(X))
    assert_allclose(unit_gaussian_log_density(X), expected, rtol=1e-12)
    assert isinstance(unit_gaussian_log_density(X), float)
