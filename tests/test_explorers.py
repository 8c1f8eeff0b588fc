"""What holds for every explorer: each control is seen, each question can be asked, the code shown tells the truth.

Each explorer goes through one table of properties, with no browser. What one explorer alone does (what its panels
show, where a click leads, whether the answers to its questions are true) is tested with its topic.
"""

import contextlib
import hashlib
import io
import random
from functools import cache

import gplvm_widgets
import pytest
from gplvm_widgets.explorer import STRIP, Explorer

NAMES = [name for name in gplvm_widgets.__all__ if name.startswith("explore_")]
QUICK = {  # settings with which each answers fast
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
    ("explore_kernels", "network"): dict(first="MLP", data=""),  # a network has this kernel, and no data
    ("explore_noise", "y"): dict(noise="Gaussian"),
    ("explore_noise", "noise_variance"): dict(noise="Gaussian"),
    ("explore_noise", "level"): dict(noise="Ordinal"),
    **{
        ("explore_noise", name): TWOS
        for name in ("kernel", "init", "n_active", "share", "image", "pixel_noise", "restarts")
    },
    ("explore_prediction", "model"): dict(model="3"),  # the most probable is this one
    ("explore_proximity", "start"): dict(method="metric MDS"),  # Isomap needs no start
    ("explore_unify", "width"): dict(similarity="RBF"),
    ("explore_unify", "kept"): dict(preset="by hand"),
    ("explore_variational", "horizontal"): dict(horizontal=1),  # the most relevant is this one
    ("explore_variational", "vertical"): dict(horizontal=1, vertical=2),
    ("explore_variational", "seed"): dict(init="random"),
}
UNSEEN = {  # controls that change what happens next, not what is shown
    ("explore_prediction", "brush"): "what a click does; its test is in test_prediction.py",
    ("explore_prediction", "n_starts"): "how often the search begins; it may well end at the same place",
}
RUN = {("explore_gplvm", "optimiser")}  # seen as soon as it takes a step

RUNNING = [name for name in NAMES if name not in ("explore_prediction", "explore_tsne")]  # these fit at once
TO_RUN = {"explore_noise": TWOS, "explore_gtm": dict(passes=12)}  # one observation takes no steps, 3 passes few


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
    explorer.put_away_question()
    explorer.set(**{**opening, **settings})
    return explorer


def digest(scene):
    """A short text that is the same for two scenes if and only if a page would draw them alike."""
    return hashlib.sha256(repr(scene.wire(stored=True)).encode()).hexdigest()[:16]


def values_of(control):
    """Legal values of a control: its options, both truths, or numbers inside its range."""
    if hasattr(control, "options"):
        return [option[1] if isinstance(option, tuple) else option for option in control.options]
    if isinstance(control.value, bool):
        return [False, True]
    if isinstance(control.value, str):
        return sorted({"", "20 27", control.value})  # pixels of an image, or a datum
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
    assert explorer.problem == "", settings
    return digest(explorer.scene)


def printed_by_shown_code(explorer):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(explorer.shown_code(), "the code shown", "exec"), {})
    return printed.getvalue()


def tells_the_truth(explorer):
    """The code shown prints the sentence under the picture."""
    return explorer.scene.says in printed_by_shown_code(explorer)


# ---------------------------------------------------------------------- the table
@pytest.mark.widget
def test_no_explorer_and_no_control_is_forgotten():
    explorers = {name: opened(name) for name in NAMES}
    controls = {(name, control) for name, explorer in explorers.items() for control in explorer.controls}
    assert len(NAMES) == 13 and set(QUICK) <= set(NAMES)
    assert {n for n, one in explorers.items() if one.can_run} == set(RUNNING)
    assert CONTEXT.keys() | UNSEEN.keys() | RUN <= controls


@pytest.mark.widget
@pytest.mark.parametrize("name", NAMES)
def test_the_first_page_has_a_scene_a_sentence_a_strip_and_code_that_prints_it(name):
    explorer = opened(name)
    bundle = explorer._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert data["text/plain"] == f"{type(explorer).__name__}: {explorer.title}"
    assert "data:image/png;base64," in data["text/html"] and explorer.problem == ""
    for group, asked in STRIP.items():
        head, *inside = explorer.group_box(group).children
        assert group in head.value and asked in head.value
        assert any(part in explorer.controls.values() or len(part.value) > 10 for part in inside)
    assert any(char.isdigit() for char in explorer.scene.says) and tells_the_truth(explorer)


@pytest.mark.widget
@pytest.mark.parametrize("name", NAMES)
def test_titles_axes_and_invitations_are_in_order(name):
    explorer = opened(name)
    for panel in explorer.scene.panels:
        assert panel.title or panel.x.label, panel.key
        assert not (panel.hint and not panel.listens), f"{panel.key} invites and does not listen"
        assert "click" not in panel.title.lower() and "drag" not in panel.title.lower(), panel.title
    for control in explorer.controls.values():
        assert len(control.description) < (36 if isinstance(control.value, bool) else 28), control.description


def changes(name, explorer):
    """For every control that can be seen: its name, the picture before, and what to set."""
    opening, plain = explorer.settings, digest(explorer.scene)
    others = {control: other_value(widget) for control, widget in explorer.controls.items()}
    for control in [c for c in opening if (name, c) not in UNSEEN]:
        before, base = plain, {**opening, **CONTEXT.get((name, control), {})}
        if base != opening or (name, control) in RUN:
            before = show(explorer, (name, control) in RUN, **base)
            others[control] = other_value(explorer.controls[control])
        yield control, before, {**base, control: others[control]}


@pytest.mark.widget
@pytest.mark.parametrize("name", NAMES)
def test_every_control_changes_the_picture_and_back_again(name):
    explorer = opened(name)
    opening, first = explorer.settings, digest(explorer.scene)
    for control, before, settings in changes(name, explorer):
        assert show(explorer, (name, control) in RUN, **settings) != before, control
        assert not explorer.controls[control].disabled, control
    explorer.set(**opening)
    assert digest(explorer.scene) == first


@pytest.mark.widget
@pytest.mark.parametrize("name", NAMES)
def test_a_control_that_says_it_is_not_in_use_changes_nothing(name):
    explorer = opened(name)
    contexts = [{}, *(context for (who, _), context in CONTEXT.items() if who == name)]
    for context in contexts:
        explorer = opened(name, **context)
        unused = [control for control, widget in explorer.controls.items() if widget.disabled]
        base, before = explorer.settings, digest(explorer.scene)
        for control in unused:
            assert show(explorer, **{**base, control: other_value(explorer.controls[control])}) == before, control
            explorer.set(**base)


@pytest.mark.widget
@pytest.mark.parametrize("name", NAMES)
def test_each_question_can_be_asked_and_revealed_and_the_picture_changes(name):
    explorer = opened(name)
    assert len(explorer.questions) == len(explorer.question_buttons) == 3
    for button, question in zip(explorer.question_buttons, explorer.questions, strict=True):
        assert 2 <= len(question.choices) <= 4 and 0 <= question.right < len(question.choices)
        assert len(set(question.choices)) == len(question.choices)
        button.click()
        assert explorer.settings.items() >= question.before.items()
        before = digest(explorer.scene)
        explorer.commit(question.right)
        explorer.reveal_button.click()
        assert explorer.settings.items() >= {**question.before, **question.after}.items()
        assert "Right." in explorer.question_box.value and explorer.problem == ""
        assert digest(explorer.scene) != before and tells_the_truth(explorer)


@pytest.mark.widget
@pytest.mark.parametrize("name", RUNNING)
def test_after_a_run_and_on_the_way_back_the_code_gives_what_is_shown(name):
    explorer = opened(name, **TO_RUN.get(name, {}))
    start = digest(explorer.scene)
    explorer.run_now(max_steps=7)
    assert explorer.state is not None and 0 < explorer.progress.value <= 1 and explorer.problem == ""
    assert digest(explorer.scene) != start and len(explorer.kept) == explorer.scrubber.max + 1 == 7
    newest = digest(explorer.scene)
    assert tells_the_truth(explorer)
    explorer.scrubber.value = 2
    assert explorer.state is explorer.kept[2] and digest(explorer.scene) != newest and tells_the_truth(explorer)


@pytest.mark.widget
@pytest.mark.parametrize("name", NAMES)
def test_after_a_storm_the_picture_is_that_of_the_settings(name):
    explorer, draw = opened(name, **TO_RUN.get(name, {})), random.Random(0)
    for _ in range(40):
        explorer.view.problem = ""
        control = draw.choice([widget for widget in explorer.controls.values() if not widget.disabled])
        values = values_of(control)
        control.value = draw.choice([(v,) for v in values]) if isinstance(control.value, tuple) else draw.choice(values)
        if explorer.can_run and draw.random() < 0.1:
            explorer.run_now(max_steps=3)
            explorer.scrubber.value = draw.randrange(explorer.scrubber.max + 1)
    fresh = explorer.panels(**explorer.arguments(explorer.settings), state=explorer.state)
    assert explorer.problem == "" and digest(explorer.scene) == digest(fresh)
    assert tells_the_truth(explorer)


@pytest.mark.widget
@pytest.mark.parametrize("name", NAMES)
def test_a_hundred_clicks_anywhere_leave_legal_settings(name):
    explorer, draw = opened(name), random.Random(1)
    for _ in range(100):
        panel = draw.choice(explorer.scene.panels)
        if not panel.listens:
            continue
        if draw.random() < 0.3:
            step = {"right": draw.choice([-5, -1, 1, 5]), "up": draw.choice([-1, 0, 1])}
            explorer.view.hear({"type": "arrow", "panel": panel.key, **step})
        else:
            x, y = (draw.uniform(*axis.limits) for axis in (panel.x, panel.y))
            explorer.view.hear({"type": "point", "panel": panel.key, "x": x, "y": y})
        assert explorer.problem == ""
    fresh = explorer.panels(**explorer.arguments(explorer.settings), state=explorer.state)
    assert digest(explorer.scene) == digest(fresh)
