"""What passes through pipelines and searches of scikit-learn: weights, groups, and names of features."""

import inspect
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import BaseEstimator, is_regressor
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.metrics import log_loss, make_scorer, mean_squared_error
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import laconism

# Weights and groups pass the same way whatever is fitted, so each estimator is made quick.
SMALL_GRID = {"selection_rates": [1.0], "weight_rates": [1.0], "cv": 3}
QUICK = {
    "GridRVM": {"grid_shape": (2, 2)},
    "JCFO": {"kernel": "linear", "max_iter": 3},
    "Laconic": {"kernel": None},
    "RVM": {"kernel": None},
    "SparseBayes": {},
}
QUICK_SEARCH = {"SparseBayes": {"shapes": [1.0], "cv": 3}, "JCFO": SMALL_GRID}
NAMES = [
    name
    for name in laconism.__all__
    if inspect.isclass(kind := getattr(laconism, name)) and issubclass(kind, BaseEstimator)
]
SEARCHES = [name for name in NAMES if name.endswith("CV")]


def quick(name, **options):
    family = re.sub(r"(Classifier|Regressor)(CV)?$", "", name)
    small = QUICK_SEARCH[family] if name in SEARCHES else {}
    return getattr(laconism, name)(**{**QUICK[family], **small, **options})


SELECTING = [name for name in NAMES if hasattr(quick(name), "transform")]


def data(model, n=36):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 4))
    latent = 2 * X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=n)
    y = latent if is_regressor(model) else np.where(latent > 0, "b", "a")
    return X, y, rng.uniform(0.2, 3.0, size=n)


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def weighted_scorer(name):
    if is_regressor(quick(name)):
        return make_scorer(mean_squared_error, greater_is_better=False)
    return make_scorer(log_loss, greater_is_better=False, response_method="predict_proba")


@pytest.mark.parametrize("name", NAMES)
def test_weights_pass_a_pipeline_in_a_search(name):
    model = quick(name)
    X, y, weight = data(model)
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        make_pipeline(FunctionTransformer(), model).fit(X, y, sample_weight=weight)
    asked = quick(name).set_fit_request(sample_weight=True)
    pipe = make_pipeline(FunctionTransformer(), asked)
    search = pipe
    if name not in SEARCHES:
        scorer = weighted_scorer(name).set_score_request(sample_weight=True)
        search = GridSearchCV(pipe, {"functiontransformer__func": [None]}, cv=2, scoring=scorer)
    found = search.fit(X, y, sample_weight=weight).predict(X)
    np.testing.assert_array_equal(found, quick(name).fit(X, y, sample_weight=weight).predict(X))
    if is_regressor(model):
        assert not np.array_equal(found, quick(name).fit(X, y).predict(X)), "no weights arrived"


class Recorded(GroupKFold):
    """The groups that were on both sides of any fold."""

    shared: set = set()  # noqa: RUF012 - all copies write to one set
    calls: list = []  # noqa: RUF012

    def split(self, X, y=None, groups=None):
        for train, test in super().split(X, y, groups):
            self.calls.append(len(test))
            self.shared.update(set(groups[train]) & set(groups[test]))
            yield train, test


@pytest.mark.parametrize("name", SEARCHES)
def test_groups_pass_a_pipeline_to_the_splitter(name):
    splitter = Recorded(3)
    splitter.shared.clear(), splitter.calls.clear()
    model = quick(name, cv=splitter).set_fit_request(groups=True)
    X, y, _ = data(model)
    groups = np.arange(36) % 9
    pipe = make_pipeline(FunctionTransformer(), model)
    pipe.fit(X, y, groups=groups)
    assert splitter.calls == [12, 12, 12]
    assert not splitter.shared
    cross_validate(pipe, X, y, cv=GroupKFold(2), params={"groups": groups}, error_score="raise")
    assert (len(splitter.calls[3:]), sum(splitter.calls[3:])) == (6, len(groups))
    assert not splitter.shared


@pytest.mark.parametrize("name", SEARCHES)
def test_a_scorer_gets_the_weights_that_it_asks_for(name):
    X, y, weight = data(quick(name))
    mean = {}
    for asked in (True, False):
        scorer = weighted_scorer(name).set_score_request(sample_weight=asked)
        model = quick(name, scoring=scorer).fit(X, y, sample_weight=weight)
        mean[asked] = model.cv_results_["split0_test_score"][0]
    assert mean[True] != mean[False]
    scorer = weighted_scorer(name).set_score_request(sample_weight="another")
    model = quick(name, scoring=scorer).fit(X, y, sample_weight=weight)
    assert model.cv_results_["split0_test_score"][0] == mean[False]  # these are not those


@pytest.mark.parametrize(("library", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
@pytest.mark.parametrize("name", SELECTING)
def test_kept_features_are_a_frame(name, library, frame):
    X, y, _ = data(quick(name))
    rows = frame(dict(zip("abcd", X.T, strict=True)))
    model = quick(name).set_output(transform=library)
    out = make_pipeline(FunctionTransformer(), model).fit(rows, y)[-1].transform(rows)
    assert isinstance(out, frame)
    assert list(out.columns) == list(model.get_feature_names_out())
    assert set(out.columns) <= set("abcd")
    np.testing.assert_array_equal(out.to_numpy(), np.asarray(rows[list(out.columns)]))
