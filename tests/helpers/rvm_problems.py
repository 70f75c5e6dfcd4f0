"""Problems that the tests of the relevance vector machines share."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from laconism.design import DenseDesign
from laconism.likelihoods import Gaussian, Logistic, Probit
from laconism.priors import Jeffreys
from laconism.solvers import Problem, solve

LIKELIHOODS = {
    "gaussian": Gaussian(),
    "fixed": Gaussian(0.3, estimate=False),
    "logistic": Logistic(),
    "probit": Probit(),
}
COMBINE = ["product", "sum"]
GRIDS = [(7,), (3, 4), (2, 3, 2), (2, 2, 2, 2)]
some = settings(max_examples=30, deadline=None, derandomize=True)
few = settings(max_examples=15, deadline=None, derandomize=True)
seeds = st.integers(0, 10_000)


def make_problem(kind, n, p, *, intercept=True, seed=0, noise=0.3, weight=None, scale=1.0):
    """Return a problem in which every fourth column or so matters; columns have scales of their own."""
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(n, p)) * 10 ** (scale * rng.uniform(-1, 1, size=p))
    f = Phi @ (rng.normal(size=p) * (rng.uniform(size=p) < 0.25))
    f = f / max(f.std(), 0.1) + 0.5
    if kind in ("gaussian", "fixed"):
        y = f + noise * rng.normal(size=n)
    else:
        y = np.where(f + noise * rng.logistic(size=n) > 0, 1.0, -1.0)
        y[:2] = 1.0, -1.0
    weight = {
        None: np.ones(n),
        "counts": rng.integers(1, 4, size=n).astype(float),
        "uneven": rng.uniform(0.1, 3.0, size=n),
    }[weight]
    return Problem(DenseDesign(Phi), y, LIKELIHOODS[kind], Jeffreys(), weight, intercept)


def solve_with_objectives(problem, solver, *, max_iter=60, tol=1e-12):
    """Return the answer and its objectives, that of the start included."""
    first = solver.init(problem).objective
    answer = solve(problem, solver, max_iter=max_iter, tol=tol)
    return answer, np.array([first, *(record.objective for record in answer.history)])


def worst_drop(objectives):
    """Return the largest drop from one step to the next, as a part of the objective (at least 1 nat)."""
    return float(np.max(-np.diff(objectives) / np.maximum(np.abs(objectives[:-1]), 1.0), initial=0.0))


# Until the evidence is at its maximum.
TOP = {"max_iter": 200, "tol": 1e-9}
