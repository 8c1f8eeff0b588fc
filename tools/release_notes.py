"""Print the section of CHANGELOG.md that belongs to a version: ``make release-notes VERSION=0.2.0``.

    python tools/release_notes.py 0.1.0              print it
    python tools/release_notes.py 0.2.0 notes.md     write it for a release

A release is asked more: its version is the one in pyproject.toml, and its section has a date.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADING = re.compile(r"^## \[(?P<version>[^\]]+)\](?: - (?P<date>\S+))?\s*$", re.MULTILINE)
LINKS = re.compile(r"^\[[^\]]+\]: \S+$", re.MULTILINE)


def sections(changelog):
    r"""The changelog as {version: (date or None, text)}, newest first, "Unreleased" at the head.

    Examples
    --------
    >>> sections("# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-11-16\n\nFirst.\n")
    {'Unreleased': (None, ''), '0.1.0': ('2026-11-16', 'First.')}
    """
    text = LINKS.sub("", changelog)
    headings = list(HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    return {
        heading["version"]: (heading["date"], text[heading.end() : end].strip())
        for heading, end in zip(headings, ends, strict=True)
    }


def release_notes(version, root=ROOT):
    """The text under the heading of `version` in CHANGELOG.md; a clear error where there is none."""
    known = sections((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    if version not in known:
        raise ValueError(
            f"CHANGELOG.md has no section for version {version!r}; it has {', '.join(known)}. "
            f"Write a heading '## [{version}] - YEAR-MONTH-DAY', or ask for one of these."
        )
    if not known[version][1]:
        raise ValueError(f"The section of {version} in CHANGELOG.md is empty: say what changed for a reader or a user.")
    return known[version][1]


def check_release(version, root=ROOT):
    """Refuse to release what is not the version of pyproject.toml, or has no date in the changelog."""
    ours = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    if version != ours:
        raise ValueError(f"The tag says {version}, pyproject.toml says {ours}. Make them agree, then tag again.")
    date = sections((root / "CHANGELOG.md").read_text(encoding="utf-8"))[version][0]
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date or ""):
        raise ValueError(
            f"CHANGELOG.md gives {version} no date (it says {date!r}). "
            f"Write '## [{version}] - YEAR-MONTH-DAY', then tag again."
        )


def main(arguments):
    """What the shell calls: a version, and a file where the notes are to be written."""
    if "--help" in arguments:
        print(__doc__)
        return
    if len(arguments) not in (1, 2):
        sys.exit("Name a version, such as: make release-notes VERSION=0.2.0")
    version, *file = arguments
    try:
        notes = release_notes(version)
        if file:
            check_release(version)
    except ValueError as error:
        sys.exit(str(error))
    if file:
        Path(file[0]).write_text(notes + "\n", encoding="utf-8")
    else:
        print(notes)


if __name__ == "__main__":
    main(sys.argv[1:])
