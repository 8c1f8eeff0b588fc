"""What all tests share: the browser, a JupyterLab, the built book, and the table of what ran.

Settings from outside:
GPLVM_EDU_BROWSER            the browser to use (else Chromium, Chrome or Edge is looked for);
GPLVM_EDU_REQUIRE_BROWSER=1  a missing browser fails the browser tests instead of skipping them;
GPLVM_EDU_DATA               the folder of the papers' real data (`make real`);
GPLVM_EDU_SCREENSHOTS        where screenshots for people are kept (else pytest's temporary folder);
HYPOTHESIS_PROFILE=explore   new random examples, many of them (else the same 25 on every machine; `quick`: 5 of them).
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # for small matrices a second thread only gets in the way

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from functools import cache, partial
from itertools import count
from pathlib import Path

import hypothesis
import nbformat
import pytest
from common import WITHOUT_FILES
from filelock import FileLock
from gplvm_widgets.explorer import Explorer
from lab import ADVICE, Browser, Lab, Site, find_browser
from xdist.scheduler import LoadFileScheduling

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"

# Files that last, the longest first: with the real data, with a browser, then the rest.
LONGEST = (
    *("test_prediction", "test_ivm", "test_variational", "test_noise", "test_gplvm", "test_tsne", "test_gtm"),
    *(
        "test_binder",
        "test_browser",
        "test_pages",
        "test_strips",
        "test_book",
        "test_explorers",
        "test_estimators",
        "test_explore_gplvm",
    ),
    "test_living",
    *("13_prediction", "12_variational", "11_tsne", "04_wishart", "07_ivm", "08_noise", "01_ppca", "06_proximity"),
    *("test_unify", "test_kernels", "test_wishart", "test_proximity", "test_gtm_variants", "test_ppca", "test_types"),
)

hypothesis.settings.register_profile("course", deadline=None, max_examples=25, derandomize=True)
hypothesis.settings.register_profile("quick", deadline=None, max_examples=5, derandomize=True)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=300)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "course"))


# ---------------------------------------------------------------------- fixtures
@pytest.fixture(scope="session")
def browser():
    """A headless Chromium that reaches this machine only, or a skip (a failure where one is required)."""
    path = find_browser()
    if path is None:
        if os.environ.get("GPLVM_EDU_REQUIRE_BROWSER") == "1":
            pytest.fail(f"GPLVM_EDU_REQUIRE_BROWSER=1, but: {ADVICE}", pytrace=False)
        pytest.skip(ADVICE)
    chromium = Browser(path)
    yield chromium
    chromium.close()


@pytest.fixture(scope="session")
def lab(browser, tmp_path_factory):
    """A JupyterLab on a copy of the book: ``lab.open("01_ppca.ipynb")``."""
    root = tmp_path_factory.mktemp("lab")
    copy_book(root / "book")
    server = Lab(root, tmp_path_factory.mktemp("jupyter"), browser)
    yield server
    server.close()


@pytest.fixture
def explorer(request, monkeypatch):
    """The explorer that EXPLORER of the test's module makes; its errors are raised as well as shown."""
    monkeypatch.setattr(Explorer, "raise_errors", True)
    return request.module.EXPLORER()


@pytest.fixture(scope="session")
def open_explorer(lab):
    """``with open_explorer("explore_ivm(n_points=100)") as page``: cells in JupyterLab, run, the explorer in view."""
    numbers = count()

    @contextmanager
    def opened(*cells, **size):
        names = sorted(set(re.findall(r"explore_\w+|latent_\w+", " ".join(cells))))
        texts = [f"from gplvm_widgets import {', '.join(names)}", *cells]
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in texts])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
        name = f"explorer_{next(numbers)}.ipynb"
        nbformat.write(notebook, lab.root / name)
        with lab.open(name, folder="", **size) as page:
            page.run_all()
            page.show(".gplvm-explorer")
            yield page

    return opened


@pytest.fixture(scope="module")
def page(request, open_explorer):
    """The cells PAGE of the test's module in JupyterLab, opened once for all its tests."""
    with open_explorer(*request.module.PAGE) as opened:
        yield opened


@pytest.fixture(scope="module")
def chapter(request, lab):
    """The chapter that CHAPTER of the test's module names in JupyterLab, all cells run, its explorer in view."""
    with lab.open(request.module.CHAPTER) as opened:
        opened.run_all()
        opened.show(".gplvm-explorer")
        yield opened


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """``made_once("name", make)``: the folder that ``make(folder)`` filled, once for all processes of this run."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if os.environ.get("PYTEST_XDIST_WORKER") else own

    def folder_of(name, make):
        folder = shared / f"made_{name}"
        with FileLock(shared / f"made_{name}.lock"):
            if not (folder / "done").exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                make(folder)
                (folder / "done").touch()
        return folder

    return folder_of


@pytest.fixture(scope="session")
def built_book(made_once):
    """Folder of the built pages: built once, with warnings as errors."""
    return made_once("book", build_book) / "book" / "_build" / "html"


def build_book(folder):
    copy_book(folder / "book")
    program = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()"]
    build = [*program, "build", str(folder / "book"), "--all", "-W", "-n", "--keep-going"]
    answer = subprocess.run(build, capture_output=True, text=True, timeout=600)
    if answer.returncode != 0:
        warnings = [line for line in answer.stderr.splitlines() if "WARNING" in line or "ERROR" in line]
        report = "\n".join(warnings or [answer.stderr[-4000:]])
        pytest.fail(f"the book does not build without warnings:\n{report}", pytrace=False)


@pytest.fixture(scope="session")
def fresh_results(made_once):
    """``fresh_results("ppca")``: what `python -m gplvm_edu.papers ppca` finds on the real data, computed once."""

    @cache
    def results(name):
        if name not in WITHOUT_FILES and not os.environ.get("GPLVM_EDU_DATA"):
            pytest.skip("GPLVM_EDU_DATA does not name the folder of the papers' real data (appendix B)")
        return json.loads((made_once(name, partial(compute_results, name)) / "results.json").read_text())

    return results


def compute_results(name, folder):
    write = [sys.executable, "-m", "gplvm_edu.papers", name, str(folder / "results.json")]
    answer = subprocess.run(write, capture_output=True, text=True, timeout=2400)
    assert answer.returncode == 0, answer.stderr[-2000:]


@pytest.fixture(scope="session")
def site(built_book):
    """The built pages behind a loopback address."""
    server = Site(built_book)
    yield server
    server.close()


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory):
    """Folder for pictures that people look at."""
    named = os.environ.get("GPLVM_EDU_SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def copy_book(target):
    """Copy the sources of the book, without what was built from them."""
    made = shutil.ignore_patterns("_build", ".ipynb_checkpoints", "__pycache__")
    shutil.copytree(BOOK, target, ignore=made)


# ---------------------------------------------------------------------- which process runs what
@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = False  # in the order of `pytest_collection_modifyitems`, not of the most tests
    return ByTopic(config, log) if config.getvalue("dist") == "loadfile" else None


class ByTopic(LoadFileScheduling):
    """A file's tests stay in one process, and so do all tests that need one topic's results on the real data."""

    def _split_scope(self, nodeid):
        stored = re.match(r"tests/test_book\.py::test_stored_results\w+\[(\w+)\]", nodeid)
        return f"tests/test_{stored[1]}.py" if stored else super()._split_scope(nodeid)


def pytest_collection_modifyitems(items):
    """Files that last go first, so that no process waits long for another at the end."""
    last = len(LONGEST)
    place = {stem: k for k, stem in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, last))


# ---------------------------------------------------------------------- what ran
KINDS = {  # line of the table: marker
    "identities": "identity",
    "gradients": "gradient",
    "oracles": "oracle",
    "contracts": "contract",
    "properties": None,
    "bad input": "bad_input",
    "doctests": None,
    "notebook cells": None,
    "labels": "labels",
    "widgets": "widget",
    "browser": "browser",
    "book": "book",
    "slow": "slow",
    "real": "real",
    "other": None,
}


def kinds_of(item):
    """Names of the kinds a test counts in: one for each of its markers, and what it is made of."""
    kinds = [kind for kind, marker in KINDS.items() if marker and item.get_closest_marker(marker)]
    if type(item).__name__ == "DoctestItem":
        kinds.append("doctests")
    if type(item).__name__ == "IPyNbCell":
        kinds.append("notebook cells")
    if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
        kinds.append("properties")
    return kinds or ["other"]


class Tally:
    """Counts each finished test once per kind; keeps the reasons of those skipped, and tables for people.

    A test shows a table with ``record_property("table", text)``, its title in the first line.
    """

    def __init__(self):
        self.counts, self.reasons, self.seconds, self.tests = Counter(), Counter(), Counter(), Counter()
        self.tables = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item):
        report = yield
        report.kinds = kinds_of(item)  # goes with the report from the process that ran the test to the one that counts
        return report

    def pytest_runtest_logreport(self, report):
        kinds = getattr(report, "kinds", ["other"])  # a process that died has none
        for kind in kinds:
            self.seconds[kind] += report.duration
        outcome = {"passed": "passed", "failed": "failed", "skipped": "skipped"}[report.outcome]
        if report.when != "call" and outcome == "passed":
            return
        self.tests[outcome] += 1
        self.tables += [text for name, text in report.user_properties if name == "table"]
        for kind in kinds:
            self.counts[kind, outcome] += 1
        if outcome == "skipped":
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple | list) else str(report.longrepr)
            self.reasons[reason.removeprefix("Skipped: ")] += 1

    def pytest_terminal_summary(self, terminalreporter):
        write = terminalreporter.write_line
        for title, *lines in (table.splitlines() for table in self.tables):
            terminalreporter.section(title)
            for line in lines:
                write(line)
        terminalreporter.section("what ran (a test counts in each kind it belongs to)")
        for kind in KINDS:
            passed, failed, skipped = (self.counts[kind, o] for o in ("passed", "failed", "skipped"))
            if passed + failed + skipped:
                rest = (f", {failed} FAILED" if failed else "") + (f", {skipped} skipped" if skipped else "")
                write(f"{kind:>15}: {passed:4d} passed{rest}  ({self.seconds[kind]:.1f} s)")
        for reason, times in self.reasons.items():
            write(f"{'skipped':>15}: {times:4d} because: {reason}")
        n_ran = {kind: self.counts[kind, "passed"] + self.counts[kind, "failed"] for kind in KINDS}
        ran = ", ".join(f"{n} {kind}" for kind, n in n_ran.items())
        write(f"ran: {ran}; {self.tests['skipped']} skipped")


def pytest_configure(config):
    config.pluginmanager.register(Tally(), "tally")
