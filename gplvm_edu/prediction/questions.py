"""The questions one asks a fitted model about new rows; `BayesianGPLVM` answers them through these functions."""
from typing import NamedTuple

import numpy as np

from .density import ratio_of_bounds
from .latent import infer
from .output_map import output_map, predict_moments


class Reconstruction(NamedTuple):
    """Expected value of every entry of new rows and its standard deviation, both (n, D), and q(x*), both (n, q)."""

    mean: np.ndarray
    std: np.ndarray
    latent_mean: np.ndarray
    latent_variance: np.ndarray


def check_rows(model, Y_new):
    """New rows, centred as the training data were; NaN is a gap, but a row needs at least one value, (13.9)."""
    Y = model.check_data(Y_new, reset=False) - model.mean_                       # (13.9)
    empty = np.flatnonzero(np.isnan(Y).all(axis=1))
    if len(empty):
        raise ValueError(f"Row {empty[0]} of Y has no observed entry ({len(empty)} such rows in all): nothing says "
                         "where it belongs, and q(x*) is the prior N(0, I). Leave the row out (chapter 13, \"Half of a "
                         "point\").")
    return Y


def latent_posterior(model, Y_new, n_starts=5, max_iter=200, tolerance=1e-5):
    """q(x*) of new rows, complete or with gaps: `LatentPosterior(mean, variance, bound)`.

    Parameters
    ----------
    model : BayesianGPLVM
        Fitted.
    Y_new : array (n, D)
        In the units of the data; NaN where not observed.
    n_starts : int
        Near training rows whose places are tried; the best end counts.
    max_iter : int
    tolerance : float
        Of the gradient.

    Notes
    -----
    The bound is that of the observed entries of each row. Chapter 13, equations (13.8) to (13.12).
    """
    Y = check_rows(model, Y_new)
    learnt = output_map(model.posterior_)
    return infer(learnt, Y, model._Y, model.posterior_, n_starts, max_iter, tolerance)           # (13.12)


def _variance(model, found):
    return found.variance if model.posterior_.latent_variance is not None else None


def predict(model, latent_mean, latent_variance=None):
    """Mean and noise-free variance, both (n, D), at latent points that are sure (None) or fuzzy, equation (13.4)."""
    learnt = output_map(model.posterior_, uncertain=latent_variance is not None)
    moments = predict_moments(learnt, latent_mean, latent_variance)              # (13.4)
    return moments.mean + model.mean_, moments.variance


def reconstruct(model, Y_new, noise=False, n_starts=5, max_iter=200, tolerance=1e-5):
    """Expected value of EVERY entry of new rows: the missing ones filled in, the observed ones freed of noise.

    Parameters
    ----------
    noise : bool
        True: the deviation is that of a new observation, noise included; False: of the noise-free map.

    Returns
    -------
    Reconstruction

    Notes
    -----
    phi(u) stays that of the training data, also for observed entries. Chapter 13, equations (13.4) to (13.6).
    """
    found = latent_posterior(model, Y_new, n_starts, max_iter, tolerance)
    mean, variance = predict(model, found.mean, _variance(model, found))         # (13.4)
    variance = variance + noise * model.noise_variance_
    return Reconstruction(mean, np.sqrt(variance), found.mean, found.variance)


def log_density(model, Y_new, method="ratio", n_starts=5, max_iter=200, tolerance=1e-5):
    """Log density of the observed entries of new rows, (n,), as far as the bounds can tell.

    Parameters
    ----------
    method : "ratio" or "frozen"
        The ratio of bounds (13.13), or the bound with phi(u) frozen (13.8). The second is smaller, and a true lower
        bound of a normalised density.

    Notes
    -----
    q(x*) is found with phi(u) frozen; the ratio is then evaluated exactly, once. Chapter 13, equation (13.17).
    """
    if method not in ("ratio", "frozen"):
        raise ValueError(f"method must be \"ratio\" or \"frozen\", got {method!r} (chapter 13, \"How likely is it?\").")
    found = latent_posterior(model, Y_new, n_starts, max_iter, tolerance)
    if method == "frozen":
        return found.bound                                                       # (13.8)
    Y = check_rows(model, Y_new)
    return ratio_of_bounds(output_map(model.posterior_), Y, found.mean, _variance(model, found))[0]       # (13.17)
