"""What is fitted: a name, a model, rows, and what is done with the model after its fit."""

import csv
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from runpy import run_module
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import ConvergenceWarning

import laconism as lib  # the only place that names the package
from golden.store import flat, kind_of_kernel, kind_of_noise, plain, record, reference_at, squashes

datasets, kernels, priors, likelihoods = (
    import_module(f"{lib.__name__}.{name}") for name in ("datasets", "kernels", "priors", "likelihoods")
)


@dataclass(frozen=True)
class Case:
    """One fit."""

    model: Callable[[], Any]
    data: Callable[[], tuple[Any, Any]]
    fit: dict[str, Any] = field(default_factory=dict)
    after: Callable[[Any], Any] = lambda model: model  # the model that is asked, from the fitted one
    more: Callable[..., dict[str, Any]] | None = None  # of model, X, y, new rows: further numbers
    skip: tuple[str, ...] = ()  # quantities that rounding moves
    needs: tuple[str, ...] = ()  # packages


CASES: dict[str, Case] = {}


def case(name, model, data, **rest):
    assert name not in CASES
    CASES[name] = Case(model, data, **rest)


def run(name, shake=0.0, phase=0.0):
    """Fit a case and return its record, with rows that are moved by a part of themselves."""
    asked = CASES[name]
    X, y = asked.data()
    if issparse(X):
        X.data = X.data * (1 + shake * np.sin(1e5 * X.data + phase))
    else:
        X = X * (1 + shake * np.sin(1e5 * X + phase))  # copies of a row stay copies
    new = X[:12]
    if not issparse(X) and X.shape[0] != X.shape[-1]:  # not a kernel matrix
        new = np.concatenate([X[:8], 1.25 * X[8:12]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = asked.after(asked.model().fit(X, y, **asked.fit))
        found = record(model, new, y[:12])
        if asked.more is not None:
            for key, value in asked.more(model, X, y, new).items():
                exact = np.asarray(value).dtype.kind not in "f"
                found["exact" if exact else "near"][key] = (plain if exact else flat)(value)
    for kind in found.values():
        for key in asked.skip:
            kind.pop(key, None)
    return found


# ---- rows -----------------------------------------------------------------------------------


def plane(n=80, seed=0):
    return lambda: datasets.make_ripley(n, random_state=seed)


def cross(n=80):
    return lambda: datasets.make_cross(n, random_state=0)


def sinc(n=60, noise=0.1, seed=0):
    return lambda: datasets.make_sinc(n, noise=noise, random_state=seed)


def words(n=90, p=3, seed=0):
    """Three classes with names."""

    def draw():
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, p))
        score = np.column_stack([X[:, 0], X[:, 1], -X[:, 0] - X[:, 1] + 0.3])
        codes = (score + 0.5 * rng.gumbel(size=score.shape)).argmax(axis=1)
        return X, np.array(["a", "b", "c"])[codes]

    return draw


def linear_values(n=80, p=8, seed=0):
    def draw():
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, p))
        return X, X[:, 0] - 2 * X[:, 3] + 0.5 + 0.4 * rng.normal(size=n)

    return draw


def linear_labels(n=120, p=8, seed=0):
    def draw():
        X, f = linear_values(n, p, seed)()
        return X, (f > 0).astype(int)

    return draw


def bent_labels(n=130, p=4, seed=0):
    """Labels of a function of two features among others."""

    def draw():
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, p))
        return X, X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=n) > 1

    return draw


def bent_values(n=120, p=4, seed=0, noise=0.2):
    def draw():
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, p))
        return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + noise * rng.normal(size=n)

    return draw


def products(n=100, p=6, seed=0):
    """Labels of two features that matter only together."""

    def draw():
        X = np.random.default_rng(seed).normal(size=(n, p))
        return X, X[:, 1] * X[:, 3] > 0

    return draw


def wide_labels(n=50, p=120, seed=0):
    return lambda: datasets.make_sparse_classification(n, p, 3, random_state=seed)[:2]


def wide_values(n=50, p=120, seed=0):
    return lambda: datasets.make_sparse_regression(n, p, 3, random_state=seed)[:2]


def long_tails():
    rng = np.random.default_rng(0)
    X = rng.standard_cauchy(size=(150, 3))
    f = 2 * np.tanh(X[:, 0]) - 1.5 * np.tanh(X[:, 1])
    return X, (f + 0.4 * rng.logistic(size=150) > 0).astype(int)


def steps():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(120, 1))
    return X, np.floor(X[:, 0]) + 0.05 * rng.normal(size=120)


def outliers(data):
    """The values of other rows, a few of them wild."""

    def draw():
        X, y = data()
        y = y.copy()
        y[3::10] += 8.0
        y[8::20] -= 12.0
        return X, y

    return draw


def thinned(data):
    """Sparse rows: most numbers are zero."""

    def draw():
        X, y = data()
        return csr_array(np.where(np.abs(X) > 0.8, X, 0.0)), y

    return draw


def repeated(data, times=3, away=0.0):
    """Rows written several times, or nearly so."""

    def draw():
        X, y = data()
        again = np.repeat(X, times, axis=0)
        order = np.random.default_rng(2).permutation(len(again))
        again = again + away * np.random.default_rng(1).normal(size=again.shape)
        return again[order], np.repeat(y, times)[order]

    return draw


def gram(data, gamma=1.0):
    """The kernel matrix of other rows."""

    def draw():
        X, y = data()
        return np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2)), y

    return draw


def grid(n, shape, relevant, kind):
    def draw():
        X, y, _ = datasets.make_grid(n, shape, relevant=relevant, kind=kind, random_state=0)
        return X, y

    return draw


def three_grids():
    X, f, _ = datasets.make_grid(120, (4, 3), relevant=(2, 2), noise=0.2, random_state=0)
    return X, np.digitize(f, np.quantile(f, [0.33, 0.67]))


def weights(n):
    return {"sample_weight": np.random.default_rng(3).integers(0, 3, size=n).astype(float)}


def parts(n):
    return {"sample_weight": np.random.default_rng(3).uniform(0.5, 2.0, size=n)}


def squared_dot(A, B):
    """A kernel of a user's own."""
    return (1.0 + np.asarray(A) @ np.asarray(B).T) ** 2


# ---- what is done with a model --------------------------------------------------------------


def through_a_file(model):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skops"
        lib.save(model, path)
        return lib.load(path)


def graph_numbers(model, X, y, new):
    """Return what the exported graph says."""
    import onnxruntime

    graph = lib.to_onnx(model).SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    said = session.run(None, {session.get_inputs()[0].name: np.asarray(new, dtype=float)})
    return {f"graph.{out.name}": v for out, v in zip(session.get_outputs(), said, strict=True)}


# Of kernels that are much alike: what is moved from one to the other changes nothing.
WEIGHTS = ("dual_coef", "intercept")
FILES = ("train.csv", "new.csv", "model.skops", "said.csv")


def write_table(path, names, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows.tolist()])


def command_numbers(*settings):
    """Return what the command line says that is given the rows as a table."""

    def more(model, X, y, new):
        names = [f"x{j}" for j in range(X.shape[1])]
        with tempfile.TemporaryDirectory() as folder:
            train, rows, saved, out = (str(Path(folder) / name) for name in FILES)
            write_table(train, [*names, "target"], np.column_stack([X, y]))
            write_table(rows, names, new)
            command("fit", train, "--target", "target", "--out", saved, "-q", *settings)
            command("predict", saved, rows, "--out", out, "-q")
            with open(out, newline="", encoding="utf-8") as file:
                rows = list(csv.reader(file))
        said = np.array(rows[1:])
        return {"command.columns": rows[0]} | {
            f"command.{k}": said[:, k].astype(float) for k in range(len(rows[0]))
        }

    return more


def command(*words):
    """Do what ``python -m`` does, without another process: its imports would take most of the time."""
    before = sys.argv
    sys.argv = [lib.__name__, *words]
    try:
        run_module(lib.__name__, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"{words} ended with {end.code}") from end
    finally:
        sys.argv = before


# ---- the flagship ---------------------------------------------------------------------------


case("flagship-two-classes", lib.LaconicClassifier, plane(), more=reference_at)
case("flagship-two-classes-alike", lambda: lib.LaconicClassifier(weigh_features=False), cross(60))
case("flagship-two-classes-weighed", lib.LaconicClassifier, bent_labels())
case("flagship-two-classes-logistic", lambda: lib.LaconicClassifier(likelihood="logistic"), plane(60, 1))
case("flagship-two-classes-squashed", lib.LaconicClassifier, long_tails, more=squashes)
case("flagship-two-classes-wide", lib.LaconicClassifier, wide_labels())
case("flagship-two-classes-features", lambda: lib.LaconicClassifier(None), linear_labels())
case("flagship-two-classes-few-rows", lib.LaconicClassifier, plane(14, 2))
case(
    "flagship-two-classes-sparse-rows",
    lambda: lib.LaconicClassifier("rbf"),
    thinned(linear_labels(90, 5)),
)
case("flagship-two-classes-weights", lib.LaconicClassifier, plane(70), fit=parts(70))
case(
    "flagship-two-classes-balanced",
    lambda: lib.LaconicClassifier(class_weight="balanced"),
    bent_labels(80, 2),
)
case("flagship-two-classes-copies", lib.LaconicClassifier, repeated(plane(40), 3))
case("flagship-two-classes-near-copies", lib.LaconicClassifier, repeated(plane(50), 3, 0.001))
case("flagship-two-classes-gamma-given", lambda: lib.LaconicClassifier("rbf", gamma=0.5), plane(60))
case("flagship-two-classes-tolerance", lambda: lib.LaconicClassifier(tolerance=0.02), plane(60))
case("flagship-two-classes-linear", lambda: lib.LaconicClassifier("linear"), linear_labels(70, 4, 1))
case("flagship-two-classes-poly", lambda: lib.LaconicClassifier("poly"), plane(60))
case("flagship-two-classes-callable", lambda: lib.LaconicClassifier(squared_dot), plane(50))
case("flagship-two-classes-no-intercept", lambda: lib.LaconicClassifier(fit_intercept=False), plane(60))
case("flagship-classes", lib.LaconicClassifier, words(90, 3, 2))
case("flagship-classes-features", lambda: lib.LaconicClassifier(None), words(90, 5))
case("flagship-classes-wide", lambda: lib.LaconicClassifier(None), words(40, 60))
case("flagship-classes-most", lambda: lib.LaconicClassifier(max_kernels=4), words(70))
case("flagship-classes-fewer", lib.LaconicClassifier, words(80, 2, 2), after=lambda m: m.with_kernels(3))
case("flagship-classes-weighed", lib.LaconicClassifier, words(150, 6, 1))
case("flagship-two-classes-halves", lambda: lib.LaconicClassifier("rbf"), linear_labels(140, 36))
case("flagship-two-classes-many-rows", lambda: lib.LaconicClassifier(weigh_features=False), plane(1250))
case("flagship-two-classes-low-rank", lambda: lib.LaconicClassifier(max_rank=15), plane(100, 5))
case("flagship-values", lib.LaconicRegressor, sinc(80, 0.3), more=reference_at)
case("flagship-values-weighed", lib.LaconicRegressor, bent_values(110, 4, 2, noise=0.5))
case("flagship-values-steps", lib.LaconicRegressor, steps, more=kind_of_kernel, skip=WEIGHTS)
case("flagship-values-matern", lambda: lib.LaconicRegressor("matern"), sinc(60, 0.3, 2))
case("flagship-two-classes-matern", lambda: lib.LaconicClassifier("matern"), plane(70, 1))
case("flagship-values-wide", lib.LaconicRegressor, wide_values())
case("flagship-values-features", lambda: lib.LaconicRegressor(None), linear_values())
case("flagship-values-student", lambda: lib.LaconicRegressor(likelihood="student"), outliers(sinc(60)))
case(
    "flagship-values-heavy-tails",
    lambda: lib.LaconicRegressor(likelihood="auto"),
    outliers(sinc(60)),
    more=kind_of_noise,
)
case(
    "flagship-values-no-tails",
    lambda: lib.LaconicRegressor(likelihood="auto"),
    sinc(50),
    more=kind_of_noise,
)
case(
    "flagship-values-sparse-rows",
    lambda: lib.LaconicRegressor("rbf"),
    thinned(bent_values(80, 3)),
    skip=(*WEIGHTS, "path.nats"),
)
case("flagship-values-weights", lib.LaconicRegressor, sinc(60), fit=weights(60))
case(
    "flagship-values-near-copies",
    lib.LaconicRegressor,
    repeated(bent_values(50, 2), 3, 0.001),
    skip=WEIGHTS,
)
case(
    "flagship-values-fewer",
    lambda: lib.LaconicRegressor(max_kernels=12),
    sinc(60),
    after=lambda m: m.with_kernels(4),
)
case(
    "flagship-values-slim",
    lambda: lib.LaconicRegressor(tolerance=0.01),
    sinc(80, 0.3, 1),
    after=lambda m: m.slim(),
)
case(
    "flagship-values-noise-given",
    lambda: lib.LaconicRegressor(likelihood=likelihoods.Gaussian(0.01, estimate=False)),
    sinc(50),
)

# ---- sparse Bayes ---------------------------------------------------------------------------

PRIORS = {
    "jeffreys": lambda: priors.Jeffreys(),
    "universal": lambda: priors.Jeffreys("universal"),
    "laplace": lambda: priors.Laplace(3.0),
    "gaussian": lambda: priors.Gaussian(0.7),
    "generalized": lambda: priors.GeneralizedGaussian(q=0.5),
    "student-t": lambda: priors.StudentT(),
    "mixture": lambda: priors.LaplaceMixture(),
}
for _name, _prior in PRIORS.items():
    case(f"sparse-values-{_name}", lambda p=_prior: lib.SparseBayesRegressor(p()), linear_values())
    case(f"sparse-labels-{_name}", lambda p=_prior: lib.SparseBayesClassifier(p()), linear_labels())
for _solver in ("em", "newton", "proximal", "accelerated"):
    case(
        f"sparse-labels-solver-{_solver}",
        lambda s=_solver: lib.SparseBayesClassifier("laplace", solver=s),
        linear_labels(80, 5),
    )
case("sparse-labels-em-jeffreys", lambda: lib.SparseBayesClassifier(solver="em"), linear_labels(80, 5))
case("sparse-labels-rbf", lambda: lib.SparseBayesClassifier(kernel="rbf", gamma=2.0), plane())
case("sparse-labels-matern", lambda: lib.SparseBayesClassifier(kernel="matern", gamma=2.0), plane())
case("sparse-labels-poly", lambda: lib.SparseBayesClassifier(kernel="poly", degree=2), plane())
case("sparse-labels-linear", lambda: lib.SparseBayesClassifier(kernel="linear"), plane())
case("sparse-labels-callable", lambda: lib.SparseBayesClassifier(kernel=squared_dot), plane(50))
case(
    "sparse-labels-kernel-sum",
    lambda: lib.SparseBayesClassifier(kernel=kernels.RBF(2.0) + kernels.Linear()),
    plane(60),
)
case(
    "sparse-labels-precomputed", lambda: lib.SparseBayesClassifier(kernel="precomputed"), gram(plane(50))
)
case("sparse-labels-logistic", lambda: lib.SparseBayesClassifier(likelihood="logistic"), linear_labels())
case("sparse-labels-expansion", lambda: lib.SparseBayesClassifier(expansion=2), bent_labels(100, 3))
case("sparse-labels-wide", lib.SparseBayesClassifier, wide_labels())
case("sparse-labels-sparse-rows", lib.SparseBayesClassifier, thinned(linear_labels()))
case(
    "sparse-labels-balanced",
    lambda: lib.SparseBayesClassifier(kernel="rbf", class_weight="balanced"),
    bent_labels(80, 2),
)
case("sparse-labels-weights", lib.SparseBayesClassifier, linear_labels(), fit=weights(120))
case("sparse-classes", lib.SparseBayesClassifier, words())
case("sparse-classes-rbf", lambda: lib.SparseBayesClassifier(kernel="rbf", gamma=0.5), words(80))
case(
    "sparse-labels-penalised-intercept",
    lambda: lib.SparseBayesClassifier("laplace", penalize_intercept=True),
    linear_labels(),
)
case("sparse-values-rbf", lambda: lib.SparseBayesRegressor(kernel="rbf", gamma=0.2), sinc())
case(
    "sparse-values-precomputed",
    lambda: lib.SparseBayesRegressor(kernel="precomputed"),
    gram(sinc(40), 0.2),
)
case(
    "sparse-values-copies",
    lambda: lib.SparseBayesRegressor(kernel="rbf", gamma=0.2),
    repeated(sinc(40), 2),
)
case("sparse-values-wide", lib.SparseBayesRegressor, wide_values())
case(
    "sparse-values-student",
    lambda: lib.SparseBayesRegressor(likelihood="student"),
    outliers(linear_values()),
)
case("sparse-values-sparse-rows", lib.SparseBayesRegressor, thinned(linear_values()))
case(
    "sparse-labels-cv", lambda: lib.SparseBayesClassifierCV((0.5, 1.0, 2.0), cv=3), linear_labels(70, 5)
)
case(
    "sparse-labels-cv-rbf",
    lambda: lib.SparseBayesClassifierCV((0.1, 1.0), kernel="rbf", gammas=[0.5, 2.0], cv=3),
    cross(60),
)
case(
    "sparse-labels-cv-evidence",
    lambda: lib.SparseBayesClassifierCV((0.5, 1.0), criterion="evidence"),
    linear_labels(70, 5),
)
case("sparse-values-cv", lambda: lib.SparseBayesRegressorCV((0.5, 1.0), cv=3), linear_values())
case(
    "sparse-values-cv-all",
    lambda: lib.SparseBayesRegressorCV(
        (0.1, 1.0), kernel="rbf", gammas=[0.1, 0.4], cv=3, race=False, one_standard_error=True
    ),
    sinc(50),
)

# ---- relevance vector machines --------------------------------------------------------------

for _way in ("sequential", "evidence", "variational"):
    case(f"rvm-labels-{_way}", lambda w=_way: lib.RVMClassifier(gamma=2.0, inference=w), plane())
    case(f"rvm-values-{_way}", lambda w=_way: lib.RVMRegressor(gamma=0.2, inference=w), sinc())
case(
    "rvm-labels-vb",
    lambda: lib.RVMClassifier(None, inference="variational", solver="vb"),
    linear_labels(80, 4),
)
case("rvm-labels-probit", lambda: lib.RVMClassifier(gamma=2.0, likelihood="probit"), plane(60))
case("rvm-labels-features", lambda: lib.RVMClassifier(None), linear_labels())
case("rvm-labels-matern", lambda: lib.RVMClassifier("matern", gamma=1.0), plane(60))
case("rvm-classes", lambda: lib.RVMClassifier(gamma=0.5), words(80))
case("rvm-values-wide", lambda: lib.RVMRegressor(None), wide_values())
case("rvm-values-student", lambda: lib.RVMRegressor(gamma=0.2, likelihood="student"), outliers(sinc(60)))
case("rvm-values-weights", lambda: lib.RVMRegressor(gamma=0.2), sinc(60), fit=weights(60))

# ---- grids ----------------------------------------------------------------------------------

TABLE = ((6, 5), (2, 2))
case("grid-labels-product", lib.GridRVMClassifier, grid(150, *TABLE, "classification"))
case(
    "grid-labels-sum", lambda: lib.GridRVMClassifier(combine="sum"), grid(150, *TABLE, "classification")
)
case("grid-values-product", lib.GridRVMRegressor, grid(80, *TABLE, "regression"))
case("grid-values-sum", lambda: lib.GridRVMRegressor(combine="sum"), grid(80, *TABLE, "regression"))
case("grid-values-three-modes", lib.GridRVMRegressor, grid(80, (4, 3, 3), (2, 1, 2), "regression"))
case("grid-values-vb", lambda: lib.GridRVMRegressor(solver="vb"), grid(80, *TABLE, "regression"))
case("grid-classes", lib.GridRVMClassifier, three_grids)
case(
    "grid-labels-per-feature", lambda: lib.GridRVMClassifier(basis="per_feature_rbf"), bent_labels(50, 3)
)
case(
    "grid-values-per-feature", lambda: lib.GridRVMRegressor(basis="per_feature_rbf"), bent_values(50, 3)
)

# ---- joint features and kernels -------------------------------------------------------------

case("jcfo-labels", lib.JCFOClassifier, products())
case("jcfo-labels-poly", lambda: lib.JCFOClassifier("poly"), products(80, 5))
case("jcfo-labels-linear", lambda: lib.JCFOClassifier("linear"), linear_labels(80, 5))
case("jcfo-labels-em", lambda: lib.JCFOClassifier(solver="em", initial_scales=0.3), products(60, 4))
case("jcfo-labels-selection", lambda: lib.JCFOClassifier(selection_rate="auto"), products(80, 8))
case("jcfo-labels-screening", lambda: lib.JCFOClassifier(screening=5), wide_labels(60, 40))
case("jcfo-classes", lib.JCFOClassifier, words(60, 4))
case("jcfo-classes-own-features", lambda: lib.JCFOClassifier(share_features=False), words(60, 4))
case("jcfo-values", lib.JCFORegressor, bent_values(80, 5))
case("jcfo-values-linear", lambda: lib.JCFORegressor("linear"), linear_values(60, 5))
case(
    "jcfo-labels-cv",
    lambda: lib.JCFOClassifierCV(selection_rates=[2.0, 12.0], weight_rates=[None, 0.3], cv=3),
    products(60, 4),
)
case(
    "jcfo-values-cv",
    lambda: lib.JCFORegressorCV(selection_rates=[2.0, 8.0], weight_rates=[None], race=False, cv=3),
    bent_values(50, 4),
)

# ---- files, graphs and the command line -----------------------------------------------------

FILE = {"after": through_a_file, "needs": ("skops",)}
GRAPH = {"more": graph_numbers, "needs": ("onnx", "onnxruntime")}
case("file-flagship", lib.LaconicClassifier, plane(60, 3), **FILE)
case("file-sparse", lambda: lib.SparseBayesRegressor(kernel="matern", gamma=0.2), sinc(50), **FILE)
case("file-jcfo", lambda: lib.JCFOClassifier("linear"), linear_labels(60, 4), **FILE)
case("file-grid", lib.GridRVMRegressor, grid(60, (4, 3), (2, 2), "regression"), **FILE)
case("graph-flagship", lib.LaconicClassifier, words(60, 2), **GRAPH)
case("graph-values", lib.LaconicRegressor, sinc(50, seed=1), **GRAPH)
case("graph-rvm", lambda: lib.RVMClassifier(gamma=2.0), plane(60, 3), **GRAPH)
case("graph-sparse", lambda: lib.SparseBayesRegressor(), linear_values(60, 4), **GRAPH)
COMMAND = {"needs": ("typer", "rich", "pandas", "skops")}
case("command-labels", lib.LaconicClassifier, plane(), more=command_numbers(), **COMMAND)
case(
    "command-values",
    lambda: lib.SparseBayesRegressor(),
    linear_values(60, 4),
    more=command_numbers("--model", "sparse"),
    **COMMAND,
)
