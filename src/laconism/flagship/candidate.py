"""What a candidate of the flagship is: frozen settings, fitted to rows and scored by left-out rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from .._protocols import Array
from ..judging.price import AKAIKE_NATS
from .score_grid import FIRST_POINT, GridPoint

if TYPE_CHECKING:
    from .references import FittedReferences
    from .rows import TrainingRows
    from .search import HyperparameterSearch
    from .settings import Settings
    from .sparse_features import SparseFit

T = TypeVar("T")


@dataclass(frozen=True)
class Fits:
    """The rows that candidates are fitted to, and the parts of fits that several candidates share."""

    rows: TrainingRows
    settings: Settings
    sparse_fit: SparseFit  # fits a problem under a sparse prior
    _known: dict[Callable[[Fits], Any], Any] = field(default_factory=dict)

    def once(self, part: Callable[[Fits], T]) -> T:
        """Return a part of fits, which is computed once."""
        if part not in self._known:
            self._known[part] = part(self)
        found: T = self._known[part]
        return found


@dataclass(frozen=True)
class FittedCandidate:
    """A candidate with its calibrated references, its left-out log density and its size."""

    candidate: Candidate
    fitted: FittedReferences
    log_density: Array  # of each row, as if it had not been seen
    size: float  # number of columns
    search: HyperparameterSearch | None = None  # of a kernel
    point: GridPoint = FIRST_POINT
    max_columns: int | None = None  # of features, by cross-validation
    optimism: Array | float = 0.0  # of each row's log density, but for its calibration

    @classmethod
    def of(
        cls,
        candidate: Candidate,
        fitted: FittedReferences,
        size: float,
        n_searched: int = 0,
        optimism: Array | float = 0.0,
        **more: Any,
    ) -> Self:
        """Calibrate references and score their left-out latents.

        Hyper-parameters that were fitted to the rows that they are scored on make the score too
        optimistic: those of a search by about one nat each over all rows (Akaike), as the calibration
        does, and others by ``optimism`` at each row.
        """
        fitted = fitted.calibrated()
        rows = fitted.rows
        optimism = optimism + AKAIKE_NATS * n_searched / rows.total
        calibrated = AKAIKE_NATS * rows.task.n_calibrated / rows.total
        score = fitted.left_out_log_density() - optimism - calibrated
        return cls(candidate, fitted, score, size, optimism=optimism, **more)


class Candidate(Protocol):
    """Frozen settings with a name; ``fit`` returns None where they do not apply or cannot win."""

    @property
    def name(self) -> str:
        """What the candidate is called in tables and messages."""

    def fit(self, fits: Fits, champion: FittedCandidate | None) -> FittedCandidate | None:
        """Fit the candidate, given the best one so far."""
