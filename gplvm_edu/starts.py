"""Initial latent positions of a model: random, an array, or an embedding that a topic adds.

A start is a function ``start(Y, n_components, random_state) -> X`` of centred, complete data. "random" is built in;
PCA (chapter 1), kernel PCA (chapter 3), Isomap, eigenmaps and LLE (chapter 6) are added by their own packages,
with `add`, so that this file imports no topic.

The rule of scaling: proportions are kept where a length in the map is a distance along the data (Isomap, MDS), because
a kernel with one width can't know of two units. Where it is none each column gets variance one, which is what the prior
expects: in PPCA the weights carry the scale, and the columns of eigenmaps and LLE have one length by their constraint.
"""

import numpy as np

from . import checks

STARTS: dict = {}  # name: (function, whether the ratios between its columns are kept)


def unit_scale(X, keep_proportions=False, random_state=None) -> np.ndarray:
    r"""Latent positions centred and scaled to unit variance, which is what a GP-LVM expects.

    .. math:: \text{columns one by one:}\; x_{nj} \leftarrow \frac{x_{nj} - \bar x_j}{s_j}, \qquad
              \text{or as a whole:}\; x_{nj} \leftarrow \frac{x_{nj} - \bar x_j}{s}, \quad s^2 = \tfrac1q \sum_j s_j^2

    Parameters
    ----------
    X : ndarray (N, q)
    keep_proportions : bool
        False: column by column, where lengths of columns are no distances along the data (scores of PCA and kernel PCA,
        eigenmaps, LLE): equation (5.13). True: as a whole, where they are (Isomap, MDS): equation (6.20).
    random_state : None, int, RandomState or Generator
        A column without variance becomes a small random one (columns one by one only).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [4.0, 2.0]])
    >>> unit_scale(X)
    array([[-1., -1.],
           [ 1.,  1.]])
    >>> unit_scale(X, keep_proportions=True).round(3)
    array([[-1.372, -0.343],
           [ 1.372,  0.343]])
    """
    X = X - X.mean(axis=0)
    if keep_proportions:
        return X / X.std() if X.any() else X  # (6.20)
    deviation = X.std(axis=0)
    empty = deviation <= 1e-10 * max(deviation.max(), 1e-300)
    if empty.any():
        X[:, empty] = checks.random_state(random_state).standard_normal((len(X), empty.sum()))
        deviation = X.std(axis=0)
        deviation[empty] *= 10.0
    return X / deviation  # (5.13)


def add(name, function, keeps_proportions) -> None:
    """Register a start under a name; the topic that has the function calls this once.

    Examples
    --------
    >>> import numpy as np
    >>> add("first columns", lambda Y, q, random_state: Y[:, :q], keeps_proportions=False)
    >>> initial_positions(np.array([[1.0, 5.0], [3.0, 5.0]]), 1, "first columns").ravel()
    array([-1.,  1.])
    >>> del STARTS["first columns"]
    """
    STARTS[name] = function, keeps_proportions


def names() -> tuple[str, ...]:
    """All names that `initial_positions` accepts."""
    return (*STARTS, "random")


def initial_positions(Y, n_components, init="pca", random_state=None) -> np.ndarray:
    """Latent positions (N, q) of unit variance to start from, equation (5.13).

    Parameters
    ----------
    Y : ndarray (N, D)
        Centred and complete.
    n_components : int
    init : a name of `names`, or ndarray (N, q), which is taken as it is
    random_state : None, int, RandomState or Generator

    Examples
    --------
    >>> import numpy as np
    >>> initial_positions(np.array([[3.0, 0.0], [-3.0, 0.0]]), 1, "pca")
    array([[ 1.],
           [-1.]])
    """
    shape = len(Y), n_components
    if not isinstance(init, str):
        return checks.positions(init, shape)
    rng = checks.random_state(random_state)
    if init == "random":
        return rng.standard_normal(shape)
    if init not in STARTS:
        raise ValueError(
            f"There is no init {init!r}: choose one of {', '.join(names())}, or pass an array of latent "
            "positions (chapter 6 compares them)."
        )
    function, keeps_proportions = STARTS[init]
    return unit_scale(function(Y, n_components, rng), keeps_proportions, rng)
