"""`explore_proximity`: a sheet, its neighbour graph, a map of it, and the GP-LVM that starts from that map."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.spatial.distance import cdist

from gplvm_edu import datasets
from gplvm_edu.gplvm import GPLVM
from gplvm_edu.metrics import nearest_neighbour_errors, procrustes_distance
from gplvm_edu.proximity import (
    MetricMDS,
    NonMetricMDS,
    SammonMapping,
    bridge_components,
    disparities,
    geodesic_distances,
    graph_components,
    neighbour_graph,
    principal_coordinates,
    short_circuits,
)
from gplvm_edu.starts import unit_scale

from .controls import buttons, check, menu, number, slider
from .drawing import latent_points, trails
from .explorer import Explorer, Question
from .scene import HIDDEN, Axis, Lines, Panel, Points, SceneOf

DATA = ("Swiss roll", "roll with a hole", "oil flow")
STRESS_MAPS = {"metric MDS": (MetricMDS, 8), "Sammon": (SammonMapping, 8), "non-metric MDS": (NonMetricMDS, 3)}
METHODS = ("Isomap", "PCA", *STRESS_MAPS)
GP_STEPS = 100
N_PAIRS = 1500
VIEW = np.array([[1.0, 0.0], [0.5, 0.22], [0.0, 1.0]])  # from three dimensions to the page
OPENING = dict(
    data="Swiss roll", noise=0.0, method="Isomap", start="classical", n_neighbors=7, n_points=400, beside=True, point=0
)


class Data(NamedTuple):
    """Rows, their distances, and what is known about them."""

    Y: np.ndarray
    distances: np.ndarray
    colour: np.ndarray  # position along the sheet, or class
    names: list | None  # of the classes
    sheet: np.ndarray | None  # the true positions, where they are known
    page: np.ndarray  # where to draw the points of the graph


class Graph(NamedTuple):
    """A neighbour graph; its pieces are bridged."""

    matrix: sparse.csr_matrix
    n_pieces: int
    edges: np.ndarray  # (n_edges, 2)
    walk: np.ndarray  # over every edge once: see `trails`
    jumps: np.ndarray  # (n_jumps, 2)


class Step(NamedTuple):
    """A state of Run: its number, the GP-LVM's positions, its log likelihoods, and those of the one from PCA."""

    number: int
    X: np.ndarray
    values: tuple
    rival: tuple


@lru_cache(maxsize=3)
def load(data, noise, n_points):
    """The data of one setting."""
    if data == "oil flow":
        oil = datasets.simulate_oil_flow(n_points, random_state=0)
        Y = oil.data + 0.1 * noise * np.random.default_rng(1).standard_normal(oil.data.shape)
        D = cdist(Y, Y)
        return Data(Y, D, oil.target, oil.target_names, None, principal_coordinates(D, 2)[0])
    roll = datasets.make_swiss_roll(n_points, noise, random_state=0)
    Y, colour, sheet = roll.data, roll.target, roll.extra["sheet"]
    if data == "roll with a hole":
        middle = (sheet.max(axis=0) + sheet.min(axis=0)) / 2
        keep = np.any(np.abs(sheet - middle) > np.ptp(sheet, axis=0) * [0.2, 0.3], axis=1)
        Y, colour, sheet = Y[keep], colour[keep], sheet[keep]
    return Data(Y, cdist(Y, Y), colour, None, sheet, (Y - Y.mean(axis=0)) @ VIEW)


@lru_cache(maxsize=4)
def graph_of(data, noise, n_points, n_neighbors):
    """The neighbour graph of one setting."""
    now = load(data, noise, n_points)
    matrix = neighbour_graph(now.distances, n_neighbors)
    n_pieces, _ = graph_components(matrix)
    matrix = matrix if n_pieces == 1 else bridge_components(matrix, now.distances)
    jumps = short_circuits(matrix, now.sheet) if now.sheet is not None else np.empty((0, 2), int)
    edges = sparse.triu(matrix).tocoo()
    edges = np.column_stack([edges.row, edges.col])
    return Graph(matrix, n_pieces, edges, trails(edges, len(now.Y)), jumps)


@lru_cache(maxsize=3)
def geodesics(data, noise, n_points, n_neighbors):
    """Lengths of the shortest ways through the graph."""
    return geodesic_distances(graph_of(data, noise, n_points, n_neighbors).matrix)


def map_of(data, noise, n_points, n_neighbors, method, start):
    """What a map depends on: only Isomap's on the neighbours, only a stress map's on the start."""
    return data, noise, n_points, n_neighbors if method == "Isomap" else None, method, STRESS_MAPS.get(method) and start


@lru_cache(maxsize=16)
def layout(data, noise, n_points, n_neighbors, method, start):
    """Positions (N, 2) in the map of one method."""
    if method == "Isomap":
        return principal_coordinates(geodesics(data, noise, n_points, n_neighbors), 2)[0]
    D = load(data, noise, n_points).distances
    if method == "PCA":
        return principal_coordinates(D, 2)[0]
    Model, max_iter = STRESS_MAPS[method]
    *_, last = Model(2, metric="distance", init=start, max_iter=max_iter, tol=1e-4, random_state=0).iterates(D)
    return last.X


def climb(data, noise, n_points, n_neighbors, method, start):
    """States of the GP-LVM that starts from a map."""
    X = unit_scale(layout(data, noise, n_points, n_neighbors, method, start), keep_proportions=True)
    model = GPLVM(init=X, latent_prior=None, max_iter=GP_STEPS)
    return model.iterates(load(data, noise, n_points).Y)


@lru_cache(maxsize=16)
def start_value(data, noise, n_points, n_neighbors, method, start):
    """Log likelihood of the GP-LVM with its default kernel at the map itself."""
    return next(climb(data, noise, n_points, n_neighbors, method, start)).value


def has_rival(method, beside):
    """True where a second GP-LVM starts from PCA."""
    return beside and method != "PCA"


def climbs(data, noise, n_points, n_neighbors, method, start, beside, state):
    """Log likelihoods so far: from this map, and from PCA (empty where it is not asked for)."""
    if state is not None:
        return state.values, state.rival
    own = start_value(*map_of(data, noise, n_points, n_neighbors, method, start))
    rival = (start_value(data, noise, n_points, None, "PCA", None),) if has_rival(method, beside) else ()
    return (own,), rival


def shown_map(data, noise, n_points, n_neighbors, method, start, state):
    """The positions that are shown: the GP-LVM's when it runs, the method's own otherwise."""
    return state.X if state is not None else layout(*map_of(data, noise, n_points, n_neighbors, method, start))


def score(now, X):
    """How good a map is, in words: Procrustes distance to the truth, or errors of nearest neighbours."""
    if now.sheet is not None:
        return f"Procrustes distance {procrustes_distance(now.sheet, X):.2f}"
    return f"{nearest_neighbour_errors(X, now.colour)} errors of {len(X)}"


@lru_cache(maxsize=16)
def way_from(data, noise, n_points, n_neighbors, point):
    """The points on the shortest way through the graph from one point to the farthest, and its length."""
    matrix = graph_of(data, noise, n_points, n_neighbors).matrix
    length, previous = csgraph.dijkstra(matrix, indices=point, return_predecessors=True)
    way = [int(np.argmax(length))]
    while way[-1] != point:
        way.append(int(previous[way[-1]]))
    return np.array(way[::-1]), length.max()


@lru_cache(maxsize=4)
def some_pairs(n_points):
    """Pairs (n, 2) of different points: all, or as many as one can look at."""
    pairs = np.column_stack(np.triu_indices(n_points, 1))
    return np.random.default_rng(0).permutation(pairs)[:N_PAIRS]


def ties(X, pairs):
    """(x, y) of one line for each pair of points, with gaps between them."""
    ends = np.stack([X[pairs[:, 0]], X[pairs[:, 1]], np.full((len(pairs), 2), np.nan)], axis=1)
    return ends.reshape(-1, 2).T


def net(now, graph, X, way, way_label=""):
    """Marks of points and the edges between them: short circuits in orange, the way in black."""
    marks = [Lines("edges", *X.T, order=graph.walk, colour="quiet", width=0.5, opacity=0.6)]
    if len(graph.jumps):
        marks.append(Lines("jumps", *ties(X, graph.jumps), colour="accent", width=2.4, label="short circuits"))
    return [
        *marks,
        latent_points(X, now.colour, now.names, size=4),
        Lines("way", *X[way].T, colour="ink", width=2, label=way_label),
        Points("ends", *X[way[[0, -1]]].T, colour="ink", size=8),
    ]


def graph(data, noise, n_points, n_neighbors, point):
    """The data as they lie in space, their graph, and one way through it with its lengths."""
    now, lines = load(data, noise, n_points), graph_of(data, noise, n_points, n_neighbors)
    way, length = way_from(data, noise, n_points, n_neighbors, point)
    ends = way[[0, -1]]
    label = f"way: {length:.3g} through the graph, {now.distances[tuple(ends)]:.3g} straight"
    pieces = "in one piece" if lines.n_pieces == 1 else f"in {lines.n_pieces} pieces, bridged"
    if now.sheet is not None:
        label += f", {np.linalg.norm(np.diff(now.sheet[ends], axis=0)):.3g} on the sheet"
        pieces += f", {len(lines.jumps)} short circuits"
    marks = net(now, lines, now.page, way, label)
    return Panel(marks, title=f"graph {pieces}", x=HIDDEN, y=HIDDEN, equal=now.sheet is not None, listens="click")


def map_(data, noise, n_points, n_neighbors, method, start, point, state):
    """The positions in two dimensions, with the same edges and the same way."""
    setting = (data, noise, n_points, n_neighbors)
    now, X = load(data, noise, n_points), shown_map(*setting, method, start, state)
    return Panel(
        net(now, graph_of(*setting), X, way_from(*setting, point)[0]),
        key="map",
        title=f"{method if state is None else 'GP-LVM'}: {score(now, X)}",
        x=Axis("latent dimension 1"),
        y=Axis("latent dimension 2"),
        equal=True,
        listens="click",
        legend=False,
    )


def kept_distances(data, noise, n_points, n_neighbors, method, start):
    """Shepard's diagram: for some pairs, the distance in the map against the one that was to be kept."""
    setting = (data, noise, n_points, n_neighbors)
    pairs = some_pairs(len(load(data, noise, n_points).Y))
    X = layout(*map_of(*setting, method, start))
    wanted = geodesics(*setting) if method == "Isomap" else load(data, noise, n_points).distances
    delta, d = wanted[tuple(pairs.T)], np.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1)
    if method == "non-metric MDS":
        order = np.argsort(delta)
        line = Lines("wanted", delta[order], disparities(d, delta)[order], colour="accent", label="nearest in order")
    else:
        line = Lines("wanted", [0, delta.max()], [0, delta.max()], colour="accent", label="kept exactly")
    steps = f" after {STRESS_MAPS[method][1]} steps" if method in STRESS_MAPS else ""
    kind = "through the graph" if method == "Isomap" else "straight through space"
    return Panel(
        [Points("pairs", delta, d, size=2.5, opacity=0.5), line],
        title=f"distances: {method}{steps}",
        x=Axis(f"distance {kind}"),
        y=Axis("distance in the map"),
    )


def likelihood(data, noise, n_points, n_neighbors, method, start, beside, state):
    """Log likelihood of the GP-LVM against its iterations: from this map, and from PCA beside it."""
    own, rival = climbs(data, noise, n_points, n_neighbors, method, start, beside, state)
    marks = []
    for key, name, values, colour in (("own", method, own, 0), ("rival", "PCA", rival, "quiet")):
        if values:
            look = dict(colour=colour, label=f"from {name}: {values[-1]:.0f}")
            marks.append(Lines(key, np.arange(len(values)), values, **look))
            marks.append(Points(f"{key} now", [len(values) - 1], values[-1:], colour=colour))
    across = Axis("iteration", (-3, GP_STEPS + 3))
    return Panel(marks, title="GP-LVM from this map", x=across, y=Axis("log likelihood"))


def says(data, noise, n_points, n_neighbors, method, start, beside, state):
    """The numbers that the code shown prints."""
    setting = (data, noise, n_points, n_neighbors)
    now, lines = load(data, noise, n_points), graph_of(*setting)
    own, rival = climbs(*setting, method, start, beside, state)
    jumps = f", short circuits: {len(lines.jumps)}" if now.sheet is not None else ""
    what = method if state is None else f"GP-LVM, iteration {state.number}"
    found = score(now, shown_map(*setting, method, start, state))
    from_pca = f" (from PCA {rival[-1]:.1f})" if rival else ""
    return (
        f"pieces of the graph: {lines.n_pieces}{jumps}; {what}: {found}; "
        f"log likelihood of the GP-LVM {own[-1]:.1f}{from_pca}"
    )


panel_proximity = SceneOf(graph, map_, kept_distances, likelihood, defaults=OPENING, says=says)


CODE = """\
from itertools import islice
import numpy as np
from scipy.spatial.distance import cdist
from gplvm_edu import datasets
from gplvm_edu.gplvm import GPLVM
from gplvm_edu.metrics import nearest_neighbour_errors, procrustes_distance
from gplvm_edu.proximity import (
    MetricMDS, NonMetricMDS, SammonMapping, bridge_components, geodesic_distances, graph_components, neighbour_graph,
    principal_coordinates, short_circuits)
from gplvm_edu.starts import unit_scale

{load}
D = cdist(Y, Y)
graph = neighbour_graph(D, {n_neighbors})
n_pieces, piece = graph_components(graph)
if n_pieces > 1:
    graph = bridge_components(graph, D)
{make}


def climb(start):
    model = GPLVM(init=unit_scale(start, keep_proportions=True), latent_prior=None, max_iter={max_iter})
    return list(islice(model.iterates(Y), {number} + 1))[-1]


last = climb(X)
{after}print(f"pieces of the graph: {{n_pieces}}{jumps}; {what}: {score}; "
      f"log likelihood of the GP-LVM {{last.value:.1f}}{rival}")
"""
ROLL = """\
roll = datasets.make_swiss_roll({n_points}, {noise:g}, random_state=0)
Y, sheet = roll.data, roll.extra["sheet"]"""
LOAD = {
    "Swiss roll": ROLL,
    "roll with a hole": f"""{ROLL}
middle = (sheet.max(axis=0) + sheet.min(axis=0)) / 2
keep = np.any(np.abs(sheet - middle) > np.ptp(sheet, axis=0) * [0.2, 0.3], axis=1)
Y, sheet = Y[keep], sheet[keep]""",
    "oil flow": """\
oil = datasets.simulate_oil_flow({n_points}, random_state=0)
Y = oil.data + 0.1 * {noise:g} * np.random.default_rng(1).standard_normal(oil.data.shape)""",
}
MAKE = {
    "Isomap": "X, eigenvalues = principal_coordinates(geodesic_distances(graph), 2)",
    "PCA": "X, eigenvalues = principal_coordinates(D, 2)          # classical MDS of straight distances",
}
BY_STEPS = """\
model = {Model}(2, metric="distance", init="{start}", max_iter={max_iter}, tol=1e-4, random_state=0)
*_, state = model.iterates(D)
X = state.X"""


class ProximityExplorer(Explorer):
    """Controls for `panel_proximity`; Run starts a GP-LVM from the map that is shown, and one from PCA beside it."""

    title = "Where to start: a sheet, a map, a climb"
    panels = panel_proximity
    questions = (
        Question(
            "The graph has no short circuit at 7 neighbours. At 10, four of its 2,331 edges will jump from one layer "
            "of the roll to the next. How much of the map do four edges spoil?",
            OPENING,
            dict(n_neighbors=10),
            "Every shortest way from one end of the sheet to the other now takes a jump (the orange edges), so nearly "
            "all long distances are too short, and hardly a point keeps its place: the Procrustes distance goes from "
            "0.08 to 0.79.",
            ("the places where they jump", "about half of it", "nearly all of it"),
            2,
        ),
        Question(
            "Metric MDS keeps straight distances as well as any map can. Will it do better than PCA at unrolling?",
            OPENING | dict(method="PCA"),
            dict(method="metric MDS"),
            "Its distances are kept better (the cloud at the lower left lies nearer to the line), and the roll "
            "stays rolled up. The fault is not in how the map is made but in the distances it was given: chords "
            "cut through the air between the layers.",
            ("yes, it unrolls the sheet", "it unrolls half of it", "no, the sheet stays rolled up"),
            2,
        ),
        Question(
            "Now cut a hole into the sheet. Isomap still knows every neighbour. What will its map look like?",
            OPENING | dict(n_neighbors=6),
            dict(data="roll with a hole"),
            "Shortest ways must go round the hole, so distances across it are too long, and no flat map has such "
            "distances: the points above and below the hole are pushed apart, until it is almost twice as high. "
            "Isomap asks for a sheet in which straight lines stay inside.",
            ("the hole closes", "the hole has its true size", "the hole is too large"),
            2,
        ),
    )
    light = ("point",)
    opens_after_run = True

    def make_controls(self):
        return {
            "data": {"data": menu(DATA, name="data"), "noise": slider(0.0, 0.0, 1.5, 0.05, "noise")},
            "kernel": {"method": menu(METHODS, name="map")},
            "start": {"start": buttons(("classical", "random")), "beside": check(True, "GP-LVM also from PCA")},
            "size": {"n_neighbors": slider(7, 2, 20, 1, "neighbours"), "n_points": slider(400, 100, 400, 50, "points")},
            "more": {"point": number(0, 0, 399, "way from point")},
        }

    def ranges(self, settings):
        """The hole has taken some points away."""
        return {"point": {"max": len(load(*self.chosen(settings, "data", "noise", "n_points")).Y) - 1}}

    def unused(self, settings):
        why = {}
        if settings["method"] not in STRESS_MAPS:
            why["start"] = f"{settings['method']} needs no start"
        if settings["method"] == "PCA":
            why["beside"] = "the map is that of PCA"
        return why

    @staticmethod
    def chosen(settings, *names):
        """Some of the settings, in this order; without names those that a map depends on."""
        names = names or ("data", "noise", "n_points", "n_neighbors", "method", "start")
        return [settings[name] for name in names]

    def code(self, settings, state):
        data, method = settings["data"], settings["method"]
        make = MAKE.get(method)
        if make is None:
            Model, max_iter = STRESS_MAPS[method]
            make = BY_STEPS.format(Model=Model.__name__, start=settings["start"], max_iter=max_iter)
        after = "" if state is None else "X = last.X\n"
        rival = has_rival(method, settings["beside"])
        after += "last_of_pca = climb(principal_coordinates(D, 2)[0])\n" if rival else ""
        oil = data == "oil flow"
        return CODE.format(
            load=LOAD[data].format(**settings),
            n_neighbors=settings["n_neighbors"],
            make=make,
            max_iter=GP_STEPS,
            number=0 if state is None else state.number,
            after=after,
            what=method if state is None else f"GP-LVM, iteration {state.number}",
            jumps="" if oil else ", short circuits: {len(short_circuits(graph, sheet))}",
            score="{nearest_neighbour_errors(X, oil.target)} errors of {len(X)}"
            if oil
            else "Procrustes distance {procrustes_distance(sheet, X):.2f}",
            rival=" (from PCA {last_of_pca.value:.1f})" if rival else "",
        )

    def point(self, panel, x, y):
        """The point nearest to a click, in the graph or in the map."""
        drawn = self.scene.mark(panel, "points")
        return {"point": int(np.argmin((drawn.x - x) ** 2 + (drawn.y - y) ** 2))}

    def nudge(self, panel, right, up):
        """Arrow keys: the next point along the sheet."""
        order = np.argsort(load(*self.chosen(self.settings, "data", "noise", "n_points")).colour, kind="stable")
        place = int(np.flatnonzero(order == self.settings["point"])[0])
        return {"point": int(order[np.clip(place + right + up, 0, len(order) - 1)])}

    def iterates(self, settings):
        """The GP-LVM's own iterates from the map, and beside them those from PCA."""
        runs = [climb(*map_of(*self.chosen(settings)))]
        if has_rival(settings["method"], settings["beside"]):
            runs.append(climb(*self.chosen(settings, "data", "noise", "n_points"), None, "PCA", None))
        paths, X = ((), ()), None
        for step in range(GP_STEPS + 1):
            states = [next(run, None) for run in runs]
            if not any(states):  # both have come to rest
                return
            values = [() if state is None else (state.value,) for state in (*states, None)[:2]]
            paths = paths[0] + values[0], paths[1] + values[1]
            X = X if states[0] is None else states[0].X
            yield step / GP_STEPS, Step(step, X, *paths)


def explore_proximity(**settings) -> ProximityExplorer:
    """The live explorer of chapter 6; any control can be set: ``explore_proximity(method="PCA", n_neighbors=10)``."""
    return ProximityExplorer(**settings)
