"""Run the experiments: ``python -m gplvm_edu.papers --list | NAME [FILE] | all [FOLDER]``.

Without a file the results are printed; without a folder they go to book/results.
"""

import argparse
import sys
from pathlib import Path

from ..datasets import DataCorruptError, DataUnavailableError
from . import as_json, names, run, write

try:
    from tqdm import tqdm
except ImportError:  # part of the extra `data`
    tqdm = None

FOLDER = Path("book/results")
USAGE = "python -m gplvm_edu.papers --list | NAME [FILE] | all [FOLDER]"


def show_progress(experiment):
    """A `progress` that tells on the error output which part of an experiment is at work: a bar, or lines."""

    def plain(parts):
        for number, part in enumerate(parts, 1):
            print(f"{experiment}, {number} of {len(parts)}: {part}", file=sys.stderr, flush=True)
            yield part

    def bar(parts):
        with tqdm(parts, unit="part") as shown:
            for part in shown:
                shown.set_description(f"{experiment}: {part}")
                yield part

    return plain if tqdm is None else bar


def read_arguments(arguments=None):
    """The experiments to run, each with the file for its results (None: print them)."""
    parser = argparse.ArgumentParser(
        prog="python -m gplvm_edu.papers",
        usage=USAGE,
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--list", action="version", version="\n".join(names()), help="the names of all experiments")
    parser.add_argument("name", help="an experiment, or all")
    parser.add_argument("path", nargs="?", type=Path, help="the file for its results; for all, a folder")
    given = parser.parse_args(arguments)
    if given.name not in (*names(), "all"):
        parser.error(f"there is no experiment {given.name!r}; there are {', '.join(names())}; and all.")
    folder = given.path or FOLDER if given.name == "all" else Path(given.path or "here").parent
    if not folder.is_dir():
        parser.error(f"there is no folder {folder}: run this from the top of the project, or name another.")
    if given.name == "all":
        return {name: folder / f"{name}.json" for name in names()}
    if given.path is not None and given.path.is_dir():
        parser.error(f"{given.path} is a folder; name the file for the results of {given.name}.")
    return {given.name: given.path}


def main(arguments=None):
    """Do what the command line asks for; returns the exit code."""
    for name, path in read_arguments(arguments).items():
        try:
            report = run(name, show_progress(name))
        except (DataUnavailableError, DataCorruptError) as error:
            print(f"\n{name} can't be run. {error}", file=sys.stderr)
            return 2
        if path is None:
            print(as_json(report), end="")
        else:
            print(f"wrote {write(path, report)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
