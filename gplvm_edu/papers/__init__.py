"""Experiments on the papers' data: one file a topic, whose `results` returns what book/results/NAME.json holds.

``python -m gplvm_edu.papers --list`` names them, ``NAME [FILE]`` runs one, ``all [FOLDER]`` runs them all. Every
`results(progress=iter)` takes a function that passes on a list of names one by one, and may tell how far it is.

>>> from gplvm_edu import papers
>>> papers.names()[:3]
['datasets', 'gplvm', 'gtm']
"""

import json
import pkgutil
from importlib import import_module
from pathlib import Path

from ..threads import one_thread

__all__ = ["as_json", "collect", "names", "run", "write"]


def names():
    """Every experiment that there is: the modules of this room.

    Examples
    --------
    >>> "ppca" in names()
    True
    """
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def run(name, progress=iter):
    """What one experiment finds: the dictionary of ``book/results/NAME.json``.

    Parameters
    ----------
    name : str
        One of `names`.
    progress : callable
        Takes a list of names and yields them, as `iter` does.

    Returns
    -------
    dict
    """
    if name not in names():
        raise ValueError(f"There is no experiment {name!r}; there are {', '.join(names())}.")
    experiment = import_module(f"{__name__}.{name}")
    with one_thread():  # one thread: the same sums in the same order every time
        return experiment.results(progress)


def collect(parts, progress=iter):
    """Call the parts of an experiment one by one: {name: what the part returns}.

    Examples
    --------
    >>> collect({"two": lambda: 2, "three": lambda: 3})
    {'two': 2, 'three': 3}
    """
    return {name: parts[name]() for name in progress(list(parts))}


def as_json(report):
    """The text of a results file.

    Examples
    --------
    >>> print(as_json({"errors": 3}), end="")
    {
     "errors": 3
    }
    """
    return json.dumps(report, indent=1) + "\n"


def write(path, report):
    """Write what an experiment found as a results file, and return its path."""
    path = Path(path)
    path.write_text(as_json(report), encoding="utf-8", newline="\n")  # the same bytes on every system
    return path
