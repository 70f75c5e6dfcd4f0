"""The fit as a function: from settings and rows to a frozen value."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from flagship_cases import data
from laconism import LaconicClassifier, LaconicRegressor
from laconism.flagship.candidate import Fits
from laconism.flagship.candidates import candidates_for
from laconism.flagship.fit import fit_laconic
from laconism.flagship.rows import TrainingRows
from laconism.flagship.rules import (
    KERNEL_PRICE_NATS_PER_ROW,
    TOLERANCE_NATS_PER_ROW,
)
from laconism.flagship.settings import Settings
from laconism.flagship.sparse_prior import fit_sparse
from laconism.flagship.tasks import LabelProjection, ValueProjection, projection_task


@pytest.fixture(scope="module", params=[LaconicClassifier, LaconicRegressor])
def run(request):
    """Return an estimator, its validated rows and what the fit publishes."""
    model = request.param()
    X, y = data(request.param)
    rows = model._fit_data(X, y, None)
    return model, rows, fit_laconic(Settings.of(model), rows, fit_sparse)


def test_a_fit_writes_nothing_to_the_estimator(run):
    model, _, found = run
    assert not hasattr(model, "posteriors_")
    assert not hasattr(model, "tolerance_")
    with pytest.raises(FrozenInstanceError):
        found.winner = None
    with pytest.raises(FrozenInstanceError):
        found.winner.size = 1.0


def test_the_estimator_publishes_the_winner(run):
    model, _, found = run
    X, y = data(type(model))
    fitted = type(model)().fit(X, y)
    assert fitted.tolerance_ == found.tolerance == TOLERANCE_NATS_PER_ROW
    np.testing.assert_array_equal(fitted.reference_[0].m, found.winner.fitted.references[0].m)
    assert [point.kernels for point in fitted.path_] == [
        index.size for path in found.paths for index in path.columns
    ]
    ours, theirs = (
        [trial._replace(seconds=0.0) for trial in trials]
        for trials in (fitted.candidates_, found.trials)
    )
    np.testing.assert_equal(ours, theirs)


def test_a_candidate_is_scored_by_its_left_out_latents(run):
    """Less about one nat over all rows for each number that was fitted to those rows."""
    _, rows, found = run
    winner, y = found.winner, rows.targets[0][found.kept]
    charge = winner.fitted.references[0].left_out_log_density(y) - winner.log_density
    calibrated = winner.fitted.rows.task.n_calibrated / len(y)
    np.testing.assert_allclose(charge, calibrated + winner.optimism, atol=1e-12)
    searched = 2  # width and precision
    assert (charge > 0).all()
    assert charge.sum() >= searched + winner.fitted.rows.task.n_calibrated - 1e-9
    (won,) = (trial for trial in found.trials if trial.won)
    assert won.log_density == pytest.approx(winner.log_density.mean())


def test_the_task_follows_from_the_targets(run):
    model, rows, _ = run
    labels = isinstance(model, LaconicClassifier)
    assert projection_task(rows) == (LabelProjection(1) if labels else ValueProjection())


def names(model, shape):
    """Return the candidates of a model for rows of some shape."""
    X = np.random.default_rng(0).normal(size=shape)
    y = X[:, 0] > 0 if isinstance(model, LaconicClassifier) else X[:, 0]
    data = model._fit_data(X, y, None)
    rows, _ = TrainingRows.of(data, projection_task(data), intercept=True)
    return [each.name for each in candidates_for(Fits(rows, Settings.of(model), fit_sparse))]


SPARSE = ["sparse features"]
KERNELS = ["rbf kernel", "squashed features"]
ADDITIVE = [f"additive kernel of order {order}" for order in (1, 2, 3)]
WEIGHED = [f"{name} with feature weights" for name in KERNELS]
LEARNT = [*ADDITIVE, *WEIGHED]


@pytest.mark.parametrize(
    ("shape", "candidates"),
    [
        ((300, 3), [*KERNELS, *LEARNT]),
        ((60, 40), [*KERNELS, *SPARSE, "40 features", *LEARNT]),
        ((40, 60), [*SPARSE, "60 features", KERNELS[0]]),
        ((40, 300), [*SPARSE, "64 features", "300 features", KERNELS[0]]),
        ((40, 600), [*SPARSE, "64 features", "256 features", "600 features", KERNELS[0]]),
        ((700, 300), [*KERNELS, *LEARNT]),
    ],
)
def test_candidates_depend_on_the_shape_of_the_data(shape, candidates):
    assert names(LaconicClassifier(), shape) == candidates


def test_candidates_depend_on_the_settings():
    assert names(LaconicClassifier("poly"), (60, 40)) == [
        *("poly kernel", KERNELS[1]),
        *("poly kernel with feature weights", WEIGHED[1]),
    ]
    assert names(LaconicClassifier(None), (60, 40)) == [*SPARSE, "40 features"]
    assert names(LaconicClassifier(None), (300, 3)) == ["features"]
    assert names(LaconicClassifier(None, max_kernels=5), (60, 40)) == [*SPARSE, "5 features"]
    assert names(LaconicClassifier(None, tolerance=0.1), (60, 40)) == [*SPARSE, "40 features"]
    assert names(LaconicClassifier(weigh_features=False), (300, 3)) == KERNELS[:2]
    assert names(LaconicClassifier(gamma=0.1), (300, 3)) == [*KERNELS, *WEIGHED]
    regressors = {
        "rbf": ["rbf kernel", "rbf kernel with feature weights", "student noise"],
        "matern": ["matern kernel", "matern kernel with feature weights", "student noise"],
        "additive": [
            *("additive kernel", *ADDITIVE),
            *("additive kernel with feature weights", "student noise"),
        ],
    }
    for kernel, candidates in regressors.items():
        assert names(LaconicRegressor(kernel), (300, 3)) == candidates
    assert "matern kernel" in names(LaconicRegressor(), (300, 3))
    assert "matern kernel" not in names(LaconicRegressor(max_rank=200), (300, 3))
    assert "student noise" not in names(LaconicRegressor(likelihood="gaussian"), (300, 3))


def test_kernels_have_a_price_where_the_tolerance_is_not_given(run):
    model, _, found = run
    X, y = data(type(model))
    assert found.price == KERNEL_PRICE_NATS_PER_ROW
    for other in (type(model)(tolerance=0.01), type(model)(None)):
        rows = other._fit_data(X, y, None)
        assert fit_laconic(Settings.of(other), rows, fit_sparse).price == 0
