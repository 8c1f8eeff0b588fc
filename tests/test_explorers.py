"""What holds for every explorer, once: each control is seen, each question can be asked, the code shown runs.

Each explorer goes through one table of properties, with no browser. What one explorer alone does (what its panel
shows, where a click leads, whether the answers to its questions are true) is tested with its topic.
"""

import base64
import contextlib
import io
from functools import cache

import gplvm_widgets
import pytest
from gplvm_widgets.explorer import STRIP, Explorer

NAMES = [name for name in gplvm_widgets.__all__ if name.startswith("explore_")]
QUICK = {  # settings with which each draws fast
    "explore_gplvm": dict(n_points=30),
    "explore_gtm": dict(n_nodes=8, passes=3),
    "explore_gtm_variants": dict(n_nodes=8),
    "explore_ivm": dict(n_points=100, n_active=12),
    "explore_kernels": dict(n_points=20),
    "explore_prediction": dict(n_inducing=5, n_starts=1),
    "explore_proximity": dict(n_points=100),
    "explore_tsne": dict(n_points=60, perplexity=10),
    "explore_variational": dict(n_points=40, n_inducing=10, n_components=4),
    "explore_wishart": dict(iteration=10),
}
TWOS = dict(view="twos with gaps", n_active=10)
CONTEXT = {  # what else must be set, so that a control has something to change
    ("explore_gplvm", "seed"): dict(init="random"),  # only chance has a seed
    ("explore_gtm", "update"): dict(batch="50"),  # a full pass has one formula
    ("explore_gtm_variants", "curved"): dict(variant="semi-linear", data="furrowed sheet", curved="first axis"),
    ("explore_gtm_variants", "spread"): dict(variant="aligned"),  # of the noise along the sheet
    ("explore_gtm_variants", "noise_update"): dict(variant="aligned"),  # (10.6) is the aligned model's
    ("explore_kernels", "second"): dict(combine="+"),  # else there is no second kernel
    ("explore_kernels", "period"): dict(first="periodic"),
    ("explore_kernels", "weight_variance"): dict(first="MLP"),
    ("explore_kernels", "bias_variance"): dict(first="MLP"),
    ("explore_kernels", "network"): dict(first="MLP"),  # a network has this kernel
    ("explore_noise", "y"): dict(noise="Gaussian"),
    ("explore_noise", "noise_variance"): dict(noise="Gaussian"),
    ("explore_noise", "level"): dict(noise="Ordinal"),
    **{("explore_noise", name): TWOS for name in ("kernel", "init", "n_active", "share", "image")},
    ("explore_prediction", "model"): dict(model="3"),  # the most probable is this one
    ("explore_proximity", "start"): dict(method="metric MDS"),  # Isomap needs no start
    ("explore_unify", "width"): dict(similarity="RBF"),
    ("explore_unify", "kept"): dict(preset="by hand"),
    ("explore_variational", "horizontal"): dict(horizontal=1),  # the most relevant is this one
    ("explore_variational", "seed"): dict(init="random"),
}
UNSEEN = {  # controls that change what happens next, not what is shown
    ("explore_noise", "restarts"): "how often the search begins; it may well end at the same place",
    ("explore_prediction", "brush"): "what a click does; its test is in test_prediction.py",
    ("explore_prediction", "n_starts"): "how often the search begins; it may well end at the same place",
}
RUN = {("explore_gplvm", "optimiser")}  # seen as soon as it takes a step

RUNNING = [name for name in NAMES if name not in ("explore_prediction", "explore_tsne")]  # these fit at once
TO_RUN = {"explore_noise": TWOS}  # one observation takes no steps


@pytest.fixture(autouse=True)
def errors_are_raised(monkeypatch):
    monkeypatch.setattr(Explorer, "raise_errors", True)


@cache
def shared(name):
    """One explorer of each kind, and its settings at the beginning."""
    explorer = getattr(gplvm_widgets, name)(**QUICK.get(name, {}))
    return explorer, explorer.settings


def opened(name, **settings):
    """The explorer as it was at the beginning, but for the settings named here."""
    explorer, opening = shared(name)
    wanted = {**opening, **settings}
    if explorer.settings != wanted or explorer.state is not None or not explorer.picture.png:
        explorer.set(**wanted)
    return explorer


def values_of(control):
    """Legal values of a control: its options, both truths, or numbers inside its range."""
    if hasattr(control, "options"):
        return [option[1] if isinstance(option, tuple) else option for option in control.options]
    if isinstance(control.value, bool):
        return [False, True]
    if isinstance(control.value, str):
        return ["", "20 27"]  # pixels of an image
    low, high = control.min, control.max
    inside = [low + share * (high - low) for share in (0.25, 0.5, 0.75)]
    if hasattr(control, "base"):  # a logarithmic slider
        inside = [control.base**value for value in inside]
    return sorted({type(control.value)(value) for value in inside} | {control.value})


def other_value(control):
    """The next legal value of a control, whatever kind of control it is."""
    values = values_of(control)
    if isinstance(control.value, tuple):  # several may be chosen
        return (*control.value[:-1], next(value for value in values if value not in control.value))
    return values[(values.index(control.value) + 1) % len(values)]


def show(explorer, run=False, **settings):
    """Set the controls that have to move, and make a few steps if asked: the picture."""
    now = explorer.settings
    explorer.set(**{name: value for name, value in settings.items() if now[name] != value})
    if run:
        explorer.run_now(max_steps=4)
    assert explorer.error_box.value == "", settings
    return explorer.picture.png


class Undrawn:
    """In place of a drawing, where nobody looks: drawing takes four fifths of the time that a panel takes."""

    def __init__(self, figure):
        self.figure = figure

    def png(self):
        return b""


def run_shown_code(explorer):
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(explorer.code(explorer.settings), "the code shown", "exec"), {})


# ---------------------------------------------------------------------- the table
@pytest.mark.widget
def test_no_explorer_and_no_control_is_forgotten():
    explorers = {name: opened(name) for name in NAMES}
    controls = {(name, control) for name, explorer in explorers.items() for control in explorer.controls}
    assert len(NAMES) == 13 and set(QUICK) <= set(NAMES)
    assert {n for n, one in explorers.items() if type(one).iterates is not Explorer.iterates} == set(RUNNING)
    assert CONTEXT.keys() | UNSEEN.keys() | RUN <= controls


@pytest.mark.widget
@pytest.mark.parametrize("name", NAMES)
def test_the_first_page_has_a_picture_a_text_a_strip_and_code_that_runs(name):
    explorer = opened(name)
    bundle = explorer._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert base64.b64decode(data["image/png"]) == explorer.picture.png and explorer.picture.png[1:4] == b"PNG"
    assert data["text/plain"] == f"{type(explorer).__name__}: {explorer.title}"
    assert explorer.picture.alt.startswith(explorer.title) and explorer.error_box.value == ""
    strip = [box for row in explorer.children for box in getattr(row, "children", ()) if hasattr(box, "children")]
    for (group, asked), box in zip(STRIP.items(), strip, strict=True):
        head, *inside = box.children
        assert group in head.value and asked in head.value
        assert any(part in explorer.controls.values() or len(part.value) > 10 for part in inside)
    run_shown_code(explorer)


def changes(name, explorer):
    """For every control that can be seen: its name, the picture before, and what to set."""
    opening, plain = explorer.settings, explorer.picture.png
    others = {control: other_value(widget) for control, widget in explorer.controls.items()}
    for control in [c for c in opening if (name, c) not in UNSEEN]:
        before, base = plain, {**opening, **CONTEXT.get((name, control), {})}
        if base != opening or (name, control) in RUN:
            before = show(explorer, (name, control) in RUN, **base)
            others[control] = other_value(explorer.controls[control])
        if not explorer.controls[control].disabled:
            yield control, before, {**base, control: others[control]}


@pytest.mark.widget
@pytest.mark.parametrize("name", NAMES)
def test_every_control_changes_the_picture_and_back_again(name):
    explorer = opened(name)
    opening, first = explorer.settings, explorer.picture.png
    for control, before, settings in changes(name, explorer):
        assert show(explorer, (name, control) in RUN, **settings) != before, control
    explorer.set(**opening)
    assert explorer.picture.png == first


@pytest.mark.widget
@pytest.mark.parametrize("name", NAMES)
def test_each_question_can_be_asked_and_revealed_and_the_code_shown_there_runs(name, monkeypatch):
    explorer = opened(name)
    monkeypatch.setattr("gplvm_widgets.explorer.Drawing", Undrawn)
    assert len(explorer.questions) == len(explorer.question_buttons) == 3
    for button, question in zip(explorer.question_buttons, explorer.questions, strict=True):
        button.click()
        assert explorer.settings.items() >= question.before.items()
        assert question.text in explorer.question_box.value and question.answer not in explorer.question_box.value
        explorer.reveal_button.click()
        assert explorer.settings.items() >= question.after.items()
        assert question.answer in explorer.question_box.value and explorer.error_box.value == ""
        run_shown_code(explorer)


@pytest.mark.widget
@pytest.mark.parametrize("name", RUNNING)
def test_a_run_makes_its_steps_and_the_slider_goes_back(name):
    explorer = opened(name, **TO_RUN.get(name, {}))
    start = explorer.picture.png
    explorer.run_now(max_steps=3)
    assert explorer.state is not None and 0 < explorer.progress.value <= 1 and explorer.error_box.value == ""
    assert explorer.picture.png != start
    if explorer.keeps_iterates:
        assert len(explorer.kept) == explorer.scrubber.max + 1 == 3
        newest = explorer.picture.png
        explorer.scrubber.value = 0
        assert explorer.state is explorer.kept[0] and explorer.picture.png != newest
