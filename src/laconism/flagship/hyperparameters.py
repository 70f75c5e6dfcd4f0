"""The reference to project: width, precision, prior and weights of features, by rows left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._protocols import Array, Index, Likelihood
from ..judging.rows import canonical_order, evenly_spaced
from ..likelihoods import Binary
from .ard import evidence_feature_weights, has_evidence
from .kernel_family import KernelFamily, ReferenceFeatures
from .reference import CLEAR
from .score_grid import LOOK, START, CrossFit, Point, Search, multiple, smoother
from .wide import can_refit_folds, is_wide, needs_moment_matching

# More rows than this do not change by much what is best: so many at even steps are taken. Of more than
# so many outputs each tells something, and fewer rows do, at the same price.
_MOST_ROWS, _MANY_OUTPUTS = 600, 3
# The end of the search may see so many times as many, if there are at least so many.
_MORE, _WORTH = 4, 2
# Fewer rows than this do not tell which features matter more; and they have to tell it so clearly, in
# standard errors of what is gained.
_FEWEST_ROWS, _CLEARLY = 100, 2.0


class Choice(NamedTuple):
    """What rows left out say of the reference."""

    width: float  # a power of two
    theta: Array  # weights of the features
    multiple: float  # the precision, in the units of fit_shared
    smooth: bool  # whether the prior is that of weights on all kernels
    latents: list[Array | None]  # near which those of the outputs are, if all rows were looked at
    coordinates: ReferenceFeatures  # of features as they are, or squashed
    # What other rows would have made of the weights of features, if that matters.
    theta_of: Callable[[Index], Array] | None = None
    moments: bool = False  # whether labels are matched in their moments


def choose(
    coordinates: ReferenceFeatures,
    X: Any,
    targets: Sequence[Array],
    weight: Array,
    likelihood: Likelihood,
    *,
    intercept: bool,
    weigh: bool,
    leave_whole_rows: bool = False,
    any_kernel: bool = False,
) -> Choice:
    """Settle the reference by how well it predicts rows left out.

    Parameters
    ----------
    coordinates : Coordinates
        The kernels, or the features, that there are.
    X, targets, weight : rows, a target of theirs for each output, and what each row counts
    likelihood : Likelihood
    intercept : bool
        Whether there is a free intercept.
    weigh : bool
        Whether features may weigh differently.
    whole_rows : bool
        Whether a row that counts for several is left out as a whole.
    any_kernel : bool
        Whether another kernel may take the place of the one that there is.

    Returns
    -------
    Choice
    """
    family, (few, more) = coordinates.family, search_rows(X, len(targets))
    searched = family is not None and family.gamma is None
    alike = np.ones(X.shape[1])
    everywhere = Search(
        coordinates,
        searched,
        X,
        targets,
        weight,
        likelihood,
        intercept,
        alike,
        leave_whole_rows=leave_whole_rows,
        moments=family is None and needs_moment_matching(likelihood, *X.shape),
        evidence_weights=not is_wide(few.size, X.shape[1]) and has_evidence(targets, likelihood),
    )
    search, rows = everywhere.on(few), few
    if family is not None and not family.positive:
        search = search.smoothed()  # no process has such a covariance
    point = search.coordinate_ascent(START, LOOK)
    if family is None:
        latents = search.everywhere(point, rows, X.shape[0])
        precise, moments = multiple(point), search.moments
        return Choice(0.0, alike, precise, False, latents, coordinates, moments=moments)
    other = _other_family(coordinates, X, weight, likelihood, any_kernel)
    if other is not None:
        seen = search.seeing(replace(coordinates, family=other))
        search, point = clearly_better(seen, search, point)
        everywhere = replace(everywhere, coordinates=search.coordinates)
        family = other if search is seen else family
    if not search.smooth and len(targets) == 1:
        search, point = smoother(search, point)
    theta_of = None
    if searched and family.radial and weigh:
        crossed = weigh_features(search, point, family.unit)
        if crossed is not None:
            at, unit = point, family.unit
            search = search.weighing(gradient_feature_weights(search, at, unit))
            if can_refit_folds(*X.shape):
                on = replace(everywhere, smooth=search.smooth).on
                theta_of = partial(_weights_of, on, at, unit)
                if len(targets) == 1 and isinstance(likelihood, Binary):
                    return _by_halves(crossed, search, at, theta_of)
            if len(targets) == 1:  # or else the next climb finds it
                point = search.coordinate_ascent(point)
    search = search.together()
    if search.coupled:
        point = search.coordinate_ascent(point, LOOK)
        if not search.smooth:
            search, point = smoother(search, point)
    if more.size > few.size:  # the more rows, the narrower the best kernel
        everywhere = replace(everywhere, theta=search.theta, smooth=search.smooth)
        search, rows = everywhere.on(more).together(), more
        point = search.refine(point) if search.coupled else search.coordinate_ascent(point)
    width, precision = search.parabolic_refine(point)
    latents = search.everywhere(point, rows, X.shape[0])
    precise = multiple((width, precision))
    return Choice(width, search.theta, precise, search.smooth, latents, search.coordinates, theta_of)


def _other_family(
    coordinates: ReferenceFeatures, X: Any, weight: Array, likelihood: Likelihood, any_kernel: bool
) -> KernelFamily | None:
    """Return kernels that may be better than those that there are: what goes wrong differs by target.

    Labels suffer from features with long tails. Values suffer from steps and corners, where the process
    of a smooth kernel overshoots. A rough kernel has no low rank, so rows must be few enough for all.
    """
    family: Any = coordinates.family
    if isinstance(likelihood, Binary):
        return family.squashed(X, weight)  # type: ignore[no-any-return]
    return family.rough() if any_kernel and X.shape[0] <= coordinates.max_rank else None


def clearly_better(other: Search, search: Search, point: Point) -> tuple[Search, Point]:
    """Return another search and its best point if that is clearly better than this one."""
    best, clear = other.coordinate_ascent(point), CLEAR * len(search.targets)
    return (other, best) if other.score(best) > search.score(point) + clear else (search, point)


def _by_halves(
    crossed: CrossFit, search: Search, point: Point, theta_of: Callable[[Index], Array]
) -> Choice:
    """Return the choice for two classes where features are so many that their weights know the rows.

    Rows that had a say in them are predicted too well when they are left out, under kernels that are too
    narrow. So the two halves choose, each under the weights that the other one asks for. In a regression
    the evidence knows the noise, and of several classes half of the rows are too few: they would make
    the kernels too wide.
    """
    point = crossed.coordinate_ascent(point)
    width, precision = crossed.parabolic_refine(point)
    precise, seen = multiple((width, precision)), search.coordinates
    return Choice(width, search.theta, precise, search.smooth, [None], seen, theta_of)


def _weights_of(search_on: Callable[[Index], Search], point: Point, unit: Array, rows: Index) -> Array:
    """Return the weights of features that some rows ask for."""
    return gradient_feature_weights(search_on(rows), point, unit)


def search_rows(X: Any, n_outputs: int) -> tuple[Index, Index]:
    """Return rows to search with and rows to end with, in an order that does not depend on theirs."""
    enough = _MOST_ROWS * min(1.0, _MANY_OUTPUTS / n_outputs) ** (1 / 3)
    order = canonical_order(X)
    few = evenly_spaced(order, round(enough))
    worth = X.shape[0] >= _WORTH * few.size
    return few, evenly_spaced(order, round(_MORE * enough)) if worth else few


def gradient_feature_weights(search: Search, point: Point, unit: Array) -> Array:
    r"""Return the weights of features that the latents of a search ask for, on average one.

    :math:`\theta_j \propto \sum_i (\partial f/\partial x_j)^2(x_i)`, in the units of the features: one
    step of a recursive feature machine [R24]_. In a regression with rows enough for its features they
    are where the way to the maximum of the evidence begins.

    References
    ----------
    .. [R24] A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin, Mechanism for feature learning in
       neural networks and backpropagation-free machine learning models, Science 383 (2024).
    """
    varies, steep = unit > 0, search.gradient_energy(point) * unit
    theta = np.asarray(steep / steep[varies].mean()) if steep.any() else varies.astype(float)
    return evidence_feature_weights(search, point, theta) if search.evidence_weights else theta


def weigh_features(search: Search, point: Point, unit: Array) -> CrossFit | None:
    """Return the halves of the rows under each other's weights of features, if those clearly help.

    A feature counts by how steeply the latent rises along it (:func:`gradient_feature_weights`). Its own rows would
    flatter it, so the weights that one half of the rows gives have to make the other half's predictions
    clearly better, both ways.

    Parameters
    ----------
    search : Search
        With the features weighing alike.
    point : (int, int)
        Where its best model is.
    unit : ndarray of shape (p,)
        The squared unit of each feature, zero for one that does not vary.
    """
    if search.X.shape[0] < _FEWEST_ROWS or (unit > 0).sum() < 2:
        return None
    # The width of all rows is close to that of half of them.
    halves = [search.on(np.arange(first, search.X.shape[0], 2)).at_one_width() for first in (0, 1)]
    best = [half.coordinate_ascent(point) for half in halves]
    gained, crossed = np.zeros(0), []
    for k, half in enumerate(halves):
        other = half.weighing(gradient_feature_weights(halves[1 - k], best[1 - k], unit))
        if search.evidence_weights:  # then many may weigh nothing, and the best width is another one
            other = replace(other, widths=search.widths)
        gain = half.weight * (other.left_out(other.coordinate_ascent(best[k])) - half.left_out(best[k]))
        gained = np.append(gained, gain)
        crossed.append(other)
        # What has a closed form is judged by both halves together: one of them may be unlucky.
        clearly = 0.0 if search.evidence_weights and k == 0 else _CLEARLY
        if gained.mean() * np.sqrt(gained.size) <= clearly * gained.std():
            return None
    return CrossFit(crossed, search.widths)
