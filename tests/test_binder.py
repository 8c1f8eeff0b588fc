"""Binder: what repo2docker would install is enough to open the course and run its first chapter."""

import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pytest
from conftest import copy_book
from lab import Lab

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "binder" / "requirements.txt"


def requirements():
    lines = [line.split("#")[0].strip() for line in REQUIREMENTS.read_text().splitlines()]
    return [line for line in lines if line]


def copy_course(target):
    """Copy what an installation needs, so that nothing is built inside the project."""
    for name in ("binder", "gplvm_edu", "widgets"):
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, target)
    return target


@pytest.mark.book
def test_binder_installs_the_course_with_its_lab_extra_and_nothing_heavier():
    assert requirements() == ["-e .[lab]"]


@pytest.mark.book
def test_repo2docker_copies_the_course_then_installs_the_list_with_a_python_that_it_runs_on(tmp_path):
    copy_course(tmp_path / "course")
    ask = [sys.executable, "-m", "repo2docker", "--no-build", "--debug", str(tmp_path / "course")]
    plan = subprocess.run(ask, capture_output=True, text=True, timeout=120)
    assert plan.returncode == 0, plan.stderr[-2000:]
    text = plan.stdout + plan.stderr
    version = re.search(r"conda environment for python=(\d+)\.(\d+)", text)
    oldest = re.search(r'requires-python = ">=(\d+)\.(\d+)"', (ROOT / "pyproject.toml").read_text())
    assert [int(n) for n in version.groups()] >= [int(n) for n in oldest.groups()]
    install = re.search(r'pip install .*-r "binder/requirements.txt"', text)
    assert install, "the Dockerfile does not install binder/requirements.txt"
    before = text[: install.start()]
    assert re.search(r"COPY .*src/ \$\{REPO_DIR\}/\s", before), "the course is copied after that"


@pytest.mark.slow
@pytest.mark.browser
def test_fresh_environment_from_binders_list_opens_and_runs_chapter_one(tmp_path, browser):
    """The same list in an empty environment, with nothing of this one: no test extra, no book extra."""
    course, home = copy_course(tmp_path / "course"), tmp_path / "home"
    home.mkdir()
    copy_book(course / "book")
    python = fresh_environment(tmp_path / "environment", course)
    assert subprocess.run([python, "-c", "import pytest"], capture_output=True).returncode != 0
    server = Lab(course, home, browser, python=python)
    try:
        with server.open("index.ipynb") as page:
            page.run_all()
        with server.open("01_ppca.ipynb") as page:
            page.run_all()
            assert page.errors() == []
            start = page.picture_at_rest()
            page.slider("noise").press("ArrowRight", times=5)
            assert page.wait_for_new_picture(start) != start
    finally:
        server.close()


def fresh_environment(folder, course):
    """An empty virtual environment with Binder's list installed in the folder of the course; its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
        "binder/requirements.txt",
    ]
    answer = subprocess.run(install, cwd=course, capture_output=True, text=True, timeout=900)
    assert answer.returncode == 0, answer.stderr[-3000:]
    return python


@pytest.mark.slow
def test_wheel_holds_every_module_of_the_course(tmp_path):
    """A plain install (no -e) must not lose a folder that became a module."""
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--disable-pip-version-check",
        "--wheel-dir",
        str(tmp_path),
        str(copy_course(tmp_path / "course")),
    ]
    answer = subprocess.run(build, capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stderr[-2000:]
    listing = subprocess.run(
        [sys.executable, "-m", "zipfile", "-l", str(next(tmp_path.glob("*.whl")))], capture_output=True, text=True
    ).stdout
    sources = [path.relative_to(ROOT) for path in ROOT.glob("gplvm_edu/**/*.py")]
    sources += [path.relative_to(ROOT / "widgets") for path in ROOT.glob("widgets/**/*.py")]
    beside = ("py.typed", "*.js", "*.css")
    sources += [path.relative_to(ROOT / "widgets") for name in beside for path in ROOT.glob(f"widgets/**/{name}")]
    sources.append(Path("gplvm_edu/py.typed"))
    assert [str(path) for path in sources if path.as_posix() not in listing] == []


@pytest.mark.slow
def test_beside_a_clone_that_has_the_package_s_name_the_installed_package_is_found(tmp_path):
    """`git clone` calls the folder gplvm_edu; to Python, standing beside it, that is a package without files."""
    copy_course(tmp_path / "gplvm_edu")
    venv.create(tmp_path / "environment")
    python = tmp_path / "environment" / "bin" / "python"
    site = next((tmp_path / "environment").glob("lib/python*/site-packages"))
    (site / "dependencies.pth").write_text(f"{Path(np.__file__).parents[1]}\n")  # ours, so that none is fetched
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    answer = subprocess.run([*install, "-e", str(tmp_path / "gplvm_edu")], capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stderr[-2000:]
    ask = "import gplvm_edu, gplvm_widgets; print(gplvm_edu.PPCA(2)); print(gplvm_edu.__file__, gplvm_widgets.__file__)"
    for folder in (tmp_path, tmp_path / "environment"):
        answer = subprocess.run([python, "-c", ask], cwd=folder, env={}, capture_output=True, text=True, timeout=120)
        assert answer.returncode == 0, answer.stderr[-2000:]
        assert answer.stdout.startswith("PPCA()") and answer.stdout.count(str(tmp_path)) == 2, answer.stdout
