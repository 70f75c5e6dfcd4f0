"""Settings of a joint model: the rules that they must meet, and the kernel that they name."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._component import is_count, is_name, is_number, is_positive, is_rate
from ..kernels import RBF, Kernel, Linear, Polynomial


def inner_kernel(name: str, degree: int) -> Kernel:
    """Return the kernel of scaled features that a name stands for."""
    if name == "rbf":
        return RBF(gamma=1.0)
    return Linear() if name == "linear" else Polynomial(degree=int(degree))


def joint_rules(model: Any, *, classifies: bool) -> dict[str, tuple[bool, str]]:
    """Return what each setting of a joint model must be, and whether it is."""

    def is_auto(name: str) -> bool:
        return is_name(getattr(model, name), "auto")

    selection, screening, penalize = model.selection_rate, model.screening, model.penalize_intercept
    rules = {
        "weight_rate": (
            is_positive(model.weight_rate) or (classifies and is_auto("weight_rate")),
            "a positive number or 'auto'" if classifies else "a positive number",
        ),
        "scale_rate": (
            is_auto("scale_rate") or is_rate(model.scale_rate),
            "a positive number or 'auto' (up to 1e100)",
        ),
        "selection_rate": (
            selection is None or is_auto("selection_rate") or is_positive(selection),
            "None, 'auto' or a positive number",
        ),
        "initial_scales": (
            is_auto("initial_scales") or _are_scales(model.initial_scales),
            "'auto', a positive number or one number per feature, none negative, one positive (up to "
            "1e100)",
        ),
        "n_centres": (model.n_centres is None or is_count(model.n_centres), "None or a count"),
        "screening": (
            screening is None or is_auto("screening") or is_count(screening),
            "None, 'auto' or a positive whole number",
        ),
        "kernel": (is_name(model.kernel, "linear", "poly", "rbf"), "'rbf', 'poly' or 'linear'"),
        "degree": (is_count(model.degree), "a positive whole number"),
    }
    if classifies:
        known = is_auto("penalize_intercept") or isinstance(penalize, bool | np.bool_ | int)
        rules["penalize_intercept"] = (known, "True, False or 'auto'")
    return rules


def _are_scales(value: Any) -> bool:
    """Whether ``value`` is a positive number, or numbers of which one is and none is negative."""
    if is_number(value):
        return is_rate(value)
    values = list(value) if np.iterable(value) else []
    return all(is_rate(each) or (is_number(each) and each == 0) for each in values) and any(values)
