"""`SceneView`: a scene in JupyterLab, drawn by the page, which reports where the reader points."""

from importlib.resources import files

import anywidget
import traitlets

from ..words import brief

LONGEST_PROBLEM = 1000  # characters
N_PANELS = 8  # as many as `PANELS` in scene.js
RESOURCES = files(__package__)
SCRIPT = RESOURCES.joinpath("scene.js").read_text(encoding="utf-8")
STYLE = RESOURCES.joinpath("scene.css").read_text(encoding="utf-8")


class _Traits(anywidget.AnyWidget):
    """One trait for each panel: only what has changed travels, and a page that is loaded again finds all of it."""

    _esm = SCRIPT
    _css = STYLE
    frame = traitlets.Dict({}).tag(sync=True)
    problem = traitlets.Unicode("").tag(sync=True)
    code = traitlets.Unicode("").tag(sync=True)
    for _k in range(N_PANELS):
        locals()[f"panel_{_k}"] = traitlets.Dict({}).tag(sync=True)


class SceneView(_Traits):
    """Shows one scene after another, and tells its owner what the reader does.

    Parameters
    ----------
    on_point : function of (panel, x, y, phase)
        The reader has clicked, or drags, at these data coordinates; the phase, where the page tells it, is "down",
        "move" or "up".
    on_arrow : function of (panel, right, up)
        An arrow key: one step, or five with Shift.
    on_seen, on_gone : functions without arguments
        A page has shown a state of a run; a view has been taken away.
    """

    def __init__(self, on_point=None, on_arrow=None, on_seen=None, on_gone=None):
        self._do = {
            "point": lambda m: on_point and on_point(m["panel"], m["x"], m["y"], *_phase(m)),
            "arrow": lambda m: on_arrow and on_arrow(m["panel"], m["right"], m["up"]),
            "seen": lambda m: on_seen and on_seen(),
            "hello": lambda m: on_seen and on_seen(),
            "gone": lambda m: on_gone and on_gone(),
        }
        self.scene, self._sent, self._count = None, [None] * N_PANELS, 0
        super().__init__()
        self.on_msg(self._hear)

    def show(self, scene, glide=0, running=False):
        """Send what has changed since the last scene; marks glide to their places in `glide` milliseconds."""
        if len(scene.panels) > N_PANELS:
            raise ValueError(f"a scene has at most {N_PANELS} panels, got {len(scene.panels)}")
        self.scene, self._count = scene, self._count + 1
        frame = {**scene.frame(), "n": self._count, "glide": glide, "running": running}
        with self.hold_sync():
            self.problem = ""
            for k, panel in enumerate(scene.panels):
                if self._sent[k] is not panel:
                    self._sent[k] = panel
                    self.set_trait(f"panel_{k}", panel.wire())
            self.frame = frame

    def complain(self, sentence):
        """A sentence in the place of the picture."""
        self.problem = brief(sentence, LONGEST_PROBLEM)

    def hear(self, message):
        """What the page has sent: ``{"type": "point", "panel": "embedding", "x": 1.0, "y": 2.0}``."""
        try:
            self._do[message["type"]](message)
        finally:
            if "n" in message and message["type"] in ("point", "arrow"):
                self.send({"answered": message["n"], "view": message["view"]})

    def _hear(self, widget, message, buffers):
        self.hear(message)


def _phase(message):
    return (message["phase"],) if "phase" in message else ()
