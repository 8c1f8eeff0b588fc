"""Print the oldest versions that pyproject.toml allows, as constraints for pip.

    python tools/oldest.py > oldest.txt
    pip install -c oldest.txt -e ".[check]"

Each dependency ``name>=1.26`` becomes ``name==1.26``: pip fills up with zeros and takes 1.26.0. So a lower bound
must name a release that exists and is not withdrawn. Extras whose bounds are wanted may be named; without a name
every extra counts, except `peers`: those are other people's packages to compare with, in whichever version installs.
"""

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
UNBOUNDED = {"peers"}
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)\s*(\[(?P<extras>[^]]*)\])?\s*(?P<bounds>[^;]*)(?P<marker>;.*)?")


def requirements(project, extras=None):
    """Requirements of the project and of its extras, in the order of the file; those of an extra's extras too.

    >>> project = {"name": "ours", "dependencies": ["numpy>=1.26"],
    ...            "optional-dependencies": {"plot": ["matplotlib>=3.8"], "lab": ["ours[plot]", "pillow>=10"]}}
    >>> requirements(project, ["lab"])
    ['numpy>=1.26', 'matplotlib>=3.8', 'pillow>=10']
    """
    optional = project.get("optional-dependencies", {})
    wanted = [extra for extra in optional if extra not in UNBOUNDED] if extras is None else list(extras)
    found, done = dict.fromkeys(project.get("dependencies", ())), set()

    def add(extra):
        if extra not in optional:
            raise ValueError(f"pyproject.toml has no extra '{extra}'. It has: {', '.join(sorted(optional))}.")
        if extra in done:
            return
        done.add(extra)
        for text in optional[extra]:
            match = REQUIREMENT.fullmatch(text)
            if match and match["name"] == project["name"]:
                for inner in (match["extras"] or "").split(","):
                    add(inner.strip())
            else:
                found[text] = None

    for extra in wanted:
        add(extra)
    return list(found)


def constraint(requirement):
    """The lower bound of one requirement as an equality.

    >>> constraint("scipy>=1.11.1"), constraint("jupyter-book>=1.0.3,<2"), constraint("tomli>=2; python_version<'3.11'")
    ('scipy==1.11.1', 'jupyter-book==1.0.3', "tomli==2; python_version<'3.11'")
    >>> constraint("scipy")
    Traceback (most recent call last):
    ...
    ValueError: 'scipy' in pyproject.toml has no lower bound, so its oldest version is not known. Write scipy>=...
    """
    match = REQUIREMENT.fullmatch(requirement)
    lower = match and re.search(r"(?:>=|==|~=)\s*([\w.]+)", match["bounds"])
    if not lower:
        name = match["name"] if match else requirement
        raise ValueError(
            f"'{requirement}' in pyproject.toml has no lower bound, so its oldest version is not known. "
            f"Write {name}>= and the oldest version that passes `make check`."
        )
    return f"{match['name']}=={lower[1]}{match['marker'] or ''}"


def main(extras):
    """What the shell calls: constraints for the package, or for some of its extras."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    try:
        lines = [constraint(text) for text in requirements(project, extras or None)]
    except ValueError as error:
        raise SystemExit(str(error)) from None
    oldest = re.search(r">=\s*(\d+\.\d+)", project["requires-python"])[1]
    running = "{}.{}".format(*sys.version_info)
    if running != oldest:
        advice = f"The oldest versions belong to Python {oldest}; pip may find no wheels of them for {running}."
        print(advice, file=sys.stderr)
    print(f"# the oldest versions that pyproject.toml allows, for Python {oldest}", *lines, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
