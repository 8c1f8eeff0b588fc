"""`explore_gtm_variants`: six sheets through the same data, their noise, their evidence and how far they stretch."""

from copy import copy
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gplvm_edu import datasets, gtm, gtm_variants
from gplvm_edu.gtm_variants import magnification_factors

from .controls import log_slider, menu, slider
from .drawing import latent_points
from .explorer import Explorer, Question
from .scene import Axis, Ellipses, Image, Lines, Panel, Points, Rules, SceneOf, remember

DATA = {
    "bent line": "make_bent_line(60, noise={noise:g}, random_state=0)",
    "furrowed sheet": "make_furrowed_sheet(11, noise={noise:g}, random_state=0)",
    "curved sheet": "make_curved_sheet(11, noise={noise:g}, random_state=0)",
}
SHARED, END = "grid={grid}, basis={basis}, width={width:g}", "max_iter=60, tol=2e-4"
VARIANTS = {  # values of the controls in braces; the line shown is the one that is evaluated
    "isotropic": f"GTM({SHARED}, alpha={{alpha:g}}, {END})",
    "aligned": f"ManifoldAlignedGTM({SHARED}, alpha={{alpha:g}}, spread={{spread:g}},\n"
    f'                           noise_update="{{noise_update}}", {END})',
    "semi-linear": "SemiLinearGTM(grid={line}, basis={line_basis}, width={width:g}, alpha={alpha:g}, curved={curved},\n"
    f"                      {END})",
    "Bayesian": f"BayesianGTM({SHARED}, {END})",
    "Gaussian process": f"GaussianProcessGTM(grid={{grid}}, length_scale={{sigma:g}}, variance=4.0, {END})",
    "discrete": f'DiscreteGTM("auto", {SHARED}, alpha={{alpha:g}}, {END})',
}
KNOW_THEIR_EVIDENCE = ("isotropic", "Bayesian", "Gaussian process")
CURVED = {"try both": "None", "first axis": "[0]", "second axis": "[1]"}
CORRECTED, PRINTED = "corrected: (10.6)", "as printed: (9.13)"
UPDATES = {CORRECTED: "exact", PRINTED: "paper"}
NAMES = {"GTM": gtm.GTM, **{name: getattr(room, name) for room in (datasets, gtm_variants) for name in room.__all__}}
LINE_WIDTHS = (-2.5, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5)  # log2 of the widths at which the evidence is shown
WIDTH_RANGE = LINE_WIDTHS[0], LINE_WIDTHS[-1]
SHEET_WIDTHS = LINE_WIDTHS[::2]  # a sheet takes a few times as long to fit
HALVE = "Y[:, -1] = Y[:, -1] > np.median(Y[:, -1])                # the last column becomes a yes or no\n"
SIDE_VIEW = np.array([[1.0, -0.2], [0.5, 0.6], [0.0, 1.0]])  # from three dimensions to the page
OPENING = dict(
    data="bent line",
    noise=0.1,
    variant="isotropic",
    log_width=-1.0,
    alpha=0.01,
    curved="try both",
    n_nodes=10,
    n_basis=5,
    spread=0.5,
    noise_update=CORRECTED,
)


class Snapshot(NamedTuple):
    """One state of a run, its number, and the objective of all states so far (one list for all snapshots)."""

    step: int
    state: NamedTuple
    values: list


# --- the model of a setting ----------------------------------------------------------------------------------


def model_text(data, noise, variant, log_width, alpha, curved, n_nodes, n_basis, spread, noise_update):
    """The line of code that makes the estimator of a setting."""
    q, sigma = 1 if data == "bent line" else 2, float(f"{2.0**log_width:.4g}")
    return VARIANTS[variant].format(
        grid=q * (n_nodes,),
        basis=q * (n_basis,),
        line=(n_nodes,),
        line_basis=(n_basis,),
        sigma=sigma,
        width=float(f"{sigma * (n_basis - 1) / 2:.4g}"),
        alpha=alpha,
        spread=spread,
        noise_update=UPDATES[noise_update],
        curved=CURVED[curved],
    )


@lru_cache(maxsize=8)
def load(data, noise, halved):
    """Data and shades; for the discrete variant the last column is cut at its median."""
    made = eval(DATA[data].format(noise=noise), NAMES)
    Y = made.data.copy()
    if halved:
        Y[:, -1] = Y[:, -1] > np.median(Y[:, -1])
    return Y, made.target


@lru_cache(maxsize=16)
def fitted(data, noise, variant, log_width, alpha, curved, n_nodes, n_basis, spread, noise_update):
    """The estimator of a setting, fitted to the end."""
    text = model_text(data, noise, variant, log_width, alpha, curved, n_nodes, n_basis, spread, noise_update)
    return eval(text, NAMES).fit(load(data, noise, variant == "discrete")[0])


@remember(maxsize=2)
def model_at(data, noise, variant, log_width, alpha, curved, n_nodes, n_basis, spread, noise_update, state):
    """The estimator of a setting at one state of its run, or at the end of it."""
    end = fitted(data, noise, variant, log_width, alpha, curved, n_nodes, n_basis, spread, noise_update)
    return end if state is None else copy(end).keep(state.state, state.values[: state.step + 1])


@lru_cache(maxsize=256)
def evidence_at(data, noise, variant, log_width, alpha, n_nodes, n_basis):
    """Log evidence of one width (or length scale)."""
    curved, spread, noise_update = (OPENING[name] for name in ("curved", "spread", "noise_update"))
    settings = (data, noise, variant, log_width, alpha, curved, n_nodes, n_basis, spread, noise_update)
    return fitted(*settings).log_evidence_


# --- the panels ----------------------------------------------------------------------------------------------


def sheet(data, noise, variant, log_width, alpha, curved, n_nodes, n_basis, spread, noise_update, state):
    """Data, the image of the latent grid, and one standard deviation of the noise around its nodes."""
    model = model_at(data, noise, variant, log_width, alpha, curved, n_nodes, n_basis, spread, noise_update, state)
    Y, target = load(data, noise, variant == "discrete")
    seen, nodes, net = on_page(Y), on_page(model.means_), latent_net(model)
    images = np.full((len(net), 2), np.nan)
    inside = ~np.isnan(net[:, 0])
    images[inside] = on_page(model.inverse_transform(net[inside]))
    one_line = model.embedding_.shape[1] == 1
    marks = [
        latent_points(seen, target, key="data", size=5, opacity=0.85),
        Lines("sheet", *images.T, colour="ink", width=1.8 if one_line else 0.8),
        Points("nodes", *nodes.T, colour="ink", size=5 if one_line else 3),
    ]
    if variant != "discrete":
        some, factors = noise_factors(model)
        look = dict(colour=0, opacity=0.25, filled=True, label="noise of a node, 1 deviation")
        marks.insert(1, Ellipses("noise", *nodes[some].T, factors, **look))
    (left, low), (right, high) = seen.min(axis=0), seen.max(axis=0)
    flat = Y.shape[1] == 2
    return Panel(
        marks,
        title=f"data space, {variant}",
        x=Axis("first column" if flat else "three columns, seen from the side", with_room(left, right)),
        y=Axis("second column" if flat else "", with_room(low, high)),
        equal=flat and variant != "discrete",  # equal units, so that isotropic noise is a circle
    )


def on_page(points):
    """Points of two or three dimensions on the page."""
    return points @ SIDE_VIEW if points.shape[1] == 3 else points


def with_room(low, high):
    """Limits a seventh wider on either side."""
    return low - 0.14 * (high - low), high + 0.14 * (high - low)


def reach(model):
    """How far latent space is shown along each dimension: a straight dimension has unit deviation, a grid ends at 1."""
    q = model.embedding_.shape[1]
    return np.where(np.arange(q) < model.nodes_.shape[1], 1.0, 1.7)


def latent_net(model, n=60):
    """Lines of the latent grid (M, q), with gaps between them."""
    fine = np.append(np.linspace(-1, 1, n), np.nan)
    if model.embedding_.shape[1] == 1:
        return fine[:, None]
    c, f = (a.ravel() for a in np.meshgrid(np.linspace(-1, 1, 9), fine, indexing="ij"))
    return np.concatenate([np.column_stack([f, c]), np.column_stack([c + 0 * f, f])]) * reach(model)


def noise_factors(model):
    """Which nodes have their noise drawn (of a plane grid every third), and its factors on the page, (n, 2, 2)."""
    D, q = len(model.mean_), model.nodes_.shape[1]
    C = getattr(model, "covariances_", None)
    if C is None:
        C = np.broadcast_to(getattr(model, "covariance_", np.eye(D) / model.precision_), (len(model.means_), D, D))
    side = round(len(C) ** (1 / q))
    some = np.flatnonzero(np.indices((side,) * q).sum(axis=0).ravel() % (1 if q == 1 else 3) == 0)
    P = SIDE_VIEW if D == 3 else np.eye(2)
    lam, U = np.linalg.eigh(P.T @ C[some] @ P)
    return some, U * np.sqrt(np.maximum(lam, 0))[:, None]


def evidence(data, noise, variant, log_width, alpha, curved, n_nodes, n_basis, spread, noise_update, state):
    """Log evidence of the chosen variant against its width, with the model shown; None where it has no evidence."""
    if variant not in KNOW_THEIR_EVIDENCE:
        return None
    model = model_at(data, noise, variant, log_width, alpha, curved, n_nodes, n_basis, spread, noise_update, state)
    widths = LINE_WIDTHS if data == "bent line" else SHEET_WIDTHS
    values = np.array([evidence_at(data, noise, variant, width, alpha, n_nodes, n_basis) for width in widths])
    best, high = int(np.argmax(values)), values.max()
    here = evidence_at(data, noise, variant, log_width, alpha, n_nodes, n_basis)
    low = min(np.percentile(values, 25), here, high - 20)
    return Panel(
        [
            Rules("width", x=[log_width], colour="accent"),
            Lines("curve", widths, values, label="each width"),
            Points("widths", widths, values),
            Points("best", [widths[best]], [values[best]], marker="diamond", size=12, label="best"),
            Points("now", [log_width], [model.log_evidence_], colour="accent", size=10, label="shown"),
        ],
        title=f"log evidence, {variant}",
        hint="click a width",
        x=Axis(f"log2 of the {'length scale' if variant == 'Gaussian process' else 'width'}", (-2.75, 1.75)),
        y=Axis("nats", (low - 0.1 * (high - low), high + 0.12 * (high - low))),
        listens="click",
    )


def magnification(data, noise, variant, log_width, alpha, curved, n_nodes, n_basis, spread, noise_update, state):
    """Magnification at each point of latent space: a curve, or an image with the latent points."""
    model = model_at(data, noise, variant, log_width, alpha, curved, n_nodes, n_basis, spread, noise_update, state)
    X, (_, target) = model.embedding_, load(data, noise, variant == "discrete")
    if X.shape[1] == 1:
        x = np.linspace(-1, 1, 120)
        factors = magnification_factors(model, x[:, None], expected=False)
        rug = Points("points", X[:, 0], np.zeros(len(X)), values=target, marker="bar", size=9)
        up = Axis("", (-0.06 * factors.max(), 1.1 * factors.max()))
        marks = [Lines("magnification", x, factors, colour=2), rug]
        return Panel(marks, title="magnification", x=Axis("latent dimension", (-1.05, 1.05)), y=up)
    side, half = np.linspace(-1, 1, 20), 1 / 19  # the outer half of an outer pixel
    a, b = np.meshgrid(*np.outer(reach(model), side))
    factors = magnification_factors(model, np.column_stack([a.ravel(), b.ravel()]), expected=False).reshape(a.shape)
    across, up = (1 + half) * reach(model)
    look = dict(extent=(-across, across, -up, up), low=0, from_below=True, smooth=True, opacity=0.7)
    marks = [Image("magnification", factors, bar="magnification", **look), latent_points(X, target, size=4)]
    below = Axis("latent dimensions 1 and 2", (-across, across))
    return Panel(marks, title="latent space", x=below, y=Axis("", (-up, up)))


def objective(data, noise, variant, log_width, alpha, curved, n_nodes, n_basis, spread, noise_update, state):
    """What the fit climbs, against the step; the state that is shown is a dot."""
    model = model_at(data, noise, variant, log_width, alpha, curved, n_nodes, n_basis, spread, noise_update, state)
    values = model.history_ if state is None else np.array(state.values)
    step = len(values) - 1 if state is None else state.step
    high = values.max()
    low = min(np.percentile(values, 20) if len(values) > 5 else values.min(), values[step], high - 1.0)
    number = np.arange(len(values))
    return Panel(
        [
            Lines("all", number, values, colour="pale"),
            Lines("so far", number[: step + 1], values[: step + 1]),
            Points("now", [step], [values[step]], colour="accent", size=9),
        ],
        title="log evidence" if variant == "Bayesian" else "penalised log likelihood",
        x=Axis("step"),
        y=Axis("nats", (low - 0.15 * (high - low), high + 0.15 * (high - low))),
        span=1 if variant in KNOW_THEIR_EVIDENCE else 2,
    )


def says(data, noise, variant, log_width, alpha, curved, n_nodes, n_basis, spread, noise_update, state):
    """The numbers that the code shown prints."""
    model = model_at(data, noise, variant, log_width, alpha, curved, n_nodes, n_basis, spread, noise_update, state)
    known = f", log evidence {model.log_evidence_:.1f}" if variant in KNOW_THEIR_EVIDENCE else ""
    return f"log likelihood {model.log_likelihood_:.1f}, noise {1 / np.sqrt(model.precision_):.3g}{known}"


panel_gtm_variants = SceneOf(sheet, evidence, magnification, objective, defaults=OPENING, says=says, row_height=250)


CODE = """\
from itertools import islice
import numpy as np
from gplvm_edu.datasets import make_bent_line, make_curved_sheet, make_furrowed_sheet
from gplvm_edu.gtm import GTM
from gplvm_edu.gtm_variants import (BayesianGTM, DiscreteGTM, GaussianProcessGTM, ManifoldAlignedGTM, SemiLinearGTM,
                                    magnification_factors)

Y = {data}.data
{halve}model = {model}
{fit}
print(f"log likelihood {{model.log_likelihood_:.1f}}, noise {{1 / np.sqrt(model.precision_):.3g}}{evidence}")
middle = np.zeros((1, model.embedding_.shape[1]))
print("magnification in the middle:", magnification_factors(model, middle, expected=False).round(3))
"""
RUN = "*_, state = islice(model.iterates(Y), {n})           # so many states of the fit\nmodel.set_state(state)"


class GTMVariantsExplorer(Explorer):
    """Controls for `panel_gtm_variants`; Run fits the model, the slider goes back through the states."""

    title = "Six sheets through the same data"
    panels = panel_gtm_variants
    questions = (
        Question(
            "Ten balls have to cover a line. If they may become ellipses along it, what will the log likelihood and "
            "the noise across the line do?",
            OPENING,
            dict(variant="aligned"),
            "The likelihood rises by about twelve nats: the ellipses close the gaps between nodes, so the noise "
            "across the line need not do it any more and shrinks. Now set the noise update to 'as printed': the closed "
            "form counts the spread along the line as noise, everything swells, and the gain turns into a loss.",
            ("likelihood up, noise up", "likelihood up, noise down", "likelihood down, noise up"),
            1,
        ),
        Question(
            "A narrow basis lets the sheet follow every point. The evidence has its peak far to the right. What will "
            "the log likelihood of these data do when we go there?",
            {**OPENING, "data": "curved sheet", "noise": 0.2, "variant": "Bayesian", "log_width": -2.0},
            dict(log_width=0.5),
            "It falls, while the evidence rises: the wide sheet no longer follows the noise of these points. It needs "
            "fewer than half as many weights, and it predicts new data better.",
            ("it rises too", "it stays", "it falls"),
            2,
        ),
        Question(
            "The furrowed sheet is straight along one direction and curved along the other. The semi-linear model "
            "starts with its curved dimension along the longest axis. What if it starts along the second?",
            {**OPENING, "data": "furrowed sheet", "variant": "semi-linear", "curved": "first axis"},
            dict(curved="second axis"),
            "It is caught: the curved dimension runs along the straight direction of the sheet, and the furrows "
            "end up in the noise. EM climbs the hill it stands on; 'try both' climbs two and keeps the higher.",
            ("it turns round and ends in the same fit", "it is caught in a worse fit", "it finds a better fit"),
            1,
        ),
    )

    def make_controls(self):
        return {
            "data": {
                "data": menu(list(DATA), name="data"),
                "noise": slider(0.1, 0.02, 0.4, 0.02, "noise of the data"),
                "variant": menu(list(VARIANTS), name="model"),
            },
            "kernel": {
                "log_width": slider(-1.0, *WIDTH_RANGE, 0.25, "log2 of width"),
                "alpha": log_slider(0.01, -4, 2, "regulariser", 0.25),
            },
            "start": {"curved": menu(list(CURVED), name="bend along")},
            "size": {"n_nodes": slider(10, 7, 12, 1, "nodes a side"), "n_basis": slider(5, 2, 6, 1, "bells a side")},
            "more": {
                "spread": slider(0.5, 0.1, 1.5, 0.1, "spread, grid steps"),
                "noise_update": menu(list(UPDATES), name="noise update"),
            },
        }

    def ranges(self, settings):
        """No more bells, constant and coordinates than nodes to see them at."""
        return {"n_basis": {"max": min(6, settings["n_nodes"] - 2)}}

    def unused(self, settings):
        variant, unused = settings["variant"], {}
        if variant != "semi-linear":
            unused["curved"] = "the semi-linear model's start"
        if variant != "aligned":
            unused |= {"spread": "of the aligned noise", "noise_update": "of the aligned model"}
        if variant == "Bayesian":
            unused["alpha"] = "set by the evidence"
        if variant == "Gaussian process":
            unused |= {"alpha": "the process has a length scale", "n_basis": "a process has no bells"}
        return unused

    def point(self, panel, x, y):
        """A click on the evidence sets the width."""
        return {"log_width": float(np.clip(round(4 * x) / 4, *WIDTH_RANGE))}

    def nudge(self, panel, right, up):
        """Arrow keys: the next width."""
        return {"log_width": float(np.clip(self.settings["log_width"] + 0.25 * (right + up), *WIDTH_RANGE))}

    def iterates(self, settings):
        """The fit, state by state."""
        end, values = model_at(**settings, state=None), []
        model, n_steps = copy(end), len(end.history_)
        for step, state in enumerate(model.iterates(end.rows_)):
            values.append(state.value)
            yield (step + 1) / n_steps, Snapshot(step, state, values)

    def code(self, settings, state):
        variant = settings["variant"]
        return CODE.format(
            data=DATA[settings["data"]].format(noise=settings["noise"]),
            fit="model.fit(Y)" if state is None else RUN.format(n=state.step + 1),
            halve=HALVE if variant == "discrete" else "",
            model=model_text(**settings),
            evidence=", log evidence {model.log_evidence_:.1f}" if variant in KNOW_THEIR_EVIDENCE else "",
        )


def explore_gtm_variants(**settings) -> GTMVariantsExplorer:
    """The live explorer of chapter 10: any control as a keyword, such as ``variant="aligned"``."""
    return GTMVariantsExplorer(**settings)
