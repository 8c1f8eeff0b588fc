"""Chapter 6: Isomap, metric and non-metric MDS, Sammon's mapping, each claim computed a second way."""

import json
import warnings
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from common import common_mistakes, impatient, refused, right_answers
from gplvm_widgets import explore_proximity
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import lsq_linear
from scipy.sparse import csgraph
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn import __version__, isotonic, manifold
from sklearn.exceptions import ConvergenceWarning

from gplvm_edu import threads
from gplvm_edu.datasets import make_swiss_roll, simulate_oil_flow
from gplvm_edu.gplvm import GPLVM
from gplvm_edu.metrics import nearest_neighbour_errors, procrustes_align, procrustes_distance
from gplvm_edu.optimise import check_gradient
from gplvm_edu.papers import proximity as studies
from gplvm_edu.papers.proximity import compare_starts, start_maps
from gplvm_edu.proximity import (
    Isomap,
    MetricMDS,
    NonMetricMDS,
    SammonMapping,
    bridge_components,
    choose_neighbours,
    disparities,
    geodesic_distances,
    geodesics_to_new,
    graph_components,
    guttman_transform,
    kruskal_stress,
    laplacian_coordinates,
    lle_coordinates,
    longest_geodesic,
    neighbour_graph,
    nonmetric_iterates,
    pool_adjacent_violators,
    principal_coordinates,
    reconstruction_weights,
    residual_variance,
    sammon_iterates,
    sammon_stress,
    short_circuits,
    smacof_iterates,
    smallest_connecting_k,
    stress,
)
from gplvm_edu.starts import initial_positions, unit_scale
from gplvm_edu.unify import ClassicalMDS

BOOK = Path(__file__).resolve().parent.parent / "book"
quick = settings()  # those of the profile, tests/conftest.py
STRESS_MAPS = (MetricMDS, SammonMapping, NonMetricMDS)
SCIKIT_LEARN = tuple(int(part) for part in __version__.split(".")[:2])


@st.composite
def maps(draw):
    """Dissimilarities (N, N) of random data, a map X (N, q), symmetric weights."""
    N, D, q = draw(st.integers(4, 15)), draw(st.integers(2, 6)), draw(st.integers(1, 3))
    scale = 10.0 ** draw(st.integers(-3, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    Y, X = scale * rng.standard_normal((N, D)), scale * rng.standard_normal((N, q))
    W = squareform(rng.uniform(0.1, 2.0, N * (N - 1) // 2))
    return cdist(Y, Y), X, W


@st.composite
def awkward_data(draw):
    """Data as people have them: any scale, few or many columns, duplicated rows, constant columns."""
    N, D = draw(st.integers(3, 60)), draw(st.integers(1, 80))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    Y = 10.0 ** draw(st.integers(-6, 6)) * rng.standard_normal((N, D))
    if draw(st.booleans()):
        Y[: N // 3] = Y[-(N // 3) :]
    if draw(st.booleans()) and D > 1:
        Y[:, 0] = draw(st.sampled_from([0.0, -3.0, 1e6]))
    return Y


@pytest.fixture(scope="module", autouse=True)
def one_blas_thread():
    """Small matrices: a second thread would only get in the way."""
    with threads.one_thread():
        yield


def points(seed, N=30, D=4):
    return np.random.default_rng(seed).standard_normal((N, D))


# --- metric stress and its majorisation ----------------------------------------------------------------------


def majoriser(X, Z, Delta, W):
    """Equation (6.6), term by term: the parabola in X that touches the raw stress at Z."""
    pairs = [(n, m) for n in range(len(X)) for m in range(n)]
    total = 0.0
    for n, m in pairs:
        inner = (X[n] - X[m]) @ (Z[n] - Z[m]) / np.linalg.norm(Z[n] - Z[m])
        total += W[n, m] * (Delta[n, m] ** 2 + np.sum((X[n] - X[m]) ** 2) - 2 * Delta[n, m] * inner)
    return total


def raw_stress(X, Delta, W):
    return stress(X, Delta, W) ** 2 * np.sum(W * Delta**2) / 2


@pytest.mark.identity
@given(maps(), st.integers(0, 2**32 - 1))
@quick
def test_the_parabola_touches_the_stress_and_lies_above_it(problem, seed):
    Delta, Z, W = problem
    X = Z + np.abs(Z).max() * np.random.default_rng(seed).standard_normal(Z.shape)
    assert_allclose(majoriser(Z, Z, Delta, W), raw_stress(Z, Delta, W), rtol=1e-9)
    assert majoriser(X, Z, Delta, W) >= raw_stress(X, Delta, W) * (1 - 1e-12)


@pytest.mark.identity
@given(maps(), st.integers(0, 2**32 - 1), st.booleans())
@quick
def test_the_guttman_transform_is_the_lowest_point_of_the_parabola(problem, seed, weighted):
    Delta, Z, W = problem
    W = W if weighted else 1.0 - np.eye(len(Z))
    X = guttman_transform(Z, Delta, W if weighted else None)
    lowest = majoriser(X, Z, Delta, W)
    rng = np.random.default_rng(seed)
    for size in (1e-3, 0.1, 1.0):
        nearby = X + size * np.abs(X).max() * rng.standard_normal(X.shape)
        assert majoriser(nearby, Z, Delta, W) >= lowest * (1 - 1e-12)
    assert_allclose(X.mean(axis=0), 0.0, atol=1e-9 * np.abs(X).max())


@pytest.mark.identity
@given(maps(), st.booleans())
@quick
def test_a_guttman_step_and_a_double_step_never_raise_the_stress(problem, weighted):
    Delta, X, W = problem
    W = W if weighted else None
    X = X - X.mean(axis=0)
    for _ in range(5):
        step = guttman_transform(X, Delta, W)
        before = stress(X, Delta, W)
        assert stress(step, Delta, W) <= before * (1 + 1e-12)
        assert stress(2 * step - X, Delta, W) <= before * (1 + 1e-12)
        X = step


@pytest.mark.identity
@given(maps(), st.floats(0.01, 100.0))
@quick
def test_the_guttman_transform_does_not_see_the_scale_of_the_map(problem, scale):
    Delta, X, _ = problem
    assert_allclose(guttman_transform(scale * X, Delta), guttman_transform(X, Delta), atol=1e-9 * Delta.max())


@pytest.mark.identity
def test_equal_weights_are_no_weights():
    Delta, X = cdist(points(0), points(0)), points(1, D=2)
    ones = 1.0 - np.eye(len(X))
    assert_allclose(guttman_transform(X, Delta, ones), guttman_transform(X, Delta), atol=1e-10)
    assert_allclose(stress(X, Delta, ones), stress(X, Delta))


@pytest.mark.identity
def test_a_map_with_the_right_distances_is_left_alone():
    X = points(0, D=2)
    X -= X.mean(axis=0)
    Delta = cdist(X, X)
    assert stress(X, Delta) < 1e-12 and sammon_stress(X, Delta)[0] < 1e-20 and kruskal_stress(X, Delta) < 1e-12
    assert_allclose(guttman_transform(X, Delta), X, atol=1e-12)
    for Model in STRESS_MAPS:
        model = Model(2).fit(X)
        assert model.stress_ < 1e-10 and procrustes_distance(X, model.embedding_, scaling=False) < 1e-6


@pytest.mark.identity
def test_the_stress_by_hand():
    Delta = squareform([3.0, 4.0, 5.0])
    X = np.array([[0.0], [1.0], [2.0]])  # distances 1, 2, 1
    assert_allclose(stress(X, Delta) ** 2, (4 + 4 + 16) / (9 + 16 + 25))
    assert_allclose(sammon_stress(X, Delta)[0], (4 / 3 + 4 / 4 + 16 / 5) / 12)
    assert_allclose(kruskal_stress(X, Delta) ** 2, (0 + 0.25 + 0.25) / 6)  # 1, 2, 1 becomes 1, 1.5, 1.5


# --- Sammon --------------------------------------------------------------------------------------------------


@pytest.mark.gradient
@given(maps())
@quick
def test_sammons_gradient_against_central_differences(problem):
    Delta, X, _ = problem
    unit = Delta.mean()

    def value_and_gradient(x):
        E, gradient = sammon_stress(x.reshape(X.shape), Delta / unit)
        return E, gradient.ravel()

    assert check_gradient(value_and_gradient, X.ravel() / unit) < 1e-6


@pytest.mark.identity
@given(maps())
@quick
def test_sammons_stress_is_metric_stress_with_weights_one_over_delta(problem):
    Delta, X, _ = problem
    W = np.divide(1.0, Delta, out=np.zeros_like(Delta), where=Delta > 0)
    assert_allclose(sammon_stress(X, Delta)[0], stress(X, Delta, W) ** 2, rtol=1e-10)


@pytest.mark.identity
def test_majorisation_and_gradients_agree_on_sammons_minimum():
    Y = points(3, N=25)
    Delta = cdist(Y, Y)
    W = np.divide(1.0, Delta, out=np.zeros_like(Delta), where=Delta > 0)
    start = principal_coordinates(Delta, 2)[0]
    *_, by_gradient = sammon_iterates(Delta, start, tolerance=1e-7)
    assert_allclose(guttman_transform(by_gradient.X, Delta, W), by_gradient.X - by_gradient.X.mean(axis=0), atol=1e-5)
    *_, by_steps = smacof_iterates(Delta, start, W, tolerance=1e-12, max_iter=3000)
    assert_allclose(by_steps.stress**2, by_gradient.stress, rtol=1e-4)


@pytest.mark.identity
def test_sammon_keeps_small_distances_better_than_metric_mds():
    Y = simulate_oil_flow(80, random_state=0).data
    delta = pdist(Y)
    near = delta < np.quantile(delta, 0.1)
    error = {
        Model: np.mean(np.abs(pdist(Model(2).fit_transform(Y)) - delta)[near] / delta[near])
        for Model in (MetricMDS, SammonMapping)
    }
    assert error[SammonMapping] < error[MetricMDS]


@pytest.mark.identity
@pytest.mark.parametrize("method", ["l-bfgs", "scg"])
def test_both_optimisers_lower_sammons_stress_to_one_minimum(method):
    Delta = cdist(points(3, N=25), points(3, N=25))
    values = [s.stress for s in sammon_iterates(Delta, principal_coordinates(Delta, 2)[0], method, tolerance=1e-6)]
    assert np.all(np.diff(values) <= 0)
    *_, reference = sammon_iterates(Delta, principal_coordinates(Delta, 2)[0], tolerance=1e-6)
    assert_allclose(values[-1], reference.stress, rtol=1e-5)


# --- isotonic regression and Kruskal's stress ----------------------------------------------------------------

sequences = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40).map(np.array)


@pytest.mark.identity
@given(sequences, st.integers(0, 2**32 - 1))
@quick
def test_pooling_solves_the_least_squares_problem_with_monotone_constraints(y, seed):
    w = np.random.default_rng(seed).uniform(0.2, 3.0, len(y))
    z = pool_adjacent_violators(y, w)
    n = len(y)
    steps = np.tril(np.ones((n, n)))  # z = first value + increments that are 0 or more
    bounds = (np.r_[-np.inf, np.zeros(n - 1)], np.full(n, np.inf))
    root = np.sqrt(w)
    best = lsq_linear(root[:, None] * steps, root * y, bounds, tol=1e-14, max_iter=500)
    assert np.all(np.diff(z) >= 0)
    assert np.sum(w * (y - z) ** 2) <= 2 * best.cost + 1e-6 * (1 + np.sum(w * y**2))
    assert_allclose(np.sum(w * z), np.sum(w * y), atol=1e-6)


@pytest.mark.oracle
@given(sequences, st.booleans(), st.integers(0, 2**32 - 1))
@quick
def test_pooling_agrees_with_scikit_learn(y, weighted, seed):
    w = np.random.default_rng(seed).uniform(0.2, 3.0, len(y)) if weighted else None
    assert_allclose(pool_adjacent_violators(y, w), isotonic.isotonic_regression(y, sample_weight=w), atol=1e-9)


@pytest.mark.oracle
def test_pooling_agrees_with_scikit_learn_on_long_and_on_nasty_sequences():
    rng = np.random.default_rng(0)
    for y in (
        np.arange(20000.0) + 300 * rng.standard_normal(20000),
        np.r_[np.arange(2000.0), 0.0],
        np.arange(2000.0)[::-1],
        np.ones(50),
    ):
        assert_allclose(pool_adjacent_violators(y), isotonic.isotonic_regression(y), atol=1e-8)


@pytest.mark.oracle
@given(st.lists(st.tuples(st.integers(0, 8), st.floats(0, 10)), min_size=2, max_size=40))
@quick
def test_secondary_ties_are_those_of_scikit_learns_regression(pairs):
    delta, d = np.array(pairs, float).T
    theirs = isotonic.IsotonicRegression().fit_transform(delta, d)
    assert_allclose(disparities(d, delta, ties="secondary"), theirs, atol=1e-9)


@pytest.mark.identity
@given(st.lists(st.tuples(st.integers(0, 8), st.floats(0, 10)), min_size=2, max_size=40))
@quick
def test_primary_ties_obey_the_order_and_fit_at_least_as_well(pairs):
    delta, d = np.array(pairs, float).T
    primary, secondary = (disparities(d, delta, ties) for ties in ("primary", "secondary"))
    for low, high in zip(np.unique(delta)[:-1], np.unique(delta)[1:], strict=True):
        assert primary[delta == low].max() <= primary[delta == high].min() + 1e-12
    assert np.sum((d - primary) ** 2) <= np.sum((d - secondary) ** 2) + 1e-9


@pytest.mark.identity
@given(maps(), st.floats(0.1, 10.0))
@quick
def test_kruskals_stress_sees_only_the_order_of_the_data_and_the_shape_of_the_map(problem, scale):
    Delta, X, _ = problem
    value = kruskal_stress(X, Delta)
    assert_allclose(kruskal_stress(scale * X + 1.0, Delta), value, atol=1e-8)
    assert_allclose(kruskal_stress(X, np.log1p(Delta / Delta.max())), value, atol=1e-12)


@pytest.mark.identity
@given(maps())
@quick
def test_kruskals_stress_is_the_sine_of_an_angle(problem):
    Delta, X, _ = problem
    d = pdist(X)
    hat = disparities(d, squareform(Delta, checks=False))
    cosine = d @ hat / np.sqrt((d @ d) * (hat @ hat))
    assert_allclose(kruskal_stress(X, Delta) ** 2, 1 - cosine**2, atol=1e-10)


@pytest.mark.identity
@given(maps(), st.sampled_from(["primary", "secondary"]), st.booleans())
@quick
def test_non_metric_steps_never_raise_kruskals_stress(problem, ties, rounded):
    Delta, X, _ = problem
    Delta = np.round(5 * Delta / Delta.max()) if rounded else Delta  # many ties
    values = [state.stress for state in nonmetric_iterates(Delta, X, ties, max_iter=30, tolerance=0.0)]
    assert np.all(np.diff(values) <= 1e-12)


@pytest.mark.identity
def test_non_metric_mds_undoes_a_monotone_distortion():
    X = points(0, N=40, D=2)
    distorted = cdist(X, X) ** 3
    metric = MetricMDS(2, metric="distance").fit(distorted)
    order = NonMetricMDS(2, metric="distance", tol=1e-3).fit(distorted)
    assert procrustes_distance(X, order.embedding_) < 0.03 < 0.2 < procrustes_distance(X, metric.embedding_)


# --- graphs and geodesics ------------------------------------------------------------------------------------


@pytest.mark.identity
@given(st.integers(3, 30), st.integers(1, 8), st.integers(0, 2**32 - 1))
@quick
def test_the_neighbour_graph_joins_exactly_the_nearest(N, k, seed):
    k = min(k, N - 1)
    D = cdist(points(seed, N, 2), points(seed, N, 2))
    G = neighbour_graph(D, k).toarray()
    near = np.argsort(D + np.diag(np.full(N, np.inf)), axis=1)[:, :k]
    wanted = np.zeros((N, N), bool)
    np.put_along_axis(wanted, near, True, axis=1)
    wanted |= wanted.T
    assert_allclose(G, np.where(wanted, D, 0.0))


@pytest.mark.oracle
@given(st.integers(3, 25), st.integers(1, 5), st.integers(0, 2**32 - 1))
@quick
def test_geodesics_are_those_of_floyd_and_warshall(N, k, seed):
    D = cdist(points(seed, N, 3), points(seed, N, 3))
    graph = neighbour_graph(D, min(k, N - 1))
    G = np.where(graph.toarray() > 0, graph.toarray(), np.inf)
    np.fill_diagonal(G, 0.0)
    for m in range(N):
        G = np.minimum(G, G[:, [m]] + G[m])
    ours = geodesic_distances(graph)
    assert_allclose(ours, G)
    assert np.all(ours >= D * (1 - 1e-12))  # no short cut through the air
    assert_allclose(ours, ours.T, atol=0)


@pytest.mark.identity
def test_duplicates_are_joined_by_edges_of_length_zero():
    Y = np.repeat([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]], 2, axis=0)
    graph = neighbour_graph(cdist(Y, Y), 2)
    assert graph_components(graph)[0] == 1
    assert_allclose(geodesic_distances(graph)[0], [0, 0, 1, 1, 2, 2])


@pytest.mark.identity
@given(st.integers(4, 30), st.integers(0, 2**32 - 1))
@quick
def test_the_smallest_connecting_k_connects_and_one_less_does_not(N, seed):
    Y = points(seed, N, 2)
    Y[: N // 2] += 6.0
    D = cdist(Y, Y)
    k = smallest_connecting_k(D)
    assert graph_components(neighbour_graph(D, k))[0] == 1
    assert k == 1 or graph_components(neighbour_graph(D, k - 1))[0] > 1


@pytest.mark.identity
def test_bridges_are_the_shortest_links_and_change_nothing_inside_a_piece():
    Y = np.concatenate([points(0, 12, 2), points(1, 9, 2) + 30.0, points(2, 7, 2) - 40.0])
    D = cdist(Y, Y)
    graph = neighbour_graph(D, 4)
    n_pieces, piece = graph_components(graph)
    bridged = bridge_components(graph, D)
    assert n_pieces == 3 and graph_components(bridged)[0] == 1
    new = (bridged - graph).tocoo()
    links = {(piece[n], piece[m]): d for n, m, d in zip(new.row, new.col, new.data, strict=True) if d}
    assert len(links) == 6  # three bridges, both ways
    for (a, b), d in links.items():
        assert d == D[np.ix_(piece == a, piece == b)].min()
    before, after = geodesic_distances(graph), geodesic_distances(bridged)
    assert_allclose(after[np.isfinite(before)], before[np.isfinite(before)])


@pytest.mark.identity
def test_geodesics_approach_the_distances_on_the_sheet_as_points_and_neighbours_grow():
    error = []
    for N, k in ((400, 6), (1600, 10)):
        roll = make_swiss_roll(N, random_state=0)
        truth = cdist(roll.extra["sheet"], roll.extra["sheet"])
        G = geodesic_distances(neighbour_graph(cdist(roll.data, roll.data), k))
        error.append(np.mean(np.abs(G - truth)) / truth.mean())
    assert error[1] < 0.05 and error[1] < 0.6 * error[0]


@pytest.mark.identity
def test_when_everyone_is_a_neighbour_isomap_is_classical_mds_and_pca():
    Y = points(0)
    isomap, classical = Isomap(2, n_neighbors=29).fit(Y), ClassicalMDS(2).fit(Y)
    assert_allclose(isomap.geodesics_, cdist(Y, Y), atol=1e-12)
    assert procrustes_distance(classical.embedding_, isomap.embedding_, scaling=False) < 1e-6


@pytest.mark.identity
@pytest.mark.parametrize("metric", ["euclidean", "distance"])
def test_isomap_returns_its_training_points_to_their_places(metric):
    Y = make_swiss_roll(200, random_state=0).data
    model = Isomap(3, 6, metric=metric).fit(Y if metric == "euclidean" else cdist(Y, Y))
    again = model.transform(Y if metric == "euclidean" else cdist(Y, Y))
    assert_allclose(again, model.embedding_, atol=1e-8 * np.abs(model.embedding_).max())


@pytest.mark.identity
def test_geodesics_to_new_points_go_through_the_best_neighbour():
    rng = np.random.default_rng(0)
    Y, new = rng.standard_normal((20, 2)), rng.standard_normal((5, 2))
    G = geodesic_distances(neighbour_graph(cdist(Y, Y), 19))
    D = cdist(new, Y)
    ours = geodesics_to_new(D, 3, G)
    for i in range(5):
        near = np.argsort(D[i])[:3]
        assert_allclose(ours[i], [min(D[i, n] + G[n, m] for n in near) for m in range(20)])


@pytest.mark.identity
def test_isomap_unrolls_what_pca_can_not():
    roll = make_swiss_roll(400, noise=0.2, random_state=0)
    sheet = roll.extra["sheet"]
    model = Isomap(2, n_neighbors=6).fit(roll.data)
    assert procrustes_distance(sheet, model.embedding_) < 0.1
    assert procrustes_distance(sheet, ClassicalMDS(2).fit_transform(roll.data)) > 0.6
    for Model in STRESS_MAPS:
        assert procrustes_distance(sheet, Model(2, tol=1e-4).fit_transform(roll.data)) > 0.6
    line = Isomap(1, n_neighbors=6).fit(roll.data)
    assert model.residual_variance_ < 0.01 < line.residual_variance_


@pytest.mark.identity
def test_one_short_circuit_ruins_the_map():
    roll = make_swiss_roll(400, random_state=0)
    D = cdist(roll.data, roll.data)
    sheet = cdist(roll.extra["sheet"], roll.extra["sheet"])
    good = Isomap(2, 6, metric="distance").fit(D)
    assert procrustes_distance(roll.extra["sheet"], good.embedding_) < 0.1
    n, m = np.unravel_index(np.argmax(sheet - 4 * D), D.shape)  # close in space, far on the sheet
    D[n, m] = D[m, n] = 0.1
    bad = Isomap(2, 6, metric="distance").fit(D)
    assert procrustes_distance(roll.extra["sheet"], bad.embedding_) > 0.5
    assert bad.residual_variance_ > 5 * good.residual_variance_


@pytest.mark.identity
def test_residual_variance_is_one_minus_a_squared_correlation():
    X, Y = points(0, D=2), points(1, D=5)
    r = np.corrcoef(pdist(X), pdist(Y))[0, 1]
    assert_allclose(residual_variance(cdist(Y, Y), X), 1 - r**2)
    assert residual_variance(cdist(Y, Y), np.zeros((30, 2))) == 1.0
    assert residual_variance(1.0 - np.eye(3), np.eye(3)) == 0.0


# --- how many neighbours -------------------------------------------------------------------------------------


@pytest.mark.identity
def test_the_longest_geodesic_counts_none_that_is_not_there():
    G = geodesic_distances(neighbour_graph(cdist(PAIRS, PAIRS), 1))
    assert np.isinf(G).any() and longest_geodesic(G) == 2.0


PAIRS = np.array([[0.0], [1.0], [10.0], [12.0]])


@pytest.mark.identity
@pytest.mark.parametrize("seed", range(5))
def test_the_rule_stops_before_the_first_short_circuit(seed):
    roll = make_swiss_roll(600, noise=0.1, random_state=seed)
    D = cdist(roll.data, roll.data)
    choice = choose_neighbours(D)
    jumps = [len(short_circuits(neighbour_graph(D, k), roll.extra["sheet"])) for k in choice.tried]
    assert choice.cliff == choice.n_neighbors + 1
    assert choice.cliff == choice.tried[np.flatnonzero(jumps)[0]]
    last = int(np.flatnonzero(choice.tried == choice.cliff)[0])
    assert choice.longest[last] <= 0.75 * choice.longest[last - 1]  # (6.18b)
    assert np.all(choice.longest[1:last] > 0.75 * choice.longest[: last - 1])
    for k, length in zip(choice.tried, choice.longest, strict=True):
        assert_allclose(length, geodesic_distances(neighbour_graph(D, k)).max())  # (6.18a)


@pytest.mark.identity
def test_a_flat_sheet_has_no_cliff_and_units_do_not_matter():
    Y = np.random.default_rng(0).uniform(size=(150, 2)) * [4.0, 1.0]
    one, other = choose_neighbours(cdist(Y, Y)), choose_neighbours(1e-6 * cdist(Y, Y))
    assert one.cliff is None and one.n_neighbors == 20 == other.n_neighbors and other.cliff is None
    assert choose_neighbours(cdist(Y, Y), at_most=9).n_neighbors == 9
    assert choose_neighbours(cdist(Y[:6], Y[:6])).tried.tolist() == [4, 5]


@pytest.mark.bad_input
def test_a_graph_in_pieces_before_the_cliff_is_told():
    roll = make_swiss_roll(400, noise=0.2, random_state=19)
    with pytest.warns(UserWarning, match="the most before a short circuit is seen, the graph is in 2 pieces"):
        choice = choose_neighbours(cdist(roll.data, roll.data))
    assert choice.n_neighbors == 6 and choice.pieces[choice.tried == 6] == 2
    far = np.concatenate([points(0, 30, 2), points(1, 30, 2) + 500.0])
    with pytest.warns(UserWarning, match="is in 2 pieces"):
        choice = choose_neighbours(cdist(far, far))
    assert choice.cliff is None and np.all(choice.pieces == 2) and np.isfinite(choice.longest).all()


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "options, says",
    [
        (dict(at_least=0), "at_least must be a whole number from 1 to 29"),
        (dict(at_least=30), "at_least must be a whole number from 1 to 29, got 30. There are no more other points"),
        (dict(at_least=6, at_most=5), "at_most must be a whole number of at least 6"),
        (dict(at_most=7.5), "at_most must be a whole number"),
        (dict(fall=0.0), "fall must be a finite number above 0 and below 1"),
        (dict(fall=1.0), "fall must be"),
        (dict(fall=np.nan), "fall must be"),
    ],
    ids=str,
)
def test_bad_options_of_the_rule_get_a_clear_error(options, says):
    with pytest.raises(ValueError, match=says):
        choose_neighbours(cdist(points(0), points(0)), **options)


@pytest.mark.bad_input
@pytest.mark.parametrize("D, says", [(points(0), "must be square"), (-np.ones((5, 5)), "negative entry")])
def test_the_rule_wants_distances(D, says):
    with pytest.raises(ValueError, match=says):
        choose_neighbours(D)


# --- Laplacian eigenmaps and LLE -----------------------------------------------------------------------------


@pytest.mark.oracle
@pytest.mark.parametrize("N, k, q", [(80, 6, 1), (150, 8, 2), (200, 12, 3)])
def test_eigenmaps_and_lle_are_scikit_learns(N, k, q):
    Y = make_swiss_roll(N, noise=0.1, random_state=N).data
    D = cdist(Y, Y)
    graph = neighbour_graph(D, k)
    joined = (graph.toarray() > 0).astype(float)
    theirs = manifold.SpectralEmbedding(q, affinity="precomputed", random_state=0).fit_transform(joined)
    ours = laplacian_coordinates(graph, q)
    same_up_to_signs(unit_scale(ours), unit_scale(theirs), 1e-5)
    weights = reconstruction_weights(D, k)
    theirs = manifold.LocallyLinearEmbedding(n_neighbors=k, n_components=q, eigen_solver="dense").fit_transform(Y)
    same_up_to_signs(lle_coordinates(weights, q), theirs, 1e-5)


@pytest.mark.identity
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
@quick
def test_no_map_of_equal_size_brings_joined_points_nearer_than_eigenmaps(seed, q):
    graph = neighbour_graph(cdist(points(seed, 25, 2), points(seed, 25, 2)), 8)
    if graph_components(graph)[0] > 1:
        return
    joined = graph.toarray() > 0
    degree = joined.sum(axis=1)
    cost = lambda X: np.sum(joined * cdist(X, X) ** 2) / 2  # noqa: E731  (6.21), by pairs
    X = laplacian_coordinates(graph, q)
    assert_allclose(X.T @ (degree[:, None] * X), np.eye(q), atol=1e-8)
    assert_allclose(degree @ X, 0.0, atol=1e-8)
    other = np.random.default_rng(seed).standard_normal((25, q)) + 2 * X
    other -= degree @ other / degree.sum()
    other = other @ np.linalg.inv(np.linalg.cholesky(other.T @ (degree[:, None] * other))).T
    assert_allclose(other.T @ (degree[:, None] * other), np.eye(q), atol=1e-8)
    assert cost(X) <= cost(other) * (1 + 1e-9)


@pytest.mark.identity
@given(st.integers(0, 2**32 - 1), st.integers(2, 8))
@quick
def test_reconstruction_weights_are_the_best_means_of_the_neighbours(seed, k):
    Y = points(seed, 20, 10)  # more columns than neighbours: no ridge is needed
    D = cdist(Y, Y)
    W = reconstruction_weights(D, k, ridge=0.0)
    assert_allclose(W.sum(axis=1), 1.0)
    assert np.all((W != 0).sum(axis=1) == k)
    miss = np.linalg.norm(Y - W @ Y, axis=1)
    rng = np.random.default_rng(seed)
    shift = np.where(W != 0, 0.1 * rng.standard_normal(W.shape), 0.0)
    shift -= np.where(W != 0, shift.sum(axis=1, keepdims=True) / k, 0.0)  # other weights with sum 1
    assert np.all(np.linalg.norm(Y - (W + shift) @ Y, axis=1) >= miss - 1e-12)


@pytest.mark.identity
def test_lle_gives_a_flat_sheet_back_up_to_an_affine_map():
    Y = np.random.default_rng(0).uniform(size=(120, 2)) * [3.0, 1.0]
    lifted = np.c_[Y, Y @ [0.3, -2.0]]
    X = lle_coordinates(reconstruction_weights(cdist(lifted, lifted), 8, ridge=1e-9), 2)
    design = np.c_[X, np.ones(120)]
    left = Y - design @ np.linalg.lstsq(design, Y, rcond=None)[0]
    assert np.abs(left).max() < 1e-3
    assert procrustes_distance(Y, X) > 0.1  # but not its proportions


@pytest.mark.bad_input
def test_a_graph_in_pieces_has_no_eigenmap_and_a_start_takes_more_neighbours():
    Y = np.concatenate([points(0, 10, 3), points(1, 8, 3) + 50.0])
    D = cdist(Y, Y)
    for refuse in (
        lambda: laplacian_coordinates(neighbour_graph(D, 3), 2),
        lambda: lle_coordinates(reconstruction_weights(D, 3), 2),
    ):
        with pytest.raises(ValueError, match="in 2 pieces, and such a map would put each piece in one place"):
            refuse()
    for name in ("laplacian", "lle"):
        assert np.isfinite(initial_positions(Y - Y.mean(axis=0), 2, name)).all()
    with pytest.raises(ValueError, match="n_components must be a whole number from 1 to 17, got 18"):
        laplacian_coordinates(neighbour_graph(D, 17), 18)


def test_duplicates_are_joined_in_both_maps():
    Y = np.repeat(points(0, 15, 3), 2, axis=0)
    for name in ("laplacian", "lle"):
        X = initial_positions(Y - Y.mean(axis=0), 2, name)
        assert np.isfinite(X).all() and X.shape == (30, 2)


@pytest.mark.parametrize("init", ["laplacian", "lle"])
def test_a_gplvm_can_start_there(init):
    roll = make_swiss_roll(120, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GPLVM(init=init, latent_prior=None, max_iter=3).fit(roll.data)
    first = next(GPLVM(init=init, latent_prior=None).iterates(roll.data))
    assert_allclose(first.X.std(axis=0), 1.0)
    assert model.log_likelihood_ > first.value


# --- scikit-learn as an oracle -------------------------------------------------------------------------------


def same_up_to_signs(A, B, tolerance=1e-6):
    signs = np.sign(np.sum(A * B, axis=0))
    assert_allclose(A, B * signs, atol=tolerance * np.abs(A).max())
    return signs


@pytest.mark.oracle
@pytest.mark.parametrize("N, k, q", [(60, 4, 2), (150, 5, 3), (300, 8, 2), (300, 20, 1)])
def test_isomap_is_scikit_learns(N, k, q):
    Y, new = make_swiss_roll(N, random_state=N).data, make_swiss_roll(40, random_state=7).data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = manifold.Isomap(n_neighbors=k, n_components=q, eigen_solver="dense").fit(Y)
        ours = Isomap(q, k).fit(Y)
    assert_allclose(ours.geodesics_, theirs.dist_matrix_, rtol=1e-10)
    signs = same_up_to_signs(ours.embedding_, theirs.embedding_)
    assert_allclose(ours.transform(new), signs * theirs.transform(new), atol=1e-6 * np.abs(ours.embedding_).max())


@pytest.mark.oracle
def test_isomap_is_scikit_learns_when_the_graph_falls_into_pieces():
    Y = np.concatenate([points(0, 20, 3), points(1, 15, 3) + 20.0, points(2, 12, 3) - 30.0])
    ours = Isomap(2, 4)
    with pytest.warns(UserWarning, match=r"falls into 3 pieces \(of 20, 15, 12 points\)"):
        ours.fit(Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = manifold.Isomap(n_neighbors=4, n_components=2, eigen_solver="dense").fit(Y)
    assert ours.n_pieces_ == 3
    assert_allclose(ours.geodesics_, theirs.dist_matrix_, rtol=1e-10)
    same_up_to_signs(ours.embedding_, theirs.embedding_)


@pytest.mark.oracle
@pytest.mark.parametrize("n_steps", [1, 5, 40])
def test_smacof_steps_are_scikit_learns(n_steps):
    Delta, start = cdist(points(0), points(0)), points(1, D=2)
    theirs, raw, taken = manifold.smacof(
        Delta,
        n_components=2,
        init=start,
        n_init=1,
        max_iter=n_steps,
        eps=0.0,
        return_n_iter=True,
        normalized_stress=False,
    )
    *_, before, ours = smacof_iterates(Delta, start, max_iter=n_steps, tolerance=0.0)
    assert taken == n_steps
    assert_allclose(ours.X, theirs, atol=1e-8)
    measured = ours if SCIKIT_LEARN >= (1, 7) else before  # 1.6 returns the stress from before its last step
    assert_allclose(measured.stress**2 * np.sum(Delta**2) / 2, raw, rtol=1e-8)


@pytest.mark.oracle
def test_non_metric_mds_ends_no_higher_than_scikit_learns():
    Y = simulate_oil_flow(60, random_state=0).data
    Delta = cdist(Y, Y)
    start = principal_coordinates(Delta, 2)[0]
    theirs, _ = manifold.smacof(
        Delta, metric=False, n_components=2, init=start, n_init=1, max_iter=500, eps=1e-9, normalized_stress=True
    )
    ours = NonMetricMDS(2, init=start, ties="secondary", tol=1e-7).fit(Y)
    assert ours.stress_ <= kruskal_stress(theirs, Delta, "secondary") + 1e-4


@pytest.mark.oracle
def test_connected_components_are_those_of_a_search_by_hand():
    D = cdist(points(0, 40, 2), points(0, 40, 2))
    graph = neighbour_graph(D, 1)
    seen, pieces = set(), 0
    for n in range(40):
        if n not in seen:
            pieces += 1
            seen |= set(csgraph.breadth_first_order(graph, n, return_predecessors=False).tolist())
    assert graph_components(graph)[0] == pieces > 1


# --- what users do with it -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:With n_neighbors")
@pytest.mark.parametrize("Model", [*STRESS_MAPS, Isomap])
@given(awkward_data())
@quick
def test_awkward_data_end_in_a_finite_map_no_worse_than_the_start(Model, Y):
    q = min(2, len(Y) - 1)
    model = Model(q) if Model is Isomap else Model(q, max_iter=40)
    if np.ptp(Y, axis=0).max() == 0:
        with pytest.raises(ValueError, match="coincide"):
            model.fit(Y)
        return
    model.fit(Y)
    assert model.embedding_.shape == (len(Y), q) and np.isfinite(model.embedding_).all()
    if Model is not Isomap:
        assert np.isfinite(model.history_).all() and np.all(np.diff(model.history_) >= -1e-12)
        assert model.stress_ == -model.history_[-1]


@pytest.mark.filterwarnings("ignore:With n_neighbors")
@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("Model", [*STRESS_MAPS, Isomap])
def test_units_only_scale_the_map(Model, scale):
    Y = points(0)
    one, other = Model().fit(Y), Model().fit(scale * Y)
    assert procrustes_distance(scale * one.embedding_, other.embedding_, scaling=False) < 1e-3
    if Model is not Isomap:
        assert_allclose(one.stress_, other.stress_, rtol=1e-4)


PLACES = np.stack(np.meshgrid(np.arange(6.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
LATTICE = np.c_[PLACES, np.prod(PLACES, axis=1) % 3]  # many equal distances
TURN = np.linalg.qr(points(3, 3, 3))[0]


@pytest.mark.identity
@pytest.mark.parametrize("change", [lambda Y: 0.1 * Y, lambda Y: 1e-8 * Y, lambda Y: Y @ TURN, lambda Y: Y + 2.0**30])
@pytest.mark.parametrize(
    "model", [Isomap(), NonMetricMDS(max_iter=25), NonMetricMDS(ties="secondary", max_iter=25)], ids=str
)
def test_equal_distances_stay_equal_in_other_units(model, change):
    one, other = (squareform(pdist(model.fit(Y).embedding_)) for Y in (LATTICE, change(LATTICE)))
    assert_allclose(other / other.max(), one / one.max(), atol=1e-6)


@pytest.mark.parametrize("scale", [1e-49, 1e49])
@pytest.mark.parametrize("Model", [*STRESS_MAPS, Isomap])
def test_units_far_from_one_overflow_nowhere(Model, scale):
    options = {} if Model is Isomap else dict(max_iter=25)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        one, *others = (Model(**options).fit(unit * points(0)) for unit in (1.0, scale))
    assert_allclose(others[0].embedding_ / scale, one.embedding_, atol=1e-6)


@pytest.mark.bad_input
def test_isomap_keeps_its_own_data_and_wants_distances_of_new_points():
    Y, new = points(0), points(1, 3)
    model = Isomap().fit(Y)
    before = model.transform(new)
    Y[:] = 0.0
    assert_allclose(model.transform(new), before, rtol=0)
    with pytest.raises(ValueError, match="the entry -1 at row 0, column 0, and a distance is 0 or more"):
        Isomap(metric="distance").fit(cdist(GOOD, GOOD)).transform(-np.ones((1, 20)))


@pytest.mark.filterwarnings("error::gplvm_edu.base.ObjectiveFellWarning")
@pytest.mark.parametrize("Model", STRESS_MAPS)
def test_no_step_raises_the_stress_of_skewed_data(Model):
    for seed in range(10):
        Y = points(seed, 12) * 10.0 ** np.random.default_rng(seed).integers(-6, 7, 4)
        Y[:3] = Y[3:6]
        model = Model(1 + seed % 3, init=("classical", "random")[seed % 2], random_state=0, max_iter=50).fit(Y)
        assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("Model", STRESS_MAPS)
def test_data_and_their_distances_give_one_map(Model):
    Y = points(0)
    one, other = Model(2).fit(Y), Model(2, metric="distance").fit(cdist(Y, Y))
    assert_allclose(one.embedding_, other.embedding_, atol=1e-9)


@pytest.mark.parametrize("Model", STRESS_MAPS)
def test_duplicated_rows_share_a_place(Model):
    Y = points(0, N=15)
    model = Model(2).fit(np.vstack([Y, Y]))
    assert_allclose(model.embedding_[:15], model.embedding_[15:], atol=1e-6)


@pytest.mark.parametrize("Model", STRESS_MAPS)
def test_an_interrupted_fit_can_be_taken_up_again(Model):
    Y, model = points(0), impatient(Model, 4)(2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(Y)
    assert len(model.history_) == 4 and model.n_iter_ == 3 and model.stress_ == -model.history_[-1]
    assert Model(2, init=model.embedding_).fit(Y).stress_ <= model.stress_


@pytest.mark.parametrize("Model", STRESS_MAPS)
def test_random_starts_are_repeatable_and_can_end_elsewhere(Model):
    Y = simulate_oil_flow(100, random_state=0).data
    fits = [Model(2, init="random", random_state=seed, tol=1e-3).fit(Y) for seed in (0, 0, 1)]
    assert_allclose(fits[0].embedding_, fits[1].embedding_, atol=0)
    assert procrustes_distance(fits[0].embedding_, fits[2].embedding_) > 0.1


def test_gplvm_climbs_higher_from_isomap_than_from_pca_on_the_swiss_roll():
    roll = make_swiss_roll(200, random_state=2)
    sheet = roll.extra["sheet"]
    start = (sheet - sheet.mean(axis=0)) / sheet.std()  # what an ideal Isomap would give
    high, low = (GPLVM(init=init, latent_prior=None, max_iter=60).fit(roll.data) for init in (start, "pca"))
    assert high.log_likelihood_ > low.log_likelihood_ + 50
    assert procrustes_distance(sheet, high.embedding_) < 0.3 < procrustes_distance(sheet, low.embedding_)


# --- bad input -----------------------------------------------------------------------------------------------

GOOD = np.random.default_rng(0).standard_normal((20, 5))


@pytest.mark.bad_input
@pytest.mark.parametrize("Model", [*STRESS_MAPS, Isomap])
@pytest.mark.parametrize(
    "Y, says",
    [
        (np.arange(5.0), "Expected 2D array"),
        (np.empty((0, 3)), "0 sample"),
        (np.empty((3, 0)), "0 feature"),
        ([["a", "b"], ["c", "d"]], "could not convert string"),
        (GOOD[:1], "1 sample|minimum of 2"),
        (np.where(GOOD > 2, np.inf, GOOD), "infinity"),
        (np.where(GOOD > 2, np.nan, GOOD), "NaN"),
        (GOOD + 1j, "Complex data not supported"),
        (np.ones((6, 3)), "all points coincide"),
        (1e200 * GOOD, "Use larger units"),
        (GOOD[:2], "n_components=2 is too many"),
    ],
    ids=["1-D", "no rows", "no columns", "strings", "one row", "inf", "nan", "complex", "constant", "huge", "two rows"],
)
def test_bad_data_get_a_clear_error(Model, Y, says):
    with pytest.raises(ValueError, match=says):
        Model().fit(Y)


test_bad_parameters_get_a_clear_error = refused(
    [
        (Isomap(0), "whole number of at least 1"),
        (Isomap(n_neighbors=0), "n_neighbors must be a whole number"),
        (Isomap(n_neighbors=2.5), "n_neighbors must be a whole number"),
        (Isomap(n_neighbors=True), "n_neighbors"),
        (Isomap(metric="cosine"), "metric must be"),
        (Isomap(disconnected="ignore"), "one of 'bridge', 'error'"),
        (MetricMDS(20), "at most 19"),
        (MetricMDS(2.0), "whole number"),
        (MetricMDS(init="pca!"), "There is no init 'pca!': choose one of classical, random"),
        (MetricMDS(init=np.zeros((20, 3))), r"shape \(20, 3\)"),
        (MetricMDS(init=np.ones((20, 2))), "coincide"),
        (MetricMDS(init=1e-100 * GOOD[:, :2]), "within 1e-50"),
        (MetricMDS(init=np.full((20, 2), np.nan)), "finite array"),
        (SammonMapping(optimiser="newton"), "optimiser must be one of"),
        (SammonMapping(max_iter=-1), "max_iter"),
        (MetricMDS(max_iter=2.5), "max_iter must be a whole number"),
        (NonMetricMDS(tol=-1.0), "tol must be a finite number of at least 0"),
        (MetricMDS(tol="small"), "tol must be"),
        (MetricMDS(init="random", random_state="dice"), "random_state must be"),
        (NonMetricMDS(ties="third"), "ties must be"),
        (NonMetricMDS(metric="similarity"), "metric must be"),
    ],
    GOOD,
)


@pytest.mark.bad_input
@pytest.mark.parametrize("Model", [*STRESS_MAPS, Isomap])
@pytest.mark.parametrize(
    "D, says",
    [
        (GOOD, "must be square"),
        (np.triu(cdist(GOOD, GOOD)), "not symmetric"),
        (-cdist(GOOD, GOOD), "negative entry"),
        (cdist(GOOD, GOOD) + np.eye(20), "on its diagonal"),
    ],
    ids=["not square", "not symmetric", "negative", "diagonal"],
)
def test_bad_distances_get_a_clear_error(Model, D, says):
    with pytest.raises(ValueError, match=says):
        Model(metric="distance").fit(D)


@pytest.mark.bad_input
def test_a_graph_in_pieces_is_refused_with_advice_or_bridged_with_a_warning():
    Y = np.concatenate([points(0, 10, 2), points(1, 8, 2) + 50.0])
    with pytest.raises(ValueError, match=r"2 pieces \(of 10, 8 points\).*8 would join them"):
        Isomap(2, 3, disconnected="error").fit(Y)
    with pytest.warns(UserWarning, match="bridged by their shortest link"):
        model = Isomap(2, 3).fit(Y)
    assert model.n_pieces_ == 2 and np.isfinite(model.geodesics_).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Isomap(2, 8).fit(Y).n_pieces_ == 1


@pytest.mark.bad_input
def test_more_neighbours_than_points_are_reduced_and_reported():
    model = Isomap(2, n_neighbors=50).fit(GOOD)
    assert model.n_neighbors_ == 19 and model.n_neighbors == 50


@pytest.mark.bad_input
@pytest.mark.parametrize("Model", STRESS_MAPS)
def test_a_fit_that_stops_early_says_so(Model):
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=2 before it had converged"):
        model = Model(2, init="random", random_state=0, max_iter=2).fit(GOOD)
    assert not model.converged_ and model.n_iter_ == 2


@pytest.mark.parametrize("Model", STRESS_MAPS)
def test_states_carry_minus_the_stress_and_the_last_one_says_why_it_is_the_last(Model):
    *states, last = Model(2).iterates(GOOD)
    assert all(state.value == -state.stress and state.X.shape == (20, 2) for state in [*states, last])
    assert {state.stopped for state in states} == {""}
    assert last.stopped == ("gradient" if Model is SammonMapping else "gain") and Model(2).fit(GOOD).converged_
    *_, last = Model(2, max_iter=1).iterates(GOOD)
    assert last.stopped == ("max_iter" if Model is SammonMapping else "")


@pytest.mark.parametrize("Model", STRESS_MAPS)
def test_a_random_start_takes_every_kind_of_random_state(Model):
    def start(seed):
        return next(Model(2, init="random", random_state=seed).iterates(GOOD)).X

    assert_allclose(start(3), start(np.random.default_rng(3)), atol=0)
    assert_allclose(start(np.random.RandomState(3)), start(np.random.RandomState(3)), atol=0)
    assert not np.allclose(start(None), start(None))
    for kind in (np.random.default_rng, np.random.RandomState):
        advancing = kind(3)
        assert not np.allclose(start(advancing), start(advancing))


# --- starts for the GP-LVM -----------------------------------------------------------------------------------


@pytest.mark.identity
def test_a_start_keeps_its_proportions_and_has_unit_size():
    X = points(0, D=2) * [8.0, 1.0] + 100.0
    start = unit_scale(X, keep_proportions=True)
    assert_allclose(start.mean(axis=0), 0.0, atol=1e-12)
    assert_allclose(np.mean(start**2), 1.0)
    assert_allclose(np.ptp(start[:, 0]) / np.ptp(start[:, 1]), np.ptp(X[:, 0]) / np.ptp(X[:, 1]))
    assert_allclose(unit_scale(np.ones((4, 2)), keep_proportions=True), 0.0)


def test_comparing_starts_counts_the_errors_of_the_maps_and_beats_the_random_one():
    oil = simulate_oil_flow(60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        maps = start_maps(oil.data)
    chosen = {name: maps[name] for name in ("PCA", "random")}
    report = compare_starts(oil.data, oil.target, chosen, max_iter=60)
    assert report["PCA"]["errors"] == nearest_neighbour_errors(maps["PCA"], oil.target)
    assert_allclose(np.abs(maps["PCA"]), np.abs(ClassicalMDS(2).fit_transform(oil.data)), atol=1e-8)
    assert report["PCA"]["gplvm_log_likelihood"] > report["random"]["gplvm_log_likelihood"] + 50


@pytest.mark.identity
def test_short_circuits_are_the_edges_between_layers():
    roll = make_swiss_roll(400, random_state=0)
    sheet, D = roll.extra["sheet"], cdist(roll.data, roll.data)
    assert len(short_circuits(neighbour_graph(D, 8), sheet)) == 0
    graph = neighbour_graph(D, 10)
    jumps = short_circuits(graph, sheet)
    layer = np.floor((roll.target - 1.5 * np.pi) / np.pi)  # half turns
    assert len(jumps) > 0 and np.all(np.abs(np.diff(layer[jumps], axis=1)) >= 1)
    assert np.all(graph[jumps[:, 0], jumps[:, 1]] > 0)


# --- the explorer --------------------------------------------------------------------------------------------

EXPLORER = partial(explore_proximity, n_points=150)


SETTINGS = [
    dict(data=data, noise=noise, method=method, start=start, n_neighbors=k, n_points=N, beside=beside)
    for data, noise, method, start, k, N, beside in [
        ("Swiss roll", 0.0, "Isomap", "classical", 7, 200, True),
        ("Swiss roll", 0.5, "PCA", "classical", 3, 150, True),
        ("roll with a hole", 0.25, "metric MDS", "random", 12, 150, False),
        ("oil flow", 0.4, "Sammon", "random", 2, 100, True),
        ("oil flow", 0.0, "non-metric MDS", "classical", 5, 100, True),
        ("oil flow", 1.5, "Isomap", "classical", 4, 100, False),
    ]
]


def run_code(explorer, capsys):
    """The names that the code shown defines; what it prints is what the picture says."""
    names = {}
    exec(explorer.shown_code(), names)
    assert explorer.scene.says in capsys.readouterr().out
    return names


def drawn(scene, panel):
    """The points of one panel, (N, 2)."""
    points = scene.mark(panel, "points")
    return np.column_stack([points.x, points.y])


@pytest.mark.widget
@pytest.mark.parametrize("chosen", SETTINGS, ids=lambda s: f"{s['data']}-{s['method']}-{s['n_neighbors']}")
def test_the_code_shown_computes_what_the_panel_shows(chosen, explorer, capsys):
    explorer.set(**chosen)
    scene, names = explorer.scene, run_code(explorer, capsys)
    X = names["X"]
    assert_allclose(drawn(scene, "map"), X, atol=1e-9 * np.abs(X).max())
    assert scene.mark("likelihood", "own").y == pytest.approx([names["last"].value], rel=1e-9)
    on = ~np.isnan(scene.mark("graph", "edges").path()[0])
    assert np.sum(on[:-1] & on[1:]) == sparse.triu(names["graph"]).nnz
    rivals = [mark.key for mark in scene.panel("likelihood").marks if mark.key.startswith("rival")]
    assert bool(rivals) == ("last_of_pca" in names) == (chosen["beside"] and chosen["method"] != "PCA")
    explorer.run_now(max_steps=4)
    assert_allclose(drawn(explorer.scene, "map"), run_code(explorer, capsys)["X"], rtol=1e-6)
    explorer.scrubber.value = 1
    names = run_code(explorer, capsys)
    assert explorer.state.number == 1 and "iteration 1:" in explorer.scene.says
    assert_allclose(drawn(explorer.scene, "map"), names["X"], rtol=1e-6)


@pytest.mark.widget
def test_isomap_in_the_panel_is_the_estimator(explorer):
    explorer.set(n_neighbors=6)
    model = Isomap(2, 6).fit(make_swiss_roll(150, random_state=0).data)
    assert_allclose(drawn(explorer.scene, "map"), model.embedding_)
    pairs = explorer.scene.mark("kept_distances", "pairs")
    condensed = squareform(model.geodesics_, checks=False)
    assert len(pairs.x) == 1500 and set(pairs.x.round(9)) <= set(condensed.round(9))


@pytest.mark.widget
def test_a_click_chooses_the_nearest_point_and_moves_only_the_way(explorer, capsys):
    names = run_code(explorer, capsys)
    lengths = geodesic_distances(names["graph"])
    for panel in ("graph", "map"):
        before = explorer.scene
        explorer.view.hear({"type": "point", "panel": panel, **dict(zip("xy", drawn(before, panel)[23], strict=True))})
        after = explorer.scene
        assert explorer.settings["point"] == 23
        same = [a is b for a, b in zip(before.panels, after.panels, strict=True)]
        assert same == [False, False, True, True]
        way = np.column_stack([after.mark(panel, "way").x, after.mark(panel, "way").y])
        assert_allclose(way[0], drawn(after, panel)[23])
        assert_allclose(way[-1], drawn(after, panel)[np.argmax(lengths[23])])
        explorer.set(point=0)
    assert f"way: {lengths[0].max():.3g} through the graph" in explorer.scene.mark("graph", "way").label


@pytest.mark.widget
def test_the_way_is_made_of_edges_and_is_the_shortest():
    from gplvm_widgets.proximity import graph_of, way_from

    setting = ("Swiss roll", 0.0, 150, 7)
    way, length = way_from(*setting, 23)
    graph = graph_of(*setting).matrix
    steps = np.array([graph[a, b] for a, b in pairwise(way)])
    assert way[0] == 23 and np.all(steps > 0)
    assert steps.sum() == pytest.approx(length) == pytest.approx(geodesic_distances(graph)[23].max())


@pytest.mark.widget
def test_arrow_keys_walk_along_the_sheet(explorer):
    colour = make_swiss_roll(150, random_state=0).target
    before = colour[explorer.settings["point"]]
    explorer.view.hear({"type": "arrow", "panel": "graph", "right": 1, "up": 0})
    assert colour[explorer.settings["point"]] == min(colour[colour > before])
    explorer.view.hear({"type": "arrow", "panel": "map", "right": -1, "up": 0})
    assert colour[explorer.settings["point"]] == before


@pytest.mark.widget
def test_run_climbs_from_the_map_and_from_pca_beside_it(explorer):
    explorer.run_now(max_steps=15)
    own, rival = (explorer.scene.mark("likelihood", key) for key in ("own", "rival"))
    X = drawn(explorer.scene, "map")
    assert len(own.y) == len(rival.y) == 15 and np.all(np.diff(own.y) > 0) and np.all(np.diff(rival.y) > 0)
    assert own.label == f"from Isomap: {own.y[-1]:.0f}" and rival.label == f"from PCA: {rival.y[-1]:.0f}"
    explorer.set(method="PCA")
    assert explorer.state is None and explorer.controls["beside"].disabled
    explorer.run_now(max_steps=15)
    assert_allclose(explorer.scene.mark("likelihood", "own").y, rival.y, rtol=1e-9)  # the rival is the run from PCA
    assert [mark.key for mark in explorer.scene.panel("likelihood").marks] == ["own", "own now"]
    explorer.set(method="Isomap", beside=False)
    explorer.run_now(max_steps=15)
    assert_allclose(drawn(explorer.scene, "map"), X, rtol=1e-9)  # the rival does not touch it


@pytest.mark.widget
def test_nothing_is_remembered_but_the_settings_and_the_state(explorer):
    from gplvm_widgets.proximity import panel_proximity

    explorer.run_now(max_steps=5)
    explorer.set(method="Sammon", n_neighbors=10)
    explorer.run_now(max_steps=3)
    again = panel_proximity(**explorer.settings, state=explorer.state)
    for before, after in zip(explorer.scene.panels, again.panels, strict=True):
        assert repr(before.wire()) == repr(after.wire())
    assert again.says == explorer.scene.says


@pytest.mark.widget
def test_a_run_that_comes_to_rest_first_waits_for_the_other(explorer, monkeypatch):
    from gplvm_widgets import proximity

    states = [SimpleNamespace(X=k * np.ones((2, 2)), value=float(k)) for k in range(5)]
    lengths = {"Isomap": 2, "PCA": 4}
    monkeypatch.setattr(proximity, "climb", lambda *setting: iter(states[: lengths[setting[4]]]))
    kept = [state for _, state in explorer.iterates(explorer.settings)]
    assert [len(state.values) for state in kept] == [1, 2, 2, 2] and [len(s.rival) for s in kept] == [1, 2, 3, 4]
    assert kept[-1].X[0, 0] == 1.0 and kept[-1].number == 3


@pytest.mark.widget
def test_what_the_data_or_the_map_do_not_have_is_not_offered(explorer):
    explorer.set(n_points=400, point=399, method="metric MDS")
    assert explorer.unused(explorer.settings) == {}
    explorer.set(data="roll with a hole")
    assert explorer.settings["point"] == explorer.controls["point"].max == len(drawn(explorer.scene, "map")) - 1 < 399
    explorer.set(method="PCA")
    assert set(explorer.unused(explorer.settings)) == {"start", "beside"}
    explorer.set(method="Isomap")
    assert set(explorer.unused(explorer.settings)) == {"start"}


@pytest.mark.widget
def test_the_stress_maps_of_few_steps_are_nearly_at_their_end():
    from gplvm_widgets.proximity import STRESS_MAPS, layout, load

    D = load("Swiss roll", 0.0, 400).distances
    for method, measure in (("metric MDS", stress), ("Sammon", sammon), ("non-metric MDS", kruskal_stress)):
        Model, _ = STRESS_MAPS[method]
        *_, end = Model(2, metric="distance", max_iter=200, tol=1e-6).iterates(D)
        X = layout("Swiss roll", 0.0, 400, None, method, "classical")
        assert measure(end.X, D) < measure(X, D) < 1.01 * measure(end.X, D), method


def sammon(X, D):
    return sammon_stress(X, D)[0]


@pytest.mark.widget
def test_the_answers_of_the_questions_are_true(explorer):
    from gplvm_widgets.proximity import geodesics, graph_of, load

    seen = {}
    for number, question in enumerate(explorer.questions, start=1):
        explorer.ask(number)
        before = drawn(explorer.scene, "map")
        explorer.commit(question.right)
        explorer.reveal()
        chosen = question.before | question.after
        assert chosen == {**explorer.settings, "point": chosen["point"]}
        seen[number] = before, drawn(explorer.scene, "map"), question.choices[question.right]
    roll = make_swiss_roll(400, random_state=0)
    sheet, D = roll.extra["sheet"], cdist(roll.data, roll.data)

    before, after, right = seen[1]
    graphs = [graph_of("Swiss roll", 0.0, 400, k) for k in (7, 10)]
    assert [len(graph.jumps) for graph in graphs] == [0, 4] and len(graphs[1].edges) == 2331
    for graph in graphs:  # drawn as a walk: every edge once, in fewer than half of three numbers each
        a, b = graph.walk[:-1], graph.walk[1:]
        walked = np.sort(np.column_stack([a, b])[(a >= 0) & (b >= 0)], axis=1)
        assert np.array_equal(np.unique(walked, axis=0), np.unique(graph.edges, axis=0)) and len(walked) == len(
            graph.edges
        )
        assert len(graph.walk) < 1.5 * len(graph.edges)
    assert [round(procrustes_distance(sheet, X), 2) for X in (before, after)] == [0.08, 0.79]
    short, long = (squareform(geodesics("Swiss roll", 0.0, 400, k), checks=False) for k in (10, 7))
    assert np.all((short / long)[long > np.quantile(long, 0.9)] < 0.75)  # each takes a jump
    assert np.mean((short / long)[long > np.quantile(long, 0.75)] < 0.9) > 0.9
    errors = [np.linalg.norm(procrustes_align(sheet, X) - sheet, axis=1) for X in (before, after)]
    assert right == "nearly all of it" and np.mean(errors[1] > 3 * errors[0]) > 0.9

    before, after, right = seen[2]
    assert right == "no, the sheet stays rolled up" and stress(after, D) < 0.85 * stress(before, D)
    assert min(procrustes_distance(sheet, X) for X in (before, after)) > 0.9

    before, after, right = seen[3]
    holed = load("roll with a hole", 0.0, 400).sheet
    assert not any(len(graph_of(data, 0.0, 400, 6).jumps) for data in ("Swiss roll", "roll with a hole"))
    middle, reach = (sheet.max(axis=0) + sheet.min(axis=0)) / 2, np.ptp(sheet, axis=0)
    beside = np.abs(holed[:, 0] - middle[0]) < 0.2 * reach[0]
    above, below = beside & (holed[:, 1] > middle[1]), beside & (holed[:, 1] < middle[1])
    heights = [X[above, 1].min() - X[below, 1].max() for X in (holed, procrustes_align(holed, after))]
    assert right == "the hole is too large" and 1.7 < heights[1] / heights[0] < 2.0


# --- the explorer in a real page -----------------------------------------------------------------------------

PAGE = ["explore_proximity(n_points=150)"]


@pytest.mark.browser
def test_neighbours_and_noise_redraw_and_come_back(page, screenshots):
    start = page.picture_at_rest()
    page.screenshot(screenshots / "lab_06_proximity.png")
    for slider in ("n_neighbors", "noise"):
        page.slider(slider).press("ArrowRight", times=3)
        assert page.wait_for_new_picture(start) != start
        page.slider(slider).press("ArrowLeft", times=3)
        page.wait_for_picture(start)
    page.control("method").choose("PCA")
    page.wait_for_new_picture(start)
    page.control("method").choose("Isomap")
    page.wait_for_picture(start)
    assert page.error_box() == ""


@pytest.mark.browser
def test_a_click_shows_another_way_and_run_climbs(page):
    start, point = page.picture_at_rest(), page.control("point").value()
    places = next(panel for panel in page.scene()["panels"] if panel["key"] == "graph")["marks"]
    points = next(mark for mark in places if mark["key"] == "points")
    page.click_picture("graph", points["x"][77], points["y"][77])
    there = page.wait_for_new_picture(start)
    assert page.control("point").value() != point
    page.click("Run")
    page.wait_until(lambda: page.picture() not in (None, there), 20, "the first picture of the run")
    page.click("Stop")
    stopped = page.picture_at_rest()
    assert stopped not in (start, there) and 0 <= page.progress() <= 1
    page.run_code_of_the_picture()
    assert "GP-LVM, iteration" in page.scene()["says"]
    page.click("Show the code")
    assert page.error_box() == ""


@pytest.mark.browser
def test_show_the_code_shows_code_that_runs(page):
    page.control("method").choose("PCA")
    page.wait_until(lambda: "PCA: Procrustes" in page.scene()["says"], 20, "the map of PCA")
    names = page.run_shown_code()
    assert names["X"].shape == (150, 2) and page.scene()["says"] in names["printed"]
    page.click("Show the code")


# --- the exercises -------------------------------------------------------------------------------------------

test_right_answers_pass_whoever_computed_them = right_answers(
    [
        ("proximity.1", lambda d, delta: np.sum(d * delta) / np.sum(d**2)),
        ("proximity.2", guttman_transform),
        ("proximity.3", lambda X, Delta: sammon_stress(X, Delta)[1]),
        ("proximity.4", isotonic.isotonic_regression),
        ("proximity.6", 8),
        ("proximity.7", np.abs(np.subtract.outer([0, 1, 3, 50, 57, 66.5], [0, 1, 3, 50, 57, 66.5]))),
    ]
)


test_common_mistakes_get_their_own_hint = common_mistakes(
    [
        ("proximity.1", lambda d, delta: d @ delta / (delta @ delta), "stretch"),
        ("proximity.1", lambda d, delta: delta.sum() / d.sum(), "derivative"),
        ("proximity.2", lambda X, Delta: len(X) * guttman_transform(X, Delta), "N times"),
        ("proximity.2", lambda X, Delta: -guttman_transform(X, Delta), "sign"),
        ("proximity.2", lambda X, Delta: np.nan * X, "NaN"),
        ("proximity.3", lambda X, Delta: -sammon_stress(X, Delta)[1], "sign"),
        ("proximity.3", lambda X, Delta: 2 * sammon_stress(X, Delta)[1], "n < m"),
        ("proximity.3", lambda X, Delta: Delta.sum() / 2 * sammon_stress(X, Delta)[1], "1/c"),
        ("proximity.4", np.maximum.accumulate, "running maximum"),
        ("proximity.4", np.sort, "sorted"),
        ("proximity.4", lambda y: y, "falls"),
        ("proximity.5", lambda G, q: principal_coordinates(np.sqrt(G), q)[0], "roots"),
        ("proximity.6", 12, "orange edge already"),
        ("proximity.6", 3, "room for more"),
        ("proximity.7", 1.0 - np.eye(6), "different"),
        ("proximity.7", np.abs(np.subtract.outer([0, 1, 3.3, 7, 12, 20.5], [0, 1, 3.3, 7, 12, 20.5])), "not zero"),
    ]
)


# --- the papers' figures -------------------------------------------------------------------------------------


def test_the_stored_table_holds_what_the_chapter_says():
    real = json.loads((BOOK / "results" / "proximity.json").read_text())
    table, tries = real["table"], real["random starts"]
    assert table["PCA"]["errors"] == real["printed"]["PCA"] == 20
    assert all(row["gplvm_errors"] <= real["printed"]["GP-LVM"] for name, row in table.items() if name != "random")
    highest_random = table["random"]["gplvm_log_likelihood"]
    assert all(row["gplvm_log_likelihood"] > highest_random + 300 for name, row in table.items() if name != "random")
    stresses, errors = np.array(tries["Sammon"]["stress"]), np.array(tries["Sammon"]["errors"])
    lower, higher = errors[stresses < 0.0341], errors[(stresses > 0.0344) & (stresses < 0.0351)]
    assert lower.min() >= 15 and np.median(higher) <= 3
    assert real["printed"]["non-metric MDS"] in tries["non-metric MDS"]["errors"]
    assert set(real["Isomap, 1000 points"]["pieces"]) == {8}


@pytest.mark.slow
def test_a_sample_of_the_stored_studies_is_what_the_functions_give():
    stored = json.loads((BOOK / "results" / "proximity.json").read_text())
    for N, seed in ((400, 2), (400, 19), (600, 5)):
        found = (stored["rolls"] | stored["sparse rolls"])[str(N)][str(seed)]
        fresh = studies.one_roll(N, seed)
        assert {key: fresh[key] for key in fresh if key != "procrustes"} == {
            key: found[key] for key in found if key != "procrustes"
        }
        for key, value in found["procrustes"].items():
            assert abs(fresh["procrustes"][key] - value) <= 0.002
    fresh = studies.signs(studies.wide_roll(400, seed) for seed in (53, 54))
    others = {what: rows[3:5] for what, rows in stored["other rolls"]["400"].items()}
    assert fresh["cliff"] == others["cliff"]
    for what in ("procrustes", "residual variance"):
        assert_allclose(fresh[what], others[what], atol=0.002)
    few = make_swiss_roll(200, random_state=4).extra["sheet"]
    assert abs(studies.unrolled(cdist(few, few), few, 4)[0] - stored["flat sheets"]["200 points, k = 4"][4]) <= 0.002
    fresh, found = studies.one_roll(1000, 1, 2.0), stored["wide rolls"]["1000"]["1"]
    assert (fresh["chosen"], fresh["cliff"], fresh["least"]) == (found["chosen"], found["cliff"], found["least"])
    assert fresh["procrustes"]["least"] < studies.UNROLLED < 0.8 < fresh["procrustes"]["rule"]
    roll = make_swiss_roll(400, studies.NOISE, random_state=2)
    starts = studies.roll_starts(roll.data)
    for name in ("Isomap", "Isomap, a tenth", "LLE", "LLE, ridge 1e-7", "Laplacian eigenmaps"):
        found = stored["climbs"]["400"][name]["2"]
        fresh = studies.climb(roll.data, roll.extra["sheet"], *starts[name], (studies.STEPS,))
        assert_allclose(fresh["map"], found["map"], atol=0.002)
        assert (fresh["60"][0] < studies.UNROLLED) == (found["60"][0] < studies.UNROLLED) == (name == "Isomap")
    Y, flat = studies.make_bowl(600, 120, 3)
    fit = Isomap(2, 10).fit(Y)
    assert_allclose(procrustes_distance(flat, fit.embedding_), stored["bowls"]["120"]["procrustes"][3], atol=0.002)
    Y, sheet = studies.with_hole(make_swiss_roll(1000, studies.NOISE, random_state=4), 0.4)
    fit, found = Isomap(2, 7).fit(Y), stored["holes"]["0.4"]
    assert_allclose(studies.hole_height(sheet, fit.embedding_, 0.4), found["height"][4], atol=0.02)
    assert_allclose(fit.residual_variance_, found["residual variance"][4], atol=0.0003)
    oil = simulate_oil_flow(100, random_state=2)
    fresh = studies.sizes(oil.data, oil.target, 2, 150)
    for name, (errors, height, away) in ((name, rows[2]) for name, rows in stored["scales"].items()):
        assert abs(fresh[name][0] - errors) <= 3 and abs(fresh[name][1] - height) < 150, name
        assert abs(fresh[name][2] - away) < 0.05, name
    for name, rows in studies.scales_of_pca(seeds=(10, 11)).items():
        before = np.array(stored["scales of PCA, other flows"][name][:2])
        assert np.all(np.abs(np.array(rows) - before) <= (3, 150)), name


@pytest.mark.identity
@pytest.mark.parametrize("share", [0.2, 0.6])
def test_ways_round_a_hole_are_those_of_a_fine_grid_of_corners(share):
    rng = np.random.default_rng(0)
    frame = rng.uniform(size=(60, 2)) * [4.0, 1.0]
    middle, half = (frame.max(axis=0) + frame.min(axis=0)) / 2, share / 2 * np.ptp(frame, axis=0)
    sheet = frame[np.any(np.abs(frame - middle) >= half, axis=1)]
    corners = middle + half * np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]])
    every = np.vstack([sheet, corners])
    way = np.linspace(0.001, 0.999, 999)[:, None]
    free = np.zeros((len(every), len(every)))
    for n, m in zip(*np.triu_indices(len(every), 1), strict=True):  # a straight way, looked at in 999 places
        there = np.abs(every[n] + way * (every[m] - every[n]) - middle)
        free[n, m] = 0.0 if np.any(np.all(there < half - 1e-9, axis=1)) else np.linalg.norm(every[n] - every[m])
    brute = csgraph.shortest_path(free + free.T)[: len(sheet), : len(sheet)]
    assert_allclose(studies.ways_round(sheet, share), brute, atol=2e-3)
    assert np.max(brute - cdist(sheet, sheet)) > 0.05  # some do go round


@pytest.mark.identity
def test_the_affine_distance_forgives_stretches_and_misses_a_lost_width():
    sheet = make_swiss_roll(200, random_state=0).extra["sheet"]
    assert studies.up_to_stretches(sheet, sheet @ [[2.0, 1.0], [0.0, -3.0]] + 5.0) < 1e-6
    curve = np.column_stack([sheet[:, 0], sheet[:, 0] ** 2])
    assert studies.up_to_stretches(sheet, curve) > 0.9 > 0.3 > procrustes_distance(sheet, sheet * [1.0, 0.01])


@pytest.mark.identity
def test_the_bar_lets_no_line_pass_and_every_stored_least_is_a_rival_of_the_rule():
    for N, seed in ((400, 7), (1000, 3)):
        sheet = make_swiss_roll(N, studies.NOISE, random_state=seed).extra["sheet"]
        assert studies.UNROLLED < 0.21 < procrustes_distance(sheet, sheet * [1.0, 0.0]) < 0.24
    stored = json.loads((BOOK / "results" / "proximity.json").read_text())
    wide = [row["procrustes"] for row in stored["wide rolls"]["1000"].values()]
    assert [sum(row[key] < studies.UNROLLED for row in wide) for key in ("rule", "least", "best")] == [3, 8, 8]


@pytest.mark.identity
def test_a_wide_roll_is_a_roll_of_a_wide_sheet():
    Y, sheet = studies.wide_roll(300, 5, 2.0)
    narrow, usual = studies.wide_roll(300, 5)
    roll = make_swiss_roll(300, studies.NOISE, random_state=5)
    assert_allclose(usual, roll.extra["sheet"])
    assert_allclose(narrow, roll.data)
    assert_allclose(sheet, usual * [1.0, 2.0])
    assert_allclose(
        Y - studies.roll_up(sheet, studies.GAPS[0]), 0.2 * np.random.default_rng(5).standard_normal((300, 3))
    )


@pytest.mark.identity
@pytest.mark.parametrize("gap", [6.28, 4.0, 2.5])
def test_a_sheet_that_is_rolled_up_keeps_its_lengths_and_its_layers_have_the_gap(gap):
    s = np.linspace(20.0, 100.0, 20_001)
    Y = studies.roll_up(np.c_[s, np.zeros_like(s)], gap)
    assert_allclose(np.linalg.norm(np.diff(Y, axis=0), axis=1), s[1] - s[0], rtol=0.01)
    angle, radius = np.unwrap(np.arctan2(Y[:, 2], Y[:, 0])), np.hypot(Y[:, 0], Y[:, 2])
    assert_allclose(np.interp(angle[0] + 2 * np.pi, angle, radius) - radius[0], gap, rtol=1e-3)


@pytest.mark.identity
def test_a_bowl_is_even_on_its_ball_and_its_polar_map_keeps_ways_from_the_pole():
    Y, flat = studies.make_bowl(4000, 150, 0)
    assert_allclose(np.linalg.norm(Y, axis=1), 1.0)
    assert_allclose(np.arccos(Y[:, 2]), np.linalg.norm(flat, axis=1), atol=1e-7)
    assert abs(np.mean(Y[:, 2]) - (1 + np.cos(np.radians(150))) / 2) < 0.03  # heights are uniform (Archimedes)


def test_the_figure_of_six_maps_keeps_its_errors_when_positions_are_rounded():
    stored = json.loads((BOOK / "results" / "proximity.json").read_text())["figure 1"]
    classes = np.array(list(stored["class"]))
    for found in stored["maps"].values():
        X = np.reshape(found["positions"], (100, 2))
        assert abs(nearest_neighbour_errors(X, classes) - found["errors"]) <= 1


@pytest.mark.real
def test_isomap_on_the_real_oil_makes_scikit_learns_errors():
    from gplvm_edu.datasets import load_oil_flow

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for subset, errors in ((100, 9), (None, 5)):  # four neighbours
            oil = load_oil_flow(subset)
            ours = nearest_neighbour_errors(Isomap(2, 4).fit_transform(oil.data), oil.target)
            theirs = manifold.Isomap(n_neighbors=4, n_components=2).fit_transform(oil.data)
            assert ours == nearest_neighbour_errors(theirs, oil.target) == errors
