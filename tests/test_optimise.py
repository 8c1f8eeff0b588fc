"""Scaled conjugate gradients and L-BFGS as generators: what they find, count and leave behind."""

import itertools
import threading
import traceback
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize as scipy_optimize

from gplvm_edu.checks import NotFiniteError
from gplvm_edu.optimise import Iterate, check_gradient, minimise, minimise_rows
from gplvm_edu.optimise.iterate import Objective
from gplvm_edu.optimise.lbfgs import Step, cubic_minimum, inverse_hessian_times, wolfe_search
from gplvm_edu.optimise.scg import curvature

BOTH = pytest.mark.parametrize("method", ["scg", "l-bfgs"])
quietly = pytest.mark.filterwarnings("error")


class Counted:
    """An objective that remembers where it was called."""

    def __init__(self, f):
        self.f, self.points = f, []

    def __call__(self, x):
        self.points.append(x.copy())
        return self.f(x)


def rosenbrock(x):
    return scipy_optimize.rosen(x), scipy_optimize.rosen_der(x)


def quadratic(n, condition, seed):
    """0.5 x'Hx - b'x with the eigenvalues of H spread from 1 to its condition; and its minimum."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    H, b = Q * np.geomspace(1.0, condition, n) @ Q.T, rng.normal(size=n)
    H = (H + H.T) / 2
    return lambda x: (0.5 * x @ H @ x - b @ x, H @ x - b), np.linalg.solve(H, b)


def soft_convex(n, seed):
    """A strictly convex function far from a quadratic, log cosh of projections and a ridge; and a start."""
    rng = np.random.default_rng(seed)
    A, b, ridge = rng.normal(size=(3 * n, n)), 3 * rng.normal(size=3 * n), rng.uniform(0.1, 1.0)

    def f(x):
        t = A @ x - b
        return np.sum(np.logaddexp(t, -t)) + 0.5 * ridge * x @ x, A.T @ np.tanh(t) + ridge * x

    return f, 3 * rng.normal(size=n)


# ---- what they find


@pytest.mark.identity
@given(n=st.integers(1, 12), seed=st.integers(0, 10_000))
def test_scg_solves_a_quadratic_in_n_conjugate_steps(n, seed):
    f, minimum = quadratic(n, condition=10.0, seed=seed)
    x0 = np.random.default_rng(seed).normal(size=n)
    iterates = list(minimise(f, x0, max_iter=n, tolerance=0))
    assert_allclose(iterates[-1].x, minimum, atol=1e-5 * np.linalg.norm(x0 - minimum))
    if len(iterates) == n + 1 and n > 1:  # and not earlier: the last step is still needed
        assert np.linalg.norm(iterates[-2].x - minimum) > 10 * np.linalg.norm(iterates[-1].x - minimum)


@pytest.mark.identity
def test_scg_directions_are_conjugate_and_gradients_orthogonal_on_a_quadratic():
    n = 6
    f, _ = quadratic(n, condition=20.0, seed=1)
    iterates = list(minimise(f, np.zeros(n), max_iter=n, tolerance=0))
    P = np.diff([iterate.x for iterate in iterates], axis=0)
    P /= np.linalg.norm(P, axis=1, keepdims=True)
    HP = np.array([f(p)[1] - f(np.zeros(n))[1] for p in P])
    G = np.array([iterate.gradient / np.linalg.norm(iterate.gradient) for iterate in iterates[:n]])
    assert_allclose(P @ HP.T, np.diag(np.diag(P @ HP.T)), atol=1e-5)
    assert_allclose(G @ G.T, np.eye(n), atol=1e-5)


@pytest.mark.identity
@given(n=st.integers(1, 5), seed=st.integers(0, 10_000))
def test_after_a_rejection_scg_tries_the_minimum_of_the_parabola_through_what_it_knows(n, seed):
    f = Counted(lambda x: (np.sum(np.sqrt(1 + x**2)), x / np.sqrt(1 + x**2)))
    x0 = 5 + np.random.default_rng(seed).uniform(size=n)  # nearly flat: the first trial goes too far
    next(steps := minimise(f, x0)), next(steps)
    start, _, rejected, *others = f.points  # between them the probe of the curvature
    (E0, gradient), E1 = f.f(start), f.f(rejected)[0]
    assert E1 > E0 and len(others) > 0
    p = -gradient
    a = (rejected - start) @ p / (p @ p)
    c = (E1 - E0 + a * p @ p) / a**2  # E0 - (p'p) t + c t^2 passes through E1 at t = a
    assert_allclose(others[0], start + p @ p / (2 * c) * p, rtol=1e-9)


@pytest.mark.identity
def test_where_the_curvature_is_negative_scg_takes_its_size_for_the_first_trial():
    f = Counted(lambda x: (np.sum(np.cos(x)), -np.sin(x)))
    x0 = np.array([0.1, -0.3, 0.5])  # cos is concave here
    next(steps := minimise(f, x0)), next(steps)
    p = np.sin(x0)
    pHp = -np.sum(p**2 * np.cos(x0))
    assert pHp < 0
    assert_allclose(f.points[2], x0 + p @ p / abs(pHp) * p, rtol=1e-5)


@pytest.mark.identity
@pytest.mark.parametrize("n", [2, 3])
def test_scg_restarts_along_the_gradient_after_n_steps_and_only_then(n):
    iterates = list(minimise(rosenbrock, np.resize([-1.2, 1.0], n), max_iter=3 * n))
    steps = np.diff([iterate.x for iterate in iterates], axis=0)
    cosines = [
        -step @ iterate.gradient / np.linalg.norm(step) / np.linalg.norm(iterate.gradient)
        for step, iterate in zip(steps, iterates, strict=False)
    ]
    along = np.isclose(cosines, 1.0, atol=1e-12)
    assert_array_equal(np.flatnonzero(along), [0, n, 2 * n])


@BOTH
@pytest.mark.parametrize("n", [2, 3, 10])
def test_both_methods_walk_the_rosenbrock_valley_to_its_end(method, n):
    *_, last = minimise(rosenbrock, np.resize([-1.2, 1.0], n), method=method, tolerance=1e-8)
    assert last.converged
    assert np.all(np.linalg.eigvalsh(scipy_optimize.rosen_hess(last.x)) > 0)
    if n <= 3:  # from four variables on there is a second minimum
        assert_allclose(last.x, 1.0, atol=1e-6)


@given(n=st.integers(1, 8), seed=st.integers(0, 10_000))
def test_both_methods_agree_on_the_minimum_of_a_convex_function(n, seed):
    f, x0 = soft_convex(n, seed)
    *_, scg = minimise(f, x0, tolerance=1e-6)
    *_, lbfgs = minimise(f, x0, method="l-bfgs", tolerance=1e-6)
    assert scg.converged and lbfgs.converged
    # the ridge is at least 0.1, so each is within |gradient| / 0.1 of the minimum
    assert np.linalg.norm(scg.x - lbfgs.x) <= 2 * np.sqrt(n) * 1e-6 / 0.1


@BOTH
def test_the_scale_of_value_and_variables_does_not_decide_success(method):
    for s in (1e-3, 1e3):

        def f(x, s=s):
            value, gradient = rosenbrock(x / s)
            return s * value, gradient

        *_, last = minimise(f, s * np.array([-1.2, 1.0]), method=method, tolerance=1e-7)
        assert last.converged
        assert_allclose(last.x, s, rtol=1e-4)


def test_scg_crosses_a_region_of_negative_curvature():
    def f(x):
        return np.sum(np.cos(x)) + 0.01 * x @ x, 0.02 * x - np.sin(x)

    x0 = np.array([0.1, -0.3, 0.5])  # cos is concave here
    *_, last = minimise(f, x0, tolerance=1e-8)
    assert last.converged
    assert np.all(-np.cos(last.x) + 0.02 > 0)  # a minimum, not a saddle


# ---- what they promise about the sequence


@BOTH
@given(n=st.integers(1, 8), seed=st.integers(0, 10_000))
def test_values_never_increase_and_evaluations_never_decrease(method, n, seed):
    f, x0 = soft_convex(n, seed)
    iterates = list(minimise(f, x0, method=method, tolerance=0))
    assert np.all(np.diff([iterate.value for iterate in iterates]) <= 0)
    assert np.all(np.diff([iterate.n_evaluations for iterate in iterates]) >= 0)


@BOTH
def test_the_first_iterate_is_the_start_after_one_evaluation(method):
    x0 = np.array([-1.2, 1.0])
    first = next(minimise(rosenbrock, x0, method=method))
    assert_array_equal(first.x, x0)
    assert first[1:3] == (rosenbrock(x0)[0], 1)
    assert_array_equal(first.gradient, rosenbrock(x0)[1])
    assert first.stopped == "" and not first.converged


@BOTH
@pytest.mark.parametrize("max_iter", [0, 1, 7])
def test_max_iter_steps_give_max_iter_plus_one_iterates(method, max_iter):
    iterates = list(minimise(rosenbrock, np.zeros(20), method=method, max_iter=max_iter))
    assert len(iterates) == max_iter + 1
    assert [iterate.stopped for iterate in iterates] == [""] * max_iter + ["max_iter"]


@BOTH
def test_iterates_do_not_depend_on_max_iter(method):
    short = list(minimise(rosenbrock, np.zeros(5), method=method, max_iter=6))
    long = list(itertools.islice(minimise(rosenbrock, np.zeros(5), method=method), 7))
    assert_array_equal([iterate.x for iterate in short], [iterate.x for iterate in long])


@BOTH
def test_n_evaluations_is_the_number_of_calls(method):
    f = Counted(rosenbrock)
    for iterate in minimise(f, np.array([-1.2, 1.0]), method=method, tolerance=0):
        assert iterate.n_evaluations == len(f.points)
        assert any(np.array_equal(iterate.x, point) for point in f.points)


@BOTH
def test_every_iterate_carries_its_own_value_and_gradient(method):
    for iterate in minimise(rosenbrock, np.array([-1.2, 1.0, 0.3]), method=method):
        value, gradient = rosenbrock(iterate.x)
        assert iterate.value == value
        assert_array_equal(iterate.gradient, gradient)


def test_scg_spends_two_evaluations_on_a_step_that_succeeds_at_once():
    f, _ = quadratic(8, condition=10.0, seed=3)  # on a quadratic every trial succeeds
    iterates = list(minimise(f, np.zeros(8), max_iter=6, tolerance=0))
    assert [iterate.n_evaluations for iterate in iterates] == [1, 3, 5, 7, 9, 11, 13]


@pytest.mark.oracle
def test_lbfgs_needs_no_more_evaluations_than_scipy_and_finds_the_same_minima():
    """Within a tenth in total; `python tests/bench.py optimise` prints the same for the models of the course too."""
    problems = [(rosenbrock, np.random.default_rng(seed).normal(size=n)) for n in (2, 3, 20, 100) for seed in range(5)]
    problems += [(quadratic(n, c, seed)[0], np.zeros(n)) for n, c in ((20, 1e2), (50, 1e4)) for seed in range(5)]
    problems += [soft_convex(n, seed) for n in (3, 8, 50) for seed in range(5)]
    counts = []
    for f, x0 in problems:
        *_, ours = minimise(f, x0, method="l-bfgs", max_iter=5000)
        options = {"ftol": 0, "gtol": 1e-5, "maxiter": 5000, "maxfun": 10**5}
        theirs = scipy_optimize.minimize(f, x0, jac=True, method="L-BFGS-B", options=options)
        assert ours.converged and np.max(np.abs(theirs.jac)) <= 1e-5
        if f is not rosenbrock or len(x0) < 4:  # from four variables on there is a second minimum
            assert_allclose(ours.value, theirs.fun, rtol=1e-9, atol=1e-8)
        counts.append([ours.n_evaluations, theirs.nfev])
    ours, theirs = np.sum(counts, axis=0)
    assert abs(ours / theirs - 1) < 0.1


@pytest.mark.identity
@given(n=st.integers(1, 6), n_pairs=st.integers(0, 8), seed=st.integers(0, 10_000))
def test_the_two_loop_recursion_is_the_bfgs_formula(n, n_pairs, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n + 2))
    S, g = rng.normal(size=(n_pairs, n)), rng.normal(size=n)
    pairs = [(s, y, s @ y) for s, y in zip(S, S @ A @ A.T, strict=True)]  # y = A A' s: the curvature is positive
    H = np.eye(n)
    if pairs:
        s, y, sy = pairs[-1]
        H *= sy / (y @ y)
    for s, y, sy in pairs:
        V = np.eye(n) - np.outer(y, s) / sy
        H = V.T @ H @ V + np.outer(s, s) / sy
    assert_allclose(inverse_hessian_times(g, pairs), H @ g, rtol=1e-7, atol=1e-7 * np.linalg.norm(H @ g))
    if pairs:  # the secant condition of the newest step
        assert_allclose(inverse_hessian_times(y, pairs), s, rtol=1e-7, atol=1e-7 * np.linalg.norm(s))


@pytest.mark.identity
@given(a=st.floats(-3, 3), b=st.floats(0.1, 3), low=st.floats(-2, 2), width=st.floats(0.2, 3))
def test_the_cubic_through_two_ends_is_found_again(a, b, low, width):
    """c(t) = a t^3 + b t^2 - t, whose lowest point between ends that bracket it is known."""

    def step(t):
        return Step(t, a * t**3 + b * t**2 - t, 3 * a * t**2 + 2 * b * t - 1)

    left, right = step(low), step(low + width)
    assume(left.slope < -1e-3 and right.slope > 1e-3)
    found = low + width * cubic_minimum(left, right)
    assert low <= found <= low + width
    assert_allclose(step(found).slope, 0.0, atol=1e-7)


@pytest.mark.identity
@given(exponent=st.floats(0, 15), rise=st.floats(0, 10))
def test_the_lowest_point_of_the_cubic_keeps_its_digits_where_the_other_end_is_steep(exponent, rise):
    with localcontext(prec=60):  # the shorter form, with all the digits that it needs
        v, h = Decimal(10.0**exponent), Decimal(rise)
        d = v - 1 - 3 * h
        expected = 1 / (1 + (d * d + v).sqrt() - d)
    found = cubic_minimum(Step(0.0, 0.0, -1.0), Step(1.0, rise, 10.0**exponent))
    assert_allclose(found, float(expected), rtol=0, atol=1e-14)


@pytest.mark.identity
@given(n=st.integers(1, 8), seed=st.integers(0, 10_000), length=st.sampled_from([1e-3, 1.0, 1e3]))
def test_the_curvature_along_a_direction_does_not_depend_on_its_length_or_the_distance(n, seed, length):
    f, _ = quadratic(n, condition=10.0, seed=seed)
    rng = np.random.default_rng(seed)
    w, p = rng.normal(size=n), length * rng.normal(size=n)
    Hp = f(p)[1] - f(np.zeros(n))[1]
    for distance in (1e-5, 1e-2):
        assert_allclose(curvature(Objective(f), w, p, -f(w)[1], distance), p @ Hp, rtol=1e-8)


@given(n=st.integers(1, 8), seed=st.integers(0, 10_000), length=st.sampled_from([1e-6, 0.01, 1.0, 100.0, 1e6]))
def test_the_line_search_ends_where_both_wolfe_conditions_hold(n, seed, length):
    f, x0 = soft_convex(n, seed)
    evaluate = Objective(f)
    here = evaluate(x0)
    p = -here.gradient / np.linalg.norm(here.gradient)
    there = wolfe_search(evaluate, here, p, length)
    t, slope = (there.x - here.x) @ p, p @ here.gradient
    assert there.value <= here.value + 1e-3 * t * slope
    assert abs(p @ there.gradient) <= 0.9 * abs(slope)


# ---- why they stop


@BOTH
def test_a_small_gradient_stops_the_run_and_the_bound_is_kept(method):
    iterates = list(minimise(rosenbrock, np.array([-1.2, 1.0]), method=method, tolerance=1e-3))
    norms = [np.max(np.abs(iterate.gradient)) for iterate in iterates]
    assert iterates[-1].stopped == "gradient" and iterates[-1].converged
    assert norms[-1] <= 1e-3 < min(norms[:-1])


@BOTH
def test_a_start_at_the_minimum_is_the_only_iterate(method):
    iterates = list(minimise(rosenbrock, np.ones(3), method=method, tolerance=0))
    assert len(iterates) == 1 and iterates[0].converged and iterates[0].n_evaluations == 1


@BOTH
def test_rounding_stalls_a_run_that_asks_for_more_than_floats_can_give(method):
    f, minimum = quadratic(6, condition=100.0, seed=0)
    iterates = list(minimise(lambda x: (f(x)[0] + 1e3, f(x)[1]), np.zeros(6), method=method, tolerance=0))
    assert iterates[-1].stopped == "stalled" and not iterates[-1].converged
    assert_array_equal(iterates[-1].x, iterates[-2].x)
    assert_allclose(iterates[-1].x, minimum, atol=1e-5)


@BOTH
def test_a_gradient_of_the_wrong_sign_stalls_at_the_start(method):
    f = Counted(lambda x: (rosenbrock(x)[0], -rosenbrock(x)[1]))
    iterates = list(minimise(f, np.array([-1.2, 1.0]), method=method))
    assert [iterate.stopped for iterate in iterates] == ["", "stalled"]
    assert iterates[-1].n_evaluations == len(f.points) < 100


# ---- whose arrays they are


@BOTH
def test_neither_the_caller_nor_the_objective_can_spoil_the_run_by_writing_into_arrays(method):
    x0 = np.array([-1.2, 1.0])
    buffer = np.empty(2)

    def careless(x):
        value, buffer[:] = rosenbrock(x)  # the same array is returned every time
        x[:] = np.nan
        return value, buffer

    expected = [iterate.x for iterate in minimise(rosenbrock, x0, method=method)]
    found = []
    for iterate in minimise(careless, x0, method=method):
        found.append(iterate.x.copy())
        iterate.x[:] = iterate.gradient[:] = np.nan
    assert_array_equal(found, expected)
    assert_array_equal(x0, [-1.2, 1.0])


@BOTH
def test_lists_integers_and_one_element_arrays_are_understood(method):
    *_, last = minimise(lambda x: (np.array([x @ x]), list(2 * x)), [3, 4], method=method)
    assert_allclose(last.x, 0, atol=1e-5)
    assert isinstance(last.value, float)


# ---- leaving early, and errors on the way


@BOTH
def test_a_closed_generator_evaluates_no_more(method):
    f = Counted(rosenbrock)
    iterates = minimise(f, np.zeros(5), method=method)
    next(iterates), next(iterates)
    n_calls = len(f.points)
    iterates.close()
    assert len(f.points) == n_calls and next(iterates, None) is None


@BOTH
def test_the_same_start_gives_the_same_iterates(method):
    f, x0 = soft_convex(6, seed=1)
    first, second = (list(minimise(f, x0, method=method, tolerance=0)) for _ in range(2))
    assert_array_equal([iterate.x for iterate in first], [iterate.x for iterate in second])


@BOTH
def test_two_runs_side_by_side_do_not_disturb_each_other(method):
    alone = [iterate.x for iterate in minimise(rosenbrock, np.zeros(4), method=method, max_iter=10)]
    pairs = zip(
        minimise(rosenbrock, np.zeros(4), method=method, max_iter=10),
        minimise(rosenbrock, np.zeros(4), method=method, max_iter=10),
        strict=True,
    )
    for expected, (left, right) in zip(alone, pairs, strict=True):
        assert_array_equal(left.x, expected)
        assert_array_equal(right.x, expected)


@BOTH
@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt, StopIteration])
def test_an_exception_in_the_objective_reaches_the_caller_with_its_traceback(method, kind):
    calls = itertools.count()

    def gives_up(x):
        if next(calls) == 5:
            raise kind("here")
        return rosenbrock(x)

    # Python itself turns a StopIteration that escapes a generator into a RuntimeError
    with pytest.raises(RuntimeError if kind is StopIteration else kind) as caught:
        list(minimise(gives_up, np.zeros(5), method=method))
    cause = caught.value.__cause__ if kind is StopIteration else caught.value
    assert "gives_up" in [frame.name for frame in traceback.extract_tb(cause.__traceback__)]


# ---- values that are not finite


def walled(x):
    """-log x + x, which exists for x > 0 alone."""
    inside = np.all(x > 0)
    return (np.sum(x - np.log(x)), 1 - 1 / x) if inside else (np.nan, np.full_like(x, np.nan))


@pytest.mark.bad_input
@pytest.mark.parametrize("outside", [np.nan, np.inf, -np.inf, -100.0])  # the last tempts: its gradient is NaN
@pytest.mark.parametrize("method, start", [("scg", [8.0, 5.0]), ("l-bfgs", [0.01, 5.0])])  # an early trial leaves
def test_trials_that_are_not_finite_are_rejected(outside, method, start):
    f = Counted(lambda x: walled(x) if np.all(x > 0) else (outside, np.full_like(x, np.nan)))
    *_, last = minimise(f, np.array(start), method=method, tolerance=1e-8)
    assert any(np.any(point <= 0) for point in f.points)
    assert last.converged
    assert_allclose(last.x, 1.0, atol=1e-6)


@pytest.mark.bad_input
def test_scg_survives_a_curvature_probe_that_is_not_finite():
    calls = itertools.count(1)

    def f(x):
        value, gradient = rosenbrock(x)
        return value, gradient if next(calls) != 2 else np.full_like(x, np.inf)  # call 2 is the first probe

    *_, last = minimise(f, np.array([-1.2, 1.0]))
    assert last.converged
    assert_allclose(last.x, 1.0, atol=1e-4)


@pytest.mark.bad_input
@BOTH
@pytest.mark.parametrize("answer", [(np.nan, np.zeros(2)), (np.inf, np.zeros(2)), (0.0, [0.0, np.nan])])
def test_a_start_that_is_not_finite_is_an_error(method, answer):
    with pytest.raises(FloatingPointError, match=r"At evaluation 1 .*Start elsewhere"):
        next(minimise(lambda x: answer, np.zeros(2), method=method))


# ---- numbers that hold in any units


@quietly
@BOTH
@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-100, 1e-40, 1e-8, 1e8, 1e40, 1e100, 1e200, 1e290])
def test_functions_of_any_size_are_minimised_in_units_of_their_gradient(method, size):
    f, minimum = quadratic(4, 30.0, seed=0)

    def sized(x):
        value, gradient = f(x)
        return size * value, size * gradient

    iterates = list(minimise(sized, np.ones(4), method=method, tolerance=min(1e-7 * size, 1e100)))
    assert iterates[-1].stopped == ("gradient" if size < 1e110 else "stalled")  # no tolerance may be beyond 1e100
    assert_allclose(iterates[-1].x, minimum, atol=1e-6)
    for iterate in iterates:
        assert iterate.value == sized(iterate.x)[0]
        assert_array_equal(iterate.gradient, sized(iterate.x)[1])


@quietly
@BOTH
@pytest.mark.parametrize("size", [1e-100, 1e-60, 1e-20, 1e20, 1e60, 1e99])
@pytest.mark.parametrize("steepness", [1e-200, 1e-100, 1.0, 1e100, 1e200])
def test_variables_of_any_size_end_with_a_reason(method, size, steepness):
    def f(x):
        with np.errstate(over="ignore"):  # far from the minimum the function itself is no number
            u = x / size - 0.5
            return steepness * float(u @ u), 2.0 * steepness / size * u

    iterates = list(minimise(f, size * np.ones(3), method=method, max_iter=60, tolerance=0))
    assert iterates[-1].stopped in ("gradient", "stalled", "max_iter")
    assert np.all(np.diff([iterate.value for iterate in iterates]) <= 0)
    assert all(np.isfinite(iterate.x).all() for iterate in iterates)


@quietly
@BOTH
@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
def test_a_minimum_of_zero_is_approached_without_a_warning(method, scale):
    *_, last = minimise(lambda x: (scale * (x @ x), 2 * scale * x), np.array([3.0, 7.0]), method, 2000, tolerance=0)
    assert last.stopped in ("gradient", "stalled") and last.value <= 1e-30 * scale


@quietly
@BOTH
@pytest.mark.parametrize(
    "f",
    [
        lambda x: (-np.sum(x), -np.ones_like(x)),
        lambda x: (-float(np.sum(x**2)), -2 * x),
        lambda x: (-float(np.sum(np.exp(np.minimum(x, 600)))), -np.exp(np.minimum(x, 600))),
        lambda x: (-float(np.sum(x**3)), -3 * x**2),
    ],
    ids=["plane", "dome", "exponential", "cube"],
)
def test_a_function_without_a_minimum_ends_with_a_reason(method, f):
    iterates = list(minimise(f, np.ones(2), method=method, max_iter=300))
    assert iterates[-1].stopped in ("stalled", "max_iter")
    assert all(iterate.is_finite and np.isfinite(iterate.x).all() for iterate in iterates)


@BOTH
def test_a_trial_that_leaves_the_finite_numbers_is_a_step_too_long(method):
    def f(x):
        if np.any(x <= 0):
            raise NotFiniteError("no number here")
        return walled(x)

    *_, last = minimise(f, np.array([8.0, 0.02]), method=method, tolerance=1e-7)
    assert last.converged
    assert_allclose(last.x, 1.0, atol=1e-5)
    with pytest.raises(NotFiniteError, match="no number here"):
        next(minimise(f, np.array([-1.0]), method=method))


@BOTH
@pytest.mark.parametrize("call", range(1, 9))
@pytest.mark.parametrize(
    "answer", [(np.nan, np.zeros(2)), (1.0, [np.nan, 0]), (-np.inf, np.ones(2)), (0.0, [1e200, 0])]
)
def test_an_answer_that_is_not_finite_is_survived_at_every_call_but_the_first(method, call, answer):
    calls = itertools.count()

    def f(x):
        return answer if next(calls) == call else rosenbrock(x)

    *_, last = minimise(f, np.array([-1.2, 1.0]), method=method)
    assert last.converged
    assert_allclose(last.x, 1.0, atol=1e-3)


# ---- many small problems at once

TARGETS = np.random.default_rng(0).normal(size=(6, 2))


def bowls(X, rows):
    return 0.5 * np.sum((X - TARGETS[rows]) ** 2, axis=1), X - TARGETS[rows]


@quietly
@pytest.mark.parametrize("exponent", [-300, -200, -100, -40, 0, 40, 100, 200, 300])
def test_every_row_has_its_own_unit(exponent):
    size = 10.0 ** np.array([exponent, 0, -exponent, exponent, 0, -exponent])

    def sized(X, rows):
        value, gradient = bowls(X, rows)
        return size[rows] * value, size[rows, None] * gradient

    X, values = minimise_rows(sized, np.zeros((6, 2)), tolerance=0)
    assert_allclose(X, TARGETS, atol=1e-7)
    assert np.all(values <= 1e-13 * size)


@quietly
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["value", "gradient"])
def test_a_trial_of_a_row_that_is_not_finite_is_a_step_too_long(bad, where):
    def f(X, rows):
        value, gradient = bowls(X, rows)
        beyond = np.any(X > TARGETS[rows] + 1.0, axis=1)
        if where == "value":
            return np.where(beyond, bad, value), gradient
        return np.where(beyond, -1.0, value), np.where(beyond[:, None], bad, gradient)

    assert_allclose(minimise_rows(f, TARGETS + [-8.0, 0.5])[0], TARGETS, atol=1e-7)


@quietly
def test_the_rows_belong_to_the_caller_and_the_arrays_of_the_objective_to_it():
    value, gradient, X0 = np.zeros(6), np.zeros((6, 2)), np.ones((6, 2))

    def reused(X, rows):
        v, g = value[: len(rows)], gradient[: len(rows)]
        v[:], g[:] = bowls(X, rows)
        X[:] = np.nan
        return v, g

    assert_allclose(minimise_rows(reused, X0)[0], TARGETS, atol=1e-7)
    assert_array_equal(X0, 1.0)
    assert_array_equal(minimise_rows(bowls, X0, max_iter=0)[0], X0)


@quietly
@pytest.mark.bad_input
@pytest.mark.parametrize(
    "change, message",
    [
        ({"X0": np.zeros(6)}, r"X0 must be an array of shape.*got shape \(6,\)"),
        ({"X0": np.zeros((6, 2)) + 1j}, "X0 is complex"),
        ({"X0": [["a", "b"]]}, "X0 must be an array of numbers"),
        ({"X0": np.full((6, 2), np.nan)}, "X0 contains NaN.*Start the row elsewhere"),
        ({"X0": np.full((6, 2), 1e60)}, "X0 has the entry 1e"),
        ({"max_iter": -1}, "max_iter must be a whole number"),
        ({"max_iter": 0.5}, "max_iter must be a whole number"),
        ({"max_iter": None}, "max_iter must be a whole number"),
        ({"tolerance": np.nan}, "tolerance must be"),
        ({"tolerance": "small"}, "tolerance must be"),
        ({"value_and_gradient": "bowls"}, "value_and_gradient must be a function"),
        ({"value_and_gradient": lambda X, rows: X}, "must return"),
        ({"value_and_gradient": lambda X, rows: (np.zeros(5), X)}, r"shapes \(5,\) and \(6, 2\) for 6 rows"),
        ({"value_and_gradient": lambda X, rows: (np.zeros(6), X[:, 0])}, r"shapes \(6,\) and \(6,\)"),
        ({"value_and_gradient": lambda X, rows: (np.zeros(6), X + 0j)}, "is complex"),
        ({"value_and_gradient": lambda X, rows: (np.full(6, np.nan), X)}, "At the start of row 0 the value is nan"),
        ({"value_and_gradient": lambda X, rows: (np.zeros(6), X + np.inf)}, "of row 0 .*gradient inf"),
    ],
)
def test_rows_that_can_not_be_minimised_are_refused(change, message):
    arguments = {"value_and_gradient": bowls, "X0": np.zeros((6, 2)), **change}
    with pytest.raises(ValueError, match=message):
        minimise_rows(**arguments)


# ---- a reader who loses patience


@BOTH
@pytest.mark.parametrize("call", range(1, 12))
def test_an_interrupt_at_any_evaluation_leaves_nothing_running_and_nothing_shared(method, call):
    calls, before = itertools.count(1), (threading.active_count(), np.geterr())

    def f(x):
        if next(calls) == call:
            raise KeyboardInterrupt
        return rosenbrock(x)

    run = minimise(f, np.array([-1.2, 1.0]), method=method)
    with pytest.raises(KeyboardInterrupt):
        list(run)
    assert next(run, "over") == "over"
    assert (threading.active_count(), np.geterr()) == before
    again, fresh = (list(minimise(rosenbrock, np.array([-1.2, 1.0]), method=method)) for _ in range(2))
    assert [i.value for i in again] == [i.value for i in fresh] and fresh[-1].converged


@BOTH
def test_an_interrupt_between_two_iterates_ends_the_run(method):
    run = minimise(rosenbrock, np.array([-1.2, 1.0]), method=method)
    next(run), next(run)
    with pytest.raises(KeyboardInterrupt):
        run.throw(KeyboardInterrupt())
    assert next(run, "over") == "over"


# ---- points at which a matrix can't be factorised


def beyond_a_wall(wall=0.0, offset=0.0):
    """sum(x - ln(x - wall)), smallest at wall + 1; beyond the wall the matrix diag(x - wall) can't be factorised."""

    def f(x):
        L = np.linalg.cholesky(np.diag(x - wall))
        return np.sum(x) - 2 * np.sum(np.log(np.diag(L))) + offset, 1 - 1 / (x - wall)

    return Counted(f)


@BOTH
@given(
    seed=st.integers(0, 10_000), n=st.integers(1, 5), wall=st.floats(-5, 5), offset=st.sampled_from([-1e4, 0.0, 100.0])
)
def test_a_trial_beyond_the_wall_is_a_step_too_long_for_both_methods(method, seed, n, wall, offset):
    f = beyond_a_wall(wall, offset)
    x0 = wall + np.random.default_rng(seed).uniform(3.0, 60.0, n)  # nearly straight: first trials go too far
    iterates = list(minimise(f, x0, method=method, tolerance=1e-6))
    assert all(np.all(iterate.x > wall) for iterate in iterates)  # never beyond
    assert np.all(np.diff([iterate.value for iterate in iterates]) <= 0)
    assert iterates[-1].stopped in ("gradient", "stalled")
    assert_allclose(iterates[-1].x, wall + 1, atol=1e-4)


@BOTH
def test_the_wall_was_met_on_the_way_and_every_call_is_counted(method):
    f = beyond_a_wall()
    *_, last = minimise(f, np.array([50.0, 0.02]), method=method, tolerance=1e-6)
    assert any(np.any(point <= 0) for point in f.points)
    assert last.converged and last.n_evaluations == len(f.points)


@pytest.mark.bad_input
@BOTH
def test_at_the_start_there_is_nothing_to_step_back_to(method):
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        next(minimise(beyond_a_wall(), np.array([-1.0, 2.0]), method=method))


@BOTH
def test_a_wall_on_all_sides_stalls_the_run_at_the_start(method):
    def f(x):
        if np.any(x != 2.0):
            raise np.linalg.LinAlgError("no matrix here")
        return 3.0, np.ones_like(x)

    iterates = list(minimise(f, np.full(2, 2.0), method=method))
    assert iterates[-1].stopped == "stalled" and np.all(iterates[-1].x == 2.0) and iterates[-1].value == 3.0


@BOTH
def test_other_errors_are_not_taken_for_a_wall(method):
    calls = itertools.count()

    def f(x):
        if next(calls) == 3:
            raise ZeroDivisionError("a bug")
        return rosenbrock(x)

    with pytest.raises(ZeroDivisionError, match="a bug"):
        list(minimise(f, np.array([-1.2, 1.0]), method=method))


@pytest.mark.gradient
def test_the_gradient_checker_is_not_guarded():
    assert check_gradient(beyond_a_wall(), np.array([2.0, 0.5])) < 1e-7
    with pytest.raises(np.linalg.LinAlgError):
        check_gradient(beyond_a_wall(), np.array([2.0, 1e-9]))  # a difference reaches beyond


# ---- wrong calls


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"method": "newton"}, r"no method 'newton': choose one of 'scg', 'l-bfgs'"),
        ({"max_iter": -1}, "max_iter must be a whole number of at least 0, got -1"),
        ({"max_iter": 2.5}, "max_iter must be a whole number.*got 2.5"),
        ({"tolerance": -1e-3}, "tolerance must be a finite number of at least 0, got -0.001"),
        ({"tolerance": np.nan}, "tolerance must be a finite number.*got nan"),
        ({"tolerance": "small"}, "tolerance must be.*got 'small'"),
        ({"x0": np.zeros((3, 2))}, r"x0 must be a flat vector.*\(3, 2\).*x0.ravel\(\)"),
        ({"x0": 1.0}, r"x0 must be a flat vector.*shape \(\)"),
        ({"x0": []}, r"x0 must be a flat vector, not empty.*\(0,\)"),
        ({"x0": [0.0, np.nan]}, r"x0 must be finite, but x0\[1\] is nan"),
        ({"x0": np.zeros(2) + 1j}, "x0 is complex"),
        ({"x0": ["a", "b"]}, "x0 must be an array of numbers"),
        ({"x0": [0.0, [1.0, 2.0]]}, "x0 must be an array of numbers"),
        ({"x0": [0.0, -1e121]}, r"x0\[1\] is -1e\+121: beyond 1e\+120"),
        ({"x0": None}, r"x0 must be a flat vector.*shape \(\)"),
        ({"method": None}, "no method None"),
        ({"method": ["scg"]}, r"no method \['scg'\]"),
        ({"max_iter": np.nan}, "max_iter must be a whole number.*got nan"),
        ({"max_iter": "ten"}, "max_iter must be a whole number.*got 'ten'"),
        ({"max_iter": None}, "max_iter must be a whole number.*got None"),
        ({"tolerance": None}, "tolerance must be.*got None"),
        ({"tolerance": np.inf}, "tolerance must be.*got inf"),
        ({"value_and_gradient": "rosenbrock"}, "value_and_gradient must be a function, got 'rosenbrock'"),
    ],
)
@quietly
def test_wrong_arguments_are_refused_at_the_call(wrong, message):
    with pytest.raises(ValueError, match=message):
        minimise(**{"value_and_gradient": rosenbrock, "x0": np.zeros(2), **wrong})


@BOTH
def test_a_thousand_million_steps_may_be_allowed(method):
    *_, last = minimise(rosenbrock, np.array([-1.2, 1.0]), method=method, max_iter=10**9)
    assert last.converged


@pytest.mark.bad_input
@BOTH
@pytest.mark.parametrize(
    "answer, message",
    [
        (1.0, r"must return \(number, gradient\) and returned 1.0"),
        ((1.0, np.zeros(3)), r"gradient has shape \(3,\), but x has \(2,\)"),
        ((1.0, np.zeros((2, 1))), r"gradient has shape \(2, 1\).*ravel"),
        ((np.zeros(2), np.zeros(2)), "must return"),
        (("1", np.zeros(2)), "must return"),
        ((1j, np.zeros(2)), "value that value_and_gradient returns is complex"),
        ((np.array(1j), np.zeros(2)), "is complex"),
        ((None, np.zeros(2)), "must be an array of numbers|At evaluation 1 the value is nan"),
        ((1.0, np.zeros(2) + 1j), "gradient that value_and_gradient returns is complex"),
        ((1.0, None), "gradient has shape|must be an array of numbers"),
        ((1.0, ["a", "b"]), "must be an array of numbers"),
    ],
)
@quietly
def test_an_objective_that_returns_something_else_is_refused(method, answer, message):
    with pytest.raises(ValueError, match=message):
        next(minimise(lambda x: answer, np.zeros(2), method=method))


# ---- the gradient checker


@pytest.mark.gradient
@given(n=st.integers(1, 8), seed=st.integers(0, 10_000))
def test_a_right_gradient_passes_and_a_perturbed_one_does_not(n, seed):
    f, x = soft_convex(n, seed)
    assert check_gradient(f, x) < 1e-7
    wrong = np.random.default_rng(seed).integers(n)

    def slightly_wrong(x):
        value, gradient = f(x)
        gradient[wrong] += 1e-4 * np.max(np.abs(gradient))
        return value, gradient

    assert 0.9e-4 < check_gradient(slightly_wrong, x) < 1.1e-4


@pytest.mark.gradient
@pytest.mark.parametrize("factor, error", [(2.0, 0.5), (0.5, 0.5), (-1.0, 2.0), (0.0, 1.0)])
def test_a_wrong_factor_shows_as_its_distance_from_one(factor, error):
    x = np.array([1.0, -2.0, 0.5])
    assert_allclose(check_gradient(lambda x: (np.sum(x**3), factor * 3 * x**2), x), error, atol=1e-8)


@pytest.mark.gradient
def test_the_step_follows_the_size_of_each_variable():
    for size in (1e-8, 1.0, 1e8):
        x = size * np.array([1.0, -2.0])
        assert check_gradient(lambda x: (np.sum(x + x**2), 1 + 2 * x), x) < 1e-8


@pytest.mark.gradient
def test_the_checker_costs_two_evaluations_a_variable_and_one():
    f = Counted(rosenbrock)
    check_gradient(f, np.zeros(7))
    assert len(f.points) == 15


@pytest.mark.gradient
def test_the_checker_is_not_fooled_by_an_array_that_is_used_again():
    buffer = np.empty(2)

    def f(x):
        buffer[:] = 2 * x
        return x @ x, buffer

    assert check_gradient(f, np.array([1.0, 2.0])) < 1e-9


@pytest.mark.gradient
def test_a_constant_has_no_error():
    assert check_gradient(lambda x: (3.0, np.zeros_like(x)), np.ones(2)) == 0.0


@pytest.mark.bad_input
def test_the_checker_refuses_what_is_not_finite_or_not_flat():
    with pytest.raises(FloatingPointError, match="move x into the domain"):
        check_gradient(walled, np.array([1e-9]))
    with pytest.raises(ValueError, match="x must be a flat vector"):
        check_gradient(rosenbrock, np.zeros((2, 2)))
    for step in (0.0, -1.0, 1e-17, np.nan, "small", None, 2.0):
        with pytest.raises(ValueError, match="step must be"):
            check_gradient(rosenbrock, np.zeros(2), step)
    with pytest.raises(ValueError, match="x is complex"):
        check_gradient(rosenbrock, np.zeros(2) + 1j)


@quietly
@pytest.mark.parametrize("size", [1e-200, 1e-100, 1e100, 1e200])
def test_the_checker_knows_no_unit_of_the_function(size):
    f, _ = quadratic(3, 5.0, seed=1)
    assert check_gradient(lambda x: tuple(size * part for part in f(x)), np.ones(3)) < 1e-8


def test_an_iterate_reads_as_x_value_and_evaluations():
    assert Iterate._fields[:3] == ("x", "value", "n_evaluations")
