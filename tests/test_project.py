"""What strangers look for first: workflows, versions, links, forms and release notes, each checked as far as it goes.

GitHub's workflows can't run at home. So their form is compared with GitHub's published schema, and all that they run
are targets of the Makefile, which can.
"""

import doctest
import importlib.util
import itertools
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

import gplvm_edu

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[0-9]*.yml"))
PAGES = sorted(ROOT.glob("*.md"))
TOOLS = sorted((ROOT / "tools").glob("*.py"))
SCHEMAS = {
    "vendor.github-workflows": WORKFLOWS,
    "custom.github-workflows-require-timeout": WORKFLOWS,
    "vendor.github-issue-forms": FORMS,
    "vendor.github-issue-config": [ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml"],
    "vendor.dependabot": [ROOT / ".github" / "dependabot.yml"],
    "vendor.citation-file-format": [ROOT / "CITATION.cff"],
}
SYSTEM_INSTALLS = ()  # commands beside make that a workflow may run, each a one-line install: none so far

each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
each_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)


def load_yaml(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def load_tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_tool(path, *arguments):
    command = [sys.executable, str(path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=60)


release_notes = load_tool("release_notes")


def make_targets():
    """Names on the left of a colon in the Makefile, but no variables and no files."""
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    heads = [m[1] for m in (re.match(r"([a-z][\w -]*):(?!=)", line) for line in lines) if m]
    return {name for head in heads for name in head.split()}


def commands(workflow):
    """Every `run:` of a workflow, once for each value of the matrix that stands in it."""
    for job in workflow["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {})
        for step in job["steps"]:
            if "run" in step:
                yield from expanded(step["run"], matrix)


def expanded(text, matrix):
    """The text with `${{ matrix.name }}` replaced by each of its values.

    >>> list(expanded("make ${{ matrix.x }}", {"x": ["a"], "include": [{"x": "b"}]}))
    ['make a', 'make b']
    """
    names = sorted(set(re.findall(r"\$\{\{ matrix\.(\w+) \}\}", text)))
    choices = [[*matrix.get(n, []), *(m[n] for m in matrix.get("include", []) if n in m)] for n in names]
    for values in itertools.product(*choices):
        command = text
        for name, value in zip(names, values, strict=True):
            command = command.replace(f"${{{{ matrix.{name} }}}}", str(value))
        yield command.strip()


# ---------------------------------------------------------------------- GitHub
@pytest.mark.parametrize("schema", SCHEMAS)
def test_file_is_what_its_published_schema_asks_for(schema):
    checker = pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    runner = pytest.importorskip("click.testing").CliRunner()  # in this process: to start six more takes half a minute
    options = ["--builtin-schema", schema, "--default-filetype", "yaml"]
    done = runner.invoke(checker.main, [*options, *map(str, SCHEMAS[schema])])
    assert SCHEMAS[schema]
    assert done.exit_code == 0, done.output


@each_workflow
def test_workflow_runs_targets_of_the_makefile_and_nothing_else(path):
    for command in commands(load_yaml(path)):
        if command not in SYSTEM_INSTALLS:
            words = command.split()
            assert "\n" not in command, "one command for each step, so that it can be repeated at home"
            assert words[0] == "make", command
            assert words[1] in make_targets(), f"{path.name} runs `{command}`, and the Makefile has no {words[1]!r}."
            assert all(re.fullmatch(r"[A-Z]+=\S+", word) for word in words[2:]), command


def test_each_test_is_run_for_a_pull_request_or_every_week():
    """What the targets of the workflows leave out, by their markers, is nothing."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    chosen = {m[1]: m[2] for m in re.finditer(r"(?m)^(check-\w+|slow):[^\n]*\n(?:\t[^\n]*)?-m \"([^\"]+)\"", text)}
    chosen["check"] = re.search(r'(?m)^UNIT := -m "([^"]+)"', text)[1]
    files = set(re.findall(r"tests/test_\w+\.py", re.search(r"(?m)^check-notebooks:[^\n]*\n\t([^\n]+)", text)[1]))
    run = {command.split()[1] for path in WORKFLOWS for command in commands(load_yaml(path)) if path.stem != "release"}
    assert set(chosen) <= run
    notebooks = chosen.pop("check-notebooks")
    markers = ("contract", "long", "widget", "browser", "book", "slow", "fuzz")
    for values in itertools.product([False, True], repeat=len(markers)):
        has = dict(zip(markers, values, strict=True), real=False)
        everywhere = any(eval(expression, {}, has) for expression in chosen.values())
        assert everywhere or (has["book"] and eval(notebooks, {}, has)), f"no workflow runs a test with {has}"
    is_marked = re.compile(r"(?m)^(@|pytestmark = )pytest\.mark\.book")
    marked = [path.name for path in ROOT.glob("tests/test_*.py") if is_marked.search(path.read_text(encoding="utf-8"))]
    assert len(marked) == len(files) and {f"tests/{name}" for name in marked} == files


@each_workflow
def test_workflow_may_little_waits_for_no_twin_and_pins_its_actions(path):
    workflow = load_yaml(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["group"]
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            uses = step.get("uses", "actions/make@v1")
            assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", uses), uses
            assert "secrets." not in str(step), "a release needs no password: PyPI trusts the workflow"
            if "setup-python" in uses:
                assert step["with"]["cache"] == "pip"
                assert step["with"]["cache-dependency-path"] == "pyproject.toml"


def test_pull_requests_meet_every_python_that_the_package_names():
    lowest = PROJECT["project"]["requires-python"].removeprefix(">=")
    named = [c.rsplit(" ", 1)[1] for c in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", c)]
    matrix = load_yaml(ROOT / ".github" / "workflows" / "pull_request.yml")["jobs"]["check"]["strategy"]["matrix"]
    assert named[0] == lowest
    assert matrix["python"] == named
    assert {"macos-latest", "windows-latest"} <= {more["os"] for more in matrix["include"]}
    assert [m["python"] for m in matrix["include"] if m["options"] == "OLDEST=1"] == [lowest]


def test_hooks_are_pinned():
    for repository in load_yaml(ROOT / ".pre-commit-config.yaml")["repos"]:
        assert all(hook["id"] for hook in repository["hooks"])
        if repository["repo"] == "local":
            wanted = [d for hook in repository["hooks"] for d in hook["additional_dependencies"]]
            assert all("==" in dependency for dependency in wanted)
        else:
            assert re.fullmatch(r"v\d+\.\d+\.\d+", repository["rev"])


# ---------------------------------------------------------------------- versions and metadata
def test_version_is_the_same_wherever_it_stands():
    changelog = release_notes.sections((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    head, newest, *_ = changelog
    cited = str(load_yaml(ROOT / "CITATION.cff")["version"])
    assert head == "Unreleased"
    assert PROJECT["project"]["version"] == gplvm_edu.__version__ == cited == newest
    date = load_yaml(ROOT / "CITATION.cff").get("date-released", "unreleased")
    assert str(date) == changelog[newest][0], "CITATION.cff and CHANGELOG.md tell another date"


def test_changelog_goes_from_new_to_old_and_links_every_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = list(release_notes.sections(text))
    numbers = [tuple(int(n) for n in version.split(".")) for version in versions[1:]]
    assert numbers == sorted(numbers, reverse=True)
    assert set(re.findall(r"^\[([^\]]+)\]: https://\S+$", text, re.MULTILINE)) == set(versions)


def test_addresses_of_the_project_are_secure():
    assert {"Homepage", "Source", "Issues", "Changelog"} <= set(PROJECT["project"]["urls"])
    assert all(address.startswith("https://") for address in PROJECT["project"]["urls"].values())


def test_classifiers_are_those_that_pypi_knows():
    known = pytest.importorskip("trove_classifiers", reason="trove-classifiers is not installed").classifiers
    assert [c for c in PROJECT["project"]["classifiers"] if c not in known] == []


@pytest.mark.parametrize("folder", ["gplvm_edu", "widgets/gplvm_widgets"])
def test_what_a_package_loads_from_beside_it_is_in_the_wheel(folder):
    """The build takes every file of a package, but for what .gitignore names and what is excluded by name: nothing."""
    build = PROJECT["tool"]["hatch"]["build"]
    assert folder in build["targets"]["wheel"]["packages"]
    assert "exclude" not in build and "exclude" not in build["targets"]["wheel"]
    ignored = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").split()]
    beside = [p for p in (ROOT / folder).rglob("*") if p.is_file() and p.suffix not in (".py", ".pyc")]
    names = [p.relative_to(ROOT) for p in beside if "__pycache__" not in p.parts]
    assert [p for p in names if any(fnmatch(part, pattern) for part in p.parts for pattern in ignored)] == []


def test_an_editable_install_puts_the_folders_of_the_packages_on_the_path():
    """By a .pth file, which wins over a folder that only has the package's name (tests/test_binder.py tries it)."""
    build = PROJECT["tool"]["hatch"]["build"]
    parents = [Path(folder).parent.as_posix() for folder in build["targets"]["wheel"]["packages"]]
    assert build["dev-mode-dirs"] == parents


def test_the_lab_brings_pandas():
    assert any(text.startswith("pandas>=") for text in PROJECT["project"]["optional-dependencies"]["lab"])


# ---------------------------------------------------------------------- pages for people
def test_the_readme_on_pypi_leads_to_the_repository():
    source, version = PROJECT["project"]["urls"]["Source"], PROJECT["project"]["version"]
    text = load_tool("dist").absolute_links((ROOT / "README.md").read_text(encoding="utf-8"), source, version)
    found = re.findall(r"(?:\]\(|src=\")([^)\"\s]+)", text)
    assert [link for link in found if not re.match(r"https://|#", link)] == []
    pictures = [link for link in found if link.endswith((".gif", ".png")) and link.startswith(source)]
    assert pictures and all(f"/raw/v{version}/" in link for link in pictures)


@each_page
def test_links_lead_to_files_that_exist(path):
    links = re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8"))
    inside = [link.split("#")[0] for link in links if not re.match(r"https?://|#", link)]
    assert [link for link in inside if not (ROOT / link).exists()] == []


@each_page
def test_files_and_targets_that_a_page_names_exist(path):
    if path.name == "CHANGELOG.md":
        return  # it tells of the past
    quoted = re.findall(r"`([^`\n]+)`", path.read_text(encoding="utf-8"))
    files = [q for q in quoted if re.fullmatch(r"(book|gplvm_edu|tests|tools|widgets|\.github)/[\w./-]*", q)]
    made = ("book/_build", "book/NN_", "NAME")
    assert [q for q in files if not any(m in q for m in made) and not (ROOT / q).exists()] == []
    targets = [
        word for q in quoted if q.startswith("make ") for word in q.split()[1:] if re.fullmatch(r"[a-z-]+", word)
    ]
    assert sorted(set(targets) - make_targets()) == []


# ---------------------------------------------------------------------- tools
@pytest.mark.parametrize("path", TOOLS, ids=lambda path: path.stem)
def test_tool_answers_and_its_examples_run(path):
    asked = run_tool(path, "--help")
    if "ModuleNotFoundError" in asked.stderr:
        pytest.skip(f"{path.name} needs more than is installed: {asked.stderr.splitlines()[-1]}")
    assert "Traceback" not in asked.stderr, asked.stderr
    assert asked.stdout + asked.stderr
    if ">>>" in path.read_text(encoding="utf-8"):
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE  # as in pyproject.toml
        assert doctest.testmod(load_tool(path.stem), optionflags=flags).failed == 0


@pytest.mark.parametrize("version, says", [("0.1.0", "first edition"), ("0.2.0", "`optimiser=`")])
def test_release_notes_are_the_section_of_the_version(version, says):
    printed = run_tool(ROOT / "tools" / "release_notes.py", version)
    assert printed.returncode == 0, printed.stderr
    assert says in printed.stdout
    assert "\n## " not in printed.stdout
    assert "]: https://" not in printed.stdout


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "arguments, says",
    [
        ([], "Name a version"),
        (["9.9.9"], "no section for version '9.9.9'; it has Unreleased, "),
        (["0.1.0", "notes.md"], "The tag says 0.1.0, pyproject.toml says "),
    ],
)
def test_release_notes_say_what_is_missing(arguments, says):
    asked = run_tool(ROOT / "tools" / "release_notes.py", *arguments)
    assert asked.returncode == 1
    assert says in asked.stderr


@pytest.mark.bad_input
def test_only_a_dated_version_is_released(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.0.0"\n')
    for date, right in (("unreleased", False), ("2030-01-02", True)):
        (tmp_path / "CHANGELOG.md").write_text(f"## [Unreleased]\n\n## [1.0.0] - {date}\n\nNew.\n")
        if right:
            release_notes.check_release("1.0.0", tmp_path)
        else:
            with pytest.raises(ValueError, match=r"gives 1\.0\.0 no date .*'unreleased'"):
                release_notes.check_release("1.0.0", tmp_path)
    with pytest.raises(ValueError, match=r"section of Unreleased in CHANGELOG\.md is empty"):
        release_notes.release_notes("Unreleased", tmp_path)
