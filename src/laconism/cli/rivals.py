"""The models of a comparison: ours, and those of scikit-learn with the usual tuning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .models import MODELS, Choice, sample_rows

_RIVALS = ("svc", "gp", "forest", "boosting", "linear", "baseline")
NAMES = (*MODELS, *_RIVALS)
# The models by default; grid and JCFO are for special data.
USUAL = ("auto", "sparse", "rvm", *_RIVALS)
# Default maximum of training rows for kernel machines, to bound the time of a comparison.
KERNEL_ROWS = 2_000


@dataclass(frozen=True)
class Contender:
    """A model in the comparison: its name, how it is made, what it keeps."""

    key: str
    title: str
    make: Callable[[], Any]
    kind: str  # what is counted: kernels, features, trees, all rows, nothing
    ours: bool = False
    reported: bool = False  # whether a report is about it, which needs its fits
    most: int | None = None  # rows beyond which it is left out

    @property
    def capped(self) -> bool:
        """Whether it is trained on ``KERNEL_ROWS`` at the most."""
        return self.kind == "kernels" or self.key == "grid"

    def max_rows(self, given: int | None) -> int | None:
        """Return the maximum number of training rows, given the user's option; None for all."""
        return given if given is not None else KERNEL_ROWS if self.capped else None

    def counted(self, model: Any) -> str:
        """Return what a fitted model keeps: kernels, or features if it has chosen those."""
        return "features" if self.kind == "kernels" and hasattr(model, "coef_") else self.kind

    def kept(self, model: Any, rows: int) -> int:
        """Return how many of these a model keeps, given the number of rows it was fitted to."""
        if self.kind in ("nothing", "all rows"):
            return rows if self.kind == "all rows" else 0
        if self.ours:
            return int(model.get_support().sum() if self.key == "grid" else model.n_relevant_)
        machine = getattr(model, "machine_", model)
        machine = getattr(machine, "regressor_", machine)
        if self.kind == "trees":
            if hasattr(machine, "estimators_"):
                return len(machine.estimators_)
            return int(machine.n_iter_ * machine.n_trees_per_iteration_)
        if self.kind == "kernels":
            return int(np.sum(machine.n_support_))
        return int(np.any(np.atleast_2d(machine.coef_) != 0, axis=0).sum())


def contenders(task: str, keys: Sequence[str], seed: int, own: Choice | None = None) -> list[Contender]:
    """Return the models to compare, of those in ``NAMES``, and ``own``, the model of a report.

    The flagship comes first.
    """
    chosen = {} if own is None else {own.model: own}
    keys = (*keys, *chosen)
    ours = []
    for choice in (chosen.get(key, Choice(key)) for key in MODELS):
        make = partial(choice.make, task)
        ours.append(
            Contender(
                choice.model,
                "laconism" if choice.model == "auto" else f"laconism {choice.model}",
                make,
                "features" if getattr(make(), "kernel", None) is None else "kernels",
                ours=True,
                reported=choice is own,
            )
        )
    return [contender for contender in (*ours, *_rivals(task, seed)) if contender.key in keys]


def _rivals(task: str, seed: int) -> list[Contender]:
    """Return the models of scikit-learn: tuned as usual, trees as they come."""
    from sklearn import ensemble
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.dummy import DummyClassifier
    from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
    from sklearn.linear_model import BayesianRidge, LogisticRegression
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    costs = [0.1, 1.0, 10.0, 100.0]
    trees: dict[str, Any] = {"n_estimators": 300, "n_jobs": -1, "random_state": seed}
    # With a variance beyond 1e3 scikit-learn's approximation can break down.
    kernel = ConstantKernel(1.0, (1e-2, 1e3)) * RBF(3.0, (1e-2, 1e3))
    if task == "classification":
        machine = partial(Tuned, SVC(), {"C": costs}, "accuracy", seed)
        grid = {"C": [0.001, 0.01, *costs]}
        linear = partial(Tuned, LogisticRegression(max_iter=1000), grid, "neg_log_loss", seed)
        process = partial(GaussianProcessClassifier, kernel)
        forest = partial(Forest, ensemble.RandomForestClassifier(**trees))
        boosting: Callable[[], Any] = partial(ensemble.HistGradientBoostingClassifier, random_state=seed)
        titles, baseline = ("SVC (tuned)", "logistic (tuned)", "majority"), DummyClassifier
    else:
        scaled = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
        machine = partial(Tuned, scaled, {"regressor__C": costs}, "neg_mean_squared_error", seed)
        linear, noise = BayesianRidge, WhiteKernel(0.1, (1e-6, 1e1))
        process = partial(GaussianProcessRegressor, kernel + noise, normalize_y=True)
        forest = partial(Forest, ensemble.RandomForestRegressor(oob_score=True, **trees))
        boosted = ensemble.HistGradientBoostingRegressor(random_state=seed)
        boosting = partial(WithDeviation, boosted, seed)
        titles, baseline = ("SVR (tuned)", "ridge", "mean"), MeanRegressor
    return [
        Contender("svc", titles[0], machine, "kernels"),
        Contender("gp", "Gaussian process", process, "all rows", most=KERNEL_ROWS),
        Contender("forest", "random forest", forest, "trees"),
        Contender("boosting", "HistGradientBoosting", boosting, "trees"),
        Contender("linear", titles[1], linear, "features"),
        Contender("baseline", titles[2], baseline, "nothing"),
    ]


class Tuned:
    """A model whose settings are the best of a grid on a sample of the rows.

    Kernels get widths around scikit-learn's default, and probabilities of a support vector machine are
    calibrated as scikit-learn recommends.
    """

    def __init__(self, model: Any, grid: dict[str, Any], scoring: str, seed: int) -> None:
        self.model = model
        self.grid = grid
        self.scoring = scoring
        self.seed = seed

    def fit(self, X: Any, y: Any, max_rows: int = 1_000) -> Tuned:
        """Search on a sample of at most ``max_rows``, fit on all rows."""
        from sklearn.base import clone, is_regressor
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.model_selection import GridSearchCV

        width = 1 / (X.shape[1] * (float(X.var()) or 1.0))
        widths = {
            name: [width / 4, width, 4 * width] for name in self.model.get_params() if "gamma" in name
        }
        task = "regression" if is_regressor(self.model) else "classification"
        rows = sample_rows(len(y), max_rows, y, task, self.seed)
        cv = 3 if task == "regression" else _folds(y[rows])
        search = GridSearchCV(self.model, self.grid | widths, scoring=self.scoring, cv=cv, refit=False)
        best = clone(self.model).set_params(**search.fit(X[rows], y[rows]).best_params_)
        probable: Any
        if is_regressor(best):
            probable = WithDeviation(best, self.seed).fit(X, y)
            self.machine_ = probable.machine_
        elif hasattr(best, "predict_proba"):
            self.machine_ = probable = best.fit(X, y)
        else:
            probable = CalibratedClassifierCV(best, ensemble=False, cv=_folds(y)).fit(X, y)
            self.machine_ = probable.calibrated_classifiers_[0].estimator
        self.probable_ = probable
        self.classes_ = getattr(probable, "classes_", None)
        return self

    def predict(self, X: Any) -> Any:
        """Return the labels or the values."""
        return self.machine_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classes."""
        return self.probable_.predict_proba(X)

    def predict_dist(self, X: Any) -> Any:
        """Return means and deviations of the values."""
        return self.probable_.predict_dist(X)


class Forest:
    """A random forest; values have the deviation of its out-of-bag residuals."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: Any) -> Forest:
        """Fit each tree to rows drawn from all, ``KERNEL_ROWS`` of them at most.

        That bounds the memory; the trees draw different rows.
        """
        from sklearn.base import clone

        most = min(len(y), KERNEL_ROWS)
        self.machine_ = clone(self.model).set_params(max_samples=most).fit(X, y)
        self.classes_ = getattr(self.machine_, "classes_", None)
        if self.classes_ is None:
            self.std_ = _deviation(y, self.machine_.oob_prediction_)
        return self

    def predict(self, X: Any) -> Any:
        """Return the labels."""
        return self.machine_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Return the shares of the trees, of which one more votes for all classes alike.

        Otherwise a class that no tree votes for would have probability zero.
        """
        share, trees = self.machine_.predict_proba(X), len(self.machine_.estimators_)
        return (trees * share + 1 / share.shape[1]) / (trees + 1)

    def predict_dist(self, X: Any) -> tuple[Any, Any]:
        """Return means and deviations of the values."""
        return self.machine_.predict(X), np.full(len(X), self.std_)


class WithDeviation:
    """A regressor that has no distribution, with the deviation of its cross-validated residuals."""

    def __init__(self, model: Any, seed: int) -> None:
        self.model = model
        self.seed = seed

    def fit(self, X: Any, y: Any) -> WithDeviation:
        """Fit to all rows, and for the deviation to all folds but one."""
        from sklearn.base import clone
        from sklearn.model_selection import KFold, cross_val_predict

        self.machine_ = clone(self.model).fit(X, y)
        folds = KFold(min(5, len(y)), shuffle=True, random_state=self.seed)
        self.std_ = _deviation(y, cross_val_predict(self.model, X, y, cv=folds))
        return self

    def predict_dist(self, X: Any) -> tuple[Any, Any]:
        """Return means and deviations of the values."""
        return self.machine_.predict(X), np.full(len(X), self.std_)


def _deviation(y: Any, predicted: Any) -> float:
    """Return the root mean square of residuals; above zero, so that it has a density."""
    smallest = max(np.spacing(np.abs(y).max()), np.finfo(float).tiny)
    return float(max(np.sqrt(np.mean((y - predicted) ** 2)), smallest))


def _folds(y: Any, most: int = 3) -> Any:
    """Return stratified folds; a class with very few rows may be missing from some."""
    from sklearn.model_selection import StratifiedKFold

    rarest = int(np.unique(y, return_counts=True)[1].min())
    return StratifiedKFold(max(2, min(most, rarest)))


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
    """Return mean and standard deviation of a regression."""
    pair = model.predict_dist(X) if hasattr(model, "predict_dist") else model.predict(X, return_std=True)
    return pair[0], pair[1]


def minus_log_density(y: Any, mean: Any, std: Any) -> Any:
    """Return minus the log density of each value under its normal distribution."""
    return 0.5 * ((y - mean) / std) ** 2 + np.log(std) + 0.5 * np.log(2 * np.pi)
