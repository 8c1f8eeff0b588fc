"""The model of one setting of the controls, its states, and the evidence of all widths."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gplvm_edu import datasets, gtm, gtm_variants

DATA = {
    "bent line": "make_bent_line(60, noise={noise:g}, random_state=0)",
    "furrowed sheet": "make_furrowed_sheet(15, noise={noise:g}, random_state=0)",
    "curved sheet": "make_curved_sheet(15, noise={noise:g}, random_state=0)",
}
SHARED = "grid={grid}, basis={basis}, width={width:g}"
VARIANTS = {  # values of the controls in braces; the shown code is evaluated
    "isotropic": f"GTM({SHARED}, alpha={{alpha:g}}, max_iter=150)",
    "aligned": f"ManifoldAlignedGTM({SHARED}, alpha={{alpha:g}}, spread={{spread:g}},\n"
    '                           noise_update="{noise_update}", max_iter=150)',
    "semi-linear": "SemiLinearGTM(grid={line}, basis={line_basis}, width={width:g}, alpha={alpha:g}, curved={curved},\n"
    "                      max_iter=150)",
    "Bayesian": f"BayesianGTM({SHARED}, max_iter=150)",
    "Gaussian process": "GaussianProcessGTM(grid={grid}, length_scale={sigma:g}, variance=4.0, max_iter=150)",
    "discrete": f'DiscreteGTM("auto", {SHARED}, alpha={{alpha:g}}, max_iter=150)',
}
CURVED = {"try both": "None", "first axis": "[0]", "second axis": "[1]"}
CORRECTED, PRINTED = "corrected: (10.6)", "as printed: (9.13)"
UPDATES = {CORRECTED: "exact", PRINTED: "paper"}
NAMES = {"GTM": gtm.GTM, **{name: getattr(room, name) for room in (datasets, gtm_variants) for name in room.__all__}}
WIDTHS = np.arange(-2.5, 2.01, 0.5)  # log2 of sigma at which the evidence is shown
HALVE = "Y[:, -1] = Y[:, -1] > np.median(Y[:, -1])                # the last column becomes a yes or no\n"


class Snapshot(NamedTuple):
    """One state of a run, its number, and the objective of all states so far (shared by all snapshots)."""

    step: int
    state: object
    values: list


def model_text(data, variant, log_width, n_nodes, n_basis, alpha, spread, noise_update, curved, **_):
    """The line of code that makes the estimator of a setting."""
    q = 1 if data == "bent line" else 2
    sigma = float(f"{2.0**log_width:.4g}")
    return VARIANTS[variant].format(
        grid=q * (n_nodes,),
        basis=q * (n_basis,),
        line=(n_nodes,),
        line_basis=(n_basis,),
        sigma=sigma,
        width=float(f"{sigma * (n_basis - 1) / 2:.4g}"),
        alpha=float(f"{alpha:.3g}"),
        spread=spread,
        noise_update=UPDATES[noise_update],
        curved=CURVED[curved],
    )


def make_model(**settings):
    """The estimator of a setting, not fitted: the shown line, evaluated."""
    return eval(model_text(**settings), NAMES)


@lru_cache(maxsize=32)
def load(data, noise, halved):
    """Data and colours; for the discrete variant the last column is cut at its median."""
    made = eval(DATA[data].format(noise=noise), NAMES)
    Y = made.data.copy()
    if halved:
        Y[:, -1] = Y[:, -1] > np.median(Y[:, -1])
    return Y, made.target


@lru_cache(maxsize=64)
def fitted(**settings):
    """The estimator of a setting, fitted to the end."""
    Y, _ = load(settings["data"], settings["noise"], settings["variant"] == "discrete")
    return make_model(**settings).fit(Y)


def snapshots(**settings):
    """Generator of (share done, Snapshot): the fit, state by state."""
    Y, _ = load(settings["data"], settings["noise"], settings["variant"] == "discrete")
    n_steps, values = len(fitted(**settings).history_), []
    for step, state in enumerate(make_model(**settings).iterates(Y)):
        values.append(state.value)
        yield min((step + 1) / n_steps, 1.0), Snapshot(step, state, values)
        if step + 1 >= n_steps:
            return


def model_at(snapshot, **settings):
    """The estimator of a setting at one state of its run, or at the end of it."""
    if snapshot is None:
        return fitted(**settings)
    model = make_model(**settings)
    Y, _ = load(settings["data"], settings["noise"], settings["variant"] == "discrete")
    steps = model.iterates(Y)
    next(steps)  # prepares the estimator
    steps.close()
    return model.keep(snapshot.state, snapshot.values[: snapshot.step + 1])


@lru_cache(maxsize=16)
def evidence_curve(data, noise, n_nodes, n_basis, process):
    """Log evidence for every width of the Bayesian GTM, or every length scale of the Gaussian process."""
    Y, _ = load(data, noise, False)
    values = []
    for log_width in WIDTHS:
        settings = dict(
            data=data,
            variant="Gaussian process" if process else "Bayesian",
            log_width=log_width,
            n_nodes=n_nodes,
            n_basis=n_basis,
            alpha=1.0,
            spread=0.5,
            noise_update=CORRECTED,
            curved="try both",
        )
        values.append(make_model(**settings).set_params(max_iter=60, tol=1e-4).fit(Y).log_evidence_)
    return np.array(values)
