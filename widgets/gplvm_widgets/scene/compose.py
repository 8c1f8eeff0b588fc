"""Scenes put together from panels that say, by the names of their arguments, what they depend on."""

import inspect
from dataclasses import replace
from functools import wraps

from ..words import class_names
from .marks import Panel, Scene


class SceneOf:
    """A picture as a function of settings: each panel is a function whose arguments are the settings it depends on.

    Calling it computes the whole scene; `again` computes only the panels whose arguments have changed.

    Parameters
    ----------
    *panels : functions
        Each returns a `Panel`, or None where it has nothing to show; its name is the panel's key.
    defaults : dict
        The opening value of every setting. A setting called `state` is None, or what an optimiser has reached.
    says : function
        The sentence under the picture, from the settings that it names; the code shown prints the same.
    columns, row_height : int, or function of settings that it names

    Examples
    --------
    >>> from gplvm_widgets.scene import Lines, Panel, SceneOf
    >>> def slope(a):
    ...     return Panel([Lines("line", [0, 1], [0, a])], title=f"slope {a}")
    >>> def offset(b):
    ...     return Panel([Lines("line", [0, 1], [b, b])], title=f"offset {b}")
    >>> panel_line = SceneOf(slope, offset, defaults=dict(a=1, b=0), says=lambda a: f"slope {a}")
    >>> first = panel_line(a=3)
    >>> first.says, first.panel("offset").title
    ('slope 3', 'offset 0')
    >>> second = panel_line.again(first, a=3, b=2)
    >>> second.panels[0] is first.panels[0], second.panel("offset").title
    (True, 'offset 2')
    """

    def __init__(self, *panels, defaults, says, columns=2, row_height=240):
        self.panels, self.says, self.columns, self.row_height = panels, says, columns, row_height
        self.defaults = {**defaults, "state": None}
        self.names = {panel: names_of(panel) for panel in panels}
        unknown = {name for names in self.names.values() for name in names} - set(self.defaults)
        if unknown:
            raise ValueError(f"no default for {', '.join(sorted(unknown))}")

    def __call__(self, **settings) -> Scene:
        """The scene of these settings; those that are not named are as in the opening."""
        return self.again(None, **settings)

    def again(self, before, **settings) -> Scene:
        """The scene of these settings, with the panels of the scene `before` wherever they would be the same."""
        unknown = set(settings) - set(self.defaults)
        if unknown:
            raise TypeError(f"no setting named {', '.join(sorted(unknown))}; there are {', '.join(self.defaults)}")
        settings = {**self.defaults, **settings}
        old = getattr(before, "made", {})
        made = {}
        for function, names in self.names.items():
            wanted = {name: settings[name] for name in names}
            earlier = old.get(function)
            if earlier is not None and all(same(earlier[0][name], value) for name, value in wanted.items()):
                made[function] = earlier
            else:
                panel = function(**wanted)
                if panel is not None and not panel.key:
                    panel = replace(panel, key=function.__name__)
                made[function] = wanted, panel
        shown = [panel for _, panel in made.values() if isinstance(panel, Panel)]
        scene = Scene(
            shown,
            columns=self._ask(self.columns, settings),
            row_height=self._ask(self.row_height, settings),
            says=self._ask(self.says, settings),
        )
        object.__setattr__(scene, "made", made)
        return scene

    @staticmethod
    def _ask(value, settings):
        return value(**{name: settings[name] for name in names_of(value)}) if callable(value) else value


def gallery(scenes, *keys, row_height=220):
    """Some panels of several scenes, {title: scene}: one column for each scene, one row for each key."""
    titles = class_names(scenes)
    chosen = [
        replace(scene.panel(key), key=f"{title}: {key}", legend=not column, **({} if row else {"title": title}))
        for row, key in enumerate(keys)
        for column, (title, scene) in enumerate(zip(titles, scenes.values(), strict=True))
    ]
    return Scene(chosen, columns=len(scenes), row_height=row_height)


def names_of(function):
    """Names of the arguments of a function."""
    return tuple(inspect.signature(function).parameters)


def same(a, b):
    """The same object, or equal plain values."""
    return a is b or (type(a) is type(b) and type(a) in (str, int, float, bool, tuple) and a == b)


def remember(maxsize=4):
    """Decorator: keep the last few results; plain arguments count by value, all others by identity.

    What several panels share is computed once; arrays and states can't be keys of `functools.lru_cache`.
    """

    def decorate(function):
        kept = {}

        @wraps(function)
        def wrapper(*args, **kwargs):
            arguments = (*args, *kwargs.items())
            key = tuple(_mark_of(value) for value in arguments)
            if key in kept:
                kept[key] = kept.pop(key)  # the newest is last
            else:
                kept[key] = (
                    function(*args, **kwargs),
                    arguments,
                )  # which stay alive, so that no other has their identity
                while len(kept) > maxsize:
                    del kept[next(iter(kept))]
            return kept[key][0]

        wrapper.cache_clear = kept.clear
        return wrapper

    return decorate


def _mark_of(value):
    if isinstance(value, tuple):
        return tuple(_mark_of(v) for v in value) if type(value) is tuple else ("object", id(value))
    return value if isinstance(value, str | int | float | bool | type(None)) else ("object", id(value))
