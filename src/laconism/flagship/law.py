"""The law of candidates: a left-out log density is that of a refit without the row."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._protocols import Array
from ..likelihoods import Probit
from ..model.tasks import FitData
from .build_path import build_paths
from .candidate import Fits
from .rows import TrainingRows
from .settings import Settings
from .sparse_prior import fit_sparse
from .tasks import REFERENCE_NOISES, projection_task


def _demand(holds: bool, candidate: Any, sentence: str) -> None:
    if not holds:
        raise AssertionError(f"{candidate.name}: {sentence}.")


def check_candidate(
    candidate: Any,
    X: Array,
    y: Array,
    n_refits: int | None = None,
    *,
    slack: float = 0.02,
    rounding: float = 1e-6,
) -> float:
    """Check the left-out log density of a candidate of the flagship.

    It must not depend on the order of rows and columns, weight 2 must equal a repeated row, and rows
    that are all there twice must not have a higher score. Refits without a row are the reference: the
    score must not be better than theirs by more than ``slack``, beyond chance.

    Parameters
    ----------
    candidate : Candidate
        One of :func:`laconism.flagship.candidates.candidates_for`, or an object with its ``name`` and
        ``fit``.
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
        Labels -1.0 and 1.0, or values.
    n_refits : int, optional
        Number of rows that are left out by refitting; by default all.
    slack : float, default=0.02
        How much better than refits the score may be, in nats per row.
    rounding : float, default=1e-6
        How much the order of the rows may change it, in nats.

    Returns
    -------
    float
        Mean difference of its score and the refits, in nats per row. NaN if it does not apply.
    """
    n, weight = len(y), np.ones(len(y))
    fits = candidate_fits(X, y, weight)
    whole = candidate.fit(fits, None)
    if whole is None:
        return float("nan")
    score = whole.log_density
    _demand(
        score.shape == (n,), candidate, f"log_density must have one number per row, got {score.shape}"
    )
    backwards = candidate.fit(candidate_fits(X[::-1, ::-1], y[::-1], weight), None)
    moved = _distance(backwards, whole)
    _demand(moved <= rounding, candidate, f"another order of rows and columns moves it by {moved:.1e}")
    X, y = fits.rows.X, fits.rows.targets[0]  # distinct rows, sorted
    again, twice = np.append(np.arange(n), 0), weight + (np.arange(n) == 0)
    heavy, repeated = (
        candidate.fit(candidate_fits(X[rows], y[rows], weights), None)
        for rows, weights in ((np.arange(n), twice), (again, np.ones(n + 1)))
    )
    moved = _distance(repeated, heavy)
    _demand(moved <= rounding, candidate, f"a repeated row and weight 2 differ by {moved:.1e}")
    doubled = candidate.fit(candidate_fits(np.vstack([X, X]), np.append(y, y), np.ones(2 * n)), None)
    inflated = 0.0 if doubled is None else float(doubled.log_density.mean() - score.mean())
    _demand(
        inflated <= slack,
        candidate,
        f"rows that are there twice raise the score by {inflated:.3f} nats",
    )
    gains = []
    for row in np.linspace(0, n - 1, n_refits or n).astype(int):
        rest = np.delete(np.arange(n), row)
        refit = candidate.fit(candidate_fits(X[rest], y[rest], weight[rest]), None)
        if refit is not None:  # without the row it may not apply
            gains.append(score[row] - _predictive(refit, X[[row]], y[[row]])[0])
    better = float(np.mean(gains))
    chance = 3 * float(np.std(gains)) / np.sqrt(len(gains))
    excess = better - slack - chance
    _demand(excess <= 0, candidate, f"the score is {better:.3f} nats a row better than refits")
    return better


def _distance(one: Any, other: Any) -> float:
    """Return the largest difference of scores; a candidate may apply to both fits or to none."""
    if one is None or other is None:
        return 0.0 if one is other else np.inf
    return float(np.abs(one.log_density - other.log_density).max())


def _predictive(refit: Any, X: Array, y: Array) -> Array:
    """Return the log density of new rows under a fitted candidate, projected if its size is limited."""
    fitted, task = refit.fitted, refit.fitted.rows.task
    latents = [reference.latent(X) for reference in fitted.references]
    if refit.max_columns is not None and refit.max_columns < X.shape[1]:
        path = build_paths(refit, 0.0, tolerance=1e-9, max_columns=None, n_jobs=None)[0]
        step = path.largest_within(refit.max_columns)
        index, posterior = path.columns[step], path.posteriors[step][0]
        latents = [posterior.latent(X[:, index] - fitted.built.centre[index])]
    return np.asarray(task.left_out_log_density(fitted.with_left_out(latents).references, [y], 0.0))


def candidate_fits(X: Array, y: Array, weight: Array) -> Any:
    """Return the rows that :func:`check_candidate` fits candidates to, with default settings."""
    labels = np.isin(y, (-1.0, 1.0)).all()
    likelihood: Any = Probit() if labels else REFERENCE_NOISES["gaussian"]()
    data = FitData(X, weight, [y], likelihood)
    rows, _ = TrainingRows.of(data, projection_task(data), intercept=True)
    return Fits(rows, Settings(), fit_sparse)
