"""`explore_unify`: a similarity matrix, its eigenvalues as bars to keep or discard, and the divergence that follows."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gplvm_edu.datasets import cities, great_circle_distances, load_digits, simulate_oil_flow
from gplvm_edu.kernels import RBF, Bias, Linear
from gplvm_edu.linalg import double_centre, nearest_semidefinite, squared_distances
from gplvm_edu.optimise import minimise
from gplvm_edu.unify import linear_divergence, minimiser, retained_sets, similarity_from_distances, spectrum

from .controls import buttons, log_slider, menu, several, slider
from .drawing import latent_points, ring, side_by_side
from .explorer import Explorer, Question
from .scene import Axis, Band, Bars, Image, Panel, Points, Rules, SceneOf, Texts, remember

N_POINTS = 15
TOLERANCE, MAX_STEPS = 1e-5, 400  # of Run
SIMILARITIES = ("linear", "RBF", "polynomial", "distance matrix")
DIRECTIONS = {"KL(S || K)": False, "KL(K || S)": True}
PARTS = {"K": "covariance", "inverse of K": "precision"}
RULES = ("the noise (corrected)", "1 / noise (as printed)")
OPENING = dict(data="digits", similarity="linear", width=1.0, ridge=0.01, kept=(1, 2))
OPENING |= dict(direction="KL(S || K)", part="K", rule=RULES[0])


class Step(NamedTuple):
    """A state of a run: X and the noise it has reached, its number, and the divergence there."""

    latent: np.ndarray
    noise: float  # of K, or of its inverse
    number: int
    divergence: float


class Choice(NamedTuple):
    """What follows from one set of kept eigenvalues."""

    eigenvalues: np.ndarray
    kept: list  # indices from 0
    noise_variance: float  # of the directions that are not kept
    geometric_mean: float  # of the discarded eigenvalues
    divergence: float
    feasible: bool
    latent: np.ndarray | None  # None when a length would be imaginary
    covariance: np.ndarray | None  # K
    profile: np.ndarray | None  # variance of K along each eigenvector of S


@lru_cache(maxsize=4)
def load(data):
    """Data (N, D), a matrix of distances, classes and names, for one entry of the menu."""
    if data == "cities":
        phi, theta = np.radians(np.array(list(cities.WORLD.values()))).T
        Y = np.column_stack([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)])
        D = great_circle_distances(np.degrees(phi), np.degrees(theta), radius=1.0)
        return Y, D, np.zeros(len(Y), int), tuple(cities.WORLD)
    bunch = simulate_oil_flow(N_POINTS, random_state=0) if data == "oil flow" else load_digits()
    Y, target = bunch.data[:N_POINTS], bunch.target[:N_POINTS]
    return Y, np.abs(Y[:, None] - Y).sum(axis=2), target, bunch.target_names


def n_bars(data):
    """How many eigenvalues there are."""
    return len(load(data)[0])


@lru_cache(maxsize=16)
def similarity_matrix(data, similarity, width, ridge):
    """S, centred, scaled to the mean eigenvalue 1, with a ridge on its diagonal."""
    Y, D, *_ = load(data)
    features = Y.shape[1]
    if similarity == "distance matrix":
        S = nearest_semidefinite(similarity_from_distances(D))
    elif similarity == "RBF":
        S = double_centre(RBF(inverse_width=width / np.mean(squared_distances(Y)))(Y))
    else:
        power = Linear(1 / features) + Bias(1.0)
        S = double_centre((Linear(1 / features) if similarity == "linear" else power * power)(Y))
    return len(S) * S / np.trace(S) + ridge * np.eye(len(S))


def bars_of(preset, q, n_points):
    """Numbers of the q largest or the q smallest bars, 1 for the largest."""
    return tuple(range(1, q + 1) if preset == "largest" else range(n_points - q + 1, n_points + 1))


def indices(kept, n_points):
    """Numbers of bars as indices from 0; too few and too many are an error."""
    if not 0 < len(kept) < n_points:
        raise ValueError(
            f"{len(kept)} of {n_points} bars are kept. Keep at least one, and discard at least one: the "
            "noise is what the discarded have on average."
        )
    return sorted(k - 1 for k in kept)


@lru_cache(maxsize=8)
def all_sets(data, similarity, width, ridge, size, direction, part):
    """Every set of that size, for the picture at the upper right."""
    lam, _ = spectrum(similarity_matrix(data, similarity, width, ridge))
    return retained_sets(lam, size, DIRECTIONS[direction], PARTS[part])


def margins(sets, lam, part, rule):
    """Log distance of each set from its threshold: the noise, or (as printed) its inverse."""
    if rule == RULES[0]:
        return sets.margin
    threshold = np.log(1.0 / sets.noise_variance)
    ends = np.log(lam[sets.kept])
    return threshold - ends.max(axis=1) if PARTS[part] == "precision" else ends.min(axis=1) - threshold


@remember(maxsize=4)
def view(data, similarity, width, ridge, kept, direction, part, state=None):
    """The numbers behind the picture: for the kept set in closed form, or for an iterate of the optimiser."""
    S = similarity_matrix(data, similarity, width, ridge)
    lam, U = spectrum(S)
    chosen = indices(kept, len(lam))
    sets = all_sets(data, similarity, width, ridge, len(chosen), direction, part)
    row = sets.kept.tolist().index(chosen)
    feasible = bool(sets.margin[row] > -1e-9)
    c, X, value = sets.noise_variance[row], None, sets.divergence[row]
    if state is not None:
        X, noise, _, value = state
        c = 1 / noise if PARTS[part] == "precision" else noise
    elif feasible:
        X, noise = minimiser(S, len(chosen), DIRECTIONS[direction], PARTS[part], kept=chosen)
    K = profile = None
    if X is not None:
        K = X @ X.T + noise * np.eye(len(S))
        K = np.linalg.inv(K) if PARTS[part] == "precision" else K
        profile = np.sum(U * (K @ U), axis=0)
    geometric = float(np.exp(np.mean(np.log(np.delete(lam, chosen)))))
    return Choice(lam, chosen, float(c), geometric, float(value), feasible, X, K, profile)


def eigenvalues(data, similarity, width, ridge, kept, direction, part, rule, state):
    """Eigenvalues as bars on a log axis: the gap between the two lines, times (N - q) / 2, is the divergence."""
    now = view(data, similarity, width, ridge, kept, direction, part, state)
    lam, c, N = now.eigenvalues, now.noise_variance, len(now.eigenvalues)
    place = np.arange(1, N + 1)
    is_kept = np.isin(place - 1, now.kept)
    wrong_side = lam > (1 + 1e-9) * c if PARTS[part] == "precision" else lam < (1 - 1e-9) * c
    wrong = is_kept & wrong_side & (state is None)
    shown = [*lam, 1 / c] if rule == RULES[1] else lam
    bottom, top = 0.3 * min(shown), 2 * max(shown)
    marks = [
        Bars(name, place[chosen], lam[chosen], base=1e-9 * bottom, colour=colour, label=label)  # cut by the axis
        for name, chosen, colour, label in (
            ("discarded", ~is_kept, "pale", "discarded"),
            ("kept", is_kept & ~wrong, 0, "kept"),
            ("wrong", wrong, "accent", "kept, but impossible"),
        )
        if chosen.any()
    ]
    mean, middle = "noise", now.geometric_mean
    if state is None:
        mean = "noise, their harmonic mean" if DIRECTIONS[direction] else "noise, their mean"
        low, high = sorted([middle, c])
        marks.append(Band("gap", [0.3, N + 0.7], [low, low], [high, high], colour="accent", opacity=0.2))
    marks.append(Rules("noise", y=[c], colour="accent", width=1.6, label=f"{mean}: {c:.3g}"))
    marks.append(Rules("geometric", y=[middle], colour="ink", dash=True, label=f"geometric: {middle:.3g}"))
    if rule == RULES[1]:
        marks.append(Rules("printed", y=[1 / c], colour=3, dash=True, width=1.8, label=f"1 / noise: {1 / c:.3g}"))
    if state is not None:
        marks.append(Points("profile", place, now.profile, colour="ink", label="variance of K"))
    return Panel(
        marks,
        title="eigenvalues of S",
        hint="click a bar",
        x=Axis("number", (0.3, N + 0.7), ticks=tuple(place[::2])),
        y=Axis("variance", (bottom, top), log=True),
        listens="click",
    )


def sets(data, similarity, width, ridge, kept, direction, part, rule, state):
    """Every set of that size: divergence against its margin; only those to the right of the line are feasible."""
    now = view(data, similarity, width, ridge, kept, direction, part, state)
    found = all_sets(data, similarity, width, ridge, len(now.kept), direction, part)
    margin, divergence = margins(found, now.eigenvalues, part, rule), found.divergence
    allowed = margin > -1e-9
    look = dict(size=4, opacity=0.6)
    marks = [
        Rules("line", x=[0], colour="ink"),
        Points("impossible", margin[~allowed], divergence[~allowed], colour="quiet", label="impossible", **look),
        Points("possible", margin[allowed], divergence[allowed], label="possible", **look),
    ]
    if allowed.any():
        best = np.flatnonzero(allowed)[[np.argmin(divergence[allowed])]]
        star = dict(colour="ink", marker="star", size=12)
        marks.append(Points("best", margin[best], divergence[best], label="best", **star))
    if state is None:
        mine = found.kept.tolist().index(now.kept)
        marks.append(ring("yours", margin[mine], divergence[mine], colour="accent", label="yours"))
    else:
        marks.append(Rules("run", y=[now.divergence], colour="accent", label="the run"))
    top = max(divergence.max(), 1e-9)
    yours = f"step {state.number}" if state is not None else "yours"
    return Panel(
        marks,
        title=f"{len(divergence)} ways to keep {len(now.kept)}; {yours}: {now.divergence:.2f} nats",
        x=Axis("log (worst kept / threshold)"),
        y=Axis("divergence (nats)", (-0.05 * top, 1.1 * top)),
    )


def embedding(data, similarity, width, ridge, kept, direction, part, state):
    """The latent positions, or why there are none; the axes are the same for every set."""
    now = view(data, similarity, width, ridge, kept, direction, part, state)
    _, _, target, names = load(data)
    if now.latent is None:
        words = ["no embedding:", "a kept bar is on the wrong side", "of the noise, its length imaginary"]
        marks = [Texts("why", [0, 0, 0], [0.2, 0, -0.2], words, colour="accent", size=12)]
        nothing = Axis(limits=(-1, 1), hidden=True)
        return Panel(marks, title="embedding", x=nothing, y=nothing)
    X, limit = now.latent[:, :2], longest(data, similarity, width, ridge, part)
    words = [f"latent dimension {k + 1}{', all alike' if np.ptp(x) < 1e-6 * limit else ''}" for k, x in enumerate(X.T)]
    across, up = (Axis(word, (-limit, limit)) for word in [*words, ""][:2])
    if X.shape[1] == 1:  # one point a line
        X, up = np.column_stack([X, -np.arange(len(X))]), Axis(limits=(-len(X), 1.0), hidden=True)
    if data == "cities":
        east, away = X[:, 0] > 0.3 * limit, 0.03 * limit
        marks = [Points("points", *X.T, size=5)] + [
            Texts(f"names {side}", X[to, 0] + shift, X[to, 1], np.array(names)[to].tolist(), align=side, size=10)
            for side, to, shift in (("left", ~east, away), ("right", east, -away))
        ]
    else:
        marks = [latent_points(X, target, names, size=8)]
    title = f"embedding of squared length {np.sum(now.latent**2):.3g}"
    return Panel(marks, title=title, x=across, y=up, equal=not up.hidden)


@lru_cache(maxsize=16)
def longest(data, similarity, width, ridge, part):
    """A length that no latent point can exceed: its own variance in S (or in the inverse of S) is the limit."""
    S = similarity_matrix(data, similarity, width, ridge)
    return 1.1 * np.sqrt(np.diag(np.linalg.inv(S) if PARTS[part] == "precision" else S).max())


def matrices(data, similarity, width, ridge, kept, direction, part, state):
    """S beside K, which approximates it."""
    S = similarity_matrix(data, similarity, width, ridge)
    K = view(data, similarity, width, ridge, kept, direction, part, state).covariance
    N, limit = len(S), np.abs(S).max()
    both = side_by_side(S, np.full_like(S, np.nan) if K is None else K)
    marks = [
        Image("matrices", both, low=-limit, high=limit, ramp="diverging", bar="covariance"),
        Texts("names", [(N - 1) / 2, 1.5 * N + 0.5], [N + 0.8] * 2, ["S: data", "no K" if K is None else "K: model"]),
    ]
    x, y = Axis(limits=(-0.5, 2 * N + 0.5), hidden=True), Axis(limits=(N + 2, -0.5), hidden=True)
    return Panel(marks, title="how alike the points are", x=x, y=y, equal=True)


def says(data, similarity, width, ridge, kept, direction, part, state):
    """The numbers that the code shown prints."""
    now = view(data, similarity, width, ridge, kept, direction, part, state)
    words = f"divergence {now.divergence:.3f} nats, noise {now.noise_variance:.3g}"
    if state is not None:
        return f"step {state.number}: {words}"
    return words if now.feasible else f"{words}; impossible: a squared length would be negative"


panel_unify = SceneOf(eigenvalues, sets, embedding, matrices, defaults=OPENING, says=says)


LOAD = {
    "cities": """\
phi, theta = np.radians(np.array(list(cities.WORLD.values()))).T
Y = np.column_stack([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)])
D = great_circle_distances(np.degrees(phi), np.degrees(theta), radius=1.0)""",
    "oil flow": """\
Y = simulate_oil_flow(15, random_state=0).data
D = np.abs(Y[:, None] - Y).sum(axis=2)                  # city-block distances""",
    "digits": """\
Y = load_digits().data[:15]
D = np.abs(Y[:, None] - Y).sum(axis=2)                  # city-block distances""",
}
FORMULA = {
    "linear": "S = double_centre(Linear(1 / Y.shape[1])(Y))",
    "RBF": "S = double_centre(RBF(inverse_width={width!r} / np.mean(squared_distances(Y)))(Y))",
    "polynomial": "power = Linear(1 / Y.shape[1]) + Bias(1.0)\nS = double_centre((power * power)(Y))",
    "distance matrix": "S = nearest_semidefinite(similarity_from_distances(D))",
}
HEAD = """\
import numpy as np
from gplvm_edu.datasets import cities, great_circle_distances, load_digits, simulate_oil_flow
from gplvm_edu.kernels import RBF, Bias, Linear
from gplvm_edu.linalg import double_centre, nearest_semidefinite, squared_distances
from gplvm_edu.optimise import minimise
from gplvm_edu.unify import linear_divergence, minimiser, retained_sets, similarity_from_distances, spectrum

{load}
{formula}
S = len(S) * S / np.trace(S) + {ridge!r} * np.eye(len(S))        # mean eigenvalue 1, and a ridge
"""
CLOSED_FORM = """\
eigenvalues, U = spectrum(S)
kept = {kept}                                           # 0 is the largest
sets = retained_sets(eigenvalues, len(kept), reverse={reverse}, low_rank={low_rank!r})
row = sets.kept.tolist().index(kept)
noise_variance, divergence = sets.noise_variance[row], sets.divergence[row]
words = f"divergence {{divergence:.3f}} nats, noise {{noise_variance:.3g}}"
feasible = sets.margin[row] > -1e-9
if feasible:
    X, c = minimiser(S, len(kept), reverse={reverse}, low_rank={low_rank!r}, kept=kept)
    print(words)
else:
    print(f"{{words}}; impossible: a squared length would be negative")
"""
BY_GRADIENTS = """\
N, q, reverse = len(S), {q}, {reverse}
{inverted}unit = np.trace(S) / N


def value_and_gradient(x):
    try:
        value, dX, dc = linear_divergence(S / unit, x[:-1].reshape(N, q), np.exp(x[-1]), reverse)
    except ValueError:                                  # K is singular there: a step too long
        return np.inf, x
    return value, np.append(dX.ravel(), dc * np.exp(x[-1]))


start = np.append(0.3 * np.random.default_rng(0).standard_normal(N * q), 0.0)
*_, state = (state for _, state in zip(range({step} + 1), minimise(value_and_gradient, start, max_iter={max_steps})))
X, c = np.sqrt(unit) * state.x[:-1].reshape(N, q), unit * np.exp(state.x[-1])
noise_variance = {noise}
print(f"step {step}: divergence {{state.value:.3f}} nats, noise {{noise_variance:.3g}}")
"""
INVERTED = """\
S, reverse = np.linalg.inv(S), not reverse              # the same divergence of the inverses, exchanged
S = 0.5 * (S + S.T)
"""

BASE = {name: OPENING[name] for name in OPENING if name != "kept"} | dict(preset="largest", q=2)


class UnifyExplorer(Explorer):
    """Controls for `panel_unify`; Run minimises the divergence from a random start."""

    title = "One divergence: which eigenvalues to keep"
    panels = panel_unify
    light = ("rule",)
    questions = (
        Question(
            "The two largest bars are kept. The shaded gap between the two lines, times (N - q)/2, is the "
            "divergence. Some other pair has a smaller gap. Which, and can we have it?",
            BASE,
            dict(preset="smallest"),
            "The two smallest: without them the discarded bars are more alike, and the gap shrinks. But the kept "
            "bars now lie below the noise, so their lengths (3.11) are imaginary. In the picture of all pairs the "
            "cheapest stand left of the line; the best that can be had is the star, the two largest.",
            (
                "the two smallest, and we can",
                "the largest and the smallest, and we can",
                "the two smallest, but we can't",
            ),
            2,
        ),
        Question(
            "The paper says that the reversed divergence keeps the smallest eigenvalues. Reverse it: where does the "
            "star, the best pair that can be had, go?",
            BASE,
            dict(direction="KL(K || S)"),
            "Nowhere: the largest two are still the best feasible pair (3.21). What falls is the noise, from the "
            "arithmetic to the harmonic mean of the discarded.",
            ("it stays with the two largest", "to the two smallest", "to a pair in the middle"),
            0,
        ),
        Question(
            "So far K was of low rank plus noise. Now let the inverse of K be. Which pair will be best?",
            BASE,
            dict(part="inverse of K", preset="smallest"),
            "The two smallest, for either direction (try both). Where the low-rank part sits decides which end of "
            "the spectrum is kept; the direction decides only which mean the noise is (3.23). The smallest direction "
            "of centred data is the same for all points, so one latent dimension says nothing.",
            (
                "the two largest still",
                "the two smallest, whatever the direction",
                "the two smallest for KL(K || S) only",
            ),
            1,
        ),
    )

    def make_controls(self):
        return {
            "data": {"data": buttons(["digits", "oil flow", "cities"])},
            "kernel": {
                "similarity": menu(SIMILARITIES, name="similarity S"),
                "width": log_slider(1.0, -1, 2, "RBF inverse width", step=0.1),
                "ridge": log_slider(0.01, -6, 0, "ridge on S", step=0.25, readout_format=".1e"),
                "part": menu(list(PARTS), name="low rank + noise:"),
                "direction": buttons(list(DIRECTIONS)),
            },
            "start": {
                "preset": buttons(["largest", "smallest", "by hand"]),
                "kept": several(range(1, N_POINTS + 1), (1, 2), "kept", rows=2),
            },
            "size": {"q": slider(2, 1, N_POINTS - 1, 1, "dimensions q")},
            "more": {"rule": menu(RULES, name="threshold")},
        }

    def ranges(self, settings):
        """One eigenvalue at least is left for the noise."""
        return {"q": {"max": n_bars(settings["data"]) - 1}}

    def unused(self, settings):
        return {} if settings["similarity"] == "RBF" else {"width": "S is no RBF"}

    def arguments(self, settings):
        """The panels want the bars that are kept, however they were chosen."""
        return {name: settings[name] for name in OPENING}

    # --- the list of kept bars, the preset and q say one thing -------------------------------------------------
    def set(self, **settings):
        """Naming kept bars means by hand, naming q after that means the largest, unless a preset is named as well."""
        if "kept" in settings:
            self._offer(N_POINTS, self.settings["kept"])
            settings = {"preset": "by hand", **settings}
        elif "q" in settings and self.settings["preset"] == "by hand":
            settings = {"preset": "largest", **settings}
        super().set(**settings)

    def on_change(self, names):
        self.set(**{name: self.controls[name].value for name in names})

    def controls_changed(self, names=frozenset()):
        now = self.settings
        preset, n_points = now["preset"], n_bars(now["data"])
        q, kept = min(now["q"], n_points - 1), tuple(k for k in now["kept"] if k <= n_points)
        if preset != "by hand":
            kept = bars_of(preset, q, n_points)
        elif 0 < len(kept) < n_points:
            q = len(kept)
        self._offer(n_points, kept)
        with self.quietly():
            self.controls["q"].value = q
        super().controls_changed(names)

    def _offer(self, n_points, kept):
        control, options = self.controls["kept"], tuple(range(1, n_points + 1))
        with self.quietly():
            if control.options != options:
                control.options = options
            control.value = kept

    # -----------------------------------------------------------------------------------------------------------
    def code(self, settings, state):
        precision = PARTS[settings["part"]] == "precision"
        return (HEAD + (CLOSED_FORM if state is None else BY_GRADIENTS)).format(
            load=LOAD[settings["data"]],
            formula=FORMULA[settings["similarity"]].format(**settings),
            ridge=settings["ridge"],
            kept=[k - 1 for k in settings["kept"]],
            q=len(settings["kept"]),
            reverse=DIRECTIONS[settings["direction"]],
            low_rank=PARTS[settings["part"]],
            inverted=INVERTED if precision else "",
            noise="1 / c" if precision else "c",
            step=None if state is None else state.number,
            max_steps=MAX_STEPS,
        )

    def point(self, panel, x, y):
        """A click on a bar keeps it, or discards it if it was kept; one stays on either side."""
        n_points = n_bars(self.settings["data"])
        kept = {*self.settings["kept"]} ^ {int(np.clip(round(x), 1, n_points))}
        return {"kept": tuple(sorted(kept)), "preset": "by hand"} if 0 < len(kept) < n_points else {}

    def nudge(self, panel, right, up):
        """Arrow keys move the kept bars along."""
        kept = tuple(k + right + up for k in self.settings["kept"])
        inside = kept and 1 <= kept[0] and kept[-1] <= n_bars(self.settings["data"])
        return {"kept": kept, "preset": "by hand"} if inside else {}

    def iterates(self, settings):
        """Minimise the divergence over X and the noise from a random start."""
        S = similarity_matrix(*(settings[name] for name in ("data", "similarity", "width", "ridge")))
        N, q, reverse = len(S), len(indices(settings["kept"], len(S))), DIRECTIONS[settings["direction"]]
        if PARTS[settings["part"]] == "precision":  # the same divergence of the inverses, exchanged
            S, reverse = np.linalg.inv(S), not reverse
            S = 0.5 * (S + S.T)
        unit = np.trace(S) / N

        def value_and_gradient(x):
            try:
                value, dX, dc = linear_divergence(S / unit, x[:-1].reshape(N, q), np.exp(x[-1]), reverse)
            except ValueError:  # K is singular there: a step too long
                return np.inf, x
            return value, np.append(dX.ravel(), dc * np.exp(x[-1]))

        start = np.append(0.3 * np.random.default_rng(0).standard_normal(N * q), 0.0)
        share, steepest = 0.0, None
        for step, now in enumerate(minimise(value_and_gradient, start, max_iter=MAX_STEPS, tolerance=TOLERANCE)):
            slope = max(np.abs(now.gradient).max(), TOLERANCE)
            steepest = steepest or max(slope, 2 * TOLERANCE)
            fallen = np.log(steepest / slope) / np.log(steepest / TOLERANCE)  # of the way down to the tolerance
            share = max(share, fallen, step / MAX_STEPS)
            X = np.sqrt(unit) * now.x[:-1].reshape(N, q)
            yield share, Step(X, unit * float(np.exp(now.x[-1])), step, now.value)


def explore_unify(**settings) -> UnifyExplorer:
    """The live explorer of chapter 3; any control can be set: ``explore_unify(data="cities", q=3)``."""
    return UnifyExplorer(**settings)
