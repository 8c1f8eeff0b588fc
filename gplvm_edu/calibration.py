"""Are a model's deviations as large as its errors? Measured on entries that a second fit has not seen.

A map that was fitted as one best sheet has no doubt in itself, and it has seen the entries it is asked about: both make
its deviations too small. No formula of the model tells by how much. A second fit, without some of the entries, does.
"""

import warnings

import numpy as np
from scipy.special import ndtri
from sklearn.base import clone

from .checks import random_state
from .progress import LongFitWarning

LEVEL = 0.95  # of the interval that is measured
SHARE = 0.1  # of the entries: hidden from the second fit
MOST = 0.25  # of the entries, in small tables
ENOUGH = 100  # hidden entries, if there are as many
FEWEST = 20  # hidden entries: fewer say nothing about one error in twenty
FOLD = 5  # where gaps can't be fitted, one row in so many is left out


def hidden_entries(seen, share, rng) -> np.ndarray:
    """Entries to hide by lot, (N, D): of those that were seen, none that is the last of its row or its column.

    Examples
    --------
    >>> hidden = hidden_entries(np.ones((4, 3), bool), 1.0, np.random.RandomState(0))
    >>> int(hidden.sum(axis=1).max()), int(hidden.sum(axis=0).max())             # one at least stays in each
    (2, 3)
    """
    order = rng.uniform(size=seen.shape)
    hidden = seen & (order < share)
    row, column = np.arange(len(seen)), np.arange(seen.shape[1])
    first = np.where(seen, order, -1.0).argmax(axis=1)  # the last that would be hidden
    hidden[row, first] = False
    first = np.where(seen, order, -1.0).argmax(axis=0)
    hidden[first, column] = False
    return hidden


def deviation_factor(errors, std, level=LEVEL) -> float:
    r"""By how much deviations have to be multiplied for central intervals to hold `level` of the errors.

    .. math:: c = \frac{1}{z}\; \Big( \frac{|y_m - \mu_m|}{\sigma_m} \Big)_{(k)}, \qquad
              k = \min\big( \lceil 0.95\, (M + 1) \rceil,\, M \big), \qquad z = 1.96

    Parameters
    ----------
    errors, std : ndarray (M,)
        Of entries that the model has not seen.
    level : float

    Notes
    -----
    The k-th smallest ratio: if a new error is as likely as these to have any rank among them, k of M + 1 fall inside.
    Appendix D, equation (D.4).

    Examples
    --------
    >>> round(deviation_factor(np.arange(1.0, 100.0), np.ones(99)), 2)                     # 95 of 99 are at most 95
    48.47
    """
    z = np.sort(np.abs(errors) / std)
    k = min(int(np.ceil(level * (len(z) + 1))), len(z))
    return float(z[k - 1] / ndtri(0.5 + 0.5 * level))  # (D.4)


def measured_factor(model, new_rows=False) -> float:
    """`deviation_factor` of a fitted model with a map, by a second fit to its own training rows.

    Parameters
    ----------
    model : MapModel
    new_rows : bool
        False: for gaps of training rows, whose other entries the map was fitted to. A tenth of the numbers is hidden (a
        quarter at most in small tables), the rest fitted, and the hidden ones filled. True, and where gaps can't be
        fitted: for gaps of other rows. A fifth of the rows is left out, and a fifth of their numbers filled from the
        others.

    Notes
    -----
    The same lots in every call. 1 where the table has too few numbers to tell.
    """
    rows, lots = model.rows_, random_state(0)
    left_out = new_rows or not model.allows_missing
    out = np.arange(len(rows)) % FOLD == 0 if left_out else np.ones(len(rows), bool)
    out = out[lots.permutation(len(out))]
    seen = ~np.isnan(rows)
    numbers = seen & model.number_columns() & out[:, None]
    share = min(max(1.0 / FOLD if left_out else SHARE, ENOUGH / max(int(numbers.sum()), 1)), MOST)
    hidden = numbers & hidden_entries(seen, share, lots)
    if hidden.sum() < FEWEST:
        return 1.0
    partly = np.where(hidden, np.nan, rows)
    second = second_fit(model, rows[~out] if left_out else partly, ~out)
    found, mark = second.reconstruct(model.as_given(partly[out]), noise=True), hidden[out]
    return deviation_factor((found.mean - rows[out])[mark], found.std[mark])


def second_fit(model, rows, kept):
    """The same model fitted to other rows, as long as the first at most; `kept` are the rows if not all are there."""
    second = clone(model)
    if not getattr(model, "converged_", True):
        second.set_params(max_iter=max(int(model.n_iter_), 1))
    start = getattr(model, "init", None)
    if isinstance(start, np.ndarray) and len(start) == len(kept) != len(rows):
        second.set_params(init=start[kept])
    times = getattr(getattr(model, "dynamics_", None), "times", None)
    if times is not None:
        second.set_params(times=times[kept] if len(kept) != len(rows) else times)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first fit has told
        warnings.simplefilter("default", LongFitWarning)
        return second.fit(model.as_given(rows))
