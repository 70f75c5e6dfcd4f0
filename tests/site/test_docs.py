"""The documents tell the truth: their code runs, their output is real, what they name is there."""

import contextlib
import importlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md"]
DOCUMENTS += ["CODE_OF_CONDUCT.md", "RELEASING.md", "SECURITY.md"]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read(name):
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"{name} is not part of this copy of the sources.")
    return path.read_text(encoding="utf-8")


def blocks(name):
    """Return language, text and line of each fenced block."""
    text = read(name)
    return [(m[1], m[2], text[: m.start()].count("\n") + 2) for m in FENCE.finditer(text)]


# ---- code ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_the_code_of_a_document_runs_and_prints_what_it_says(name, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT))  # the benchmarks are not installed
    monkeypatch.chdir(tmp_path)  # where files may be written
    found = blocks(name)
    namespace = {"__name__": "document"}
    ran = 0
    for (language, code, line), (following, expected, _) in zip(
        found, [*found[1:], ("", "", 0)], strict=True
    ):
        if language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            # Empty lines in front make a traceback point into the document.
            exec(compile("\n" * (line - 1) + code, str(ROOT / name), "exec"), namespace)
        if following == "text":
            assert printed.getvalue() == expected, f"{name}, the output of line {line}"
        else:
            assert printed.getvalue() == "", f"{name}, line {line} prints what is not shown"
        ran += 1
    assert ran >= 2


# ---- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name):
    read("Makefile")  # a copy without it has not all documents either
    folder = (ROOT / name).parent
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", read(name)):
        if not target.startswith("http"):
            assert (folder / target).exists(), f"{name} links to {target}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_files_and_commands_exist(name):
    text = FENCE.sub("", read(name))
    targets = set(re.findall(r"^([a-z]+):", read("Makefile"), re.MULTILINE))
    asked = set(re.findall(r"`make ([a-z]+)", text)) | set(re.findall(r"^ +make ([a-z]+)", text, re.M))
    assert asked <= targets, f"{name} asks make for {asked - targets}"
    places = [ROOT, ROOT / "src" / "laconism", (ROOT / name).parent]
    for path in re.findall(r"`((?:\w+/)*[\w.]+\.(?:py|md|toml|cff))`", text):
        assert any((place / path).exists() for place in places), f"{name} names {path}"


def test_decision_records_name_files_that_exist():
    places = [ROOT, ROOT / "src" / "laconism", ROOT / "src"]
    for record in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        for path in set(re.findall(r"`((?:\w+/)+\w+\.py)`", record.read_text(encoding="utf-8"))):
            assert any((place / path).exists() for place in places), f"{record.name} names {path}"


def test_documents_are_short():
    for name, most_kb in {"ARCHITECTURE.md": 12, "README.md": 11, "CONTRIBUTING.md": 12}.items():
        assert len(read(name).encode()) <= 1000 * most_kb, f"{name} is longer than {most_kb} kB"


def test_the_architecture_names_what_exists_and_measures_nothing():
    text = read("ARCHITECTURE.md")
    packages = "model|judging|solvers|linalg|laplace|flagship|sparse|rvm|jcfo"
    for name in set(re.findall(rf"`((?:{packages})\.[\w.]+)`", text)):
        holder, _, last = f"laconism.{name}".rpartition(".")
        module = importlib.import_module(holder)
        if not hasattr(module, last):
            importlib.import_module(f"laconism.{name}")
    assert not re.findall(r"\d\.\d", text), "measurements belong in docs/decisions"


@pytest.mark.slow
def test_the_ratios_of_the_readme_are_those_of_the_results(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    text = read("README.md")
    read("benchmarks/README.md")  # a copy without the benchmarks has no results either
    from benchmarks._harness import RESULTS, registry
    from benchmarks._report import markdown

    shown = text.split("<!-- benchmarks:begin -->")[1].split("<!-- benchmarks:end -->")[0]
    rows = shown.strip().splitlines()
    assert 5 <= len(rows) <= 7
    (names,) = re.findall(r"python -m benchmarks table ([a-z ]+)$", text, re.MULTILINE)
    benches = {name: bench for name, bench in registry().items() if name in names.split()}
    assert set(rows) <= set(markdown(benches, RESULTS).splitlines())


def test_the_readme_takes_two_minutes():
    assert len(read("README.md").encode()) <= 11_000


def test_the_citation_has_what_the_format_requires():
    keys = re.findall(r"^([a-z-]+):", read("CITATION.cff"), re.MULTILINE)
    assert {"cff-version", "message", "title", "authors", "license", "references"} <= set(keys)
    assert len(keys) == len(set(keys))
