"""Choosing by itself: the searches, what they share, and how they show it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, PredefinedSplit, StratifiedKFold

from laconism import (
    JCFOClassifierCV,
    SparseBayesClassifier,
    SparseBayesClassifierCV,
    SparseBayesRegressor,
    SparseBayesRegressorCV,
)
from laconism.datasets import (
    make_cross,
    make_offset_spirals,
    make_sinc,
    make_sparse_classification,
    make_sparse_regression,
)
from laconism.inspection import SparsityPathDisplay
from laconism.jcfo import cv as joint_search
from laconism.judging.folds import draw_folds
from laconism.judging.trials import Data
from laconism.priors import GeneralizedGaussian
from laconism.sparse import search as _search
from laconism.sparse.candidates import width_grid

SHAPES = [0.5, 1.0, 2.0]


@pytest.fixture(scope="module")
def cross():
    return make_cross(120, random_state=0)


@pytest.fixture(scope="module")
def searched(cross):
    return SparseBayesClassifierCV(SHAPES, kernel="rbf", gammas=[0.5, 4.0], cv=4).fit(*cross)


@pytest.fixture(scope="module")
def plainly(cross):
    settings = {"kernel": "rbf", "gammas": [0.5, 4.0], "cv": 4}
    return SparseBayesClassifierCV(SHAPES, scoring="neg_log_loss", **settings).fit(*cross)


@pytest.mark.slow
def test_the_scores_are_those_of_a_grid_search(cross, plainly):
    X, y = cross
    model = SparseBayesClassifier(GeneralizedGaussian(), kernel="rbf")
    grid = {"prior__q": SHAPES, "gamma": [0.5, 4.0]}
    plain = GridSearchCV(model, grid, scoring="neg_log_loss", cv=4).fit(X, y)
    order = [
        plain.cv_results_["params"].index({"prior__q": p["prior__q"], "gamma": p["gamma"]})
        for p in plainly.cv_results_["params"]
    ]
    expected = plain.cv_results_["mean_test_score"][order]
    # q < 1 has several optima, and the path may end in another one.
    np.testing.assert_allclose(plainly.cv_results_["mean_test_score"], expected, atol=0.03)
    convex = plainly.cv_results_["param_prior__q"].data.astype(float) >= 1
    np.testing.assert_allclose(
        plainly.cv_results_["mean_test_score"][convex], expected[convex], atol=2e-3
    )


def test_results_are_laid_out_as_a_grid_search_does(cross, searched, plainly):
    X, y = cross
    model = SparseBayesClassifier(GeneralizedGaussian(), kernel="rbf")
    grid = {"prior__q": [1.0], "prior__scale": ["evidence"], "gamma": [0.5]}
    plain = GridSearchCV(model, grid, cv=4).fit(X, y)
    assert set(plain.cv_results_) <= set(searched.cv_results_)
    assert {len(column) for column in searched.cv_results_.values()} == {6}
    assert plainly.best_index_ == plainly.cv_results_["rank_test_score"].argmin()
    for search in (searched, plainly):
        best = search.best_index_
        assert search.best_params_ == search.cv_results_["params"][best]
        assert search.best_score_ == search.cv_results_["mean_test_score"][best]
    assert pd.DataFrame(searched.cv_results_).shape[0] == 6


def test_the_chosen_model_is_a_plain_fit(cross, plainly):
    X, y = cross
    plain = SparseBayesClassifier(GeneralizedGaussian(), kernel="rbf")
    plain.set_params(**plainly.best_params_).fit(X, y)
    assert plainly.variance_factor_ == 1
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(plainly, method)(X), getattr(plain, method)(X))


def test_by_default_the_chosen_model_is_as_sure_as_it_may_be(cross, searched):
    X, y = cross
    plain = SparseBayesClassifier(GeneralizedGaussian(), kernel="rbf")
    plain.set_params(**searched.best_params_).fit(X, y)
    np.testing.assert_array_equal(searched.predict(X), plain.predict(X))
    np.testing.assert_array_equal(searched.best_estimator_.dual_coef_, plain.dual_coef_)
    (m, v), factor = plain._latents(X), searched.variance_factor_
    assert factor != 1
    np.testing.assert_allclose(searched.decision_function(X), (m / np.sqrt(1 + factor * v))[:, 0])


@pytest.mark.parametrize("features", [3, 60])
def test_a_covariance_times_a_number(features):
    X, y, _ = make_sparse_classification(30, features, 3, random_state=0)
    before = SparseBayesClassifier(GeneralizedGaussian(2.0)).fit(X, y).posteriors_[0]
    assert (before.prior_root is None) == (features < 30)  # both forms of a covariance
    after, eye = before.times(0.25), np.eye(before.mean.size)
    np.testing.assert_allclose(after.covariance_dot(eye), before.covariance_dot(eye) / 4, atol=1e-12)
    (m, v), (mean, variance) = before.latent(eye), after.latent(eye)
    np.testing.assert_array_equal(mean, m)
    np.testing.assert_allclose(variance, v / 4)


@pytest.mark.slow
def test_dense_models_that_are_right_may_say_so():
    # On spirals Laplace's variances are so large that a dense model of fewer errors has the larger
    # log-loss as it is; seeds are not those of the experiment.
    X, y = make_offset_spirals(400, random_state=np.random.default_rng([1001, 0]))
    new, truth = make_offset_spirals(2000, random_state=np.random.default_rng([1001, 1]))
    settings = {"kernel": "rbf", "gammas": [0.125], "fit_intercept": False, "cv": spiral_folds(X, y)}
    as_is = SparseBayesClassifierCV([0.5, 2.0], scoring="neg_log_loss", **settings).fit(X, y)
    sure = SparseBayesClassifierCV([0.5, 2.0], **settings).fit(X, y)
    assert sure.variance_factor_ < 0.1
    assert sure.best_params_["prior__q"] == 2.0
    assert as_is.best_params_["prior__q"] == 0.5
    assert sure.score(new, truth) > as_is.score(new, truth)
    assert log_loss(truth, sure.predict_proba(new)) < 0.5 * log_loss(truth, as_is.predict_proba(new))


def spiral_folds(X, y):
    """Return folds that do not part the two points of a place on the spirals."""
    place = np.empty(y.size, dtype=int)
    for label in (0, 1):
        place[y == label] = np.arange(np.count_nonzero(y == label))
    return list(GroupKFold(5, shuffle=True, random_state=0).split(X, y, place))


def test_the_sparsest_within_one_standard_error(cross, searched):
    X, y = cross
    settings = {"kernel": "rbf", "gammas": [0.5, 4.0], "cv": 4, "one_standard_error": True}
    careful = SparseBayesClassifierCV(SHAPES, race=False, **settings).fit(X, y)
    assert careful.best_params_ == SparseBayesClassifierCV(SHAPES, **settings).fit(X, y).best_params_
    results = careful.cv_results_
    best, taken = results["mean_test_score"].argmax(), careful.best_index_
    folds = [results[f"split{k}_test_score"][best] for k in range(4)]
    error = np.std(folds, ddof=1) / 2
    good = results["mean_test_score"] >= results["mean_test_score"][best] - error
    assert good[taken]
    assert results["mean_n_relevant"][taken] == results["mean_n_relevant"][good].min()
    assert careful.best_estimator_.n_relevant_ <= searched.best_estimator_.n_relevant_


def test_more_kernels_have_to_make_the_rows_left_out_five_times_as_likely(cross):
    X, y = cross
    settings = {"cv": 4, "race": False}
    search = SparseBayesClassifierCV(SHAPES, kernel="rbf", gammas=[0.5, 4.0], **settings).fit(X, y)
    mean, kept = (search.cv_results_[name] for name in ("mean_test_score", "mean_n_relevant"))
    good = mean >= mean.max() - np.log(5) / len(y)
    assert kept[search.best_index_] == kept[good].min()
    assert kept[search.best_index_] < kept[mean.argmax()]
    # Of features it is a matter of fact how many count.
    features = SparseBayesClassifierCV(SHAPES, **settings).fit(X, y)
    assert features.best_index_ == features.cv_results_["mean_test_score"].argmax()


@pytest.mark.slow
def test_candidates_that_will_not_be_chosen_see_no_more_folds(cross):
    X, y = cross
    settings = {"kernel": "rbf", "gammas": [0.5, 4.0, 400.0]}
    raced = SparseBayesClassifierCV(SHAPES, **settings).fit(X, y)
    every = SparseBayesClassifierCV(SHAPES, race=False, **settings).fit(X, y)
    assert raced.best_params_ == every.best_params_
    assert raced.variance_factor_ == every.variance_factor_
    assert not np.isnan(every.cv_results_["mean_test_score"]).any()
    results = raced.cv_results_
    scores = np.array([results[f"split{k}_test_score"] for k in range(5)])
    assert not np.isnan(scores[0]).any()
    assert np.isnan(scores).mean() > 0.4
    np.testing.assert_array_equal(np.isnan(results["mean_test_score"]), np.isnan(scores[-1]))
    assert np.isnan(results["mean_test_score"][-3:]).all()  # kernels that reach no other row
    assert results["rank_test_score"][np.isnan(scores[-1])].min() > results["rank_test_score"].min()
    assert not np.isnan(results["mean_n_relevant"] + results["mean_fit_time"]).any()


def test_scorers_of_ones_own_see_every_fold(cross):
    search = SparseBayesClassifierCV(SHAPES, kernel="rbf", gammas=[4.0, 400.0], scoring="accuracy")
    assert not np.isnan(search.fit(*cross).cv_results_["mean_test_score"]).any()


def test_rows_left_out_may_find_the_evidence_timid():
    X, y = make_offset_spirals(200, random_state=np.random.default_rng([1002, 0]))
    new, truth = make_offset_spirals(2000, random_state=np.random.default_rng([1002, 1]))
    settings = {"kernel": "rbf", "gammas": [0.125], "cv": spiral_folds(X, y)}
    search = SparseBayesClassifierCV([2.0], **settings).fit(X, y)
    plain = SparseBayesClassifier(GeneralizedGaussian(2.0), kernel="rbf", gamma=0.125).fit(X, y)
    timid = {"prior__q": 2.0, "prior__scale": "evidence", "gamma": 0.125}
    assert search.cv_results_["params"][0] == timid
    times = [each["prior__scale"] / plain.prior_.scale for each in search.cv_results_["params"][1:]]
    np.testing.assert_allclose(times, [30, 10, 3])
    assert search.best_index_ > 0
    gained = (search.best_score_ - search.cv_results_["mean_test_score"][0]) * len(y)
    assert gained > np.log(5)
    assert search.best_estimator_.prior_.scale == search.best_params_["prior__scale"]
    assert log_loss(truth, search.predict_proba(new)) < log_loss(truth, plain.predict_proba(new))
    assert search.score(new, truth) > plain.score(new, truth)
    # Not where scales are given, and not of features.
    given = SparseBayesClassifierCV([2.0], scales=[1.0], **settings).fit(X, y)
    features = SparseBayesClassifierCV([2.0]).fit(X, y)
    assert len(given.cv_results_["params"]) == len(features.cv_results_["params"]) == 1


@pytest.mark.slow
def test_spirals_need_no_intercept():
    X, y = make_offset_spirals(200, random_state=np.random.default_rng([1001, 0]))
    settings = {"kernel": "rbf", "gammas": [0.125, 0.5], "cv": spiral_folds(X, y)}
    search = SparseBayesClassifierCV([1.0, 2.0], **settings).fit(X, y)
    without = SparseBayesClassifierCV([1.0, 2.0], fit_intercept=False, **settings).fit(X, y)
    assert search.best_estimator_.intercept_ == 0
    np.testing.assert_array_equal(search.predict_proba(X), without.predict_proba(X))


@pytest.mark.parametrize("criterion", ["cv", "evidence"])
def test_the_degree_of_sparsity_follows_the_data(criterion):
    chosen = []
    for relevant in (2, 50):
        X, y, _ = make_sparse_classification(200, 50, relevant, weight=3.0, random_state=0)
        model = SparseBayesClassifierCV(criterion=criterion).fit(X, y)
        chosen.append(model.best_params_["prior__q"])
    assert chosen[0] < 1 < chosen[1]


def test_evidence_is_for_features():
    X, y = make_cross(40, random_state=0)
    with pytest.raises(ValueError, match="criterion='evidence' needs kernel=None"):
        SparseBayesClassifierCV(kernel="rbf", criterion="evidence").fit(X, y)
    with pytest.raises(ValueError, match="Did you mean 'evidence'"):
        SparseBayesClassifierCV(criterion="evidenc").fit(X, y)


def test_a_regression_chooses_its_width():
    X, y = make_sinc(100, noise=0.1, random_state=0)[:2]
    model = SparseBayesRegressorCV(SHAPES, kernel="rbf").fit(X, y)
    new, truth = make_sinc(500, noise=0.0, random_state=1)[:2]
    assert np.sqrt(np.mean((model.predict(new) - truth) ** 2)) < 0.06
    mean, std = model.predict_dist(new)
    np.testing.assert_array_equal(mean, model.predict(new))
    assert (std > 0.05).all()
    assert isinstance(model.best_estimator_, SparseBayesRegressor)


def test_scales_and_scorers_of_ones_own():
    X, y, _ = make_sparse_regression(80, 10, n_relevant=2, random_state=0)
    model = SparseBayesRegressorCV([1.0], scales=["evidence", 0.01, 1.0], scoring="r2", cv=3).fit(X, y)
    assert len(model.cv_results_["params"]) == 3
    assert 0.5 < model.best_score_ <= 1


def test_several_classes_pandas_and_sparse():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = SparseBayesClassifierCV([1.0, 2.0], cv=3).fit(X, y)
    assert list(model.feature_names_in_) == list(X.columns)
    assert model.score(X, y) > 0.9
    assert model.predict_proba(X).shape == (150, 3)
    sparse = SparseBayesClassifierCV([1.0, 2.0], cv=3).fit(csr_array(X.to_numpy()), y)
    np.testing.assert_allclose(
        sparse.predict_proba(csr_array(X.to_numpy())), model.predict_proba(X), atol=0.02
    )


def test_a_precomputed_kernel(cross):
    X, y = cross
    K = rbf_kernel(X, gamma=2.0)
    given = SparseBayesClassifierCV(SHAPES, kernel="precomputed", cv=3).fit(K, y)
    named = SparseBayesClassifierCV(SHAPES, kernel="rbf", gammas=[2.0], cv=3).fit(X, y)
    ours, theirs = given.cv_results_["mean_test_score"], named.cv_results_["mean_test_score"]
    np.testing.assert_allclose(ours[:2], theirs[:2], atol=2e-3)  # the convex ones
    assert given.predict_proba(K).shape == (120, 2)


def test_weights_count_in_fits_and_scores(cross):
    X, y = cross
    weight = np.where(np.arange(120) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(120), weight.astype(int))
    folds = list(StratifiedKFold(3).split(X, y))
    repeated = [(np.flatnonzero(np.isin(twice, a)), np.flatnonzero(np.isin(twice, b))) for a, b in folds]
    settings = {"kernel": "rbf", "gammas": [2.0]}
    weighted = SparseBayesClassifierCV([1.0, 2.0], cv=folds, **settings).fit(X, y, weight)
    written = SparseBayesClassifierCV([1.0, 2.0], cv=repeated, **settings).fit(X[twice], y[twice])
    np.testing.assert_allclose(
        weighted.cv_results_["mean_test_score"], written.cv_results_["mean_test_score"], atol=1e-3
    )


def test_rows_of_weight_zero_are_in_no_fold(cross):
    X, y = cross
    seen = np.arange(len(y)) >= 40  # the whole of a fold, if folds were made of all rows
    search = SparseBayesClassifierCV([0.5, 2.0], kernel="rbf", gammas=[1.0], cv=KFold(3))
    weighted = search.fit(X, y, sample_weight=seen.astype(float)).cv_results_["mean_test_score"]
    without = search.fit(X[seen], y[seen]).cv_results_["mean_test_score"]
    np.testing.assert_allclose(weighted, without, rtol=1e-7)


def test_folds_that_name_rows_of_weight_zero_alone_are_refused(cross):
    X, y = cross
    fold = np.arange(len(y)) // 40
    with pytest.raises(ValueError, match="weight zero; give other folds"):
        SparseBayesClassifierCV([1.0], cv=PredefinedSplit(fold)).fit(X, y, sample_weight=fold > 0)


@pytest.mark.slow
def test_jobs_and_callbacks(cross, searched):
    seen = []
    model = SparseBayesClassifierCV(
        SHAPES, kernel="rbf", gammas=[0.5, 4.0], cv=4, n_jobs=2, callbacks=seen.append
    ).fit(*cross)
    assert [record.iteration for record in seen] == [1, 2, 3, 4, 5, 6]
    np.testing.assert_allclose(
        model.cv_results_["mean_test_score"], searched.cv_results_["mean_test_score"], rtol=1e-8
    )


def test_widths_come_from_the_distances():
    X = np.random.default_rng(0).normal(size=(200, 3))
    grid = np.array(width_grid(X))
    assert (np.diff(grid) < 0).all()
    np.testing.assert_allclose(np.array(width_grid(10 * X)), grid / 100, rtol=1e-10)
    np.testing.assert_allclose(width_grid(np.concatenate([X, X[:50]])), grid, rtol=1e-10)
    assert width_grid(np.ones((5, 2))) == [1.0]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"shapes": []}, "shapes must be a value or a sequence"),
        ({"shapes": [3.0]}, r"q must lie in \(0, 2\]"),
        ({"scales": ["evidenc"]}, "scale must be a positive number"),
        ({"kernel": "rbf", "gammas": [-1.0]}, "gamma must be positive"),
        ({"tol": 0.0}, "tol must be a positive number"),
    ],
)
def test_bad_settings_are_said_in_a_sentence(settings, sentence, cross):
    with pytest.raises(ValueError, match=sentence):
        SparseBayesClassifierCV(**settings).fit(*cross)


def test_a_failing_fit_leaves_nothing_behind(cross):
    model = SparseBayesClassifierCV(shapes=[5.0])
    with pytest.raises(ValueError, match="q must lie"):
        model.fit(*cross)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_the_path_is_drawn(searched):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display = SparsityPathDisplay.from_estimator(searched)
    np.testing.assert_array_equal(display.shapes, SHAPES)
    assert display.chosen == searched.best_params_["prior__q"]
    chosen = display.shapes == display.chosen
    assert display.scores[chosen] == searched.best_score_
    assert (np.isnan(display.scores) | (display.scores < 0)).all()  # a gap where a shape was dropped
    assert len(display.ax_.lines) >= 2
    figure, ax = plt.subplots()
    assert display.plot(ax=ax).figure_ is figure
    plt.close("all")


@pytest.mark.parametrize("kind", [SparseBayesClassifierCV, SparseBayesRegressorCV])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_order_of_the_rows_does_not_choose_the_model(kind, sparse):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(60, 2)), rng.integers(0, 2, size=60)])
    y = X[:, 0] ** 2 + 0.5 * rng.normal(size=60)
    y = y > 1 if kind is SparseBayesClassifierCV else y
    drawn = []
    for order in (np.arange(60), np.argsort(X[:, 0]), rng.permutation(60)):
        rows = csr_array(X[order]) if sparse else X[order] * [1.0, 1e6, 1e-6]
        data = Data(rows, y[order], np.ones(60))
        drawn.append([set(order[test]) for _, test in draw_folds(None, data, None, y.dtype == bool)])
    assert drawn[0] == drawn[1] == drawn[2]
    assert [len(fold) for fold in drawn[0]] == [12] * 5 or y.dtype == bool


@pytest.mark.slow
def test_a_sorted_table_is_not_judged_where_it_has_no_rows():
    X = np.linspace(-10, 10, 60)[:, None]
    y = np.sinc(X[:, 0] / np.pi) + 0.1 * np.random.default_rng(0).normal(size=60)
    order = np.random.default_rng(1).permutation(60)
    ours, theirs = (
        SparseBayesRegressorCV([0.5], kernel="rbf").fit(X[rows], y[rows])
        for rows in (slice(None), order)
    )
    assert ours.best_params_ == theirs.best_params_
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-6)


@pytest.mark.parametrize("away", [0.0, 1e-3])
def test_copies_of_a_row_are_left_out_together(away):
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(50, 3)), 3, axis=0), np.repeat(rng.integers(0, 2, size=50), 3)
    X += away * rng.normal(size=X.shape)
    for a, b in draw_folds(None, Data(X, y, np.ones(150)), None, True):
        assert not set(a // 3) & set(b // 3)
        assert sorted([*a, *b]) == list(range(150))


def test_rows_that_are_alike_and_disagree_are_left_out_one_by_one():
    X, y = np.repeat(np.eye(4), 25, axis=0), np.tile([0, 1, 1, 1, 0], 20)
    for a, b in draw_folds(None, Data(X, y, np.ones(100)), None, True):
        assert len(np.unique(X[a], axis=0)) == len(np.unique(X[b], axis=0)) == 4


@pytest.mark.slow
@pytest.mark.parametrize("kind", [SparseBayesClassifierCV, SparseBayesRegressorCV, JCFOClassifierCV])
def test_groups_are_never_on_both_sides(kind, monkeypatch):
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(60, 2)), rng.permutation(np.arange(60) % 12)
    y = X[:, 0] if kind is SparseBayesRegressorCV else X[:, 0] > 0
    drawn, module = [], joint_search if kind is JCFOClassifierCV else _search

    def remembered(*asked):
        drawn.extend(draw_folds(*asked))
        return drawn

    monkeypatch.setattr(module, "draw_folds", remembered)
    own = {"selection_rates": [1.0]} if kind is JCFOClassifierCV else {"shapes": [1.0]}
    for cv, folds in ((None, 5), (3, 3), (GroupKFold(4), 4)):
        drawn.clear()
        kind(**own, cv=cv).fit(X, y, groups=groups)
        assert len(drawn) == folds
        assert all(not set(groups[a]) & set(groups[b]) for a, b in drawn)
    with pytest.raises(ValueError, match="groups must name the group of each of the 60 rows"):
        kind(**own).fit(X, y, groups=groups[:5])
