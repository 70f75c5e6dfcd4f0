"""The scikit-learn contract: its own checks, and what people do with an estimator."""

import inspect
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit, log_ndtr, ndtr
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import laconism
from laconism import SparseBayesClassifier, SparseBayesRegressor
from laconism.kernels import RBF, Linear
from laconism.priors import Gaussian, Jeffreys, Laplace

# ---- scikit-learn's own checks --------------------------------------------------------------


def public_estimators():
    """Every estimator that the package offers by name."""
    offered = [getattr(laconism, name) for name in laconism.__all__]
    return [kind for kind in offered if inspect.isclass(kind) and issubclass(kind, BaseEstimator)]


# Beside its defaults, an estimator is checked with those of these that its constructor takes.
VARIANTS = [
    {"kernel": "rbf"},
    {"prior": "laplace"},
    {"prior": "gaussian"},
    {"likelihood": "logistic"},
    {"solver": "em", "penalize_intercept": True},
    {"inference": "evidence"},
    {"inference": "variational"},
    {"combine": "sum"},
]


# A search is checked on a small grid: the checks fit hundreds of times.
SMALL = {"shapes": [0.5, 2.0], "gammas": [0.5], "cv": 2}
# The joint model's EM is checked by its first steps: it takes minutes where its rival takes a second.
SMALL_JOINT = {
    "kernel": "linear",
    "selection_rates": [4.0],
    "weight_rates": [1.0],
    "cv": 2,
    "solver": "em",
    "max_iter": 2,
}


# Variants of classifiers that take hundreds of steps are checked by their first; the default to its end.
# That weights are copies of rows at the end as well is checked in their own tests.
FIRST_STEPS = {"max_iter": 3}


def few_steps(kind, options):
    slow = "inference" in options or "combine" in inspect.signature(kind).parameters
    return FIRST_STEPS if slow and is_classifier(kind()) else {}


def variants(kind):
    accepted = inspect.signature(kind).parameters
    grids = [grid for grid in (SMALL, SMALL_JOINT) if set(grid) <= set(accepted)]
    small = grids[0] if grids else {}
    yield kind(**small)
    if "calibrate" in accepted:
        yield kind(calibrate=False)
    if small or "standardize" in accepted:
        return  # what a search or the joint model does with the others is checked in their own tests
    for extra in VARIANTS:
        if "likelihood" in extra and (not is_classifier(kind()) or "prior" not in accepted):
            continue  # probabilities are made in the same place for all classifiers
        if "combine" in extra and is_classifier(kind()):
            continue  # nor do labels know how precisions are combined
        if not set(extra) <= set(accepted):
            continue
        if all(accepted[name].default in (value, "auto") for name, value in extra.items()):
            continue  # that is the default, or what it tries first, and checked already
        once = {"calibrate": False} if "calibrate" in accepted else {}  # six fits are one
        yield kind(**extra, **few_steps(kind, extra), **once)


# Checks that fit dozens of times, in every format of the data.
MANY_FITS = (
    "check_estimator_sparse",
    "check_classifiers_train",
    "check_regressor_data_not_an_array",
    "check_regressors_train",
    "check_transformer_data_not_an_array",
    "check_classifier_data_not_an_array",
    "check_estimators_dtypes",
    "check_sample_weight_equivalence_on_sparse_data",
)


CHECKED = [estimator for kind in public_estimators() for estimator in variants(kind)]


def test_every_public_estimator_is_checked():
    assert public_estimators(), "nothing was discovered"
    assert {type(estimator) for estimator in CHECKED} >= set(public_estimators())
    classes = [getattr(laconism, name) for name in laconism.__all__ if name[0].isupper()]
    assert set(classes) <= set(public_estimators())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(CHECKED)
def test_sklearn_check(estimator, check):
    if getattr(estimator, "calibrate", False) and check.func.__name__.startswith(MANY_FITS):
        pytest.skip("Six fits are one with calibrate=False, which is checked too.")
    check(estimator)


# ---- data -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def binary():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    y = np.where(X[:, 0] - 2 * X[:, 3] + 0.7 * rng.normal(size=120) > 0, "yes", "no")
    return X, y


@pytest.fixture(scope="module")
def regression():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 6))
    return X, 2 * X[:, 1] - X[:, 4] + 3 + 0.2 * rng.normal(size=100)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X)[::2], load_iris().target_names[y][::2]


def problem_of(estimator, binary, regression):
    return regression if is_regressor(estimator) else binary


MODELS = [
    SparseBayesClassifier(),
    SparseBayesClassifier(kernel="rbf", gamma=0.2),
    SparseBayesClassifier(prior=Laplace(rate=2.0), likelihood="logistic"),
    SparseBayesClassifier(expansion=2, penalize_intercept=True),
    SparseBayesRegressor(),
    SparseBayesRegressor(kernel=RBF(gamma=0.1) + Linear(), prior="student_t"),
    SparseBayesRegressor(prior="gaussian"),
]
MODEL_IDS = [repr(model).replace("\n", "") for model in MODELS]


@pytest.fixture(params=MODELS, ids=MODEL_IDS)
def model(request):
    return clone(request.param)


def outputs(model, X):
    """Everything that the model says about X."""
    names = ("predict", "decision_function", "predict_proba", "predict_log_proba", "predict_dist")
    said = [getattr(model, name)(X) for name in names if hasattr(model, name)]
    return [part for one in said for part in (one if isinstance(one, tuple) else (one,))]


def assert_close(first, second, tolerance=1e-6):
    """For data that differ in memory layout, where the order of summation may differ."""
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(a, b)


def assert_same(first, second):
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


# ---- pipelines and searches -----------------------------------------------------------------


def test_pipeline_last(binary):
    X, y = binary
    pipe = make_pipeline(StandardScaler(), SparseBayesClassifier()).fit(X * 100 + 5, y)
    assert pipe.score(X * 100 + 5, y) > 0.8


def test_pipeline_as_selector(binary):
    X, y = binary
    pipe = make_pipeline(StandardScaler(), SparseBayesClassifier(), LogisticRegression()).fit(X, y)
    selected = pipe[1].get_support(indices=True)
    assert set(selected) >= {0, 3}
    assert len(selected) < 6
    assert pipe[-1].coef_.shape == (1, len(selected))
    names = pipe[:-1].get_feature_names_out()
    assert list(names) == [f"x{j}" for j in selected]


def test_regressor_as_selector(regression):
    X, y = regression
    pipe = make_pipeline(SparseBayesRegressor(), StandardScaler()).fit(X, y)
    assert pipe.transform(X).shape == (100, pipe[0].n_relevant_)


def test_grid_search_prior_rate(binary):
    X, y = binary
    grid = {"prior__rate": [0.1, 1.0, 1000.0]}
    search = GridSearchCV(SparseBayesClassifier(prior=Laplace()), grid, cv=3).fit(X, y)
    assert search.best_params_["prior__rate"] < 1000
    assert search.best_estimator_.prior_.rate == search.best_params_["prior__rate"]


def test_grid_search_kernel_and_gamma(binary):
    X, y = binary
    grid = {"kernel": ["rbf", "linear", RBF(0.1), None], "gamma": [0.05, "scale"]}
    search = GridSearchCV(SparseBayesClassifier(), grid, cv=2, error_score="raise").fit(X[:60], y[:60])
    assert len(search.cv_results_["params"]) == 8
    assert search.score(X, y) > 0.7


def test_grid_search_whole_priors(regression):
    X, y = regression
    grid = {"prior": [Jeffreys(), Laplace(0.5), Laplace(5.0), Gaussian(2.0), "student_t"]}
    search = GridSearchCV(SparseBayesRegressor(), grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.95
    assert len(pd.DataFrame(search.cv_results_)) == 5


def test_grid_search_precomputed_kernel(binary):
    X, y = binary
    K = RBF(0.2)(X, X)
    model = SparseBayesClassifier(kernel="precomputed")
    scores = cross_val_score(model, K, y, cv=3, error_score="raise")
    direct = cross_val_score(SparseBayesClassifier(kernel="rbf", gamma=0.2), X, y, cv=3)
    np.testing.assert_allclose(scores, direct, atol=0.05)


def test_cross_val_predict_proba(binary):
    X, y = binary
    proba = cross_val_predict(SparseBayesClassifier(), X, y, cv=3, method="predict_proba")
    assert proba.shape == (120, 2)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert np.mean(np.array(["no", "yes"])[proba.argmax(axis=1)] == y) > 0.8


# ---- parameters -----------------------------------------------------------------------------


def test_clone_is_unfitted_and_equal(model, binary, regression):
    X, y = problem_of(model, binary, regression)
    before = repr(model)
    model.fit(X, y)
    twin = clone(model)
    assert repr(twin) == before
    assert not [name for name in vars(twin) if name.endswith("_")]
    assert_same(outputs(twin.fit(X, y), X), outputs(model, X))


def test_nested_params():
    model = SparseBayesClassifier(prior=Laplace(rate=3.0), kernel=RBF(gamma=0.5))
    params = model.get_params()
    assert params["prior__rate"] == 3.0
    assert params["kernel__gamma"] == 0.5
    model.set_params(prior__rate=4.0, kernel__gamma=0.25, tol=1e-4)
    assert (model.prior.rate, model.kernel.gamma, model.tol) == (4.0, 0.25, 1e-4)
    with pytest.raises(ValueError, match="nonsense"):
        model.set_params(prior__nonsense=1)


def test_repr_and_html_do_not_fail(model):
    assert type(model).__name__ in repr(model)
    assert type(model).__name__ in model._repr_html_()


def test_fit_writes_no_init_parameter(model, binary, regression):
    X, y = problem_of(model, binary, regression)
    before = {name: id(value) for name, value in model.get_params().items()}
    written = repr(model)
    model.fit(X, y)
    assert {name: id(value) for name, value in model.get_params().items()} == before
    assert repr(model) == written


def test_fit_shares_nothing_with_the_callers_components(binary):
    X, y = binary
    prior, kernel = Laplace(rate=1.0), RBF(gamma=0.3)
    model = SparseBayesClassifier(prior=prior, kernel=kernel).fit(X, y)
    before = outputs(model, X)
    prior.rate, kernel.gamma = 1e6, 1e6
    assert_same(outputs(model, X), before)


def test_fit_leaves_the_data_alone(model, binary, regression):
    X, y = problem_of(model, binary, regression)
    weight = np.linspace(0, 2, len(y))
    copies = X.copy(), y.copy(), weight.copy()
    model.fit(X, y, sample_weight=weight)
    outputs(model, X)
    for data, copy in zip((X, y, weight), copies, strict=True):
        np.testing.assert_array_equal(data, copy)


OTHER = {
    "prior": "gaussian",
    "gamma": 77.0,
    "degree": 9,
    "coef0": 3.0,
    "expansion": 3,
    "likelihood": "logistic",
    "fit_intercept": False,
    "penalize_intercept": True,
    "solver": "em",
    "max_iter": 1,
    "tol": 1.0,
    "class_weight": "balanced",
    "n_jobs": 2,
    "warm_start": True,
    "callbacks": [],
}


def test_predict_reads_no_init_parameter(model, binary, regression):
    X, y = problem_of(model, binary, regression)
    model.fit(X, y)
    before = outputs(model, X)
    mask = model.get_support() if model.kernel is None else None
    for name, value in OTHER.items():
        if name in model.get_params(deep=False):
            model.set_params(**{name: value})
    assert_same(outputs(model, X), before)
    for name in OTHER:
        if name in vars(model):
            delattr(model, name)
    assert_same(outputs(model, X), before)
    if mask is not None:
        np.testing.assert_array_equal(model.get_support(), mask)


@pytest.mark.parametrize("other", ["linear", "precomputed", None])
def test_predict_does_not_read_the_kernel(binary, other):
    X, y = binary
    model = SparseBayesClassifier(kernel="rbf").fit(X, y)
    before = outputs(model, X)
    assert_same(outputs(model.set_params(kernel=other), X), before)


def test_refit_with_another_kernel_leaves_no_old_attributes(binary):
    X, y = binary
    model = SparseBayesClassifier(kernel="rbf").fit(X, y)
    assert hasattr(model, "dual_coef_")
    model.set_params(kernel=None).fit(X, y)
    assert hasattr(model, "coef_")
    assert not hasattr(model, "dual_coef_")
    assert not hasattr(model, "relevance_vectors_")
    model.set_params(kernel="rbf").fit(X, y)
    assert not hasattr(model, "coef_")


# ---- copies ---------------------------------------------------------------------------------


def test_pickle(model, binary, regression):
    X, y = problem_of(model, binary, regression)
    model.fit(X, y)
    assert_same(outputs(pickle.loads(pickle.dumps(model)), X), outputs(model, X))


def test_joblib(model, binary, regression, tmp_path):
    X, y = problem_of(model, binary, regression)
    model.fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    loaded = joblib.load(tmp_path / "model.joblib")
    assert_same(outputs(loaded, X), outputs(model, X))
    assert loaded.history_ == model.history_
    assert loaded.status_ == model.status_


# ---- frames ---------------------------------------------------------------------------------

NAMES = list("abcdef")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames(frame, model, binary, regression):
    X, y = problem_of(model, binary, regression)
    named = frame(dict(zip(NAMES, X.T, strict=True)))
    model.fit(named, y)
    assert list(model.feature_names_in_) == NAMES
    assert_close(outputs(model, named), outputs(clone(model).fit(X, y), X))
    wrong = frame(dict(zip("abcdeg", X.T, strict=True)))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(wrong)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(named[NAMES[::-1]])


@pytest.mark.parametrize("series", [pd.Series, pl.Series])
def test_series_as_targets(series, model, binary, regression):
    X, y = problem_of(model, binary, regression)
    weight = np.linspace(0.5, 1.5, len(y))
    first = clone(model).fit(X, series(y), sample_weight=series(weight))
    assert_same(outputs(first, X), outputs(clone(model).fit(X, y, sample_weight=weight), X))


@pytest.mark.parametrize(("library", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output(library, frame, binary):
    X, y = binary
    named = frame(dict(zip(NAMES, X.T, strict=True)))
    model = SparseBayesClassifier().set_output(transform=library).fit(named, y)
    out = model.transform(named)
    assert isinstance(out, frame)
    kept = [NAMES[j] for j in model.relevance_]
    assert list(out.columns) == kept == list(model.get_feature_names_out())
    np.testing.assert_array_equal(out.to_numpy(), X[:, model.relevance_])
    assert isinstance(clone(model).set_output(transform=library).fit_transform(named, y), frame)


# ---- selecting ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [SparseBayesClassifier, SparseBayesRegressor])
def test_selection(kind, binary, regression):
    X, y = problem_of(kind(), binary, regression)
    model = kind().fit(X, y)
    mask = model.get_support()
    np.testing.assert_array_equal(np.flatnonzero(mask), model.relevance_)
    np.testing.assert_array_equal(model.get_support(indices=True), model.relevance_)
    out = model.transform(X)
    np.testing.assert_array_equal(out, X[:, mask])
    np.testing.assert_array_equal(kind().fit_transform(X, y), out)
    back = model.inverse_transform(out)
    assert back.shape == X.shape
    np.testing.assert_array_equal(back[:, mask], out)
    assert not back[:, ~mask].any()
    assert list(model.get_feature_names_out()) == [f"x{j}" for j in model.relevance_]
    assert list(model.get_feature_names_out(NAMES)) == [NAMES[j] for j in model.relevance_]


SELECTING = ("transform", "fit_transform", "inverse_transform", "get_support", "get_feature_names_out")


@pytest.mark.parametrize("kind", [SparseBayesClassifier, SparseBayesRegressor])
def test_no_selection_with_a_kernel(kind, binary, regression):
    X, y = problem_of(kind(), binary, regression)
    for model in (kind(kernel="rbf"), kind(kernel="rbf").fit(X, y)):
        for name in SELECTING:
            assert not hasattr(model, name), name
        with pytest.raises(AttributeError, match="transform"):
            model.transform(X)
    for name in SELECTING:
        assert hasattr(kind(), name), name


def test_selection_with_products_of_features(binary):
    X, y = binary
    model = SparseBayesClassifier(expansion=2).fit(X, y)
    assert model.coef_.shape == (1, 6 + 6 * 7 // 2)
    assert model.get_support().shape == (6,)
    assert model.transform(X).shape == (120, model.get_support().sum())


# ---- classes --------------------------------------------------------------------------------


@pytest.mark.parametrize("likelihood", ["probit", "logistic"])
@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_multiclass_with_workers(iris, kernel, likelihood):
    X, y = iris
    one = SparseBayesClassifier(kernel=kernel, likelihood=likelihood, n_jobs=1).fit(X, y)
    two = clone(one).set_params(n_jobs=2).fit(X, y)
    assert list(one.classes_) == ["setosa", "versicolor", "virginica"]
    assert_same(outputs(one, X), outputs(two, X))
    assert one.score(X, y) > (0.9 if kernel else 0.75)
    assert {record.output for record in one.history_} == {0, 1, 2}


@pytest.mark.parametrize("likelihood", ["probit", "logistic"])
def test_probabilities_of_two_classes(binary, likelihood):
    X, y = binary
    model = SparseBayesClassifier(likelihood=likelihood).fit(X, y)
    proba, t = model.predict_proba(X), model.decision_function(X)
    link = ndtr if likelihood == "probit" else expit
    assert proba.shape == (120, 2)
    assert t.shape == (120,)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_allclose(proba[:, 1], link(t), rtol=1e-10)
    np.testing.assert_allclose(np.log(proba), model.predict_log_proba(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])


def test_probabilities_of_three_classes(iris):
    X, y = iris
    model = SparseBayesClassifier().fit(X, y)
    proba, t = model.predict_proba(X), model.decision_function(X)
    assert proba.shape == t.shape == (75, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_allclose(proba, ndtr(t) / ndtr(t).sum(axis=1, keepdims=True), rtol=1e-8)
    np.testing.assert_array_equal(model.predict(X), model.classes_[t.argmax(axis=1)])
    np.testing.assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])


@pytest.mark.parametrize("likelihood", ["probit", "logistic"])
def test_predict_agrees_with_proba_in_the_far_tail(iris, likelihood):
    X, y = iris
    model = SparseBayesClassifier(prior="laplace", likelihood=likelihood).fit(X, y)
    far = X * 1e3
    proba, log_proba = model.predict_proba(far), model.predict_log_proba(far)
    assert np.isfinite(log_proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    chosen = proba[np.arange(len(far)), model.decision_function(far).argmax(axis=1)]
    np.testing.assert_allclose(chosen, proba.max(axis=1))


def test_log_proba_is_finite_where_proba_underflows():
    X = np.linspace(-1, 1, 400)[:, None]
    y = X[:, 0] > 0
    y[[195, 205]] = [True, False]
    model = SparseBayesClassifier().fit(X, y)
    far = np.array([[-1e3], [1e3]])
    model.posteriors_[0].root[:] *= 1e-4  # as if much data had been seen: moderation saturates else
    log_proba = model.predict_log_proba(far)
    assert model.predict_proba(far).min() == 0.0
    assert np.isfinite(log_proba).all()
    t = model.decision_function(far)
    np.testing.assert_allclose(log_proba, np.column_stack([log_ndtr(-t), log_ndtr(t)]))


# ---- attributes -----------------------------------------------------------------------------


def test_shapes_on_features(binary, regression, iris):
    two = SparseBayesClassifier().fit(*binary)
    assert two.coef_.shape == (1, 6)
    assert two.intercept_.shape == (1,)
    three = SparseBayesClassifier().fit(*iris)
    assert three.coef_.shape == (3, 4)
    assert three.intercept_.shape == (3,)
    one = SparseBayesRegressor().fit(*regression)
    assert one.coef_.shape == (6,)
    assert np.ndim(one.intercept_) == 0
    np.testing.assert_allclose(one.predict(regression[0]), regression[0] @ one.coef_ + one.intercept_)
    for model in (two, three):
        np.testing.assert_array_equal(np.flatnonzero(model.coef_.any(axis=0)), model.relevance_)
        assert model.n_relevant_ == model.relevance_.size
    np.testing.assert_array_equal(np.flatnonzero(one.coef_), one.relevance_)


@pytest.mark.parametrize("penalize_intercept", [False, True])
@pytest.mark.parametrize("prior", ["jeffreys", "laplace", "gaussian"])
def test_shapes_on_kernels(binary, regression, iris, prior, penalize_intercept):
    options = {"kernel": "rbf", "gamma": 0.3, "prior": prior, "penalize_intercept": penalize_intercept}
    X, y = regression
    weight = np.ones(len(y))
    weight[:10] = 0
    one = SparseBayesRegressor(**options).fit(X, y, sample_weight=weight)
    k = one.n_relevant_
    assert one.dual_coef_.shape == one.relevance_.shape == (k,)
    assert one.relevance_.min() >= 10
    np.testing.assert_array_equal(X[one.relevance_], one.relevance_vectors_)
    f = RBF(0.3)(X, one.relevance_vectors_) @ one.dual_coef_ + one.intercept_
    np.testing.assert_allclose(one.predict(X), f, atol=1e-8)
    assert not hasattr(one, "coef_")
    for data, rows in ((binary, 1), (iris, 3)):
        model = SparseBayesClassifier(**options).fit(*data)
        assert model.dual_coef_.shape == (rows, model.n_relevant_)
        assert model.intercept_.shape == (rows,)
        np.testing.assert_array_equal(data[0][model.relevance_], model.relevance_vectors_)
        assert model.dual_coef_.any(axis=0).all()


def test_relevance_points_to_the_first_of_duplicate_rows(regression):
    X, y = regression
    doubled = np.vstack([X, X])
    model = SparseBayesRegressor(kernel="rbf").fit(doubled, np.concatenate([y, y]))
    assert model.relevance_.max() < len(X)
    np.testing.assert_array_equal(doubled[model.relevance_], model.relevance_vectors_)


@pytest.mark.parametrize("kind", [SparseBayesClassifier, SparseBayesRegressor])
def test_precomputed_equals_the_kernel_itself(kind, binary, regression):
    X, y = problem_of(kind(), binary, regression)
    K = RBF(0.2)(X, X)
    direct = kind(kernel="rbf", gamma=0.2).fit(X, y)
    given = kind(kernel="precomputed").fit(K, y)
    np.testing.assert_array_equal(direct.relevance_, given.relevance_)
    assert_close(outputs(direct, X), outputs(given, K))


@pytest.mark.parametrize("kind", [SparseBayesClassifier, SparseBayesRegressor])
def test_precomputed_with_rows_of_weight_zero(kind, binary, regression):
    X, y = problem_of(kind(), binary, regression)
    weight = np.ones(len(y))
    weight[::3] = 0
    direct = kind(kernel="rbf", gamma=0.2).fit(X, y, sample_weight=weight)
    given = kind(kernel="precomputed").fit(RBF(0.2)(X, X), y, sample_weight=weight)
    np.testing.assert_array_equal(direct.relevance_, given.relevance_)
    assert_close(outputs(direct, X), outputs(given, RBF(0.2)(X, X)))


# ---- how it went ----------------------------------------------------------------------------


def test_history_is_a_table(model, binary, regression):
    model.fit(*problem_of(model, binary, regression))
    table = pd.DataFrame(model.history_)
    assert list(table.columns) == ["iteration", "objective", "active", "seconds", "output"]
    assert len(table) == model.n_iter_
    np.testing.assert_array_equal(table.iteration, np.arange(1, len(table) + 1))
    assert np.isfinite(table.to_numpy()).all()
    assert (table.seconds.diff().dropna() >= 0).all()
    assert model.status_.converged
    assert str(model.status_).startswith("Converged")


@pytest.mark.parametrize("kind", [SparseBayesClassifier, SparseBayesRegressor])
@pytest.mark.parametrize("solver", ["em", "newton"])
@pytest.mark.parametrize("n_features", [6, 40])
def test_too_few_iterations_warn(kind, solver, n_features, regression):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, n_features))
    y = X[:, 0] - X[:, 2] + 0.3 * rng.normal(size=80)
    y = y if is_regressor(kind()) else y > 0
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = kind(solver=solver, max_iter=1).fit(X, y)
    assert not model.status_.converged
    assert "max_iter=1" in model.status_.message
    assert model.status_.message.endswith(".")
    assert model.n_iter_ == 1
    assert np.isfinite(model.predict(X)).all()


def test_convergence_warning_points_to_the_callers_file(binary):
    X, y = binary
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SparseBayesClassifier(solver="em", max_iter=1).fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("prior", ["jeffreys", "laplace", "gaussian", "student_t"])
@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("kind", [SparseBayesClassifier, SparseBayesRegressor])
def test_warm_start(kind, kernel, prior, binary, regression):
    X, y = problem_of(kind(), binary, regression)
    model = kind(prior=prior, kernel=kernel, warm_start=True, tol=1e-10).fit(X, y)
    first, before = model.n_iter_, outputs(model, X)
    model.fit(X, y)
    assert model.n_iter_ <= first
    for a, b in zip(outputs(model, X), before, strict=True):
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)
        else:
            assert np.mean(a == b) > 0.99


def test_warm_start_survives_another_problem(binary, regression, iris):
    X, y = binary
    model = SparseBayesClassifier(warm_start=True).fit(X, y)
    model.fit(*iris)
    assert model.classes_.size == 3
    model.set_params(kernel="rbf").fit(X, y)
    model.set_params(kernel=None, penalize_intercept=True).fit(X[:, :3], y)
    assert np.isfinite(model.predict_proba(X[:, :3])).all()


# ---- callbacks ------------------------------------------------------------------------------


def test_plain_callback_gets_every_record(model, binary, regression):
    X, y = problem_of(model, binary, regression)
    seen, again = [], []
    model.set_params(callbacks=[seen.append, again.append]).fit(X, y)
    assert seen == again == model.history_


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_plain_callback_gets_every_record_of_every_class(iris, n_jobs):
    seen = []
    model = SparseBayesClassifier(callbacks=seen.append, n_jobs=n_jobs).fit(*iris)
    assert sorted(seen, key=lambda record: (record.output, record.iteration)) == model.history_


def noisy_features():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 40))
    return X, X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=80)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("always", [True, False], ids=["always", "once"])
@pytest.mark.parametrize("answer", [True, np.True_], ids=["True", "np.True_"])
def test_callback_stops(kernel, always, answer):
    X, y = noisy_features()

    def stop(record):
        reached = record.iteration >= 2 if always else record.iteration == 2
        return answer if reached else None

    model = SparseBayesRegressor(kernel=kernel, solver="em", callbacks=stop).fit(X, y)
    assert model.n_iter_ == 2
    assert not model.status_.converged
    assert "stopped by a callback" in model.status_.message.lower()
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("wrong", ["print", 3, [print, 3], {"a": print}])
def test_callbacks_must_be_functions(binary, wrong):
    with pytest.raises(TypeError, match="callbacks must be"):
        SparseBayesClassifier(callbacks=wrong).fit(*binary)


def test_a_failing_callback_leaves_the_model_unfitted(binary):
    def fail(record):
        raise KeyboardInterrupt

    model = SparseBayesClassifier(callbacks=fail)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*binary)
    assert not [name for name in vars(model) if name.endswith("_")]


class Watcher:
    """A callback of scikit-learn's protocol."""

    def __init__(self, stop_at=None):
        self.calls, self.records, self.stop_at = [], [], stop_at

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        self.calls.append("begin")

    def on_fit_task_end(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        self.calls.append("end")
        if metadata and "record" in metadata:
            self.records.append(metadata["record"])
            return self.stop_at == metadata["record"].iteration
        return False


def sklearn_callback():
    return pytest.importorskip("sklearn.callback")


def test_sklearn_callback_sees_every_iteration(model, binary, regression):
    sklearn_callback()
    X, y = problem_of(model, binary, regression)
    watcher = Watcher()
    model.set_callbacks(watcher).fit(X, y)
    assert watcher.calls[0] == "setup"
    assert watcher.calls[-1] == "teardown"
    assert watcher.records == model.history_
    assert watcher.calls.count("begin") == watcher.calls.count("end")


def test_sklearn_callback_does_not_change_the_answer(model, binary, regression):
    sklearn_callback()
    X, y = problem_of(model, binary, regression)
    plain = outputs(clone(model).fit(X, y), X)
    assert_same(outputs(model.set_callbacks(Watcher()).fit(X, y), X), plain)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_sklearn_callback_stops(kernel):
    sklearn_callback()
    X, y = noisy_features()
    model = SparseBayesRegressor(kernel=kernel, solver="em").set_callbacks(Watcher(stop_at=2)).fit(X, y)
    assert model.n_iter_ == 2
    assert "stopped by a callback" in model.status_.message.lower()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_sklearn_callback_in_several_outputs(iris, n_jobs):
    sklearn_callback()
    watcher = Watcher()
    model = SparseBayesClassifier(n_jobs=n_jobs).set_callbacks(watcher).fit(*iris)
    assert model.score(*iris) > 0.75
    watched = sorted(watcher.records, key=lambda record: (record.output, record.iteration))
    assert watched == model.history_


def test_sklearn_callback_on_a_fit_that_fails(binary):
    sklearn_callback()
    X, y = binary
    watcher = Watcher()
    model = SparseBayesClassifier(prior="laplase").set_callbacks(watcher)
    with pytest.raises(ValueError, match="laplace"):
        model.fit(X, y)
    assert watcher.calls.count("setup") == watcher.calls.count("teardown")
    assert model.set_params(prior="laplace").fit(X, y).status_.converged


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_progress_bar(binary, iris, capsys):
    ProgressBar = sklearn_callback().ProgressBar
    pytest.importorskip("rich")
    SparseBayesClassifier().set_callbacks(ProgressBar()).fit(*binary)
    SparseBayesClassifier().set_callbacks(ProgressBar()).fit(*iris)
    assert "SparseBayesClassifier" in capsys.readouterr().out


# ---- kinds of arrays ------------------------------------------------------------------------


def test_read_only_memmap(model, binary, regression, tmp_path):
    X, y = problem_of(model, binary, regression)
    joblib.dump(X, tmp_path / "X")
    mapped = joblib.load(tmp_path / "X", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    weight = np.ones(len(y))
    frozen = y.copy()
    for array in (weight, frozen):
        array.flags.writeable = False
    first = clone(model).fit(mapped, frozen, sample_weight=weight)
    assert_same(outputs(first, mapped), outputs(model.fit(X, y), X))


@pytest.mark.parametrize("order", ["F", "strided"])
def test_memory_layout(model, binary, regression, order):
    X, y = problem_of(model, binary, regression)
    other = np.asfortranarray(X) if order == "F" else np.repeat(X, 2, axis=0)[::2]
    first, second = clone(model).fit(other, y), model.fit(X, y)
    assert_close(outputs(first, X), outputs(second, X))


def test_float32(model, binary, regression):
    X, y = problem_of(model, binary, regression)
    X32 = X.astype(np.float32)
    first = clone(model).fit(X32, y)
    assert_close(outputs(first, X32), outputs(model.fit(X32.astype(float), y), X32.astype(float)), 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool])
def test_integers(model, binary, regression, dtype):
    X, y = problem_of(model, binary, regression)
    whole = np.abs(np.round(3 * X)).astype(dtype)
    first = clone(model).fit(whole, y)
    assert_same(outputs(first, whole), outputs(model.fit(whole.astype(float), y), whole.astype(float)))


def test_lists(model, binary, regression):
    X, y = problem_of(model, binary, regression)
    first = clone(model).fit(X.tolist(), y.tolist(), sample_weight=[1.0] * len(y))
    assert_same(outputs(first, X.tolist()), outputs(model.fit(X, y), X))


def test_integer_targets_of_a_regression(regression):
    X, y = regression
    whole = np.round(10 * y).astype(int)
    first, second = (
        SparseBayesRegressor().fit(X, whole),
        SparseBayesRegressor().fit(X, whole.astype(float)),
    )
    assert_same(outputs(first, X), outputs(second, X))


def test_predicting_one_row(model, binary, regression):
    X, y = problem_of(model, binary, regression)
    model.fit(X, y)
    assert_close(outputs(model, X[:1]), [part[:1] for part in outputs(model, X)])
