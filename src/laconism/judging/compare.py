"""One way to choose: candidates in order, left-out log densities, and one rule.

This module imports nothing of the library but protocols, so that every layer may use it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from .._protocols import Array


def standard_error(gain: Array, weight: Array, least: float = 0.0) -> float:
    """Return the standard error of a weighted sum over rows.

    ``least`` nats are always added in quadrature.
    """
    mean = float(np.average(gain, weights=weight))
    return math.hypot(math.sqrt(float(weight @ (gain - mean) ** 2)), least)


@dataclass(frozen=True)
class Rule:
    """When a challenger may replace a smaller or earlier champion.

    Its gain in left-out log density, summed over rows, must exceed ``nats`` and ``errors`` standard
    errors of the paired differences.
    """

    nats: float = 0.0
    errors: float = 0.0

    def threshold(self, gain: Array, weight: Array, least_error: float = 0.0) -> float:
        """Return the gain that is needed, in nats over all rows."""
        if not self.errors:
            return self.nats
        return max(self.nats, self.errors * standard_error(gain, weight, least_error))

    def prefers(self, gain: Array, weight: Array, least_error: float = 0.0) -> bool:
        """Return whether the challenger wins, given its gain at each row."""
        return bool(float(weight @ gain) > self.threshold(gain, weight, least_error))

    def prefers_total(self, gain: float) -> bool:
        """Return whether the challenger wins where only the total gain is known."""
        return gain > self.nats

    def times(self, factor: float) -> Rule:
        """Return the rule for a score that is the sum of this number of scores."""
        return Rule(self.nats * factor, self.errors)


class Scored(Protocol):
    """A fitted candidate, as far as the choice looks at it."""

    @property
    def log_density(self) -> Array:
        """The log density of each row as if that row had not been seen."""

    @property
    def size(self) -> float:
        """The number of columns that it keeps."""


class Named(Protocol):
    """A candidate: frozen settings with a name."""

    @property
    def name(self) -> str:
        """What the candidate is called in tables and messages."""


class Trial(NamedTuple):
    """One candidate that was tried, in nats per row.

    ``gain`` is that over the champion before it, with its standard error. A candidate that was skipped
    has no numbers (NaN).
    """

    name: str
    seconds: float
    log_density: float = math.nan
    log_density_error: float = math.nan
    size: float = math.nan
    against: str = ""  # the champion before it; empty for the first
    gain: float = math.nan
    gain_error: float = math.nan
    taken: bool = False  # whether it became the champion
    won: bool = False  # whether it was the champion in the end


F = TypeVar("F", bound=Scored)
C = TypeVar("C", bound=Named)


def choose(
    candidates: Iterable[C], fit: Callable[[C, F | None], F | None], rule: Rule, weight: Array
) -> tuple[F, list[Trial]]:
    """Return the first candidate, unless a later one is clearly better, and a table of all.

    Each challenger is compared with the champion of its turn, so the order matters: the smaller, simpler
    or cheaper of two candidates that predict equally well comes first and stays.

    Parameters
    ----------
    candidates : iterable
        Frozen settings, each with a name.
    fit : callable
        Fits a candidate, given the champion so far. Returns ``None`` for one that does not apply.
    rule : Rule
    weight : ndarray of shape (n,)
        Row weights.
    """
    champion, name, trials = None, "", list[Trial]()
    for candidate in candidates:
        began = time.perf_counter()
        fitted = fit(candidate, champion)
        seconds = time.perf_counter() - began
        if fitted is None:
            trials.append(Trial(candidate.name, seconds))
            continue
        trials.append(_compare(candidate.name, seconds, fitted, name, champion, rule, weight))
        if trials[-1].taken:
            champion, name = fitted, candidate.name
    if champion is None:
        raise ValueError("There is no candidate to choose from.")
    return champion, [trial._replace(won=trial.taken and trial.name == name) for trial in trials]


def _compare(
    name: str, seconds: float, fitted: F, against: str, champion: F | None, rule: Rule, weight: Array
) -> Trial:
    """Return the comparison of a fitted candidate with the champion."""
    total = float(weight.sum())
    mean = float(weight @ fitted.log_density) / total
    error = standard_error(fitted.log_density, weight) / total
    trial = Trial(name, seconds, mean, error, fitted.size, taken=True)
    if champion is None:
        return trial
    gain = fitted.log_density - champion.log_density
    return trial._replace(
        against=against,
        gain=float(weight @ gain) / total,
        gain_error=standard_error(gain, weight) / total,
        taken=rule.prefers(gain, weight),
    )


def in_words(trials: Sequence[Trial]) -> list[str]:
    """Return a sentence for each comparison: who was compared, the gain and its standard error."""
    first = next(trial for trial in trials if trial.taken)
    words = [f"The first candidate was {first.name}: {first.log_density:.3f} nats per left-out row."]
    for trial in trials:
        gain = f"{abs(trial.gain):.3f} ± {trial.gain_error:.3f} nats per row"
        if not trial.against:
            continue
        if trial.taken:
            words.append(f"{trial.name} beat {trial.against} by {gain}.")
        elif trial.gain > 0:
            words.append(f"{trial.name} did not clearly beat {trial.against}, it is ahead by {gain}.")
        else:
            words.append(f"{trial.name} is behind {trial.against} by {gain}.")
    skipped = [trial.name for trial in trials if math.isnan(trial.log_density)]
    return [*words, *([f"Not applicable or without a chance: {', '.join(skipped)}."] if skipped else [])]
