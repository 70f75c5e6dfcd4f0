"""Bad input: one clear sentence or a finite answer, and never half a model."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

import laconism
from laconism import (
    GridRVMClassifier,
    JCFOClassifier,
    JCFOClassifierCV,
    JCFORegressorCV,
    LaconicClassifier,
    LaconicRegressor,
    RVMClassifier,
    SparseBayesClassifier,
    SparseBayesClassifierCV,
    SparseBayesRegressor,
    SparseBayesRegressorCV,
)
from laconism.kernels import RBF, FunctionKernel, Matern, Polynomial
from laconism.likelihoods import Gaussian as GaussianLikelihood
from laconism.priors import Gaussian, GeneralizedGaussian, Jeffreys, Laplace, StudentT
from laconism.solvers import EM, Newton
from laconism.solvers.proximal import Proximal, lasso_quadratic

KINDS = [SparseBayesClassifier, SparseBayesRegressor]
PRIORS = ["jeffreys", "laplace", "gaussian", "student_t", GeneralizedGaussian(q=0.5, scale=1.0)]
FEW = ["jeffreys", "laplace", "gaussian"]
SOLVERS = ["auto", "em", "newton"]
KERNELS = [None, "rbf", "linear", "matern", "poly"]

both = pytest.mark.parametrize("kind", KINDS)


def data(kind, n=30, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    f = X[:, 0] + 0.5 * rng.normal(size=n)
    return X, (f > 0).astype(int) if kind is SparseBayesClassifier else f


def fitted_names(model):
    return [name for name in vars(model) if name.endswith("_") and not name.startswith("__")]


def check_refused(model, X, y, fragment, error=ValueError, **fit_params):
    """Both a first and a second fit fail with that sentence and leave nothing behind."""
    params = model.get_params(deep=False)
    with pytest.raises(error, match=fragment):
        model.fit(X, y, **fit_params)
    assert not fitted_names(model), "a failing first fit left attributes"
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    with pytest.raises(NotFittedError):
        model.predict(np.zeros((2, 4)))
    good = data(type(model))
    second = type(model)().fit(*good)
    before, names = second.predict(good[0]), fitted_names(second)
    second.set_params(**params)
    with pytest.raises(error, match=fragment):
        second.fit(X, y, **fit_params)
    assert fitted_names(second) == names
    np.testing.assert_array_equal(
        second.set_params(**type(model)().get_params()).predict(good[0]), before
    )


def check_says_or_refuses(model, X):
    """A finite answer, or a sentence about the scale of the features."""
    try:
        says(model, X)
    except ValueError as error:
        if "scale" not in str(error):
            raise


def says(model, X):
    """Everything that the model says about X, which has to be finite and possible."""
    labels = model.predict(X)
    assert labels.shape == (X.shape[0],)
    if is_classifier(model):
        assert set(labels) <= set(model.classes_)
        proba, log_proba = model.predict_proba(X), model.predict_log_proba(X)
        assert np.isfinite(model.decision_function(X)).all()
        assert np.isfinite(proba).all()
        assert np.isfinite(log_proba).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        return proba
    mean, std = model.predict_dist(X)
    assert np.isfinite(labels).all()
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    assert (std >= 0).all()
    return labels


def survives(model, X, y, **fit_params):
    """A fit that gives a finite answer without a warning, but for one about convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, **fit_params)
    weights = model.coef_ if model.kernel is None else model.dual_coef_
    assert np.isfinite(weights).all()
    assert np.isfinite(model.intercept_).all()
    assert all(np.isfinite(record.objective) for record in model.history_)
    assert model.status_.message
    says(model, X)
    return model


def check_survives_or_says(fragment, model, X, y, **fit_params):
    """A finite answer, or one sentence with the fragment in it."""
    try:
        return survives(model, X, y, **fit_params)
    except ValueError as error:
        if not re.search(fragment, str(error)):
            raise
    assert not fitted_names(model)
    return None


def each(kind, kernels=(None, "rbf"), priors=PRIORS, solvers=SOLVERS, **more):
    """Every sensible combination of solver, prior and kernel."""
    for prior in priors:
        for solver in solvers:
            for kernel in kernels:
                yield kind(prior=prior, solver=solver, kernel=kernel, max_iter=25, **more)


def check_every(kind, X, y, check=survives, fit_params=None, **options):
    """Try all combinations and report all that fail, not only the first."""
    failures = []
    for model in each(kind, **options):
        try:
            check(model, X, y, **(fit_params or {}))
        except (Exception, AssertionError) as error:
            sentence = " ".join(str(error).split())[:160]
            failures.append(f"{' '.join(repr(model).split())}: {type(error).__name__}: {sentence}")
    assert not failures, f"{len(failures)} combinations fail, such as\n" + "\n".join(failures[:8])


# ---- data that make no sense ----------------------------------------------------------------


@both
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kernel", [None, "rbf", "precomputed"])
def test_not_finite_in_X(kind, value, kernel):
    X, y = data(kind)
    X = X @ X.T if kernel == "precomputed" else X
    X[3, 2] = value
    check_refused(kind(kernel=kernel), X, y, "NaN|infinity")


@both
@pytest.mark.parametrize("name", ["tol", "max_iter", "max_rank"])
def test_an_integer_beyond_all_floats(kind, name):
    check_refused(kind(**{name: 10**400}), *data(kind), name)


@pytest.mark.parametrize("made_of", [np.asarray, csr_array, pd.DataFrame])
@pytest.mark.parametrize(
    "name", [name for name in laconism.__all__ if name.endswith(("Classifier", "Regressor", "CV"))]
)
def test_infinity_in_single_precision(name, made_of):
    """Compared in single precision, infinity is not larger than the largest number that is allowed."""
    model = getattr(laconism, name)()
    X = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    y = X[:, 0] > 0 if "Classifier" in name else X[:, 0].astype(float)
    X[3, 2] = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((TypeError, ValueError), match=r"infinity|[Ss]parse"):
            model.fit(made_of(X), y)


@pytest.mark.parametrize(
    "name",
    [
        "GridRVMClassifier",
        "JCFOClassifierCV",
        "LaconicRegressor",
        "RVMRegressor",
        "SparseBayesClassifier",
    ],
)
def test_the_largest_numbers_of_single_precision(name):
    """Their differences and squares overflow in single precision, so double computes with them."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = X[:, 0] > 0 if "Classifier" in name else X[:, 0]
    large = (3.3e38 * np.clip(X, -1, 1)).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        single = getattr(laconism, name)().fit(large, y)
        double = getattr(laconism, name)().fit(large.astype(float), y)
        for rows in (large, X.astype(np.float32)):
            assert np.isfinite(single.predict(rows)).all()
            np.testing.assert_array_equal(single.predict(rows), double.predict(rows.astype(float)))


@both
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite_in_y(kind, value):
    X, y = data(kind)
    y = y.astype(float)
    y[3] = value
    check_refused(kind(), X, y, "NaN|infinity")


@both
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_not_finite_at_predict(kind, value, kernel):
    X, y = data(kind)
    model = kind(kernel=kernel).fit(X, y)
    X[3, 2] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.predict(X)


@pytest.mark.parametrize("label", [0, "a", True])
def test_one_class(label):
    X, _ = data(SparseBayesClassifier)
    check_refused(SparseBayesClassifier(), X, np.array([label] * 30), "one class")


@both
def test_empty(kind):
    check_refused(kind(), np.zeros((0, 4)), np.zeros(0), "0 sample")
    check_refused(kind(), np.zeros((4, 0)), [0, 1, 0, 1], "0 feature")


@both
def test_wrong_dimensions_of_X(kind):
    X, y = data(kind)
    check_refused(kind(), X[:, 0], y, "Reshape your data")
    check_refused(kind(), X[:, :, None], y, "dim 3|3D|dimension")
    check_refused(kind(), X[0, 0], y, "Reshape your data|scalar")


@both
def test_wrong_y(kind):
    X, y = data(kind)
    check_refused(kind(), X, y[:-1], "inconsistent numbers of samples")
    check_refused(kind(), X, np.column_stack([y, y]), "1d array")
    check_refused(kind(), X, None, "requires y to be passed")


@both
def test_wrong_width_at_predict(kind):
    X, y = data(kind)
    for kernel in (None, "rbf"):
        model = kind(kernel=kernel).fit(X, y)
        with pytest.raises(ValueError, match="expecting 4 features"):
            model.predict(X[:, :3])


@pytest.mark.slow
@both
@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize(
    ("weight", "fragment"),
    [
        (np.full(30, -1.0), "must not be negative"),
        (np.r_[-1e-9, np.ones(29)], "must not be negative"),
        (np.zeros(30), "zero"),
        (np.ones(29), "sample_weight.shape"),
        (np.ones((30, 2)), "1D array or scalar"),
        (np.r_[np.nan, np.ones(29)], "NaN"),
        (np.r_[np.inf, np.ones(29)], "infinity"),
        (["x"] * 30, "could not convert"),
    ],
)
def test_bad_weights(kind, kernel, weight, fragment):
    X, y = data(kind)
    check_refused(kind(kernel=kernel), X, y, fragment, sample_weight=weight)


def test_weights_zero_for_one_class():
    X, y = data(SparseBayesClassifier)
    check_refused(SparseBayesClassifier(), X, y, "one class", sample_weight=(y == 1).astype(float))
    three = y + (X[:, 1] > 0)
    model = survives(SparseBayesClassifier(), X, three, sample_weight=(three != 2).astype(float))
    assert 2 not in model.predict(X)


@both
def test_weight_of_one_row_only(kind):
    X, y = data(kind)
    weight = np.zeros(30)
    weight[5] = 1
    if kind is SparseBayesClassifier:
        check_refused(kind(), X, y, "one class", sample_weight=weight)
    else:
        model = survives(kind(), X, y, sample_weight=weight)
        np.testing.assert_allclose(model.predict(X), y[5])


@both
@pytest.mark.parametrize("dtype", [complex, object])
def test_wrong_dtype(kind, dtype):
    X, y = data(kind)
    if dtype is complex:
        check_refused(kind(), X.astype(complex), y, "Complex data not supported")
    else:
        survives(kind(), X.astype(object), y)  # numbers in an object array are numbers
        mixed = X.astype(object)
        mixed[0, 0] = {"a": 1}
        check_refused(kind(), mixed, y, "argument must be|float", error=(TypeError, ValueError))


@both
def test_strings_in_X(kind):
    _, y = data(kind)
    check_refused(kind(), np.full((30, 4), "a"), y, "could not convert|numeric")
    check_refused(kind(), [["a", 1.0]] * 30, y, "could not convert|numeric")


def test_strings_in_the_targets_of_a_regression():
    X, _ = data(SparseBayesRegressor)
    check_refused(SparseBayesRegressor(), X, ["a"] * 30, "could not convert|numeric|Unknown label type")


@both
def test_sparse_X(kind):
    X, y = data(kind)
    try:
        model = kind().fit(csr_array(X), y)
    except TypeError as error:
        if "dense" not in str(error):
            raise
    else:
        said, direct = says(model, csr_array(X)), says(kind().fit(X, y), X)
        np.testing.assert_allclose(said, direct, rtol=1e-5, atol=1e-5)


def test_continuous_labels_are_refused():
    X, y = data(SparseBayesRegressor)
    check_refused(SparseBayesClassifier(), X, y, "continuous")


@pytest.mark.parametrize(
    "labels",
    [
        [False, True],
        ["no", "yes"],
        [np.int8(-1), np.int8(1)],
        [0.0, 1.0],
        ["ä", "日本"],
        [-5, 10**12],
    ],
    ids=str,
)
def test_labels_of_all_kinds(labels):
    X, y = data(SparseBayesClassifier)
    for given in (np.array(labels)[y], [labels[k] for k in y]):
        model = survives(SparseBayesClassifier(), X, given)
        assert set(model.predict(X)) == set(labels)
        assert model.score(X, given) > 0.8


@pytest.mark.parametrize(("other", "name"), [(None, "missing"), (1, "int")])
@pytest.mark.parametrize("kind", [SparseBayesClassifier, SparseBayesClassifierCV])
def test_labels_of_several_kinds_are_refused(kind, other, name):
    X, y = data(SparseBayesClassifier)
    for labels in (["a", other], [other, "a"]):
        with pytest.raises(ValueError, match=rf"several kinds \({name}, str\)"):
            kind().fit(X, np.array(labels, dtype=object)[y])


def test_labels_of_bytes_are_refused():
    X, y = data(SparseBayesClassifier)
    labels = np.array([b"no", b"yes"])[y]
    check_refused(SparseBayesClassifier(), X, labels, "Convert the labels to a string", error=TypeError)


# ---- settings that make no sense ------------------------------------------------------------


@pytest.mark.slow
@both
@pytest.mark.parametrize(
    ("prior", "fragment"),
    [
        (Laplace(rate=-1), "rate must be a positive number, got -1"),
        (Laplace(rate=0), "rate must be a positive number, got 0"),
        (Laplace(rate="1"), "rate must be a positive number, got '1'"),
        (Laplace(rate=None), "rate must be a positive number, got None"),
        (Laplace(rate=np.inf), "rate must be a positive number, got inf"),
        (Laplace(rate=np.nan), "rate must be a positive number, got nan"),
        (Laplace(rate=True), "rate must be a positive number, got True"),
        (Laplace(rate=[1.0]), "rate must be a positive number"),
        (Laplace(rate=np.ones(4)), "rate must be a positive number"),
        (GeneralizedGaussian(q=0), r"q must lie in \(0, 2\], got 0"),
        (GeneralizedGaussian(q=2.5), r"q must lie in \(0, 2\], got 2.5"),
        (GeneralizedGaussian(q=-1), r"q must lie in \(0, 2\], got -1"),
        (GeneralizedGaussian(scale=0), "scale must be a positive number"),
        (Gaussian(width=0), "width must be a positive number, got 0"),
        (Jeffreys(strength=-1), "strength must be a positive number, 'auto' or 'universal', got -1"),
        (Jeffreys(strength="foo"), "strength must be .* got 'foo'"),
        (Jeffreys(strength=None), "strength must be"),
        (StudentT(a=0), "a must be a positive number, got 0"),
        (StudentT(b=-1), "b must be a positive number, got -1"),
        ("laplase", "Unknown prior 'laplase'.*Did you mean 'laplace'"),
        ("Laplace", "Did you mean 'laplace'"),
        ("zzz", "Unknown prior 'zzz'.*Known: .*'jeffreys'"),
    ],
    ids=str,
)
def test_bad_priors(kind, prior, fragment):
    for solver in SOLVERS:
        for kernel in (None, "rbf"):
            check_refused(kind(prior=prior, solver=solver, kernel=kernel), *data(kind), fragment)


@both
@pytest.mark.parametrize("prior", [None, 3, Laplace, RBF(), ["laplace"]], ids=str)
def test_priors_of_the_wrong_type(kind, prior):
    check_refused(kind(prior=prior), *data(kind), "prior must be one of .*'jeffreys'", error=TypeError)


@pytest.mark.slow
@both
@pytest.mark.parametrize(
    ("settings", "fragment"),
    [
        ({"kernel": "rbff"}, "Unknown kernel 'rbff'.*Did you mean 'rbf'"),
        ({"kernel": "gaussian_"}, "Unknown kernel"),
        ({"kernel": RBF(gamma=-1)}, "gamma must be a positive number"),
        ({"kernel": Matern(nu=2)}, "nu must be"),
        ({"kernel": Polynomial(degree=0)}, "degree must be a positive integer"),
        ({"kernel": "rbf", "gamma": "skale"}, "Unknown gamma 'skale'.*Did you mean 'scale'"),
        ({"kernel": "rbf", "gamma": -1}, "gamma must be positive, 'scale' or 'auto', got -1"),
        ({"kernel": "rbf", "gamma": 0}, "gamma must be positive"),
        ({"kernel": "rbf", "gamma": None}, "gamma must be positive"),
        ({"kernel": "rbf", "gamma": np.nan}, "gamma must be positive"),
        ({"kernel": "rbf", "gamma": np.inf}, "gamma must be positive"),
        ({"kernel": "rbf", "gamma": np.ones(4)}, "gamma must be positive"),
        ({"gamma": -1}, "gamma must be positive, 'scale' or 'auto', got -1"),
        ({"degree": "x"}, "degree must be a positive integer, got 'x'"),
        ({"kernel": "rbf", "coef0": -1}, "coef0 must be a number that is not negative"),
        ({"kernel": "poly", "degree": 0}, "degree must be a positive integer, got 0"),
        ({"kernel": "poly", "degree": 1.5}, "degree must be a positive integer, got 1.5"),
        ({"kernel": "poly", "degree": True}, "degree must be a positive integer"),
        ({"kernel": "poly", "coef0": -1}, "coef0 must be"),
        ({"kernel": "poly", "coef0": "1"}, "coef0 must be"),
        ({"solver": "newtom"}, "Unknown solver 'newtom'.*Did you mean 'newton'"),
        ({"solver": EM(ridge=0)}, "ridge must be a positive number"),
        ({"solver": EM(stop="never")}, "stop must be"),
        ({"likelihood": "probitt"}, "Unknown likelihood 'probitt'"),
        ({"max_iter": 0}, "max_iter must be a positive whole number, got 0"),
        ({"max_iter": -3}, "max_iter must be a positive whole number"),
        ({"max_iter": 0.5}, "max_iter must be a positive whole number"),
        ({"max_iter": 2.5}, "max_iter must be a positive whole number"),
        ({"max_iter": "9"}, "max_iter must be a positive whole number"),
        ({"max_iter": None}, "max_iter must be a positive whole number"),
        ({"tol": 0}, "tol must be a positive number, got 0"),
        ({"tol": -1}, "tol must be a positive number"),
        ({"tol": "x"}, "tol must be a positive number, got 'x'"),
        ({"tol": np.nan}, "tol must be a positive number"),
        ({"expansion": 0}, "expansion must be a whole number from 1 to 10, got 0"),
        ({"expansion": 1.5}, "expansion must be a whole number"),
        ({"expansion": 11}, "expansion must be a whole number"),
        ({"expansion": "2"}, "expansion must be a whole number"),
        ({"expansion": 2, "kernel": "rbf"}, "expansion needs kernel=None"),
        ({"warm_start": "no"}, "warm_start must be True or False, got 'no'"),
        ({"warm_start": -1}, "warm_start must be True or False, got -1"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number other than zero, got 0"),
        ({"n_jobs": "2"}, "n_jobs must be None or a whole number"),
        ({"n_jobs": 0.5}, "n_jobs must be None or a whole number"),
        ({"kernel": "rbf", "rank_tol": np.ones(2)}, "rank_tol must be a positive number or 'auto'"),
        ({"solver": EM(stop=np.ones(2))}, "stop must be"),
        ({"solver": Newton(start=np.ones(2))}, "start must be"),
        ({"penalize_intercept": "no"}, "penalize_intercept must be True or False"),
        ({"solver": "proximal"}, "proximal solver needs a Laplace prior.*use solver='auto'"),
        ({"solver": "proximal", "prior": "gaussian"}, "proximal solver needs a Laplace prior"),
    ],
    ids=str,
)
def test_bad_settings(kind, settings, fragment):
    check_refused(kind(**settings), *data(kind), fragment)


@both
@pytest.mark.parametrize(
    ("settings", "fragment"),
    [
        ({"kernel": 3}, "kernel must be one of"),
        ({"kernel": RBF}, "kernel must be one of"),
        ({"solver": None}, "solver must be one of"),
        ({"solver": 3}, "solver must be one of"),
        ({"solver": Laplace()}, "solver must be one of"),
        ({"solver": EM}, "solver must be one of"),
        ({"likelihood": None}, "likelihood must be one of"),
    ],
    ids=str,
)
def test_settings_of_the_wrong_type(kind, settings, fragment):
    check_refused(kind(**settings), *data(kind), fragment, error=TypeError)


def test_likelihood_of_the_other_estimator():
    check_refused(
        SparseBayesClassifier(likelihood="gaussian"), *data(SparseBayesClassifier), "Unknown likelihood"
    )
    check_refused(
        SparseBayesRegressor(likelihood="probit"), *data(SparseBayesRegressor), "Unknown likelihood"
    )
    wrong = SparseBayesClassifier(likelihood=GaussianLikelihood())
    check_refused(wrong, *data(SparseBayesClassifier), "likelihood must be one of", error=TypeError)
    for noise in (0, -1, np.nan, "1"):
        wrong = SparseBayesRegressor(likelihood=GaussianLikelihood(noise=noise))
        check_refused(wrong, *data(SparseBayesRegressor), "noise must be a positive variance")


@pytest.mark.parametrize(
    ("weights", "fragment"),
    [
        ({"nobody": 2.0}, "nobody|not in class_weight|class_weight"),
        ({0: -1.0, 1: 1.0}, "negative"),
        ({0: 0.0, 1: 1.0}, "zero|one class"),
        ({0: np.nan, 1: 1.0}, "class_weight|NaN|finite"),
        ({0: np.inf, 1: 1.0}, "class_weight|inf|finite"),
        ("balancd", "balanced"),
        (3, "class_weight"),
        ([1], "class_weight must be None, 'balanced' or a dict"),
        ({0: "much", 1: 1.0}, "class_weight must have finite numbers as its weights"),
    ],
    ids=str,
)
def test_bad_class_weights(weights, fragment):
    model = SparseBayesClassifier(class_weight=weights)
    check_refused(model, *data(SparseBayesClassifier), fragment)


def test_class_weights_of_absent_classes_are_ignored():
    X, y = data(SparseBayesClassifier)
    one = survives(SparseBayesClassifier(class_weight={0: 2.0, 1: 1.0}), X, y)
    other = survives(SparseBayesClassifier(class_weight={0: 2.0, 1: 1.0, 7: 3.0}), X, y)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


# ---- kernels --------------------------------------------------------------------------------


@both
def test_precomputed(kind):
    X, y = data(kind)
    check_refused(kind(kernel="precomputed"), X, y, "square matrix of similarities.*got shape")
    model = survives(kind(kernel="precomputed"), X @ X.T, y)
    with pytest.raises(ValueError, match="30 features"):
        model.predict(X)


def _nan(X, C):
    return np.full((len(X), len(C)), np.nan)


def _wrong_shape(X, C):
    return np.ones((len(X), len(C) + 1))


def _one_dimension(X, C):
    return np.ones(len(X))


def _complex(X, C):
    return np.ones((len(X), len(C))) * 1j


def _text(X, C):
    return "kernel"


@both
@pytest.mark.parametrize(
    ("function", "fragment"),
    [
        (_nan, "returned a value that is not finite"),
        (_wrong_shape, r"function must return shape \(30, 30\), got \(30, 31\)"),
        (_one_dimension, "function must return shape"),
        (_complex, "function must return real numbers"),
        (_text, "function must return"),
    ],
)
def test_bad_functions_as_kernels(kind, function, fragment):
    for kernel in (function, FunctionKernel(function)):
        check_refused(kind(kernel=kernel), *data(kind), fragment)


@both
def test_a_kernel_that_raises(kind):
    def fail(X, C):
        raise ZeroDivisionError("my own error")

    check_refused(kind(kernel=fail), *data(kind), "my own error", error=ZeroDivisionError)


@pytest.mark.slow
@both
@pytest.mark.parametrize("gamma", [1e-9, 1e9, 1e300, 1e-300])
def test_extreme_widths(kind, gamma):
    check_every(kind, *data(kind), kernels=["rbf", "matern"], gamma=gamma)


@pytest.mark.slow
@both
@pytest.mark.parametrize("gamma", [1e-9, 1e9, 1e300, 1e-300])
def test_extreme_widths_of_a_polynomial(kind, gamma):
    def check(model, X, y):
        check_survives_or_says("scale the features|rescale the features", model, X, y)

    check_every(kind, *data(kind), check, kernels=["poly"], gamma=gamma)


@pytest.mark.slow
@both
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6, 1e40])
@pytest.mark.parametrize("gamma", [1.0, "scale"])
def test_high_degree(kind, scale, gamma):
    X, y = data(kind)

    def check(model, X, y):
        check_survives_or_says("scale the features", model, X, y)

    check_every(kind, X * scale, y, check, kernels=["poly"], degree=10, gamma=gamma)


@pytest.mark.slow
@both
@pytest.mark.parametrize("scale", [1e3, 1e12, 1e40])
def test_products_of_large_features(kind, scale):
    X, y = data(kind, p=3)

    def check(model, X, y):
        check_survives_or_says("rescale the features", model, X, y)

    check_every(kind, X * scale, y, check, kernels=[None], solvers=["auto"], priors=FEW, expansion=3)


# ---- scales ---------------------------------------------------------------------------------


@pytest.mark.slow
@both
@pytest.mark.parametrize("scale", [1e200, 1e150, 1e99, 1e50, 1e-50, 1e-99, 1e-160, 1e-200, 1e-310])
def test_features_of_extreme_scale(kind, scale):
    X, y = data(kind)

    def check(model, X, y):
        check_survives_or_says("scale the features", model, X, y)

    check_every(kind, X * scale, y, check, kernels=KERNELS, priors=FEW, solvers=["auto", "em"])


@pytest.mark.slow
@both
@pytest.mark.parametrize("scale", [1e200, 1e150, 1e90, 1e-90, 1e-200])
def test_features_of_mixed_scales(kind, scale):
    X, y = data(kind)
    X[:, 1] *= scale

    def check(model, X, y):
        check_survives_or_says("scale the features", model, X, y)

    check_every(kind, X, y, check, kernels=KERNELS, priors=FEW, solvers=["auto", "em"])


@pytest.mark.slow
@both
@pytest.mark.parametrize("far", [1e10, 1e100, 1e160, 1e200, 1e308])
@pytest.mark.parametrize("kernel", [*KERNELS, "expansion"])
def test_predicting_far_away(kind, far, kernel):
    X, y = data(kind)
    if kernel == "expansion":
        model = kind(prior="laplace", expansion=3).fit(X, y)
    else:
        model = kind(prior="laplace", kernel=kernel).fit(X, y)
    for where in (np.full((2, 4), far), np.array([[far, -far, far, -far], [0.0, far, 0.0, 0.0]])):
        check_says_or_refuses(model, where)


@pytest.mark.parametrize("likelihood", ["probit", "logistic"])
@pytest.mark.parametrize("far", [1e10, 1e100, 1e160])
def test_predicting_far_away_by_classifiers(likelihood, far):
    X, y = data(SparseBayesClassifier)
    for prior in PRIORS:
        model = SparseBayesClassifier(prior=prior, likelihood=likelihood).fit(X, y)
        check_says_or_refuses(model, np.array([[far, -far, far, -far], [0.0, far, 0.0, 0.0]]))


@both
def test_features_with_a_large_offset(kind):
    X, y = data(kind)
    check_every(kind, X + 1e8, y)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e200, 1e120, 1e90, 1e50, 1e-50, 1e-90, 1e-120, 1e-200, 1e-310])
def test_targets_of_extreme_scale(scale):
    X, y = data(SparseBayesRegressor)

    def check(model, X, y):
        check_survives_or_says("rescale y", model, X, y)

    check_every(SparseBayesRegressor, X, y * scale, check)


@pytest.mark.slow
@pytest.mark.parametrize("power", [-200, -40, -20, 20, 40, 200])
@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("solver", ["auto", "em"])
def test_regression_does_not_care_about_the_units_of_the_target(power, kernel, solver):
    X, y = data(SparseBayesRegressor)
    scale = 2.0**power  # multiplies without rounding
    one = SparseBayesRegressor(kernel=kernel, solver=solver).fit(X, y)
    other = SparseBayesRegressor(kernel=kernel, solver=solver).fit(X, y * scale)
    for a, b in zip(one.predict_dist(X), other.predict_dist(X), strict=True):
        np.testing.assert_allclose(b / scale, a, rtol=1e-2, atol=1e-2)
    latent = [model.posteriors_[0].latent(model.basis_.columns(X))[1] for model in (one, other)]
    np.testing.assert_allclose(np.sqrt(latent[1]) / scale, np.sqrt(latent[0]), rtol=1e-2, atol=1e-3)


def test_targets_with_a_large_offset():
    X, y = data(SparseBayesRegressor)
    check_every(SparseBayesRegressor, X, y + 1e10)
    model = SparseBayesRegressor().fit(X, y + 1e10)
    np.testing.assert_allclose(
        model.predict(X) - 1e10, SparseBayesRegressor().fit(X, y).predict(X), atol=1e-3
    )


@pytest.mark.parametrize("value", [0.0, 5.0, -1e10, 1e-10, 0.1])
def test_constant_targets(value):
    X, _ = data(SparseBayesRegressor)
    y = np.full(30, value)

    def check(model, X, y):
        survives(model, X, y)
        np.testing.assert_allclose(model.predict(X), value, rtol=1e-6, atol=1e-12)

    check_every(SparseBayesRegressor, X, y, check)


def test_constant_targets_without_intercept():
    X, _ = data(SparseBayesRegressor)
    check_every(SparseBayesRegressor, X, np.zeros(30), fit_intercept=False)
    check_every(SparseBayesRegressor, X, np.full(30, 5.0), fit_intercept=False)
    check_every(SparseBayesRegressor, X, np.full(30, 5.0), penalize_intercept=True)


@both
def test_weights_beyond_reason_are_refused(kind):
    X, y = data(kind)
    with pytest.raises(ValueError, match="sample_weight must not exceed 1e20"):
        kind().fit(X, y, sample_weight=np.full(30, 1e100))


@pytest.mark.slow
@both
@pytest.mark.parametrize("weight", [1e12, 1e-12, 1e20, 1e-100])
def test_extreme_weights(kind, weight):
    check_every(
        kind,
        *data(kind),
        fit_params={"sample_weight": np.full(30, weight)},
        priors=FEW,
        solvers=["auto", "em"],
    )


@pytest.mark.slow
@both
@pytest.mark.parametrize("weight", [1e12, 1e-12])
def test_extreme_weights_mixed(kind, weight):
    X, y = data(kind)
    mixed = np.ones(30)
    mixed[::2] = weight
    check_every(kind, X, y, fit_params={"sample_weight": mixed}, priors=FEW, solvers=["auto", "em"])


# ---- shapes ---------------------------------------------------------------------------------


@pytest.mark.slow
@both
@pytest.mark.parametrize("penalize_intercept", [False, True])
def test_constant_features(kind, penalize_intercept):
    X, y = data(kind)
    X[:, 1], X[:, 2] = 7.0, 0.0
    check_every(kind, X, y, kernels=KERNELS, penalize_intercept=penalize_intercept)


@pytest.mark.slow
@both
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("value", [0.0, 3.0, 0.1])
def test_only_constant_features(kind, value, fit_intercept):
    _, y = data(kind)
    check_every(kind, np.full((30, 3), value), y, kernels=KERNELS, fit_intercept=fit_intercept)


@both
def test_empty_model_predicts_the_frequencies(kind):
    _, y = data(kind)
    X = np.zeros((30, 3))
    for solver in SOLVERS:
        model = survives(kind(solver=solver), X, y)
        assert model.n_relevant_ == 0
        if kind is SparseBayesRegressor:
            np.testing.assert_allclose(model.predict(X), y.mean())
        else:
            np.testing.assert_allclose(model.predict_proba(X)[:, 1], y.mean(), atol=0.02)


@pytest.mark.slow
@both
def test_one_feature(kind):
    X, y = data(kind)
    check_every(kind, X[:, :1], y, kernels=KERNELS)


@pytest.mark.slow
@both
def test_two_rows(kind):
    X = np.array([[0.0, 1.0], [1.0, -1.0]])
    check_every(kind, X, np.array([0, 1]), kernels=KERNELS)
    check_every(kind, X, np.array([0, 1]), penalize_intercept=True)
    check_every(kind, X, np.array([0, 1]), fit_intercept=False)


@pytest.mark.slow
def test_one_row_per_class():
    X, _ = data(SparseBayesClassifier, n=5)
    check_every(SparseBayesClassifier, X, np.arange(5), kernels=KERNELS)


def test_one_row_in_a_regression():
    X, y = data(SparseBayesRegressor, n=1)
    for kernel in KERNELS:
        check_survives_or_says("minimum|sample", SparseBayesRegressor(kernel=kernel), X, y)


@both
def test_many_features_few_rows(kind):
    X, y = data(kind, n=5, p=2000, seed=3)
    assert len(np.unique(y)) > 1
    check_every(kind, X, y, kernels=[None])
    check_every(kind, X, y, kernels=["rbf", "linear"], priors=["jeffreys", "laplace"])


@pytest.mark.slow
@both
def test_duplicate_rows(kind):
    X, y = data(kind, n=10)
    check_every(kind, np.repeat(X, 12, axis=0), np.repeat(y, 12), kernels=KERNELS)


@pytest.mark.slow
@both
def test_duplicate_rows_with_different_targets(kind):
    X, y = data(kind, n=10)
    y = np.arange(40) % 2 if kind is SparseBayesClassifier else np.random.default_rng(0).normal(size=40)
    check_every(kind, np.repeat(X, 4, axis=0), y, kernels=KERNELS)


@pytest.mark.slow
@both
def test_identical_rows(kind):
    X = np.ones((10, 3))
    y = np.arange(10) % 2
    for fit_intercept in (True, False):
        check_every(kind, X, y, kernels=KERNELS, fit_intercept=fit_intercept)
    model = survives(kind(), X, y)
    said = model.predict_proba(X)[:, 1] if kind is SparseBayesClassifier else model.predict(X)
    np.testing.assert_allclose(said, 0.5, atol=1e-6)


@pytest.mark.slow
@both
@pytest.mark.parametrize("noise", [0.0, 1e-14, 1e-8])
def test_repeated_columns(kind, noise):
    X, y = data(kind)
    rng = np.random.default_rng(1)
    X = np.hstack([X, X + noise * rng.normal(size=X.shape), -X, 2 * X])
    check_every(kind, X, y, kernels=[None, "linear"])


@both
def test_constant_column_beside_a_penalised_intercept(kind):
    X, y = data(kind)
    check_every(kind, np.hstack([np.ones((30, 1)), X]), y, kernels=[None], penalize_intercept=True)


# ---- easy problems --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["probit", "logistic"])
@pytest.mark.parametrize("gap", [0.1, 3.0, 100.0])
def test_separable_classes(likelihood, gap):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 3))
    y = np.arange(30) % 2
    X[:, 0] = np.abs(X[:, 0]) * np.where(y == 1, 1, -1) + np.where(y == 1, gap, -gap)

    def check(model, X, y):
        survives(model, X, y)
        says(model, 10 * X)

    check_every(
        SparseBayesClassifier, X, y, check, kernels=[None, "rbf", "linear"], likelihood=likelihood
    )


@pytest.mark.parametrize("penalize_intercept", [False, True])
def test_separable_classes_of_three(penalize_intercept):
    rng = np.random.default_rng(4)
    y = np.arange(30) % 3
    X = rng.normal(size=(30, 3)) * 0.1 + np.eye(3)[y] * 5
    options = {"penalize_intercept": penalize_intercept, "priors": FEW}
    check_every(SparseBayesClassifier, X, y, **options)


def test_feature_equal_to_the_label():
    X, y = data(SparseBayesClassifier)
    X[:, 1] = y
    check_every(SparseBayesClassifier, X, y)
    X, y = data(SparseBayesRegressor)
    X[:, 1] = y
    check_every(SparseBayesRegressor, X, y)
    np.testing.assert_allclose(SparseBayesRegressor().fit(X, y).predict(X), y, atol=1e-3)


def test_regression_without_noise():
    X, _ = data(SparseBayesRegressor)
    y = 3 * X[:, 0] - X[:, 1] + 2
    check_every(SparseBayesRegressor, X, y)
    np.testing.assert_allclose(SparseBayesRegressor().fit(X, y).predict(X), y, atol=1e-3)


@both
def test_one_rare_class_or_outlier(kind):
    X, y = data(kind)
    y = y * 0
    y[0] = 1 if kind is SparseBayesClassifier else 1e8
    check_every(kind, X, y, solvers=["auto", "em"])


@pytest.mark.slow
@both
@pytest.mark.parametrize("max_iter", [1, 2])
def test_one_iteration(kind, max_iter):
    X, y = data(kind, p=12)
    for model in each(kind, kernels=KERNELS):
        survives(model.set_params(max_iter=max_iter), X, y)
        assert model.n_iter_ <= max_iter, model


@pytest.mark.slow
@both
@pytest.mark.parametrize("tol", [1e-300, 1e300])
def test_extreme_tolerance(kind, tol):
    check_every(kind, *data(kind), tol=tol)


@both
@pytest.mark.parametrize("extreme", [1e-200, 1e200])
def test_extreme_hyper_parameters(kind, extreme):
    priors = [
        Laplace(rate=extreme),
        Gaussian(width=extreme),
        Jeffreys(strength=extreme),
        GeneralizedGaussian(q=0.5, scale=extreme),
        StudentT(a=extreme, b=extreme),
    ]

    def check(model, X, y):
        check_survives_or_says("width|rate|scale|strength|a must|b must", model, X, y)

    check_every(kind, *data(kind), check, priors=priors)


@both
def test_a_failing_fit_after_a_fit_with_other_features(kind):
    X, y = data(kind)
    model = kind().fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="rate"):
        model.set_params(prior=Laplace(-1)).fit(X[:, :2], y)
    assert model.n_features_in_ == 4
    np.testing.assert_array_equal(clone_state(model).predict(X), before)


def clone_state(model):
    """Return another estimator with the same fitted state and its own parameters."""
    twin = clone(type(model)())
    vars(twin).update({k: v for k, v in vars(model).items() if k not in twin.get_params()})
    return twin


@both
def test_a_name_has_no_parameters_to_be_set(kind):
    with pytest.raises(
        ValueError, match=r"prior__rate cannot be set: prior='laplace' is a name.*Laplace"
    ):
        kind("laplace").set_params(prior__rate=0.5)
    assert kind("laplace").set_params(prior=Laplace(), prior__rate=0.5).prior.rate == 0.5


@both
@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["red", "blue"] * 15),
        pd.Series(pd.Categorical(["red", "blue"] * 15)),
        pd.Series(pd.date_range("2020", periods=30)),
        pd.Series(pd.to_timedelta(np.arange(30), unit="D")),
    ],
    ids=["text", "categories", "dates", "durations"],
)
def test_a_table_says_which_column_holds_no_numbers(kind, column):
    X, y = data(kind)
    table = pd.DataFrame(X, columns=list("abcd"))
    how = "days since" if column.dtype.kind in "mM" else "OneHotEncoder"
    with pytest.raises(ValueError, match=rf"Column 'colour' does not hold numbers.*{how}"):
        kind().fit(table.assign(colour=column), y)
    model = kind().fit(table, y)
    with pytest.raises(ValueError, match="Column 'd' does not hold numbers"):
        model.predict(table.assign(d=column))


@both
def test_times_and_masked_entries_are_no_numbers(kind):
    X, y = data(kind)
    days = pd.date_range("2020", periods=len(y))
    table = pd.DataFrame({"day": days, "since": days - days[0]})
    with pytest.raises(ValueError, match=r"Column 'day' does not hold numbers.*days since"):
        kind().fit(table, y)
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="could not convert string to float"):
        kind().fit(pa.table({"a": ["red"] * len(y), "b": X[:, 0]}), y)
    for times in (table[["day"]].to_numpy(), table[["since"]].to_numpy()):
        with pytest.raises(ValueError, match=r"X holds times .*days since"):
            kind().fit(times, y)
    kind().fit(pd.DataFrame(X).set_axis(["a", "b", "c", "_mask"], axis=1), y)
    model = kind().fit(np.ma.masked_array(X, np.zeros_like(X)), y)
    with pytest.raises(ValueError, match="X has masked entries"):
        model.predict(np.ma.masked_array(X, X > 1))


def test_numbers_that_a_table_keeps_in_other_types_are_read():
    X, y = data(SparseBayesClassifier)
    plain = SparseBayesClassifier().fit(X, y).predict_proba(X)
    table = pd.DataFrame(X, columns=list("abcd"))
    table = table.astype({"a": "Float64", "b": object, "c": str})
    np.testing.assert_allclose(SparseBayesClassifier().fit(table, y).predict_proba(table), plain)


@pytest.mark.parametrize("search", [SparseBayesClassifierCV, JCFOClassifierCV])
def test_a_search_says_why_it_cannot_draw_folds(search):
    X = data(SparseBayesClassifier)[0]
    with pytest.raises(ValueError, match="5 folds needs at least as many rows, got n_samples=4"):
        search().fit(X[:4], [0, 1, 0, 1])
    rare = np.arange(30) == 7
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn's own, of the rare class
        with pytest.raises(ValueError, match="class True has n_samples=1; give more of it"):
            search().fit(X, rare)


# ---- faults of tables, targets and settings that strangers meet first -----------------------


@pytest.mark.parametrize("kind", [SparseBayesRegressor, LaconicClassifier, SparseBayesClassifierCV])
def test_columns_of_one_name_are_named(kind):
    X, y = data(SparseBayesClassifier)
    with pytest.raises(ValueError, match="Several columns of X are called 'b'; give every column"):
        kind().fit(pd.DataFrame(X, columns=["a", "b", "b", "c"]), y)


@pytest.mark.parametrize("kind", [SparseBayesClassifier, SparseBayesRegressorCV])
def test_missing_targets_of_text_are_counted(kind):
    X, _ = data(SparseBayesClassifier)
    labels = pd.Series([None, None] + ["a", "b"] * 14).astype("string")
    for y in (labels, labels.to_numpy()):
        with pytest.raises(ValueError, match="y misses 2 of its values"):
            kind().fit(X, y)


@pytest.mark.parametrize("kind", [SparseBayesRegressor, LaconicRegressor, SparseBayesRegressorCV])
def test_targets_of_a_regression_that_are_no_numbers(kind):
    X, y = data(SparseBayesRegressor)
    with pytest.raises(ValueError, match="y misses 1 of its values"):
        kind().fit(X, np.array([None, *y[1:]], dtype=object))
    for words in (np.where(y > 0, "yes", "no"), pd.Series(np.where(y > 0, "yes", "no"))):
        with pytest.raises(ValueError, match=r"needs numeric targets, got '(yes|no)'; for classes use"):
            kind().fit(X, words)


def test_a_search_reads_targets_that_are_written_out():
    X, y = data(SparseBayesRegressor)
    small = SparseBayesRegressorCV(shapes=[1.0], cv=3)
    said = clone(small).fit(X, [f"{value:.17g}" for value in y]).predict(X)
    np.testing.assert_array_equal(said, clone(small).fit(X, y).predict(X))


@pytest.mark.parametrize("kind", [SparseBayesRegressorCV, JCFORegressorCV])
@pytest.mark.parametrize(
    ("settings", "fragment"),
    [
        ({"one_standard_error": "no"}, "one_standard_error must be True or False, got 'no'"),
        ({"race": "no"}, "race must be True or False, got 'no'"),
        ({"n_jobs": 0.5}, "n_jobs must be None or a whole number"),
        ({"n_jobs": "all"}, "n_jobs must be None or a whole number"),
        ({"cv": []}, r"cv=\[\] holds no folds"),
        ({"cv": [1]}, "cv must yield pairs of indices of the 30 rows"),
        ({"cv": [(np.arange(31), np.arange(3))]}, "cv must yield pairs of indices of the 30 rows"),
        ({"scoring": ["r2", "max_error"]}, "scoring must be None, the name of one score"),
    ],
    ids=str,
)
def test_bad_settings_of_a_search(kind, settings, fragment):
    with pytest.raises(ValueError, match=fragment):
        kind(**settings).fit(*data(SparseBayesRegressor))


@pytest.mark.parametrize(
    ("model", "fragment"),
    [
        (JCFOClassifier(kernel=np.eye(2)), "kernel must be 'rbf', 'poly' or 'linear'"),
        (JCFOClassifier(screening=np.ones(2)), "screening must be None"),
        (JCFOClassifier(selection_rate=np.ones(2)), "selection_rate must be None"),
        (JCFOClassifier(scale_rate=np.ones(2)), "scale_rate must be a positive number"),
        (JCFOClassifier(scale_rate=1e300), "scale_rate must be .*up to 1e100"),
        (JCFOClassifierCV(scale_rates=[1e300]), "scale_rates must be .*up to 1e100"),
        (RVMClassifier(inference=np.ones(2)), "Unknown inference"),
        (GridRVMClassifier(combine=np.ones(2)), "combine must be 'product' or 'sum'"),
        (SparseBayesClassifierCV(criterion=np.ones(2)), "Unknown criterion"),
        # These are not in use with the other settings, and nonsense all the same.
        (SparseBayesClassifierCV(gammas=[-1.0]), "gamma must be positive"),
        (SparseBayesClassifierCV(gammas="wide"), "Unknown gamma 'wide'"),
        (GridRVMClassifier(gamma="wide"), "Unknown gamma 'wide'"),
        (RVMClassifier(solver="slow"), "solver must be 'fast' or 'vb'"),
        (RVMClassifier(rate=-1), "rate must be a number from 0 to 1e6"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense_anywhere(model, fragment):
    with pytest.raises(ValueError, match=fragment):
        model.fit(*data(SparseBayesClassifier))


def test_a_count_may_be_written_as_a_float():
    X, y = data(SparseBayesClassifier)
    assert LaconicClassifier(max_kernels=2.0).fit(X, y).n_relevant_ <= 2


@pytest.mark.parametrize("kind", [LaconicClassifier, JCFOClassifier])
def test_features_below_the_range_of_a_float_are_scaled_in_doubles(kind):
    X, y = data(SparseBayesClassifier)
    tiny = (X * 1e-40).astype(np.float32)
    same = tiny.astype(float) * 1e40  # with the few digits that are left
    plain = kind().fit(same, y).predict_proba(same)
    np.testing.assert_allclose(kind().fit(tiny, y).predict_proba(tiny), plain, atol=0.01)


@pytest.mark.parametrize(
    "kind", [SparseBayesClassifier, RVMClassifier, GridRVMClassifier, SparseBayesClassifierCV]
)
def test_entries_of_a_sparse_matrix_may_come_in_parts(kind):
    X, y = data(SparseBayesClassifier, n=60)
    X[np.abs(X) < 0.7] = 0
    whole = csr_array(X)
    order = np.repeat(np.arange(whole.nnz), 2)
    parts = whole.data[order] * np.tile([3.0, -2.0], whole.nnz)
    split = csr_array((parts, whole.indices[order], 2 * whole.indptr), shape=X.shape)
    expected = kind().fit(whole, y).predict_proba(whole)
    model = kind().fit(split, y)
    np.testing.assert_allclose(model.predict_proba(split), expected, rtol=1e-7)
    np.testing.assert_array_equal(split.data, parts)  # as it was given


def test_a_regression_that_passes_through_the_data_says_so():
    rng = np.random.default_rng(911)
    X = rng.normal(size=(40, 30))
    y = X[:, 0] + rng.normal(size=40)
    narrow = SparseBayesRegressor(kernel="rbf", solver="em").fit(X, y)
    assert narrow.n_relevant_ > 20
    assert "its error bars are those of leave-one-out residuals: try LaconicRegressor" in str(
        narrow.status_
    )
    assert "error bars" not in str(SparseBayesRegressor().fit(X, y).status_)
    few = SparseBayesRegressor(kernel="rbf").fit(X[:, :1], y)
    assert "error bars" not in str(few.status_)


# ---- what has no curvature ------------------------------------------------------------------------


def test_a_kernel_that_is_constant_but_for_rounding():
    """Its curvature underflows where its slope does not: there is no step along it."""
    ties = np.round(np.random.default_rng(0).normal(size=(60, 1)), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SparseBayesClassifierCV(cv=3, kernel="linear").fit(1 + 1e-13 * ties, ties[:, 0] > 0.3)
        assert np.isfinite(model.predict_proba(1 + 1e-13 * ties)).all()


def test_a_kernel_that_is_the_same_for_all_rows():
    rng = np.random.default_rng(0)
    X, y = 1e-200 * rng.normal(size=(40, 2)), rng.normal(size=40)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert np.isfinite(SparseBayesRegressorCV(kernel="matern").fit(X, y + 100).predict(X)).all()


@pytest.mark.parametrize("offset", [1e6, 1e10])
def test_kernels_that_gain_nothing_do_not_wait_for_others(monkeypatch, offset):
    """A step that changed nothing changes nothing again: it is not repeated up to ``max_iter``."""
    steps, step = [], Proximal.step
    monkeypatch.setattr(Proximal, "step", lambda *args: steps.append(1) or step(*args))
    X = offset + np.random.default_rng(0).normal(size=(18, 2))
    SparseBayesClassifierCV(kernel="linear", shapes=(0.5, 1.0), cv=3).fit(X, X[:, 0] > offset)
    assert len(steps) < 100


def test_a_weight_without_curvature_stays():
    H, c, rate = np.diag([2.0, 0.0]), np.array([5.0, 9.0]), np.ones(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(lasso_quadratic(H, c, rate, np.zeros(2)), [2.0, 0.0], rtol=1e-9)
        np.testing.assert_allclose(
            lasso_quadratic(H, c, rate, np.array([0.0, 0.3])), [2.0, 0.3], rtol=1e-9
        )
