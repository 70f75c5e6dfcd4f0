"""The candidates of a search for rates: selection rates ascend, and from each, weight rates descend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._component import is_name, is_positive, is_rate
from ..judging.race import Candidate
from ..model.validation import check_values
from .prepare import PreparedData

# Automatic selection rates with kernels of distances, as parts of the rate that keeps noise out.
_DISTANCE_SELECTION_SHARES = (0.1, 0.2, 0.4, 0.7, 1.0, 1.4)
# The same with inner products, where the squares of these are parts of the rate.
_PRODUCT_SELECTION_SHARES = (0.3, 0.4, 0.55, 0.75, 1.0, 1.3, 1.6)
# Automatic rates of the weights after the selection; None is the selection rate. Few features allow much
# lower rates than many.
_DISTANCE_WEIGHT_RATES = (None, 1.0, 0.3, 0.1)
# The same with inner products, whose scales can grow instead.
_PRODUCT_WEIGHT_RATES = (None, 1.0)


class Rates(NamedTuple):
    """Rates of one candidate: of a scale, and of a weight during and after the selection of features."""

    scale: Any
    selection: float
    weight: float

    @property
    def params(self) -> dict[str, Any]:
        """Return the rates as parameters of the estimator."""
        selection = self.selection if self.selection > self.weight else None
        return {"scale_rate": self.scale, "selection_rate": selection, "weight_rate": self.weight}

    def scale_rate(self, default: float) -> float:
        """Return the rate of a scale as a number."""
        return default if is_name(self.scale, "auto") else float(self.scale)


@dataclass(eq=False)
class JCFOCandidate(Candidate):
    """Rates of weights and scales."""

    rates: Rates
    n_steps: int = 0  # from the lowest selection rate and its own weight rate

    @property
    def params(self) -> dict[str, Any]:
        """The rates as parameters of the estimator."""
        return self.rates.params


def make_grid(search: Any, prepared: PreparedData) -> list[JCFOCandidate]:
    """Return all candidates, along each path in the order in which one starts the next.

    Parameters
    ----------
    search : JCFOClassifierCV or JCFORegressorCV
        Read for its settings only.
    prepared : PreparedData
        All rows.
    """
    grid = []
    on_distances = search.kernel == "rbf"
    weight_rates: Sequence[Any] = _DISTANCE_WEIGHT_RATES if on_distances else _PRODUCT_WEIGHT_RATES
    for scale in check_values(search, "scale_rates"):
        if not (is_name(scale, "auto") or is_rate(scale)):
            raise ValueError(
                f"scale_rates must be positive numbers or 'auto' (up to 1e100), got {scale!r}."
            )
        if is_name(search.selection_rates, "auto"):
            shares = _DISTANCE_SELECTION_SHARES if on_distances else _PRODUCT_SELECTION_SHARES
            selection_rates = _automatic_rates(prepared, scale, shares)
        else:
            selection_rates = sorted(_positive_rates(search, "selection_rates"))
        if not is_name(search.weight_rates, "auto"):
            weight_rates = _positive_rates(search, "weight_rates", none=True)
        for first, selection in enumerate(selection_rates):
            lower = {selection if rate is None else min(float(rate), selection) for rate in weight_rates}
            for step, rate in enumerate(sorted(lower, reverse=True), start=first):
                grid.append(JCFOCandidate(Rates(scale, selection, rate), step))
    return grid


def _automatic_rates(prepared: PreparedData, scale: Any, shares: Sequence[float]) -> list[float]:
    problem = prepared.problems[0]
    scale_rate = problem.scale_rate if is_name(scale, "auto") else float(scale)
    at_scale = prepared.at_rates(problem.weight_rate, scale_rate)
    return [at_scale.selection_rate(share) for share in shares]


def _positive_rates(search: Any, name: str, none: bool = False) -> list[Any]:
    rates = check_values(search, name)
    if not all(is_positive(rate) or (none and rate is None) for rate in rates):
        other = ", None" if none else ""
        raise ValueError(f"{name} must be positive numbers{other} or 'auto', got {rates!r}.")
    return rates
