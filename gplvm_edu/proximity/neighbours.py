"""How many neighbours: a rule that needs no truth, only the longest way through each graph."""

from typing import NamedTuple

import numpy as np

from .. import checks
from .geodesics import geodesic_distances, graph_components, neighbour_graph

FALL = 0.25  # the share of its length that the longest geodesic loses, or more, at a short circuit: phi


class NeighbourChoice(NamedTuple):
    """What `choose_neighbours` found: the number of neighbours, and the curve from which it was read."""

    n_neighbors: int  # the last k before the cliff; the largest that was tried where there is no cliff
    cliff: int | None  # the first k at which the longest geodesic falls off; None: it never does
    tried: np.ndarray  # the k that were tried (C,), the cliff the last one
    longest: np.ndarray  # the longest geodesic of each (C,)
    pieces: np.ndarray  # into how many pieces each graph falls (C,)


def longest_geodesic(geodesics) -> float:
    r"""The longest of all shortest paths; between pieces of a graph there is none, and none is counted.

    .. math:: \ell = \max_{n, m:\ g_{nm} < \infty} g_{nm}

    Parameters
    ----------
    geodesics : ndarray (N, N)
        Infinite between points in different pieces.

    Notes
    -----
    Costs O(N^2). Chapter 6, equation (6.18a).

    Examples
    --------
    >>> longest_geodesic(np.array([[0.0, 2.0, np.inf], [2.0, 0.0, np.inf], [np.inf, np.inf, 0.0]]))
    2.0
    """
    G = geodesics
    return float(np.max(G, where=np.isfinite(G), initial=0.0))  # (6.18a)


def choose_neighbours(distances, at_least=4, at_most=20, fall=FALL) -> NeighbourChoice:
    r"""The most neighbours that can be had before the longest geodesic falls off a cliff, the mark of a short circuit.

    .. math:: k^\star = \min \{ k :\ \ell(k + 1) \le (1 - \varphi)\, \ell(k),\ 4 \le k < 20 \}, \quad
              \text{and } 20 \text{ if there is none}

    More neighbours straighten the ways through a graph, so the longest one shrinks, first by much and then by little.
    On a long, narrow sheet the first edge between two layers takes a large piece off it at once. On a wide one it may
    not: there the k with the least residual variance is the better guide.

    Parameters
    ----------
    distances : ndarray (N, N)
        Between all points.
    at_least, at_most : int
        The first and the last k to try; the last is N - 1 at most. A short circuit that is there at the first k can't
        be seen. On a sheet of q dimensions a point needs some 2q neighbours, two along each.
    fall : float
        The share phi of its length that the longest geodesic must lose in one step to count as a cliff.

    Returns
    -------
    NeighbourChoice
        Fields n_neighbors, cliff, tried, longest, pieces. Where the graph of the chosen k is in pieces there is a
        warning: no k that was tried joins all points and has no short circuit.

    Notes
    -----
    Costs O(C N^2 (k + log N)) for C numbers of neighbours. Chapter 6, equations (6.18a) and (6.18b).

    Examples
    --------
    >>> from scipy.spatial.distance import cdist
    >>> from gplvm_edu.datasets import make_swiss_roll
    >>> roll = make_swiss_roll(400, noise=0.2, random_state=0)
    >>> choice = choose_neighbours(cdist(roll.data, roll.data))
    >>> choice.n_neighbors, choice.cliff, choice.longest[-3:].round()
    (8, 9, array([97., 96., 59.]))
    """
    D = checks.distances(distances)
    first = checks.whole_number("at_least", at_least, at_most=len(D) - 1, advice="There are no more other points.")
    last = min(checks.whole_number("at_most", at_most, at_least=first), len(D) - 1)
    phi = checks.number("fall", fall, above=0, below=1)
    longest: list[float] = []
    pieces: list[int] = []
    cliff = None
    for k in range(first, last + 1):
        graph = neighbour_graph(D, k)
        longest.append(longest_geodesic(geodesic_distances(graph)))
        pieces.append(graph_components(graph)[0])
        fallen = k > first and longest[-1] <= (1 - phi) * longest[-2]  # (6.18b)
        if fallen:
            cliff = k
            break
    tried = np.arange(first, first + len(longest))
    chosen = len(tried) - (1 if cliff is None else 2)
    if pieces[chosen] > 1:
        checks.warn(
            f"With n_neighbors={tried[chosen]}, the most before a short circuit is seen, the graph is in "
            f"{pieces[chosen]} pieces: the data are too sparse, or too noisy, for these layers. Isomap will bridge the "
            'pieces by their shortest links, which is a guess; chapter 6, "A graph in pieces".'
        )
    return NeighbourChoice(int(tried[chosen]), cliff, tried, np.array(longest), np.array(pieces))
