"""One GP-LVM, many starts: the comparison that chapter 6 makes on every data set, and its figures on the real oil.

Beside it the chapter's studies on many draws: how many neighbours, Isomap's conditions broken, starts on a roll.
"""

import warnings

import numpy as np
from scipy.spatial.distance import cdist, squareform

from ..datasets import load_oil_flow, make_swiss_roll, simulate_oil_flow
from ..datasets.toys import spiral_length
from ..gplvm import GPLVM
from ..gtm import GTM
from ..kernels import RBF
from ..metrics import nearest_neighbour_errors, procrustes_align, procrustes_distance, subspace_angle
from ..proximity import (
    Isomap,
    MetricMDS,
    NonMetricMDS,
    SammonMapping,
    choose_neighbours,
    geodesic_distances,
    laplacian_coordinates,
    lle_coordinates,
    neighbour_graph,
    principal_coordinates,
    reconstruction_weights,
    residual_variance,
    short_circuits,
    smallest_connecting_k,
)
from ..starts import unit_scale
from ..unify import KernelPCA, leading_eigenpairs
from . import collect

# Lawrence (2005), table 2: errors on 100 points of the oil flow data. "Sammon" is called metric MDS there.
PRINTED_ERRORS = {"PCA": 20, "kernel PCA": 13, "non-metric MDS": 13, "Sammon": 6, "GP-LVM": 4, "GTM": 7}
SCORES = ("PCA", "kernel PCA")  # starts that are scaled column by column; all others are scaled as a whole
SIZES = {"random, a tenth": 0.1, "random, a hundredth": 0.01}  # starts of another size than 1
N_RANDOM = 30
WIDTHS = np.geomspace(0.01, 100.0, 161)  # inverse widths; the paper tried widths in this range
NEIGHBOURS = range(3, 16)

# The studies on rolls. CHOSEN_ON and FRESH are rolls that were seen when the fall of a quarter was chosen for
# `choose_neighbours`: a third, read off rolls of 400 points, misses the cliff of most rolls of 1000. UNSEEN were not.
# A map is unrolled whose Procrustes distance to the sheet is below UNROLLED: a map of the length alone is 0.21 to 0.24
# from its sheet.
NOISE, UNROLLED = 0.2, 0.2  # NOISE: of the rolls
CHOSEN_ON, FRESH, UNSEEN, OTHERS = range(20), range(20, 30), range(30, 50), range(50, 150)  # seeds of rolls
FIXED = (4, 5, 6, 7)  # neighbours for every roll, whatever it says: the rule's rivals
TRIED = range(4, 21)  # numbers of neighbours among which the rule looks, and the least residual variance
HINDSIGHT = range(3, 21)  # and among which the best is looked for
GAPS = (6.28, 5.0, 4.0, 3.0)  # between the layers of a roll; that of `make_swiss_roll` is 2 pi
HOLES = (0.0, 0.2, 0.4, 0.6)  # share of the sheet's length and width that is cut out of its middle
CAPS = (30, 60, 90, 120, 150)  # degrees from the pole of a ball to the rim of a bowl
RIDGES = (1e3, 1e-3, 1e-5, 1e-7)  # of LLE; the second is the usual one
EVERY = (  # starts on a roll
    *("PCA", "Isomap", "Isomap, by columns", "Isomap, a tenth"),
    *("Laplacian eigenmaps", "LLE", "LLE, ridge 1e-5", "LLE, ridge 1e-7"),
)
BOTH = EVERY[:2]
STEPS = 60  # of a GP-LVM on a roll


def start_maps(Y, n_neighbors=5, random_state=0):
    """Every map of the course so far that can start a GP-LVM: {name: positions (N, 2)}, by (6.17) and its relatives.

    Notes
    -----
    Chapter 6, equations (6.2), (6.9), (6.11) and (6.17).

    Examples
    --------
    >>> list(start_maps(np.random.default_rng(0).standard_normal((12, 3))))
    ['PCA', 'kernel PCA', 'metric MDS', 'Sammon', 'non-metric MDS', 'Isomap', 'random', ...]
    """
    random = np.random.default_rng(random_state).standard_normal((len(Y), 2))
    return {
        "PCA": principal_coordinates(cdist(Y, Y), 2)[0],
        "kernel PCA": KernelPCA(2).fit_transform(Y),
        "metric MDS": MetricMDS(2).fit_transform(Y),
        "Sammon": SammonMapping(2).fit_transform(Y),
        "non-metric MDS": NonMetricMDS(2).fit_transform(Y),
        "Isomap": Isomap(2, n_neighbors).fit_transform(Y),
        **dict.fromkeys(("random", *SIZES), random),
    }


def compare_starts(Y, target, starts, max_iter=300):
    """Errors of each map, and errors and log likelihood of the GP-LVM that starts from it.

    Parameters
    ----------
    Y : ndarray (N, D)
    target : sequence (N,)
    starts : dict
        {name: positions (N, q)}; those of `SCORES` are scaled column by column, others as a whole, to size 1 or that
        of `SIZES`.
    max_iter : int
        Of the GP-LVM, without a prior on the positions.

    Returns
    -------
    dict
        {name: {"errors": int, "gplvm_errors": int, "gplvm_log_likelihood": float}}.

    Notes
    -----
    Chapter 6, equations (5.13) and (6.20).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> report = compare_starts(rng.standard_normal((9, 3)), [0, 1, 2] * 3, {"any": rng.standard_normal((9, 2))}, 5)
    >>> sorted(report["any"])
    ['errors', 'gplvm_errors', 'gplvm_log_likelihood']
    """
    report = {}
    for name, X in starts.items():
        start = SIZES.get(name, 1.0) * unit_scale(X, keep_proportions=name not in SCORES)
        model = GPLVM(X.shape[1], init=start, latent_prior=None, max_iter=max_iter).fit(Y)
        report[name] = {
            "errors": nearest_neighbour_errors(X, target),
            "gplvm_errors": nearest_neighbour_errors(model.embedding_, target),
            "gplvm_log_likelihood": model.log_likelihood_,
        }
    return report


def kernel_pca_errors(Y, target):
    """Errors at every width: as chapter 3 has it, and with the centring of the kernel matrix left out."""
    centred, raw = [], []
    for w in WIDTHS:
        kernel = RBF(1.0, float(w))
        centred.append(nearest_neighbour_errors(KernelPCA(2, kernel=kernel).fit_transform(Y), target))
        lam, U, _ = leading_eigenpairs(kernel(Y), 2)
        raw.append(nearest_neighbour_errors(U * np.sqrt(lam), target))
    return {"inverse_width": [round(float(w), 4) for w in WIDTHS], "errors": centred, "errors without centring": raw}


def random_starts(Y, target, Model):
    """Stress and errors from PCA and from N_RANDOM random starts."""
    fits = [Model(2).fit(Y)] + [Model(2, init="random", random_state=seed).fit(Y) for seed in range(N_RANDOM)]
    return {
        "stress": [round(fit.stress_, 5) for fit in fits],
        "errors": [nearest_neighbour_errors(fit.embedding_, target) for fit in fits],
    }


def isomap_errors(Y, target):
    """Errors and number of pieces for every number of neighbours."""
    fits = [Isomap(2, k).fit(Y) for k in NEIGHBOURS]
    return {
        "n_neighbors": list(NEIGHBOURS),
        "pieces": [fit.n_pieces_ for fit in fits],
        "errors": [nearest_neighbour_errors(fit.embedding_, target) for fit in fits],
    }


def table_of_starts(Y, target):
    """`compare_starts` from all of `start_maps`, rounded."""
    table = compare_starts(Y, target, start_maps(Y))
    return {name: row | {"gplvm_log_likelihood": round(row["gplvm_log_likelihood"], 1)} for name, row in table.items()}


# ---------------------------------------------------------------------- the chapter's studies on many draws
def roll_up(sheet, gap):
    r"""Points (N, 3) of a flat sheet (N, 2), rolled up with a given gap between the layers; lengths do not change.

    .. math:: y = (b t \cos t,\ v,\ b t \sin t), \qquad b = \text{gap} / 2\pi, \qquad b\, s(t) = \text{the way along}

    Notes
    -----
    With a gap of 2 pi it is the roll of `make_swiss_roll`, equation (B.17), found by inverting (B.18) on a grid.

    Examples
    --------
    >>> roll = make_swiss_roll(50, random_state=0)
    >>> float(abs(roll_up(roll.extra["sheet"], 2 * np.pi) - roll.data).max()) < 1e-4
    True
    """
    b, grid = gap / (2 * np.pi), np.linspace(0.0, 200.0, 100_001)
    t = np.interp(sheet[:, 0], b * spiral_length(grid), grid)
    return np.column_stack([b * t * np.cos(t), sheet[:, 1], b * t * np.sin(t)])


def with_hole(roll, share):
    """Data and sheet of a roll out of whose middle a rectangle is cut: this share of its length and of its width.

    Examples
    --------
    >>> Y, sheet = with_hole(make_swiss_roll(100, random_state=0), 0.5)
    >>> len(Y) == len(sheet) < 90
    True
    """
    sheet = roll.extra["sheet"]
    middle = (sheet.max(axis=0) + sheet.min(axis=0)) / 2
    keep = np.any(np.abs(sheet - middle) >= share / 2 * np.ptp(sheet, axis=0), axis=1)
    return roll.data[keep], sheet[keep]


def make_bowl(n_samples, angle, random_state=0):
    """Points (N, 3), evenly on a cap of a ball that reaches `angle` degrees from its pole, and the cap's polar map.

    Examples
    --------
    >>> Y, flat = make_bowl(100, 90)
    >>> Y.shape, flat.shape, bool(Y[:, 2].min() >= 0)
    ((100, 3), (100, 2), True)
    """
    rng = np.random.default_rng(random_state)
    phi = np.arccos(rng.uniform(np.cos(np.radians(angle)), 1.0, n_samples))
    turn = rng.uniform(0.0, 2 * np.pi, n_samples)
    around = np.column_stack([np.cos(turn), np.sin(turn)])
    return np.column_stack([np.sin(phi)[:, None] * around, np.cos(phi)]), phi[:, None] * around


def hole_height(sheet, X, share):
    """How high the hole is in a map, turned onto the sheet, as a multiple of its height in the sheet.

    Measured between the lowest point above the hole and the highest below it.

    Examples
    --------
    >>> _, sheet = with_hole(make_swiss_roll(200, random_state=0), 0.5)
    >>> round(hole_height(sheet, sheet, 0.5), 6)
    1.0
    """
    middle, reach = (sheet.max(axis=0) + sheet.min(axis=0)) / 2, np.ptp(sheet, axis=0)
    beside = np.abs(sheet[:, 0] - middle[0]) < share / 2 * reach[0]
    above, below = beside & (sheet[:, 1] > middle[1]), beside & (sheet[:, 1] < middle[1])
    heights = [Z[above, 1].min() - Z[below, 1].max() for Z in (sheet, procrustes_align(sheet, X))]
    return float(heights[1] / heights[0])


def ways_round(sheet, share):
    """Lengths (N, N) of the shortest ways in a sheet out of whose middle a rectangle is cut, as `with_hole` cuts it.

    A way that the hole blocks goes by its corners: straight to one that is seen, and along the rim to the next.

    Examples
    --------
    >>> sheet = np.array([[0.0, 0.0], [6.0, 6.0], [0.0, 3.0], [6.0, 3.0]])            # a hole from 2 to 4, both ways
    >>> float(ways_round(sheet, 1 / 3)[2, 3].round(4)), round(2 * 5**0.5 + 2, 4)
    (6.4721, 6.4721)
    """
    middle, half = (sheet.max(axis=0) + sheet.min(axis=0)) / 2, share / 2 * np.ptp(sheet, axis=0)
    corners = middle + half * np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]])
    rim = np.abs(corners[:, None] - corners).sum(axis=2)  # along two sides to the opposite corner
    straight, to_corner = cdist(sheet, sheet), cdist(sheet, corners)
    to_corner[blocked(sheet, corners, middle, half)] = np.inf
    to_corner = np.min(to_corner[:, :, None] + rim, axis=1)  # (N, 4)  by way of other corners
    round_it = np.min([d[:, None] + d for d in to_corner.T], axis=0)
    return np.where(blocked(sheet, sheet, middle, half), round_it, straight)


def blocked(A, B, middle, half):
    """Whether the straight way from each row of A to each of B meets the inside of a rectangle: (N, M)."""
    start, way = (A - middle)[:, None], B[None] - A[:, None]
    inside = half * (1 - 1e-9)
    with np.errstate(divide="ignore", invalid="ignore"):
        bounds = np.sort([(-inside - start) / way, (inside - start) / way], axis=0)  # when it is in, axis by axis
    enters, leaves = np.nanmax(bounds[0], axis=2), np.nanmin(bounds[1], axis=2)
    beside = np.any((way == 0) & (np.abs(start) >= inside), axis=2)
    return ~beside & (np.maximum(enters, 0.0) < np.minimum(leaves, 1.0)) & np.all(half > 0)


def by_the_rule(Y):
    """What `choose_neighbours` says of data, and Isomap's map with that many; pieces are bridged without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        choice = choose_neighbours(cdist(Y, Y))
        return choice, Isomap(2, choice.n_neighbors).fit(Y)


def wide_roll(N, seed, wide=1.0):
    """Data (N, 3) and sheet (N, 2) of a noisy roll of the usual length whose sheet is `wide` times as wide as usual.

    Examples
    --------
    >>> Y, sheet = wide_roll(500, 0, 2.0)
    >>> Y.shape, np.ptp(sheet, axis=0).round()
    ((500, 3), array([89., 42.]))
    """
    if wide == 1.0:
        roll = make_swiss_roll(N, NOISE, random_state=seed)
        return roll.data, roll.extra["sheet"]
    sheet = make_swiss_roll(N, random_state=seed).extra["sheet"] * [1.0, wide]
    return roll_up(sheet, GAPS[0]) + NOISE * np.random.default_rng(seed).standard_normal((N, 3)), sheet


def one_roll(N, seed, wide=1.0):
    """The rule, its rivals, and the best number of neighbours in hindsight, on one roll.

    The rivals are fixed numbers, and "least": the number, of `TRIED`, whose map has the least residual variance.
    """
    Y, sheet = wide_roll(N, seed, wide)
    D = cdist(Y, Y)
    choice, chosen = by_the_rule(Y)
    found = {k: unrolled(D, sheet, k) for k in HINDSIGHT}
    maps, left = ({k: row[j] for k, row in found.items()} for j in (0, 1))
    jumps = [len(short_circuits(neighbour_graph(D, int(k)), sheet)) for k in choice.tried]
    falls = 1 - choice.longest[1:] / choice.longest[:-1]
    before = falls if choice.cliff is None else falls[choice.tried[1:] < choice.cliff]
    best, least = min(maps, key=maps.get), min(TRIED, key=left.get)
    return {
        "chosen": choice.n_neighbors,
        "cliff": choice.cliff,
        "pieces": chosen.n_pieces_,
        "first short circuit": next((int(k) for k, n in zip(choice.tried, jumps, strict=True) if n), None),
        "fall at the cliff": round(float(falls[choice.cliff - choice.tried[1]]), 2) if choice.cliff else None,
        "largest fall before": round(float(max(before, default=0.0)), 2),
        "least": least,
        "best": best,
        "residual variance": round(chosen.residual_variance_, 4),
        "procrustes": {str(k): maps[k] for k in FIXED}
        | {"rule": round(procrustes_distance(sheet, chosen.embedding_), 3), "least": maps[least], "best": maps[best]},
    }


def unrolled(D, sheet, k):
    """Procrustes distance between the sheet and Isomap's map with k neighbours, and the map's residual variance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fit = Isomap(2, k, metric="distance").fit(D)
    return round(procrustes_distance(sheet, fit.embedding_), 3), fit.residual_variance_


def rolls(N, seeds=(*CHOSEN_ON, *FRESH), wide=1.0):
    """`one_roll` for every seed."""
    return {str(seed): one_roll(N, seed, wide) for seed in seeds}


def signs(draws):
    """What the rule says of some draws (data, sheet), and how its maps came out: {what: [one a draw]}."""
    rows: dict = {"procrustes": [], "residual variance": [], "cliff": []}
    for Y, sheet in draws:
        choice, fit = by_the_rule(Y)
        rows["procrustes"].append(round(procrustes_distance(sheet, fit.embedding_), 3))
        rows["residual variance"].append(round(fit.residual_variance_, 4))
        rows["cliff"].append(choice.cliff)
    return rows


def roll_starts(Y):
    """Maps of a roll from PCA and from one graph, that of the rule.

    {name: (positions, whether proportions are kept, size of the start)}. LLE, with the usual ridge and with smaller
    ones, and the eigenmaps take as many more neighbours as join all.
    """
    choice, isomap = by_the_rule(Y)
    D = cdist(Y, Y)
    k = max(choice.n_neighbors, smallest_connecting_k(D))
    return {
        "PCA": (principal_coordinates(D, 2)[0], False, 1.0),
        "Isomap": (isomap.embedding_, True, 1.0),
        "Isomap, by columns": (isomap.embedding_, False, 1.0),
        "Isomap, a tenth": (isomap.embedding_, True, 0.1),
        "Laplacian eigenmaps": (laplacian_coordinates(neighbour_graph(D, k), 2), False, 1.0),
        "LLE": (lle_coordinates(reconstruction_weights(D, k), 2), False, 1.0),
        "LLE, ridge 1e-5": (lle_coordinates(reconstruction_weights(D, k, 1e-5), 2), False, 1.0),
        "LLE, ridge 1e-7": (lle_coordinates(reconstruction_weights(D, k, 1e-7), 2), False, 1.0),
    }


def up_to_stretches(sheet, X):
    """The affine distance: what the best linear map of X leaves of the sheet, in the direction that it misses most.

    As the Procrustes distance, a share of the spread, but two units, one for each direction, are free.

    Examples
    --------
    >>> sheet = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 1.0], [0.0, 1.0]])
    >>> round(procrustes_distance(sheet, unit_scale(sheet)), 3), round(up_to_stretches(sheet, unit_scale(sheet)), 3)
    (0.514, 0.0)
    """
    return float(np.sin(subspace_angle(sheet - sheet.mean(axis=0), X - X.mean(axis=0))))


def climb(Y, sheet, X, keep_proportions, size, steps):
    """Of a map and of the GP-LVM that starts from it: distance to the sheet, log likelihood, affine distance.

    The map's two distances first, then all three after each of some numbers of steps.
    """
    model = GPLVM(2, init=size * unit_scale(X, keep_proportions), latent_prior=None, max_iter=max(steps))

    def found(state):
        distance, affine = procrustes_distance(sheet, state.X), up_to_stretches(sheet, state.X)
        return [round(distance, 3), round(float(state.value), 1), round(affine, 3)]

    row = {"map": [round(procrustes_distance(sheet, X), 3), round(up_to_stretches(sheet, X), 3)]}
    for step, state in enumerate(model.iterates(Y)):
        last = state  # of a climb that ends early, the summit
        if step in steps:
            row[str(step)] = found(last)
    return row | {str(s): found(last) for s in steps if s > step}


def climbs(N, names, patient=(), seeds=CHOSEN_ON):
    """`climb` from each start of these names on every roll; the patient ones go on for ten times as many steps."""
    table: dict = {name: {} for name in names}
    for seed in seeds:
        roll = make_swiss_roll(N, NOISE, random_state=seed)
        for name, start in roll_starts(roll.data).items():
            if name in names:
                steps = (STEPS, 10 * STEPS) if name in patient else (STEPS,)
                table[name][str(seed)] = climb(roll.data, roll.extra["sheet"], *start, steps)
    return table


def layers_apart(N=600, gaps=GAPS):
    """Isomap's maps, by the rule, for layers with some gaps: {gap: {what: [one a seed]}}."""

    def draw(gap, seed):
        sheet = make_swiss_roll(N, random_state=seed).extra["sheet"]
        return roll_up(sheet, gap) + NOISE * np.random.default_rng(seed).standard_normal((N, 3)), sheet

    return {str(gap): signs(draw(gap, seed) for seed in range(10)) for gap in gaps}


def flat_sheets():
    """Sheets that were never rolled up: how much too long their ways are, and Isomap's maps of few points.

    "ways": {points: {neighbours: median of graph over truth, of ways above 10}}; "200 points, k = 4", and 8: the
    Procrustes distances of ten maps.
    """
    report: dict = {"ways": {}}
    for N in (400, 1000, 3000):
        sheet = make_swiss_roll(N, random_state=0).extra["sheet"]
        D = cdist(sheet, sheet)
        far, ways = np.triu(D) > 10, {}
        for k in (5, 20):
            G = geodesic_distances(neighbour_graph(D, k))
            ways[str(k)] = round(float(np.median(G[far] / D[far])), 3)
        report["ways"][str(N)] = ways
    few = [make_swiss_roll(200, random_state=seed).extra["sheet"] for seed in range(10)]
    for k in (4, 8):
        report[f"200 points, k = {k}"] = [unrolled(cdist(sheet, sheet), sheet, k)[0] for sheet in few]
    return report


def stretched(N=600):
    """Isomap's maps of bowls: Procrustes distance to the polar map, and residual variance, {angle: lists}."""
    table = {}
    for angle in CAPS:
        bowls = [make_bowl(N, angle, seed) for seed in range(10)]
        fits = [Isomap(2, 10).fit(Y) for Y, _ in bowls]
        table[str(angle)] = {
            "procrustes": [
                round(procrustes_distance(flat, fit.embedding_), 3) for (_, flat), fit in zip(bowls, fits, strict=True)
            ],
            "residual variance": [round(fit.residual_variance_, 4) for fit in fits],
        }
    return table


def holes(N=1000):
    """Isomap's maps, seven neighbours, of rolls with a hole: {share: {what: [one a seed]}}.

    "height" is that of the hole, as a multiple of the true one. "graph over way" compares geodesics of the graph with
    the shortest ways in the sheet, which go round the hole: their 5th, 50th and 95th percentiles, of ways above 10.
    "by the rule" is the Procrustes distance with as many neighbours as the rule says, and "thinned" the residual
    variance, by the rule, of the whole roll with as many points left out, at random. At a "false cliff" the rule stops
    before the first short circuit.
    """
    table = {}
    for share in HOLES:
        rows: dict = {"procrustes": [], "residual variance": [], "graph over way": []}
        rows |= {"height": [], "by the rule": [], "false cliff": [], "thinned": []} if share else {}
        for seed in range(10):
            roll = make_swiss_roll(N, NOISE, random_state=seed)
            Y, sheet = with_hole(roll, share)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                fit = Isomap(2, 7).fit(Y)
            g, s = (squareform(lengths, checks=False) for lengths in (fit.geodesics_, ways_round(sheet, share)))
            rows["procrustes"].append(round(procrustes_distance(sheet, fit.embedding_), 3))
            rows["residual variance"].append(round(fit.residual_variance_, 4))
            rows["graph over way"].append(np.percentile((g / s)[s > 10], [5, 50, 95]).round(3).tolist())
            if share:
                (choice, by_rule), (_, thinned) = (by_the_rule(data) for data in (Y, roll.data[: len(Y)]))
                graph = neighbour_graph(cdist(Y, Y), choice.tried[-1])
                false = choice.cliff is not None and len(short_circuits(graph, sheet)) == 0
                rows["false cliff"].append(false)
                rows["height"].append(round(hole_height(sheet, fit.embedding_, share), 2))
                rows["by the rule"].append(round(procrustes_distance(sheet, by_rule.embedding_), 3))
                rows["thinned"].append(round(thinned.residual_variance_, 4))
        table[str(share)] = rows
    return table


def sizes(Y, target, seed, max_iter):
    """GP-LVM from PCA's scores and from random positions, of several sizes: {start: one row}.

    A row has the errors, the log likelihood, and the Procrustes distance from PCA's map after ten steps.
    """
    X = principal_coordinates(cdist(Y, Y), 2)[0]
    random = np.random.default_rng(seed).standard_normal(X.shape)
    starts = {
        "PCA, by columns": unit_scale(X),
        "PCA, as a whole": unit_scale(X, keep_proportions=True),
        "PCA, a tenth": 0.1 * unit_scale(X),
        "random": random,
        **{name: size * random for name, size in SIZES.items()},
    }
    rows = {}
    for name, start in starts.items():
        for step, state in enumerate(GPLVM(2, init=start, latent_prior=None, max_iter=max_iter).iterates(Y)):
            if step <= 10:
                after_ten = procrustes_distance(unit_scale(X), state.X)
        errors = nearest_neighbour_errors(state.X, target)
        rows[name] = [errors, round(float(state.value), 1), round(after_ten, 3)]
    return rows


def by_start(rows):
    """{start: [one row a draw]} from one dictionary a draw.

    Examples
    --------
    >>> by_start([{"PCA": 2, "random": 9}, {"PCA": 1, "random": 14}])
    {'PCA': [2, 1], 'random': [9, 14]}
    """
    return {name: [row[name] for row in rows] for name in rows[0]}


def scales(n_draws=10):
    """`sizes` on simulated oil, one draw of the oil and of the random positions after the other."""
    oils = [simulate_oil_flow(100, random_state=seed) for seed in range(n_draws)]
    return by_start([sizes(oil.data, oil.target, seed, 150) for seed, oil in enumerate(oils)])


def scales_of_pca(seeds=range(10, 40), max_iter=150):
    """PCA's scores on flows that `scales` did not see: {"by columns" or "as a whole": [[errors, log likelihood]]}."""
    report: dict = {"by columns": [], "as a whole": []}
    for seed in seeds:
        oil = simulate_oil_flow(100, random_state=seed)
        X = principal_coordinates(cdist(oil.data, oil.data), 2)[0]
        for name, rows in report.items():
            start = unit_scale(X, keep_proportions=name == "as a whole")
            model = GPLVM(2, init=start, latent_prior=None, max_iter=max_iter).fit(oil.data)
            errors = nearest_neighbour_errors(model.embedding_, oil.target)
            rows.append([errors, round(model.log_likelihood_, 1)])
    return report


def across(N=1000):
    """How much of a point's place across the sheet, and along it, a linear map of a map's columns tells.

    {map: [[share of the width's variance, share of the length's], one a seed]}. All from one graph, that of the rule;
    LLE also with seven neighbours for every roll, and the eigenmaps also of the first part of the roll, cut so that the
    sheet is 1.5 times as long as wide, with ten neighbours.
    """
    table: dict = {}
    for seed in range(10):
        roll = make_swiss_roll(N, NOISE, random_state=seed)
        D, sheet = cdist(roll.data, roll.data), roll.extra["sheet"]
        choice, isomap = by_the_rule(roll.data)
        k = max(choice.n_neighbors, smallest_connecting_k(D))
        short = sheet[:, 0] < sheet[:, 0].min() + 1.5 * np.ptp(sheet[:, 1])
        maps = {"Isomap": isomap.embedding_, "Laplacian eigenmaps": laplacian_coordinates(neighbour_graph(D, k), 2)}
        maps |= {f"LLE, ridge {r:.0e}": lle_coordinates(reconstruction_weights(D, k, r), 2) for r in RIDGES}
        maps["LLE, ridge 1e-07, k = 7"] = lle_coordinates(reconstruction_weights(D, 7, 1e-7), 2)
        maps["Laplacian eigenmaps, short sheet"] = laplacian_coordinates(neighbour_graph(D[short][:, short], 10), 2)
        for name, X in maps.items():
            places = sheet[short] if len(X) < N else sheet
            table.setdefault(name, []).append([round(explained(places[:, j], X), 3) for j in (1, 0)])
    return table


def explained(y, X):
    """The share of the variance of y (N,) that the best linear map of X (N, q) tells.

    Examples
    --------
    >>> round(explained(np.array([1.0, 2.0, 4.0, 3.0]), np.array([[0.0], [-1.0], [-3.0], [-2.0]])), 6)
    1.0
    """
    y, X = y - y.mean(), X - X.mean(axis=0)
    return float(np.sum((X @ np.linalg.lstsq(X, y, rcond=None)[0]) ** 2) / np.sum(y**2))


def dimensions(N=1000):
    """Residual variance of Isomap's maps, seven neighbours, with one, two and three dimensions: [one list a seed]."""
    table = []
    for seed in range(10):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            fit = Isomap(3, 7).fit(make_swiss_roll(N, NOISE, random_state=seed).data)
        table.append([round(residual_variance(fit.geodesics_, fit.embedding_[:, :q]), 4) for q in (1, 2, 3)])
    return table


# ---------------------------------------------------------------------- the paper's figure 1
def six_panels(Y, target):
    """The six maps of figure 1 of Lawrence (2005) on the real oil: positions, rounded, and errors.

    The width of kernel PCA is the one with fewest errors, as in the paper; the GTM has the paper's grid and basis.
    """
    counts = kernel_pca_errors(Y, target)
    width = counts["inverse_width"][int(np.argmin(counts["errors"]))]
    maps = {
        "PCA": principal_coordinates(cdist(Y, Y), 2)[0],
        "GP-LVM": GPLVM(2).fit(Y).embedding_,
        "non-metric MDS": NonMetricMDS(2).fit_transform(Y),
        "Sammon": SammonMapping(2).fit_transform(Y),
        "GTM": GTM(grid=(10, 10), basis=(5, 5)).fit(Y).embedding_,
        "kernel PCA": KernelPCA(2, kernel=RBF(1.0, width)).fit_transform(Y),
    }
    report = {name: {"errors": nearest_neighbour_errors(X, target)} for name, X in maps.items()}
    for name, X in maps.items():
        report[name]["positions"] = np.round(unit_scale(X, keep_proportions=True), 3).ravel().tolist()
    free = GPLVM(2, latent_prior=None).fit(Y).embedding_
    return {
        "class": "".join(str(int(label)) for label in target),
        "maps": report,
        "GP-LVM without its prior": nearest_neighbour_errors(free, target),
    }


def results(progress=iter):
    """Table 2 of the paper for the methods that exist so far, and everything that was tried on the way."""
    Y, target, *_ = load_oil_flow(100)
    models = {"metric MDS": MetricMDS, "Sammon": SammonMapping, "non-metric MDS": NonMetricMDS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a graph in pieces is counted
        return {"printed": PRINTED_ERRORS} | collect(
            {
                "table": lambda: table_of_starts(Y, target),
                "random starts": lambda: {name: random_starts(Y, target, Model) for name, Model in models.items()},
                "kernel PCA": lambda: kernel_pca_errors(Y, target),
                "Isomap, 100 points": lambda: isomap_errors(Y, target),
                "Isomap, 1000 points": lambda: isomap_errors(*load_oil_flow()[:2]),
                "figure 1": lambda: six_panels(Y, target),
                "rolls": lambda: {str(N): rolls(N) for N in (400, 1000)},
                "unseen rolls": lambda: {"400": rolls(400, UNSEEN)},
                "sparse rolls": lambda: {str(N): rolls(N, CHOSEN_ON) for N in (200, 600)},
                "wide rolls": lambda: {"1000": rolls(1000, range(10), 2.0)},
                "other rolls": lambda: {"400": signs(wide_roll(400, seed) for seed in OTHERS)},
                "climbs": lambda: {"400": climbs(400, EVERY, BOTH), "1000": climbs(1000, BOTH, seeds=range(10))},
                "layers": layers_apart,
                "sparse layers": lambda: layers_apart(200, (GAPS[0], 10.0)),
                "flat sheets": flat_sheets,
                "bowls": stretched,
                "holes": holes,
                "scales": scales,
                "scales, real oil": lambda: by_start([sizes(Y, target, seed, 300) for seed in range(10)]),
                "scales of PCA, other flows": scales_of_pca,
                "across": across,
                "dimensions": dimensions,
            },
            progress,
        )
