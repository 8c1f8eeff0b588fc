"""`neighbour_graph`: a rolled sheet, its graph of nearest neighbours, and the shortest path between two points.

The page computes graph and path itself; here the same numbers come from `gplvm_edu.proximity`, for the opening and for
the tests. The curve, the longest geodesic for each k, is computed here and stored.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.spatial.distance import cdist

from gplvm_edu import checks, datasets, proximity

from ..drawing import trails
from ..scene import HIDDEN, Axis, Lines, Panel, Points, Scene
from ..scene.pack import pack
from .figure import LivingFigure, living, modules

MOST, FEWEST, LARGEST = 16, 20, 500  # neighbours on the slider; points of a sheet
VIEWS = {  # from three dimensions to the page
    "from the side": np.array([[1.0, 0.0], [0.5, 0.22], [0.0, 1.0]]),
    "along the axis": np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]),
}
HINT = (
    "Drag an end of the path to another point, in the roll or on the sheet; move k by its slider or in the curve. "
    "Keys: arrows move the ringed end, Space takes the other one. Question: at which k does the path first jump "
    "between layers, and what does the longest geodesic do there? (The curve knows no sheet: it needs no truth.) "
    "In Python: proximity.neighbour_graph and proximity.geodesic_distances."
)


class Sheet(NamedTuple):
    """Rows (N, 3), their true places on the flat sheet (N, 2), a number to colour them by (N,), and all distances."""

    Y: np.ndarray
    flat: np.ndarray
    colour: np.ndarray
    distances: np.ndarray


class Numbers(NamedTuple):
    """What is drawn, as numbers."""

    edges: np.ndarray  # (n_edges, 2)
    path: np.ndarray  # points on the shortest path, both ends among them; none where there is no path
    jumps: np.ndarray  # (n_jumps, 2) steps of the path between layers
    length: float  # of the path
    along: float  # straight along the sheet
    pieces: int


class Curve(NamedTuple):
    """For k = 1, 2, ...: the longest geodesic, its ends, and into how many pieces the graph falls."""

    longest: np.ndarray
    ends: np.ndarray
    pieces: np.ndarray

    def first_fall(self):
        """The first k at which the longest geodesic of a graph in one piece falls by `FALL` or more; None: nowhere."""
        falls = (self.longest[1:] <= (1 - proximity.FALL) * self.longest[:-1]) & (self.pieces[:-1] == 1)
        return int(np.argmax(falls)) + 2 if falls.any() else None


def neighbour_graph(
    roll=None, n_neighbors=7, ends=None, title="Find the short circuit", name="neighbour-graph"
) -> LivingFigure:
    """The neighbour graph of a rolled sheet under the reader's hand, and the shortest path between two points.

    Parameters
    ----------
    roll : Dataset, optional
        With three columns and the flat sheet in ``extra["sheet"]``, 20 to 500 points, as `datasets.make_swiss_roll`
        gives it. Without it, the roll of 400 points of chapter 6.
    n_neighbors : int
        k to begin with, from 1 to 16.
    ends : (int, int), optional
        The two points to begin with; without it, the ends of the longest geodesic.
    title : str
    name : str
        Letters, digits and dashes: the element's id is "gplvm-living-" and this. Two figures on one page need two.

    Returns
    -------
    LivingFigure

    Notes
    -----
    Chapter 6, equations (6.15) and (6.16). What the page computes is what `proximity.neighbour_graph`,
    `proximity.geodesic_distances` and `proximity.short_circuits` give; that a step jumps is known from the sheet, the
    longest geodesic is not: where it falls by a quarter from one k to the next, a short circuit has opened (6.18b). The
    rule is no law: on ten rolls of 400 points (seeds 0 to 9) the first such fall was at the first k with a short
    circuit on 9; one (seed 8) has short circuits from k = 3 on, where it is first in one piece, and falls only at 8.

    Examples
    --------
    >>> neighbour_graph(n_neighbors=9, ends=(0, 9)).scene.says.split("; ")
    ['k = 9, 1 piece: path 37.4 in 12 steps, 35.1 straight along the sheet, ratio 1.06', 'no steps jump between layers']
    """
    sheet = check_roll(roll)
    N = len(sheet.Y)
    k = checks.whole_number("n_neighbors", n_neighbors, 1, MOST)
    curve = curve_of(sheet)
    ends = curve.ends[k - 1] if ends is None else check_ends(ends, N)
    stored = {
        "rows": sheet.Y,
        "sheet": sheet.flat,
        "most": MOST,
        "opening": {"k": k, "from": int(ends[0]), "to": int(ends[1])},
        "views": {view: V.ravel().tolist() for view, V in VIEWS.items()},
        "longest": curve.longest,
        "longest_ends": curve.ends.ravel(),
    }
    scene = graph_scene(sheet, curve, k, ends)
    return living(scene, modules("marks.js", "neighbour_graph.js"), stored, name, title, HINT, width=940)


# ---------------------------------------------------------------------------------------------- data
def check_roll(roll) -> Sheet:
    """The rows and the sheet, with their distances."""
    roll = datasets.make_swiss_roll(400, random_state=0) if roll is None else roll
    if not hasattr(roll, "extra") or "sheet" not in roll.extra:
        raise ValueError(
            "roll must be a Dataset that knows its flat sheet, extra['sheet'], such as datasets.make_swiss_roll(400)."
        )
    Y, flat = (np.asarray(part, float) for part in (roll.data, roll.extra["sheet"]))
    Y = checks.points(Y, "roll.data", at_least=FEWEST, advice="Take more points.")
    if not (Y.shape[1] == 3 and flat.shape == (len(Y), 2) and np.isfinite(flat).all() and len(Y) <= LARGEST):
        raise ValueError(
            f"roll needs three columns, {FEWEST} to {LARGEST} points and two coordinates of each on the sheet, got "
            f"data {Y.shape} and a sheet {flat.shape}."
        )
    return Sheet(Y, flat, np.asarray(roll.target, float), cdist(Y, Y))


def check_ends(ends, N):
    """Two points by their numbers."""
    if np.shape(ends) != (2,):
        raise ValueError(f"ends must be two numbers of points, got {checks.shown(ends)}.")
    return [checks.whole_number("an end of ends", int(n) if isinstance(n, np.integer) else n, 0, N - 1) for n in ends]


def curve_of(sheet) -> Curve:
    """The longest geodesic for every k of the slider; between pieces there is none, so the longest inside one."""
    longest, ends, pieces = [], [], []
    for k in range(1, MOST + 1):
        graph = proximity.neighbour_graph(sheet.distances, k)
        G = proximity.geodesic_distances(graph)
        G[np.isinf(G)] = -1.0
        ends.append(np.unravel_index(np.argmax(G), G.shape))
        longest.append(G.max())
        pieces.append(proximity.graph_components(graph)[0])
    return Curve(np.array(longest), np.array(ends), np.array(pieces))


def graph_numbers(sheet, k, ends) -> Numbers:
    """What the page shows, from the functions of `gplvm_edu.proximity`."""
    graph = proximity.neighbour_graph(sheet.distances, k)
    jumps = {tuple(pair) for pair in proximity.short_circuits(graph, sheet.flat).tolist()}
    length, before = csgraph.dijkstra(graph, indices=ends[0], return_predecessors=True)
    path = [int(ends[1])]
    while path[0] != ends[0] and before[path[0]] >= 0:
        path.insert(0, int(before[path[0]]))
    path = path if path[0] == ends[0] else []
    steps = [(n, m) for n, m in pairwise(path) if (min(n, m), max(n, m)) in jumps]
    edges = np.column_stack(sparse.triu(graph).coords)  # one between duplicates has length 0
    along = float(np.linalg.norm(sheet.flat[ends[0]] - sheet.flat[ends[1]]))
    pieces = proximity.graph_components(graph)[0]
    return Numbers(edges, np.array(path, int), np.array(steps, int).reshape(-1, 2), length[ends[1]], along, pieces)


# ---------------------------------------------------------------------------------------------- the opening
class GraphScene(Scene):
    """A scene whose edges are not stored: the page finds them itself."""

    def wire(self, stored=False):
        """As for every scene, without the edges."""
        wired, nothing = super().wire(stored), pack(np.empty(0), stored)
        for mark in (mark for panel in wired["panels"] for mark in panel["marks"] if mark["key"] == "edges"):
            mark.update(x=nothing, y=nothing)
            del mark["order"]
        return wired


def graph_scene(sheet, curve, k, ends, view="from the side") -> Scene:
    """The picture of one state."""
    drawn = graph_numbers(sheet, k, ends)
    roll = Panel(
        drawn_on(sheet.Y @ VIEWS[view], sheet, drawn, ends, "shortest path", "its jumps between layers"),
        title="the roll and its graph",
        x=HIDDEN,
        y=HIDDEN,
        equal=True,
        key="roll",
        listens="drag",
        span=5,
        rows=2,
    )
    flat = Panel(
        [
            *drawn_on(sheet.flat, sheet, drawn, ends),
            Lines(
                "straight", *sheet.flat[list(ends)].T, colour=3, width=2.2, dash=True, label="straight along the sheet"
            ),
        ],
        title="the same on the flat sheet: true places",
        x=HIDDEN,
        y=HIDDEN,
        equal=True,
        key="sheet",
        listens="drag",
        span=7,
    )
    panels = [roll, flat, curve_panel(curve, k)]
    return GraphScene(panels, columns=12, row_height=190, says=sentence(k, drawn))


def drawn_on(places, sheet, drawn, ends, *labels):
    """The marks of the graph and of the path, with the points at these places of the page."""
    (x, y), ends = places.T, list(ends)
    path_label, jump_label = labels or ("", "")
    return [
        Lines("edges", x, y, order=trails(drawn.edges, len(x)), colour="quiet", width=0.5, opacity=0.55),
        Points("points", x, y, values=sheet.colour, size=4.5),
        Lines("path", *places[drawn.path].T, colour="ink", width=2.4, label=path_label),
        Lines("jumps", *joined(places, drawn.jumps), colour="accent", width=3.2, label=jump_label),
        Points("ends", *places[ends].T, colour="ink", size=9),
        Points("chosen", *places[ends[1:]].T, colour="accent", hollow=True, size=17),
    ]


def joined(places, pairs):
    """(x, y) of one line for each pair of points, with gaps between them."""
    gap = np.full((len(pairs), 1, 2), np.nan)
    return np.concatenate([places[pairs], gap], axis=1).reshape(-1, 2).T


def curve_panel(curve, k):
    """The longest geodesic against k; hollow where the graph is in pieces."""
    place, whole = np.arange(1, MOST + 1), curve.pieces == 1
    marks = [
        Lines("curve", place, curve.longest, colour=0, width=1.6),
        Points("whole", place[whole], curve.longest[whole], colour=0, size=6, label="graph in one piece"),
        Points("pieces", place[~whole], curve.longest[~whole], colour=0, size=6, hollow=True, label="in pieces"),
        Points("now", [k], [curve.longest[k - 1]], colour="accent", hollow=True, size=15),
    ]
    return Panel(
        marks,
        title="longest geodesic",
        x=Axis("k, neighbours of each point", (0.4, MOST + 0.6)),
        y=Axis("", (0.0, 1.12 * curve.longest.max())),
        key="curve",
        listens="drag",
        span=7,
    )


def sentence(k, drawn):
    """Lengths, pieces and jumps, in words."""
    pieces = "1 piece" if drawn.pieces == 1 else f"{drawn.pieces} pieces"
    straight = f"{drawn.along:.1f} straight along the sheet"
    if not len(drawn.path):
        return f"k = {k}, {pieces}: no path from one point to the other, {straight}"
    n, jumps = len(drawn.path) - 1, len(drawn.jumps)
    ratio = f", ratio {drawn.length / drawn.along:.2f}" if drawn.along > 0 else ""
    layers = f"{jumps or 'no'} {'step jumps' if jumps == 1 else 'steps jump'} between layers"
    path = f"path {drawn.length:.1f} in {n} {'step' if n == 1 else 'steps'}"
    return f"k = {k}, {pieces}: {path}, {straight}{ratio}; {layers}"
