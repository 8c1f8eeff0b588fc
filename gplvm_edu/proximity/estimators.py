"""Isomap, MetricMDS, SammonMapping and NonMetricMDS as scikit-learn estimators: thin layers over the functions."""

from collections.abc import Iterator
from typing import Self

import numpy as np
from scipy.spatial.distance import cdist

from .. import checks
from ..base import IterativeFit, LatentModel
from ..linalg import centre
from ..optimise import METHODS
from ..unify import centre_new, new_distances
from .geodesics import (
    bridge_components,
    geodesic_distances,
    geodesics_to_new,
    graph_components,
    neighbour_graph,
    principal_coordinates,
    residual_variance,
    smallest_connecting_k,
)
from .nonmetric import nonmetric_iterates
from .stress import StressState, sammon_iterates, smacof_iterates

NO_WAY_BACK = "distances say where the points lie in the map, and nothing says which data belong to another place in it"
NO_DENSITY = "it fits distances and has no density of the data"
NO_MAP = "only positions of the training points were fitted, so a new point has none until all are fitted again"


class _ProximityMap(LatentModel):
    """What the methods of this chapter share: Y holds data, or the distances themselves."""

    spare_dimensions = ""
    rules = {
        "n_components": checks.rule(checks.whole_number),
        "metric": checks.rule(
            checks.choice,
            ("euclidean", "distance"),
            '"euclidean": Y holds data, one point a row; "distance": Y is a square matrix of distances.',
        ),
    }
    why_not = {
        **dict.fromkeys(("inverse_transform", "jacobian", "log_precision", "reconstruct"), NO_WAY_BACK),
        **dict.fromkeys(("score_samples", "score", "sample"), NO_DENSITY),
        "impute": "a row with gaps has no distances from the others",
        "place": f"{NO_DENSITY} whose modes could be searched for",
    }

    def _distances(self, Y):
        """Checked distances (N, N) between the training points, whose data or distances Y are."""
        N, D = Y.shape
        because = f"{N} centred points span {N - 1} dimensions at most"
        checks.components(self.n_components, N, D, N - 1, because, self.spare_dimensions)
        if self.metric == "distance":
            distances = checks.distances(Y, "The distance matrix")
            distances = 0.5 * (distances + distances.T)  # symmetric but for rounding
            np.fill_diagonal(distances, 0.0)
        else:
            distances = cdist(Y, Y)
        if distances.max() == 0:
            raise ValueError(
                f"The largest distance between the {N} points is 0: all points coincide, and one place has no map. "
                "Is a column missing?"
            )
        return distances


class Isomap(_ProximityMap):
    """Isomap: classical MDS of geodesic distances, measured along the manifold on which the data lie.

    Use it when the data lie on a bent sheet, and what counts is the distance along it; also as a start for a GP-LVM.

    Columns: numbers of comparable scale, or distances.
    NaN: no.
    Answers: transform.
    Cost: O(N^3); at N = 1000, by default, 1.4 seconds.
    Chapter: 6 (book/06_proximity.ipynb).

    Parameters
    ----------
    n_components : int, default 2
        Latent dimensions q, below the number of points.
    n_neighbors : int, default 5
        How many nearest points each one is joined to; reduced to N - 1 where N is smaller.
    metric : "euclidean" or "distance"
        "distance": `fit` takes a matrix of distances (N, N), `transform` those between new and old points (M, N).
    disconnected : "bridge" or "error"
        What to do when the neighbour graph falls into pieces: join them by their shortest links, with a warning, or
        refuse.

    Attributes
    ----------
    embedding_ : ndarray (N, q)
    graph_, geodesics_ : scipy.sparse.csr_matrix (N, N), ndarray (N, N)
        The neighbour graph, bridges included, and the lengths of its shortest paths.
    n_neighbors_, n_pieces_ : int
        What was used; number of pieces of the graph before bridges, 1 if it is connected.
    residual_variance_ : float
        Share of the variance of the geodesics that the map does not explain.
    eigenvalues_ : ndarray (q,)
        Of the geodesics' centred similarities, largest first; a negative one counts as zero.

    Notes
    -----
    Costs O(N^2 (k + log N)) for the shortest paths and O(N^3) for the eigenvectors. Tenenbaum, de Silva and Langford
    (2000). Chapter 6, equations (6.15) to (6.18).

    Examples
    --------
    >>> from gplvm_edu.datasets import make_swiss_roll
    >>> from gplvm_edu.metrics import procrustes_distance
    >>> roll = make_swiss_roll(500, random_state=0)
    >>> model = Isomap(n_components=2, n_neighbors=7).fit(roll.data)
    >>> procrustes_distance(roll.extra["sheet"], model.embedding_) < 0.1
    True
    """

    spare_dimensions = "a curved sheet may need more of them to lie flat"
    rules = _ProximityMap.rules | {
        "n_neighbors": checks.rule(checks.whole_number),
        "disconnected": checks.rule(checks.choice, ("bridge", "error")),
    }

    def __init__(
        self, n_components: int = 2, n_neighbors: int = 5, metric: str = "euclidean", disconnected: str = "bridge"
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.disconnected = disconnected

    def fit(self, Y, y=None) -> Self:
        """Graph of neighbours, shortest paths, classical MDS."""
        Y = self.check_data(Y)
        distances = self._distances(Y)
        self.n_neighbors_ = min(self.n_neighbors, len(distances) - 1)
        graph = neighbour_graph(distances, self.n_neighbors_)
        self.n_pieces_, piece = graph_components(graph)
        self.graph_ = graph if self.n_pieces_ == 1 else self._join(graph, distances, piece)
        self.geodesics_ = geodesic_distances(self.graph_)
        self.embedding_, self.eigenvalues_ = principal_coordinates(self.geodesics_, self.n_components)
        self.residual_variance_ = residual_variance(self.geodesics_, self.embedding_)
        self.data_ = None if self.metric == "distance" else Y
        return self

    def _join(self, graph, distances, piece):
        sizes = np.sort(np.bincount(piece))[::-1]
        listed = ", ".join(map(str, sizes[:5])) + (", ..." if len(sizes) > 5 else "")
        found = (
            f"With n_neighbors={self.n_neighbors_} the neighbour graph of {len(piece)} points falls into "
            f"{len(sizes)} pieces (of {listed} points), and nothing in the data says how far apart they are "
            f"along the sheet. Raise n_neighbors ({smallest_connecting_k(distances)} would join them), map each "
            'piece by itself, or remove duplicated rows; chapter 6, "Break it".'
        )
        if self.disconnected == "error":
            raise ValueError(found)
        checks.warn(found + " For now every two pieces are bridged by their shortest link.")
        return bridge_components(graph, distances)

    def transform(self, Y) -> np.ndarray:
        """Latent positions of new points, equations (6.18) and (3.24); for the training points this is `embedding_`."""
        Y = self.check_data(Y, reset=False)
        distances = new_distances(Y) if self.data_ is None else cdist(Y, self.data_)
        G = geodesics_to_new(distances, self.n_neighbors_, self.geodesics_)
        S = centre_new(-0.5 * G**2, np.mean(-0.5 * self.geodesics_**2, axis=0))
        lam = self.eigenvalues_
        return S @ np.divide(self.embedding_, lam, out=np.zeros_like(self.embedding_), where=lam > 1e-12 * lam[0])


class _StressMap(IterativeFit, _ProximityMap):
    """A map found by an iteration that lowers a stress; the subclass writes `lower_stress(distances, start)`."""

    rules = _ProximityMap.rules | {
        "init": checks.rule(checks.start, ("classical", "random")),
        "max_iter": checks.rule(checks.whole_number, at_least=0),
        "tol": checks.rule(checks.number, at_least=0),
        "verbose": checks.rule(checks.flag),
    }
    at_rest = "Where its stress is nearly 0 no map is better; else lower tol, or start elsewhere (init)."
    why_not = _ProximityMap.why_not | {"transform": NO_MAP, "place": NO_MAP}

    def __init__(
        self,
        n_components: int = 2,
        metric: str = "euclidean",
        init: str | np.ndarray = "classical",
        max_iter: int = 1000,
        tol: float = 1e-6,
        random_state: checks.Seed = None,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.metric = metric
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def iterates(self, Y) -> Iterator[StressState]:
        """Yield a `StressState` (X, stress, stopped) after each step, the start first."""
        distances = self._distances(self.check_data(Y))
        yield from self.lower_stress(distances, self._start(distances))

    def set_state(self, state) -> Self:
        """Make the map that of one state."""
        self.embedding_, self.stress_ = state.X, state.stress
        return self

    def _start(self, distances):
        N, q = len(distances), self.n_components
        if not isinstance(self.init, str):
            start = checks.positions(self.init, (N, q))
            if np.ptp(start, axis=0).max() < checks.SMALLEST:
                raise ValueError(
                    f"All points of init coincide, or lie within {checks.SMALLEST:g}: no stress can pull them apart, "
                    'because there is no direction to pull in. Start from "classical", or add a little noise.'
                )
            return centre(start)[0]
        if self.init == "classical":
            return principal_coordinates(distances, q)[0]
        rng = checks.generator(self.random_state)
        return distances[distances > 0].mean() * rng.standard_normal((N, q)) / np.sqrt(2 * q)


class MetricMDS(_StressMap):
    """Metric multidimensional scaling: a map whose distances are nearest to those given in stress, by SMACOF.

    Use it when a picture of the rows at hand should keep all distances as nearly as it can.

    Columns: numbers of comparable scale, or distances.
    NaN: no.
    Answers: fit_transform.
    Cost: O(N^2 q) a step; at N = 1000, by default, 7.5 seconds.
    Chapter: 6 (book/06_proximity.ipynb).

    Parameters
    ----------
    n_components, metric : as in `Isomap`
    init : "classical", "random" or ndarray (N, q)
        "classical": classical MDS, which for data is PCA.
    max_iter, tol : int, float
        It has settled when a step lowers the squared stress by less than a share `tol`.
    random_state : None, int, RandomState or Generator
        For init="random".
    verbose : bool
        Show a bar with the steps made, the objective and the time left at most (by tqdm, on the error output).

    Attributes
    ----------
    embedding_ : ndarray (N, q)
    stress_ : float
        Root of the squared errors over the squared distances, equation (6.2).
    history_ : ndarray
        Minus the stress, the start included: larger is better, and it never falls.
    n_iter_, converged_ : int, bool

    Notes
    -----
    Costs O(N^2 q) a step. The method is transductive: a new point has no position until the map is fitted again.
    Chapter 6, equations (6.2) to (6.8).

    Examples
    --------
    >>> Y = np.random.default_rng(0).standard_normal((40, 5))
    >>> model = MetricMDS(n_components=2).fit(Y)
    >>> bool(np.all(np.diff(model.history_) >= 0)), model.stress_ < 0.3
    (True, True)
    """

    def lower_stress(self, distances, start) -> Iterator[StressState]:
        """States of the map, the start first."""
        return smacof_iterates(distances, start, None, self.max_iter, self.tol)


class SammonMapping(_StressMap):
    """Sammon's mapping: metric MDS in which errors count relative to the distance, so that small ones are kept.

    Use it when small distances matter most, and a picture of the rows at hand is enough.

    Columns: numbers of comparable scale, or distances.
    NaN: no.
    Answers: fit_transform.
    Cost: O(N^2 q) a step; at N = 1000, by default, 3.6 seconds.
    Chapter: 6 (book/06_proximity.ipynb).

    Parameters
    ----------
    n_components, metric, init, random_state, verbose : as in MetricMDS
    optimiser : "l-bfgs" or "scg"
    max_iter, tol : int, float
        It has settled when no element of the gradient is larger than `tol`, in units of the mean distance.

    Attributes
    ----------
    embedding_, history_, n_iter_, converged_ : as in MetricMDS
    stress_ : float
        Sammon's E, equation (6.9).

    Notes
    -----
    Costs O(N^2 q) a step. Duplicated rows have no relative error and do not count; they keep one position in the map.
    Despite the name it fits no function from data to latent space: a new point has no position.
    Chapter 6, equations (6.9) and (6.10).

    Examples
    --------
    >>> Y = np.random.default_rng(0).standard_normal((40, 5))
    >>> model = SammonMapping(n_components=2).fit(Y)
    >>> bool(np.all(np.diff(model.history_) >= 0)), model.stress_ < 0.1
    (True, True)
    """

    rules = _StressMap.rules | {"optimiser": checks.rule(checks.choice, METHODS)}

    def __init__(
        self,
        n_components: int = 2,
        metric: str = "euclidean",
        init: str | np.ndarray = "classical",
        optimiser: str = "l-bfgs",
        max_iter: int = 1000,
        tol: float = 1e-3,
        random_state: checks.Seed = None,
        verbose: bool = False,
    ):
        super().__init__(n_components, metric, init, max_iter, tol, random_state, verbose)
        self.optimiser = optimiser

    def lower_stress(self, distances, start) -> Iterator[StressState]:
        """States of the map, the start first."""
        return sammon_iterates(distances, start, self.optimiser, self.max_iter, self.tol)


class NonMetricMDS(_StressMap):
    """Kruskal's non-metric multidimensional scaling: only the order of the distances is kept.

    Use it when only the order of the distances can be trusted, as with judgements of likeness.

    Columns: numbers of comparable scale, or distances.
    NaN: no.
    Answers: fit_transform.
    Cost: O(N^2 (q + log N)) a step; at N = 1000, by default, 29 seconds.
    Chapter: 6 (book/06_proximity.ipynb).

    Parameters
    ----------
    n_components, metric, init, max_iter, tol, random_state, verbose : as in MetricMDS
        metric="distance": any dissimilarities, ranks for example.
    ties : "primary" or "secondary"
        Pairs of equal dissimilarity may differ in the map, or should not.

    Attributes
    ----------
    embedding_, history_, n_iter_, converged_, stress_ : as in MetricMDS; the stress is Kruskal's, equation (6.11)

    Notes
    -----
    Costs O(N^2 (q + log N)) a step. Chapter 6, equations (6.11) to (6.14).

    Examples
    --------
    >>> Y = np.random.default_rng(0).standard_normal((40, 5))
    >>> model = NonMetricMDS(n_components=2, tol=1e-3).fit(Y)
    >>> bool(np.all(np.diff(model.history_) >= 0)), model.stress_ < 0.3
    (True, True)
    """

    rules = _StressMap.rules | {"ties": checks.rule(checks.choice, ("primary", "secondary"))}

    def __init__(
        self,
        n_components: int = 2,
        metric: str = "euclidean",
        init: str | np.ndarray = "classical",
        ties: str = "primary",
        max_iter: int = 1000,
        tol: float = 1e-5,
        random_state: checks.Seed = None,
        verbose: bool = False,
    ):
        super().__init__(n_components, metric, init, max_iter, tol, random_state, verbose)
        self.ties = ties

    def lower_stress(self, distances, start) -> Iterator[StressState]:
        """States of the map, the start first."""
        return nonmetric_iterates(distances, start, self.ties, self.max_iter, self.tol)
