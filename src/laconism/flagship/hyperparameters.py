"""The hyper-parameters of a reference: kernel family, width, precision, prior and feature weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._protocols import Array, Index, Likelihood
from ..likelihoods import Binary
from ..model.tasks import FitData
from .choice import Choice
from .feature_weights import (
    cross_fit_feature_weights,
    gradient_feature_weights,
    maximise_evidence,
)
from .kernel_family import KernelFamily, ReferenceFeatures
from .rules import OTHER_FAMILY, WEIGHT_SPACE_PRIOR
from .score_grid import FIRST_POINT, HIGHEST, LOWEST, RESTART_WIDTHS, GridPoint, precision_at
from .search import CrossFit, HyperparameterSearch, search_rows
from .wide import can_refit_folds, needs_moment_matching


class _Best(NamedTuple):
    """The best search so far, and its best point."""

    search: HyperparameterSearch
    point: GridPoint


def choose(
    features: ReferenceFeatures,
    data: FitData,
    *,
    intercept: bool,
    weigh: bool,
    leave_whole_rows: bool = False,
    any_kernel: bool = False,
) -> Choice:
    """Choose the hyper-parameters of a reference by its leave-one-out log density and its evidence.

    Parameters
    ----------
    features : ReferenceFeatures
        The kernel family, or the features themselves.
    data : FitData
        Rows, row weights, targets of each output and their likelihood.
    intercept : bool
        Whether there is a free intercept.
    weigh : bool
        Whether features may have different weights.
    leave_whole_rows : bool
        Whether a row with a weight above one is left out as a whole.
    any_kernel : bool
        Whether another kernel family may be taken.

    Returns
    -------
    Choice
    """
    n_rows = data.X.shape[0]
    few, more = search_rows(data.X, len(data.targets))
    whole = _search_on_all(features, data, intercept, leave_whole_rows, few.size)
    best = _coarse_search(whole.on_rows(few))
    if features.family is None:
        search, point = best
        latents = search.latents_in_order(point, few, n_rows)
        precision = precision_at(point)
        return Choice(0.0, whole.theta, precision, False, latents, features, moments=search.moments)
    best = _try_other_family(best, data, any_kernel)
    whole = replace(whole, features=best.search.features)
    if not best.search.weight_space_prior and len(data.targets) == 1:
        best = try_weight_space_prior(best)
    theta_of = None
    if weigh and whole.widths and best.search.features.family.radial:
        best, theta_of, crossed = _try_feature_weights(best, whole)
        if crossed is not None:
            return _choice_by_halves(crossed, best, theta_of)
    best = _try_coupled_score(best)
    rows = few
    if more.size > few.size:  # the more rows, the narrower the best kernel
        best, rows = _refine_on_more_rows(best, whole, more), more
    search, point = best
    width, precision = search.parabolic_refine(point)
    return Choice(
        width,
        search.theta,
        precision_at((width, precision)),
        search.weight_space_prior,
        search.latents_in_order(point, rows, n_rows),
        search.features,
        theta_of,
    )


def _search_on_all(
    features: ReferenceFeatures,
    data: FitData,
    intercept: bool,
    leave_whole_rows: bool,
    n_searched: int,
) -> HyperparameterSearch:
    """Return the search on all rows, from which searches on some rows are derived."""
    X, likelihood = data.X, data.likelihood
    family = features.family
    return HyperparameterSearch(
        features,
        family is not None and family.gamma is None,
        X,
        data.targets,
        data.weight,
        likelihood,
        intercept,
        np.ones(X.shape[1]),
        leave_whole_rows=leave_whole_rows,
        moments=family is None and needs_moment_matching(likelihood, *X.shape),
        evidence_weights=maximise_evidence(data.targets, likelihood, n_searched, X.shape[1]),
    )


def _coarse_search(search: HyperparameterSearch) -> _Best:
    """Return the best point of the grid; an indefinite kernel allows the weight-space prior only."""
    family = search.features.family
    if family is not None and not family.positive:
        search = search.with_weight_space_prior()
    return _Best(search, search.coordinate_ascent(FIRST_POINT, RESTART_WIDTHS))


def _try_other_family(best: _Best, data: FitData, any_kernel: bool) -> _Best:
    """Return the search under another kernel family if that is clearly better."""
    search, point = best
    family = _other_family(search.features, data.X, data.weight, data.likelihood, any_kernel)
    if family is None:
        return best
    other = search.with_kernels_of(replace(search.features, family=family))
    there = other.coordinate_ascent(point)
    rule = OTHER_FAMILY.times(len(search.targets))
    better = rule.prefers_total(other.score(there) - search.score(point))
    return _Best(other, there) if better else best


def _other_family(
    features: ReferenceFeatures, X: Any, weight: Array, likelihood: Likelihood, any_kernel: bool
) -> KernelFamily | None:
    """Return the kernel family that competes with the present one.

    For labels it has squashed features, if some features have long tails. For values it is the Matern
    family, since a smooth kernel overshoots at steps and corners. Matern kernel matrices have full rank,
    so there must not be more rows than the largest rank.
    """
    family: Any = features.family
    if isinstance(likelihood, Binary):
        return family.squashed(X, weight)  # type: ignore[no-any-return]
    return family.matern() if any_kernel and X.shape[0] <= features.max_rank else None


def try_weight_space_prior(best: _Best) -> _Best:
    """Return the search under the weight-space prior if that is clearly better."""
    search, point = best
    other = search.with_weight_space_prior()
    # For the same latent, kernels are narrower and weights larger under this prior.
    near = other.best_precision((min(point[0] + 1, HIGHEST[0]), max(point[1] - 1, LOWEST[1])))
    if WEIGHT_SPACE_PRIOR.prefers_total(search.score(point) - other.score(near)):
        return best
    there = other.coordinate_ascent(near)
    rule = WEIGHT_SPACE_PRIOR.times(len(search.targets))
    better = rule.prefers_total(other.score(there) - search.score(point))
    return _Best(other, there) if better else best


def _try_feature_weights(
    best: _Best, whole: HyperparameterSearch
) -> tuple[_Best, Callable[[Index], Array] | None, CrossFit | None]:
    """Return the search under feature weights, if those clearly help.

    If rows are few for their features, the weights depend on every row. Then cross-validation has to
    learn them again without the left-out rows, by the function that is returned second. Two classes are
    then searched on the two halves, which are returned last.
    """
    search, point = best
    unit = search.features.family.unit
    crossed = cross_fit_feature_weights(search, point, unit)
    if crossed is None:
        return best, None, None
    weighed, one_output = (
        search.with_feature_weights(gradient_feature_weights(search, point, unit)),
        len(search.targets) == 1,
    )
    theta_of = None
    if can_refit_folds(*whole.X.shape):
        on_rows = replace(whole, weight_space_prior=weighed.weight_space_prior).on_rows
        theta_of = partial(_feature_weights_on, on_rows, point, unit)
        if one_output and isinstance(whole.likelihood, Binary):
            return _Best(weighed, point), theta_of, crossed
    if one_output:  # several are searched again under the coupled score
        point = weighed.coordinate_ascent(point)
    return _Best(weighed, point), theta_of, None


def _choice_by_halves(
    crossed: CrossFit, best: _Best, theta_of: Callable[[Index], Array] | None
) -> Choice:
    """Return the choice for two classes whose feature weights depend on every row.

    The leave-one-out log density of rows that were used to learn the weights is too optimistic and
    favours kernels that are too narrow. So each half is predicted under the weights of the other. This
    is not needed in regression, where the evidence estimates the noise; with several classes half of the
    rows are too few.
    """
    search = best.search
    width, precision = crossed.parabolic_refine(crossed.coordinate_ascent(best.point))
    return Choice(
        width,
        search.theta,
        precision_at((width, precision)),
        search.weight_space_prior,
        [None],
        search.features,
        theta_of,
    )


def _try_coupled_score(best: _Best) -> _Best:
    """Return the search by the coupled probabilities of several outputs, where there are several."""
    search = best.search.with_coupling()
    if not search.coupled:
        return best
    best = _Best(search, search.coordinate_ascent(best.point, RESTART_WIDTHS))
    return best if search.weight_space_prior else try_weight_space_prior(best)


def _refine_on_more_rows(best: _Best, whole: HyperparameterSearch, rows: Index) -> _Best:
    """Return the search on more rows, started at the best point of the search on few."""
    theta, prior = best.search.theta, best.search.weight_space_prior
    search = replace(whole, theta=theta, weight_space_prior=prior).on_rows(rows).with_coupling()
    ascend = search.refine if search.coupled else search.coordinate_ascent
    return _Best(search, ascend(best.point))


def _feature_weights_on(
    search_on: Callable[[Index], HyperparameterSearch], point: GridPoint, unit: Array, rows: Index
) -> Array:
    """Return the feature weights learnt on some rows."""
    return gradient_feature_weights(search_on(rows), point, unit)
