"""What is released: the wheel, lists of dependencies and versions, and the workflows that publish."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import laconism

yaml = pytest.importorskip("yaml", reason="The workflows are YAML: pip install pyyaml.")

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MOST_WHEEL_BYTES = 600_000
BOUND = re.compile(r"([\w.-]+)(?:\[.*\])?>=([\d.]+)")
REPOSITORY = pytest.mark.skipif(not WORKFLOWS, reason="This copy of the sources has no workflows.")


@pytest.fixture(scope="module")
def pyproject():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def pythons(pyproject):
    """The versions of Python that the classifiers name."""
    pattern = r"Programming Language :: Python :: (3\.\d+)"
    found = (re.fullmatch(pattern, each) for each in pyproject["project"]["classifiers"])
    return [match[1] for match in found if match]


# ---- the wheel ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel built from these sources, without a network."""
    build = pytest.importorskip("hatchling.build", reason="Wheels are built by hatchling.")
    folder, here = tmp_path_factory.mktemp("wheel"), Path.cwd()
    os.chdir(ROOT)
    try:
        return folder / build.build_wheel(str(folder))
    finally:
        os.chdir(here)


def test_the_wheel_is_small_and_whole(wheel):
    assert wheel.stat().st_size < MOST_WHEEL_BYTES
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    sources = (ROOT / "src" / "laconism").rglob("*")
    files = {str(path.relative_to(ROOT / "src").as_posix()) for path in sources if path.is_file()}
    assert {name for name in names if ".dist-info/" not in name} == {
        name for name in files if "__pycache__" not in name
    }
    assert {"laconism/py.typed", "laconism/cli/page.html"} <= names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_wheel_runs(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code = (
        "import runpy, sys, laconism; print(laconism.__file__); sys.argv[1:] = ['--version'];"
        "runpy.run_module('laconism', run_name='__main__', alter_sys=True)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    place, version = run.stdout.splitlines()
    assert Path(place).resolve().is_relative_to(tmp_path.resolve())
    assert version == f"laconism {laconism.__version__}"


# ---- dependencies and versions --------------------------------------------------------------


def lower_bounds(requirements):
    return dict(BOUND.fullmatch(each).groups() for each in requirements if "laconism[" not in each)


def test_the_oldest_dependencies_are_those_of_pyproject(pyproject):
    project = pyproject["project"]
    run = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "oldest.py")], capture_output=True, text=True, check=True
    )
    pinned = dict(line.split("==") for line in run.stdout.splitlines())
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    for requirements in [*lists, pyproject["dependency-groups"]["test"]]:
        assert lower_bounds(requirements).items() <= pinned.items()


@pytest.mark.skipif(not shutil.which("make"), reason="There is no make.")
def test_other_versions_get_environments_of_their_own():
    if not (ROOT / "Makefile").exists():
        pytest.skip("This copy of the sources has no Makefile.")

    def commands(*settings):
        asked = ["make", "--always-make", "--dry-run", "test", *settings]
        return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    usual, newest, oldest = (
        commands("PYTHON=python3"),
        commands("PYTHON=/opt/python3.14"),
        commands("OLDEST=1", "PYTHON=python3"),
    )
    assert ".venv/bin/ruff" in usual
    assert "/opt/python3.14 -m venv .venv-python3.14\n" in newest
    assert ".venv-oldest/bin/python tests/oldest.py > .venv-oldest/oldest.txt" in oldest
    assert "--group test --constraint .venv-oldest/oldest.txt" in oldest
    assert "ruff" not in oldest  # linters and stubs follow the newest packages
    for settings in (newest, oldest):
        assert ".venv/" not in settings


@pytest.mark.skipif(not (ROOT / "conda").exists(), reason="This copy of the sources has no recipe.")
def test_the_recipe_needs_what_pyproject_needs(pyproject):
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text())
    project, needs = pyproject["project"], recipe["requirements"]
    assert recipe["context"]["version"] == laconism.__version__
    other = {"dask": "dask-core", "matplotlib": "matplotlib-base"}  # its names without what is optional

    def named(requirements):
        bounds = lower_bounds(requirements)
        return {f"{other.get(name, name)} >={version}" for name, version in bounds.items()}

    assert set(needs["run"]) == {f"python {project['requires-python']}", *named(project["dependencies"])}
    extras = set().union(*map(named, project["optional-dependencies"].values()))
    assert set(needs["run_constraints"]) == extras
    backend = named(pyproject["build-system"]["requires"])
    assert set(needs["host"]) == {f"python {project['requires-python']}", "pip", *backend}
    scripts = [f"{name} = {place}" for name, place in project["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == scripts
    assert recipe["about"]["license"] == project["license"]


# ---- workflows ------------------------------------------------------------------------------


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in (job, *job.get("steps", ()))]


def read(path):
    workflow = yaml.safe_load(path.read_text())
    workflow["on"] = workflow.pop(True, workflow.get("on"))  # YAML 1.1 reads the key `on` as true
    return workflow


@REPOSITORY
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_say_their_version(path):
    used = [step["uses"] for step in steps(read(path)) if "uses" in step]
    foreign = [name for name in used if not name.startswith("./")]
    for name in foreign:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name), f"{name} is not pinned by a commit"
    assert path.read_text().count("  # v") >= len(foreign), "each has its version in a comment"
    for name in set(used) - set(foreign):
        assert (ROOT / name).exists()


@REPOSITORY
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_tokens_may_only_read(path):
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        may = {"id-token": "write"} if (path.stem, name) == ("release", "publish") else None
        assert job.get("permissions") == may
    for step in steps(workflow):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
    assert "secrets." not in path.read_text()
    assert workflow["concurrency"]["group"]


@REPOSITORY
def test_every_version_of_python_is_tested_on_three_systems(pyproject):
    tests = read(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]
    matrix = tests["tests"]["strategy"]["matrix"]
    assert matrix["python-version"] == pythons(pyproject)
    assert {name.split("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert pyproject["project"]["requires-python"] == f">={pythons(pyproject)[0]}"
    assert "OLDEST=1" in str(tests["oldest"])


@REPOSITORY
def test_a_release_is_published_with_attestations_from_a_tag():
    release = read(ROOT / ".github" / "workflows" / "release.yml")
    assert release["on"] == {"push": {"tags": ["v*"]}}
    publish = release["jobs"]["publish"]
    assert publish["needs"] == "build"
    assert publish["environment"] == "release"
    assert publish["steps"][-1]["with"] == {"attestations": True}


@REPOSITORY
def test_forms_of_issues_and_hooks_are_readable():
    for path in (ROOT / ".github").rglob("*.yml"):
        assert isinstance(yaml.safe_load(path.read_text()), dict), path
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"):
        form = yaml.safe_load(path.read_text())
        assert {"name", "description", "body"} <= set(form)
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert all(re.match(r"v\d", repository["rev"]) for repository in hooks["repos"])
