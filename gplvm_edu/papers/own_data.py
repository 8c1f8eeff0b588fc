"""Defaults and scores on tables that people bring: cures of the GP-LVM's prior, held-out densities, gaps, outliers.

No file is needed. Every figure is over several splits or masks, with the rivals that could refute it beside it.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from sklearn.metrics import roc_auc_score

from ..datasets import load_digits, load_table
from ..gplvm import GPLVM, GPLVMState, gplvm_iterates, value_and_gradients
from ..gtm import GTM
from ..ivm import SparseGPLVM
from ..kernels import common_start, with_scales_fixed
from ..marginal import UnitGaussian, find_summits, importance_sample, marginal_log_density
from ..optimise import minimise
from ..ppca import PPCA, FactorAnalysis
from ..starts import initial_positions
from ..tsne import TSNEPriorGPLVM
from ..variational import BayesianGPLVM
from . import collect

SETS = ("wine", "breast_cancer", "diabetes", "digits")
ROWS = 200  # of each set, drawn anew for each split: two thirds are fitted
STEPS = (50, 1000)
SPLITS, FEW = range(10), range(5)


def table(name) -> np.ndarray:
    """The data of one set: columns standardised, images divided by one number and without pixels that hardly vary."""
    if name != "digits":
        return load_table(name).data
    Y = load_digits().data
    Y = Y[:, Y.std(axis=0) > 0.5]
    return (Y - Y.mean(axis=0)) / Y.std()


def split(name, seed) -> tuple[np.ndarray, np.ndarray]:
    """Rows to fit and rows held out, drawn by lot."""
    Y = table(name)
    rows = np.random.default_rng(seed).permutation(len(Y))[:ROWS]
    n = 2 * len(rows) // 3
    return Y[rows[:n]], Y[rows[n:]]


def mean_correlation(Y) -> float:
    """Mean absolute correlation between different columns."""
    C = np.corrcoef(Y.T)
    return float(np.mean(np.abs(C[np.triu_indices(len(C), 1)])))


# ---------------------------------------------------------------------------------------------- cures of the prior
class FreeWidth(GPLVM):
    """The paper's own: a unit prior on the positions, and a width that is learnt."""

    def start_kernel(self, **units):
        """Its kernel, or the common start; nothing of it fixed."""
        return common_start(**units) if self.kernel is None else self.kernel.copy()

    def climb(self, Y, X, kernel):
        """States of the fit."""
        return gplvm_iterates(Y, X, kernel, self.latent_prior, max_iter=self.max_iter, jitter=self.jitter_)

    def iterates(self, Y):
        """As in `GPLVM`."""
        Y, variance = self.prepare(Y)
        kernel = self.kernel_start_ = self.start_kernel(variance=variance)
        yield from self.climb(Y, initial_positions(Y, self.n_components, self.init, None), kernel)


class WidthPrior(FreeWidth):
    """The same with a prior on the width: ln gamma ~ N(0, 1)."""

    def climb(self, Y, X, kernel):
        """States of the fit, one after another, in the units of Y."""
        (N, q), moved = X.shape, kernel.copy()
        where = moved.parameter_names.index("rbf__inverse_width")

        def value_and_gradient(x):
            moved.theta = x[N * q :]
            value, dX, dtheta = value_and_gradients(Y, x[: N * q].reshape(N, q), moved, "gaussian", self.jitter_)
            gamma = moved["rbf"].inverse_width
            dtheta[where] += np.log(gamma) / gamma * np.expm1(-gamma)
            return 0.5 * np.log(gamma) ** 2 - value, -np.concatenate([dX.ravel(), dtheta])

        start = np.concatenate([X.ravel(), moved.theta])
        for it in minimise(value_and_gradient, start, max_iter=self.max_iter, tolerance=1e-4):
            yield GPLVMState(it.x[: N * q].reshape(N, q), it.x[N * q :], -it.value, it.n_evaluations, it.stopped)


class Tied(FreeWidth):
    """The width tied while the prior is on, at 1 / length scale^2 = 1, the default of `GPLVM`, or at another value."""

    inverse_width = 1.0

    def start_kernel(self, **units):
        """The common start with its width held."""
        kernel = with_scales_fixed(common_start(**units))
        return kernel.set_params(rbf__inverse_width=self.inverse_width)


class TiedWide(Tied):
    """A length scale of 1.4."""

    inverse_width = 0.5


class TiedNarrow(Tied):
    """A length scale of 0.7."""

    inverse_width = 2.0


class ScaleFixed(FreeWidth):
    """No prior; afterwards all positions times c, the inverse width over c^2, so that their mean square is 1."""

    latent_prior = None

    def climb(self, Y, X, kernel):
        """States of the fit, each brought to its scale: the likelihood does not notice."""
        for state in super().climb(Y, X, kernel):
            c, kernel.theta = np.sqrt(np.mean(state.X**2)), state.theta
            scaled = kernel.copy().set_params(rbf__inverse_width=kernel["rbf"].inverse_width * c**2)
            yield state._replace(X=state.X / c, theta=scaled.theta)


CURES = {
    "prior and free width (the paper)": FreeWidth,
    "prior on the width": WidthPrior,
    "no prior, scale fixed": ScaleFixed,
    "width tied at 1": Tied,
    "width tied at 0.5": TiedWide,
    "width tied at 2": TiedNarrow,
}


def under_unit_prior(model, Y) -> float:
    """Mean ln p(y) of rows if latent points came from N(0, I), whatever the positions look like."""
    density = UnitGaussian(model.embedding_.shape[1])
    summits = find_summits(model.map_, Y, model.near_places(Y, 5), density)
    draws = importance_sample(model.map_, Y, summits, density)
    return float(np.mean(marginal_log_density(draws)[0]))


def one_cure(kind, fitted, held_out) -> list[dict]:
    """What one cure says after each number of `STEPS`: nats a held-out row, the spread of X, how samples correlate."""
    model, rows = kind(max_iter=max(STEPS)), []
    for step, state in enumerate(model.iterates(fitted)):
        if step not in STEPS and not state.stopped and step < max(STEPS):
            continue
        model.set_state(state)
        samples = model.sample(2000, random_state=0)[0]
        rows.append(
            {
                "step": step,
                "positions": round(model.score(held_out), 3),
                "unit prior": round(under_unit_prior(model, held_out), 3),
                "spread": round(float(model.embedding_.std()), 4),
                "correlation": round(mean_correlation(samples) / mean_correlation(fitted), 3),
            }
        )
    return rows


def cures(name) -> dict:
    """Every cure on ten splits of one set; PPCA, exact, beside it."""
    report: dict = {cure: [] for cure in ("PPCA", *CURES)}
    for seed in SPLITS:
        fitted, held_out = split(name, seed)
        linear = PPCA(2).fit(fitted)
        share = mean_correlation(linear.sample(2000, random_state=0)[0]) / mean_correlation(fitted)
        report["PPCA"].append({"positions": round(linear.score(held_out), 3), "correlation": round(share, 3)})
        for cure, kind in CURES.items():
            report[cure].append(one_cure(kind, fitted, held_out))
    return report


class TiedSparse(SparseGPLVM):
    """The sparse model with its width tied."""

    def start_kernel(self, **units):
        """The common start with its width held."""
        return with_scales_fixed(super().start_kernel(**units))


def same_question() -> dict:
    """The prior's question put to two other models on five splits of wine: spread of X, nats a row, correlation."""
    kinds: dict[str, tuple[Any, dict]] = {
        f"{name}, {steps} {what}": (kind, dict(max_iter=steps) | more)
        for name, kind, what, lengths, more in (
            ("SparseGPLVM", SparseGPLVM, "passes", (5, 15, 60), {}),
            ("SparseGPLVM, width tied", TiedSparse, "passes", (5, 15, 60), {}),
            ("TSNEPriorGPLVM", TSNEPriorGPLVM, "steps a climb", (50, 200, 1000), {}),
            ("TSNEPriorGPLVM, kernel learnt", TSNEPriorGPLVM, "steps", (50, 200, 1000), dict(learn_kernel=True)),
        )
        for steps in lengths
    }
    report: dict = {name: [] for name in kinds}
    for seed in FEW:
        fitted, held_out = split("wine", seed)
        for name, (kind, settings) in kinds.items():
            model = kind(**settings).fit(fitted)
            share = mean_correlation(model.sample(2000, random_state=0)[0]) / mean_correlation(fitted)
            report[name].append(
                {
                    "spread": round(float(model.embedding_.std()), 4),
                    "positions": round(model.score(held_out), 3),
                    "correlation": round(share, 3),
                }
            )
    return report


# ---------------------------------------------------------------------------------------------- the other questions
def scores(q) -> dict:
    """Mean ln p(y) of held-out wines by every model with q latent dimensions, on five splits; the best place beside."""
    report: dict = {}
    for seed in FEW:
        fitted, held_out = split("wine", seed)
        models = {
            "PPCA": PPCA(q),
            "FactorAnalysis": FactorAnalysis(q),
            "GPLVM": GPLVM(q),
            "SparseGPLVM": SparseGPLVM(q),
            "TSNEPriorGPLVM": TSNEPriorGPLVM(q),
            "BayesianGPLVM": BayesianGPLVM(q, random_state=0, max_iter=300),
        }
        if q <= 2:
            models["GTM"] = GTM(grid=(30,), basis=(8,)) if q == 1 else GTM()
        for name, model in models.items():
            row = report.setdefault(name, {"score": [], "best place": []})
            row["score"].append(round(model.fit(fitted).score(held_out), 3))
            row["best place"].append(round(float(np.mean(model.best_log_density(held_out))), 3))
        sampled = models["BayesianGPLVM"].log_density(held_out, "sampled")
        report.setdefault("BayesianGPLVM, sampled", {"score": []})["score"].append(round(float(np.mean(sampled)), 3))
    return report


def gaps(name) -> dict:
    """A fifth of the entries taken out, five masks: root mean square error of the filled ones, coverage of 95 %.

    "coverage" is that of the deviations `impute` returns, "own" that of the model's own, not multiplied by a factor.
    """
    report: dict = {}
    for seed in FEW:
        rng = np.random.default_rng(seed)
        truth = table(name)
        truth = truth[rng.permutation(len(truth))[:ROWS]]
        holes = rng.uniform(size=truth.shape) < 0.2
        holes[holes.all(axis=1)] = False
        Y = np.where(holes, np.nan, truth)
        for rival, filler in {"IterativeImputer": IterativeImputer(random_state=0), "KNNImputer": KNNImputer()}.items():
            error = np.sqrt(np.mean((filler.fit_transform(Y) - truth)[holes] ** 2))
            report.setdefault(rival, {"error": []})["error"].append(round(float(error), 4))
        for model in (PPCA(2), FactorAnalysis(5), GTM(), SparseGPLVM(), BayesianGPLVM(random_state=0, max_iter=200)):
            filled, std = model.fit(Y).impute(Y, return_std=True)
            own = model.impute(Y, return_std=True, calibrated=False)[1]
            errors = (filled - truth)[holes]
            row = report.setdefault(type(model).__name__, {"error": [], "coverage": [], "own": []})
            row["error"].append(round(float(np.sqrt(np.mean(errors**2))), 4))
            for key, deviations in (("coverage", std), ("own", own)):
                row[key].append(round(float(np.mean(np.abs(errors) < 1.96 * deviations[holes])), 4))
    return report


def outliers() -> dict:
    """Malignant among benign, by ln p(y) of models that saw benign ones only: area under the curve, five splits."""
    cancer = load_table("breast_cancer")
    report: dict = {}
    benign, malignant = cancer.data[cancer.target == 1], cancer.data[cancer.target == 0]
    for seed in FEW:
        rows = np.random.default_rng(seed).permutation(len(benign))
        fitted, tried = benign[rows[:200]], np.vstack([benign[rows[200:]], malignant])
        ill = np.arange(len(tried)) >= len(benign) - 200
        z = (tried - fitted.mean(axis=0)) / fitted.std(axis=0)  # what one line does, without any latent variable
        report.setdefault("squared z-scores", []).append(round(float(roc_auc_score(ill, np.sum(z**2, axis=1))), 4))
        for model in (
            IsolationForest(random_state=seed),
            PPCA(2),
            FactorAnalysis(2),
            GTM(),
            GPLVM(),
            SparseGPLVM(),
            BayesianGPLVM(random_state=0, max_iter=200),
        ):
            found = roc_auc_score(ill, -model.fit(fitted).score_samples(tried))
            report.setdefault(type(model).__name__, []).append(round(float(found), 4))
    return report


def results(progress=iter):
    """Cures on four sets, scores over q, gaps on three sets, outliers, and what two other models say of the prior."""
    parts = {f"cures, {name}": lambda name=name: cures(name) for name in SETS}
    parts |= {f"scores, q = {q}": lambda q=q: scores(q) for q in (1, 2, 3, 4)}
    parts |= {f"gaps, {name}": lambda name=name: gaps(name) for name in SETS[:3]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # some are stopped on purpose
        return collect(parts | {"outliers": outliers, "same question": same_question}, progress)
