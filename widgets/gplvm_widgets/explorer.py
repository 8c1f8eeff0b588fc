"""The common base of all explorers: a question, a picture, its controls, and the code behind it.

A topic writes three things: its panels (plain functions that return a `Panel`, put together by `SceneOf`), the
controls, and the `code` that gives the same without the widget. The base connects them: only panels whose settings
changed are computed again; clicks, drags and arrow keys; Run, Pause, Stop, an honest bar and the way back through the
states; questions to commit to; Show the code; errors as sentences; and the strip for a page without a kernel.
"""

import asyncio
import os
import signal
import threading
import time
import warnings
from contextlib import contextmanager
from typing import NamedTuple

import ipywidgets as W
from sklearn.exceptions import ConvergenceWarning

from gplvm_edu.threads import one_thread

from .scene import SceneOf, SceneView
from .scene.page import strip_html
from .turns import TURN, begin, cancel, in_turn, loop_for, loop_here
from .words import as_html, readable

FRAME_SECONDS = 0.045  # while Run is going, a state stays this long at least
SHOWN_STATES = 40  # of a run whose steps are quick; the first twenty are shown whatever happens
PAUSE_SECONDS = 0.05  # a paused run looks this often whether it may go on
PATIENCE_SECONDS = 10.0  # a run that no page has looked at for so long ends
GLIDE = 350  # milliseconds from the picture before to the picture after
STRIP = {"kernel": "which covariance?", "start": "which starting point?", "size": "how many dimensions or points?"}
MAKE_STRIP = "GPLVM_EDU_MAKE_STRIP"  # set while outputs are stored for the book


class Question(NamedTuple):
    """The controls are set to `before`, the reader commits to one of `choices`, then `after` and `answer` are shown.

    `run`: "after" starts a run when the answer is revealed, "both" when the question is asked too.
    """

    text: str
    before: dict
    after: dict
    answer: str
    choices: tuple
    right: int  # which of the choices is
    run: str = ""


@contextmanager
def computing():
    """Context in which an explorer computes: in turn, one BLAS thread (the browser needs a core), no fit warned of."""
    with TURN, one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


class Explorer(W.VBox):
    """Controls, one picture, and the code behind it.

    A subclass sets `title`, `panels` (a `SceneOf`), `questions` and (where one of the three strip questions has no
    control) `strip_notes`, and writes

    - `make_controls()`: {group: {name: widget}}, groups "data", "kernel", "start", "size", "more";
    - `code(settings, state)`: source text that computes the same without the widget; what it prints contains what the
      scene `says`.

    It may write

    - `iterates(settings)`: a generator of (share done, state) for Run;
    - `point(panel, x, y)`: the settings that a click or a drag at data coordinates of a panel asks for;
      `nudge(panel, right, up)` does the same for the arrow keys (a panel takes part if its `listens` says so);
      `gesture(panel, x, y, phase)` is for those to whom "down", "move" and "up" are not the same;
    - `unused(settings)`: {control: why it has no effect now}; these controls are disabled, and say why ('' puts a
      control out of sight, where it belongs to another view);
    - `why_no_run(settings)`: why there is nothing to run now, '' where there is; Run is disabled, and says why;
    - `ranges(settings)`: {control: {"max": 3}}, what the current data allow; a value outside is brought inside;
    - `arguments(settings)`: the settings as the panels want them, where the two differ;
    - `light`: names of controls that a run does not depend on: moving them neither stops it nor forgets its states;
    - `opens_after_run`: True where a page without a kernel opens with the end of the run, and not with its start.

    `extra(group)` are further widgets of a group that are no settings. `set` changes several controls at once.
    """

    title = "Explorer"
    panels: SceneOf
    questions = ()
    strip_notes = {}
    light = ()
    opens_after_run = False
    shown_states = SHOWN_STATES
    raise_errors = False  # tests set it: an error in a callback is then raised as well as shown
    _made = {}  # the explorers that each cell of the notebook has made, and the run of the cell that made them

    def __init__(self, **settings):
        self._groups = self.make_controls()
        self.controls = {name: w for group in self._groups.values() for name, w in group.items()}
        self._state, self._task, self._quiet, self._scene = None, None, False, None
        self._paused, self._kept, self._asked, self._before = False, [], None, None
        self._seen, self._gone, self._share, self._at_once, self.computing_seconds = None, None, 0.0, False, 0.0
        self.home, self._number = loop_here(), 0  # the loop of the cell, and which run is the current one
        self.make_fixed_parts()
        super().__init__(self.rows())
        self.add_class("gplvm-explorer")
        for name, control in self.controls.items():
            control.add_class(f"gplvm-control-{name}")
            control.observe(self._hear, names="value")
        self._replace_former()
        self.set(**settings)

    # --- what a subclass may leave as it is ------------------------------------------------------------------
    def iterates(self, settings):
        """No optimisation to watch, unless a subclass says otherwise."""
        return None

    def point(self, panel, x, y):
        """Nothing to point at, unless a subclass says otherwise."""
        return {}

    def gesture(self, panel, x, y, phase):
        """Pressing and dragging are the same and letting go is nothing, unless a subclass says otherwise."""
        return {} if phase == "up" else self.point(panel, x, y)

    def nudge(self, panel, right, up):
        """No use of the arrow keys, unless a subclass says otherwise."""
        return {}

    def unused(self, settings):
        """Every control has an effect, unless a subclass says otherwise."""
        return {}

    def why_no_run(self, settings):
        """There is always something to run, unless a subclass says otherwise."""
        return ""

    def ranges(self, settings):
        """Every value is possible, unless a subclass says otherwise."""
        return {}

    def arguments(self, settings):
        """The panels take the settings as they are, unless a subclass says otherwise."""
        return settings

    def extra(self, group):
        """No further widgets, unless a subclass says otherwise."""
        return []

    # --- what is shown ---------------------------------------------------------------------------------------
    @property
    def scene(self):
        """The `Scene` that is shown."""
        return self._scene

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

    @property
    def problem(self):
        """The sentence that stands in the place of the picture; '' when all is well."""
        return self.view.problem

    @property
    def can_run(self):
        """True where there is an optimisation to watch."""
        return type(self).iterates is not Explorer.iterates

    # --- settings --------------------------------------------------------------------------------------------
    @property
    def settings(self):
        """The value of every control, by name; numbers to four digits, so that code can print what is computed with."""
        return {name: four_digits(control.value) for name, control in self.controls.items()}

    @in_turn
    def set(self, **settings):
        """Set several controls and show the result once; unknown names get a clear error."""
        unknown = sorted(set(settings) - set(self.controls))
        if unknown:
            raise ValueError(
                f"{type(self).__name__} has no control named {', '.join(unknown)}; "
                f"its controls are {', '.join(self.controls)}."
            )
        with self.quietly():
            self._apply_ranges({**self.settings, **settings})
            for name, value in settings.items():
                self.controls[name].value = value
        self.controls_changed(set(settings))

    @contextmanager
    def quietly(self):
        """Context in which controls change and nothing is shown: their callbacks are off."""
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before

    @in_turn
    def _hear(self, change):
        moved = four_digits(change["old"]) != four_digits(change["new"])  # a page may answer with digits of its own
        if moved and not self._quiet:
            self.on_change({name for name, control in self.controls.items() if control is change["owner"]})

    def on_change(self, names):
        """The reader has moved controls of these names."""
        self.controls_changed(names)

    def controls_changed(self, names=frozenset()):
        """Controls of these names have new values: show them; a run that depends on them is out of date."""
        with self.quietly():
            self._apply_ranges(self.settings)
        self._apply_unused()
        if not (names and names <= set(self.light)):
            self.stop()
            self._state = None
            self._forget_states()
        if not self._quiet:
            self._offer_comparison(False)
            self.refresh()

    def _apply_ranges(self, settings):
        for name, limits in self.ranges(settings).items():
            control = self.controls[name]
            with control.hold_trait_notifications():
                for trait, value in limits.items():
                    if getattr(control, trait) != value:
                        setattr(control, trait, value)

    def _apply_unused(self):
        unused = self.unused(self.settings)
        for name, control in self.controls.items():
            control.disabled, control.tooltip = name in unused, unused.get(name)
            control.layout.display = "none" if unused.get(name) == "" else None
        reasons = {self.words_of(name): why for name, why in unused.items()} | {"Run": self.why_no_run(self.settings)}
        words = "; ".join(f"<b>{as_html(name)}</b>: {as_html(why)}" for name, why in reasons.items() if why)
        self.why_box.value = f"Not in use now. {words}." if words else ""
        self._set_buttons()

    def words_of(self, name):
        """What a reader calls a control."""
        return self.controls[name].description or name

    # --- the picture -----------------------------------------------------------------------------------------
    @in_turn
    def refresh(self, glide=0):
        """Compute the panels whose settings have changed and show them; an error is shown, never swallowed."""
        try:
            began = time.perf_counter()
            with computing():
                scene = self.panels.again(self._scene, **self.arguments(self.settings), state=self._state)
            self.computing_seconds = time.perf_counter() - began
            self._scene = scene
            self.view.show(scene, glide, running=self.running)
            self._show_code()
        except Exception as error:
            self.show_error(error)

    def show_error(self, error):
        """A sentence in the place of the picture: an error that we foresaw has its own, any other is named."""
        foreseen = isinstance(error, ValueError)
        self.view.complain(
            str(error)
            if foreseen
            else f"This setting can't be shown ({type(error).__name__}: {error}). Choose another."
        )
        if self.raise_errors:
            raise error

    def _on_point(self, panel, x, y, phase="down"):
        self.want(lambda: self.gesture(panel, x, y, phase))

    def _on_arrow(self, panel, right, up):
        self.want(lambda: self.nudge(panel, right, up))

    @in_turn
    def want(self, ask):
        """Set what `ask()` answers, where it is new; an error of it is shown."""
        try:
            wanted = {name: value for name, value in ask().items() if self.controls[name].value != value}
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
        """The states of the current settings, one BLAS thread for each step, all of them kept."""
        self._forget_states()
        states = self.iterates(self.settings)
        while states is not None:
            with computing():
                step = next(states, None)
            if step is None:
                return
            self._share, self._state = step
            self._kept.append(self._state)
            yield self._share

    @in_turn
    def run_now(self, max_steps=None):
        """Run to the end (or for some steps) before returning: what Run does, without an event loop."""
        for step, _ in enumerate(self._steps()):
            if max_steps is not None and step + 1 >= max_steps:
                break
        else:
            self._share = 1.0 if self._kept else 0.0
        self._show_newest()
        self.refresh()

    @in_turn
    def run(self, button=None):
        """Start the optimisation in the background; controls can still be used, and moving one stops it."""
        self.stop()
        if self.why_no_run(self.settings):
            return
        self._offer_comparison(False)
        self._task = begin(self._run(self._number), self.home)
        self._set_buttons()

    @in_turn
    def pause(self, button=None):
        """Pause a running optimisation, or continue a paused one."""
        if self._task is None:
            return
        self._paused = not self._paused
        if self._paused:
            self._show_newest()
            self.refresh()
        elif self._kept:
            self._state = self._kept[-1]
        self._set_buttons()

    @in_turn
    def stop(self, button=None):
        """Stop a running optimisation between two of its steps; the newest picture stays."""
        had_task = self._task is not None
        if had_task:
            cancel(self._task)
        self._end_run(last_picture=had_task and button is not None)

    async def _run(self, number):
        shown, last, at, steps = 0, 0.0, -1.0, self._steps()
        self._seen, self._gone = self._seen and time.monotonic(), None  # a page that was there is given its time
        try:
            await asyncio.sleep(0)
            with self._interruptible():
                while (share := self._next(steps, number)) is not None:
                    waited = time.monotonic() - last
                    if shown < 20 or share - at >= 1 / self.shown_states or waited > 2 * FRAME_SECONDS:
                        await asyncio.sleep(max(FRAME_SECONDS - waited, 0))
                        self._show_run(number)
                        shown, last, at = shown + 1, time.monotonic(), share
                    await asyncio.sleep(0)
                    while self._paused and not self._page_gone():
                        await asyncio.sleep(PAUSE_SECONDS)
                        self._seen = self._seen and time.monotonic()  # nothing is sent, so nothing is seen
                    if self._page_gone():
                        self._finish(number)
                        return
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._finish(number, error=error)
        else:
            self._finish(number, complete=True)

    @in_turn
    def _next(self, steps, number):
        """One step of run `number`: the share done; None after the last, or when another thread has ended the run."""
        return next(steps, None) if number == self._number else None

    @in_turn
    def _show_run(self, number):
        if number == self._number:
            self._show_newest()
            self.refresh(glide=int(1000 * FRAME_SECONDS))

    @in_turn
    def _finish(self, number, complete=False, error=None):
        if number != self._number:  # ended already, by Stop or by a control that moved
            return
        self._share = 1.0 if complete else self._share
        self._end_run(last_picture=complete)
        if error is not None:
            self.show_error(error)

    def _page_gone(self):
        """True when no page shows this explorer any more: the last one said so, or has been silent for long."""
        silent = self._seen is not None and time.monotonic() - self._seen > PATIENCE_SECONDS
        return silent or (self._gone is not None and time.monotonic() - self._gone > 1.0)

    def _on_seen(self):
        self._seen, self._gone = time.monotonic(), None  # another view is there

    def _on_gone(self):
        self._gone = time.monotonic()

    @contextmanager
    def _interruptible(self):
        """Context in which Interrupt of the kernel ends the run (between messages it would be ignored)."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop, former = asyncio.get_running_loop(), signal.getsignal(signal.SIGINT)
        signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(self._interrupted))
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, former)

    @in_turn
    def _interrupted(self):
        self.stop(button="interrupt")
        self.note.value = "Interrupted: the run ended here."

    def _end_run(self, last_picture=False):
        self._task, self._paused, self._number = None, False, self._number + 1
        if last_picture:
            self._show_newest()
            self.refresh()
            if self._asked is not None and self._asked.run == "both" and not self._revealed:
                self._before = self._scene
        self._set_buttons()  # last: when Stop is disabled, the last picture has been sent to the page

    def _set_buttons(self):
        why_not = self.why_no_run(self.settings)
        self.run_button.disabled, self.run_button.tooltip = self._task is not None or bool(why_not), why_not or None
        self.stop_button.disabled = self.pause_button.disabled = self._task is None
        self.pause_button.description, self.pause_button.icon = (
            ("Go on", "step-forward") if self._paused else ("Pause", "pause")
        )

    # --- back through the states -----------------------------------------------------------------------------
    def _forget_states(self):
        self._kept, self._share, self.note.value = [], 0.0, ""
        self._show_newest()

    def _show_newest(self):
        newest = max(len(self._kept) - 1, 0)
        if (self.scrubber.max, self.scrubber.value) != (newest, newest):
            self._scrubbing = False
            self.scrubber.max, self.scrubber.value = newest, newest
            self._scrubbing = True
        self.scrubber.disabled = newest == 0
        self.progress.value = self._share

    @in_turn
    def _on_scrub(self, change):
        if not self._scrubbing or not self._kept:
            return
        self._paused = self._task is not None
        self._set_buttons()
        self._state = self._kept[min(change["new"], len(self._kept) - 1)]
        self.refresh()

    # --- code ------------------------------------------------------------------------------------------------
    def shown_code(self):
        """The code that gives what is on the screen."""
        return self.code(self.settings, self._state)

    @in_turn
    def _show_code(self, change=None):
        self.view.code = self.shown_code() if self.code_button.value else ""

    # --- questions -------------------------------------------------------------------------------------------
    @in_turn
    def ask(self, number):
        """Set the controls for question `number` (from 1) and show it, the answer still hidden."""
        self._asked, self._revealed = self.questions[number - 1], False
        self.set(**self.asked.before)
        self._before = self._scene
        self.question_box.value = f"<b>{number}.</b> {as_html(self.asked.text)}"
        with self.quietly():
            self.choices.options, self.choices.value = list(self.asked.choices), None
        self.choices.disabled, self.reveal_button.disabled = False, True
        self.choices.layout.display = self.reveal_button.layout.display = ""
        self._offer_comparison(False)
        if self.asked.run == "both":
            self._start()

    def commit(self, choice):
        """Commit to one of the choices (its number, or its words): now the answer can be revealed."""
        self.choices.value = self.asked.choices[choice] if isinstance(choice, int) else choice

    @in_turn
    def _on_commit(self, change):
        self.reveal_button.disabled = change["new"] is None

    @in_turn
    def reveal(self, button=None):
        """Move the controls to the answer of the question asked last, from its own setting, and say why; once."""
        if self._asked is None or self._revealed or self.choices.value is None:
            return
        self._revealed = True
        chosen, question = self.choices.value, self.asked
        before = self._before
        self.set(**{**question.before, **question.after})
        self.view.show(before)
        self.view.show(self._scene, glide=GLIDE)
        right = chosen == question.choices[question.right]
        verdict = "Right." if right else f"Not “{as_html(chosen)}”."
        self.question_box.value += f"<br><b>{verdict}</b> {as_html(question.answer)}"
        self.choices.disabled, self.choices.layout.display, self.reveal_button.layout.display = True, "none", "none"
        if question.run:
            self._start()
        self._offer_comparison(True)

    def _start(self):
        """Run: in the background where there is an event loop, else (and for a strip) to the end."""
        if loop_for(self.home) is not None and not self._at_once:
            self.run()
            return
        self.run_now()
        if not self._revealed:
            self._before = self._scene

    def _offer_comparison(self, possible):
        self._comparing = False
        self.compare.value, self.compare.layout.display = "after", "" if possible else "none"
        self._comparing = True

    @in_turn
    def _on_compare(self, change):
        if self._comparing and self._before is not None:
            self.view.show(self._before if change["new"] == "before" else self._scene, glide=GLIDE)

    # --- parts and layout ------------------------------------------------------------------------------------
    def make_fixed_parts(self):
        """Make what every explorer has around its controls."""
        self.view = SceneView(self._on_point, self._on_arrow, self._on_seen, self._on_gone)
        small = {"width": "auto"}
        self.code_button = W.ToggleButton(description="Show the code", icon="code", layout=small)
        self.code_button.observe(self._show_code, names="value")
        self.run_button = W.Button(description="Run", icon="play", layout=small)
        self.pause_button = W.Button(description="Pause", icon="pause", disabled=True, layout=small)
        self.stop_button = W.Button(description="Stop", icon="stop", disabled=True, layout=small)
        for button, act in (
            (self.run_button, self.run),
            (self.pause_button, self.pause),
            (self.stop_button, self.stop),
        ):
            button.on_click(act)
        self.scrubber = W.IntSlider(
            0,
            0,
            0,
            description="state",
            disabled=True,
            layout={"width": "190px"},
            style={"description_width": "initial"},
        ).add_class("gplvm-control-iterate")
        self._scrubbing = True
        self.scrubber.observe(self._on_scrub, names="value")
        self.progress = W.FloatProgress(min=0.0, max=1.0, layout={"width": "90px"})
        self.note, self.why_box = W.HTML(), W.HTML().add_class("gplvm-why")
        self.question_box = W.HTML().add_class("gplvm-question")
        self.choices = W.RadioButtons(options=[], layout={"display": "none", "width": "auto"})
        self.choices.add_class("gplvm-choices").observe(self._on_commit, names="value")
        self.reveal_button = W.Button(description="Reveal", icon="eye", layout={"display": "none", "width": "auto"})
        self.reveal_button.on_click(self.reveal)
        self.compare = W.ToggleButtons(options=["before", "after"], value="after", style={"button_width": "auto"})
        self.compare.layout.display, self._comparing, self._revealed = "none", True, True
        self.compare.observe(self._on_compare, names="value")
        self.question_buttons = []
        for number in range(1, len(self.questions) + 1):
            button = W.Button(description=f"Question {number}", layout=small)
            button.on_click(lambda _, number=number: self.ask(number))
            self.question_buttons.append(button)

    def rows(self):
        """Everything that is shown: a question, under it the picture on the left and the controls on the right."""
        row = lambda *parts: W.HBox(list(parts)).add_class("gplvm-row")  # noqa: E731
        running = [self.run_button, self.pause_button, self.stop_button, self.progress, self.scrubber, self.note]
        left = [
            row(*self.question_buttons, self.compare),
            self.question_box,
            row(self.choices, self.reveal_button),
            *([row(*running)] if self.can_run else []),
            self.view,
        ]
        groups = [self.group_box(group) for group in ("data", *STRIP, "more") if self._has(group)]
        right = [*groups, self.why_box, self.code_button]
        columns = [W.VBox(left).add_class("gplvm-left"), W.VBox(right).add_class("gplvm-right")]
        return [W.HTML(f"<b>{as_html(self.title)}</b>"), W.HBox(columns).add_class("gplvm-body")]

    def _has(self, group):
        return group in STRIP or self._groups.get(group) or self.extra(group)

    def group_box(self, group):
        """The controls of one group; for the three questions of the strip with their heading, or why there are none."""
        inside = [*self._groups.get(group, {}).values(), *self.extra(group)]
        head = []
        if group in STRIP:
            head = [W.HTML(f"<b>{group}</b>: {STRIP[group]}")]
            inside = inside or [W.HTML(as_html(self.strip_notes.get(group, "has no meaning here")))]
        return W.VBox([*head, *inside]).add_class("gplvm-group").add_class(f"gplvm-group-{group}")

    # --- its life --------------------------------------------------------------------------------------------
    def _replace_former(self):
        """A cell that is run again replaces the explorers it made before: they end."""
        cell, run = _cell_now()
        if cell is None:
            return
        run_before, former = self._made.get(cell, (run, []))
        if run_before != run:
            for explorer in former:
                explorer.end()
            former = []
        self._made[cell] = run, [*former, self]

    @in_turn
    def end(self):
        """Stop the run, and close every widget of this explorer."""
        self.stop()
        self._kept = []
        for widget in _all_widgets(self):
            widget.close()

    # --- without a kernel ------------------------------------------------------------------------------------
    @in_turn
    def strip(self):
        """(scenes, questions): the opening, and each question before and after, for a page without a kernel.

        Nobody can press Run there: where `opens_after_run` says so, the opening is what Run comes to.
        """
        opening, self._at_once = self.settings, True
        if self.opens_after_run and not self.why_no_run(opening):
            self.run_now()
        scenes, questions = [self._scene], []
        for number, question in enumerate(self.questions, start=1):
            self.ask(number)
            before = self._scene
            self.commit(question.right)
            self.reveal()
            numbers = dict(before=len(scenes), after=len(scenes) + 1)
            scenes += [before, self._scene]
            plain = {name: getattr(question, name) for name in ("text", "choices", "right", "answer")}
            questions.append({**plain, **numbers})
        self._at_once = False
        self.put_away_question()
        self.set(**opening)
        return scenes, questions

    def put_away_question(self):
        """No question is asked any more."""
        self._asked, self._before, self._revealed, self.question_box.value = None, None, True, ""
        self.choices.layout.display = self.reveal_button.layout.display = "none"
        self._offer_comparison(False)

    def page_html(self):
        """What a page without a kernel shows; the strip itself only while outputs are stored, because it takes time."""
        name = type(self).__name__.removesuffix("Explorer").lower()
        scenes, questions = None, [question._asdict() for question in self.questions]
        if os.environ.get(MAKE_STRIP) and self._scene is not None:
            scenes, questions = self.strip()
        png = self._scene.png(dpi=80) if self._scene is not None and scenes is None else b""  # a strip is one itself
        return strip_html(
            name,
            self.title,
            scenes,
            questions,
            png,
            "In JupyterLab or on Binder every control of this explorer can be moved.",
        )

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        data, *metadata = bundle if isinstance(bundle, tuple) else (bundle,)
        if data is not None:
            data["text/plain"] = f"{type(self).__name__}: {readable(self.title)}"
            data["text/html"] = self.page_html()
        return (data, *metadata) if metadata else data


def four_digits(value):
    """A number rounded to four digits; anything else as it is."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _cell_now():
    """(the cell that is being run, which of its runs this is); None and None outside a notebook."""
    try:
        from IPython import get_ipython

        header = get_ipython().get_parent()
        return header["metadata"]["cellId"], header["header"]["msg_id"]
    except (ImportError, AttributeError, KeyError, TypeError):
        return None, None


def _all_widgets(widget):
    """A widget, its children, their layouts and styles."""
    yield widget
    for child in getattr(widget, "children", ()):
        yield from _all_widgets(child)
    for name in ("layout", "style"):
        if isinstance(getattr(widget, name, None), W.Widget):
            yield getattr(widget, name)
