"""Rows, targets, weights and settings, drawn from one seed."""

from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from scipy.sparse import csc_array, csr_matrix
from sklearn.base import is_classifier

import laconism
from laconism.priors import Gaussian, GeneralizedGaussian, Laplace, StudentT

ESTIMATORS = {
    name: getattr(laconism, name)
    for name in laconism.__all__
    if isinstance(getattr(laconism, name), type) and hasattr(getattr(laconism, name), "fit")
}
# The searches fit many models: they are drawn less often.
CHANCE = {name: 0.2 if "JCFO" in name and "CV" in name else 1.0 for name in ESTIMATORS}

# What every setting may be. A setting that is not here fails a test: nothing new is left out.
PLAIN_KERNELS = [None, "rbf", "matern", "linear", "poly", "additive"]
VALUES = {
    "basis": [None, "per_feature_rbf"],
    "callbacks": [None],
    "categorical_features": [None, [0]],
    "centres": ["rows", "free"],
    "class_weight": [None, "balanced"],
    "coef0": [0.0, 1.0, 5.0],
    "combine": ["product", "sum"],
    "criterion": ["cv", "evidence"],
    "cv": [None, 2, 3],
    "degree": [1, 2, 3, 5],
    "expansion": [1, 2],
    "fit_intercept": [True, False],
    "gamma": ["scale", "auto", 1e-3, 0.5, 50.0],
    "gammas": ["auto", (0.1, 1.0)],
    "grid_shape": [None],
    "inference": ["sequential", "evidence", "variational"],
    "initial_scales": ["auto", 0.3],
    "likelihood": ["probit", "logistic", "gaussian", "student", "auto"],
    "max_iter": [1, 5, 50, 1000],
    "max_kernels": [None, 1, 5],
    "max_rank": [1, 5, 1000],
    "n_centres": [None, 3, 20],
    "n_jobs": [None, 1],
    "one_standard_error": [True, False],
    "penalize_intercept": [True, False],
    "calibrate": [True, False],
    "prior": [
        *("jeffreys", "laplace", "gaussian", "student_t", "generalized_gaussian", "laplace_mixture"),
        *(Laplace(rate=30.0), Gaussian(width=0.1), StudentT(a=0.5, b=0.1)),
        *(GeneralizedGaussian(q=0.5, scale=1.0), GeneralizedGaussian(q=1.5, scale=5.0)),
    ],
    "race": [True, False],
    "random_state": [0, 1],
    "rank_tol": ["auto", 1e-3, 1e-12],
    "rate": [1e-12, 1e-3, 1.0],
    "scale_rate": ["auto", 0.1, 10.0],
    "scale_rates": ["auto", (0.5, 2.0)],
    "scales": ["evidence", 1.0, (0.1, 1.0)],
    "scoring": [None],
    "screening": [None, "auto", 2],
    "selection_rate": [None, "auto", 5.0],
    "selection_rates": ["auto", (2.0, 8.0)],
    "shape": [1e-12, 1e-3, 1.0],
    "shapes": [(0.5, 1.0), (2.0,)],
    "share_features": [True, False],
    "solver": ["auto", "em", "newton", "proximal", "accelerated", "fast", "vb", "varpro"],
    "standardize": [True, False],
    "tol": [1e-2, 1e-6, 1e-10],
    "tolerance": ["auto", 1e-4, 0.1],
    "warm_start": [False, True],
    "weigh_features": [True, False],
    "weight_rate": ["auto", 0.1, 10.0],
    "weight_rates": ["auto", (None, 0.3)],
}
KERNELS = {"Laconic": ["auto", *PLAIN_KERNELS], "JCFO": ["rbf", "poly", "linear"]}
NONSENSE = [None, -1, 0, "nonsense", float("nan"), float("inf"), [], {}, 10**400, b"x", 1j]
CONTAINERS = ["float64"] * 4 + [
    *(
        "float32",
        "int64",
        "bool",
        "object",
        "csr",
        "csc",
        "csr32",
        "frame",
        "fortran",
        "strided",
        "list",
    ),
    *("read-only", "mixed frame", "float16", "big-endian"),
]


@dataclass(frozen=True)
class Case:
    """An estimator with settings, and what it is fitted to; ``tame`` says that scales are ordinary."""

    seed: int
    name: str
    params: dict
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    container: str = "float64"
    tame: bool = True
    notes: list = field(default_factory=list)

    def model(self):
        return ESTIMATORS[self.name](**self.params)

    @property
    def labels(self):
        return is_classifier(ESTIMATORS[self.name]())

    def rows(self, X=None):
        return contained(self.X if X is None else X, self.container)

    def but(self, **changes):
        return replace(self, **changes)

    def __str__(self):
        settings = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        shape = " x ".join(map(str, self.X.shape))
        return f"{self.name}({settings}) on {shape} {self.container}: {', '.join(self.notes)}"


def contained(X, container):
    """Return the rows in another container; one that cannot hold the numbers has the nearest ones."""
    largest = {"float32": 3e38, "csr32": 3e38, "mixed frame": 3e38, "float16": 6e4, "int64": 1e9}
    X = np.clip(X, -largest.get(container, np.inf), largest.get(container, np.inf))
    if container in ("csr", "csc", "csr32"):
        made = csc_array(X) if container == "csc" else csr_matrix(X)
        return made.astype(np.float32) if container == "csr32" else made
    if container in ("frame", "mixed frame"):
        frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
        return frame.astype({"x0": np.float32}) if container == "mixed frame" and X.shape[1] else frame
    if container == "list":
        return X.tolist()
    if container == "fortran":
        return np.asfortranarray(X)
    if container == "strided":
        return np.repeat(X, 2, axis=0)[::2]
    if container == "read-only":
        X = X.copy()
        X.setflags(write=False)
        return X
    kind = {"big-endian": ">f8"}.get(container, container)
    return (np.rint(X) if container == "int64" else X).astype(kind)


def draw(seed):
    """Return the case of a seed."""
    rng = np.random.default_rng(seed)
    chances = np.array([CHANCE[name] for name in ESTIMATORS])
    name = str(rng.choice(list(ESTIMATORS), p=chances / chances.sum()))
    labels, notes = "Classifier" in name, []
    n = int(rng.choice([1, 2, 3, 5, 8, 12]) if rng.random() < 0.15 else rng.integers(13, 80))
    p = int(rng.integers(20, 120) if rng.random() < 0.1 else rng.choice([1, 1, 2, 2, 3, 4, 6, 9]))
    tame = rng.random() < 0.55
    X = _rows(rng, n, p, tame, notes)
    y = (_labels if labels else _values)(rng, X, tame, notes)
    X, y = _duplicates(rng, X, y, notes)
    weight = _weight(rng, len(X), tame, notes)
    params = _settings(rng, name)
    if params.get("kernel") == "precomputed":
        X = X @ X.T
    container = str(rng.choice(CONTAINERS))
    return Case(seed, name, params, X, y, weight, container, tame, notes)


def _column(rng, n):
    kind = str(rng.choice(["normal"] * 5 + ["lognormal", "cauchy", "ties", "few", "constant", "sparse"]))
    column = rng.normal(size=n)
    if kind == "lognormal":
        column = np.exp(2 * column)
    elif kind == "cauchy":
        column = rng.standard_cauchy(size=n)
    elif kind == "ties":
        column = np.round(column, 1)
    elif kind == "few":
        column = rng.integers(0, 3, size=n).astype(float)
    elif kind == "constant":
        column = np.full(n, rng.choice([0.0, 1.0, -3.7]))
    elif kind == "sparse":
        column = column * (rng.random(n) < 0.1)
    return column, kind


def _rows(rng, n, p, tame, notes):
    columns, kinds = zip(*(_column(rng, n) for _ in range(p)), strict=True)
    X = np.column_stack(columns)
    notes.append("columns " + "/".join(sorted(set(kinds))))
    if p > 1 and rng.random() < 0.2:
        X[:, -1] = X[:, 0] * rng.choice([1.0, -1.0, 1 + 1e-9])
        notes.append("a duplicate column")
    if tame:
        return X
    wild = str(rng.choice(["mixed scales", "one scale", "offset", "spike", "tiny spread"]))
    with np.errstate(all="ignore"):
        if wild == "mixed scales":
            X = X * 10.0 ** rng.uniform(*(-300, 150) if rng.random() < 0.3 else (-12, 12), size=p)
        elif wild == "one scale":
            X = X * 10.0 ** rng.uniform(-300, 150)
        elif wild == "offset":
            X = X + 10.0 ** rng.uniform(3, 15)
        elif wild == "spike":
            X[rng.integers(n), rng.integers(p)] = 10.0 ** rng.uniform(3, 64)
        else:
            X = 1.0 + 1e-13 * X
    notes.append(wild)
    return X


def _latent(rng, X):
    with np.errstate(all="ignore"):
        unit = np.abs(X).max(axis=0)
        unit[~(unit > 0)] = 1.0
        Z = X / unit
    f = Z @ rng.normal(size=X.shape[1]) * 2 + np.sin(4 * Z[:, 0])
    return np.nan_to_num(f) + rng.choice([0.0, 0.3, 1.0]) * rng.normal(size=len(X))


def _labels(rng, X, tame, notes):
    f, k = _latent(rng, X), int(rng.choice([2, 2, 2, 3, 4]))
    shares = np.sort(rng.random(k - 1)) if rng.random() < 0.7 else np.arange(1, k) * 0.05
    codes = np.searchsorted(np.quantile(f, shares), f)
    kind = str(rng.choice(["int", "int", "text", "bool", "object", "float", "negative"]))
    notes.append(f"{len(np.unique(codes))} classes as {kind}, smallest {np.bincount(codes).min()}")
    if kind == "text":
        return np.array(["no", "yes", "perhaps", "ja"])[codes]
    if kind == "object":
        return np.array(["no", "yes", "perhaps", "ja"], dtype=object)[codes]
    if kind == "bool":
        return codes > 0
    return codes.astype(float) if kind == "float" else codes - 2 * (kind == "negative")


def _values(rng, X, tame, notes):
    y = _latent(rng, X)
    kind = str(rng.choice(["plain"] * 4 + ["heavy", "ties", "constant", "scaled", "offset", "exact"]))
    if kind == "heavy":
        y = y + rng.standard_cauchy(size=len(y))
    elif kind == "ties":
        y = np.round(y)
    elif kind == "constant":
        y = np.full(len(y), 2.5)
    elif kind == "scaled" and not tame:
        y = y * 10.0 ** rng.uniform(-150, 150)
    elif kind == "offset":
        y = y + (1e2 if tame else 1e12)
    elif kind == "exact":
        y = np.nan_to_num(X[:, 0])
    notes.append(f"values {kind}")
    return y


def _duplicates(rng, X, y, notes):
    if rng.random() < 0.2 and len(X) > 2:
        twice = rng.integers(0, len(X), size=len(X) // 3 + 1)
        notes.append("duplicate rows")
        return np.concatenate([X, X[twice]]), np.concatenate([y, y[twice]])
    return X, y


def _weight(rng, n, tame, notes):
    kind = str(
        rng.choice(["none"] * 5 + ["counts", "ones", "fractions", "zeros"] + ["wild"] * (not tame))
    )
    notes.append(f"weights {kind}")
    if kind == "none":
        return None
    if kind == "counts":
        return rng.integers(0, 4, size=n).astype(float)
    if kind == "ones":
        return np.ones(n)
    if kind == "fractions":
        return rng.random(n)
    if kind == "zeros":
        return (rng.random(n) < 0.6).astype(float)
    return 10.0 ** rng.uniform(-12, 12, size=n)


def _settings(rng, name):
    params = {}
    family = next((family for family in KERNELS if name.startswith(family)), None)
    for each in ESTIMATORS[name]().get_params(deep=False):
        chance = 0.6 if each == "kernel" else 0.15
        if rng.random() >= chance:
            continue
        values = (
            KERNELS.get(family, [*PLAIN_KERNELS, "precomputed"]) if each == "kernel" else VALUES[each]
        )
        if each in ("likelihood", "solver", "gamma", "penalize_intercept", "weight_rate"):
            values = _known(name, each, values)
        params[each] = values[rng.integers(len(values))]
    if rng.random() < 0.04:
        each = str(rng.choice(list(ESTIMATORS[name]().get_params(deep=False))))
        params[each] = NONSENSE[rng.integers(len(NONSENSE))]
    return params


def _known(name, each, values):
    """Return those of the values that this family knows."""
    if each == "likelihood":
        known = {"probit", "logistic"} if "Classifier" in name else {"gaussian", "student"}
        return sorted(known | ({"auto"} if name == "LaconicRegressor" else set()))
    if each == "solver":
        family = {"Sparse": values[:5], "JCFO": ["em", "varpro"]}
        return next((known for start, known in family.items() if name.startswith(start)), ["fast", "vb"])
    if each == "gamma" and name.startswith("Laconic"):
        return ["auto", 0.1, 2.0]
    if name == "JCFORegressor" and each == "weight_rate":
        return [0.1, 10.0]
    return values
