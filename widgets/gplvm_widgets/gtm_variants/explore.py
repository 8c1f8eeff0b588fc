"""The controls of `explore_gtm_variants`."""

import ipywidgets as W

from ..explorer import Explorer, Question
from .fit import CORRECTED, CURVED, DATA, HALVE, UPDATES, VARIANTS, model_text, snapshots
from .panel import panel_gtm_variants

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
print(f"log likelihood {{model.log_likelihood_:.1f}}, log evidence {{model.log_evidence_:.1f}}")
middle = np.zeros((1, model.embedding_.shape[1]))
print("magnification in the middle:", magnification_factors(model, middle, expected=False).round(3))
"""
RUN = "*_, state = islice(model.iterates(Y), {n})           # so many states of the fit\nmodel.set_state(state)"
PLAIN = dict(
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
)


class GTMVariantsExplorer(Explorer):
    """Controls for `panel_gtm_variants`; Run fits the model, the slider goes back through the states."""

    title = "Six sheets through the same data"
    keeps_iterates = True
    questions = (
        Question(
            "Ten balls have to cover a line. If they may become ellipses along it, will the log likelihood rise? "
            "And what will become of the noise across the line?",
            PLAIN,
            dict(variant="aligned"),
            "It rises by about twelve nats: the ellipses close the gaps between nodes, so the noise across the "
            "line need not do it any more and shrinks. Now set the noise to 'as printed': the closed form counts "
            "the spread along the line as noise, everything swells, and the gain turns into a loss.",
        ),
        Question(
            "A narrow basis lets the sheet follow every point, and the log likelihood is high. Where on the axis "
            "will the evidence have its peak: here, further left, or further right?",
            {**PLAIN, "data": "curved sheet", "noise": 0.2, "variant": "Bayesian", "log_width": -2.0},
            dict(log_width=0.0),
            "Far to the right, near a width of one: half of the latent square. There the log likelihood of the "
            "training data is a little lower, the data need only half as many weights, and new data are "
            "predicted better.",
        ),
        Question(
            "The furrowed sheet is straight along one direction and curved along the other. The semi-linear model "
            "starts with its curved dimension along the longest axis. What if it starts along the second?",
            {**PLAIN, "data": "furrowed sheet", "variant": "semi-linear", "curved": "first axis"},
            dict(curved="second axis"),
            "It is caught: the curved dimension runs along the straight direction of the sheet, and the furrows "
            "end up in the noise. EM climbs the hill it stands on; 'try both' climbs two and keeps the higher.",
        ),
    )

    def make_controls(self):
        wide = dict(style={"description_width": "initial"})
        late = dict(continuous_update=False)
        return {
            "data": {
                "data": W.ToggleButtons(options=list(DATA), style={"button_width": "125px"}),
                "noise": W.FloatSlider(
                    0.1,
                    min=0.02,
                    max=0.4,
                    step=0.02,
                    description="noise of the data",
                    layout=W.Layout(width="290px"),
                    **late,
                    **wide,
                ),
                "variant": W.ToggleButtons(options=list(VARIANTS), style={"button_width": "140px"}),
            },
            "kernel": {
                "log_width": W.FloatSlider(
                    -1.0,
                    min=-2.5,
                    max=2.0,
                    step=0.25,
                    description="log2 of width",
                    layout=W.Layout(width="280px"),
                    **late,
                    **wide,
                ),
                "alpha": W.FloatLogSlider(
                    0.01,
                    base=10,
                    min=-4,
                    max=2,
                    step=0.25,
                    description="regulariser alpha",
                    readout_format=".2g",
                    layout=W.Layout(width="280px"),
                    **late,
                    **wide,
                ),
            },
            "start": {
                "curved": W.Dropdown(
                    options=list(CURVED), description="semi-linear: bend along", layout=W.Layout(width="270px"), **wide
                )
            },
            "size": {
                "n_nodes": W.IntSlider(
                    10, 5, 16, description="nodes a side", layout=W.Layout(width="290px"), **late, **wide
                ),
                "n_basis": W.IntSlider(
                    5, 2, 8, description="basis functions a side", layout=W.Layout(width="290px"), **late, **wide
                ),
            },
            "more": {
                "spread": W.FloatSlider(
                    0.5,
                    min=0.1,
                    max=1.5,
                    step=0.1,
                    description="aligned: spread in grid steps",
                    layout=W.Layout(width="380px"),
                    **late,
                    **wide,
                ),
                "noise_update": W.Dropdown(
                    options=list(UPDATES), description="aligned: noise", layout=W.Layout(width="240px"), **wide
                ),
            },
        }

    def panel(self, settings, state):
        return panel_gtm_variants(**settings, state=state)

    def click(self, axes, x, y):
        """A click on the evidence sets the width."""
        return {"log_width": min(max(round(4 * x) / 4, -2.5), 2.0)} if axes.get_gid() == "evidence" else {}

    def iterates(self, settings):
        return snapshots(**settings)

    def code(self, settings):
        fit = "model.fit(Y)" if self.state is None else RUN.format(n=self.state.step + 1)
        return CODE.format(
            data=DATA[settings["data"]].format(noise=settings["noise"]),
            fit=fit,
            halve=HALVE if settings["variant"] == "discrete" else "",
            model=model_text(**settings),
        )


def explore_gtm_variants(**settings) -> GTMVariantsExplorer:
    """The live explorer of chapter 10: any control as a keyword, such as ``variant="aligned"``."""
    return GTMVariantsExplorer(**settings)
