"""Calibration: predicted probabilities against observed frequencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.stats import beta, norm
from sklearn.utils.validation import check_consistent_length

from .._component import is_count
from .._protocols import Array, Index
from ._draw import ASIDE, FIRST, Display, brief, legend_below, need, panels, unwrap


@dataclass(eq=False, repr=False, kw_only=True)
class CalibrationDisplay(Display):
    """Observed frequency against predicted probability, with the number of observations in each bin.

    Use :meth:`from_estimator` or :meth:`from_predictions` to create one. Bars are 95 % confidence
    intervals of the frequency (Clopper and Pearson): a point whose bar touches the diagonal is
    compatible with a calibrated model.

    Parameters
    ----------
    edges : ndarray of shape (n_bins + 1,), edges of the bins of the predicted probability
    predicted, observed : ndarray of shape (n_bins,)
        Mean prediction and frequency of the positive class in each bin; nan where there is none.
    interval : ndarray of shape (2, n_bins), ends of the confidence intervals of the frequency
    counts : ndarray of shape (n_bins,), number of observations in each bin
    name, positive : str (title, and the class whose probability is shown), default="" and "1"

    Attributes
    ----------
    ax_, counts_ax_, figure_ : matplotlib Axes and Figure
    points_, bars_ : matplotlib ErrorbarContainer and BarContainer

    Examples
    --------
    >>> from laconism import SparseBayesClassifier, datasets, inspection
    >>> X, y = datasets.make_ripley(200, random_state=0)
    >>> model = SparseBayesClassifier(kernel="rbf", gamma=2.0).fit(X[:100], y[:100])
    >>> display = inspection.CalibrationDisplay.from_estimator(model, X[100:], y[100:], n_bins=5)
    >>> int(display.counts.sum())
    100
    """

    edges: Array
    predicted: Array
    observed: Array
    interval: Array
    counts: Index
    name: str = ""
    positive: str = "1"

    _size = (5.2, 5.6)  # inches

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, n_bins: int = 10, pos_label: Any = None, ax: Any = None
    ) -> Self:
        """Draw the calibration of a fitted classifier on new data.

        Parameters
        ----------
        estimator : classifier or Pipeline ending in one, with ``predict_proba``
        X : array-like of shape (n_samples, n_features), data that the classifier was not fitted to
        y : array-like of shape (n_samples,), their classes
        n_bins : int, bins of equal width, default=10
        pos_label : object (the class to show; None is the second of two classes), default=None
        ax : matplotlib Axes or None (a new figure), default=None
        """
        _, model = unwrap(estimator)
        need(hasattr(estimator, "predict_proba"), cls, "a classifier with predict_proba", model)
        classes = list(estimator.classes_)
        if pos_label is None:
            if len(classes) > 2:
                raise ValueError(
                    f"The model has {len(classes)} classes: say with pos_label which one to show."
                )
            pos_label = classes[1]
        if pos_label not in classes:
            raise ValueError(f"pos_label must be one of {classes}, got {pos_label!r}.")
        probability = estimator.predict_proba(X)[:, classes.index(pos_label)]
        return cls.from_predictions(
            y, probability, n_bins=n_bins, pos_label=pos_label, name=type(model).__name__, ax=ax
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        n_bins: int = 10,
        pos_label: Any = 1,
        name: str = "",
        ax: Any = None,
    ) -> Self:
        """Draw the calibration of predicted probabilities.

        Parameters
        ----------
        y_true, y_prob : array-like of shape (n_samples,), classes and probabilities of ``pos_label``
        pos_label : object, the class whose probability is given, default=1
        name : str, title of the upper axes, default=""
        n_bins, ax : as in :meth:`from_estimator`
        """
        p, happened = np.asarray(y_prob, dtype=float), np.asarray(y_true) == pos_label
        check_consistent_length(happened, p)
        if p.ndim != 1 or not p.size or not ((p >= 0) & (p <= 1)).all():
            raise ValueError("y_prob must be one column of probabilities between 0 and 1.")
        if not is_count(n_bins):
            raise ValueError(f"n_bins must be a positive whole number, got {n_bins!r}.")
        edges = np.linspace(0, 1, n_bins + 1)
        which = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, n_bins - 1)
        counts = np.bincount(which, minlength=n_bins)
        hits = np.bincount(which, weights=happened, minlength=n_bins)
        some = np.where(counts > 0, counts, np.nan)
        tail = norm.sf(2)  # the intervals cover as much as two deviations of a Gaussian
        low = np.where(hits > 0, beta.ppf(tail, hits, some - hits + 1), 0.0)
        high = np.where(hits < counts, beta.ppf(1 - tail, hits + 1, some - hits), 1.0)
        return cls(
            edges=edges,
            predicted=np.bincount(which, weights=p, minlength=n_bins) / some,
            observed=hits / some,
            interval=np.where(counts > 0, [low, high], np.nan),
            counts=counts,
            name=name,
            positive=str(pos_label),
        ).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        self.ax_, self.counts_ax_ = panels(ax, (0, 0.36, 1, 0.64), (0, 0, 1, 0.27))
        self.ax_.plot([0, 1], [0, 1], color=ASIDE, linestyle="dashed", label="perfect")
        there = self.counts > 0
        predicted, observed = self.predicted[there], self.observed[there]
        look = {"color": FIRST, "marker": "o", "markersize": 5, "capsize": 3, "linewidth": 1.0}
        self.points_ = self.ax_.errorbar(
            predicted,
            observed,
            yerr=np.abs(self.interval[:, there] - observed),
            label="observed, 95 % interval",
            **look,
        )
        middle, width = (self.edges[1:] + self.edges[:-1]) / 2, np.diff(self.edges)
        self.bars_ = self.counts_ax_.bar(
            middle, self.counts, 0.9 * width, color="#bcd4ea", edgecolor=FIRST, linewidth=0.8
        )
        if len(self.counts) <= 12:  # more numbers would overlap
            self.counts_ax_.bar_label(self.bars_, fontsize="small", padding=1, color="black")
            self.counts_ax_.margins(y=0.25)
        self.ax_.set(ylabel=f"frequency of {brief(self.positive)}", title=self.name, xlim=(0, 1))
        self.ax_.set_ylim(-0.02, 1.02)
        self.ax_.tick_params(labelbottom=False)
        # Between the panels, where it covers no interval.
        legend_below(self.ax_, 0.01, 2)
        self.counts_ax_.set(xlabel=f"predicted probability of {brief(self.positive)}", xlim=(0, 1))
        self.counts_ax_.set_ylabel("observations")
