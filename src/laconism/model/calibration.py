"""Calibration of models that select columns, by fits without each of five parts of the rows.

The formulas of leave-one-out hold for given columns. Where columns are selected from many, all rows took
part in the selection, and only fits that repeat it show what the model knows of a new row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from .._protocols import Array, Index
from ..judging.calibrate import fit_scale_and_shift, press_noise
from ..judging.duplicates import merge_duplicates
from ..judging.folds import latents_without_parts
from .output import Fit
from .tasks import FitData


class LeftOutLatents(NamedTuple):
    """Rows with mean and variance of each output's latent, by fits without their part of the rows."""

    data: FitData
    latents: Array  # of shape (n_outputs, 2, n_rows)


def left_out_latents(model: Any, data: FitData, max_rows: int = 5_000) -> LeftOutLatents | None:
    """Return left-out latents of fits with the settings of a model; None for more than ``max_rows``.

    A model of many rows knows itself well, and five more fits take long. Rows are left out only where
    both classes of every output remain.
    """
    source, X, weight, targets, _ = merge_duplicates(data.X, data.weight, data.targets)
    order = np.argsort(weight, kind="stable")  # where the folds do not tell rows apart
    source, data = source[order], FitData(X, weight, targets, data.likelihood).on(order)
    if not 2 <= source.size <= max_rows:
        return None
    predicted = np.zeros(source.size, dtype=bool)

    def predict_without(kept: Index, out: Index) -> Array:
        seen, new = data.on(kept), data.X[out]
        if model._task.classifies and any(np.ptp(y) == 0 for y in seen.targets):
            return np.zeros((len(seen.targets), 2, out.size))
        predicted[out] = True
        part = clone(model).set_params(calibrate=False, callbacks=None)
        if part._precomputed:  # its columns are rows too
            columns = model._rows[source[kept]]
            seen, new = seen._replace(X=seen.X[:, columns]), new[:, columns]
        part.n_features_in_, part._rows = seen.X.shape[1], np.arange(kept.size)
        part._fit_rows(seen)
        m, v = part._latents_at(new)
        return np.stack([m.T, v.T], axis=1)

    latents = latents_without_parts(data.X, data.targets, predict_without)
    if not predicted.any():
        return None
    return LeftOutLatents(data._replace(weight=np.where(predicted, data.weight, 0.0)), latents)


def calibrate_labels(model: Any, data: FitData, fits: Sequence[Fit]) -> list[Fit]:
    """Return fits whose latents are scaled and shifted so that left-out labels are most probable."""
    left_out = left_out_latents(model, data)
    if left_out is None:
        return list(fits)
    rows, latents = left_out
    calibrated = []
    for fit, y, (m, v) in zip(fits, rows.targets, latents, strict=True):
        posterior, free = fit.posterior, fit.posterior.spread > 0
        b = posterior.intercept
        s, shift = fit_scale_and_shift(y, m, v, rows.weight, data.likelihood, b, free_intercept=free)
        posterior = replace(posterior, mean=s * posterior.mean, intercept=s * b + shift)
        calibrated.append(replace(fit, posterior=posterior))
    return calibrated


def calibrate_noise(model: Any, data: FitData, noise: float) -> float:
    """Return the noise variance under which left-out residuals have their expected size.

    It is at least ``noise``; one that is fixed stays.
    """
    likelihood: Any = data.likelihood
    left_out = left_out_latents(model, data) if likelihood.estimate else None
    if left_out is None:
        return noise
    rows, ((m, v),) = left_out
    return press_noise(rows.targets[0] - m, v, rows.weight, noise)
