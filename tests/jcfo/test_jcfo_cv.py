"""Prices of a joint model by cross-validation."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

from laconism import JCFOClassifier, JCFOClassifierCV, JCFORegressorCV, SparseBayesClassifier
from laconism.datasets import make_ripley
from laconism.jcfo import rate_path
from laconism.jcfo.rate_path import (
    JCFOCandidate,
    Rates,
    fit_candidates,
    make_grid,
    stop_lower_rates,
)
from laconism.jcfo.search import relax
from laconism.judging.row_scores import UNIT_FACTOR, RowScores
from laconism.judging.trials import FoldResult


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(150, 8))
    return X, np.where(X[:, 2] * X[:, 5] > 0, "yes", "no")


SMALL = {"selection_rates": [2.0, 8.0], "weight_rates": [1.0, None], "cv": 3}


@pytest.fixture(scope="module")
def fitted(data):
    return JCFOClassifierCV(**SMALL).fit(*data)


@pytest.mark.slow
def test_the_features_are_found_and_offered(data, fitted):
    X, y = data
    np.testing.assert_array_equal(fitted.get_support(indices=True), [2, 5])
    np.testing.assert_array_equal(fitted.transform(X), X[:, [2, 5]])
    assert fitted.score(X, y) > 0.9
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1.0)
    pipeline = make_pipeline(JCFOClassifierCV(**SMALL), SparseBayesClassifier(kernel="rbf"))
    assert pipeline.fit(X, y)[-1].n_features_in_ == 2


def test_results_are_laid_out_as_users_know_them(fitted):
    results = fitted.cv_results_
    assert len(results["params"]) == 4
    assert fitted.n_splits_ == 3
    for name in ("mean_test_score", "std_test_score", "rank_test_score", "mean_n_features"):
        assert results[name].shape == (4,)
    assert fitted.best_params_ == results["params"][fitted.best_index_]
    assert isinstance(fitted.best_estimator_, JCFOClassifier)
    assert fitted.best_estimator_.get_params()["weight_rate"] == fitted.best_params_["weight_rate"]


@pytest.mark.slow
def test_within_one_standard_error_the_fewest_features_win(data, fitted):
    best = JCFOClassifierCV(**SMALL, one_standard_error=False).fit(*data)
    features = fitted.cv_results_["mean_n_features"]
    assert features[fitted.best_index_] <= features[best.best_index_]
    assert best.cv_results_["rank_test_score"][best.best_index_] == 1


def test_for_predictions_the_gentlest_selection_comes_first():
    model = JCFOClassifierCV(
        selection_rates=[0.5, 2.0], weight_rates=[None, 1.0, 0.1], scale_rates=[2, 4]
    )
    grid = make_grid(model, None)
    assert [tuple(each.rates) for each in grid[:5]] == [
        (2, 0.5, 0.5),
        (2, 0.5, 0.1),
        (2, 2.0, 2.0),
        (2, 2.0, 1.0),
        (2, 2.0, 0.1),
    ]
    assert [each.n_steps for each in grid] == 2 * [0, 1, 1, 2, 3]


@pytest.mark.slow
def test_on_few_rows_no_feature_is_left_out_by_luck():
    X, y = make_ripley(50, random_state=4)
    model = JCFOClassifierCV(cv=2, one_standard_error=False).fit(X, y)
    assert model.best_index_ == 0
    assert model.cv_results_["rank_test_score"][0] > 1
    assert model.get_support().all()


@pytest.mark.slow
def test_few_features_may_bear_low_prices_of_a_weight():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = X[:, 0] ** 2 + X[:, 1] ** 2 > 2 * np.log(2)
    losses = []
    for rates in ("auto", [None, 1.0]):
        model = JCFOClassifierCV(selection_rates=[4.0], weight_rates=rates, cv=2).fit(X[:80], y[:80])
        np.testing.assert_array_equal(model.get_support(indices=True), [0, 1])
        losses.append(log_loss(y[80:], model.predict_proba(X[80:])))
    assert losses[0] < 0.7 * losses[1]


@pytest.mark.slow
def test_the_prices_of_inner_products_are_not_lowered(data):
    X, y = data
    for kernel, rates in {"rbf": {4.0, 1.0, 0.3, 0.1}, "linear": {4.0, 1.0}}.items():
        model = JCFOClassifierCV(kernel, selection_rates=[4.0], cv=2).fit(X[:40], y[:40])
        assert set(model.cv_results_["param_weight_rate"]) == rates


@pytest.mark.slow
def test_the_same_features_are_given_kernels_once(data, monkeypatch):
    rates = []

    def counted(problem, *others):
        rates.append(problem.weight_rate)
        return relax(problem, *others)

    monkeypatch.setattr(rate_path, "relax", counted)
    grid = {"selection_rates": [6.0, 7.0], "weight_rates": [1.0]}
    model = JCFOClassifierCV(**grid, cv=3, one_standard_error=False).fit(*data)
    assert len(rates) == 4  # three folds and all rows
    for split in range(3):
        first, second = model.cv_results_[f"split{split}_test_score"]
        assert first == second


@pytest.mark.slow
def test_the_chosen_model_is_the_end_of_the_path_on_all_rows(data):
    rates = {"selection_rates": [2.0, 8.0], "weight_rates": [None, 1.0, 0.3]}
    X, y = data[0][:90], data[1][:90]
    model = JCFOClassifierCV(**rates, cv=2, one_standard_error=False).fit(X, y)
    template = JCFOClassifier()
    prepared = template._prepare(template._fit_data(X, y, None))
    grid = [Rates("auto", 2.0, rate) for rate in (2.0, 1.0, 0.3)]
    grid += [Rates("auto", 8.0, rate) for rate in (8.0, 1.0, 0.3)]
    runners = [JCFOCandidate(rates) for rates in grid]
    for each in runners:
        each.runs = each.params == model.best_params_
    ((_, (found,)),) = fit_candidates(template, prepared, runners)
    assert model.best_estimator_.objective_ == found.state.value


@pytest.mark.slow
def test_the_race_takes_what_every_fold_would(data):
    X, y = data[0][:80, 2:6], data[1][:80]
    settings = {"selection_rates": [1.0, 6.0], "weight_rates": [None, 0.5, 0.1], "cv": 4}
    told: list = []
    raced = JCFOClassifierCV(**settings, callbacks=told.append).fit(X, y)
    every = JCFOClassifierCV(**settings, race=False).fit(X, y)
    assert raced.best_params_ == every.best_params_
    np.testing.assert_allclose(raced.predict_proba(X), every.predict_proba(X), rtol=1e-6)
    assert not np.isnan(every.cv_results_["mean_test_score"]).any()
    scores = np.array([raced.cv_results_[f"split{split}_test_score"] for split in range(4)])
    out = np.isnan(scores)
    assert out.mean() > 0.3
    assert (out[1:] >= out[:-1]).all()  # who is out stays out
    np.testing.assert_array_equal(np.isnan(raced.cv_results_["mean_test_score"]), out.any(axis=0))
    assert [record.iteration for record in told] == [1, 2, 3, 4]
    with parallel_config("threading"):
        parallel = JCFOClassifierCV(**settings, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(
        parallel.cv_results_["mean_test_score"], raced.cv_results_["mean_test_score"]
    )


def tried(log_p):
    return FoldResult(RowScores(np.asarray(log_p)[None], np.ones(len(log_p))), 1, 0.0, 0.0)


def test_prices_of_a_weight_that_make_it_worse_are_not_lowered_further():
    grid = [Rates("auto", 2.0, rate) for rate in (2.0, 1.0, 0.3, 0.1)] + [Rates("auto", 4.0, 4.0)]
    noise = np.tile([-1.0, 1.0], 25)
    for worse, goes_on in ((0.3, False), (0.03, True)):
        runners = [JCFOCandidate(rates) for rates in grid]
        runners[0].tried.append(tried(np.full(50, -0.5)))
        runners[1].tried.append(tried(-0.5 - worse - 0.3 * noise))
        stop_lower_rates(runners[1], runners, UNIT_FACTOR)
        assert [runner.runs for runner in runners] == [True, True, goes_on, goes_on, True]


def test_of_candidates_that_do_not_run_only_the_way_is_walked(data, monkeypatch):
    rates = []

    def counted(problem, *others):
        rates.append(problem.weight_rate)
        return relax(problem, *others)

    monkeypatch.setattr(rate_path, "relax", counted)
    model = JCFOClassifier()
    prepared = model._prepare(model._fit_data(data[0][:60], data[1][:60], None))
    grid = [Rates("auto", rate, weight) for rate in (2.0, 4.0, 8.0) for weight in (rate, 1.0, 0.3)]
    runners = [JCFOCandidate(rates, runs=rates == (("auto", 4.0, 1.0))) for rates in grid]
    assert [runner.rates for runner, _ in fit_candidates(model, prepared, runners)] == [
        ("auto", 4.0, 1.0)
    ]
    assert rates == [1.0]


@pytest.mark.slow
def test_the_chosen_model_is_as_sure_as_the_rows_left_out_allow():
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    y, new = np.arange(60) % 3, np.arange(600) % 3
    X, X_new = centres[y] + rng.normal(size=(60, 2)), centres[new] + rng.normal(size=(600, 2))
    settings = {"selection_rates": [0.5], "weight_rates": [None], "cv": 3}
    model = JCFOClassifierCV(**settings).fit(X, y)
    plain = JCFOClassifierCV(**settings, scoring="neg_log_loss").fit(X, y)
    assert model.variance_factor_ < 1 == plain.variance_factor_
    np.testing.assert_array_equal(model.predict(X_new), plain.predict(X_new))
    assert log_loss(new, model.predict_proba(X_new)) < log_loss(new, plain.predict_proba(X_new))


def test_every_path_begins_at_the_scales_that_are_given(data):
    X, y = data
    template = JCFOClassifierCV(initial_scales=0.5, **SMALL)._template()
    prepared = template._prepare(template._fit_data(2 * X, y, None))
    np.testing.assert_allclose(template._search_settings(prepared).start, 2 * X.var(axis=0))
    for model in (JCFOClassifierCV(**SMALL), JCFORegressorCV(**SMALL)):
        model.set_params(initial_scales=[1.0, 2.0])
        with pytest.raises(ValueError, match="initial_scales has 2 numbers, but X has 8 features"):
            model.fit(X, y == "yes")


@pytest.mark.slow
def test_regression_and_another_score():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 5))
    y = X[:, 3] ** 2 + 0.2 * rng.normal(size=90)
    model = JCFORegressorCV(selection_rates=[4.0], weight_rates=[1.0], cv=2, scoring="r2").fit(X, y)
    np.testing.assert_array_equal(model.get_support(indices=True), [3])
    assert model.best_score_ > 0.5
    mean, std = model.predict_dist(X)
    assert mean.shape == std.shape == (90,)
    assert (std > 0).all()


def test_folds_are_reported(data):
    told = []
    JCFOClassifierCV("linear", selection_rates=[5.0], cv=3, callbacks=told.append).fit(*data)
    assert [record.iteration for record in told] == [1, 2, 3]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"selection_rates": [0.0]}, "selection_rates must be positive numbers"),
        ({"weight_rates": [-1.0]}, "weight_rates must be positive numbers, None or 'auto'"),
        ({"scale_rates": ["many"]}, "scale_rates must be positive numbers or 'auto'"),
        ({"selection_rates": []}, "selection_rates must be a value or a sequence of values"),
        ({"kernel": "matern"}, "kernel must be"),
    ],
)
def test_bad_grids_are_refused_in_a_sentence(data, settings, sentence):
    model = JCFOClassifierCV(**settings)
    with pytest.raises(ValueError, match=sentence):
        model.fit(*data)
    assert not hasattr(model, "n_features_in_")
