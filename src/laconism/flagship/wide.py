"""Features that are many for their rows: sparse references beside the dense one, and unseen rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._protocols import Array, Index, Likelihood
from ..design import DenseDesign
from ..judging.calibrate import fit_mean_scale, fit_scale_and_shift, left_out_noise
from ..judging.folds import N_TENTHS, tenths
from ..judging.left_out import cross_validated
from ..laplace.mode import Mode, find_mode
from ..likelihoods import Binary
from ..linalg import as_dense
from ..model.callbacks import Reporter
from ..model.fit_output import fit_output
from ..posterior import GaussianPosterior
from ..priors import GeneralizedGaussian, Jeffreys, Prior
from ..solvers import Problem, choose_solver
from ..solvers.learnt_scale import Start
from .projection import ShrinkagePenalty
from .reference import FeatureMap, KernelMap, Reference

# With more rows than so many for each feature a dense model knows all weights well enough.
_ROWS_A_FEATURE = 4
# Rows that are few, and numbers of theirs that are not too many to be written out.
_FEW, _MOST_NUMBERS = 600, 20_000_000
# From many small weights to few large ones; none is the best everywhere.
_SPARSE: tuple[Prior, ...] = (Jeffreys(1.0), Jeffreys())
# Of classes only: the evidence of values has no noise where columns outnumber rows, and keeps them all.
_MANY: tuple[Prior, ...] = (GeneralizedGaussian(q=1.0),)
# What it has to gain to be taken, in standard errors: of several that are compared one is lucky.
_CLEARLY = 1.0
# The most that unseen rows count: those that were seen count too.
_MOST = 0.99
# How exact a sparse model has to be.
_MAX_ITER = 1000
_TOL = 1e-6


def is_wide(n_rows: int, n_features: int) -> bool:
    """Whether there are so few rows that a sparse reference may be better than a dense one."""
    return n_features * _ROWS_A_FEATURE > n_rows >= N_TENTHS


def can_refit_folds(n_rows: int, n_features: int) -> bool:
    """Whether rows are so few, and not only for their features, that they can be left out for good."""
    small = n_rows <= _FEW and n_rows * n_features <= _MOST_NUMBERS
    return is_wide(n_rows, n_features) and small


def needs_moment_matching(likelihood: Likelihood, n_rows: int, n_features: int) -> bool:
    """Whether labels are so few for their features that Laplace's approximation fails them."""
    return isinstance(likelihood, Binary) and n_features > n_rows and can_refit_folds(n_rows, n_features)


def calibrated(reference: Reference, problem: Problem, n_features: int, *, alone: bool) -> Reference:
    """Return the reference of labels as sure of itself as rows left out say that it should be."""
    on_features = isinstance(reference.coordinates, FeatureMap)
    if on_features and needs_moment_matching(problem.likelihood, problem.y.size, n_features):
        scale, shift = fit_scale_and_shift(
            *_left_out_rows(reference, problem),
            reference.posterior.intercept,
            free_intercept=problem.intercept,
            dense=reference.multiple is not None,
        )
        return reference.stretched(scale, shift)
    # Of several answers one coupling of all does it, with less to learn.
    return (
        reference.stretched(fit_mean_scale(*_left_out_rows(reference, problem))) if alone else reference
    )


def _left_out_rows(
    reference: Reference, problem: Problem
) -> tuple[Array, Array, Array, Array, Likelihood]:
    """Return targets, left-out means and variances, weights and likelihood: what calibration needs."""
    return problem.y, reference.left_m, reference.left_v, problem.weight, reference.likelihood


def exceeds_errors(gained: Array, weight: Array, errors: float = _CLEARLY) -> bool:
    """Whether the rows gain more than so many standard errors, or it may be chance."""
    total = float(weight.sum())
    mean = float(weight @ gained) / total
    deviation = np.sqrt(float(weight @ (gained - mean) ** 2) / total)
    return bool(mean * np.sqrt(total) > errors * deviation)


def shrinkage(Z: Array, share: Array, rows: float) -> float:
    r"""Return how far the covariance of standardised features has to be shrunk to the diagonal.

    The part :math:`\lambda` that makes :math:`(1 - \lambda)S + \lambda I` come closest to the truth in
    the mean square, after Ledoit and Wolf [LW04]_.

    References
    ----------
    .. [LW04] O. Ledoit, M. Wolf, A well-conditioned estimator for large-dimensional covariance matrices,
       Journal of Multivariate Analysis 88 (2004).
    """
    half = np.sqrt(share)[:, None] * Z
    lengths = np.einsum("ij,ij->i", Z, Z)
    varying = float(share @ lengths)  # each feature that varies adds a one
    square = float(((half @ half.T) ** 2).sum())
    apart = square - varying
    noise = (float(share @ lengths**2) - square) / rows
    return min(noise / apart, _MOST) if apart > 0 else _MOST


def unseen_rows(
    reference: Reference, problem: Problem, r: Array, n_features: int
) -> tuple[ShrinkagePenalty | None, float]:
    """Return what rows that are not there ask of the features' weights, and the part that they count.

    Parameters
    ----------
    reference : Reference
        A dense one of more features than rows has weights that its rows do not know; so has a sparse one
        of labels, with nearly as many features as rows.
    problem : Problem
        In its coordinates.
    r : ndarray of shape (n,)
        Precision with which the latent counts at each row.
    n_features : int
        All that there are.
    """
    features = reference.coordinates
    if not isinstance(features, FeatureMap):
        return None, 0.0
    of_labels = features.source is not None and isinstance(reference.likelihood, Binary)
    if features.turn is None and not of_labels:
        return None, 0.0
    total = float(problem.weight.sum())
    # Turned coordinates have the lengths and products of the standardised rows.
    Z = problem.design.matvec(np.eye(problem.design.shape[1]))
    part = shrinkage(Z, problem.weight / total, total)
    scale, turn = features.in_all(n_features)
    unit = np.where(scale > 0, 1 / np.where(scale > 0, scale, 1.0), 0.0)
    return ShrinkagePenalty(part * float(r.sum()) * unit**2, turn @ reference.posterior.mean, turn), part


def sparse_references(coordinates: FeatureMap, problem: Problem, Z: Array) -> Iterator[Reference]:
    """Yield a reference for every sparse prior, with rows left out for good.

    What is left out of a sparse model changes what it is made of, so no formula leaves it out: a tenth
    of the rows at a time is.

    Parameters
    ----------
    coordinates : FeatureMap
        Of all features, standardised, without a turn.
    problem : Problem
        On those.
    Z : ndarray of shape (n, p)
        Its design.
    """
    n = problem.y.size
    folds = list(tenths(Z, problem.y))
    many = _MANY if isinstance(problem.likelihood, Binary) else ()
    for prior in (*many, *_SPARSE):
        index, mode = _fit_sparse(problem, prior)

        def predict_without(stay: Index, out: Index, prior: Prior = prior) -> tuple[Array, Array]:
            kept, without = _fit_sparse(problem.rows(stay), prior)
            posterior = GaussianPosterior.from_ridge(without.posterior)
            return posterior.latent(Z[np.ix_(out, kept)])

        m, v = cross_validated(folds, n, predict_without, (2,))
        likelihood = left_out_noise(problem.y, m, v, problem.weight, mode.likelihood)
        reference = Reference.of(coordinates.keep(index), mode)
        yield replace(reference, left_m=m, left_v=v, likelihood=likelihood)


def left_out_by_folds(
    references: Sequence[Reference],
    problems: Sequence[Problem],
    X: Any,
    map_of: Callable[[Index], KernelMap | FeatureMap],
) -> list[Reference]:
    """Return references with rows left out for good: their kernel knows them, and no formula does.

    Parameters
    ----------
    references : sequence of Reference
        One for each output.
    problems : sequence of Problem
        In their coordinates.
    X : array of shape (n, p)
        The rows.
    map_of : callable
        The coordinates that some of the rows alone would have led to.
    """

    def predict_without(stay: Index, out: Index) -> list[tuple[Array, Array]]:
        coordinates = map_of(stay)
        design = DenseDesign(np.ascontiguousarray(coordinates.columns(X[stay])))
        latents = []
        for reference, problem in zip(references, problems, strict=True):
            part = replace(problem.rows(stay), design=design.share())
            without = Reference.fit(coordinates, part, float(reference.multiple or 0.0))
            latents.append(without.latent(X[out]))
        return latents

    folds = tenths(as_dense(X), problems[0].y)
    left = cross_validated(folds, X.shape[0], predict_without, (len(references), 2))
    return [
        replace(reference, left_m=m, left_v=v)
        for reference, (m, v) in zip(references, left, strict=True)
    ]


def _fit_sparse(problem: Problem, prior: Prior) -> tuple[Index, Mode]:
    """Return the columns that are kept under a prior, and their mode."""
    labels = isinstance(problem.likelihood, Binary)
    bound = prior.bind(problem.design.shape[1], kernel=False, labels=labels)
    fit = fit_output(
        replace(problem, design=problem.design.share(), prior=bound),
        choose_solver("auto", bound),
        Start(),
        prior,
        max_iter=_MAX_ITER,
        tol=_TOL,
        report=Reporter((), 0, None, None),
        always_intercept=problem.intercept,
    )
    w, b = fit.posterior.mean, fit.posterior.intercept
    few = replace(problem, design=DenseDesign(problem.design.keep(fit.active).matvec(np.eye(w.size))))
    # The Gaussians that touch the prior at its weights have their mode there too.
    return fit.active, find_mode(few, 1 / fit.variance, fit.likelihood, w, b)
