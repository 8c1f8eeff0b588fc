"""What a fit tells while it runs: a bar for whoever wants one, and one warning before a long wait.

The loop of `base` opens a `Watch` around every fit. What a model does before its first state, if that takes long, it
tells by `preparing`.
"""

import time
from contextvars import ContextVar
from math import inf

from . import checks

PATIENCE = 3.0  # seconds after which a fit is judged by the steps it has made
LONG = 120.0  # seconds: whoever has to wait longer is told
WATCH: ContextVar["Watch | None"] = ContextVar("WATCH", default=None)  # that of the fit which is running
clock = time.perf_counter


class LongFitWarning(UserWarning):
    """A fit may take minutes: said after its first seconds, with what to do instead."""


def in_words(seconds) -> str:
    """A length of time to the digit that counts.

    Examples
    --------
    >>> in_words(3.14), in_words(200), in_words(9000)
    ('3.1 s', '3 minutes', '2.5 hours')
    """
    if seconds < LONG:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"


def make_bar(name, most):
    """A bar of tqdm on the error output, a widget in a notebook; None, with a sentence, where tqdm is missing."""
    try:
        from tqdm.auto import tqdm  # here: in a notebook it asks for ipywidgets, of those alone who want a bar
    except ImportError:
        checks.warn(
            f"verbose=True shows how {name} gets on by a bar of tqdm, which is not installed: pip install tqdm. "
            "The fit goes on without a bar."
        )
        return None
    return tqdm(desc=name, total=most, miniters=1, dynamic_ncols=True)


class Watch:
    """Context of one fit: shows its steps in a bar, and warns once if the steps still to come will take long.

    Parameters
    ----------
    name : str
        Of the model.
    most : int or None
        Steps at most.
    advice : str
        What to do instead of waiting.
    verbose : bool
        Show a bar.

    Notes
    -----
    `due` is the number of the next state that it wants to see: the next one where there is a bar; else the first,
    second, fourth, eighth, ... after the start, until three seconds are over, and none after that. So a fit of a
    thousand quick steps reads the clock about ten times.

    Examples
    --------
    >>> with Watch("GTM", 10, "Use a coarser grid.", verbose=False) as watch:
    ...     for number, value in enumerate([-9.0, -5.0, -3.0, -2.0, -1.5]):
    ...         if number >= watch.due:
    ...             watch.step(number, number, value)
    >>> watch.due
    8
    """

    def __init__(self, name, most, advice, verbose=False):
        self.name, self.most, self.advice = name, most, advice
        self.phase, self.phase_most, self.began = None, most, 0.0
        self.judged, self.warned, self.due, self.bar = False, False, 0.0, None
        self.verbose = verbose

    def __enter__(self):
        if self.verbose:
            self.bar = make_bar(self.name, self.most)
        self.outer = WATCH.set(self)
        return self

    def __exit__(self, *_):
        WATCH.reset(self.outer)
        if self.bar is not None:
            self.bar.close()

    def prepare(self, phase, done, most) -> None:
        """So many of the steps of a phase before the first state are made."""
        if self.phase != phase:
            self._begin(phase, most)
        self._tell(done)

    def step(self, number, done, value, stopped="") -> None:
        """A state with its number, the steps made, and the objective there; on the last one, why it is the last."""
        if self.phase != "":
            self._begin("", self.most)
        self._tell(done, f"objective {value:.7g}" + (f", {stopped}" if stopped else ""))
        if self.bar is not None:
            self.due = number + 1
        else:
            self.due = inf if self.judged else max(2 * number, 1)

    def _begin(self, phase, most):
        self.phase, self.phase_most, self.judged, self.began = phase, most, False, clock()
        if self.bar is not None:
            self.bar.set_description(f"{self.name}, {phase}" if phase else self.name, refresh=False)
            self.bar.reset(total=most)

    def _tell(self, done, text=""):
        if not self.judged:
            self._judge(done)
        if self.bar is not None:
            self.bar.set_postfix_str(text, refresh=False)
            self.bar.update(int(done) - self.bar.n)

    def _judge(self, done):
        """Look once, when three seconds of this phase have passed, how long the rest of it will take."""
        seconds = clock() - self.began
        if seconds < PATIENCE or done <= 0:
            return
        self.judged = True
        rest = seconds * (self.phase_most - done) / done
        if rest <= LONG or self.warned:
            return
        self.warned = True
        what = f"{self.name}, {self.phase}," if self.phase else self.name
        checks.warn(
            f"{what} made {done:.0f} of {self.phase_most} steps in {in_words(seconds)}: the others will take at most "
            f"about {in_words(rest)}, and less if it comes to its end before. {self.advice} Ctrl-C keeps the last "
            "state, and verbose=True shows how far it is.",
            LongFitWarning,
        )


def preparing(phase, done, most) -> None:
    """Tell the watch of the fit that is running, if any, that `done` of `most` steps before its first state are made.

    Examples
    --------
    >>> preparing("its start", 10, 1000)                    # nobody is watching
    """
    watch = WATCH.get()
    if watch is not None:
        watch.prepare(phase, done, most)
