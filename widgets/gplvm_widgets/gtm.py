"""`explore_gtm`: play EM, watch the sheet bend, ask one point which nodes take responsibility for it."""

from functools import lru_cache
from typing import NamedTuple

import ipywidgets as W
import numpy as np
from matplotlib.figure import Figure

from gplvm_edu import datasets, gtm
from gplvm_edu.metrics import nearest_neighbour_errors
from gplvm_edu.plotting import ACCENT, MARKERS, PALETTE, in_style, new_figure

from .explorer import Explorer, Question

DATA = ("curve", "oil flow", "digits")
EXACT, PRINTED = "exact (9.14)", "as printed (12)"
POSTERIOR, UNIFORM = "responsibilities of the PCA plane", "equal responsibilities, 1/K"
ALL = "all points"
MAX_PASSES = 40
TICKS = (-1, -0.5, 0, 0.5, 1)
MARGINS = dict(left=0.085, right=0.985, bottom=0.085, top=0.93, wspace=0.24, hspace=0.42)
DEFAULTS = dict(data="curve", width=0.75, alpha=0.01, start=POSTERIOR, n_nodes=15, n_basis=4, batch=ALL, update=EXACT)


class Scene(NamedTuple):
    """Data and latent side of one setting, before any iteration."""

    Y: np.ndarray  # (N, D), centred
    target: np.ndarray  # class, or position along the curve
    X: np.ndarray  # (K, q)
    Phi: np.ndarray  # (K, M)
    basis: gtm.Basis
    start: tuple  # weights, precision
    alpha: float
    mean: np.ndarray  # (D,)
    page: np.ndarray  # (D, 2), from data space to the page


class Moment(NamedTuple):
    """What is drawn: an iterate, all responsibilities, and the values so far."""

    state: gtm.GTMState
    R: np.ndarray  # (K, N)
    sweeps: tuple  # of every M-step
    bounds: tuple  # penalised free energy after every M-step
    likelihoods: tuple  # (pass, penalised log likelihood) after every pass
    ended: bool  # the printed update has made 1 / beta negative


@lru_cache(maxsize=8)
def load(data):
    """Rows (N, D) and what is known about them."""
    if data == "curve":
        rng = np.random.default_rng(0)
        t = np.sort(rng.uniform(-2, 2, 120))
        return np.column_stack([t, np.sin(2 * t)]) + 0.12 * rng.standard_normal((120, 2)), t
    if data == "oil flow":
        oil = datasets.simulate_oil_flow(200, random_state=0)
        return oil.data, oil.target
    digits = datasets.load_digits()
    rows = np.flatnonzero(digits.target < 5)[:250]
    return digits.data[rows], digits.target[rows]


@lru_cache(maxsize=32)
def scene(data, width, alpha, n_nodes, n_basis):
    """Grid, basis and start for these data."""
    rows, target = load(data)
    Y = rows - rows.mean(axis=0)
    q = 1 if data == "curve" else 2
    gtm.GTM(grid=(n_nodes,) * q, basis=(n_basis,) * q, width=width, alpha=alpha).check_parameters()
    X, basis = gtm.latent_grid((n_nodes,) * q), gtm.make_basis((n_basis,) * q, width)
    Phi = gtm.basis_functions(X, basis)
    start = gtm.principal_sheet(Y, X, Phi, gtm.grid_spacing((n_nodes,) * q))
    page = np.eye(2) if data == "curve" else np.linalg.eigh(Y.T @ Y)[1][:, [-1, -2]]
    return Scene(Y, target, X, Phi, basis, start, alpha / np.mean(Y**2), rows.mean(axis=0), page)


def moments(now, start, batch, update, passes=MAX_PASSES):
    """Generator of `Moment` for every M-step: incremental EM, which with one batch of all points is plain EM."""
    size = len(now.Y) if batch == ALL else int(batch)
    states = gtm.incremental_iterates(
        now.Y,
        now.Phi,
        *now.start,
        size,
        now.alpha,
        passes,
        noise_floor=1e-6 * np.mean(now.Y**2),
        start="uniform" if start == UNIFORM else "posterior",
        printed=update == PRINTED,
    )
    sweeps, bounds, likelihoods, last = (), (), (), None
    for state in states:
        R, log_density = gtm.responsibilities(gtm.log_densities(now.Y, now.Phi @ state.weights.T, state.precision))
        sweeps, bounds = (*sweeps, state.sweeps), (*bounds, state.value)
        if state.sweeps == int(state.sweeps):
            penalty = 0.5 * now.alpha * np.sum(state.weights**2)
            likelihoods = (*likelihoods, (state.sweeps, float(np.sum(log_density) - penalty)))
        last = Moment(state, R, sweeps, bounds, likelihoods, False)
        yield last
    if last.sweeps[-1] < passes:
        yield last._replace(ended=True)


@lru_cache(maxsize=64)
def after(data, width, alpha, start, n_nodes, n_basis, batch, update, passes):
    """The last moment after so many passes."""
    *_, last = moments(scene(data, width, alpha, n_nodes, n_basis), start, batch, update, passes)
    return last


@in_style
def panel_gtm(
    data="curve",
    width=0.75,
    alpha=0.01,
    start=POSTERIOR,
    n_nodes=15,
    n_basis=4,
    batch=ALL,
    update=EXACT,
    passes=15,
    point=60,
    state=None,
) -> Figure:
    """Four views: the sheet in data space, latent space, one point and its image, the objective.

    Parameters
    ----------
    data : "curve", "oil flow" or "digits"
    width, alpha : float
        Of the basis functions (in distances of their centres), and of the prior on the weights.
    start, update, batch : str
        How responsibilities begin, how the noise is updated, and how many points a batch has.
    n_nodes, n_basis : int
        Along each latent dimension.
    passes : int
        EM passes to show when nothing has been run.
    point : int
        The row whose responsibilities are shown.
    state : Moment or None

    Returns
    -------
    matplotlib Figure
    """
    now = scene(data, width, alpha, n_nodes, n_basis)
    moment = state or after(data, width, alpha, start, n_nodes, n_basis, batch, update, passes)
    figure, axes = new_figure(2, 2, size=(9.2, 6.4), margins=MARGINS)
    figure.scene, figure.moment, figure.moving = now, moment, []
    draw_sheet(figure, axes[0, 0])
    draw_latent(figure, axes[0, 1])
    draw_point(figure, axes[1, 0])
    draw_objective(axes[1, 1], moment)
    show_point(figure, min(point, len(now.Y) - 1))
    return figure


def scatter(axes, places, target, curve, **options):
    """Points of the curve in the colour of their place, others with the marker of their class."""
    if curve:
        return [axes.scatter(*places.T, c=target, s=14, cmap="viridis", linewidths=0, **options)]
    return [
        axes.scatter(*places[target == k].T, s=12, color=PALETTE[k], marker=MARKERS[k], linewidths=0, **options)
        for k in np.unique(target)
    ]


def draw_sheet(figure, axes):
    """The data and the image of the grid, on the page of the first two axes (for the curve: as they are)."""
    now, moment = figure.scene, figure.moment
    m, beta, q = now.Phi @ moment.state.weights.T @ now.page, moment.state.precision, now.X.shape[1]
    scatter(axes, now.Y @ now.page, now.target, q == 1, alpha=0.45)
    if q == 1:
        fine = np.linspace(-1, 1, 200)[:, None]
        axes.plot(*(gtm.basis_functions(fine, now.basis) @ moment.state.weights.T).T, color="black", linewidth=1.2)
        angle = np.linspace(0, 2 * np.pi, 40)
        rings = m[:, :, None] + np.stack([np.cos(angle), np.sin(angle)]) / np.sqrt(beta)
        axes.plot(
            *np.concatenate([rings, np.full((len(m), 2, 1), np.nan)], axis=2).transpose(1, 0, 2).reshape(2, -1),
            color=ACCENT,
            linewidth=0.6,
            alpha=0.6,
        )
        axes.plot(*m.T, "o", color=ACCENT, markersize=4)
        axes.set(xlabel="$y_1$", ylabel="$y_2$")
        axes.set_aspect("equal", adjustable="datalim")
    else:
        n = round(np.sqrt(len(m)))
        net = m.reshape(n, n, 2)
        for lines in (net, net.transpose(1, 0, 2)):
            gaps = np.concatenate([lines, np.full((n, 1, 2), np.nan)], axis=1).reshape(-1, 2)
            axes.plot(*gaps.T, color="black", linewidth=0.7, alpha=0.8)
        axes.set(xlabel="first principal axis", ylabel="second principal axis")
    axes.set_title(f"the sheet in data space; noise $1/\\sqrt{{\\beta}}$ = {1 / np.sqrt(beta):.3g}")
    axes.set_gid("sheet")
    figure.moving += axes.plot(
        [], [], "o", markersize=11, markerfacecolor="none", markeredgecolor="black", markeredgewidth=1.6, animated=True
    )


def draw_latent(figure, axes):
    """Posterior means over the grid; behind them the responsibilities of the chosen point."""
    now, R = figure.scene, figure.moment.R
    means = gtm.posterior_means(R, now.X)
    if now.X.shape[1] == 1:
        scatter(axes, np.column_stack([means[:, 0], np.full(len(means), -0.06)]), now.target, True)
        figure.moving += axes.plot([], [], "-o", color=ACCENT, markersize=3.5, animated=True)
        axes.set(
            xlabel="latent dimension 1",
            ylabel="responsibility",
            ylim=(-0.12, 1.05),
            xlim=(-1.08, 1.08),
            xticks=TICKS,
            title="responsibilities of the chosen point",
        )
    else:
        n = round(np.sqrt(len(now.X)))
        edge = 1 + 1 / (n - 1)
        figure.moving.append(
            axes.imshow(
                np.zeros((n, n)),
                extent=(-edge, edge, -edge, edge),
                origin="lower",
                vmin=0,
                vmax=1,
                cmap="Greys",
                alpha=0.6,
                aspect="auto",
                animated=True,
                zorder=0,
            )
        )
        figure.moving += scatter(axes, means, now.target, False, alpha=0.9, animated=True, zorder=3)
        axes.set(
            xlabel="latent dimension 1",
            ylabel="latent dimension 2",
            xlim=(-edge, edge),
            ylim=(-edge, edge),
            xticks=TICKS,
            yticks=TICKS,
            title=f"posterior means: {nearest_neighbour_errors(means, now.target)} errors of {len(means)}",
        )
    figure.moving += axes.plot(
        [],
        [],
        "o",
        markersize=11,
        markerfacecolor="none",
        markeredgecolor="black",
        markeredgewidth=1.6,
        animated=True,
        zorder=4,
    )
    axes.set_gid("latent")
    figure.latent = axes


def draw_point(figure, axes):
    """The chosen row beside its image on the sheet: as numbers, as pictures, or (curve) both functions of x."""
    now, state = figure.scene, figure.moment.state
    D, q = now.Y.shape[1], now.X.shape[1]
    figure.below = axes
    if q == 1:
        fine = np.linspace(-1, 1, 200)[:, None]
        sheet = gtm.basis_functions(fine, now.basis) @ state.weights.T
        means = gtm.posterior_means(figure.moment.R, now.X)
        for d, name in enumerate(("$y_1(x)$", "$y_2(x)$")):
            axes.plot(means[:, 0], now.Y[:, d], ".", color=PALETTE[d], alpha=0.4, markersize=4)
            axes.plot(fine[:, 0], sheet[:, d], color=PALETTE[d], label=name)
            figure.moving += axes.plot(
                [],
                [],
                "o",
                markersize=9,
                markerfacecolor="none",
                markeredgecolor="black",
                markeredgewidth=1.4,
                animated=True,
            )
        axes.set(
            title="the map: data over their posterior means", xlabel="latent dimension 1", ylabel="data", xticks=TICKS
        )
        axes.legend(fontsize="small", loc="upper left")
    elif D == 64:
        figure.moving.append(axes.imshow(np.zeros((8, 17)), cmap="gray_r", vmin=0, vmax=16, animated=True))
        axes.set(xticks=[3.5, 12.5], yticks=[], title="the chosen digit, and the sheet at its posterior mean")
        axes.set_xticklabels(["digit", "sheet"])
        axes.spines[:].set_visible(False)
    else:
        low, high = now.Y.min(), now.Y.max()
        figure.moving += axes.plot([], [], "o", color="black", markersize=5, label="measured", animated=True)
        figure.moving += axes.plot([], [], "-", color=ACCENT, label="sheet at its posterior mean", animated=True)
        axes.set(
            title="the chosen moment of the pipe",
            xlabel="measurement",
            ylabel="value, centred",
            xlim=(-0.5, D - 0.5),
            ylim=(low - 0.1, high + 0.7 * (high - low) * 0.5),
        )
        axes.legend(handles=figure.moving[-2:], fontsize="small", loc="upper left", ncols=2)


def show_point(figure, n):
    """Put everything that belongs to row n in its place."""
    now, moment = figure.scene, figure.moment
    R, y, q = moment.R[:, n], now.Y[n], now.X.shape[1]
    x = R @ now.X
    on_sheet = (gtm.basis_functions(x[None], now.basis) @ moment.state.weights.T)[0]
    places = iter(figure.moving)
    next(places).set_data(*(y @ now.page)[:, None])
    if q == 1:
        next(places).set_data(now.X[:, 0], R)
        next(places).set_data(x, [-0.06])
        for d in range(2):
            next(places).set_data(x, [y[d]])
        return
    side = round(np.sqrt(len(now.X)))
    next(places).set_data(R.reshape(side, side).T / R.max())
    for _ in np.unique(now.target):
        next(places)  # the points stay where they are
    next(places).set_data(*x[:, None])
    if len(y) == 64:
        both = (y + now.mean).reshape(8, 8), np.zeros((8, 1)), (on_sheet + now.mean).reshape(8, 8)
        next(places).set_data(np.hstack(both))
    else:
        next(places).set_data(np.arange(len(y)), y)
        next(places).set_data(np.arange(len(y)), on_sheet)


def draw_objective(axes, moment):
    """Free energy after every M-step, log likelihood after every pass, both penalised."""
    axes.plot(moment.sweeps, moment.bounds, "-", color=PALETTE[0], linewidth=1.4, label="free energy F")
    axes.plot(*np.array(moment.likelihoods).T, "o", color=ACCENT, markersize=3.5, label="log likelihood L")
    fallen = max(np.maximum.accumulate(moment.bounds) - moment.bounds)
    title = f"objective {moment.bounds[-1]:.1f} after {moment.sweeps[-1]:.3g} passes"
    if moment.ended:
        title = "the printed update made $1/\\beta$ negative: the end"
    elif fallen > 1e-6 * max(abs(moment.bounds[-1]), 1.0):
        title += f"; F fell by {fallen:.2g}"
    axes.set(title=title, xlabel="passes over the data", ylabel="penalised, in nats")
    axes.margins(y=0.12)
    axes.legend(fontsize="small", loc="lower left" if moment.ended else "lower right")


CODE = """\
import numpy as np
from gplvm_edu import datasets, gtm

{load}
Y = Y - Y.mean(axis=0)
X = gtm.latent_grid({grid})
Phi = gtm.basis_functions(X, gtm.make_basis({basis}, {width:.4g}))
W, beta = gtm.principal_sheet(Y, X, Phi, gtm.grid_spacing({grid}))
variance = np.mean(Y**2)
states = list(gtm.incremental_iterates(
    Y, Phi, W, beta, batch_size={batch}, alpha={alpha:.4g} / variance, max_iter={passes},
    noise_floor=1e-6 * variance, start="{start}", printed={printed}))
state = states[-1]
R, log_density = gtm.responsibilities(gtm.log_densities(Y, Phi @ state.weights.T, state.precision))
print(f"F - penalty {{state.value:.2f}}, L {{log_density.sum():.2f}}, 1/beta {{1 / state.precision:.4g}}")
print("point {point} lies at", gtm.posterior_means(R, X)[{point}].round(3))
"""
LOAD = {
    "curve": """rng = np.random.default_rng(0)
t = np.sort(rng.uniform(-2, 2, 120))
Y = np.column_stack([t, np.sin(2 * t)]) + 0.12 * rng.standard_normal((120, 2))""",
    "oil flow": "Y = datasets.simulate_oil_flow(200, random_state=0).data",
    "digits": """digits = datasets.load_digits()
Y = digits.data[np.flatnonzero(digits.target < 5)[:250]]""",
}


class GTMExplorer(Explorer):
    """Controls for `panel_gtm`; Run plays EM from the plane of PCA."""

    title = "The GTM: a sheet that learns to bend"
    keeps_iterates = True
    light = ("point",)
    questions = (
        Question(
            "Fifteen passes, and the sheet follows the curve. Now make the bells two and a half times as wide as "
            "they are far apart. Will the noise 1/sqrt(beta) go up or down?",
            {**DEFAULTS, "passes": 15},
            dict(width=2.5),
            "Up. Wide bells overlap so much that bending takes large weights of opposite signs, and the "
            "regulariser forbids those: the sheet stays stiff, and what it can't follow is called noise.",
        ),
        Question(
            "Plain EM has made two passes over the oil data. If the M-step comes after every ten points instead, "
            "how far will two passes get?",
            {**DEFAULTS, "data": "oil flow", "passes": 2},
            dict(batch="10"),
            "Much further: twenty M-steps a pass instead of one, and each is made with responsibilities that are "
            "nearly fresh. F climbs at every one of them; L (the dots) is above it, and meets it when all the "
            "responsibilities agree with the sheet.",
        ),
        Question(
            "The paper allows equal responsibilities to start with, and prints a cheap update for the noise. "
            "Here are both, in batches of ten. What will 1/beta do?",
            {**DEFAULTS, "start": UNIFORM, "batch": "10", "passes": 6},
            dict(update=PRINTED),
            "It turns negative and the run ends. The printed update corrects the residuals of the ten points just "
            "visited, but the new weights have moved the residuals of all the others as well.",
        ),
    )

    def make_controls(self):
        wide = dict(style={"description_width": "initial"})
        slider = dict(layout=W.Layout(width="300px"), **wide)
        return {
            "data": {"data": W.ToggleButtons(options=DATA, style={"button_width": "85px"})},
            "kernel": {
                "width": W.FloatSlider(0.75, min=0.3, max=2.5, step=0.05, description="width of the bells", **slider),
                "alpha": W.FloatLogSlider(
                    0.01, base=10, min=-5, max=2, step=0.25, description="regulariser", readout_format=".2g", **slider
                ),
            },
            "start": {"start": W.Dropdown(options=[POSTERIOR, UNIFORM], layout=W.Layout(width="240px"))},
            "size": {
                "n_nodes": W.IntSlider(15, 5, 20, description="nodes a side", **slider),
                "n_basis": W.IntSlider(4, 2, 8, description="bells a side", **slider),
            },
            "more": {
                "batch": W.Dropdown(
                    options=[ALL, "50", "20", "10"], description="batch", layout=W.Layout(width="140px"), **wide
                ),
                "update": W.Dropdown(
                    options=[EXACT, PRINTED], description="noise", layout=W.Layout(width="190px"), **wide
                ),
                "passes": W.IntSlider(15, 0, MAX_PASSES, description="EM passes", **slider),
                "point": W.BoundedIntText(60, 0, 249, description="point", layout=W.Layout(width="120px"), **wide),
            },
        }

    def panel(self, settings, state):
        return panel_gtm(**settings, state=state)

    def retouch(self, figure, settings):
        """Only the chosen point moves."""
        show_point(figure, min(settings["point"], len(figure.scene.Y) - 1))

    def click(self, axes, x, y):
        """The row nearest to a click, in data space or in latent space."""
        if axes.get_gid() not in ("sheet", "latent"):
            return {}
        now, moment = self.figure.scene, self.figure.moment
        places = now.Y @ now.page if axes.get_gid() == "sheet" else gtm.posterior_means(moment.R, now.X)
        q = places.shape[1]
        return {"point": int(np.argmin(np.sum((places - np.array([x, y])[:q]) ** 2, axis=1)))}

    def nudge(self, right, up):
        """Arrow keys: the next row (of the curve: along it)."""
        return {"point": int(np.clip(self.settings["point"] + right + up, 0, len(self.figure.scene.Y) - 1))}

    def iterates(self, settings):
        """Every M-step of the run, from the plane of PCA."""
        now = scene(*(settings[name] for name in ("data", "width", "alpha", "n_nodes", "n_basis")))
        for moment in moments(now, settings["start"], settings["batch"], settings["update"]):
            yield min(moment.sweeps[-1] / MAX_PASSES, 1.0), moment

    def code(self, settings):
        passes = settings["passes"] if self.state is None else int(np.ceil(self.state.sweeps[-1]))
        n = len(load(settings["data"])[0])
        q = 1 if settings["data"] == "curve" else 2
        return CODE.format(
            load=LOAD[settings["data"]],
            grid=(settings["n_nodes"],) * q,
            basis=(settings["n_basis"],) * q,
            width=settings["width"],
            alpha=settings["alpha"],
            passes=passes,
            point=min(settings["point"], n - 1),
            batch=n if settings["batch"] == ALL else settings["batch"],
            printed=settings["update"] == PRINTED,
            start="uniform" if settings["start"] == UNIFORM else "posterior",
        )


def explore_gtm(**settings) -> GTMExplorer:
    """The live explorer of chapter 9; any control can be set: ``explore_gtm(data="oil flow", batch="10")``."""
    return GTMExplorer(**settings)
