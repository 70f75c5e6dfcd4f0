"""Convergence of a fit: the objective and the number of active columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._protocols import Array
from ._draw import Display, by_output, last_step, legend, names_of_outputs, need, panels, style


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(Display):
    """Objective and number of active columns at each iteration of a fit.

    Use :meth:`from_estimator` to create one. The objective is what the fit maximises: a penalised log
    likelihood, the evidence, or a bound on it. For a Laconic model it is minus the loss of the
    projection, in nats.

    Parameters
    ----------
    objectives : sequence of ndarrays
        For each output the objective at every iteration.
    actives : sequence of ndarrays
        For each output the number of columns at every iteration.
    names : sequence of str
        What to call the outputs; a single one needs no name.
    title : str, default=""
        Title of the upper axes.

    Attributes
    ----------
    ax_, active_ax_ : matplotlib Axes
        Of the objective, and of the number of columns.
    figure_ : matplotlib Figure
    lines_, active_lines_ : list of matplotlib Line2D
        One for each output.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from laconism import SparseBayesClassifier
    >>> from laconism.datasets import make_ripley
    >>> from laconism.inspection import ConvergenceDisplay
    >>> X, y = make_ripley(100, random_state=0)
    >>> model = SparseBayesClassifier(kernel="rbf", gamma=2.0).fit(X, y)
    >>> display = ConvergenceDisplay.from_estimator(model)
    >>> int(display.actives[0][-1]) == model.n_relevant_
    True
    >>> plt.close(display.figure_)
    """

    objectives: Sequence[Array]
    actives: Sequence[Array]
    names: Sequence[str]
    title: str = ""

    _size = (6.0, 5.0)  # inches

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Read ``history_`` of a fitted model, and draw it.

        Parameters
        ----------
        estimator : estimator of laconism, or Pipeline ending in one
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : ConvergenceDisplay
        """
        model = last_step(estimator)
        need(bool(getattr(model, "history_", None)), cls, "a model with a history_", model)
        history = by_output(model.history_)
        display = cls(
            [np.array([record.objective for record in records]) for records in history],
            [np.array([record.active for record in records]) for records in history],
            names_of_outputs(model, history),
            "converged" if model.status_.converged else "not converged",
        )
        return display.plot(ax=ax)

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
