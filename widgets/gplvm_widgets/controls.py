"""Controls in the look of the course: as wide as their column, their words in front."""

import ipywidgets as W

FULL = {"width": "98%"}
WORDS = {"description_width": "initial"}


def slider(value, low, high, step=1, name="", **options):
    """A slider over whole numbers, or over numbers where one of its numbers is no whole one."""
    whole = all(isinstance(v, int) for v in (value, low, high, step))
    kind = W.IntSlider if whole else W.FloatSlider
    form = {} if whole else {"readout_format": ".3g"}
    return kind(value, min=low, max=high, step=step, description=name, layout=FULL, style=WORDS, **{**form, **options})


def log_slider(value, low, high, name="", step=0.05, **options):
    """A slider over powers of ten from 10^low to 10^high."""
    options = {"readout_format": ".3g", **options}
    return W.FloatLogSlider(
        value, base=10, min=low, max=high, step=step, description=name, layout=FULL, style=WORDS, **options
    )


def steps(options, value, name=""):
    """A slider over a few values."""
    return W.SelectionSlider(options=options, value=value, description=name, layout=FULL, style=WORDS)


def menu(options, value=None, name=""):
    """A drop-down list; its first entry is chosen unless `value` says otherwise."""
    chosen = {} if value is None else {"value": value}
    return W.Dropdown(options=options, description=name, layout=FULL, style=WORDS, **chosen)


def buttons(options, value=None, name=""):
    """A few buttons, one of them pressed."""
    chosen = {} if value is None else {"value": value}
    return W.ToggleButtons(options=options, description=name, style={"button_width": "auto", **WORDS}, **chosen)


def check(value, name):
    """A box to tick."""
    return W.Checkbox(value, description=name, indent=False, layout=FULL)


def number(value, low, high, name="", step=1):
    """A number to type."""
    whole = isinstance(value, int) and isinstance(step, int)
    kind = W.BoundedIntText if whole else W.BoundedFloatText
    return kind(value, min=low, max=high, step=step, description=name, layout={"width": "160px"}, style=WORDS)


def text(value, name=""):
    """A line to type; it counts when Enter is pressed."""
    return W.Text(value, description=name, continuous_update=False, layout=FULL, style=WORDS)


def several(options, value, name="", rows=5):
    """A list of which several entries can be chosen."""
    return W.SelectMultiple(options=options, value=value, description=name, rows=rows, layout=FULL, style=WORDS)
