"""Chapter 13, plain and fast: moments at uncertain points, the frozen bound with its gradient, the ratio of bounds.

The plain functions take one complete row, the fast ones many at once.
"""

import numpy as np
from pairs import Pair
from pairs_variational import random_bound

from gplvm_edu.datasets import load_digits
from gplvm_edu.kernels import RBF
from gplvm_edu.linalg import centre
from gplvm_edu.variational import (
    Parameters,
    expected_log_likelihood,
    fast,
    freeze,
    frozen_bound,
    gain_over_frozen,
    linear_terms,
    make_map,
    moments,
    predict_moments,
    ratio_of_bounds,
)


def random_rows(rng):
    """A model of random data, and new rows near the inducing point that is near the data, fuzzy or known exactly.

    Far from it the statistics are zero to the last digit, and so are the gradients, beside a large value.
    """
    Y, parameters, jitter = random_bound(rng)
    n, q = rng.integers(1, 6), parameters.latent_mean.shape[1]
    new = np.std(Y) * rng.standard_normal((n, Y.shape[1])) + Y[0]
    S = None if rng.random() < 0.2 else 10.0 ** rng.uniform(-4.0, 1.0, (n, q))
    places = parameters.inducing_inputs[0] + 0.3 * rng.standard_normal((n, q))
    return Y, parameters, jitter, new, places, S


def sized_rows(n):
    """Digits: 64 outputs, 5 latent dimensions, 30 inducing points, n new rows."""
    rng, Y = np.random.default_rng(0), centre(load_digits().data[:200])[0]
    mu = rng.standard_normal((200, 5))
    parameters = Parameters(mu, np.full(mu.shape, 0.1), mu[:30], RBF(10.0, np.full(5, 0.3)), 3.0)
    return Y, parameters, 1e-6, Y[:n] + 1.0, rng.standard_normal((n, 5)), np.full((n, 5), 0.1)


def each_row(function, Y, parameters, jitter, new, mu, S):
    """The answers of a plain function for each row, stacked."""
    map_ = freeze(Y, parameters, jitter)
    answers = [function(map_, y, mu[n], None if S is None else S[n]) for n, y in enumerate(new)]
    return tuple(np.array(part) for part in zip(*answers, strict=True))


def of_an_observation(found, noise_variance):
    """Mean, second moment of the mean, and variance of the map with noise.

    The two parts of the variance by themselves are differences, (13.5) of numbers that agree to a share alpha S and
    (13.6) of numbers that agree to the share left unexplained; their own digits are lost by that, whatever the program.
    """
    return found.mean, found.mean**2 + found.from_place, found.from_map + noise_variance


def plain_moments(*problem):
    noise = problem[1].noise_variance
    return each_row(
        lambda map_, y, mean, variance: of_an_observation(predict_moments(map_, mean, variance), noise), *problem
    )


def fast_moments(Y, parameters, jitter, new, mu, S):
    found = fast.predict_moments(make_map(Y, parameters, jitter), mu, S)
    return of_an_observation(found, parameters.noise_variance)


def plain_frozen(*problem):
    return each_row(lambda map_, y, *place: frozen_bound(map_, linear_terms(map_, y), *place), *problem)


def fast_frozen(Y, parameters, jitter, new, mu, S):
    map_ = make_map(Y, parameters, jitter)
    return fast.frozen_bound(map_, fast.linear_terms(map_, new), mu, S)


def frozen_at(Y, parameters, jitter, new, mu, S):
    """The frozen bound of the first row, in its mean and the logarithms of its variance."""
    map_, q = freeze(Y, parameters, jitter), mu.shape[1]
    terms = linear_terms(map_, new[0])

    def value_and_gradient(x):
        variance = None if S is None else np.exp(x[q:])
        value, d_mean, d_variance = frozen_bound(map_, terms, x[:q], variance)
        return value, d_mean if S is None else np.concatenate([d_mean, d_variance * variance])

    return value_and_gradient, mu[0] if S is None else np.concatenate([mu[0], np.log(S[0])])


def plain_ratio(*problem):
    return each_row(ratio_of_bounds, *problem)


def fast_ratio(Y, parameters, jitter, new, mu, S):
    return fast.ratio_of_bounds(make_map(Y, parameters, jitter), new, mu, S)


SIZES = (10, 200)
PAIRS = (
    Pair(
        "prediction: moments",
        plain_moments,
        fast_moments,
        random_rows,
        sized_rows,
        SIZES,
        "rows",
        (moments.freeze, moments.point_statistics, predict_moments),
        (make_map, fast.predict_moments),
    ),
    Pair(
        "prediction: frozen bound",
        plain_frozen,
        fast_frozen,
        random_rows,
        sized_rows,
        SIZES,
        "rows",
        (linear_terms, expected_log_likelihood, frozen_bound),
        (fast.linear_terms, fast.frozen_bound),
        frozen_at,
    ),
    Pair(
        "prediction: ratio of bounds",
        plain_ratio,
        fast_ratio,
        random_rows,
        sized_rows,
        SIZES,
        "rows",
        (gain_over_frozen, ratio_of_bounds),
        (fast.ratio_of_bounds, fast.gain_over_frozen),
    ),
)
