"""The benchmarks are found, run in small, and keep what they measured."""

import csv
import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = [
    "ablation",
    "covertype",
    "dask",
    "factored",
    "grid",
    "ida",
    "jcfo",
    "left_out",
    "mnist",
    "moons",
    "quality",
    "recovery",
    "ripley",
    "rvm",
    "selection",
    "solves",
    "sparse",
    "tall",
    "wide",
]

pytestmark = pytest.mark.skipif(
    not (ROOT / "benchmarks").is_dir(), reason="The benchmarks are not part of this copy of the sources."
)


def benchmarks(*arguments):
    command = [sys.executable, "-m", "benchmarks", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture
def command(monkeypatch):
    """The command without a process of its own, since importing takes longer than what is asked here."""
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.__main__").main


def test_the_folder_is_the_registry(command, capsys):
    assert command(["list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == NAMES


@pytest.mark.slow
def test_a_small_benchmark_prints_ratios_and_keeps_its_rows(tmp_path, command, capsys):
    done = benchmarks("run", "tall", "--quick", "--threads", 1, "--results", tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"one core: times faster than lbfgs +[\d.e-]+x +>= 1x +(pass|not reached)", done.stdout
    )
    assert "two cores" in done.stdout
    assert "not measured" in done.stdout
    with (tmp_path / "tall.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["laconism", "lbfgs"]
    assert {row["status"] for row in rows} == {"ok"}
    assert all(float(row["seconds"]) > 0 and float(row["peak_mib"]) > 0 for row in rows)
    assert command(["table", "tall", "--results", str(tmp_path)]) == 0
    assert "| tall | fit, one core: times faster than lbfgs |" in capsys.readouterr().out


def test_only_what_is_asked_for_and_missing_is_run(tmp_path):
    runner = pytest.importorskip("benchmarks._runner")
    cells = [
        harness_cell("a", "laconism", seeds=(0, 1)),
        harness_cell("a", "rival"),
        harness_cell("b", "laconism"),
    ]
    bench = SimpleNamespace(cells=lambda quick: cells)

    def chosen(**options):
        asked = {
            "quick": False,
            "threads": None,
            "limit": None,
            "only": None,
            "missing": False,
            **options,
        }
        return [str(c) for c in runner.choose("toy", bench, tmp_path, SimpleNamespace(**asked))]

    everything = [str(cell) for cell in cells]
    assert chosen(missing=True) == chosen() == everything
    assert chosen(only="laconism") == [everything[0], everything[2]]
    done = [{**runner.describe(cell), "status": "ok"} for cell in cells[:2]]
    runner.append(tmp_path / "toy.csv", [*runner.COMMON, *runner.LAST], done)
    assert chosen(missing=True) == [everything[0], everything[2]]  # the first lacks its second seed
    assert chosen(missing=True, only="b n=") == [everything[2]]


def harness_cell(case, method, **rest):
    from benchmarks._harness import Cell

    return Cell(case, method, 10, 2, **rest)


def test_a_miss_within_its_standard_error_is_called_level_and_shows_it():
    harness = importlib.import_module("benchmarks._harness")
    bar = harness.Bar("error", 1.004, "<=", 1.0, error=0.005)
    assert bar.cells() == ("error", "1.004 (0.005)", "<= 1", "level")
    assert harness.Bar("error", 1.006, "<=", 1.0, error=0.005).verdict == "not reached"
    assert harness.Bar("error", 1.004, "<=", 1.0).verdict == "not reached"
    assert harness.Bar("error", 0.999, "<=", 1.0, error=0.005).verdict == "pass"


def test_the_error_of_a_quotient_is_that_of_repeated_draws():
    harness = importlib.import_module("benchmarks._harness")
    rng = np.random.default_rng(0)

    def quotient(draws):
        theirs = rng.gamma(20.0, size=draws)
        ours = 0.9 * theirs + rng.normal(size=draws)
        found = {"ours": ours, "theirs": theirs}
        return harness.Rows(
            {"method": method, "seed": seed, "status": "ok", "loss": float(values[seed])}
            for method, values in found.items()
            for seed in range(draws)
        ).quotient("loss", "ours", "theirs")

    found = np.array([quotient(50) for _ in range(300)])
    assert found[:, 0].mean() == pytest.approx(0.9, abs=0.002)
    assert found[:, 1].mean() == pytest.approx(found[:, 0].std(), rel=0.15)


def test_an_unknown_benchmark_is_said_in_a_sentence(command, capsys):
    with pytest.raises(SystemExit, match="2"):
        command(["run", "nonsense"])
    assert "no such benchmark: nonsense; there are ablation, covertype, " in capsys.readouterr().err
