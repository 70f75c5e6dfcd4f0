"""The prior variance that a regression on few kernels adds where those kernels vanish."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .._protocols import Array, Index
from ..judging.ablate import is_on
from ..likelihoods import Binary
from ..model.far_variance import kernel_triangle, relative_residual
from ..posterior import GaussianPosterior
from .path import Path, evaluation_rows
from .reference_features import KernelMap

if TYPE_CHECKING:
    from .references import FittedReferences

# Powers to choose from. Power one is the residual of the prior; the largest adds variance only far from
# all kernels.
_VARIANCE_POWERS = 2.0 ** np.arange(0, 8.5, 0.5)
# The power is chosen on at most this many rows.
_MAX_VARIANCE_ROWS = 1_000
# Mean squared errors of a log variance that count as ties: half a percent of a standard deviation.
_TIE_SQUARED_LOG = 1e-4
# The largest increase of that error at the training rows: five percent of a standard deviation.
_MAX_SQUARED_LOG = 1e-2


def with_prior_variance(path: Path, fitted: FittedReferences) -> Path:
    """Return the path of a regression with the variance that it adds far from its kernels.

    The power is the one for which the log predictive variances are closest to the leave-one-out log
    variances of the reference; of ties, the lowest. It is infinite, and nothing is added, if the kernels
    are too few to cover the training rows. There are no powers (None) without a Gaussian process.
    """
    reference, weight, built = path.references[0], fitted.rows.weight, fitted.built
    if isinstance(reference.likelihood, Binary) or not is_on("far_variance"):
        return path
    rows = evaluation_rows(reference.m, _MAX_VARIANCE_ROWS)
    columns, posteriors = path.columns, [each[0] for each in path.posteriors]
    features = reference.feature_map
    if not isinstance(features, KernelMap) or features.rotation is not None:
        return path
    basis, unit = cast(Any, built.basis), reference.weight_variance
    used = np.unique(np.concatenate(columns))
    Phi = built.design.keep(used).rows(rows).matvec(np.eye(used.size))
    few, centre = basis.keep(used), built.centre[used]
    K = np.asarray(few.columns(few.centres), dtype=np.float64)
    at_rows = np.asarray(basis.kernel.diag(fitted.rows.X[rows]), dtype=np.float64)
    noise: Any = reference.likelihood
    share = weight[rows] / weight[rows].sum()
    target = np.log(noise.variance + reference.left_out_v[rows])

    def error(v: Array) -> float:
        return float(share @ (np.log(noise.variance + v) - target) ** 2)

    def power(index: Index, posterior: GaussianPosterior) -> float:
        at = np.searchsorted(used, index)
        v = posterior.latent(Phi[:, at])[1]
        own = K[np.ix_(at, at)]
        relative = at_rows / (float(own.diagonal().max(initial=0.0)) or 1.0)
        e = relative_residual(kernel_triangle(own), Phi[:, at] + centre[at], relative)
        errors = np.array([error(v + unit * at_rows * e**each) for each in _VARIANCE_POWERS])
        if errors.min() > error(v) + _MAX_SQUARED_LOG:
            return np.inf
        return float(_VARIANCE_POWERS[np.argmax(errors <= errors.min() + _TIE_SQUARED_LOG)])

    powers = np.array([power(*model) for model in zip(columns, posteriors, strict=True)])
    return replace(path, weight_variance=unit, variance_powers=powers)
