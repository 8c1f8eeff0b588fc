"""One table for the exercises of chapter 8, as `test_checkers` has it for chapters 1 to 4."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import erfcx, log_ndtr, logit, ndtr, ndtri
from scipy.stats import multivariate_normal, norm
from test_checkers import Row, nonsense, of
from test_hostile_answers import VALUES, calls_of, right

from gplvm_edu import noise
from gplvm_edu.exercises import check, exercise_names
from gplvm_edu.kernels import RBF
from gplvm_edu.noise import Poisson, Probit, adf_posterior

EXERCISES = exercise_names("noise")
TABLE: dict[str, Row] = {}


def slopes(y, mean, variance, blur=1.0, sign=None, nu=lambda rho, u: rho * (u + rho)):
    v = blur + variance
    u = y * mean / np.sqrt(v)
    rho = np.sqrt(2 / np.pi) / erfcx(-u / np.sqrt(2))
    return (y if sign is None else sign) * rho / np.sqrt(v), nu(rho, u) / v


def slopes_by_dividing(y, mean, variance):
    root = np.sqrt(1 + variance)
    u = y * mean / root
    with np.errstate(all="ignore"):
        rho = norm.pdf(u) / norm.cdf(u)
    return y * rho / root, rho * (u + rho) / root**2


def site_by_matching(g, nu, mean, variance):
    new_mean, new_variance = mean + variance * g, variance - nu * variance**2
    beta = 1 / new_variance - 1 / variance
    return np.float64((new_mean / new_variance - mean / variance) / beta), np.float64(beta)


def filtered(K, y, model, order=None, cavity=True, old_nu=False):
    f, Sigma = np.zeros(len(K)), np.array(K)
    for n in range(len(K)) if order is None else order:
        s = Sigma[:, n].copy()
        g, nu = model.derivatives(y[n], f[n], s[n])
        if old_nu:
            nu = model.derivatives(y[n], 0.0, s[n])[1]
        Sigma -= nu * np.outer(s, s)
        if not cavity:
            g = model.derivatives(y[n], f[n], Sigma[n, n])[0]
        f += g * s
    return f, Sigma


def filtered_with_sites(K, y, model):
    """The posterior of all sites so far, from the start each time."""
    m, beta = np.zeros(len(K)), np.zeros(len(K))
    f, Sigma = np.zeros(len(K)), K
    for n in range(len(K)):
        g, nu = model.derivatives(y[n], f[n], Sigma[n, n])
        m[n], beta[n] = g / nu + f[n], nu / (1 - nu * Sigma[n, n])
        Sigma = K - K @ np.linalg.solve(np.eye(len(K)) + beta[:, None] * K, beta[:, None] * K)
        f = Sigma @ (beta * m)
    return [f.tolist(), Sigma.tolist()]


def log_Z_by_quadrature_in_the_tail(lower, upper, mean, variance):
    h, low = (np.array([upper, lower]) - mean) / np.sqrt(1 + variance)
    h, low = (-low, -h) if h + low > 0 else (h, low)
    area = quad(lambda t: np.exp(-0.5 * t**2 + h * t), 0.0, h - low)[0]  # phi(h - t) / phi(h)
    return norm.logpdf(h) + np.log(area)


def log_Z(lower, upper, mean, variance, blur=1.0):
    h, low = (np.array([upper, lower]) - mean) / np.sqrt(blur + variance)
    with np.errstate(divide="ignore"):
        return np.log(ndtr(h) - ndtr(low))


def log_Z_in_one_tail(lower, upper, mean, variance):
    h, low = (np.array([upper, lower]) - mean) / np.sqrt(1 + variance)
    with np.errstate(divide="ignore"):
        return log_ndtr(h) + np.log(-np.expm1(log_ndtr(low) - log_ndtr(h)))


def count(mean, variance, bias, half=0.5, own=1.0, shared=1.0):
    expected = np.exp(mean + bias + half * variance)
    return expected, own * expected + shared * expected**2 * np.expm1(variance)


def count_from_the_package(mean, variance, bias):
    model = Poisson(bias)
    return [model.predict(mean, variance), np.array([model.deviation(mean, variance) ** 2])]


def frozen(K, m, beta, half=0.5, determinant=1.0, noisy=1.0):
    root = np.sqrt(beta)
    A = np.eye(len(K)) + root[:, None] * K * root
    P = root[:, None] * np.linalg.inv(A) * root if noisy else np.linalg.inv(K)
    return half * (np.outer(P @ m, P @ m) - determinant * P)


def frozen_by_infinite_variance(K, m, beta):
    """1 / 0 is infinite, and 1 / infinite is 0: LAPACK's elimination takes the very limit that is wanted."""
    with np.errstate(divide="ignore"):
        P = np.linalg.inv(K + np.diag(1 / beta))
    return 0.5 * (np.outer(P @ m, P @ m) - P)


def frozen_by_division_unseen(K, m, beta):
    """The same number by the same limit, but with numpy's warning."""
    P = np.linalg.inv(K + np.diag(1 / beta))
    return 0.5 * (np.outer(P @ m, P @ m) - P)


def frozen_by_division(K, m, beta):
    with np.errstate(divide="ignore"):
        C = K + np.diag(1 / beta)
    if not np.isfinite(C).all():
        return np.full(K.shape, np.inf)
    P = np.linalg.inv(C)
    return 0.5 * (np.outer(P @ m, P @ m) - P)


TABLE["noise.1"] = Row(
    right=[slopes, lambda *a: list(Probit(0.0).derivatives(*a)), lambda *a: np.array(slopes(*a))],
    wrong=[
        (lambda *a: slopes(*a, sign=1.0), "sign of the label"),
        (lambda *a: slopes(*a, nu=lambda rho, u: rho**2), "g is right"),
        (lambda *a: slopes(*a, blur=0.5), "adding up the tilted density"),
        (slopes_by_dividing, "sixty deviations out"),
        (lambda *a: slopes(*a)[::-1], "in the other order"),
    ],
)
TABLE["noise.2"] = Row(
    right=[site_by_matching, noise.sites],
    wrong=[
        (lambda *a: site_by_matching(*a)[::-1], "in the other order"),
        (lambda g, nu, mean, variance: (g / nu + mean, nu), "that the observation adds"),
        (lambda g, nu, mean, variance: (mean - g / nu, nu / (1 - nu * variance)), "The precision is right"),
        (lambda g, nu, mean, variance: (mean + variance * g, nu / (1 - nu * variance)), "Precision times mean"),
        (lambda g, nu, mean, variance: (g / nu + mean, nu / (1 + nu * variance)), "must add up to"),
    ],
)
TABLE["noise.3"] = Row(
    right=[filtered, filtered_with_sites],
    wrong=[
        (lambda *a: filtered(*a, cavity=False), "in which order"),
        (lambda *a: filtered(*a, old_nu=True), "comes out exactly"),
        (lambda *a: filtered(*a, order=range(5, -1, -1)), "included first"),
        (lambda *a: filtered(*a)[::-1], ""),
    ],
)
TABLE["noise.4"] = Row(
    right=[1, [1.0], np.float64(1.0), (1,)],
    wrong=[(np.inf, "However great"), (2 / np.pi, "the other one"), (0.5, "the sum itself"), (np.nan, "")],
)
TABLE["noise.5"] = Row(
    right=[lambda share, variance: [norm.isf(1 - share, scale=np.sqrt(1 + variance))]],
    wrong=[
        (lambda share, variance: ndtri(share), "right for f = 0"),
        (lambda share, variance: -np.sqrt(1 + variance) * ndtri(share), "share of zeros"),
        (lambda share, variance: np.sqrt(1 + variance) * logit(share), "the share of ones is"),
        (lambda share, variance: (1 + variance) * ndtri(share), "the share of ones is"),
    ],
)
TABLE["noise.6"] = Row(
    right=[log_Z_by_quadrature_in_the_tail],
    wrong=[
        (lambda *a: log_Z(*a, blur=0.0) if a[-1] else -800.0, "blurred by noise"),
        (lambda *a: np.exp(log_Z(*a)), "Z itself"),
        (log_Z, "one of the tails cancels"),
        (log_Z_in_one_tail, "one of the tails cancels"),
        (lambda *a: log_Z(*a, blur=0.5), "is right, yours"),
    ],
)
TABLE["noise.7"] = Row(
    right=[[[5, 6, 2, 3, 9, 7, 8, 1, 4, 11, 10, 0], np.array([8, 11, 4, 7, 5, 0, 1, 9, 2, 10, 6, 3])]],
    wrong=[
        ((range(12), [9, 2, 7, 4, 5, 11, 0, 3, 6, 10, 8, 1]), "few dozen"),
        ((range(12), range(12)), "They give"),
        ((range(1, 13), range(1, 13)), "counts from 0"),
        (([0] * 12, range(12)), "once"),
    ],
)
TABLE["noise.8"] = Row(
    right=[count, count_from_the_package],
    wrong=[
        (lambda *a: count(*a, half=0.0), "at the mean of f"),
        (lambda *a: count(*a, shared=0.0), "it varies too"),
        (lambda *a: count(*a, own=0.0), "that of the rate"),
        (lambda *a: count(*a)[::-1], "in the other order"),
        (lambda *a: count(*a, half=1.0), "adding up over f"),
    ],
)
TABLE["noise.9"] = Row(
    right=[
        frozen,
        noise.frozen_site_gradient,
        lambda *a: frozen(*a).tolist(),
        frozen_by_infinite_variance,
        frozen_by_division_unseen,
    ],
    wrong=[
        (lambda *a: frozen(*a, half=1.0), "Twice too large"),
        (lambda *a: frozen(*a, half=-0.5), "The sign"),
        (lambda *a: frozen(*a, determinant=0.0), "determinant"),
        (lambda *a: frozen(*a, noisy=0.0), "without noise"),
        (frozen_by_division, "until a value is missing"),
        (lambda *a: 2 * frozen(*a) - np.diag(np.diag(frozen(*a))), "counts by itself"),
        (
            lambda *a: frozen(*a) + np.triu(np.ones((len(a[0]),) * 2), 1) - np.tril(np.ones((len(a[0]),) * 2), -1),
            "symm",
        ),
        (lambda *a: frozen(*a) + 0.1 * np.eye(len(a[0]))[::-1], "some change of all entries"),
        (lambda *a: np.diag(frozen(*a)), "the shape of K"),
        (lambda K, m, beta: frozen(K, 2 * m, beta), "Along diagonal entry"),
    ],
)


# ---------------------------------------------------------------------- the tests
def cases(kind):
    return [(name, k) for name in EXERCISES for k in range(len(getattr(TABLE[name], kind)))]


def test_the_table_has_every_exercise_with_enough_of_each_kind():
    assert sorted(TABLE) == sorted(EXERCISES) and len(EXERCISES) == 9
    for name, row in TABLE.items():
        assert len(row.right) >= 1 and len({word for _, word in row.wrong if word}) >= 3, name


@pytest.mark.parametrize("name", EXERCISES)
def test_the_solution_in_the_chapter_passes(name):
    assert check(name, right(name)).passed is True


@pytest.mark.parametrize("name", [name for name in EXERCISES if name not in VALUES])
def test_a_function_is_tried_on_two_problems_at_least(name):
    assert len(calls_of(name)) >= 2


@pytest.mark.oracle
@pytest.mark.parametrize("name, k", cases("right"))
def test_another_route_and_another_form_pass(name, k):
    verdict = check(name, TABLE[name].right[k])
    assert verdict.passed is True, verdict


@pytest.mark.bad_input
@pytest.mark.parametrize("name, k", cases("wrong"))
def test_a_mistake_is_told_by_its_own_hint(name, k):
    answer, word = TABLE[name].wrong[k]
    verdict = check(name, answer)
    assert verdict.passed is False and word in verdict.message, verdict
    assert "Error" not in verdict.message, verdict


def is_one(answer):
    """The number that exercise 4 asks for is 1: what is nonsense elsewhere may be right there."""
    return isinstance(answer, np.ndarray) and answer.size == 1 and float(answer.ravel()[0]) == 1.0


@pytest.mark.bad_input
@pytest.mark.parametrize("name", EXERCISES)
def test_nonsense_does_not_pass(name):
    for answer in nonsense(name):
        if name == "noise.4" and is_one(answer):
            continue
        verdict = check(name, answer)
        assert verdict.passed is False and verdict.message, (answer, verdict)


# ---------------------------------------------------------------------- the answers, a second way
@pytest.mark.oracle
def test_no_label_is_worth_more_than_the_noisy_value_whose_sign_it_is():
    """Law of total variance: var(f | y) is at least the mean of var(f | f + noise), so beta is below 1."""
    mean, variance = np.meshgrid(np.linspace(-30, 30, 121), [0.01, 1.0, 100.0])
    g, nu = Probit(0.0).derivatives(1.0, mean, variance)
    beta = noise.sites(g, nu, mean, variance)[1]
    assert np.all(variance - nu * variance**2 > variance / (1 + variance) * (1 - 1e-12)) and 0.99 < beta.max() < 1.0


@pytest.mark.oracle
def test_frozen_sites_give_the_gradient_of_the_evidence_of_what_is_pretended():
    rng = np.random.default_rng(5)
    A = rng.standard_normal((4, 4))
    K, m, beta = A @ A.T + np.eye(4), rng.standard_normal(4), np.array([0.4, 1.2, 0.0, 2.0])
    seen, h = [0, 1, 3], 1e-6

    def value(K):
        return multivariate_normal(cov=K[np.ix_(seen, seen)] + np.diag(1 / beta[seen])).logpdf(m[seen])

    for D in (np.eye(4), np.ones((4, 4)), K):
        assert np.isclose(np.sum(frozen(K, m, beta) * D), (value(K + h * D) - value(K - h * D)) / (2 * h), rtol=1e-6)


def test_the_filter_of_exercise_3_is_that_of_the_package():
    K, y = np.array([[1.0, 0.5], [0.5, 2.0]]), np.array([1.0, -1.0])
    assert np.allclose(filtered(K, y, Probit(0.0))[0], adf_posterior(K, y, Probit(0.0)).mean)


def test_a_change_of_the_solution_is_seen():
    assert check("noise.8", of("noise.8", lambda parts: (parts[0], 1.001 * parts[1]))).passed is False


@pytest.mark.oracle
def test_two_random_orders_seldom_pass_and_the_extremes_of_two_dozen_nearly_always():
    rng, K = np.random.default_rng(0), RBF(9.0, 2.0)(np.linspace(-2, 2, 12)[:, None]) + 1e-8 * np.eye(12)
    y = np.where(np.sin(2.2 * np.linspace(-2, 2, 12)) > 0, 1.0, -1.0)
    found = [adf_posterior(K, y, Probit(0.0), rng.permutation(12)).log_evidence for _ in range(24 * 20)]
    pairs = np.abs(np.diff(np.reshape(found, (-1, 2)), axis=1))
    assert np.mean(pairs > 0.25) < 0.12 and np.mean(np.ptp(np.reshape(found, (20, 24)), axis=1) > 0.25) > 0.8
