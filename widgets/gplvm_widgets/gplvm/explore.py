"""The controls of `explore_gplvm`."""

import ipywidgets as W

from ..controls import buttons, check, log_slider, menu, number, slider
from ..explorer import Explorer, Question
from .fit import CORRECTED, KERNELS, MAX_STEPS, PRINTED, snapshots
from .panel import COARSE, FINE, objective, panel_gplvm
from .source import BUILT_IN, Source, source_of
from .table import read_table

YOURS = "yours"
FEWEST, MOST = 20, 300  # points
INITS = ["pca", "kernel_pca", "isomap", "random"]

CODE = """\
import numpy as np
from gplvm_edu.datasets import load_digits, make_swiss_roll, simulate_oil_flow
from gplvm_edu.gplvm import GPLVM
from gplvm_edu.kernels import MLP, RBF, Bias, Linear, Matern32, White
{more}
{load}
{scale}v = (Y - Y.mean(axis=0)).var()
b = v * np.exp(-2)
kernel = {kernel}
model = {Model}(kernel=kernel, init="{init}", latent_prior={prior}, optimiser="{optimiser}",
              max_iter={step}, random_state={seed})
model.fit(Y)
X = model.embedding_                     # model.log_precision(points) is light where the map is sure
cross = np.array([[{x1:g}, {x2:g}]])
decoded, deviation = model.inverse_transform(cross, return_std=True)
share = model.map_.relative_deviation(cross)[0, 0]
place = f"at the cross: deviation {{deviation[0, 0]:.3g}}, {{share:.1%}} of the prior's"
print(f"step {step}, {objective} {{model.history_[-1]:.1f}}; {{place}}")
"""
SCALE = "deviation = Y.std(axis=0)\nY = Y / np.where(deviation > 0, deviation, 1.0)\n"
TRAINED = dict(
    data="oil flow",
    scale=False,
    kernel="RBF",
    inverse_width=1.0,
    noise=0.1,
    init="pca",
    seed=0,
    n_points=100,
    optimiser="l-bfgs",
    prior=True,
    gradient=CORRECTED,
    x1=0.0,
    x2=0.0,
)


class GPLVMExplorer(Explorer):
    """Controls for `panel_gplvm`; Run climbs, the slider goes back, the cross decodes."""

    title = "The GP-LVM: watch it learn, then drag the cross"
    panels = panel_gplvm
    light = ("x1", "x2")
    opens_after_run = True
    questions = (
        Question(
            "This run has a unit Gaussian prior on the positions, and with it the width of the kernel stays. We switch "
            "the prior off, so that the width is learnt, and run again from the same start. How far around the points "
            "will the map be certain, measured by the numbers on the axes?",
            TRAINED,
            dict(prior=False),
            "Less far. By the axes the cloud is about as wide as before, but nothing held the length scale, and it has "
            "shrunk to about half: the white stops nearer to the points, the sheet may be rougher, and the likelihood "
            "is higher. Whether the map is better is another question.",
            ("farther", "as far as before", "less far"),
            2,
            "both",
        ),
        Question(
            "The cross stands among the digits. We drag it out of the data, into the dark. Which image will it decode "
            "to there?",
            {**TRAINED, "data": "digits", "inverse_width": 4.0, "x1": 1.0, "x2": 0.0},
            dict(x1=2.0, x2=-2.0),
            "The mean of all images: far from the data the covariances with all points vanish, the map falls back to "
            "the prior's mean, and the deviation climbs to the prior's. The model says that it does not know.",
            ("a sharper digit", "noise", "the mean of all digits"),
            2,
        ),
        Question(
            "From the PCA start this run ends with the classes mostly apart. Will it find its way to the same place "
            "from random positions?",
            TRAINED,
            dict(init="random"),
            "No, it ends lower, with classes torn into islands: points that have to pass through one another can't, "
            "because on the way the likelihood falls. The objective has very many maxima, and the start chooses one: "
            "chapter 6 is about that.",
            ("yes, to the same objective", "no, it ends higher", "no, it ends lower"),
            2,
            "both",
        ),
    )

    def __init__(self, Y=None, labels=None, **settings):
        self.own = None if Y is None else Source(Y, labels)
        super().__init__(**{"data": YOURS, **settings} if self.own is not None else settings)

    def make_controls(self):
        return {
            "data": {
                "data": buttons([*BUILT_IN, *([YOURS] if self.own is not None else [])]),
                "scale": check(False, "divide columns by their deviation"),
            },
            "kernel": {
                "kernel": menu(list(KERNELS)),
                "inverse_width": log_slider(1.0, -2, 2, "inverse width", 0.1),
                "noise": log_slider(0.1, -3, 0, "noise share", 0.1),
            },
            "start": {
                "init": menu(INITS, name="positions"),
                "seed": number(0, 0, 99, "seed"),
                "optimiser": menu(["l-bfgs", "scg"], name="optimiser"),
            },
            "size": {"n_points": slider(100, FEWEST, MOST, 10, "points")},
            "more": {
                "gradient": menu([("corrected", CORRECTED), ("as printed", PRINTED)], name="gradient (5.4)"),
                "prior": check(True, "unit Gaussian prior on X"),
                "x1": number(0.0, -1000, 1000, "cross, across", 0.1),
                "x2": number(0.0, -1000, 1000, "cross, up", 0.1),
            },
        }

    def make_fixed_parts(self):
        super().make_fixed_parts()
        self.upload = W.FileUpload(accept=".csv,.txt,.tsv", description="your CSV", layout={"width": "110px"})
        self.label_column = W.Text("", placeholder="label column", continuous_update=False, layout={"width": "120px"})
        self.upload.add_class("gplvm-upload").observe(self._on_upload, names="value")
        self.label_column.add_class("gplvm-control-label_column").observe(self._on_upload, names="value")

    def extra(self, group):
        return [W.HBox([self.upload, self.label_column])] if group == "data" else []

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
        with self.quietly():
            self.controls["data"].options = [*BUILT_IN, YOURS]
        self.set(data=YOURS)

    def _loading_code(self, name):
        column = f", {self.label_column.value!r}" if self.label_column.value else ""
        return (
            "from gplvm_widgets.gplvm import read_table\n"
            f"with open({name!r}, 'rb') as file:\n    Y = read_table(file.read(){column}).data"
        )

    def _data(self, settings):
        return self.own if settings["data"] == YOURS else settings["data"]

    def arguments(self, settings):
        """The reader's own data as a `Source`, and a coarse precision while a run goes on."""
        return {**settings, "data": self._data(settings), "n_grid": COARSE if self.running else FINE}

    def ranges(self, settings):
        """No more points than the reader's own data have."""
        rows = len(self.own.Y) if settings["data"] == YOURS else MOST
        return {"n_points": {"max": min(max(rows, FEWEST + 1), MOST)}}

    def unused(self, settings):
        why = {}
        if settings["init"] != "random":
            why["seed"] = "nothing is random here"
        if settings["kernel"] == "linear":
            why["inverse_width"] = "the linear kernel has none"
        if settings["data"] == YOURS and len(self.own.Y) <= FEWEST:
            why["n_points"] = f"all {len(self.own.Y)} rows are used"
        return why

    def point(self, panel, x, y):
        return {"x1": round(x, 3), "x2": round(y, 3)}

    def nudge(self, panel, right, up):
        step = self.scene.panel("latent").x.limits[1] / 50
        return {"x1": round(self.settings["x1"] + right * step, 3), "x2": round(self.settings["x2"] + up * step, 3)}

    def iterates(self, settings):
        names = [name for name in settings if name not in self.light]
        chosen = {name: settings[name] for name in names} | {"data": self._data(settings)}
        return snapshots(**chosen, steps=MAX_STEPS)

    def code(self, settings, state):
        printed = settings["gradient"] == PRINTED
        return CODE.format(
            more="from gplvm_widgets.gplvm import PrintedGPLVM\n" if printed else "",
            load=source_of(self._data(settings)).code(settings["n_points"]),
            scale=SCALE if settings["scale"] else "",
            kernel=KERNELS[settings["kernel"]].format(gamma=settings["inverse_width"], noise=settings["noise"]),
            Model="PrintedGPLVM" if printed else "GPLVM",
            init=settings["init"],
            seed=settings["seed"],
            prior='"gaussian"' if settings["prior"] else "None",
            objective=objective(settings["prior"]),
            optimiser=settings["optimiser"],
            step=0 if state is None else state.step,
            x1=settings["x1"],
            x2=settings["x2"],
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
