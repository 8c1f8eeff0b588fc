"""The README's tables against GPy, GPflow, GPyTorch, ugtm and scikit-learn say what their code says.

Each name in a cell must exist, and behind a "no" there must be no class or function whose name says otherwise. The
column of scikit-learn is always checked, and our own. Another library is checked where a Python has it: this one, or
those that GPLVM_EDU_PEERS_PYTHON names (paths, separated as in PATH):

    GPLVM_EDU_PEERS_PYTHON=/envs/gpflow/bin/python:/envs/gpytorch/bin/python python -m pytest tests/test_peers.py -v

`make check-peers` installs all four, each into an environment of its own, and a library that is missing then is a
failure (GPLVM_EDU_REQUIRE_PEERS=1).
"""

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import gplvm_widgets
import pytest
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
HEADING = "## What is here that exists nowhere else"
OURS = "gplvm_edu"


class Peer(NamedTuple):
    package: str  # as it is imported
    homes: tuple  # modules of it in which a name of the table is looked for, in this order
    extra: str  # how to install it


PEERS = {
    "GPy": Peer(
        "GPy",
        ("models", "models.bayesian_gplvm_minibatch", "core", "likelihoods", "plotting.matplot_dep", ""),
        "the peers extra",
    ),
    "GPflow": Peer("gpflow", ("models", "likelihoods", ""), "pip install gpflow, in an environment of its own"),
    "GPyTorch": Peer(
        "gpytorch", ("models", "models.gplvm", "models.deep_gps", "likelihoods", "settings", ""), "the peers extra"
    ),
    "ugtm": Peer("ugtm", ("",), "the peers extra"),
    "scikit-learn": Peer("sklearn", ("decomposition", "manifold", "naive_bayes", ""), "the package itself"),
}
NEWER = {"ClassicalMDS": "1.8"}  # names of scikit-learn that our oldest version does not have yet

# What a class or function would be called that makes a "no" wrong; searched for in every name that a library defines.
TELLTALE = {
    "probabilistic PCA": r"p_?pca$|probabilistic_?pca|ppca",
    "PPCA of rows with gaps": r"ppca|pca.*(missing|nan)|(missing|nan).*pca",
    "dual PPCA": r"dual_?p?pca",
    "factor analysis": r"factor_?analysis",
    "kernel PCA, classical MDS": r"kernel_?pca|mds$",
    "one KL objective for these and the GP-LVM": r"unif(y|ied)",
    "probabilistic kernel PCA (Wishart)": r"probabilistic_?kernel|wishart_?process|kernel_?ppca",
    "Isomap, metric and non-metric MDS": r"isomap$|mds$",
    "Sammon's mapping": r"sammon",
    "t-SNE, exact gradient": r"t_?sne$",
    "GP-LVM, latent points optimised": r"gp_?lvm",
    "back constraints": r"back_?constrain|bcgplvm",
    "started from Isomap or kernel PCA": r"gp_?lvm",
    "sparse, by the informative vector machine": r"ivm|informative_?vector|sparse_?gp_?lvm",
    "probit, ordinal and count noise in it, by ADF or EP": r"^ordinal(likelihood|noise)?$|probit|density_?filter",
    "t-SNE as a prior on latent points": r"t_?sne_?prior|prior.*t_?sne",
    "Bayesian GP-LVM": r"bayesian_?gp_?lvm",
    "Bayesian GP-LVM, rows with gaps": r"gp_?lvm.*(missing|nan)|nan_?policy",
    "GTM": r"gtm|topographic",
    "incremental EM": r"gtm|incremental_?em",
    "noise along the manifold": r"manifold_?aligned",
    "discrete and mixed data": r"discrete_?gtm|gtm_?discrete",
    "semi-linear": r"semi_?linear",
    "hyperparameters by the evidence": r"bayesian_?gtm|gtm.*evidence",
    "as a Gaussian process": r"(process|gp)_?gtm",
    "batch SOM": r"(^|_|batch)som$|self_?organi[sz]|kohonen",
    "magnification factors": r"magnification",
    "latent posterior of a new row": r"infer_?new|^(find_)?latent_?posterior",
    "of a row with gaps, filled in": r"infer_?new|^impute$",
    "classes by a density for each": r"generative_?classifier",
    "labels in the code tied to equations by a test": r"equation_?label",
    "notebooks compared with a fresh run": r"notebook",
    "explorers to move": r"explore|ipywidget|interact$",
    "exercises that check your answer": r"exercise",
    "Gaussian processes in minibatches": r"svgp|approximate_?gp|(gp|process)_?mini_?batch",
    "GPU, automatic derivatives": r"cuda|gpu|autograd",
    "deep Gaussian processes": r"deep_?gp|deep_?gaussian",
    "many likelihoods, GP regression and classes": r"student_?t(_?likelihood)?$|(beta|gamma)_?likelihood",
    "one latent space for several data sets": r"^(ss)?mrd$|manifold_?relevance",
    "kernel GTM": r"k(ernel)?_?gtm",
    "t-SNE for many points (Barnes-Hut)": r"barnes",
}

PROBE = r"""
import importlib, importlib.metadata, importlib.util, json, pathlib, re, sys

def is_there(package, name, homes):
    parts = name.split(".")
    for home in homes:
        for n in range(len(parts), -1, -1):                 # the longest part that is a module, then attributes
            try:
                thing = importlib.import_module(".".join(filter(None, [package, home, *parts[:n]])))
                for part in parts[n:]:
                    thing = getattr(thing, part)
                return True
            except (ImportError, AttributeError):
                continue
    return False

def defined_names(folder):
    names = set()
    for path in folder.rglob("*.py"):
        inside = path.relative_to(folder).parts[:-1]
        if not any(re.search(r"^(old_)?test(s|ing)?$|^examples?$|^datasets$|^externals?$", part) for part in inside):
            text = path.read_text(encoding="utf-8", errors="ignore")
            names.update(re.findall(r"^[ \t]*(?:class|def)[ \t]+(\w+)", text, flags=re.M))
    return sorted(names)

def examine(package, distribution, homes, names):
    spec = importlib.util.find_spec(package)
    return spec and dict(
        version=importlib.metadata.version(distribution),
        missing=[name for name in names if not is_there(package, name, homes)],
        defined=defined_names(pathlib.Path(spec.origin).parent),
    )
"""
SPEAK = "print(chr(10) + json.dumps(examine(**json.loads(sys.stdin.read()))))"  # in another interpreter


# ---------------------------------------------------------------------- the table
class Cell(NamedTuple):
    row: str
    verdict: str  # yes, part or no
    names: tuple  # what stands between back quotes


def quoted(text):
    return tuple(re.findall(r"`([^`]+)`", text))


def read_tables():
    """{column: [Cell, ...]} and [row, ...] of each group; a row with one filled cell is the heading of a group.

    The first column holds a row's name and, between back quotes, what we have; the last holds the names of the others,
    "GPy `GPLVM`; ugtm `eGTM`: in which way", for each "yes" and "part" and for no other.
    """
    columns, groups = {name: [] for name in (OURS, *PEERS)}, {}
    for line in README.split(HEADING)[1].split("\n## ")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split("|")] if line.startswith("|") else []
        if cells[1:6] == list(PEERS):
            groups[cells[0]] = []
        elif line.count("|") > 1 and not any(cells[1:]):
            groups[cells[0].strip("*")] = []
        elif len(cells) >= 6 and not line.startswith("|--"):
            row = re.sub(r"\s*`[^`]+`", "", cells[0])
            groups[next(reversed(groups))].append(row)
            columns[OURS].append(Cell(row, "yes" if quoted(cells[0]) else "no", quoted(cells[0])))
            said = {part.split()[0].rstrip(":"): part for part in "".join(cells[6:]).split("; ") if part}
            verdicts = {name: text.strip("*") for name, text in zip(PEERS, cells[1:6], strict=True)}
            assert set(said) == {name for name, verdict in verdicts.items() if verdict != "no"}, f"last cell of {row!r}"
            for name, verdict in verdicts.items():
                columns[name].append(Cell(row, verdict, quoted(said.get(name, ""))))
    return columns, groups


COLUMNS, GROUPS = read_tables()


def test_tables_have_words_that_can_be_checked():
    cells = [(column, cell) for column, found in COLUMNS.items() for cell in found]
    assert [where for where in cells if where[1].verdict not in ("yes", "part", "no")] == []
    assert [where for where in cells if where[1].verdict == "yes" and not where[1].names] == []
    assert [cell.row for cell in COLUMNS[OURS]] == list(TELLTALE), "each row has its telltale name, in order"
    assert [row for row in GROUPS["not here"] if row not in {c.row for c in COLUMNS[OURS] if c.verdict == "no"}] == []


def test_count_of_what_exists_nowhere_else_is_that_of_the_table():
    models = [row for group, rows in GROUPS.items() if group not in ("The course", "not here") for row in rows]
    elsewhere = {cell.row for peer in PEERS for cell in COLUMNS[peer] if cell.verdict != "no"}
    said = re.search(r"Of (\d+) models and questions, (\d+) are in none", README)
    assert [int(number) for number in said.groups()] == [len(models), len(set(models) - elsewhere)]


# ---------------------------------------------------------------------- a library in an interpreter
def interpreters():
    named = os.environ.get("GPLVM_EDU_PEERS_PYTHON", "")
    return [sys.executable, *filter(None, named.split(os.pathsep))]


@cache
def probe(python, column):
    """What a Python knows of a library: version, names of the table that it lacks, all names defined; or None."""
    peer = PEERS.get(column) or Peer(OURS, ("",), "")
    names = sorted({name for cell in COLUMNS[column] for name in cell.names})
    question = dict(package=peer.package, distribution=column, homes=peer.homes, names=names)
    if python == sys.executable:
        space = {}
        exec(PROBE, space)
        return space["examine"](**question)
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    ask = [python, "-c", PROBE + SPEAK]
    answer = subprocess.run(
        ask, input=json.dumps(question), capture_output=True, text=True, timeout=300, env=environment
    )
    assert answer.returncode == 0, f"{python} could not be asked about {column}:\n{answer.stderr[-2000:]}"
    return json.loads(answer.stdout.splitlines()[-1])


def contradictions(column, defined):
    """Rows with a "no" for which the library defines a name that says otherwise, with those names."""
    cells = [cell for cell in COLUMNS[column] if cell.verdict == "no"]
    hits = {cell.row: [n for n in defined if re.search(TELLTALE[cell.row], n, re.IGNORECASE)] for cell in cells}
    return {row: names for row, names in hits.items() if names}


@pytest.mark.oracle
@pytest.mark.parametrize("column", PEERS)
def test_column_of_a_peer_says_what_its_code_says(column):
    answers = [answer for python in interpreters() if (answer := probe(python, column))]
    if not answers:
        absent = (
            f"{column} is not installed ({PEERS[column].extra}); GPLVM_EDU_PEERS_PYTHON may name a Python that has it"
        )
        (pytest.fail if os.environ.get("GPLVM_EDU_REQUIRE_PEERS") == "1" else pytest.skip)(absent)
    for answer in answers:
        print(f"{column} {answer['version']}: {sum(cell.verdict != 'no' for cell in COLUMNS[column])} cells with names")
        missing = [n for n in answer["missing"] if Version(answer["version"]) >= Version(NEWER.get(n, "0"))]
        assert missing == [], f"{column} {answer['version']} does not have these names of the README"
        assert contradictions(column, answer["defined"]) == {}, f"{column} {answer['version']} has what we deny it"


def test_scikit_learn_is_always_checked():
    assert probe(sys.executable, "scikit-learn") is not None


def test_our_own_column_names_what_exists():
    names = [name for cell in COLUMNS[OURS] for name in cell.names]
    files = [name for name in names if "/" in name]
    assert [name for name in files if not (ROOT / name).exists()] == []
    answer = probe(sys.executable, OURS)
    assert [n for n in answer["missing"] if n not in files and not hasattr(gplvm_widgets, n)] == []
    assert contradictions(OURS, answer["defined"]) == {}
