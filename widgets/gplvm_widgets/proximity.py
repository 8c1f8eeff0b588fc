"""`explore_proximity`: a sheet, its neighbour graph, a map of it, and the GP-LVM that starts from that map."""

from functools import lru_cache
from typing import NamedTuple

import ipywidgets as W
import numpy as np
from matplotlib.figure import Figure
from scipy import sparse
from scipy.sparse import csgraph
from scipy.spatial.distance import cdist, squareform

from gplvm_edu import datasets
from gplvm_edu.gplvm import GPLVM
from gplvm_edu.metrics import nearest_neighbour_errors, procrustes_distance
from gplvm_edu.plotting import ACCENT, PALETTE, QUIET, in_style, new_figure, scatter_classes
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

from .explorer import Explorer, Question

DATA = ("Swiss roll", "roll with a hole", "oil flow")
METHODS = ("Isomap", "PCA", "metric MDS", "Sammon", "non-metric MDS")
STRESS_MAPS = {"metric MDS": (MetricMDS, 40), "Sammon": (SammonMapping, 40), "non-metric MDS": (NonMetricMDS, 20)}
GP_STEPS = 100
MARGINS = dict(left=0.07, right=0.985, bottom=0.085, top=0.93, wspace=0.2, hspace=0.42)
VIEW = np.array([[1.0, 0.0], [0.5, 0.22], [0.0, 1.0]])  # from three dimensions to the page


class Scene(NamedTuple):
    """Data, what is known about them, and their neighbour graph."""

    Y: np.ndarray
    distances: np.ndarray
    colour: np.ndarray  # position along the sheet, or class
    sheet: np.ndarray | None  # the true positions, where they are known
    graph: sparse.csr_matrix
    geodesics: np.ndarray
    n_pieces: int
    jumps: np.ndarray  # (n_jumps, 2)
    page: np.ndarray  # where to draw the points of the graph


@lru_cache(maxsize=32)
def load(data, noise, n_points):
    """Data (N, D), colours, and the flat sheet (None for the oil flow)."""
    if data == "oil flow":
        oil = datasets.simulate_oil_flow(n_points, random_state=0)
        shift = 0.1 * noise * np.random.default_rng(1).standard_normal(oil.data.shape)
        return oil.data + shift, oil.target, None
    roll = datasets.make_swiss_roll(n_points, noise, random_state=0)
    Y, colour, sheet = roll.data, roll.target, roll.extra["sheet"]
    if data == "roll with a hole":
        middle = (sheet.max(axis=0) + sheet.min(axis=0)) / 2
        keep = np.any(np.abs(sheet - middle) > np.ptp(sheet, axis=0) * [0.2, 0.3], axis=1)
        return Y[keep], colour[keep], sheet[keep]
    return Y, colour, sheet


@lru_cache(maxsize=32)
def scene(data, noise, n_points, n_neighbors):
    """Everything of the left half of the picture; pieces of the graph are bridged."""
    Y, colour, sheet = load(data, noise, n_points)
    D = cdist(Y, Y)
    graph = neighbour_graph(D, n_neighbors)
    n_pieces, _ = graph_components(graph)
    graph = graph if n_pieces == 1 else bridge_components(graph, D)
    jumps = short_circuits(graph, sheet) if sheet is not None else np.empty((0, 2), int)
    page = (Y - Y.mean(axis=0)) @ VIEW if Y.shape[1] == 3 else principal_coordinates(D, 2)[0]
    return Scene(Y, D, colour, sheet, graph, geodesic_distances(graph), n_pieces, jumps, page)


@lru_cache(maxsize=32)
def layout(data, noise, n_points, n_neighbors, method, start):
    """The map of one method: positions (N, 2), and the dissimilarities (N, N) that it tries to keep."""
    if method == "Isomap":
        geodesics = scene(data, noise, n_points, n_neighbors).geodesics
        return principal_coordinates(geodesics, 2)[0], geodesics
    return _map_of_chords(data, noise, n_points, method, start)


@lru_cache(maxsize=32)
def _map_of_chords(data, noise, n_points, method, start):
    """A map of straight-line distances, which do not depend on the number of neighbours."""
    Y = load(data, noise, n_points)[0]
    D = cdist(Y, Y)
    if method == "PCA":
        return principal_coordinates(D, 2)[0], D
    Model, max_iter = STRESS_MAPS[method]
    steps = Model(2, metric="distance", init=start, max_iter=max_iter, tol=1e-4, random_state=0).iterates(D)
    *_, last = steps
    return last.X, D


@lru_cache(maxsize=32)
def start_value(data, noise, n_points, n_neighbors, method, start):
    """Log likelihood of the GP-LVM with its default kernel at the map itself."""
    X, _ = layout(data, noise, n_points, n_neighbors, method, start)
    model = GPLVM(init=unit_scale(X, keep_proportions=True), latent_prior=None, max_iter=0)
    return next(iter(model.iterates(load(data, noise, n_points)[0]))).value


def score(now, X):
    """How good a map is, in words: Procrustes distance to the truth, or errors of nearest neighbours."""
    if now.sheet is not None:
        return f"Procrustes distance {procrustes_distance(now.sheet, X):.2f}"
    return f"{nearest_neighbour_errors(X, now.colour)} errors of {len(X)}"


def path_to(now, point):
    """The shortest path through the graph to this point from the one farthest away (in geodesic distance)."""
    far = int(np.argmax(now.geodesics[point]))
    _, previous = csgraph.dijkstra(now.graph, indices=far, return_predecessors=True)
    path = [point]
    while path[-1] != far:
        path.append(int(previous[path[-1]]))
    return np.array(path[::-1])


@in_style
def panel_proximity(
    data="Swiss roll",
    noise=0.0,
    method="Isomap",
    start="classical",
    n_neighbors=7,
    n_points=400,
    point=0,
    state=None,
    earlier=(),
) -> Figure:
    """Four views: data and graph, map, distances kept or not, and the GP-LVM's likelihood from the map on.

    Parameters
    ----------
    data : "Swiss roll", "roll with a hole" or "oil flow"
    noise : float
        Standard deviation of the noise (a tenth of it for the oil flow).
    method : "Isomap", "PCA", "metric MDS", "Sammon" or "non-metric MDS"
    start : "classical" or "random"
        Of the method itself, where it has one.
    n_neighbors, n_points : int
    point : int
        One end of the path that is drawn; the other is the point farthest from it.
    state : tuple or None
        (positions, log likelihoods so far, name) of the running GP-LVM.
    earlier : sequence of (name, log likelihoods)
        Runs to compare with.

    Returns
    -------
    matplotlib Figure
    """
    setting = (data, noise, n_points, n_neighbors)
    now, point = scene(*setting), min(point, len(load(data, noise, n_points)[0]) - 1)
    X, wanted = layout(*setting, method, start)
    figure, axes = new_figure(2, 2, size=(9.2, 6.4), margins=MARGINS)
    draw_graph(axes[0, 0], now)
    draw_map(axes[0, 1], now, X if state is None else state[0], method if state is None else "GP-LVM")
    draw_distances(axes[1, 0], now, X, wanted, method)
    draw_climb(axes[1, 1], start_value(*setting, method, start), state, earlier)
    figure.moving = [artist for place in axes[0] for artist in path_artists(place)]
    figure.moving.append(
        axes[0, 0].text(
            0.5, -0.02, "", transform=axes[0, 0].transAxes, ha="center", va="top", fontsize="small", animated=True
        )
    )
    move_path(figure, now, X if state is None else state[0], point)
    return figure


def path_artists(axes):
    """A line and its two ends, to be moved by `move_path`."""
    return (
        *axes.plot([], [], "-", color="black", linewidth=1.5, zorder=4, animated=True),
        *axes.plot([], [], "o", color="black", markersize=6, zorder=5, animated=True),
    )


def move_path(figure, now, X, point):
    """Draw the shortest path between `point` and the point farthest from it in both pictures, with its lengths."""
    path = path_to(now, point)
    for (line, ends), places in zip((figure.moving[:2], figure.moving[2:4]), (now.page, X), strict=True):
        line.set_data(*places[path].T)
        ends.set_data(*places[path[[0, -1]]].T)
    n, m = path[[0, -1]]
    text = f"straight {now.distances[n, m]:.3g}, along the graph {now.geodesics[n, m]:.3g}"
    if now.sheet is not None:
        text += f", on the flat sheet {np.linalg.norm(now.sheet[n] - now.sheet[m]):.3g}"
    figure.moving[4].set_text(text)


def draw_points(axes, now, X):
    """Points coloured by their position on the sheet, or with the marker of their class."""
    if now.sheet is None:
        scatter_classes(axes, X, now.colour, size=10, legend=False)
    else:
        axes.scatter(*X.T, c=now.colour, s=9, cmap="viridis", linewidths=0)


def segments(X, pairs):
    """Coordinates of many separate lines as one line with gaps, which is drawn ten times faster."""
    ends = np.stack([X[pairs[:, 0]], X[pairs[:, 1]], np.full((len(pairs), 2), np.nan)], axis=1)
    return ends.reshape(-1, 2).T


def draw_edges(axes, X, graph, jumps):
    """The edges of the graph in grey; those between two layers of the sheet in red."""
    edges = sparse.triu(graph).tocoo()
    axes.plot(*segments(X, np.c_[edges.row, edges.col]), "-", color="#bbbbbb", linewidth=0.5, zorder=0)
    axes.plot(*segments(X, jumps), "-", color=ACCENT, linewidth=1.6, zorder=3)


def draw_graph(axes, now):
    """The data as they lie in space, and their graph."""
    draw_edges(axes, now.page, now.graph, now.jumps)
    draw_points(axes, now, now.page)
    pieces = "one piece" if now.n_pieces == 1 else f"{now.n_pieces} pieces, bridged"
    jumps = f", {len(now.jumps)} short circuits" if now.sheet is not None else ""
    axes.set(title=f"neighbour graph: {pieces}{jumps}", xticks=[], yticks=[], xlabel="", ylabel="")
    axes.spines[:].set_visible(False)
    axes.set_gid("graph")


def draw_map(axes, now, X, name):
    """The positions in two dimensions, with the same edges."""
    draw_edges(axes, X, now.graph, now.jumps)
    draw_points(axes, now, X)
    axes.set(title=f"{name}: {score(now, X)}", xlabel="latent dimension 1", ylabel="latent dimension 2")
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_gid("map")


def draw_distances(axes, now, X, wanted, method):
    """Shepard's diagram: for some pairs, the distance in the map against the one that was to be kept."""
    delta, d = squareform(wanted, checks=False), squareform(cdist(X, X), checks=False)
    shown = np.random.default_rng(0).choice(len(d), size=min(1500, len(d)), replace=False)
    axes.plot(delta[shown], d[shown], ".", color=PALETTE[0], markersize=2.5, alpha=0.5)
    if method == "non-metric MDS":
        order = shown[np.argsort(delta[shown])]
        axes.plot(delta[order], disparities(d, delta)[order], "-", color=ACCENT, linewidth=1.2, label="disparities")
    else:
        axes.plot([0, delta.max()], [0, delta.max()], "-", color=ACCENT, linewidth=1.2, label="kept exactly")
    kind = "along the graph" if method == "Isomap" else "straight through space"
    axes.set(title="distances: kept or not", xlabel=f"distance {kind}", ylabel="distance in the map")
    axes.legend(fontsize="small", loc="upper left")


def draw_climb(axes, at_start, state, earlier):
    """Log likelihood against iteration: this run in colour, earlier ones in grey."""
    lines = [(name, values, QUIET) for name, values in earlier]
    if state is not None:
        lines.append((state[2], state[1], PALETTE[0]))
    for name, values, colour in lines:
        axes.plot(values, color=colour)
        axes.annotate(
            f"{name}: {values[-1]:.0f}",
            (len(values) - 1, values[-1]),
            xytext=(-4, -11),
            ha="right",
            textcoords="offset points",
            color=colour,
            fontsize="small",
        )
    axes.plot(0, at_start, "o", color=ACCENT)
    axes.set(
        title=f"GP-LVM from this map: log likelihood {at_start if state is None else state[1][-1]:.0f}",
        xlabel="iteration",
        ylabel="log likelihood",
        xlim=(-0.03 * GP_STEPS, 1.03 * GP_STEPS),
    )
    axes.margins(y=0.15)
    if state is None and not earlier:
        axes.text(
            0.5, 0.5, "press Run: the GP-LVM climbs from this map", transform=axes.transAxes, ha="center", color=QUIET
        )


CODE = """\
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
geodesics = geodesic_distances(graph)
{make}
start = unit_scale(X, keep_proportions=True)
model = GPLVM(init=start, latent_prior=None, max_iter={steps})      # Run goes on from here
value = next(model.iterates(Y)).value
{report}
print(f"{{n_pieces}} pieces; log likelihood of the GP-LVM at this start: {{value:.1f}}")
"""
LOAD = {
    "Swiss roll": """roll = datasets.make_swiss_roll({n_points}, {noise:g}, random_state=0)
Y, sheet = roll.data, roll.extra["sheet"]""",
    "roll with a hole": """roll = datasets.make_swiss_roll({n_points}, {noise:g}, random_state=0)
Y, sheet = roll.data, roll.extra["sheet"]
middle = (sheet.max(axis=0) + sheet.min(axis=0)) / 2
keep = np.any(np.abs(sheet - middle) > np.ptp(sheet, axis=0) * [0.2, 0.3], axis=1)
Y, sheet = Y[keep], sheet[keep]""",
    "oil flow": """oil = datasets.simulate_oil_flow({n_points}, random_state=0)
Y = oil.data + 0.1 * {noise:g} * np.random.default_rng(1).standard_normal(oil.data.shape)""",
}
MAKE = {
    "Isomap": "X, eigenvalues = principal_coordinates(geodesics, 2)",
    "PCA": "X, eigenvalues = principal_coordinates(D, 2)          # classical MDS of straight distances",
}
STEPS = """model = {Model}(2, metric="distance", init="{start}", max_iter={max_iter}, tol=1e-4, random_state=0)
*_, last = model.iterates(D)
X = last.X"""


class ProximityExplorer(Explorer):
    """Controls for `panel_proximity`; Run starts a GP-LVM from the map that is shown."""

    title = "Where to start: a sheet, a map, a climb"
    questions = (
        Question(
            "The graph has no short circuit at 7 neighbours. At 10, four of its edges, the red ones, jump from "
            "one layer of the roll to the next. How much of the map do four edges spoil?",
            dict(data="Swiss roll", noise=0.0, method="Isomap", start="classical", n_neighbors=7, n_points=400),
            dict(n_neighbors=10),
            "All of it. Every shortest way from one end of the sheet to the other now takes a jump, so nearly all "
            "long distances are wrong: the Procrustes distance goes from 0.08 to 0.79.",
        ),
        Question(
            "Metric MDS keeps straight distances as well as any map can. Will it do better than PCA at unrolling?",
            dict(data="Swiss roll", noise=0.0, method="PCA", start="classical", n_neighbors=7, n_points=400),
            dict(method="metric MDS"),
            "Its distances are kept better (the cloud at the lower left lies nearer to the line), and the roll "
            "stays rolled up. The fault is not in how the map is made but in the distances it was given: chords "
            "cut through the air between the layers.",
        ),
        Question(
            "Now cut a hole into the sheet. Isomap still knows every neighbour. What will its map look like?",
            dict(data="Swiss roll", noise=0.0, method="Isomap", start="classical", n_neighbors=7, n_points=600),
            dict(data="roll with a hole"),
            "The hole opens wide. Shortest ways must go round it, so distances across it are too long, and no "
            "flat map has such distances: the points beside the hole are pushed apart. Isomap asks for a sheet "
            "in which straight lines stay inside.",
        ),
    )

    light = ("point",)
    keeps_iterates = True

    def __init__(self, **settings):
        self._runs = {}  # {data, noise, points: {name: log likelihoods}}
        super().__init__(**settings)

    def make_controls(self):
        wide = dict(style={"description_width": "initial"})
        slider = dict(layout=W.Layout(width="270px"), continuous_update=True, **wide)
        return {
            "data": {
                "data": W.ToggleButtons(options=DATA, description="data", style={"button_width": "120px"}),
                "noise": W.FloatSlider(
                    0.0,
                    min=0.0,
                    max=1.5,
                    step=0.05,
                    description="noise",
                    readout_format=".2f",
                    layout=W.Layout(width="260px"),
                    style={"description_width": "50px"},
                ),
            },
            "kernel": {"method": W.Dropdown(options=METHODS, description="which distances, which map", **wide)},
            "start": {
                "start": W.ToggleButtons(
                    options=("classical", "random"),
                    style={"button_width": "90px"},
                    tooltips=("classical MDS, that is PCA", "random positions"),
                )
            },
            "size": {
                "n_neighbors": W.IntSlider(7, 2, 20, description="neighbours", **slider),
                "n_points": W.IntSlider(400, 100, 600, 50, description="points", **slider),
            },
            "more": {
                "point": W.BoundedIntText(
                    0, 0, 599, description="path from point", layout=W.Layout(width="190px"), **wide
                )
            },
        }

    def panel(self, settings, state):
        runs = self._runs.get(tuple(settings[name] for name in ("data", "noise", "n_points")), {})
        earlier = [run for run in runs.items() if state is None or run[0] != state[2]]
        return panel_proximity(**settings, state=state, earlier=earlier[-3:])

    def retouch(self, figure, settings):
        """Only the path moves with `point`."""
        now = scene(*(settings[name] for name in ("data", "noise", "n_points", "n_neighbors")))
        move_path(figure, now, self.positions(), min(settings["point"], len(now.Y) - 1))

    def positions(self):
        """The map that is shown: the GP-LVM's when it has run, the method's own otherwise."""
        if self.state is not None:
            return self.state[0]
        order = ("data", "noise", "n_points", "n_neighbors", "method", "start")
        return layout(*(self.settings[name] for name in order))[0]

    def code(self, settings):
        method = settings["method"]
        if method in MAKE:
            make = MAKE[method]
        else:
            Model, max_iter = STRESS_MAPS[method]
            make = STEPS.format(Model=Model.__name__, start=settings["start"], max_iter=max_iter)
        report = (
            'print(f"{nearest_neighbour_errors(X, oil.target)} errors of {len(X)}")'
            if settings["data"] == "oil flow"
            else 'print(f"{len(short_circuits(graph, sheet))} short circuits, "\n'
            '      f"Procrustes distance {procrustes_distance(sheet, X):.3f}")'
        )
        return CODE.format(
            load=LOAD[settings["data"]].format(**settings),
            n_neighbors=settings["n_neighbors"],
            make=make,
            steps=GP_STEPS,
            report=report,
        )

    def click(self, axes, x, y):
        """The point nearest to a click, in the graph or in the map."""
        if axes.get_gid() not in ("graph", "map"):
            return {}
        now = scene(*(self.settings[name] for name in ("data", "noise", "n_points", "n_neighbors")))
        X = now.page if axes.get_gid() == "graph" else self.positions()
        return {"point": int(np.argmin(np.sum((X - [x, y]) ** 2, axis=1)))}

    def nudge(self, right, up):
        """Arrow keys: the next point along the sheet."""
        colour = load(*(self.settings[name] for name in ("data", "noise", "n_points")))[1]
        order = np.argsort(colour, kind="stable")
        place = int(np.flatnonzero(order == min(self.settings["point"], len(order) - 1))[0])
        return {"point": int(order[np.clip(place + right + up, 0, len(order) - 1)])}

    def iterates(self, settings):
        """The GP-LVM's own iterates, started from the map."""
        setting = [settings[name] for name in ("data", "noise", "n_points", "n_neighbors", "method", "start")]
        X, _ = layout(*setting)
        model = GPLVM(init=unit_scale(X, keep_proportions=True), latent_prior=None, max_iter=GP_STEPS)
        values, name = [], self._name(settings)
        runs = self._runs.setdefault(tuple(setting[:3]), {})
        for step, now in enumerate(model.iterates(load(*setting[:3])[0])):
            values.append(now.value)
            runs[name] = tuple(values)
            yield min(step / GP_STEPS, 1.0), (now.X, runs[name], name)

    @staticmethod
    def _name(settings):
        method = settings["method"]
        if method == "Isomap":
            return f"Isomap, {settings['n_neighbors']} neighbours"
        return f"{method}, random start" if method in STRESS_MAPS and settings["start"] == "random" else method


def explore_proximity(**settings) -> ProximityExplorer:
    """The live explorer of chapter 6; any control can be set: ``explore_proximity(method="PCA", n_neighbors=10)``."""
    return ProximityExplorer(**settings)
