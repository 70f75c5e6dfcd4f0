"""A path of priors at one width, on one fold or on all rows, with one shared design."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from .._protocols import Index
from ..judging.race import Fold
from ..judging.row_scores import ScoreRows
from ..judging.trials import Data, FoldResult
from ..model.tasks import FitData
from ..priors import GeneralizedGaussian
from ..solvers import Proximal
from .candidates import SparseCandidate
from .design import PreparedDesign, prepare_design
from .evidence import evidence_as_score

# Tolerance of a candidate's fit, far below the differences between folds.
_TOL_NATS_PER_ROW = 1e-4
# The lasso without the certificate of its exact solver, which candidates do not need.
_LASSO = Proximal(certify=False)


@dataclass(frozen=True)
class TryPath:
    """Fit the candidates of one width on one fold, and score them on the left-out rows.

    Without a score they are scored by their evidence on the fitted rows.
    """

    template: Any
    data: Data
    score: ScoreRows | None = None

    def __call__(self, path: Sequence[SparseCandidate], fold: Fold) -> list[FoldResult | None]:
        """Return the results of the candidates that run; each starts from the solution before it."""
        began = time.perf_counter()
        template = clone(self.template)
        if path[0].gamma is not None:
            template.set_params(gamma=path[0].gamma)
        held_in, held_out = _split(template, self.data, *fold)
        tol = max(template.tol, _TOL_NATS_PER_ROW)
        model: Any = clone(template).set_params(warm_start=True, tol=tol)
        # The design of the template's own prior, the lasso, is exact enough for denser ones.
        fit_data = model._fit_data(*held_in)
        prepared = prepare_design(model, fit_data)
        found: list[FoldResult | None] = [None] * len(path)
        last = max(place for place, candidate in enumerate(path) if candidate.runs)
        for place, candidate in enumerate(path[: last + 1]):
            if not (candidate.runs or candidate.starts_others):
                continue
            _solve(model, fit_data, prepared, candidate.prior, candidate.first_scales)
            if not candidate.runs:
                continue
            scales = tuple(each.scale for each in model.priors_) if candidate.prior.learns else ()
            fitted = time.perf_counter()
            if self.score is None:
                scores = evidence_as_score(model, fit_data, prepared)
            else:
                scores = self.score(model, *held_out)
            now = time.perf_counter()
            found[place] = FoldResult(scores, model.n_relevant_, fitted - began, now - fitted, scales)
            began = now
        return found


def _solve(
    model: Any,
    fit_data: FitData,
    prepared: PreparedDesign,
    prior: GeneralizedGaussian,
    scales: Sequence[float],
) -> None:
    model.prior = prior
    model.solver = _LASSO if prior.is_l1 else "auto"
    with warnings.catch_warnings():  # a candidate need not converge to be scored
        warnings.simplefilter("ignore", ConvergenceWarning)
        model._fit_rows(fit_data, prepared, scales)


def _split(template: Any, data: Data, train: Index, test: Index) -> tuple[Data, Data]:
    """Return the rows to fit and those to predict; a precomputed kernel has its columns split too."""
    held_in, held_out = data.rows(train), data.rows(test)
    if template._precomputed:
        held_in = held_in._replace(X=held_in.X[:, train])
        held_out = held_out._replace(X=held_out.X[:, train])
    return held_in, held_out
