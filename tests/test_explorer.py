"""The common base of the explorers, through its traits and without a browser."""

import asyncio
import warnings

import ipywidgets as W
import numpy as np
import pytest
from gplvm_widgets.explorer import Explorer, Question, render_png
from gplvm_widgets.source import show_source, source_without_docstring
from sklearn.exceptions import ConvergenceWarning

from gplvm_edu.plotting import new_figure

pytestmark = pytest.mark.widget


class Toy(Explorer):
    """One slider, one line, a run of five steps, a panel that breaks at level 9."""

    title = "Toy"
    questions = (Question("What happens at 3?", {"level": 1}, {"level": 3}, "The line is steeper."),)
    strip_notes = {"start": "A line has no start."}
    drawn = 0

    def make_controls(self):
        return {"kernel": {"level": W.IntSlider(1, 0, 9)}, "size": {"n": W.IntSlider(5, 2, 9)}}

    def panel(self, settings, state):
        if settings["level"] == 9:
            raise ZeroDivisionError("level 9 is <out> of reach")
        self.drawn += 1
        figure, axes = new_figure(size=(3, 2))
        axes.plot(np.arange(settings["n"]), settings["level"] * np.arange(settings["n"]) + (state or 0))
        axes.set_gid("line")
        return figure

    def code(self, settings):
        return f"level = {settings['level']}\nn = {settings['n']}\n"

    def iterates(self, settings):
        for step in range(5):
            yield (step + 1) / 5, float(step)

    def click(self, axes, x, y):
        return {"level": round(y)} if axes.get_gid() == "line" else {}


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setattr(Explorer, "raise_errors", True)
    return Toy()


def test_a_control_that_moves_changes_the_picture_and_back_again(toy):
    first = toy.picture.png
    toy.controls["level"].value = 4
    second = toy.picture.png
    toy.controls["level"].value = 1
    assert first != second and toy.picture.png == first
    assert first.startswith(b"\x89PNG")


def test_several_controls_are_set_with_one_redraw(toy):
    before = toy.drawn
    toy.set(level=3, n=7)
    assert toy.drawn == before + 1 and toy.settings == {"level": 3, "n": 7}


def test_an_unknown_control_is_named(toy):
    with pytest.raises(ValueError, match=r"no control named colour.*level, n"):
        toy.set(colour=3)


def test_an_error_is_shown_to_the_reader_and_raised_in_tests(toy, monkeypatch):
    with pytest.raises(ZeroDivisionError):
        toy.set(level=9)
    monkeypatch.setattr(Explorer, "raise_errors", False)
    picture = toy.picture.png
    toy.set(n=4)
    assert "level 9 is &lt;out&gt; of reach" in toy.error_box.value and "panel" in toy.error_box.value
    assert toy.picture.png == picture
    toy.set(level=2)
    assert toy.error_box.value == "" and toy.picture.png != picture


def test_run_goes_to_the_end_reports_progress_and_draws_the_last_state(toy):
    async def go():
        toy.run()
        assert toy.run_button.disabled and not toy.stop_button.disabled
        await toy.task

    still = toy.picture.png
    asyncio.run(go())
    assert toy.progress.value == 1.0 and toy.state == 4.0 and toy.picture.png != still
    assert toy.stop_button.disabled and not toy.run_button.disabled


def test_stop_ends_a_run_between_two_steps(toy):
    async def go():
        toy.run()
        task = toy.task
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        toy.stop()
        await asyncio.wait([task])

    asyncio.run(go())
    assert 0 < toy.progress.value < 1 and toy.task is None


def test_moving_a_control_drops_a_stale_run(toy):
    async def go():
        toy.run()
        task = toy.task
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        toy.set(level=2)
        await asyncio.wait([task])

    asyncio.run(go())
    assert toy.state is None and toy.progress.value < 1


def test_an_error_inside_a_run_is_shown(toy, monkeypatch):
    monkeypatch.setattr(Explorer, "raise_errors", False)

    def broken(settings):
        yield 0.5, 1.0
        raise FloatingPointError("the optimiser fell off")

    toy.iterates = broken

    async def go():
        toy.run()
        await toy.task

    asyncio.run(go())
    assert "the optimiser fell off" in toy.error_box.value and not toy.run_button.disabled


def test_a_click_reaches_the_axes_in_data_coordinates(toy):
    figure = toy.figure
    place = figure.axes[0].transData.transform([2.0, 3.0]) / figure.bbox.size
    toy.picture.pointer = [*place, 1]
    assert toy.settings["level"] == 3 and toy.picture.answered == 1
    toy.picture.pointer = [0.001, 0.001, 2]  # outside the axes: acknowledged, nothing changes
    assert toy.settings["level"] == 3 and toy.picture.answered == 2


def test_a_question_sets_the_scene_and_reveals_its_answer_on_demand(toy):
    toy.question_buttons[0].click()
    assert toy.settings["level"] == 1 and "What happens at 3?" in toy.question_box.value
    assert "steeper" not in toy.question_box.value
    toy.reveal_button.click()
    assert toy.settings["level"] == 3 and "steeper" in toy.question_box.value


def test_show_the_code_follows_the_controls(toy):
    assert toy.code_box.layout.display == "none"
    toy.code_button.value = True
    assert "level = 1" in toy.code_box.value and toy.code_box.layout.display != "none"
    toy.set(level=4)
    assert "level = 4" in toy.code_box.value
    toy.code_button.value = False
    assert toy.code_box.layout.display == "none"


def test_a_page_without_a_kernel_gets_the_picture(toy):
    bundle = toy._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"] == "Toy: Toy"
    import base64

    assert base64.b64decode(data["image/png"]) == toy.picture.png


def test_the_strip_says_why_a_control_is_missing(toy):
    def texts(widget):
        own = [widget.value] if isinstance(widget, W.HTML) else []
        return own + [t for child in getattr(widget, "children", ()) for t in texts(child)]

    everything = " ".join(texts(toy))
    assert "A line has no start." in everything
    assert all(f"<b>{group}</b>" in everything for group in ("kernel", "start", "size"))


def test_render_png_has_the_size_of_the_figure():
    from io import BytesIO

    from PIL import Image

    figure, _ = new_figure(size=(3, 2))
    assert Image.open(BytesIO(render_png(figure))).size == (300, 200)


def test_show_source_keeps_labels_and_leaves_out_the_docstring():
    from gplvm_edu.ppca import log_likelihood

    text = source_without_docstring(log_likelihood)
    assert "# (1.5)" in text and "# (1.4)" in text and '"""' not in text
    assert "def log_likelihood" in show_source(log_likelihood).data


# --- pause, the slider back through the iterates, and what only moves ------------------------------------------
class Walker(Explorer):
    """A dot that a drag moves over a curve; a run of fifty steps, every one of them kept."""

    title = "Walker"
    keeps_iterates = True
    light = ("x",)
    drawn = 0

    def make_controls(self):
        return {"size": {"n": W.IntSlider(5, 2, 9)}, "more": {"x": W.FloatSlider(0.0, min=-9, max=9, step=0.5)}}

    def panel(self, settings, state):
        self.drawn += 1
        figure, axes = new_figure(size=(3, 2))
        axes.plot(np.arange(settings["n"]), np.arange(settings["n"]) * (1 + (state or 0)))
        axes.set(xlim=(-10, 10), ylim=(-50, 50), gid="curve")
        figure.moving = axes.plot([settings["x"]], [0], "o", animated=True)
        return figure

    def retouch(self, figure, settings):
        figure.moving[0].set_xdata([settings["x"]])

    def click(self, axes, x, y):
        return {"x": 0.5 * round(2 * x)}

    def nudge(self, right, up):
        return {"x": self.settings["x"] + 0.5 * right}

    def code(self, settings):
        return f"x = {settings['x']}\n"

    def iterates(self, settings):
        for step in range(50):
            yield (step + 1) / 50, step


@pytest.fixture
def walker(monkeypatch):
    monkeypatch.setattr(Explorer, "raise_errors", True)
    return Walker()


async def steps(n):
    for _ in range(n):
        await asyncio.sleep(0)


def test_a_light_control_moves_its_artist_without_drawing_the_panel_again(walker):
    drawn, start = walker.drawn, walker.picture.png
    walker.set(x=4.0)
    moved = walker.picture.png
    assert walker.drawn == drawn and moved != start
    assert moved == render_png(walker.panel({"n": 5, "x": 4.0}, None))  # as if drawn from the beginning
    walker.controls["x"].value = 0.0
    assert walker.picture.png == start


def test_a_drag_and_the_arrow_keys_are_light_too(walker):
    drawn, axes = walker.drawn, walker.figure.axes[0]
    place = axes.transData.transform([3.0, 10.0]) / walker.figure.bbox.size
    walker.picture.pointer = [*place, 1]
    assert walker.settings["x"] == 3.0 and walker.picture.answered == 1
    walker.picture.arrow = [-1, 0, 1]
    assert walker.settings["x"] == 2.5 and walker.drawn == drawn


def test_light_and_heavy_controls_set_together_draw_the_panel_once(walker):
    drawn = walker.drawn
    walker.set(x=1.0, n=7)
    assert walker.drawn == drawn + 1


def test_the_code_shown_follows_a_light_control(walker):
    walker.code_button.value = True
    walker.set(x=4.0)
    assert "x = 4.0" in walker.code_box.value


def test_a_run_goes_on_while_something_is_dragged(walker):
    async def go():
        walker.run()
        await steps(3)
        walker.set(x=4.0)
        assert walker.running
        await walker.task

    asyncio.run(go())
    assert walker.state == 49 and walker.settings["x"] == 4.0


def test_pause_holds_a_run_and_go_on_finishes_it(walker):
    async def go():
        walker.run()
        await steps(5)
        walker.pause_button.click()
        assert not walker.running and walker.pause_button.description == "Go on"
        held = walker.state
        await asyncio.sleep(0.15)
        assert walker.state == held and 0 < held < 49
        walker.pause_button.click()
        assert walker.running and walker.pause_button.description == "Pause"
        await walker.task

    asyncio.run(go())
    assert walker.state == 49 and walker.pause_button.disabled and walker.progress.value == 1.0


def test_a_paused_run_can_be_stopped_and_run_anew(walker):
    async def go():
        walker.run()
        await steps(5)
        task = walker.task
        walker.pause()
        walker.stop_button.click()
        await asyncio.wait([task])
        assert walker.task is None and walker.state < 49
        walker.run()
        await walker.task

    asyncio.run(go())
    assert walker.state == 49 and len(walker.kept) == 50


def test_the_slider_goes_back_through_the_iterates_of_a_run(walker):
    walker.run_now()
    end = walker.picture.png
    assert (walker.scrubber.max, walker.scrubber.value) == (49, 49)
    walker.scrubber.value = 12
    assert walker.state == 12 and walker.picture.png == render_png(walker.panel(walker.settings, 12))
    walker.scrubber.value = 49
    assert walker.picture.png == end
    walker.set(n=6)  # another setting: those iterates mean nothing any more
    assert walker.state is None and walker.scrubber.max == 0


def test_going_back_holds_a_run_and_go_on_takes_it_up_where_it_was(walker):
    async def go():
        walker.run()
        await steps(9)
        walker.show_newest()
        newest = walker.state
        walker.scrubber.value = 2
        assert walker.state == 2 and not walker.running and walker.pause_button.description == "Go on"
        walker.pause()
        assert walker.state == newest
        await walker.task

    asyncio.run(go())
    assert walker.kept == list(range(50)) and walker.scrubber.value == 49


def test_an_explorer_that_keeps_nothing_has_no_slider(toy):
    toy.run_now()
    assert toy.kept == [] and toy.scrubber.max == 0

    def inside(widget):
        return [widget, *(w for child in getattr(widget, "children", ()) for w in inside(child))]

    assert toy.scrubber not in inside(toy) and toy.pause_button in inside(toy)


def test_one_blas_thread_while_an_explorer_computes_and_as_many_as_before_afterwards(walker, monkeypatch):
    from threadpoolctl import threadpool_info

    seen = []

    def panel(settings, state):
        seen.append({pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"})
        return Walker.panel(walker, settings, state)

    before = [pool["num_threads"] for pool in threadpool_info()]
    monkeypatch.setattr(walker, "panel", panel)
    walker.set(n=3)
    assert seen == [{1}] and [pool["num_threads"] for pool in threadpool_info()] == before


def test_fits_that_are_short_on_purpose_warn_nobody_and_other_warnings_are_heard(toy, monkeypatch):
    def warn(kind):
        panel = type(toy).panel

        def loud(self, settings, state):
            warnings.warn("not yet there", kind, stacklevel=2)
            return panel(self, settings, state)

        return loud

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monkeypatch.setattr(Toy, "panel", warn(ConvergenceWarning))
        toy.set(level=2)
    monkeypatch.setattr(Toy, "panel", warn(RuntimeWarning))
    with pytest.warns(RuntimeWarning, match="not yet there"):
        toy.set(level=3)
