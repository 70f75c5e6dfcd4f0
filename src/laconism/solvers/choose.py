"""Which solver for which problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._component import Component, resolve, unknown
from ..priors import Prior
from .accelerated import Accelerated
from .em import EM
from .loop import Solver
from .newton import Newton
from .proximal import Proximal

REGISTRY: dict[str, type[Component]] = {
    "accelerated": Accelerated,
    "em": EM,
    "newton": Newton,
    "proximal": Proximal,
}


def choose_solver(value: Any, prior: Prior) -> Solver:
    """Turn a name or an instance into a solver that can handle the prior.

    ``"auto"`` is the exact convex solver for the Laplace prior and Newton's method otherwise,
    accelerated where the prior is convex and its touching Gaussian changes from step to step.
    """
    if isinstance(value, str) and value == "auto":
        if prior.is_l1:
            return Proximal()
        small, large = prior.variance(np.array([1.0, 4.0]))
        return Accelerated(Newton()) if prior.convex and small != large else Newton()
    if isinstance(value, str) and value not in REGISTRY:
        raise unknown("solver", value, ["auto", *sorted(REGISTRY)])
    solver: Any = resolve("solver", value, REGISTRY, Component)
    if not all(hasattr(solver, method) for method in ("init", "step", "done", "prunes")):
        raise TypeError(
            f"solver must be one of {['auto', *sorted(REGISTRY)]} or have init, step, done and prunes, "
            f"got {value!r}."
        )
    if isinstance(solver, Proximal) and not prior.is_l1:
        raise ValueError(f"The proximal solver needs a Laplace prior, got {prior!r}; use solver='auto'.")
    return solver  # type: ignore[no-any-return]
