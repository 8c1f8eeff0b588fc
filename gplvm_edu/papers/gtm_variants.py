"""The tables of chapter 10, all on simulated data."""

import numpy as np

from ..datasets import make_bent_line, make_curved_sheet, make_furrowed_sheet
from ..gtm import GTM
from ..gtm_variants import BayesianGTM, GaussianProcessGTM, ManifoldAlignedGTM, SemiLinearGTM
from . import collect

N_SETS = 20
LOG_WIDTHS = np.arange(-3.0, 2.01, 0.5)  # log2 of the width of the basis functions, the grid from -1 to 1
LENGTH_SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)
SPACING = 0.5  # of a 5 x 5 basis


def aligned_against_isotropic():
    """Log likelihoods of isotropic and aligned noise on the bent line, for each data set."""
    settings, table = dict(grid=(10,), basis=(5,), width=1.0), []
    for seed in range(N_SETS):
        Y = make_bent_line(random_state=seed).data
        models = GTM(**settings), ManifoldAlignedGTM(**settings), ManifoldAlignedGTM(**settings, noise_update="paper")
        table.append([round(model.fit(Y).log_likelihood_, 1) for model in models])
    isotropic, aligned, printed = np.array(table).T
    return {
        "isotropic": isotropic.tolist(),
        "aligned": aligned.tolist(),
        "aligned, noise as printed": printed.tolist(),
        "wins of aligned": int(np.sum(aligned > isotropic)),
        "wins as printed": int(np.sum(printed > isotropic)),
    }


def evidence_curve():
    """Log evidence, and log likelihood a row of training and test data, for each width; mean and all data sets."""
    test = make_curved_sheet(32, random_state=1000).data
    curves = {name: [] for name in ("evidence", "training", "test")}
    for log_width in LOG_WIDTHS:
        fits = []
        for seed in range(N_SETS):
            Y = make_curved_sheet(random_state=seed).data
            model = BayesianGTM(width=2.0**log_width / SPACING, max_iter=200, tol=1e-4).fit(Y)
            fits.append([round(model.log_evidence_, 1), round(model.score(Y), 4), round(model.score(test), 4)])
        for name, values in zip(curves, np.array(fits).T, strict=True):
            curves[name].append(values.tolist())
    return {"log2 width": LOG_WIDTHS.tolist(), **curves}


def stiffness_by_length_scale():
    """The Gaussian process formulation on one of those data sets, for several length scales."""
    Y, test = make_curved_sheet(random_state=0).data, make_curved_sheet(32, random_state=1000).data
    report = {}
    for scale in LENGTH_SCALES:
        model = GaussianProcessGTM(length_scale=scale, variance=4.0, max_iter=150, tol=1e-4).fit(Y)
        report[str(scale)] = {
            "evidence": round(model.log_evidence_, 1),
            "training": round(model.score(Y), 3),
            "test": round(model.score(test), 3),
        }
    return report


def furrows():
    """How well the semi-linear model finds y3 = y2 + sin(pi y1 / 2) / 2: root mean square error, angle in degrees."""
    errors, angles, x = [], [], np.linspace(-0.9, 0.9, 50)[:, None]
    for seed in range(N_SETS):
        model = SemiLinearGTM().fit(make_furrowed_sheet(random_state=seed).data)
        a, b, c = model.inverse_transform(np.hstack([x, 0 * x])).T
        errors.append(round(float(np.sqrt(np.mean((c - b - 0.5 * np.sin(0.5 * np.pi * a)) ** 2))), 3))
        cosine = abs(model.directions_[:, 0] @ [0.0, 1.0, 1.0]) / np.linalg.norm(model.directions_) / np.sqrt(2)
        angles.append(round(float(np.degrees(np.arccos(min(cosine, 1.0)))), 1))
    return {"error": errors, "angle": angles}


def results(progress=iter):
    """All tables of the chapter."""
    return collect(
        {
            "aligned noise": aligned_against_isotropic,
            "evidence": evidence_curve,
            "length scale": stiffness_by_length_scale,
            "furrows": furrows,
        },
        progress,
    )
