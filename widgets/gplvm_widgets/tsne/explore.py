"""The controls of `explore_tsne`, and the models it prepares while nobody is looking."""

import asyncio

import ipywidgets as W

from ..explorer import Explorer, Question, computing
from .fit import CORRECTED, NAMES, PRINTED, STEPS, TEMPERATURES, TSNE_STEPS, fitted
from .panel import panel_tsne

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
model = {Model}(temperature={temperature}, perplexity={perplexity:.1f}, init=X, bandwidths=[{width:.3g}],
{indent}max_iter={steps})
model.fit(Y)
X = model.embedding_
print(nearest_neighbour_errors(X, target), "points beside another class")
print(f"log likelihood {{model.log_likelihood_ / Y.size:.3f}} nats an entry, energy {{model.energy_:.3f}} nats")
decoded, deviation = model.inverse_transform([[{x1:.6g}, {x2:.6g}]], return_std=True)
"""
LOAD = {"digits": "data = load_digits()", "oil flow": "data = simulate_oil_flow({n_points}, random_state=0)"}
START = {
    "t-SNE": "X = TSNE(perplexity={perplexity:.1f}, max_iter={steps}).fit(Y).embedding_",
    "PCA": 'X = 5.0 * initial_positions(Y, 2, "pca", None)',
}
SETTING = ("data", "n_points", "perplexity", "start", "width", "energy")
BEGIN = dict(data="digits", perplexity=20, width=3.16, start="t-SNE", n_points=120, energy=CORRECTED)


class TSNEExplorer(Explorer):
    """Controls for `panel_tsne`; the other places of the temperature slider are fitted in the background."""

    title = "From the GP-LVM to t-SNE, and a digit under the cross"
    light = ("x1", "x2")
    questions = (
        Question(
            "The slider stands at t-SNE. We move it to the plain GP-LVM, from the same start. Which of the two "
            "terms will change more, and will neighbours be lost?",
            dict(BEGIN, temperature=1e-12),
            dict(temperature=TEMPERATURES[0]),
            "The energy grows by about half; the likelihood gains a few hundredths of a nat an entry. It hardly "
            "cares who is whose neighbour: from this start few are lost, but it would not have found them itself. "
            "Set the start to PCA and count again.",
        ),
        Question(
            "The paper's temperature is 1e-7. How far is the map there from t-SNE's own, and where on the slider "
            "does it begin to move?",
            dict(BEGIN, temperature=1e-7),
            dict(temperature=1e-3),
            "Not at all: at 1e-7 it is t-SNE's to the last digit shown. It moves where the curves cross the "
            "dotted line, at 1 / (N D), which is where the two terms weigh the same.",
        ),
        Question(
            "Section 4 of the paper prints q with a wrong sign in its exponent. Predict: what does the map become "
            "when we minimise the printed energy, from t-SNE's map?",
            dict(BEGIN, temperature=1e-12),
            dict(energy=PRINTED),
            "Neighbours flee one another: the printed q grows with distance, so the cost is lowest when points "
            "that belong together are as far apart as they can be. The classes are mixed through and through.",
        ),
    )

    def __init__(self, **settings):
        self.filling, self.known = None, set()
        super().__init__(**settings)

    def make_controls(self):
        wide = dict(style={"description_width": "initial"})
        slow = dict(continuous_update=False, **wide)
        return {
            "data": {
                "data": W.ToggleButtons(options=["digits", "oil flow"], style={"button_width": "90px"}),
                "energy": W.Dropdown(
                    options=[CORRECTED, PRINTED], description="p and q", layout=W.Layout(width="190px"), **wide
                ),
            },
            "kernel": {
                "width": W.FloatLogSlider(
                    3.16,
                    base=10,
                    min=-0.5,
                    max=1.0,
                    step=0.1,
                    description="width",
                    readout_format=".2f",
                    layout=W.Layout(width="250px"),
                    **slow,
                )
            },
            "start": {"start": W.ToggleButtons(options=["t-SNE", "PCA"], style={"button_width": "80px"})},
            "size": {
                "perplexity": W.IntSlider(20, 2, 35, description="perplexity", layout=W.Layout(width="240px"), **slow),
                "n_points": W.IntSlider(120, 60, 200, 20, description="points", layout=W.Layout(width="240px"), **slow),
            },
            "more": {
                "temperature": W.SelectionSlider(
                    options=[(name, tau) for tau, name in NAMES.items()],
                    value=1e-12,
                    description="temperature, GP-LVM to t-SNE",
                    layout=W.Layout(width="540px"),
                    **wide,
                ),
                "x1": W.BoundedFloatText(
                    0.0, min=-1, max=1, step=0.05, description="cross", layout=W.Layout(width="125px"), **wide
                ),
                "x2": W.BoundedFloatText(0.0, min=-1, max=1, step=0.05, layout=W.Layout(width="80px")),
            },
        }

    # --- the picture -----------------------------------------------------------------------------------------
    def panel(self, settings, state):
        self.known.add(settings["temperature"])
        return panel_tsne(**settings, known=self.known)

    def retouch(self, figure, settings):
        figure.scene.point_at(settings["x1"], settings["x2"])

    def click(self, axes, x, y):
        limit = axes.get_xlim()[1]
        return {"x1": round(x / limit, 3), "x2": round(y / limit, 3)} if axes.get_gid() == "latent" else {}

    def nudge(self, right, up):
        return {
            "x1": round(min(max(self.settings["x1"] + 0.02 * right, -1), 1), 3),
            "x2": round(min(max(self.settings["x2"] + 0.02 * up, -1), 1), 3),
        }

    # --- the rest of the slider ------------------------------------------------------------------------------
    def controls_changed(self, names=frozenset()):
        if names & set(SETTING):
            self.known = set()
        super().controls_changed(names)
        if not names or names & set(SETTING):
            self._fill()

    def _fill(self):
        """Fit the other temperatures in the background, if there is an event loop to do it in."""
        if self.filling is not None:
            self.filling.cancel()
        try:
            self.filling = asyncio.get_running_loop().create_task(self._prepare())
        except RuntimeError:
            self.filling = None

    async def _prepare(self):
        for _ in self._fits():
            await asyncio.sleep(0.01)
        self.redraw()

    def _fits(self):
        """One temperature after another, nearest to the one shown first."""
        settings = self.settings
        here = TEMPERATURES.index(settings["temperature"])
        for tau in sorted(TEMPERATURES, key=lambda tau: abs(TEMPERATURES.index(tau) - here)):
            with computing():
                fitted(*(settings[name] for name in SETTING), tau)
            self.known.add(tau)
            yield

    def prepare_now(self):
        """Fit the whole slider here and now: what happens in the background, without an event loop."""
        for _ in self._fits():
            pass
        self.redraw()

    # --- the code --------------------------------------------------------------------------------------------
    def code(self, settings):
        printed, tau = settings["energy"] == PRINTED, settings["temperature"]
        x = self.figure.scene.place(settings["x1"], settings["x2"])[0]
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
            x1=x[0],
            x2=x[1],
        )


def explore_tsne(prepared=False, **settings) -> TSNEExplorer:
    """The live explorer of chapter 11; any control can be set: ``explore_tsne(data="oil flow", temperature=1e-4)``.

    With `prepared` the whole slider is fitted before anything is shown (a second or two), not in the background.
    """
    explorer = TSNEExplorer(**settings)
    if prepared:
        explorer.prepare_now()
    return explorer
