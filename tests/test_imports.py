"""The house's plan, read from its sources: who may import whom, and that nobody reads another's private names."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
FLOOR = (
    "names",
    "threads",
    "timing",
    "linalg",
    "checks",
    "progress",
    "calibration",
    "tables",
    "kernels",
    "optimise",
    "maps",
    "marginal",
    "starts",
    "base",
    "metrics",
    "datasets",
    "plane",
    "plotting",
)
TOPICS = (
    "ppca",
    "unify",
    "wishart",
    "gplvm",
    "proximity",
    "noise",
    "ivm",
    "gtm",
    "gtm_variants",
    "tsne",
    "variational",
    "prediction",
)  # as the chapters, but noise models come before the sparse GP-LVM
UPSTAIRS = ("papers", "exercises")
ORDER = {name: level for level, name in enumerate((*FLOOR, *TOPICS, *UPSTAIRS))}
PUBLIC_UNDERSCORES = {"_replace", "_asdict", "_fields", "_repr_mimebundle_", "_repr_html_", "_esm"}
PACKAGE = sorted((ROOT / "gplvm_edu").rglob("*.py"))
WIDGETS = sorted((ROOT / "widgets").rglob("*.py"))
TESTS = sorted((ROOT / "tests").glob("*.py"))
NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))


def name_of(path):
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path):
    """The syntax tree of a file, read once."""
    return ast.parse(path.read_text(encoding="utf-8"))


def room_of(path):
    """The room of a file of the package: gplvm_edu/ROOM/file.py or gplvm_edu/ROOM.py."""
    parts = path.relative_to(ROOT / "gplvm_edu").parts
    return parts[0].removesuffix(".py")


def imports(path):
    """(line, absolute module, imported names, inside a function) for each import of the package's own modules."""
    package = ("gplvm_edu", *path.relative_to(ROOT / "gplvm_edu").parts[:-1])
    tree = tree_of(path)
    inside = {
        id(node)
        for f in ast.walk(tree)
        if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for node in ast.walk(f)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *([node.module] if node.module else [])))
            yield node.lineno, module, [alias.name for alias in node.names], id(node) in inside
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, [], id(node) in inside


def rooms_imported(path):
    """(line, room) for each room of the package that a file imports from."""
    for line, module, names, _ in imports(path):
        parts = module.split(".")
        if parts[0] == "gplvm_edu":
            yield from ((line, room) for room in ([parts[1]] if len(parts) > 1 else names))


# ---------------------------------------------------------------------- the import graph
@pytest.mark.parametrize("path", PACKAGE, ids=name_of)
def test_imports_point_downwards_only(path):
    here = room_of(path)
    if here == "__init__":
        return
    assert here in ORDER, f"{here} is a new room: give it its place in the order above"
    wrong = [
        f"line {line}: {here} imports {room}"
        for line, room in rooms_imported(path)
        if room in ORDER and ORDER[room] > ORDER[here]
    ]
    assert not wrong, wrong


@pytest.mark.parametrize("path", [*PACKAGE, *WIDGETS], ids=name_of)
def test_no_import_hides_inside_a_function(path):
    if path in WIDGETS:
        tree = tree_of(path)
        hidden = [
            node.lineno
            for f in ast.walk(tree)
            if isinstance(f, ast.FunctionDef)
            for node in ast.walk(f)
            if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("gplvm"))
        ]
    else:
        hidden = [line for line, module, _, inside in imports(path) if inside and module.startswith("gplvm_edu")]
    assert hidden == []


@pytest.mark.parametrize("path", PACKAGE, ids=name_of)
def test_models_do_not_draw_and_functions_do_not_know_scikit_learn(path):
    modules = [module.split(".")[0] for _, module, _, _ in imports(path)]
    if room_of(path) != "plotting":
        assert not {"matplotlib", "ipywidgets", "gplvm_widgets"} & set(modules)
    if room_of(path) in TOPICS and path.name not in ("classifier.py",):
        assert "sklearn" not in modules, "scikit-learn enters through base, checks and datasets"


# ---------------------------------------------------------------------- private names
def private_names(tree):
    """(line, text) for each private name of somebody else that a piece of source reads."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and not is_own(node.value):
            found.append((node.lineno, ast.unparse(node)))
        elif isinstance(node, ast.ImportFrom):
            parts = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            found += [(node.lineno, part) for part in parts if is_private(part)]
    return found


def is_private(name):
    return bool(re.match(r"_[A-Za-z]", name)) and name not in PUBLIC_UNDERSCORES


def is_own(node):
    """self, cls, super(): a class may read what it or its parent keeps to itself; type(self) too."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("super", "type")
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def test_the_reader_finds_private_names():
    source = "from a._b import c\nself._x\nmodel._y\nstate._replace(a=1)\nf()._z\n"
    assert private_names(ast.parse(source)) == [(1, "_b"), (3, "model._y"), (5, "f()._z")]


EXCUSED = {  # oracles outside the package whose exact gradients have no public name
    "tests/test_tsne.py": ("_t_sne",),
    "tests/bench_tsne.py": ("_t_sne",),
    "tests/test_wishart.py": ("_safe_split",),
    "tests/bench_gplvm.py": ("model._objective_grads",),
    "tests/bench_variational.py": ("model._objective_grads",),
}


@cache
def written_in(room):
    """Private names that the files of one room define: a family of classes may use one another's."""
    files = [path for path in (*PACKAGE, *WIDGETS) if family_of(path) == room]
    return {name for path in files for name in defined_in(tree_of(path))}


def defined_in(tree):
    """Names that a piece of source gives to functions, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


def family_of(path):
    """The room of a file of the package; of a widget its folder, or itself where it has none."""
    if path in PACKAGE:
        return room_of(path)
    inside = path.relative_to(ROOT / "widgets").parts
    return "widgets/" + (inside[1] if len(inside) > 1 else inside[0])


class Written(NamedTuple):
    """One class as its file has it: where, its parents' names, and the private names it defines or reads of itself."""

    room: str
    parents: list
    defines: set
    reads: set


@cache
def written_classes():
    """{name: Written} for every class of the package and of the widgets."""
    found = {}
    for path in (*PACKAGE, *WIDGETS):
        for node in (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef)):
            found[node.name] = Written(family_of(path), [ast.unparse(base) for base in node.bases], *own_names(node))
    return found


def own_names(tree):
    """Private names that a class defines, and those that it reads of itself or of a parent."""
    own = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and is_private(node.attr) and is_own(node.value)
    ]
    defines = {name for name in defined_in(tree) if is_private(name)}
    return defines, {node.attr for node in own if isinstance(node.ctx, ast.Load)}


def ancestors(name):
    """Classes of ours that a class descends from."""
    parents = [parent for parent in written_classes()[name].parents if parent in written_classes()]
    return {*parents, *(old for parent in parents for old in ancestors(parent))}


@pytest.mark.parametrize("name", written_classes())
def test_a_class_keeps_out_of_what_a_parent_of_another_room_keeps_to_itself(name):
    own = written_classes()[name]
    assert own.reads <= written_in(own.room)
    for parent in (written_classes()[parent] for parent in ancestors(name)):
        if parent.room != own.room:
            assert not (own.reads | own.defines) & parent.defines


@pytest.mark.parametrize("path", [*PACKAGE, *WIDGETS, *TESTS], ids=name_of)
def test_nobody_reads_a_private_name_of_somebody_else(path):
    found = private_names(tree_of(path))
    family = written_in(room_of(path)) if path in PACKAGE else set()
    excused = EXCUSED.get(name_of(path), ())
    found = [
        (line, text)
        for line, text in found
        if not (excused and text.startswith(excused)) and not ("." in text and text.rsplit(".", 1)[1] in family)
    ]
    assert found == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_chapter_reads_a_private_name(path):
    cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    found = [text for source in cells for _, text in private_names(ast.parse(re.sub(r"(?m)^\s*[%!].*$", "", source)))]
    assert found == []
