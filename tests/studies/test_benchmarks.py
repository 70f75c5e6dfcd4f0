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
    "centres",
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
    "rows",
    "rvm",
    "selection",
    "solves",
    "sparse",
    "tall",
    "uci",
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


def test_ranks_are_those_of_the_sets_that_all_finished():
    tables = importlib.import_module("benchmarks._tables")
    values = {"a": {"x": 1.0, "y": 2.0, "z": 9.0}, "b": {"x": 1.0, "y": 1.0}, "c": {"x": 2.0, "y": 3.0}}
    assert tables.mean_ranks(values) == {"a": 1.75, "b": 1.25, "c": 3.0}
    assert tables.mean_ranks({"a": {"x": 1.0}, "b": {}}) == tables.mean_ranks({}) == {}


# ---- the regression sets -------------------------------------------------------------------------


@pytest.fixture
def uci():
    return importlib.import_module("benchmarks.bench_uci")


def rows_of_sets(uci, **changes):
    """One split of every set, the flagship as good as it has to be; changes by set."""
    harness = importlib.import_module("benchmarks._harness")
    rows = harness.Rows()
    for case in uci.SETS:
        for method, rmse in ((uci.FLAGSHIP, 1.0), (uci.BOOSTING, 1.1), (uci.RIDGE, 2.0)):
            row = {"case": case, "method": method, "seed": 0, "status": "ok", "rmse": rmse}
            row |= {"log_density": 2.0 - rmse, "coverage": 0.95, "kept": 9, "cpu_seconds": 1.0}
            if method == uci.FLAGSHIP:
                row["log_density"] = uci.published_best(case) or 1.0
                row |= changes.get(case, {})
            rows.append(row)
    return rows


def test_the_regression_bars_are_what_was_required(uci):
    def verdicts(**changes):
        return [bar.verdict for bar in uci.bars(rows_of_sets(uci, **changes))]

    assert verdicts(boston={"log_density": 9.0}) == [
        "pass", "pass", "not reached", "pass", "pass", "pass", "pass",
    ]  # fmt: skip
    everywhere = {case: {"log_density": 3.0} for case in uci.SETS}
    assert set(verdicts(**everywhere)) == {"pass"}
    worse = everywhere | {case: {"log_density": -9.0} for case in ("yacht", "power")}
    assert verdicts(**worse)[0] == "not reached"
    worse = everywhere | {
        case: {"log_density": 3.0, "rmse": 1.2} for case in (*list(uci.LARGER)[:4], *uci.SMALL)
    }
    assert verdicts(**worse)[:4] == ["pass", "not reached", "pass", "not reached"]
    wide = everywhere | {"naval": everywhere["naval"] | {"coverage": 0.98}}
    assert verdicts(**wide)[4:] == ["not reached", "pass", "pass"]
    all_wide = {case: {"log_density": 3.0, "coverage": 0.965} for case in uci.SETS}
    assert verdicts(**all_wide)[4:] == ["pass", "not reached", "pass"]


def test_a_set_without_an_answer_counts_against_the_flagship(uci):
    rows = rows_of_sets(uci, protein={"status": "time limit"}, kin40k={"status": "skipped"})
    values = [bar.value for bar in uci.bars(rows)]
    assert values == [7, None, None, None, 1, None, 7]  # what was skipped was not measured
    assert all(bar.verdict == "not measured" for bar in uci.bars(type(rows)()))


def test_the_tables_show_what_there_is(uci):
    rows = rows_of_sets(uci)
    few = type(rows)(row for row in rows if row["case"] == "boston" and row["method"] != uci.RIDGE)
    text = uci.details(few)
    assert re.search(r"RMSE +laconism +gradient boosting +MC dropout +sparse GP\n", text)
    assert re.search(r"boston +1.00 \(0.00\) +1.10 \(0.00\) +2.90 +2.59\n", text)
    assert re.search(r"mean rank, 1 small sets +1.00 +2.00\n", text)
    assert uci.details(type(rows)()) == ""
    assert uci.ranks(rows, "rmse", uci.SMALL) == {
        "laconism": 1.0,
        "gradient boosting": 2.0,
        "ridge": 3.0,
    }


def test_numbers_are_in_the_units_of_the_target(uci, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + rng.normal(size=300)
    is_test = np.arange(300)[None] % 3 == 0

    def run(scale):
        arrays = {"X": X, "y": 7.0 + scale * y, "is_test": is_test}
        monkeypatch.setattr(uci, "data_file", lambda name: arrays)
        (row,) = uci.run(harness_cell("boston", uci.RIDGE), importlib.import_module(
            "benchmarks._harness").Watch())  # fmt: skip
        return row

    one, ten = run(1.0), run(10.0)
    assert one["rmse"] == pytest.approx(1.0, abs=0.2)
    assert ten["rmse"] == pytest.approx(10 * one["rmse"])
    assert ten["log_density"] == pytest.approx(one["log_density"] - np.log(10))
    assert one["log_density"] == pytest.approx(-0.5 * np.log(2 * np.pi * np.e), abs=0.2)
    assert ten["coverage"] == one["coverage"] > 0.85


@pytest.mark.slow
def test_rounds_of_boosting_are_judged_on_left_out_rows(uci):
    ensemble = pytest.importorskip("sklearn.ensemble")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + rng.normal(size=80)
    model = ensemble.HistGradientBoostingRegressor(random_state=0)
    losses = uci.left_out_losses(model, X, y)
    for rounds in (1, 7):
        total = 0.0
        for train, left_out in uci.folds_of(X):
            refit = ensemble.HistGradientBoostingRegressor(max_iter=rounds, early_stopping=False)
            total += np.sum((y[left_out] - refit.fit(X[train], y[train]).predict(X[left_out])) ** 2)
        assert losses[rounds - 1] == pytest.approx(total / 80)


def test_the_declared_sizes_are_those_of_the_files(uci):
    harness = importlib.import_module("benchmarks._harness")
    for case, (n, p, splits) in uci.SETS.items():
        try:
            arrays = harness.data_file(f"uci_{case}")
        except harness.Skip as reason:
            pytest.skip(str(reason))
        assert (n, p) == (np.count_nonzero(~arrays["is_test"][0]), arrays["X"].shape[1])
        assert splits <= len(arrays["is_test"])


def test_an_unknown_benchmark_is_said_in_a_sentence(command, capsys):
    with pytest.raises(SystemExit, match="2"):
        command(["run", "nonsense"])
    assert "no such benchmark: nonsense; there are ablation, centres, " in capsys.readouterr().err
