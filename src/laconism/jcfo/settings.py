"""Settings of a joint model: the rules that they must meet, and the kernel that they name."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._component import is_count, is_name, is_number, is_positive, is_rate
from ..kernels import RBF, Kernel, Linear, Polynomial

_KERNELS = ["linear", "poly", "rbf"]


def inner_kernel(name: str, degree: int) -> Kernel:
    """Return the kernel of scaled features that a name stands for."""
    if name == "rbf":
        return RBF(gamma=1.0)
    return Linear() if name == "linear" else Polynomial(degree=int(degree))


def joint_rules(model: Any, *, classifies: bool) -> dict[str, tuple[bool, str]]:
    """Return what each setting of a joint model must be, and whether it is."""
    selection, scales, screening = model.selection_rate, model.initial_scales, model.screening
    rules = {
        "weight_rate": (is_positive(model.weight_rate), "a positive number"),
        "scale_rate": (
            is_name(model.scale_rate, "auto") or is_rate(model.scale_rate),
            "a positive number or 'auto' (up to 1e100)",
        ),
        "selection_rate": (
            selection is None or is_name(selection, "auto") or is_positive(selection),
            "None, 'auto' or a positive number",
        ),
        "initial_scales": (
            is_name(scales, "auto") or _are_scales(scales),
            "'auto', a positive number or one number per feature, none negative, one positive (up to "
            "1e100)",
        ),
        "n_centres": (model.n_centres is None or is_count(model.n_centres), "None or a count"),
        "screening": (
            screening is None or is_name(screening, "auto") or is_count(screening),
            "None, 'auto' or a positive whole number",
        ),
        "kernel": (is_name(model.kernel, *_KERNELS), "'rbf', 'poly' or 'linear'"),
        "degree": (is_count(model.degree), "a positive whole number"),
    }
    return rules | _automatic_rules(model) if classifies else rules


def _automatic_rules(model: Any) -> dict[str, tuple[bool, str]]:
    """Return the rules of the settings that a classifier can also choose by itself."""
    penalize, rate = model.penalize_intercept, model.weight_rate
    known = is_name(penalize, "auto") or isinstance(penalize, bool | np.bool_ | int)
    return {
        "penalize_intercept": (known, "True, False or 'auto'"),
        "weight_rate": (is_name(rate, "auto") or is_positive(rate), "a positive number or 'auto'"),
    }


def _are_scales(value: Any) -> bool:
    """Whether ``value`` is a positive number, or numbers of which one is and none is negative."""
    if is_number(value):
        return is_rate(value)
    values = list(value) if np.iterable(value) else []
    return all(is_rate(each) or (is_number(each) and each == 0) for each in values) and any(values)
