"""The controls of `explore_noise`."""

import ipywidgets as W

from ..explorer import Explorer, Question
from .site import CUTS, panel_site
from .twos import KERNELS, N_PASSES, NOISES, move, panel_twos, snapshots

SITE, TWOS = "one observation", "twos with gaps"
WHERE = {  # which control belongs to which view, and to which noise
    "mean": SITE,
    "variance": SITE,
    "y": (SITE, "Gaussian"),
    "noise_variance": (SITE, "Gaussian"),
    "label": (SITE, "Probit"),
    "level": (SITE, "Ordinal"),
    "kernel": TWOS,
    "init": TWOS,
    "restarts": TWOS,
    "n_active": TWOS,
    "share": TWOS,
    "image": TWOS,
}

SITE_CODE = """\
from gplvm_edu.noise import Gaussian, Ordinal, Probit, match_moments, sites

noise, y = {model}, {y:g}
mean, variance = {mean:g}, {variance:g}                  # of f, before y is seen
terms = noise.evaluate(y, mean, variance)                # ln Z, g and nu
new_mean, new_variance = match_moments(terms.g, terms.nu, mean, variance)
m, beta = sites(terms.g, terms.nu, mean, variance)
print(f"ln Z {{terms.log_partition:.4f}}, after: mean {{new_mean:.3f}}, variance {{new_variance:.3f}}")
print(f"site: {{m:.3f}}, {{beta:.4f}}")
"""
TWOS_CODE = """\
from gplvm_edu.datasets import binary_images, load_digits, remove_pixels
from gplvm_edu.ivm import SparseGPLVM
from gplvm_edu.kernels import MLP, RBF, Bias, Linear, White
from gplvm_edu.noise import Ordinal, Probit

digits = load_digits()
Y = binary_images(digits.data[digits.target == 2] / 16)
train, test = Y[:120], Y[120:]
kernel = {kernel}
model = SparseGPLVM(n_active={n_active}, max_iter={passes}, kernel=kernel, noise={noise}, init="{init}",
                    latent_prior="gaussian", random_state=0).fit(train)
seen, removed = remove_pixels(test, {share:g}, random_state=0)
place = model.transform(seen[[{image}]], {restarts})
expected = model.inverse_transform(place)[0]
n_wrong = (((expected > 0.5) != (test[{image}] > 0.5)) & removed[{image}]).sum()
print(f"{{n_wrong}} of {{removed[{image}].sum()}} removed pixels are wrong")
"""
NOTES = {
    "kernel": "It gives f its variance before the observation.",
    "start": "One observation has none; a filter<br>starts where its order says.",
    "size": "One.",
}
ONE = dict(view=SITE, noise="Probit", mean=0.0, variance=1.0, label=1)


class NoiseExplorer(Explorer):
    """Controls for `panel_site` and `panel_twos`; Run makes the passes of Algorithm 1, in the second view."""

    title = "Noise: one observation and its site; twos with missing pixels"
    keeps_iterates = True
    light = ("share", "image", "restarts")
    questions = (
        Question(
            "A label 1, and a prior that knows nothing: N(0, 1). If the prior mean were 4, so that the label is "
            "no surprise at all, what would the precision of the site be?",
            ONE,
            dict(mean=4.0),
            "About 0.01. What was expected anyway teaches nothing: the tilted density is the prior again, and the "
            "site fades. A Gaussian observation is different: its precision does not depend on what is observed.",
        ),
        Question(
            "Now a surprise: the same label, prior mean -4. Can a site become as sharp as we like, if only the "
            "surprise is large enough?",
            ONE,
            dict(mean=-4.0),
            "No. The precision climbs towards 1 and never beyond. A label is Phi(f) = the sign of f plus noise "
            "of variance 1, so it can never be worth more than a real-valued observation with that noise.",
        ),
        Question(
            "A fifth of a test image is gone. If four fifths are taken away, will what is put into the gaps still "
            "look like a two?",
            dict(view=TWOS, noise="Probit", kernel="RBF", init="pca", n_active=40, restarts=10, share=0.2, image=3),
            dict(share=0.8),
            "Yes, but not the same two. Whatever is left chooses a place in the latent space, and every place "
            "near the data decodes to a two. Press Run first, then try other images.",
        ),
    )

    def make_controls(self):
        self._notes = {}
        wide = dict(style={"description_width": "initial"})
        return {
            "data": {
                "view": W.ToggleButtons(options=[SITE, TWOS], style={"button_width": "140px"}),
                "noise": W.ToggleButtons(
                    options=list(NOISES),
                    value="Probit",
                    style={"button_width": "80px"},
                    tooltips=[f"{name} noise" for name in NOISES],
                    layout=W.Layout(margin="2px 2px 2px 30px"),
                ),
            },
            "kernel": {
                "mean": W.FloatSlider(
                    0.0, min=-6, max=6, step=0.1, description="prior mean of f", layout=W.Layout(width="290px"), **wide
                ),
                "variance": W.FloatLogSlider(
                    1.0,
                    base=10,
                    min=-1.5,
                    max=1.5,
                    step=0.05,
                    description="prior variance",
                    readout_format=".2f",
                    layout=W.Layout(width="290px"),
                    **wide,
                ),
                "kernel": W.Dropdown(options=list(KERNELS), layout=W.Layout(width="140px")),
            },
            "start": {
                "init": W.Dropdown(
                    options=["pca", "isomap", "random"], description="positions", layout=W.Layout(width="190px"), **wide
                ),
                "restarts": W.IntSlider(
                    10, 1, 10, description="restarts of an image", layout=W.Layout(width="270px"), **wide
                ),
            },
            "size": {
                "n_active": W.SelectionSlider(
                    options=(10, 20, 40, 60),
                    value=40,
                    description="active images d",
                    layout=W.Layout(width="250px"),
                    **wide,
                )
            },
            "more": {
                "y": W.FloatSlider(
                    1.0, min=-4, max=4, step=0.1, description="observed y", layout=W.Layout(width="270px"), **wide
                ),
                "noise_variance": W.FloatLogSlider(
                    0.5,
                    base=10,
                    min=-1.5,
                    max=1,
                    step=0.05,
                    description="noise variance",
                    readout_format=".2f",
                    layout=W.Layout(width="270px"),
                    **wide,
                ),
                "label": W.ToggleButtons(
                    options=[("observed: 1", 1), ("observed: 0", 0)], style={"button_width": "100px"}
                ),
                "level": W.IntSlider(
                    2, 0, len(CUTS), description="observed level", layout=W.Layout(width="240px"), **wide
                ),
                "share": W.FloatSlider(
                    0.2,
                    min=0.0,
                    max=0.9,
                    step=0.05,
                    description="share of pixels removed",
                    layout=W.Layout(width="310px"),
                    **wide,
                ),
                "image": W.IntSlider(3, 0, 56, description="test image", layout=W.Layout(width="240px"), **wide),
            },
        }

    def panel(self, settings, state):
        """The panel of the view chosen; controls of the other one step aside."""
        for name, place in WHERE.items():
            view, noise = place if isinstance(place, tuple) else (place, settings["noise"])
            here = view == settings["view"] and noise == settings["noise"]
            self.controls[name].layout.display = "" if here else "none"
        for note in self._notes.values():
            note.layout.display = "" if settings["view"] == SITE else "none"
        if settings["view"] == SITE:
            return panel_site(**_pick(settings, SITE))
        return panel_twos(**_pick(settings, TWOS), state=state)

    def strip_box(self, group):
        box = super().strip_box(group)
        self._notes[group] = W.HTML(NOTES[group])
        box.children = (*box.children, self._notes[group])
        return box

    def retouch(self, figure, settings):
        """Another image, more gaps, fewer restarts: the model stays."""
        if settings["view"] == TWOS:
            move(figure, settings["share"], settings["image"], settings["restarts"])

    def iterates(self, settings):
        """The passes of Algorithm 1; a single observation has none."""
        if settings["view"] == TWOS:
            for snapshot in snapshots(*(settings[name] for name in ("noise", "kernel", "init", "n_active"))):
                yield snapshot.passes / N_PASSES, snapshot

    def click(self, axes, x, y):
        """A click or drag in the densities moves the prior mean."""
        return {"mean": round(min(max(float(x), -6.0), 6.0), 1)} if axes.get_gid() == "mean" else {}

    def nudge(self, right, up):
        """Arrow keys move the prior mean and its variance."""
        if self.settings["view"] != SITE:
            return {}
        mean, variance = (self.controls[name] for name in ("mean", "variance"))
        return {
            "mean": round(min(max(mean.value + 0.1 * right, -6.0), 6.0), 1),
            "variance": min(max(variance.value * 10 ** (0.05 * up), 10**variance.min), 10**variance.max),
        }

    def code(self, settings):
        if settings["view"] == SITE:
            model, y = {
                "Gaussian": (f"Gaussian({settings['noise_variance']:.6g}, mean=0.0)", settings["y"]),
                "Probit": ("Probit(bias=0.0)", settings["label"]),
                "Ordinal": (f"Ordinal(cuts={list(CUTS)})", settings["level"]),
            }[settings["noise"]]
            return SITE_CODE.format(model=model, y=y, mean=settings["mean"], variance=settings["variance"])
        smooth = {"RBF": "RBF(1.0, 1.0)", "MLP": "MLP(1.0, 10.0, 10.0)", "linear": "Linear(1.0)"}[settings["kernel"]]
        kernel = (
            f"0.1 * {smooth} + Bias(0.01) + White(0.01)"
            if settings["noise"] == "Gaussian"
            else f"{smooth} + Bias(0.1) + White(0.01)"
        )
        passes = 0 if self.state is None else self.state.passes
        return TWOS_CODE.format(
            passes=passes, **{**_pick(settings, TWOS), "kernel": kernel, "noise": NOISES[settings["noise"]]}
        )


def _pick(settings, view):
    """The settings that the panel of one view takes."""
    names = ["noise"] + [name for name, place in WHERE.items() if view in (place, place[0])]
    return {name: settings[name] for name in names}


def explore_noise(**settings) -> NoiseExplorer:
    """The live explorer of chapter 8; any control can be set: ``explore_noise(view="twos with gaps")``."""
    return NoiseExplorer(**settings)
