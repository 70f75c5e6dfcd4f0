"""scikit-learn's contract, and settings or data that are refused."""

import pickle
import warnings
from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from flagship_cases import both, check_survives, data, fitted, says
from laconism import LaconicClassifier, LaconicRegressor
from laconism.kernels import RBF

BAD = [
    ({"tolerance": 0}, "tolerance must be a positive number of nats or 'auto', got 0"),
    ({"tolerance": -1e-3}, "tolerance must be a positive number"),
    ({"tolerance": None}, "tolerance must be a positive number"),
    ({"tolerance": np.nan}, "tolerance must be a positive number"),
    ({"tolerance": "0.1"}, "tolerance must be a positive number"),
    ({"max_kernels": 0}, "max_kernels must be None or a positive whole number, got 0"),
    ({"max_kernels": -2}, "max_kernels must be"),
    ({"max_kernels": 2.5}, "max_kernels must be"),
    ({"max_rank": 0}, "max_rank must be a positive whole number"),
    ({"gamma": "scale"}, "gamma must be a positive number or 'auto', got 'scale'"),
    ({"gamma": -1}, "gamma must be a positive number"),
    ({"gamma": 0.0}, "gamma must be a positive number"),
    pytest.param(
        {"gamma": None},
        "gamma must be a positive number",
    ),
    pytest.param(
        {"gamma": np.ones(2)},
        "gamma must be a positive number",
    ),
    ({"gamma": np.inf}, "gamma must be a positive number"),
    pytest.param(
        {"kernel": "precomputed"},
        "pass the kernel itself",
    ),
    ({"kernel": "rbff"}, "Did you mean 'rbf'"),
    ({"kernel": RBF(-1)}, "gamma must be a positive number"),
    ({"likelihood": "probitt"}, "Unknown likelihood"),
]


@both
@pytest.mark.parametrize(("settings", "fragment"), BAD, ids=str)
def test_bad_settings(kind, settings, fragment):
    X, y = data(kind)
    model = kind(**settings)
    with pytest.raises(ValueError, match=fragment) as caught:
        model.fit(X, y)
    assert "\n" not in str(caught.value)
    assert not [name for name in vars(model) if name.endswith("_") or name.startswith("_")]
    with pytest.raises(NotFittedError):
        model.predict(X)
    good = deepcopy(fitted(kind, len(y))[2])
    before, said = sorted(vars(good)), says(good, X)
    good.set_params(**settings)
    with pytest.raises(ValueError, match=fragment):
        good.fit(X, y)
    assert sorted(vars(good)) == before
    np.testing.assert_array_equal(says(good.set_params(**kind().get_params()), X), said)


def test_a_square_matrix_is_no_kernel_either():
    X, y = data(LaconicClassifier)
    with pytest.raises(ValueError, match="pass the kernel itself"):
        LaconicClassifier(kernel="precomputed").fit(X @ X.T, y)


@both
def test_max_rank_is_said(kind):
    X, y = data(kind, 100)
    model = check_survives(kind(gamma=5.0, max_rank=20), X, y)
    assert "max_rank" in model.status_.message
    assert model.score(X, y) > 0.5


@both
def test_pickle_and_clone(kind):
    X, y, model = fitted(kind)
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(says(back, X), says(model, X))
    np.testing.assert_array_equal(says(back.with_kernels(2), X), says(model.with_kernels(2), X))
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "path_")
    np.testing.assert_array_equal(says(fresh.fit(X, y), X), says(model, X))


@pytest.mark.slow
@both
def test_search_and_pipeline(kind):
    X, y = data(kind, 60)
    pipe = make_pipeline(StandardScaler(), kind())
    name = kind.__name__.lower()
    grid = {f"{name}__tolerance": [0.1, 0.001], f"{name}__kernel": ["rbf", None]}
    search = GridSearchCV(pipe, grid, cv=3).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ > (0.7 if kind is LaconicClassifier else 0.3)


@both
def test_fit_is_repeatable_and_leaves_its_arguments_alone(kind):
    X, y = data(kind)
    X_before, y_before = X.copy(), y.copy()
    X.flags.writeable = y.flags.writeable = False
    model = kind()
    params = model.get_params()
    first = says(model.fit(X, y), X)
    np.testing.assert_array_equal(says(model.fit(X, y), X), first)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)
    assert model.get_params() == params


@both
def test_another_kernel_leaves_nothing_of_the_last(kind):
    X, y = data(kind)
    model = kind().fit(X, y)
    model.set_params(kernel=None).fit(X, y)
    assert not hasattr(model, "dual_coef_")
    for name in ("gamma_", "kernel_"):
        assert not hasattr(model, name), f"{name} is of the last fit"
    fresh = kind(kernel=None).fit(X, y)
    np.testing.assert_array_equal(says(model, X), says(fresh, X))
    assert sorted(vars(model)) == sorted(vars(fresh))


@both
def test_the_width_is_kept_if_it_is_given(kind):
    X, y = data(kind)
    model = kind(gamma=0.3).fit(X, y)
    assert model.gamma_ == 0.3
    scale = X.std(axis=0)
    expected = RBF(0.3)(X / scale, X[:3] / scale)
    np.testing.assert_allclose(model.kernel_(X, X[:3]), expected, rtol=1e-8)


@both
def test_data_that_make_no_sense(kind):
    X, y = data(kind)
    for bad in (np.nan, np.inf):
        Z = X.copy()
        Z[3, 1] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            kind().fit(Z, y)
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            fitted(kind)[2].predict(Z)
    with pytest.raises(ValueError, match="zero"):
        kind().fit(X, y, sample_weight=np.zeros(40))
    with pytest.raises(ValueError, match="negative"):
        kind().fit(X, y, sample_weight=-np.ones(40))


def test_no_warnings_on_hard_data():
    """Outliers, wide ranges and tiny classes: no warning of numpy's reaches the user."""
    rng = np.random.default_rng(0)
    X = rng.standard_cauchy(size=(80, 3))
    y = np.zeros(80, dtype=int)
    y[:2] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_survives(LaconicClassifier(), X, y)
        check_survives(LaconicClassifier(kernel=None), X, y)
        check_survives(LaconicRegressor(), X, rng.standard_cauchy(size=80))
        check_survives(LaconicRegressor(kernel=None), X, X[:, 0] ** 3)


def test_with_kernels_of_classes_with_paths_of_different_lengths():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    y = np.where(X[:, 0] > 0.3, 0, rng.integers(1, 3, size=50))  # the others cannot be told apart
    model = LaconicClassifier(kernel=None).fit(X, y)  # features are chosen for each class
    lengths = [sum(point.output == k for point in model.path_) - 1 for k in range(3)]
    longest = model.with_kernels(max(lengths))
    assert [sum(p.output == k for p in longest.path_) - 1 for k in range(3)] == lengths
    np.testing.assert_allclose(longest.predict_proba(X).sum(axis=1), 1)
    with pytest.raises(ValueError, match=f"from 0 to {max(lengths)}"):
        model.with_kernels(max(lengths) + 1)
