"""Chapter 5: a Gaussian process over time as the prior of the positions."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from gplvm_edu import GPLVM
from gplvm_edu.base import expected_failed_checks
from gplvm_edu.gplvm import DynamicPrior, RBFMap, dynamic_log_prior
from gplvm_edu.gplvm.iterates import with_prior
from gplvm_edu.kernels import RBF, Bias, Matern32, White, gp_posterior
from gplvm_edu.linalg import centre, unit_gaussian_log_density
from gplvm_edu.optimise import check_gradient

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
OVER_TIME = RBF(1.0, 0.5) + White(0.05)
TIMES = {
    "equal steps": np.arange(9.0),
    "unequal": np.array([0.0, 0.1, 0.5, 2.0, 2.2, 5.0, 9.0, 9.5, 20.0]),
    "repeated": np.array([0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 4.0]),
    "unsorted": np.array([4.0, 0.0, 7.5, 1.0, 3.0, 2.0, 8.0, 6.0, 5.0]),
    "of two kinds": np.random.default_rng(0).standard_normal((9, 2)),
}


def positions(N=9, q=2, seed=0):
    return np.random.default_rng(seed).standard_normal((N, q))


def motion(N=60, seed=0, noise=0.05):
    """A point that runs along a figure of eight, seen in six noisy columns; (Y, times, place)."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 2 * np.pi, N)
    place = np.column_stack([np.sin(t), np.sin(2 * t)])
    W = rng.standard_normal((2, 6))
    return place @ W + 0.3 * (place**2) @ rng.standard_normal((2, 6)) + noise * rng.standard_normal((N, 6)), t, place


# ---------------------------------------------------------------------- the prior
@pytest.mark.oracle
@pytest.mark.parametrize("times", TIMES.values(), ids=list(TIMES))
def test_every_column_is_a_draw_from_the_process(times):
    X, prior = positions(), DynamicPrior.over(times, OVER_TIME)
    K = OVER_TIME(times if times.ndim == 2 else times[:, None])
    expected = sum(multivariate_normal(cov=K).logpdf(x) for x in X.T)
    assert_allclose([prior(X)[0], dynamic_log_prior(X, K)[0]], expected, rtol=1e-10)
    assert_allclose(prior(X)[1], -np.linalg.solve(K, X), rtol=1e-8)
    assert_allclose(prior(X)[1], dynamic_log_prior(X, K)[1], rtol=1e-8)
    assert prior.jitter == 0.0


@pytest.mark.gradient
@pytest.mark.parametrize("times", TIMES.values(), ids=list(TIMES))
def test_the_gradient_of_the_prior_and_of_the_whole_objective(times):
    X, prior = positions(), DynamicPrior.over(times, OVER_TIME)

    def alone(x):
        value, gradient = prior(x.reshape(9, 2))
        return value, gradient.ravel()

    assert check_gradient(alone, X.ravel()) < 1e-6
    Y, kernel = centre(np.random.default_rng(1).standard_normal((9, 4)))[0], RBF(1.0, 0.7) + Bias(0.1) + White(0.2)

    def objective(x):
        moved = kernel.copy()
        moved.theta = x[18:]
        value, dX, dtheta = with_prior(Y, x[:18].reshape(9, 2), moved, prior)
        return value, np.concatenate([dX.ravel(), dtheta])

    assert check_gradient(objective, np.concatenate([X.ravel(), kernel.theta])) < 1e-6


@pytest.mark.identity
def test_times_far_apart_are_the_unit_gaussian_prior():
    X, prior = positions(), DynamicPrior.over(1e4 * np.arange(9), RBF())
    value, gradient = prior(X)
    assert_allclose(value, unit_gaussian_log_density(X))
    assert_allclose(gradient, -X)


@pytest.mark.identity
def test_the_order_of_the_rows_decides_nothing():
    X, order = positions(), np.random.default_rng(3).permutation(9)
    value, gradient = DynamicPrior.over(TIMES["unequal"], OVER_TIME)(X)
    moved = DynamicPrior.over(TIMES["unequal"][order], OVER_TIME)(X[order])
    assert_allclose(moved[0], value)
    assert_allclose(moved[1], gradient[order])


@pytest.mark.identity
def test_positions_at_other_times_are_the_posterior_mean_of_the_process():
    X, prior = positions(), DynamicPrior.over(TIMES["unequal"], OVER_TIME)
    new = np.array([0.3, 4.0, 30.0])
    mean = gp_posterior(RBF(1.0, 0.5), TIMES["unequal"][:, None], X, new[:, None], 0.05)[0]
    assert_allclose(prior.at(X).positions_at(new), mean, atol=1e-10)
    with pytest.raises(ValueError, match="holds no positions"):
        prior.positions_at(new)
    with pytest.raises(ValueError, match="2 columns"):
        prior.at(X).positions_at(np.zeros((3, 2)))


# ---------------------------------------------------------------------- the estimator
@pytest.mark.long
@pytest.mark.contract
@quiet
def test_scikit_learns_checks():
    model = GPLVM(max_iter=10, latent_prior=RBF(1.0, 0.1) + White(0.1))
    check_estimator(model, expected_failed_checks=expected_failed_checks(model))


def roughness(X):
    """Mean squared step between neighbours in time, in units of the spread."""
    return np.mean(np.sum(np.diff(X, axis=0) ** 2, axis=1)) / np.sum(X.var(axis=0))


@pytest.mark.identity
@quiet
def test_a_motion_is_followed_without_jumps():
    """Noisy motions, seeds 0-9: the path is 5.7 to 14.6 times as smooth as that under the unit prior."""
    factors = []
    for seed in range(10):
        Y, t, _ = motion(seed=seed, noise=0.3)
        still = GPLVM(max_iter=60).fit(Y)
        moving = GPLVM(max_iter=60, latent_prior=RBF(1.0, 1.0) + White(1e-3), times=t).fit(Y)
        factors.append(roughness(still.embedding_) / roughness(moving.embedding_))
    assert min(factors) > 4


@quiet
def test_a_fitted_model_holds_its_dynamics():
    Y, t, _ = motion()
    kernel = RBF(1.0, 1.0) + White(1e-3)
    model = GPLVM(max_iter=40, latent_prior=kernel, times=t).fit(Y)
    value, _ = model.dynamics_(model.embedding_)
    assert_allclose(model.log_likelihood_ + value, model.history_[-1], rtol=1e-9)
    assert model.kernel_["rbf"].fixed == ("inverse_width",) or "inverse_width" in model.kernel_["rbf"].fixed
    between = model.dynamics_.positions_at(0.5 * (t[:-1] + t[1:]))
    shown = model.inverse_transform(between)
    middle = 0.5 * (Y[:-1] + Y[1:])
    assert np.sqrt(np.mean((shown - middle) ** 2)) < 0.1 < Y.std()
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.dynamics_.positions_at(t[:3]), model.dynamics_.positions_at(t[:3]))
    assert_array_equal(clone(model).fit(Y).embedding_, model.embedding_)
    assert model.map_.latent_prior is None and model.transform(Y[:2]).shape == (2, 2)
    assert GPLVM(max_iter=2).fit(Y).dynamics_ is None


@quiet
def test_rows_without_times_are_equally_spaced_and_permuted_rows_keep_their_times():
    Y, _, _ = motion(N=30)
    kernel = RBF(1.0, 0.05) + White(1e-2)
    plain = GPLVM(max_iter=5, latent_prior=kernel).fit(Y)
    told = GPLVM(max_iter=5, latent_prior=kernel, times=np.arange(30)).fit(Y)
    assert_array_equal(plain.embedding_, told.embedding_)
    order = np.random.default_rng(0).permutation(30)
    mixed = GPLVM(max_iter=5, latent_prior=kernel, times=order).fit(Y[order])
    assert_allclose(mixed.history_, plain.history_, rtol=1e-6)


@quiet
def test_dynamics_and_a_back_constraint_together():
    Y, t, _ = motion()
    model = GPLVM(
        max_iter=20, latent_prior=Matern32(1.0, 0.5) + White(1e-2), times=t, back_constraint=RBFMap(width=1.0)
    ).fit(Y)
    assert model.history_[-1] > model.history_[0]
    assert_allclose(model.transform(Y), model.embedding_, atol=1e-8)


@pytest.mark.long
@quiet
def test_gaps_are_filled_and_their_deviations_measured_by_a_second_fit_with_its_own_times():
    Y, t, _ = motion()
    model = GPLVM(max_iter=15, latent_prior=RBF(1.0, 1.0) + White(1e-2), times=t).fit(Y)
    holes = Y[:3].copy()
    holes[:, 1] = np.nan
    filled, std = model.impute(holes, return_std=True)
    assert np.isfinite(filled).all() and (std[:, 1] > 0).all()


# ---------------------------------------------------------------------- bad input
@pytest.mark.bad_input
@pytest.mark.parametrize(
    "named, said",
    [
        (dict(latent_prior=OVER_TIME, times=np.arange(5)), "times has 5 entries and Y has 60 rows"),
        (dict(latent_prior=OVER_TIME, times=[np.nan] * 60), "times must hold a finite number"),
        (dict(latent_prior=OVER_TIME, times=3.0), "times must hold a finite number"),
        (dict(latent_prior=RBF(), times=np.zeros(60)), "no White part"),
        (dict(times=np.arange(60)), "pass a kernel over time"),
        (dict(latent_prior=None, times=np.arange(60)), "pass a kernel over time"),
        (dict(latent_prior="uniform"), "latent_prior must be one of 'gaussian', None, or a kernel"),
        (dict(latent_prior=RBF), "latent_prior must be one of 'gaussian', None, or a kernel"),
    ],
)
def test_what_makes_no_sense_is_refused(named, said):
    with pytest.raises(ValueError, match=said):
        GPLVM(**named).fit(motion()[0])
