"""The common base of the explorers, through its traits and without a browser."""

import asyncio
import contextlib
import gc
import io
import signal
import sys
import threading
import time
import warnings

import ipywidgets as W
import numpy as np
import pytest
from comm import get_comm_manager
from gplvm_widgets import explorer as base
from gplvm_widgets.controls import slider
from gplvm_widgets.explorer import Explorer, Question
from gplvm_widgets.scene import Axis, Cursor, Lines, Panel, SceneOf
from gplvm_widgets.source import show_source, source_without_docstring
from sklearn.exceptions import ConvergenceWarning

pytestmark = pytest.mark.widget
COMPUTED = []


def line(level, n, state):
    """A line that breaks at level 9."""
    COMPUTED.append("line")
    if level == 9:
        raise ValueError("Level 9 is <out> of reach. Choose a lower one.")
    if level == 8:
        raise ZeroDivisionError("by nothing")
    place = np.arange(n)
    return Panel([Lines("line", place, level * place + (state or 0))], y=Axis(limits=(-50, 60)), listens="click")


def place(x):
    """A cross that a drag moves."""
    COMPUTED.append("place")
    return Panel([Cursor("cross", x, 0.0)], x=Axis(limits=(-10, 10)), listens="drag")


OPENING = dict(level=1, n=5, x=0.0)
panel_toy = SceneOf(line, place, defaults=OPENING, says=lambda level, state: f"level {level}, state {state}")


class Toy(Explorer):
    """Two panels, a run of fifty steps, and one question."""

    title = "Toy"
    panels = panel_toy
    questions = (
        Question("Will it be < steeper at 3?", {**OPENING}, {"level": 3}, "It is steeper.", ("yes", "no"), 0),
        Question("And after a run?", {**OPENING}, {"level": 2}, "It is higher.", ("yes", "no"), 0, run="both"),
    )
    strip_notes = {"start": "A line has no start."}
    light = ("x",)
    n_steps = 50

    def make_controls(self):
        return {
            "kernel": {"level": slider(1, 0, 9, 1, "level")},
            "size": {"n": slider(5, 2, 9, 1, "points")},
            "more": {"x": slider(0.0, -9.0, 9.0, 0.5, "cross")},
        }

    def code(self, settings, state):
        return f"print('level {settings['level']}, state {state}')\n"

    def iterates(self, settings):
        for step in range(self.n_steps):
            yield step / 400, step  # it ends at an eighth of its greatest number of steps

    def point(self, panel, x, y):
        return {"level": round(y)} if panel == "line" else {"x": 0.5 * round(2 * x)}

    def nudge(self, panel, right, up):
        return {"x": self.settings["x"] + 0.5 * right} if panel == "place" else {}

    def unused(self, settings):
        return {"x": "the cross is off at level 0"} if settings["level"] == 0 else {}

    def ranges(self, settings):
        return {"n": {"max": 4 if settings["level"] == 5 else 9}}


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setattr(Explorer, "raise_errors", True)
    made = Toy()
    COMPUTED.clear()
    return made


def height(explorer):
    return explorer.scene.mark("line", "line").y[-1]


# ---------------------------------------------------------------------- settings and panels
def test_a_control_that_moves_changes_the_picture_and_back_again(toy):
    first = toy.view.panel_0
    toy.controls["level"].value = 4
    assert height(toy) == 16 and toy.view.panel_0 != first
    toy.controls["level"].value = 1
    assert height(toy) == 4 and toy.view.panel_0 == first


def test_several_controls_are_set_at_once_and_only_their_panels_are_computed(toy):
    toy.set(level=3, n=7)
    assert COMPUTED == ["line"] and toy.settings == {"level": 3, "n": 7, "x": 0.0}
    toy.set(x=2.0)
    assert COMPUTED == ["line", "place"]


@pytest.mark.bad_input
def test_an_unknown_control_is_named(toy):
    with pytest.raises(ValueError, match=r"no control named colour.*level, n, x"):
        toy.set(colour=3)


def test_settings_have_four_digits_so_that_code_prints_what_is_computed_with(toy):
    toy.controls["x"].step = 0.00001
    toy.controls["x"].value = 1.23456
    assert toy.settings["x"] == 1.235 and toy.scene.mark("place", "cross").x == 1.235


@pytest.mark.bad_input
def test_an_error_takes_the_place_of_the_picture_as_a_sentence_and_is_raised_in_tests(toy, monkeypatch):
    with pytest.raises(ValueError, match="out"):
        toy.set(level=9)
    monkeypatch.setattr(Explorer, "raise_errors", False)
    toy.set(n=4)
    assert toy.problem == "Level 9 is <out> of reach. Choose a lower one."
    toy.set(level=8)  # nobody foresaw this one: it is named
    assert toy.problem == "This setting can't be shown (ZeroDivisionError: by nothing). Choose another."
    toy.set(level=2)
    assert toy.problem == "" and height(toy) == 6


def test_a_control_without_effect_is_disabled_and_says_why(toy):
    toy.set(level=0)
    assert toy.controls["x"].disabled and not toy.controls["n"].disabled
    assert "the cross is off at level 0" in toy.why_box.value and toy.controls["x"].tooltip
    toy.set(level=1)
    assert not toy.controls["x"].disabled and toy.why_box.value == ""


def test_what_the_data_do_not_have_is_not_offered(toy):
    toy.set(n=9)
    toy.set(level=5)
    assert toy.controls["n"].max == 4 and toy.settings["n"] == 4 and height(toy) == 15
    toy.set(level=5, n=9)
    assert toy.settings["n"] == 4
    toy.set(level=4)
    assert toy.controls["n"].max == 9


def test_the_strip_says_why_a_control_is_missing(toy):
    def texts(widget):
        own = [widget.value] if isinstance(widget, W.HTML) else []
        return own + [t for child in getattr(widget, "children", ()) for t in texts(child)]

    everything = " ".join(texts(toy))
    assert "A line has no start." in everything
    assert all(f"<b>{group}</b>" in everything for group in ("kernel", "start", "size"))


# ---------------------------------------------------------------------- the reader's hand
def test_clicks_drags_and_arrow_keys_reach_the_panel_in_data_coordinates(toy):
    toy.view.hear({"type": "point", "panel": "line", "x": 2.0, "y": 3.1})
    assert toy.settings["level"] == 3
    toy.view.hear({"type": "point", "panel": "place", "x": 2.9, "y": 0.0})
    assert toy.settings["x"] == 3.0
    toy.view.hear({"type": "arrow", "panel": "place", "right": -1, "up": 0})
    assert toy.settings["x"] == 2.5
    COMPUTED.clear()
    toy.view.hear({"type": "arrow", "panel": "line", "right": 1, "up": 0})  # means nothing there
    assert toy.settings["x"] == 2.5 and COMPUTED == []


# ---------------------------------------------------------------------- Run
async def steps(n):
    for _ in range(n):
        await asyncio.sleep(0)


@pytest.fixture
def quick(monkeypatch):
    """A run that does not wait between the states it shows."""
    monkeypatch.setattr(base, "FRAME_SECONDS", 0.0)


def shown_states(toy, monkeypatch):
    """The states that a whole run sends to the page."""
    shown = []
    show = toy.view.show
    monkeypatch.setattr(toy.view, "show", lambda scene, *a, **k: (shown.append(toy.state), show(scene, *a, **k)))

    async def go():
        toy.run()
        assert toy.run_button.disabled and not toy.stop_button.disabled
        await toy.task

    asyncio.run(go())
    return shown


@pytest.mark.parametrize("n_steps", [20, 50, 400])
def test_a_run_shows_at_least_twenty_states_whatever_the_speed_of_a_step(toy, monkeypatch, n_steps):
    monkeypatch.setattr(base, "FRAME_SECONDS", 0.002)
    toy.n_steps = n_steps
    shown = shown_states(toy, monkeypatch)
    assert len(set(shown)) >= 20 and shown[-1] == n_steps - 1
    assert len(set(shown)) <= 20 + base.SHOWN_STATES + n_steps // 4
    assert toy.progress.value == 1.0  # done is done, whatever share the last step announced
    assert toy.stop_button.disabled and not toy.run_button.disabled and height(toy) == 4 + n_steps - 1


def test_stop_ends_a_run_between_two_steps_and_keeps_its_picture(toy, quick):
    async def go():
        toy.run()
        task = toy.task
        await steps(40)
        toy.stop_button.click()
        await asyncio.wait([task])

    asyncio.run(go())
    assert toy.task is None and 0 < toy.state < 49 and height(toy) == 4 + toy.state
    assert toy.progress.value == toy.state / 400 and toy.scrubber.max == toy.state


def test_moving_a_control_drops_a_run_and_resets_the_bar(toy, quick):
    async def go():
        toy.run()
        task = toy.task
        await steps(30)
        assert toy.progress.value > 0
        toy.set(level=2)
        await asyncio.wait([task])

    asyncio.run(go())
    assert toy.state is None and toy.progress.value == 0.0 and toy.kept == [] and toy.scrubber.disabled
    assert height(toy) == 8  # nothing of the run came after


def test_a_run_goes_on_while_something_light_is_dragged(toy, quick):
    async def go():
        toy.run()
        await steps(9)
        toy.set(x=4.0)
        assert toy.running
        await toy.task

    asyncio.run(go())
    assert toy.state == 49 and toy.settings["x"] == 4.0


def test_pause_holds_a_run_and_go_on_finishes_it(toy, quick):
    async def go():
        toy.run()
        await steps(30)
        toy.pause_button.click()
        assert not toy.running and toy.pause_button.description == "Go on"
        held = toy.state
        await asyncio.sleep(0.15)
        assert toy.state == held and 0 < held < 49
        toy.pause_button.click()
        assert toy.running and toy.pause_button.description == "Pause"
        await toy.task

    asyncio.run(go())
    assert toy.state == 49 and toy.pause_button.disabled and toy.progress.value == 1.0


def test_a_paused_run_can_be_stopped_and_run_anew(toy, quick):
    async def go():
        toy.run()
        await steps(20)
        task = toy.task
        toy.pause()
        toy.stop_button.click()
        await asyncio.wait([task])
        assert toy.task is None and toy.state < 49
        toy.run()
        await toy.task

    asyncio.run(go())
    assert toy.state == 49 and len(toy.kept) == 50


def test_the_slider_goes_back_through_the_states_of_a_run(toy):
    toy.run_now()
    assert (toy.scrubber.max, toy.scrubber.value, height(toy)) == (49, 49, 53)
    toy.scrubber.value = 12
    assert toy.state == 12 and height(toy) == 16 and toy.scene.says == "level 1, state 12"
    toy.scrubber.value = 49
    assert height(toy) == 53
    toy.set(n=6)  # another setting: those states mean nothing any more
    assert toy.state is None and toy.scrubber.max == 0


def test_going_back_holds_a_run_and_go_on_takes_it_up_where_it_was(toy, quick):
    async def go():
        toy.run()
        await steps(30)
        newest = toy.state
        toy.scrubber.value = 2
        assert toy.state == 2 and not toy.running and toy.pause_button.description == "Go on"
        toy.pause()
        assert toy.state == newest
        await toy.task

    asyncio.run(go())
    assert toy.kept == list(range(50)) and toy.scrubber.value == 49


def test_an_error_inside_a_run_is_shown(toy, monkeypatch, quick):
    monkeypatch.setattr(Explorer, "raise_errors", False)

    def broken(settings):
        yield 0.5, 1
        raise ValueError("The optimiser fell off.")

    toy.iterates = broken

    async def go():
        toy.run()
        await toy.task

    asyncio.run(go())
    assert toy.problem == "The optimiser fell off." and not toy.run_button.disabled


def test_interrupt_ends_a_run_says_so_and_gives_the_signal_back(toy, monkeypatch):
    monkeypatch.setattr(base, "FRAME_SECONDS", 0.005)
    former = signal.getsignal(signal.SIGINT)

    async def go():
        toy.run()
        task = toy.task
        await asyncio.sleep(0.03)
        signal.raise_signal(signal.SIGINT)
        await asyncio.wait([task])

    asyncio.run(go())
    assert toy.task is None and toy.state < 49 and "Interrupted" in toy.note.value
    assert signal.getsignal(signal.SIGINT) is former


class Slow(Toy):
    """A toy whose steps take their time, and which says where they were made."""

    n_steps = 400

    def iterates(self, settings):
        self.threads = set()
        for share, step in super().iterates(settings):
            time.sleep(0.003)
            self.threads.add(threading.current_thread())
            yield share, step


def test_stop_from_another_thread_shows_the_last_step_that_was_made(quick):
    """JupyterLab's callbacks have a thread of their own: a step that was under way was made, and never shown."""

    async def go():
        slow = Slow()
        for k in range(12):
            slow.run()
            await asyncio.sleep(0.02 + 0.001 * k)
            await asyncio.to_thread(slow.stop, "button")
            left = slow.state, len(slow.kept), slow.scene.says
            await asyncio.sleep(0.02)
            assert (slow.state, len(slow.kept), slow.scene.says) == left
            assert slow.task is None and height(slow) == 4 + slow.state == 3 + len(slow.kept)

    asyncio.run(go())


def test_a_run_that_another_thread_starts_goes_on_in_the_loop_of_its_cell(quick):
    """Only there Interrupt reaches it; and a control that another thread moves ends it."""

    async def go():
        slow = Slow()
        for end in (lambda: signal.raise_signal(signal.SIGINT), lambda: slow.set(level=5)):
            await asyncio.to_thread(slow.run)
            await asyncio.sleep(0.05)
            assert slow.threads == {threading.main_thread()} and slow.task is not None
            await asyncio.to_thread(end)
            await asyncio.sleep(0.02)
            assert slow.task is None and len(slow.kept) < 100
        assert slow.state is None and height(slow) == 5 * (slow.settings["n"] - 1)

    asyncio.run(go())


def test_controls_that_threads_move_at_once_leave_the_picture_of_the_settings(toy):
    often = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def move(name, values):
        for value in values:
            toy.set(**{name: value})

    async def go():
        moves = [("level", [1, 5, 2, 7] * 20), ("x", [0.5, -3.0, 2.0] * 20), ("n", [3, 9, 4, 6] * 20)]
        await asyncio.gather(*(asyncio.to_thread(move, *one) for one in moves))

    try:
        asyncio.run(go())
    finally:
        sys.setswitchinterval(often)
    assert repr(toy.scene.wire(stored=True)) == repr(panel_toy(**toy.settings).wire(stored=True))
    assert toy.settings == {**toy.settings, "level": 7, "x": 2.0}


def test_a_run_ends_when_its_page_has_gone(toy, monkeypatch):
    monkeypatch.setattr(base, "FRAME_SECONDS", 0.03)
    toy.n_steps = 400

    async def go():
        toy.run()
        task = toy.task
        await asyncio.sleep(0.1)
        toy.view.hear({"type": "gone", "view": "a"})
        await asyncio.wait([task], timeout=5)

    asyncio.run(go())
    assert toy.task is None and toy.state < 399


def test_a_run_goes_on_when_one_of_two_views_is_closed(toy, monkeypatch):
    monkeypatch.setattr(base, "FRAME_SECONDS", 0.03)

    async def go():
        toy.run()
        await asyncio.sleep(0.05)
        toy.view.hear({"type": "gone", "view": "a"})
        toy.view.hear({"type": "seen", "view": "b", "n": 3})
        await toy.task

    asyncio.run(go())
    assert toy.state == 49


@pytest.mark.parametrize("last_heard", ["before the run", "in the run"])
def test_a_run_ends_when_a_page_that_was_there_falls_silent(toy, monkeypatch, last_heard):
    monkeypatch.setattr(base, "FRAME_SECONDS", 0.01)
    monkeypatch.setattr(base, "PATIENCE_SECONDS", 0.2)
    toy.n_steps = 400
    if last_heard == "before the run":
        toy.view.hear({"type": "hello", "view": "a"})

    async def go():
        toy.run()
        task = toy.task
        await asyncio.sleep(0.05)
        if last_heard == "in the run":
            toy.view.hear({"type": "seen", "view": "a", "n": 3})
        await asyncio.wait([task], timeout=5)

    asyncio.run(go())
    assert toy.task is None and toy.state < 399


# ---------------------------------------------------------------------- its life
def test_a_cell_that_is_run_again_ends_the_explorer_it_made_before(monkeypatch):
    run = ["first"]
    monkeypatch.setattr(base, "_cell_now", lambda: ("cell", run[0]))
    monkeypatch.setattr(Explorer, "_made", {})
    before = len(get_comm_manager().comms)
    one, two = Toy(), Toy()
    made = len(get_comm_manager().comms) - before
    run[0] = "second"
    three = Toy()
    gc.collect()
    assert one.comm is None and two.view.comm is None and three.comm is not None
    assert len(get_comm_manager().comms) - before == made / 2  # all models of the former two are closed


def test_the_run_of_a_replaced_explorer_ends(monkeypatch, quick):
    run = ["first"]
    monkeypatch.setattr(base, "_cell_now", lambda: ("cell", run[0]))
    monkeypatch.setattr(Explorer, "_made", {})

    async def go():
        toy = Toy()
        toy.run()
        task = toy.task
        await steps(9)
        run[0] = "second"
        Toy()
        await asyncio.wait([task])
        return task

    assert asyncio.run(go()).cancelled()


# ---------------------------------------------------------------------- questions
def test_a_question_sets_the_scene_waits_for_a_choice_and_answers_once(toy):
    toy.question_buttons[0].click()
    assert toy.settings == OPENING and "&lt; steeper" in toy.question_box.value
    assert toy.choices.options == ("yes", "no") and toy.choices.value is None and toy.reveal_button.disabled
    toy.reveal_button.click()
    toy.reveal()
    assert "It is steeper." not in toy.question_box.value  # commit first
    toy.commit("no")
    assert not toy.reveal_button.disabled
    toy.reveal_button.click()
    toy.reveal_button.click()
    assert toy.question_box.value.count("It is steeper.") == 1 and "Not “no”." in toy.question_box.value
    assert toy.settings["level"] == 3


def test_reveal_sets_the_questions_own_scene_first(toy):
    toy.ask(1)
    toy.set(n=8, x=4.0)
    toy.commit(0)
    toy.reveal()
    assert toy.settings == {**OPENING, "level": 3} and "Right." in toy.question_box.value


def test_before_and_after_can_be_compared_until_a_control_moves(toy):
    toy.ask(1)
    toy.commit(0)
    toy.reveal()
    assert toy.compare.layout.display == ""
    toy.compare.value = "before"
    assert toy.view.scene.mark("line", "line").y[-1] == 4
    toy.compare.value = "after"
    assert toy.view.scene.mark("line", "line").y[-1] == 12
    toy.set(n=4)
    assert toy.compare.layout.display == "none"


def test_a_question_about_a_run_runs_before_and_after(toy):
    toy.ask(2)
    assert toy.state == 49 and height(toy) == 53
    toy.commit(1)
    toy.reveal()
    assert toy.state == 49 and height(toy) == 57
    toy.compare.value = "before"
    assert toy.view.scene.mark("line", "line").y[-1] == 53


def test_a_page_that_answers_with_more_digits_neither_computes_nor_ends_a_run(toy):
    toy.light = ()
    toy.set(x=0.3162)
    toy.run_now(7)
    COMPUTED.clear()
    toy.controls["x"].value = 0.31622776  # as a slider of powers of ten does
    assert COMPUTED == [] and toy.state == 6 and toy.settings["x"] == 0.3162
    toy.controls["x"].value = 0.3163
    assert COMPUTED and toy.state is None


def test_a_gesture_is_pressing_moving_and_letting_go_and_letting_go_is_nothing(toy):
    seen = []
    toy.point = lambda *place: seen.append(place) or {}
    for phase in ("down", "move", "up"):
        toy.view.hear({"type": "point", "panel": "place", "x": 1.0, "y": 2.0, "phase": phase})
    toy.view.hear({"type": "point", "panel": "place", "x": 3.0, "y": 4.0})  # without a phase it is pressing
    assert seen == [("place", 1.0, 2.0), ("place", 1.0, 2.0), ("place", 3.0, 4.0)]


# ---------------------------------------------------------------------- code, and pages without a kernel
def test_show_the_code_gives_what_is_on_the_screen(toy):
    assert toy.view.code == ""
    toy.code_button.value = True
    back = lambda: toy.scrubber.set_trait("value", 3)  # noqa: E731
    for change in (lambda: None, lambda: toy.set(level=4), lambda: toy.run_now(12), back):
        change()
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(toy.view.code)
        assert printed.getvalue().strip() == toy.scene.says
    toy.code_button.value = False
    assert toy.view.code == ""


def test_a_page_without_a_kernel_gets_the_picture_the_questions_and_on_demand_the_strip(toy, monkeypatch):
    bundle = toy._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in data and data["text/plain"] == "Toy: Toy"
    assert "data:image/png;base64," in data["text/html"] and "It is steeper." in data["text/html"]
    assert "gplvm-packed" not in data["text/html"]
    monkeypatch.setenv(base.MAKE_STRIP, "1")
    assert "gplvm-packed" in toy.page_html()
    assert toy.settings == OPENING and toy.question_box.value == "" and toy.state is None


@pytest.mark.parametrize("in_a_loop", [False, True])  # a kernel has an event loop, and a strip does not wait for it
def test_a_strip_has_the_opening_and_each_question_before_and_after(toy, in_a_loop):
    async def strip():
        return toy.strip()

    toy.set(n=6)
    scenes, questions = asyncio.run(strip()) if in_a_loop else toy.strip()
    tops = [scene.mark("line", "line").y[-1] for scene in scenes]
    assert tops == [5, 4, 12, 53, 57] and toy.settings["n"] == 6
    assert [(q["before"], q["after"]) for q in questions] == [(1, 2), (3, 4)]


def test_a_strip_may_open_with_the_end_of_the_run(toy, monkeypatch):
    monkeypatch.setattr(Toy, "opens_after_run", True)
    scenes, questions = toy.strip()
    assert scenes[0].says == "level 1, state 49" and len(scenes) == 5 and questions[0]["before"] == 1
    assert toy.state is None and toy.kept == [] and toy.scene.says == "level 1, state None"
    monkeypatch.setattr(Toy, "why_no_run", lambda self, settings: "nothing to run")
    assert toy.strip()[0][0].says == "level 1, state None"


# ---------------------------------------------------------------------- how it computes
def test_one_blas_thread_while_an_explorer_computes_and_as_many_as_before_afterwards(toy, monkeypatch):
    from threadpoolctl import threadpool_info

    seen = []

    compute = panel_toy.again

    def again(before, **settings):
        seen.append({pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"})
        return compute(before, **settings)

    before = [pool["num_threads"] for pool in threadpool_info()]
    monkeypatch.setattr(Toy.panels, "again", again)
    toy.set(n=3)
    assert seen == [{1}] and [pool["num_threads"] for pool in threadpool_info()] == before


def test_fits_that_are_short_on_purpose_warn_nobody_and_other_warnings_are_heard(toy, monkeypatch):
    def loud(kind):
        def says(level):
            warnings.warn("not yet there", kind, stacklevel=2)
            return ""

        return says

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monkeypatch.setattr(panel_toy, "says", loud(ConvergenceWarning))
        toy.set(level=2)
    monkeypatch.setattr(panel_toy, "says", loud(RuntimeWarning))
    with pytest.warns(RuntimeWarning, match="not yet there"):
        toy.set(level=3)


def test_show_source_keeps_labels_and_leaves_out_the_docstring():
    from gplvm_edu.ppca import log_likelihood

    text = source_without_docstring(log_likelihood)
    assert "# (1.7)" in text and "# (1.6)" in text and '"""' not in text
    assert "def log_likelihood" in show_source(log_likelihood).data
