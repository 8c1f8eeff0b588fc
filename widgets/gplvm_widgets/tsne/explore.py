"""The controls of `explore_tsne`, and the models it prepares while nobody is looking."""

import asyncio

from ..controls import buttons, log_slider, menu, number, slider, steps
from ..explorer import Explorer, Question, computing
from ..turns import begin, cancel, loop_for
from .fit import CORRECTED, NAMES, PRINTED, STEPS, TEMPERATURES, TSNE_STEPS, fitted
from .panel import at_cross, panel_tsne

CODE = """\
import numpy as np
from gplvm_edu.datasets import load_digits, simulate_oil_flow, unit_variance
from gplvm_edu.starts import initial_positions
from gplvm_edu.metrics import nearest_neighbour_errors
from gplvm_edu.tsne import TSNE, TSNEPriorGPLVM
{more}
{load}
Y, target = unit_variance(data.data[:{n_points}]), data.target[:{n_points}]
{start}
model = {Model}(temperature={temperature}, perplexity={perplexity:.1f}, init=X, bandwidths=[{width:g}],
{indent}max_iter={steps})
model.fit(Y)
X = model.embedding_
decoded, deviation = model.inverse_transform([[{x1:.6g}, {x2:.6g}]], return_std=True)
print(f"{{nearest_neighbour_errors(X, target)}} of {n_points} points beside another class; log likelihood "
      f"{{model.log_likelihood_ / Y.size:.3f}} nats an entry, energy {{model.energy_:.3f}} nats")
"""
LOAD = {"digits": "data = load_digits()", "oil flow": "data = simulate_oil_flow({n_points}, random_state=0)"}
START = {
    "t-SNE": "X = TSNE(perplexity={perplexity:.1f}, max_iter={steps}).fit(Y).embedding_",
    "PCA": 'X = 5.0 * initial_positions(Y, 2, "pca", None)',
}
SETTING = ("data", "n_points", "perplexity", "start", "width", "energy")
BEGIN = dict(data="digits", perplexity=20, width=3.162, start="t-SNE", n_points=100, energy=CORRECTED, x1=0.0, x2=0.0)
REST = 0.25  # seconds without a change after which the other temperatures are fitted


class TSNEExplorer(Explorer):
    """Controls for `panel_tsne`; the other places of the temperature slider are fitted in the background."""

    title = "From the GP-LVM to t-SNE, and a digit under the cross"
    panels = panel_tsne
    light = ("x1", "x2")
    questions = (
        Question(
            "The slider stands at t-SNE. We move it to the plain GP-LVM, from the same start. Which of the two terms "
            "will change more, in nats: the energy, or the log likelihood of an entry?",
            dict(BEGIN, temperature=1e-12),
            dict(temperature=TEMPERATURES[0]),
            "The energy grows by about half; the likelihood gains a few hundredths of a nat an entry. It hardly cares "
            "who is whose neighbour: from this start few are lost, but it would not have found them itself. Set the "
            "start to PCA and count again.",
            ("the energy", "the log likelihood", "both alike"),
            0,
        ),
        Question(
            "The paper's temperature is 1e-7, and the map there is t-SNE's. We heat it to 1e-3. Will the map still be "
            "t-SNE's?",
            dict(BEGIN, temperature=1e-7),
            dict(temperature=1e-3),
            "No, the energy rises. Right of the dashed line, where the temperature is below 1 / (N D), the energy "
            "decides almost alone, and at 1e-7 it is t-SNE's to the last digit shown; left of it the likelihood "
            "weighs more.",
            ("yes, to the last digit", "no, the energy rises", "no, the energy falls"),
            1,
        ),
        Question(
            "Section 4 of the paper prints q with a wrong sign in its exponent. We minimise the printed energy, from "
            "t-SNE's map. What will become of the classes?",
            dict(BEGIN, temperature=1e-12),
            dict(energy=PRINTED),
            "Neighbours flee one another: the printed q grows with distance, so the cost is lowest when points that "
            "belong together are as far apart as they can be. The classes are mixed through and through.",
            ("they stay as they are", "they draw together more tightly", "they are mixed"),
            2,
        ),
    )

    def __init__(self, **settings):
        self.filling, self.prepared = None, []
        super().__init__(**settings)

    def make_controls(self):
        return {
            "data": {
                "temperature": steps([(name, tau) for tau, name in NAMES.items()], 1e-12, "temperature"),
                "data": buttons(["digits", "oil flow"]),
                "energy": menu([CORRECTED, PRINTED], name="p and q"),
            },
            "kernel": {"width": log_slider(3.162, -0.5, 1, "width", 0.1)},
            "start": {"start": buttons(["t-SNE", "PCA"])},
            "size": {"perplexity": slider(20, 2, 35, 1, "perplexity"), "n_points": slider(100, 60, 120, 20, "points")},
            "more": {"x1": number(0.0, -1, 1, "cross, across", 0.05), "x2": number(0.0, -1, 1, "cross, up", 0.05)},
        }

    def arguments(self, settings):
        """The curves of both terms are drawn when all temperatures are there."""
        return {**settings, "complete": setting_of(settings) in self.prepared}

    def point(self, panel, x, y):
        limit = self.scene.panel("latent").x.limits[1]
        return {"x1": round(x / limit, 3), "x2": round(y / limit, 3)}

    def nudge(self, panel, right, up):
        wanted = {"x1": self.settings["x1"] + 0.02 * right, "x2": self.settings["x2"] + 0.02 * up}
        return {name: round(min(max(value, -1), 1), 3) for name, value in wanted.items()}

    # --- the rest of the slider ------------------------------------------------------------------------------
    def controls_changed(self, names=frozenset()):
        super().controls_changed(names)
        if not names or names & set(SETTING):
            self._fill()

    def _fill(self):
        """Fit the other temperatures in the background, if there is an event loop to do it in."""
        if self.filling is not None:
            cancel(self.filling)
        self.filling = begin(self._prepare(), self.home) if loop_for(self.home) is not None else None

    async def _prepare(self):
        await asyncio.sleep(REST)
        for _ in self._fits(self.settings):
            await asyncio.sleep(0.01)
        self.refresh()

    def _fits(self, settings):
        """One temperature after another."""
        setting = setting_of(settings)
        for tau in TEMPERATURES:
            with computing():
                fitted(*setting, tau)
            yield
        self.prepared = [*(other for other in self.prepared[-2:] if other != setting), setting]

    def prepare_now(self, settings=None):
        """Fit the whole slider here and now: what happens in the background, without an event loop."""
        for _ in self._fits(settings or self.settings):
            pass
        self.refresh()

    def end(self):
        """Stop preparing, too."""
        if self.filling is not None:
            cancel(self.filling)
        super().end()

    def strip(self):
        """As for every explorer, all temperatures fitted."""
        for question in self.questions:
            for chosen in (question.before, {**question.before, **question.after}):
                self.prepare_now(chosen)
        return super().strip()

    # --- the code --------------------------------------------------------------------------------------------
    def code(self, settings, state):
        printed, tau = settings["energy"] == PRINTED, settings["temperature"]
        x, _ = at_cross(fitted(*setting_of(settings), tau), settings["x1"], settings["x2"])
        return CODE.format(
            more="from gplvm_widgets.tsne import PrintedTSNEPriorGPLVM\n" if printed else "",
            load=LOAD[settings["data"]].format(**settings),
            n_points=settings["n_points"],
            start=START[settings["start"]].format(perplexity=settings["perplexity"], steps=TSNE_STEPS),
            Model="PrintedTSNEPriorGPLVM" if printed else "TSNEPriorGPLVM",
            indent=(30 if printed else 23) * " ",
            temperature="np.inf" if tau == TEMPERATURES[0] else f"{tau:g}",
            perplexity=settings["perplexity"],
            width=settings["width"],
            steps=STEPS,
            x1=x[0, 0],
            x2=x[0, 1],
        )


def setting_of(settings):
    """What one curve along the slider belongs to."""
    return tuple(settings[name] for name in SETTING)


def explore_tsne(prepared=False, **settings) -> TSNEExplorer:
    """The live explorer of chapter 11; any control can be set: ``explore_tsne(data="oil flow", temperature=1e-4)``.

    With `prepared` the whole slider is fitted before anything is shown (half a second), not in the background.
    """
    explorer = TSNEExplorer(**settings)
    if prepared:
        explorer.prepare_now()
    return explorer
