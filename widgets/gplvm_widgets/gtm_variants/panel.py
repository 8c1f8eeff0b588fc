"""What `explore_gtm_variants` shows: the sheet with its noise, the evidence, magnification, the objective."""

import numpy as np
from matplotlib.collections import EllipseCollection, LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from gplvm_edu.gtm_variants import magnification_factors
from gplvm_edu.plotting import ACCENT, PALETTE, QUIET, in_style

from ..drawing import few_ticks
from .fit import CORRECTED, WIDTHS, evidence_curve, load, model_at

VIEW = np.array([[1.0, -0.2], [0.5, 0.6], [0.0, 1.0]])  # from three dimensions to the page
MARGINS = dict(left=0.055, right=0.985, bottom=0.095, top=0.93, wspace=0.3, hspace=0.5)


@in_style
def panel_gtm_variants(
    data="bent line",
    noise=0.1,
    variant="isotropic",
    log_width=-1.0,
    n_nodes=10,
    n_basis=5,
    alpha=0.01,
    spread=0.5,
    noise_update=CORRECTED,
    curved="try both",
    state=None,
) -> Figure:
    """Four views of one variant: data space, evidence against width, magnification, objective against step.

    Parameters
    ----------
    data : "bent line", "furrowed sheet" or "curved sheet"
    noise : float
        Of the data.
    variant : "isotropic", "aligned", "semi-linear", "Bayesian", "Gaussian process" or "discrete"
    log_width : float
        log2 of the width of the basis functions, or of the length scale of the process.
    n_nodes, n_basis : int
        Along each latent dimension.
    alpha : float
        The regulariser.
    spread : float
        Of the aligned noise.
    noise_update : str
        Of the aligned noise.
    curved : str
        Of the semi-linear start.
    state : Snapshot or None
        A state of a run; None: its end.

    Returns
    -------
    Figure
    """
    settings = dict(
        data=data,
        noise=noise,
        variant=variant,
        log_width=log_width,
        n_nodes=n_nodes,
        n_basis=n_basis,
        alpha=alpha,
        spread=spread,
        noise_update=noise_update,
        curved=curved,
    )
    model = model_at(state, **settings)
    figure = Figure(figsize=(9.6, 5.0), layout="none")
    grid = figure.add_gridspec(2, 3, width_ratios=[1.75, 1, 1], **MARGINS)
    draw_sheet(figure.add_subplot(grid[:, 0]), model, data, noise, variant)
    draw_evidence(figure.add_subplot(grid[0, 1:]), settings)
    draw_magnification(figure.add_subplot(grid[1, 1]), model)
    draw_objective(figure.add_subplot(grid[1, 2]), model, state)
    figure.model = model
    return figure


def flatten(points):
    """Points of two or three dimensions on the page."""
    return points @ VIEW if points.shape[-1] == 3 else points


def draw_sheet(axes, model, data, noise, variant):
    """Data, the image of the latent grid, and one standard deviation of the noise around its nodes."""
    Y, target = load(data, noise, variant == "discrete")
    axes.scatter(*flatten(Y).T, c=target, cmap="viridis", s=16, linewidths=0, alpha=0.85)
    lines = [flatten(model.inverse_transform(line)) for line in latent_lines(model)]
    axes.add_collection(LineCollection(lines, colors="black", linewidths=1.6 if len(lines) == 1 else 0.8))
    if variant != "discrete":
        add_ellipses(axes, model)
    axes.plot(*flatten(model.means_).T, "o", color="black", markersize=3.2 if len(lines) == 1 else 2)
    seen = flatten(Y)
    low, high = seen.min(axis=0), seen.max(axis=0)
    room = 0.14 * (high - low) + 0.02
    axes.set(
        xlim=(low[0] - room[0], high[0] + room[0]),
        ylim=(low[1] - room[1], high[1] + room[1]),
        title=f"{variant}: log likelihood {model.log_likelihood_:.1f}",
    )
    axes.legend(
        handles=[Patch(color=PALETTE[0], alpha=0.3, label="noise of a node, 1 deviation")],
        loc="upper left",
        fontsize="small",
    ) if variant != "discrete" else None
    if Y.shape[1] == 2 and variant != "discrete":
        axes.set_aspect("equal")  # equal scales, so that isotropic noise is a circle
    axes.set(
        xlabel="first column" if Y.shape[1] == 2 else "three columns, seen from the side",
        xticks=few_ticks(low[0], high[0]),
        yticks=few_ticks(low[1], high[1]),
    )
    axes.tick_params(labelsize=8.5)


def latent_lines(model, n=60):
    """Lines of the latent grid, (n, q + p) each."""
    q = model.embedding_.shape[1]
    fine = np.linspace(-1, 1, n)
    if q == 1:
        return [fine[:, None]]
    second = np.linspace(-1, 1, 9)
    reach = 1.0 if model.nodes_.shape[1] == 2 else 1.7  # a straight dimension has unit deviation
    across = [np.column_stack([fine, np.full(n, reach * c)]) for c in second]
    return across + [np.column_stack([np.full(n, c), reach * fine]) for c in second]


def add_ellipses(axes, model):
    """The covariance of each node (of every second one along a plane grid), projected onto the page."""
    D = len(model.mean_)
    if hasattr(model, "covariances_"):
        C = model.covariances_
    else:
        C = np.broadcast_to(getattr(model, "covariance_", np.eye(D) / model.precision_), (len(model.means_), D, D))
    side = round(len(C) ** (1 / model.nodes_.shape[1]))
    every = 1 if side == len(C) else 3  # all ellipses of a plane grid would hide it
    some = np.flatnonzero(np.indices((side,) * model.nodes_.shape[1]).sum(axis=0).ravel() % every == 0)
    P = VIEW if D == 3 else np.eye(2)
    lam, U = np.linalg.eigh(P.T @ C[some] @ P)
    size, angle = 2 * np.sqrt(np.maximum(lam, 0)), np.degrees(np.arctan2(U[:, 1, 1], U[:, 0, 1]))
    axes.add_collection(
        EllipseCollection(
            size[:, 1],
            size[:, 0],
            angle,
            units="xy",
            offsets=flatten(model.means_[some]),
            transOffset=axes.transData,
            facecolors=PALETTE[0],
            alpha=0.22,
            edgecolors=PALETTE[0],
        )
    )


def draw_evidence(axes, settings):
    """Log evidence against the width, with the width that is set now."""
    process = settings["variant"] == "Gaussian process"
    values = evidence_curve(*(settings[name] for name in ("data", "noise", "n_nodes", "n_basis")), process)
    best = int(np.argmax(values))
    axes.plot(WIDTHS, values, "o-", color=PALETTE[0], markersize=4)
    axes.plot(WIDTHS[best], values[best], "*", color=PALETTE[0], markersize=14)
    axes.axvline(settings["log_width"], color=ACCENT, linewidth=2)
    axes.text(settings["log_width"], 0.04, " now", color=ACCENT, transform=axes.get_xaxis_transform(), fontsize=9)
    name = "length scale" if process else "width"
    axes.set(
        xlim=(WIDTHS[0] - 0.3, WIDTHS[-1] + 0.3),
        xlabel=rf"$\log_2$ of the {name} $\sigma$",
        title=f"log evidence of each {name}, best at the star (click: go there)",
    )
    axes.set_gid("evidence")
    low, high = min(np.percentile(values, 25), values.max() - 20), values.max()
    axes.set(
        ylim=(low - 0.1 * (high - low), high + 0.12 * (high - low)), xticks=range(-2, 3), yticks=few_ticks(low, high)
    )
    axes.tick_params(labelsize=8.5)


def draw_magnification(axes, model):
    """Magnification at each point of latent space: a curve, or an image with the latent points."""
    q = model.embedding_.shape[1]
    if q == 1:
        x = np.linspace(-1, 1, 120)
        factors = magnification_factors(model, x[:, None], expected=False)
        axes.plot(x, factors, color=PALETTE[2])
        axes.plot(model.embedding_[:, 0], np.zeros(len(model.embedding_)), "|", color=QUIET, markersize=9)
        axes.set(
            xlim=(-1, 1),
            ylim=(0, None),
            xlabel="latent dimension",
            title="magnification",
            xticks=[-1, 0, 1],
            yticks=few_ticks(0, factors.max()),
        )
        axes.tick_params(labelsize=8.5)
        return
    reach = 1.0 if model.nodes_.shape[1] == 2 else 1.7
    side = np.linspace(-1, 1, 24)
    a, b = np.meshgrid(side, reach * side)
    X = np.column_stack([a.ravel(), b.ravel()])
    factors = magnification_factors(model, X, expected=False).reshape(a.shape)
    axes.imshow(
        factors,
        extent=(-1, 1, -reach, reach),
        origin="lower",
        cmap="Greens",
        aspect="auto",
        interpolation="bilinear",
        vmin=0,
    )
    axes.plot(*model.embedding_.T, ".", color="black", markersize=2)
    axes.set(
        xlim=(-1, 1),
        ylim=(-reach, reach),
        xticks=[-1, 0, 1],
        yticks=[-1, 0, 1],
        xlabel="latent dimension 1",
        title=f"magnification, to {factors.max():.2g}",
    )
    axes.tick_params(labelsize=8.5)


def draw_objective(axes, model, snapshot):
    """The objective against the step; the state that is shown is a dot."""
    values = model.history_ if snapshot is None else np.array(snapshot.values)
    step = len(values) - 1 if snapshot is None else snapshot.step
    axes.plot(values, color="#c4c4c4")
    axes.plot(values[: step + 1], color=PALETTE[0])
    axes.plot(step, values[step], "o", color=ACCENT, markersize=7)
    low, high = np.percentile(values, 20) if len(values) > 5 else values.min(), values.max()
    low = min(low, values[step], high - 1.0)
    axes.set(
        ylim=(low - 0.15 * (high - low), high + 0.15 * (high - low)),
        xlabel="step",
        yticks=few_ticks(low, high),
        title=f"objective {values[step]:.1f}",
        xticks=few_ticks(0, max(len(values) - 1, 5)),
    )
    axes.tick_params(labelsize=8.5)
