"""Experiments on the papers' data: the one entry point, what it lists, writes and refuses."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from gplvm_edu import papers
from gplvm_edu.datasets import DataUnavailableError, simulate_oil_flow
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
