"""How the command line words numbers, names and errors, and what it makes of its options."""

import json

import numpy as np
import pytest

pytest.importorskip("rich", reason="the command line needs rich")

from sklearn.pipeline import Pipeline

from laconism import SparseBayesRegressor
from laconism.cli.columns import Plan, make_preprocessing
from laconism.cli.console import Terminal, listed, plain, sentence, several
from laconism.cli.evaluate import with_error
from laconism.cli.inspect import describe, draw, pictures
from laconism.cli.models import Choice, sample_rows
from laconism.cli.rivals import contenders
from laconism.kernels import Additive


def test_errors_are_one_sentence():
    missing = FileNotFoundError(2, "No such file or directory", "data.csv")
    assert sentence(missing) == "data.csv: no such file or directory."
    assert sentence(ValueError("tolerance must be\na number.")) == "tolerance must be a number."
    found = sentence(ZeroDivisionError("division by zero"))
    assert found == "division by zero (ZeroDivisionError; --debug shows where)."


def test_numbers_and_names():
    assert (several(1, "row"), several(1234, "row")) == ("1 row", "1,234 rows")
    assert (listed(["a", "b"]), listed("abcdefg", most=2)) == ("a, b", "a, b and 5 more")
    assert with_error(61356.2, 523.1) == "61,360 ± 520"
    assert (with_error(54.143, 1.7), with_error(3.2e9, 0.0)) == ("54.1 ± 1.7", "3.2e+09 ± 0")


def test_json_has_no_numbers_that_are_not_finite(capsys):
    assert plain({"a": np.array([1.0, np.inf]), 2: np.bool_(True)}) == {"a": [1.0, None], "2": True}
    terminal = Terminal(as_json=True)
    terminal.note("age: 3 missing values.")
    terminal.finish({"rows": np.int64(10), "error": float("nan")})
    said = {"rows": 10, "error": None, "notes": ["age: 3 missing values."]}
    assert json.loads(capsys.readouterr().out) == said


def test_models_of_options():
    assert repr(Choice("rvm", settings=["gamma=0.5"]).make("regression")) == "RVMRegressor(gamma=0.5)"
    assert Choice("grid", grid_shape="8x8").make("regression").grid_shape == (8, 8)
    titles = [each.title for each in contenders("regression", ("auto", "linear"), 0)]
    assert titles == ["laconism", "ridge"]
    plan = Plan(numbers=["age"], categories=["town"])
    assert make_preprocessing(plan).transformers[1][2] == ["town"]


def test_a_sample_keeps_the_shares_of_the_classes():
    y = np.array([0] * 600 + [1] * 399 + [2])
    rows = sample_rows(1000, 100, y, "classification", 0)
    assert np.bincount(y[rows]).tolist() == [59, 40, 1]


def test_effects_are_shares_of_the_variance():
    pd = pytest.importorskip("pandas", reason="tables need pandas")
    X = np.random.default_rng(0).normal(size=(60, 4))
    table = pd.DataFrame(X, columns=["age", "dose", "size", "noise"])
    kernel = Additive(2, 0.3, [1.0, 1.0, 1.0, 0.0], mean=np.zeros(4), deviation=np.ones(4))
    steps = (
        make_preprocessing(Plan(numbers=list(table), categories=[])),
        SparseBayesRegressor(kernel=kernel),
    )
    pipeline = Pipeline(list(zip(("columns", "model"), steps, strict=True)))
    pipeline.fit(table, np.sin(X[:, 0]) + 2 * X[:, 1] * X[:, 2])
    kept = [str(row) for row in pipeline[-1].relevance_]
    pipeline.table_ = {"target": "y", "rows": 60, "kept_rows": kept}
    effects = pictures(pipeline)[0]
    assert effects.title == "% of the variance that each feature and each pair explains"
    assert max(effects.items, key=lambda item: item[1])[0] == "dose with size"
    assert sum(share for _, share in effects.items) == pytest.approx(100)
    assert all(share >= 0.1 for name, share in effects.items if name != "all others")
    assert not any("noise" in name for name, _ in effects.items)
    assert draw(effects, 3)[1].startswith("  dose with size")
    assert any("kernels, each on a training row" in sentence for sentence in describe(pipeline))
