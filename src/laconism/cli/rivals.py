"""The models of a comparison: ours, and those of scikit-learn with the usual tuning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .models import make_model, sample_rows

NAMES = ("auto", "sparse", "rvm", "grid", "jcfo", "svc", "gp", "linear", "baseline")
# The models by default; grid and JCFO are for special data.
USUAL = ("auto", "sparse", "rvm", "svc", "gp", "linear", "baseline")
# Default maximum of training rows for kernel machines, to bound the time of a comparison.
KERNEL_ROWS = 2_000
# Beyond this many rows a Gaussian process takes minutes.
_MAX_PROCESS_ROWS = 2_000
# Rows and folds for the tuning of rivals.
_TUNING_ROWS = 1_000
_TUNING_FOLDS = 3
_COSTS = [0.1, 1.0, 10.0, 100.0]
# Around scikit-learn's gamma="scale".
_GAMMAS = np.array([0.25, 1.0, 4.0])


@dataclass(frozen=True)
class Contender:
    """A model in the comparison: its name, how it is made, what it keeps."""

    key: str
    title: str
    make: Callable[[], Any]
    kept: Callable[[Any], int | None]
    kind: str  # what is counted: kernels, features, rows
    ours: bool = False
    capped: bool = False  # whether it is trained on KERNEL_ROWS at the most
    most: int | None = None  # rows beyond which it is left out

    def max_rows(self, given: int | None) -> int | None:
        """Return the maximum number of training rows, given the user's option; None for all."""
        return given if given is not None else KERNEL_ROWS if self.capped else None

    def counted(self, model: Any) -> str:
        """Return what a fitted model keeps: kernels, or features if it has chosen those."""
        return "features" if self.kind == "kernels" and hasattr(model, "coef_") else self.kind


def contenders(task: str, keys: tuple[str, ...], seed: int) -> list[Contender]:
    """Return the models to compare.

    Parameters
    ----------
    task : {"classification", "regression"}
    keys : tuple of str
        Of ``NAMES``.
    seed : int

    Returns
    -------
    list of Contender

    Examples
    --------
    >>> [contender.title for contender in contenders("regression", ("auto", "linear"), 0)]
    ['laconism', 'ridge']
    """
    classes = task == "classification"
    found = {
        "auto": _ours("auto", task, "laconism", "kernels"),
        "sparse": _ours("sparse", task, "laconism sparse", "features"),
        "rvm": _ours("rvm", task, "laconism rvm", "kernels"),
        "grid": _ours("grid", task, "laconism grid", "features"),
        "jcfo": _ours("jcfo", task, "laconism jcfo", "kernels"),
        "svc": Contender(
            "svc",
            "SVC (tuned)" if classes else "SVR (tuned)",
            lambda: (TunedSVC if classes else TunedSVR)(seed),
            lambda model: int(np.sum(model.machine_.n_support_)),
            "kernels",
            capped=True,
        ),
        "gp": Contender(
            "gp",
            "Gaussian process",
            _process if classes else _process_regressor,
            lambda model: None,
            "all rows",
            most=_MAX_PROCESS_ROWS,
        ),
        "linear": Contender(
            "linear",
            "logistic (tuned)" if classes else "ridge",
            (lambda: TunedLogistic(seed)) if classes else _ridge,
            lambda model: int(np.any(np.atleast_2d(model.coef_) != 0, axis=0).sum()),
            "features",
        ),
        "baseline": Contender(
            "baseline",
            "majority" if classes else "mean",
            _majority if classes else _mean,
            lambda model: 0,
            "nothing",
        ),
    }
    return [found[key] for key in NAMES if key in keys]


def _ours(key: str, task: str, title: str, kind: str) -> Contender:
    def kept(model: Any) -> int:
        if key == "grid":
            return int(model.get_support().sum())
        return int(model.n_relevant_)

    return Contender(
        key, title, lambda: make_model(key, task), kept, kind, ours=True, capped=key != "sparse"
    )


class TunedSVC:
    """A support vector classifier, cost and width by cross-validation, probabilities by calibration."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: Any, y: Any) -> TunedSVC:
        """Search on a sample, fit on all rows, calibrate as scikit-learn recommends."""
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.svm import SVC

        best = _tune(SVC(), {"C": _COSTS, "gamma": _widths(X)}, X, y, self.seed, "accuracy")
        folds = _folds(y)
        self.calibrated_ = CalibratedClassifierCV(best, ensemble=False, cv=folds).fit(X, y)
        self.machine_ = self.calibrated_.calibrated_classifiers_[0].estimator
        self.classes_ = self.calibrated_.classes_
        return self

    def predict(self, X: Any) -> Any:
        """Return the machine's labels."""
        return self.machine_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Return the calibrated probabilities."""
        return self.calibrated_.predict_proba(X)


class TunedSVR:
    """Support vector regression on standardised targets, cost and width by cross-validation."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: Any, y: Any) -> TunedSVR:
        """Search on a sample, fit on all rows."""
        from sklearn.svm import SVR

        self.centre_, self.scale_ = float(y.mean()), float(y.std()) or 1.0
        z = (y - self.centre_) / self.scale_
        grid = {"C": _COSTS, "gamma": _widths(X)}
        self.machine_ = _tune(SVR(), grid, X, z, self.seed, "neg_mean_squared_error").fit(X, z)
        return self

    def predict(self, X: Any) -> Any:
        """Return the predictions in the target's units."""
        return self.centre_ + self.scale_ * self.machine_.predict(X)


class TunedLogistic:
    """Logistic regression with the cost by cross-validation."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: Any, y: Any) -> TunedLogistic:
        """Search on a sample, fit on all rows."""
        from sklearn.linear_model import LogisticRegression

        plain = LogisticRegression(max_iter=1000)
        grid = {"C": [0.001, 0.01, *_COSTS]}
        self.model_ = _tune(plain, grid, X, y, self.seed, "neg_log_loss").fit(X, y)
        self.classes_, self.coef_ = self.model_.classes_, self.model_.coef_
        return self

    def predict(self, X: Any) -> Any:
        """Return the labels."""
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities."""
        return self.model_.predict_proba(X)


def _tune(model: Any, grid: dict[str, Any], X: Any, y: Any, seed: int, scoring: str) -> Any:
    """Return the model, unfitted, with the settings that were best on a sample."""
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV

    task = "regression" if scoring.startswith("neg_mean") else "classification"
    rows = sample_rows(len(y), _TUNING_ROWS, y, task, seed)
    folds = _TUNING_FOLDS if task == "regression" else _folds(y[rows])
    search = GridSearchCV(model, grid, scoring=scoring, cv=folds, refit=False).fit(X[rows], y[rows])
    return clone(model).set_params(**search.best_params_)


def _folds(y: Any) -> Any:
    """Return stratified folds; a class with very few rows may be missing from some."""
    from sklearn.model_selection import StratifiedKFold

    rarest = int(np.unique(y, return_counts=True)[1].min())
    return StratifiedKFold(max(2, min(_TUNING_FOLDS, rarest)))


def _widths(X: Any) -> Any:
    variance = float(X.var())
    return _GAMMAS / (X.shape[1] * variance if variance > 0 else 1.0)


def _process() -> Any:
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    # With a variance beyond 1e3 scikit-learn's approximation can break down.
    return GaussianProcessClassifier(ConstantKernel(1.0, (1e-2, 1e3)) * RBF(3.0, (1e-2, 1e3)))


def _process_regressor() -> Any:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    kernel = ConstantKernel(1.0, (1e-2, 1e3)) * RBF(3.0, (1e-2, 1e3)) + WhiteKernel(0.1, (1e-6, 1e1))
    return GaussianProcessRegressor(kernel, normalize_y=True)


def _ridge() -> Any:
    from sklearn.linear_model import BayesianRidge

    return BayesianRidge()


def _majority() -> Any:
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="prior")


def _mean() -> Any:
    return MeanRegressor()


class MeanRegressor:
    """The mean of the targets, with their deviation."""

    def fit(self, X: Any, y: Any) -> MeanRegressor:
        """Take mean and deviation."""
        self.mean_, self.std_ = float(y.mean()), float(y.std())
        return self

    def predict_dist(self, X: Any) -> tuple[Any, Any]:
        """Return them for every row."""
        return np.full(len(X), self.mean_), np.full(len(X), self.std_)


def distribution(model: Any, X: Any) -> tuple[Any, Any]:
    """Return mean and standard deviation of a regression; the latter is ``None`` where there is none.

    Parameters
    ----------
    model : regressor
    X : ndarray of shape (n_samples, n_features)

    Returns
    -------
    mean, std : ndarrays of shape (n_samples,)
    """
    if hasattr(model, "predict_dist"):
        mean, std = model.predict_dist(X)
        return mean, std
    if isinstance(model, TunedSVR):
        return model.predict(X), None
    mean, std = model.predict(X, return_std=True)
    return mean, std
