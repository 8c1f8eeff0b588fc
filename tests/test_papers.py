"""Experiments on the papers' data: the one entry point, what it lists, writes and refuses."""

import ast
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gplvm_edu import papers
from gplvm_edu.datasets import DataCorruptError, DataUnavailableError, simulate_oil_flow
from gplvm_edu.papers import __main__ as entry
from gplvm_edu.papers import gtm_variants, ppca, tsne

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "book" / "results"


def stand_in(subset=None):
    return simulate_oil_flow(subset or 200, random_state=0)


# ---------------------------------------------------------------------- what there is
@pytest.mark.long
def test_the_list_is_the_modules_of_the_room_and_the_files_of_the_book():
    command = [sys.executable, "-m", "gplvm_edu.papers", "--list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.split()
    assert listed == papers.names() == sorted(path.stem for path in RESULTS.glob("*.json"))
    assert listed == sorted(path.stem for path in (ROOT / "gplvm_edu" / "papers").glob("[a-z]*.py"))


@pytest.mark.parametrize("name", papers.names())
def test_every_experiment_has_results_with_one_signature(name):
    tree = ast.parse((ROOT / "gplvm_edu" / "papers" / f"{name}.py").read_text(encoding="utf-8"))
    (results,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "results")
    assert results.args.args[0].arg == "progress" and ast.unparse(results.args.defaults[0]) == "iter"
    assert len(results.args.args) == len(results.args.defaults)  # so results() runs


def test_no_topic_imports_the_experiments():
    for path in (ROOT / "gplvm_edu").glob("*/*.py"):
        room = path.parent.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and room != "papers":
                assert "papers" not in (node.module or ""), path


# ---------------------------------------------------------------------- what is written
@pytest.mark.parametrize("name", papers.names())
def test_a_results_file_goes_through_the_writer_and_comes_back(name, tmp_path):
    stored = RESULTS / f"{name}.json"
    written = papers.write(tmp_path / stored.name, json.loads(stored.read_text(encoding="utf-8")))
    assert written.read_bytes() == stored.read_bytes()


@pytest.fixture
def simulated(monkeypatch):
    """The experiment of chapter 1 with simulated oil in the place of the real one."""
    monkeypatch.setattr(ppca, "load_oil_flow", stand_in)


@pytest.mark.parametrize("bar", [True, False])
def test_one_experiment_is_printed_or_written_and_tells_how_far_it_is(bar, simulated, monkeypatch, tmp_path, capsys):
    if not bar:
        monkeypatch.setattr(entry, "tqdm", None)
    assert entry.main(["ppca"]) == 0
    printed = capsys.readouterr()
    assert entry.main(["ppca", str(tmp_path / "found.json")]) == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert found == json.loads(printed.out) == ppca.results()
    assert list(found) == ["oil, 100 points", "oil, 1000 points"] and found["oil, 100 points"]["n_samples"] == 100
    for part in found:
        assert part in printed.err
    assert ("ppca, 2 of 2" in printed.err) is not bar
    assert f"wrote {tmp_path / 'found.json'}" in capsys.readouterr().out


def test_all_experiments_are_written_into_a_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(entry, "run", lambda name, progress: {part: name for part in progress(["one", "two"])})
    assert entry.main(["all", str(tmp_path)]) == 0
    assert sorted(path.stem for path in tmp_path.iterdir()) == papers.names()
    assert json.loads((tmp_path / "ivm.json").read_text()) == {"one": "ivm", "two": "ivm"}


def test_the_parts_of_an_experiment_can_be_called_one_by_one(monkeypatch):
    monkeypatch.setattr(gtm_variants, "N_SETS", 2)
    assert len(gtm_variants.furrows()["angle"]) == 2
    oil = stand_in(100)
    assert ppca.describe(oil)["errors"] == ppca.pca_errors(oil.data, oil.target) > 0


def test_lines_of_the_papers_own_tables_are_added_when_they_are_asked_for(monkeypatch):
    oil, asked = stand_in(40), []
    monkeypatch.setattr(tsne, "load_table_data", lambda name: asked.append(name) or (oil.data, oil.target))
    monkeypatch.setattr(tsne, "compare", lambda Y, target: ({"n_samples": len(Y)}, None))
    monkeypatch.setattr(tsne, "digits_in_detail", lambda: {"digits": {}, "temperatures": [], "balance": 1e-5})
    assert list(tsne.results()) == ["scale", "temperature", "digits", "temperatures", "balance", "oil"]
    report = tsne.results(names=["mnist"])
    assert asked == ["oil", "oil", "mnist"]
    assert report["mnist"] == {
        "n_samples": 40,
        "printed": {"log_likelihood": [-1858200.0, -1849900.0], "per cent": [62.4, 5.92]},
    }


# ---------------------------------------------------------------------- what is refused
@pytest.mark.bad_input
@pytest.mark.parametrize(
    "arguments, says",
    [
        (["nope"], "there is no experiment 'nope'; there are datasets, gplvm"),
        ([], "required: name"),
        (["ppca", "missing/ppca.json"], "there is no folder missing: run this from the top"),
        (["all", "missing"], "there is no folder missing: run this from the top"),
        (["ppca", "."], ". is a folder; name the file"),
    ],
)
def test_a_wrong_command_is_answered_by_a_sentence(arguments, says, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        entry.main(arguments)
    assert stopped.value.code == 2 and says in capsys.readouterr().err


@pytest.mark.bad_input
def test_absent_data_are_named_and_nothing_is_written(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("GPLVM_EDU_DATA", str(tmp_path / "nowhere"))
    assert entry.main(["ppca", str(tmp_path / "ppca.json")]) == 2
    assert "ppca can't be run. The environment variable GPLVM_EDU_DATA names" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []

    def unset(subset=None):
        raise DataUnavailableError("let the environment variable GPLVM_EDU_DATA name the outer folder")

    monkeypatch.setattr(ppca, "load_oil_flow", unset)
    assert entry.main(["ppca"]) == 2 and "GPLVM_EDU_DATA" in capsys.readouterr().err


@pytest.mark.bad_input
def test_an_unknown_experiment_is_an_error_in_python_too():
    with pytest.raises(ValueError, match="There is no experiment 'nope'; there are datasets"):
        papers.run("nope")


# ---------------------------------------------------------------------- what goes wrong on the way
FAILURES = {
    "absent data": (DataUnavailableError("no file"), 2, "ppca can't be run. no file"),
    "damaged data": (DataCorruptError("bad file"), 2, "ppca can't be run. bad file"),
    "a full disk": (OSError(28, "No space left on device"), 2, "ppca can't write its results"),
    "Ctrl-C": (KeyboardInterrupt(), 130, "ppca was stopped. A file of its results that was there is as it was."),
}


@pytest.mark.bad_input
@pytest.mark.parametrize("failure", list(FAILURES))
@pytest.mark.parametrize("there", [True, False])
def test_a_run_that_fails_destroys_nothing_and_leaves_nothing(failure, there, monkeypatch, tmp_path, capsys):
    error, code, words = FAILURES[failure]
    target = tmp_path / "ppca.json"
    if there:
        target.write_text("the results of yesterday")

    def fail(name, progress):
        assert len(list(tmp_path.glob(".ppca.json.*.part"))) == 1  # opened before anything is computed
        raise error

    monkeypatch.setattr(entry, "run", fail)
    assert entry.main(["ppca", str(target)]) == code
    assert words in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["ppca.json"] * there
    assert not there or target.read_text() == "the results of yesterday"


@pytest.mark.bad_input
def test_a_mistake_in_an_experiment_is_not_hidden_and_destroys_nothing(monkeypatch, tmp_path):
    (tmp_path / "ppca.json").write_text("the results of yesterday")
    monkeypatch.setattr(entry, "run", lambda name, progress: {"not for a file": object()})
    with pytest.raises(TypeError, match="not JSON serializable"):
        entry.main(["ppca", str(tmp_path / "ppca.json")])
    assert [path.read_text() for path in tmp_path.iterdir()] == ["the results of yesterday"]


@pytest.mark.bad_input
@pytest.mark.parametrize("what", ["file", "folder", "folder of all", "file of all"])
def test_a_file_that_can_not_be_written_is_named_before_anything_is_computed(what, monkeypatch, tmp_path, capsys):
    locked = tmp_path / "tsne.json" if what.startswith("file") else tmp_path
    (tmp_path / "tsne.json").write_text("kept")
    allowed = os.access  # root may write everywhere, so the answer is changed
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != locked and allowed(path, mode))
    monkeypatch.setattr(entry, "run", lambda name, progress: pytest.fail("computed in vain"))
    command = ["all", str(tmp_path)] if what.endswith("all") else ["tsne", str(tmp_path / "tsne.json")]
    assert entry.main(command) == 2
    told = capsys.readouterr().err
    assert "can't write its results" in told and f"{str(locked)!r}" in told and "Name another file" in told
    assert [path.read_text() for path in tmp_path.iterdir()] == ["kept"]


@pytest.mark.bad_input
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_named_before_anything_is_computed(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(entry, "run", lambda name, progress: pytest.fail("computed in vain"))
    tmp_path.chmod(0o500)
    try:
        assert entry.main(["ppca", str(tmp_path / "ppca.json")]) == 2
    finally:
        tmp_path.chmod(0o700)
    assert "Permission denied" in capsys.readouterr().err


@pytest.mark.bad_input
def test_a_folder_in_the_place_of_one_of_all_files_and_a_name_that_is_too_long_are_told(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(entry, "run", lambda name, progress: pytest.fail("computed in vain"))
    (tmp_path / "wishart.json").mkdir()
    with pytest.raises(SystemExit) as stopped:
        entry.main(["all", str(tmp_path)])
    assert stopped.value.code == 2 and "wishart.json is a folder" in capsys.readouterr().err
    assert entry.main(["ppca", str(tmp_path / ("x" * 300))]) == 2
    assert "can't write its results" in capsys.readouterr().err
    with pytest.raises(IsADirectoryError):
        papers.write(tmp_path / "wishart.json", {})
    with pytest.raises(FileNotFoundError):
        papers.write(tmp_path / "nowhere" / "wishart.json", {})


def test_a_new_file_takes_the_place_of_the_old_one_with_its_mode_and_behind_its_link(simulated, tmp_path):
    target, link = tmp_path / "kept" / "ppca.json", tmp_path / "link.json"
    target.parent.mkdir()
    target.write_text("old")
    target.chmod(0o640)
    try:
        link.symlink_to(target)
    except OSError:  # Windows asks for a privilege
        link = target
    assert entry.main(["ppca", str(link)]) == 0
    assert json.loads(target.read_text()) == ppca.results() and os.path.samefile(link, target)
    assert target.stat().st_mode & 0o777 == 0o640 or os.name == "nt"
    assert [path.name for path in target.parent.iterdir()] == ["ppca.json"]


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="there is no /dev/null here")
def test_what_can_not_be_replaced_is_written_to_directly(simulated):
    assert entry.main(["ppca", "/dev/null"]) == 0
    assert not Path("/dev/null").is_file()


@pytest.mark.long
@pytest.mark.bad_input
def test_a_mistyped_data_folder_is_told_without_a_traceback(tmp_path):
    command = [sys.executable, "-m", "gplvm_edu.papers", "ppca", str(tmp_path / "ppca.json")]
    environment = {**os.environ, "GPLVM_EDU_DATA": str(tmp_path / "nowhere")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 2 and "GPLVM_EDU_DATA names" in done.stderr
    assert "Traceback" not in done.stderr and list(tmp_path.iterdir()) == []


@pytest.mark.long
@pytest.mark.bad_input
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_is_answered_by_a_sentence_and_the_old_file_stays(tmp_path):
    target = tmp_path / "gtm_variants.json"
    target.write_text("the results of yesterday")
    command = [sys.executable, "-m", "gplvm_edu.papers", "gtm_variants", str(target)]  # needs no file, and a while
    heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}  # a shell's background jobs are deaf
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT, **heard)
    try:
        end = time.monotonic() + 60
        while not list(tmp_path.glob(".gtm*.part")) and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        told = running.communicate(timeout=60)[1]
    finally:
        running.kill()
    assert running.returncode == 130 and "gtm_variants was stopped" in told and "Traceback" not in told
    assert [path.read_text() for path in tmp_path.iterdir()] == ["the results of yesterday"]
