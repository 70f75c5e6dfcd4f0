"""Score and number of kept columns over the shape of the prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._protocols import Array
from ._draw import ASIDE, FIRST, SECOND, Display, need


@dataclass(eq=False, repr=False)
class SparsityPathDisplay(Display):
    """Cross-validated score and kept columns over the shape ``q`` of the prior.

    Use :meth:`from_estimator` to create one. For each ``q`` the best of all kernel widths and prior
    scales is shown. Bars are standard errors over the folds; the dotted line marks the chosen ``q``. A
    ``q`` whose candidates were dropped before the last fold leaves a gap (``race=False`` drops none).

    Parameters
    ----------
    shapes : ndarray of shape (n_shapes,)
        The values of ``q``, ascending.
    scores : ndarray of shape (n_shapes,)
        The best mean score for each ``q``.
    errors : ndarray of shape (n_shapes,)
        Its standard error.
    kept : ndarray of shape (n_shapes,)
        The mean number of columns that the best candidate kept.
    chosen : float or None, default=None
        The ``q`` that was chosen.
    score_name : str, default="score"
        Label of the left axis.

    Attributes
    ----------
    ax_, kept_ax_ : matplotlib Axes
        Of the score, and of the number of columns.
    figure_ : matplotlib Figure
    line_, kept_line_ : matplotlib Line2D
        The scores, and the numbers of columns.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from laconism import SparseBayesClassifierCV
    >>> from laconism.datasets import make_cross
    >>> from laconism.inspection import SparsityPathDisplay
    >>> X, y = make_cross(100, random_state=0)
    >>> model = SparseBayesClassifierCV(kernel="rbf", gammas=[2.0]).fit(X, y)
    >>> display = SparsityPathDisplay.from_estimator(model)
    >>> display.shapes
    array([0.1, 0.5, 1. , 1.5, 2. ])
    >>> plt.close(display.figure_)
    """

    shapes: Array
    scores: Array
    errors: Array
    kept: Array
    chosen: float | None = None
    score_name: str = "score"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the path of a fitted search.

        Parameters
        ----------
        estimator : SparseBayesClassifierCV or SparseBayesRegressorCV
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : SparsityPathDisplay
        """
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

        self.ax_, self.kept_ax_, self.figure_ = ax, ax.twinx(), ax.figure
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
