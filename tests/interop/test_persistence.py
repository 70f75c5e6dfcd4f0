"""Saved models: the same in another process, and files that lie are refused without being run."""

import inspect
import io
import json
import os
import pickle
import subprocess
import sys
import threading
import zipfile
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, LabelEncoder, OneHotEncoder, StandardScaler

import laconism.kernels
import laconism.likelihoods
import laconism.priors
import laconism.solvers
from laconism import (
    GridRVMClassifier,
    GridRVMRegressor,
    JCFOClassifier,
    JCFOClassifierCV,
    JCFORegressor,
    JCFORegressorCV,
    LaconicClassifier,
    LaconicRegressor,
    RVMClassifier,
    RVMRegressor,
    SparseBayesClassifier,
    SparseBayesClassifierCV,
    SparseBayesRegressor,
    SparseBayesRegressorCV,
)
from laconism._component import Component
from laconism.datasets import make_grid, make_ripley, make_sinc
from laconism.interop import persistence
from laconism.kernels import RBF, Linear, Matern, Polynomial, Scaled
from laconism.likelihoods import Gaussian as GaussianNoise
from laconism.likelihoods import Logistic
from laconism.priors import Gaussian, GeneralizedGaussian, Jeffreys, Laplace, LaplaceMixture, StudentT
from laconism.rvm.evidence import Sequential, TopDownEvidence
from laconism.rvm.variational import Variational
from laconism.solvers import EM

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, Y = make_ripley(60, random_state=0)
THREE = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
WORDS = np.array(["no", "perhaps", "yes"])[THREE]
XR, YR = make_sinc(50, random_state=0)
GRID, YGRID, _ = make_grid(50, (4, 3), relevant=(2, 2), random_state=0)
CUBE, YCUBE, _ = make_grid(50, (3, 2, 2), relevant=(2, 1, 1), random_state=0)
TABLE = pd.DataFrame({"east": X[:, 0], "north": X[:, 1], "kind": np.where(X[:, 0] > 0, "a", "b")})
TABLE.loc[3, "east"] = np.nan
PREPARE = ColumnTransformer(
    [
        ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["east", "north"]),
        ("kinds", OneHotEncoder(handle_unknown="ignore"), ["kind"]),
    ]
)
SELECT = ColumnTransformer(
    [
        (
            "n",
            make_pipeline(SimpleImputer(), StandardScaler()),
            make_column_selector(dtype_include="number"),
        )
    ],
    remainder="drop",
)

CLASSIFIERS = {
    "features": SparseBayesClassifier(),
    "expansion": SparseBayesClassifier(expansion=2, penalize_intercept=True),
    "em": SparseBayesClassifier("laplace", kernel="rbf", solver=EM(), max_iter=30),
    "sum": SparseBayesClassifier(kernel=RBF(gamma=2.0) + Linear() * Polynomial(degree=2)),
    "matern": SparseBayesClassifier(kernel=Matern(nu=2.5), likelihood=Logistic()),
    "scaled": RVMClassifier(kernel=Scaled(RBF(), scales=[1.0, 2.0])),
    "squashed": RVMClassifier(kernel=Scaled(RBF(), [1.0, 2.0], [0.0, 0.1], [0.5, 1.0])),
    "poly": RVMClassifier(kernel="poly", degree=2, inference="variational"),
    "evidence": RVMClassifier(inference="evidence", class_weight="balanced"),
    "weights": SparseBayesClassifier(class_weight={0: 1.0, 1: 2.0}),
    "flagship": LaconicClassifier(),
    "flagship features": LaconicClassifier(kernel=None),
    "search": SparseBayesClassifierCV((0.5, 1.0), cv=StratifiedKFold(3), scoring="accuracy"),
    "joint search": JCFOClassifierCV("linear", weight_rates=[1.0], selection_rates=[4.0], cv=2),
    "joint": JCFOClassifier(max_iter=2, n_centres=10, random_state=np.random.RandomState(0)),
    "bagging": BaggingClassifier(SparseBayesClassifier(), n_estimators=2, random_state=0),
    "vote": VotingClassifier([("a", RVMClassifier()), ("b", SparseBayesClassifier())], voting="soft"),
    "calibrated": CalibratedClassifierCV(SparseBayesClassifier(kernel="rbf"), cv=2),
    "isotonic": CalibratedClassifierCV(SparseBayesClassifier(), cv=2, method="isotonic"),
    "grid search": GridSearchCV(RVMClassifier(), {"gamma": [1.0, 2.0]}, cv=2, scoring="neg_log_loss"),
    "best column": make_pipeline(SelectKBest(k=1), RVMClassifier()),
    "function": make_pipeline(FunctionTransformer(np.arcsinh), RVMClassifier()),
}
PRIORS = [
    Gaussian(width=2.0),
    GeneralizedGaussian(q=0.5),
    GeneralizedGaussian(q=1.5, scale=2.0),
    Jeffreys(strength=1.5),
    Laplace(rate=0.5),
    LaplaceMixture(),
    StudentT(),
]
REGRESSORS = {
    "features": SparseBayesRegressor(likelihood=GaussianNoise(noise=0.1, estimate=False)),
    "kernel": SparseBayesRegressor(kernel="rbf"),
    "rvm": RVMRegressor(),
    "flagship": LaconicRegressor(),
    "search": SparseBayesRegressorCV((0.5, 1.0), kernel="rbf", gammas=(0.1,), cv=2),
    "joint search": JCFORegressorCV("linear", weight_rates=[1.0], selection_rates=[4.0], cv=2),
    "joint": JCFORegressor(max_iter=2, n_centres=10),
    "per feature": GridRVMRegressor(basis="per_feature_rbf"),
    "target": TransformedTargetRegressor(RVMRegressor(), transformer=StandardScaler()),
    "log target": TransformedTargetRegressor(RVMRegressor(), func=np.arcsinh, inverse_func=np.sinh),
} | {f"{prior}": SparseBayesRegressor(prior, kernel="rbf") for prior in PRIORS}


def cases():
    """Fitted models with the rows that they are asked about."""
    for name, model in CLASSIFIERS.items():
        yield f"{name} / two", model, X, Y
    for name in ("features", "sum", "flagship", "search", "scaled", "calibrated"):
        yield f"{name} / three", CLASSIFIERS[name], X, WORDS
    for name, model in REGRESSORS.items():
        yield f"{name} / values", model, XR, YR
    yield "grid", GridRVMRegressor(), GRID, YGRID
    yield "cube", GridRVMClassifier(combine="sum"), CUBE, YCUBE > 0
    yield "flat grid", GridRVMRegressor(grid_shape=(4, 3)), GRID.reshape(50, -1), YGRID
    yield "names", SparseBayesClassifier(), TABLE[["north"]], Y
    yield "table", make_pipeline(PREPARE, LaconicClassifier()), TABLE, WORDS
    yield "selected table", make_pipeline(SELECT, RVMClassifier()), TABLE, Y
    yield "sparse array", SparseBayesClassifier(kernel="rbf"), csr_array(X), Y
    yield "sparse matrix", SparseBayesClassifier(kernel="rbf"), csr_matrix(X), Y
    yield "precomputed", RVMClassifier(kernel="precomputed"), RBF()(X, X), Y
    yield (
        "nothing kept",
        SparseBayesRegressor(Laplace(rate=1e6)),
        X,
        np.random.default_rng(0).normal(size=60),
    )


def say(model, X, whole=True):
    """Return all that a model says; runs here and in the other process."""
    said = [np.asarray(model.predict(X))]
    for method in ("predict_proba", "decision_function", "predict_dist"):
        if hasattr(model, method):
            said += [np.asarray(part) for part in np.atleast_1d(getattr(model, method)(X))]
    if whole and hasattr(model, "with_kernels"):
        said += say(model.with_kernels(1), X, whole=False)
        said += [part for reference in model.reference_ for part in reference.latent(X)]
    return said


OTHER = f"""
import pickle, sys
import numpy as np
import laconism

{inspect.getsource(say)}

rows = pickle.load(open(sys.argv[1], "rb"))
answers = {{path: say(laconism.load(path), X) for path, X in rows.items()}}
pickle.dump(answers, open(sys.argv[2], "wb"))
"""


@pytest.mark.slow
def test_every_estimator_and_pipeline_says_the_same_in_another_process(tmp_path):
    expected, rows, kinds = {}, {}, set()
    for number, (name, model, data, target) in enumerate(cases()):
        model.fit(data, target)
        path = str(tmp_path / f"{number}.skops")
        laconism.save(model, path)
        expected[path], rows[path] = (name, say(model, data)), data
        kinds.add(type(model))
    offered = {getattr(laconism, name) for name in laconism.__all__ if name[0].isupper()}
    assert offered <= kinds
    (tmp_path / "rows").write_bytes(pickle.dumps(rows))
    command = [sys.executable, "-c", OTHER, tmp_path / "rows", tmp_path / "answers"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    answers = pickle.loads((tmp_path / "answers").read_bytes())
    for path, (name, said) in expected.items():
        assert len(said) == len(answers[path])
        for mine, theirs in zip(said, answers[path], strict=True):
            assert mine.dtype == theirs.dtype, name
            np.testing.assert_array_equal(mine, theirs, err_msg=name)


def test_what_describes_the_model_comes_back(tmp_path):
    model = RVMClassifier(gamma=2.0, class_weight={0: 1.0, 1: 3.0}).fit(TABLE[["north"]], Y)
    laconism.save(model, tmp_path / "m")
    again = laconism.load(tmp_path / "m")
    assert again.get_params() == model.get_params()
    assert again.status_ == model.status_
    assert again.history_ == model.history_
    assert type(again.history_[0]) is type(model.history_[0])
    assert list(again.feature_names_in_) == ["north"]
    assert set(vars(again)) == set(vars(model))
    again.fit(X, Y)  # it is a model like any other


def test_labels_of_an_encoder_come_back(tmp_path):
    encoder = LabelEncoder().fit(WORDS)
    laconism.save(encoder, tmp_path / "m")
    assert list(laconism.load(tmp_path / "m").classes_) == list(encoder.classes_)


def test_an_unfitted_model_is_its_settings(tmp_path):
    model = SparseBayesClassifier(Laplace(rate=0.25), kernel=RBF(gamma=3.0))
    laconism.save(model, tmp_path / "m")
    again = laconism.load(tmp_path / "m")
    assert repr(again) == repr(model)
    assert not hasattr(again, "classes_")


def components():
    """Yield one of every prior, likelihood, kernel and solver that can be made without more ado."""
    yield from (Sequential(), TopDownEvidence(), Variational())
    for folder in (laconism.kernels, laconism.likelihoods, laconism.priors, laconism.solvers):
        for name in folder.__all__:
            kind = getattr(folder, name)
            if not (inspect.isclass(kind) and issubclass(kind, Component)) or inspect.isabstract(kind):
                continue
            needed = [
                each.name
                for each in inspect.signature(kind).parameters.values()
                if each.default is each.empty
            ]
            given = {"left": RBF(), "right": Linear(), "kernel": Matern(), "scales": [1.0, 2.0]}
            if set(needed) <= set(given):
                yield kind(**{each: given[each] for each in needed})


@pytest.mark.parametrize("component", list(components()), ids=lambda component: type(component).__name__)
def test_every_component_comes_back(tmp_path, component):
    laconism.save(component, tmp_path / "m")
    again = laconism.load(tmp_path / "m")
    assert type(again) is type(component)
    assert again == component


def test_components_were_found():
    assert len({type(component) for component in components()}) >= 15


# ---- what cannot be saved -------------------------------------------------------------------


def own_kernel(A, B):
    return np.asarray(A) @ np.asarray(B).T


class OwnPrior(Laplace):
    """A class that no other machine knows."""


@pytest.mark.parametrize(
    ("model", "stranger"),
    [
        (SparseBayesClassifier(kernel=own_kernel), "own_kernel"),
        (SparseBayesClassifier(kernel=lambda A, B: own_kernel(A, B)), "lambda"),
        (SparseBayesClassifier(prior=OwnPrior()), "OwnPrior"),
        (make_pipeline(FunctionTransformer(own_kernel), RVMClassifier()), "own_kernel"),
        (make_pipeline(FunctionTransformer(eval), RVMClassifier()), "eval"),
        (RVMClassifier(gamma=Fraction(1, 2)), "Fraction"),
    ],
)
def test_functions_and_foreign_classes_are_refused(tmp_path, model, stranger):
    with pytest.raises(
        ValueError, match=rf"^The model holds .*{stranger}.*, which a file must not name"
    ) as caught:
        laconism.save(model, tmp_path / "m")
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_lock_is_refused(tmp_path):
    # a class without data, or of a module that is not trusted: Python versions differ
    with pytest.raises(ValueError, match=r"lock.*, which a file must not name|is no data\.$"):
        laconism.save(RVMClassifier(gamma=threading.Lock()), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_what_has_no_data_is_refused_in_a_sentence(tmp_path):
    for settings in ({"kernel": RBF().__call__}, {"gamma": iter([])}, {"gamma": (g for g in [])}):
        with pytest.raises(ValueError, match=r"^The model (cannot be saved: something|holds)"):
            laconism.save(RVMClassifier(**settings), tmp_path / "m")
    with pytest.raises(ValueError, match="True or False as a key"):
        laconism.save(SparseBayesClassifier(class_weight={False: 1, True: 2}), tmp_path / "m")
    for thing in (3, RVMClassifier, {"model": RVMClassifier()}, None):
        with pytest.raises(TypeError, match=r"^save needs a model, got"):
            laconism.save(thing, tmp_path / "m")
    assert not list(tmp_path.iterdir())


class Listener:
    """A callback that no file could hold."""

    def __init__(self):
        self.lock, self.heard = threading.Lock(), 0

    def __call__(self, record):
        self.heard += 1

    def __deepcopy__(self, memo):
        return self  # clones of an estimator tell the same one


@pytest.mark.parametrize("wrap", [lambda m: m, make_pipeline, lambda m: CalibratedClassifierCV(m, cv=2)])
def test_callbacks_are_left_out_and_left_alone(tmp_path, wrap):
    listener = Listener()
    inner = SparseBayesClassifierCV((1.0,), kernel="rbf", gammas=(1.0,), cv=2, callbacks=[listener])
    inner.fit(X, Y)
    model = wrap(inner).fit(X, Y)
    heard = listener.heard
    with pytest.warns(UserWarning, match=r"^The model's callbacks are not saved"):
        laconism.save(model, tmp_path / "m")
    again = laconism.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert inner.callbacks == [listener]
    assert listener.heard == heard
    if again.__class__ is SparseBayesClassifierCV:
        assert again.callbacks is None
        assert again.best_estimator_.callbacks is None


# ---- the file itself ------------------------------------------------------------------------


def test_a_failure_leaves_the_old_file_alone(tmp_path, monkeypatch):
    path = tmp_path / "m.skops"
    laconism.save(RVMClassifier(), path)
    old = path.read_bytes()
    with pytest.raises(ValueError, match="own_kernel"):
        laconism.save(RVMClassifier(kernel=own_kernel), path)

    def fail(descriptor):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="full"):
        laconism.save(SparseBayesClassifier(), path)
    assert path.read_bytes() == old
    assert [each.name for each in tmp_path.iterdir()] == ["m.skops"]


@pytest.mark.skipif(os.name == "nt", reason="there are neither modes nor pipes with names")
def test_what_a_file_is_it_stays(tmp_path):
    """Who may read it, a name as long as names can be, and a pipe, which is no place for a file."""
    secret = tmp_path / ("m" * 249 + ".skops")
    laconism.save(RVMClassifier(), secret)
    secret.chmod(0o600)
    laconism.save(RVMClassifier(), secret)
    assert secret.stat().st_mode & 0o777 == 0o600
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    laconism.save(RVMClassifier(), pipe)
    reader.join(timeout=10)
    assert pipe.is_fifo()
    threading.Thread(target=pipe.write_bytes, args=read, daemon=True).start()
    assert isinstance(laconism.load(pipe), RVMClassifier)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no limit to set")
def test_a_disk_that_is_full_is_said_with_the_name_of_the_file(tmp_path):
    code = """
import resource, signal, sys
import laconism
from laconism.interop.persistence import write_whole
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
write_whole(b"old", "m.skops")
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    laconism.save(laconism.RVMClassifier(), "m.skops")
except OSError as error:
    sys.stdout.write(f"{error.filename} {open('m.skops').read()}")
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(laconism.__file__).parents[1])}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert run.stdout == "m.skops old", run.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["m.skops"]


def test_a_reader_of_a_file_that_two_write_sees_one_of_them(tmp_path):
    path, whole = tmp_path / "m.skops", [bytes([k]) * 1_000_000 for k in range(2)]
    persistence.write_whole(whole[0], path)
    writers = [
        threading.Thread(
            target=lambda data=data: [persistence.write_whole(data, path) for _ in range(5)]
        )
        for data in whole
    ]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert path.read_bytes() in whole
    assert [each.name for each in tmp_path.iterdir()] == ["m.skops"]


def test_saving_replaces_what_a_link_points_to(tmp_path):
    laconism.save(RVMClassifier(), tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    laconism.save(SparseBayesClassifier(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert isinstance(laconism.load(tmp_path / "real"), SparseBayesClassifier)


def test_places_that_do_not_exist(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^There is no folder .*nowhere to save in\.$"):
        laconism.save(RVMClassifier(), tmp_path / "nowhere" / "m")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        laconism.save(RVMClassifier(), tmp_path)
    with pytest.raises(FileNotFoundError, match=r"^There is no file"):
        laconism.load(tmp_path / "m")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        laconism.load(tmp_path)


def test_the_version_is_in_the_file_and_a_newer_one_warns(tmp_path, monkeypatch):
    model = RVMClassifier().fit(X, Y)
    monkeypatch.setattr(laconism, "__version__", "99.1")
    laconism.save(model, tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as file:
        assert json.loads(file.read("laconism.json")) == {"laconism": "99.1"}
    monkeypatch.undo()
    with pytest.warns(UserWarning, match=r"saved by laconism 99\.1, which is newer than this one"):
        again = laconism.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    monkeypatch.setattr(laconism, "__version__", "100.0")
    laconism.load(tmp_path / "m")  # an older one does not


def test_a_large_model_is_small_in_a_file(tmp_path):
    rows, labels = make_ripley(2000, random_state=0)
    model = RVMClassifier(gamma=2.0).fit(rows, labels)
    laconism.save(model, tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 30_000


def test_without_skops(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for attempt in (lambda: laconism.save(RVMClassifier(), tmp_path / "m"), lambda: laconism.load("m")):
        with pytest.raises(
            ImportError, match=r'needs the package skops: pip install "laconism\[save\]"'
        ):
            attempt()


# ---- files that lie -------------------------------------------------------------------------


class Bomb:
    """Runs a command when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.system, (f"touch {self.mark}",)


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.skops"
    laconism.save(SparseBayesClassifier(kernel="rbf").fit(X, Y), path)
    return path


def members(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def write(path, content):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in content.items():
            file.writestr(name, data)
    return path


def refused(path, match):
    """The file is refused with one sentence; nothing of it has run."""
    mark = path.with_name("mark")
    with pytest.raises(ValueError, match=match) as caught:
        laconism.load(path)
    assert not mark.exists(), "the file was executed"
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_foreign_files(tmp_path, good):
    path, mark = tmp_path / "bad", tmp_path / "mark"
    content = members(good)
    archive = io.BytesIO()
    np.savez(archive, a=np.ones(3))
    foreign = [
        pickle.dumps(Bomb(mark)),
        b"",
        b"laconism",
        "Ein Text, ein Zeichen: ä.".encode("latin-1"),
        good.read_bytes()[:-30],
        good.read_bytes()[: good.stat().st_size // 2],
        good.read_bytes()[100:],
        archive.getvalue(),
    ]
    for data in foreign:
        path.write_bytes(data)
        refused(path, "is not a model that laconism.save has written")
    for missing in ("laconism.json", "schema.json"):
        write(path, {name: data for name, data in content.items() if name != missing})
        refused(path, "is not a model that laconism.save has written")


def test_a_file_of_the_former_name_is_refused_in_a_sentence(tmp_path, good):
    content = members(good)
    content["laconic.json"] = json.dumps({"laconic": "0.1.0"}).encode()
    for former in (content, {k: v for k, v in content.items() if k != "laconism.json"}):
        refused(
            write(tmp_path / "old", former),
            r"was saved by laconic, the former name of this library: fit the model again and save it\.$",
        )


def test_a_flipped_byte_is_refused_or_changes_nothing(tmp_path, good):
    data = bytearray(good.read_bytes())
    expected = laconism.load(good).predict_proba(X)
    path = tmp_path / "bad"
    for place in range(7, len(data), 311):
        data[place] ^= 0x5A
        path.write_bytes(data)
        with suppress(ValueError):
            np.testing.assert_array_equal(laconism.load(path).predict_proba(X), expected)
        data[place] ^= 0x5A


def test_a_pickle_bomb_among_the_arrays(tmp_path, good):
    content, mark = members(good), tmp_path / "mark"
    arrays = [name for name in content if name.endswith(".npy")]
    assert arrays
    bomb = io.BytesIO()
    np.save(bomb, np.array([Bomb(mark)], dtype=object), allow_pickle=True)
    for bad in (bomb.getvalue(), pickle.dumps(Bomb(mark))):
        refused(write(tmp_path / "bad", content | {arrays[0]: bad}), "is damaged and was not loaded")
    stray = content | {"model.pkl": pickle.dumps(Bomb(mark))}
    refused(write(tmp_path / "bad", stray), "is not a model that")


def named(module, kind, loader="TypeNode", **more):
    return {"__class__": kind, "__module__": module, "__loader__": loader, "__id__": 1} | more


def tuple_of(*values):
    content = [named("builtins", "str", "JsonNode", content=json.dumps(value)) for value in values]
    return named("builtins", "tuple", "TupleNode", content=content) | {"__id__": 2}


LIES = {
    "a function": lambda mark: named("os", "system", "FunctionNode"),
    "eval": lambda mark: named("builtins", "eval"),
    "eval as function": lambda mark: named("builtins", "eval", "FunctionNode"),
    "a call": lambda mark: named(
        "os", "system", "ConstructorFromReduceNode", content=tuple_of(f"touch {mark}")
    ),
    "posix": lambda mark: named(
        "posix", "system", "ConstructorFromReduceNode", content=tuple_of(f"touch {mark}")
    ),
    "a submodule that is none": lambda mark: named(
        "laconism.something", "os.system", "ConstructorFromReduceNode", content=tuple_of(f"touch {mark}")
    ),
    "a module that ours imports": lambda mark: named(
        "laconism.interop.persistence", "os", "ConstructorFromReduceNode", content=tuple_of("x")
    ),
    "what ours imports": lambda mark: named("laconism.interop.persistence", "deepcopy", "FunctionNode"),
    "what an estimator imports": lambda mark: named("laconism.sparse.base", "Parallel", "ObjectNode"),
    "a function of ours": lambda mark: named("laconism.linalg", "ridge", "FunctionNode"),
    "a class of ours that is no part": lambda mark: named(
        "laconism.interop.progress", "ProgressBar", "ConstructorFromReduceNode", content=tuple_of()
    ),
    "a partial": lambda mark: named(
        "functools",
        "partial",
        "PartialNode",
        content={
            "func": named("os", "system", "FunctionNode"),
            "args": tuple_of(f"touch {mark}"),
            "kwds": named("builtins", "str", "JsonNode", content="{}"),
            "namespace": named("builtins", "str", "JsonNode", content="null"),
        },
    ),
    "an operator": lambda mark: named(
        "operator", "methodcaller", "OperatorFuncNode", attrs=tuple_of("fit")
    ),
    "a pickle of old": lambda mark: named("joblib", "load", "FunctionNode"),
    "numpy's own loader": lambda mark: named("numpy", "load", "FunctionNode"),
    "a stranger": lambda mark: named("nowhere.to.be", "Found", "ObjectNode"),
}


@pytest.mark.slow
@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("protocol", [None, 0, 1])
def test_names_that_no_model_has(tmp_path, good, lie, protocol):
    content = members(good)
    schema = json.loads(content["schema.json"])
    planted = LIES[lie](tmp_path / "mark")
    schema["content"]["content"]["gamma"] = planted
    if protocol is not None:
        schema["protocol"] = protocol  # rules of an older format, which are still known
    before = set(sys.modules)
    path = write(tmp_path / "bad", content | {"schema.json": json.dumps(schema)})
    refused(path, r"was not loaded: it names|is damaged and was not loaded")
    assert "nowhere" not in set(sys.modules) - before
    # and as the model itself
    root = planted | {"protocol": schema["protocol"], "_skops_version": schema["_skops_version"]}
    content = {"laconism.json": content["laconism.json"], "schema.json": json.dumps(root)}
    refused(write(tmp_path / "bad", content), r"was not loaded: it names|is damaged and was not loaded")


def test_descriptions_without_sense(tmp_path, good):
    content = members(good)
    schema = json.loads(content["schema.json"])
    deep = "[" * 100_000 + "]" * 100_000
    for text in ("[]", "null", "{", "{}", json.dumps(schema | {"protocol": "x"}), deep):
        bad = {"laconism.json": content["laconism.json"], "schema.json": text}
        refused(write(tmp_path / "bad", bad), "is damaged|is not a model")
    for label in ("[]", "{}", '{"laconism": "not a version"}', "\x00"):
        refused(write(tmp_path / "bad", content | {"laconism.json": label}), "is not a model")
    number = named("builtins", "str", "JsonNode", content="3", protocol=schema["protocol"])
    bad = {"laconism.json": content["laconism.json"], "schema.json": json.dumps(number)}
    refused(write(tmp_path / "bad", bad), "it holds a int, not a model")


def test_what_is_trusted_is_ours_or_listed():
    names = persistence._trusted()
    package = Path(laconism.__file__).parent
    for name in names:
        module, kind = name.rsplit(".", 1)
        if module.startswith("laconism."):
            thing = getattr(sys.modules[module], kind)
            assert isinstance(thing, type)
            assert thing.__module__ == module
            assert Path(sys.modules[module].__file__).is_relative_to(package)
        else:
            assert module.startswith(("numpy", "scipy.sparse.", "sklearn.")), name
    assert not any("interop" in name or ".cli" in name or "inspection" in name for name in names)


@pytest.mark.slow
def test_slim_files_of_the_flagship(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    y = X[:, 0] + np.sin(2 * X[:, 1]) > rng.normal(size=500)
    model = make_pipeline(StandardScaler(), LaconicClassifier("rbf", tolerance=0.03)).fit(X, y)
    for name, slim in (("whole", False), ("slim", True)):
        laconism.save(model, tmp_path / name, slim=slim)
    again = laconism.load(tmp_path / "slim")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert model[-1].reference_
    assert not again[-1].reference_
    assert 20 * (tmp_path / "slim").stat().st_size < (tmp_path / "whole").stat().st_size < 10_000_000
    laconism.save(LaconicClassifier(), tmp_path / "slim", slim=True)  # not fitted: nothing to leave out
