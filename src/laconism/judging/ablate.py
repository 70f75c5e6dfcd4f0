"""Switches for the ablation benchmark: candidates and rules that can be turned off by name.

A private context, not a setting of a user. Names that were asked for are recorded, so that the benchmark
need not fit again without a rule that a fit never came to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

# What each switch turns off.
SWITCHES: dict[str, str] = {}

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
