"""Run the experiments: ``python -m gplvm_edu.papers --list | NAME [FILE] | all [FOLDER]``.

Without a file the results are printed; without a folder they go to book/results. A file that is there already is
replaced when the new results are complete, and not before. The exit code is 0, 2 if the command, its file or the data
are not right, and 130 after Ctrl-C.
"""

import argparse
import sys
from pathlib import Path

from ..datasets import DataCorruptError, DataUnavailableError
from . import as_json, check_target, names, replacing, run

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
    targets = {name: folder / f"{name}.json" for name in names()} if given.name == "all" else {given.name: given.path}
    for name, path in targets.items():
        if path is not None and path.is_dir():
            parser.error(f"{path} is a folder; name the file for the results of {name}.")
    return targets


def run_into(name, path):
    """Run one experiment, and print its results, or write them to a file that is opened before it begins."""
    if path is None:
        print(as_json(run(name, show_progress(name))), end="")
        return
    with replacing(path) as file:
        file.write(as_json(run(name, show_progress(name))))
    print(f"wrote {path}")


def main(arguments=None):
    """Do what the command line asks for; returns the exit code."""
    name = "The command"
    try:
        targets = read_arguments(arguments)
        for path in filter(None, targets.values()):  # all files, before the first experiment
            check_target(path)
        for name, path in targets.items():
            run_into(name, path)
    except (DataUnavailableError, DataCorruptError) as error:
        print(f"\n{name} can't be run. {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"\n{name} can't write its results ({error}). Name another file.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\n{name} was stopped. A file of its results that was there is as it was.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
