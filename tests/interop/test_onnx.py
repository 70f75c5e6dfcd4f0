"""ONNX graphs say what the models say."""

import inspect
import sys

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

import laconism
import laconism.kernels
from laconism import (
    GridRVMClassifier,
    GridRVMRegressor,
    LaconicClassifier,
    LaconicRegressor,
    RVMClassifier,
    RVMRegressor,
    SparseBayesClassifier,
    SparseBayesClassifierCV,
    SparseBayesRegressor,
    SparseBayesRegressorCV,
)
from laconism.datasets import make_grid, make_ripley
from laconism.interop._onnx_graph import OPSETS, Graph, Tensor
from laconism.interop._onnx_special import log_expit, log_probit, logistic_normal_logit, probit
from laconism.jcfo.estimators import JCFOClassifier, JCFORegressor
from laconism.kernels import RBF, Additive, FunctionKernel, Kernel, Linear, Matern, Polynomial, Scaled
from laconism.likelihoods import Binary, Probit
from laconism.priors import Laplace

onnx = pytest.importorskip("onnx", reason="the graphs need the package onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="the graphs are run by onnxruntime")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
X, Y = make_ripley(50, random_state=0)
X = np.column_stack([X, RNG.normal(size=50)])
THREE = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
WORDS = np.array(["no", "perhaps", "yes"])[THREE]
TARGET = np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=50) + 2.0
# Rows that were seen, rows that were not, and rows far away.
NEW = np.concatenate([X, RNG.normal(size=(30, 3)), 10 * RNG.normal(size=(20, 3)), np.zeros((1, 3))])


def run(graph, feed):
    onnx.checker.check_model(graph, full_check=True)
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    feed = feed if isinstance(feed, dict) else {"X": feed}
    return dict(zip([each.name for each in session.get_outputs()], session.run(None, feed), strict=True))


def agree(model, rows, feed=None, *, dtype="float64", tol=1e-7):
    """The graph's answers are the model's, probabilities to an absolute, others to a relative error."""
    feed = np.asarray(rows, dtype=dtype) if feed is None else feed
    said = run(laconism.to_onnx(model, dtype=dtype), feed)
    if is_classifier(model):
        assert list(said) == ["label", "probabilities"]
        probabilities = model.predict_proba(rows)
        np.testing.assert_allclose(said["probabilities"], probabilities, rtol=0, atol=tol)
        np.testing.assert_allclose(said["probabilities"].sum(axis=1), 1.0, atol=tol)
        clear = np.sort(probabilities, axis=1)[:, -2:] @ [-1, 1] > 2 * tol
        assert (said["label"] == model.predict(rows))[clear].all()
        return said
    mean = model.predict(rows)
    scale = np.abs(mean).max()
    np.testing.assert_allclose(said["mean"], mean, rtol=tol, atol=tol * scale)
    if isinstance(model, Pipeline):
        model, rows = model[-1], model[:-1].transform(rows)
    if hasattr(model, "predict_dist"):
        np.testing.assert_allclose(said["std"], model.predict_dist(rows)[1], rtol=tol)
    else:
        assert list(said) == ["mean"]
    return said


# ---- every estimator, every kernel ----------------------------------------------------------

KERNELS = {
    "features": None,
    "rbf": "rbf",
    "poly": "poly",
    "linear": "linear",
    "matern": "matern",
    "additive": "additive",
    "centred": Additive(3, 0.5, [1.0, 0.5, 0.0], [1.0, 0.5, 0.2], [0.1, 0.0, -0.2], [1.0, 1.5, 0.8]),
    "rough": Matern(nu=0.5, gamma=0.5),
    "smooth": Matern(nu=2.5, gamma=0.5),
    "quintic": Polynomial(degree=5, gamma=0.2, coef0=0.5),
    "sum": RBF(gamma=2.0) + Linear(),
    "product": RBF(gamma=0.5) * Polynomial(degree=2),
    "scaled": Scaled(RBF(), scales=[1.0, 2.0, 0.0]),
    "scaled sum": Scaled(RBF() + Linear() * Matern(), scales=[1.0, 0.5, 0.1]),
    "scaled scaled": Scaled(Scaled(Polynomial(degree=1), [0.0, 2.0, 3.0]), [1.0, 2.0, 0.0]) + RBF(),
    "squashed": Scaled(RBF(), [1.0, 2.0, 0.5], [0.1, 0.0, -0.2], [0.5, 2.0, 1e-3]),
    "squashed squashed": Scaled(
        Scaled(Linear(), [1.0, 2.0, 0.5], spread=[1.0, 2.0, 0.1]), [1.0, 0.0, 2.0]
    ),
    "no feature": Scaled(Matern(), scales=[0.0, 0.0, 0.0]),
}
MACHINES = {
    "sparse": SparseBayesClassifier(),
    "sparse logistic": SparseBayesClassifier(likelihood="logistic", penalize_intercept=True),
    "rvm": RVMClassifier(),
    "variational": RVMClassifier(inference="variational", likelihood="probit", max_iter=50),
    "flagship": LaconicClassifier(max_kernels=10),
    "sparse values": SparseBayesRegressor(),
    "student": SparseBayesRegressor("student_t", fit_intercept=False, max_iter=20),
    "rvm values": RVMRegressor(),
    "flagship values": LaconicRegressor(max_kernels=10),
}


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", MACHINES)
def test_every_machine_with_every_kernel(machine, kernel):
    model = clone(MACHINES[machine]).set_params(kernel=KERNELS[kernel])
    if is_classifier(model):
        agree(model.fit(X, Y), NEW)
        agree(model.fit(X, WORDS), NEW)
    else:
        agree(model.fit(X, TARGET), NEW)


@pytest.mark.parametrize("centred", [False, True])
def test_codes_of_categories(centred):
    """Known codes and others, in the kernel and, far from the rows, in its diagonal."""
    codes, new = (np.random.default_rng(seed).choice([0.0, 1.0, 2.3], 50) for seed in (1, 2))
    scale = {"mean": np.zeros(4), "deviation": np.ones(4)} if centred else {}
    kernel = Additive(2, 0.5, categories={3: {0.0: 0.2, 1.0: 0.5, 2.3: 0.3}}, **scale)
    rows, others = np.column_stack([X, codes]), np.column_stack([NEW[:50], new[: len(NEW[:50])]])
    others[:3, 3] = 7.0
    model = LaconicRegressor(kernel).fit(rows, TARGET + codes)
    agree(model, others)
    agree(model, others.astype(np.float32), dtype="float32", tol=1e-4)
    agree(SparseBayesClassifier(kernel=kernel).fit(rows, WORDS), others)


def test_every_kernel_that_is_offered_has_a_graph():
    offered = [getattr(laconism.kernels, name) for name in laconism.kernels.__all__]
    concrete = {
        kind
        for kind in offered
        if inspect.isclass(kind) and issubclass(kind, Kernel) and not inspect.isabstract(kind)
    }
    covered = set()

    def visit(kernel):
        covered.add(type(kernel))
        for part in ("left", "right", "kernel"):
            if isinstance(getattr(kernel, part, None), Kernel):
                visit(getattr(kernel, part))

    for kernel in KERNELS.values():
        visit(kernel)
    assert concrete - covered == {FunctionKernel}


GRID, YGRID, _ = make_grid(40, (4, 3), relevant=(2, 2), random_state=0)
CUBE, YCUBE, _ = make_grid(40, (3, 2, 2), relevant=(2, 1, 1), random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize("combine", ["product", "sum"])
def test_grids(combine):
    combine = {"combine": combine, "max_iter": 20}
    agree(GridRVMRegressor(**combine).fit(GRID, YGRID), GRID)
    agree(GridRVMClassifier(**combine).fit(CUBE, YCUBE > 0), CUBE)
    three = np.digitize(YGRID, [-1.0, 1.0])
    agree(GridRVMClassifier(**combine, likelihood="probit").fit(GRID, three), GRID)
    flat = GRID.reshape(40, -1)
    agree(GridRVMRegressor(grid_shape=(4, 3), **combine).fit(flat, YGRID), flat)
    agree(GridRVMRegressor(**combine, basis="per_feature_rbf").fit(X, TARGET), NEW)
    agree(GridRVMClassifier(**combine, basis="per_feature_rbf").fit(X, WORDS), NEW)


def test_a_graph_of_tables_takes_tables():
    graph = laconism.to_onnx(GridRVMClassifier().fit(CUBE, YCUBE > 0))
    (given,) = graph.graph.input
    assert [each.dim_value or each.dim_param for each in given.type.tensor_type.shape.dim] == [
        "rows",
        3,
        2,
        2,
    ]


def test_searches_and_expansions():
    agree(SparseBayesClassifierCV((0.5, 2.0), kernel="rbf", gammas=(1.0,), cv=2).fit(X, WORDS), NEW)
    agree(SparseBayesRegressorCV((0.5, 2.0), cv=2).fit(X, TARGET), NEW)
    agree(GridSearchCV(RVMClassifier(), {"gamma": [0.5, 1.0]}, cv=2).fit(X, Y), NEW)
    agree(SparseBayesClassifier(expansion=3).fit(X, WORDS), NEW)
    agree(SparseBayesRegressor(expansion=2, penalize_intercept=True).fit(X, TARGET), NEW)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_joint_models(kernel):
    few = {"max_iter": 2, "n_centres": 10}
    agree(JCFOClassifier(kernel, **few).fit(X, Y), NEW)
    agree(JCFOClassifier(kernel, penalize_intercept=True, **few).fit(X, WORDS), NEW)
    agree(JCFORegressor(kernel, standardize=False, **few).fit(X, TARGET), NEW)


def test_rows_that_span_nothing():
    model = RVMRegressor(kernel=Linear()).fit(np.zeros((20, 3)), np.arange(20.0))
    agree(model, np.zeros((2, 3)))
    agree(RVMRegressor().fit(np.ones((20, 3)), np.arange(20.0)), np.ones((2, 3)))


def test_a_model_of_another_size():
    agree(LaconicClassifier().fit(X, Y).with_kernels(2), NEW)
    agree(LaconicRegressor().fit(X, TARGET).with_kernels(0), NEW)


# ---- rows, labels, types --------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 1000])
def test_any_number_of_rows(n):
    rows = RNG.normal(size=(n, 3))
    for model in (RVMClassifier().fit(X, Y), SparseBayesClassifier(expansion=2).fit(X, WORDS)):
        said = run(laconism.to_onnx(model), rows)
        assert said["label"].shape == (n,)
        assert said["probabilities"].shape == (n, model.classes_.size)
        np.testing.assert_allclose(said["probabilities"], model.predict_proba(rows), atol=1e-9)
    model = RVMRegressor().fit(X, TARGET)
    said = run(laconism.to_onnx(model), rows)
    assert said["mean"].shape == said["std"].shape == (n,)


@pytest.mark.parametrize(
    "labels",
    [
        Y.astype(np.int8),
        Y * 10 - 7,
        Y.astype(bool),
        Y + 1.0,
        np.where(Y == 1, "ja", "nein"),
        np.where(Y == 1, "ja", "ähnlich").astype(object),
        THREE * 1000,
        WORDS.astype(object),
    ],
    ids=lambda labels: f"{labels.dtype}-{len(set(labels))}",
)
def test_labels_are_the_users_own(labels):
    model = SparseBayesClassifier(kernel="rbf").fit(X, labels)
    said = agree(model, NEW)
    assert set(said["label"]) <= set(labels)


@pytest.mark.parametrize(
    "model",
    [
        SparseBayesClassifier(Laplace(rate=1e6)),
        SparseBayesClassifier(Laplace(rate=1e6), kernel="rbf", likelihood="logistic"),
        SparseBayesClassifier("jeffreys", kernel="rbf", penalize_intercept=True),
        SparseBayesRegressor(Laplace(rate=1e9)),
        SparseBayesRegressor(Laplace(rate=1e9), kernel="rbf", fit_intercept=False),
        SparseBayesRegressor(Laplace(rate=1e9), expansion=2, penalize_intercept=True),
    ],
)
def test_nothing_is_kept(model):
    noise = np.random.default_rng(1).normal(size=50)
    if is_classifier(model):
        for labels in (noise > 0, np.digitize(noise, [-0.5, 0.5])):
            agree(model.fit(X, labels), NEW)
    else:
        agree(model.fit(X, noise + 1.0), NEW)
        assert model.n_relevant_ == 0


def test_one_class_of_three_keeps_nothing():
    labels = np.where(X[:, 2] > 0.2, 2, np.random.default_rng(0).integers(0, 2, 50))
    model = SparseBayesClassifier(Laplace(rate=20.0)).fit(X, labels)
    assert {posterior.mean.size > 0 for posterior in model.posteriors_} == {True, False}
    agree(model, NEW)


def test_sparse_training_rows_and_data_frames():
    from scipy.sparse import csr_array

    agree(SparseBayesClassifier(kernel="rbf").fit(csr_array(X), Y), NEW)
    frame = pd.DataFrame(X, columns=list("abc"))
    model = RVMClassifier().fit(frame, Y)
    agree(model, pd.DataFrame(NEW, columns=list("abc")), NEW)


def test_a_time_stamp_keeps_its_digits():
    stamped = X + np.array([1.7e9, 0.0, 0.0])
    agree(RVMClassifier(kernel=Matern(nu=0.5)).fit(stamped, Y), stamped)


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kernel", ["features", "rbf", "rough", "scaled sum"])
def test_single_precision(machine, kernel):
    # Rows that a float holds exactly: what is left is the graph's own rounding.
    rows = X.astype(np.float32).astype(np.float64)
    model = clone(MACHINES[machine]).set_params(kernel=KERNELS[kernel])
    model.fit(rows, WORDS if is_classifier(model) else TARGET)
    graph = laconism.to_onnx(model, dtype="float32")
    said = run(graph, rows.astype(np.float32))
    # Weights of either sign may cancel, and their rounding stays: a few units of all that is added up;
    # where that would be seen nothing is single but the input and the outputs.
    weights, _ = model._weights()
    summed = (np.abs(model.basis_.columns(rows)) @ np.abs(weights).T).max()
    tol = 4 * np.finfo(np.float32).eps * (1 + summed)
    unit = 1.0 if is_classifier(model) else np.sqrt(model.noise_variance_)
    if tol < 1e-4 * unit:
        assert onnx.TensorProto.DOUBLE not in {each.data_type for each in graph.graph.initializer}
    tol = min(tol, 1e-3 * unit)
    if is_classifier(model):
        np.testing.assert_allclose(said["probabilities"], model.predict_proba(rows), rtol=0, atol=tol)
    else:
        mean, std = model.predict(rows), model.predict_dist(rows)[1]
        np.testing.assert_allclose(said["mean"], mean, rtol=0, atol=tol + 1e-6 * np.abs(mean).max())
        np.testing.assert_allclose(said["std"], std, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e4])
# Without an intercept zero is where features are seen from, and nothing knows where their middle is.
@pytest.mark.parametrize("machine", [name for name in MACHINES if name != "student"])
def test_single_precision_far_from_zero(machine, offset):
    # In units of their own, and at thousands of deviations from zero: what a float tells apart counts.
    rows = ((X + offset) * np.array([1e4, 1.0, 1e-3])).astype(np.float32).astype(np.float64)
    model = clone(MACHINES[machine]).fit(rows, WORDS if is_classifier(MACHINES[machine]) else TARGET)
    said = run(laconism.to_onnx(model, dtype="float32"), rows.astype(np.float32))
    if is_classifier(model):
        np.testing.assert_allclose(said["probabilities"], model.predict_proba(rows), rtol=0, atol=1e-4)
    else:
        mean, std = model.predict(rows), model.predict_dist(rows)[1]
        np.testing.assert_allclose((said["mean"] - mean) / std, 0.0, rtol=0, atol=1e-3)
        np.testing.assert_allclose(said["std"], std, rtol=1e-4)


def test_weights_that_cancel_are_summed_in_double():
    # A smooth function with little noise: weights of thousands on kernels that are much alike.
    rows = np.linspace(-5, 5, 150)[:, None].astype(np.float32).astype(np.float64)
    model = LaconicRegressor().fit(rows, np.sinc(rows[:, 0]) + 0.01 * RNG.normal(size=150))
    graph = laconism.to_onnx(model, dtype="float32")
    kinds = {each.type.tensor_type.elem_type for each in [*graph.graph.input, *graph.graph.output]}
    assert kinds == {onnx.TensorProto.FLOAT}
    agree(model, rows, rows.astype(np.float32), dtype="float32", tol=1e-6)


def test_the_variance_of_many_columns_keeps_its_digits():
    # With more columns than rows the variance is a difference in the prior's units, a hundred times it.
    rows = np.linspace(-5, 5, 60)[:, None].astype(np.float32).astype(np.float64)
    model = SparseBayesRegressor(prior="gaussian", kernel="rbf").fit(rows, np.sinc(rows[:, 0]))
    assert model.posteriors_[0].prior_root is not None
    said = run(laconism.to_onnx(model, dtype="float32"), rows.astype(np.float32))
    np.testing.assert_allclose(said["std"], model.predict_dist(rows)[1], rtol=1e-5)


def test_a_scaler_keeps_the_digits_of_its_means():
    rows = (X * 1e-3 + 30.0).astype(np.float32).astype(np.float64)
    for scaler in (StandardScaler(), MinMaxScaler(), RobustScaler()):
        model = make_pipeline(scaler, SparseBayesClassifier()).fit(rows, Y)
        agree(model, rows, rows.astype(np.float32), dtype="float32", tol=1e-6)


def test_a_regressor_without_deviation():
    model = RVMRegressor().fit(X, TARGET)
    whole, bare = laconism.to_onnx(model), laconism.to_onnx(model, std=False)
    assert list(run(bare, NEW)) == ["mean"]
    assert bare.ByteSize() < whole.ByteSize()


def test_a_graph_is_small():
    rows, labels = make_ripley(2000, random_state=0)
    model = SparseBayesClassifier(kernel="rbf", gamma=2.0).fit(rows, labels)
    assert laconism.to_onnx(model, dtype="float32").ByteSize() < 3000


def test_what_a_graph_says_of_itself(tmp_path):
    graph = laconism.to_onnx(RVMClassifier().fit(X, Y))
    assert (graph.producer_name, graph.producer_version) == ("laconism", laconism.__version__)
    onnx.save(graph, tmp_path / "model.onnx")
    assert onnx.load(tmp_path / "model.onnx") == graph
    assert laconism.to_onnx(RVMClassifier().fit(X, Y)) == graph


# ---- rows far beyond the training rows --------------------------------------------------------

SCALE = [StandardScaler(), MinMaxScaler((-30, 40))]
PARTS = ColumnTransformer([("a", PCA(1, whiten=True), [2, 0])], remainder="passthrough")
FAR = {
    "features": SparseBayesClassifier(),
    "features, three": SparseBayesClassifier(likelihood="logistic"),
    "values": SparseBayesRegressor(),
    "expansion, three": SparseBayesClassifier(expansion=3),
    "expansion, constant": SparseBayesRegressor(expansion=2, penalize_intercept=True),
    "constant": SparseBayesClassifier("jeffreys", kernel="poly", penalize_intercept=True),
    "linear values": RVMRegressor(kernel="linear"),
    "poly": RVMClassifier(kernel="poly"),
    "poly, three": SparseBayesClassifier(kernel="poly"),
    "poly values": RVMRegressor(kernel="poly"),
    "flagship, poly values": LaconicRegressor(kernel="poly", max_kernels=5),
    "sum": SparseBayesClassifier(kernel=KERNELS["sum"]),
    "product": RVMClassifier(kernel=KERNELS["product"]),
    "product, three": SparseBayesClassifier(kernel=Linear() * Polynomial(degree=2)),
    "scaled": JCFOClassifier("linear", max_iter=2, n_centres=10),
    "two scales": SparseBayesRegressor(kernel=KERNELS["scaled scaled"]),
    "squashed values": RVMRegressor(kernel=KERNELS["squashed squashed"]),
    "rbf": LaconicClassifier(kernel="rbf", max_kernels=5),
    "matern values": RVMRegressor(kernel="matern"),
    "centred": SparseBayesClassifier(kernel=KERNELS["centred"]),
    "per feature": GridRVMClassifier(basis="per_feature_rbf", max_iter=20),
    "pipeline, three": make_pipeline(*SCALE, SimpleImputer(), SparseBayesClassifier()),
    "pipeline, rbf": make_pipeline(*SCALE, RVMClassifier()),
    "pipeline, poly": make_pipeline(PARTS, SparseBayesRegressor(kernel="poly")),
    "pipeline, values": make_pipeline(*SCALE, SparseBayesRegressor()),
    "clipped": make_pipeline(MinMaxScaler(clip=True), SparseBayesRegressor()),
    "monomials": make_pipeline(PolynomialFeatures(2), *SCALE, SparseBayesClassifier()),
}
BAD = np.array([[np.nan, 0.0, 0.0], [0.0, np.inf, 0.0], [0.0, 0.0, -np.inf]])


def answers(model, rows):
    """What the model says of each row by itself; NaN where it refuses."""
    found = []
    for row in rows[:, None]:
        with np.errstate(all="ignore"):
            try:
                if is_classifier(model):
                    found.append({"probabilities": model.predict_proba(row)[0]})
                else:
                    last = model[-1] if isinstance(model, Pipeline) else model
                    seen = model[:-1].transform(row) if isinstance(model, Pipeline) else row
                    found.append({"mean": model.predict(row)[0], "std": last.predict_dist(seen)[1][0]})
            except ValueError:
                found.append(None)
    like = next(each for each in found if each)
    return {
        name: np.array([np.full_like(of, np.nan) if each is None else each[name] for each in found])
        for name, of in like.items()
    }


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FAR)
def test_rows_of_any_size(name, dtype):
    """A graph says what the model says, whole rows and single columns being of any size."""
    train = 0.01 * X if "pipe" in name else X
    model = clone(FAR[name])
    targets = (WORDS if "three" in name else Y) if is_classifier(model) else TARGET
    model.fit(train, targets)
    largest = [1e38] if dtype == "float32" else [1e38, 1e60, 1e66]
    rows = []
    for size in [0.0, 1e-40, 1.0, 1e6, 1e10, 1e20, 1e30, *largest]:
        rows.append(train[3:5] * size)
        rows.extend(np.where(np.arange(3) == column, size, 1.0) * train[5] for column in range(3))
    rows = np.vstack([*rows, BAD]).astype(dtype)
    expected = answers(model, rows.astype(np.float64))
    said = run(laconism.to_onnx(model, dtype=dtype), rows)
    tol = 1e-4 if dtype == "float32" else 1e-9
    for output, exact in expected.items():
        with np.errstate(over="ignore"):
            exact = exact.astype(dtype)  # infinite where the type holds no such number
        atol = tol * (1.0 if output == "probabilities" else np.abs(exact[10:15]).max())
        np.testing.assert_allclose(said[output], exact, rtol=tol, atol=atol, err_msg=output)
        assert np.isnan(said[output][-3 + ("imputer" in str(model)) :]).all()


def test_checks_of_size_are_few_nodes():
    rows = LaconicClassifier(kernel="rbf", max_kernels=5).fit(X, Y)
    features = SparseBayesClassifier().fit(X, Y)
    sizes = [len(laconism.to_onnx(each, dtype="float32").graph.node) for each in (rows, features)]
    assert sizes[0] <= 69
    assert sizes[1] <= 84


# ---- tails ----------------------------------------------------------------------------------


def evaluate(function, *columns, dtype="float64"):
    graph, helper = Graph(np.dtype(dtype)), onnx.helper
    number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    names = [f"x{k}" for k in range(len(columns))]
    graph.output(function(*(Tensor(graph, name) for name in names)), "y")
    declared = [helper.make_tensor_value_info(name, number, [None, 1]) for name in [*names, "y"]]
    made = helper.make_graph(graph.nodes, "f", declared[:-1], declared[-1:], graph.constants)
    opsets = [helper.make_opsetid(*each) for each in OPSETS.items()]
    model = helper.make_model(
        made, opset_imports=opsets, ir_version=helper.find_min_ir_version_for(opsets)
    )
    feed = {name: np.asarray(c, dtype=dtype)[:, None] for name, c in zip(names, columns, strict=True)}
    return run(model, feed)["y"][:, 0]


POINTS = [-37.0, -20.0, -8.3, -5.0, -2.0, -1.0, -0.3, -1e-9, 0.0, 1e-9, 0.5, 1.0, 3.0, 6.0, 40.0]


def test_the_normal_distribution_to_its_last_tail():
    with mpmath.workdps(40):
        exact = np.array([float(mpmath.ncdf(t)) for t in POINTS])
        logs = np.array([float(mpmath.log(mpmath.ncdf(t))) for t in [*POINTS, -1e3, -1e4]])
    np.testing.assert_allclose(evaluate(probit, POINTS), exact, rtol=1e-12)
    np.testing.assert_allclose(evaluate(log_probit, [*POINTS, -1e3, -1e4]), logs, rtol=1e-12, atol=1e-15)
    held = exact > np.finfo(np.float32).tiny
    single = evaluate(probit, POINTS, dtype="float32")
    np.testing.assert_allclose(single[held], exact[held], rtol=1e-4)
    np.testing.assert_allclose(single, exact, rtol=0, atol=1e-6)


def test_the_logistic_function_to_its_last_tail():
    with mpmath.workdps(40):
        exact = np.array([float(-mpmath.log(1 + mpmath.exp(-t))) for t in POINTS])
    np.testing.assert_allclose(evaluate(log_expit, POINTS), exact, rtol=1e-12, atol=1e-16)


def log_odds(m, v):
    """The log-odds of a logistic of a Gaussian by the trapezoidal rule.

    What is integrated is analytic to a distance of pi from the line, so its error is exp(-2 pi^2 / h).
    """
    deviation = np.sqrt(v)
    reach = v + 12 * deviation  # an exponential moves the peak by the variance
    h = min(0.25, deviation / 8)
    f = m + h * np.arange(-np.ceil(reach / h), np.ceil(reach / h) + 1)
    log_density = -((f - m) ** 2) / (2 * v)
    return logsumexp(log_density - np.logaddexp(0, -f)) - logsumexp(log_density - np.logaddexp(0, f))


def test_the_integral_of_the_logistic_function():
    narrow = [(-40.0, 0.01), (0.7, 0.5), (-5.0, 2.2), (16.0, 2.24), (700.0, 1.0)]
    wide = [(-17.0, 2.5), (12.0, 2.26), (-3.0, 9.1), (40.0, 40.0), (1e-3, 400.0), (-300.0, 400.0)]
    far = [(-900.0, 100.0), (40.0, 4.0), (-150.0, 64.0)]
    cases = narrow + wide + far
    exact = [log_odds(m, v) for m, v in cases]
    got = evaluate(logistic_normal_logit, *zip(*cases, strict=True))
    np.testing.assert_allclose(got, exact, rtol=1e-10, atol=1e-13)
    got = evaluate(logistic_normal_logit, *zip(*cases, strict=True), dtype="float32")
    np.testing.assert_allclose(got, exact, rtol=1e-5, atol=1e-6)  # log-odds near zero are a difference
    got = evaluate(logistic_normal_logit, [2.0, -3.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1e8])
    np.testing.assert_allclose(got, [2.0, -3.0, 0.0, 0.0], rtol=1e-13)


@pytest.mark.parametrize("likelihood", ["probit", "logistic"])
def test_probabilities_near_zero_keep_their_digits(likelihood):
    rows = np.linspace(-1, 1, 400)[:, None]
    rows = rows[np.abs(rows[:, 0]) > 0.05]
    labels = np.where(rows[:, 0] > 0, 1, 0)
    labels[[3, -3]] = labels[[-3, 3]]
    model = SparseBayesClassifier("gaussian", likelihood=likelihood, fit_intercept=False).fit(
        rows, labels
    )
    far = np.linspace(-30, 30, 101)[:, None]
    # As the user would ask: and without the posterior's doubt, which keeps probabilities away from zero.
    for spread in (1.0, 0.0):
        model.posteriors_ = [
            type(p)(p.mean, p.intercept, p.centre, p.spread, p.root * spread, p.prior_root, p.effective)
            for p in model.posteriors_
        ]
        said, exact = run(laconism.to_onnx(model), far)["probabilities"], model.predict_proba(far)
        # numbers below the smallest normal one are zero or not: runtimes differ
        np.testing.assert_allclose(said, exact, rtol=1e-9, atol=np.finfo(float).tiny)
    assert exact.min() < 1e-20


# ---- pipelines ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler()],
        [StandardScaler(with_mean=False), MinMaxScaler()],
        [MinMaxScaler(feature_range=(-1, 2), clip=True)],
        [MaxAbsScaler(), RobustScaler()],
        [RobustScaler(with_centering=False)],
        [PCA(2, whiten=True)],
        [PolynomialFeatures(2), StandardScaler()],
        [SelectKBest(k=2), "passthrough"],
        [SparseBayesClassifier()],
        [FunctionTransformer(), FeatureUnion([("a", StandardScaler()), ("b", PCA(1)), ("c", "drop")])],
        [ColumnTransformer([("a", StandardScaler(), [2, 0])], remainder="passthrough")],
        [ColumnTransformer([("a", PCA(1), slice(0, 2)), ("b", "drop", [2])])],
        [make_pipeline(StandardScaler(), PCA(2))],
    ],
    ids=str,
)
def test_steps_before_a_model(steps):
    agree(make_pipeline(*steps, RVMClassifier()).fit(X, Y), NEW)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent", "constant"])
@pytest.mark.parametrize("indicator", [False, True])
def test_missing_numbers(strategy, indicator):
    rows = X.copy()
    rows[::5, 0] = np.nan
    rows[::7, 2] = np.nan
    imputer = SimpleImputer(strategy=strategy, add_indicator=indicator)
    agree(make_pipeline(imputer, StandardScaler(), RVMClassifier()).fit(rows, Y), rows)


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values:UserWarning")
def test_a_column_without_any_number():
    rows = X.copy()
    rows[:, 1] = np.nan
    agree(make_pipeline(SimpleImputer(), RVMClassifier()).fit(rows, Y), rows)


def frame(n, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "width": rng.normal(size=n),
            "colour": rng.choice(["red", "green", "blue", "grün"], n),
            "unused": rng.choice(["a", "b"], n),
            "doors": rng.integers(2, 5, n),
            "sold": rng.random(n) > 0.5,
            "shape": rng.choice(["round", "square", "rare"], n, p=[0.5, 0.45, 0.05]),
        }
    )
    table.loc[::6, "width"] = np.nan
    table.loc[::9, "colour"] = None
    return table


def feed_of(graph, table):
    """The columns that a graph asks for; a missing word is an empty one."""
    feed = {}
    for given in graph.graph.input:
        column = table[given.name]
        if given.type.tensor_type.elem_type == onnx.TensorProto.STRING:
            feed[given.name] = column.fillna("").to_numpy().astype(object)[:, None]
        else:
            feed[given.name] = column.to_numpy().astype(np.float64)[:, None]
    return feed


ENCODERS = {
    "ignore": OneHotEncoder(handle_unknown="ignore"),
    "infrequent": OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=0.2),
    "drop": OneHotEncoder(drop="if_binary", sparse_output=False),
    "first": OneHotEncoder(drop="first", handle_unknown="ignore"),
    "ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Found unknown categories:UserWarning")
@pytest.mark.parametrize("encoder", ENCODERS)
def test_tables_of_words_and_numbers(encoder):
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), clone(ENCODERS[encoder]))
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    prepare = ColumnTransformer(
        [
            ("words", words, ["colour", "shape"]),
            ("numbers", numbers, ["width", "doors"]),
            ("truths", clone(ENCODERS[encoder]), ["sold"]),
        ]
    )
    table, new = frame(50, 0), frame(40, 1)
    if encoder != "drop":  # which knows no unknown ones
        new.loc[3, "colour"] = "never seen"
        new.loc[5, "shape"] = "nor this"
    for model, target in ((RVMClassifier(), WORDS), (RVMRegressor(), TARGET)):
        fitted = make_pipeline(prepare, model).fit(table, target)
        graph = laconism.to_onnx(fitted)
        assert {each.name for each in graph.graph.input} == {"colour", "shape", "width", "doors", "sold"}
        for rows in (table, new, new.iloc[:1]):
            agree(fitted, rows, feed_of(graph, rows))


def test_a_missing_word_may_be_a_category():
    prepare = ColumnTransformer([("words", OneHotEncoder(handle_unknown="ignore"), ["colour"])])
    table = frame(50, 0)
    model = make_pipeline(prepare, SparseBayesClassifier("gaussian")).fit(table, Y)
    agree(model, table, feed_of(laconism.to_onnx(model), table))


def test_names_of_columns_are_free_but_for_those_of_the_outputs():
    table = frame(50, 0).rename(columns={"width": "t0", "colour": "c0", "doors": "X", "sold": "mean"})
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    prepare = ColumnTransformer([("w", words, ["c0"]), ("n", SimpleImputer(), ["t0", "X", "mean"])])
    model = make_pipeline(prepare, RVMClassifier()).fit(table, Y)
    agree(model, table, feed_of(laconism.to_onnx(model), table))
    with pytest.raises(ValueError, match="another name for the column 'mean'"):
        laconism.to_onnx(make_pipeline(prepare, RVMRegressor()).fit(table, TARGET))


def test_columns_chosen_by_type_and_numbers_alone():
    table = frame(50, 0)
    choose = make_column_selector(dtype_include=["number", "bool"])
    prepare = ColumnTransformer([("numbers", SimpleImputer(), choose)])
    model = make_pipeline(prepare, RVMClassifier()).fit(table[["width", "doors", "sold"]], Y)
    rows = table[["width", "doors", "sold"]].astype(float)
    agree(model, rows, rows.to_numpy())  # all are numbers: one table


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), None])
def test_a_scaled_target_is_turned_back(scaler):
    inner = make_pipeline(StandardScaler(), RVMRegressor())
    agree(TransformedTargetRegressor(inner, transformer=scaler).fit(X, 100 * TARGET), NEW)
    outer = make_pipeline(
        StandardScaler(), TransformedTargetRegressor(RVMRegressor(), transformer=scaler)
    )
    agree(outer.fit(X, 100 * TARGET), NEW)


# ---- what has no graph ----------------------------------------------------------------------


class OwnKernel(RBF):
    """A class of somebody else, which may do something else."""


class OwnLikelihood(Probit):
    """Another."""


def own_function(A, B):
    return np.asarray(A) @ np.asarray(B).T


WITHOUT = [
    (RVMClassifier(kernel="precomputed").fit(X @ X.T, Y), ValueError, "precomputed"),
    (RVMClassifier(kernel=own_function).fit(X, Y), ValueError, "FunctionKernel"),
    (RVMClassifier(kernel=RBF() + OwnKernel()).fit(X, Y), ValueError, "OwnKernel"),
    (SparseBayesClassifier(likelihood=OwnLikelihood()).fit(X, Y), ValueError, "OwnLikelihood"),
    (RVMClassifier(), NotFittedError, "fit the RVMClassifier first"),
    (SparseBayesClassifierCV(), NotFittedError, "fit the SparseBayesClassifierCV first"),
    (make_pipeline(StandardScaler(), RVMClassifier()), NotFittedError, "first"),
    (make_pipeline(StandardScaler(), RVMClassifier().fit(X, Y)), NotFittedError, "first"),
    (LogisticRegression().fit(X, Y), TypeError, "got LogisticRegression"),
    (make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y), TypeError, "LogisticRegression"),
    (RVMClassifier, TypeError, "got RVMClassifier"),
    (3, TypeError, "got int"),
    (make_pipeline(FunctionTransformer(np.arcsinh), RVMClassifier()).fit(X, Y), ValueError, "Function"),
    (
        TransformedTargetRegressor(RVMRegressor(), func=np.arcsinh, inverse_func=np.sinh).fit(X, TARGET),
        ValueError,
        "no way back",
    ),
    (
        make_pipeline(OneHotEncoder(handle_unknown="ignore"), RVMClassifier()).fit(WORDS[:, None], Y),
        ValueError,
        "data frame",
    ),
]


@pytest.mark.parametrize(("model", "kind", "words"), WITHOUT, ids=lambda part: str(part)[:40])
def test_refusals_are_one_sentence(model, kind, words):
    with pytest.raises(kind, match=words) as caught:
        laconism.to_onnx(model)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("to_onnx ")


def test_steps_that_are_not_known():
    steps = KBinsDiscretizer(quantile_method="averaged_inverted_cdf")
    model = make_pipeline(steps, RVMClassifier()).fit(X, Y)
    with pytest.raises(ValueError, match=r"step KBinsDiscretizer; it knows .*StandardScaler"):
        laconism.to_onnx(model)


def test_wrong_types_and_missing_packages(monkeypatch):
    model = RVMClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="dtype must be 'float64' or 'float32', got 'float16'"):
        laconism.to_onnx(model, dtype="float16")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'needs the package onnx: pip install "laconism\[onnx\]"'):
        laconism.to_onnx(model)


def test_likelihoods_of_two_classes_that_are_offered_have_a_graph():
    import laconism.likelihoods as likelihoods

    offered = [getattr(likelihoods, name) for name in likelihoods.__all__]
    for kind in offered:
        if inspect.isclass(kind) and issubclass(kind, Binary) and not inspect.isabstract(kind):
            graph = laconism.to_onnx(SparseBayesClassifier(likelihood=kind()).fit(X, Y))
            assert graph.graph.node, kind.__name__
