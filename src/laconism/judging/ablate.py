"""Switches for the ablation benchmark: candidates and rules that can be turned off by name.

A private context, not a setting of a user. Names that were asked for are recorded, so that the benchmark
need not fit again without a rule that a fit never came to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

# What each switch turns off.
SWITCHES = {
    "additive": "the candidates with additive kernels",
    "calibrate": "the scale and the shift that fit left-out labels",
    "far_variance": "the prior variance that a regression adds far from its kernels",
    "feature_weights": "the candidate with a weight for each feature",
    "features": "the features themselves as candidates beside kernels",
    "half_evidence": "half the evidence in the score of hyper-parameters",
    "heavy_tails": "the candidate with Student's noise",
    "kernel_price": "kernels within the tolerance that gain their price",
    "leave_whole_rows": "all duplicates of a row are left out together",
    "matern": "the candidate with a Matern kernel",
    "moment_matching": "expectation propagation where features outnumber rows",
    "near_duplicates": "rows that are nearly equal count as one",
    "parabola": "hyper-parameters between the points of the grid",
    "projection_error": "the error of a projection's mean, added to its variance",
    "restart_widths": "further starts of the search of the width",
    "shrinkage_penalty": "the loss at new rows, in projections onto features",
    "sparse_features": "the candidate with a sparse prior on features",
    "squashed": "the candidate with squashed features",
    "target_variance": "variances of a projection that match those of the reference",
}

# The names that are switched off in this process, and those that were asked for since the record began.
_off: frozenset[str] = frozenset()
_consulted: set[str] = set()


def is_on(name: str) -> bool:
    """Return whether a candidate or a rule is in use; an unknown name is a ``KeyError``."""
    if name not in SWITCHES:
        raise KeyError(name)
    _consulted.add(name)
    return name not in _off


def consulted() -> frozenset[str]:
    """Return the names that were asked for in this process since the record last began."""
    return frozenset(_consulted)


@contextmanager
def recording() -> Iterator[set[str]]:
    """Yield a set that has, when the context ends, the names that were asked for in it."""
    earlier = consulted()
    _consulted.clear()
    names: set[str] = set()
    try:
        yield names
    finally:
        names |= _consulted
        _consulted.update(earlier)


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Switch candidates and rules off, by name, while the context lasts."""
    global _off
    if unknown := {*names} - SWITCHES.keys():
        raise KeyError(", ".join(sorted(unknown)))
    before, _off = _off, _off | {*names}
    try:
        yield
    finally:
        _off = before
