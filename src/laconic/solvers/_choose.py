"""Which solver for which problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._component import Component, resolve, unknown
from .._protocols import Prior
from ._loop import Solver
from .accelerated import Accelerated
from .em import EM
from .newton import Newton
from .proximal import Proximal

REGISTRY: dict[str, type[Component]] = {
    "accelerated": Accelerated,
    "em": EM,
    "newton": Newton,
    "proximal": Proximal,
}


# What a solver gets that does not say how exact the factors of a kernel matrix must be: enough for one
# that weighs all kernels from the first iteration to the last, as EM does. In 72 fits of the papers'
# problem EM's weights were those of the full matrix to 2e-6, but for one (3e-4) whose path hangs on
# every digit. Ten times tighter brings back directions of badly scaled kernels (entries of 1e30) in
# which EM overflows, as it does on the full matrix.
_RANK_TOL = 1e-9


def rank_tolerance(solver: Solver, prior: Prior) -> float:
    """Return the part of a kernel matrix that its factors may miss without the weights noticing.

    A solver may know better than the safe default; it then has a method ``rank_tol(prior)``.
    """
    known = getattr(solver, "rank_tol", None)
    return _RANK_TOL if known is None else float(known(prior))


def choose_solver(value: Any, prior: Prior) -> Solver:
    """Turn a name or an instance into a solver that can handle the prior.

    ``"auto"`` is the exact convex solver for the Laplace prior and Newton's method otherwise,
    accelerated where the prior has one optimum to jump to and is touched anew at every step.
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
