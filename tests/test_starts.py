"""Where a model may begin: names, arrays, the one rule of scaling, and what a topic adds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import gplvm_edu  # noqa: F401  the topics add their starts
from gplvm_edu import starts
from gplvm_edu.ppca import PPCA
from gplvm_edu.proximity import Isomap
from gplvm_edu.starts import initial_positions, names, unit_scale
from gplvm_edu.unify import KernelPCA

seeds = st.integers(0, 2**32 - 1)


def cloud(seed, N=25, D=4):
    Y = np.random.default_rng(seed).standard_normal((N, D)) * np.linspace(3.0, 0.5, D)
    return Y - Y.mean(axis=0)


@pytest.fixture
def toy():
    """A start that a topic might add, gone again afterwards."""
    calls = []

    def first_columns(Y, n_components, random_state):
        calls.append(random_state)
        return Y[:, :n_components] + 7.0

    starts.add("first columns", first_columns, keeps_proportions=False)
    starts.add("first columns, as a whole", first_columns, keeps_proportions=True)
    yield calls
    del starts.STARTS["first columns"], starts.STARTS["first columns, as a whole"]


# ---- the one rule of scaling


@pytest.mark.identity
@given(seed=seeds, N=st.integers(2, 20), q=st.integers(1, 4), exponent=st.integers(-6, 6))
def test_column_by_column_every_column_has_mean_zero_and_deviation_one(seed, N, q, exponent):
    X = 10.0**exponent * (cloud(seed, N, q) + np.random.default_rng(seed).standard_normal(q))
    scaled = unit_scale(X)
    assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-9)
    assert_allclose(scaled.std(axis=0), 1.0, rtol=1e-9)
    assert_allclose(scaled, (X - X.mean(axis=0)) / X.std(axis=0), rtol=1e-9, atol=1e-9)  # (5.13)


@pytest.mark.identity
@given(seed=seeds, N=st.integers(2, 20), q=st.integers(1, 4), exponent=st.integers(-6, 6))
def test_as_a_whole_the_mean_variance_is_one_and_distances_keep_their_proportions(seed, N, q, exponent):
    X = 10.0**exponent * (cloud(seed, N, q) + np.random.default_rng(seed).standard_normal(q))
    scaled = unit_scale(X, keep_proportions=True)
    assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-9)
    assert_allclose(np.mean(scaled.var(axis=0)), 1.0, rtol=1e-9)
    length = np.sqrt(np.mean(X.var(axis=0)))  # (6.20)
    assert_allclose(np.diff(scaled, axis=0) * length, np.diff(X, axis=0), atol=1e-9 * np.abs(X).max())


@pytest.mark.identity
def test_the_two_rules_agree_where_columns_have_one_variance():
    X = unit_scale(cloud(0, D=3))
    assert_allclose(unit_scale(5 * X + 2, keep_proportions=True), unit_scale(5 * X + 2))


def test_scaling_leaves_its_input_alone():
    X = cloud(0, D=2) + 3.0
    before = X.copy()
    unit_scale(X), unit_scale(X, keep_proportions=True)
    assert_array_equal(X, before)


@pytest.mark.bad_input
def test_a_column_without_variance_becomes_a_small_random_one():
    X = np.column_stack([np.arange(8.0), np.full(8, 4.0)])
    scaled, again, other = (unit_scale(X, random_state=seed) for seed in (0, 0, 1))
    assert_allclose(scaled[:, 0].std(), 1.0)
    assert_allclose(scaled[:, 1].std(), 0.1)
    assert_array_equal(scaled, again)
    assert not np.allclose(scaled[:, 1], other[:, 1])
    assert_array_equal(unit_scale(X, random_state=np.random.RandomState(0)), scaled)
    assert_allclose(unit_scale(X, keep_proportions=True)[:, 1], 0.0)
    assert_array_equal(unit_scale(np.ones((4, 2)), keep_proportions=True), np.zeros((4, 2)))


# ---- positions by name


@pytest.mark.identity
@given(seed=seeds, q=st.integers(1, 3))
def test_each_name_is_its_method_in_unit_scale(seed, q):
    Y = cloud(seed)
    pca = initial_positions(Y, q, "pca")
    scores = PPCA(q).fit(Y).transform(Y)
    correlation = np.sum(pca * unit_scale(scores), axis=0) / len(Y)
    assert_allclose(np.abs(correlation), 1.0, rtol=1e-6)  # PPCA shrinks its axes, no more
    assert_allclose(initial_positions(Y, q, "kernel_pca"), unit_scale(KernelPCA(q).fit_transform(Y)))
    assert_allclose(initial_positions(Y, q, "isomap"), unit_scale(Isomap(q).fit_transform(Y), keep_proportions=True))


def test_proportions_are_kept_where_lengths_are_distances_and_nowhere_else():
    kept = {name for name, (_, keeps) in starts.STARTS.items() if keeps}
    assert kept == {"isomap"}
    Y = cloud(0, N=60) * [10.0, 1.0, 0.1, 0.1]
    ratio = {name: np.divide(*initial_positions(Y, 2, name).std(axis=0)) for name in names() if name != "random"}
    raw = Isomap(2).fit_transform(Y).std(axis=0)
    assert_allclose(ratio.pop("isomap"), raw[0] / raw[1], rtol=1e-9)
    assert raw[0] > 2 * raw[1]  # so that the two rules differ here
    assert_allclose(list(ratio.values()), 1.0, rtol=1e-9)


@pytest.mark.identity
@pytest.mark.parametrize("name", ["laplacian", "lle"])
def test_for_starts_of_constrained_length_the_two_rules_agree(name):
    X = starts.STARTS[name][0](cloud(1, N=60), 2, None)
    assert_allclose(unit_scale(X, keep_proportions=True), unit_scale(X), rtol=0.15, atol=0.05)


def test_the_names_are_those_of_the_topics_and_random():
    known = {"pca", "kernel_pca", "isomap", "laplacian", "lle", "random"}
    assert set(names()) == known and names()[-1] == "random"
    for name in names():
        X = initial_positions(cloud(0), 2, name, random_state=0)
        assert X.shape == (25, 2) and np.isfinite(X).all()


@pytest.mark.bad_input
def test_an_unknown_name_lists_those_that_are_there():
    with pytest.raises(ValueError, match=r"There is no init 'umap': choose one of .*, or pass an array") as error:
        initial_positions(cloud(0), 2, "umap")
    assert all(name in str(error.value) for name in names())


def test_random_positions_take_every_kind_of_random_state():
    Y = cloud(0)
    expected = np.random.RandomState(3).standard_normal((25, 2))
    assert_array_equal(initial_positions(Y, 2, "random", 3), expected)
    assert_array_equal(initial_positions(Y, 2, "random", np.random.RandomState(3)), expected)
    for make in (np.random.RandomState, np.random.default_rng):
        source = make(3)
        first, second = (initial_positions(Y, 2, "random", source) for _ in range(2))
        assert not np.array_equal(first, second)
        assert_array_equal(first, initial_positions(Y, 2, "random", make(3)))
    assert not np.array_equal(initial_positions(Y, 2, "random"), initial_positions(Y, 2, "random", None))
    with pytest.raises(ValueError, match="random_state must be"):
        initial_positions(Y, 2, "random", "dice")


def test_an_array_is_taken_as_it_is_and_copied():
    X = np.arange(50.0).reshape(25, 2)
    found = initial_positions(cloud(0), 2, X)
    assert_array_equal(found, X)
    assert not np.shares_memory(found, X)
    assert_array_equal(initial_positions(cloud(0), 2, X.tolist()), X)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "X, says",
    [
        (np.zeros((25, 3)), r"shape \(25, 2\).*got an array of shape \(25, 3\)"),
        (np.full((25, 2), np.nan), "NaN or infinity"),
        (None, r"shape \(\)"),
    ],
)
def test_an_array_of_another_shape_or_with_gaps_is_refused(X, says):
    with pytest.raises(ValueError, match="init must be a finite array.*" + says):
        initial_positions(cloud(0), 2, X)


# ---- what a topic adds


def test_an_added_start_is_known_scaled_by_its_rule_and_given_a_random_state(toy):
    Y = cloud(4)
    assert "first columns" in names() and names()[-1] == "random"
    assert_allclose(initial_positions(Y, 2, "first columns"), unit_scale(Y[:, :2]))
    assert_allclose(initial_positions(Y, 2, "first columns, as a whole"), unit_scale(Y[:, :2], keep_proportions=True))
    assert len(toy) == 2 and all(isinstance(given, np.random.RandomState) for given in toy)


def test_without_it_the_name_is_unknown_again():
    assert "first columns" not in names()
