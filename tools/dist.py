"""Build the files that go to PyPI, with a README whose links and pictures lead somewhere from there too.

    python tools/dist.py                      writes dist/*.tar.gz and dist/*.whl   (`make dist`)

The README names files of the repository: right in a clone and on GitHub, but PyPI shows the README alone. So the build
is made from a copy of the files that git knows, in which every such link has the address of the released version.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r'(\]\(|<img src=")(?!https?://|#|mailto:)([^)"\s]+)')
PICTURES = (".png", ".gif", ".svg")


def absolute_links(text, source, version):
    """A Markdown text whose links into the repository are addresses: of pages, or of pictures as they are.

    >>> print(absolute_links("[a](book/a.ipynb) ![b](b.png) [c](#top) [d](https://d.org)", "https://x.org/y", "1.0"))
    [a](https://x.org/y/blob/v1.0/book/a.ipynb) ![b](https://x.org/y/raw/v1.0/b.png) [c](#top) [d](https://d.org)
    """

    def address(match):
        kind = "raw" if match[2].endswith(PICTURES) else "blob"
        return f"{match[1]}{source}/{kind}/v{version}/{match[2]}"

    return LINK.sub(address, text)


def copy_files(target):
    """Copy the files that git knows, as they are now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)


def main():
    """What the shell calls."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    output = parser.parse_args().output.resolve()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with tempfile.TemporaryDirectory() as folder:
        copy_files(Path(folder))
        readme = Path(folder) / "README.md"
        text = absolute_links(readme.read_text(encoding="utf-8"), project["urls"]["Source"], project["version"])
        readme.write_text(text, encoding="utf-8", newline="\n")
        shutil.rmtree(output, ignore_errors=True)
        raise SystemExit(subprocess.run([sys.executable, "-m", "build", "--outdir", str(output), folder]).returncode)


if __name__ == "__main__":
    main()
