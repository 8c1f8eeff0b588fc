"""What all tests share: the browser, a JupyterLab, the built book, and the table of what ran.

Settings from outside:
GPLVM_EDU_BROWSER            the browser to use (else Chromium, Chrome or Edge is looked for);
GPLVM_EDU_REQUIRE_BROWSER=1  a missing browser fails the browser tests instead of skipping them;
GPLVM_EDU_DATA               the folder of the papers' real data (`make real`);
GPLVM_EDU_SCREENSHOTS        where screenshots for people are kept (else pytest's temporary folder);
HYPOTHESIS_PROFILE=explore   new random examples, many of them (else the same 25 on every machine).
"""
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")        # for small matrices a second thread only gets in the way

import json
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import hypothesis
import pytest
from lab import ADVICE, Browser, Lab, Site, find_browser

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"

hypothesis.settings.register_profile("course", deadline=None, max_examples=25, derandomize=True)
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


@pytest.fixture(scope="session")
def built_book(tmp_path_factory):
    """Folder of the built pages: built once, with warnings as errors."""
    out = tmp_path_factory.mktemp("built")
    copy_book(out / "book")
    program = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()"]
    build = [*program, "build", str(out / "book"), "--all", "-W", "-n", "--keep-going"]
    answer = subprocess.run(build, capture_output=True, text=True, timeout=600)
    if answer.returncode != 0:
        warnings = [line for line in answer.stderr.splitlines() if "WARNING" in line or "ERROR" in line]
        report = "\n".join(warnings or [answer.stderr[-4000:]])
        pytest.fail(f"the book does not build without warnings:\n{report}", pytrace=False)
    return out / "book" / "_build" / "html"


@pytest.fixture(scope="session")
def fresh_results(tmp_path_factory):
    """``fresh_results("ppca")``: what `python -m gplvm_edu.ppca` finds on the papers' real data, computed once."""
    if not os.environ.get("GPLVM_EDU_DATA"):
        pytest.skip("GPLVM_EDU_DATA does not name the folder of the papers' real data (appendix B)")
    folder = tmp_path_factory.mktemp("results")

    @cache
    def compute(name):
        path = folder / f"{name}.json"
        write = [sys.executable, "-m", f"gplvm_edu.{name}", str(path)]
        answer = subprocess.run(write, capture_output=True, text=True, timeout=2400)
        assert answer.returncode == 0, answer.stderr[-2000:]
        return json.loads(path.read_text())

    return compute


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


# ---------------------------------------------------------------------- what ran
KINDS = {  # line of the table: marker
    "identities": "identity", "gradients": "gradient", "oracles": "oracle", "properties": None,
    "bad input": "bad_input", "doctests": None, "notebook cells": None, "labels": "labels",
    "widgets": "widget", "browser": "browser", "book": "book", "slow": "slow", "real": "real", "other": None,
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
    """Counts each finished test once per kind, and keeps the reasons of those skipped."""

    def __init__(self):
        self.kinds, self.counts, self.reasons, self.seconds = {}, Counter(), Counter(), Counter()
        self.tests = Counter()

    def pytest_collection_modifyitems(self, items):
        self.kinds = {item.nodeid: kinds_of(item) for item in items}

    def pytest_runtest_logreport(self, report):
        kinds = self.kinds.get(report.nodeid, ["other"])
        for kind in kinds:
            self.seconds[kind] += report.duration
        outcome = {"passed": "passed", "failed": "failed", "skipped": "skipped"}[report.outcome]
        if report.when != "call" and outcome == "passed":
            return
        self.tests[outcome] += 1
        for kind in kinds:
            self.counts[kind, outcome] += 1
        if outcome == "skipped":
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            self.reasons[reason.removeprefix("Skipped: ")] += 1

    def pytest_terminal_summary(self, terminalreporter):
        write = terminalreporter.write_line
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
