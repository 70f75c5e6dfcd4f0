"""The models of a comparison: their order, and the probabilities and densities of the rivals."""

import numpy as np
import pytest

pytest.importorskip("pandas", reason="the command line needs pandas")
pytest.importorskip("rich", reason="the command line needs rich")

from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from laconism.cli import rivals
from laconism.cli.models import Choice
from laconism.cli.rivals import NAMES, USUAL, Forest, WithDeviation, contenders, distribution

TASKS = ("classification", "regression")


def rows(task, n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    latent = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)
    return X, latent if task == "regression" else np.digitize(latent, [-0.5, 0.5])


@pytest.mark.parametrize("task", TASKS)
def test_the_flagship_comes_first(task):
    assert [each.key for each in contenders(task, NAMES[::-1], 0)] == list(NAMES)
    assert next(each.key for each in contenders(task, USUAL, 0)) == "auto"
    entered = contenders(task, ("auto", "svc"), 0, own=Choice("rvm", settings=["gamma=0.5"]))
    assert [each.key for each in entered] == ["auto", "rvm", "svc"]
    assert [each.reported for each in entered] == [False, True, False]
    assert entered[1].make().gamma == 0.5


@pytest.mark.parametrize("key", ["forest", "boosting"])
@pytest.mark.parametrize("task", TASKS)
def test_trees_are_the_usual_ones(task, key):
    (entered,) = contenders(task, (key,), 3)
    X, y = rows(task)
    model = entered.make().fit(X, y)
    trees = getattr(model, "machine_", model)
    usual = {"forest": "RandomForest", "boosting": "HistGradientBoosting"}[key]
    assert type(trees).__name__ == usual + {"regression": "Regressor"}.get(task, "Classifier")
    assert trees.random_state == 3
    several = 3 if (task, key) == ("classification", "boosting") else 1  # a tree for each class
    assert entered.kept(model, len(y)) == {"forest": 300, "boosting": 100 * several}[key]
    assert (entered.counted(model), entered.max_rows(None)) == ("trees", None)


def test_a_share_of_votes_is_no_certainty():
    X, y = rows("classification")
    model = Forest(RandomForestClassifier(20, random_state=0)).fit(X, y)
    share, probability = model.machine_.predict_proba(X), model.predict_proba(X)
    assert share.min() == 0
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_allclose(probability[share == 0], 1 / (3 * 21))
    np.testing.assert_array_equal(model.classes_[probability.argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("key", ["svc", "gp", "forest", "boosting", "linear", "baseline"])
def test_values_have_densities(key):
    X, y = rows("regression")
    (entered,) = contenders("regression", (key,), 0)
    mean, std = distribution(entered.make().fit(X[:80], y[:80]), X[80:])
    assert mean.shape == std.shape == (40,)
    # No rival is certain, and none says less than mean and deviation of all values would.
    assert np.all(std > 0.1)
    assert np.all(std < 1.2 * y.std())


def test_deviations_are_those_of_rows_left_out():
    X, y = rows("regression", 60)
    model = WithDeviation(LinearRegression(), 7).fit(X, y)
    left_out = np.empty(60)
    for train, test in KFold(5, shuffle=True, random_state=7).split(X):
        A, B = (np.column_stack([np.ones(len(part)), X[part]]) for part in (train, test))
        left_out[test] = y[test] - B @ np.linalg.lstsq(A, y[train], rcond=None)[0]
    np.testing.assert_allclose(model.predict_dist(X)[1], np.sqrt(np.mean(left_out**2)))
    forest = Forest(RandomForestRegressor(200, oob_score=True, random_state=0)).fit(X, y)
    assert forest.std_ > 1.5 * np.sqrt(np.mean((y - forest.predict(X)) ** 2))


def test_a_constant_leaves_a_density():
    X, _ = rows("regression", 60)
    model = WithDeviation(HistGradientBoostingRegressor(), 0).fit(X, np.full(60, 5.0))
    mean, std = model.predict_dist(X)
    assert np.all(mean == 5.0)
    assert np.all((std > 0) & (std < 1e-10))


def test_trees_of_many_rows_draw_some_of_them(monkeypatch):
    monkeypatch.setattr(rivals, "KERNEL_ROWS", 50)
    X, y = rows("regression", 400)
    forest = Forest(RandomForestRegressor(30, oob_score=True, random_state=0)).fit(X, y)
    assert max(tree.tree_.n_node_samples[0] for tree in forest.machine_.estimators_) <= 50
    drawn = {row for rows in forest.machine_.estimators_samples_ for row in rows}
    assert len(drawn) > 350
