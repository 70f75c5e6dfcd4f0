"""From validated rows to the joint problem: standardise, screen, draw centres, resolve the rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from .._component import is_name
from .._protocols import Array, Index
from ..basis.rows import distinct_rows
from ..judging.price import extended_bic
from ..judging.rows import canonical_order
from ..kernels import resolve_kernel
from ..linalg import as_dense
from ..model.tasks import FitData
from .problem import JointProblem
from .screen import screen_features, standardise

# All distinct rows are centres up to this many.
_MAX_ROWS_AS_CENTRES = 1000
# Centres that are drawn of more rows.
_N_DRAWN_CENTRES = 300
# The rate of the weights that keeps features of noise out, in units of ``_noise_gradient``.
_NOISE_RATE = 0.4
# The automatic rate of a weight, as a part of the rate that keeps noise out.
_WEIGHT_RATE_SHARE = 0.1
# The automatic rate of a scale.
_AUTO_SCALE_RATE = 2.0


@dataclass(frozen=True)
class PreparedData:
    """The joint problems of a fit, and how their features come from those of ``X``."""

    problems: Sequence[JointProblem]  # one, or one for each class
    X: Array
    centres: Index  # rows of X that may carry a kernel
    trial_order: Index  # of the centres, as they were drawn; trials use the first of them
    features: Index  # of X, that take part
    unit: Array
    origin: Array
    start: Array | None  # scales of the features that take part, if initial_scales gives them

    def at_rates(self, weight_rate: float, scale_rate: Any = "auto") -> Self:
        """Return the same problems with other rates; an automatic rate of the scales is as it was."""
        rates: dict[str, Any] = {"weight_rate": weight_rate}
        if not is_name(scale_rate, "auto"):
            rates["scale_rate"] = float(scale_rate)
        return replace(self, problems=[replace(each, **rates) for each in self.problems])

    def selection_rate(self, share: float = 1.0) -> float:
        """Return the rate of the weights that keeps features of noise out, or a part of it.

        Features that screening left out count too: those that are left are the strongest of all. With
        inner products only the product of both rates matters, since scales are traded for weights: there
        the rate is squared.
        """
        problem = self.problems[0]
        noise = _noise_gradient(problem.weight, self.X.shape[1])
        if problem.on_distances:
            return share * _NOISE_RATE * noise
        return share**2 * _NOISE_RATE * noise**2 * _AUTO_SCALE_RATE / problem.scale_rate

    def selection_rates(self, setting: Any) -> tuple[float, ...]:
        """Return the rates at which to select features, tried in turn until one keeps any.

        Few rows are weak evidence, so the automatic rate falls by a root of two up to three times.
        """
        if setting is None:
            return ()
        if is_name(setting, "auto"):
            return tuple(self.selection_rate(2 ** (-k / 2)) for k in range(4))
        return (float(setting),)

    @property
    def feature_price(self) -> float:
        """The gain in nats for which a feature is kept: the extended Bayesian information criterion."""
        problem = self.problems[0]
        n_rows, n_outputs = float(problem.weight.sum()), len(problem.targets)
        return extended_bic(n_rows, self.X.shape[1], n_outputs)

    def scales(self, theta: Array) -> Array:
        """Return the scales of all features, standardised if the problem is."""
        scales = np.zeros(self.X.shape[1])
        scales[self.features] = theta
        return scales


def prepare(model: Any, data: FitData) -> PreparedData:
    """Return the joint problem of a model's settings, or one for each output without shared features."""
    X, weight, targets, likelihood, _ = data
    X = as_dense(X)
    origin, unit = standardise(X, weight, units=model.standardize)
    features = screen_features((X - origin) * unit, targets, weight, likelihood, model.screening)
    Z = (X[:, features] - origin[features]) * unit[features]
    centres, trial_order = _draw_centres(X, model.n_centres, model.random_state)
    scale_rate = _AUTO_SCALE_RATE if is_name(model.scale_rate, "auto") else float(model.scale_rate)
    penalized = model.penalize_intercept
    if is_name(penalized, "auto"):
        penalized = len(targets) == 1 and model.kernel == "rbf"
    free = bool(model.fit_intercept and not penalized)
    problem = JointProblem(
        resolve_kernel(model.kernel, gamma=1.0, degree=int(model.degree), coef0=1.0),
        Z,
        Z[centres],
        targets,
        likelihood,
        weight,
        weight_rate=_weight_rate(model, weight, features.size),
        scale_rate=scale_rate,
        intercept=free,
        constant=bool(model.fit_intercept and not free),
    )
    shared = getattr(model, "share_features", True)
    problems = [problem] if shared else [replace(problem, targets=[y]) for y in targets]
    start = _initial_scales(model, unit)
    start = None if start is None else start[features]
    return PreparedData(problems, X, centres, trial_order, features, unit, origin, start)


def _initial_scales(model: Any, unit: Array) -> Array | None:
    """Return the scales to start from, those of standardised features: times their variances."""
    if is_name(model.initial_scales, "auto"):
        return None
    given = np.asarray(model.initial_scales, dtype=np.float64)
    if given.ndim and given.size != unit.size:
        raise ValueError(f"initial_scales has {given.size} numbers, but X has {unit.size} features.")
    return np.asarray(given / np.where(unit > 0, unit, 1.0) ** 2)


def _weight_rate(model: Any, weight: Array, n_features: int) -> float:
    """Return the rate of the weights; where features are selected, they count as few."""
    if not is_name(model.weight_rate, "auto"):
        return float(model.weight_rate)
    if model.kernel != "rbf":
        return 1.0
    noise = _noise_gradient(weight, n_features if model.selection_rate is None else 0)
    return min(_WEIGHT_RATE_SHARE * _NOISE_RATE * noise, 1.0)  # with many rows the latent's own unit


def _noise_gradient(weight: Array, n_features: int) -> float:
    """Return the order of the largest gradient among features of noise: the root of n log p."""
    return float(np.sqrt(weight.sum() * np.log(max(n_features, 3))))


def _draw_centres(X: Array, n_centres: int | None, random_state: Any) -> tuple[Index, Index]:
    """Return the rows that may carry a kernel, and the order in which they were drawn.

    The draw is from distinct rows in the order of a projection: neither repeating a row nor shuffling
    the rows changes the set.
    """
    source, _ = distinct_rows(X)
    source = source[canonical_order(X[source])]
    drawn = source[check_random_state(random_state).permutation(source.size)]
    if n_centres is None:
        n_centres = source.size if source.size <= _MAX_ROWS_AS_CENTRES else _N_DRAWN_CENTRES
    drawn = drawn[: int(n_centres)]
    order = np.argsort(drawn)
    return drawn[order], np.argsort(order)
