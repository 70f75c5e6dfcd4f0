"""Sequences of models: iterations of a fit, sizes of a Laconic model, candidates of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._protocols import Array
from ._draw import ASIDE, FIRST, SECOND, Display, by_output, legend, need, panels, style, unwrap


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(Display):
    """Objective and number of active columns at each iteration of a fit.

    Use :meth:`from_estimator` to create one. The objective is what the fit maximises: a penalised log
    likelihood, the evidence, or a bound on it. For a Laconic model it is minus the loss of the
    projection, in nats.

    Parameters
    ----------
    objectives, actives : sequence of ndarrays, by output the objective and the columns at each iteration
    names : sequence of str, what to call the outputs; a single one needs no name
    title : str, default=""

    Attributes
    ----------
    ax_, active_ax_, figure_ : matplotlib Axes of the objective and of the number of columns, Figure
    lines_, active_lines_ : list of matplotlib Line2D, one for each output

    Examples
    --------
    >>> from laconism import SparseBayesClassifier, datasets, inspection
    >>> X, y = datasets.make_ripley(100, random_state=0)
    >>> model = SparseBayesClassifier(kernel="rbf", gamma=2.0).fit(X, y)
    >>> display = inspection.ConvergenceDisplay.from_estimator(model)
    >>> int(display.actives[0][-1]) == model.n_relevant_
    True
    """

    objectives: Sequence[Array]
    actives: Sequence[Array]
    names: Sequence[str]
    title: str = ""

    _size = (6.0, 5.0)  # inches

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw ``history_`` of a fitted model, or of a Pipeline ending in one, on ``ax`` or new axes."""
        _, model = unwrap(estimator)
        need(bool(getattr(model, "history_", None)), cls, "a model with a history_", model)
        history = by_output(model.history_)
        return cls(
            [np.array([record.objective for record in records]) for records in history],
            [np.array([record.active for record in records]) for records in history],
            _names_of_outputs(model, history),
            "converged" if model.status_.converged else "not converged",
        ).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        self.ax_, self.active_ax_ = panels(ax, (0, 0.48, 1, 0.52), (0, 0, 1, 0.4))
        self.lines_, self.active_lines_ = [], []
        for k, (objective, active, name) in enumerate(
            zip(self.objectives, self.actives, self.names, strict=True)
        ):
            step = np.arange(1, len(objective) + 1)
            look = {"markersize": 4, "markerfacecolor": "white", **style(k), "label": name}
            look["markevery"] = max(1, len(step) // 25)  # more marks would touch each other
            self.lines_ += self.ax_.plot(step, objective, **look)
            self.active_lines_ += self.active_ax_.plot(step, active, drawstyle="steps-mid", **look)
        self.ax_.set(ylabel="objective (nats)", title=self.title)
        self.ax_.tick_params(labelbottom=False)
        self.active_ax_.set(xlabel="iteration", ylabel="active columns")
        most = max(int(active.max()) for active in self.actives)
        self.active_ax_.set_ylim(0, 1.1 * max(most, 1))
        for panel in (self.ax_, self.active_ax_):
            panel.xaxis.get_major_locator().set_params(integer=True)
        if len(self.names) > 1:  # beside the axes, where it covers no line
            legend(self.ax_, title="class", loc="upper left", bbox_to_anchor=(1.01, 1))


@dataclass(eq=False, repr=False)
class ProjectionDisplay(Display):
    """Loss in nats over the number of kernels, for each output of a Laconic model.

    Use :meth:`from_estimator` to create one. The loss is that of the projection of the reference onto
    few kernels. The horizontal line is the tolerance; the filled mark is the chosen model.

    Parameters
    ----------
    sizes, paths : sequence of ndarrays, by output the sizes of the models on its path, and their nats
    chosen : sequence of int, for each output the index of the chosen model on its path
    tolerance : float, the tolerance of the estimator, in nats
    names : sequence of str, names of the outputs
    what : str, label of the horizontal axis: what is counted, default="kernels"

    Attributes
    ----------
    ax_, figure_, lines_ : matplotlib Axes, Figure and list of Line2D

    Examples
    --------
    >>> from laconism import LaconicClassifier, datasets, inspection
    >>> X, y = datasets.make_ripley(100, random_state=0)
    >>> display = inspection.ProjectionDisplay.from_estimator(LaconicClassifier().fit(X, y))
    >>> bool(display.paths[0][display.chosen[0]] <= display.tolerance)
    True
    """

    sizes: Sequence[Array]
    paths: Sequence[Array]
    chosen: Sequence[int]
    tolerance: float
    names: Sequence[str]
    what: str = "kernels"

    _size = (5.6, 3.8)  # inches

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the path of a fitted Laconic model or Pipeline ending in one, on ``ax`` or new axes."""
        _, model = unwrap(estimator)
        need(hasattr(model, "path_"), cls, "a LaconicClassifier or LaconicRegressor", model)
        outputs = by_output(model.path_)
        sizes = [np.array([point.kernels for point in path]) for path in outputs]
        kept = [posterior.mean.size for posterior in model.posteriors_[: len(outputs)]]
        return cls(
            sizes,
            [np.array([point.nats for point in path]) for path in outputs],
            chosen=[int(np.searchsorted(*pair)) for pair in zip(sizes, kept, strict=True)],
            tolerance=model.tolerance_,
            names=_names_of_outputs(model, outputs),
            what="features" if model._on_features else "kernels",
        ).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        least = 1e-2 * self.tolerance  # a loss of zero has no logarithm
        self.lines_ = []
        outputs = zip(self.paths, self.sizes, self.chosen, self.names, strict=True)
        for k, (path, size, place, name) in enumerate(outputs):
            nats = np.maximum(path, least)
            look = style(k)
            (line,) = ax.plot(size, nats, mfc="white", ms=4, label=name, **look)
            ax.plot([size[place]], [nats[place]], **look | {"ms": 9, "linestyle": "none"})
            self.lines_.append(line)
        ax.axhline(self.tolerance, color=ASIDE, lw=1)
        where = ax.get_yaxis_transform()  # across in fractions of the axes, up in nats
        ax.text(0.99, self.tolerance, "tolerance", transform=where, ha="right", va="bottom", color=ASIDE)
        ax.set(xlabel=self.what, ylabel="nats lost per observation", yscale="log")
        if len(self.paths) > 1:
            legend(ax, title="class")


@dataclass(eq=False, repr=False)
class SparsityPathDisplay(Display):
    """Cross-validated score and kept columns over the shape ``q`` of the prior.

    Use :meth:`from_estimator` to create one. For each ``q`` the best of all kernel widths and prior
    scales is shown. Bars are standard errors over the folds; the dotted line marks the chosen ``q``. A
    ``q`` whose candidates were dropped before the last fold leaves a gap (``race=False`` drops none).

    Parameters
    ----------
    shapes : ndarray of shape (n_shapes,), the values of ``q``, ascending
    scores, errors, kept : ndarray of shape (n_shapes,)
        The best mean score for each ``q``, its standard error, and the mean number of columns kept.
    chosen : float or None, the ``q`` that was chosen, default=None
    score_name : str, label of the left axis, default="score"

    Attributes
    ----------
    ax_, kept_ax_, figure_ : matplotlib Axes of the score and of the number of columns, Figure
    line_, kept_line_ : matplotlib Line2D

    Examples
    --------
    >>> from laconism import SparseBayesClassifierCV, datasets, inspection
    >>> X, y = datasets.make_cross(100, random_state=0)
    >>> model = SparseBayesClassifierCV(kernel="rbf", gammas=[2.0]).fit(X, y)
    >>> display = inspection.SparsityPathDisplay.from_estimator(model)
    >>> display.shapes
    array([0.1, 0.5, 1. , 1.5, 2. ])
    """

    shapes: Array
    scores: Array
    errors: Array
    kept: Array
    chosen: float | None = None
    score_name: str = "score"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the path of a SparseBayesClassifierCV or SparseBayesRegressorCV on ``ax`` or new axes."""
        check_is_fitted(estimator)
        estimator = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        results = getattr(estimator, "cv_results_", {})
        wanted = "a SparseBayesClassifierCV or SparseBayesRegressorCV"
        need("param_prior__q" in results and "mean_n_relevant" in results, cls, wanted, estimator)
        q = np.array(results["param_prior__q"].tolist(), dtype=float)
        mean = np.where(np.isnan(results["mean_test_score"]), -np.inf, results["mean_test_score"])
        shapes = np.unique(q)
        best = np.array([np.flatnonzero(q == s)[np.argmax(mean[q == s])] for s in shapes])
        errors = results["std_test_score"][best] / np.sqrt(max(estimator.n_splits_ - 1, 1))
        if estimator.criterion == "evidence":
            name = "evidence (nats per observation)"
        elif estimator.scoring is None:
            name = "log score (nats per observation)"
        else:
            name = estimator.scoring if isinstance(estimator.scoring, str) else "score"
        chosen = float(estimator.best_params_["prior__q"])
        kept = results["mean_n_relevant"][best]
        display = cls(shapes, results["mean_test_score"][best], errors, kept, chosen, name)
        return display.plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        from matplotlib.ticker import SymmetricalLogLocator

        self.kept_ax_ = ax.twinx()
        bars = ax.errorbar(
            self.shapes, self.scores, yerr=self.errors, color=FIRST, marker="o", capsize=3
        )
        self.line_ = bars.lines[0]
        (self.kept_line_,) = self.kept_ax_.plot(
            self.shapes, self.kept, color=SECOND, marker="s", linestyle="dashed"
        )
        self.kept_ax_.set_yscale("symlog", linthresh=1.0)
        self.kept_ax_.yaxis.set_major_locator(
            SymmetricalLogLocator(base=10, linthresh=1.0, subs=(1.0, 2.0, 5.0))
        )
        self.kept_ax_.yaxis.set_major_formatter("{x:g}")
        if self.chosen is not None:
            ax.axvline(self.chosen, color=ASIDE, linestyle="dotted")
        ax.set_xlabel("q, from sparse to dense")
        ax.set_ylabel(f"{self.score_name}, solid", color=FIRST)
        self.kept_ax_.set_ylabel("kept columns, dashed", color=SECOND)


def _names_of_outputs(model: Any, outputs: Sequence[Any]) -> list[str]:
    """Return what to call the outputs: the classes, and a single one nothing."""
    return [str(name) for name in model.classes_] if len(outputs) > 1 else [""]
