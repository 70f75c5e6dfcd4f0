"""The base of priors, likelihoods, kernels and solvers: hyper-parameters and pure methods."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone

# Rates and scales of priors, and their inverses: their squares are far from overflow.
MAX_SCALE = 1e100

C = TypeVar("C", bound="Component")


class Component(BaseEstimator):  # type: ignore[misc]
    """Hyper-parameters plus pure methods; no data, no state.

    A component stores the arguments of its constructor and nothing else, so it has scikit-learn's
    ``get_params`` / ``set_params`` (``prior__rate`` works in a grid search), can be cloned and prints
    as it was written. Values are validated by :meth:`check`, which :func:`resolve` calls in ``fit``:
    by scikit-learn's convention constructors do not validate.
    """

    def check(self) -> None:
        """Raise ``ValueError`` if a hyper-parameter is invalid."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        return all(np.array_equal(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]


def require(condition: bool, owner: object, rule: str, value: object) -> None:
    """Raise ``ValueError("Laplace: rate must be positive, got -1.")`` unless ``condition`` holds."""
    if not condition:
        raise ValueError(f"{type(owner).__name__}: {rule}, got {value!r}.")


def is_number(value: object) -> bool:
    """Whether ``value`` is one finite real number (booleans are not)."""
    return (
        isinstance(value, int | float | np.integer | np.floating)
        and not isinstance(value, bool | np.bool_)
        # Numpy does not know integers of more than 64 bits.
        and (abs(value) <= sys.float_info.max if isinstance(value, int) else bool(np.isfinite(value)))
    )


def is_positive(value: object) -> bool:
    """Whether ``value`` is one finite number above zero."""
    return is_number(value) and value > 0  # type: ignore[operator]


def is_count(value: object) -> bool:
    """Whether ``value`` is a whole number above zero."""
    return is_positive(value) and value == int(value)  # type: ignore[call-overload]


def is_rate(value: object) -> bool:
    """Whether ``value`` is a positive number whose square is far from overflow."""
    return is_positive(value) and value <= MAX_SCALE  # type: ignore[operator]


def is_switch(value: object) -> bool:
    """Whether ``value`` is on or off: True or False, 1 or 0."""
    return isinstance(value, bool | np.bool_ | int | np.integer) and value in (0, 1)


def is_name(value: object, *names: str) -> bool:
    """Whether ``value`` is one of these names; False for an array, which compares by entry."""
    return isinstance(value, str) and value in names


def is_jobs(value: object) -> bool:
    """Whether ``value`` is a valid ``n_jobs`` of joblib: an integer other than 0, or ``None``."""
    return value is None or (isinstance(value, int | np.integer) and value != 0)


def require_scale(owner: object, name: str, otherwise: str = "") -> None:
    """Raise unless a hyper-parameter is positive and its square far from over- and underflow."""
    value = getattr(owner, name)
    require(is_positive(value), owner, f"{name} must be a positive number{otherwise}", value)
    rule = f"{name} must lie between {1 / MAX_SCALE:g} and {MAX_SCALE:g}"
    require(1 / MAX_SCALE <= value <= MAX_SCALE, owner, rule, value)


def snake_case(name: str) -> str:
    """``"StudentT"`` -> ``"student_t"``; ``"RBF"`` -> ``"rbf"``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def unknown(kind: str, name: str, known: list[str]) -> ValueError:
    """Return the error for an unknown name, with the closest known one."""
    close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.4)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return ValueError(f"Unknown {kind} {name!r}.{hint} Known: {', '.join(map(repr, known))}.")


def resolve(kind: str, value: Any, registry: Mapping[str, Callable[[], C]], base: Any) -> C:
    """Turn a name or an instance into a checked component that ``fit`` may keep.

    An instance is cloned, so a fitted model never shares state with the caller's object.
    """
    component: C
    if isinstance(value, str):
        if value not in registry:
            raise unknown(kind, value, sorted(registry))
        component = registry[value]()
    elif isinstance(value, base):
        component = clone(value)
    else:
        raise TypeError(
            f"{kind} must be one of {', '.join(map(repr, sorted(registry)))} or an instance of "
            f"laconism's {base.__name__}, got {value!r}."
        )
    component.check()
    return component
