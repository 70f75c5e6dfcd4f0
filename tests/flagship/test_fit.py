"""The fit as a function: from settings and rows to a frozen value."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from flagship_cases import data
from laconism import LaconicClassifier, LaconicRegressor
from laconism.flagship.fit import fit_laconic
from laconism.flagship.paths import PathScore
from laconism.flagship.settings import Settings
from laconism.flagship.sparse_prior import sparse_fits
from laconism.flagship.tasks import LabelProjection, ValueProjection, projection_task


@pytest.fixture(scope="module", params=[LaconicClassifier, LaconicRegressor])
def run(request):
    """Return an estimator, its validated rows and what the fit publishes."""
    model = request.param()
    X, y = data(request.param)
    rows = model._fit_data(X, y, None)
    return model, rows, fit_laconic(Settings.of(model), rows, sparse_fits)


def test_a_fit_writes_nothing_to_the_estimator(run):
    model, _, found = run
    assert not hasattr(model, "posteriors_")
    assert not hasattr(model, "tolerance_")
    with pytest.raises(FrozenInstanceError):
        found.winner = None
    with pytest.raises(FrozenInstanceError):
        found.winner.tolerance = 1.0


def test_the_estimator_publishes_the_winner(run):
    model, _, found = run
    X, y = data(type(model))
    fitted = type(model)().fit(X, y)
    assert fitted.tolerance_ == found.winner.tolerance
    np.testing.assert_array_equal(fitted.reference_[0].m, found.winner.references[0].m)
    assert [point.kernels for point in fitted.path_] == [
        index.size for path in found.winner.paths for index in path.columns
    ]


def test_a_score_writes_nothing(run):
    _, rows, found = run
    winner, task = found.winner, projection_task(rows)
    score = PathScore(task, rows.targets, rows.weight, winner.tolerance, winner.price)
    before = [vars(path).copy() for path in winner.paths]
    np.testing.assert_array_equal(score.log_density(winner.paths), score.log_density(winner.paths))
    assert all(vars(path).keys() == was.keys() for path, was in zip(winner.paths, before, strict=True))
    assert all(
        vars(path)[name] is value
        for path, was in zip(winner.paths, before, strict=True)
        for name, value in was.items()
    )


def test_the_task_follows_from_the_targets(run):
    model, rows, _ = run
    labels = isinstance(model, LaconicClassifier)
    assert projection_task(rows) == (
        LabelProjection(rows.X.shape[1], 1) if labels else ValueProjection()
    )


@pytest.mark.parametrize(
    ("shape", "kernels"),
    [((1000, 3), ["rbf"]), ((60, 40), ["rbf", None]), ((40, 60), [None, "rbf"])],
)
def test_candidates_depend_on_the_shape_of_the_data(shape, kernels):
    assert Settings.of(LaconicClassifier()).kernels(*shape) == kernels
    assert Settings.of(LaconicClassifier("poly")).kernels(*shape) == ["poly"]
