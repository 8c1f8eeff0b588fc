"""Experiments on the papers' data: one file a topic, whose `results` returns what book/results/NAME.json holds.

``python -m gplvm_edu.papers --list`` names them, ``NAME [FILE]`` runs one, ``all [FOLDER]`` runs them all. Every
`results(progress=iter)` takes a function that passes on a list of names one by one, and may tell how far it is.

>>> from gplvm_edu import papers
>>> papers.names()[:3]
['datasets', 'gplvm', 'gtm']
"""

import errno
import json
import os
import pkgutil
import secrets
import shutil
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from ..threads import one_thread

__all__ = ["as_json", "check_target", "collect", "names", "replacing", "run", "write"]


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


def check_target(path):
    """Raise OSError if no results file can be written at `path`: a folder in its place, or not ours to write."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    beside = [] if is_special(path) else [path.parent]
    for needed in (path, *beside):
        if needed.exists() and not os.access(needed, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(needed))


def is_special(path):
    """Whether this is a terminal, a pipe or the like, which can't be replaced."""
    return path.exists() and not path.is_file()


@contextmanager
def replacing(path):
    """A file to write to, opened at once: it takes the place of `path` when all went well, and is gone when not.

    What was at `path` stays as it is until then. A terminal or a pipe is written to directly.

    Parameters
    ----------
    path : str or Path

    Raises
    ------
    OSError
        Before anything else is done, if the file can't be written.
    """
    path = Path(os.path.realpath(path))  # a link stays, and the file that it names is replaced
    check_target(path)
    if is_special(path):
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            yield file
        return
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(beside, "x", encoding="utf-8", newline="\n") as file:  # the same bytes on every system
            yield file
        if path.exists():
            shutil.copymode(path, beside)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def write(path, report):
    """Write what an experiment found as a results file, and return its path."""
    with replacing(path) as file:
        file.write(as_json(report))
    return Path(path)
