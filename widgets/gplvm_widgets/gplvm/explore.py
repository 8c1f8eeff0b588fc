"""The controls of `explore_gplvm`."""

import asyncio
from importlib.util import find_spec

import ipywidgets as W

from ..explorer import Explorer, Question
from .fit import CORRECTED, KERNELS, PRINTED, snapshots, three_digits
from .panel import COARSE, FINE, panel_gplvm
from .source import BUILT_IN, Source
from .table import read_table

YOURS = "yours"
MAX_POINTS = 300
MODULES = {"isomap": "gplvm_edu.proximity", "kernel_pca": "gplvm_edu.unify"}
INITS = [
    init
    for init in ("pca", "kernel_pca", "isomap", "random")
    if init not in MODULES or find_spec(MODULES[init]) is not None
]

CODE = """\
import numpy as np
from gplvm_edu.datasets import load_digits, make_swiss_roll, simulate_oil_flow
from gplvm_edu.gplvm import GPLVM
from gplvm_edu.kernels import MLP, RBF, Bias, Linear, Matern32, White
from gplvm_edu.maps import grid_points
{more}
{load}
{scale}v = (Y - Y.mean(axis=0)).var()
b = min(np.exp(-2), v)
kernel = {kernel}
model = {Model}(kernel=kernel, init="{init}", latent_prior={prior}, optimiser="{optimiser}",
              max_iter={step}, random_state={seed})
model.fit(Y)
X = model.embedding_
square = grid_points((-{limit:g}, {limit:g}, -{limit:g}, {limit:g}), 60)
grey = model.log_precision(square).reshape(60, 60)           # light where the map is sure
decoded, deviation = model.inverse_transform([[{x1:g}, {x2:g}]], return_std=True)
print(f"objective {{model.history_[-1]:.1f}} after {step} steps")
print("decoded", decoded[0].round(3), "deviation", deviation[0].round(3))
"""
TRAINED = dict(
    data="oil flow",
    scale=False,
    kernel="RBF",
    inverse_width=1.0,
    noise=0.1,
    init="pca",
    n_points=100,
    optimiser="l-bfgs",
    prior=True,
    gradient=CORRECTED,
)


class GPLVMExplorer(Explorer):
    """Controls for `panel_gplvm`; Run climbs, the slider goes back, the cross decodes."""

    title = "The GP-LVM: watch it learn, then drag the cross"
    keeps_iterates = True
    light = ("x1", "x2")
    questions = (
        Question(
            "Run this with the prior on. If we switch the prior off and run again, will the points lie closer "
            "together or further apart? And what will that do to the fit?",
            TRAINED,
            dict(prior=False),
            "Further apart. The kernel sees only inverse width times squared distance, so positions and width can "
            "trade scale for nothing; the prior alone pulls the points in, and the inverse width grows to make up "
            "for it. Read the axes, not the shape. (Watch the run that has just started.)",
        ),
        Question(
            "The cross stands among the digits. Which image do you expect when we drag it out of the data, into "
            "the dark: a sharper one, noise, or something else? And the deviation?",
            {**TRAINED, "data": "digits", "inverse_width": 2.0, "x1": 0.5, "x2": 0.5},
            dict(x1=2.4, x2=-2.4),
            "The mean of all images: far from data the covariances with all points vanish, the map falls back to "
            "the prior's mean, and the deviation climbs to the prior's. The model says that it does not know. "
            "Press Run and drag again.",
        ),
        Question(
            "From the PCA start, Run ends near 830 with the classes mostly apart. Will it find its way to the "
            "same place from random positions?",
            TRAINED,
            dict(init="random"),
            "No. It ends lower, with classes torn into islands: points that have to pass through one another "
            "can't, because on the way the likelihood falls. The objective has very many maxima, and the start "
            "chooses one: chapter 6 is about that.",
        ),
    )

    def __init__(self, Y=None, labels=None, **settings):
        self.own = None if Y is None else Source(Y, labels)
        if self.own is not None:
            settings = {"data": YOURS, **settings}
        super().__init__(**settings)

    def make_controls(self):
        wide = dict(style={"description_width": "initial"})
        options = [*BUILT_IN, *([YOURS] if self.own is not None else [])]
        return {
            "data": {
                "data": W.ToggleButtons(options=options, style={"button_width": "85px"}),
                "scale": W.Checkbox(False, description="scale columns", indent=False, layout=W.Layout(width="115px")),
            },
            "kernel": {
                "kernel": W.Dropdown(options=list(KERNELS), layout=W.Layout(width="140px")),
                "inverse_width": W.FloatLogSlider(
                    1.0,
                    base=10,
                    min=-2,
                    max=2,
                    step=0.1,
                    description="inverse width",
                    readout_format=".2f",
                    layout=W.Layout(width="270px"),
                    **wide,
                ),
                "noise": W.FloatLogSlider(
                    0.1,
                    base=10,
                    min=-3,
                    max=0,
                    step=0.1,
                    description="noise share",
                    readout_format=".3f",
                    layout=W.Layout(width="270px"),
                    **wide,
                ),
            },
            "start": {
                "init": W.Dropdown(options=INITS, description="positions", layout=W.Layout(width="190px"), **wide),
                "seed": W.BoundedIntText(
                    0, min=0, max=99, description="seed of random", layout=W.Layout(width="160px"), **wide
                ),
                "optimiser": W.Dropdown(
                    options=["l-bfgs", "scg"], description="optimiser", layout=W.Layout(width="160px"), **wide
                ),
            },
            "size": {
                "n_points": W.IntSlider(
                    100,
                    20,
                    MAX_POINTS,
                    10,
                    description="points",
                    layout=W.Layout(width="230px"),
                    continuous_update=False,
                    **wide,
                )
            },
            "more": {
                "gradient": W.Dropdown(
                    options=[CORRECTED, PRINTED], description="gradient (5.4)", layout=W.Layout(width="290px"), **wide
                ),
                "prior": W.Checkbox(
                    True, description="unit Gaussian prior on X", indent=False, layout=W.Layout(width="210px")
                ),
                "x1": W.BoundedFloatText(
                    0.0, min=-1000, max=1000, step=0.1, description="cross", layout=W.Layout(width="125px"), **wide
                ),
                "x2": W.BoundedFloatText(0.0, min=-1000, max=1000, step=0.1, layout=W.Layout(width="80px")),
            },
        }

    def make_fixed_parts(self):
        super().make_fixed_parts()
        self.upload = W.FileUpload(
            accept=".csv,.txt,.tsv", multiple=False, description="your CSV", layout=W.Layout(width="120px")
        ).add_class("gplvm-upload")
        self.label_column = W.Text(
            "", placeholder="label column", continuous_update=False, layout=W.Layout(width="120px")
        ).add_class("gplvm-control-label_column")
        self.upload.observe(self._on_upload, names="value")
        self.label_column.observe(self._on_upload, names="value")

    def rows(self):
        rows = super().rows()
        rows[1].children = (*rows[1].children, self.upload, self.label_column)
        return rows

    def _on_upload(self, change):
        """A file has come, or another of its columns is wanted for labels."""
        if not self.upload.value:
            return
        try:
            file = self.upload.value[0]
            table = read_table(file["content"], self.label_column.value)
            self.own = Source(table.data, table.labels, self._loading_code(file["name"]))
        except Exception as error:
            self.show_error(error)
            return
        self.error_box.value = ""
        with self.quietly():
            self.controls["data"].options = [*BUILT_IN, YOURS]
        self.set(data=YOURS)

    def _loading_code(self, name):
        column = f", {self.label_column.value!r}" if self.label_column.value else ""
        return (
            "from gplvm_widgets.gplvm import read_table\n"
            f"with open({name!r}, 'rb') as file:\n    Y = read_table(file.read(){column}).data"
        )

    def _source(self, settings):
        return self.own if settings["data"] == YOURS else BUILT_IN[settings["data"]]

    def panel(self, settings, state):
        settings = {**settings, "data": self._source(settings)}
        return panel_gplvm(**settings, state=state, n_grid=COARSE if self.running else FINE)

    def retouch(self, figure, settings):
        figure.scene.point_at(settings["x1"], settings["x2"])

    def click(self, axes, x, y):
        return {"x1": round(x, 3), "x2": round(y, 3)} if axes.get_gid() == "latent" else {}

    def nudge(self, right, up):
        step = self.figure.scene.latent.get_xlim()[1] / 50
        return {"x1": round(self.settings["x1"] + right * step, 3), "x2": round(self.settings["x2"] + up * step, 3)}

    def iterates(self, settings):
        model_settings = {name: value for name, value in settings.items() if name not in ("data", "x1", "x2")}
        return snapshots(self._source(settings), **model_settings)

    def reveal(self, button=None):
        """Show the answer; where it is about another fit, start that fit too."""
        super().reveal(button)
        if not set(self.asked.after) <= set(self.light):
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                self.run_now()
            else:
                self.run()

    def code(self, settings):
        printed = settings["gradient"] == PRINTED
        scale = "deviation = Y.std(axis=0)\nY = Y / np.where(deviation > 0, deviation, 1.0)\n"
        gamma, noise = three_digits(settings["inverse_width"]), three_digits(settings["noise"])
        return CODE.format(
            more="from gplvm_widgets.gplvm import PrintedGPLVM\n" if printed else "",
            load=self._source(settings).code(settings["n_points"]),
            scale=scale if settings["scale"] else "",
            kernel=KERNELS[settings["kernel"]].format(gamma=gamma, noise=noise),
            Model="PrintedGPLVM" if printed else "GPLVM",
            init=settings["init"],
            seed=settings["seed"],
            prior='"gaussian"' if settings["prior"] else "None",
            optimiser=settings["optimiser"],
            step=0 if self.state is None else self.state.step,
            x1=settings["x1"],
            x2=settings["x2"],
            limit=self.figure.scene.latent.get_xlim()[1],
        )


def explore_gplvm(Y=None, labels=None, **settings) -> GPLVMExplorer:
    """The live explorer of chapter 5, for the course's data or your own.

    Parameters
    ----------
    Y : array (N, D), optional
        Your data; a CSV file can be uploaded as well.
    labels : sequence (N,), optional
        A class or a number for each row, for the colours.
    **settings : any control, such as ``kernel="MLP"``, ``init="random"``, ``n_points=200``
    """
    return GPLVMExplorer(Y, labels, **settings)
