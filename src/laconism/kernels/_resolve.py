"""From the argument ``kernel=`` of an estimator to a kernel."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from .._component import unknown
from .additive import Additive
from .base import Kernel
from .callable import FunctionKernel
from .linear import Linear
from .matern import Matern
from .polynomial import Polynomial
from .rbf import RBF

REGISTRY: dict[str, type[Kernel]] = {
    "additive": Additive,
    "linear": Linear,
    "poly": Polynomial,
    "rbf": RBF,
    "matern": Matern,
}

# With this name estimators take the kernel matrix itself, so there is no kernel to resolve.
PRECOMPUTED = "precomputed"


def resolve_kernel(value: Any, *, gamma: float, degree: int, coef0: float) -> Kernel:
    """Turn a name, a kernel or a function into a checked kernel that ``fit`` may keep.

    Parameters
    ----------
    value : str, Kernel or callable
        A kernel given by name gets those of the parameters below that it has. An instance is cloned,
        and its parameters stay. A function is wrapped in :class:`FunctionKernel`.
    gamma, degree, coef0 : float, int, float
        Parameters of a kernel given by name.
    """
    known = [*sorted(REGISTRY), PRECOMPUTED]
    kernel: Kernel
    if isinstance(value, str):
        if value == PRECOMPUTED:
            raise ValueError("kernel='precomputed' is a matrix, so there is no kernel to evaluate.")
        if value not in REGISTRY:
            raise unknown("kernel", value, known)
        given = {"gamma": gamma, "degree": degree, "coef0": coef0}
        names = REGISTRY[value]._get_param_names()
        kernel = REGISTRY[value](**{name: given[name] for name in names if name in given})
    elif isinstance(value, Kernel):
        kernel = clone(value)
    elif callable(value) and not isinstance(value, type):
        kernel = FunctionKernel(value)
    else:
        raise TypeError(
            f"kernel must be one of {', '.join(map(repr, known))}, an instance of laconism's Kernel "
            f"or a function of two matrices, got {value!r}."
        )
    kernel.check()
    return kernel
