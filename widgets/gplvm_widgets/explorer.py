"""The common base of all explorers: controls around one picture.

A topic writes three things: a `panel` that draws one Figure for one setting of the controls (a plain function,
tested as such), the controls, and the `code` that reproduces a setting without the widget. The base connects them:
strip kernel/start/size, redraw, clicks and drags, Run/Pause/Stop with progress, a slider back through the iterates,
question buttons, Show the code, errors, and the picture that is shown in a page without a kernel.
"""

import asyncio
import base64
import html
import io
import time
import traceback
import warnings
from contextlib import contextmanager
from importlib.resources import files
from typing import NamedTuple

import anywidget
import ipywidgets as W
import numpy as np
import traitlets
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image
from sklearn.exceptions import ConvergenceWarning

from gplvm_edu.threads import one_thread

FRAME_SECONDS = 0.08  # while Run is going, at most one picture in this time
PAUSE_SECONDS = 0.05  # a paused run checks this often whether it may go on
STRIP = {"kernel": "which covariance?", "start": "which starting point?", "size": "how many dimensions or points?"}


class Picture(anywidget.AnyWidget):
    """A PNG that reports where the reader points: `pointer` is (x, y, count) in fractions of the figure.

    With the keyboard: `arrow` is (right, up, count), one step for each press of an arrow key, five with Shift.
    """

    _esm = files(__package__).joinpath("picture.js").read_text(encoding="utf-8")
    png = traitlets.Bytes(b"").tag(sync=True)
    alt = traitlets.Unicode("").tag(sync=True)
    width = traitlets.Int(900).tag(sync=True)
    clickable = traitlets.Bool(False).tag(sync=True)
    pointer = traitlets.List([0.5, 0.5, 0]).tag(sync=True)
    arrow = traitlets.List([0, 0, 0]).tag(sync=True)
    answered = traitlets.Int(0).tag(sync=True)


class Question(NamedTuple):
    """The controls are set to `before`, the reader predicts the answer, then `after` and `answer` are shown."""

    text: str
    before: dict
    after: dict
    answer: str


class Drawing:
    """A figure drawn once by Agg; the artists listed in `figure.moving` (all animated) can be drawn again and again.

    The rest is kept as a background, so that a cursor that moves costs a few milliseconds and not a redraw.
    """

    def __init__(self, figure):
        self.moving = getattr(figure, "moving", ())
        self.canvas = FigureCanvasAgg(figure)
        self.canvas.draw()
        self.background = self.canvas.copy_from_bbox(figure.bbox) if self.moving else None

    def png(self):
        """The picture with its moving artists where they are now, as PNG bytes, compressed lightly."""
        if self.moving:
            self.canvas.restore_region(self.background)
        for artist in self.moving:
            artist.axes.draw_artist(artist)
        buffer = io.BytesIO()
        Image.fromarray(np.asarray(self.canvas.buffer_rgba())).save(buffer, "PNG", compress_level=1)
        return buffer.getvalue()


def render_png(figure):
    """The figure as PNG bytes, drawn once by Agg and compressed lightly."""
    return Drawing(figure).png()


@contextmanager
def computing():
    """Context in which an explorer computes: one BLAS thread (the browser needs a core), no warnings of short fits."""
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


class Explorer(W.VBox):
    """Controls, one picture, and the code behind it.

    A subclass sets `title`, `questions` and (where one of the three strip questions has no control) `strip_notes`,
    and writes

    - `make_controls()`: {group: {name: widget}}, groups "data", "kernel", "start", "size", "more";
    - `panel(settings, state)`: the Figure for these settings (`state` is None, or what `iterates` yielded last);
    - `code(settings)`: source text that computes the same without the widget.

    It may write `iterates(settings)`, a generator of (share done, state) for Run, and `click(axes, x, y)`, which
    returns the settings that a click or a drag at data coordinates (x, y) of an axes asks for; `nudge(right, up)`
    does the same for the arrow keys.

    `keeps_iterates = True` keeps every state of a run and adds a slider that goes back through them. Controls named
    in `light` only move something: the panel puts the artists concerned into `figure.moving` (each animated), and
    `retouch(figure, settings)` sets them anew. Nothing else is drawn again, and a run goes on.

    Where controls depend on one another it may extend `on_change` and `controls_changed`, and set some of them
    ``with self.quietly():``, so that nothing is redrawn; where it has parts of its own, `make_fixed_parts`, `rows` and
    `strip_box`. `show_error` shows an error where the reader looks.
    """

    title = "Explorer"
    questions = ()
    strip_notes = {}
    light = ()
    keeps_iterates = False
    raise_errors = False  # tests set it: an error in a callback is then raised as well as shown

    def __init__(self, **settings):
        self._groups = self.make_controls()
        self.controls = {name: w for group in self._groups.values() for name, w in group.items()}
        self._state, self._task, self._quiet, self._figure = None, None, False, None
        self._paused, self._kept, self._asked = False, [], None
        self.make_fixed_parts()
        super().__init__(self.rows())
        self.add_class("gplvm-explorer")
        for name, control in self.controls.items():
            control.add_class(f"gplvm-control-{name}")
            control.observe(self._hear, names="value")
        self.picture.observe(self._on_pointer, names="pointer")
        self.picture.observe(self._on_arrow, names="arrow")
        self.set(**settings)

    # --- what a subclass may leave as it is ------------------------------------------------------------------
    def iterates(self, settings):
        """No optimisation to watch, unless a subclass says otherwise."""
        return None

    def click(self, axes, x, y):
        """Nothing to point at, unless a subclass says otherwise."""
        return {}

    def nudge(self, right, up):
        """No use of the arrow keys, unless a subclass says otherwise."""
        return {}

    def retouch(self, figure, settings):
        """No artist to move without a new picture, unless a subclass says otherwise."""

    # --- what is shown ---------------------------------------------------------------------------------------
    @property
    def figure(self):
        """The Figure that was drawn last."""
        return self._figure

    @property
    def state(self):
        """The state of a run that is shown; None where there is none."""
        return self._state

    @property
    def kept(self):
        """The states that the slider goes back through."""
        return self._kept

    @property
    def task(self):
        """The asyncio task of a run that is going on or paused; None otherwise."""
        return self._task

    @property
    def asked(self):
        """The `Question` that was asked last; None before the first."""
        return self._asked

    # --- settings --------------------------------------------------------------------------------------------
    @property
    def settings(self):
        """The value of every control, by name."""
        return {name: control.value for name, control in self.controls.items()}

    def set(self, **settings):
        """Set several controls and redraw once; unknown names get a clear error."""
        unknown = sorted(set(settings) - set(self.controls))
        if unknown:
            raise ValueError(
                f"{type(self).__name__} has no control named {', '.join(unknown)}; "
                f"its controls are {', '.join(self.controls)}."
            )
        with self.quietly():
            for name, value in settings.items():
                self.controls[name].value = value
        self.controls_changed(set(settings))

    @contextmanager
    def quietly(self):
        """Context in which controls change without a redraw: their callbacks are off."""
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before

    def _hear(self, change):
        if not self._quiet:
            self.on_change(change)

    def on_change(self, change):
        """The reader has moved a control."""
        self.controls_changed({name for name, control in self.controls.items() if control is change["owner"]})

    def controls_changed(self, names=frozenset()):
        """Controls of these names have new values: draw again, or only move artists where all of them are `light`."""
        if names and names <= set(self.light) and self._figure is not None and not self.error_box.value:
            self._move()
            return
        self.stop()  # a result of the old setting is out of date
        self._state = None
        self._forget_iterates()
        self.redraw()

    # --- drawing ---------------------------------------------------------------------------------------------
    def redraw(self):
        """Draw the panel for the current settings; an error is shown in the widget, never swallowed."""
        try:
            with computing():
                figure = self.panel(self.settings, self._state)
            self._figure, self._drawing = figure, Drawing(figure)
            self._show_picture()
            self.error_box.value = ""
        except Exception as error:
            self.show_error(error)

    def _move(self):
        try:
            with computing():
                self.retouch(self._figure, self.settings)
            self._show_picture()
        except Exception as error:
            self.show_error(error)

    def _show_picture(self):
        self.picture.alt = f"{self.title}: " + ", ".join(f"{k} = {v}" for k, v in self.settings.items())
        self.picture.png = self._drawing.png()
        if self.code_button.value:
            self._show_code()

    def show_error(self, error):
        """Show an error in the widget, its trace folded."""
        trace = html.escape("".join(traceback.format_exception(error)))
        self.error_box.value = (
            f"<b>{html.escape(type(error).__name__)}:</b> {html.escape(str(error))}"
            f"<details><summary>where</summary><pre>{trace}</pre></details>"
        )
        if self.raise_errors:
            raise error

    def _on_pointer(self, change):
        fraction, count = np.array(change["new"][:2]), change["new"][2]
        try:
            place = fraction * self._figure.bbox.size
            for axes in self._figure.axes:
                if axes.bbox.contains(*place):
                    wanted = self.click(axes, *axes.transData.inverted().transform(place))
                    if wanted:
                        self.set(**wanted)
        except Exception as error:
            self.show_error(error)
        finally:
            self.picture.answered = count

    def _on_arrow(self, change):
        try:
            wanted = self.nudge(*change["new"][:2])
            if wanted:
                self.set(**wanted)
        except Exception as error:
            self.show_error(error)

    # --- Run, Pause and Stop ---------------------------------------------------------------------------------
    @property
    def running(self):
        """True while an optimisation makes steps: not before, not after, not while it is paused."""
        return self._task is not None and not self._paused

    def _steps(self):
        """The iterates of the current settings, one BLAS thread for each step, kept where the explorer keeps them."""
        self._forget_iterates()
        iterates = self.iterates(self.settings)
        while True:
            with computing():
                step = next(iterates, None)
            if step is None:
                return
            self.progress.value, self._state = step
            if self.keeps_iterates:
                self._kept.append(self._state)
            yield

    def run_now(self, max_steps=None):
        """Run to the end (or for some steps) before returning: what Run does, without an event loop."""
        for step, _ in enumerate(self._steps()):
            if max_steps is not None and step + 1 >= max_steps:
                break
        self.show_newest()
        self.redraw()

    def run(self, button=None):
        """Start the optimisation in the background; controls can still be used, and moving one stops it."""
        self.stop()
        self._task = asyncio.get_running_loop().create_task(self._run())
        self._set_buttons()

    def pause(self, button=None):
        """Pause a running optimisation, or continue a paused one."""
        if self._task is None:
            return
        self._paused = not self._paused
        if self._paused:
            self.show_newest()
            self.redraw()
        elif self._kept:
            self._state = self._kept[-1]
        self._set_buttons()

    def stop(self, button=None):
        """Stop a running optimisation between two of its steps; the newest picture stays."""
        had_task = self._task is not None
        if had_task:
            self._task.cancel()
        self._end_run(last_picture=had_task and button is not None)

    async def _run(self):
        drawn = 0.0
        try:
            for _ in self._steps():
                if time.monotonic() - drawn > FRAME_SECONDS:
                    self.show_newest()
                    self.redraw()
                    drawn = time.monotonic()
                await asyncio.sleep(0)
                while self._paused:
                    await asyncio.sleep(PAUSE_SECONDS)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._end_run()
            self.show_error(error)
        else:
            self._end_run(last_picture=True)

    def _end_run(self, last_picture=False):
        self._task, self._paused = None, False
        if last_picture:
            self.show_newest()
            self.redraw()
        self._set_buttons()  # last: when Stop is disabled, the last picture has been sent to the page

    def _set_buttons(self):
        self.run_button.disabled = self._task is not None
        self.stop_button.disabled = self.pause_button.disabled = self._task is None
        self.pause_button.description, self.pause_button.icon = (
            ("Go on", "step-forward") if self._paused else ("Pause", "pause")
        )

    # --- back through the iterates ---------------------------------------------------------------------------
    def _forget_iterates(self):
        self._kept = []
        self.show_newest()

    def show_newest(self):
        """Put the slider at the newest iterate, without drawing anything."""
        newest = max(len(self._kept) - 1, 0)
        if self.keeps_iterates and (self.scrubber.max, self.scrubber.value) != (newest, newest):
            self._scrubbing = False
            self.scrubber.max, self.scrubber.value = newest, newest
            self._scrubbing = True

    def _on_scrub(self, change):
        if not self._scrubbing or not self._kept:
            return
        self._paused = self._task is not None
        self._set_buttons()
        self._state = self._kept[min(change["new"], len(self._kept) - 1)]
        self.redraw()

    # --- code and questions ----------------------------------------------------------------------------------
    def _show_code(self, change=None):
        if self.code_button.value:
            text = html.escape(self.code(self.settings))
            self.code_box.value = f"<pre class='gplvm-code' style='line-height:1.35'>{text}</pre>"
        self.code_box.layout.display = "" if self.code_button.value else "none"

    def ask(self, number):
        """Set the controls for question `number` (from 1) and show it, the answer still hidden."""
        self._asked = self.questions[number - 1]
        self.set(**self.asked.before)
        self.question_box.value = f"<b>{number}.</b> {self.asked.text} <i>Predict first, then reveal.</i>"
        self.reveal_button.layout.display = ""

    def reveal(self, button=None):
        """Move the controls to the answer of the question asked last, and say why."""
        self.set(**self.asked.after)
        self.question_box.value += f"<br>{self.asked.answer}"
        self.reveal_button.layout.display = "none"

    # --- parts and layout ------------------------------------------------------------------------------------
    def make_fixed_parts(self):
        """Make what every explorer has around its controls."""
        can_click = type(self).click is not Explorer.click
        self.picture = Picture(clickable=can_click)
        self.error_box = W.HTML().add_class("gplvm-error")
        self.code_button = W.ToggleButton(description="Show the code", icon="code")
        self.code_button.observe(self._show_code, names="value")
        self.code_box = W.HTML(layout=W.Layout(display="none"))
        self.run_button = W.Button(description="Run", icon="play", layout=W.Layout(width="80px"))
        self.stop_button = W.Button(description="Stop", icon="stop", disabled=True, layout=W.Layout(width="80px"))
        self.run_button.on_click(self.run)
        self.stop_button.on_click(self.stop)
        self.pause_button = W.Button(description="Pause", icon="pause", disabled=True, layout=W.Layout(width="85px"))
        self.pause_button.on_click(self.pause)
        self.scrubber = W.IntSlider(
            0, 0, 0, description="iterate", layout=W.Layout(width="260px"), style={"description_width": "initial"}
        ).add_class("gplvm-control-iterate")
        self._scrubbing = True
        self.scrubber.observe(self._on_scrub, names="value")
        self.progress = W.FloatProgress(min=0.0, max=1.0, layout=W.Layout(width="150px"))
        self.question_box = W.HTML().add_class("gplvm-question")
        self.reveal_button = W.Button(description="Reveal", icon="eye", layout=W.Layout(display="none", width="100px"))
        self.reveal_button.on_click(self.reveal)
        self.question_buttons = []
        for number in range(1, len(self.questions) + 1):
            button = W.Button(description=f"Question {number}", layout=W.Layout(width="105px"))
            button.on_click(lambda _, number=number: self.ask(number))
            self.question_buttons.append(button)

    def rows(self):
        """Everything that is shown, from top to bottom."""
        rows = [W.HTML(f"<b>{self.title}</b>")]
        if self._groups.get("data"):
            rows.append(W.HBox(list(self._groups["data"].values()), layout=W.Layout(flex_flow="row wrap")))
        rows.append(W.HBox([self.strip_box(group) for group in STRIP], layout=W.Layout(flex_flow="row wrap")))
        if self._groups.get("more"):
            rows.append(W.HBox(list(self._groups["more"].values()), layout=W.Layout(flex_flow="row wrap")))
        rows += [self.error_box, self.picture]
        can_run = type(self).iterates is not Explorer.iterates
        running = [self.run_button, self.pause_button, self.stop_button, self.progress] if can_run else []
        running += [self.scrubber] if self.keeps_iterates else []
        rows.append(
            W.HBox(
                [*running, self.code_button, *self.question_buttons, self.reveal_button],
                layout=W.Layout(flex_flow="row wrap"),
            )
        )
        return [*rows, self.question_box, self.code_box]

    def strip_box(self, group):
        """One of the three questions of the strip, with its controls or a note why it has none."""
        head = W.HTML(f"<span style='color:#666'><b>{group}</b>: {STRIP[group]}</span>")
        note = self.strip_notes.get(group, "has no meaning here")
        inside = list(self._groups.get(group, {}).values()) or [W.HTML(note)]
        return W.VBox([head, *inside], layout=W.Layout(border="1px solid #ddd", padding="2px 6px", margin="2px"))

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        data, *metadata = bundle if isinstance(bundle, tuple) else (bundle,)
        if data is not None:
            data["text/plain"] = f"{type(self).__name__}: {self.title}"
            data["image/png"] = base64.b64encode(self.picture.png).decode("ascii")
        return (data, *metadata) if metadata else data
