"""The command line with ``--engine dask``: many files, two worker processes."""

import contextlib
import csv
import io
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("skops", reason="the command line needs skops")
pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
distributed = pytest.importorskip("distributed", reason="the engine dask needs distributed")

import laconism  # noqa: E402
from laconism.cli import main  # noqa: E402
from laconism.cli.columns import make_preprocessing, plan_columns, tidy  # noqa: E402
from laconism.cli.console import Terminal  # noqa: E402
from laconism.cli.dask_columns import Column, Kinds, fit_preprocessing, join, plan_of  # noqa: E402


def run(*words):
    """Run one command in this process; return its code and what it wrote to stdout and stderr."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    before, sys.argv = sys.argv, ["laconism", *map(str, words)]
    code = 0
    try:
        with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
            main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv = before
    for stream in streams:
        stream.flush()
    return [code, *(stream.buffer.getvalue().decode() for stream in streams)]


@pytest.fixture(scope="module")
def address():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        with cluster:
            yield cluster.scheduler_address


@pytest.fixture
def on_dask(address, monkeypatch, folder):
    """Run a command on the cluster, in the folder of the files; it must succeed."""
    monkeypatch.chdir(folder)

    def succeed(*words):
        code, out, err = run(*words, "--engine", "dask", "--scheduler", address)
        assert code == 0, err
        return out, err

    return succeed


def people(n, seed):
    rng = np.random.default_rng(seed)
    height, town = 170 + 10 * rng.normal(size=n), rng.choice(["Bath", "Rome", "Oslo"], n)
    age = rng.uniform(20, 60, n).round(1)
    latent = (height - 170) / 5 + 3.0 * (town == "Rome") - 0.1 * (age - 40) + rng.normal(size=n)
    return pd.DataFrame(
        {
            "height": height,
            "age": age,
            "town": town,
            "name": [f"{seed}-{k}" for k in range(n)],
            "id": np.arange(n) + n * seed,
            "born": pd.Timestamp("1980-01-02") + pd.to_timedelta(rng.integers(0, 99, n), "D"),
            "tall": np.where(latent > 0, "yes", "no"),
            "size": latent,
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("files")
    for k in range(3):
        table = people(1000, k)
        table.loc[3:6, "age"] = np.nan
        table.loc[7:8, "town"] = None
        table.loc[9:10, "tall"] = None
        table.to_parquet(made / f"people{k}.parquet")
        people(300, 10 + k).to_csv(made / f"new{k}.csv", index=False)
    return made


@pytest.fixture
def fitted(on_dask, folder):
    """A model of the people, fitted once, and what the command said."""
    if not (folder / "tall.skops").exists():
        words = ("people*.parquet", "-t", "tall", "--drop", "size", "-o", "tall.skops")
        _, err = on_dask("fit", *words, "--set", "sample_rows=1000")
        (folder / "said.txt").write_text(err)
    return (folder / "said.txt").read_text()


# ---- columns, without a cluster --------------------------------------------------------------


def test_sums_over_partitions_are_those_of_all_rows():
    rng = np.random.default_rng(0)
    values = 1e6 + rng.normal(size=1000)
    values[:7] = np.nan
    parts = [Column.of_numbers(part) for part in np.split(values, [0, 10, 400])]
    whole = join(parts)
    assert (whole.known, whole.missing) == (993, 7)
    np.testing.assert_allclose([whole.mean, whole.deviation], [np.nanmean(values), np.nanstd(values)])
    assert (whole.low, whole.high) == (np.nanmin(values), np.nanmax(values))


@pytest.mark.parametrize("n_towns", [2, 3, 30])
def test_the_preprocessing_is_that_of_the_local_fit(n_towns):
    """Numbers are standardised, rare categories share a feature, missing ones are a category."""
    rng = np.random.default_rng(1)
    n = 4000
    towns = np.minimum(rng.geometric(0.1, n), n_towns)  # no two of them have the same frequency
    table = pd.DataFrame({"a": rng.normal(5, 3, n), "flag": rng.random(n) < 0.3, "town": towns})
    table["town"] = [f"t{k:02d}" for k in table["town"]]
    table.loc[:3, "town"] = None
    table["y"] = rng.normal(size=n)
    terminal, rest = Terminal(quiet=True), table.drop(columns="y")
    plan = plan_columns(rest, terminal)
    rows = tidy(rest, plan.numbers, plan.categories)
    local = make_preprocessing(plan).fit(rows)
    kinds = Kinds.of(table.head(), "y", (), ())
    parts = [kinds.summarise(table[k::3], k) for k in range(3)]
    columns, notes = kinds.join(parts), Terminal(quiet=True)
    found = fit_preprocessing(plan_of(kinds, columns, table.head(100), notes), columns)
    np.testing.assert_allclose(found.transform(rows), local.transform(rows), rtol=1e-12, atol=1e-12)
    assert found.get_feature_names_out().tolist() == local.get_feature_names_out().tolist()
    assert notes.notes == terminal.notes


# ---- fit, inspect, predict, evaluate ---------------------------------------------------------


def test_fit_reports_what_it_did(fitted):
    for part in (
        "people*.parquet: 3,000 rows, 8 columns",
        "6 rows without a value of the target tall left out.",
        "tall: classification (text)",
        "left out name: text with more than 50 distinct values.",
        "left out id: an identifier",
        "left out born: dates",
        "replaced by the mean: age (12)",
        "made a category of their own: town (6)",
        "pass 1, describe: ",
        "pass 3, newton: ",
        "columns from 1000 rows.",
        "saved tall.skops",
    ):
        assert part in " ".join(fitted.split()), part


def test_the_saved_model_is_an_ordinary_one(fitted, folder, monkeypatch):
    monkeypatch.chdir(folder)
    code, out, err = run("inspect", "tall.skops")
    assert (code, err) == (0, "")
    assert "fitted on 2,994 rows and 3 columns, which make 6 features." in " ".join(out.split())
    assert "of the sample" in out
    table = pd.concat([people(300, 10 + k) for k in range(3)], ignore_index=True)
    model = laconism.load(folder / "tall.skops")
    known = pd.concat([pd.read_parquet(folder / f"people{k}.parquet") for k in range(3)])
    numbers = known[known["tall"].notna()][["height", "age"]]
    scale = model[0].named_transformers_["numbers"][-1]
    np.testing.assert_allclose(scale.mean_, numbers.mean())
    np.testing.assert_allclose(scale.scale_, numbers.std(ddof=0))
    assert model.score(table, table["tall"]) > 0.8


def test_predictions_are_those_of_the_local_engine(fitted, on_dask, folder):
    code, local, err = run("predict", "tall.skops", "new1.csv", "-q")
    assert code == 0, err
    out, err = on_dask("predict", "tall.skops", "new1.csv", "-q")
    assert (out, err) == (local, "")
    _, err = on_dask("predict", "tall.skops", "new*.csv", "-o", "folder")
    assert "wrote 900 rows to folder" in err
    assert len(list((folder / "folder").iterdir())) == 3
    written = pd.read_parquet(folder / "folder" / "part.000001.parquet")
    rows = [*csv.reader(io.StringIO(local))][1:]  # older pandas reads the last digit differently
    assert written.to_numpy().tolist() == [[label, *map(float, numbers)] for label, *numbers in rows]
    strange = people(300, 1).assign(town="Paris").drop(columns="name")
    strange.to_parquet(folder / "strange.parquet")
    out, _ = on_dask("predict", "tall.skops", "strange.parquet", "-o", "all.csv", "--json")
    said = json.loads(out)
    assert said["rows"] == len(pd.read_csv(folder / "all.csv")) == 300
    assert said["notes"] == ["town: 300 rows with categories the model has not seen."]


def test_a_saved_model_is_scored_by_one_pass(fitted, on_dask, folder):
    out, _ = on_dask("evaluate", "new*.csv", "-t", "tall", "--saved", "tall.skops", "--json")
    (said,) = json.loads(out)["models"]
    table = pd.concat([people(300, 10 + k) for k in range(3)], ignore_index=True)
    model = laconism.load(folder / "tall.skops")
    probability = model.predict_proba(table)[np.arange(900), (table["tall"] == "yes").astype(int)]
    wrong, nats = model.predict(table) != table["tall"], -np.log(probability)
    np.testing.assert_allclose([said["error"], said["log_loss"]], [wrong.mean(), nats.mean()])
    errors = [np.std(each, ddof=1) / 30 for each in (wrong, nats)]
    np.testing.assert_allclose([said["error_se"], said["log_loss_se"]], errors)


def test_evaluate_holds_rows_out(on_dask, folder):
    words = (
        "evaluate",
        "people*.parquet",
        "-t",
        "size",
        "--drop",
        "tall",
        "--models",
        "sparse,baseline",
    )
    out, _ = on_dask(*words, "--json")
    said = json.loads(out)
    assert (said["task"], said["rows"]) == ("regression", 600)
    ours, mean = said["models"]
    table = pd.concat([people(1000, k) for k in range(3)], ignore_index=True)
    held_out = table["size"][::5]  # 1,000 is a multiple of 5
    np.testing.assert_allclose(mean["rmse"], np.sqrt(np.mean((held_out - table["size"].mean()) ** 2)))
    assert abs(mean["r2"]) < 0.01
    assert 0.9 < ours["rmse"] < 1.15  # the noise has a standard deviation of one
    np.testing.assert_allclose(ours["r2"], 1 - ours["rmse"] ** 2 / held_out.var(ddof=0))
    out, _ = on_dask(*words, "-q")
    assert "One of 5 rows was held out: 600 rows" in out
    assert "R2: laconism sparse 0." in out


def test_a_relevance_vector_machine_of_values(on_dask, folder):
    words = ("fit", "new*.csv", "-t", "size", "--drop", "tall", "--model", "rvm", "-o", "rvm.skops")
    out, _ = on_dask(*words, "--json", "--set", "sample_rows=300")
    said = json.loads(out)
    assert (said["model"], said["rows"], said["partitions"]) == ("RVMRegressor", 900, 3)
    assert [each["kind"] for each in said["passes"]][:3] == ["describe", "sample", "newton"]
    found = pd.read_csv(io.StringIO(on_dask("predict", "rvm.skops", "new0.csv", "-q")[0]))
    assert np.mean((found["size"] - people(300, 10)["size"]) ** 2) < 1.5


@pytest.mark.slow
def test_without_a_scheduler_processes_are_started_and_ended(fitted, folder):
    words = ["predict", "tall.skops", "new*.csv", "--engine", "dask", "--workers", "1", "-o", "own.csv"]
    source = str(Path(laconism.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "laconism", *words],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])},
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "wrote 900 rows to own.csv\n"
    assert len(pd.read_csv(folder / "own.csv")) == 900


# ---- mistakes --------------------------------------------------------------------------------

MISTAKES = [
    ("fit none*.csv -t y", "none*.csv: no such file."),
    ("fit - -t y", "--engine dask reads files, not stdin."),
    ("fit people0.parquet -t tal", "people0.parquet has no column 'tal'; it has tall among others."),
    ("fit people0.parquet -t tall --drop c", "There is no column c to drop or keep."),
    ("fit people0.parquet -t born", "The target born has dates; make numbers of them first."),
    ("fit people0.parquet -t name", "The target name has more than 100 distinct values"),
    ("fit people0.parquet -t tall --model jcfo", "fits --model auto, sparse or rvm, not jcfo."),
    ("fit people0.parquet -t tall --set client=1", "DaskLaconicClassifier has no setting 'client'"),
    ("fit people0.parquet -t tall --workers 2", "leave it out with --scheduler."),
    ("fit slip.csv -t y", "Column a has text where its first rows have numbers"),
    ("fit infinite.csv -t y", "Partition 1: Column a is infinite or beyond 1.8e+308 in row 21"),
    ("fit target.csv -t y", "The target y is infinite or beyond 1.8e+308 in some rows"),
    ("fit digits.csv -t b", "Partition 1: Column a is infinite or beyond 1.8e+308 in row 6"),
    ("fit words.csv -t y", "No column is left to predict the target from."),
    ("evaluate target.csv -t y --saved ab.skops", "The target y is infinite or beyond 1.8e+308"),
    ("predict ab.skops digits.csv", "Partition 1: Column a is infinite or beyond 1.8e+308 in row 6"),
    ("fit bytes.parquet -t raw", "The target raw has binary data; make numbers of them first."),
    ("predict tall.skops slip.csv", "slip.csv has no column height, age, town, which the model needs."),
    ("predict tall.skops new0.csv --out .", ". is there already; name a new folder, or an empty one."),
    ("predict tall.skops new0.csv --out a.json", "CSV, TSV or a folder of Parquet files, not as json."),
    ("predict tall.skops new0.csv --json", "writes no predictions as JSON; give --out."),
    ("evaluate new0.csv -t tall --models svc", "compares auto, sparse, rvm, baseline, not svc."),
    ("evaluate new0.csv -t tall --max-rows 10", "--max-rows is for --engine local"),
]


def test_mistakes_get_one_sentence(fitted, address, folder, monkeypatch):
    monkeypatch.chdir(folder)
    lines = [f"{k % 7},{k % 2}" for k in range(60_000)]
    slip = ["a,y", *lines, "oops,1"]
    (folder / "slip.csv").write_text("\n".join(slip) + "\n")
    lines[20] = "inf,1"
    (folder / "infinite.csv").write_text("\n".join(["a,y", *lines]) + "\n")
    rows = [
        f"{'1' * 5000 if k == 5 else k + 0.5},{k % 3},{'1' * 401 if k == 7 else k % 2}"
        for k in range(40)
    ]
    (folder / "digits.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    (folder / "target.csv").write_text("\n".join(["a,b,y", *rows[6:]]) + "\n")
    words = "".join(f"{'1' * 401}{k},{k % 2}\n" for k in range(40))
    (folder / "words.csv").write_text(f"a,y\n{words}")  # numbers, but for pandas they are text
    words = pd.DataFrame({"word": [b"on", "än".encode()] * 20, "y": [b"no", b"yes"] * 20})
    words.assign(raw=[b"\xff", b"x"] * 20, b=range(40)).to_parquet(folder / "bytes.parquet")
    numbers = pd.DataFrame({"a": range(40), "b": [0, 1, 2, 1] * 10, "y": [0, 1] * 20})
    numbers.to_csv(folder / "ab.csv", index=False)
    for path, out in (("ab.csv", "ab.skops"), ("bytes.parquet", "words.skops")):
        code, _, err = run("fit", path, "-t", "y", "--model", "sparse", "-q", "-o", out)
        assert code == 0, err
    dask = ("--engine", "dask", "--scheduler", address)
    for command in (
        "fit bytes.parquet -t y --model sparse -o words.skops",
        "predict words.skops bytes.parquet",
    ):
        code, out, err = run(*command.split(), "-q", *dask)
        assert (code, err) == (0, "")
    assert set(pd.read_csv(io.StringIO(out))["y"]) == {"no", "yes"}  # bytes are text
    for command, sentence in MISTAKES:
        code, out, err = run(*command.split(), "--engine", "dask", "--scheduler", address)
        last = err.splitlines()[-1]
        assert code == 1, f"{command}: {code} {err}"
        assert last.startswith("error: "), command
        assert sentence in last, f"{command}: {last}"
        assert out == "", command
        assert "Traceback" not in err, command


def test_options_of_another_engine_are_refused(folder, monkeypatch):
    monkeypatch.chdir(folder)
    code, _, err = run("fit", "new0.csv", "-t", "tall", "--workers", "2")
    assert code == 2
    assert "--workers is not for --engine local." in err
    code, _, err = run("fit", "new0.csv", "-t", "tall", "--engine", "dask", "--max-rows", "20")
    assert code == 2
    assert "--max-rows is not for --engine dask." in err


def test_without_dask_there_is_one_sentence(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, _, err = run("fit", "new0.csv", "-t", "tall", "--engine", "dask")
    assert code == 1
    assert err == (
        'error: --engine dask needs the packages dask and distributed: pip install "laconism[dask]".\n'
    )
